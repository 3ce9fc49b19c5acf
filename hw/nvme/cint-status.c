/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: feature D1h. A driver gives memory for the interrupt status records,
 * from which it learns what an interrupt that may have merged with others
 * allows it to reap. cint-notify.c writes them.
 */
#include "qemu/osdep.h"
#include "qemu/range.h"
#include "system/hostmem.h"

#include "cint-cq.h"
#include "cint-status.h"
#include "trace.h"

#define RECORD_SIZE     sizeof(NvmeCintRecord)

/* Registers of this function, wherever the guest has put them. */
static bool overlaps_bar(NvmeCtrl *n, hwaddr addr, uint64_t size)
{
    int i;

    for (i = 0; i < PCI_NUM_REGIONS; i++) {
        const PCIIORegion *bar = &n->parent_obj.io_regions[i];

        if (bar->size && bar->addr != PCI_BAR_UNMAPPED &&
            !(bar->type & PCI_BASE_ADDRESS_SPACE_IO) &&
            ranges_overlap(addr, size, bar->addr, bar->size)) {
            return true;
        }
    }
    return false;
}

/* The CMB may lie where its own registers say, not where its BAR is. */
static bool overlaps_own_memory(NvmeCtrl *n, hwaddr addr, uint64_t size)
{
    hwaddr cmb = n->params.legacy_cmb ? n->cmb.mem.addr : n->cmb.cba;

    if (n->bar.cmbsz && n->cmb.cmse &&
        ranges_overlap(addr, size, cmb, int128_get64(n->cmb.mem.size))) {
        return true;
    }
    return n->pmr.cmse &&
           ranges_overlap(addr, size, n->pmr.cba,
                          int128_get64(n->pmr.dev->mr.size));
}

bool nvme_cint_status_is_valid(NvmeCtrl *n, const NvmeCintStatus *status)
{
    uint64_t size = status->records * RECORD_SIZE;

    if (status->rsvd12) {
        return false;
    }
    if (!status->addr) {
        return true;
    }
    return status->addr % RECORD_SIZE == 0 && status->records &&
           status->records <= n->params.max_ioqpairs + 1 &&
           status->addr + size > status->addr &&
           !overlaps_bar(n, status->addr, size) &&
           !overlaps_own_memory(n, status->addr, size);
}

uint16_t nvme_cint_get_status(NvmeCtrl *n, bool current, NvmeRequest *req)
{
    NvmeCintStatus status = { 0 };

    QEMU_BUILD_BUG_ON(sizeof(NvmeCintStatus) != 16);

    if (current) {
        status.addr = cpu_to_le64(n->cint->status.addr);
        status.records = cpu_to_le32(n->cint->status.records);
    }
    return nvme_c2h(n, &status, sizeof(status), req);
}

uint16_t nvme_cint_set_status(NvmeCtrl *n, NvmeRequest *req)
{
    NvmeCintStatus status;
    uint32_t i;
    uint16_t ret = nvme_h2c(n, &status, sizeof(status), req);

    if (ret) {
        return ret;
    }
    status.addr = le64_to_cpu(status.addr);
    status.records = status.addr ? le32_to_cpu(status.records) : 0;
    if (!nvme_cint_status_is_valid(n, &status)) {
        trace_pci_nvme_ub_cint_status(status.addr, status.records);
        return NVME_INVALID_FIELD | NVME_DNR;
    }

    n->cint->status = status;
    for (i = 1; i <= n->params.max_ioqpairs; i++) {
        NvmeCintCq *ccq = nvme_cint_cq_at(n, i);

        if (ccq) {
            nvme_cint_cq_status_changed(ccq);
        }
    }
    return NVME_SUCCESS;
}
