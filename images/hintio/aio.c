/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux AIO: one io_submit for each batch, then wait for all of it. */
#include "hintio.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * All at once: what is left over would be another batch, which is not what was
 * asked for. Why it was left over only the next attempt tells.
 */
static void submit_list(const struct work *w, aio_context_t ctx,
                        struct iocb **list, unsigned n)
{
    long done = syscall(SYS_io_submit, ctx, (long)n, list);

    if (done == n) {
        return;
    }
    if (done > 0) {
        done = syscall(SYS_io_submit, ctx, n - done, list + done);
    }
    fail(w, "io_submit", done < 0 ? errno : EAGAIN);
}

static void submit(const struct work *w, aio_context_t ctx,
                   unsigned long first, unsigned n)
{
    struct iocb *blocks = calloc(n, sizeof(*blocks));
    struct iocb **list = calloc(n, sizeof(*list));

    if (!blocks || !list) {
        fail(w, "io_submit", ENOMEM);
    }
    for (unsigned i = 0; i < n; i++) {
        struct io io = work_io(w, first, n, i);

        blocks[i] = (struct iocb) {
            .aio_lio_opcode = w->write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
            .aio_fildes = w->fd,
            .aio_buf = (uintptr_t)io.data,
            .aio_nbytes = w->size,
            .aio_offset = io.offset,
            .aio_rw_flags = io.flags,
        };
        list[i] = &blocks[i];
    }
    submit_list(w, ctx, list, n);
    free(list);
    free(blocks);
}

static void collect(const struct work *w, aio_context_t ctx, unsigned n)
{
    while (n) {
        struct io_event event;
        long got = syscall(SYS_io_getevents, ctx, 1L, 1L, &event, NULL);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got != 1) {
            fail(w, "io_getevents", errno);
        }
        check_io(w, event.res);
        n--;
    }
}

void aio_run(struct work *w)
{
    aio_context_t ctx = 0;

    if (syscall(SYS_io_setup, w->batch, &ctx)) {
        fail(w, "io_setup", errno);
    }
    for (unsigned long at = 0; at < w->count; at += w->batch) {
        unsigned long left = w->count - at;
        unsigned n = left < w->batch ? left : w->batch;

        submit(w, ctx, at, n);
        collect(w, ctx, n);
    }
    syscall(SYS_io_destroy, ctx);
}
