/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What became of each command in QEMU's log of trace events, for ./cint trace.
 *
 * Memory is bounded by the commands in flight and the entries of the queues,
 * not by the length of the log.
 */
#ifndef REPLAY_LIVES_H
#define REPLAY_LIVES_H

#include "input.h"

/*
 * Prints records (records.h). Lines that make no sense are no mistakes: they
 * are counted. Times are divided by @scale.
 */
void lives_print(Input *in, double scale);

#endif /* REPLAY_LIVES_H */
