/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Enough of KUnit to run a suite of the kernel's as a program that speaks TAP.
 * A file of tests is included, and kunit_run() called with its suite.
 */
#ifndef SHIM_KUNIT_TEST_H
#define SHIM_KUNIT_TEST_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/types.h>

/* What a test allocates, freed at its end. */
struct kunit_memory {
    struct kunit_memory *next;
    max_align_t data[];
};

struct kunit {
    bool failed;
    jmp_buf end;
    struct kunit_memory *memory;
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
#define GFP_KERNEL 0
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
#define KUNIT_EXPECT_PTR_EQ(test, a, b) KUNIT_SAY(test, (a) == (b), ==, 1, " ")

/* The same, and the test ends there. */
#define KUNIT_STOP(test, a, op, b, ...) do { \
    KUNIT_SAY(test, a, op, b, __VA_ARGS__); \
    if ((test)->failed) { \
        longjmp((test)->end, 1); \
    } \
} while (0)

#define KUNIT_ASSERT_EQ(test, a, b) KUNIT_STOP(test, a, ==, b, " ")
#define KUNIT_ASSERT_GE(test, a, b) KUNIT_STOP(test, a, >=, b, " ")
#define KUNIT_ASSERT_LT(test, a, b) KUNIT_STOP(test, a, <, b, " ")
#define KUNIT_ASSERT_TRUE(test, a) KUNIT_STOP(test, !!(a), ==, 1, " ")
#define KUNIT_ASSERT_FALSE(test, a) KUNIT_STOP(test, !!(a), ==, 0, " ")
#define KUNIT_ASSERT_NOT_NULL(test, a) KUNIT_STOP(test, !!(a), ==, 1, " ")
#define KUNIT_ASSERT_GT_MSG(test, a, b, ...) \
    KUNIT_STOP(test, a, >, b, __VA_ARGS__)
#define KUNIT_ASSERT_LT_MSG(test, a, b, ...) \
    KUNIT_STOP(test, a, <, b, __VA_ARGS__)
#define KUNIT_ASSERT_TRUE_MSG(test, a, ...) \
    KUNIT_STOP(test, !!(a), ==, 1, __VA_ARGS__)
#define KUNIT_ASSERT_FALSE_MSG(test, a, ...) \
    KUNIT_STOP(test, !!(a), ==, 0, __VA_ARGS__)

static inline void *kunit_kzalloc(struct kunit *test, size_t size, int gfp)
{
    struct kunit_memory *memory = calloc(1, sizeof(*memory) + size);

    if (!memory) {
        abort();
    }
    memory->next = test->memory;
    test->memory = memory;
    return memory->data;
}

/* Runs one; returns whether it failed. */
static inline bool kunit_run_case(const struct kunit_case *one)
{
    struct kunit test = { false };

    if (!setjmp(test.end)) {
        one->run(&test);
    }
    while (test.memory) {
        struct kunit_memory *next = test.memory->next;

        free(test.memory);
        test.memory = next;
    }
    return test.failed;
}

/* Runs them all; the exit status of the program. */
static inline int kunit_run(const struct kunit_suite *suite)
{
    const struct kunit_case *one;
    int count = 0, failed = 0;

    for (one = suite->test_cases; one->run; one++) {
        bool bad = kunit_run_case(one);

        failed += bad;
        printf("%sok %d /%s/%s\n", bad ? "not " : "", ++count, suite->name,
               one->name);
    }
    printf("1..%d\n", count);
    return failed ? 1 : 0;
}

#endif
