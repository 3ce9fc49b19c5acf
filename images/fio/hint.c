/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option, hint_psync, and what the asynchronous engines share. */
#include "hint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "optgroup.h"

enum hint {
    HINT_DEFAULT,
    HINT_URGENT,
    HINT_BARRIER,
    HINT_UNMARKED,
};

struct fio_option hint_options[] = {
    {
        .name = "hint",
        .lname = "Completion hint",
        .type = FIO_OPT_STR,
        .off1 = offsetof(struct hint_options, hint),
        .help = "Which I/Os somebody waits for",
        .def = "default",
        .posval = {
            { .ival = "default", .oval = HINT_DEFAULT,
              .help = "The kernel's own rules decide" },
            { .ival = "urgent", .oval = HINT_URGENT,
              .help = "Interrupt for each I/O" },
            { .ival = "barrier", .oval = HINT_BARRIER,
              .help = "Interrupt for the last I/O of each batch" },
            { .ival = "unmarked", .oval = HINT_UNMARKED,
              .help = "Interrupt for none of them" },
        },
        .category = FIO_OPT_C_ENGINE,
        .group = FIO_OPT_G_INVALID,
    },
    { .name = NULL },
};

int hint_flags(struct thread_data *td, bool last)
{
    struct hint_options *o = td->eo;

    switch (o->hint) {
    case HINT_URGENT:
        return RWF_URGENT;
    case HINT_BARRIER:
        return last ? RWF_BARRIER : 0;
    case HINT_UNMARKED:
        return RWF_URGENT | RWF_BARRIER;
    default:
        return 0;
    }
}

void hint_error(struct thread_data *td, int error, const char *what)
{
    if (error == EOPNOTSUPP && hint_flags(td, true) && !td->error) {
        log_err("fio: %s: this kernel has no completion hints (RWF_URGENT, "
                "RWF_BARRIER); valid: hint=default\n", td->o.name);
    }
    td_verror(td, error, what);
}

/* --- hint_psync ---------------------------------------------------------- */

static ssize_t psync_io(struct thread_data *td, struct io_u *io_u)
{
    struct iovec iov = {
        .iov_base = io_u->xfer_buf,
        .iov_len = io_u->xfer_buflen,
    };
    int flags = hint_flags(td, true);
    int fd = io_u->file->fd;

    if (io_u->ddir == DDIR_READ) {
        return preadv2(fd, &iov, 1, io_u->offset, flags);
    }
    if (io_u->ddir == DDIR_WRITE) {
        return pwritev2(fd, &iov, 1, io_u->offset, flags);
    }
    return do_io_u_sync(td, io_u);
}

static enum fio_q_status psync_queue(struct thread_data *td, struct io_u *io_u)
{
    ssize_t done;

    fio_ro_check(td, io_u);
    if (io_u->ddir == DDIR_TRIM) {
        do_io_u_trim(td, io_u);
        return FIO_Q_COMPLETED;
    }
    done = psync_io(td, io_u);
    if (done < 0 || ddir_rw(io_u->ddir)) {
        hint_result(td, io_u, done < 0 ? -errno : done);
    }
    return FIO_Q_COMPLETED;
}

static struct ioengine_ops psync_engine = {
    .name = "hint_psync",
    .version = FIO_IOOPS_VERSION,
    .flags = FIO_SYNCIO,
    .queue = psync_queue,
    .open_file = generic_open_file,
    .close_file = generic_close_file,
    .get_file_size = generic_get_file_size,
    .options = hint_options,
    .option_struct_size = sizeof(struct hint_options),
};

static void fio_init psync_register(void)
{
    register_ioengine(&psync_engine);
}

static void fio_exit psync_unregister(void)
{
    unregister_ioengine(&psync_engine);
}

/* --- asynchronous engines ------------------------------------------------ */

bool hint_batch_init(struct thread_data *td, struct hint_batch *batch)
{
    batch->waiting = calloc(td->o.iodepth, sizeof(*batch->waiting));
    if (!batch->waiting) {
        td_verror(td, ENOMEM, "batch");
    }
    return batch->waiting;
}

void hint_batch_free(struct hint_batch *batch)
{
    free(batch->waiting);
}

/* Neither is asynchronous here: first let fio finish what is queued. */
static enum fio_q_status queue_other(struct thread_data *td, struct io_u *io_u)
{
    struct hint_batch *batch = td->io_ops_data;

    if (batch->queued) {
        return FIO_Q_BUSY;
    }
    if (io_u->ddir == DDIR_TRIM) {
        do_io_u_trim(td, io_u);
        io_u_mark_submit(td, 1);
        io_u_mark_complete(td, 1);
    } else {
        do_io_u_sync(td, io_u);
    }
    return FIO_Q_COMPLETED;
}

enum fio_q_status hint_queue(struct thread_data *td, struct io_u *io_u)
{
    struct hint_batch *batch = td->io_ops_data;

    fio_ro_check(td, io_u);
    if (io_u->ddir != DDIR_READ && io_u->ddir != DDIR_WRITE) {
        return queue_other(td, io_u);
    }
    if (batch->queued == td->o.iodepth) {
        return FIO_Q_BUSY;
    }
    batch->waiting[batch->queued++] = io_u;
    return FIO_Q_QUEUED;
}

void hint_submitted(struct thread_data *td, unsigned int n)
{
    struct hint_batch *batch = td->io_ops_data;
    struct timespec now;

    if (fio_fill_issue_time(td)) {
        fio_gettime(&now, NULL);
        for (unsigned int i = 0; i < n; i++) {
            batch->waiting[i]->issue_time = now;
            io_u_queued(td, batch->waiting[i]);
        }
    }
    io_u_mark_submit(td, n);
    batch->queued -= n;
    batch->flying += n;
    memmove(batch->waiting, batch->waiting + n,
            batch->queued * sizeof(*batch->waiting));
}

int hint_not_submitted(struct thread_data *td, int error, const char *what)
{
    struct hint_batch *batch = td->io_ops_data;

    if (batch->flying &&
        (error == EAGAIN || error == EBUSY || error == ENOMEM)) {
        return 0;
    }
    hint_error(td, error, what);
    return -error;
}

void hint_result(struct thread_data *td, struct io_u *io_u, long done)
{
    io_u->error = done < 0 ? -done : 0;
    io_u->resid = done < 0 ? 0 : io_u->xfer_buflen - done;
    if (io_u->error) {
        hint_error(td, io_u->error, "xfer");
    }
}
