/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What hints mean to the slow second engine.
 */
#ifndef TESTS_UNIT_MODEL_CINT_H
#define TESTS_UNIT_MODEL_CINT_H

#include "model.h"

/* The commands of @sq since its last doorbell are a batch. */
void model_infer(Model *model, unsigned sq);

/* How many Barriers of @sq wait, be it for themselves. */
unsigned model_barriers_waiting(const Model *model, unsigned sq);

/*
 * @cmd, if it completed now, would get an interrupt of the urgent class; it
 * would if nothing retuned.
 */
bool model_is_urgent_class(const Model *model, unsigned cmd);
bool model_may_be_urgent_class(const Model *model, unsigned cmd);

/*
 * What policy cint says of @cmd, which completed; @satisfied: a Barrier that
 * waited does so no longer. NVME_CINT_REASON_NONE leaves it to the adaptive
 * part.
 */
CintReason model_cint_complete(const Model *model, unsigned cmd,
                               bool satisfied);

#endif /* TESTS_UNIT_MODEL_CINT_H */
