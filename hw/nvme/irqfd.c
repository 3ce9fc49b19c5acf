/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Messages that an IOThread sends itself. See irqfd.h.
 */
#include "qemu/osdep.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "qemu/main-loop.h"

#include "irqfd.h"
#include "trace.h"

static PCIDevice *pci_of(NvmeIrqfd *irqfd)
{
    return &irqfd->n->parent_obj;
}

static NvmeIrqfd *irqfd_of(PCIDevice *pci, unsigned vector)
{
    return &container_of(pci, NvmeCtrl, parent_obj)->irqfds[vector];
}

/* ---- Attached to KVM, or to the main loop ---- */

/* KVM's route has @msg, which the guest has given the vector since. */
static bool set_route(NvmeIrqfd *irqfd, MSIMessage msg)
{
    KVMRouteChange change = { (void *)kvm_state };

    if (irqfd->route >= 0) {
        if (kvm_irqchip_update_msi_route(kvm_state, irqfd->route, msg,
                                         pci_of(irqfd)) < 0) {
            return false;
        }
        kvm_irqchip_commit_routes(kvm_state);
        return true;
    }
    irqfd->route = kvm_irqchip_add_msi_route(&change, irqfd->vector,
                                             pci_of(irqfd));
    if (change.changes) {
        kvm_irqchip_commit_routes(kvm_state);
    }
    return irqfd->route >= 0;
}

static bool attach_kvm(NvmeIrqfd *irqfd, MSIMessage msg)
{
    return kvm_msi_via_irqfd_enabled() && set_route(irqfd, msg) &&
           kvm_irqchip_add_irqfd_notifier_gsi(kvm_state, &irqfd->event, NULL,
                                              irqfd->route) >= 0;
}

static void main_cb(EventNotifier *event)
{
    NvmeIrqfd *irqfd = container_of(event, NvmeIrqfd, event);

    if (event_notifier_test_and_clear(event)) {
        nvme_hold(irqfd->n);
        msix_notify(pci_of(irqfd), irqfd->vector);
        nvme_release(irqfd->n);
    }
}

static void attach(NvmeIrqfd *irqfd, MSIMessage msg)
{
    irqfd->in_kvm = attach_kvm(irqfd, msg);
    irqfd->in_main = !irqfd->in_kvm;
    if (irqfd->in_main) {
        event_notifier_set_handler(&irqfd->event, main_cb);
    }
}

static void detach(NvmeIrqfd *irqfd)
{
    if (irqfd->in_kvm) {
        kvm_irqchip_remove_irqfd_notifier_gsi(kvm_state, &irqfd->event,
                                              irqfd->route);
    }
    if (irqfd->in_main) {
        event_notifier_set_handler(&irqfd->event, NULL);
    }
    irqfd->in_kvm = irqfd->in_main = false;
}

/* ---- What the guest does to vectors ---- */

static int use_cb(PCIDevice *pci, unsigned vector, MSIMessage msg)
{
    NvmeIrqfd *irqfd = irqfd_of(pci, vector);

    if (irqfd->users) {
        attach(irqfd, msg);
    }
    return 0;
}

static void release_cb(PCIDevice *pci, unsigned vector)
{
    detach(irqfd_of(pci, vector));
}

/* The guest looks at pending bits, of which an eventfd that waits is one. */
static void poll_cb(PCIDevice *pci, unsigned start, unsigned end)
{
    for (unsigned vector = start; vector < end; vector++) {
        NvmeIrqfd *irqfd = irqfd_of(pci, vector);

        if (irqfd->users && msix_is_masked(pci, vector) &&
            event_notifier_test_and_clear(&irqfd->event)) {
            msix_set_pending(pci, vector);
        }
    }
}

/* ---- Queues ---- */

static bool begin(NvmeIrqfd *irqfd)
{
    if (event_notifier_init(&irqfd->event, false)) {
        return false;
    }
    irqfd->route = -1;
    if (!msix_is_masked(pci_of(irqfd), irqfd->vector)) {
        attach(irqfd, msix_get_message(pci_of(irqfd), irqfd->vector));
    }
    return true;
}

static void end(NvmeIrqfd *irqfd)
{
    detach(irqfd);
    if (irqfd->route >= 0) {
        kvm_irqchip_release_virq(kvm_state, irqfd->route);
    }
    event_notifier_cleanup(&irqfd->event);
}

NvmeIrqfd *nvme_irqfd_get(NvmeCtrl *n, unsigned vector)
{
    NvmeIrqfd *irqfd;

    if (!n->irqfds) {
        return NULL;
    }
    irqfd = &n->irqfds[vector];
    if (!irqfd->users && !begin(irqfd)) {
        return NULL;
    }
    irqfd->users++;
    return irqfd;
}

void nvme_irqfd_put(NvmeIrqfd *irqfd)
{
    if (irqfd && !--irqfd->users) {
        end(irqfd);
    }
}

/* KVM injects what a device without bus mastership writes. */
bool nvme_irqfd_is_open(NvmeIrqfd *irqfd)
{
    PCIDevice *pci = irqfd ? pci_of(irqfd) : NULL;

    return pci && msix_enabled(pci) &&
           (pci_get_word(pci->config + PCI_COMMAND) & PCI_COMMAND_MASTER);
}

bool nvme_irqfd_send(NvmeIrqfd *irqfd)
{
    if (!nvme_irqfd_is_open(irqfd)) {
        return false;
    }
    trace_pci_nvme_irq_msix(irqfd->vector);
    return !event_notifier_set(&irqfd->event);
}

/* ---- Controllers ---- */

void nvme_irqfds_realize(NvmeCtrl *n)
{
    PCIDevice *pci = &n->parent_obj;
    OnOffAuto irqfd = n->params.irqfd;

    if (irqfd == ON_OFF_AUTO_OFF || !msix_present(pci) ||
        (irqfd == ON_OFF_AUTO_AUTO && !kvm_msi_via_irqfd_enabled())) {
        return;
    }
    n->irqfds = g_new0(NvmeIrqfd, pci->msix_entries_nr);
    for (int i = 0; i < pci->msix_entries_nr; i++) {
        n->irqfds[i].n = n;
        n->irqfds[i].vector = i;
    }
    msix_set_vector_notifiers(pci, use_cb, release_cb, poll_cb);
}

void nvme_irqfds_exit(NvmeCtrl *n)
{
    if (n->irqfds) {
        msix_unset_vector_notifiers(&n->parent_obj);
        g_free(n->irqfds);
        n->irqfds = NULL;
    }
}
