/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Bounded media slots where several become free at once: who gets them, what
 * the policies know of commands that have none yet, and who is held up by
 * whom. Every rule holds in both notions of time.
 *
 * The medium takes LATENCY_NS and all slots are taken together, so they become
 * free together: each LATENCY_NS is a batch, and the CQEs that a batch brings
 * tell whose SQEs were fetched a batch before. The first batch is a filler's,
 * so that all queues have rung by the time there is something to share out.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "nvme-cint-common.h"

#define LATENCY_NS      1000
#define MEDIUM \
    "cint=on,cint.media=custom,cint.media.read-latency=1000," \
    "cint.media.units=0,"
#define SLOW_WRITES \
    MEDIUM "cint.media.write-latency=1000000,cint.policy=default," \
    "cint.media.slots=2"
#define NO_MEDIUM       "cint=on,cint.policy=default,cint.media.slots="
#define EIGHT_SLOTS     MEDIUM "cint.policy=default,cint.media.slots=8"
#define REAL            ",cint.time=real"
#define VIRTUAL         ",cint.time=virtual"

#define SLOTS           8
#define NOWHERE         0xc0000000u     /* no memory, no device */
#define MAX_QUEUES      9
#define FILLER          1       /* its queue identifier; others follow */
#define BURST_NO_LIMIT  7

enum { URGENT, HIGH, MEDIUM_PRIO, LOW };
enum { ROUND_ROBIN, WEIGHTED };

static void let_pass(CintTest *t, int64_t ns)
{
    cint_let_run(t);
    cint_run(t, ns);
    cint_let_run(t);
}

static void reap_all(CintTest *t, QNvmeCq *cq)
{
    uint32_t visible = qnvme_visible(cq);

    if (visible) {
        qnvme_reap(cq, visible);
    }
}

/* Pushes @count reads; rings nothing. */
static void push_reads(CintTest *t, QNvmeSq *sq, uint32_t count)
{
    while (count--) {
        qnvme_push_read(sq, &t->buf, 0, 512);
    }
}

/*
 * Rings the doorbells of queues @first to @last in one access, in this order:
 * the controller's main loop gets no turn in between.
 */
static void ring_together(CintTest *t, uint16_t first, uint16_t last)
{
    uint32_t doorbells[2 * (MAX_QUEUES + 1)];
    uint16_t id;

    for (id = first; id <= last; id++) {
        QNvmeSq *sq = t->nvme->sqs[id];

        doorbells[2 * (id - first)] = cpu_to_le32(sq->tail);
        doorbells[2 * (id - first) + 1] = cpu_to_le32(sq->cq->head);
        sq->doorbell = sq->tail;
    }
    qtest_memwrite(t->qts, t->nvme->bar.addr + 0x1000 + first * 8, doorbells,
                   (last - first + 1) * 8);
}

/* ---- Who gets the slots ---- */

typedef struct Queue {
    uint8_t priority;
    uint8_t backlog;
    uint8_t share;      /* of the first batches, while all have a backlog */
} Queue;

typedef struct Sharing {
    const char *name;
    uint8_t ams;
    uint32_t arbitration;       /* feature 01h */
    uint32_t batches;           /* to look at */
    Queue queues[MAX_QUEUES];
} Sharing;

#define WEIGHTS(high, medium, low) \
    (((high) - 1u) << 24 | ((medium) - 1) << 16 | ((low) - 1) << 8)

static const Sharing sharings[] = {
    { "urgent-goes-first", WEIGHTED, WEIGHTS(1, 1, 1) | BURST_NO_LIMIT, 4, {
        { LOW, 40, 0 }, { LOW, 40, 0 }, { LOW, 40, 0 }, { LOW, 40, 0 },
        { URGENT, 32, 8 }, { LOW, 40, 0 }, { LOW, 40, 0 }, { LOW, 40, 0 } } },
    { "urgent-queues-share", WEIGHTED, WEIGHTS(1, 1, 1) | BURST_NO_LIMIT, 4, {
        { URGENT, 16, 4 }, { HIGH, 40, 0 }, { URGENT, 16, 4 } } },
    { "weights-4-3-1", WEIGHTED, WEIGHTS(4, 3, 1) | BURST_NO_LIMIT, 6, {
        { LOW, 40, 1 }, { HIGH, 40, 4 }, { MEDIUM_PRIO, 40, 3 } } },
    { "weights-6-1-1", WEIGHTED, WEIGHTS(6, 1, 1) | BURST_NO_LIMIT, 6, {
        { HIGH, 40, 6 }, { MEDIUM_PRIO, 40, 1 }, { LOW, 40, 1 } } },
    { "weights-of-classes-not-queues", WEIGHTED,
      WEIGHTS(4, 2, 2) | BURST_NO_LIMIT, 6, {
        { HIGH, 40, 2 }, { HIGH, 40, 2 }, { MEDIUM_PRIO, 40, 2 },
        { LOW, 40, 2 } } },
    { "weights-with-a-class-missing", WEIGHTED,
      WEIGHTS(3, 9, 1) | BURST_NO_LIMIT, 5, {
        { HIGH, 40, 6 }, { LOW, 40, 2 } } },
    { "burst-within-a-class", WEIGHTED, WEIGHTS(8, 8, 8) | 2, 1, {
        { HIGH, 40, 4 }, { HIGH, 40, 4 } } },
    { "round-robin-knows-no-priority", ROUND_ROBIN,
      WEIGHTS(8, 1, 1) | BURST_NO_LIMIT, 5, {
        { URGENT, 40, 2 }, { HIGH, 40, 2 }, { MEDIUM_PRIO, 40, 2 },
        { LOW, 40, 2 } } },
    { "round-robin-of-eight", ROUND_ROBIN, BURST_NO_LIMIT, 5, {
        { LOW, 40, 1 }, { LOW, 40, 1 }, { LOW, 40, 1 }, { LOW, 40, 1 },
        { LOW, 40, 1 }, { LOW, 40, 1 }, { LOW, 40, 1 }, { LOW, 40, 1 } } },
    { "round-robin-burst-of-four", ROUND_ROBIN, 2, 5, {
        { LOW, 40, 4 }, { LOW, 40, 4 } } },
};

/* The controller's queues with a filler that takes all slots for a batch. */
static CintTest *boot_sharing(const Sharing *s, const char *opts,
                              uint16_t *last)
{
    CintTest *t = cint_boot(opts);
    uint16_t id = FILLER;
    QNvmeCq *cq;
    size_t i;

    qnvme_reset(t->nvme);
    t->nvme->ams = s->ams;
    qnvme_enable(t->nvme);
    g_assert_cmphex(qnvme_set_feature(t->nvme, NVME_ARBITRATION,
                                      s->arbitration, NULL, NULL), ==, 0);
    cq = qnvme_create_cq(t->nvme, id, CINT_ENTRIES, id);
    qnvme_create_sq_prio(t->nvme, id, CINT_ENTRIES, cq, URGENT);
    for (i = 0; i < ARRAY_SIZE(s->queues) && s->queues[i].backlog; i++) {
        id++;
        cq = qnvme_create_cq(t->nvme, id, CINT_ENTRIES, id);
        qnvme_create_sq_prio(t->nvme, id, CINT_ENTRIES, cq,
                             s->queues[i].priority);
        push_reads(t, t->nvme->sqs[id], s->queues[i].backlog);
    }
    *last = id;
    cint_let_run(t);
    cint_zero(t);
    cint_read(t, t->nvme->sqs[FILLER], SLOTS);
    let_pass(t, LATENCY_NS / 2);
    ring_together(t, FILLER + 1, id);
    let_pass(t, LATENCY_NS / 2);
    g_assert_cmpuint(qnvme_visible(t->nvme->cqs[FILLER]), ==, SLOTS);
    return t;
}

static void share_out(const Sharing *s, const char *opts)
{
    uint16_t id, last;
    CintTest *t = boot_sharing(s, opts, &last);
    uint32_t batch;

    for (batch = 1; batch <= s->batches; batch++) {
        let_pass(t, LATENCY_NS);
        for (id = FILLER + 1; id <= last; id++) {
            const Queue *queue = &s->queues[id - FILLER - 1];

            g_test_message("batch %u: queue %u has %u of %u CQEs", batch, id,
                           qnvme_visible(t->nvme->cqs[id]),
                           batch * queue->share);
            g_assert_cmpuint(qnvme_visible(t->nvme->cqs[id]), ==,
                             batch * queue->share);
        }
    }
    cint_shutdown(t);
}

static void test_shared_virtual(const void *opaque)
{
    share_out(opaque, EIGHT_SLOTS VIRTUAL);
}

static void test_shared_real(const void *opaque)
{
    share_out(opaque, EIGHT_SLOTS REAL);
}

/* With slots free a queue that rang first does not lose to one that did not. */
static void test_first_come(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *urgent, *low;

    qnvme_reset(t->nvme);
    t->nvme->ams = WEIGHTED;
    qnvme_enable(t->nvme);
    urgent = qnvme_create_sq_prio(t->nvme, 1, CINT_ENTRIES,
                                  qnvme_create_cq(t->nvme, 1, 64, 1), URGENT);
    low = qnvme_create_sq_prio(t->nvme, 2, CINT_ENTRIES,
                               qnvme_create_cq(t->nvme, 2, 64, 2), LOW);
    push_reads(t, urgent, SLOTS);
    push_reads(t, low, SLOTS);
    ring_together(t, 1, 2);
    let_pass(t, LATENCY_NS);
    g_assert_cmpuint(qnvme_visible(urgent->cq), ==, SLOTS);
    g_assert_cmpuint(qnvme_visible(low->cq), ==, 0);
    let_pass(t, LATENCY_NS);
    g_assert_cmpuint(qnvme_visible(low->cq), ==, SLOTS);
    cint_shutdown(t);
}

/* ---- Who waits for whom ---- */

#define ONE_SLOT        MEDIUM "cint.policy=default,cint.media.slots=1"

/* More slots, or no limit, are there at once, not when a command ends. */
static void more_slots(const char *opts, int64_t slots)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *one = cint_queues(t, 1), *two = cint_queues(t, 2);

    cint_zero(t);
    cint_read(t, one, 1);
    let_pass(t, 100);
    cint_read(t, two, 3);
    let_pass(t, 100);
    cint_set_number(t, "cint.media.slots", slots);
    let_pass(t, LATENCY_NS);
    g_assert_cmpuint(qnvme_visible(one->cq), ==, 1);
    g_assert_cmpuint(qnvme_visible(two->cq), ==, 3);
    cint_shutdown(t);
}

static void test_more_slots(const void *opts)
{
    more_slots(opts, 64);
}

static void test_no_limit(const void *opts)
{
    more_slots(opts, 0);
}

/* Whose data comes later than the medium is done has its slot until then. */
static void test_late_data(const void *opts)
{
    CintTest *t = cint_boot_custom(NULL, CINT_NULL_DISK ",latency-ns=20000000",
                                   opts);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 2);
    let_pass(t, LATENCY_NS);
    qnvme_wait_cqes(sq->cq, 1);
    let_pass(t, LATENCY_NS);
    qnvme_wait_cqes(sq->cq, 2);
    cint_shutdown(t);
}

#define DISK_SIZE   MiB

/*
 * Reads of what an image has no blocks for are done when the host kernel has
 * been asked for them, behind the last look for a slot of the pass that
 * submits them: the slot goes back to a queue that is still fetching.
 */
static void test_done_at_once(const void *opts)
{
    g_autofree char *path = g_strdup_printf("%s/nvme-cint-slots-XXXXXX",
                                            g_get_tmp_dir());
    g_autofree char *args = NULL;
    int fd = mkstemp(path);
    CintTest *t;
    QNvmeSq *sq;

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, DISK_SIZE), ==, 0);
    close(fd);
    args = g_strdup_printf("-blockdev driver=file,node-name=d0,filename=%s,"
                           "aio=native,cache.direct=on", path);
    t = cint_boot_custom(NULL, args, opts);
    sq = cint_queues(t, 1);
    cint_read(t, sq, SLOTS);
    qnvme_wait_cqes(sq->cq, SLOTS);
    cint_shutdown(t);
    unlink(path);
}

/* A driver that does not consume holds up its own queue only. */
static void test_full_cq(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeCq *full = qnvme_create_cq(t->nvme, 1, 4, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, CINT_ENTRIES, full);
    QNvmeSq *other = cint_queues(t, 2);
    int i;

    cint_read(t, sq, 40);
    for (i = 0; i < 10; i++) {
        let_pass(t, LATENCY_NS);
    }
    g_assert_cmpuint(qnvme_visible(full), ==, 3);
    cint_read(t, other, SLOTS);
    for (i = 0; i < 10; i++) {
        let_pass(t, LATENCY_NS);
    }
    g_assert_cmpuint(qnvme_visible(other->cq), ==, SLOTS);
    reap_all(t, other->cq);
    g_assert_cmpuint(cint_eager_guest(t, full), ==, 40);
    cint_shutdown(t);
}

/*
 * A queue whose SQEs lie where nothing is: fatal, as for stock, but neither
 * does it come again and again nor does it keep its slots from others. The
 * shadow tail is ahead of the register's, as when a driver is quick.
 */
static void test_unreadable_sq(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *other = cint_queues(t, 1);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 2, CINT_ENTRIES, 2);
    NvmeCmd create = {
        .opcode = NVME_ADM_CMD_CREATE_SQ,
        .dptr.prp1 = cpu_to_le64(NOWHERE),
        .cdw10 = cpu_to_le32((CINT_ENTRIES - 1) << 16 | 2),
        .cdw11 = cpu_to_le32(cq->id << 16 | NVME_SQ_PC),
    };

    qnvme_use_shadow_doorbells(t->nvme);
    g_assert_cmphex(qnvme_admin(t->nvme, &create, NULL), ==, 0);
    qtest_writel(t->qts, t->nvme->shadow + 2 * 2 * sizeof(uint32_t), SLOTS);
    qnvme_reg_write(t->nvme, 0x1000 + 2 * 2 * sizeof(uint32_t), 1);
    let_pass(t, LATENCY_NS);
    g_assert_true(NVME_CSTS_CFS(qnvme_reg_read(t->nvme, NVME_REG_CSTS)));
    cint_read(t, other, SLOTS);
    let_pass(t, LATENCY_NS);
    g_assert_cmpuint(qnvme_visible(other->cq), ==, SLOTS);
    cint_shutdown(t);
}

/* ---- What policies know of commands without a slot ---- */

typedef struct Burst {
    const char *name;
    const char *opts;
    uint32_t most_irqs;     /* for BURST_READS by one doorbell */
} Burst;

/* One slot, and nothing but drain interrupts. */
#define HOLDS \
    MEDIUM "cint.policy=cint,cint.delta=1000000000,cint.thr=50," \
    "cint.max-hold=0,cint.drain=on,cint.ooo=off,cint.media.slots=1"

#define BURST_READS     28
#define HINTS           MEDIUM "cint.policy=cint"
#define ADAPTIVE        MEDIUM "cint.policy=adaptive,cint.drain=on"
#define CIF_THRESHOLD   "4"
#define VIC \
    MEDIUM "cint.policy=vic,cint.drain=off,cint.cif-threshold=" CIF_THRESHOLD \
    ",cint.iops-threshold=0,cint.epoch=1"

static const Burst bursts[] = {
    { "cint/no-limit", HINTS, 1 },
    { "cint/4-slots", HINTS ",cint.media.slots=4", 1 },
    { "cint/1-slot", HINTS ",cint.media.slots=1", 1 },
    { "adaptive/4-slots", ADAPTIVE ",cint.media.slots=4", 1 },
    { "adaptive/1-slot", ADAPTIVE ",cint.media.slots=1", 1 },
};

/* What was rung but not fetched is work the guest waits for all the same. */
static void burst(const Burst *b, const char *time)
{
    g_autofree char *opts = g_strconcat(b->opts, time, NULL);
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCintLogRecord r;
    int i;

    cint_read(t, sq, BURST_READS);
    for (i = 0; i < BURST_READS + 2; i++) {
        let_pass(t, LATENCY_NS);
    }
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, BURST_READS);
    r = cint_record(t, 1);
    g_assert_cmpuint(r.irqs_full + r.irqs_urgent, ==, b->most_irqs);
    cint_expect_reason(t, sq->cq, DRAIN, 1);
    cint_shutdown(t);
}

static void test_burst_virtual(const void *opaque)
{
    burst(opaque, VIRTUAL);
}

static void test_burst_real(const void *opaque)
{
    burst(opaque, REAL);
}

/* Few commands in flight are what is left at the end, not what has a slot. */
static void test_vic(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    cint_read(t, sq, BURST_READS);
    for (i = 0; i < BURST_READS + 2; i++) {
        let_pass(t, LATENCY_NS);
    }
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, BURST_READS);
    g_assert_cmpuint(cint_reason_count(t, 1, NVME_CINT_REASON_LOW_CIF), <=,
                     atoi(CIF_THRESHOLD));
    cint_shutdown(t);
}

/*
 * What a deleted SQ has rung and not got fetched is waited for no longer: the
 * CQE of the other SQ is the last. The one slot is another CQ's meanwhile.
 */
static void test_deleted_backlog(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *first = cint_queues(t, 1), *other = cint_queues(t, 2);
    QNvmeSq *deleted = qnvme_create_sq(t->nvme, 3, CINT_ENTRIES, first->cq);

    push_reads(t, first, 1);
    push_reads(t, other, 1);
    push_reads(t, deleted, 1);
    qnvme_ring_sq(first);
    qnvme_ring_sq(other);
    qnvme_ring_sq(deleted);
    let_pass(t, LATENCY_NS + 1);
    g_assert_cmpuint(qnvme_visible(first->cq), ==, 1);
    g_assert_false(qnvme_irq_pending(t->nvme, 1));
    qnvme_delete_sq(deleted);
    cint_let_run(t);
    g_assert_true(qnvme_take_irq(t->nvme, 1));
    cint_expect_reason(t, first->cq, DRAIN, 1);
    cint_shutdown(t);
}

#define SLOW_DISK   CINT_NULL_DISK ",latency-ns=300000000"

/*
 * Delete SQ waits for a read that a slow drive has, and has given the slot of
 * another command back before: what the queue has rung for and got no slot for
 * is not executed meanwhile, and has no CQE.
 */
static void test_deleted_while_waiting(const void *opts)
{
    CintTest *t = cint_boot_custom(NULL, SLOW_DISK, opts);
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeCq *cq = sq->cq;
    NvmeCmd nothing = {
        .opcode = NVME_CMD_DSM,
        .nsid = cpu_to_le32(1),
    };

    qnvme_push(sq, &nothing);
    push_reads(t, sq, 2);
    qnvme_ring_sq(sq);
    cint_let_run(t);
    qnvme_delete_sq(sq);
    let_pass(t, LATENCY_NS);
    g_assert_cmpuint(qnvme_visible(cq), ==, 2);
    g_assert_cmpuint(cint_record(t, 1).inflight, ==, 0);
    cint_shutdown(t);
}

static void add(const char *name, const char *time, const void *data,
                void (*run)(const void *data))
{
    g_autofree char *path = g_strdup_printf("/nvme-cint/slots/%s/%s", name,
                                            time);

    qtest_add_data_func(path, data, run);
}

int main(int argc, char **argv)
{
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(sharings); i++) {
        add(sharings[i].name, "virtual", &sharings[i], test_shared_virtual);
        add(sharings[i].name, "real", &sharings[i], test_shared_real);
    }
    for (i = 0; i < ARRAY_SIZE(bursts); i++) {
        g_autofree char *name = g_strconcat("one-interrupt/", bursts[i].name,
                                            NULL);

        add(name, "virtual", &bursts[i], test_burst_virtual);
        add(name, "real", &bursts[i], test_burst_real);
    }
    add("who-rings-first-is-first", "virtual", EIGHT_SLOTS VIRTUAL,
        test_first_come);
    add("who-rings-first-is-first", "real", EIGHT_SLOTS REAL, test_first_come);
    add("more-slots-at-once", "virtual", ONE_SLOT VIRTUAL, test_more_slots);
    add("more-slots-at-once", "real", ONE_SLOT REAL, test_more_slots);
    add("no-limit-at-once", "virtual", ONE_SLOT VIRTUAL, test_no_limit);
    add("no-limit-at-once", "real", ONE_SLOT REAL, test_no_limit);
    add("late-data-frees-its-slot", "real", ONE_SLOT REAL, test_late_data);
    add("done-at-once", "1-slot", NO_MEDIUM "1" REAL, test_done_at_once);
    add("done-at-once", "2-slots", NO_MEDIUM "2" REAL, test_done_at_once);
    add("a-full-cq-starves-nobody", "virtual", EIGHT_SLOTS VIRTUAL,
        test_full_cq);
    add("a-full-cq-starves-nobody", "real", EIGHT_SLOTS REAL, test_full_cq);
    add("a-deleted-backlog-drains", "virtual", HOLDS VIRTUAL,
        test_deleted_backlog);
    add("a-deleted-backlog-drains", "real", HOLDS REAL, test_deleted_backlog);
    add("deleted-while-waiting", "real", SLOW_WRITES REAL,
        test_deleted_while_waiting);
    add("an-unreadable-sq", "virtual", EIGHT_SLOTS VIRTUAL,
        test_unreadable_sq);
    add("an-unreadable-sq", "real", EIGHT_SLOTS REAL, test_unreadable_sq);
    add("vic-counts-what-was-rung", "virtual",
        VIC VIRTUAL ",cint.media.slots=2", test_vic);
    add("vic-counts-what-was-rung", "real", VIC REAL ",cint.media.slots=2",
        test_vic);
    return g_test_run();
}
