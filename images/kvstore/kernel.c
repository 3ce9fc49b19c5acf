/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _FILE_OFFSET_BITS 64
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util.h"

/*
 * Private flags of the cint guest's kernel; they are not upstream ABI. A kernel
 * without them answers EOPNOTSUPP. Both together mean: no hint at all, whatever
 * the kernel's own rules say.
 */
#define RWF_URGENT  0x4000
#define RWF_BARRIER 0x8000

struct kernel {
    struct drive drive;
    int fd;
};

struct kernel_lane {
    struct lane lane;
    aio_context_t aio;
    struct iocb iocbs[DEPTH_MAX];
    struct iocb *pointers[DEPTH_MAX];
    struct io_event events[DEPTH_MAX];
};

/* ---- the file ----------------------------------------------------------- */

static void get(struct drive *drive, size_t bytes, struct memory *memory)
{
    (void)drive;
    *memory = (struct memory) { .data = util_pages(bytes) };
}

static void put(struct drive *drive, struct memory *memory)
{
    (void)drive;
    free(memory->data);
}

static void move(struct drive *drive, bool is_read, const struct memory *memory,
                 size_t bytes, uint64_t at)
{
    int fd = ((struct kernel *)drive)->fd;
    ssize_t done = is_read ? pread(fd, memory->data, bytes, at) :
                             pwrite(fd, memory->data, bytes, at);

    if (done == (ssize_t)bytes) {
        return;
    }
    if (is_read) {
        util_fail("%s: read at %" PRIu64 ": %s", drive->path, at,
                  done < 0 ? strerror(errno) : "the file ends there");
    }
    util_fail("%s: write: %s", drive->path,
              done < 0 ? strerror(errno) : "no space left");
}

static void settle(struct drive *drive)
{
    if (fsync(((struct kernel *)drive)->fd)) {
        util_fail("%s: fsync: %s", drive->path, strerror(errno));
    }
}

static void close_file(struct drive *drive)
{
    struct kernel *kernel = (struct kernel *)drive;

    close(kernel->fd);
    free(kernel);
}

/* ---- batches ------------------------------------------------------------ */

static struct lane *open_lane(struct drive *drive, unsigned number)
{
    struct kernel_lane *lane = util_zeroed(1, sizeof(*lane));

    (void)number;
    for (unsigned i = 0; i < DEPTH_MAX; i++) {
        lane->pointers[i] = &lane->iocbs[i];
    }
    if (syscall(SYS_io_setup, drive->options.depth, &lane->aio)) {
        util_fail("io_setup: %s", strerror(errno));
    }
    return &lane->lane;
}

static int flags_for(const struct drive_options *options, bool is_read,
                     bool is_last)
{
    int sync = options->sync && !is_read ? RWF_DSYNC : 0;

    switch (options->hints) {
    case HINTS_NONE:
        return sync | RWF_URGENT | RWF_BARRIER;
    case HINTS_URGENT:
        return sync | RWF_URGENT;
    case HINTS_BARRIER:
        return sync | (is_last ? RWF_BARRIER : RWF_URGENT | RWF_BARRIER);
    default:
        return sync;
    }
}

static void fail_submit(const struct drive *drive, int error)
{
    if (error == EOPNOTSUPP && drive->options.hints != HINTS_KERNEL) {
        fprintf(stderr, "kvstore: %s: this kernel has no completion hints "
                "(RWF_URGENT, RWF_BARRIER); use --hints=kernel\n", drive->path);
        _exit(EXIT_NO_HINTS);
    }
    util_fail("%s: io_submit: %s", drive->path, strerror(error));
}

static void submit(struct lane *of, const struct page_io *ios, unsigned n)
{
    struct kernel_lane *lane = (struct kernel_lane *)of;
    const struct drive *drive = of->drive;
    unsigned done = 0;

    for (unsigned i = 0; i < n; i++) {
        lane->iocbs[i] = (struct iocb) {
            .aio_lio_opcode = ios[i].is_read ? IOCB_CMD_PREAD :
                                               IOCB_CMD_PWRITE,
            .aio_fildes = ((const struct kernel *)drive)->fd,
            .aio_buf = (uintptr_t)ios[i].data,
            .aio_nbytes = PAGE_BYTES,
            .aio_offset = ios[i].at,
            .aio_rw_flags = flags_for(&drive->options, ios[i].is_read,
                                      i == n - 1),
        };
    }
    while (done < n) {
        long took = syscall(SYS_io_submit, lane->aio, (long)n - done,
                            lane->pointers + done);

        if (took <= 0) {
            fail_submit(drive, took < 0 ? errno : EAGAIN);
        }
        done += took;
    }
}

static void await(struct lane *of)
{
    struct kernel_lane *lane = (struct kernel_lane *)of;
    long wanted = of->under_way, got;

    do {
        got = syscall(SYS_io_getevents, lane->aio, wanted, wanted, lane->events,
                      NULL);
    } while (got < 0 && errno == EINTR);
    if (got != wanted) {
        util_fail("%s: io_getevents: %s", of->drive->path,
                  got < 0 ? strerror(errno) : "too few");
    }
    for (long i = 0; i < got; i++) {
        const struct iocb *one = (struct iocb *)(uintptr_t)lane->events[i].obj;

        if (lane->events[i].res != PAGE_BYTES) {
            util_fail("%s: %s of a page at %" PRIu64 ": %s", of->drive->path,
                      one->aio_lio_opcode == IOCB_CMD_PREAD ? "read" : "write",
                      (uint64_t)one->aio_offset,
                      lane->events[i].res < 0 ?
                          strerror(-lane->events[i].res) : "not all of it");
        }
    }
}

static void close_lane(struct lane *of)
{
    struct kernel_lane *lane = (struct kernel_lane *)of;

    syscall(SYS_io_destroy, lane->aio);
    free(lane);
}

struct drive *kernel_open(const char *path, struct drive_options options,
                          bool create)
{
    static const struct drive_engine engine = {
        .get = get, .put = put, .move = move, .settle = settle,
        .close = close_file, .open_lane = open_lane, .submit = submit,
        .await = await, .close_lane = close_lane,
    };
    struct kernel *kernel = util_zeroed(1, sizeof(*kernel));
    int flags = O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0);

    kernel->drive.engine = &engine;
    kernel->fd = open(path, flags | (options.buffered ? 0 : O_DIRECT), 0644);
    if (kernel->fd < 0) {
        util_fail("%s: %s%s", path, strerror(errno), errno == EINVAL ?
                  "; where there is no O_DIRECT: --buffered" : "");
    }
    return &kernel->drive;
}
