/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The media latency model: when commands complete. Under the policy default
 * each CQE has its interrupt, so times are those of CQEs.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-common.h"

#define MEDIA(options) \
    "cint=on,cint.time=virtual,cint.policy=default," options
#define CUSTOM(options)     MEDIA("cint.media=custom," options)

static void test_latency(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=10000,"
                                   "cint.media.write-latency=3000"));
    QNvmeSq *sq = cint_queues(t, 1);

    qnvme_push_read(sq, &t->buf, 0, 4096);
    qnvme_push_write(sq, &t->buf, 0, 4096);
    qnvme_push_flush(sq);
    qnvme_ring_sq(sq);
    cint_expect_cqes_at(t, sq->cq, 3000, 2);
    cint_expect_cqes_at(t, sq->cq, 10000, 3);
    cint_shutdown(t);
}

/* A doorbell at t, not at 0: the latency counts from there. */
static void test_latency_counts_from_the_doorbell(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=10000"));
    QNvmeSq *sq = cint_queues(t, 1);

    cint_run_to(t, 12345);
    qnvme_push_read(sq, &t->buf, 0, 4096);
    cint_run_to(t, 23456);
    qnvme_ring_sq(sq);
    cint_expect_cqes_at(t, sq->cq, 33456, 1);
    cint_shutdown(t);
}

/* Commands that are done at one time complete in the order of their fetch. */
static void test_equal_times(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=10000"));
    QNvmeSq *sq = cint_queues(t, 1);
    uint16_t cids[4];
    NvmeCqe cqe;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(cids); i++) {
        cids[i] = qnvme_push_read(sq, &t->buf, 0, 4096);
    }
    qnvme_ring_sq(sq);
    cint_expect_cqes_at(t, sq->cq, 10000, ARRAY_SIZE(cids));
    for (i = 0; i < ARRAY_SIZE(cids); i++) {
        g_assert_true(qnvme_peek(sq->cq, i, &cqe));
        g_assert_cmpuint(cqe.cid, ==, cids[i]);
    }
    cint_shutdown(t);
}

/* What fails at once is posted at once, also beside one in the medium. */
static void test_failure_does_not_wait(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=10000"));
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_run_to(t, 1000);
    qnvme_push_invalid(sq);
    qnvme_ring_sq(sq);
    cint_run_to(t, 1001);
    qnvme_wait_cqes(sq->cq, 1);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 1);
    cint_expect_cqes_at(t, sq->cq, 10000, 2);
    cint_shutdown(t);
}

static void test_zero_latency(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=0"));
    QNvmeSq *sq = cint_queues(t, 1);

    cint_run_to(t, 1000);
    cint_read(t, sq, 4);
    qnvme_wait_cqes(sq->cq, 4);
    cint_expect_irq_now(t, sq->cq);
    cint_shutdown(t);
}

static void test_no_media(void)
{
    CintTest *t = cint_boot(MEDIA("cint.media=none"));
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 4);
    qnvme_wait_cqes(sq->cq, 4);
    cint_expect_irq_now(t, sq->cq);
    cint_shutdown(t);
}

typedef struct Profile {
    const char *name;
    int64_t read_ns;        /* one 4 KiB read */
    int64_t write_ns;       /* one 4 KiB write */
    uint32_t units;         /* commands served at a time */
    int64_t share_ns;       /* of the bandwidth that a read takes; 0 = none */
} Profile;

static const Profile profiles[] = {
    { "optane", 7000, 7000, 8, 1818 },
    { "gen2", 3500, 3500, 8 },
    { "sata", 100000, 100000, 8 },
    { "dram", 2900, 2900, 1 },
    { "array", 260000, 260000, 14 },
    { "zssd", 12000, 4000, 64, 1280 },
    { "ssd80", 80000, 80000, 64 },
};

static void test_profile(const void *opaque)
{
    const Profile *p = opaque;
    g_autofree char *opts = g_strdup_printf(
        MEDIA("cint.media=%s,cint.media.spread=0"), p->name);
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_expect_cqes_at(t, sq->cq, p->read_ns, 1);
    qnvme_reap(sq->cq, 1);

    cint_zero(t);
    qnvme_push_write(sq, &t->buf, 0, 4096);
    qnvme_ring_sq(sq);
    cint_expect_cqes_at(t, sq->cq, p->write_ns, 1);
    qnvme_reap(sq->cq, 1);

    cint_run(t, p->read_ns);
    cint_zero(t);
    if (p->share_ns) {
        cint_read(t, sq, 40);
        cint_expect_cqes_at(t, sq->cq, 39 * p->share_ns, 39);
        cint_expect_cqes_at(t, sq->cq, 40 * p->share_ns, 40);
    } else if (p->units < CINT_ENTRIES - 1) {
        /* One command more than there are units waits for the first. */
        cint_read(t, sq, p->units + 1);
        cint_expect_cqes_at(t, sq->cq, p->read_ns, p->units);
        g_assert_cmpuint(qnvme_visible(sq->cq), ==, p->units);
        cint_expect_cqes_at(t, sq->cq, 2 * p->read_ns, p->units + 1);
    }
    cint_shutdown(t);
}

/* Lone reads of the profile as it is are spread to either side. */
static void test_profile_spread(void)
{
    CintTest *t = cint_boot(MEDIA("cint.media=optane"));
    QNvmeSq *sq = cint_queues(t, 1);
    int i, early = 0;

    for (i = 0; i < 64; i++) {
        cint_zero(t);
        cint_read(t, sq, 1);
        cint_expect_quiet_to(t, sq->cq, 7000 - 2252 - 1);
        cint_run_to(t, 7000);
        early += qnvme_take_irq(t->nvme, 1);
        cint_run_to(t, 7000 + 2252);
        g_assert_cmpuint(qnvme_visible(sq->cq), ==, 1);
        qnvme_reap(sq->cq, 1);
        qnvme_take_irq(t->nvme, 1);
    }
    g_assert_cmpint(early, >, 16);
    g_assert_cmpint(early, <, 48);
    cint_shutdown(t);
}

static void test_ram_profile(void)
{
    CintTest *t = cint_boot(MEDIA("cint.media=ram"));
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 32);
    qnvme_wait_cqes(sq->cq, 32);
    cint_shutdown(t);
}

static void test_profile_refined(void)
{
    CintTest *t = cint_boot(MEDIA("cint.media=optane,"
                                  "cint.media.spread=0,"
                                  "cint.media.read-latency=21000,"
                                  "cint.media.units=1"));
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    qnvme_push_write(sq, &t->buf, 0, 4096);
    qnvme_ring_sq(sq);
    cint_expect_cqes_at(t, sq->cq, 21000, 1);
    cint_expect_cqes_at(t, sq->cq, 28000, 2);
    cint_shutdown(t);
}

static void test_units(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=1000,"
                                   "cint.media.units=3"));
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    cint_read(t, sq, 8);
    for (i = 1; i <= 3; i++) {
        cint_expect_cqes_at(t, sq->cq, i * 1000, MIN(3 * i, 8));
        g_assert_cmpuint(qnvme_visible(sq->cq), ==, MIN(3 * i, 8));
    }
    /* A unit that became free long ago serves at once. */
    cint_run_to(t, 10500);
    cint_read(t, sq, 1);
    cint_expect_cqes_at(t, sq->cq, 11500, 9);
    cint_shutdown(t);
}

static void test_no_unit_limit(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=1000"));
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 60);
    cint_expect_cqes_at(t, sq->cq, 1000, 1);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 60);
    cint_shutdown(t);
}

/* Units belong to the controller: queues compete for them. */
static void test_units_are_shared(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=1000,"
                                   "cint.media.units=1"));
    QNvmeSq *one = cint_queues(t, 1);
    QNvmeSq *two = cint_queues(t, 2);

    cint_read(t, one, 2);
    cint_run_to(t, 1);
    cint_read(t, two, 1);
    cint_expect_cqes_at(t, one->cq, 1000, 1);
    cint_expect_cqes_at(t, one->cq, 2000, 2);
    cint_expect_cqes_at(t, two->cq, 3000, 1);
    cint_shutdown(t);
}

static void test_size(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=1000,"
                                   "cint.media.write-latency=2000,"
                                   "cint.media.read-per-kib=100,"
                                   "cint.media.write-per-kib=200"));
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeBuf big = qnvme_buf_new(t->nvme, 128 * 1024);

    qnvme_push_read(sq, &big, 0, 512);
    qnvme_push_read(sq, &big, 0, 4096);
    qnvme_push_read(sq, &big, 0, 128 * 1024);
    qnvme_push_write(sq, &big, 0, 8192);
    qnvme_ring_sq(sq);
    cint_expect_cqes_at(t, sq->cq, 1050, 1);
    cint_expect_cqes_at(t, sq->cq, 1400, 2);
    cint_expect_cqes_at(t, sq->cq, 3600, 3);
    cint_expect_cqes_at(t, sq->cq, 13800, 4);
    cint_shutdown(t);
}

/* 4 KiB at 4.096 GB/s take 1 us, one after the other. */
static void test_bandwidth(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=5000,"
                                   "cint.media.read-bandwidth=4096000000"));
    QNvmeSq *sq = cint_queues(t, 1);
    int64_t rate_only;
    int i;

    cint_read(t, sq, 40);
    cint_run_to(t, 5000 + 40 * 1000);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 40);
    qnvme_reap(sq->cq, 40);

    /* In the steady state each command adds its share. */
    cint_zero(t);
    cint_read(t, sq, 40);
    for (i = 10; i < 40; i++) {
        rate_only = i * 1000;
        cint_run_to(t, rate_only);
        g_assert_cmpuint(qnvme_visible(sq->cq), <=, i);
        g_assert_cmpuint(qnvme_visible(sq->cq), >=, i - 5);
    }
    cint_shutdown(t);
}

/* Fetched commands hold a slot; the others wait in their SQ. */
static void test_slots(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=1000,"
                                   "cint.media.slots=2"));
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCqe cqe;
    int i;

    cint_read(t, sq, 6);
    for (i = 1; i <= 3; i++) {
        cint_expect_cqes_at(t, sq->cq, i * 1000, 2 * i);
        g_assert_cmpuint(qnvme_visible(sq->cq), ==, 2 * i);
        qnvme_peek(sq->cq, 2 * i - 1, &cqe);
        g_assert_cmpuint(cqe.sq_head, <=, MIN(2 * i + 2, 6));
    }
    cint_shutdown(t);
}

/* No queue starves another of slots. */
static void test_slots_take_turns(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=1000,"
                                   "cint.media.slots=1"));
    QNvmeSq *one = cint_queues(t, 1);
    QNvmeSq *two = cint_queues(t, 2);

    cint_read(t, one, 10);
    cint_run_to(t, 1);
    cint_read(t, two, 10);
    cint_run_to(t, 20000);
    g_assert_cmpuint(qnvme_visible(one->cq), ==, 10);
    g_assert_cmpuint(qnvme_visible(two->cq), ==, 10);
    cint_shutdown(t);

    t = cint_boot(CUSTOM("cint.media.read-latency=1000,"
                         "cint.media.slots=1"));
    one = cint_queues(t, 1);
    two = cint_queues(t, 2);
    cint_read(t, one, 10);
    cint_run_to(t, 1);
    cint_read(t, two, 10);
    cint_run_to(t, 10000);
    g_assert_cmpuint(qnvme_visible(one->cq), >=, 4);
    g_assert_cmpuint(qnvme_visible(two->cq), >=, 4);
    cint_shutdown(t);
}

#define JITTER_READS    20
#define JITTER_TIME     100000
#define JITTER          9000

/*
 * Times of JITTER_READS bursts of @n reads each, one after the other, to
 * 100 ns: when the first of a burst is done. Returns in how many bursts all
 * are done then.
 */
static int measure_jitter(const char *kind, int n, const char *seed,
                          int64_t *times)
{
    g_autofree char *opts = g_strdup_printf(
        CUSTOM("cint.media.read-latency=%d,cint.media.%s=%d%s"),
        JITTER_TIME, kind, JITTER, seed);
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    int i, together = 0;

    for (i = 0; i < JITTER_READS; i++) {
        cint_zero(t);
        cint_read(t, sq, n);
        cint_expect_quiet_to(t, sq->cq, JITTER_TIME - JITTER - 1);
        do {
            cint_run(t, 100);
        } while (!qnvme_take_irq(t->nvme, 1));
        times[i] = cint_now(t);
        g_assert_cmpint(times[i], <=, JITTER_TIME + JITTER + 100);
        together += qnvme_visible(sq->cq) == n;
        cint_run_to(t, JITTER_TIME + JITTER);
        g_assert_cmpuint(qnvme_visible(sq->cq), ==, n);
        qnvme_reap(sq->cq, n);
        qnvme_take_irq(t->nvme, 1);
    }
    cint_shutdown(t);
    return together;
}

static void check_jitter(const char *kind)
{
    int64_t a[JITTER_READS], b[JITTER_READS], c[JITTER_READS];
    int64_t low = CINT_NEVER, high = 0;
    int i;

    measure_jitter(kind, 1, ",cint.media.seed=7", a);
    measure_jitter(kind, 1, ",cint.media.seed=7", b);
    measure_jitter(kind, 1, ",cint.media.seed=8", c);
    g_assert_cmpint(memcmp(a, b, sizeof(a)), ==, 0);
    g_assert_cmpint(memcmp(a, c, sizeof(a)), !=, 0);
    for (i = 0; i < JITTER_READS; i++) {
        low = MIN(low, a[i]);
        high = MAX(high, a[i]);
    }
    g_assert_cmpint(high - low, >, JITTER / 2);
}

static void test_jitter(void)
{
    int64_t times[JITTER_READS];

    check_jitter("jitter");
    g_assert_cmpint(measure_jitter("jitter", 4, "", times), <, JITTER_READS);
}

/* One doorbell's reads have the same share of the spread. */
static void test_spread(void)
{
    int64_t times[JITTER_READS];

    check_jitter("spread");
    g_assert_cmpint(measure_jitter("spread", 4, "", times), ==, JITTER_READS);
}

/* Commands that complete out of order are reported in the order of time. */
static void test_order(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=3000,"
                                   "cint.media.write-latency=1000"));
    QNvmeSq *sq = cint_queues(t, 1);
    uint16_t slow = qnvme_push_read(sq, &t->buf, 0, 4096);
    uint16_t fast = qnvme_push_write(sq, &t->buf, 0, 4096);
    NvmeCqe cqe;

    qnvme_ring_sq(sq);
    cint_run_to(t, 3000);
    qnvme_peek(sq->cq, 0, &cqe);
    g_assert_cmpuint(cqe.cid, ==, fast);
    qnvme_peek(sq->cq, 1, &cqe);
    g_assert_cmpuint(cqe.cid, ==, slow);
    cint_shutdown(t);
}

/* So are those that overtake many, among each other and with those. */
static void test_many_overtake(void)
{
    CintTest *t = cint_boot(CUSTOM("cint.media.read-latency=3000,"
                                   "cint.media.write-latency=1000"));
    QNvmeSq *sq = cint_queues(t, 1);
    uint16_t slow[30], fast[ARRAY_SIZE(slow)];
    NvmeCqe cqe;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(slow); i++) {
        slow[i] = qnvme_push_read(sq, &t->buf, 0, 4096);
    }
    for (i = 0; i < ARRAY_SIZE(fast); i++) {
        fast[i] = qnvme_push_write(sq, &t->buf, 0, 4096);
    }
    qnvme_ring_sq(sq);
    cint_expect_cqes_at(t, sq->cq, 1000, ARRAY_SIZE(fast));
    cint_expect_cqes_at(t, sq->cq, 3000, ARRAY_SIZE(fast) + ARRAY_SIZE(slow));
    for (i = 0; i < ARRAY_SIZE(fast); i++) {
        qnvme_peek(sq->cq, i, &cqe);
        g_assert_cmpuint(cqe.cid, ==, fast[i]);
        qnvme_peek(sq->cq, ARRAY_SIZE(fast) + i, &cqe);
        g_assert_cmpuint(cqe.cid, ==, slow[i]);
    }
    cint_shutdown(t);
}

#define MANY            15000
#define ALL_AT_ONCE \
    "mqes=65535," CUSTOM("cint.media.write-latency=1000," \
                         "cint.media.read-latency=")
#define TOO_MANY_TIMES  8

/* CPU time of QEMU: a busy machine gives it later, not more of it. */
static long cpu_ticks(CintTest *t)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat",
                                            (int)qtest_pid(t->qts));
    g_autofree char *text = NULL;
    unsigned long user, system;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    /* Behind the name, which may hold anything, are eleven others. */
    g_assert_cmpint(sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d "
                           "%*u %*u %*u %*u %*u %lu %lu", &user, &system), ==,
                    2);
    return user + system;
}

/* What MANY reads cost, and as many writes that all overtake them or none. */
static long cost_of_many(const char *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 65536, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 65536, cq);
    g_autofree NvmeCmd *cmds = g_new(NvmeCmd, 2 * MANY);
    long ticks;
    NvmeCqe cqe;
    int i;

    for (i = 0; i < 2 * MANY; i++) {
        cmds[i] = qnvme_rw_cmd(i < MANY ? NVME_CMD_READ : NVME_CMD_WRITE,
                               &t->buf, 0, 512);
        cmds[i].cid = cpu_to_le16(i);
    }
    qtest_bufwrite(t->qts, sq->addr, cmds, 2 * MANY * sizeof(*cmds));
    sq->tail = 2 * MANY;
    ticks = cpu_ticks(t);
    qnvme_ring_sq(sq);
    cint_run(t, 3000);
    ticks = cpu_ticks(t) - ticks;
    g_assert_true(qnvme_peek(cq, 2 * MANY - 1, &cqe));
    cint_shutdown(t);
    return ticks;
}

/* One doorbell may tell of so many; by steps they would take minutes. */
static void test_overtaking_is_cheap(void)
{
    long none = cost_of_many(ALL_AT_ONCE "1000");
    long all = cost_of_many(ALL_AT_ONCE "3000");

    g_test_message("%ld ticks where none overtakes, %ld where all do", none,
                   all);
    g_assert_cmpint(all, <, TOO_MANY_TIMES * MAX(none, 1));
}

/* Data of slow media is real data, and its timing that of the clock. */
static void test_data_and_time(void)
{
    g_autofree char *path = g_strdup_printf("%s/nvme-cint-XXXXXX",
                                            g_get_tmp_dir());
    int fd = mkstemp(path);
    g_autofree char *args = g_strdup_printf(
        "-blockdev driver=file,node-name=d0,filename=%s", path);
    CintTest *t;
    QNvmeSq *sq;
    QNvmeBuf in;

    g_assert_cmpint(ftruncate(fd, 16 * 1024 * 1024), ==, 0);
    close(fd);
    t = cint_boot_custom(NULL, args, CUSTOM("cint.media.read-latency=10000,"
                                            "cint.media.write-latency=5000"));
    sq = cint_queues(t, 1);
    in = qnvme_buf_new(t->nvme, 8192);
    qnvme_buf_fill(t->nvme, &t->buf, 42);

    qnvme_push_write(sq, &t->buf, 64, 8192);
    qnvme_ring_sq(sq);
    cint_expect_irq_at(t, sq->cq, 5000);
    qnvme_reap(sq->cq, 1);
    qnvme_push_read(sq, &in, 64, 8192);
    qnvme_ring_sq(sq);
    cint_expect_irq_at(t, sq->cq, 15000);
    qnvme_reap(sq->cq, 1);
    g_assert_true(qnvme_buf_holds(t->nvme, &in, 42));
    cint_shutdown(t);
    unlink(path);
}

/* In real-time mode the same model runs, but bottom halves take real time. */
static void test_real_time(void)
{
    CintTest *t = cint_boot("cint=on,cint.time=real,cint.policy=default,"
                            "cint.media=custom,cint.media.read-latency=10000");
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    cint_read(t, sq, 3);
    /* Turns of the main loop for the fetch. */
    for (i = 0; i < 1000; i++) {
        g_assert_false(qnvme_irq_pending(t->nvme, 1));
    }
    cint_expect_quiet_to(t, sq->cq, 9999);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
    cint_run_to(t, 10000);
    qnvme_wait_cqes(sq->cq, 3);
    cint_expect_irq_now(t, sq->cq);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(profiles); i++) {
        g_autofree char *path = g_strdup_printf("/nvme-cint/media/profile-%s",
                                                profiles[i].name);

        qtest_add_data_func(path, &profiles[i], test_profile);
    }
#define ADD(name, run)  qtest_add_func("/nvme-cint/media/" name, run)
    ADD("profile-ram", test_ram_profile);
    ADD("profile-optane-is-spread", test_profile_spread);
    ADD("reads-and-writes-have-their-latency", test_latency);
    ADD("latency-counts-from-the-doorbell",
        test_latency_counts_from_the_doorbell);
    ADD("equal-times-keep-their-order", test_equal_times);
    ADD("failure-does-not-wait-for-the-medium", test_failure_does_not_wait);
    ADD("zero-latency-takes-no-time", test_zero_latency);
    ADD("without-a-profile-the-backend-decides", test_no_media);
    ADD("profile-can-be-refined", test_profile_refined);
    ADD("units-serve-so-many-at-a-time", test_units);
    ADD("without-units-all-are-served-at-once", test_no_unit_limit);
    ADD("units-are-shared-by-queues", test_units_are_shared);
    ADD("size-takes-time", test_size);
    ADD("bandwidth-is-shared", test_bandwidth);
    ADD("slots-bound-what-is-fetched", test_slots);
    ADD("slots-are-taken-in-turns", test_slots_take_turns);
    ADD("jitter-repeats-with-its-seed", test_jitter);
    ADD("spread-is-of-a-burst", test_spread);
    ADD("cqes-come-in-order-of-time", test_order);
    ADD("many-overtake", test_many_overtake);
    ADD("overtaking-is-cheap", test_overtaking_is_cheap);
    ADD("data-comes-with-the-completion", test_data_and_time);
    ADD("real-time-mode-waits-for-the-clock", test_real_time);
#undef ADD
    return g_test_run();
}
