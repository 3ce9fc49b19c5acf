/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy price: against a clock that looks at each ns, and its law: on any
 * arrivals it costs at most twice what the best would have cost that knew them
 * beforehand (replay/optimal.c).
 */
#include <glib.h>
#include <inttypes.h>

#include "../../replay/optimal.h"
#include "random.h"
#include "sim.h"
#include "suite.h"

#define CQ_SIZE     64
#define MAX_CQES    10
#define LAW_TRACES  1000000
#define LAW_PRICE   1000
#define TRACES      20000

typedef struct Trace {
    unsigned n;
    int64_t t[MAX_CQES];
    bool waited[MAX_CQES];
} Trace;

typedef struct Irqs {
    unsigned n;
    int64_t t[MAX_CQES];
    unsigned until[MAX_CQES];   /* the CQEs that it tells of end before */
} Irqs;

static CintConfig of_price(uint64_t price_ns, uint64_t weight)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_PRICE);

    config.price_ns = price_ns;
    config.weight = weight;
    return config;
}

/* ---- One trace ---- */

static CintScope scope;
static CintCmd cmds[MAX_CQES];

static void note(Irqs *irqs, CintCq *cq, int64_t now, CintAction action)
{
    if (action.fire == CINT_FIRE_NONE) {
        return;
    }
    g_assert_cmpint(action.reason, ==, NVME_CINT_REASON_TIME);
    irqs->t[irqs->n] = now;
    irqs->until[irqs->n++] = cq->tail;
    cint_head(cq, now, cq->tail);
}

static void until(Irqs *irqs, CintCq *cq, int64_t t)
{
    while (cint_deadline(cq) <= t && cint_deadline(cq) != CINT_NO_DEADLINE) {
        int64_t due = cint_deadline(cq);

        note(irqs, cq, due, cint_timer(cq, due));
    }
}

static Irqs engine(const Trace *trace, const CintConfig *config)
{
    Irqs irqs = { .n = 0 };
    CintCq cq;
    CintSq sq;
    unsigned i;

    cint_cq_init(&cq, &scope, CQ_SIZE, config);
    cint_sq_init(&sq, &cq);
    for (i = 0; i < trace->n; i++) {
        cint_submit(&sq, &cmds[i], 0, trace->waited[i] ?
                    NVME_CINT_HINT_URGENT : NVME_CINT_HINT_NONE,
                    1 << NVME_CINT_SOURCE_CDW0);
    }
    for (i = 0; i < trace->n; i++) {
        until(&irqs, &cq, trace->t[i]);
        note(&irqs, &cq, trace->t[i],
             cint_complete(&sq, &cmds[i], trace->t[i], false));
    }
    until(&irqs, &cq, CINT_NO_DEADLINE);
    return irqs;
}

static Trace random_trace(int64_t most_gap)
{
    Trace trace = { .n = pick(1, MAX_CQES) };
    int64_t t = 1;
    unsigned i;

    for (i = 0; i < trace.n; i++) {
        t += one_in(3) ? pick(0, most_gap) : pick(0, most_gap / 16 + 1);
        trace.t[i] = t;
        trace.waited[i] = one_in(3);
    }
    return trace;
}

/* ---- A clock that looks at each ns ---- */

typedef struct Reading {
    const char *name;           /* NULL: what is meant */
    bool of_the_first;          /* only the oldest CQE's wait counts */
    bool all_alike;             /* nobody counts by a share */
    bool to_the_next;           /* what was waited before counts again */
} Reading;

static Irqs clock_of(const Trace *trace, const CintConfig *config,
                     const Reading *reading)
{
    Irqs irqs = { .n = 0 };
    uint64_t waited = 0, weight = 0, one;
    unsigned next = 0;
    int64_t now;

    for (now = 0; next < trace->n || weight; now++) {
        waited += weight;
        while (true) {
            if (weight && waited >= 100 * config->price_ns) {
                irqs.t[irqs.n] = now;
                irqs.until[irqs.n++] = next;
                waited = reading->to_the_next ? waited / 2 : 0;
                weight = 0;
            }
            if (next == trace->n || trace->t[next] != now) {
                break;
            }
            one = trace->waited[next] || reading->all_alike ? 100
                                                            : config->weight;
            weight += weight && reading->of_the_first ? 0 : one;
            next++;
        }
    }
    return irqs;
}

static bool same(const Irqs *a, const Irqs *b)
{
    unsigned i;

    for (i = 0; i < MIN(a->n, b->n); i++) {
        if (a->t[i] != b->t[i] || a->until[i] != b->until[i]) {
            return false;
        }
    }
    return a->n == b->n;
}

/* Other ways to read policies.md are told apart by some trace. */
static void test_clock(void)
{
    static const Reading readings[] = {
        { .name = NULL },
        { .name = "the oldest alone waits", .of_the_first = true },
        { .name = "all count in full", .all_alike = true },
        { .name = "an interrupt forgets half", .to_the_next = true },
    };
    unsigned differ[G_N_ELEMENTS(readings)] = { 0 }, i, k;

    for (i = 0; i < TRACES; i++) {
        CintConfig config = of_price(PICK_OF(0, 1, 7, 30, 100),
                                     PICK_OF(1, 10, 33, 100));
        Trace trace = random_trace(PICK_OF(0, 3, 20, 200));
        Irqs got = engine(&trace, &config);

        for (k = 0; k < G_N_ELEMENTS(readings); k++) {
            Irqs want = clock_of(&trace, &config, &readings[k]);

            differ[k] += !same(&got, &want);
        }
    }
    g_assert_cmpuint(differ[0], ==, 0);
    for (k = 1; k < G_N_ELEMENTS(readings); k++) {
        g_test_message("%s: %u traces", readings[k].name, differ[k]);
        g_assert_cmpuint(differ[k], >, TRACES / 20);
    }
}

/* ---- The law ---- */

/* In quarters of a ns; @weight is in quarters, too. */
static int64_t cost_of(const Trace *trace, const Irqs *irqs, int64_t weight)
{
    int64_t cost = irqs->n * OPTIMAL_PARTS * LAW_PRICE;
    unsigned i, irq = 0;

    for (i = 0; i < trace->n; i++) {
        while (i >= irqs->until[irq]) {
            irq++;
        }
        cost += (irqs->t[irq] - trace->t[i]) *
                (trace->waited[i] ? OPTIMAL_PARTS : weight);
    }
    return cost;
}

/*
 * The greatest ratio to the optimum of a policy that takes an interrupt for
 * worth @times what it is. A ns is the least that it can be late by.
 */
static double worst_ratio(unsigned traces, uint64_t times)
{
    double worst = 0;
    unsigned i, k;

    for (i = 0; i < traces; i++) {
        unsigned weight = pick(1, OPTIMAL_WEIGHTS - 1);
        CintConfig config = of_price(times * LAW_PRICE,
                                     weight * 100 / OPTIMAL_PARTS);
        Trace trace = random_trace(PICK_OF(10, 300, 1000, 5000, 50000));
        Irqs irqs = engine(&trace, &config);
        Optimal *optimal = optimal_new(LAW_PRICE);
        int64_t cost = cost_of(&trace, &irqs, weight) -
                       (int64_t)trace.n * OPTIMAL_PARTS;

        for (k = 0; k < trace.n; k++) {
            optimal_add(optimal, trace.t[k], trace.waited[k]);
        }
        worst = MAX(worst, cost / optimal_cost(optimal, weight));
        optimal_free(optimal);
    }
    return worst;
}

static void test_law(void)
{
    double worst = worst_ratio(LAW_TRACES, 1);

    g_test_message("at most %.3f times the optimum", worst);
    g_assert_cmpfloat(worst, <=, 2);
    /* Traces that come near it, and a wrong price is found out. */
    g_assert_cmpfloat(worst, >, 1.9);
    g_assert_cmpfloat(worst_ratio(LAW_TRACES / 10, 3), >, 2);
}

/* ---- What the device knows besides ---- */

/* Who waits for a batch has marked its last command. */
static void test_barrier(void)
{
    Sim *sim = sim_new(CQ_SIZE, of_price(2000, 10));

    sim_batch(sim, 0, 0, "2B2");
    sim_post(sim, 0, 1000, 1);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 21000);
    sim_post(sim, 0, 2000, 2);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 3728);
    g_free(sim);
}

/* For nothing an interrupt is sent for each, also in one pass. */
static void test_free(void)
{
    Sim *sim = sim_new(CQ_SIZE, of_price(0, 10));

    sim_batch(sim, 0, 0, "222");
    sim_pass(sim, 0, 1000, 2);
    sim_expect(sim, "1000:time(1) 1000:time(1)");
    g_free(sim);
}

static void test_drain(void)
{
    CintConfig config = of_price(2000, 10);
    Sim *sim;

    config.drain = CINT_AUTO;
    sim = sim_new(CQ_SIZE, config);
    sim_batch(sim, 0, 0, "22");
    sim_post(sim, 0, 1000, 1);
    sim_expect(sim, "");
    sim_post(sim, 0, 3000, 2);
    sim_expect(sim, "3000:drain(2)");
    g_free(sim);
}

/* Whoever waits for any command does not wait for this one. */
static void test_any(void)
{
    CintConfig config = of_price(2000, 10);
    Sim *sim;

    config.drain = CINT_ON;
    sim = sim_new_lazy(CQ_SIZE, config);
    sim_batch(sim, 0, 0, "B");
    sim_batch(sim, 0, 0, "B");
    sim_batch(sim, 0, 0, "B");
    sim_post(sim, 0, 1000, 1);
    sim_expect(sim, "1000:drain(1)");
    sim_reap(sim, 1500, 1);
    sim_post(sim, 0, 2000, 2);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 22000);
    g_free(sim);
}

/* What is learned is a weight. */
static void test_learned(void)
{
    CintConfig config = of_price(2000, 10);
    Sim *sim;

    config.infer = CINT_INFER_LEARN;
    sim = sim_new(CQ_SIZE, config);
    sim->page = 1;
    sim_batch(sim, 0, 0, ".");
    sim_batch(sim, 0, 0, "2");
    sim_post(sim, 0, 1000, 1);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 3000);
    sim_post(sim, 0, 2000, 2);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 2910);
    g_free(sim);
}

int main(int argc, char **argv)
{
    static const SuiteTest tests[] = {
        { "clock", test_clock },
        { "law", test_law },
        { "barrier", test_barrier },
        { "free", test_free },
        { "drain", test_drain },
        { "any", test_any },
        { "learned", test_learned },
    };

    g_test_init(&argc, &argv, NULL);
    cint_scope_init(&scope);
    suite_add("/price", tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
