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
 * the completions since then, with the newest.
 */
static const ModelCqe *last_epoch(const Model *model, unsigned *completions)
{
    const ModelCqe *first = model->cqe;
    const ModelCqe *last = first + model->nr_cqes - 1;
    const ModelCqe *cqe;

    *completions = 1;
    for (cqe = last; cqe-- > first; ) {
        if (!cqe->vic || cqe->scope != last->scope) {
            continue;
        }
        if (cqe->ends_epoch) {
            return cqe;
        }
        ++*completions;
    }
    return NULL;
}

static uint32_t at_most(uint32_t value, uint64_t limit)
{
    return limit ? MIN(value, limit) : value;
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
    return whole < G_N_ELEMENTS(shallow) ? shallow[whole]
                                         : (ModelRatio) { 1, skip, false };
}

static ModelRatio current_ratio(Model *model, uint32_t cif)
{
    const CintConfig *config = &model->config;
    ModelCqe *cqe = newest(model);
    unsigned n;
    const ModelCqe *epoch = last_epoch(model, &n);
    uint64_t elapsed = cqe->posted - (epoch ? epoch->posted : 0);
    bool slow = n * 1000 * MS_NS < config->iops_threshold * elapsed;

    if (elapsed <= config->epoch_ms * MS_NS) {
        return epoch ? epoch->ratio : (ModelRatio) { 1, 1, false };
    }
    cqe->ends_epoch = true;
    cqe->ratio = ratio_for(config, cif, slow);
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
