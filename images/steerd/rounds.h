/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whom to move, and where: Algorithm 2 of blk-switch, with the kernel's own
 * blk-switch-policy.h. No clock, file or system call: what was measured comes
 * from the caller, who also does the moving.
 */
#ifndef STEERD_ROUNDS_H
#define STEERD_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blk-switch-policy.h"

#define STEER_CPUS 64

/* A thread that does I/O. */
struct steer_task {
    int tid;
    enum blk_switch_class class;
    unsigned int cpu;           /* where it ran last */
    uint64_t allowed;           /* a bit for each CPU that its user allows */
    uint64_t moved;             /* the round in which it was moved, or 0 */
};

struct steer_move {
    size_t task;                /* which of those given */
    unsigned int cpu;
};

/*
 * What is known from round to round; begins as zeros but for the first three.
 * apart: where Algorithm 2 has no better place, take the classes apart.
 */
struct steer {
    unsigned int cpus;          /* at most STEER_CPUS */
    uint64_t latency_limit;     /* bytes: L* of the paper */
    bool apart;
    uint64_t round;
    struct blk_switch_load loads[STEER_CPUS];
    bool seen[STEER_CPUS][BLK_SWITCH_CLASSES];
    uint8_t dwell[STEER_CPUS][BLK_SWITCH_CLASSES];
};

/* `bytes` of a class are outstanding in a CPU's queue; several times a round. */
void steer_sample(struct steer *steer, unsigned int cpu,
                  enum blk_switch_class class, uint64_t bytes);

/* The end of a round. Returns whether one of `count` tasks is to be moved. */
bool steer_round(struct steer *steer, struct steer_task *tasks, size_t count,
                 struct steer_move *move);

#endif
