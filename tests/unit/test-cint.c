/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy cint beyond its golden vectors: which commands count as hinted, what
 * an urgent interrupt leaves behind, when a Barrier is satisfied, inference.
 */
#include "sim.h"
#include "suite.h"

#define FAR 1000000000ll

static CintConfig with_barrier(CintBarrier barrier)
{
    CintConfig config = sim_cint(6000, 32);

    config.barrier = barrier;
    return config;
}

/* With a guest that reads status records. */
static Sim *start_ooo(CintConfig config)
{
    Sim *sim = sim_new(64, config);

    sim_records(sim, 0, true);
    return sim;
}

static Sim *start_lazy_ooo(CintConfig config)
{
    Sim *sim = start_ooo(config);

    sim->lazy = true;
    return sim;
}

static void test_both_unmarked(void)
{
    Sim *sim = start_ooo(sim_cint(6000, 3));

    sim_marked(sim, 1000, '2');
    sim_run_out(sim);
    sim_expect(sim, "7000:quiet(1)");
    /* It counts and moves the deadline as an unmarked one does. */
    sim_marked(sim, 10000, '.');
    sim_marked(sim, 14000, '2');
    sim_run_out(sim);
    sim_expect(sim, "20000:quiet(2)");
    sim_marked(sim, 30000, '2');
    sim_marked(sim, 31000, '2');
    sim_marked(sim, 32000, '2');
    sim_expect(sim, "32000:thr(3)");
    g_free(sim);
}

/* One hint in each place is both. */
static void test_union_of_places(void)
{
    CintConfig config = sim_cint(6000, 32);
    uint8_t both = 1 << NVME_CINT_SOURCE_CDW0 | 1 << NVME_CINT_SOURCE_CDW13;
    Sim *sim = start_ooo(config);
    CintCmd cmd;
    CintAction action;

    cint_submit(&sim->sq[0], &cmd, 0, NVME_CINT_HINT_BOTH, both);
    action = cint_complete(&sim->sq[0], &cmd, 1000, false);
    g_assert_cmpint(action.fire, ==, CINT_FIRE_NONE);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 7000);
    g_free(sim);
}

/* The driver does not know what CDW13 says: a full interrupt. */
static void test_cdw13_never_urgent_class(void)
{
    Sim *sim = start_ooo(sim_cint(6000, 32));

    sim_marked(sim, 1000, '.');
    sim_marked(sim, 2000, 'u');
    sim_expect(sim, "2000:urgent(2)");
    sim_marked(sim, 3000, 'b');
    sim_expect(sim, "3000:barrier(1)");
    /* Known to the driver as well. */
    sim_marked(sim, 4000, '.');
    sim_marked(sim, 5000, 'X');
    sim_expect(sim, "U5000:urgent(1)");
    g_free(sim);
}

static void test_urgent_needs_record(void)
{
    CintConfig config = sim_cint(6000, 32);
    Sim *sim = sim_new(64, config);

    sim_marked(sim, 1000, '.');
    sim_marked(sim, 2000, 'U');
    sim_expect(sim, "2000:urgent(2)");
    sim_records(sim, 3000, true);
    sim_marked(sim, 4000, '.');
    sim_marked(sim, 5000, 'U');
    sim_expect(sim, "U5000:urgent(1)");
    config.ooo = false;
    sim_configure(sim, 6000, &config);
    sim_expect(sim, "6000:reconfigure(1)");
    sim_marked(sim, 7000, '.');
    sim_marked(sim, 8000, 'U');
    sim_expect(sim, "8000:urgent(2)");
    g_free(sim);
}

static void test_hints_need_policy(void)
{
    static const CintPolicy policies[] = {
        NVME_CINT_POLICY_ADAPTIVE, NVME_CINT_POLICY_STATIC,
    };
    CintConfig config;
    unsigned i;
    Sim *sim;

    for (i = 0; i < G_N_ELEMENTS(policies); i++) {
        config = sim_cint(6000, 32);
        config.static_time_ns = 6000;
        config.static_thr = 32;
        config.barrier = CINT_BARRIER_STRICT;
        config.policy = policies[i];
        sim = start_ooo(config);
        sim_marked(sim, 1000, 'U');
        sim_marked(sim, 1000, 'B');
        sim_batch(sim, 1, 1000, ".B");
        sim_post(sim, 1, 1000, 2);
        sim_drop(sim, 1, 1000, 1);
        sim_expect(sim, "");
        g_assert_cmpint(cint_deadline(&sim->cq), ==, 7000);
        g_free(sim);
    }
}

/* A failed command interrupts for everything, its hint notwithstanding. */
static void test_error_beats_urgent(void)
{
    Sim *sim = start_ooo(sim_cint(6000, 32));

    sim_marked(sim, 1000, '.');
    sim_batch(sim, 0, 1000, "U");
    sim_fail(sim, 0, 2000);
    sim_expect(sim, "2000:error(2)");
    g_free(sim);
}

/* A hint on a command that fails still counts: for its Barrier. */
static void test_error_satisfies(void)
{
    Sim *sim = sim_new(64, with_barrier(CINT_BARRIER_STRICT));

    sim_batch(sim, 0, 0, ".B");
    sim_post(sim, 0, 1000, 2);
    sim_expect(sim, "");
    sim->retired[0] = 0;
    sim_fail(sim, 0, 2000);
    sim_expect(sim, "2000:error(2)");
    g_assert_null(sim->sq[0].last);
    g_free(sim);
}

static void test_drain_and_urgent(void)
{
    CintConfig config = sim_cint(6000, 32);
    Sim *sim;

    config.drain = CINT_AUTO;
    sim = start_ooo(config);
    g_assert_true(sim->cq.drain);
    sim_batch(sim, 0, 0, ".U.");
    sim_post(sim, 0, 1000, 1);
    sim_post(sim, 0, 2000, 2);
    sim_expect(sim, "U2000:urgent(1)");
    sim_post(sim, 0, 3000, 3);
    sim_expect(sim, "3000:drain(2)");
    /* With nothing else to tell of, the policy's own reason. */
    sim_batch(sim, 1, 4000, "U");
    sim_post(sim, 1, 4000, 1);
    sim_expect(sim, "4000:urgent(1)");
    sim_batch(sim, 1, 5000, "B");
    sim_post(sim, 1, 5000, 2);
    sim_expect(sim, "5000:barrier(1)");
    /* With more, it is the drain that tells of it. */
    sim_batch(sim, 2, 6000, ".U");
    sim_post(sim, 2, 6000, 1);
    sim_post(sim, 2, 7000, 2);
    sim_expect(sim, "7000:drain(2)");
    sim_records(sim, 8000, false);
    sim_batch(sim, 2, 8000, ".U");
    sim_post(sim, 2, 8000, 3);
    sim_post(sim, 2, 9000, 4);
    sim_expect(sim, "9000:urgent(2)");
    g_free(sim);
}

/* What is left after an urgent interrupt still has its deadline. */
static void test_urgent_leaves_batch(void)
{
    Sim *sim = start_ooo(sim_cint(6000, 32));

    sim_marked(sim, 1000, '.');
    sim_marked(sim, 2000, 'U');
    sim_expect(sim, "U2000:urgent(1)");
    g_assert_cmpuint(sim->cq.pending, ==, 1);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 8000);
    sim_run_out(sim);
    sim_expect(sim, "8000:quiet(1)");
    /* A lone one leaves nothing. */
    sim_marked(sim, 10000, 'U');
    sim_expect(sim, "U10000:urgent(1)");
    g_assert_cmpint(cint_deadline(&sim->cq), ==, CINT_NO_DEADLINE);
    g_free(sim);
}

/* Urgent ones in front of the first unmarked one are reaped: not counted. */
static void test_thr_counts_retained(void)
{
    Sim *sim = start_ooo(sim_cint(6000, 4));
    char *moves;

    sim_marked(sim, 1000, 'U');
    sim_marked(sim, 1100, 'U');
    sim_marked(sim, 1200, 'U');
    sim_marked(sim, 1300, '.');
    sim_marked(sim, 1400, 'U');
    sim_marked(sim, 1500, '.');
    sim_expect(sim, "U1000:urgent(1) U1100:urgent(1) U1200:urgent(1) "
                    "U1400:urgent(1)");
    sim_marked(sim, 1600, '.');
    sim_expect(sim, "1600:thr(3)");
    /* And the count begins anew. */
    sim_marked(sim, 2000, 'U');
    sim_marked(sim, 2100, '.');
    sim_marked(sim, 2200, '.');
    sim_marked(sim, 2300, '.');
    sim_expect(sim, "U2000:urgent(1)");
    sim_marked(sim, 2400, '.');
    sim_expect(sim, "2400:thr(4)");
    moves = sim_moves(sim);
    g_assert_cmpstr(moves, ==,
                    "1000+1 1100+1 1200+1 1600+4 2000+1 2400+4");
    g_free(moves);
    g_free(sim);
}

/* Told of, and not reaped yet: nothing unmarked precedes them. */
static void test_thr_ignores_told(void)
{
    Sim *sim = start_lazy_ooo(sim_cint(6000, 3));

    sim_marked(sim, 1000, 'U');
    sim_marked(sim, 1100, 'U');
    sim_marked(sim, 1200, '.');
    sim_marked(sim, 1300, '.');
    sim_expect(sim, "U1000:urgent(1) U1100:urgent(1)");
    sim_marked(sim, 1400, 'U');
    sim_expect(sim, "1400:thr(3)");
    g_free(sim);
}

/* One that is alone counts toward no threshold, however low. */
static void test_thr_0(void)
{
    unsigned thr;
    Sim *sim;

    for (thr = 0; thr <= 1; thr++) {
        sim = start_ooo(sim_cint(6000, thr));
        sim_marked(sim, 1000, 'U');
        sim_marked(sim, 1100, '.');
        sim_marked(sim, 1200, 'U');
        sim_expect(sim, "U1000:urgent(1) 1100:thr(1) U1200:urgent(1)");
        g_free(sim);
    }
}

/* Once the unmarked one is reaped, those behind it count no more. */
static void test_thr_forgets_reaped(void)
{
    Sim *sim = start_lazy_ooo(sim_cint(6000, 4));

    sim_marked(sim, 1000, '.');
    sim_marked(sim, 1100, 'U');
    sim_marked(sim, 1200, 'U');
    sim_reap(sim, 1300, 3);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, CINT_NO_DEADLINE);
    sim_marked(sim, 1400, '.');
    sim_marked(sim, 1500, '.');
    sim_marked(sim, 1600, '.');
    sim_expect(sim, "U1100:urgent(1) U1200:urgent(1)");
    sim_marked(sim, 1700, '.');
    sim_expect(sim, "1700:thr(4)");
    g_free(sim);
}

/* An urgent one moves the deadline only where there is one. */
static void test_urgent_moves_deadline(void)
{
    Sim *sim = start_ooo(sim_cint(6000, 32));

    sim_marked(sim, 1000, '.');
    sim_marked(sim, 6999, 'U');
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 12999);
    sim_run_out(sim);
    sim_expect(sim, "U6999:urgent(1) 12999:quiet(1)");
    g_free(sim);
}

/*
 * An Urgent every 500 ns for ever moves the deadline for ever. The unmarked
 * one is released by thr, since it retains those behind it, by max-hold, and,
 * should both be out of reach, by the queue that fills up behind it.
 */
static void endless_urgents(CintConfig config, const char *want)
{
    Sim *sim = start_ooo(config);
    unsigned i;

    sim_marked(sim, 1000, '.');
    for (i = 1; sim->cq.pending; i++) {
        g_assert_cmpuint(i, <, 1000);
        sim->nr_irqs = 0;
        sim_marked(sim, 1000 + i * 500, 'U');
    }
    /* An Urgent that comes right after the release is not of interest. */
    sim->nr_irqs = 1;
    sim_expect(sim, want);
    g_free(sim);
}

static void test_endless_urgents(void)
{
    CintConfig config = sim_cint(6000, 32);

    endless_urgents(config, "16500:thr(2)");
    config.thr = 65535;
    endless_urgents(config, "24500:pressure(2)");
    config.max_hold_ns = 10000;
    endless_urgents(config, "11000:max-hold(1)");
    config.thr = 8;
    endless_urgents(config, "4500:thr(2)");
}

/* Held back with others, an Urgent goes out in the full interrupt. */
static void test_pressure_over_urgent(void)
{
    Sim *sim = start_lazy_ooo(sim_cint(FAR, 65535));
    unsigned i;

    for (i = 1; i < 48; i++) {
        sim_marked(sim, i, '.');
    }
    sim_marked(sim, 48, 'U');
    sim_expect(sim, "48:pressure(48)");
    g_free(sim);
}

/* Under the kick window an urgent interrupt is withheld, and then full. */
static void test_kick_window(void)
{
    CintConfig config = sim_cint(6000, 32);
    Sim *sim;

    config.kick_window_ns = 50000;
    sim = start_lazy_ooo(config);
    sim_marked(sim, 1000, 'U');
    sim_expect(sim, "U1000:urgent(1)");
    sim_batch(sim, 0, 2000, "U.U");
    sim_reap(sim, 2000, 1);
    sim_pass(sim, 0, 3000, 2);
    sim_expect(sim, "");
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 51000);
    /* A ring releases it. */
    sim_submit(sim, 1, 20000, 1);
    sim_expect(sim, "20000:kick(2)");
    /* No ring since: a sleeping guest gets its urgent interrupt. */
    sim_pass(sim, 0, 30000, 1);
    sim_expect(sim, "U30000:urgent(1)");
    g_free(sim);
}

/* With others held, and a timer that comes late: one for all of them. */
static void test_held_goes_along(void)
{
    CintConfig config = sim_cint(6000, 32);
    CintAction action;
    Sim *sim;

    config.kick_window_ns = 50000;
    sim = start_lazy_ooo(config);
    sim_marked(sim, 1000, 'U');
    sim_expect(sim, "U1000:urgent(1)");
    sim_batch(sim, 0, 2000, "UU");
    sim_post(sim, 0, 3000, 2);
    sim_expect(sim, "");
    action = cint_complete(&sim->sq[0], &sim->cmd[0][2], 60000, false);
    g_assert_cmpint(action.fire, ==, CINT_FIRE_FULL);
    g_assert_cmpuint(action.covered, ==, 2);
    g_free(sim);
}

/* Records off: what was left for a later full interrupt goes out now. */
static void test_record_off_fires(void)
{
    Sim *sim = start_lazy_ooo(sim_cint(6000, 32));

    sim_marked(sim, 1000, '.');
    sim_marked(sim, 2000, 'U');
    sim_records(sim, 3000, false);
    sim_expect(sim, "U2000:urgent(1) 3000:reconfigure(1)");
    g_assert_cmpint(cint_deadline(&sim->cq), ==, CINT_NO_DEADLINE);
    sim_records(sim, 4000, false);
    sim_marked(sim, 5000, 'U');
    sim_records(sim, 6000, true);
    sim_records(sim, 7000, true);
    sim_expect(sim, "5000:urgent(1)");
    g_free(sim);
}

/*
 * Records on: what is pending keeps its deadline, unless the guest, whose
 * record begins with all that was posted before, reaps it by the way.
 */
static void test_record_on_keeps(void)
{
    Sim *sim = sim_new(64, sim_cint(6000, 32));

    sim_marked(sim, 1000, '.');
    sim_records(sim, 2000, true);
    sim_expect(sim, "");
    sim_run_out(sim);
    sim_expect(sim, "7000:quiet(1)");
    sim_records(sim, 8000, false);
    sim_marked(sim, 10000, '.');
    sim_records(sim, 11000, true);
    sim_marked(sim, 12000, 'U');
    g_assert_cmpuint(sim->cq.head, ==, sim->cq.tail);
    sim_run_out(sim);
    sim_expect(sim, "U12000:urgent(1)");
    g_free(sim);
}

/*
 * Each policy, with CQEs pending, to each other and to itself. Both marks mean
 * unmarked, also where hints are inferred.
 */
static void test_switch_all(void)
{
    CintConfig config, to;
    unsigned i, j;
    Sim *sim;

    for (i = 0; i < CINT_NR_POLICIES; i++) {
        for (j = 0; j < CINT_NR_POLICIES; j++) {
            config = sim_cint(6000, 32);
            config.static_time_ns = 6000;
            config.static_thr = 32;
            config.policy = i;
            config.max_hold_ns = FAR;
            to = config;
            to.policy = j;
            sim = start_ooo(config);
            sim_batch(sim, 1, 0, "22222222222222222222222222222222");
            sim_force_ratio(sim, 1, 32);
            cint_pointer(&sim->cq, 0, 40);
            sim_marked(sim, 1000, '2');
            sim_expect(sim, "");
            sim_configure(sim, 2000, &to);
            sim_expect(sim, "2000:reconfigure(1)");
            g_assert_cmpint(cint_deadline(&sim->cq), ==, CINT_NO_DEADLINE);
            g_assert_cmpuint(sim->cq.pending, ==, 0);
            g_free(sim);
        }
    }
}

/* To cint and away with a Barrier open: no policy but cint knows it. */
static void test_switch_with_barrier(void)
{
    CintConfig config = with_barrier(CINT_BARRIER_STRICT), other = config;
    Sim *sim = sim_new(64, config);

    other.policy = NVME_CINT_POLICY_ADAPTIVE;
    sim_batch(sim, 0, 0, "...B");
    sim_post(sim, 0, 1000, 4);
    sim_configure(sim, 1500, &other);
    sim_post(sim, 0, 2000, 1);
    sim_configure(sim, 2500, &config);
    sim_post(sim, 0, 3000, 2);
    sim_expect(sim, "1500:reconfigure(1) 2500:reconfigure(1)");
    sim_post(sim, 0, 4000, 3);
    sim_expect(sim, "4000:barrier(2)");
    g_free(sim);
}

int main(int argc, char **argv)
{
    static const SuiteTest tests[] = {
        { "hints/both-bits-are-unmarked", test_both_unmarked },
        { "hints/one-in-each-place-is-both", test_union_of_places },
        { "hints/cdw13-never-raises-the-urgent-class",
          test_cdw13_never_urgent_class },
        { "hints/no-policy-but-cint-uses-them", test_hints_need_policy },
        { "hints/error-beats-urgent", test_error_beats_urgent },
        { "hints/error-satisfies-a-barrier", test_error_satisfies },
        { "hints/drain-tells-of-what-urgent-leaves", test_drain_and_urgent },
        { "hints/pressure-beats-urgent", test_pressure_over_urgent },
        { "urgent/class-needs-a-record-and-ooo", test_urgent_needs_record },
        { "urgent/leaves-the-batch-its-deadline", test_urgent_leaves_batch },
        { "urgent/moves-the-deadline", test_urgent_moves_deadline },
        { "urgent/endless-stream-starves-nobody", test_endless_urgents },
        { "urgent/is-withheld-by-the-kick-window", test_kick_window },
        { "thr/counts-what-is-retained", test_thr_counts_retained },
        { "urgent/goes-out-with-what-is-held", test_held_goes_along },
        { "thr/ignores-what-was-told", test_thr_ignores_told },
        { "thr/ignores-a-lone-urgent", test_thr_0 },
        { "thr/forgets-what-was-reaped", test_thr_forgets_reaped },
        { "records/off-sends-what-is-pending", test_record_off_fires },
        { "records/on-keeps-what-is-pending", test_record_on_keeps },
        { "switch/each-policy-to-each", test_switch_all },
        { "switch/keeps-count-of-open-barriers", test_switch_with_barrier },
    };

    g_test_init(&argc, &argv, NULL);
    suite_add("/cint", tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
