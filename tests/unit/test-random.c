/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Random streams of events, with three judges after every event:
 *  - a brute-force model (model.c) gives the same answer and deadline;
 *  - rule 1: no CQE is left behind without an interrupt or a deadline;
 *  - the law of the policy: how long a CQE may wait, how many may gather.
 *
 * The seed is printed; `--seed` repeats a run.
 */
#include <glib.h>
#include <inttypes.h>

#include "laws.h"
#include "random.h"

#define STREAMS     200
#define EVENTS      250
#define SQS         3
#define MAX_FLYING  48
#define SHOWN       16      /* events shown when a stream fails */

typedef struct Mode {
    const char *name;
    int policy;             /* the only one, or -1: any, and it changes */
    bool lazy;              /* the guest reaps when it likes */
    bool late;              /* timers come late, as in real time */
} Mode;

typedef struct Stream {
    const Mode *mode;
    CintScope scope;
    CintCq cq;
    CintSq sq[SQS];
    CintCmd cmd[MODEL_CMDS];
    CintCq other;           /* of the same controller; only counted */
    CintSq other_sq;
    CintCmd other_cmd;
    CintConfig config;      /* in force when the event came */
    Model model;
    uint32_t start;         /* index of the first CQE */
    int64_t now;
    unsigned covered;       /* CQEs told of by an interrupt */
    unsigned avoided;       /* CQEs reaped before their interrupt */
    char event[SHOWN][64];  /* a ring */
    unsigned nr_events;
    unsigned *irqs;         /* by reason, over all streams of a test */
} Stream;

static G_GNUC_PRINTF(2, 3) void note(Stream *s, const char *format, ...)
{
    char *text = s->event[s->nr_events++ % G_N_ELEMENTS(s->event)];
    va_list args;

    va_start(args, format);
    g_vsnprintf(text, sizeof(s->event[0]), format, args);
    va_end(args);
}

static G_GNUC_NORETURN void fail(const Stream *s, const char *what)
{
    GString *text = g_string_new(what);
    unsigned i = s->nr_events > SHOWN ? s->nr_events - SHOWN : 0;

    g_string_append_printf(text, "\n#   size=%" PRIu32, s->cq.size);
    describe_config(text, s->config);
    for (; i < s->nr_events; i++) {
        g_string_append_printf(text, "\n#   %s",
                               s->event[i % G_N_ELEMENTS(s->event)]);
    }
    g_assertion_message(G_LOG_DOMAIN, __FILE__, __LINE__, s->mode->name,
                        text->str);
    abort();
}

#define require(s, condition) \
    do { \
        if (!(condition)) { \
            fail(s, "does not hold: " #condition); \
        } \
    } while (0)

static void check_irq(Stream *s, CintAction irq)
{
    require(s, irq.fire == CINT_FIRE_FULL);
    require(s, irq.reason != NVME_CINT_REASON_NONE);
    require(s, irq.covered > 0);
    require(s, irq.covered <= law_most_covered(&s->model, &s->config));
    require(s, s->mode->late || s->now <=
               law_latest(&s->model, &s->config, irq.covered));
}

static void answer(Stream *s, CintAction got, CintAction want);

static void consume(Stream *s, uint32_t head, unsigned n)
{
    unsigned pending = model_pending(&s->model);
    CintAction got = cint_head(&s->cq, s->now, head);
    CintAction want = model_consume(&s->model, s->now, n);

    s->avoided += pending - model_pending(&s->model) - want.covered;
    answer(s, got, want);
}

/* Compares the engine's answer with the model's and lets the guest act. */
static void answer(Stream *s, CintAction got, CintAction want)
{
    if (got.fire != want.fire || got.reason != want.reason ||
        got.covered != want.covered) {
        note(s, "model: %s(%" PRIu32 ") engine: %s(%" PRIu32 ")",
             cint_reason_name(want.reason), want.covered,
             cint_reason_name(got.reason), got.covered);
        fail(s, "engine and model differ");
    }
    if (got.fire == CINT_FIRE_NONE) {
        return;
    }
    note(s, "%" PRId64 " irq %s(%" PRIu32 ")", s->now,
         cint_reason_name(got.reason), got.covered);
    check_irq(s, got);
    s->irqs[got.reason]++;
    s->covered += got.covered;
    if (!s->mode->lazy) {
        consume(s, s->cq.tail, model_outstanding(&s->model));
    }
}

static void check_counts(Stream *s)
{
    unsigned i, sum = 0;

    require(s, s->cq.tail == s->start + s->model.nr_cqes);
    require(s, s->cq.tail - s->cq.head == model_outstanding(&s->model));
    require(s, s->cq.pending == model_pending(&s->model));
    require(s, s->cq.inflight == model_inflight(&s->model));
    require(s, s->scope.inflight == s->cq.inflight + s->model.elsewhere);
    for (i = 0; i < SQS; i++) {
        require(s, s->sq[i].inflight == model_inflight_of(&s->model, i));
        sum += s->sq[i].inflight;
    }
    require(s, sum == s->cq.inflight);
    require(s, s->covered + s->avoided + s->cq.pending == s->model.nr_cqes);
}

/* Rule 1, read off the history and the deadline alone. */
static void check_none_stranded(Stream *s)
{
    const ModelCqe *cqe;
    unsigned i;

    for (i = 0; i < s->model.nr_cqes; i++) {
        cqe = &s->model.cqe[i];
        if (!cqe->consumed && !cqe->covered) {
            require(s, cint_deadline(&s->cq) != CINT_NO_DEADLINE);
        }
    }
}

/* Between two events, not in the middle of a posting pass. */
static void check(Stream *s)
{
    int64_t deadline = cint_deadline(&s->cq);

    check_counts(s);
    check_none_stranded(s);
    require(s, deadline == model_deadline(&s->model));
    if (s->cq.pending) {
        require(s, deadline <=
                   law_latest(&s->model, &s->config, s->cq.pending));
    } else {
        require(s, deadline == CINT_NO_DEADLINE);
    }
}

static void timer_at(Stream *s, int64_t t)
{
    s->now = t;
    note(s, "%" PRId64 " timer", t);
    answer(s, cint_timer(&s->cq, t), model_timer(&s->model, t));
    check(s);
}

static void advance(Stream *s, int64_t t)
{
    bool late = s->mode->late && one_in(2);

    while (!late && cint_deadline(&s->cq) <= t) {
        timer_at(s, MAX(cint_deadline(&s->cq), s->now));
        require(s, cint_deadline(&s->cq) > s->now);
    }
    s->now = t;
}

/* Ties and near misses are where mistakes live, so they are made often. */
static int64_t random_time(const Stream *s)
{
    int64_t deadline = cint_deadline(&s->cq), near;

    if (one_in(4)) {
        return s->now;
    }
    if (s->config.policy == NVME_CINT_POLICY_VIC && one_in(16)) {
        return s->now + pick(1, 3 * 1000 * 1000);   /* to another epoch */
    }
    if (deadline != CINT_NO_DEADLINE && one_in(2)) {
        near = deadline + pick(-1, 1);
        return MAX(s->now, near);
    }
    return s->now + pick(0, PICK_OF(2, 100, 1000, 10000));
}

static void do_submit(Stream *s)
{
    unsigned n = pick(1, 6), sq = pick(0, SQS - 1), cmd;

    note(s, "%" PRId64 " submit %u to sq %u", s->now, n, sq);
    while (n-- && s->cq.inflight < MAX_FLYING) {
        cmd = model_submit(&s->model, sq);
        answer(s, cint_submit(&s->sq[sq], &s->cmd[cmd], s->now, 0, 0),
               (CintAction) { .fire = CINT_FIRE_NONE });
    }
    answer(s, cint_doorbell(&s->sq[sq], s->now),
           model_doorbell(&s->model, s->now));
}

/* A command in flight, any of them. There is at least one. */
static unsigned random_flying(const Stream *s)
{
    unsigned left = pick(1, s->cq.inflight), i = 0;

    for (;; i++) {
        if (s->model.cmd[i].state == MODEL_FLYING && !--left) {
            return i;
        }
    }
}

static void post(Stream *s)
{
    unsigned cmd = random_flying(s);
    CintSq *sq = &s->sq[s->model.cmd[cmd].sq];
    bool error = one_in(30);

    note(s, "%" PRId64 " post%s", s->now, error ? " error" : "");
    answer(s, cint_complete(sq, &s->cmd[cmd], s->now, error),
           model_complete(&s->model, cmd, s->now, error));
}

static void do_pass(Stream *s)
{
    unsigned n = pick(1, 4);

    while (n-- && s->cq.inflight &&
           model_outstanding(&s->model) < s->cq.size - 1) {
        post(s);
    }
    /* Also a pass that posted nothing must not interrupt by itself. */
    answer(s, cint_pass_end(&s->cq, s->now),
           model_pass_end(&s->model, s->now));
}

static void do_head(Stream *s)
{
    unsigned outstanding = model_outstanding(&s->model);
    unsigned n = one_in(3) ? outstanding : pick(0, outstanding);

    if (one_in(8)) {
        note(s, "%" PRId64 " head past the tail", s->now);
        consume(s, s->cq.tail + pick(1, 1000), outstanding);
    } else {
        note(s, "%" PRId64 " head +%u", s->now, n);
        consume(s, s->cq.head + n, n);
    }
}

static void do_cancel(Stream *s)
{
    unsigned cmd;

    if (!s->cq.inflight) {
        return;
    }
    cmd = random_flying(s);
    note(s, "%" PRId64 " cancel", s->now);
    answer(s, cint_cancel(&s->sq[s->model.cmd[cmd].sq], &s->cmd[cmd], s->now),
           model_cancel(&s->model, cmd, s->now));
}

static void do_delete_sq(Stream *s)
{
    unsigned sq = pick(0, SQS - 1);

    note(s, "%" PRId64 " delete sq %u", s->now, sq);
    answer(s, cint_delete_sq(&s->sq[sq], s->now),
           model_delete_sq(&s->model, sq, s->now));
    cint_sq_init(&s->sq[sq], &s->cq);
}

static void do_configure(Stream *s)
{
    CintConfig config = random_config(s->mode->policy);

    note(s, "%" PRId64 " configure", s->now);
    answer(s, cint_configure(&s->cq, s->now, &config),
           model_configure(&s->model, s->now, &config));
    s->config = config;
}

/* Commands in flight on another queue matter to vic, as far as they count. */
static void do_elsewhere(Stream *s)
{
    unsigned n = pick(0, 40);

    note(s, "%" PRId64 " %u in flight elsewhere", s->now, n);
    for (; s->model.elsewhere < n; s->model.elsewhere++) {
        cint_submit(&s->other_sq, &s->other_cmd, s->now, 0, 0);
    }
    for (; s->model.elsewhere > n; s->model.elsewhere--) {
        cint_cancel(&s->other_sq, &s->other_cmd, s->now);
    }
}

static void do_something(Stream *s)
{
    int64_t dice = pick(1, 100);

    if (dice <= 30) {
        do_submit(s);
    } else if (dice <= 68) {
        do_pass(s);
    } else if (dice <= 82) {
        if (s->mode->lazy) {
            do_head(s);
        }
    } else if (dice <= 87) {
        do_cancel(s);
    } else if (dice <= 89) {
        do_delete_sq(s);
    } else if (dice <= 91) {
        do_configure(s);
    } else if (dice <= 95) {
        timer_at(s, s->now);
    } else if (dice <= 97) {
        do_elsewhere(s);
    }
}

static void stream_init(Stream *s, const Mode *mode, unsigned *irqs)
{
    uint32_t size = PICK_OF(2, 3, 4, 5, 8, 16, 31, 64, 256);
    unsigned i;

    memset(s, 0, sizeof(*s));
    s->mode = mode;
    s->irqs = irqs;
    s->config = random_config(mode->policy);
    cint_scope_init(&s->scope);
    cint_cq_init(&s->cq, &s->scope, size, &s->config);
    for (i = 0; i < SQS; i++) {
        cint_sq_init(&s->sq[i], &s->cq);
    }
    cint_cq_init(&s->other, &s->scope, size, &s->config);
    cint_sq_init(&s->other_sq, &s->other);
    model_init(&s->model, size, &s->config);
    /* The free-running indices wrap in every second stream. */
    s->start = one_in(2) ? 0 : UINT32_MAX - pick(0, 100);
    s->cq.head = s->cq.tail = s->start;
}

/* After the last event the deadlines still run out, and nothing is left. */
static void stream_end(Stream *s)
{
    while (cint_deadline(&s->cq) != CINT_NO_DEADLINE) {
        timer_at(s, MAX(s->now, cint_deadline(&s->cq)));
    }
    require(s, s->cq.pending == 0);
    require(s, s->covered + s->avoided == s->model.nr_cqes);
    require(s, s->mode->lazy || s->avoided == 0);
}

/* A generator that stopped generating would pass everything. */
static void check_variety(const Mode *mode, const unsigned *irqs)
{
    static const CintReason all[] = {
        NVME_CINT_REASON_DRAIN, NVME_CINT_REASON_PRESSURE,
        NVME_CINT_REASON_MAX_HOLD, NVME_CINT_REASON_ERROR,
        NVME_CINT_REASON_KICK, NVME_CINT_REASON_RECONF,
    };
    static const CintReason any[] = {
        NVME_CINT_REASON_EACH, NVME_CINT_REASON_THR,
        NVME_CINT_REASON_QUIET, NVME_CINT_REASON_TIME,
        NVME_CINT_REASON_RATIO, NVME_CINT_REASON_LOW_CIF,
        NVME_CINT_REASON_LOW_IOPS,
    };
    unsigned i;

    for (i = 0; i < NVME_CINT_NR_REASONS; i++) {
        if (irqs[i]) {
            g_test_message("%u x %s", irqs[i], cint_reason_name(i));
        }
    }
    for (i = 0; i < G_N_ELEMENTS(all); i++) {
        g_assert_cmpuint(irqs[all[i]], >, 0);
    }
    for (i = 0; mode->policy < 0 && i < G_N_ELEMENTS(any); i++) {
        g_assert_cmpuint(irqs[any[i]], >, 0);
    }
}

static void test_streams(gconstpointer mode)
{
    unsigned irqs[NVME_CINT_NR_REASONS] = { 0 };
    Stream *s = g_new(Stream, 1);
    unsigned i, event;

    for (i = 0; i < STREAMS; i++) {
        stream_init(s, mode, irqs);
        for (event = 0; event < EVENTS; event++) {
            advance(s, random_time(s));
            do_something(s);
            check(s);
        }
        stream_end(s);
    }
    check_variety(mode, irqs);
    g_free(s);
}

int main(int argc, char **argv)
{
    static const char *const policy[] = {
        "any-policy", "default", "static", "adaptive", "vic",
    };
    static Mode mode[G_N_ELEMENTS(policy) * 4];
    Mode *m = mode;
    unsigned i, kind;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < G_N_ELEMENTS(policy); i++) {
        for (kind = 0; kind < 4; kind++, m++) {
            *m = (Mode) {
                .name = g_strdup_printf("/random/%s/%s-guest%s", policy[i],
                                        kind & 1 ? "lazy" : "eager",
                                        kind & 2 ? "/late-timers" : ""),
                .policy = (int)i - 1,
                .lazy = kind & 1,
                .late = kind & 2,
            };
            g_test_add_data_func(m->name, m, test_streams);
        }
    }
    return g_test_run();
}
