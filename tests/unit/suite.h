/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A program's tests as a table.
 */
#ifndef TESTS_UNIT_SUITE_H
#define TESTS_UNIT_SUITE_H

#include <glib.h>

typedef struct SuiteTest {
    const char *path;                       /* below the suite's */
    GTestFunc func;
} SuiteTest;

/* Adds @n tests below @path, which begins with a slash and ends without. */
static inline void suite_add(const char *path, const SuiteTest *tests, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("%s/%s", path, tests[i].path);

        g_test_add_func(name, tests[i].func);
    }
}

#endif /* TESTS_UNIT_SUITE_H */
