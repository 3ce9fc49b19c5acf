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

/* Is one of the slots @csq's? */
bool nvme_cint_is_granted(const NvmeCintSq *csq);

/* May @csq fetch an SQE? */
static inline bool nvme_cint_has_slot(const NvmeCintSq *csq)
{
    return !csq->sq->sqid || !csq->sq->ctrl->cint->arb.slots ||
           nvme_cint_is_granted(csq);
}

/* Of slots that several threads share. */
void nvme_cint_take_shared_slot(NvmeCintSq *csq);
void nvme_cint_put_shared_slot(NvmeCint *cint);

/* @creq, fetched from @csq, occupies a slot; the medium is done with it. */
static inline void nvme_cint_take_slot(NvmeCintSq *csq, NvmeCintReq *creq)
{
    NvmeCint *cint = csq->sq->ctrl->cint;

    if (unlikely(cint->has_lock)) {
        nvme_cint_take_shared_slot(csq);
        creq->holds_slot = NVME_CINT_SHARED_SLOT;
    } else {
        cint_arb_fetched(&cint->arb, &csq->arb);
        creq->holds_slot = NVME_CINT_SLOT;
    }
}

static inline void nvme_cint_put_slot(NvmeCint *cint, NvmeCintReq *creq)
{
    uint8_t holds = creq->holds_slot;

    creq->holds_slot = NVME_CINT_NO_SLOT;
    if (likely(holds == NVME_CINT_SLOT)) {
        cint_arb_done(&cint->arb);
        nvme_cint_grant(cint);
    } else if (holds == NVME_CINT_SHARED_SLOT) {
        nvme_cint_put_shared_slot(cint);
    }
}

#endif /* HW_NVME_CINT_ARB_H */
