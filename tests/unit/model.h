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

typedef struct ModelCqe {
    int64_t posted;
    bool opens_run;     /* nothing was pending when it was posted */
    bool covered;       /* a full interrupt was sent after its post */
    bool consumed;      /* the guest's head is past it */
} ModelCqe;

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
    unsigned nr_cqes, nr_cmds;
    ModelCqe cqe[MODEL_CQES];
    ModelCmd cmd[MODEL_CMDS];
    bool step_told[MODEL_STEPS];    /* pressure steps already reported */
} Model;

void model_init(Model *model, uint32_t size, const CintConfig *config);

/* Events. A command is named by its index in model->cmd. */
unsigned model_submit(Model *model, unsigned sq);
CintAction model_complete(Model *model, unsigned cmd, int64_t t, bool error);
CintAction model_pass_end(Model *model);
CintAction model_cancel(Model *model, unsigned cmd);
CintAction model_delete_sq(Model *model, unsigned sq);
CintAction model_timer(Model *model, int64_t t);
CintAction model_configure(Model *model, const CintConfig *config);

/* The guest consumed @n CQEs; more than there are means all. */
void model_consume(Model *model, unsigned n);

/* Questions, answered by looking through the history. */
unsigned model_inflight(const Model *model);
unsigned model_inflight_of(const Model *model, unsigned sq);
unsigned model_outstanding(const Model *model);
unsigned model_pending(const Model *model);
int64_t model_deadline(const Model *model);

#endif /* TESTS_UNIT_MODEL_H */
