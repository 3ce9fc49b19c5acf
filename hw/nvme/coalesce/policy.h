/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a coalescing policy is to the engine's core: pure functions over one
 * completion queue. The core keeps the counts (pending, first_ns, inflight)
 * and applies the rules that hold under every policy; a policy answers only
 * "does this event deserve an interrupt, and by when at the latest".
 *
 * A new policy is a file with its CintPolicyOps and a line in policy-list.h. A
 * parameter of its own is a field of CintConfig and a row in params.c.
 */
#ifndef HW_NVME_COALESCE_POLICY_H
#define HW_NVME_COALESCE_POLICY_H

#include "apart.h"
#include "coalesce.h"

/* A policy's answer to a completion; fits a register. */
typedef struct CintVerdict {
    CintReason reason;      /* why an interrupt is due, or NONE */
    bool urgent_only;       /* for this CQE alone, of the urgent class */
    uint8_t ignored;        /* CintAsked: by a hint that has no say now */
} CintVerdict;

typedef struct CintPolicyOps {
    /* What drain=auto means. */
    bool drain;

    /* May storm=retune, and tune=on, set its delta and thr? */
    bool tunable;

    /* Does it go by who waits, as config.infer says? */
    bool infers;

    /*
     * Nothing is to be set: it infers all that it can, tunes, and Barriers are
     * relaxed, whatever the configuration says.
     */
    bool by_itself;

    /*
     * Is a Barrier that begins a batch of somebody who waits for any command?
     * Optional.
     */
    bool (*any)(const CintCq *cq);

    /* Where CintConfig has its threshold. */
    size_t thr;

    /*
     * Returns NULL if it can work under @config, else a sentence that names
     * the parameters at odds. Optional.
     */
    const char *(*conflict)(const CintConfig *config);

    /* The same for a controller whose queues have several scopes. Optional. */
    const char *(*scopes_conflict)(const CintConfig *config);

    /*
     * The policy is in force from now on. Sets up its own fields, which may
     * hold what an earlier use left. Optional.
     */
    void (*enter)(CintCq *cq);

    /*
     * A CQE was posted and is counted in cq->pending (>= 1). @fence: a strict
     * Barrier is satisfied now. Sets cq->deadline if no interrupt is due and
     * the policy promises one.
     */
    CintVerdict (*complete)(CintCq *cq, int64_t now, const CintCmd *cmd,
                            bool fence);

    /* Commands were cancelled; @fence as above. Optional. */
    CintReason (*cancel)(CintCq *cq, bool fence);

    /* cq->deadline passed with cq->pending > 0. Optional. */
    CintReason (*timer)(CintCq *cq, int64_t now);

    /* The posting pass is over with cq->pending > 0. Optional. */
    CintReason (*pass_end)(CintCq *cq, int64_t now);

    /*
     * The guest writes its interrupt pointer, or takes it back. The first
     * returns true if it has been passed already. Optional, both or none.
     */
    bool (*set_pointer)(CintCq *cq, uint32_t target);
    void (*unset_pointer)(CintCq *cq);

    /* The delivery ratio in force. Optional. */
    void (*ratio)(const CintCq *cq, uint32_t *up, uint32_t *skip);
} CintPolicyOps;

/* Each policy's, and all of them by CintPolicy. */
#define POLICY(name, ops, reads)    ops
extern const CintPolicyOps
#include "policy-list.h"
    *const cint_policies[CINT_NR_POLICIES];
#undef POLICY

/* Nothing will complete, or be submitted, before the guest is told of more. */
static inline bool cint_nothing_comes(const CintCq *cq)
{
    return (!cq->inflight && !cq->backlog) || cq->asleep;
}

static inline CintVerdict cint_verdict(CintReason reason)
{
    return (CintVerdict) { .reason = reason };
}

/* adaptive.c: what policy cint does with a completion without a say. */
CintVerdict cint_adaptive_complete(CintCq *cq, int64_t now,
                                   const CintCmd *cmd, bool fence);
CintReason cint_adaptive_timer(CintCq *cq, int64_t now);

/* cint.c: what policy auto shares with policy cint. */
bool cint_hinted_any(const CintCq *cq);
const char *cint_hinted_conflict(const CintConfig *config);
CintVerdict cint_hinted_complete(CintCq *cq, int64_t now, const CintCmd *cmd,
                                 bool fence);
CintReason cint_hinted_cancel(CintCq *cq, bool fence);

#endif /* HW_NVME_COALESCE_POLICY_H */
