/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Core of the coalescing engine: counts, and the rules that hold under every
 * policy. Precedence, highest first: error, pressure, max-hold, reconfigure;
 * drain; the policy's own reason.
 */
#include <string.h>

#include "policy.h"

static const CintPolicyOps *const policies[CINT_NR_POLICIES] = {
    [NVME_CINT_POLICY_DEFAULT]  = &cint_policy_default,
    [NVME_CINT_POLICY_STATIC]   = &cint_policy_static,
    [NVME_CINT_POLICY_ADAPTIVE] = &cint_policy_adaptive,
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

static void disarm(CintCq *cq)
{
    cq->deadline = CINT_NO_DEADLINE;
}

static CintAction fire_full(CintCq *cq, CintReason reason)
{
    CintAction action = {
        .fire = CINT_FIRE_FULL,
        .reason = reason,
        .covered = cq->pending,
    };

    cq->pending = 0;
    disarm(cq);
    return action;
}

static CintAction fire_if(CintCq *cq, CintReason reason)
{
    return reason == NVME_CINT_REASON_NONE ? no_action
                                           : fire_full(cq, reason);
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
    return no_action;
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
    if (drained(cq)) {
        reason = NVME_CINT_REASON_DRAIN;
    }
    if (pressure_rose(cq)) {
        reason = NVME_CINT_REASON_PRESSURE;
    }
    if (error) {
        reason = NVME_CINT_REASON_ERROR;
    }
    return fire_if(cq, reason);
}

CintAction cint_pass_end(CintCq *cq, int64_t now)
{
    if (!cq->pending || !ops(cq)->pass_end) {
        return no_action;
    }
    return fire_if(cq, ops(cq)->pass_end(cq, now));
}

CintAction cint_cancel(CintSq *sq, CintCmd *cmd, int64_t now)
{
    leave_flight(sq, 1);
    return drained(sq->cq) ? fire_full(sq->cq, NVME_CINT_REASON_DRAIN)
                           : no_action;
}

CintAction cint_delete_sq(CintSq *sq, int64_t now)
{
    leave_flight(sq, sq->inflight);
    return drained(sq->cq) ? fire_full(sq->cq, NVME_CINT_REASON_DRAIN)
                           : no_action;
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
        disarm(cq);
    }
    return no_action;
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
        return fire_full(cq, NVME_CINT_REASON_MAX_HOLD);
    }
    return cq->deadline <= now ? fire_if(cq, ops(cq)->timer(cq, now))
                               : no_action;
}

CintAction cint_configure(CintCq *cq, int64_t now, const CintConfig *config)
{
    apply_config(cq, config);
    disarm(cq);
    return cq->pending ? fire_full(cq, NVME_CINT_REASON_RECONF) : no_action;
}

int64_t cint_deadline(const CintCq *cq)
{
    int64_t hold = hold_deadline(cq);

    return hold < cq->deadline ? hold : cq->deadline;
}
