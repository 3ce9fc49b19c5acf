/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Barriers under policy cint: when one is satisfied, with cancelled commands,
 * queues that go away and several queues; hints that the device infers; and
 * Barriers of who waits for any command.
 */
#include "sim.h"
#include "suite.h"

static CintConfig with_barrier(CintBarrier barrier)
{
    CintConfig config = sim_cint(6000, 1000);

    config.barrier = barrier;
    return config;
}

/* With @marks in flight on SQ 0. */
static Sim *start_with(CintBarrier barrier, const char *marks)
{
    Sim *sim = sim_new(1024, with_barrier(barrier));

    sim_batch(sim, 0, 0, marks);
    return sim;
}

/* At its own completion, even as the first of its batch. */
static void test_relaxed(void)
{
    Sim *sim = start_with(CINT_BARRIER_RELAXED, "..B.");

    sim_post(sim, 0, 1000, 3);
    sim_expect(sim, "1000:barrier(1)");
    sim_post(sim, 0, 2000, 1);
    sim_post(sim, 0, 3000, 2);
    sim_run_out(sim);
    sim_expect(sim, "9000:quiet(2)");
    g_free(sim);
}

/* A Barrier is always told of by a full interrupt. */
static void test_never_urgent_class(void)
{
    static const CintBarrier modes[] = {
        CINT_BARRIER_RELAXED, CINT_BARRIER_STRICT, CINT_BARRIER_GENERATION,
    };
    unsigned i;
    Sim *sim;

    for (i = 0; i < G_N_ELEMENTS(modes); i++) {
        sim = start_with(modes[i], ".B");
        sim_records(sim, 0, true);
        sim_post(sim, 0, 1000, 1);
        sim_post(sim, 0, 2000, 2);
        sim_expect(sim, "2000:barrier(2)");
        g_free(sim);
    }
}

/* An Urgent that is what a Barrier waited for tells of everything. */
static void test_urgent_satisfies(void)
{
    Sim *sim = start_with(CINT_BARRIER_STRICT, ".UB");

    sim_records(sim, 0, true);
    sim_post(sim, 0, 1000, 3);
    sim_post(sim, 0, 2000, 1);
    sim_post(sim, 0, 3000, 2);
    sim_expect(sim, "3000:barrier(3)");
    g_free(sim);
}

/* Until it is satisfied it counts toward thr and moves the deadline. */
static void test_waiting_is_unmarked(void)
{
    CintConfig config = with_barrier(CINT_BARRIER_STRICT);
    Sim *sim;

    config.thr = 2;
    sim = sim_new(1024, config);
    sim_batch(sim, 0, 0, "..BB");
    sim_post(sim, 0, 1000, 3);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 7000);
    sim_post(sim, 0, 2000, 4);
    sim_expect(sim, "2000:thr(2)");
    sim_post(sim, 0, 3000, 2);
    sim_run_out(sim);
    sim_expect(sim, "9000:quiet(1)");
    /* Both are satisfied, though thr and delta have told of them. */
    sim_post(sim, 0, 10000, 1);
    sim_expect(sim, "10000:barrier(1)");
    g_free(sim);
}

/* Every order in which a batch of four can complete. */
static void test_orders(void)
{
    unsigned order, done, i, n;
    Sim *sim;

    for (order = 0; order < 24; order++) {
        unsigned left[] = { 1, 2, 3, 4 }, rest = order;
        unsigned barriers = 0;

        sim = start_with(CINT_BARRIER_STRICT, "...B.");
        for (done = 0; done < 4; done++) {
            n = rest % (4 - done);
            rest /= 4 - done;
            sim_post(sim, 0, 1000 + done, left[n]);
            for (i = n; i < 3; i++) {
                left[i] = left[i + 1];
            }
            barriers += sim->nr_irqs;
            g_assert_cmpuint(barriers, ==, done == 3);
        }
        sim_expect(sim, "1003:barrier(4)");
        g_free(sim);
    }
}

static void test_strict_and_generation(void)
{
    static const CintBarrier modes[] = {
        CINT_BARRIER_STRICT, CINT_BARRIER_GENERATION,
    };
    static const char *const want[] = {
        "4000:barrier(4)", "2000:barrier(2) 4000:barrier(2)",
    };
    unsigned i;
    Sim *sim;

    for (i = 0; i < G_N_ELEMENTS(modes); i++) {
        sim = start_with(modes[i], ".B.B");
        sim_post(sim, 0, 1000, 3);
        sim_post(sim, 0, 2000, 4);
        sim_post(sim, 0, 3000, 2);
        sim_post(sim, 0, 4000, 1);
        sim_expect(sim, want[i]);
        g_free(sim);
    }
}

/* Far more generations than the artefact's four bits can tell apart. */
static void test_many_generations(void)
{
    GString *marks = g_string_new(NULL);
    unsigned i;
    Sim *sim;

    for (i = 0; i < 40; i++) {
        g_string_append(marks, ".B");
    }
    sim = start_with(CINT_BARRIER_GENERATION, marks->str);
    for (i = 40; i > 0; i--) {
        sim_post(sim, 0, 1000 * (41 - i), 2 * i);
    }
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 46000);
    for (i = 40; i > 0; i--) {
        sim_post(sim, 0, 40000 + 10 * (41 - i), 2 * i - 1);
        g_assert_cmpuint(sim->nr_irqs, ==, 41 - i);
        g_assert_cmpint(sim->irq[40 - i].reason, ==,
                        NVME_CINT_REASON_BARRIER);
    }
    g_free(sim);
    g_string_free(marks, TRUE);
}

/* Two Barriers that are satisfied at once need one interrupt. */
static void test_two_at_once(void)
{
    Sim *sim = start_with(CINT_BARRIER_STRICT, ".BB.B");

    sim_post(sim, 0, 1000, 2);
    sim_post(sim, 0, 2000, 3);
    sim_post(sim, 0, 3000, 1);
    sim_expect(sim, "3000:barrier(3)");
    sim_post(sim, 0, 4000, 5);
    sim_expect(sim, "");
    sim_post(sim, 0, 5000, 4);
    sim_expect(sim, "5000:barrier(2)");
    g_free(sim);
}

/* Both bits are no Barrier, whatever it would have to wait for. */
static void test_both_bits(void)
{
    Sim *sim = start_with(CINT_BARRIER_STRICT, ".2");

    sim_post(sim, 0, 1000, 2);
    sim_post(sim, 0, 2000, 1);
    sim_run_out(sim);
    sim_expect(sim, "8000:quiet(2)");
    g_free(sim);
}

/* A Barrier alone, and one with nothing unfinished in front of it. */
static void test_nothing_before(void)
{
    Sim *sim = start_with(CINT_BARRIER_STRICT, "B..");

    sim_post(sim, 0, 1000, 1);
    sim_expect(sim, "1000:barrier(1)");
    sim_post(sim, 0, 2000, 2);
    sim_run_out(sim);
    sim_expect(sim, "8000:quiet(1)");
    g_free(sim);
}

/* One slow command keeps a Barrier waiting while thousands come and go. */
static void test_long_wait(void)
{
    Sim *sim = start_with(CINT_BARRIER_STRICT, ".");
    unsigned i;

    for (i = 1; i <= 1000; i++) {
        sim_batch(sim, 0, i * 100, "B");
        sim_post(sim, 0, i * 100, i + 1);
        sim_reap(sim, i * 100, 1);
    }
    sim_expect(sim, "");
    sim_batch(sim, 1, 200000, ".");
    sim_post(sim, 1, 200000, 1);
    sim_post(sim, 0, 201000, 1);
    sim_expect(sim, "201000:barrier(2)");
    g_assert_null(sim->sq[0].last);
    g_free(sim);
}

static void test_cancelled(void)
{
    static const CintBarrier modes[] = {
        CINT_BARRIER_STRICT, CINT_BARRIER_GENERATION,
    };
    unsigned i;
    Sim *sim;

    for (i = 0; i < G_N_ELEMENTS(modes); i++) {
        sim = start_with(modes[i], "..B.");
        sim_post(sim, 0, 1000, 3);
        sim_drop(sim, 0, 2000, 2);
        sim_expect(sim, "");
        sim_drop(sim, 0, 3000, 1);
        sim_expect(sim, "3000:barrier(1)");
        /* The one behind it is nobody's business. */
        sim_post(sim, 0, 4000, 4);
        sim_run_out(sim);
        sim_expect(sim, "10000:quiet(1)");
        g_free(sim);
    }
}

/* Satisfied with nothing left to tell of. */
static void test_cancelled_nothing_pending(void)
{
    Sim *sim = start_with(CINT_BARRIER_STRICT, ".B");

    sim_post(sim, 0, 1000, 2);
    sim_run_out(sim);
    sim_expect(sim, "7000:quiet(1)");
    sim_drop(sim, 0, 10000, 1);
    sim_expect(sim, "");
    /* And it does not wait for the next completion. */
    sim_batch(sim, 0, 10000, ".");
    sim_post(sim, 0, 11000, 3);
    sim_run_out(sim);
    sim_expect(sim, "17000:quiet(1)");
    g_free(sim);
}

/* Relaxed, a Barrier that never completes tells of nothing. */
static void test_cancelled_relaxed(void)
{
    Sim *sim = start_with(CINT_BARRIER_RELAXED, "..B");

    sim_post(sim, 0, 1000, 1);
    sim_drop(sim, 0, 2000, 3);
    sim_drop(sim, 0, 3000, 2);
    sim_run_out(sim);
    sim_expect(sim, "7000:quiet(1)");
    g_free(sim);
}

static void test_sq_deleted(void)
{
    Sim *sim = start_with(CINT_BARRIER_STRICT, "...B");

    sim_batch(sim, 1, 0, "..B");
    sim_post(sim, 0, 1000, 4);
    sim_post(sim, 1, 2000, 2);
    sim_delete_sq(sim, 2, 2500);
    sim_expect(sim, "");
    sim_delete_sq(sim, 0, 3000);
    sim_expect(sim, "3000:barrier(2)");
    g_assert_null(sim->sq[0].last);
    /* The other queue's own Barrier knows nothing of it. */
    sim_post(sim, 1, 4000, 3);
    sim_expect(sim, "");
    sim_post(sim, 1, 5000, 1);
    sim_expect(sim, "5000:barrier(2)");
    g_free(sim);
}

/* Without a Barrier in it, a queue's end satisfies none. */
static void test_sq_deleted_without(void)
{
    Sim *sim = start_with(CINT_BARRIER_STRICT, "..");

    sim_post(sim, 0, 1000, 1);
    sim_delete_sq(sim, 0, 2000);
    sim_run_out(sim);
    sim_expect(sim, "7000:quiet(1)");
    g_free(sim);
}

/* Barriers are a matter of one SQ, the interrupt of the CQ. */
static void test_several_sqs(void)
{
    Sim *sim = start_with(CINT_BARRIER_STRICT, "..B");

    sim_batch(sim, 1, 0, "..");
    sim_post(sim, 0, 1000, 1);
    sim_post(sim, 1, 2000, 1);
    sim_post(sim, 0, 3000, 3);
    sim_expect(sim, "");
    sim_post(sim, 0, 4000, 2);
    sim_expect(sim, "4000:barrier(4)");
    g_free(sim);
}

/* The mode may change with Barriers open; nothing is lost or told twice. */
static void test_mode_changes(void)
{
    CintConfig strict = with_barrier(CINT_BARRIER_STRICT);
    CintConfig relaxed = with_barrier(CINT_BARRIER_RELAXED);
    Sim *sim = sim_new(1024, strict);

    sim_batch(sim, 0, 0, "..BB");
    sim_post(sim, 0, 1000, 3);
    sim_configure(sim, 2000, &relaxed);
    sim_post(sim, 0, 3000, 4);
    sim_expect(sim, "2000:reconfigure(1) 3000:barrier(1)");
    sim_configure(sim, 4000, &strict);
    sim_post(sim, 0, 5000, 1);
    sim_expect(sim, "");
    sim_post(sim, 0, 6000, 2);
    sim_expect(sim, "6000:barrier(2)");
    g_free(sim);
}

static Sim *start_inferring(CintInfer infer)
{
    CintConfig config = with_barrier(CINT_BARRIER_RELAXED);
    Sim *sim;

    config.infer = infer;
    sim = sim_new(1024, config);
    sim_records(sim, 0, true);
    return sim;
}

static void test_infer_off(void)
{
    Sim *sim = start_inferring(CINT_INFER_OFF);

    sim_submit(sim, 0, 0, 1);
    sim_complete(sim, 0, 1000);
    sim_run_out(sim);
    sim_expect(sim, "7000:quiet(1)");
    g_free(sim);
}

/* The last command before each doorbell is a Barrier. */
static void test_infer_batch(void)
{
    Sim *sim = start_inferring(CINT_INFER_BATCH);

    sim_submit(sim, 0, 0, 3);
    sim_submit(sim, 0, 0, 2);
    sim_pass(sim, 0, 1000, 2);
    sim_expect(sim, "");
    sim_complete(sim, 0, 2000);
    sim_expect(sim, "2000:barrier(3)");
    sim_complete(sim, 0, 3000);
    sim_expect(sim, "");
    sim_complete(sim, 0, 4000);
    sim_expect(sim, "4000:barrier(2)");
    /* A lone one is a batch, too. */
    sim_submit(sim, 0, 5000, 1);
    sim_complete(sim, 0, 6000);
    sim_expect(sim, "6000:barrier(1)");
    g_free(sim);
}

/* A doorbell with nothing new behind it ends no batch. */
static void test_infer_empty_doorbell(void)
{
    Sim *sim = start_inferring(CINT_INFER_ALL);

    sim_submit(sim, 0, 0, 2);
    sim_submit(sim, 0, 0, 0);
    sim_complete(sim, 0, 1000);
    sim_submit(sim, 0, 1500, 0);
    sim_expect(sim, "");
    sim_complete(sim, 0, 2000);
    sim_expect(sim, "2000:barrier(2)");
    g_free(sim);
}

/* Each SQ has its own doorbell, and so its own batches. */
static void test_infer_per_sq(void)
{
    Sim *sim = start_inferring(CINT_INFER_BATCH);
    CintCmd first, second;

    cint_submit(&sim->sq[0], &first, 0, 0, 0);
    cint_submit(&sim->sq[1], &second, 0, 0, 0);
    cint_doorbell(&sim->sq[1], 0);
    g_assert_cmpuint(first.hints, ==, NVME_CINT_HINT_NONE);
    g_assert_cmpuint(second.hints, ==, NVME_CINT_HINT_BARRIER);
    g_assert_cmpuint(second.sources, ==, 1 << NVME_CINT_SOURCE_INFERRED);
    cint_doorbell(&sim->sq[0], 0);
    g_assert_cmpuint(first.hints, ==, NVME_CINT_HINT_BARRIER);
    g_free(sim);
}

/*
 * Alone in flight on its CQ: Urgent, and a full interrupt even for a guest
 * that reads records, since its driver does not know.
 */
static void test_infer_alone(void)
{
    Sim *sim = start_inferring(CINT_INFER_ALL);

    sim_submit(sim, 0, 0, 1);
    sim_complete(sim, 0, 1000);
    sim_submit(sim, 0, 1500, 1);
    sim_complete(sim, 0, 1500);
    sim_expect(sim, "1000:urgent(1) 1500:urgent(1)");
    /* Not alone: there is another, of another SQ. */
    sim_submit(sim, 1, 2000, 2);
    sim_submit(sim, 0, 2000, 1);
    sim_complete(sim, 0, 3000);
    sim_expect(sim, "3000:barrier(1)");
    /* Nor is a pair. */
    sim_delete_sq(sim, 1, 4000);
    cint_sq_init(&sim->sq[1], &sim->cq);
    sim_submit(sim, 0, 5000, 2);
    sim_complete(sim, 0, 6000);
    sim_expect(sim, "");
    sim_complete(sim, 0, 7000);
    sim_expect(sim, "7000:barrier(2)");
    g_free(sim);
}

/* What the guest says itself stays, wherever and whatever it says. */
static void test_infer_keeps_explicit(void)
{
    static const struct {
        char mark;
        const char *want;
    } marks[] = {
        { 'U', "U1000:urgent(1)" }, { 'B', "1000:barrier(1)" },
        { '2', "7000:quiet(1)" }, { 'u', "1000:urgent(1)" },
        { 'b', "1000:barrier(1)" },
    };
    unsigned i;
    Sim *sim;

    for (i = 0; i < G_N_ELEMENTS(marks); i++) {
        sim = start_inferring(CINT_INFER_ALL);
        sim_marked(sim, 1000, marks[i].mark);
        sim_run_out(sim);
        sim_expect(sim, marks[i].want);
        g_free(sim);
    }
}

/* A hint on another command of the batch says nothing of the last one. */
static void test_infer_beside_explicit(void)
{
    Sim *sim = start_inferring(CINT_INFER_BATCH);

    sim_batch(sim, 0, 0, "U.");
    sim_post(sim, 0, 1000, 1);
    sim_post(sim, 0, 2000, 2);
    sim_expect(sim, "U1000:urgent(1) 2000:barrier(1)");
    g_free(sim);
}

/* Gone before its doorbell was seen: nothing to mark, nothing to crash. */
static void test_infer_done_already(void)
{
    Sim *sim = start_inferring(CINT_INFER_ALL);
    CintCmd cmd = { 0 };

    cint_submit(&sim->sq[0], &cmd, 0, 0, 0);
    cint_complete(&sim->sq[0], &cmd, 0, false);
    cint_doorbell(&sim->sq[0], 0);
    g_assert_cmpuint(cmd.hints, ==, NVME_CINT_HINT_NONE);
    cint_submit(&sim->sq[0], &cmd, 0, 0, 0);
    cint_cancel(&sim->sq[0], &cmd, 0);
    cint_doorbell(&sim->sq[0], 0);
    g_assert_cmpuint(cmd.hints, ==, NVME_CINT_HINT_NONE);
    g_free(sim);
}

/* One of a pair is done already: the other was not announced alone. */
static void test_infer_rest_of_pair(void)
{
    Sim *sim = start_inferring(CINT_INFER_ALL);
    CintCmd first, second;

    cint_submit(&sim->sq[0], &first, 0, 0, 0);
    cint_submit(&sim->sq[0], &second, 0, 0, 0);
    cint_complete(&sim->sq[0], &first, 0, false);
    cint_doorbell(&sim->sq[0], 0);
    g_assert_cmpuint(second.hints, ==, NVME_CINT_HINT_BARRIER);
    g_free(sim);
}

/* An inferred Barrier is one: strict, it waits for those before it. */
static void test_infer_strict(void)
{
    CintConfig config = with_barrier(CINT_BARRIER_STRICT);
    Sim *sim;

    config.infer = CINT_INFER_BATCH;
    sim = sim_new(1024, config);
    sim_batch(sim, 0, 0, "...");
    sim_post(sim, 0, 1000, 3);
    sim_post(sim, 0, 2000, 1);
    sim_expect(sim, "");
    sim_post(sim, 0, 3000, 2);
    sim_expect(sim, "3000:barrier(3)");
    g_free(sim);
}

/*
 * What a Barrier that begins its batch says where drain is on: somebody waits
 * for any command. Beside it what the same load gets where Barriers are taken
 * literally, drain being off.
 */
typedef struct Step {
    int64_t t;
    const char *batch;      /* on SQ 0, or: */
    unsigned post;          /* this one, of those of SQ 0, from 1 */
} Step;

typedef struct AnyCase {
    const char *name;
    CintBarrier barrier;
    CintInfer infer;
    Step steps[16];         /* ends with t = 0 */
    const char *any, *literal;
} AnyCase;

#define ONE_BY_ONE(mark) { \
    { 100, mark }, { 200, mark }, { 300, mark }, \
    { 1000, NULL, 1 }, { 1500, NULL, 2 }, { 2000, mark }, \
    { 3000, NULL, 3 }, { 3500, mark }, { 5000, NULL, 4 }, \
    { 20000, NULL, 5 }, \
}
#define ONE_BY_ONE_TOLD \
    "1000:barrier(1) 2000:drain(1) 3500:drain(1) 11000:quiet(1)"
#define ONE_BY_ONE_EACH \
    "1000:barrier(1) 1500:barrier(1) 3000:barrier(1) 5000:barrier(1) " \
    "20000:barrier(1)"

static const AnyCase any_cases[] = {
    {
        /*
         * The first tells a guest that sleeps. What comes while it works on
         * that is told when it has answered. The fourth it does not answer:
         * delta tells of it, and the fifth is the last in flight.
         */
        .name = "told-when-the-guest-has-answered",
        .steps = ONE_BY_ONE("B"),
        .any = ONE_BY_ONE_TOLD " 20000:barrier(1)",
        .literal = ONE_BY_ONE_EACH,
    }, {
        .name = "inferred-for-a-guest-without-hints",
        .infer = CINT_INFER_BATCH,
        .steps = ONE_BY_ONE("."),
        .any = ONE_BY_ONE_TOLD " 20000:barrier(1)",
        .literal = ONE_BY_ONE_EACH,
    }, {
        .name = "strict-waits-for-all-before-it",
        .barrier = CINT_BARRIER_STRICT,
        .steps = ONE_BY_ONE("B"),
        .any = ONE_BY_ONE_EACH,
        .literal = ONE_BY_ONE_EACH,
    }, {
        /* Three told at 2000 take three answers. */
        .name = "as-many-answers-as-were-told",
        .steps = {
            { 100, "B" }, { 200, "B" }, { 300, "B" }, { 400, "B" },
            { 500, "B" },
            { 1000, NULL, 1 }, { 1100, NULL, 2 }, { 1200, NULL, 3 },
            { 1300, NULL, 4 }, { 2000, "B" }, { 3000, NULL, 5 },
            { 3100, "B" }, { 4000, "B" }, { 5000, "B" },
        },
        .any = "1000:barrier(1) 2000:drain(3) 5000:drain(1)",
        .literal = "1000:barrier(1) 1100:barrier(1) 1200:barrier(1) "
                   "1300:barrier(1) 3000:barrier(1)",
    }, {
        /* Whoever waits for a whole batch is told once, by its end. */
        .name = "the-end-of-a-batch-is-literal",
        .steps = {
            { 100, "...B" }, { 1000, NULL, 1 }, { 1100, NULL, 4 },
            { 1200, NULL, 2 }, { 1300, NULL, 3 },
        },
        .any = "1100:barrier(2) 1300:drain(2)",
        .literal = "1100:barrier(2) 7300:quiet(2)",
    }, {
        /* The first of four: any of them will do, the third does. */
        .name = "at-the-head-of-a-batch",
        .steps = {
            { 100, "B..." }, { 1000, NULL, 3 }, { 1100, NULL, 1 },
            { 1200, NULL, 2 }, { 2000, "B" },
        },
        .any = "1000:drain(1) 2000:drain(2)",
        .literal = "1100:barrier(2) 7200:quiet(1)",
    }, {
        /* Nobody who waits for one in particular is told any later. */
        .name = "urgent-is-not-any",
        .steps = {
            { 100, "B" }, { 200, "U" }, { 300, "B" }, { 1000, NULL, 1 },
            { 1100, NULL, 2 }, { 1200, NULL, 3 },
        },
        .any = "1000:barrier(1) 1100:urgent(1) 1200:barrier(1)",
        .literal = "1000:barrier(1) 1100:urgent(1) 1200:barrier(1)",
    }, {
        .name = "unmarked-is-not-any",
        .steps = {
            { 100, "." }, { 200, "." }, { 1000, NULL, 1 }, { 1100, "." },
        },
        .any = "7000:quiet(1)",
        .literal = "7000:quiet(1)",
    },
};

static Sim *start_any(const AnyCase *c, CintOnOffAuto drain)
{
    CintConfig config = with_barrier(c->barrier);

    config.infer = c->infer;
    config.drain = drain;
    return sim_new(1024, config);
}

static void play(Sim *sim, const Step *step)
{
    for (; step->t; step++) {
        if (step->batch) {
            sim_batch(sim, 0, step->t, step->batch);
        } else {
            sim_post(sim, 0, step->t, step->post);
        }
    }
    sim_run_out(sim);
}

static void expect_any(const AnyCase *c, CintOnOffAuto drain, const char *want)
{
    Sim *sim = start_any(c, drain);

    play(sim, c->steps);
    sim_expect(sim, want);
    g_free(sim);
}

static void test_any(const void *data)
{
    const AnyCase *c = data;

    expect_any(c, CINT_ON, c->any);
    expect_any(c, CINT_OFF, c->literal);
}

/* Any policy may drain, but hints are policy cint's. */
static void test_any_elsewhere(void)
{
    CintConfig config = sim_adaptive(6000, 32);
    Sim *sim;

    config.drain = CINT_ON;
    sim = sim_new(1024, config);
    play(sim, any_cases[0].steps);
    sim_expect(sim, "11000:quiet(4) 20000:drain(1)");
    g_free(sim);
}

/* Somebody of another queue does what the guest owed. */
static void test_any_answered_elsewhere(void)
{
    Sim *sim = start_any(&any_cases[0], CINT_ON);

    sim_batch(sim, 0, 100, "B");
    sim_batch(sim, 0, 200, "B");
    sim_post(sim, 0, 1000, 1);
    sim_post(sim, 0, 1100, 2);
    sim_expect(sim, "1000:barrier(1) 1100:barrier(1)");
    sim_batch(sim, 0, 1200, "B");
    sim_batch(sim, 1, 1300, "..B");
    sim_post(sim, 1, 2000, 1);
    sim_expect(sim, "2000:drain(1)");
    g_free(sim);
}

/* What was meant for any command does not outlive the rule. */
static void test_any_switched_off(void)
{
    Sim *sim = start_any(&any_cases[0], CINT_ON);
    CintConfig config = sim->cq.config;

    sim_batch(sim, 0, 100, ".");
    sim_batch(sim, 0, 200, "B");
    sim_batch(sim, 0, 300, "B");
    config.drain = CINT_OFF;
    sim_configure(sim, 400, &config);
    sim_post(sim, 0, 1000, 1);
    sim_post(sim, 0, 1100, 2);
    sim_expect(sim, "1100:barrier(2)");
    config.policy = NVME_CINT_POLICY_ADAPTIVE;
    config.drain = CINT_ON;
    sim_configure(sim, 2000, &config);
    sim_batch(sim, 0, 2000, ".");
    sim_batch(sim, 0, 2000, ".");
    sim_post(sim, 0, 3000, 3);
    sim_expect(sim, "");
    g_free(sim);
}

/* With the queue go those who waited on it. */
static void test_any_queue_goes(void)
{
    Sim *sim = start_any(&any_cases[0], CINT_ON);

    sim_batch(sim, 0, 100, "B");
    sim_batch(sim, 1, 200, "...");
    sim_delete_sq(sim, 0, 300);
    sim_batch(sim, 1, 400, ".");
    sim_post(sim, 1, 1000, 1);
    sim_expect(sim, "");
    g_free(sim);
}

int main(int argc, char **argv)
{
    static const SuiteTest tests[] = {
        { "relaxed/at-its-own-completion", test_relaxed },
        { "class/is-full", test_never_urgent_class },
        { "class/is-full-when-an-urgent-satisfies", test_urgent_satisfies },
        { "strict/counts-as-unmarked-until-satisfied",
          test_waiting_is_unmarked },
        { "strict/whatever-the-order", test_orders },
        { "strict/differs-from-generation", test_strict_and_generation },
        { "strict/two-at-once-are-one-interrupt", test_two_at_once },
        { "strict/nothing-before-it", test_nothing_before },
        { "strict/both-bits-are-unmarked", test_both_bits },
        { "strict/waits-for-as-long-as-it-takes", test_long_wait },
        { "generation/any-number", test_many_generations },
        { "cancel/satisfies", test_cancelled },
        { "cancel/with-nothing-pending", test_cancelled_nothing_pending },
        { "cancel/relaxed-ignores-it", test_cancelled_relaxed },
        { "delete-sq/satisfies", test_sq_deleted },
        { "delete-sq/without-a-barrier", test_sq_deleted_without },
        { "sqs/are-kept-apart", test_several_sqs },
        { "mode/may-change", test_mode_changes },
        { "infer/off", test_infer_off },
        { "infer/batch", test_infer_batch },
        { "infer/empty-doorbell", test_infer_empty_doorbell },
        { "infer/per-sq", test_infer_per_sq },
        { "infer/alone-is-urgent-and-full", test_infer_alone },
        { "infer/explicit-hints-stay", test_infer_keeps_explicit },
        { "infer/beside-explicit-hints", test_infer_beside_explicit },
        { "infer/done-before-its-doorbell", test_infer_done_already },
        { "infer/rest-of-a-pair", test_infer_rest_of_pair },
        { "infer/strict", test_infer_strict },
        { "any/of-no-other-policy", test_any_elsewhere },
        { "any/answered-from-another-queue", test_any_answered_elsewhere },
        { "any/switched-off", test_any_switched_off },
        { "any/goes-with-its-queue", test_any_queue_goes },
    };
    unsigned i;
    char *path;

    g_test_init(&argc, &argv, NULL);
    suite_add("/barrier", tests, G_N_ELEMENTS(tests));
    for (i = 0; i < G_N_ELEMENTS(any_cases); i++) {
        path = g_strdup_printf("/barrier/any/%s", any_cases[i].name);
        g_test_add_data_func(path, &any_cases[i], test_any);
        g_free(path);
    }
    return g_test_run();
}
