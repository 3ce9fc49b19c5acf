/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A machine that goes elsewhere. The test is the guest: it goes along, from one
 * QEMU to the next, while it writes and reads what it has written.
 *
 * In virtual time everything repeats. So two machines get the same commands at
 * the same times, one of which stays, and the other one goes elsewhere a
 * hundred times: interrupts, completions and counters are the same, to the ns.
 *
 * QEMU before 11.1 cannot migrate a controller. There each of the tests sees
 * that it is refused.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qemu/bswap.h"
#include "libqos/libqos.h"
#include "libqos/malloc-pc.h"
#include "libqos/pci-pc.h"
#include "nvme-cint-common.h"
#include "nvme-cint-driver.h"

#define STOCK_ENV       "QTEST_QEMU_STOCK"
#define LAPS            100
#define BLOCKS          64
#define IMAGE_BYTES     (BLOCKS * QNVME_PAGE_SIZE)
#define QUEUES          2
#define MOST_CMDS       40
/* What is learned of buffers goes by ticks of this. */
#define TICK_NS         (1ll << 23)

#define DISK \
    "-blockdev driver=file,filename=%s,node-name=f0 " \
    "-blockdev driver=raw,file=f0,node-name=d0"

typedef struct Policy {
    const char *name;
    const char *opts;
} Policy;

#define MEDIUM \
    "cint=on,cint.media=custom,cint.media.read-latency=4000," \
    "cint.media.write-latency=9000,cint.media.units=6," \
    "cint.media.jitter=1500,cint.media.spread=700," \
    "cint.media.read-bandwidth=2000000000"
#define VIRTUAL MEDIUM ",cint.time=virtual"

static const Policy policies[] = {
    { "default", VIRTUAL ",cint.policy=default" },
    { "default-aggregated", VIRTUAL ",cint.policy=default,"
      "cint.static-time=40000,cint.static-thr=6" },
    { "static", VIRTUAL ",cint.policy=static,cint.static-time=60000,"
      "cint.static-thr=8" },
    { "adaptive", VIRTUAL ",cint.policy=adaptive,cint.delta=30000,"
      "cint.thr=8" },
    { "adaptive-tuned", VIRTUAL ",cint.policy=adaptive,cint.delta=9000,"
      "cint.thr=4,cint.tune=on" },
    { "vic", VIRTUAL ",cint.policy=vic,cint.epoch=1,cint.iops-threshold=0,"
      "cint.cif-threshold=2,cint.max-hold=200000" },
    { "vic-adaptive", VIRTUAL ",cint.policy=vic,cint.epoch=1,"
      "cint.vic-ratios=adaptive,cint.vic-scope=cq,cint.iops-threshold=0,"
      "cint.cif-threshold=2,cint.max-hold=200000" },
    { "cint", VIRTUAL ",cint.policy=cint,cint.delta=30000,cint.thr=12,"
      "cint.barrier=strict,cint.infer=all" },
    { "cint-learning", VIRTUAL ",cint.policy=cint,cint.delta=30000,"
      "cint.thr=12,cint.infer=both,cint.tune=on" },
    { "pointer", VIRTUAL ",cint.policy=pointer,cint.max-hold=300000" },
    { "auto", VIRTUAL ",cint.policy=auto" },
    { "price", VIRTUAL ",cint.policy=price,cint.price=9000" },
    { "limits", VIRTUAL ",cint.policy=adaptive,cint.delta=5000,cint.thr=4,"
      "cint.max-irq-rate=20000,cint.kick-window=30000,cint.ack-gate=4000" },
    { "retune", VIRTUAL ",cint.policy=adaptive,cint.delta=5000,cint.thr=2,"
      "cint.max-irq-rate=20000,cint.storm=retune,cint.ewma-shift=3" },
    { "slots", VIRTUAL ",cint.policy=adaptive,cint.delta=30000,cint.thr=8,"
      "cint.media.slots=3" },
};

/* ---- The machine ---- */

typedef struct Machine {
    CintTest *t;
    const char *opts;
    const char *disk;       /* NULL: the image */
    char *image;
    char *socket;
    bool shadow;
    unsigned moves;
} Machine;

static char *machine_disk(const Machine *m)
{
    return m->disk ? g_strdup(m->disk) : g_strdup_printf(DISK, m->image);
}

static char *machine_args(const Machine *m, const char *extra)
{
    g_autofree char *disk = machine_disk(m);

    return g_strdup_printf("-machine pc -nodefaults -m 64 %s "
                           "-device nvme,id=nvme0,serial=cint,drive=d0,addr=4"
                           "%s%s -device pci-testdev,addr=5 %s", disk,
                           *m->opts ? "," : "", m->opts, extra);
}

static Machine machine_new_env(const char *env, const char *opts,
                               const char *node)
{
    Machine m = { .opts = opts, .disk = node };
    g_autofree char *disk = NULL;
    int fd = g_file_open_tmp("cint-migrate-XXXXXX", &m.image, NULL);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, IMAGE_BYTES), ==, 0);
    close(fd);
    m.socket = g_strdup_printf("%s.sock", m.image);
    disk = machine_disk(&m);
    m.t = cint_boot_custom(env, disk, opts);
    cint_run(m.t, 3000000);
    cint_zero(m.t);
    return m;
}

static Machine machine_new(const char *opts)
{
    return machine_new_env(NULL, opts, NULL);
}

static void machine_free(Machine *m)
{
    cint_shutdown(m->t);
    g_unlink(m->image);
    g_unlink(m->socket);
    g_free(m->image);
    g_free(m->socket);
}

/* True, with the machine where it is, if this QEMU refuses. */
static bool is_refused(const Machine *m)
{
    g_autofree char *why = NULL;

    if (cint_can_migrate(m->t->qts)) {
        return false;
    }
    why = cint_migrate(m->t->qts, "exec:cat >/dev/null");
    g_assert_nonnull(why);
    g_assert_nonnull(strstr(why, "nvme"));
    return true;
}

/* From here on @to is the guest's QEMU, whose clock is @ahead of the other. */
static void go_on_in(CintTest *t, QTestState *to, int64_t ahead)
{
    qtest_quit(t->qts);
    t->qts = to;
    t->bus->qts = to;
    t->nvme->qts = to;
    t->zero += ahead;
    t->clock += ahead;
}

/* The clock there may be another one. */
static void machine_move_to(Machine *m, const char *env)
{
    g_autofree char *incoming = g_strdup_printf("-incoming unix:%s",
                                                m->socket);
    g_autofree char *uri = g_strdup_printf("unix:%s", m->socket);
    g_autofree char *args = machine_args(m, incoming);
    int64_t ahead = g_test_rand_int_range(0, 100) * TICK_NS;
    QTestState *to = qtest_init_with_env(env, args, true);
    g_autofree char *why = NULL;

    qtest_clock_set(to, m->t->clock + ahead);
    why = cint_migrate(m->t->qts, uri);
    g_assert_cmpstr(why, ==, NULL);
    qtest_qmp_eventwait(to, "RESUME");
    go_on_in(m->t, to, ahead);
    m->moves++;
}

static void machine_move(Machine *m)
{
    machine_move_to(m, NULL);
}

/* ---- The guest ---- */

/* A command in flight, by the identifier of its queue. */
typedef struct Command {
    bool in_flight;
    bool is_write;
    uint32_t block;
    uint32_t version;       /* that it writes, or is to read */
    QNvmeBuf buf;
} Command;

typedef struct Guest {
    Machine *m;
    GRand *rand;
    bool exact;             /* nothing happens between two steps of the clock */
    QNvmeBuf sink;          /* of messages */
    QNvmeSq *sq[QUEUES];
    Command cmd[QUEUES][MOST_CMDS];
    bool busy[BLOCKS];
    uint32_t version[BLOCKS];
    uint32_t versions;
    uint32_t read, written, interrupts;
    GString *seen;          /* what there was, and when */
} Guest;

static uint32_t any(Guest *g, uint32_t below)
{
    return g_rand_int(g->rand) % below;
}

static Guest *guest_begin(Machine *m, uint32_t seed)
{
    Guest *g = g_new0(Guest, 1);
    int i, k;

    g->m = m;
    g->rand = g_rand_new_with_seed(seed);
    g->seen = g_string_new("");
    g->exact = strstr(m->opts, "cint.time=virtual");
    g->sink = qnvme_buf_new(m->t->nvme, QNVME_PAGE_SIZE);
    if (m->shadow) {
        qnvme_use_shadow_doorbells(m->t->nvme);
    }
    for (i = 0; i < QUEUES; i++) {
        QNvmeCq *cq = qnvme_create_cq(m->t->nvme, i + 1, 64, i + 1);

        g->sq[i] = qnvme_create_sq_prio(m->t->nvme, i + 1, 64, cq, 1 + i);
        for (k = 0; k < MOST_CMDS; k++) {
            g->cmd[i][k].buf = qnvme_buf_new(m->t->nvme, QNVME_PAGE_SIZE);
        }
    }
    return g;
}

static void guest_end(Guest *g)
{
    g_rand_free(g->rand);
    g_string_free(g->seen, true);
    g_free(g);
}

/* The identifier of a command is its place: it comes back with the CQE. */
static void push(Guest *g, int q, int k)
{
    Command *c = &g->cmd[q][k];
    NvmeCmd cmd;

    cmd = qnvme_rw_cmd(c->is_write ? NVME_CMD_WRITE : NVME_CMD_READ, &c->buf,
                       c->block * (QNVME_PAGE_SIZE / 512), QNVME_PAGE_SIZE);
    if (g->m->opts[0] && !any(g, 4)) {
        cmd.flags = any(g, 2) ? NVME_CINT_FLAGS_URGENT
                              : NVME_CINT_FLAGS_BARRIER;
    }
    g->sq[q]->next_cid = k;
    qnvme_push(g->sq[q], &cmd);
}

static bool begin(Guest *g, int q)
{
    uint32_t block = any(g, BLOCKS);
    Command *c;
    int k = 0;

    while (k < MOST_CMDS && g->cmd[q][k].in_flight) {
        k++;
    }
    if (k == MOST_CMDS || g->busy[block]) {
        return false;
    }
    c = &g->cmd[q][k];
    c->in_flight = true;
    c->is_write = !g->version[block] || any(g, 2);
    c->block = block;
    c->version = c->is_write ? ++g->versions : g->version[block];
    g->busy[block] = true;
    qnvme_buf_fill(g->m->t->nvme, &c->buf, c->is_write ? c->version : 0);
    push(g, q, k);
    return true;
}

static void end(Guest *g, int q, const NvmeCqe *cqe)
{
    Command *c = &g->cmd[q][cqe->cid];

    g_assert_cmpuint(cqe->cid, <, MOST_CMDS);
    g_assert_true(c->in_flight);
    g_assert_cmphex(qnvme_status(cqe), ==, 0);
    g_assert_true(qnvme_buf_holds(g->m->t->nvme, &c->buf, c->version));
    c->in_flight = false;
    g->busy[c->block] = false;
    g->version[c->block] = c->version;
    g->read += !c->is_write;
    g->written += c->is_write;
}

static void reap(Guest *g, int q)
{
    QNvmeCq *cq = g->sq[q]->cq;
    uint32_t i, n = qnvme_visible(cq);
    NvmeCqe cqe;

    for (i = 0; i < n; i++) {
        g_assert_true(qnvme_peek(cq, i, &cqe));
        g_string_append_printf(g->seen, " %u", cqe.cid);
        end(g, q, &cqe);
    }
    qnvme_reap(cq, n);
}

/*
 * In real time another message may come while the vector is not masked. It is
 * of a CQE that is reaped with the others.
 */
static bool take_irq(Guest *g, int q)
{
    QNvmeCtrl *n = g->m->t->nvme;

    if (g->exact) {
        return qnvme_take_irq(n, q + 1);
    }
    if (!qnvme_irq_pending(n, q + 1)) {
        return false;
    }
    qnvme_vector_target(n, q + 1, g->sink.addr, 1, false);
    qnvme_vector_target(n, q + 1, g->sink.addr, 1, true);
    return true;
}

/* Time passes, in small steps, as a handler would be there at once. */
static void let_pass(Guest *g, int64_t ns)
{
    int64_t until = cint_now(g->m->t) + ns;
    int q;

    while (cint_now(g->m->t) < until) {
        cint_run(g->m->t, MIN(until - cint_now(g->m->t), 1000));
        for (q = 0; q < QUEUES; q++) {
            if (take_irq(g, q)) {
                g_string_append_printf(g->seen, "\n%" PRId64 " irq %d:",
                                       cint_now(g->m->t), q + 1);
                g->interrupts++;
                reap(g, q);
            }
        }
    }
}

static void arm_pointer(Guest *g, int q)
{
    QNvmeCq *cq = g->sq[q]->cq;
    uint32_t index = (cq->head + 1 + any(g, 4)) % cq->entries;

    if (strstr(g->m->opts, "pointer")) {
        cint_set_pointer(g->m->t, cq, NVME_CINT_POINTER_ARM | index);
    }
}

static void act(Guest *g)
{
    int q = any(g, QUEUES), n = 1 + any(g, 6);

    while (n--) {
        begin(g, q);
    }
    arm_pointer(g, q);
    qnvme_ring_sq(g->sq[q]);
    if (any(g, 3)) {
        let_pass(g, any(g, 12000));
    }
    if (!any(g, 10)) {
        q = any(g, QUEUES);
        g_string_append_printf(g->seen, "\n%" PRId64 " looks %d:",
                               cint_now(g->m->t), q + 1);
        reap(g, q);
    }
}

/* Nothing is left, not in real time either. */
static void finish(Guest *g)
{
    gint64 limit = g_get_monotonic_time() + 30 * G_TIME_SPAN_SECOND;
    int q, k;

    for (q = 0; q < QUEUES; q++) {
        for (k = 0; k < MOST_CMDS; k++) {
            while (g->cmd[q][k].in_flight) {
                g_assert_cmpint(g_get_monotonic_time(), <, limit);
                let_pass(g, 100000);
            }
        }
    }
}

static void laps(Guest *g, bool moves)
{
    int i;

    for (i = 0; i < LAPS; i++) {
        act(g);
        act(g);
        if (moves) {
            machine_move(g->m);
        }
    }
    finish(g);
}

static NvmeCintLogSq sq_counters(CintTest *t, uint16_t sqid)
{
    NvmeCintLogSq record = cint_sq_record(t, sqid);

    return record;
}

static void same_counters(CintTest *stays, CintTest *goes)
{
    int q;

    for (q = 1; q <= QUEUES; q++) {
        NvmeCintLogRecord a = cint_record(stays, q), b = cint_record(goes, q);
        NvmeCintLogSq x = sq_counters(stays, q), y = sq_counters(goes, q);

        g_assert_cmpuint(a.cqes, ==, b.cqes);
        g_assert_cmpuint(a.irqs_full, ==, b.irqs_full);
        g_assert_cmpmem(&a, sizeof(a), &b, sizeof(b));
        g_assert_cmpmem(&x, sizeof(x), &y, sizeof(y));
        cint_check_record(goes, q);
    }
}

static void test_policy(const void *opaque)
{
    const Policy *policy = opaque;
    uint32_t seed = g_test_rand_int();
    Machine stays = machine_new(policy->opts);
    Machine goes = machine_new(policy->opts);
    Guest *a = guest_begin(&stays, seed), *b = guest_begin(&goes, seed);

    if (!is_refused(&goes)) {
        laps(a, false);
        laps(b, true);
        g_assert_cmpstr(a->seen->str, ==, b->seen->str);
        g_assert_cmpuint(goes.moves, ==, LAPS);
        g_assert_cmpuint(b->read, >, LAPS);
        g_assert_cmpuint(b->written, >, LAPS);
        g_assert_cmpuint(b->interrupts, >, 20);
        same_counters(stays.t, goes.t);
    }
    guest_end(a);
    guest_end(b);
    machine_free(&stays);
    machine_free(&goes);
}

/* In real time, and where cint is off, the data is right, and none is lost. */
static void ping_pong(const char *opts, bool shadow)
{
    Machine m = machine_new(opts);
    Guest *g;

    m.shadow = shadow;
    g = guest_begin(&m, g_test_rand_int());
    if (!is_refused(&m)) {
        laps(g, true);
        g_assert_cmpuint(g->read, >, LAPS);
        g_assert_cmpuint(g->written, >, LAPS);
    }
    guest_end(g);
    machine_free(&m);
}

static void test_real(void)
{
    ping_pong(MEDIUM ",cint.time=real,cint.policy=adaptive,cint.delta=30000,"
              "cint.thr=8", false);
}

static void test_no_medium(void)
{
    ping_pong("cint=on,cint.policy=cint", false);
}

static void test_shadow(void)
{
    ping_pong(VIRTUAL ",cint.policy=adaptive,cint.delta=30000,cint.thr=8",
              true);
}

static void test_off(void)
{
    ping_pong("", false);
}

/* ---- One thing each ---- */

#define HELD    CINT_PURE ",cint.policy=adaptive,cint.delta=60000,cint.thr=50"

static void test_deadline(void)
{
    Machine m = machine_new(HELD);
    QNvmeSq *sq = cint_queues(m.t, 1);

    cint_zero(m.t);
    cint_read(m.t, sq, 3);
    cint_expect_cqes_at(m.t, sq->cq, 400, 3);
    if (!is_refused(&m)) {
        cint_run_to(m.t, 20000);
        machine_move(&m);
        cint_expect_quiet_to(m.t, sq->cq, 30000);
        machine_move(&m);
        cint_expect_irq_at(m.t, sq->cq, 60400);
        g_assert_cmpuint(qnvme_visible(sq->cq), ==, 3);
        cint_expect_reason(m.t, sq->cq, QUIET, 1);
    }
    machine_free(&m);
}

static void test_in_medium(void)
{
    Machine m = machine_new("cint=on,cint.time=virtual,cint.media=custom,"
                            "cint.media.read-latency=5000,"
                            "cint.media.units=1,cint.policy=default");
    QNvmeSq *sq = cint_queues(m.t, 1);

    cint_zero(m.t);
    cint_read(m.t, sq, 3);
    cint_run_to(m.t, 1000);
    if (!is_refused(&m)) {
        machine_move(&m);
        cint_expect_cqes_at(m.t, sq->cq, 5000, 1);
        machine_move(&m);
        cint_expect_cqes_at(m.t, sq->cq, 10000, 2);
        cint_read(m.t, sq, 1);
        machine_move(&m);
        cint_expect_cqes_at(m.t, sq->cq, 15000, 3);
        cint_expect_cqes_at(m.t, sq->cq, 20000, 4);
    }
    machine_free(&m);
}

#define SLOW_DISK   "-blockdev driver=null-co,node-name=d0,size=1073741824," \
                    "read-zeroes=on,latency-ns=500000000"

/* What is done as the machine stops is posted when memory has been saved. */
static void test_in_flight(const void *opts)
{
    Machine m = machine_new_env(NULL, opts, SLOW_DISK);
    QNvmeSq *sq = cint_queues(m.t, 1);

    if (!is_refused(&m)) {
        int i;

        for (i = 0; i < 3; i++) {
            cint_read(m.t, sq, 5);
            cint_let_run(m.t);
            machine_move(&m);
            cint_run(m.t, 1000000);
            qnvme_wait_cqes(sq->cq, 5);
            cint_let_run(m.t);
            g_assert_true(qnvme_take_irq(m.t->nvme, 1));
            qnvme_reap(sq->cq, 5);
        }
    }
    machine_free(&m);
}

/* A queue that nobody reaps: what is done waits for room, and comes along. */
static void test_full_queue(const void *opts)
{
    Machine m = machine_new(opts);
    QNvmeCq *cq = qnvme_create_cq(m.t->nvme, 1, 4, 1);
    QNvmeSq *sq = qnvme_create_sq(m.t->nvme, 1, 16, cq);

    cint_read(m.t, sq, 10);
    cint_let_run(m.t);
    cint_run(m.t, 100000);
    qnvme_wait_cqes(cq, 3);
    if (!is_refused(&m)) {
        uint32_t reaped = 0;

        machine_move(&m);
        g_assert_cmpuint(qnvme_visible(cq), ==, 3);
        while (reaped < 10) {
            uint32_t n = qnvme_visible(cq);

            qnvme_reap(cq, n);
            reaped += n;
            cint_run(m.t, 1000);
            cint_let_run(m.t);
        }
        g_assert_cmpuint(qnvme_visible(cq), ==, 0);
    }
    machine_free(&m);
}

/* What Set Features has changed, and where records lie, comes along. */
static void test_features(void)
{
    Machine m = machine_new(HELD ",cint.ooo=on");
    uint64_t records = cint_records_on(m.t, 4), addr;
    QNvmeSq *sq = cint_queues(m.t, 1);
    NvmeCintFeature one, all;
    CintStatus before, after;
    uint32_t value, n;

    one = cint_get_config(m.t, 1, 0);
    one.policy = NVME_CINT_POLICY_STATIC;
    one.static_time_ns = cpu_to_le32(777);
    g_assert_cmphex(cint_set_config(m.t, 1, &one), ==, 0);
    all = cint_get_config(m.t, NVME_CINT_ALL_CQS, 0);
    g_assert_cmphex(qnvme_set_feature(m.t->nvme, 0x09, 3 | 1 << 16, NULL,
                                      NULL), ==, 0);
    g_assert_cmphex(qnvme_set_feature(m.t->nvme, 0x01, 0x09050302, NULL, NULL),
                    ==, 0);
    cint_read(m.t, sq, 2);
    cint_run(m.t, 100000);
    before = cint_status(m.t, records, 1);
    if (!is_refused(&m)) {
        machine_move(&m);
        cint_expect_config(m.t, 1, &one);
        cint_expect_config(m.t, NVME_CINT_ALL_CQS, &all);
        cint_get_status(m.t, 0, &addr, &n);
        g_assert_cmphex(addr, ==, records);
        g_assert_cmpuint(n, ==, 4);
        g_assert_cmphex(qnvme_get_feature(m.t->nvme, 0x09, 0, 3, NULL, &value),
                        ==, 0);
        g_assert_cmphex(value, ==, 3 | 1 << 16);
        g_assert_cmphex(qnvme_get_feature(m.t->nvme, 0x01, 0, 0, NULL, &value),
                        ==, 0);
        g_assert_cmphex(value, ==, 0x09050302);
        after = cint_status(m.t, records, 1);
        g_assert_cmpmem(&before, sizeof(before), &after, sizeof(after));
        cint_read(m.t, sq, 1);
        cint_run(m.t, 100000);
        after = cint_status(m.t, records, 1);
        g_assert_cmpuint(after.seq, >, before.seq);
        g_assert_cmpuint(after.tail, ==, before.tail + 1);
    }
    machine_free(&m);
}

/* One that is not done goes on where it is, also with what it has to fetch. */
static void test_stays(void)
{
    Machine m = machine_new(HELD);
    QNvmeSq *sq = cint_queues(m.t, 1);

    if (!is_refused(&m)) {
        g_autofree char *why = NULL;

        cint_zero(m.t);
        cint_read(m.t, sq, 3);
        why = cint_migrate_nowhere(m.t->qts);
        g_assert_cmpstr(why, ==, NULL);
        cint_expect_irq_at(m.t, sq->cq, 60400);
        qnvme_reap(sq->cq, 3);
        cint_read(m.t, sq, 2);
        g_assert_cmpuint(cint_eager_guest(m.t, sq->cq), ==, 2);
    }
    machine_free(&m);
}

static void expect_fetched_now(CintTest *t, QNvmeSq *sq, uint32_t count)
{
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    cint_let_run(t);
    cint_run(t, 100000);
    qnvme_wait_cqes(sq->cq, count);
    qnvme_reap(sq->cq, count);
}

/*
 * What the last doorbells before a stop ask for is fetched when the machine
 * goes on, also after it was saved: not while the block layer is drained.
 */
static void test_stopped(const void *opts)
{
    Machine m = machine_new(opts);
    QNvmeSq *sq = cint_queues(m.t, 1);
    int i;

    for (i = 0; i < 5; i++) {
        qtest_qmp_assert_success(m.t->qts, "{'execute': 'stop'}");
        cint_read(m.t, sq, 3);
        cint_let_run(m.t);
        if (!is_refused(&m)) {
            g_autofree char *why = cint_migrate_nowhere(m.t->qts);

            g_assert_cmpstr(why, ==, NULL);
        }
        expect_fetched_now(m.t, sq, 3);
    }
    machine_free(&m);
}

#define IMAGE \
    "-blockdev driver=file,filename=%s,node-name=f0 " \
    "-blockdev driver=qcow2,file=f0,node-name=d0"

static char *qcow2_new(void)
{
    char *path = NULL;
    int fd = g_file_open_tmp("cint-migrate-XXXXXX", &path, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    if (have_qemu_img()) {
        mkqcow2(path, 64);
        return path;
    }
    g_test_skip("qemu-img is needed");
    g_unlink(path);
    g_free(path);
    return NULL;
}

static void qcow2_free(char *path)
{
    g_unlink(path);
    g_free(path);
}

/* The same of a snapshot, into the image that the commands are for. */
static void test_snapshot(const void *opts)
{
    g_autofree char *disk = NULL;
    char *path = qcow2_new();
    QNvmeSq *sq;
    Machine m;
    int i;

    if (!path) {
        return;
    }
    disk = g_strdup_printf(IMAGE, path);
    m = machine_new_env(NULL, opts, disk);
    sq = cint_queues(m.t, 1);
    for (i = 0; i < 3; i++) {
        g_autofree char *said = NULL;

        qtest_qmp_assert_success(m.t->qts, "{'execute': 'stop'}");
        cint_read(m.t, sq, 3);
        said = qtest_hmp(m.t->qts, "savevm x");
        if (cint_can_migrate(m.t->qts)) {
            g_assert_cmpstr(said, ==, "");
        }
        expect_fetched_now(m.t, sq, 3);
    }
    machine_free(&m);
    qcow2_free(path);
}

/* A state of another controller: this one has failed, until a reset. */
static void load_of_another(const char *disk, bool reset)
{
    Machine m = machine_new_env(NULL, "", disk);
    g_autofree char *said = qtest_hmp(m.t->qts, "loadvm x");

    g_assert_cmpstr(said, !=, "");
    if (reset) {
        qtest_qmp_assert_success(m.t->qts, "{'execute': 'system_reset'}");
    }
    qtest_qmp_assert_success(m.t->qts, "{'execute': 'cont'}");
    if (!reset) {
        QNvmeSq *sq;

        g_assert_cmphex(qnvme_reg_read(m.t->nvme, NVME_REG_CSTS) &
                        NVME_CSTS_FAILED, !=, 0);
        qnvme_reset(m.t->nvme);
        qnvme_enable(m.t->nvme);
        sq = cint_queues(m.t, 1);
        cint_read(m.t, sq, 3);
        qnvme_wait_cqes(sq->cq, 3);
    }
    machine_free(&m);
}

static void test_load_of_another(void)
{
    g_autofree char *disk = NULL, *said = NULL;
    char *path = qcow2_new();
    bool saved;
    Machine m;

    if (!path) {
        return;
    }
    disk = g_strdup_printf(IMAGE, path);
    m = machine_new_env(NULL, HELD, disk);
    cint_read(m.t, cint_queues(m.t, 1), 3);
    said = qtest_hmp(m.t->qts, "savevm x");
    saved = cint_can_migrate(m.t->qts);
    g_assert_cmpint(!*said, ==, saved);
    machine_free(&m);
    if (saved) {
        load_of_another(disk, false);
        load_of_another(disk, true);
    }
    qcow2_free(path);
}

/* ---- What is refused ---- */

/* The machine, as a stream in a file. */
static char *save_stream(Machine *m)
{
    char *file = g_strdup_printf("%s.stream", m->image);
    g_autofree char *uri = g_strdup_printf("exec:cat >%s", file);
    g_autofree char *why = cint_migrate(m->t->qts, uri);

    g_assert_cmpstr(why, ==, NULL);
    return file;
}

/*
 * Begins with the stream in @file. Returns what QEMU says, of which some is
 * said to people only, or NULL if it takes it.
 */
static char *load_stream(const Machine *m, const char *file)
{
    g_autofree char *errors = g_strdup_printf("%s.errors", file);
    g_autofree char *incoming = g_strdup_printf("-incoming defer 2>%s", errors);
    g_autofree char *args = machine_args(m, incoming);
    g_autofree char *uri = g_strdup_printf("exec:cat %s", file);
    QTestState *there = qtest_init(args);
    g_autofree char *why = cint_load(there, uri);
    g_autofree char *said = NULL;

    qtest_quit(there);
    g_assert_true(g_file_get_contents(errors, &said, NULL, NULL));
    g_unlink(errors);
    g_test_message("%s: %s", why ? why : "taken", said);
    return why ? g_strdup_printf("%s: %s", why, said) : NULL;
}

typedef struct Refusal {
    const char *name;
    const char *there;      /* opts where the machine comes from */
    const char *here;
    const char *says;       /* NULL: it is taken */
} Refusal;

static const Refusal refusals[] = {
    { "none", "cint=on", "cint=on", NULL },
    { "off", "cint=on", "", "cint is off here and on" },
    { "on", "", "cint=on", "cint is on here and off" },
    { "policy", "cint=on,cint.policy=cint", "cint=on,cint.policy=adaptive",
      "cint.policy is adaptive here and cint where" },
    { "delta", "cint=on", "cint=on,cint.delta=7000",
      "cint.delta is 7000 here and 6000 where" },
    { "bool", "cint=on", "cint=on,cint.ooo=off",
      "cint.ooo is off here and on where" },
    { "media", "cint=on,cint.media=optane", "cint=on,cint.media=gen2",
      "cint.media is gen2 here and optane where" },
    { "slots", "cint=on", "cint=on,cint.media.slots=3",
      "cint.media.slots is 3 here and 0 where" },
    { "time", "cint=on,cint.time=virtual", "cint=on,cint.time=real",
      "cint.time is real here and virtual where" },
};

static void test_refusal(const void *opaque)
{
    const Refusal *r = opaque;
    Machine m = machine_new(r->there);

    if (!is_refused(&m)) {
        g_autofree char *file = NULL, *said = NULL;

        cint_queues(m.t, 1);
        file = save_stream(&m);
        m.opts = r->here;
        said = load_stream(&m, file);
        if (r->says) {
            g_assert_nonnull(said);
            g_assert_nonnull(strstr(said, r->says));
        } else {
            g_assert_cmpstr(said, ==, NULL);
        }
        g_unlink(file);
    }
    machine_free(&m);
}

static size_t find(const char *stream, size_t length, const char *name)
{
    char *at = memmem(stream, length, name, strlen(name));

    g_assert_nonnull(at);
    return at - stream + strlen(name);
}

/*
 * Where the subsection's data begins: behind its name comes a version; the
 * other places where the name is are its description, which nobody reads.
 */
static size_t data_of(const char *stream, size_t length)
{
    return find(stream, length, "\x05\x09nvme/cint") + 4;
}

static char *load_changed(const Machine *m, const char *file,
                          const char *stream, size_t length)
{
    g_autofree char *changed = g_strdup_printf("%s.changed", file);
    char *said;

    g_assert_true(g_file_set_contents(changed, stream, length, NULL));
    said = load_stream(m, changed);
    g_unlink(changed);
    return said;
}

/* Sizes come first: one word each of widths, then of counts, big endian. */
static void test_hostile_sizes(const Machine *m, const char *file,
                               char *stream, size_t length)
{
    size_t at = data_of(stream, length);
    int i;

    for (i = 0; i < 20; i += 3) {
        char *word = stream + at + 4 * i;
        uint32_t before = ldl_be_p(word);
        g_autofree char *said = NULL;

        stl_be_p(word, before ^ 0x40000000);
        said = load_changed(m, file, stream, length);
        g_assert_nonnull(said);
        g_assert_nonnull(strstr(said, "cint: "));
        stl_be_p(word, before);
    }
}

/* Any value behind them: refused, with a reason, or taken. */
static void test_hostile_values(const Machine *m, const char *file,
                                char *stream, size_t length, unsigned n)
{
    size_t first = data_of(stream, length) + 4 * 20;
    /* The description of it all comes last. */
    size_t behind = find(stream, length, "\"configuration\"");
    unsigned refused = 0;

    while (n--) {
        size_t at = g_test_rand_int_range(first, behind);
        char before = stream[at];
        g_autofree char *said = NULL;

        stream[at] ^= 1 << g_test_rand_int_range(0, 8);
        said = load_changed(m, file, stream, length);
        refused += said != NULL;
        g_assert_true(!said || strlen(said) > 10);
        stream[at] = before;
    }
    g_test_message("%u refused", refused);
}

static void test_hostile(void)
{
    Machine m = machine_new(VIRTUAL ",cint.policy=cint,cint.infer=both,"
                            "cint.delta=60000,cint.thr=30,"
                            "cint.media.slots=4");

    if (!is_refused(&m)) {
        g_autofree char *file = NULL, *stream = NULL;
        Guest *g = guest_begin(&m, 1);
        size_t length;
        int i;

        for (i = 0; i < 10; i++) {
            act(g);
        }
        file = save_stream(&m);
        g_assert_true(g_file_get_contents(file, &stream, &length, NULL));
        test_hostile_sizes(&m, file, stream, length);
        test_hostile_values(&m, file, stream, length,
                            g_test_slow() ? 1000 : 12);
        g_unlink(file);
        guest_end(g);
    }
    machine_free(&m);
}

/* ---- Stock QEMU ---- */

/* With cint=off a stream is stock QEMU's: back and forth, under I/O. */
static void test_stock(void)
{
    Machine m = machine_new_env(STOCK_ENV, "", NULL);
    Guest *g = guest_begin(&m, g_test_rand_int());
    int i;

    if (!is_refused(&m)) {
        for (i = 0; i < LAPS; i++) {
            act(g);
            act(g);
            machine_move_to(&m, i % 2 ? STOCK_ENV : NULL);
        }
        finish(g);
        g_assert_cmpuint(g->read, >, LAPS);
        g_assert_cmpuint(g->written, >, LAPS);
    }
    guest_end(g);
    machine_free(&m);
}

int main(int argc, char **argv)
{
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(policies); i++) {
        g_autofree char *path = g_strdup_printf("/nvme-cint/migrate/policy/%s",
                                                policies[i].name);

        qtest_add_data_func(path, &policies[i], test_policy);
    }
    for (i = 0; i < ARRAY_SIZE(refusals); i++) {
        g_autofree char *path = g_strdup_printf("/nvme-cint/migrate/refused/%s",
                                                refusals[i].name);

        qtest_add_data_func(path, &refusals[i], test_refusal);
    }
#define ADD(name, func) qtest_add_func("/nvme-cint/migrate/" name, func)
    ADD("real", test_real);
    ADD("no-medium", test_no_medium);
    ADD("shadow-doorbells", test_shadow);
    ADD("off", test_off);
    ADD("deadline", test_deadline);
    ADD("in-medium", test_in_medium);
    ADD("features", test_features);
    ADD("stays", test_stays);
    ADD("load-of-another", test_load_of_another);
    ADD("hostile", test_hostile);
    if (g_getenv(STOCK_ENV)) {
        ADD("stock", test_stock);
    }
#undef ADD
#define ADD(name, opts, func) \
    qtest_add_data_func("/nvme-cint/migrate/" name, opts, func)
    ADD("full-queue/off", "", test_full_queue);
    ADD("full-queue/virtual", HELD, test_full_queue);
    ADD("full-queue/real", "cint=on,cint.time=real,cint.policy=adaptive,"
        "cint.delta=60000,cint.thr=50", test_full_queue);
    ADD("in-flight/off", "", test_in_flight);
    ADD("in-flight/virtual", "cint=on,cint.time=virtual", test_in_flight);
    ADD("in-flight/real", "cint=on,cint.time=real", test_in_flight);
    ADD("in-flight/medium", MEDIUM ",cint.time=real", test_in_flight);
    ADD("stopped/off", "", test_stopped);
    ADD("stopped/virtual", "cint=on,cint.time=virtual", test_stopped);
    ADD("stopped/real", "cint=on,cint.time=real", test_stopped);
    ADD("stopped/medium", MEDIUM ",cint.time=real", test_stopped);
    ADD("snapshot/off", "", test_snapshot);
    ADD("snapshot/real", "cint=on,cint.time=real", test_snapshot);
    ADD("snapshot/virtual", "cint=on,cint.time=virtual", test_snapshot);
#undef ADD
    return g_test_run();
}
