/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The limits that may lie over any policy: they say whether an interrupt that
 * is due goes out now.
 *
 *   ack gate       it waits until the guest has acknowledged the last message
 *   kick window    it waits while the guest is evidently at work on the queue
 *                  (vIC 3.3)
 *   storm limit    it waits until the rate of interrupts allows it; or, with
 *                  retune, the policy's thr and delta are set so that it does
 *                  (tune.h; cinterrupts 4.3)
 *
 * Nothing here knows a queue: what was sent goes in, answers come out.
 */
#ifndef HW_NVME_COALESCE_LIMIT_H
#define HW_NVME_COALESCE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "../cint-abi.h"
#include "tune.h"

typedef enum NvmeCintReasonId CintReason;

/* Why an interrupt that is due has not been sent. */
typedef enum CintHeld {
    CINT_HELD_NOT,
    CINT_HELD_ACK,      /* until the head moves, or the gate opens by itself */
    CINT_HELD_KICK,     /* until the guest rings, or the window ends */
    CINT_HELD_STORM,    /* until the rate allows it */
} CintHeld;

typedef struct CintLimits {
    bool any;           /* there is a gate, a window, or a limit */
    int64_t gate_ns;    /* of the acknowledgement, 0 = off */
    int64_t window_ns;  /* of the kick, 0 = off */
    int64_t gap_ns;     /* 1 / max-irq-rate, 0 = no limit */
    uint32_t shift;     /* the last interval weighs 1/2^shift in the mean */
    bool retune;        /* the storm limit holds nothing, it tunes */

    /* What is known of the guest since the last message. */
    int64_t message_ns; /* when it was sent */
    bool message_sent;  /* there was one */
    bool rung;          /* the guest rang a doorbell since */
    bool acked;         /* the head moved since */

    /* What is known of the interrupts sent: messages that are not masked. */
    bool masked;        /* messages stay in the PBA */
    bool sent;          /* there was one */
    int64_t last_ns;    /* when the last one was sent */
    uint64_t ewma;      /* mean interval, fixed point; 0 = none yet */
    CintTuner tuner;
} CintLimits;

/* Times and rates as in CintConfig. */
typedef struct CintLimitsConfig {
    uint64_t ack_gate_ns;
    uint64_t kick_window_ns;
    uint64_t max_irq_rate;
    uint32_t ewma_shift;
    bool retune;
    uint64_t delta_ns;  /* as set, for a policy that can be tuned */
    uint64_t thr;       /* likewise, as far as the queue can reach it */
    uint32_t most_thr;  /* what the queue can reach */
} CintLimitsConfig;

/* Another storm limit than before forgets what was measured. */
void cint_limits_configure(CintLimits *limits, const CintLimitsConfig *config);

/*
 * An interrupt is due at @now for @reason. Returns what holds it, if anything
 * does. Errors, pressure, max-hold and reconfigure never ask.
 */
CintHeld cint_limits_ask(const CintLimits *limits, int64_t now,
                         CintReason reason);

/* When to ask again for an interrupt that @held holds. */
int64_t cint_limits_release(const CintLimits *limits, CintHeld held);

/* The guest rang a doorbell of the queue. */
static inline void cint_limits_rung(CintLimits *limits)
{
    limits->rung = true;
}

/* If the head moved, the guest has seen what the last message told of. */
static inline void cint_limits_moved(CintLimits *limits, bool moved)
{
    limits->acked |= moved;
}

/* The guest gave a sign. Is that what @held waits for? */
static inline bool cint_limits_let_go(const CintLimits *limits, CintHeld held)
{
    return held == CINT_HELD_KICK || (held == CINT_HELD_ACK && limits->acked);
}

/*
 * A message was sent at @now. Returns true if that is to be measured, because
 * there is a storm limit.
 */
static inline bool cint_limits_sent(CintLimits *limits, int64_t now)
{
    limits->message_ns = now;
    limits->message_sent = true;
    limits->rung = false;
    limits->acked = false;
    return limits->gap_ns && !limits->masked;
}

/*
 * It tells of @covered CQEs. Returns true if thr and delta in force are others
 * now (retune).
 */
bool cint_limits_measure(CintLimits *limits, int64_t now, uint32_t covered);

/* The mean interval in ns, 0 if unknown or without a storm limit. */
uint64_t cint_limits_mean(const CintLimits *limits);

/* True while the storm limit holds, or retunes. */
bool cint_limits_storm(const CintLimits *limits);

/* True while it retunes: thr in force is the tuner's, hints are ignored. */
static inline bool cint_limits_tuning(const CintLimits *limits)
{
    return limits->tuner.thr > 0;
}

#endif /* HW_NVME_COALESCE_LIMIT_H */
