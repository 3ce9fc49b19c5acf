/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rules that hold under every policy and interrupt for reasons of their own:
 * drain, max-hold, error, and which of them goes first (see also
 * test-pressure.c).
 */
#include "sim.h"
#include "suite.h"

#define SECOND  1000000000ll

/* A policy that would hold completions for as long as the test takes. */
static CintConfig patient(void)
{
    return sim_adaptive(SECOND, 65535);
}

static CintConfig draining(CintConfig config)
{
    config.drain = CINT_ON;
    return config;
}

static void test_drain_on(void)
{
    Sim *sim = sim_new(64, draining(sim_adaptive(6000, 32)));

    sim_submit(sim, 0, 0, 3);
    sim_complete(sim, 0, 1000);
    sim_complete(sim, 0, 2000);
    sim_expect(sim, "");
    sim_complete(sim, 0, 3000);
    sim_expect(sim, "3000:drain(3)");
    sim_run_out(sim);
    sim_expect(sim, "");
    g_free(sim);
}

static void test_drain_off(void)
{
    Sim *sim = sim_new(64, sim_adaptive(6000, 32));

    sim_io(sim, 1000);
    sim_run_out(sim);
    sim_expect(sim, "7000:quiet(1)");
    g_free(sim);
}

/* Off under all policies so far: the paper's figures depend on it. */
static void test_drain_auto(void)
{
    CintConfig config = sim_adaptive(6000, 32);
    Sim *sim;

    config.drain = CINT_AUTO;
    sim = sim_new(64, config);
    sim_io(sim, 1000);
    sim_run_out(sim);
    sim_expect(sim, "7000:quiet(1)");
    config.policy = NVME_CINT_POLICY_STATIC;
    config.static_time_ns = 100000;
    config.static_thr = 4;
    sim_configure(sim, 10000, &config);
    sim_io(sim, 11000);
    sim_run_out(sim);
    sim_expect(sim, "111000:time(1)");
    config.policy = NVME_CINT_POLICY_DEFAULT;
    sim_configure(sim, 200000, &config);
    sim_io(sim, 200000);
    sim_run_out(sim);
    sim_expect(sim, "300000:time(1)");
    g_free(sim);
}

static void test_drain_cancel(void)
{
    Sim *sim = sim_new(64, draining(sim_adaptive(6000, 32)));

    sim_submit(sim, 0, 0, 3);
    sim_complete(sim, 0, 1000);
    sim_cancel(sim, 0, 1500);
    sim_expect(sim, "");
    sim_cancel(sim, 0, 2000);
    sim_expect(sim, "2000:drain(1)");
    /* Nothing pending: nothing to say. */
    sim_submit(sim, 0, 3000, 1);
    sim_cancel(sim, 0, 4000);
    sim_expect(sim, "");
    g_free(sim);
}

static void test_drain_delete_sq(void)
{
    Sim *sim = sim_new(64, draining(sim_adaptive(6000, 32)));

    sim_submit(sim, 0, 0, 1);
    sim_submit(sim, 1, 0, 5);
    sim_complete(sim, 0, 1000);
    sim_delete_sq(sim, 2, 1500);
    sim_expect(sim, "");
    sim_delete_sq(sim, 1, 2000);
    sim_expect(sim, "2000:drain(1)");
    g_assert_cmpuint(sim->scope.inflight, ==, 0);
    g_free(sim);
}

/*
 * Commands that the guest has rung for and nobody has fetched: the queue is
 * not drained. That each is on its way tells of all but the last.
 */
static void test_drain_backlog(void)
{
    Sim *sim = sim_new(64, draining(sim_adaptive(6000, 32)));
    unsigned i;

    sim_publish(sim, 0, 0, 8);
    for (i = 0; i < 8; i++) {
        sim_expect(sim, "");
        sim_submit(sim, 0, 1000 + 2000 * i, 1);
        sim_complete(sim, 0, 2000 + 2000 * i);
    }
    sim_expect(sim, "16000:drain(8)");
    g_assert_cmpuint(sim->cq.backlog, ==, 0);
    /* One that is fetched unannounced is as good as another. */
    sim_io(sim, 17000);
    sim_expect(sim, "17000:drain(1)");
    g_free(sim);
}

/* A tail that goes back, and a queue that goes away, take theirs along. */
static void test_drain_backlog_goes(void)
{
    Sim *sim = sim_new(64, draining(sim_adaptive(6000, 32)));

    sim_publish(sim, 0, 0, 5);
    sim_publish(sim, 1, 0, 2);
    sim_io(sim, 1000);
    g_assert_cmpuint(sim->cq.backlog, ==, 6);
    g_assert_cmpuint(sim->scope.backlog, ==, 6);
    sim_publish(sim, 0, 1500, 0);
    sim_expect(sim, "");
    sim_delete_sq(sim, 1, 2000);
    sim_expect(sim, "2000:drain(1)");
    sim_publish(sim, 0, 3000, 3);
    sim_io(sim, 4000);
    sim_publish(sim, 0, 4500, 1);
    sim_expect(sim, "");
    sim_publish(sim, 0, 5000, 0);
    sim_expect(sim, "5000:drain(1)");
    g_assert_cmpuint(sim->scope.backlog, ==, 0);
    g_free(sim);
}

/* Cancelling without drain leaves the policy's deadline as it was. */
static void test_cancel_without_drain(void)
{
    Sim *sim = sim_new(64, sim_adaptive(6000, 32));

    sim_submit(sim, 0, 0, 2);
    sim_complete(sim, 0, 1000);
    sim_cancel(sim, 0, 2000);
    sim_submit(sim, 1, 3000, 2);
    sim_delete_sq(sim, 1, 4000);
    sim_run_out(sim);
    sim_expect(sim, "7000:quiet(1)");
    g_free(sim);
}

/* Another queue of the same controller has commands in flight: no matter. */
static void test_drain_per_cq(void)
{
    Sim *sim = sim_new(64, draining(sim_adaptive(6000, 32)));
    CintConfig config = patient();
    CintCq other;
    CintSq sq;
    CintCmd cmd;

    cint_cq_init(&other, &sim->scope, 64, &config);
    cint_sq_init(&sq, &other);
    cint_submit(&sq, &cmd, 0, 0, 0);
    sim_submit(sim, 0, 0, 1);
    g_assert_cmpuint(sim->scope.inflight, ==, 2);
    sim_complete(sim, 0, 1000);
    sim_expect(sim, "1000:drain(1)");
    g_assert_cmpuint(sim->scope.inflight, ==, 1);
    g_assert_cmpuint(other.inflight, ==, 1);
    g_free(sim);
}

static CintConfig held(CintConfig config, uint64_t max_hold_ns)
{
    config.max_hold_ns = max_hold_ns;
    return config;
}

/* A stream that never pauses for delta moves the deadline for ever. */
static void test_hold_bounds_adaptive(void)
{
    Sim *sim = sim_new(64, held(sim_adaptive(6000, 32), 12000));

    sim_ios(sim, 5000, 5000, 4);
    sim_run_out(sim);
    /* From the first pending, 5000, and then from 20000. */
    sim_expect(sim, "17000:max-hold(3) 26000:quiet(1)");
    g_free(sim);
}

static void test_hold_off(void)
{
    Sim *sim = sim_new(64, sim_adaptive(6000, 32));

    sim_ios(sim, 5000, 5000, 32);
    sim_expect(sim, "160000:thr(32)");
    g_free(sim);
}

static void test_hold_bounds_static(void)
{
    Sim *sim = sim_new(64, held(sim_static(100000, 8), 20000));

    sim_ios(sim, 1000, 1000, 2);
    sim_run_out(sim);
    sim_expect(sim, "21000:max-hold(2)");
    g_free(sim);
}

/* The default policy has no deadline of its own inside a posting pass. */
static void test_hold_bounds_default(void)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_DEFAULT);
    Sim *sim;
    CintAction action;

    config.each_cqe = false;
    sim = sim_new(64, held(config, 5000));
    sim_submit(sim, 0, 0, 1);
    action = cint_complete(&sim->sq[0], &sim->cmd[0][0], 1000, false);
    g_assert_cmpint(action.fire, ==, CINT_FIRE_NONE);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 6000);
    sim_run_out(sim);
    sim_expect(sim, "6000:max-hold(1)");
    g_free(sim);
}

/* The anchor is the first pending CQE; an interrupt sets a new one. */
static void test_hold_anchor(void)
{
    Sim *sim = sim_new(64, held(sim_adaptive(SECOND, 2), 10000));

    sim_ios(sim, 1000, 1000, 3);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 13000);
    sim_run_out(sim);
    sim_expect(sim, "2000:thr(2) 13000:max-hold(1)");
    g_free(sim);
}

static void test_error(void)
{
    Sim *sim = sim_new(64, sim_adaptive(6000, 32));
    CintConfig config;

    sim_submit(sim, 0, 0, 9);
    sim_complete(sim, 0, 1000);
    sim_fail(sim, 0, 2000);
    sim_expect(sim, "2000:error(2)");
    config = sim_static(6000, 4);
    sim_configure(sim, 3000, &config);
    sim_fail(sim, 0, 4000);
    config = sim_config(NVME_CINT_POLICY_DEFAULT);
    sim_configure(sim, 5000, &config);
    sim_fail(sim, 0, 6000);
    sim_run_out(sim);
    sim_expect(sim, "4000:error(1) 6000:error(1)");
    g_free(sim);
}

/* An error in the middle of a batch starts the count anew. */
static void test_error_resets_batch(void)
{
    Sim *sim = sim_new(64, sim_adaptive(6000, 3));

    sim_submit(sim, 0, 0, 9);
    sim_complete(sim, 0, 1000);
    sim_fail(sim, 0, 2000);
    sim_complete(sim, 0, 3000);
    sim_complete(sim, 0, 4000);
    sim_expect(sim, "2000:error(2)");
    sim_complete(sim, 0, 5000);
    sim_expect(sim, "5000:thr(3)");
    g_free(sim);
}

/* The twelfth completion has a reason for every rule at once. */
static void precede(uint32_t size, CintConfig config, bool error,
                    const char *want)
{
    Sim *sim = sim_new(size, config);

    sim_submit(sim, 0, 0, 12);
    sim_pass(sim, 0, 1000, 11);
    if (error) {
        sim_fail(sim, 0, 2000);
    } else {
        sim_complete(sim, 0, 2000);
    }
    sim_expect(sim, want);
    g_free(sim);
}

static void test_precedence(void)
{
    CintConfig config = draining(sim_adaptive(6000, 12));

    precede(16, config, true, "2000:error(12)");
    precede(16, config, false, "2000:pressure(12)");
    precede(64, config, true, "2000:error(12)");
    precede(64, config, false, "2000:thr(12)");
    config.thr = 13;
    precede(16, config, false, "2000:pressure(12)");
    precede(64, config, false, "2000:drain(12)");
    config.thr = 12;
    config.drain = CINT_OFF;
    precede(16, config, false, "2000:pressure(12)");
    precede(64, config, false, "2000:thr(12)");
}

/* The levels of pressure are noted even when another reason is given. */
static void test_error_tells_of_pressure(void)
{
    Sim *sim = sim_new_lazy(64, patient());

    sim_ios(sim, 1, 1, 47);
    sim_submit(sim, 0, 47, 1);
    sim_fail(sim, 0, 48);
    sim_expect(sim, "48:error(48)");
    sim_ios(sim, 49, 1, 4);
    sim_expect(sim, "52:pressure(4)");
    g_free(sim);
}

static void test_precedence_hold(void)
{
    Sim *sim = sim_new(64, held(sim_adaptive(6000, 32), 6000));

    sim_io(sim, 1000);
    sim_run_out(sim);
    sim_expect(sim, "7000:max-hold(1)");
    g_free(sim);
}

static void test_precedence_reconfigure(void)
{
    CintConfig config = draining(sim_adaptive(6000, 1));
    Sim *sim = sim_new(64, sim_adaptive(6000, 32));

    sim_io(sim, 1000);
    sim_configure(sim, 2000, &config);
    sim_expect(sim, "2000:reconfigure(1)");
    g_free(sim);
}

int main(int argc, char **argv)
{
    static const SuiteTest tests[] = {
        { "drain/on-when-nothing-is-in-flight", test_drain_on },
        { "drain/off-waits", test_drain_off },
        { "drain/auto-is-off-for-these-policies", test_drain_auto },
        { "drain/cancel-counts", test_drain_cancel },
        { "drain/delete-sq-counts", test_drain_delete_sq },
        { "drain/not-while-commands-wait-to-be-fetched", test_drain_backlog },
        { "drain/unless-they-go", test_drain_backlog_goes },
        { "drain/off-ignores-cancel", test_cancel_without_drain },
        { "drain/counts-this-cq-only", test_drain_per_cq },
        { "max-hold/bounds-adaptive", test_hold_bounds_adaptive },
        { "max-hold/0-is-off", test_hold_off },
        { "max-hold/bounds-static", test_hold_bounds_static },
        { "max-hold/bounds-default", test_hold_bounds_default },
        { "max-hold/runs-from-the-first-pending", test_hold_anchor },
        { "error/interrupts-at-once", test_error },
        { "error/resets-the-batch", test_error_resets_batch },
        { "error/notes-the-level-of-pressure", test_error_tells_of_pressure },
        { "precedence/error-pressure-policy-drain", test_precedence },
        { "precedence/max-hold-over-policy", test_precedence_hold },
        { "precedence/reconfigure-over-drain", test_precedence_reconfigure },
    };

    g_test_init(&argc, &argv, NULL);
    suite_add("/rules", tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
