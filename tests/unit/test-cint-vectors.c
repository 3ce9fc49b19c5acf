/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Golden vectors of policy cint: Urgent, Barrier and the urgent class (see
 * test-vectors.c for what is shown of each).
 */
#include "golden.h"
#include "rival-cint.h"
#include "sim.h"

/* Beyond any vector's need, so that pressure has no say. */
#define CQ_SIZE     1024
#define MAX_RIVALS  8

typedef struct RivalAnswer {
    const char *name;       /* completes "the vector is told apart from ..." */
    CintReading reading;
    const char *out;
} RivalAnswer;

typedef struct Vector {
    const char *name;
    CintLoad load;
    const char *out;
    const char *heads;      /* how far the guest moved the head, and when */
    RivalAnswer rivals[MAX_RIVALS];
} Vector;

#define V2_IN { \
    { 1000 }, { 2000 }, { 3000, "U" }, { 3500 }, { 20000, "U" }, { 30000 }, \
    { 50000, "UB" }, \
}
/* s1 s2 s3 s4B t1 t2 t3 t4B a1 a2 a3 a4B b1 b2 b3 b4B c1 c2 c3 c4B in the SQ */
#define V3_IN { \
    { 10000, NULL, 1 }, { 11000, NULL, 2 }, { 12000, "B", 4 }, \
    { 13500, NULL, 3 }, \
    { 30000, NULL, 5 }, { 30500, NULL, 6 }, { 31000, NULL, 7 }, \
    { 31500, "B", 8 }, \
    { 50000, NULL, 13 }, { 50500, NULL, 14 }, { 51000, NULL, 15 }, \
    { 51500, "B", 16 }, \
    { 52000, NULL, 9 }, { 52500, NULL, 10 }, { 53000, NULL, 11 }, \
    { 54000, "B", 12 }, \
    { 70000, NULL, 18 }, { 70200, NULL, 19 }, { 70400, "B", 20 }, \
    { 80000, NULL, 17 }, \
}
#define V3_RELAXED \
    "12000(3) 19500(1) 31500(4) 51500(4) 54000(4) 70400(3) 86000(1)"
#define V3_STRICT       "13500(4) 31500(4) 54000(8) 76400(3) 80000(1)"
#define V3_GENERATION \
    "13500(4) 31500(4) 51500(4) 54000(4) 76400(3) 80000(1)"
#define V3_ADAPTIVE     "19500(4) 37500(4) 60000(8) 76400(3) 86000(1)"
#define V5_IN { \
    { 1000 }, { 1500, "U" }, { 2000 }, { 2500 }, { 3000, "U" }, { 3500 }, \
    { 4000 }, { 4500, "U" }, { 5000 }, { 20000, "U" }, { 30000 }, \
    { 31000, "U" }, \
}
#define V5_OUT \
    "U1500(1) U3000(1) U4500(1) 5000(6) U20000(1) U31000(1) 37000(1)"

#define HINTS_OFF           { .hints_off = true }
#define AS_PRINTED          { .as_printed = true }
#define BOTH_IS_URGENT      { .both_is_urgent = true }
#define BOTH_IS_BARRIER     { .both_is_barrier = true }
#define UNCOUNTED           { .urgent_uncounted = true }
#define POSTPONES_NOT       { .urgent_postpones_not = true }
#define URGENT_IS_FULL      { .urgent_is_full = true }
#define URGENT_THEN_FULL    { .urgent_then_full = true }
#define BARRIER_IS_URGENT   { .barrier_is_urgent = true }
#define REAPING_FORGETS     { .reaping_forgets = true }
#define ABOVE_THR           { .above_thr = true }

static const Vector vectors[] = {
    {
        /*
         * The Urgent at 3000 tells of the two before it, too, and starts the
         * count anew: 3500 waits for a deadline of its own.
         */
        .name = "V2/urgent",
        .load = { 6000, 4, RIVAL_RELAXED, false, V2_IN },
        .out = "3000(3) 9500(1) 20000(1) 36000(1) 56000(1)",
        .heads = "3000+3 9500+1 20000+1 36000+1 56000+1",
        .rivals = {
            { "algorithm-2-as-printed", AS_PRINTED,
              "3000(3) 9500(1) 20000(1) 26000(0) 36000(1) 56000(1)" },
            { "hints-without-effect", HINTS_OFF,
              "3500(4) 26000(1) 36000(1) 56000(1)" },
            { "both-bits-as-urgent", BOTH_IS_URGENT,
              "3000(3) 9500(1) 20000(1) 36000(1) 50000(1)" },
            { "both-bits-as-barrier", BOTH_IS_BARRIER,
              "3000(3) 9500(1) 20000(1) 36000(1) 50000(1)" },
        },
    }, {
        /* s3 is a straggler: 13500 + 6000; so is c1: 80000 + 6000. */
        .name = "V3/barrier-relaxed",
        .load = { 6000, 32, RIVAL_RELAXED, false, V3_IN },
        .out = V3_RELAXED,
        .heads = "12000+3 19500+1 31500+4 51500+4 54000+4 70400+3 86000+1",
        .rivals = {
            { "hints-without-effect", HINTS_OFF, V3_ADAPTIVE },
        },
    }, {
        /* With the urgent class there is a difference to an Urgent. */
        .name = "V3/barrier-relaxed-with-ooo",
        .load = { 6000, 32, RIVAL_RELAXED, true, V3_IN },
        .out = V3_RELAXED,
        .heads = "12000+3 19500+1 31500+4 51500+4 54000+4 70400+3 86000+1",
        .rivals = {
            { "a-barrier-that-is-the-same-as-an-urgent", BARRIER_IS_URGENT,
              "U12000(1) 19500(3) U31500(1) 37500(3) U51500(1) U54000(1) "
              "60000(6) U70400(1) 76400(2) 86000(1)" },
        },
    }, {
        /*
         * b4 at 51500 waits for a1 to a4, earlier in the SQ. At 70400 c1 is
         * missing; delta reaps the three at 76400, and still the Barrier is
         * satisfied, and fires, at 80000.
         */
        .name = "V4/barrier-strict",
        .load = { 6000, 32, RIVAL_STRICT, false, V3_IN },
        .out = V3_STRICT,
        .heads = "13500+4 31500+4 54000+8 76400+3 80000+1",
        .rivals = {
            { "hints-without-effect", HINTS_OFF, V3_ADAPTIVE },
            { "a-barrier-that-delta-forgets", REAPING_FORGETS,
              "13500(4) 31500(4) 54000(8) 76400(3) 86000(1)" },
        },
    }, {
        .name = "V4/barrier-generation",
        .load = { 6000, 32, RIVAL_GENERATION, false, V3_IN },
        .out = V3_GENERATION,
        .heads = "13500+4 31500+4 51500+4 54000+4 76400+3 80000+1",
        .rivals = {
            { "hints-without-effect", HINTS_OFF, V3_ADAPTIVE },
            { "a-barrier-that-delta-forgets", REAPING_FORGETS,
              "13500(4) 31500(4) 51500(4) 54000(4) 76400(3) 86000(1)" },
        },
    }, {
        /* A part of the batch is reaped by thr: no difference to the rest. */
        .name = "V4/barrier-strict-and-thr",
        .load = { 6000, 2, RIVAL_STRICT, false, {
            { 1000, NULL, 2 }, { 1500, "B", 3 }, { 2000, NULL, 1 },
            { 20000, NULL, 5 }, { 20500, NULL, 6 }, { 21000, "B", 7 },
            { 22000, NULL, 4 },
        } },
        .out = "1500(2) 2000(1) 20500(2) 22000(2)",
        .heads = "1500+2 2000+1 20500+2 22000+2",
        .rivals = {
            { "a-barrier-that-thr-forgets", REAPING_FORGETS,
              "1500(2) 8000(1) 20500(2) 22000(2)" },
            { "thr-that-fires-above-and-not-at-it", ABOVE_THR,
              "2000(3) 21000(3) 22000(1)" },
        },
    }, {
        /*
         * 5000 is the ninth entry retained in the CQ: six unmarked ones and
         * three reaped ahead of them. Nothing is retained at 20000. The one
         * at 31000 moves the deadline of the one at 30000.
         */
        .name = "V5/urgent-with-ooo",
        .load = { 6000, 9, RIVAL_RELAXED, true, V5_IN },
        .out = V5_OUT,
        .heads = "5000+9 20000+1 37000+2",
        .rivals = {
            { "an-urgent-that-never-counts", UNCOUNTED,
              "U1500(1) U3000(1) U4500(1) 11000(6) U20000(1) U31000(1) "
              "37000(1)" },
            { "algorithm-2-as-printed", AS_PRINTED,
              "U1500(1) U3000(1) U4500(1) 5000(6) U20000(1) 26000(0) "
              "U31000(1) 37000(1)" },
            { "an-urgent-that-leaves-the-deadline-alone", POSTPONES_NOT,
              "U1500(1) U3000(1) U4500(1) 5000(6) U20000(1) U31000(1) "
              "36000(1)" },
            { "no-urgent-class", URGENT_IS_FULL,
              "1500(2) 3000(3) 4500(3) 11000(1) 20000(1) 31000(2)" },
            { "thr-that-fires-above-and-not-at-it", ABOVE_THR,
              "U1500(1) U3000(1) U4500(1) 11000(6) U20000(1) U31000(1) "
              "37000(1)" },
            { "hints-without-effect", HINTS_OFF,
              "5000(9) 26000(1) 37000(2)" },
        },
    }, {
        /* The Urgent is the third retained: one interrupt, not two. */
        .name = "V5/urgent-that-reaches-thr",
        .load = { 6000, 3, RIVAL_RELAXED, true, {
            { 1000 }, { 2000, "U" }, { 3000, "U" }, { 4000, "U" }, { 5000 },
        } },
        .out = "U2000(1) 3000(2) U4000(1) 11000(1)",
        .heads = "3000+3 4000+1 11000+1",
        .rivals = {
            { "one-interrupt-of-each-class", URGENT_THEN_FULL,
              "U2000(1) U3000(1) 3000(1) U4000(1) 11000(1)" },
            { "an-urgent-that-never-counts", UNCOUNTED,
              "U2000(1) U3000(1) U4000(1) 11000(2)" },
        },
    },
};

static CintConfig load_config(const CintLoad *load)
{
    static const CintBarrier barrier[] = {
        [RIVAL_RELAXED]     = CINT_BARRIER_RELAXED,
        [RIVAL_STRICT]      = CINT_BARRIER_STRICT,
        [RIVAL_GENERATION]  = CINT_BARRIER_GENERATION,
    };
    CintConfig config = sim_cint(load->delta_ns, load->thr);

    config.barrier = barrier[load->barrier];
    return config;
}

/* The letters of sim_batch() for @load's SQ, in its order. */
static char *sq_marks(const CintLoad *load)
{
    char *marks = g_strnfill(CINT_ARRIVALS, '.');
    unsigned i, place;

    for (i = 0; load->in[i].t; i++) {
        place = load->in[i].place ? load->in[i].place : i + 1;
        if (load->in[i].hint) {
            marks[place - 1] = load->in[i].hint[1] ? '2' : *load->in[i].hint;
        }
    }
    return marks;
}

/* All that is ever submitted is in flight from the beginning. */
static Sim *engine_run(const CintLoad *load)
{
    CintConfig config = load_config(load);
    Sim *sim = g_new(Sim, 1);
    char *marks = sq_marks(load);
    unsigned i;

    sim_init(sim, CQ_SIZE, &config);
    sim_records(sim, 0, load->ooo);
    sim_batch(sim, 0, 0, marks);
    for (i = 0; load->in[i].t; i++) {
        sim_post(sim, 0, load->in[i].t,
                 load->in[i].place ? load->in[i].place : i + 1);
    }
    sim_run_out(sim);
    g_free(marks);
    return sim;
}

static void test_engine(const void *opaque)
{
    const Vector *vector = opaque;
    Sim *sim = engine_run(&vector->load);
    char *irqs = sim_irqs(sim), *moves = sim_moves(sim);

    sim_same("the engine's list of interrupts", irqs, vector->out);
    sim_same("the guest's movement of the head", moves, vector->heads);
    g_free(irqs);
    g_free(moves);
    g_free(sim);
}

static char *model(const void *opaque, const void *reading)
{
    const Vector *vector = opaque;

    return rival_cint_run(&vector->load, reading);
}

int main(int argc, char **argv)
{
    static const CintReading ours;
    static const GoldenSuite suite = {
        .path = "/cint-vectors",
        .test_engine = test_engine,
        .model = model,
        .ours = &ours,
    };

    g_test_init(&argc, &argv, NULL);
    golden_add_all(&suite, vectors);
    return g_test_run();
}
