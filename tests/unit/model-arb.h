/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A slow second arbiter, for comparison with the real one.
 *
 * It keeps every grant ever made and the order in which queues came into line,
 * and derives each answer from those: no credits and no ring.
 */
#ifndef TESTS_UNIT_MODEL_ARB_H
#define TESTS_UNIT_MODEL_ARB_H

#include <glib.h>

#include "arb.h"

#define MODEL_ARB_SQS   16

typedef struct ModelArbSq {
    CintArbClass class;
    unsigned backlog, granted;
} ModelArbSq;

/* Where a queue's turn began, and how long it was to be. */
typedef struct ModelArbTurn {
    int sq;             /* -1: nobody's */
    unsigned left;
} ModelArbTurn;

typedef struct ModelArb {
    unsigned slots, used;
    bool weighted;
    uint32_t feature;           /* 01h */
    ModelArbSq sq[MODEL_ARB_SQS];
    GQueue line[CINT_ARB_NR_CLASSES];   /* queue numbers, the next first */
    ModelArbTurn turn[CINT_ARB_NR_CLASSES];
    GArray *round;              /* classes of the grants of this round */
    uint32_t round_feature;     /* 01h when it began */
    bool in_round;
} ModelArb;

void model_arb_init(ModelArb *model, unsigned slots, bool weighted);
void model_arb_free(ModelArb *model);
void model_arb_set_backlog(ModelArb *model, unsigned sq, unsigned backlog);
void model_arb_fetched(ModelArb *model, unsigned sq);

/* Number of the queue that gets the next slot, or -1. */
int model_arb_next(ModelArb *model);

/* Does any queue of @class wait; of any class? */
bool model_arb_waits(const ModelArb *model, int class);
bool model_arb_anyone_waits(const ModelArb *model);

unsigned model_arb_granted(const ModelArb *model);
unsigned model_arb_weight(uint32_t feature, int class);
unsigned model_arb_burst(uint32_t feature);

#endif /* TESTS_UNIT_MODEL_ARB_H */
