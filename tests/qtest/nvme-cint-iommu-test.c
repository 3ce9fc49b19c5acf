/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Behind an IOMMU. The address of status records is the guest's, translated
 * like that of any other DMA, and a page of a queue may go away at any time.
 * All memory is mapped as it is, and one further page where a test asks for
 * it: with tables built by hand, and, of another kind, by requests.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "standard-headers/linux/virtio_iommu.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-driver.h"
#include "nvme-cint-machine.h"

#define IOMMU_ARGS \
    "-machine q35 -device intel-iommu,aw-bits=39 " CINT_NULL_DISK
#define OPTS        CINT_PURE ",cint.policy=cint,cint.delta=1000000000"

/* VT-d registers and structures: legacy mode, second-level translation. */
#define VTD_BASE        0xfed90000ull
#define VTD_GCMD        0x18
#define VTD_GSTS        0x1c
#define VTD_RTADDR      0x20
#define GCMD_TE         (1u << 31)
#define GCMD_SRTP       (1u << 30)
#define PRESENT         1ull
#define READ_WRITE      3ull
#define LARGE_PAGE      (1ull << 7)
#define CONTEXT_39_BIT  1ull
#define CONTEXT_DOMAIN  (1ull << 8)

#define DOORBELLS       0x1000

#define MIB             0x100000ull
#define RAM             (64 * MIB)
/* Far from RAM and devices; its page directory has no other entry. */
#define IOVA            0x40000000ull
#define IOVA_UNMAPPED   (IOVA + QNVME_PAGE_SIZE)

enum { URGENT = NVME_CINT_HINT_URGENT };

static uint64_t new_table(CintTest *t)
{
    return qnvme_buf_new(t->nvme, QNVME_PAGE_SIZE).addr;
}

static void set_entry(CintTest *t, uint64_t table, int index, uint64_t value)
{
    qtest_writeq(t->qts, table + index * sizeof(uint64_t), value);
}

static uint32_t command_status(CintTest *t)
{
    return qtest_readl(t->qts, VTD_BASE + VTD_GSTS);
}

static void command(CintTest *t, uint32_t bit)
{
    uint32_t on = command_status(t) & GCMD_TE;

    qtest_writel(t->qts, VTD_BASE + VTD_GCMD, on | bit);
    g_assert_cmphex(command_status(t) & bit, ==, bit);
}

/* Where the last levels are. */
typedef struct Tables {
    uint64_t identity;      /* of RAM, by 2 MiB */
    uint64_t pages;         /* of IOVA */
} Tables;

/* Maps RAM as it is, and IOVA to @target. */
static Tables translate(CintTest *t, uint64_t target)
{
    uint64_t root = new_table(t), context = new_table(t);
    uint64_t top = new_table(t), identity = new_table(t);
    uint64_t directory = new_table(t), pages = new_table(t);
    int devfn = t->pdev->devfn;
    uint64_t addr;

    for (addr = 0; addr < RAM; addr += 2 * MIB) {
        set_entry(t, identity, addr / (2 * MIB),
                  addr | LARGE_PAGE | READ_WRITE);
    }
    set_entry(t, pages, 0, target | READ_WRITE);
    set_entry(t, directory, 0, pages | READ_WRITE);
    set_entry(t, top, 0, identity | READ_WRITE);
    set_entry(t, top, 1, directory | READ_WRITE);
    set_entry(t, context, 2 * devfn, top | PRESENT);
    set_entry(t, context, 2 * devfn + 1, CONTEXT_39_BIT | CONTEXT_DOMAIN);
    set_entry(t, root, 0, context | PRESENT);
    qtest_writeq(t->qts, VTD_BASE + VTD_RTADDR, root);
    command(t, GCMD_SRTP);
    command(t, GCMD_TE);
    return (Tables) { .identity = identity, .pages = pages };
}

/* A new root table makes the IOMMU forget what it knows. */
static void forget(CintTest *t)
{
    command(t, GCMD_SRTP);
}

/* Takes the page at @addr away from RAM, or gives it back. */
static void map_page(CintTest *t, Tables tables, uint64_t addr, bool mapped)
{
    uint64_t base = QEMU_ALIGN_DOWN(addr, 2 * MIB);
    uint64_t table = new_table(t), page;

    for (page = base; page < base + 2 * MIB; page += QNVME_PAGE_SIZE) {
        set_entry(t, table, (page - base) / QNVME_PAGE_SIZE,
                  page == addr && !mapped ? 0 : page | READ_WRITE);
    }
    set_entry(t, tables.identity, base / (2 * MIB), table | READ_WRITE);
    forget(t);
}

/* ---- virtio-iommu ---- */

#define VIRTIO_ARGS     "-machine q35 " CINT_IOMMU CINT_NULL_DISK

static void attach(CintIommu *v, CintTest *t)
{
    g_assert_cmpint(cint_iommu_attach(v, t->pdev, false), ==,
                    VIRTIO_IOMMU_S_OK);
}

static void map(CintIommu *v, uint64_t from, uint64_t size, uint64_t to)
{
    g_assert_cmpint(cint_iommu_map(v, from, size, to), ==, VIRTIO_IOMMU_S_OK);
}

static void unmap(CintIommu *v, uint64_t from, uint64_t size)
{
    g_assert_cmpint(cint_iommu_unmap(v, from, size), ==, VIRTIO_IOMMU_S_OK);
}

/* Maps RAM as it is, and IOVA to @target. */
static CintIommu *virtio_translate(CintTest *t, uint64_t target)
{
    CintIommu *v = cint_iommu_begin(t->bus, t->nvme->alloc);

    attach(v, t);
    map(v, 0, RAM, 0);
    map(v, IOVA, QNVME_PAGE_SIZE, target);
    return v;
}

/* ---- Faults that are reported ---- */

/*
 * The IOMMU reports an address that it cannot translate at once, to where the
 * guest wants it: also of what a controller reads, and of what it would write
 * to memory only. So each access of a controller may do anything before it
 * returns, as data and messages may. One page is unmapped, and what is said of
 * it resets who is at work, or another one that is.
 */
#define FAULT_OPTS \
    ",cint=on,cint.policy=static,cint.static-time=1000000," \
    "cint.static-thr=50,cint.max-hold=0"
#define BEYOND          (1ull << 32)
#define SHADOW(id)      (8 * (id))

typedef struct Fault {
    CintMachine *m;
    CintTest *t;
    CintIommu *v;
    uint64_t hole;          /* the page that goes */
    uint64_t spare;         /* one that stays */
    QNvmeSq *sq;
} Fault;

typedef struct FaultKind {
    const char *name;
    void (*prepare)(Fault *f);
    void (*trigger)(Fault *f);
    bool cint_only;
} FaultKind;

/* Where a report has to be for the target to be written. */
typedef struct FaultTarget {
    const char *name;
    uint64_t (*report)(const Fault *f);
} FaultTarget;

/* The address that is reported has bit 15 set: it is in f->hole. */
static uint64_t over_flr(const Fault *f)
{
    return cint_flr_at(f->t->pdev) -
           offsetof(struct virtio_iommu_fault, address);
}

/* Its upper half is 0. */
static uint64_t over_cc_of(const CintNode *node)
{
    return node->t.nvme->bar.addr + NVME_REG_CC -
           offsetof(struct virtio_iommu_fault, address) - 4;
}

static uint64_t over_cc(const Fault *f)
{
    return over_cc_of(&f->m->node[0]);
}

static uint64_t over_other_cc(const Fault *f)
{
    return over_cc_of(&f->m->node[1]);
}

static const FaultTarget fault_targets[] = {
    { "own-flr", over_flr },
    { "own-cc", over_cc },
    { "other-cc", over_other_cc },
};

static QNvmeSq *sq_at(Fault *f, uint16_t id, QNvmeCq *cq, uint64_t addr)
{
    QNvmeSq *sq = g_new0(QNvmeSq, 1);
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_CREATE_SQ,
        .dptr.prp1 = cpu_to_le64(addr),
        .cdw10 = cpu_to_le32((CINT_ENTRIES - 1) << 16 | id),
        .cdw11 = cpu_to_le32(cq->id << 16 | NVME_SQ_PC),
    };

    *sq = (QNvmeSq) {
        .ctrl = f->t->nvme, .cq = cq, .id = id, .entries = CINT_ENTRIES,
        .addr = addr,
    };
    g_assert_cmphex(qnvme_admin(f->t->nvme, &cmd, NULL), ==, 0);
    f->t->nvme->sqs[id] = sq;
    return sq;
}

static void have_queues(Fault *f)
{
    f->sq = cint_queues(f->t, 1);
}

static void have_sq(Fault *f)
{
    f->sq = sq_at(f, 1, qnvme_create_cq(f->t->nvme, 1, CINT_ENTRIES, 1),
                  f->hole);
}

static void have_cq(Fault *f)
{
    f->sq = qnvme_create_sq(f->t->nvme, 1, CINT_ENTRIES,
                            cint_create_cq_at(f->t, 1, CINT_ENTRIES, f->hole));
}

static void have_record(Fault *f)
{
    g_assert_cmphex(cint_set_status(f->t, f->hole, 2, 0), ==, 0);
    have_queues(f);
}

static void use_shadow(Fault *f, uint64_t shadow, uint64_t event_idx)
{
    have_queues(f);
    g_assert_cmphex(qnvme_admin(f->t->nvme, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_DBBUF_CONFIG,
        .dptr.prp1 = cpu_to_le64(shadow),
        .dptr.prp2 = cpu_to_le64(event_idx),
    }, NULL), ==, 0);
    qtest_writel(f->m->qts, shadow + SHADOW(1), 3);
}

static void have_shadow(Fault *f)
{
    use_shadow(f, f->hole, f->spare);
}

static void have_event_idx(Fault *f)
{
    use_shadow(f, f->spare, f->hole);
}

static void do_reads(Fault *f)
{
    cint_read(f->t, f->sq, 3);
}

static void push_rw(Fault *f, uint8_t opcode, uint64_t prp1, uint64_t prp2)
{
    NvmeCmd cmd = qnvme_rw_cmd(opcode, &f->t->buf, 0, 512);

    cmd.cdw12 = cpu_to_le32(3 * QNVME_PAGE_SIZE / 512 - 1);
    cmd.dptr.prp1 = cpu_to_le64(prp1);
    cmd.dptr.prp2 = cpu_to_le64(prp2);
    qnvme_push(f->sq, &cmd);
}

/* Among others in the same pass. */
static void do_rw(Fault *f, uint8_t opcode, uint64_t prp1, uint64_t prp2)
{
    qnvme_push_read(f->sq, &f->t->buf, 0, QNVME_PAGE_SIZE);
    push_rw(f, opcode, prp1, prp2);
    qnvme_push_read(f->sq, &f->t->buf, 0, QNVME_PAGE_SIZE);
    qnvme_ring_sq(f->sq);
}

static uint64_t list_of(Fault *f, uint64_t page)
{
    qtest_writeq(f->m->qts, f->spare, page);
    qtest_writeq(f->m->qts, f->spare + 8, f->t->buf.addr);
    return f->spare;
}

static void do_read_data(Fault *f)
{
    do_rw(f, NVME_CMD_READ, f->t->buf.addr, list_of(f, f->hole));
}

static void do_write_data(Fault *f)
{
    do_rw(f, NVME_CMD_WRITE, f->hole, list_of(f, f->t->buf.addr));
}

static void do_list(Fault *f)
{
    do_rw(f, NVME_CMD_READ, f->t->buf.addr, f->hole);
}

static void do_zeroes_ranges(Fault *f)
{
    qnvme_push(f->sq, &(NvmeCmd) {
        .opcode = NVME_CMD_DSM,
        .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(f->hole),
        .cdw11 = cpu_to_le32(NVME_DSMGMT_AD),
    });
    qnvme_ring_sq(f->sq);
}

static void do_identify(Fault *f)
{
    cint_push_admin(f->t, NVME_ADM_CMD_IDENTIFY, f->hole, NVME_ID_CNS_CTRL, 0);
    qnvme_ring_sq(&f->t->nvme->admin_sq);
}

static void do_set_feature(Fault *f)
{
    cint_push_admin(f->t, NVME_ADM_CMD_SET_FEATURES, f->hole, NVME_TIMESTAMP,
                    0);
    qnvme_ring_sq(&f->t->nvme->admin_sq);
}

static const FaultKind fault_kinds[] = {
    { "sqe", have_sq, do_reads },
    { "cqe", have_cq, do_reads },
    { "record", have_record, do_reads, .cint_only = true },
    { "shadow-doorbell", have_shadow, do_reads },
    { "event-index", have_event_idx, do_reads },
    { "read-data", have_queues, do_read_data },
    { "write-data", have_queues, do_write_data },
    { "list", have_queues, do_list },
    { "ranges", have_queues, do_zeroes_ranges },
    { "identify", have_queues, do_identify },
    { "set-feature", have_queues, do_set_feature },
};

/* A page whose address does harm where it is reported. */
static uint64_t harmful_page(Fault *f)
{
    uint64_t size = 2 * PCI_EXP_DEVCTL_BCR_FLR;
    uint64_t addr = qnvme_buf_new(f->t->nvme, 2 * size).addr;

    return QEMU_ALIGN_UP(addr, size) + PCI_EXP_DEVCTL_BCR_FLR;
}

static void begin_faults(Fault *f)
{
    CintIommu *v = cint_iommu_begin(f->m->bus, f->t->nvme->alloc);

    f->v = v;
    attach(v, f->t);
    map(v, 0, f->hole, 0);
    map(v, f->hole, QNVME_PAGE_SIZE, f->hole);
    map(v, f->hole + QNVME_PAGE_SIZE, BEYOND - f->hole - QNVME_PAGE_SIZE,
        f->hole + QNVME_PAGE_SIZE);
}

typedef struct FaultCase {
    const FaultTarget *target;
    const char *opts;
} FaultCase;

static void keep_other_busy(Fault *f)
{
    CintTest *other = &f->m->node[1].t;

    cint_read(other, cint_queues(other, 1), 3);
    cint_let_run(other);
}

static void fault_one(CintMachine *m, const FaultCase *c, const FaultKind *kind)
{
    Fault f = { .m = m, .t = &m->node[0].t };

    cint_step("%s at %s", kind->name, c->target->name);
    f.hole = harmful_page(&f);
    f.spare = qnvme_buf_new(f.t->nvme, QNVME_PAGE_SIZE).addr;
    begin_faults(&f);
    kind->prepare(&f);
    keep_other_busy(&f);
    unmap(f.v, f.hole, QNVME_PAGE_SIZE);
    cint_iommu_report_to(f.v, c->target->report(&f));
    kind->trigger(&f);
    cint_machine_run(m, 2000000);
    map(f.v, f.hole, QNVME_PAGE_SIZE, f.hole);
    cint_iommu_reset(f.v);
    cint_machine_expect_recovers(m);
    cint_iommu_free(f.v);
}

static void test_faults(const void *opaque)
{
    const FaultCase *c = opaque;
    g_autofree char *device = g_strconcat(",drive=d0", c->opts, NULL);
    const CintPlan plans[] = {
        { .opts = device }, { .opts = ",drive=d1" }, { NULL },
    };
    CintMachine *m = cint_machine_new(CINT_IOMMU
                                      CINT_NULL_NODE("d0", "")
                                      CINT_SLOW_NODE("d1", 50000000), plans,
                                      NULL);
    size_t i;

    for (i = 0; i < ARRAY_SIZE(fault_kinds); i++) {
        if (!fault_kinds[i].cint_only || *c->opts) {
            fault_one(m, c, &fault_kinds[i]);
        }
    }
    cint_machine_free(m);
}

static const CintCase fault_modes[] = {
    { "off", "" },
    { "real", FAULT_OPTS ",cint.time=real" },
    { "virtual", FAULT_OPTS ",cint.time=virtual" },
};

static void add_fault_tests(void)
{
    static FaultCase cases[ARRAY_SIZE(fault_modes) *
                           ARRAY_SIZE(fault_targets)];
    FaultCase *c = cases;
    size_t i, j;

    for (i = 0; i < ARRAY_SIZE(fault_modes); i++) {
        for (j = 0; j < ARRAY_SIZE(fault_targets); j++, c++) {
            g_autofree char *path = g_strdup_printf(
                "/nvme-cint/iommu/fault-reported/%s/%s",
                fault_targets[j].name, fault_modes[i].name);

            *c = (FaultCase) { &fault_targets[j], fault_modes[i].opts };
            qtest_add_data_func(path, c, test_faults);
        }
    }
}

/* ---- How many are reported, and which ---- */

/* What nothing maps is read like registers, of which each is looked up. */
#define PIECE       4

/* The controller alone, and the page of the hole, which is still mapped. */
static void boot_before_hole(Fault *f, const char *opts)
{
    g_autofree char *device = g_strconcat(",drive=d0", opts, NULL);
    const CintPlan plans[] = { { .opts = device }, { NULL } };
    CintMachine *m = cint_machine_new(CINT_IOMMU CINT_NULL_NODE("d0", ""),
                                      plans, NULL);
    uint64_t end;

    *f = (Fault) { .m = m, .t = &m->node[0].t };
    f->hole = qnvme_buf_new(f->t->nvme, QNVME_PAGE_SIZE).addr;
    f->spare = qnvme_buf_new(f->t->nvme, QNVME_PAGE_SIZE).addr;
    end = f->hole + QNVME_PAGE_SIZE;
    f->v = cint_iommu_begin(m->bus, f->t->nvme->alloc);
    attach(f->v, f->t);
    map(f->v, 0, f->hole, 0);
    map(f->v, f->hole, end - f->hole, f->hole);
    map(f->v, end, BEYOND - end, end);
}

/*
 * The hole opens, and something is read from it.
 *
 * Returns: the address that the last report names
 */
static uint64_t fall_in(Fault *f, void (*trigger)(Fault *f))
{
    uint64_t report = qnvme_buf_new(f->t->nvme, QNVME_PAGE_SIZE).addr;

    unmap(f->v, f->hole, QNVME_PAGE_SIZE);
    cint_iommu_report_to(f->v, report);
    trigger(f);
    cint_machine_run(f->m, 2000000);
    return qtest_readq(f->m->qts, report +
                       offsetof(struct virtio_iommu_fault, address));
}

static void end_hole(Fault *f)
{
    map(f->v, f->hole, QNVME_PAGE_SIZE, f->hole);
    cint_iommu_reset(f->v);
    cint_machine_expect_recovers(f->m);
    cint_iommu_free(f->v);
    cint_machine_free(f->m);
}

typedef struct Fetched {
    FaultKind kind;
    unsigned bytes;
} Fetched;

static const Fetched fetched[] = {
    { { "sqe", have_sq, do_reads }, sizeof(NvmeCmd) },
    { { "ranges", have_queues, do_zeroes_ranges }, sizeof(NvmeDsmRange) },
    { { "set-feature", have_queues, do_set_feature }, sizeof(uint64_t) },
};

/*
 * What is fetched is tried as memory first, which is one report more than it
 * has pieces, and not one for each.
 */
static void test_fetch_counted(const void *opts)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(fetched); i++) {
        const Fetched *what = &fetched[i];
        uint64_t last;
        Fault f;

        cint_step("%s", what->kind.name);
        boot_before_hole(&f, opts);
        what->kind.prepare(&f);
        last = fall_in(&f, what->kind.trigger);
        g_assert_cmphex(last, ==, f.hole + what->bytes - PIECE);
        g_assert_cmpuint(cint_iommu_reported(f.v), >=, what->bytes / PIECE);
        g_assert_cmpuint(cint_iommu_reported(f.v), <=, what->bytes / PIECE + 1);
        end_hole(&f);
    }
}

static void do_write(Fault *f)
{
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_WRITE, &f->t->buf, 0, QNVME_PAGE_SIZE);

    cmd.dptr.prp1 = cpu_to_le64(f->hole);
    qnvme_push(f->sq, &cmd);
    qnvme_ring_sq(f->sq);
}

/* There is room for the first ones in the queue, and those are reported. */
static void test_faults_too_many(const void *opts)
{
    uint64_t last;
    Fault f;

    boot_before_hole(&f, opts);
    have_queues(&f);
    last = fall_in(&f, do_write);
    g_assert_cmpuint(cint_iommu_reported(f.v), ==, CINT_IOMMU_EVENTS);
    g_assert_cmphex(last, >=, f.hole);
    g_assert_cmphex(last, <, f.hole + CINT_IOMMU_EVENTS * PIECE);
    end_hole(&f);
}

static void add_count_tests(void)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(fault_modes); i++) {
        const CintCase *mode = &fault_modes[i];
        g_autofree char *counted = g_strdup_printf(
            "/nvme-cint/iommu/faults/of-a-fetch/%s", mode->name);
        g_autofree char *many = g_strdup_printf(
            "/nvme-cint/iommu/faults/too-many/%s", mode->name);

        qtest_add_data_func(counted, mode->opts, test_fetch_counted);
        qtest_add_data_func(many, mode->opts, test_faults_too_many);
    }
}

/* ---- What the IOMMU itself meets in the midst of an access ---- */

/*
 * A card's data port lets the main loop run for 300 ms. The reader reads it.
 * Meanwhile the other one's reads are done, which is translated, or told of by
 * a message.
 */
#define CARD            CINT_NULL_NODE("d0", "") CINT_CARD(300000000)

static CintMachine *boot_with_card(const char *args, const char *opts)
{
    g_autofree char *device = g_strconcat(",drive=d0", opts, NULL);
    const CintPlan plans[] = {
        { .opts = ",drive=d1", .behind_port = true },
        { .opts = device, .behind_port = true }, { NULL },
    };

    return cint_machine_new(args, plans, NULL);
}

#define OTHER(m)        (&(m)->node[0].t)
#define READER(m)       (&(m)->node[1].t)

static void begin_reads(CintTest *t)
{
    cint_read(t, cint_queues(t, 1), 3);
    cint_let_run(t);
}

static void stop_translating(CintTest *t)
{
    qtest_writel(t->qts, VTD_BASE + VTD_GCMD, 0);
    g_assert_cmphex(command_status(t) & GCMD_TE, ==, 0);
}

/* Where the entry of a bus is in a root table. */
#define ROOT_ENTRY(bus) (16 * (bus))

/*
 * The root table is the card's host, and the entry of the reader's bus the data
 * port. Who waits there holds nothing that the other one's DMA needs. (To look
 * for entries, as is done when translation begins, must not wait yet.)
 */
static void test_root_table_waits(const void *opts)
{
    CintMachine *m = boot_with_card("-device intel-iommu " CARD
                                    CINT_SLOW_NODE("d1", 450000000), opts);
    CintTest *t = READER(m);
    QNvmeSq *sq = cint_queues(t, 1);

    g_assert_cmphex(ROOT_ENTRY(m->node[1].devfn >> 8), ==, CINT_CARD_PORT);
    begin_reads(OTHER(m));
    qtest_writeq(m->qts, VTD_BASE + VTD_RTADDR, cint_card_stop(m));
    command(t, GCMD_SRTP);
    command(t, GCMD_TE);
    cint_card_begin(m, false);
    cint_read(t, sq, 1);
    cint_machine_run(m, 1000);
    cint_card_stop(m);
    stop_translating(t);
    cint_machine_expect_recovers(m);
    cint_machine_free(m);
}

/*
 * An SQE is half read from the card's host when the other one's message has the
 * reader detached: what follows passes through.
 */
static void test_detached_meanwhile(const void *opts)
{
    CintMachine *m = boot_with_card(CINT_IOMMU CARD
                                    CINT_SLOW_NODE("d1", 100000000), opts);
    CintIommu *v = cint_iommu_begin(m->bus, &m->alloc);
    Fault f = { .m = m, .t = READER(m), .v = v };

    attach(v, f.t);
    map(v, 0, BEYOND, 0);
    f.sq = sq_at(&f, 1, qnvme_create_cq(f.t->nvme, 1, CINT_ENTRIES, 1),
                 cint_card_begin(m, false));
    cint_iommu_offer_detach(v, f.t->pdev, false);
    cint_aim(OTHER(m), 1, cint_iommu_doorbell(v), 0);
    begin_reads(OTHER(m));
    qnvme_reg_write(f.t->nvme, DOORBELLS + 8 * f.sq->id, 1);
    cint_machine_run(m, 1000);
    cint_card_stop(m);
    cint_machine_expect_recovers(m);
    cint_iommu_free(v);
    cint_machine_free(m);
}

static void add_meanwhile_tests(const char *name, GTestDataFunc func)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(fault_modes); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/iommu/%s/%s", name, fault_modes[i].name);

        qtest_add_data_func(path, fault_modes[i].opts, func);
    }
}

/* ---- Tests ---- */

static CintTest *boot_with(const char *args, uint64_t *records)
{
    CintTest *t = cint_boot_custom(NULL, args, OPTS);

    *records = cint_records_new(t, 4);
    g_assert_cmphex(*records % QNVME_PAGE_SIZE, ==, 0);
    cint_run(t, 1000);
    return t;
}

static CintTest *boot(uint64_t *records)
{
    return boot_with(IOMMU_ARGS, records);
}

static bool is_fatal(CintTest *t)
{
    return NVME_CSTS_CFS(qnvme_reg_read(t->nvme, NVME_REG_CSTS));
}

/* The records are where IOVA is mapped to, not at the number given. */
static void expect_mapped(CintTest *t, uint64_t records)
{
    CintDriver *d;

    g_assert_cmphex(cint_set_status(t, IOVA, 2, 0), ==, 0);
    d = cint_driver_new(t, cint_queues(t, 1), records);
    cint_driver_read(d, NVME_CINT_HINT_NONE);
    cint_driver_read(d, URGENT);
    qnvme_ring_sq(d->sq);
    cint_run(t, 1000);
    g_assert_cmpuint(cint_status(t, records, 1).class, ==, CINT_CLASS_URGENT);
    g_assert_true(cint_driver_interrupt(d));
    g_assert_cmpuint(d->completed, ==, 1);
    cint_driver_rest(d);
    g_assert_cmpuint(cint_status(t, records, 1).full_tail, ==, 2);
    g_assert_false(is_fatal(t));
    cint_driver_free(d);
}

static void test_mapped(void)
{
    uint64_t records;
    CintTest *t = boot(&records);

    translate(t, records);
    expect_mapped(t, records);
    cint_shutdown(t);
}

static void test_virtio(void)
{
    uint64_t records;
    CintTest *t = boot_with(VIRTIO_ARGS, &records);
    CintIommu *v = virtio_translate(t, records);

    expect_mapped(t, records);
    unmap(v, IOVA, QNVME_PAGE_SIZE);
    cint_read_hint(t, t->nvme->sqs[1], URGENT);
    cint_run(t, 1000);
    g_assert_true(is_fatal(t));
    g_assert_cmpuint(cint_status(t, records, 1).full_tail, ==, 2);
    cint_iommu_free(v);
    cint_shutdown(t);
}

static void test_unmapped(void)
{
    uint64_t records;
    CintTest *t = boot(&records);

    translate(t, records);
    g_assert_cmphex(cint_set_status(t, IOVA_UNMAPPED, 2, 0), ==, 0);
    qnvme_create_cq(t->nvme, 1, 64, 1);
    g_assert_true(is_fatal(t));
    cint_shutdown(t);
}

/* The mapping goes away in the middle: the controller says that it is lost. */
static void test_unmapped_later(void)
{
    uint64_t records;
    CintTest *t = boot(&records);
    Tables tables;
    QNvmeSq *sq;

    tables = translate(t, records);
    g_assert_cmphex(cint_set_status(t, IOVA, 2, 0), ==, 0);
    sq = cint_queues(t, 1);
    cint_read_hint(t, sq, URGENT);
    cint_run(t, 1000);
    g_assert_true(qnvme_take_irq(t->nvme, 1));
    g_assert_false(is_fatal(t));
    set_entry(t, tables.pages, 0, 0);
    forget(t);
    cint_read_hint(t, sq, URGENT);
    cint_run(t, 1000);
    g_assert_true(is_fatal(t));
    g_assert_cmpuint(cint_status(t, records, 1).seq, ==, 1);
    cint_shutdown(t);
}

/*
 * A page of the queue pair goes away while a CQE is held, and comes back. The
 * controller says that it is lost, and a reset makes it whole again.
 */
static void test_queue_unmapped(const void *data)
{
    bool is_cq = data;
    uint64_t records;
    CintTest *t = boot(&records);
    Tables tables = translate(t, records);
    QNvmeSq *sq = cint_queues(t, 1);
    uint64_t page = is_cq ? sq->cq->addr : sq->addr;

    cint_read(t, sq, 1);
    cint_run(t, 1000);
    g_assert_false(qnvme_irq_pending(t->nvme, 1));
    map_page(t, tables, page, false);
    cint_read(t, sq, 2);
    cint_run(t, 1000);
    g_assert_true(is_fatal(t));
    cint_run(t, 2 * CINT_SECOND);
    map_page(t, tables, page, true);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    g_assert_false(is_fatal(t));
    sq = cint_queues(t, 1);
    cint_read(t, sq, 3);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 3);
    cint_shutdown(t);
}

/* Data that goes nowhere is no reason to lose a CQE. */
static void test_data_unmapped(void)
{
    uint64_t records;
    CintTest *t = boot(&records);
    Tables tables = translate(t, records);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_run(t, 1000);
    map_page(t, tables, t->buf.addr, false);
    cint_read(t, sq, 1);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 2);
    g_assert_false(is_fatal(t));
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    cint_watch_init(&argc, &argv);
    if (qtest_has_device("virtio-iommu-pci")) {
        qtest_add_func("/nvme-cint/iommu/virtio", test_virtio);
        add_fault_tests();
        add_count_tests();
        add_meanwhile_tests("detached-meanwhile", test_detached_meanwhile);
    }
    if (!qtest_has_device("intel-iommu")) {
        g_test_skip("this QEMU has no intel-iommu");
        return g_test_run();
    }
    add_meanwhile_tests("root-table-waits", test_root_table_waits);
    qtest_add_func("/nvme-cint/iommu/mapped", test_mapped);
    qtest_add_func("/nvme-cint/iommu/unmapped-is-fatal", test_unmapped);
    qtest_add_func("/nvme-cint/iommu/unmapped-later-is-fatal",
                   test_unmapped_later);
    qtest_add_data_func("/nvme-cint/iommu/cq-unmapped-while-held",
                        (void *)true, test_queue_unmapped);
    qtest_add_data_func("/nvme-cint/iommu/sq-unmapped-while-held", NULL,
                        test_queue_unmapped);
    qtest_add_func("/nvme-cint/iommu/data-unmapped-while-held",
                   test_data_unmapped);
    return g_test_run();
}
