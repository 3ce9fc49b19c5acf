/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which message of the device reached which vCPU, by two of QEMU's own events.
 *
 * The device decides (irq), says that it sends (pci_nvme_irq_msix), and the
 * message reaches the local APICs at once (apic_deliver_irq), all with QEMU's
 * lock held: the next delivery after a message is its own. A masked vector
 * sends nothing, so the device's next event forgets it.
 */
#ifndef REPLAY_VCPUS_H
#define REPLAY_VCPUS_H

#include "records.h"
#include "trace-line.h"

#define MSIX_EVENT  "pci_nvme_irq_msix"
#define APIC_EVENT  "apic_deliver_irq"

/* An interrupt of the device. */
typedef struct Sent {
    int64_t number;
    int64_t at;
    uint16_t cqid;
    bool by_record;             /* it tells of CQEs by status records */
} Sent;

typedef struct Vcpus Vcpus;

Vcpus *vcpus_new(Records *records);
void vcpus_free(Vcpus *vcpus);

/* The device has decided on an interrupt. */
void vcpus_decided(Vcpus *vcpus, uint16_t vector, const Sent *sent);

/*
 * A line with one of the two events, which is at @p. @now is the time of the
 * event before. They return false if it makes no sense.
 */
bool vcpus_message(Vcpus *vcpus, const char *p, const char *end);
bool vcpus_delivery(Vcpus *vcpus, const char *p, const char *end, int64_t now);

/* A queue was made anew: what was decided for the old one is never sent. */
void vcpus_restarted(Vcpus *vcpus, uint16_t cqid);

/* The guest does something else: what it takes by status records it has. */
void vcpus_went_on(Vcpus *vcpus, uint16_t cqid, int64_t at);

/* The guest has consumed CQEs of a queue. */
void vcpus_reaped(Vcpus *vcpus, uint16_t cqid, int64_t at);

#endif /* REPLAY_VCPUS_H */
