/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: which submission queue fetches next. See cint-arb.c.
 */
#ifndef HW_NVME_CINT_ARB_H
#define HW_NVME_CINT_ARB_H

#include "cint-state.h"

/* @slots: cint.media.slots, which may change while queues wait. */
void nvme_cint_arb_init(NvmeCint *cint, uint32_t slots);
void nvme_cint_set_slots(NvmeCint *cint, uint32_t slots);

/* Feature 01h. */
void nvme_cint_set_arbitration(NvmeCint *cint, uint32_t value);

/* A new queue, of @priority (QPRIO of Create I/O Submission Queue). */
void nvme_cint_arb_add(NvmeCintSq *csq, uint8_t priority);

/* Has @csq fetch soon; see nvme_cint_kick_sq(). */
void nvme_cint_wake_sq(NvmeCintSq *csq, int64_t delay_ns);

/*
 * @csq could fetch @backlog SQEs now. It is woken when it may, also if that
 * is at once.
 */
void nvme_cint_set_backlog(NvmeCintSq *csq, uint32_t backlog);

/*
 * Wakes the queues that free slots go to, be they another thread's. Without a
 * bound there are none. With the lock of slots.
 */
void nvme_cint_grant_slots(NvmeCint *cint);

static inline void nvme_cint_grant(NvmeCint *cint)
{
    if (cint->arb.slots) {
        nvme_cint_grant_slots(cint);
    }
}

/* May @csq fetch an SQE? */
static inline bool nvme_cint_has_slot(const NvmeCintSq *csq)
{
    NvmeCint *cint = csq->sq->ctrl->cint;
    bool may_fetch;

    if (!csq->sq->sqid || !cint->arb.slots) {
        return true;
    }
    nvme_cint_lock(cint);
    may_fetch = cint_arb_may_fetch(&cint->arb, &csq->arb);
    nvme_cint_unlock(cint);
    return may_fetch;
}

/* @creq, fetched from @csq, occupies a slot; the medium is done with it. */
static inline void nvme_cint_take_slot(NvmeCintSq *csq, NvmeCintReq *creq)
{
    NvmeCint *cint = csq->sq->ctrl->cint;

    nvme_cint_lock(cint);
    cint_arb_fetched(&cint->arb, &csq->arb);
    nvme_cint_unlock(cint);
    creq->holds_slot = true;
}

static inline void nvme_cint_put_slot(NvmeCint *cint, NvmeCintReq *creq)
{
    if (creq->holds_slot) {
        creq->holds_slot = false;
        nvme_cint_lock(cint);
        cint_arb_done(&cint->arb);
        nvme_cint_grant(cint);
        nvme_cint_unlock(cint);
    }
}

#endif /* HW_NVME_CINT_ARB_H */
