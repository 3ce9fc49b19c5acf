/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy vic and the kick window, through the device: delivery ratios that
 * follow from commands really in flight, epochs, and doorbells that release
 * what the kick window withholds. The times were worked out by hand.
 */
#include "qemu/osdep.h"
#include "nvme-cint-common.h"

/* Nothing but vic's own rules speaks: drain off, the hold limit far away. */
#define VIC         CINT_EXACT ",cint.policy=vic,cint.drain=off," \
                    "cint.max-hold=10000000000"
/* Ratios that follow from the commands in flight alone. */
#define VIC_RATIO   VIC ",cint.epoch=10,cint.iops-threshold=0"
#define EPOCH_NS    10000000
#define GAP_NS      1000
#define ENTRIES     256
#define MAX_IRQS    12

typedef struct Interrupt {
    int64_t when;       /* ns */
    uint32_t covered;   /* CQEs posted since the one before */
} Interrupt;

/* A stream of reads; the ratio holds from its first completion on, at 1000. */
typedef struct Stream {
    const char *name;
    const char *opts;
    uint32_t depth;         /* commands in flight at the first completion */
    uint32_t up, skip;      /* the ratio that follows from it */
    uint32_t completions;   /* looked at */
    Interrupt interrupts[MAX_IRQS];
} Stream;

static const Stream streams[] = {
    {
        "V7-ratio-3-4", VIC_RATIO, 8, 3, 4, 8,
        { { 1000, 1 }, { 2000, 1 }, { 4000, 2 }, { 5000, 1 }, { 6000, 1 },
          { 8000, 2 } },
    }, {
        "V7-ratio-1-5", VIC_RATIO, 40, 1, 5, 10,
        { { 5000, 5 }, { 10000, 5 } },
    }, {
        "V7-ratio-2-3", VIC_RATIO, 12, 2, 3, 6,
        { { 1000, 1 }, { 3000, 2 }, { 4000, 1 }, { 6000, 2 } },
    }, {
        "V7-ratio-1-1", VIC_RATIO, 3, 1, 1, 5,
        { { 1000, 1 }, { 2000, 1 }, { 3000, 1 }, { 4000, 1 }, { 5000, 1 } },
    }, {
        "V7-ratio-4-5", VIC_RATIO, 4, 4, 5, 10,
        { { 1000, 1 }, { 2000, 1 }, { 3000, 1 }, { 5000, 2 }, { 6000, 1 },
          { 7000, 1 }, { 8000, 1 }, { 10000, 2 } },
    }, {
        "max-skip-bounds-the-ratio", VIC_RATIO ",cint.max-skip=3", 40, 1, 3, 9,
        { { 3000, 3 }, { 6000, 3 }, { 9000, 3 } },
    }, {
        "coarse-ratios-begin-at-a-half", VIC_RATIO ",cint.vic-ratios=coarse",
        8, 1, 2, 6,
        { { 2000, 2 }, { 4000, 2 }, { 6000, 2 } },
    }, {
        "cif-threshold-scales-the-ratio", VIC_RATIO ",cint.cif-threshold=10",
        40, 1, 2, 6,
        { { 2000, 2 }, { 4000, 2 }, { 6000, 2 } },
    }, {
        "scope-cq-counts-alike-with-one-queue",
        VIC_RATIO ",cint.vic-scope=cq", 40, 1, 5, 10,
        { { 5000, 5 }, { 10000, 5 } },
    }, {
        /* One completion in the epoch's 10 ms: too few to coalesce. */
        "low-iops-delivers-each", VIC ",cint.epoch=10", 40, 1, 1, 5,
        { { 1000, 1 }, { 2000, 1 }, { 3000, 1 }, { 4000, 1 }, { 5000, 1 } },
    },
};

static QNvmeSq *big_queues(CintTest *t, uint16_t id)
{
    QNvmeCq *cq = qnvme_create_cq(t->nvme, id, ENTRIES, id);

    return qnvme_create_sq(t->nvme, id, ENTRIES, cq);
}

/*
 * Submits a read every GAP_NS so that @depth are in flight when the first one
 * completes, at time GAP_NS. The epoch ends just before.
 */
static QNvmeSq *start_stream(CintTest *t, uint32_t depth)
{
    QNvmeSq *sq = big_queues(t, 1);
    int64_t i;

    cint_set_number(t, "cint.media.read-latency", depth * GAP_NS);
    t->zero = EPOCH_NS;
    for (i = depth - 1; i >= 0; i--) {
        cint_run_to(t, -i * GAP_NS);
        cint_read(t, sq, 1);
    }
    return sq;
}

/*
 * Completions come every GAP_NS from now on, interrupts when @irq says. With
 * @refill each completion is followed by a new command.
 */
static void expect_interrupts(CintTest *t, QNvmeSq *sq, const Interrupt *irq,
                              uint32_t completions, bool refill)
{
    int64_t start = cint_now(t);
    uint32_t i;

    for (i = 1; i <= completions; i++) {
        int64_t after = i * GAP_NS;

        if (irq->when != after) {
            cint_expect_quiet_to(t, sq->cq, start + after);
        } else {
            cint_expect_irq_at(t, sq->cq, start + after);
            g_assert_cmpuint(qnvme_visible(sq->cq), ==, irq->covered);
            qnvme_reap(sq->cq, irq->covered);
            irq++;
        }
        if (refill) {
            cint_read(t, sq, 1);
        }
    }
    g_assert_cmpint(irq->when, ==, 0);
}

static void expect_ratio(CintTest *t, uint16_t cqid, uint32_t up,
                         uint32_t skip)
{
    NvmeCintLogRecord r = cint_record(t, cqid);

    g_assert_cmpuint(r.ratio_up, ==, up);
    g_assert_cmpuint(r.ratio_skip, ==, skip);
}

static void test_stream(const void *opaque)
{
    const Stream *s = opaque;
    CintTest *t = cint_boot(s->opts);
    QNvmeSq *sq = start_stream(t, s->depth);

    expect_interrupts(t, sq, s->interrupts, s->completions, true);
    expect_ratio(t, 1, s->up, s->skip);
    cint_check_record(t, 1);
    cint_shutdown(t);
}

/*
 * The stream of ratio 1/5 runs dry. The last interrupt before 12 are left in
 * flight comes with the 30th; then 5000 and 10000 later, when three are left
 * with the one that completes, and one each for the last two.
 */
static void test_drained_stream(void)
{
    static const Interrupt before[] = {
        { 5000, 5 }, { 10000, 5 }, { 15000, 5 }, { 20000, 5 }, { 25000, 5 },
        { 30000, 5 }, { 0 },
    };
    static const Interrupt drain[] = {
        { 5000, 5 }, { 10000, 5 }, { 11000, 1 }, { 12000, 1 }, { 0 },
    };
    CintTest *t = cint_boot(VIC_RATIO);
    QNvmeSq *sq = start_stream(t, 42);

    expect_interrupts(t, sq, before, 30, false);
    expect_interrupts(t, sq, drain, 12, false);
    cint_expect_reason(t, sq->cq, RATIO, 7);
    cint_expect_reason(t, sq->cq, LOW_CIF, 3);
    cint_shutdown(t);
}

/* All at once in flight, with the end of an epoch just before they are done. */
static void test_ratios_of_depths(void)
{
    static const struct {
        uint32_t cif, up, skip;
    } map[] = {
        { 3, 1, 1 }, { 4, 4, 5 }, { 7, 4, 5 }, { 8, 3, 4 }, { 11, 3, 4 },
        { 12, 2, 3 }, { 15, 2, 3 }, { 16, 1, 2 }, { 23, 1, 2 }, { 24, 1, 3 },
        { 64, 1, 8 }, { 128, 1, 16 }, { 135, 1, 16 }, { 136, 1, 17 },
    };
    CintTest *t = cint_boot(VIC_RATIO);
    QNvmeSq *sq = big_queues(t, 1);
    int i;

    for (i = 0; i < ARRAY_SIZE(map); i++) {
        cint_run(t, EPOCH_NS + 1);
        cint_read(t, sq, map[i].cif);
        cint_run(t, CINT_LATENCY);
        expect_ratio(t, 1, map[i].up, map[i].skip);
        qnvme_take_irq(t->nvme, 1);
        qnvme_reap(sq->cq, map[i].cif);
    }
    cint_shutdown(t);
}

/* ---- Epochs ---- */

/*
 * 50 000 completions/s with ten in flight. 200 ms are over when more than
 * that has passed, at 200 020 us; the third and seventh completion from there
 * are skipped (ratio 3/4). Until then each one has a message.
 */
static void test_epoch(void)
{
    const int64_t gap = 20000;
    CintTest *t = cint_boot(VIC);
    QNvmeSq *sq = big_queues(t, 1);
    uint32_t submitted = 0, messages = 0;
    int64_t when;
    int i;

    cint_set_number(t, "cint.media.read-latency", 10 * gap);
    cint_count_messages(t, 1);
    t->zero = 0;
    for (when = cint_now(t); when <= 200000000; when += gap) {
        cint_run_to(t, when);
        cint_read(t, sq, 1);
        submitted++;
        if (submitted % 50 == 0) {
            qnvme_reap(sq->cq, qnvme_visible(sq->cq));
        }
    }
    messages = cint_messages(t);
    /* Nine are on their way, and the read of right now. */
    g_assert_cmpuint(messages, ==, submitted - 10);
    expect_ratio(t, 1, 1, 1);
    for (i = 1; i <= 8; i++, when += gap) {
        cint_run_to(t, when);
        cint_read(t, sq, 1);
        messages += i != 3 && i != 7;
        g_assert_cmpuint(cint_messages(t), ==, messages);
    }
    expect_ratio(t, 1, 3, 4);
    cint_shutdown(t);
}

/* 1000 completions/s: none is skipped, however many are in flight. */
static void test_slow_completions(void)
{
    const int64_t gap = 1000000;
    CintTest *t = cint_boot(VIC);
    QNvmeSq *sq = big_queues(t, 1);
    uint32_t i;

    cint_set_number(t, "cint.media.read-latency", 32 * gap);
    cint_count_messages(t, 1);
    for (i = 0; i < 1000; i++) {
        cint_read(t, sq, 1);
        cint_run(t, gap);
        g_assert_cmpuint(cint_messages(t), ==, i < 31 ? 0 : i - 30);
        if (i % 50 == 0) {
            qnvme_reap(sq->cq, qnvme_visible(sq->cq));
        }
    }
    g_assert_cmpuint(cint_reason_count(t, 1, NVME_CINT_REASON_LOW_IOPS), >,
                     700);
    cint_shutdown(t);
}

/* ---- Scopes ---- */

/*
 * Ten commands of another queue in flight, none of this one but the read that
 * completes. Reads take 400 ns, writes a second.
 */
static CintTest *boot_with_busy_neighbour(const char *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *other = cint_queues(t, 2);
    int i;

    cint_set_number(t, "cint.media.write-latency", CINT_SECOND);
    for (i = 0; i < 10; i++) {
        qnvme_push_write(other, &t->buf, 0, 4096);
    }
    qnvme_ring_sq(other);
    cint_run(t, EPOCH_NS);
    cint_zero(t);
    return t;
}

static void test_scope_controller(void)
{
    CintTest *t = boot_with_busy_neighbour(
        VIC_RATIO ",cint.vic-ratios=coarse");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_expect_quiet_to(t, sq->cq, CINT_LATENCY + 5000);
    expect_ratio(t, 1, 1, 2);
    expect_ratio(t, 2, 1, 2);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 1);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, 2 * CINT_LATENCY + 5000);
    cint_expect_reason(t, sq->cq, RATIO, 1);
    cint_shutdown(t);
}

static void test_scope_cq(void)
{
    CintTest *t = boot_with_busy_neighbour(
        VIC_RATIO ",cint.vic-ratios=coarse,cint.vic-scope=cq");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_reason(t, sq->cq, LOW_CIF, 1);
    expect_ratio(t, 1, 1, 1);
    cint_shutdown(t);
}

/*
 * A scope that nothing completed in delivers all, also one that an operator
 * has just chosen for queues that there are.
 */
static void test_scope_chosen_meanwhile(void)
{
    CintTest *t = cint_boot(VIC_RATIO);

    cint_queues(t, 1);
    expect_ratio(t, 1, 1, 1);
    cint_set_word(t, "cint.vic-scope", "cq");
    expect_ratio(t, 1, 1, 1);
    cint_set_word(t, "cint.vic-scope", "controller");
    expect_ratio(t, 1, 1, 1);
    cint_shutdown(t);
}

/* By default what is left when a queue runs empty does not wait. */
static void test_drain_beside_busy_neighbour(void)
{
    CintTest *t = boot_with_busy_neighbour(
        VIC_RATIO ",cint.vic-ratios=coarse,cint.drain=auto");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_reason(t, sq->cq, DRAIN, 1);
    cint_shutdown(t);
}

/* The policy has no timer; the hold limit is what bounds a skipped CQE. */
static void test_max_hold_bounds_the_wait(void)
{
    CintTest *t = boot_with_busy_neighbour(
        VIC_RATIO ",cint.vic-ratios=coarse,cint.max-hold=30000");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 30000);
    cint_expect_reason(t, sq->cq, MAX_HOLD, 1);
    cint_shutdown(t);
}

/* The queue whose commands made vic wait goes away, the waiting CQE stays. */
static void test_neighbour_deleted(void)
{
    CintTest *t = boot_with_busy_neighbour(
        VIC_RATIO ",cint.vic-ratios=coarse,cint.max-hold=30000");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_run(t, 1000);
    qnvme_delete_sq(t->nvme->sqs[2]);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 1);
    g_assert_cmpuint(cint_record(t, 2).inflight, ==, 0);
    cint_shutdown(t);
}

/*
 * The hazard tests say something about vic only if it holds something back:
 * of three reads at once it skips the first, delivers the second by its
 * ratio, and the last because nothing else is in flight.
 */
static void test_cases_hold_back(void)
{
    const CintCase *c;

    for (c = cint_cases; c->name; c++) {
        CintTest *t;
        QNvmeSq *sq;

        if (!strstr(c->opts, "policy=vic,")) {
            continue;
        }
        t = cint_boot(c->opts);
        sq = cint_queues(t, 1);
        cint_read(t, sq, 3);
        cint_let_run(t);
        cint_run(t, 1000);
        cint_let_run(t);
        cint_expect_reason(t, sq->cq, RATIO, 1);
        g_assert_cmpuint(cint_record(t, 1).irqs_full, ==, 2);
        cint_shutdown(t);
    }
}

/* ---- What does not go together ---- */

static void test_max_hold_stays_on(void)
{
    CintTest *t = cint_boot(VIC);
    QNvmeSq *sq = cint_queues(t, 1);
    g_autofree char *first = cint_set_number_error(t, "cint.max-hold", 0);
    g_autofree char *second = NULL;

    g_assert_nonnull(strstr(first, "max-hold"));
    g_assert_nonnull(strstr(first, "vic"));
    cint_set_word(t, "cint.policy", "adaptive");
    cint_set_number(t, "cint.max-hold", 0);
    second = cint_set_word_error(t, "cint.policy", "vic");
    g_assert_cmpstr(second, ==, first);
    cint_set_number(t, "cint.max-hold", 1000);
    cint_set_word(t, "cint.policy", "vic");
    cint_read(t, sq, 5);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 5);
    cint_shutdown(t);
}

/* What was in flight before a reset is so no more, and asks for no ratio. */
static void test_reset(void)
{
    CintTest *t = cint_boot(VIC_RATIO);
    QNvmeSq *sq = big_queues(t, 1);
    int64_t i;

    cint_set_number(t, "cint.media.read-latency", CINT_SECOND);
    cint_read(t, sq, 40);
    cint_run(t, GAP_NS);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    cint_set_number(t, "cint.media.read-latency", GAP_NS);
    sq = big_queues(t, 1);
    cint_zero(t);
    for (i = 1; i <= 10; i++) {
        cint_run_to(t, i * EPOCH_NS);
        cint_read(t, sq, 1);
        cint_expect_irq_at(t, sq->cq, i * EPOCH_NS + GAP_NS);
    }
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(streams); i++) {
        g_autofree char *path = g_strdup_printf("/nvme-cint/vic/stream/%s",
                                                streams[i].name);

        qtest_add_data_func(path, &streams[i], test_stream);
    }
#define ADD(name, run)  qtest_add_func("/nvme-cint/vic/" name, run)
    ADD("stream/V7-drain-delivers-the-last", test_drained_stream);
    ADD("ratio-follows-the-commands-in-flight", test_ratios_of_depths);
    ADD("epoch/ratio-changes-when-it-is-over", test_epoch);
    ADD("epoch/slow-completions-are-all-delivered", test_slow_completions);
    ADD("scope/controller-counts-other-queues", test_scope_controller);
    ADD("scope/cq-does-not", test_scope_cq);
    ADD("scope/chosen-meanwhile", test_scope_chosen_meanwhile);
    ADD("rules/drain-delivers-beside-a-busy-queue",
        test_drain_beside_busy_neighbour);
    ADD("rules/max-hold-bounds-the-wait", test_max_hold_bounds_the_wait);
    ADD("rules/busy-queue-deleted", test_neighbour_deleted);
    ADD("rules/busy-controller-reset", test_reset);
    ADD("rules/cases-of-other-tests-hold-back", test_cases_hold_back);
    ADD("rules/max-hold-cannot-be-turned-off", test_max_hold_stays_on);
#undef ADD
    return g_test_run();
}
