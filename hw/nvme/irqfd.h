/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Messages that an IOThread sends itself: property "irqfd".
 *
 * msix_notify() is for who has the BQL, so the main loop sends the messages of
 * a thread's queues. With an eventfd for a vector the thread writes to that.
 * KVM injects the message then (its irqfd), and nobody is woken on the way.
 * Without KVM, and where KVM refuses, the main loop reads the eventfd.
 *
 * A vector has an eventfd while a queue of a thread uses it. It is attached
 * while the vector is unmasked; what is written meanwhile stays in it, and is
 * what the vector's pending bit says. Messages that follow each other before
 * one is taken out are one.
 *
 * All but nvme_irqfd_is_open() and nvme_irqfd_send() run under the BQL.
 */
#ifndef HW_NVME_IRQFD_H
#define HW_NVME_IRQFD_H

#include "qemu/event_notifier.h"
#include "system/kvm.h"

#include "nvme.h"

/* QEMU 11 has another name for it. */
#ifdef ACCEL_ROUTE_H
typedef AccelRouteChange KVMRouteChange;
#endif

typedef struct NvmeIrqfd {
    EventNotifier   event;
    NvmeCtrl        *n;
    unsigned        vector;
    unsigned        users;      /* queues; without one nothing here is in use */
    int             route;      /* KVM's, or -1: there is none */
    bool            in_kvm;     /* attached: KVM takes what is written */
    bool            in_main;    /* attached: the main loop does */
} NvmeIrqfd;

/*
 * One for each vector, if property "irqfd" is on, or auto and KVM takes them.
 * The controller has threads, and MSI-X or else none.
 */
void nvme_irqfds_realize(NvmeCtrl *n);
void nvme_irqfds_exit(NvmeCtrl *n);

/*
 * A queue of a thread uses @vector from now on.
 *
 * Returns: what it sends by and gives back; NULL if the main loop is to send
 */
NvmeIrqfd *nvme_irqfd_get(NvmeCtrl *n, unsigned vector);
void nvme_irqfd_put(NvmeIrqfd *irqfd);

/*
 * In any thread; @irqfd may be NULL.
 *
 * Returns: would it be sent, is it? If not, it is the main loop's to send
 */
bool nvme_irqfd_is_open(NvmeIrqfd *irqfd);
bool nvme_irqfd_send(NvmeIrqfd *irqfd);

#endif /* HW_NVME_IRQFD_H */
