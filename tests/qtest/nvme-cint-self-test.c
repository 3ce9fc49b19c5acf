/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A guest that aims the controller's messages and status records at the
 * controller's own registers. Whatever sets such a write off, a doorbell, a
 * deadline or the operator, it must not get there: CC would be written from
 * within the queue that a write to CC frees.
 *
 * And one that aims at the controller's configuration space, which belongs to
 * the host bridge and is not guarded: there it asks for a function level reset.
 * That comes, and whatever sent the message does not look back.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-common.h"
#include "nvme-cint-driver.h"

#define BASE        "cint=on,cint.max-hold=0,cint.drain=off"
#define STATIC      ",cint.policy=static,cint.static-time=1000000," \
                    "cint.static-thr=50"
#define KICK        ",cint.policy=default,cint.kick-window=100000"
#define REAL        ",cint.time=real"
#define VIRTUAL     ",cint.time=virtual"
#define EVENTFD     REAL ",ioeventfd=on"

#define STATIC_NS   1000000
#define WINDOW_NS   100000
#define SQ_TAIL     0x1008      /* doorbells of queue pair 1 */
#define CQ_HEAD     0x100c

/* ---- The guest's aim ---- */

/* From here on messages of vector 1 say CC.EN = 0. */
static void aim_message(CintTest *t)
{
    qnvme_vector_target(t->nvme, 1, t->nvme->bar.addr + NVME_REG_CC, 0, false);
}

static void expect_enabled(CintTest *t)
{
    cint_let_run(t);
    g_assert_cmphex(NVME_CC_EN(qnvme_reg_read(t->nvme, NVME_REG_CC)), ==, 1);
    g_assert_cmphex(NVME_CSTS_RDY(qnvme_reg_read(t->nvme, NVME_REG_CSTS)), ==,
                    1);
}

static void expect_works_after_reset(CintTest *t)
{
    QNvmeSq *sq;

    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    sq = cint_queues(t, 1);
    cint_count_messages(t, 1);
    cint_read(t, sq, 3);
    cint_let_run(t);
    cint_run(t, 1);
    qnvme_wait_cqes(sq->cq, 3);
    cint_run(t, CINT_SECOND);
    cint_let_run(t);
    g_assert_cmpuint(cint_messages(t), >=, 1);
    cint_shutdown(t);
}

static void expect_unharmed(CintTest *t)
{
    expect_enabled(t);
    expect_works_after_reset(t);
}

/* Reads and waits until all that can be posted is. */
static void read_and_post(CintTest *t, QNvmeSq *sq, uint32_t count)
{
    uint32_t visible = qnvme_visible(sq->cq);

    cint_read(t, sq, count);
    cint_let_run(t);
    cint_run(t, 1);
    qnvme_wait_cqes(sq->cq, visible + count);
}

static QNvmeSq *boot_with_cqes_held(const char *opts, CintTest **t)
{
    QNvmeSq *sq;

    *t = cint_boot(opts);
    sq = cint_queues(*t, 1);
    read_and_post(*t, sq, 3);
    g_assert_false(qnvme_irq_pending((*t)->nvme, 1));
    return sq;
}

/* ---- What sets the message off ---- */

static void by_deadline(CintTest *t)
{
    cint_run(t, 2 * STATIC_NS);
}

static void by_policy(CintTest *t)
{
    cint_set_word(t, "cint.policy", "adaptive");
}

static void by_parameter(CintTest *t)
{
    cint_set_number(t, "cint.thr", 16);
}

static void by_feature(CintTest *t)
{
    NvmeCintFeature f = cint_get_config(t, 1, 0);

    f.thr = cpu_to_le16(16);
    g_assert_cmphex(cint_set_config(t, 1, &f), ==, 0);
}

/* A stopped machine's deadlines are still due when the operator interferes. */
static void by_parameter_when_late(CintTest *t)
{
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    cint_run(t, 2 * STATIC_NS);
    cint_set_number(t, "cint.thr", 16);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
}

/* The same when the guest submits, which eventfds hand to a notifier. */
static void by_submission_when_late(CintTest *t)
{
    QNvmeSq *sq = t->nvme->sqs[1];

    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    cint_run(t, 2 * STATIC_NS);
    qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
    qnvme_reg_write(t->nvme, SQ_TAIL, sq->tail);
    cint_let_run(t);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
}

typedef struct Trigger {
    const char *name;
    const char *opts;
    void (*run)(CintTest *t);
} Trigger;

static const Trigger triggers[] = {
    { "deadline/real", BASE STATIC REAL, by_deadline },
    { "deadline/virtual", BASE STATIC VIRTUAL, by_deadline },
    { "feature/real", BASE STATIC REAL, by_feature },
    { "feature/virtual", BASE STATIC VIRTUAL, by_feature },
    { "policy/real", BASE STATIC REAL, by_policy },
    { "policy/virtual", BASE STATIC VIRTUAL, by_policy },
    { "parameter/real", BASE STATIC REAL, by_parameter },
    { "parameter/virtual", BASE STATIC VIRTUAL, by_parameter },
    { "late-parameter/real", BASE STATIC REAL, by_parameter_when_late },
    { "late-submission/real", BASE STATIC REAL, by_submission_when_late },
    { "late-submission/eventfd", BASE STATIC EVENTFD,
      by_submission_when_late },
};

static void test_message(const void *opaque)
{
    const Trigger *trigger = opaque;
    CintTest *t;

    boot_with_cqes_held(trigger->opts, &t);
    if (strstr(trigger->opts, "ioeventfd")) {
        qnvme_use_shadow_doorbells(t->nvme);
        /* The first pass repairs what the doorbells' memory does not say. */
        qtest_writel(t->qts, t->nvme->shadow + SQ_TAIL - 0x1000,
                     t->nvme->sqs[1]->tail + 1);
    }
    aim_message(t);
    trigger->run(t);
    expect_unharmed(t);
}

/*
 * The guest has rung since the last message, so what it is owed waits for its
 * next doorbell write: the head of the completion queue.
 */
static void test_head(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    qnvme_use_shadow_doorbells(t->nvme);
    read_and_post(t, sq, 1);
    cint_expect_irq_now(t, sq->cq);
    qnvme_reap(sq->cq, 1);
    qnvme_reg_write(t->nvme, CQ_HEAD, sq->cq->head);
    cint_let_run(t);
    read_and_post(t, sq, 3);
    g_assert_false(qnvme_irq_pending(t->nvme, 1));

    aim_message(t);
    qnvme_consume(sq->cq, 1);
    qtest_writel(t->qts, t->nvme->shadow + CQ_HEAD - 0x1000, sq->cq->head);
    qnvme_reg_write(t->nvme, CQ_HEAD, sq->cq->head);
    expect_unharmed(t);
}

/* ---- Records ---- */

/* No record may lie in registers, doorbells or the MSI-X table. */
static void test_records_refused(void)
{
    static const int64_t offsets[] = {
        -CINT_RECORD_SIZE, 0, 0x1000, 0x2000, 0x3fc0,
    };
    CintTest *t = cint_boot(BASE STATIC REAL);
    uint64_t bar = t->nvme->bar.addr;
    size_t i;

    cint_queues(t, 1);
    for (i = 0; i < ARRAY_SIZE(offsets); i++) {
        g_assert_cmphex(cint_set_status(t, bar + offsets[i], 2, 0), ==,
                        NVME_INVALID_FIELD | NVME_DNR);
    }
    cint_set_number(t, "cint.thr", 16);
    expect_unharmed(t);
}

/* Nor are they written to another device's registers. */
static void test_records_over_another_device(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    /* Away from the controller's own registers. */
    cint_count_messages(t, 1);
    t->counter.addr += 16 * MiB;
    qpci_config_writel(t->counter_dev, PCI_BASE_ADDRESS_0, t->counter.addr);
    cint_count_messages(t, 1);
    read_and_post(t, sq, 3);
    cint_run(t, 2 * STATIC_NS);
    cint_let_run(t);
    g_assert_cmpuint(cint_messages(t), ==, 1);
    /* Record 1 covers a register that sets the count to 0 when written to. */
    g_assert_cmphex(cint_set_status(t, t->counter.addr - CINT_RECORD_SIZE, 2,
                                    0), ==, 0);
    g_assert_cmphex(qnvme_reg_read(t->nvme, NVME_REG_CSTS) & NVME_CSTS_FAILED,
                    ==, NVME_CSTS_FAILED);
    g_assert_cmpuint(cint_messages(t), ==, 1);
    expect_works_after_reset(t);
}

static void move_bar(CintTest *t, uint64_t to)
{
    qpci_config_writel(t->pdev, PCI_BASE_ADDRESS_0, to);
    t->nvme->bar.addr = to;
    t->pdev->msix_table_bar.addr = to;
    t->pdev->msix_pba_bar.addr = to;
}

/*
 * The registers were somewhere else when the controller looked at where the
 * records are to be. A record that cannot be written is fatal (CSTS.CFS), and
 * no more than that.
 */
static void test_registers_moved_under_records(const void *opts)
{
    CintTest *t = cint_boot(opts);
    uint64_t to = t->nvme->bar.addr + 16 * MiB;
    QNvmeSq *sq;

    g_assert_cmphex(cint_set_status(t, to - CINT_RECORD_SIZE, 2, 0), ==, 0);
    move_bar(t, to);
    sq = cint_queues(t, 1);
    read_and_post(t, sq, 3);
    cint_set_number(t, "cint.thr", 16);
    cint_let_run(t);
    g_assert_cmphex(NVME_CC_EN(qnvme_reg_read(t->nvme, NVME_REG_CC)), ==, 1);
    g_assert_cmphex(qnvme_reg_read(t->nvme, NVME_REG_CSTS), ==,
                    NVME_CSTS_FAILED);
    expect_works_after_reset(t);
}

/* ---- A message that resets ---- */

#define ECAM            0xb0000000u     /* of the q35 machine, once enabled */
#define PCIEXBAR        0x60

static CintTest *boot_q35(const char *args, const char *opts)
{
    g_autofree char *q35 = g_strdup_printf("-machine q35 %s", args);
    CintTest *t = cint_boot_custom(NULL, q35, opts);
    QPCIDevice *mch = qpci_device_find(t->bus, QPCI_DEVFN(0, 0));

    qpci_config_writel(mch, PCIEXBAR + 4, 0);
    qpci_config_writel(mch, PCIEXBAR, ECAM | 1);
    g_free(mch);
    return t;
}

static QNvmeSq *boot_with_ecam(const char *opts, CintTest **t)
{
    *t = boot_q35(CINT_NULL_DISK, opts);
    return cint_queues(*t, 1);
}

/* From here on messages of @sender's vector 1 ask for a reset of @t. */
static void aim_reset(CintTest *sender, CintTest *t)
{
    uint8_t control = qpci_find_capability(t->pdev, PCI_CAP_ID_EXP, 0) +
                      PCI_EXP_DEVCTL;

    qnvme_vector_target(sender->nvme, 1,
                        ECAM + (t->pdev->devfn << 12) + control,
                        PCI_EXP_DEVCTL_BCR_FLR, false);
}

typedef struct Vector {
    uint32_t addr, data;
} Vector;

static uint32_t vector_field(CintTest *t, uint32_t field)
{
    return qpci_io_readl(t->pdev, t->pdev->msix_table_bar,
                         t->pdev->msix_table_off + field);
}

static Vector admin_vector(CintTest *t)
{
    return (Vector) {
        .addr = vector_field(t, PCI_MSIX_ENTRY_LOWER_ADDR),
        .data = vector_field(t, PCI_MSIX_ENTRY_DATA),
    };
}

/* The reset takes configuration space and vectors with it. */
static void expect_was_reset(CintTest *t, Vector admin)
{
    uint8_t msix = qpci_find_capability(t->pdev, PCI_CAP_ID_MSIX, 0);

    cint_let_run(t);
    g_assert_cmphex(qpci_config_readw(t->pdev, PCI_COMMAND) &
                    PCI_COMMAND_MASTER, ==, 0);
    qpci_config_writel(t->pdev, PCI_BASE_ADDRESS_0, t->nvme->bar.addr);
    qpci_config_writel(t->pdev, PCI_BASE_ADDRESS_1, t->nvme->bar.addr >> 32);
    qpci_config_writew(t->pdev, PCI_COMMAND,
                       PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    qpci_config_writew(t->pdev, msix + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE);
    qnvme_vector_target(t->nvme, 0, admin.addr, admin.data, true);
    g_assert_cmphex(NVME_CC_EN(qnvme_reg_read(t->nvme, NVME_REG_CC)), ==, 0);
    expect_works_after_reset(t);
}

static void expect_reset(CintTest *t, void (*run)(CintTest *t))
{
    Vector admin = admin_vector(t);

    aim_reset(t, t);
    run(t);
    expect_was_reset(t, admin);
}

/* Set Features, of which no completion comes any more. */
static void by_feature_unanswered(CintTest *t)
{
    NvmeCintFeature f = cint_get_config(t, 1, 0);
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_SET_FEATURES,
        .dptr.prp1 = cpu_to_le64(t->buf.addr),
        .cdw10 = cpu_to_le32(NVME_CINT_FID_CONFIG),
        .cdw11 = cpu_to_le32(1),
    };

    f.thr = cpu_to_le16(16);
    qtest_memwrite(t->qts, t->buf.addr, &f, sizeof(f));
    qnvme_push(&t->nvme->admin_sq, &cmd);
    qnvme_ring_sq(&t->nvme->admin_sq);
    cint_let_run(t);
    cint_run(t, 1);
}

static const Trigger resets[] = {
    { "deadline/real", BASE STATIC REAL, by_deadline },
    { "deadline/virtual", BASE STATIC VIRTUAL, by_deadline },
    { "feature/real", BASE STATIC REAL, by_feature_unanswered },
    { "feature/virtual", BASE STATIC VIRTUAL, by_feature_unanswered },
    { "parameter/real", BASE STATIC REAL, by_parameter },
    { "parameter/virtual", BASE STATIC VIRTUAL, by_parameter },
};

static void test_reset(const void *opaque)
{
    const Trigger *trigger = opaque;
    CintTest *t;
    QNvmeSq *sq = boot_with_ecam(trigger->opts, &t);

    read_and_post(t, sq, 3);
    expect_reset(t, trigger->run);
}

/* Three messages are due at the end of one pass; the first is the last. */
static void by_pass(CintTest *t)
{
    cint_read(t, t->nvme->sqs[1], 3);
    cint_let_run(t);
    cint_run(t, 1);
}

static void test_reset_in_a_pass(const void *opts)
{
    CintTest *t;

    boot_with_ecam(opts, &t);
    expect_reset(t, by_pass);
}

/* ---- A message of another device ---- */

#define SLOW_DISKS \
    "-blockdev driver=null-co,node-name=d0,size=1073741824,read-zeroes=on," \
    "latency-ns=400000000 " \
    "-blockdev driver=null-co,node-name=d1,size=1073741824,read-zeroes=on," \
    "latency-ns=100000000 " \
    "-device nvme,serial=other,drive=d1,addr=6"

/*
 * In virtual time a controller whose data is late waits for it, and lets the
 * main loop serve others meanwhile. One of those has this controller reset.
 */
static void test_reset_while_waiting(void)
{
    CintTest *t = boot_q35(SLOW_DISKS, BASE STATIC VIRTUAL);
    CintTest *other = cint_other(t, 6);
    QNvmeSq *sq = cint_queues(t, 1), *sq_other = cint_queues(other, 1);
    Vector admin = admin_vector(t);

    aim_reset(other, t);
    cint_read(other, sq_other, 1);
    cint_read(t, sq, 3);
    cint_run(t, 1);
    qnvme_wait_cqes(sq_other->cq, 1);
    cint_other_free(other);
    expect_was_reset(t, admin);
}

/*
 * Deleting a queue waits for what it has in flight, in the main loop, where
 * another device's message resets the controller.
 */
static void test_reset_while_deleting(const void *opts)
{
    CintTest *t = boot_q35(SLOW_DISKS, opts);
    CintTest *other = cint_other(t, 6);
    QNvmeSq *sq = cint_queues(t, 1), *sq_other = cint_queues(other, 1);
    Vector admin = admin_vector(t);

    aim_reset(other, t);
    cint_read(t, sq, 3);
    cint_read(other, sq_other, 1);
    cint_let_run(t);
    cint_push_admin(t, NVME_ADM_CMD_DELETE_SQ, t->buf.addr, 1, 0);
    qnvme_ring_sq(&t->nvme->admin_sq);
    qnvme_wait_cqes(sq_other->cq, 1);
    cint_other_free(other);
    expect_was_reset(t, admin);
}

/* ---- A command within another ---- */

/* All but two of the admin queue's requests wait for events. */
static void use_up_admin_requests(CintTest *t)
{
    int i;

    for (i = 0; i < QNVME_ADMIN_ENTRIES - 2; i++) {
        cint_push_admin(t, NVME_ADM_CMD_ASYNC_EV_REQ, t->buf.addr, 0, 0);
        if (i % 8 == 7) {
            g_assert_cmphex(qnvme_identify(t->nvme, NVME_ID_CNS_CTRL, 0,
                                           &t->buf), ==, 0);
        }
    }
    g_assert_cmphex(qnvme_identify(t->nvme, NVME_ID_CNS_CTRL, 0, &t->buf), ==,
                    0);
}

/*
 * Deleting a queue waits for what it has in flight, in the main loop. There
 * the CQE of the command before is posted, whose request is the one that the
 * command behind has waited for: which deletes the same queue.
 */
static void test_delete_within_delete(void)
{
    static const uint16_t expected[] = {
        NVME_SUCCESS, NVME_SUCCESS, NVME_INVALID_QID | NVME_DNR,
    };
    CintTest *t = cint_boot_custom(NULL, SLOW_DISKS, BASE REAL ",aerl=40");
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCqe cqe;
    size_t i;

    use_up_admin_requests(t);
    cint_read(t, sq, 1);
    cint_let_run(t);
    cint_push_admin(t, NVME_ADM_CMD_IDENTIFY, t->buf.addr, NVME_ID_CNS_CTRL, 0);
    cint_push_admin(t, NVME_ADM_CMD_DELETE_SQ, t->buf.addr, 1, 0);
    cint_push_admin(t, NVME_ADM_CMD_DELETE_SQ, t->buf.addr, 1, 0);
    qnvme_ring_sq(&t->nvme->admin_sq);
    qnvme_wait_cqes(&t->nvme->admin_cq, ARRAY_SIZE(expected));
    for (i = 0; i < ARRAY_SIZE(expected); i++) {
        g_assert_true(qnvme_peek(&t->nvme->admin_cq, i, &cqe));
        g_assert_cmphex(qnvme_status(&cqe), ==, expected[i]);
    }
    qnvme_reap(&t->nvme->admin_cq, ARRAY_SIZE(expected));
    expect_enabled(t);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    sq = cint_queues(t, 1);
    read_and_post(t, sq, 1);
    cint_shutdown(t);
}

#define OVERWRITTEN     0x5eed0bad
#define LATENCY_US      200000

/*
 * Two reads, the one of queue 2 half the disk's latency behind that of queue
 * 1, and Delete SQ for queue 2, which waits for its read. The CQE of the other
 * read is posted meanwhile, by an entry within that of Delete SQ. Its message
 * is written over the CQE of the read that Delete SQ aborts.
 *
 * Returns: whether that had been posted by then
 */
static bool is_told_behind(const char *opts, uint32_t latency_us)
{
    g_autofree char *disk = g_strdup_printf(CINT_NULL_DISK ",latency-ns=%u",
                                            latency_us * 1000);
    CintTest *t = cint_boot_custom(NULL, disk, opts);
    QNvmeSq *sq = cint_queues(t, 1), *deleted = cint_queues(t, 2);
    QNvmeCq *cq = deleted->cq;
    uint32_t found;

    qnvme_vector_target(t->nvme, 1, cq->addr, OVERWRITTEN, false);
    cint_read(t, sq, 1);
    cint_let_run(t);
    g_usleep(latency_us / 2);
    cint_read(t, deleted, 1);
    cint_let_run(t);
    qnvme_delete_sq(deleted);
    qnvme_wait_cqes(sq->cq, 1);
    qnvme_wait_cqes(cq, 1);
    found = qtest_readl(t->qts, cq->addr);
    g_assert_true(!found || found == OVERWRITTEN);
    cint_shutdown(t);
    return found;
}

/*
 * What an inner entry decides on, the outermost one sends: whoever is called
 * back finds what that has done. On a host so busy that the first read ends
 * before Delete SQ begins a slower drive is needed.
 */
static void test_told_behind(const void *opts)
{
    uint32_t latency_us = LATENCY_US;

    while (!is_told_behind(opts, latency_us)) {
        latency_us *= 2;
        g_assert_cmpuint(latency_us, <=, LATENCY_US * 16);
    }
}

int main(int argc, char **argv)
{
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(triggers); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/self/message/by-%s", triggers[i].name);

        qtest_add_data_func(path, &triggers[i], test_message);
    }
    qtest_add_data_func("/nvme-cint/self/message/by-head/real",
                        BASE KICK REAL, test_head);
    qtest_add_data_func("/nvme-cint/self/message/by-head/eventfd",
                        BASE KICK EVENTFD, test_head);
    qtest_add_func("/nvme-cint/self/records/refused", test_records_refused);
    qtest_add_data_func("/nvme-cint/self/records/another-device",
                        BASE STATIC REAL, test_records_over_another_device);
    qtest_add_data_func("/nvme-cint/self/records/registers-moved/real",
                        BASE STATIC REAL, test_registers_moved_under_records);
    qtest_add_data_func("/nvme-cint/self/records/registers-moved/virtual",
                        BASE STATIC VIRTUAL,
                        test_registers_moved_under_records);
    for (i = 0; i < ARRAY_SIZE(resets); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/self/reset/by-%s", resets[i].name);

        qtest_add_data_func(path, &resets[i], test_reset);
    }
    qtest_add_data_func("/nvme-cint/self/reset/in-a-pass/real",
                        BASE ",cint.policy=default" REAL,
                        test_reset_in_a_pass);
    qtest_add_data_func("/nvme-cint/self/reset/in-a-pass/virtual",
                        BASE ",cint.policy=default" VIRTUAL,
                        test_reset_in_a_pass);
    qtest_add_func("/nvme-cint/self/reset/by-another-device",
                   test_reset_while_waiting);
    qtest_add_data_func("/nvme-cint/self/reset/while-deleting/off", "",
                        test_reset_while_deleting);
    qtest_add_data_func("/nvme-cint/self/reset/while-deleting/real",
                        BASE STATIC REAL, test_reset_while_deleting);
    qtest_add_func("/nvme-cint/self/delete-within-delete",
                   test_delete_within_delete);
    qtest_add_data_func("/nvme-cint/self/told-behind-who-is-inside",
                        BASE ",cint.policy=default" REAL, test_told_behind);
    return g_test_run();
}
