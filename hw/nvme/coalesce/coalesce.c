/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Core of the coalescing engine: counts, and the rules that hold under every
 * policy. An interrupt may be due for several reasons; precedence, highest
 * first: error, pressure, max-hold, reconfigure; the policy's own reason, if
 * its interrupt tells of everything pending; drain; the policy's own reason.
 * The kick window and the storm limit may hold the last three.
 */
#include <string.h>

#include "check.h"
#include "fence.h"
#include "policy.h"

static const CintAction no_action = { .fire = CINT_FIRE_NONE };

static const CintPolicyOps *ops(const CintCq *cq)
{
    return cint_policies[cq->config.policy];
}

/* The threshold that is set for the policy. */
static uint64_t set_thr(const CintCq *cq)
{
    return *(const uint64_t *)((const char *)&cq->config + ops(cq)->thr);
}

/*
 * A threshold above what the queue can hold would never be reached: two
 * entries are left for the slot that stays empty and the one that completes.
 */
static uint32_t most_thr(const CintCq *cq)
{
    return cq->size > 2 ? cq->size - 2 : 1;
}

static uint32_t clamp_thr(const CintCq *cq, uint64_t thr)
{
    return thr < most_thr(cq) ? thr : most_thr(cq);
}

static void tune_to_limit(CintCq *cq)
{
    const CintLimits *limits = &cq->limits;

    cq->delta_ns = cq->config.delta_ns;
    if (cq->delta_ns < limits->gap_ns) {
        cq->delta_ns = limits->gap_ns;
    }
    cq->thr = clamp_thr(cq, limits->tuner.thr);
}

static void tune_thr_to_load(CintCq *cq)
{
    cq->paced_most = cq->most;
    cq->thr = clamp_thr(cq, cint_pace_thr(cq->most, cq->config.thr));
}

/* Who seems to have nothing left to do is held no longer than was set. */
static void tune_delta_to_load(CintCq *cq)
{
    uint64_t set = cq->config.delta_ns;

    cq->delta_ns = cq->resting ? set : cint_pace_delta(&cq->pace, set);
}

/* Puts delta and thr in force, as set, or as storm limit or load want them. */
static void tune(CintCq *cq)
{
    if (cint_limits_tuning(&cq->limits)) {
        tune_to_limit(cq);
    } else if (cq->tunes) {
        tune_delta_to_load(cq);
        tune_thr_to_load(cq);
    } else {
        cq->delta_ns = cq->config.delta_ns;
        cq->thr = clamp_thr(cq, set_thr(cq));
    }
}

/* What the policy makes of what is set about who waits. */
static void apply_inference(CintCq *cq)
{
    const CintPolicyOps *policy = ops(cq);
    const CintConfig *config = &cq->config;

    cq->infer = policy->by_itself ? CINT_INFER_BOTH : config->infer;
    cq->barrier = policy->by_itself ? CINT_BARRIER_RELAXED : config->barrier;
    cq->tunes = policy->by_itself || (policy->tunable && config->tune);
    cq->learns = policy->infers && (cq->infer == CINT_INFER_LEARN ||
                                    cq->infer == CINT_INFER_BOTH);
    cq->reads = policy->infers && (cq->infer == CINT_INFER_CONTENT ||
                                   cq->infer == CINT_INFER_BOTH);
    cq->looks = cq->learns || cq->reads;
    cq->follows = cq->learns || cq->tunes;
}

/* What the core has to find out of the guest for that. */
static void apply_watching(CintCq *cq)
{
    cq->any = cq->drain && ops(cq)->any && ops(cq)->any(cq);
    cq->gauges = cq->any || cq->tunes;
    cq->watches = cq->looks || cq->gauges;
}

static void apply_config(CintCq *cq, const CintConfig *config)
{
    CINT_MUST(config->policy < CINT_NR_POLICIES);
    cq->config = *config;
    cq->drain = config->drain == CINT_AUTO ? ops(cq)->drain
                                           : config->drain == CINT_ON;
    apply_inference(cq);
    apply_watching(cq);
    cint_limits_configure(&cq->limits, &(CintLimitsConfig) {
        .ack_gate_ns = config->ack_gate_ns,
        .kick_window_ns = config->kick_window_ns,
        .max_irq_rate = config->max_irq_rate,
        .ewma_shift = config->ewma_shift,
        .retune = config->storm == CINT_STORM_RETUNE,
        .delta_ns = config->delta_ns,
        .thr = clamp_thr(cq, set_thr(cq)),
        .most_thr = most_thr(cq),
    });
    tune(cq);
}

static void enter_policy(CintCq *cq)
{
    if (ops(cq)->enter) {
        ops(cq)->enter(cq);
    }
}

static void disarm(CintCq *cq)
{
    cq->deadline = CINT_NO_DEADLINE;
}

static uint32_t outstanding(const CintCq *cq)
{
    return cq->tail - cq->head;
}

/*
 * Is the guest at work?
 *
 * What the guest has consumed it answers with further commands, as long as it
 * goes on with what it does. So there are never more with the device than when
 * it has answered everything. Until then it is at work, and after that it
 * sleeps, if it has said that it waits.
 */

/* Commands that the guest has not consumed. */
static uint32_t with_device(const CintCq *cq)
{
    return cq->inflight + outstanding(cq);
}

/* Of a queue that learns. */
#define FORGET_SHARE    16  /* of what is too many, at a time */
#define PROBE_EVERY     16  /* times that the guest seems to sleep */

/* One more command is about to be with the device. */
static void note_most(CintCq *cq, int64_t now)
{
    if (with_device(cq) >= cq->most) {
        cq->most = with_device(cq) + 1;
    }
    cq->submit_ns = now;
}

/* The guest is told; it did something else if it submitted nothing so long. */
static void forget_most(CintCq *cq, int64_t now)
{
    if (now - cq->submit_ns < cq->delta_ns) {
        return;
    }
    if (cq->learns) {
        cq->most -= (cq->most - with_device(cq) + FORGET_SHARE - 1) /
                    FORGET_SHARE;
    } else {
        cq->most = with_device(cq);
    }
}

/* What is known of the guest was found out under other rules. */
static void begin_watching(CintCq *cq, int64_t now)
{
    cq->asleep = false;
    cq->probing = false;
    cq->resting = false;
    cq->most = with_device(cq);
    cq->submit_ns = now;
}

/*
 * Sending and holding
 */

static APART CintAction measured(CintCq *cq, int64_t now, CintAction action)
{
    if (cint_limits_measure(&cq->limits, now, action.covered)) {
        tune(cq);
    }
    return action;
}

/* @action is all that is left to do about an interrupt. */
static CintAction sent(CintCq *cq, int64_t now, CintAction action)
{
    cq->held = CINT_HELD_NOT;
    return cint_limits_sent(&cq->limits, now) ? measured(cq, now, action)
                                              : action;
}

static inline CintAction fire_all(CintCq *cq, int64_t now, CintReason reason)
{
    CintAction action = {
        .fire = CINT_FIRE_FULL,
        .reason = reason,
        .covered = cq->pending,
    };

    CINT_MUST(reason != NVME_CINT_REASON_NONE);
    cq->pending = 0;
    cq->retained = 0;
    disarm(cq);
    return sent(cq, now, action);
}

static APART CintAction wake_with_all(CintCq *cq, int64_t now,
                                      CintReason reason)
{
    cq->asleep = false;
    cq->probing = false;
    cq->resting = false;
    forget_most(cq, now);
    return fire_all(cq, now, reason);
}

/* Tells of everything pending. */
static APART CintAction fire_full(CintCq *cq, int64_t now, CintReason reason)
{
    return cq->gauges ? wake_with_all(cq, now, reason)
                      : fire_all(cq, now, reason);
}

/*
 * Tells of the CQE just posted, which is reaped at once: it leaves the queue
 * unless one is before it. Those before it go on waiting; without any, no
 * deadline is set.
 */
static CintAction fire_urgent(CintCq *cq, int64_t now, CintReason reason)
{
    CintAction action = {
        .fire = CINT_FIRE_URGENT,
        .reason = reason,
        .covered = 1,
    };

    CINT_MUST(cq->pending && cq->retained);
    cq->pending--;
    if (!cq->pending) {
        cq->retained--;
    }
    return sent(cq, now, action);
}

/*
 * The end of the wait is then the only deadline: until then the policy's own
 * could change nothing, and may lie in the past.
 */
static CintAction hold(CintCq *cq, CintHeld why)
{
    cq->storm_held += why == CINT_HELD_STORM && cq->held != why;
    cq->held = why;
    disarm(cq);
    return no_action;
}

/*
 * An interrupt is due for @verdict, if that has a reason: sends it, unless a
 * limit holds it. What had to wait is a full one, whatever was due.
 */
static CintAction deliver_limited(CintCq *cq, int64_t now, CintVerdict verdict)
{
    CintHeld why = cint_limits_ask(&cq->limits, now, verdict.reason);

    if (why) {
        return hold(cq, why);
    }
    return verdict.urgent_only && !cq->held ?
           fire_urgent(cq, now, verdict.reason) :
           fire_full(cq, now, verdict.reason);
}

/* Most queues have no limit, and hold nothing. */
static inline CintAction deliver(CintCq *cq, int64_t now, CintVerdict verdict)
{
    if (verdict.reason == NVME_CINT_REASON_NONE) {
        return cq->held ? hold(cq, cq->held) : no_action;
    }
    if (cq->limits.any && !cq->disabled) {
        return deliver_limited(cq, now, verdict);
    }
    return verdict.urgent_only ? fire_urgent(cq, now, verdict.reason)
                               : fire_full(cq, now, verdict.reason);
}

static CintAction deliver_full(CintCq *cq, int64_t now, CintReason reason)
{
    return deliver(cq, now, cint_verdict(reason));
}

/* What waited under other rules than those in force now goes out. */
static CintAction reconfigured(CintCq *cq, int64_t now)
{
    return cq->pending ? fire_full(cq, now, NVME_CINT_REASON_RECONF)
                       : no_action;
}

static CintAction release(CintCq *cq, int64_t now)
{
    return deliver_full(cq, now, cq->held == CINT_HELD_STORM ?
                                 NVME_CINT_REASON_STORM :
                                 NVME_CINT_REASON_KICK);
}

/*
 * Rules that hold under every policy
 */

static uint32_t high_level(const CintCq *cq, uint32_t used)
{
    uint32_t step = cq->size / 16 ? cq->size / 16 : 1;

    CINT_MUST(used >= cq->pressure_from);
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

/* Has no say while the limit tunes. */
static bool drained(const CintCq *cq)
{
    return cq->drain && cint_nothing_comes(cq);
}

/*
 * A drain tells of everything. Where the policy's interrupt does so as well
 * the reason is the policy's.
 */
static CintVerdict add_drain(const CintCq *cq, CintVerdict verdict)
{
    bool is_all = verdict.reason != NVME_CINT_REASON_NONE &&
                  (!verdict.urgent_only || cq->pending == 1);

    return cint_verdict(is_all ? verdict.reason : NVME_CINT_REASON_DRAIN);
}

/* Commands went away. @fence: what they leave satisfies a strict Barrier. */
static CintAction commands_went(CintCq *cq, int64_t now, bool fence)
{
    CintVerdict verdict = { .reason = NVME_CINT_REASON_NONE };

    cq->asleep &= cq->waiters[CINT_WAITER_ANY] > 0;
    if (!cq->pending) {
        return no_action;
    }
    if (ops(cq)->cancel) {
        verdict.reason = ops(cq)->cancel(cq, fence);
    }
    if (drained(cq) && !cint_limits_tuning(&cq->limits)) {
        verdict = add_drain(cq, verdict);
    }
    return deliver(cq, now, verdict);
}

static void set_backlog(CintSq *sq, uint32_t backlog)
{
    sq->cq->backlog += backlog - sq->backlog;
    sq->cq->scope->backlog += backlog - sq->backlog;
    sq->backlog = backlog;
}

static void add_waiter(CintSq *sq, CintCmd *cmd, CintWaiter waiter)
{
    cmd->waiter = waiter;
    sq->waiters[waiter]++;
    sq->cq->waiters[waiter]++;
}

/* @cmd still says what it was. */
static void remove_waiter(CintSq *sq, const CintCmd *cmd)
{
    CINT_MUST(sq->waiters[cmd->waiter]);
    sq->waiters[cmd->waiter]--;
    sq->cq->waiters[cmd->waiter]--;
}

static void drop_waiters(CintSq *sq)
{
    unsigned i;

    for (i = 0; i < CINT_NR_WAITERS; i++) {
        sq->cq->waiters[i] -= sq->waiters[i];
        sq->waiters[i] = 0;
    }
}

static inline void leave_flight(CintSq *sq, uint32_t commands)
{
    CintCq *cq = sq->cq;
    CintScope *scope = cq->scope;

    CINT_MUST(sq->inflight >= commands);
    sq->inflight -= commands;
    cq->inflight -= commands;
    scope->inflight -= commands;
}

/*
 * Events
 */

void cint_scope_init(CintScope *scope)
{
    memset(scope, 0, sizeof(*scope));
}

void cint_cq_init(CintCq *cq, CintScope *scope, uint32_t size,
                  const CintConfig *config)
{
    CINT_MUST(size >= 2);
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
    sq->head = cq->head - 1;
}

CintAction cint_published(CintSq *sq, int64_t now, uint32_t backlog)
{
    bool went = backlog < sq->backlog;

    set_backlog(sq, backlog);
    return cint_checked(sq->cq, went ? commands_went(sq->cq, now, false)
                                     : no_action);
}

/* @cmd begins a batch. */
static void wait_for_any(CintSq *sq, CintCmd *cmd)
{
    if (cmd->hints == NVME_CINT_HINT_BARRIER && sq->cq->any) {
        add_waiter(sq, cmd, CINT_WAITER_ANY);
    }
}

static const uint8_t inferred = 1u << NVME_CINT_SOURCE_INFERRED;

/* Was something consumed since a command of this queue was fetched? */
static bool came_first(const CintSq *sq, const CintCq *cq)
{
    return sq->head != cq->head;
}

/* Does the sender of @cmd wait for it, by what is known of its buffer? */
static inline bool buffer_says(CintSq *sq, CintCq *cq, CintCmd *cmd,
                               int64_t now)
{
    if (!cq->learns) {
        cmd->page = 0;
        return false;
    }
    return cint_waits_submit(&cq->scope->waits, &sq->waits, cmd->page, now,
                             cq->tail - cq->pending,
                             came_first(sq, cq) || !cq->inflight);
}

/*
 * Who has published several commands with one doorbell waits for none of them
 * alone, by what is known of their buffers.
 */
static void unmark_batch(CintSq *sq)
{
    CintCmd *cmd = sq->batch_end;

    if (cmd && cmd->sources == inferred &&
        cmd->content != CINT_CONTENT_NOW) {
        cmd->hints = NVME_CINT_HINT_NONE;
        cmd->sources = 0;
        remove_waiter(sq, cmd);
        cmd->waiter = CINT_WAITER_NONE;
    }
}

/*
 * Who gives no hint is taken for what its buffer was used for before, and for
 * what the command is for.
 */
static inline void look(CintSq *sq, CintCq *cq, CintCmd *cmd, int64_t now)
{
    bool waits = buffer_says(sq, cq, cmd, now) && !sq->batch;

    cmd->waiter = CINT_WAITER_NONE;
    if (!cq->reads) {
        cmd->content = CINT_CONTENT_PLAIN;
    }
    if ((waits || cmd->content == CINT_CONTENT_NOW) && !cmd->sources) {
        cmd->hints = NVME_CINT_HINT_URGENT;
        cmd->sources = inferred;
        add_waiter(sq, cmd, CINT_WAITER_THIS);
    }
    unmark_batch(sq);
    if (cmd->content == CINT_CONTENT_AHEAD && came_first(sq, cq)) {
        cmd->content = CINT_CONTENT_PLAIN;
    }
    sq->head = cq->head;
}

static inline CintAction enter_flight(CintSq *sq, CintCq *cq, CintCmd *cmd)
{
    CintScope *scope = cq->scope;

    cint_fence_submit(sq, cmd);
    sq->batch++;
    sq->batch_end = cmd;
    sq->inflight++;
    cq->inflight++;
    scope->inflight++;
    if (sq->backlog) {
        sq->backlog--;
        cq->backlog--;
        scope->backlog--;
    }
    return cint_checked(cq, no_action);
}

static inline void forget_earlier_use(CintCmd *cmd)
{
    cmd->waiter = CINT_WAITER_NONE;
    cmd->content = CINT_CONTENT_PLAIN;
    cmd->page = 0;
}

static inline void gauge(CintSq *sq, CintCq *cq, CintCmd *cmd, int64_t now)
{
    if (!sq->batch) {
        wait_for_any(sq, cmd);
    }
    note_most(cq, now);
}

/* The same where it is found out who waits, by commands themselves. */
static APART CintAction look_and_enter(CintSq *sq, CintCq *cq, CintCmd *cmd,
                                       int64_t now)
{
    look(sq, cq, cmd, now);
    if (cq->gauges) {
        gauge(sq, cq, cmd, now);
    }
    return enter_flight(sq, cq, cmd);
}

/* And where it is, or how many commands the guest has to give. */
static APART CintAction watch_and_enter(CintSq *sq, CintCq *cq, CintCmd *cmd,
                                        int64_t now)
{
    if (cq->looks) {
        return look_and_enter(sq, cq, cmd, now);
    }
    forget_earlier_use(cmd);
    gauge(sq, cq, cmd, now);
    return enter_flight(sq, cq, cmd);
}

CintAction cint_submit(CintSq *sq, CintCmd *cmd, int64_t now, uint8_t hints,
                       uint8_t sources)
{
    CintCq *cq = sq->cq;

    cmd->hints = hints;
    cmd->sources = sources;
    if (cq->watches) {
        return watch_and_enter(sq, cq, cmd, now);
    }
    forget_earlier_use(cmd);
    return enter_flight(sq, cq, cmd);
}

static bool is_alone(const CintSq *sq, const CintCmd *cmd)
{
    return sq->batch == 1 && sq->cq->inflight == 1 &&
           cmd->content != CINT_CONTENT_AHEAD;
}

/*
 * What a batch says about its last command, unless the guest said something
 * itself: somebody waits for the batch to be done; for a command that is on
 * its own, right away.
 */
static void infer_hint(CintSq *sq)
{
    CintCmd *cmd = sq->batch_end;
    CintInfer infer = sq->cq->infer;
    bool learns = infer == CINT_INFER_LEARN || infer == CINT_INFER_BOTH;

    if (infer == CINT_INFER_OFF || !cmd || cmd->sources ||
        (learns && sq->batch == 1 && !sq->cq->any)) {
        return;
    }
    cmd->sources = inferred;
    if (!learns && infer != CINT_INFER_BATCH && is_alone(sq, cmd)) {
        cmd->hints = NVME_CINT_HINT_URGENT;
    } else {
        cmd->hints = NVME_CINT_HINT_BARRIER;
        cmd->fence = true;
    }
    if (sq->batch == 1) {
        wait_for_any(sq, cmd);
    }
}

/* Has the guest answered everything, and waits for any command? */
static bool seems_asleep(const CintCq *cq)
{
    return cq->waiters[CINT_WAITER_ANY] && with_device(cq) >= cq->most;
}

/*
 * Nobody is told of any command while one is in flight that is waited for: the
 * interrupt for that one comes soon, and tells of all.
 *
 * What a queue that learns takes for the most may be too few, and a guest that
 * still has answers to give is then told in vain, a few CQEs each time, so that
 * it never has fewer to give. Once in a while it is left to delta and thr: what
 * it submits meanwhile says how many there are.
 */
static void fall_asleep(CintCq *cq)
{
    if (!cq->asleep && !cq->probing && !cq->waiters[CINT_WAITER_THIS] &&
        seems_asleep(cq)) {
        cq->probing = cq->learns && ++cq->sleeps % PROBE_EVERY == 0;
        cq->asleep = !cq->probing;
    }
    cq->asleep &= !cq->waiters[CINT_WAITER_THIS];
}

/* The guest goes to rest, or to work. A timer that is late stays due. */
static APART void turn_delta(CintCq *cq, int64_t now)
{
    int64_t quiet = cq->pace.last_ns + (int64_t)cq->config.delta_ns;

    cq->resting = !cq->resting;
    if (cint_limits_tuning(&cq->limits)) {
        return;
    }
    tune_delta_to_load(cq);
    if (quiet < now) {
        quiet = now;
    }
    if (cq->resting && cq->deadline != CINT_NO_DEADLINE &&
        cq->deadline > quiet) {
        cq->deadline = quiet;
    }
}

/*
 * Where delta follows the load it is for a guest that is at work. One that
 * seems to sleep, and is not told because a command is in flight that it waits
 * for, may wait for that one for long on a slow medium: for the others it is as
 * if delta had not been made longer.
 */
static void rest(CintCq *cq, int64_t now)
{
    if (cq->resting != (!cq->asleep && seems_asleep(cq))) {
        turn_delta(cq, now);
    }
}

CintAction cint_batch_end(CintSq *sq, int64_t now)
{
    CintCq *cq = sq->cq;

    infer_hint(sq);
    if (cq->any) {
        fall_asleep(cq);
        if (cq->tunes) {
            rest(cq, now);
        }
    }
    sq->batch = 0;
    sq->batch_end = NULL;
    return cint_checked(cq, cq->asleep ? commands_went(cq, now, false)
                                       : no_action);
}

static inline CintAction rang(CintCq *cq, int64_t now)
{
    cint_limits_rung(&cq->limits);
    return cint_checked(cq, cint_limits_let_go(&cq->limits, cq->held) ?
                            release(cq, now) : no_action);
}

CintAction cint_rang(CintCq *cq, int64_t now)
{
    return rang(cq, now);
}

CintAction cint_doorbell(CintSq *sq, int64_t now)
{
    CintAction action = rang(sq->cq, now);
    CintAction end = cint_batch_end(sq, now);

    return action.fire == CINT_FIRE_NONE ? end : action;
}

/* @cmd leaves its queue. Returns true if that satisfies a strict Barrier. */
static inline bool leave_queue(CintSq *sq, CintCmd *cmd)
{
    leave_flight(sq, 1);
    if (sq->batch_end == cmd) {
        sq->batch_end = NULL;
    }
    return cint_fence_done(sq, cmd);
}

/* The same for a command that somebody may wait for. */
static inline bool retire(CintSq *sq, CintCmd *cmd)
{
    if (cmd->waiter) {
        remove_waiter(sq, cmd);
    }
    return leave_queue(sq, cmd);
}

static void count_cqe(CintCq *cq, int64_t now)
{
    cq->tail++;
    cq->retained++;
    if (!cq->pending++) {
        cq->first_ns = now;
    }
}

/* While the limit tunes: what would there have been without it? */
static void count_natural(CintCq *cq, int64_t now, CintVerdict verdict)
{
    cint_tuner_completed(&cq->limits.tuner, now,
                         drained(cq) ? CINT_ASKED_FULL : verdict.ignored);
}

/* The same where the load alone may have changed. */
static void tune_to_load(CintCq *cq)
{
    if (cint_limits_tuning(&cq->limits)) {
        return;
    }
    tune_delta_to_load(cq);
    if (cq->most != cq->paced_most) {
        tune_thr_to_load(cq);
    }
}

/* And where @cmd's CQE, which is about to be posted, says more of the guest. */
static APART bool retire_watched(CintSq *sq, CintCmd *cmd, int64_t now)
{
    CintCq *cq = sq->cq;
    bool fence = retire(sq, cmd);

    if (cq->tunes) {
        cint_pace_posted(&cq->pace, now, cq->config.delta_ns);
        tune_to_load(cq);
    }
    if (cq->learns) {
        cint_waits_posted(&cq->scope->waits, &sq->waits, cmd->page, cq->tail);
    }
    return fence;
}

static CintAction complete(CintSq *sq, CintCmd *cmd, int64_t now, bool error)
{
    CintCq *cq = sq->cq;
    bool fence = cmd->waiter || cq->follows ? retire_watched(sq, cmd, now)
                                            : leave_queue(sq, cmd);
    bool pressure;
    CintVerdict verdict;

    count_cqe(cq, now);

    /* The policy counts every completion, also one that fires anyway. */
    verdict = ops(cq)->complete(cq, now, cmd, fence);
    if (cint_limits_tuning(&cq->limits)) {
        count_natural(cq, now, verdict);
    } else if (drained(cq)) {
        verdict = add_drain(cq, verdict);
    }
    pressure = pressure_rose(cq);
    if (error || pressure) {
        return fire_full(cq, now, error ? NVME_CINT_REASON_ERROR
                                        : NVME_CINT_REASON_PRESSURE);
    }
    return cq->disabled ? fire_full(cq, now, NVME_CINT_REASON_EACH)
                        : deliver(cq, now, verdict);
}

CintAction cint_complete(CintSq *sq, CintCmd *cmd, int64_t now, bool error)
{
    return cint_checked(sq->cq, complete(sq, cmd, now, error));
}

CintAction cint_pass_end(CintCq *cq, int64_t now)
{
    if (!cq->pending || !ops(cq)->pass_end) {
        return no_action;
    }
    return cint_checked(cq, deliver_full(cq, now, ops(cq)->pass_end(cq, now)));
}

CintAction cint_cancel(CintSq *sq, CintCmd *cmd, int64_t now)
{
    return cint_checked(sq->cq, commands_went(sq->cq, now, retire(sq, cmd)));
}

CintAction cint_delete_sq(CintSq *sq, int64_t now)
{
    leave_flight(sq, sq->inflight);
    drop_waiters(sq);
    set_backlog(sq, 0);
    sq->batch_end = NULL;
    cint_waits_leave(&sq->cq->scope->waits, &sq->waits);
    return cint_checked(sq->cq, commands_went(sq->cq, now,
                                              cint_fence_drop_all(sq)));
}

CintAction cint_head(CintCq *cq, int64_t now, uint32_t head)
{
    uint32_t before = cq->head;

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
    cint_limits_moved(&cq->limits, cq->head != before);
    return rang(cq, now);
}

bool cint_uses_pointer(const CintCq *cq)
{
    return ops(cq)->set_pointer;
}

CintAction cint_pointer(CintCq *cq, int64_t now, uint32_t target)
{
    if (!ops(cq)->set_pointer || !ops(cq)->set_pointer(cq, target)) {
        return no_action;
    }
    /* The guest is about to sleep: what it was told before does not count. */
    if (!cq->pending) {
        cq->first_ns = now;
    }
    cq->pending = cq->retained = outstanding(cq);
    return cint_checked(cq, deliver_full(cq, now, NVME_CINT_REASON_POINTER));
}

CintAction cint_pointer_off(CintCq *cq, int64_t now)
{
    if (!ops(cq)->unset_pointer) {
        return no_action;
    }
    ops(cq)->unset_pointer(cq);
    return cint_checked(cq, cq->pending ?
                            deliver_full(cq, now, NVME_CINT_REASON_POINTER) :
                            no_action);
}

CintAction cint_set_record(CintCq *cq, int64_t now, bool has_record)
{
    bool lost = cq->has_record && !has_record;

    cq->has_record = has_record;
    return cint_checked(cq, lost ? reconfigured(cq, now) : no_action);
}

bool cint_may_be_urgent(const CintCq *cq)
{
    return cq->has_record && cq->config.ooo && ops(cq)->infers;
}

void cint_set_masked(CintCq *cq, bool masked)
{
    cq->limits.masked = masked;
}

static CintAction late(CintCq *cq, int64_t due, int64_t now)
{
    if (!cq->pending) {
        return no_action;
    }
    if (cint_hold_deadline(cq) <= due) {
        return fire_full(cq, now, NVME_CINT_REASON_MAX_HOLD);
    }
    if (cint_release_deadline(cq) <= due) {
        return release(cq, now);
    }
    return cq->deadline <= due ?
           deliver_full(cq, now, ops(cq)->timer(cq, now)) : no_action;
}

CintAction cint_timer_late(CintCq *cq, int64_t due, int64_t now)
{
    CINT_MUST(now >= due);
    return cint_checked(cq, late(cq, due, now));
}

CintAction cint_timer(CintCq *cq, int64_t now)
{
    return cint_timer_late(cq, now, now);
}

CintAction cint_configure(CintCq *cq, int64_t now, const CintConfig *config)
{
    bool new_policy = config->policy != cq->config.policy;

    begin_watching(cq, now);
    apply_config(cq, config);
    if (new_policy) {
        enter_policy(cq);
    }
    return cint_checked(cq, reconfigured(cq, now));
}

CintAction cint_disable(CintCq *cq, int64_t now, bool disabled)
{
    cq->disabled = disabled;
    return cint_checked(cq, reconfigured(cq, now));
}

bool cint_ratio(const CintCq *cq, uint32_t *up, uint32_t *skip)
{
    if (!ops(cq)->ratio) {
        return false;
    }
    ops(cq)->ratio(cq, up, skip);
    return true;
}

uint64_t cint_storm_ewma(const CintCq *cq)
{
    return cint_limits_mean(&cq->limits);
}

bool cint_storm_active(const CintCq *cq)
{
    return cint_limits_storm(&cq->limits);
}
