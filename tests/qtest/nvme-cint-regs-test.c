/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The interrupt pointer registers in BAR0: where they are, and what a guest
 * that writes nonsense gets. See nvme-cint-pointer-test.c for what they do.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-driver.h"

/* As CINT_PURE, with a hold limit, which this policy needs. */
#define POINTER \
    CINT_EXACT ",cint.drain=off,cint.max-hold=10000000000,cint.policy=pointer"
#define ARM         NVME_CINT_POINTER_ARM
#define SPENT       NVME_CINT_POINTER_SPENT
#define DOORBELLS   0x1000

static uint64_t pointer_reg(CintTest *t, uint16_t cqid)
{
    return cint_pointer_regs(t) + cqid * 4;
}

/* Of @count reads, one after the other, only number @fires interrupts. */
static void reads(CintTest *t, QNvmeSq *sq, int count, int fires)
{
    int i;

    for (i = 1; i <= count; i++) {
        cint_read(t, sq, 1);
        cint_run(t, 1000);
        g_assert_cmpint(qnvme_take_irq(t->nvme, sq->cq->vector), ==,
                        i == fires);
    }
}

/* ---- Nonsense ---- */

static void test_ignored_accesses(void)
{
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = cint_queues(t, 1);
    uint64_t reg = pointer_reg(t, 1);
    QPCIBar bar = t->nvme->bar;

    cint_set_pointer(t, sq->cq, ARM | 5);
    qpci_io_writew(t->pdev, bar, reg, 0);
    qpci_io_writew(t->pdev, bar, reg + 2, 0);
    qpci_io_writeb(t->pdev, bar, reg + 3, 0);
    qpci_io_writel(t->pdev, bar, reg + 1, 0);
    qpci_io_writel(t->pdev, bar, reg + 2, 0);
    qpci_io_writel(t->pdev, bar, reg - 2, 0);
    g_assert_cmphex(cint_get_pointer(t, sq->cq), ==, ARM | 5);
    g_assert_cmpuint(cint_record(t, 1).pointer_rejects, ==, 0);
    reads(t, sq, 6, 5);
    cint_shutdown(t);
}

/* QEMU's memory core hands them on as two, as it does with doorbells. */
static void test_64_bit_write(void)
{
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_queues(t, 2);
    qpci_io_writeq(t->pdev, t->nvme->bar, pointer_reg(t, 1),
                   (uint64_t)(ARM | 7) << 32 | ARM | 5);
    g_assert_cmphex(cint_get_pointer(t, sq->cq), ==, ARM | 5);
    g_assert_cmphex(cint_get_pointer(t, t->nvme->cqs[2]), ==, ARM | 7);
    reads(t, sq, 6, 5);
    cint_shutdown(t);
}

static void test_unknown_queues(void)
{
    static const uint16_t cqids[] = { 0, 2, 63, 64 };
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < ARRAY_SIZE(cqids); i++) {
        uint64_t reg = pointer_reg(t, cqids[i]);

        qnvme_reg_write(t->nvme, reg, ARM | 1);
        g_assert_cmphex(qnvme_reg_read(t->nvme, reg), ==, 0);
    }
    /* No doorbell error came of it, and admin commands still interrupt. */
    g_assert_cmphex(cint_get_pointer(t, sq->cq), ==, 0);
    g_assert_cmpuint(cint_record(t, 0).pointer_arms, ==, 0);
    reads(t, sq, 1, 1);
    cint_shutdown(t);
}

static void write_nonsense(CintTest *t, uint64_t first, uint64_t end)
{
    uint64_t reg = g_test_rand_int_range(first, end);
    uint32_t value = g_test_rand_int();

    switch (g_test_rand_int_range(0, 4)) {
    case 0:
        qpci_io_writew(t->pdev, t->nvme->bar, reg & ~1ull, value);
        break;
    case 1:
        qpci_io_writeq(t->pdev, t->nvme->bar, reg & ~7ull, value);
        break;
    case 2:
        qnvme_reg_write(t->nvme, reg & ~3ull, value);
        break;
    default:
        qnvme_reg_write(t->nvme, reg & ~3ull,
                        value & (ARM | SPENT | 0x7f));
    }
}

/* A guest that writes anything may lose sleep, but nothing for ever. */
static void test_hostile(void)
{
    CintTest *t = cint_boot(POINTER ",cint.max-hold=100000");
    QNvmeSq *sq = cint_queues(t, 1);
    uint64_t first = pointer_reg(t, 0), end = pointer_reg(t, 65);
    uint32_t submitted = 0, i;

    for (i = 0; i < 1500; i++) {
        write_nonsense(t, first, end);
        if (submitted - sq->cq->reaped < 60) {
            cint_read(t, sq, 1);
            submitted++;
        }
        cint_run(t, g_test_rand_int_range(1, 500));
        if (qnvme_take_irq(t->nvme, 1)) {
            qnvme_reap(sq->cq, qnvme_visible(sq->cq));
        }
    }
    cint_eager_guest(t, sq->cq);
    g_assert_cmpuint(sq->cq->reaped, ==, submitted);
    cint_check_record(t, 1);
    cint_shutdown(t);
}

/* ---- Where the registers are ---- */

static uint32_t bar_size(CintTest *t)
{
    uint32_t before = qpci_config_readl(t->pdev, PCI_BASE_ADDRESS_0);
    uint32_t mask;

    qpci_config_writel(t->pdev, PCI_BASE_ADDRESS_0, UINT32_MAX);
    mask = qpci_config_readl(t->pdev, PCI_BASE_ADDRESS_0);
    qpci_config_writel(t->pdev, PCI_BASE_ADDRESS_0, before);
    return ~(mask & ~0xfu) + 1;
}

/* The default number of queues needs no more room than without cint. */
static void test_default_size(void)
{
    CintTest *t = cint_boot("");
    uint32_t stock = bar_size(t);

    cint_shutdown(t);
    t = cint_boot(POINTER);
    g_assert_cmphex(bar_size(t), ==, stock);
    g_assert_cmphex(le32_to_cpu(cint_identify(t).caps) &
                    NVME_CINT_CAP_POINTER, !=, 0);
    cint_shutdown(t);
}

/* @opaque: number of queue pairs. */
static void test_place(const void *opaque)
{
    uint32_t pairs = GPOINTER_TO_UINT(opaque);
    g_autofree char *opts = g_strdup_printf(POINTER ",max_ioqpairs=%u", pairs);
    CintTest *t = cint_boot(opts);
    uint64_t first = pointer_reg(t, 0), end = pointer_reg(t, pairs + 1);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, pairs, 16, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, pairs, 16, cq);
    uint8_t msix = qpci_find_capability(t->pdev, PCI_CAP_ID_MSIX, 0);
    uint32_t table = qpci_config_readl(t->pdev, msix + PCI_MSIX_TABLE);

    g_assert_cmphex(first, >=, DOORBELLS + (pairs + 1) * 8);
    g_assert_cmphex(first % 4, ==, 0);
    g_assert_cmphex(end, <=, bar_size(t));
    if (!(table & PCI_MSIX_FLAGS_BIRMASK)) {
        g_assert_cmphex(end, <=, table);
    }
    cint_set_pointer(t, cq, ARM | 2);
    g_assert_cmphex(cint_get_pointer(t, cq), ==, ARM | 2);
    reads(t, sq, 4, 2);
    g_assert_cmphex(cint_get_pointer(t, cq), ==, SPENT | 2);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    static const uint32_t places[] = { 1, 64, 128, 340, 341, 383, 511 };
    int i;

    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/regs/" name, run)
    ADD("nonsense/odd-accesses-are-ignored", test_ignored_accesses);
    ADD("nonsense/64-bit-writes-are-two", test_64_bit_write);
    ADD("nonsense/unknown-queues-are-ignored", test_unknown_queues);
    ADD("nonsense/anything-strands-nothing", test_hostile);
    ADD("place/default-size", test_default_size);
#undef ADD
    for (i = 0; i < ARRAY_SIZE(places); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/regs/place/%u-queue-pairs", places[i]);

        qtest_add_data_func(path, GUINT_TO_POINTER(places[i]), test_place);
    }
    return g_test_run();
}
