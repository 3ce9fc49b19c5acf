/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: where the registers lie in BAR0: right behind the last doorbell.
 */
#ifndef HW_NVME_CINT_REGS_H
#define HW_NVME_CINT_REGS_H

#include "nvme.h"

#define NVME_CINT_REGS_STRIDE   4

hwaddr nvme_cint_regs_offset(const NvmeCtrl *n);

#endif /* HW_NVME_CINT_REGS_H */
