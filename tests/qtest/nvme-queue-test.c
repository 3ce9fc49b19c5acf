/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The controller as any driver sees it: queues, data, interrupts, errors.
 * These tests hold for the stock device, with queue-cache and with cint=on
 * alike, and so they run on all of them.
 */
#include "qemu/osdep.h"
#include "nvme-cint-common.h"

static const char *const variants[][2] = {
    { "stock", "" },
    { "cached", "queue-cache=on" },
    { "iothread", "iothread=io0" },
    { "iothread-ioeventfd", "iothread=io0,ioeventfd=on" },
    { "real", "cint=on,cint.policy=default,cint.time=real" },
    { "virtual", "cint=on,cint.policy=default,cint.time=virtual" },
    { "batched", "cint=on,cint.policy=default,cint.each-cqe=off" },
    { "slots", "cint=on,cint.policy=default,cint.media.slots=2" },
};

static char *make_disk(void)
{
    char *path = g_strdup_printf("%s/nvme-queue-XXXXXX", g_get_tmp_dir());
    int fd = mkstemp(path);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, 16 * 1024 * 1024), ==, 0);
    close(fd);
    return path;
}

static CintTest *boot_with_disk(const char *path, const char *opts)
{
    g_autofree char *args = g_strdup_printf(
        "-blockdev driver=file,node-name=d0,filename=%s", path);

    return cint_boot_custom(NULL, args, opts);
}

static void run_one(QNvmeSq *sq)
{
    NvmeCqe cqe;

    qnvme_ring_sq(sq);
    qnvme_wait_cqes(sq->cq, 1);
    qnvme_peek(sq->cq, 0, &cqe);
    g_assert_cmphex(qnvme_status(&cqe), ==, NVME_SUCCESS);
    qnvme_reap(sq->cq, 1);
}

static void test_data(const void *opts)
{
    static const size_t sizes[] = { 512, 4096, 8192, 65536, 12288 };
    g_autofree char *disk = make_disk();
    CintTest *t = boot_with_disk(disk, opts);
    QNvmeSq *sq = cint_queues(t, 1);
    size_t i;

    for (i = 0; i < ARRAY_SIZE(sizes); i++) {
        QNvmeBuf out = qnvme_buf_new(t->nvme, sizes[i]);
        QNvmeBuf in = qnvme_buf_new(t->nvme, sizes[i]);

        qnvme_buf_fill(t->nvme, &out, i);
        qnvme_push_write(sq, &out, i * 1024, sizes[i]);
        run_one(sq);
        qnvme_push_flush(sq);
        run_one(sq);
        qnvme_push_read(sq, &in, i * 1024, sizes[i]);
        run_one(sq);
        g_assert_true(qnvme_buf_holds(t->nvme, &in, i));
        g_assert_false(qnvme_buf_holds(t->nvme, &in, i + 1));
    }
    cint_shutdown(t);
    unlink(disk);
}

static void test_one_doorbell_submits_many(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    bool seen[8] = { false };
    NvmeCqe cqe;
    int i;

    cint_read(t, sq, ARRAY_SIZE(seen));
    qnvme_wait_cqes(sq->cq, ARRAY_SIZE(seen));
    for (i = 0; i < ARRAY_SIZE(seen); i++) {
        g_assert_true(qnvme_peek(sq->cq, i, &cqe));
        g_assert_cmpuint(cqe.sq_id, ==, 1);
        g_assert_cmpuint(cqe.cid, <, ARRAY_SIZE(seen));
        g_assert_false(seen[cqe.cid]);
        seen[cqe.cid] = true;
    }
    g_assert_false(qnvme_peek(sq->cq, ARRAY_SIZE(seen), &cqe));
    qnvme_reap(sq->cq, ARRAY_SIZE(seen));
    cint_shutdown(t);
}

/* Both queues wrap several times, at different places. */
static void test_queues_wrap(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 5, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 7, cq);
    int round;

    for (round = 0; round < 20; round++) {
        cint_read(t, sq, 3);
        qnvme_wait_cqes(cq, 3);
        g_assert_cmpuint(qnvme_visible(cq), ==, 3);
        qnvme_reap(cq, 3);
    }
    g_assert_cmpuint(cq->reaped, ==, 60);
    cint_shutdown(t);
}

static void test_masked_vector_shows_pending_bit(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 3);

    g_assert_false(qnvme_irq_pending(t->nvme, 3));
    cint_read(t, sq, 1);
    qnvme_wait_cqes(sq->cq, 1);
    cint_expect_irq_now(t, sq->cq);
    g_assert_false(qnvme_take_irq(t->nvme, 3));
    g_assert_false(qnvme_irq_pending(t->nvme, 1));
    qnvme_reap(sq->cq, 1);
    cint_shutdown(t);
}

static void test_unmasked_vector_sends_messages(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    uint32_t i;

    cint_count_messages(t, 1);
    for (i = 1; i <= 5; i++) {
        cint_read(t, sq, 1);
        qnvme_wait_cqes(sq->cq, 1);
        /* The CQE is in memory before its message. */
        cint_let_run(t);
        g_assert_cmpuint(cint_messages(t), ==, i);
        qnvme_reap(sq->cq, 1);
        cint_let_run(t);
        g_assert_cmpuint(cint_messages(t), ==, i);
    }
    cint_shutdown(t);
}

static void test_queue_without_interrupts(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeCq *cq = NULL;
    QNvmeSq *sq;

    g_assert_cmphex(qnvme_try_create_cq(t->nvme, 1, 16, 1, false, &cq), ==, 0);
    sq = qnvme_create_sq(t->nvme, 1, 16, cq);
    cint_read(t, sq, 8);
    qnvme_wait_cqes(cq, 8);
    cint_run(t, CINT_SECOND);
    g_assert_false(qnvme_irq_pending(t->nvme, 1));
    qnvme_reap(cq, 8);
    cint_shutdown(t);
}

/* Of two commands, which may have completed in any order. */
static void expect_status(QNvmeSq *sq, uint16_t cid, uint16_t status)
{
    NvmeCqe cqe;

    qnvme_peek(sq->cq, 0, &cqe);
    if (cqe.cid != cid) {
        qnvme_peek(sq->cq, 1, &cqe);
    }
    g_assert_cmphex(cqe.cid, ==, cid);
    g_assert_cmphex(qnvme_status(&cqe), ==, status);
}

static void test_errors(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeCq *cq = NULL;
    uint16_t invalid, beyond;

    invalid = qnvme_push_invalid(sq);
    beyond = qnvme_push_read(sq, &t->buf, 1ull << 40, 4096);
    qnvme_ring_sq(sq);
    qnvme_wait_cqes(sq->cq, 2);
    expect_status(sq, invalid, NVME_INVALID_OPCODE | NVME_DNR);
    expect_status(sq, beyond, NVME_LBA_RANGE | NVME_DNR);
    qnvme_reap(sq->cq, 2);

    g_assert_cmphex(qnvme_try_create_cq(t->nvme, 1, 16, 1, true, &cq), ==,
                    NVME_INVALID_QID | NVME_DNR);
    g_assert_cmphex(qnvme_try_create_cq(t->nvme, 2, 16, 9999, true, &cq), ==,
                    NVME_INVALID_IRQ_VECTOR | NVME_DNR);
    cint_shutdown(t);
}

static void test_admin_commands(const void *opts)
{
    CintTest *t = cint_boot(opts);
    NvmeIdCtrl id;
    uint32_t result;

    g_assert_cmphex(qnvme_identify(t->nvme, NVME_ID_CNS_CTRL, 0, &t->buf), ==,
                    0);
    qtest_memread(t->qts, t->buf.addr, &id, sizeof(id));
    g_assert_cmpint(strncmp((char *)id.sn, "cint", 4), ==, 0);
    g_assert_cmphex(qnvme_set_feature(t->nvme, NVME_NUMBER_OF_QUEUES,
                                      0x00030003, NULL, &result), ==, 0);
    g_assert_cmphex(qnvme_get_feature(t->nvme, NVME_NUMBER_OF_QUEUES, 0, 0,
                                      NULL, &result), ==, 0);
    g_assert_cmphex(qnvme_get_log(t->nvme, NVME_LOG_SMART_INFO, 0, 0, &t->buf),
                    ==, 0);
    cint_shutdown(t);
}

static void test_queues_come_and_go(const void *opts)
{
    CintTest *t = cint_boot(opts);
    int round;

    for (round = 0; round < 3; round++) {
        QNvmeSq *sq = cint_queues(t, 1);
        QNvmeCq *cq = sq->cq;

        cint_read(t, sq, 4);
        qnvme_wait_cqes(cq, 4);
        qnvme_reap(cq, 4);
        qnvme_delete_sq(sq);
        qnvme_delete_cq(cq);
    }
    cint_shutdown(t);
}

static void test_reset_and_again(const void *opts)
{
    CintTest *t = cint_boot(opts);
    int round;

    for (round = 0; round < 3; round++) {
        QNvmeSq *sq = cint_queues(t, 1);

        cint_read(t, sq, 4);
        qnvme_wait_cqes(sq->cq, 4);
        qnvme_reset(t->nvme);
        qnvme_enable(t->nvme);
    }
    cint_shutdown(t);
}

static void test_shadow_doorbells(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    int round;

    qnvme_use_shadow_doorbells(t->nvme);
    for (round = 0; round < 50; round++) {
        cint_read(t, sq, 1 + round % 7);
        qnvme_wait_cqes(sq->cq, 1 + round % 7);
        qnvme_reap(sq->cq, 1 + round % 7);
    }
    cint_shutdown(t);
}

/* Commands wait in the controller for free slots of the CQ. */
static void test_full_queue_goes_on_when_head_moves(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 4, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 32, cq);
    int reaped;

    cint_read(t, sq, 20);
    for (reaped = 0; reaped < 20; reaped++) {
        qnvme_wait_cqes(cq, MIN(3, 20 - reaped));
        g_assert_cmpuint(qnvme_visible(cq), <=, 3);
        qnvme_reap(cq, 1);
    }
    g_assert_cmpuint(qnvme_visible(cq), ==, 0);
    cint_shutdown(t);
}

static void push_read_to(QNvmeSq *sq, uint64_t addr)
{
    QNvmeBuf page = { .addr = addr, .len = QNVME_PAGE_SIZE };

    qnvme_push_read(sq, &page, 0, QNVME_PAGE_SIZE);
    qnvme_ring_sq(sq);
}

/*
 * Data for a place that is no memory takes a buffer, of which a device has one
 * page. A command that waits for it goes with its queue all the same.
 */
static void test_delete_while_data_waits_for_a_buffer(const void *opts)
{
    CintTest *t = cint_boot_custom(
        NULL, "-blockdev driver=null-co,node-name=d0,size=1073741824,"
        "read-zeroes=on,latency-ns=200000000", opts);
    QNvmeSq *first = cint_queues(t, 1), *second = cint_queues(t, 2);

    cint_count_messages(t, 3);
    push_read_to(first, t->counter.addr);
    cint_let_run(t);
    push_read_to(second, t->counter.addr);
    cint_let_run(t);
    qnvme_delete_sq(second);
    qnvme_wait_cqes(first->cq, 1);
    cint_shutdown(t);
}

static const struct {
    const char *name;
    void (*run)(const void *opts);
} tests[] = {
    { "what-is-written-is-read-back", test_data },
    { "one-doorbell-submits-many-commands", test_one_doorbell_submits_many },
    { "queues-wrap", test_queues_wrap },
    { "masked-vector-shows-a-pending-bit",
      test_masked_vector_shows_pending_bit },
    { "unmasked-vector-sends-messages", test_unmasked_vector_sends_messages },
    { "queue-with-interrupts-off-never-interrupts",
      test_queue_without_interrupts },
    { "wrong-commands-fail", test_errors },
    { "admin-commands-work", test_admin_commands },
    { "queues-come-and-go", test_queues_come_and_go },
    { "controller-starts-again-after-reset", test_reset_and_again },
    { "shadow-doorbells-lose-nothing", test_shadow_doorbells },
    { "full-queue-goes-on-when-its-head-moves",
      test_full_queue_goes_on_when_head_moves },
    { "queue-goes-while-its-data-waits-for-a-buffer",
      test_delete_while_data_waits_for_a_buffer },
};

int main(int argc, char **argv)
{
    size_t v, i;

    g_test_init(&argc, &argv, NULL);
    for (v = 0; v < ARRAY_SIZE(variants); v++) {
        for (i = 0; i < ARRAY_SIZE(tests); i++) {
            g_autofree char *path = g_strdup_printf(
                "/nvme-queue/%s/%s", variants[v][0], tests[i].name);

            qtest_add_data_func(path, variants[v][1], tests[i].run);
        }
    }
    return g_test_run();
}
