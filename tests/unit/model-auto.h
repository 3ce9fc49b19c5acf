/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slow second engine's idea of what the policy makes of what is set.
 */
#ifndef TESTS_UNIT_MODEL_AUTO_H
#define TESTS_UNIT_MODEL_AUTO_H

#include "model.h"

/* Do hints count? */
bool model_hears(const CintConfig *config);

bool model_tunes(const CintConfig *config);
CintInfer model_infers(const CintConfig *config);
CintBarrier model_barrier(const CintConfig *config);

/* The delta that the gaps between all CQEs so far ask for. */
uint64_t model_paced_delta(const Model *model);

/* And the thr, if the guest had @most commands at its most. */
uint64_t model_paced_thr(const Model *model, unsigned most);

#endif /* TESTS_UNIT_MODEL_AUTO_H */
