/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Vendor feature D0h field by field, for one CQ and for all; and interrupt
 * counts by vector ("info irq").
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-driver.h"

#define INVALID     (NVME_INVALID_FIELD | NVME_DNR)
#define ALL         NVME_CINT_ALL_CQS
#define PATIENT     ",cint.policy=adaptive,cint.delta=1000000000,cint.thr=50"

/* One field of the structure, and a value for it. */
typedef struct Value {
    uint8_t offset;
    uint8_t size;       /* bytes */
    uint64_t value;
} Value;

static const Value valid_values[] = {
    { 2, 1, 0 }, { 2, 1, 1 }, { 2, 1, 2 }, { 2, 1, 3 }, { 2, 1, 4 },
    { 2, 1, 5 }, { 2, 1, 6 }, { 2, 1, 7 },
    { 3, 1, 0 }, { 3, 1, 1 }, { 3, 1, 2 }, { 3, 1, 3 },
    { 4, 1, 0 }, { 4, 1, 1 }, { 4, 1, 2 },
    { 5, 1, 0 }, { 5, 1, 1 }, { 5, 1, 2 }, { 5, 1, 3 }, { 5, 1, 4 },
    { 5, 1, 5 },
    { 6, 1, 0 }, { 6, 1, 1 }, { 6, 1, 2 },
    { 8, 4, 0 }, { 8, 4, 1 }, { 8, 4, 6000 }, { 8, 4, 1000000000 },
    { 12, 2, 0 }, { 12, 2, 1 }, { 12, 2, 65535 },
    { 14, 2, 0 }, { 14, 2, 8 }, { 14, 2, 65535 },
    { 16, 4, 0 }, { 16, 4, 100 }, { 16, 4, 1000000000 },
    { 20, 4, 0 }, { 20, 4, 1 }, { 20, 4, 100000 }, { 20, 4, 1000000000 },
    { 24, 1, 1 }, { 24, 1, 16 },
    { 25, 1, 0 }, { 25, 1, 1 },
    { 26, 1, 0 }, { 26, 1, 1 }, { 26, 1, 2 },
    { 27, 1, 0 }, { 27, 1, 1 },
    { 28, 2, 2 }, { 28, 2, 65535 },
    { 30, 2, 0 }, { 30, 2, 16 }, { 30, 2, 65535 },
    { 32, 4, 0 }, { 32, 4, 100000000 },
    { 36, 4, 1 }, { 36, 4, 60000 },
    { 40, 4, 0 }, { 40, 4, 100000 }, { 40, 4, 1000000000 },
    { 48, 8, 0 }, { 48, 8, 1 }, { 48, 8, 10000000000 },
};

static const Value invalid_values[] = {
    { 0, 2, 0 }, { 0, 2, 2 }, { 0, 2, 0x0101 },         /* version */
    { 2, 1, 8 }, { 2, 1, 9 }, { 2, 1, 255 },            /* policy */
    { 3, 1, 4 }, { 3, 1, 0x80 },                        /* flags */
    { 4, 1, 3 }, { 4, 1, 255 },                         /* barrier */
    { 5, 1, 6 }, { 5, 1, 255 },                         /* inference */
    { 6, 1, 3 }, { 6, 1, 255 },                         /* drain */
    { 7, 1, 0 }, { 7, 1, 2 },                           /* each-cqe */
    { 8, 4, 1000000001 }, { 8, 4, 0xffffffff },         /* delta */
    { 16, 4, 1000000001 }, { 16, 4, 0xffffffff },       /* static time */
    { 20, 4, 1000000001 }, { 20, 4, 0xffffffff },       /* rate */
    { 24, 1, 0 }, { 24, 1, 17 },                        /* weight */
    { 25, 1, 2 }, { 26, 1, 3 },                         /* scope, ratios */
    { 27, 1, 2 }, { 27, 1, 255 },                       /* tune */
    { 28, 2, 0 }, { 28, 2, 1 },                         /* CIF threshold */
    { 32, 4, 100000001 },                               /* IOPS threshold */
    { 36, 4, 0 }, { 36, 4, 60001 },                     /* epoch */
    { 40, 4, 1000000001 },                              /* kick window */
    { 44, 4, 1 }, { 44, 4, 0x80000000 },
    { 48, 8, 10000000001 }, { 48, 8, UINT64_MAX },      /* max hold */
    { 56, 1, 1 }, { 63, 1, 0x80 },
};

/* Little endian, whatever the field's width. */
static NvmeCintFeature with_value(const NvmeCintFeature *f, const Value *v)
{
    NvmeCintFeature changed = *f;
    int i;

    for (i = 0; i < v->size; i++) {
        ((uint8_t *)&changed)[v->offset + i] = v->value >> (8 * i);
    }
    return changed;
}

/* A configuration in which every field above can have every valid value. */
static NvmeCintFeature base_config(CintTest *t)
{
    NvmeCintFeature f = cint_get_config(t, ALL, 0);

    f.policy = NVME_CINT_POLICY_ADAPTIVE;
    f.max_hold_ns = cpu_to_le64(5000000);
    f.each_cqe = 1;
    return f;
}

static void test_valid_values(void)
{
    static const uint32_t targets[] = { 1, ALL };
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    int i, k;

    cint_queues(t, 1);
    for (i = 0; i < ARRAY_SIZE(valid_values); i++) {
        for (k = 0; k < ARRAY_SIZE(targets); k++) {
            NvmeCintFeature f = base_config(t);

            f = with_value(&f, &valid_values[i]);
            g_assert_cmphex(cint_set_config(t, targets[k], &f), ==, 0);
            cint_expect_config(t, targets[k], &f);
            cint_expect_config(t, 1, &f);
        }
    }
    cint_shutdown(t);
}

/* Nothing changes, nothing is sent. */
static void test_invalid_values(void)
{
    static const uint32_t targets[] = { 1, ALL };
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCintFeature before = cint_get_config(t, ALL, 0);
    int i, k;

    cint_read(t, sq, 3);
    cint_expect_quiet_to(t, sq->cq, 5000);
    for (i = 0; i < ARRAY_SIZE(invalid_values); i++) {
        for (k = 0; k < ARRAY_SIZE(targets); k++) {
            NvmeCintFeature f = with_value(&before, &invalid_values[i]);

            g_assert_cmphex(cint_set_config(t, targets[k], &f), ==, INVALID);
            cint_expect_config(t, targets[k], &before);
        }
    }
    cint_expect_quiet_to(t, sq->cq, 6000);
    cint_expect_reason(t, sq->cq, RECONF, 0);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 3);
    cint_shutdown(t);
}

/* Each is fine by itself. */
static void test_contradictions(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    NvmeCintFeature before = cint_get_config(t, ALL, 0);
    NvmeCintFeature f = before;

    f.policy = NVME_CINT_POLICY_VIC;
    g_assert_cmpuint(f.max_hold_ns, ==, 0);
    g_assert_cmphex(cint_set_config(t, ALL, &f), ==, INVALID);
    f.policy = NVME_CINT_POLICY_POINTER;
    g_assert_cmphex(cint_set_config(t, ALL, &f), ==, INVALID);
    f.max_irq_rate = cpu_to_le32(1000);
    f.flags = NVME_CINT_FLAG_STORM_RETUNE;
    f.policy = NVME_CINT_POLICY_DEFAULT;
    g_assert_cmphex(cint_set_config(t, ALL, &f), ==, INVALID);
    f.max_irq_rate = 0;
    f.policy = NVME_CINT_POLICY_STATIC;
    f.each_cqe = 0;
    g_assert_cmphex(cint_set_config(t, ALL, &f), ==, INVALID);
    cint_expect_config(t, ALL, &before);
    f.policy = NVME_CINT_POLICY_DEFAULT;
    g_assert_cmphex(cint_set_config(t, ALL, &f), ==, 0);
    cint_expect_config(t, ALL, &f);
    cint_shutdown(t);
}

/* Every mechanism whose fields are accepted above is claimed. */
static void test_claims(void)
{
    static const uint32_t claims =
        NVME_CINT_CAP_HINTS | NVME_CINT_CAP_OOO |
        NVME_CINT_CAP_STRICT_BARRIER | NVME_CINT_CAP_STORM |
        NVME_CINT_CAP_VIC | NVME_CINT_CAP_POINTER | NVME_CINT_CAP_INFER |
        NVME_CINT_CAP_STATUS_RECORDS | NVME_CINT_CAP_LOG |
        NVME_CINT_CAP_LATENCY;
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    NvmeCintIdentify id = cint_identify(t);

    g_assert_cmphex(id.config_fid, ==, NVME_CINT_FID_CONFIG);
    g_assert_cmphex(id.status_fid, ==, NVME_CINT_FID_STATUS);
    g_assert_cmphex(id.lid, ==, NVME_CINT_LID);
    g_assert_cmphex(le32_to_cpu(id.caps), ==, claims);
    cint_shutdown(t);
}

/* ---- One CQ, all CQs ---- */

static void test_one_queue(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeSq *one = cint_queues(t, 1);
    QNvmeSq *two = cint_queues(t, 2);
    NvmeCintFeature before = cint_get_config(t, ALL, 0);
    NvmeCintFeature f = before;

    f.delta_ns = cpu_to_le32(2000);
    g_assert_cmphex(cint_set_config(t, 2, &f), ==, 0);
    cint_expect_config(t, 1, &before);
    cint_expect_config(t, 2, &f);
    cint_expect_config(t, ALL, &before);
    cint_queues(t, 3);
    cint_expect_config(t, 3, &before);
    cint_read(t, one, 1);
    cint_read(t, two, 1);
    cint_expect_irq_at(t, two->cq, CINT_LATENCY + 2000);
    cint_expect_quiet_to(t, one->cq, CINT_SECOND / 2);
    cint_shutdown(t);
}

/* A driver sends its wishes before any queue exists. */
static void test_later_queues(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    NvmeCintFeature f = cint_get_config(t, ALL, 0);
    QNvmeSq *sq;

    f.delta_ns = cpu_to_le32(2000);
    g_assert_cmphex(cint_set_config(t, ALL, &f), ==, 0);
    sq = cint_queues(t, 1);
    cint_expect_config(t, 1, &f);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 2000);
    /* And all that exist follow the next one. */
    f.delta_ns = cpu_to_le32(3000);
    g_assert_cmphex(cint_set_config(t, ALL, &f), ==, 0);
    cint_expect_config(t, 1, &f);
    cint_zero(t);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 3000);
    cint_shutdown(t);
}

static void test_unknown_queue(void)
{
    static const uint32_t unknown[] = {
        0, 2, 64, 65, 1000, 0xfffe, 0x10001, 0x1ffff, 0xffff0001, 0xffffffff,
    };
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    NvmeCintFeature f = cint_get_config(t, ALL, 0);
    NvmeCintFeature changed = f;
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeCq *cq = sq->cq;
    int i;

    changed.thr = cpu_to_le16(3);
    for (i = 0; i < ARRAY_SIZE(unknown); i++) {
        g_assert_cmphex(cint_set_config(t, unknown[i], &changed), ==, INVALID);
        g_assert_cmphex(qnvme_get_feature(t->nvme, NVME_CINT_FID_CONFIG, 0,
                                          unknown[i], &t->buf, NULL), ==,
                        INVALID);
    }
    qnvme_delete_sq(sq);
    qnvme_delete_cq(cq);
    g_assert_cmphex(cint_set_config(t, 1, &changed), ==, INVALID);
    cint_expect_config(t, ALL, &f);
    cint_shutdown(t);
}

/*
 * Some drivers probe a vendor's features with CDW11 = 0 and no buffer, as
 * Windows does: an address that nothing is at is not found out about, and
 * memory is not written to.
 */
static void test_no_queue_no_transfer(void)
{
    const uint64_t nowhere = 1ull << 51;
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    QNvmeBuf buf = qnvme_buf_new(t->nvme, QNVME_PAGE_SIZE);
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_SET_FEATURES,
        .dptr.prp1 = cpu_to_le64(nowhere),
        .cdw10 = cpu_to_le32(NVME_CINT_FID_CONFIG),
    };

    cint_queues(t, 1);
    g_assert_cmphex(qnvme_admin(t->nvme, &cmd, NULL), ==, INVALID);
    cmd.opcode = NVME_ADM_CMD_GET_FEATURES;
    g_assert_cmphex(qnvme_admin(t->nvme, &cmd, NULL), ==, INVALID);
    cmd.dptr.prp1 = cpu_to_le64(buf.addr);
    qtest_memset(t->qts, buf.addr, 0xa5, 64);
    g_assert_cmphex(qnvme_admin(t->nvme, &cmd, NULL), ==, INVALID);
    g_assert_cmphex(qtest_readl(t->qts, buf.addr), ==, 0xa5a5a5a5);
    cmd.cdw11 = cpu_to_le32(1);
    g_assert_cmphex(qnvme_admin(t->nvme, &cmd, NULL), ==, 0);
    g_assert_cmphex(qtest_readl(t->qts, buf.addr), !=, 0xa5a5a5a5);
    cint_shutdown(t);
}

/* One without interrupts can be configured, and still has none. */
static void test_silent_queue(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    NvmeCintFeature f = cint_get_config(t, ALL, 0);
    QNvmeCq *cq = NULL;
    QNvmeSq *sq;

    g_assert_cmphex(qnvme_try_create_cq(t->nvme, 1, 64, 1, false, &cq), ==, 0);
    sq = qnvme_create_sq(t->nvme, 1, 64, cq);
    cint_read(t, sq, 3);
    cint_run(t, 1000);
    f.policy = NVME_CINT_POLICY_DEFAULT;
    g_assert_cmphex(cint_set_config(t, 1, &f), ==, 0);
    cint_expect_config(t, 1, &f);
    f.thr = cpu_to_le16(2);
    g_assert_cmphex(cint_set_config(t, ALL, &f), ==, 0);
    cint_expect_config(t, 1, &f);
    cint_read(t, sq, 3);
    cint_expect_quiet_to(t, cq, CINT_SECOND);
    g_assert_cmpuint(qnvme_visible(cq), ==, 6);
    g_assert_cmpuint(cint_record(t, 1).irqs_full, ==, 0);
    cint_shutdown(t);
}

/* ---- Beside the properties ---- */

static void test_qom_set_keeps_the_rest(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    NvmeCintFeature f = cint_get_config(t, ALL, 0);

    cint_queues(t, 1);
    f.delta_ns = cpu_to_le32(9000);
    f.kick_window_ns = cpu_to_le32(1234);
    f.thr = cpu_to_le16(20);
    g_assert_cmphex(cint_set_config(t, ALL, &f), ==, 0);
    cint_set_number(t, "cint.thr", 10);
    f.thr = cpu_to_le16(10);
    cint_expect_config(t, ALL, &f);
    cint_expect_config(t, 1, &f);
    /* What the user did not touch returns with a reset. */
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    f.delta_ns = cpu_to_le32(1000000000);
    f.kick_window_ns = 0;
    cint_expect_config(t, ALL, &f);
    cint_shutdown(t);
}

/* A property that contradicts what a guest has set is refused. */
static void test_qom_set_contradiction(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    NvmeCintFeature f = cint_get_config(t, ALL, 0);
    g_autofree char *text = NULL;

    f.policy = NVME_CINT_POLICY_VIC;
    f.max_hold_ns = cpu_to_le64(1000);
    g_assert_cmphex(cint_set_config(t, ALL, &f), ==, 0);
    text = cint_set_number_error(t, "cint.max-hold", 0);
    g_assert_nonnull(strstr(text, "max-hold"));
    cint_expect_config(t, ALL, &f);
    cint_shutdown(t);
}

/*
 * Urgent completions out of order that let all others wait: the guest may not
 * ask for it, nor a user, whichever of the parameters comes last.
 */
static void expect_starving(CintTest *t, const char *property, uint64_t value)
{
    int64_t old = cint_get_number(t, property);
    g_autofree char *text = cint_set_number_error(t, property, value);

    g_assert_nonnull(strstr(text, "ooo=on"));
    g_assert_nonnull(strstr(text, "max-hold"));
    g_assert_cmpint(cint_get_number(t, property), ==, old);
}

static void test_urgent_starves_the_others(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT);
    g_autofree char *switched = NULL;
    NvmeCintFeature f;

    cint_queues(t, 1);
    cint_set_number(t, "cint.thr", 1024);
    cint_set_number(t, "cint.delta", 1000000);
    switched = cint_set_word_error(t, "cint.policy", "cint");
    g_assert_nonnull(strstr(switched, "ooo=on"));

    cint_set_number(t, "cint.thr", 1023);
    cint_set_word(t, "cint.policy", "cint");
    expect_starving(t, "cint.thr", 1024);
    cint_set_number(t, "cint.delta", 999999);
    cint_set_number(t, "cint.thr", 1024);
    expect_starving(t, "cint.delta", 1000000);
    cint_set_number(t, "cint.max-hold", 1);
    cint_set_number(t, "cint.delta", 1000000);
    expect_starving(t, "cint.max-hold", 0);

    f = cint_get_config(t, 1, 0);
    f.max_hold_ns = 0;
    g_assert_cmphex(cint_set_config(t, 1, &f), ==, INVALID);
    g_assert_cmphex(cint_set_config(t, ALL, &f), ==, INVALID);
    f.flags &= ~NVME_CINT_FLAG_OOO;
    g_assert_cmphex(cint_set_config(t, ALL, &f), ==, 0);
    cint_expect_config(t, 1, &f);
    cint_shutdown(t);
}

/* ---- info irq ---- */

static char *info_irq(CintTest *t)
{
    QDict *response = qtest_qmp(t->qts, "{'execute': 'x-query-irq'}");
    QDict *text = qdict_get_qdict(response, "return");
    char *copy;

    g_assert_nonnull(text);
    copy = g_strdup(qdict_get_str(text, "human-readable-text"));
    qobject_unref(response);
    return copy;
}

/* The count that "info irq" shows for a vector of the nvme device. */
static uint64_t shown(CintTest *t, uint16_t vector)
{
    g_autofree char *text = info_irq(t);
    g_autofree char *label = g_strdup_printf("\n%2d: ", vector);
    char *device = strstr(text, "IRQ statistics for nvme:");
    char *end, *found;

    g_assert_nonnull(device);
    end = strstr(device + 1, "IRQ statistics");
    if (end) {
        *end = '\0';
    }
    found = strstr(device, label);
    return found ? g_ascii_strtoull(found + strlen(label), NULL, 10) : 0;
}

/* Vector 0 also serves CQ 2, vector 1 CQs 1 and 3. */
static void test_info_irq(void)
{
    static const uint16_t vectors[] = { 0, 1, 0, 1 };
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=adaptive,cint.thr=4");
    uint64_t shown_zero, sent[2] = { 0 };
    int id;

    for (id = 1; id <= 3; id++) {
        QNvmeCq *cq = qnvme_create_cq(t->nvme, id, 64, vectors[id]);
        QNvmeSq *sq = qnvme_create_sq(t->nvme, id, 64, cq);

        cint_read(t, sq, 5 * id);
        cint_run(t, 100000);
    }
    shown_zero = shown(t, 0);
    /* A log page read counts the command that read its header before. */
    sent[0] = cint_record(t, 0).irqs_full - 1;
    for (id = 1; id <= 3; id++) {
        NvmeCintLogRecord r = cint_record(t, id);

        g_assert_cmpuint(r.irqs_full, >, 1);
        sent[vectors[id]] += r.irqs_full;
    }
    g_assert_cmpuint(shown_zero, ==, sent[0]);
    g_assert_cmpuint(shown(t, 1), ==, sent[1]);
    g_assert_cmpuint(shown(t, 2), ==, 0);
    cint_shutdown(t);
}

/* What is held when a reset takes the last command in flight is not due. */
static void test_info_irq_and_reset(void)
{
    CintTest *t = cint_boot(CINT_EXACT ",cint.policy=adaptive,cint.drain=on,"
                            "cint.delta=1000000000");
    QNvmeSq *sq = cint_queues(t, 1), *other;

    other = qnvme_create_sq(t->nvme, 2, 64, sq->cq);
    cint_read(t, sq, 1);
    cint_run(t, CINT_LATENCY / 2);
    cint_read(t, other, 1);
    cint_run(t, CINT_LATENCY / 2);
    qnvme_wait_cqes(sq->cq, 1);
    g_assert_cmpuint(shown(t, 1), ==, 0);
    qnvme_reset(t->nvme);
    g_assert_cmpuint(shown(t, 1), ==, 0);
    cint_shutdown(t);
}

static void test_info_irq_without_cint(void)
{
    CintTest *t = cint_boot("");
    QNvmeSq *sq = cint_queues(t, 1);
    g_autofree char *text = NULL;

    cint_read(t, sq, 5);
    qnvme_wait_cqes(sq->cq, 5);
    text = info_irq(t);
    g_assert_null(strstr(text, "nvme"));
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/vendor/" name, run)
    ADD("fields/valid-values-read-as-written", test_valid_values);
    ADD("fields/invalid-values-change-nothing", test_invalid_values);
    ADD("fields/contradictions-are-refused", test_contradictions);
    ADD("fields/all-mechanisms-are-claimed", test_claims);
    ADD("queues/one-changes-alone", test_one_queue);
    ADD("queues/later-ones-follow-the-template", test_later_queues);
    ADD("queues/unknown-ones-are-refused", test_unknown_queue);
    ADD("queues/none-is-no-transfer", test_no_queue_no_transfer);
    ADD("queues/without-interrupts-stay-silent", test_silent_queue);
    ADD("properties/one-changed-keeps-the-others",
        test_qom_set_keeps_the_rest);
    ADD("properties/contradiction-is-refused", test_qom_set_contradiction);
    ADD("config/urgent-starves-the-others", test_urgent_starves_the_others);
    ADD("info-irq/counts-by-vector", test_info_irq);
    ADD("info-irq/a-reset-makes-nothing-due", test_info_irq_and_reset);
    ADD("info-irq/silent-without-cint", test_info_irq_without_cint);
#undef ADD
    return g_test_run();
}
