/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the examples of the user-space driver open and close in tests.
 */
#ifndef TESTS_UNIT_EXAMPLE_DEVICE_H
#define TESTS_UNIT_EXAMPLE_DEVICE_H

#include "cintio.h"

int example_open(const char *address, const struct cintio_options *options,
                 struct cintio **dev, struct cintio_error *err);
void example_close(struct cintio *dev);

#undef cintio_open
#undef cintio_close
#define cintio_open example_open
#define cintio_close example_close

#endif /* TESTS_UNIT_EXAMPLE_DEVICE_H */
