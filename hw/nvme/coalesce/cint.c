/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy "cint": cinterrupts Algorithm 2. The sender says which completions
 * somebody waits for: an Urgent one interrupts at once, a Barrier when its
 * batch is complete. The rest is coalesced adaptively (Algorithm 1).
 *
 * A guest with an interrupt status record can reap Urgent entries out of order
 * (3.5): they then get interrupts of their own class, which leave the batch
 * around them alone.
 */
#include "policy.h"

/*
 * The driver knows only what stands in CDW0, so Urgent from elsewhere has to
 * interrupt for everything.
 */
static bool is_urgent_class(const CintCq *cq, const CintCmd *cmd)
{
    return cq->has_record && cq->config.ooo &&
           cmd->sources & (1u << NVME_CINT_SOURCE_CDW0);
}

/*
 * Out of order, an Urgent CQE counts toward thr only if it stays in the queue
 * behind one that is not reaped.
 */
static CintVerdict urgent_complete(CintCq *cq, int64_t now,
                                   const CintCmd *cmd)
{
    bool urgent_only = is_urgent_class(cq, cmd);

    if (urgent_only && cq->pending > 1) {
        if (cq->retained >= cq->thr) {
            return cint_verdict(NVME_CINT_REASON_THR);
        }
        /* The others go on waiting, for a burst this CQE belongs to. */
        cq->deadline = now + cq->delta_ns;
    }
    return (CintVerdict) {
        .reason = NVME_CINT_REASON_URGENT,
        .urgent_only = urgent_only,
    };
}

/*
 * Who waits for a batch marks its last command. A relaxed Barrier that comes
 * first is of somebody who waits for one completion, of whichever command.
 */
bool cint_hinted_any(const CintCq *cq)
{
    return cq->barrier == CINT_BARRIER_RELAXED;
}

/* @fence: the last command that a strict Barrier waited for is done. */
static bool satisfies_barrier(const CintCq *cq, const CintCmd *cmd, bool fence)
{
    if (cq->barrier != CINT_BARRIER_RELAXED) {
        return fence;
    }
    return cmd->hints == NVME_CINT_HINT_BARRIER &&
           (cmd->waiter != CINT_WAITER_ANY || !cq->drain ||
            cint_nothing_comes(cq));
}

/* While the limiter retunes, marked commands are as good as others (4.3). */
static CintVerdict ignore(CintCq *cq, int64_t now, const CintCmd *cmd,
                          CintAsked asked)
{
    CintVerdict verdict = cint_adaptive_complete(cq, now, cmd, false);

    verdict.ignored = asked;
    return verdict;
}

static APART CintVerdict marked_complete(CintCq *cq, int64_t now,
                                         const CintCmd *cmd, bool fence)
{
    bool tuning = cint_limits_tuning(&cq->limits);

    if (satisfies_barrier(cq, cmd, fence)) {
        return tuning ? ignore(cq, now, cmd, CINT_ASKED_FULL)
                      : cint_verdict(NVME_CINT_REASON_BARRIER);
    }
    if (cmd->hints != NVME_CINT_HINT_URGENT) {
        return cint_adaptive_complete(cq, now, cmd, fence);
    }
    return tuning ? ignore(cq, now, cmd, is_urgent_class(cq, cmd) ?
                                         CINT_ASKED_URGENT : CINT_ASKED_FULL)
                  : urgent_complete(cq, now, cmd);
}

CintVerdict cint_hinted_complete(CintCq *cq, int64_t now, const CintCmd *cmd,
                                 bool fence)
{
    return cmd->hints == NVME_CINT_HINT_NONE && !fence ?
           cint_adaptive_complete(cq, now, cmd, fence) :
           marked_complete(cq, now, cmd, fence);
}

/* Cancelled commands satisfy strict Barriers as completed ones do. */
CintReason cint_hinted_cancel(CintCq *cq, bool fence)
{
    return fence && cq->barrier != CINT_BARRIER_RELAXED &&
           !cint_limits_tuning(&cq->limits) ? NVME_CINT_REASON_BARRIER
                                            : NVME_CINT_REASON_NONE;
}

/*
 * With thr and delta out of reach only hints interrupt (Figure 10).
 * Out of order an Urgent completion tells of itself alone, and the others
 * would wait beside a stream of them until the queue is nearly full.
 */
const char *cint_hinted_conflict(const CintConfig *config)
{
    bool hints_only = config->thr >= CINT_ENDLESS_THR &&
                      config->delta_ns >= CINT_ENDLESS_DELTA_NS;

    return config->ooo && hints_only && !config->max_hold_ns ?
           "ooo=on with thr from 1024 and delta from 1000000 does not go with "
           "max-hold=0: beside Urgent completions all others would wait until "
           "the queue is nearly full; set max-hold (10000000, say), lower thr "
           "or delta, or use ooo=off" : NULL;
}

const CintPolicyOps cint_policy_cint = {
    .drain = true,
    .tunable = true,
    .infers = true,
    .any = cint_hinted_any,
    .thr = offsetof(CintConfig, thr),
    .conflict = cint_hinted_conflict,
    .complete = cint_hinted_complete,
    .cancel = cint_hinted_cancel,
    .timer = cint_adaptive_timer,
};
