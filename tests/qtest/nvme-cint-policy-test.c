/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * When interrupts come, to the nanosecond, under each policy, and the rules
 * that hold under all of them.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-common.h"

#define DEFAULT     ",cint.policy=default"
#define STATIC      ",cint.policy=static,cint.static-time=10000," \
                    "cint.static-thr=8"
#define ADAPTIVE    ",cint.policy=adaptive,cint.delta=6000,cint.thr=8"
/* Holds back so long that anything sooner has another reason. */
#define PATIENT     ",cint.policy=adaptive,cint.delta=1000000000,cint.thr=65535"

/* ---- Policies ---- */

static void test_default_each_cqe(void)
{
    CintTest *t = cint_boot(CINT_PURE DEFAULT);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_count_messages(t, 1);
    cint_read(t, sq, 5);
    cint_run_to(t, CINT_LATENCY - 1);
    g_assert_cmpuint(cint_messages(t), ==, 0);
    cint_run_to(t, CINT_LATENCY);
    g_assert_cmpuint(cint_messages(t), ==, 5);
    cint_expect_reason(t, sq->cq, EACH, 5);
    cint_shutdown(t);
}

static void test_default_batched(void)
{
    CintTest *t = cint_boot(CINT_PURE DEFAULT ",cint.each-cqe=off");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_count_messages(t, 1);
    cint_read(t, sq, 5);
    cint_run_to(t, CINT_LATENCY);
    g_assert_cmpuint(cint_messages(t), ==, 1);
    cint_run(t, CINT_SECOND);
    g_assert_cmpuint(cint_messages(t), ==, 1);
    cint_expect_reason(t, sq->cq, EACH, 1);
    g_assert_cmpuint(cint_record(t, 1).cqes, ==, 5);
    cint_shutdown(t);
}

static void test_static_lone_completion(void)
{
    CintTest *t = cint_boot(CINT_PURE STATIC);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 10000);
    cint_expect_reason(t, sq->cq, TIME, 1);
    cint_shutdown(t);
}

static void test_static_threshold(void)
{
    CintTest *t = cint_boot(CINT_PURE STATIC);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 7);
    cint_expect_quiet_to(t, sq->cq, 2000);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, 2000 + CINT_LATENCY);
    cint_expect_reason(t, sq->cq, THR, 1);
    cint_expect_quiet_to(t, sq->cq, CINT_SECOND);
    cint_shutdown(t);
}

/* A guest that polls and leaves one CQE behind does not restart the timer. */
static void test_static_anchor(void)
{
    CintTest *t = cint_boot(CINT_PURE STATIC);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_run_to(t, 3000);
    cint_read(t, sq, 1);
    cint_run_to(t, 5000);
    qnvme_reap(sq->cq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 10000);
    cint_shutdown(t);
}

static void test_adaptive_burst(void)
{
    CintTest *t = cint_boot(CINT_PURE ADAPTIVE);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < 5; i++) {
        cint_run_to(t, i * 5999);
        cint_read(t, sq, 1);
    }
    cint_expect_irq_at(t, sq->cq, 4 * 5999 + CINT_LATENCY + 6000);
    cint_expect_reason(t, sq->cq, QUIET, 1);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 5);
    cint_shutdown(t);
}

static void test_adaptive_threshold(void)
{
    CintTest *t = cint_boot(CINT_PURE ADAPTIVE);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 8);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_reason(t, sq->cq, THR, 1);
    cint_expect_quiet_to(t, sq->cq, CINT_SECOND);
    cint_shutdown(t);
}

/* 19 = 8 + 8 + 3: the rest of a batch waits for its own quiet time. */
static void test_adaptive_remainder(void)
{
    CintTest *t = cint_boot(CINT_PURE ADAPTIVE);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 19);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_reason(t, sq->cq, THR, 2);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 3);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 6000);
    cint_expect_reason(t, sq->cq, QUIET, 1);
    cint_shutdown(t);
}

/* Each interrupt is one message, however many CQEs it covers. */
static void test_adaptive_messages(void)
{
    CintTest *t = cint_boot(CINT_PURE ADAPTIVE);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_count_messages(t, 1);
    cint_read(t, sq, 19);
    cint_run_to(t, CINT_LATENCY);
    g_assert_cmpuint(cint_messages(t), ==, 2);
    cint_run_to(t, CINT_LATENCY + 5999);
    g_assert_cmpuint(cint_messages(t), ==, 2);
    cint_run_to(t, CINT_LATENCY + 6000);
    g_assert_cmpuint(cint_messages(t), ==, 3);
    cint_run(t, CINT_SECOND);
    g_assert_cmpuint(cint_messages(t), ==, 3);
    cint_shutdown(t);
}

/* ---- Rules beside the policy ---- */

static void test_max_hold_bounds_adaptive(void)
{
    CintTest *t = cint_boot(CINT_EXACT ADAPTIVE ",cint.max-hold=10000");
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < 3; i++) {
        cint_run_to(t, i * 5000);
        cint_read(t, sq, 1);
    }
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 10000);
    cint_expect_reason(t, sq->cq, MAX_HOLD, 1);
    cint_shutdown(t);
}

static void test_max_hold_bounds_static(void)
{
    CintTest *t = cint_boot(CINT_EXACT STATIC ",cint.max-hold=9999");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 9999);
    cint_expect_reason(t, sq->cq, MAX_HOLD, 1);
    cint_shutdown(t);
}

static void test_max_hold_default(void)
{
    CintTest *t = cint_boot(CINT_EXACT PATIENT);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 10000000);
    cint_shutdown(t);
}

static void test_drain_on(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT ",cint.drain=on");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_run_to(t, 300);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, 300 + CINT_LATENCY);
    cint_expect_reason(t, sq->cq, DRAIN, 1);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 2);
    cint_shutdown(t);
}

static void test_drain_auto(void)
{
    CintTest *t = cint_boot(CINT_EXACT ADAPTIVE ",cint.drain=auto");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 6000);
    cint_expect_reason(t, sq->cq, DRAIN, 0);
    cint_shutdown(t);
}

static void test_pressure(void)
{
    static const int64_t times[] = { 24, 26, 28, 30, 31 };
    CintTest *t = cint_boot(CINT_PURE PATIENT ",cint.media.units=1");
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 32, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);
    int i;

    cint_read(t, sq, 31);
    for (i = 0; i < ARRAY_SIZE(times); i++) {
        cint_expect_irq_at(t, cq, times[i] * CINT_LATENCY);
        cint_expect_reason(t, cq, PRESSURE, i + 1);
    }
    cint_expect_quiet_to(t, cq, CINT_SECOND);
    g_assert_cmpuint(qnvme_visible(cq), ==, 31);
    cint_shutdown(t);
}

/* A guest that keeps the queue below three quarters never feels it. */
static void test_no_pressure(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 32, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);
    int i;

    for (i = 0; i < 10; i++) {
        cint_read(t, sq, 23);
        cint_expect_quiet_to(t, cq, (i + 1) * 1000);
        qnvme_reap(cq, 23);
    }
    cint_expect_quiet_to(t, cq, CINT_SECOND / 2);
    g_assert_cmpuint(cint_record(t, 1).avoided, ==, 10);
    cint_shutdown(t);
}

static void test_threshold_is_clamped(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT ",cint.media.units=1");
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 4, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);

    cint_read(t, sq, 2);
    cint_expect_irq_at(t, cq, 2 * CINT_LATENCY);
    cint_expect_reason(t, cq, THR, 1);
    g_assert_cmpuint(cint_record(t, 1).thr, ==, 2);
    cint_shutdown(t);
}

static void test_error_interrupts(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 2);
    cint_expect_quiet_to(t, sq->cq, 5000);
    qnvme_push_invalid(sq);
    qnvme_ring_sq(sq);
    cint_expect_irq_now(t, sq->cq);
    cint_expect_reason(t, sq->cq, ERROR, 1);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 0);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 3);
    cint_expect_quiet_to(t, sq->cq, 3 * CINT_SECOND);
    cint_shutdown(t);
}

static void test_admin_queue(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    NvmeCmd identify = {
        .opcode = NVME_ADM_CMD_IDENTIFY,
        .cdw10 = cpu_to_le32(NVME_ID_CNS_CTRL),
        .dptr.prp1 = cpu_to_le64(t->buf.addr),
    };
    int i;

    for (i = 0; i < 3; i++) {
        qnvme_push(&t->nvme->admin_sq, &identify);
        qnvme_ring_sq(&t->nvme->admin_sq);
        cint_expect_irq_now(t, &t->nvme->admin_cq);
        qnvme_reap(&t->nvme->admin_cq, 1);
    }
    cint_shutdown(t);
}

/* An interrupt of the admin queue is not one of a CQ on the same vector. */
static void test_vector_of_admin_queue(void)
{
    CintTest *t = cint_boot(CINT_PURE STATIC);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 64, 0);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);

    cint_read(t, sq, 1);
    cint_run_to(t, 1000);
    /* Takes vector 0's interrupt along. */
    qnvme_identify(t->nvme, NVME_ID_CNS_CTRL, 0, &t->buf);
    cint_expect_irq_at(t, cq, CINT_LATENCY + 10000);
    cint_shutdown(t);
}

static void test_ien_off(const void *policy)
{
    g_autofree char *opts = g_strconcat(CINT_EXACT, policy, NULL);
    CintTest *t = cint_boot(opts);
    QNvmeCq *cq = NULL;
    QNvmeSq *sq;

    g_assert_cmphex(qnvme_try_create_cq(t->nvme, 1, 16, 1, false, &cq), ==, 0);
    sq = qnvme_create_sq(t->nvme, 1, 64, cq);
    cint_read(t, sq, 20);
    qnvme_push_invalid(sq);
    qnvme_ring_sq(sq);
    cint_expect_quiet_to(t, cq, CINT_SECOND);
    g_assert_cmpuint(qnvme_visible(cq), ==, 15);
    qnvme_reap(cq, 15);
    cint_expect_quiet_to(t, cq, 2 * CINT_SECOND);
    g_assert_cmpuint(qnvme_visible(cq), ==, 6);
    g_assert_cmpuint(cint_record(t, 1).irqs_full, ==, 0);
    cint_shutdown(t);
}

/* ---- Heads ---- */

static void test_reaping_avoids_interrupt(const void *policy)
{
    g_autofree char *opts = g_strconcat(CINT_PURE, policy, NULL);
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 3);
    cint_expect_quiet_to(t, sq->cq, 2000);
    qnvme_reap(sq->cq, 3);
    cint_expect_quiet_to(t, sq->cq, CINT_SECOND / 2);
    g_assert_cmpuint(cint_record(t, 1).avoided, ==, 1);
    g_assert_cmpuint(cint_record(t, 1).irqs_full, ==, 0);
    cint_shutdown(t);
}

/* The shadow head moves without a trap: the timer has to look. */
static void test_shadow_head_avoids_interrupt(const void *policy)
{
    g_autofree char *opts = g_strconcat(CINT_PURE, policy, NULL);
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    uint64_t head = 0;

    qnvme_use_shadow_doorbells(t->nvme);
    head = t->nvme->shadow + 3 * sizeof(uint32_t);
    cint_read(t, sq, 3);
    cint_expect_quiet_to(t, sq->cq, 2000);
    qtest_writel(t->qts, head, 3);
    cint_expect_quiet_to(t, sq->cq, CINT_SECOND + 5000);
    g_assert_cmpuint(cint_record(t, 1).irqs_full, ==, 0);
    cint_shutdown(t);
}

/* Stock QEMU posts again when the head moves, and interrupts again. */
/*
 * What was consumed by the shadow head before another CQE is posted is not told
 * of with that one: none of these is the second that nobody has consumed.
 */
static void test_shadow_head_before_a_cqe(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=adaptive,cint.thr=2,"
                            "cint.delta=1000000000");
    QNvmeSq *sq = cint_queues(t, 1);
    uint64_t head;
    int i;

    qnvme_use_shadow_doorbells(t->nvme);
    head = t->nvme->shadow + 3 * sizeof(uint32_t);
    for (i = 1; i <= 20; i++) {
        cint_read(t, sq, 1);
        cint_run(t, CINT_LATENCY);
        qnvme_wait_cqes(sq->cq, 1);
        g_assert_false(qnvme_irq_pending(t->nvme, 1));
        qnvme_consume(sq->cq, 1);
        qtest_writel(t->qts, head, sq->cq->head);
    }
    cint_shutdown(t);
}

static void test_head_alone(const void *shadow)
{
    CintTest *t = cint_boot(CINT_PURE DEFAULT);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 8, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);
    int i;

    if (shadow) {
        qnvme_use_shadow_doorbells(t->nvme);
    }
    cint_read(t, sq, 7);
    cint_expect_irq_at(t, cq, CINT_LATENCY);
    for (i = 0; i < 7; i++) {
        qnvme_reap(cq, 1);
        cint_expect_quiet_to(t, cq, cint_now(t) + 1000);
    }
    g_assert_cmpuint(cint_record(t, 1).irqs_full, ==, 7);
    cint_shutdown(t);
}

/* ---- Several queues ---- */

static void test_two_sqs_one_cq(void)
{
    CintTest *t = cint_boot("cint=on,cint.time=virtual,cint.media=custom,"
                            "cint.media.read-latency=400,"
                            "cint.media.write-latency=1400,cint.drain=on,"
                            "cint.max-hold=0" PATIENT);
    QNvmeSq *first = cint_queues(t, 1);
    QNvmeSq *second = qnvme_create_sq(t->nvme, 2, 64, first->cq);

    qnvme_push_write(second, &t->buf, 0, 4096);
    qnvme_ring_sq(second);
    cint_read(t, first, 3);
    cint_expect_irq_at(t, first->cq, 1400);
    cint_expect_reason(t, first->cq, DRAIN, 1);
    g_assert_cmpuint(qnvme_visible(first->cq), ==, 4);
    cint_shutdown(t);
}

static void test_two_cqs_one_vector(void)
{
    CintTest *t = cint_boot(CINT_PURE ADAPTIVE);
    QNvmeCq *one = qnvme_create_cq(t->nvme, 1, 64, 1);
    QNvmeCq *two = qnvme_create_cq(t->nvme, 2, 64, 1);
    QNvmeSq *sq_one = qnvme_create_sq(t->nvme, 1, 64, one);
    QNvmeSq *sq_two = qnvme_create_sq(t->nvme, 2, 64, two);

    cint_read(t, sq_one, 1);
    cint_run_to(t, 1000);
    cint_read(t, sq_two, 1);
    cint_expect_irq_at(t, one, CINT_LATENCY + 6000);
    cint_expect_irq_at(t, two, 1000 + CINT_LATENCY + 6000);
    cint_expect_reason(t, one, QUIET, 1);
    cint_expect_reason(t, two, QUIET, 1);
    cint_shutdown(t);
}

static void test_queues_are_independent(void)
{
    CintTest *t = cint_boot(CINT_PURE STATIC);
    QNvmeSq *one = cint_queues(t, 1);
    QNvmeSq *two = cint_queues(t, 2);

    cint_read(t, one, 7);
    cint_read(t, two, 7);
    cint_expect_quiet_to(t, one->cq, 2000);
    cint_read(t, two, 1);
    cint_expect_irq_at(t, two->cq, 2000 + CINT_LATENCY);
    cint_expect_irq_at(t, one->cq, CINT_LATENCY + 10000);
    cint_shutdown(t);
}

/* ---- A main loop that is late ---- */

static void by_head(CintTest *t, QNvmeSq *sq)
{
    qnvme_reap(sq->cq, 3);
}

static void by_config(CintTest *t, QNvmeSq *sq)
{
    NvmeCintFeature f = cint_get_config(t, 1, NVME_GETFEAT_SELECT_CURRENT);

    f.static_thr = cpu_to_le16(51);
    g_assert_cmphex(cint_set_config(t, 1, &f), ==, 0);
}

static void by_vector(CintTest *t, QNvmeSq *sq)
{
    g_assert_cmphex(qnvme_set_feature(t->nvme, NVME_INTERRUPT_VECTOR_CONF,
                                      1 | NVME_INTVC_NOCOALESCING, NULL,
                                      NULL), ==, 0);
}

static void by_property(CintTest *t, QNvmeSq *sq)
{
    cint_set_number(t, "cint.static-thr", 51);
}

typedef struct LateEvent {
    const char *name;
    void (*run)(CintTest *t, QNvmeSq *sq);
} LateEvent;

static const LateEvent late_events[] = {
    { "head", by_head },
    { "config", by_config },
    { "vector-configuration", by_vector },
    { "property", by_property },
};

/*
 * A deadline that is due comes before the event that finds it: the machine is
 * stopped while it passes, as a main loop that is late looks to the device.
 */
static void test_late(const void *data)
{
    CintTest *t = cint_boot("cint=on,cint.time=real,cint.policy=static,"
                            "cint.static-time=1000000,cint.static-thr=50,"
                            "cint.max-hold=0,cint.drain=off");
    QNvmeSq *sq = cint_queues(t, 1);
    const LateEvent *event = data;
    NvmeCintLogRecord r;

    cint_read(t, sq, 3);
    cint_let_run(t);
    qnvme_wait_cqes(sq->cq, 3);
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    cint_run(t, 2000000);
    g_assert_false(qnvme_irq_pending(t->nvme, 1));
    event->run(t, sq);
    cint_let_run(t);

    r = cint_record(t, 1);
    g_assert_cmpuint(r.irqs_by_reason[NVME_CINT_REASON_TIME], ==, 1);
    g_assert_cmpuint(r.irqs_full, ==, 1);
    g_assert_cmpuint(r.avoided + r.untold, ==, 0);
    g_assert_cmpuint(r.lateness.sum_ns, >, 0);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    cint_shutdown(t);
}

static void add_for_holding_policies(const char *name,
                                     void (*run)(const void *policy))
{
    g_autofree char *with_static = g_strdup_printf(
        "/nvme-cint/policy/static/%s", name);
    g_autofree char *with_adaptive = g_strdup_printf(
        "/nvme-cint/policy/adaptive/%s", name);

    qtest_add_data_func(with_static, STATIC, run);
    qtest_add_data_func(with_adaptive, ADAPTIVE, run);
}

int main(int argc, char **argv)
{
    size_t i;

    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/policy/" name, run)
    ADD("default/each-cqe-has-a-message", test_default_each_cqe);
    ADD("default/batched-cqes-share-a-message", test_default_batched);
    ADD("static/lone-completion-waits-for-the-time",
        test_static_lone_completion);
    ADD("static/threshold-interrupts-at-once", test_static_threshold);
    ADD("static/partial-reaping-keeps-the-timer", test_static_anchor);
    ADD("adaptive/burst-ends-delta-after-its-last-cqe", test_adaptive_burst);
    ADD("adaptive/threshold-interrupts-at-once", test_adaptive_threshold);
    ADD("adaptive/rest-of-a-batch-waits-for-delta", test_adaptive_remainder);
    ADD("adaptive/each-interrupt-is-one-message", test_adaptive_messages);
    ADD("rules/max-hold-bounds-adaptive", test_max_hold_bounds_adaptive);
    ADD("rules/max-hold-bounds-static", test_max_hold_bounds_static);
    ADD("rules/max-hold-is-10-ms-by-default", test_max_hold_default);
    ADD("rules/drain-interrupts-when-nothing-is-in-flight", test_drain_on);
    ADD("rules/drain-is-off-by-default-under-adaptive", test_drain_auto);
    ADD("rules/pressure-interrupts-once-per-level", test_pressure);
    ADD("rules/no-pressure-below-three-quarters", test_no_pressure);
    ADD("rules/threshold-is-clamped-to-the-queue", test_threshold_is_clamped);
    ADD("rules/error-interrupts-at-once", test_error_interrupts);
    ADD("rules/admin-queue-is-not-coalesced", test_admin_queue);
    ADD("rules/admin-interrupt-leaves-other-deadlines",
        test_vector_of_admin_queue);
    ADD("rules/two-sqs-of-a-cq-drain-together", test_two_sqs_one_cq);
    ADD("rules/cqs-on-one-vector-keep-their-deadlines",
        test_two_cqs_one_vector);
    ADD("rules/queues-are-independent", test_queues_are_independent);
#undef ADD
    qtest_add_data_func("/nvme-cint/policy/rules/head-alone-never-interrupts",
                        NULL, test_head_alone);
    qtest_add_data_func("/nvme-cint/policy/rules/"
                        "shadow-head-alone-never-interrupts", "shadow",
                        test_head_alone);
    qtest_add_data_func("/nvme-cint/policy/default/"
                        "queue-with-interrupts-off-stays-silent", DEFAULT,
                        test_ien_off);
    add_for_holding_policies("queue-with-interrupts-off-stays-silent",
                             test_ien_off);
    add_for_holding_policies("reaping-avoids-the-interrupt",
                             test_reaping_avoids_interrupt);
    qtest_add_func("/nvme-cint/policy/rules/shadow-head-before-a-cqe",
                   test_shadow_head_before_a_cqe);
    add_for_holding_policies("shadow-head-avoids-the-interrupt",
                             test_shadow_head_avoids_interrupt);
    for (i = 0; i < ARRAY_SIZE(late_events); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/policy/rules/due-deadline-comes-before-%s",
            late_events[i].name);

        qtest_add_data_func(path, &late_events[i], test_late);
    }
    return g_test_run();
}
