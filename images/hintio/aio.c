/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux AIO: one io_submit for each batch, then wait for all of it. */
#include "hintio.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Numbers of the 32-bit system calls, which this program is not built for. */
enum { I386_IO_SETUP = 245, I386_IO_SUBMIT = 248 };

/* A list of iocbs below 4 GiB: 32-bit system calls have 32-bit pointers. */
struct list {
    struct iocb *blocks;
    struct iocb **pointers;
    uint32_t *pointers32;
    size_t bytes;
};

/*
 * A system call as 32-bit programs do it, which any program may. A kernel that
 * does not know these programs ends this one by a signal.
 */
static long call32(uint32_t number, uint32_t a, uint32_t b, uint32_t c)
{
    long ret = number;

    asm volatile("int $0x80" : "+a"(ret) : "b"(a), "c"(b), "d"(c)
                 : "r8", "r9", "r10", "r11", "memory");
    ret = (int32_t)ret;
    if (ret < 0) {
        errno = -ret;
        return -1;
    }
    return ret;
}

static uint32_t low(const void *p)
{
    return (uintptr_t)p;
}

static void *map_low(const struct work *w, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

    if (p == MAP_FAILED) {
        fail(w, "memory below 4 GiB", errno);
    }
    return p;
}

static struct list make_list(const struct work *w, unsigned n)
{
    struct list l = { .bytes = n * (sizeof(*l.blocks) + sizeof(*l.pointers) +
                                    sizeof(*l.pointers32)) };

    l.blocks = map_low(w, l.bytes);
    l.pointers = (struct iocb **)(l.blocks + n);
    l.pointers32 = (uint32_t *)(l.pointers + n);
    for (unsigned i = 0; i < n; i++) {
        l.pointers[i] = &l.blocks[i];
        l.pointers32[i] = low(&l.blocks[i]);
    }
    return l;
}

static long submit_from(const struct work *w, aio_context_t ctx,
                        const struct list *l, unsigned at, unsigned n)
{
    if (w->api == API_AIO32) {
        return call32(I386_IO_SUBMIT, ctx, n, low(l->pointers32 + at));
    }
    return syscall(SYS_io_submit, ctx, (long)n, l->pointers + at);
}

/*
 * All at once: what is left over would be another batch, which is not what was
 * asked for. Why it was left over only the next attempt tells.
 */
static void submit_list(const struct work *w, aio_context_t ctx,
                        const struct list *l, unsigned n)
{
    long done = submit_from(w, ctx, l, 0, n);

    if (done == n) {
        return;
    }
    if (done > 0) {
        done = submit_from(w, ctx, l, done, n - done);
    }
    fail(w, "io_submit", done < 0 ? errno : EAGAIN);
}

static void submit(const struct work *w, aio_context_t ctx,
                   unsigned long first, unsigned n)
{
    struct list l = make_list(w, n);

    for (unsigned i = 0; i < n; i++) {
        struct io io = work_io(w, first, n, i);

        l.blocks[i] = (struct iocb) {
            .aio_lio_opcode = w->write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
            .aio_fildes = w->fd,
            .aio_buf = (uintptr_t)io.data,
            .aio_nbytes = w->size,
            .aio_offset = io.offset,
            .aio_rw_flags = io.flags,
        };
    }
    submit_list(w, ctx, &l, n);
    munmap(l.blocks, l.bytes);
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

/* A context that 32-bit system calls know is one that others know, too. */
static aio_context_t setup(const struct work *w)
{
    aio_context_t ctx = 0;
    uint32_t *ctx32;
    long ret;

    if (w->api == API_AIO32) {
        ctx32 = map_low(w, sizeof(*ctx32));
        ret = call32(I386_IO_SETUP, w->batch, low(ctx32), 0);
        ctx = *ctx32;
    } else {
        ret = syscall(SYS_io_setup, w->batch, &ctx);
    }
    if (ret) {
        fail(w, "io_setup", errno);
    }
    return ctx;
}

void aio_run(struct work *w)
{
    aio_context_t ctx = setup(w);

    for (unsigned long at = 0; at < w->count; at += w->batch) {
        unsigned long left = w->count - at;
        unsigned n = left < w->batch ? left : w->batch;

        submit(w, ctx, at, n);
        collect(w, ctx, n);
    }
    syscall(SYS_io_destroy, ctx);
}
