/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What runs in the IOThreads that serve I/O queues (thread.h), and what the
 * main loop and doorbells do for them.
 */
#ifndef HW_NVME_THREAD_QUEUE_H
#define HW_NVME_THREAD_QUEUE_H

#include "thread.h"

/* ---- Life ---- */

bool nvme_threads_check(NvmeCtrl *n, Error **errp);
bool nvme_threads_realize(NvmeCtrl *n, Error **errp);
void nvme_threads_exit(NvmeCtrl *n);

/* The thread that serves queue @qid, or NULL. */
NvmeThread *nvme_thread_of(NvmeCtrl *n, uint16_t qid);

/* ---- Queues ---- */

/* Life of the queues. What runs in the thread has ended when these return. */
void nvme_thread_init_cq(NvmeCQueue *cq);
void nvme_thread_init_sq(NvmeSQueue *sq);
void nvme_thread_stop_cq(NvmeCQueue *cq);
void nvme_thread_stop_sq(NvmeSQueue *sq);

/* The guest has written a doorbell. */
void nvme_thread_rang(NvmeSQueue *sq, uint16_t tail);
void nvme_thread_reaped(NvmeCQueue *cq, uint16_t head);

/* nvme_pause(), for a command that comes behind doorbells written before it. */
void nvme_pause_for_command(NvmeCtrl *n);

/* The main loop makes a pass of @sq: it fetches what the thread must not. */
void nvme_thread_hand_over(NvmeSQueue *sq);

/* The queue is full: it is looked at again when the guest has reaped. */
bool nvme_thread_is_full(NvmeCQueue *cq);

/* Event notifiers of a queue are handled in its thread, or no more. */
void nvme_thread_sq_notifier(NvmeSQueue *sq, bool on);
void nvme_thread_cq_notifier(NvmeCQueue *cq, bool on);

/* ---- What is left to the main loop ---- */

void nvme_leave_to_main(NvmeThread *thread, NvmeRequest *req);

/* The controller is fatally broken. */
void nvme_thread_fail(NvmeThread *thread);

/* Ends all commands of @sq with @status, and waits for it, in the main loop. */
void nvme_thread_cancel(NvmeSQueue *sq, uint16_t status);

/* Have done again what was not while the controller was held. */
void nvme_threads_kick(NvmeCtrl *n);

#endif /* HW_NVME_THREAD_QUEUE_H */
