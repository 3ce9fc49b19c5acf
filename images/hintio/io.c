/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One I/O: what it is, and what its failure says. */
#include "hintio.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_NO_HINTS 77        /* as test harnesses say "skipped" */

const char *const work_ops[] = { "read", "write", NULL };

void fail(const struct work *w, const char *what, int error)
{
    if (error == EOPNOTSUPP && w->flags) {
        fprintf(stderr, "hintio: %s: this kernel has no completion hints "
                "(RWF_URGENT, RWF_BARRIER); use --hint=default\n", w->file);
        exit(EXIT_NO_HINTS);
    }
    fprintf(stderr, "hintio: %s: %s%s%s\n", w->file, what, error ? ": " : "",
            error ? strerror(error) : "");
    exit(EXIT_FAILURE);
}

void check_io(const struct work *w, int64_t result)
{
    char text[64];

    if (result < 0) {
        fail(w, work_ops[w->write], -result);
    }
    if ((uint64_t)result != w->size) {
        snprintf(text, sizeof(text), "%s of %zu bytes ended after %" PRId64,
                 work_ops[w->write], w->size, result);
        fail(w, text, 0);
    }
}

struct io work_io(const struct work *w, unsigned long first, unsigned n,
                  unsigned i)
{
    bool marked = w->mark == MARK_ALL ||
                  i == (w->mark == MARK_FIRST ? 0 : n - 1);

    return (struct io) {
        .offset = w->offset + (first + i) * w->stride,
        .data = w->buffer + i * w->size,
        .flags = marked ? w->flags : 0,
    };
}
