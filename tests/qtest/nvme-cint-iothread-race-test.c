/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a guest does while an IOThread is at work on the same queue, the same
 * block or the same slot: it finds what it would without a thread. The races
 * are run many times; one that the device lost would not be lost each time.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-driver.h"
#include "nvme-cint-machine.h"

#define THREAD      "iothread=io0"
#define CINT        THREAD ",cint=on,cint.time=real,cint.drain=on"
#define DOORBELLS   0x1000

static void reap_good(QNvmeSq *sq, uint32_t count)
{
    NvmeCqe cqe;
    uint32_t i;

    qnvme_wait_cqes(sq->cq, count);
    for (i = 0; i < count; i++) {
        g_assert_true(qnvme_peek(sq->cq, i, &cqe));
        g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    }
    qnvme_reap(sq->cq, count);
}

/* ---- A head in the register, and a newer one in the shadow ---- */

#define MANY        2048
#define SQS         4
#define SQ_ENTRIES  1024
#define ALL         (SQS * (SQ_ENTRIES - 1))

/* As a guest does that the event index asks for the register, or does not. */
static void tell(CintTest *t, uint32_t doorbell, uint32_t index,
                 bool in_register)
{
    uint32_t offset = doorbell * sizeof(uint32_t);

    qtest_writel(t->qts, t->nvme->shadow + offset, index);
    if (in_register) {
        qnvme_reg_write(t->nvme, DOORBELLS + offset, index);
    }
}

static void tell_head(CintTest *t, QNvmeCq *cq, uint32_t head,
                      bool in_register)
{
    tell(t, 2 * cq->id + 1, head, in_register);
    cq->doorbell = head;
}

static void wait_us(gint64 us)
{
    gint64 end = g_get_monotonic_time() + us;

    while (g_get_monotonic_time() < end) {
        /* a sleep would be longer */
    }
}

/* The register tells of each head from here on. */
static void reap_all(CintTest *t, QNvmeCq *cq, uint32_t count)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;
    uint32_t visible;

    while (count) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        visible = qnvme_visible(cq);
        g_assert_cmpuint(visible, <=, count);
        qnvme_consume(cq, visible);
        tell_head(t, cq, cq->head, true);
        count -= visible;
    }
}

/* The register may be behind: what is full by the shadow is full. */
static void cq_is_not_overrun(const void *opts)
{
    CintTest *t = cint_boot_custom(NULL, CINT_NULL_DISK, opts);
    QNvmeSq *sqs[SQS];
    QNvmeCq *cq;
    uint32_t i, q, head;

    qnvme_use_shadow_doorbells(t->nvme);
    cq = qnvme_create_cq(t->nvme, 1, MANY, 1);
    for (q = 0; q < SQS; q++) {
        sqs[q] = qnvme_create_sq(t->nvme, 1 + q, SQ_ENTRIES, cq);
    }
    for (i = 0; i < 40; i++) {
        for (q = 0; q < SQS; q++) {
            cint_read(t, sqs[q], SQ_ENTRIES - 1);
        }
        qnvme_wait_cqes(cq, MANY - 1);
        head = cq->head;
        qnvme_consume(cq, 1520);
        tell_head(t, cq, (head + 1500) % MANY, true);
        wait_us(g_test_rand_int_range(0, 100));
        tell_head(t, cq, (head + 1510) % MANY, true);
        tell_head(t, cq, (head + 1520) % MANY, false);
        reap_all(t, cq, ALL - 1520);
    }
    cint_shutdown(t);
}

/* ---- Doorbells, and then a command or a register ---- */

/* What a doorbell has said goes to the shadow that takes its place. */
static void doorbells_come_first(const void *opts)
{
    CintTest *t = cint_boot_custom(NULL, CINT_NULL_DISK, opts);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < 200; i++) {
        cint_read(t, sq, 3);
        reap_good(sq, 3);
        cint_read(t, sq, 2);
        qnvme_use_shadow_doorbells(t->nvme);
        g_assert_cmpuint(qtest_readl(t->qts, t->nvme->shadow + 8), ==,
                         sq->tail);
        g_assert_cmpuint(qtest_readl(t->qts, t->nvme->shadow + 12), ==,
                         sq->cq->head);
        reap_good(sq, 2);
        qnvme_reset(t->nvme);
        qnvme_enable(t->nvme);
        sq = cint_queues(t, 1);
    }
    cint_shutdown(t);
}

#define LARGE       (512 * 1024)

static void push_and_tell(CintTest *t, QNvmeSq *sq, const QNvmeBuf *buf,
                          uint32_t count, bool in_register)
{
    while (count--) {
        qnvme_push_read(sq, buf, 0, buf->len);
    }
    tell(t, 2 * sq->id, sq->tail, in_register);
    sq->doorbell = sq->tail;
}

/*
 * The register may be behind: what was fetched by the shadow is not again. A
 * pass takes as long as its reads are copied.
 */
static void tails_do_not_go_back(const void *opts)
{
    g_autofree char *args = g_strdup_printf(
        CINT_NULL_DISK " -object memory-backend-ram,id=m0,size=4M "
        "-device nvme,id=nvme0,serial=cint,addr=4,%s "
        "-device nvme-ns,memdev=m0,nsid=1,bus=nvme0", (const char *)opts);
    CintTest *t = cint_boot_devices(NULL, args);
    QNvmeBuf buf = qnvme_buf_new(t->nvme, LARGE);
    QNvmeSq *sq;
    int i;

    qnvme_use_shadow_doorbells(t->nvme);
    sq = cint_queues(t, 1);
    for (i = 0; i < 100; i++) {
        push_and_tell(t, sq, &buf, 20, true);
        push_and_tell(t, sq, &t->buf, 8, true);
        push_and_tell(t, sq, &t->buf, 2, false);
        qnvme_use_shadow_doorbells(t->nvme);
        push_and_tell(t, sq, &t->buf, 0, true);
        reap_good(sq, 30);
        cint_let_run(t);
        g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
    }
    g_usleep(20000);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
    cint_shutdown(t);
}

/* An index is one of the queue as it was left by the doorbell before. */
static void pointer_is_behind_the_head(const void *opts)
{
    CintTest *t = cint_boot_custom(NULL, CINT_NULL_DISK, opts);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 4, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 16, cq);
    uint64_t pointer = cint_pointer_regs(t) + cq->id * sizeof(uint32_t);
    uint32_t i, armed;

    for (i = 0; i < 1000; i++) {
        cint_set_pointer(t, cq, 0);
        cint_read(t, sq, 3);
        qnvme_wait_cqes(cq, 3);
        cint_let_run(t);
        qnvme_take_irq(t->nvme, 1);
        qnvme_consume(cq, 3);
        armed = NVME_CINT_POINTER_ARM | (cq->head + 1 + i % 2) % cq->entries;
        qnvme_ring_cq(cq);
        qnvme_reg_write(t->nvme, pointer, armed);
        cint_let_run(t);
        g_assert_cmphex(cint_get_pointer(t, cq), ==, armed);
        g_assert_false(qnvme_take_irq(t->nvme, 1));
    }
    cint_shutdown(t);
}

/* ---- The last slot ---- */

#define SLOW_READS \
    "-blockdev driver=null-co,node-name=slow,size=16777216," \
    "latency-ns=1000000,read-zeroes=on "
#define ATOMIC_AND_SLOW \
    CINT_NULL_DISK " " SLOW_READS \
    "-device nvme,id=nvme0,serial=cint,addr=4,cint=on,cint.time=real," \
    "cint.media.slots=1,iothread=io0 " \
    "-device nvme-ns,drive=d0,nsid=1,bus=nvme0,atomic.nawun=7," \
    "atomic.nawupf=7 -device nvme-ns,drive=slow,nsid=2,bus=nvme0"

static void read_slowly(CintTest *t, QNvmeSq *sq, uint32_t count)
{
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, QNVME_PAGE_SIZE);

    cmd.nsid = cpu_to_le32(2);
    while (count--) {
        qnvme_push(sq, &cmd);
    }
    qnvme_ring_sq(sq);
}

/*
 * A thread leaves such writes to the main loop, and the slot that it had for
 * one with it: the other queue never lacks commands for it.
 */
static void atomic_write_gets_its_slot(void)
{
    QNvmeSq *sq, *busy;
    CintTest *t;
    uint32_t i, passed;

    if (!cint_has_property("nvme-ns", "atomic.nawun")) {
        g_test_skip("no namespace of this QEMU has atomic writes");
        return;
    }
    t = cint_boot_devices(NULL, ATOMIC_AND_SLOW);
    sq = cint_queues(t, 1);
    busy = qnvme_create_sq(t->nvme, 2, 256,
                           qnvme_create_cq(t->nvme, 2, 256, 2));
    read_slowly(t, busy, 200);
    for (i = 0; i < 5; i++) {
        qnvme_push_write(sq, &t->buf, 0, QNVME_PAGE_SIZE);
        qnvme_ring_sq(sq);
        for (passed = 0; !qnvme_visible(sq->cq); passed++) {
            g_assert_cmpuint(passed, <, 100);
            reap_good(busy, 1);
            read_slowly(t, busy, 1);
        }
        reap_good(sq, 1);
    }
    reap_good(busy, 200);
    cint_shutdown(t);
}

/* ---- A namespace in memory ---- */

#define BLOCK       65536
#define IN_MEMORY(more) \
    CINT_NULL_DISK " -object memory-backend-ram,id=m0,size=4M " \
    "-device '{\"driver\": \"nvme\", \"id\": \"nvme0\", " \
    "\"serial\": \"cint\", \"addr\": \"4\", \"max_ioqpairs\": 2, " \
    "\"iothread-vq-mapping\": " \
    "[{\"iothread\": \"io0\"}, {\"iothread\": \"io1\"}]}' " \
    "-device '{\"driver\": \"nvme-ns\", \"memdev\": \"m0\", " \
    "\"nsid\": 1, \"bus\": \"nvme0\"" more "}'"
#define LARGE_BLOCKS \
    IN_MEMORY(", \"logical_block_size\": 65536, " \
              "\"physical_block_size\": 65536")

/* A command on the one block. */
static void push_block(QNvmeSq *sq, uint8_t opcode, const QNvmeBuf *buf)
{
    NvmeCmd cmd = qnvme_rw_cmd(opcode, buf, 0, BLOCK);

    cmd.cdw10 = 0;
    cmd.cdw12 = 0;
    qnvme_push(sq, &cmd);
}

#define READS       12

/* Who reads a block while others write it has what one of them wrote. */
static void blocks_are_whole(void)
{
    CintTest *t = cint_boot_devices(NULL, LARGE_BLOCKS);
    QNvmeSq *writer = cint_queues(t, 1), *reader = cint_queues(t, 2);
    QNvmeBuf from[2], to[READS];
    uint32_t i, j;

    for (i = 0; i < ARRAY_SIZE(from); i++) {
        from[i] = qnvme_buf_new(t->nvme, BLOCK);
        qtest_memset(t->qts, from[i].addr, 0xa1 + i, BLOCK);
    }
    for (i = 0; i < READS; i++) {
        to[i] = qnvme_buf_new(t->nvme, BLOCK);
    }
    for (i = 0; i < 150; i++) {
        for (j = 0; j < 30; j++) {
            push_block(writer, NVME_CMD_WRITE, &from[j % 2]);
        }
        for (j = 0; j < READS; j++) {
            push_block(reader, NVME_CMD_READ, &to[j]);
        }
        qnvme_ring_sq(writer);
        qnvme_ring_sq(reader);
        reap_good(writer, 30);
        reap_good(reader, READS);
        for (j = 0; i && j < READS; j++) {
            g_assert_cmphex(qtest_readb(t->qts, to[j].addr), ==,
                            qtest_readb(t->qts, to[j].addr + BLOCK - 1));
        }
    }
    cint_shutdown(t);
}

static uint32_t count_in(const char *path, const char *word)
{
    g_autofree char *text = NULL;
    const char *at;
    uint32_t count = 0;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    for (at = text; (at = strstr(at, word)); at++) {
        count++;
    }
    return count;
}

static void expect_requests(CintTest *t, QNvmeSq *sq, const char *log,
                            uint32_t count)
{
    uint32_t before;

    cint_let_run(t);
    before = count_in(log, "blk_co_preadv ");
    cint_read(t, sq, 10);
    reap_good(sq, 10);
    g_assert_cmpuint(count_in(log, "blk_co_preadv ") - before, ==, count);
}

/* For as long as others have the node, a thread's reads are requests there. */
static void others_have_the_node(void)
{
    g_autofree char *log = g_strdup_printf("%s/nvme-cint-XXXXXX",
                                           g_get_tmp_dir());
    int fd = g_mkstemp(log);
    g_autofree char *args = g_strdup_printf(
        "-D %s -trace blk_co_preadv %s", log, IN_MEMORY(""));
    CintTest *t = cint_boot_devices(NULL, args);
    QNvmeSq *sq = cint_queues(t, 1);
    QDict *node = cint_memdev_node(t);
    int i;

    for (i = 0; i < 3; i++) {
        expect_requests(t, sq, log, 0);
        qtest_qmp_assert_success(t->qts,
            "{ 'execute': 'blockdev-add', 'arguments': {"
            " 'driver': 'raw', 'node-name': 'above', 'file': %s } }",
            qdict_get_str(node, "node-name"));
        expect_requests(t, sq, log, 10);
        qtest_qmp_assert_success(t->qts,
            "{ 'execute': 'blockdev-del', 'arguments': {"
            " 'node-name': 'above' } }");
    }
    qobject_unref(node);
    cint_shutdown(t);
    close(fd);
    unlink(log);
}

static const CintCase modes[] = {
    { "main", "cint=on,cint.time=real" },
    { "thread", THREAD },
    { "thread-cint", CINT },
};

int main(int argc, char **argv)
{
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(modes); i++) {
        g_autofree char *overrun = g_strdup_printf(
            "/nvme-cint/iothread-race/cq-is-not-overrun/%s", modes[i].name);
        g_autofree char *first = g_strdup_printf(
            "/nvme-cint/iothread-race/doorbells-come-first/%s", modes[i].name);
        g_autofree char *tails = g_strdup_printf(
            "/nvme-cint/iothread-race/tails-do-not-go-back/%s", modes[i].name);

        qtest_add_data_func(overrun, modes[i].opts, cq_is_not_overrun);
        qtest_add_data_func(first, modes[i].opts, doorbells_come_first);
        qtest_add_data_func(tails, modes[i].opts, tails_do_not_go_back);
    }
    qtest_add_data_func("/nvme-cint/iothread-race/pointer-is-behind-the-head/"
                        "main", "cint=on,cint.time=real,cint.policy=pointer",
                        pointer_is_behind_the_head);
    qtest_add_data_func("/nvme-cint/iothread-race/pointer-is-behind-the-head/"
                        "thread", CINT ",cint.policy=pointer",
                        pointer_is_behind_the_head);
    qtest_add_func("/nvme-cint/iothread-race/atomic-write-gets-its-slot",
                   atomic_write_gets_its_slot);
    qtest_add_func("/nvme-cint/iothread-race/blocks-are-whole",
                   blocks_are_whole);
    qtest_add_func("/nvme-cint/iothread-race/others-have-the-node",
                   others_have_the_node);
    return g_test_run();
}
