/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A q35 machine with MMCONFIG and root ports. See nvme-cint-machine.h.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "libqos/pci-pc.h"
#include "libqos/sdhci-cmd.h"
#include "standard-headers/linux/virtio_blk.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_iommu.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"
#include "nvme-cint-machine.h"

#define PCIEXBAR        0x60            /* of the host bridge */
#define FIRST_SLOT      4               /* on the root bus */
#define FIRST_BUS       1
#define WINDOW_SIZE     (16 * MiB)      /* of a node's registers */
#define WINDOWS         0xe1000000u
/* Of devices of other kinds, one behind the other. */
#define OTHERS          (WINDOWS + CINT_NODES * WINDOW_SIZE)
#define OTHER_SIZE      MiB
#define ALLOC_START     MiB
#define SLOT_ON         0x01c0          /* power on, indicator on */
#define READS           5
#define MEDIUM_NS       2000            /* nearly what a read takes there */
/* Turns of the main loop: enough for anything, and between two looks. */
#define LAPS            50
#define FEW_LAPS        4
#define BLK_ENTRIES     8
#define IOMMU_ENTRIES   2               /* a request and its answer */

/* ---- Where things are ---- */

uint64_t cint_config_at(const QPCIDevice *dev)
{
    return CINT_ECAM + ((uint64_t)dev->devfn << 12);
}

/*
 * Offsets of capabilities, by function and identifier. What is plugged into a
 * slot is always of one kind, and to look for one costs a dozen accesses.
 */
static GHashTable *capabilities;

static uint8_t capability_of(QPCIDevice *dev, uint8_t id)
{
    gpointer key = GINT_TO_POINTER(dev->devfn << 8 | id);
    gpointer found = g_hash_table_lookup(capabilities, key);

    if (!found) {
        found = GINT_TO_POINTER(qpci_find_capability(dev, id, 0));
        g_hash_table_insert(capabilities, key, found);
    }
    return GPOINTER_TO_INT(found);
}

static uint64_t express_at(QPCIDevice *dev, unsigned offset)
{
    return cint_config_at(dev) + offset + capability_of(dev, PCI_CAP_ID_EXP);
}

uint64_t cint_flr_at(QPCIDevice *dev)
{
    return express_at(dev, PCI_EXP_DEVCTL);
}

uint64_t cint_slot_control_at(QPCIDevice *port)
{
    return express_at(port, PCI_EXP_SLTCTL);
}

uint8_t cint_msix_control_of(QPCIDevice *dev)
{
    return capability_of(dev, PCI_CAP_ID_MSIX) + PCI_MSIX_FLAGS;
}

uint8_t cint_power_control_of(QPCIDevice *dev)
{
    return capability_of(dev, PCI_CAP_ID_PM) + PCI_PM_CTRL;
}

/* ---- An image ---- */

char *cint_image_new(void)
{
    char *path = g_strdup_printf("%s/nvme-cint-image-XXXXXX",
                                 g_get_tmp_dir());
    int fd = mkstemp(path);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_assert_true(have_qemu_img());
    g_assert_true(mkimg(path, "qcow2 -o cluster_size=512", CINT_IMAGE_MIB));
    return path;
}

/* ---- Start ---- */

static char *device_args(const CintNode *node)
{
    g_autofree char *bus = node->behind_port ?
        g_strdup_printf("bus=port%u", node->index) :
        g_strdup_printf("bus=pcie.0,addr=%u", FIRST_SLOT + node->index);

    return g_strdup_printf("nvme,id=nvme%u,serial=cint,%s%s", node->index,
                           bus, node->opts);
}

static void add_node(CintNode *node, GString *args)
{
    g_autofree char *device = device_args(node);

    if (node->behind_port) {
        g_string_append_printf(args, " -device pcie-root-port,id=port%u,"
                               "slot=%u,chassis=%u,bus=pcie.0,addr=%u",
                               node->index, node->index, node->index + 1,
                               FIRST_SLOT + node->index);
    }
    g_string_append_printf(args, " -device %s", device);
}

CintMachine *cint_machine_new(const char *args, const CintPlan *plans,
                              const char *more)
{
    g_autoptr(GString) line = g_string_new("-machine q35 -nodefaults -m 64 ");
    CintMachine *m = g_new0(CintMachine, 1);

    /* A log that nobody asked for costs two writes for each access. */
    if (!g_getenv("QTEST_LOG")) {
        g_string_append(line, "-qtest-log none ");
    }
    for (const CintPlan *plan = plans; plan->opts; plan++) {
        if (strstr(plan->opts, "iothread")) {
            g_string_append(line, CINT_IOTHREADS " ");
            break;
        }
    }
    g_string_append(line, args);
    for (; plans[m->nodes].opts; m->nodes++) {
        CintNode *node = &m->node[m->nodes];

        g_assert_cmpuint(m->nodes, <, CINT_NODES);
        node->opts = g_strdup(plans[m->nodes].opts);
        node->behind_port = plans[m->nodes].behind_port;
        node->index = m->nodes;
        add_node(node, line);
    }
    g_string_append_printf(line, " %s", more ?: "");
    g_assert_null(capabilities);
    capabilities = g_hash_table_new(NULL, NULL);
    m->qts = qtest_init(line->str);
    cint_watch(m->qts);
    m->bus = qpci_new_pc(m->qts, NULL);
    alloc_init(&m->alloc, ALLOC_NO_FLAGS, ALLOC_START, CINT_RAM_SIZE,
               QNVME_PAGE_SIZE);
    cint_machine_enumerate(m);
    return m;
}

static void drop_node(CintNode *node)
{
    g_clear_pointer(&node->t.nvme, qnvme_free);
    g_clear_pointer(&node->t.pdev, g_free);
    g_clear_pointer(&node->port, g_free);
}

static void free_virtio(QVirtioPCIDevice *dev)
{
    g_free(dev->pdev);
    g_free(dev);
}

void cint_machine_free(CintMachine *m)
{
    unsigned i;

    for (i = 0; i < m->nodes; i++) {
        drop_node(&m->node[i]);
        g_free(m->node[i].opts);
    }
    cint_step("shutdown");
    cint_unwatch();
    qtest_quit(m->qts);
    g_clear_pointer(&m->blk, free_virtio);
    g_clear_pointer(&capabilities, g_hash_table_unref);
    qpci_free_pc(m->bus);
    alloc_destroy(&m->alloc);
    g_free(m);
}

/* ---- Enumeration ---- */

static void let_run(CintMachine *m, unsigned laps)
{
    while (laps--) {
        qtest_inl(m->qts, 0xcf8);
    }
}

/*
 * Whatever is in the backends is written where it is to go, and does there what
 * it does: a machine that stops waits for it. Some of it leads to more.
 */
static void settle(CintMachine *m)
{
    int i;

    for (i = 0; i < 3; i++) {
        qtest_qmp_assert_success(m->qts, "{'execute': 'stop'}");
        qtest_qmp_assert_success(m->qts, "{'execute': 'cont'}");
        let_run(m, LAPS);
    }
}

static void open_mmconfig(CintMachine *m)
{
    QPCIDevice *mch = qpci_device_find(m->bus, QPCI_DEVFN(0, 0));

    qpci_config_writel(mch, PCIEXBAR + 4, 0);
    qpci_config_writel(mch, PCIEXBAR, CINT_ECAM | 1);
    g_free(mch);
}

static uint32_t window_of(const CintNode *node)
{
    return WINDOWS + node->index * WINDOW_SIZE;
}

/* With power, and not locked: the lock is a switch that toggles. */
static void switch_slot_on(QPCIDevice *port)
{
    uint8_t cap = capability_of(port, PCI_CAP_ID_EXP);
    uint16_t status = qpci_config_readw(port, cap + PCI_EXP_SLTSTA);

    qpci_config_writew(port, cap + PCI_EXP_SLTCTL, SLOT_ON |
                       (status & PCI_EXP_SLTSTA_EIS ? PCI_EXP_SLTCTL_EIC : 0));
}

static void set_up_port(CintMachine *m, CintNode *node)
{
    QPCIDevice *port = qpci_device_find(m->bus,
                                        QPCI_DEVFN(FIRST_SLOT + node->index,
                                                   0));
    uint8_t bus = FIRST_BUS + node->index;
    uint32_t first = window_of(node);
    uint32_t last = first + WINDOW_SIZE - 1;

    g_assert_nonnull(port);
    qpci_config_writew(port, PCI_COMMAND,
                       PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    qpci_config_writel(port, PCI_PRIMARY_BUS, bus << 16 | bus << 8);
    qpci_config_writel(port, PCI_MEMORY_BASE,
                       (last & 0xfff00000) | first >> 16);
    /* Neither a prefetchable window nor one of ports. */
    qpci_config_writel(port, PCI_PREF_MEMORY_BASE, 0x0000fff0);
    qpci_config_writew(port, PCI_IO_BASE, 0x00f0);
    qpci_config_writew(port, PCI_BRIDGE_CONTROL, 0);
    switch_slot_on(port);
    node->port = port;
    node->devfn = bus << 8;
}

static void set_msix(QPCIDevice *dev, uint16_t flags)
{
    qpci_config_writew(dev, cint_msix_control_of(dev), flags);
}

/*
 * What a driver finds may be in any state, with messages pending: of these
 * none is sent before the driver has written the table.
 */
static void calm_down(QPCIDevice *dev)
{
    qpci_config_writew(dev, PCI_COMMAND, 0);
    set_msix(dev, PCI_MSIX_FLAGS_MASKALL);
    qpci_config_writew(dev, cint_power_control_of(dev), 0);
    qpci_config_writel(dev, PCI_BASE_ADDRESS_1, 0);
}

/* One that is gone keeps its name and drive for a moment. */
static void plug(CintMachine *m, CintNode *node)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;
    g_autofree char *args = device_args(node);

    for (;;) {
        g_autofree char *answer = qtest_hmp(m->qts, "device_add %s", args);

        if (!*answer) {
            let_run(m, LAPS);
            return;
        }
        if (g_get_monotonic_time() > limit) {
            g_error("nvme%u cannot be plugged: %s", node->index, answer);
        }
    }
}

static QPCIDevice *find_or_plug(CintMachine *m, CintNode *node)
{
    QPCIDevice *dev = qpci_device_find(m->bus, node->devfn);

    if (!dev) {
        plug(m, node);
        dev = qpci_device_find(m->bus, node->devfn);
    }
    if (!dev) {
        g_error("nvme%u does not come back: nothing is in its slot",
                node->index);
    }
    return dev;
}

static void take_over(CintMachine *m, CintNode *node)
{
    CintTest *t = &node->t;

    t->qts = m->qts;
    t->bus = m->bus;
    t->alloc = m->alloc;
    m->bus->mmio_alloc_ptr = window_of(node);
    t->nvme = qnvme_new(t->pdev, &m->alloc);
    set_msix(t->pdev, PCI_MSIX_FLAGS_ENABLE);
    t->nvme->css = NVME_CC_CSS_ALL;
    qnvme_reset(t->nvme);
    /* No reset moves its own memory, which may lie over the guest's. */
    qnvme_reg_write(t->nvme, NVME_REG_CMBMSC, 0);
    qnvme_reg_write(t->nvme, NVME_REG_PMRMSCL, 0);
    t->buf = qnvme_buf_new(t->nvme, 2 * QNVME_PAGE_SIZE);
    qnvme_enable(t->nvme);
    qnvme_take_irq(t->nvme, 0);
}

void cint_machine_enumerate(CintMachine *m)
{
    unsigned i;

    settle(m);
    open_mmconfig(m);
    alloc_destroy(&m->alloc);
    alloc_init(&m->alloc, ALLOC_NO_FLAGS, ALLOC_START, CINT_RAM_SIZE,
               QNVME_PAGE_SIZE);
    for (i = 0; i < m->nodes; i++) {
        CintNode *node = &m->node[i];

        drop_node(node);
        node->devfn = QPCI_DEVFN(FIRST_SLOT + i, 0);
        if (node->behind_port) {
            set_up_port(m, node);
        }
    }
    /* Until all ports are set up, one may claim the bus of another. */
    for (i = 0; i < m->nodes; i++) {
        m->node[i].t.pdev = find_or_plug(m, &m->node[i]);
        calm_down(m->node[i].t.pdev);
    }
    /* Until all are calm, one may reset another. */
    for (i = 0; i < m->nodes; i++) {
        take_over(m, &m->node[i]);
    }
}

/* ---- A guest in its right mind ---- */

static void run(CintMachine *m, int64_t ns, unsigned laps)
{
    unsigned i;

    let_run(m, laps);
    cint_run(&m->node[0].t, ns);
    for (i = 1; i < m->nodes; i++) {
        m->node[i].t.clock = m->node[0].t.clock;
    }
    let_run(m, laps);
}

void cint_machine_run(CintMachine *m, int64_t ns)
{
    run(m, ns, LAPS);
}

/* The medium takes its time of the clock; the backend takes real time. */
static void wait_for_reads(CintMachine *m, QNvmeCq *cq)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;

    while (qnvme_visible(cq) < READS) {
        if (g_get_monotonic_time() > limit) {
            g_error("nvme, CQ %u: %u CQEs of %u reads", cq->id,
                    qnvme_visible(cq), READS);
        }
        run(m, MEDIUM_NS, FEW_LAPS);
    }
}

/* Whatever the policy is, some deadline is passed by a step that doubles. */
static uint32_t reap_what_is_told(CintMachine *m, CintNode *node, QNvmeCq *cq)
{
    uint32_t count, reaped = 0;
    int64_t step;

    for (step = 500; reaped < READS && step < 20 * CINT_SECOND; step *= 2) {
        run(m, step, 1);
        if (qnvme_take_irq(node->t.nvme, cq->vector)) {
            count = qnvme_visible(cq);
            qnvme_reap(cq, count);
            reaped += count;
        }
    }
    return reaped;
}

static void expect_node_sane(CintMachine *m, CintNode *node)
{
    QNvmeSq *sq = cint_queues(&node->t, 1);
    QNvmeCq *cq = sq->cq;

    cint_read(&node->t, sq, READS);
    wait_for_reads(m, cq);
    g_assert_cmpuint(reap_what_is_told(m, node, cq), ==, READS);
    run(m, 1, FEW_LAPS);
    qnvme_delete_sq(sq);
    qnvme_delete_cq(cq);
}

void cint_machine_expect_sane(CintMachine *m)
{
    unsigned i;

    for (i = 0; i < m->nodes; i++) {
        expect_node_sane(m, &m->node[i]);
    }
}

void cint_machine_expect_recovers(CintMachine *m)
{
    cint_machine_enumerate(m);
    cint_machine_expect_sane(m);
}

/* ---- An SD host with a card ---- */

#define CARD_ACMD41     (41 << 8)
#define CARD_SET_BLOCKLEN (16 << 8)
#define CARD_VOLTAGE    0x41200000      /* and the power-up bit */
#define CARD_BLOCK      4

/* Registers of other devices are where no reset of a controller moves them. */
static void open_window(QPCIBus *bus, unsigned slot)
{
    bus->mmio_alloc_ptr = OTHERS + (slot - CINT_CARD_SLOT) * OTHER_SIZE;
}

static uint64_t map_card_host(CintMachine *m)
{
    QPCIDevice *dev = qpci_device_find(m->bus, QPCI_DEVFN(CINT_CARD_SLOT, 0));
    uint64_t at;

    g_assert_nonnull(dev);
    open_window(m->bus, CINT_CARD_SLOT);
    at = qpci_iomap(dev, 0, NULL).addr;
    qpci_device_enable(dev);
    g_free(dev);
    return at;
}

static void command_card(CintMachine *m, uint64_t host, uint32_t argument,
                         uint16_t command)
{
    sdhci_cmd_regs(m->qts, host, 0, 0, argument, 0, command);
}

uint64_t cint_card_stop(CintMachine *m)
{
    uint64_t host = map_card_host(m);

    qtest_writeb(m->qts, host + SDHC_SWRST, SDHC_RESET_ALL);
    return host;
}

uint64_t cint_card_begin(CintMachine *m, bool write)
{
    uint64_t host = cint_card_stop(m);
    uint32_t rca;

    qtest_writew(m->qts, host + SDHC_CLKCON, SDHC_CLOCK_SDCLK_EN |
                 SDHC_CLOCK_INT_STABLE | SDHC_CLOCK_INT_EN);
    command_card(m, host, 0, 0);
    command_card(m, host, 0, SDHC_APP_CMD);
    command_card(m, host, CARD_VOLTAGE, CARD_ACMD41);
    command_card(m, host, 0, SDHC_ALL_SEND_CID);
    command_card(m, host, 0, SDHC_SEND_RELATIVE_ADDR | SDHC_CMD_RESPONSE);
    rca = qtest_readl(m->qts, host + SDHC_RSPREG0) & 0xffff0000;
    command_card(m, host, rca, SDHC_SELECT_DESELECT_CARD);
    command_card(m, host, CARD_BLOCK, CARD_SET_BLOCKLEN);
    sdhci_cmd_regs(m->qts, host, CARD_BLOCK, 0, 0, SDHC_TRNS_MULTI |
                   (write ? SDHC_TRNS_WRITE : SDHC_TRNS_READ),
                   SDHC_CMD_DATA_PRESENT |
                   (write ? SDHC_WRITE_MULTIPLE_BLOCK
                          : SDHC_READ_MULTIPLE_BLOCK));
    return host;
}

/* ---- Virtio ---- */

static QVirtioPCIDevice *find_virtio(QPCIBus *bus, unsigned slot)
{
    QPCIAddress addr = { .devfn = QPCI_DEVFN(slot, 0) };

    open_window(bus, slot);
    return virtio_pci_new(bus, &addr);
}

static void reset_virtio(QVirtioPCIDevice *dev, uint64_t features)
{
    qvirtio_pci_device_enable(dev);
    qvirtio_reset(&dev->vdev);
    qvirtio_set_acknowledge(&dev->vdev);
    qvirtio_set_driver(&dev->vdev);
    qvirtio_set_features(&dev->vdev, 1ull << VIRTIO_F_VERSION_1 | features);
}

/*
 * Of as many entries as are used, a power of 2: each costs two accesses when a
 * ring is set up, and there may be 256.
 */
static QVirtQueue *set_up_queue(QVirtioPCIDevice *dev, QGuestAllocator *alloc,
                                uint16_t index, uint16_t entries)
{
    dev->vdev.bus->queue_select(&dev->vdev, index);
    qpci_io_writew(dev->pdev, dev->bar, dev->common_cfg_offset +
                   offsetof(struct virtio_pci_common_cfg, queue_size),
                   entries);
    return qvirtqueue_setup(&dev->vdev, alloc, index);
}

/* Guest memory is given back by who enumerates. */
static void free_queue(QVirtQueue *vq)
{
    g_free(container_of(vq, QVirtQueuePCI, vq));
}

static void put_desc(QTestState *qts, const QVirtQueue *vq, uint16_t index,
                     struct vring_desc desc)
{
    desc = (struct vring_desc) {
        .addr = cpu_to_le64(desc.addr), .len = cpu_to_le32(desc.len),
        .flags = cpu_to_le16(desc.flags), .next = cpu_to_le16(desc.next),
    };
    qtest_memwrite(qts, vq->desc + index * sizeof(desc), &desc, sizeof(desc));
}

static uint16_t used_index(QTestState *qts, const QVirtQueue *vq)
{
    return qtest_readw(qts, vq->used + offsetof(struct vring_used, idx));
}

/* The request that begins with the first descriptor, @count times from now. */
static void offer_first(QTestState *qts, const QVirtQueue *vq, uint16_t count)
{
    uint16_t end = used_index(qts, vq) + count;

    qtest_memset(qts, vq->avail + offsetof(struct vring_avail, ring), 0,
                 2 * vq->size);
    qtest_writew(qts, vq->avail + offsetof(struct vring_avail, idx), end);
}

static void tell(QVirtioPCIDevice *dev, QVirtQueue *vq)
{
    dev->vdev.bus->virtqueue_kick(&dev->vdev, vq);
}

/* ---- A disk ---- */

static void put_read(QTestState *qts, const QVirtQueue *vq, uint64_t at)
{
    const struct virtio_blk_outhdr header = { .type = VIRTIO_BLK_T_IN };

    qtest_memwrite(qts, at, &header, sizeof(header));
    put_desc(qts, vq, 0, (struct vring_desc) {
        .addr = at, .len = sizeof(header), .flags = VRING_DESC_F_NEXT,
        .next = 1,
    });
    put_desc(qts, vq, 1, (struct vring_desc) {
        .addr = at + 512, .len = 512, .next = 2,
        .flags = VRING_DESC_F_NEXT | VRING_DESC_F_WRITE,
    });
    put_desc(qts, vq, 2, (struct vring_desc) {
        .addr = at + 1024, .len = 1, .flags = VRING_DESC_F_WRITE,
    });
}

/* Its registers are where they ought to be; to look for what is costs most. */
static QVirtioPCIDevice *find_blk(CintMachine *m)
{
    if (!m->blk) {
        m->blk = find_virtio(m->bus, CINT_BLK_SLOT);
    }
    open_window(m->bus, CINT_BLK_SLOT);
    return m->blk;
}

void cint_blk_stop(CintMachine *m)
{
    QVirtioPCIDevice *dev = find_blk(m);

    qvirtio_pci_device_enable(dev);
    qvirtio_reset(&dev->vdev);
}

CintBlk *cint_blk_begin(CintMachine *m)
{
    QVirtioPCIDevice *dev = find_blk(m);
    CintBlk *blk = g_new0(CintBlk, 1);
    QVirtQueuePCI *pci_vq;

    reset_virtio(dev, 0);
    qpci_msix_enable(dev->pdev);
    *blk = (CintBlk) {
        .qts = m->qts,
        .dev = dev,
        .vq = set_up_queue(dev, &m->alloc, 0, BLK_ENTRIES),
    };
    pci_vq = container_of(blk->vq, QVirtQueuePCI, vq);
    blk->doorbell = dev->bar.addr + pci_vq->notify_offset;
    qvirtqueue_pci_msix_setup(dev, pci_vq, &m->alloc, 0);
    put_read(m->qts, blk->vq, guest_alloc(&m->alloc, QNVME_PAGE_SIZE));
    qvirtio_set_driver_ok(&dev->vdev);
    return blk;
}

void cint_blk_free(CintBlk *blk)
{
    free_queue(blk->vq);
    g_free(blk);
}

void cint_blk_aim(CintBlk *blk, uint64_t at, uint32_t value)
{
    QPCIDevice *pdev = blk->dev->pdev;
    QPCIBar bar = pdev->msix_table_bar;
    uint64_t entry = pdev->msix_table_off;

    qpci_io_writel(pdev, bar, entry + PCI_MSIX_ENTRY_LOWER_ADDR, at);
    qpci_io_writel(pdev, bar, entry + PCI_MSIX_ENTRY_UPPER_ADDR, at >> 32);
    qpci_io_writel(pdev, bar, entry + PCI_MSIX_ENTRY_DATA, value);
}

void cint_blk_offer(CintBlk *blk, uint16_t count)
{
    offer_first(blk->qts, blk->vq, MIN(count, blk->vq->size));
}

/* ---- virtio-iommu ---- */

CintIommu *cint_iommu_begin(QPCIBus *bus, QGuestAllocator *alloc)
{
    CintIommu *v = g_new0(CintIommu, 1);
    QVirtioPCIDevice *dev = find_virtio(bus, CINT_IOMMU_SLOT);

    reset_virtio(dev, 1ull << VIRTIO_IOMMU_F_MAP_UNMAP |
                      1ull << VIRTIO_IOMMU_F_BYPASS_CONFIG);
    *v = (CintIommu) {
        .qts = bus->qts,
        .dev = dev,
        .requests = set_up_queue(dev, alloc, 0, IOMMU_ENTRIES),
        .events = set_up_queue(dev, alloc, 1, CINT_IOMMU_EVENTS),
        .page = guest_alloc(alloc, QNVME_PAGE_SIZE),
    };
    qvirtio_set_driver_ok(&dev->vdev);
    cint_iommu_bypass(v, true);
    return v;
}

void cint_iommu_reset(CintIommu *v)
{
    cint_iommu_bypass(v, true);
    qvirtio_reset(&v->dev->vdev);
}

void cint_iommu_free(CintIommu *v)
{
    free_queue(v->requests);
    free_queue(v->events);
    free_virtio(v->dev);
    g_free(v);
}

static bool is_answered(const CintIommu *v, uint16_t before)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;

    while (used_index(v->qts, v->requests) == before) {
        if (g_get_monotonic_time() > limit) {
            return false;
        }
    }
    return true;
}

/* Where the answer is going to be. */
static uint64_t offer_request(CintIommu *v, const void *request, size_t size)
{
    const size_t answer = sizeof(struct virtio_iommu_req_tail);

    qtest_memwrite(v->qts, v->page, request, size);
    put_desc(v->qts, v->requests, 0, (struct vring_desc) {
        .addr = v->page, .len = size - answer, .flags = VRING_DESC_F_NEXT,
        .next = 1,
    });
    put_desc(v->qts, v->requests, 1, (struct vring_desc) {
        .addr = v->page + size - answer, .len = answer,
        .flags = VRING_DESC_F_WRITE,
    });
    offer_first(v->qts, v->requests, 1);
    return v->page + size - answer;
}

int cint_iommu_ask(CintIommu *v, const void *request, size_t size)
{
    uint16_t before = used_index(v->qts, v->requests);
    uint64_t answer = offer_request(v, request, size);

    tell(v->dev, v->requests);
    return is_answered(v, before) ? qtest_readb(v->qts, answer) : -ETIMEDOUT;
}

uint64_t cint_iommu_doorbell(const CintIommu *v)
{
    return v->dev->bar.addr +
           container_of(v->requests, QVirtQueuePCI, vq)->notify_offset;
}

int cint_iommu_attach(CintIommu *v, const QPCIDevice *dev, bool bypass)
{
    /* A domain passes through or maps, for as long as anybody is in it. */
    const struct virtio_iommu_req_attach request = {
        .head.type = VIRTIO_IOMMU_T_ATTACH,
        .domain = cpu_to_le32(CINT_IOMMU_DOMAIN + bypass),
        .endpoint = cpu_to_le32(dev->devfn),
        .flags = cpu_to_le32(bypass ? VIRTIO_IOMMU_ATTACH_F_BYPASS : 0),
    };

    return cint_iommu_ask(v, &request, sizeof(request));
}

static struct virtio_iommu_req_detach detach(const QPCIDevice *dev, bool bypass)
{
    return (struct virtio_iommu_req_detach) {
        .head.type = VIRTIO_IOMMU_T_DETACH,
        .domain = cpu_to_le32(CINT_IOMMU_DOMAIN + bypass),
        .endpoint = cpu_to_le32(dev->devfn),
    };
}

int cint_iommu_detach(CintIommu *v, const QPCIDevice *dev, bool bypass)
{
    const struct virtio_iommu_req_detach request = detach(dev, bypass);

    return cint_iommu_ask(v, &request, sizeof(request));
}

void cint_iommu_offer_detach(CintIommu *v, const QPCIDevice *dev, bool bypass)
{
    const struct virtio_iommu_req_detach request = detach(dev, bypass);

    offer_request(v, &request, sizeof(request));
}

int cint_iommu_map(CintIommu *v, uint64_t from, uint64_t size, uint64_t to)
{
    const struct virtio_iommu_req_map request = {
        .head.type = VIRTIO_IOMMU_T_MAP,
        .domain = cpu_to_le32(CINT_IOMMU_DOMAIN),
        .virt_start = cpu_to_le64(from),
        .virt_end = cpu_to_le64(from + size - 1),
        .phys_start = cpu_to_le64(to),
        .flags = cpu_to_le32(VIRTIO_IOMMU_MAP_F_READ |
                             VIRTIO_IOMMU_MAP_F_WRITE),
    };

    return cint_iommu_ask(v, &request, sizeof(request));
}

int cint_iommu_unmap(CintIommu *v, uint64_t from, uint64_t size)
{
    const struct virtio_iommu_req_unmap request = {
        .head.type = VIRTIO_IOMMU_T_UNMAP,
        .domain = cpu_to_le32(CINT_IOMMU_DOMAIN),
        .virt_start = cpu_to_le64(from),
        .virt_end = cpu_to_le64(from + size - 1),
    };

    return cint_iommu_ask(v, &request, sizeof(request));
}

void cint_iommu_bypass(CintIommu *v, bool on)
{
    qpci_io_writeb(v->dev->pdev, v->dev->bar, v->dev->device_cfg_offset +
                   offsetof(struct virtio_iommu_config, bypass), on);
}

void cint_iommu_report_to(CintIommu *v, uint64_t at)
{
    put_desc(v->qts, v->events, 0, (struct vring_desc) {
        .addr = at, .len = sizeof(struct virtio_iommu_fault),
        .flags = VRING_DESC_F_WRITE,
    });
    offer_first(v->qts, v->events, CINT_IOMMU_EVENTS);
    tell(v->dev, v->events);
}

unsigned cint_iommu_reported(const CintIommu *v)
{
    return used_index(v->qts, v->events);
}

/* ---- What aims ---- */

void cint_aim(CintTest *t, uint16_t vector, uint64_t addr, uint32_t data)
{
    qnvme_vector_target(t->nvme, vector, addr, data, false);
}

QNvmeCq *cint_create_cq_at(CintTest *t, uint16_t id, uint32_t entries,
                           uint64_t addr)
{
    QNvmeCq *cq = g_new0(QNvmeCq, 1);
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_CREATE_CQ,
        .dptr.prp1 = cpu_to_le64(addr),
        .cdw10 = cpu_to_le32((entries - 1) << 16 | id),
        .cdw11 = cpu_to_le32(id << 16 | NVME_CQ_IEN | NVME_CQ_PC),
    };

    *cq = (QNvmeCq) {
        .ctrl = t->nvme, .id = id, .vector = id, .entries = entries,
        .addr = addr, .phase = true,
    };
    g_assert_cmphex(qnvme_admin(t->nvme, &cmd, NULL), ==, 0);
    t->nvme->cqs[id] = cq;
    return cq;
}
