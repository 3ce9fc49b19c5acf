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
     * A CQE was posted and is counted in cq->pending (>= 1). @fence: a strict
     * Barrier is satisfied now. Returns why an interrupt is due now, or
     * NVME_CINT_REASON_NONE after setting cq->deadline if the policy promises
     * one.
     */
    CintReason (*complete)(CintCq *cq, int64_t now, const CintCmd *cmd,
                           bool fence);

    /* Commands were cancelled; @fence as above. Optional. */
    CintReason (*cancel)(CintCq *cq, bool fence);

    /* cq->deadline passed with cq->pending > 0. Optional. */
    CintReason (*timer)(CintCq *cq, int64_t now);

    /* The posting pass is over with cq->pending > 0. Optional. */
    CintReason (*pass_end)(CintCq *cq, int64_t now);
} CintPolicyOps;

extern const CintPolicyOps cint_policy_default;
extern const CintPolicyOps cint_policy_static;
extern const CintPolicyOps cint_policy_adaptive;
extern const CintPolicyOps cint_policy_vic;
extern const CintPolicyOps cint_policy_cint;
extern const CintPolicyOps cint_policy_pointer;

/* adaptive.c: what policy cint does with a completion without a say. */
CintReason cint_adaptive_complete(CintCq *cq, int64_t now, const CintCmd *cmd,
                                  bool fence);

/* cint.c: @cmd, completing now, gets an interrupt for Urgent entries only. */
bool cint_is_urgent_class(const CintCq *cq, const CintCmd *cmd);

/* pointer.c: true once, when the armed pointer has been passed. */
bool cint_pointer_passed(CintCq *cq);

/*
 * fence.c: commands in flight, in order. The last two return true if a strict
 * Barrier waits for nothing any more.
 */
void cint_fence_submit(CintSq *sq, CintCmd *cmd);
bool cint_fence_done(CintSq *sq, CintCmd *cmd);
bool cint_fence_drop_all(CintSq *sq);

/* storm.c: the limit changed; an interrupt was sent. */
void cint_storm_restart(CintCq *cq);
void cint_storm_sent(CintCq *cq, int64_t now);

/* An interrupt at @now would come too early, and by when it may. */
bool cint_storm_holds(const CintCq *cq, int64_t now);
int64_t cint_storm_release(const CintCq *cq);

/* @thr and @delta as the limiter wants them while it retunes. */
uint64_t cint_storm_thr(const CintCq *cq, uint64_t thr);
int64_t cint_storm_delta(const CintCq *cq, int64_t delta);

/* coalesce.c: sets what is in force of delta and thr. */
void cint_retune(CintCq *cq);

#endif /* HW_NVME_COALESCE_POLICY_H */
