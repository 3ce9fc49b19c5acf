/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slow second engine's storm protection: no running mean, but all messages
 * since the limit was set, averaged anew for each question.
 */
#include <glib.h>

#include "model-storm.h"

#define UNIT        65536   /* fractions of a ns that the mean resolves */

/* Retune: the last @n interrupts, and what is made of them. */
typedef struct Retune {
    const Model *model;
    unsigned thr;           /* 0: what was set is in force */
    unsigned n;
    int64_t time;
    uint64_t told;
    unsigned natural;       /* there would have been */
    unsigned gathered;      /* CQEs since the last of those */
    int64_t last_cqe;
    unsigned bad_thr;
    uint64_t bad_load;
    unsigned slow_wanted, slow_seen, slow_thr;
    uint64_t slow_load;
    bool fell;
} Retune;

int64_t model_gap(const CintConfig *config)
{
    uint64_t rate = config->max_irq_rate;

    return rate ? 1000000000 / rate + (1000000000 % rate != 0) : 0;
}

static unsigned most_thr(const Model *model)
{
    return MAX(model->size, 3) - 2;
}

/* A rate of @n in the time seen, as a fraction of the limit: @a / @b of it? */
static bool at_least(const Retune *r, uint64_t n, unsigned a, unsigned b)
{
    return (double)n * model_gap(&r->model->config) * b >=
           (double)r->time * a;
}

/* @n in the time seen: how many in one interval of the limit, rounded up. */
static uint64_t per_gap(const Retune *r, uint64_t n)
{
    uint64_t time = MAX(r->time, 1);
    uint64_t product = n * model_gap(&r->model->config);

    return product / time + (product % time != 0);
}

static unsigned wanted_thr(const Retune *r)
{
    unsigned most = most_thr(r->model);
    uint64_t in_proportion = per_gap(r, (uint64_t)r->thr * r->n);
    bool too_fast = at_least(r, r->n, 21, 20);

    if (!r->thr) {
        return too_fast ? CLAMP(per_gap(r, r->told), 1, most) : 0;
    }
    if (too_fast) {
        return MIN(MAX(in_proportion, r->thr + 1), most);
    }
    if (!at_least(r, r->natural, 4, 5)) {
        return 0;
    }
    if (at_least(r, r->n, 19, 20)) {
        return r->thr;
    }
    return MIN(MAX(in_proportion, 1), r->thr);
}

/* Enough samples asked for less: the most of what they asked for. */
static void go_down(Retune *r)
{
    unsigned thr = r->slow_thr;

    if (thr && 10 * r->slow_load >= 9 * r->bad_load) {
        thr = MAX(thr, r->bad_thr + 1);
    }
    if (thr < r->thr) {
        r->fell = true;
        r->thr = thr;
    }
}

static void go_up(Retune *r, unsigned thr)
{
    r->slow_wanted = MIN(r->fell ? 2 * r->slow_wanted : r->slow_wanted, 1024);
    r->fell = false;
    r->bad_thr = r->thr;
    r->bad_load = per_gap(r, 16 * r->told);
    r->thr = thr;
}

static void decide(Retune *r)
{
    unsigned thr = wanted_thr(r);

    if (thr < r->thr) {
        r->slow_seen++;
        r->slow_thr = MAX(r->slow_thr, thr);
        r->slow_load = MAX(r->slow_load, per_gap(r, 16 * r->told));
        if (r->slow_seen >= r->slow_wanted) {
            go_down(r);
            r->slow_seen = r->slow_thr = r->slow_load = 0;
        }
    } else {
        r->slow_seen = r->slow_thr = r->slow_load = 0;
        if (thr > r->thr) {
            go_up(r, thr);
        }
    }
    r->n = r->natural = 0;
    r->time = r->told = 0;
}

static void retune_cqe(Retune *r, const ModelSign *sign)
{
    if (r->gathered && sign->t >= r->last_cqe + sign->delta_ns) {
        r->natural++;
        r->gathered = 0;
    }
    r->last_cqe = sign->t;
    if (sign->asked == CINT_ASKED_URGENT && !r->gathered) {
        r->natural++;
        return;
    }
    r->gathered++;
    if (sign->asked == CINT_ASKED_FULL ||
        r->gathered >= sign->thr) {
        r->natural++;
        r->gathered = 0;
    } else if (sign->asked == CINT_ASKED_URGENT) {
        r->natural++;
    }
}

static void retune_message(Retune *r, const ModelSign *sign, int64_t interval)
{
    unsigned shift = r->model->config.ewma_shift;

    r->time += MIN(interval, 2 * model_gap(&r->model->config));
    r->told += sign->covered;
    if (++r->n >= MAX(1u << shift >> 2, 16)) {
        decide(r);
    }
}

/* @part of a difference, rounded away from 0. */
static int64_t fraction_of(int64_t difference, int64_t whole)
{
    int64_t part = ABS(difference) / whole + (difference % whole != 0);

    return difference < 0 ? -part : part;
}

/* The mean in 1/UNIT ns after one more interval, 0: none yet. */
static int64_t add(const CintConfig *config, int64_t mean, int64_t interval)
{
    int64_t sample = MIN(interval, 2 * model_gap(config)) * UNIT;

    sample = MAX(sample, 1);
    return mean ? mean + fraction_of(sample - mean, 1ll << config->ewma_shift)
                : sample;
}

ModelStorm model_storm(const Model *model)
{
    const CintConfig *config = &model->config;
    ModelStorm storm = { .delta_ns = config->delta_ns, .thr = config->thr };
    Retune retune = { .model = model, .slow_wanted = 1 };
    bool retunes = config->storm == CINT_STORM_RETUNE;
    int64_t gap = model_gap(config), mean = 0;
    const ModelSign *last = NULL, *sign;
    unsigned i;

    for (i = model->limit_since; gap && i < model->nr_signs; i++) {
        sign = &model->sign[i];
        if (sign->kind == MODEL_CQE && retune.thr) {
            retune_cqe(&retune, sign);
        }
        if (sign->kind != MODEL_MESSAGE) {
            continue;
        }
        if (last) {
            mean = add(config, mean, sign->t - last->t);
        }
        if (last && retunes) {
            retune_message(&retune, sign, sign->t - last->t);
        }
        last = sign;
    }
    storm.too_fast = mean && mean <= gap * UNIT;
    storm.retuning = retune.thr > 0;
    storm.release = last ? last->t + gap : 0;
    if (storm.retuning) {
        storm.delta_ns = MAX(storm.delta_ns, (uint64_t)gap);
        storm.thr = retune.thr;
    }
    return storm;
}
