/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: what goes along when the machine goes elsewhere. See cint-migrate.c.
 */
#ifndef HW_NVME_CINT_MIGRATE_H
#define HW_NVME_CINT_MIGRATE_H

#include "nvme.h"

void nvme_cint_migrate_init(NvmeCtrl *n);
void nvme_cint_migrate_exit(NvmeCtrl *n);

#endif /* HW_NVME_CINT_MIGRATE_H */
