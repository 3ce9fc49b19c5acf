/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Golden vectors: arrival times with the interrupts they must cause, worked by
 * hand. For each vector three things are shown: the engine gives the expected
 * answer; so does an independent model; and each rival reading of the papers
 * gives another one, the one noted down here, so the vector discriminates.
 */
#include "golden.h"
#include "rival.h"
#include "sim.h"

/* Beyond any vector's need, so that pressure has no say. */
#define CQ_SIZE     1024
#define MAX_IN      16
#define MAX_RIVALS  5

typedef struct RivalAnswer {
    const char *name;       /* completes "the vector is told apart from ..." */
    Reading reading;
    const char *out;
} RivalAnswer;

typedef struct Vector {
    const char *name;
    CintPolicy policy;
    int64_t window_ns;      /* delta, or static-time */
    uint32_t thr;           /* thr, or static-thr counted from 1 */
    int64_t in[MAX_IN];     /* ends with 0 */
    const char *out;
    RivalAnswer rivals[MAX_RIVALS];
} Vector;

#define V1_IN   { 1000, 3000, 8000, 20000, 20500, 21000, 21500, 22000, \
                  40000, 46000 }
#define V1_EACH "1000(1) 3000(1) 8000(1) 20000(1) 20500(1) 21000(1) " \
                "21500(1) 22000(1) 40000(1) 46000(1)"
#define V6_IN   { 1000, 2000, 3000, 4000, 10000, 50000, 200000, 200010, \
                  200020, 200030, 300000 }
#define V6_EACH "1000(1) 2000(1) 3000(1) 4000(1) 10000(1) 50000(1) " \
                "200000(1) 200010(1) 200020(1) 200030(1) 300000(1)"
#define V6B_IN  { 10000, 15000, 20000, 25000, 30000, 35000, 40000, 45000, \
                  120000 }

#define ABOVE_THR       { .above_thr = true }
#define ARRIVAL_FIRST   { .arrival_first = true }
#define SINCE_LAST_IRQ  { .since_last_irq = true }
#define NO_LIMIT        { .zero_is_no_limit = true }
#define PASS_SHARES     { .pass_shares_irq = true }

static const Vector vectors[] = {
    {
        /*
         * The fourth of the burst fires at once; the deadline of 40000 ties
         * with the arrival at 46000 and goes first.
         */
        .name = "V1/adaptive",
        .policy = NVME_CINT_POLICY_ADAPTIVE,
        .window_ns = 6000,
        .thr = 4,
        .in = V1_IN,
        .out = "14000(3) 21500(4) 28000(1) 46000(1) 52000(1)",
        .rivals = {
            { "thr-that-fires-above-and-not-at-it", ABOVE_THR,
              "14000(3) 22000(5) 46000(1) 52000(1)" },
            { "an-arrival-going-before-the-deadline-it-equals", ARRIVAL_FIRST,
              "14000(3) 21500(4) 28000(1) 52000(2)" },
        },
    }, {
        /* THR register 3 is 4 entries, TIME register 1 is 100 us. */
        .name = "V6/static",
        .policy = NVME_CINT_POLICY_STATIC,
        .window_ns = 100000,
        .thr = 4,
        .in = V6_IN,
        .out = "4000(4) 110000(2) 200030(4) 400000(1)",
        .rivals = {
            { "a-timer-that-runs-since-the-last-interrupt", SINCE_LAST_IRQ,
              "1000(1) 10000(4) 110000(1) 200030(4) 300030(1)" },
            { "thr-that-fires-above-and-not-at-it", ABOVE_THR,
              "10000(5) 150000(1) 300000(4) 400000(1)" },
        },
    }, {
        .name = "V6/static-with-time-0",
        .policy = NVME_CINT_POLICY_STATIC,
        .window_ns = 0,
        .thr = 4,
        .in = V6_IN,
        .out = V6_EACH,
        .rivals = {
            /* The last three are stranded for good. */
            { "a-threshold-without-a-timer", NO_LIMIT,
              "4000(4) 200010(4)" },
        },
    }, {
        .name = "V6/static-with-thr-0",
        .policy = NVME_CINT_POLICY_STATIC,
        .window_ns = 100000,
        .thr = 0,
        .in = V6_IN,
        .out = V6_EACH,
        .rivals = {
            { "a-timer-without-a-threshold", NO_LIMIT,
              "101000(6) 300000(4) 400000(1)" },
        },
    }, {
        .name = "V6b/static-100us",
        .policy = NVME_CINT_POLICY_STATIC,
        .window_ns = 100000,
        .thr = 8,
        .in = V6B_IN,
        .out = "45000(8) 220000(1)",
        .rivals = {
            { "thr-that-fires-above-and-not-at-it", ABOVE_THR,
              "110000(8) 220000(1)" },
            { "a-timer-that-runs-since-the-last-interrupt", SINCE_LAST_IRQ,
              "10000(1) 110000(7) 210000(1)" },
        },
    }, {
        /* The window of 10000 ends with the arrival at 30000. */
        .name = "V6b/static-20us",
        .policy = NVME_CINT_POLICY_STATIC,
        .window_ns = 20000,
        .thr = 8,
        .in = V6B_IN,
        .out = "30000(4) 50000(4) 140000(1)",
        .rivals = {
            { "an-arrival-going-before-the-deadline-it-equals", ARRIVAL_FIRST,
              "30000(5) 55000(3) 140000(1)" },
            { "a-timer-that-runs-since-the-last-interrupt", SINCE_LAST_IRQ,
              "10000(1) 30000(3) 50000(4) 120000(1)" },
        },
    }, {
        .name = "V6b/adaptive",
        .policy = NVME_CINT_POLICY_ADAPTIVE,
        .window_ns = 6000,
        .thr = 8,
        .in = V6B_IN,
        .out = "45000(8) 126000(1)",
        .rivals = {
            { "thr-that-fires-above-and-not-at-it", ABOVE_THR,
              "51000(8) 126000(1)" },
        },
    }, {
        .name = "V10/default",
        .policy = NVME_CINT_POLICY_DEFAULT,
        .in = V1_IN,
        .out = V1_EACH,
    }, {
        .name = "V10/default-with-completions-of-one-instant",
        .policy = NVME_CINT_POLICY_DEFAULT,
        .in = { 1000, 1000, 1000, 2000, 3000, 3000 },
        .out = "1000(1) 1000(1) 1000(1) 2000(1) 3000(1) 3000(1)",
        .rivals = {
            { "one-message-for-each-posting-pass", PASS_SHARES,
              "1000(3) 2000(1) 3000(2)" },
        },
    }, {
        .name = "V10/adaptive-with-thr-0",
        .policy = NVME_CINT_POLICY_ADAPTIVE,
        .window_ns = 6000,
        .thr = 0,
        .in = V1_IN,
        .out = V1_EACH,
        .rivals = {
            { "thr-0-meaning-no-threshold", NO_LIMIT,
              "14000(3) 28000(5) 46000(1) 52000(1)" },
        },
    }, {
        .name = "V10/adaptive-with-thr-1",
        .policy = NVME_CINT_POLICY_ADAPTIVE,
        .window_ns = 6000,
        .thr = 1,
        .in = V1_IN,
        .out = V1_EACH,
        .rivals = {
            { "thr-that-fires-above-and-not-at-it", ABOVE_THR,
              "3000(2) 14000(1) 20500(2) 21500(2) 28000(1) 46000(1) "
              "52000(1)" },
        },
    },
};

static CintConfig vector_config(const Vector *vector)
{
    switch (vector->policy) {
    case NVME_CINT_POLICY_ADAPTIVE:
        return sim_adaptive(vector->window_ns, vector->thr);
    case NVME_CINT_POLICY_STATIC:
        return sim_static(vector->window_ns, vector->thr);
    default:
        return sim_config(vector->policy);
    }
}

/* Completions of one instant are posted in one pass, as the device does. */
static char *engine_run(const CintConfig *config, const int64_t *in)
{
    Sim *sim = g_new(Sim, 1);
    char *out;
    unsigned n;

    sim_init(sim, CQ_SIZE, config);
    sim_submit(sim, 0, 0, MAX_IN);
    for (; *in; in += n) {
        n = 1;
        while (in[n] == *in) {
            n++;
        }
        sim_pass(sim, 0, *in, n);
    }
    sim_run_out(sim);
    out = sim_irqs(sim);
    g_free(sim);
    return out;
}

static char *model(const void *opaque, const void *reading)
{
    const Vector *vector = opaque;
    static const RivalScheme scheme[CINT_NR_POLICIES] = {
        [NVME_CINT_POLICY_DEFAULT]  = RIVAL_EACH,
        [NVME_CINT_POLICY_STATIC]   = RIVAL_FROM_FIRST,
        [NVME_CINT_POLICY_ADAPTIVE] = RIVAL_FROM_LAST,
    };
    Rival rival = {
        .scheme = scheme[vector->policy],
        .window_ns = vector->window_ns,
        .thr = vector->thr,
        .reading = *(const Reading *)reading,
    };

    return rival_run(&rival, vector->in);
}

static void test_engine(const void *opaque)
{
    const Vector *vector = opaque;
    CintConfig config = vector_config(vector);
    char *got = engine_run(&config, vector->in);

    sim_same("the engine's list of interrupts", got, vector->out);
    g_free(got);
}

/* The stock device's batching by accident is a choice, not lost. */
static void test_each_cqe_off(void)
{
    static const int64_t in[] = { 1000, 1000, 1000, 2000, 3000, 3000, 0 };
    CintConfig config = sim_config(NVME_CINT_POLICY_DEFAULT);
    char *got;

    config.each_cqe = false;
    got = engine_run(&config, in);
    sim_same("the engine's list of interrupts", got,
             "1000(3) 2000(1) 3000(2)");
    g_free(got);
}

/* The reading that a static threshold is stored as the register has it. */
static void test_register_off_by_one(void)
{
    static const int64_t in[MAX_IN] = V6_IN;
    CintConfig config = sim_static(100000, 3);
    char *got = engine_run(&config, in);

    sim_same("a threshold of 3 entries", got,
             "3000(3) 50000(3) 200020(3) 300030(2)");
    g_free(got);
}

int main(int argc, char **argv)
{
    static const Reading ours;
    static const GoldenSuite suite = {
        .path = "/vectors",
        .test_engine = test_engine,
        .model = model,
        .ours = &ours,
    };

    g_test_init(&argc, &argv, NULL);
    golden_add_all(&suite, vectors);
    g_test_add_func("/vectors/V10/default/each-cqe-off-shares-per-pass",
                    test_each_cqe_off);
    g_test_add_func("/vectors/V6/static/thr-is-counted-from-1",
                    test_register_off_by_one);
    return g_test_run();
}
