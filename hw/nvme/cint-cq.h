/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: one completion queue. Turns what happens to it into the engine's
 * events, and the engine's actions into notices. No function here sends
 * anything or lets go of the queue: messages leave at the end of the entry
 * (cint-notify.h), which is the caller's to frame.
 */
#ifndef HW_NVME_CINT_CQ_H
#define HW_NVME_CINT_CQ_H

#include "cint-hints.h"
#include "cint-state.h"

void nvme_cint_cq_init(NvmeCintCq *ccq, NvmeCQueue *cq);
void nvme_cint_cq_free(NvmeCintCq *ccq);

/* From here to its end no interrupt of the queue is due. */
void nvme_cint_cq_stop(NvmeCintCq *ccq);

/* Tells the engine what passed before @now: deadlines, and the CQ head. */
void nvme_cint_cq_catch_up(NvmeCintCq *ccq, int64_t now);

/* All deadlines before @now, if there may be any. */
void nvme_cint_cq_expire_all(NvmeCintCq *ccq, int64_t now);

/*
 * A deadline at or before an event expires before the event. The deadline is
 * that of the last event: nothing else moves it.
 */
static inline void nvme_cint_cq_expire(NvmeCintCq *ccq, int64_t now)
{
    if (ccq->deadline_ns <= now || ccq->engine.config.max_irq_rate) {
        nvme_cint_cq_expire_all(ccq, now);
    }
}

/* The deadline's timer has expired: an entry. */
void nvme_cint_cq_timeout(NvmeCintCq *ccq);

/* Does what an event of the engine has led to; sets the timer. */
void nvme_cint_cq_act(NvmeCintCq *ccq, CintAction action, int64_t now);

/*
 * A command was fetched from @csq, of which @said is known; if the queue is
 * ever coalesced. It leads to nothing: no action, and the deadline stays.
 * Inlined, as what every command passes through.
 */
static inline void nvme_cint_cq_submit(NvmeCintCq *ccq, NvmeCintSq *csq,
                                       NvmeCintReq *creq, NvmeCintSaid said,
                                       int64_t now)
{
    nvme_cint_cq_expire(ccq, now);
    if (cint_looks(&ccq->engine)) {
        nvme_cint_look(creq);
    }
    cint_submit(&csq->engine, &creq->cmd, now, said.hints, said.sources);
}

/*
 * csq->backlog is another now; @rang: by a doorbell of the guest, or its
 * shadow.
 */
void nvme_cint_cq_published(NvmeCintSq *csq, bool rang, int64_t now);

/* The last SQE of a batch was fetched from @csq. */
void nvme_cint_cq_batch_end(NvmeCintSq *csq, int64_t now);

/* @csq goes away with what it has in flight. */
void nvme_cint_cq_delete_sq(NvmeCintSq *csq, int64_t now);

/* NULL, or why queues of @n cannot have @config. */
const char *nvme_cint_cq_conflict(const NvmeCtrl *n, const CintConfig *config);

/* @config holds from now on. */
void nvme_cint_cq_configure(NvmeCintCq *ccq, const CintConfig *config);

/* Feature 09h: the queue's vector is not to be coalesced, or is again. */
void nvme_cint_cq_disable(NvmeCintCq *ccq, bool disabled);

/* Feature D1h as NvmeCint.status has it now. */
void nvme_cint_cq_status_changed(NvmeCintCq *ccq);

/* The machine runs again: deadlines go on. */
void nvme_cint_cq_resume(NvmeCintCq *ccq);

#endif /* HW_NVME_CINT_CQ_H */
