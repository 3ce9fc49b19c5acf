/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Between the calls that are stood in for (calls.c) and what marks them.
 */
#ifndef CINT_PRELOAD_H
#define CINT_PRELOAD_H

#include "rules.h"

/* What an I/O is to be marked with, and by which rule, unless it is as usual */
struct choice {
    int rule;
    enum mark mark;
};

/*
 * What is done about one call on FD of BYTES.  Whether the marks are flags or
 * priorities is told by preload_how(): HOW_AUTO as long as nothing is marked.
 * Any thread, signal handlers too: nothing is allocated, no lock is taken, and
 * errno stays.
 */
struct choice preload_choose(int fd, unsigned call, uint64_t bytes);
enum how preload_how(void);

/* Whether a rule asks for the bytes of a call; else they need not be told */
bool preload_asks_for_size(void);

/* The RWF flags of a mark */
int preload_flags(enum mark mark);

/* The I/O priority of a mark, -1 for none; as ioprio_set(2) has it */
int preload_priority(enum mark mark);

/* One I/O was marked by a rule, or could not be */
void preload_count(struct choice choice, bool marked);

/* One call of io_uring, which nothing here marks */
void preload_count_uring(void);

/* FD is another file now; or the same, opened in another way */
void preload_forget(int fd);
void preload_forget_all(unsigned first, unsigned last);
void preload_look_again(int fd);

#endif
