/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy "static": NVMe interrupt coalescing (features 08h and 09h), with the
 * aggregation time in nanoseconds and the threshold counted from 1.
 *
 * The timer is anchored at the first pending CQE, so a lone completion waits
 * for exactly the aggregation time (cinterrupts 2 and 3.2). A time or
 * threshold of 0 turns coalescing off, as the specification says.
 */
#include "policy.h"

static CintVerdict static_complete(CintCq *cq, int64_t now,
                                   const CintCmd *cmd, bool fence)
{
    if (!cq->config.static_time_ns || !cq->config.static_thr) {
        return cint_verdict(NVME_CINT_REASON_EACH);
    }
    if (cq->pending >= cq->thr) {
        return cint_verdict(NVME_CINT_REASON_THR);
    }
    cq->deadline = cq->first_ns + cq->config.static_time_ns;
    return cint_verdict(NVME_CINT_REASON_NONE);
}

static CintReason static_timer(CintCq *cq, int64_t now)
{
    return NVME_CINT_REASON_TIME;
}

const CintPolicyOps cint_policy_static = {
    .drain = false,
    .thr = offsetof(CintConfig, static_thr),
    .complete = static_complete,
    .timer = static_timer,
};
