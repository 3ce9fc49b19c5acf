/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: feature D1h, where the interrupt status records lie.
 */
#ifndef HW_NVME_CINT_STATUS_H
#define HW_NVME_CINT_STATUS_H

#include "nvme.h"

uint16_t nvme_cint_get_status(NvmeCtrl *n, bool current, NvmeRequest *req);
uint16_t nvme_cint_set_status(NvmeCtrl *n, NvmeRequest *req);

#endif /* HW_NVME_CINT_STATUS_H */
