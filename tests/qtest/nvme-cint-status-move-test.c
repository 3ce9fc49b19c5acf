/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Status records (feature D1h) that the guest takes away while a deadline is
 * due: the message belongs to the records that were there, and nothing is
 * written where the guest has offered none.
 *
 * The machine is stopped while the deadline passes, which is how a main loop
 * that is late looks to the controller.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-common.h"
#include "nvme-cint-driver.h"

#define OPTS \
    "cint=on,cint.time=real,cint.policy=static,cint.static-time=1000000," \
    "cint.static-thr=50,cint.max-hold=0,cint.drain=off"
#define STATIC_NS   1000000
#define CQID        1
#define CQES        3

typedef uint8_t RecordBytes[CINT_RECORD_SIZE];

static void read_bytes(CintTest *t, uint64_t addr, RecordBytes bytes)
{
    qtest_memread(t->qts, addr, bytes, CINT_RECORD_SIZE);
}

static CintTest *boot_with_deadline_due(uint64_t *records)
{
    CintTest *t = cint_boot(OPTS);
    QNvmeSq *sq = cint_queues(t, CQID);

    *records = cint_records_on(t, CQID + 1);
    cint_read(t, sq, CQES);
    cint_let_run(t);
    qnvme_wait_cqes(sq->cq, CQES);
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    cint_run(t, 2 * STATIC_NS);
    g_assert_false(qnvme_irq_pending(t->nvme, CQID));
    return t;
}

/* The message was told of in the old record, and the guest gets it. */
static void expect_told(CintTest *t, uint64_t old_records)
{
    CintStatus status = cint_status(t, old_records, CQID);

    g_assert_cmpuint(status.full_tail, ==, CQES);
    g_assert_cmpuint(status.seq, ==, 1);
    g_assert_cmpuint(status.class, ==, NVME_CINT_CLASS_FULL);
    g_assert_cmpuint(status.reason, ==, NVME_CINT_REASON_TIME);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    g_assert_cmpuint(cint_eager_guest(t, t->nvme->cqs[CQID]), ==, CQES);
    g_assert_cmpuint(cint_record(t, CQID).irqs_full, ==, 1);
    cint_shutdown(t);
}

static void test_off(void)
{
    RecordBytes before, after;
    uint64_t records, nowhere = CQID * CINT_RECORD_SIZE;
    CintTest *t = boot_with_deadline_due(&records);

    read_bytes(t, nowhere, before);
    g_assert_cmphex(cint_set_status(t, 0, 0, 0), ==, 0);
    read_bytes(t, nowhere, after);
    g_assert_cmpmem(after, sizeof(after), before, sizeof(before));
    expect_told(t, records);
}

/* To one record, the admin queue's, which is never written. */
static void test_shrunk(void)
{
    RecordBytes before, after;
    uint64_t records, other;
    CintTest *t = boot_with_deadline_due(&records);

    other = cint_records_new(t, CQID + 1);
    read_bytes(t, other + CQID * CINT_RECORD_SIZE, before);
    g_assert_cmphex(cint_set_status(t, other, 1, 0), ==, 0);
    read_bytes(t, other + CQID * CINT_RECORD_SIZE, after);
    g_assert_cmpmem(after, sizeof(after), before, sizeof(before));
    expect_told(t, records);
}

/* The new record starts with what the message before it allows to reap. */
static void test_moved(void)
{
    uint64_t records, other;
    CintTest *t = boot_with_deadline_due(&records);
    CintStatus status;

    other = cint_records_new(t, CQID + 1);
    g_assert_cmphex(cint_set_status(t, other, CQID + 1, 0), ==, 0);
    status = cint_status(t, other, CQID);
    g_assert_cmpuint(status.full_tail, ==, CQES);
    g_assert_cmpuint(status.class, ==, 0);
    expect_told(t, records);
}

/* Records that have been read but not changed stay as they are. */
static void test_kept(void)
{
    uint64_t records, addr;
    uint32_t count;
    CintTest *t = boot_with_deadline_due(&records);

    cint_get_status(t, 0, &addr, &count);
    g_assert_cmphex(addr, ==, records);
    g_assert_cmpuint(count, ==, CQID + 1);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    cint_let_run(t);
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    expect_told(t, records);
}

/*
 * Deleting the SQ makes every command an error and each error an interrupt;
 * none has been sent when the records move. The one that is left tells of all.
 */
static void test_moved_with_several_unsent(void)
{
    CintTest *t = cint_boot(OPTS ",cint.media=custom,cint.media.units=0,"
                            "cint.media.read-latency=1000000000");
    QNvmeSq *sq = cint_queues(t, CQID);
    uint64_t records = cint_records_on(t, CQID + 1);
    uint64_t other = cint_records_new(t, CQID + 1);
    CintStatus status;

    cint_read(t, sq, CQES);
    cint_let_run(t);
    qtest_writeq(t->qts, t->buf.addr, other);
    qtest_writel(t->qts, t->buf.addr + 8, CQID + 1);
    qtest_writel(t->qts, t->buf.addr + 12, 0);
    cint_push_admin(t, NVME_ADM_CMD_DELETE_SQ, t->buf.addr, CQID, 0);
    cint_push_admin(t, NVME_ADM_CMD_SET_FEATURES, t->buf.addr,
                    NVME_CINT_FID_STATUS, 0);
    qnvme_ring_sq(&t->nvme->admin_sq);
    qnvme_wait_cqes(&t->nvme->admin_cq, 2);
    qnvme_reap(&t->nvme->admin_cq, 2);

    status = cint_status(t, records, CQID);
    g_assert_cmpuint(status.full_tail, ==, CQES);
    g_assert_cmpuint(status.seq, ==, 1);
    g_assert_cmpuint(status.reason, ==, NVME_CINT_REASON_ERROR);
    status = cint_status(t, other, CQID);
    g_assert_cmpuint(status.full_tail, ==, CQES);
    g_assert_cmpuint(status.class, ==, 0);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, CQES);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/status-move/" name, run)
    ADD("kept-with-a-deadline-due", test_kept);
    ADD("off-with-a-deadline-due", test_off);
    ADD("shrunk-with-a-deadline-due", test_shrunk);
    ADD("moved-with-a-deadline-due", test_moved);
    ADD("moved-with-several-messages-unsent", test_moved_with_several_unsent);
#undef ADD
    return g_test_run();
}
