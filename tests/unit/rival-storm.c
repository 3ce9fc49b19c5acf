/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Storm protection as somebody else might have read it.
 */
#include <glib.h>
#include <inttypes.h>

#include "rival-storm.h"

#define NEVER   INT64_MAX

typedef struct Run {
    const StormLoad *load;
    const StormReading *reading;
    GString *out;
    int64_t last;       /* interrupt */
    int64_t due;
    unsigned held;
} Run;

static void fire(Run *run, int64_t t)
{
    unsigned covered = run->reading->each ? 1 : run->held;

    g_string_append_printf(run->out, "%s%" PRId64 "(%u)",
                           run->out->len ? " " : "", t, covered);
    run->held -= covered;
    run->last = t;
    run->due = run->held ? t + run->load->gap_ns : NEVER;
}

/* When what arrived at @t may go out, with others held already or without. */
static int64_t release_time(const Run *run, int64_t t)
{
    const StormLoad *load = run->load;

    if (run->reading->no_limit) {
        return t;
    }
    if (run->reading->to_adaptive) {
        return t + load->delta_ns;
    }
    if (run->reading->from_arrival) {
        return run->held > 1 ? run->due : t + load->gap_ns;
    }
    return MAX(t, run->last + load->gap_ns);
}

char *rival_storm_run(const StormLoad *load, const StormReading *reading)
{
    Run run = {
        .load = load,
        .reading = reading,
        .out = g_string_new(NULL),
        .due = NEVER,
    };
    const int64_t *t;

    for (t = load->in; *t; t++) {
        while (run.due <= *t) {
            fire(&run, run.due);
        }
        run.held++;
        run.due = release_time(&run, *t);
        if (run.due <= *t) {
            fire(&run, *t);
        }
    }
    while (run.due != NEVER) {
        fire(&run, run.due);
    }
    return g_string_free(run.out, FALSE);
}

double rival_mean(double mean, double weight, double sample)
{
    return mean + (sample - mean) / weight;
}

int64_t rival_integer_mean(int64_t mean, int64_t weight, int64_t sample)
{
    return (mean * (weight - 1) + sample) / weight;
}
