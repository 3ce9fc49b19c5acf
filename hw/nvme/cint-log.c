/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: statistics of each queue, read by the guest as log page D0h and by the
 * host as QOM property "cint-stats". Both show the same records.
 */
#include "qemu/osdep.h"
#include "qapi/visitor.h"
#include "system/cpu-timers.h"

#include "cint-hooks.h"
#include "cint-log.h"
#include "cint-state.h"
#include "trace.h"

static void read_record(NvmeCintCq *ccq, NvmeCintLogRecord *record)
{
    CintCq *engine = &ccq->engine;
    uint32_t up = 0, skip = 0;

    *record = ccq->stats.log;
    record->cqid = ccq->cq->cqid;
    record->vector = ccq->cq->vector;
    record->policy = engine->config.policy;
    record->irq_enabled = ccq->cq->irq_enabled;
    record->cq_size = ccq->cq->size;
    record->inflight = engine->inflight;
    record->delta_ns = engine->delta_ns;
    record->thr = engine->thr;
    record->pending = engine->pending;
    record->storm_ewma_ns = cint_storm_ewma(engine);
    record->storm_held = engine->storm_held;
    cint_ratio(engine, &up, &skip);
    record->ratio_up = up;
    record->ratio_skip = skip;
}

static void record_to_le(NvmeCintLogRecord *record)
{
    uint64_t *counter = &record->cqes;
    uint64_t *end = (uint64_t *)record->rsvd2672;

    QEMU_BUILD_BUG_ON(sizeof(NvmeCintLogRecord) != 3072);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogRecord, cqes) != 32);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogRecord, irqs_by_reason) != 192);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogRecord, hold) != 448);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogRecord, post_to_head) != 2352);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogRecord, answers) != 2632);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogRecord, rsvd2672) != 2672);

    record->cqid = cpu_to_le16(record->cqid);
    record->vector = cpu_to_le16(record->vector);
    record->cq_size = cpu_to_le32(record->cq_size);
    record->inflight = cpu_to_le32(record->inflight);
    record->delta_ns = cpu_to_le64(record->delta_ns);
    record->thr = cpu_to_le32(record->thr);
    record->pending = cpu_to_le32(record->pending);
    for (; counter < end; counter++) {
        *counter = cpu_to_le64(*counter);
    }
}

static void read_sq_record(const NvmeCintSq *csq, NvmeCintLogSq *record)
{
    CintBelief belief = cint_belief(&csq->engine);

    *record = csq->stats.log;
    record->sqid = csq->sq->sqid;
    record->cqid = csq->sq->cqid;
    record->priority = csq->arb.class;
    record->sq_size = csq->sq->size;
    record->backlog = csq->backlog;
    record->commands = nvme_cint_sq_stats_commands(&csq->stats);
    record->buffers = belief.buffers;
    record->waited_buffers = belief.waited;
    record->fresh = belief.fresh;
}

static void sq_record_to_le(NvmeCintLogSq *record)
{
    uint64_t *counter = (uint64_t *)&record->wait;
    uint64_t *end = (uint64_t *)&record->buffers;

    QEMU_BUILD_BUG_ON(sizeof(NvmeCintLogSq) != 384);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogSq, commands) != 16);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogSq, wait) != 64);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogSq, buffers) != 336);

    record->sqid = cpu_to_le16(record->sqid);
    record->cqid = cpu_to_le16(record->cqid);
    record->sq_size = cpu_to_le32(record->sq_size);
    record->backlog = cpu_to_le32(record->backlog);
    record->commands = cpu_to_le64(record->commands);
    record->bytes = cpu_to_le64(record->bytes);
    record->buffers = cpu_to_le32(record->buffers);
    record->waited_buffers = cpu_to_le32(record->waited_buffers);
    record->fresh = cpu_to_le32(record->fresh);
    for (; counter < end; counter++) {
        *counter = cpu_to_le64(*counter);
    }
}

/* Of all vCPUs; what they idle is no part of it, unlike of device time. */
static uint64_t instructions(void)
{
    return icount_enabled() ? icount_get_raw() : 0;
}

/* The I/O submission queue with identifier @sqid, NULL if none. */
static NvmeCintSq *io_sq_at(const NvmeCtrl *n, uint32_t sqid)
{
    return sqid && n->sq[sqid] ? n->sq[sqid]->cint : NULL;
}

static void count_queues(const NvmeCtrl *n, uint32_t *cqs, uint32_t *sqs)
{
    uint32_t i;

    *cqs = *sqs = 0;
    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        *cqs += !!nvme_cint_cq_at(n, i);
        *sqs += !!io_sq_at(n, i);
    }
}

static void reset_counters(NvmeCtrl *n)
{
    uint32_t i;

    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        NvmeCintCq *ccq = nvme_cint_cq_at(n, i);
        NvmeCintSq *csq = io_sq_at(n, i);

        if (ccq) {
            nvme_cint_stats_reset(&ccq->stats);
            ccq->engine.storm_held = 0;
        }
        if (csq) {
            nvme_cint_sq_stats_reset(&csq->stats);
        }
    }
}

/*
 * The bytes [from, to) of the page, of which the next piece begins at @at. Only
 * pieces that somebody asked for are made.
 */
typedef struct LogPart {
    uint8_t *data;
    size_t from, to, at;
} LogPart;

static bool is_wanted(const LogPart *part, size_t size)
{
    return part->at < part->to && part->at + size > part->from;
}

static void put(LogPart *part, const void *piece, size_t size)
{
    size_t first = MAX(part->at, part->from);
    size_t end = MIN(part->at + size, part->to);

    memcpy(part->data + (first - part->from),
           (const uint8_t *)piece + (first - part->at), end - first);
}

static void put_header(const NvmeCtrl *n, LogPart *part, uint32_t cqs,
                       uint32_t sqs)
{
    NvmeCintLogHeader header = {
        .magic = cpu_to_le32(NVME_CINT_MAGIC),
        .version = cpu_to_le16(NVME_CINT_VERSION),
        .header_size = cpu_to_le16(sizeof(header)),
        .record_size = cpu_to_le32(sizeof(NvmeCintLogRecord)),
        .records = cpu_to_le16(cqs),
        .policy = n->cint->config.policy,
        .virtual_time = n->cint->virtual_time,
        .time_ns = cpu_to_le64(nvme_cint_now()),
        .instructions = cpu_to_le64(instructions()),
        .sq_record_size = cpu_to_le32(sizeof(NvmeCintLogSq)),
        .sq_records = cpu_to_le16(sqs),
    };

    if (is_wanted(part, sizeof(header))) {
        put(part, &header, sizeof(header));
    }
    part->at += sizeof(header);
}

static void put_record(NvmeCintCq *ccq, LogPart *part)
{
    NvmeCintLogRecord record;

    if (is_wanted(part, sizeof(record))) {
        read_record(ccq, &record);
        record_to_le(&record);
        put(part, &record, sizeof(record));
    }
    part->at += sizeof(record);
}

static void put_sq_record(const NvmeCintSq *csq, LogPart *part)
{
    NvmeCintLogSq record;

    if (is_wanted(part, sizeof(record))) {
        read_sq_record(csq, &record);
        sq_record_to_le(&record);
        put(part, &record, sizeof(record));
    }
    part->at += sizeof(record);
}

static void put_records(const NvmeCtrl *n, LogPart *part)
{
    uint32_t i;

    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        if (nvme_cint_cq_at(n, i)) {
            put_record(nvme_cint_cq_at(n, i), part);
        }
    }
    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        if (io_sq_at(n, i)) {
            put_sq_record(io_sq_at(n, i), part);
        }
    }
}

uint16_t nvme_cint_log(NvmeCtrl *n, uint32_t len, uint64_t off,
                       NvmeRequest *req)
{
    uint8_t lsp = (le32_to_cpu(req->cmd.cdw10) >> 8) & 0xf;
    g_autofree uint8_t *data = NULL;
    LogPart part = { .from = off };
    uint32_t cqs, sqs;
    uint16_t status;
    size_t size;

    count_queues(n, &cqs, &sqs);
    size = sizeof(NvmeCintLogHeader) + cqs * sizeof(NvmeCintLogRecord) +
           sqs * sizeof(NvmeCintLogSq);
    if (off >= size) {
        trace_pci_nvme_err_invalid_log_page_offset(off, size);
        return NVME_INVALID_FIELD | NVME_DNR;
    }

    size = MIN(size - off, len);
    data = g_malloc(size);
    part.data = data;
    part.to = off + size;
    put_header(n, &part, cqs, sqs);
    put_records(n, &part);

    /* nvme_hold() keeps the queues, whatever the data overwrites. */
    status = nvme_c2h(n, data, size, req);
    if (!status && (lsp & NVME_CINT_LSP_RESET)) {
        reset_counters(n);
    }
    return status;
}

bool nvme_cint_irq_statistics(InterruptStatsProvider *obj,
                              uint64_t **irq_counts, unsigned int *nb_irqs)
{
    NvmeCtrl *n = NVME(obj);

    *irq_counts = n->cint ? n->cint->vector_irqs : NULL;
    *nb_irqs = n->cint ? n->params.msix_qsize : 0;
    return true;
}

/* For a device without this function `info pic` says that it cannot tell. */
void nvme_cint_print_info(InterruptStatsProvider *obj, GString *buf)
{
}

/*
 * QOM
 */

static void visit_u64(Visitor *v, const char *name, uint64_t value)
{
    visit_type_uint64(v, name, &value, &error_abort);
}

static void visit_text(Visitor *v, const char *name, const char *text)
{
    char *value = (char *)text;

    visit_type_str(v, name, &value, &error_abort);
}

static void visit_reasons(Visitor *v, const NvmeCintLogRecord *record)
{
    int i;

    visit_start_struct(v, "irqs-by-reason", NULL, 0, &error_abort);
    for (i = NVME_CINT_REASON_EACH; i <= NVME_CINT_REASON_ADMIN; i++) {
        visit_u64(v, cint_reason_name(i), record->irqs_by_reason[i]);
    }
    visit_end_struct(v, NULL);
}

static void visit_hist(Visitor *v, const char *name, const NvmeCintHist *hist)
{
    int i;

    visit_start_struct(v, name, NULL, 0, &error_abort);
    visit_u64(v, "sum-ns", hist->sum_ns);
    visit_u64(v, "max-ns", hist->max_ns);
    visit_start_list(v, "buckets", NULL, 0, &error_abort);
    for (i = 0; i < NVME_CINT_HIST_BUCKETS; i++) {
        visit_u64(v, NULL, hist->bucket[i]);
    }
    visit_end_list(v, NULL);
    visit_end_struct(v, NULL);
}

static void visit_answers(Visitor *v, const NvmeCintAnswers *answers)
{
    visit_start_struct(v, "answers", NULL, 0, &error_abort);
    visit_u64(v, "count", answers->count);
    visit_u64(v, "ns", answers->ns);
    visit_u64(v, "cqes", answers->cqes);
    visit_u64(v, "cqes-cqes", answers->cqes_cqes);
    visit_u64(v, "ns-cqes", answers->ns_cqes);
    visit_end_struct(v, NULL);
}

static void visit_record(Visitor *v, const NvmeCintLogRecord *record)
{
    static const char *const hints[NVME_CINT_NR_HINTS] = {
        "cmds-unmarked", "cmds-urgent", "cmds-barrier", "cmds-both-hints",
    };
    static const char *const sources[] = {
        [NVME_CINT_SOURCE_CDW0]     = "hints-cdw0",
        [NVME_CINT_SOURCE_CDW13]    = "hints-cdw13",
        [NVME_CINT_SOURCE_INFERRED] = "hints-inferred",
        [NVME_CINT_SOURCE_LATENCY]  = "hints-latency",
    };
    static const char *const classes[NVME_CINT_NR_CLASSES] = {
        "unmarked", "urgent", "barrier",
    };
    int i;

    visit_start_struct(v, NULL, NULL, 0, &error_abort);
    visit_u64(v, "cqid", record->cqid);
    visit_u64(v, "vector", record->vector);
    visit_text(v, "policy", cint_policy_names[record->policy]);
    visit_u64(v, "size", record->cq_size);
    visit_u64(v, "inflight", record->inflight);
    visit_u64(v, "pending", record->pending);
    visit_u64(v, "delta-ns", record->delta_ns);
    visit_u64(v, "thr", record->thr);
    visit_u64(v, "cqes", record->cqes);
    visit_u64(v, "irqs", record->irqs_full + record->irqs_urgent);
    visit_u64(v, "irqs-full", record->irqs_full);
    visit_u64(v, "irqs-urgent", record->irqs_urgent);
    visit_u64(v, "irqs-masked", record->irqs_masked);
    visit_reasons(v, record);
    visit_u64(v, "avoided", record->avoided);
    visit_u64(v, "ratio-up", record->ratio_up);
    visit_u64(v, "ratio-skip", record->ratio_skip);
    visit_u64(v, "reruns", record->reruns);
    for (i = 0; i < NVME_CINT_NR_HINTS; i++) {
        visit_u64(v, hints[i], record->cmds_by_hint[i]);
    }
    for (i = 0; i < ARRAY_SIZE(sources); i++) {
        visit_u64(v, sources[i], record->cmds_by_source[i]);
    }
    visit_u64(v, "storm-ewma-ns", record->storm_ewma_ns);
    visit_u64(v, "storm-held", record->storm_held);
    visit_u64(v, "pointer-arms", record->pointer_arms);
    visit_u64(v, "pointer-rejects", record->pointer_rejects);
    for (i = 0; i < NVME_CINT_NR_CLASSES; i++) {
        g_autofree char *hold = g_strdup_printf("hold-%s", classes[i]);
        g_autofree char *reap = g_strdup_printf("reap-%s", classes[i]);

        visit_hist(v, hold, &record->hold[i]);
        visit_hist(v, reap, &record->reap[i]);
    }
    visit_hist(v, "lateness", &record->lateness);
    visit_hist(v, "post-to-head", &record->post_to_head);
    visit_u64(v, "untold", record->untold);
    visit_answers(v, &record->answers);
    visit_end_struct(v, NULL);
}

static void visit_sq_record(Visitor *v, const NvmeCintLogSq *record)
{
    visit_start_struct(v, NULL, NULL, 0, &error_abort);
    visit_u64(v, "sqid", record->sqid);
    visit_u64(v, "cqid", record->cqid);
    visit_u64(v, "priority", record->priority);
    visit_u64(v, "size", record->sq_size);
    visit_u64(v, "backlog", record->backlog);
    visit_u64(v, "commands", record->commands);
    visit_u64(v, "bytes", record->bytes);
    visit_hist(v, "wait", &record->wait);
    visit_u64(v, "buffers", record->buffers);
    visit_u64(v, "waited-buffers", record->waited_buffers);
    visit_u64(v, "fresh", record->fresh);
    visit_end_struct(v, NULL);
}

static void visit_queues(Visitor *v, const NvmeCtrl *n)
{
    NvmeCintLogRecord record;
    uint32_t i;

    visit_start_list(v, "queues", NULL, 0, &error_abort);
    for (i = 0; n->cint && i <= n->params.max_ioqpairs; i++) {
        if (nvme_cint_cq_at(n, i)) {
            read_record(nvme_cint_cq_at(n, i), &record);
            visit_record(v, &record);
        }
    }
    visit_end_list(v, NULL);
}

static void visit_sqs(Visitor *v, const NvmeCtrl *n)
{
    NvmeCintLogSq record;
    uint32_t i;

    visit_start_list(v, "submission-queues", NULL, 0, &error_abort);
    for (i = 0; n->cint && i <= n->params.max_ioqpairs; i++) {
        if (io_sq_at(n, i)) {
            read_sq_record(io_sq_at(n, i), &record);
            visit_sq_record(v, &record);
        }
    }
    visit_end_list(v, NULL);
}

void nvme_cint_get_stats(Object *obj, Visitor *v, const char *name,
                         void *opaque, Error **errp)
{
    NvmeCtrl *n = NVME(obj);

    if (!visit_start_struct(v, name, NULL, 0, errp)) {
        return;
    }
    visit_text(v, "policy", n->cint ?
               cint_policy_names[n->cint->config.policy] : "off");
    visit_text(v, "time", n->cint && n->cint->virtual_time ? "virtual"
                                                           : "real");
    visit_u64(v, "time-ns", nvme_cint_now());
    visit_u64(v, "instructions", instructions());
    nvme_pause(n);
    visit_queues(v, n);
    visit_sqs(v, n);
    nvme_resume(n);
    visit_end_struct(v, NULL);
}
