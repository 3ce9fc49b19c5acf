/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A guest that means harm, on a machine with all that it can reach: three
 * controllers behind root ports with hot-plug and memory of their own, two of
 * which share namespaces (zoned, with metadata, late, in memory, in an image,
 * with Copy and atomic writes), one with FDP, whose namespace is in memory;
 * persistent memory, virtual functions or an IOMMU, as the case has it;
 * configuration space in memory. An SD host, whose data port has who reads it
 * wait in the main loop, and another disk, whose message resets them meanwhile.
 * Registers, doorbells, commands, features, queues, status records, shadow
 * doorbells and lists of addresses are full of random values, with clock steps
 * in between. Messages, CQEs and data go anywhere, also to what resets or
 * unplugs a controller. Controllers come and go, while the operator changes
 * properties, stops the machine and resets it. QEMU must survive, best built
 * with sanitizers; and after every ROUND inputs a guest in its right mind must
 * get each completion and a message on each controller.
 *
 * CINT_FUZZ_INPUTS is the number of inputs per case: accesses to registers,
 * configuration space and memory, clock steps and QMP commands. A failure
 * repeats with "--seed" and the random seed that the test prints. With
 * CINT_FUZZ_AIO=threads no disk is written by native AIO, of which memcheck
 * does not see what it reads.
 */
#include "qemu/osdep.h"
#include <sched.h>
#include "qemu/cutils.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-fuzz.h"

#define INPUTS      2000        /* unless CINT_FUZZ_INPUTS says otherwise */
#define ROUND       250         /* inputs between two looks at a sane guest */
#define COMMON      ",max_ioqpairs=5,msix_qsize=6,aerl=7,cmb_size_mb=1"
/* Memory of controllers, as they see it: there is none for anybody else. */
#define CMB         0x8000000ull
#define PMR         0xc000000ull
#define PMR_SIZE    (16 * MiB)

/* Virtual functions: where the capability is, and what it needs. */
#define SRIOV       0x120
#define SRIOV_OPTS \
    ",cmb_size_mb=0,max_ioqpairs=9,msix_qsize=12,sriov_max_vfs=2," \
    "sriov_vq_flexible=4,sriov_vi_flexible=4"

/* A block of a card, of real time: more than data that is late takes. */
#define CARD_NS     6000000
#define FLASH_NS    1000000
#define BLK_READS   4
/* Namespaces that are late, of the controllers that share. */
#define LATE        3
#define STOCK       2           /* the controller that is none of ours */

#define VTD         0xfed90000ull   /* registers of intel-iommu */
#define VTD_GCMD    0x18
#define VTD_RTADDR  0x20
#define VTD_CCMD    0x28
#define VTD_IOTLB   0xf8

#define SLOTS \
    "cint=on,cint.policy=cint,cint.media=custom,cint.media.slots=4," \
    "cint.media.read-latency=3000,cint.media.write-latency=1000," \
    "cint.media.units=2"

/* ---- Random values ---- */

uint32_t fuzz_below(uint32_t limit)
{
    return g_test_rand_int_range(0, limit);
}

bool fuzz_one_in(uint32_t n)
{
    return !fuzz_below(n);
}

uint32_t fuzz_any32(void)
{
    return g_test_rand_int();
}

/* Small numbers, limits and their neighbours are where mistakes live. */
uint32_t fuzz_number(void)
{
    static const uint32_t limits[] = {
        0, FUZZ_ENTRIES, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
        0x80000000,
    };
    static const uint32_t harm[] = {
        0, PCI_EXP_DEVCTL_BCR_FLR, CINT_SLOT_OFF,
        PCI_BRIDGE_CTL_BUS_RESET << 16, 0x00408700, CINT_FLASH_ERASE,
    };

    switch (fuzz_below(5)) {
    case 0:
        return fuzz_below(20);
    case 1:
        return limits[fuzz_below(ARRAY_SIZE(limits))] - fuzz_below(2);
    case 2:
        return fuzz_any32() & 0xffff;
    case 3:
        return harm[fuzz_below(ARRAY_SIZE(harm))];
    default:
        return fuzz_any32();
    }
}

Victim *fuzz_victim(Fuzz *f)
{
    return &f->victims[fuzz_below(CINT_NODES)];
}

uint64_t fuzz_registers(Fuzz *f)
{
    const Victim *v = fuzz_victim(f);

    switch (fuzz_below(12)) {
    case 0:
        return v->flr;
    case 11:
        return CINT_FLASH_AT + fuzz_below(CINT_FLASH_SIZE);
    case 8:
        return (v->flr & ~0xfffull) + SRIOV + PCI_SRIOV_CTRL;
    case 9:
        return f->card + (fuzz_one_in(2) ? CINT_CARD_PORT :
                          4 * fuzz_below(CINT_CARD_REGISTERS / 4));
    case 10:
        return cint_blk_doorbell(f->blk);
    case 1:
        return v->slot;
    case 2:
        return cint_config_at(v->node->port) + PCI_INTERRUPT_LINE;
    case 3:
        return v->n->bar.addr + NVME_REG_CC;
    case 4:
        return v->n->bar.addr + FUZZ_DOORBELLS + 4 * fuzz_below(10);
    case 5:
        return v->n->bar.addr + (fuzz_any32() & (FUZZ_BAR_END - 4));
    case 6:
        return cint_config_at(v->node->port) + 4 * fuzz_below(64);
    default:
        return (v->flr & ~0xfffull) + 4 * fuzz_below(64);
    }
}

/* Memory, also the controller's and where there is none, and registers. */
uint64_t fuzz_address(Fuzz *f)
{
    uint64_t page = f->v->node->t.buf.addr;

    if (f->lure && fuzz_one_in(2)) {
        return f->lure;
    }
    switch (fuzz_below(12)) {
    case 0:
        return fuzz_registers(f);
    case 10:
        return CMB + fuzz_below(2 * MiB);
    case 11:
        return PMR + fuzz_below(PMR_SIZE + MiB);
    case 1:
        return CINT_RAM_SIZE - fuzz_below(QNVME_PAGE_SIZE);
    case 2:
        return (uint64_t)fuzz_any32() << 32 | fuzz_any32();
    case 3:
        return fuzz_below(2) ? 0 : UINT64_MAX;
    case 4:
        return page + fuzz_below(QNVME_PAGE_SIZE);
    case 5:
        /* Each other's queues. */
        return fuzz_victim(f)->queues +
               fuzz_below(FUZZ_PAGES * QNVME_PAGE_SIZE);
    default:
        return page;
    }
}

/* ---- Inputs ---- */

void fuzz_put_memory(Fuzz *f, uint64_t addr, const void *bytes, size_t size)
{
    f->inputs++;
    qtest_memwrite(f->qts, addr, bytes, size);
}

void fuzz_put_register(Fuzz *f, uint64_t offset, uint32_t value)
{
    f->inputs++;
    qpci_io_writel(f->v->n->pdev, f->v->n->bar, offset, value);
}

static void put_config(Fuzz *f, QPCIDevice *dev, uint8_t offset, uint32_t value)
{
    f->inputs++;
    qpci_config_writel(dev, offset, value);
}

static void put_table(Fuzz *f, uint16_t vector, uint32_t field, uint32_t value)
{
    QPCIDevice *dev = f->v->n->pdev;

    f->inputs++;
    qpci_io_writel(dev, dev->msix_table_bar, dev->msix_table_off + field +
                   vector * PCI_MSIX_ENTRY_SIZE, value);
}

/* ---- Attacks on registers ---- */

static void write_register(Fuzz *f, uint64_t offset)
{
    QPCIDevice *dev = f->v->n->pdev;
    QPCIBar bar = f->v->n->bar;

    f->inputs++;
    switch (fuzz_below(8)) {
    case 0:
        qpci_io_writeb(dev, bar, offset + fuzz_below(4), fuzz_any32());
        break;
    case 1:
        qpci_io_writew(dev, bar, offset + 2 * fuzz_below(2), fuzz_any32());
        break;
    case 2:
        qpci_io_writeq(dev, bar, offset & ~7ull,
                       (uint64_t)fuzz_any32() << 32 | fuzz_number());
        break;
    case 3:
        qpci_io_readq(dev, bar, offset & ~7ull);
        break;
    default:
        qpci_io_writel(dev, bar, offset, fuzz_number());
    }
}

static void attack_register(Fuzz *f)
{
    write_register(f, fuzz_below(FUZZ_DOORBELLS) & ~3u);
}

static void attack_doorbell(Fuzz *f)
{
    unsigned index = fuzz_one_in(4) ? fuzz_below(512)
                                    : fuzz_below(2 * FUZZ_QUEUES + 4);

    write_register(f, FUZZ_DOORBELLS + 4 * index);
}

/* The interrupt pointers, and what lies before and behind them. */
static void attack_pointer(Fuzz *f)
{
    write_register(f, fuzz_below(FUZZ_BAR_END - FUZZ_DOORBELLS) / 4 * 4 +
                      FUZZ_DOORBELLS);
}

static void attack_clock(Fuzz *f)
{
    f->inputs++;
    cint_run(&f->m->node[0].t, fuzz_one_in(8) ? fuzz_below(30000000)
                                              : fuzz_below(20000));
}

static void aim_vector(Fuzz *f, uint16_t vector, uint64_t addr, uint32_t data)
{
    put_table(f, vector, PCI_MSIX_ENTRY_LOWER_ADDR, addr & ~3u);
    put_table(f, vector, PCI_MSIX_ENTRY_UPPER_ADDR, addr >> 32);
    put_table(f, vector, PCI_MSIX_ENTRY_DATA, data);
    put_table(f, vector, PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
}

/* Masks, unmasks, and aims messages. */
static void attack_vector(Fuzz *f)
{
    uint16_t vector = fuzz_below(FUZZ_QUEUES + 2);
    uint64_t target = fuzz_one_in(2) ? fuzz_registers(f) : fuzz_address(f);

    if (fuzz_one_in(2)) {
        put_table(f, vector, PCI_MSIX_ENTRY_LOWER_ADDR, target & ~3u);
        put_table(f, vector, PCI_MSIX_ENTRY_UPPER_ADDR, target >> 32);
        put_table(f, vector, PCI_MSIX_ENTRY_DATA, fuzz_number());
    }
    put_table(f, vector, PCI_MSIX_ENTRY_VECTOR_CTRL,
              fuzz_one_in(3) ? PCI_MSIX_ENTRY_CTRL_MASKBIT : 0);
}

/* MSI-X off and on, or all of it masked. */
static void attack_msix(Fuzz *f)
{
    f->inputs++;
    qpci_config_writew(f->v->n->pdev, f->v->msix,
                       fuzz_one_in(2) ? PCI_MSIX_FLAGS_ENABLE :
                                        fuzz_below(4) * PCI_MSIX_FLAGS_MASKALL);
}

static void set_command(Fuzz *f, bool master)
{
    f->inputs++;
    qpci_config_writew(f->v->n->pdev, PCI_COMMAND, PCI_COMMAND_MEMORY |
                       (master ? PCI_COMMAND_MASTER : 0) |
                       (fuzz_one_in(4) ? PCI_COMMAND_INTX_DISABLE : 0));
}

/* Bus mastering off and on again, with something to do in between. */
static void attack_command(Fuzz *f)
{
    set_command(f, false);
    attack_doorbell(f);
    attack_clock(f);
    set_command(f, true);
}

static void move_bar(Fuzz *f, uint64_t to)
{
    put_config(f, f->v->n->pdev, PCI_BASE_ADDRESS_0, to);
    f->v->n->bar.addr = to;
    f->v->n->pdev->msix_table_bar.addr = to;
    f->v->n->pdev->msix_pba_bar.addr = to;
}

/* Registers move to where messages and records may already be aimed at. */
static void attack_bar(Fuzz *f)
{
    move_bar(f, f->v->bar + (fuzz_below(3) << 20));
}

/* What a guest with shadow doorbells does behind the device's back. */
static void attack_shadow(Fuzz *f)
{
    uint32_t value = cpu_to_le32(fuzz_number());
    uint32_t offset = fuzz_one_in(4) ? fuzz_below(2 * QNVME_PAGE_SIZE / 4)
                                     : fuzz_below(2 * FUZZ_QUEUES + 4);

    fuzz_put_memory(f, f->v->shadow + 4 * offset, &value, sizeof(value));
}

/* ---- Attacks by resets and hot-plug ---- */

/* FLR, power management, or any of configuration space. */
static void attack_config(Fuzz *f)
{
    QPCIDevice *dev = f->v->n->pdev;

    switch (fuzz_below(4)) {
    case 0:
        put_config(f, dev, f->v->flr & 0xff, PCI_EXP_DEVCTL_BCR_FLR);
        break;
    case 1:
        put_config(f, dev, f->v->pm, fuzz_below(4));
        break;
    default:
        put_config(f, fuzz_one_in(2) ? dev : f->v->node->port,
                   4 * fuzz_below(64), fuzz_number());
    }
}

/* Power off, which unplugs what an operator wants back, or just does. */
static void attack_slot(Fuzz *f)
{
    uint8_t offset = f->v->slot & 0xff;

    if (fuzz_one_in(2)) {
        g_autofree char *id = g_strdup_printf("nvme%u", f->v->node->index);

        f->inputs++;
        qobject_unref(qtest_qmp(f->qts, "{'execute': 'device_del', "
                                "'arguments': {'id': %s}}", id));
    }
    put_config(f, f->v->node->port, offset, CINT_SLOT_OFF);
    attack_clock(f);
    put_config(f, f->v->node->port, offset, 0x01c0);
}

/* Whoever resets the bus holds it there for a while. */
static void attack_bus(Fuzz *f)
{
    put_config(f, f->v->node->port, PCI_INTERRUPT_LINE,
               PCI_BRIDGE_CTL_BUS_RESET << 16);
    attack_clock(f);
    put_config(f, f->v->node->port, PCI_INTERRUPT_LINE, 0);
}

/* Slots without power, one right behind the other. */
static void attack_slots(Fuzz *f)
{
    unsigned i;

    for (i = 0; i < CINT_NODES; i++) {
        f->v = &f->victims[i];
        put_config(f, f->v->node->port, f->v->slot & 0xff, CINT_SLOT_OFF);
        fuzz_io(f);
    }
}

/* Virtual functions come and go; there may be none. */
static void attack_virtual_functions(Fuzz *f)
{
    uint64_t at = (f->v->flr & ~0xfffull) + SRIOV;

    f->inputs++;
    if (fuzz_one_in(3)) {
        qtest_writel(f->qts, at + PCI_SRIOV_CTRL, 0);
    }
    qtest_writew(f->qts, at + PCI_SRIOV_NUM_VF, fuzz_below(4));
    qtest_writel(f->qts, at + PCI_SRIOV_BAR, f->v->bar + 0x400000);
    qtest_writel(f->qts, at + PCI_SRIOV_CTRL,
                 fuzz_one_in(4) ? fuzz_below(16) :
                 PCI_SRIOV_CTRL_VFE | PCI_SRIOV_CTRL_MSE);
}

/* Tables that let everything pass, but for some functions. */
static uint64_t fill_iommu(Fuzz *f)
{
    uint64_t root = f->iommu, context = f->iommu + QNVME_PAGE_SIZE;
    uint64_t entries[2 * 256];
    int i;

    for (i = 0; i < ARRAY_SIZE(entries); i += 2) {
        entries[i] = cpu_to_le64(context | 1);
        entries[i + 1] = 0;
    }
    qtest_memwrite(f->qts, root, entries, sizeof(entries));
    for (i = 0; i < ARRAY_SIZE(entries); i += 2) {
        entries[i] = cpu_to_le64(fuzz_one_in(16) ? fuzz_any32() : 2 << 2 | 1);
        entries[i + 1] = cpu_to_le64(1 << 8 | 1);
    }
    fuzz_put_memory(f, context, entries, sizeof(entries));
    return fuzz_one_in(8) ? fuzz_address(f) & ~0xfffull : root;
}

static void translate(Fuzz *f, bool on)
{
    if (f->iommu) {
        f->inputs++;
        qtest_writel(f->qts, VTD + VTD_GCMD, on ? 1u << 31 : 0);
    }
}

/* Translation is switched, or other tables are there, under what goes on. */
static void attack_tables(Fuzz *f)
{
    qtest_writeq(f->qts, VTD + VTD_RTADDR, fill_iommu(f));
    qtest_writel(f->qts, VTD + VTD_GCMD, 1u << 30);
    fuzz_io(f);
    qtest_writeq(f->qts, VTD + VTD_CCMD, 1ull << 63 | 1ull << 61);
    qtest_writeq(f->qts, VTD + VTD_IOTLB, 1ull << 63 | 1ull << 60);
    translate(f, !fuzz_one_in(3));
}

/* A page that the controller that is attacked needs, or is lured to. */
static uint64_t any_page(Fuzz *f)
{
    const QNvmeCtrl *n = f->v->n;
    uint16_t id = 1 + fuzz_below(FUZZ_QUEUES);

    switch (fuzz_below(7)) {
    case 0:
        return n->sqs[id]->addr;
    case 1:
        return n->cqs[id]->addr;
    case 2:
        return n->admin_sq.addr;
    case 3:
        return n->admin_cq.addr;
    case 4:
        return f->v->shadow + fuzz_below(2) * QNVME_PAGE_SIZE;
    case 5:
        return f->v->queues + fuzz_below(FUZZ_PAGES) * QNVME_PAGE_SIZE;
    default:
        return f->v->node->t.buf.addr + fuzz_below(2) * QNVME_PAGE_SIZE;
    }
}

/*
 * The address that is reported, or another field, is over what resets: half of
 * all pages have the bit that does. A bottom half's own registers are guarded.
 */
static void aim_reports(Fuzz *f)
{
    static const unsigned offsets[] = { 16, 20, 12, 8, 0 };
    uint64_t at = fuzz_one_in(2) ? f->v->flr : fuzz_registers(f);
    unsigned offset = fuzz_one_in(3) ? fuzz_below(ARRAY_SIZE(offsets)) : 0;

    f->inputs++;
    cint_iommu_report_to(f->virtio_iommu, at - offsets[offset]);
}

/* All is mapped as it is, but for a page, which may be somewhere else. */
static bool map_all_but(Fuzz *f, uint64_t page)
{
    CintIommu *v = f->virtio_iommu;
    uint64_t end = page + QNVME_PAGE_SIZE;

    f->inputs += 5;
    cint_iommu_detach(v, f->v->n->pdev, false);
    cint_iommu_attach(v, f->v->n->pdev, fuzz_one_in(16));
    cint_iommu_map(v, 0, page, 0);
    if (fuzz_one_in(4)) {
        cint_iommu_map(v, page, QNVME_PAGE_SIZE,
                       fuzz_address(f) & ~(QNVME_PAGE_SIZE - 1ull));
    }
    return cint_iommu_map(v, end, BIT_ULL(32) - end, end) != -ETIMEDOUT;
}

/*
 * A page is missing, and what is said of it is written to what resets. Who
 * waits for an IOMMU that has had enough waits once.
 */
static void attack_mappings(Fuzz *f)
{
    uint64_t page = any_page(f);

    if (!f->virtio_iommu) {
        return;
    }
    if (!map_all_but(f, page)) {
        g_clear_pointer(&f->virtio_iommu, cint_iommu_free);
        return;
    }
    aim_reports(f);
    f->lure = page;
    fuzz_io(f);
    fuzz_admin(f);
    f->lure = 0;
    attack_clock(f);
    if (fuzz_one_in(3)) {
        f->inputs++;
        cint_iommu_bypass(f->virtio_iommu, fuzz_one_in(2));
    }
    if (fuzz_one_in(3)) {
        f->inputs++;
        cint_iommu_detach(f->virtio_iommu, f->v->n->pdev, false);
    }
}

static void attack_iommu(Fuzz *f)
{
    if (f->iommu) {
        attack_tables(f);
    } else {
        attack_mappings(f);
    }
}

/* ---- Attacks through a device that waits ---- */

/* A dword, and a value, that reset or unplug a controller. */
static uint64_t choose_harm(Fuzz *f, uint32_t *value)
{
    const Victim *v = fuzz_one_in(4) ? fuzz_victim(f) : f->v;

    switch (fuzz_below(5)) {
    case 0:
        *value = PCI_EXP_DEVCTL_BCR_FLR;
        return v->flr;
    case 1:
        *value = 0;
        return v->n->bar.addr + NVME_REG_CC;
    case 2:
        *value = CINT_SLOT_OFF;
        return v->slot;
    case 3:
        *value = PCI_BRIDGE_CTL_BUS_RESET << 16;
        return cint_config_at(v->node->port) + PCI_INTERRUPT_LINE;
    default:
        *value = fuzz_number();
        return fuzz_registers(f);
    }
}

/* A read of data that is late, and a message that tells the other disk. */
static void have_told(Fuzz *f, Victim *by)
{
    QNvmeSq *sq = by->n->sqs[1 + fuzz_below(FUZZ_QUEUES)];
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &by->node->t.buf, 0, 512);
    uint32_t slot = fuzz_below(FUZZ_ENTRIES);
    Victim *v = f->v;

    f->v = by;
    aim_vector(f, sq->id, cint_blk_doorbell(f->blk), 0);
    cmd.nsid = cpu_to_le32(LATE);
    fuzz_put_memory(f, sq->addr + slot * sizeof(cmd), &cmd, sizeof(cmd));
    fuzz_put_register(f, FUZZ_DOORBELLS + 8 * sq->id,
                      (slot + 1) % FUZZ_ENTRIES);
    f->v = v;
}

/*
 * From now on it is a matter of time. The other disk's message is what holds no
 * controller, so that nothing of what it resets is put off.
 */
static void have_blk_reset(Fuzz *f)
{
    uint32_t value;
    uint64_t at = choose_harm(f, &value);

    f->inputs++;
    cint_blk_aim(f->blk, at, value);
    cint_blk_offer(f->blk, BLK_READS);
    have_told(f, &f->victims[f->v->node->index == STOCK ? 0 : STOCK]);
}

/* Queues, lists and data are where who reads waits, and is reset meanwhile. */
static void attack_card(Fuzz *f)
{
    uint16_t id = 1 + fuzz_below(FUZZ_QUEUES);

    f->inputs++;
    f->card = cint_card_begin(f->m, fuzz_one_in(4));
    if (fuzz_one_in(3)) {
        id = fuzz_move_queue(f, f->card);
        attack_clock(f);
    } else {
        f->lure = f->card;
        fuzz_io(f);
        fuzz_admin(f);
        f->lure = 0;
    }
    have_blk_reset(f);
    fuzz_put_register(f, FUZZ_DOORBELLS + 8 * id, fuzz_below(FUZZ_ENTRIES));
    attack_clock(f);
}

/* ---- Attacks by the operator ---- */

/* One of the words that a property may be set to, or a number (NULL). */
typedef struct Property {
    const char *name;
    const char *words[7];
} Property;

static const Property properties[] = {
    { "delta" }, { "thr" }, { "max-hold" }, { "kick-window" },
    { "max-irq-rate" }, { "ewma-shift" }, { "static-time" },
    { "static-thr" }, { "cif-threshold" }, { "epoch" },
    { "media.slots" }, { "media.units" }, { "media.seed" },
    { "media.spread" },
    { "policy", { "default", "static", "adaptive", "vic", "cint", "pointer",
                "auto" } },
    { "drain", { "auto", "on", "off" } },
    { "barrier", { "relaxed", "strict", "generation" } },
    { "infer", { "off", "batch", "all", "learn", "content", "both" } },
    { "tune", { "off", "on" } },
    { "storm", { "hold", "retune" } },
    { "vic-scope", { "controller", "cq" } },
};

/* What an operator does meanwhile, who may be wrong as well. */
static void attack_property(Fuzz *f)
{
    const Property *p = &properties[fuzz_below(ARRAY_SIZE(properties))];
    g_autofree char *path = g_strdup_printf("/machine/peripheral/nvme%u",
                                            f->v->node->index);
    g_autofree char *name = g_strconcat("cint.", p->name, NULL);
    const char *word = p->words[fuzz_below(ARRAY_SIZE(p->words))];
    QDict *answer;

    f->inputs++;
    if (word) {
        answer = qtest_qmp(f->qts, "{'execute': 'qom-set', 'arguments': "
            "{'path': %s, 'property': %s, 'value': %s}}", path, name, word);
    } else {
        answer = qtest_qmp(f->qts, "{'execute': 'qom-set', 'arguments': "
            "{'path': %s, 'property': %s, 'value': %lld}}", path, name,
            fuzz_one_in(2) ? (long long)fuzz_below(100)
                           : (long long)fuzz_number());
    }
    qobject_unref(answer);
}

/* An operator's way to have an event told, whatever the guest is at. */
static void warn_of_temperature(Fuzz *f)
{
    g_autofree char *path = g_strdup_printf("/machine/peripheral/nvme%u",
                                            f->v->node->index);

    f->inputs++;
    qobject_unref(qtest_qmp(f->qts, "{'execute': 'qom-set', 'arguments': "
        "{'path': %s, 'property': 'smart_critical_warning', 'value': %u}}",
        path, fuzz_below(64)));
}

/* Unplugged while it is changed, and changed while it is unplugged. */
static void unplug_and_change(Fuzz *f)
{
    g_autofree char *id = g_strdup_printf("nvme%u", f->v->node->index);

    fuzz_io(f);
    attack_property(f);
    qobject_unref(qtest_qmp(f->qts, "{'execute': 'device_del', "
                            "'arguments': {'id': %s}}", id));
    attack_property(f);
    put_config(f, f->v->node->port, f->v->slot & 0xff, CINT_SLOT_OFF);
    attack_property(f);
}

static bool any_is_plugged(Fuzz *f)
{
    g_autofree char *tree = qtest_hmp(f->qts, "info qtree");

    return strstr(tree, "dev: nvme, id");
}

/*
 * Before QEMU 11.1 neither can be: there is no way to move what a controller is
 * at. Without any left, the power of all slots being off, the machine can be
 * migrated. Where controllers can be as well the machine goes nowhere, and goes
 * on here.
 */
static void save_and_migrate(Fuzz *f)
{
    g_autofree char *said = NULL;

    f->inputs++;
    if (!any_is_plugged(f)) {
        return;
    }
    said = qtest_hmp(f->qts, "savevm x");
    g_assert_cmpstr(said, !=, "");
    if (cint_can_migrate(f->qts)) {
        g_free(cint_migrate_nowhere(f->qts));
    } else {
        qtest_qmp_assert_failure_ref(f->qts, "{'execute': 'migrate', "
                                     "'arguments': {'uri': 'exec:cat'}}");
    }
}

/* The operator looks, or stops the machine, whose deadlines are late then. */
static void attack_machine(Fuzz *f)
{
    f->inputs++;
    if (fuzz_one_in(4)) {
        unplug_and_change(f);
        return;
    }
    if (fuzz_one_in(8)) {
        save_and_migrate(f);
        return;
    }
    if (fuzz_one_in(2)) {
        qobject_unref(qtest_qmp(f->qts, "{'execute': 'qom-get', "
            "'arguments': {'path': '/machine/peripheral/nvme0', "
            "'property': 'cint-stats'}}"));
        return;
    }
    qtest_qmp_assert_success(f->qts, "{'execute': 'stop'}");
    attack_clock(f);
    attack_property(f);
    warn_of_temperature(f);
    fuzz_io(f);
    qtest_qmp_assert_success(f->qts, "{'execute': 'cont'}");
}

/* Messages that reset while they are sent, and what sends them at once. */
static void attack_messages(Fuzz *f)
{
    uint16_t vector = fuzz_below(FUZZ_QUEUES + 1);
    uint64_t target = fuzz_registers(f);

    aim_vector(f, vector, target, fuzz_number());
    fuzz_io(f);
    attack_property(f);
}

/* ---- Recovery ---- */

static void adopt(Fuzz *f, CintNode *node)
{
    Victim *v = &f->victims[node->index];
    QPCIDevice *dev = node->t.pdev;
    uint16_t id;

    *v = (Victim) {
        .node = node,
        .n = node->t.nvme,
        .bar = node->t.nvme->bar.addr,
        .flr = cint_flr_at(dev),
        .slot = cint_slot_control_at(node->port),
        .shadow = guest_alloc(&f->m->alloc, 2 * QNVME_PAGE_SIZE),
        .queues = guest_alloc(&f->m->alloc, FUZZ_PAGES * QNVME_PAGE_SIZE),
        .msix = cint_msix_control_of(dev),
        .pm = cint_power_control_of(dev),
    };
    qnvme_reg_write(v->n, NVME_REG_CMBMSC + 4, CMB >> 32);
    qnvme_reg_write(v->n, NVME_REG_CMBMSC, CMB | 3);
    qnvme_reg_write(v->n, NVME_REG_PMRCTL, 1);
    qnvme_reg_write(v->n, NVME_REG_PMRMSCU, PMR >> 32);
    qnvme_reg_write(v->n, NVME_REG_PMRMSCL, PMR | 2);
    for (id = 1; id <= FUZZ_QUEUES; id++) {
        qnvme_create_sq(v->n, id, FUZZ_ENTRIES,
                        qnvme_create_cq(v->n, id, FUZZ_ENTRIES, id));
    }
    v->admin_tail = v->n->admin_sq.tail;
}

/* Namespace 1 may have been detached from anybody. */
static void attach(Fuzz *f, CintNode *node)
{
    QNvmeBuf *buf = &node->t.buf;
    uint16_t list[] = { cpu_to_le16(2), 0, cpu_to_le16(1) };

    if (node->index == 1) {
        list[0] = cpu_to_le16(1);
    }
    qtest_memwrite(f->qts, buf->addr, list, sizeof(list));
    qnvme_admin(node->t.nvme, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_NS_ATTACHMENT,
        .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(buf->addr),
    }, NULL);
}

/* Of the namespace in an image: who reads looks for what was written. */
static void refuse_unwritten(CintNode *node)
{
    qnvme_admin(node->t.nvme, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_SET_FEATURES,
        .nsid = cpu_to_le32(FUZZ_NAMESPACES),
        .cdw10 = cpu_to_le32(NVME_ERROR_RECOVERY),
        .cdw11 = cpu_to_le32(1 << 16),
    }, NULL);
}

/* A sane guest has blocks of 512 bytes. */
static void format(CintNode *node)
{
    uint16_t status = qnvme_admin(node->t.nvme, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_FORMAT_NVM,
        .nsid = cpu_to_le32(1),
    }, NULL);

    g_assert_cmphex(status, ==, 0);
}

/*
 * An operator who has made a medium slow takes that back: it is no fault. What
 * has no medium refuses it.
 */
static void speed_up(Fuzz *f, const CintNode *node)
{
    g_autofree char *path = g_strdup_printf("/machine/peripheral/nvme%u",
                                            node->index);

    qobject_unref(qtest_qmp(f->qts, "{'execute': 'qom-set', 'arguments': "
                            "{'path': %s, 'property': 'cint.media.spread', "
                            "'value': 0}}", path));
}

static void forget_others(Fuzz *f)
{
    g_clear_pointer(&f->virtio_iommu, cint_iommu_free);
    g_clear_pointer(&f->blk, cint_blk_free);
}

static void have_others(Fuzz *f)
{
    f->card = cint_card_begin(f->m, false);
    f->blk = cint_blk_begin(f->m);
    if (f->has_virtio_iommu) {
        f->virtio_iommu = cint_iommu_begin(f->m->bus, &f->m->alloc);
    }
}

static void detach_all(Fuzz *f)
{
    int i;

    for (i = 0; i < CINT_NODES; i++) {
        cint_iommu_detach(f->virtio_iommu, f->victims[i].n->pdev, false);
        cint_iommu_detach(f->virtio_iommu, f->victims[i].n->pdev, true);
    }
}

/*
 * Whatever has become of them, and where their registers are: they access
 * memory no more, and translate nothing.
 */
static void stop_others(Fuzz *f)
{
    forget_others(f);
    cint_card_stop(f->m);
    cint_blk_stop(f->m);
    if (f->has_virtio_iommu) {
        f->virtio_iommu = cint_iommu_begin(f->m->bus, &f->m->alloc);
        detach_all(f);
        cint_iommu_reset(f->virtio_iommu);
    }
    forget_others(f);
}

static void restore(Fuzz *f)
{
    unsigned i;

    translate(f, false);
    stop_others(f);
    cint_machine_enumerate(f->m);
    for (i = 0; i < CINT_NODES; i++) {
        speed_up(f, &f->m->node[i]);
        attach(f, &f->m->node[i]);
    }
    for (i = 0; i < CINT_NODES - 1; i++) {
        format(&f->m->node[i]);
    }
    refuse_unwritten(&f->m->node[0]);
}

static void set_up(Fuzz *f)
{
    unsigned i;

    have_others(f);
    for (i = 0; i < CINT_NODES; i++) {
        adopt(f, &f->m->node[i]);
    }
}

/*
 * Controller configuration: off, or anything, with queues anywhere. Half of
 * the time the drivers come back at once, since a controller that is off has
 * little to be attacked.
 */
static void attack_cc(Fuzz *f)
{
    f->inputs++;
    qnvme_reg_write(f->v->n, NVME_REG_CC, fuzz_one_in(3) ? fuzz_any32() : 0);
    if (fuzz_one_in(2)) {
        restore(f);
        set_up(f);
    } else if (fuzz_one_in(2)) {
        qnvme_reg_write(f->v->n, NVME_REG_ACQ, fuzz_address(f) & ~0xfffu);
        qnvme_reg_write(f->v->n, NVME_REG_CC, 0x00460061);
        f->v->admin_tail = 0;
    }
}

/* All at once, whatever is under way; firmware and drivers begin again. */
static void attack_reset(Fuzz *f)
{
    f->inputs++;
    qtest_system_reset(f->qts);
    restore(f);
    set_up(f);
}

static void attack(Fuzz *f)
{
    static const struct {
        void (*run)(Fuzz *f);
        unsigned weight;
    } attacks[] = {
        { fuzz_io, 28 }, { attack_doorbell, 14 }, { attack_clock, 18 },
        { fuzz_admin, 24 }, { attack_pointer, 6 }, { attack_shadow, 6 },
        { attack_vector, 5 }, { attack_property, 3 }, { fuzz_garbage, 2 },
        { attack_messages, 3 }, { attack_msix, 1 }, { attack_command, 1 },
        { attack_bar, 1 }, { attack_machine, 1 }, { attack_config, 1 },
        { attack_slot, 1 }, { attack_bus, 1 }, { attack_slots, 1 },
        { attack_virtual_functions, 2 }, { attack_iommu, 6 },
        { attack_register, 1 }, { attack_cc, 2 }, { attack_reset, 1 },
        { attack_card, 5 },
    };
    int left = fuzz_below(134), i = 0;

    while ((left -= attacks[i].weight) >= 0) {
        i++;
    }
    f->v = fuzz_victim(f);
    attacks[i].run(f);
}

static uint64_t inputs_wanted(void)
{
    const char *text = g_getenv("CINT_FUZZ_INPUTS");
    uint64_t value = INPUTS;

    if (text && qemu_strtou64(text, NULL, 10, &value)) {
        g_error("CINT_FUZZ_INPUTS=%s: not a number", text);
    }
    return value;
}

/* ---- The machine ---- */

#define NODE(name, latency) \
    "-blockdev driver=null-co,node-name=" name ",size=1073741824," \
    "read-zeroes=on,latency-ns=" latency " "
#define NAMESPACE(bus, drive, nsid, more) \
    "-device nvme-ns,bus=" bus ",drive=" drive ",nsid=" nsid more " "
#define IN_MEMORY(bus, memory, nsid, more) \
    "-device nvme-ns,bus=" bus ",memdev=" memory ",nsid=" nsid more " "

/* Requests are held back until the end of a pass, where that can be. */
static char *make_disk(void)
{
    char *path = g_strdup_printf("%s/nvme-cint-fuzz-XXXXXX", g_get_tmp_dir());
    int fd = mkstemp(path);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, 16 * MiB), ==, 0);
    close(fd);
    return path;
}

static bool can_be_direct(const char *path)
{
    int fd = open(path, O_RDWR | O_DIRECT);

    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

static const char *how_to_open(const char *path)
{
    bool threads = !g_strcmp0(g_getenv("CINT_FUZZ_AIO"), "threads");

    return threads || !can_be_direct(path) ? "" :
           ",aio=native,cache.direct=on";
}

#define MEMORY(id)  "-object memory-backend-ram,id=" id ",size=16M "

/* A property of two controllers; functions that are virtual have none. */
static char *persistent_memory(const char *opts, const char *id)
{
    return strstr(opts, "sriov") ? g_strdup("") :
           g_strdup_printf(",pmrdev=%s", id);
}

static CintMachine *boot(const char *disk, const char *image, const char *opts,
                         const char *iommu)
{
    g_autofree char *pmr0 = persistent_memory(opts, "pmr0");
    g_autofree char *pmr1 = persistent_memory(opts, "pmr1");
    g_autofree char *args = g_strdup_printf(CINT_NATIVE_HOTPLUG
        MEMORY("pmr0") MEMORY("pmr1") MEMORY("pmr2") MEMORY("memory")
        MEMORY("fdp") "%s"
        "-blockdev driver=file,node-name=file,filename=%s%s "
        "-blockdev node-name=image," CINT_IMAGE ",file.driver=file,"
        "file.filename=%s "
        NODE("plain", "0") NODE("zoned", "0") NODE("late", "2000000")
        NODE("metadata", "200000")
        CINT_CARD(CARD_NS) CINT_FLASH(FLASH_NS) CINT_BLK(0)
        "-device nvme-subsys,id=s0 "
        "-device nvme-subsys,id=s1,fdp=on,fdp.nruh=4,fdp.nrg=2 ",
        iommu, disk, how_to_open(disk), image);
    /* what atomic writes wait for may be another thread's */
    const char *atomic = strstr(opts, "iothread") ? "" :
        "atomic.dn=off,atomic.awun=7,atomic.awupf=3,";
    g_autofree char *shared = g_strconcat(COMMON ",subsys=s0,", atomic, opts,
                                          pmr0, NULL);
    g_autofree char *fdp = g_strconcat(COMMON ",subsys=s1,", opts, pmr1, NULL);
    const CintPlan plans[] = {
        { .opts = shared, .behind_port = true },
        { .opts = fdp, .behind_port = true },
        { .opts = COMMON ",subsys=s0,pmrdev=pmr2", .behind_port = true },
        { NULL },
    };

    return cint_machine_new(args, plans,
        NAMESPACE("nvme0", "plain", "1", "")
        NAMESPACE("nvme0", "zoned", "2", ",zoned=on,zoned.zone_size=16M,"
                  "zoned.max_open=8,zoned.max_active=12")
        NAMESPACE("nvme0", "late", "3", "")
        NAMESPACE("nvme0", "metadata", "4", ",ms=8,pi=1")
        NAMESPACE("nvme0", "file", "5", "")
        IN_MEMORY("nvme0", "memory", "6", "")
        NAMESPACE("nvme0", "image", "7", ",ms=8,pi=1")
        IN_MEMORY("nvme1", "fdp", "1", ",fdp.ruhs='0;1;2;3'"));
}

#define INTEL_IOMMU "-device intel-iommu "

static void run_hostile(const char *opts, const char *iommu)
{
    g_autofree char *disk = make_disk();
    g_autofree char *image = cint_image_new();
    Fuzz f = { .m = boot(disk, image, opts, iommu) };
    uint64_t next, wanted = inputs_wanted();
    gint64 start = g_get_monotonic_time();

    f.qts = f.m->qts;
    /* Above what drivers allocate. */
    f.iommu = g_str_equal(iommu, INTEL_IOMMU) ?
              CINT_RAM_SIZE - 2 * QNVME_PAGE_SIZE : 0;
    f.has_virtio_iommu = g_str_equal(iommu, CINT_IOMMU);
    set_up(&f);
    while (f.inputs < wanted) {
        next = MIN(f.inputs + ROUND, wanted);
        cint_step("inputs from %" PRIu64 " on", f.inputs);
        while (f.inputs < next) {
            attack(&f);
        }
        cint_step("after input %" PRIu64, f.inputs);
        restore(&f);
        cint_machine_expect_sane(f.m);
        set_up(&f);
    }
    g_test_message("%" PRIu64 " inputs in %.1f s", f.inputs,
                   (g_get_monotonic_time() - start) / 1e6);
    forget_others(&f);
    cint_machine_free(f.m);
    unlink(image);
    unlink(disk);
}

static void test_hostile(const void *opts)
{
    run_hostile(opts, "");
}

static void test_hostile_behind_iommu(const void *opts)
{
    run_hostile(opts, INTEL_IOMMU);
}

static void test_hostile_behind_virtio_iommu(const void *opts)
{
    run_hostile(opts, CINT_IOMMU);
}

/* What cint_cases has not: slots that queues fight for, and stock's. */
static const CintCase more_cases[] = {
    { "slots", SLOTS ",cint.time=virtual" },
    { "slots-real", SLOTS ",cint.time=real" },
    { "slots-ioeventfd", SLOTS ",cint.time=real,ioeventfd=on" },
    { "off", "cint=off" },
    { "off-ioeventfd", "cint=off,ioeventfd=on" },
    { "off-cached", "cint=off,queue-cache=on" },
    { "off-iothread", "cint=off,ioeventfd=on,iothread=io0" },
    { "slots-iothread", SLOTS ",cint.time=real,iothread=io0" },
    { "slots-irqfd", SLOTS ",cint.time=real,iothread=io0,irqfd=on" },
    { "off-sriov", "cint=off" SRIOV_OPTS },
    { "off-cached-sriov", "cint=off,queue-cache=on" SRIOV_OPTS },
    { NULL },
};

static const CintCase iommu_cases[] = {
    { "slots-real", SLOTS ",cint.time=real" },
    { "off", "cint=off" },
    { "off-iothread", "cint=off,iothread=io0" },
    { NULL },
};

static void add_cases(const CintCase *c, const char *guest,
                      void (*run)(const void *opts))
{
    for (; c->name; c++) {
        g_autofree char *path = g_strdup_printf("/nvme-cint/fuzz/%s/%s",
                                                c->name, guest);

        qtest_add_data_func(path, c->opts, run);
    }
}

/*
 * The guest and QEMU take turns: to wake another CPU's thread would cost more
 * than most turns take. Who looks for races lets QEMU's threads take none.
 */
static void stay_on_this_cpu(void)
{
    int cpu = sched_getcpu();
    cpu_set_t set;

    if (g_getenv("CINT_FUZZ_ALL_CPUS")) {
        return;
    }
    CPU_ZERO(&set);
    if (cpu >= 0 && cpu < CPU_SETSIZE) {
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof(set), &set);
    }
}

int main(int argc, char **argv)
{
    stay_on_this_cpu();
    cint_watch_init(&argc, &argv);
    add_cases(cint_cases, "hostile-guest", test_hostile);
    add_cases(more_cases, "hostile-guest", test_hostile);
    add_cases(iommu_cases, "hostile-guest-behind-iommu",
              test_hostile_behind_iommu);
    add_cases(iommu_cases, "hostile-guest-behind-virtio-iommu",
              test_hostile_behind_virtio_iommu);
    return g_test_run();
}
