/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: makes records of all state that goes along. The hooks call it when the
 * machine is stopped, and the guest's memory has been saved.
 *
 * Nothing is posted, written or sent meanwhile. A command that waits for the
 * medium, or for room in its queue, goes along.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"

#include "cint-carried.h"
#include "cint-hooks.h"
#include "cint-props.h"

typedef struct Saving {
    NvmeCtrl *n;
    int64_t now;
    GArray *values[CINT_NR_KINDS];
} Saving;

/* The next values of the record that is being written. */
static void put(Saving *s, NvmeCintKind kind, const CintField *fields,
                const void *state)
{
    GArray *values = s->values[kind];
    guint at = values->len;

    g_array_set_size(values, at + cint_carry_count(fields));
    cint_carry_save(fields, state, s->now,
                    &g_array_index(values, uint64_t, at));
}

static void put_one(Saving *s, NvmeCintKind kind, uint64_t value)
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

    for (i = 0; i < CINT_MOST_CDS; i++) {
        c.cd[i / 64] |= (uint64_t)!!test_bit(i, cint->cd) << i % 64;
    }
    put(s, CINT_KIND_CONTROLLER, nvme_cint_controller_fields, &c);
    put(s, CINT_KIND_CONTROLLER, nvme_cint_config_fields, &cint->config);
    put(s, CINT_KIND_CONTROLLER, cint_scope_fields, &cint->main.scope);
    put(s, CINT_KIND_CONTROLLER, cint_arb_fields, &cint->arb);
    put(s, CINT_KIND_CONTROLLER, cint_media_fields, &cint->media);
    for (i = 0; i < s->n->params.msix_qsize; i++) {
        put_one(s, CINT_KIND_VECTOR, cint->vector_irqs[i]);
    }
    for (i = 0; cint->main.scope.waits.slices && i < CINT_WAITS_ENTRIES; i++) {
        put_one(s, CINT_KIND_PAGE,
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

        put(s, CINT_KIND_POSTED, nvme_cint_posted_fields, &p);
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

    put(s, CINT_KIND_CQ, nvme_cint_cq_fields, &c);
    put(s, CINT_KIND_CQ, nvme_cint_config_fields, &ccq->engine.config);
    put(s, CINT_KIND_CQ, cint_cq_fields, &ccq->engine);
    put(s, CINT_KIND_CQ, nvme_cint_log_fields, &ccq->stats.log);
    save_posted(s, ccq);
}

static void save_slot(Saving *s, NvmeCintKind kind, NvmeCintSq *csq,
                      uint32_t slot, int64_t time)
{
    CarriedSlot c = { .sqid = csq->sq->sqid, .slot = slot, .time = time };

    put(s, kind, nvme_cint_slot_fields, &c);
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

    put(s, CINT_KIND_SQ, nvme_cint_sq_fields, &c);
    put(s, CINT_KIND_SQ, cint_sq_fields, &csq->engine);
    put(s, CINT_KIND_SQ, cint_arb_sq_fields, &csq->arb);
    put(s, CINT_KIND_SQ, nvme_cint_sq_log_fields, &csq->stats.log);
    for (i = 0; i < csq->sq->size; i++) {
        if (csq->stats.rung_ns[i]) {
            save_slot(s, CINT_KIND_RUNG, csq, i, csq->stats.rung_ns[i]);
        }
        if (test_bit(i, csq->batch_ends)) {
            save_slot(s, CINT_KIND_BATCH_END, csq, i, s->now);
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

    to_words(c.cmd, &req->cmd, CINT_CMD_WORDS);
    to_words(c.cqe, &req->cqe, CINT_CQE_WORDS);
    if (order != CINT_APART_ORDER) {
        cmd = cint_cmd_save(&req->sq->cint->engine, &creq->cmd);
    }
    put(s, CINT_KIND_CMD, nvme_cint_command_fields, &c);
    put(s, CINT_KIND_CMD, cint_cmd_fields, &cmd);
    put(s, CINT_KIND_CMD, cint_claim_fields, &creq->claim);
}

/* Where each command of @csq stands among those in flight, by its request. */
static uint32_t *orders_of(NvmeCintSq *csq)
{
    uint32_t *orders = g_new(uint32_t, csq->sq->size);
    CintCmd *cmd = cint_first_cmd(&csq->engine);
    uint32_t i;

    for (i = 0; i < csq->sq->size; i++) {
        orders[i] = CINT_APART_ORDER;
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
        } else if (orders[i] != CINT_APART_ORDER || creq->in_media) {
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
        put_one(s, CINT_KIND_PROPERTY, nvme_cint_prop(n, i));
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

    for (kind = 0; kind < CINT_NR_KINDS; kind++) {
        s.values[kind] = g_array_new(false, true, sizeof(uint64_t));
    }
    done = save_all(&s, errp);
    nvme_cint_new_saved(cint);
    for (kind = 0; kind < CINT_NR_KINDS; kind++) {
        cint->saved->count[kind] = s.values[kind]->len / nvme_cint_width(kind);
        cint->saved->values[kind] =
            (uint64_t *)g_array_free(s.values[kind], false);
    }
    return done;
}

/* What was to be fetched is looked for again when the machine runs. */
void nvme_cint_do_freeze_sq(NvmeSQueue *sq)
{
    sq->ctrl->cint->resume = true;
}

bool nvme_cint_do_is_parked(const NvmeRequest *req)
{
    return nvme_cint_req(req)->in_media && nvme_cint_req(req)->ready;
}
