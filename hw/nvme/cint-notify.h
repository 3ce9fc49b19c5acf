/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: the one place that tells the guest something: status records (feature
 * D1h), messages and the interrupt pin; and the guard of everything that may
 * come to that.
 *
 * A message is a memory write to an address of the guest's choice. It may hit
 * this controller's own registers, or through a bridge's configuration space
 * reset or unplug it: when it has been sent, queues may be gone. So nothing is
 * sent where it is decided. A decision only puts its queue into the outbox;
 * nvme_cint_leave() empties it, as the last thing that every entry into the
 * device does, and after each message begins again from the controller.
 *
 * An entry is whatever makes the device run: a timer, a bottom half, an event
 * notifier, a register write, a monitor command. Each is framed by
 * nvme_cint_enter() and nvme_cint_leave(), which also engage the device's
 * re-entrancy guard: DMA and messages that hit the device's own registers
 * meanwhile are refused by the memory core. Entries may nest (cancelling a
 * command runs the main loop); the outermost one sends.
 *
 * Order, which the driver relies on: CQEs, record, message. CQEs are posted
 * before a decision, and each DMA access begins with a barrier.
 */
#ifndef HW_NVME_CINT_NOTIFY_H
#define HW_NVME_CINT_NOTIFY_H

#include "cint-state.h"

typedef struct NvmeCintEntry {
    NvmeCtrl *n;
    uint32_t resets;            /* of the controller, by then */
    bool was_engaged;
} NvmeCintEntry;

NvmeCintEntry nvme_cint_enter(NvmeCtrl *n);

/* Sends what was decided. The caller may not touch a queue afterwards. */
void nvme_cint_leave(NvmeCintEntry entry);

/*
 * For who has let the main loop run within @entry: are the controller and its
 * queues still there?
 */
static inline bool nvme_cint_is_whole(const NvmeCintEntry *entry)
{
    return entry->n->cint && entry->n->resets == entry->resets;
}

/* The interrupt of @action, which has one, is to be sent for @ccq. */
void nvme_cint_notice(NvmeCintCq *ccq, const CintAction *action);

/*
 * @ccq has a status record at @addr from now on, or none (@has_record false).
 * What was decided before goes to the old one, as one message. The new one
 * says that all which is posted may be reaped.
 */
void nvme_cint_set_record(NvmeCintCq *ccq, bool has_record, hwaddr addr);

/* The guest has consumed CQEs: does the pin still have a reason? */
void nvme_cint_consumed(NvmeCintCq *ccq);

void nvme_cint_notify_init(NvmeCintCq *ccq);

/* @ccq is about to go away: nothing of it is sent any more. */
void nvme_cint_notify_stop(NvmeCintCq *ccq);
void nvme_cint_notify_free(NvmeCintCq *ccq);

#endif /* HW_NVME_CINT_NOTIFY_H */
