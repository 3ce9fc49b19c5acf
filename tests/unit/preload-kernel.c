/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stands in for the kernel behind libcint-preload.so: says in the file
 * FAKE_LOG what comes, and does it without marks.  FAKE_FLAGS=no is a kernel
 * without the flags, FAKE_FLAGS=files one whose files do not take them, and
 * FAKE_REALTIME=no one that refuses the class.
 */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/aio_abi.h>
#include "../../preload/calls.h"

enum { MARKS = 0xc000, REALTIME = 1, CLASS_SHIFT = 13 };


static int priority;

static void tell(const char *what, unsigned long value, unsigned long bytes)
{
    const char *name = getenv("FAKE_LOG");
    FILE *file = name ? fopen(name, "a") : NULL;

    if (file) {
        fprintf(file, "%s %lx %lu\n", what, value, bytes);
        fclose(file);
    }
}

static int is_set(const char *name, const char *word)
{
    const char *value = getenv(name);

    return value && !strcmp(value, word);
}

/* The read that asks for the flags is of one byte */
static int refuses(int flags, size_t bytes)
{
    if ((flags & MARKS) && (is_set("FAKE_FLAGS", "no") ||
                            (is_set("FAKE_FLAGS", "files") && bytes > 1))) {
        errno = EOPNOTSUPP;
        return 1;
    }
    return 0;
}

/* By the C library: other names of it are the library's that is tested */
static long really(long number, long fd, const struct iovec *part, long count,
                   long at)
{
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");

    return next(number, fd, part, count, at, 0L, 0L);
}

ssize_t preadv2(int fd, const struct iovec *part, int count, off_t at,
                int flags)
{
    if (part->iov_len > 1) {
        tell("preadv2", flags, part->iov_len);
    }
    if (refuses(flags, part->iov_len)) {
        return -1;
    }
    return at < 0 ? really(SYS_readv, fd, part, count, 0) :
        really(SYS_preadv, fd, part, count, at);
}

ssize_t pwritev2(int fd, const struct iovec *part, int count, off_t at,
                 int flags)
{
    tell("pwritev2", flags, part->iov_len);
    if (refuses(flags, part->iov_len)) {
        return -1;
    }
    return at < 0 ? really(SYS_writev, fd, part, count, 0) :
        really(SYS_pwritev, fd, part, count, at);
}

static long set_priority(int value)
{
    if (value >> CLASS_SHIFT == REALTIME && is_set("FAKE_REALTIME", "no")) {
        errno = EPERM;
        return -1;
    }
    if (value >> CLASS_SHIFT != priority >> CLASS_SHIFT) {
        tell("class", value >> CLASS_SHIFT, 0);
    }
    priority = value;
    return 0;
}

/* Those that were taken are another thread's by then: it frees them */
static long submit(long count, struct iocb **blocks)
{
    for (long i = 0; i < count; i++) {
        struct iocb *block = blocks[i];

        tell("io_submit", block->aio_rw_flags | priority >> CLASS_SHIFT,
             block->aio_nbytes);
        if (refuses(block->aio_rw_flags, block->aio_nbytes)) {
            return i ? i : -1;
        }
        if (block->aio_data) {
            munmap(block, 4096);
        }
    }
    return count;
}

long syscall(long number, ...)
{
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    va_list args;
    long a[6];

    va_start(args, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(args, long);
    }
    va_end(args);
    if (number == SYS_ioprio_get) {
        return priority;
    }
    if (number == SYS_ioprio_set) {
        return set_priority(a[2]);
    }
    if (number == SYS_io_submit) {
        return submit(a[1], (struct iocb **)a[2]);
    }
    if (number == SYS_io_uring_enter) {
        return 0;
    }
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* As libaio does it: by the C library. It may be in nobody's reach. */
#ifndef NO_LIBAIO
int io_submit(void *context, long count, struct iocb **blocks)
{
    long (*by_number)(long, ...) = (long (*)(long, ...))dlsym(RTLD_DEFAULT,
                                                              "syscall");
    long done = by_number(SYS_io_submit, context, count, blocks);

    return done < 0 ? -errno : done;
}
#endif
