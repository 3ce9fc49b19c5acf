/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy "half": interrupts when as many completions wait to be told of as
 * commands are still in flight. With n commands in flight, and a guest that
 * submits anew when it is interrupted, that is about two interrupts for n
 * completions, whatever n is; a lone command interrupts at once. thr bounds
 * the number that wait, delta the time that the first of them waits.
 */
#include "policy.h"

static CintVerdict half_complete(CintCq *cq, int64_t now, const CintCmd *cmd,
                                 bool fence)
{
    if (cq->pending >= cq->inflight) {
        return cint_verdict(NVME_CINT_REASON_RATIO);
    }
    if (cq->retained >= cq->thr) {
        return cint_verdict(NVME_CINT_REASON_THR);
    }
    cq->deadline = cq->first_ns + cq->delta_ns;
    return cint_verdict(NVME_CINT_REASON_NONE);
}

static CintReason half_timer(CintCq *cq, int64_t now)
{
    return NVME_CINT_REASON_TIME;
}

const CintPolicyOps cint_policy_half = {
    .thr = offsetof(CintConfig, thr),
    .complete = half_complete,
    .timer = half_timer,
};
