/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Retune: which thr meets a limit on the rate of interrupts. See tune.h.
 *
 * Linux's net_dim is the example: sample, statistics, decision, and parking
 * once a step does no good. It divides, but once in a sample only.
 */
#include <string.h>

#include "tune.h"

#define LEAST_SAMPLE    16
#define MOST_PATIENCE   1024

void cint_tuner_init(CintTuner *tuner, int64_t gap_ns, uint32_t shift)
{
    memset(tuner, 0, sizeof(*tuner));
    tuner->gap_ns = gap_ns;
    tuner->interrupts = shift > 6 ? 1u << (shift - 2) : LEAST_SAMPLE;
    tuner->patience = 1;
}

void cint_tuner_configure(CintTuner *tuner, int64_t delta_ns, uint32_t thr,
                          uint32_t most_thr)
{
    tuner->set_delta_ns = delta_ns;
    tuner->set_thr = thr;
    tuner->most_thr = most_thr;
}

/*
 * Sample
 */

static void natural_full(CintTuner *tuner)
{
    tuner->sample.natural++;
    tuner->natural_cqes = 0;
}

/* The adaptive rule over again, with what was set. */
void cint_tuner_completed(CintTuner *tuner, int64_t now, CintAsked asked)
{
    if (tuner->natural_cqes &&
        now - tuner->natural_ns >= tuner->set_delta_ns) {
        natural_full(tuner);
    }
    tuner->natural_ns = now;
    if (asked == CINT_ASKED_URGENT && !tuner->natural_cqes) {
        tuner->sample.natural++;
        return;
    }
    if (++tuner->natural_cqes >= tuner->set_thr || asked == CINT_ASKED_FULL) {
        natural_full(tuner);
    } else if (asked == CINT_ASKED_URGENT) {
        tuner->sample.natural++;
    }
}

static void start_sample(CintTuner *tuner)
{
    memset(&tuner->sample, 0, sizeof(tuner->sample));
}

/*
 * Statistics. The limit is one interrupt a gap.
 */

/* Is @irqs, in the time of @sample, @percent of the limit or more? */
static bool reaches(const CintTuner *tuner, const CintTunerSample *sample,
                    uint32_t irqs, uint32_t percent)
{
    return 100 * tuner->gap_ns * irqs >= percent * sample->time_ns;
}

/* @n x gap / time, rounded up. */
static uint64_t in_a_gap(const CintTuner *tuner, const CintTunerSample *sample,
                         uint64_t n)
{
    uint64_t time = sample->time_ns ? sample->time_ns : 1;

    return (n * tuner->gap_ns + time - 1) / time;
}

/* CQEs in 16 gaps. */
static uint64_t load_of(const CintTuner *tuner, const CintTunerSample *sample)
{
    return in_a_gap(tuner, sample, 16 * sample->cqes);
}

/*
 * Decision
 */

static uint32_t bounded(const CintTuner *tuner, uint64_t thr)
{
    return thr < tuner->most_thr ? thr : tuner->most_thr;
}

/*
 * The thr that would have met the limit: at least one more if it was too
 * fast, and never so few that it will be.
 */
static uint32_t in_proportion(const CintTuner *tuner,
                              const CintTunerSample *sample)
{
    return bounded(tuner, in_a_gap(tuner, sample,
                                   (uint64_t)tuner->thr * sample->irqs));
}

/* The thr that @sample asks for, 0: what was set. */
static uint32_t decide(const CintTuner *tuner, const CintTunerSample *sample)
{
    if (!tuner->thr) {
        /* The first that should do: as many CQEs as come in a gap. */
        return reaches(tuner, sample, sample->irqs, 105) ?
               bounded(tuner, in_a_gap(tuner, sample, sample->cqes)) : 0;
    }
    if (reaches(tuner, sample, sample->irqs, 105)) {
        return in_proportion(tuner, sample);
    }
    if (!reaches(tuner, sample, sample->natural, 80)) {
        return 0;
    }
    return reaches(tuner, sample, sample->irqs, 95) ?
           tuner->thr : in_proportion(tuner, sample);
}

/*
 * Parking
 */

static void step_up(CintTuner *tuner, uint32_t thr)
{
    if (tuner->went_down && tuner->patience < MOST_PATIENCE) {
        tuner->patience *= 2;
    }
    tuner->went_down = false;
    tuner->too_fast_thr = tuner->thr;
    tuner->too_fast_load = load_of(tuner, &tuner->sample);
    tuner->thr = thr;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Another sample that asks for less. Returns true if they were enough. */
static bool be_patient(CintTuner *tuner, uint32_t thr)
{
    if (!tuner->slow++) {
        tuner->slow_thr = 0;
        tuner->slow_load = 0;
    }
    tuner->slow_thr = greater(tuner->slow_thr, thr);
    tuner->slow_load = greater(tuner->slow_load,
                               load_of(tuner, &tuner->sample));
    return tuner->slow >= tuner->patience;
}

/* Not to a thr that is known to be too fast under such a load. */
static bool step_down(CintTuner *tuner)
{
    bool known = 10 * tuner->slow_load >= 9 * tuner->too_fast_load;
    uint32_t thr = tuner->slow_thr;

    tuner->slow = 0;
    if (thr && known) {
        thr = greater(thr, tuner->too_fast_thr + 1);
    }
    if (thr >= tuner->thr) {
        return false;
    }
    tuner->went_down = true;
    tuner->thr = thr;
    return true;
}

bool cint_tuner_sent(CintTuner *tuner, int64_t interval_ns, uint32_t cqes)
{
    CintTunerSample *sample = &tuner->sample;
    bool changed;
    uint32_t thr;

    sample->time_ns += interval_ns;
    sample->cqes += cqes;
    if (++sample->irqs < tuner->interrupts) {
        return false;
    }
    thr = decide(tuner, sample);
    if (thr < tuner->thr) {
        changed = be_patient(tuner, thr) && step_down(tuner);
    } else {
        tuner->slow = 0;
        changed = thr > tuner->thr;
        if (changed) {
            step_up(tuner, thr);
        }
    }
    tuner->changes += changed;
    start_sample(tuner);
    return changed;
}
