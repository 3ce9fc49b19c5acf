/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a coalescing policy is to the engine's core: pure functions over one
 * completion queue. The core keeps the counts (pending, first_ns, inflight)
 * and applies the rules that hold under every policy; a policy answers only
 * "does this event deserve an interrupt, and by when at the latest".
 */
#ifndef HW_NVME_COALESCE_POLICY_H
#define HW_NVME_COALESCE_POLICY_H

#include "coalesce.h"

typedef struct CintPolicyOps {
    /* What drain=auto means. */
    bool drain;

    /*
     * The policy is in force from now on. Sets up its own fields, which may
     * hold what an earlier use left. Optional.
     */
    void (*enter)(CintCq *cq);

    /*
     * A CQE was posted and is counted in cq->pending (>= 1). Returns why an
     * interrupt is due now, or NVME_CINT_REASON_NONE after setting
     * cq->deadline if the policy promises one.
     */
    CintReason (*complete)(CintCq *cq, int64_t now, const CintCmd *cmd);

    /* cq->deadline passed with cq->pending > 0. Optional. */
    CintReason (*timer)(CintCq *cq, int64_t now);

    /* The posting pass is over with cq->pending > 0. Optional. */
    CintReason (*pass_end)(CintCq *cq, int64_t now);
} CintPolicyOps;

extern const CintPolicyOps cint_policy_default;
extern const CintPolicyOps cint_policy_static;
extern const CintPolicyOps cint_policy_adaptive;
extern const CintPolicyOps cint_policy_vic;

#endif /* HW_NVME_COALESCE_POLICY_H */
