/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The interrupt pointer as somebody else might have read it.
 */
#include <glib.h>
#include <inttypes.h>

#include "rival-pointer.h"

typedef struct Run {
    const PointerLoad *load;
    const PointerReading *reading;
    GString *out;
    unsigned ptr, tail;     /* indices below load->entries */
    unsigned since_write;   /* completions */
    unsigned untold;
    bool spent;
} Run;

bool rival_pointer_passed(unsigned head, unsigned ptr, unsigned tail)
{
    if (head < ptr) {
        return tail >= ptr || tail < head;
    }
    return tail >= ptr && tail < head;
}

static bool passed(const Run *run)
{
    unsigned head = run->load->head;

    if (run->reading->relative) {
        return run->since_write >= run->load->ahead;
    }
    if (run->reading->strict && run->tail == run->ptr) {
        return false;
    }
    return rival_pointer_passed(head, run->ptr, run->tail);
}

static void test(Run *run, int64_t t)
{
    if (run->spent || !passed(run)) {
        return;
    }
    g_string_append_printf(run->out, "%s%" PRId64 "(%u)",
                           run->out->len ? " " : "", t, run->untold);
    run->untold = 0;
    run->spent = !run->reading->not_spent;
}

char *rival_pointer_run(const PointerLoad *load, const PointerReading *reading)
{
    Run run = {
        .load = load,
        .reading = reading,
        .out = g_string_new(NULL),
        .ptr = (load->head + load->ahead) % load->entries,
        .tail = load->head,
    };
    unsigned k;
    bool written = load->written == 0;

    for (k = 1; k <= load->n; k++) {
        if (!written && load->written <= k * 1000) {
            written = true;
            if (!reading->only_at_cqe) {
                test(&run, load->written);
            }
        }
        run.tail = (run.tail + 1) % load->entries;
        run.untold++;
        run.since_write += written;
        if (written) {
            test(&run, k * 1000);
        }
    }
    return g_string_free(run.out, FALSE);
}
