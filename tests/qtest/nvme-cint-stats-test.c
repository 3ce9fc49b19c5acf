/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Discovery, and the counters in their two views: log page and property.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-common.h"

static void test_identify_structure(void)
{
    CintTest *t = cint_boot("cint=on");
    NvmeIdCtrl id;
    NvmeCintIdentify vendor;
    size_t i;

    g_assert_cmphex(qnvme_identify(t->nvme, NVME_ID_CNS_CTRL, 0, &t->buf), ==,
                    0);
    qtest_memread(t->qts, t->buf.addr, &id, sizeof(id));
    memcpy(&vendor, id.vs, sizeof(vendor));
    g_assert_cmphex(le32_to_cpu(vendor.magic), ==, NVME_CINT_MAGIC);
    g_assert_cmpuint(le16_to_cpu(vendor.version), ==, NVME_CINT_VERSION);
    g_assert_cmpuint(le16_to_cpu(vendor.size), ==, sizeof(vendor));
    g_assert_cmphex(le32_to_cpu(vendor.caps) & NVME_CINT_CAP_LOG, !=, 0);
    g_assert_cmphex(vendor.lid, ==, NVME_CINT_LID);
    for (i = sizeof(vendor); i < sizeof(id.vs); i++) {
        g_assert_cmpuint(id.vs[i], ==, 0);
    }
    cint_shutdown(t);
}

/* The page can be read in pieces of any place and size. */
static void test_log_page_offsets(void)
{
    CintTest *t = cint_boot("cint=on");
    const size_t queue = sizeof(NvmeCintLogHeader) + sizeof(NvmeCintLogRecord);
    const size_t sq = queue + sizeof(NvmeCintLogRecord);
    const size_t size = sq + sizeof(NvmeCintLogSq);
    const size_t offsets[] = { 0, 4, 64, 68, queue - 64, queue, sq, size - 4 };
    QNvmeBuf whole = qnvme_buf_new(t->nvme, size);
    QNvmeBuf part = qnvme_buf_new(t->nvme, 4);
    size_t i;

    cint_queues(t, 1);
    g_assert_cmphex(qnvme_get_log(t->nvme, NVME_CINT_LID, 0, 0, &whole), ==,
                    0);
    for (i = 0; i < ARRAY_SIZE(offsets); i++) {
        g_assert_cmphex(qnvme_get_log(t->nvme, NVME_CINT_LID, 0, offsets[i],
                                      &part), ==, 0);
        /* The admin queue's own counters move with each command. */
        if (offsets[i] == 0 || offsets[i] >= queue) {
            g_assert_cmphex(qtest_readl(t->qts, part.addr), ==,
                            qtest_readl(t->qts, whole.addr + offsets[i]));
        }
    }
    g_assert_cmphex(qnvme_get_log(t->nvme, NVME_CINT_LID, 0, size, &part), ==,
                    NVME_INVALID_FIELD | NVME_DNR);
    cint_shutdown(t);
}

/* The admin queue, which is never coalesced, has one way out, too. */
static void test_one_message_for_an_admin_command(void)
{
    static const char *const opts[] = { "cint=on,cint.time=real", CINT_PURE };
    CintTest *t;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(opts); i++) {
        t = cint_boot(opts[i]);
        cint_count_messages(t, 0);
        g_assert_cmphex(qnvme_get_log(t->nvme, NVME_LOG_SMART_INFO, 0, 0,
                                      &t->buf), ==, 0);
        cint_let_run(t);
        g_assert_cmpuint(cint_messages(t), ==, 1);
        cint_shutdown(t);
    }
}

static void test_log_page_reset(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=default");
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeBuf buf = qnvme_buf_new(t->nvme, sizeof(NvmeCintLogHeader));

    cint_read(t, sq, 5);
    cint_run(t, CINT_LATENCY);
    g_assert_cmpuint(cint_record(t, 1).cqes, ==, 5);
    g_assert_cmphex(qnvme_get_log(t->nvme, NVME_CINT_LID, NVME_CINT_LSP_RESET,
                                  0, &buf), ==, 0);
    g_assert_cmpuint(cint_record(t, 1).cqes, ==, 0);
    g_assert_cmpuint(cint_record(t, 1).irqs_full, ==, 0);
    qnvme_reap(sq->cq, 5);
    cint_read(t, sq, 2);
    cint_run(t, CINT_LATENCY);
    g_assert_cmpuint(cint_record(t, 1).cqes, ==, 2);
    cint_shutdown(t);
}

/* ---- What the log page costs ---- */

#define COUNTED_QEMU    "CINT_COUNTED_QEMU"
#define COUNTED_QUEUES  40
#define COUNTED_READS   4

/* QEMU that counts the instructions of the log page, and of what that calls. */
static char *counting_qemu(const char *counts)
{
    return g_strdup_printf("valgrind --tool=callgrind --quiet "
                           "--toggle-collect=nvme_cint_log "
                           "--callgrind-out-file=%s %s", counts,
                           g_getenv("QTEST_QEMU_BINARY"));
}

static uint64_t counted(const char *path)
{
    g_autofree char *text = NULL;
    const char *totals;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    totals = strstr(text, "\ntotals: ");
    g_assert_nonnull(totals);
    return g_ascii_strtoull(totals + strlen("\ntotals: "), NULL, 10);
}

/* Returns: the instructions of a read of the first @size bytes */
static uint64_t cost_of_log(size_t size)
{
    g_autofree char *path = g_strdup_printf("%s/nvme-cint-log-XXXXXX",
                                            g_get_tmp_dir());
    g_autofree char *qemu = NULL;
    QNvmeBuf buf;
    uint64_t cost;
    CintTest *t;
    int i;

    close(mkstemp(path));
    qemu = counting_qemu(path);
    g_setenv(COUNTED_QEMU, qemu, true);
    t = cint_boot_custom(COUNTED_QEMU, CINT_NULL_DISK, "cint=on");
    buf = qnvme_buf_new(t->nvme, size);
    for (i = 1; i <= COUNTED_QUEUES; i++) {
        cint_queues(t, i);
    }
    for (i = 0; i < COUNTED_READS; i++) {
        g_assert_cmphex(qnvme_get_log(t->nvme, NVME_CINT_LID, 0, 0, &buf), ==,
                        0);
    }
    cint_shutdown(t);
    cost = counted(path) / COUNTED_READS;
    unlink(path);
    return cost;
}

static bool can_count(void)
{
    g_autofree char *valgrind = g_find_program_in_path("valgrind");
    const char *qemu = g_getenv("QTEST_QEMU_BINARY");

    /* Neither with sanitizers nor within another of valgrind's tools. */
    return valgrind && !g_getenv("ASAN_OPTIONS") && !strchr(qemu, ' ');
}

/* Records that nobody asked for are not made. */
static void test_log_page_cost(void)
{
    const size_t size = sizeof(NvmeCintLogHeader) +
                        (COUNTED_QUEUES + 1) * sizeof(NvmeCintLogRecord);
    uint64_t whole, part;

    if (!can_count()) {
        g_test_skip("nothing here counts instructions");
        return;
    }
    whole = cost_of_log(size);
    part = cost_of_log(4);
    g_test_message("%" PRIu64 " instructions, and %" PRIu64 " of 4 bytes",
                   whole, part);
    g_assert_cmpuint(part, >, 0);
    g_assert_cmpuint(4 * part, <, whole);
}

static void test_log_page_without_cint(void)
{
    CintTest *t = cint_boot("");

    g_assert_cmphex(qnvme_get_log(t->nvme, NVME_CINT_LID, 0, 0, &t->buf), ==,
                    NVME_INVALID_FIELD | NVME_DNR);
    cint_shutdown(t);
}

static void expect_qom(const QDict *stats, const char *name, uint64_t value)
{
    g_assert_cmpuint(qdict_get_int(stats, name), ==, value);
}

static void test_both_views_agree(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=adaptive,cint.delta=6000,"
                            "cint.thr=4");
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCintLogRecord r;
    QDict *stats, *reasons;

    cint_read(t, sq, 6);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 6000);
    qnvme_reap(sq->cq, 6);
    qnvme_push_invalid(sq);
    qnvme_ring_sq(sq);
    cint_expect_irq_now(t, sq->cq);

    r = cint_record(t, 1);
    stats = cint_qom_stats(t, 1);
    reasons = qdict_get_qdict(stats, "irqs-by-reason");
    g_assert_cmpuint(r.cqes, ==, 7);
    g_assert_cmpuint(r.irqs_full, ==, 3);
    g_assert_cmpuint(r.irqs_masked, ==, 3);
    g_assert_cmpuint(r.irqs_by_reason[NVME_CINT_REASON_THR], ==, 1);
    g_assert_cmpuint(r.irqs_by_reason[NVME_CINT_REASON_QUIET], ==, 1);
    g_assert_cmpuint(r.irqs_by_reason[NVME_CINT_REASON_ERROR], ==, 1);
    expect_qom(stats, "cqes", r.cqes);
    expect_qom(stats, "irqs-full", r.irqs_full);
    expect_qom(stats, "irqs-masked", r.irqs_masked);
    expect_qom(stats, "delta-ns", 6000);
    expect_qom(stats, "thr", 4);
    expect_qom(stats, "vector", 1);
    expect_qom(stats, "untold", r.untold);
    expect_qom(qdict_get_qdict(stats, "post-to-head"), "max-ns",
               r.post_to_head.max_ns);
    expect_qom(reasons, "thr", 1);
    expect_qom(reasons, "quiet", 1);
    expect_qom(reasons, "error", 1);
    expect_qom(reasons, "each", 0);
    qobject_unref(stats);
    cint_shutdown(t);
}

/* Two CQEs held 6000 ns, reaped 500 ns after their interrupt. */
static void test_hold_and_reap_times(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=adaptive,cint.delta=6000");
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCintLogRecord r;

    cint_read(t, sq, 2);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 6000);
    cint_run(t, 500);
    qnvme_reap(sq->cq, 2);
    r = cint_record(t, 1);
    g_assert_cmpuint(r.hold[NVME_CINT_HINT_NONE].sum_ns, ==, 12000);
    g_assert_cmpuint(r.hold[NVME_CINT_HINT_NONE].max_ns, ==, 6000);
    g_assert_cmpuint(r.hold[NVME_CINT_HINT_NONE].bucket[13], ==, 2);
    g_assert_cmpuint(r.reap[NVME_CINT_HINT_NONE].sum_ns, ==, 1000);
    g_assert_cmpuint(r.reap[NVME_CINT_HINT_NONE].max_ns, ==, 500);
    g_assert_cmpuint(r.reap[NVME_CINT_HINT_NONE].bucket[9], ==, 2);
    g_assert_cmpuint(r.post_to_head.sum_ns, ==, 13000);
    g_assert_cmpuint(r.post_to_head.max_ns, ==, 6500);
    g_assert_cmpuint(r.post_to_head.bucket[13], ==, 2);
    g_assert_cmpuint(r.untold, ==, 0);
    g_assert_cmpuint(r.lateness.sum_ns, ==, 0);
    g_assert_cmpuint(r.lateness.bucket[0], ==, 1);
    cint_shutdown(t);
}

/*
 * CQEs that the guest has polled away before their interrupt have no hold
 * time, and do not disturb those of others, also when the queue wraps.
 */
static void test_hold_times_beside_polling(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=adaptive,cint.delta=6000");
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCintLogRecord r;
    int round;

    for (round = 1; round <= 40; round++) {
        /* Three polled, then two of which the interrupt tells. */
        cint_read(t, sq, 3);
        cint_run(t, 1000);
        qnvme_reap(sq->cq, 3);
        cint_read(t, sq, 2);
        cint_run(t, CINT_LATENCY + 6000);
        g_assert_true(qnvme_take_irq(t->nvme, 1));
        qnvme_reap(sq->cq, 2);

        r = cint_record(t, 1);
        g_assert_cmpuint(r.cqes, ==, 5 * round);
        g_assert_cmpuint(r.hold[0].bucket[13], ==, 2 * round);
        g_assert_cmpuint(r.hold[0].sum_ns, ==, 2 * round * 6000);
        g_assert_cmpuint(r.hold[0].max_ns, ==, 6000);
        g_assert_cmpuint(r.avoided, ==, round);
        g_assert_cmpuint(r.untold, ==, 3 * round);
        g_assert_cmpuint(r.post_to_head.bucket[10], ==, 3 * round);
        g_assert_cmpuint(r.post_to_head.bucket[13], ==, 2 * round);
        g_assert_cmpuint(r.post_to_head.sum_ns, ==,
                         round * (3 * (1000 - CINT_LATENCY) + 2 * 6000));
        cint_check_record(t, 1);
    }
    cint_shutdown(t);
}

/*
 * A queue without interrupts: nothing is told, but all is timed. Of two head
 * updates with shadow doorbells only the first one traps; the second is seen
 * when the next CQE is posted.
 */
static void test_polled_queue(const void *shadow)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=adaptive,cint.delta=6000");
    uint32_t unseen = shadow ? 1 : 0;
    NvmeCintLogRecord r;
    QNvmeCq *cq;
    QNvmeSq *sq;
    int round;

    if (shadow) {
        qnvme_use_shadow_doorbells(t->nvme);
    }
    g_assert_cmphex(qnvme_try_create_cq(t->nvme, 1, CINT_ENTRIES, 0, false,
                                        &cq), ==, 0);
    sq = qnvme_create_sq(t->nvme, 1, CINT_ENTRIES, cq);
    for (round = 1; round <= 40; round++) {
        /* Three together, of which two are reaped 100 ns after the post. */
        cint_read(t, sq, 3);
        cint_run(t, CINT_LATENCY + 100);
        qnvme_reap(cq, 2);
        cint_run(t, 900);
        qnvme_reap(cq, 1);

        r = cint_record(t, 1);
        g_assert_cmpuint(r.cqes, ==, 3 * round);
        g_assert_cmpuint(r.untold, ==, 3 * round - unseen);
        g_assert_cmpuint(r.post_to_head.sum_ns, ==, 200 * round +
                         (1000 + unseen * CINT_LATENCY) * (round - unseen));
        g_assert_cmpuint(r.post_to_head.bucket[7], ==, 2 * round);
        g_assert_cmpuint(r.post_to_head.bucket[10 + unseen], ==,
                         round - unseen);
        g_assert_cmpuint(r.irqs_full + r.irqs_urgent + r.avoided, ==, 0);
        g_assert_cmpuint(r.hold[0].bucket[0] + r.reap[0].bucket[0], ==, 0);
        g_assert_cmpuint(r.cmds_by_hint[NVME_CINT_HINT_NONE], ==, 0);
    }
    cint_shutdown(t);
}

static void expect_answers(CintTest *t, NvmeCintAnswers wanted)
{
    g_autoptr(QDict) stats = cint_qom_stats(t, 1);
    const QDict *qom = qdict_get_qdict(stats, "answers");
    NvmeCintAnswers found = cint_record(t, 1).answers;

    g_assert_cmpuint(found.count, ==, wanted.count);
    g_assert_cmpuint(found.ns, ==, wanted.ns);
    g_assert_cmpuint(found.cqes, ==, wanted.cqes);
    g_assert_cmpuint(found.cqes_cqes, ==, wanted.cqes_cqes);
    g_assert_cmpuint(found.ns_cqes, ==, wanted.ns_cqes);
    expect_qom(qom, "count", wanted.count);
    expect_qom(qom, "ns", wanted.ns);
    expect_qom(qom, "cqes", wanted.cqes);
    expect_qom(qom, "cqes-cqes", wanted.cqes_cqes);
    expect_qom(qom, "ns-cqes", wanted.ns_cqes);
}

/*
 * The first head after a message answers it; heads without one are nobody's
 * answer, and a message beside another belongs to that.
 */
static void test_answers(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=adaptive,cint.delta=6000,"
                            "cint.thr=4");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_count_messages(t, 1);
    expect_answers(t, (NvmeCintAnswers) { 0 });
    cint_read(t, sq, 2);
    cint_run(t, 1000);
    qnvme_reap(sq->cq, 2);
    expect_answers(t, (NvmeCintAnswers) { 0 });

    cint_read(t, sq, 4);
    cint_run(t, CINT_LATENCY + 500);
    qnvme_reap(sq->cq, 3);
    expect_answers(t, (NvmeCintAnswers) {
        .count = 1, .ns = 500, .cqes = 3, .cqes_cqes = 9, .ns_cqes = 1500,
    });
    cint_run(t, 100);
    qnvme_reap(sq->cq, 1);
    expect_answers(t, (NvmeCintAnswers) {
        .count = 1, .ns = 500, .cqes = 3, .cqes_cqes = 9, .ns_cqes = 1500,
    });

    cint_read(t, sq, 4);
    cint_run(t, CINT_LATENCY + 200);
    cint_read(t, sq, 4);
    cint_run(t, CINT_LATENCY + 100);
    qnvme_reap(sq->cq, 8);
    expect_answers(t, (NvmeCintAnswers) {
        .count = 2, .ns = 500 + CINT_LATENCY + 300, .cqes = 11,
        .cqes_cqes = 9 + 64,
        .ns_cqes = 1500 + 8 * (CINT_LATENCY + 300),
    });
    cint_shutdown(t);
}

/* A message that a mask holds back has asked nobody: vectors begin masked. */
static void test_answers_beside_a_mask(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=default");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_run(t, CINT_LATENCY + 500);
    qnvme_reap(sq->cq, 1);
    g_assert_cmpuint(cint_record(t, 1).irqs_masked, ==, 1);
    expect_answers(t, (NvmeCintAnswers) { 0 });
    cint_shutdown(t);
}

/* The admin queue's CQEs are not timed. */
static void test_admin_queue_is_not_timed(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=adaptive,cint.delta=6000");
    NvmeCintLogRecord r;

    cint_queues(t, 1);
    r = cint_record(t, 0);
    g_assert_cmpuint(r.cqes, >, 0);
    g_assert_cmpuint(r.untold, ==, 0);
    g_assert_cmpuint(r.post_to_head.bucket[0] + r.post_to_head.sum_ns, ==, 0);
    cint_shutdown(t);
}

/* A head that makes room has a pass run, which finds nothing to post. */
static void test_passes_without_a_cqe(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=default");
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 4, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, CINT_ENTRIES, cq);
    int round;

    for (round = 1; round <= 3; round++) {
        cint_read(t, sq, 3);
        cint_run(t, CINT_LATENCY + 1);
        g_assert_cmpuint(cint_record(t, 1).reruns, ==, round - 1);
        qnvme_reap(cq, 1);
        cint_run(t, 1);
        g_assert_cmpuint(cint_record(t, 1).reruns, ==, round);
        qnvme_reap(cq, 2);
    }
    cint_shutdown(t);
}

/* One of two pending CQEs is polled; the interrupt then covers the other. */
static void test_hold_times_of_the_rest(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=adaptive,cint.delta=6000");
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCintLogRecord r;

    cint_read(t, sq, 1);
    cint_run_to(t, 1000);
    cint_read(t, sq, 1);
    cint_run_to(t, 2000);
    qnvme_reap(sq->cq, 1);
    cint_expect_irq_at(t, sq->cq, 1000 + CINT_LATENCY + 6000);
    r = cint_record(t, 1);
    g_assert_cmpuint(r.hold[0].sum_ns, ==, 6000);
    g_assert_cmpuint(r.hold[0].bucket[13], ==, 1);
    g_assert_cmpuint(r.untold, ==, 1);
    g_assert_cmpuint(r.avoided, ==, 0);
    cint_shutdown(t);
}

/* A CQE posted when the deadline of another expires is not part of that. */
static void test_hold_times_at_a_tie(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=adaptive,cint.delta=6000");
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCintLogRecord r;

    cint_read(t, sq, 1);
    cint_run_to(t, 6000);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 6000);
    r = cint_record(t, 1);
    g_assert_cmpuint(r.pending, ==, 1);
    g_assert_cmpuint(r.hold[0].bucket[13], ==, 1);
    g_assert_cmpuint(r.hold[0].bucket[0], ==, 0);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 12000);
    r = cint_record(t, 1);
    g_assert_cmpuint(r.hold[0].bucket[13], ==, 2);
    g_assert_cmpuint(r.hold[0].sum_ns, ==, 12000);
    cint_shutdown(t);
}

/* The guest is late: it reaps signalled and unsignalled CQEs together. */
static void test_hold_times_of_a_late_guest(const void *shadow)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=adaptive,cint.delta=6000");
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCintLogRecord r;
    int round;

    if (shadow) {
        qnvme_use_shadow_doorbells(t->nvme);
    }
    for (round = 1; round <= 40; round++) {
        cint_read(t, sq, 8);
        cint_run(t, CINT_LATENCY + 6000);
        g_assert_true(qnvme_take_irq(t->nvme, 1));
        cint_read(t, sq, 7);
        cint_run(t, CINT_LATENCY + 100);
        qnvme_reap(sq->cq, 15);
        cint_read(t, sq, 1);
        cint_run(t, CINT_LATENCY + 6000);
        g_assert_true(qnvme_take_irq(t->nvme, 1));
        qnvme_reap(sq->cq, 1);

        r = cint_record(t, 1);
        g_assert_cmpuint(r.cqes, ==, 16 * round);
        g_assert_cmpuint(r.hold[0].bucket[13], ==, 9 * round);
        g_assert_cmpuint(r.hold[0].sum_ns, ==, 9 * round * 6000);
        g_assert_cmpuint(r.reap[0].sum_ns, ==,
                         8 * round * (CINT_LATENCY + 100));
        g_assert_cmpuint(r.reap[0].max_ns, ==, CINT_LATENCY + 100);
        cint_check_record(t, 1);
    }
    cint_shutdown(t);
}

/*
 * One slot and 400 ns of medium: of a batch, SQE n waits n * 400 ns; those of
 * a later doorbell wait from that one on.
 */
static void test_submission_queues(const void *shadow)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=default,"
                            "cint.media.slots=1");
    QNvmeSq *sq = cint_queues(t, 1), *idle = cint_queues(t, 2);
    uint64_t commands = 0, wait = 0;
    NvmeCintLogSq r;
    QDict *stats;
    int round;

    if (shadow) {
        qnvme_use_shadow_doorbells(t->nvme);
    }
    for (round = 1; round <= 30; round++) {
        cint_zero(t);
        cint_read(t, sq, 3);
        cint_run_to(t, 100);
        r = cint_sq_record(t, 1);
        g_assert_cmpuint(r.backlog, ==, 2);
        if (!shadow) {
            cint_read(t, sq, 2);
        }
        cint_run_to(t, 3000);
        commands += shadow ? 3 : 5;
        wait += 400 + 800 + (shadow ? 0 : 1100 + 1500);
        r = cint_sq_record(t, 1);
        g_assert_cmpuint(r.commands, ==, commands);
        g_assert_cmpuint(r.bytes, ==, commands * 4096);
        g_assert_cmpuint(r.backlog, ==, 0);
        g_assert_cmpuint(r.wait.sum_ns, ==, wait);
        g_assert_cmpuint(r.wait.max_ns, ==, shadow ? 800 : 1500);
        g_assert_cmpuint(r.wait.bucket[0], ==, round);
        g_assert_cmpuint(r.wait.bucket[9], ==, round);
        qnvme_reap(sq->cq, shadow ? 3 : 5);
    }
    stats = cint_qom_sq_stats(t, 1);
    expect_qom(stats, "cqid", 1);
    expect_qom(stats, "size", CINT_ENTRIES);
    expect_qom(stats, "commands", commands);
    expect_qom(stats, "bytes", commands * 4096);
    expect_qom(stats, "backlog", 0);
    expect_qom(qdict_get_qdict(stats, "wait"), "sum-ns", wait);
    qobject_unref(stats);
    r = cint_sq_record(t, idle->id);
    g_assert_cmpuint(r.commands + r.bytes + r.wait.bucket[0], ==, 0);
    cint_shutdown(t);
}

/* Rings for @tail, which may be less than what was rung for before. */
static void ring_at(CintTest *t, QNvmeSq *sq, int64_t when, uint16_t tail)
{
    cint_run_to(t, when);
    sq->tail = tail;
    qnvme_ring_sq(sq);
}

/*
 * A tail that goes back takes SQEs back, and is no doorbell for what comes
 * later: SQEs 2 to 4 wait from the last one on. One is fetched each 400 ns.
 */
static void test_tail_goes_back(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=default,"
                            "cint.media.slots=1");
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCintLogSq r;
    int i;

    for (i = 0; i < 5; i++) {
        qnvme_push_read(sq, &t->buf, 0, 4096);
    }
    cint_zero(t);
    ring_at(t, sq, 0, 3);
    ring_at(t, sq, 100, 2);
    ring_at(t, sq, 200, 5);
    cint_run_to(t, 3000);
    r = cint_sq_record(t, 1);
    g_assert_cmpuint(r.commands, ==, 5);
    g_assert_cmpuint(r.wait.sum_ns, ==, 400 + 600 + 1000 + 1400);
    g_assert_cmpuint(r.wait.max_ns, ==, 1400);
    cint_shutdown(t);
}

/* SQs that share a CQ are counted apart; what moves no blocks has no bytes. */
static void test_submission_queues_of_one_cq(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=default");
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, CINT_ENTRIES, 1);
    QNvmeSq *low = qnvme_create_sq_prio(t->nvme, 1, CINT_ENTRIES, cq, 3);
    QNvmeSq *high = qnvme_create_sq_prio(t->nvme, 2, CINT_ENTRIES, cq, 1);
    QNvmeBuf buf = qnvme_buf_new(t->nvme, sizeof(NvmeCintLogHeader));
    NvmeCintLogSq r;

    cint_read(t, low, 4);
    qnvme_push_invalid(high);
    qnvme_ring_sq(high);
    cint_read(t, high, 1);
    cint_run(t, 2000);
    r = cint_sq_record(t, 1);
    g_assert_cmpuint(r.commands, ==, 4);
    g_assert_cmpuint(r.bytes, ==, 4 * 4096);
    g_assert_cmpuint(r.priority, ==, 3);
    r = cint_sq_record(t, 2);
    g_assert_cmpuint(r.cqid, ==, 1);
    g_assert_cmpuint(r.commands, ==, 2);
    g_assert_cmpuint(r.bytes, ==, 4096);
    g_assert_cmpuint(r.priority, ==, 1);
    g_assert_cmphex(qnvme_get_log(t->nvme, NVME_CINT_LID, NVME_CINT_LSP_RESET,
                                  0, &buf), ==, 0);
    r = cint_sq_record(t, 2);
    g_assert_cmpuint(r.commands + r.bytes + r.wait.bucket[0], ==, 0);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/stats/" name, run)
    ADD("identify-shows-the-interface", test_identify_structure);
    ADD("log-page-honours-offsets", test_log_page_offsets);
    ADD("one-message-for-an-admin-command",
        test_one_message_for_an_admin_command);
    ADD("log-page-read-can-reset-counters", test_log_page_reset);
    ADD("log-page-costs-what-is-asked-for", test_log_page_cost);
    ADD("log-page-is-unknown-without-cint", test_log_page_without_cint);
    ADD("log-page-and-property-agree", test_both_views_agree);
    ADD("hold-and-reap-times-are-exact", test_hold_and_reap_times);
    ADD("hold-times-leave-out-polled-cqes", test_hold_times_beside_polling);
    ADD("answers", test_answers);
    ADD("answers/mask", test_answers_beside_a_mask);
    ADD("admin-queue-is-not-timed", test_admin_queue_is_not_timed);
    ADD("passes-without-a-cqe", test_passes_without_a_cqe);
    ADD("hold-times-at-a-tie", test_hold_times_at_a_tie);
    ADD("hold-times-of-what-polling-leaves", test_hold_times_of_the_rest);
    ADD("submission-queues-of-one-cq", test_submission_queues_of_one_cq);
    ADD("a-tail-that-goes-back", test_tail_goes_back);
#undef ADD
    qtest_add_data_func("/nvme-cint/stats/hold-times-of-a-late-guest", NULL,
                        test_hold_times_of_a_late_guest);
    qtest_add_data_func("/nvme-cint/stats/"
                        "hold-times-of-a-late-guest-with-shadow-doorbells",
                        "shadow", test_hold_times_of_a_late_guest);
    qtest_add_data_func("/nvme-cint/stats/polled-queue-is-timed", NULL,
                        test_polled_queue);
    qtest_add_data_func("/nvme-cint/stats/"
                        "polled-queue-is-timed-with-shadow-doorbells",
                        "shadow", test_polled_queue);
    qtest_add_data_func("/nvme-cint/stats/submission-queues", NULL,
                        test_submission_queues);
    qtest_add_data_func("/nvme-cint/stats/"
                        "submission-queues-with-shadow-doorbells",
                        "shadow", test_submission_queues);
    return g_test_run();
}
