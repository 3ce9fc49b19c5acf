/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Do the blocks of a run agree: the rule by which fio ends it
 * (images/fio-agree).
 */
#include <glib.h>
#include <math.h>
#include <stdbool.h>

#include "blocks.h"

#define MS 1000000ull
#define TINY 0.000000001

/* Looks of a run with these I/Os in each ms, which all take @latency ns. */
static void fill(struct look *looks, const unsigned *ios, size_t n,
                 const double *latency)
{
    looks[0] = (struct look) { .ns = 5 * MS, .ios = 7, .latency_ns = 1,
                               .timed = 1 };
    for (size_t i = 0; i < n; i++) {
        looks[i + 1] = looks[i];
        looks[i + 1].ns += MS;
        looks[i + 1].ios += ios[i];
        looks[i + 1].latency_ns += latency[i] * ios[i];
        looks[i + 1].timed += latency[i] ? ios[i] : 0;
    }
}

/*
 * Ten values whose mean is 10.3 and whose deviation is 1.4944: Student's t of
 * 2.2622 makes that 1.0691 either way. The halves have 52 and 51.
 */
static const unsigned known[BLOCKS] = { 10, 12, 9, 11, 10, 13, 8, 10, 11, 9 };
static const double same[BLOCKS] = { 5, 5, 5, 5, 5, 5, 5, 5, 5, 5 };

static void test_known(void)
{
    struct look looks[BLOCKS + 1];
    struct agreements found;

    fill(looks, known, BLOCKS, same);
    found = blocks_agree(looks, BLOCKS);
    g_assert_cmpfloat_with_epsilon(found.rate.error, 0.10379, 0.00001);
    g_assert_cmpfloat_with_epsilon(found.rate.drift, 0.2 / 10.3, TINY);
    g_assert_cmpfloat_with_epsilon(found.latency.error, 0, TINY);
    g_assert_cmpfloat_with_epsilon(found.latency.drift, 0, TINY);
    g_assert_cmpfloat(blocks_worst(&found), ==, found.rate.error);
}

/* Of a latency, too, by block and not by I/O. */
static void test_latency(void)
{
    static const unsigned even[BLOCKS] = {
        100, 100, 100, 100, 100, 100, 100, 100, 100, 100
    };
    double latency[BLOCKS];
    struct look looks[BLOCKS + 1];
    struct agreements found;

    for (int i = 0; i < BLOCKS; i++) {
        latency[i] = 1000 * known[i];
    }
    fill(looks, even, BLOCKS, latency);
    found = blocks_agree(looks, BLOCKS);
    g_assert_cmpfloat_with_epsilon(found.rate.error, 0, TINY);
    g_assert_cmpfloat_with_epsilon(found.latency.error, 0.10379, 0.00001);
    g_assert_cmpfloat_with_epsilon(found.latency.drift, 0.2 / 10.3, TINY);
}

/*
 * What changes once in the middle, and is steady otherwise: the halves say by
 * how much, and no run is long enough for it.
 */
static void test_step(void)
{
    enum { LONG = 100 };
    struct look looks[LONG + 1];
    double latency[LONG];
    unsigned ios[LONG];

    for (int i = 0; i < LONG; i++) {
        ios[i] = i < LONG / 2 ? 100 : 110;
        latency[i] = 5;
    }
    fill(looks, ios, LONG, latency);
    for (size_t last = LONG / 2 + BLOCKS; last <= LONG; last++) {
        struct agreements found = blocks_agree(looks, last);

        g_assert_cmpfloat(blocks_worst(&found), >, 0.01);
    }
    g_assert_cmpfloat_with_epsilon(blocks_agree(looks, LONG).rate.drift,
                                   10 / 105.0, TINY);
}

/* What alternates from look to look is gone once a block has several. */
static void test_grows(void)
{
    enum { LONG = 40 };
    struct look looks[LONG + 1];
    double latency[LONG];
    unsigned ios[LONG];

    for (int i = 0; i < LONG; i++) {
        ios[i] = i % 2 ? 90 : 110;
        latency[i] = i % 2 ? 11 : 9;
    }
    fill(looks, ios, LONG, latency);
    g_assert_cmpfloat(blocks_agree(looks, BLOCKS).rate.error, >, 0.05);
    g_assert_cmpfloat_with_epsilon(blocks_agree(looks, LONG).rate.error, 0,
                                   TINY);
    g_assert_cmpfloat_with_epsilon(blocks_agree(looks, LONG).latency.error, 0,
                                   TINY);
}

/* Blocks of different numbers of looks count by their time. */
static void test_uneven(void)
{
    enum { LONG = 13 };
    struct look looks[LONG + 1];
    double latency[LONG];
    unsigned ios[LONG];

    for (int i = 0; i < LONG; i++) {
        ios[i] = 100;
        latency[i] = 5;
    }
    fill(looks, ios, LONG, latency);
    for (size_t last = BLOCKS; last <= LONG; last++) {
        struct agreements found = blocks_agree(looks, last);

        g_assert_cmpfloat_with_epsilon(blocks_worst(&found), 0, TINY);
    }
}

/* A block without I/O: nothing can be said. Without latencies: rates alone. */
static void test_missing(void)
{
    static const double none[BLOCKS] = { 0 };
    unsigned ios[BLOCKS] = { 1, 1, 1, 1, 0, 1, 1, 1, 1, 1 };
    struct look looks[BLOCKS + 1];
    struct agreements found;

    fill(looks, ios, BLOCKS, same);
    found = blocks_agree(looks, BLOCKS);
    g_assert_cmpint(isinf(blocks_worst(&found)), ==, 1);

    fill(looks, known, BLOCKS, none);
    found = blocks_agree(looks, BLOCKS);
    g_assert_cmpfloat_with_epsilon(found.rate.error, 0.10379, 0.00001);
    g_assert_cmpfloat(found.latency.error, ==, 0);
    g_assert_cmpfloat(found.latency.drift, ==, 0);
}

/* Whichever of the four is the largest is the worst. */
static void test_worst(void)
{
    const struct agreements each[] = {
        { .rate = { 0.4, 0.1 }, .latency = { 0.2, 0.3 } },
        { .rate = { 0.1, 0.4 }, .latency = { 0.2, 0.3 } },
        { .rate = { 0.2, 0.3 }, .latency = { 0.4, 0.1 } },
        { .rate = { 0.2, 0.3 }, .latency = { 0.1, 0.4 } },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(each); i++) {
        g_assert_cmpfloat(blocks_worst(&each[i]), ==, 0.4);
    }
}

/* Of I/Os some of which have no latency, and of two looks at one moment. */
static void test_partly(void)
{
    struct look looks[BLOCKS + 1];
    struct agreements found;

    fill(looks, known, BLOCKS, same);
    for (int i = 1; i <= BLOCKS; i++) {
        looks[i].ios += i % 2 ? 100 : 200;
    }
    found = blocks_agree(looks, BLOCKS);
    g_assert_cmpfloat_with_epsilon(found.latency.error, 0, TINY);
    g_assert_cmpfloat_with_epsilon(found.latency.drift, 0, TINY);

    fill(looks, known, BLOCKS, same);
    looks[4].ns = looks[3].ns;
    found = blocks_agree(looks, BLOCKS);
    g_assert_cmpint(isinf(blocks_worst(&found)), ==, 1);
}

/* --- how often the interval has the mean ---------------------------------- */

enum { MOST = 49, TRIALS = 4000 };
#define MEAN 1000000

typedef struct Shares {
    double fixed;           /* of runs of ten looks whose interval has it */
    double ended;           /* that end by the rule of 1 % */
    double where;           /* of these whose interval has it at their end */
    double bias;            /* of these, in shares of the mean */
} Shares;

/* A normal one, as a sum of twelve is. */
static double draw(GRand *rand)
{
    double sum = -6;

    for (int i = 0; i < 12; i++) {
        sum += g_rand_double(rand);
    }
    return sum;
}

/*
 * Runs whose I/Os from look to look deviate by @deviation of their mean, and
 * depend on those before by @lag1.
 */
static Shares shares_of(double deviation, double lag1)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    Shares found = { 0, 0, 0, 0 };

    for (int run = 0; run < TRIALS; run++) {
        struct look looks[MOST + 1] = { { .ns = MS } };
        double state = draw(rand);
        bool over = false;

        for (size_t last = 1; last <= MOST && !over; last++) {
            struct agreements is;
            double off;

            looks[last].ns = looks[last - 1].ns + MS;
            looks[last].ios = looks[last - 1].ios +
                              MEAN * (1 + deviation * state);
            state = lag1 * state + sqrt(1 - lag1 * lag1) * draw(rand);
            if (last < BLOCKS) {
                continue;
            }
            is = blocks_agree(looks, last);
            off = looks[last].ios / (double)last / MEAN - 1;
            found.fixed += last == BLOCKS && fabs(off) <= is.rate.error;
            over = blocks_worst(&is) <= 0.01;
            found.ended += over;
            found.where += over && fabs(off) <= is.rate.error;
            found.bias += over ? off : 0;
        }
    }
    found.where /= found.ended;
    found.bias /= found.ended;
    found.ended /= TRIALS;
    found.fixed /= TRIALS;
    return found;
}

/*
 * Of blocks that do not depend on each other it has the mean as often as it
 * says. Whoever looks again and again and ends where it is narrow ends rather
 * where it is too narrow, and the more so the later. The mean is biased by
 * less than a tenth of what is asked for.
 */
static void test_coverage(void)
{
    Shares calm = shares_of(0.01, 0), noisy = shares_of(0.03, 0);

    g_assert_cmpfloat_with_epsilon(calm.fixed, 0.95, 0.012);
    g_assert_cmpfloat_with_epsilon(noisy.fixed, 0.95, 0.012);
    g_assert_cmpfloat(calm.ended, >, 0.99);
    g_assert_cmpfloat(calm.where, >, 0.93);
    g_assert_cmpfloat(noisy.ended, >, 0.7);
    g_assert_cmpfloat_with_epsilon(noisy.where, 0.87, 0.03);
    g_assert_cmpfloat(fabs(calm.bias), <, 0.001);
    g_assert_cmpfloat(fabs(noisy.bias), <, 0.001);
}

/*
 * A limit of the method, which docs/compare.md names: where looks depend on
 * each other it is narrower than it says.
 */
static void test_correlated(void)
{
    Shares some = shares_of(0.01, 0.3), half = shares_of(0.01, 0.5);

    g_assert_cmpfloat_with_epsilon(some.where, 0.87, 0.03);
    g_assert_cmpfloat_with_epsilon(half.fixed, 0.76, 0.03);
    g_assert_cmpfloat_with_epsilon(half.where, 0.76, 0.03);
    g_assert_cmpfloat(fabs(half.bias), <, 0.001);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/blocks/known", test_known);
    g_test_add_func("/blocks/latency", test_latency);
    g_test_add_func("/blocks/step", test_step);
    g_test_add_func("/blocks/grows", test_grows);
    g_test_add_func("/blocks/uneven", test_uneven);
    g_test_add_func("/blocks/missing", test_missing);
    g_test_add_func("/blocks/worst", test_worst);
    g_test_add_func("/blocks/partly", test_partly);
    g_test_add_func("/blocks/coverage", test_coverage);
    g_test_add_func("/blocks/correlated", test_correlated);
    return g_test_run();
}
