/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Eventfds of vectors with a KVM that is made up: which routes it is given,
 * what is attached when, and where a message that was sent is found. No QEMU is
 * started. What the main loop does without KVM, nvme-cint-iothread-test has.
 */
#include "qemu/osdep.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "qemu/main-loop.h"
#include "system/kvm.h"

#include "libqtest.h"
#include "../../hw/nvme/irqfd.h"

#define VECTORS     4
#define ROUTES      3

/* ---- PCI, and what of the controller is asked for ---- */

static NvmeCtrl n;
static uint8_t config[PCI_CONFIG_SPACE_SIZE];
static bool masked[VECTORS], pending[VECTORS];
static uint32_t data[VECTORS];
static unsigned notified[VECTORS];

unsigned nvme_controllers_held;
bool nvme_is_paused;

NvmePause nvme_go_on(void)
{
    g_assert_not_reached();
}

void nvme_pause_again(NvmePause *pause)
{
    g_assert_not_reached();
}

void nvme_make_up(NvmeCtrl *ctrl)
{
    g_assert_not_reached();
}

int msix_present(PCIDevice *pci)
{
    return pci->cap_present & QEMU_PCI_CAP_MSIX;
}

int msix_enabled(PCIDevice *pci)
{
    return config[pci->msix_cap + PCI_MSIX_FLAGS + 1] &
           (PCI_MSIX_FLAGS_ENABLE >> 8);
}

bool msix_is_masked(PCIDevice *pci, unsigned vector)
{
    return masked[vector];
}

MSIMessage msix_get_message(PCIDevice *pci, unsigned vector)
{
    return (MSIMessage) { .data = data[vector] };
}

void msix_set_pending(PCIDevice *pci, unsigned vector)
{
    g_assert_true(masked[vector]);
    pending[vector] = true;
}

void msix_notify(PCIDevice *pci, unsigned vector)
{
    g_assert_true(pci->qdev.mem_reentrancy_guard.engaged_in_io);
    notified[vector]++;
}

int msix_set_vector_notifiers(PCIDevice *pci, MSIVectorUseNotifier use,
                              MSIVectorReleaseNotifier release,
                              MSIVectorPollNotifier poll)
{
    pci->msix_vector_use_notifier = use;
    pci->msix_vector_release_notifier = release;
    pci->msix_vector_poll_notifier = poll;
    return 0;
}

void msix_unset_vector_notifiers(PCIDevice *pci)
{
    pci->msix_vector_use_notifier = NULL;
}

/* ---- KVM ---- */

KVMState *kvm_state;
bool kvm_msi_via_irqfd_allowed;

typedef struct Route {
    bool used;
    bool committed;
    uint32_t data;
    EventNotifier *event;
    unsigned injected;
} Route;

static Route routes[ROUTES];
static bool refuses;        /* to take an eventfd */

int kvm_irqchip_add_msi_route(KVMRouteChange *change, int vector,
                              PCIDevice *pci)
{
    for (int i = 0; i < ROUTES; i++) {
        if (!routes[i].used) {
            routes[i] = (Route) { .used = true, .data = data[vector] };
            change->changes++;
            return i;
        }
    }
    return -ENOSPC;
}

int kvm_irqchip_update_msi_route(KVMState *s, int virq, MSIMessage msg,
                                 PCIDevice *pci)
{
    g_assert_true(routes[virq].used);
    routes[virq].data = msg.data;
    routes[virq].committed = false;
    return 0;
}

void kvm_irqchip_commit_routes(KVMState *s)
{
    for (int i = 0; i < ROUTES; i++) {
        routes[i].committed = routes[i].used;
    }
}

void kvm_irqchip_release_virq(KVMState *s, int virq)
{
    g_assert_true(routes[virq].used);
    g_assert_null(routes[virq].event);
    routes[virq].used = false;
}

int kvm_irqchip_add_irqfd_notifier_gsi(KVMState *s, EventNotifier *event,
                                       EventNotifier *resample, int virq)
{
    g_assert_true(routes[virq].committed);
    g_assert_null(routes[virq].event);
    if (refuses) {
        return -EINVAL;
    }
    routes[virq].event = event;
    return 0;
}

int kvm_irqchip_remove_irqfd_notifier_gsi(KVMState *s, EventNotifier *event,
                                          int virq)
{
    g_assert_true(routes[virq].event == event);
    routes[virq].event = NULL;
    return 0;
}

static void kvm_injects(void)
{
    for (int i = 0; i < ROUTES; i++) {
        if (routes[i].event && event_notifier_test_and_clear(routes[i].event)) {
            g_assert_true(routes[i].committed);
            routes[i].injected++;
        }
    }
}

static unsigned routes_used(void)
{
    unsigned count = 0;

    for (int i = 0; i < ROUTES; i++) {
        count += routes[i].used;
    }
    return count;
}

/* ---- The main loop ---- */

static EventNotifier *watched[VECTORS];
static EventNotifierHandler *handler;

void event_notifier_set_handler(EventNotifier *event, EventNotifierHandler *cb)
{
    NvmeIrqfd *irqfd = container_of(event, NvmeIrqfd, event);

    watched[irqfd->vector] = cb ? event : NULL;
    handler = cb ? cb : handler;
}

static void main_loop_runs(void)
{
    for (int i = 0; i < VECTORS; i++) {
        if (watched[i]) {
            handler(watched[i]);
        }
    }
}

/* ---- The guest ---- */

static void mask(unsigned vector)
{
    PCIDevice *pci = &n.parent_obj;

    if (!masked[vector]) {
        masked[vector] = true;
        if (pci->msix_vector_use_notifier) {
            pci->msix_vector_release_notifier(pci, vector);
        }
    }
}

static void unmask(unsigned vector, uint32_t value)
{
    PCIDevice *pci = &n.parent_obj;

    if (masked[vector]) {
        masked[vector] = false;
        data[vector] = value;
        if (pci->msix_vector_use_notifier) {
            g_assert_cmpint(pci->msix_vector_use_notifier(
                pci, vector, msix_get_message(pci, vector)), ==, 0);
        }
        if (pending[vector]) {
            pending[vector] = false;
            notified[vector]++;
        }
    }
}

static bool looks_pending(unsigned vector)
{
    PCIDevice *pci = &n.parent_obj;

    pci->msix_vector_poll_notifier(pci, vector, vector + 1);
    return pending[vector];
}

static void set_config(unsigned offset, uint16_t bit, bool on)
{
    uint16_t word = pci_get_word(config + offset);

    pci_set_word(config + offset, on ? word | bit : word & ~bit);
}

static void set_msix(bool on)
{
    set_config(n.parent_obj.msix_cap + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE,
               on);
}

static void set_master(bool on)
{
    set_config(PCI_COMMAND, PCI_COMMAND_MASTER, on);
}

/* A machine, whose vectors are masked. */
static void begin(bool kvm, OnOffAuto irqfd)
{
    PCIDevice *pci = &n.parent_obj;

    memset(&n, 0, sizeof(n));
    memset(routes, 0, sizeof(routes));
    memset(notified, 0, sizeof(notified));
    memset(pending, 0, sizeof(pending));
    memset(masked, true, sizeof(masked));
    kvm_msi_via_irqfd_allowed = kvm;
    refuses = false;
    pci->config = config;
    pci->msix_cap = 0x40;
    pci->cap_present = QEMU_PCI_CAP_MSIX;
    pci->msix_entries_nr = VECTORS;
    n.params.irqfd = irqfd;
    set_msix(true);
    set_master(true);
    nvme_irqfds_realize(&n);
}

/* Nothing is left behind. */
static void end(void)
{
    nvme_irqfds_exit(&n);
    g_assert_null(n.irqfds);
    g_assert_cmpuint(routes_used(), ==, 0);
    for (int i = 0; i < VECTORS; i++) {
        g_assert_null(watched[i]);
    }
}

/* ---- Tests ---- */

static void test_property(void)
{
    static const struct {
        bool kvm;
        OnOffAuto irqfd;
        bool there;
    } cells[] = {
        { false, ON_OFF_AUTO_OFF, false }, { true, ON_OFF_AUTO_OFF, false },
        { false, ON_OFF_AUTO_AUTO, false }, { true, ON_OFF_AUTO_AUTO, true },
        { false, ON_OFF_AUTO_ON, true }, { true, ON_OFF_AUTO_ON, true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cells); i++) {
        NvmeIrqfd *irqfd;

        begin(cells[i].kvm, cells[i].irqfd);
        irqfd = nvme_irqfd_get(&n, 1);
        g_assert_cmpint(!!irqfd, ==, cells[i].there);
        g_assert_cmpint(nvme_irqfd_send(irqfd), ==, cells[i].there);
        nvme_irqfd_put(irqfd);
        end();
    }
}

static void test_kvm_injects(void)
{
    NvmeIrqfd *irqfd;

    begin(true, ON_OFF_AUTO_AUTO);
    irqfd = nvme_irqfd_get(&n, 2);
    g_assert_cmpuint(routes_used(), ==, 0);
    unmask(2, 17);
    g_assert_cmpuint(routes[0].data, ==, 17);
    g_assert_true(nvme_irqfd_send(irqfd));
    main_loop_runs();
    kvm_injects();
    g_assert_cmpuint(routes[0].injected, ==, 1);
    g_assert_cmpuint(notified[2], ==, 0);
    nvme_irqfd_put(irqfd);
    end();
}

/* It waits while the vector is masked, and goes where it is directed then. */
static void test_masked(void)
{
    NvmeIrqfd *irqfd;

    begin(true, ON_OFF_AUTO_AUTO);
    unmask(1, 17);
    irqfd = nvme_irqfd_get(&n, 1);
    mask(1);
    g_assert_false(looks_pending(1));
    g_assert_true(nvme_irqfd_send(irqfd));
    kvm_injects();
    g_assert_cmpuint(routes[0].injected, ==, 0);
    unmask(1, 18);
    kvm_injects();
    g_assert_cmpuint(routes[0].injected, ==, 1);
    g_assert_cmpuint(routes[0].data, ==, 18);

    /* who has looked at the pending bit has taken it out of the eventfd */
    mask(1);
    g_assert_true(nvme_irqfd_send(irqfd));
    g_assert_true(looks_pending(1));
    g_assert_true(looks_pending(1));
    unmask(1, 18);
    kvm_injects();
    g_assert_cmpuint(routes[0].injected, ==, 1);
    g_assert_cmpuint(notified[1], ==, 1);
    nvme_irqfd_put(irqfd);
    end();
}

static void test_two_users(void)
{
    NvmeIrqfd *a, *b;

    begin(true, ON_OFF_AUTO_AUTO);
    unmask(1, 17);
    a = nvme_irqfd_get(&n, 1);
    b = nvme_irqfd_get(&n, 1);
    g_assert_true(a == b);
    g_assert_cmpuint(routes_used(), ==, 1);
    nvme_irqfd_put(a);
    g_assert_true(nvme_irqfd_send(b));
    kvm_injects();
    g_assert_cmpuint(routes[0].injected, ==, 1);
    nvme_irqfd_put(b);
    g_assert_cmpuint(routes_used(), ==, 0);
    end();
}

/* KVM has no route left, or does not take the eventfd. */
static void test_kvm_refuses(void)
{
    NvmeIrqfd *irqfds[VECTORS];

    begin(true, ON_OFF_AUTO_AUTO);
    for (int i = 0; i < VECTORS; i++) {
        unmask(i, i);
        irqfds[i] = nvme_irqfd_get(&n, i);
    }
    g_assert_cmpuint(routes_used(), ==, ROUTES);
    g_assert_true(nvme_irqfd_send(irqfds[ROUTES]));
    kvm_injects();
    main_loop_runs();
    main_loop_runs();
    g_assert_cmpuint(notified[ROUTES], ==, 1);

    mask(0);
    refuses = true;
    unmask(0, 5);
    g_assert_true(nvme_irqfd_send(irqfds[0]));
    kvm_injects();
    main_loop_runs();
    g_assert_cmpuint(notified[0], ==, 1);
    for (int i = 0; i < VECTORS; i++) {
        nvme_irqfd_put(irqfds[i]);
    }
    end();
}

static void test_closed(void)
{
    NvmeIrqfd *irqfd;

    begin(true, ON_OFF_AUTO_AUTO);
    unmask(1, 17);
    irqfd = nvme_irqfd_get(&n, 1);
    g_assert_true(nvme_irqfd_is_open(irqfd));
    set_master(false);
    g_assert_false(nvme_irqfd_is_open(irqfd));
    g_assert_false(nvme_irqfd_send(irqfd));
    set_master(true);
    set_msix(false);
    g_assert_false(nvme_irqfd_send(irqfd));
    set_msix(true);
    kvm_injects();
    g_assert_cmpuint(routes[0].injected, ==, 0);
    g_assert_true(nvme_irqfd_send(irqfd));
    g_assert_false(nvme_irqfd_is_open(NULL));
    nvme_irqfd_put(irqfd);
    end();
}

static unsigned found(unsigned vector)
{
    unsigned count = notified[vector];

    for (int i = 0; i < ROUTES; i++) {
        if (routes[i].used && routes[i].data == vector) {
            count += routes[i].injected;
            routes[i].injected = 0;
        }
    }
    notified[vector] = 0;
    return count;
}

/* In any order: what was sent last is found once the vector is unmasked. */
static void test_any_order(void)
{
    NvmeIrqfd *irqfds[VECTORS] = { NULL };

    begin(true, ON_OFF_AUTO_AUTO);
    for (int i = 0; i < 100000; i++) {
        unsigned vector = g_test_rand_int_range(0, VECTORS);

        switch (g_test_rand_int_range(0, 6)) {
        case 0:
            mask(vector);
            break;
        case 1:
            refuses = g_test_rand_int_range(0, 4) == 0;
            unmask(vector, vector);
            break;
        case 2:
            if (irqfds[vector]) {
                nvme_irqfd_put(irqfds[vector]);
                irqfds[vector] = NULL;
            } else {
                irqfds[vector] = nvme_irqfd_get(&n, vector);
            }
            break;
        case 3:
            looks_pending(vector);
            break;
        default:
            if (irqfds[vector]) {
                g_assert_true(nvme_irqfd_send(irqfds[vector]));
                unmask(vector, vector);
                kvm_injects();
                main_loop_runs();
                g_assert_cmpuint(found(vector), >, 0);
            }
            break;
        }
    }
    for (int i = 0; i < VECTORS; i++) {
        nvme_irqfd_put(irqfds[i]);
    }
    end();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/nvme-cint/irqfd/property", test_property);
    qtest_add_func("/nvme-cint/irqfd/kvm-injects", test_kvm_injects);
    qtest_add_func("/nvme-cint/irqfd/vector-is-masked", test_masked);
    qtest_add_func("/nvme-cint/irqfd/two-users", test_two_users);
    qtest_add_func("/nvme-cint/irqfd/kvm-refuses", test_kvm_refuses);
    qtest_add_func("/nvme-cint/irqfd/closed", test_closed);
    qtest_add_func("/nvme-cint/irqfd/any-order", test_any_order);
    return g_test_run();
}
