/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A slow second engine, for comparison with the real one.
 */
#include <glib.h>

#include "model.h"

static const CintAction nothing = { .fire = CINT_FIRE_NONE };

void model_init(Model *model, uint32_t size, const CintConfig *config)
{
    memset(model, 0, sizeof(*model));
    model->size = size;
    model->config = *config;
}

static unsigned count_flying(const Model *model, int sq)
{
    unsigned i, n = 0;

    for (i = 0; i < model->nr_cmds; i++) {
        if (model->cmd[i].state == MODEL_FLYING &&
            (sq < 0 || model->cmd[i].sq == (unsigned)sq)) {
            n++;
        }
    }
    return n;
}

unsigned model_inflight(const Model *model)
{
    return count_flying(model, -1);
}

unsigned model_inflight_of(const Model *model, unsigned sq)
{
    return count_flying(model, sq);
}

unsigned model_outstanding(const Model *model)
{
    unsigned i, n = 0;

    for (i = 0; i < model->nr_cqes; i++) {
        n += !model->cqe[i].consumed;
    }
    return n;
}

unsigned model_pending(const Model *model)
{
    unsigned i, n = 0;

    for (i = 0; i < model->nr_cqes; i++) {
        n += !model->cqe[i].consumed && !model->cqe[i].covered;
    }
    return n;
}

static int64_t run_start(const Model *model)
{
    unsigned i = model->nr_cqes;

    while (!model->cqe[--i].opens_run) {
        /* The first CQE ever always opens one. */
    }
    return model->cqe[i].posted;
}

static int64_t last_post(const Model *model)
{
    return model->cqe[model->nr_cqes - 1].posted;
}

static CintAction fire(Model *model, CintReason reason)
{
    CintAction action = {
        .fire = CINT_FIRE_FULL,
        .reason = reason,
        .covered = model_pending(model),
    };
    unsigned i;

    for (i = 0; i < model->nr_cqes; i++) {
        model->cqe[i].covered = true;
    }
    return action;
}

static CintAction fire_pending(Model *model, CintReason reason)
{
    return model_pending(model) ? fire(model, reason) : nothing;
}

/* What the policy does with a batch: at most @thr, for at most a window. */
static bool coalesces(const Model *model)
{
    const CintConfig *config = &model->config;

    return config->policy == NVME_CINT_POLICY_ADAPTIVE ||
           (config->static_time_ns && config->static_thr);
}

static uint64_t batch_limit(const Model *model)
{
    uint64_t thr = model->config.policy == NVME_CINT_POLICY_ADAPTIVE
                   ? model->config.thr : model->config.static_thr;

    return MIN(thr, model->size - 2);
}

static int64_t policy_deadline(const Model *model)
{
    if (!model_pending(model) || !coalesces(model)) {
        return CINT_NO_DEADLINE;
    }
    if (model->config.policy == NVME_CINT_POLICY_ADAPTIVE) {
        return last_post(model) + (int64_t)model->config.delta_ns;
    }
    return run_start(model) + (int64_t)model->config.static_time_ns;
}

static int64_t hold_end(const Model *model)
{
    if (!model_pending(model) || !model->config.max_hold_ns) {
        return CINT_NO_DEADLINE;
    }
    return run_start(model) + (int64_t)model->config.max_hold_ns;
}

int64_t model_deadline(const Model *model)
{
    return MIN(policy_deadline(model), hold_end(model));
}

/*
 * How many CQEs make pressure step @i, or 0 if there is no such step: three
 * quarters (rounded up), each sixteenth above, and one entry short of all,
 * which is as full as a queue gets.
 */
static unsigned pressure_step(const Model *model, unsigned i)
{
    unsigned full = model->size - 1;
    unsigned sixteenth = MAX(model->size / 16, 1);
    unsigned step;

    if (i == 0) {
        return full;
    }
    step = (3 * model->size + 3) / 4 + (i - 1) * sixteenth;
    return step < full ? step : 0;
}

/* Notes every step that the fill level reaches; says if one is new. */
static bool pressure_is_news(Model *model)
{
    unsigned used = model_outstanding(model);
    bool news = false;
    unsigned i, step;

    for (i = 0; i < MODEL_STEPS; i++) {
        step = pressure_step(model, i);
        if (step && used >= step && !model->step_told[i]) {
            model->step_told[i] = true;
            news = true;
        }
    }
    return news;
}

static void forget_pressure(Model *model)
{
    unsigned used = model_outstanding(model);
    unsigned i;

    for (i = 0; i < MODEL_STEPS; i++) {
        if (used < pressure_step(model, i)) {
            model->step_told[i] = false;
        }
    }
}

static bool drained(const Model *model)
{
    /* Auto is off under the policies so far. */
    return model->config.drain == CINT_ON && !model_inflight(model);
}

unsigned model_submit(Model *model, unsigned sq)
{
    g_assert_cmpuint(model->nr_cmds, <, MODEL_CMDS);
    model->cmd[model->nr_cmds] = (ModelCmd) { .sq = sq };
    return model->nr_cmds++;
}

static CintReason completion_reason(Model *model, bool error, bool pressure)
{
    if (error) {
        return NVME_CINT_REASON_ERROR;
    }
    if (pressure) {
        return NVME_CINT_REASON_PRESSURE;
    }
    if (drained(model)) {
        return NVME_CINT_REASON_DRAIN;
    }
    if (coalesces(model)) {
        return model_pending(model) >= batch_limit(model)
               ? NVME_CINT_REASON_THR : NVME_CINT_REASON_NONE;
    }
    /* Only the default policy may wait for the end of the pass. */
    if (model->config.policy == NVME_CINT_POLICY_DEFAULT &&
        !model->config.each_cqe) {
        return NVME_CINT_REASON_NONE;
    }
    return NVME_CINT_REASON_EACH;
}

CintAction model_complete(Model *model, unsigned cmd, int64_t t, bool error)
{
    bool alone = !model_pending(model);
    CintReason reason;

    g_assert_cmpint(model->cmd[cmd].state, ==, MODEL_FLYING);
    g_assert_cmpuint(model->nr_cqes, <, MODEL_CQES);
    model->cmd[cmd].state = MODEL_POSTED;
    model->cqe[model->nr_cqes++] = (ModelCqe) {
        .posted = t,
        .opens_run = alone,
    };
    reason = completion_reason(model, error, pressure_is_news(model));
    return reason == NVME_CINT_REASON_NONE ? nothing : fire(model, reason);
}

CintAction model_pass_end(Model *model)
{
    if (model->config.policy != NVME_CINT_POLICY_DEFAULT || coalesces(model)) {
        return nothing;
    }
    return fire_pending(model, NVME_CINT_REASON_EACH);
}

CintAction model_cancel(Model *model, unsigned cmd)
{
    g_assert_cmpint(model->cmd[cmd].state, ==, MODEL_FLYING);
    model->cmd[cmd].state = MODEL_CANCELLED;
    return drained(model) ? fire_pending(model, NVME_CINT_REASON_DRAIN)
                          : nothing;
}

CintAction model_delete_sq(Model *model, unsigned sq)
{
    unsigned i;

    for (i = 0; i < model->nr_cmds; i++) {
        if (model->cmd[i].state == MODEL_FLYING && model->cmd[i].sq == sq) {
            model->cmd[i].state = MODEL_CANCELLED;
        }
    }
    return drained(model) ? fire_pending(model, NVME_CINT_REASON_DRAIN)
                          : nothing;
}

CintAction model_timer(Model *model, int64_t t)
{
    if (hold_end(model) <= t) {
        return fire(model, NVME_CINT_REASON_MAX_HOLD);
    }
    if (policy_deadline(model) <= t) {
        return fire(model,
                    model->config.policy == NVME_CINT_POLICY_ADAPTIVE
                    ? NVME_CINT_REASON_QUIET : NVME_CINT_REASON_TIME);
    }
    return nothing;
}

CintAction model_configure(Model *model, const CintConfig *config)
{
    model->config = *config;
    return fire_pending(model, NVME_CINT_REASON_RECONF);
}

void model_consume(Model *model, unsigned n)
{
    unsigned i;

    for (i = 0; i < model->nr_cqes && n; i++) {
        if (!model->cqe[i].consumed) {
            model->cqe[i].consumed = true;
            n--;
        }
    }
    forget_pressure(model);
}
