/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: commands that wait for the medium. A completion queue keeps those of
 * its commands that are in the medium in order of the time they are done: in a
 * list, and in a tree those that overtake many there. Two notions of time
 * (property cint.time):
 *
 *   real     CQEs are posted in a bottom half, as in the stock model; a
 *            command that the media model delays is parked until the timer
 *            expires, or until its data is there if that is later.
 *   virtual  the main loop runs in real time, so nothing that the guest can
 *            time goes through it: every command waits here, and CQEs are
 *            posted in timers of the virtual clock only. A timer whose data is
 *            not there yet waits for it, while virtual time stands still, but
 *            not for ever: nobody serves the monitor meanwhile.
 */
#include "qemu/osdep.h"
#include "block/block.h"
#include "qemu/error-report.h"
#include "system/runstate.h"

#include "cint-arb.h"
#include "cint-hooks.h"
#include "cint-notify.h"
#include "cint-park.h"
#include "cint-cq.h"
#include "thread.h"

/* Virtual time stands still for data no longer than this, in real time. */
#define PATIENCE_MS     5000

/* How many a command is put before in the list, one after the other. */
#define MOST_STEPS      16

static bool is_before(const NvmeCintReq *a, const NvmeCintReq *b)
{
    return a->due_ns < b->due_ns ||
           (a->due_ns == b->due_ns && a->turn < b->turn);
}

/* The one that the medium is done with first, NULL if there is none. */
static NvmeCintReq *first_in_media(const NvmeCintCq *ccq)
{
    NvmeCintReq *first = QTAILQ_FIRST(&ccq->media);
    IntervalTreeNode *node =
        interval_tree_iter_first((IntervalTreeRoot *)&ccq->overtakers, 0,
                                 UINT64_MAX);
    NvmeCintReq *overtaker = node ? container_of(node, NvmeCintReq, node)
                                  : NULL;

    return !first || (overtaker && is_before(overtaker, first)) ? overtaker
                                                                : first;
}

static void arm_post_timer(NvmeCintCq *ccq)
{
    NvmeCintReq *first = first_in_media(ccq);
    int64_t when = ccq->post_ns;

    if (first) {
        when = MIN(when, first->due_ns);
    }
    if (when == CINT_NO_DEADLINE) {
        timer_del(ccq->post_timer);
    } else {
        timer_mod(ccq->post_timer, when);
    }
}

/* Scheduling a bottom half again wakes the main loop again: a system call. */
static void schedule_post_bh(NvmeCintCq *ccq)
{
    if (!ccq->post_scheduled) {
        ccq->post_scheduled = true;
        qemu_bh_schedule(ccq->cq->thread ? ccq->cq->bh : ccq->post_bh);
    }
}

void nvme_cint_do_kick_cq(NvmeCQueue *cq)
{
    NvmeCintCq *ccq = cq->cint;

    if (!cq->ctrl->cint->virtual_time) {
        schedule_post_bh(ccq);
        return;
    }
    ccq->post_ns = nvme_cint_now();
    arm_post_timer(ccq);
}

/*
 * A guest chooses what overtakes what, and how much: where that is more than a
 * few, a tree has the command, or a queue's worth of them would take minutes.
 */
static void overtake(NvmeCintCq *ccq, NvmeCintReq *creq)
{
    creq->overtakes = true;
    creq->node.start = creq->node.last = creq->due_ns;
    interval_tree_insert(&creq->node, &ccq->overtakers);
}

void nvme_cint_enter_media(NvmeCintCq *ccq, NvmeCintReq *creq)
{
    NvmeCintReq *before = QTAILQ_LAST(&ccq->media);
    unsigned steps = 0;

    creq->turn = ccq->turns++;
    creq->overtakes = false;
    /* Nearly always in order already; equal times keep their order. */
    while (before && before->due_ns > creq->due_ns && steps++ < MOST_STEPS) {
        before = QTAILQ_PREV(before, entry);
    }
    if (steps > MOST_STEPS) {
        overtake(ccq, creq);
    } else if (before) {
        QTAILQ_INSERT_AFTER(&ccq->media, before, creq, entry);
    } else {
        QTAILQ_INSERT_HEAD(&ccq->media, creq, entry);
    }
    creq->in_media = true;
    arm_post_timer(ccq);
}

static void unlink_req(NvmeCintCq *ccq, NvmeCintReq *creq)
{
    if (!creq->in_media) {
        return;
    }
    if (creq->overtakes) {
        interval_tree_remove(&creq->node, &ccq->overtakers);
    } else {
        QTAILQ_REMOVE(&ccq->media, creq, entry);
    }
    creq->in_media = false;
}

static void refund(NvmeCint *cint, NvmeCintReq *creq)
{
    nvme_cint_lock(cint);
    cint_media_refund(&cint->media, nvme_cint_now(), &creq->claim);
    nvme_cint_unlock(cint);
}

void nvme_cint_leave_media(NvmeCintCq *ccq, NvmeCintReq *creq)
{
    NvmeCint *cint = ccq->cq->ctrl->cint;

    if (creq->in_media) {
        /* Nothing is left of its time if that is over. */
        if (ccq->cq->cqid) {
            refund(cint, creq);
        }
        unlink_req(ccq, creq);
    }
    nvme_cint_put_slot(cint, creq);
}

/*
 * @creq, whose data is there, is to be posted. Its slot is free, though the
 * queue may be full: one that nobody reaps does not hold up the others.
 */
static void finish(NvmeCintCq *ccq, NvmeCintReq *creq)
{
    NvmeRequest *req = creq->req;

    QTAILQ_REMOVE(&req->sq->out_req_list, req, entry);
    QTAILQ_INSERT_TAIL(&ccq->cq->req_list, req, entry);
}

static NvmeCintReq *first_due(const NvmeCintCq *ccq, int64_t now)
{
    NvmeCintReq *first = first_in_media(ccq);

    return first && first->due_ns <= now ? first : NULL;
}

static void give_up_cb(void *opaque)
{
    bool *given_up = opaque;

    *given_up = true;
}

/*
 * Until the data of @creq is there, or the command has failed and left the
 * list by itself. Other devices are served meanwhile, hence nvme_hold().
 *
 * Returns: false if it was given up; QEMU that is to end does not wait either
 */
static bool wait_patiently(NvmeCtrl *n, const NvmeCintReq *creq)
{
    bool given_up = false;
    QEMUTimer timer;

    aio_timer_init(qemu_get_aio_context(), &timer, QEMU_CLOCK_REALTIME,
                   SCALE_MS, give_up_cb, &given_up);
    timer_mod(&timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + PATIENCE_MS);
    nvme_hold(n);
    AIO_WAIT_WHILE_UNLOCKED(NULL, creq->in_media && !creq->ready &&
                                  !given_up && !qemu_shutdown_requested_get());
    nvme_release(n);
    timer_del(&timer);
    return !given_up;
}

/*
 * Data that does not come, because whatever is behind the drive hangs, is
 * given up: the command is then posted when its data is there, as in real
 * time. While there is such a command no other is waited for.
 */
static APART void wait_for_data(NvmeCtrl *n, NvmeCintReq *creq)
{
    bool in_time = n->cint->late || wait_patiently(n, creq);

    if (creq->ready || !creq->in_media) {
        return;
    }
    creq->late = true;
    n->cint->late++;
    if (!in_time) {
        warn_report_once("nvme: data is more than %d s late; virtual time goes "
                         "on without it, and what is measured will not repeat",
                         PATIENCE_MS / 1000);
    }
}

/* Its data has come after all, or the command has failed. */
static APART void catch_up(NvmeCint *cint, NvmeCintReq *creq)
{
    creq->late = false;
    cint->late--;
}

/* Finishes the commands the media is done with. */
static bool collect_due(NvmeCintCq *ccq, int64_t now)
{
    NvmeCtrl *n = ccq->cq->ctrl;
    bool collected = false;
    NvmeCintReq *creq;

    while ((creq = first_due(ccq, now))) {
        if (n->cint->virtual_time && !creq->ready) {
            wait_for_data(n, creq);
        }
        if (!creq->in_media) {
            continue;
        }
        if (creq->ready) {
            nvme_cint_leave_media(ccq, creq);
            finish(ccq, creq);
            collected = true;
        } else {
            /* The slot is its until the data is there as well. */
            unlink_req(ccq, creq);
        }
    }
    return collected;
}

static void post_due(NvmeCintCq *ccq)
{
    int64_t now = nvme_cint_now();
    bool kicked = ccq->post_ns <= now;

    nvme_cint_enter(ccq->server);
    ccq->post_ns = kicked ? CINT_NO_DEADLINE : ccq->post_ns;
    if (collect_due(ccq, now) || kicked) {
        nvme_post_cqes(ccq->cq);
    }
    arm_post_timer(ccq);
    nvme_cint_leave(ccq->server);
}

static void post_timer_cb(void *opaque)
{
    NvmeCintCq *ccq = opaque;

    if (nvme_thread_begin(ccq->cq)) {
        post_due(ccq);
        nvme_thread_end(ccq->cq);
    }
}

static void post_now(NvmeCintCq *ccq)
{
    nvme_cint_enter(ccq->server);
    ccq->post_scheduled = false;
    nvme_post_cqes(ccq->cq);
    nvme_cint_leave(ccq->server);
}

static void post_bh_cb(void *opaque)
{
    post_now(opaque);
}

void nvme_cint_do_run_cq(NvmeCQueue *cq, bool posts)
{
    if (posts || cq->cint->post_scheduled) {
        post_now(cq->cint);
    }
}

void nvme_cint_do_catch_up(NvmeCQueue *cq)
{
    nvme_cint_cq_timeout(cq->cint);
    post_due(cq->cint);
}

/*
 * Commands that failed before any I/O, and aborted ones, wait for nothing. The
 * former fail while they are executed; what the block layer has begun ends
 * later, from the main loop.
 */
static bool ends_at_once(const NvmeCintReq *creq)
{
    const NvmeRequest *req = creq->req;

    return req->status == NVME_CMD_ABORT_REQ ||
           req->status == NVME_CMD_ABORT_SQ_DEL ||
           (req->status && (req->sq->cint->executing == creq ||
                            req->sq->cint->executing_left == creq));
}

static APART bool park(NvmeCintReq *creq)
{
    NvmeRequest *req = creq->req;

    if (ends_at_once(creq)) {
        nvme_cint_leave_media(nvme_cint_cq_of(req->sq), creq);
        return false;
    }
    /* The block layer frees the AIOCB: nobody may cancel it any more. */
    req->aiocb = NULL;
    creq->ready = true;
    return true;
}

bool nvme_cint_do_park(NvmeRequest *req)
{
    NvmeCintReq *creq = nvme_cint_req(req);

    if (creq->in_media) {
        return park(creq);
    }
    if (creq->late) {
        catch_up(req->sq->ctrl->cint, creq);
    }
    nvme_cint_put_slot(req->sq->ctrl->cint, creq);
    return false;
}

bool nvme_cint_do_cancel(NvmeRequest *req)
{
    NvmeCintReq *creq = nvme_cint_req(req);
    NvmeCintCq *ccq = nvme_cint_cq_of(req->sq);

    if (!creq->in_media || !creq->ready) {
        return false;
    }
    nvme_cint_leave_media(ccq, creq);
    finish(ccq, creq);
    nvme_cint_do_kick_cq(ccq->cq);
    return true;
}

void nvme_cint_do_abort(NvmeRequest *req)
{
    NvmeCintReq *creq = nvme_cint_req(req);

    /* An admin command that waits to be posted has been executed. */
    if (req->sq->sqid && creq->in_media && creq->ready) {
        req->status = NVME_CMD_ABORT_REQ;
        nvme_cint_do_cancel(req);
    }
}

void nvme_cint_return_to_media(NvmeCintReq *creq)
{
    creq->overtakes = false;
    creq->in_media = true;
    QTAILQ_INSERT_TAIL(&nvme_cint_cq_of(creq->req->sq)->media, creq, entry);
}

void nvme_cint_park_resume(NvmeCintCq *ccq)
{
    arm_post_timer(ccq);
    if (!QTAILQ_EMPTY(&ccq->cq->req_list)) {
        nvme_cint_do_kick_cq(ccq->cq);
    }
}

void nvme_cint_park_init(NvmeCintCq *ccq)
{
    MemReentrancyGuard *guard = &DEVICE(ccq->cq->ctrl)->mem_reentrancy_guard;

    QTAILQ_INIT(&ccq->media);
    ccq->post_ns = CINT_NO_DEADLINE;
    ccq->post_timer = nvme_thread_timer_new(ccq->cq, post_timer_cb, ccq);
    ccq->post_bh = qemu_bh_new_guarded(post_bh_cb, ccq, guard);
}

void nvme_cint_park_free(NvmeCintCq *ccq)
{
    timer_free(ccq->post_timer);
    qemu_bh_delete(ccq->post_bh);
}
