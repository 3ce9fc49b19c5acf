/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The coalescing schemes as somebody else might have read them.
 */
#include <glib.h>
#include <inttypes.h>

#include "rival.h"

#define NEVER   INT64_MAX

typedef struct Run {
    const Rival *rival;
    GString *out;
    uint32_t pending;
    int64_t first;      /* arrival time of the first pending */
    int64_t due;        /* end of the window, or NEVER */
    int64_t last_irq;
} Run;

static void fire(Run *run, int64_t t)
{
    g_string_append_printf(run->out, "%s%" PRId64 "(%" PRIu32 ")",
                           run->out->len ? " " : "", t, run->pending);
    run->pending = 0;
    run->due = NEVER;
    run->last_irq = t;
}

static bool expires_before(const Run *run, int64_t t)
{
    if (!run->pending || run->due == NEVER) {
        return false;
    }
    return run->rival->reading.arrival_first ? run->due < t : run->due <= t;
}

/* No coalescing at all for the arrival at hand. */
static bool is_off(const Rival *rival)
{
    if (rival->scheme == RIVAL_EACH) {
        return true;
    }
    return rival->scheme == RIVAL_FROM_FIRST &&
           !rival->reading.zero_is_no_limit &&
           (!rival->window_ns || !rival->thr);
}

static int64_t window_end(const Run *run, int64_t t)
{
    const Rival *rival = run->rival;

    if (is_off(rival) ||
        (rival->reading.zero_is_no_limit && !rival->window_ns)) {
        return NEVER;
    }
    if (rival->scheme == RIVAL_FROM_LAST) {
        return t + rival->window_ns;
    }
    if (rival->reading.since_last_irq) {
        return MAX(t, run->last_irq + rival->window_ns);
    }
    return run->first + rival->window_ns;
}

static bool reached_thr(const Run *run)
{
    const Rival *rival = run->rival;

    if (rival->reading.zero_is_no_limit && !rival->thr) {
        return false;
    }
    if (rival->reading.above_thr) {
        return run->pending > rival->thr;
    }
    return run->pending >= rival->thr;
}

static bool fires_now(const Run *run, int64_t t, int64_t next)
{
    if (is_off(run->rival)) {
        return !run->rival->reading.pass_shares_irq || next != t;
    }
    return reached_thr(run) ||
           (run->rival->reading.since_last_irq && run->due <= t);
}

char *rival_run(const Rival *rival, const int64_t *in)
{
    Run run = {
        .rival = rival,
        .out = g_string_new(NULL),
        .due = NEVER,
        /* The last interrupt was long ago. */
        .last_irq = -rival->window_ns,
    };

    for (; *in; in++) {
        if (expires_before(&run, *in)) {
            fire(&run, run.due);
        }
        if (!run.pending++) {
            run.first = *in;
        }
        run.due = window_end(&run, *in);
        if (fires_now(&run, *in, in[1])) {
            fire(&run, *in);
        }
    }
    if (expires_before(&run, NEVER)) {
        fire(&run, run.due);
    }
    return g_string_free(run.out, FALSE);
}
