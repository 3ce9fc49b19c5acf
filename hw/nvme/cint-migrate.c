/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: what goes along when the machine goes elsewhere, in a subsection that
 * is there with cint=on alone. QEMU since 11.1 asks for it; before, no nvme
 * device can be migrated.
 *
 * A record is a row of 64-bit values: of the controller, of a queue, of a
 * command. Its fields are tables (coalesce/carry.h), from which the description
 * for QEMU is made as well, so each value has its name there.
 *
 * Nothing is posted, written or sent meanwhile: the guest's memory has been
 * saved. A command that waits for the medium, or for room in its queue, goes
 * along. Here nothing begins before the machine runs.
 *
 * What comes in may be anything: all is checked, and refused with the name of
 * the field and what it may be.
 */
#include "qemu/osdep.h"
#include "hw/pci/msix.h"
#include "migration/vmstate.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"

#include "cint-arb.h"
#include "cint-cq.h"
#include "cint-hooks.h"
#include "cint-migrate.h"
#include "cint-park.h"
#include "cint-props.h"
#include "cint-status.h"
#include "coalesce/carried.h"
#include "model/carried.h"

/* ---- Records ---- */

typedef enum Kind {
    KIND_PROPERTY,
    KIND_CONTROLLER,
    KIND_VECTOR,
    KIND_PAGE,
    KIND_CQ,
    KIND_POSTED,
    KIND_SQ,
    KIND_RUNG,
    KIND_BATCH_END,
    KIND_CMD,
    NR_KINDS,
} Kind;

struct NvmeCintSaved {
    NvmeCtrl *n;
    uint32_t width[NR_KINDS];   /* values of a record */
    uint32_t count[NR_KINDS];   /* records */
    uint64_t *values[NR_KINDS];
};

#define MOST_CDS    (PCI_MSIX_FLAGS_QSIZE + 1)

typedef struct CarriedController {
    uint32_t arbitration;
    uint32_t status_records;
    uint64_t status_addr;
    uint64_t cd[DIV_ROUND_UP(MOST_CDS, 64)];
} CarriedController;

typedef struct CarriedCq {
    uint32_t cqid;
    uint32_t seq;
    uint32_t full_tail;
    uint32_t pointer_index;
    uint32_t next_slot;
    uint32_t first_uncovered;
    uint32_t first_unreaped;
    int64_t asked_ns;
    uint64_t turns;
    bool pending;               /* counted for the pin */
} CarriedCq;

typedef struct CarriedPosted {
    uint32_t cqid;
    uint8_t class;
    int64_t post_ns;
    int64_t irq_ns;             /* CINT_CARRY_NEVER: not told of */
} CarriedPosted;

typedef struct CarriedSq {
    uint32_t sqid;
    uint32_t backlog;
    uint32_t fetched;
    uint32_t marked;
    uint32_t place;             /* in the line for slots */
    int64_t batch_ns;
} CarriedSq;

typedef struct CarriedSlot {
    uint32_t sqid;
    uint32_t slot;
    int64_t time;               /* not of a batch's end */
} CarriedSlot;

#define CMD_WORDS   (sizeof(NvmeCmd) / 8)
#define CQE_WORDS   (sizeof(NvmeCqe) / 8)
#define APART_ORDER UINT32_MAX  /* the engine does not know the command */

typedef struct CarriedCommand {
    uint32_t sqid;
    uint32_t order;             /* among those in flight from the SQ */
    uint32_t place;             /* in cq->req_list, if it is not in media */
    bool in_media;
    bool holds_slot;
    uint16_t status;
    uint64_t turn;
    int64_t due_ns;
    uint64_t cmd[CMD_WORDS];
    uint64_t cqe[CQE_WORDS];
} CarriedCommand;

static const CintField property_fields[] = {
    { .name = "value", .count = 1, .size = 8, .max = UINT64_MAX },
    { .name = NULL },
};

static const CintField controller_fields[] = {
    CINT_CARRY_ALL(CarriedController, arbitration),
    CINT_CARRY_ALL(CarriedController, status_records),
    CINT_CARRY_ALL(CarriedController, status_addr),
    CINT_CARRY_ARRAY(CarriedController, cd),
    { .name = NULL },
};

static const CintField cq_fields[] = {
    CINT_CARRY_ALL(CarriedCq, cqid),
    CINT_CARRY_ALL(CarriedCq, seq),
    CINT_CARRY_ALL(CarriedCq, full_tail),
    CINT_CARRY_ALL(CarriedCq, pointer_index),
    CINT_CARRY_ALL(CarriedCq, next_slot),
    CINT_CARRY_ALL(CarriedCq, first_uncovered),
    CINT_CARRY_ALL(CarriedCq, first_unreaped),
    CINT_CARRY_TIME(CarriedCq, asked_ns),
    CINT_CARRY_ALL(CarriedCq, turns),
    CINT_CARRY_BOOL(CarriedCq, pending),
    { .name = NULL },
};

/* The engine's parameters, in the order of their list; and the policy's. */
static CintField config_fields[64];

#define LOG_WORDS(type, first, behind)  \
    ((offsetof(type, behind) - offsetof(type, first)) / 8)

static const CintField log_fields[] = {
    CINT_CARRY(NvmeCintLogRecord, cqes,
               LOG_WORDS(NvmeCintLogRecord, cqes, rsvd2672), 8, VALUE,
               UINT64_MAX),
    { .name = NULL },
};

static const CintField sq_log_fields[] = {
    CINT_CARRY(NvmeCintLogSq, commands,
               LOG_WORDS(NvmeCintLogSq, commands, buffers), 8, VALUE,
               UINT64_MAX),
    { .name = NULL },
};

static const CintField posted_fields[] = {
    CINT_CARRY_ALL(CarriedPosted, cqid),
    CINT_CARRY_MOST(CarriedPosted, class, NVME_CINT_NR_CLASSES - 1),
    CINT_CARRY_PAST(CarriedPosted, post_ns),
    CINT_CARRY_TIME(CarriedPosted, irq_ns),
    { .name = NULL },
};

static const CintField sq_fields[] = {
    CINT_CARRY_ALL(CarriedSq, sqid),
    CINT_CARRY_ALL(CarriedSq, backlog),
    CINT_CARRY_ALL(CarriedSq, fetched),
    CINT_CARRY_ALL(CarriedSq, marked),
    CINT_CARRY_ALL(CarriedSq, place),
    CINT_CARRY_PAST(CarriedSq, batch_ns),
    { .name = NULL },
};

static const CintField slot_fields[] = {
    CINT_CARRY_ALL(CarriedSlot, sqid),
    CINT_CARRY_ALL(CarriedSlot, slot),
    CINT_CARRY_PAST(CarriedSlot, time),
    { .name = NULL },
};

static const CintField command_fields[] = {
    CINT_CARRY_ALL(CarriedCommand, sqid),
    CINT_CARRY_ALL(CarriedCommand, order),
    CINT_CARRY_ALL(CarriedCommand, place),
    CINT_CARRY_BOOL(CarriedCommand, in_media),
    CINT_CARRY_BOOL(CarriedCommand, holds_slot),
    CINT_CARRY_ALL(CarriedCommand, status),
    CINT_CARRY_ALL(CarriedCommand, turn),
    CINT_CARRY_TIME(CarriedCommand, due_ns),
    CINT_CARRY_ARRAY(CarriedCommand, cmd),
    CINT_CARRY_ARRAY(CarriedCommand, cqe),
    { .name = NULL },
};

#define MOST_TABLES 5

/* The tables of a record, one behind the other. */
static const struct {
    const char *name;
    const CintField *tables[MOST_TABLES];
} kinds[NR_KINDS] = {
    [KIND_PROPERTY] = { "property", { property_fields } },
    [KIND_CONTROLLER] = { "controller", {
        controller_fields, config_fields, cint_scope_fields, cint_arb_fields,
        cint_media_fields,
    } },
    [KIND_VECTOR] = { "vector", { property_fields } },
    [KIND_PAGE] = { "page", { property_fields } },
    [KIND_CQ] = { "cq", {
        cq_fields, config_fields, cint_cq_fields, log_fields,
    } },
    [KIND_POSTED] = { "posted", { posted_fields } },
    [KIND_SQ] = { "sq", {
        sq_fields, cint_sq_fields, cint_arb_sq_fields, sq_log_fields,
    } },
    [KIND_RUNG] = { "rung", { slot_fields } },
    [KIND_BATCH_END] = { "batch-end", { slot_fields } },
    [KIND_CMD] = { "cmd", {
        command_fields, cint_cmd_fields, cint_claim_fields,
    } },
};

static uint32_t width_of(Kind kind)
{
    uint32_t width = 0;
    int i;

    for (i = 0; i < MOST_TABLES && kinds[kind].tables[i]; i++) {
        width += cint_carry_count(kinds[kind].tables[i]);
    }
    return width;
}

/* No more than the controller can have of it. */
static uint32_t limit_of(const NvmeCtrl *n, Kind kind)
{
    uint32_t queues = n->params.max_ioqpairs + 1;
    uint64_t entries = (uint64_t)queues * (n->params.mqes + 1u);

    switch (kind) {
    case KIND_PROPERTY:
        return nvme_cint_nr_props();
    case KIND_CONTROLLER:
        return 1;
    case KIND_VECTOR:
        return n->params.msix_qsize;
    case KIND_PAGE:
        return CINT_WAITS_ENTRIES;
    case KIND_CQ:
    case KIND_SQ:
        return queues;
    default:
        return MIN(entries, INT32_MAX);
    }
}

static void free_saved(NvmeCint *cint)
{
    int kind;

    for (kind = 0; cint->saved && kind < NR_KINDS; kind++) {
        g_free(cint->saved->values[kind]);
    }
    g_clear_pointer(&cint->saved, g_free);
}

static void new_saved(NvmeCint *cint)
{
    int kind;

    free_saved(cint);
    cint->saved = g_new0(NvmeCintSaved, 1);
    cint->saved->n = cint->n;
    for (kind = 0; kind < NR_KINDS; kind++) {
        cint->saved->width[kind] = width_of(kind);
    }
}

/* ---- Saving ---- */

typedef struct Saving {
    NvmeCtrl *n;
    int64_t now;
    GArray *values[NR_KINDS];
} Saving;

/* The next values of the record that is being written. */
static void put(Saving *s, Kind kind, const CintField *fields,
                const void *state)
{
    GArray *values = s->values[kind];
    guint at = values->len;

    g_array_set_size(values, at + cint_carry_count(fields));
    cint_carry_save(fields, state, s->now,
                    &g_array_index(values, uint64_t, at));
}

static void put_one(Saving *s, Kind kind, uint64_t value)
{
    g_array_append_val(s->values[kind], value);
}

static void save_controller(Saving *s)
{
    NvmeCint *cint = s->n->cint;
    CarriedController c = {
        .arbitration = cint->arbitration,
        .status_records = cint->status.records,
        .status_addr = cint->status.addr,
    };
    uint32_t i;

    for (i = 0; i < MOST_CDS; i++) {
        c.cd[i / 64] |= (uint64_t)!!test_bit(i, cint->cd) << i % 64;
    }
    put(s, KIND_CONTROLLER, controller_fields, &c);
    put(s, KIND_CONTROLLER, config_fields, &cint->config);
    put(s, KIND_CONTROLLER, cint_scope_fields, &cint->main.scope);
    put(s, KIND_CONTROLLER, cint_arb_fields, &cint->arb);
    put(s, KIND_CONTROLLER, cint_media_fields, &cint->media);
    for (i = 0; i < s->n->params.msix_qsize; i++) {
        put_one(s, KIND_VECTOR, cint->vector_irqs[i]);
    }
    for (i = 0; cint->main.scope.waits.slices && i < CINT_WAITS_ENTRIES; i++) {
        put_one(s, KIND_PAGE,
                cint_page_save(&cint->main.scope.waits.entry[i], s->now));
    }
}

static int64_t or_never(int64_t time)
{
    return time < 0 ? CINT_CARRY_NEVER : time;
}

static void save_posted(Saving *s, NvmeCintCq *ccq)
{
    const NvmeCintStats *stats = &ccq->stats;
    uint32_t i;

    for (i = stats->first_unreaped; i != stats->next_slot;
         i = nvme_cint_next_index(stats, i)) {
        CarriedPosted p = {
            .cqid = ccq->cq->cqid,
            .class = stats->posted[i].class,
            .post_ns = stats->posted[i].post_ns,
            .irq_ns = or_never(stats->posted[i].irq_ns),
        };

        put(s, KIND_POSTED, posted_fields, &p);
    }
}

static void save_cq(Saving *s, NvmeCintCq *ccq)
{
    CarriedCq c = {
        .cqid = ccq->cq->cqid,
        .seq = ccq->notices.seq,
        .full_tail = ccq->notices.full_tail,
        .pointer_index = ccq->pointer_index,
        .next_slot = ccq->stats.next_slot,
        .first_uncovered = ccq->stats.first_uncovered,
        .first_unreaped = ccq->stats.first_unreaped,
        .asked_ns = or_never(ccq->stats.asked_ns),
        .turns = ccq->turns,
        .pending = ccq->cq->pending,
    };

    put(s, KIND_CQ, cq_fields, &c);
    put(s, KIND_CQ, config_fields, &ccq->engine.config);
    put(s, KIND_CQ, cint_cq_fields, &ccq->engine);
    put(s, KIND_CQ, log_fields, &ccq->stats.log);
    save_posted(s, ccq);
}

static void save_slot(Saving *s, Kind kind, NvmeCintSq *csq, uint32_t slot,
                      int64_t time)
{
    CarriedSlot c = { .sqid = csq->sq->sqid, .slot = slot, .time = time };

    put(s, kind, slot_fields, &c);
}

static void save_sq(Saving *s, NvmeCintSq *csq)
{
    CarriedSq c = {
        .sqid = csq->sq->sqid,
        .backlog = csq->backlog,
        .fetched = csq->fetched,
        .marked = csq->marked,
        .place = cint_arb_place(&s->n->cint->arb, &csq->arb),
        .batch_ns = csq->stats.batch_ns,
    };
    uint32_t i;

    put(s, KIND_SQ, sq_fields, &c);
    put(s, KIND_SQ, cint_sq_fields, &csq->engine);
    put(s, KIND_SQ, cint_arb_sq_fields, &csq->arb);
    put(s, KIND_SQ, sq_log_fields, &csq->stats.log);
    for (i = 0; i < csq->sq->size; i++) {
        if (csq->stats.rung_ns[i]) {
            save_slot(s, KIND_RUNG, csq, i, csq->stats.rung_ns[i]);
        }
        if (test_bit(i, csq->batch_ends)) {
            save_slot(s, KIND_BATCH_END, csq, i, s->now);
        }
    }
}

/* The wire's structures as values, whatever the host's byte order. */
static void to_words(uint64_t *words, const void *wire, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        words[i] = ldq_le_p((const char *)wire + i * 8);
    }
}

static void from_words(void *wire, const uint64_t *words, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        stq_le_p((char *)wire + i * 8, words[i]);
    }
}

static void save_cmd(Saving *s, NvmeCintReq *creq, uint32_t order,
                     uint32_t place)
{
    NvmeRequest *req = creq->req;
    CarriedCommand c = {
        .sqid = req->sq->sqid,
        .order = order,
        .place = place,
        .in_media = creq->in_media,
        .holds_slot = creq->holds_slot,
        .status = req->status,
        .turn = creq->turn,
        .due_ns = creq->due_ns,
    };
    CintCarriedCmd cmd = { .hints = NVME_CINT_HINT_NONE };

    to_words(c.cmd, &req->cmd, CMD_WORDS);
    to_words(c.cqe, &req->cqe, CQE_WORDS);
    if (order != APART_ORDER) {
        cmd = cint_cmd_save(&req->sq->cint->engine, &creq->cmd);
    }
    put(s, KIND_CMD, command_fields, &c);
    put(s, KIND_CMD, cint_cmd_fields, &cmd);
    put(s, KIND_CMD, cint_claim_fields, &creq->claim);
}

/* Where each command of @csq stands among those in flight, by its request. */
static uint32_t *orders_of(NvmeCintSq *csq)
{
    uint32_t *orders = g_new(uint32_t, csq->sq->size);
    CintCmd *cmd = cint_first_cmd(&csq->engine);
    uint32_t i;

    for (i = 0; i < csq->sq->size; i++) {
        orders[i] = APART_ORDER;
    }
    for (i = 0; cmd; cmd = cmd->next) {
        orders[container_of(cmd, NvmeCintReq, cmd) - csq->reqs] = i++;
    }
    return orders;
}

/* Where @req stands in the list of those that wait to be posted. */
static bool find_place(const NvmeCQueue *cq, const NvmeRequest *req,
                       uint32_t *place)
{
    const NvmeRequest *other;

    *place = 0;
    QTAILQ_FOREACH(other, &cq->req_list, entry) {
        if (other == req) {
            return true;
        }
        (*place)++;
    }
    return false;
}

/*
 * Each command is done by now: its data is there, and it waits for the medium,
 * or to be posted. Returns false if one is not.
 */
static bool save_cmds(Saving *s, NvmeCintSq *csq, Error **errp)
{
    NvmeCQueue *cq = s->n->cq[csq->sq->cqid];
    g_autofree uint32_t *orders = orders_of(csq);
    uint32_t i, place;

    for (i = 0; i < csq->sq->size; i++) {
        NvmeCintReq *creq = &csq->reqs[i];
        bool waits = creq->in_media && creq->ready;

        if (waits || find_place(cq, creq->req, &place)) {
            save_cmd(s, creq, orders[i], waits ? 0 : place);
        } else if (orders[i] != APART_ORDER || creq->in_media) {
            error_setg(errp, "cint: a command of SQ %d is not done",
                       csq->sq->sqid);
            return false;
        }
    }
    return true;
}

static bool save_all(Saving *s, Error **errp)
{
    NvmeCtrl *n = s->n;
    uint32_t i;

    for (i = 0; i < nvme_cint_nr_props(); i++) {
        put_one(s, KIND_PROPERTY, nvme_cint_prop(n, i));
    }
    save_controller(s);
    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        if (n->cq[i]) {
            save_cq(s, n->cq[i]->cint);
        }
        if (n->sq[i]) {
            save_sq(s, n->sq[i]->cint);
            if (!save_cmds(s, n->sq[i]->cint, errp)) {
                return false;
            }
        }
    }
    return true;
}

bool nvme_cint_do_save(NvmeCtrl *n, Error **errp)
{
    NvmeCint *cint = n->cint;
    Saving s = { .n = n, .now = nvme_cint_now() };
    bool done;
    int kind;

    for (kind = 0; kind < NR_KINDS; kind++) {
        s.values[kind] = g_array_new(false, true, sizeof(uint64_t));
    }
    done = save_all(&s, errp);
    new_saved(cint);
    for (kind = 0; kind < NR_KINDS; kind++) {
        cint->saved->count[kind] = s.values[kind]->len / width_of(kind);
        cint->saved->values[kind] =
            (uint64_t *)g_array_free(s.values[kind], false);
    }
    return done;
}

/* What was to be fetched is looked for again when the machine runs. */
void nvme_cint_do_freeze_sq(NvmeSQueue *sq)
{
    qemu_bh_cancel(sq->cint->fetch_bh);
    sq->ctrl->cint->resume = true;
}

bool nvme_cint_do_is_parked(const NvmeRequest *req)
{
    return nvme_cint_req(req)->in_media && nvme_cint_req(req)->ready;
}

/* ---- Loading ---- */

typedef struct Loading {
    NvmeCtrl *n;
    int64_t now;
    Kind kind;
    uint32_t index;             /* of the record that is being read */
    const uint64_t *next;       /* its next value */
    CintMisfit misfit;
    Error **errp;
} Loading;

static bool refuse(Loading *l)
{
    error_setg(l->errp, "cint: %s %u: %s is %" PRId64 ", not from %" PRId64
               " to %" PRId64, kinds[l->kind].name, l->index, l->misfit.field,
               l->misfit.value, l->misfit.min, l->misfit.max);
    return false;
}

static bool fits(Loading *l, const char *field, int64_t value, int64_t min,
                 int64_t max)
{
    return cint_fits(&l->misfit, field, value, min, max) || refuse(l);
}

static void begin(Loading *l, Kind kind, uint32_t index)
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

    if (!get(l, config_fields, config)) {
        return false;
    }
    if (!cint_config_in_range(config)) {
        error_setg(l->errp, "cint: %s %u: a parameter is below its range",
                   kinds[l->kind].name, l->index);
        return false;
    }
    conflict = cint_config_conflict(config);
    if (conflict) {
        error_setg(l->errp, "cint: %s %u: %s", kinds[l->kind].name, l->index,
                   conflict);
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
    uint32_t i, n = saved->count[KIND_PAGE];

    begin(l, KIND_PAGE, 0);
    if (n && !fits(l, "pages", n, CINT_WAITS_ENTRIES, CINT_WAITS_ENTRIES)) {
        return false;
    }
    for (i = 0; i < n; i++) {
        cint_page_load(&waits->entry[i], l->now, saved->values[KIND_PAGE][i]);
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

    begin(l, KIND_CONTROLLER, 0);
    if (!fits(l, "controllers", saved->count[KIND_CONTROLLER], 1, 1) ||
        !get(l, controller_fields, &c) ||
        !fits(l, "arbitration", c.arbitration & 0xf8, 0, 0) ||
        !load_status(l, &c) || !get_config(l, &cint->config)) {
        return false;
    }
    nvme_cint_set_arbitration(cint, c.arbitration);
    for (i = 0; i < MOST_CDS; i++) {
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
    begin(l, KIND_VECTOR, 0);
    if (!fits(l, "vectors", saved->count[KIND_VECTOR],
              l->n->params.msix_qsize, l->n->params.msix_qsize)) {
        return false;
    }
    memcpy(cint->vector_irqs, saved->values[KIND_VECTOR],
           saved->count[KIND_VECTOR] * sizeof(uint64_t));
    return true;
}

static bool load_arbiter(Loading *l)
{
    begin(l, KIND_CONTROLLER, 0);
    take(l, controller_fields);
    take(l, config_fields);
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
           get(l, log_fields, &stats->log);
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

    begin(l, KIND_CQ, index);
    if (!get(l, cq_fields, &c) ||
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

    begin(l, KIND_POSTED, index);
    if (!get(l, posted_fields, &c) ||
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
    begin(l, KIND_CQ, 0);
    if (!fits(l, "queues", saved->count[KIND_CQ], queues, queues)) {
        return false;
    }
    for (i = 0; i < saved->count[KIND_CQ]; i++) {
        if (!load_cq(l, i, &least)) {
            return false;
        }
    }
    for (i = 0; i < saved->count[KIND_POSTED]; i++) {
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
                   kinds[l->kind].name, l->index, sqid);
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

    begin(l, KIND_SQ, index);
    if (!get(l, sq_fields, &c)) {
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
           get(l, sq_log_fields, &csq->stats.log);
}

static bool load_slots(Loading *l, Kind kind)
{
    uint32_t i;

    for (i = 0; i < l->n->cint->saved->count[kind]; i++) {
        NvmeCintSq *csq;
        CarriedSlot c;

        begin(l, kind, i);
        if (!get(l, slot_fields, &c)) {
            return false;
        }
        csq = sq_at(l, c.sqid);
        if (!csq || !fits(l, "slot", c.slot, 0, csq->sq->size - 1)) {
            return false;
        }
        if (kind == KIND_RUNG) {
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
    begin(l, KIND_SQ, 0);
    if (!fits(l, "queues", saved->count[KIND_SQ], queues, queues)) {
        return false;
    }
    for (i = 0; i < queues; i++) {
        begin(l, KIND_SQ, i);
        if (!get(l, sq_fields, &c) ||
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
        for (i = 0; i < saved->count[KIND_SQ]; i++) {
            if (!load_sq(l, i, place, &next)) {
                return false;
            }
        }
        place = next;
    } while (place != UINT32_MAX);
    return load_arbiter(l) && load_slots(l, KIND_RUNG) &&
           load_slots(l, KIND_BATCH_END);
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
    begin(l, KIND_CMD, index);
    command->creq = NULL;
    if (!get(l, command_fields, &command->c) ||
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
    from_words(&req->cmd, c->cmd, CMD_WORDS);
    from_words(&req->cqe, c->cqe, CQE_WORDS);
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

    if (c->order == APART_ORDER) {
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
    uint32_t i, n = l->n->cint->saved->count[KIND_CMD];
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

    begin(l, KIND_PROPERTY, 0);
    if (!fits(l, "properties", saved->count[KIND_PROPERTY], count, count)) {
        return false;
    }
    for (i = 0; i < count; i++) {
        if (!nvme_cint_prop_is(l->n, i, saved->values[KIND_PROPERTY][i],
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

    free_saved(n->cint);
    n->cint->resume = true;
    return done;
}

/* ---- Going on ---- */

/* The machine runs again, here or where it came from. */
static void resume(NvmeCtrl *n)
{
    uint32_t i;

    free_saved(n->cint);
    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        if (n->cq[i]) {
            nvme_cint_cq_resume(n->cq[i]->cint);
            nvme_cint_park_resume(n->cq[i]->cint);
        }
        if (n->sq[i]) {
            nvme_cint_wake_sq(n->sq[i]->cint, 0);
        }
    }
}

static void run_state_changed(void *opaque, bool running, RunState state)
{
    NvmeCtrl *n = opaque;

    if (running && n->cint->resume) {
        n->cint->resume = false;
        resume(n);
    }
}

/* ---- For QEMU ---- */

static bool is_on(void *opaque)
{
    NvmeCtrl *n = opaque;

    return n->cint;
}

static int pre_load(void *opaque)
{
    NvmeCtrl *n = opaque;

    if (!n->cint) {
        error_report("nvme: cint is off here and on where the machine comes "
                     "from");
        return -EINVAL;
    }
    new_saved(n->cint);
    return 0;
}

/* Before anything is allocated for it. */
static int check_sizes(void *opaque, int version_id)
{
    NvmeCintSaved *saved = opaque;
    int kind;

    for (kind = 0; kind < NR_KINDS; kind++) {
        uint32_t limit = limit_of(saved->n, kind);

        if (saved->width[kind] != width_of(kind)) {
            error_report("nvme: cint: %s: there are %u values, not %u",
                         kinds[kind].name, saved->width[kind], width_of(kind));
            return -EINVAL;
        }
        if (saved->count[kind] > limit) {
            error_report("nvme: cint: %s: there are %u, not from 0 to %u",
                         kinds[kind].name, saved->count[kind], limit);
            return -EINVAL;
        }
    }
    return 0;
}

static const VMStateDescription vmstate_sizes = {
    .name = "nvme/cint/sizes",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = check_sizes,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(width, NvmeCintSaved, NR_KINDS),
        VMSTATE_UINT32_ARRAY(count, NvmeCintSaved, NR_KINDS),
        VMSTATE_END_OF_LIST()
    },
};

/* Made of the tables once a controller has cint on; nothing until then. */
static VMStateDescription vmstate_record[NR_KINDS];
static VMStateField saved_fields[1 + NR_KINDS + 1] = {
    VMSTATE_END_OF_LIST()
};

static const VMStateDescription vmstate_saved = {
    .name = "nvme/cint/saved",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = saved_fields,
};

static const VMStateDescription vmstate_state = {
    .name = "nvme/cint/state",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(saved, NvmeCint, vmstate_saved, NvmeCintSaved),
        VMSTATE_END_OF_LIST()
    },
};

const VMStateDescription nvme_cint_vmstate = {
    .name = "nvme/cint",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = is_on,
    .pre_load = pre_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(cint, NvmeCtrl, vmstate_state, NvmeCint),
        VMSTATE_END_OF_LIST()
    },
};

static void add_field(GArray *fields, const CintField *field, size_t *at)
{
    VMStateField vmfield = {
        .name = field->name,
        .offset = *at,
        .size = sizeof(uint64_t),
        .num = field->count,
        .info = &vmstate_info_uint64,
        .flags = field->count > 1 ? VMS_ARRAY : VMS_SINGLE,
    };

    *at += field->count * sizeof(uint64_t);
    g_array_append_val(fields, vmfield);
}

static const VMStateField *end_fields(GArray *fields)
{
    const VMStateField end = VMSTATE_END_OF_LIST();

    g_array_append_val(fields, end);
    return (const VMStateField *)g_array_free(fields, false);
}

static void describe_record(Kind kind)
{
    GArray *fields = g_array_new(false, true, sizeof(VMStateField));
    const CintField *field;
    size_t at = 0;
    int i;

    for (i = 0; i < MOST_TABLES && kinds[kind].tables[i]; i++) {
        for (field = kinds[kind].tables[i]; field->name; field++) {
            add_field(fields, field, &at);
        }
    }
    vmstate_record[kind] = (VMStateDescription) {
        .name = g_strconcat("nvme/cint/", kinds[kind].name, NULL),
        .version_id = 1,
        .minimum_version_id = 1,
        .fields = end_fields(fields),
    };
}

static void describe_saved(void)
{
    const VMStateField end = VMSTATE_END_OF_LIST();
    int kind;

    saved_fields[0] = (VMStateField) {
        .name = "sizes",
        .size = sizeof(NvmeCintSaved),
        .vmsd = &vmstate_sizes,
        .flags = VMS_STRUCT,
    };
    for (kind = 0; kind < NR_KINDS; kind++) {
        saved_fields[1 + kind] = (VMStateField) {
            .name = kinds[kind].name,
            .offset = offsetof(NvmeCintSaved, values[kind]),
            .num_offset = offsetof(NvmeCintSaved, count[kind]),
            .size = width_of(kind) * sizeof(uint64_t),
            .vmsd = &vmstate_record[kind],
            .flags = VMS_STRUCT | VMS_VARRAY_UINT32 | VMS_POINTER | VMS_ALLOC,
        };
    }
    saved_fields[1 + NR_KINDS] = end;
}

static void describe_config(void)
{
    const CintParam *param;
    CintField *field = config_fields;

    for (param = cint_params; param->name; param++) {
        g_assert(field < config_fields + ARRAY_SIZE(config_fields) - 1);
        *field++ = (CintField) {
            .name = param->name,
            .offset = param->offset,
            .count = 1,
            .size = sizeof(uint64_t),
            .max = param->max,
        };
    }
}

/* Of the lists that there are, once. */
static void describe_all(void)
{
    int kind;

    if (saved_fields[0].name) {
        return;
    }
    describe_config();
    for (kind = 0; kind < NR_KINDS; kind++) {
        describe_record(kind);
    }
    describe_saved();
}

void nvme_cint_migrate_init(NvmeCtrl *n)
{
    describe_all();
    n->cint->run_state = qemu_add_vm_change_state_handler(run_state_changed, n);
}

void nvme_cint_migrate_exit(NvmeCtrl *n)
{
    qemu_del_vm_change_state_handler(n->cint->run_state);
    free_saved(n->cint);
}
