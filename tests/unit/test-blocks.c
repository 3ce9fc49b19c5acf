/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Do the blocks of a run agree: the rule by which fio ends it
 * (images/fio-agree).
 */
#include <glib.h>
#include <math.h>

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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/blocks/known", test_known);
    g_test_add_func("/blocks/latency", test_latency);
    g_test_add_func("/blocks/step", test_step);
    g_test_add_func("/blocks/grows", test_grows);
    g_test_add_func("/blocks/uneven", test_uneven);
    g_test_add_func("/blocks/missing", test_missing);
    return g_test_run();
}
