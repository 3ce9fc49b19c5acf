/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Status records (feature D1h): what stands in a record and when, and how
 * records come and go while completions are pending.
 */
#include "qemu/osdep.h"
#include "nvme-cint-driver.h"

/* Holds back so long that anything sooner has another reason. */
#define PATIENT     ",cint.policy=cint,cint.delta=1000000000,cint.thr=65535," \
                    "cint.max-hold=10000000000"

enum {
    NONE = NVME_CINT_HINT_NONE,
    URGENT = NVME_CINT_HINT_URGENT,
    BARRIER = NVME_CINT_HINT_BARRIER,
};

static void expect_setting(CintTest *t, uint8_t sel, uint64_t addr,
                           uint32_t records)
{
    uint64_t found_addr;
    uint32_t found_records;

    cint_get_status(t, sel, &found_addr, &found_records);
    g_assert_cmphex(found_addr, ==, addr);
    g_assert_cmpuint(found_records, ==, records);
}

/* True if @count bytes at @addr are all @value. */
static bool holds(CintTest *t, uint64_t addr, size_t count, uint8_t value)
{
    g_autofree uint8_t *bytes = g_malloc(count);
    size_t i = 0;

    qtest_memread(t->qts, addr, bytes, count);
    while (i < count && bytes[i] == value) {
        i++;
    }
    return i == count;
}

static bool is_untouched(CintTest *t, uint64_t records, uint16_t cqid)
{
    return holds(t, records + cqid * CINT_RECORD_SIZE, CINT_RECORD_SIZE, 0xa5);
}

#define expect_class(t, records, cqid, expected) \
    g_assert_cmpuint(cint_status(t, records, cqid).class, ==, \
                     CINT_CLASS_ ## expected)

#define expect_status(t, records, cqid, full_tail_, tail_, seq_) \
    do { \
        CintStatus s_ = cint_status(t, records, cqid); \
        g_assert_cmpuint(s_.full_tail, ==, full_tail_); \
        g_assert_cmpuint(s_.tail, ==, tail_); \
        g_assert_cmpuint(s_.seq, ==, seq_); \
    } while (0)

/* ---- What stands in a record ---- */

static void test_counts(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 2);
    QNvmeSq *sq = cint_queues(t, 1);
    CintStatus s;

    cint_zero(t);
    expect_status(t, records, 1, 0, 0, 0);
    cint_read_hint(t, sq, URGENT);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    expect_status(t, records, 1, 0, 1, 1);
    cint_read_hint(t, sq, NONE);
    cint_expect_quiet_to(t, sq->cq, 2000);
    /* Posted, and no interrupt: nothing is written. */
    expect_status(t, records, 1, 0, 1, 1);
    cint_read_hint(t, sq, BARRIER);
    cint_expect_irq_at(t, sq->cq, 2000 + CINT_LATENCY);
    expect_status(t, records, 1, 3, 3, 2);
    s = cint_status(t, records, 1);
    g_assert_cmpuint(s.class, ==, CINT_CLASS_FULL);
    g_assert_cmpuint(s.reason, ==, NVME_CINT_REASON_BARRIER);
    cint_read_hint(t, sq, URGENT);
    cint_expect_irq_at(t, sq->cq, 2000 + 2 * CINT_LATENCY);
    expect_status(t, records, 1, 3, 4, 3);
    s = cint_status(t, records, 1);
    g_assert_cmpuint(s.class, ==, CINT_CLASS_URGENT);
    g_assert_cmpuint(s.reason, ==, NVME_CINT_REASON_URGENT);
    g_assert_true(holds(t, records + CINT_RECORD_SIZE + 10, 2, 0));
    g_assert_true(holds(t, records + CINT_RECORD_SIZE + 16, 48, 0));
    cint_shutdown(t);
}

/* An Urgent and a full one before the guest looks: full_tail tells of both. */
static void test_merged(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 2);
    CintDriver *d = cint_driver_new(t, cint_queues(t, 1), records);

    cint_driver_read(d, NONE);
    cint_driver_read(d, BARRIER);
    cint_driver_read(d, NONE);
    cint_driver_read(d, URGENT);
    qnvme_ring_sq(d->sq);
    cint_run(t, 1000);
    expect_status(t, records, 1, 2, 4, 2);
    expect_class(t, records, 1, URGENT);
    g_assert_true(cint_driver_interrupt(d));
    g_assert_cmpuint(d->completed, ==, 3);
    cint_driver_rest(d);
    cint_driver_free(d);
    cint_shutdown(t);
}

/* full_tail counts entries of all rounds of a small queue. */
static void test_many_rounds(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=cint,cint.thr=5");
    uint64_t records = cint_records_on(t, 2);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 16, 1);
    CintDriver *d = cint_driver_new(t, qnvme_create_sq(t->nvme, 1, 64, cq),
                                    records);
    NvmeCintLogRecord r;
    int i;

    for (i = 0; i < 300; i++) {
        cint_driver_read(d, i % 3 == 0 ? URGENT : NONE);
        cint_driver_read(d, i % 7 == 0 ? BARRIER : NONE);
        qnvme_ring_sq(d->sq);
        cint_run(t, i % 2 * 1000 + 100);
        cint_driver_interrupt(d);
    }
    cint_driver_rest(d);
    r = cint_record(t, 1);
    g_assert_cmpuint(r.cqes, ==, 600);
    g_assert_cmpuint(r.irqs_urgent, >, 50);
    expect_status(t, records, 1, 600, 600, r.irqs_full + r.irqs_urgent);
    cint_check_record(t, 1);
    cint_driver_free(d);
    cint_shutdown(t);
}

/*
 * A queue's message that is written into its own record: what is found there
 * afterwards is what was written last.
 */
static void test_before_the_message(void)
{
    static const uint32_t data = 0x5a5a5a5a;
    static const uint8_t fields[] = { 0, 4, 8, 12, 60 };
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=default");
    uint64_t records = cint_records_on(t, 2);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < ARRAY_SIZE(fields); i++) {
        uint64_t addr = records + CINT_RECORD_SIZE + fields[i];

        qnvme_vector_target(t->nvme, 1, addr, data, false);
        cint_read(t, sq, 1);
        cint_run(t, 1000);
        g_assert_cmphex(qtest_readl(t->qts, addr), ==, data);
    }
    cint_shutdown(t);
}

/* Record 1 lies over the first four entries of CQ 1. */
static void test_after_the_cqe(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=default");
    QNvmeSq *sq = cint_queues(t, 1);
    uint64_t records = sq->cq->addr - CINT_RECORD_SIZE;

    g_assert_cmphex(cint_set_status(t, records, 2, 0), ==, 0);
    cint_read(t, sq, 1);
    cint_run(t, 1000);
    expect_status(t, records, 1, 1, 1, 1);
    cint_shutdown(t);
}

/* ---- Queues with and without a record ---- */

static void test_creation_clears(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 4);

    qnvme_create_cq(t->nvme, 2, 64, 2);
    g_assert_true(is_untouched(t, records, 1));
    g_assert_true(holds(t, records + 2 * CINT_RECORD_SIZE, CINT_RECORD_SIZE,
                        0));
    g_assert_true(is_untouched(t, records, 3));
    cint_shutdown(t);
}

static void test_queue_without_record(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_new(t, 4);
    QNvmeSq *sqs[4];
    int id;

    g_assert_cmphex(cint_set_status(t, records, 2, 0), ==, 0);
    for (id = 1; id <= 3; id++) {
        sqs[id] = cint_queues(t, id);
    }
    cint_zero(t);
    for (id = 1; id <= 3; id++) {
        cint_read_hint(t, sqs[id], NONE);
        cint_read_hint(t, sqs[id], URGENT);
    }
    cint_run_to(t, CINT_LATENCY);
    for (id = 1; id <= 3; id++) {
        g_assert_true(qnvme_take_irq(t->nvme, id));
        g_assert_cmpuint(cint_record(t, id).irqs_urgent, ==, id == 1);
        g_assert_cmpuint(cint_record(t, id).irqs_full, ==, id != 1);
    }
    g_assert_true(is_untouched(t, records, 2));
    g_assert_true(is_untouched(t, records, 3));
    cint_shutdown(t);
}

/* A message tells of one queue only, whoever else is on its vector. */
static void test_shared_vector(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=cint,cint.delta=6000");
    uint64_t records = cint_records_on(t, 3);
    QNvmeSq *sqs[3];
    int id;

    for (id = 1; id <= 2; id++) {
        sqs[id] = qnvme_create_sq(t->nvme, id, 64,
                                  qnvme_create_cq(t->nvme, id, 64, 1));
    }
    cint_zero(t);
    cint_read_hint(t, sqs[1], NONE);
    cint_read_hint(t, sqs[2], URGENT);
    cint_expect_irq_at(t, sqs[2]->cq, CINT_LATENCY);
    expect_status(t, records, 1, 0, 0, 0);
    expect_status(t, records, 2, 0, 1, 1);
    cint_expect_irq_at(t, sqs[1]->cq, CINT_LATENCY + 6000);
    expect_status(t, records, 1, 1, 1, 1);
    expect_status(t, records, 2, 0, 1, 1);
    cint_shutdown(t);
}

static void test_deleted_queue(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 3);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeCq *cq = sq->cq;

    cint_read_hint(t, sq, URGENT);
    cint_read_hint(t, sq, NONE);
    cint_run(t, 1000);
    qnvme_take_irq(t->nvme, 1);
    qnvme_delete_sq(sq);
    qnvme_delete_cq(cq);
    qtest_memset(t->qts, records, 0xa5, 3 * CINT_RECORD_SIZE);
    cint_read_hint(t, cint_queues(t, 2), URGENT);
    cint_run(t, 2 * CINT_SECOND);
    g_assert_true(is_untouched(t, records, 1));
    expect_status(t, records, 2, 0, 1, 1);
    /* The next one with this identifier starts from 0. */
    sq = cint_queues(t, 1);
    expect_status(t, records, 1, 0, 0, 0);
    cint_read_hint(t, sq, URGENT);
    cint_run(t, 1000);
    expect_status(t, records, 1, 0, 1, 1);
    cint_shutdown(t);
}

static void test_reset_clears(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 2);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read_hint(t, sq, NONE);
    cint_run(t, 1000);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    expect_setting(t, 0, 0, 0);
    qtest_memset(t->qts, records, 0xa5, 2 * CINT_RECORD_SIZE);
    sq = cint_queues(t, 1);
    cint_zero(t);
    cint_read_hint(t, sq, URGENT);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    g_assert_cmpuint(cint_record(t, 1).irqs_urgent, ==, 0);
    g_assert_true(is_untouched(t, records, 1));
    cint_shutdown(t);
}

/* ---- On and off with CQEs pending ---- */

/* Three are pending; the interrupt for the first Urgent was taken. */
static CintDriver *pending(CintTest *t, uint64_t records)
{
    CintDriver *d = cint_driver_new(t, cint_queues(t, 1), records);

    cint_driver_read(d, URGENT);
    qnvme_ring_sq(d->sq);
    cint_run(t, 1000);
    g_assert_true(cint_driver_interrupt(d));
    cint_driver_read(d, NONE);
    cint_driver_read(d, NONE);
    qnvme_ring_sq(d->sq);
    cint_run(t, 1000);
    g_assert_false(qnvme_irq_pending(t->nvme, 1));
    g_assert_cmpuint(d->completed, ==, 1);
    return d;
}

static void test_switched_off(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t records = cint_records_on(t, 2);
    CintDriver *d = pending(t, records);

    /* The driver stops reaping out of order first. */
    d->records = 0;
    g_assert_cmphex(cint_set_status(t, 0, 0, 0), ==, 0);
    g_assert_true(cint_driver_interrupt(d));
    g_assert_cmpuint(d->completed, ==, 3);
    cint_expect_reason(t, d->cq, RECONF, 1);
    qtest_memset(t->qts, records, 0xa5, 2 * CINT_RECORD_SIZE);
    cint_driver_read(d, NONE);
    cint_driver_read(d, URGENT);
    qnvme_ring_sq(d->sq);
    cint_run(t, 1000);
    g_assert_true(cint_driver_interrupt(d));
    g_assert_cmpuint(d->completed, ==, 5);
    g_assert_true(is_untouched(t, records, 1));
    cint_driver_free(d);
    cint_shutdown(t);
}

/* An Urgent behind unmarked ones is pending too: nobody may depend on it. */
static void test_switched_off_before_the_guest_looked(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    CintDriver *d = pending(t, cint_records_on(t, 2));

    cint_driver_read(d, URGENT);
    qnvme_ring_sq(d->sq);
    cint_run(t, 1000);
    d->records = 0;
    g_assert_cmphex(cint_set_status(t, 0, 0, 0), ==, 0);
    cint_driver_rest(d);
    cint_driver_free(d);
    cint_shutdown(t);
}

/* All that was posted before counts as told: the driver had no records. */
static void test_switched_on(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    CintDriver *d = pending(t, 0);

    d->records = cint_records_on(t, 2);
    expect_status(t, d->records, 1, 3, 3, cint_status(t, d->records, 1).seq);
    g_assert_true(is_untouched(t, d->records, 0) ||
                  holds(t, d->records, CINT_RECORD_SIZE, 0));
    cint_driver_read(d, URGENT);
    qnvme_ring_sq(d->sq);
    cint_run(t, 1000);
    expect_class(t, d->records, 1, URGENT);
    g_assert_true(cint_driver_interrupt(d));
    g_assert_cmpuint(d->completed, ==, 4);
    cint_driver_rest(d);
    cint_driver_free(d);
    cint_shutdown(t);
}

static void test_moved(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    uint64_t before = cint_records_on(t, 2);
    CintDriver *d = pending(t, before);

    d->records = cint_records_on(t, 2);
    expect_setting(t, 0, d->records, 2);
    qtest_memset(t->qts, before, 0xa5, 2 * CINT_RECORD_SIZE);
    cint_driver_rest(d);
    g_assert_true(is_untouched(t, before, 1));
    cint_driver_free(d);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/status/" name, run)
    ADD("record/counts-class-and-reason", test_counts);
    ADD("record/urgent-merged-with-full", test_merged);
    ADD("record/counts-on-over-many-rounds", test_many_rounds);
    ADD("record/is-written-before-the-message", test_before_the_message);
    ADD("record/is-written-after-the-cqe", test_after_the_cqe);
    ADD("queue/creation-clears-its-record", test_creation_clears);
    ADD("queue/without-record-is-never-urgent", test_queue_without_record);
    ADD("queue/two-on-one-vector", test_shared_vector);
    ADD("queue/deleted-writes-nothing", test_deleted_queue);
    ADD("queue/reset-switches-off", test_reset_clears);
    ADD("pending/switched-off", test_switched_off);
    ADD("pending/switched-off-before-the-guest-looked",
        test_switched_off_before_the_guest_looked);
    ADD("pending/switched-on", test_switched_on);
    ADD("pending/moved", test_moved);
#undef ADD
    return g_test_run();
}
