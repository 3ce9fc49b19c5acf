/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: fetching from one submission queue. See cint-sq.c.
 */
#ifndef HW_NVME_CINT_SQ_H
#define HW_NVME_CINT_SQ_H

#include "cint-state.h"

void nvme_cint_sq_init(NvmeCintSq *csq, NvmeSQueue *sq);

/* Cancels what the queue has in flight. */
void nvme_cint_sq_free(NvmeCintSq *csq);

#endif /* HW_NVME_CINT_SQ_H */
