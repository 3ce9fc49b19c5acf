/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy pointer: what reads and writes of the interrupt pointer do, and when
 * it fires. See nvme-cint-regs-test.c for where the registers are.
 */
#include "qemu/osdep.h"
#include "nvme-cint-driver.h"

/* As CINT_PURE, with a hold limit, which this policy needs. */
#define POINTER \
    CINT_EXACT ",cint.drain=off,cint.max-hold=10000000000,cint.policy=pointer"
#define ARM         NVME_CINT_POINTER_ARM
#define SPENT       NVME_CINT_POINTER_SPENT
#define OFF         0

#define expect_state(t, cq, state) \
    g_assert_cmphex(cint_get_pointer(t, cq) & (ARM | SPENT), ==, state)

static void expect_rejects(CintTest *t, QNvmeCq *cq, uint64_t count)
{
    g_assert_cmpuint(cint_record(t, cq->id).pointer_rejects, ==, count);
}

/* A queue of @entries whose head and tail stand at index @head. */
static QNvmeSq *queue_at(CintTest *t, uint32_t entries, uint32_t head)
{
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, entries, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);
    uint32_t i;

    for (i = 0; i < head; i++) {
        cint_read(t, sq, 1);
        cint_run(t, CINT_LATENCY);
        g_assert_true(qnvme_take_irq(t->nvme, 1));
        qnvme_reap(cq, 1);
    }
    cint_run(t, 1000);
    cint_zero(t);
    return sq;
}

/* Completions at 1000, 2000, ... @count times 1000, all silent but @fires. */
static void complete(CintTest *t, QNvmeSq *sq, int first, int count, int fires)
{
    int i;

    for (i = first; i < first + count; i++) {
        cint_run_to(t, i * 1000 - CINT_LATENCY);
        cint_read(t, sq, 1);
        if (i == fires) {
            cint_expect_irq_at(t, sq->cq, i * 1000);
        } else {
            cint_expect_quiet_to(t, sq->cq, i * 1000);
        }
    }
}

/* ---- States ---- */

static void test_off_at_first(void)
{
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    expect_state(t, sq->cq, OFF);
    cint_zero(t);
    for (i = 1; i <= 5; i++) {
        complete(t, sq, i, 1, i);
    }
    cint_expect_reason(t, sq->cq, EACH, 5);
    expect_state(t, sq->cq, OFF);
    cint_shutdown(t);
}

/* V8a: fires when the tail reaches the pointer, not one later; once. */
static void test_vector_a(void)
{
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = queue_at(t, 8, 6);

    cint_set_pointer(t, sq->cq, ARM | 2);
    g_assert_cmphex(cint_get_pointer(t, sq->cq), ==, ARM | 2);
    complete(t, sq, 1, 5, 4);
    g_assert_cmphex(cint_get_pointer(t, sq->cq), ==, SPENT | 2);
    cint_expect_quiet_to(t, sq->cq, CINT_SECOND);
    cint_expect_reason(t, sq->cq, POINTER, 1);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 1);
    g_assert_cmpuint(cint_record(t, 1).pointer_arms, ==, 1);
    cint_shutdown(t);
}

/* V8b: a pointer that was passed before it is written fires at the write. */
static void test_vector_b(void)
{
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = queue_at(t, 16, 0);

    cint_set_pointer(t, sq->cq, ARM | 15);
    complete(t, sq, 1, 7, 0);
    cint_expect_quiet_to(t, sq->cq, 7500);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 7);
    cint_set_pointer(t, sq->cq, ARM | 5);
    cint_expect_irq_now(t, sq->cq);
    expect_state(t, sq->cq, SPENT);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 0);
    complete(t, sq, 8, 3, 0);
    cint_expect_reason(t, sq->cq, POINTER, 1);
    cint_shutdown(t);
}

/* V8c, in a queue that is big enough to keep pressure away. */
static void test_vector_c(void)
{
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = queue_at(t, 32, 27);

    cint_set_pointer(t, sq->cq, ARM | (27 + 20) % 32);
    complete(t, sq, 1, 22, 20);
    expect_state(t, sq->cq, SPENT);
    cint_shutdown(t);
}

/* V8d, and an index that the queue does not have: no pointer at all. */
static void test_rejected(void)
{
    static const uint32_t values[] = { 6, 8, 9, 0xffff };
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = queue_at(t, 8, 6);
    int i;

    for (i = 0; i < ARRAY_SIZE(values); i++) {
        cint_set_pointer(t, sq->cq, ARM | (sq->cq->head + 3) % 8);
        complete(t, sq, 1, 1, 0);
        /* What was pending may have waited for the pointer. */
        cint_set_pointer(t, sq->cq, ARM | (values[i] == 6 ? sq->cq->head
                                                     : values[i]));
        cint_expect_irq_now(t, sq->cq);
        expect_state(t, sq->cq, OFF);
        expect_rejects(t, sq->cq, i + 1);
        complete(t, sq, 2, 1, 2);
        qnvme_reap(sq->cq, 2);
        cint_zero(t);
    }
    g_assert_cmpuint(cint_record(t, 1).pointer_arms, ==, ARRAY_SIZE(values));
    cint_shutdown(t);
}

static void test_switched_off(void)
{
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = queue_at(t, 16, 3);

    cint_set_pointer(t, sq->cq, ARM | 10);
    complete(t, sq, 1, 2, 0);
    cint_set_pointer(t, sq->cq, 10);
    cint_expect_irq_now(t, sq->cq);
    expect_state(t, sq->cq, OFF);
    complete(t, sq, 3, 1, 3);
    complete(t, sq, 4, 1, 4);
    expect_rejects(t, sq->cq, 0);
    cint_shutdown(t);
}

static void test_written_again(void)
{
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = queue_at(t, 16, 0);

    cint_set_pointer(t, sq->cq, ARM | 2);
    complete(t, sq, 1, 3, 2);
    qnvme_reap(sq->cq, 3);
    cint_set_pointer(t, sq->cq, ARM | 5);
    expect_state(t, sq->cq, ARM);
    complete(t, sq, 4, 3, 5);
    /* Moved before it was passed. */
    cint_set_pointer(t, sq->cq, ARM | 9);
    cint_set_pointer(t, sq->cq, ARM | 8);
    complete(t, sq, 7, 3, 8);
    cint_expect_reason(t, sq->cq, POINTER, 3);
    cint_shutdown(t);
}

/* A head that moves while the pointer is armed does not move the pointer. */
static void test_head_moves(void)
{
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = queue_at(t, 8, 0);

    cint_set_pointer(t, sq->cq, ARM | 7);
    complete(t, sq, 1, 4, 0);
    qnvme_reap(sq->cq, 4);
    complete(t, sq, 5, 5, 7);
    cint_shutdown(t);
}

/* ---- Beside the pointer ---- */

static void test_errors_and_pressure(void)
{
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = queue_at(t, 16, 0);
    int i;

    cint_set_pointer(t, sq->cq, ARM | 1);
    complete(t, sq, 1, 5, 1);
    qnvme_push_invalid(sq);
    qnvme_ring_sq(sq);
    cint_expect_irq_now(t, sq->cq);
    cint_expect_reason(t, sq->cq, ERROR, 1);
    complete(t, sq, 6, 5, 0);
    for (i = 11; i < 15; i++) {
        complete(t, sq, i, 1, i);
        cint_expect_reason(t, sq->cq, PRESSURE, i - 10);
    }
    expect_state(t, sq->cq, SPENT);
    cint_shutdown(t);
}

static void test_max_hold(void)
{
    CintTest *t = cint_boot(POINTER ",cint.max-hold=50000");
    QNvmeSq *sq = queue_at(t, 16, 0);

    cint_set_pointer(t, sq->cq, ARM | 9);
    complete(t, sq, 1, 2, 0);
    cint_expect_irq_at(t, sq->cq, 51000);
    cint_expect_reason(t, sq->cq, MAX_HOLD, 1);
    expect_state(t, sq->cq, ARM);
    cint_shutdown(t);
}

/* The head that counts is the one in memory, of which no doorbell told. */
static void test_shadow_head(void)
{
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = queue_at(t, 8, 0);
    QNvmeCq *cq = sq->cq;
    uint64_t shadow_head;

    qnvme_use_shadow_doorbells(t->nvme);
    shadow_head = t->nvme->shadow + 3 * sizeof(uint32_t);
    cint_set_pointer(t, cq, ARM | 3);
    complete(t, sq, 1, 3, 3);
    qnvme_consume(cq, 3);
    cq->doorbell = cq->head;
    qtest_writel(t->qts, shadow_head, cq->head);
    /* The head known before: 5 entries away from the real one. */
    cint_set_pointer(t, cq, ARM | 0);
    g_assert_cmphex(cint_get_pointer(t, cq), ==, ARM | 0);
    expect_rejects(t, cq, 0);
    complete(t, sq, 4, 5, 8);
    qnvme_consume(cq, 5);
    cq->doorbell = cq->head;
    qtest_writel(t->qts, shadow_head, cq->head);
    cint_set_pointer(t, cq, ARM | cq->head);
    expect_rejects(t, cq, 1);
    expect_state(t, cq, OFF);
    cint_expect_quiet_to(t, cq, CINT_SECOND);
    cint_shutdown(t);
}

/* ---- Entering and leaving ---- */

static void test_other_policy(void)
{
    CintTest *t = cint_boot(CINT_EXACT ",cint.drain=off,cint.delta=1000000000,"
                            "cint.thr=60,cint.policy=adaptive");
    QNvmeSq *sq = queue_at(t, 16, 0);

    cint_set_pointer(t, sq->cq, ARM | 2);
    g_assert_cmphex(cint_get_pointer(t, sq->cq), ==, 0);
    complete(t, sq, 1, 3, 0);
    cint_set_word(t, "cint.policy", "pointer");
    cint_expect_irq_now(t, sq->cq);
    cint_expect_reason(t, sq->cq, RECONF, 1);
    expect_state(t, sq->cq, OFF);
    complete(t, sq, 4, 1, 4);
    cint_set_pointer(t, sq->cq, ARM | 10);
    complete(t, sq, 5, 1, 0);
    cint_set_word(t, "cint.policy", "adaptive");
    cint_expect_irq_now(t, sq->cq);
    complete(t, sq, 6, 1, 0);
    cint_set_word(t, "cint.policy", "pointer");
    cint_expect_irq_now(t, sq->cq);
    expect_state(t, sq->cq, OFF);
    complete(t, sq, 7, 1, 7);
    cint_shutdown(t);
}

static void test_reset_and_deletion(void)
{
    CintTest *t = cint_boot(POINTER);
    QNvmeSq *sq = queue_at(t, 16, 0);
    QNvmeCq *cq = sq->cq;
    uint64_t reg = cint_pointer_regs(t) + cq->id * 4;

    cint_set_pointer(t, cq, ARM | 5);
    qnvme_delete_sq(sq);
    g_assert_cmphex(cint_get_pointer(t, cq), ==, ARM | 5);
    qnvme_delete_cq(cq);
    g_assert_cmphex(qnvme_reg_read(t->nvme, reg), ==, 0);
    sq = queue_at(t, 16, 0);
    expect_state(t, sq->cq, OFF);
    cint_set_pointer(t, sq->cq, ARM | 5);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    g_assert_cmphex(qnvme_reg_read(t->nvme, reg), ==, 0);
    sq = queue_at(t, 16, 0);
    expect_state(t, sq->cq, OFF);
    complete(t, sq, 1, 1, 1);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/pointer/" name, run)
    ADD("state/off-interrupts-for-each", test_off_at_first);
    ADD("state/V8a-fires-at-the-pointer", test_vector_a);
    ADD("state/V8b-passed-before-it-is-written", test_vector_b);
    ADD("state/V8c-wraps", test_vector_c);
    ADD("state/V8d-rejected", test_rejected);
    ADD("state/switched-off-with-cqes-pending", test_switched_off);
    ADD("state/written-again", test_written_again);
    ADD("state/head-does-not-move-it", test_head_moves);
    ADD("rules/errors-and-pressure", test_errors_and_pressure);
    ADD("rules/max-hold", test_max_hold);
    ADD("rules/shadow-head-is-read-again", test_shadow_head);
    ADD("policy/entered-and-left-with-cqes-pending", test_other_policy);
    ADD("policy/reset-and-deletion", test_reset_and_deletion);
#undef ADD
    return g_test_run();
}
