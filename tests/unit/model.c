/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A slow second engine, for comparison with the real one.
 */
#include <glib.h>

#include "model-vic.h"

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

/* Index of the first CQE of the run that is pending, or was the last. */
static unsigned run_index(const Model *model)
{
    unsigned i = model->nr_cqes;

    while (!model->cqe[--i].opens_run) {
        /* The first CQE ever always opens one. */
    }
    return i;
}

static int64_t run_start(const Model *model)
{
    return model->cqe[run_index(model)].posted;
}

static int64_t last_post(const Model *model)
{
    return model->cqe[model->nr_cqes - 1].posted;
}

static void log_sign(Model *model, bool ring, int64_t t)
{
    g_assert_cmpuint(model->nr_signs, <, MODEL_SIGNS);
    model->sign[model->nr_signs++] = (ModelSign) { .ring = ring, .t = t };
}

/* The last message, or NULL; says if the guest has rung since. */
static const ModelSign *last_message(const Model *model, bool *rung)
{
    unsigned i;

    *rung = false;
    for (i = model->nr_signs; i > 0; i--) {
        if (!model->sign[i - 1].ring) {
            return &model->sign[i - 1];
        }
        *rung = true;
    }
    return NULL;
}

static int64_t window_end(const Model *model)
{
    bool rung;
    const ModelSign *message = last_message(model, &rung);

    return message && rung ?
           message->t + (int64_t)model->config.kick_window_ns : INT64_MIN;
}

static bool withheld(const Model *model)
{
    unsigned i;

    if (!model_pending(model)) {
        return false;
    }
    for (i = run_index(model); i < model->nr_cqes; i++) {
        if (model->cqe[i].due) {
            return true;
        }
    }
    return false;
}

static CintAction fire(Model *model, int64_t t, CintReason reason)
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
    log_sign(model, false, t);
    return action;
}

static CintAction fire_pending(Model *model, int64_t t, CintReason reason)
{
    return model_pending(model) ? fire(model, t, reason) : nothing;
}

/* Fires for a reason that the kick window may withhold. */
static CintAction fire_gently(Model *model, int64_t t, CintReason reason)
{
    if (!model_pending(model)) {
        return nothing;
    }
    if (t < window_end(model)) {
        model->cqe[model->nr_cqes - 1].due = true;
        return nothing;
    }
    return fire(model, t, reason);
}

/* What the policy does with a batch: at most @thr, for at most a window. */
static bool coalesces(const Model *model)
{
    const CintConfig *config = &model->config;

    if (config->policy == NVME_CINT_POLICY_VIC) {
        return false;
    }
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
    if (!model_pending(model) || !coalesces(model) || withheld(model)) {
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

static int64_t kick_end(const Model *model)
{
    return withheld(model) ? window_end(model) : CINT_NO_DEADLINE;
}

int64_t model_deadline(const Model *model)
{
    return MIN(kick_end(model),
               MIN(policy_deadline(model), hold_end(model)));
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
    bool wanted = model->config.drain == CINT_ON ||
                  (model->config.drain == CINT_AUTO &&
                   model->config.policy == NVME_CINT_POLICY_VIC);

    return wanted && !model_inflight(model);
}

unsigned model_submit(Model *model, unsigned sq)
{
    g_assert_cmpuint(model->nr_cmds, <, MODEL_CMDS);
    model->cmd[model->nr_cmds] = (ModelCmd) { .sq = sq };
    return model->nr_cmds++;
}

static CintReason policy_reason(Model *model)
{
    if (model->config.policy == NVME_CINT_POLICY_VIC) {
        return model_vic_complete(model);
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
    bool alone = !model_pending(model), pressure;
    CintReason reason;

    g_assert_cmpint(model->cmd[cmd].state, ==, MODEL_FLYING);
    g_assert_cmpuint(model->nr_cqes, <, MODEL_CQES);
    model->cmd[cmd].state = MODEL_POSTED;
    model->cqe[model->nr_cqes++] = (ModelCqe) {
        .posted = t,
        .opens_run = alone,
    };
    reason = policy_reason(model);
    pressure = pressure_is_news(model);
    if (error || pressure) {
        return fire(model, t, error ? NVME_CINT_REASON_ERROR
                                    : NVME_CINT_REASON_PRESSURE);
    }
    if (drained(model)) {
        reason = NVME_CINT_REASON_DRAIN;
    }
    return reason == NVME_CINT_REASON_NONE ? nothing
                                           : fire_gently(model, t, reason);
}

CintAction model_doorbell(Model *model, int64_t t)
{
    log_sign(model, true, t);
    return withheld(model) ? fire(model, t, NVME_CINT_REASON_KICK) : nothing;
}

CintAction model_pass_end(Model *model, int64_t t)
{
    if (model->config.policy != NVME_CINT_POLICY_DEFAULT || coalesces(model)) {
        return nothing;
    }
    return fire_gently(model, t, NVME_CINT_REASON_EACH);
}

static CintAction fire_if_drained(Model *model, int64_t t)
{
    return drained(model) ? fire_gently(model, t, NVME_CINT_REASON_DRAIN)
                          : nothing;
}

CintAction model_cancel(Model *model, unsigned cmd, int64_t t)
{
    g_assert_cmpint(model->cmd[cmd].state, ==, MODEL_FLYING);
    model->cmd[cmd].state = MODEL_CANCELLED;
    return fire_if_drained(model, t);
}

CintAction model_delete_sq(Model *model, unsigned sq, int64_t t)
{
    unsigned i;

    for (i = 0; i < model->nr_cmds; i++) {
        if (model->cmd[i].state == MODEL_FLYING && model->cmd[i].sq == sq) {
            model->cmd[i].state = MODEL_CANCELLED;
        }
    }
    return fire_if_drained(model, t);
}

CintAction model_timer(Model *model, int64_t t)
{
    if (hold_end(model) <= t) {
        return fire(model, t, NVME_CINT_REASON_MAX_HOLD);
    }
    if (kick_end(model) <= t) {
        return fire(model, t, NVME_CINT_REASON_KICK);
    }
    if (policy_deadline(model) <= t) {
        return fire_gently(model, t,
                           model->config.policy == NVME_CINT_POLICY_ADAPTIVE
                           ? NVME_CINT_REASON_QUIET : NVME_CINT_REASON_TIME);
    }
    return nothing;
}

CintAction model_configure(Model *model, int64_t t, const CintConfig *config)
{
    if (config->policy != model->config.policy) {
        model->policy_since = model->nr_cqes;
    }
    model->config = *config;
    return fire_pending(model, t, NVME_CINT_REASON_RECONF);
}

CintAction model_consume(Model *model, int64_t t, unsigned n)
{
    unsigned i;

    for (i = 0; i < model->nr_cqes && n; i++) {
        if (!model->cqe[i].consumed) {
            model->cqe[i].consumed = true;
            n--;
        }
    }
    forget_pressure(model);
    return model_doorbell(model, t);
}
