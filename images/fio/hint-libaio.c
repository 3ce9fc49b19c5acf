/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hint_libaio: one io_submit for each batch. */
#include "hint.h"

#include <errno.h>
#include <libaio.h>
#include <stdlib.h>

struct laio {
    struct hint_batch batch;
    io_context_t context;
    struct iocb **iocbs;
    struct io_event *events;
};

static void prepare(struct thread_data *td, struct io_u *io_u, bool last)
{
    struct iocb *iocb = &io_u->iocb;
    int fd = io_u->file->fd;

    if (io_u->ddir == DDIR_READ) {
        io_prep_pread(iocb, fd, io_u->xfer_buf, io_u->xfer_buflen,
                      io_u->offset);
    } else {
        io_prep_pwrite(iocb, fd, io_u->xfer_buf, io_u->xfer_buflen,
                       io_u->offset);
    }
    iocb->aio_rw_flags = hint_flags(td, last);
}

static int laio_commit(struct thread_data *td)
{
    struct laio *aio = td->io_ops_data;
    struct hint_batch *batch = &aio->batch;

    for (unsigned int i = 0; i < batch->queued; i++) {
        prepare(td, batch->waiting[i], i == batch->queued - 1);
        aio->iocbs[i] = &batch->waiting[i]->iocb;
    }
    for (unsigned int at = 0; batch->queued; ) {
        int done = io_submit(aio->context, batch->queued, aio->iocbs + at);

        if (done < 0 && done != -EINTR) {
            return hint_not_submitted(td, -done, "io_submit");
        }
        if (done > 0) {
            hint_submitted(td, done);
            at += done;
        }
    }
    return 0;
}

static int laio_getevents(struct thread_data *td, unsigned int wanted,
                          unsigned int max, const struct timespec *limit)
{
    struct laio *aio = td->io_ops_data;
    unsigned int got = 0;

    do {
        /* a submission may have stopped half way */
        int n = wanted - got > aio->batch.flying ? laio_commit(td) : 0;

        if (!n) {
            n = io_getevents(aio->context,
                             min(wanted - got, aio->batch.flying), max - got,
                             aio->events + got, (struct timespec *)limit);
        }
        if (n < 0 && n != -EINTR) {
            return n;
        }
        if (!n) {
            break;
        }
        if (n > 0) {
            got += n;
            aio->batch.flying -= n;
        }
    } while (got < wanted);
    return got;
}

static struct io_u *laio_event(struct thread_data *td, int index)
{
    struct laio *aio = td->io_ops_data;
    struct io_event *event = &aio->events[index];
    struct io_u *io_u = container_of(event->obj, struct io_u, iocb);

    hint_result(td, io_u, event->res);
    return io_u;
}

static void laio_cleanup(struct thread_data *td)
{
    struct laio *aio = td->io_ops_data;

    if (aio) {
        io_destroy(aio->context);
        hint_batch_free(&aio->batch);
        free(aio->iocbs);
        free(aio->events);
        free(aio);
    }
}

static int laio_init(struct thread_data *td)
{
    struct laio *aio = calloc(1, sizeof(*aio));

    td->io_ops_data = aio;
    if (!aio || !hint_batch_init(td, &aio->batch)) {
        return 1;
    }
    aio->iocbs = calloc(td->o.iodepth, sizeof(*aio->iocbs));
    aio->events = calloc(td->o.iodepth, sizeof(*aio->events));
    return aio->iocbs && aio->events ? 0 : 1;
}

/* In the thread or process that does the I/O: a context is not inherited. */
static int laio_post_init(struct thread_data *td)
{
    struct laio *aio = td->io_ops_data;
    int ret = io_queue_init(td->o.iodepth, &aio->context);

    if (ret) {
        td_verror(td, -ret, "io_queue_init");
    }
    return ret ? 1 : 0;
}

static struct ioengine_ops engine = {
    .name = "hint_libaio",
    .version = FIO_IOOPS_VERSION,
    .flags = FIO_ASYNCIO_SYNC_TRIM | FIO_ASYNCIO_SETS_ISSUE_TIME,
    .init = laio_init,
    .post_init = laio_post_init,
    .queue = hint_queue,
    .commit = laio_commit,
    .getevents = laio_getevents,
    .event = laio_event,
    .cleanup = laio_cleanup,
    .open_file = generic_open_file,
    .close_file = generic_close_file,
    .get_file_size = generic_get_file_size,
    .options = hint_options,
    .option_struct_size = sizeof(struct hint_options),
};

static void fio_init laio_register(void)
{
    register_ioengine(&engine);
}

static void fio_exit laio_unregister(void)
{
    unregister_ioengine(&engine);
}
