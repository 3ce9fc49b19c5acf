/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IOThreads that serve I/O queues: properties "iothread" and
 * "iothread-vq-mapping".
 *
 * A completion queue, and all submission queues whose completions go there,
 * belong to one thread, or to the main loop as they do without IOThreads.
 *
 * - A queue, its requests and what the controller keeps mapped for its thread
 *   are touched with the thread's lock held, by whoever it is.
 * - The thread never waits for anybody, and never takes the BQL; with its lock
 *   it takes none but those of cint's notices, media and slots, which are held
 *   for a moment. It accesses memory only. Whatever may set something off is
 *   done by the main loop: the pin, messages but those by an eventfd (irqfd.h),
 *   a command whose data is in a register, and all commands but reads and
 *   writes.
 * - What a guest asks of the controller, in admin commands and registers, is
 *   done by the main loop with the threads of all controllers of the subsystem
 *   paused: with all of their locks. nvme_hold() lets them go on, so whoever
 *   waits does not have them.
 * - A doorbell takes no lock. It is left in the queue, and the thread looks.
 *
 * docs/architecture.md has a table of what is shared.
 */
#ifndef HW_NVME_THREAD_H
#define HW_NVME_THREAD_H

#include "qemu/thread.h"

#include "ram.h"

typedef struct NvmeThread {
    NvmeCtrl        *n;
    AioContext      *ctx;
    QemuRecMutex    *lock;      /* of all threads in that context */
    NvmeRam         *ram;       /* as NvmeCtrl.ram */
    uint8_t         due;        /* atomic: of NvmeDue, what stops it */
    bool            missed;     /* something was no memory, see nvme_missed() */
    uint16_t        turn;       /* SQEs that a pass may still fetch */
    bool            failed;     /* for the main loop: CSTS.CFS */
    QEMUBH          *bh;        /* in the main loop: does what was left to it */
    struct VMChangeStateEntry *vm_state;
    struct NvmeCintServer *cint; /* NULL with cint=off */
    QTAILQ_HEAD(, NvmeRequest) left;
    Error           *blocker;   /* of migration */
    QLIST_ENTRY(NvmeThread) entry;
} NvmeThread;

/* Has there been any in this QEMU? It is set under the BQL, before one runs. */
extern bool nvme_has_threads;

/* The one that runs here, in one of its entries; NULL in the main loop. */
extern __thread NvmeThread *nvme_here;

/* ---- Locks ---- */

static inline void nvme_lock(NvmeThread *thread)
{
    if (unlikely(thread)) {
        qemu_rec_mutex_lock(thread->lock);
    }
}

static inline void nvme_unlock(NvmeThread *thread)
{
    if (unlikely(thread)) {
        qemu_rec_mutex_unlock(thread->lock);
    }
}

static inline void nvme_thread_set_here(NvmeThread *thread)
{
    nvme_here = thread;
    nvme_ram_of_thread = thread ? thread->ram : NULL;
}

/* An entry: something that @thread itself begins. */
static inline void nvme_thread_enter(NvmeThread *thread)
{
    qemu_rec_mutex_lock(thread->lock);
    nvme_thread_set_here(thread);
}

static inline void nvme_thread_leave(NvmeThread *thread)
{
    nvme_thread_set_here(NULL);
    qemu_rec_mutex_unlock(thread->lock);
}

/*
 * The same, of who completes a request of a queue of @thread: that, maybe while
 * it submits another one, or the main loop (@in_main).
 *
 * Returns: for nvme_req_leave(), which may come when the request is another's
 */
static inline NvmeThread *nvme_req_enter(NvmeThread *thread, bool in_main)
{
    NvmeThread *outer = NULL;

    if (unlikely(thread)) {
        qemu_rec_mutex_lock(thread->lock);
        if (!in_main) {
            outer = nvme_here;
            nvme_thread_set_here(thread);
        }
    }
    return outer;
}

static inline void nvme_req_leave(NvmeThread *thread, NvmeThread *outer)
{
    if (unlikely(thread)) {
        if (nvme_here) {
            nvme_thread_set_here(outer);
        }
        qemu_rec_mutex_unlock(thread->lock);
    }
}

/* ---- Doorbells ---- */

/* A doorbell's value, and above it a count of the times it was written. */
#define NVME_RUNG_VALUE 0xffffu
#define NVME_RUNG_ONCE  0x10000u

/*
 * What the guest has left in a doorbell since the last look; with the lock.
 * With shadow doorbells it is in the shadow, which a guest writes first: a
 * register may be behind what was seen there already.
 *
 * Returns: was the head written?
 */
void nvme_thread_look_at_tail(NvmeSQueue *sq);
bool nvme_thread_look_at_head(NvmeCQueue *cq);

/* ---- Entries ---- */

/*
 * Is a queue in RAM that is mapped, with its shadow doorbell and event index?
 * Else the main loop goes through it.
 */
bool nvme_thread_is_sq_mapped(NvmeSQueue *sq);
bool nvme_thread_is_cq_mapped(NvmeCQueue *cq);

/*
 * Timers of a queue, which expire where the queue is served. Their callbacks do
 * something only if nvme_thread_begin() says so.
 */
QEMUTimer *nvme_thread_timer_new(NvmeCQueue *cq, QEMUTimerCB *cb,
                                 void *opaque);
bool nvme_thread_do_begin(NvmeCQueue *cq);

static inline bool nvme_thread_begin(NvmeCQueue *cq)
{
    return likely(!cq->thread) || nvme_thread_do_begin(cq);
}

static inline void nvme_thread_end(NvmeCQueue *cq)
{
    if (unlikely(cq->thread)) {
        nvme_thread_leave(cq->thread);
    }
}

/*
 * Something that @n's command asks for is no memory. Who runs in a thread has
 * to leave the command to the main loop then.
 */
static inline bool nvme_miss(void)
{
    if (likely(!nvme_here)) {
        return false;
    }
    nvme_here->missed = true;
    return true;
}

static inline bool nvme_missed(void)
{
    return unlikely(nvme_here) && nvme_here->missed;
}

/* ---- Life ---- */

/* The lock of all threads in context @ctx; each has it once. */
QemuRecMutex *nvme_thread_lock_get(AioContext *ctx);
void nvme_thread_lock_put(QemuRecMutex *lock);

/* ---- Stops ---- */

/*
 * Of a reset, or until the machine runs: under the BQL; of a turn, in the
 * thread. Nothing is fetched from then on; a pass that is under way soon ends.
 */
static inline void nvme_thread_stop(NvmeThread *thread, NvmeDue why)
{
    qatomic_or(&thread->due, why);
}

static inline void nvme_thread_go(NvmeThread *thread, NvmeDue why)
{
    qatomic_and(&thread->due, ~why);
}

static inline bool nvme_thread_is_due(NvmeThread *thread, NvmeDue why)
{
    return qatomic_read(&thread->due) & why;
}

/* @thread's pass has fetched an SQE. Its turn ends after a number of them. */
static inline void nvme_thread_fetched(NvmeThread *thread)
{
    if (!--thread->turn) {
        nvme_thread_stop(thread, NVME_DUE_TURN);
    }
}

/* ---- Messages ---- */

/* CQEs of @cq were posted: the guest gets a message, or the pin is set. */
void nvme_thread_ask_irq(NvmeCQueue *cq);

/* ---- Resets ---- */

/* A reset is due: nothing is fetched or posted. And it is done. */
void nvme_threads_stop(NvmeCtrl *n);
void nvme_threads_go(NvmeCtrl *n);

#endif /* HW_NVME_THREAD_H */
