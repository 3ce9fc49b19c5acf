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
 * What a command says in all places (enum NvmeCintHintId), and in which (bit
 * mask over enum NvmeCintSourceId).
 */
typedef struct NvmeCintSaid {
    uint8_t hints, sources;
} NvmeCintSaid;

/* What an I/O command is for, as far as that says who waits. */
CintContent nvme_cint_content(const NvmeCmd *cmd);

/* Has the engine know of @creq's buffer, and what it is for. */
void nvme_cint_look(NvmeCintReq *creq);

/* For a command that may have one of the bits set: it looks where they are. */
NvmeCintSaid nvme_cint_decode_bits(const NvmeCmd *cmd);

static inline NvmeCintSaid nvme_cint_decode_hints(const NvmeCmd *cmd)
{
    uint8_t flags = NVME_CINT_FLAGS_URGENT | NVME_CINT_FLAGS_BARRIER;
    uint32_t dw13 = NVME_CINT_DW13_URGENT | NVME_CINT_DW13_BARRIER |
                    NVME_CINT_DW13_LATENCY;

    /* Most commands say nothing. */
    if (!(cmd->flags & flags) && !(le32_to_cpu(cmd->cdw13) & dw13)) {
        return (NvmeCintSaid) { .hints = NVME_CINT_HINT_NONE };
    }
    return nvme_cint_decode_bits(cmd);
}

static inline uint32_t nvme_cint_slot_before(const NvmeSQueue *sq,
                                             uint32_t index)
{
    return index ? index - 1 : sq->size - 1;
}

/* The SQEs up to the tail are one batch; so they are with shadow doorbells. */
void nvme_cint_mark_batch(NvmeCintSq *csq);
static inline void nvme_cint_mark_shadow_batch(NvmeCintSq *csq)
{
    if (csq->sq->ctrl->dbbuf_enabled && csq->sq->head == csq->marked) {
        nvme_cint_mark_batch(csq);
    }
}

/* Was the SQE in @slot, which was fetched, the last of a batch? */
static inline bool nvme_cint_ends_batch(NvmeCintSq *csq, uint32_t slot)
{
    /* a doorbell may be at work on the others, see nvme_cint_do_rang() */
    if (!(qatomic_read(&csq->batch_ends[BIT_WORD(slot)]) & BIT_MASK(slot))) {
        return false;
    }
    clear_bit_atomic(slot, csq->batch_ends);
    return true;
}

#endif /* HW_NVME_CINT_HINTS_H */
