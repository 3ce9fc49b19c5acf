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

static bool passed(const CintCq *cq)
{
    return (int32_t)(cq->tail - cq->pointer.target) >= 0;
}

static void pointer_enter(CintCq *cq)
{
    cq->pointer.state = CINT_POINTER_OFF;
}

static CintReason pointer_complete(CintCq *cq, int64_t now,
                                   const CintCmd *cmd, bool fence)
{
    if (cq->pointer.state == CINT_POINTER_OFF) {
        return NVME_CINT_REASON_EACH;
    }
    return cint_pointer_passed(cq) ? NVME_CINT_REASON_POINTER
                                   : NVME_CINT_REASON_NONE;
}

bool cint_pointer_passed(CintCq *cq)
{
    if (cq->pointer.state != CINT_POINTER_ARMED || !passed(cq)) {
        return false;
    }
    cq->pointer.state = CINT_POINTER_SPENT;
    return true;
}

const CintPolicyOps cint_policy_pointer = {
    .drain = false,
    .enter = pointer_enter,
    .complete = pointer_complete,
};
