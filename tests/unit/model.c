/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A slow second engine, for comparison with the real one.
 */
#include <glib.h>

#include "model-auto.h"
#include "model-cint.h"
#include "model-storm.h"
#include "model-vic.h"
#include "model-waits.h"

static const CintAction nothing = { .fire = CINT_FIRE_NONE };

void model_init(Model *model, uint32_t size, const CintConfig *config)
{
    memset(model, 0, sizeof(*model));
    model->size = size;
    model->config = *config;
    model->slices = 1;
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

unsigned model_backlog(const Model *model)
{
    unsigned i, n = 0;

    for (i = 0; i < MODEL_SQS; i++) {
        n += model->backlog[i];
    }
    return n;
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
    return model->cqe[run_index(model)].since;
}

int64_t model_pending_since(const Model *model)
{
    int64_t since = INT64_MAX;
    unsigned i;

    for (i = 0; i < model->nr_cqes; i++) {
        if (!model->cqe[i].consumed && !model->cqe[i].covered) {
            since = MIN(since, model->cqe[i].since);
        }
    }
    return since;
}

static unsigned count_toward_thr(const Model *model)
{
    unsigned i, n = 0;

    for (i = 0; i < model->nr_cqes; i++) {
        n += !model->cqe[i].consumed && model->cqe[i].counts;
    }
    return n;
}

static ModelCqe *newest(Model *model)
{
    return &model->cqe[model->nr_cqes - 1];
}

static ModelSign *log_sign(Model *model, ModelSignKind kind, int64_t t)
{
    ModelSign *sign = &model->sign[model->nr_signs++];

    g_assert_cmpuint(model->nr_signs, <=, MODEL_SIGNS);
    *sign = (ModelSign) { .kind = kind, .t = t };
    return sign;
}

static void log_message(Model *model, int64_t t, unsigned covered)
{
    log_sign(model, model->masked ? MODEL_MASKED : MODEL_MESSAGE,
             t)->covered = covered;
}

static void log_cqe(Model *model, int64_t t, CintAsked asked)
{
    ModelSign *sign = log_sign(model, MODEL_CQE, t);

    sign->asked = asked;
    sign->delta_ns = model->config.delta_ns;
    sign->thr = MIN(model->config.thr, MAX(model->size, 3) - 2);
}

/* The last message, or NULL; says if a sign of that kind came since. */
static const ModelSign *last_message(const Model *model, ModelSignKind kind,
                                     bool *since)
{
    unsigned i;

    *since = false;
    for (i = model->nr_signs; i > 0; i--) {
        switch (model->sign[i - 1].kind) {
        case MODEL_MESSAGE:
        case MODEL_MASKED:
            return &model->sign[i - 1];
        case MODEL_RING:
        case MODEL_ACK:
            *since = *since || model->sign[i - 1].kind == kind;
            break;
        case MODEL_CQE:
            break;
        }
    }
    return NULL;
}

static int64_t window_end(const Model *model)
{
    bool rung;
    const ModelSign *message = last_message(model, MODEL_RING, &rung);

    return message && rung ?
           message->t + (int64_t)model->config.kick_window_ns : INT64_MIN;
}

static int64_t gate_end(const Model *model)
{
    bool acked;
    const ModelSign *message = last_message(model, MODEL_ACK, &acked);

    return message && !acked ?
           message->t + (int64_t)model->config.ack_gate_ns : INT64_MIN;
}

/* What the interrupt waits for that is due, if one is. */
static CintHeld held(const Model *model)
{
    unsigned i = model->nr_cqes;

    if (!model_pending(model)) {
        return CINT_HELD_NOT;
    }
    while (i-- > run_index(model)) {
        if (model->cqe[i].held) {
            return model->cqe[i].held;
        }
    }
    return CINT_HELD_NOT;
}

static void log_work(Model *model, int n)
{
    g_assert_cmpuint(model->nr_works, <, MODEL_WORKS);
    model->work[model->nr_works++] = n;
}

static int not_consumed(const Model *model)
{
    return model_inflight(model) + model_outstanding(model);
}

/* Since it was last forgotten. */
static int most(const Model *model)
{
    int most = 0;
    unsigned i = model->nr_works;

    while (i-- > 0) {
        most = MAX(most, ABS(model->work[i]) - (model->work[i] < 0));
        if (model->work[i] < 0) {
            break;
        }
    }
    return most;
}

/* Does it lack none of what it had at its best? */
static bool has_answered(const Model *model)
{
    return not_consumed(model) >= most(model);
}

/* What the most is to be: a queue that learns forgets a sixteenth of it. */
static int forget_share(const Model *model)
{
    int too_many = most(model) - not_consumed(model);

    return model_learns(model) ? most(model) - (too_many + 15) / 16
                               : not_consumed(model);
}

/* Retuning has its own; otherwise as set, or as the load wants it. */
static int64_t delta_in_force(const Model *model)
{
    ModelStorm storm = model_storm(model);

    return model_tunes(&model->config) && !storm.retuning && !model->resting ?
           model_paced_delta(model) : storm.delta_ns;
}

static uint64_t thr_in_force(const Model *model)
{
    ModelStorm storm = model_storm(model);

    return model_tunes(&model->config) && !storm.retuning ?
           model_paced_thr(model, most(model)) : storm.thr;
}

static CintAction fire(Model *model, int64_t t, CintReason reason)
{
    CintAction action = {
        .fire = CINT_FIRE_FULL,
        .reason = reason,
        .covered = model_pending(model),
    };
    unsigned i;

    model->told_since = model_pending_since(model);
    for (i = 0; i < model->nr_cqes; i++) {
        model->cqe[i].covered = true;
        model->cqe[i].counts = false;
        model->cqe[i].held = CINT_HELD_NOT;
    }
    if (t - model->submitted >= delta_in_force(model)) {
        log_work(model, -forget_share(model) - 1);
    }
    model->asleep = false;
    model->probing = false;
    model->resting = false;
    log_message(model, t, action.covered);
    return action;
}

/* For the newest CQE alone, which only stays behind another. */
static CintAction fire_urgent(Model *model, int64_t t)
{
    model->told_since = newest(model)->since;
    newest(model)->counts = model_pending(model) > 1;
    newest(model)->covered = true;
    log_message(model, t, 1);
    return (CintAction) {
        .fire = CINT_FIRE_URGENT,
        .reason = NVME_CINT_REASON_URGENT,
        .covered = 1,
    };
}

static CintAction fire_pending(Model *model, int64_t t, CintReason reason)
{
    return model_pending(model) ? fire(model, t, reason) : nothing;
}

static bool storm_holds(const Model *model, int64_t t)
{
    ModelStorm storm = model_storm(model);

    return model->config.storm == CINT_STORM_HOLD && storm.too_fast &&
           t < storm.release && !model->disabled;
}

static bool ack_withholds(const Model *model, int64_t t)
{
    return t < gate_end(model) && !model->disabled;
}

/* Fires for a reason that storm protection may hold, or the ack gate. */
static CintAction fire_limited(Model *model, int64_t t, CintReason reason)
{
    if (ack_withholds(model, t)) {
        newest(model)->held = CINT_HELD_ACK;
        return nothing;
    }
    if (storm_holds(model, t)) {
        newest(model)->held = CINT_HELD_STORM;
        return nothing;
    }
    return fire(model, t, reason);
}

static bool kick_withholds(const Model *model, int64_t t)
{
    return t < window_end(model) && !model->disabled;
}

/* Fires for a reason that the kick window, too, may withhold. */
static CintAction fire_gently(Model *model, int64_t t, CintReason reason)
{
    if (!model_pending(model)) {
        return nothing;
    }
    if (kick_withholds(model, t) && !ack_withholds(model, t)) {
        newest(model)->held = CINT_HELD_KICK;
        return nothing;
    }
    return fire_limited(model, t, reason);
}

/* Every completion moves the deadline. */
static bool is_adaptive(const Model *model)
{
    return model->config.policy == NVME_CINT_POLICY_ADAPTIVE ||
           model_hears(&model->config);
}

static bool is_static(const Model *model)
{
    return (model->config.policy == NVME_CINT_POLICY_DEFAULT ||
            model->config.policy == NVME_CINT_POLICY_STATIC) &&
           model->config.static_time_ns && model->config.static_thr;
}

static bool reached_thr(const Model *model)
{
    uint64_t thr = is_adaptive(model) ? thr_in_force(model)
                                      : model->config.static_thr;

    return count_toward_thr(model) >= MIN(thr, model->size - 2);
}

static int64_t policy_deadline(Model *model)
{
    if (!model_pending(model) || held(model)) {
        return CINT_NO_DEADLINE;
    }
    if (is_adaptive(model)) {
        return newest(model)->quiet_at;
    }
    return is_static(model) ?
           run_start(model) + (int64_t)model->config.static_time_ns :
           CINT_NO_DEADLINE;
}

static int64_t hold_end(const Model *model)
{
    if (!model_pending(model) || !model->config.max_hold_ns) {
        return CINT_NO_DEADLINE;
    }
    return run_start(model) + (int64_t)model->config.max_hold_ns;
}

static int64_t release_time(const Model *model)
{
    switch (held(model)) {
    case CINT_HELD_ACK:
        return gate_end(model);
    case CINT_HELD_KICK:
        return window_end(model);
    case CINT_HELD_STORM:
        return model_storm(model).release;
    default:
        return CINT_NO_DEADLINE;
    }
}

int64_t model_deadline(Model *model)
{
    return MIN(release_time(model),
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

static bool drains(const Model *model)
{
    return model->config.drain == CINT_ON ||
           (model->config.drain == CINT_AUTO &&
            (model->config.policy == NVME_CINT_POLICY_VIC ||
             model_hears(&model->config)));
}

bool model_nothing_comes(const Model *model)
{
    return model->asleep ||
           (!model_inflight(model) && !model_backlog(model));
}

bool model_knows_any(const Model *model)
{
    return drains(model) && model_hears(&model->config) &&
           model_barrier(&model->config) == CINT_BARRIER_RELAXED;
}

static bool drained(const Model *model)
{
    return drains(model) && model_nothing_comes(model);
}

/* Is this command the first of its queue since the last doorbell? */
static bool begins_batch(const Model *model, unsigned sq)
{
    unsigned i;

    for (i = 0; i < model->nr_cmds; i++) {
        if (model->cmd[i].sq == sq && !model->cmd[i].announced) {
            return false;
        }
    }
    return true;
}

unsigned model_submit(Model *model, unsigned sq, int64_t t, uint8_t hints,
                      bool cdw0, uint32_t page, uint8_t content)
{
    g_assert_cmpuint(model->nr_cmds, <, MODEL_CMDS);
    model->backlog[sq] = MAX(model->backlog[sq], 1) - 1;
    model->submitted = t;
    model->cmd[model->nr_cmds] = (ModelCmd) {
        .sq = sq,
        .hints = hints,
        .given = hints != NVME_CINT_HINT_NONE,
        .any = begins_batch(model, sq) && model_knows_any(model) &&
               hints == NVME_CINT_HINT_BARRIER,
        .driver_knows = cdw0,
        .page = page,
        .content = content,
        .told = model->nr_cqes - model_pending(model),
        .fetched = t,
        .cqes = model->nr_cqes,
        .cqe = -1,
    };
    model->nr_cmds++;
    model_learn(model);
    log_work(model, not_consumed(model));
    return model->nr_cmds - 1;
}

/* Says if a Barrier of the same queue waits no more. */
static bool leave(Model *model, unsigned cmd, ModelCmdState state)
{
    unsigned sq = model->cmd[cmd].sq;
    unsigned waited = model_barriers_waiting(model, sq);

    g_assert_cmpint(model->cmd[cmd].state, ==, MODEL_FLYING);
    model->cmd[cmd].state = state;
    return model_barriers_waiting(model, sq) < waited;
}

static CintReason pointer_reason(Model *model)
{
    if (model->pointer == CINT_POINTER_OFF) {
        return NVME_CINT_REASON_EACH;
    }
    if (model->pointer == CINT_POINTER_SPENT ||
        model->nr_cqes < model->pointer_at) {
        return NVME_CINT_REASON_NONE;
    }
    model->pointer = CINT_POINTER_SPENT;
    return NVME_CINT_REASON_POINTER;
}

static CintReason policy_reason(Model *model)
{
    switch (model->config.policy) {
    case NVME_CINT_POLICY_VIC:
        return model_vic_complete(model);
    case NVME_CINT_POLICY_POINTER:
        return pointer_reason(model);
    default:
        break;
    }
    if (is_adaptive(model) || is_static(model)) {
        return reached_thr(model) ? NVME_CINT_REASON_THR
                                  : NVME_CINT_REASON_NONE;
    }
    /* Only the default policy may wait for the end of the pass. */
    if (model->config.policy == NVME_CINT_POLICY_DEFAULT &&
        !model->config.each_cqe) {
        return NVME_CINT_REASON_NONE;
    }
    return NVME_CINT_REASON_EACH;
}

static void post(Model *model, int64_t t)
{
    bool alone = !model_pending(model);

    g_assert_cmpuint(model->nr_cqes, <, MODEL_CQES);
    model->cqe[model->nr_cqes++] = (ModelCqe) {
        .posted = t,
        .since = t,
        .opens_run = alone,
        .counts = true,
        .paced = model_tunes(&model->config),
        .longest_gap = 4 * model->config.delta_ns,
    };
    newest(model)->quiet_at = t + delta_in_force(model);
}

/* The two reasons that nothing holds, or neither. */
static CintReason pressing_reason(Model *model, bool error)
{
    bool pressure = pressure_is_news(model);

    if (error) {
        return NVME_CINT_REASON_ERROR;
    }
    return pressure ? NVME_CINT_REASON_PRESSURE : NVME_CINT_REASON_NONE;
}

static CintReason gentle_reason(Model *model, unsigned cmd, bool satisfied,
                                bool urgent_class)
{
    CintReason reason = NVME_CINT_REASON_NONE;

    if (model_hears(&model->config) && !model_storm(model).retuning) {
        reason = model_cint_complete(model, cmd, satisfied);
    }
    if (reason == NVME_CINT_REASON_URGENT && urgent_class &&
        model_pending(model) > 1 && reached_thr(model)) {
        return NVME_CINT_REASON_THR;
    }
    return reason == NVME_CINT_REASON_NONE ? policy_reason(model) : reason;
}

/* What would have interrupted but for thr and delta, if nothing retuned. */
static CintAsked asked_by(Model *model, unsigned cmd, bool satisfied)
{
    CintReason reason = NVME_CINT_REASON_NONE;

    if (drained(model)) {
        return CINT_ASKED_FULL;
    }
    if (model_hears(&model->config)) {
        reason = model_cint_complete(model, cmd, satisfied);
    }
    if (reason == NVME_CINT_REASON_NONE) {
        return CINT_ASKED_NOTHING;
    }
    return reason == NVME_CINT_REASON_URGENT &&
           model_may_be_urgent_class(model, cmd) ? CINT_ASKED_URGENT
                                                 : CINT_ASKED_FULL;
}

/* For this CQE alone, unless something else is due that waits. */
static CintAction complete_urgent(Model *model, int64_t t)
{
    if (held(model) || ack_withholds(model, t) || kick_withholds(model, t) ||
        storm_holds(model, t)) {
        return fire_gently(model, t, NVME_CINT_REASON_URGENT);
    }
    return fire_urgent(model, t);
}

CintAction model_complete(Model *model, unsigned cmd, int64_t t, bool error)
{
    bool satisfied = leave(model, cmd, MODEL_POSTED);
    bool urgent_class = model_is_urgent_class(model, cmd);
    bool drains = drained(model) && !model_storm(model).retuning;
    CintReason reason, pressing;

    model_learn_posted(model, cmd);
    post(model, t);
    log_cqe(model, t, asked_by(model, cmd, satisfied));
    reason = gentle_reason(model, cmd, satisfied, urgent_class);
    urgent_class = urgent_class && reason == NVME_CINT_REASON_URGENT;
    if (drains && (reason == NVME_CINT_REASON_NONE ||
                   (urgent_class && model_pending(model) > 1))) {
        reason = NVME_CINT_REASON_DRAIN;
    }
    if (model->disabled) {
        reason = NVME_CINT_REASON_EACH;
    }
    pressing = pressing_reason(model, error);
    if (pressing != NVME_CINT_REASON_NONE) {
        return fire(model, t, pressing);
    }
    if (urgent_class && !drains && !model->disabled) {
        return complete_urgent(model, t);
    }
    return reason == NVME_CINT_REASON_NONE ? nothing
                                           : fire_gently(model, t, reason);
}

static CintAction rang(Model *model, int64_t t)
{
    log_sign(model, MODEL_RING, t);
    return held(model) == CINT_HELD_KICK ?
           fire_limited(model, t, NVME_CINT_REASON_KICK) : nothing;
}

static CintAction acknowledged(Model *model, int64_t t)
{
    log_sign(model, MODEL_ACK, t);
    if (held(model) != CINT_HELD_ACK) {
        return rang(model, t);
    }
    log_sign(model, MODEL_RING, t);
    return fire_limited(model, t, NVME_CINT_REASON_KICK);
}

CintAction model_pass_end(Model *model, int64_t t)
{
    if (model->config.policy != NVME_CINT_POLICY_DEFAULT || is_static(model)) {
        return nothing;
    }
    return fire_gently(model, t, NVME_CINT_REASON_EACH);
}

static bool somebody_waits_for_any(const Model *model)
{
    unsigned i;

    for (i = 0; i < model->nr_cmds; i++) {
        if (model->cmd[i].any && model->cmd[i].state == MODEL_FLYING) {
            return true;
        }
    }
    return false;
}

static CintAction gone(Model *model, int64_t t, bool satisfied)
{
    model->asleep = model->asleep && somebody_waits_for_any(model);
    if (model_storm(model).retuning) {
        return nothing;
    }
    if (satisfied && model_hears(&model->config) &&
        model_barrier(&model->config) != CINT_BARRIER_RELAXED) {
        return fire_gently(model, t, NVME_CINT_REASON_BARRIER);
    }
    return drained(model) ? fire_gently(model, t, NVME_CINT_REASON_DRAIN)
                          : nothing;
}

static bool seems_asleep(const Model *model)
{
    return model_knows_any(model) && has_answered(model) &&
           somebody_waits_for_any(model);
}

/*
 * From when it goes to rest on the last CQE's gap ends as if delta had not
 * followed the load.
 */
static void rest(Model *model, int64_t t)
{
    int64_t set = model->config.delta_ns;
    bool rested = model->resting;
    ModelCqe *last;

    model->resting = model_tunes(&model->config) && !model->asleep &&
                     seems_asleep(model);
    if (model->resting && !rested && !model_storm(model).retuning &&
        model->nr_cqes) {
        last = newest(model);
        last->quiet_at = MIN(last->quiet_at, MAX(last->posted + set, t));
    }
}

CintAction model_doorbell(Model *model, unsigned sq, int64_t t)
{
    CintAction action = rang(model, t);

    model_infer(model, sq);
    if (!model->asleep && !model->probing && seems_asleep(model) &&
        !model_somebody_waited(model)) {
        model->probing = model_learns(model) && ++model->sleeps % 16 == 0;
        model->asleep = !model->probing;
    }
    model->asleep = model->asleep && !model_somebody_waited(model);
    rest(model, t);
    return action.fire == CINT_FIRE_NONE && model->asleep ?
           gone(model, t, false) : action;
}

CintAction model_published(Model *model, unsigned sq, int64_t t, unsigned n)
{
    bool fewer = n < model->backlog[sq];

    model->backlog[sq] = n;
    return fewer ? gone(model, t, false) : nothing;
}

CintAction model_cancel(Model *model, unsigned cmd, int64_t t)
{
    return gone(model, t, leave(model, cmd, MODEL_CANCELLED));
}

CintAction model_delete_sq(Model *model, unsigned sq, int64_t t)
{
    bool satisfied = model_barriers_waiting(model, sq) > 0;
    unsigned i;

    model->backlog[sq] = 0;
    for (i = 0; i < model->nr_cmds; i++) {
        if (model->cmd[i].sq != sq) {
            continue;
        }
        model->cmd[i].announced = true;
        if (model->cmd[i].state == MODEL_FLYING) {
            model->cmd[i].state = MODEL_CANCELLED;
        }
    }
    model_learn_delete(model, sq);
    model->born[sq] = model->nr_cmds;
    return gone(model, t, satisfied);
}

CintAction model_timer(Model *model, int64_t t)
{
    if (hold_end(model) <= t) {
        return fire(model, t, NVME_CINT_REASON_MAX_HOLD);
    }
    if (release_time(model) <= t) {
        return held(model) != CINT_HELD_STORM ?
               fire_limited(model, t, NVME_CINT_REASON_KICK) :
               fire_gently(model, t, NVME_CINT_REASON_STORM);
    }
    if (policy_deadline(model) <= t) {
        return fire_gently(model, t, is_adaptive(model)
                                     ? NVME_CINT_REASON_QUIET
                                     : NVME_CINT_REASON_TIME);
    }
    return nothing;
}

static bool same_limit(const CintConfig *a, const CintConfig *b)
{
    return model_gap(a) == model_gap(b) &&
           a->ewma_shift == b->ewma_shift && a->storm == b->storm;
}

CintAction model_configure(Model *model, int64_t t, const CintConfig *config)
{
    if (config->policy != model->config.policy) {
        model->policy_since = model->nr_cqes;
        model->pointer = CINT_POINTER_OFF;
    }
    if (!same_limit(config, &model->config)) {
        model->limit_since = model->nr_signs;
    }
    model->config = *config;
    model->asleep = false;
    model->probing = false;
    model->resting = false;
    model->submitted = t;
    log_work(model, -not_consumed(model) - 1);
    return fire_pending(model, t, NVME_CINT_REASON_RECONF);
}

CintAction model_disable(Model *model, int64_t t, bool disabled)
{
    model->disabled = disabled;
    return fire_pending(model, t, NVME_CINT_REASON_RECONF);
}

CintAction model_set_record(Model *model, int64_t t, bool has_record)
{
    bool lost = model->has_record && !has_record;

    model->has_record = has_record;
    return lost ? fire_pending(model, t, NVME_CINT_REASON_RECONF) : nothing;
}

/* All that the guest has not consumed waits for the pointer's interrupt. */
static void forget_told(Model *model, int64_t t)
{
    bool alone = !model_pending(model);
    unsigned i;

    for (i = 0; i < model->nr_cqes; i++) {
        if (model->cqe[i].covered && !model->cqe[i].consumed) {
            model->cqe[i].covered = false;
            model->cqe[i].counts = true;
            model->cqe[i].since = t;
        }
    }
    if (alone) {
        newest(model)->opens_run = true;
        newest(model)->since = t;
    }
}

CintAction model_pointer(Model *model, int64_t t, unsigned posted)
{
    CintReason reason;

    if (model->config.policy != NVME_CINT_POLICY_POINTER) {
        return nothing;
    }
    if (!posted) {
        model->pointer = CINT_POINTER_OFF;
        return fire_gently(model, t, NVME_CINT_REASON_POINTER);
    }
    model->pointer = CINT_POINTER_ARMED;
    model->pointer_at = posted;
    reason = pointer_reason(model);
    if (reason == NVME_CINT_REASON_NONE) {
        return nothing;
    }
    forget_told(model, t);
    return fire_gently(model, t, reason);
}

/* The newest @n CQEs that are left have this to them, the others do not. */
static void spread(Model *model, unsigned pending, unsigned counting)
{
    unsigned i = model->nr_cqes, n = 0;

    while (i-- > 0) {
        if (!model->cqe[i].consumed) {
            model->cqe[i].covered = n >= pending;
            model->cqe[i].counts = pending && n < counting;
            n++;
        }
    }
}

/* What was told goes first, as far as anybody can know. */
CintAction model_consume(Model *model, int64_t t, unsigned n)
{
    unsigned pending = model_pending(model);
    unsigned counting = count_toward_thr(model);
    unsigned i, left = n;

    for (i = 0; i < model->nr_cqes && left; i++) {
        if (!model->cqe[i].consumed) {
            model->cqe[i].consumed = true;
            left--;
        }
    }
    spread(model, pending, counting);
    forget_pressure(model);
    return left < n ? acknowledged(model, t) : rang(model, t);
}
