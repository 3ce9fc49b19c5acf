/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: interrupt status records in the guest's memory (feature D1h), from
 * which a driver learns what an interrupt that may have merged with others
 * allows it to reap.
 *
 * Order matters: CQEs, record, message. The CQEs were written by the posting
 * pass that calls in here, each DMA access below begins with a barrier, and
 * the message follows when the caller returns. full_tail is the last thing
 * stored of a record, in one piece, so whoever reads it sees the CQEs that it
 * counts.
 */
#include "qemu/osdep.h"
#include "qemu/range.h"
#include "system/hostmem.h"

#include "cint.h"
#include "trace.h"

#define RECORD_SIZE     sizeof(NvmeCintRecord)

static bool has_record(const NvmeCint *cint, const NvmeCQueue *cq)
{
    return cq->cqid && cq->cqid < cint->status.records;
}

static void fail(NvmeCtrl *n, hwaddr addr)
{
    trace_pci_nvme_cint_err_status(addr);
    stl_le_p(&n->bar.csts, NVME_CSTS_FAILED);
}

static void write_record(NvmeCintCq *c, NvmeCintRecord *record)
{
    NvmeCtrl *n = c->cq->ctrl;
    PCIDevice *pci = PCI_DEVICE(n);
    hwaddr addr = n->cint->status.addr + c->cq->cqid * RECORD_SIZE;
    size_t rest = offsetof(NvmeCintRecord, seq);

    QEMU_BUILD_BUG_ON(sizeof(NvmeCintRecord) != 64);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintRecord, full_tail) != 0);

    record->seq = cpu_to_le32(c->messages);
    record->tail = cpu_to_le32(c->engine.tail);
    if (pci_dma_write(pci, addr + rest, (uint8_t *)record + rest,
                      RECORD_SIZE - rest) ||
        stl_le_pci_dma(pci, addr, c->full_tail, MEMTXATTRS_UNSPECIFIED)) {
        fail(n, addr);
    }
}

void nvme_cint_publish(NvmeCintCq *c, const CintAction *action)
{
    NvmeCintRecord record = {
        .class = action->fire == CINT_FIRE_URGENT ? NVME_CINT_CLASS_URGENT
                                                  : NVME_CINT_CLASS_FULL,
        .reason = action->reason,
    };

    c->messages++;
    if (action->fire == CINT_FIRE_FULL) {
        c->full_tail = c->engine.tail;
    }
    if (c->engine.has_record) {
        write_record(c, &record);
    }
}

void nvme_cint_init_record(NvmeCintCq *c)
{
    NvmeCintRecord record = { 0 };
    bool exists = has_record(c->cq->ctrl->cint, c->cq);

    /* Everything posted before the record may be reaped. */
    c->full_tail = c->engine.tail;
    if (exists) {
        write_record(c, &record);
    }
    nvme_cint_set_record(c, exists && c->coalesce);
}

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

static bool is_valid(NvmeCtrl *n, const NvmeCintStatus *status)
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
    if (!is_valid(n, &status)) {
        trace_pci_nvme_ub_cint_status(status.addr, status.records);
        return NVME_INVALID_FIELD | NVME_DNR;
    }

    n->cint->status = status;
    for (i = 1; i <= n->params.max_ioqpairs; i++) {
        if (n->cq[i]) {
            nvme_cint_init_record(n->cq[i]->cint);
        }
    }
    return NVME_SUCCESS;
}
