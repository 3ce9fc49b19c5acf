/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * No completion is lost or stranded, whatever happens while completions are
 * held back or commands are with the medium. Each hazard runs under every
 * policy, in virtual and in real time. All tests end with the same assertion:
 * a guest that looks only after an interrupt finds everything
 * (cint_eager_guest()).
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-common.h"

/* Time after which the reads of a doorbell are posted and held. */
#define POSTED  1000
/* Time at which they are still with the medium. */
#define IN_MEDIA  100

static void read_and_run(CintTest *t, QNvmeSq *sq, uint32_t count, int64_t ns)
{
    cint_read(t, sq, count);
    cint_let_run(t);
    cint_run(t, ns);
    cint_let_run(t);
}

/* Nothing is under way: no CQE and no interrupt may come any more. */
static void expect_silence(CintTest *t, uint16_t vector)
{
    qnvme_take_irq(t->nvme, vector);
    cint_run(t, 2 * CINT_SECOND);
    cint_let_run(t);
    g_assert_false(qnvme_irq_pending(t->nvme, vector));
}

static void expect_queue_works(CintTest *t, QNvmeSq *sq)
{
    cint_read(t, sq, 3);
    cint_let_run(t);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 3);
    cint_shutdown(t);
}

/* ---- Resets ---- */

static void reset_at(const char *opts, int64_t when)
{
    CintTest *t = cint_boot(opts);

    read_and_run(t, cint_queues(t, 1), 3, when);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    expect_silence(t, 1);
    expect_queue_works(t, cint_queues(t, 1));
}

static void test_reset_pending(const void *opts)
{
    reset_at(opts, POSTED);
}

static void test_reset_in_media(const void *opts)
{
    reset_at(opts, IN_MEDIA);
}

/* The function has lost its BARs and its MSI-X setup: starts from scratch. */
static void start_over(CintTest *t)
{
    qnvme_free(t->nvme);
    t->nvme = qnvme_new(t->pdev, &t->alloc);
    qnvme_enable(t->nvme);
}

static void system_reset_at(const char *opts, int64_t when)
{
    CintTest *t = cint_boot(opts);

    read_and_run(t, cint_queues(t, 1), 3, when);
    qtest_system_reset(t->qts);
    start_over(t);
    expect_silence(t, 1);
    expect_queue_works(t, cint_queues(t, 1));
}

static void test_system_reset_pending(const void *opts)
{
    system_reset_at(opts, POSTED);
}

static void test_system_reset_in_media(const void *opts)
{
    system_reset_at(opts, IN_MEDIA);
}

static void flr_at(const char *opts, int64_t when)
{
    CintTest *t = cint_boot(opts);
    uint8_t cap = qpci_find_capability(t->pdev, PCI_CAP_ID_EXP, 0);
    uint16_t control = qpci_config_readw(t->pdev, cap + PCI_EXP_DEVCTL);

    read_and_run(t, cint_queues(t, 1), 3, when);
    qpci_config_writew(t->pdev, cap + PCI_EXP_DEVCTL,
                       control | PCI_EXP_DEVCTL_BCR_FLR);
    start_over(t);
    expect_silence(t, 1);
    expect_queue_works(t, cint_queues(t, 1));
}

static void test_flr_pending(const void *opts)
{
    flr_at(opts, POSTED);
}

static void test_flr_in_media(const void *opts)
{
    flr_at(opts, IN_MEDIA);
}

/* ---- Deletions ---- */

static void delete_sq_at(const char *opts, int64_t when)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeCq *cq = sq->cq;

    read_and_run(t, sq, 3, when);
    qnvme_delete_sq(sq);
    g_assert_cmpuint(cint_eager_guest(t, cq), ==, 3);
    g_assert_cmpuint(cint_record(t, 1).inflight, ==, 0);
    expect_queue_works(t, qnvme_create_sq(t->nvme, 1, 64, cq));
}

static void test_delete_sq_pending(const void *opts)
{
    delete_sq_at(opts, POSTED);
}

static void test_delete_sq_in_media(const void *opts)
{
    delete_sq_at(opts, IN_MEDIA);
}

/* Commands that were never fetched vanish with their queue. */
static void test_delete_sq_unfetched(const void *opts)
{
    g_autofree char *slots = g_strconcat(opts, ",cint.media.slots=2", NULL);
    CintTest *t = cint_boot(slots);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeSq *other = cint_queues(t, 2);
    QNvmeCq *cq = sq->cq;

    cint_read(t, other, 1);
    read_and_run(t, sq, 10, IN_MEDIA);
    qnvme_delete_sq(sq);
    g_assert_cmpuint(cint_eager_guest(t, cq), <=, 2);
    g_assert_cmpuint(cint_eager_guest(t, other->cq), ==, 1);
    cint_read(t, other, 10);
    g_assert_cmpuint(cint_eager_guest(t, other->cq), ==, 10);
    expect_queue_works(t, qnvme_create_sq(t->nvme, 1, 64, cq));
}

/* The other SQ's commands are all that a held CQE was waiting for. */
static void test_delete_other_sq(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeSq *other = qnvme_create_sq(t->nvme, 2, 64, sq->cq);

    qnvme_push_write(other, &t->buf, 0, 4096);
    qnvme_ring_sq(other);
    read_and_run(t, sq, 3, POSTED);
    qnvme_delete_sq(other);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 4);
    expect_queue_works(t, sq);
}

static void test_delete_cq_pending(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeCq *cq = sq->cq;

    read_and_run(t, sq, 3, POSTED);
    qnvme_delete_sq(sq);
    qnvme_delete_cq(cq);
    expect_silence(t, 1);
    expect_queue_works(t, cint_queues(t, 1));
}

/* All admin commands that were pushed go out at once, and succeed. */
static void expect_admin_batch(CintTest *t, uint32_t count)
{
    QNvmeCq *cq = &t->nvme->admin_cq;
    NvmeCqe cqe;
    uint32_t i;

    qnvme_ring_sq(&t->nvme->admin_sq);
    cint_let_run(t);
    cint_run(t, 1);
    qnvme_wait_cqes(cq, count);
    for (i = 0; i < count; i++) {
        g_assert_true(qnvme_peek(cq, i, &cqe));
        g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    }
    qnvme_reap(cq, count);
    qnvme_take_irq(t->nvme, 0);
}

/*
 * The queues go while CQEs are held and commands in the medium, and others
 * come in their place, within one entry into the controller: what deleting
 * the SQ has decided to send is for a CQ that is gone when it ends.
 */
static void test_replace_in_one_batch(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeCq *cq = sq->cq;
    int i;

    read_and_run(t, sq, 3, POSTED);
    for (i = 0; i < 3; i++) {
        qnvme_push_write(sq, &t->buf, 0, 4096);
    }
    qnvme_ring_sq(sq);
    cint_let_run(t);

    *cq = (QNvmeCq) {
        .ctrl = t->nvme, .id = 1, .vector = 1, .entries = CINT_ENTRIES,
        .addr = qnvme_buf_new(t->nvme, QNVME_PAGE_SIZE).addr, .phase = true,
    };
    sq->addr = qnvme_buf_new(t->nvme, QNVME_PAGE_SIZE).addr;
    sq->tail = sq->head = sq->doorbell = 0;
    cint_push_admin(t, NVME_ADM_CMD_DELETE_SQ, 0, 1, 0);
    cint_push_admin(t, NVME_ADM_CMD_DELETE_CQ, 0, 1, 0);
    cint_push_admin(t, NVME_ADM_CMD_CREATE_CQ, cq->addr,
                    (CINT_ENTRIES - 1) << 16 | 1, 1 << 16 | 3);
    cint_push_admin(t, NVME_ADM_CMD_CREATE_SQ, sq->addr,
                    (CINT_ENTRIES - 1) << 16 | 1, 1 << 16 | 1);
    expect_admin_batch(t, 4);
    g_assert_cmpuint(cint_record(t, 1).cqes, ==, 0);
    expect_silence(t, 1);
    expect_queue_works(t, sq);
}

/* ---- Full completion queues ---- */

static void test_cq_full(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 8, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);

    read_and_run(t, sq, 30, POSTED);
    g_assert_cmpuint(qnvme_visible(cq), ==, 7);
    g_assert_cmpuint(cint_eager_guest(t, cq), ==, 30);
    expect_queue_works(t, sq);
}

/* A guest that polls part of the time and then goes to sleep. */
static void test_cq_full_and_polled(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 8, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);

    read_and_run(t, sq, 30, POSTED);
    qnvme_take_irq(t->nvme, 1);
    qnvme_reap(cq, 7);
    cint_let_run(t);
    cint_run(t, 1);
    cint_let_run(t);
    qnvme_wait_cqes(cq, 7);
    qnvme_reap(cq, 7);
    g_assert_cmpuint(cint_eager_guest(t, cq), ==, 16);
    expect_queue_works(t, sq);
}

static void test_smallest_cq(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 2, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);

    read_and_run(t, sq, 9, POSTED);
    g_assert_cmpuint(cint_eager_guest(t, cq), ==, 9);
    expect_queue_works(t, sq);
}

/* ---- Aborts and errors ---- */

static void test_abort_in_media(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    uint16_t cid;
    NvmeCqe cqe;

    qnvme_push_read(sq, &t->buf, 0, 4096);
    cid = qnvme_push_read(sq, &t->buf, 0, 4096);
    read_and_run(t, sq, 1, IN_MEDIA);
    if (qnvme_abort(sq, cid)) {
        qnvme_wait_cqes(sq->cq, 1);
        qnvme_peek(sq->cq, 0, &cqe);
        g_assert_cmpuint(cqe.cid, ==, cid);
        g_assert_cmphex(qnvme_status(&cqe) & 0xff, ==, NVME_CMD_ABORT_REQ);
    }
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 3);
    g_assert_cmpuint(cint_record(t, 1).inflight, ==, 0);
    expect_queue_works(t, sq);
}

static void test_abort_of_nothing(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    read_and_run(t, sq, 3, POSTED);
    g_assert_false(qnvme_abort(sq, 1));
    g_assert_false(qnvme_abort(sq, 999));
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 3);
    expect_queue_works(t, sq);
}

/* An admin command that is done cannot be undone, if not posted yet. */
static void test_abort_of_done(const void *opts)
{
    CintTest *t = cint_boot(opts);
    uint16_t cid = t->nvme->admin_sq.next_cid;

    cint_push_admin(t, NVME_ADM_CMD_GET_FEATURES, 0, NVME_NUMBER_OF_QUEUES, 0);
    cint_push_admin(t, NVME_ADM_CMD_ABORT, 0, cid << 16, 0);
    expect_admin_batch(t, 2);
    expect_queue_works(t, cint_queues(t, 1));
}

static void test_errors_among_reads(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < 10; i++) {
        qnvme_push_read(sq, &t->buf, 0, 4096);
        qnvme_push_invalid(sq);
        qnvme_push_read(sq, &t->buf, 1ull << 40, 4096);
    }
    qnvme_ring_sq(sq);
    cint_let_run(t);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 30);
    expect_queue_works(t, sq);
}

/* ---- Doorbells ---- */

static void shadow_at(const char *opts, int64_t when)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    int round;

    read_and_run(t, sq, 3, when);
    qnvme_use_shadow_doorbells(t->nvme);
    cint_read(t, sq, 3);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 6);
    for (round = 0; round < 10; round++) {
        cint_read(t, sq, round);
        cint_let_run(t);
        g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, round);
    }
    expect_queue_works(t, sq);
}

static void test_shadow_pending(const void *opts)
{
    shadow_at(opts, POSTED);
}

static void test_shadow_in_media(const void *opts)
{
    shadow_at(opts, IN_MEDIA);
}

static void test_shadow_cq_full(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 8, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);

    qnvme_use_shadow_doorbells(t->nvme);
    read_and_run(t, sq, 30, POSTED);
    g_assert_cmpuint(cint_eager_guest(t, cq), ==, 30);
    expect_queue_works(t, sq);
}

/*
 * The guest is slow between the two ways of telling that a full queue has room:
 * the controller's own deadlines look at the shadow meanwhile, and the doorbell
 * comes to a queue that is not full.
 */
static void test_shadow_head_before_doorbell(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 8, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);

    qnvme_use_shadow_doorbells(t->nvme);
    read_and_run(t, sq, 30, POSTED);
    g_assert_true(qnvme_take_irq(t->nvme, 1));
    qnvme_consume(cq, 7);
    qtest_writel(t->qts, t->nvme->shadow + 3 * 4, cq->head);
    cint_run(t, CINT_SECOND);
    cint_let_run(t);
    qnvme_reg_write(t->nvme, 0x1000 + 3 * 4, cq->head);
    cq->doorbell = cq->head;
    cint_let_run(t);
    g_assert_cmpuint(cint_eager_guest(t, cq), ==, 23);
    expect_queue_works(t, sq);
}

/* A head beyond the tail is the guest's mistake; the controller lives on. */
static void test_wrong_head(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    read_and_run(t, sq, 3, POSTED);
    qnvme_reg_write(t->nvme, 0x1000 + 3 * 4, 40);
    cint_let_run(t);
    qnvme_reg_write(t->nvme, 0x1000 + 3 * 4, 9999);
    cint_let_run(t);
    cint_run(t, CINT_SECOND);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    expect_silence(t, 1);
    expect_queue_works(t, cint_queues(t, 1));
}

/* ---- The machine ---- */

static void test_stop_and_continue(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    read_and_run(t, sq, 3, POSTED);
    cint_read(t, sq, 3);
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 6);
    expect_queue_works(t, sq);
}

/* The drive is drained, and gets another image, in the middle. */
static void snapshot_at(const char *opts, int64_t when)
{
    g_autofree char *path = g_strdup_printf("%s/nvme-cint-hazard-XXXXXX",
                                            g_get_tmp_dir());
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    int fd = mkstemp(path);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    read_and_run(t, sq, 3, when);
    cint_read(t, sq, 3);
    qtest_qmp_assert_success(t->qts,
                             "{'execute': 'blockdev-snapshot-sync',"
                             " 'arguments': {'node-name': 'd0',"
                             " 'snapshot-file': %s,"
                             " 'snapshot-node-name': 's0'}}", path);
    unlink(path);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 6);
    expect_queue_works(t, sq);
}

static void test_snapshot_pending(const void *opts)
{
    snapshot_at(opts, POSTED);
}

static void test_snapshot_in_media(const void *opts)
{
    snapshot_at(opts, IN_MEDIA);
}

/* A driver may put a function to sleep that owes it interrupts. */
static void sleep_at(const char *opts, int64_t when)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    uint8_t cap = qpci_find_capability(t->pdev, PCI_CAP_ID_PM, 0);
    uint16_t control = qpci_config_readw(t->pdev, cap + PCI_PM_CTRL);

    g_assert_cmpuint(cap, !=, 0);
    read_and_run(t, sq, 3, when);
    qpci_config_writew(t->pdev, cap + PCI_PM_CTRL,
                       control | PCI_PM_CTRL_STATE_MASK);
    cint_run(t, CINT_SECOND);
    qpci_config_writew(t->pdev, cap + PCI_PM_CTRL, control);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 3);
    expect_queue_works(t, sq);
}

static void test_sleep_pending(const void *opts)
{
    sleep_at(opts, POSTED);
}

static void test_sleep_in_media(const void *opts)
{
    sleep_at(opts, IN_MEDIA);
}

static void unplug_at(const char *opts, int64_t when)
{
    CintTest *t = cint_boot(opts);

    read_and_run(t, cint_queues(t, 1), 3, when);
    qpci_unplug_acpi_device_test(t->qts, "nvme0", 4);
    cint_run(t, 2 * CINT_SECOND);
    qtest_qmp_assert_success(t->qts, "{'execute': 'query-status'}");
    cint_shutdown(t);
}

static void test_unplug_pending(const void *opts)
{
    unplug_at(opts, POSTED);
}

static void test_unplug_in_media(const void *opts)
{
    unplug_at(opts, IN_MEDIA);
}

static void test_exit_in_media(const void *opts)
{
    CintTest *t = cint_boot(opts);

    read_and_run(t, cint_queues(t, 1), 3, IN_MEDIA);
    cint_shutdown(t);
}

static void test_policy_switches(const void *opts)
{
    static const char *const policies[] = { "static", "adaptive", "vic" };
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    /* Combinations that are refused. */
    qtest_qom_set_bool(t->qts, "/machine/peripheral/nvme0", "cint.each-cqe",
                       true);
    cint_set_number(t, "cint.max-hold", 90000);
    for (i = 0; i < 20; i++) {
        read_and_run(t, sq, 2, i * 37);
        cint_set_word(t, "cint.policy", policies[i % 3]);
    }
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 40);
    expect_queue_works(t, sq);
}

/* Two CQs on one vector: each interrupt makes the guest look at both. */
static void test_shared_vector(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeCq *cqs[2];
    QNvmeSq *sqs[2];
    uint32_t reaped = 0;
    int i, k;

    for (k = 0; k < 2; k++) {
        cqs[k] = qnvme_create_cq(t->nvme, k + 1, 64, 1);
        sqs[k] = qnvme_create_sq(t->nvme, k + 1, 64, cqs[k]);
        read_and_run(t, sqs[k], 3, POSTED);
    }
    for (i = 0; i < 400; i++) {
        cint_run(t, 10000);
        if (!qnvme_take_irq(t->nvme, 1)) {
            continue;
        }
        for (k = 0; k < 2; k++) {
            uint32_t visible = qnvme_visible(cqs[k]);

            qnvme_reap(cqs[k], visible);
            reaped += visible;
        }
    }
    g_assert_cmpuint(reaped, ==, 6);
    cint_shutdown(t);
}

static const struct {
    const char *name;
    void (*run)(const void *opts);
} hazards[] = {
    { "reset-with-cqes-pending", test_reset_pending },
    { "reset-with-commands-in-media", test_reset_in_media },
    { "system-reset-with-cqes-pending", test_system_reset_pending },
    { "system-reset-with-commands-in-media", test_system_reset_in_media },
    { "function-reset-with-cqes-pending", test_flr_pending },
    { "function-reset-with-commands-in-media", test_flr_in_media },
    { "delete-sq-with-cqes-pending", test_delete_sq_pending },
    { "delete-sq-with-commands-in-media", test_delete_sq_in_media },
    { "delete-sq-with-commands-unfetched", test_delete_sq_unfetched },
    { "delete-other-sq-of-the-cq", test_delete_other_sq },
    { "delete-cq-with-cqes-pending", test_delete_cq_pending },
    { "replaced-in-one-batch", test_replace_in_one_batch },
    { "cq-full-with-commands-waiting", test_cq_full },
    { "cq-full-and-polled", test_cq_full_and_polled },
    { "cq-of-two-entries", test_smallest_cq },
    { "abort-in-media", test_abort_in_media },
    { "abort-of-nothing", test_abort_of_nothing },
    { "abort-of-an-admin-command-done", test_abort_of_done },
    { "errors-among-reads", test_errors_among_reads },
    { "shadow-doorbells-on-with-cqes-pending", test_shadow_pending },
    { "shadow-doorbells-on-with-commands-in-media", test_shadow_in_media },
    { "shadow-doorbells-and-cq-full", test_shadow_cq_full },
    { "shadow-head-before-its-doorbell", test_shadow_head_before_doorbell },
    { "head-beyond-the-tail", test_wrong_head },
    { "stop-and-continue", test_stop_and_continue },
    { "snapshot-with-cqes-pending", test_snapshot_pending },
    { "snapshot-with-commands-in-media", test_snapshot_in_media },
    { "asleep-with-cqes-pending", test_sleep_pending },
    { "asleep-with-commands-in-media", test_sleep_in_media },
    { "unplug-with-cqes-pending", test_unplug_pending },
    { "unplug-with-commands-in-media", test_unplug_in_media },
    { "exit-with-commands-in-media", test_exit_in_media },
    { "policy-switches", test_policy_switches },
    { "two-cqs-on-one-vector", test_shared_vector },
};

int main(int argc, char **argv)
{
    const CintCase *c;
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (c = cint_cases; c->name; c++) {
        for (i = 0; i < ARRAY_SIZE(hazards); i++) {
            g_autofree char *path = g_strdup_printf(
                "/nvme-cint/hazard/%s/%s", c->name, hazards[i].name);

            qtest_add_data_func(path, c->opts, hazards[i].run);
        }
    }
    return g_test_run();
}
