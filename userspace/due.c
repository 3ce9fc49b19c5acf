/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: commands that have a time of their own, and take longer.
 */
#include <errno.h>

#include "caller.h"
#include "clock.h"
#include "due.h"

uint64_t cintio_due(const struct cintio_queue *q)
{
    return q->timed ? q->due_ns : CINTIO_FOREVER;
}

bool cintio_is_overdue(struct cintio_queue *q)
{
    const struct cintio_slot *slot = NULL;
    uint64_t now, due = CINTIO_FOREVER;

    if (!q->timed) {
        return false;
    }
    now = cintio_now();
    if (now < q->due_ns) {
        return false;
    }
    while ((slot = cintio_oldest(q, slot))) {
        due = slot->due_ns && slot->due_ns < due ? slot->due_ns : due;
    }
    q->due_ns = due;
    return now >= due;
}

int cintio_tell_overdue(struct cintio_queue *q)
{
    const struct cintio_slot *slot = cintio_oldest(q, NULL);

    while (slot->due_ns != q->due_ns) {
        slot = cintio_oldest(q, slot);
    }
    q->slots[slot - q->slots].due_ns = 0;
    q->timed--;
    q->late++;
    q->overdue = slot->cookie;
    return cintio_fail(&q->error, -ETIME, "the command of queue %u with the "
                       "cookie %llu takes longer than its timeout_ns: wait on, "
                       "abort it, or reset %s", q->id,
                       (unsigned long long)q->overdue, q->info->address);
}

uint64_t cintio_queue_overdue(const struct cintio_queue *q)
{
    return q->overdue;
}
