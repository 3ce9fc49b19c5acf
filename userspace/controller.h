/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: the controller: start, reset, end.
 */
#ifndef CINTIO_CONTROLLER_H
#define CINTIO_CONTROLLER_H

#include "device.h"

/*
 * Start a controller that @dev's ops, carrier, bar, vectors and removal say
 * how to reach; all else is 0. On failure the caller frees.
 */
int cintio_start(struct cintio *dev, const char *address,
                 const struct cintio_options *options,
                 struct cintio_error *err);

#endif
