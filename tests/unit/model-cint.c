/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slow second engine's hints: no list and no fences, but all the commands
 * ever submitted, looked through for what keeps a Barrier waiting.
 */
#include <glib.h>

#include "model-auto.h"
#include "model-cint.h"
#include "model-storm.h"
#include "model-waits.h"

void model_infer(Model *model, unsigned sq)
{
    CintInfer infer = model_infers(&model->config);
    bool learns = infer == CINT_INFER_LEARN || infer == CINT_INFER_BOTH;
    ModelCmd *last = NULL, *cmd;
    unsigned batch = 0, i;

    for (i = 0; i < model->nr_cmds; i++) {
        cmd = &model->cmd[i];
        if (cmd->sq == sq && !cmd->announced) {
            cmd->announced = true;
            last = cmd;
            batch++;
        }
    }
    if (!last || last->state != MODEL_FLYING || last->given ||
        last->waited || infer == CINT_INFER_OFF ||
        (learns && batch == 1 && !model_knows_any(model))) {
        return;
    }
    last->hints = NVME_CINT_HINT_BARRIER;
    if ((infer == CINT_INFER_ALL || infer == CINT_INFER_CONTENT) &&
        batch == 1 && model_inflight(model) == 1 &&
        last->content != CINT_CONTENT_AHEAD) {
        last->hints = NVME_CINT_HINT_URGENT;
    }
    last->any = batch == 1 && model_knows_any(model) &&
                last->hints == NVME_CINT_HINT_BARRIER;
}

static bool barrier_waits(const Model *model, unsigned barrier)
{
    unsigned sq = model->cmd[barrier].sq, i = barrier + 1;

    while (i-- > 0) {
        const ModelCmd *cmd = &model->cmd[i];

        if (cmd->sq != sq) {
            continue;
        }
        if (model_barrier(&model->config) == CINT_BARRIER_GENERATION &&
            i != barrier && cmd->hints == NVME_CINT_HINT_BARRIER) {
            return false;
        }
        if (cmd->state == MODEL_FLYING) {
            return true;
        }
    }
    return false;
}

unsigned model_barriers_waiting(const Model *model, unsigned sq)
{
    unsigned i, n = 0;

    for (i = 0; i < model->nr_cmds; i++) {
        n += model->cmd[i].sq == sq &&
             model->cmd[i].hints == NVME_CINT_HINT_BARRIER &&
             barrier_waits(model, i);
    }
    return n;
}

bool model_may_be_urgent_class(const Model *model, unsigned cmd)
{
    return model_hears(&model->config) && model->config.ooo &&
           model->has_record &&
           model->cmd[cmd].hints == NVME_CINT_HINT_URGENT &&
           model->cmd[cmd].driver_knows;
}

bool model_is_urgent_class(const Model *model, unsigned cmd)
{
    return model_may_be_urgent_class(model, cmd) &&
           !model_storm(model).retuning;
}

CintReason model_cint_complete(const Model *model, unsigned cmd,
                               bool satisfied)
{
    uint8_t hints = model->cmd[cmd].hints;

    if (model_barrier(&model->config) == CINT_BARRIER_RELAXED) {
        satisfied = hints == NVME_CINT_HINT_BARRIER &&
                    !(model->cmd[cmd].any && model_knows_any(model) &&
                      !model_nothing_comes(model));
    }
    if (satisfied) {
        return NVME_CINT_REASON_BARRIER;
    }
    return hints == NVME_CINT_HINT_URGENT ? NVME_CINT_REASON_URGENT
                                          : NVME_CINT_REASON_NONE;
}
