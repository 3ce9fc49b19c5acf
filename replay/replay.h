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

/* Has @nr_arms of the policies of @setup, from @first on. */
Replay *replay_new(const Setup *setup, Input *in, unsigned first,
                   unsigned nr_arms);
void replay_event(Replay *replay, Event *event);

/* The input is over: deadlines run out. */
void replay_finish(Replay *replay);

/*
 * Puts the policies of @from behind those of @to, for output alone; both are
 * finished and had the same events. @from is freed.
 */
void replay_join(Replay *to, Replay *from);
void replay_free(Replay *replay);

#endif /* REPLAY_REPLAY_H */
