/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy vic beyond its golden vectors: scopes, limits of the ratio, the
 * counter's life, and that nothing is stranded or held for too long.
 */
#include "sim.h"
#include "suite.h"

#define MS  1000000ll

/* Two queues of one controller. */
static void start_two(CintConfig config, Sim **a, Sim **b)
{
    *a = sim_new(1024, config);
    *b = sim_new(1024, config);
    sim_join(*b, *a);
}

static void free_two(Sim *a, Sim *b)
{
    g_free(a);
    g_free(b);
}

/* With a ratio of @up/@skip forced and @others more commands in flight. */
static Sim *start_busy(CintConfig config, uint32_t up, uint32_t skip,
                       unsigned others)
{
    Sim *sim = sim_new(1024, config);

    sim_force_ratio(sim, up, skip);
    sim_submit(sim, 1, 0, others);
    return sim;
}

static CintConfig in_scope(CintConfig config, CintVicScope scope)
{
    config.vic_scope = scope;
    return config;
}

static CintConfig with_epoch(uint64_t ms, uint64_t iops_threshold)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_VIC);

    config.epoch_ms = ms;
    config.iops_threshold = iops_threshold;
    return config;
}

static void expect_ratio(const CintVicEpoch *epoch, const char *want)
{
    char *got = sim_ratio(epoch);

    g_assert_cmpstr(got, ==, want);
    g_free(got);
}

/*
 * Has queue @b complete its few commands while there are many on @a. @want: the
 * interrupt of the first, for cq, which counts few; none for controller.
 */
typedef void ScopeTest(Sim *a, Sim *b, const char *want);

static void run_in_each_scope(ScopeTest *test)
{
    CintVicScope scope[] = { CINT_VIC_SCOPE_CONTROLLER, CINT_VIC_SCOPE_CQ };
    const char *want[] = { "", "1000:low-cif(1)" };
    Sim *a, *b;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(scope); i++) {
        start_two(in_scope(sim_vic(), scope[i]), &a, &b);
        sim_force_ratio(a, 1, 5);
        sim_force_ratio(b, 1, 5);
        test(a, b, want[i]);
        free_two(a, b);
    }
}

static void check_inflight(Sim *a, Sim *b, const char *want)
{
    sim_submit(a, 0, 0, 30);
    sim_submit(b, 0, 0, 1);
    sim_complete(b, 0, 1000);
    sim_expect(b, want);
}

static void test_scope_inflight(void)
{
    run_in_each_scope(check_inflight);
}

/* What has been rung for counts as in flight, wherever, as the scope says. */
static void check_backlog(Sim *a, Sim *b, const char *want)
{
    sim_publish(a, 0, 0, 3);
    sim_submit(b, 0, 0, 2);
    sim_complete(b, 0, 1000);
    sim_expect(b, want);
    sim_publish(b, 0, 1500, 3);
    sim_complete(b, 0, 2000);
    sim_expect(b, "");
    sim_publish(a, 0, 3000, 0);
    sim_publish(b, 0, 3000, 0);
}

static void test_scope_backlog(void)
{
    run_in_each_scope(check_backlog);
}

/* Queue a does 100 completions a ms, queue b 2: low is 50 a ms. */
static void load_unevenly(Sim *a, Sim *b)
{
    sim_submit(a, 1, 0, 31);
    sim_submit(b, 1, 0, 31);
    sim_ios(a, 10000, 10000, 100);
    sim_ios(b, 500000, 500000, 2);
    sim_io(a, MS + 10000);
    sim_io(b, MS + 500000);
}

static void test_scope_rate(void)
{
    CintConfig config = with_epoch(1, 50000);
    Sim *a, *b;

    start_two(in_scope(config, CINT_VIC_SCOPE_CQ), &a, &b);
    load_unevenly(a, b);
    expect_ratio(&a->cq.vic.epoch, "1/4");
    g_assert_false(a->cq.vic.epoch.low_iops);
    expect_ratio(&b->cq.vic.epoch, "1/1");
    g_assert_true(b->cq.vic.epoch.low_iops);
    free_two(a, b);
}

/* The ratio follows from both queues' 64 commands, for both of them. */
static void test_scope_shares_ratio(void)
{
    CintConfig config = with_epoch(1, 50000);
    Sim *a, *b;

    start_two(in_scope(config, CINT_VIC_SCOPE_CONTROLLER), &a, &b);
    load_unevenly(a, b);
    /* 31 on each, and the one that completes: 63. */
    expect_ratio(&a->scope.vic, "1/7");
    g_assert_false(a->scope.vic.low_iops);
    a->nr_irqs = b->nr_irqs = 0;
    sim_ios(b, 1510000, 10000, 7);
    /* The last of load_unevenly() was the first of this cycle. */
    sim_expect(b, "1560000:ratio(7)");
    free_two(a, b);
}

static void test_scope_counter_per_cq(void)
{
    Sim *a, *b;

    start_two(in_scope(sim_vic(), CINT_VIC_SCOPE_CONTROLLER), &a, &b);
    sim_force_ratio(a, 1, 3);
    sim_submit(a, 1, 0, 31);
    sim_ios(a, 1000, 1000, 2);
    sim_ios(b, 2000, 1000, 2);
    sim_io(a, 4000);
    sim_io(b, 5000);
    sim_expect(a, "4000:ratio(3)");
    sim_expect(b, "5000:ratio(3)");
    free_two(a, b);
}

/* The scope may change while running; each scope knows its own epoch. */
static void test_scope_changes(void)
{
    CintConfig config = in_scope(sim_vic(), CINT_VIC_SCOPE_CONTROLLER);
    Sim *sim = sim_new(1024, config);

    sim->scope.vic.skip = 5;
    sim_submit(sim, 1, 0, 31);
    sim_ios(sim, 1000, 1000, 2);
    config.vic_scope = CINT_VIC_SCOPE_CQ;
    sim_configure(sim, 2500, &config);
    sim_expect(sim, "2500:reconfigure(2)");
    sim_ios(sim, 3000, 1000, 2);
    sim_expect(sim, "3000:ratio(1) 4000:ratio(1)");
    config.vic_scope = CINT_VIC_SCOPE_CONTROLLER;
    sim_configure(sim, 4500, &config);
    sim_ios(sim, 5000, 1000, 5);
    sim_expect(sim, "9000:ratio(5)");
    g_free(sim);
}

static void expect_in_force(const Sim *sim, const char *want)
{
    CintVicEpoch epoch = { 0 };
    char *got;

    g_assert_true(cint_ratio(&sim->cq, &epoch.up, &epoch.skip));
    got = sim_ratio(&epoch);
    g_assert_cmpstr(got, ==, want);
    g_free(got);
}

/* What nothing has completed in delivers all, also when it is chosen later. */
static void test_scope_begins(void)
{
    CintConfig config = in_scope(sim_vic(), CINT_VIC_SCOPE_CONTROLLER);
    Sim *sim = sim_new(1024, config);

    expect_in_force(sim, "1/1");
    sim->scope.vic.up = 4;
    sim->scope.vic.skip = 5;
    expect_in_force(sim, "4/5");
    config.vic_scope = CINT_VIC_SCOPE_CQ;
    sim_configure(sim, 1000, &config);
    expect_in_force(sim, "1/1");
    config.vic_scope = CINT_VIC_SCOPE_CONTROLLER;
    sim_configure(sim, 2000, &config);
    expect_in_force(sim, "4/5");
    g_free(sim);
}

/* The ratio after one epoch with @cif in flight and completions at 1000/s. */
static void expect_determined(CintConfig config, uint32_t cif,
                              const char *want)
{
    Sim *sim = sim_new(1024, config);

    sim_submit(sim, 0, 0, cif);
    sim_complete(sim, 0, MS + 1);
    expect_ratio(&sim->scope.vic, want);
    g_free(sim);
}

static void test_max_skip(void)
{
    CintConfig config = with_epoch(1, 0);

    expect_determined(config, 136, "1/17");
    config.max_skip = 16;
    expect_determined(config, 136, "1/16");
    expect_determined(config, 128, "1/16");
    expect_determined(config, 64, "1/8");
    config.max_skip = 3;
    expect_determined(config, 64, "1/3");
    expect_determined(config, 16, "1/2");
    config.vic_ratios = CINT_VIC_RATIOS_COARSE;
    expect_determined(config, 64, "1/3");
}

static void test_cif_threshold(void)
{
    CintConfig config = with_epoch(1, 0);

    config.cif_threshold = 2;
    expect_determined(config, 1, "1/1");
    expect_determined(config, 2, "4/5");
    expect_determined(config, 4, "3/4");
    expect_determined(config, 6, "2/3");
    expect_determined(config, 8, "1/2");
    expect_determined(config, 64, "1/16");
    config.cif_threshold = 65535;
    expect_determined(config, 1000, "1/1");
}

static void test_coarse(void)
{
    CintConfig config = with_epoch(1, 0);

    config.vic_ratios = CINT_VIC_RATIOS_COARSE;
    expect_determined(config, 3, "1/1");
    expect_determined(config, 4, "1/2");
    expect_determined(config, 8, "1/2");
    expect_determined(config, 15, "1/2");
    expect_determined(config, 23, "1/2");
    expect_determined(config, 24, "1/3");
    expect_determined(config, 64, "1/8");
    /* That it does not look at the rate is its other mistake. */
    config.iops_threshold = 100000000;
    expect_determined(config, 64, "1/8");
    config.vic_ratios = CINT_VIC_RATIOS_FULL;
    expect_determined(config, 64, "1/1");
}

/* An epoch of @length in which @n complete. */
static void end_long_epoch(Sim *sim, int64_t *start, unsigned n, int64_t length)
{
    sim_ios(sim, *start + 1000, 1000, n - 1);
    *start += length;
    sim_io(sim, *start);
    sim->nr_irqs = 0;
}

/* One of 1 ms and 1 ns. */
static void end_epoch(Sim *sim, int64_t *start, unsigned n)
{
    end_long_epoch(sim, start, n, MS + 1);
}

/* After it R is @want. */
static void expect_after(Sim *sim, int64_t *start, unsigned n, const char *want)
{
    end_epoch(sim, start, n);
    expect_ratio(&sim->scope.vic, want);
}

typedef struct Epoch {
    unsigned completions;
    const char *want;
} Epoch;

static void expect_epochs(Sim *sim, int64_t *start, const Epoch *epoch)
{
    for (; epoch->want; epoch++) {
        expect_after(sim, start, epoch->completions, epoch->want);
    }
}

/* By trial, with 64 in flight. */
static Sim *start_trial(uint64_t iops_threshold, uint64_t max_skip)
{
    CintConfig config = with_epoch(1, iops_threshold);
    Sim *sim;

    config.vic_ratios = CINT_VIC_RATIOS_ADAPTIVE;
    config.max_skip = max_skip;
    sim = sim_new(1024, config);
    sim_submit(sim, 1, 0, 63);
    return sim;
}

static void expect_trial(const Epoch *epochs)
{
    Sim *sim = start_trial(0, 0);
    int64_t start = 0;

    expect_epochs(sim, &start, epochs);
    g_free(sim);
}

/* A step is taken back where one in 32 is lost, and the next one waits. */
static void test_trial(void)
{
    static const Epoch epochs[] = {
        { 640, "1/2" }, { 640, "1/3" }, { 621, "1/4" },
        { 619, "1/3" }, { 640, "1/3" }, { 640, "1/4" },
        { 619, "1/3" }, { 640, "1/3" }, { 640, "1/3" }, { 640, "1/4" },
        { 619, "1/3" }, { 640, "1/3" }, { 640, "1/3" }, { 640, "1/3" },
        { 640, "1/3" }, { 640, "1/4" },
        /* That one costs nothing, so patience begins anew. */
        { 640, "1/5" }, { 600, "1/4" }, { 640, "1/4" }, { 640, "1/5" },
        /* What is won by steps is not to be lost, either. */
        { 900, "1/6" }, { 872, "1/7" }, { 871, "1/6" },
        { 0, NULL },
    };

    expect_trial(epochs);
}

/*
 * Where no step was made it is another load. What that one gives if each one
 * interrupts is not known.
 */
static void test_trial_of_another_load(void)
{
    static const Epoch epochs[] = {
        { 640, "1/2" }, { 640, "1/3" }, { 640, "1/4" }, { 600, "1/3" },
        { 300, "1/1" }, { 400, "1/2" }, { 380, "1/1" },
        /* More patient than before. */
        { 400, "1/1" }, { 400, "1/1" }, { 400, "1/2" },
        { 0, NULL },
    };

    expect_trial(epochs);
}

/* One in a hundred is lost each epoch: the trial does not follow it down. */
static void test_trial_of_a_falling_load(void)
{
    static const Epoch epochs[] = {
        { 1000, "1/2" }, { 990, "1/3" }, { 980, "1/4" }, { 970, "1/5" },
        { 960, "1/4" }, { 950, "1/1" }, { 940, "1/2" },
        { 0, NULL },
    };

    expect_trial(epochs);
}

/* From 32,000 a second on 31,000 are no loss, and one in 2 ms less is one. */
static void test_trial_loss(void)
{
    static const struct {
        unsigned completions;
        const char *want;
    } row[] = { { 62, "1/3" }, { 61, "1/1" } };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(row); i++) {
        Sim *sim = start_trial(0, 0);
        int64_t start = 0;

        end_long_epoch(sim, &start, 64, 2 * MS);
        expect_ratio(&sim->scope.vic, "1/2");
        end_long_epoch(sim, &start, row[i].completions, 2 * MS);
        expect_ratio(&sim->scope.vic, row[i].want);
        g_free(sim);
    }
}

/* The mean of 64 and 63 is below 64, also behind another epoch. */
static void test_trial_mean_of_an_epoch(void)
{
    Sim *sim = start_trial(0, 0);
    int64_t start = 0;

    sim->cq.config.cif_threshold = 32;
    expect_after(sim, &start, 2, "1/2");
    sim_io(sim, start + 1000);
    start += MS + 1;
    sim_complete(sim, 1, start);
    expect_ratio(&sim->scope.vic, "1/1");
    g_free(sim);
}

/* Where each one interrupts the last rate counts, better or worse. */
static void test_trial_base(void)
{
    static const Epoch epochs[] = {
        { 640, "1/2" }, { 600, "1/1" }, { 500, "1/1" }, { 500, "1/2" },
        { 490, "1/3" }, { 480, "1/2" }, { 0, NULL },
    };

    expect_trial(epochs);
}

/* Steps that all cost: they wait 1, 2, 4 ... 64 epochs, and 64 from then on. */
static void test_trial_patience(void)
{
    Sim *sim = start_trial(0, 0);
    int64_t start = 0;
    unsigned loss, wait;

    expect_after(sim, &start, 100, "1/2");
    for (loss = 0; loss < 9; loss++) {
        expect_after(sim, &start, 90, "1/1");
        for (wait = 0; wait < 1u << MIN(loss, 6); wait++) {
            expect_after(sim, &start, 100, "1/1");
        }
        expect_after(sim, &start, 100, "1/2");
    }
    g_free(sim);
}

/* No more than one in cif-threshold of those in flight, or max-skip. */
static void test_trial_at_most(void)
{
    const struct {
        uint64_t max_skip;
        const char *want;
    } row[] = { { 0, "1/16" }, { 17, "1/16" }, { 15, "1/15" }, { 1, "1/1" } };
    unsigned i, k;

    for (i = 0; i < G_N_ELEMENTS(row); i++) {
        Sim *sim = start_trial(0, row[i].max_skip);
        int64_t start = 0;

        for (k = 0; k < 20; k++) {
            end_epoch(sim, &start, 100);
        }
        expect_after(sim, &start, 100, row[i].want);
        /* What could not be tried has cost nothing. */
        expect_after(sim, &start, 98, row[i].want);
        expect_after(sim, &start, 50, "1/1");
        g_free(sim);
    }
}

/* A low rate, or few in flight, or another rule: from the beginning. */
static void test_trial_begins_anew(void)
{
    static const Epoch up[] = {
        { 640, "1/2" }, { 640, "1/3" }, { 640, "1/4" }, { 0, NULL },
    };
    Sim *sim = start_trial(100000, 0);
    int64_t start = 0;

    expect_epochs(sim, &start, up);
    expect_after(sim, &start, 50, "1/1");
    g_assert_true(sim->scope.vic.low_iops);
    expect_epochs(sim, &start, up);
    sim->cq.config.vic_ratios = CINT_VIC_RATIOS_FULL;
    expect_after(sim, &start, 640, "1/8");
    sim->cq.config.vic_ratios = CINT_VIC_RATIOS_ADAPTIVE;
    /* With the other rule's ratio it is not known what is lost. */
    expect_after(sim, &start, 200, "1/1");
    expect_after(sim, &start, 200, "1/2");
    sim_delete_sq(sim, 1, start + 100);
    expect_after(sim, &start, 640, "1/1");
    g_free(sim);
}

/* It is the mean that counts, not what is in flight as the epoch ends. */
static void test_trial_mean(void)
{
    Sim *sim = start_trial(0, 0);
    int64_t start = 0;

    expect_after(sim, &start, 640, "1/2");
    expect_after(sim, &start, 640, "1/3");
    sim_ios(sim, start + 1000, 1000, 639);
    start += MS + 1;
    sim_delete_sq(sim, 1, start - 1000);
    sim_io(sim, start);
    expect_ratio(&sim->scope.vic, "1/4");
    expect_after(sim, &start, 640, "1/1");
    g_free(sim);
}

static void test_reasons(void)
{
    CintConfig config = with_epoch(1, 3000);
    Sim *sim = sim_new(1024, config);

    sim_submit(sim, 1, 0, 7);
    sim_io(sim, 1000);
    sim_expect(sim, "1000:ratio(1)");
    /* Two in 1.001 ms. */
    sim_io(sim, 1001000);
    sim_io(sim, 1002000);
    sim_expect(sim, "1001000:low-iops(1) 1002000:low-iops(1)");
    /* Many: 3/4, which delivers two for countUp and one for skipUp. */
    sim_ios(sim, 1003000, 1000, 1000);
    sim->nr_irqs = 0;
    sim_ios(sim, 2003000, 1000, 4);
    /* The cycle began at 2002000, the first completion of an epoch. */
    sim_expect(sim, "2003000:ratio(1) 2005000:ratio(2) 2006000:ratio(1)");
    sim_delete_sq(sim, 1, 2006500);
    sim_io(sim, 2007000);
    sim_expect(sim, "2007000:low-cif(1)");
    g_free(sim);
}

/* Numbers that change leave the counter where it is; the CQEs go out. */
static void test_configure_keeps_counter(void)
{
    CintConfig config = sim_vic();
    Sim *sim = start_busy(config, 1, 5, 31);

    sim_ios(sim, 1000, 1000, 3);
    config.max_skip = 7;
    sim_configure(sim, 3500, &config);
    sim_ios(sim, 4000, 1000, 2);
    sim_expect(sim, "3500:reconfigure(3) 5000:ratio(2)");
    g_free(sim);
}

static void test_switch_resets_counter(void)
{
    CintConfig config = sim_vic(), other = sim_adaptive(6000, 32);
    Sim *sim = start_busy(config, 1, 5, 31);

    sim_ios(sim, 1000, 1000, 3);
    sim_configure(sim, 3500, &other);
    sim_configure(sim, 3600, &config);
    sim_ios(sim, 4000, 1000, 5);
    sim_expect(sim, "3500:reconfigure(3) 8000:ratio(5)");
    g_free(sim);
}

/* A new queue, or a reset one, begins by delivering everything. */
static void test_starts_at_1(void)
{
    Sim *sim = sim_new(1024, sim_vic());

    sim_submit(sim, 1, 0, 100);
    sim_ios(sim, 1000, 1000, 3);
    sim_expect(sim, "1000:ratio(1) 2000:ratio(1) 3000:ratio(1)");
    g_free(sim);
}

/* vIC counts what the guest reaps of its own accord like the rest. */
static void test_head_leaves_counter(void)
{
    Sim *sim = start_busy(sim_vic(), 1, 5, 31);

    sim->lazy = true;
    sim_ios(sim, 1000, 1000, 3);
    sim_reap(sim, 3500, 3);
    sim_ios(sim, 4000, 1000, 2);
    sim_expect(sim, "5000:ratio(2)");
    g_free(sim);
}

static void test_error_counts(void)
{
    Sim *sim = start_busy(sim_vic(), 1, 3, 31);

    sim_io(sim, 1000);
    sim_fail(sim, 1, 2000);
    sim_io(sim, 3000);
    sim_expect(sim, "2000:error(2) 3000:ratio(1)");
    g_free(sim);
}

/* As the device starts it: drain is on, and max-hold too. */
static void test_drain_auto(void)
{
    CintConfig config;
    Sim *sim;

    cint_config_init(&config);
    config.policy = NVME_CINT_POLICY_VIC;
    g_assert_null(cint_config_conflict(&config));
    sim = sim_new(1024, config);
    g_assert_true(sim->cq.drain);
    sim_ios(sim, 1000, 1000, 3);
    sim_expect(sim, "1000:low-cif(1) 2000:low-cif(1) 3000:low-cif(1)");
    config.drain = CINT_OFF;
    sim_configure(sim, 3500, &config);
    g_assert_false(sim->cq.drain);
    sim_io(sim, 4000);
    sim_expect(sim, "4000:low-cif(1)");
    g_free(sim);
}

/* Skipped, and the rest of the commands in flight is cancelled. */
static void test_drain_cancel(void)
{
    CintConfig config = sim_vic();
    Sim *sim;

    config.drain = CINT_AUTO;
    sim = start_busy(config, 1, 5, 31);
    sim_ios(sim, 1000, 1000, 2);
    sim_delete_sq(sim, 1, 2500);
    sim_expect(sim, "2500:drain(2)");
    g_free(sim);
}

/* Many in flight that do not complete: only max-hold can help. */
static void test_max_hold(void)
{
    CintConfig config = sim_vic();
    Sim *sim;

    config.max_hold_ns = 10 * MS;
    sim = start_busy(config, 1, 5, 31);
    sim_ios(sim, 1000, 1000, 2);
    sim_run_out(sim);
    sim_expect(sim, "10001000:max-hold(2)");
    g_free(sim);
}

/*
 * A guest that keeps @depth commands in flight but submits only when an
 * interrupt comes. With no other rule to help, it must never come to a halt.
 */
static void closed_loop(CintConfig config, unsigned depth)
{
    Sim *sim = sim_new(1024, config);
    unsigned i;

    sim_submit(sim, 0, 0, depth);
    for (i = 1; i <= 2000; i++) {
        /* Nothing left to complete: stranded. */
        g_assert_cmpuint(sim->cq.inflight, >, 0);
        sim_complete(sim, 0, i * 1000);
        if (sim->nr_irqs) {
            sim_submit(sim, 0, i * 1000, sim->irq[0].covered);
            sim->nr_irqs = 0;
        }
    }
    g_free(sim);
}

static void test_closed_loop(void)
{
    CintConfig config = with_epoch(1, 0);
    unsigned depth;

    for (config.cif_threshold = 2; config.cif_threshold <= 8;
         config.cif_threshold++) {
        for (depth = 1; depth <= 70; depth++) {
            closed_loop(config, depth);
        }
    }
}

/* The longest any completion waits under @up/@skip, one coming every us. */
static int64_t longest_wait(uint32_t up, uint32_t skip)
{
    Sim *sim = start_busy(sim_vic(), up, skip, 31);
    int64_t longest = 0;
    unsigned i;

    sim_ios(sim, 1000, 1000, 3 * skip);
    for (i = 0; i < sim->nr_irqs; i++) {
        longest = MAX(longest, (sim->irq[i].covered - 1) * 1000ll);
    }
    g_assert_cmpuint(sim->cq.pending, ==, 0);
    g_free(sim);
    return longest;
}

/* At a steady rate: (skipUp - 1) / IOPS, met by the ratios 1/n. */
static void test_bound(void)
{
    static const uint32_t shallow[][2] = { { 1, 1 }, { 4, 5 }, { 3, 4 },
                                           { 2, 3 } };
    uint32_t i, up, skip;

    for (skip = 2; skip <= 64; skip++) {
        g_assert_cmpint(longest_wait(1, skip), ==, (skip - 1) * 1000);
    }
    for (i = 0; i < G_N_ELEMENTS(shallow); i++) {
        up = shallow[i][0];
        skip = shallow[i][1];
        g_assert_cmpint(longest_wait(up, skip), ==, (skip - up) * 1000);
        g_assert_cmpint(longest_wait(up, skip), <=, (skip - 1) * 1000);
    }
}

/* Of every skipUp completions countUp interrupt, whatever the two are. */
static void test_ratio_is_kept(void)
{
    uint32_t up, skip;
    Sim *sim;

    for (skip = 1; skip <= 20; skip++) {
        for (up = 1; up <= skip; up++) {
            sim = start_busy(sim_vic(), up, skip, 31);
            sim_ios(sim, 1000, 1000, 10 * skip);
            g_assert_cmpuint(sim->nr_irqs, ==, 10 * up);
            g_free(sim);
        }
    }
}

int main(int argc, char **argv)
{
    static const SuiteTest tests[] = {
        { "scope/says-whose-commands-in-flight", test_scope_inflight },
        { "scope/says-whose-backlog", test_scope_backlog },
        { "scope/cq-has-its-own-rate", test_scope_rate },
        { "scope/controller-shares-the-ratio", test_scope_shares_ratio },
        { "scope/counter-belongs-to-the-cq", test_scope_counter_per_cq },
        { "scope/may-change", test_scope_changes },
        { "scope/begins-with-all", test_scope_begins },
        { "ratio/max-skip-limits-it", test_max_skip },
        { "ratio/follows-cif-threshold", test_cif_threshold },
        { "ratio/coarse", test_coarse },
        { "ratio/trial", test_trial },
        { "ratio/trial/patience", test_trial_patience },
        { "ratio/trial/loss", test_trial_loss },
        { "ratio/trial/mean-of-an-epoch", test_trial_mean_of_an_epoch },
        { "ratio/trial/another-load", test_trial_of_another_load },
        { "ratio/trial/at-most", test_trial_at_most },
        { "ratio/trial/begins-anew", test_trial_begins_anew },
        { "ratio/trial/falling-load", test_trial_of_a_falling_load },
        { "ratio/trial/base", test_trial_base },
        { "ratio/trial/mean", test_trial_mean },
        { "ratio/is-kept-exactly", test_ratio_is_kept },
        { "ratio/reasons-tell-the-case", test_reasons },
        { "ratio/starts-at-1", test_starts_at_1 },
        { "counter/survives-a-change-of-numbers",
          test_configure_keeps_counter },
        { "counter/starts-anew-with-the-policy", test_switch_resets_counter },
        { "counter/ignores-head-movement", test_head_leaves_counter },
        { "counter/counts-errors", test_error_counts },
        { "waiting/drain-auto-is-on", test_drain_auto },
        { "waiting/ends-with-a-cancel", test_drain_cancel },
        { "waiting/ends-with-max-hold", test_max_hold },
        { "waiting/never-halts-a-closed-loop", test_closed_loop },
        { "waiting/is-bounded-at-a-steady-rate", test_bound },
    };

    g_test_init(&argc, &argv, NULL);
    suite_add("/vic", tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
