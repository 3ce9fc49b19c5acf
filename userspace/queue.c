/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cintio: the rings of one queue pair, and commands on their way in.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

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

/* Of one command: a power of 2, and so within a page. */
static size_t list_size(const struct cintio_queue *q)
{
    return q->max_transfer / NVME_PAGE * sizeof(uint64_t);
}

static int get_rings(struct cintio_queue *q, struct cintio_error *err)
{
    struct cintio *dev = q->dev;
    size_t sq_len = page_up(q->entries * sizeof(*q->sq));
    size_t cq_len = page_up(q->entries * sizeof(*q->cq));
    size_t lists = page_up(q->entries * list_size(q));
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
        .eventfd = -1,
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

static uint16_t take_slot(struct cintio_queue *q)
{
    uint16_t ends = q->entries - 1, id = q->free[--q->nr_free];
    struct cintio_slot *slot = &q->slots[id];

    slot->prev = q->slots[ends].prev;
    slot->next = ends;
    q->slots[slot->prev].next = id;
    q->slots[ends].prev = id;
    slot->busy = true;
    return id;
}

/* Addresses of the pages of a buffer; its ends are inside of its memory. */
static void set_data(struct cintio_queue *q, struct nvme_sqe *sqe, uint16_t id,
                     const struct cintio_mem *mem, uint8_t *buf, size_t len)
{
    uint8_t *end = buf + len;
    uint8_t *page = (uint8_t *)(((uintptr_t)buf | (NVME_PAGE - 1)) + 1);
    uint64_t *list;

    sqe->prp1 = cintio_iova(mem, buf);
    if (page >= end) {
        return;
    }
    if (page + NVME_PAGE >= end) {
        sqe->prp2 = cintio_iova(mem, page);
        return;
    }
    list = (uint64_t *)(q->prp_lists + id * list_size(q));
    sqe->prp2 = cintio_iova(q->mem, list);
    for (; page < end; page += NVME_PAGE) {
        *list++ = cintio_iova(mem, page);
    }
}

int cintio_enqueue(struct cintio_queue *q, struct nvme_sqe *sqe,
                   const struct cintio_io *io)
{
    struct cintio_slot *slot;

    if (!q->nr_free) {
        return -EAGAIN;
    }
    sqe->cid = take_slot(q);
    slot = &q->slots[sqe->cid];
    if (io) {
        slot->cookie = io->cookie;
        slot->urgent = (io->hints & (CINTIO_URGENT | CINTIO_BARRIER)) ==
                       CINTIO_URGENT;
        slot->pushed_ns = q->mode == CINTIO_SLEEP ||
                          q->mode == CINTIO_SLEEP_ADAPTIVE ? cintio_now() : 0;
        if (io->op != CINTIO_FLUSH) {
            set_data(q, sqe, sqe->cid, io->mem, io->buf,
                     (size_t)io->blocks * q->info->block_size);
        }
    }
    q->sq[q->sq_tail] = *sqe;
    q->sq_tail = q->sq_tail + 1 == q->entries ? 0 : q->sq_tail + 1;
    q->queued++;
    return 0;
}

/* -EINVAL with a text, or 0. */
static int check(struct cintio_queue *q, const struct cintio_io *io)
{
    const struct cintio_info *info = q->info;
    size_t len = (size_t)io->blocks * info->block_size, offset;

    if (io->op > CINTIO_FLUSH) {
        return cintio_fail(&q->error, -EINVAL, "operation %d: 0 to %d are "
                           "known", io->op, CINTIO_FLUSH);
    }
    if (io->op == CINTIO_FLUSH) {
        return 0;
    }
    if (!io->blocks || len > q->max_transfer) {
        return cintio_fail(&q->error, -EINVAL, "%u blocks of %u bytes: a "
                           "command moves 1 block to %u bytes", io->blocks,
                           info->block_size, q->max_transfer);
    }
    if (io->lba >= info->blocks || io->blocks > info->blocks - io->lba) {
        return cintio_fail(&q->error, -EINVAL, "blocks %llu to %llu: the "
                           "namespace has %llu",
                           (unsigned long long)io->lba,
                           (unsigned long long)(io->lba + io->blocks - 1),
                           (unsigned long long)info->blocks);
    }
    if (!io->mem) {
        return cintio_fail(&q->error, -EINVAL, "no memory is named that the "
                           "buffer lies in");
    }
    offset = (uint8_t *)io->buf - (uint8_t *)io->mem->addr;
    if (offset > io->mem->len || len > io->mem->len - offset ||
        (uintptr_t)io->buf % 4) {
        return cintio_fail(&q->error, -EINVAL, "the buffer does not lie in its "
                           "memory, or is not aligned to 4 bytes");
    }
    return 0;
}

static uint8_t hint_flags(const struct cintio_queue *q, unsigned int hints)
{
    if (!(q->info->cint_caps & NVME_CINT_CAP_HINTS)) {
        return 0;
    }
    return (hints & CINTIO_URGENT ? NVME_CINT_FLAGS_URGENT : 0) |
           (hints & CINTIO_BARRIER ? NVME_CINT_FLAGS_BARRIER : 0);
}

int cintio_push(struct cintio_queue *q, const struct cintio_io *io)
{
    static const uint8_t opcodes[] = {
        [CINTIO_READ] = NVME_CMD_READ,
        [CINTIO_WRITE] = NVME_CMD_WRITE,
        [CINTIO_FLUSH] = NVME_CMD_FLUSH,
    };
    int ret = check(q, io);
    struct nvme_sqe sqe;

    if (ret) {
        return ret;
    }
    sqe = (struct nvme_sqe) {
        .opcode = opcodes[io->op],
        .flags = hint_flags(q, io->hints),
        .nsid = q->info->nsid,
    };
    if (io->op != CINTIO_FLUSH) {
        sqe.cdw10 = io->lba;
        sqe.cdw11 = io->lba >> 32;
        sqe.cdw12 = io->blocks - 1;
    }
    return cintio_enqueue(q, &sqe, io);
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
        q->flying += q->queued;
        q->queued = 0;
    }
    return 0;
}
