/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A guest that means harm: registers, doorbells, commands, features, status
 * records and shadow doorbells full of random values, with clock steps in
 * between. QEMU must survive, best built with sanitizers; and after a reset of
 * the controller a guest in its right mind must not lose a completion.
 *
 * CINT_FUZZ_ROUNDS is the number of rounds per case (default 3). A failure
 * repeats with "--seed" and the random seed that the test prints.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-common.h"

#define STEPS       250
#define NR_QUEUES   3
#define ENTRIES     16
#define RAM_SIZE    (64 * MiB)
#define DOORBELLS   0x1000
#define BAR_END     0x2000      /* the MSI-X table is further up */

typedef struct Fuzz {
    CintTest *t;
    QNvmeCtrl *n;
    uint64_t shadow;            /* two pages for Doorbell Buffer Config */
    uint64_t admin_tail;
    /*
     * Stock QEMU, too, registers the eventfds again, and forgets the first, at
     * a second Doorbell Buffer Config: no shadow doorbells then.
     */
    bool ioeventfd;
} Fuzz;

static uint32_t below(uint32_t limit)
{
    return g_test_rand_int_range(0, limit);
}

static bool one_in(uint32_t n)
{
    return !below(n);
}

static uint32_t any32(void)
{
    return g_test_rand_int();
}

/* Small numbers, limits and their neighbours are where mistakes live. */
static uint32_t number(void)
{
    static const uint32_t limits[] = {
        0, ENTRIES, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
        0x80000000,
    };

    switch (below(4)) {
    case 0:
        return below(20);
    case 1:
        return limits[below(ARRAY_SIZE(limits))] - below(2);
    case 2:
        return any32() & 0xffff;
    default:
        return any32();
    }
}

/* Memory, also where there is none, and the device's own registers. */
static uint64_t address(Fuzz *f)
{
    switch (below(8)) {
    case 0:
        return f->n->bar.addr + (any32() & (BAR_END - 4));
    case 1:
        return RAM_SIZE - below(QNVME_PAGE_SIZE);
    case 2:
        return (uint64_t)any32() << 32 | any32();
    case 3:
        return below(2) ? 0 : UINT64_MAX;
    case 4:
        return f->t->buf.addr + below(QNVME_PAGE_SIZE);
    default:
        return f->t->buf.addr;
    }
}

/* ---- Attacks ---- */

static void write_register(Fuzz *f, uint64_t offset)
{
    QPCIDevice *dev = f->n->pdev;

    switch (below(8)) {
    case 0:
        qpci_io_writeb(dev, f->n->bar, offset + below(4), any32());
        break;
    case 1:
        qpci_io_writew(dev, f->n->bar, offset + 2 * below(2), any32());
        break;
    case 2:
        qpci_io_writeq(dev, f->n->bar, offset & ~7ull,
                       (uint64_t)any32() << 32 | number());
        break;
    case 3:
        qpci_io_readq(dev, f->n->bar, offset & ~7ull);
        break;
    default:
        qpci_io_writel(dev, f->n->bar, offset, number());
    }
}

static void attack_register(Fuzz *f)
{
    write_register(f, below(DOORBELLS) & ~3u);
}

static void attack_doorbell(Fuzz *f)
{
    unsigned index = one_in(4) ? below(512) : below(2 * NR_QUEUES + 4);

    write_register(f, DOORBELLS + 4 * index);
}

/* The interrupt pointers, and what lies before and behind them. */
static void attack_pointer(Fuzz *f)
{
    write_register(f, below(BAR_END - DOORBELLS) / 4 * 4 + DOORBELLS);
}

static void attack_clock(Fuzz *f)
{
    cint_run(f->t, one_in(8) ? below(30000000) : below(20000));
}

static void mask_vector(Fuzz *f, uint16_t vector, bool masked)
{
    uint64_t entry = f->n->pdev->msix_table_off + vector * PCI_MSIX_ENTRY_SIZE;

    qpci_io_writel(f->n->pdev, f->n->pdev->msix_table_bar,
                   entry + PCI_MSIX_ENTRY_VECTOR_CTRL,
                   masked ? PCI_MSIX_ENTRY_CTRL_MASKBIT : 0);
}

static void attack_vector(Fuzz *f)
{
    mask_vector(f, below(NR_QUEUES + 2), g_test_rand_bit());
}

static void fill_config(Fuzz *f)
{
    NvmeCintFeature c = {
        .version = cpu_to_le16(1),
        .policy = below(8),
        .flags = below(5),
        .barrier = below(4),
        .infer = below(4),
        .drain = below(4),
        .each_cqe = !one_in(8),
        .delta_ns = cpu_to_le32(number()),
        .thr = cpu_to_le16(number()),
        .static_thr = cpu_to_le16(number()),
        .static_time_ns = cpu_to_le32(number()),
        .max_irq_rate = cpu_to_le32(g_test_rand_bit() ? number() : 0),
        .ewma_shift = 1 + below(17),
        .vic_scope = g_test_rand_bit(),
        .vic_ratios = g_test_rand_bit(),
        .cif_threshold = cpu_to_le16(2 + below(8)),
        .max_skip = cpu_to_le16(number()),
        .iops_threshold = cpu_to_le32(below(5000)),
        .epoch_ms = cpu_to_le32(1 + below(300)),
        .kick_window_ns = cpu_to_le32(g_test_rand_bit() ? below(200000) : 0),
        .max_hold_ns = cpu_to_le64(below(20000000)),
    };
    uint8_t *bytes = (uint8_t *)&c;

    if (one_in(4)) {
        bytes[below(sizeof(c))] = any32();
    }
    qtest_memwrite(f->t->qts, f->t->buf.addr, &c, sizeof(c));
}

static void fill_status(Fuzz *f)
{
    NvmeCintStatus s = {
        .addr = cpu_to_le64(g_test_rand_bit() ? address(f) & ~63ull :
                                                address(f)),
        .records = cpu_to_le32(g_test_rand_bit() ? below(70) : number()),
        .rsvd12 = one_in(8),
    };

    qtest_memwrite(f->t->qts, f->t->buf.addr, &s, sizeof(s));
}

static void fill_garbage(Fuzz *f)
{
    uint32_t words[64];
    int i;

    for (i = 0; i < ARRAY_SIZE(words); i++) {
        words[i] = number();
    }
    qtest_memwrite(f->t->qts, f->t->buf.addr, words, sizeof(words));
}

static NvmeCmd any_command(Fuzz *f, uint8_t opcode)
{
    NvmeCmd cmd = {
        .opcode = opcode,
        .flags = one_in(8) ? any32() : 4 * below(4),
        .cid = cpu_to_le16(below(ENTRIES)),
        .nsid = cpu_to_le32(one_in(8) ? number() : 1),
        .dptr.prp1 = cpu_to_le64(address(f)),
        .dptr.prp2 = cpu_to_le64(address(f)),
        .cdw10 = cpu_to_le32(number()),
        .cdw11 = cpu_to_le32(number()),
        .cdw12 = cpu_to_le32(number()),
        .cdw13 = cpu_to_le32(number()),
        .cdw14 = cpu_to_le32(number()),
        .cdw15 = cpu_to_le32(number()),
    };

    return cmd;
}

static NvmeCmd queue_command(Fuzz *f)
{
    static const uint8_t opcodes[] = {
        NVME_ADM_CMD_DELETE_SQ, NVME_ADM_CMD_CREATE_SQ,
        NVME_ADM_CMD_DELETE_CQ, NVME_ADM_CMD_CREATE_CQ,
    };
    NvmeCmd cmd = any_command(f, opcodes[below(ARRAY_SIZE(opcodes))]);

    if (!one_in(4)) {
        cmd.cdw10 = cpu_to_le32((ENTRIES - 1) << 16 | (1 + below(NR_QUEUES)));
        /* Vector or CQ, physically contiguous, interrupts on. */
        cmd.cdw11 = cpu_to_le32((1 + below(NR_QUEUES)) << 16 | 3);
    }
    return cmd;
}

static NvmeCmd feature_command(Fuzz *f)
{
    static const uint8_t fids[] = {
        NVME_INTERRUPT_COALESCING, NVME_INTERRUPT_VECTOR_CONF,
        NVME_CINT_FID_CONFIG, NVME_CINT_FID_STATUS,
    };
    bool set = !one_in(4);
    NvmeCmd cmd = any_command(f, set ? NVME_ADM_CMD_SET_FEATURES :
                                       NVME_ADM_CMD_GET_FEATURES);
    uint8_t fid = fids[below(ARRAY_SIZE(fids))];

    switch (fid) {
    case NVME_CINT_FID_CONFIG:
        fill_config(f);
        break;
    case NVME_CINT_FID_STATUS:
        fill_status(f);
        break;
    }
    cmd.cdw10 = cpu_to_le32(one_in(8) ? any32() : fid);
    if (g_test_rand_bit()) {
        cmd.cdw11 = cpu_to_le32(g_test_rand_bit() ? NVME_CINT_ALL_CQS :
                                                    below(NR_QUEUES + 2));
    }
    if (!one_in(8)) {
        cmd.dptr.prp1 = cpu_to_le64(f->t->buf.addr);
    }
    return cmd;
}

static NvmeCmd other_command(Fuzz *f)
{
    static const uint8_t opcodes[] = {
        NVME_ADM_CMD_GET_LOG_PAGE, NVME_ADM_CMD_IDENTIFY, NVME_ADM_CMD_ABORT,
        NVME_ADM_CMD_ASYNC_EV_REQ, NVME_ADM_CMD_DBBUF_CONFIG,
    };
    NvmeCmd cmd = any_command(f, opcodes[below(ARRAY_SIZE(opcodes) -
                                               f->ioeventfd)]);

    if (cmd.opcode == NVME_ADM_CMD_DBBUF_CONFIG && !one_in(4)) {
        cmd.dptr.prp1 = cpu_to_le64(f->shadow);
        cmd.dptr.prp2 = cpu_to_le64(f->shadow + QNVME_PAGE_SIZE);
    }
    if (cmd.opcode == NVME_ADM_CMD_GET_LOG_PAGE && !one_in(4)) {
        cmd.cdw10 = cpu_to_le32(any32() << 16 | NVME_CINT_LID);
    }
    return cmd;
}

/* Where the driver's own queue is; the device may think it is elsewhere. */
static void put(Fuzz *f, const QNvmeSq *sq, uint32_t slot, NvmeCmd cmd)
{
    qtest_memwrite(f->t->qts, sq->addr + slot % sq->entries * sizeof(cmd),
                   &cmd, sizeof(cmd));
}

static void attack_admin(Fuzz *f)
{
    NvmeCmd cmd;

    switch (below(4)) {
    case 0:
        cmd = queue_command(f);
        break;
    case 1:
        cmd = other_command(f);
        break;
    default:
        cmd = feature_command(f);
    }
    put(f, &f->n->admin_sq, f->admin_tail++, cmd);
    qpci_io_writel(f->n->pdev, f->n->bar, DOORBELLS,
                   f->admin_tail % f->n->admin_sq.entries);
    qpci_io_writel(f->n->pdev, f->n->bar, DOORBELLS + 4,
                   f->admin_tail % f->n->admin_cq.entries);
}

static void attack_io(Fuzz *f)
{
    static const uint8_t opcodes[] = {
        NVME_CMD_READ, NVME_CMD_READ, NVME_CMD_WRITE, NVME_CMD_FLUSH,
        NVME_CMD_DSM, NVME_CMD_COMPARE, 0xff,
    };
    uint16_t id = 1 + below(NR_QUEUES);
    unsigned n = 1 + below(ENTRIES - 1);
    unsigned i;

    for (i = 0; i < n; i++) {
        NvmeCmd cmd = any_command(f, opcodes[below(ARRAY_SIZE(opcodes))]);

        if (!one_in(4)) {
            cmd = qnvme_rw_cmd(NVME_CMD_READ, &f->t->buf, 0, 512);
            cmd.flags = 4 * below(4);
        }
        put(f, f->n->sqs[id], below(ENTRIES), cmd);
    }
    qpci_io_writel(f->n->pdev, f->n->bar, DOORBELLS + 8 * id, below(ENTRIES));
}

/* What a guest with shadow doorbells does behind the device's back. */
static void attack_shadow(Fuzz *f)
{
    uint32_t value = number();

    qtest_memwrite(f->t->qts, f->shadow + 4 * below(2 * QNVME_PAGE_SIZE / 4),
                   &value, sizeof(value));
}

static void attack_property(Fuzz *f)
{
    static const char *const names[] = {
        "cint.delta", "cint.thr", "cint.max-hold", "cint.kick-window",
        "cint.max-irq-rate", "cint.ewma-shift",
    };
    QDict *answer = qtest_qmp(f->t->qts, "{'execute': 'qom-set', 'arguments': "
        "{'path': '/machine/peripheral/nvme0', 'property': %s, 'value': %lld}}",
        names[below(ARRAY_SIZE(names))], (long long)number());

    qobject_unref(answer);
}

/* ---- Recovery ---- */

static void create_queues(Fuzz *f)
{
    uint16_t id;

    for (id = 1; id <= NR_QUEUES; id++) {
        qnvme_create_sq(f->n, id, ENTRIES,
                        qnvme_create_cq(f->n, id, ENTRIES, id));
    }
    f->admin_tail = f->n->admin_sq.tail;
}

static void restore(Fuzz *f)
{
    uint16_t vector;

    qnvme_reset(f->n);
    for (vector = 0; vector < f->n->vectors; vector++) {
        mask_vector(f, vector, true);
    }
    qnvme_enable(f->n);
    for (vector = 0; vector <= NR_QUEUES; vector++) {
        qnvme_take_irq(f->n, vector);
    }
    create_queues(f);
}

/*
 * Controller configuration: off, or anything. Half of the time the driver comes
 * back at once, since a controller that is off has little to be attacked.
 */
static void attack_cc(Fuzz *f)
{
    qnvme_reg_write(f->n, NVME_REG_CC, one_in(3) ? any32() : 0);
    if (g_test_rand_bit()) {
        restore(f);
    }
}

static void attack(Fuzz *f)
{
    static const struct {
        void (*run)(Fuzz *f);
        unsigned weight;
    } attacks[] = {
        { attack_io, 24 }, { attack_doorbell, 16 }, { attack_clock, 18 },
        { attack_admin, 22 }, { attack_pointer, 10 }, { attack_shadow, 6 },
        { attack_vector, 3 }, { attack_property, 3 }, { fill_garbage, 2 },
        { attack_register, 1 }, { attack_cc, 1 },
    };
    int left = below(106), i = 0;

    while ((left -= attacks[i].weight) >= 0) {
        i++;
    }
    attacks[i].run(f);
}

/* The reset has brought the configuration of the start back. */
static void expect_sane(Fuzz *f)
{
    uint32_t count = 5;
    uint16_t id;

    for (id = 1; id <= NR_QUEUES; id++) {
        cint_read(f->t, f->n->sqs[id], count);
        cint_let_run(f->t);
        g_assert_cmpuint(cint_eager_guest(f->t, f->n->cqs[id]), ==, count);
        cint_check_record(f->t, id);
    }
}

static uint64_t rounds(void)
{
    const char *text = g_getenv("CINT_FUZZ_ROUNDS");
    uint64_t value = 3;

    if (text && qemu_strtou64(text, NULL, 10, &value)) {
        g_error("CINT_FUZZ_ROUNDS=%s: not a number", text);
    }
    return value;
}

static void test_hostile(const void *opts)
{
    CintTest *t = cint_boot(opts);
    Fuzz f = {
        .t = t, .n = t->nvme, .ioeventfd = strstr(opts, "ioeventfd=on"),
    };
    uint64_t round;
    int i;

    f.shadow = guest_alloc(&t->alloc, 2 * QNVME_PAGE_SIZE);
    create_queues(&f);
    for (round = rounds(); round; round--) {
        for (i = 0; i < STEPS; i++) {
            attack(&f);
        }
        restore(&f);
        expect_sane(&f);
    }
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    const CintCase *c;

    g_test_init(&argc, &argv, NULL);
    for (c = cint_cases; c->name; c++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/fuzz/%s/hostile-guest", c->name);

        qtest_add_data_func(path, c->opts, test_hostile);
    }
    return g_test_run();
}
