/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Storm protection: golden vectors V9 and V11 with the answers of rival
 * readings (see test-vectors.c), the law of hold, which interrupts it holds,
 * and retune.
 *
 * The limit is LIMIT interrupts a second, one in GAP ns, unless a test says
 * otherwise.
 */
#include <math.h>

#include "rival-storm.h"
#include "sim.h"
#include "suite.h"

#define SECOND  1000000000ll
#define MS      1000000ll
#define GAP     10000ll
#define LIMIT   (SECOND / GAP)

static CintConfig limited(CintConfig config, unsigned shift)
{
    config.max_irq_rate = LIMIT;
    config.ewma_shift = shift;
    return config;
}

static CintConfig retuning(CintConfig config)
{
    config.storm = CINT_STORM_RETUNE;
    return config;
}

/*
 * After a message at 0 and with a mean interval of @mean, as if there had been
 * others before.
 */
static Sim *start_with_mean(CintConfig config, int64_t mean)
{
    Sim *sim = sim_new(1024, config);

    sim_submit(sim, 3, 0, 1);
    sim_fail(sim, 3, 0);
    sim_expect(sim, "0:error(1)");
    sim->cq.limits.ewma = (uint64_t)mean << 16;
    g_assert_cmpuint(cint_storm_ewma(&sim->cq), ==, mean);
    return sim;
}

/* In a storm: held from now on. */
static Sim *start_stormy(CintConfig config)
{
    return start_with_mean(limited(config, 7), 6667);
}

/* The mean after messages at @t, 0-terminated, @n times the last interval. */
static double mean_after(const int64_t *t, unsigned n)
{
    Sim *sim = sim_new(1024, limited(sim_config(NVME_CINT_POLICY_DEFAULT), 7));
    int64_t now = 0, step = 0;
    double mean;

    for (; *t || n--; now += step) {
        if (*t) {
            step = *t++;
        }
        sim_submit(sim, 0, now, 1);
        sim_fail(sim, 0, now);
        sim->nr_irqs = 0;
    }
    sim_submit(sim, 0, now, 1);
    sim_fail(sim, 0, now);
    mean = sim->cq.limits.ewma / 65536.0;
    g_free(sim);
    return mean;
}

/* Within 0.1 ns of the formula, which the artefact's whole ns are not. */
static void test_mean(void)
{
    static const int64_t in[] = { 6667, 20000, 0 };
    static const double want[] = { 6771.2, 6874.5, 6977.1 };
    static const int64_t artefact[] = { 6771, 6874, 6976 };
    int64_t whole = 6667;
    double mean = 6667;
    unsigned i;

    g_assert_cmpfloat(fabs(mean_after((const int64_t[]) { 6667, 0 }, 0) -
                           6667), <, 0.1);
    for (i = 0; i < G_N_ELEMENTS(want); i++) {
        mean = rival_mean(mean, 128, 20000);
        whole = rival_integer_mean(whole, 128, 20000);
        g_assert_cmpfloat(fabs(mean - want[i]), <, 0.1);
        g_assert_cmpint(whole, ==, artefact[i]);
        g_assert_cmpfloat(fabs(mean_after(in, i) - want[i]), <, 0.1);
    }
    g_assert_cmpfloat(fabs(whole - want[2]), >, 0.1);
}

/* A constant interval is reached, from below and from above. */
static void test_mean_arrives(void)
{
    static const int64_t below[] = { 6667, 10000, 0 };
    static const int64_t above[] = { 15000, 10000, 0 };
    int64_t whole = 6667;
    unsigned i;

    for (i = 0; i < 4000; i++) {
        whole = rival_integer_mean(whole, 128, 10000);
    }
    g_assert_cmpint(whole, ==, 9873);
    g_assert_cmpfloat(mean_after(below, 4000), ==, 10000);
    g_assert_cmpfloat(mean_after(above, 4000), ==, 10000);
}

/* An idle gap counts as two intervals of the limit, however long. */
static void test_mean_clamped(void)
{
    static const int64_t in[] = { 1000, SECOND, 0 };
    Sim *sim;

    g_assert_cmpfloat(fabs(mean_after(in, 0) -
                           rival_mean(1000, 128, 2 * GAP)), <, 0.1);
    sim = start_with_mean(limited(sim_config(NVME_CINT_POLICY_DEFAULT), 7),
                          5000);
    sim_io(sim, SECOND);
    sim_io(sim, SECOND + 1000);
    sim_run_out(sim);
    sim_expect(sim, "1000000000:each(1) 1000010000:storm(1)");
    g_free(sim);
}

#define V11_OUT "10000(2) 20000(1) 30000(2) 60000(1)"
static const StormLoad v11 = {
    .gap_ns = GAP,
    .delta_ns = 6000,
    .in = { 1000, 7667, 14334, 21001, 27668, 60000 },
};

static void test_v11_engine(void)
{
    Sim *sim = start_stormy(sim_cint(6000, 32));
    const int64_t *t;
    char *got;

    for (t = v11.in; *t; t++) {
        sim_marked(sim, *t, 'U');
    }
    sim_run_out(sim);
    got = sim_irqs(sim);
    sim_same("the engine's list of interrupts", got, V11_OUT);
    g_free(got);
    g_free(sim);
}

typedef struct RivalAnswer {
    const char *name;
    StormReading reading;
    const char *out;
} RivalAnswer;

/* The first is our own reading; the others must differ. */
static const RivalAnswer v11_rivals[] = {
    { "independent-model-agrees", { 0 }, V11_OUT },
    { "is-told-apart-from/no-limit", { .no_limit = true },
      "1000(1) 7667(1) 14334(1) 21001(1) 27668(1) 60000(1)" },
    { "is-told-apart-from/the-interval-counted-from-the-arrival",
      { .from_arrival = true },
      "11000(2) 24334(2) 37668(1) 70000(1)" },
    { "is-told-apart-from/a-fall-back-to-adaptive", { .to_adaptive = true },
      "7000(1) 13667(1) 20334(1) 27001(1) 33668(1) 66000(1)" },
    { "is-told-apart-from/one-message-for-each-held", { .each = true },
      "10000(1) 20000(1) 30000(1) 40000(1) 50000(1) 60000(1)" },
};

static void test_v11_rival(gconstpointer opaque)
{
    const RivalAnswer *rival = opaque;
    char *got = rival_storm_run(&v11, &rival->reading);

    sim_same("the list of interrupts", got, rival->out);
    g_assert_cmpint(!strcmp(rival->out, V11_OUT), ==, rival == v11_rivals);
    g_free(got);
}

/*
 * Completions of interest to the law: @n of them, @step apart, with @jitter
 * to either side, on top of what came before.
 */
typedef struct Load {
    int64_t step;
    int64_t jitter;
    unsigned n;
} Load;

#define MAX_TIMES   40000

/* When interrupts were sent. */
typedef struct Times {
    int64_t t[MAX_TIMES];
    unsigned n;
} Times;

static void collect(Sim *sim, Times *times)
{
    unsigned i;

    for (i = 0; i < sim->nr_irqs; i++) {
        g_assert_cmpuint(times->n, <, MAX_TIMES);
        times->t[times->n++] = sim->irq[i].t;
    }
    sim->nr_irqs = 0;
}

static void run_load(Sim *sim, Load load, Times *times)
{
    unsigned i;

    for (i = 0; i < load.n; i++) {
        sim_marked(sim, sim->now + load.step +
                        g_test_rand_int_range(-load.jitter, load.jitter + 1),
                   'U');
        collect(sim, times);
    }
}

/*
 * In no window of max(100 ms, 16 * 2^shift / limit) more than 1.05 times what
 * the limit allows, wherever it begins.
 */
static void check_law(const Times *times, unsigned shift)
{
    int64_t window = MAX(100 * MS, 16 * (1ll << shift) * GAP);
    double most = 1.05 * window / GAP;
    unsigned i, end = 0;

    for (i = 0; i < times->n; i++) {
        while (end < times->n && times->t[end] < times->t[i] + window) {
            end++;
        }
        g_assert_cmpfloat(end - i, <=, most);
    }
}

/* From silence, from a quiet load and after a storm; three kinds of storm. */
static void test_law(gconstpointer opaque)
{
    unsigned shift = GPOINTER_TO_UINT(opaque), i;
    static const Load storms[] = {
        { 1000, 0, 20000 }, { 100, 100, 20000 }, { 9000, 0, 15000 },
        { 5000, 4999, 15000 }, { 9900, 2000, 15000 },
    };
    Times *times = g_new(Times, 1);
    Sim *sim;

    for (i = 0; i < G_N_ELEMENTS(storms); i++) {
        sim = sim_new(1024, limited(sim_cint(6000, 32), shift));
        times->n = 0;
        run_load(sim, storms[i], times);
        run_load(sim, (Load) { 50000, 0, 2000 }, times);
        run_load(sim, storms[i], times);
        sim_run_out(sim);
        collect(sim, times);
        check_law(times, shift);
        g_free(sim);
    }
    g_free(times);
}

/* Completions that would themselves break the law. */
static void test_law_is_needed(void)
{
    CintConfig config = sim_cint(6000, 32);
    Times *times = g_new0(Times, 1);
    Sim *sim = sim_new(1024, config);

    run_load(sim, (Load) { 1000, 0, 20000 }, times);
    g_assert_cmpuint(times->n, ==, 20000);
    g_free(sim);
    g_free(times);
}

/* As many interrupts as the limit allows: it is not undercut. */
static void test_limit_is_used(void)
{
    Sim *sim = sim_new(1024, limited(sim_cint(6000, 32), 7));
    Times *times = g_new0(Times, 1);
    int64_t time;

    run_load(sim, (Load) { 1000, 0, 20000 }, times);
    time = times->t[times->n - 1] - times->t[0];
    g_assert_cmpint(times->n, >=, time / GAP);
    g_assert_cmpuint(sim->cq.storm_held, >, 1900);
    g_free(sim);
    g_free(times);
}

/* A rate below the limit: every interrupt at once, from the first one on. */
static void test_natural_rate(gconstpointer opaque)
{
    unsigned shift = GPOINTER_TO_UINT(opaque), i;
    static const Load loads[] = {
        { 10100, 0, 4000 }, { 15000, 4900, 4000 }, { 10001, 0, 400 },
        { 1000000, 0, 100 },
    };
    Times *times = g_new(Times, 1);
    Sim *sim;

    for (i = 0; i < G_N_ELEMENTS(loads); i++) {
        sim = sim_new(1024, limited(sim_cint(6000, 32), shift));
        times->n = 0;
        run_load(sim, loads[i], times);
        g_assert_cmpuint(times->n, ==, loads[i].n);
        g_assert_cmpuint(sim->cq.storm_held, ==, 0);
        g_assert_false(cint_storm_active(&sim->cq));
        g_free(sim);
    }
    g_free(times);
}

/* The first interrupts of a queue are nobody's storm. */
static void test_starts_free(void)
{
    Sim *sim = sim_new(1024, limited(sim_cint(6000, 32), 7));

    g_assert_false(cint_storm_active(&sim->cq));
    sim_marked(sim, 5000, 'U');
    sim_expect(sim, "5000:urgent(1)");
    g_assert_false(cint_storm_active(&sim->cq));
    sim_marked(sim, 5100, 'U');
    sim_expect(sim, "5100:urgent(1)");
    /* Only two tell of a rate. */
    g_assert_true(cint_storm_active(&sim->cq));
    sim_marked(sim, 5200, 'U');
    sim_expect(sim, "");
    sim_run_out(sim);
    sim_expect(sim, "15100:storm(1)");
    g_free(sim);
}

/* After a storm the mean is soon above the limit's interval. */
static void test_lets_go(gconstpointer opaque)
{
    unsigned shift = GPOINTER_TO_UINT(opaque), i;
    Times *times = g_new0(Times, 1);
    Sim *sim = sim_new(1024, limited(sim_cint(6000, 32), shift));

    run_load(sim, (Load) { 100, 0, 10000 }, times);
    sim_run_out(sim);
    g_assert_true(cint_storm_active(&sim->cq));
    for (i = 0; cint_storm_active(&sim->cq); i++) {
        g_assert_cmpuint(i, <, 10u << shift);
        run_load(sim, (Load) { GAP + GAP / 10, 0, 1 }, times);
    }
    g_assert_cmpuint(sim->cq.held, ==, CINT_HELD_NOT);
    g_free(sim);
    g_free(times);
}

/* All interrupts to a masked vector: the guest sees none of them. */
static void test_masked(void)
{
    Sim *sim = sim_new(1024, limited(sim_cint(6000, 32), 7));

    cint_set_masked(&sim->cq, true);
    sim_marked(sim, 1000, 'U');
    sim_marked(sim, 1100, 'U');
    sim_marked(sim, 1200, 'U');
    sim_expect(sim, "1000:urgent(1) 1100:urgent(1) 1200:urgent(1)");
    g_assert_cmpuint(cint_storm_ewma(&sim->cq), ==, 0);
    cint_set_masked(&sim->cq, false);
    sim_marked(sim, 1300, 'U');
    sim_marked(sim, 1400, 'U');
    sim_expect(sim, "1300:urgent(1) 1400:urgent(1)");
    g_assert_cmpuint(cint_storm_ewma(&sim->cq), ==, 100);
    g_free(sim);
}

static CintConfig draining(CintConfig config)
{
    config.drain = CINT_ON;
    return config;
}

/* What else would have been sent at 2000, with something held since 1000. */
static void held_with(CintConfig config, const char *marks, const char *want)
{
    Sim *sim = start_stormy(config);

    sim_records(sim, 500, true);
    sim_batch(sim, 0, 500, marks);
    sim_post(sim, 0, 1000, 1);
    sim_post(sim, 0, 2000, 2);
    sim_run_out(sim);
    sim_expect(sim, want);
    g_free(sim);
}

/* Held, whatever the reason; and then one full interrupt. */
static void test_holds_all_reasons(void)
{
    held_with(sim_cint(6000, 32), "UU.", "10000:storm(2)");
    held_with(sim_cint(6000, 32), ".U.", "10000:storm(2)");
    held_with(sim_cint(6000, 32), ".B.", "10000:storm(2)");
    held_with(sim_cint(6000, 2), "...", "10000:storm(2)");
    held_with(sim_cint(500, 32), "...", "10000:storm(2)");
    held_with(sim_cint(10000, 32), "...", "12000:quiet(2)");
    held_with(draining(sim_cint(6000, 32)), "..", "10000:storm(2)");
    held_with(sim_config(NVME_CINT_POLICY_DEFAULT), "...", "10000:storm(2)");
    held_with(sim_static(6000, 2), "...", "10000:storm(2)");
    held_with(sim_static(3000, 8), "...", "10000:storm(2)");
    held_with(sim_vic(), "...", "10000:storm(2)");
    held_with(sim_config(NVME_CINT_POLICY_POINTER), "...", "10000:storm(2)");
}

/* Error, pressure, max-hold and reconfigure do not wait. */
static void test_bypassed(void)
{
    CintConfig config = sim_cint(6000, 32);
    Sim *sim;
    unsigned i;

    sim = start_stormy(config);
    sim_marked(sim, 1000, 'U');
    sim_submit(sim, 0, 1000, 1);
    sim_fail(sim, 0, 2000);
    sim_expect(sim, "2000:error(2)");
    /* And counts: the next one may go 10000 later. */
    sim_marked(sim, 3000, 'U');
    sim_run_out(sim);
    sim_expect(sim, "12000:storm(1)");
    config = limited(config, 7);
    sim_marked(sim, 13000, 'U');
    sim_configure(sim, 14000, &config);
    sim_expect(sim, "14000:reconfigure(1)");
    sim_marked(sim, 15000, 'U');
    sim_disable(sim, 16000, true);
    sim_marked(sim, 16500, 'U');
    sim_expect(sim, "16000:reconfigure(1) 16500:each(1)");
    g_free(sim);

    sim = start_stormy(config);
    sim->lazy = true;
    for (i = 0; i < 768; i++) {
        sim_marked(sim, 1000, 'U');
    }
    sim_expect(sim, "1000:pressure(768)");
    g_free(sim);

    config.max_hold_ns = 3000;
    sim = start_stormy(config);
    sim_marked(sim, 1000, 'U');
    sim_run_out(sim);
    sim_expect(sim, "4000:max-hold(1)");
    g_free(sim);
}

/* A guest that reaps by itself needs no interrupt: not even a held one. */
static void test_reaped(void)
{
    Sim *sim = start_stormy(sim_cint(6000, 32));

    sim->lazy = true;
    sim_marked(sim, 1000, 'U');
    g_assert_cmpint(cint_deadline(&sim->cq), ==, GAP);
    sim_reap(sim, 2000, 2);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, CINT_NO_DEADLINE);
    sim_until(sim, 50000);
    sim_expect(sim, "");
    g_free(sim);
}

/*
 * The two limits together: withheld for the kick window first, and what the
 * window releases may still come too early for the storm's.
 */
static void test_kick_then_storm(void)
{
    CintConfig config = sim_cint(6000, 32);
    Sim *sim;

    config.kick_window_ns = 4000;
    sim = start_stormy(config);
    sim->lazy = true;
    sim_reap(sim, 500, 1);
    sim_marked(sim, 1000, 'U');
    g_assert_cmpint(sim->cq.held, ==, CINT_HELD_KICK);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 4000);
    sim_until(sim, 4000);
    g_assert_cmpint(sim->cq.held, ==, CINT_HELD_STORM);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, GAP);
    /* A ring does not release what the limit holds. */
    sim_submit(sim, 1, 5000, 1);
    sim_expect(sim, "");
    sim_run_out(sim);
    sim_expect(sim, "10000:storm(1)");
    g_free(sim);
}

/* A timer that comes late: decided by the deadline, sent and measured now. */
static void test_late_timer(void)
{
    CintConfig config = sim_cint(6000, 32);
    Sim *sim;

    config.max_hold_ns = 7000;
    sim = sim_new(1024, config);
    sim_marked(sim, 1000, '.');
    g_assert_cmpint(cint_timer_late(&sim->cq, 7000, 9000).reason, ==,
                    NVME_CINT_REASON_QUIET);
    g_assert_cmpint(sim->cq.limits.message_ns, ==, 9000);
    g_free(sim);

    sim = start_stormy(sim_cint(6000, 32));
    sim_marked(sim, 1000, 'U');
    g_assert_cmpint(cint_deadline(&sim->cq), ==, GAP);
    g_assert_cmpint(cint_timer_late(&sim->cq, GAP, GAP + 500).reason, ==,
                    NVME_CINT_REASON_STORM);
    g_assert_cmpint(sim->cq.limits.last_ns, ==, GAP + 500);
    g_free(sim);
}

/* A ring within the window, but before the limit's interval is over. */
static void test_ring_in_storm(void)
{
    CintConfig config = sim_cint(6000, 32);
    Sim *sim;

    config.kick_window_ns = 50000;
    sim = start_stormy(config);
    sim->lazy = true;
    sim_reap(sim, 500, 1);
    sim_marked(sim, 1000, 'U');
    sim_submit(sim, 1, 2000, 1);
    g_assert_cmpint(sim->cq.held, ==, CINT_HELD_STORM);
    sim_expect(sim, "");
    /* The limit lets go; the guest is at work, and rings at last. */
    sim_until(sim, GAP);
    g_assert_cmpint(sim->cq.held, ==, CINT_HELD_KICK);
    sim_submit(sim, 1, 20000, 1);
    sim_expect(sim, "20000:kick(1)");
    g_free(sim);
}

/* The same limit, set again, forgets nothing; another one begins anew. */
static void test_reconfigured(void)
{
    CintConfig config = limited(sim_cint(6000, 32), 7);
    Sim *sim = start_with_mean(config, 5000);

    config.delta_ns = 7000;
    sim_configure(sim, 500, &config);
    g_assert_cmpuint(cint_storm_ewma(&sim->cq), ==, 5000);
    config.ewma_shift = 6;
    sim_configure(sim, 550, &config);
    g_assert_cmpuint(cint_storm_ewma(&sim->cq), ==, 0);
    sim->cq.limits.ewma = 5000 << 16;
    config.max_irq_rate = 2 * LIMIT;
    sim_configure(sim, 600, &config);
    g_assert_cmpuint(cint_storm_ewma(&sim->cq), ==, 0);
    sim_marked(sim, 1000, 'U');
    sim_expect(sim, "1000:urgent(1)");
    sim_marked(sim, 2000, 'U');
    sim_marked(sim, 3000, 'U');
    sim_run_out(sim);
    sim_expect(sim, "2000:urgent(1) 7000:storm(1)");
    config.max_irq_rate = 0;
    sim_configure(sim, 8000, &config);
    sim_marked(sim, 8100, 'U');
    sim_marked(sim, 8200, 'U');
    sim_expect(sim, "8100:urgent(1) 8200:urgent(1)");
    g_free(sim);
}

/* What is held comes at the limit's own rate: that must not set it free. */
static void test_at_the_limit(void)
{
    Sim *sim = start_with_mean(limited(sim_cint(6000, 32), 7), GAP);

    sim_marked(sim, 1000, 'U');
    sim_expect(sim, "");
    g_free(sim);
    sim = start_with_mean(limited(sim_cint(6000, 32), 7), GAP + 1);
    sim_marked(sim, 1000, 'U');
    sim_expect(sim, "1000:urgent(1)");
    g_free(sim);
}

/* An interrupt that is held is one, however many more CQEs it is to tell of. */
static void test_held_once(void)
{
    Sim *sim = start_with_mean(limited(sim_config(NVME_CINT_POLICY_DEFAULT), 7),
                               1000);

    g_assert_cmpuint(sim->cq.storm_held, ==, 0);
    sim_io(sim, 100);
    sim_io(sim, 200);
    sim_io(sim, 300);
    g_assert_cmpuint(sim->cq.storm_held, ==, 1);
    sim_run_out(sim);
    sim_expect(sim, "10000:storm(3)");
    g_assert_cmpuint(sim->cq.storm_held, ==, 1);
    g_free(sim);
}

/*
 * While it retunes, an Urgent among others counts as the rule has it: with a
 * record they go on waiting, and without one they would have been told of.
 */
static void test_retune_urgent(void)
{
    unsigned record;

    for (record = 0; record < 2; record++) {
        CintConfig config = retuning(limited(sim_cint(6000, 32), 7));
        Sim *sim = sim_new(1024, config);

        if (record) {
            sim_records(sim, 0, true);
        }
        sim->cq.limits.tuner.thr = 8;
        sim_marked(sim, 1000, '.');
        sim_marked(sim, 1100, '.');
        sim_marked(sim, 1200, 'U');
        g_assert_cmpuint(sim->cq.limits.tuner.sample.natural, ==, 1);
        g_assert_cmpuint(sim->cq.limits.tuner.natural_cqes, ==,
                         record ? 3 : 0);
        g_free(sim);
    }
}

/* A limit that does not divide a second: the interval is rounded up. */
static void test_odd_rate(void)
{
    CintConfig config = limited(sim_cint(6000, 32), 7);
    Sim *sim;

    config.max_irq_rate = 300000;
    sim = start_with_mean(config, 1000);
    sim_marked(sim, 100, 'U');
    sim_run_out(sim);
    sim_expect(sim, "3334:storm(1)");
    g_free(sim);
}

/* ... also where it divides all but a ns of it. */
static void test_gap(void)
{
    CintLimitsConfig config = { .max_irq_rate = 3, .ewma_shift = 7 };
    CintLimits limits = { 0 };

    cint_limits_configure(&limits, &config);
    g_assert_cmpint(limits.gap_ns, ==, 333333334);
    config.max_irq_rate = 1;
    cint_limits_configure(&limits, &config);
    g_assert_cmpint(limits.gap_ns, ==, SECOND);
}

/* A message that is sent before the last one comes with it. */
static void test_time_goes_back(void)
{
    CintLimitsConfig config = { .max_irq_rate = LIMIT, .ewma_shift = 7 };
    CintLimits limits = { 0 };

    cint_limits_configure(&limits, &config);
    g_assert_false(cint_limits_measure(&limits, 1000, 1));
    g_assert_false(cint_limits_storm(&limits));
    g_assert_false(cint_limits_measure(&limits, 900, 1));
    g_assert_cmpuint(cint_limits_mean(&limits), ==, 0);
    g_assert_true(cint_limits_storm(&limits));
}

/* Retune settles: a load's interrupts, and changes of thr, at its end. */
typedef struct Settled {
    double rate;        /* in limits */
    uint64_t changes;
    uint32_t thr;
} Settled;

/* Urgents @step apart; then @other apart; and so on, @n of each. */
typedef struct Swing {
    int64_t step, other;
    unsigned n;
} Swing;

static void run_swing(Sim *sim, Swing load, unsigned total)
{
    unsigned i;

    for (i = 0; i < total; i++) {
        sim_marked(sim, sim->now +
                        (i / load.n % 2 ? load.other : load.step), 'U');
        if (sim->nr_irqs > SIM_IRQS / 2) {
            sim->nr_irqs = 0;
        }
    }
}

static unsigned count_swing(Sim *sim, Swing load, unsigned total)
{
    unsigned i, irqs = 0;

    for (i = 0; i < total; i++) {
        sim->nr_irqs = 0;
        sim_marked(sim, sim->now +
                        (i / load.n % 2 ? load.other : load.step), 'U');
        irqs += sim->nr_irqs;
    }
    return irqs;
}

/* Counts during @total completions, after ten times as many. */
static Settled settle(Sim *sim, Swing load, unsigned total)
{
    uint64_t before;
    int64_t start;
    unsigned irqs;

    run_swing(sim, load, 10 * total);
    before = sim->cq.limits.tuner.changes;
    start = sim->now;
    irqs = count_swing(sim, load, total);
    return (Settled) {
        .rate = (double)irqs * GAP / (sim->now - start),
        .changes = sim->cq.limits.tuner.changes - before,
        .thr = sim->cq.thr,
    };
}

/*
 * A steady load ends at one thr: the least that meets the limit, which is then
 * used to within a CQE. So it is within 5 % of the limit where 20 and more
 * CQEs come in its interval, or a whole number of them; never above. With a
 * delta that the storm's own interval exceeds, thr alone would not be reached.
 */
static void test_retune_settles(gconstpointer opaque)
{
    unsigned shift = GPOINTER_TO_UINT(opaque), i, j;
    static const int64_t steps[] = {
        100, 130, 333, 495, 1000, 2100, 2500, 3300, 6000, 9400,
    };
    static const int64_t deltas[] = { 600, 6000, 50000 };

    for (i = 0; i < G_N_ELEMENTS(steps); i++) {
        for (j = 0; j < G_N_ELEMENTS(deltas); j++) {
            Sim *sim = sim_new(1024, retuning(limited(sim_cint(deltas[j], 32),
                                              shift)));
            double in_a_gap = (double)GAP / steps[i];
            Settled got = settle(sim, (Swing) { steps[i], 0, UINT_MAX },
                                 20000);

            g_test_message("every %" G_GINT64_FORMAT " ns: %.3f of the limit "
                           "with thr %" G_GUINT32_FORMAT, steps[i], got.rate,
                           got.thr);
            g_assert_cmpuint(got.changes, ==, 0);
            g_assert_cmpuint(got.thr, ==, ceil(in_a_gap));
            g_assert_cmpfloat(got.rate, <=, 1.01);
            g_assert_cmpfloat(got.rate, >=,
                              0.99 * in_a_gap / ceil(in_a_gap));
            g_assert_true(cint_storm_active(&sim->cq));
            g_free(sim);
        }
    }
}

/* A load that grows to a hundred times, or falls to a hundredth, and stays. */
static void test_retune_ramp(gconstpointer opaque)
{
    unsigned shift = GPOINTER_TO_UINT(opaque);
    Sim *sim = sim_new(1024, retuning(limited(sim_cint(6000, 32), shift)));
    int64_t step;
    Settled got;

    for (step = 20 * GAP; step > GAP / 50; step -= step / 20) {
        run_swing(sim, (Swing) { step, 0, UINT_MAX }, 3000);
    }
    got = settle(sim, (Swing) { 200, 0, UINT_MAX }, 50000);
    g_assert_cmpuint(got.changes, ==, 0);
    g_assert_cmpuint(got.thr, <=, 53);
    g_assert_cmpfloat(got.rate, >=, 0.95);
    g_assert_cmpfloat(got.rate, <=, 1.05);
    for (step = 200; step < 20 * GAP; step += step / 20) {
        run_swing(sim, (Swing) { step, 0, UINT_MAX }, 3000);
    }
    got = settle(sim, (Swing) { 20 * GAP, 0, UINT_MAX }, 20000);
    g_assert_cmpuint(got.changes, ==, 0);
    g_assert_false(cint_storm_active(&sim->cq));
    g_assert_cmpuint(got.thr, ==, 32);
    g_assert_cmpfloat(fabs(got.rate - 0.05), <, 0.001);
    g_free(sim);
}

/*
 * Two loads that take turns: at first thr follows them, and then it stays at
 * what the heavier one needs. Quick turns, slow ones, and one of the loads
 * being none to speak of.
 */
static void test_retune_alternating(gconstpointer opaque)
{
    unsigned shift = GPOINTER_TO_UINT(opaque), i;
    static const Swing swings[] = {
        { 1000, 4000, 10 }, { 1000, 4000, 50 }, { 1000, 4000, 300 },
        { 500, 8000, 2000 }, { 2500, 40000, 500 },
    };

    for (i = 0; i < G_N_ELEMENTS(swings); i++) {
        Sim *sim = sim_new(1024, retuning(limited(sim_cint(6000, 32), shift)));
        Settled got = settle(sim, swings[i], shift > 3 ? 300000 : 100000);

        g_test_message("%" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " ns: "
                       "%.3f of the limit with thr %" G_GUINT32_FORMAT,
                       swings[i].step, swings[i].other, got.rate, got.thr);
        g_assert_cmpuint(got.changes, ==, 0);
        g_assert_cmpfloat(got.rate, <=, 1.05);
        g_free(sim);
    }
}

/* Hints have no say in the storm; afterwards they have, and all is as set. */
static void test_retune_returns(gconstpointer opaque)
{
    unsigned shift = GPOINTER_TO_UINT(opaque);
    Sim *sim = sim_new(1024, retuning(limited(sim_cint(6000, 4), shift)));
    Times *times = g_new0(Times, 1);

    sim_records(sim, 0, true);
    run_load(sim, (Load) { 1000, 0, 20000 }, times);
    sim_run_out(sim);
    collect(sim, times);
    g_assert_true(cint_storm_active(&sim->cq));
    sim_marked(sim, sim->now + 100, 'U');
    sim_marked(sim, sim->now + 100, 'B');
    sim_expect(sim, "");
    g_assert_cmpuint(sim->cq.pending, ==, 2);
    sim_run_out(sim);
    collect(sim, times);

    run_load(sim, (Load) { 4 * GAP, 0, 20000 }, times);
    sim_run_out(sim);
    sim->nr_irqs = 0;
    g_assert_false(cint_storm_active(&sim->cq));
    g_assert_cmpuint(sim->cq.thr, ==, 4);
    g_assert_cmpint(sim->cq.delta_ns, ==, 6000);
    sim_marked(sim, sim->now + 100, 'U');
    g_assert_cmpuint(sim->nr_irqs, ==, 1);
    g_assert_cmpint(sim->irq[0].fire, ==, CINT_FIRE_URGENT);
    sim->nr_irqs = 0;
    sim_marked(sim, sim->now + 100, 'B');
    g_assert_cmpuint(sim->nr_irqs, ==, 1);
    g_assert_cmpint(sim->irq[0].reason, ==, NVME_CINT_REASON_BARRIER);
    g_free(sim);
    g_free(times);
}

/* A strict Barrier that a cancel satisfies has no say either. */
static void test_retune_cancel(void)
{
    CintConfig config = retuning(limited(sim_cint(6000, 32), 1));
    Times *times = g_new0(Times, 1);
    Sim *sim;

    config.barrier = CINT_BARRIER_STRICT;
    sim = sim_new(1024, config);
    run_load(sim, (Load) { 1000, 0, 40 }, times);
    sim_run_out(sim);
    sim->nr_irqs = 0;
    g_assert_true(cint_storm_active(&sim->cq));
    sim_batch(sim, 1, sim->now, "..B");
    sim_post(sim, 1, sim->now + 1000, 3);
    sim_drop(sim, 1, sim->now + 1000, 1);
    sim_drop(sim, 1, sim->now + 1000, 2);
    sim_expect(sim, "");
    g_assert_cmpuint(sim->cq.pending, ==, 1);
    sim_run_out(sim);
    g_assert_cmpuint(sim->nr_irqs, ==, 1);
    g_assert_cmpint(sim->irq[0].reason, ==, NVME_CINT_REASON_QUIET);
    g_free(sim);
    g_free(times);
}

/* One command at a time: each drains the queue, which has no say either. */
static void test_retune_drain(void)
{
    CintConfig config = draining(sim_cint(6000, 32));
    Sim *sim = sim_new(1024, retuning(limited(config, 7)));
    Settled got = settle(sim, (Swing) { 4000, 0, UINT_MAX }, 20000);

    g_assert_cmpuint(got.changes, ==, 0);
    g_assert_cmpuint(got.thr, ==, 3);
    g_assert_cmpfloat(fabs(got.rate - 10.0 / 12), <, 0.01);
    got = settle(sim, (Swing) { 2 * GAP, 0, UINT_MAX }, 2000);
    g_assert_false(cint_storm_active(&sim->cq));
    g_assert_cmpfloat(fabs(got.rate - 0.5), <, 0.01);
    g_free(sim);
}

/* Nothing is held: what is due goes out. */
static void test_retune_holds_nothing(void)
{
    CintConfig config = retuning(limited(sim_cint(6000, 32), 7));
    Sim *sim = start_with_mean(config, 6667);

    sim_submit(sim, 0, 500, 2);
    sim_complete(sim, 0, 1000);
    sim_fail(sim, 0, 1500);
    sim_expect(sim, "1500:error(2)");
    g_assert_cmpuint(sim->cq.storm_held, ==, 0);
    g_free(sim);
}

/* A new configuration begins with what it says. */
static void test_retune_reconfigured(void)
{
    CintConfig config = retuning(limited(sim_cint(6000, 4), 3));
    Times *times = g_new0(Times, 1);
    Sim *sim = sim_new(1024, config);

    run_load(sim, (Load) { 1000, 0, 2000 }, times);
    g_assert_cmpuint(sim->cq.thr, >, 4);
    config.storm = CINT_STORM_HOLD;
    sim_configure(sim, sim->now, &config);
    g_assert_cmpuint(sim->cq.thr, ==, 4);
    g_assert_cmpint(sim->cq.delta_ns, ==, 6000);
    g_free(sim);
    g_free(times);
}

static void test_retune_below_limit(void)
{
    Sim *sim = sim_new(1024, retuning(limited(sim_cint(6000, 4), 7)));
    Times *times = g_new0(Times, 1);

    run_load(sim, (Load) { GAP + 100, 0, 4000 }, times);
    g_assert_cmpuint(times->n, ==, 4000);
    g_assert_cmpuint(sim->cq.thr, ==, 4);
    g_free(sim);
    g_free(times);
}

static void test_retune_conflict(void)
{
    CintConfig config;
    unsigned policy;
    bool tunable;

    for (policy = 0; policy < CINT_NR_POLICIES; policy++) {
        cint_config_init(&config);
        config.policy = policy;
        config = retuning(limited(config, 7));
        tunable = policy == NVME_CINT_POLICY_ADAPTIVE ||
                  policy == NVME_CINT_POLICY_CINT ||
                  policy == NVME_CINT_POLICY_AUTO;
        g_assert_cmpint(cint_config_conflict(&config) == NULL, ==, tunable);
        /* Without a limit it is of no consequence. */
        config.max_irq_rate = 0;
        g_assert_null(cint_config_conflict(&config));
    }
}

static void add_v11(void)
{
    unsigned i;
    char *path;

    g_test_add_func("/storm/V11/engine-interrupts-as-expected",
                    test_v11_engine);
    for (i = 0; i < G_N_ELEMENTS(v11_rivals); i++) {
        path = g_strdup_printf("/storm/V11/%s", v11_rivals[i].name);
        g_test_add_data_func(path, &v11_rivals[i], test_v11_rival);
        g_free(path);
    }
}

static void add_for_shifts(const char *claim, GTestDataFunc func)
{
    static const unsigned shifts[] = { 1, 3, 7, 9 };
    unsigned i;
    char *path;

    for (i = 0; i < G_N_ELEMENTS(shifts); i++) {
        path = g_strdup_printf("/storm/%s/shift-%u", claim, shifts[i]);
        g_test_add_data_func(path, GUINT_TO_POINTER(shifts[i]), func);
        g_free(path);
    }
}

int main(int argc, char **argv)
{
    static const SuiteTest tests[] = {
        { "V9/mean", test_mean },
        { "V9/constant-interval-is-reached", test_mean_arrives },
        { "mean/idle-gap-counts-as-two", test_mean_clamped },
        { "mean/masked-messages-do-not-count", test_masked },
        { "mean/time-goes-back", test_time_goes_back },
        { "mean/new-limit-begins-anew", test_reconfigured },
        { "hold/law-is-needed", test_law_is_needed },
        { "hold/limit-is-used", test_limit_is_used },
        { "hold/starts-un-throttled", test_starts_free },
        { "hold/at-the-limit-itself", test_at_the_limit },
        { "hold/counted-once", test_held_once },
        { "hold/rate-need-not-divide-a-second", test_odd_rate },
        { "hold/rate-divides-a-second-but-a-ns", test_gap },
        { "hold/whatever-the-reason", test_holds_all_reasons },
        { "hold/bypassed", test_bypassed },
        { "hold/nothing-sent-for-what-was-reaped", test_reaped },
        { "hold/after-the-kick-window", test_kick_then_storm },
        { "hold/a-ring-does-not-release", test_ring_in_storm },
        { "hold/a-late-timer-is-measured-when-sent", test_late_timer },
        { "retune/cancel-satisfies-nothing", test_retune_cancel },
        { "retune/urgent-among-others", test_retune_urgent },
        { "retune/drain-has-no-say", test_retune_drain },
        { "retune/holds-nothing", test_retune_holds_nothing },
        { "retune/new-limit-begins-anew", test_retune_reconfigured },
        { "retune/below-the-limit-nothing-changes", test_retune_below_limit },
        { "retune/needs-delta-and-thr", test_retune_conflict },
    };

    g_test_init(&argc, &argv, NULL);
    add_v11();
    add_for_shifts("hold/law", test_law);
    add_for_shifts("hold/natural-rate-is-untouched", test_natural_rate);
    add_for_shifts("hold/lets-go", test_lets_go);
    add_for_shifts("retune/settles", test_retune_settles);
    add_for_shifts("retune/settles-after-a-ramp", test_retune_ramp);
    g_test_add_data_func("/storm/retune/settles-when-loads-alternate/shift-3",
                         GUINT_TO_POINTER(3), test_retune_alternating);
    g_test_add_data_func("/storm/retune/settles-when-loads-alternate/shift-7",
                         GUINT_TO_POINTER(7), test_retune_alternating);
    add_for_shifts("retune/returns-to-what-was-set", test_retune_returns);
    suite_add("/storm", tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
