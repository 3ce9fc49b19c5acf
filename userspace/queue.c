/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: the rings of one queue pair.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "caller.h"
#include "dma.h"
#include "queue.h"
#include "regs.h"

/* --- rings -------------------------------------------------------------- */

static size_t page_up(size_t len)
{
    return (len + NVME_PAGE - 1) / NVME_PAGE * NVME_PAGE;
}

/* The controller takes a ring for one piece; huge pages need not be. */
static bool in_one_piece(const struct cintio_mem *mem, const void *at,
                         size_t len)
{
    return cintio_iova(mem, (const uint8_t *)at + len - 1) ==
           cintio_iova(mem, at) + len - 1;
}

size_t cintio_list_size(const struct cintio_queue *q)
{
    return q->max_transfer / NVME_PAGE * sizeof(uint64_t);
}

static int get_rings(struct cintio_queue *q, struct cintio_error *err)
{
    struct cintio *dev = q->dev;
    size_t sq_len = page_up(q->entries * sizeof(*q->sq));
    size_t cq_len = page_up(q->entries * sizeof(*q->cq));
    size_t lists = page_up(q->entries * cintio_list_size(q));
    int ret = cintio_alloc(dev, sq_len + cq_len + lists, &q->mem, err);

    if (ret) {
        return ret;
    }
    q->sq = q->mem->addr;
    q->cq = (struct nvme_cqe *)((uint8_t *)q->mem->addr + sq_len);
    q->prp_lists = (uint8_t *)q->cq + cq_len;
    if (!in_one_piece(q->mem, q->sq, sq_len) ||
        !in_one_piece(q->mem, q->cq, cq_len)) {
        return cintio_fail(err, -ENOMEM, "the huge pages of a queue of %u "
                           "entries are not in one piece: take fewer",
                           q->entries);
    }
    return 0;
}

static int get_slots(struct cintio_queue *q, struct cintio_error *err)
{
    q->slots = calloc(q->entries, sizeof(*q->slots));
    q->free = calloc(q->entries - 1, sizeof(*q->free));
    q->taken = calloc(q->entries, sizeof(*q->taken));
    return q->slots && q->free && q->taken ? 0 :
           cintio_fail(err, -ENOMEM, "out of memory");
}

void cintio_queue_empty(struct cintio_queue *q)
{
    uint16_t n = q->entries - 1;

    memset(q->cq, 0, q->entries * sizeof(*q->cq));
    memset(q->slots, 0, q->entries * sizeof(*q->slots));
    memset(q->taken, 0, q->entries * sizeof(*q->taken));
    q->slots[n].prev = q->slots[n].next = n;
    for (q->nr_free = 0; q->nr_free < n; q->nr_free++) {
        q->free[q->nr_free] = n - 1 - q->nr_free;
    }
    q->sq_tail = 0;
    q->queued = q->flying = 0;
    q->timed = 0;
    q->head = q->scan = (struct cintio_cursor) { .phase = true };
    q->armed = false;
    memset(&q->seen, 0, sizeof(q->seen));
    q->told = 0;
    q->interrupted = q->release = false;
    q->doubts = 0;
    q->generation = atomic_load(&q->dev->generation);
}

int cintio_queue_new(struct cintio *dev, uint16_t id, uint16_t entries,
                     uint32_t max_transfer, struct cintio_queue **out,
                     struct cintio_error *err)
{
    struct cintio_queue *q = calloc(1, sizeof(*q));
    unsigned int shift = dev->doorbell_shift;
    int ret;

    if (!q) {
        return cintio_fail(err, -ENOMEM, "out of memory");
    }
    *q = (struct cintio_queue) {
        .dev = dev, .info = cintio_info(dev), .id = id, .entries = entries,
        .eventfd = -1, .gather_ns = CINTIO_GATHER_NS,
        .max_transfer = max_transfer,
        .sq_doorbell = NVME_REG_DOORBELLS + (2u * id << shift),
        .cq_doorbell = NVME_REG_DOORBELLS + ((2u * id + 1) << shift),
        .pointer_reg = dev->pointer_offset + id * dev->pointer_stride,
    };
    ret = get_rings(q, err);
    if (!ret) {
        ret = get_slots(q, err);
    }
    if (ret) {
        cintio_queue_free(q);
        return ret;
    }
    cintio_queue_empty(q);
    *out = q;
    return 0;
}

void cintio_queue_free(struct cintio_queue *q)
{
    cintio_free_ring(q->dev, q->mem);
    if (q->eventfd >= 0) {
        close(q->eventfd);
    }
    free(q->slots);
    free(q->free);
    free(q->taken);
    free(q);
}

unsigned int cintio_outstanding(const struct cintio_queue *q)
{
    return q->queued + q->flying;
}

/* --- commands ----------------------------------------------------------- */

int cintio_take_slot(struct cintio_queue *q)
{
    uint16_t ends = q->entries - 1, id;
    struct cintio_slot *slot;

    if (!q->nr_free) {
        return -EAGAIN;
    }
    id = q->free[--q->nr_free];
    slot = &q->slots[id];
    *slot = (struct cintio_slot) {
        .prev = q->slots[ends].prev, .next = ends, .busy = true,
    };
    q->slots[slot->prev].next = id;
    q->slots[ends].prev = id;
    return id;
}

void cintio_give_slot(struct cintio_queue *q, uint16_t id)
{
    struct cintio_slot *slot = &q->slots[id];

    slot->busy = false;
    q->slots[slot->prev].next = slot->next;
    q->slots[slot->next].prev = slot->prev;
    q->free[q->nr_free++] = id;
    q->timed -= slot->due_ns != 0;
}

void cintio_enqueue(struct cintio_queue *q, const struct nvme_sqe *sqe)
{
    q->sq[q->sq_tail] = *sqe;
    q->sq_tail = q->sq_tail + 1 == q->entries ? 0 : q->sq_tail + 1;
    q->queued++;
    q->pushed++;
}

const struct cintio_slot *cintio_oldest(const struct cintio_queue *q,
                                        const struct cintio_slot *slot)
{
    uint16_t ends = q->entries - 1, next;

    next = slot ? slot->next : q->slots[ends].next;
    return next == ends ? NULL : &q->slots[next];
}

int cintio_check_stale(const struct cintio_queue *q, struct cintio_error *err)
{
    return !cintio_is_stale(q) ? 0 :
        cintio_fail(err, -ESTALE, "%s was reset: %u commands of queue %u are "
                    "lost; destroy it and make another",
                    q->dev->info.address, cintio_outstanding(q), q->id);
}

int cintio_ring(struct cintio_queue *q)
{
    int ret = cintio_check_stale(q, &q->error);

    if (ret) {
        return ret;
    }
    if (q->queued) {
        cintio_write32(q->dev, q->sq_doorbell, q->sq_tail);
        q->rings++;
        q->flying += q->queued;
        q->queued = 0;
    }
    return 0;
}
