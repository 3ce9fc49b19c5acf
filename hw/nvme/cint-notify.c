/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: records, messages, the pin, and the guard. See cint-notify.h.
 */
#include "qemu/osdep.h"
#include "hw/pci/msix.h"

#include "cint-notify.h"
#include "cint-hooks.h"
#include "trace.h"

#define RECORD_SIZE     sizeof(NvmeCintRecord)

/* ---- Status records ---- */

/*
 * A guest that has taken bus mastership away, as kexec does, gets neither
 * record nor message, and no fatal status for an interrupt that was deferred.
 */
static void fail(NvmeCint *cint, hwaddr addr)
{
    const uint8_t *command = cint->pci->config + PCI_COMMAND;

    trace_pci_nvme_cint_err_status(addr);
    if (pci_get_word(command) & PCI_COMMAND_MASTER) {
        stl_le_p(&cint->n->bar.csts, NVME_CSTS_FAILED);
    }
}

/*
 * Memory only: a record has no business in a device's registers. full_tail is
 * the last thing stored, in one piece, so whoever reads it sees the CQEs that
 * it counts.
 */
static void write_record(NvmeCintCq *ccq, NvmeCintRecord *record)
{
    NvmeCint *cint = ccq->cq->ctrl->cint;
    hwaddr addr = ccq->notice.record_addr;
    size_t rest = offsetof(NvmeCintRecord, seq);
    MemTxAttrs attrs = { .memory = 1 };

    QEMU_BUILD_BUG_ON(sizeof(NvmeCintRecord) != 64);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintRecord, full_tail) != 0);

    if (cint->n->params.cint.freeze_records) {
        return;
    }
    record->seq = cpu_to_le32(ccq->notice.seq);
    record->tail = cpu_to_le32(ccq->engine.tail);
    if (pci_dma_rw(cint->pci, addr + rest, (uint8_t *)record + rest,
                   RECORD_SIZE - rest, DMA_DIRECTION_FROM_DEVICE, attrs) ||
        stl_le_pci_dma(cint->pci, addr, ccq->notice.full_tail, attrs)) {
        fail(cint, addr);
    }
}

/* Lets the record say what was decided last. */
static void publish(NvmeCintCq *ccq)
{
    NvmeCintRecord record = {
        .class = ccq->notice.class,
        .reason = ccq->notice.reason,
    };

    if (ccq->notice.stale && ccq->notice.has_record) {
        write_record(ccq, &record);
    }
    ccq->notice.stale = false;
}

void nvme_cint_set_record(NvmeCintCq *ccq, bool has_record, hwaddr addr)
{
    NvmeCintRecord record = { 0 };

    publish(ccq);
    ccq->notice.has_record = has_record;
    ccq->notice.record_addr = addr;
    ccq->notice.full_tail = ccq->engine.tail;
    if (has_record) {
        write_record(ccq, &record);
    }
}

/* ---- The pin ---- */

/* Has the guest yet to consume a CQE that it was told of? */
static bool has_told(const NvmeCintCq *ccq)
{
    return ccq->engine.tail - ccq->engine.head != ccq->engine.pending;
}

static void count_pending(NvmeCintCq *ccq, bool pending)
{
    ccq->cq->ctrl->cq_pending += pending - ccq->notice.signalled;
    ccq->notice.signalled = pending;
}

/*
 * n->cq_pending keeps the pin asserted. A CQE that is withheld is no reason
 * for that: what counts are queues with CQEs that the guest was told of.
 */
void nvme_cint_consumed(NvmeCintCq *ccq)
{
    if (ccq->notice.signalled && !has_told(ccq)) {
        count_pending(ccq, false);
        nvme_irq_deassert(ccq->cq->ctrl, ccq->cq);
    }
}

/* ---- Messages ---- */

void nvme_cint_notice(NvmeCintCq *ccq, const CintAction *action)
{
    NvmeCint *cint = ccq->cq->ctrl->cint;
    NvmeCintNotice *notice = &ccq->notice;

    notice->seq++;
    notice->reason = action->reason;
    notice->class = action->fire == CINT_FIRE_URGENT ? NVME_CINT_CLASS_URGENT
                                                     : NVME_CINT_CLASS_FULL;
    if (action->fire == CINT_FIRE_FULL) {
        notice->full_tail = ccq->engine.tail;
    }
    notice->stale = true;
    cint->vector_irqs[ccq->cq->vector]++;
    if (!notice->unsent++) {
        QTAILQ_INSERT_TAIL(&cint->outbox, ccq, notice.entry);
    }
}

void nvme_cint_drop_notices(NvmeCintCq *ccq)
{
    count_pending(ccq, false);
    if (ccq->notice.unsent) {
        QTAILQ_REMOVE(&ccq->cq->ctrl->cint->outbox, ccq, notice.entry);
        ccq->notice.unsent = 0;
    }
}

bool nvme_cint_do_drop_pending(NvmeCQueue *cq)
{
    if (!cq->cint->coalesce) {
        return false;
    }
    nvme_cint_drop_notices(cq->cint);
    return true;
}

static void send_one(NvmeCtrl *n, NvmeCintCq *ccq)
{
    NvmeCQueue *cq = ccq->cq;

    if (!--ccq->notice.unsent) {
        QTAILQ_REMOVE(&n->cint->outbox, ccq, notice.entry);
    }
    publish(ccq);
    if (has_told(ccq)) {
        count_pending(ccq, true);
    } else if (!msix_enabled(n->cint->pci)) {
        /* Consumed meanwhile: nothing would take the pin back. */
        return;
    }
    nvme_irq_assert(n, cq);
    /* Neither @ccq nor @cq need exist any more. */
}

static void send_all(NvmeCtrl *n)
{
    NvmeCintCq *ccq;

    /* Not even the model may: the message may have unplugged the device. */
    while (n->cint && (ccq = QTAILQ_FIRST(&n->cint->outbox))) {
        send_one(n, ccq);
    }
}

/* ---- The guard ---- */

static MemReentrancyGuard *guard_of(NvmeCtrl *n)
{
    return &n->parent_obj.qdev.mem_reentrancy_guard;
}

NvmeCintEntry nvme_cint_enter(NvmeCtrl *n)
{
    NvmeCintEntry entry = {
        .n = n,
        .was_engaged = guard_of(n)->engaged_in_io,
    };

    object_ref(OBJECT(n));
    guard_of(n)->engaged_in_io = true;
    n->cint->depth++;
    return entry;
}

void nvme_cint_leave(NvmeCintEntry entry)
{
    NvmeCtrl *n = entry.n;

    if (n->cint && n->cint->depth == 1) {
        send_all(n);
    }
    if (n->cint) {
        n->cint->depth--;
    }
    guard_of(n)->engaged_in_io = entry.was_engaged;
    object_unref(OBJECT(n));
}
