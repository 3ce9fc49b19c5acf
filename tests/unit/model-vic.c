/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slow second engine's policy vic: no counter and no epoch record, but the
 * CQEs posted so far, looked through backwards.
 */
#include <glib.h>

#include "model-vic.h"

#define MS_NS   1000000ull

static ModelCqe *newest(Model *model)
{
    return &model->cqe[model->nr_cqes - 1];
}

static uint32_t commands_in_flight(const Model *model)
{
    unsigned others = model->config.vic_scope == CINT_VIC_SCOPE_CONTROLLER
                      ? model->elsewhere : 0;

    return 1 + model_inflight(model) + model_backlog(model) + others;
}

/*
 * The CQE that ended the last epoch of the newest CQE's scope, or NULL, and
 * the completions since then, with the newest, and what was in flight at them.
 */
static const ModelCqe *last_epoch(const Model *model, unsigned *completions,
                                  uint64_t *in_flight)
{
    const ModelCqe *first = model->cqe;
    const ModelCqe *last = first + model->nr_cqes - 1;
    const ModelCqe *cqe;

    *completions = 1;
    *in_flight = last->cif;
    for (cqe = last; cqe-- > first; ) {
        if (!cqe->vic || cqe->scope != last->scope) {
            continue;
        }
        if (cqe->ends_epoch) {
            return cqe;
        }
        ++*completions;
        *in_flight += cqe->cif;
    }
    return NULL;
}

static uint32_t at_most(uint32_t value, uint64_t limit)
{
    return limit ? MIN(value, limit) : value;
}

/*
 * Ratios by trial, from the beginning of them: the epochs that have ended, in
 * order. Epochs by another rule, or in which each one interrupts, begin anew.
 */
typedef struct Trial {
    uint32_t skip;
    uint64_t base;      /* best rate since none was skipped, 0: not known */
    unsigned losses;    /* steps taken back, since one that was not */
    unsigned rest;      /* epochs until the next step */
    bool higher;        /* the last one skipped one more than that before */
} Trial;

static void from_the_base(Trial *trial)
{
    *trial = (Trial) { .skip = 1, .losses = trial->losses };
}

static void step_on(Trial *trial, uint64_t rate)
{
    trial->losses = trial->higher ? 0 : trial->losses;
    trial->base = trial->skip == 1 ? rate : MAX(rate, trial->base);
    trial->higher = trial->rest == 0;
    trial->skip += trial->higher;
    trial->rest -= !trial->higher;
}

static void try_next(Trial *trial, const ModelCqe *epoch)
{
    bool fewer = epoch->rate < trial->base - trial->base / 32;

    if (trial->skip > 1 && !trial->base) {
        from_the_base(trial);
    } else if (fewer && trial->higher) {
        trial->rest = 1u << MIN(trial->losses, 6);
        trial->losses++;
        trial->skip--;
        trial->higher = false;
    } else if (fewer && trial->skip > 1) {
        from_the_base(trial);
    } else {
        step_on(trial, epoch->rate);
    }
    if (trial->skip > epoch->most) {
        trial->skip = epoch->most;
        trial->higher = false;
    }
}

static uint32_t skip_by_trial(Model *model)
{
    const ModelCqe *now = newest(model);
    const ModelCqe *cqe;
    Trial trial = { .skip = 1 };

    for (cqe = model->cqe; cqe <= now; cqe++) {
        if (!cqe->vic || cqe->scope != now->scope || !cqe->ends_epoch) {
            continue;
        }
        if (cqe->most) {
            try_next(&trial, cqe);
        } else {
            trial = (Trial) { .skip = MAX(cqe->ratio.skip, 1) };
        }
    }
    return trial.skip;
}

/* By the number of whole thresholds in flight. */
static ModelRatio ratio_for(const CintConfig *config, uint32_t cif, bool slow)
{
    static const ModelRatio shallow[] = {
        { 1, 1, false }, { 4, 5, false }, { 3, 4, false }, { 2, 3, false },
    };
    uint32_t whole = cif / config->cif_threshold;
    uint32_t skip = at_most(whole / 2, config->max_skip);

    if (config->vic_ratios == CINT_VIC_RATIOS_COARSE) {
        skip = at_most(MAX(whole / 2, 2), config->max_skip);
        return (ModelRatio) { 1, whole ? skip : 1, false };
    }
    if (slow) {
        return (ModelRatio) { 1, 1, true };
    }
    if (config->vic_ratios == CINT_VIC_RATIOS_ADAPTIVE) {
        return (ModelRatio) { 1, 1, false };
    }
    return whole < G_N_ELEMENTS(shallow) ? shallow[whole]
                                         : (ModelRatio) { 1, skip, false };
}

static ModelRatio current_ratio(Model *model, uint32_t cif)
{
    const CintConfig *config = &model->config;
    ModelCqe *cqe = newest(model);
    uint64_t in_flight;
    unsigned n;
    const ModelCqe *epoch = last_epoch(model, &n, &in_flight);
    uint64_t elapsed = cqe->posted - (epoch ? epoch->posted : 0);
    bool slow = n * 1000 * MS_NS < config->iops_threshold * elapsed;
    uint32_t whole = in_flight / n / config->cif_threshold;

    if (elapsed <= config->epoch_ms * MS_NS) {
        return epoch ? epoch->ratio : (ModelRatio) { 1, 1, false };
    }
    cqe->ends_epoch = true;
    if (config->vic_ratios == CINT_VIC_RATIOS_ADAPTIVE && !slow && whole) {
        cqe->rate = n * 1000 * MS_NS / elapsed;
        cqe->most = at_most(whole, config->max_skip);
        cqe->ratio = (ModelRatio) { 1, skip_by_trial(model), false };
    } else {
        cqe->ratio = ratio_for(config, cif, slow);
    }
    return cqe->ratio;
}

/* Which one of its cycle the newest CQE is, from 1. */
static unsigned place_in_cycle(const Model *model)
{
    unsigned i = model->nr_cqes - 1;

    while (i > model->policy_since && !model->cqe[i - 1].ends_cycle) {
        i--;
    }
    return model->nr_cqes - i;
}

CintReason model_vic_complete(Model *model)
{
    ModelCqe *cqe = newest(model);
    uint32_t cif = commands_in_flight(model);
    unsigned place = place_in_cycle(model);
    ModelRatio ratio;

    cqe->vic = true;
    cqe->scope = model->config.vic_scope;
    cqe->cif = cif;
    ratio = current_ratio(model, cif);
    if (cif < model->config.cif_threshold) {
        cqe->ends_cycle = true;
        return NVME_CINT_REASON_LOW_CIF;
    }
    if (place < ratio.up) {
        return NVME_CINT_REASON_RATIO;
    }
    cqe->ends_cycle = place >= ratio.skip;
    if (!cqe->ends_cycle) {
        return NVME_CINT_REASON_NONE;
    }
    return ratio.low_iops ? NVME_CINT_REASON_LOW_IOPS
                          : NVME_CINT_REASON_RATIO;
}
