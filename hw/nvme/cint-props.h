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

/*
 * Properties by number, from 0: those that have to be the same where a machine
 * goes on elsewhere, as one number each.
 */
uint32_t nvme_cint_nr_props(void);
uint64_t nvme_cint_prop(NvmeCtrl *n, uint32_t i);

/* False, with an error that names it, if property @i is not @value. */
bool nvme_cint_prop_is(NvmeCtrl *n, uint32_t i, uint64_t value, Error **errp);

#endif /* HW_NVME_CINT_PROPS_H */
