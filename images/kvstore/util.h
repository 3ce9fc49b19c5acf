/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory, the clock and how the program ends; each ends it where it fails. */
#ifndef KVSTORE_UTIL_H
#define KVSTORE_UTIL_H

#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES 4096u

#define EXIT_USAGE 2
#define EXIT_NO_HINTS 77        /* as test harnesses say "skipped" */

void *util_zeroed(size_t count, size_t size);
void *util_again(void *old, size_t bytes);

/* Begins at a page, as O_DIRECT wants it. */
void *util_pages(size_t bytes);

/* ns of CLOCK_MONOTONIC */
uint64_t util_now(void);

/* ns of CPU time that all threads of this process have had */
uint64_t util_own(void);

/* A line on standard error, and exit status 1, from any thread. */
_Noreturn void __attribute__((format(printf, 1, 2)))
util_fail(const char *format, ...);

#endif
