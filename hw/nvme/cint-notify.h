/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: the one place that tells the guest something: status records (feature
 * D1h), messages and the interrupt pin.
 *
 * Nothing is sent where it is decided. A decision only puts its queue into the
 * outbox; nvme_cint_leave() empties it, as the last thing that every entry into
 * the device does. Queues that are never coalesced go the same way. So what a
 * message tells of has been done when it is sent, and whatever the guest's
 * handler does next finds queues that nobody is at work on.
 *
 * An entry is whatever makes the device run: a timer, a bottom half, an event
 * notifier, a register write, a monitor command. Each is framed by
 * nvme_cint_enter() and nvme_cint_leave(). Entries may nest (cancelling a
 * command runs the main loop); the outermost one sends.
 *
 * A message is a memory write to an address of the guest's choice. Behind that
 * may be anything, a reset or the removal of this controller included; ctrl.c
 * holds the controller meanwhile (nvme_hold()), which puts both off and has the
 * memory core refuse the controller's own registers. Records need none of that:
 * they are written to memory only.
 *
 * An entry of a thread leaves messages, and the records that go before them, to
 * the main loop (nvme_cint_publish()), but for what it may send by an eventfd.
 *
 * Order, which the driver relies on: CQEs, record, message. CQEs are posted
 * before a decision, and each DMA access begins with a barrier.
 */
#ifndef HW_NVME_CINT_NOTIFY_H
#define HW_NVME_CINT_NOTIFY_H

#include "cint-state.h"

void nvme_cint_enter(NvmeCintServer *server);

/* Sends what was decided, if this is the outermost entry. */
void nvme_cint_leave(NvmeCintServer *server);

void nvme_cint_server_init(NvmeCintServer *server, NvmeCtrl *n,
                           bool is_thread);

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
