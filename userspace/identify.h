/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: what the controller says of itself.
 */
#ifndef CINTIO_IDENTIFY_H
#define CINTIO_IDENTIFY_H

#include "device.h"

/* By registers: whether it can be driven, how far apart its doorbells are. */
int cintio_check_capabilities(struct cintio *dev, struct cintio_error *err);

/* By commands: all else that dev->info has. Nobody resets meanwhile. */
int cintio_identify(struct cintio *dev, struct cintio_error *err);

#endif
