/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One completion queue under one policy, with a guest that reaps it.
 *
 * All indices are free running; an entry's place in a ring is its index under
 * a mask.
 */
#include <string.h>

#include "lane.h"
#include "output.h"

enum {
    LANE_COVERED    = 1,    /* an interrupt told of it, or it was consumed */
    LANE_REAPED     = 2,    /* by a guest that takes Urgent ones first */
};

static const Posted *posted(const Lane *lane, uint32_t index)
{
    return &lane->cq->posted[index & lane->cq->mask];
}

static uint8_t *state(Lane *lane, uint32_t index)
{
    return &lane->state[index & lane->cq->mask];
}

static bool is_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static uint32_t later(uint32_t a, uint32_t b)
{
    return is_before(a, b) ? b : a;
}

/* The driver knows an Urgent command by what it wrote into CDW0 itself. */
static bool is_urgent(const Posted *cqe)
{
    return cqe->hints == NVME_CINT_HINT_URGENT &&
           cqe->sources & (1u << NVME_CINT_SOURCE_CDW0);
}

/* Returns false if that was known already. */
static bool end_hold(Lane *lane, uint32_t index, int64_t t)
{
    const Posted *cqe = posted(lane, index);
    HoldStats *hold = &lane->stats.hold[cqe->hints];
    uint64_t ns = t - cqe->t;

    if (*state(lane, index) & LANE_COVERED) {
        return false;
    }
    *state(lane, index) |= LANE_COVERED;
    hold_add(hold, ns);
    hist_add(&lane->stats.hist, ns);
    return true;
}

static void cover_all(Lane *lane, int64_t t)
{
    uint32_t tail = lane->engine.tail;

    for (; lane->uncovered != tail; lane->uncovered++) {
        end_hold(lane, lane->uncovered, t);
    }
    lane->announced = tail;
}

static void cover_urgent(Lane *lane, int64_t t)
{
    uint32_t tail = lane->engine.tail;
    uint32_t i = later(lane->announced, lane->uncovered);

    for (; i != tail; i++) {
        if (is_urgent(posted(lane, i))) {
            end_hold(lane, i, t);
        }
    }
    lane->announced = tail;
}

void lane_head(Lane *lane, int64_t t, uint32_t head)
{
    uint32_t i;

    for (i = lane->engine.head; is_before(i, head); i++) {
        hold_add(&lane->stats.post_to_head, t - posted(lane, i)->t);
    }
    for (; is_before(lane->uncovered, head); lane->uncovered++) {
        lane->stats.avoided += end_hold(lane, lane->uncovered, t);
    }
    lane_act(lane, t, cint_head(&lane->engine, t, head));
}

/*
 * What a driver does that has read the status record: everything up to the
 * last full interrupt, beyond it only what is Urgent. The head stops at the
 * first entry that is left.
 */
static uint32_t reap_by_record(Lane *lane)
{
    uint32_t tail = lane->engine.tail;
    uint32_t head = later(lane->engine.head, lane->full_tail);
    uint32_t i = later(lane->scanned, head);

    for (; i != tail; i++) {
        if (is_urgent(posted(lane, i))) {
            *state(lane, i) |= LANE_REAPED;
        }
    }
    lane->scanned = tail;
    while (head != tail && *state(lane, head) & LANE_REAPED) {
        head++;
    }
    return head;
}

static void reap(Lane *lane, int64_t t)
{
    uint32_t head = cint_may_be_urgent(&lane->engine) ? reap_by_record(lane)
                                        : lane->engine.tail;

    if (head != lane->engine.head) {
        lane_head(lane, t, head);
    }
}

/* An interrupt that finds another one waiting for the handler joins it. */
static void wake_guest(Lane *lane, int64_t t)
{
    int64_t guest = lane->replay->guest;

    if (guest == GUEST_EAGER) {
        reap(lane, t);
    } else if (guest != GUEST_TRACE && lane->reap_ns == NEVER) {
        lane->reap_ns = t + guest;
    }
}

void lane_act(Lane *lane, int64_t t, CintAction action)
{
    if (action.fire == CINT_FIRE_NONE) {
        return;
    }
    lane->stats.irqs[action.fire]++;
    lane->stats.reasons[action.reason]++;
    if (lane->replay->setup->irqs) {
        output_irq(lane, t, &action);
    }
    if (action.fire == CINT_FIRE_FULL) {
        lane->full_tail = lane->engine.tail;
        cover_all(lane, t);
    } else {
        cover_urgent(lane, t);
    }
    wake_guest(lane, t);
}

/* A deadline that equals the guest's time expires first. */
int64_t lane_due(const Lane *lane)
{
    return MIN(cint_deadline(&lane->engine), lane->reap_ns);
}

void lane_step(Lane *lane)
{
    int64_t deadline = cint_deadline(&lane->engine);
    int64_t reap_ns = lane->reap_ns;

    if (deadline <= reap_ns) {
        lane_act(lane, deadline, cint_timer(&lane->engine, deadline));
    } else {
        lane->reap_ns = NEVER;
        reap(lane, reap_ns);
    }
}

void lane_init(Lane *lane, Replay *replay, Arm *arm, CqState *cq)
{
    memset(lane, 0, sizeof(*lane));
    lane->replay = replay;
    lane->arm = arm;
    lane->cq = cq;
    lane->reap_ns = NEVER;
    lane->state = g_new0(uint8_t, cq->mask + 1);
    cint_cq_init(&lane->engine, &arm->scope, replay->setup->cq_size,
                 &arm->config);
    cint_set_record(&lane->engine, 0, replay->setup->record);
}

void lane_free(Lane *lane)
{
    g_free(lane->state);
}
