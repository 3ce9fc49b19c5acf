/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Controllers that depend on others: virtual functions on their physical one,
 * data and queues on another's memory, those that share namespaces on what is
 * done to each other. Each part is one table of who asks, and one of what is
 * asked for, while commands are in flight; a last one moves what a queue that
 * holds CQEs stands on. QEMU must live, a guest in its right mind must get all
 * it is owed afterwards, and so must whoever was left alone.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-common.h"
#include "nvme-cint-machine.h"

#define BASE        ",cint=on,cint.policy=default,cint.max-hold=0"
#define DOORBELLS   0x1000
#define BUSY        5           /* commands in flight */
#define IN_FLIGHT \
    "-blockdev driver=null-co,node-name=late,size=16777216,read-zeroes=on," \
    "latency-ns=20000000 "
#define PATTERNED \
    "-blockdev driver=file,node-name=plain,locking=off,filename=%s "
#define DISK_SIZE   MiB
/*
 * What the disk is full of, at each dword: FLR in Device Control, power off in
 * Slot Control, EN = 0 in CC, no virtual functions.
 */
#define PATTERN     0x00408700u
#define NAMESPACES \
    "-device nvme-ns,bus=nvme0,drive=plain,nsid=1 " \
    "-device nvme-ns,bus=nvme0,drive=late,nsid=2 "

enum { NS_PLAIN = 1, NS_LATE };

static const CintCase modes[] = {
    { "off", "" },
    { "real", BASE ",cint.time=real" },
    { "virtual", BASE ",cint.time=virtual" },
};

/* ---- Commands ---- */

static char *make_disk(void)
{
    g_autofree uint32_t *words = g_new(uint32_t, DISK_SIZE / 4);
    char *path = g_strdup_printf("%s/nvme-cint-others-XXXXXX",
                                 g_get_tmp_dir());
    int fd = mkstemp(path);
    size_t i;

    for (i = 0; i < DISK_SIZE / 4; i++) {
        words[i] = cpu_to_le32(PATTERN);
    }
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, words, DISK_SIZE), ==, DISK_SIZE);
    close(fd);
    return path;
}

static void push_late(CintTest *t, QNvmeSq *sq, uint8_t opcode)
{
    NvmeCmd cmd = qnvme_rw_cmd(opcode, &t->buf, 0, QNVME_PAGE_SIZE);

    cmd.nsid = cpu_to_le32(NS_LATE);
    qnvme_push(sq, &cmd);
}

/* A block of the pattern, whose first dword goes to @at. */
static void push_read_to(CintTest *t, QNvmeSq *sq, uint64_t at)
{
    const NvmeSglDescriptor sgl[] = {
        { .addr = cpu_to_le64(at), .len = cpu_to_le32(4) },
        { .addr = cpu_to_le64(t->buf.addr), .len = cpu_to_le32(508) },
    };
    uint64_t list = guest_alloc(t->nvme->alloc, QNVME_PAGE_SIZE);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, 512);

    qtest_memwrite(t->qts, list, sgl, sizeof(sgl));
    cmd.flags = NVME_PSDT_SGL_MPTR_CONTIGUOUS << 6;
    cmd.dptr.sgl = (NvmeSglDescriptor) {
        .addr = cpu_to_le64(list),
        .len = cpu_to_le32(sizeof(sgl)),
        .type = NVME_SGL_DESCR_TYPE_LAST_SEGMENT << 4,
    };
    qnvme_push(sq, &cmd);
}

static void wait_for_cqes(CintMachine *m, QNvmeCq *cq, uint32_t count)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;

    while (qnvme_visible(cq) < count) {
        if (g_get_monotonic_time() > limit) {
            g_error("CQ %u: %u CQEs of %u", cq->id, qnvme_visible(cq), count);
        }
        cint_machine_run(m, 1000);
    }
}

/* ---- Virtual functions ---- */

#define SRIOV       0x120       /* the capability */
#define VF_BARS     (8 * MiB)   /* behind the physical function's registers */
#define PHYSICAL \
    ",subsys=s0,max_ioqpairs=6,msix_qsize=8,sriov_max_vfs=2," \
    "sriov_vq_flexible=4,sriov_vi_flexible=4"
#define ASSIGN      0x8         /* actions of Virtualization Management */
#define ONLINE      0x9
#define OFFLINE     0x7

typedef struct Vfs {
    CintMachine *m;
    CintTest *pf;           /* the physical function */
    CintTest *other;        /* shares namespaces with it */
    CintTest vf;
    uint16_t id;            /* of the virtual function: its controller */
    uint64_t at;            /* what is aimed at */
    uint32_t value;
} Vfs;

static uint64_t sriov_at(Vfs *v)
{
    return cint_config_at(v->pf->pdev) + SRIOV;
}

static NvmeCmd manage(uint16_t id, uint8_t action, uint8_t resource,
                      uint16_t count)
{
    return (NvmeCmd) {
        .opcode = NVME_ADM_CMD_VIRT_MNGMT,
        .cdw10 = cpu_to_le32(id << 16 | resource << 8 | action),
        .cdw11 = cpu_to_le32(count),
    };
}

static void must_manage(Vfs *v, uint8_t action, uint8_t resource,
                        uint16_t count)
{
    NvmeCmd cmd = manage(v->id, action, resource, count);

    g_assert_cmphex(qnvme_admin(v->pf->nvme, &cmd, NULL), ==, 0);
}

static uint16_t first_secondary(CintTest *pf)
{
    NvmeSecCtrlList *list = g_new0(NvmeSecCtrlList, 1);
    QNvmeBuf buf = qnvme_buf_new(pf->nvme, sizeof(*list));
    uint16_t id;

    g_assert_cmphex(qnvme_identify(pf->nvme, NVME_ID_CNS_SECONDARY_CTRL_LIST,
                                   0, &buf), ==, 0);
    qtest_memread(pf->qts, buf.addr, list, sizeof(*list));
    id = le16_to_cpu(list->sec[0].scid);
    g_free(list);
    return id;
}

static void enable_vfs(Vfs *v, uint64_t bars)
{
    QTestState *qts = v->m->qts;

    qtest_writew(qts, sriov_at(v) + PCI_SRIOV_CTRL, 0);
    qtest_writew(qts, sriov_at(v) + PCI_SRIOV_NUM_VF, 2);
    qtest_writel(qts, sriov_at(v) + PCI_SRIOV_BAR, bars);
    qtest_writel(qts, sriov_at(v) + PCI_SRIOV_BAR + 4, 0);
    qtest_writew(qts, sriov_at(v) + PCI_SRIOV_CTRL,
                 PCI_SRIOV_CTRL_VFE | PCI_SRIOV_CTRL_MSE);
}

/* A virtual function has no BARs that could be mapped as others are. */
static void take_over_vf(Vfs *v, uint64_t bar)
{
    QPCIDevice *dev = g_new0(QPCIDevice, 1);
    QNvmeCtrl *n = g_new0(QNvmeCtrl, 1);
    uint64_t config;
    uint16_t vector;
    uint8_t msix;

    dev->bus = v->m->bus;
    dev->devfn = v->pf->pdev->devfn + 1;
    config = cint_config_at(dev);
    msix = qpci_find_capability(dev, PCI_CAP_ID_MSIX, 0);
    dev->msix_enabled = true;
    dev->msix_table_bar.addr = bar;
    dev->msix_pba_bar.addr = bar;
    dev->msix_table_off = qtest_readl(v->m->qts, config + msix +
                                      PCI_MSIX_TABLE) & ~7u;
    dev->msix_pba_off = qtest_readl(v->m->qts, config + msix +
                                    PCI_MSIX_PBA) & ~7u;
    qtest_writew(v->m->qts, config + PCI_COMMAND,
                 PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    qtest_writew(v->m->qts, config + msix + PCI_MSIX_FLAGS,
                 PCI_MSIX_FLAGS_ENABLE);
    *n = (QNvmeCtrl) {
        .pdev = dev, .qts = v->m->qts, .alloc = &v->m->alloc,
        .bar.addr = bar, .vectors = 2,
        .sink = guest_alloc(&v->m->alloc, QNVME_PAGE_SIZE),
    };
    for (vector = 0; vector < n->vectors; vector++) {
        qnvme_restore_vector(n, vector);
    }
    v->vf = (CintTest) {
        .qts = v->m->qts, .bus = v->m->bus, .pdev = dev, .nvme = n,
        .clock = v->pf->clock, .buf = qnvme_buf_new(n, 2 * QNVME_PAGE_SIZE),
    };
}

/* The first virtual function gets all it may have, and is enabled. */
static void bring_up(Vfs *v)
{
    uint64_t bars = v->pf->nvme->bar.addr + VF_BARS;

    enable_vfs(v, bars);
    v->id = first_secondary(v->pf);
    must_manage(v, ASSIGN, 0, 2);
    must_manage(v, ASSIGN, 1, 2);
    must_manage(v, ONLINE, 0, 0);
    take_over_vf(v, bars);
    qnvme_enable(v->vf.nvme);
}

static void forget_vf(Vfs *v)
{
    g_clear_pointer(&v->vf.nvme, qnvme_free);
    g_clear_pointer(&v->vf.pdev, g_free);
}

/* What is asked for. */

static void aim_at_enable(Vfs *v)
{
    v->at = sriov_at(v) + PCI_SRIOV_CTRL;
    v->value = 0;
}

static void aim_at_flr(Vfs *v)
{
    v->at = cint_flr_at(v->vf.pdev);
    v->value = PCI_EXP_DEVCTL_BCR_FLR;
}

static void aim_at_flr_of_physical(Vfs *v)
{
    v->at = cint_flr_at(v->pf->pdev);
    v->value = PCI_EXP_DEVCTL_BCR_FLR;
}

static void aim_at_power(Vfs *v)
{
    v->at = cint_slot_control_at(v->m->node[0].port);
    v->value = CINT_SLOT_OFF;
}

static void aim_at_cc(Vfs *v)
{
    v->at = v->vf.nvme->bar.addr + NVME_REG_CC;
    v->value = 0;
}

static void aim_at_cc_of_physical(Vfs *v)
{
    v->at = v->pf->nvme->bar.addr + NVME_REG_CC;
    v->value = 0;
}

/* The physical function takes it offline. */
static void aim_at_offline(Vfs *v)
{
    NvmeCmd cmd = manage(v->id, OFFLINE, 0, 0);

    qnvme_push(&v->pf->nvme->admin_sq, &cmd);
    v->at = v->pf->nvme->bar.addr + DOORBELLS;
    v->value = v->pf->nvme->admin_sq.tail;
}

static const struct {
    const char *name;
    void (*aim)(Vfs *v);
} vf_ends[] = {
    { "disabled", aim_at_enable },
    { "reset", aim_at_flr },
    { "reset-with-physical", aim_at_flr_of_physical },
    { "unplugged", aim_at_power },
    { "cleared", aim_at_cc },
    { "cleared-physical", aim_at_cc_of_physical },
    { "offline", aim_at_offline },
};

/* Who asks. */

static void ask_by_cpu(Vfs *v)
{
    qtest_writel(v->m->qts, v->at, v->value);
}

static void ask_by_message_of(Vfs *v, CintTest *t)
{
    QNvmeSq *sq = t->nvme->sqs[1];

    cint_aim(t, 1, v->at, v->value);
    qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
    qnvme_ring_sq(sq);
}

static void ask_by_own_message(Vfs *v)
{
    ask_by_message_of(v, &v->vf);
}

static void ask_by_message_of_physical(Vfs *v)
{
    ask_by_message_of(v, v->pf);
}

static void ask_by_others_message(Vfs *v)
{
    ask_by_message_of(v, v->other);
}

/* The pattern rings for nothing. */
static void ask_by_data_of(Vfs *v, CintTest *t)
{
    QNvmeSq *sq = t->nvme->sqs[1];

    push_read_to(t, sq, v->at);
    qnvme_ring_sq(sq);
}

static void ask_by_own_data(Vfs *v)
{
    ask_by_data_of(v, &v->vf);
}

static void ask_by_data_of_physical(Vfs *v)
{
    ask_by_data_of(v, v->pf);
}

static void ask_by_others_data(Vfs *v)
{
    ask_by_data_of(v, v->other);
}

static void (*const vf_asks[])(Vfs *v) = {
    ask_by_cpu, ask_by_own_message, ask_by_message_of_physical,
    ask_by_others_message, ask_by_own_data, ask_by_data_of_physical,
    ask_by_others_data,
};

/* Reads, an Identify and a request for events are in flight. */
static void keep_vf_busy(Vfs *v)
{
    QNvmeSq *sq = cint_queues(&v->vf, 1);
    int i;

    cint_queues(v->pf, 1);
    cint_queues(v->other, 1);
    for (i = 0; i < BUSY; i++) {
        push_late(&v->vf, sq, i % 2 ? NVME_CMD_WRITE : NVME_CMD_READ);
    }
    qnvme_ring_sq(sq);
    cint_push_admin(&v->vf, NVME_ADM_CMD_ASYNC_EV_REQ, 0, 0, 0);
    cint_push_admin(&v->vf, NVME_ADM_CMD_IDENTIFY, v->vf.buf.addr,
                    NVME_ID_CNS_CTRL, 0);
    qnvme_ring_sq(&v->vf.nvme->admin_sq);
}

static void expect_vf_works(Vfs *v)
{
    QNvmeSq *sq;

    bring_up(v);
    sq = cint_queues(&v->vf, 1);
    cint_read(&v->vf, sq, BUSY);
    wait_for_cqes(v->m, sq->cq, BUSY);
    g_assert_true(qnvme_take_irq(v->vf.nvme, 1));
    forget_vf(v);
}

static CintMachine *boot_with_vfs(const char *disk, const char *opts)
{
    g_autofree char *other = g_strconcat(",subsys=s0", opts, NULL);
    const CintPlan plans[] = {
        { .opts = PHYSICAL, .behind_port = true }, { .opts = other }, { NULL },
    };
    g_autofree char *args = g_strdup_printf(
        "-device nvme-subsys,id=s0 " CINT_NATIVE_HOTPLUG IN_FLIGHT PATTERNED,
        disk);

    return cint_machine_new(args, plans, NAMESPACES);
}

/* @opaque is of the controller beside them: those with them have no cint. */
static void test_vf(const void *opaque)
{
    const CintCase *mode = opaque;
    g_autofree char *disk = make_disk();
    Vfs v = { .m = boot_with_vfs(disk, mode->opts) };
    size_t i, j;

    v.pf = &v.m->node[0].t;
    v.other = &v.m->node[1].t;
    for (i = 0; i < ARRAY_SIZE(vf_ends); i++) {
        for (j = 0; j < ARRAY_SIZE(vf_asks); j++) {
            cint_step("%s, asked for by %zu", vf_ends[i].name, j);
            bring_up(&v);
            keep_vf_busy(&v);
            vf_ends[i].aim(&v);
            vf_asks[j](&v);
            cint_machine_run(v.m, 1000);
            cint_machine_expect_recovers(v.m);
            forget_vf(&v);
        }
    }
    expect_vf_works(&v);
    cint_machine_free(v.m);
    unlink(disk);
}

/* Nothing comes of it before the clock moves, unless somebody waits for it. */
#define THROTTLED \
    "-object throttle-group,id=slow,x-iops-total=1 " \
    "-blockdev driver=throttle,node-name=late,throttle-group=slow," \
    "file.driver=null-co,file.size=16777216,file.read-zeroes=on "
#define TRACED      "-trace pci_cfg_write -trace pci_nvme_rw_complete_cb 2>%s "

/* The line of the trace behind @from that has @what; or NULL. */
static const char *find_after(const char *from, const char *what)
{
    const char *at = strstr(from, what);

    return at ? at + strlen(what) : NULL;
}

/*
 * A guest may reuse memory as soon as it has disabled the virtual functions.
 * So their reads have ended before its next write, in the same instant, is
 * looked at.
 */
static void test_disabled_at_once(const void *opaque)
{
    g_autofree char *trace = NULL, *said = NULL, *args = NULL;
    const CintPlan plans[] = {
        { .opts = PHYSICAL, .behind_port = true }, { NULL },
    };
    const uint32_t nothing[2] = { 0, 0 };
    const char *disabled, *next;
    Vfs v = { 0 };

    close(g_file_open_tmp("nvme-cint-others-XXXXXX", &trace, NULL));
    args = g_strdup_printf("-device nvme-subsys,id=s0 " THROTTLED TRACED,
                           trace);
    v.m = cint_machine_new(args, plans,
                           "-device nvme-ns,bus=nvme0,drive=late,nsid=1 ");
    v.pf = &v.m->node[0].t;
    bring_up(&v);
    cint_read(&v.vf, cint_queues(&v.vf, 1), BUSY);
    cint_let_run(&v.vf);
    cint_step("disabled");
    qtest_memwrite(v.m->qts, sriov_at(&v) + PCI_SRIOV_CTRL, nothing,
                   sizeof(nothing));
    forget_vf(&v);
    cint_machine_free(v.m);

    g_assert_true(g_file_get_contents(trace, &said, NULL, NULL));
    next = said;
    do {
        disabled = next;
        next = find_after(disabled, "@0x128 <- 0x0");
    } while (next);
    next = find_after(disabled, "@0x12c <- 0x0");
    g_assert_nonnull(next);
    g_assert_nonnull(strstr(disabled, "rw_complete"));
    g_assert_true(strstr(disabled, "rw_complete") < next);
    unlink(trace);
}

/* ---- Memory of another ---- */

#define OWNER_OPTS  ",drive=d1,cmb_size_mb=1,pmrdev=pmr"
#define OWNER_ARGS \
    "-object memory-backend-ram,id=pmr,size=1M " \
    CINT_NATIVE_HOTPLUG CINT_NULL_NODE("d1", "") \
    CINT_SLOW_NODE("d0", 20000000)
/* In Identify Controller, from byte 4 on: power off, in Slot Control. */
#define SERIAL      ",serial=WWWWWWWW"
#define SERIAL_AT   4

typedef struct Memory {
    CintMachine *m;
    CintTest *t;            /* whoever uses it */
    CintTest *owner;
    CintNode *owner_node;
    uint64_t at;
} Memory;

static uint64_t map_cmb(CintTest *owner)
{
    QPCIBar bar = qpci_iomap(owner->pdev, 2, NULL);

    qnvme_reg_write(owner->nvme, NVME_REG_CMBMSC, 1);
    return bar.addr;
}

static uint64_t map_pmr(CintTest *owner)
{
    QPCIBar bar = qpci_iomap(owner->pdev, 4, NULL);

    qnvme_reg_write(owner->nvme, NVME_REG_PMRCTL, 1);
    return bar.addr;
}

static uint64_t (*const memories[])(CintTest *owner) = { map_cmb, map_pmr };

/* What becomes of it. */

static void power_off(Memory *u)
{
    qtest_writel(u->m->qts, cint_slot_control_at(u->owner_node->port),
                 CINT_SLOT_OFF);
}

static void power_off_by_message(Memory *u)
{
    QNvmeSq *sq = u->t->nvme->sqs[3];

    cint_aim(u->t, 3, cint_slot_control_at(u->owner_node->port),
             CINT_SLOT_OFF);
    cint_read(u->t, sq, 1);
}

/* It is the first page that unplugs; the second one is in that memory. */
static void power_off_by_identify(Memory *u)
{
    qnvme_push(&u->t->nvme->admin_sq, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_IDENTIFY,
        .dptr.prp1 = cpu_to_le64(cint_slot_control_at(u->owner_node->port) -
                                 SERIAL_AT),
        .dptr.prp2 = cpu_to_le64(u->at),
        .cdw10 = cpu_to_le32(NVME_ID_CNS_CTRL),
    });
    qnvme_ring_sq(&u->t->nvme->admin_sq);
}

static void unplug_by_operator(Memory *u)
{
    g_autofree char *answer = qtest_hmp(u->m->qts, "device_del nvme1");

    g_assert_cmpstr(answer, ==, "");
    power_off(u);
}

static void reset_owner(Memory *u)
{
    qtest_writel(u->m->qts, cint_flr_at(u->owner->pdev),
                 PCI_EXP_DEVCTL_BCR_FLR);
}

static void switch_off(Memory *u)
{
    qnvme_reg_write(u->owner->nvme, NVME_REG_CMBMSC, 0);
    qnvme_reg_write(u->owner->nvme, NVME_REG_PMRCTL, 0);
}

static void (*const memory_ends[])(Memory *u) = {
    power_off, power_off_by_message, power_off_by_identify,
    unplug_by_operator, reset_owner, switch_off,
};

/*
 * Data, a queue and, where there are any, status records lie there. From here
 * on who waits for an admin command would be told of another.
 */
static QNvmeSq *use_memory(Memory *u, bool records)
{
    QNvmeSq *sq = cint_queues(u->t, 1), *sq_there;
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &u->t->buf, 0, QNVME_PAGE_SIZE);
    NvmeCintStatus status = {
        .addr = cpu_to_le64(u->at + 64 * KiB), .records = cpu_to_le32(3),
    };
    int i;

    cint_queues(u->t, 3);
    sq_there = qnvme_create_sq(u->t->nvme, 2, CINT_ENTRIES,
                               cint_create_cq_at(u->t, 2, CINT_ENTRIES,
                                                 u->at + 128 * KiB));
    if (records) {
        qtest_memwrite(u->m->qts, u->t->buf.addr, &status, sizeof(status));
        cint_push_admin(u->t, NVME_ADM_CMD_SET_FEATURES, u->t->buf.addr,
                        NVME_CINT_FID_STATUS, 0);
        qnvme_ring_sq(&u->t->nvme->admin_sq);
        cint_machine_run(u->m, 1000);
    }
    for (i = 0; i < BUSY; i++) {
        cmd.opcode = i % 2 ? NVME_CMD_WRITE : NVME_CMD_READ;
        cmd.dptr.prp1 = cpu_to_le64(u->at + i * QNVME_PAGE_SIZE);
        qnvme_push(sq, &cmd);
        qnvme_push(sq_there, &cmd);
    }
    qnvme_ring_sq(sq);
    qnvme_ring_sq(sq_there);
    cint_let_run(u->t);
    return sq;
}

static void test_memory(const void *opaque)
{
    const CintCase *mode = opaque;
    g_autofree char *device = g_strconcat(",drive=d0" SERIAL, mode->opts,
                                          NULL);
    const CintPlan plans[] = {
        { .opts = device }, { .opts = OWNER_OPTS, .behind_port = true },
        { NULL },
    };
    Memory u = { .m = cint_machine_new(OWNER_ARGS, plans, NULL) };
    size_t i, j;

    u.t = &u.m->node[0].t;
    u.owner_node = &u.m->node[1];
    u.owner = &u.owner_node->t;
    for (i = 0; i < ARRAY_SIZE(memories); i++) {
        for (j = 0; j < ARRAY_SIZE(memory_ends); j++) {
            QNvmeSq *sq;

            cint_step("memory %zu, end %zu", i, j);
            u.at = memories[i](u.owner);
            sq = use_memory(&u, *mode->opts);
            memory_ends[j](&u);
            cint_machine_run(u.m, 1000);
            wait_for_cqes(u.m, sq->cq, BUSY);
            cint_machine_expect_recovers(u.m);
        }
    }
    cint_machine_free(u.m);
}

/* ---- Namespaces that are shared ---- */

typedef struct Shared {
    CintMachine *m;
    CintTest *t;            /* resets, and goes on */
    CintTest *victim;       /* is reset */
} Shared;

static void read_late(Shared *s)
{
    QNvmeSq *sq = cint_queues(s->victim, 1);
    int i;

    for (i = 0; i < BUSY; i++) {
        push_late(s->victim, sq, NVME_CMD_READ);
    }
    qnvme_ring_sq(sq);
}

static void write_and_flush_late(Shared *s)
{
    QNvmeSq *sq = cint_queues(s->victim, 1);

    push_late(s->victim, sq, NVME_CMD_WRITE);
    push_late(s->victim, sq, NVME_CMD_COMPARE);
    qnvme_push(sq, &(NvmeCmd) {
        .opcode = NVME_CMD_FLUSH, .nsid = cpu_to_le32(NVME_NSID_BROADCAST),
    });
    push_late(s->victim, sq, NVME_CMD_WRITE_ZEROES);
    qnvme_ring_sq(sq);
}

static void copy_late(Shared *s)
{
    NvmeCopySourceRangeFormat0_2 range = { .nlb = cpu_to_le16(7) };
    QNvmeSq *sq = cint_queues(s->victim, 1);
    int i;

    qtest_memwrite(s->m->qts, s->victim->buf.addr, &range, sizeof(range));
    for (i = 0; i < BUSY; i++) {
        qnvme_push(sq, &(NvmeCmd) {
            .opcode = NVME_CMD_COPY,
            .nsid = cpu_to_le32(NS_LATE),
            .dptr.prp1 = cpu_to_le64(s->victim->buf.addr),
            .cdw10 = cpu_to_le32(64),
        });
    }
    qnvme_ring_sq(sq);
}

static void format_late(Shared *s)
{
    qnvme_push(&s->victim->nvme->admin_sq, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_FORMAT_NVM, .nsid = cpu_to_le32(NS_LATE),
    });
    qnvme_ring_sq(&s->victim->nvme->admin_sq);
}

static void (*const victims_do[])(Shared *s) = {
    read_late, write_and_flush_late, copy_late, format_late,
};

/* Who resets has reads of its own in flight, and is owed these as well. */
static QNvmeSq *begin_reads(Shared *s)
{
    QNvmeSq *sq = cint_queues(s->t, 1);
    int i;

    for (i = 0; i < BUSY; i++) {
        push_late(s->t, sq, NVME_CMD_READ);
    }
    return sq;
}

static QNvmeSq *reset_by_message(Shared *s)
{
    QNvmeSq *sq = begin_reads(s), *sends = cint_queues(s->t, 2);

    cint_aim(s->t, 2, s->victim->nvme->bar.addr + NVME_REG_CC, 0);
    qnvme_ring_sq(sq);
    cint_read(s->t, sends, 1);
    return sq;
}

static QNvmeSq *reset_by_data(Shared *s)
{
    QNvmeSq *sq = begin_reads(s);

    push_read_to(s->t, sq, s->victim->nvme->bar.addr + NVME_REG_CC);
    qnvme_ring_sq(sq);
    return sq;
}

/* Zeroes of the very namespace that the reset waits for. */
static QNvmeSq *reset_by_late_data(Shared *s)
{
    QNvmeSq *sq = begin_reads(s);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &s->t->buf, 0, QNVME_PAGE_SIZE);

    cmd.nsid = cpu_to_le32(NS_LATE);
    cmd.dptr.prp1 = cpu_to_le64(s->victim->nvme->bar.addr);
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    return sq;
}

/* A list of what is no namespace: zeroes. */
static QNvmeSq *reset_by_log(Shared *s)
{
    QNvmeSq *sq = begin_reads(s);

    qnvme_ring_sq(sq);
    qnvme_push(&s->t->nvme->admin_sq, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_GET_LOG_PAGE,
        .nsid = cpu_to_le32(NVME_NSID_BROADCAST),
        .dptr.prp1 = cpu_to_le64(s->victim->nvme->bar.addr + NVME_REG_CC),
        .cdw10 = cpu_to_le32(NVME_LOG_CHANGED_NSLIST),
    });
    qnvme_ring_sq(&s->t->nvme->admin_sq);
    return sq;
}

static QNvmeSq *(*const resets[])(Shared *s) = {
    reset_by_message, reset_by_data, reset_by_late_data, reset_by_log,
};

static void wait_until_disabled(CintMachine *m, CintTest *t)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;

    while (NVME_CC_EN(qnvme_reg_read(t->nvme, NVME_REG_CC))) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        cint_machine_run(m, 1000);
    }
}

/* Nothing is read from a namespace that is being formatted. */
static bool is_read(size_t what, size_t how)
{
    return victims_do[what] != format_late || resets[how] != reset_by_late_data;
}

static void reset_one(Shared *s, size_t what, size_t how)
{
    QNvmeSq *sq;

    cint_step("%s resets who does %zu, by %zu",
              s->t == &s->m->node[0].t ? "the first" : "the second", what,
              how);
    victims_do[what](s);
    cint_let_run(s->t);
    sq = resets[how](s);
    wait_for_cqes(s->m, sq->cq, sq->tail);
    if (is_read(what, how)) {
        wait_until_disabled(s->m, s->victim);
    }
    cint_machine_expect_recovers(s->m);
}

/* Two controllers of which one is stock's: each resets the other. */
static void test_shared(const void *opaque)
{
    const CintCase *mode = opaque;
    g_autofree char *disk = make_disk();
    g_autofree char *device = g_strconcat(",subsys=s0", mode->opts, NULL);
    const CintPlan plans[] = {
        { .opts = device }, { .opts = ",subsys=s0" }, { NULL },
    };
    g_autofree char *args = g_strdup_printf(
        "-device nvme-subsys,id=s0 " IN_FLIGHT PATTERNED, disk);
    CintMachine *m = cint_machine_new(args, plans, NAMESPACES);
    size_t i, j, k;

    for (i = 0; i < ARRAY_SIZE(victims_do); i++) {
        for (j = 0; j < ARRAY_SIZE(resets); j++) {
            for (k = 0; k < 2; k++) {
                reset_one(&(Shared) {
                    m, &m->node[k].t, &m->node[!k].t,
                }, i, j);
            }
        }
    }
    cint_machine_free(m);
    unlink(disk);
}

/* ---- What a queue that holds CQEs stands on ---- */

#define HOLDS \
    ",cint=on,cint.policy=static,cint.static-time=1000000000," \
    "cint.static-thr=50,cint.max-hold=0"
#define HELD_NS     CINT_SECOND
#define DEALLOCATE  (1u << 25)  /* DEAC, of Write Zeroes */
/* Whose blocks are given back, below a layer that is committed. */
#define LAYERED \
    "-drive if=none,id=plain,file=%s,format=raw,snapshot=on,discard=unmap "
#define DOORBELL_PAGE(t)    ((t)->nvme->bar.addr + DOORBELLS)

static const CintCase holding_modes[] = {
    { "off", "" },
    { "real", HOLDS ",cint.time=real" },
    { "virtual", HOLDS ",cint.time=virtual" },
};

typedef struct Ground {
    CintMachine *m;
    CintTest *t;            /* holds CQEs of queue 1 */
    CintTest *other;        /* shares its namespaces */
    bool cint;
} Ground;

static uint64_t new_pages(Ground *g, unsigned count)
{
    uint64_t pages = guest_alloc(&g->m->alloc, count * QNVME_PAGE_SIZE);

    qtest_memset(g->m->qts, pages, 0, count * QNVME_PAGE_SIZE);
    return pages;
}

static void have_held(Ground *g, CintTest *t, QNvmeSq *sq)
{
    cint_read(t, sq, BUSY);
    cint_machine_run(g->m, 1000);
}

/* Both say that the page is theirs. */
static void share_a_page(Ground *g)
{
    uint64_t page = new_pages(g, 1);
    CintTest *const both[] = { g->t, g->other };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(both); i++) {
        QNvmeCq *cq = cint_create_cq_at(both[i], 2, CINT_ENTRIES, page);

        have_held(g, both[i], qnvme_create_sq(both[i]->nvme, 2, CINT_ENTRIES,
                                              cq));
    }
}

/* The CQ of one is the SQ of another: what is posted there is fetched. */
static void complete_into_a_queue(Ground *g)
{
    QNvmeSq *victim = cint_queues(g->other, 2);
    QNvmeCq *cq = cint_create_cq_at(g->t, 2, CINT_ENTRIES, victim->addr);

    have_held(g, g->t, qnvme_create_sq(g->t->nvme, 2, CINT_ENTRIES, cq));
    qnvme_reg_write(g->other->nvme, DOORBELLS + 8 * victim->id, 9);
}

static void use_doorbells_at(Ground *g, CintTest *t, uint64_t shadow,
                             uint64_t event_idx)
{
    qnvme_push(&t->nvme->admin_sq, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_DBBUF_CONFIG,
        .dptr.prp1 = cpu_to_le64(shadow),
        .dptr.prp2 = cpu_to_le64(event_idx),
    });
    qnvme_ring_sq(&t->nvme->admin_sq);
    cint_machine_run(g->m, 1000);
}

/* Each tells the other how far its queues are. */
static void share_shadow_doorbells(Ground *g)
{
    uint64_t pages = new_pages(g, 2);

    cint_queues(g->other, 1);
    use_doorbells_at(g, g->t, pages, pages + QNVME_PAGE_SIZE);
    use_doorbells_at(g, g->other, pages, pages + QNVME_PAGE_SIZE);
    have_held(g, g->t, g->t->nvme->sqs[1]);
    have_held(g, g->other, g->other->nvme->sqs[1]);
}

/* Doorbells that are another's, or event indices, or both of them own. */
static void shadow_registers(Ground *g)
{
    cint_queues(g->other, 1);
    use_doorbells_at(g, g->t, DOORBELL_PAGE(g->other), new_pages(g, 1));
    have_held(g, g->t, g->t->nvme->sqs[1]);
    use_doorbells_at(g, g->other, new_pages(g, 1), DOORBELL_PAGE(g->t));
    have_held(g, g->other, g->other->nvme->sqs[1]);
    use_doorbells_at(g, g->t, DOORBELL_PAGE(g->t), DOORBELL_PAGE(g->t));
    have_held(g, g->t, g->t->nvme->sqs[1]);
}

/* Queues, data, doorbells and records in the controller's own memory. */
static void live_in_own_memory(Ground *g)
{
    uint64_t at = map_cmb(g->t);
    NvmeCintStatus status = {
        .addr = cpu_to_le64(at + 64 * KiB), .records = cpu_to_le32(3),
    };
    QNvmeSq *sq = qnvme_create_sq(g->t->nvme, 2, CINT_ENTRIES,
        cint_create_cq_at(g->t, 2, CINT_ENTRIES, at + 128 * KiB));
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &g->t->buf, 0, QNVME_PAGE_SIZE);

    if (g->cint) {
        qtest_memwrite(g->m->qts, g->t->buf.addr, &status, sizeof(status));
        cint_push_admin(g->t, NVME_ADM_CMD_SET_FEATURES, g->t->buf.addr,
                        NVME_CINT_FID_STATUS, 0);
    }
    /* What lies there is the controller's by its own knowledge, too. */
    qnvme_reg_write(g->t->nvme, NVME_REG_CMBMSC, at | 3);
    use_doorbells_at(g, g->t, at + 192 * KiB, at + 196 * KiB);
    cmd.dptr.prp1 = cpu_to_le64(at);
    qnvme_push(sq, &cmd);
    have_held(g, g->t, sq);
    have_held(g, g->t, g->t->nvme->sqs[1]);
}

/* It goes, or it comes to lie over the queues in the guest's memory. */
static void lose_own_memory(Ground *g)
{
    live_in_own_memory(g);
    qnvme_reg_write(g->t->nvme, NVME_REG_CMBMSC, 0);
}

static void move_own_memory(Ground *g)
{
    live_in_own_memory(g);
    qnvme_reg_write(g->t->nvme, NVME_REG_CMBMSC,
                    (g->t->nvme->sqs[1]->cq->addr & ~(MiB - 1)) | 3);
}

/* From before, or in, registers to behind them; of both controllers. */
static void read_across_registers(Ground *g)
{
    const uint64_t bars[] = { g->t->nvme->bar.addr, g->other->nvme->bar.addr };
    QNvmeSq *sq = cint_queues(g->t, 2);
    size_t i, j;

    for (i = 0; i < ARRAY_SIZE(bars); i++) {
        const uint64_t from[] = {
            bars[i] - 256, bars[i], bars[i] + DOORBELLS - 256,
            bars[i] + 8 * KiB - 256, bars[i] + 16 * KiB - 256,
        };

        for (j = 0; j < ARRAY_SIZE(from); j++) {
            NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &g->t->buf, 0, 512);

            cmd.flags = NVME_PSDT_SGL_MPTR_CONTIGUOUS << 6;
            cmd.dptr.sgl = (NvmeSglDescriptor) {
                .addr = cpu_to_le64(from[j]), .len = cpu_to_le32(512),
            };
            qnvme_push(sq, &cmd);
        }
    }
    have_held(g, g->t, sq);
}

static void expect_unplugged(Ground *g)
{
    cint_machine_run(g->m, 1000);
    g_assert_null(qpci_device_find(g->m->bus, g->m->node[0].devfn));
}

/* What the operator changes has the message sent that takes power away. */
static void unplug_by_property(Ground *g)
{
    if (!g->cint) {
        return;
    }
    wait_for_cqes(g->m, g->t->nvme->cqs[1], BUSY);
    cint_aim(g->t, 1, cint_slot_control_at(g->m->node[0].port),
             CINT_SLOT_OFF);
    cint_set_word(g->t, "cint.policy", "adaptive");
    expect_unplugged(g);
}

/* The operator goes on with a device that is about to go. */
static void unplug_under_properties(Ground *g)
{
    g_autofree char *answer = qtest_hmp(g->m->qts, "device_del nvme0");

    g_assert_cmpstr(answer, ==, "");
    if (g->cint) {
        cint_set_number(g->t, "cint.media.slots", 2);
        cint_set_word(g->t, "cint.policy", "cint");
    }
    qtest_writel(g->m->qts, cint_slot_control_at(g->m->node[0].port),
                 CINT_SLOT_OFF);
    expect_unplugged(g);
}

/* @count commands, whose CQEs are the next, end well. */
static void expect_success(Ground *g, QNvmeCq *cq, uint32_t count)
{
    NvmeCqe cqe;
    uint32_t i;

    wait_for_cqes(g->m, cq, count);
    for (i = 0; i < count; i++) {
        g_assert_true(qnvme_peek(cq, i, &cqe));
        g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    }
    qnvme_reap(cq, count);
}

static void push_attachment(CintTest *t, uint8_t sel)
{
    const uint16_t list[2] = { cpu_to_le16(1), cpu_to_le16(0) };

    qtest_memset(t->qts, t->buf.addr, 0, QNVME_PAGE_SIZE);
    qtest_memwrite(t->qts, t->buf.addr, list, sizeof(list));
    qnvme_push(&t->nvme->admin_sq, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_NS_ATTACHMENT,
        .nsid = cpu_to_le32(NS_PLAIN),
        .dptr.prp1 = cpu_to_le64(t->buf.addr),
        .cdw10 = cpu_to_le32(sel),
    });
    qnvme_ring_sq(&t->nvme->admin_sq);
}

/* The namespace that the CQEs are of goes, and comes again. */
static void detach(Ground *g)
{
    push_attachment(g->other, NVME_NS_ATTACHMENT_DETACH);
    expect_success(g, &g->other->nvme->admin_cq, 1);
    have_held(g, g->t, g->t->nvme->sqs[1]);
    push_attachment(g->other, NVME_NS_ATTACHMENT_ATTACH);
    expect_success(g, &g->other->nvme->admin_cq, 1);
    have_held(g, g->t, g->t->nvme->sqs[1]);
}

/* Blocks are given back while the layer that has them is committed. */
static void discard_and_commit(Ground *g)
{
    const NvmeDsmRange range = { .nlb = cpu_to_le32(1024) };
    QNvmeSq *sq = cint_queues(g->t, 2);
    uint64_t ranges = new_pages(g, 1);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_WRITE, &g->t->buf, 0,
                               QNVME_PAGE_SIZE);
    g_autofree char *answer = NULL;
    int i;

    qtest_memwrite(g->m->qts, ranges, &range, sizeof(range));
    for (i = 0; i < BUSY; i++) {
        qnvme_push(sq, &cmd);
        qnvme_push(sq, &(NvmeCmd) {
            .opcode = NVME_CMD_DSM, .nsid = cpu_to_le32(NS_PLAIN),
            .dptr.prp1 = cpu_to_le64(ranges),
            .cdw11 = cpu_to_le32(NVME_DSMGMT_AD),
        });
        qnvme_push(sq, &(NvmeCmd) {
            .opcode = NVME_CMD_WRITE_ZEROES, .nsid = cpu_to_le32(NS_PLAIN),
            .cdw12 = cpu_to_le32(DEALLOCATE | 511),
        });
    }
    qnvme_ring_sq(sq);
    answer = qtest_hmp(g->m->qts, "commit plain");
    g_assert_cmpstr(answer, ==, "");
    expect_success(g, sq->cq, sq->tail);
}

typedef struct Shift {
    const char *name;
    void (*shift)(Ground *g);
} Shift;

static const Shift shifts[] = {
    { "page-of-two-cqs", share_a_page },
    { "cq-that-is-an-sq", complete_into_a_queue },
    { "shadow-doorbells-of-two", share_shadow_doorbells },
    { "shadow-doorbells-in-registers", shadow_registers },
    { "own-memory", live_in_own_memory },
    { "own-memory-goes", lose_own_memory },
    { "own-memory-moves", move_own_memory },
    { "data-across-registers", read_across_registers },
    { "property-unplugs", unplug_by_property },
    { "properties-under-an-unplug", unplug_under_properties },
    { "namespace-goes-and-comes", detach },
    { "discards-and-a-commit", discard_and_commit },
};

typedef struct GroundCase {
    const Shift *shift;
    const CintCase *mode;
} GroundCase;

static void test_ground(const void *opaque)
{
    const GroundCase *c = opaque;
    g_autofree char *disk = make_disk();
    g_autofree char *one = g_strconcat(",subsys=s0,cmb_size_mb=1",
                                       c->mode->opts, NULL);
    g_autofree char *two = g_strconcat(",subsys=s0", c->mode->opts, NULL);
    const CintPlan plans[] = {
        { .opts = one, .behind_port = true },
        { .opts = two, .behind_port = true }, { NULL },
    };
    g_autofree char *args = g_strdup_printf(
        "-device nvme-subsys,id=s0 " CINT_NATIVE_HOTPLUG LAYERED, disk);
    Ground g = {
        .m = cint_machine_new(args, plans, "-device nvme-ns,bus=nvme0,"
                              "drive=plain,nsid=1 "),
        .cint = *c->mode->opts,
    };

    g.t = &g.m->node[0].t;
    g.other = &g.m->node[1].t;
    cint_step("%s", c->shift->name);
    have_held(&g, g.t, cint_queues(g.t, 1));
    c->shift->shift(&g);
    cint_machine_run(g.m, 2 * HELD_NS);
    cint_machine_expect_recovers(g.m);
    cint_machine_free(g.m);
    unlink(disk);
}

static void add_ground(void)
{
    static GroundCase cases[ARRAY_SIZE(shifts) * ARRAY_SIZE(holding_modes)];
    GroundCase *c = cases;
    size_t i, j;

    for (i = 0; i < ARRAY_SIZE(shifts); i++) {
        for (j = 0; j < ARRAY_SIZE(holding_modes); j++, c++) {
            g_autofree char *path = g_strdup_printf(
                "/nvme-cint/others/ground/%s/%s", shifts[i].name,
                holding_modes[j].name);

            *c = (GroundCase) { &shifts[i], &holding_modes[j] };
            qtest_add_data_func(path, c, test_ground);
        }
    }
}

/* ---- All of it ---- */

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(const void *mode);
    } parts[] = {
        { "virtual-functions", test_vf },
        { "memory", test_memory },
        { "namespaces", test_shared },
    };
    size_t i, j;

    cint_watch_init(&argc, &argv);
    for (i = 0; i < ARRAY_SIZE(parts); i++) {
        for (j = 0; j < ARRAY_SIZE(modes); j++) {
            g_autofree char *path = g_strdup_printf(
                "/nvme-cint/others/%s/%s", parts[i].name, modes[j].name);

            qtest_add_data_func(path, &modes[j], parts[i].run);
        }
    }
    add_ground();
    qtest_add_data_func("/nvme-cint/others/virtual-functions/disabled-at-once",
                        NULL, test_disabled_at_once);
    return g_test_run();
}
