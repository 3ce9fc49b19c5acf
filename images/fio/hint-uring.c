/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hint_io_uring: one io_uring_enter for each batch. */
#include "hint.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct mapping {
    uint8_t *at;
    size_t len;
};

struct uring {
    struct hint_batch batch;
    int fd;
    struct mapping sq, cq, entries;
    struct io_uring_sqe *sqes;
    struct io_uring_cqe *cqes;
    uint32_t *sq_head, *sq_tail, *array, sq_mask;
    uint32_t *cq_head, *cq_tail, cq_mask;
    struct io_uring_cqe *events;
};

static uint32_t load(const uint32_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store(uint32_t *p, uint32_t value)
{
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}

static void fill(struct thread_data *td, struct io_uring_sqe *sqe,
                 struct io_u *io_u, bool last)
{
    *sqe = (struct io_uring_sqe) {
        .opcode = io_u->ddir == DDIR_READ ? IORING_OP_READ : IORING_OP_WRITE,
        .fd = io_u->file->fd,
        .off = io_u->offset,
        .addr = (uintptr_t)io_u->xfer_buf,
        .len = io_u->xfer_buflen,
        .rw_flags = hint_flags(td, last),
        .user_data = (uintptr_t)io_u,
    };
}

/*
 * Entries that the kernel has not taken are written again, for the batch may
 * have grown meanwhile and then has another last one.
 */
static void fill_all(struct thread_data *td, struct uring *ring)
{
    struct hint_batch *batch = &ring->batch;
    uint32_t head = load(ring->sq_head);

    for (unsigned int i = 0; i < batch->queued; i++) {
        uint32_t slot = (head + i) & ring->sq_mask;

        fill(td, &ring->sqes[slot], batch->waiting[i], i == batch->queued - 1);
        ring->array[slot] = slot;
    }
    store(ring->sq_tail, head + batch->queued);
}

static int uring_commit(struct thread_data *td)
{
    struct uring *ring = td->io_ops_data;
    struct hint_batch *batch = &ring->batch;

    fill_all(td, ring);
    while (batch->queued) {
        int done = syscall(SYS_io_uring_enter, ring->fd, batch->queued, 0, 0,
                           NULL, 0);

        if (done < 0 && errno != EINTR) {
            return hint_not_submitted(td, errno, "io_uring_enter");
        }
        if (done > 0) {
            hint_submitted(td, done);
        }
    }
    return 0;
}

static unsigned int collect(struct uring *ring, unsigned int got,
                            unsigned int max)
{
    uint32_t head = *ring->cq_head;
    uint32_t tail = load(ring->cq_tail);

    while (head != tail && got < max) {
        ring->events[got++] = ring->cqes[head++ & ring->cq_mask];
        ring->batch.flying--;
    }
    store(ring->cq_head, head);
    return got;
}

static int uring_getevents(struct thread_data *td, unsigned int wanted,
                           unsigned int max, const struct timespec *limit)
{
    struct uring *ring = td->io_ops_data;
    unsigned int got = collect(ring, 0, max);

    while (got < wanted) {
        /* a submission may have stopped half way */
        int ret = wanted - got > ring->batch.flying ? uring_commit(td) : 0;

        if (ret) {
            return ret;
        }
        ret = syscall(SYS_io_uring_enter, ring->fd, 0,
                      min(wanted - got, ring->batch.flying),
                      IORING_ENTER_GETEVENTS, NULL, 0);
        if (ret < 0 && errno != EINTR) {
            return -errno;
        }
        got = collect(ring, got, max);
    }
    return got;
}

static struct io_u *uring_event(struct thread_data *td, int index)
{
    struct uring *ring = td->io_ops_data;
    struct io_uring_cqe *event = &ring->events[index];
    struct io_u *io_u = (struct io_u *)(uintptr_t)event->user_data;

    hint_result(td, io_u, event->res);
    return io_u;
}

static bool map(struct thread_data *td, struct uring *ring, struct mapping *m,
                size_t len, off_t what)
{
    void *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_POPULATE, ring->fd, what);

    if (at == MAP_FAILED) {
        td_verror(td, errno, "mmap");
        return false;
    }
    *m = (struct mapping) { at, len };
    return true;
}

static bool open_ring(struct thread_data *td, struct uring *ring)
{
    struct io_uring_params p = { 0 };

    ring->fd = syscall(SYS_io_uring_setup, td->o.iodepth, &p);
    if (ring->fd < 0) {
        td_verror(td, errno, "io_uring_setup");
        return false;
    }
    if (!map(td, ring, &ring->sq,
             p.sq_off.array + p.sq_entries * sizeof(uint32_t),
             IORING_OFF_SQ_RING) ||
        !map(td, ring, &ring->cq,
             p.cq_off.cqes + p.cq_entries * sizeof(*ring->cqes),
             IORING_OFF_CQ_RING) ||
        !map(td, ring, &ring->entries, p.sq_entries * sizeof(*ring->sqes),
             IORING_OFF_SQES)) {
        return false;
    }
    ring->sqes = (struct io_uring_sqe *)ring->entries.at;
    ring->array = (uint32_t *)(ring->sq.at + p.sq_off.array);
    ring->sq_head = (uint32_t *)(ring->sq.at + p.sq_off.head);
    ring->sq_tail = (uint32_t *)(ring->sq.at + p.sq_off.tail);
    ring->sq_mask = *(uint32_t *)(ring->sq.at + p.sq_off.ring_mask);
    ring->cqes = (struct io_uring_cqe *)(ring->cq.at + p.cq_off.cqes);
    ring->cq_head = (uint32_t *)(ring->cq.at + p.cq_off.head);
    ring->cq_tail = (uint32_t *)(ring->cq.at + p.cq_off.tail);
    ring->cq_mask = *(uint32_t *)(ring->cq.at + p.cq_off.ring_mask);
    return true;
}

static void unmap(struct mapping *m)
{
    if (m->at) {
        munmap(m->at, m->len);
    }
}

static void uring_cleanup(struct thread_data *td)
{
    struct uring *ring = td->io_ops_data;

    if (ring) {
        unmap(&ring->entries);
        unmap(&ring->cq);
        unmap(&ring->sq);
        if (ring->fd >= 0) {
            close(ring->fd);
        }
        hint_batch_free(&ring->batch);
        free(ring->events);
        free(ring);
    }
}

static int uring_init(struct thread_data *td)
{
    struct uring *ring = calloc(1, sizeof(*ring));

    td->io_ops_data = ring;
    if (!ring) {
        return 1;
    }
    ring->fd = -1;
    ring->events = calloc(td->o.iodepth, sizeof(*ring->events));
    return ring->events && hint_batch_init(td, &ring->batch) ? 0 : 1;
}

/* In the thread or process that does the I/O, which the ring belongs to. */
static int uring_post_init(struct thread_data *td)
{
    return open_ring(td, td->io_ops_data) ? 0 : 1;
}

static struct ioengine_ops engine = {
    .name = "hint_io_uring",
    .version = FIO_IOOPS_VERSION,
    .flags = FIO_ASYNCIO_SYNC_TRIM | FIO_ASYNCIO_SETS_ISSUE_TIME,
    .init = uring_init,
    .post_init = uring_post_init,
    .queue = hint_queue,
    .commit = uring_commit,
    .getevents = uring_getevents,
    .event = uring_event,
    .cleanup = uring_cleanup,
    .open_file = generic_open_file,
    .close_file = generic_close_file,
    .get_file_size = generic_get_file_size,
    .options = hint_options,
    .option_struct_size = sizeof(struct hint_options),
};

static void fio_init uring_register(void)
{
    register_ioengine(&engine);
}

static void fio_exit uring_unregister(void)
{
    unregister_ioengine(&engine);
}
