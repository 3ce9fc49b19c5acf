/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cintio: the user-space driver from the command line.
 *
 * Parts: main.c (commands), check.c (I/O that is verified).
 */
#ifndef CINTIO_TOOL_H
#define CINTIO_TOOL_H

#include "../../userspace/internal.h"

#define MAX_THREADS 8

/* The eventfd is emptied before the sleep; more is asked for than can come. */
enum fault { FAULT_EARLY, FAULT_CLAMP };

/* Numbers are uint64_t, and choices int, for the table of options. */
struct check_options {
    const char *address;
    int mode;                   /* enum cintio_mode */
    int policy;                 /* -1: as it is */
    int fault;                  /* enum fault; -1: none */
    uint64_t count;             /* I/Os of each thread */
    uint64_t depth, min, entries, threads, blocks;
    uint64_t sleep_ns;
    uint64_t delay_ns;          /* up to so long between the driver's steps */
    uint64_t reset_ms;
    bool records, hints;
};

/* Exit status. */
int check(const struct check_options *options);

#endif
