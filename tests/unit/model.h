/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A slow second engine, for comparison with the real one.
 *
 * It keeps a record of every CQE and every command ever seen and derives each
 * answer by looking through all of them; it keeps no counters. What the real
 * engine knows from arithmetic, this one knows from history.
 */
#ifndef TESTS_UNIT_MODEL_H
#define TESTS_UNIT_MODEL_H

#include "coalesce.h"

#define MODEL_CQES      1024
#define MODEL_CMDS      2048
#define MODEL_STEPS     64
#define MODEL_SIGNS     4096

/* A delivery ratio of policy vic. */
typedef struct ModelRatio {
    uint32_t up, skip;
    bool low_iops;      /* is 1 because of a low rate */
} ModelRatio;

typedef struct ModelCqe {
    int64_t posted;
    bool opens_run;     /* nothing was pending when it was posted */
    bool covered;       /* a full interrupt was sent after its post */
    bool consumed;      /* the guest's head is past it */
    bool due;           /* an interrupt was withheld when it was the last */
    bool vic;           /* posted under policy vic, and then: */
    uint64_t scope;
    bool ends_epoch;
    ModelRatio ratio;   /* determined at the end of the epoch */
    bool ends_cycle;    /* skipUp was reached, or the ratio bypassed */
} ModelCqe;

/* What passed between device and guest, for the kick window. */
typedef struct ModelSign {
    bool ring;          /* a doorbell, else a message */
    int64_t t;
} ModelSign;

typedef enum ModelCmdState {
    MODEL_FLYING,
    MODEL_POSTED,
    MODEL_CANCELLED,
} ModelCmdState;

typedef struct ModelCmd {
    unsigned sq;
    ModelCmdState state;
} ModelCmd;

typedef struct Model {
    CintConfig config;
    uint32_t size;
    unsigned nr_cqes, nr_cmds, nr_signs;
    unsigned policy_since;          /* first CQE under this policy */
    unsigned elsewhere;             /* in flight on other CQs of the scope */
    ModelCqe cqe[MODEL_CQES];
    ModelCmd cmd[MODEL_CMDS];
    ModelSign sign[MODEL_SIGNS];
    bool step_told[MODEL_STEPS];    /* pressure steps already reported */
} Model;

void model_init(Model *model, uint32_t size, const CintConfig *config);

/* Events. A command is named by its index in model->cmd. */
unsigned model_submit(Model *model, unsigned sq);
CintAction model_complete(Model *model, unsigned cmd, int64_t t, bool error);
CintAction model_doorbell(Model *model, int64_t t);
CintAction model_pass_end(Model *model, int64_t t);
CintAction model_cancel(Model *model, unsigned cmd, int64_t t);
CintAction model_delete_sq(Model *model, unsigned sq, int64_t t);
CintAction model_timer(Model *model, int64_t t);
CintAction model_configure(Model *model, int64_t t, const CintConfig *config);

/* The guest consumed @n CQEs; more than there are means all. */
CintAction model_consume(Model *model, int64_t t, unsigned n);

/* Questions, answered by looking through the history. */
unsigned model_inflight(const Model *model);
unsigned model_inflight_of(const Model *model, unsigned sq);
unsigned model_outstanding(const Model *model);
unsigned model_pending(const Model *model);
int64_t model_deadline(const Model *model);

#endif /* TESTS_UNIT_MODEL_H */
