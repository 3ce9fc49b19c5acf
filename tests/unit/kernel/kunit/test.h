/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Enough of KUnit to run a suite of the kernel's as a program that speaks TAP.
 * A file of tests is included, and kunit_run() called with its suite.
 */
#ifndef SHIM_KUNIT_TEST_H
#define SHIM_KUNIT_TEST_H

#include <stdio.h>
#include <linux/types.h>

struct kunit {
    bool failed;
};

struct kunit_case {
    void (*run)(struct kunit *test);
    const char *name;
};

struct kunit_suite {
    const char name[64];
    struct kunit_case *test_cases;
};

#define KUNIT_CASE(function) { function, #function }
#define kunit_test_suite(suite) \
    static struct kunit_suite *kunit_the_suite = &(suite)
#define MODULE_DESCRIPTION(text) struct kunit
#define MODULE_LICENSE(text) struct kunit

#define KUNIT_SAY(test, a, op, b, ...) do { \
    long long left_ = (a), right_ = (b); \
    if (!(left_ op right_)) { \
        (test)->failed = true; \
        printf("# %s:%d: %s is %lld, expected " #op " %lld ", __FILE__, \
               __LINE__, #a, left_, right_); \
        printf(__VA_ARGS__); \
        printf("\n"); \
    } \
} while (0)

#define KUNIT_EXPECT_EQ(test, a, b) KUNIT_SAY(test, a, ==, b, " ")
#define KUNIT_EXPECT_GE(test, a, b) KUNIT_SAY(test, a, >=, b, " ")
#define KUNIT_EXPECT_GT(test, a, b) KUNIT_SAY(test, a, >, b, " ")
#define KUNIT_EXPECT_LE(test, a, b) KUNIT_SAY(test, a, <=, b, " ")
#define KUNIT_EXPECT_LE_MSG(test, a, b, ...) \
    KUNIT_SAY(test, a, <=, b, __VA_ARGS__)
#define KUNIT_EXPECT_TRUE(test, a) KUNIT_SAY(test, !!(a), ==, 1, " ")
#define KUNIT_EXPECT_FALSE(test, a) KUNIT_SAY(test, !!(a), ==, 0, " ")

/* Runs them all; the exit status of the program. */
static inline int kunit_run(const struct kunit_suite *suite)
{
    const struct kunit_case *one;
    int count = 0, failed = 0;

    for (one = suite->test_cases; one->run; one++) {
        struct kunit test = { false };

        one->run(&test);
        failed += test.failed;
        printf("%sok %d /%s/%s\n", test.failed ? "not " : "", ++count,
               suite->name, one->name);
    }
    printf("1..%d\n", count);
    return failed ? 1 : 0;
}

#endif
