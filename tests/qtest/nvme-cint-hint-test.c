/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Hints: where they may stand, which commands carry them, what each makes the
 * policy do, and when an interrupt has the urgent class.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-driver.h"

#define CINT        ",cint.policy=cint,cint.delta=6000,cint.thr=32"
/* Holds back so long that anything sooner has another reason. */
#define PATIENT     ",cint.policy=cint,cint.delta=1000000000,cint.thr=65535," \
                    "cint.max-hold=10000000000"

enum {
    NONE = NVME_CINT_HINT_NONE,
    URGENT = NVME_CINT_HINT_URGENT,
    BARRIER = NVME_CINT_HINT_BARRIER,
    BOTH = NVME_CINT_HINT_BOTH,
};

static void submit(CintTest *t, QNvmeSq *sq, uint8_t cdw0, uint8_t cdw13)
{
    NvmeCmd cmd = cint_hinted(t, NVME_CMD_READ, cdw0, cdw13);

    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
}

/* ---- Where hints stand ---- */

/* Every pair of hints in the two places: what counts is the union. */
static void test_places(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeSq *sq = cint_queues(t, 1);
    uint64_t by_hint[NVME_CINT_NR_HINTS] = { 0 };
    uint64_t cdw0_total = 0, cdw13_total = 0;
    uint8_t cdw0, cdw13;

    for (cdw0 = NONE; cdw0 <= BOTH; cdw0++) {
        for (cdw13 = NONE; cdw13 <= BOTH; cdw13++) {
            uint8_t hint = cdw0 | cdw13;
            NvmeCintLogRecord r;
            int i;

            cint_zero(t);
            submit(t, sq, cdw0, cdw13);
            if (hint == URGENT || hint == BARRIER) {
                cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
            } else {
                cint_expect_quiet_to(t, sq->cq, 2 * CINT_LATENCY);
            }
            qnvme_reap(sq->cq, 1);
            by_hint[hint]++;
            cdw0_total += cdw0 != NONE;
            cdw13_total += cdw13 != NONE;
            r = cint_record(t, 1);
            for (i = 0; i < NVME_CINT_NR_HINTS; i++) {
                g_assert_cmpuint(r.cmds_by_hint[i], ==, by_hint[i]);
            }
            g_assert_cmpuint(r.cmds_by_source[NVME_CINT_SOURCE_CDW0], ==,
                             cdw0_total);
            g_assert_cmpuint(r.cmds_by_source[NVME_CINT_SOURCE_CDW13], ==,
                             cdw13_total);
        }
    }
    cint_expect_reason(t, sq->cq, URGENT, by_hint[URGENT]);
    cint_expect_reason(t, sq->cq, BARRIER, by_hint[BARRIER]);
    cint_check_record(t, 1);
    cint_shutdown(t);
}

/* CDW0 works with every command; CDW13 means other things in most. */
static void test_other_commands(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd flush = { .opcode = NVME_CMD_FLUSH, .nsid = cpu_to_le32(1) };
    NvmeCmd write = cint_hinted(t, NVME_CMD_WRITE, NONE, URGENT);

    flush.cdw13 = cpu_to_le32(NVME_CINT_DW13_URGENT);
    qnvme_push(sq, &flush);
    qnvme_ring_sq(sq);
    cint_run(t, 10000);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 1);
    g_assert_false(qnvme_irq_pending(t->nvme, 1));
    cint_zero(t);
    flush.cdw13 = 0;
    flush.flags = NVME_CINT_FLAGS_URGENT;
    qnvme_push(sq, &flush);
    qnvme_ring_sq(sq);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_reason(t, sq->cq, URGENT, 1);
    qnvme_push(sq, &write);
    qnvme_ring_sq(sq);
    cint_expect_irq_at(t, sq->cq, 2 * CINT_LATENCY);
    cint_expect_reason(t, sq->cq, URGENT, 2);
    cint_shutdown(t);
}

static void submit_extended(CintTest *t, QNvmeSq *sq)
{
    NvmeCmd cmd = cint_hinted(t, NVME_CMD_READ, URGENT, BARRIER);

    cmd.cdw12 |= cpu_to_le32(1 << 16);
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
}

/*
 * CDW13 is no hint where CDW12 has a command extension type, whichever, and
 * neither is Access Latency (CDW13 5:4) there. What CDW0 says holds.
 */
static void test_extended_commands(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeSq *sq = cint_queues(t, 1);
    uint32_t type;

    for (type = 1; type < 16; type++) {
        NvmeCmd cmd = cint_hinted(t, type % 2 ? NVME_CMD_READ : NVME_CMD_WRITE,
                                  NONE, URGENT);

        cmd.cdw12 |= cpu_to_le32(type << 16);
        cmd.cdw13 |= cpu_to_le32(NVME_CINT_DW13_LATENCY);
        qnvme_push(sq, &cmd);
        qnvme_ring_sq(sq);
        cint_run(t, 10000);
        g_assert_cmpuint(qnvme_visible(sq->cq), ==, type);
        g_assert_false(qnvme_irq_pending(t->nvme, 1));
    }
    cint_zero(t);
    submit_extended(t, sq);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_reason(t, sq->cq, URGENT, 1);
    g_assert_cmpuint(cint_record(t, 1).cmds_by_source[NVME_CINT_SOURCE_CDW13],
                     ==, 0);
    cint_shutdown(t);
}

static void submit_latency(CintTest *t, QNvmeSq *sq, uint8_t opcode,
                           unsigned latency, uint8_t cdw0, uint8_t cdw13)
{
    NvmeCmd cmd = opcode == NVME_CMD_FLUSH ?
        (NvmeCmd) { .opcode = opcode, .nsid = cpu_to_le32(1) } :
        cint_hinted(t, opcode, cdw0, cdw13);

    cmd.cdw13 |= cpu_to_le32(latency << 4);
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    cint_run(t, 10000);
}

/*
 * Access Latency of Dataset Management: low is Urgent for a Read or Write that
 * says nothing else, idle and normal are nothing, and other commands have no
 * such field. With other bits of Dataset Management it is the same.
 */
static void test_access_latency(void)
{
    static const struct {
        uint8_t opcode, latency, cdw0, cdw13, hint;
    } cases[] = {
        { NVME_CMD_READ, 3, NONE, NONE, URGENT },
        { NVME_CMD_WRITE, 3, NONE, NONE, URGENT },
        { NVME_CMD_READ, 0, NONE, NONE, NONE },
        { NVME_CMD_READ, 1, NONE, NONE, NONE },
        { NVME_CMD_WRITE, 2, NONE, NONE, NONE },
        { NVME_CMD_FLUSH, 3, NONE, NONE, NONE },
        { NVME_CMD_READ, 3, BARRIER, NONE, BARRIER },
        { NVME_CMD_READ, 3, NONE, BARRIER, BARRIER },
        { NVME_CMD_READ, 3, BOTH, NONE, BOTH },
        { NVME_CMD_READ, 1, URGENT, NONE, URGENT },
    };
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeSq *sq = cint_queues(t, 1);
    uint64_t by_hint[NVME_CINT_NR_HINTS] = { 0 };
    uint64_t by_latency = 0;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        NvmeCintLogRecord r;

        submit_latency(t, sq, cases[i].opcode, cases[i].latency,
                       cases[i].cdw0, cases[i].cdw13);
        qnvme_reap(sq->cq, 1);
        by_hint[cases[i].hint]++;
        by_latency += i < 2;
        r = cint_record(t, 1);
        g_assert_cmpuint(r.cmds_by_source[NVME_CINT_SOURCE_LATENCY], ==,
                         by_latency);
        for (int hint = NONE; hint <= BOTH; hint++) {
            g_assert_cmpuint(r.cmds_by_hint[hint], ==, by_hint[hint]);
        }
    }
    /* What is Urgent by it interrupts. */
    cint_expect_reason(t, sq->cq, URGENT, 3);
    cint_shutdown(t);
}

/* Neither place disturbs the command itself. */
static void test_data(void)
{
    static const uint8_t hints[] = { URGENT, BARRIER, BOTH };
    CintTest *t = cint_boot_custom(
        NULL, "-blockdev driver=null-co,node-name=d0,size=1048576,"
        "read-zeroes=on", CINT_PURE PATIENT);
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCqe cqe;
    int i;

    for (i = 0; i < ARRAY_SIZE(hints); i++) {
        qnvme_buf_fill(t->nvme, &t->buf, i);
        submit(t, sq, hints[i], hints[i]);
        cint_run(t, 1000);
        qnvme_peek(sq->cq, 0, &cqe);
        g_assert_cmphex(qnvme_status(&cqe), ==, 0);
        qnvme_reap(sq->cq, 1);
        g_assert_cmphex(qtest_readq(t->qts, t->buf.addr), ==, 0);
        g_assert_cmphex(qtest_readq(t->qts, t->buf.addr + 4088), ==, 0);
    }
    cint_shutdown(t);
}

/* Admin commands with hints are as those without. */
static void test_admin(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 2);
    uint64_t before = cint_record(t, 0).irqs_full;
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_GET_FEATURES,
        .flags = NVME_CINT_FLAGS_URGENT,
        .cdw10 = cpu_to_le32(NVME_NUMBER_OF_QUEUES),
        .cdw13 = cpu_to_le32(NVME_CINT_DW13_URGENT),
    };
    NvmeCintLogRecord r;

    g_assert_cmphex(qnvme_admin(t->nvme, &cmd, NULL), ==, 0);
    r = cint_record(t, 0);
    /* It, and the three that read the log. */
    g_assert_cmpuint(r.irqs_full, >, before);
    g_assert_cmpuint(r.irqs_by_reason[NVME_CINT_REASON_ADMIN], ==,
                     r.irqs_full);
    g_assert_cmpuint(r.irqs_urgent, ==, 0);
    g_assert_cmpuint(r.cmds_by_hint[URGENT], ==, 0);
    g_assert_cmpuint(cint_status(t, records, 0).class, !=, CINT_CLASS_URGENT);
    cint_shutdown(t);
}

/* An Urgent command that fails fires, and counts. */
static void test_failing_commands(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 2);
    CintDriver *d = cint_driver_new(t, cint_queues(t, 1), records);
    NvmeCmd cmd = cint_hinted(t, NVME_CMD_READ, URGENT, NONE);

    cint_driver_read(d, NONE);
    qnvme_ring_sq(d->sq);
    cint_run(t, 1000);
    cmd.nsid = cpu_to_le32(99);
    cint_driver_push(d, &cmd);
    qnvme_ring_sq(d->sq);
    cint_run(t, 1);
    g_assert_true(cint_driver_interrupt(d));
    g_assert_cmpuint(d->completed, ==, 2);
    cint_expect_reason(t, d->cq, ERROR, 1);
    g_assert_cmpuint(cint_status(t, records, 1).class, ==, CINT_CLASS_FULL);
    g_assert_cmpuint(cint_record(t, 1).cmds_by_hint[URGENT], ==, 1);
    cint_driver_free(d);
    cint_shutdown(t);
}

/* Hints are nothing to policies that do not use them. */
static void test_other_policies(const void *policy)
{
    g_autofree char *opts = g_strconcat(CINT_PURE, policy, NULL);
    CintTest *t = cint_boot(opts);
    uint64_t records = cint_records_on(t, 2);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_zero(t);
    submit(t, sq, URGENT, NONE);
    submit(t, sq, BARRIER, NONE);
    submit(t, sq, NONE, URGENT);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 10000);
    g_assert_cmpuint(cint_record(t, 1).irqs_full, ==, 1);
    g_assert_cmpuint(cint_status(t, records, 1).class, ==, CINT_CLASS_FULL);
    g_assert_cmpuint(cint_status(t, records, 1).full_tail, ==, 3);
    cint_shutdown(t);
}

/* The policy that is in force without a word, and what goes with it. */
static void test_defaults(void)
{
    CintTest *t = cint_boot("cint=on");
    NvmeCintFeature f = cint_get_config(t, NVME_CINT_ALL_CQS, 0);

    g_assert_cmpuint(f.policy, ==, NVME_CINT_POLICY_CINT);
    g_assert_cmphex(f.flags, ==, NVME_CINT_FLAG_OOO);
    g_assert_cmpuint(f.barrier, ==, 0);
    g_assert_cmpuint(f.infer, ==, 0);
    g_assert_cmpuint(le32_to_cpu(f.delta_ns), ==, 6000);
    g_assert_cmpuint(le16_to_cpu(f.thr), ==, 32);
    g_assert_cmpuint(le32_to_cpu(f.max_irq_rate), ==, 0);
    g_assert_cmpuint(f.ewma_shift, ==, 7);
    cint_shutdown(t);
}

/* ---- Barriers ---- */

/* All earlier commands of the queue failed, or were aborted. */
static void test_strict_and_aborts(const void *barrier)
{
    g_autofree char *opts = g_strdup_printf(CINT_SLOW PATIENT
                                            ",cint.barrier=%s",
                                            (const char *)barrier);
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd slow = cint_hinted(t, NVME_CMD_WRITE, NONE, NONE);
    uint16_t cid;

    cid = qnvme_push(sq, &slow);
    qnvme_ring_sq(sq);
    cint_run(t, 1);
    submit(t, sq, BARRIER, NONE);
    cint_expect_quiet_to(t, sq->cq, cint_now(t) + 1000);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 1);
    if (!qnvme_abort(sq, cid)) {
        cint_run(t, CINT_SLOW_LATENCY);
    }
    cint_expect_irq_now(t, sq->cq);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 2);
    cint_shutdown(t);
}

/* Another SQ of the CQ is deleted, or this one; the rest must not wait. */
static void test_strict_and_deletion(const void *barrier)
{
    g_autofree char *opts = g_strdup_printf(CINT_SLOW PATIENT
                                            ",cint.barrier=%s",
                                            (const char *)barrier);
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeSq *other = qnvme_create_sq(t->nvme, 2, 64, sq->cq);
    QNvmeCq *cq = sq->cq;
    NvmeCmd slow = cint_hinted(t, NVME_CMD_WRITE, NONE, NONE);

    /* Barriers look at their own SQ only. */
    qnvme_push(other, &slow);
    qnvme_ring_sq(other);
    cint_run(t, 1);
    cint_zero(t);
    submit(t, sq, BARRIER, NONE);
    cint_expect_irq_at(t, cq, CINT_LATENCY);
    qnvme_reap(cq, 1);
    qnvme_push(sq, &slow);
    submit(t, sq, BARRIER, NONE);
    cint_expect_quiet_to(t, cq, 2000);
    qnvme_delete_sq(sq);
    cint_run(t, CINT_SLOW_LATENCY);
    g_assert_cmpuint(cint_eager_guest(t, cq), ==, 3);
    cint_shutdown(t);
}

/* ---- The urgent class ---- */

static void expect_class(CintTest *t, uint64_t records, uint8_t class)
{
    g_assert_cmpuint(cint_status(t, records, 1).class, ==, class);
}

/* A driver knows of CDW0 only. */
static void test_class_by_place(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 2);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_zero(t);
    submit(t, sq, URGENT, NONE);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    expect_class(t, records, CINT_CLASS_URGENT);
    submit(t, sq, NONE, URGENT);
    cint_expect_irq_at(t, sq->cq, 2 * CINT_LATENCY);
    expect_class(t, records, CINT_CLASS_FULL);
    submit(t, sq, BARRIER, NONE);
    cint_expect_irq_at(t, sq->cq, 3 * CINT_LATENCY);
    expect_class(t, records, CINT_CLASS_FULL);
    submit(t, sq, URGENT, URGENT);
    cint_expect_irq_at(t, sq->cq, 4 * CINT_LATENCY);
    expect_class(t, records, CINT_CLASS_URGENT);
    cint_shutdown(t);
}

/* Unmarked completions are released under an endless Urgent stream. */
static void test_no_starvation(void)
{
    CintTest *t = cint_boot(CINT_PURE CINT ",cint.thr=10");
    CintDriver *d = cint_driver_new(t, cint_queues(t, 1),
                                    cint_records_on(t, 2));
    int i;

    cint_zero(t);
    cint_driver_read(d, NONE);
    qnvme_ring_sq(d->sq);
    for (i = 1; i <= 9; i++) {
        cint_run_to(t, i * 5000);
        cint_driver_read(d, URGENT);
        qnvme_ring_sq(d->sq);
        cint_driver_expect_irq_at(d, i * 5000 + CINT_LATENCY, i < 9 ? 1 : 2);
    }
    g_assert_cmpuint(d->cq->reaped, ==, 10);
    cint_expect_reason(t, d->cq, THR, 1);
    cint_expect_reason(t, d->cq, URGENT, 8);
    cint_driver_free(d);
    cint_shutdown(t);
}

/* Urgent entries with no other before them do not count, reaped or not. */
static void test_urgent_alone_does_not_count(void)
{
    CintTest *t = cint_boot(CINT_PURE CINT ",cint.thr=9");
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    cint_records_on(t, 2);
    cint_zero(t);
    for (i = 0; i < 10; i++) {
        submit(t, sq, URGENT, NONE);
        cint_expect_irq_at(t, sq->cq, (i + 1) * CINT_LATENCY);
    }
    submit(t, sq, NONE, NONE);
    cint_expect_irq_at(t, sq->cq, 11 * CINT_LATENCY + 6000);
    cint_expect_reason(t, sq->cq, QUIET, 1);
    cint_expect_reason(t, sq->cq, URGENT, 10);
    cint_check_record(t, 1);
    cint_shutdown(t);
}

static void test_max_hold_ends_urgent_stream(void)
{
    CintTest *t = cint_boot(CINT_EXACT ",cint.drain=off,cint.max-hold=12000"
                            CINT);
    CintDriver *d = cint_driver_new(t, cint_queues(t, 1),
                                    cint_records_on(t, 2));
    int i;

    cint_zero(t);
    cint_driver_read(d, NONE);
    qnvme_ring_sq(d->sq);
    for (i = 1; i <= 2; i++) {
        cint_run_to(t, i * 5000);
        cint_driver_read(d, URGENT);
        qnvme_ring_sq(d->sq);
        cint_driver_expect_irq_at(d, i * 5000 + CINT_LATENCY, 1);
    }
    cint_driver_expect_irq_at(d, 12000 + CINT_LATENCY, 1);
    cint_expect_reason(t, d->cq, MAX_HOLD, 1);
    g_assert_cmpuint(d->cq->reaped, ==, 3);
    cint_driver_free(d);
    cint_shutdown(t);
}

/* Switched off and on while in use. */
static void test_ooo_property(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 2);
    QNvmeSq *sq = cint_queues(t, 1);

    qtest_qom_set_bool(t->qts, "/machine/peripheral/nvme0", "cint.ooo", false);
    cint_zero(t);
    submit(t, sq, NONE, NONE);
    submit(t, sq, URGENT, NONE);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    expect_class(t, records, CINT_CLASS_FULL);
    g_assert_cmpuint(cint_status(t, records, 1).full_tail, ==, 2);
    qtest_qom_set_bool(t->qts, "/machine/peripheral/nvme0", "cint.ooo", true);
    submit(t, sq, URGENT, NONE);
    cint_expect_irq_at(t, sq->cq, 2 * CINT_LATENCY);
    expect_class(t, records, CINT_CLASS_URGENT);
    g_assert_cmpuint(cint_status(t, records, 1).full_tail, ==, 2);
    cint_shutdown(t);
}

/* Feature 09h: no coalescing on the vector, hence no class either. */
static void test_disabled_vector(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 2);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_zero(t);
    submit(t, sq, NONE, NONE);
    cint_expect_quiet_to(t, sq->cq, 2000);
    g_assert_cmphex(qnvme_set_feature(t->nvme, NVME_INTERRUPT_VECTOR_CONF,
                                      NVME_INTVC_NOCOALESCING | 1, NULL, NULL),
                    ==, 0);
    cint_expect_irq_now(t, sq->cq);
    submit(t, sq, URGENT, NONE);
    cint_expect_irq_at(t, sq->cq, 2000 + CINT_LATENCY);
    expect_class(t, records, CINT_CLASS_FULL);
    submit(t, sq, NONE, NONE);
    cint_expect_irq_at(t, sq->cq, 2000 + 2 * CINT_LATENCY);
    cint_expect_reason(t, sq->cq, EACH, 2);
    g_assert_cmpuint(cint_status(t, records, 1).full_tail, ==, 3);
    cint_shutdown(t);
}

/* Each queue by its own configuration, the class of one is no other's. */
static void test_queues_differ(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 3);
    NvmeCintFeature f = cint_get_config(t, NVME_CINT_ALL_CQS, 0);
    QNvmeSq *one = cint_queues(t, 1), *two = cint_queues(t, 2);

    f.flags = 0;
    g_assert_cmphex(cint_set_config(t, 2, &f), ==, 0);
    cint_zero(t);
    submit(t, one, URGENT, NONE);
    submit(t, two, URGENT, NONE);
    cint_expect_irq_at(t, one->cq, CINT_LATENCY);
    g_assert_true(qnvme_take_irq(t->nvme, 2));
    expect_class(t, records, CINT_CLASS_URGENT);
    g_assert_cmpuint(cint_status(t, records, 1).full_tail, ==, 0);
    g_assert_cmpuint(cint_status(t, records, 2).class, ==, CINT_CLASS_FULL);
    g_assert_cmpuint(cint_status(t, records, 2).full_tail, ==, 1);
    cint_shutdown(t);
}

/* A queue without interrupts has none of either class. */
static void test_silent_queue(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 2);
    QNvmeCq *cq = NULL;
    QNvmeSq *sq;

    g_assert_cmphex(qnvme_try_create_cq(t->nvme, 1, 64, 1, false, &cq), ==, 0);
    sq = qnvme_create_sq(t->nvme, 1, 64, cq);
    submit(t, sq, URGENT, NONE);
    submit(t, sq, BARRIER, NONE);
    cint_run(t, CINT_SECOND);
    g_assert_cmpuint(qnvme_visible(cq), ==, 2);
    g_assert_false(qnvme_irq_pending(t->nvme, 1));
    g_assert_cmpuint(cint_status(t, records, 1).seq, ==, 0);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/hint/" name, run)
#define ADD_DATA(name, run, data) \
    qtest_add_data_func("/nvme-cint/hint/" name, data, run)
    ADD("place/union-of-both", test_places);
    ADD("place/commands-other-than-reads", test_other_commands);
    ADD("place/extended-commands", test_extended_commands);
    ADD("place/access-latency", test_access_latency);
    ADD("place/data-is-not-disturbed", test_data);
    ADD("place/admin-commands", test_admin);
    ADD("place/failing-commands", test_failing_commands);
    ADD("policy/defaults", test_defaults);
    ADD_DATA("policy/adaptive-ignores-them", test_other_policies,
             ",cint.policy=adaptive,cint.delta=10000");
    ADD_DATA("policy/static-ignores-them", test_other_policies,
             ",cint.policy=static,cint.static-time=10000,cint.static-thr=8");
    ADD_DATA("barrier/strict-and-aborts", test_strict_and_aborts, "strict");
    ADD_DATA("barrier/generation-and-aborts", test_strict_and_aborts,
             "generation");
    ADD_DATA("barrier/strict-and-deletion", test_strict_and_deletion,
             "strict");
    ADD_DATA("barrier/generation-and-deletion", test_strict_and_deletion,
             "generation");
    ADD("class/urgent-from-cdw0-only", test_class_by_place);
    ADD("class/unmarked-are-released-by-thr", test_no_starvation);
    ADD("class/urgent-alone-does-not-count",
        test_urgent_alone_does_not_count);
    ADD("class/unmarked-are-released-by-max-hold",
        test_max_hold_ends_urgent_stream);
    ADD("class/property-ooo", test_ooo_property);
    ADD("class/vector-without-coalescing", test_disabled_vector);
    ADD("class/queues-differ", test_queues_differ);
    ADD("class/queue-without-interrupts", test_silent_queue);
#undef ADD
#undef ADD_DATA
    return g_test_run();
}
