/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: command arbitration. With bounded media slots not every SQE can be
 * fetched at once; which queue is next is decided by model/arb.c, and this
 * file wakes it. The admin queue takes no part.
 */
#include "qemu/osdep.h"

#include "cint-arb.h"

/* Weighted round robin with urgent class, in CC.AMS. */
#define CC_AMS_WRR  0x1

void nvme_cint_wake_sq(NvmeCintSq *csq, int64_t delay_ns)
{
    if (csq->sq->ctrl->cint->virtual_time) {
        timer_mod(csq->fetch_timer, nvme_cint_now() + delay_ns);
    } else {
        qemu_bh_schedule(csq->fetch_bh);
    }
}

/*
 * A queue that is fetching looks for its slots by itself. Woken, one whose
 * SQEs cannot be read would give back the slot and come again for ever; in
 * virtual time, where no time would pass, the machine would hang.
 */
void nvme_cint_grant_slots(NvmeCint *cint)
{
    CintArbSq *sq;

    while ((sq = cint_arb_next(&cint->arb))) {
        NvmeCintSq *csq = container_of(sq, NvmeCintSq, arb);

        if (!csq->fetching) {
            nvme_cint_wake_sq(csq, 0);
        }
    }
}

void nvme_cint_arb_init(NvmeCint *cint, uint32_t slots)
{
    cint_arb_init(&cint->arb, slots);
}

void nvme_cint_set_slots(NvmeCint *cint, uint32_t slots)
{
    bool bounded = cint->arb.slots;
    uint32_t i;

    cint_arb_set_slots(&cint->arb, slots);
    nvme_cint_grant(cint);
    /* Without a bound there are no grants that would wake who waits. */
    for (i = 1; bounded && !slots && i <= cint->n->params.max_ioqpairs; i++) {
        if (cint->n->sq[i]) {
            nvme_cint_wake_sq(cint->n->sq[i]->cint, 0);
        }
    }
}

void nvme_cint_set_arbitration(NvmeCint *cint, uint32_t value)
{
    cint->arbitration = value;
    cint_arb_set_feature(&cint->arb, value);
}

void nvme_cint_arb_add(NvmeCintSq *csq, uint8_t priority)
{
    NvmeCint *cint = csq->sq->ctrl->cint;
    uint32_t cc = ldl_le_p(&cint->n->bar.cc);

    /* CC.AMS does not change while there are I/O queues. */
    cint_arb_set_weighted(&cint->arb, NVME_CC_AMS(cc) == CC_AMS_WRR);
    cint_arb_sq_init(&csq->arb, priority);
}

void nvme_cint_set_backlog(NvmeCintSq *csq, uint32_t backlog)
{
    NvmeCint *cint = csq->sq->ctrl->cint;

    if (csq->arb.backlog != backlog) {
        cint_arb_set_backlog(&cint->arb, &csq->arb, backlog);
        nvme_cint_grant(cint);
    }
}
