/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One completion queue under one policy, and its guest.
 */
#ifndef REPLAY_LANE_H
#define REPLAY_LANE_H

#include "state.h"

void lane_init(Lane *lane, Replay *replay, Arm *arm, CqState *cq);
void lane_free(Lane *lane);

/* When something happens by itself. */
int64_t lane_due(const Lane *lane);

/* Lets that happen. */
void lane_step(Lane *lane);

/* Carries an answer of the engine out. */
void lane_act(Lane *lane, int64_t t, CintAction action);

/* The guest's head moves to @head, which lies between head and tail. */
void lane_head(Lane *lane, int64_t t, uint32_t head);

#endif /* REPLAY_LANE_H */
