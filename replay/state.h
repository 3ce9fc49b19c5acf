/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a replay knows: each completion queue under each policy.
 */
#ifndef REPLAY_STATE_H
#define REPLAY_STATE_H

#include "event.h"
#include "input.h"
#include "optimal.h"
#include "options.h"
#include "stats.h"

typedef struct Arm Arm;
typedef struct CqState CqState;
typedef struct Lane Lane;
typedef struct Replay Replay;

/* A CQE, the same under all policies. */
typedef struct Posted {
    int64_t t;
    uint8_t hints, sources;
} Posted;

/* One completion queue under one policy. */
struct Lane {
    CintCq engine;
    Replay *replay;
    Arm *arm;
    CqState *cq;
    int64_t reap_ns;            /* when the guest will look, or NEVER */
    uint32_t full_tail;         /* CQEs posted at the last full interrupt */
    uint32_t uncovered;         /* no CQE before it waits for an interrupt */
    uint32_t announced;         /* Urgent ones before it are covered too */
    uint32_t scanned;           /* Urgent ones before it are reaped */
    uint8_t *state;             /* LANE_* of each slot of the ring */
    Stats stats;
};

/* One completion queue. */
struct CqState {
    uint16_t cqid;
    uint32_t mask;              /* ring of posted CQEs, by free-running index */
    Posted *posted;
    uint32_t tail;
    uint32_t tail_slot;         /* the same, as QEMU's trace has it */
    int64_t last_post_ns;       /* NEVER: none yet */
    Hist gaps;                  /* between completions */
    uint64_t recorded[CINT_FIRE_URGENT + 1];
    Lane *lane;                 /* one for each arm */
    Optimal *optimal;           /* NULL unless asked for */
};

/* One policy. */
struct Arm {
    const char *name;
    CintConfig config;
    CintScope scope;
};

/* A command in flight; @engine has an entry for each arm. */
typedef struct Command Command;
struct Command {
    Command *next_free;
    uint32_t key;
    uint8_t hints, sources;
    int64_t due;
    CintCmd engine[];
};

#define PAGE_COMMANDS   256

/* One submission queue; @engine has an entry for each arm. */
typedef struct SqState {
    CqState *cq;
    CintSq *engine;
    Command **page[65536 / PAGE_COMMANDS];  /* in flight, by identifier */
} SqState;

/*
 * A replay may have some of the policies only, and others the rest of them
 * (crew.h). All know the queues; the first one keeps what is no policy's.
 */
struct Replay {
    const Setup *setup;
    bool is_first;
    Input *in;
    int64_t guest;
    int64_t first_ns, now;      /* first_ns: NEVER before the first event */
    uint64_t events, completions, cancelled;
    uint64_t strangers;         /* completed, but never submitted */
    uint64_t ignored_heads;
    CqState *in_pass;           /* CQEs of last_post_ns may still come */
    unsigned nr_arms, nr_cqs;
    Arm *arm;
    CqState **cq;               /* in order of appearance */
    SqState *sq[65536];
    unsigned nr_flying;
    Command *free;
    GPtrArray *chunks;          /* of commands */
};

#endif /* REPLAY_STATE_H */
