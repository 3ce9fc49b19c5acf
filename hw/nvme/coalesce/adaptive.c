/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy "adaptive": cinterrupts Algorithm 1. A burst of completions is over
 * when none has come for delta; a burst longer than thr is cut there. Each
 * completion moves the deadline, so no CQE waits longer than delta after the
 * last arrival.
 */
#include "policy.h"

CintVerdict cint_adaptive_complete(CintCq *cq, int64_t now,
                                   const CintCmd *cmd, bool fence)
{
    /* ">=": thr 0 and 1 both interrupt on every completion. */
    if (cq->retained >= cq->thr) {
        return cint_verdict(NVME_CINT_REASON_THR);
    }
    cq->deadline = now + cq->delta_ns;
    return cint_verdict(NVME_CINT_REASON_NONE);
}

CintReason cint_adaptive_timer(CintCq *cq, int64_t now)
{
    return NVME_CINT_REASON_QUIET;
}

const CintPolicyOps cint_policy_adaptive = {
    .drain = false,
    .tunable = true,
    .thr = offsetof(CintConfig, thr),
    .complete = cint_adaptive_complete,
    .timer = cint_adaptive_timer,
};
