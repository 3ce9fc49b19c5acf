/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the machine has counted so far: of two looks the difference is told. */
#ifndef KVSTORE_MACHINE_H
#define KVSTORE_MACHINE_H

#include <stdint.h>
#include <stdio.h>

struct machine {
    uint64_t interrupts;        /* of the I/O queues of all NVMe drives */
    uint64_t busy, ticks;       /* of all CPUs, in the kernel's ticks */
};

/* The texts are those of /proc/interrupts and /proc/stat. */
void machine_read(struct machine *machine, FILE *interrupts, FILE *stat);

/* Now; zeros where there is no such file. */
struct machine machine_look(void);

#endif
