/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inference for guests that give no hints: the last command of each tail
 * doorbell write is a Barrier; with "all" a lone command is Urgent; with
 * "content" what a command is for counts. No boundary may be lost between the
 * doorbell and the fetch.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-driver.h"

/* Holds back so long that anything sooner comes from a hint. */
#define PATIENT     ",cint.policy=cint,cint.delta=1000000000,cint.thr=60"
#define BATCH       PATIENT ",cint.infer=batch"
#define ALL         PATIENT ",cint.infer=all"
#define CONTENT     PATIENT ",cint.infer=content"
#define ONE_SLOT    ",cint.media.slots=1"

enum {
    NONE = NVME_CINT_HINT_NONE,
    URGENT = NVME_CINT_HINT_URGENT,
    BARRIER = NVME_CINT_HINT_BARRIER,
    BOTH = NVME_CINT_HINT_BOTH,
};

static void expect_hints(CintTest *t, uint64_t none, uint64_t urgent,
                         uint64_t barrier, uint64_t inferred)
{
    NvmeCintLogRecord r = cint_record(t, 1);

    g_assert_cmpuint(r.cmds_by_hint[NONE], ==, none);
    g_assert_cmpuint(r.cmds_by_hint[URGENT], ==, urgent);
    g_assert_cmpuint(r.cmds_by_hint[BARRIER], ==, barrier);
    g_assert_cmpuint(r.cmds_by_source[NVME_CINT_SOURCE_INFERRED], ==,
                     inferred);
}

static void test_off(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 5);
    cint_read(t, sq, 1);
    cint_expect_quiet_to(t, sq->cq, CINT_SECOND / 2);
    expect_hints(t, 6, 0, 0, 0);
    cint_shutdown(t);
}

static void test_batch(void)
{
    CintTest *t = cint_boot(CINT_PURE BATCH);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_zero(t);
    cint_read(t, sq, 5);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_reason(t, sq->cq, BARRIER, 1);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 0);
    /* A batch of one is one too. */
    cint_run_to(t, 2000);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, 2000 + CINT_LATENCY);
    expect_hints(t, 4, 0, 2, 2);
    cint_shutdown(t);
}

/* Written one after the other, whether a fetch came between them or not. */
static void test_two_doorbells(void)
{
    CintTest *t = cint_boot(CINT_PURE BATCH);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_zero(t);
    cint_read(t, sq, 3);
    cint_read(t, sq, 2);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_reason(t, sq->cq, BARRIER, 2);
    expect_hints(t, 3, 0, 2, 2);
    cint_shutdown(t);
}

/* One command is fetched at a time, long after its doorbell. */
static void test_slots(void)
{
    static const int sizes[] = { 3, 2, 1, 4 };
    CintTest *t = cint_boot(CINT_PURE BATCH ONE_SLOT);
    QNvmeSq *sq = cint_queues(t, 1);
    int i, end = 0;

    cint_zero(t);
    for (i = 0; i < ARRAY_SIZE(sizes); i++) {
        cint_read(t, sq, sizes[i]);
    }
    for (i = 0; i < ARRAY_SIZE(sizes); i++) {
        end += sizes[i];
        cint_expect_irq_at(t, sq->cq, end * CINT_LATENCY);
        cint_expect_reason(t, sq->cq, BARRIER, i + 1);
    }
    expect_hints(t, 6, 0, 4, 4);
    cint_shutdown(t);
}

/* More doorbells than any fixed list of boundaries might have room for. */
static void test_many_doorbells(void)
{
    CintTest *t = cint_boot(CINT_PURE BATCH ONE_SLOT);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 1024, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 512, cq);
    int i;

    cint_zero(t);
    for (i = 0; i < 250; i++) {
        cint_read(t, sq, 2);
    }
    cint_run(t, 500 * CINT_LATENCY);
    g_assert_cmpuint(qnvme_visible(cq), ==, 500);
    expect_hints(t, 250, 0, 250, 250);
    cint_shutdown(t);
}

/* The doorbell of an SQ says nothing of another that shares its CQ. */
static void test_two_sqs(void)
{
    CintTest *t = cint_boot(CINT_PURE BATCH ONE_SLOT);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeSq *other = qnvme_create_sq(t->nvme, 2, 64, sq->cq);

    cint_read(t, sq, 3);
    cint_read(t, other, 3);
    cint_run(t, 6 * CINT_LATENCY);
    expect_hints(t, 4, 0, 2, 2);
    cint_shutdown(t);
}

/* With shadow doorbells a batch is what the tail says when a fetch begins. */
static void test_shadow(void)
{
    CintTest *t = cint_boot(CINT_PURE BATCH);
    QNvmeSq *sq = cint_queues(t, 1);
    uint64_t shadow_tail;

    qnvme_use_shadow_doorbells(t->nvme);
    shadow_tail = t->nvme->shadow + 2 * sizeof(uint32_t);
    cint_zero(t);
    cint_read(t, sq, 3);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    expect_hints(t, 2, 0, 1, 1);
    qnvme_reap(sq->cq, 3);
    /* Two updates in memory before the controller is told. */
    cint_run_to(t, 2000);
    cint_push_hint(t, sq, NONE);
    cint_push_hint(t, sq, NONE);
    qtest_writel(t->qts, shadow_tail, sq->tail);
    cint_push_hint(t, sq, NONE);
    qnvme_ring_sq(sq);
    cint_expect_irq_at(t, sq->cq, 2000 + CINT_LATENCY);
    expect_hints(t, 4, 0, 2, 2);
    cint_expect_reason(t, sq->cq, BARRIER, 2);
    cint_shutdown(t);
}

/* A tail that grows while a fetch waits for a slot begins another batch. */
static void test_shadow_slots(void)
{
    CintTest *t = cint_boot(CINT_PURE BATCH ONE_SLOT);
    QNvmeSq *sq = cint_queues(t, 1);

    qnvme_use_shadow_doorbells(t->nvme);
    cint_zero(t);
    cint_read(t, sq, 4);
    cint_run(t, CINT_LATENCY + 1);
    cint_read(t, sq, 3);
    cint_run_to(t, 7 * CINT_LATENCY);
    expect_hints(t, 5, 0, 2, 2);
    cint_shutdown(t);
}

/*
 * A tail that moves twice more before the batch is fetched, and never by the
 * register, is one batch more: what is there when the first has been fetched.
 */
static void test_shadow_alone(void)
{
    CintTest *t = cint_boot(CINT_PURE BATCH ONE_SLOT);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    qnvme_use_shadow_doorbells(t->nvme);
    cint_zero(t);
    cint_read(t, sq, 4);
    for (i = 1; i <= 2; i++) {
        cint_run_to(t, i * CINT_LATENCY + 1);
        cint_push_hint(t, sq, NONE);
        cint_push_hint(t, sq, NONE);
        qtest_writel(t->qts, t->nvme->shadow + 2 * sizeof(uint32_t), sq->tail);
    }
    cint_run_to(t, 8 * CINT_LATENCY);
    expect_hints(t, 6, 0, 2, 2);
    cint_shutdown(t);
}

static void test_all(void)
{
    CintTest *t = cint_boot(CINT_PURE ALL);
    uint64_t records = cint_records_on(t, 2);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_zero(t);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_reason(t, sq->cq, URGENT, 1);
    /* The driver does not know of it: a full interrupt. */
    g_assert_cmpuint(cint_status(t, records, 1).class, ==, CINT_CLASS_FULL);
    g_assert_cmpuint(cint_status(t, records, 1).full_tail, ==, 1);
    expect_hints(t, 0, 1, 0, 1);
    /* Two at a time, or with another in flight, are batches. */
    cint_read(t, sq, 2);
    cint_run_to(t, 2000);
    expect_hints(t, 1, 1, 1, 2);
    cint_read(t, sq, 1);
    cint_run_to(t, 2001);
    cint_read(t, sq, 1);
    cint_run_to(t, 3000);
    expect_hints(t, 1, 2, 2, 4);
    cint_shutdown(t);
}

/* Alone counts all SQs of the CQ. */
static void test_all_shared_cq(void)
{
    CintTest *t = cint_boot(CINT_PURE ALL);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeSq *other = qnvme_create_sq(t->nvme, 2, 64, sq->cq);

    cint_read(t, sq, 1);
    cint_run(t, 1);
    cint_read(t, other, 1);
    cint_run(t, 1000);
    expect_hints(t, 0, 1, 1, 2);
    cint_shutdown(t);
}

/* What the guest says itself counts. */
static void test_explicit(void)
{
    CintTest *t = cint_boot(CINT_PURE ALL);
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCintLogRecord r;

    cint_read_hint(t, sq, URGENT);
    cint_run(t, 1000);
    cint_push_hint(t, sq, NONE);
    cint_read_hint(t, sq, URGENT);
    cint_run(t, 1000);
    cint_push_hint(t, sq, NONE);
    cint_read_hint(t, sq, BOTH);
    cint_run(t, 1000);
    expect_hints(t, 2, 2, 0, 0);
    r = cint_record(t, 1);
    g_assert_cmpuint(r.cmds_by_hint[BOTH], ==, 1);
    g_assert_cmpuint(r.cmds_by_source[NVME_CINT_SOURCE_CDW0], ==, 3);
    g_assert_cmpuint(r.pending, ==, 2);
    cint_shutdown(t);
}

/* Commands that fail at once end their batch too. */
static void test_failing_end(void)
{
    CintTest *t = cint_boot(CINT_PURE BATCH);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_push_hint(t, sq, NONE);
    qnvme_push_invalid(sq);
    qnvme_ring_sq(sq);
    cint_expect_irq_now(t, sq->cq);
    cint_run(t, 1000);
    cint_zero(t);
    cint_read(t, sq, 2);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_reason(t, sq->cq, BARRIER, 1);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 0);
    cint_shutdown(t);
}

/* Only policies that use hints infer any. */
static void test_other_policy(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=adaptive,cint.thr=60,"
                            "cint.delta=6000,cint.infer=all");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_zero(t);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 6000);
    cint_read(t, sq, 4);
    cint_expect_irq_at(t, sq->cq, 2 * (CINT_LATENCY + 6000));
    cint_shutdown(t);
}

/* ---- What a command is for ---- */

#define FUA         (1u << 30)
#define RETRY_ONCE  (1u << 31)
#define CETYPE      (1u << 16)
#define PREFETCH    0x07
#define LOW_LATENCY 0x30

static void push(CintTest *t, QNvmeSq *sq, uint8_t opcode, uint32_t dw12,
                 uint32_t dw13)
{
    NvmeCmd cmd = cint_hinted(t, opcode, 0, 0);

    cmd.cdw12 |= cpu_to_le32(dw12);
    cmd.cdw13 |= cpu_to_le32(dw13);
    qnvme_push(sq, &cmd);
}

/* In the middle of a batch, whose last command is a Barrier. */
static void expect_in_batch(const char *properties, uint8_t opcode,
                            uint32_t dw12, uint32_t dw13, uint64_t urgent)
{
    CintTest *t = cint_boot(properties);
    QNvmeSq *sq = cint_queues(t, 1);

    push(t, sq, NVME_CMD_READ, 0, 0);
    push(t, sq, opcode, dw12, dw13);
    push(t, sq, NVME_CMD_READ, 0, 0);
    qnvme_ring_sq(sq);
    cint_run(t, 2 * CINT_LATENCY);
    expect_hints(t, 2 - urgent, urgent, 1, 1 + urgent);
    cint_shutdown(t);
}

/* Somebody waits for what is made durable. */
static void test_content_now(void)
{
    static const char *const ways[] = {
        CINT_PURE CONTENT, CINT_PURE PATIENT ",cint.infer=both",
        CINT_PURE ",cint.policy=auto",
    };
    int i;

    for (i = 0; i < ARRAY_SIZE(ways); i++) {
        expect_in_batch(ways[i], NVME_CMD_READ, 0, 0, 0);
        expect_in_batch(ways[i], NVME_CMD_FLUSH, 0, 0, 1);
        expect_in_batch(ways[i], NVME_CMD_WRITE, FUA, 0, 1);
        expect_in_batch(ways[i], NVME_CMD_READ, FUA, 0, 0);
        expect_in_batch(ways[i], NVME_CMD_WRITE, FUA | CETYPE, 0, 1);
        expect_in_batch(ways[i], NVME_CMD_READ, CETYPE, LOW_LATENCY, 0);
    }
    expect_in_batch(CINT_PURE ALL, NVME_CMD_FLUSH, 0, 0, 0);
    expect_in_batch(CINT_PURE PATIENT ",cint.infer=learn", NVME_CMD_WRITE, FUA,
                    0, 0);
}

/* What its sender says by Access Latency is not inferred, and stays. */
static void test_access_latency(void)
{
    static const struct {
        const char *properties;
        unsigned inferred;      /* the batch's end */
    } ways[] = {
        { CINT_PURE PATIENT, 0 }, { CINT_PURE ALL, 1 },
        { CINT_PURE CONTENT, 1 }, { CINT_PURE ",cint.policy=auto", 1 },
    };
    int i;

    for (i = 0; i < ARRAY_SIZE(ways); i++) {
        CintTest *t = cint_boot(ways[i].properties);
        QNvmeSq *sq = cint_queues(t, 1);
        unsigned inferred = ways[i].inferred;

        push(t, sq, NVME_CMD_READ, 0, 0);
        push(t, sq, NVME_CMD_WRITE, 0, LOW_LATENCY);
        push(t, sq, NVME_CMD_READ, 0, 0);
        qnvme_ring_sq(sq);
        cint_run(t, 2 * CINT_LATENCY);
        expect_hints(t, 2 - inferred, 1, inferred, inferred);
        cint_shutdown(t);
    }
}

/* A lone command is waited for, but what is read ahead of anybody. */
static void test_content_ahead(void)
{
    CintTest *t = cint_boot(CINT_PURE CONTENT);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_zero(t);
    push(t, sq, NVME_CMD_READ, RETRY_ONCE, PREFETCH);
    qnvme_ring_sq(sq);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    expect_hints(t, 0, 1, 0, 1);    /* the first ever */
    qnvme_reap(sq->cq, 1);
    push(t, sq, NVME_CMD_READ, RETRY_ONCE, PREFETCH);
    qnvme_ring_sq(sq);
    cint_run(t, 2 * CINT_LATENCY);
    expect_hints(t, 0, 2, 0, 2);    /* somebody has read what was first */
    push(t, sq, NVME_CMD_READ, RETRY_ONCE, PREFETCH);
    qnvme_ring_sq(sq);
    cint_run(t, 2 * CINT_LATENCY);
    expect_hints(t, 0, 2, 1, 3);
    push(t, sq, NVME_CMD_READ, 0, PREFETCH);
    qnvme_ring_sq(sq);
    cint_run(t, 2 * CINT_LATENCY);
    expect_hints(t, 0, 3, 1, 4);
    cint_shutdown(t);
}

static void expect_belief(CintTest *t, uint16_t sqid, uint32_t buffers,
                          uint32_t waited, uint32_t fresh)
{
    NvmeCintLogSq record = cint_sq_record(t, sqid);

    g_assert_cmpuint(record.buffers, ==, buffers);
    g_assert_cmpuint(record.waited_buffers, ==, waited);
    g_assert_cmpuint(record.fresh, ==, fresh);
}

/* What is believed of the buffers, by the log page. */
static void test_belief(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=auto,cint.delta=0");
    QNvmeSq *sq = cint_queues(t, 1), *idle = cint_queues(t, 2);
    NvmeCmd cmd = cint_hinted(t, NVME_CMD_READ, 0, 0);
    QNvmeBuf buf = qnvme_buf_new(t->nvme, 6 * 4096);
    int round, i;

    expect_belief(t, sq->id, 0, 0, 0);
    for (round = 0; round < 8; round++) {
        for (i = 0; i < 6; i++) {
            cmd.dptr.prp1 = cpu_to_le64(buf.addr + i * 4096);
            qnvme_push(sq, &cmd);
            qnvme_ring_sq(sq);
        }
        if (!round) {
            /* A sixteenth of what is left, rounded up, for each. */
            expect_belief(t, sq->id, 6, 6, 16 + 15 + 14 + 14 + 13 + 12);
        }
        cint_run(t, 2 * CINT_LATENCY);
        qnvme_reap(sq->cq, 6);
    }
    /* The first two of a round look as if somebody waited for them. */
    expect_belief(t, sq->id, 6, 2, 0);
    expect_belief(t, idle->id, 0, 0, 0);
    cint_shutdown(t);
}

/* Bottom halves fetch in real time; boundaries are doorbells all the same. */
static void test_real_time(void)
{
    CintTest *t = cint_boot("cint=on,cint.time=real,cint.drain=off,"
                            "cint.max-hold=0,cint.media=custom,"
                            "cint.media.read-latency=400" BATCH);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < 10; i++) {
        cint_read(t, sq, 3);
        cint_read(t, sq, 2);
        cint_let_run(t);
        cint_run(t, 1000);
        cint_let_run(t);
        qnvme_wait_cqes(sq->cq, 5);
        g_assert_true(qnvme_take_irq(t->nvme, 1));
        qnvme_reap(sq->cq, 5);
    }
    expect_hints(t, 30, 0, 20, 20);
    cint_shutdown(t);
}

#define QUEUES  66

static void read_once(CintTest *t, QNvmeSq *sq)
{
    cint_read(t, sq, 1);
    cint_run(t, 1000);
    qnvme_reap(sq->cq, 1);
}

/*
 * What is believed has a part for each of 64 queues. Those that share the last
 * one go on with it when all others are deleted.
 */
static void test_more_queues(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=auto,max_ioqpairs=66,"
                            "msix_qsize=67");
    QNvmeSq *last;
    int i;

    for (i = 1; i <= QUEUES; i++) {
        read_once(t, cint_queues(t, i));
    }
    for (i = 1; i < QUEUES; i++) {
        qnvme_delete_sq(t->nvme->sqs[i]);
    }
    last = t->nvme->sqs[QUEUES];
    for (i = 0; i < 10; i++) {
        read_once(t, last);
    }
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/infer/" name, run)
    ADD("off/nothing", test_off);
    ADD("batch/last-is-a-barrier", test_batch);
    ADD("batch/two-doorbells", test_two_doorbells);
    ADD("batch/fetched-one-by-one", test_slots);
    ADD("batch/many-doorbells", test_many_doorbells);
    ADD("batch/two-sqs-of-a-cq", test_two_sqs);
    ADD("batch/shadow-doorbells", test_shadow);
    ADD("batch/shadow-doorbells-fetched-one-by-one", test_shadow_slots);
    ADD("batch/shadow-tail-moves-alone", test_shadow_alone);
    ADD("batch/failing-end", test_failing_end);
    ADD("batch/real-time", test_real_time);
    ADD("all/lone-is-urgent", test_all);
    ADD("all/two-sqs-of-a-cq", test_all_shared_cq);
    ADD("all/explicit-hints-stand", test_explicit);
    ADD("content/what-is-made-durable", test_content_now);
    ADD("content/read-ahead", test_content_ahead);
    ADD("content/access-latency-is-a-hint", test_access_latency);
    ADD("policy/others-infer-nothing", test_other_policy);
    ADD("learn/the-log-page-says-what-is-believed", test_belief);
    ADD("learn/more-queues-than-parts", test_more_queues);
#undef ADD
    return g_test_run();
}
