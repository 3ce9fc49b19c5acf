/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads and writes with the kernel's completion hints, for tests and for
 * trying them out in the guest.
 *
 * Parts: hintio.c (options, main), plain.c (system calls of one I/O, and
 * syncing), aio.c (io_submit), ring.c (io_uring), command.c (NVMe commands in
 * a ring), io.c (what those share).
 */
#ifndef CINT_HINTIO_H
#define CINT_HINTIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Private flags of the cint guest's kernel; they are not upstream ABI. A kernel
 * without them answers EOPNOTSUPP. Both together mean: no hint at all, whatever
 * the kernel's own rules say.
 */
#define RWF_URGENT  0x4000
#define RWF_BARRIER 0x8000

#define BATCH_MAX 4096

enum api {
    API_READ, API_PREAD, API_PREADV2, API_AIO, API_AIO32, API_URING,
    API_COMMAND, API_MMAP
};
enum mark { MARK_ALL, MARK_FIRST, MARK_LAST };
enum tail { TAIL_NONE, TAIL_NOP, TAIL_TIMEOUT };
enum syncing {
    SYNC_NONE, SYNC_FSYNC, SYNC_FDATASYNC, SYNC_RANGE, SYNC_SYNC, SYNC_SYNCFS,
    SYNC_MSYNC
};

struct work {
    const char *file;
    enum api api;
    enum mark mark;
    enum tail tail;
    enum syncing sync;
    bool write, buffered, create, huge, nonblock, hipri;
    bool link, async;       /* of io_uring's SQEs */
    bool later;             /* submit and wait in two calls of io_uring */
    bool sqpoll, iopoll, sqe128, no_sqarray;    /* of the ring */
    int flags;              /* RWF_*, of the I/Os that @mark names */
    size_t size;            /* bytes of one I/O */
    uint64_t offset;        /* of the first */
    uint64_t stride;        /* from one to the next */
    unsigned long count;
    unsigned long repeat;   /* how often all of it is done */
    unsigned batch;         /* I/Os of one submission; 1 where there is none */
    int fd;
    uint32_t nsid;          /* both of API_COMMAND's namespace */
    unsigned block_shift;
    uint8_t *buffer;        /* batch * size bytes */
};

/* One I/O of a batch, as every way of submitting it needs it. */
struct io {
    uint64_t offset;
    void *data;
    int flags;
};

/* By @write; ends with NULL. */
extern const char *const work_ops[];

/* I/O @i of the @n that start with number @first. */
struct io work_io(const struct work *w, unsigned long first, unsigned n,
                  unsigned i);

/* Each runs all I/Os of @w, and does not return if one fails. */
void plain_run(struct work *w);
void aio_run(struct work *w);
void ring_run(struct work *w);

struct io_uring_sqe;

/* What the namespace is that @w->fd stands for; fails if it is none. */
void command_open(struct work *w);

/* The entry of one I/O; it has 128 bytes, of which all but these are 0. */
void command_fill(const struct work *w, struct io_uring_sqe *sqe, struct io io);

/* What its completion says, as check_io() takes it. */
int64_t command_result(const struct work *w, int32_t result);

/* What --sync asks for, after all I/Os. */
void plain_sync(struct work *w);

/* One line, exit status 1; @error is an errno or 0. */
_Noreturn void fail(const struct work *w, const char *what, int error);

/* What an I/O returned, negative errno or bytes; fails unless it is all. */
void check_io(const struct work *w, int64_t result);

#endif
