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
 * When the newest @pending CQEs (at least one) of @model must have been told
 * of under @config, at the latest, if no other event comes.
 */
int64_t law_latest(const Model *model, const CintConfig *config,
                   unsigned pending);

/* How many CQEs one interrupt may cover at the most. */
unsigned law_most_covered(const Model *model, const CintConfig *config);

#endif /* TESTS_UNIT_LAWS_H */
