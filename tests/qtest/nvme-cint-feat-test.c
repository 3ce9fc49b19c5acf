/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * NVMe features 08h (Interrupt Coalescing) and 09h (Interrupt Vector
 * Configuration), and vendor feature D0h, the whole configuration of a
 * completion queue.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-common.h"

#define INVALID     (NVME_INVALID_FIELD | NVME_DNR)
#define CURRENT     0
#define DEFAULT     1
#define SAVED       2
#define SUPPORTED   3
#define CHANGEABLE  (1u << 2)
#define CD          (1u << 16)

#define COALESCING  NVME_INTERRUPT_COALESCING
#define VECTOR      NVME_INTERRUPT_VECTOR_CONF
#define CONFIG      NVME_CINT_FID_CONFIG

/* 08h: TIME in units of 100 us, THR one less than the CQEs it counts. */
#define REG(time, thr)  ((time) << 8 | (thr))

#define PATIENT     ",cint.policy=adaptive,cint.delta=1000000000,cint.thr=50"

static uint16_t set(CintTest *t, uint8_t fid, uint32_t value)
{
    return qnvme_set_feature(t->nvme, fid, value, NULL, NULL);
}

static uint32_t get(CintTest *t, uint8_t fid, uint8_t sel, uint32_t dw11)
{
    uint32_t result;

    g_assert_cmphex(qnvme_get_feature(t->nvme, fid, sel, dw11, NULL, &result),
                    ==, 0);
    return result;
}

static uint16_t get_status(CintTest *t, uint8_t fid, uint32_t dw11)
{
    return qnvme_get_feature(t->nvme, fid, CURRENT, dw11, &t->buf, NULL);
}

/* Set and Get Features with all of dwords 1 (NSID), 10 and 11. */
static uint16_t raw(CintTest *t, uint8_t opcode, uint32_t nsid, uint32_t dw10,
                    uint32_t dw11)
{
    NvmeCmd cmd = {
        .opcode = opcode,
        .nsid = cpu_to_le32(nsid),
        .dptr.prp1 = cpu_to_le64(t->buf.addr),
        .cdw10 = cpu_to_le32(dw10),
        .cdw11 = cpu_to_le32(dw11),
    };

    return qnvme_admin(t->nvme, &cmd, NULL);
}

/* ---- 08h ---- */

static void test_register(void)
{
    static const uint32_t values[] = {
        REG(1, 3), REG(255, 255), REG(0, 7), REG(7, 0), REG(0, 0),
    };
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=default");
    int i;

    g_assert_cmphex(get(t, COALESCING, CURRENT, 0), ==, 0);
    for (i = 0; i < ARRAY_SIZE(values); i++) {
        g_assert_cmphex(set(t, COALESCING, values[i]), ==, 0);
        g_assert_cmphex(get(t, COALESCING, CURRENT, 0), ==, values[i]);
        g_assert_cmphex(get(t, COALESCING, DEFAULT, 0), ==, 0);
        g_assert_cmphex(get(t, COALESCING, SAVED, 0), ==, 0);
        g_assert_cmphex(get(t, COALESCING, SUPPORTED, 0), ==, CHANGEABLE);
    }
    cint_shutdown(t);
}

/* What properties say in ns, 08h says in whole units: rounded up. */
static void test_register_rounds_up(void)
{
    static const struct {
        int64_t time, thr;
        uint32_t reg;
    } cases[] = {
        { 100000, 4, REG(1, 3) }, { 100001, 4, REG(2, 3) },
        { 1, 2, REG(1, 1) }, { 20000, 8, REG(1, 7) },
        { 25500000, 256, REG(255, 255) }, { 1000000000, 9999, REG(255, 255) },
        { 0, 8, REG(0, 7) }, { 150000, 0, REG(2, 0) },
    };
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=static");
    int i;

    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        cint_set_number(t, "cint.static-time", cases[i].time);
        cint_set_number(t, "cint.static-thr", cases[i].thr);
        g_assert_cmphex(get(t, COALESCING, CURRENT, 0), ==, cases[i].reg);
        g_assert_cmphex(get(t, COALESCING, DEFAULT, 0), ==, cases[i].reg);
    }
    cint_shutdown(t);
}

/* TIME 1, THR 3: the fourth CQE interrupts, or 100 us after the first. */
static void test_aggregation(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    g_assert_cmphex(set(t, COALESCING, REG(1, 3)), ==, 0);
    cint_read(t, sq, 3);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 100000);
    cint_expect_reason(t, sq->cq, TIME, 1);
    cint_read(t, sq, 4);
    cint_expect_irq_at(t, sq->cq, 2 * CINT_LATENCY + 100000);
    cint_expect_reason(t, sq->cq, THR, 1);
    cint_shutdown(t);
}

static void test_aggregation_off(const void *opts)
{
    static const uint32_t values[] = { REG(0, 0), REG(0, 7), REG(7, 0) };
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < ARRAY_SIZE(values); i++) {
        g_assert_cmphex(set(t, COALESCING, REG(9, 9)), ==, 0);
        g_assert_cmphex(set(t, COALESCING, values[i]), ==, 0);
        cint_zero(t);
        cint_read(t, sq, 1);
        cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
        cint_expect_reason(t, sq->cq, EACH, i + 1);
        qnvme_reap(sq->cq, 1);
    }
    cint_shutdown(t);
}

/* Under other policies the values are kept, for when they are needed. */
static void test_aggregation_is_stored(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    g_assert_cmphex(set(t, COALESCING, REG(1, 3)), ==, 0);
    g_assert_cmphex(get(t, COALESCING, CURRENT, 0), ==, REG(1, 3));
    cint_read(t, sq, 4);
    cint_run(t, 200000);
    cint_expect_reason(t, sq->cq, TIME, 0);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 4);
    cint_set_word(t, "cint.policy", "static");
    cint_zero(t);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 100000);
    cint_expect_reason(t, sq->cq, TIME, 1);
    cint_shutdown(t);
}

/* What a queue has of its own (D0h) is not 08h's business. */
static void test_aggregation_alone_changes(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=static");
    NvmeCintFeature f = cint_get_config(t, NVME_CINT_ALL_CQS, CURRENT);

    cint_queues(t, 1);
    f.policy = NVME_CINT_POLICY_ADAPTIVE;
    f.delta_ns = cpu_to_le32(2000);
    g_assert_cmphex(cint_set_config(t, 1, &f), ==, 0);
    g_assert_cmphex(set(t, COALESCING, REG(2, 7)), ==, 0);
    f.static_time_ns = cpu_to_le32(200000);
    f.static_thr = cpu_to_le16(8);
    cint_expect_config(t, 1, &f);
    g_assert_cmphex(get(t, COALESCING, CURRENT, 0), ==, REG(2, 7));
    cint_shutdown(t);
}

/* ---- 09h ---- */

static void test_vector_register(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint32_t v;

    for (v = 0; v < 65; v++) {
        /* The admin queue's, which no other has here, is never coalesced. */
        uint32_t initial = v ? v : CD;

        g_assert_cmphex(get(t, VECTOR, CURRENT, v), ==, initial);
        g_assert_cmphex(set(t, VECTOR, CD | v), ==, 0);
        g_assert_cmphex(get(t, VECTOR, CURRENT, v), ==, CD | v);
        g_assert_cmphex(get(t, VECTOR, DEFAULT, v), ==, initial);
        g_assert_cmphex(get(t, VECTOR, SUPPORTED, v), ==, CHANGEABLE);
    }
    g_assert_cmphex(set(t, VECTOR, 7), ==, 0);
    g_assert_cmphex(get(t, VECTOR, CURRENT, 7), ==, 7);
    g_assert_cmphex(get(t, VECTOR, CURRENT, 8), ==, CD | 8);
    cint_shutdown(t);
}

static void test_unknown_vector(void)
{
    static const uint32_t vectors[] = { 65, 66, 2047, 2048, 65535 };
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    int i;

    for (i = 0; i < ARRAY_SIZE(vectors); i++) {
        g_assert_cmphex(set(t, VECTOR, vectors[i]), ==, INVALID);
        g_assert_cmphex(set(t, VECTOR, CD | vectors[i]), ==, INVALID);
        g_assert_cmphex(get_status(t, VECTOR, vectors[i]), ==, INVALID);
    }
    /* Without MSI-X there is one. */
    qpci_msix_disable(t->pdev);
    g_assert_cmphex(set(t, VECTOR, CD | 1), ==, INVALID);
    g_assert_cmphex(set(t, VECTOR, CD | 0), ==, 0);
    qpci_msix_enable(t->pdev);
    cint_shutdown(t);
}

/* Queue 2 keeps its coalescing; queue 1 loses it, and gets it back. */
static void test_vector_is_not_coalesced(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeSq *one = cint_queues(t, 1);
    QNvmeSq *two = cint_queues(t, 2);

    cint_read(t, one, 2);
    cint_read(t, two, 2);
    cint_expect_quiet_to(t, one->cq, 1000);
    g_assert_cmphex(set(t, VECTOR, CD | 1), ==, 0);
    cint_expect_irq_now(t, one->cq);
    cint_expect_reason(t, one->cq, RECONF, 1);
    cint_expect_quiet_to(t, two->cq, 1000);
    qnvme_reap(one->cq, 2);

    cint_read(t, one, 1);
    cint_expect_irq_at(t, one->cq, 1000 + CINT_LATENCY);
    cint_expect_reason(t, one->cq, EACH, 1);
    cint_expect_reason(t, two->cq, RECONF, 0);
    g_assert_cmphex(set(t, VECTOR, 1), ==, 0);
    cint_read(t, one, 1);
    cint_expect_quiet_to(t, one->cq, CINT_SECOND / 2);
    cint_shutdown(t);
}

static void test_vector_of_later_queue(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeSq *sq;

    g_assert_cmphex(set(t, VECTOR, CD | 3), ==, 0);
    sq = cint_queues(t, 3);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_shutdown(t);
}

/* An I/O queue may share the admin queue's vector. */
static void test_vector_zero(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 64, 0);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);

    g_assert_cmphex(get(t, VECTOR, CURRENT, 0), ==, 0);
    cint_read(t, sq, 1);
    cint_expect_quiet_to(t, cq, 5000);
    g_assert_cmphex(set(t, VECTOR, CD | 0), ==, 0);
    cint_expect_reason(t, cq, RECONF, 1);
    cint_zero(t);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, cq, CINT_LATENCY);
    cint_expect_reason(t, cq, EACH, 1);
    cint_shutdown(t);
}

/* ---- What all three have in common ---- */

static void test_refused_fields(void)
{
    static const uint8_t fids[] = { COALESCING, VECTOR, CONFIG };
    static const uint32_t dw11[] = { REG(2, 2), CD | 1, NVME_CINT_ALL_CQS };
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    NvmeCintFeature before = cint_get_config(t, NVME_CINT_ALL_CQS, CURRENT);
    NvmeCintFeature f = before;
    int i;

    f.thr = cpu_to_le16(9);
    for (i = 0; i < ARRAY_SIZE(fids); i++) {
        const uint8_t opcode = NVME_ADM_CMD_SET_FEATURES;

        qtest_memwrite(t->qts, t->buf.addr, &f, sizeof(f));
        g_assert_cmphex(raw(t, opcode, 0, 1u << 31 | fids[i], dw11[i]), ==,
                        NVME_FID_NOT_SAVEABLE | NVME_DNR);
        g_assert_cmphex(raw(t, opcode, 1, fids[i], dw11[i]), ==,
                        NVME_FEAT_NOT_NS_SPEC | NVME_DNR);
        g_assert_cmphex(raw(t, opcode, 0x12345, fids[i], dw11[i]), ==,
                        NVME_INVALID_NSID | NVME_DNR);
        g_assert_cmphex(raw(t, opcode, 0, fids[i], dw11[i] | 1u << 17), ==,
                        INVALID);
        g_assert_cmphex(raw(t, opcode, 0, fids[i], dw11[i] | 1u << 31), ==,
                        INVALID);
    }
    cint_expect_config(t, NVME_CINT_ALL_CQS, &before);
    g_assert_cmphex(get(t, COALESCING, CURRENT, 0), ==, 0);
    g_assert_cmphex(get(t, VECTOR, CURRENT, 1), ==, 1);

    for (i = 0; i < ARRAY_SIZE(fids); i++) {
        qtest_memwrite(t->qts, t->buf.addr, &f, sizeof(f));
        g_assert_cmphex(raw(t, NVME_ADM_CMD_SET_FEATURES, NVME_NSID_BROADCAST,
                            fids[i], dw11[i]), ==, 0);
    }
    g_assert_cmphex(get(t, COALESCING, CURRENT, 0), ==, 0);
    g_assert_cmphex(get(t, VECTOR, CURRENT, 1), ==, CD | 1);
    cint_expect_config(t, NVME_CINT_ALL_CQS, &f);
    cint_shutdown(t);
}

/* Select values 4 to 7 mean nothing. */
static void test_unknown_select(void)
{
    static const uint8_t fids[] = { COALESCING, VECTOR, CONFIG };
    static const uint32_t dw11[] = { 0, 1, NVME_CINT_ALL_CQS };
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    int i, sel;

    for (i = 0; i < ARRAY_SIZE(fids); i++) {
        for (sel = 4; sel < 8; sel++) {
            g_assert_cmphex(raw(t, NVME_ADM_CMD_GET_FEATURES, 0,
                                sel << 8 | fids[i], dw11[i]), ==, INVALID);
        }
    }
    cint_shutdown(t);
}

typedef struct Change {
    const char *name;
    uint16_t (*apply)(CintTest *t);
} Change;

static uint16_t change_coalescing(CintTest *t)
{
    return set(t, COALESCING, REG(1, 3));
}

static uint16_t change_vector(CintTest *t)
{
    return set(t, VECTOR, CD | 1);
}

static uint16_t change_config(CintTest *t, uint32_t cqid)
{
    NvmeCintFeature f = cint_get_config(t, cqid, CURRENT);

    f.delta_ns = cpu_to_le32(900000000);
    return cint_set_config(t, cqid, &f);
}

static uint16_t change_cq(CintTest *t)
{
    return change_config(t, 1);
}

static uint16_t change_all_cqs(CintTest *t)
{
    return change_config(t, NVME_CINT_ALL_CQS);
}

static const Change changes[] = {
    { "08h", change_coalescing },
    { "09h", change_vector },
    { "D0h-of-one-cq", change_cq },
    { "D0h-of-all-cqs", change_all_cqs },
};

/* What the old configuration held goes out at the change. */
static void test_change_with_cqes_pending(const void *opaque)
{
    const Change *change = opaque;
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 3);
    cint_expect_quiet_to(t, sq->cq, 5000);
    g_assert_cmphex(change->apply(t), ==, 0);
    cint_expect_irq_now(t, sq->cq);
    cint_expect_reason(t, sq->cq, RECONF, 1);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 0);
    qnvme_reap(sq->cq, 3);
    cint_read(t, sq, 3);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 3);
    cint_shutdown(t);
}

static void test_reset_restores_properties(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT ",cint.static-time=150000,"
                            "cint.static-thr=8");
    NvmeCintFeature before = cint_get_config(t, NVME_CINT_ALL_CQS, CURRENT);
    NvmeCintFeature f = before;
    QNvmeSq *sq;

    f.policy = NVME_CINT_POLICY_DEFAULT;
    f.kick_window_ns = cpu_to_le32(777);
    g_assert_cmphex(cint_set_config(t, NVME_CINT_ALL_CQS, &f), ==, 0);
    g_assert_cmphex(set(t, COALESCING, REG(4, 4)), ==, 0);
    g_assert_cmphex(set(t, VECTOR, CD | 1), ==, 0);
    f = cint_get_config(t, NVME_CINT_ALL_CQS, DEFAULT);
    g_assert_cmpmem(&f, sizeof(f), &before, sizeof(before));

    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    cint_expect_config(t, NVME_CINT_ALL_CQS, &before);
    g_assert_cmphex(get(t, COALESCING, CURRENT, 0), ==, REG(2, 7));
    g_assert_cmphex(get(t, VECTOR, CURRENT, 1), ==, 1);
    sq = cint_queues(t, 1);
    cint_expect_config(t, 1, &before);
    cint_read(t, sq, 3);
    cint_expect_quiet_to(t, sq->cq, CINT_SECOND / 2);
    cint_shutdown(t);
}

/* Without cint the codes mean what they mean to the stock controller. */
static void test_without_cint(void)
{
    CintTest *t = cint_boot("");

    g_assert_cmphex(set(t, CONFIG, NVME_CINT_ALL_CQS), ==, INVALID);
    g_assert_cmphex(get_status(t, CONFIG, NVME_CINT_ALL_CQS), ==, INVALID);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    int i;

    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/feat/" name, run)
#define ADD_OPTS(name, opts, run) \
    qtest_add_data_func("/nvme-cint/feat/" name, CINT_PURE opts, run)
    ADD("08h/reads-as-written", test_register);
    ADD("08h/reads-rounded-up", test_register_rounds_up);
    ADD_OPTS("08h/acts-under-default", ",cint.policy=default",
             test_aggregation);
    ADD_OPTS("08h/acts-under-static", ",cint.policy=static", test_aggregation);
    ADD_OPTS("08h/zero-in-either-field-is-off-under-default",
             ",cint.policy=default", test_aggregation_off);
    ADD_OPTS("08h/zero-in-either-field-is-off-under-static",
             ",cint.policy=static", test_aggregation_off);
    ADD_OPTS("08h/is-stored-under-adaptive", ",cint.policy=adaptive",
             test_aggregation_is_stored);
    qtest_add_data_func("/nvme-cint/feat/08h/is-stored-under-vic",
                        CINT_EXACT ",cint.policy=vic",
                        test_aggregation_is_stored);
    ADD("08h/changes-nothing-else", test_aggregation_alone_changes);
    ADD("09h/reads-as-written", test_vector_register);
    ADD("09h/unknown-vector-is-refused", test_unknown_vector);
    ADD("09h/disables-coalescing-of-its-queues", test_vector_is_not_coalesced);
    ADD("09h/holds-for-queues-created-later", test_vector_of_later_queue);
    ADD("09h/vector-of-the-admin-queue", test_vector_zero);
    ADD("all/reserved-and-foreign-fields-are-refused", test_refused_fields);
    ADD("all/unknown-select-is-refused", test_unknown_select);
    ADD("all/controller-reset-restores-the-properties",
        test_reset_restores_properties);
    ADD("all/unknown-without-cint", test_without_cint);
    for (i = 0; i < ARRAY_SIZE(changes); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/feat/change-with-cqes-pending/%s", changes[i].name);

        qtest_add_data_func(path, &changes[i],
                            test_change_with_cqes_pending);
    }
#undef ADD
#undef ADD_OPTS
    return g_test_run();
}
