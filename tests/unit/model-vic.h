/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slow second engine's policy vic.
 */
#ifndef TESTS_UNIT_MODEL_VIC_H
#define TESTS_UNIT_MODEL_VIC_H

#include "model.h"

/*
 * What policy vic says of the newest CQE, which this marks for the next call
 * to find. Its command is no longer in flight.
 */
CintReason model_vic_complete(Model *model);

#endif /* TESTS_UNIT_MODEL_VIC_H */
