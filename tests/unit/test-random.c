/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Random streams of events, with three judges after every event:
 *  - a brute-force model (model.c) gives the same answer and deadline;
 *  - rule 1: no CQE is left behind without an interrupt or a deadline;
 *  - the law of the policy: how long a CQE may wait, how many may gather.
 *
 * Three kinds of guest: the eager one reaps everything at each interrupt; the
 * lazy one what and when it likes; the one with status records has a driver
 * that obeys them, late at times, so that interrupts merge, and in the end has
 * reaped everything by that rule alone.
 *
 * The seed is printed; `--seed` repeats a run.
 */
#include <glib.h>
#include <inttypes.h>

#include "laws.h"
#include "random.h"

#define STREAMS     100
#define EVENTS      250
#define LONG_EVENTS 800     /* what is learned takes more */
#define SQS         3
#define MAX_FLYING  48
#define PAGES       16      /* of buffers: no bucket is full */
#define FRESH_PAGES 1000    /* from here on they are used once */
#define SHOWN       16      /* events shown when a stream fails */

typedef enum Guest {
    EAGER,
    LAZY,
    RECORDS,
    NR_GUESTS,
} Guest;

typedef struct Mode {
    const char *name;
    int policy;             /* the only one, or -1: any, and it changes */
    Guest guest;
    bool late;              /* timers come late, as in real time */
    bool learns;            /* few hints are given, and the device learns */
} Mode;

/* What the guest knows of a CQE. */
typedef struct Entry {
    bool urgent;            /* it marked the command so, in CDW0 */
    bool told;              /* by a full interrupt, or, if urgent, any */
    bool reaped;
} Entry;

typedef struct Stream {
    const Mode *mode;
    CintScope scope;
    CintCq cq;
    CintSq sq[SQS];
    CintCmd cmd[MODEL_CMDS];
    bool fresh;             /* no buffer is used twice */
    bool in_turn;           /* most are a job's, one after the other */
    bool urgent[MODEL_CMDS];    /* as the driver marked it, in CDW0 */
    CintCq other;           /* of the same controller; only counted */
    CintSq other_sq;
    CintCmd other_cmd;
    CintConfig config;      /* in force when the event came */
    Model model;
    uint32_t start;         /* index of the first CQE */
    int64_t now;
    unsigned covered;       /* CQEs told of by an interrupt */
    unsigned avoided;       /* CQEs reaped before their interrupt */
    unsigned again;         /* CQEs that a pointer made wait once more */
    Entry entry[MODEL_CQES];
    unsigned full_tail;     /* the status record's, as an index into entry */
    bool interrupted;       /* and the driver has not looked yet */
    char event[SHOWN][64];  /* a ring */
    unsigned nr_events;
    unsigned *irqs;         /* by reason, over all streams of a test */
    unsigned *irqs_urgent;
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
    require(s, irq.fire == CINT_FIRE_FULL || s->cq.has_record);
    require(s, irq.reason != NVME_CINT_REASON_NONE);
    require(s, irq.covered > 0);
    require(s, irq.covered <= law_most_covered(&s->model, &s->config));
    require(s, s->mode->late || s->now <=
               law_latest(&s->model, &s->config, s->model.told_since));
}

/* What the guest can know from the interrupt and its status record. */
static void tell(Stream *s, CintAction irq)
{
    bool full = irq.fire == CINT_FIRE_FULL;
    unsigned i;

    for (i = 0; i < s->model.nr_cqes; i++) {
        s->entry[i].told |= full || s->entry[i].urgent;
    }
    if (full) {
        s->full_tail = s->model.nr_cqes;
    }
    s->interrupted = true;
    *s->irqs_urgent += !full;
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

/* The head as an index into s->entry. */
static unsigned head_of(const Stream *s)
{
    return s->cq.head - s->start;
}

/*
 * The driver's handler, some time after one interrupt or several: everything
 * before full_tail, beyond it Urgent entries only.
 */
static void do_handler(Stream *s)
{
    unsigned head = head_of(s), i;

    s->interrupted = false;
    for (i = head; i < s->model.nr_cqes; i++) {
        s->entry[i].reaped |= i < s->full_tail || s->entry[i].urgent;
    }
    while (head < s->model.nr_cqes && s->entry[head].reaped) {
        head++;
    }
    note(s, "%" PRId64 " handler: head +%u", s->now, head - head_of(s));
    if (head != head_of(s)) {
        consume(s, s->start + head, head - head_of(s));
    }
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
    note(s, "%" PRId64 " irq%s %s(%" PRIu32 ")", s->now,
         got.fire == CINT_FIRE_URGENT ? " urgent" : "",
         cint_reason_name(got.reason), got.covered);
    check_irq(s, got);
    tell(s, got);
    s->irqs[got.reason]++;
    s->covered += got.covered;
    if (s->mode->guest == EAGER) {
        consume(s, s->cq.tail, model_outstanding(&s->model));
    } else if (s->mode->guest == RECORDS && one_in(2)) {
        do_handler(s);
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
    require(s, s->cq.backlog == model_backlog(&s->model));
    require(s, s->scope.backlog == s->cq.backlog);
    for (i = 0; i < SQS; i++) {
        require(s, s->sq[i].inflight == model_inflight_of(&s->model, i));
        sum += s->sq[i].inflight;
    }
    require(s, sum == s->cq.inflight);
    require(s, s->covered + s->avoided + s->cq.pending ==
               s->model.nr_cqes + s->again);
}

/* Rule 1, read off the interrupts sent and the deadline alone. */
static void check_none_stranded(Stream *s)
{
    unsigned i;

    for (i = head_of(s); i < s->model.nr_cqes; i++) {
        require(s, s->entry[i].told ||
                   cint_deadline(&s->cq) != CINT_NO_DEADLINE);
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
        require(s, deadline <= law_latest(&s->model, &s->config,
                                          model_pending_since(&s->model)));
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

static void timer_now(Stream *s)
{
    timer_at(s, s->now);
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
    if (s->mode->learns && one_in(100)) {
        return s->now + pick(0, 100 * 1000 * 1000); /* buffers are forgotten */
    }
    if (deadline != CINT_NO_DEADLINE && one_in(2)) {
        near = deadline + pick(-1, 1);
        return MAX(s->now, near);
    }
    return s->now + pick(0, PICK_OF(2, 100, 1000, 10000));
}

/* Used once, by a job in turn and by others between, or in any order. */
static uint32_t buffer(const Stream *s)
{
    unsigned n = s->model.nr_cmds;

    return s->fresh ? FRESH_PAGES + n :
           s->in_turn && !one_in(5) ? 3 + n % (PAGES - 2) :
           pick(0, s->in_turn ? 2 : PAGES);
}

/* A command that is marked in one of the two places, in both, or in none. */
static void fetch(Stream *s, unsigned sq)
{
    bool says = !s->mode->learns || one_in(8);
    uint8_t cdw0 = !says || one_in(2) ? 0 : pick(0, 3);
    uint8_t cdw13 = says && one_in(4) ? pick(0, 3) : 0;
    uint8_t sources = (cdw0 ? 1 << NVME_CINT_SOURCE_CDW0 : 0) |
                      (cdw13 ? 1 << NVME_CINT_SOURCE_CDW13 : 0);
    bool urgent = cdw0 == NVME_CINT_HINT_URGENT;
    uint32_t page = buffer(s);
    uint8_t content = one_in(3) ? pick(0, CINT_NR_CONTENTS - 1)
                                : CINT_CONTENT_PLAIN;
    unsigned cmd = model_submit(&s->model, sq, s->now, cdw0 | cdw13, urgent,
                                page, content);

    s->urgent[cmd] = urgent;
    s->cmd[cmd].page = page;
    s->cmd[cmd].content = content;
    note(s, "%" PRId64 " submit %u to sq %u: %u %u", s->now, cmd, sq, cdw0,
         cdw13);
    answer(s, cint_submit(&s->sq[sq], &s->cmd[cmd], s->now, cdw0 | cdw13,
                          sources),
           (CintAction) { .fire = CINT_FIRE_NONE });
}

static void publish(Stream *s, unsigned sq, unsigned n)
{
    note(s, "%" PRId64 " %u published on sq %u", s->now, n, sq);
    answer(s, cint_published(&s->sq[sq], s->now, n),
           model_published(&s->model, sq, s->now, n));
}

/* More than is fetched next, or less: the tail is the guest's. */
static void do_publish(Stream *s)
{
    publish(s, pick(0, SQS - 1), one_in(2) ? 0 : pick(0, 8));
}

/* The doorbell of a batch comes at once, or after other events. */
static void do_submit(Stream *s)
{
    bool few = s->mode->learns && !one_in(8);
    unsigned n = few ? 1 : PICK_OF(0, 1, 1, 2, 4, 6);
    unsigned sq = few ? 0 : pick(0, SQS - 1);

    if (one_in(3)) {
        publish(s, sq, n);
    }
    while (n-- && s->cq.inflight < MAX_FLYING) {
        fetch(s, sq);
    }
    if (one_in(8)) {
        return;
    }
    note(s, "%" PRId64 " doorbell of sq %u", s->now, sq);
    answer(s, cint_doorbell(&s->sq[sq], s->now),
           model_doorbell(&s->model, sq, s->now));
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

    note(s, "%" PRId64 " post %u%s", s->now, cmd, error ? " error" : "");
    s->entry[s->model.nr_cqes].urgent = s->urgent[cmd];
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
    note(s, "%" PRId64 " cancel %u", s->now, cmd);
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

static CintConfig config_of(const Mode *mode)
{
    CintConfig config = random_config(mode->policy);

    if (mode->learns) {
        config.infer = PICK_OF(CINT_INFER_LEARN, CINT_INFER_BOTH);
        config.barrier = one_in(8) ? CINT_BARRIER_STRICT
                                   : CINT_BARRIER_RELAXED;
    }
    return config;
}

static void do_configure(Stream *s)
{
    CintConfig config = config_of(s->mode);

    note(s, "%" PRId64 " configure", s->now);
    answer(s, cint_configure(&s->cq, s->now, &config),
           model_configure(&s->model, s->now, &config));
    s->config = config;
}

/*
 * A guest that gives its records up reaps everything at each interrupt then,
 * and with the device's answer has been told of everything.
 */
static void do_records(Stream *s)
{
    bool on = s->mode->guest != EAGER && !one_in(4);

    note(s, "%" PRId64 " records %s", s->now, on ? "on" : "off");
    answer(s, cint_set_record(&s->cq, s->now, on),
           model_set_record(&s->model, s->now, on));
    s->full_tail = s->model.nr_cqes;
}

static void do_mask(Stream *s)
{
    s->model.masked = one_in(2);
    note(s, "%" PRId64 " vector %smasked", s->now,
         s->model.masked ? "" : "un");
    cint_set_masked(&s->cq, s->model.masked);
}

static void do_disable(Stream *s)
{
    bool disabled = one_in(3);

    note(s, "%" PRId64 " coalescing %s", s->now, disabled ? "off" : "on");
    answer(s, cint_disable(&s->cq, s->now, disabled),
           model_disable(&s->model, s->now, disabled));
}

/* One to size - 1 entries after the head: passed already, or not. */
static void do_pointer(Stream *s)
{
    unsigned ahead = pick(0, MIN(s->cq.size - 1, 12));
    unsigned target = head_of(s) + ahead;
    unsigned waiting = model_pending(&s->model);
    CintAction got, want;

    note(s, "%" PRId64 " pointer +%u", s->now, ahead);
    got = ahead ? cint_pointer(&s->cq, s->now, s->start + target)
                : cint_pointer_off(&s->cq, s->now);
    want = model_pointer(&s->model, s->now, ahead ? target : 0);
    s->again += model_pending(&s->model) + want.covered - waiting;
    answer(s, got, want);
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

static void do_reap(Stream *s)
{
    if (s->mode->guest == LAZY) {
        do_head(s);
    } else if (s->mode->guest == RECORDS && s->interrupted) {
        do_handler(s);
    }
}

static void do_something(Stream *s)
{
    static const struct {
        int weight;
        void (*event)(Stream *s);
    } events[] = {
        { 30, do_submit }, { 38, do_pass }, { 14, do_reap }, { 5, do_cancel },
        { 2, do_delete_sq }, { 2, do_configure }, { 4, timer_now },
        { 2, do_elsewhere }, { 1, do_records }, { 2, do_mask },
        { 1, do_disable }, { 4, do_pointer }, { 2, do_publish },
    };
    unsigned i = 0;
    int dice = pick(1, 107);

    while (dice > events[i].weight) {
        dice -= events[i++].weight;
    }
    events[i].event(s);
}

static void stream_init(Stream *s, const Mode *mode, unsigned *irqs,
                        unsigned *irqs_urgent)
{
    uint32_t size = PICK_OF(2, 3, 4, 5, 8, 16, 31, 64, 256);
    unsigned i;

    memset(s, 0, sizeof(*s));
    s->mode = mode;
    s->irqs = irqs;
    s->irqs_urgent = irqs_urgent;
    s->config = config_of(mode);
    cint_scope_init(&s->scope);
    cint_cq_init(&s->cq, &s->scope, size, &s->config);
    cint_cq_init(&s->other, &s->scope, size, &s->config);
    cint_sq_init(&s->other_sq, &s->other);
    model_init(&s->model, size, &s->config);
    /* The free-running indices wrap in every second stream. */
    s->start = one_in(2) ? 0 : UINT32_MAX - pick(0, 100);
    s->cq.head = s->cq.tail = s->start;
    for (i = 0; i < SQS; i++) {
        cint_sq_init(&s->sq[i], &s->cq);
    }
    s->fresh = one_in(4);
    s->in_turn = one_in(2);
    if (mode->guest == RECORDS) {
        do_records(s);
    }
}

/* After the last event the deadlines still run out, and nothing is left. */
static void stream_end(Stream *s)
{
    while (cint_deadline(&s->cq) != CINT_NO_DEADLINE) {
        timer_at(s, MAX(s->now, cint_deadline(&s->cq)));
    }
    require(s, s->cq.pending == 0);
    require(s, s->covered + s->avoided == s->model.nr_cqes + s->again);
    require(s, s->mode->guest != EAGER || s->avoided == 0);
    if (s->interrupted && s->mode->guest == RECORDS) {
        do_handler(s);
    }
    require(s, s->mode->guest == LAZY || s->cq.head == s->cq.tail);
}

/* A generator that stopped generating would pass everything. */
static void check_variety(const Mode *mode, const unsigned *irqs,
                          unsigned irqs_urgent)
{
    static const CintReason all[] = {
        NVME_CINT_REASON_DRAIN, NVME_CINT_REASON_PRESSURE,
        NVME_CINT_REASON_MAX_HOLD, NVME_CINT_REASON_ERROR,
        NVME_CINT_REASON_KICK, NVME_CINT_REASON_RECONF,
        NVME_CINT_REASON_STORM,
    };
    static const CintReason any[] = {
        NVME_CINT_REASON_EACH, NVME_CINT_REASON_THR,
        NVME_CINT_REASON_QUIET, NVME_CINT_REASON_TIME,
        NVME_CINT_REASON_RATIO, NVME_CINT_REASON_LOW_CIF,
        NVME_CINT_REASON_LOW_IOPS, NVME_CINT_REASON_URGENT,
        NVME_CINT_REASON_BARRIER, NVME_CINT_REASON_POINTER,
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
    g_test_message("%u of the urgent class", irqs_urgent);
    if (mode->policy < 0 || mode->policy == NVME_CINT_POLICY_CINT) {
        g_assert_cmpint(irqs_urgent > 0, ==, mode->guest != EAGER);
    }
}

static void test_streams(gconstpointer mode)
{
    unsigned irqs[NVME_CINT_NR_REASONS] = { 0 }, irqs_urgent = 0;
    Stream *s = g_new(Stream, 1);
    unsigned events = ((const Mode *)mode)->learns ? LONG_EVENTS : EVENTS;
    unsigned i, event;

    for (i = 0; i < STREAMS; i++) {
        stream_init(s, mode, irqs, &irqs_urgent);
        for (event = 0; event < events; event++) {
            advance(s, random_time(s));
            do_something(s);
            check(s);
        }
        stream_end(s);
    }
    check_variety(mode, irqs, irqs_urgent);
    g_free(s);
}

int main(int argc, char **argv)
{
    static const char *const policy[] = {
        "any-policy", "default", "static", "adaptive", "vic", "cint",
        "pointer", "auto", "learning",
    };
    static const char *const guest[] = {
        [EAGER] = "eager", [LAZY] = "lazy", [RECORDS] = "records",
    };
    static Mode mode[G_N_ELEMENTS(policy) * NR_GUESTS * 2];
    Mode *m = mode;
    unsigned i, kind;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < G_N_ELEMENTS(policy); i++) {
        for (kind = 0; kind < NR_GUESTS * 2; kind++, m++) {
            *m = (Mode) {
                .policy = i > NVME_CINT_POLICY_AUTO + 1 ?
                          NVME_CINT_POLICY_CINT : (int)i - 1,
                .learns = i > NVME_CINT_POLICY_AUTO,
                .guest = kind / 2,
                .late = kind % 2,
            };
            m->name = g_strdup_printf("/random/%s/%s-guest%s", policy[i],
                                      guest[m->guest],
                                      m->late ? "/late-timers" : "");
            g_test_add_data_func(m->name, m, test_streams);
        }
    }
    return g_test_run();
}
