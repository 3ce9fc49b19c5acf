/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Random numbers and configurations, from the seed of the test program.
 */
#ifndef TESTS_UNIT_RANDOM_H
#define TESTS_UNIT_RANDOM_H

#include <glib.h>

#include "coalesce.h"

/* Uniform in [min, max]. */
int64_t pick(int64_t min, int64_t max);
bool one_in(int n);
int64_t pick_of(const int64_t *values, unsigned n);

#define PICK_OF(...) \
    pick_of((const int64_t[]) { __VA_ARGS__ }, \
            G_N_ELEMENTS(((const int64_t[]) { __VA_ARGS__ })))

/*
 * A valid configuration of @policy, or, if that is negative, of any that has a
 * number in cint-abi.h; the model knows these.
 */
CintConfig random_config(int policy);

/* Appends every parameter as " name=value". */
void describe_config(GString *text, CintConfig config);

#endif /* TESTS_UNIT_RANDOM_H */
