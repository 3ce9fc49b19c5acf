/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What each policy promises about waiting and gathering.
 */
#include <glib.h>

#include "laws.h"

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

int64_t law_latest(const Model *model, const CintConfig *config,
                   unsigned pending)
{
    int64_t oldest = posted_at(model, pending);
    int64_t by = oldest;            /* no coalescing: at once */

    if (config->policy == NVME_CINT_POLICY_VIC) {
        return oldest + (int64_t)config->max_hold_ns;
    }
    if (config->policy == NVME_CINT_POLICY_ADAPTIVE) {
        by = posted_at(model, 1) + (int64_t)config->delta_ns;
    } else if (is_static(config)) {
        by = oldest + (int64_t)config->static_time_ns;
    }
    /* The window began before the interrupt was due. */
    by += (int64_t)config->kick_window_ns;
    if (config->max_hold_ns) {
        by = MIN(by, oldest + (int64_t)config->max_hold_ns);
    }
    return by;
}

unsigned law_most_covered(const Model *model, const CintConfig *config)
{
    uint64_t thr = 1;

    if (config->kick_window_ns || config->policy == NVME_CINT_POLICY_VIC) {
        return model->size - 1;     /* as many as fit */
    }
    if (config->policy == NVME_CINT_POLICY_ADAPTIVE) {
        thr = config->thr;
    } else if (is_static(config)) {
        thr = config->static_thr;
    } else if (!config->each_cqe) {
        return model->size - 1;     /* a whole pass */
    }
    return CLAMP(thr, 1, MAX(model->size, 3) - 2);
}
