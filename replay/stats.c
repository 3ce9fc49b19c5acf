/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Histograms and sums.
 */
#include "stats.h"

#define SUB_BUCKETS     (1u << HIST_BITS)

static unsigned bucket_of(uint64_t value)
{
    unsigned exponent;

    if (value < SUB_BUCKETS) {
        return value;
    }
    exponent = 63 - __builtin_clzll(value) - HIST_BITS;
    return (exponent << HIST_BITS) + (value >> exponent);
}

/* The largest value that falls into @bucket. */
static uint64_t bucket_end(unsigned bucket)
{
    unsigned exponent;

    if (bucket < 2 * SUB_BUCKETS) {
        return bucket;
    }
    exponent = (bucket >> HIST_BITS) - 1;
    return (((uint64_t)(bucket - (exponent << HIST_BITS)) + 1) << exponent) - 1;
}

void hist_add(Hist *hist, uint64_t value)
{
    hist->total++;
    hist->count[bucket_of(value)]++;
}

void hist_merge(Hist *to, const Hist *from)
{
    unsigned i;

    to->total += from->total;
    for (i = 0; i < HIST_BUCKETS; i++) {
        to->count[i] += from->count[i];
    }
}

uint64_t hist_quantile(const Hist *hist, double share)
{
    double wanted = share * hist->total;
    uint64_t seen = 0;
    unsigned i;

    for (i = 0; i < HIST_BUCKETS; i++) {
        seen += hist->count[i];
        if (seen && seen >= wanted) {
            return bucket_end(i);
        }
    }
    return 0;
}

void hold_add(HoldStats *hold, uint64_t ns)
{
    hold->cqes++;
    hold->sum_ns += ns;
    hold->max_ns = MAX(hold->max_ns, ns);
}

static void hold_merge(HoldStats *to, const HoldStats *from)
{
    to->cqes += from->cqes;
    to->sum_ns += from->sum_ns;
    to->max_ns = MAX(to->max_ns, from->max_ns);
}

void stats_merge(Stats *to, const Stats *from)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(to->irqs); i++) {
        to->irqs[i] += from->irqs[i];
    }
    for (i = 0; i < G_N_ELEMENTS(to->reasons); i++) {
        to->reasons[i] += from->reasons[i];
    }
    to->avoided += from->avoided;
    for (i = 0; i < NVME_CINT_NR_HINTS; i++) {
        hold_merge(&to->hold[i], &from->hold[i]);
    }
    hist_merge(&to->hist, &from->hist);
    hold_merge(&to->post_to_head, &from->post_to_head);
}

HoldStats stats_hold(const Stats *stats)
{
    HoldStats all = { 0 };
    unsigned i;

    for (i = 0; i < NVME_CINT_NR_HINTS; i++) {
        hold_merge(&all, &stats->hold[i]);
    }
    return all;
}
