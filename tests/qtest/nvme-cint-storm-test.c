/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Storm protection: the law of hold on the virtual clock, what goes past it,
 * what a masked vector does, and retune. Messages are counted by a device,
 * since those to a masked vector do not count for the limit.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-driver.h"

#define EACH        ",cint.policy=default"
#define CINT        ",cint.policy=cint,cint.delta=6000,cint.thr=32"
#define LIMIT_100K  ",cint.max-irq-rate=100000"
#define MS          1000000ll

enum { URGENT = NVME_CINT_HINT_URGENT };

typedef struct Storm {
    CintTest *t;
    QNvmeSq *sq;
} Storm;

static Storm boot(const char *opts)
{
    Storm s = { .t = cint_boot(opts) };
    QNvmeCq *cq = qnvme_create_cq(s.t->nvme, 1, 1024, 1);

    s.sq = qnvme_create_sq(s.t->nvme, 1, 1024, cq);
    cint_count_messages(s.t, 1);
    return s;
}

/* An Urgent read that completes at @when. */
static void completes_at(Storm *s, int64_t when)
{
    cint_run_to(s->t, when - CINT_LATENCY);
    cint_read_hint(s->t, s->sq, URGENT);
}

/* Message number @count is sent at @when; no other is sent before. */
static void message_at(Storm *s, int64_t when, uint32_t count)
{
    cint_run_to(s->t, when - 1);
    g_assert_cmpuint(cint_messages(s->t), ==, count - 1);
    cint_run_to(s->t, when);
    g_assert_cmpuint(cint_messages(s->t), ==, count);
}

static void reap_all(Storm *s)
{
    qnvme_reap(s->sq->cq, qnvme_visible(s->sq->cq));
}

static uint64_t ewma(Storm *s)
{
    return cint_record(s->t, 1).storm_ewma_ns;
}

/* Two messages 6000 ns apart, the second at time 0: the mean is 6000. */
static void start_storm(Storm *s)
{
    cint_run(s->t, 100000);
    s->t->zero = s->t->clock + 50000;
    completes_at(s, -6000);
    message_at(s, -6000, 1);
    completes_at(s, 0);
    message_at(s, 0, 2);
    reap_all(s);
}

/* ---- Vectors ---- */

/* V9: weight 1/128, the first interval seeds the mean. */
static void test_ewma(void)
{
    static const int64_t times[] = { 0, 6667, 26667, 46667, 66667 };
    static const uint64_t means[] = { 0, 6667, 6771, 6874, 6977 };
    Storm s = boot(CINT_PURE EACH LIMIT_100K ",cint.ewma-shift=7");
    int i;

    cint_zero(s.t);
    for (i = 0; i < ARRAY_SIZE(times); i++) {
        completes_at(&s, times[i] + 1000);
        message_at(&s, times[i] + 1000, i + 1);
        g_assert_cmpuint(ewma(&s), >=, means[i]);
        g_assert_cmpuint(ewma(&s), <=, means[i] + 1);
        reap_all(&s);
    }
    cint_shutdown(s.t);
}

/* An idle gap counts as twice the limit's interval, not as itself. */
static void test_idle_gap(void)
{
    Storm s = boot(CINT_PURE EACH LIMIT_100K ",cint.ewma-shift=1");

    start_storm(&s);
    completes_at(&s, CINT_SECOND);
    message_at(&s, CINT_SECOND, 3);
    g_assert_cmpuint(ewma(&s), ==, (6000 + 20000) / 2);
    cint_shutdown(s.t);
}

/* V11 */
static void test_hold(void)
{
    static const int64_t times[] = { 1000, 7667, 14334, 21001, 27668, 60000 };
    static const struct {
        int64_t when;
        uint32_t covered;
    } messages[] = { { 10000, 2 }, { 20000, 1 }, { 30000, 2 }, { 60000, 1 } };
    Storm s = boot(CINT_PURE CINT LIMIT_100K);
    int i, next = 0;

    start_storm(&s);
    for (i = 0; i < ARRAY_SIZE(messages); i++) {
        while (next < ARRAY_SIZE(times) &&
               times[next] - CINT_LATENCY < messages[i].when) {
            completes_at(&s, times[next++]);
        }
        message_at(&s, messages[i].when, i + 3);
        g_assert_cmpuint(qnvme_visible(s.sq->cq), ==, messages[i].covered);
        reap_all(&s);
    }
    cint_run(s.t, CINT_SECOND);
    g_assert_cmpuint(cint_messages(s.t), ==, 6);
    cint_expect_reason(s.t, s.sq->cq, STORM, 3);
    cint_expect_reason(s.t, s.sq->cq, URGENT, 3);
    g_assert_cmpuint(cint_record(s.t, 1).storm_held, ==, 3);
    cint_shutdown(s.t);
}

/* ---- The law of hold ---- */

#define LIMIT       1000
#define SHIFT       3
#define WINDOW      (128 * MS)  /* 16 * 2^SHIFT / LIMIT, at least 100 ms */
#define LAW         CINT_PURE CINT ",cint.max-irq-rate=1000,cint.ewma-shift=3"

/*
 * Completions from now on, as @gaps says; the guest reaps when a message has
 * come. Returns when each message was noticed.
 */
static GArray *load(Storm *s, const int64_t *gaps, int nr_gaps, int64_t until)
{
    GArray *seen = g_array_new(false, false, sizeof(int64_t));
    uint32_t count = cint_messages(s->t);
    int i;

    for (i = 0; cint_now(s->t) < until; i++) {
        uint32_t now_seen;

        cint_read_hint(s->t, s->sq, URGENT);
        cint_run(s->t, gaps[i % nr_gaps]);
        now_seen = cint_messages(s->t);
        if (now_seen != count) {
            reap_all(s);
        }
        for (; count < now_seen; count++) {
            int64_t now = cint_now(s->t);

            g_array_append_val(seen, now);
        }
    }
    return seen;
}

static void expect_law(const GArray *seen, int64_t window, double most)
{
    const int64_t *times = (const int64_t *)seen->data;
    guint first = 0, last;

    for (last = 0; last < seen->len; last++) {
        while (times[last] - times[first] >= window) {
            first++;
        }
        g_assert_cmpfloat(last - first + 1, <=, most + 1);
    }
}

static void test_law_in_a_storm(void)
{
    static const int64_t gaps[] = { 200000, 300000, 100000, 200000 };
    Storm s = boot(LAW);
    GArray *seen;

    cint_zero(s.t);
    seen = load(&s, gaps, ARRAY_SIZE(gaps), 700 * MS);
    expect_law(seen, WINDOW, 1.05 * LIMIT * WINDOW / CINT_SECOND);
    /* And it does not hold back more than it has to. */
    g_assert_cmpuint(seen->len, >, 0.95 * LIMIT * 700 * MS / CINT_SECOND);
    g_array_free(seen, true);
    cint_shutdown(s.t);
}

/*
 * Starts un-throttled, and stays so while the rate is below the limit. In
 * pairs, which a limiter of each interval would spread.
 */
static void test_law_below_the_limit(void)
{
    static const int64_t gaps[] = { 1700000, 500000 };
    Storm s = boot(LAW);
    GArray *seen;

    cint_zero(s.t);
    seen = load(&s, gaps, ARRAY_SIZE(gaps), 400 * MS);
    g_assert_cmpuint(seen->len, ==, cint_record(s.t, 1).cqes);
    cint_expect_reason(s.t, s.sq->cq, URGENT, seen->len);
    g_assert_cmpuint(cint_record(s.t, 1).storm_held, ==, 0);
    g_array_free(seen, true);
    cint_shutdown(s.t);
}

static void test_law_lets_go(void)
{
    static const int64_t storm[] = { 200000 };
    static const int64_t pairs[] = { 500000, 1700000 };
    Storm s = boot(LAW);
    uint64_t held;
    GArray *seen;

    cint_zero(s.t);
    g_array_free(load(&s, storm, 1, 300 * MS), true);
    g_assert_cmpuint(cint_record(s.t, 1).storm_held, >, 100);
    cint_run(s.t, 5 * MS);
    reap_all(&s);
    /* 10 * 2^SHIFT interrupts at 909 a second. */
    g_array_free(load(&s, pairs, ARRAY_SIZE(pairs), cint_now(s.t) + 88 * MS),
                 true);
    held = cint_record(s.t, 1).storm_held;
    seen = load(&s, pairs, ARRAY_SIZE(pairs), cint_now(s.t) + 200 * MS);
    g_assert_cmpuint(cint_record(s.t, 1).storm_held, ==, held);
    g_assert_cmpuint(seen->len, >=, 180);
    g_array_free(seen, true);
    cint_shutdown(s.t);
}

/* ---- What goes past it ---- */

static void test_error_passes(void)
{
    Storm s = boot(CINT_PURE CINT LIMIT_100K);

    start_storm(&s);
    completes_at(&s, 1000);
    cint_run_to(s.t, 2000);
    g_assert_cmpuint(cint_messages(s.t), ==, 2);
    qnvme_push_invalid(s.sq);
    qnvme_ring_sq(s.sq);
    cint_run_to(s.t, 2001);
    g_assert_cmpuint(cint_messages(s.t), ==, 3);
    cint_expect_reason(s.t, s.sq->cq, ERROR, 1);
    cint_run_to(s.t, CINT_SECOND);
    g_assert_cmpuint(cint_messages(s.t), ==, 3);
    cint_shutdown(s.t);
}

static void test_max_hold_passes(void)
{
    Storm s = boot(CINT_PURE CINT LIMIT_100K ",cint.max-hold=3000");

    start_storm(&s);
    completes_at(&s, 1000);
    message_at(&s, 4000, 3);
    cint_expect_reason(s.t, s.sq->cq, MAX_HOLD, 1);
    cint_shutdown(s.t);
}

static void test_reconfigure_passes(void)
{
    Storm s = boot(CINT_PURE CINT LIMIT_100K);

    start_storm(&s);
    completes_at(&s, 1000);
    cint_run_to(s.t, 2000);
    cint_set_number(s.t, "cint.thr", 5);
    g_assert_cmpuint(cint_messages(s.t), ==, 3);
    cint_expect_reason(s.t, s.sq->cq, RECONF, 1);
    cint_shutdown(s.t);
}

/* Nothing in flight is no reason to pass. */
static void test_drain_is_held(void)
{
    Storm s = boot(CINT_PURE CINT LIMIT_100K ",cint.drain=on");

    start_storm(&s);
    completes_at(&s, 1000);
    message_at(&s, 10000, 3);
    cint_expect_reason(s.t, s.sq->cq, STORM, 1);
    cint_shutdown(s.t);
}

/* What is released is a full interrupt, also for Urgent entries only. */
static void test_released_is_full(void)
{
    Storm s = boot(CINT_PURE CINT LIMIT_100K);
    uint64_t records = cint_records_on(s.t, 2);

    start_storm(&s);
    g_assert_cmpuint(cint_status(s.t, records, 1).class, ==,
                     CINT_CLASS_URGENT);
    completes_at(&s, 1000);
    message_at(&s, 10000, 3);
    g_assert_cmpuint(cint_status(s.t, records, 1).class, ==, CINT_CLASS_FULL);
    g_assert_cmpuint(cint_status(s.t, records, 1).full_tail, ==, 3);
    g_assert_cmpuint(cint_record(s.t, 1).irqs_urgent, ==, 2);
    cint_shutdown(s.t);
}

/* A guest that reaps while one is held needs none. */
static void test_reaped_while_held(void)
{
    Storm s = boot(CINT_PURE CINT LIMIT_100K);

    start_storm(&s);
    completes_at(&s, 1000);
    cint_run_to(s.t, 2000);
    reap_all(&s);
    cint_run_to(s.t, CINT_SECOND);
    g_assert_cmpuint(cint_messages(s.t), ==, 2);
    g_assert_cmpuint(cint_record(s.t, 1).avoided, ==, 1);
    cint_shutdown(s.t);
}

/* What goes to a masked vector disturbs nobody. */
static void test_masked(void)
{
    CintTest *t = cint_boot(CINT_PURE CINT LIMIT_100K);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    cint_zero(t);
    for (i = 1; i <= 40; i++) {
        cint_run_to(t, i * 1000 - CINT_LATENCY);
        cint_read_hint(t, sq, URGENT);
        cint_expect_irq_at(t, sq->cq, i * 1000);
        qnvme_reap(sq->cq, 1);
    }
    g_assert_cmpuint(cint_record(t, 1).storm_ewma_ns, ==, 0);
    g_assert_cmpuint(cint_record(t, 1).storm_held, ==, 0);
    g_assert_cmpuint(cint_record(t, 1).irqs_masked, ==, 40);
    cint_shutdown(t);
}

/* ---- Retune ---- */

#define RETUNE \
    CINT_PURE ",cint.policy=cint,cint.delta=6000,cint.thr=4," \
    "cint.max-irq-rate=1000,cint.ewma-shift=3,cint.storm=retune"

static void test_retune(void)
{
    static const int64_t storm[] = { 100000 };
    static const int64_t calm[] = { 3000000 };
    Storm s = boot(RETUNE);
    NvmeCintLogRecord r;
    GArray *seen;

    cint_zero(s.t);
    g_array_free(load(&s, storm, 1, 100 * MS), true);
    r = cint_record(s.t, 1);
    g_assert_cmpuint(r.thr, >, 4);
    g_assert_cmpuint(r.delta_ns, >, 6000);
    g_assert_cmpuint(r.storm_held, ==, 0);
    /* 10000 Urgent completions a second, coalesced as others are. */
    seen = load(&s, storm, 1, 400 * MS);
    g_assert_cmpuint(seen->len, >, 0.95 * LIMIT * 300 * MS / CINT_SECOND);
    g_assert_cmpuint(seen->len, <, 1.05 * LIMIT * 300 * MS / CINT_SECOND);
    g_array_free(seen, true);
    cint_expect_reason(s.t, s.sq->cq, STORM, 0);

    g_array_free(load(&s, calm, 1, cint_now(s.t) + 300 * MS), true);
    r = cint_record(s.t, 1);
    g_assert_cmpuint(r.thr, ==, 4);
    g_assert_cmpuint(r.delta_ns, ==, 6000);
    /* Urgent commands are heard again. */
    cint_run(s.t, 5 * MS);
    reap_all(&s);
    r = cint_record(s.t, 1);
    cint_zero(s.t);
    completes_at(&s, 1000);
    message_at(&s, 1000, r.irqs_full + 1);
    cint_expect_reason(s.t, s.sq->cq, URGENT,
                       r.irqs_by_reason[NVME_CINT_REASON_URGENT] + 1);
    cint_shutdown(s.t);
}

/* A changed limit starts from nothing, and with D0h as with the property. */
static void test_limit_changes(void)
{
    Storm s = boot(CINT_PURE CINT LIMIT_100K);
    NvmeCintFeature f;

    start_storm(&s);
    f = cint_get_config(s.t, 1, 0);
    g_assert_cmpuint(le32_to_cpu(f.max_irq_rate), ==, 100000);
    g_assert_cmpuint(f.ewma_shift, ==, 7);
    g_assert_cmphex(f.flags & NVME_CINT_FLAG_STORM_RETUNE, ==, 0);
    completes_at(&s, 1000);
    cint_run_to(s.t, 2000);
    f.max_irq_rate = 0;
    g_assert_cmphex(cint_set_config(s.t, 1, &f), ==, 0);
    g_assert_cmpuint(cint_messages(s.t), ==, 3);
    completes_at(&s, 3000);
    message_at(&s, 3000, 4);
    f.max_irq_rate = cpu_to_le32(50000);
    g_assert_cmphex(cint_set_config(s.t, 1, &f), ==, 0);
    g_assert_cmpuint(ewma(&s), ==, 0);
    completes_at(&s, 4000);
    message_at(&s, 4000, 5);
    completes_at(&s, 5000);
    message_at(&s, 5000, 6);
    completes_at(&s, 6000);
    message_at(&s, 25000, 7);
    cint_shutdown(s.t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/storm/" name, run)
    ADD("ewma/V9", test_ewma);
    ADD("ewma/idle-gap-is-clamped", test_idle_gap);
    ADD("hold/V11", test_hold);
    ADD("hold/rate-in-a-storm", test_law_in_a_storm);
    ADD("hold/nothing-below-the-limit", test_law_below_the_limit);
    ADD("hold/lets-go", test_law_lets_go);
    ADD("hold/errors-pass", test_error_passes);
    ADD("hold/max-hold-passes", test_max_hold_passes);
    ADD("hold/reconfiguration-passes", test_reconfigure_passes);
    ADD("hold/drain-is-held", test_drain_is_held);
    ADD("hold/releases-a-full-interrupt", test_released_is_full);
    ADD("hold/reaped-meanwhile", test_reaped_while_held);
    ADD("masked/does-not-count", test_masked);
    ADD("retune/raises-and-returns", test_retune);
    ADD("limit/changes-at-once", test_limit_changes);
#undef ADD
    return g_test_run();
}
