/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: which submission queue gets the next media slot. See cint-arb.c.
 */
#ifndef HW_NVME_CINT_ARB_H
#define HW_NVME_CINT_ARB_H

#include "cint-state.h"

void nvme_cint_arb_init(NvmeCint *cint);

/* Has @csq fetch soon; see nvme_cint_kick_sq(). */
void nvme_cint_wake_sq(NvmeCintSq *csq, int64_t delay_ns);

/*
 * May @csq fetch an SQE? If not, it waits in line and is woken when its turn
 * has come.
 */
bool nvme_cint_has_slot(NvmeCintSq *csq);

/* @creq, just fetched from @csq, occupies a slot until it is posted. */
void nvme_cint_take_slot(NvmeCintSq *csq, NvmeCintReq *creq);
void nvme_cint_put_slot(NvmeCint *cint, NvmeCintReq *creq);

/* cint.media.slots has changed. */
void nvme_cint_slots_changed(NvmeCint *cint);

/* @csq has nothing left to fetch; @csq is going away. */
void nvme_cint_return_grants(NvmeCintSq *csq);
void nvme_cint_arb_forget(NvmeCintSq *csq);

#endif /* HW_NVME_CINT_ARB_H */
