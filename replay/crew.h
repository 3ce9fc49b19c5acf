/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A replay by several threads: one reads the input, the others have some of
 * the policies each. What is printed does not depend on how many there are.
 */
#ifndef REPLAY_CREW_H
#define REPLAY_CREW_H

#include "replay.h"

/*
 * Replays all of @in under all policies, by as many threads as @setup says;
 * @found tells whether there was an event. The caller's thread reads. A mistake
 * ends the program: of several that of the first line, and there of the first
 * policy. Where interrupts of several policies are printed, which are in the
 * order of events, one thread has them all.
 */
Replay *crew_replay(const Setup *setup, Input *in, bool *found);

#endif /* REPLAY_CREW_H */
