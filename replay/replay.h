/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint-replay: the coalescing engine under a recorded load, without a guest.
 * Events of the input go to each completion queue under each policy. layers.txt
 * has the parts.
 *
 * Memory is bounded by the commands in flight and the sizes of the queues, not
 * by the length of the input (but for --bench).
 */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "state.h"

Replay *replay_new(const Setup *setup, Input *in);
void replay_event(Replay *replay, Event *event);

/* The input is over: deadlines run out. */
void replay_finish(Replay *replay);
void replay_free(Replay *replay);

#endif /* REPLAY_REPLAY_H */
