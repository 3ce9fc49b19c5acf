/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What each event does to a queue: configuration, timers, posting passes,
 * several submission queues, and events of equal time (for head movement see
 * test-head.c).
 */
#include "sim.h"
#include "suite.h"

/* Each policy with something pending when the configuration changes. */
static void test_configure_pending(void)
{
    CintConfig from[] = { sim_adaptive(6000, 32), sim_static(6000, 32) };
    CintConfig to[] = {
        sim_config(NVME_CINT_POLICY_DEFAULT), sim_static(9000, 4),
        sim_static(0, 0), sim_adaptive(9000, 4),
    };
    unsigned i, j;
    Sim *sim;

    for (i = 0; i < G_N_ELEMENTS(from); i++) {
        for (j = 0; j < G_N_ELEMENTS(to); j++) {
            sim = sim_new(64, from[i]);
            sim_ios(sim, 1000, 1000, 2);
            sim_configure(sim, 3000, &to[j]);
            sim_expect(sim, "3000:reconfigure(2)");
            g_assert_cmpint(cint_deadline(&sim->cq), ==, CINT_NO_DEADLINE);
            g_free(sim);
        }
    }
}

/* As feature 09h: whatever the policy, and pending ones go out at once. */
static void test_disable(void)
{
    CintConfig configs[] = {
        sim_adaptive(6000, 32), sim_static(6000, 32), sim_vic(),
    };
    unsigned i;
    Sim *sim;

    for (i = 0; i < G_N_ELEMENTS(configs); i++) {
        sim = sim_new(64, configs[i]);
        sim_disable(sim, 500, true);
        sim_expect(sim, "");
        sim_ios(sim, 1000, 1000, 2);
        sim_expect(sim, "1000:each(1) 2000:each(1)");
        g_free(sim);
    }
    sim = sim_new(64, configs[0]);
    sim_ios(sim, 1000, 1000, 2);
    sim_disable(sim, 3000, true);
    sim_disable(sim, 4000, false);
    sim_io(sim, 5000);
    sim_run_out(sim);
    sim_expect(sim, "3000:reconfigure(2) 11000:quiet(1)");
    g_free(sim);
}

/* No message is withheld where coalescing is off. */
static void test_disable_beats_kick_window(void)
{
    CintConfig config = sim_adaptive(6000, 32);
    Sim *sim;

    config.kick_window_ns = 100000;
    sim = sim_new(64, config);
    sim_disable(sim, 500, true);
    sim_ios(sim, 1000, 1000, 3);
    sim_expect(sim, "1000:each(1) 2000:each(1) 3000:each(1)");
    g_free(sim);
}

static void test_configure_idle(void)
{
    CintConfig config = sim_static(10000, 2);
    Sim *sim = sim_new(64, sim_adaptive(6000, 4));

    sim_configure(sim, 1000, &config);
    sim_expect(sim, "");
    sim_ios(sim, 2000, 1000, 3);
    sim_run_out(sim);
    sim_expect(sim, "3000:thr(2) 14000:time(1)");
    g_free(sim);
}

/* Numbers set while a batch gathers hold for the next batch. */
static void test_configure_numbers(void)
{
    CintConfig config = sim_adaptive(500, 3);
    Sim *sim = sim_new(64, sim_adaptive(6000, 4));

    sim_ios(sim, 1000, 1000, 3);
    sim_configure(sim, 3000, &config);
    sim_ios(sim, 3100, 100, 4);
    sim_run_out(sim);
    sim_expect(sim, "3000:reconfigure(3) 3300:thr(3) 3900:quiet(1)");
    g_free(sim);
}

/* Commands in flight stay counted, and drain is resolved anew. */
static void test_configure_keeps_inflight(void)
{
    CintConfig config = sim_adaptive(6000, 32);
    Sim *sim = sim_new(64, config);

    sim_submit(sim, 0, 0, 2);
    config.drain = CINT_ON;
    sim_configure(sim, 1000, &config);
    sim_complete(sim, 0, 2000);
    sim_complete(sim, 0, 3000);
    sim_expect(sim, "3000:drain(2)");
    g_free(sim);
}

static void test_timer_early(void)
{
    Sim *sim = sim_new(64, sim_adaptive(6000, 32));

    sim_io(sim, 1000);
    sim_timer(sim, 1000);
    sim_timer(sim, 6999);
    sim_expect(sim, "");
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 7000);
    sim_timer(sim, 7000);
    sim_timer(sim, 7000);
    sim_expect(sim, "7000:quiet(1)");
    g_free(sim);
}

static void test_timer_late(void)
{
    Sim *sim = sim_new(64, sim_static(6000, 32));

    sim_io(sim, 1000);
    sim_timer(sim, 50000);
    sim_expect(sim, "50000:time(1)");
    g_assert_cmpint(cint_deadline(&sim->cq), ==, CINT_NO_DEADLINE);
    g_free(sim);
}

static void test_timer_without_deadline(void)
{
    unsigned policy;
    Sim *sim;

    for (policy = 0; policy < CINT_NR_POLICIES; policy++) {
        sim = sim_new(64, sim_config(policy));
        sim_timer(sim, 0);
        sim_timer(sim, 123456789);
        sim_expect(sim, "");
        g_free(sim);
    }
}

/* A timer that a head event outran has nothing to tell. */
static void test_timer_after_head(void)
{
    Sim *sim = sim_new_lazy(64, sim_adaptive(6000, 32));

    sim_io(sim, 1000);
    sim_reap(sim, 2000, 1);
    sim_timer(sim, 7000);
    sim_expect(sim, "");
    g_free(sim);
}

/* Not only the head event of an eager guest does so. */
static void test_interrupt_disarms(void)
{
    Sim *sim = sim_new_lazy(64, sim_adaptive(6000, 2));

    sim_ios(sim, 1000, 1000, 2);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, CINT_NO_DEADLINE);
    sim_until(sim, 100000);
    sim_expect(sim, "2000:thr(2)");
    g_free(sim);
}

/* Posting again with nothing new must not interrupt by itself. */
static void test_empty_pass(void)
{
    unsigned policy;
    CintConfig config;
    Sim *sim;

    for (policy = 0; policy < CINT_NR_POLICIES; policy++) {
        config = sim_config(policy);
        config.each_cqe = policy != NVME_CINT_POLICY_DEFAULT;
        sim = sim_new(64, config);
        sim_io(sim, 1000);
        sim_run_out(sim);
        sim->nr_irqs = 0;
        sim_pass(sim, 0, 30000, 0);
        sim_pass(sim, 0, 30000, 0);
        sim_expect(sim, "");
        g_free(sim);
    }
}

static void test_default_each(void)
{
    Sim *sim = sim_new(64, sim_config(NVME_CINT_POLICY_DEFAULT));

    sim_submit(sim, 0, 0, 3);
    sim_pass(sim, 0, 1000, 3);
    sim_expect(sim, "1000:each(1) 1000:each(1) 1000:each(1)");
    g_free(sim);
}

static void test_default_per_pass(void)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_DEFAULT);
    Sim *sim;

    config.each_cqe = false;
    sim = sim_new(64, config);
    sim_submit(sim, 0, 0, 4);
    sim_pass(sim, 0, 1000, 3);
    sim_pass(sim, 0, 1000, 1);
    sim_expect(sim, "1000:each(3) 1000:each(1)");
    g_free(sim);
}

/* Feature 08h under the policy default is NVMe's own coalescing. */
static void test_default_aggregates(gconstpointer each_cqe)
{
    CintConfig config = sim_static(100000, 4);
    Sim *sim;

    config.policy = NVME_CINT_POLICY_DEFAULT;
    config.each_cqe = GPOINTER_TO_UINT(each_cqe);
    sim = sim_new(64, config);
    sim_ios(sim, 1000, 1000, 4);
    sim_io(sim, 10000);
    sim_io(sim, 50000);
    sim_run_out(sim);
    sim_expect(sim, "4000:thr(4) 110000:time(2)");
    g_free(sim);
}

static void test_static_off(void)
{
    static const int off[][2] = { { 0, 0 }, { 0, 4 }, { 100000, 0 } };
    unsigned i;
    Sim *sim;

    for (i = 0; i < G_N_ELEMENTS(off); i++) {
        sim = sim_new(64, sim_static(off[i][0], off[i][1]));
        sim_ios(sim, 1000, 1000, 2);
        sim_expect(sim, "1000:each(1) 2000:each(1)");
        g_free(sim);
    }
}

static void test_static_thr_1(void)
{
    Sim *sim = sim_new(64, sim_static(100000, 1));

    sim_ios(sim, 1000, 1000, 2);
    sim_expect(sim, "1000:thr(1) 2000:thr(1)");
    g_free(sim);
}

static void test_tie_timer_first(void)
{
    Sim *sim = sim_new(64, sim_adaptive(6000, 2));

    sim_io(sim, 1000);
    sim_io(sim, 7000);
    sim_expect(sim, "7000:quiet(1)");
    /* One earlier, and it joins. */
    sim_io(sim, 12999);
    sim_expect(sim, "12999:thr(2)");
    g_free(sim);
}

/* With delta 0 even two passes of one instant are two bursts. */
static void test_tie_delta_0(void)
{
    Sim *sim = sim_new(64, sim_adaptive(0, 32));

    sim_submit(sim, 0, 0, 5);
    sim_pass(sim, 0, 1000, 2);
    sim_pass(sim, 0, 1000, 3);
    sim_run_out(sim);
    sim_expect(sim, "1000:quiet(2) 1000:quiet(3)");
    g_free(sim);
}

/* A head event at the deadline comes after the interrupt. */
static void test_tie_head(void)
{
    Sim *sim = sim_new_lazy(64, sim_adaptive(6000, 32));

    sim_io(sim, 1000);
    sim_reap(sim, 7000, 1);
    sim_expect(sim, "7000:quiet(1)");
    g_free(sim);
}

static void test_tie_order(void)
{
    Sim *sim = sim_new_lazy(64, sim_adaptive(6000, 2));

    sim_io(sim, 1000);
    sim_reap(sim, 2000, 1);
    sim_io(sim, 2000);
    sim_expect(sim, "");
    sim_io(sim, 3000);
    sim_reap(sim, 3000, 2);
    sim_expect(sim, "3000:thr(2)");
    g_free(sim);
}

static void test_sqs_share_batch(void)
{
    Sim *sim = sim_new(64, sim_adaptive(6000, 3));

    sim_submit(sim, 0, 0, 2);
    sim_submit(sim, 1, 0, 1);
    sim_submit(sim, 2, 0, 1);
    sim_complete(sim, 0, 1000);
    sim_complete(sim, 1, 2000);
    sim_complete(sim, 2, 3000);
    sim_complete(sim, 0, 4000);
    sim_run_out(sim);
    sim_expect(sim, "3000:thr(3) 10000:quiet(1)");
    g_free(sim);
}

static void test_sqs_counts(void)
{
    Sim *sim = sim_new(64, sim_adaptive(6000, 32));

    sim_submit(sim, 0, 0, 3);
    sim_submit(sim, 1, 0, 5);
    sim_complete(sim, 0, 1000);
    sim_cancel(sim, 1, 1000);
    g_assert_cmpuint(sim->sq[0].inflight, ==, 2);
    g_assert_cmpuint(sim->sq[1].inflight, ==, 4);
    g_assert_cmpuint(sim->cq.inflight, ==, 6);
    sim_delete_sq(sim, 1, 2000);
    g_assert_cmpuint(sim->sq[0].inflight, ==, 2);
    g_assert_cmpuint(sim->cq.inflight, ==, 2);
    g_assert_cmpuint(sim->scope.inflight, ==, 2);
    g_free(sim);
}

static void test_sqs_drain_together(void)
{
    CintConfig config = sim_adaptive(6000, 32);
    Sim *sim;

    config.drain = CINT_ON;
    sim = sim_new(64, config);
    sim_submit(sim, 0, 0, 1);
    sim_submit(sim, 1, 0, 1);
    sim_complete(sim, 0, 1000);
    sim_expect(sim, "");
    sim_complete(sim, 1, 2000);
    sim_expect(sim, "2000:drain(2)");
    g_free(sim);
}

/* A queue that is initialised again remembers nothing. */
static void test_reset(void)
{
    CintConfig config = sim_adaptive(6000, 32);
    Sim *sim = sim_new_lazy(64, config);

    sim_ios(sim, 1, 1, 50);
    sim_timer(sim, 10000);
    sim_io(sim, 10001);
    cint_cq_init(&sim->cq, &sim->scope, 64, &config);
    sim->nr_irqs = 0;
    g_assert_cmpint(cint_deadline(&sim->cq), ==, CINT_NO_DEADLINE);
    sim_timer(sim, 20000);
    sim_expect(sim, "");
    config.thr = 65535;
    sim_configure(sim, 20000, &config);
    sim_ios(sim, 20001, 1, 48);
    sim_expect(sim, "20048:pressure(48)");
    g_free(sim);
}

int main(int argc, char **argv)
{
    static const SuiteTest tests[] = {
        { "configure/sends-what-is-pending", test_configure_pending },
        { "configure/is-silent-when-idle", test_configure_idle },
        { "configure/new-numbers-hold", test_configure_numbers },
        { "configure/keeps-commands-in-flight", test_configure_keeps_inflight },
        { "timer/early-is-harmless", test_timer_early },
        { "timer/late-still-fires", test_timer_late },
        { "timer/without-deadline-is-harmless", test_timer_without_deadline },
        { "timer/after-head-is-harmless", test_timer_after_head },
        { "timer/is-disarmed-by-an-interrupt", test_interrupt_disarms },
        { "disable/interrupts-for-each", test_disable },
        { "disable/beats-the-kick-window", test_disable_beats_kick_window },
        { "pass/empty-never-interrupts", test_empty_pass },
        { "pass/default-interrupts-for-each", test_default_each },
        { "pass/default-each-cqe-off-interrupts-once", test_default_per_pass },
        { "static/0-is-off", test_static_off },
        { "static/thr-1-is-each", test_static_thr_1 },
        { "tie/timer-goes-first", test_tie_timer_first },
        { "tie/delta-0-ends-each-pass", test_tie_delta_0 },
        { "tie/head-comes-after-the-timer", test_tie_head },
        { "tie/events-keep-their-order", test_tie_order },
        { "sqs/share-the-batch-of-their-cq", test_sqs_share_batch },
        { "sqs/are-counted-apart", test_sqs_counts },
        { "sqs/drain-together", test_sqs_drain_together },
        { "reset/forgets-everything", test_reset },
    };

    g_test_init(&argc, &argv, NULL);
    suite_add("/events", tests, G_N_ELEMENTS(tests));
    g_test_add_data_func("/events/pass/default-with-time-and-thr-is-static",
                         GUINT_TO_POINTER(true), test_default_aggregates);
    g_test_add_data_func("/events/pass/each-cqe-off-is-static-too",
                         GUINT_TO_POINTER(false), test_default_aggregates);
    return g_test_run();
}
