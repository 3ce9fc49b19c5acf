/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slow second engine's belief of who waits.
 */
#ifndef TESTS_UNIT_MODEL_WAITS_H
#define TESTS_UNIT_MODEL_WAITS_H

#include "model.h"

bool model_learns(const Model *model);

/*
 * The newest command has been submitted: marks it, if somebody waits for it,
 * and takes the mark off the one before it in its batch.
 */
void model_learn(Model *model);

/* @cmd is about to be posted. */
void model_learn_posted(Model *model, unsigned cmd);

void model_learn_delete(Model *model, unsigned sq);

/* A command that is taken to be waited for is in flight. */
bool model_somebody_waited(const Model *model);

#endif /* TESTS_UNIT_MODEL_WAITS_H */
