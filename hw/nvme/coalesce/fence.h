/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The commands in flight of a submission queue, in order of submission, and
 * the fences of Barriers between them. See fence.c. What every command passes
 * through is inlined.
 */
#ifndef HW_NVME_COALESCE_FENCE_H
#define HW_NVME_COALESCE_FENCE_H

#include "../cint-must.h"
#include "coalesce.h"

/*
 * The command behind @prev (NULL if it was the first in flight) is done and
 * had a fence, which moves to @prev. Returns true if it waits for nothing any
 * more: a strict Barrier is satisfied.
 */
bool cint_fence_move(CintSq *sq, CintCmd *prev);

/* Nothing is left in flight. Returns true if there was a fence. */
bool cint_fence_drop_all(CintSq *sq);

/* @cmd, with its hints, is the last in flight. */
static inline void cint_fence_submit(CintSq *sq, CintCmd *cmd)
{
    cmd->fence = cmd->hints == NVME_CINT_HINT_BARRIER;
    cmd->next = NULL;
    cmd->prev = sq->last;
    if (cmd->prev) {
        cmd->prev->next = cmd;
    }
    sq->last = cmd;
}

/* @cmd is done, or cancelled. Returns as cint_fence_move() does. */
static inline bool cint_fence_done(CintSq *sq, CintCmd *cmd)
{
    CintCmd *prev = cmd->prev, *next = cmd->next;

    CINT_MUST(!prev || prev->next == cmd);
    CINT_MUST(next ? next->prev == cmd : sq->last == cmd);
    if (prev) {
        prev->next = next;
    }
    if (next) {
        next->prev = prev;
    } else {
        sq->last = prev;
    }
    return cmd->fence && cint_fence_move(sq, prev);
}

#endif /* HW_NVME_COALESCE_FENCE_H */
