/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * I/O queues that an IOThread serves: what goes on in several threads at a
 * time, and ends: a queue that is full, commands that the thread leaves to the
 * main loop, deletion, reset and removal with commands in flight, namespaces
 * that controllers share. All of it is in real time.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "qapi/error.h"
#include "qobject/qjson.h"
#include "nvme-cint-common.h"
#include "nvme-cint-machine.h"

#define THREAD      "iothread=io0"
#define CINT        THREAD ",cint=on,cint.time=real,cint.drain=on"
#define MEDIA \
    ",cint.media=custom,cint.media.read-latency=400," \
    "cint.media.write-latency=1400"
/* Reads take a while. */
#define SLOW_DISK   CINT_SLOW_NODE("d0", 20000000)

/* Two threads, by turns, and one that has a single queue pair of eight. */
#define MAPPED(more, mapping) \
    "{\"driver\": \"nvme\", \"id\": \"nvme0\", \"serial\": \"cint\", " \
    "\"drive\": \"d0\", \"addr\": \"4\", " more \
    "\"iothread-vq-mapping\": [" mapping "]}"
#define BY_TURNS \
    MAPPED("\"ioeventfd\": true, ", \
           "{\"iothread\": \"io0\"}, {\"iothread\": \"io1\"}")
#define BY_TURNS_IRQFD \
    MAPPED("\"irqfd\": \"on\", ", \
           "{\"iothread\": \"io0\"}, {\"iothread\": \"io1\"}")
#define ONE_APART \
    MAPPED("\"max_ioqpairs\": 8, ", \
           "{\"iothread\": \"io0\", \"vqs\": [1]}, " \
           "{\"iothread\": \"io1\", \"vqs\": [0, 2, 3, 4, 5, 6, 7]}")

#define CINT_BY_TURNS(more) \
    MAPPED("\"cint\": true, \"cint.time\": \"real\", " \
           "\"cint.drain\": \"on\", " more ", ", \
           "{\"iothread\": \"io0\"}, {\"iothread\": \"io1\"}")
#define JSON_MEDIA \
    "\"cint.media\": \"custom\", \"cint.media.read-latency\": 400, " \
    "\"cint.media.write-latency\": 1400, \"cint.media.units\": 2, " \
    "\"cint.media.slots\": 3"

static const CintCase modes[] = {
    { "main", "" },
    { "thread", THREAD },
    { "thread-ioeventfd", THREAD ",ioeventfd=on" },
    { "by-turns", BY_TURNS },
    { "irqfd", THREAD ",irqfd=on" },
    { "irqfd-cint", CINT ",irqfd=on,cint.policy=cint,cint.infer=both" },
    { "by-turns-irqfd", BY_TURNS_IRQFD },
    { "one-apart", ONE_APART },
    { "default", CINT ",cint.policy=default" },
    { "adaptive", CINT ",cint.policy=adaptive" },
    { "cint", CINT ",cint.policy=cint,ioeventfd=on" },
    { "cint-infer", CINT ",cint.policy=cint,cint.infer=both" },
    { "slots", CINT ",cint.policy=default,cint.media.slots=2" },
    { "by-turns-adaptive", CINT_BY_TURNS("\"cint.policy\": \"adaptive\"") },
    { "by-turns-slots", CINT_BY_TURNS("\"cint.policy\": \"default\", "
                                      "\"cint.media.slots\": 2") },
};

/* @opts: options of the device, or the device in JSON */
static CintTest *boot(const char *opts, const char *disk)
{
    g_autofree char *args = NULL;

    if (*opts != '{') {
        return cint_boot_custom(NULL, disk, opts);
    }
    args = g_strdup_printf("%s -device '%s'", disk, opts);
    return cint_boot_devices(NULL, args);
}

/*
 * Until there are so many CQEs, all of which are reaped and have succeeded, or
 * have @status.
 */
static void reap(QNvmeSq *sq, uint32_t count, uint16_t status)
{
    NvmeCqe cqe;
    uint32_t i;

    qnvme_wait_cqes(sq->cq, count);
    for (i = 0; i < count; i++) {
        g_assert_true(qnvme_peek(sq->cq, i, &cqe));
        if (qnvme_status(&cqe)) {
            g_assert_cmphex(qnvme_status(&cqe), ==, status);
        }
    }
    qnvme_reap(sq->cq, count);
}

static void reap_good(QNvmeSq *sq, uint32_t count)
{
    reap(sq, count, 0);
}

/* A guest that looks at its queue after an interrupt only. */
static void reap_by_interrupts(CintTest *t, QNvmeSq *sq, uint32_t count)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;
    uint32_t reaped = 0, visible;

    while (reaped < count) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        cint_run(t, 5000);
        if (qnvme_take_irq_of_thread(t->nvme, sq->cq->vector)) {
            visible = qnvme_visible(sq->cq);
            qnvme_reap(sq->cq, visible);
            reaped += visible;
        }
    }
}

static void expect_works(CintTest *t, QNvmeSq *sq)
{
    uint32_t i;

    for (i = 0; i < 5; i++) {
        cint_read(t, sq, 3);
        reap_good(sq, 3);
    }
}

static void expect_works_after_reset(CintTest *t)
{
    qnvme_enable(t->nvme);
    expect_works(t, cint_queues(t, 1));
}

/* ---- Fetching and posting ---- */

static void many_reads(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1);
    uint32_t i, count;

    for (i = 0; i < 200; i++) {
        count = 1 + i % (CINT_ENTRIES - 1);
        cint_read(t, sq, count);
        reap_good(sq, count);
        cint_expect_irq_now(t, sq->cq);
    }
    cint_shutdown(t);
}

/* ---- Policies ---- */

static const CintCase policies[] = {
    { "default", CINT MEDIA ",cint.policy=default" },
    { "batched", CINT MEDIA ",cint.policy=default,cint.each-cqe=off" },
    { "static", CINT MEDIA ",cint.policy=static,cint.static-time=100000,"
                "cint.static-thr=50" },
    { "adaptive", CINT MEDIA ",cint.policy=adaptive" },
    { "cint", CINT MEDIA ",cint.policy=cint,cint.infer=all" },
    { "vic", CINT MEDIA ",cint.policy=vic" },
    { "auto", CINT MEDIA ",cint.policy=auto" },
    { "price", CINT MEDIA ",cint.policy=price" },
    { "pointer", CINT MEDIA ",cint.policy=pointer" },
    { "slots", CINT MEDIA ",cint.policy=adaptive,cint.media.slots=3,"
               "cint.media.units=2" },
    { "storm", CINT MEDIA ",cint.policy=adaptive,cint.max-irq-rate=10000" },
    { "irqfd-adaptive", CINT MEDIA ",irqfd=on,cint.policy=adaptive" },
    { "irqfd-vic", CINT MEDIA ",irqfd=on,cint.policy=vic" },
    { "irqfd-storm", CINT MEDIA ",irqfd=on,cint.policy=adaptive,"
                     "cint.max-irq-rate=10000" },
    { "by-turns-default", CINT_BY_TURNS("\"cint.policy\": \"default\", "
                                        JSON_MEDIA) },
    { "by-turns-cint", CINT_BY_TURNS("\"cint.policy\": \"cint\", "
                                     "\"cint.infer\": \"all\", "
                                     JSON_MEDIA) },
    { "by-turns-vic", CINT_BY_TURNS("\"cint.policy\": \"vic\", "
                                    "\"cint.vic-scope\": \"cq\", "
                                    JSON_MEDIA) },
    { "by-turns-auto", CINT_BY_TURNS("\"cint.policy\": \"auto\", "
                                     JSON_MEDIA) },
};

static void interrupts_come(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1), *other = cint_queues(t, 2);
    uint32_t i;

    for (i = 0; i < 50; i++) {
        cint_read(t, sq, 1 + i % 40);
        cint_read(t, other, 1 + i % 3);
        reap_by_interrupts(t, sq, 1 + i % 40);
        reap_by_interrupts(t, other, 1 + i % 3);
        if (i % 10 == 0) {
            cint_check_record(t, 1);
            cint_check_record(t, 2);
        }
    }
    g_assert_cmpuint(cint_record(t, 1).cqes, ==, 50 + 40 * 39 / 2 + 9 * 10 / 2);
    cint_shutdown(t);
}

/* Other policies, media and records while commands are in flight. */
static void policy_changes(const void *opts)
{
    static const char *const names[] = {
        "adaptive", "cint", "vic", "price", "default",
    };
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1);
    uint32_t i;

    for (i = 0; i < 60; i++) {
        cint_read(t, sq, 30);
        cint_set_word(t, "cint.policy", names[i % ARRAY_SIZE(names)]);
        cint_set_number(t, "cint.media.slots", i % 4);
        qobject_unref(cint_qom_stats(t, 1));
        reap_by_interrupts(t, sq, 30);
    }
    cint_shutdown(t);
}

/* ---- Status records ---- */

#define RECORDS     3

static const CintCase recording[] = {
    { "main", "cint=on,cint.time=real,cint.drain=on" MEDIA
              ",cint.policy=adaptive" },
    { "thread", CINT MEDIA ",cint.policy=adaptive" },
    { "irqfd", CINT ",irqfd=on,cint.policy=default" },
    { "by-turns", CINT_BY_TURNS("\"irqfd\": \"on\", "
                                "\"cint.policy\": \"default\", "
                                JSON_MEDIA) },
};

/* @page: of its own, since commands in flight have t->buf */
static void set_records(CintTest *t, const QNvmeBuf *page, uint64_t addr)
{
    NvmeCintStatus status = {
        .addr = cpu_to_le64(addr),
        .records = cpu_to_le32(RECORDS),
    };

    qtest_memwrite(t->qts, page->addr, &status, sizeof(status));
    g_assert_cmphex(qnvme_set_feature(t->nvme, NVME_CINT_FID_STATUS, 0, page,
                                      NULL), ==, 0);
}

/* A guest that reaps, after an interrupt, what its queue's record says. */
static void reap_by_records(CintTest *t, QNvmeSq *sq, uint32_t count,
                            uint64_t addr)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;
    uint64_t record = addr + sq->cq->id * sizeof(NvmeCintRecord);
    uint32_t reaped = 0, told;

    while (reaped < count) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        cint_run(t, 5000);
        if (qnvme_take_irq_of_thread(t->nvme, sq->cq->vector)) {
            told = qtest_readl(t->qts, record) - (uint32_t)sq->cq->reaped;
            g_assert_cmpuint(told, <=, qnvme_visible(sq->cq));
            qnvme_reap(sq->cq, told);
            reaped += told;
        }
    }
}

static void freeze(CintTest *t, bool on)
{
    qtest_qom_set_bool(t->qts, "/machine/peripheral/nvme0",
                       "x-cint-freeze-records", on);
}

/* They move, and are not written for a while, under commands. */
static void records_are_true(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1), *other = cint_queues(t, 2);
    QNvmeBuf page = qnvme_buf_new(t->nvme, QNVME_PAGE_SIZE);
    uint64_t addr = page.addr;
    uint32_t i;

    for (i = 0; i < 40; i++) {
        if (i % 2) {
            addr = page.addr + (1 + i / 2 % 2) * 1024;
            set_records(t, &page, addr);
        }
        cint_read(t, sq, 1 + i);
        cint_read(t, other, 1 + i % 3);
        if (i % 4) {
            reap_by_records(t, sq, 1 + i, addr);
            reap_by_records(t, other, 1 + i % 3, addr);
        } else {
            freeze(t, true);
            reap_by_interrupts(t, sq, 1 + i);
            reap_by_interrupts(t, other, 1 + i % 3);
            freeze(t, false);
        }
    }
    cint_shutdown(t);
}

/* ---- Fetching and posting, with more to do ---- */

/* One doorbell after the other, the head far behind. */
static void doorbells_without_waiting(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1);
    uint32_t i, j;

    for (i = 0; i < 100; i++) {
        for (j = 0; j < CINT_ENTRIES - 1; j++) {
            cint_read(t, sq, 1);
        }
        reap_good(sq, CINT_ENTRIES - 1);
    }
    cint_shutdown(t);
}

/* What waits for room is posted as soon as there is some. */
static void cq_is_full(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 4, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, CINT_ENTRIES, cq);
    uint32_t i;

    cint_read(t, sq, CINT_ENTRIES - 1);
    for (i = 0; i < CINT_ENTRIES - 1; i++) {
        reap_good(sq, 1);
    }
    cint_let_run(t);
    g_assert_cmpuint(qnvme_visible(cq), ==, 0);
    cint_shutdown(t);
}

static void several_sqs_of_one_cq(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 4 * CINT_ENTRIES, 1);
    QNvmeSq *sqs[4];
    uint32_t i, j;

    for (i = 0; i < ARRAY_SIZE(sqs); i++) {
        sqs[i] = qnvme_create_sq(t->nvme, 1 + i, CINT_ENTRIES, cq);
    }
    for (j = 0; j < 50; j++) {
        for (i = 0; i < ARRAY_SIZE(sqs); i++) {
            cint_read(t, sqs[i], 1 + j % 20);
        }
        reap_good(sqs[0], ARRAY_SIZE(sqs) * (1 + j % 20));
    }
    cint_shutdown(t);
}

static void shadow_doorbells(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1), *other;
    uint32_t i;

    expect_works(t, sq);
    qnvme_use_shadow_doorbells(t->nvme);
    other = cint_queues(t, 2);
    for (i = 0; i < 200; i++) {
        cint_read(t, sq, 1 + i % 30);
        cint_read(t, other, 1 + i % 7);
        reap_good(sq, 1 + i % 30);
        reap_good(other, 1 + i % 7);
    }
    qnvme_reset(t->nvme);
    expect_works_after_reset(t);
    cint_shutdown(t);
}

/* Whatever a thread does not do is done, between what it does. */
static void other_commands(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd compare = qnvme_rw_cmd(NVME_CMD_COMPARE, &t->buf, 0,
                                   QNVME_PAGE_SIZE);
    NvmeCmd zeroes = {
        .opcode = NVME_CMD_WRITE_ZEROES, .nsid = cpu_to_le32(1),
        .cdw12 = cpu_to_le32(7),
    };
    NvmeCqe cqe;
    uint32_t i;

    for (i = 0; i < 50; i++) {
        qnvme_push_flush(sq);
        qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
        qnvme_push(sq, &zeroes);
        qnvme_push(sq, &compare);
        qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
        qnvme_push_flush(sq);
        qnvme_ring_sq(sq);
        reap_good(sq, 6);
    }
    qnvme_push_invalid(sq);
    qnvme_ring_sq(sq);
    qnvme_wait_cqes(sq->cq, 1);
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    g_assert_cmphex(qnvme_status(&cqe), ==, NVME_INVALID_OPCODE | NVME_DNR);
    cint_shutdown(t);
}

/* Data is written to and read from registers: those of another device. */
static void data_in_registers(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeBuf registers = { .len = QNVME_PAGE_SIZE };
    uint32_t i;

    cint_count_messages(t, 1);
    registers.addr = t->counter.addr;
    for (i = 0; i < 20; i++) {
        qnvme_push_read(sq, &registers, 0, QNVME_PAGE_SIZE);
        qnvme_push_write(sq, &registers, 0, QNVME_PAGE_SIZE);
        qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
        qnvme_ring_sq(sq);
        reap_good(sq, 3);
    }
    cint_shutdown(t);
}

/* ---- Pin ---- */

static bool pin(CintTest *t)
{
    return qpci_config_readw(t->pdev, PCI_STATUS) & PCI_STATUS_INTERRUPT;
}

static void pin_is_a_level(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    gint64 limit;
    QNvmeSq *sq;
    int i;

    qpci_msix_disable(t->pdev);
    sq = qnvme_create_sq(t->nvme, 1, CINT_ENTRIES,
                         qnvme_create_cq(t->nvme, 1, CINT_ENTRIES, 0));
    for (i = 0; i < 50; i++) {
        cint_read(t, sq, 2);
        qnvme_wait_cqes(sq->cq, 2);
        limit = g_get_monotonic_time() + QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;
        while (!pin(t)) {
            g_assert_cmpint(g_get_monotonic_time(), <, limit);
        }
        qnvme_reap(sq->cq, 1);
        g_assert_true(pin(t));
        qnvme_reap(sq->cq, 1);
        g_assert_false(pin(t));
    }
    cint_shutdown(t);
}

/* ---- Messages ---- */

#define MESSAGE     0xc1a70001u

/* Is there a message at @addr, soon? It is taken. */
static void expect_message(CintTest *t, uint64_t addr)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;

    while (qtest_readl(t->qts, addr) != MESSAGE) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
    }
    qtest_writel(t->qts, addr, 0);
}

static void expect_no_message(CintTest *t, uint64_t addr)
{
    cint_let_run(t);
    g_assert_cmphex(qtest_readl(t->qts, addr), ==, 0);
}

static void read_one(CintTest *t, QNvmeSq *sq)
{
    cint_read(t, sq, 1);
    reap_good(sq, 1);
}

/* A vector is masked, given another address, and unmasked under messages. */
static void vector_is_masked(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1);
    uint64_t to = t->buf.addr + 512, other = t->buf.addr + 1024;
    uint16_t vector = sq->cq->vector;
    uint32_t i;

    qtest_memset(t->qts, t->buf.addr, 0, QNVME_PAGE_SIZE);
    for (i = 0; i < 30; i++) {
        qnvme_vector_target(t->nvme, vector, to, MESSAGE, false);
        read_one(t, sq);
        expect_message(t, to);
        qnvme_vector_target(t->nvme, vector, to, MESSAGE, true);
        read_one(t, sq);
        expect_no_message(t, to);
        g_assert_true(qnvme_irq_pending(t->nvme, vector));
        qnvme_vector_target(t->nvme, vector, other, MESSAGE, false);
        expect_message(t, other);
        g_assert_false(qnvme_irq_pending(t->nvme, vector));
    }
    qnvme_restore_vector(t->nvme, vector);
    cint_shutdown(t);
}

/* Two queues have a vector, and one of them goes. */
static void vector_is_shared(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeCq *a = qnvme_create_cq(t->nvme, 1, CINT_ENTRIES, 1);
    QNvmeCq *b = qnvme_create_cq(t->nvme, 2, CINT_ENTRIES, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, CINT_ENTRIES, a);
    QNvmeSq *other = qnvme_create_sq(t->nvme, 2, CINT_ENTRIES, b);
    uint32_t i;

    for (i = 0; i < 10; i++) {
        read_one(t, sq);
        cint_expect_irq_now(t, a);
        read_one(t, other);
        cint_expect_irq_now(t, b);
    }
    qnvme_delete_sq(other);
    qnvme_delete_cq(b);
    for (i = 0; i < 10; i++) {
        read_one(t, sq);
        cint_expect_irq_now(t, a);
    }
    qnvme_reset(t->nvme);
    expect_works_after_reset(t);
    cint_shutdown(t);
}

static void set_msix(CintTest *t, bool on)
{
    uint8_t offset = qpci_find_capability(t->pdev, PCI_CAP_ID_MSIX, 0) +
                     PCI_MSIX_FLAGS;
    uint16_t flags = qpci_config_readw(t->pdev, offset);

    flags = on ? flags | PCI_MSIX_FLAGS_ENABLE : flags & ~PCI_MSIX_FLAGS_ENABLE;
    qpci_config_writew(t->pdev, offset, flags);
}

static void set_master(CintTest *t, bool on)
{
    uint16_t command = qpci_config_readw(t->pdev, PCI_COMMAND);

    command = on ? command | PCI_COMMAND_MASTER : command & ~PCI_COMMAND_MASTER;
    qpci_config_writew(t->pdev, PCI_COMMAND, command);
}

/* MSI-X goes and comes back, and so does bus mastership. */
static void messages_are_off(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1);
    uint64_t to = t->buf.addr + 512;
    uint16_t vector = sq->cq->vector;

    qtest_memset(t->qts, t->buf.addr, 0, QNVME_PAGE_SIZE);
    qnvme_vector_target(t->nvme, vector, to, MESSAGE, false);
    read_one(t, sq);
    expect_message(t, to);
    set_msix(t, false);
    read_one(t, sq);
    expect_no_message(t, to);
    set_msix(t, true);
    read_one(t, sq);
    expect_message(t, to);
    set_master(t, false);
    cint_let_run(t);
    set_master(t, true);
    expect_no_message(t, to);
    read_one(t, sq);
    expect_message(t, to);
    qnvme_restore_vector(t->nvme, vector);
    qnvme_reset(t->nvme);
    expect_works_after_reset(t);
    cint_shutdown(t);
}

/* ---- Ends with commands in flight ---- */

static void begin(CintTest *t, QNvmeSq *sq)
{
    uint32_t i;

    for (i = 0; i < 5; i++) {
        qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
        qnvme_push_flush(sq);
    }
    qnvme_ring_sq(sq);
}

static void sq_is_deleted(const void *opts)
{
    CintTest *t = boot(opts, SLOW_DISK);
    QNvmeSq *sq = cint_queues(t, 1), *other = cint_queues(t, 2);
    QNvmeCq *cq = sq->cq;
    uint32_t i;

    for (i = 0; i < 10; i++) {
        begin(t, sq);
        begin(t, other);
        qnvme_delete_sq(sq);
        qnvme_reap(cq, qnvme_visible(cq));
        reap_good(other, 10);
        sq = qnvme_create_sq(t->nvme, 1, CINT_ENTRIES, cq);
    }
    qnvme_delete_sq(sq);
    qnvme_delete_cq(cq);
    cint_read(t, cint_queues(t, 1), 1);
    cint_shutdown(t);
}

#define HOLDS \
    ",cint.drain=off,cint.max-hold=0,cint.policy=static," \
    "cint.static-time=1000000000,cint.static-thr=50"

static const CintCase holding[] = {
    { "main", "cint=on,cint.time=real" HOLDS },
    { "thread", "cint=on,cint.time=real," THREAD HOLDS },
    { "irqfd", "cint=on,cint.time=real,irqfd=on," THREAD HOLDS },
};

#define NOT_COALESCED   (1 << 16)   /* feature 09h, of a vector */

static void coalesce_again(CintTest *t)
{
    g_assert_cmphex(qnvme_set_feature(t->nvme, NVME_INTERRUPT_VECTOR_CONF, 0,
                                      NULL, NULL), ==, 0);
}

/* With one doorbell a CQ is to tell of what it holds, and goes. */
static void cq_goes_as_it_tells(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *admin = &t->nvme->admin_sq, *sq;
    int i;

    qpci_msix_disable(t->pdev);
    for (i = 0; i < 5; i++) {
        sq = qnvme_create_sq(t->nvme, 1, CINT_ENTRIES,
                             qnvme_create_cq(t->nvme, 1, CINT_ENTRIES, 0));
        coalesce_again(t);
        cint_read(t, sq, 2);
        qnvme_wait_cqes(sq->cq, 2);
        g_assert_false(pin(t));
        cint_push_admin(t, NVME_ADM_CMD_DELETE_SQ, 0, 1, 0);
        cint_push_admin(t, NVME_ADM_CMD_SET_FEATURES, 0,
                        NVME_INTERRUPT_VECTOR_CONF, NOT_COALESCED);
        cint_push_admin(t, NVME_ADM_CMD_DELETE_CQ, 0, 1, 0);
        qnvme_ring_sq(admin);
        reap_good(admin, 3);
        cint_let_run(t);
        g_assert_false(pin(t));
        g_clear_pointer(&t->nvme->sqs[1], g_free);
        g_clear_pointer(&t->nvme->cqs[1], g_free);
    }
    cint_shutdown(t);
}

static void controller_is_reset(const void *opts)
{
    CintTest *t = boot(opts, SLOW_DISK);
    int i;

    for (i = 0; i < 10; i++) {
        if (i % 2) {
            qnvme_use_shadow_doorbells(t->nvme);
        }
        begin(t, cint_queues(t, 1));
        begin(t, cint_queues(t, 2));
        if (i % 3) {
            cint_let_run(t);
        }
        qnvme_reset(t->nvme);
        qnvme_enable(t->nvme);
    }
    expect_works(t, cint_queues(t, 1));
    cint_shutdown(t);
}

static void end_without_controller(CintTest *t)
{
    qnvme_free(t->nvme);
    g_free(t->pdev);
    qpci_free_pc(t->bus);
    alloc_destroy(&t->alloc);
    qtest_quit(t->qts);
    g_free(t);
}

static void controller_is_removed(const void *opts)
{
    CintTest *t = boot(opts, SLOW_DISK);

    begin(t, cint_queues(t, 1));
    begin(t, cint_queues(t, 2));
    qpci_unplug_acpi_device_test(t->qts, "nvme0", 4);
    end_without_controller(t);
}

/*
 * QEMU ends while there is more in the queues than is in flight. It has nothing
 * to say about that.
 */
static void machine_ends(const void *opts)
{
    int saved = dup(STDERR_FILENO), fd;
    g_autofree char *path = NULL, *said = NULL;
    CintTest *t;
    int i, j;

    fd = g_file_open_tmp("nvme-cint-iothread-XXXXXX", &path, NULL);
    g_assert_cmpint(fd, >=, 0);
    for (i = 0; i < 5; i++) {
        QNvmeSq *sqs[2];

        dup2(fd, STDERR_FILENO);
        t = boot(opts, SLOW_DISK);
        dup2(saved, STDERR_FILENO);
        sqs[0] = cint_queues(t, 1);
        sqs[1] = cint_queues(t, 2);
        for (j = 0; j < 6; j++) {
            begin(t, sqs[j % 2]);
        }
        cint_shutdown(t);
    }
    close(fd);
    close(saved);
    g_assert_true(g_file_get_contents(path, &said, NULL, NULL));
    unlink(path);
    if (strstr(said, "aio failed")) {
        g_error("QEMU says at its end: %s", said);
    }
}

static void machine_stops_and_goes_on(const void *opts)
{
    CintTest *t = boot(opts, SLOW_DISK);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < 5; i++) {
        begin(t, sq);
        qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
        qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
        reap_good(sq, 10);
    }
    cint_shutdown(t);
}

/* Nothing is fetched while the machine is stopped, and nothing is missed. */
static void nothing_is_fetched_while_stopped(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 0; i < 5; i++) {
        qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
        begin(t, sq);
        g_usleep(20000);
        cint_let_run(t);
        g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
        qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
        reap_good(sq, 10);
    }
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    begin(t, sq);
    qnvme_reset(t->nvme);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    expect_works_after_reset(t);
    cint_shutdown(t);
}

/* Queues whose entries are all there when the thread begins. */
static const CintCase turns[] = {
    { "off", THREAD },
    { "ioeventfd", THREAD ",ioeventfd=on" },
    { "adaptive", CINT ",cint.policy=adaptive" },
    { "infer", CINT ",cint.policy=cint,cint.infer=both" },
};

/* Both queues go to one CQ, and are full when the machine goes on. */
static CintTest *two_full_queues(const char *opts, const char *disk,
                                 uint32_t entries, QNvmeSq **sqs)
{
    CintTest *t = boot(opts, disk);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 2 * entries, 1);

    sqs[0] = qnvme_create_sq(t->nvme, 1, entries, cq);
    sqs[1] = qnvme_create_sq(t->nvme, 2, entries, cq);
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    cint_read(t, sqs[0], entries - 1);
    cint_read(t, sqs[1], entries - 1);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    qnvme_wait_cqes(cq, 2 * (entries - 1));
    return t;
}

static uint16_t sq_of(QNvmeCq *cq, uint32_t i)
{
    NvmeCqe cqe;

    g_assert_true(qnvme_peek(cq, i, &cqe));
    g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    return le16_to_cpu(cqe.sq_id);
}

/* Four turns each: one may have two before the other's bottom half runs. */
static void queues_take_turns(const void *opts)
{
    const uint32_t entries = 2 * CINT_ENTRIES, count = 2 * (entries - 1);
    uint32_t i, changes = 0;
    QNvmeSq *sqs[2];
    CintTest *t = two_full_queues(opts, CINT_NULL_DISK, entries, sqs);
    QNvmeCq *cq = sqs[0]->cq;

    for (i = 1; i < count; i++) {
        changes += sq_of(cq, i) != sq_of(cq, i - 1);
    }
    /* one after the other would be one change */
    g_assert_cmpuint(changes, >=, 2);
    qnvme_reap(cq, count);
    cint_shutdown(t);
}

/*
 * A queue that was given as many slots as it has commands has them until these
 * are fetched, in two turns: the other one has those that are left. It is long
 * before the first comes back.
 */
static void slots_outlast_a_turn(void)
{
    const uint32_t each = CINT_ENTRIES - 1;
    uint32_t i, seen[2] = { 0 };
    QNvmeSq *sqs[2];
    CintTest *t = two_full_queues(CINT ",cint.policy=default,"
                                  "cint.media.slots=64",
                                  CINT_SLOW_NODE("d0", 1000000000),
                                  CINT_ENTRIES, sqs);
    QNvmeCq *cq = sqs[0]->cq;

    for (i = 0; seen[0] < each && seen[1] < each; i++) {
        seen[sq_of(cq, i) - 1]++;
    }
    g_assert_cmpuint(i - each, <, 16);
    qnvme_reap(cq, 2 * each);
    cint_shutdown(t);
}

/* A read waits for both, of which one has no data. */
#define FAILING_DISK \
    CINT_SLOW_NODE("slow", 1000000000) \
    "-blockdev driver=blkdebug,node-name=bad,image.driver=null-co," \
    "image.size=1073741824,inject-error.0.event=none," \
    "inject-error.0.iotype=read " \
    "-blockdev driver=quorum,node-name=d0,vote-threshold=2," \
    "children.0=slow,children.1=bad "

static const CintCase failing[] = {
    { "main", "cint=on,cint.time=real" MEDIA },
    { "thread", CINT MEDIA },
    { "by-turns", CINT_BY_TURNS("\"cint.policy\": \"adaptive\", "
                                JSON_MEDIA) },
};

/*
 * The queue goes, or the controller is reset, and then its reads fail, long
 * before the medium would be done with them: its time does not pass here.
 */
static void reads_fail_at_the_end(const void *opts)
{
    CintTest *t = boot(opts, FAILING_DISK);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 3);
    cint_let_run(t);
    g_usleep(20000);
    qnvme_delete_sq(sq);
    cint_read(t, cint_queues(t, 2), 3);
    cint_let_run(t);
    g_usleep(20000);
    qnvme_reset(t->nvme);
    cint_shutdown(t);
}

static void command_is_aborted(const void *opts)
{
    CintTest *t = boot(opts, SLOW_DISK);
    QNvmeSq *sq = cint_queues(t, 1);
    uint16_t cid;
    int i;

    for (i = 0; i < 5; i++) {
        cid = qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
        qnvme_ring_sq(sq);
        qnvme_abort(sq, cid);
        qnvme_wait_cqes(sq->cq, 1);
        qnvme_reap(sq->cq, 1);
    }
    expect_works(t, sq);
    cint_shutdown(t);
}

/* Admin commands and I/O at the same time. */
static void admin_commands_between(const void *opts)
{
    CintTest *t = boot(opts, CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1);
    uint32_t i;

    for (i = 0; i < 200; i++) {
        cint_read(t, sq, 30);
        g_assert_cmphex(qnvme_identify(t->nvme, NVME_ID_CNS_CTRL, 0, &t->buf),
                        ==, 0);
        qnvme_delete_sq(cint_queues(t, 2));
        qnvme_delete_cq(t->nvme->cqs[2]);
        reap_good(sq, 30);
    }
    cint_shutdown(t);
}

/* ---- Several controllers ---- */

#define SHARED(first, second) \
    CINT_NULL_DISK " -device nvme-subsys,id=s0 " \
    "-device nvme,id=nvme0,serial=cint,subsys=s0,addr=4" first " " \
    "-device nvme,id=nvme1,serial=cint,subsys=s0,addr=6" second " " \
    "-device nvme-ns,drive=d0,nsid=1,shared=on"

static const CintCase shared[] = {
    { "one-thread", SHARED(",iothread=io0", ",iothread=io0") },
    { "two-threads", SHARED(",iothread=io0", ",iothread=io1") },
    { "thread-and-main", SHARED(",iothread=io0", "") },
};

/* While others read, which fails from when it has begun; or it is not done. */
static void format(CintTest *t, uint32_t nsid)
{
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_FORMAT_NVM, .nsid = cpu_to_le32(nsid),
    };
    uint16_t status = qnvme_admin(t->nvme, &cmd, NULL);

    if (status) {
        g_assert_cmphex(status, ==, NVME_CMD_SEQ_ERROR);
    }
}

static void namespace_is_shared(const void *args)
{
    CintTest *t = cint_boot_devices(NULL, args);
    CintTest *other = cint_other(t, 6);
    QNvmeSq *sq = cint_queues(t, 1), *other_sq = cint_queues(other, 1);
    uint32_t i;

    for (i = 0; i < 200; i++) {
        cint_read(t, sq, 20);
        cint_read(other, other_sq, 20);
        if (i % 10 == 0) {
            format(other, 1);
        }
        reap(sq, 20, NVME_FORMAT_IN_PROGRESS);
        reap(other_sq, 20, NVME_FORMAT_IN_PROGRESS);
        if (i % 50 == 49) {
            qnvme_reset(other->nvme);
            qnvme_enable(other->nvme);
            other_sq = cint_queues(other, 1);
        }
    }
    cint_other_free(other);
    cint_shutdown(t);
}

/* ---- Atomic writes of a namespace, which QEMU 11.1 has ---- */

#define ATOMIC \
    CINT_NULL_DISK " -device nvme-subsys,id=s0 " \
    "-device '{\"driver\": \"nvme\", \"id\": \"nvme0\", " \
    "\"serial\": \"cint\", \"addr\": \"4\", \"subsys\": \"s0\", " \
    "\"max_ioqpairs\": 2, \"iothread-vq-mapping\": " \
    "[{\"iothread\": \"io0\"}, {\"iothread\": \"io1\"}]}' " \
    "-device '{\"driver\": \"nvme-ns\", \"drive\": \"d0\", " \
    "\"nsid\": 1, \"bus\": \"nvme0\", \"atomic.nawun\": 7, " \
    "\"atomic.nawupf\": 7}'"

/*
 * Whether one may start is asked of all commands in flight, those of another
 * thread and those that have no namespace included.
 */
static void writes_are_atomic(void)
{
    const uint16_t none = NVME_INVALID_FIELD | NVME_DNR;
    QNvmeSq *sqs[2];
    CintTest *t;
    uint32_t i, q;

    if (!cint_has_property("nvme-ns", "atomic.nawun")) {
        g_test_skip("no namespace of this QEMU has atomic writes");
        return;
    }
    t = cint_boot_devices(NULL, ATOMIC);
    sqs[0] = cint_queues(t, 1);
    sqs[1] = cint_queues(t, 2);
    for (i = 0; i < 100; i++) {
        for (q = 0; q < 2; q++) {
            NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0,
                                       QNVME_PAGE_SIZE);

            cmd.nsid = cpu_to_le32(9);
            qnvme_push(sqs[q], &cmd);
            qnvme_push_write(sqs[q], &t->buf, 0, QNVME_PAGE_SIZE);
            qnvme_push_read(sqs[q], &t->buf, 0, QNVME_PAGE_SIZE);
            qnvme_push_write(sqs[q], &t->buf, 4, QNVME_PAGE_SIZE);
            qnvme_ring_sq(sqs[q]);
        }
        reap(sqs[0], 4, none);
        reap(sqs[1], 4, none);
    }
    cint_shutdown(t);
}

/* ---- A Format of all namespaces ---- */

#define SMALL_NODE(name) \
    "-blockdev driver=null-co,node-name=" name ",size=1048576,read-zeroes=on "
/* Devices in JSON come after the others. */
#define NAMESPACE_OF(node, nsid) \
    "-device '{\"driver\": \"nvme-ns\", \"drive\": \"" node "\", " \
    "\"nsid\": " nsid ", \"bus\": \"nvme0\"}' "
#define THREE_NAMESPACES(more) \
    SMALL_NODE("d1") SMALL_NODE("d2") SMALL_NODE("d3") "-device " more " " \
    NAMESPACE_OF("d1", "1") NAMESPACE_OF("d2", "2") NAMESPACE_OF("d3", "3")
#define THREE_BY_TURNS \
    "'{\"driver\": \"nvme\", \"id\": \"nvme0\", \"serial\": \"cint\", " \
    "\"addr\": \"4\", \"iothread-vq-mapping\": " \
    "[{\"iothread\": \"io0\"}, {\"iothread\": \"io1\"}]}'"

static const CintCase formatted[] = {
    { "one-thread",
      THREE_NAMESPACES("nvme,id=nvme0,serial=cint,addr=4," THREAD) },
    { "cint", THREE_NAMESPACES("nvme,id=nvme0,serial=cint,addr=4," CINT) },
    { "two-threads", THREE_NAMESPACES(THREE_BY_TURNS) },
};

static void read_of(CintTest *t, QNvmeSq *sq, uint32_t nsid, uint32_t count)
{
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, QNVME_PAGE_SIZE);

    cmd.nsid = cpu_to_le32(nsid);
    while (count--) {
        qnvme_push(sq, &cmd);
    }
    qnvme_ring_sq(sq);
}

/*
 * Those that are not read from are formatted, one after the other. Before each
 * the controller looks whether it is in use, at queues that threads work on.
 */
static void all_are_formatted(const void *args)
{
    CintTest *t = cint_boot_devices(NULL, args);
    QNvmeSq *sq = cint_queues(t, 1), *other = cint_queues(t, 2);
    uint32_t i;

    for (i = 0; i < 50; i++) {
        read_of(t, sq, 3, 20);
        read_of(t, other, 3, 20);
        format(t, NVME_NSID_BROADCAST);
        reap(sq, 20, NVME_FORMAT_IN_PROGRESS);
        reap(other, 20, NVME_FORMAT_IN_PROGRESS);
    }
    cint_shutdown(t);
}

/*
 * It goes from one of them while both read, and comes again. What had begun
 * ends well; what comes too late has no such namespace.
 */
static void namespace_is_detached(const void *args)
{
    CintTest *t = cint_boot_devices(NULL, args);
    CintTest *other = cint_other(t, 6);
    QNvmeSq *sq = cint_queues(t, 1), *other_sq = cint_queues(other, 1);
    NvmeCqe cqe;
    uint32_t i;

    for (i = 0; i < 100; i++) {
        cint_read(t, sq, 20);
        cint_read(other, other_sq, 20);
        g_assert_cmphex(cint_attachment(i % 2 ? t : other, 1,
                                        NVME_NS_ATTACHMENT_DETACH), ==, 0);
        reap(other_sq, 20, NVME_INVALID_FIELD | NVME_DNR);
        cint_read(other, other_sq, 1);
        qnvme_wait_cqes(other_sq->cq, 1);
        g_assert_true(qnvme_peek(other_sq->cq, 0, &cqe));
        g_assert_cmphex(qnvme_status(&cqe), ==, NVME_INVALID_FIELD | NVME_DNR);
        qnvme_reap(other_sq->cq, 1);
        g_assert_cmphex(cint_attachment(i % 3 ? t : other, 1,
                                        NVME_NS_ATTACHMENT_ATTACH), ==, 0);
        cint_read(other, other_sq, 1);
        reap_good(other_sq, 1);
        reap_good(sq, 20);
    }
    cint_other_free(other);
    cint_shutdown(t);
}

/* ---- Others on the same thread ---- */

static void set_thread(CintTest *t, const char *node)
{
    qtest_qmp_assert_success(t->qts,
        "{ 'execute': 'x-blockdev-set-iothread', 'arguments': {"
        " 'node-name': %s, 'iothread': 'io0' } }", node);
}

/* A job of the block layer copies the disk meanwhile, in the queue's thread. */
static void beside_a_job(void)
{
    CintTest *t = boot(THREAD, CINT_NULL_DISK
                       " -blockdev driver=null-co,node-name=from,size=67108864"
                       " -blockdev driver=null-co,node-name=to,size=67108864");
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    set_thread(t, "from");
    set_thread(t, "to");
    for (i = 0; i < 10; i++) {
        qtest_qmp_assert_success(t->qts,
            "{ 'execute': 'blockdev-mirror', 'arguments': { 'job-id': 'j',"
            " 'device': 'from', 'target': 'to', 'sync': 'full' } }");
        cint_read(t, sq, 30);
        reap_good(sq, 30);
        if (i % 3 == 2) {
            begin(t, sq);
            qnvme_reset(t->nvme);
            qnvme_enable(t->nvme);
            sq = cint_queues(t, 1);
        }
        qtest_qmp_eventwait(t->qts, "BLOCK_JOB_READY");
        qtest_qmp_assert_success(t->qts,
            "{ 'execute': 'block-job-cancel', 'arguments': {"
            " 'device': 'j', 'force': true } }");
        expect_works(t, sq);
        qtest_qmp_eventwait(t->qts, "BLOCK_JOB_CANCELLED");
    }
    cint_shutdown(t);
}

/* QEMU lets its user delete them; who has them goes on in them. */
static void threads_are_deleted(const void *opts)
{
    CintTest *t = boot(opts, SLOW_DISK);
    QNvmeSq *sq = cint_queues(t, 1), *other = cint_queues(t, 2);

    begin(t, sq);
    begin(t, other);
    qtest_qmp_assert_success(t->qts,
        "{ 'execute': 'object-del', 'arguments': { 'id': 'io0' } }");
    qtest_qmp_assert_success(t->qts,
        "{ 'execute': 'object-del', 'arguments': { 'id': 'io1' } }");
    reap_good(sq, 10);
    reap_good(other, 10);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    begin(t, cint_queues(t, 1));
    begin(t, cint_queues(t, 2));
    qpci_unplug_acpi_device_test(t->qts, "nvme0", 4);
    end_without_controller(t);
}

/* ---- A namespace in memory ---- */

#define IN_MEMORY(first, second) \
    "-object memory-backend-ram,id=m0,size=4M " CINT_NULL_DISK " " \
    "-device nvme-subsys,id=s0 " \
    "-device nvme,id=nvme0,serial=cint,subsys=s0,addr=4" first " " \
    "-device nvme,id=nvme1,serial=cint,subsys=s0,addr=6" second " " \
    "-device nvme-ns,memdev=m0,id=ns0,nsid=1,shared=on"

static const CintCase in_memory[] = {
    { "one-thread", IN_MEMORY(",iothread=io0", ",iothread=io0") },
    { "two-threads", IN_MEMORY(",iothread=io0", ",iothread=io1") },
    { "thread-and-main", IN_MEMORY(",iothread=io0", ",queue-cache=on") },
    { "cint", IN_MEMORY(",cint=on,iothread=io0", ",iothread=io1") },
};

typedef struct User {
    CintTest *t;
    QNvmeSq *sq;
    QNvmeBuf to, from;
    uint64_t lba;
    uint32_t turn;
} User;

#define USER_COMMANDS   10
#define USER_BLOCKS     (USER_COMMANDS * QNVME_PAGE_SIZE / 512)

static void user_init(User *user, CintTest *t, uint64_t lba)
{
    *user = (User) {
        .t = t, .sq = cint_queues(t, 1), .lba = lba,
        .to = qnvme_buf_new(t->nvme, QNVME_PAGE_SIZE),
        .from = qnvme_buf_new(t->nvme, QNVME_PAGE_SIZE),
    };
}

static uint8_t byte_of(const User *user)
{
    return user->lba + user->turn;
}

static void user_writes(User *user)
{
    uint64_t i;

    user->turn++;
    qtest_memset(user->t->qts, user->from.addr, byte_of(user),
                 QNVME_PAGE_SIZE);
    for (i = 0; i < USER_COMMANDS; i++) {
        qnvme_push_write(user->sq, &user->from, user->lba + 8 * i,
                         QNVME_PAGE_SIZE);
    }
    qnvme_ring_sq(user->sq);
}

/* What was written is there, every block of it. */
static void user_checks(User *user)
{
    uint8_t found[QNVME_PAGE_SIZE], wanted[QNVME_PAGE_SIZE];
    uint64_t i;

    reap_good(user->sq, USER_COMMANDS);
    memset(wanted, byte_of(user), QNVME_PAGE_SIZE);
    for (i = 0; i < USER_COMMANDS; i += 3) {
        qtest_memset(user->t->qts, user->to.addr, ~byte_of(user),
                     QNVME_PAGE_SIZE);
        qnvme_push_read(user->sq, &user->to, user->lba + 8 * i,
                        QNVME_PAGE_SIZE);
        qnvme_ring_sq(user->sq);
        reap_good(user->sq, 1);
        qtest_memread(user->t->qts, user->to.addr, found, QNVME_PAGE_SIZE);
        g_assert_cmpmem(found, QNVME_PAGE_SIZE, wanted, QNVME_PAGE_SIZE);
    }
}

static void limit(CintTest *t, uint64_t iops)
{
    qtest_qmp_assert_success(t->qts,
        "{ 'execute': 'block_set_io_throttle', 'arguments': { 'id': 'ns0',"
        " 'bps': 0, 'bps_rd': 0, 'bps_wr': 0,"
        " 'iops': %" PRIu64 ", 'iops_rd': 0, 'iops_wr': 0 } }", iops);
}

/* The block layer gets to see requests, and does not any more. */
static void meddle(CintTest *t, const char *node, int i)
{
    switch (i % 6) {
    case 0:
        qtest_qmp_assert_success(t->qts,
            "{ 'execute': 'block-dirty-bitmap-add', 'arguments': {"
            " 'node': %s, 'name': 'b' } }", node);
        break;
    case 1:
        qtest_qmp_assert_success(t->qts,
            "{ 'execute': 'block-dirty-bitmap-remove', 'arguments': {"
            " 'node': %s, 'name': 'b' } }", node);
        break;
    case 2:
        limit(t, 1000000);
        break;
    case 3:
        limit(t, 0);
        break;
    case 4:
        /* a drained section, and another node that comes and goes */
        qtest_qmp_assert_success(t->qts,
            "{ 'execute': 'blockdev-add', 'arguments': {"
            " 'driver': 'raw', 'node-name': 'above', 'file': %s } }", node);
        break;
    case 5:
        qtest_qmp_assert_success(t->qts,
            "{ 'execute': 'blockdev-del', 'arguments': {"
            " 'node-name': 'above' } }");
        break;
    }
}

static void memory_is_shared(const void *args)
{
    CintTest *t = cint_boot_devices(NULL, args);
    CintTest *other = cint_other(t, 6);
    QDict *node = cint_memdev_node(t);
    User a, b;
    int i;

    user_init(&a, t, 0);
    user_init(&b, other, USER_BLOCKS);
    for (i = 0; i < 60; i++) {
        user_writes(&a);
        user_writes(&b);
        if (i % 3 == 0) {
            meddle(t, qdict_get_str(node, "node-name"), i / 3);
        }
        user_checks(&a);
        user_checks(&b);
        if (i % 20 == 19) {
            user_writes(&b);
            qnvme_reset(other->nvme);
            qnvme_enable(other->nvme);
            b.sq = cint_queues(other, 1);
        }
    }
    cint_other_free(other);
    qobject_unref(node);
    cint_shutdown(t);
}

/* ---- The property ---- */

static char *add_error(QTestState *qts, const char *more)
{
    g_autofree char *json = g_strdup_printf(
        "{ 'execute': 'device_add', 'arguments': { 'driver': 'nvme',"
        " 'serial': 's', 'drive': 'd0', %s } }", more);
    QDict *answer, *error;
    char *text;

    answer = qtest_qmp(qts, "%p", qobject_from_json(json, &error_abort));
    error = qdict_get_qdict(answer, "error");
    g_assert_nonnull(error);
    text = g_strdup(qdict_get_str(error, "desc"));
    qobject_unref(answer);
    return text;
}

static void expect_error(QTestState *qts, const char *more, const char *text)
{
    g_autofree char *error = add_error(qts, more);

    if (!strstr(error, text)) {
        g_error("'%s' does not have '%s'", error, text);
    }
}

static void what_is_refused(void)
{
    QTestState *qts = qtest_init("-machine pc -nodefaults " CINT_IOTHREADS " "
                                 CINT_NULL_DISK);

    expect_error(qts, "'iothread': 'io7'", "'io7'");
    expect_error(qts, "'irqfd': 'on'", "iothread-vq-mapping");
    expect_error(qts, "'iothread': 'io0', 'irqfd': 'maybe'", "irqfd");
    expect_error(qts, "'iothread': 'io0', 'queue-cache': 'off'",
                 "queue-cache");
    expect_error(qts, "'iothread': 'io0', 'atomic.awupf': 1", "atomic");
    expect_error(qts, "'iothread': 'io0', 'iothread-vq-mapping': "
                 "[{'iothread': 'io1'}]", "at the same time");
    expect_error(qts, "'iothread-vq-mapping': [{'iothread': 'io7'}]", "io7");
    expect_error(qts, "'iothread-vq-mapping': [{'iothread': 'io1', "
                 "'vqs': [64]}]", "64");
    expect_error(qts, "'cint': true, 'cint.policy': 'vic', "
                 "'iothread-vq-mapping': [{'iothread': 'io0'}, "
                 "{'iothread': 'io1'}]", "use vic-scope=cq");
    expect_error(qts, "'iothread': 'io0', 'cint': true, 'cint.time': 'virtual'",
                 "one thread");
    qtest_quit(qts);
}

/* Nor by who changes it later. */
static void vic_of_a_controller_is_refused(void)
{
    CintTest *t = boot(policies[ARRAY_SIZE(policies) - 1].opts,
                       CINT_NULL_DISK);
    QNvmeSq *sq = cint_queues(t, 1);
    g_autofree char *error = cint_set_word_error(t, "cint.policy", "vic");
    NvmeCintFeature f = cint_get_config(t, 1, 0);

    g_assert_nonnull(strstr(error, "use vic-scope=cq"));
    f.policy = NVME_CINT_POLICY_VIC;
    f.vic_scope = 0;
    g_assert_cmphex(cint_set_config(t, 1, &f), ==,
                    NVME_INVALID_FIELD | NVME_DNR);
    f.vic_scope = 1;
    g_assert_cmphex(cint_set_config(t, 1, &f), ==, 0);
    cint_read(t, sq, 30);
    reap_by_interrupts(t, sq, 30);
    cint_shutdown(t);
}

static const struct {
    const char *name;
    void (*run)(const void *opts);
} tests[] = {
    { "many-reads", many_reads },
    { "doorbells-without-waiting", doorbells_without_waiting },
    { "cq-is-full", cq_is_full },
    { "several-sqs-of-one-cq", several_sqs_of_one_cq },
    { "shadow-doorbells", shadow_doorbells },
    { "other-commands", other_commands },
    { "data-in-registers", data_in_registers },
    { "pin-is-a-level", pin_is_a_level },
    { "vector-is-masked", vector_is_masked },
    { "vector-is-shared", vector_is_shared },
    { "messages-are-off", messages_are_off },
    { "sq-is-deleted", sq_is_deleted },
    { "controller-is-reset", controller_is_reset },
    { "controller-is-removed", controller_is_removed },
    { "machine-ends", machine_ends },
    { "machine-stops-and-goes-on", machine_stops_and_goes_on },
    { "nothing-is-fetched-while-stopped", nothing_is_fetched_while_stopped },
    { "command-is-aborted", command_is_aborted },
    { "admin-commands-between", admin_commands_between },
};

int main(int argc, char **argv)
{
    size_t m, i;

    g_test_init(&argc, &argv, NULL);
    for (m = 0; m < ARRAY_SIZE(modes); m++) {
        for (i = 0; i < ARRAY_SIZE(tests); i++) {
            g_autofree char *path = g_strdup_printf(
                "/nvme-cint/iothread/%s/%s", modes[m].name, tests[i].name);

            qtest_add_data_func(path, modes[m].opts, tests[i].run);
        }
    }
    for (i = 0; i < ARRAY_SIZE(policies); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/iothread/interrupts-come/%s", policies[i].name);

        qtest_add_data_func(path, policies[i].opts, interrupts_come);
    }
    qtest_add_data_func("/nvme-cint/iothread/policy-changes/one",
                        policies[0].opts, policy_changes);
    qtest_add_data_func("/nvme-cint/iothread/policy-changes/by-turns",
                        CINT_BY_TURNS("\"cint.vic-scope\": \"cq\", "
                                      JSON_MEDIA), policy_changes);
    qtest_add_func("/nvme-cint/iothread/vic-of-a-controller-is-refused",
                   vic_of_a_controller_is_refused);
    for (i = 0; i < ARRAY_SIZE(recording); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/iothread/records-are-true/%s", recording[i].name);

        qtest_add_data_func(path, recording[i].opts, records_are_true);
    }
    for (i = 0; i < ARRAY_SIZE(failing); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/iothread/reads-fail-at-the-end/%s", failing[i].name);

        qtest_add_data_func(path, failing[i].opts, reads_fail_at_the_end);
    }
    for (i = 0; i < ARRAY_SIZE(holding); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/iothread/cq-goes-as-it-tells/%s", holding[i].name);

        qtest_add_data_func(path, holding[i].opts, cq_goes_as_it_tells);
    }
    for (i = 0; i < ARRAY_SIZE(shared); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/iothread/shared/%s", shared[i].name);
        g_autofree char *detached = g_strdup_printf(
            "/nvme-cint/iothread/detached/%s", shared[i].name);

        qtest_add_data_func(path, shared[i].opts, namespace_is_shared);
        qtest_add_data_func(detached, shared[i].opts, namespace_is_detached);
    }
    for (i = 0; i < ARRAY_SIZE(formatted); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/iothread/all-are-formatted/%s", formatted[i].name);

        qtest_add_data_func(path, formatted[i].opts, all_are_formatted);
    }
    for (i = 0; i < ARRAY_SIZE(in_memory); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/iothread/in-memory/%s", in_memory[i].name);

        qtest_add_data_func(path, in_memory[i].opts, memory_is_shared);
    }
    for (i = 0; i < ARRAY_SIZE(turns); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/iothread/queues-take-turns/%s", turns[i].name);

        qtest_add_data_func(path, turns[i].opts, queues_take_turns);
    }
    qtest_add_func("/nvme-cint/iothread/slots-outlast-a-turn",
                   slots_outlast_a_turn);
    qtest_add_func("/nvme-cint/iothread/writes-are-atomic", writes_are_atomic);
    qtest_add_func("/nvme-cint/iothread/beside-a-job", beside_a_job);
    qtest_add_data_func("/nvme-cint/iothread/threads-are-deleted/one", THREAD,
                        threads_are_deleted);
    qtest_add_data_func("/nvme-cint/iothread/threads-are-deleted/by-turns",
                        BY_TURNS, threads_are_deleted);
    qtest_add_func("/nvme-cint/iothread/what-is-refused", what_is_refused);
    return g_test_run();
}
