/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which Barriers are satisfied (cinterrupts 3.4 and 4.2, policies.md 2).
 *
 * The commands in flight of a submission queue form a list in order of
 * submission. A Barrier puts a fence behind itself: a place in that order that
 * everything before it has to leave first. When the command in front of a
 * fence is done, the fence moves to the command before that one; with none
 * left, the Barrier is satisfied. Two fences that meet are one, because the
 * same commands keep both waiting. So each command costs the same few steps,
 * however many Barriers are open and however long one command takes.
 *
 * By generation a Barrier waits only for what was submitted since the one
 * before it: its fence is not to move past an older one.
 */
#include "fence.h"

bool cint_fence_move(CintSq *sq, CintCmd *prev)
{
    bool generation = sq->cq->barrier == CINT_BARRIER_GENERATION;

    if (!prev || (generation && prev->fence)) {
        return true;
    }
    prev->fence = true;
    return false;
}

bool cint_fence_drop_all(CintSq *sq)
{
    CintCmd *cmd;
    bool fence = false;

    for (cmd = sq->last; cmd; cmd = cmd->prev) {
        fence |= cmd->fence;
    }
    sq->last = NULL;
    return fence;
}
