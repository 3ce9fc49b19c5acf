/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slow second engine's storm protection: no running mean, but all messages
 * since the limit was set, averaged anew for each question.
 */
#include <glib.h>

#include "model-storm.h"

#define UNIT        65536   /* fractions of a ns that the mean resolves */
#define MOST_STEPS  17

typedef struct Mean {
    int64_t value;          /* in 1/UNIT ns, 0: none yet */
    unsigned steps;         /* of retune */
    unsigned undecided;     /* messages since a step was considered */
} Mean;

int64_t model_gap(const CintConfig *config)
{
    uint64_t rate = config->max_irq_rate;

    return rate ? 1000000000 / rate + (1000000000 % rate != 0) : 0;
}

/* @part of a difference, rounded away from 0. */
static int64_t fraction_of(int64_t difference, int64_t whole)
{
    int64_t part = ABS(difference) / whole + (difference % whole != 0);

    return difference < 0 ? -part : part;
}

/* Retune: another step against the storm, or back. */
static void step(Mean *mean, int64_t gap)
{
    if (mean->value < gap && mean->steps < MOST_STEPS) {
        *mean = (Mean) { .steps = mean->steps + 1 };
    } else if (mean->value > gap / 4 * 5 && mean->steps) {
        *mean = (Mean) { .steps = mean->steps - 1 };
    }
}

static void take(const CintConfig *config, Mean *mean, int64_t interval)
{
    int64_t gap = model_gap(config);
    int64_t sample = MIN(interval, 2 * gap) * UNIT;

    sample = MAX(sample, 1);
    mean->value += mean->value ? fraction_of(sample - mean->value,
                                             1ll << config->ewma_shift)
                               : sample;
    if (config->storm == CINT_STORM_RETUNE &&
        ++mean->undecided >= (1u << config->ewma_shift) / 4) {
        mean->undecided = 0;
        step(mean, gap * UNIT);
    }
}

ModelStorm model_storm(const Model *model)
{
    const CintConfig *config = &model->config;
    ModelStorm storm = { .delta_ns = config->delta_ns, .thr = config->thr };
    int64_t gap = model_gap(config);
    const ModelSign *last = NULL;
    Mean mean = { 0 };
    unsigned i;

    for (i = model->limit_since; gap && i < model->nr_signs; i++) {
        const ModelSign *sign = &model->sign[i];

        if (sign->ring || sign->masked) {
            continue;
        }
        if (last) {
            take(config, &mean, sign->t - last->t);
        }
        last = sign;
    }
    storm.too_fast = mean.value && mean.value <= gap * UNIT;
    storm.retuning = mean.steps > 0;
    storm.release = last ? last->t + gap : 0;
    if (storm.retuning) {
        storm.delta_ns = MAX(storm.delta_ns, (uint64_t)gap);
        storm.thr = MAX(storm.thr, 1) << (mean.steps - 1);
    }
    return storm;
}
