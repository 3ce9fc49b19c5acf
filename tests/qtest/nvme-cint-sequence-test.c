/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sequences of a guest that ended QEMU, made it hang, or were answered
 * wrongly: writes of the device to addresses that reset, unplug or delete what
 * the device holds while it writes. docs/mutations.md lists what came of each.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-driver.h"
#include "nvme-cint-machine.h"

#define OFF         ""
#define BASE        ",cint=on,cint.policy=default,cint.max-hold=0"
#define REAL        BASE ",cint.time=real"
#define VIRTUAL     BASE ",cint.time=virtual"

#define HOLDING(o)  o ",cint.policy=static,cint.static-time=1000000," \
                    "cint.static-thr=50"

#define ADMIN_TAIL  0x1000
#define ZONES       64
#define ZONE_BLOCKS (16 * MiB / 512)
#define FAST_DISK   CINT_NULL_NODE("d0", "")
#define HALF        256             /* of a block */
#define MEMORY_END  (64 * MiB)
#define LATE_DISK   CINT_SLOW_NODE("d0", 400000000)
#define ZONED(bus, drive) \
    "-device nvme-ns,bus=" bus ",drive=" drive ",nsid=1,zoned=on," \
    "zoned.zone_size=16M "

/* The controller under test, with @opts; @args come before it. */
static CintMachine *boot_one(const char *args, const char *opts)
{
    g_autofree char *device = g_strconcat(",drive=d0", opts, NULL);
    const CintPlan plans[] = { { .opts = device }, { NULL } };

    return cint_machine_new(args, plans, NULL);
}

static CintMachine *boot_below_port(const char *args, const char *opts)
{
    g_autofree char *device = g_strconcat(",drive=d0", opts, NULL);
    const CintPlan plans[] = {
        { .opts = device, .behind_port = true }, { NULL },
    };

    return cint_machine_new(args, plans, NULL);
}

/* A second one is stock's, whatever the first is. */
static CintMachine *boot_two(const char *args, const char *opts, bool port)
{
    g_autofree char *device = g_strconcat(",drive=d0", opts, NULL);
    const CintPlan plans[] = {
        { .opts = device, .behind_port = port }, { .opts = ",drive=d1" },
        { NULL },
    };

    return cint_machine_new(args, plans, NULL);
}

static void finish(CintMachine *m)
{
    cint_step("afterwards");
    cint_machine_expect_recovers(m);
    cint_machine_free(m);
}

static void ring_admin(CintTest *t)
{
    qnvme_ring_sq(&t->nvme->admin_sq);
}

/*
 * Doorbells of queue pairs 0 and 1 as one access of the test: no bottom half
 * runs in between, and the one that was scheduled last is the first to run.
 */
static void ring_both(CintTest *t, QNvmeSq *sq)
{
    QNvmeCtrl *n = t->nvme;
    uint32_t values[4] = {
        cpu_to_le32(n->admin_sq.tail), cpu_to_le32(n->admin_cq.head),
        cpu_to_le32(sq->tail), cpu_to_le32(sq->cq->head),
    };

    qtest_memwrite(t->qts, n->bar.addr + ADMIN_TAIL, values, sizeof(values));
}

static void push_delete(CintTest *t, uint8_t opcode, uint16_t id)
{
    cint_push_admin(t, opcode, 0, id, 0);
}

/* Both queues of pair 1 go, rung for together with what leads to it. */
static void push_delete_queues(CintTest *t)
{
    push_delete(t, NVME_ADM_CMD_DELETE_SQ, 1);
    push_delete(t, NVME_ADM_CMD_DELETE_CQ, 1);
}

/* ---- Queues of 65536 entries ---- */

static void expect_works(CintMachine *m, QNvmeSq *sq)
{
    CintTest *t = &m->node[0].t;

    cint_read(t, sq, 3);
    cint_machine_run(m, 1);
    qnvme_wait_cqes(sq->cq, 3);
    g_assert_true(qnvme_take_irq(t->nvme, sq->cq->vector));
    qnvme_reap(sq->cq, 3);
}

static void f01(const void *opts)
{
    g_autofree char *more = g_strconcat(",mqes=65535", opts, NULL);
    CintMachine *m = boot_one(FAST_DISK, more);
    QNvmeCtrl *n = m->node[0].t.nvme;

    expect_works(m, qnvme_create_sq(n, 1, CINT_ENTRIES,
                                    qnvme_create_cq(n, 1, 65536, 1)));
    expect_works(m, qnvme_create_sq(n, 2, 65536,
                                    qnvme_create_cq(n, 2, CINT_ENTRIES, 2)));
    finish(m);
}

/* ---- The admin queue's message resets the controller ---- */

static void f02(const void *opts)
{
    CintMachine *m = boot_one(FAST_DISK, opts);
    CintTest *t = &m->node[0].t;

    cint_aim(t, 0, cint_flr_at(t->pdev), PCI_EXP_DEVCTL_BCR_FLR);
    cint_push_admin(t, NVME_ADM_CMD_IDENTIFY, t->buf.addr, NVME_ID_CNS_CTRL,
                    0);
    ring_admin(t);
    cint_machine_run(m, 1000);
    finish(m);
}

/* ---- A CQE lands on Slot Control: its identifier says power off ---- */

static void f03(const void *opts)
{
    CintMachine *m = boot_below_port(FAST_DISK, opts);
    CintTest *t = &m->node[0].t;
    uint64_t slot_control = cint_slot_control_at(m->node[0].port);
    uint64_t page = cint_config_at(m->node[0].port);
    uint32_t index = (slot_control - page) / sizeof(NvmeCqe);
    QNvmeSq *sq;

    g_assert_cmpuint((slot_control - page) % sizeof(NvmeCqe), ==,
                     offsetof(NvmeCqe, cid));
    sq = qnvme_create_sq(t->nvme, 1, CINT_ENTRIES,
                         cint_create_cq_at(t, 1, CINT_ENTRIES, page));
    sq->next_cid = CINT_SLOT_OFF - index;
    cint_read(t, sq, index + 1);
    cint_machine_run(m, 1000);
    finish(m);
}

/* ---- An event index lands on Slot Control: the head that was read ---- */

static void f04(const void *opts)
{
    CintMachine *m = boot_below_port(FAST_DISK, opts);
    CintTest *t = &m->node[0].t;
    uint64_t slot_control = cint_slot_control_at(m->node[0].port);
    uint64_t page = cint_config_at(m->node[0].port);
    uint32_t offset = slot_control - page;
    uint16_t id = offset / 8;
    uint64_t shadow = guest_alloc(&m->alloc, QNVME_PAGE_SIZE);
    QNvmeSq *sq;

    g_assert_cmpuint(offset % 8, ==, 4);
    sq = cint_queues(t, id);
    qtest_memset(t->qts, shadow, 0, QNVME_PAGE_SIZE);
    g_assert_cmphex(qnvme_admin(t->nvme, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_DBBUF_CONFIG,
        .dptr.prp1 = cpu_to_le64(shadow),
        .dptr.prp2 = cpu_to_le64(page),
    }, NULL), ==, 0);
    /* The event index of the admin queue's head is there as well. */
    qpci_config_writew(m->node[0].port, PCI_COMMAND,
                       PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    qtest_writel(t->qts, shadow + offset, CINT_SLOT_OFF);
    qtest_writel(t->qts, shadow + offset - 4, 3);
    cint_read(t, sq, 3);
    cint_machine_run(m, 1000);
    finish(m);
}

/* ---- What is read resets the controller that reads ---- */

static char *make_disk(const void *block, size_t size)
{
    char *path = g_strdup_printf("%s/nvme-cint-sequence-XXXXXX",
                                 g_get_tmp_dir());
    int fd = mkstemp(path);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(pwrite(fd, block, size, 0), ==, size);
    g_assert_cmpint(ftruncate(fd, GiB), ==, 0);
    close(fd);
    return path;
}

/* What make_disk() made begins with that, and goes. */
static void end_disk(const char *disk, const void *expected, size_t size)
{
    g_autofree char *data = g_malloc(size);
    int fd = open(disk, O_RDONLY);

    g_assert_cmpint(pread(fd, data, size, 0), ==, size);
    close(fd);
    g_assert_cmpmem(data, size, expected, size);
    unlink(disk);
}

static void f05(const void *opts)
{
    uint16_t block[256];
    g_autofree char *disk = NULL;
    g_autofree char *args = NULL;
    CintMachine *m;
    CintTest *t;
    QNvmeSq *sq;
    NvmeCmd cmd;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(block); i++) {
        block[i] = cpu_to_le16(PCI_EXP_DEVCTL_BCR_FLR);
    }
    disk = make_disk(block, sizeof(block));
    args = g_strdup_printf("-blockdev driver=file,node-name=d0,filename=%s ",
                           disk);
    m = boot_one(args, opts);
    t = &m->node[0].t;
    sq = cint_queues(t, 1);
    cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, sizeof(block));
    cmd.dptr.prp1 = cpu_to_le64(cint_flr_at(t->pdev));
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    cint_machine_run(m, 1000);
    finish(m);
    unlink(disk);
}

/* ---- A report of zones resets, with reads held back in the same pass ---- */

/* Zones from @zone on, into @size bytes: at 0 how many there are. */
static NvmeCmd report_zones(uint32_t zone, uint32_t size, uint64_t to)
{
    uint64_t block = (uint64_t)zone * ZONE_BLOCKS;

    return (NvmeCmd) {
        .opcode = NVME_CMD_ZONE_MGMT_RECV,
        .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(to),
        .cdw10 = cpu_to_le32(block),
        .cdw11 = cpu_to_le32(block >> 32),
        .cdw12 = cpu_to_le32(size / 4 - 1),
    };
}

static CintMachine *boot_zoned(const void *opts, const char *disk)
{
    g_autofree char *args = g_strdup_printf(
        "-blockdev driver=file,node-name=d0,filename=%s,aio=native,"
        "cache.direct=on ", disk);
    const CintPlan plans[] = { { .opts = opts }, { NULL } };

    return cint_machine_new(args, plans, ZONED("nvme0", "d0"));
}

/* Two reads, and a report of zones to @addr, published together. */
static CintMachine *report_behind_reads(const void *opts, const char *disk,
                                        uint64_t (*addr)(QPCIDevice *pdev))
{
    CintMachine *m = boot_zoned(opts, disk);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = report_zones(1, 128, addr(t->pdev));

    qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
    qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    cint_machine_run(m, 1000);
    return m;
}

/* Zone 1 begins at block 8000h, as the first descriptor says. */
static uint64_t where_it_resets(QPCIDevice *pdev)
{
    const uint32_t at = 64 + 16;

    g_assert_cmphex(ZONE_BLOCKS, ==, PCI_EXP_DEVCTL_BCR_FLR);
    return cint_flr_at(pdev) - at;
}

/* Configuration space behind all capabilities: no memory, and no effect. */
static uint64_t where_nothing_is(QPCIDevice *pdev)
{
    return (cint_flr_at(pdev) & ~0xfffull) + 0x800;
}

static void f06(const void *opts)
{
    g_autofree char *disk = make_disk("", 1);

    finish(report_behind_reads(opts, disk, where_it_resets));
    unlink(disk);
}

/* What is published behind the report is not fetched any more. */
static void write_behind_reset(const void *opts)
{
    g_autofree char *disk = make_disk("", 1);
    CintMachine *m = boot_zoned(opts, disk);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd report = report_zones(1, 128, where_it_resets(t->pdev));
    NvmeCmd write = qnvme_rw_cmd(NVME_CMD_WRITE, &t->buf, 0, QNVME_PAGE_SIZE);
    char zeroes[QNVME_PAGE_SIZE] = { 0 };

    qtest_memset(m->qts, t->buf.addr, 0xa5, QNVME_PAGE_SIZE);
    qnvme_push(sq, &report);
    qnvme_push(sq, &write);
    qnvme_ring_sq(sq);
    cint_machine_run(m, 1000);
    finish(m);
    end_disk(disk, zeroes, sizeof(zeroes));
}

/* What the pass held back until then goes out all the same. */
static void reads_before_registers(const void *opts)
{
    g_autofree char *disk = make_disk("", 1);
    CintMachine *m = report_behind_reads(opts, disk, where_nothing_is);

    qnvme_wait_cqes(m->node[0].t.nvme->cqs[1], 3);
    finish(m);
    unlink(disk);
}

/* ---- Who is to fetch while a command waits ---- */

#define SLOW_MS     300

/*
 * Queue 2 has more commands than requests when Delete SQ of queue 1 begins to
 * wait. Some end meanwhile, and what their requests are for is fetched after.
 */
static void fetched_behind_a_delete(const void *opts)
{
    CintTest *t = cint_boot_custom(NULL, CINT_NULL_DISK
                                   ",latency-ns=300000000", opts);
    QNvmeSq *deleted = cint_queues(t, 1);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 2, CINT_ENTRIES, 2);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 2, 4, cq);

    cint_read(t, sq, 3);
    cint_let_run(t);
    sq->head = sq->tail;    /* they have been fetched, as no CQE says yet */
    cint_read(t, sq, 3);
    cint_let_run(t);
    g_usleep(SLOW_MS / 2 * 1000);
    cint_read(t, deleted, 1);
    qnvme_delete_sq(deleted);
    qnvme_wait_cqes(cq, 6);
    cint_shutdown(t);
}

/* ---- Set Features that was rung for before a reset ---- */

/* The same command with data at @count places instead. */
static NvmeCmd with_sgl(CintTest *t, NvmeCmd cmd, const NvmeSglDescriptor *sgl,
                        size_t count)
{
    uint64_t list = guest_alloc(t->nvme->alloc, QNVME_PAGE_SIZE);

    qtest_memwrite(t->qts, list, sgl, count * sizeof(*sgl));
    cmd.flags = NVME_PSDT_SGL_MPTR_CONTIGUOUS << 6;
    cmd.dptr.sgl = (NvmeSglDescriptor) {
        .addr = cpu_to_le64(list),
        .len = cpu_to_le32(count * sizeof(*sgl)),
        .type = NVME_SGL_DESCR_TYPE_LAST_SEGMENT << 4,
    };
    return cmd;
}

/*
 * Another controller writes two registers at one instant: the doorbell of the
 * admin queue and CC. A report of zones tells how many there are; the rest of
 * what it says first is 0.
 */
static void write_tail_then_disable(CintTest *by, QNvmeSq *sq, CintTest *t)
{
    uint64_t bar = t->nvme->bar.addr;
    NvmeSglDescriptor sgl[] = {
        { .addr = cpu_to_le64(bar + ADMIN_TAIL), .len = cpu_to_le32(4) },
        { .addr = cpu_to_le64(bar + NVME_REG_CC), .len = cpu_to_le32(4) },
        { .addr = cpu_to_le64(by->buf.addr), .len = cpu_to_le32(56) },
    };
    NvmeCmd cmd = with_sgl(by, report_zones(ZONES - t->nvme->admin_sq.tail, 64,
                                            0), sgl, ARRAY_SIZE(sgl));

    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
}

static void f07(const void *opts)
{
    g_autofree char *device = g_strconcat(",drive=d0", opts, NULL);
    const CintPlan plans[] = { { .opts = device }, { .opts = "" }, { NULL } };
    CintMachine *m = cint_machine_new(LATE_DISK CINT_NULL_NODE("d1", ""),
                                      plans, ZONED("nvme1", "d1"));
    CintTest *t = &m->node[0].t, *by = &m->node[1].t;
    QNvmeSq *sq = cint_queues(t, 1), *sq_by = cint_queues(by, 1);
    uint64_t records, addr;
    uint32_t count;

    records = cint_records_new(t, 2);
    cint_read(t, sq, 1);
    cint_let_run(t);
    qtest_memwrite(t->qts, t->buf.addr, &(NvmeCintStatus) {
        .addr = cpu_to_le64(records), .records = cpu_to_le32(2),
    }, sizeof(NvmeCintStatus));
    cint_push_admin(t, NVME_ADM_CMD_SET_FEATURES, t->buf.addr,
                    NVME_CINT_FID_STATUS, 0);
    write_tail_then_disable(by, sq_by, t);
    cint_machine_run(m, 1);
    g_assert_cmphex(NVME_CC_EN(qnvme_reg_read(t->nvme, NVME_REG_CC)), ==, 0);
    qnvme_forget(t->nvme);
    qnvme_enable(t->nvme);
    cint_step("after the reset");
    cint_get_status(t, 0, &addr, &count);
    g_assert_cmphex(addr, ==, 0);
    g_assert_cmpuint(count, ==, 0);
    finish(m);
}

/* ---- A reset waits for I/O; another device's message unplugs ---- */

static void f08(const void *opts)
{
    CintMachine *m = boot_two(CINT_NATIVE_HOTPLUG LATE_DISK
                              CINT_SLOW_NODE("d1", 100000000), opts, true);
    CintTest *t = &m->node[0].t, *by = &m->node[1].t;
    QNvmeSq *sq = cint_queues(t, 1), *sq_by = cint_queues(by, 1);

    cint_aim(by, 1, cint_slot_control_at(m->node[0].port), CINT_SLOT_OFF);
    cint_read(t, sq, 3);
    cint_machine_run(m, 1);
    cint_read(by, sq_by, 1);
    cint_let_run(by);
    qnvme_reg_write(t->nvme, NVME_REG_CC, 0);
    qnvme_wait_cqes(sq_by->cq, 1);
    cint_machine_run(m, 1000);
    finish(m);
}

/* ---- Another is reset, whose wait deletes the queue at work ---- */

#define SLOW_OTHER  CINT_SLOW_NODE("d1", 100000000)

/* By data: the high half of how many zones there are is 0. */
static void f09(const void *opts)
{
    const CintPlan plans[] = {
        { .opts = opts }, { .opts = ",drive=d1" }, { NULL },
    };
    CintMachine *m = cint_machine_new(FAST_DISK SLOW_OTHER, plans,
                                      ZONED("nvme0", "d0"));
    CintTest *t = &m->node[0].t, *other = &m->node[1].t;
    QNvmeSq *sq = cint_queues(t, 1), *sq_other = cint_queues(other, 1);
    NvmeCmd cmd = report_zones(0, 64, other->nvme->bar.addr + NVME_REG_CC - 4);

    cint_read(other, sq_other, 1);
    cint_let_run(other);
    qnvme_push(sq, &cmd);
    push_delete_queues(t);
    ring_both(t, sq);
    cint_machine_run(m, 1000);
    finish(m);
}

/* By CQEs: dword 1 of the second one is 0, and lies on CC. */
static void f10(const void *opts)
{
    CintMachine *m = boot_two(FAST_DISK SLOW_OTHER, opts, false);
    CintTest *t = &m->node[0].t, *other = &m->node[1].t;
    QNvmeSq *sq_other = cint_queues(other, 1);
    QNvmeCq *cq = cint_create_cq_at(t, 1, 2, other->nvme->bar.addr);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, CINT_ENTRIES, cq);

    cint_read(t, sq, 2);
    cint_machine_run(m, 1000);
    cint_read(other, sq_other, 1);
    cint_let_run(other);
    cq->head = 1;
    push_delete_queues(t);
    ring_both(t, sq);
    cint_machine_run(m, 1000);
    finish(m);
}

/* ---- A queue is deleted; its CQEs' message resets the controller ---- */

static void f11(const void *opts)
{
    CintMachine *m = boot_one(LATE_DISK, opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);

    cint_aim(t, 1, cint_flr_at(t->pdev), PCI_EXP_DEVCTL_BCR_FLR);
    cint_read(t, sq, 3);
    cint_let_run(t);
    push_delete(t, NVME_ADM_CMD_DELETE_SQ, 1);
    ring_admin(t);
    cint_machine_run(m, 1000);
    finish(m);
}

/* ---- A Copy that is out of range ---- */

static CintMachine *boot_with_copy(const char *opts)
{
    const CintPlan plans[] = { { .opts = opts }, { NULL } };

    return cint_machine_new(FAST_DISK, plans,
                            "-device nvme-ns,bus=nvme0,drive=d0,nsid=1");
}

static void push_copy_out_of_range(CintTest *t, QNvmeSq *sq)
{
    NvmeCopySourceRangeFormat0_2 range = {
        .slba = cpu_to_le64(GiB / 512),
        .nlb = cpu_to_le16(7),
    };

    qtest_memwrite(t->qts, t->buf.addr, &range, sizeof(range));
    qnvme_push(sq, &(NvmeCmd) {
        .opcode = NVME_CMD_COPY,
        .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(t->buf.addr),
    });
    qnvme_ring_sq(sq);
}

static void expect_out_of_range(QNvmeSq *sq)
{
    NvmeCqe cqe;

    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    g_assert_cmphex(qnvme_status(&cqe), ==, NVME_LBA_RANGE | NVME_DNR);
    qnvme_reap(sq->cq, 1);
}

static void f12(const void *opts)
{
    CintMachine *m = boot_with_copy(opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < 100; i++) {
        push_copy_out_of_range(t, sq);
        cint_run(t, 1);
        qnvme_wait_cqes(sq->cq, 1);
        expect_out_of_range(sq);
    }
    finish(m);
}

static void f13(const void *opts)
{
    CintMachine *m = boot_with_copy(opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);

    push_copy_out_of_range(t, sq);
    cint_machine_run(m, 1);
    expect_out_of_range(sq);
    finish(m);
}

/* ---- Get Features: the data is an address, the address a reset ---- */

static void f14(const void *opts)
{
    CintMachine *m = boot_one(FAST_DISK, opts);
    CintTest *t = &m->node[0].t;
    uint64_t records = MiB + PCI_EXP_DEVCTL_BCR_FLR;

    g_assert_cmphex(cint_set_status(t, records, 2, 0), ==, 0);
    cint_push_admin(t, NVME_ADM_CMD_GET_FEATURES, cint_flr_at(t->pdev),
                    NVME_CINT_FID_STATUS, 0);
    ring_admin(t);
    cint_machine_run(m, 1000);
    finish(m);
}

/* ---- Get Log Page: a counter says power off, and is to be reset ---- */

static void complete_reads(CintMachine *m, QNvmeSq *sq, uint32_t count)
{
    while (count) {
        uint32_t some = MIN(count, CINT_ENTRIES - 1);

        cint_read(&m->node[0].t, sq, some);
        cint_machine_run(m, 1);
        qnvme_wait_cqes(sq->cq, some);
        qnvme_reap(sq->cq, some);
        count -= some;
    }
}

/* Where in the log page CQ 1's number of CQEs is: its record is the second. */
static uint32_t log_offset_of_cqes(CintTest *t)
{
    uint32_t record = sizeof(NvmeCintLogHeader) + sizeof(NvmeCintLogRecord);
    QNvmeBuf buf = qnvme_buf_new(t->nvme, 64);
    NvmeCintLogRecord head;

    g_assert_cmphex(qnvme_get_log(t->nvme, NVME_CINT_LID, 0, record, &buf),
                    ==, 0);
    qtest_memread(t->qts, buf.addr, &head, 64);
    g_assert_cmpuint(le16_to_cpu(head.cqid), ==, 1);
    g_assert_cmpuint(le64_to_cpu(head.cqes), ==, CINT_SLOT_OFF);
    return record + offsetof(NvmeCintLogRecord, cqes);
}

static void f15(const void *opts)
{
    CintMachine *m = boot_below_port(CINT_NATIVE_HOTPLUG FAST_DISK, opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);

    complete_reads(m, sq, CINT_SLOT_OFF);
    qnvme_push(&t->nvme->admin_sq, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_GET_LOG_PAGE,
        .nsid = cpu_to_le32(NVME_NSID_BROADCAST),
        .dptr.prp1 = cpu_to_le64(cint_slot_control_at(m->node[0].port)),
        .cdw10 = cpu_to_le32(NVME_CINT_LSP_RESET << 8 | NVME_CINT_LID),
        .cdw12 = cpu_to_le32(log_offset_of_cqes(t)),
    });
    ring_admin(t);
    cint_machine_run(m, 1000);
    finish(m);
}

/* ---- Data is late in virtual time: who asks is answered ---- */

#define HELD_DISK \
    "-blockdev driver=raw,node-name=d0,file.driver=blkdebug," \
    "file.image.driver=null-co,file.image.size=1073741824," \
    "file.image.read-zeroes=on "

/* @device has the drive. */
static void command_backend(CintMachine *m, const char *device,
                            const char *command)
{
    g_autofree char *answer = qtest_hmp(m->qts, "qemu-io -d %s \"%s\"",
                                        device, command);

    g_assert_cmpstr(answer, ==, "");
}

static gpointer step_clock(gpointer m)
{
    cint_run(&((CintMachine *)m)->node[0].t, 1000);
    return NULL;
}

/* A read is in the backend; its data is due, and the clock is to move on. */
static GThread *hold_read(CintMachine *m)
{
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);

    command_backend(m, "nvme0", "break read_aio held");
    cint_read(t, sq, 1);
    return g_thread_new("clock", step_clock, m);
}

static void f16_monitor(const void *opts)
{
    CintMachine *m = boot_one(HELD_DISK, opts);
    GThread *clock = hold_read(m);

    cint_step("the monitor is asked while data is late");
    qtest_qmp_assert_success(m->qts, "{'execute': 'query-status'}");
    command_backend(m, "nvme0", "resume held");
    g_thread_join(clock);
    qnvme_wait_cqes(m->node[0].t.nvme->cqs[1], 1);
    finish(m);
}

#define NEVER_SOON      CINT_SLOW_NODE("d0", 4000000000)
#define SOON_US         (2 * G_TIME_SPAN_SECOND)
#define TRIES           5

/* Nobody is told that data was late who did not wait for it. */
static void expect_said_nothing(const char *path)
{
    g_autofree char *said = NULL;

    g_assert_true(g_file_get_contents(path, &said, NULL, NULL));
    g_assert_cmpstr(strstr(said, "late"), ==, NULL);
    unlink(path);
}

/*
 * QEMU is told to quit while it waits for data.
 *
 * Returns: how long it took until it said that it does, us
 */
static gint64 quit_while_late(const char *opts)
{
    g_autofree char *messages = NULL;
    g_autofree char *args = NULL;
    CintMachine *m;
    QNvmeSq *sq;
    gint64 start;

    close(g_file_open_tmp("nvme-cint-sequence-XXXXXX", &messages, NULL));
    args = g_strdup_printf(NEVER_SOON "2>%s ", messages);
    m = boot_one(args, opts);
    sq = cint_queues(&m->node[0].t, 1);
    cint_read(&m->node[0].t, sq, 1);
    g_usleep(G_TIME_SPAN_SECOND / 4);
    cint_step("SIGTERM while data is late");
    start = g_get_monotonic_time();
    kill(qtest_pid(m->qts), SIGTERM);
    qtest_qmp_eventwait(m->qts, "SHUTDOWN");
    start = g_get_monotonic_time() - start;
    qtest_wait_qemu(m->qts);
    cint_machine_free(m);
    expect_said_nothing(messages);
    return start;
}

/* There is no other clock to tell from; but a busy machine gets five tries. */
static void f16_sigterm(const void *opts)
{
    int i;

    for (i = 0; i < TRIES; i++) {
        if (quit_while_late(opts) < SOON_US) {
            return;
        }
    }
    g_error("QEMU goes on waiting after SIGTERM, %d times", TRIES);
}

/* ---- Data for registers goes through a buffer, and there is one ---- */

/* Two reads into registers of another: one has the buffer, one waits for it. */
static QNvmeSq *read_twice_into_registers(CintMachine *m)
{
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, QNVME_PAGE_SIZE);

    cmd.dptr.prp1 = cpu_to_le64(m->node[1].t.nvme->bar.addr + ADMIN_TAIL);
    qnvme_push(sq, &cmd);
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    cint_let_run(t);
    return sq;
}

static void bounced_and_deleted(const void *opts)
{
    CintMachine *m = boot_two(LATE_DISK CINT_NULL_NODE("d1", ""), opts, false);

    read_twice_into_registers(m);
    push_delete(&m->node[0].t, NVME_ADM_CMD_DELETE_SQ, 1);
    ring_admin(&m->node[0].t);
    cint_machine_run(m, 1000);
    finish(m);
}

static void bounced_and_reset(const void *opts)
{
    CintMachine *m = boot_two(LATE_DISK CINT_NULL_NODE("d1", ""), opts, false);

    read_twice_into_registers(m);
    qnvme_reg_write(m->node[0].t.nvme, NVME_REG_CC, 0);
    cint_machine_run(m, 1000);
    finish(m);
}

static void bounced_and_aborted(const void *opts)
{
    CintMachine *m = boot_two(LATE_DISK CINT_NULL_NODE("d1", ""), opts, false);
    QNvmeSq *sq = read_twice_into_registers(m);

    qnvme_abort(sq, 1);
    cint_machine_run(m, 1000);
    qnvme_wait_cqes(sq->cq, 2);
    finish(m);
}

/*
 * A list of addresses that the buffer has no room for ends in the middle of a
 * block. What does not fit goes back, or is missing when the controller goes.
 */
static void list_and_unplug(const void *opts)
{
    CintMachine *m = boot_two(CINT_NATIVE_HOTPLUG FAST_DISK
                              CINT_NULL_NODE("d1", ""), opts, true);
    CintTest *t = &m->node[0].t;
    uint64_t registers = m->node[1].t.nvme->bar.addr + ADMIN_TAIL;
    NvmeSglDescriptor sgl[] = {
        { .addr = cpu_to_le64(t->buf.addr), .len = cpu_to_le32(100) },
        { .addr = cpu_to_le64(registers), .len = cpu_to_le32(4096) },
        { .addr = cpu_to_le64(registers), .len = cpu_to_le32(4096) },
        { .addr = cpu_to_le64(t->buf.addr), .len = cpu_to_le32(412) },
    };
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = with_sgl(t, qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, 512),
                           sgl, ARRAY_SIZE(sgl));

    cmd.cdw12 = cpu_to_le32(17 - 1);
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    cint_machine_run(m, 1000);
    qnvme_wait_cqes(sq->cq, 1);
    qtest_writel(m->qts, cint_slot_control_at(m->node[0].port), CINT_SLOT_OFF);
    finish(m);
}

static bool gives_back_drive(CintMachine *m)
{
    QDict *answer = qtest_qmp(m->qts, "{'execute': 'blockdev-del',"
                              " 'arguments': {'node-name': 'd0'}}");
    bool done = qdict_haskey(answer, "return");

    qobject_unref(answer);
    return done;
}

/*
 * Commands that a reset ended, and nobody posted, have the controller stay when
 * it is unplugged, and its drive with it, if their data is still mapped.
 */
static void reset_and_unplugged(const void *opts)
{
    CintMachine *m = boot_two(CINT_NATIVE_HOTPLUG LATE_DISK
                              CINT_NULL_NODE("d1", ""), opts, true);
    CintTest *t = &m->node[0].t;
    gint64 limit;

    cint_read(t, cint_queues(t, 1), 3);
    cint_let_run(t);
    qnvme_reg_write(t->nvme, NVME_REG_CC, 0);
    cint_machine_run(m, 1000);
    qtest_writel(m->qts, cint_slot_control_at(m->node[0].port), CINT_SLOT_OFF);
    limit = g_get_monotonic_time() + QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;
    while (!gives_back_drive(m)) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        g_usleep(G_TIME_SPAN_MILLISECOND);
    }
    cint_machine_free(m);
}

/* ---- A queue is deleted while the backend begins nothing new ---- */

#define NAMESPACE(bus, drive, nsid) \
    "-device nvme-ns,bus=" bus ",drive=" drive ",nsid=" nsid " "

/* Two controllers share a namespace; the third one has two. */
static CintMachine *boot_shared(const char *opts)
{
    g_autofree char *shared = g_strconcat(",subsys=s0", opts, NULL);
    const CintPlan plans[] = {
        { .opts = shared }, { .opts = ",subsys=s0" }, { .opts = "" }, { NULL },
    };

    return cint_machine_new("-device nvme-subsys,id=s0 " LATE_DISK
                            CINT_SLOW_NODE("d1", 100000000)
                            CINT_SLOW_NODE("d2", 200000000), plans,
                            NAMESPACE("nvme0", "d0", "1")
                            NAMESPACE("nvme2", "d1", "1")
                            NAMESPACE("nvme2", "d2", "2"));
}

/* The message for a read from namespace @nsid rings a doorbell. */
static void read_that_rings(CintTest *by, uint16_t nsid, uint64_t doorbell,
                            uint32_t tail)
{
    QNvmeSq *sq = cint_queues(by, nsid);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &by->buf, 0, QNVME_PAGE_SIZE);

    cint_aim(by, nsid, doorbell, tail);
    cmd.nsid = cpu_to_le32(nsid);
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
}

/*
 * A read of the second controller is in the backend. While whoever drains that
 * waits for it, the third one rings for a read of the first, which waits until
 * the drain is over. What waits for this read must come later still.
 */
static void ring_within_drain(CintMachine *m)
{
    CintTest *t = &m->node[0].t, *busy = &m->node[1].t;
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(busy, cint_queues(busy, 1), 1);
    qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
    read_that_rings(&m->node[2].t, 1, t->nvme->bar.addr + ADMIN_TAIL + 8,
                    sq->tail);
}

static void drain_and_delete(CintMachine *m)
{
    CintTest *t = &m->node[0].t, *by = &m->node[2].t;

    ring_within_drain(m);
    push_delete(t, NVME_ADM_CMD_DELETE_SQ, 1);
    read_that_rings(by, 2, t->nvme->bar.addr + ADMIN_TAIL,
                    t->nvme->admin_sq.tail);
    cint_let_run(by);
}

static void drain_and_reset(CintMachine *m)
{
    CintTest *by = &m->node[2].t;

    ring_within_drain(m);
    read_that_rings(by, 2, m->node[0].t.nvme->bar.addr + NVME_REG_CC, 0);
    cint_let_run(by);
}

static void by_reset(CintMachine *m)
{
    qnvme_reg_write(m->node[1].t.nvme, NVME_REG_CC, 0);
    cint_machine_run(m, 1000);
    finish(m);
}

static void by_stop(CintMachine *m)
{
    qtest_qmp_assert_success(m->qts, "{'execute': 'stop'}");
    qtest_qmp_assert_success(m->qts, "{'execute': 'cont'}");
    cint_machine_run(m, 1000);
    finish(m);
}

static void f17(const void *opts)
{
    CintMachine *m = boot_shared(opts);

    drain_and_delete(m);
    by_reset(m);
}

static void f18(const void *opts)
{
    CintMachine *m = boot_shared(opts);

    drain_and_delete(m);
    by_stop(m);
}

static void f19(const void *opts)
{
    CintMachine *m = boot_shared(opts);

    drain_and_reset(m);
    by_reset(m);
}

static void f20(const void *opts)
{
    CintMachine *m = boot_shared(opts);

    drain_and_reset(m);
    by_stop(m);
}

/* ---- A shutdown that another controller's message asks for ---- */

static void shut_down_by_message(const void *opts)
{
    CintMachine *m = boot_two(FAST_DISK CINT_NULL_NODE("d1", ""), opts, false);
    CintTest *t = &m->node[0].t, *by = &m->node[1].t;
    uint32_t cc = qnvme_reg_read(t->nvme, NVME_REG_CC);

    cint_aim(by, 1, t->nvme->bar.addr + NVME_REG_CC,
             cc | 1 << CC_SHN_SHIFT);
    cint_read(by, cint_queues(by, 1), 1);
    cint_machine_run(m, 1000);
    g_assert_cmphex(qnvme_reg_read(t->nvme, NVME_REG_CSTS), ==,
                    NVME_CSTS_READY | NVME_CSTS_SHST_COMPLETE);
    finish(m);
}

/* ---- What a reset leaves undone ---- */

/*
 * Reads end while it waits. The first namespace is drained first: its CQE could
 * be posted while the second one is.
 */
static void reset_posts_nothing(const void *opts)
{
    const CintPlan plans[] = { { .opts = opts }, { NULL } };
    CintMachine *m = cint_machine_new(CINT_SLOW_NODE("d1", 1500000000)
                                      CINT_SLOW_NODE("d2", 1700000000), plans,
                                      NAMESPACE("nvme0", "d1", "1")
                                      NAMESPACE("nvme0", "d2", "2"));
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, QNVME_PAGE_SIZE);
    uint32_t nsid;

    for (nsid = 1; nsid <= 2; nsid++) {
        cmd.nsid = cpu_to_le32(nsid);
        qnvme_push(sq, &cmd);
    }
    qnvme_ring_sq(sq);
    cint_let_run(t);
    qnvme_reg_write(t->nvme, NVME_REG_CC, 0);
    cint_machine_run(m, 1000);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
    finish(m);
}

/* How often each pin was asserted. */
static char *pins(CintMachine *m)
{
    g_autoptr(QDict) answer = qtest_qmp_assert_success_ref(
        m->qts, "{'execute': 'x-query-irq'}");
    const char *text = qdict_get_str(answer, "human-readable-text");
    g_auto(GStrv) parts = g_strsplit(text, "IRQ statistics for ", 0);
    size_t i;

    for (i = 0; parts[i]; i++) {
        if (g_str_has_prefix(parts[i], "ioapic:")) {
            return g_strdup(parts[i]);
        }
    }
    return g_strdup("");
}

/*
 * CQEs of two queues are held. A change sends a message for each, and the first
 * one resets the controller: the second queue is gone then, in all but name.
 * PCI has switched MSI-X off by then; but there is the pin.
 */
static void reset_sends_nothing(const void *opts)
{
    CintMachine *m = boot_one(FAST_DISK, opts);
    CintTest *t = &m->node[0].t;
    uint64_t seen = guest_alloc(&m->alloc, QNVME_PAGE_SIZE);
    g_autofree char *before = NULL, *after = NULL;
    uint16_t id;

    qtest_writel(t->qts, seen, 0);
    for (id = 1; id <= 2; id++) {
        QNvmeSq *sq = cint_queues(t, id);

        cint_read(t, sq, 3);
        cint_machine_run(m, 1);
        qnvme_wait_cqes(sq->cq, 3);
    }
    cint_aim(t, 1, cint_flr_at(t->pdev), PCI_EXP_DEVCTL_BCR_FLR);
    cint_aim(t, 2, seen, 1);
    before = pins(m);
    cint_set_word(t, "cint.policy", "adaptive");
    cint_let_run(t);
    after = pins(m);
    g_assert_cmpstr(after, ==, before);
    cint_machine_run(m, 1000);
    g_assert_cmphex(NVME_CC_EN(qnvme_reg_read(t->nvme, NVME_REG_CC)), ==, 0);
    g_assert_cmphex(qtest_readl(t->qts, seen), ==, 0);
    finish(m);
}

/* ---- Queues and lists in registers ---- */

/* What is fetched from the registers of another controller is no command. */
static void sq_in_registers(const void *opts)
{
    CintMachine *m = boot_two(FAST_DISK CINT_NULL_NODE("d1", ""), opts, false);
    CintTest *t = &m->node[0].t;
    const uint64_t bars[] = {
        m->node[1].t.nvme->bar.addr, t->nvme->bar.addr,
    };
    uint16_t i;

    for (i = 0; i < ARRAY_SIZE(bars); i++) {
        uint16_t id = i + 1;
        NvmeCmd cmd = {
            .opcode = NVME_ADM_CMD_CREATE_SQ,
            .dptr.prp1 = cpu_to_le64(bars[i]),
            .cdw10 = cpu_to_le32((CINT_ENTRIES - 1) << 16 | id),
            .cdw11 = cpu_to_le32(id << 16 | NVME_SQ_PC),
        };

        qnvme_create_cq(t->nvme, id, CINT_ENTRIES, id);
        g_assert_cmphex(qnvme_admin(t->nvme, &cmd, NULL), ==, 0);
        qnvme_reg_write(t->nvme, ADMIN_TAIL + 8 * id, CINT_ENTRIES - 1);
        cint_machine_run(m, 1000);
    }
    finish(m);
}

/* The list of a command's pages is read from there, and its data written. */
static void prp_list_in_registers(const void *opts)
{
    CintMachine *m = boot_two(FAST_DISK CINT_NULL_NODE("d1", ""), opts, false);
    CintTest *t = &m->node[0].t;
    const uint64_t lists[] = {
        m->node[1].t.nvme->bar.addr, m->node[1].t.nvme->bar.addr + ADMIN_TAIL,
        t->nvme->bar.addr, t->nvme->bar.addr + ADMIN_TAIL,
    };
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeBuf buf = qnvme_buf_new(t->nvme, 4 * QNVME_PAGE_SIZE);
    size_t i;

    for (i = 0; i < ARRAY_SIZE(lists); i++) {
        NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &buf, 0,
                                   4 * QNVME_PAGE_SIZE);

        cmd.dptr.prp2 = cpu_to_le64(lists[i]);
        qnvme_push(sq, &cmd);
    }
    qnvme_ring_sq(sq);
    cint_machine_run(m, 1000);
    qnvme_wait_cqes(sq->cq, ARRAY_SIZE(lists));
    finish(m);
}

/* ---- Two controllers of one namespace ---- */

/* Both read; one is reset meanwhile, and the other gets all it is owed. */
static void one_of_two_is_reset(const void *opts)
{
    CintMachine *m = boot_shared(opts);
    CintTest *t = &m->node[0].t, *other = &m->node[1].t;
    QNvmeSq *sq = cint_queues(t, 1), *sq_other = cint_queues(other, 1);
    int i;

    for (i = 0; i < 2; i++) {
        CintTest *reset = i ? other : t, *reads = i ? t : other;
        QNvmeSq *kept = i ? sq : sq_other, *dropped = i ? sq_other : sq;

        cint_read(reset, dropped, 5);
        cint_read(reads, kept, 7);
        cint_let_run(t);
        qnvme_reset(reset->nvme);
        cint_machine_run(m, 1000);
        qnvme_wait_cqes(kept->cq, 7);
        cint_machine_run(m, 1000);
        g_assert_true(qnvme_take_irq(reads->nvme, 1));
        qnvme_reap(kept->cq, 7);
        qnvme_enable(reset->nvme);
        sq = i ? sq : cint_queues(t, 1);
    }
    finish(m);
}

/* ---- Unplugged while the admin queue has something to tell ---- */

/* Before anything is fetched; and with the message held back by its mask. */
static void unplug_with_admin_message(const void *opts)
{
    CintMachine *m = boot_below_port(CINT_NATIVE_HOTPLUG FAST_DISK, opts);
    int told;

    for (told = 0; told <= 1; told++) {
        CintTest *t = &m->node[0].t;

        cint_push_admin(t, NVME_ADM_CMD_IDENTIFY, t->buf.addr,
                        NVME_ID_CNS_CTRL, 0);
        ring_admin(t);
        if (told) {
            cint_machine_run(m, 1000);
            g_assert_true(qnvme_irq_pending(t->nvme, 0));
        }
        qtest_writel(m->qts, cint_slot_control_at(m->node[0].port),
                     CINT_SLOT_OFF);
        cint_machine_run(m, 1000);
        cint_machine_expect_recovers(m);
    }
    cint_machine_free(m);
}

/* ---- A namespace is formatted under commands that are in flight ---- */

#define LBAF_4K_8   5       /* blocks of 4 KiB with 8 bytes of metadata */

static void push_format(CintTest *t, uint8_t lbaf)
{
    qnvme_push(&t->nvme->admin_sq, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_FORMAT_NVM,
        .nsid = cpu_to_le32(1),
        .cdw10 = cpu_to_le32(lbaf),
    });
    ring_admin(t);
}

/* Returns: the status code of the Format, with flags */
static uint16_t format_namespace(CintMachine *m, unsigned by, uint8_t lbaf)
{
    QNvmeCq *cq = &m->node[by].t.nvme->admin_cq;
    NvmeCqe cqe;

    push_format(&m->node[by].t, lbaf);
    cint_machine_run(m, 1000);
    qnvme_wait_cqes(cq, 1);
    g_assert_true(qnvme_peek(cq, 0, &cqe));
    qnvme_reap(cq, 1);
    return qnvme_status(&cqe);
}

/* @cmd of controller 0 is in flight; controller @by formats what it is for. */
static void format_under(CintMachine *m, unsigned by, const NvmeCmd *cmd,
                         uint8_t lbaf)
{
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);

    command_backend(m, "ns1", "break read_aio held");
    qnvme_push(sq, cmd);
    qnvme_ring_sq(sq);
    cint_machine_run(m, 1000);
    g_assert_cmphex(format_namespace(m, by, lbaf), ==, NVME_CMD_SEQ_ERROR);
    command_backend(m, "ns1", "resume held");
    cint_machine_run(m, 1000);
    qnvme_wait_cqes(sq->cq, 1);
    qnvme_reap(sq->cq, 1);
    g_assert_cmphex(format_namespace(m, by, 0), ==, 0);
    finish(m);
}

/* Two controllers that share @namespace. */
static CintMachine *boot_pair(const char *disk, const char *opts,
                              const char *namespace)
{
    g_autofree char *device = g_strconcat(",subsys=s0", opts, NULL);
    g_autofree char *args = g_strconcat(disk, "-device nvme-subsys,id=s0 ",
                                        NULL);
    const CintPlan plans[] = {
        { .opts = device }, { .opts = ",subsys=s0" }, { NULL },
    };

    return cint_machine_new(args, plans, namespace);
}

static CintMachine *boot_held(const char *opts, const char *namespace)
{
    return boot_pair(HELD_DISK, opts, namespace);
}

/* Its metadata is read when there is none any more. */
static void read_then_format(const char *opts, unsigned by)
{
    CintMachine *m = boot_held(opts, "-device nvme-ns,bus=nvme0,id=ns1,"
                                       "drive=d0,nsid=1,ms=8,pi=1");
    CintTest *t = &m->node[0].t;
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, 512);

    cmd.mptr = cpu_to_le64(t->buf.addr + QNVME_PAGE_SIZE);
    format_under(m, by, &cmd, 0);
}

static void f21_read(const void *opts)
{
    read_then_format(opts, 0);
}

static void f21_read_shared(const void *opts)
{
    read_then_format(opts, 1);
}

/* Its metadata goes behind data that is eight times as long as its buffer. */
static void f21_copy(const void *opts)
{
    CintMachine *m = boot_held(opts, "-device nvme-ns,bus=nvme0,id=ns1,"
                                       "drive=d0,nsid=1");
    CintTest *t = &m->node[0].t;
    NvmeCopySourceRangeFormat0_2 range = { .nlb = cpu_to_le16(127) };

    qtest_memwrite(t->qts, t->buf.addr, &range, sizeof(range));
    format_under(m, 0, &(NvmeCmd) {
        .opcode = NVME_CMD_COPY,
        .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(t->buf.addr),
        .cdw10 = cpu_to_le32(1024),
    }, LBAF_4K_8);
}

/* ---- A feature of placement handles, for all namespaces at once ---- */

static void f22(const void *opts)
{
    g_autofree char *device = g_strconcat(",subsys=s0", opts, NULL);
    const CintPlan plans[] = { { .opts = device }, { NULL } };
    CintMachine *m = cint_machine_new(FAST_DISK "-device nvme-subsys,id=s0,"
                                      "fdp=on,fdp.nruh=4 ", plans,
                                      "-device nvme-ns,bus=nvme0,drive=d0,"
                                      "fdp.ruhs=0");
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_SET_FEATURES,
        .nsid = cpu_to_le32(NVME_NSID_BROADCAST),
        .cdw10 = cpu_to_le32(NVME_FDP_EVENTS),
    };

    g_assert_cmphex(qnvme_admin(m->node[0].t.nvme, &cmd, NULL), ==,
                    NVME_INVALID_NSID | NVME_DNR);
    cmd.opcode = NVME_ADM_CMD_GET_FEATURES;
    g_assert_cmphex(qnvme_admin(m->node[0].t.nvme, &cmd, NULL), ==,
                    NVME_INVALID_NSID | NVME_DNR);
    finish(m);
}

/* ---- A Format is aborted ---- */

#define SHORT_DISK \
    "-blockdev driver=null-co,node-name=d0,size=1048576,read-zeroes=on," \
    "latency-ns=400000000 "

static void finish_readable(CintMachine *m)
{
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq;
    NvmeCqe cqe;

    cint_machine_enumerate(m);
    sq = cint_queues(t, 1);
    cint_read(t, sq, 1);
    cint_machine_run(m, 1);
    qnvme_wait_cqes(sq->cq, 1);
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    finish(m);
}

static void f23(const void *opts)
{
    CintMachine *m = boot_one(SHORT_DISK, opts);

    push_format(&m->node[0].t, 0);
    cint_let_run(&m->node[0].t);
    cint_push_admin(&m->node[0].t, NVME_ADM_CMD_ABORT, 0, 0, 0);
    ring_admin(&m->node[0].t);
    cint_machine_run(m, 1000);
    qnvme_wait_cqes(&m->node[0].t.nvme->admin_cq, 2);
    finish_readable(m);
}

/* ---- Shadow doorbells that are no index of their queue ---- */

#define SHADOW_TAIL(id)     (8 * (id))
#define SHADOW_HEAD(id)     (8 * (id) + 4)

/* Returns: where the shadow doorbells are, all of them 0 */
static uint64_t use_shadow(CintTest *t)
{
    uint64_t shadow = qnvme_buf_new(t->nvme, 2 * QNVME_PAGE_SIZE).addr;

    qtest_memset(t->qts, shadow, 0, 2 * QNVME_PAGE_SIZE);
    g_assert_cmphex(qnvme_admin(t->nvme, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_DBBUF_CONFIG,
        .dptr.prp1 = cpu_to_le64(shadow),
        .dptr.prp2 = cpu_to_le64(shadow + QNVME_PAGE_SIZE),
    }, NULL), ==, 0);
    return shadow;
}

/*
 * A queue that never runs dry, while QEMU waits for a disk: there is a bottom
 * half to run at any time. Namespace 2 is a file with something to flush.
 */
static void f24(const void *opts)
{
    g_autofree char *disk = make_disk("", 1);
    g_autofree char *args = g_strdup_printf(FAST_DISK
        "-blockdev driver=file,node-name=d1,filename=%s,aio=native,"
        "cache.direct=on ", disk);
    const CintPlan plans[] = { { .opts = opts }, { NULL } };
    CintMachine *m = cint_machine_new(args, plans,
                                      NAMESPACE("nvme0", "d0", "1")
                                      NAMESPACE("nvme0", "d1", "2"));
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1), *writes = cint_queues(t, 2);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_WRITE, &t->buf, 0, QNVME_PAGE_SIZE);
    uint64_t shadow;

    cmd.nsid = cpu_to_le32(2);
    qnvme_push(writes, &cmd);
    qnvme_ring_sq(writes);
    cint_machine_run(m, 1000);
    qnvme_wait_cqes(writes->cq, 1);
    while (sq->tail < sq->entries - 1) {
        qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
    }
    shadow = use_shadow(t);
    qtest_writel(m->qts, shadow + SHADOW_TAIL(1), sq->entries);
    qtest_writel(m->qts, shadow + SHADOW_HEAD(1), sq->cq->entries);
    qnvme_ring_sq(sq);
    cint_step("the machine stops while a queue never runs dry");
    qtest_qmp_assert_success(m->qts, "{'execute': 'stop'}");
    qtest_qmp_assert_success(m->qts, "{'execute': 'cont'}");
    finish(m);
    unlink(disk);
}

/* No more is fetched than the register said, nor posted than there is room. */
static void f25(const void *opts)
{
    static const uint32_t wrong[] = { 8, 0xffff, 0x10000, UINT32_MAX };
    CintMachine *m = boot_one(FAST_DISK, opts);
    CintTest *t = &m->node[0].t;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(wrong); i++) {
        QNvmeSq *tails, *heads;
        uint64_t shadow;

        cint_machine_enumerate(m);
        tails = qnvme_create_sq(t->nvme, 1, 8,
                                qnvme_create_cq(t->nvme, 1, CINT_ENTRIES, 1));
        heads = qnvme_create_sq(t->nvme, 2, CINT_ENTRIES,
                                qnvme_create_cq(t->nvme, 2, 8, 2));
        shadow = use_shadow(t);
        qtest_writel(m->qts, shadow + SHADOW_TAIL(1), wrong[i]);
        cint_read(t, tails, 5);
        qtest_writel(m->qts, shadow + SHADOW_TAIL(2), 20);
        qtest_writel(m->qts, shadow + SHADOW_HEAD(2), wrong[i]);
        cint_read(t, heads, 20);
        cint_machine_run(m, 1000);
        qnvme_wait_cqes(tails->cq, 5);
        qnvme_wait_cqes(heads->cq, 7);
        cint_machine_run(m, 1000);
        g_assert_cmpuint(qnvme_visible(tails->cq), ==, 5);
        g_assert_cmpuint(qnvme_visible(heads->cq), ==, 7);
    }
    finish(m);
}

/* ---- A Copy of two ranges ---- */

#define FAR_BLOCK   4096        /* in an image, in another table than block 0 */
#define TO_BLOCK    8192        /* in a third one */

/* Blocks 0 and FAR_BLOCK, in this order, become those from TO_BLOCK on. */
static NvmeCmd copy_two(CintTest *t)
{
    const NvmeCopySourceRangeFormat0_2 ranges[] = {
        { .slba = 0 }, { .slba = cpu_to_le64(FAR_BLOCK) },
    };

    qtest_memwrite(t->qts, t->buf.addr, ranges, sizeof(ranges));
    return (NvmeCmd) {
        .opcode = NVME_CMD_COPY,
        .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(t->buf.addr),
        .cdw10 = cpu_to_le32(TO_BLOCK),
        .cdw12 = cpu_to_le32(ARRAY_SIZE(ranges) - 1),
    };
}

/* ---- A device of another kind resets, from within its coroutine ---- */

#define IDE_PORTS   0x1f0       /* of the first channel of piix3-ide */
#define IDE_DEVICE  0x06
#define IDE_COMMAND 0x07
#define IDE_READ    0xc8        /* Read DMA */
#define BM_COMMAND  0x00
#define BM_TABLE    0x04
#define BM_READ     0x09        /* start, to memory */
#define BM_LAST     0x80000000u

/* A sector of zeroes goes to @addr when the disk has it. */
static void read_by_ide(CintMachine *m, QPCIDevice *ide, uint64_t addr)
{
    uint64_t table = guest_alloc(&m->alloc, QNVME_PAGE_SIZE);
    QPCIBar bm = qpci_iomap(ide, 4, NULL);

    qpci_device_enable(ide);
    qtest_writel(m->qts, table, addr);
    qtest_writel(m->qts, table + 4, BM_LAST | 512);
    qpci_io_writel(ide, bm, BM_TABLE, table);
    qtest_outb(m->qts, IDE_PORTS + IDE_DEVICE, 0x40);
    qtest_outb(m->qts, IDE_PORTS + 2, 1);
    qtest_outb(m->qts, IDE_PORTS + IDE_COMMAND, IDE_READ);
    qpci_io_writeb(ide, bm, BM_COMMAND, BM_READ);
}

/* A command is on its way: who resets has to wait for it. */
static void reset_by_ide(CintMachine *m)
{
    CintTest *t = &m->node[0].t;
    QPCIDevice *ide = qpci_device_find(m->bus, QPCI_DEVFN(0x10, 0));

    g_assert_nonnull(ide);
    cint_let_run(t);
    read_by_ide(m, ide, t->nvme->bar.addr + NVME_REG_CC);
    g_usleep(G_TIME_SPAN_SECOND / 5);
    cint_machine_run(m, 1000);
    g_assert_cmphex(NVME_CC_EN(qnvme_reg_read(t->nvme, NVME_REG_CC)), ==, 0);
    g_free(ide);
    finish(m);
}

static CintMachine *boot_with_ide(const char *opts)
{
    const CintPlan plans[] = { { .opts = opts }, { NULL } };

    return cint_machine_new(LATE_DISK CINT_SLOW_NODE("d1", 100000000)
                            "-device piix3-ide,id=ide,addr=10 "
                            "-device ide-hd,bus=ide.0,drive=d1 ", plans,
                            NAMESPACE("nvme0", "d0", "1"));
}

static void f26(const void *opts)
{
    CintMachine *m = boot_with_ide(opts);
    CintTest *t = &m->node[0].t;

    cint_read(t, cint_queues(t, 1), 1);
    reset_by_ide(m);
}

/* Of several steps, each of which a coroutine begins when one has ended. */
static void f26_copy(const void *opts)
{
    CintMachine *m = boot_with_ide(opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = copy_two(t);

    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    reset_by_ide(m);
}

/* ---- Commands that ring for others, at one instant and for ever ---- */

/* What Get Features gives back of Host Behavior Support is what was set. */
static uint64_t new_doorbells(CintTest *t, uint32_t tail, uint32_t head)
{
    uint64_t addr = qnvme_buf_new(t->nvme, QNVME_PAGE_SIZE).addr;

    qtest_memset(t->qts, addr, 0, QNVME_PAGE_SIZE);
    qtest_writel(t->qts, addr, tail);
    qtest_writel(t->qts, addr + 4, head);
    return addr;
}

/*
 * Entry by entry: half of the queue says that the other half is to be done as
 * well, and that its CQEs were seen.
 */
static void fill_with_features(CintTest *t, uint64_t shadow)
{
    QNvmeSq *sq = &t->nvme->admin_sq;
    uint32_t i, half = sq->entries / 2;
    const uint64_t says[] = {
        new_doorbells(t, half + half / 2, 0), new_doorbells(t, half / 2, half),
    };

    for (i = 0; i < sq->entries; i++) {
        bool set = i % half == 0;

        qtest_memwrite(t->qts, sq->addr + i * sizeof(NvmeCmd), &(NvmeCmd) {
            .opcode = set ? NVME_ADM_CMD_SET_FEATURES :
                            NVME_ADM_CMD_GET_FEATURES,
            .cid = cpu_to_le16(i),
            .dptr.prp1 = cpu_to_le64(set ? says[i / half] : shadow),
            .cdw10 = cpu_to_le32(NVME_HOST_BEHAVIOR_SUPPORT),
        }, sizeof(NvmeCmd));
    }
}

static void f27(const void *opts)
{
    CintMachine *m = boot_one(FAST_DISK, opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = &t->nvme->admin_sq;
    uint64_t shadow = use_shadow(t);

    fill_with_features(t, shadow);
    qnvme_reg_write(t->nvme, ADMIN_TAIL, (sq->tail + 2) % sq->entries);
    qtest_writel(t->qts, shadow, (sq->tail + 16) % sq->entries);
    cint_step("an admin queue rings for itself");
    cint_machine_run(m, 1000);
    qtest_qmp_assert_success(m->qts, "{'execute': 'query-status'}");
    finish(m);
}

/* ---- A Copy waits for a table of the disk ---- */

static void have_unwritten_refused(QNvmeCtrl *n)
{
    g_assert_cmphex(qnvme_admin(n, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_SET_FEATURES,
        .nsid = cpu_to_le32(1),
        .cdw10 = cpu_to_le32(NVME_ERROR_RECOVERY),
        .cdw11 = cpu_to_le32(1 << 16),
    }, NULL), ==, 0);
}

static void expect_status(CintMachine *m, QNvmeSq *sq, uint16_t status)
{
    NvmeCqe cqe;

    cint_machine_run(m, 1000);
    qnvme_wait_cqes(sq->cq, 1);
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    g_assert_cmphex(qnvme_status(&cqe), ==, status);
    qnvme_reap(sq->cq, 1);
}

static void write_block(CintMachine *m, QNvmeSq *sq, uint64_t block)
{
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_WRITE, &m->node[0].t.buf, block, 512);

    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    expect_status(m, sq, 0);
}

static CintMachine *boot_image(const char *disk, const char *opts)
{
    g_autofree char *args = g_strdup_printf(
        "-blockdev node-name=d0," CINT_IMAGE ",file.driver=blkdebug,"
        "file.image.driver=file,file.image.filename=%s ", disk);
    const CintPlan plans[] = { { .opts = opts }, { NULL } };

    return cint_machine_new(args, plans, "-device nvme-ns,bus=nvme0,id=ns1,"
                            "drive=d0,nsid=1");
}

/*
 * What is known of its second range is in a table that the image has, and its
 * cache has not: the Copy asks when it has written the first one.
 *
 * Returns: its identifier
 */
static uint16_t copy_that_waits(CintMachine *m, QNvmeSq *sq)
{
    NvmeCmd cmd;
    uint16_t cid;

    have_unwritten_refused(m->node[0].t.nvme);
    write_block(m, sq, FAR_BLOCK);
    write_block(m, sq, 0);
    write_block(m, sq, TO_BLOCK);
    cmd = copy_two(&m->node[0].t);
    command_backend(m, "ns1", "break l2_load held");
    cid = qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    command_backend(m, "ns1", "wait_break held");
    return cid;
}

/* A driver works on meanwhile. */
static void f29(const void *opts)
{
    g_autofree char *disk = cint_image_new();
    CintMachine *m = boot_image(disk, opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    uint32_t version = qnvme_reg_read(t->nvme, NVME_REG_VS);

    copy_that_waits(m, sq);
    cint_step("a driver works on while a Copy waits");
    g_assert_cmphex(qnvme_reg_read(t->nvme, NVME_REG_VS), ==, version);
    g_assert_cmphex(qnvme_identify(t->nvme, NVME_ID_CNS_CTRL, 0, &t->buf), ==,
                    0);
    command_backend(m, "ns1", "resume held");
    expect_status(m, sq, 0);
    finish(m);
    unlink(disk);
}

/* It is aborted, and the namespace is not formatted under it. */
static void f29_aborted(const void *opts)
{
    g_autofree char *disk = cint_image_new();
    CintMachine *m = boot_image(disk, opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    uint16_t cid = copy_that_waits(m, sq);

    cint_push_admin(t, NVME_ADM_CMD_ABORT, 0, (uint32_t)cid << 16 | sq->id, 0);
    ring_admin(t);
    cint_machine_run(m, 1000);
    qnvme_wait_cqes(&t->nvme->admin_cq, 1);
    qnvme_reap(&t->nvme->admin_cq, 1);
    g_assert_cmphex(format_namespace(m, 0, 0), ==, NVME_CMD_SEQ_ERROR);
    command_backend(m, "ns1", "resume held");
    expect_status(m, sq, NVME_CMD_ABORT_REQ);
    g_assert_cmphex(format_namespace(m, 0, 0), ==, 0);
    finish(m);
    unlink(disk);
}

/* ---- An operator takes the drive away ---- */

/*
 * What looks at the drive itself fails, as what reads and writes does. The
 * namespace has metadata that protects, which a Format drops.
 */
static void f30(const void *opts)
{
    static const uint8_t opcodes[] = {
        NVME_CMD_READ, NVME_CMD_WRITE, NVME_CMD_VERIFY, NVME_CMD_COMPARE,
        NVME_CMD_COPY, NVME_CMD_DSM, NVME_CMD_WRITE_ZEROES, NVME_CMD_FLUSH,
    };
    const CintPlan plans[] = { { .opts = opts }, { NULL } };
    CintMachine *m = cint_machine_new("-drive if=none,id=d0,driver=null-co,"
                                      "size=1G,read-zeroes=on ", plans,
                                      "-device nvme-ns,bus=nvme0,drive=d0,"
                                      "nsid=1,ms=8,pi=1");
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    g_autofree char *said = NULL;
    size_t i;

    have_unwritten_refused(t->nvme);
    said = qtest_hmp(m->qts, "drive_del d0");
    g_assert_cmpstr(said, ==, "");
    for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
        NvmeCmd cmd = copy_two(t);

        cint_step("opcode %02Xh without a drive", opcodes[i]);
        if (opcodes[i] == NVME_CMD_DSM) {
            cmd.cdw11 = cpu_to_le32(NVME_DSMGMT_AD);
        } else if (opcodes[i] != NVME_CMD_COPY) {
            cmd = qnvme_rw_cmd(opcodes[i], &t->buf, 0, 512);
            cmd.mptr = cpu_to_le64(t->buf.addr + QNVME_PAGE_SIZE);
        }
        cmd.opcode = opcodes[i];
        qnvme_push(sq, &cmd);
        qnvme_ring_sq(sq);
        cint_machine_run(m, 1000);
        qnvme_wait_cqes(sq->cq, 1);
        qnvme_reap(sq->cq, 1);
    }
    cint_step("a Format without a drive");
    format_namespace(m, 0, 0);
    finish(m);
}

/* ---- A namespace is detached under commands in flight ---- */

/* Of the first controller, by the second one, which shares the namespace. */
static void push_attachment(CintTest *other, uint8_t sel)
{
    uint16_t list[2] = { cpu_to_le16(1), cpu_to_le16(0) };
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_NS_ATTACHMENT,
        .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(other->buf.addr),
        .cdw10 = cpu_to_le32(sel),
    };

    qtest_memset(other->qts, other->buf.addr, 0, QNVME_PAGE_SIZE);
    qtest_memwrite(other->qts, other->buf.addr, list, sizeof(list));
    qnvme_push(&other->nvme->admin_sq, &cmd);
}

static void expect_success(CintTest *t)
{
    QNvmeCq *cq = &t->nvme->admin_cq;
    NvmeCqe cqe;

    qnvme_wait_cqes(cq, 1);
    g_assert_true(qnvme_peek(cq, 0, &cqe));
    g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    qnvme_reap(cq, 1);
}

/* A message of the third controller rings for it. */
static QNvmeSq *detach_under_reads(CintMachine *m)
{
    CintTest *t = &m->node[0].t, *other = &m->node[1].t;
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 5);
    cint_let_run(t);
    push_attachment(other, NVME_NS_ATTACHMENT_DETACH);
    read_that_rings(&m->node[2].t, 1, other->nvme->bar.addr + ADMIN_TAIL,
                    other->nvme->admin_sq.tail);
    cint_let_run(other);
    expect_success(other);
    return sq;
}

static void attach_again(CintMachine *m)
{
    CintTest *other = &m->node[1].t;

    push_attachment(other, NVME_NS_ATTACHMENT_ATTACH);
    ring_admin(other);
    expect_success(other);
    finish(m);
}

/*
 * Zeroes that were read at once, so that the block layer completes them
 * outside of a coroutine, disable the other controller of the namespace.
 */
static void read_disables_another(const void *opts)
{
    CintMachine *m = boot_pair(FAST_DISK, opts, NAMESPACE("nvme0", "d0", "1"));
    CintTest *t = &m->node[0].t, *other = &m->node[1].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeSglDescriptor sgl[] = {
        { .addr = cpu_to_le64(other->nvme->bar.addr + NVME_REG_CC),
          .len = cpu_to_le32(4) },
        { .addr = cpu_to_le64(t->buf.addr), .len = cpu_to_le32(508) },
    };
    NvmeCmd cmd = with_sgl(t, qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, 512),
                           sgl, ARRAY_SIZE(sgl));

    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    cint_machine_run(m, 1000);
    qnvme_wait_cqes(sq->cq, 1);
    g_assert_cmphex(NVME_CC_EN(qnvme_reg_read(other->nvme, NVME_REG_CC)), ==,
                    0);
    qnvme_forget(other->nvme);
    qnvme_enable(other->nvme);
    finish(m);
}

static void f28_reset(const void *opts)
{
    CintMachine *m = boot_shared(opts);

    detach_under_reads(m);
    qnvme_reset(m->node[0].t.nvme);
    cint_machine_run(m, 1000);
    attach_again(m);
}

static void f28_completed(const void *opts)
{
    CintMachine *m = boot_shared(opts);

    qnvme_wait_cqes(detach_under_reads(m)->cq, 5);
    attach_again(m);
}

/* ---- What is fetched from a register that waits ---- */

static CintMachine *boot_with_card(const char *opts)
{
    return boot_two(FAST_DISK CINT_SLOW_NODE("d1", 100000000)
                    CINT_CARD(300000000) CINT_BLK(0), opts, false);
}

static uint64_t read_card(CintMachine *m)
{
    return cint_card_begin(m, false);
}

/*
 * The other controller's message tells a device of another kind of a request,
 * whose message resets: the one that has no part in this.
 */
static void reset_meanwhile(CintMachine *m)
{
    CintTest *t = &m->node[0].t, *by = &m->node[1].t;
    CintBlk *blk = cint_blk_begin(m);

    cint_blk_aim(blk, cint_flr_at(t->pdev), PCI_EXP_DEVCTL_BCR_FLR);
    cint_blk_offer(blk, 1);
    cint_aim(by, 1, cint_blk_doorbell(blk), 0);
    cint_read(by, cint_queues(by, 1), 1);
    cint_blk_free(blk);
}

/* SQ 1, of two entries, which are in the card's data port. */
static void create_sq_at_card(CintMachine *m)
{
    QNvmeCtrl *nvme = m->node[0].t.nvme;
    QNvmeCq *cq = qnvme_create_cq(nvme, 1, CINT_ENTRIES, 1);
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_CREATE_SQ,
        .dptr.prp1 = cpu_to_le64(read_card(m)),
        .cdw10 = cpu_to_le32(1 << 16 | 1),
        .cdw11 = cpu_to_le32(cq->id << 16 | NVME_SQ_PC),
    };

    g_assert_cmphex(qnvme_admin(nvme, &cmd, NULL), ==, 0);
}

static void f31_queue(const void *opts)
{
    CintMachine *m = boot_with_card(opts);

    create_sq_at_card(m);
    reset_meanwhile(m);
    qnvme_reg_write(m->node[0].t.nvme, ADMIN_TAIL + 8, 1);
    cint_machine_run(m, 1000);
    finish(m);
}

static void reset_while_it_reads(CintMachine *m, QNvmeSq *sq, NvmeCmd *cmd)
{
    qnvme_push(sq, cmd);
    reset_meanwhile(m);
    qnvme_ring_sq(sq);
    cint_machine_run(m, 1000);
    finish(m);
}

static void f31_list(const void *opts)
{
    CintMachine *m = boot_with_card(opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeBuf buf = qnvme_buf_new(t->nvme, 16 * QNVME_PAGE_SIZE);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &buf, 0, 16 * QNVME_PAGE_SIZE);

    cmd.dptr.prp2 = cpu_to_le64(read_card(m));
    reset_while_it_reads(m, sq, &cmd);
}

static void f31_data(const void *opts)
{
    CintMachine *m = boot_with_card(opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_WRITE, &t->buf, 0, 512);

    cmd.dptr.prp1 = cpu_to_le64(read_card(m));
    reset_while_it_reads(m, sq, &cmd);
}

static void f31_feature(const void *opts)
{
    CintMachine *m = boot_with_card(opts);
    CintTest *t = &m->node[0].t;

    cint_push_admin(t, NVME_ADM_CMD_SET_FEATURES, read_card(m),
                    NVME_HOST_BEHAVIOR_SUPPORT, 0);
    reset_meanwhile(m);
    ring_admin(t);
    cint_machine_run(m, 1000);
    finish(m);
}

/* The same, where the controller writes there, which waits just so. */
static void message_waits(const void *opts)
{
    CintMachine *m = boot_with_card(opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);

    cint_aim(t, 1, cint_card_begin(m, true) + CINT_CARD_PORT, 0);
    reset_meanwhile(m);
    cint_read(t, sq, 3);
    cint_machine_run(m, 1000);
    finish(m);
}

static void read_data_waits(const void *opts)
{
    CintMachine *m = boot_with_card(opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, 512);

    cmd.dptr.prp1 = cpu_to_le64(cint_card_begin(m, true) + CINT_CARD_PORT);
    reset_while_it_reads(m, sq, &cmd);
}

static void identify_waits(const void *opts)
{
    CintMachine *m = boot_with_card(opts);
    CintTest *t = &m->node[0].t;

    cint_push_admin(t, NVME_ADM_CMD_IDENTIFY,
                    cint_card_begin(m, true) + CINT_CARD_PORT,
                    NVME_ID_CNS_CTRL, 0);
    reset_meanwhile(m);
    ring_admin(t);
    cint_machine_run(m, 1000);
    finish(m);
}

/*
 * Data of a Write has no bounce buffer, which another Write has taken. When
 * that one is done it is read, which waits; and the reset comes meanwhile.
 */
static void f32(const void *opts)
{
    CintMachine *m = boot_two(LATE_DISK CINT_SLOW_NODE("d1", 550000000)
                              CINT_CARD(300000000) CINT_BLK(0), opts, false);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd first = qnvme_rw_cmd(NVME_CMD_WRITE, &t->buf, 0, 4096);
    NvmeCmd second = qnvme_rw_cmd(NVME_CMD_WRITE, &t->buf, 8, 512);

    first.dptr.prp1 = cpu_to_le64(m->node[1].t.nvme->bar.addr);
    second.dptr.prp1 = cpu_to_le64(read_card(m));
    qnvme_push(sq, &first);
    qnvme_push(sq, &second);
    reset_meanwhile(m);
    qnvme_ring_sq(sq);
    cint_machine_run(m, 1000);
    finish(m);
}

/* ---- What is no memory is no doorbell, and data like other data ---- */

/*
 * Registers of the other controller where shadow doorbells should be: the tail
 * is reserved, which reads 0, and the head is CSTS, which reads 1.
 */
static void shadow_in_registers(const void *opts)
{
    CintMachine *m = boot_two(FAST_DISK CINT_NULL_NODE("d1", ""), opts, false);
    CintTest *t = &m->node[0].t;
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 3, 4, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 3, CINT_ENTRIES, cq);

    g_assert_cmpuint(SHADOW_HEAD(3), ==, NVME_REG_CSTS);
    g_assert_cmphex(qnvme_admin(t->nvme, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_DBBUF_CONFIG,
        .dptr.prp1 = cpu_to_le64(m->node[1].t.nvme->bar.addr),
        .dptr.prp2 = cpu_to_le64(t->buf.addr),
    }, NULL), ==, 0);
    cint_read(t, sq, 5);
    cint_machine_run(m, 1000);
    qnvme_wait_cqes(cq, 3);
    g_assert_cmpuint(qnvme_visible(cq), ==, 3);
    finish(m);
}

/* A block of which one half is at @first, the other one at @second. */
static NvmeCmd write_halves(CintTest *t, uint64_t first, uint64_t second)
{
    NvmeSglDescriptor sgl[] = {
        { .addr = cpu_to_le64(first), .len = cpu_to_le32(HALF) },
        { .addr = cpu_to_le64(second), .len = cpu_to_le32(HALF) },
    };

    return with_sgl(t, qnvme_rw_cmd(NVME_CMD_WRITE, &t->buf, 0, 2 * HALF), sgl,
                    ARRAY_SIZE(sgl));
}

static void f31_half(const void *opts)
{
    CintMachine *m = boot_with_card(opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = write_halves(t, t->buf.addr, read_card(m));

    reset_while_it_reads(m, sq, &cmd);
}

/* Where memory ends, and the registers of the card's host are from now on. */
static uint64_t move_card_to_end(CintMachine *m)
{
    QPCIDevice *dev = qpci_device_find(m->bus, QPCI_DEVFN(CINT_CARD_SLOT, 0));

    qpci_config_writel(dev, PCI_BASE_ADDRESS_0, MEMORY_END);
    g_free(dev);
    qtest_writel(m->qts, MEMORY_END - 4, 0x12345678);
    g_assert_cmphex(qtest_readl(m->qts, MEMORY_END - 4), ==, 0x12345678);
    return MEMORY_END;
}

/* The same with one address for both halves. */
static void f31_across(const void *opts)
{
    CintMachine *m = boot_with_card(opts);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeSglDescriptor sgl = { .len = cpu_to_le32(2 * HALF) };
    NvmeCmd cmd;

    read_card(m);
    sgl.addr = cpu_to_le64(move_card_to_end(m) - HALF);
    cmd = with_sgl(t, qnvme_rw_cmd(NVME_CMD_WRITE, &t->buf, 0, 2 * HALF), &sgl,
                   1);
    reset_while_it_reads(m, sq, &cmd);
}

/*
 * The machine is stopped, which waits for what is in flight and lets nothing
 * new begin; and what is in flight wants a block of the card. Data of a Compare
 * are read when the medium's are there.
 */
static void f33_compare(const void *opts)
{
    CintMachine *m = boot_two(CINT_SLOW_NODE("d0", 200000000)
                              CINT_NULL_NODE("d1", "") CINT_CARD(10000000),
                              opts, false);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_COMPARE, &t->buf, 0, 512);

    cmd.dptr.prp1 = cpu_to_le64(read_card(m));
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    cint_let_run(t);
    by_stop(m);
}

/*
 * Machine and controllers of which the second one's first read sends its
 * message while the machine stops, and the second read is in flight.
 */
static CintMachine *boot_to_stop(const char *more, const char *opts)
{
    g_autofree char *args = g_strconcat(CINT_NULL_NODE("d0", "")
                                        CINT_SLOW_NODE("d1", 400000000), more,
                                        NULL);

    return boot_two(args, opts, false);
}

static void stop_under_message(CintMachine *m)
{
    CintTest *by = &m->node[1].t;
    QNvmeSq *sq = cint_queues(by, 1);

    cint_read(by, sq, 1);
    cint_let_run(by);
    g_usleep(200000);
    cint_read(by, sq, 1);
    cint_let_run(by);
    by_stop(m);
}

/* The message rings for a command that is in the card's data port. */
static void f33_queue(const void *opts)
{
    CintMachine *m = boot_to_stop(CINT_CARD(10000000), opts);
    uint64_t registers = m->node[0].t.nvme->bar.addr;

    create_sq_at_card(m);
    cint_aim(&m->node[1].t, 1, registers + ADMIN_TAIL + 8, 1);
    stop_under_message(m);
}

/* The message has flash memory erase a sector, which goes to its disk. */
static void f33_flash(const void *opts)
{
    CintMachine *m = boot_to_stop(CINT_FLASH(0), opts);

    cint_aim(&m->node[1].t, 1, CINT_FLASH_AT, CINT_FLASH_ERASE);
    stop_under_message(m);
}

static uint16_t status_of_one(CintMachine *m, QNvmeSq *sq)
{
    NvmeCqe cqe;

    cint_machine_run(m, 1000);
    qnvme_wait_cqes(sq->cq, 1);
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    return qnvme_status(&cqe);
}

static void registers_written(const void *opts)
{
    g_autofree char *disk = make_disk("", 1);
    g_autofree char *args = g_strdup_printf("-blockdev driver=file,"
        "node-name=d0,filename=%s " CINT_NULL_NODE("d1", ""), disk);
    CintMachine *m = boot_two(args, opts, false);
    CintTest *t = &m->node[0].t;
    uint64_t registers = m->node[1].t.nvme->bar.addr;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = write_halves(t, t->buf.addr, registers);
    uint8_t expected[2 * HALF];

    memset(expected, 0xa5, HALF);
    qtest_memwrite(m->qts, t->buf.addr, expected, HALF);
    qtest_memread(m->qts, registers, expected + HALF, HALF);
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    g_assert_cmphex(status_of_one(m, sq), ==, 0);
    finish(m);
    end_disk(disk, expected, sizeof(expected));
}

static QNvmeSq *write_registers(CintMachine *m)
{
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_WRITE, &t->buf, 0, 512);

    cmd.dptr.prp1 = cpu_to_le64(m->node[1].t.nvme->bar.addr);
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    cint_let_run(t);
    return sq;
}

static void registers_aborted(const void *opts)
{
    CintMachine *m = boot_two(LATE_DISK CINT_NULL_NODE("d1", ""), opts, false);
    QNvmeSq *sq = write_registers(m);

    qnvme_abort(sq, 0);
    g_assert_cmphex(status_of_one(m, sq), ==, NVME_CMD_ABORT_REQ);
    finish(m);
}

#define READ_ONLY_BY_FAULT \
    "-blockdev driver=blkdebug,node-name=d0,inject-error.0.event=none," \
    "inject-error.0.iotype=write,inject-error.0.errno=5," \
    "image.driver=null-co,image.size=1073741824,image.read-zeroes=on "

static void registers_not_written(const void *opts)
{
    CintMachine *m = boot_two(READ_ONLY_BY_FAULT CINT_NULL_NODE("d1", ""),
                              opts, false);
    QNvmeSq *sq = write_registers(m);

    g_assert_cmphex(status_of_one(m, sq) & 0xfff, ==, NVME_WRITE_FAULT);
    finish(m);
}

/* ---- A pass ends where an atomic write has to wait ---- */

static void atomic_writes(const void *opts)
{
    g_autofree char *disk = make_disk("", 1);
    g_autofree char *args = g_strdup_printf("-blockdev driver=file,"
        "node-name=d0,filename=%s,aio=native,cache.direct=on ", disk);
    g_autofree char *atomic = g_strconcat(
        ",atomic.dn=off,atomic.awun=7,atomic.awupf=3", opts, NULL);
    CintMachine *m = boot_one(args, atomic);
    CintTest *t = &m->node[0].t;
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_WRITE, &t->buf, 0, QNVME_PAGE_SIZE);
    unsigned i;

    for (i = 0; i < 3; i++) {
        qnvme_push(sq, &cmd);
    }
    qnvme_ring_sq(sq);
    for (i = 1; i <= 3; i++) {
        cint_machine_run(m, 1000);
        qnvme_wait_cqes(sq->cq, i);
    }
    finish(m);
    unlink(disk);
}

typedef struct Sequence {
    const char *name;
    void (*run)(const void *opts);
    const char *opts;
} Sequence;

static const Sequence sequences[] = {
    { "f01/queues-of-65536-entries/off", f01, OFF },
    { "f01/queues-of-65536-entries/real", f01, REAL },
    { "f01/queues-of-65536-entries/virtual", f01, VIRTUAL },
    { "f02/admin-message-resets/off", f02, OFF },
    { "f02/admin-message-resets/real", f02, REAL },
    { "f02/admin-message-resets/virtual", f02, VIRTUAL },
    { "f03/cqe-powers-off/off", f03, OFF },
    { "f03/cqe-powers-off/real", f03, REAL },
    { "f03/cqe-powers-off/virtual", f03, VIRTUAL },
    { "f04/event-index-powers-off/off", f04, OFF },
    { "f04/event-index-powers-off/real", f04, REAL },
    { "f04/event-index-powers-off/virtual", f04, VIRTUAL },
    { "f05/read-data-resets/off", f05, OFF },
    { "f05/read-data-resets/real", f05, REAL },
    { "f05/read-data-resets/virtual", f05, VIRTUAL },
    { "f06/zone-report-resets-behind-reads/off", f06, OFF },
    { "f06/zone-report-resets-behind-reads/real", f06, REAL },
    { "f06/zone-report-resets-behind-reads/virtual", f06, VIRTUAL },
    { "f06/and-nothing-is-fetched/off", write_behind_reset, OFF },
    { "f06/and-nothing-is-fetched/real", write_behind_reset, REAL },
    { "f06/and-nothing-is-fetched/virtual", write_behind_reset, VIRTUAL },
    { "reads-before-registers/off", reads_before_registers, OFF },
    { "reads-before-registers/real", reads_before_registers, REAL },
    { "reads-before-registers/virtual", reads_before_registers, VIRTUAL },
    { "fetched-behind-a-delete/off", fetched_behind_a_delete, OFF },
    { "fetched-behind-a-delete/real", fetched_behind_a_delete, &REAL[1] },
    { "f07/features-rung-for-before-a-reset/real", f07, REAL },
    { "f08/unplugged-within-a-reset/off", f08, OFF },
    { "f08/unplugged-within-a-reset/real", f08, REAL },
    { "f08/unplugged-within-a-reset/virtual", f08, VIRTUAL },
    { "f09/data-disables-another/off", f09, OFF },
    { "f09/data-disables-another/real", f09, REAL },
    { "f09/data-disables-another/virtual", f09, VIRTUAL },
    { "f10/cqe-disables-another/off", f10, OFF },
    { "f10/cqe-disables-another/real", f10, REAL },
    { "f10/cqe-disables-another/virtual", f10, VIRTUAL },
    { "f11/delete-sq-message-resets/off", f11, OFF },
    { "f11/delete-sq-message-resets/real", f11, REAL },
    { "f11/delete-sq-message-resets/virtual", f11, VIRTUAL },
    { "f12/copy-out-of-range/off", f12, OFF },
    { "f12/copy-out-of-range/real", f12, REAL },
    { "f12/copy-out-of-range/virtual", f12, VIRTUAL },
    { "f13/copy-out-of-range-takes-no-time/virtual", f13,
      VIRTUAL ",cint.media=sata" },
    { "f14/get-features-data-resets/real", f14, REAL },
    { "f14/get-features-data-resets/virtual", f14, VIRTUAL },
    { "f15/get-log-data-unplugs/real", f15, REAL },
    { "f15/get-log-data-unplugs/virtual", f15, VIRTUAL },
    { "bounced/deleted/off", bounced_and_deleted, OFF },
    { "bounced/deleted/real", bounced_and_deleted, REAL },
    { "bounced/deleted/virtual", bounced_and_deleted, VIRTUAL },
    { "bounced/reset/off", bounced_and_reset, OFF },
    { "bounced/reset/real", bounced_and_reset, REAL },
    { "bounced/reset/virtual", bounced_and_reset, VIRTUAL },
    { "bounced/aborted/off", bounced_and_aborted, OFF },
    { "bounced/aborted/real", bounced_and_aborted, REAL },
    { "bounced/aborted/virtual", bounced_and_aborted, VIRTUAL },
    { "bounced/list-and-unplug/off", list_and_unplug, OFF },
    { "bounced/list-and-unplug/real", list_and_unplug, REAL },
    { "bounced/list-and-unplug/virtual", list_and_unplug, VIRTUAL },
    { "unplug/after-a-reset/off", reset_and_unplugged, OFF },
    { "unplug/after-a-reset/real", reset_and_unplugged, REAL },
    { "unplug/after-a-reset/virtual", reset_and_unplugged, VIRTUAL },
    { "f16/late-data-and-the-monitor/virtual", f16_monitor, VIRTUAL },
    { "f16/late-data-and-sigterm/virtual", f16_sigterm, VIRTUAL },
    { "f17/deleted-while-another-resets/off", f17, OFF },
    { "f17/deleted-while-another-resets/real", f17, REAL },
    { "f17/deleted-while-another-resets/virtual", f17, VIRTUAL },
    { "f18/deleted-while-the-machine-stops/off", f18, OFF },
    { "f18/deleted-while-the-machine-stops/real", f18, REAL },
    { "f18/deleted-while-the-machine-stops/virtual", f18, VIRTUAL },
    { "f19/reset-while-another-resets/off", f19, OFF },
    { "f19/reset-while-another-resets/real", f19, REAL },
    { "f19/reset-while-another-resets/virtual", f19, VIRTUAL },
    { "f20/reset-while-the-machine-stops/off", f20, OFF },
    { "f20/reset-while-the-machine-stops/real", f20, REAL },
    { "f20/reset-while-the-machine-stops/virtual", f20, VIRTUAL },
    { "shutdown/by-message/off", shut_down_by_message, OFF },
    { "shutdown/by-message/real", shut_down_by_message, REAL },
    { "shutdown/by-message/virtual", shut_down_by_message, VIRTUAL },
    { "memory/queue-in-registers/off", sq_in_registers, OFF },
    { "memory/queue-in-registers/real", sq_in_registers, REAL },
    { "memory/queue-in-registers/virtual", sq_in_registers, VIRTUAL },
    { "memory/list-in-registers/off", prp_list_in_registers, OFF },
    { "memory/list-in-registers/real", prp_list_in_registers, REAL },
    { "memory/list-in-registers/virtual", prp_list_in_registers, VIRTUAL },
    { "shared/read-disables-another/off", read_disables_another, OFF },
    { "shared/read-disables-another/real", read_disables_another, REAL },
    { "shared/read-disables-another/virtual", read_disables_another, VIRTUAL },
    { "shared/one-of-two-is-reset/off", one_of_two_is_reset, OFF },
    { "shared/one-of-two-is-reset/real", one_of_two_is_reset, REAL },
    { "shared/one-of-two-is-reset/virtual", one_of_two_is_reset, VIRTUAL },
    { "unplug/with-an-admin-message/off", unplug_with_admin_message, OFF },
    { "unplug/with-an-admin-message/real", unplug_with_admin_message, REAL },
    { "unplug/with-an-admin-message/virtual",
      unplug_with_admin_message, VIRTUAL },
    { "reset/posts-nothing/off", reset_posts_nothing, OFF },
    { "reset/posts-nothing/real", reset_posts_nothing, REAL },
    { "reset/sends-nothing/real", reset_sends_nothing, HOLDING(REAL) },
    { "reset/sends-nothing/virtual", reset_sends_nothing, HOLDING(VIRTUAL) },
    { "f21/format-under-a-read/off", f21_read, OFF },
    { "f21/format-under-a-read/real", f21_read, REAL },
    { "f21/format-under-a-read-of-another/off", f21_read_shared, OFF },
    { "f21/format-under-a-read-of-another/real", f21_read_shared, REAL },
    { "f21/format-under-a-copy/off", f21_copy, OFF },
    { "f21/format-under-a-copy/real", f21_copy, REAL },
    { "f22/placement-events-for-all/off", f22, OFF },
    { "f22/placement-events-for-all/real", f22, REAL },
    { "f22/placement-events-for-all/virtual", f22, VIRTUAL },
    { "f23/aborted-format/off", f23, OFF },
    { "f23/aborted-format/real", f23, REAL },
    { "f24/stopped-with-an-endless-queue/off", f24, OFF },
    { "f24/stopped-with-an-endless-queue/real", f24, REAL },
    { "f24/stopped-with-an-endless-queue/virtual", f24, VIRTUAL },
    { "f25/shadow-doorbells-that-are-no-index/off", f25, OFF },
    { "f25/shadow-doorbells-that-are-no-index/real", f25, REAL },
    { "f25/shadow-doorbells-that-are-no-index/virtual", f25, VIRTUAL },
    { "f26/another-device-resets-in-a-coroutine/off", f26, OFF },
    { "f26/another-device-resets-in-a-coroutine/real", f26, REAL },
    { "f26/another-device-resets-in-a-coroutine/virtual", f26, VIRTUAL },
    { "f26/the-same-under-a-copy/off", f26_copy, OFF },
    { "f26/the-same-under-a-copy/real", f26_copy, REAL },
    { "f26/the-same-under-a-copy/virtual", f26_copy, VIRTUAL },
    { "f27/a-queue-rings-for-itself/off", f27, OFF },
    { "f27/a-queue-rings-for-itself/real", f27, REAL },
    { "f27/a-queue-rings-for-itself/virtual", f27, VIRTUAL },
    { "f28/detached-under-reads-and-reset/off", f28_reset, OFF },
    { "f28/detached-under-reads-and-reset/real", f28_reset, REAL },
    { "f28/detached-under-reads-and-completed/off", f28_completed, OFF },
    { "f28/detached-under-reads-and-completed/real", f28_completed, REAL },
    { "f29/a-copy-waits-for-a-table/off", f29, OFF },
    { "f29/a-copy-waits-for-a-table/real", f29, REAL },
    { "f29/and-is-aborted/off", f29_aborted, OFF },
    { "f29/and-is-aborted/real", f29_aborted, REAL },
    { "f30/without-a-drive/off", f30, OFF },
    { "f30/without-a-drive/real", f30, REAL },
    { "f30/without-a-drive/virtual", f30, VIRTUAL },
    { "f31/queue-from-a-register-that-waits/off", f31_queue, OFF },
    { "f31/queue-from-a-register-that-waits/real", f31_queue, REAL },
    { "f31/queue-from-a-register-that-waits/virtual", f31_queue, VIRTUAL },
    { "f31/list-from-a-register-that-waits/off", f31_list, OFF },
    { "f31/list-from-a-register-that-waits/real", f31_list, REAL },
    { "f31/list-from-a-register-that-waits/virtual", f31_list, VIRTUAL },
    { "f31/write-data-from-a-register-that-waits/off", f31_data, OFF },
    { "f31/write-data-from-a-register-that-waits/real", f31_data, REAL },
    { "f31/write-data-from-a-register-that-waits/virtual", f31_data, VIRTUAL },
    { "f31/feature-from-a-register-that-waits/off", f31_feature, OFF },
    { "f31/feature-from-a-register-that-waits/real", f31_feature, REAL },
    { "f31/feature-from-a-register-that-waits/virtual", f31_feature, VIRTUAL },
    { "waits/message/off", message_waits, OFF },
    { "waits/message/real", message_waits, REAL },
    { "waits/message/virtual", message_waits, VIRTUAL },
    { "waits/read-data/off", read_data_waits, OFF },
    { "waits/read-data/real", read_data_waits, REAL },
    { "waits/read-data/virtual", read_data_waits, VIRTUAL },
    { "waits/identify/off", identify_waits, OFF },
    { "waits/identify/real", identify_waits, REAL },
    { "waits/identify/virtual", identify_waits, VIRTUAL },
    { "f32/write-data-bounced-from-a-register-that-waits/off", f32, OFF },
    { "f32/write-data-bounced-from-a-register-that-waits/real", f32, REAL },
    { "f32/write-data-bounced-from-a-register-that-waits/virtual", f32,
      VIRTUAL },
    { "f31/half-from-a-register-that-waits/off", f31_half, OFF },
    { "f31/half-from-a-register-that-waits/real", f31_half, REAL },
    { "f31/half-from-a-register-that-waits/virtual", f31_half, VIRTUAL },
    { "f31/across-the-end-of-memory/off", f31_across, OFF },
    { "f31/across-the-end-of-memory/real", f31_across, REAL },
    { "f31/across-the-end-of-memory/virtual", f31_across, VIRTUAL },
    { "f33/stopped-under-a-compare-that-waits/off", f33_compare, OFF },
    { "f33/stopped-under-a-compare-that-waits/real", f33_compare, REAL },
    { "f33/stopped-under-a-compare-that-waits/virtual", f33_compare, VIRTUAL },
    { "f33/stopped-while-a-queue-is-rung-that-waits/off", f33_queue, OFF },
    { "f33/stopped-while-a-queue-is-rung-that-waits/real", f33_queue, REAL },
    { "f33/stopped-while-a-queue-is-rung-that-waits/virtual", f33_queue,
      VIRTUAL },
    { "f33/stopped-while-flash-is-erased/off", f33_flash, OFF },
    { "f33/stopped-while-flash-is-erased/real", f33_flash, REAL },
    { "f33/stopped-while-flash-is-erased/virtual", f33_flash, VIRTUAL },
    { "registers/shadow-doorbells/off", shadow_in_registers, OFF },
    { "registers/shadow-doorbells/real", shadow_in_registers, REAL },
    { "registers/shadow-doorbells/virtual", shadow_in_registers, VIRTUAL },
    { "registers/written/off", registers_written, OFF },
    { "registers/written/real", registers_written, REAL },
    { "registers/written/virtual", registers_written, VIRTUAL },
    { "registers/aborted/off", registers_aborted, OFF },
    { "registers/aborted/real", registers_aborted, REAL },
    { "registers/not-written/off", registers_not_written, OFF },
    { "registers/not-written/real", registers_not_written, REAL },
    { "registers/not-written/virtual", registers_not_written, VIRTUAL },
    { "atomic/overlapping-writes/off", atomic_writes, OFF },
    { "atomic/overlapping-writes/real", atomic_writes, REAL },
    { "atomic/overlapping-writes/virtual", atomic_writes, VIRTUAL },
};

static void run_sequence(const void *opaque)
{
    const Sequence *s = opaque;

    cint_step("%s", s->name);
    s->run(s->opts);
}

int main(int argc, char **argv)
{
    size_t i;

    cint_watch_init(&argc, &argv);
    for (i = 0; i < ARRAY_SIZE(sequences); i++) {
        g_autofree char *path = g_strdup_printf("/nvme-cint/sequence/%s",
                                                sequences[i].name);

        qtest_add_data_func(path, &sequences[i], run_sequence);
    }
    return g_test_run();
}
