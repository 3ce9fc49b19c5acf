/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: command arbitration. With bounded media slots not every SQE can be
 * fetched at once; which queue is next is decided by model/arb.c, and this
 * file wakes it. The admin queue takes no part.
 */
#include "qemu/osdep.h"

#include "cint-arb.h"

/* 64 queues of 1024 entries may be woken four times each, at one instant. */
#define ENTRIES_AT_ONCE     (256 * 1024)

/* Weighted round robin with urgent class, in CC.AMS. */
#define CC_AMS_WRR  0x1

/*
 * A guest can have commands ring for others: their data or messages write
 * doorbells. All of that happens at one instant of virtual time, and timers of
 * that instant run before anything else does. Once that is more than anybody
 * needs the main loop gets a turn before each fetch.
 */
static bool is_endless(NvmeCint *cint, uint32_t entries, int64_t now)
{
    if (now != cint->instant_ns) {
        cint->instant_ns = now;
        cint->instant_entries = 0;
    }
    cint->instant_entries += entries;
    return cint->instant_entries > ENTRIES_AT_ONCE;
}

void nvme_cint_wake_sq(NvmeCintSq *csq, int64_t delay_ns)
{
    NvmeCint *cint = csq->sq->ctrl->cint;
    int64_t now;

    if (unlikely(csq->sq->thread)) {
        if (!qatomic_read(&csq->sq->stopped)) {
            qemu_bh_schedule(csq->sq->bh);
        }
        return;
    }
    if (!cint->virtual_time) {
        qemu_bh_schedule(csq->fetch_bh);
        return;
    }
    now = nvme_cint_now();
    if (!delay_ns && is_endless(cint, csq->sq->size, now)) {
        qemu_bh_schedule(csq->fetch_bh);
        return;
    }
    timer_mod(csq->fetch_timer, now + delay_ns);
}

/*
 * A queue that is fetching looks for its slots by itself, also when it has
 * stopped (nvme_cint_do_run_sq()). Woken, one whose SQEs cannot be read would
 * give back the slot and come again for ever; in virtual time, where no time
 * would pass, the machine would hang.
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

bool nvme_cint_is_granted(const NvmeCintSq *csq)
{
    NvmeCint *cint = csq->sq->ctrl->cint;
    bool is_granted;

    nvme_cint_lock(cint);
    is_granted = cint_arb_may_fetch(&cint->arb, &csq->arb);
    nvme_cint_unlock(cint);
    return is_granted;
}

void nvme_cint_take_shared_slot(NvmeCintSq *csq)
{
    NvmeCint *cint = csq->sq->ctrl->cint;

    nvme_cint_lock(cint);
    cint_arb_fetched(&cint->arb, &csq->arb);
    nvme_cint_unlock(cint);
}

void nvme_cint_put_shared_slot(NvmeCint *cint)
{
    nvme_cint_lock(cint);
    cint_arb_done(&cint->arb);
    nvme_cint_grant(cint);
    nvme_cint_unlock(cint);
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
        nvme_cint_lock(cint);
        cint_arb_set_backlog(&cint->arb, &csq->arb, backlog);
        nvme_cint_grant(cint);
        nvme_cint_unlock(cint);
    }
}
