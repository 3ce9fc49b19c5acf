/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: namespaces.
 */
#ifndef CINTIO_NAMESPACE_H
#define CINTIO_NAMESPACE_H

#include "device.h"

/* Nobody resets meanwhile. -ENOENT: there is none. */
int cintio_identify_namespace(struct cintio *dev, uint32_t nsid,
                              struct cintio_namespace *ns,
                              struct cintio_error *err);
void cintio_forget_namespaces(struct cintio *dev);

#endif
