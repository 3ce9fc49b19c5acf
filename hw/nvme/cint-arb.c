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

#include "cint.h"
#include "trace.h"

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
    return NVME_CC_AMS(ldl_le_p(&cint->n->bar.cc)) == NVME_CINT_CC_AMS_WRR;
}

/* The line @s waits in: its priority's, or the one that all share. */
static uint8_t line_of(const NvmeCint *cint, const NvmeCintSq *s)
{
    return is_weighted(cint) ? s->priority : NVME_CINT_PRIO_URGENT;
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
    NvmeCintSq *s = cint->burst_sq;

    if (s && s->waiting && s->line == class && cint->burst_left) {
        return s;
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

static void count_burst(NvmeCint *cint, NvmeCintSq *s)
{
    uint32_t burst = BURST(cint->arbitration);

    if (cint->burst_sq != s || !cint->burst_left) {
        cint->burst_sq = s;
        cint->burst_left = burst == NVME_ARB_AB_NOLIMIT ? 1 : 1u << burst;
    }
    cint->burst_left--;
}

static void leave_line(NvmeCint *cint, NvmeCintSq *s)
{
    if (s->waiting) {
        QTAILQ_REMOVE(&cint->waiting[s->line], s, entry);
        s->waiting = false;
    }
}

static void give_slots(NvmeCint *cint)
{
    NvmeCintSq *s;

    while (has_free_slot(cint) && (s = next_sq(cint))) {
        count_burst(cint, s);
        leave_line(cint, s);
        s->grants++;
        cint->slots_granted++;
        nvme_cint_kick_sq(s->sq);
    }
}

/*
 * With shadow doorbells sq->tail comes straight from guest memory. The head
 * never meets one that is no index of the queue, and in virtual time all that
 * fetching happens at one instant: the main loop would not get a turn again.
 */
static bool is_wrong_tail(const NvmeSQueue *sq)
{
    if (sq->tail < sq->size) {
        return false;
    }
    trace_pci_nvme_ub_db_wr_invalid_sqtail(sq->sqid, sq->tail);
    return true;
}

/*
 * A queue with a grant may use it. One without goes on by itself only while
 * slots are free and nobody waits.
 */
bool nvme_cint_do_may_fetch(NvmeSQueue *sq)
{
    NvmeCint *cint = sq->ctrl->cint;
    NvmeCintSq *s = sq->cint;

    if (is_wrong_tail(sq)) {
        sq->tail = sq->head;
        return false;
    }
    nvme_cint_mark_shadow_batch(sq);
    if (!cint->media.params.slots || !sq->sqid || s->grants) {
        return true;
    }
    if (!anyone_waits(cint) && has_free_slot(cint)) {
        return true;
    }
    if (!s->waiting) {
        s->waiting = true;
        s->line = line_of(cint, s);
        QTAILQ_INSERT_TAIL(&cint->waiting[s->line], s, entry);
    }
    return false;
}

void nvme_cint_take_slot(NvmeCint *cint, NvmeCintSq *s, NvmeCintReq *r)
{
    if (s->grants) {
        s->grants--;
        cint->slots_granted--;
    }
    r->holds_slot = true;
    cint->slots_used++;
}

void nvme_cint_put_slot(NvmeCint *cint, NvmeCintReq *r)
{
    if (r->holds_slot) {
        r->holds_slot = false;
        cint->slots_used--;
        give_slots(cint);
    }
}

void nvme_cint_return_grants(NvmeCint *cint, NvmeCintSq *s)
{
    cint->slots_granted -= s->grants;
    s->grants = 0;
    give_slots(cint);
}

void nvme_cint_forget_sq(NvmeCint *cint, NvmeCintSq *s)
{
    leave_line(cint, s);
    if (cint->burst_sq == s) {
        cint->burst_sq = NULL;
    }
    nvme_cint_return_grants(cint, s);
}
