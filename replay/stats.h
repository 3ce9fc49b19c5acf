/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is counted of interrupts and of CQEs.
 */
#ifndef REPLAY_STATS_H
#define REPLAY_STATS_H

#include <glib.h>

#include "coalesce.h"

/* Log-linear: a value is known to within 1/32 of itself. */
#define HIST_BITS       5
#define HIST_BUCKETS    ((64 - HIST_BITS + 1) << HIST_BITS)

typedef struct Hist {
    uint64_t total;
    uint64_t count[HIST_BUCKETS];
} Hist;

void hist_add(Hist *hist, uint64_t value);
void hist_merge(Hist *to, const Hist *from);

/* The smallest value that @share of all are not above, rounded up. */
uint64_t hist_quantile(const Hist *hist, double share);

typedef struct HoldStats {
    uint64_t cqes;
    uint64_t sum_ns;
    uint64_t max_ns;
} HoldStats;

/* One more CQE, which took @ns. */
void hold_add(HoldStats *hold, uint64_t ns);

typedef struct Stats {
    uint64_t irqs[CINT_FIRE_URGENT + 1];    /* by class */
    uint64_t reasons[NVME_CINT_NR_REASONS];
    uint64_t avoided;           /* CQEs consumed before any interrupt */
    /* From post to interrupt, or to consumption if that is earlier. */
    HoldStats hold[NVME_CINT_NR_HINTS];
    Hist hist;
    HoldStats post_to_head;     /* until the head passed it */
} Stats;

void stats_merge(Stats *to, const Stats *from);

/* Over all hints. */
HoldStats stats_hold(const Stats *stats);

#endif /* REPLAY_STATS_H */
