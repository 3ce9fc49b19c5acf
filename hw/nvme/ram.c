/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where guest RAM is. See ram.h.
 */
#include "qemu/osdep.h"
#include "system/cpu-timers.h"
#include "system/xen.h"

#include "ram.h"

__thread NvmeRam *nvme_ram_of_thread;

/* ---- The ranges ---- */

static void drop_ranges(NvmeRam *ram)
{
    uint32_t i;

    for (i = 0; i < ram->count; i++) {
        address_space_cache_destroy(&ram->ranges[i].cache);
    }
    ram->count = 0;
    ram->last = &ram->none;
    ram->is_known = false;
}

static NvmeRamRange *append_range(NvmeRam *ram)
{
    if (ram->count == ram->allocated) {
        ram->allocated = 2 * ram->allocated + 4;
        ram->ranges = g_renew(NvmeRamRange, ram->ranges, ram->allocated);
    }
    return &ram->ranges[ram->count++];
}

/*
 * RAM that may be written. Mapped is what both reads and writes would find
 * there, in the same way as an access without mappings does.
 */
static bool add_range(Int128 start, Int128 len, const MemoryRegion *mr,
                      hwaddr offset, void *opaque)
{
    NvmeRam *ram = opaque;
    NvmeRamRange *range;

    if (!memory_access_is_direct((MemoryRegion *)mr, true, nvme_memory_only)) {
        return false;
    }
    range = append_range(ram);
    range->base = int128_get64(start);
    range->size = address_space_cache_init(&range->cache,
                                           ram->listener.address_space,
                                           range->base, int128_get64(len),
                                           true);
    if (!range->cache.ptr) {
        address_space_cache_destroy(&range->cache);
        ram->count--;
    }
    return false;
}

static void list_ranges(NvmeRam *ram)
{
    RCU_READ_LOCK_GUARD();

    flatview_for_each_range(
        address_space_to_flatview(ram->listener.address_space), add_range, ram);
    ram->is_known = true;
}

NvmeRamRange *nvme_ram_find_other(NvmeRam *ram, hwaddr addr, hwaddr size)
{
    uint32_t low = 0, high;

    if (unlikely(!ram->is_known)) {
        list_ranges(ram);
    }
    /* the range at @low, if any is, begins after @addr in the end */
    high = ram->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (ram->ranges[middle].base <= addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low) {
        NvmeRamRange *range = &ram->ranges[low - 1];
        hwaddr offset = addr - range->base;

        if (offset < range->size && size <= range->size - offset) {
            ram->last = range;
            return range;
        }
    }
    return NULL;
}

/*
 * The address space has its new view by now. Nobody's last reference is given
 * back here: the old view is freed later, and has all that it shows.
 */
static void ram_commit(MemoryListener *listener)
{
    NvmeRam *ram = container_of(listener, NvmeRam, listener);

    if (ram->lock) {
        qemu_rec_mutex_lock(ram->lock);
    }
    drop_ranges(ram);
    if (ram->lock) {
        qemu_rec_mutex_unlock(ram->lock);
    }
}

/* ---- Data ---- */

/* What address_space_map() does with RAM, and with nothing else. */
static void *map_piece(NvmeCtrl *n, hwaddr addr, hwaddr len)
{
    NvmeRamRange *range = nvme_ram_find(n, addr, len);

    if (!range) {
        return NULL;
    }
    memory_region_ref(range->cache.mrs.mr);
    return range->cache.ptr + (addr - range->base);
}

/* And what address_space_unmap() does; without a search if nothing changed. */
static void unmap_piece(NvmeCtrl *n, void *piece, hwaddr len, DMADirection dir)
{
    NvmeRam *ram = nvme_ram_here(n);
    MemoryRegionCache *cache = &ram->last->cache;
    hwaddr offset = (uintptr_t)piece - (uintptr_t)cache->ptr;

    if (unlikely(offset >= ram->last->size)) {
        dma_memory_unmap(pci_get_address_space(PCI_DEVICE(n)), piece, len, dir,
                         len);
        return;
    }
    if (dir == DMA_DIRECTION_FROM_DEVICE) {
        address_space_cache_invalidate(cache, offset, len);
    }
    memory_region_unref(cache->mrs.mr);
}

bool nvme_ram_map(NvmeCtrl *n, QEMUIOVector *iov, hwaddr addr, hwaddr len)
{
    void *piece = map_piece(n, addr, len);

    if (!piece) {
        return false;
    }
    qemu_iovec_init_buf(iov, piece, len);
    return true;
}

/*
 * With icount, dma-helpers.c makes several requests of a list whose pieces
 * overlap, so that what is read into them does not depend on the host.
 */
bool nvme_ram_map_sg(NvmeCtrl *n, QEMUIOVector *iov, const QEMUSGList *sg,
                     DMADirection dir)
{
    int i;

    if (icount_enabled() && sg->nsg > 1 && dir == DMA_DIRECTION_FROM_DEVICE) {
        return false;
    }
    qemu_iovec_init(iov, sg->nsg);
    for (i = 0; i < sg->nsg; i++) {
        void *piece = map_piece(n, sg->sg[i].base, sg->sg[i].len);

        if (!piece) {
            /* nothing was read into the others */
            nvme_ram_unmap(n, iov, DMA_DIRECTION_TO_DEVICE);
            return false;
        }
        qemu_iovec_add(iov, piece, sg->sg[i].len);
    }
    return true;
}

void nvme_ram_unmap(NvmeCtrl *n, QEMUIOVector *iov, DMADirection dir)
{
    int i;

    for (i = 0; i < iov->niov; i++) {
        unmap_piece(n, iov->iov[i].iov_base, iov->iov[i].iov_len, dir);
    }
    qemu_iovec_destroy(iov);
}

/* ---- Life ---- */

static bool is_wanted(NvmeCtrl *n)
{
    /* there RAM is mapped in small pieces, of which few may stay mapped */
    if (xen_enabled()) {
        return false;
    }
    return n->params.queue_cache == ON_OFF_AUTO_ON ||
           (n->params.queue_cache == ON_OFF_AUTO_AUTO &&
            (n->params.cint.on || nvme_wants_threads(&n->params)));
}

NvmeRam *nvme_ram_new(NvmeCtrl *n, QemuRecMutex *lock)
{
    NvmeRam *ram = g_new0(NvmeRam, 1);

    ram->lock = lock;
    ram->last = &ram->none;
    ram->listener = (MemoryListener) {
        .name = "nvme-queue-cache",
        .commit = ram_commit,
    };
    memory_listener_register(&ram->listener,
                             pci_get_address_space(PCI_DEVICE(n)));
    return ram;
}

void nvme_ram_free(NvmeRam *ram)
{
    memory_listener_unregister(&ram->listener);
    drop_ranges(ram);
    g_free(ram->ranges);
    g_free(ram);
}

void nvme_ram_realize(NvmeCtrl *n)
{
    if (is_wanted(n)) {
        n->ram = nvme_ram_new(n, NULL);
    }
}

void nvme_ram_exit(NvmeCtrl *n)
{
    if (n->ram) {
        nvme_ram_free(n->ram);
        n->ram = NULL;
    }
}
