/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: what was learned of a controller, for all to see.
 */
#ifndef CINTIO_INFO_H
#define CINTIO_INFO_H

#include "device.h"

/*
 * From now on cintio_info() returns what dev->info has, if it is anything new.
 * -ENOMEM.
 */
int cintio_publish(struct cintio *dev, struct cintio_error *err);

/* At the end: nobody looks at any of it any more. */
void cintio_forget_info(struct cintio *dev);

#endif
