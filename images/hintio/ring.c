/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_uring by its system calls: one submission for each batch. */
#include "hintio.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SQPOLL_IDLE_MS 1000

struct ring {
    int fd;
    struct io_uring_sqe *sqes;
    uint32_t *array;
    uint32_t sq_mask, cq_mask;
    _Atomic uint32_t *sq_tail, *sq_flags, *cq_head, *cq_tail;
    struct io_uring_cqe *cqes;
};

static void *map(const struct work *w, int fd, size_t len, off_t what)
{
    void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                   fd, what);

    if (p == MAP_FAILED) {
        fail(w, "io_uring: mmap", errno);
    }
    return p;
}

static void open_ring(const struct work *w, struct ring *r)
{
    struct io_uring_params p = {
        .flags = w->sqpoll ? IORING_SETUP_SQPOLL : 0,
        .sq_thread_idle = SQPOLL_IDLE_MS,
    };
    uint8_t *sq, *cq;

    r->fd = syscall(SYS_io_uring_setup, w->batch, &p);
    if (r->fd < 0) {
        fail(w, "io_uring_setup", errno);
    }
    sq = map(w, r->fd, p.sq_off.array + p.sq_entries * sizeof(uint32_t),
             IORING_OFF_SQ_RING);
    cq = map(w, r->fd, p.cq_off.cqes + p.cq_entries * sizeof(*r->cqes),
             IORING_OFF_CQ_RING);
    r->sqes = map(w, r->fd, p.sq_entries * sizeof(*r->sqes), IORING_OFF_SQES);
    r->array = (uint32_t *)(sq + p.sq_off.array);
    r->sq_mask = *(uint32_t *)(sq + p.sq_off.ring_mask);
    r->sq_tail = (_Atomic uint32_t *)(sq + p.sq_off.tail);
    r->sq_flags = (_Atomic uint32_t *)(sq + p.sq_off.flags);
    r->cq_mask = *(uint32_t *)(cq + p.cq_off.ring_mask);
    r->cq_head = (_Atomic uint32_t *)(cq + p.cq_off.head);
    r->cq_tail = (_Atomic uint32_t *)(cq + p.cq_off.tail);
    r->cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
}

static void fill(const struct work *w, struct io_uring_sqe *sqe, struct io io,
                 bool link)
{
    *sqe = (struct io_uring_sqe) {
        .opcode = w->write ? IORING_OP_WRITE : IORING_OP_READ,
        .flags = link ? IOSQE_IO_LINK : 0,
        .fd = w->fd,
        .off = io.offset,
        .addr = (uintptr_t)io.data,
        .len = w->size,
        .rw_flags = io.flags,
    };
}

/* With SQPOLL, nothing may be seen of a batch before all of it is there. */
static void submit(const struct work *w, struct ring *r, unsigned long first,
                   unsigned n)
{
    uint32_t tail = atomic_load_explicit(r->sq_tail, memory_order_relaxed);

    for (unsigned i = 0; i < n; i++) {
        uint32_t slot = (tail + i) & r->sq_mask;

        fill(w, &r->sqes[slot], work_io(w, first, n, i), w->link && i < n - 1);
        r->array[slot] = slot;
    }
    atomic_store_explicit(r->sq_tail, tail + n, memory_order_release);
}

/* Hand over @n entries (or wake the thread that takes them); wait for one. */
static void enter(const struct work *w, struct ring *r, unsigned n)
{
    unsigned flags = IORING_ENTER_GETEVENTS;
    long done;

    if (w->sqpoll) {
        /* the thread's flag must be read after the tail was written */
        atomic_thread_fence(memory_order_seq_cst);
        if (atomic_load(r->sq_flags) & IORING_SQ_NEED_WAKEUP) {
            flags |= IORING_ENTER_SQ_WAKEUP;
        }
    }
    do {
        done = syscall(SYS_io_uring_enter, r->fd, n, 1, flags, NULL, 0);
    } while (done < 0 && errno == EINTR);
    if (done < 0 || (!w->sqpoll && done != n)) {
        fail(w, "io_uring_enter", done < 0 ? errno : EAGAIN);
    }
}

/* Completions that are there; all of them are checked. */
static unsigned collect(const struct work *w, struct ring *r)
{
    uint32_t head = atomic_load_explicit(r->cq_head, memory_order_relaxed);
    uint32_t tail = atomic_load_explicit(r->cq_tail, memory_order_acquire);
    unsigned n = tail - head;

    for (; head != tail; head++) {
        check_io(w, r->cqes[head & r->cq_mask].res);
    }
    atomic_store_explicit(r->cq_head, head, memory_order_release);
    return n;
}

void ring_run(struct work *w)
{
    struct ring r;

    open_ring(w, &r);
    for (unsigned long at = 0; at < w->count; at += w->batch) {
        unsigned long left = w->count - at;
        unsigned n = left < w->batch ? left : w->batch;

        submit(w, &r, at, n);
        enter(w, &r, n);
        for (unsigned got = collect(w, &r); got < n; got += collect(w, &r)) {
            enter(w, &r, 0);
        }
    }
    close(r.fd);
}
