/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The kick window: an interrupt that is due while the guest is evidently at
 * work on the queue waits for the guest's next doorbell write, or for the end
 * of the window. At work means that it has rung one of the queue pair's
 * doorbells since the last message, and that message is young.
 */
#include "qemu/osdep.h"
#include "nvme-cint-common.h"

/* Reads take 400 ns, writes 1400 ns; each completion deserves an interrupt. */
#define MEDIA \
    "cint=on,cint.time=virtual,cint.media=custom," \
    "cint.media.read-latency=400,cint.media.write-latency=1400," \
    "cint.media.units=0,cint.drain=off"
#define KICK        MEDIA ",cint.policy=default,cint.max-hold=0," \
                    "cint.kick-window=100000"
#define WINDOW_NS   100000

/*
 * One message at CINT_LATENCY, its CQE reaped: the doorbell says the guest is
 * at work. A read at 1000 then completes at 1000 + CINT_LATENCY.
 */
static QNvmeSq *guest_at_work(CintTest *t)
{
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    qnvme_reap(sq->cq, 1);
    cint_run_to(t, 1000);
    cint_read(t, sq, 1);
    return sq;
}

static void test_end_of_window(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeSq *sq = guest_at_work(t);

    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + WINDOW_NS);
    cint_expect_reason(t, sq->cq, EACH, 1);
    cint_expect_reason(t, sq->cq, KICK, 1);
    cint_expect_quiet_to(t, sq->cq, CINT_SECOND);
    cint_shutdown(t);
}

static void test_released_by_submission(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeSq *sq = guest_at_work(t);

    cint_expect_quiet_to(t, sq->cq, 5000);
    cint_read(t, sq, 1);
    cint_expect_irq_now(t, sq->cq);
    cint_expect_reason(t, sq->cq, KICK, 1);
    cint_shutdown(t);
}

static void test_released_by_head(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeSq *sq = guest_at_work(t);

    cint_read(t, sq, 1);
    cint_expect_quiet_to(t, sq->cq, 5000);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 2);
    qnvme_reap(sq->cq, 1);
    cint_expect_irq_now(t, sq->cq);
    cint_expect_reason(t, sq->cq, KICK, 1);
    cint_shutdown(t);
}

/* A guest that has reaped all needs no message. */
static void test_reaped_in_the_window(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeSq *sq = guest_at_work(t);

    cint_expect_quiet_to(t, sq->cq, 5000);
    qnvme_reap(sq->cq, 1);
    cint_expect_quiet_to(t, sq->cq, CINT_SECOND);
    g_assert_cmpuint(cint_record(t, 1).irqs_full, ==, 1);
    g_assert_cmpuint(cint_record(t, 1).avoided, ==, 1);
    cint_shutdown(t);
}

/* A command is fetched after the message, but was rung for before it. */
static void test_rung_before_the_message(void)
{
    CintTest *t = cint_boot(KICK ",cint.media.slots=1");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 2);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_irq_at(t, sq->cq, 2 * CINT_LATENCY);
    cint_expect_reason(t, sq->cq, EACH, 2);
    cint_shutdown(t);
}

/* No doorbell since the message: the guest may sleep. */
static void test_sleeping_guest(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeSq *sq = cint_queues(t, 1);

    qnvme_push_write(sq, &t->buf, 0, 4096);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_irq_at(t, sq->cq, 1400);
    cint_expect_reason(t, sq->cq, EACH, 2);
    cint_shutdown(t);
}

static void test_old_message(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeSq *sq = guest_at_work(t);

    /* Takes the one that waits. */
    cint_run_to(t, 2000);
    qnvme_reap(sq->cq, 1);
    cint_run_to(t, WINDOW_NS);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, WINDOW_NS + CINT_LATENCY);
    cint_expect_reason(t, sq->cq, EACH, 2);
    cint_shutdown(t);
}

/* The doorbells of another pair say nothing of this one. */
static void test_other_pair(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeSq *sq = guest_at_work(t);
    QNvmeSq *other = cint_queues(t, 2);

    cint_expect_quiet_to(t, sq->cq, 5000);
    cint_read(t, other, 1);
    cint_expect_irq_at(t, other->cq, 5000 + CINT_LATENCY);
    qnvme_reap(other->cq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + WINDOW_NS);
    cint_shutdown(t);
}

static void test_errors_do_not_wait(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeSq *sq = guest_at_work(t);

    cint_expect_quiet_to(t, sq->cq, 5000);
    /* Its doorbell releases the read. */
    qnvme_push_invalid(sq);
    qnvme_ring_sq(sq);
    cint_expect_irq_now(t, sq->cq);
    cint_expect_reason(t, sq->cq, ERROR, 1);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 0);
    cint_shutdown(t);
}

static void test_pressure_does_not_wait(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 16, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);

    cint_read(t, sq, 1);
    cint_expect_irq_at(t, cq, CINT_LATENCY);
    qnvme_reap(cq, 1);
    cint_read(t, sq, 12);
    cint_expect_irq_at(t, cq, 2 * CINT_LATENCY);
    cint_expect_reason(t, cq, PRESSURE, 1);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 0);
    cint_shutdown(t);
}

static void test_max_hold_ends_the_wait(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeSq *sq;

    cint_set_number(t, "cint.max-hold", 3000);
    sq = guest_at_work(t);
    cint_expect_irq_at(t, sq->cq, 1000 + CINT_LATENCY + 3000);
    cint_expect_reason(t, sq->cq, MAX_HOLD, 1);
    cint_shutdown(t);
}

/* Turning it off lets go of what it holds. */
static void test_window_closed(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeSq *sq = guest_at_work(t);

    cint_expect_quiet_to(t, sq->cq, 5000);
    cint_set_number(t, "cint.kick-window", 0);
    cint_expect_irq_now(t, sq->cq);
    cint_expect_reason(t, sq->cq, RECONF, 1);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, 5000 + CINT_LATENCY);
    cint_shutdown(t);
}

/* What adaptive holds anyway is withheld from the end of its delta on. */
static void test_over_adaptive(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeSq *sq;

    cint_set_word(t, "cint.policy", "adaptive");
    cint_set_number(t, "cint.delta", 6000);
    sq = cint_queues(t, 1);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 6000);
    qnvme_reap(sq->cq, 1);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 6000 + WINDOW_NS);
    cint_expect_reason(t, sq->cq, QUIET, 1);
    cint_expect_reason(t, sq->cq, KICK, 1);
    cint_shutdown(t);
}

static void test_over_vic(void)
{
    CintTest *t = cint_boot(MEDIA ",cint.policy=vic,cint.kick-window=100000");
    QNvmeSq *sq = guest_at_work(t);

    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + WINDOW_NS);
    cint_expect_reason(t, sq->cq, LOW_CIF, 1);
    cint_expect_reason(t, sq->cq, KICK, 1);
    cint_shutdown(t);
}

/* Without a trap nobody can release early; the window still ends. */
static void test_shadow_doorbells(void)
{
    CintTest *t = cint_boot(KICK);
    QNvmeSq *sq = guest_at_work(t);
    int i;

    qnvme_use_shadow_doorbells(t->nvme);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 1);
    for (i = 1; i < 20; i++) {
        cint_read(t, sq, i);
        cint_run(t, i * 100);
        cint_read(t, sq, i);
        g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 2 * i);
    }
    cint_shutdown(t);
}

/*
 * A window's end at which the rate limit takes over is no interrupt: two
 * messages came by a deadline here, at the end of the first window and when
 * the limit lets go.
 */
static void test_lateness(void)
{
    CintTest *t = cint_boot(MEDIA ",cint.policy=default,cint.max-hold=0,"
                            "cint.kick-window=50000,cint.max-irq-rate=10000,"
                            "cint.ewma-shift=1");
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCintLogRecord record;
    uint64_t late = 0;
    int i;

    /* A masked vector's messages are none to the rate limit. */
    cint_count_messages(t, 1);
    cint_zero(t);
    cint_read(t, sq, 1);
    cint_run_to(t, CINT_LATENCY);
    g_assert_cmpuint(cint_messages(t), ==, 1);
    qnvme_reap(sq->cq, 1);
    cint_run_to(t, 1000);
    cint_read(t, sq, 1);
    cint_run_to(t, CINT_LATENCY + 50000 - 1);
    g_assert_cmpuint(cint_messages(t), ==, 1);
    cint_run_to(t, 51000);
    g_assert_cmpuint(cint_messages(t), ==, 2);
    cint_read(t, sq, 1);
    cint_run_to(t, CINT_LATENCY + 150000 - 1);
    g_assert_cmpuint(cint_messages(t), ==, 2);
    cint_run_to(t, CINT_LATENCY + 150000);
    g_assert_cmpuint(cint_messages(t), ==, 3);
    cint_expect_reason(t, sq->cq, KICK, 1);
    cint_expect_reason(t, sq->cq, STORM, 1);
    record = cint_record(t, 1);
    for (i = 0; i < NVME_CINT_HIST_BUCKETS; i++) {
        late += record.lateness.bucket[i];
    }
    g_assert_cmpuint(late, ==, 2);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/kick/" name, run)
    ADD("message-waits-for-the-end-of-the-window", test_end_of_window);
    ADD("submission-releases-the-message", test_released_by_submission);
    ADD("head-releases-the-message", test_released_by_head);
    ADD("guest-that-reaped-all-gets-none", test_reaped_in_the_window);
    ADD("sleeping-guest-gets-its-message", test_sleeping_guest);
    ADD("rung-before-the-message", test_rung_before_the_message);
    ADD("old-message-withholds-nothing", test_old_message);
    ADD("other-queues-do-not-matter", test_other_pair);
    ADD("errors-do-not-wait", test_errors_do_not_wait);
    ADD("pressure-does-not-wait", test_pressure_does_not_wait);
    ADD("max-hold-ends-the-wait", test_max_hold_ends_the_wait);
    ADD("window-turned-off-while-withholding", test_window_closed);
    ADD("goes-with-adaptive", test_over_adaptive);
    ADD("goes-with-vic", test_over_vic);
    ADD("goes-with-shadow-doorbells", test_shadow_doorbells);
    ADD("lateness-is-of-interrupts", test_lateness);
#undef ADD
    return g_test_run();
}
