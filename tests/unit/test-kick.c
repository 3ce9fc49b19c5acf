/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The kick window: an interrupt due for a guest that is evidently at work on
 * the queue is withheld until the guest rings again, or the window ends. The
 * ack gate: one is withheld until the head has moved since the last message.
 *
 * The guest is lazy throughout: it rings when a test says so. Every test
 * begins with a message at 1000, from which window or gate of 50000 run.
 */
#include "sim.h"

#define WINDOW  50000

/* What makes an interrupt due under each policy, one completion each. */
typedef struct Due {
    const char *name;
    CintConfig config;
    int64_t after;      /* the completion it is due */
} Due;

static CintConfig windowed(CintConfig config)
{
    config.kick_window_ns = WINDOW;
    return config;
}

static CintConfig draining(CintConfig config)
{
    config.drain = CINT_ON;
    return config;
}

static CintConfig each_pass(void)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_DEFAULT);

    config.each_cqe = false;
    return config;
}

static CintConfig gated(CintConfig config)
{
    config.ack_gate_ns = WINDOW;
    return config;
}

#define NR_DUES 11

static void list_dues(Due *due)
{
    const Due list[NR_DUES] = {
        { "default", sim_config(NVME_CINT_POLICY_DEFAULT), 0 },
        { "default-pass", each_pass(), 0 },
        { "static-off", sim_static(0, 0), 0 },
        { "static-thr", sim_static(6000, 1), 0 },
        { "static-time", sim_static(6000, 8), 6000 },
        { "adaptive-thr", sim_adaptive(6000, 1), 0 },
        { "adaptive-delta", sim_adaptive(6000, 8), 6000 },
        { "vic", sim_vic(), 0 },
        { "cint-delta", sim_cint(6000, 8), 6000 },
        { "pointer", sim_config(NVME_CINT_POLICY_POINTER), 0 },
        { "drain", draining(sim_adaptive(6000, 8)), 0 },
    };

    memcpy(due, list, sizeof(list));
}

/*
 * With the message at 1000 sent, through an error, which is never withheld,
 * and @n commands in flight, submitted long before.
 */
static Sim *start_after_message(CintConfig config, unsigned n)
{
    Sim *sim = sim_new_lazy(64, config);

    sim_submit(sim, 0, 0, n + 1);
    sim_fail(sim, 0, 1000);
    sim_expect(sim, "1000:error(1)");
    return sim;
}

/* The guest reaps what the message told of, and thereby rings. */
static Sim *start_rung(CintConfig config, unsigned n)
{
    Sim *sim = start_after_message(windowed(config), n);

    sim_reap(sim, 2000, 1);
    return sim;
}

/* Rung, and an interrupt due at @t by @due is withheld. */
static Sim *start_withheld(const Due *due, int64_t t)
{
    Sim *sim = start_rung(due->config, 1);

    sim_complete(sim, 0, t - due->after);
    sim_until(sim, t);
    sim_expect(sim, "");
    g_assert_cmpint(sim->cq.held, ==, CINT_HELD_KICK);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 1000 + WINDOW);
    return sim;
}

static void test_until_sq_doorbell(gconstpointer due)
{
    Sim *sim = start_withheld(due, 10000);

    sim_submit(sim, 2, 20000, 1);
    sim_expect(sim, "20000:kick(1)");
    sim_run_out(sim);
    sim_expect(sim, "");
    g_free(sim);
}

/* The guest reaps one and rings for it; the other it may have missed. */
static void test_until_head(gconstpointer opaque)
{
    const Due *due = opaque;
    Sim *sim = start_rung(due->config, 2);

    sim_complete(sim, 0, 10000);
    sim_complete(sim, 0, 10000);
    sim_until(sim, 10000 + due->after);
    sim_expect(sim, "");
    sim_reap(sim, 20000, 1);
    sim_expect(sim, "20000:kick(1)");
    sim_run_out(sim);
    sim_expect(sim, "");
    g_free(sim);
}

static void test_until_window_end(gconstpointer due)
{
    Sim *sim = start_withheld(due, 10000);

    sim_run_out(sim);
    sim_expect(sim, "51000:kick(1)");
    g_free(sim);
}

/* What comes while one is withheld goes out with it. */
static void test_gathers(gconstpointer opaque)
{
    const Due *due = opaque;
    Sim *sim = start_rung(due->config, 3);

    sim_complete(sim, 0, 10000);
    sim_complete(sim, 0, 17000);
    sim_complete(sim, 0, 24000);
    sim_run_out(sim);
    sim_expect(sim, "51000:kick(3)");
    g_free(sim);
}

static void test_reaped(gconstpointer due)
{
    Sim *sim = start_withheld(due, 10000);

    sim_reap(sim, 20000, 1);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, CINT_NO_DEADLINE);
    sim_submit(sim, 0, 21000, 1);
    sim_until(sim, 100000);
    sim_expect(sim, "");
    g_free(sim);
}

static void expect_sent(Sim *sim, const Due *due, int64_t t)
{
    sim_complete(sim, 0, t - due->after);
    sim_until(sim, t);
    g_assert_cmpuint(sim->nr_irqs, ==, 1);
    g_assert_cmpint(sim->irq[0].t, ==, t);
    g_assert_cmpint(sim->irq[0].reason, !=, NVME_CINT_REASON_KICK);
    g_free(sim);
}

/* It has not rung since the message: asleep, or away. */
static void test_not_rung(gconstpointer opaque)
{
    const Due *due = opaque;

    expect_sent(start_after_message(windowed(due->config), 1), due, 10000);
}

/* The message is as old as the window is long. */
static void test_old_message(gconstpointer opaque)
{
    const Due *due = opaque;

    expect_sent(start_rung(due->config, 1), due, 1000 + WINDOW);
    g_free(start_withheld(due, 1000 + WINDOW - 1));
}

static void test_first_message(gconstpointer opaque)
{
    const Due *due = opaque;
    Sim *sim = sim_new_lazy(64, windowed(due->config));

    sim_submit(sim, 0, 0, 1);
    sim_submit(sim, 1, 1, 0);
    expect_sent(sim, due, 10000);
}

static void test_off(gconstpointer opaque)
{
    const Due *due = opaque;
    CintConfig config = due->config;
    Sim *sim = start_rung(config, 1);

    sim_configure(sim, 3000, &config);
    expect_sent(sim, due, 10000);
}

/* Each message asks for a ring of its own, also one released by a ring. */
static void test_rings_once(gconstpointer opaque)
{
    const Due *due = opaque;
    Sim *sim = start_withheld(due, 10000);

    sim_submit(sim, 0, 20000, 1);
    sim_expect(sim, "20000:kick(1)");
    expect_sent(sim, due, 30000);
}

/* The window runs from the last message, whatever its reason. */
static void test_window_moves(gconstpointer opaque)
{
    const Due *due = opaque;
    Sim *sim = start_withheld(due, 10000);

    sim_submit(sim, 0, 20000, 1);
    sim_expect(sim, "20000:kick(1)");
    sim_reap(sim, 21000, 1);
    sim_complete(sim, 0, 60000);
    sim_run_out(sim);
    sim_expect(sim, "70000:kick(1)");
    g_free(sim);
}

static void test_error(gconstpointer opaque)
{
    const Due *due = opaque;
    Sim *sim = start_rung(due->config, 2);

    sim_complete(sim, 0, 10000);
    sim_fail(sim, 0, 20000);
    sim_expect(sim, "20000:error(2)");
    sim_run_out(sim);
    g_free(sim);
}

static void test_max_hold(gconstpointer opaque)
{
    const Due *due = opaque;
    CintConfig config = due->config;
    Sim *sim;

    config.max_hold_ns = 9000;
    sim = start_rung(config, 1);
    sim_complete(sim, 0, 10000);
    sim_run_out(sim);
    sim_expect(sim, "19000:max-hold(1)");
    g_free(sim);
}

static void test_reconfigure(gconstpointer opaque)
{
    const Due *due = opaque;
    CintConfig config = windowed(due->config);
    Sim *sim = start_withheld(due, 10000);

    sim_configure(sim, 20000, &config);
    sim_expect(sim, "20000:reconfigure(1)");
    sim_run_out(sim);
    sim_expect(sim, "");
    g_free(sim);
}

/* 48 of 64 entries are three quarters. */
static void test_pressure(gconstpointer opaque)
{
    const Due *due = opaque;
    Sim *sim = start_rung(due->config, 48);
    unsigned i;

    for (i = 0; i < 47; i++) {
        sim_complete(sim, 0, 10000);
    }
    sim_expect(sim, "");
    sim_complete(sim, 0, 10000);
    sim_expect(sim, "10000:pressure(48)");
    g_free(sim);
}

/* A ring that found nothing withheld and nothing due sends nothing. */
static void test_ring_not_due(void)
{
    Sim *sim = start_rung(sim_adaptive(6000, 8), 1);

    sim_complete(sim, 0, 10000);
    sim_submit(sim, 0, 12000, 1);
    sim_expect(sim, "");
    sim_run_out(sim);
    sim_expect(sim, "51000:kick(1)");
    g_free(sim);
}

/* Drain, at a cancel and at the end of a queue, is withheld as well. */
static void test_drain_by_cancel(void)
{
    Sim *sim = start_rung(draining(sim_adaptive(6000, 8)), 2);

    sim_complete(sim, 0, 10000);
    sim_cancel(sim, 0, 11000);
    sim_run_out(sim);
    sim_expect(sim, "51000:kick(1)");
    sim_reap(sim, 52000, 1);
    sim_submit(sim, 0, 52000, 2);
    sim_complete(sim, 0, 53000);
    sim_delete_sq(sim, 0, 54000);
    sim_run_out(sim);
    sim_expect(sim, "101000:kick(1)");
    g_free(sim);
}

/* vIC's counter runs on under withheld interrupts. */
static void test_vic_counts(void)
{
    Sim *sim = start_rung(sim_vic(), 40);

    sim_force_ratio(sim, 1, 3);
    sim->cq.vic.counter = 1;
    sim_complete(sim, 0, 10000);
    sim_complete(sim, 0, 11000);
    g_assert_cmpint(sim->cq.held, ==, CINT_HELD_NOT);
    sim_complete(sim, 0, 12000);
    g_assert_cmpint(sim->cq.held, ==, CINT_HELD_KICK);
    sim_complete(sim, 0, 13000);
    sim_submit(sim, 0, 20000, 1);
    sim_expect(sim, "20000:kick(4)");
    sim_complete(sim, 0, 21000);
    sim_complete(sim, 0, 22000);
    sim_expect(sim, "22000:ratio(2)");
    g_free(sim);
}

/* The head has not moved, and what is due by @due at @t is withheld. */
static Sim *start_gated(const Due *due, int64_t t)
{
    Sim *sim = start_after_message(gated(due->config), 1);

    sim_complete(sim, 0, t - due->after);
    sim_until(sim, t);
    sim_expect(sim, "");
    g_assert_cmpint(sim->cq.held, ==, CINT_HELD_ACK);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 1000 + WINDOW);
    return sim;
}

/* What the handler has not seen when it moves the head is told of then. */
static void test_gate_until_acked(gconstpointer due)
{
    Sim *sim = start_gated(due, 10000);

    sim_submit(sim, 2, 15000, 1);
    sim_reap(sim, 16000, 0);
    sim_expect(sim, "");
    sim_reap(sim, 20000, 1);
    sim_expect(sim, "20000:kick(1)");
    g_free(sim);
}

static void test_gate_reaped(gconstpointer due)
{
    Sim *sim = start_gated(due, 10000);

    sim_reap(sim, 20000, 2);
    sim_run_out(sim);
    sim_expect(sim, "");
    g_free(sim);
}

static void test_gate_opens(gconstpointer due)
{
    Sim *sim = start_gated(due, 10000);

    sim_run_out(sim);
    sim_expect(sim, "51000:kick(1)");
    g_free(sim);
}

static void test_gate_acked(gconstpointer opaque)
{
    const Due *due = opaque;
    Sim *sim = start_after_message(gated(due->config), 1);

    sim_reap(sim, 2000, 1);
    expect_sent(sim, due, 10000);
}

static void test_gate_error(gconstpointer due)
{
    Sim *sim = start_gated(due, 10000);

    sim_submit(sim, 0, 15000, 1);
    sim_fail(sim, 0, 20000);
    sim_expect(sim, "20000:error(2)");
    g_free(sim);
}

/* What the gate lets go when the head moves does not meet the window. */
static void test_gate_then_window(gconstpointer opaque)
{
    const Due *due = opaque;
    Sim *sim = start_after_message(gated(windowed(due->config)), 1);

    sim_complete(sim, 0, 10000 - due->after);
    sim_until(sim, 10000);
    g_assert_cmpint(sim->cq.held, ==, CINT_HELD_ACK);
    sim_reap(sim, 20000, 1);
    sim_expect(sim, "20000:kick(1)");
    sim_reap(sim, 21000, 1);
    sim_submit(sim, 0, 22000, 1);
    sim_complete(sim, 0, 30000 - due->after);
    sim_until(sim, 30000);
    g_assert_cmpint(sim->cq.held, ==, CINT_HELD_KICK);
    g_free(sim);
}

/* A timer that comes late meets the end of the window in the past. */
static void test_late_timer(void)
{
    const Due due = { "default", sim_config(NVME_CINT_POLICY_DEFAULT), 0 };
    Sim *sim = start_withheld(&due, 10000);

    sim_timer(sim, 80000);
    sim_expect(sim, "80000:kick(1)");
    g_free(sim);
}

/* Called early, the timer leaves a withheld interrupt alone. */
static void test_early_timer(void)
{
    const Due due = { "default", sim_config(NVME_CINT_POLICY_DEFAULT), 0 };
    Sim *sim = start_withheld(&due, 10000);

    sim_timer(sim, 50999);
    sim_expect(sim, "");
    sim_run_out(sim);
    sim_expect(sim, "51000:kick(1)");
    g_free(sim);
}

static void add_for_each_due(const char *claim, GTestDataFunc func,
                             const Due *due)
{
    unsigned i;
    char *path;

    for (i = 0; i < NR_DUES; i++) {
        path = g_strdup_printf("/kick/%s/%s", claim, due[i].name);
        g_test_add_data_func(path, &due[i], func);
        g_free(path);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *claim;
        GTestDataFunc func;
    } tests[] = {
        { "withheld-until-a-submission-doorbell", test_until_sq_doorbell },
        { "withheld-until-head-movement", test_until_head },
        { "withheld-until-the-window-ends", test_until_window_end },
        { "withheld-ones-gather", test_gathers },
        { "nothing-sent-for-what-was-reaped", test_reaped },
        { "sent-if-not-rung-since", test_not_rung },
        { "sent-if-the-message-is-old", test_old_message },
        { "sent-if-there-was-no-message", test_first_message },
        { "sent-if-the-window-is-0", test_off },
        { "sent-after-a-release-if-not-rung", test_rings_once },
        { "window-runs-from-the-last-message", test_window_moves },
        { "bypassed-by-error", test_error },
        { "bypassed-by-max-hold", test_max_hold },
        { "bypassed-by-reconfigure", test_reconfigure },
        { "bypassed-by-pressure", test_pressure },
        { "gate/withheld-until-head-movement", test_gate_until_acked },
        { "gate/nothing-sent-for-what-was-reaped", test_gate_reaped },
        { "gate/opens-by-itself", test_gate_opens },
        { "gate/sent-if-acknowledged", test_gate_acked },
        { "gate/bypassed-by-error", test_gate_error },
        { "gate/lets-go-before-the-window", test_gate_then_window },
    };
    static Due due[NR_DUES];
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    list_dues(due);
    for (i = 0; i < G_N_ELEMENTS(tests); i++) {
        add_for_each_due(tests[i].claim, tests[i].func, due);
    }
    g_test_add_func("/kick/ring-releases-only-what-is-due", test_ring_not_due);
    g_test_add_func("/kick/drain-by-cancel-is-withheld",
                    test_drain_by_cancel);
    g_test_add_func("/kick/vic-counts-on", test_vic_counts);
    g_test_add_func("/kick/timer/late", test_late_timer);
    g_test_add_func("/kick/timer/early", test_early_timer);
    return g_test_run();
}
