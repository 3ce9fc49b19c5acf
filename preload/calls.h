/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What no header that is included here declares of the calls that are stood in
 * for: libaio's, and the C library's of programs that check their buffers.
 * Programs find all of these calls.
 */
#ifndef CINT_PRELOAD_CALLS_H
#define CINT_PRELOAD_CALLS_H

#include <stddef.h>
#include <sys/types.h>

struct iocb;

#pragma GCC visibility push(default)

int io_submit(void *context, long count, struct iocb **blocks);
ssize_t __read_chk(int fd, void *data, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *data, size_t size, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *data, size_t size, off_t at, size_t room);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

#endif
