/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: commands that wait for the medium, and when posting runs. See
 * cint-park.c.
 */
#ifndef HW_NVME_CINT_PARK_H
#define HW_NVME_CINT_PARK_H

#include "cint-state.h"

void nvme_cint_park_init(NvmeCintCq *ccq);
void nvme_cint_park_free(NvmeCintCq *ccq);

/* @creq was fetched: the medium is done with it at creq->due_ns. */
void nvme_cint_enter_media(NvmeCintCq *ccq, NvmeCintReq *creq);

/*
 * It waits no longer, if it did: the medium is free of it, and a slot;
 * @ccq is the queue it was to be posted to.
 */
void nvme_cint_leave_media(NvmeCintCq *ccq, NvmeCintReq *creq);

/*
 * @creq, whose data is there, waits for the medium as it did before, elsewhere.
 * Those that are done earlier have returned before.
 */
void nvme_cint_return_to_media(NvmeCintReq *creq);

/* The machine runs again: so does what is to be posted. */
void nvme_cint_park_resume(NvmeCintCq *ccq);

#endif /* HW_NVME_CINT_PARK_H */
