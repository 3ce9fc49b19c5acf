/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: takes the records that came along. Nothing begins here before the
 * machine runs.
 *
 * What comes in may be anything: all is checked, and refused with the name of
 * the field and what it may be.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"

#include "cint-arb.h"
#include "cint-carried.h"
#include "cint-cq.h"
#include "cint-hooks.h"
#include "cint-park.h"
#include "cint-props.h"
#include "cint-status.h"

typedef struct Loading {
    NvmeCtrl *n;
    int64_t now;
    NvmeCintKind kind;
    uint32_t index;             /* of the record that is being read */
    const uint64_t *next;       /* its next value */
    CintMisfit misfit;
    Error **errp;
} Loading;

static const char *name_of(const Loading *l)
{
    return nvme_cint_layouts[l->kind].name;
}

static bool refuse(Loading *l)
{
    error_setg(l->errp, "cint: %s %u: %s is %" PRId64 ", not from %" PRId64
               " to %" PRId64, name_of(l), l->index, l->misfit.field,
               l->misfit.value, l->misfit.min, l->misfit.max);
    return false;
}

static bool fits(Loading *l, const char *field, int64_t value, int64_t min,
                 int64_t max)
{
    return cint_fits(&l->misfit, field, value, min, max) || refuse(l);
}

static void begin(Loading *l, NvmeCintKind kind, uint32_t index)
{
    const NvmeCintSaved *saved = l->n->cint->saved;

    l->kind = kind;
    l->index = index;
    l->next = &saved->values[kind][(size_t)index * saved->width[kind]];
}

static const uint64_t *take(Loading *l, const CintField *fields)
{
    const uint64_t *values = l->next;

    l->next += cint_carry_count(fields);
    return values;
}

static bool get(Loading *l, const CintField *fields, void *state)
{
    return cint_carry_load(fields, state, l->now, take(l, fields),
                           &l->misfit) || refuse(l);
}

static bool get_config(Loading *l, CintConfig *config)
{
    const char *conflict;

    if (!get(l, nvme_cint_config_fields, config)) {
        return false;
    }
    if (!cint_config_in_range(config)) {
        error_setg(l->errp, "cint: %s %u: a parameter is below its range",
                   name_of(l), l->index);
        return false;
    }
    conflict = cint_config_conflict(config);
    if (conflict) {
        error_setg(l->errp, "cint: %s %u: %s", name_of(l), l->index, conflict);
        return false;
    }
    return true;
}

static bool load_status(Loading *l, const CarriedController *c)
{
    NvmeCintStatus status = {
        .addr = c->status_addr,
        .records = c->status_records,
    };

    if (!nvme_cint_status_is_valid(l->n, &status)) {
        error_setg(l->errp, "cint: controller: there can be no %u status "
                   "records at 0x%" PRIx64, status.records, status.addr);
        return false;
    }
    l->n->cint->status = status;
    return true;
}

static bool load_pages(Loading *l)
{
    const NvmeCintSaved *saved = l->n->cint->saved;
    CintWaits *waits = &l->n->cint->main.scope.waits;
    uint32_t i, n = saved->count[CINT_KIND_PAGE];

    begin(l, CINT_KIND_PAGE, 0);
    if (n && !fits(l, "pages", n, CINT_WAITS_ENTRIES, CINT_WAITS_ENTRIES)) {
        return false;
    }
    for (i = 0; i < n; i++) {
        cint_page_load(&waits->entry[i], l->now,
                       saved->values[CINT_KIND_PAGE][i]);
    }
    return true;
}

/* What the arbiter has in force is loaded when its queues are there. */
static bool load_controller(Loading *l)
{
    NvmeCint *cint = l->n->cint;
    const NvmeCintSaved *saved = cint->saved;
    CarriedController c;
    uint32_t i;

    begin(l, CINT_KIND_CONTROLLER, 0);
    if (!fits(l, "controllers", saved->count[CINT_KIND_CONTROLLER], 1, 1) ||
        !get(l, nvme_cint_controller_fields, &c) ||
        !fits(l, "arbitration", c.arbitration & 0xf8, 0, 0) ||
        !load_status(l, &c) || !get_config(l, &cint->config)) {
        return false;
    }
    nvme_cint_set_arbitration(cint, c.arbitration);
    for (i = 0; i < CINT_MOST_CDS; i++) {
        if (c.cd[i / 64] >> i % 64 & 1) {
            set_bit(i, cint->cd);
        }
    }
    if (!cint_scope_load(&cint->main.scope, l->now, take(l, cint_scope_fields),
                         &l->misfit)) {
        return refuse(l);
    }
    take(l, cint_arb_fields);
    if (!get(l, cint_media_fields, &cint->media) || !load_pages(l)) {
        return false;
    }
    begin(l, CINT_KIND_VECTOR, 0);
    if (!fits(l, "vectors", saved->count[CINT_KIND_VECTOR],
              l->n->params.msix_qsize, l->n->params.msix_qsize)) {
        return false;
    }
    memcpy(cint->vector_irqs, saved->values[CINT_KIND_VECTOR],
           saved->count[CINT_KIND_VECTOR] * sizeof(uint64_t));
    return true;
}

static bool load_arbiter(Loading *l)
{
    begin(l, CINT_KIND_CONTROLLER, 0);
    take(l, nvme_cint_controller_fields);
    take(l, nvme_cint_config_fields);
    take(l, cint_scope_fields);
    return cint_arb_load(&l->n->cint->arb, take(l, cint_arb_fields),
                         &l->misfit) || refuse(l);
}

static int64_t or_none(int64_t time)
{
    return time == CINT_CARRY_NEVER ? -1 : time;
}

static bool load_cq_stats(Loading *l, NvmeCintCq *ccq, const CarriedCq *c)
{
    NvmeCintStats *stats = &ccq->stats;
    uint32_t last = ccq->cq->size - 1;

    stats->next_slot = c->next_slot;
    stats->first_uncovered = c->first_uncovered;
    stats->first_unreaped = c->first_unreaped;
    stats->asked_ns = or_none(c->asked_ns);
    return fits(l, "next_slot", c->next_slot, 0, last) &&
           fits(l, "first_uncovered", c->first_uncovered, 0, last) &&
           fits(l, "first_unreaped", c->first_unreaped, 0, last) &&
           get(l, nvme_cint_log_fields, &stats->log);
}

static void load_record(NvmeCintCq *ccq, const CarriedCq *c)
{
    const NvmeCintStatus *status = &ccq->cq->ctrl->cint->status;

    ccq->notices.seq = c->seq;
    ccq->notices.full_tail = c->full_tail;
    ccq->notices.has_record = c->cqid && c->cqid < status->records;
    ccq->notices.record_addr = status->addr +
                               c->cqid * sizeof(NvmeCintRecord);
}

static bool load_engine(Loading *l, NvmeCintCq *ccq)
{
    CintConfig config;

    if (!get_config(l, &config)) {
        return false;
    }
    cint_cq_init(&ccq->engine, &ccq->server->scope, ccq->cq->size, &config);
    return cint_cq_load(&ccq->engine, l->now, take(l, cint_cq_fields),
                        &l->misfit) || refuse(l);
}

/* What the engine has and the device's queue has, too. */
static bool engine_agrees(Loading *l, NvmeCintCq *ccq)
{
    const CintCq *engine = &ccq->engine;
    const NvmeCQueue *cq = ccq->cq;
    uint32_t outstanding = (cq->tail + cq->size - cq->head) % cq->size;
    bool may_have = ccq->coalesce && ccq->notices.has_record;

    if (!ccq->coalesce) {
        return fits(l, "tail", engine->tail, 0, 0);
    }
    return fits(l, "tail - head", engine->tail - engine->head,
                cq->ctrl->dbbuf_enabled ? 0 : outstanding, cq->size - 1) &&
           fits(l, "has_record", engine->has_record, may_have, may_have);
}

static bool load_cq(Loading *l, uint32_t index, uint32_t *least)
{
    NvmeCtrl *n = l->n;
    NvmeCintCq *ccq;
    CarriedCq c;

    begin(l, CINT_KIND_CQ, index);
    if (!get(l, nvme_cint_cq_fields, &c) ||
        !fits(l, "cqid", c.cqid, *least, n->params.max_ioqpairs)) {
        return false;
    }
    *least = c.cqid + 1;
    ccq = nvme_cint_cq_at(n, c.cqid);
    if (!ccq) {
        error_setg(l->errp, "cint: cq %u: there is no CQ %u", index, c.cqid);
        return false;
    }
    if (!fits(l, "pointer_index", c.pointer_index, 0, ccq->cq->size - 1) ||
        !load_engine(l, ccq) || !load_cq_stats(l, ccq, &c)) {
        return false;
    }
    load_record(ccq, &c);
    ccq->pointer_index = c.pointer_index;
    ccq->turns = c.turns;
    nvme_cq_set_pending(n, ccq->cq, c.pending);
    return engine_agrees(l, ccq);
}

static bool load_posted(Loading *l, uint32_t index, uint32_t *slot,
                        uint32_t *cqid)
{
    NvmeCintStats *stats;
    NvmeCintCq *ccq;
    CarriedPosted c;

    begin(l, CINT_KIND_POSTED, index);
    if (!get(l, nvme_cint_posted_fields, &c) ||
        !fits(l, "cqid", c.cqid, *cqid, l->n->params.max_ioqpairs)) {
        return false;
    }
    ccq = nvme_cint_cq_at(l->n, c.cqid);
    if (!fits(l, "cqid", c.cqid, 0, ccq ? INT64_MAX : -1)) {
        return false;
    }
    stats = &ccq->stats;
    *slot = c.cqid == *cqid ? *slot : stats->first_unreaped;
    *cqid = c.cqid;
    if (!fits(l, "posted CQEs", 1, 0, *slot != stats->next_slot)) {
        return false;
    }
    stats->posted[*slot] = (NvmeCintPosted) {
        .post_ns = c.post_ns,
        .irq_ns = or_none(c.irq_ns),
        .class = c.class,
    };
    *slot = nvme_cint_next_index(stats, *slot);
    return true;
}

static bool load_cqs(Loading *l)
{
    const NvmeCintSaved *saved = l->n->cint->saved;
    uint32_t i, slot = 0, cqid = 0, least = 0, queues = 0;

    for (i = 0; i <= l->n->params.max_ioqpairs; i++) {
        queues += l->n->cq[i] != NULL;
    }
    begin(l, CINT_KIND_CQ, 0);
    if (!fits(l, "queues", saved->count[CINT_KIND_CQ], queues, queues)) {
        return false;
    }
    for (i = 0; i < saved->count[CINT_KIND_CQ]; i++) {
        if (!load_cq(l, i, &least)) {
            return false;
        }
    }
    for (i = 0; i < saved->count[CINT_KIND_POSTED]; i++) {
        if (!load_posted(l, i, &slot, &cqid)) {
            return false;
        }
    }
    return true;
}

static NvmeCintSq *sq_at(Loading *l, uint32_t sqid)
{
    NvmeSQueue *sq = sqid <= l->n->params.max_ioqpairs ? l->n->sq[sqid]
                                                       : NULL;

    if (!sq) {
        error_setg(l->errp, "cint: %s %u: there is no SQ %u",
                   name_of(l), l->index, sqid);
        return NULL;
    }
    return sq->cint;
}

/* In the order of their lines, which is that of the records' places. */
static bool load_sq(Loading *l, uint32_t index, uint32_t place, uint32_t *next)
{
    CintArbSq *arb;
    NvmeCintSq *csq;
    CarriedSq c;

    begin(l, CINT_KIND_SQ, index);
    if (!get(l, nvme_cint_sq_fields, &c)) {
        return false;
    }
    *next = c.place > place ? MIN(*next, c.place) : *next;
    if (c.place != place) {
        return true;
    }
    csq = sq_at(l, c.sqid);
    if (!csq || !fits(l, "backlog", c.backlog, 0, csq->sq->size - 1) ||
        !fits(l, "marked", c.marked, 0, csq->sq->size - 1)) {
        return false;
    }
    csq->backlog = c.backlog;
    csq->fetched = c.fetched;
    csq->marked = c.marked;
    csq->stats.batch_ns = c.batch_ns;
    if (!cint_sq_load(&csq->engine, l->now, take(l, cint_sq_fields),
                      &l->misfit)) {
        return refuse(l);
    }
    arb = &csq->arb;
    if (c.sqid) {
        nvme_cint_arb_add(csq, CINT_ARB_URGENT);
    }
    if (!cint_arb_sq_load(&l->n->cint->arb, arb, take(l, cint_arb_sq_fields),
                          &l->misfit)) {
        return refuse(l);
    }
    return fits(l, "arb.backlog", arb->backlog, 0,
                c.sqid ? csq->sq->size - 1 : 0) &&
           get(l, nvme_cint_sq_log_fields, &csq->stats.log);
}

static bool load_slots(Loading *l, NvmeCintKind kind)
{
    uint32_t i;

    for (i = 0; i < l->n->cint->saved->count[kind]; i++) {
        NvmeCintSq *csq;
        CarriedSlot c;

        begin(l, kind, i);
        if (!get(l, nvme_cint_slot_fields, &c)) {
            return false;
        }
        csq = sq_at(l, c.sqid);
        if (!csq || !fits(l, "slot", c.slot, 0, csq->sq->size - 1)) {
            return false;
        }
        if (kind == CINT_KIND_RUNG) {
            csq->stats.rung_ns[c.slot] = c.time;
        } else {
            set_bit(c.slot, csq->batch_ends);
        }
    }
    return true;
}

/* Each queue has one, in the order of their identifiers. */
static bool check_sq_records(Loading *l)
{
    const NvmeCintSaved *saved = l->n->cint->saved;
    uint32_t i, least = 0, queues = 0;
    CarriedSq c;

    for (i = 0; i <= l->n->params.max_ioqpairs; i++) {
        queues += l->n->sq[i] != NULL;
    }
    begin(l, CINT_KIND_SQ, 0);
    if (!fits(l, "queues", saved->count[CINT_KIND_SQ], queues, queues)) {
        return false;
    }
    for (i = 0; i < queues; i++) {
        begin(l, CINT_KIND_SQ, i);
        if (!get(l, nvme_cint_sq_fields, &c) ||
            !fits(l, "sqid", c.sqid, least, l->n->params.max_ioqpairs)) {
            return false;
        }
        least = c.sqid + 1;
    }
    return true;
}

static bool load_sqs(Loading *l)
{
    const NvmeCintSaved *saved = l->n->cint->saved;
    uint32_t i, place = 0, next;

    if (!check_sq_records(l)) {
        return false;
    }
    do {
        next = UINT32_MAX;
        for (i = 0; i < saved->count[CINT_KIND_SQ]; i++) {
            if (!load_sq(l, i, place, &next)) {
                return false;
            }
        }
        place = next;
    } while (place != UINT32_MAX);
    return load_arbiter(l) && load_slots(l, CINT_KIND_RUNG) &&
           load_slots(l, CINT_KIND_BATCH_END);
}

/* ---- Commands ---- */

typedef struct Command {
    CarriedCommand c;
    CintCarriedCmd cmd;
    CintMediaClaim claim;
    NvmeCintReq *creq;
} Command;

static bool get_command(Loading *l, uint32_t index, Command *command)
{
    begin(l, CINT_KIND_CMD, index);
    command->creq = NULL;
    if (!get(l, nvme_cint_command_fields, &command->c) ||
        !get(l, cint_cmd_fields, &command->cmd)) {
        return false;
    }
    return cint_claim_load(&command->claim, l->now, take(l, cint_claim_fields),
                           &l->misfit) || refuse(l);
}

/* A request for a command that waits for the medium. */
static NvmeRequest *new_request(Loading *l, NvmeSQueue *sq)
{
    NvmeRequest *req = QTAILQ_FIRST(&sq->req_list);

    if (!req) {
        error_setg(l->errp, "cint: cmd %u: SQ %u has %u entries, and no more "
                   "commands", l->index, sq->sqid, sq->size);
        return NULL;
    }
    QTAILQ_REMOVE(&sq->req_list, req, entry);
    QTAILQ_INSERT_TAIL(&sq->out_req_list, req, entry);
    req->ns = NULL;
    req->opaque = NULL;
    req->aiocb = NULL;
    return req;
}

/* The request of a command that waits to be posted: it has one already. */
static NvmeRequest *posted_request(Loading *l, NvmeSQueue *sq, uint32_t place)
{
    NvmeRequest *req;
    uint32_t i = 0;

    QTAILQ_FOREACH(req, &l->n->cq[sq->cqid]->req_list, entry) {
        if (i++ == place && req->sq == sq && !nvme_cint_req(req)->ready) {
            return req;
        }
    }
    error_setg(l->errp, "cint: cmd %u: there is no command of SQ %u at place "
               "%u", l->index, sq->sqid, place);
    return NULL;
}

/* A structure of the wire, whatever the host's byte order. */
static void from_words(void *wire, const uint64_t *words, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        stq_le_p((char *)wire + i * 8, words[i]);
    }
}

static bool load_command(Loading *l, uint32_t index, Command *command)
{
    const CarriedCommand *c = &command->c;
    NvmeCintSq *csq = sq_at(l, c->sqid);
    NvmeRequest *req;

    l->index = index;
    if (!csq) {
        return false;
    }
    req = c->in_media ? new_request(l, csq->sq)
                      : posted_request(l, csq->sq, c->place);
    if (!req) {
        return false;
    }
    req->status = c->status;
    from_words(&req->cmd, c->cmd, CINT_CMD_WORDS);
    from_words(&req->cqe, c->cqe, CINT_CQE_WORDS);
    command->creq = nvme_cint_req(req);
    command->creq->due_ns = c->due_ns;
    command->creq->claim = command->claim;
    command->creq->ready = true;
    command->creq->turn = c->turn;
    command->creq->holds_slot = c->holds_slot;
    l->n->cint->arb.used += c->holds_slot;
    return true;
}

/* Those that the engine knows are submitted anew, one after the other. */
static bool load_flight(Loading *l, Command *command, uint32_t *order)
{
    const CarriedCommand *c = &command->c;
    NvmeSQueue *sq = command->creq->req->sq;

    if (c->order == CINT_APART_ORDER) {
        return fits(l, "order", -1, nvme_cint_cq_of(sq)->coalesce ? 0 : -1,
                    INT64_MAX);
    }
    if (!fits(l, "order", c->order, *order,
              nvme_cint_cq_of(sq)->coalesce ? *order : -1)) {
        return false;
    }
    (*order)++;
    return cint_cmd_load(&sq->cint->engine, &command->creq->cmd, &command->cmd,
                         &l->misfit) || refuse(l);
}

/* By SQ, and in each in order of submission. */
static int by_order(const void *a, const void *b)
{
    const CarriedCommand *x = &((const Command *)a)->c;
    const CarriedCommand *y = &((const Command *)b)->c;

    return x->sqid != y->sqid ? (x->sqid < y->sqid ? -1 : 1) :
           x->order != y->order ? (x->order < y->order ? -1 : 1) : 0;
}

/* In the order in which the medium is done with them. */
static int by_due(const void *a, const void *b)
{
    const CarriedCommand *x = &((const Command *)a)->c;
    const CarriedCommand *y = &((const Command *)b)->c;

    return x->due_ns != y->due_ns ? (x->due_ns < y->due_ns ? -1 : 1) :
           x->turn != y->turn ? (x->turn < y->turn ? -1 : 1) : 0;
}

static bool load_flights(Loading *l, Command *commands, uint32_t n)
{
    uint32_t i, order = 0;

    qsort(commands, n, sizeof(*commands), by_order);
    for (i = 0; i < n; i++) {
        order = i && commands[i].c.sqid == commands[i - 1].c.sqid ? order : 0;
        if (!load_command(l, i, &commands[i]) ||
            !load_flight(l, &commands[i], &order)) {
            return false;
        }
    }
    qsort(commands, n, sizeof(*commands), by_due);
    for (i = 0; i < n; i++) {
        if (commands[i].c.in_media) {
            nvme_cint_return_to_media(commands[i].creq);
        }
    }
    return true;
}

/* What waits to be posted has come along, each command of it. */
static bool check_posted(Loading *l)
{
    const NvmeRequest *req;
    uint32_t i;

    for (i = 0; i <= l->n->params.max_ioqpairs; i++) {
        if (!l->n->cq[i]) {
            continue;
        }
        QTAILQ_FOREACH(req, &l->n->cq[i]->req_list, entry) {
            if (!nvme_cint_req(req)->ready) {
                error_setg(l->errp, "cint: cmd: one of SQ %u is missing that "
                           "waits in CQ %u", req->sq->sqid, i);
                return false;
            }
        }
    }
    return true;
}

static bool load_cmds(Loading *l)
{
    uint32_t i, n = l->n->cint->saved->count[CINT_KIND_CMD];
    g_autofree Command *commands = g_new(Command, n);

    for (i = 0; i < n; i++) {
        if (!get_command(l, i, &commands[i])) {
            return false;
        }
    }
    return load_flights(l, commands, n) && check_posted(l);
}

/* ---- The whole ---- */

/* Queues that came in: what is loaded here goes by them. */
static bool check_cq(NvmeCtrl *n, const NvmeCQueue *cq, Error **errp)
{
    if (cq->size < 2 || cq->size > n->params.mqes + 1u) {
        error_setg(errp, "CQ %u: size is %u, not from 2 to %u", cq->cqid,
                   cq->size, n->params.mqes + 1u);
    } else if (cq->head >= cq->size || cq->tail >= cq->size) {
        error_setg(errp, "CQ %u: head is %u and tail %u, not from 0 to %u",
                   cq->cqid, cq->head, cq->tail, cq->size - 1);
    } else if (cq->vector >= n->params.msix_qsize) {
        error_setg(errp, "CQ %u: vector is %u, not from 0 to %u", cq->cqid,
                   cq->vector, n->params.msix_qsize - 1);
    } else {
        return true;
    }
    return false;
}

static bool check_sq(NvmeCtrl *n, const NvmeSQueue *sq, Error **errp)
{
    if (sq->size < 2 || sq->size > n->params.mqes + 1u) {
        error_setg(errp, "SQ %u: size is %u, not from 2 to %u", sq->sqid,
                   sq->size, n->params.mqes + 1u);
    } else if (sq->head >= sq->size || sq->tail >= sq->size) {
        error_setg(errp, "SQ %u: head is %u and tail %u, not from 0 to %u",
                   sq->sqid, sq->head, sq->tail, sq->size - 1);
    } else if (sq->cqid > n->params.max_ioqpairs || !n->cq[sq->cqid]) {
        error_setg(errp, "SQ %u: there is no CQ %u", sq->sqid, sq->cqid);
    } else {
        return true;
    }
    return false;
}

/* What waits to be posted takes requests of its SQs. */
static bool check_requests(NvmeCtrl *n, const NvmeCQueue *cq, uint32_t *left,
                           Error **errp)
{
    const NvmeRequest *req;

    QTAILQ_FOREACH(req, &cq->req_list, entry) {
        uint16_t sqid = le16_to_cpu(req->cqe.sq_id);

        if (sqid > n->params.max_ioqpairs || !n->sq[sqid] || !left[sqid]) {
            error_setg(errp, "CQ %u: a completion is of SQ %u, which has no "
                       "more", cq->cqid, sqid);
            return false;
        }
        left[sqid]--;
    }
    return true;
}

bool nvme_cint_do_check_load(NvmeCtrl *n, Error **errp)
{
    uint32_t i, queues = n->params.max_ioqpairs + 1;
    g_autofree uint32_t *left = g_new0(uint32_t, queues);

    if (!n->cint->saved) {
        error_setg(errp, "cint is on here and off where the machine comes "
                   "from");
        return false;
    }
    for (i = 0; i < queues; i++) {
        if ((n->cq[i] && !check_cq(n, n->cq[i], errp)) ||
            (n->sq[i] && !check_sq(n, n->sq[i], errp))) {
            return false;
        }
        left[i] = n->sq[i] ? n->sq[i]->size : 0;
    }
    for (i = 0; i < queues; i++) {
        if (n->cq[i] && !check_requests(n, n->cq[i], left, errp)) {
            return false;
        }
    }
    return true;
}

static bool load_props(Loading *l)
{
    const NvmeCintSaved *saved = l->n->cint->saved;
    uint32_t i, count = nvme_cint_nr_props();

    begin(l, CINT_KIND_PROPERTY, 0);
    if (!fits(l, "properties", saved->count[CINT_KIND_PROPERTY], count,
              count)) {
        return false;
    }
    for (i = 0; i < count; i++) {
        if (!nvme_cint_prop_is(l->n, i, saved->values[CINT_KIND_PROPERTY][i],
                               l->errp)) {
            return false;
        }
    }
    return true;
}

bool nvme_cint_do_load(NvmeCtrl *n, Error **errp)
{
    Loading l = { .n = n, .now = nvme_cint_now(), .errp = errp };
    bool done = load_props(&l) && load_controller(&l) && load_cqs(&l) &&
                load_sqs(&l) && load_cmds(&l);

    nvme_cint_free_saved(n->cint);
    n->cint->resume = true;
    return done;
}
