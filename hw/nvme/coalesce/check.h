/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What must hold between two events, whatever the policy.
 */
#ifndef HW_NVME_COALESCE_CHECK_H
#define HW_NVME_COALESCE_CHECK_H

#include "../cint-must.h"
#include "coalesce.h"

/* One that has gone below 0 is far above what any queue can hold. */
#define CINT_MOST_COMMANDS  (UINT32_MAX / 2)

static inline void cint_check_counts(const CintCq *cq)
{
    CINT_MUST(cq->inflight <= CINT_MOST_COMMANDS);
    CINT_MUST(cq->backlog <= CINT_MOST_COMMANDS);
    CINT_MUST(cq->scope->inflight >= cq->inflight);
    CINT_MUST(cq->scope->backlog >= cq->backlog);
    CINT_MUST(cq->tail - cq->head < cq->size);
    CINT_MUST(cq->retained <= cq->tail - cq->head);
    CINT_MUST(cq->pending <= cq->retained);
    CINT_MUST(cq->pending || !cq->retained);
    CINT_MUST(cq->pressure <= cq->size);
}

/* Whoever waits is told some time, and nothing is due for nobody. */
static inline void cint_check_waiting(const CintCq *cq)
{
    CINT_MUST(cq->pending || cint_deadline(cq) == CINT_NO_DEADLINE);
    CINT_MUST(cq->pending || !cq->held);
    CINT_MUST(!cq->held || cq->limits.any);
    CINT_MUST(!cq->held || cq->deadline == CINT_NO_DEADLINE);
    CINT_MUST(!cq->disabled || !cq->pending);
    CINT_MUST(cq->thr < cq->size);
}

/*
 * @action is the event's answer. It tells of something, but for a pointer that
 * has been passed without an entry (policies.md, vector V8d).
 */
static inline void cint_check_action(const CintCq *cq, CintAction action)
{
    bool fires = action.fire != CINT_FIRE_NONE;

    CINT_MUST(fires == (action.reason != NVME_CINT_REASON_NONE));
    CINT_MUST(fires || !action.covered);
    CINT_MUST(!fires || action.covered ||
              action.reason == NVME_CINT_REASON_POINTER);
    CINT_MUST(action.fire != CINT_FIRE_FULL || !cq->pending);
    CINT_MUST(action.fire != CINT_FIRE_URGENT || cq->has_record);
    CINT_MUST(!fires || !cq->held);
}

/* Ends each event of @cq: hands its answer on. */
static inline CintAction cint_checked(const CintCq *cq, CintAction action)
{
    cint_check_counts(cq);
    cint_check_waiting(cq);
    cint_check_action(cq, action);
    return action;
}

#endif /* HW_NVME_COALESCE_CHECK_H */
