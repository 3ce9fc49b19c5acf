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

/* Far enough apart that no two tests have a seed in common. */
#define NEXT_SEEDS  1000000

static int run_more(int times)
{
    for (int i = 0; i < times; i++) {
        prandom_more = (u64)i * NEXT_SEEDS;
        if (kunit_run(kunit_the_suite)) {
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
        return kunit_run(kunit_the_suite);
    }
    if (!strcmp(what, "--more") && atoi(more) > 0) {
        return run_more(atoi(more));
    }
    fprintf(stderr, "usage: test-ooo [--tap | --seed S | --more N]\n");
    return 2;
}
