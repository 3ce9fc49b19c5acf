/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What holds under any policy, whatever it decides: random streams of events
 * for each line of policy-list.h, also for those that no model knows.
 *  - Rule 1: a CQE that no interrupt has told of has a deadline.
 *  - An interrupt tells of all CQEs not told of yet, and there are some.
 *  - A deadline that has passed is not set again for the same time.
 *  - No CQE waits longer than max-hold.
 *
 * The guest has no status record, so that each interrupt is a full one.
 */
#include <glib.h>
#include <inttypes.h>

#include "random.h"

#define STREAMS     200
#define EVENTS      200
#define SQS         2
#define CMDS        32

typedef struct Stream {
    CintScope scope;
    CintCq cq;
    CintSq sq[SQS];
    CintCmd cmd[CMDS];
    int of[CMDS];               /* the SQ that it is in flight from, or -1 */
    unsigned flying;
    CintConfig config;
    int64_t now;
    uint32_t told;              /* CQEs before this index, as cq.tail */
    int64_t since[1 << 16];     /* when each CQE was posted */
    bool eager;
    unsigned irqs;
} Stream;

static G_GNUC_NORETURN void fail(const Stream *s, const char *what)
{
    GString *text = g_string_new(what);

    g_string_append_printf(text, " at %" PRId64 ", size=%" PRIu32, s->now,
                           s->cq.size);
    describe_config(text, s->config);
    g_assertion_message(G_LOG_DOMAIN, __FILE__, __LINE__, G_STRFUNC,
                        text->str);
    abort();
}

#define require(s, condition) \
    do { \
        if (!(condition)) { \
            fail(s, "does not hold: " #condition); \
        } \
    } while (0)

static uint32_t untold(const Stream *s)
{
    return s->cq.tail - MAX(s->told, s->cq.head);
}

static void reap(Stream *s, uint32_t n);

static void answer(Stream *s, CintAction got)
{
    if (got.fire == CINT_FIRE_NONE) {
        return;
    }
    require(s, got.fire == CINT_FIRE_FULL);
    require(s, got.reason != NVME_CINT_REASON_NONE);
    require(s, untold(s) > 0);
    require(s, got.covered == untold(s));
    s->told = s->cq.tail;
    s->irqs++;
    if (s->eager) {
        reap(s, s->cq.tail - s->cq.head);
    }
}

static void reap(Stream *s, uint32_t n)
{
    answer(s, cint_head(&s->cq, s->now, s->cq.head + n));
}

static void check(Stream *s)
{
    int64_t deadline = cint_deadline(&s->cq);

    if (!untold(s)) {
        require(s, deadline == CINT_NO_DEADLINE);
        return;
    }
    require(s, deadline != CINT_NO_DEADLINE);
    if (s->config.max_hold_ns) {
        int64_t oldest = s->since[MAX(s->told, s->cq.head)];

        require(s, deadline <= oldest + (int64_t)s->config.max_hold_ns);
    }
}

static void advance(Stream *s, int64_t t)
{
    while (cint_deadline(&s->cq) <= t) {
        s->now = MAX(s->now, cint_deadline(&s->cq));
        answer(s, cint_timer(&s->cq, s->now));
        require(s, cint_deadline(&s->cq) > s->now);
        check(s);
    }
    s->now = MAX(s->now, t);
}

static void do_submit(Stream *s)
{
    unsigned sq = pick(0, SQS - 1), n = pick(1, 6), i;

    for (i = 0; i < CMDS && n; i++) {
        if (s->of[i] < 0) {
            answer(s, cint_submit(&s->sq[sq], &s->cmd[i], s->now, pick(0, 3),
                                  1 << NVME_CINT_SOURCE_CDW0));
            s->of[i] = sq;
            s->flying++;
            n--;
        }
    }
    answer(s, cint_doorbell(&s->sq[sq], s->now));
}

/* A command in flight, any of them; there is one. */
static unsigned take(Stream *s, CintSq **sq)
{
    unsigned left = pick(1, s->flying), i;

    for (i = 0; s->of[i] < 0 || --left; i++) {
        continue;
    }
    *sq = &s->sq[s->of[i]];
    s->of[i] = -1;
    s->flying--;
    return i;
}

static void do_pass(Stream *s)
{
    unsigned n = pick(1, 4), cmd;
    CintSq *sq;

    while (n-- && s->flying && s->cq.tail - s->cq.head < s->cq.size - 1) {
        cmd = take(s, &sq);
        s->since[s->cq.tail] = s->now;
        answer(s, cint_complete(sq, &s->cmd[cmd], s->now, one_in(30)));
    }
    answer(s, cint_pass_end(&s->cq, s->now));
}

static void do_cancel(Stream *s)
{
    unsigned cmd;
    CintSq *sq;

    if (s->flying) {
        cmd = take(s, &sq);
        answer(s, cint_cancel(sq, &s->cmd[cmd], s->now));
    }
}

static void do_reap(Stream *s)
{
    reap(s, pick(0, s->cq.tail - s->cq.head));
}

static void do_configure(Stream *s)
{
    CintConfig config = random_config(s->config.policy);

    answer(s, cint_configure(&s->cq, s->now, &config));
    s->config = config;
}

static void do_something(Stream *s)
{
    int dice = pick(1, 100);

    if (dice <= 35) {
        do_submit(s);
    } else if (dice <= 75) {
        do_pass(s);
    } else if (dice <= 93) {
        do_reap(s);
    } else if (dice <= 97) {
        do_cancel(s);
    } else {
        do_configure(s);
    }
    check(s);
}

static void stream_init(Stream *s, int policy)
{
    unsigned i;

    memset(s, 0, sizeof(*s));
    s->config = random_config(policy);
    s->eager = one_in(2);
    cint_scope_init(&s->scope);
    cint_cq_init(&s->cq, &s->scope, PICK_OF(2, 3, 4, 8, 31, 64), &s->config);
    for (i = 0; i < SQS; i++) {
        cint_sq_init(&s->sq[i], &s->cq);
    }
    for (i = 0; i < CMDS; i++) {
        s->of[i] = -1;
    }
}

static void test_policy(gconstpointer policy)
{
    Stream *s = g_new(Stream, 1);
    unsigned i, event, irqs = 0;

    for (i = 0; i < STREAMS; i++) {
        stream_init(s, GPOINTER_TO_INT(policy));
        for (event = 0; event < EVENTS; event++) {
            int64_t deadline = cint_deadline(&s->cq);
            bool near = deadline != CINT_NO_DEADLINE && one_in(3);

            advance(s, near ? deadline + pick(-1, 1)
                            : s->now + pick(0, PICK_OF(0, 100, 10000)));
            do_something(s);
        }
        while (cint_deadline(&s->cq) != CINT_NO_DEADLINE) {
            advance(s, cint_deadline(&s->cq));
        }
        require(s, !untold(s));
        irqs += s->irqs;
    }
    /* A generator that stopped generating would pass everything. */
    g_assert_cmpuint(irqs, >, STREAMS);
    g_free(s);
}

int main(int argc, char **argv)
{
    int policy;

    g_test_init(&argc, &argv, NULL);
    for (policy = 0; policy < CINT_NR_POLICIES; policy++) {
        g_autofree char *path = g_strdup_printf("/any/%s",
                                                cint_policy_names[policy]);

        g_test_add_data_func(path, GINT_TO_POINTER(policy), test_policy);
    }
    return g_test_run();
}
