/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: what callers give, and what they are told.
 */
#ifndef CINTIO_CALLER_H
#define CINTIO_CALLER_H

#include "cintio.h"

/* Of structures that begin with their size, as of version 0.1. */
#define CINTIO_OPTIONS_0_1          16
#define CINTIO_QUEUE_OPTIONS_0_1    24
#define CINTIO_STATISTICS_0_1       88

/* Leaves the text if @err is not NULL and returns @code. */
int cintio_fail(struct cintio_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * A structure of the caller's, which begins with its size, becomes one of
 * @known bytes at @to; @first: its size in the library's first version, which a
 * size of 0 is. -EINVAL or -E2BIG with the @name of the structure.
 */
int cintio_take_sized(void *to, size_t known, size_t first, const void *from,
                      const char *name, struct cintio_error *err);

#endif
