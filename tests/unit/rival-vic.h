/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * vIC as somebody else might have read it: an offline implementation of policy
 * "vic" that shares no code with the engine, with one switch for each reading
 * of the paper's text (see also rival.h). With all switches off it reads as
 * the engine is meant to.
 */
#ifndef TESTS_UNIT_RIVAL_VIC_H
#define TESTS_UNIT_RIVAL_VIC_H

#include <stdbool.h>
#include <stdint.h>

#define VIC_PHASES          3
#define VIC_CIF_THRESHOLD   4
#define VIC_IOPS_THRESHOLD  2000

/* Completions in a row with something in common. */
typedef struct VicPhase {
    unsigned n;
    uint32_t cif;       /* in flight, counting the one that completes */
    bool drain;         /* nothing is submitted: cif holds for the first one */
    uint32_t up, skip;  /* the ratio forced from here on, if not 0 */
} VicPhase;

/* Completion k (from 1) comes at k * step_ns; the epoch starts at 0. */
typedef struct VicLoad {
    int64_t step_ns;
    int64_t from_ns;    /* earlier interrupts are of no interest */
    uint32_t epoch_ms;
    VicPhase phase[VIC_PHASES];     /* fewer: the rest have n = 0 */
} VicLoad;

typedef struct VicReading {
    bool cif_exclusive;         /* without the one that completes */
    bool cif_of_guest;          /* posted and not told of is in flight, too */
    bool cif_at_or_below;       /* "<=" where "< cifThreshold" is meant */
    bool up_inclusive;          /* "counter <= countUp" */
    bool skip_above;            /* "counter > skipUp" */
    bool skip_exact;            /* "counter == skipUp" */
    bool counts_from_zero;      /* counter starts and is reset to 0 */
    bool change_resets;         /* a ratio that changes resets the counter */
    bool bypass_keeps;          /* a bypass leaves the counter alone */
    bool epoch_at_end;          /* "diff >= epochPeriod" */
    bool epoch_start_stays;     /* as printed: epochStart is never updated */
    bool epoch_start_steps;     /* epochStart moves by one epochPeriod */
    bool iops_zero;             /* as printed: currIOPS is never computed */
    bool iops_no_gate;          /* iopsThreshold has no say */
    bool iops_at_or_below;      /* "<=" where "< iopsThreshold" is meant */
    bool iops_exclusive;        /* without the one that completes */
    bool skip_rounds_up;        /* R = 8/CIF to the next smaller 1/n */
    bool skip_capped;           /* nothing below the text's 6.25 % */
} VicReading;

/*
 * Returns the interrupts of @load from its from_ns on, as "3000(2) 4000(1)".
 * The caller frees it.
 */
char *rival_vic_run(const VicLoad *load, const VicReading *reading);

/* Returns the ratio for @cif at a high rate, as "4/5". The caller frees it. */
char *rival_vic_ratio(uint32_t cif, const VicReading *reading);

#endif /* TESTS_UNIT_RIVAL_VIC_H */
