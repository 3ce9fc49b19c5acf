/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Golden vectors of policy vic: loads with the interrupts they must cause,
 * worked by hand. As in test-vectors.c, the engine gives the expected answer,
 * an independent implementation too, and each rival reading another one.
 */
#include "golden.h"
#include "rival-vic.h"
#include "sim.h"

#define CQ_SIZE     1024
#define MAX_RIVALS  5
#define FORCED      60000   /* ms: an epoch that does not end */

typedef struct RivalAnswer {
    const char *name;       /* completes "the vector is told apart from ..." */
    VicReading reading;
    const char *out;
} RivalAnswer;

typedef struct Vector {
    const char *name;
    VicLoad load;
    const char *out;
    RivalAnswer rivals[MAX_RIVALS];
} Vector;

#define ALL_8   "1000(1) 2000(1) 3000(1) 4000(1) 5000(1) 6000(1) 7000(1) " \
                "8000(1)"

static const Vector vectors[] = {
    {
        /* The counter before each completion is 1 2 3 4, then 1 again. */
        .name = "V7/ratio-3-of-4",
        .load = { 1000, 0, FORCED, { { 8, 32, false, 3, 4 } } },
        .out = "1000(1) 2000(1) 4000(2) 5000(1) 6000(1) 8000(2)",
        .rivals = {
            { "counting-up-to-countUp-itself", { .up_inclusive = true },
              ALL_8 },
            { "skipping-beyond-skipUp", { .skip_above = true },
              "1000(1) 2000(1) 5000(3) 6000(1) 7000(1)" },
            { "a-counter-from-0", { .counts_from_zero = true },
              "1000(1) 2000(1) 3000(1) 5000(2) 6000(1) 7000(1) 8000(1)" },
        },
    }, {
        .name = "V7/ratio-1-of-5",
        .load = { 1000, 0, FORCED, { { 10, 32, false, 1, 5 } } },
        .out = "5000(5) 10000(5)",
        .rivals = {
            { "counting-up-to-countUp-itself", { .up_inclusive = true },
              "1000(1) 5000(4) 6000(1) 10000(4)" },
            { "skipping-beyond-skipUp", { .skip_above = true }, "6000(6)" },
            { "a-counter-from-0", { .counts_from_zero = true },
              "1000(1) 6000(5) 7000(1)" },
        },
    }, {
        .name = "V7/ratio-2-of-3",
        .load = { 1000, 0, FORCED, { { 6, 32, false, 2, 3 } } },
        .out = "1000(1) 3000(2) 4000(1) 6000(2)",
        .rivals = {
            { "skipping-beyond-skipUp", { .skip_above = true },
              "1000(1) 4000(3) 5000(1)" },
            { "a-counter-from-0", { .counts_from_zero = true },
              "1000(1) 2000(1) 4000(2) 5000(1) 6000(1)" },
        },
    }, {
        .name = "V7/ratio-1-of-1",
        .load = { 1000, 0, FORCED, { { 8, 32, false, 1, 1 } } },
        .out = ALL_8,
        .rivals = {
            { "skipping-beyond-skipUp", { .skip_above = true },
              "2000(2) 4000(2) 6000(2) 8000(2)" },
        },
    }, {
        .name = "V7/ratio-4-of-5",
        .load = { 1000, 0, FORCED, { { 10, 32, false, 4, 5 } } },
        .out = "1000(1) 2000(1) 3000(1) 5000(2) 6000(1) 7000(1) 8000(1) "
               "10000(2)",
        .rivals = {
            { "skipping-beyond-skipUp", { .skip_above = true },
              "1000(1) 2000(1) 3000(1) 6000(3) 7000(1) 8000(1) 9000(1)" },
        },
    }, {
        /* The 9th finds 4 in flight and is skipped, the 10th 3. */
        .name = "V7/drain-of-12",
        .load = { 1000, 0, FORCED, { { 12, 12, true, 1, 5 } } },
        .out = "5000(5) 10000(5) 11000(1) 12000(1)",
        .rivals = {
            { "commands-in-flight-without-this-one", { .cif_exclusive = true },
              "5000(5) 9000(4) 10000(1) 11000(1) 12000(1)" },
            { "a-bypass-at-the-threshold", { .cif_at_or_below = true },
              "5000(5) 9000(4) 10000(1) 11000(1) 12000(1)" },
        },
    }, {
        .name = "V7/drain-of-9",
        .load = { 1000, 0, FORCED, { { 9, 9, true, 1, 5 } } },
        .out = "5000(5) 7000(2) 8000(1) 9000(1)",
        .rivals = {
            /* The last four are stranded for good. */
            { "in-flight-as-the-guest-sees-it", { .cif_of_guest = true },
              "5000(5)" },
            { "commands-in-flight-without-this-one", { .cif_exclusive = true },
              "5000(5) 6000(1) 7000(1) 8000(1) 9000(1)" },
        },
    }, {
        /* The counter is 4 when the ratio becomes 3/4. */
        .name = "V7/change-in-mid-cycle",
        .load = { 1000, 0, FORCED, { { 3, 32, false, 1, 5 },
                                     { 6, 32, false, 3, 4 } } },
        .out = "4000(4) 5000(1) 6000(1) 8000(2) 9000(1)",
        .rivals = {
            { "a-counter-reset-by-a-change-of-ratio",
              { .change_resets = true },
              "4000(4) 5000(1) 7000(2) 8000(1) 9000(1)" },
        },
    }, {
        /* The counter is 6, and 2/3 has no such place. */
        .name = "V7/change-leaves-the-counter-too-large",
        .load = { 1000, 0, FORCED, { { 5, 32, false, 1, 8 },
                                     { 5, 32, false, 2, 3 } } },
        .out = "6000(6) 7000(1) 9000(2) 10000(1)",
        .rivals = {
            { "a-counter-that-must-meet-skipUp", { .skip_exact = true }, "" },
            { "a-counter-reset-by-a-change-of-ratio",
              { .change_resets = true }, "6000(6) 8000(2) 9000(1)" },
        },
    }, {
        .name = "V7/bypass-in-mid-cycle",
        .load = { 1000, 0, FORCED, { { 3, 32, false, 1, 5 },
                                     { 1, 3, false, 0, 0 },
                                     { 5, 32, false, 0, 0 } } },
        .out = "4000(4) 9000(5)",
        .rivals = {
            { "a-bypass-that-leaves-the-counter", { .bypass_keeps = true },
              "4000(4) 6000(2)" },
        },
    }, {
        /* The 10001st is the first beyond 200 ms: from there on 3/4. */
        .name = "V7/epoch-at-50000-per-s",
        .load = { 20000, 200000000, 200, { { 10008, 10, false, 0, 0 } } },
        .out = "200000000(1) 200020000(1) 200040000(1) 200080000(2) "
               "200100000(1) 200120000(1) 200160000(2)",
        .rivals = {
            { "an-epoch-that-ends-at-the-period-itself",
              { .epoch_at_end = true },
              "200000000(1) 200020000(1) 200060000(2) 200080000(1) "
              "200100000(1) 200140000(2) 200160000(1)" },
            { "a-rate-that-is-never-computed", { .iops_zero = true },
              "200000000(1) 200020000(1) 200040000(1) 200060000(1) "
              "200080000(1) 200100000(1) 200120000(1) 200140000(1) "
              "200160000(1)" },
        },
    }, {
        .name = "V7/epoch-at-1000-per-s",
        .load = { 1000000, 995000000, 200, { { 1000, 32, false, 0, 0 } } },
        .out = "995000000(1) 996000000(1) 997000000(1) 998000000(1) "
               "999000000(1) 1000000000(1)",
        .rivals = {
            { "a-rate-without-a-say", { .iops_no_gate = true },
              "996000000(4) 1000000000(4)" },
        },
    }, {
        /* 401 completions in 200.5 ms are iopsThreshold exactly. */
        .name = "V7/epoch-at-iops-threshold",
        .load = { 500000, 200000000, 200, { { 408, 32, false, 0, 0 } } },
        .out = "200000000(1) 202000000(4) 204000000(4)",
        .rivals = {
            { "a-low-rate-at-the-threshold", { .iops_at_or_below = true },
              "200000000(1) 200500000(1) 201000000(1) 201500000(1) "
              "202000000(1) 202500000(1) 203000000(1) 203500000(1) "
              "204000000(1)" },
            { "a-rate-without-this-completion", { .iops_exclusive = true },
              "200000000(1) 200500000(1) 201000000(1) 201500000(1) "
              "202000000(1) 202500000(1) 203000000(1) 203500000(1) "
              "204000000(1)" },
        },
    }, {
        /* 32 in flight after the ratio was determined: next epoch. */
        .name = "V7/epoch-keeps-the-ratio",
        .load = { 20000, 200020000, 200, { { 10001, 10, false, 0, 0 },
                                           { 8, 32, false, 0, 0 } } },
        .out = "200020000(1) 200040000(1) 200080000(2) 200100000(1) "
               "200120000(1) 200160000(2) 200180000(1)",
        .rivals = {
            { "an-epoch-start-that-is-never-updated",
              { .epoch_start_stays = true },
              "200020000(1) 200080000(3) 200160000(4)" },
        },
    }, {
        /*
         * 400040000 is the first beyond 200 ms from 200020000. The counter is
         * 2 by then, so the first batch of 1/4 is one short.
         */
        .name = "V7/epoch-starts-where-the-last-one-ended",
        .load = { 20000, 399980000, 200, { { 10001, 10, false, 0, 0 },
                                           { 10012, 32, false, 0, 0 } } },
        .out = "400000000(2) 400020000(1) 400080000(3) 400160000(4) "
               "400240000(4)",
        .rivals = {
            { "epochs-in-steps-of-the-period", { .epoch_start_steps = true },
              "400000000(2) 400080000(4) 400160000(4) 400240000(4)" },
            { "an-epoch-start-that-is-never-updated",
              { .epoch_start_stays = true },
              "400000000(4) 400080000(4) 400160000(4) 400240000(4)" },
        },
    },
};

/* Submits or cancels until the next completion finds @cif in flight. */
static void bring_in_flight(Sim *sim, uint32_t cif)
{
    if (sim->cq.inflight < cif) {
        sim_submit(sim, 0, sim->now, cif - sim->cq.inflight);
    }
    while (sim->cq.inflight > cif) {
        sim_cancel(sim, 0, sim->now);
    }
}

static void run_phase(Sim *sim, const VicLoad *load, const VicPhase *phase)
{
    unsigned i;

    if (phase->up) {
        sim_force_ratio(sim, phase->up, phase->skip);
    }
    for (i = 0; i < phase->n; i++) {
        bring_in_flight(sim, phase->drain ? phase->cif - i : phase->cif);
        sim_complete(sim, 0, sim->now + load->step_ns);
        if (sim->now < load->from_ns) {
            sim->nr_irqs = 0;
        }
    }
}

static char *engine_run(const VicLoad *load)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_VIC);
    Sim *sim = g_new(Sim, 1);
    char *out;
    unsigned i;

    config.epoch_ms = load->epoch_ms;
    sim_init(sim, CQ_SIZE, &config);
    for (i = 0; i < VIC_PHASES; i++) {
        run_phase(sim, load, &load->phase[i]);
    }
    out = sim_irqs(sim);
    g_free(sim);
    return out;
}

static void test_engine(const void *opaque)
{
    const Vector *vector = opaque;
    char *got = engine_run(&vector->load);

    sim_same("the engine's list of interrupts", got, vector->out);
    g_free(got);
}

static char *model(const void *opaque, const void *reading)
{
    const Vector *vector = opaque;

    return rival_vic_run(&vector->load, reading);
}

static const uint32_t map_cif[] = {
    3, 4, 7, 8, 11, 12, 15, 16, 23, 24, 64, 128, 135, 136,
};

#define MAP "1/1 4/5 4/5 3/4 3/4 2/3 2/3 1/2 1/2 1/3 1/8 1/16 1/16 1/17 "

/* The ratio one epoch with @cif commands in flight leads to. */
static char *engine_ratio(uint32_t cif)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_VIC);
    Sim *sim = g_new(Sim, 1);
    char *ratio;

    config.epoch_ms = 1;
    config.iops_threshold = 0;
    sim_init(sim, CQ_SIZE, &config);
    sim_submit(sim, 0, 0, cif);
    sim_complete(sim, 0, 1000001);
    ratio = sim_ratio(&sim->scope.vic);
    g_free(sim);
    return ratio;
}

static char *map(const VicReading *reading)
{
    GString *text = g_string_new(NULL);
    char *ratio;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(map_cif); i++) {
        ratio = reading ? rival_vic_ratio(map_cif[i], reading)
                        : engine_ratio(map_cif[i]);
        g_string_append_printf(text, "%s ", ratio);
        g_free(ratio);
    }
    return g_string_free(text, FALSE);
}

static void test_map_engine(gconstpointer unused)
{
    char *got = map(NULL);

    sim_same("the engine's map", got, MAP);
    g_free(got);
}

static void test_map_rival(gconstpointer opaque)
{
    const RivalAnswer *rival = opaque;
    char *got = map(&rival->reading);

    sim_same("the rival's map", got, rival->out);
    g_free(got);
}

/* The first is our own reading; the others must differ. */
static const RivalAnswer maps[] = {
    { "independent-model-agrees", { 0 }, MAP },
    { "is-told-apart-from/commands-in-flight-without-this-one",
      { .cif_exclusive = true },
      "1/1 1/1 4/5 4/5 3/4 3/4 2/3 2/3 1/2 1/2 1/7 1/15 1/16 1/16 " },
    { "is-told-apart-from/limits-that-belong-to-the-lower-range",
      { .cif_at_or_below = true },
      "1/1 1/1 4/5 4/5 3/4 3/4 2/3 2/3 1/2 1/3 1/8 1/16 1/16 1/17 " },
    { "is-told-apart-from/1-of-n-rounded-up", { .skip_rounds_up = true },
      "1/1 4/5 4/5 3/4 3/4 2/3 2/3 1/2 1/3 1/3 1/8 1/16 1/17 1/17 " },
    { "is-told-apart-from/a-limit-of-1-of-16", { .skip_capped = true },
      "1/1 4/5 4/5 3/4 3/4 2/3 2/3 1/2 1/2 1/3 1/8 1/16 1/16 1/16 " },
};

static void add_maps(void)
{
    unsigned i;
    char *path;

    g_test_add_data_func("/vic-vectors/V7/map/engine-maps-as-expected", NULL,
                         test_map_engine);
    for (i = 0; i < G_N_ELEMENTS(maps); i++) {
        g_assert_cmpint(!strcmp(maps[i].out, MAP), ==, i == 0);
        path = g_strdup_printf("/vic-vectors/V7/map/%s", maps[i].name);
        g_test_add_data_func(path, &maps[i], test_map_rival);
        g_free(path);
    }
}

int main(int argc, char **argv)
{
    static const VicReading ours;
    static const GoldenSuite suite = {
        .path = "/vic-vectors",
        .test_engine = test_engine,
        .model = model,
        .ours = &ours,
    };

    g_test_init(&argc, &argv, NULL);
    golden_add_all(&suite, vectors);
    add_maps();
    return g_test_run();
}
