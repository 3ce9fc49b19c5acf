/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: what the properties come to.
 */
#ifndef HW_NVME_CINT_PROPS_H
#define HW_NVME_CINT_PROPS_H

#include "nvme.h"

/* cint.time, resolved: nothing that the guest can time runs in real time. */
bool nvme_cint_wants_virtual_time(const NvmeCtrl *n);

#endif /* HW_NVME_CINT_PROPS_H */
