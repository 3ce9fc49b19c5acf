/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is printed: interrupts as they come, and the summary.
 */
#ifndef REPLAY_OUTPUT_H
#define REPLAY_OUTPUT_H

#include "state.h"

void output_irq(const Lane *lane, int64_t t, const CintAction *action);
void output_summary(Replay *replay);

#endif /* REPLAY_OUTPUT_H */
