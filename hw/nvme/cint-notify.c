/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: records, messages, and the pin. See cint-notify.h.
 */
#include "qemu/osdep.h"
#include "hw/pci/msix.h"

#include "cint-notify.h"
#include "cint-hooks.h"
#include "irqfd.h"
#include "ram.h"
#include "thread.h"
#include "trace.h"

#define RECORD_SIZE     sizeof(NvmeCintRecord)

/*
 * A thread decides, with its lock, and the main loop sends, without: it would
 * wait for whole passes. With an eventfd for the vector the thread sends, too.
 */
static inline void lock_notices(NvmeCintCq *ccq)
{
    if (unlikely(ccq->server->is_thread)) {
        qemu_mutex_lock(&ccq->notices.lock);
    }
}

static inline void unlock_notices(NvmeCintCq *ccq)
{
    if (unlikely(ccq->server->is_thread)) {
        qemu_mutex_unlock(&ccq->notices.lock);
    }
}

/*
 * How many CQEs were posted; of a thread, when it decided last. With the
 * thread's lock or that of the notices.
 */
static uint32_t posted_tail(const NvmeCintCq *ccq)
{
    return likely(!ccq->server->is_thread) ? ccq->engine.tail
                                           : ccq->notices.tail;
}

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
static APART void store_record(NvmeCintCq *ccq, const NvmeCintNotice *notice)
{
    NvmeCint *cint = ccq->cq->ctrl->cint;
    hwaddr addr = ccq->notices.record_addr;
    NvmeCintRecord record = {
        .seq = cpu_to_le32(ccq->notices.seq),
        .class = notice->class,
        .reason = notice->reason,
        .tail = cpu_to_le32(posted_tail(ccq)),
    };
    size_t rest = offsetof(NvmeCintRecord, seq);

    QEMU_BUILD_BUG_ON(sizeof(NvmeCintRecord) != 64);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintRecord, full_tail) != 0);

    if (nvme_memory_write(cint->n, addr + rest, (uint8_t *)&record + rest,
                          RECORD_SIZE - rest) ||
        nvme_memory_stl(cint->n, addr, notice->full_tail)) {
        fail(cint, addr);
    }
}

static void write_record(NvmeCintCq *ccq, const NvmeCintNotice *notice)
{
    if (ccq->notices.has_record &&
        !qatomic_read(&ccq->cq->ctrl->params.cint.freeze_records)) {
        store_record(ccq, notice);
    }
}

/* The record says what @notice does, and that one more message comes. */
static void publish(NvmeCintCq *ccq, NvmeCintNotice *notice)
{
    if (!notice->published) {
        notice->published = true;
        ccq->notices.seq++;
        write_record(ccq, notice);
    }
}

/* Where the ring has the @i-th that is unsent; @i is less than its size. */
static uint32_t unsent_index(const NvmeCintCq *ccq, uint32_t i)
{
    uint32_t index = ccq->notices.first + i;

    return index < ccq->cq->size ? index : index - ccq->cq->size;
}

static NvmeCintNotice *unsent_notice(NvmeCintCq *ccq, uint32_t i)
{
    return &ccq->notices.ring[unsent_index(ccq, i)];
}

/*
 * What is unsent goes out as one message, whose record is the old one. With the
 * thread's lock, if there is one.
 */
static void settle(NvmeCintCq *ccq)
{
    NvmeCintNotices *notices = &ccq->notices;

    if (notices->unsent) {
        notices->first = unsent_index(ccq, notices->unsent - 1);
        notices->unsent = 1;
        publish(ccq, unsent_notice(ccq, 0));
    }
}

void nvme_cint_set_record(NvmeCintCq *ccq, bool has_record, hwaddr addr)
{
    NvmeCintNotice none = { .full_tail = ccq->engine.tail };

    ccq->notices.tail = ccq->engine.tail;
    settle(ccq);
    ccq->notices.has_record = has_record;
    ccq->notices.record_addr = addr;
    ccq->notices.full_tail = none.full_tail;
    write_record(ccq, &none);
}

/* ---- The pin ---- */

/*
 * Has the guest yet to consume a CQE that it was told of? The engine knows
 * nothing of the admin queue, where the guest is told of each.
 */
static bool has_told(const NvmeCintCq *ccq)
{
    if (!ccq->cq->cqid) {
        return ccq->cq->tail != ccq->cq->head;
    }
    return ccq->engine.tail - ccq->engine.head != ccq->engine.pending;
}

/*
 * n->cq_pending keeps the pin asserted. A CQE that is withheld is no reason
 * for that: what counts are queues with CQEs that the guest was told of.
 */
void nvme_cint_consumed(NvmeCintCq *ccq)
{
    if (ccq->server->is_thread) {
        if (ccq->cq->pending) {
            qemu_bh_schedule(ccq->cq->irq_bh);
        }
        return;
    }
    if (ccq->cq->pending && !has_told(ccq)) {
        nvme_cq_set_pending(ccq->cq->ctrl, ccq->cq, false);
        nvme_irq_deassert(ccq->cq->ctrl, ccq->cq);
    }
}

/* ---- Messages ---- */

static inline void unlink_queue(NvmeCintServer *server, NvmeCintCq *ccq)
{
    QTAILQ_REMOVE(&server->outbox, ccq, notices.entry);
}

static inline void link_queue(NvmeCintServer *server, NvmeCintCq *ccq)
{
    QTAILQ_INSERT_TAIL(&server->outbox, ccq, notices.entry);
}

/*
 * Each has a record of its own, as far as the ring goes: it holds as many as
 * the queue holds CQEs, and more are not told of in one entry.
 */
static inline void put_notice(NvmeCintCq *ccq, const CintAction *action)
{
    NvmeCintNotices *notices = &ccq->notices;
    bool is_full = action->fire == CINT_FIRE_FULL;

    if (is_full) {
        notices->full_tail = ccq->engine.tail;
    }
    notices->unsent = MIN(notices->unsent + 1, ccq->cq->size);
    *unsent_notice(ccq, notices->unsent - 1) = (NvmeCintNotice) {
        .full_tail = notices->full_tail,
        .class = is_full ? NVME_CINT_CLASS_FULL : NVME_CINT_CLASS_URGENT,
        .reason = action->reason,
    };
}

/* The oldest notice that is unsent, of which there is one, is not any more. */
static inline NvmeCintNotice *take_notice(NvmeCintCq *ccq)
{
    NvmeCintNotice *notice = unsent_notice(ccq, 0);

    ccq->notices.first = unsent_index(ccq, 1);
    ccq->notices.unsent--;
    return notice;
}

/*
 * A record that is no memory is the main loop's to write, and so is the pin to
 * set. Once a reset is due nothing is told any more.
 */
static bool is_sent_here(const NvmeCintCq *ccq)
{
    NvmeCQueue *cq = ccq->cq;

    return nvme_irqfd_is_open(cq->irqfd) &&
           !nvme_thread_is_due(cq->thread, NVME_DUE_RESET) &&
           (!ccq->notices.has_record ||
            nvme_ram_find(cq->ctrl, ccq->notices.record_addr, RECORD_SIZE));
}

/* What a thread's queue has to tell, with what is posted by now. */
static void tell(NvmeCintCq *ccq)
{
    lock_notices(ccq);
    ccq->notices.tail = ccq->engine.tail;
    if (is_sent_here(ccq)) {
        while (ccq->notices.unsent) {
            publish(ccq, take_notice(ccq));
            nvme_thread_ask_irq(ccq->cq);
        }
    } else {
        qemu_bh_schedule(ccq->cq->irq_bh);
    }
    unlock_notices(ccq);
}

/* The main loop may decide for a queue of a thread that is not at work. */
static APART void notice_of_thread(NvmeCintCq *ccq, const CintAction *action)
{
    lock_notices(ccq);
    put_notice(ccq, action);
    ccq->notices.tail = ccq->engine.tail;
    unlock_notices(ccq);
    if (!ccq->server->depth) {
        tell(ccq);
    } else if (!ccq->notices.is_linked) {
        ccq->notices.is_linked = true;
        link_queue(ccq->server, ccq);
    }
}

void nvme_cint_notice(NvmeCintCq *ccq, const CintAction *action)
{
    NvmeCintServer *server = ccq->server;

    if (unlikely(server->is_thread)) {
        notice_of_thread(ccq, action);
    } else {
        if (!ccq->notices.unsent) {
            link_queue(server, ccq);
        }
        put_notice(ccq, action);
    }
    /* queues of threads may have the vector of those of others */
    qatomic_inc(&ccq->cq->ctrl->cint->vector_irqs[ccq->cq->vector]);
}

void nvme_cint_notify_init(NvmeCintCq *ccq)
{
    ccq->notices.ring = g_new0(NvmeCintNotice, ccq->cq->size);
    qemu_mutex_init(&ccq->notices.lock);
}

void nvme_cint_notify_stop(NvmeCintCq *ccq)
{
    if (ccq->server->is_thread ? ccq->notices.is_linked
                               : ccq->notices.unsent) {
        unlink_queue(ccq->server, ccq);
    }
    ccq->notices.is_linked = false;
    lock_notices(ccq);
    ccq->notices.unsent = 0;
    unlock_notices(ccq);
}

void nvme_cint_notify_free(NvmeCintCq *ccq)
{
    nvme_cint_notify_stop(ccq);
    qemu_mutex_destroy(&ccq->notices.lock);
    g_free(ccq->notices.ring);
}

static inline void send_one(NvmeCintServer *server, NvmeCintCq *ccq)
{
    NvmeCtrl *n = server->n;
    NvmeCQueue *cq = ccq->cq;

    if (ccq->notices.unsent == 1) {
        unlink_queue(server, ccq);
    }
    publish(ccq, take_notice(ccq));
    if (has_told(ccq)) {
        nvme_cq_set_pending(n, cq, true);
    } else if (!msix_enabled(n->cint->pci)) {
        /* Consumed meanwhile: nothing would take the pin back. */
        return;
    }
    nvme_irq_assert(n, cq);
}

/* Once a reset is due nothing is told any more. */
static void send_all(NvmeCintServer *server)
{
    NvmeCtrl *n = server->n;
    NvmeCintCq *ccq;

    while (!(n->due & NVME_DUE_RESET) &&
           (ccq = QTAILQ_FIRST(&server->outbox))) {
        send_one(server, ccq);
    }
}

/* In a thread. */
static void tell_all(NvmeCintServer *server)
{
    NvmeCintCq *ccq;

    while ((ccq = QTAILQ_FIRST(&server->outbox))) {
        ccq->notices.is_linked = false;
        unlink_queue(server, ccq);
        tell(ccq);
    }
}

bool nvme_cint_do_has_told(NvmeCQueue *cq)
{
    return has_told(cq->cint);
}

/* What a thread has decided, in the main loop. */
bool nvme_cint_do_publish(NvmeCQueue *cq)
{
    NvmeCintCq *ccq = cq->cint;
    bool is_due;

    lock_notices(ccq);
    is_due = ccq->notices.unsent;
    if (is_due) {
        publish(ccq, take_notice(ccq));
    }
    unlock_notices(ccq);
    return is_due;
}

/* ---- Entries ---- */

void nvme_cint_server_init(NvmeCintServer *server, NvmeCtrl *n,
                           bool is_thread)
{
    server->n = n;
    server->is_thread = is_thread;
    QTAILQ_INIT(&server->outbox);
}

void nvme_cint_enter(NvmeCintServer *server)
{
    server->depth++;
}

void nvme_cint_leave(NvmeCintServer *server)
{
    if (server->depth == 1) {
        if (unlikely(server->is_thread)) {
            tell_all(server);
        } else {
            send_all(server);
        }
    }
    server->depth--;
}
