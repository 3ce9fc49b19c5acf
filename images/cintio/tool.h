/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cintio: the user-space driver from the command line.
 *
 * Parts: main.c (commands), check.c (I/O that is verified), hold.c (what tests
 * need besides), faults.c (with CINTIO_TEST, and a library that was built with
 * it: what a test does to the driver), util.c. All but faults.c use the public
 * header alone.
 */
#ifndef CINTIO_TOOL_H
#define CINTIO_TOOL_H

#include <cintio.h>

#define MAX_THREADS 8
#define MAX_PIECES  8

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
    uint64_t reset_ms, resets_ms;
    uint64_t nsid, pieces;      /* of the data of each I/O */
    bool records, hints, fua, any;
};

enum hold_child { HOLD_NONE, HOLD_FORK, HOLD_CLONE };

struct hold_options {
    const char *address;
    int child;                  /* enum hold_child */
    uint64_t depth;             /* reads under way */
    uint64_t ballast_mib;       /* freed after what the controller reaches */
};

/* Exit status, of all three. */
int check(const struct check_options *options);

/* Has the controller until the kernel asks for it, or the end. */
int hold(const struct hold_options *options);

/* Takes all huge pages there are, or come within @ms, and watches them. */
int take_pages(unsigned int ms);

uint64_t next_random(uint64_t *state);
/* Nanoseconds of a clock that nobody sets. */
uint64_t now_ns(void);

#ifdef CINTIO_TEST
/* A queue with the options' delays and fault, until it is destroyed. */
struct meddler {
    const struct check_options *options;
    uint64_t random;
};
void meddle(struct meddler *meddler, struct cintio_queue *queue);
#endif

#endif
