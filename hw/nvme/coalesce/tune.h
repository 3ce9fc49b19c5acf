/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Retune: which thr meets a limit on the rate of interrupts (cinterrupts 4.3
 * asks for such a rule and gives none). Once in a number of interrupts it
 * looks at what was measured since:
 *
 *   sample      intervals between interrupts, CQEs each told of, interrupts
 *               there would have been with what was set ("natural")
 *   decision    too fast by more than a twentieth: a thr that is greater in
 *               proportion. Too slow by more than that: one that is smaller in
 *               proportion, rounded up so that it will not be too fast. Natural
 *               below four fifths of the limit: back to what was set.
 *   parking     what was found too fast under a load is not tried again under
 *               the same load; and each time that a step down had to be taken
 *               back, twice as many slow samples in a row are needed for the
 *               next, of which the greatest thr counts. So a steady load ends
 *               at one thr, and one that swings at the greatest it needs.
 *
 * While it tunes, hints and drain have no say, and delta is at least the
 * interval of the limit.
 */
#ifndef HW_NVME_COALESCE_TUNE_H
#define HW_NVME_COALESCE_TUNE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct CintTunerSample {
    int64_t time_ns;        /* sum of the intervals */
    uint64_t cqes;          /* told of */
    uint32_t irqs;
    uint32_t natural;
} CintTunerSample;

typedef struct CintTuner {
    int64_t gap_ns;         /* between two interrupts at the limit */
    uint32_t interrupts;    /* that make a sample */
    int64_t set_delta_ns;   /* what was set */
    uint32_t set_thr;
    uint32_t most_thr;
    uint32_t thr;           /* in force, 0: what was set is */
    uint64_t changes;       /* of thr so far */

    CintTunerSample sample; /* since the last decision */
    int64_t natural_ns;     /* last completion */
    uint32_t natural_cqes;  /* since the last natural interrupt */

    uint32_t too_fast_thr;  /* known to be, 0: none is */
    uint64_t too_fast_load; /* under this load, in CQEs / 16 gaps */
    uint32_t patience;      /* slow samples it takes to go down */
    uint32_t slow;          /* slow samples in a row, and of those */
    uint32_t slow_thr;      /* the greatest thr that one asked for */
    uint64_t slow_load;     /* and the greatest load */
    bool went_down;         /* the last change did */
} CintTuner;

/*
 * A limit of one interrupt in @gap_ns. A sample is 2^(@shift - 2) interrupts,
 * at least 16.
 */
void cint_tuner_init(CintTuner *tuner, int64_t gap_ns, uint32_t shift);

/* What was set, and how far the queue can go. */
void cint_tuner_configure(CintTuner *tuner, int64_t delta_ns, uint32_t thr,
                          uint32_t most_thr);

/* What a completion would have asked for, with what was set. */
typedef enum CintAsked {
    CINT_ASKED_NOTHING,     /* but what thr and delta ask for */
    CINT_ASKED_URGENT,      /* an interrupt for itself alone */
    CINT_ASKED_FULL,
} CintAsked;

/* A CQE was posted, while tuning. */
void cint_tuner_completed(CintTuner *tuner, int64_t now, CintAsked asked);

/*
 * An interrupt was sent, @interval_ns after the one before, and told of @cqes.
 * Returns true if tuner->thr has changed.
 */
bool cint_tuner_sent(CintTuner *tuner, int64_t interval_ns, uint32_t cqes);

#endif /* HW_NVME_COALESCE_TUNE_H */
