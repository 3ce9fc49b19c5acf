/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "blocks.h"

#include <math.h>
#include <stdbool.h>

/* Student's t: 97.5 % with BLOCKS - 1 degrees of freedom. */
#define STUDENT 2.262157

/* Of BLOCKS values, each of which stands for the same time. */
static struct agreement agreement_of(const double *values)
{
    double sum = 0, half = 0, squares = 0, mean;

    for (int i = 0; i < BLOCKS; i++) {
        sum += values[i];
        half += i < BLOCKS / 2 ? values[i] : 0;
    }
    mean = sum / BLOCKS;
    for (int i = 0; i < BLOCKS; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    return (struct agreement) {
        .error = STUDENT * sqrt(squares / (BLOCKS - 1) / BLOCKS) / mean,
        .drift = fabs(sum - 2 * half) / (BLOCKS / 2) / mean,
    };
}

struct agreements blocks_agree(const struct look *looks, size_t last)
{
    struct agreements found = { { 0, 0 }, { 0, 0 } };
    double rates[BLOCKS], latencies[BLOCKS];
    bool idle = false, untimed = false;

    for (int i = 0; i < BLOCKS; i++) {
        const struct look *from = &looks[i * last / BLOCKS];
        const struct look *to = &looks[(i + 1) * last / BLOCKS];
        uint64_t ns = to->ns - from->ns, timed = to->timed - from->timed;

        idle |= !ns || to->ios == from->ios;
        untimed |= !timed;
        rates[i] = ns ? (double)(to->ios - from->ios) / ns : 0;
        latencies[i] =
            timed ? (to->latency_ns - from->latency_ns) / timed : 0;
    }
    if (idle) {
        found.rate = (struct agreement) { INFINITY, INFINITY };
        return found;
    }
    found.rate = agreement_of(rates);
    if (!untimed) {
        found.latency = agreement_of(latencies);
    }
    return found;
}

double blocks_worst(const struct agreements *found)
{
    return fmax(fmax(found->rate.error, found->rate.drift),
                fmax(found->latency.error, found->latency.drift));
}
