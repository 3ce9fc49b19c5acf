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

/* Whether a guest can set @status, which is in CPU order. */
bool nvme_cint_status_is_valid(NvmeCtrl *n, const NvmeCintStatus *status);

#endif /* HW_NVME_CINT_STATUS_H */
