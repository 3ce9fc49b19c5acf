/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint together with the nvme device's other features: many queues, several
 * controllers, a controller memory buffer, namespaces shared in a subsystem,
 * zoned namespaces and flexible data placement. What does not work together
 * is refused at start (nvme-cint-config-test.c).
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-common.h"

#define REAL        "cint=on,cint.time=real,cint.policy=adaptive," \
                    "cint.delta=60000,cint.max-hold=0"
#define BLOCKS      8       /* of 512 B in 4 KiB */

/* ---- Many queues ---- */

/* Each queue on a vector of its own; what is held in one is no other's. */
static void use_queues(CintTest *t, int count)
{
    int round, id;

    for (id = 1; id <= count; id++) {
        cint_queues(t, id);
    }
    for (round = 1; round <= 3; round++) {
        for (id = 1; id <= count; id++) {
            cint_read(t, t->nvme->sqs[id], 1 + (id + round) % 5);
            cint_run(t, 10);
        }
        cint_let_run(t);
        for (id = 1; id <= count; id++) {
            g_assert_cmpuint(cint_eager_guest(t, t->nvme->cqs[id]), ==,
                             1 + (id + round) % 5);
        }
    }
    for (id = 1; id <= count; id++) {
        NvmeCintLogRecord r = cint_record(t, id);

        g_assert_cmpuint(r.vector, ==, id);
        g_assert_cmpuint(r.inflight, ==, 0);
        g_assert_cmpuint(r.pending, ==, 0);
    }
    cint_shutdown(t);
}

static void test_64_queues(const void *opts)
{
    use_queues(cint_boot(opts), 64);
}

static void test_65_queues(const void *opts)
{
    g_autofree char *more = g_strdup_printf(
        "max_ioqpairs=65,msix_qsize=66,%s", (const char *)opts);

    use_queues(cint_boot(more), 65);
}

/* All queues on one vector, created, used and deleted in turns. */
static void test_queues_come_and_go(const void *opts)
{
    CintTest *t = cint_boot(opts);
    uint32_t reaped = 0;
    int id, i;

    for (id = 1; id <= 64; id++) {
        qnvme_create_sq(t->nvme, id, 16,
                        qnvme_create_cq(t->nvme, id, 16, 1));
        cint_read(t, t->nvme->sqs[id], 2);
        if (id % 3 == 0) {
            QNvmeCq *cq = t->nvme->cqs[id];

            qnvme_delete_sq(t->nvme->sqs[id]);
            qnvme_delete_cq(cq);
        }
    }
    for (i = 0; i < 400; i++) {
        cint_let_run(t);
        cint_run(t, 5000);
        if (!qnvme_take_irq(t->nvme, 1)) {
            continue;
        }
        for (id = 1; id <= 64; id++) {
            QNvmeCq *cq = t->nvme->cqs[id];
            uint32_t visible = cq ? qnvme_visible(cq) : 0;

            if (visible) {
                qnvme_reap(cq, visible);
                reaped += visible;
            }
        }
    }
    g_assert_cmpuint(reaped, ==, 2 * 43);
    cint_shutdown(t);
}

/* ---- Several controllers ---- */

#define OTHER_DISK(n) \
    " -blockdev driver=null-co,node-name=d" #n ",size=1073741824"
#define CONTROLLER(n, opts) \
    OTHER_DISK(n) " -device nvme,serial=cint" #n ",drive=d" #n ",addr=" #n "," \
    opts

/* Four in one machine: three policies with three media, and a stock one. */
static void test_four_controllers(void)
{
    CintTest *t = cint_boot_custom(NULL, CINT_NULL_DISK
        CONTROLLER(6, CINT_PURE ",cint.policy=static,cint.static-time=10000,"
                   "cint.static-thr=8,cint.media.read-latency=700")
        CONTROLLER(7, "cint=on,cint.time=virtual,cint.policy=vic,"
                   "cint.media=optane,cint.media.spread=0")
        CONTROLLER(8, "cint=off"),
        CINT_PURE ",cint.policy=adaptive,cint.delta=6000");
    static const int64_t times[] = { CINT_LATENCY + 6000, 700 + 10000, 7000 };
    CintTest *ctrl[4] = { t };
    QNvmeSq *sqs[4];
    bool interrupted[4] = { false };
    int64_t when;
    int i;

    for (i = 0; i < 4; i++) {
        ctrl[i] = i ? cint_other(t, 5 + i) : t;
        sqs[i] = cint_queues(ctrl[i], 1);
        cint_read(ctrl[i], sqs[i], 1);
    }
    cint_expect_irq_now(ctrl[3], sqs[3]->cq);
    for (when = 100; when <= 12000; when += 100) {
        cint_run_to(t, when);
        for (i = 0; i < 3; i++) {
            interrupted[i] |= qnvme_take_irq(ctrl[i]->nvme, 1);
            g_assert_cmpint(interrupted[i], ==, when >= times[i]);
        }
    }
    for (i = 1; i < 4; i++) {
        cint_other_free(ctrl[i]);
    }
    cint_shutdown(t);
}

/* One is reset, changed and fed with errors; the other notices nothing. */
static void test_controllers_do_not_disturb(void)
{
    CintTest *t = cint_boot_custom(NULL, CINT_NULL_DISK
        CONTROLLER(6, CINT_PURE ",cint.policy=default"),
        CINT_PURE ",cint.policy=adaptive,cint.delta=100000");
    CintTest *other = cint_other(t, 6);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeSq *sq_other = cint_queues(other, 1);

    cint_read(t, sq, 3);
    cint_run_to(t, 2000);
    qnvme_push_invalid(sq_other);
    qnvme_ring_sq(sq_other);
    cint_expect_irq_now(other, sq_other->cq);
    g_assert_cmphex(qnvme_set_feature(other->nvme, NVME_INTERRUPT_VECTOR_CONF,
                                      1u << 16 | 1, NULL, NULL), ==, 0);
    qnvme_reset(other->nvme);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 100000);
    cint_other_free(other);
    cint_shutdown(t);
}

/* ---- Controller memory buffer ---- */

#define CMB_MSC     0x50
#define CMB_ENABLE  3

/* An SQ whose entries, and a page of data, lie in the buffer. */
static QNvmeSq *sq_in_cmb(CintTest *t, uint64_t cmb, QNvmeCq *cq)
{
    QNvmeSq *sq = g_new0(QNvmeSq, 1);
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_CREATE_SQ,
        .dptr.prp1 = cpu_to_le64(cmb),
        .cdw10 = cpu_to_le32(63 << 16 | 2),
        .cdw11 = cpu_to_le32(cq->id << 16 | NVME_SQ_PC),
    };

    g_assert_cmphex(qnvme_admin(t->nvme, &cmd, NULL), ==, 0);
    sq->ctrl = t->nvme;
    sq->cq = cq;
    sq->id = 2;
    sq->entries = 64;
    sq->addr = cmb;
    t->nvme->sqs[2] = sq;
    return sq;
}

static void test_cmb(const void *opts)
{
    g_autofree char *with_cmb = g_strdup_printf("cmb_size_mb=2,%s",
                                                (const char *)opts);
    CintTest *t = cint_boot(with_cmb);
    QPCIBar bar = qpci_iomap(t->pdev, 2, NULL);
    QNvmeBuf data = { .addr = bar.addr + 65536, .len = 4096 };
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 2, 64, 2);
    QNvmeSq *sq;
    int i;

    qnvme_reg_write(t->nvme, CMB_MSC, bar.addr | CMB_ENABLE);
    qnvme_reg_write(t->nvme, CMB_MSC + 4, bar.addr >> 32);
    sq = sq_in_cmb(t, bar.addr, cq);
    for (i = 1; i <= 20; i++) {
        qtest_memset(t->qts, data.addr, 0xa5, 4096);
        qnvme_push_read(sq, &data, 0, 4096);
        qnvme_push_write(sq, &data, 0, 4096);
        cint_read(t, sq, i % 4);
        cint_let_run(t);
        g_assert_cmpuint(cint_eager_guest(t, cq), ==, 2 + i % 4);
        g_assert_cmphex(qtest_readl(t->qts, data.addr), ==, 0);
    }
    cint_shutdown(t);
}

/* ---- Namespaces shared in a subsystem ---- */

/* A disk that keeps what is written to it; the file is gone at once. */
static CintTest *boot_with_shared_disk(const char *devices)
{
    g_autofree char *path = NULL;
    g_autofree char *args = NULL;
    CintTest *t;
    int fd = g_file_open_tmp("nvme-cint-XXXXXX", &path, NULL);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, 16 * 1024 * 1024), ==, 0);
    close(fd);
    args = g_strdup_printf(
        "-blockdev driver=file,node-name=d0,filename=%s "
        "-device nvme-subsys,id=s0,nqn=s0 %s "
        "-device nvme-ns,drive=d0,nsid=1,shared=on", path, devices);
    t = cint_boot_devices(NULL, args);
    unlink(path);
    return t;
}

static void one_command(CintTest *t, CintTest *clock, QNvmeSq *sq)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;
    NvmeCqe cqe;

    qnvme_ring_sq(sq);
    while (!qnvme_take_irq(t->nvme, sq->cq->vector)) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        cint_run(clock, 1000);
    }
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    qnvme_reap(sq->cq, 1);
}

/* Writes through one controller, reads through the other, both ways. */
static void test_shared_namespace(const void *other_opts)
{
    g_autofree char *devices = g_strdup_printf(
        "-device nvme,id=nvme0,serial=cint,subsys=s0,addr=4," CINT_PURE
        ",cint.policy=adaptive,cint.delta=6000 "
        "-device nvme,serial=cint,subsys=s0,addr=6,%s",
        (const char *)other_opts);
    CintTest *t = boot_with_shared_disk(devices);
    CintTest *ctrl[2] = { t, cint_other(t, 6) };
    QNvmeSq *sqs[2];
    QNvmeBuf buf = qnvme_buf_new(t->nvme, 4096);
    uint32_t i;

    for (i = 0; i < 2; i++) {
        sqs[i] = cint_queues(ctrl[i], 1);
    }
    for (i = 0; i < 20; i++) {
        int writer = i % 2;

        qnvme_buf_fill(t->nvme, &buf, i);
        qnvme_push_write(sqs[writer], &buf, i * BLOCKS, 4096);
        one_command(ctrl[writer], t, sqs[writer]);
        qtest_memset(t->qts, buf.addr, 0, 4096);
        qnvme_push_read(sqs[!writer], &buf, i * BLOCKS, 4096);
        one_command(ctrl[!writer], t, sqs[!writer]);
        g_assert_true(qnvme_buf_holds(t->nvme, &buf, i));
    }
    cint_check_record(t, 1);
    cint_other_free(ctrl[1]);
    cint_shutdown(t);
}

/* ---- Zoned namespaces ---- */

#define ZONE_BLOCKS     2048
#define ZONE_SEND       0x79
#define ZONE_RECEIVE    0x7a
#define ZONE_APPEND     0x7d
#define ZONE_RESET      4

static void push_zone_command(CintTest *t, QNvmeSq *sq, uint8_t opcode,
                              uint64_t lba, uint32_t dw12, uint32_t dw13)
{
    NvmeCmd cmd = qnvme_rw_cmd(opcode, &t->buf, lba, 4096);

    cmd.cdw12 = cpu_to_le32(dw12);
    cmd.cdw13 = cpu_to_le32(dw13);
    qnvme_push(sq, &cmd);
}

/* Reaps one by one, so that statuses can be looked at. */
static void expect_success(CintTest *t, QNvmeCq *cq, uint32_t count)
{
    NvmeCqe cqe;
    uint32_t i;

    cint_let_run(t);
    cint_run(t, 10000);
    qnvme_wait_cqes(cq, count);
    for (i = 0; i < count; i++) {
        g_assert_true(qnvme_peek(cq, i, &cqe));
        g_test_message("command %u: status 0x%x", cqe.cid, qnvme_status(&cqe));
        g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    }
    g_assert_cmpuint(cint_eager_guest(t, cq), ==, count);
}

static CintTest *boot_with_namespace(const char *opts, const char *subsys,
                                     const char *ns)
{
    g_autofree char *args = g_strdup_printf(
        CINT_NULL_DISK " -device nvme-subsys,id=s0,nqn=s0%s "
        "-device nvme,id=nvme0,serial=cint,subsys=s0,addr=4,%s "
        "-device nvme-ns,drive=d0,nsid=1,%s", subsys, opts, ns);

    return cint_boot_devices(NULL, args);
}

static void test_zoned(const void *opts)
{
    CintTest *t = boot_with_namespace(opts, "",
                                      "zoned=on,zoned.zone_size=1M");
    QNvmeSq *sq;
    uint64_t zone;
    int i;

    /* Namespaces of all command sets. */
    qnvme_reset(t->nvme);
    t->nvme->css = NVME_CC_CSS_ALL;
    qnvme_enable(t->nvme);
    sq = cint_queues(t, 1);
    for (i = 0; i < 5; i++) {
        for (zone = 0; zone < 3 * ZONE_BLOCKS; zone += ZONE_BLOCKS) {
            push_zone_command(t, sq, ZONE_APPEND, zone, BLOCKS - 1, 0);
            push_zone_command(t, sq, ZONE_APPEND, zone, BLOCKS - 1, 0);
            push_zone_command(t, sq, ZONE_RECEIVE, zone, 1023, 0);
        }
        cint_read(t, sq, 3);
        expect_success(t, sq->cq, 12);
        for (zone = 0; zone < 3 * ZONE_BLOCKS; zone += ZONE_BLOCKS) {
            push_zone_command(t, sq, ZONE_SEND, zone, 0, ZONE_RESET);
        }
        qnvme_ring_sq(sq);
        expect_success(t, sq->cq, 3);
    }
    g_assert_cmpuint(cint_record(t, 1).inflight, ==, 0);
    cint_check_record(t, 1);
    cint_shutdown(t);
}

/* ---- Flexible data placement ---- */

#define DIRECTIVE_PLACEMENT (2u << 20)

static void test_fdp(const void *opts)
{
    CintTest *t = boot_with_namespace(opts,
        ",fdp=on,fdp.runs=96M,fdp.nrg=1,fdp.nruh=4", "fdp.ruhs=0-3");
    QNvmeSq *sq = cint_queues(t, 1);
    uint32_t i;

    for (i = 0; i < 20; i++) {
        NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_WRITE, &t->buf, i * BLOCKS, 4096);

        cmd.cdw12 |= cpu_to_le32(DIRECTIVE_PLACEMENT);
        cmd.cdw13 = cpu_to_le32((i % 4) << 16);
        qnvme_push(sq, &cmd);
        cint_read(t, sq, i % 3);
        expect_success(t, sq->cq, 1 + i % 3);
    }
    cint_check_record(t, 1);
    cint_shutdown(t);
}

/* ---- Event notifiers for doorbells ---- */

static void test_ioeventfd(void)
{
    CintTest *t = cint_boot(REAL ",ioeventfd=on");
    QNvmeSq *sq;
    int round, i;

    qnvme_use_shadow_doorbells(t->nvme);
    sq = cint_queues(t, 1);
    for (round = 0; round < 50; round++) {
        for (i = 0; i < round % 8; i++) {
            cint_read(t, sq, 1);
            if (i % 3 == 1) {
                cint_let_run(t);
            }
        }
        cint_let_run(t);
        g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, round % 8);
    }
    cint_check_record(t, 1);
    cint_shutdown(t);
}

static void add_for_all_cases(const char *name, void (*run)(const void *opts))
{
    const CintCase *c;

    for (c = cint_cases; c->name; c++) {
        g_autofree char *path = g_strdup_printf("/nvme-cint/combine/%s/%s",
                                                c->name, name);

        qtest_add_data_func(path, c->opts, run);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_for_all_cases("64-queues", test_64_queues);
    add_for_all_cases("65-queues", test_65_queues);
    add_for_all_cases("queues-come-and-go-on-one-vector",
                      test_queues_come_and_go);
    add_for_all_cases("sq-and-data-in-controller-memory", test_cmb);
    add_for_all_cases("zoned-namespace", test_zoned);
    add_for_all_cases("flexible-data-placement", test_fdp);
#define ADD(name, run)  qtest_add_func("/nvme-cint/combine/" name, run)
    ADD("four-controllers-of-all-kinds", test_four_controllers);
    ADD("controllers-do-not-disturb-each-other",
        test_controllers_do_not_disturb);
    ADD("doorbells-by-event-notifier", test_ioeventfd);
#undef ADD
    qtest_add_data_func("/nvme-cint/combine/namespace-shared-with-stock",
                        "cint=off", test_shared_namespace);
    qtest_add_data_func("/nvme-cint/combine/namespace-shared-by-two-policies",
                        CINT_EXACT ",cint.policy=vic", test_shared_namespace);
    qtest_add_data_func("/nvme-cint/combine/namespace-shared-with-real-time",
                        REAL, test_shared_namespace);
    return g_test_run();
}
