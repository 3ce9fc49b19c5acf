/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Core of the coalescing engine: counts, and the rules that hold under every
 * policy. Precedence, highest first: error, pressure, max-hold, reconfigure;
 * drain; the policy's own reason. The kick window and the storm limiter may
 * hold the last two, in this order.
 */
#include <string.h>

#include "policy.h"

static const CintPolicyOps *const policies[CINT_NR_POLICIES] = {
    [NVME_CINT_POLICY_DEFAULT]  = &cint_policy_default,
    [NVME_CINT_POLICY_STATIC]   = &cint_policy_static,
    [NVME_CINT_POLICY_ADAPTIVE] = &cint_policy_adaptive,
    [NVME_CINT_POLICY_VIC]      = &cint_policy_vic,
    [NVME_CINT_POLICY_CINT]     = &cint_policy_cint,
    [NVME_CINT_POLICY_POINTER]  = &cint_policy_pointer,
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

void cint_retune(CintCq *cq)
{
    uint64_t thr = uses_static_thr(&cq->config) ? cq->config.static_thr
                                                : cq->config.thr;

    cq->delta_ns = cq->config.delta_ns;
    if (cq->storm.boost) {
        cq->delta_ns = cint_storm_delta(cq, cq->delta_ns);
        thr = cint_storm_thr(cq, thr);
    }
    cq->thr = clamp_thr(cq, thr);
}

static void apply_config(CintCq *cq, const CintConfig *config)
{
    bool new_limit = config->max_irq_rate != cq->config.max_irq_rate ||
                     config->ewma_shift != cq->config.ewma_shift ||
                     config->storm != cq->config.storm;

    cq->config = *config;
    cq->drain = config->drain == CINT_AUTO ? ops(cq)->drain
                                           : config->drain == CINT_ON;
    if (new_limit) {
        cint_storm_restart(cq);
    }
    cint_retune(cq);
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

static void message_sent(CintCq *cq, int64_t now)
{
    cq->message_ns = now;
    cq->message_sent = true;
    cq->rung = false;
    cq->held = CINT_HELD_NOT;
    if (cq->storm.gap_ns) {
        cint_storm_sent(cq, now);
    }
}

static CintAction fire_full(CintCq *cq, int64_t now, CintReason reason)
{
    CintAction action = {
        .fire = CINT_FIRE_FULL,
        .reason = reason,
        .covered = cq->pending,
    };

    cq->pending = 0;
    cq->retained = 0;
    disarm(cq);
    message_sent(cq, now);
    return action;
}

/*
 * Tells of the CQE just posted. Those before it go on waiting; without any it
 * has set no deadline and retains nothing.
 */
static CintAction fire_urgent(CintCq *cq, int64_t now)
{
    CintAction action = {
        .fire = CINT_FIRE_URGENT,
        .reason = NVME_CINT_REASON_URGENT,
        .covered = 1,
    };

    cq->pending--;
    message_sent(cq, now);
    return action;
}

static CintAction fire(CintCq *cq, int64_t now, CintFire class,
                       CintReason reason)
{
    return class == CINT_FIRE_URGENT && !cq->held ? fire_urgent(cq, now)
                                                  : fire_full(cq, now, reason);
}

/*
 * An interrupt is due and has to wait. The end of the wait is then the only
 * deadline: until then the policy's own could change nothing, and may lie in
 * the past. What is released is a full interrupt, whatever was due.
 */
static CintAction hold(CintCq *cq, CintHeld why)
{
    cq->storm.held += why == CINT_HELD_STORM && cq->held != why;
    cq->held = why;
    disarm(cq);
    return no_action;
}

static CintAction limit_rate(CintCq *cq, int64_t now, CintFire class,
                             CintReason reason)
{
    return cq->storm.gap_ns && cint_storm_holds(cq, now) ?
           hold(cq, CINT_HELD_STORM) : fire(cq, now, class, reason);
}

/* Max-hold and reconfigure never ask: they fire by themselves. */
static bool bypasses_limits(CintReason reason)
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

static CintAction deliver_limited(CintCq *cq, int64_t now, CintFire class,
                                  CintReason reason)
{
    if (bypasses_limits(reason)) {
        return fire_full(cq, now, reason);
    }
    if (guest_is_active(cq, now)) {
        return hold(cq, CINT_HELD_KICK);
    }
    return limit_rate(cq, now, class, reason);
}

/*
 * An interrupt is due for @reason, if that is one. Sends or holds it. Most
 * queues have neither of the limits.
 */
static CintAction deliver(CintCq *cq, int64_t now, CintFire class,
                          CintReason reason)
{
    if (reason == NVME_CINT_REASON_NONE) {
        return cq->held ? hold(cq, cq->held) : no_action;
    }
    if (cq->config.kick_window_ns || cq->storm.gap_ns) {
        return deliver_limited(cq, now, class, reason);
    }
    return fire(cq, now, class, reason);
}

static CintAction deliver_full(CintCq *cq, int64_t now, CintReason reason)
{
    return deliver(cq, now, CINT_FIRE_FULL, reason);
}

static CintAction guest_rang(CintCq *cq, int64_t now)
{
    cq->rung = true;
    return cq->held == CINT_HELD_KICK ?
           limit_rate(cq, now, CINT_FIRE_FULL, NVME_CINT_REASON_KICK) :
           no_action;
}

/* When what is held may go out. */
static int64_t release_deadline(const CintCq *cq)
{
    switch (cq->held) {
    case CINT_HELD_KICK:
        return cq->message_ns + (int64_t)cq->config.kick_window_ns;
    case CINT_HELD_STORM:
        return cint_storm_release(cq);
    case CINT_HELD_NOT:
        break;
    }
    return CINT_NO_DEADLINE;
}

/*
 * The end of the kick window is the guest's last sign but for a doorbell; a
 * guest that rings in a storm is still active when the limiter lets go.
 */
static CintAction release(CintCq *cq, int64_t now)
{
    return cq->held == CINT_HELD_KICK ?
           limit_rate(cq, now, CINT_FIRE_FULL, NVME_CINT_REASON_KICK) :
           deliver_full(cq, now, NVME_CINT_REASON_STORM);
}

static uint32_t outstanding(const CintCq *cq)
{
    return cq->tail - cq->head;
}

/* @used: at least pressure_from. */
static uint32_t high_level(const CintCq *cq, uint32_t used)
{
    uint32_t step = cq->size / 16 ? cq->size / 16 : 1;

    return used >= cq->size - 1 ? cq->size
                                : 1 + (used - cq->pressure_from) / step;
}

/*
 * How full the queue is, in steps that each deserve one interrupt: 0 below
 * three quarters, then one step for each further sixteenth, and one for full.
 */
static uint32_t fill_level(const CintCq *cq)
{
    uint32_t used = outstanding(cq);

    return used < cq->pressure_from ? 0 : high_level(cq, used);
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

/* With something pending, that is. */
static bool drained(const CintCq *cq)
{
    return cq->drain && !cq->inflight;
}

/* Commands went away. @fence: what they leave satisfies a strict Barrier. */
static CintAction commands_left(CintCq *cq, int64_t now, bool fence)
{
    CintReason reason = NVME_CINT_REASON_NONE;

    if (!cq->pending) {
        return no_action;
    }
    if (ops(cq)->cancel) {
        reason = ops(cq)->cancel(cq, fence);
    }
    if (drained(cq)) {
        reason = NVME_CINT_REASON_DRAIN;
    }
    return deliver_full(cq, now, reason);
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
    cq->pressure_from = size - (size < 4 ? 1 : size / 4);
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
    cint_fence_submit(sq, cmd);
    sq->batch++;
    sq->batch_end = cmd;
    sq->inflight++;
    sq->cq->inflight++;
    sq->cq->scope->inflight++;
    return no_action;
}

/*
 * What a batch says about its last command, unless the guest said something
 * itself: somebody waits for the batch to be done; for a command that is on
 * its own, right away.
 */
static void infer_hint(CintSq *sq)
{
    CintCmd *cmd = sq->batch_end;
    uint64_t infer = sq->cq->config.infer;
    bool alone = sq->batch == 1 && sq->cq->inflight == 1;

    if (infer == CINT_INFER_OFF || !cmd || cmd->sources) {
        return;
    }
    cmd->sources = 1u << NVME_CINT_SOURCE_INFERRED;
    if (infer == CINT_INFER_ALL && alone) {
        cmd->hints = NVME_CINT_HINT_URGENT;
    } else {
        cmd->hints = NVME_CINT_HINT_BARRIER;
        cmd->fence = true;
    }
}

CintAction cint_doorbell(CintSq *sq, int64_t now)
{
    infer_hint(sq);
    sq->batch = 0;
    sq->batch_end = NULL;
    return guest_rang(sq->cq, now);
}

/* @cmd leaves its queue. Returns true if that satisfies a strict Barrier. */
static bool retire(CintSq *sq, CintCmd *cmd)
{
    leave_flight(sq, 1);
    if (sq->batch_end == cmd) {
        sq->batch_end = NULL;
    }
    return cint_fence_done(sq, cmd);
}

static void count_cqe(CintCq *cq, int64_t now, bool urgent_class)
{
    cq->tail++;
    if (!cq->pending++) {
        cq->first_ns = now;
    }
    /* The guest reaps it at once, and the slot is free if none is before it. */
    if (!urgent_class || cq->pending > 1) {
        cq->retained++;
    }
}

CintAction cint_complete(CintSq *sq, CintCmd *cmd, int64_t now, bool error)
{
    CintCq *cq = sq->cq;
    bool fence = retire(sq, cmd);
    bool urgent_class = cmd->hints == NVME_CINT_HINT_URGENT &&
                        cint_is_urgent_class(cq, cmd);
    CintReason reason;

    count_cqe(cq, now, urgent_class);

    /* The policy counts every completion, also one that fires anyway. */
    reason = ops(cq)->complete(cq, now, cmd, fence);
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
    /* What most completions come to, said early. */
    if (reason == NVME_CINT_REASON_NONE && !cq->held) {
        return no_action;
    }
    if (reason != NVME_CINT_REASON_URGENT) {
        urgent_class = false;
    }
    return deliver(cq, now, urgent_class ? CINT_FIRE_URGENT : CINT_FIRE_FULL,
                   reason);
}

CintAction cint_pass_end(CintCq *cq, int64_t now)
{
    if (!cq->pending || !ops(cq)->pass_end) {
        return no_action;
    }
    return deliver_full(cq, now, ops(cq)->pass_end(cq, now));
}

CintAction cint_cancel(CintSq *sq, CintCmd *cmd, int64_t now)
{
    return commands_left(sq->cq, now, retire(sq, cmd));
}

CintAction cint_delete_sq(CintSq *sq, int64_t now)
{
    leave_flight(sq, sq->inflight);
    sq->batch_end = NULL;
    return commands_left(sq->cq, now, cint_fence_drop_all(sq));
}

CintAction cint_head(CintCq *cq, int64_t now, uint32_t head)
{
    /* Serial number arithmetic: a head past the tail gives a huge distance. */
    cq->head = cq->tail - head >= cq->size ? cq->tail : head;
    if (cq->pending > outstanding(cq)) {
        cq->pending = outstanding(cq);
    }
    if (cq->retained > outstanding(cq)) {
        cq->retained = outstanding(cq);
    }
    if (cq->pressure > fill_level(cq)) {
        cq->pressure = fill_level(cq);
    }
    if (!cq->pending) {
        cq->held = CINT_HELD_NOT;
        disarm(cq);
    }
    return guest_rang(cq, now);
}

CintAction cint_pointer(CintCq *cq, int64_t now, uint32_t target)
{
    if (cq->config.policy != NVME_CINT_POLICY_POINTER) {
        return no_action;
    }
    cq->pointer.state = CINT_POINTER_ARMED;
    cq->pointer.target = target;
    if (!cint_pointer_passed(cq)) {
        return no_action;
    }
    /* The guest is about to sleep: what it was told before does not count. */
    if (!cq->pending) {
        cq->first_ns = now;
    }
    cq->pending = cq->retained = outstanding(cq);
    return deliver_full(cq, now, NVME_CINT_REASON_POINTER);
}

CintAction cint_pointer_off(CintCq *cq, int64_t now)
{
    if (cq->config.policy != NVME_CINT_POLICY_POINTER) {
        return no_action;
    }
    cq->pointer.state = CINT_POINTER_OFF;
    return cq->pending ? deliver_full(cq, now, NVME_CINT_REASON_POINTER)
                       : no_action;
}

CintAction cint_set_record(CintCq *cq, int64_t now, bool has_record)
{
    bool lost = cq->has_record && !has_record;

    cq->has_record = has_record;
    return lost && cq->pending ? fire_full(cq, now, NVME_CINT_REASON_RECONF)
                               : no_action;
}

void cint_set_masked(CintCq *cq, bool masked)
{
    cq->masked = masked;
}

CintAction cint_timer(CintCq *cq, int64_t now)
{
    if (!cq->pending) {
        return no_action;
    }
    if (hold_deadline(cq) <= now) {
        return fire_full(cq, now, NVME_CINT_REASON_MAX_HOLD);
    }
    if (release_deadline(cq) <= now) {
        return release(cq, now);
    }
    return cq->deadline <= now ? deliver_full(cq, now, ops(cq)->timer(cq, now))
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
                                         release_deadline(cq)));
}
