/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: commands on their way in: what the caller says becomes an entry of
 * the submission queue, with the addresses of its data, or a sentence about
 * what is wrong with it.
 */
#include <errno.h>
#include <string.h>

#include "admin.h"
#include "caller.h"
#include "clock.h"
#include "dma.h"
#include "queue.h"

/* A command as it is being made. */
struct command {
    const struct cintio_io *io;
    const struct cintio_vec *vec;       /* its data */
    size_t nr, len;
    struct cintio_vec one;              /* data in one piece */
    bool by_sgl;
    struct nvme_sqe sqe;
};

static int refuse(struct cintio_queue *q, const char *what)
{
    return cintio_fail(&q->error, -EINVAL, "%s", what);
}

/* --- its data ----------------------------------------------------------- */

/* A list of pages has no place for a gap, between pieces or in them. */
static bool fits_pages(const struct command *c)
{
    for (size_t i = 1; i < c->nr; i++) {
        uintptr_t end = (uintptr_t)c->vec[i - 1].buf + c->vec[i - 1].len;

        if ((end | (uintptr_t)c->vec[i].buf) % NVME_PAGE) {
            return false;
        }
    }
    return true;
}

static int check_piece(struct cintio_queue *q, const struct cintio_vec *piece)
{
    size_t offset;

    if (!piece->mem) {
        return refuse(q, "no memory is named that the buffer lies in");
    }
    if (piece->mem->space != q->dev->space) {
        return refuse(q, "the buffer lies in memory of another controller");
    }
    offset = (uint8_t *)piece->buf - (uint8_t *)piece->mem->addr;
    if (offset > piece->mem->len || piece->len > piece->mem->len - offset ||
        (uintptr_t)piece->buf % 4) {
        return refuse(q, "the buffer does not lie in its memory, or is not "
                      "aligned to 4 bytes");
    }
    if (!piece->len || piece->len % 4) {
        return cintio_fail(&q->error, -EINVAL, "a piece of %zu bytes: give a "
                           "multiple of 4", piece->len);
    }
    return 0;
}

/* Its pieces, each by itself and together. */
static int check_data(struct cintio_queue *q, struct command *c)
{
    size_t sum = 0;

    for (size_t i = 0; i < c->nr; i++) {
        int ret = check_piece(q, &c->vec[i]);

        if (ret) {
            return ret;
        }
        if (c->vec[i].len > q->max_transfer - sum) {
            return cintio_fail(&q->error, -EINVAL, "pieces of %zu bytes and "
                               "more: a command moves %u bytes at most",
                               sum + c->vec[i].len, q->max_transfer);
        }
        sum += c->vec[i].len;
    }
    if (sum != c->len) {
        return cintio_fail(&q->error, -EINVAL, "pieces of %zu bytes for blocks "
                           "of %zu", sum, c->len);
    }
    c->by_sgl = !fits_pages(c);
    return !c->by_sgl || q->info->sgl ? 0 :
        cintio_fail(&q->error, -EINVAL, "pieces that do not begin and end at a "
                    "multiple of %u bytes: %s has no SGLs", NVME_PAGE,
                    q->info->address);
}

/* The page behind that of @at, or the end of the piece. */
static uint8_t *page_end(const struct cintio_vec *piece, const uint8_t *at)
{
    uint8_t *next = (uint8_t *)(((uintptr_t)at | (NVME_PAGE - 1)) + 1);
    uint8_t *end = (uint8_t *)piece->buf + piece->len;

    return next < end ? next : end;
}

/* One page in PRP1; a second one in PRP2, or a list of all behind the first. */
static void set_pages(struct cintio_queue *q, struct command *c)
{
    uint64_t *list = (uint64_t *)(q->prp_lists +
                                  c->sqe.cid * cintio_list_size(q));
    size_t n = 0;

    for (size_t i = 0; i < c->nr; i++) {
        const struct cintio_vec *piece = &c->vec[i];
        uint8_t *at = piece->buf;

        for (; at < (uint8_t *)piece->buf + piece->len; n++) {
            uint64_t iova = cintio_iova(piece->mem, at);

            if (n == 0) {
                c->sqe.prp1 = iova;
            } else {
                list[n - 1] = iova;
            }
            at = page_end(piece, at);
        }
    }
    if (n == 2) {
        c->sqe.prp2 = list[0];
    } else if (n > 2) {
        c->sqe.prp2 = cintio_iova(q->mem, list);
    }
}

/*
 * Descriptors of what is in one piece for the controller: one in the command,
 * more in a list of which the command has the address.
 */
static int set_sgl(struct cintio_queue *q, struct command *c)
{
    struct nvme_sgl *list = (struct nvme_sgl *)(q->prp_lists + c->sqe.cid *
                                                cintio_list_size(q));
    size_t room = cintio_list_size(q) / sizeof(*list), n = 0;
    struct nvme_sgl first;

    for (size_t i = 0; i < c->nr; i++) {
        const struct cintio_vec *piece = &c->vec[i];
        uint8_t *at = piece->buf, *end;

        for (; at < (uint8_t *)piece->buf + piece->len; at = end) {
            uint64_t iova = cintio_iova(piece->mem, at);

            end = page_end(piece, at);
            if (n && list[n - 1].addr + list[n - 1].len == iova) {
                list[n - 1].len += end - at;
                continue;
            }
            if (n == room) {
                return cintio_fail(&q->error, -EINVAL, "more than %zu pieces "
                                   "in one command", room);
            }
            list[n++] = (struct nvme_sgl) { .addr = iova, .len = end - at };
        }
    }
    first = n == 1 ? list[0] : (struct nvme_sgl) {
        .addr = cintio_iova(q->mem, list), .len = n * sizeof(*list),
        .type = NVME_SGL_LAST_SEGMENT,
    };
    memcpy(&c->sqe.prp1, &first, sizeof(first));
    c->sqe.flags |= NVME_SQE_SGL;
    return 0;
}

/* --- what it does ------------------------------------------------------- */

static uint8_t hint_flags(const struct cintio_queue *q, unsigned int hints)
{
    if (!(q->info->cint_caps & NVME_CINT_CAP_HINTS)) {
        return 0;
    }
    return (hints & CINTIO_URGENT ? NVME_CINT_FLAGS_URGENT : 0) |
           (hints & CINTIO_BARRIER ? NVME_CINT_FLAGS_BARRIER : 0);
}

/* Where blocks lie; that of the controller, if none is named. */
static int space_of(struct cintio_queue *q, const struct cintio_io *io,
                    struct cintio_namespace *ns)
{
    if (io->ns) {
        *ns = *io->ns;
        return 0;
    }
    *ns = (struct cintio_namespace) {
        .nsid = q->info->nsid, .block_size = q->info->block_size,
        .blocks = q->info->blocks,
    };
    return ns->block_size ? 0 :
        cintio_fail(&q->error, -EINVAL, "no namespace is named, and %s was "
                    "opened without one", q->info->address);
}

static int make_read_or_write(struct cintio_queue *q, struct command *c)
{
    const struct cintio_io *io = c->io;
    struct cintio_namespace ns;
    int ret = space_of(q, io, &ns);

    if (ret) {
        return ret;
    }
    c->len = (size_t)io->blocks * ns.block_size;
    if (!io->blocks || c->len > q->max_transfer) {
        return cintio_fail(&q->error, -EINVAL, "%u blocks of %u bytes: a "
                           "command moves 1 block to %u bytes", io->blocks,
                           ns.block_size, q->max_transfer);
    }
    if (io->lba >= ns.blocks || io->blocks > ns.blocks - io->lba) {
        return cintio_fail(&q->error, -EINVAL, "blocks %llu to %llu: the "
                           "namespace has %llu",
                           (unsigned long long)io->lba,
                           (unsigned long long)(io->lba + io->blocks - 1),
                           (unsigned long long)ns.blocks);
    }
    c->sqe.opcode = io->op == CINTIO_READ ? NVME_CMD_READ : NVME_CMD_WRITE;
    c->sqe.nsid = ns.nsid;
    c->sqe.cdw10 = io->lba;
    c->sqe.cdw11 = io->lba >> 32;
    c->sqe.cdw12 = (io->blocks - 1) |
                   (io->flags & CINTIO_FUA ? NVME_RW_FUA : 0);
    if (!io->nr_vecs) {
        c->one.len = c->len;
    }
    return check_data(q, c);
}

static int make_flush(struct cintio_queue *q, struct command *c)
{
    struct cintio_namespace ns;
    int ret = space_of(q, c->io, &ns);

    c->nr = 0;
    c->sqe.opcode = NVME_CMD_FLUSH;
    c->sqe.nsid = ns.nsid;
    return ret;
}

static int make_raw(struct cintio_queue *q, struct command *c)
{
    const struct cintio_io *io = c->io;

    if (!io->sqe) {
        return refuse(q, "CINTIO_RAW without an sqe");
    }
    memcpy(&c->sqe, io->sqe, sizeof(c->sqe));
    c->sqe.flags &= ~NVME_SQE_PSDT;
    c->sqe.prp1 = c->sqe.prp2 = 0;
    c->len = io->len;
    if (io->nr_vecs) {
        c->len = 0;
        for (size_t i = 0; i < io->nr_vecs; i++) {
            c->len += io->vec[i].len;
        }
    } else if (!io->len) {
        c->nr = 0;
    }
    return check_data(q, c);
}

static int make(struct cintio_queue *q, struct command *c)
{
    const struct cintio_io *io = c->io;
    bool moves = io->op == CINTIO_READ || io->op == CINTIO_WRITE;

    for (size_t i = 0; i < sizeof(io->reserved) / sizeof(*io->reserved); i++) {
        if (io->reserved[i]) {
            return refuse(q, "a reserved field of struct cintio_io is not 0");
        }
    }
    if (io->flags & ~CINTIO_FUA || (io->flags && !moves)) {
        return cintio_fail(&q->error, -EINVAL, "flags %x: CINTIO_FUA (%x) is "
                           "known, of reads and writes", io->flags, CINTIO_FUA);
    }
    if (io->hints & ~(CINTIO_URGENT | CINTIO_BARRIER)) {
        return cintio_fail(&q->error, -EINVAL, "hints %x: CINTIO_URGENT (%x) "
                           "and CINTIO_BARRIER (%x) are known", io->hints,
                           CINTIO_URGENT, CINTIO_BARRIER);
    }
    if (io->nr_vecs && !io->vec) {
        return cintio_fail(&q->error, -EINVAL, "%zu pieces without a vec",
                           io->nr_vecs);
    }
    switch (io->op) {
    case CINTIO_READ:
    case CINTIO_WRITE:
        return make_read_or_write(q, c);
    case CINTIO_FLUSH:
        return make_flush(q, c);
    case CINTIO_RAW:
        return make_raw(q, c);
    default:
        return cintio_fail(&q->error, -EINVAL, "operation %d: 0 to %d are "
                           "known", io->op, CINTIO_RAW);
    }
}

/* What is remembered until it is over. */
static void fill_slot(struct cintio_queue *q, const struct command *c)
{
    struct cintio_slot *slot = &q->slots[c->sqe.cid];
    bool sleeps = q->mode == CINTIO_SLEEP || q->mode == CINTIO_SLEEP_ADAPTIVE;
    uint64_t now = sleeps || c->io->timeout_ns ? cintio_now() : 0;

    slot->cookie = c->io->cookie;
    slot->urgent = (c->sqe.flags & (NVME_CINT_FLAGS_URGENT |
                                    NVME_CINT_FLAGS_BARRIER)) ==
                   NVME_CINT_FLAGS_URGENT;
    slot->pushed_ns = sleeps ? now : 0;
    if (c->io->timeout_ns) {
        slot->due_ns = c->io->timeout_ns < CINTIO_FOREVER - now ?
                       now + c->io->timeout_ns : CINTIO_FOREVER;
        q->due_ns = q->timed && q->due_ns < slot->due_ns ? q->due_ns
                                                         : slot->due_ns;
        q->timed++;
    }
}

int cintio_push(struct cintio_queue *q, const struct cintio_io *io)
{
    struct command c = {
        .io = io, .vec = io->nr_vecs ? io->vec : &c.one,
        .nr = io->nr_vecs ? io->nr_vecs : 1,
        .one = { .mem = io->mem, .buf = io->buf, .len = io->len },
    };
    int id, ret = make(q, &c);

    if (ret) {
        return ret;
    }
    id = cintio_take_slot(q);
    if (id < 0) {
        return id;
    }
    c.sqe.cid = id;
    c.sqe.flags |= hint_flags(q, io->hints);
    if (c.by_sgl) {
        ret = set_sgl(q, &c);
    } else {
        set_pages(q, &c);
    }
    if (ret) {
        cintio_give_slot(q, id);
        return ret;
    }
    fill_slot(q, &c);
    cintio_enqueue(q, &c.sqe);
    return 0;
}

/* --- and out again ------------------------------------------------------ */

int cintio_abort(struct cintio_queue *q, uint64_t cookie,
                 struct cintio_error *err)
{
    const struct cintio_slot *slot = cintio_oldest(q, NULL);
    struct nvme_sqe sqe = { .opcode = NVME_ADMIN_ABORT };
    uint32_t not_aborted = 0;
    int ret;

    while (slot && slot->cookie != cookie) {
        slot = cintio_oldest(q, slot);
    }
    if (!slot) {
        return cintio_fail(err, -ENOENT, "no command of queue %u has the "
                           "cookie %llu", q->id, (unsigned long long)cookie);
    }
    ret = cintio_ring(q);
    if (ret) {
        return cintio_fail(err, ret, "%s", q->error.text);
    }
    sqe.cdw10 = (uint32_t)(slot - q->slots) << 16 | q->id;
    ret = cintio_admin(q->dev, &sqe, NULL, 0, &not_aborted, err);
    if (ret > 0) {
        return cintio_fail(err, -EIO, "%s refused to abort a command: status "
                           "%03xh", q->info->address, ret);
    }
    return ret ? ret : !(not_aborted & 1);
}
