/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Algorithm 2 of cinterrupts as somebody else might have read it: an offline
 * implementation of policy "cint" that shares no code with the engine, with
 * one switch for each reading of the papers' text (see also rival.h). With all
 * switches off it reads as the engine is meant to.
 *
 * It knows the whole list of arrivals beforehand, and so the arrival at which
 * a Barrier will be satisfied. The guest reaps at once what it is told of.
 */
#ifndef TESTS_UNIT_RIVAL_CINT_H
#define TESTS_UNIT_RIVAL_CINT_H

#include <stdbool.h>
#include <stdint.h>

#define CINT_ARRIVALS   32

typedef enum RivalBarrier {
    RIVAL_RELAXED,          /* at its own arrival */
    RIVAL_STRICT,           /* and not before all in front of it in the SQ */
    RIVAL_GENERATION,       /* all in front of it back to another Barrier */
} RivalBarrier;

typedef struct CintArrival {
    int64_t t;
    const char *hint;       /* NULL or "U", "B", "UB" */
    unsigned place;         /* in the SQ; 0: where it stands in the list */
} CintArrival;

typedef struct CintReading {
    bool hints_off;         /* hints have no say */
    bool as_printed;        /* an Urgent falls into Algorithm 2's last "else" */
    bool both_is_urgent;
    bool both_is_barrier;
    bool urgent_uncounted;  /* never counts towards thr, as in the artefact */
    bool urgent_postpones_not;  /* an Urgent leaves the deadline alone */
    bool urgent_is_full;    /* the urgent class does not exist */
    bool urgent_then_full;  /* an Urgent at thr sends one of each class */
    bool barrier_is_urgent; /* a relaxed Barrier is the same as an Urgent */
    bool reaping_forgets;   /* delta or thr end what a Barrier waits for */
    bool above_thr;         /* ">" where ">=" is meant */
} CintReading;

typedef struct CintLoad {
    int64_t delta_ns;
    uint32_t thr;
    RivalBarrier barrier;
    bool ooo;
    CintArrival in[CINT_ARRIVALS];      /* ends with t = 0 */
} CintLoad;

/*
 * Returns the interrupts for @load, those of the urgent class with a "U" in
 * front, as "U1500(1) 5000(6)". The caller frees it.
 */
char *rival_cint_run(const CintLoad *load, const CintReading *reading);

#endif /* TESTS_UNIT_RIVAL_CINT_H */
