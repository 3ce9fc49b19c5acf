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

struct check_options {
    const char *address;
    enum cintio_mode mode;
    int policy;                 /* -1: as it is */
    uint64_t count;             /* I/Os of each thread */
    unsigned int depth, min, entries, threads, blocks;
    uint64_t sleep_ns;
    uint64_t delay_ns;          /* up to so long between the driver's steps */
    bool records, hints, no_look, no_clamp;
    unsigned int reset_ms;
};

/* Exit status. */
int check(const struct check_options *options);

#endif
