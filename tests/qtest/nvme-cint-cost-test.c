/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A load whose instructions can be counted: reads of 4 KiB from a medium that
 * costs nothing, in large batches, each batch told of by one doorbell write.
 * By itself the test says that all complete. "./cint bench" runs it with QEMU
 * under callgrind, once with reads and once without, and takes the difference:
 *
 *     QTEST_QEMU_BINARY="valgrind --tool=callgrind .../qemu-system-x86_64"
 *     CINT_COST_READS=10000 CINT_COST_OPTS=cint=on,cint.policy=vic
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "nvme-cint-common.h"

#define READS_ENV   "CINT_COST_READS"
#define OPTS_ENV    "CINT_COST_OPTS"
#define PATIENCE_ENV "CINT_COST_WAIT_MS"
#define ENTRIES     2048
#define BATCH       2000

static uint64_t number(const char *variable, uint64_t otherwise)
{
    const char *text = g_getenv(variable);
    uint64_t value = otherwise;

    if (text && qemu_strtou64(text, NULL, 10, &value)) {
        g_error("%s=%s: not a number", variable, text);
    }
    return value;
}

/*
 * The commands stay in the queue's memory: from now on a doorbell write is all
 * that it takes to have them executed again.
 */
static void fill(CintTest *t, QNvmeSq *sq)
{
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, QNVME_PAGE_SIZE);
    unsigned i;

    for (i = 0; i < ENTRIES; i++) {
        cmd.cid = cpu_to_le16(i);
        qtest_memwrite(t->qts, sq->addr + i * sizeof(cmd), &cmd, sizeof(cmd));
    }
}

static bool is_posted(QNvmeCq *cq, uint32_t count)
{
    NvmeCqe cqe;

    return qnvme_peek(cq, count - 1, &cqe);
}

/* Without looking at each CQE, as qnvme_consume() does. */
static void consume(QNvmeCq *cq, uint32_t count)
{
    cq->phase ^= cq->head + count >= ENTRIES;
    cq->head = (cq->head + count) % ENTRIES;
    cq->reaped += count;
}

/*
 * Each look costs QEMU instructions that no guest would cause, so it is given
 * time to finish before the first.
 */
static void run_batch(CintTest *t, QNvmeSq *sq, uint32_t count)
{
    QNvmeCq *cq = sq->cq;
    int64_t limit = g_get_monotonic_time() + 60 * G_TIME_SPAN_SECOND;

    sq->tail = (sq->tail + count) % ENTRIES;
    qnvme_ring_sq(sq);
    g_usleep(1000 * number(PATIENCE_ENV, 0));
    while (!is_posted(cq, count)) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        cint_run(t, 1000);
    }
    consume(cq, count);
    qnvme_ring_cq(cq);
}

static void test_reads(void)
{
    const char *opts = g_getenv(OPTS_ENV);
    uint64_t reads = number(READS_ENV, 3 * BATCH + 1);
    CintTest *t = cint_boot_custom(NULL, "-blockdev driver=null-co,"
                                   "node-name=d0,size=1073741824,"
                                   "read-zeroes=off",
                                   opts ? opts : "cint=on,cint.policy=vic");
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, ENTRIES, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, ENTRIES, cq);
    uint64_t left;

    fill(t, sq);
    for (left = reads; left; left -= MIN(left, BATCH)) {
        run_batch(t, sq, MIN(left, BATCH));
    }
    g_assert_cmpuint(cq->reaped, ==, reads);
    g_assert_cmpuint(qnvme_visible(cq), ==, 0);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/nvme-cint/cost/reads-complete", test_reads);
    return g_test_run();
}
