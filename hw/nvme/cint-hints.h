/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: what the sender of a command says about it, and where batches end. See
 * cint-hints.c.
 */
#ifndef HW_NVME_CINT_HINTS_H
#define HW_NVME_CINT_HINTS_H

#include "cint-state.h"

/*
 * What @cmd says in all places, and in which (bit mask over enum
 * NvmeCintSourceId).
 */
uint8_t nvme_cint_decode_hints(const NvmeCmd *cmd, uint8_t *sources);

/* The SQEs up to the tail are one batch; so they are with shadow doorbells. */
void nvme_cint_mark_batch(NvmeCintSq *csq);
static inline void nvme_cint_mark_shadow_batch(NvmeCintSq *csq)
{
    if (csq->sq->ctrl->dbbuf_enabled && csq->sq->head == csq->marked) {
        nvme_cint_mark_batch(csq);
    }
}

/* Was the SQE just fetched, the one before the head, the last of a batch? */
bool nvme_cint_ends_batch(NvmeCintSq *csq);

#endif /* HW_NVME_CINT_HINTS_H */
