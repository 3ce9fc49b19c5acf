/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: command arbitration (NVMe base specification, "Command Arbitration").
 *
 * With bounded media slots not every SQE can be fetched at once, and the
 * controller has to choose. A submission queue that finds no free slot waits
 * in line; a slot that becomes free is granted to the first queue in line,
 * which then fetches one SQE.
 *
 *   round robin (CC.AMS 000b)      one line for all queues
 *   weighted round robin with      one line each for urgent, high, medium and
 *   urgent class (CC.AMS 001b)     low priority; urgent goes before all others,
 *                                  the rest share by the weights of feature
 *                                  01h, counted in commands
 *
 * Feature 01h's arbitration burst is the number of SQEs a queue may have
 * fetched before the next in its line has its turn; "no limit" lets the
 * controller choose, which takes one.
 *
 * The admin queue does not take part, nor does anything with slots unbounded.
 */
#include "qemu/osdep.h"

#include "cint-arb.h"

/* Weighted round robin with urgent class, in CC.AMS. */
#define CC_AMS_WRR          0x1

#define BURST(arb)          ((arb) & 0x7)
#define WEIGHT(arb, class)  ((((arb) >> weight_shift[class]) & 0xff) + 1)

/* Position of each weighted class's weight in feature 01h. */
static const uint8_t weight_shift[NVME_CINT_NR_PRIORITIES] = {
    [NVME_CINT_PRIO_HIGH]   = 24,
    [NVME_CINT_PRIO_MEDIUM] = 16,
    [NVME_CINT_PRIO_LOW]    = 8,
};

void nvme_cint_arb_init(NvmeCint *cint)
{
    int class;

    for (class = 0; class < NVME_CINT_NR_PRIORITIES; class++) {
        QTAILQ_INIT(&cint->waiting[class]);
    }
    cint->arbitration = NVME_ARB_AB_NOLIMIT;
}

static bool is_weighted(const NvmeCint *cint)
{
    return NVME_CC_AMS(ldl_le_p(&cint->n->bar.cc)) == CC_AMS_WRR;
}

/* The line @csq waits in: its priority's, or the one that all share. */
static uint8_t line_of(const NvmeCint *cint, const NvmeCintSq *csq)
{
    return is_weighted(cint) ? csq->priority : NVME_CINT_PRIO_URGENT;
}

static bool anyone_waits(const NvmeCint *cint)
{
    int class;

    for (class = 0; class < NVME_CINT_NR_PRIORITIES; class++) {
        if (!QTAILQ_EMPTY(&cint->waiting[class])) {
            return true;
        }
    }
    return false;
}

static bool has_free_slot(const NvmeCint *cint)
{
    uint64_t slots = cint->media.params.slots;

    return !slots || cint->slots_used + cint->slots_granted < slots;
}

/* The weighted class that has its turn, or -1 if none of them waits. */
static int weighted_class(NvmeCint *cint)
{
    bool refilled = false;
    int class;

    for (;;) {
        bool waiting = false;

        for (class = NVME_CINT_PRIO_HIGH; class <= NVME_CINT_PRIO_LOW;
             class++) {
            bool empty = QTAILQ_EMPTY(&cint->waiting[class]);

            if (!empty && cint->credits[class]) {
                return class;
            }
            waiting |= !empty;
        }
        if (!waiting || refilled) {
            return -1;
        }
        /* Everyone who waits has used up his share: a new round. */
        for (class = NVME_CINT_PRIO_HIGH; class <= NVME_CINT_PRIO_LOW;
             class++) {
            cint->credits[class] = WEIGHT(cint->arbitration, class);
        }
        refilled = true;
    }
}

/* First in the line of @class, or the one in the middle of its burst. */
static NvmeCintSq *first_in_line(NvmeCint *cint, int class)
{
    NvmeCintSq *csq = cint->burst_sq;

    if (csq && csq->waiting && csq->line == class && cint->burst_left) {
        return csq;
    }
    return QTAILQ_FIRST(&cint->waiting[class]);
}

static NvmeCintSq *next_sq(NvmeCint *cint)
{
    int class = NVME_CINT_PRIO_URGENT;

    if (QTAILQ_EMPTY(&cint->waiting[class])) {
        class = weighted_class(cint);
        if (class < 0) {
            return NULL;
        }
        cint->credits[class]--;
    }
    return first_in_line(cint, class);
}

static void count_burst(NvmeCint *cint, NvmeCintSq *csq)
{
    uint32_t burst = BURST(cint->arbitration);

    if (cint->burst_sq != csq || !cint->burst_left) {
        cint->burst_sq = csq;
        cint->burst_left = burst == NVME_ARB_AB_NOLIMIT ? 1 : 1u << burst;
    }
    cint->burst_left--;
}

static void leave_line(NvmeCint *cint, NvmeCintSq *csq)
{
    if (csq->waiting) {
        QTAILQ_REMOVE(&cint->waiting[csq->line], csq, entry);
        csq->waiting = false;
    }
}

void nvme_cint_wake_sq(NvmeCintSq *csq, int64_t delay_ns)
{
    if (csq->sq->ctrl->cint->virtual_time) {
        timer_mod(csq->fetch_timer, nvme_cint_now() + delay_ns);
    } else {
        qemu_bh_schedule(csq->fetch_bh);
    }
}

static void give_slots(NvmeCint *cint)
{
    NvmeCintSq *csq;

    while (has_free_slot(cint) && (csq = next_sq(cint))) {
        count_burst(cint, csq);
        leave_line(cint, csq);
        csq->grants++;
        cint->slots_granted++;
        nvme_cint_wake_sq(csq, 0);
    }
}

bool nvme_cint_has_slot(NvmeCintSq *csq)
{
    NvmeCint *cint = csq->sq->ctrl->cint;

    if (!cint->media.params.slots || !csq->sq->sqid || csq->grants) {
        return true;
    }
    /* One without a grant goes on only while slots are free for all. */
    if (!anyone_waits(cint) && has_free_slot(cint)) {
        return true;
    }
    if (!csq->waiting) {
        csq->waiting = true;
        csq->line = line_of(cint, csq);
        QTAILQ_INSERT_TAIL(&cint->waiting[csq->line], csq, entry);
    }
    return false;
}

void nvme_cint_take_slot(NvmeCintSq *csq, NvmeCintReq *creq)
{
    NvmeCint *cint = csq->sq->ctrl->cint;

    if (!cint->media.params.slots) {
        return;
    }
    if (csq->grants) {
        csq->grants--;
        cint->slots_granted--;
    }
    creq->holds_slot = true;
    cint->slots_used++;
}

void nvme_cint_put_slot(NvmeCint *cint, NvmeCintReq *creq)
{
    if (creq->holds_slot) {
        creq->holds_slot = false;
        cint->slots_used--;
        give_slots(cint);
    }
}

void nvme_cint_slots_changed(NvmeCint *cint)
{
    give_slots(cint);
}

void nvme_cint_return_grants(NvmeCintSq *csq)
{
    NvmeCint *cint = csq->sq->ctrl->cint;

    cint->slots_granted -= csq->grants;
    csq->grants = 0;
    give_slots(cint);
}

void nvme_cint_arb_forget(NvmeCintSq *csq)
{
    NvmeCint *cint = csq->sq->ctrl->cint;

    leave_line(cint, csq);
    if (cint->burst_sq == csq) {
        cint->burst_sq = NULL;
    }
    nvme_cint_return_grants(csq);
}
