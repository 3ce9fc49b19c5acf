/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy and parameters changed thousands of times under load, by every way
 * there is: properties, features 08h, 09h, D0h and D1h, pointer registers. A
 * driver that reaps by the rule of docs/interface.md must find every
 * completion. A failure repeats with "--seed" and the random seed that the
 * test prints.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-driver.h"

#define MANY        10000
#define SOME        2000
#define REST_EVERY  250
#define NR_QUEUES   2
#define MAX_OUT     50
#define NVME0       "/machine/peripheral/nvme0"

typedef struct Change {
    CintTest *t;
    CintDriver *drivers[NR_QUEUES];
    uint64_t records;       /* memory for them, in use or not */
    uint64_t regs;          /* offset of the pointer registers in BAR0 */
    uint32_t accepted;      /* changes the controller did not refuse */
} Change;

static uint32_t below(uint32_t end)
{
    return g_test_rand_int_range(0, end);
}

/* ---- Properties ---- */

typedef struct Property {
    const char *name;
    uint32_t end;               /* numbers: below this */
    const char *const *words;   /* words: one of these */
} Property;

static const char *const policies[] = {
    "default", "static", "adaptive", "vic", "cint", "cint", "pointer", "auto",
    NULL,
};
static const char *const barriers[] = {
    "relaxed", "strict", "generation", NULL,
};
static const char *const infers[] = { "off", "batch", "all", "learn",
                                      "content", "both", NULL };
static const char *const drains[] = { "auto", "on", "off", NULL };
static const char *const storms[] = { "hold", "retune", NULL };

static const Property properties[] = {
    { "cint.policy", 0, policies },
    { "cint.policy", 0, policies },
    { "cint.barrier", 0, barriers },
    { "cint.infer", 0, infers },
    { "cint.drain", 0, drains },
    { "cint.storm", 0, storms },
    { "cint.delta", 20000 },
    { "cint.thr", 70 },
    { "cint.max-hold", 30000 },
    { "cint.kick-window", 20000 },
    { "cint.ewma-shift", 17 },
    { "cint.max-irq-rate", 1000000 },
    { "cint.cif-threshold", 8 },
};

/* Some values contradict others and are refused. */
static bool set_property(Change *c)
{
    const Property *p = &properties[below(ARRAY_SIZE(properties))];
    QDict *response;
    bool accepted;

    if (p->words) {
        const char *word = p->words[below(g_strv_length((char **)p->words))];

        response = qtest_qmp(c->t->qts, "{'execute': 'qom-set', 'arguments': "
                             "{'path': " "'" NVME0 "', 'property': %s, "
                             "'value': %s}}", p->name, word);
    } else {
        response = qtest_qmp(c->t->qts, "{'execute': 'qom-set', 'arguments': "
                             "{'path': " "'" NVME0 "', 'property': %s, "
                             "'value': %d}}", p->name, (int)below(p->end));
    }
    accepted = !qdict_haskey(response, "error");
    qobject_unref(response);
    return accepted;
}

/* ---- Features ---- */

static bool set_config(Change *c)
{
    static const uint32_t targets[] = { 1, 2, NVME_CINT_ALL_CQS };
    uint32_t target = targets[below(ARRAY_SIZE(targets))];
    NvmeCintFeature f = cint_get_config(c->t, target, 0);

    f.policy = below(NVME_CINT_POLICY_AUTO + 1);
    f.flags = below(4);
    f.barrier = below(3);
    f.infer = below(6);
    f.tune = below(2);
    f.drain = below(3);
    f.delta_ns = cpu_to_le32(below(20000));
    f.thr = cpu_to_le16(below(20));
    f.static_time_ns = cpu_to_le32(below(20000));
    f.static_thr = cpu_to_le16(below(20));
    f.max_irq_rate = cpu_to_le32(below(2) * below(1000000));
    f.ewma_shift = 1 + below(16);
    f.vic_scope = below(2);
    f.vic_ratios = below(3);
    f.cif_threshold = cpu_to_le16(2 + below(4));
    f.max_skip = cpu_to_le16(below(6));
    f.epoch_ms = cpu_to_le32(1);
    f.kick_window_ns = cpu_to_le32(below(2) * below(20000));
    f.max_hold_ns = cpu_to_le64(below(30000));
    return !cint_set_config(c->t, target, &f);
}

static bool set_feature(Change *c, uint8_t fid, uint32_t value)
{
    return !qnvme_set_feature(c->t->nvme, fid, value, NULL, NULL);
}

/* A driver stops reaping out of order before it switches the records off. */
static bool switch_records(Change *c)
{
    uint32_t count = below(NR_QUEUES + 2);
    bool accepted;
    int q;

    for (q = 0; q < NR_QUEUES; q++) {
        if (q + 1 >= count) {
            c->drivers[q]->records = 0;
        }
    }
    accepted = !cint_set_status(c->t, count ? c->records : 0, count, 0);
    g_assert_true(accepted);
    for (q = 0; q + 1 < count && q < NR_QUEUES; q++) {
        c->drivers[q]->records = c->records;
    }
    return accepted;
}

static bool set_pointer(Change *c)
{
    qnvme_reg_write(c->t->nvme, c->regs + below(NR_QUEUES + 2) * 4,
                    below(2) << 31 | below(66));
    return true;
}

static bool change(Change *c)
{
    switch (below(12)) {
    case 0 ... 4:
        return set_property(c);
    case 5 ... 7:
        return set_config(c);
    case 8:
        return set_feature(c, NVME_INTERRUPT_COALESCING,
                           g_test_rand_int() & 0x0303);
    case 9:
        return set_feature(c, NVME_INTERRUPT_VECTOR_CONF,
                           below(2) << 16 | (1 + below(NR_QUEUES)));
    case 10:
        return switch_records(c);
    default:
        return set_pointer(c);
    }
}

/* ---- Load ---- */

static void submit(CintDriver *d)
{
    uint32_t count = MIN(1 + below(8),
                         MAX_OUT - (d->submitted - (uint32_t)d->cq->reaped));

    while (count--) {
        NvmeCmd cmd = cint_hinted(d->t, below(4) ? NVME_CMD_READ
                                                 : NVME_CMD_WRITE,
                                  below(4), below(4) ? 0 : below(4));

        if (!below(12)) {
            cmd.nsid = cpu_to_le32(99);     /* fails at once */
        }
        cint_driver_push(d, &cmd);
    }
    qnvme_ring_sq(d->sq);
}

static void load(Change *c)
{
    submit(c->drivers[below(NR_QUEUES)]);
    cint_run(c->t, below(3000));
    cint_driver_interrupt(c->drivers[below(NR_QUEUES)]);
}

static void rest(Change *c)
{
    int q;

    cint_let_run(c->t);
    for (q = 0; q < NR_QUEUES; q++) {
        cint_driver_rest(c->drivers[q]);
        g_assert_cmpuint(c->drivers[q]->cq->reaped, ==,
                         c->drivers[q]->submitted);
        cint_check_record(c->t, q + 1);
    }
}

static void change_times(const char *opts, uint32_t changes)
{
    Change c = { .t = cint_boot(opts) };
    uint32_t i;
    int q;

    c.regs = cint_pointer_regs(c.t);
    c.records = cint_records_new(c.t, NR_QUEUES + 1);
    for (q = 0; q < NR_QUEUES; q++) {
        c.drivers[q] = cint_driver_new(c.t, cint_queues(c.t, q + 1), 0);
    }
    for (i = 1; i <= changes; i++) {
        load(&c);
        c.accepted += change(&c);
        if (i % REST_EVERY == 0) {
            rest(&c);
        }
    }
    /* Most of them did change something. */
    g_assert_cmpuint(c.accepted, >, changes / 2);
    g_assert_cmpuint(cint_record(c.t, 1).irqs_urgent, >, 0);
    g_assert_false(NVME_CSTS_CFS(qnvme_reg_read(c.t->nvme, NVME_REG_CSTS)));
    for (q = 0; q < NR_QUEUES; q++) {
        cint_driver_free(c.drivers[q]);
    }
    cint_shutdown(c.t);
}

static void test_many(const void *opts)
{
    change_times(opts, MANY);
}

static void test_some(const void *opts)
{
    change_times(opts, SOME);
}

#define MEDIA \
    "cint=on,cint.media=custom,cint.media.read-latency=400," \
    "cint.media.write-latency=1400,cint.media.units=0"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_data_func("/nvme-cint/change/virtual/10000-changes",
                        MEDIA ",cint.time=virtual", test_many);
    qtest_add_data_func("/nvme-cint/change/virtual/with-slots",
                        MEDIA ",cint.time=virtual,cint.media.slots=3",
                        test_some);
    qtest_add_data_func("/nvme-cint/change/real/2000-changes",
                        MEDIA ",cint.time=real", test_some);
    return g_test_run();
}
