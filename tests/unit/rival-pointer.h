/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The interrupt pointer as somebody else might have read it: it keeps indices
 * the way a queue's registers have them, modulo the number of entries, and
 * tests them by cases (see also rival.h).
 */
#ifndef TESTS_UNIT_RIVAL_POINTER_H
#define TESTS_UNIT_RIVAL_POINTER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct PointerReading {
    bool strict;        /* the tail must lie beyond the pointer, not at it */
    bool relative;      /* counts from the write on, whatever is posted */
    bool only_at_cqe;   /* a pointer that is passed already waits for a CQE */
    bool not_spent;     /* fires for every completion past the pointer */
} PointerReading;

/* Completion k (from 1) comes at k * 1000; the guest does not reap. */
typedef struct PointerLoad {
    unsigned entries;
    unsigned head;
    unsigned ahead;     /* the pointer is written as head + ahead */
    int64_t written;
    unsigned n;         /* completions */
} PointerLoad;

/*
 * Whether a tail at index @tail is at or beyond @ptr, both counted from @head:
 * head < ptr <= tail, or tail < head < ptr, or ptr <= tail < head.
 */
bool rival_pointer_passed(unsigned head, unsigned ptr, unsigned tail);

/*
 * Returns the interrupts for @load from the write of the pointer on, as
 * "7500(7)". The caller frees it.
 */
char *rival_pointer_run(const PointerLoad *load,
                        const PointerReading *reading);

#endif /* TESTS_UNIT_RIVAL_POINTER_H */
