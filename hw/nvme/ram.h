/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where guest RAM is: property "queue-cache".
 *
 * Queues, shadow doorbells, status records and data lie in RAM nearly always.
 * A controller with queue-cache keeps the RAM of its address space mapped, all
 * of it, and finds an address there in a few instructions. Nothing is kept by
 * queue, so what a guest does to queues cannot leave anything behind. When the
 * memory map changes, which bus mastering and an IOMMU's switch do as well, the
 * mappings are dropped, and made again when the next address is looked for.
 *
 * What is not found is accessed as it is without queue-cache: registers, the
 * controller's own memory, ROM, what lies across the end of RAM. So is
 * everything that an IOMMU translates: there is no RAM in such an address
 * space, only a region whose translations change without notice.
 *
 * All of it runs under the BQL, as do changes of the memory map. Each thread
 * that serves queues has mappings of its own, under its lock (thread.h).
 */
#ifndef HW_NVME_RAM_H
#define HW_NVME_RAM_H

#include "nvme.h"

/* A piece of the address space behind which there is one piece of RAM. */
typedef struct NvmeRamRange {
    hwaddr              base;
    hwaddr              size;
    MemoryRegionCache   cache;
} NvmeRamRange;

typedef struct NvmeRam {
    MemoryListener  listener;
    QemuRecMutex    *lock;      /* of the thread whose it is, or NULL */
    bool            is_known;   /* the ranges are those of the memory map */
    uint32_t        count;
    uint32_t        allocated;
    NvmeRamRange    *ranges;    /* by address */
    NvmeRamRange    *last;      /* the one that was found last, or none */
    NvmeRamRange    none;
} NvmeRam;

/* For what has no business in a device's registers. */
static const MemTxAttrs nvme_memory_only = { .memory = 1 };

/* The controller is complete; it has mappings only if it is to have them. */
void nvme_ram_realize(NvmeCtrl *n);
void nvme_ram_exit(NvmeCtrl *n);

/* For a thread, whose lock is @lock. */
NvmeRam *nvme_ram_new(NvmeCtrl *n, QemuRecMutex *lock);
void nvme_ram_free(NvmeRam *ram);

/* That of the thread that runs here; NULL in the main loop. */
extern __thread NvmeRam *nvme_ram_of_thread;

static inline NvmeRam *nvme_ram_here(NvmeCtrl *n)
{
    return unlikely(n->threads) && nvme_ram_of_thread ? nvme_ram_of_thread
                                                     : n->ram;
}

NvmeRamRange *nvme_ram_find_other(NvmeRam *ram, hwaddr addr, hwaddr size);

/* The RAM that has all of @size bytes at @addr, or NULL. */
static inline NvmeRamRange *nvme_ram_find(NvmeCtrl *n, hwaddr addr,
                                          hwaddr size)
{
    NvmeRamRange *last;
    NvmeRam *ram;
    hwaddr offset;

    if (!n->ram) {
        return NULL;
    }
    ram = nvme_ram_here(n);
    last = ram->last;
    offset = addr - last->base;
    if (likely(offset < last->size && size <= last->size - offset)) {
        return last;
    }
    return nvme_ram_find_other(ram, addr, size);
}

/* Reads RAM. False if it is not RAM, or not all of it; nothing is read then. */
static inline bool nvme_ram_read(NvmeCtrl *n, hwaddr addr, void *buf, int size)
{
    NvmeRamRange *range = nvme_ram_find(n, addr, size);

    if (!range) {
        return false;
    }
    /* not before what told of it: a doorbell */
    smp_mb_acquire();
    address_space_read_cached(&range->cache, addr - range->base, buf, size);
    return true;
}

/*
 * What follows reads and writes memory, and nothing else. The result is not
 * MEMTX_OK where an address is none, or a register's.
 */

/* The last 8 of @size bytes, which are more, are stored last: a CQE's phase. */
static inline MemTxResult nvme_memory_write(NvmeCtrl *n, hwaddr addr,
                                            const void *buf, size_t size)
{
    NvmeRamRange *range = nvme_ram_find(n, addr, size);
    size_t most = size - sizeof(uint64_t);
    hwaddr offset;

    if (!range) {
        return pci_dma_rw(PCI_DEVICE(n), addr, (void *)buf, size,
                          DMA_DIRECTION_FROM_DEVICE, nvme_memory_only);
    }
    offset = addr - range->base;
    /* not before what it tells of: data */
    smp_mb_release();
    address_space_write_cached(&range->cache, offset, buf, most);
    /* and the end not before the rest */
    smp_wmb();
    address_space_write_cached(&range->cache, offset + most,
                               (const uint8_t *)buf + most, sizeof(uint64_t));
    address_space_cache_invalidate(&range->cache, offset, size);
    return MEMTX_OK;
}

static inline MemTxResult nvme_memory_stl(NvmeCtrl *n, hwaddr addr,
                                          uint32_t value)
{
    NvmeRamRange *range = nvme_ram_find(n, addr, sizeof(value));
    hwaddr offset;

    if (!range) {
        return stl_le_pci_dma(PCI_DEVICE(n), addr, value, nvme_memory_only);
    }
    offset = addr - range->base;
    /* not before what it tells of: entries */
    smp_mb_release();
    address_space_stl_le_cached(&range->cache, offset, value,
                                nvme_memory_only, NULL);
    address_space_cache_invalidate(&range->cache, offset, sizeof(value));
    return MEMTX_OK;
}

static inline MemTxResult nvme_memory_ldl(NvmeCtrl *n, hwaddr addr,
                                          uint32_t *value)
{
    NvmeRamRange *range = nvme_ram_find(n, addr, sizeof(*value));

    if (!range) {
        return ldl_le_pci_dma(PCI_DEVICE(n), addr, value, nvme_memory_only);
    }
    /* not before what was stored: an event index, for a shadow doorbell */
    smp_mb();
    *value = address_space_ldl_le_cached(&range->cache, addr - range->base,
                                         nvme_memory_only, NULL);
    return MEMTX_OK;
}

/* ---- Data ---- */

/*
 * Maps @len bytes at @addr, or all of @sg, for I/O: @iov, which is empty, has
 * them then. Whatever becomes of the memory map, the RAM stays until it is
 * unmapped. False if it is not all RAM, or not to be mapped at once; nothing is
 * mapped then.
 */
bool nvme_ram_map(NvmeCtrl *n, QEMUIOVector *iov, hwaddr addr, hwaddr len);
bool nvme_ram_map_sg(NvmeCtrl *n, QEMUIOVector *iov, const QEMUSGList *sg,
                     DMADirection dir);

/* Before the guest is told of I/O: what was read may be code. Empties @iov. */
void nvme_ram_unmap(NvmeCtrl *n, QEMUIOVector *iov, DMADirection dir);

#endif /* HW_NVME_RAM_H */
