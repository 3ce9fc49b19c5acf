/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 4096

/*
 * A line ends with its handler's name: nvme0q1 is the first I/O queue's, and
 * where a process drives, vfio-msix[1](0000:00:03.0).
 */
static bool is_queue(const char *line)
{
    const char *name = strrchr(line, ' ');
    unsigned drive, queue = 0;
    char more = '\n';

    if (name && sscanf(name, " vfio-msix[%u]", &queue) == 1) {
        return queue > 0;
    }
    return name && sscanf(name, " nvme%uq%u%c", &drive, &queue, &more) >= 2 &&
           queue > 0 && more == '\n';
}

/* After the interrupt's number there is a count for each CPU. */
static uint64_t counts_in(const char *line)
{
    const char *text = strchr(line, ':');
    uint64_t sum = 0;

    while (text) {
        char *end;
        uint64_t count = strtoull(text + 1, &end, 10);

        if (end == text + 1 || (*end != ' ' && *end != '\n')) {
            break;
        }
        sum += count;
        text = end;
    }
    return sum;
}

/* user nice system idle iowait irq softirq steal; others are within these */
static void read_ticks(struct machine *machine, const char *line)
{
    uint64_t part[8] = { 0 };

    if (sscanf(line, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %"
               SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &part[0], &part[1],
               &part[2], &part[3], &part[4], &part[5], &part[6],
               &part[7]) < 4) {
        return;
    }
    for (int i = 0; i < 8; i++) {
        machine->ticks += part[i];
    }
    machine->busy = machine->ticks - part[3] - part[4];
}

void machine_read(struct machine *machine, FILE *interrupts, FILE *stat)
{
    char line[LINE_BYTES];

    *machine = (struct machine) { 0 };
    while (interrupts && fgets(line, sizeof(line), interrupts)) {
        machine->interrupts += is_queue(line) ? counts_in(line) : 0;
    }
    if (stat && fgets(line, sizeof(line), stat)) {
        read_ticks(machine, line);
    }
}

struct machine machine_look(void)
{
    FILE *interrupts = fopen("/proc/interrupts", "r");
    FILE *stat = fopen("/proc/stat", "r");
    struct machine machine;

    machine_read(&machine, interrupts, stat);
    if (interrupts) {
        fclose(interrupts);
    }
    if (stat) {
        fclose(stat);
    }
    return machine;
}
