/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fio engines that give the kernel completion hints: hint_psync does what psync
 * does (preadv2, pwritev2), hint_libaio and hint_io_uring what libaio and
 * io_uring do.  The option
 *
 *   hint=default|urgent|barrier|unmarked
 *
 * says which: "default" leaves it to the kernel's own rules, "unmarked"
 * overrules them.  "barrier" goes to the last I/O of each submission, the one
 * that whoever waits for the whole batch waits for; the others then have no
 * flag.  Under hint_psync every I/O is the last of its batch.
 *
 * They are engines of their own and no options of fio's, so that fio's source
 * stays as it is: any version compiles them with its headers (build-fio.sh).
 *
 * Parts: hint.c (option, hint_psync, what the other two share), hint-libaio.c,
 * hint-uring.c.
 */
#ifndef CINT_FIO_HINT_H
#define CINT_FIO_HINT_H

#include "fio.h"

/* Private flags of the cint guest's kernel; see images/hintio/hintio.h. */
#define RWF_URGENT  0x4000
#define RWF_BARRIER 0x8000

struct hint_options {
    void *pad;              /* fio keeps a pointer of its own in here */
    unsigned int hint;
};

extern struct fio_option hint_options[];

/* The RWF_* of an I/O; @last: of its batch. */
int hint_flags(struct thread_data *td, bool last);

/* The job ends with @error, an errno. */
void hint_error(struct thread_data *td, int error, const char *what);

/* An asynchronous engine's data begin with this. */
struct hint_batch {
    struct io_u **waiting;      /* queued and not submitted, oldest first */
    unsigned int queued;
    unsigned int flying;        /* submitted and not collected */
};

bool hint_batch_init(struct thread_data *td, struct hint_batch *batch);
void hint_batch_free(struct hint_batch *batch);

/* The engine's ->queue(). */
enum fio_q_status hint_queue(struct thread_data *td, struct io_u *io_u);

/* The first @n that wait are the kernel's now. */
void hint_submitted(struct thread_data *td, unsigned int n);

/*
 * After a submission that failed with @error: 0 to come again when something
 * has completed, else -errno, and the job has ended.
 */
int hint_not_submitted(struct thread_data *td, int error, const char *what);

/* What an I/O returned, negative errno or bytes. */
void hint_result(struct thread_data *td, struct io_u *io_u, long done);

#endif
