/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy auto, and delta and thr that follow the load. For the latter there
 * are golden vectors, with a second implementation that sees all arrivals at
 * once and has a switch for each other way to read policies.md.
 */
#include <inttypes.h>

#include "golden.h"
#include "random.h"
#include "sim.h"
#include "suite.h"

#define CQ_SIZE     1024
#define MAX_GAPS    6
#define MAX_RIVALS  7
#define LOTS        65535
#define SECOND      1000000000ll

/* ---- Golden vectors of delta ---- */

typedef struct Reading {
    bool mean_alone;        /* deviations do not count */
    bool all_gaps;          /* those between bursts count as well */
    bool new_mean;          /* the deviation is from the mean with the gap */
    bool no_limit;          /* delta may become as long as it likes */
    bool from_start;        /* the first CQE ends a gap, too */
    bool follows_late;       /* delta as it was before the CQE */
} Reading;

typedef struct RivalAnswer {
    const char *name;
    Reading reading;
    const char *out;
} RivalAnswer;

/* Gaps before CQEs, each so many times; the first one is at 1000. */
typedef struct Gaps {
    unsigned count;
    int64_t gap;
} Gaps;

typedef struct Vector {
    const char *name;
    int64_t delta;
    Gaps in[MAX_GAPS];
    const char *out;
    RivalAnswer rivals[MAX_RIVALS];
} Vector;

static const Vector vectors[] = {
    {
        /*
         * After the gap that ends at 3000 mean and deviation are 2000 / 16
         * each, and delta as set; after the next 242 and 234, that is 1420;
         * after the third 2022, which spans the fourth.
         */
        .name = "even-gaps",
        .delta = 1000,
        .in = { { 8, 2000 }, { 1, 9000 } },
        .out = "2000(1) 4000(1) 6420(1) 21000(6) 30000(1)",
        .rivals = {
            { "the-mean-alone", { .mean_alone = true },
              "2000(1) 4000(1) 6000(1) 8000(1) 10000(1) 12102(1) 14284(1) "
              "16454(1) 18612(1) 27612(1)" },
            { "a-deviation-from-the-mean-with-the-gap", { .new_mean = true },
              "2000(1) 4000(1) 6360(1) 8940(1) 20996(5) 29996(1)" },
            { "a-first-cqe-that-ends-a-gap", { .from_start = true },
              "2000(1) 4082(1) 6722(1) 21000(6) 30000(1)" },
            { "a-delta-that-follows-late", { .follows_late = true },
              "2000(1) 4000(1) 6000(1) 8420(1) 20830(5) 30000(1)" },
            { "a-delta-without-limit", { .no_limit = true },
              "2000(1) 4000(1) 6420(1) 21156(6) 30156(1)" },
        },
    }, {
        /* 20000 lies between bursts, 4000 just not. */
        .name = "bursts",
        .delta = 1000,
        .in = { { 5, 500 }, { 1, 20000 }, { 5, 500 }, { 1, 4000 },
                { 3, 500 } },
        .out = "4500(6) 27176(6) 33786(4)",
        .rivals = {
            { "a-mean-with-gaps-between-bursts", { .all_gaps = true },
              "4500(6) 30000(6) 35500(4)" },
        },
    }, {
        /* Four times what is set spans 3900, and ends with 4000. */
        .name = "long-gaps",
        .delta = 1000,
        .in = { { 12, 3500 }, { 1, 3900 }, { 1, 4000 } },
        .out = "2000(1) 5808(1) 10486(1) 50900(11) 54900(1)",
        .rivals = {
            { "a-delta-without-limit", { .no_limit = true },
              "2000(1) 5808(1) 10486(1) 60682(12)" },
        },
    },
};

static GArray *arrivals(const Vector *v)
{
    GArray *in = g_array_new(FALSE, FALSE, sizeof(int64_t));
    int64_t t = 1000;
    unsigned i, k;

    g_array_append_val(in, t);
    for (i = 0; i < MAX_GAPS; i++) {
        for (k = 0; k < v->in[i].count; k++) {
            t += v->in[i].gap;
            g_array_append_val(in, t);
        }
    }
    return in;
}

static void test_engine(const void *opaque)
{
    const Vector *v = opaque;
    g_autoptr(GArray) in = arrivals(v);
    CintConfig config = sim_adaptive(v->delta, LOTS);
    g_autofree char *got = NULL;
    Sim *sim;
    unsigned i;

    config.tune = true;
    sim = sim_new(CQ_SIZE, config);
    sim_submit(sim, 0, 0, in->len);
    for (i = 0; i < in->len; i++) {
        sim_complete(sim, 0, g_array_index(in, int64_t, i));
    }
    sim_run_out(sim);
    got = sim_irqs(sim);
    sim_same("the engine's list of interrupts", got, v->out);
    g_free(sim);
}

/* delta after the gap that ends with arrival @n. */
static int64_t delta_after(const Vector *v, const GArray *in, unsigned n,
                           const Reading *reading)
{
    int64_t mean16 = 0, off16 = 0, before = reading->from_start ? 0 : -1;
    int64_t wanted;
    unsigned i;

    for (i = 0; i <= n; i++) {
        int64_t at = g_array_index(in, int64_t, i), gap = at - before, mean;
        bool counts = before >= 0 && (reading->all_gaps || gap <= 4 * v->delta);

        before = at;
        if (!counts) {
            continue;
        }
        mean = mean16 / 16;
        mean16 += gap - mean;
        mean = reading->new_mean ? mean16 / 16 : mean;
        off16 += ABS(gap - mean) - off16 / 16;
    }
    wanted = 2 * (mean16 / 16) + (reading->mean_alone ? 0 : 4 * (off16 / 16));
    wanted = reading->no_limit ? wanted : MIN(wanted, 4 * v->delta);
    return MAX(v->delta, wanted);
}

static char *model(const void *opaque, const void *reading_)
{
    const Vector *v = opaque;
    const Reading *reading = reading_;
    g_autoptr(GArray) in = arrivals(v);
    GString *text = g_string_new(NULL);
    int64_t deadline = 0, now;
    unsigned i, pending = 0, last;

    for (i = 0; i <= in->len; i++) {
        now = i < in->len ? g_array_index(in, int64_t, i) : INT64_MAX;
        if (pending && deadline <= now) {
            g_string_append_printf(text, "%s%" PRId64 "(%u)",
                                   text->len ? " " : "", deadline, pending);
            pending = 0;
        }
        if (i < in->len) {
            last = reading->follows_late ? MAX(i, 1) - 1 : i;
            deadline = now + delta_after(v, in, last, reading);
            pending++;
        }
    }
    return g_string_free(text, FALSE);
}

static const Reading meant;
static const GoldenSuite suite = { "/auto/delta", test_engine, model, &meant };

/* ---- thr ---- */

/* Of @n commands, 4 being set. */
static void expect_thr(CintPolicy policy, unsigned n, unsigned thr)
{
    g_autofree char *want = g_strdup_printf("2000:thr(%u)", thr);
    CintConfig config = sim_adaptive(SECOND, 4);
    unsigned i;
    Sim *sim;

    config.policy = policy;
    config.tune = true;
    sim = sim_new(CQ_SIZE, config);
    for (i = 0; i < n; i++) {
        sim_batch(sim, 0, 0, "2");
    }
    for (i = 1; i < thr; i++) {
        sim_post(sim, 0, 1000, i);
    }
    sim_expect(sim, "");
    sim_post(sim, 0, 2000, thr);
    sim_expect(sim, want);
    g_free(sim);
}

/* An eighth of the most there were, rounded down, but 4 to 16. */
static void test_thr(void)
{
    static const CintPolicy policies[] = {
        NVME_CINT_POLICY_ADAPTIVE, NVME_CINT_POLICY_CINT, NVME_CINT_POLICY_AUTO,
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(policies); i++) {
        expect_thr(policies[i], 8, 4);
        expect_thr(policies[i], 39, 4);
        expect_thr(policies[i], 40, 5);
        expect_thr(policies[i], 100, 12);
        expect_thr(policies[i], 128, 16);
        expect_thr(policies[i], 200, 16);
    }
}

/* ---- auto ---- */

static CintConfig by_itself(void)
{
    CintConfig config = sim_adaptive(6000, 32);

    config.policy = NVME_CINT_POLICY_AUTO;
    config.drain = CINT_AUTO;
    return config;
}

/* The words that policies.md has for it. */
static CintConfig spelled_out(const CintConfig *by_itself)
{
    CintConfig config = *by_itself;

    config.policy = NVME_CINT_POLICY_CINT;
    config.infer = CINT_INFER_BOTH;
    config.tune = true;
    config.barrier = CINT_BARRIER_RELAXED;
    return config;
}

/* The same of both: nothing, or one command posted, or a batch fetched. */
static void both(Sim *one, Sim *two, int64_t t, unsigned flying)
{
    static const char *const marks[] = {
        ".", ".", ".", ".", "....", "..", "U", "B", "2", "..B",
    };
    const char *batch = marks[pick(0, G_N_ELEMENTS(marks) - 1)];
    unsigned sq = pick(0, 1);

    if (flying > 30 || (flying && one_in(2))) {
        sq = one->submitted[sq] > one->retired[sq] ? sq : !sq;
        sim_complete(one, sq, t);
        sim_complete(two, sq, t);
        return;
    }
    one->page = two->page = pick(0, 12);
    sim_batch(one, sq, t, batch);
    sim_batch(two, sq, t, batch);
}

static unsigned flying(const Sim *sim)
{
    return sim->submitted[0] - sim->retired[0] +
           sim->submitted[1] - sim->retired[1];
}

/* Whatever is set of what it has by itself. */
static void test_spelled_out(void)
{
    unsigned i, k;

    for (i = 0; i < 200; i++) {
        CintConfig config = random_config(NVME_CINT_POLICY_AUTO);
        CintConfig spelled = spelled_out(&config);
        Sim *one = sim_new(64, config), *two = sim_new(64, spelled);
        g_autofree char *got = NULL, *want = NULL;
        int64_t t = 1000;

        for (k = 0; k < 300; k++) {
            t += PICK_OF(0, 1, 300, 2000, 6000, 24000);
            both(one, two, t, flying(one));
            g_assert_cmpint(cint_deadline(&one->cq), ==,
                            cint_deadline(&two->cq));
        }
        sim_run_out(one);
        sim_run_out(two);
        got = sim_reasons(one);
        want = sim_reasons(two);
        sim_same("auto's list of interrupts", got, want);
        g_free(one);
        g_free(two);
    }
}

/* What the guest says stands: Urgent and Barrier at once, both not. */
static void test_hears(void)
{
    Sim *sim = sim_new(64, by_itself());

    sim->page = 1;
    sim_batch(sim, 0, 0, "2U22B");
    sim_post(sim, 0, 1000, 1);
    sim_expect(sim, "");
    sim_post(sim, 0, 2000, 2);
    sim_expect(sim, "2000:urgent(2)");
    sim_post(sim, 0, 3000, 3);
    sim_expect(sim, "");
    sim_post(sim, 0, 4000, 5);
    sim_expect(sim, "4000:barrier(2)");
    sim_post(sim, 0, 5000, 4);
    sim_expect(sim, "5000:drain(1)");
    g_free(sim);
}

/* A new buffer is told at once; one of a batch is not, but the batch is. */
static void test_unknown(void)
{
    Sim *sim = sim_new(64, by_itself());

    sim->page = 1;
    sim_batch(sim, 0, 0, ".");
    sim_batch(sim, 0, 0, "2");
    sim_post(sim, 0, 1000, 1);
    sim_expect(sim, "1000:urgent(1)");
    sim->page = 2;
    sim_batch(sim, 0, 2000, "...");
    sim_post(sim, 0, 3000, 3);
    sim_post(sim, 0, 3100, 4);
    sim_expect(sim, "");
    sim_post(sim, 0, 3200, 5);
    sim_expect(sim, "3200:barrier(3)");
    g_free(sim);
}

/*
 * One of two that are in flight by themselves comes back second to none, so it
 * stays Urgent; those of a job of eight are held after six rounds.
 */
static unsigned urgent_of(unsigned n, unsigned rounds)
{
    CintConfig config = by_itself();
    Sim *sim = sim_new_lazy(64, config);
    unsigned round, i, urgent = 0;
    int64_t t = 1000;

    for (i = 0; i < n; i++) {
        sim->page = 1 + i;
        sim_batch(sim, 0, t, ".");
    }
    for (round = 0; round < rounds; round++) {
        urgent = 0;
        for (i = 0; i < n; i++) {
            urgent += sim->cmd[0][(round * n + i) % SIM_CMDS].hints ==
                      NVME_CINT_HINT_URGENT;
            sim_complete(sim, 0, t += 1000);
        }
        sim_run_out(sim);
        sim_reap(sim, t += 50000, n);
        for (i = 0; i < n; i++) {
            sim->page = 1 + i;
            sim_batch(sim, 0, t, ".");
        }
    }
    g_free(sim);
    return urgent;
}

static void test_learns(void)
{
    g_assert_cmpuint(urgent_of(1, 20), ==, 1);
    g_assert_cmpuint(urgent_of(2, 20), ==, 2);
    g_assert_cmpuint(urgent_of(8, 5), ==, 8);
    g_assert_cmpuint(urgent_of(8, 20), ==, 2);
}

/* A queue whose gaps of 10 us make delta as long as it gets: 24 us. */
static Sim *with_long_delta(void)
{
    Sim *sim = sim_new_lazy(64, by_itself());
    unsigned i;

    for (i = 1; i <= 30; i++) {
        sim_batch(sim, 0, i * 10000 - 1000, "U");
        sim_complete(sim, 0, i * 10000);
        sim_reap(sim, i * 10000, 1);
    }
    return sim;
}

/* Four commands, of which two wait for any and two are waited for. */
static void answer(Sim *sim, int64_t t)
{
    sim_batch(sim, 0, t, "B");
    sim_batch(sim, 0, t, "B");
    sim->page = 1;
    sim_batch(sim, 0, t, ".");
    sim->page = 2;
    sim_batch(sim, 0, t, ".");
    sim->page = 0;
}

/*
 * Nobody is told while a command is in flight that is waited for, but who has
 * answered everything waits no longer than delta as set.
 */
static void test_rests(void)
{
    Sim *sim = with_long_delta();

    answer(sim, 310000);
    /* as the log page has it, from now on and not from the next CQE on */
    g_assert_cmpint(sim->cq.delta_ns, ==, 6000);
    sim_post(sim, 0, 312000, 31);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 318000);
    g_free(sim);
}

/* One CQE that is not answered yet, then a command at @answered. */
static int64_t deadline_after(int64_t answered)
{
    Sim *sim = with_long_delta();
    int64_t deadline;

    answer(sim, 310000);
    sim_post(sim, 0, 312000, 31);
    sim_until(sim, 318000);
    sim_reap(sim, 319000, 1);
    sim_post(sim, 0, 320000, 32);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 344000);
    sim->now = answered;
    cint_submit(&sim->sq[0], &sim->cmd[0][40], answered,
                NVME_CINT_HINT_BARRIER, 1);
    cint_doorbell(&sim->sq[0], answered);
    deadline = cint_deadline(&sim->cq);
    g_free(sim);
    return deadline;
}

/* It is the answer that ends the longer wait; a timer may be late for it. */
static void test_goes_to_rest(void)
{
    g_assert_cmpint(deadline_after(321000), ==, 326000);
    g_assert_cmpint(deadline_after(330000), ==, 330000);
    g_assert_cmpint(deadline_after(350000), ==, 344000);
}

static const SuiteTest tests[] = {
    { "thr", test_thr },
    { "rests", test_rests },
    { "goes-to-rest", test_goes_to_rest },
    { "is-cint-spelled-out", test_spelled_out },
    { "hears-the-guest", test_hears },
    { "unknown-is-urgent", test_unknown },
    { "learns", test_learns },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    golden_add_all(&suite, vectors);
    suite_add("/auto", tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
