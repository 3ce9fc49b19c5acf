/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: time.
 */
#include <time.h>

#include "clock.h"

#define SECOND      UINT64_C(1000000000)
#define POLL_NS     20000   /* between two looks for an answer */

uint64_t cintio_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * SECOND + ts.tv_nsec;
}

void cintio_nap(void)
{
    struct timespec ts = { 0, POLL_NS };

    nanosleep(&ts, NULL);
}
