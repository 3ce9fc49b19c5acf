/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Storm protection: keeps the rate of interrupts near max-irq-rate, whatever
 * the policy (cinterrupts 4.3).
 *
 * The mean interval between interrupts is an exponentially weighted average,
 * weight 1/2^ewma-shift. A sample counts at most 2/max-irq-rate, so that an
 * idle gap cannot hide the next storm. While the mean says that the rate is at
 * or above the limit,
 *
 *   hold     an interrupt waits until 1/max-irq-rate after the last one; all
 *            that is pending then goes out in one full interrupt.
 *   retune   hints are ignored, delta becomes 1/max-irq-rate if it is less, and
 *            thr is doubled for as long as the mean stays below
 *            1/max-irq-rate. While the mean is more than a quarter above, this
 *            is taken back in the same steps. A step is considered once in
 *            2^(ewma-shift - 2) interrupts, and starts the mean anew: samples
 *            of before say nothing about it. The paper gives no rule; this is
 *            ours.
 */
#include "policy.h"

#define SECOND_NS       1000000000u
#define FRACTION_BITS   16
#define MAX_BOOST       17      /* by then thr is any queue's size */

static uint64_t to_fixed(int64_t ns)
{
    return (uint64_t)ns << FRACTION_BITS;
}

/* At equality too: held interrupts are exactly 1/max-irq-rate apart. */
static bool is_too_fast(const CintStorm *storm)
{
    return storm->gap_ns && storm->ewma &&
           storm->ewma <= to_fixed(storm->gap_ns);
}

bool cint_storm_active(const CintCq *cq)
{
    return cq->config.storm == CINT_STORM_RETUNE ? cq->storm.boost > 0
                                                 : is_too_fast(&cq->storm);
}

uint64_t cint_storm_ewma(const CintCq *cq)
{
    return cq->storm.ewma >> FRACTION_BITS;
}

static uint64_t sample_of(const CintStorm *storm, int64_t interval)
{
    int64_t most = 2 * storm->gap_ns;

    /* 0 stands for "no mean yet". */
    return interval > 0 ? to_fixed(interval < most ? interval : most) : 1;
}

/*
 * Steps are rounded away from 0: rounded down, a mean just below a constant
 * sample would never reach it.
 */
static void add_sample(CintStorm *storm, uint32_t shift, uint64_t sample)
{
    uint64_t round_up = (1u << shift) - 1;

    if (!storm->ewma) {
        storm->ewma = sample;
    } else if (sample > storm->ewma) {
        storm->ewma += (sample - storm->ewma + round_up) >> shift;
    } else {
        storm->ewma -= (storm->ewma - sample + round_up) >> shift;
    }
}

static void set_boost(CintCq *cq, uint32_t boost)
{
    cq->storm.boost = boost;
    cq->storm.ewma = 0;
    cint_retune(cq);
}

static void consider_boost(CintCq *cq)
{
    CintStorm *storm = &cq->storm;
    uint32_t shift = cq->config.ewma_shift;
    uint64_t gap = to_fixed(storm->gap_ns);

    if (++storm->since < (shift > 2 ? 1u << (shift - 2) : 1)) {
        return;
    }
    storm->since = 0;
    if (storm->ewma < gap && storm->boost < MAX_BOOST) {
        set_boost(cq, storm->boost + 1);
    } else if (storm->ewma > gap + gap / 4 && storm->boost) {
        set_boost(cq, storm->boost - 1);
    }
}

void cint_storm_sent(CintCq *cq, int64_t now)
{
    CintStorm *storm = &cq->storm;

    if (!storm->gap_ns || cq->masked) {
        return;
    }
    if (storm->sent) {
        add_sample(storm, cq->config.ewma_shift,
                   sample_of(storm, now - storm->last_ns));
        if (cq->config.storm == CINT_STORM_RETUNE) {
            consider_boost(cq);
        }
    }
    storm->last_ns = now;
    storm->sent = true;
}

bool cint_storm_holds(const CintCq *cq, int64_t now)
{
    return cq->config.storm == CINT_STORM_HOLD && !cq->disabled &&
           is_too_fast(&cq->storm) && now < cint_storm_release(cq);
}

int64_t cint_storm_release(const CintCq *cq)
{
    return cq->storm.last_ns + cq->storm.gap_ns;
}

uint64_t cint_storm_thr(const CintCq *cq, uint64_t thr)
{
    return (thr ? thr : 1) << (cq->storm.boost - 1);
}

int64_t cint_storm_delta(const CintCq *cq, int64_t delta)
{
    return delta > cq->storm.gap_ns ? delta : cq->storm.gap_ns;
}

void cint_storm_restart(CintCq *cq)
{
    uint64_t rate = cq->config.max_irq_rate;

    cq->storm.gap_ns = rate ? (SECOND_NS + rate - 1) / rate : 0;
    cq->storm.ewma = 0;
    cq->storm.boost = 0;
    cq->storm.since = 0;
    cq->storm.sent = false;
}
