/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What each policy promises about waiting and gathering.
 */
#include <glib.h>

#include "laws.h"
#include "model-auto.h"
#include "model-storm.h"

static int64_t posted_at(const Model *model, unsigned from_the_last)
{
    return model->cqe[model->nr_cqes - from_the_last].posted;
}

static bool is_static(const CintConfig *config)
{
    return (config->policy == NVME_CINT_POLICY_DEFAULT ||
            config->policy == NVME_CINT_POLICY_STATIC) &&
           config->static_time_ns && config->static_thr;
}

static bool is_adaptive(const CintConfig *config)
{
    return config->policy == NVME_CINT_POLICY_ADAPTIVE ||
           model_hears(config);
}

static bool retunes(const CintConfig *config)
{
    return config->max_irq_rate && config->storm == CINT_STORM_RETUNE;
}

/* When the policy sends its interrupt, if nothing holds it. */
static int64_t due(const Model *model, const CintConfig *config,
                   int64_t oldest)
{
    int64_t delta = config->delta_ns * (model_tunes(config) ? 4 : 1);

    if (is_adaptive(config)) {
        delta = retunes(config) ? MAX(delta, model_gap(config)) : delta;
        return posted_at(model, 1) + delta;
    }
    if (is_static(config)) {
        return oldest + (int64_t)config->static_time_ns;
    }
    return oldest;                  /* no coalescing: at once */
}

int64_t law_latest(const Model *model, const CintConfig *config,
                   int64_t oldest)
{
    int64_t by = due(model, config, oldest);
    int64_t window = MAX(config->kick_window_ns, config->ack_gate_ns);

    if (config->policy == NVME_CINT_POLICY_VIC ||
        config->policy == NVME_CINT_POLICY_POINTER) {
        return oldest + (int64_t)config->max_hold_ns;
    }
    /* The window, or the limit's interval, began before it was due. */
    by += MAX(window, model_gap(config));
    if (config->max_hold_ns) {
        by = MIN(by, oldest + (int64_t)config->max_hold_ns);
    }
    return by;
}

unsigned law_most_covered(const Model *model, const CintConfig *config)
{
    uint64_t thr = 1;

    if (config->ack_gate_ns || config->kick_window_ns || config->max_irq_rate ||
        config->policy == NVME_CINT_POLICY_VIC ||
        config->policy == NVME_CINT_POLICY_POINTER) {
        return model->size - 1;     /* as many as fit */
    }
    if (is_adaptive(config)) {
        thr = config->thr * (model_tunes(config) ? 4 : 1);
    } else if (is_static(config)) {
        thr = config->static_thr;
    } else if (!config->each_cqe) {
        return model->size - 1;     /* a whole pass */
    }
    return CLAMP(thr, 1, MAX(model->size, 3) - 2);
}
