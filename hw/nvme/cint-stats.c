/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: statistics of each completion queue, read by the guest as log page
 * D0h and by the host as QOM property "cint-stats". Both show the same record.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qapi/visitor.h"
#include "hw/pci/msix.h"

#include "cint.h"
#include "trace.h"

static uint8_t class_of(uint8_t hints)
{
    return hints == NVME_CINT_HINT_BOTH ? NVME_CINT_HINT_NONE : hints;
}

static void hist_add(NvmeCintHist *hist, int64_t ns)
{
    uint64_t value = MAX(ns, 0);
    int bucket = value ? 64 - clz64(value) : 0;

    hist->sum_ns += value;
    hist->max_ns = MAX(hist->max_ns, value);
    hist->bucket[MIN(bucket, NVME_CINT_HIST_BUCKETS - 1)]++;
}

static uint32_t next_index(const NvmeCintCq *c, uint32_t index)
{
    return index + 1 == c->cq->size ? 0 : index + 1;
}

void nvme_cint_count_post(NvmeCintCq *c, const NvmeCintReq *r, int64_t now)
{
    int source;

    c->posted[c->next_slot] = (NvmeCintPosted) {
        .post_ns = now,
        .irq_ns = -1,
        .class = class_of(r->cmd.hints),
    };
    c->next_slot = next_index(c, c->next_slot);
    c->stats.cmds_by_hint[r->cmd.hints]++;
    for (source = 0; source < NVME_CINT_NR_SOURCES; source++) {
        c->stats.cmds_by_source[source] += (r->cmd.sources >> source) & 1;
    }
}

static bool is_covered(const NvmeCintPosted *p)
{
    return p->irq_ns >= 0;
}

/* What an urgent interrupt tells of: the entry just posted. */
static NvmeCintPosted *newest(NvmeCintCq *c)
{
    return &c->posted[(c->next_slot + c->cq->size - 1) % c->cq->size];
}

int64_t nvme_cint_oldest_hold(NvmeCintCq *c, const CintAction *action,
                              int64_t now)
{
    uint32_t i = c->first_uncovered;

    if (action->fire == CINT_FIRE_URGENT) {
        return now - newest(c)->post_ns;
    }
    while (i != c->next_slot && is_covered(&c->posted[i])) {
        i = next_index(c, i);
    }
    return i != c->next_slot ? now - c->posted[i].post_ns : 0;
}

static void cover(NvmeCintCq *c, NvmeCintPosted *p, int64_t now)
{
    p->irq_ns = now;
    hist_add(&c->stats.hold[p->class], now - p->post_ns);
}

static void cover_all(NvmeCintCq *c, int64_t now)
{
    for (; c->first_uncovered != c->next_slot;
         c->first_uncovered = next_index(c, c->first_uncovered)) {
        NvmeCintPosted *p = &c->posted[c->first_uncovered];

        if (!is_covered(p)) {
            cover(c, p, now);
        }
    }
}

void nvme_cint_count_irq(NvmeCintCq *c, const CintAction *action, int64_t now)
{
    NvmeCQueue *cq = c->cq;
    PCIDevice *pci = PCI_DEVICE(cq->ctrl);

    c->stats.irqs_by_reason[action->reason]++;
    if (msix_enabled(pci) && msix_is_masked(pci, cq->vector)) {
        c->stats.irqs_masked++;
    }
    if (action->fire == CINT_FIRE_URGENT) {
        c->stats.irqs_urgent++;
        cover(c, newest(c), now);
    } else {
        c->stats.irqs_full++;
        cover_all(c, now);
    }
}

/* The guest consumed everything before cq->head, a valid index. */
void nvme_cint_count_reaped(NvmeCintCq *c, int64_t now)
{
    while (c->first_unreaped != c->cq->head &&
           c->first_unreaped != c->next_slot) {
        NvmeCintPosted *p = &c->posted[c->first_unreaped];

        if (is_covered(p)) {
            hist_add(&c->stats.reap[p->class], now - p->irq_ns);
        }
        if (c->first_unreaped == c->first_uncovered) {
            c->first_uncovered = next_index(c, c->first_unreaped);
        }
        c->first_unreaped = next_index(c, c->first_unreaped);
    }
}

void nvme_cint_count_lateness(NvmeCintCq *c, int64_t deadline, int64_t now)
{
    hist_add(&c->stats.lateness, now - deadline);
}

static void read_record(NvmeCintCq *c, NvmeCintLogRecord *record)
{
    CintCq *engine = &c->engine;

    *record = c->stats;
    record->cqid = c->cq->cqid;
    record->vector = c->cq->vector;
    record->policy = engine->config.policy;
    record->irq_enabled = c->cq->irq_enabled;
    record->cq_size = c->cq->size;
    record->inflight = engine->inflight;
    record->delta_ns = engine->delta_ns;
    record->thr = engine->thr;
    record->pending = engine->pending;
    record->storm_ewma_ns = cint_storm_ewma(engine);
    record->storm_held = engine->storm.held;
    if (engine->config.policy == NVME_CINT_POLICY_VIC) {
        record->ratio_up = cint_vic_epoch(engine)->up;
        record->ratio_skip = cint_vic_epoch(engine)->skip;
    }
}

static void record_to_le(NvmeCintLogRecord *record)
{
    uint64_t *counter = &record->cqes;
    uint64_t *end = (uint64_t *)record->rsvd2352;

    QEMU_BUILD_BUG_ON(sizeof(NvmeCintLogRecord) != 2560);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogRecord, cqes) != 32);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogRecord, irqs_by_reason) != 192);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogRecord, hold) != 448);
    QEMU_BUILD_BUG_ON(offsetof(NvmeCintLogRecord, rsvd2352) != 2352);

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

static NvmeCintCq *cint_cq_at(NvmeCtrl *n, uint32_t cqid)
{
    return n->cq[cqid] ? n->cq[cqid]->cint : NULL;
}

static uint32_t count_queues(NvmeCtrl *n)
{
    uint32_t i, queues = 0;

    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        queues += !!cint_cq_at(n, i);
    }
    return queues;
}

static void reset_counters(NvmeCtrl *n)
{
    uint32_t i;

    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        NvmeCintCq *c = cint_cq_at(n, i);

        if (c) {
            memset(&c->stats, 0, sizeof(c->stats));
            c->engine.storm.held = 0;
        }
    }
}

uint16_t nvme_cint_log(NvmeCtrl *n, uint32_t len, uint64_t off,
                       NvmeRequest *req)
{
    uint32_t i, records = count_queues(n);
    size_t size = sizeof(NvmeCintLogHeader) +
                  records * sizeof(NvmeCintLogRecord);
    g_autofree uint8_t *page = NULL;
    NvmeCintLogHeader *header;
    NvmeCintLogRecord *record;
    uint8_t lsp = (le32_to_cpu(req->cmd.cdw10) >> 8) & 0xf;
    uint16_t status;

    if (off >= size) {
        trace_pci_nvme_err_invalid_log_page_offset(off, size);
        return NVME_INVALID_FIELD | NVME_DNR;
    }

    page = g_malloc0(size);
    header = (NvmeCintLogHeader *)page;
    header->magic = cpu_to_le32(NVME_CINT_MAGIC);
    header->version = cpu_to_le16(NVME_CINT_VERSION);
    header->header_size = cpu_to_le16(sizeof(*header));
    header->record_size = cpu_to_le32(sizeof(*record));
    header->records = cpu_to_le16(records);
    header->policy = n->cint->config.policy;
    header->virtual_time = n->cint->virtual_time;
    header->time_ns = cpu_to_le64(nvme_cint_now());

    record = (NvmeCintLogRecord *)(header + 1);
    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        if (cint_cq_at(n, i)) {
            read_record(cint_cq_at(n, i), record);
            record_to_le(record);
            record++;
        }
    }

    status = nvme_c2h(n, page + off, MIN(size - off, len), req);
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

static void visit_record(Visitor *v, const NvmeCintLogRecord *r)
{
    static const char *const hints[NVME_CINT_NR_HINTS] = {
        "cmds-unmarked", "cmds-urgent", "cmds-barrier", "cmds-both-hints",
    };
    static const char *const sources[] = {
        [NVME_CINT_SOURCE_CDW0]     = "hints-cdw0",
        [NVME_CINT_SOURCE_CDW13]    = "hints-cdw13",
        [NVME_CINT_SOURCE_INFERRED] = "hints-inferred",
    };
    static const char *const classes[NVME_CINT_NR_CLASSES] = {
        "unmarked", "urgent", "barrier",
    };
    int i;

    visit_start_struct(v, NULL, NULL, 0, &error_abort);
    visit_u64(v, "cqid", r->cqid);
    visit_u64(v, "vector", r->vector);
    visit_text(v, "policy", cint_policy_names[r->policy]);
    visit_u64(v, "size", r->cq_size);
    visit_u64(v, "inflight", r->inflight);
    visit_u64(v, "pending", r->pending);
    visit_u64(v, "delta-ns", r->delta_ns);
    visit_u64(v, "thr", r->thr);
    visit_u64(v, "cqes", r->cqes);
    visit_u64(v, "irqs", r->irqs_full + r->irqs_urgent);
    visit_u64(v, "irqs-full", r->irqs_full);
    visit_u64(v, "irqs-urgent", r->irqs_urgent);
    visit_u64(v, "irqs-masked", r->irqs_masked);
    visit_reasons(v, r);
    visit_u64(v, "avoided", r->avoided);
    visit_u64(v, "ratio-up", r->ratio_up);
    visit_u64(v, "ratio-skip", r->ratio_skip);
    visit_u64(v, "reruns", r->reruns);
    for (i = 0; i < NVME_CINT_NR_HINTS; i++) {
        visit_u64(v, hints[i], r->cmds_by_hint[i]);
    }
    for (i = 0; i < ARRAY_SIZE(sources); i++) {
        visit_u64(v, sources[i], r->cmds_by_source[i]);
    }
    visit_u64(v, "storm-ewma-ns", r->storm_ewma_ns);
    visit_u64(v, "storm-held", r->storm_held);
    visit_u64(v, "pointer-arms", r->pointer_arms);
    visit_u64(v, "pointer-rejects", r->pointer_rejects);
    for (i = 0; i < NVME_CINT_NR_CLASSES; i++) {
        g_autofree char *hold = g_strdup_printf("hold-%s", classes[i]);
        g_autofree char *reap = g_strdup_printf("reap-%s", classes[i]);

        visit_hist(v, hold, &r->hold[i]);
        visit_hist(v, reap, &r->reap[i]);
    }
    visit_hist(v, "lateness", &r->lateness);
    visit_end_struct(v, NULL);
}

void nvme_cint_get_stats(Object *obj, Visitor *v, const char *name,
                         void *opaque, Error **errp)
{
    NvmeCtrl *n = NVME(obj);
    NvmeCintLogRecord record;
    uint32_t i;

    if (!visit_start_struct(v, name, NULL, 0, errp)) {
        return;
    }
    visit_text(v, "policy", n->cint ?
               cint_policy_names[n->cint->config.policy] : "off");
    visit_text(v, "time", n->cint && n->cint->virtual_time ? "virtual"
                                                           : "real");
    visit_u64(v, "time-ns", nvme_cint_now());
    visit_start_list(v, "queues", NULL, 0, &error_abort);
    for (i = 0; n->cint && i <= n->params.max_ioqpairs; i++) {
        if (cint_cq_at(n, i)) {
            read_record(cint_cq_at(n, i), &record);
            visit_record(v, &record);
        }
    }
    visit_end_list(v, NULL);
    visit_end_struct(v, NULL);
}
