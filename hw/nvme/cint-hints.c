/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: what the sender of a command says about it (cinterrupts 4.1), and what
 * a guest that says nothing lets one infer.
 *
 * A batch is what one tail doorbell write publishes. Its end is marked at its
 * last SQE's slot, so that writes which come before a fetch stay apart. With
 * shadow doorbells the tail moves without a word: a batch is then what is
 * there when the one before has been fetched.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"

#include "cint-hints.h"
#include "cint-hooks.h"

static uint8_t hint_id(bool urgent, bool barrier)
{
    return (urgent ? NVME_CINT_HINT_URGENT : 0) |
           (barrier ? NVME_CINT_HINT_BARRIER : 0);
}

static uint8_t hints_of_cdw0(const NvmeCmd *cmd)
{
    return hint_id(cmd->flags & NVME_CINT_FLAGS_URGENT,
                   cmd->flags & NVME_CINT_FLAGS_BARRIER);
}

/* Of Read and Write: CDW13 holds what a command extension type says. */
static bool is_extended(const NvmeCmd *cmd)
{
    return le32_to_cpu(cmd->cdw12) & NVME_CINT_DW12_CETYPE;
}

static bool is_durable(const NvmeCmd *cmd)
{
    bool writes = cmd->opcode == NVME_CMD_WRITE ||
                  cmd->opcode == NVME_CMD_WRITE_ZEROES ||
                  cmd->opcode == NVME_CMD_ZONE_APPEND;

    return cmd->opcode == NVME_CMD_FLUSH ||
           (writes && le32_to_cpu(cmd->cdw12) & (NVME_RW_FUA << 16));
}

/*
 * Linux reads ahead with limited retries and as a speculative read; it says so,
 * too, of the read that fills the page somebody waits for.
 */
static bool is_ahead(const NvmeCmd *cmd)
{
    return cmd->opcode == NVME_CMD_READ && !is_extended(cmd) &&
           le32_to_cpu(cmd->cdw12) & ((uint32_t)NVME_RW_LR << 16) &&
           (le32_to_cpu(cmd->cdw13) & 0xf) == NVME_RW_DSM_FREQ_PREFETCH;
}

CintContent nvme_cint_content(const NvmeCmd *cmd)
{
    if (is_durable(cmd)) {
        return CINT_CONTENT_NOW;
    }
    return is_ahead(cmd) ? CINT_CONTENT_AHEAD : CINT_CONTENT_PLAIN;
}

/* cint_waits_page() of the command's buffer, 0 if it moves no data. */
static uint32_t page_of(const NvmeCmd *cmd)
{
    /* The last two bits of an opcode are the direction of the transfer. */
    return cmd->opcode & 3 ? cint_waits_page(le64_to_cpu(cmd->dptr.prp1)) : 0;
}

void nvme_cint_look(NvmeCintReq *creq)
{
    creq->cmd.page = page_of(&creq->req->cmd);
    creq->cmd.content = nvme_cint_content(&creq->req->cmd);
}

/* CDW13 where it may hold a hint, else 0. */
static uint32_t own_dw13(const NvmeCmd *cmd)
{
    bool moves = cmd->opcode == NVME_CMD_READ || cmd->opcode == NVME_CMD_WRITE;

    return moves && !is_extended(cmd) ? le32_to_cpu(cmd->cdw13) : 0;
}

/* For a command that says nothing in bits of our own. */
static NvmeCintSaid said_by_latency(uint32_t dw13)
{
    if ((dw13 & NVME_CINT_DW13_LATENCY) != NVME_CINT_DW13_LATENCY) {
        return (NvmeCintSaid) { .hints = NVME_CINT_HINT_NONE };
    }
    return (NvmeCintSaid) {
        .hints = NVME_CINT_HINT_URGENT,
        .sources = 1 << NVME_CINT_SOURCE_LATENCY,
    };
}

NvmeCintSaid nvme_cint_decode_bits(const NvmeCmd *cmd)
{
    uint32_t dw13 = own_dw13(cmd);
    uint8_t in_cdw0 = hints_of_cdw0(cmd);
    /* The second place exists for senders that may not set CDW0's bits. */
    uint8_t in_cdw13 = hint_id(dw13 & NVME_CINT_DW13_URGENT,
                               dw13 & NVME_CINT_DW13_BARRIER);

    if (!in_cdw0 && !in_cdw13) {
        return said_by_latency(dw13);
    }
    return (NvmeCintSaid) {
        .hints = in_cdw0 | in_cdw13,
        .sources = (in_cdw0 ? 1 << NVME_CINT_SOURCE_CDW0 : 0) |
                   (in_cdw13 ? 1 << NVME_CINT_SOURCE_CDW13 : 0),
    };
}

/* Of a queue of a thread, which may be at work on it. */
void nvme_cint_do_rang(NvmeSQueue *sq, uint32_t tail)
{
    set_bit_atomic(nvme_cint_slot_before(sq, tail), sq->cint->batch_ends);
}

void nvme_cint_mark_batch(NvmeCintSq *csq)
{
    const NvmeSQueue *sq = csq->sq;

    /* A shadow tail is whatever the guest has written. */
    if (sq->head != sq->tail && sq->tail < sq->size) {
        /* with shadow doorbells in a thread, beside nvme_cint_do_rang() */
        set_bit_atomic(nvme_cint_slot_before(sq, sq->tail), csq->batch_ends);
        csq->marked = sq->tail;
    }
}
