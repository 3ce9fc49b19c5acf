/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For tests in which QEMU may end or hang: it is said in which step, and a
 * test ends in bounded time. A hang is that nothing moves, however slow the
 * machine is: a thread that waits for a CPU is not asleep.
 */
#ifndef QTEST_NVME_CINT_WATCH_H
#define QTEST_NVME_CINT_WATCH_H

#include "libqtest.h"

/**
 * cint_watch_init: g_test_init(), and freed memory is overwritten in QEMU
 *
 * So the use of freed memory mostly shows without a sanitizer.
 */
void cint_watch_init(int *argc, char ***argv);

/**
 * cint_watch: from now to cint_unwatch() @qts is watched; one at a time
 *
 * If QEMU and the test both sleep for CINT_ASLEEP_S, or QEMU takes
 * CINT_BUSY_S of processor time for one answer, it hangs: gdb, if there is one,
 * says where, it is killed, and the test fails. Threads: any; the test program
 * must use one only.
 */
void cint_watch(QTestState *qts);
void cint_unwatch(void);

/** cint_step: what the test does from here on, for messages of failures */
void cint_step(const char *fmt, ...) G_GNUC_PRINTF(1, 2);

#define CINT_ASLEEP_S   10
#define CINT_BUSY_S     60

#endif /* QTEST_NVME_CINT_WATCH_H */
