/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slow second engine's storm protection.
 */
#ifndef TESTS_UNIT_MODEL_STORM_H
#define TESTS_UNIT_MODEL_STORM_H

#include "model.h"

typedef struct ModelStorm {
    bool too_fast;      /* the mean interval is at or below the limit's */
    bool retuning;      /* hints are ignored */
    int64_t release;    /* when hold lets the next interrupt go */
    uint64_t delta_ns;  /* in force */
    uint64_t thr;       /* in force, before it is clamped */
} ModelStorm;

/* The state of affairs, from all messages since the limit was set. */
ModelStorm model_storm(const Model *model);

/* 1/limit, in whole ns, so that the limit is not exceeded. */
int64_t model_gap(const CintConfig *config);

#endif /* TESTS_UNIT_MODEL_STORM_H */
