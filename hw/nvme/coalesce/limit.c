/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ack gate, the kick window and the storm limit. See limit.h.
 *
 * The storm limit goes by the mean interval between interrupts, an
 * exponentially weighted average. A sample counts at most 2/max-irq-rate, so
 * that an idle gap cannot hide the next storm. While the mean says that the
 * rate is at or above the limit, an interrupt waits until 1/max-irq-rate after
 * the last one; all that is pending then goes out in one full interrupt.
 */
#include "limit.h"

#define SECOND_NS       1000000000u
#define FRACTION_BITS   16

static uint64_t to_fixed(int64_t ns)
{
    return (uint64_t)ns << FRACTION_BITS;
}

/*
 * A guest that has rung a doorbell since the last message, which is young, is
 * at work on this queue and about to ring again. One that has not rung since
 * may sleep.
 */
static bool guest_is_active(const CintLimits *limits, int64_t now)
{
    return limits->message_sent && limits->rung &&
           now - limits->message_ns < limits->window_ns;
}

/*
 * A handler that has not moved the head is about to run, or runs: it finds by
 * itself what is posted until it looks for the last time.
 */
static bool is_unacknowledged(const CintLimits *limits, int64_t now)
{
    return limits->message_sent && !limits->acked &&
           now - limits->message_ns < limits->gate_ns;
}

/* At equality too: held interrupts are exactly 1/max-irq-rate apart. */
static bool is_too_fast(const CintLimits *limits)
{
    return limits->gap_ns && limits->ewma &&
           limits->ewma <= to_fixed(limits->gap_ns);
}

static bool storm_holds(const CintLimits *limits, int64_t now)
{
    return !limits->retune && is_too_fast(limits) &&
           now < limits->last_ns + limits->gap_ns;
}

/*
 * A ring, or the end of gate or window, is the guest's last sign: the window is
 * not asked again. One that rings in a storm is still active when the storm
 * limit lets go.
 */
CintHeld cint_limits_ask(const CintLimits *limits, int64_t now,
                         CintReason reason)
{
    if (is_unacknowledged(limits, now)) {
        return CINT_HELD_ACK;
    }
    if (reason != NVME_CINT_REASON_KICK && guest_is_active(limits, now)) {
        return CINT_HELD_KICK;
    }
    return storm_holds(limits, now) ? CINT_HELD_STORM : CINT_HELD_NOT;
}

int64_t cint_limits_release(const CintLimits *limits, CintHeld held)
{
    switch (held) {
    case CINT_HELD_ACK:
        return limits->message_ns + limits->gate_ns;
    case CINT_HELD_KICK:
        return limits->message_ns + limits->window_ns;
    default:
        return limits->last_ns + limits->gap_ns;
    }
}

static int64_t sample_of(const CintLimits *limits, int64_t interval)
{
    int64_t most = 2 * limits->gap_ns;

    return interval < 0 ? 0 : interval < most ? interval : most;
}

/*
 * Steps are rounded away from 0: rounded down, a mean just below a constant
 * sample would never reach it. 0 stands for "no mean yet".
 */
static void add_to_mean(CintLimits *limits, int64_t interval)
{
    uint64_t sample = interval ? to_fixed(interval) : 1;
    uint64_t round_up = (1u << limits->shift) - 1;

    if (!limits->ewma) {
        limits->ewma = sample;
    } else if (sample > limits->ewma) {
        limits->ewma += (sample - limits->ewma + round_up) >> limits->shift;
    } else {
        limits->ewma -= (limits->ewma - sample + round_up) >> limits->shift;
    }
}

bool cint_limits_measure(CintLimits *limits, int64_t now, uint32_t covered)
{
    bool retuned = false;

    if (limits->sent) {
        int64_t interval = sample_of(limits, now - limits->last_ns);

        add_to_mean(limits, interval);
        retuned = limits->retune &&
                  cint_tuner_sent(&limits->tuner, interval, covered);
    }
    limits->last_ns = now;
    limits->sent = true;
    return retuned;
}

uint64_t cint_limits_mean(const CintLimits *limits)
{
    return limits->ewma >> FRACTION_BITS;
}

bool cint_limits_storm(const CintLimits *limits)
{
    return limits->retune ? cint_limits_tuning(limits) : is_too_fast(limits);
}

void cint_limits_configure(CintLimits *limits, const CintLimitsConfig *config)
{
    uint64_t rate = config->max_irq_rate;
    int64_t gap = rate ? (SECOND_NS + rate - 1) / rate : 0;

    limits->gate_ns = config->ack_gate_ns;
    limits->window_ns = config->kick_window_ns;
    if (gap != limits->gap_ns || config->ewma_shift != limits->shift ||
        config->retune != limits->retune) {
        limits->gap_ns = gap;
        limits->shift = config->ewma_shift;
        limits->retune = config->retune;
        limits->ewma = 0;
        limits->sent = false;
        cint_tuner_init(&limits->tuner, gap, config->ewma_shift);
    }
    limits->any = limits->gate_ns || limits->window_ns || limits->gap_ns;
    cint_tuner_configure(&limits->tuner, config->delta_ns, config->thr,
                         config->most_thr);
}
