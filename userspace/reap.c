/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: which completions are to be taken now. In general all that are
 * there; where the controller keeps interrupt status records, those that an
 * interrupt has told of, and beyond them the Urgent ones (docs/interface.md,
 * section 4, the driver's rule).
 */
#include "clock.h"
#include "reap.h"
#include "regs.h"

bool cintio_posted(const struct cintio_queue *q, struct cintio_cursor place)
{
    uint16_t status = __atomic_load_n(&q->cq[place.index].status,
                                      __ATOMIC_ACQUIRE);

    return (status & 1) == place.phase;
}

struct cintio_cursor cintio_ahead(const struct cintio_queue *q,
                                  struct cintio_cursor place, unsigned int n)
{
    unsigned int index = place.index + n;

    place.count += n;
    if (index >= q->entries) {
        index -= q->entries;
        place.phase = !place.phase;
    }
    place.index = index;
    return place;
}

/* Mean of the last eight or so. */
static void learn(struct cintio_queue *q, uint64_t pushed_ns)
{
    uint64_t took = cintio_now() - pushed_ns;

    q->mean_ns = q->mean_ns ? q->mean_ns - q->mean_ns / 8 + took / 8 : took;
}

/*
 * The command of an entry has ended. False: there was none of that identifier,
 * which is the controller's mistake and not to become the process's.
 */
static bool finish(struct cintio_queue *q, uint16_t index,
                   struct cintio_done *done)
{
    const struct nvme_cqe *cqe = &q->cq[index];
    uint16_t id = cqe->cid;
    struct cintio_slot *slot;

    if (id >= q->entries - 1 || !q->slots[id].busy) {
        return false;
    }
    slot = &q->slots[id];
    *done = (struct cintio_done) {
        .cookie = slot->cookie, .result = cqe->result,
        .result_high = cqe->result_high, .status = NVME_STATUS(cqe->status),
        .flags = NVME_MORE_OF(cqe->status),
    };
    cintio_give_slot(q, id);
    q->flying--;
    q->completed++;
    q->errors += done->status != 0;
    if (slot->pushed_ns) {
        learn(q, slot->pushed_ns);
    }
    return true;
}

static unsigned int reap_in_order(struct cintio_queue *q,
                                  struct cintio_done *done, unsigned int max)
{
    unsigned int got = 0;

    while (got < max && cintio_posted(q, q->head)) {
        got += finish(q, q->head.index, &done[got]);
        q->head = cintio_ahead(q, q->head, 1);
    }
    q->scan = q->head;
    return got;
}

/* Whoever polls takes what is there, and so does who goes by no record. */
static bool takes_all(const struct cintio_queue *q)
{
    return q->mode < CINTIO_INTERRUPT || q->release ||
           q->doubts >= CINTIO_MAX_DOUBTS;
}

static bool may_take(const struct cintio_queue *q, struct cintio_cursor place)
{
    uint16_t id = q->cq[place.index].cid;

    return takes_all(q) || id >= q->entries - 1 ||
           (int32_t)(q->told - place.count) > 0 || q->slots[id].urgent;
}

/*
 * Past the entries at the head that were taken. Where the scan went back to
 * the head, and ended early, marks are before it and behind it: the head may
 * overtake it. What it was to look at again is gone by then, and the places
 * are the next lap's.
 */
static void pass_taken(struct cintio_queue *q)
{
    while (q->taken[q->head.index]) {
        q->taken[q->head.index] = false;
        q->head = cintio_ahead(q, q->head, 1);
    }
    if ((int32_t)(q->head.count - q->scan.count) > 0) {
        q->scan = q->head;
    }
}

/* To the end, or as far as @max goes; true: to the end. */
static bool look_through(struct cintio_queue *q, struct cintio_cursor at,
                         struct cintio_done *done, unsigned int max,
                         unsigned int *got)
{
    for (; *got < max && cintio_posted(q, at); at = cintio_ahead(q, at, 1)) {
        uint16_t id = q->cq[at.index].cid;

        if (!q->taken[at.index] && may_take(q, at)) {
            q->taken[at.index] = true;
            q->seen.urgent += id < q->entries - 1 && q->slots[id].urgent;
            *got += finish(q, at.index, &done[*got]);
        }
    }
    q->scan = at;
    pass_taken(q);
    return *got < max;
}

/*
 * Whether the record, or Urgent entries, say what the interrupts since the last
 * such question were for. A record that is written moves its count for a full
 * one, and counts each before it is sent; an urgent one has an entry of its
 * own. What does not even count is a doubt (docs/interface.md, section 4).
 */
static bool is_explained(struct cintio_queue *q, uint32_t seq)
{
    uint32_t messages = seq - q->seen.seq;
    int64_t ahead = q->seen.ahead + messages -
                    (int64_t)(q->interrupts - q->seen.interrupts);
    bool full = q->told != q->seen.full_tail;
    bool counted = ahead >= 0 && (full || messages);
    bool explained = counted && (full || messages <= q->seen.urgent);

    q->doubts = counted ? 0 : q->doubts + 1;
    q->seen.ahead = ahead < 0 ? 0 : ahead;
    q->seen.interrupts = q->interrupts;
    q->seen.full_tail = q->told;
    q->seen.seq = seq;
    q->seen.urgent = 0;
    q->interrupted = false;
    return explained;
}

/*
 * The record is read before the end of the scan is looked for, so that what it
 * tells of is seen; and the scan bounds it, so that one that says too much,
 * or that has wrapped, makes no entry of an empty slot.
 */
static unsigned int reap_by_record(struct cintio_queue *q,
                                   struct cintio_done *done, unsigned int max)
{
    uint32_t told = __atomic_load_n(&q->record->full_tail, __ATOMIC_ACQUIRE);
    uint32_t seq = __atomic_load_n(&q->record->seq, __ATOMIC_RELAXED);
    bool news = told != q->told || takes_all(q), to_the_end;
    unsigned int got = 0;

    q->told = told;
    to_the_end = look_through(q, news ? q->head : q->scan, done, max, &got);
    if (to_the_end && q->interrupted && !takes_all(q) &&
        !is_explained(q, seq)) {
        q->release = true;
        to_the_end = look_through(q, q->head, done, max, &got);
    }
    q->release &= !to_the_end;
    return got;
}

unsigned int cintio_reap(struct cintio_queue *q, struct cintio_done *done,
                         unsigned int max)
{
    uint16_t before = q->head.index;
    unsigned int got;

    got = q->record ? reap_by_record(q, done, max)
                    : reap_in_order(q, done, max);
    if ((int32_t)(q->head.count - q->target) >= 0) {
        q->armed = false;
    }
    if (q->head.index != before) {
        q->heads++;
        cintio_write32(q->dev, q->cq_doorbell, q->head.index);
    }
    return got;
}
