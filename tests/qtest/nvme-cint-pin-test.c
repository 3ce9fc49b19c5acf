/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pin interrupts with more than one queue, and the way from messages to the
 * pin: what a queue holds back is no reason for the pin to be asserted, and a
 * vector that the pin does not have is none.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-common.h"

#define HOLD_NS     CINT_SECOND
#define HOLDS \
    "cint=on,cint.drain=off,cint.max-hold=0,cint.policy=static," \
    "cint.static-time=1000000000,cint.static-thr=50"
#define REAL        ",cint.time=real"
#define VIRTUAL     ",cint.time=virtual"

static bool pin(CintTest *t)
{
    cint_let_run(t);
    return qpci_config_readw(t->pdev, PCI_STATUS) & PCI_STATUS_INTERRUPT;
}

static void set_msix(CintTest *t, bool on)
{
    uint8_t cap = qpci_find_capability(t->pdev, PCI_CAP_ID_MSIX, 0);
    uint16_t control = qpci_config_readw(t->pdev, cap + PCI_MSIX_FLAGS);

    control &= ~PCI_MSIX_FLAGS_ENABLE;
    qpci_config_writew(t->pdev, cap + PCI_MSIX_FLAGS,
                       control | (on ? PCI_MSIX_FLAGS_ENABLE : 0));
    t->pdev->msix_enabled = on;
}

static QNvmeSq *queues_on(CintTest *t, uint16_t id, uint16_t vector)
{
    QNvmeCq *cq = qnvme_create_cq(t->nvme, id, CINT_ENTRIES, vector);

    return qnvme_create_sq(t->nvme, id, CINT_ENTRIES, cq);
}

static void read_and_post(CintTest *t, QNvmeSq *sq, uint32_t count)
{
    cint_read(t, sq, count);
    cint_let_run(t);
    cint_run(t, 1);
    qnvme_wait_cqes(sq->cq, count);
}

static void any_admin_command(CintTest *t)
{
    g_assert_cmphex(qnvme_identify(t->nvme, NVME_ID_CNS_CTRL, 0, &t->buf), ==,
                    0);
}

/* ---- Several queues on the pin ---- */

/* An admin command that comes and goes leaves the pin as it was. */
static void test_held_and_admin(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sqs[2];
    int i;

    set_msix(t, false);
    for (i = 0; i < 2; i++) {
        sqs[i] = queues_on(t, i + 1, 0);
    }
    cint_zero(t);
    for (i = 0; i < 2; i++) {
        read_and_post(t, sqs[i], 1);
    }
    g_assert_false(pin(t));
    any_admin_command(t);
    g_assert_false(pin(t));

    cint_run_to(t, HOLD_NS + 100);
    g_assert_true(pin(t));
    any_admin_command(t);
    g_assert_true(pin(t));
    qnvme_reap(sqs[0]->cq, 1);
    g_assert_true(pin(t));
    qnvme_reap(sqs[1]->cq, 1);
    g_assert_false(pin(t));
    cint_shutdown(t);
}

/* One queue's interrupt is over when that queue is reaped. */
static void test_held_and_due(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *held, *due;

    set_msix(t, false);
    due = queues_on(t, 1, 0);
    held = queues_on(t, 2, 0);
    cint_zero(t);
    read_and_post(t, due, 1);
    cint_run_to(t, HOLD_NS / 2);
    read_and_post(t, held, 1);
    g_assert_false(pin(t));
    cint_run_to(t, HOLD_NS + 100);
    g_assert_true(pin(t));
    qnvme_reap(due->cq, 1);
    g_assert_false(pin(t));
    cint_run_to(t, 2 * HOLD_NS);
    g_assert_true(pin(t));
    qnvme_reap(held->cq, 1);
    g_assert_false(pin(t));
    cint_shutdown(t);
}

/* What is told of ends with its CQEs, also with others held behind them. */
static void test_held_behind_told(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq;

    set_msix(t, false);
    sq = queues_on(t, 1, 0);
    cint_zero(t);
    read_and_post(t, sq, 2);
    cint_run_to(t, HOLD_NS + 100);
    g_assert_true(pin(t));
    cint_read(t, sq, 1);
    cint_let_run(t);
    cint_run(t, 1);
    qnvme_wait_cqes(sq->cq, 3);
    qnvme_reap(sq->cq, 1);
    g_assert_true(pin(t));
    qnvme_reap(sq->cq, 1);
    g_assert_false(pin(t));
    cint_run_to(t, 2 * HOLD_NS + 300);
    g_assert_true(pin(t));
    qnvme_reap(sq->cq, 1);
    g_assert_false(pin(t));
    cint_shutdown(t);
}

/*
 * A guest that polls is faster than a deadline that is late: both come to the
 * controller with its doorbell write. There is nothing to assert the pin for.
 */
static void test_late_and_reaped(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq;

    set_msix(t, false);
    sq = queues_on(t, 1, 0);
    read_and_post(t, sq, 1);
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    cint_run(t, 2 * HOLD_NS);
    g_assert_false(pin(t));
    qnvme_reap(sq->cq, 1);
    g_assert_false(pin(t));
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    g_assert_false(pin(t));
    read_and_post(t, sq, 1);
    cint_run(t, 2 * HOLD_NS);
    g_assert_true(pin(t));
    cint_shutdown(t);
}

/* A queue that is deleted while it holds something owes nothing. */
static void test_held_and_deleted(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq;
    QNvmeCq *cq;

    set_msix(t, false);
    sq = queues_on(t, 1, 0);
    cq = sq->cq;
    cint_zero(t);
    read_and_post(t, sq, 3);
    /* Deleting the SQ sends what its CQ holds. */
    qnvme_delete_sq(sq);
    cint_run_to(t, HOLD_NS + 100);
    g_assert_true(pin(t));
    qnvme_delete_cq(cq);
    any_admin_command(t);
    g_assert_false(pin(t));
    cint_run_to(t, 3 * HOLD_NS);
    g_assert_false(pin(t));
    cint_shutdown(t);
}

/* ---- Resets ---- */

/* Nobody can consume what a reset has taken away: the pin is released. */
static void reset_when_asserted(const char *opts, bool admin)
{
    CintTest *t = cint_boot(opts);
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_GET_FEATURES,
        .cdw10 = cpu_to_le32(NVME_NUMBER_OF_QUEUES),
    };
    QNvmeSq *sq;

    set_msix(t, false);
    if (admin) {
        qnvme_push(&t->nvme->admin_sq, &cmd);
        qnvme_ring_sq(&t->nvme->admin_sq);
        cint_let_run(t);
        cint_run(t, 1);
    } else {
        sq = queues_on(t, 1, 0);
        read_and_post(t, sq, 3);
        cint_run(t, 2 * HOLD_NS);
    }
    g_assert_true(pin(t));
    qnvme_reset(t->nvme);
    g_assert_false(pin(t));

    qnvme_enable(t->nvme);
    sq = queues_on(t, 1, 0);
    read_and_post(t, sq, 1);
    cint_run(t, 2 * HOLD_NS);
    g_assert_true(pin(t));
    qnvme_reap(sq->cq, 1);
    g_assert_false(pin(t));
    cint_shutdown(t);
}

static void test_reset(const void *opts)
{
    reset_when_asserted(opts, false);
}

static void test_reset_admin(const void *opts)
{
    reset_when_asserted(opts, true);
}

/* ---- Vectors that the pin does not have ---- */

/* The pin's mask registers have 32 bits; the MSI-X table has more entries. */
static void high_vector(const char *opts, bool held)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = queues_on(t, 1, 40);

    if (held) {
        read_and_post(t, sq, 3);
    }
    set_msix(t, false);
    if (!held) {
        read_and_post(t, sq, 3);
    }
    cint_run(t, 3 * HOLD_NS);
    any_admin_command(t);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 3);
    qnvme_reap(sq->cq, 3);
    g_assert_false(pin(t));

    set_msix(t, true);
    qnvme_take_irq(t->nvme, 40);
    read_and_post(t, sq, 3);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 3);
    cint_shutdown(t);
}

static void test_high_vector(const void *opts)
{
    high_vector(opts, false);
}

static void test_high_vector_held(const void *opts)
{
    high_vector(opts, true);
}

static const struct {
    const char *name;
    const char *opts;
} times[] = {
    { "virtual", HOLDS VIRTUAL },
    { "real", HOLDS REAL },
};

/* An admin command whose interrupt is left alone. */
static void admin_pending(CintTest *t)
{
    QNvmeCq *cq = &t->nvme->admin_cq;

    cint_push_admin(t, NVME_ADM_CMD_IDENTIFY, t->buf.addr, NVME_ID_CNS_CTRL, 0);
    qnvme_ring_sq(&t->nvme->admin_sq);
    cint_let_run(t);
    cint_run(t, 1);
    qnvme_wait_cqes(cq, 1);
    cint_let_run(t);
    g_assert_true(qnvme_irq_pending(t->nvme, 0));
    qnvme_reap(cq, 1);
}

/*
 * A queue that goes does not take along the messages of the admin queue, whose
 * vector it had, also where MSI-X came after the admin queue.
 */
static void test_shared_vector(const void *opts)
{
    CintTest *t = cint_boot(opts);
    int i;

    set_msix(t, false);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    set_msix(t, true);
    for (i = 0; i < 2; i++) {
        QNvmeSq *sq = queues_on(t, 1, 0);
        QNvmeCq *cq = sq->cq;

        read_and_post(t, sq, 1);
        qnvme_reap(cq, 1);
        admin_pending(t);
        g_assert_true(qnvme_take_irq(t->nvme, 0));
        qnvme_delete_sq(sq);
        qnvme_delete_cq(cq);
        admin_pending(t);
        g_assert_true(qnvme_take_irq(t->nvme, 0));
    }
    cint_shutdown(t);
}

static const struct {
    const char *name;
    void (*run)(const void *opts);
} tests[] = {
    { "cqes-held-and-an-admin-command", test_held_and_admin },
    { "cqes-held-and-another-queue-due", test_held_and_due },
    { "cqes-held-behind-others", test_held_behind_told },
    { "late-and-reaped", test_late_and_reaped },
    { "cqes-held-and-the-queue-deleted", test_held_and_deleted },
    { "reset", test_reset },
    { "reset-with-admin-cqe", test_reset_admin },
    { "shared-vector", test_shared_vector },
    { "high-vector", test_high_vector },
    { "high-vector-with-cqes-held", test_high_vector_held },
};

int main(int argc, char **argv)
{
    size_t i, k;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(tests); i++) {
        for (k = 0; k < ARRAY_SIZE(times); k++) {
            g_autofree char *path = g_strdup_printf(
                "/nvme-cint/pin/%s/%s", tests[i].name, times[k].name);

            qtest_add_data_func(path, times[k].opts, tests[i].run);
        }
    }
    qtest_add_data_func("/nvme-cint/pin/high-vector/cint-off", "",
                        test_high_vector);
    qtest_add_data_func("/nvme-cint/pin/shared-vector/cint-off", "",
                        test_shared_vector);
    return g_test_run();
}
