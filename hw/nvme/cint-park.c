/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: commands that wait for the medium. A completion queue keeps those of
 * its commands that are in the medium in order of the time they are done. Two
 * notions of time (property cint.time):
 *
 *   real     CQEs are posted in a bottom half, as in the stock model; a
 *            command that the media model delays is parked until the timer
 *            expires, or until its data is there if that is later.
 *   virtual  the main loop runs in real time, so nothing that the guest can
 *            time goes through it: every command waits here, and CQEs are
 *            posted in timers of the virtual clock only. A timer whose data is
 *            not there yet waits for it, while virtual time stands still.
 */
#include "qemu/osdep.h"
#include "block/aio-wait.h"
#include "hw/qdev-core.h"

#include "cint-arb.h"
#include "cint-hooks.h"
#include "cint-notify.h"
#include "cint-park.h"

static void arm_post_timer(NvmeCintCq *ccq)
{
    NvmeCintReq *first = QTAILQ_FIRST(&ccq->media);
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
        qemu_bh_schedule(ccq->post_bh);
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

void nvme_cint_enter_media(NvmeCintCq *ccq, NvmeCintReq *creq)
{
    NvmeCintReq *before = QTAILQ_LAST(&ccq->media);

    /* Nearly always in order already; equal times keep their order. */
    while (before && before->due_ns > creq->due_ns) {
        before = QTAILQ_PREV(before, entry);
    }
    if (before) {
        QTAILQ_INSERT_AFTER(&ccq->media, before, creq, entry);
    } else {
        QTAILQ_INSERT_HEAD(&ccq->media, creq, entry);
    }
    creq->in_media = true;
    arm_post_timer(ccq);
}

static void unlink_req(NvmeCintCq *ccq, NvmeCintReq *creq)
{
    if (creq->in_media) {
        QTAILQ_REMOVE(&ccq->media, creq, entry);
        creq->in_media = false;
    }
}

void nvme_cint_leave_media(NvmeCintCq *ccq, NvmeCintReq *creq)
{
    NvmeCint *cint = ccq->cq->ctrl->cint;

    if (creq->in_media) {
        /* Nothing is left of its time if that is over. */
        cint_media_refund(&cint->media, nvme_cint_now(), &creq->claim);
        unlink_req(ccq, creq);
    }
    nvme_cint_put_slot(cint, creq);
}

void nvme_cint_empty_media(NvmeCintCq *ccq)
{
    NvmeCintReq *creq, *next;

    QTAILQ_FOREACH_SAFE(creq, &ccq->media, entry, next) {
        nvme_cint_leave_media(ccq, creq);
    }
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
    NvmeCintReq *first = QTAILQ_FIRST(&ccq->media);

    return first && first->due_ns <= now ? first : NULL;
}

/*
 * Other devices are served meanwhile, and a message of one of them may reset
 * or unplug this controller. Returns false if @creq waits no longer: that has
 * happened, or the command has failed and left the list by itself.
 */
static bool wait_for_data(const NvmeCintEntry *entry, const NvmeCintReq *creq)
{
    AIO_WAIT_WHILE_UNLOCKED(NULL, nvme_cint_is_whole(entry) &&
                                  creq->in_media && !creq->ready);
    return nvme_cint_is_whole(entry) && creq->in_media;
}

/* Finishes the commands the media is done with. */
static bool collect_due(const NvmeCintEntry *entry, NvmeCintCq *ccq,
                        int64_t now)
{
    bool virtual_time = entry->n->cint->virtual_time;
    bool collected = false;
    NvmeCintReq *creq;

    while (nvme_cint_is_whole(entry) && (creq = first_due(ccq, now))) {
        if (virtual_time && !wait_for_data(entry, creq)) {
            continue;
        }
        if (creq->ready) {
            nvme_cint_leave_media(ccq, creq);
            finish(ccq, creq);
            collected = true;
        } else {
            /* The slot is its until the data is there as well. */
            memset(&creq->claim, 0, sizeof(creq->claim));
            unlink_req(ccq, creq);
        }
    }
    return collected;
}

static void post_timer_cb(void *opaque)
{
    NvmeCintCq *ccq = opaque;
    NvmeCintEntry entry = nvme_cint_enter(ccq->cq->ctrl);
    int64_t now = nvme_cint_now();
    bool kicked = ccq->post_ns <= now;
    bool collected;

    ccq->post_ns = kicked ? CINT_NO_DEADLINE : ccq->post_ns;
    collected = collect_due(&entry, ccq, now);
    if (nvme_cint_is_whole(&entry)) {
        if (collected || kicked) {
            nvme_post_cqes(ccq->cq);
        }
        arm_post_timer(ccq);
    }
    nvme_cint_leave(entry);
}

static void post_bh_cb(void *opaque)
{
    NvmeCintCq *ccq = opaque;
    NvmeCintEntry entry = nvme_cint_enter(ccq->cq->ctrl);

    ccq->post_scheduled = false;
    nvme_post_cqes(ccq->cq);
    nvme_cint_leave(entry);
}

/* Commands that failed before any I/O, and aborted ones, wait for nothing. */
static bool ends_at_once(const NvmeRequest *req)
{
    return req->status == NVME_CMD_ABORT_REQ ||
           req->status == NVME_CMD_ABORT_SQ_DEL ||
           (req->status && !req->aiocb);
}

static APART bool park(NvmeCintReq *creq)
{
    NvmeRequest *req = creq->req;

    if (ends_at_once(req)) {
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

void nvme_cint_park_init(NvmeCintCq *ccq)
{
    MemReentrancyGuard *guard = &DEVICE(ccq->cq->ctrl)->mem_reentrancy_guard;

    QTAILQ_INIT(&ccq->media);
    ccq->post_ns = CINT_NO_DEADLINE;
    ccq->post_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, post_timer_cb, ccq);
    ccq->post_bh = qemu_bh_new_guarded(post_bh_cb, ccq, guard);
}

void nvme_cint_park_free(NvmeCintCq *ccq)
{
    timer_free(ccq->post_timer);
    qemu_bh_delete(ccq->post_bh);
}
