/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: fetching from one submission queue: doorbells, batches, and what
 * happens to a command between its fetch and its execution. In real time SQEs
 * are fetched in a bottom half, as in the stock model; in virtual time in a
 * timer of the virtual clock, see cint-park.c.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"

#include "cint-arb.h"
#include "cint-cq.h"
#include "cint-hints.h"
#include "cint-hooks.h"
#include "cint-notify.h"
#include "cint-park.h"
#include "cint-sq.h"
#include "thread.h"
#include "trace.h"

/* ---- When to fetch ---- */

/*
 * A queue that stopped for want of a slot may have got one since: commands that
 * are submitted together, behind its last look, may be done by now.
 */
static bool got_slot(const NvmeCintSq *csq, bool has_slots)
{
    return csq->starved && has_slots;
}

static void begin_fetching(NvmeCintSq *csq)
{
    NvmeCint *cint = csq->sq->ctrl->cint;

    nvme_cint_lock(cint);
    csq->fetching = true;
    nvme_cint_unlock(cint);
    csq->starved = false;
}

/*
 * Its turn is over, the next SQE is for the main loop, or the machine stopped:
 * it comes again, and its slots are its own.
 */
static bool goes_on(const NvmeSQueue *sq)
{
    if (unlikely(sq->thread) && nvme_here) {
        return nvme_thread_is_due(sq->thread, NVME_DUE_TURN | NVME_DUE_GO_ON) ||
               sq->in_main;
    }
    return unlikely(sq->ctrl->due & NVME_DUE_START);
}

/*
 * A queue that stopped with slots left, because it is out of requests or has
 * to wait for a command, does not keep them from others; it comes again.
 */
static void stop_fetching(NvmeCintSq *csq)
{
    NvmeCint *cint = csq->sq->ctrl->cint;
    bool has_slots;

    nvme_cint_lock(cint);
    csq->fetching = false;
    has_slots = csq->arb.granted;
    nvme_cint_unlock(cint);
    if (got_slot(csq, has_slots)) {
        nvme_cint_wake_sq(csq, 0);
    } else if (has_slots && !goes_on(csq->sq)) {
        nvme_cint_set_backlog(csq, 0);
    }
}

/*
 * Where a command waits in the main loop, as Delete SQ does, that may come here
 * for any queue, also the one that the command is from. nvme_process_sq() then
 * fetches nothing, and has it done when the command is.
 */
void nvme_cint_do_run_sq(NvmeSQueue *sq)
{
    NvmeCintSq *csq = sq->cint;
    bool was_fetching = csq->fetching;

    nvme_cint_enter(csq->server);
    if (!was_fetching) {
        begin_fetching(csq);
    }
    nvme_process_sq(sq);
    if (!was_fetching) {
        stop_fetching(csq);
    }
    nvme_cint_leave(csq->server);
}

static void fetch_cb(void *opaque)
{
    NvmeCintSq *csq = opaque;

    nvme_cint_do_run_sq(csq->sq);
}

void nvme_cint_do_kick_sq(NvmeSQueue *sq, int64_t delay_ns)
{
    nvme_cint_wake_sq(sq->cint, delay_ns);
}

/* A tail that moved on is a doorbell that rang. */
static APART void set_backlog(NvmeCintSq *csq, uint32_t backlog)
{
    const NvmeSQueue *sq = csq->sq;
    uint32_t known = csq->backlog;

    if (backlog != known) {
        int64_t now = nvme_cint_now();

        csq->backlog = backlog;
        if (backlog > known) {
            nvme_cint_sq_stats_rung(&csq->stats, (sq->head + known) % sq->size,
                                    now);
        } else {
            nvme_cint_sq_stats_unrung(&csq->stats);
        }
        nvme_cint_cq_published(csq, backlog > known, now);
    }
    nvme_cint_set_backlog(csq, backlog);
}

/*
 * How many SQEs has the guest published that are not fetched? The engine and
 * the arbiter have to know.
 */
static inline void look_at_tail(NvmeCintSq *csq)
{
    const NvmeSQueue *sq = csq->sq;
    uint32_t wrap = sq->tail < sq->head ? sq->size : 0;
    uint32_t backlog = sq->tail + wrap - sq->head;

    if (sq->sqid &&
        (backlog != csq->backlog || backlog != csq->arb.backlog)) {
        set_backlog(csq, backlog);
    }
}

void nvme_cint_do_doorbell(NvmeSQueue *sq)
{
    NvmeCintSq *csq = sq->cint;

    nvme_cint_enter(csq->server);
    nvme_cint_mark_batch(csq);
    look_at_tail(csq);
    nvme_cint_wake_sq(csq, 0);
    nvme_cint_leave(csq->server);
}

bool nvme_cint_do_may_fetch(NvmeSQueue *sq)
{
    nvme_cint_mark_shadow_batch(sq->cint);
    look_at_tail(sq->cint);
    sq->cint->starved = !nvme_cint_has_slot(sq->cint);
    return !sq->cint->starved;
}

/* ---- What was fetched ---- */

/* Reads, compares and verifies take the media's read path. */
static bool is_write(uint8_t opcode)
{
    return opcode != NVME_CMD_READ && opcode != NVME_CMD_COMPARE &&
           opcode != NVME_CMD_VERIFY;
}

static bool moves_blocks(uint8_t opcode)
{
    return opcode == NVME_CMD_READ || opcode == NVME_CMD_WRITE ||
           opcode == NVME_CMD_COMPARE || opcode == NVME_CMD_VERIFY ||
           opcode == NVME_CMD_ZONE_APPEND;
}

/* Bytes the media moves; 0 for commands that only say what to do with them. */
static uint64_t media_bytes(NvmeCtrl *n, const NvmeCmd *cmd)
{
    const NvmeRwCmd *rw = (const NvmeRwCmd *)cmd;
    NvmeNamespace *ns;

    if (!moves_blocks(cmd->opcode)) {
        return 0;
    }
    ns = nvme_ns(n, le32_to_cpu(cmd->nsid));
    if (!ns) {
        return 0;
    }
    return nvme_l2b(ns, (uint64_t)le16_to_cpu(rw->nlb) + 1);
}

static APART void end_batch(NvmeCintSq *csq, int64_t now)
{
    trace_pci_nvme_cint_doorbell(csq->sq->sqid, csq->fetched, now);
    csq->fetched = 0;
    nvme_cint_cq_batch_end(csq, now);
}

static APART void trace_media(const NvmeCintReq *creq)
{
    const NvmeSQueue *sq = creq->req->sq;

    trace_pci_nvme_cint_media(sq->cqid, sq->sqid, nvme_cid(creq->req),
                              creq->due_ns);
}

/* The medium is at work from now on; without a model it is done at once. */
static void reserve_media(NvmeCintSq *csq, NvmeCintReq *creq, uint64_t bytes,
                          int64_t now)
{
    NvmeCint *cint = csq->sq->ctrl->cint;
    const NvmeCmd *cmd = &creq->req->cmd;

    if (cint->media.params.profile != CINT_MEDIA_NONE) {
        nvme_cint_lock(cint);
        creq->due_ns = cint_media_reserve(&cint->media, now,
                                          is_write(cmd->opcode), bytes,
                                          &creq->claim);
        nvme_cint_unlock(cint);
    }
    if (trace_event_get_state_backends(TRACE_PCI_NVME_CINT_MEDIA)) {
        trace_media(creq);
    }
}

static APART void trace_submit(const NvmeCintCq *ccq, const NvmeCintReq *creq,
                               int64_t now)
{
    const NvmeRwCmd *rw = (const NvmeRwCmd *)&creq->req->cmd;

    trace_pci_nvme_cint_submit(ccq->cq->cqid, creq->req->sq->sqid,
                               nvme_cid(creq->req), creq->cmd.hints,
                               creq->cmd.sources, ccq->engine.inflight,
                               le64_to_cpu(rw->dptr.prp1),
                               le64_to_cpu(rw->slba),
                               nvme_cint_content(&creq->req->cmd), now);
}

/* The engine knows nothing of queues that are never coalesced. */
static void tell_engine(NvmeCintSq *csq, NvmeCintReq *creq, int64_t now)
{
    NvmeCintCq *ccq = nvme_cint_cq_of(csq->sq);

    if (!ccq->coalesce) {
        return;
    }
    nvme_cint_cq_submit(ccq, csq, creq,
                        nvme_cint_decode_hints(&creq->req->cmd), now);
    if (trace_event_get_state_backends(TRACE_PCI_NVME_CINT_SUBMIT)) {
        trace_submit(ccq, creq, now);
    }
}

/* @creq's SQE was in @slot. */
static void submit_io(NvmeCintSq *csq, NvmeCintReq *creq, uint32_t slot,
                      int64_t now)
{
    uint64_t bytes = media_bytes(csq->sq->ctrl, &creq->req->cmd);

    nvme_cint_sq_stats_fetched(&csq->stats, slot, bytes, now);
    tell_engine(csq, creq, now);
    csq->backlog--;
    nvme_cint_take_slot(csq, creq);
    reserve_media(csq, creq, bytes, now);
}

/* An Asynchronous Event Request ends when an event comes: nobody may wait. */
static bool waits_for_event(const NvmeSQueue *sq, const NvmeRequest *req)
{
    return !sq->sqid && req->cmd.opcode == NVME_ADM_CMD_ASYNC_EV_REQ;
}

void nvme_cint_do_submit(NvmeSQueue *sq, NvmeRequest *req)
{
    NvmeCint *cint = sq->ctrl->cint;
    NvmeCintSq *csq = sq->cint;
    NvmeCintReq *creq = nvme_cint_req(req);
    uint32_t slot = nvme_cint_slot_before(sq, sq->head);
    int64_t now = nvme_cint_now();

    csq->fetched++;
    csq->executing = creq;
    creq->ready = false;
    creq->late = false;
    creq->in_media = false;
    creq->holds_slot = NVME_CINT_NO_SLOT;
    creq->due_ns = now;
    if (sq->sqid) {
        submit_io(csq, creq, slot, now);
    }
    if (nvme_cint_ends_batch(csq, slot)) {
        end_batch(csq, now);
    }
    if (!waits_for_event(sq, req) &&
        (cint->virtual_time ||
         cint->media.params.profile != CINT_MEDIA_NONE)) {
        nvme_cint_enter_media(nvme_cint_cq_of(sq), creq);
    }
}

/*
 * What the block layer has begun ends from now on: also at once, when the pass
 * ends and what it has deferred is submitted.
 */
void nvme_cint_do_executed(NvmeSQueue *sq)
{
    sq->cint->executing = NULL;
}

void nvme_cint_do_execute_left(NvmeSQueue *sq, NvmeRequest *req)
{
    sq->cint->executing_left = req ? nvme_cint_req(req) : NULL;
}

/* ---- Life ---- */

void nvme_cint_do_set_priority(NvmeSQueue *sq, uint8_t priority)
{
    nvme_cint_arb_add(sq->cint, priority);
}

/*
 * Admin commands may wait for I/O, so the main loop executes them itself, never
 * somebody who waits in it: as in the stock model.
 */
static AioContext *fetch_context(const NvmeSQueue *sq)
{
    return sq->sqid ? qemu_get_aio_context() : iohandler_get_aio_context();
}

void nvme_cint_sq_init(NvmeCintSq *csq, NvmeSQueue *sq)
{
    MemReentrancyGuard *guard = &DEVICE(sq->ctrl)->mem_reentrancy_guard;
    uint32_t i;

    csq->sq = sq;
    csq->server = nvme_cint_cq_of(sq)->server;
    csq->reqs = g_new0(NvmeCintReq, sq->size);
    for (i = 0; i < sq->size; i++) {
        csq->reqs[i].req = &sq->io_req[i];
    }
    csq->batch_ends = bitmap_new(sq->size);
    nvme_cint_sq_stats_init(&csq->stats, sq->size);
    csq->fetch_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, fetch_cb, csq);
    csq->fetch_bh = aio_bh_new_guarded(fetch_context(sq), fetch_cb, csq, guard);
    cint_sq_init(&csq->engine, &nvme_cint_cq_of(sq)->engine);
}

void nvme_cint_sq_free(NvmeCintSq *csq)
{
    NvmeSQueue *sq = csq->sq;
    uint32_t i;

    for (i = 0; i < sq->size; i++) {
        nvme_cint_leave_media(nvme_cint_cq_of(sq), &csq->reqs[i]);
    }
    nvme_cint_set_backlog(csq, 0);
    nvme_cint_cq_delete_sq(csq, nvme_cint_now());
    timer_free(csq->fetch_timer);
    qemu_bh_delete(csq->fetch_bh);
    g_free(csq->batch_ends);
    nvme_cint_sq_stats_free(&csq->stats);
    g_free(csq->reqs);
}
