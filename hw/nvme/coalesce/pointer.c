/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy "pointer": the driver says at which entry of the completion queue it
 * wants to be woken (Jiang's interrupt pointer). The pointer is good for one
 * interrupt. Once it has fired the driver polls and is not disturbed until it
 * writes the pointer again; max-hold is there for one that never does.
 *
 * The pointer is a free-running index, so that "passed" is one subtraction
 * whatever the queue has wrapped.
 */
#include "policy.h"

/* True once, when the armed pointer has been passed. */
static bool is_passed(CintCq *cq)
{
    if (cq->pointer.state != CINT_POINTER_ARMED ||
        (int32_t)(cq->tail - cq->pointer.target) < 0) {
        return false;
    }
    cq->pointer.state = CINT_POINTER_SPENT;
    return true;
}

static const char *pointer_conflict(const CintConfig *config)
{
    return config->max_hold_ns ? NULL :
           "max-hold=0 does not go with policy=pointer, which is silent once "
           "its pointer is passed";
}

static bool pointer_set(CintCq *cq, uint32_t target)
{
    cq->pointer.state = CINT_POINTER_ARMED;
    cq->pointer.target = target;
    return is_passed(cq);
}

static void pointer_unset(CintCq *cq)
{
    cq->pointer.state = CINT_POINTER_OFF;
}

static CintVerdict pointer_complete(CintCq *cq, int64_t now,
                                    const CintCmd *cmd, bool fence)
{
    if (cq->pointer.state == CINT_POINTER_OFF) {
        return cint_verdict(NVME_CINT_REASON_EACH);
    }
    return cint_verdict(is_passed(cq) ? NVME_CINT_REASON_POINTER
                                      : NVME_CINT_REASON_NONE);
}

const CintPolicyOps cint_policy_pointer = {
    .drain = false,
    .thr = offsetof(CintConfig, thr),
    .conflict = pointer_conflict,
    .enter = pointer_unset,
    .complete = pointer_complete,
    .set_pointer = pointer_set,
    .unset_pointer = pointer_unset,
};
