/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: what a PCI function is, and who uses it.
 */
#ifndef CINTIO_USERS_H
#define CINTIO_USERS_H

#include <stddef.h>
#include "cintio.h"

/* -ENOENT, or -EINVAL if the PCI function is no NVMe controller. */
int cintio_check_class(const char *address, struct cintio_error *err);

/* Disks that nobody else can mount, or make part of anything. */
struct cintio_claims {
    int *fds;
    size_t nr;
};

/*
 * Claim all disks of the controller that the kernel's driver has at @address;
 * -EBUSY with a text that says who uses one, as far as it can be seen.
 */
int cintio_claim(const char *address, struct cintio_claims *claims,
                 struct cintio_error *err);
void cintio_drop_claims(struct cintio_claims *claims);

#endif
