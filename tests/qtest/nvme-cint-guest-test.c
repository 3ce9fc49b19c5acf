/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Guests that do unusual things while completions are held back: mask and
 * unmask vectors, switch between MSI-X and pins, write nonsense to registers;
 * and a machine that is stopped. Under every policy, in virtual and in real
 * time, nothing may be lost or stranded; see nvme-cint-hazard-test.c.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-common.h"

/* Time after which the reads of a doorbell are posted and held. */
#define POSTED      1000
/* Time at which they are still with the medium. */
#define IN_MEDIA    100
#define DOORBELLS   0x1000
/* Where nonsense is written to: before the MSI-X table. */
#define END         0x1ff8

static void read_and_run(CintTest *t, QNvmeSq *sq, uint32_t count, int64_t ns)
{
    cint_read(t, sq, count);
    cint_let_run(t);
    cint_run(t, ns);
    cint_let_run(t);
}

static void expect_queue_works(CintTest *t, QNvmeSq *sq)
{
    cint_read(t, sq, 3);
    cint_let_run(t);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 3);
    cint_shutdown(t);
}

/* ---- Masks ---- */

static void set_mask(CintTest *t, uint16_t vector, bool masked)
{
    uint64_t entry = t->pdev->msix_table_off + vector * PCI_MSIX_ENTRY_SIZE;

    qpci_io_writel(t->pdev, t->pdev->msix_table_bar,
                   entry + PCI_MSIX_ENTRY_VECTOR_CTRL,
                   masked ? PCI_MSIX_ENTRY_CTRL_MASKBIT : 0);
}

/*
 * A guest that looks when its message counter has moved, for 20 s. Returns
 * the CQEs reaped.
 */
static uint32_t counting_guest(CintTest *t, QNvmeCq *cq, uint32_t *seen)
{
    int64_t end = cint_now(t) + 20 * CINT_SECOND;
    int64_t step = 500;
    uint32_t reaped = 0;

    while (cint_now(t) < end) {
        uint32_t messages = cint_messages(t);
        uint32_t visible = qnvme_visible(cq);

        if (messages != *seen) {
            *seen = messages;
            qnvme_reap(cq, visible);
            reaped += visible;
        }
        cint_let_run(t);
        cint_run(t, step);
        step += step / 4;
    }
    g_assert_cmpuint(qnvme_visible(cq), ==, 0);
    return reaped;
}

/* What came due while the vector was masked is delivered by the unmasking. */
static void test_unmask_with_interrupt_pending(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    uint32_t seen = 0;

    cint_count_messages(t, 1);
    set_mask(t, 1, true);
    read_and_run(t, sq, 3, POSTED);
    cint_run(t, CINT_SECOND);
    g_assert_cmpuint(cint_messages(t), ==, 0);
    g_assert_true(qnvme_irq_pending(t->nvme, 1));
    set_mask(t, 1, false);
    g_assert_cmpuint(cint_messages(t), ==, 1);
    g_assert_false(qnvme_irq_pending(t->nvme, 1));
    g_assert_cmpuint(counting_guest(t, sq->cq, &seen), ==, 3);
    g_assert_cmpuint(cint_record(t, 1).irqs_masked, >, 0);
    cint_shutdown(t);
}

/* Masked and unmasked while CQEs are held: the deadline is still kept. */
static void test_mask_with_cqes_pending(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    uint32_t seen = 0;
    int round;

    cint_count_messages(t, 1);
    for (round = 0; round < 10; round++) {
        read_and_run(t, sq, 3, round % 2 ? POSTED : IN_MEDIA);
        set_mask(t, 1, true);
        cint_run(t, round * 20000);
        set_mask(t, 1, false);
        g_assert_cmpuint(counting_guest(t, sq->cq, &seen), ==, 3);
    }
    cint_check_record(t, 1);
    cint_shutdown(t);
}

static void test_function_mask(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    uint8_t cap = qpci_find_capability(t->pdev, PCI_CAP_ID_MSIX, 0);
    uint16_t control = qpci_config_readw(t->pdev, cap + PCI_MSIX_FLAGS);
    uint32_t seen = 0;

    cint_count_messages(t, 1);
    qpci_config_writew(t->pdev, cap + PCI_MSIX_FLAGS,
                       control | PCI_MSIX_FLAGS_MASKALL);
    read_and_run(t, sq, 3, POSTED);
    cint_run(t, CINT_SECOND);
    g_assert_cmpuint(cint_messages(t), ==, 0);
    qpci_config_writew(t->pdev, cap + PCI_MSIX_FLAGS, control);
    g_assert_cmpuint(counting_guest(t, sq->cq, &seen), ==, 3);
    cint_shutdown(t);
}

/* ---- Pins ---- */

static bool pin(CintTest *t)
{
    return qpci_config_readw(t->pdev, PCI_STATUS) & PCI_STATUS_INTERRUPT;
}

/* A guest that looks while its pin is asserted, for 20 s. */
static uint32_t pin_guest(CintTest *t, QNvmeCq *cq)
{
    int64_t end = cint_now(t) + 20 * CINT_SECOND;
    int64_t step = 500;
    uint32_t reaped = 0;

    while (cint_now(t) < end) {
        if (pin(t)) {
            uint32_t visible = qnvme_visible(cq);

            qnvme_reap(cq, visible);
            reaped += visible;
        }
        cint_let_run(t);
        cint_run(t, step);
        step += step / 4;
    }
    g_assert_cmpuint(qnvme_visible(cq), ==, 0);
    g_assert_false(pin(t));
    return reaped;
}

static CintTest *boot_with_pin(const char *opts, QNvmeSq **sq)
{
    CintTest *t = cint_boot(opts);

    qpci_msix_disable(t->pdev);
    qpci_device_enable(t->pdev);
    *sq = qnvme_create_sq(t->nvme, 1, 64,
                          qnvme_create_cq(t->nvme, 1, 64, 0));
    return t;
}

static void test_pin(const void *opts)
{
    QNvmeSq *sq;
    CintTest *t = boot_with_pin(opts, &sq);
    int i;

    for (i = 0; i < 10; i++) {
        read_and_run(t, sq, 1 + i, i % 2 ? POSTED : IN_MEDIA);
        g_assert_cmpuint(pin_guest(t, sq->cq), ==, 1 + i);
    }
    cint_shutdown(t);
}

/* Registers INTMS and INTMC mask the pin, not the controller's memory. */
static void test_pin_masked(const void *opts)
{
    QNvmeSq *sq;
    CintTest *t = boot_with_pin(opts, &sq);

    qnvme_reg_write(t->nvme, NVME_REG_INTMS, 1);
    read_and_run(t, sq, 3, POSTED);
    cint_run(t, CINT_SECOND);
    g_assert_false(pin(t));
    qnvme_reg_write(t->nvme, NVME_REG_INTMC, 1);
    g_assert_cmpuint(pin_guest(t, sq->cq), ==, 3);
    cint_shutdown(t);
}

static void test_from_msix_to_pin(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    read_and_run(t, sq, 3, IN_MEDIA);
    qpci_msix_disable(t->pdev);
    qpci_device_enable(t->pdev);
    g_assert_cmpuint(pin_guest(t, sq->cq), ==, 3);
    cint_shutdown(t);
}

/* Pins are levels: asserted by cint, released by the head. */
static void test_pin_is_a_level(void)
{
    QNvmeSq *sq;
    CintTest *t = boot_with_pin(CINT_PURE ",cint.policy=adaptive,"
                                "cint.delta=6000", &sq);

    cint_read(t, sq, 3);
    cint_run_to(t, CINT_LATENCY + 5999);
    g_assert_false(pin(t));
    cint_run_to(t, CINT_LATENCY + 6000);
    g_assert_true(pin(t));
    qnvme_reap(sq->cq, 2);
    g_assert_true(pin(t));
    qnvme_reap(sq->cq, 1);
    g_assert_false(pin(t));
    cint_shutdown(t);
}

/* ---- A machine that stops ---- */

/* No time passes for the guest while the machine is stopped. */
static void test_stop_with_deadline(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    read_and_run(t, sq, 3, POSTED);
    qnvme_take_irq(t->nvme, 1);
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    cint_run(t, CINT_SECOND);
    cint_let_run(t);
    g_assert_false(qnvme_irq_pending(t->nvme, 1));
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    cint_let_run(t);
    qnvme_reap(sq->cq, qnvme_visible(sq->cq));
    expect_queue_works(t, sq);
}

static void test_stopped_often(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < 20; i++) {
        cint_read(t, sq, 2);
        cint_run(t, i * 60);
        qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
        qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    }
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 40);
    expect_queue_works(t, sq);
}

/* ---- Nonsense in registers ---- */

static void write_sized(CintTest *t, uint64_t offset, uint64_t value,
                        int bytes)
{
    QPCIBar bar = t->nvme->bar;

    switch (bytes) {
    case 1:
        qpci_io_writeb(t->pdev, bar, offset, value);
        break;
    case 2:
        qpci_io_writew(t->pdev, bar, offset, value);
        break;
    case 4:
        qpci_io_writel(t->pdev, bar, offset, value);
        break;
    case 8:
        qpci_io_writeq(t->pdev, bar, offset, value);
        break;
    }
}

static void read_sized(CintTest *t, uint64_t offset, int bytes)
{
    QPCIBar bar = t->nvme->bar;

    switch (bytes) {
    case 1:
        qpci_io_readb(t->pdev, bar, offset);
        break;
    case 2:
        qpci_io_readw(t->pdev, bar, offset);
        break;
    case 4:
        qpci_io_readl(t->pdev, bar, offset);
        break;
    case 8:
        qpci_io_readq(t->pdev, bar, offset);
        break;
    }
}

/* Doorbells of queues that do not exist, of every size, also misaligned. */
static void test_unknown_doorbells(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    uint64_t offset;
    int bytes;

    g_assert_cmpuint(END + 8, <=, t->pdev->msix_table_off);
    read_and_run(t, sq, 3, POSTED);
    for (offset = DOORBELLS + 16; offset < END; ) {
        for (bytes = 1; bytes <= 8; bytes *= 2) {
            write_sized(t, offset, g_test_rand_int(), bytes);
            read_sized(t, offset, bytes);
        }
        offset += g_test_rand_int_range(1, 24);
    }
    /* The upper half of an existing queue's is no doorbell either. */
    for (bytes = 1; bytes <= 2; bytes++) {
        write_sized(t, DOORBELLS + 10, 7, bytes);
        write_sized(t, DOORBELLS + 14, 2, bytes);
    }
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 3);
    cint_check_record(t, 1);
    expect_queue_works(t, sq);
}

/* 16-bit and 64-bit writes of valid values are doorbells too. */
static void test_doorbells_of_other_sizes(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    uint32_t visible;
    int i;

    for (i = 0; i < 8; i++) {
        qnvme_push_read(sq, &t->buf, 0, 4096);
        write_sized(t, DOORBELLS + 8, sq->tail, i % 2 ? 8 : 2);
        cint_let_run(t);
        cint_run(t, POSTED);
        cint_let_run(t);
        visible = qnvme_visible(sq->cq);
        g_assert_cmpuint(visible, ==, 1);
        qnvme_consume(sq->cq, visible);
        write_sized(t, DOORBELLS + 12, sq->cq->head, i % 2 ? 2 : 8);
    }
    sq->doorbell = sq->tail;
    sq->cq->doorbell = sq->cq->head;
    qnvme_take_irq(t->nvme, 1);
    expect_queue_works(t, sq);
}

/* Anything anywhere: a reset brings the controller back. */
static void test_random_writes(const void *opts)
{
    CintTest *t = cint_boot(opts);
    int i;

    read_and_run(t, cint_queues(t, 1), 3, POSTED);
    for (i = 0; i < 2000; i++) {
        uint64_t offset = g_test_rand_int_range(0, END);

        /* Not the address of queues: they would overwrite this test's. */
        if (offset >= NVME_REG_AQA - 8 && offset < NVME_REG_ACQ + 8) {
            continue;
        }
        write_sized(t, offset, (uint64_t)g_test_rand_int() << 32 |
                               g_test_rand_int(), 1 << i % 4);
        read_sized(t, g_test_rand_int_range(0, END), 1 << i % 4);
        cint_run(t, g_test_rand_int_range(0, 100));
    }
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    qnvme_take_irq(t->nvme, 1);
    expect_queue_works(t, cint_queues(t, 1));
}

/* Doorbells of its own queues with values of all kinds; then a reset. */
static void test_random_doorbells(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < 40; i++) {
        qnvme_push_read(sq, &t->buf, 0, 4096);
    }
    for (i = 0; i < 500; i++) {
        write_sized(t, DOORBELLS + 8 + 4 * (i % 2),
                    g_test_rand_int_range(0, 80), 4);
        cint_run(t, g_test_rand_int_range(0, 1000));
    }
    cint_let_run(t);
    cint_run(t, CINT_SECOND);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    qnvme_take_irq(t->nvme, 1);
    expect_queue_works(t, cint_queues(t, 1));
}

static const struct {
    const char *name;
    void (*run)(const void *opts);
} tests[] = {
    { "unmasking-delivers-what-came-due", test_unmask_with_interrupt_pending },
    { "masked-with-cqes-pending", test_mask_with_cqes_pending },
    { "function-masked-with-cqes-pending", test_function_mask },
    { "pin-instead-of-messages", test_pin },
    { "pin-masked-with-cqes-pending", test_pin_masked },
    { "from-messages-to-pin", test_from_msix_to_pin },
    { "stopped-with-a-deadline-armed", test_stop_with_deadline },
    { "stopped-at-many-times", test_stopped_often },
    { "doorbells-of-unknown-queues", test_unknown_doorbells },
    { "doorbells-of-other-sizes", test_doorbells_of_other_sizes },
    { "random-register-writes", test_random_writes },
    { "random-doorbell-values", test_random_doorbells },
};

int main(int argc, char **argv)
{
    const CintCase *c;
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (c = cint_cases; c->name; c++) {
        for (i = 0; i < ARRAY_SIZE(tests); i++) {
            g_autofree char *path = g_strdup_printf(
                "/nvme-cint/guest/%s/%s", c->name, tests[i].name);

            qtest_add_data_func(path, c->opts, tests[i].run);
        }
    }
    qtest_add_func("/nvme-cint/guest/pin-is-a-level", test_pin_is_a_level);
    return g_test_run();
}
