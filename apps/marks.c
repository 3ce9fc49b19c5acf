/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Usage: marks FILE usual|marked
 *
 * Lookups that somebody waits for, beside a scan of the same file that nobody
 * waits for. With "marked" both say so. Ends with 77 where the kernel has no
 * marks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The C library's headers do not have them yet. */
#ifndef RWF_URGENT
#define RWF_URGENT 0x4000
#define RWF_BARRIER 0x8000
#endif
/* Both together: nobody waits, whatever the kernel would take it for. */
#define RWF_UNMARKED (RWF_URGENT | RWF_BARRIER)

#define BLOCK 4096
#define DEPTH 16
#define LOOKUPS 3000

static int fd;
static off_t blocks;
static bool marked;
static atomic_bool done;
static long scanned;

static _Noreturn void fail(const char *what, int error)
{
    fprintf(stderr, "marks: %s: %s\n", what, strerror(error));
    exit(1);
}

static void *buffer(size_t count)
{
    void *p = aligned_alloc(BLOCK, count * BLOCK);

    if (!p) {
        fail("memory", ENOMEM);
    }
    return p;
}

static void check(const char *what, int result)
{
    if (result != BLOCK) {
        fail(what, result < 0 ? -result : EIO);
    }
}

/* A thread that sleeps until its read is done; @flags are of RWF_*. */
static int read_block(void *into, off_t block, int flags)
{
    struct iovec iov = { .iov_base = into, .iov_len = BLOCK };
    ssize_t got = preadv2(fd, &iov, 1, block * BLOCK, flags);

    return got < 0 ? -errno : (int)got;
}

/* The next read of the scan, which is sent at once and not waited for. */
static void submit(struct io_uring *ring, char *into, off_t block)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

    io_uring_prep_read(sqe, fd, into, BLOCK, block * BLOCK);
    sqe->rw_flags = marked ? RWF_UNMARKED : 0;
    io_uring_sqe_set_data(sqe, into);
    io_uring_submit(ring);
}

static void *scan(void *unused)
{
    struct io_uring_cqe *cqe;
    struct io_uring ring;
    char *memory = buffer(DEPTH);
    int left, ret = io_uring_queue_init(DEPTH, &ring, 0);
    off_t next;

    (void)unused;
    if (ret) {
        fail("io_uring", -ret);
    }
    for (next = 0; next < DEPTH; next++) {
        submit(&ring, memory + next * BLOCK, next);
    }
    for (left = DEPTH; left; scanned++) {
        ret = io_uring_wait_cqe(&ring, &cqe);
        check("scan", ret ? ret : cqe->res);
        char *into = io_uring_cqe_get_data(cqe);
        io_uring_cqe_seen(&ring, cqe);
        if (done) {
            left--;
        } else {
            submit(&ring, into, next++ % blocks);
        }
    }
    io_uring_queue_exit(&ring);
    return NULL;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    void *into = buffer(1);
    pthread_t beside;
    struct stat facts;
    uint32_t at = 1;
    double begin, took;

    if (argc != 3) {
        fprintf(stderr, "Usage: marks FILE usual|marked\n");
        return 2;
    }
    marked = strcmp(argv[2], "marked") == 0;
    fd = open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts)) {
        fail(argv[1], errno);
    }
    blocks = facts.st_size / BLOCK;
    /* A kernel without them refuses flags that it does not know. */
    if (marked && read_block(into, 0, RWF_URGENT) == -EOPNOTSUPP) {
        fprintf(stderr, "marks: this kernel takes no marks\n");
        return 77;
    }
    errno = pthread_create(&beside, NULL, scan, NULL);
    if (errno) {
        fail("thread", errno);
    }
    begin = seconds();
    for (int i = 0; i < LOOKUPS; i++) {
        at = at * 48271ull % 0x7fffffff;
        check("lookup", read_block(into, at % blocks,
                                   marked ? RWF_URGENT : 0));
    }
    took = seconds() - begin;
    done = true;
    pthread_join(beside, NULL);
    printf("cint-metric c.lookup.%s %.2f us\n", argv[2], took * 1e6 / LOOKUPS);
    printf("cint-metric c.scan.%s %.0f 1/s\n", argv[2], scanned / took);
    return 0;
}
