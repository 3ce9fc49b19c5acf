/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *there(void *memory)
{
    if (!memory) {
        util_fail("no memory");
    }
    return memory;
}

void *util_zeroed(size_t count, size_t size)
{
    return there(calloc(count, size));
}

void *util_again(void *old, size_t bytes)
{
    return there(realloc(old, bytes));
}

void *util_pages(size_t bytes)
{
    return memset(there(aligned_alloc(PAGE_BYTES, bytes)), 0, bytes);
}

static uint64_t now_by(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

uint64_t util_now(void)
{
    return now_by(CLOCK_MONOTONIC);
}

uint64_t util_own(void)
{
    return now_by(CLOCK_PROCESS_CPUTIME_ID);
}

/* _exit: other threads may hold what exit would wait for. */
void util_fail(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "kvstore: %s\n", text);
    fflush(stdout);
    _exit(EXIT_FAILURE);
}
