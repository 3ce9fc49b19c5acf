/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: time.
 */
#ifndef CINTIO_CLOCK_H
#define CINTIO_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC, in nanoseconds. */
uint64_t cintio_now(void);

/* Between two looks at what is slow. */
void cintio_nap(void);

#endif
