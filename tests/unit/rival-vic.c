/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * vIC as somebody else might have read it.
 */
#include <glib.h>
#include <inttypes.h>

#include "rival-vic.h"

typedef struct Ratio {
    uint32_t up, skip;
} Ratio;

typedef struct Run {
    const VicLoad *load;
    const VicReading *reading;
    GString *out;
    Ratio ratio;
    uint32_t counter;
    uint32_t pending;
    int64_t epoch_start;
    unsigned completions;   /* in the epoch */
} Run;

static bool is_low(const VicReading *reading, uint32_t cif)
{
    return reading->cif_at_or_below ? cif <= VIC_CIF_THRESHOLD
                                    : cif < VIC_CIF_THRESHOLD;
}

static uint32_t deep_skip(const VicReading *reading, uint32_t cif)
{
    uint32_t eighths = reading->skip_rounds_up ? cif + 7 : cif;
    uint32_t skip = eighths / (2 * VIC_CIF_THRESHOLD);

    return reading->skip_capped ? MIN(skip, 16) : skip;
}

/* By the number of whole thresholds in @cif. */
static Ratio ratio_for(const VicReading *reading, uint32_t cif)
{
    static const Ratio shallow[] = { { 1, 1 }, { 4, 5 }, { 3, 4 }, { 2, 3 } };
    uint32_t i = (reading->cif_at_or_below ? cif - 1 : cif) /
                 VIC_CIF_THRESHOLD;

    if (i < G_N_ELEMENTS(shallow)) {
        return shallow[i];
    }
    return (Ratio) { 1, deep_skip(reading, cif) };
}

static bool rate_is_low(const Run *run, int64_t elapsed)
{
    const VicReading *reading = run->reading;
    double iops = (run->completions - reading->iops_exclusive) *
                  1e9 / elapsed;

    if (reading->iops_no_gate) {
        return false;
    }
    if (reading->iops_zero) {
        iops = 0;
    }
    return reading->iops_at_or_below ? iops <= VIC_IOPS_THRESHOLD
                                     : iops < VIC_IOPS_THRESHOLD;
}

static void set_ratio(Run *run, Ratio ratio)
{
    if (run->reading->change_resets && (ratio.up != run->ratio.up ||
                                        ratio.skip != run->ratio.skip)) {
        run->counter = 1;
    }
    run->ratio = ratio;
}

static void maybe_recalculate(Run *run, int64_t t, uint32_t cif)
{
    const VicReading *reading = run->reading;
    int64_t period = run->load->epoch_ms * 1000000ll;
    int64_t elapsed = t - run->epoch_start;

    if (elapsed < period || (elapsed == period && !reading->epoch_at_end)) {
        return;
    }
    set_ratio(run, rate_is_low(run, elapsed) ? (Ratio) { 1, 1 }
                                             : ratio_for(reading, cif));
    if (reading->epoch_start_stays) {
        return;
    }
    run->epoch_start = reading->epoch_start_steps ? run->epoch_start + period
                                                  : t;
    run->completions = 0;
}

static bool ends_cycle(const Run *run)
{
    if (run->reading->skip_above) {
        return run->counter > run->ratio.skip;
    }
    if (run->reading->skip_exact) {
        return run->counter == run->ratio.skip;
    }
    return run->counter >= run->ratio.skip;
}

static void reset_counter(Run *run)
{
    run->counter = run->reading->counts_from_zero ? 0 : 1;
}

/* vIC Algorithm 2, from the test of CIF on. */
static bool delivers(Run *run, uint32_t cif)
{
    if (is_low(run->reading, cif)) {
        if (!run->reading->bypass_keeps) {
            reset_counter(run);
        }
        return true;
    }
    if (run->counter < run->ratio.up + run->reading->up_inclusive) {
        run->counter++;
        return true;
    }
    if (ends_cycle(run)) {
        reset_counter(run);
        return true;
    }
    run->counter++;
    return false;
}

static void complete(Run *run, int64_t t, uint32_t cif)
{
    cif -= run->reading->cif_exclusive;
    cif += run->reading->cif_of_guest ? run->pending : 0;
    run->completions++;
    run->pending++;
    maybe_recalculate(run, t, cif);
    if (!delivers(run, cif)) {
        return;
    }
    if (t >= run->load->from_ns) {
        g_string_append_printf(run->out, "%s%" PRId64 "(%" PRIu32 ")",
                               run->out->len ? " " : "", t, run->pending);
    }
    run->pending = 0;
}

char *rival_vic_run(const VicLoad *load, const VicReading *reading)
{
    Run run = {
        .load = load,
        .reading = reading,
        .out = g_string_new(NULL),
        .ratio = { 1, 1 },
    };
    const VicPhase *phase;
    int64_t t = 0;
    unsigned i;

    reset_counter(&run);
    for (phase = load->phase; phase < load->phase + VIC_PHASES; phase++) {
        if (phase->up) {
            set_ratio(&run, (Ratio) { phase->up, phase->skip });
        }
        for (i = 0; i < phase->n; i++) {
            t += load->step_ns;
            complete(&run, t, phase->drain ? phase->cif - i : phase->cif);
        }
    }
    return g_string_free(run.out, FALSE);
}

char *rival_vic_ratio(uint32_t cif, const VicReading *reading)
{
    Ratio ratio = ratio_for(reading, cif - reading->cif_exclusive);

    return g_strdup_printf("%" PRIu32 "/%" PRIu32, ratio.up, ratio.skip);
}
