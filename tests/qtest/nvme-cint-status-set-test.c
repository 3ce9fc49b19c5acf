/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Feature D1h, which says where the status records are: what Set Features
 * refuses, what Get Features answers, and records nobody can write to.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "nvme-cint-driver.h"

#define INVALID     (NVME_INVALID_FIELD | NVME_DNR)
#define OPTS        CINT_PURE ",cint.policy=cint,cint.delta=1000000000," \
                    "cint.thr=65535,cint.max-hold=10000000000"
#define NR_QUEUES   64      /* I/O CQs that the controller can have */
#define MIB         0x100000ull
/* RAM that no test allocates; the machine has 64 MiB. */
#define WINDOW      (48 * MIB)
/* No RAM and no device. */
#define NOWHERE     (1ull << 40)

static bool is_fatal(CintTest *t)
{
    return NVME_CSTS_CFS(qnvme_reg_read(t->nvme, NVME_REG_CSTS));
}

static void expect_setting(CintTest *t, uint8_t sel, uint64_t addr,
                           uint32_t records)
{
    uint64_t found_addr;
    uint32_t found_records;

    cint_get_status(t, sel, &found_addr, &found_records);
    g_assert_cmphex(found_addr, ==, addr);
    g_assert_cmpuint(found_records, ==, records);
}

/* ---- What is refused ---- */

static void test_refused(void)
{
    static const struct {
        uint64_t addr;
        uint32_t records, reserved;
    } cases[] = {
        { WINDOW + 1, 2, 0 }, { WINDOW + 4, 2, 0 }, { WINDOW + 32, 2, 0 },
        { WINDOW + 63, 2, 0 }, { 1, 2, 0 },
        { WINDOW, NR_QUEUES + 2, 0 }, { WINDOW, 65536, 0 },
        { WINDOW, UINT32_MAX, 0 },
        { WINDOW, 2, 1 }, { WINDOW, 2, 0x80000000 }, { 0, 0, 1 },
        /* Their end wraps around. */
        { UINT64_MAX - 63, 2, 0 },
    };
    CintTest *t = cint_boot(OPTS);
    uint64_t records = cint_records_on(t, 2);
    CintDriver *d = cint_driver_new(t, cint_queues(t, 1), records);
    uint8_t memory[4 * CINT_RECORD_SIZE];
    int i;

    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        g_assert_cmphex(cint_set_status(t, cases[i].addr, cases[i].records,
                                        cases[i].reserved), ==, INVALID);
        expect_setting(t, 0, records, 2);
    }
    qtest_memread(t->qts, WINDOW, memory, sizeof(memory));
    g_assert_true(buffer_is_zero(memory, sizeof(memory)));
    cint_zero(t);
    cint_driver_read(d, NVME_CINT_HINT_URGENT);
    qnvme_ring_sq(d->sq);
    cint_driver_expect_irq_at(d, CINT_LATENCY, 1);
    g_assert_cmpuint(cint_status(t, records, 1).class, ==, CINT_CLASS_URGENT);
    g_assert_false(is_fatal(t));
    cint_driver_free(d);
    cint_shutdown(t);
}

static void test_as_many_as_there_are_queues(void)
{
    CintTest *t = cint_boot(OPTS ",max_ioqpairs=3");
    uint64_t records = cint_records_new(t, 8);

    g_assert_cmphex(cint_set_status(t, records, 5, 0), ==, INVALID);
    g_assert_cmphex(cint_set_status(t, records, 4, 0), ==, 0);
    expect_setting(t, 0, records, 4);
    cint_shutdown(t);
}

/* @size bytes at WINDOW are not the host's memory to the controller. */
static void refuse_overlap(CintTest *t, uint64_t size)
{
    static const uint32_t records = 4;
    uint64_t bytes = records * CINT_RECORD_SIZE;

    g_assert_cmphex(cint_set_status(t, WINDOW, records, 0), ==, INVALID);
    g_assert_cmphex(cint_set_status(t, WINDOW - bytes + 64, records, 0), ==,
                    INVALID);
    g_assert_cmphex(cint_set_status(t, WINDOW + size - 64, records, 0), ==,
                    INVALID);
    expect_setting(t, 0, 0, 0);
    g_assert_cmphex(cint_set_status(t, WINDOW - bytes, records, 0), ==, 0);
    g_assert_cmphex(cint_set_status(t, WINDOW + size, records, 0), ==, 0);
    g_assert_false(is_fatal(t));
    cint_shutdown(t);
}

static void test_cmb(void)
{
    CintTest *t = cint_boot(OPTS ",cmb_size_mb=1");

    g_assert_cmphex(cint_set_status(t, WINDOW, 4, 0), ==, 0);
    g_assert_cmphex(cint_set_status(t, 0, 0, 0), ==, 0);
    qnvme_reg_write(t->nvme, NVME_REG_CMBMSC + 4, 0);
    /* Controller base address, registers and memory space enabled. */
    qnvme_reg_write(t->nvme, NVME_REG_CMBMSC, WINDOW | 3);
    refuse_overlap(t, MIB);
}

static void test_pmr(void)
{
    CintTest *t = cint_boot_custom(
        NULL, CINT_NULL_DISK " -object memory-backend-ram,id=pmr0,size=1M",
        OPTS ",pmrdev=pmr0");

    g_assert_cmphex(cint_set_status(t, WINDOW, 4, 0), ==, 0);
    g_assert_cmphex(cint_set_status(t, 0, 0, 0), ==, 0);
    qnvme_reg_write(t->nvme, NVME_REG_PMRCTL, 1);
    qnvme_reg_write(t->nvme, NVME_REG_PMRMSCU, 0);
    qnvme_reg_write(t->nvme, NVME_REG_PMRMSCL, WINDOW | 2);
    refuse_overlap(t, MIB);
}

static void test_select(void)
{
    CintTest *t = cint_boot(OPTS);
    uint64_t records;
    uint32_t result;
    NvmeCmd save = {
        .opcode = NVME_ADM_CMD_SET_FEATURES,
        .cdw10 = cpu_to_le32(1u << 31 | NVME_CINT_FID_STATUS),
        .dptr.prp1 = cpu_to_le64(t->buf.addr),
    };

    expect_setting(t, 0, 0, 0);
    expect_setting(t, 1, 0, 0);
    records = cint_records_on(t, 3);
    expect_setting(t, 0, records, 3);
    expect_setting(t, 1, 0, 0);
    g_assert_cmphex(qnvme_get_feature(t->nvme, NVME_CINT_FID_STATUS, 3, 0,
                                      &t->buf, &result), ==, 0);
    g_assert_cmphex(result, ==, NVME_FEAT_CAP_CHANGE);
    g_assert_cmphex(qnvme_admin(t->nvme, &save, NULL), ==,
                    NVME_FID_NOT_SAVEABLE | NVME_DNR);
    expect_setting(t, 0, records, 3);
    g_assert_cmphex(cint_set_status(t, 0, 0, 0), ==, 0);
    expect_setting(t, 0, 0, 0);
    cint_shutdown(t);
}

static void test_identify(void)
{
    CintTest *t = cint_boot(OPTS);
    NvmeCintIdentify id = cint_identify(t);
    uint32_t caps = NVME_CINT_CAP_STATUS_RECORDS | NVME_CINT_CAP_OOO;

    g_assert_cmphex(id.status_fid, ==, NVME_CINT_FID_STATUS);
    g_assert_cmphex(le32_to_cpu(id.caps) & caps, ==, caps);
    cint_shutdown(t);
}

/* Nobody can write there: fatal, at the first record that is due. */
static void test_unwritable(void)
{
    CintTest *t = cint_boot(OPTS);

    g_assert_cmphex(cint_set_status(t, NOWHERE, 8, 0), ==, 0);
    qnvme_create_cq(t->nvme, 1, 64, 1);
    g_assert_true(is_fatal(t));
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    g_assert_false(is_fatal(t));
    expect_setting(t, 0, 0, 0);
    cint_queues(t, 1);
    g_assert_cmphex(cint_set_status(t, NOWHERE, 8, 0), ==, 0);
    g_assert_true(is_fatal(t));
    cint_shutdown(t);
}

/* The controller's own registers: whatever comes of it, QEMU lives on. */
static void test_own_registers(void)
{
    CintTest *t = cint_boot(OPTS);

    cint_set_status(t, t->nvme->bar.addr, 8, 0);
    qnvme_create_cq(t->nvme, 1, 64, 1);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    g_assert_false(is_fatal(t));
    g_assert_cmphex(qnvme_reg_read(t->nvme, NVME_REG_CAP), ==,
                    (uint32_t)t->nvme->cap);
    cint_read(t, cint_queues(t, 1), 1);
    cint_run(t, 1000);
    g_assert_cmpuint(qnvme_visible(t->nvme->cqs[1]), ==, 1);
    cint_shutdown(t);
}

static void freeze(CintTest *t, bool on)
{
    qtest_qom_set_bool(t->qts, "/machine/peripheral/nvme0",
                       "x-cint-freeze-records", on);
}

static uint32_t seq_after_read(CintTest *t, QNvmeSq *sq, uint64_t records)
{
    cint_read(t, sq, 1);
    cint_run(t, 1000);
    g_assert_true(qnvme_take_irq(t->nvme, sq->cq->vector));
    qnvme_reap(sq->cq, 1);
    return cint_status(t, records, sq->cq->id).seq;
}

/* For tests of drivers: messages go on, and nothing is written of them. */
static void test_frozen(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=default");
    uint64_t records = cint_records_on(t, 2), other;
    QNvmeSq *sq = cint_queues(t, 1);

    g_assert_cmpuint(seq_after_read(t, sq, records), ==, 1);
    freeze(t, true);
    g_assert_cmpuint(seq_after_read(t, sq, records), ==, 1);
    other = cint_records_on(t, 2);
    g_assert_cmphex(cint_status(t, other, 1).full_tail, ==, 0xa5a5a5a5);
    g_assert_cmpuint(seq_after_read(t, sq, records), ==, 1);
    freeze(t, false);
    g_assert_cmpuint(seq_after_read(t, sq, other), ==, 4);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/status/" name, run)
    ADD("set/nonsense-changes-nothing", test_refused);
    ADD("set/one-record-more-than-queues", test_as_many_as_there_are_queues);
    ADD("set/not-in-the-cmb", test_cmb);
    ADD("set/not-in-the-pmr", test_pmr);
    ADD("set/unwritable-address-is-fatal", test_unwritable);
    ADD("set/own-registers", test_own_registers);
    ADD("set/frozen", test_frozen);
    ADD("get/select", test_select);
    ADD("identify/claims-records", test_identify);
#undef ADD
    return g_test_run();
}
