/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slow second engine's idea of what the policy makes of what is set. Gaps
 * are averaged anew for each question.
 */
#include <glib.h>

#include "model-auto.h"

static bool is_auto(const CintConfig *config)
{
    return config->policy == NVME_CINT_POLICY_AUTO;
}

bool model_hears(const CintConfig *config)
{
    return is_auto(config) || config->policy == NVME_CINT_POLICY_CINT;
}

bool model_tunes(const CintConfig *config)
{
    return is_auto(config) ||
           (config->tune && (config->policy == NVME_CINT_POLICY_CINT ||
                             config->policy == NVME_CINT_POLICY_ADAPTIVE));
}

CintInfer model_infers(const CintConfig *config)
{
    return is_auto(config) ? CINT_INFER_BOTH : config->infer;
}

CintBarrier model_barrier(const CintConfig *config)
{
    return is_auto(config) ? CINT_BARRIER_RELAXED : config->barrier;
}

uint64_t model_paced_delta(const Model *model)
{
    uint64_t mean = 0, off = 0;     /* sixteenths of a ns */
    uint64_t set = model->config.delta_ns;
    const ModelCqe *last = NULL;
    unsigned i;

    for (i = 0; i < model->nr_cqes; i++) {
        const ModelCqe *cqe = &model->cqe[i];
        int64_t gap, usual = mean / 16;

        if (!cqe->paced) {
            continue;
        }
        gap = last ? cqe->posted - last->posted : INT64_MAX;
        last = cqe;
        if (gap <= cqe->longest_gap) {
            off = off - off / 16 + ABS(gap - usual);
            mean = mean - usual + gap;
        }
    }
    return CLAMP(2 * (mean / 16) + 4 * (off / 16), set, 4 * set);
}

uint64_t model_paced_thr(const Model *model, unsigned most)
{
    uint64_t set = model->config.thr;

    return CLAMP(most / 8, set, 4 * set);
}
