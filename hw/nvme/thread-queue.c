/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IOThreads that serve I/O queues: what runs in them, and for them. See
 * thread-queue.h.
 */
#include "qemu/osdep.h"
#include "block/block-io.h"
#include "hw/pci/msix.h"
#include "hw/virtio/iothread-vq-mapping.h"
#include "migration/blocker.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"
#include "system/block-backend.h"
#include "system/cpu-timers.h"
#include "system/iothread.h"
#include "system/runstate.h"

#include "cint-hooks.h"
#include "irqfd.h"
#include "thread-queue.h"

/*
 * SQEs of a pass. Others wait for it, or for two, to end: other queues, and
 * what has completed, which is posted and told of by a bottom half of the same
 * thread. With all of a deep queue in one pass the guest would have nothing to
 * do meanwhile, and the thread nothing while the guest reaps: docs/cost.md.
 */
#define TURN        32

/* ---- Entries ---- */

static bool is_full(const NvmeCQueue *cq)
{
    return (cq->tail + 1) % cq->size == cq->head;
}

static void take_head(NvmeCQueue *cq)
{
    if (nvme_thread_look_at_head(cq)) {
        nvme_cint_head(cq);
    }
}

bool nvme_thread_is_full(NvmeCQueue *cq)
{
    qatomic_set(&cq->stalled, true);
    /* the guest's doorbell stores the head, and then looks at this */
    smp_mb();
    take_head(cq);
    if (is_full(cq)) {
        return true;
    }
    qatomic_set(&cq->stalled, false);
    return false;
}

/* What the guest has consumed comes first. */
static void run_cq(NvmeCQueue *cq)
{
    bool posts = false;

    take_head(cq);
    if (qatomic_read(&cq->stalled) && !is_full(cq)) {
        qatomic_set(&cq->stalled, false);
        posts = true;
    }
    nvme_cint_run_cq(cq, posts);
}

static void take_turn(NvmeSQueue *sq)
{
    NvmeThread *thread = sq->thread;

    thread->turn = TURN;
    nvme_cint_run_sq(sq);
    if (nvme_thread_is_due(thread, NVME_DUE_TURN)) {
        nvme_thread_go(thread, NVME_DUE_TURN);
        qemu_bh_schedule(sq->bh);
    }
}

void nvme_thread_hand_over(NvmeSQueue *sq)
{
    sq->in_main = true;
    qemu_bh_schedule(sq->main_bh);
}

static void fetch(NvmeSQueue *sq)
{
    if (sq->in_main || !nvme_thread_is_sq_mapped(sq)) {
        nvme_thread_hand_over(sq);
    } else {
        nvme_thread_look_at_tail(sq);
        take_turn(sq);
    }
}

static void post(NvmeCQueue *cq)
{
    if (nvme_thread_is_cq_mapped(cq)) {
        run_cq(cq);
    } else {
        qemu_bh_schedule(cq->main_bh);
    }
}

static void fetch_cb(void *opaque)
{
    NvmeSQueue *sq = opaque;
    NvmeThread *thread = sq->thread;

    nvme_thread_enter(thread);
    if (!sq->stopped) {
        fetch(sq);
    }
    nvme_thread_leave(thread);
}

static void post_cb(void *opaque)
{
    NvmeCQueue *cq = opaque;
    NvmeThread *thread = cq->thread;

    nvme_thread_enter(thread);
    if (!cq->stopped) {
        post(cq);
    }
    nvme_thread_leave(thread);
}

/*
 * Bottom halves of the main loop run while it waits for the thread of a queue
 * that is stopped, too, and do nothing for that then: nobody would take back
 * what they set off, a timer or the pin.
 */

/* What is in a register is read without the lock. */
static void main_fetch_cb(void *opaque)
{
    NvmeSQueue *sq = opaque;
    NvmeCtrl *n = sq->ctrl;

    if (qatomic_read(&sq->stopped)) {
        return;
    }
    nvme_pause(n);
    nvme_thread_look_at_tail(sq);
    nvme_cint_run_sq(sq);
    sq->in_main = false;
    nvme_resume(n);
}

static void main_post_cb(void *opaque)
{
    NvmeCQueue *cq = opaque;

    if (cq->stopped) {
        return;
    }
    nvme_lock(cq->thread);
    if (cq->ctrl->dbbuf_enabled) {
        nvme_update_cq_head(cq);
        nvme_cint_head(cq);
    }
    run_cq(cq);
    nvme_cint_catch_up(cq);
    nvme_unlock(cq->thread);
    qemu_bh_schedule(cq->irq_bh);
}

static void sq_notifier_cb(EventNotifier *e)
{
    if (event_notifier_test_and_clear(e)) {
        fetch_cb(container_of(e, NvmeSQueue, notifier));
    }
}

/* As without a thread: what waits for room is posted, and told of again. */
static void cq_notifier_cb(EventNotifier *e)
{
    NvmeCQueue *cq = container_of(e, NvmeCQueue, notifier);
    NvmeThread *thread = cq->thread;

    if (!event_notifier_test_and_clear(e)) {
        return;
    }
    nvme_thread_enter(thread);
    if (!cq->stopped && nvme_thread_is_cq_mapped(cq)) {
        nvme_update_cq_head(cq);
        nvme_cint_head(cq);
        nvme_cint_kick_cq(cq);
        qemu_bh_schedule(cq->irq_bh);
    } else if (!cq->stopped) {
        qemu_bh_schedule(cq->main_bh);
    }
    nvme_thread_leave(thread);
}

void nvme_thread_sq_notifier(NvmeSQueue *sq, bool on)
{
    aio_set_event_notifier(sq->thread->ctx, &sq->notifier,
                           on ? sq_notifier_cb : NULL, NULL, NULL);
}

void nvme_thread_cq_notifier(NvmeCQueue *cq, bool on)
{
    aio_set_event_notifier(cq->thread->ctx, &cq->notifier,
                           on ? cq_notifier_cb : NULL, NULL, NULL);
}

/* ---- Doorbells, in the vCPU's thread ---- */

static uint32_t ring(uint32_t rung, uint16_t value)
{
    return ((rung & ~NVME_RUNG_VALUE) + NVME_RUNG_ONCE) | value;
}

void nvme_thread_rang(NvmeSQueue *sq, uint16_t tail)
{
    if (tail != (sq->rung & NVME_RUNG_VALUE)) {
        nvme_cint_rang(sq, tail);
    }
    qatomic_store_release(&sq->rung, ring(sq->rung, tail));
    qemu_bh_schedule(sq->bh);
}

/*
 * The pin is the main loop's, and a level: it is right when this returns. What
 * the thread finds consumed from then on, as shadow doorbells let it, it tells
 * if the queue is pending (nvme_cint_consumed()): hence with the lock.
 */
static void update_pin(NvmeCQueue *cq)
{
    NvmeThread *thread = cq->thread;
    NvmeCtrl *n = cq->ctrl;
    bool told;

    nvme_lock(thread);
    take_head(cq);
    told = nvme_cint_has_told(cq);
    nvme_cq_set_pending(n, cq, told);
    nvme_unlock(thread);
    if (told) {
        nvme_irq_assert(n, cq);
    } else {
        nvme_irq_deassert(n, cq);
    }
}

void nvme_thread_reaped(NvmeCQueue *cq, uint16_t head)
{
    qatomic_store_release(&cq->rung, ring(cq->rung, head));
    /* the thread says that it is full, and then looks at the head */
    smp_mb();
    if (cq->cint || qatomic_read(&cq->stalled)) {
        qemu_bh_schedule(cq->bh);
    }
    if (!msix_enabled(PCI_DEVICE(cq->ctrl)) && cq->pending) {
        update_pin(cq);
    }
}

/* The main loop finds the queues as the guest has them. */
static void look_at_all(NvmeCtrl *n)
{
    uint32_t i;

    for (i = 1; i <= n->params.max_ioqpairs; i++) {
        NvmeCQueue *cq = n->cq[i];

        if (n->sq[i]) {
            nvme_thread_look_at_tail(n->sq[i]);
        }
        if (cq && !cq->stopped) {
            take_head(cq);
        }
    }
}

void nvme_pause_for_command(NvmeCtrl *n)
{
    nvme_pause(n);
    if (unlikely(n->threads)) {
        look_at_all(n);
    }
}

/* ---- Messages and the pin, in the main loop ---- */

static void irq_cb(void *opaque)
{
    NvmeCQueue *cq = opaque;
    NvmeCtrl *n = cq->ctrl;
    bool due = qatomic_xchg(&cq->irq_due, false);

    if (cq->stopped) {
        return;
    }
    while (!(n->due & NVME_DUE_RESET) &&
           (due || (cq->cint && nvme_cint_publish(cq)))) {
        due = false;
        if (msix_enabled(PCI_DEVICE(n))) {
            nvme_irq_assert(n, cq);
        }
    }
    if (!(n->due & NVME_DUE_RESET) && !msix_enabled(PCI_DEVICE(n))) {
        update_pin(cq);
    }
}

/* ---- Life of the queues ---- */

void nvme_thread_init_cq(NvmeCQueue *cq)
{
    MemReentrancyGuard *guard = &DEVICE(cq->ctrl)->mem_reentrancy_guard;

    cq->bh = aio_bh_new(cq->thread->ctx, post_cb, cq);
    cq->irq_bh = aio_bh_new_guarded(qemu_get_aio_context(), irq_cb, cq, guard);
    cq->main_bh = aio_bh_new_guarded(qemu_get_aio_context(), main_post_cb, cq,
                                     guard);
    cq->irqfd = cq->irq_enabled ? nvme_irqfd_get(cq->ctrl, cq->vector) : NULL;
}

void nvme_thread_init_sq(NvmeSQueue *sq)
{
    MemReentrancyGuard *guard = &DEVICE(sq->ctrl)->mem_reentrancy_guard;

    sq->bh = aio_bh_new(sq->thread->ctx, fetch_cb, sq);
    sq->main_bh = aio_bh_new_guarded(qemu_get_aio_context(), main_fetch_cb, sq,
                                     guard);
}

static void nothing(void *opaque)
{
}

/*
 * Until what runs in the thread, or waits for the lock there, has ended. What
 * would begin it again is gone by now.
 */
static void wait_for(NvmeThread *thread)
{
    nvme_hold(thread->n);
    aio_wait_bh_oneshot(thread->ctx, nothing, NULL);
    nvme_release(thread->n);
}

void nvme_thread_stop_sq(NvmeSQueue *sq)
{
    nvme_lock(sq->thread);
    qatomic_set(&sq->stopped, true);
    nvme_cint_stop_sq(sq);
    nvme_unlock(sq->thread);
    if (sq->ioeventfd_enabled) {
        nvme_thread_sq_notifier(sq, false);
    }
    qemu_bh_delete(sq->bh);
    wait_for(sq->thread);
    /* what the thread may have scheduled meanwhile */
    qemu_bh_delete(sq->main_bh);
}

void nvme_thread_stop_cq(NvmeCQueue *cq)
{
    nvme_lock(cq->thread);
    cq->stopped = true;
    nvme_cint_stop_cq(cq);
    nvme_unlock(cq->thread);
    if (cq->ioeventfd_enabled) {
        nvme_thread_cq_notifier(cq, false);
    }
    qemu_bh_delete(cq->bh);
    wait_for(cq->thread);
    /* what the thread may have scheduled meanwhile */
    qemu_bh_delete(cq->main_bh);
    qemu_bh_delete(cq->irq_bh);
    nvme_irqfd_put(cq->irqfd);
}

/* ---- What is left to the main loop ---- */

void nvme_leave_to_main(NvmeThread *thread, NvmeRequest *req)
{
    req->left = true;
    QTAILQ_INSERT_TAIL(&thread->left, req, left_entry);
    qemu_bh_schedule(thread->bh);
}

/* The next, or NULL. Not with the lock. */
static NvmeRequest *take_left(NvmeThread *thread)
{
    NvmeRequest *req;

    nvme_lock(thread);
    req = QTAILQ_FIRST(&thread->left);
    if (req) {
        QTAILQ_REMOVE(&thread->left, req, left_entry);
        req->left = false;
        req->in_main = true;
        nvme_cint_execute_left(req->sq, req);
    }
    nvme_unlock(thread);
    return req;
}

void nvme_thread_fail(NvmeThread *thread)
{
    qatomic_set(&thread->failed, true);
    qemu_bh_schedule(thread->bh);
}

static void execute_left(NvmeThread *thread)
{
    NvmeCtrl *n = thread->n;
    NvmeRequest *req;

    while (!nvme_thread_is_due(thread, NVME_DUE_STOP)) {
        uint16_t status;

        if (n->held) {
            n->due |= NVME_DUE_FETCH;
            return;
        }
        req = take_left(thread);
        if (!req) {
            return;
        }
        status = nvme_io_cmd(n, req);
        nvme_lock(thread);
        if (status != NVME_NO_COMPLETE) {
            req->status = status;
            nvme_enqueue_req_completion(nvme_cq(req), req);
        }
        nvme_cint_execute_left(req->sq, NULL);
        nvme_unlock(thread);
    }
}

static void main_cb(void *opaque)
{
    NvmeThread *thread = opaque;
    NvmeCtrl *n = thread->n;

    if (qatomic_xchg(&thread->failed, false)) {
        stl_le_p(&n->bar.csts, NVME_CSTS_FAILED);
    }
    execute_left(thread);
}

/* Those that have not begun end at once; @return is one of the main loop's. */
static NvmeRequest *cancel_idle(NvmeSQueue *sq, uint16_t status)
{
    NvmeThread *thread = sq->thread;
    NvmeRequest *req, *next, *in_main = NULL;

    nvme_lock(thread);
    qatomic_set(&sq->stopped, true);
    QTAILQ_FOREACH_SAFE(req, &sq->out_req_list, entry, next) {
        req->status = status;
        if (req->left) {
            QTAILQ_REMOVE(&thread->left, req, left_entry);
            req->left = false;
            QTAILQ_REMOVE(&sq->out_req_list, req, entry);
        } else if (nvme_cint_cancel(req) || !req->in_main) {
            continue;
        } else if (req->aiocb) {
            in_main = req;
        } else {
            QTAILQ_REMOVE(&sq->out_req_list, req, entry);
        }
    }
    nvme_unlock(thread);
    return in_main;
}

/*
 * Cancels what has become idle since, too: what has failed meanwhile waits for
 * the medium, unless it is told again.
 */
static bool cancel_is_busy(NvmeSQueue *sq, uint16_t status)
{
    bool busy;

    cancel_idle(sq, status);
    nvme_lock(sq->thread);
    busy = !QTAILQ_EMPTY(&sq->out_req_list);
    nvme_unlock(sq->thread);
    return busy;
}

/*
 * What the block layer does for the thread cannot be cancelled, it ends by
 * itself: reads and writes of memory that is mapped.
 */
void nvme_thread_cancel(NvmeSQueue *sq, uint16_t status)
{
    NvmeRequest *req;

    while ((req = cancel_idle(sq, status))) {
        blk_aio_cancel(req->aiocb);
    }
    AIO_WAIT_WHILE_UNLOCKED(NULL, cancel_is_busy(sq, status));
}

/* ---- Life of the controller ---- */

static void kick_queues(NvmeThread *thread)
{
    NvmeCtrl *n = thread->n;
    uint32_t i;

    for (i = 1; i <= n->params.max_ioqpairs; i++) {
        if (n->sq[i] && n->sq[i]->thread == thread) {
            qemu_bh_schedule(n->sq[i]->bh);
        }
    }
}

void nvme_threads_kick(NvmeCtrl *n)
{
    NvmeThread *thread;

    QLIST_FOREACH(thread, &n->subsys->threads, entry) {
        if (thread->n == n) {
            qemu_bh_schedule(thread->bh);
            kick_queues(thread);
        }
    }
}

bool nvme_threads_check(NvmeCtrl *n, Error **errp)
{
    const NvmeParams *params = &n->params;
    const char *reason = NULL;

    if (!nvme_wants_threads(params)) {
        if (params->irqfd == ON_OFF_AUTO_ON) {
            error_setg(errp, "irqfd=on is for queues that IOThreads serve: set "
                       "iothread or iothread-vq-mapping, or irqfd=auto");
            return false;
        }
        return true;
    }
    if (params->iothread && params->iothread_vq_mapping) {
        error_setg(errp, "iothread and iothread-vq-mapping cannot be set at "
                   "the same time");
        return false;
    }
    if (icount_enabled()) {
        reason = "-icount: virtual time is exact in one thread only";
    } else if (params->queue_cache == ON_OFF_AUTO_OFF) {
        reason = "queue-cache=off";
    } else if (params->sriov_max_vfs) {
        reason = "sriov_max_vfs";
    } else if (params->atomic_awun || params->atomic_awupf) {
        reason = "atomic.awun and atomic.awupf";
    }
    if (reason) {
        error_setg(errp, "%s is not supported with %s", params->iothread ?
                   "iothread" : "iothread-vq-mapping", reason);
    }
    return !reason;
}

/* ---- The machine stops, as before QEMU ends, and goes on ---- */

/*
 * Before the block layer is drained, and images are given away or closed. What
 * is in flight then ends, and is posted.
 */
static void vm_state_cb(void *opaque, bool running, RunState state)
{
    NvmeThread *thread = opaque;

    if (running) {
        nvme_thread_go(thread, NVME_DUE_GO_ON);
        qemu_bh_schedule(thread->bh);
        /* none has had several turns before the last is there */
        nvme_lock(thread);
        kick_queues(thread);
        nvme_unlock(thread);
        return;
    }
    nvme_thread_stop(thread, NVME_DUE_GO_ON);
    /* until a pass has ended that had begun before */
    nvme_lock(thread);
    nvme_unlock(thread);
}

static NvmeThread *thread_new(NvmeCtrl *n, AioContext *ctx, Error **errp)
{
    MemReentrancyGuard *guard = &DEVICE(n)->mem_reentrancy_guard;
    NvmeThread *thread = g_new0(NvmeThread, 1);

    error_setg(&thread->blocker, "nvme: queues that IOThreads serve cannot be "
               "migrated");
    if (migrate_add_blocker(&thread->blocker, errp) < 0) {
        g_free(thread);
        return NULL;
    }
    nvme_has_threads = true;
    thread->n = n;
    thread->ctx = ctx;
    thread->lock = nvme_thread_lock_get(ctx);
    QTAILQ_INIT(&thread->left);
    thread->bh = aio_bh_new_guarded(qemu_get_aio_context(), main_cb, thread,
                                    guard);
    thread->ram = nvme_ram_new(n, thread->lock);
    thread->due = runstate_is_live(runstate_get()) ? 0 : NVME_DUE_GO_ON;
    thread->vm_state = qemu_add_vm_change_state_handler(vm_state_cb, thread);
    QLIST_INSERT_HEAD(&n->subsys->threads, thread, entry);
    return thread;
}

static void thread_free(NvmeThread *thread)
{
    QLIST_REMOVE(thread, entry);
    g_free(thread->cint);
    qemu_del_vm_change_state_handler(thread->vm_state);
    nvme_ram_free(thread->ram);
    qemu_bh_delete(thread->bh);
    migrate_del_blocker(&thread->blocker);
    nvme_thread_lock_put(thread->lock);
    g_free(thread);
}

/* Queues with one context have one thread. */
static NvmeThread *thread_with(NvmeCtrl *n, AioContext *ctx, Error **errp)
{
    NvmeThread *thread;

    QLIST_FOREACH(thread, &n->subsys->threads, entry) {
        if (thread->n == n && thread->ctx == ctx) {
            return thread;
        }
    }
    return thread_new(n, ctx, errp);
}

/* Which context which queue pair is served in. */
static bool map_queues(NvmeCtrl *n, AioContext **contexts, Error **errp)
{
    uint32_t i, count = n->params.max_ioqpairs;

    if (n->params.iothread_vq_mapping) {
        return iothread_vq_mapping_apply(n->params.iothread_vq_mapping,
                                         contexts, count, errp);
    }
    for (i = 0; i < count; i++) {
        contexts[i] = iothread_get_aio_context(n->params.iothread);
    }
    return true;
}

bool nvme_threads_realize(NvmeCtrl *n, Error **errp)
{
    uint32_t i, count = n->params.max_ioqpairs;
    g_autofree AioContext **contexts = NULL;

    if (!nvme_wants_threads(&n->params)) {
        return true;
    }
    contexts = g_new0(AioContext *, count);
    if (!map_queues(n, contexts, errp)) {
        return false;
    }
    nvme_irqfds_realize(n);
    n->threads = g_new0(NvmeThread *, count + 1);
    for (i = 0; i < count; i++) {
        n->threads[i + 1] = thread_with(n, contexts[i], errp);
        if (!n->threads[i + 1]) {
            nvme_threads_exit(n);
            return false;
        }
    }
    return true;
}

void nvme_threads_exit(NvmeCtrl *n)
{
    NvmeThread *thread, *next;

    if (!n->threads) {
        return;
    }
    QLIST_FOREACH_SAFE(thread, &n->subsys->threads, entry, next) {
        if (thread->n == n) {
            thread_free(thread);
        }
    }
    nvme_irqfds_exit(n);
    g_free(n->threads);
    n->threads = NULL;
    if (n->params.iothread_vq_mapping) {
        iothread_vq_mapping_cleanup(n->params.iothread_vq_mapping);
    }
}

NvmeThread *nvme_thread_of(NvmeCtrl *n, uint16_t qid)
{
    return n->threads ? n->threads[qid] : NULL;
}
