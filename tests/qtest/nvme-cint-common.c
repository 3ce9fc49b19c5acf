/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the tests of the nvme device's cint properties share. See
 * nvme-cint-common.h.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libqos/malloc-pc.h"
#include "libqos/pci-pc.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"
#include "qobject/qstring.h"
#include "nvme-cint-common.h"

#define DEVICE_PATH     "/machine/peripheral/nvme0"

/* Layout of pci-testdev's BAR0: hw/misc/pci-testdev.c. */
#define COUNTER_SELECT  0
#define COUNTER_COUNT   12
#define COUNTER_TARGET  2048
#define COUNTER_MATCH   0xfa

#define MEDIA \
    "cint=on,cint.media=custom,cint.media.read-latency=400," \
    "cint.media.write-latency=1400,cint.media.units=0"
#define DEFAULT     ",cint.policy=default,cint.max-hold=0"
#define STATIC      ",cint.policy=static,cint.static-time=100000," \
                    "cint.static-thr=50,cint.max-hold=0"
#define ADAPTIVE    ",cint.policy=adaptive,cint.delta=60000,cint.thr=50," \
                    "cint.max-hold=0"
#define HINTS       ",cint.policy=cint,cint.delta=60000,cint.thr=50," \
                    "cint.max-hold=0"
/* Skips every second completion from the first one on; see cint_boot(). */
#define VIC         ",cint.policy=vic,cint.vic-ratios=coarse," \
                    "cint.cif-threshold=2,cint.epoch=1,cint.max-hold=90000"

/* Longer than the epoch of VIC, so that the first completion ends one. */
#define START_NS    2000000

const CintCase cint_cases[] = {
    { "default", MEDIA ",cint.time=virtual" DEFAULT },
    { "default-batched",
      MEDIA ",cint.time=virtual,cint.each-cqe=off" DEFAULT },
    { "static", MEDIA ",cint.time=virtual" STATIC },
    { "adaptive", MEDIA ",cint.time=virtual" ADAPTIVE },
    { "adaptive-drain", MEDIA ",cint.time=virtual,cint.drain=on" ADAPTIVE },
    { "vic", MEDIA ",cint.time=virtual" VIC },
    { "vic-without-drain", MEDIA ",cint.time=virtual,cint.drain=off" VIC },
    { "cint", MEDIA ",cint.time=virtual" HINTS },
    { "cint-inferring",
      MEDIA ",cint.time=virtual,cint.drain=off,cint.infer=all,"
      "cint.barrier=strict" HINTS },
    { "default-real", MEDIA ",cint.time=real" DEFAULT },
    { "static-real", MEDIA ",cint.time=real" STATIC },
    { "adaptive-real", MEDIA ",cint.time=real" ADAPTIVE },
    { "vic-real", MEDIA ",cint.time=real" VIC },
    { "cint-real", MEDIA ",cint.time=real" HINTS },
    { "adaptive-ioeventfd", MEDIA ",cint.time=real,ioeventfd=on" ADAPTIVE },
    { NULL },
};

static G_NORETURN G_GNUC_PRINTF(3, 4)
void fail(const char *file, int line, const char *fmt, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    g_assertion_message(G_LOG_DOMAIN, file, line, "", text);
    g_assert_not_reached();
}

CintTest *cint_boot_custom(const char *env, const char *args,
                           const char *opts)
{
    g_autofree char *devices = g_strdup_printf(
        "%s -device nvme,id=nvme0,serial=cint,drive=d0,addr=4%s%s", args,
        *opts ? "," : "", opts);

    return cint_boot_devices(env, devices);
}

CintTest *cint_boot_devices(const char *env, const char *args)
{
    g_autofree char *cmdline = g_strdup_printf(
        "-machine pc -nodefaults -m 64 %s %s -device pci-testdev,addr=5",
        strstr(args, "iothread") ? CINT_IOTHREADS : "", args);
    CintTest *t = g_new0(CintTest, 1);

    t->qts = qtest_init_with_env(env, cmdline, true);
    pc_alloc_init(&t->alloc, t->qts, ALLOC_NO_FLAGS);
    t->bus = qpci_new_pc(t->qts, &t->alloc);
    t->pdev = qpci_device_find(t->bus, QPCI_DEVFN(4, 0));
    g_assert_nonnull(t->pdev);
    t->nvme = qnvme_new(t->pdev, &t->alloc);
    t->buf = qnvme_buf_new(t->nvme, 2 * QNVME_PAGE_SIZE);
    qnvme_enable(t->nvme);
    return t;
}

CintTest *cint_boot(const char *opts)
{
    CintTest *t = cint_boot_custom(NULL, CINT_NULL_DISK, opts);

    cint_run(t, START_NS);
    cint_zero(t);
    return t;
}

void cint_shutdown(CintTest *t)
{
    qnvme_free(t->nvme);
    g_free(t->pdev);
    g_free(t->counter_dev);
    qpci_free_pc(t->bus);
    alloc_destroy(&t->alloc);
    qtest_quit(t->qts);
    g_free(t);
}

CintTest *cint_other(CintTest *t, int slot)
{
    CintTest *other = g_new0(CintTest, 1);

    *other = *t;
    other->counter_dev = NULL;
    other->pdev = qpci_device_find(t->bus, QPCI_DEVFN(slot, 0));
    g_assert_nonnull(other->pdev);
    other->nvme = qnvme_new(other->pdev, &t->alloc);
    qnvme_enable(other->nvme);
    return other;
}

void cint_other_free(CintTest *other)
{
    qnvme_free(other->nvme);
    g_free(other->pdev);
    g_free(other);
}

uint16_t cint_attachment(CintTest *t, uint16_t cntlid, uint8_t sel)
{
    const uint16_t list[] = { cpu_to_le16(1), cpu_to_le16(cntlid) };
    uint64_t page = t->buf.addr + QNVME_PAGE_SIZE;

    qtest_memset(t->qts, page, 0, QNVME_PAGE_SIZE);
    qtest_memwrite(t->qts, page, list, sizeof(list));
    return qnvme_admin(t->nvme, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_NS_ATTACHMENT, .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(page), .cdw10 = cpu_to_le32(sel),
    }, NULL);
}

QNvmeSq *cint_queues(CintTest *t, uint16_t id)
{
    QNvmeCq *cq = qnvme_create_cq(t->nvme, id, CINT_ENTRIES, id);

    return qnvme_create_sq(t->nvme, id, CINT_ENTRIES, cq);
}

void cint_read(CintTest *t, QNvmeSq *sq, uint32_t count)
{
    while (count--) {
        qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
    }
    qnvme_ring_sq(sq);
}

void cint_push_admin(CintTest *t, uint8_t opcode, uint64_t prp1,
                     uint32_t dw10, uint32_t dw11)
{
    NvmeCmd cmd = {
        .opcode = opcode,
        .dptr.prp1 = cpu_to_le64(prp1),
        .cdw10 = cpu_to_le32(dw10),
        .cdw11 = cpu_to_le32(dw11),
    };

    qnvme_push(&t->nvme->admin_sq, &cmd);
}

/* ---- Time ---- */

void cint_zero(CintTest *t)
{
    t->zero = t->clock;
}

int64_t cint_now(const CintTest *t)
{
    return t->clock - t->zero;
}

void cint_run(CintTest *t, int64_t ns)
{
    g_assert_cmpint(ns, >=, 0);
    /* A step of 0 is an error to QEMU. */
    if (ns) {
        t->clock = qtest_clock_step(t->qts, ns);
    }
}

void cint_run_to(CintTest *t, int64_t when)
{
    cint_run(t, when - cint_now(t));
}

void cint_let_run(CintTest *t)
{
    int i;

    for (i = 0; i < 50; i++) {
        qnvme_reg_read(t->nvme, NVME_REG_CSTS);
    }
}

void cint_expect_quiet_to_(CintTest *t, QNvmeCq *cq, int64_t when,
                           const char *file, int line)
{
    cint_run_to(t, when);
    if (qnvme_irq_pending(t->nvme, cq->vector)) {
        fail(file, line, "CQ %u: an interrupt came by %" PRId64
             " ns, expected none", cq->id, when);
    }
}

void cint_expect_irq_at_(CintTest *t, QNvmeCq *cq, int64_t when,
                         const char *file, int line)
{
    if (when > cint_now(t)) {
        cint_expect_quiet_to_(t, cq, when - 1, file, line);
    }
    cint_run_to(t, when);
    if (!qnvme_take_irq(t->nvme, cq->vector)) {
        fail(file, line, "CQ %u: no interrupt at %" PRId64 " ns", cq->id,
             when);
    }
}

void cint_expect_irq_now_(CintTest *t, QNvmeCq *cq, const char *file,
                          int line)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;

    while (!qnvme_take_irq(t->nvme, cq->vector)) {
        if (g_get_monotonic_time() > limit) {
            fail(file, line, "CQ %u: no interrupt at once, at %" PRId64 " ns",
                 cq->id, cint_now(t));
        }
    }
}

void cint_expect_cqes_at_(CintTest *t, QNvmeCq *cq, int64_t when,
                          uint32_t count, const char *file, int line)
{
    uint32_t visible;

    if (when > cint_now(t)) {
        cint_run_to(t, when - 1);
        visible = qnvme_visible(cq);
        if (visible >= count) {
            fail(file, line, "CQ %u: %u CQEs before %" PRId64
                 " ns, expected fewer than %u", cq->id, visible, when, count);
        }
    }
    cint_run_to(t, when);
    visible = qnvme_visible(cq);
    if (visible < count) {
        fail(file, line, "CQ %u: %u CQEs at %" PRId64 " ns, expected %u",
             cq->id, visible, when, count);
    }
}

uint32_t cint_eager_guest_(CintTest *t, QNvmeCq *cq, const char *file,
                           int line)
{
    int64_t end = cint_now(t) + 20 * CINT_SECOND;
    int64_t step = 500;
    uint32_t count, reaped = 0;

    while (cint_now(t) < end) {
        cint_run(t, step);
        if (qnvme_take_irq(t->nvme, cq->vector)) {
            count = qnvme_visible(cq);
            qnvme_reap(cq, count);
            reaped += count;
        } else {
            step += step / 4;
        }
    }
    count = qnvme_visible(cq);
    if (count) {
        fail(file, line, "CQ %u: %u CQEs are stranded: posted, and no "
             "interrupt comes", cq->id, count);
    }
    return reaped;
}

/* ---- Counting messages ---- */

void cint_count_messages(CintTest *t, uint16_t vector)
{
    if (!t->counter_dev) {
        t->counter_dev = qpci_device_find(t->bus, QPCI_DEVFN(5, 0));
        g_assert_nonnull(t->counter_dev);
        qpci_device_enable(t->counter_dev);
        t->counter = qpci_iomap(t->counter_dev, 0, NULL);
    }
    qpci_io_writeb(t->counter_dev, t->counter, COUNTER_SELECT, 0);
    qnvme_vector_target(t->nvme, vector, t->counter.addr + COUNTER_TARGET,
                        COUNTER_MATCH, false);
}

uint32_t cint_messages(CintTest *t)
{
    return qpci_io_readl(t->counter_dev, t->counter, COUNTER_COUNT);
}

/* ---- Statistics and properties ---- */

static void record_to_cpu(NvmeCintLogRecord *r)
{
    uint64_t *counter = &r->cqes;
    uint64_t *end = (uint64_t *)r->rsvd2672;

    r->cqid = le16_to_cpu(r->cqid);
    r->vector = le16_to_cpu(r->vector);
    r->cq_size = le32_to_cpu(r->cq_size);
    r->inflight = le32_to_cpu(r->inflight);
    r->delta_ns = le64_to_cpu(r->delta_ns);
    r->thr = le32_to_cpu(r->thr);
    r->pending = le32_to_cpu(r->pending);
    for (; counter < end; counter++) {
        *counter = le64_to_cpu(*counter);
    }
}

static void sq_record_to_cpu(NvmeCintLogSq *r)
{
    uint64_t *counter = (uint64_t *)&r->wait;
    uint64_t *end = (uint64_t *)&r->buffers;

    r->sqid = le16_to_cpu(r->sqid);
    r->cqid = le16_to_cpu(r->cqid);
    r->sq_size = le32_to_cpu(r->sq_size);
    r->backlog = le32_to_cpu(r->backlog);
    r->commands = le64_to_cpu(r->commands);
    r->bytes = le64_to_cpu(r->bytes);
    r->buffers = le32_to_cpu(r->buffers);
    r->waited_buffers = le32_to_cpu(r->waited_buffers);
    r->fresh = le32_to_cpu(r->fresh);
    for (; counter < end; counter++) {
        *counter = le64_to_cpu(*counter);
    }
}

/* The whole log page; the numbers of CQ and SQ records are returned. */
static uint8_t *read_log(CintTest *t, uint16_t *records, uint16_t *sq_records)
{
    QNvmeBuf buf = qnvme_buf_new(t->nvme, sizeof(NvmeCintLogHeader));
    NvmeCintLogHeader header;
    uint8_t *page;
    size_t size;

    g_assert_cmphex(qnvme_get_log(t->nvme, NVME_CINT_LID, 0, 0, &buf), ==, 0);
    qtest_memread(t->qts, buf.addr, &header, sizeof(header));
    qnvme_buf_free(t->nvme, &buf);
    g_assert_cmphex(le32_to_cpu(header.magic), ==, NVME_CINT_MAGIC);
    g_assert_cmpuint(le16_to_cpu(header.header_size), ==, sizeof(header));
    g_assert_cmpuint(le32_to_cpu(header.record_size), ==,
                     sizeof(NvmeCintLogRecord));
    g_assert_cmpuint(le32_to_cpu(header.sq_record_size), ==,
                     sizeof(NvmeCintLogSq));

    *records = le16_to_cpu(header.records);
    *sq_records = le16_to_cpu(header.sq_records);
    size = sizeof(header) + *records * sizeof(NvmeCintLogRecord) +
           *sq_records * sizeof(NvmeCintLogSq);
    page = g_malloc(size);
    buf = qnvme_buf_new(t->nvme, size);
    g_assert_cmphex(qnvme_get_log(t->nvme, NVME_CINT_LID, 0, 0, &buf), ==, 0);
    qtest_memread(t->qts, buf.addr, page, size);
    qnvme_buf_free(t->nvme, &buf);
    return page;
}

NvmeCintLogRecord cint_record(CintTest *t, uint16_t cqid)
{
    uint16_t i, records, sq_records;
    g_autofree uint8_t *page = read_log(t, &records, &sq_records);
    NvmeCintLogRecord record;

    for (i = 0; i < records; i++) {
        memcpy(&record, page + sizeof(NvmeCintLogHeader) + i * sizeof(record),
               sizeof(record));
        record_to_cpu(&record);
        if (record.cqid == cqid) {
            return record;
        }
    }
    g_error("log page D0h has no record of CQ %u", cqid);
}

NvmeCintLogSq cint_sq_record(CintTest *t, uint16_t sqid)
{
    uint16_t i, records, sq_records;
    g_autofree uint8_t *page = read_log(t, &records, &sq_records);
    const uint8_t *first = page + sizeof(NvmeCintLogHeader) +
                           records * sizeof(NvmeCintLogRecord);
    NvmeCintLogSq record;

    for (i = 0; i < sq_records; i++) {
        memcpy(&record, first + i * sizeof(record), sizeof(record));
        sq_record_to_cpu(&record);
        if (record.sqid == sqid) {
            return record;
        }
    }
    g_error("log page D0h has no record of SQ %u", sqid);
}

uint64_t cint_reason_count(CintTest *t, uint16_t cqid,
                           enum NvmeCintReasonId reason)
{
    NvmeCintLogRecord record = cint_record(t, cqid);

    return record.irqs_by_reason[reason];
}

static uint64_t sum(const uint64_t *values, size_t count)
{
    uint64_t total = 0;

    while (count--) {
        total += *values++;
    }
    return total;
}

void cint_check_record(CintTest *t, uint16_t cqid)
{
    NvmeCintLogRecord r = cint_record(t, cqid);
    uint64_t held = 0, reaped = 0;
    int i;

    g_assert_cmpuint(sum(r.irqs_by_reason, NVME_CINT_NR_REASONS), ==,
                     r.irqs_full + r.irqs_urgent);
    g_assert_cmpuint(r.irqs_masked, <=, r.irqs_full + r.irqs_urgent);
    for (i = 0; i < NVME_CINT_NR_CLASSES; i++) {
        held += sum(r.hold[i].bucket, NVME_CINT_HIST_BUCKETS);
        reaped += sum(r.reap[i].bucket, NVME_CINT_HIST_BUCKETS);
        g_assert_cmpuint(r.hold[i].max_ns, <=, t->clock);
        g_assert_cmpuint(r.reap[i].max_ns, <=, t->clock);
    }
    g_assert_cmpuint(held, <=, r.cqes);
    g_assert_cmpuint(reaped, <=, held);
    g_assert_cmpuint(r.irqs_full + r.irqs_urgent, <=, r.cqes + r.reruns);
}

uint16_t cint_set_config(CintTest *t, uint32_t cqid, const NvmeCintFeature *f)
{
    qtest_memwrite(t->qts, t->buf.addr, f, sizeof(*f));
    return qnvme_set_feature(t->nvme, NVME_CINT_FID_CONFIG, cqid, &t->buf,
                             NULL);
}

NvmeCintFeature cint_get_config(CintTest *t, uint32_t cqid, uint8_t sel)
{
    NvmeCintFeature f;

    qtest_memset(t->qts, t->buf.addr, 0xa5, sizeof(f));
    g_assert_cmphex(qnvme_get_feature(t->nvme, NVME_CINT_FID_CONFIG, sel, cqid,
                                      &t->buf, NULL), ==, 0);
    qtest_memread(t->qts, t->buf.addr, &f, sizeof(f));
    return f;
}

void cint_expect_config(CintTest *t, uint32_t cqid, const NvmeCintFeature *f)
{
    NvmeCintFeature found = cint_get_config(t, cqid, 0);

    g_assert_cmpmem(&found, sizeof(found), f, sizeof(*f));
}

/* The entry of cint-stats' list @list whose member @key is @id. */
static QDict *qom_record(CintTest *t, const char *list, const char *key,
                         uint16_t id)
{
    QDict *response = qtest_qmp(t->qts, "{'execute': 'qom-get', 'arguments': "
                                "{'path': %s, 'property': 'cint-stats'}}",
                                DEVICE_PATH);
    QDict *stats = qdict_get_qdict(response, "return");
    const QListEntry *entry;
    QDict *queue;

    g_assert_nonnull(stats);
    QLIST_FOREACH_ENTRY(qdict_get_qlist(stats, list), entry) {
        queue = qobject_to(QDict, qlist_entry_obj(entry));
        if (qdict_get_int(queue, key) == id) {
            qobject_ref(queue);
            qobject_unref(response);
            return queue;
        }
    }
    g_error("cint-stats has nothing of %s with %s %u", list, key, id);
}

QDict *cint_memdev_node(CintTest *t)
{
    QDict *answer = qtest_qmp(t->qts,
                              "{ 'execute': 'query-named-block-nodes' }");
    const QListEntry *entry;
    QDict *found = NULL;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(answer, "return"), entry) {
        QDict *node = qobject_to(QDict, qlist_entry_obj(entry));

        if (g_str_equal(qdict_get_str(node, "drv"), "nvme-memdev")) {
            found = qobject_ref(node);
        }
    }
    qobject_unref(answer);
    g_assert_nonnull(found);
    return found;
}

QDict *cint_qom_stats(CintTest *t, uint16_t cqid)
{
    return qom_record(t, "queues", "cqid", cqid);
}

QDict *cint_qom_sq_stats(CintTest *t, uint16_t sqid)
{
    return qom_record(t, "submission-queues", "sqid", sqid);
}

#define SET_FORMAT(value) \
    "{'execute': 'qom-set', 'arguments': {'path': %s, 'property': %s, " \
    "'value': " value "}}"

void cint_set_number(CintTest *t, const char *property, int64_t value)
{
    qtest_qmp_assert_success(t->qts, SET_FORMAT("%" PRId64), DEVICE_PATH,
                             property, value);
}

void cint_set_word(CintTest *t, const char *property, const char *value)
{
    qtest_qmp_assert_success(t->qts, SET_FORMAT("%s"), DEVICE_PATH, property,
                             value);
}

static char *take_error(QDict *response)
{
    QDict *error = qdict_get_qdict(response, "error");
    char *text;

    g_assert_nonnull(error);
    text = g_strdup(qdict_get_str(error, "desc"));
    qobject_unref(response);
    return text;
}

char *cint_set_number_error(CintTest *t, const char *property, int64_t value)
{
    return take_error(qtest_qmp(t->qts, SET_FORMAT("%" PRId64), DEVICE_PATH,
                                property, value));
}

char *cint_set_word_error(CintTest *t, const char *property, const char *value)
{
    return take_error(qtest_qmp(t->qts, SET_FORMAT("%s"), DEVICE_PATH,
                                property, value));
}

int64_t cint_get_number(CintTest *t, const char *property)
{
    QDict *response = qtest_qmp(t->qts, "{'execute': 'qom-get', 'arguments': "
                                "{'path': %s, 'property': %s}}", DEVICE_PATH,
                                property);
    int64_t value = qdict_get_int(response, "return");

    qobject_unref(response);
    return value;
}

/* ---- Migration ---- */

static QDict *query_migrate(QTestState *qts)
{
    QDict *response = qtest_qmp(qts, "{'execute': 'query-migrate'}");
    QDict *info = qdict_get_qdict(response, "return");

    qobject_ref(info);
    qobject_unref(response);
    return info;
}

bool cint_can_migrate(QTestState *qts)
{
    QDict *info = query_migrate(qts);
    QList *reasons = qdict_get_qlist(info, "blocked-reasons");
    const QListEntry *entry;
    bool can = true;

    if (reasons) {
        QLIST_FOREACH_ENTRY(reasons, entry) {
            QString *reason = qobject_to(QString, qlist_entry_obj(entry));

            can &= !strstr(qstring_get_str(reason), "nvme");
        }
    }
    qobject_unref(info);
    return can;
}

static char *refusal(QDict *response)
{
    QDict *error = qdict_get_qdict(response, "error");

    return error ? g_strdup(qdict_get_str(error, "desc")) : NULL;
}

/* Whether it is over; *@why is set if it has failed. */
static bool is_over(QTestState *qts, char **why)
{
    QDict *info = query_migrate(qts);
    const char *status = qdict_get_try_str(info, "status");
    const char *desc = qdict_get_try_str(info, "error-desc");
    bool failed = !g_strcmp0(status, "failed");
    bool over = failed || !g_strcmp0(status, "completed");

    if (failed) {
        *why = g_strdup(desc ? desc : "failed");
    }
    qobject_unref(info);
    return over;
}

/* Until what was asked for with this @response is over. Frees @response. */
static char *wait_until_over(QTestState *qts, QDict *response)
{
    gint64 limit = g_get_monotonic_time() + 120 * G_TIME_SPAN_SECOND;
    char *why = refusal(response);

    qobject_unref(response);
    while (!why && !is_over(qts, &why)) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        g_usleep(2000);
    }
    return why;
}

char *cint_migrate(QTestState *qts, const char *uri)
{
    return wait_until_over(qts, qtest_qmp(qts, "{'execute': 'migrate', "
                                          "'arguments': {'uri': %s}}", uri));
}

char *cint_load(QTestState *qts, const char *uri)
{
    return wait_until_over(qts, qtest_qmp(qts, "{'execute': 'migrate-incoming',"
                                          " 'arguments': {'uri': %s, "
                                          "'exit-on-error': false}}", uri));
}

static bool status_is(QTestState *qts, const char *status)
{
    QDict *response = qtest_qmp(qts, "{'execute': 'query-status'}");
    QDict *info = qdict_get_qdict(response, "return");
    bool is = !strcmp(qdict_get_str(info, "status"), status);

    qobject_unref(response);
    return is;
}

char *cint_migrate_nowhere(QTestState *qts)
{
    bool running = status_is(qts, "running");
    char *why = cint_migrate(qts, "exec:cat >/dev/null");

    /* One that fails starts the machine again a moment after it says so. */
    while (status_is(qts, "finish-migrate")) {
        g_usleep(2000);
    }
    if (running) {
        qtest_qmp_assert_success(qts, "{'execute': 'cont'}");
    }
    return why;
}

bool cint_has_property(const char *type, const char *property)
{
    QTestState *qts = qtest_init("-machine none");
    QDict *response = qtest_qmp(qts, "{'execute': 'device-list-properties',"
                                " 'arguments': {'typename': %s}}", type);
    const QListEntry *entry;
    bool found = false;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(response, "return"), entry) {
        QDict *row = qobject_to(QDict, qlist_entry_obj(entry));

        found |= g_str_equal(qdict_get_str(row, "name"), property);
    }
    qobject_unref(response);
    qtest_quit(qts);
    return found;
}
