/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: glue between the NVMe controller and the coalescing engine.
 *
 * Turns commands, completions and doorbells into the engine's events, and its
 * actions into interrupts. Two notions of time (property cint.time):
 *
 *   real     SQEs are fetched and CQEs posted in bottom halves, as in the
 *            stock model; a command that the media model delays is parked
 *            until its timer expires, or until its data is there if that is
 *            later.
 *   virtual  the main loop runs in real time, so nothing that the guest can
 *            time goes through it: SQEs are fetched and CQEs posted in timers
 *            of the virtual clock only. A media timer whose data is not there
 *            yet waits for it, while virtual time stands still.
 *
 * Timers engage the device's re-entrancy guard as guarded bottom halves do.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "block/aio-wait.h"
#include "hw/pci/msix.h"
#include "migration/blocker.h"
#include "system/cpu-timers.h"
#include "system/replay.h"

#include "cint.h"
#include "trace.h"

static const char *fire_name(CintFire fire)
{
    return fire == CINT_FIRE_URGENT ? "urgent" : "full";
}

static NvmeCintReq *cint_req(const NvmeRequest *req)
{
    return &req->sq->cint->reqs[req - req->sq->io_req];
}

static NvmeCintCq *cint_cq(const NvmeSQueue *sq)
{
    return sq->ctrl->cq[sq->cqid]->cint;
}

int64_t nvme_cint_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static bool guard_enter(NvmeCtrl *n)
{
    MemReentrancyGuard *guard = &DEVICE(n)->mem_reentrancy_guard;
    bool engaged = guard->engaged_in_io;

    guard->engaged_in_io = true;
    return engaged;
}

static void guard_leave(NvmeCtrl *n, bool engaged)
{
    DEVICE(n)->mem_reentrancy_guard.engaged_in_io = engaged;
}

/*
 * Interrupts
 */

/*
 * A deadline that moves later, as adaptive's does with every completion,
 * leaves the timer alone: it expires early once, finds nothing to do and is
 * set again here. That costs less than moving it for each CQE.
 */
static void arm_irq_timer(NvmeCintCq *c)
{
    int64_t deadline = cint_deadline(&c->engine);

    if (deadline != c->deadline_ns) {
        c->deadline_ns = deadline;
        trace_pci_nvme_cint_arm(c->cq->cqid, deadline);
    }
    if (deadline < c->armed_ns) {
        c->armed_ns = deadline;
        timer_mod(c->irq_timer, deadline);
    }
}

/* The message a masked vector gets is no interrupt yet. */
static void look_at_mask(NvmeCintCq *c)
{
    PCIDevice *pci = PCI_DEVICE(c->cq->ctrl);

    if (c->engine.config.max_irq_rate) {
        cint_set_masked(&c->engine, msix_enabled(pci) &&
                                    msix_is_masked(pci, c->cq->vector));
    }
}

static void trace_storm(NvmeCintCq *c)
{
    bool storm = cint_storm_active(&c->engine);

    if (storm != c->storm) {
        c->storm = storm;
        trace_pci_nvme_cint_storm(c->cq->cqid, cint_storm_ewma(&c->engine),
                                  storm ? "on" : "off");
    }
}

static void send_irq(NvmeCintCq *c, const CintAction *action, int64_t now)
{
    NvmeCQueue *cq = c->cq;

    trace_pci_nvme_cint_irq(cq->cqid, cq->vector, fire_name(action->fire),
                            cint_reason_name(action->reason), action->covered,
                            nvme_cint_oldest_hold(c, action, now), now);
    nvme_cint_count_irq(c, action, now);
    cq->ctrl->cint->vector_irqs[cq->vector]++;
    nvme_cint_publish(c, action);
    nvme_irq_assert(cq->ctrl, cq);
}

void nvme_cint_act(NvmeCintCq *c, CintAction action, int64_t now)
{
    if (action.fire != CINT_FIRE_NONE) {
        send_irq(c, &action, now);
        trace_storm(c);
    }
    arm_irq_timer(c);
}

/* A deadline at or before an event expires before the event. */
static void expire_deadlines(NvmeCintCq *c, int64_t now)
{
    int64_t deadline;

    look_at_mask(c);
    while ((deadline = cint_deadline(&c->engine)) <= now) {
        nvme_cint_count_lateness(c, deadline, now);
        nvme_cint_act(c, cint_timer(&c->engine, deadline), now);
    }
}

/*
 * Tells the engine how far the guest has consumed the queue, of which the
 * engine knows the CQEs before @tail. With shadow doorbells cq->head comes
 * straight from guest memory; one that is no index of the queue is ignored.
 */
static void sync_head(NvmeCintCq *c, uint32_t tail, int64_t now)
{
    NvmeCQueue *cq = c->cq;
    uint32_t outstanding, head, pending = c->engine.pending;

    if (cq->head >= cq->size) {
        return;
    }
    outstanding = (tail + cq->size - cq->head) % cq->size;
    head = c->engine.tail - outstanding;
    if (head == c->engine.head) {
        return;
    }

    trace_pci_nvme_cint_head(cq->cqid, cq->head, now);
    nvme_cint_count_reaped(c, now);
    nvme_cint_act(c, cint_head(&c->engine, now, head), now);
    if (pending && !c->engine.pending) {
        c->stats.avoided++;
        trace_pci_nvme_cint_avoid(cq->cqid, "reaped");
    }
}

/* With shadow doorbells not every update of the head traps. */
static void look_at_head(NvmeCintCq *c, int64_t now)
{
    if (c->cq->ctrl->dbbuf_enabled) {
        nvme_update_cq_head(c->cq);
        sync_head(c, c->cq->tail, now);
    }
}

void nvme_cint_catch_up(NvmeCintCq *c, int64_t now)
{
    look_at_head(c, now);
    expire_deadlines(c, now);
}

void nvme_cint_set_record(NvmeCintCq *c, bool has_record)
{
    int64_t now = nvme_cint_now();

    expire_deadlines(c, now);
    nvme_cint_act(c, cint_set_record(&c->engine, now, has_record), now);
}

static void irq_timer_cb(void *opaque)
{
    NvmeCintCq *c = opaque;
    NvmeCtrl *n = c->cq->ctrl;
    bool engaged = guard_enter(n);

    c->armed_ns = CINT_NO_DEADLINE;
    nvme_cint_catch_up(c, nvme_cint_now());
    arm_irq_timer(c);
    guard_leave(n, engaged);
}

void nvme_cint_do_head(NvmeCQueue *cq)
{
    NvmeCintCq *c = cq->cint;
    int64_t now = nvme_cint_now();

    if (c->coalesce) {
        expire_deadlines(c, now);
        sync_head(c, cq->tail, now);
    }
}

void nvme_cint_reconfigure_cq(NvmeCintCq *c, const CintConfig *config)
{
    int64_t now = nvme_cint_now();

    /* A queue that is never coalesced has nothing pending: it only stores. */
    trace_pci_nvme_cint_policy(c->cq->cqid,
                               cint_policy_names[c->engine.config.policy],
                               cint_policy_names[config->policy]);
    expire_deadlines(c, now);
    nvme_cint_act(c, cint_configure(&c->engine, now, config), now);
}

void nvme_cint_reconfigure(NvmeCtrl *n, const CintConfig *config)
{
    uint32_t i;

    n->cint->config = *config;
    for (i = 1; i <= n->params.max_ioqpairs; i++) {
        if (n->cq[i]) {
            nvme_cint_reconfigure_cq(n->cq[i]->cint, config);
        }
    }
}

static bool is_disabled_vector(NvmeCtrl *n, uint16_t vector)
{
    return test_bit(vector, n->cint->cd);
}

void nvme_cint_disable_vector(NvmeCtrl *n, uint16_t vector, bool disabled)
{
    int64_t now = nvme_cint_now();
    uint32_t i;

    if (disabled == is_disabled_vector(n, vector)) {
        return;
    }
    change_bit(vector, n->cint->cd);
    for (i = 1; i <= n->params.max_ioqpairs; i++) {
        NvmeCintCq *c = n->cq[i] ? n->cq[i]->cint : NULL;

        if (c && c->coalesce && c->cq->vector == vector) {
            expire_deadlines(c, now);
            nvme_cint_act(c, cint_disable(&c->engine, now, disabled), now);
        }
    }
}

/*
 * Posting
 */

static void arm_post_timer(NvmeCintCq *c)
{
    NvmeCintReq *first = QTAILQ_FIRST(&c->media);
    int64_t when = c->post_ns;

    if (first) {
        when = MIN(when, first->due_ns);
    }
    if (when == CINT_NO_DEADLINE) {
        timer_del(c->post_timer);
    } else {
        timer_mod(c->post_timer, when);
    }
}

void nvme_cint_do_kick_cq(NvmeCQueue *cq)
{
    NvmeCintCq *c = cq->cint;

    if (!cq->ctrl->cint->virtual_time) {
        qemu_bh_schedule(cq->bh);
        return;
    }
    c->post_ns = nvme_cint_now();
    arm_post_timer(c);
}

static void enter_media(NvmeCintCq *c, NvmeCintReq *r)
{
    NvmeCintReq *before = QTAILQ_LAST(&c->media);

    /* Nearly always in order already; equal times keep their order. */
    while (before && before->due_ns > r->due_ns) {
        before = QTAILQ_PREV(before, entry);
    }
    if (before) {
        QTAILQ_INSERT_AFTER(&c->media, before, r, entry);
    } else {
        QTAILQ_INSERT_HEAD(&c->media, r, entry);
    }
    r->in_media = true;
    arm_post_timer(c);
}

static void leave_media(NvmeCintCq *c, NvmeCintReq *r)
{
    QTAILQ_REMOVE(&c->media, r, entry);
    r->in_media = false;
}

/* Moves the commands the media is done with to the list of finished ones. */
static bool collect_due(NvmeCintCq *c, int64_t now)
{
    bool virtual_time = c->cq->ctrl->cint->virtual_time;
    bool collected = false;
    NvmeCintReq *r;

    while ((r = QTAILQ_FIRST(&c->media)) && r->due_ns <= now) {
        if (virtual_time) {
            /* A command that fails leaves the list by itself. */
            AIO_WAIT_WHILE_UNLOCKED(NULL, r->in_media && !r->ready);
            if (!r->in_media) {
                continue;
            }
        }
        leave_media(c, r);
        if (r->ready) {
            QTAILQ_REMOVE(&r->req->sq->out_req_list, r->req, entry);
            QTAILQ_INSERT_TAIL(&c->cq->req_list, r->req, entry);
            collected = true;
        }
    }
    return collected;
}

static void post_timer_cb(void *opaque)
{
    NvmeCintCq *c = opaque;
    NvmeCtrl *n = c->cq->ctrl;
    int64_t now = nvme_cint_now();
    bool engaged = guard_enter(n);
    bool kicked = c->post_ns <= now;

    c->post_ns = kicked ? CINT_NO_DEADLINE : c->post_ns;
    if (collect_due(c, now) || kicked) {
        nvme_post_cqes(c->cq);
    }
    arm_post_timer(c);
    guard_leave(n, engaged);
}

/* Commands that failed before any I/O, and aborted ones, wait for nothing. */
static bool ends_at_once(const NvmeRequest *req)
{
    return req->status == NVME_CMD_ABORT_REQ ||
           req->status == NVME_CMD_ABORT_SQ_DEL ||
           (req->status && !req->aiocb);
}

bool nvme_cint_do_park(NvmeCQueue *cq, NvmeRequest *req)
{
    NvmeCintReq *r = cint_req(req);

    if (!r->in_media) {
        return false;
    }
    if (ends_at_once(req)) {
        leave_media(cq->cint, r);
        return false;
    }
    /* The block layer frees the AIOCB: nobody may cancel it any more. */
    req->aiocb = NULL;
    r->ready = true;
    return true;
}

static bool is_parked(const NvmeRequest *req)
{
    const NvmeCintReq *r = cint_req(req);

    return r->in_media && r->ready;
}

bool nvme_cint_do_cancel(NvmeRequest *req)
{
    if (!is_parked(req)) {
        return false;
    }
    leave_media(cint_cq(req->sq), cint_req(req));
    nvme_enqueue_req_completion(nvme_cq(req), req);
    return true;
}

void nvme_cint_do_abort(NvmeRequest *req)
{
    if (is_parked(req)) {
        req->status = NVME_CMD_ABORT_REQ;
        nvme_cint_do_cancel(req);
    }
}

void nvme_cint_do_posted(NvmeCQueue *cq, NvmeRequest *req)
{
    NvmeCintCq *c = cq->cint;
    NvmeCintReq *r = cint_req(req);
    int64_t now = nvme_cint_now();
    CintAction action;

    c->pass_cqes++;
    c->stats.cqes++;
    nvme_cint_put_slot(cq->ctrl->cint, r);
    if (!c->coalesce) {
        return;
    }
    expire_deadlines(c, now);
    sync_head(c, (cq->tail + cq->size - 1) % cq->size, now);
    nvme_cint_count_post(c, r, now);
    trace_pci_nvme_cint_post(cq->cqid, req->sq->sqid, nvme_cid(req),
                             r->cmd.hints, req->status, cq->tail, now);
    action = cint_complete(&req->sq->cint->engine, &r->cmd, now, req->status);
    nvme_cint_act(c, action, now);
}

bool nvme_cint_do_pass_end(NvmeCQueue *cq)
{
    NvmeCintCq *c = cq->cint;
    int64_t now = nvme_cint_now();
    uint32_t cqes = c->pass_cqes;

    c->pass_cqes = 0;
    if (!cqes) {
        c->stats.reruns++;
    }
    if (c->coalesce) {
        nvme_cint_act(c, cint_pass_end(&c->engine, now), now);
        return true;
    }
    if (cq->irq_enabled) {
        c->stats.irqs_full++;
        c->stats.irqs_by_reason[NVME_CINT_REASON_ADMIN]++;
        cq->ctrl->cint->vector_irqs[cq->vector]++;
    }
    return false;
}

/*
 * Fetching
 */

static void fetch_timer_cb(void *opaque)
{
    NvmeCintSq *s = opaque;
    NvmeCtrl *n = s->sq->ctrl;
    bool engaged = guard_enter(n);

    nvme_process_sq(s->sq);
    guard_leave(n, engaged);
}

void nvme_cint_do_kick_sq(NvmeSQueue *sq, int64_t delay_ns)
{
    nvme_cint_mark_batch(sq);
    if (sq->ctrl->cint->virtual_time) {
        timer_mod(sq->cint->fetch_timer, nvme_cint_now() + delay_ns);
    } else {
        qemu_bh_schedule(sq->bh);
    }
}

static bool is_rw(uint8_t opcode)
{
    return opcode == NVME_CMD_READ || opcode == NVME_CMD_WRITE;
}

/* Reads, compares and verifies take the media's read path. */
static bool is_write(uint8_t opcode)
{
    return opcode != NVME_CMD_READ && opcode != NVME_CMD_COMPARE &&
           opcode != NVME_CMD_VERIFY;
}

/* Bytes the media moves; 0 for commands without a length in blocks. */
static uint64_t media_bytes(NvmeCtrl *n, const NvmeCmd *cmd)
{
    const NvmeRwCmd *rw = (const NvmeRwCmd *)cmd;
    NvmeNamespace *ns = nvme_ns(n, le32_to_cpu(cmd->nsid));

    if (!ns || (!is_rw(cmd->opcode) && cmd->opcode != NVME_CMD_ZONE_APPEND)) {
        return 0;
    }
    return nvme_l2b(ns, (uint64_t)le16_to_cpu(rw->nlb) + 1);
}

static void end_batch(NvmeCintSq *s, int64_t now)
{
    NvmeCintCq *c = cint_cq(s->sq);

    trace_pci_nvme_cint_doorbell(s->sq->sqid, s->fetched, now);
    s->fetched = 0;
    if (c->coalesce) {
        nvme_cint_act(c, cint_doorbell(&s->engine, now), now);
    }
}

static void submit_io(NvmeSQueue *sq, NvmeRequest *req, NvmeCintReq *r,
                      int64_t now)
{
    NvmeCint *cint = sq->ctrl->cint;
    NvmeCintCq *c = cint_cq(sq);
    uint8_t hints, sources;
    CintAction action;

    if (c->coalesce) {
        hints = nvme_cint_decode_hints(&req->cmd, &sources);
        expire_deadlines(c, now);
        action = cint_submit(&sq->cint->engine, &r->cmd, now, hints, sources);
        nvme_cint_act(c, action, now);
        trace_pci_nvme_cint_submit(c->cq->cqid, sq->sqid, nvme_cid(req),
                                   r->cmd.hints, r->cmd.sources,
                                   c->engine.inflight, now);
    }
    if (cint->media.params.slots) {
        nvme_cint_take_slot(cint, sq->cint, r);
    }
    r->due_ns = nvme_cint_media_schedule(&cint->media, now,
                                         is_write(req->cmd.opcode),
                                         media_bytes(sq->ctrl, &req->cmd));
    trace_pci_nvme_cint_media(c->cq->cqid, sq->sqid, nvme_cid(req), r->due_ns);
}

void nvme_cint_do_submit(NvmeSQueue *sq, NvmeRequest *req)
{
    NvmeCint *cint = sq->ctrl->cint;
    NvmeCintReq *r = cint_req(req);
    int64_t now = nvme_cint_now();

    sq->cint->fetched++;
    r->ready = false;
    r->in_media = false;
    r->holds_slot = false;
    r->due_ns = now;
    if (sq->sqid) {
        submit_io(sq, req, r, now);
    }
    if (nvme_cint_ends_batch(sq)) {
        end_batch(sq->cint, now);
    }
    if (!sq->sqid && req->cmd.opcode == NVME_ADM_CMD_ASYNC_EV_REQ) {
        /* Completes when an event comes, which nobody may wait for. */
        return;
    }
    if (cint->virtual_time ||
        cint->media.params.media != NVME_CINT_MEDIA_NONE) {
        enter_media(cint_cq(sq), r);
    }
}

void nvme_cint_do_fetched(NvmeSQueue *sq)
{
    nvme_cint_return_grants(sq->ctrl->cint, sq->cint);
}

/*
 * Life cycle
 */

void nvme_cint_do_init_cq(NvmeCQueue *cq)
{
    NvmeCint *cint = cq->ctrl->cint;
    NvmeCintCq *c = g_new0(NvmeCintCq, 1);

    c->cq = cq;
    c->coalesce = cq->cqid && cq->irq_enabled;
    c->armed_ns = c->deadline_ns = c->post_ns = CINT_NO_DEADLINE;
    c->posted = g_new0(NvmeCintPosted, cq->size);
    QTAILQ_INIT(&c->media);
    c->post_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, post_timer_cb, c);
    c->irq_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, irq_timer_cb, c);
    cint_cq_init(&c->engine, &cint->scope, cq->size, &cint->config);
    cint_disable(&c->engine, nvme_cint_now(),
                 is_disabled_vector(cq->ctrl, cq->vector));
    cq->cint = c;
    nvme_cint_init_record(c);
}

void nvme_cint_do_free_cq(NvmeCQueue *cq)
{
    NvmeCintCq *c = cq->cint;

    cq->cint = NULL;
    timer_free(c->post_timer);
    timer_free(c->irq_timer);
    g_free(c->posted);
    g_free(c);
}

void nvme_cint_do_init_sq(NvmeSQueue *sq)
{
    NvmeCintSq *s = g_new0(NvmeCintSq, 1);
    uint32_t i;

    s->sq = sq;
    s->reqs = g_new0(NvmeCintReq, sq->size);
    for (i = 0; i < sq->size; i++) {
        s->reqs[i].req = &sq->io_req[i];
    }
    s->batch_ends = bitmap_new(sq->size);
    s->fetch_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, fetch_timer_cb, s);
    sq->cint = s;
    cint_sq_init(&s->engine, &cint_cq(sq)->engine);
}

void nvme_cint_do_free_sq(NvmeSQueue *sq)
{
    NvmeCint *cint = sq->ctrl->cint;
    NvmeCintSq *s = sq->cint;
    NvmeCintCq *c = cint_cq(sq);
    int64_t now = nvme_cint_now();
    uint32_t i;

    for (i = 0; i < sq->size; i++) {
        if (s->reqs[i].in_media) {
            leave_media(c, &s->reqs[i]);
        }
        nvme_cint_put_slot(cint, &s->reqs[i]);
        /* What is dropped here is not posted, where this usually happens. */
        nvme_sg_unmap(&sq->io_req[i].sg);
    }
    nvme_cint_forget_sq(cint, s);
    if (c->coalesce) {
        expire_deadlines(c, now);
        nvme_cint_act(c, cint_delete_sq(&s->engine, now), now);
    }
    sq->cint = NULL;
    timer_free(s->fetch_timer);
    g_free(s->batch_ends);
    g_free(s->reqs);
    g_free(s);
}

/* From here to the end of the reset no interrupt is due and nothing waits. */
void nvme_cint_do_reset(NvmeCtrl *n)
{
    NvmeCintReq *r, *next;
    uint32_t i;

    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        NvmeCintCq *c = n->cq[i] ? n->cq[i]->cint : NULL;

        if (!c) {
            continue;
        }
        c->coalesce = false;
        timer_del(c->irq_timer);
        QTAILQ_FOREACH_SAFE(r, &c->media, entry, next) {
            leave_media(c, r);
        }
    }
    /* The engine hears no more of what these queues had in flight. */
    cint_scope_init(&n->cint->scope);
    /* What Set Features changed is gone; properties stay. */
    n->cint->config = n->params.cint.config;
    n->cint->arbitration = NVME_ARB_AB_NOLIMIT;
    n->cint->status = (NvmeCintStatus) { 0 };
    bitmap_zero(n->cint->cd, PCI_MSIX_FLAGS_QSIZE + 1);
}

static void fill_capabilities(NvmeCtrl *n)
{
    uint64_t cap = ldq_le_p(&n->bar.cap);

    NVME_CAP_SET_AMS(cap, NVME_CINT_CAP_AMS_WRR);
    stq_le_p(&n->bar.cap, cap);
}

static void fill_identify(NvmeCtrl *n)
{
    NvmeCintIdentify *id = (NvmeCintIdentify *)n->id_ctrl.vs;

    QEMU_BUILD_BUG_ON(offsetof(NvmeIdCtrl, vs) != NVME_CINT_IDENTIFY_OFFSET);
    QEMU_BUILD_BUG_ON(sizeof(NvmeCintIdentify) != 64);

    id->magic = cpu_to_le32(NVME_CINT_MAGIC);
    id->version = cpu_to_le16(NVME_CINT_VERSION);
    id->size = cpu_to_le16(sizeof(*id));
    id->caps = cpu_to_le32(NVME_CINT_CAP_HINTS | NVME_CINT_CAP_OOO |
                           NVME_CINT_CAP_STRICT_BARRIER |
                           NVME_CINT_CAP_STORM | NVME_CINT_CAP_VIC |
                           NVME_CINT_CAP_POINTER | NVME_CINT_CAP_INFER |
                           NVME_CINT_CAP_STATUS_RECORDS | NVME_CINT_CAP_LOG);
    id->config_fid = NVME_CINT_FID_CONFIG;
    id->status_fid = NVME_CINT_FID_STATUS;
    id->lid = NVME_CINT_LID;
    id->regs_offset = cpu_to_le32(nvme_cint_regs_offset(n));
    id->regs_stride = cpu_to_le32(NVME_CINT_REGS_STRIDE);
}

static bool resolve_time(NvmeCtrl *n, Error **errp)
{
    NvmeCint *cint = n->cint;
    uint64_t time = n->params.cint.device.time;

    cint->virtual_time = time == NVME_CINT_TIME_VIRTUAL ||
                         (time == NVME_CINT_TIME_AUTO && icount_enabled());
    if (!cint->virtual_time) {
        return true;
    }
    if (replay_mode != REPLAY_MODE_NONE) {
        error_setg(errp, "cint.time=virtual does not work with record/replay; "
                   "use cint.time=real");
        return false;
    }
    if (n->params.ioeventfd) {
        error_setg(errp, "cint.time=virtual needs ioeventfd=off: event "
                   "notifiers run in real time");
        return false;
    }
    return true;
}

bool nvme_cint_realize(NvmeCtrl *n, Error **errp)
{
    NvmeCint *cint;

    if (!n->params.cint.on) {
        return true;
    }

    cint = n->cint = g_new0(NvmeCint, 1);
    cint->n = n;
    cint->config = n->params.cint.config;
    cint->vector_irqs = g_new0(uint64_t, n->params.msix_qsize);
    nvme_cint_arb_init(cint);
    cint_scope_init(&cint->scope);
    nvme_cint_media_init(&cint->media, &n->params.cint.device);
    fill_capabilities(n);
    fill_identify(n);
    error_setg(&cint->migration_blocker,
               "nvme: cint=on does not support migration");
    if (resolve_time(n, errp) &&
        migrate_add_blocker(&cint->migration_blocker, errp) >= 0) {
        return true;
    }

    error_free(cint->migration_blocker);
    g_free(cint->vector_irqs);
    g_free(cint);
    n->cint = NULL;
    return false;
}

void nvme_cint_exit(NvmeCtrl *n)
{
    if (n->cint) {
        migrate_del_blocker(&n->cint->migration_blocker);
        g_free(n->cint->vector_irqs);
        g_free(n->cint);
        n->cint = NULL;
    }
}
