/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Storm protection as somebody else might have read it, with the mean in
 * floating point (see also rival.h).
 */
#ifndef TESTS_UNIT_RIVAL_STORM_H
#define TESTS_UNIT_RIVAL_STORM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct StormReading {
    bool no_limit;
    bool from_arrival;      /* held for 1/limit from its own arrival on */
    bool to_adaptive;       /* falls back to delta, as in the artefact */
    bool each;              /* one for each held, not one for all */
} StormReading;

/* All arrivals are Urgent, and the mean rate is above the limit throughout. */
typedef struct StormLoad {
    int64_t gap_ns;         /* 1/limit */
    int64_t delta_ns;       /* for to_adaptive */
    int64_t in[16];         /* ends with 0; the last interrupt was at 0 */
} StormLoad;

/* Returns the interrupts for @load. The caller frees it. */
char *rival_storm_run(const StormLoad *load, const StormReading *reading);

/* The mean after one more @sample, as the papers' formula has it. */
double rival_mean(double mean, double weight, double sample);

/* The same in whole ns, as the artefact has it. */
int64_t rival_integer_mean(int64_t mean, int64_t weight, int64_t sample);

#endif /* TESTS_UNIT_RIVAL_STORM_H */
