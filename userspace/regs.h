/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: the controller's registers.
 */
#ifndef CINTIO_REGS_H
#define CINTIO_REGS_H

#include "device.h"
#include "nvme.h"

static inline uint32_t cintio_read32(struct cintio *dev, uint32_t offset)
{
    if (dev->ops->read32) {
        return dev->ops->read32(dev, offset);
    }
    return __atomic_load_n((uint32_t *)(dev->bar + offset), __ATOMIC_ACQUIRE);
}

/* What was stored in memory before is there when the controller sees it. */
static inline void cintio_write32(struct cintio *dev, uint32_t offset,
                                  uint32_t value)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (dev->ops->write32) {
        dev->ops->write32(dev, offset, value);
        return;
    }
    __atomic_store_n((uint32_t *)(dev->bar + offset), value, __ATOMIC_RELAXED);
}

/* 0, or what has become of the controller. */
int cintio_alive(struct cintio *dev, struct cintio_error *err);

#endif
