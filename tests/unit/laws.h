/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What each policy promises about waiting and gathering, as a user would put
 * it, and without regard to how any engine keeps the promise.
 */
#ifndef TESTS_UNIT_LAWS_H
#define TESTS_UNIT_LAWS_H

#include "model.h"

/*
 * When the CQEs of @model that wait for an interrupt must have been told of
 * under @config, at the latest, if no other event comes. The oldest of them
 * waits since @oldest.
 */
int64_t law_latest(const Model *model, const CintConfig *config,
                   int64_t oldest);

/* How many CQEs one interrupt may cover at the most. */
unsigned law_most_covered(const Model *model, const CintConfig *config);

#endif /* TESTS_UNIT_LAWS_H */
