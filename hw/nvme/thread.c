/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IOThreads that serve I/O queues: their locks, and the doorbells that are left
 * to them. See thread.h.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"

#include "irqfd.h"
#include "thread.h"

__thread NvmeThread *nvme_here;
bool nvme_is_paused;
bool nvme_has_threads;

/* ---- Locks ---- */

/* Under the BQL, as whoever pauses is. */
static NvmeSubsystem *paused;
static unsigned pauses;

static void lock_all(NvmeSubsystem *subsys)
{
    NvmeThread *thread;

    QLIST_FOREACH(thread, &subsys->threads, entry) {
        nvme_lock(thread);
    }
}

static void unlock_all(NvmeSubsystem *subsys)
{
    NvmeThread *thread;

    QLIST_FOREACH(thread, &subsys->threads, entry) {
        nvme_unlock(thread);
    }
}

void nvme_do_pause(NvmeCtrl *n)
{
    assert(!paused || paused == n->subsys);
    if (!pauses++) {
        lock_all(n->subsys);
        paused = n->subsys;
        nvme_is_paused = true;
    }
}

void nvme_do_resume(NvmeCtrl *n)
{
    assert(paused == n->subsys);
    if (!--pauses) {
        nvme_is_paused = false;
        paused = NULL;
        unlock_all(n->subsys);
    }
}

/* Returns: for nvme_pause_again() */
NvmePause nvme_go_on(void)
{
    NvmePause pause = { .subsys = paused, .pauses = pauses };

    pauses = 0;
    paused = NULL;
    nvme_is_paused = false;
    unlock_all(pause.subsys);
    return pause;
}

void nvme_pause_again(NvmePause *pause)
{
    lock_all(pause->subsys);
    paused = pause->subsys;
    pauses = pause->pauses;
    nvme_is_paused = true;
    pause->subsys = NULL;
}

/*
 * There is one lock for all controllers that an IOThread serves. While it
 * submits requests of one, those of another may complete: with two locks it
 * would take them in an order that the main loop does not know of.
 */
typedef struct ThreadLock {
    QemuRecMutex mutex;
    AioContext *ctx;
    unsigned users;
    QLIST_ENTRY(ThreadLock) entry;
} ThreadLock;

static QLIST_HEAD(, ThreadLock) thread_locks;

static ThreadLock *find_lock(AioContext *ctx)
{
    ThreadLock *lock;

    QLIST_FOREACH(lock, &thread_locks, entry) {
        if (lock->ctx == ctx) {
            return lock;
        }
    }
    return NULL;
}

static ThreadLock *new_lock(AioContext *ctx)
{
    ThreadLock *lock = g_new0(ThreadLock, 1);

    lock->ctx = ctx;
    qemu_rec_mutex_init(&lock->mutex);
    QLIST_INSERT_HEAD(&thread_locks, lock, entry);
    return lock;
}

QemuRecMutex *nvme_thread_lock_get(AioContext *ctx)
{
    ThreadLock *lock = find_lock(ctx) ?: new_lock(ctx);

    lock->users++;
    return &lock->mutex;
}

void nvme_thread_lock_put(QemuRecMutex *mutex)
{
    ThreadLock *lock = container_of(mutex, ThreadLock, mutex);

    if (!--lock->users) {
        QLIST_REMOVE(lock, entry);
        qemu_rec_mutex_destroy(&lock->mutex);
        g_free(lock);
    }
}

/* ---- Doorbells ---- */

void nvme_thread_look_at_tail(NvmeSQueue *sq)
{
    uint32_t rung = qatomic_load_acquire(&sq->rung);

    if (rung == sq->rung_seen) {
        return;
    }
    sq->rung_seen = rung;
    sq->tail = rung & NVME_RUNG_VALUE;
    if (sq->ctrl->dbbuf_enabled) {
        /* what was fetched by it meanwhile may be more; as for heads */
        nvme_update_sq_tail(sq);
    }
}

bool nvme_thread_look_at_head(NvmeCQueue *cq)
{
    uint32_t rung = qatomic_load_acquire(&cq->rung);

    if (rung == cq->rung_seen) {
        return false;
    }
    cq->rung_seen = rung;
    cq->head = rung & NVME_RUNG_VALUE;
    if (cq->ctrl->dbbuf_enabled) {
        /* unless it cannot be read */
        nvme_update_cq_head(cq);
    }
    return true;
}

/* ---- Entries ---- */

/*
 * Is a queue in RAM that is mapped, all of it, with its shadow doorbell and
 * event index? Else the main loop goes through it: there is no other access to
 * guest memory that is sure not to take the BQL.
 */
static bool is_mapped(NvmeCtrl *n, hwaddr queue, hwaddr size, hwaddr db,
                      hwaddr ei)
{
    return nvme_ram_find(n, queue, size) &&
           (!n->dbbuf_enabled || (nvme_ram_find(n, db, sizeof(uint32_t)) &&
                                  nvme_ram_find(n, ei, sizeof(uint32_t))));
}

bool nvme_thread_is_sq_mapped(NvmeSQueue *sq)
{
    return is_mapped(sq->ctrl, sq->dma_addr, (hwaddr)sq->size << NVME_SQES,
                     sq->db_addr, sq->ei_addr);
}

bool nvme_thread_is_cq_mapped(NvmeCQueue *cq)
{
    return is_mapped(cq->ctrl, cq->dma_addr, (hwaddr)cq->size << NVME_CQES,
                     cq->db_addr, cq->ei_addr);
}

bool nvme_thread_do_begin(NvmeCQueue *cq)
{
    NvmeThread *thread = cq->thread;

    nvme_thread_enter(thread);
    if (!cq->stopped && nvme_thread_is_cq_mapped(cq)) {
        return true;
    }
    if (!cq->stopped) {
        qemu_bh_schedule(cq->main_bh);
    }
    nvme_thread_leave(thread);
    return false;
}

QEMUTimer *nvme_thread_timer_new(NvmeCQueue *cq, QEMUTimerCB *cb, void *opaque)
{
    if (!cq->thread) {
        return timer_new_ns(QEMU_CLOCK_VIRTUAL, cb, opaque);
    }
    return aio_timer_new(cq->thread->ctx, QEMU_CLOCK_VIRTUAL, SCALE_NS, cb,
                         opaque);
}

/* A message from here, or from the main loop where that cannot be. */
void nvme_thread_ask_irq(NvmeCQueue *cq)
{
    if (!nvme_irqfd_send(cq->irqfd)) {
        qatomic_set(&cq->irq_due, true);
        qemu_bh_schedule(cq->irq_bh);
    }
}

/* ---- Resets ---- */

void nvme_threads_stop(NvmeCtrl *n)
{
    NvmeThread *thread;

    QLIST_FOREACH(thread, &n->subsys->threads, entry) {
        if (thread->n == n) {
            nvme_lock(thread);
            nvme_thread_stop(thread, NVME_DUE_RESET);
            nvme_unlock(thread);
        }
    }
}

void nvme_threads_go(NvmeCtrl *n)
{
    NvmeThread *thread;

    QLIST_FOREACH(thread, &n->subsys->threads, entry) {
        if (thread->n == n) {
            /* what failed before is of a controller that is gone */
            qatomic_set(&thread->failed, false);
            nvme_thread_go(thread, NVME_DUE_RESET);
        }
    }
}
