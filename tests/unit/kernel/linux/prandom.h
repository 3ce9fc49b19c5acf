/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers from a seed: not those of the kernel, and just as good. */
#ifndef SHIM_LINUX_PRANDOM_H
#define SHIM_LINUX_PRANDOM_H

#include <linux/types.h>

struct rnd_state {
    u64 at;
};

/* Added to all seeds, so that a program can have other schedules. */
static u64 prandom_more;

static inline void prandom_seed_state(struct rnd_state *state, u64 seed)
{
    state->at = seed + prandom_more;
}

static inline u32 prandom_u32_state(struct rnd_state *state)
{
    u64 mixed = state->at += 0x9e3779b97f4a7c15;

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed >> 32;
}

#endif
