/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: one completion queue and its engine. See cint-cq.h.
 */
#include "qemu/osdep.h"
#include "hw/pci/msix.h"

#include "cint-cq.h"
#include "cint-hints.h"
#include "cint-hooks.h"
#include "cint-notify.h"
#include "thread.h"
#include "trace.h"

static bool is_masked(const NvmeCintCq *ccq)
{
    PCIDevice *pci = ccq->cq->ctrl->cint->pci;

    return msix_enabled(pci) && msix_is_masked(pci, ccq->cq->vector);
}

static const char *fire_name(CintFire fire)
{
    return fire == CINT_FIRE_URGENT ? "urgent" : "full";
}

/* ---- What the engine decides ---- */

static APART void trace_arm(const NvmeCintCq *ccq)
{
    trace_pci_nvme_cint_arm(ccq->cq->cqid, ccq->deadline_ns);
}

static APART void set_irq_timer(NvmeCintCq *ccq, int64_t deadline)
{
    ccq->armed_ns = deadline;
    timer_mod(ccq->irq_timer, deadline);
}

/*
 * A deadline that moves later, as adaptive's does with every completion,
 * leaves the timer alone: it expires early once, finds nothing to do and is
 * set again here. That costs less than moving it for each CQE.
 */
static inline void arm_irq_timer(NvmeCintCq *ccq)
{
    int64_t deadline = cint_deadline(&ccq->engine);

    if (deadline != ccq->deadline_ns) {
        ccq->deadline_ns = deadline;
        if (trace_event_get_state_backends(TRACE_PCI_NVME_CINT_ARM)) {
            trace_arm(ccq);
        }
    }
    if (deadline < ccq->armed_ns) {
        set_irq_timer(ccq, deadline);
    }
}

/* Looking for the oldest CQE is dear: only if somebody asked. */
static void trace_irq(const NvmeCintCq *ccq, const CintAction *action,
                      int64_t now)
{
    int64_t hold;

    if (!trace_event_get_state_backends(TRACE_PCI_NVME_CINT_IRQ)) {
        return;
    }
    hold = nvme_cint_stats_oldest_hold(&ccq->stats, action, now);
    trace_pci_nvme_cint_irq(ccq->cq->cqid, ccq->cq->vector,
                            fire_name(action->fire),
                            cint_reason_name(action->reason), action->covered,
                            hold, now);
}

static void trace_storm(NvmeCintCq *ccq)
{
    bool storm = cint_storm_active(&ccq->engine);

    if (storm != ccq->storm) {
        ccq->storm = storm;
        trace_pci_nvme_cint_storm(ccq->cq->cqid, cint_storm_ewma(&ccq->engine),
                                  storm ? "on" : "off");
    }
}

static APART void fire(NvmeCintCq *ccq, CintAction action, int64_t now)
{
    trace_irq(ccq, &action, now);
    nvme_cint_stats_irq(&ccq->stats, &action, is_masked(ccq), now);
    nvme_cint_notice(ccq, &action);
    trace_storm(ccq);
}

/* Inlined: few events lead to an interrupt. */
static inline void act(NvmeCintCq *ccq, CintAction action, int64_t now)
{
    if (action.fire != CINT_FIRE_NONE) {
        fire(ccq, action, now);
    }
    arm_irq_timer(ccq);
}

void nvme_cint_cq_act(NvmeCintCq *ccq, CintAction action, int64_t now)
{
    act(ccq, action, now);
}

/* ---- What passed before an event ---- */

void nvme_cint_cq_expire_all(NvmeCintCq *ccq, int64_t now)
{
    int64_t deadline;

    if (ccq->engine.config.max_irq_rate) {
        /* The message a masked vector gets is no interrupt yet. */
        cint_set_masked(&ccq->engine, is_masked(ccq));
    }
    while ((deadline = cint_deadline(&ccq->engine)) <= now) {
        CintAction action = cint_timer_late(&ccq->engine, deadline, now);

        if (action.fire != CINT_FIRE_NONE) {
            nvme_cint_stats_late(&ccq->stats, now - deadline);
        }
        nvme_cint_cq_act(ccq, action, now);
    }
}

/*
 * Tells the engine how far the guest has consumed the queue, of which the
 * engine knows the CQEs before @tail.
 */
static void sync_head(NvmeCintCq *ccq, uint32_t tail, int64_t now)
{
    NvmeCQueue *cq = ccq->cq;
    uint32_t outstanding, head, pending = ccq->engine.pending;

    outstanding = (tail + cq->size - cq->head) % cq->size;
    head = ccq->engine.tail - outstanding;
    if (head == ccq->engine.head) {
        return;
    }

    trace_pci_nvme_cint_head(cq->cqid, cq->head, now);
    nvme_cint_stats_reaped(&ccq->stats, cq->head, now);
    nvme_cint_cq_act(ccq, cint_head(&ccq->engine, now, head), now);
    if (pending && !ccq->engine.pending) {
        ccq->stats.log.avoided++;
        trace_pci_nvme_cint_avoid(cq->cqid, "reaped");
    }
    nvme_cint_consumed(ccq);
}

/*
 * With shadow doorbells not every update of the head traps. What waited for
 * room is posted here: the doorbell that is to come, and would see to that,
 * takes a queue that is not full any more for one that never was.
 */
static void read_shadow_head(NvmeCintCq *ccq, int64_t now)
{
    NvmeCQueue *cq = ccq->cq;
    uint32_t head = cq->head;

    nvme_update_cq_head(cq);
    sync_head(ccq, cq->tail, now);
    if (cq->head != head && !QTAILQ_EMPTY(&cq->req_list)) {
        nvme_post_cqes(cq);
    }
}

void nvme_cint_cq_catch_up(NvmeCintCq *ccq, int64_t now)
{
    NvmeCQueue *cq = ccq->cq;

    if (cq->ctrl->dbbuf_enabled) {
        read_shadow_head(ccq, now);
    } else if (unlikely(cq->thread) && nvme_thread_look_at_head(cq)) {
        sync_head(ccq, cq->tail, now);
    }
    nvme_cint_cq_expire(ccq, now);
}

void nvme_cint_cq_timeout(NvmeCintCq *ccq)
{
    nvme_cint_enter(ccq->server);
    ccq->armed_ns = CINT_NO_DEADLINE;
    nvme_cint_cq_catch_up(ccq, nvme_cint_now());
    arm_irq_timer(ccq);
    nvme_cint_leave(ccq->server);
}

static void irq_timer_cb(void *opaque)
{
    NvmeCintCq *ccq = opaque;

    if (nvme_thread_begin(ccq->cq)) {
        nvme_cint_cq_timeout(ccq);
        nvme_thread_end(ccq->cq);
    }
}

/* ---- Commands ---- */

void nvme_cint_cq_published(NvmeCintSq *csq, bool rang, int64_t now)
{
    NvmeCintCq *ccq = nvme_cint_cq_of(csq->sq);
    CintAction action;

    if (!ccq->coalesce) {
        return;
    }
    nvme_cint_cq_expire(ccq, now);
    action = cint_published(&csq->engine, now, csq->backlog);
    nvme_cint_cq_act(ccq, action, now);
    if (rang) {
        nvme_cint_cq_act(ccq, cint_rang(&ccq->engine, now), now);
    }
}

void nvme_cint_cq_batch_end(NvmeCintSq *csq, int64_t now)
{
    NvmeCintCq *ccq = nvme_cint_cq_of(csq->sq);

    if (ccq->coalesce) {
        act(ccq, cint_batch_end(&csq->engine, now), now);
    }
}

void nvme_cint_cq_delete_sq(NvmeCintSq *csq, int64_t now)
{
    NvmeCintCq *ccq = nvme_cint_cq_of(csq->sq);

    if (ccq->coalesce) {
        nvme_cint_cq_expire(ccq, now);
        nvme_cint_cq_act(ccq, cint_delete_sq(&csq->engine, now), now);
    }
}

static APART void trace_post(const NvmeCintCq *ccq, const NvmeCintReq *creq,
                             int64_t now)
{
    NvmeRequest *req = creq->req;

    trace_pci_nvme_cint_post(ccq->cq->cqid, req->sq->sqid, nvme_cid(req),
                             creq->cmd.hints, req->status, ccq->cq->tail, now);
}

/*
 * Of an I/O queue that is never coalesced the engine knows nothing; counted is
 * how long its CQEs stay.
 */
static void apart_posted(NvmeCintCq *ccq, int64_t now)
{
    if (ccq->cq->cqid) {
        nvme_cint_stats_posted(&ccq->stats, NVME_CINT_HINT_NONE, now);
    }
}

static void apart_reaped(NvmeCintCq *ccq, int64_t now)
{
    nvme_cint_stats_reaped(&ccq->stats, ccq->cq->head, now);
}

void nvme_cint_do_posted(NvmeCQueue *cq, NvmeRequest *req)
{
    NvmeCintCq *ccq = cq->cint;
    NvmeCintReq *creq = nvme_cint_req(req);
    NvmeCintSq *csq = req->sq->cint;
    int64_t now = nvme_cint_now();

    ccq->pass_cqes++;
    ccq->stats.log.cqes++;
    if (!ccq->coalesce) {
        apart_reaped(ccq, now);
        apart_posted(ccq, now);
        return;
    }
    nvme_cint_cq_expire(ccq, now);
    if (cq->ctrl->dbbuf_enabled) {
        /* Stock code has just read the head: nothing else has told of it. */
        sync_head(ccq, (cq->tail + cq->size - 1) % cq->size, now);
    }
    nvme_cint_stats_posted(&ccq->stats, creq->cmd.hints, now);
    nvme_cint_stats_command(&ccq->stats, &creq->cmd);
    if (trace_event_get_state_backends(TRACE_PCI_NVME_CINT_POST)) {
        trace_post(ccq, creq, now);
    }
    act(ccq, cint_complete(&csq->engine, &creq->cmd, now, req->status), now);
}

/* Of the queues that are never coalesced the admin queue interrupts. */
static void notice_apart(NvmeCintCq *ccq)
{
    CintAction action = {
        .fire = CINT_FIRE_FULL,
        .reason = NVME_CINT_REASON_ADMIN,
    };

    ccq->stats.log.irqs_full++;
    ccq->stats.log.irqs_by_reason[NVME_CINT_REASON_ADMIN]++;
    nvme_cint_notice(ccq, &action);
}

/*
 * Whether the queue looks empty is not asked for the engine's sake: with
 * shadow doorbells a wrong head can make it look so.
 */
bool nvme_cint_do_pass_end(NvmeCQueue *cq)
{
    NvmeCintCq *ccq = cq->cint;
    int64_t now = nvme_cint_now();
    bool is_empty = cq->tail == cq->head;

    ccq->stats.log.reruns += !ccq->pass_cqes && !is_empty;
    ccq->pass_cqes = 0;
    if (ccq->coalesce) {
        nvme_cint_cq_act(ccq, cint_pass_end(&ccq->engine, now), now);
        return true;
    }
    if (cq->irq_enabled && !is_empty && !ccq->stopped) {
        notice_apart(ccq);
    }
    return cq->irq_enabled || ccq->stopped;
}

bool nvme_cint_do_head(NvmeCQueue *cq)
{
    NvmeCintCq *ccq = cq->cint;
    int64_t now = nvme_cint_now();

    if (!ccq->coalesce) {
        apart_reaped(ccq, now);
        return false;
    }
    nvme_cint_enter(ccq->server);
    nvme_cint_cq_expire(ccq, now);
    sync_head(ccq, cq->tail, now);
    nvme_cint_leave(ccq->server);
    return true;
}

/* ---- Changes ---- */

static bool has_several_threads(const NvmeCtrl *n)
{
    const IOThreadVirtQueueMappingList *first = n->params.iothread_vq_mapping;

    return first && first->next;
}

const char *nvme_cint_cq_conflict(const NvmeCtrl *n, const CintConfig *config)
{
    const char *conflict = cint_config_conflict(config);

    if (!conflict && has_several_threads(n)) {
        conflict = cint_config_scopes_conflict(config);
    }
    return conflict;
}

void nvme_cint_cq_configure(NvmeCintCq *ccq, const CintConfig *config)
{
    int64_t now = nvme_cint_now();

    /* A queue that is never coalesced has nothing pending: it only stores. */
    trace_pci_nvme_cint_policy(ccq->cq->cqid,
                               cint_policy_names[ccq->engine.config.policy],
                               cint_policy_names[config->policy]);
    nvme_cint_cq_expire(ccq, now);
    nvme_cint_cq_act(ccq, cint_configure(&ccq->engine, now, config), now);
}

void nvme_cint_cq_disable(NvmeCintCq *ccq, bool disabled)
{
    int64_t now = nvme_cint_now();

    if (ccq->coalesce) {
        nvme_cint_cq_expire(ccq, now);
        nvme_cint_cq_act(ccq, cint_disable(&ccq->engine, now, disabled), now);
    }
}

/*
 * What was due before the change goes to the record there was. The engine
 * hears of the new one when it is written.
 */
void nvme_cint_cq_status_changed(NvmeCintCq *ccq)
{
    NvmeCQueue *cq = ccq->cq;
    const NvmeCintStatus *status = &cq->ctrl->cint->status;
    int64_t now = nvme_cint_now();
    bool has_record = cq->cqid && cq->cqid < status->records;

    nvme_cint_cq_expire(ccq, now);
    nvme_cint_set_record(ccq, has_record, status->addr +
                                          cq->cqid * sizeof(NvmeCintRecord));
    nvme_cint_cq_act(ccq, cint_set_record(&ccq->engine, now,
                                          has_record && ccq->coalesce), now);
}

/* ---- Life ---- */

void nvme_cint_cq_init(NvmeCintCq *ccq, NvmeCQueue *cq)
{
    NvmeCint *cint = cq->ctrl->cint;

    ccq->cq = cq;
    ccq->server = cq->thread ? cq->thread->cint : &cint->main;
    ccq->coalesce = cq->cqid && cq->irq_enabled;
    ccq->armed_ns = ccq->deadline_ns = CINT_NO_DEADLINE;
    ccq->irq_timer = nvme_thread_timer_new(cq, irq_timer_cb, ccq);
    nvme_cint_stats_init(&ccq->stats, cq->size);
    nvme_cint_notify_init(ccq);
    cint_cq_init(&ccq->engine, &ccq->server->scope, cq->size, &cint->config);
    cint_disable(&ccq->engine, nvme_cint_now(),
                 test_bit(cq->vector, cint->cd));
    nvme_cint_cq_status_changed(ccq);
}

void nvme_cint_cq_stop(NvmeCintCq *ccq)
{
    ccq->coalesce = false;
    ccq->stopped = true;
    timer_del(ccq->irq_timer);
    nvme_cint_notify_stop(ccq);
}

void nvme_cint_cq_resume(NvmeCintCq *ccq)
{
    if (ccq->coalesce) {
        ccq->armed_ns = CINT_NO_DEADLINE;
        arm_irq_timer(ccq);
    }
}

void nvme_cint_cq_free(NvmeCintCq *ccq)
{
    nvme_cint_notify_free(ccq);
    timer_free(ccq->irq_timer);
    nvme_cint_stats_free(&ccq->stats);
}
