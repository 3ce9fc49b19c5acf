/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A histogram of times: each power of two in 128 equal parts, so below 1 %. */
#ifndef KVSTORE_HIST_H
#define KVSTORE_HIST_H

#include <stdint.h>

#define HIST_SHIFT 7
#define HIST_BINS ((65 - HIST_SHIFT) << HIST_SHIFT)

struct hist {
    uint64_t count;
    uint64_t sum;               /* ns */
    uint64_t bins[HIST_BINS];
};

void hist_add(struct hist *h, uint64_t ns);
void hist_join(struct hist *to, const struct hist *from);

/* ns; 0 where nothing was added. */
double hist_mean(const struct hist *h);

/*
 * The time in ns that @percent of those added do not exceed (0 to 100), the
 * middle of its bin; 0 where nothing was added.
 */
double hist_percentile(const struct hist *h, double percent);

#endif
