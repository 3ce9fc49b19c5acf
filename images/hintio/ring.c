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
#define TAIL_NS 1000
/* user_data of what ends a batch and is no I/O */
#define IS_TAIL 1
/* what NVMe commands need: room for one in an entry, and for its result */
#define OF_COMMANDS (IORING_SETUP_SQE128 | IORING_SETUP_CQE32)

/* since Linux 6.6; older headers lack it */
#ifndef IORING_SETUP_NO_SQARRAY
#define IORING_SETUP_NO_SQARRAY (1u << 16)
#endif

struct ring {
    int fd;
    uint8_t *sqes;
    size_t sqe_size;
    uint32_t *array;        /* NULL: SQEs are taken in the ring's order */
    uint32_t sq_mask, cq_mask;
    _Atomic uint32_t *sq_tail, *sq_flags, *cq_head, *cq_tail;
    struct io_uring_cqe *cqes;
    bool wide;              /* CQEs of 32 bytes, SQEs of 128 */
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

static uint32_t setup_flags(const struct work *w)
{
    return (w->sqpoll ? IORING_SETUP_SQPOLL : 0) |
           (w->iopoll ? IORING_SETUP_IOPOLL : 0) |
           (w->sqe128 ? IORING_SETUP_SQE128 : 0) |
           (w->api == API_COMMAND ? OF_COMMANDS : 0) |
           (w->no_sqarray ? IORING_SETUP_NO_SQARRAY : 0);
}

static void open_ring(const struct work *w, struct ring *r)
{
    struct io_uring_params p = {
        .flags = setup_flags(w),
        .sq_thread_idle = SQPOLL_IDLE_MS,
    };
    uint8_t *sq, *cq;

    r->fd = syscall(SYS_io_uring_setup, w->batch + (w->tail != TAIL_NONE), &p);
    if (r->fd < 0) {
        fail(w, "io_uring_setup", errno);
    }
    /* both rings are in one piece of memory, the array last if there is one */
    r->wide = w->api == API_COMMAND;
    sq = map(w, r->fd, p.cq_off.cqes +
             (p.cq_entries * sizeof(*r->cqes) << r->wide) +
             (w->no_sqarray ? 0 : p.sq_entries * sizeof(uint32_t)),
             IORING_OFF_SQ_RING);
    cq = sq;
    r->sqe_size = sizeof(struct io_uring_sqe) << (w->sqe128 || r->wide);
    r->sqes = map(w, r->fd, p.sq_entries * r->sqe_size, IORING_OFF_SQES);
    r->array = w->no_sqarray ? NULL : (uint32_t *)(sq + p.sq_off.array);
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
    uint8_t flags = (link ? IOSQE_IO_LINK : 0) | (w->async ? IOSQE_ASYNC : 0);

    if (w->api == API_COMMAND) {
        memset(sqe, 0, 2 * sizeof(*sqe));
        command_fill(w, sqe, io);
        sqe->flags = flags;
        return;
    }
    *sqe = (struct io_uring_sqe) {
        .opcode = w->write ? IORING_OP_WRITE : IORING_OP_READ,
        .flags = flags,
        .fd = w->fd,
        .off = io.offset,
        .addr = (uintptr_t)io.data,
        .len = w->size,
        .rw_flags = io.flags,
    };
}

static void fill_tail(const struct work *w, struct io_uring_sqe *sqe)
{
    static const struct __kernel_timespec soon = { .tv_nsec = TAIL_NS };

    *sqe = (struct io_uring_sqe) { .opcode = IORING_OP_NOP, .fd = -1,
                                   .user_data = IS_TAIL };
    if (w->tail == TAIL_TIMEOUT) {
        sqe->opcode = IORING_OP_TIMEOUT;
        sqe->addr = (uintptr_t)&soon;
        sqe->len = 1;
    }
}

/* The SQE that the kernel takes as number @at. */
static struct io_uring_sqe *sqe_at(struct ring *r, uint32_t at)
{
    uint32_t slot = at & r->sq_mask;

    if (r->array) {
        r->array[slot] = slot;
    }
    return (struct io_uring_sqe *)(r->sqes + slot * r->sqe_size);
}

/*
 * Make the @n I/Os from @first on and what follows them visible to the kernel;
 * returns how many entries these are. With SQPOLL, nothing may be seen of a
 * batch before all of it is there.
 */
static unsigned submit(const struct work *w, struct ring *r,
                       unsigned long first, unsigned n)
{
    uint32_t tail = atomic_load_explicit(r->sq_tail, memory_order_relaxed);
    uint32_t end = tail;

    for (unsigned i = 0; i < n; i++) {
        fill(w, sqe_at(r, end++), work_io(w, first, n, i),
             w->link && i < n - 1);
    }
    if (w->tail != TAIL_NONE) {
        fill_tail(w, sqe_at(r, end++));
    }
    atomic_store_explicit(r->sq_tail, end, memory_order_release);
    return end - tail;
}

/*
 * Hand over @n entries (or wake the thread that takes them); wait for one in
 * the same call, or with --later only when nothing is handed over.
 */
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
    if (w->later && n) {
        flags &= ~IORING_ENTER_GETEVENTS;
    }
    do {
        done = syscall(SYS_io_uring_enter, r->fd, n,
                       flags & IORING_ENTER_GETEVENTS ? 1 : 0, flags, NULL, 0);
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
        const struct io_uring_cqe *cqe =
            &r->cqes[(head & r->cq_mask) << r->wide];

        if (cqe->user_data != IS_TAIL) {
            check_io(w, r->wide ? command_result(w, cqe->res) : cqe->res);
        }
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

        n = submit(w, &r, at, n);
        enter(w, &r, n);
        for (unsigned got = collect(w, &r); got < n; got += collect(w, &r)) {
            enter(w, &r, 0);
        }
    }
    close(r.fd);
}
