/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Core of the coalescing engine: counts, and the rules that hold under every
 * policy. Precedence, highest first: error, pressure, max-hold, reconfigure;
 * drain; the policy's own reason. The kick window may withhold the last two.
 */
#include <string.h>

#include "policy.h"

static const CintPolicyOps *const policies[CINT_NR_POLICIES] = {
    [NVME_CINT_POLICY_DEFAULT]  = &cint_policy_default,
    [NVME_CINT_POLICY_STATIC]   = &cint_policy_static,
    [NVME_CINT_POLICY_ADAPTIVE] = &cint_policy_adaptive,
    [NVME_CINT_POLICY_VIC]      = &cint_policy_vic,
};

static const CintAction no_action = { .fire = CINT_FIRE_NONE };

static const CintPolicyOps *ops(const CintCq *cq)
{
    return policies[cq->config.policy];
}

static bool uses_static_thr(const CintConfig *config)
{
    return config->policy == NVME_CINT_POLICY_STATIC ||
           config->policy == NVME_CINT_POLICY_DEFAULT;
}

/*
 * A threshold above what the queue can hold would never be reached: two
 * entries are left for the slot that stays empty and the one that completes.
 */
static uint32_t clamp_thr(const CintCq *cq, uint64_t thr)
{
    uint32_t limit = cq->size > 2 ? cq->size - 2 : 1;

    return thr < limit ? thr : limit;
}

static void apply_config(CintCq *cq, const CintConfig *config)
{
    cq->config = *config;
    cq->thr = clamp_thr(cq, uses_static_thr(config) ? config->static_thr
                                                    : config->thr);
    cq->drain = config->drain == CINT_AUTO ? ops(cq)->drain
                                           : config->drain == CINT_ON;
}

static void enter_policy(CintCq *cq)
{
    if (ops(cq)->enter) {
        ops(cq)->enter(cq);
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void disarm(CintCq *cq)
{
    cq->deadline = CINT_NO_DEADLINE;
}

static CintAction fire_full(CintCq *cq, int64_t now, CintReason reason)
{
    CintAction action = {
        .fire = CINT_FIRE_FULL,
        .reason = reason,
        .covered = cq->pending,
    };

    cq->pending = 0;
    cq->message_ns = now;
    cq->message_sent = true;
    cq->rung = false;
    cq->withheld = false;
    disarm(cq);
    return action;
}

/* Max-hold and reconfigure never ask: they fire by themselves. */
static bool bypasses_kick_window(CintReason reason)
{
    return reason == NVME_CINT_REASON_ERROR ||
           reason == NVME_CINT_REASON_PRESSURE;
}

/*
 * A guest that has rung a doorbell since the last message, which is young, is
 * at work on this queue and about to ring again (vIC 3.3). One that has not
 * rung since may sleep.
 */
static bool guest_is_active(const CintCq *cq, int64_t now)
{
    return cq->message_sent && cq->rung && !cq->disabled &&
           now - cq->message_ns < (int64_t)cq->config.kick_window_ns;
}

/*
 * An interrupt is due for @reason, if that is one. Sends or withholds it.
 * While one is withheld the end of the window is the only deadline: until
 * then the policy's own could change nothing, and may lie in the past.
 */
static CintAction deliver(CintCq *cq, int64_t now, CintReason reason)
{
    bool due = reason != NVME_CINT_REASON_NONE;

    if (due && (bypasses_kick_window(reason) || !guest_is_active(cq, now))) {
        return fire_full(cq, now, reason);
    }
    cq->withheld |= due;
    if (cq->withheld) {
        disarm(cq);
    }
    return no_action;
}

static CintAction guest_rang(CintCq *cq, int64_t now)
{
    cq->rung = true;
    return cq->withheld ? fire_full(cq, now, NVME_CINT_REASON_KICK)
                        : no_action;
}

static int64_t kick_deadline(const CintCq *cq)
{
    return cq->withheld ? cq->message_ns + (int64_t)cq->config.kick_window_ns
                        : CINT_NO_DEADLINE;
}

static uint32_t outstanding(const CintCq *cq)
{
    return cq->tail - cq->head;
}

/*
 * How full the queue is, in steps that each deserve one interrupt: 0 below
 * three quarters, then one step for each further sixteenth, and one for full.
 */
static uint32_t fill_level(const CintCq *cq)
{
    uint32_t used = outstanding(cq);
    uint32_t threshold = cq->size - cq->size / 4;
    uint32_t step = cq->size / 16 ? cq->size / 16 : 1;

    if (used >= cq->size - 1) {
        return cq->size;
    }
    return used < threshold ? 0 : 1 + (used - threshold) / step;
}

/* Says so once for each level reached, not for every CQE of a slow guest. */
static bool pressure_rose(CintCq *cq)
{
    uint32_t level = fill_level(cq);

    if (level <= cq->pressure) {
        return false;
    }
    cq->pressure = level;
    return true;
}

static int64_t hold_deadline(const CintCq *cq)
{
    if (!cq->pending || !cq->config.max_hold_ns) {
        return CINT_NO_DEADLINE;
    }
    return cq->first_ns + cq->config.max_hold_ns;
}

static bool drained(const CintCq *cq)
{
    return cq->drain && cq->pending && !cq->inflight;
}

static CintAction deliver_if_drained(CintCq *cq, int64_t now)
{
    return deliver(cq, now, drained(cq) ? NVME_CINT_REASON_DRAIN
                                        : NVME_CINT_REASON_NONE);
}

static void leave_flight(CintSq *sq, uint32_t commands)
{
    sq->inflight -= commands;
    sq->cq->inflight -= commands;
    sq->cq->scope->inflight -= commands;
}

void cint_scope_init(CintScope *scope)
{
    memset(scope, 0, sizeof(*scope));
}

void cint_cq_init(CintCq *cq, CintScope *scope, uint32_t size,
                  const CintConfig *config)
{
    memset(cq, 0, sizeof(*cq));
    cq->scope = scope;
    cq->size = size;
    disarm(cq);
    apply_config(cq, config);
    enter_policy(cq);
}

void cint_sq_init(CintSq *sq, CintCq *cq)
{
    memset(sq, 0, sizeof(*sq));
    sq->cq = cq;
}

CintAction cint_submit(CintSq *sq, CintCmd *cmd, int64_t now, uint8_t hints,
                       uint8_t sources)
{
    cmd->hints = hints;
    cmd->sources = sources;
    sq->inflight++;
    sq->cq->inflight++;
    sq->cq->scope->inflight++;
    return no_action;
}

CintAction cint_doorbell(CintSq *sq, int64_t now)
{
    return guest_rang(sq->cq, now);
}

CintAction cint_complete(CintSq *sq, CintCmd *cmd, int64_t now, bool error)
{
    CintCq *cq = sq->cq;
    CintReason reason;

    leave_flight(sq, 1);
    cq->tail++;
    if (!cq->pending++) {
        cq->first_ns = now;
    }

    /* The policy counts every completion, also one that fires anyway. */
    reason = ops(cq)->complete(cq, now, cmd);
    if (cq->disabled) {
        reason = NVME_CINT_REASON_EACH;
    }
    if (drained(cq)) {
        reason = NVME_CINT_REASON_DRAIN;
    }
    if (pressure_rose(cq)) {
        reason = NVME_CINT_REASON_PRESSURE;
    }
    if (error) {
        reason = NVME_CINT_REASON_ERROR;
    }
    return deliver(cq, now, reason);
}

CintAction cint_pass_end(CintCq *cq, int64_t now)
{
    if (!cq->pending || !ops(cq)->pass_end) {
        return no_action;
    }
    return deliver(cq, now, ops(cq)->pass_end(cq, now));
}

CintAction cint_cancel(CintSq *sq, CintCmd *cmd, int64_t now)
{
    leave_flight(sq, 1);
    return deliver_if_drained(sq->cq, now);
}

CintAction cint_delete_sq(CintSq *sq, int64_t now)
{
    leave_flight(sq, sq->inflight);
    return deliver_if_drained(sq->cq, now);
}

CintAction cint_head(CintCq *cq, int64_t now, uint32_t head)
{
    /* Serial number arithmetic: a head past the tail gives a huge distance. */
    cq->head = cq->tail - head >= cq->size ? cq->tail : head;
    if (cq->pending > outstanding(cq)) {
        cq->pending = outstanding(cq);
    }
    if (cq->pressure > fill_level(cq)) {
        cq->pressure = fill_level(cq);
    }
    if (!cq->pending) {
        cq->withheld = false;
        disarm(cq);
    }
    return guest_rang(cq, now);
}

CintAction cint_pointer(CintCq *cq, int64_t now, uint32_t target)
{
    return no_action;
}

CintAction cint_timer(CintCq *cq, int64_t now)
{
    if (!cq->pending) {
        return no_action;
    }
    if (hold_deadline(cq) <= now) {
        return fire_full(cq, now, NVME_CINT_REASON_MAX_HOLD);
    }
    if (kick_deadline(cq) <= now) {
        return fire_full(cq, now, NVME_CINT_REASON_KICK);
    }
    return cq->deadline <= now ? deliver(cq, now, ops(cq)->timer(cq, now))
                               : no_action;
}

CintAction cint_configure(CintCq *cq, int64_t now, const CintConfig *config)
{
    bool new_policy = config->policy != cq->config.policy;

    apply_config(cq, config);
    if (new_policy) {
        enter_policy(cq);
    }
    return cq->pending ? fire_full(cq, now, NVME_CINT_REASON_RECONF)
                       : no_action;
}

CintAction cint_disable(CintCq *cq, int64_t now, bool disabled)
{
    cq->disabled = disabled;
    return cq->pending ? fire_full(cq, now, NVME_CINT_REASON_RECONF)
                       : no_action;
}

int64_t cint_deadline(const CintCq *cq)
{
    return earlier(cq->deadline, earlier(hold_deadline(cq),
                                         kick_deadline(cq)));
}
