/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The coalescing schemes as somebody else might have read them.
 *
 * A golden vector is worth something only if a plausible misreading answers
 * it differently. This is a second, offline implementation: it sees the whole
 * list of arrivals, shares no code with the engine, and has one switch for
 * each reading that the papers' text allows. With all switches off it reads as
 * the engine is meant to.
 */
#ifndef TESTS_UNIT_RIVAL_H
#define TESTS_UNIT_RIVAL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Reading {
    bool above_thr;         /* ">" where ">=" is meant */
    bool arrival_first;     /* an arrival at the deadline joins the batch */
    bool since_last_irq;    /* static timer runs from the last interrupt */
    bool zero_is_no_limit;  /* thr 0, time 0: no threshold, no timer */
    bool pass_shares_irq;   /* completions of one instant share a message */
} Reading;

typedef enum RivalScheme {
    RIVAL_EACH,             /* an interrupt for each arrival */
    RIVAL_FROM_FIRST,       /* window opens at the first pending arrival */
    RIVAL_FROM_LAST,        /* window is moved by each arrival */
} RivalScheme;

typedef struct Rival {
    RivalScheme scheme;
    int64_t window_ns;
    uint32_t thr;
    Reading reading;
} Rival;

/*
 * Returns the interrupts for the arrival times @in, which end with a 0, as
 * "14000(3) 21500(4)". The caller frees it.
 */
char *rival_run(const Rival *rival, const int64_t *in);

#endif /* TESTS_UNIT_RIVAL_H */
