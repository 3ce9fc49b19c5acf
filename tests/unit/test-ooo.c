/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the guest's driver takes completions out of order: the kernel's own KUnit
 * tests, run as a program. Random schedules are other ones here than in a
 * guest.
 *
 *   test-ooo                  the tests, as TAP; --seed S, which every program
 *                             of the suite is given, changes nothing here
 *   test-ooo --more N         N times, with other schedules each time
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ooo_test.inc.h"

/*
 * Each urgent entry that was taken before its message explains one message,
 * and no more: two of them, and three messages that nothing else explains.
 */
static void ooo_early_explains_once(struct kunit *test)
{
    struct nvme_ooo ooo = { .depth = 8, .held = 1 };
    struct nvme_ooo_pass early = { .urgent = 2 }, nothing = { .urgent = 0 };
    struct nvme_ooo_record record = { .full_tail = 1, .seq = 1 };

    KUNIT_EXPECT_TRUE(test, nvme_ooo_explained(&ooo, &early, &record));
    record.seq++;
    KUNIT_EXPECT_TRUE(test, nvme_ooo_explained(&ooo, &nothing, &record));
    record.seq++;
    KUNIT_EXPECT_TRUE(test, nvme_ooo_explained(&ooo, &nothing, &record));
    record.seq++;
    KUNIT_EXPECT_EQ(test, nvme_ooo_explained(&ooo, &nothing, &record), false);
}

/* How much is borne: seven interrupts in doubt, and two lies. */
static void ooo_limits(struct kunit *test)
{
    struct nvme_ooo ooo = { .doubts = 7, .lies = 2 };

    KUNIT_EXPECT_EQ(test, nvme_ooo_misled(&ooo), false);
    ooo.doubts = 8;
    KUNIT_EXPECT_TRUE(test, nvme_ooo_misled(&ooo));
    ooo.doubts = 7;
    ooo.lies = 3;
    KUNIT_EXPECT_TRUE(test, nvme_ooo_misled(&ooo));
}

/* The kernel's tests, and what is tested here only. */
static const struct kunit_suite *all_tests(void)
{
    static struct kunit_case cases[64] = {
        KUNIT_CASE(ooo_early_explains_once),
        KUNIT_CASE(ooo_limits),
    };
    static struct kunit_suite suite = { .name = "nvme_ooo",
                                        .test_cases = cases };
    const struct kunit_case *theirs = kunit_the_suite->test_cases;

    for (int i = 2; theirs->run; i++) {
        cases[i] = *theirs++;
    }
    return &suite;
}

/* Far enough apart that no two tests have a seed in common. */
#define NEXT_SEEDS  1000000

static int run_more(int times)
{
    for (int i = 0; i < times; i++) {
        prandom_more = (u64)i * NEXT_SEEDS;
        if (kunit_run(all_tests())) {
            fprintf(stderr, "test-ooo: failed with schedules %d of %d\n", i + 1,
                    times);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "--tap";
    const char *more = argc > 2 ? argv[2] : "";

    if (!strcmp(what, "--tap") || !strcmp(what, "--seed")) {
        return kunit_run(all_tests());
    }
    if (!strcmp(what, "--more") && atoi(more) > 0) {
        return run_more(atoi(more));
    }
    fprintf(stderr, "usage: test-ooo [--tap | --seed S | --more N]\n");
    return 2;
}
