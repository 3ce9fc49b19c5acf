/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Algorithm 2 of cinterrupts as somebody else might have read it.
 */
#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "rival-cint.h"

#define NEVER   INT64_MAX

typedef struct Run {
    const CintLoad *load;
    const CintReading *reading;
    GString *out;
    unsigned n;             /* arrivals in all */
    unsigned now;           /* the one at hand */
    unsigned told;          /* arrivals before this one are reaped */
    unsigned urgent_told;   /* beyond it, Urgent ones that are reaped */
    uint32_t coalesced;
    int64_t due;
    bool forgotten[CINT_ARRIVALS];
} Run;

static bool says(const Run *run, unsigned i, const char *what)
{
    const char *hint = run->load->in[i].hint;

    return hint && !run->reading->hints_off && !strcmp(hint, what);
}

static bool is_urgent(const Run *run, unsigned i)
{
    return says(run, i, "U") ||
           (run->reading->both_is_urgent && says(run, i, "UB")) ||
           (run->reading->barrier_is_urgent && says(run, i, "B"));
}

static bool is_barrier(const Run *run, unsigned i)
{
    return (says(run, i, "B") && !run->reading->barrier_is_urgent) ||
           (run->reading->both_is_barrier && says(run, i, "UB"));
}

static unsigned place(const Run *run, unsigned i)
{
    return run->load->in[i].place ? run->load->in[i].place : i + 1;
}

/* Where in the SQ the Barrier in front of Barrier @b stands, or 0. */
static unsigned previous_barrier(const Run *run, unsigned b)
{
    unsigned i, found = 0;

    for (i = 0; i < run->n; i++) {
        if (is_barrier(run, i) && place(run, i) < place(run, b)) {
            found = MAX(found, place(run, i));
        }
    }
    return found;
}

/* The arrival with which Barrier @b is satisfied. */
static unsigned satisfied_at(const Run *run, unsigned b)
{
    unsigned from = 0, at = b, i;

    if (run->load->barrier == RIVAL_RELAXED) {
        return b;
    }
    if (run->load->barrier == RIVAL_GENERATION) {
        from = previous_barrier(run, b);
    }
    for (i = 0; i < run->n; i++) {
        if (place(run, i) > from && place(run, i) < place(run, b)) {
            at = MAX(at, i);
        }
    }
    return at;
}

static bool satisfies_a_barrier(const Run *run)
{
    unsigned b;

    for (b = 0; b <= run->now; b++) {
        if (is_barrier(run, b) && !run->forgotten[b] &&
            satisfied_at(run, b) == run->now) {
            return true;
        }
    }
    return false;
}

static void print(Run *run, const char *class, int64_t t, unsigned covered)
{
    g_string_append_printf(run->out, "%s%s%" PRId64 "(%u)",
                           run->out->len ? " " : "", class, t, covered);
}

/* The guest reaps arrivals before @end. */
static void fire_full(Run *run, int64_t t, unsigned end)
{
    print(run, "", t, end - run->told - run->urgent_told);
    run->told = end;
    run->urgent_told = 0;
    run->coalesced = 0;
    run->due = NEVER;
}

static void reap_by_timer_or_thr(Run *run, int64_t t, unsigned end)
{
    unsigned i;

    for (i = 0; i < end && run->reading->reaping_forgets; i++) {
        run->forgotten[i] = true;
    }
    fire_full(run, t, end);
}

static void fire_urgent(Run *run, int64_t t)
{
    print(run, "U", t, 1);
    run->urgent_told++;
    if (run->told + run->urgent_told == run->now + 1) {
        /* Nothing is left unreaped in front of it. */
        run->told = run->now + 1;
        run->urgent_told = 0;
    }
}

static bool reached_thr(const Run *run)
{
    return run->reading->above_thr ? run->coalesced > run->load->thr
                                   : run->coalesced >= run->load->thr;
}

/* Lines 13 to 15: count, move the deadline, fire at the threshold. */
static void coalesce(Run *run, int64_t t)
{
    run->due = t + run->load->delta_ns;
    run->coalesced++;
    if (reached_thr(run)) {
        reap_by_timer_or_thr(run, t, run->now + 1);
    }
}

/* An Urgent that is reaped ahead of others, which retain it. */
static void urgent_ooo(Run *run, int64_t t)
{
    const CintReading *reading = run->reading;
    bool behind = run->told + run->urgent_told < run->now;
    bool counts = reading->as_printed || (behind && !reading->urgent_uncounted);
    bool thr;

    run->coalesced += counts;
    thr = counts && reached_thr(run);
    if (!thr || reading->urgent_then_full) {
        fire_urgent(run, t);
    }
    if (thr) {
        reap_by_timer_or_thr(run, t, run->now + 1);
    } else if (run->coalesced && !reading->urgent_postpones_not) {
        run->due = t + run->load->delta_ns;
    }
}

static void urgent(Run *run, int64_t t)
{
    if (run->load->ooo && !run->reading->urgent_is_full) {
        urgent_ooo(run, t);
        return;
    }
    fire_full(run, t, run->now + 1);
    if (run->reading->as_printed) {
        coalesce(run, t);
    }
}

static void arrive(Run *run, int64_t t)
{
    if (satisfies_a_barrier(run)) {
        fire_full(run, t, run->now + 1);
    } else if (is_urgent(run, run->now)) {
        urgent(run, t);
    } else {
        coalesce(run, t);
    }
}

char *rival_cint_run(const CintLoad *load, const CintReading *reading)
{
    Run run = {
        .load = load,
        .reading = reading,
        .out = g_string_new(NULL),
        .due = NEVER,
    };

    while (load->in[run.n].t) {
        run.n++;
    }
    for (run.now = 0; run.now < run.n; run.now++) {
        if (run.due <= load->in[run.now].t) {
            reap_by_timer_or_thr(&run, run.due, run.now);
        }
        arrive(&run, load->in[run.now].t);
    }
    if (run.due != NEVER) {
        reap_by_timer_or_thr(&run, run.due, run.n);
    }
    return g_string_free(run.out, FALSE);
}
