/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A guest that means harm: registers, doorbells, commands, features, status
 * records and shadow doorbells full of random values, with clock steps in
 * between. Its messages go anywhere, also to the controller's own registers,
 * which it moves about; it turns MSI-X and bus mastering off and on, while the
 * operator changes properties. QEMU must survive, best built with sanitizers;
 * and after a reset of the controller a guest in its right mind must not lose
 * a completion.
 *
 * CINT_FUZZ_INPUTS is the number of inputs per case: accesses to registers,
 * configuration space and memory, clock steps and QMP commands. A failure
 * repeats with "--seed" and the random seed that the test prints.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-common.h"

#define INPUTS      3000        /* unless CINT_FUZZ_INPUTS says otherwise */
#define ROUND       1500        /* inputs between two looks at a sane guest */
#define NR_QUEUES   5
#define ENTRIES     16
#define RAM_SIZE    (64 * MiB)
#define DOORBELLS   0x1000
#define BAR_END     0x2000      /* the MSI-X table is further up */
#define NVME_PATH   "/machine/peripheral/nvme0"

#define SLOTS \
    "cint=on,cint.policy=cint,cint.media=custom,cint.media.slots=4," \
    "cint.media.read-latency=3000,cint.media.write-latency=1000," \
    "cint.media.units=2"

typedef struct Fuzz {
    CintTest *t;
    QNvmeCtrl *n;
    uint64_t shadow;            /* two pages for Doorbell Buffer Config */
    uint64_t admin_tail;
    uint64_t bar;               /* where BAR 0 was at the start */
    uint64_t queues;            /* pages for queues that are created anew */
    uint64_t inputs;
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

/* ---- Inputs ---- */

static void put_memory(Fuzz *f, uint64_t addr, const void *bytes, size_t size)
{
    f->inputs++;
    qtest_memwrite(f->t->qts, addr, bytes, size);
}

static void put_register(Fuzz *f, uint64_t offset, uint32_t value)
{
    f->inputs++;
    qpci_io_writel(f->n->pdev, f->n->bar, offset, value);
}

static void put_config(Fuzz *f, uint8_t offset, uint32_t value)
{
    f->inputs++;
    qpci_config_writel(f->n->pdev, offset, value);
}

static void put_table(Fuzz *f, uint16_t vector, uint32_t field, uint32_t value)
{
    f->inputs++;
    qpci_io_writel(f->n->pdev, f->n->pdev->msix_table_bar,
                   f->n->pdev->msix_table_off + field +
                   vector * PCI_MSIX_ENTRY_SIZE, value);
}

/* ---- Attacks ---- */

static void write_register(Fuzz *f, uint64_t offset)
{
    QPCIDevice *dev = f->n->pdev;

    f->inputs++;
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
    f->inputs++;
    cint_run(f->t, one_in(8) ? below(30000000) : below(20000));
}

/* Masks, unmasks, and aims messages at memory and at the own registers. */
static void attack_vector(Fuzz *f)
{
    uint16_t vector = below(NR_QUEUES + 2);
    uint64_t target = address(f) & ~3ull;

    if (one_in(3)) {
        put_table(f, vector, PCI_MSIX_ENTRY_LOWER_ADDR, target);
        put_table(f, vector, PCI_MSIX_ENTRY_UPPER_ADDR, target >> 32);
        put_table(f, vector, PCI_MSIX_ENTRY_DATA, number());
    }
    put_table(f, vector, PCI_MSIX_ENTRY_VECTOR_CTRL,
              g_test_rand_bit() ? PCI_MSIX_ENTRY_CTRL_MASKBIT : 0);
}

static uint8_t msix_flags(Fuzz *f)
{
    return qpci_find_capability(f->n->pdev, PCI_CAP_ID_MSIX, 0) +
           PCI_MSIX_FLAGS;
}

/* MSI-X off and on, or all of it masked. */
static void attack_msix(Fuzz *f)
{
    f->inputs++;
    qpci_config_writew(f->n->pdev, msix_flags(f),
                       one_in(2) ? PCI_MSIX_FLAGS_ENABLE :
                                   below(4) * PCI_MSIX_FLAGS_MASKALL);
}

static void set_command(Fuzz *f, bool master)
{
    f->inputs++;
    qpci_config_writew(f->n->pdev, PCI_COMMAND, PCI_COMMAND_MEMORY |
                       (master ? PCI_COMMAND_MASTER : 0) |
                       (one_in(4) ? PCI_COMMAND_INTX_DISABLE : 0));
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
    put_config(f, PCI_BASE_ADDRESS_0, to);
    f->n->bar.addr = to;
    f->n->pdev->msix_table_bar.addr = to;
    f->n->pdev->msix_pba_bar.addr = to;
}

/* Registers move to where messages and records may already be aimed at. */
static void attack_bar(Fuzz *f)
{
    move_bar(f, f->bar + (below(3) << 24));
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
    put_memory(f, f->t->buf.addr, &c, sizeof(c));
}

static void fill_status(Fuzz *f)
{
    uint64_t near = f->n->bar.addr + (below(3) << 24) - (below(3) << 6);
    uint64_t addr = one_in(4) ? near : address(f);
    NvmeCintStatus s = {
        .addr = cpu_to_le64(g_test_rand_bit() ? addr & ~63ull : addr),
        .records = cpu_to_le32(g_test_rand_bit() ? below(70) : number()),
        .rsvd12 = one_in(8),
    };

    put_memory(f, f->t->buf.addr, &s, sizeof(s));
}

static void fill_garbage(Fuzz *f)
{
    uint32_t words[64];
    int i;

    for (i = 0; i < ARRAY_SIZE(words); i++) {
        words[i] = number();
    }
    put_memory(f, f->t->buf.addr, words, sizeof(words));
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
        uint32_t other = one_in(8) ? below(65) : 1 + below(NR_QUEUES);

        cmd.cdw10 = cpu_to_le32((ENTRIES - 1) << 16 | (1 + below(NR_QUEUES)));
        /* Vector or CQ, priority, physically contiguous, interrupts on. */
        cmd.cdw11 = cpu_to_le32(other << 16 | below(4) << 1 |
                                (one_in(4) ? 1 : 3));
        if (!one_in(8)) {
            cmd.dptr.prp1 = cpu_to_le64(f->queues + below(8) * QNVME_PAGE_SIZE);
        }
    }
    return cmd;
}

static NvmeCmd feature_command(Fuzz *f)
{
    static const uint8_t fids[] = {
        NVME_INTERRUPT_COALESCING, NVME_INTERRUPT_VECTOR_CONF,
        NVME_CINT_FID_CONFIG, NVME_CINT_FID_STATUS, NVME_ARBITRATION,
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
    NvmeCmd cmd = any_command(f, opcodes[below(ARRAY_SIZE(opcodes))]);

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
    put_memory(f, sq->addr + slot % sq->entries * sizeof(cmd), &cmd,
               sizeof(cmd));
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
    put_register(f, DOORBELLS, f->admin_tail % f->n->admin_sq.entries);
    put_register(f, DOORBELLS + 4, f->admin_tail % f->n->admin_cq.entries);
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
    put_register(f, DOORBELLS + 8 * id, below(ENTRIES));
}

/* What a guest with shadow doorbells does behind the device's back. */
static void attack_shadow(Fuzz *f)
{
    uint32_t value = number();

    put_memory(f, f->shadow + 4 * below(2 * QNVME_PAGE_SIZE / 4), &value,
               sizeof(value));
}

/* One of the words that a property may be set to, or a number (NULL). */
typedef struct Property {
    const char *name;
    const char *words[6];
} Property;

static const Property properties[] = {
    { "delta" }, { "thr" }, { "max-hold" }, { "kick-window" },
    { "max-irq-rate" }, { "ewma-shift" }, { "static-time" },
    { "static-thr" }, { "cif-threshold" }, { "epoch" },
    { "media.slots" }, { "media.units" }, { "media.seed" },
    { "policy", { "default", "static", "adaptive", "vic", "cint", "pointer" } },
    { "drain", { "auto", "on", "off" } },
    { "barrier", { "relaxed", "strict", "generation" } },
    { "infer", { "off", "batch", "all" } },
    { "storm", { "hold", "retune" } },
    { "vic-scope", { "controller", "cq" } },
};

/* What an operator does meanwhile, who may be wrong as well. */
static void attack_property(Fuzz *f)
{
    const Property *p = &properties[below(ARRAY_SIZE(properties))];
    g_autofree char *name = g_strconcat("cint.", p->name, NULL);
    const char *word = p->words[below(ARRAY_SIZE(p->words))];
    QDict *answer;

    f->inputs++;
    if (word) {
        answer = qtest_qmp(f->t->qts, "{'execute': 'qom-set', 'arguments': "
            "{'path': %s, 'property': %s, 'value': %s}}", NVME_PATH, name,
            word);
    } else {
        answer = qtest_qmp(f->t->qts, "{'execute': 'qom-set', 'arguments': "
            "{'path': %s, 'property': %s, 'value': %lld}}", NVME_PATH, name,
            one_in(2) ? (long long)below(100) : (long long)number());
    }
    qobject_unref(answer);
}

/* Messages that stop the controller while it sends them. */
static void attack_self(Fuzz *f)
{
    uint16_t vector = below(NR_QUEUES + 1);
    uint64_t target = f->n->bar.addr + (one_in(4) ? below(BAR_END) & ~3u :
                                                    NVME_REG_CC);

    put_table(f, vector, PCI_MSIX_ENTRY_LOWER_ADDR, target);
    put_table(f, vector, PCI_MSIX_ENTRY_UPPER_ADDR, target >> 32);
    put_table(f, vector, PCI_MSIX_ENTRY_DATA, one_in(4) ? number() : 0);
    put_table(f, vector, PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
    if (g_test_rand_bit()) {
        attack_io(f);
        attack_property(f);
    }
}

/* The operator looks, or stops the machine, whose deadlines are late then. */
static void attack_machine(Fuzz *f)
{
    f->inputs++;
    if (g_test_rand_bit()) {
        qobject_unref(qtest_qmp(f->t->qts, "{'execute': 'qom-get', "
            "'arguments': {'path': %s, 'property': 'cint-stats'}}",
            NVME_PATH));
        return;
    }
    qtest_qmp_assert_success(f->t->qts, "{'execute': 'stop'}");
    attack_clock(f);
    attack_property(f);
    attack_io(f);
    qtest_qmp_assert_success(f->t->qts, "{'execute': 'cont'}");
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

    if (f->n->bar.addr != f->bar) {
        move_bar(f, f->bar);
    }
    qpci_config_writew(f->n->pdev, PCI_COMMAND,
                       PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    qpci_config_writew(f->n->pdev, msix_flags(f), PCI_MSIX_FLAGS_ENABLE);
    qnvme_reset(f->n);
    for (vector = 0; vector < NR_QUEUES + 2; vector++) {
        qnvme_restore_vector(f->n, vector);
    }
    f->n->ams = below(2);
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
        { attack_self, 2 }, { attack_msix, 1 }, { attack_command, 1 },
        { attack_bar, 1 }, { attack_machine, 1 },
        { attack_register, 1 }, { attack_cc, 1 },
    };
    int left = below(112), i = 0;

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

static uint64_t inputs_wanted(void)
{
    const char *text = g_getenv("CINT_FUZZ_INPUTS");
    uint64_t value = INPUTS;

    if (text && qemu_strtou64(text, NULL, 10, &value)) {
        g_error("CINT_FUZZ_INPUTS=%s: not a number", text);
    }
    return value;
}

static void test_hostile(const void *opts)
{
    uint64_t next, wanted = inputs_wanted();
    CintTest *t = cint_boot(opts);
    Fuzz f = { .t = t, .n = t->nvme, .bar = t->nvme->bar.addr };
    gint64 start = g_get_monotonic_time();

    f.shadow = guest_alloc(&t->alloc, 2 * QNVME_PAGE_SIZE);
    f.queues = guest_alloc(&t->alloc, 8 * QNVME_PAGE_SIZE);
    create_queues(&f);
    while (f.inputs < wanted) {
        next = MIN(f.inputs + ROUND, wanted);
        while (f.inputs < next) {
            attack(&f);
        }
        restore(&f);
        expect_sane(&f);
    }
    g_test_message("%" PRIu64 " inputs in %.1f s", f.inputs,
                   (g_get_monotonic_time() - start) / 1e6);
    cint_shutdown(t);
}

/* What cint_cases has not: slots that queues fight for. */
static const CintCase slot_cases[] = {
    { "slots", SLOTS ",cint.time=virtual" },
    { "slots-real", SLOTS ",cint.time=real" },
    { "slots-ioeventfd", SLOTS ",cint.time=real,ioeventfd=on" },
    { NULL },
};

static void add_cases(const CintCase *c)
{
    for (; c->name; c++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/fuzz/%s/hostile-guest", c->name);

        qtest_add_data_func(path, c->opts, test_hostile);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_cases(cint_cases);
    add_cases(slot_cases);
    return g_test_run();
}
