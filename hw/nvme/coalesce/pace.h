/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How far apart the completions of a queue are, and from that the delta that
 * tells the end of a burst from a gap within it (cinterrupts 5.2 chooses it
 * once, by hand): twice the mean gap, and four times the mean deviation from
 * it, as TCP estimates when to retransmit. A gap that delta could not span, as
 * long as it may become, is one between bursts, and says nothing.
 */
#ifndef HW_NVME_COALESCE_PACE_H
#define HW_NVME_COALESCE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define CINT_PACE_SHARE         16      /* one gap weighs 1/16 */
#define CINT_PACE_STRETCH       4       /* what was set, times this at most */
#define CINT_PACE_MOST_SHARE    8       /* of the commands there are, for thr */

/* All zeroes is a new one. */
typedef struct CintPace {
    int64_t last_ns;        /* when the last CQE was posted */
    uint64_t mean;          /* ns x CINT_PACE_SHARE */
    uint64_t deviation;     /* likewise */
    bool begun;             /* there was one */
} CintPace;

/* A CQE was posted, where @set_ns was set as delta. */
static inline void cint_pace_posted(CintPace *pace, int64_t now,
                                    uint64_t set_ns)
{
    uint64_t gap = now - pace->last_ns;
    uint64_t mean = pace->mean / CINT_PACE_SHARE;

    if (pace->begun && gap <= set_ns * CINT_PACE_STRETCH) {
        pace->deviation += (gap > mean ? gap - mean : mean - gap) -
                           pace->deviation / CINT_PACE_SHARE;
        pace->mean += gap - mean;
    }
    pace->begun = true;
    pace->last_ns = now;
}

/* @set or more, CINT_PACE_STRETCH times that at the most. */
static inline uint64_t cint_pace_stretched(uint64_t wanted, uint64_t set)
{
    uint64_t most = set * CINT_PACE_STRETCH;

    return wanted < set ? set : wanted < most ? wanted : most;
}

/* The delta for the gaps seen, where @set_ns was set. */
static inline uint64_t cint_pace_delta(const CintPace *pace, uint64_t set_ns)
{
    uint64_t wanted = 2 * (pace->mean / CINT_PACE_SHARE) +
                      4 * (pace->deviation / CINT_PACE_SHARE);

    return cint_pace_stretched(wanted, set_ns);
}

/* The thr for a queue with @most commands at its most, where @set was set. */
static inline uint64_t cint_pace_thr(uint32_t most, uint64_t set)
{
    return cint_pace_stretched(most / CINT_PACE_MOST_SHARE, set);
}

#endif /* HW_NVME_COALESCE_PACE_H */
