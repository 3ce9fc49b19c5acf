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

/* While the limiter retunes, marked commands are as good as others (4.3). */
static bool heeds_hints(const CintCq *cq)
{
    return cq->config.storm != CINT_STORM_RETUNE || !cint_storm_active(cq);
}

/*
 * The driver knows only what stands in CDW0, so Urgent from elsewhere has to
 * interrupt for everything.
 */
bool cint_is_urgent_class(const CintCq *cq, const CintCmd *cmd)
{
    return cq->has_record && cmd->hints == NVME_CINT_HINT_URGENT &&
           cmd->sources & (1u << NVME_CINT_SOURCE_CDW0) && cq->config.ooo &&
           cq->config.policy == NVME_CINT_POLICY_CINT && heeds_hints(cq);
}

/* @fence: the last command that a strict Barrier waited for is done. */
static bool satisfies_barrier(const CintCq *cq, const CintCmd *cmd, bool fence)
{
    return cq->config.barrier == CINT_BARRIER_RELAXED ?
           cmd->hints == NVME_CINT_HINT_BARRIER : fence;
}

/*
 * Out of order, an Urgent CQE counts toward thr only if it stays in the queue
 * behind one that is not reaped: the core has counted it in cq->retained then.
 */
static CintReason urgent_complete(CintCq *cq, int64_t now, const CintCmd *cmd)
{
    if (cint_is_urgent_class(cq, cmd) && cq->pending > 1) {
        if (cq->retained >= cq->thr) {
            return NVME_CINT_REASON_THR;
        }
        /* The others go on waiting, for a burst this CQE belongs to. */
        cq->deadline = now + cq->delta_ns;
    }
    return NVME_CINT_REASON_URGENT;
}

static CintReason cint_policy_complete(CintCq *cq, int64_t now,
                                       const CintCmd *cmd, bool fence)
{
    bool nothing_said = cmd->hints == NVME_CINT_HINT_NONE && !fence;

    if (!nothing_said && heeds_hints(cq)) {
        if (satisfies_barrier(cq, cmd, fence)) {
            return NVME_CINT_REASON_BARRIER;
        }
        if (cmd->hints == NVME_CINT_HINT_URGENT) {
            return urgent_complete(cq, now, cmd);
        }
    }
    return cint_adaptive_complete(cq, now, cmd, fence);
}

/* Cancelled commands satisfy strict Barriers as completed ones do. */
static CintReason cint_policy_cancel(CintCq *cq, bool fence)
{
    return fence && cq->config.barrier != CINT_BARRIER_RELAXED &&
           heeds_hints(cq) ? NVME_CINT_REASON_BARRIER
                           : NVME_CINT_REASON_NONE;
}

static CintReason cint_policy_timer(CintCq *cq, int64_t now)
{
    return NVME_CINT_REASON_QUIET;
}

const CintPolicyOps cint_policy_cint = {
    .drain = true,
    .complete = cint_policy_complete,
    .cancel = cint_policy_cancel,
    .timer = cint_policy_timer,
};
