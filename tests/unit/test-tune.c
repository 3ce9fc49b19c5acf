/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Retune by itself: on random loads that come and go the tuner decides as the
 * slow second engine does, which keeps no sums and looks through everything
 * that was ever sent. How whole queues settle is tested in test-storm.c.
 */
#include <glib.h>
#include <string.h>

#include "model-storm.h"

#define RUNS    60
#define EVENTS  3500
#define SEGMENT 150     /* CQEs of one load */
#define RATE    100000
#define GAP     10000ll

typedef struct Run {
    CintTuner tuner;
    Model model;
    int64_t now, last;
    bool sent;
    unsigned pending;
    unsigned changes, ups;
} Run;

static unsigned below(unsigned limit)
{
    return g_test_rand_int_range(0, limit);
}

static ModelSign *sign(Run *run, ModelSignKind kind)
{
    ModelSign *s = &run->model.sign[run->model.nr_signs++];

    *s = (ModelSign) { .kind = kind, .t = run->now };
    return s;
}

static void complete(Run *run, CintAsked asked)
{
    const CintConfig *config = &run->model.config;
    ModelSign *s = sign(run, MODEL_CQE);

    s->asked = asked;
    s->delta_ns = config->delta_ns;
    s->thr = MIN(config->thr, run->model.size - 2);
    run->pending++;
    if (run->tuner.thr) {
        cint_tuner_completed(&run->tuner, run->now, asked);
    }
}

static void interrupt(Run *run, unsigned cqes)
{
    unsigned before = run->tuner.thr;
    int64_t interval = MIN(run->now - run->last, 2 * GAP);
    bool changed = false;
    ModelStorm want;

    sign(run, MODEL_MESSAGE)->covered = cqes;
    if (run->sent) {
        changed = cint_tuner_sent(&run->tuner, interval, cqes);
    }
    run->last = run->now;
    run->sent = true;
    run->pending -= cqes;
    want = model_storm(&run->model);
    g_assert_cmpint(run->tuner.thr > 0, ==, want.retuning);
    g_assert_cmpuint(run->tuner.thr, ==, want.retuning ? want.thr : 0);
    g_assert_cmpint(changed, ==, before != run->tuner.thr);
    run->changes += changed;
    run->ups += changed && run->tuner.thr > before;
}

/* One CQE of a load that comes every @step, @urgent percent of them Urgent. */
static void one(Run *run, int64_t step, unsigned urgent)
{
    CintAsked asked = below(100) >= urgent ? CINT_ASKED_NOTHING :
                      below(2) ? CINT_ASKED_URGENT : CINT_ASKED_FULL;
    uint64_t thr = run->tuner.thr ? run->tuner.thr : run->model.config.thr;

    run->now += step * (80 + below(41)) / 100;
    complete(run, asked);
    if (!run->tuner.thr && asked == CINT_ASKED_URGENT) {
        interrupt(run, 1);
    } else if (run->pending >= thr || !below(40) ||
               (!run->tuner.thr && asked == CINT_ASKED_FULL)) {
        interrupt(run, run->pending);
    }
}

static void start(Run *run)
{
    static const unsigned sizes[] = { 3, 5, 16, 64, 1024 };
    static const uint64_t deltas[] = { 600, 6000, 12000 };
    static const uint64_t thrs[] = { 1, 4, 32 };
    CintConfig config;
    unsigned size = sizes[below(G_N_ELEMENTS(sizes))];

    cint_config_init(&config);
    config.policy = NVME_CINT_POLICY_ADAPTIVE;
    config.storm = CINT_STORM_RETUNE;
    config.max_irq_rate = RATE;
    config.ewma_shift = 1 + below(7);
    config.delta_ns = deltas[below(G_N_ELEMENTS(deltas))];
    config.thr = thrs[below(G_N_ELEMENTS(thrs))];
    memset(run, 0, sizeof(*run));
    model_init(&run->model, size, &config);
    cint_tuner_init(&run->tuner, GAP, config.ewma_shift);
    cint_tuner_configure(&run->tuner, config.delta_ns,
                         MIN(config.thr, size - 2), size - 2);
}

/* Few kinds of load, so that they come again. */
static void test_agrees(void)
{
    static const int64_t steps[] = { 300, 900, 2000, 2300, 8000, 10000, 30000 };
    Run *run = g_new(Run, 1);
    unsigned i, changes = 0, downs = 0;
    int64_t load[2];

    for (i = 0; i < RUNS; i++) {
        unsigned n = 0, urgent = below(3) * 50;

        start(run);
        load[0] = steps[below(G_N_ELEMENTS(steps))];
        load[1] = steps[below(G_N_ELEMENTS(steps))];
        while (run->model.nr_signs + 2 < EVENTS) {
            one(run, load[n++ / SEGMENT % 2], urgent);
        }
        changes += run->changes;
        downs += run->changes - run->ups;
    }
    g_test_message("%u changes, %u down", changes, downs);
    g_assert_cmpuint(changes, >, 2 * RUNS);
    g_assert_cmpuint(downs, >, RUNS / 2);
    g_free(run);
}

/* A CQE exactly delta after the one before: the timer came first. */
static void test_natural(void)
{
    CintTuner tuner;

    cint_tuner_init(&tuner, GAP, 1);
    cint_tuner_configure(&tuner, 6000, 32, 62);
    cint_tuner_completed(&tuner, 1000, CINT_ASKED_NOTHING);
    cint_tuner_completed(&tuner, 6999, CINT_ASKED_NOTHING);
    g_assert_cmpuint(tuner.sample.natural, ==, 0);
    cint_tuner_completed(&tuner, 12999, CINT_ASKED_NOTHING);
    g_assert_cmpuint(tuner.sample.natural, ==, 1);
    g_assert_cmpuint(tuner.natural_cqes, ==, 1);
    /* An Urgent among others interrupts, and they go on waiting. */
    cint_tuner_completed(&tuner, 13000, CINT_ASKED_URGENT);
    g_assert_cmpuint(tuner.sample.natural, ==, 2);
    g_assert_cmpuint(tuner.natural_cqes, ==, 2);
}

/* A sample of 16 interrupts, @interval apart, each of @cqes commands. */
static void sample(CintTuner *tuner, int64_t *now, int64_t interval,
                   unsigned cqes, CintAsked asked)
{
    unsigned i, n;

    for (i = 0; i < 16; i++) {
        *now += interval;
        for (n = 0; n < cqes; n++) {
            cint_tuner_completed(tuner, *now, asked);
        }
        cint_tuner_sent(tuner, interval, cqes);
    }
}

/*
 * As many commands as before, and none of them asks for an interrupt any more:
 * nothing has to be limited, also under a load that was too fast without.
 */
static void test_lets_go_under_load(void)
{
    CintTuner tuner;
    int64_t now = 0;

    cint_tuner_init(&tuner, GAP, 6);
    cint_tuner_configure(&tuner, 1000 * GAP, 1000, 1000);
    sample(&tuner, &now, GAP / 2, 1, CINT_ASKED_FULL);
    g_assert_cmpuint(tuner.thr, ==, 2);
    sample(&tuner, &now, GAP, 2, CINT_ASKED_NOTHING);
    g_assert_cmpuint(tuner.thr, ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tune/independent-tuner-agrees", test_agrees);
    g_test_add_func("/tune/natural-interrupts", test_natural);
    g_test_add_func("/tune/lets-go-under-load", test_lets_go_under_load);
    return g_test_run();
}
