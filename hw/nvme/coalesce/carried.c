/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The engine's fields that are carried, and what they have to be like
 * together. See carried.h.
 */
#include "carried.h"
#include "policy.h"

/* Far above what any run comes to, and nothing overflows. */
#define MOST_NS         ((uint64_t)1 << 50)
#define MOST_EVENTS     ((uint64_t)1 << 50)
#define MOST_SAMPLED    ((uint64_t)1 << 26)
#define MOST_BACKLOG    65535
#define MOST_PATIENCE   65535
#define MOST_WEIGHT     (100 * 65536)

/* Commands in flight and backlogs are those of the queues. */
const CintField cint_scope_fields[] = {
    CINT_CARRY_PAST(CintScope, vic.start_ns),
    CINT_CARRY_MOST(CintScope, vic.completions, MOST_EVENTS),
    CINT_CARRY_MOST(CintScope, vic.cif, MOST_EVENTS),
    CINT_CARRY_ALL(CintScope, vic.up),
    CINT_CARRY_ALL(CintScope, vic.skip),
    CINT_CARRY_BOOL(CintScope, vic.low_iops),
    CINT_CARRY_ALL(CintScope, vic.trial.rate),
    CINT_CARRY_MOST(CintScope, vic.trial.patience, MOST_PATIENCE),
    CINT_CARRY_MOST(CintScope, vic.trial.wait, MOST_PATIENCE),
    CINT_CARRY_BOOL(CintScope, vic.trial.stepped),
    CINT_CARRY_MOST(CintScope, waits.shift, 6),
    { .name = NULL },
};

const CintField cint_cq_fields[] = {
    CINT_CARRY_ALL(CintCq, thr),
    CINT_CARRY_MOST(CintCq, delta_ns, MOST_NS),
    CINT_CARRY_BOOL(CintCq, disabled),
    CINT_CARRY_BOOL(CintCq, has_record),
    CINT_CARRY_PAST(CintCq, pace.last_ns),
    CINT_CARRY_ALL(CintCq, pace.mean),
    CINT_CARRY_ALL(CintCq, pace.deviation),
    CINT_CARRY_BOOL(CintCq, pace.begun),
    CINT_CARRY_ALL(CintCq, paced_most),
    CINT_CARRY_ALL(CintCq, most),
    CINT_CARRY_PAST(CintCq, submit_ns),
    CINT_CARRY_BOOL(CintCq, asleep),
    CINT_CARRY_BOOL(CintCq, probing),
    CINT_CARRY_BOOL(CintCq, resting),
    CINT_CARRY_ALL(CintCq, sleeps),
    CINT_CARRY_ALL(CintCq, tail),
    CINT_CARRY_ALL(CintCq, head),
    CINT_CARRY_ALL(CintCq, pending),
    CINT_CARRY_ALL(CintCq, retained),
    CINT_CARRY_ALL(CintCq, pressure),
    CINT_CARRY_PAST(CintCq, first_ns),
    CINT_CARRY_TIME(CintCq, deadline),
    CINT_CARRY_ALL(CintCq, held),
    CINT_CARRY_ALL(CintCq, storm_held),
    CINT_CARRY_PAST(CintCq, limits.message_ns),
    CINT_CARRY_BOOL(CintCq, limits.message_sent),
    CINT_CARRY_BOOL(CintCq, limits.rung),
    CINT_CARRY_BOOL(CintCq, limits.acked),
    CINT_CARRY_BOOL(CintCq, limits.masked),
    CINT_CARRY_BOOL(CintCq, limits.sent),
    CINT_CARRY_PAST(CintCq, limits.last_ns),
    CINT_CARRY_ALL(CintCq, limits.ewma),
    CINT_CARRY_ALL(CintCq, limits.tuner.thr),
    CINT_CARRY_ALL(CintCq, limits.tuner.changes),
    CINT_CARRY_MOST(CintCq, limits.tuner.sample.time_ns, MOST_NS),
    CINT_CARRY_ALL(CintCq, limits.tuner.sample.cqes),
    CINT_CARRY_MOST(CintCq, limits.tuner.sample.irqs, MOST_SAMPLED),
    CINT_CARRY_MOST(CintCq, limits.tuner.sample.natural, MOST_SAMPLED),
    CINT_CARRY_PAST(CintCq, limits.tuner.natural_ns),
    CINT_CARRY_ALL(CintCq, limits.tuner.natural_cqes),
    CINT_CARRY_ALL(CintCq, limits.tuner.too_fast_thr),
    CINT_CARRY_ALL(CintCq, limits.tuner.too_fast_load),
    CINT_CARRY_MOST(CintCq, limits.tuner.patience, MOST_PATIENCE),
    CINT_CARRY_ALL(CintCq, limits.tuner.slow),
    CINT_CARRY_ALL(CintCq, limits.tuner.slow_thr),
    CINT_CARRY_ALL(CintCq, limits.tuner.slow_load),
    CINT_CARRY_BOOL(CintCq, limits.tuner.went_down),
    CINT_CARRY_ALL(CintCq, vic.counter),
    CINT_CARRY_PAST(CintCq, vic.epoch.start_ns),
    CINT_CARRY_MOST(CintCq, vic.epoch.completions, MOST_EVENTS),
    CINT_CARRY_MOST(CintCq, vic.epoch.cif, MOST_EVENTS),
    CINT_CARRY_ALL(CintCq, vic.epoch.up),
    CINT_CARRY_ALL(CintCq, vic.epoch.skip),
    CINT_CARRY_BOOL(CintCq, vic.epoch.low_iops),
    CINT_CARRY_ALL(CintCq, vic.epoch.trial.rate),
    CINT_CARRY_MOST(CintCq, vic.epoch.trial.patience, MOST_PATIENCE),
    CINT_CARRY_MOST(CintCq, vic.epoch.trial.wait, MOST_PATIENCE),
    CINT_CARRY_BOOL(CintCq, vic.epoch.trial.stepped),
    CINT_CARRY_MOST(CintCq, pointer.state, CINT_POINTER_SPENT),
    CINT_CARRY_ALL(CintCq, pointer.target),
    CINT_CARRY_PAST(CintCq, price.since_ns),
    CINT_CARRY_MOST(CintCq, price.left, MOST_NS),
    CINT_CARRY_MOST(CintCq, price.weight, MOST_WEIGHT),
    { .name = NULL },
};

const CintField cint_sq_fields[] = {
    CINT_CARRY_MOST(CintSq, backlog, MOST_BACKLOG),
    CINT_CARRY_ALL(CintSq, batch),
    CINT_CARRY_ALL(CintSq, head),
    CINT_CARRY_BOOL(CintSq, waits.known),
    CINT_CARRY_MOST(CintSq, waits.slice, CINT_WAITS_SLICES - 1),
    CINT_CARRY_ALL(CintSq, waits.next),
    CINT_CARRY_ALL(CintSq, waits.fresh),
    CINT_CARRY_ALL(CintSq, waits.against),
    CINT_CARRY_BOOL(CintSq, waits.bare),
    CINT_CARRY_ALL(CintSq, waits.bare_post),
    CINT_CARRY_ALL(CintSq, waits.post),
    CINT_CARRY_ARRAY(CintSq, waits.told),
    CINT_CARRY_ARRAY(CintSq, waits.recent),
    CINT_CARRY_ALL(CintSq, waits.lying),
    { .name = NULL },
};

const CintField cint_cmd_fields[] = {
    CINT_CARRY_MOST(CintCarriedCmd, hints, NVME_CINT_NR_HINTS - 1),
    CINT_CARRY_MOST(CintCarriedCmd, sources, (1 << NVME_CINT_NR_SOURCES) - 1),
    CINT_CARRY_MOST(CintCarriedCmd, waiter, CINT_NR_WAITERS - 1),
    CINT_CARRY_MOST(CintCarriedCmd, content, CINT_NR_CONTENTS - 1),
    CINT_CARRY_BOOL(CintCarriedCmd, fence),
    CINT_CARRY_BOOL(CintCarriedCmd, ends_batch),
    CINT_CARRY_ALL(CintCarriedCmd, page),
    { .name = NULL },
};

bool cint_scope_load(CintScope *scope, int64_t now, const uint64_t *values,
                     CintMisfit *misfit)
{
    return cint_carry_load(cint_scope_fields, scope, now, values, misfit);
}

/* What check.h says of counts, of a queue without commands so far. */
static bool counts_fit(const CintCq *cq, CintMisfit *misfit)
{
    uint32_t outstanding = cq->tail - cq->head;

    return cint_fits(misfit, "tail - head", outstanding, 0, cq->size - 1) &&
           cint_fits(misfit, "retained", cq->retained, 0, outstanding) &&
           cint_fits(misfit, "pending", cq->pending, cq->retained ? 1 : 0,
                     cq->retained) &&
           cint_fits(misfit, "pressure", cq->pressure, 0, cq->size) &&
           cint_fits(misfit, "thr", cq->thr, 0, cq->size - 1);
}

/* And of what waits. A deadline is of a policy that has a timer. */
static bool waiting_fits(const CintCq *cq, CintMisfit *misfit)
{
    bool may_be_held = cq->pending && cq->limits.any;
    bool may_be_due = cq->pending && !cq->held &&
                      cint_policies[cq->config.policy]->timer;

    return cint_fits(misfit, "held", cq->held, 0,
                     may_be_held ? CINT_HELD_STORM : CINT_HELD_NOT) &&
           cint_fits(misfit, "deadline", cq->deadline,
                     may_be_due ? INT64_MIN : CINT_NO_DEADLINE,
                     CINT_NO_DEADLINE) &&
           cint_fits(misfit, "pending", cq->pending, 0,
                     cq->disabled ? 0 : UINT32_MAX);
}

/* The storm limit tunes, or has nothing in force. */
static bool limits_fit(const CintLimits *limits, CintMisfit *misfit)
{
    bool may_tune = limits->retune && limits->gap_ns;

    return cint_fits(misfit, "limits.tuner.thr", limits->tuner.thr, 0,
                     may_tune ? limits->tuner.most_thr : 0);
}

bool cint_cq_load(CintCq *cq, int64_t now, const uint64_t *values,
                  CintMisfit *misfit)
{
    return cint_carry_load(cint_cq_fields, cq, now, values, misfit) &&
           counts_fit(cq, misfit) && waiting_fits(cq, misfit) &&
           limits_fit(&cq->limits, misfit);
}

/* A part of the table belongs to a queue, as far as the table is cut. */
static bool join_waits(CintWaits *waits, const CintWaitsSq *sq,
                       CintMisfit *misfit)
{
    if (!sq->known) {
        return true;
    }
    if (!cint_fits(misfit, "waits.slice", sq->slice, 0,
                   (1 << waits->shift) - 1)) {
        return false;
    }
    waits->slices |= 1ull << sq->slice;
    waits->sharers += sq->slice == CINT_WAITS_SLICES - 1;
    return true;
}

bool cint_sq_load(CintSq *sq, int64_t now, const uint64_t *values,
                  CintMisfit *misfit)
{
    if (!cint_carry_load(cint_sq_fields, sq, now, values, misfit) ||
        !join_waits(&sq->cq->scope->waits, &sq->waits, misfit)) {
        return false;
    }
    sq->cq->backlog += sq->backlog;
    sq->cq->scope->backlog += sq->backlog;
    return true;
}

CintCmd *cint_first_cmd(const CintSq *sq)
{
    CintCmd *cmd = sq->last;

    while (cmd && cmd->prev) {
        cmd = cmd->prev;
    }
    return cmd;
}

CintCarriedCmd cint_cmd_save(const CintSq *sq, const CintCmd *cmd)
{
    return (CintCarriedCmd) {
        .hints = cmd->hints,
        .sources = cmd->sources,
        .waiter = cmd->waiter,
        .content = cmd->content,
        .fence = cmd->fence,
        .ends_batch = sq->batch_end == cmd,
        .page = cmd->page,
    };
}

static void enter_flight(CintSq *sq, CintCmd *cmd)
{
    cmd->next = NULL;
    cmd->prev = sq->last;
    if (cmd->prev) {
        cmd->prev->next = cmd;
    }
    sq->last = cmd;
    sq->inflight++;
    sq->cq->inflight++;
    sq->cq->scope->inflight++;
    if (cmd->waiter) {
        sq->waiters[cmd->waiter]++;
        sq->cq->waiters[cmd->waiter]++;
    }
}

bool cint_cmd_load(CintSq *sq, CintCmd *cmd, const CintCarriedCmd *carried,
                   CintMisfit *misfit)
{
    /* What the end of its batch may take back has been learned. */
    bool learned = carried->ends_batch &&
                   carried->sources == 1 << NVME_CINT_SOURCE_INFERRED &&
                   carried->content != CINT_CONTENT_NOW;

    if (!cint_fits(misfit, "waiter", carried->waiter,
                   learned ? CINT_WAITER_ANY : CINT_WAITER_NONE,
                   CINT_NR_WAITERS - 1)) {
        return false;
    }
    *cmd = (CintCmd) {
        .hints = carried->hints,
        .sources = carried->sources,
        .waiter = carried->waiter,
        .content = carried->content,
        .fence = carried->fence,
        .page = carried->page,
    };
    enter_flight(sq, cmd);
    sq->batch_end = carried->ends_batch ? cmd : NULL;
    return true;
}
