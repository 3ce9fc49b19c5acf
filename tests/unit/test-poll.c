/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How long the guest's kernel sleeps before it polls: the kernel's own KUnit
 * tests, run as a program, and a table of what each way to choose the sleep
 * comes to on simulated media.
 *
 *   test-poll                 the tests, as TAP; --seed S, which every program
 *                             of the suite is given, changes nothing here
 *   test-poll --table         on the media and seeds of the tests, in Markdown
 *   test-poll --table chosen  on those that the numbers were chosen with
 *   test-poll --ask N         N requests, for who counts their instructions
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blk-poll-est_test.inc.h"

#define SEEDS       8
#define PERCENTILE  99

/* Media and seeds with which the numbers in blk-poll-est.h were chosen. */
static const struct sim_medium chosen_media[] = {
    { "constant, 8 us", 8000, 234 },
    { "constant, 76 us", 76000, 100 },
    { "constant, 8 us, exact", 8000, 234, .exact = true },
    { "constant, 76 us, exact", 76000, 100, .exact = true },
    { "even, +-10 %", 8000, 234, 100 },
    { "even, +-60 %", 76000, 100, 600 },
    { "exponential, 20 %", 8000, 234, .tail = 200 },
    { "exponential, 100 %", 8000, 234, .tail = 1000 },
    { "10 % x 10", 8000, 234, 20, .slow = 100, .slow_x = 100 },
    { "50 % x 2", 8000, 234, 20, .slow = 500, .slow_x = 20 },
    { "50 % x 10", 8000, 234, 20, .slow = 500, .slow_x = 100 },
    { "80 % x 10", 8000, 234, 20, .slow = 800, .slow_x = 100 },
    { "95 % x 10", 8000, 234, 20, .slow = 950, .slow_x = 100 },
    { "30 % behind 64 KiB", 8000, 234, 20, .queue = 300 },
    { "x 5 for 20 ms", 8000, 234, 20, .period = 20000, .change_x = 50 },
    { "x 10 for 5 ms", 8000, 234, 50, .period = 5000, .change_x = 100 },
    { "to x 3 in 20 ms", 8000, 234, 50, .period = 20000, .change_x = 30,
      .ramp = true },
};

static const struct {
    const char *name;
    enum blk_poll_mode mode;
    bool oracle;
} ways[] = {
    { "half-mean", BLK_POLL_HALF_MEAN },
    { "half-mean-size", BLK_POLL_HALF_MEAN_SIZE },
    { "min", BLK_POLL_MIN },
    { "ehp", BLK_POLL_EHP },
    { "pas", BLK_POLL_PAS },
    { "ours", BLK_POLL_ADAPTIVE },
    { "oracle", BLK_POLL_CLASSIC, true },
};

/* Ratios to classic polling, the worst of all seeds. */
typedef struct Worst {
    double mean, percentile, cpu;
} Worst;

static u32 latencies[SIM_READS];

static int by_size(const void *one, const void *other)
{
    u32 a = *(const u32 *)one, b = *(const u32 *)other;

    return a < b ? -1 : a > b;
}

static double percentile(void)
{
    qsort(latencies, SIM_READS, sizeof(latencies[0]), by_size);
    return latencies[SIM_READS / 100 * PERCENTILE];
}

static void run(const struct sim_medium *medium, unsigned way, u64 seed,
                Worst *worst)
{
    struct sim_result classic = sim_mode(medium, BLK_POLL_CLASSIC, false, seed);
    double late = percentile();
    struct sim_result found = sim_mode(medium, ways[way].mode,
                                       ways[way].oracle, seed);

    worst->mean = max(worst->mean, (double)found.mean / classic.mean);
    worst->percentile = max(worst->percentile, percentile() / late);
    worst->cpu = max(worst->cpu, (double)found.cpu / classic.cpu);
}

static void print_table(const struct sim_medium *media, unsigned count,
                        u64 seed)
{
    sim.latencies = latencies;
    printf("| medium |");
    for (unsigned way = 0; way < ARRAY_SIZE(ways); way++) {
        printf(" %s |", ways[way].name);
    }
    printf("\n|---|");
    for (unsigned way = 0; way < ARRAY_SIZE(ways); way++) {
        printf("---|");
    }
    printf("\n");
    for (unsigned i = 0; i < count; i++) {
        printf("| %s |", media[i].name);
        for (unsigned way = 0; way < ARRAY_SIZE(ways); way++) {
            Worst worst = { 0 };

            for (u64 s = seed; s < seed + SEEDS; s++) {
                run(&media[i], way, s, &worst);
            }
            printf(" %.2f %.2f %2.0f %% |", worst.mean, worst.percentile,
                   100 * worst.cpu);
        }
        printf("\n");
    }
}

/* What the kernel calls for a request; not inlined, so it can be counted. */
static __attribute__((noinline)) u32 count_ask(u64 now)
{
    unsigned class = blk_poll_est_begin(&est, READ_4K, now);
    u32 sleep = blk_poll_est_sleep(&est, BLK_POLL_ADAPTIVE, 0, class, false,
                                   300, now);

    return sleep + !blk_poll_est_again(&est, BLK_POLL_ADAPTIVE, class);
}

static __attribute__((noinline)) void count_done(u32 sleep, u32 done, u64 now)
{
    struct blk_poll_seen seen = {
        .asleep_at = 300, .sleep_ns = sleep, .done_at = done,
        .woke_at = 300 + sleep + 1000 + done % 500,
    };

    blk_poll_est_end(&est, READ_4K);
    blk_poll_est_done(&est, BLK_POLL_ADAPTIVE, READ_4K, &seen, now);
}

static void count_requests(int count)
{
    u64 random = 1;

    blk_poll_est_init(&est);
    for (int i = 0; i < count; i++) {
        u32 done = 9000 + sim_below(&random, 2000);

        count_done(count_ask(i * 10000ull), done, i * 10000ull);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "--tap";
    const char *more = argc > 2 ? argv[2] : "";

    if (!strcmp(what, "--tap") || !strcmp(what, "--seed")) {
        return kunit_run(kunit_the_suite);
    }
    if (!strcmp(what, "--table") && !strcmp(more, "chosen")) {
        print_table(chosen_media, ARRAY_SIZE(chosen_media), 1);
        return 0;
    }
    if (!strcmp(what, "--table") && !*more) {
        print_table(sim_media, ARRAY_SIZE(sim_media), SIM_SEED);
        return 0;
    }
    if (!strcmp(what, "--ask") && atoi(more) > 0) {
        count_requests(atoi(more));
        return 0;
    }
    fprintf(stderr, "usage: test-poll [--tap | --seed S | --table [chosen] | "
            "--ask N]\n");
    return 2;
}
