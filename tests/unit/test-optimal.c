/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The offline optimum of cint-replay, against two that take no short cut: all
 * sets of instants at which there may be interrupts, for a few CQEs, and for
 * many a dynamic programme that looks at every pair.
 */
#include <glib.h>

#include "../../replay/optimal.h"
#include "random.h"

#define ROUNDS      300
#define INSTANTS    11
#define FEW         8
#define MANY        9000    /* more than are thrown away at once */

typedef struct Cqe {
    int64_t t;
    bool waited;
} Cqe;

static int64_t weight_of(const Cqe *cqe, unsigned weight)
{
    return cqe->waited ? OPTIMAL_PARTS : weight;
}

/*
 * With an interrupt at each instant whose bit is set; -1 if one of the CQEs is
 * told by none.
 */
static int64_t cost_of(const Cqe *cqe, unsigned n, unsigned instants,
                       int64_t price, unsigned weight)
{
    int64_t cost = price * __builtin_popcount(instants);
    unsigned i, after;

    for (i = 0; i < n; i++) {
        after = instants >> cqe[i].t;
        if (!after) {
            return -1;
        }
        cost += weight_of(&cqe[i], weight) * __builtin_ctz(after);
    }
    return cost;
}

/* @counts: a bit for each number of interrupts that it can have. */
static int64_t least(const Cqe *cqe, unsigned n, int64_t price,
                     unsigned weight, unsigned *counts)
{
    int64_t best = INT64_MAX, cost;
    unsigned instants;

    *counts = 0;
    for (instants = 0; instants < 1u << INSTANTS; instants++) {
        cost = cost_of(cqe, n, instants, price, weight);
        if (cost < 0 || cost > best) {
            continue;
        }
        if (cost < best) {
            *counts = 0;
        }
        best = cost;
        *counts |= 1u << __builtin_popcount(instants);
    }
    return best;
}

static void test_brute_force(void)
{
    Cqe cqe[FEW];
    unsigned round, i, n, weight, counts;

    for (round = 0; round < ROUNDS; round++) {
        int64_t price = pick(1, 12), start = pick(0, 1) * 1000000007ll, t = 0;
        Optimal *optimal = optimal_new(price);

        n = pick(1, FEW);
        for (i = 0; i < n; i++) {
            t += pick(0, 3);
            t = MIN(t, INSTANTS - 1);
            cqe[i] = (Cqe) { .t = t, .waited = one_in(3) };
            optimal_add(optimal, start + t, cqe[i].waited);
        }
        for (weight = 0; weight < OPTIMAL_WEIGHTS; weight++) {
            int64_t want = least(cqe, n, OPTIMAL_PARTS * price, weight,
                                 &counts);

            g_assert_cmpint(optimal_cost(optimal, weight), ==, want);
            g_assert_true(counts >> optimal_irqs(optimal, weight) & 1);
        }
        optimal_free(optimal);
    }
}

/* CQEs @from to @to - 1 are told of together. */
static int64_t least_of_many(const Cqe *cqe, unsigned n, int64_t price,
                             unsigned weight)
{
    g_autofree int64_t *cost = g_new(int64_t, n + 1);
    unsigned from, to;

    cost[0] = 0;
    for (to = 1; to <= n; to++) {
        int64_t wait = 0, best = INT64_MAX;

        for (from = to; from-- > 0 && wait < best; ) {
            wait += weight_of(&cqe[from], weight) *
                    (cqe[to - 1].t - cqe[from].t);
            best = MIN(best, cost[from] + wait);
        }
        cost[to] = best + price;
    }
    return cost[n];
}

/* Bursts and pauses, of which some are longer than the price. */
static void test_many(void)
{
    g_autofree Cqe *cqe = g_new(Cqe, MANY);
    Optimal *optimal = optimal_new(2000);
    int64_t t = 1ll << 60;
    unsigned i, weight;

    for (i = 0; i < MANY; i++) {
        t += one_in(8) ? pick(0, 30000) : pick(0, 600);
        cqe[i] = (Cqe) { .t = t, .waited = one_in(5) };
        optimal_add(optimal, t, cqe[i].waited);
    }
    for (weight = 1; weight < OPTIMAL_WEIGHTS; weight++) {
        g_assert_cmpint(optimal_cost(optimal, weight), ==,
                        least_of_many(cqe, MANY, OPTIMAL_PARTS * 2000, weight));
    }
    optimal_free(optimal);
}

static void test_nothing(void)
{
    Optimal *optimal = optimal_new(2000);
    unsigned weight;

    for (weight = 0; weight < OPTIMAL_WEIGHTS; weight++) {
        g_assert_cmpint(optimal_cost(optimal, weight), ==, 0);
        g_assert_cmpuint(optimal_irqs(optimal, weight), ==, 0);
    }
    optimal_free(optimal);
}

/* One that nobody waits for costs an interrupt, however late it is. */
static void test_weightless(void)
{
    Optimal *optimal = optimal_new(2000);
    unsigned i;

    for (i = 0; i < 3 * MANY; i++) {
        optimal_add(optimal, i * 1000ll, false);
    }
    g_assert_cmpint(optimal_cost(optimal, 0), ==, OPTIMAL_PARTS * 2000);
    g_assert_cmpuint(optimal_irqs(optimal, 0), ==, 1);
    optimal_free(optimal);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/optimal/brute-force", test_brute_force);
    g_test_add_func("/optimal/many", test_many);
    g_test_add_func("/optimal/nothing", test_nothing);
    g_test_add_func("/optimal/weightless", test_weightless);
    return g_test_run();
}
