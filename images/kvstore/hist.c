/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hist.h"

#include <math.h>

#define PARTS (1u << HIST_SHIFT)

/* Below PARTS each number has a bin of its own. */
static unsigned bin_of(uint64_t ns)
{
    unsigned octave;

    if (ns < PARTS) {
        return ns;
    }
    octave = 63 - __builtin_clzll(ns) - HIST_SHIFT;
    return (octave << HIST_SHIFT) + (ns >> octave);
}

static double middle_of(unsigned bin)
{
    unsigned octave;

    if (bin < 2 * PARTS) {
        return bin;
    }
    octave = (bin >> HIST_SHIFT) - 1;
    return ldexp((bin & (PARTS - 1)) + PARTS + 0.5, octave);
}

void hist_add(struct hist *h, uint64_t ns)
{
    h->count++;
    h->sum += ns;
    h->bins[bin_of(ns)]++;
}

void hist_join(struct hist *to, const struct hist *from)
{
    to->count += from->count;
    to->sum += from->sum;
    for (unsigned i = 0; i < HIST_BINS; i++) {
        to->bins[i] += from->bins[i];
    }
}

double hist_mean(const struct hist *h)
{
    return h->count ? (double)h->sum / h->count : 0;
}

double hist_percentile(const struct hist *h, double percent)
{
    uint64_t wanted = ceil(h->count * percent / 100);
    uint64_t seen = 0;

    for (unsigned i = 0; i < HIST_BINS; i++) {
        seen += h->bins[i];
        if (seen && seen >= wanted) {
            return middle_of(i);
        }
    }
    return 0;
}
