/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: the counters as the host reads them. Log page D0h is the guest's way.
 */
#ifndef HW_NVME_CINT_LOG_H
#define HW_NVME_CINT_LOG_H

#include "hw/intc/intc.h"
#include "nvme.h"

/* QOM property "cint-stats": the log page as a struct, read only. */
void nvme_cint_get_stats(Object *obj, Visitor *v, const char *name,
                         void *opaque, Error **errp);

/* Interrupts by vector, for "info irq"; none with cint off. */
bool nvme_cint_irq_statistics(InterruptStatsProvider *obj,
                              uint64_t **irq_counts, unsigned int *nb_irqs);

/* For "info pic", which is silent about the device as it is without cint. */
void nvme_cint_print_info(InterruptStatsProvider *obj, GString *buf);

#endif /* HW_NVME_CINT_LOG_H */
