/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: the NVMe controller decides when to interrupt.
 *
 * This header is all that ctrl.c sees: one inline function for each hook,
 * which tests one pointer. With cint off that pointer is NULL and the hook is
 * one untaken branch. Behind it the state is opaque. docs/architecture.md says
 * which file does what and who may call whom.
 *
 * All run under the BQL or with a thread's lock (thread.h). Those marked "last"
 * may send messages; what is done after one is too late for whoever gets it.
 */
#ifndef HW_NVME_CINT_HOOKS_H
#define HW_NVME_CINT_HOOKS_H

#include "hw/intc/intc.h"

#include "nvme.h"

/* ---- Life of the device ---- */

/* Properties "cint" and "cint.*", with descriptions and defaults. */
void nvme_cint_class_init(ObjectClass *oc);
void nvme_cint_instance_init(NvmeCtrl *n);

/*
 * Start-up: everything that can be refused is refused here, with an error that
 * names the property and its valid values, before anything is registered.
 * Also resolves defaults that depend on others.
 */
bool nvme_cint_check_params(NvmeCtrl *n, Error **errp);

/* The controller is complete; nothing can fail any more. */
void nvme_cint_realize(NvmeCtrl *n);
void nvme_cint_exit(NvmeCtrl *n);

void nvme_cint_do_reset(NvmeCtrl *n);
void nvme_cint_do_reset_done(NvmeCtrl *n);

/* The controller is about to drain and drop everything. */
static inline void nvme_cint_reset(NvmeCtrl *n)
{
    if (n->cint) {
        nvme_cint_do_reset(n);
    }
}

/* There are no queues any more. */
static inline void nvme_cint_reset_done(NvmeCtrl *n)
{
    if (n->cint) {
        nvme_cint_do_reset_done(n);
    }
}

/* ---- What a guest asks ---- */

bool nvme_cint_do_has_feature(uint8_t fid);

/* Features that cint answers in place of the stock code. */
static inline bool nvme_cint_has_feature(NvmeCtrl *n, uint8_t fid)
{
    return n->cint && nvme_cint_do_has_feature(fid);
}

/* Get and Set Features of what nvme_cint_has_feature() claims. */
uint16_t nvme_cint_get_feature(NvmeCtrl *n, NvmeRequest *req);
uint16_t nvme_cint_set_feature(NvmeCtrl *n, NvmeRequest *req);

/* Get Log Page D0h; only with cint on. */
uint16_t nvme_cint_log(NvmeCtrl *n, uint32_t len, uint64_t off,
                       NvmeRequest *req);

/*
 * Bytes that the registers behind the last doorbell take in BAR0 with @queues
 * queue pairs, the admin queue's included. Decided before the device is.
 */
uint64_t nvme_cint_regs_size(const NvmeCtrl *n, unsigned queues);

bool nvme_cint_do_is_reg(NvmeCtrl *n, hwaddr addr);

static inline bool nvme_cint_is_reg(NvmeCtrl *n, hwaddr addr)
{
    return n->cint && nvme_cint_do_is_reg(n, addr);
}

/* Accesses for which nvme_cint_is_reg() is true. Writing is last. */
void nvme_cint_write_reg(NvmeCtrl *n, hwaddr addr, uint64_t data,
                         unsigned size);
uint64_t nvme_cint_read_reg(NvmeCtrl *n, hwaddr addr, unsigned size);

/* ---- Life of the queues ---- */

void nvme_cint_do_init_cq(NvmeCQueue *cq);
void nvme_cint_do_free_cq(NvmeCQueue *cq);
void nvme_cint_do_init_sq(NvmeSQueue *sq);
void nvme_cint_do_free_sq(NvmeSQueue *sq);
void nvme_cint_do_set_priority(NvmeSQueue *sq, uint8_t priority);

static inline void nvme_cint_init_cq(NvmeCQueue *cq)
{
    if (cq->ctrl->cint) {
        nvme_cint_do_init_cq(cq);
    }
}

static inline void nvme_cint_free_cq(NvmeCQueue *cq)
{
    if (cq->cint) {
        nvme_cint_do_free_cq(cq);
    }
}

static inline void nvme_cint_init_sq(NvmeSQueue *sq)
{
    if (sq->ctrl->cint) {
        nvme_cint_do_init_sq(sq);
    }
}

/* @priority: QPRIO of Create I/O Submission Queue. */
static inline void nvme_cint_set_priority(NvmeSQueue *sq, uint8_t priority)
{
    if (sq->cint) {
        nvme_cint_do_set_priority(sq, priority);
    }
}

static inline void nvme_cint_free_sq(NvmeSQueue *sq)
{
    if (sq->cint) {
        nvme_cint_do_free_sq(sq);
    }
}

/* ---- Fetching ---- */

void nvme_cint_do_doorbell(NvmeSQueue *sq);
void nvme_cint_do_kick_sq(NvmeSQueue *sq, int64_t delay_ns);
void nvme_cint_do_run_sq(NvmeSQueue *sq);
bool nvme_cint_do_may_fetch(NvmeSQueue *sq);
void nvme_cint_do_submit(NvmeSQueue *sq, NvmeRequest *req);
void nvme_cint_do_executed(NvmeSQueue *sq);
void nvme_cint_do_execute_left(NvmeSQueue *sq, NvmeRequest *req);
void nvme_cint_do_rang(NvmeSQueue *sq, uint32_t tail);

/* The guest has written sq->tail's register. Last. */
static inline void nvme_cint_doorbell(NvmeSQueue *sq)
{
    if (sq->cint) {
        nvme_cint_do_doorbell(sq);
    } else {
        qemu_bh_schedule(sq->bh);
    }
}

/* Have SQEs fetched soon: in a bottom half, or in a timer in virtual time. */
static inline void nvme_cint_kick_sq(NvmeSQueue *sq)
{
    if (sq->cint) {
        nvme_cint_do_kick_sq(sq, 0);
    } else {
        qemu_bh_schedule(sq->bh);
    }
}

/*
 * As nvme_cint_kick_sq(), for a fetch that has to wait for another command.
 * In virtual time some has to pass, or the clock would stand still for ever.
 */
static inline void nvme_cint_retry_sq(NvmeSQueue *sq)
{
    if (sq->cint) {
        nvme_cint_do_kick_sq(sq, SCALE_US);
    } else {
        qemu_bh_schedule(sq->bh);
    }
}

/* Fetch now, from an event notifier. Last. */
static inline void nvme_cint_run_sq(NvmeSQueue *sq)
{
    if (sq->cint) {
        nvme_cint_do_run_sq(sq);
    } else {
        nvme_process_sq(sq);
    }
}

/* May the next SQE be fetched? If not, the queue is kicked when it may. */
static inline bool nvme_cint_may_fetch(NvmeSQueue *sq)
{
    return !sq->cint || nvme_cint_do_may_fetch(sq);
}

/* @req was fetched and is about to be executed. */
static inline void nvme_cint_submit(NvmeSQueue *sq, NvmeRequest *req)
{
    if (sq->cint) {
        nvme_cint_do_submit(sq, req);
    }
}

/* The command submitted last has been executed, or left to the main loop. */
static inline void nvme_cint_executed(NvmeSQueue *sq)
{
    if (sq->cint) {
        nvme_cint_do_executed(sq);
    }
}

/* @req, which a thread has left, is about to be; NULL: it has been. */
static inline void nvme_cint_execute_left(NvmeSQueue *sq, NvmeRequest *req)
{
    if (sq->cint) {
        nvme_cint_do_execute_left(sq, req);
    }
}

/* The guest has written the register of @sq, which a thread serves. */
static inline void nvme_cint_rang(NvmeSQueue *sq, uint32_t tail)
{
    if (sq->cint) {
        nvme_cint_do_rang(sq, tail);
    }
}

/* ---- Completing ---- */

bool nvme_cint_do_park(NvmeRequest *req);
bool nvme_cint_do_cancel(NvmeRequest *req);
void nvme_cint_do_abort(NvmeRequest *req);
void nvme_cint_do_kick_cq(NvmeCQueue *cq);
void nvme_cint_do_posted(NvmeCQueue *cq, NvmeRequest *req);
bool nvme_cint_do_pass_end(NvmeCQueue *cq);
bool nvme_cint_do_head(NvmeCQueue *cq);
void nvme_cint_do_run_cq(NvmeCQueue *cq, bool posts);
void nvme_cint_do_catch_up(NvmeCQueue *cq);
void nvme_cint_do_stop_cq(NvmeCQueue *cq);
void nvme_cint_do_stop_sq(NvmeSQueue *sq);
bool nvme_cint_do_publish(NvmeCQueue *cq);
bool nvme_cint_do_has_told(NvmeCQueue *cq);

/* Returns true to keep @req, whose data is there, until its media time. */
static inline bool nvme_cint_park(NvmeRequest *req)
{
    return req->sq->cint && nvme_cint_do_park(req);
}

/*
 * @req is to end with the status it has, now. Returns false if it is not one
 * that waits for the media; it then stays where it is.
 */
static inline bool nvme_cint_cancel(NvmeRequest *req)
{
    return req->sq->cint && nvme_cint_do_cancel(req);
}

/* Abort command: end @req now if it is one that waits for the media. */
static inline void nvme_cint_abort(NvmeRequest *req)
{
    if (req->sq->cint) {
        nvme_cint_do_abort(req);
    }
}

/* Have finished requests posted soon; see nvme_cint_kick_sq(). */
static inline void nvme_cint_kick_cq(NvmeCQueue *cq)
{
    if (cq->cint) {
        nvme_cint_do_kick_cq(cq);
    } else {
        qemu_bh_schedule(cq->bh);
    }
}

/* The CQE of @req was posted. */
static inline void nvme_cint_posted(NvmeCQueue *cq, NvmeRequest *req)
{
    if (cq->cint) {
        nvme_cint_do_posted(cq, req);
    }
}

/*
 * A posting pass is over. Returns true if interrupt and n->cq_pending are
 * cint's business, false if stock behaviour applies.
 */
static inline bool nvme_cint_pass_end(NvmeCQueue *cq)
{
    return cq->cint && nvme_cint_do_pass_end(cq);
}

/* cq->head was updated. Returns as nvme_cint_pass_end() does. Last if true. */
static inline bool nvme_cint_head(NvmeCQueue *cq)
{
    return cq->cint && nvme_cint_do_head(cq);
}

/* ---- Of queues that a thread serves ---- */

/* Post now, if something was to be, or at any rate (@posts). */
static inline void nvme_cint_run_cq(NvmeCQueue *cq, bool posts)
{
    if (cq->cint) {
        nvme_cint_do_run_cq(cq, posts);
    } else {
        nvme_post_cqes(cq);
    }
}

/* What timers have left to the main loop. */
static inline void nvme_cint_catch_up(NvmeCQueue *cq)
{
    if (cq->cint) {
        nvme_cint_do_catch_up(cq);
    }
}

/* Timers of the queue do not expire any more. */
static inline void nvme_cint_stop_cq(NvmeCQueue *cq)
{
    if (cq->cint) {
        nvme_cint_do_stop_cq(cq);
    }
}

/* The queue waits for no slot any more. */
static inline void nvme_cint_stop_sq(NvmeSQueue *sq)
{
    if (sq->cint) {
        nvme_cint_do_stop_sq(sq);
    }
}

/* The next record is written, and its message due. False: there is none. */
static inline bool nvme_cint_publish(NvmeCQueue *cq)
{
    return nvme_cint_do_publish(cq);
}

/* Is there something for the guest to consume that it was told of? */
static inline bool nvme_cint_has_told(NvmeCQueue *cq)
{
    return cq->cint ? nvme_cint_do_has_told(cq) : cq->tail != cq->head;
}

/* ---- Elsewhere ---- */

/*
 * QEMU since 11.1 can migrate the device, and has hooks for these. Of what is
 * carried nothing is posted or sent meanwhile.
 */
extern const VMStateDescription nvme_cint_vmstate;

void nvme_cint_do_freeze_sq(NvmeSQueue *sq);
bool nvme_cint_do_is_parked(const NvmeRequest *req);
bool nvme_cint_do_save(NvmeCtrl *n, Error **errp);
bool nvme_cint_do_check_load(NvmeCtrl *n, Error **errp);
bool nvme_cint_do_load(NvmeCtrl *n, Error **errp);

/* Nothing is fetched from @sq until the machine runs again. */
static inline void nvme_cint_freeze_sq(NvmeSQueue *sq)
{
    if (sq->cint) {
        nvme_cint_do_freeze_sq(sq);
    }
}

/* Is @req, of which nothing is left to do, still to wait for the media? */
static inline bool nvme_cint_is_parked(const NvmeRequest *req)
{
    return req->sq->cint && nvme_cint_do_is_parked(req);
}

/* What is to be carried, when all I/O is done. False with an error: cannot. */
static inline bool nvme_cint_save(NvmeCtrl *n, Error **errp)
{
    return !n->cint || nvme_cint_do_save(n, errp);
}

/* Queues have come in, and are none yet. False with an error if they cannot. */
static inline bool nvme_cint_check_load(NvmeCtrl *n, Error **errp)
{
    return !n->cint || nvme_cint_do_check_load(n, errp);
}

/* The queues are as they were. Takes over the rest of what came in. */
static inline bool nvme_cint_load(NvmeCtrl *n, Error **errp)
{
    return !n->cint || nvme_cint_do_load(n, errp);
}

#endif /* HW_NVME_CINT_HOOKS_H */
