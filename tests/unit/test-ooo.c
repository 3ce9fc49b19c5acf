/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the guest's driver takes completions out of order: the kernel's own KUnit
 * tests, run as a program, and more with the same model of a controller. Random
 * schedules are other ones here than in a guest.
 *
 *   test-ooo                  the tests, as TAP; --seed S, which every program
 *                             of the suite is given, changes nothing here
 *   test-ooo --more N         N times, with other schedules each time
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ooo_test.inc.h"

/* An interrupt for which the record has nothing new. */
static void interrupt_again(struct model *m)
{
    m->message = true;
    model_interrupt(m);
}

/* The record counts a message of some class, and nothing else is stored. */
static void count_message(struct model *m, bool full)
{
    m->record.seq++;
    m->record.full = full;
    interrupt_again(m);
}

static void new_queue_forgets(struct kunit *test)
{
    struct nvme_ooo ooo, fresh = { .depth = 8, .phase = 1 };

    memset(&ooo, 0xff, sizeof(ooo));
    ooo.handled = NULL;
    nvme_ooo_init(&ooo, 8);
    KUNIT_EXPECT_EQ(test, ooo.count, fresh.count);
    KUNIT_EXPECT_EQ(test, ooo.head + ooo.scan + ooo.ahead + ooo.held, 0);
    KUNIT_EXPECT_EQ(test, ooo.phase, fresh.phase);
    KUNIT_EXPECT_EQ(test, ooo.doubts, 0);
    KUNIT_EXPECT_EQ(test, ooo.lies, 0);
    KUNIT_EXPECT_EQ(test, ooo.untold, 0);
    KUNIT_EXPECT_EQ(test, ooo.seq, 0);
    KUNIT_EXPECT_EQ(test, ooo.full_tail, 0);
}

/* Urgent entries that a full message covers need no message of their own. */
static void covered_explains_nothing(struct kunit *test)
{
    struct model *m = model_new(test, 8, 0);

    post(m, "uu-u");
    KUNIT_EXPECT_EQ(test, model_pass(m, false, 3).urgent, 1);
    model_finish(m);

    tell(m, "uu", true);
    model_interrupt(m);
    post(m, "-");
    count_message(m, false);
    expect_state(m, 7, 7, 0);
}

static void doubt_leaves_new_entries(struct kunit *test)
{
    struct model *m = model_new(test, 8, 0);

    tell(m, "-u", false);
    model_interrupt(m);
    post(m, "u-");
    model_release(m);
    expect_state(m, 2, 2, 0);
    model_finish(m);
}

/* One interrupt in doubt, with something held as it must be. */
static void doubt(struct model *m)
{
    tell(m, "-u", false);
    model_interrupt(m);
    interrupt_again(m);
    KUNIT_EXPECT_EQ(m->test, m->ooo.doubts, 1);
}

static void full_message_ends_doubts(struct kunit *test)
{
    struct model *m = model_new(test, 8, 0);

    doubt(m);
    tell(m, "-", true);
    model_interrupt(m);
    KUNIT_EXPECT_EQ(test, m->ooo.doubts, 0);
}

static void counted_message_ends_doubts(struct kunit *test)
{
    struct model *m = model_new(test, 8, 0);

    doubt(m);
    post(m, "-");
    count_message(m, false);
    KUNIT_EXPECT_EQ(test, m->ooo.doubts, 0);
    expect_state(m, 3, 3, 0);
}

/*
 * A class is stored before its full_tail, and may be read in between: twice in
 * a row are borne, whatever the limit is called.
 */
static void full_message_ends_lies(struct kunit *test)
{
    struct model *m = model_new(test, 8, 0);

    for (int lies = 1; lies <= 2; lies++) {
        post(m, "-");
        count_message(m, true);
        KUNIT_EXPECT_EQ(test, m->ooo.lies, lies);
        KUNIT_EXPECT_FALSE(test, m->in_order);
    }
    m->record.full_tail = m->posted;
    interrupt_again(m);
    KUNIT_EXPECT_EQ(test, m->ooo.lies, 0);
    model_finish(m);
}

static void no_message_is_no_lie(struct kunit *test)
{
    struct model *m = model_new(test, 8, 0);

    tell(m, "-", true);
    model_interrupt(m);
    for (int i = 0; i < 2 * NVME_OOO_MAX_LIES; i++) {
        interrupt_again(m);
    }
    KUNIT_EXPECT_EQ(test, m->ooo.lies, 0);
    KUNIT_EXPECT_FALSE(test, m->in_order);
}

static void poll_ends_both(struct kunit *test)
{
    struct model *m = model_new(test, 8, 0);

    doubt(m);
    m->ooo.lies = 1;
    model_pass(m, true, 0);
    nvme_ooo_polled(&m->ooo);
    KUNIT_EXPECT_EQ(test, m->ooo.doubts, 0);
    KUNIT_EXPECT_EQ(test, m->ooo.lies, 0);
}

static struct kunit_case more_cases[] = {
    KUNIT_CASE(new_queue_forgets),
    KUNIT_CASE(covered_explains_nothing),
    KUNIT_CASE(doubt_leaves_new_entries),
    KUNIT_CASE(full_message_ends_doubts),
    KUNIT_CASE(counted_message_ends_doubts),
    KUNIT_CASE(full_message_ends_lies),
    KUNIT_CASE(no_message_is_no_lie),
    KUNIT_CASE(poll_ends_both),
    {}
};

/* The kernel's own, then ours. */
static int run_all(void)
{
    enum { OWN = ARRAY_SIZE(ooo_test_cases) - 1 };
    struct kunit_case cases[OWN + ARRAY_SIZE(more_cases)];
    struct kunit_suite all = { .name = "nvme_ooo", .test_cases = cases };

    memcpy(cases, kunit_the_suite->test_cases, OWN * sizeof(cases[0]));
    memcpy(cases + OWN, more_cases, sizeof(more_cases));
    return kunit_run(&all);
}

/* Far enough apart that no two tests have a seed in common. */
#define NEXT_SEEDS  1000000

static int run_more(int times)
{
    for (int i = 0; i < times; i++) {
        prandom_more = (u64)i * NEXT_SEEDS;
        if (run_all()) {
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
        return run_all();
    }
    if (!strcmp(what, "--more") && atoi(more) > 0) {
        return run_more(atoi(more));
    }
    fprintf(stderr, "usage: test-ooo [--tap | --seed S | --more N]\n");
    return 2;
}
