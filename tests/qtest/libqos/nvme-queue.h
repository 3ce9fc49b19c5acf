/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small NVMe queue driver for qtests: everything a test needs to bring a
 * controller up, create queues, issue commands and watch when interrupts come.
 *
 * A test in full:
 *
 *     QNvmeCtrl *n = qnvme_new(pdev, alloc);
 *     QNvmeBuf buf = qnvme_buf_new(n, 4096);
 *     QNvmeCq *cq;
 *     QNvmeSq *sq;
 *
 *     qnvme_enable(n);
 *     cq = qnvme_create_cq(n, 1, 64, 1);
 *     sq = qnvme_create_sq(n, 1, 64, cq);
 *     qnvme_push_read(sq, &buf, 0, 4096);
 *     qnvme_ring_sq(sq);
 *     qnvme_wait_cqes(cq, 1);
 *     g_assert_true(qnvme_irq_pending(n, 1));
 *     qnvme_reap(cq, 1);
 *     qnvme_free(n);
 *
 * Interrupts: all MSI-X vectors start masked, so that an interrupt shows as a
 * pending bit and stays there until qnvme_take_irq() takes it. This tells
 * "none yet" from "at least one" at any time of the virtual clock. To count
 * messages, direct a vector at something that counts writes and unmask it
 * (qnvme_vector_target()).
 *
 * Time: the driver never steps the clock. Functions that wait (for a status
 * bit, for a CQE) give QEMU's main loop turns until a limit of real time is
 * over.
 *
 * Errors: what the test said wrong (a queue is full, too many CQEs to reap)
 * and what never happens within the limit end the test program with a message
 * that names the controller register or the queue. Status codes of commands
 * are returned, unless the function's name says "ok".
 *
 * Threads: one. There is no global state.
 */
#ifndef QTEST_LIBQOS_NVME_QUEUE_H
#define QTEST_LIBQOS_NVME_QUEUE_H

#include "../libqtest.h"
#include "libqos-malloc.h"
#include "pci.h"
#include "block/nvme.h"

#define QNVME_PAGE_SIZE     4096
#define QNVME_MAX_VECTORS   128
#define QNVME_MAX_QUEUES    512
#define QNVME_TIMEOUT_S     10
#define QNVME_ADMIN_ENTRIES 32

typedef struct QNvmeCtrl QNvmeCtrl;

/* A buffer in guest memory, contiguous, with the PRP list to describe it. */
typedef struct QNvmeBuf {
    uint64_t addr;
    uint64_t list;      /* address of the PRP list; 0 if two PRPs do */
    size_t len;
} QNvmeBuf;

typedef struct QNvmeCq {
    QNvmeCtrl *ctrl;
    uint16_t id;
    uint16_t vector;
    uint32_t entries;
    uint64_t addr;
    uint32_t head;      /* index of the next CQE to reap */
    bool phase;         /* phase tag of the next CQE to reap */
    uint32_t doorbell;  /* last head value the controller was told */
    uint64_t reaped;    /* CQEs reaped since the queue was created */
} QNvmeCq;

typedef struct QNvmeSq {
    QNvmeCtrl *ctrl;
    QNvmeCq *cq;
    uint16_t id;
    uint16_t next_cid;
    uint32_t entries;
    uint64_t addr;
    uint32_t tail;      /* index of the next SQE to write */
    uint32_t head;      /* from the last reaped CQE */
    uint32_t doorbell;  /* last tail value the controller was told */
} QNvmeSq;

struct QNvmeCtrl {
    QPCIDevice *pdev;
    QTestState *qts;
    QGuestAllocator *alloc;
    QPCIBar bar;        /* BAR0 */
    uint64_t cap;       /* register CAP */
    uint16_t vectors;   /* MSI-X table size */
    uint64_t sink;      /* guest memory that messages of a vector land in */
    uint64_t shadow;    /* shadow doorbells; 0 = not in use */
    uint64_t event_idx; /* their EventIdx buffer */
    uint8_t css;        /* CC.CSS when enabled: 0, or NVME_CC_CSS_ALL */
    uint8_t ams;        /* CC.AMS when enabled: 0 round robin, 1 weighted */
    bool enabled;
    QNvmeCq admin_cq;
    QNvmeSq admin_sq;
    QNvmeCq *cqs[QNVME_MAX_QUEUES];
    QNvmeSq *sqs[QNVME_MAX_QUEUES];
};

/* ---- Controller ---- */

/**
 * qnvme_new: takes over a PCI function
 * @pdev: the function; stays the caller's
 * @alloc: guest memory for queues and buffers; stays the caller's
 *
 * Enables memory access, bus mastering and MSI-X, with all vectors masked.
 * The controller is left disabled (CC.EN = 0).
 */
QNvmeCtrl *qnvme_new(QPCIDevice *pdev, QGuestAllocator *alloc);

/** qnvme_free: forgets the controller and its queues; sends nothing */
void qnvme_free(QNvmeCtrl *n);

/** qnvme_enable: sets up the admin queue, sets CC.EN, waits for CSTS.RDY */
void qnvme_enable(QNvmeCtrl *n);

/**
 * qnvme_reset: clears CC.EN and waits until CSTS.RDY is clear
 *
 * Forgets all queues, as the controller does, and shadow doorbells. Pending
 * bits stay as the controller leaves them. qnvme_enable() may follow.
 */
void qnvme_reset(QNvmeCtrl *n);

/**
 * qnvme_forget: forgets all queues without a word to the controller, which
 * was reset by other means (FLR, system reset)
 */
void qnvme_forget(QNvmeCtrl *n);

uint32_t qnvme_reg_read(QNvmeCtrl *n, uint64_t offset);
void qnvme_reg_write(QNvmeCtrl *n, uint64_t offset, uint32_t value);

/* ---- Interrupts ---- */

/**
 * qnvme_irq_pending: says if the pending bit of a masked vector is set
 *
 * Without MSI-X (qpci_msix_disable()) none is.
 */
bool qnvme_irq_pending(QNvmeCtrl *n, uint16_t vector);

/**
 * qnvme_take_irq: takes the interrupt of a masked vector, if there is one
 *
 * Unmasks the vector for a moment, so that the controller sends the message
 * it owes and clears the pending bit, and checks that the message arrived.
 *
 * Returns: whether an interrupt was pending
 */
bool qnvme_take_irq(QNvmeCtrl *n, uint16_t vector);

/**
 * qnvme_take_irq_of_thread: the same, of a queue that another thread serves
 *
 * One more may be pending by the time that this one is taken.
 */
bool qnvme_take_irq_of_thread(QNvmeCtrl *n, uint16_t vector);

/**
 * qnvme_vector_target: directs a vector's messages
 * @addr: guest physical address that is written
 * @data: the 32-bit value written
 * @masked: false lets messages through at once
 */
void qnvme_vector_target(QNvmeCtrl *n, uint16_t vector, uint64_t addr,
                         uint32_t data, bool masked);

/** qnvme_restore_vector: masks a vector and lets qnvme_take_irq() see it */
void qnvme_restore_vector(QNvmeCtrl *n, uint16_t vector);

/* ---- Memory ---- */

/** qnvme_buf_new: allocates @len bytes of guest memory, zeroed, page aligned */
QNvmeBuf qnvme_buf_new(QNvmeCtrl *n, size_t len);
void qnvme_buf_free(QNvmeCtrl *n, QNvmeBuf *buf);

/** qnvme_buf_fill: writes a pattern that depends on @seed and the position */
void qnvme_buf_fill(QNvmeCtrl *n, const QNvmeBuf *buf, uint32_t seed);

/** qnvme_buf_holds: says if the buffer holds what qnvme_buf_fill() writes */
bool qnvme_buf_holds(QNvmeCtrl *n, const QNvmeBuf *buf, uint32_t seed);

/* ---- Queues ---- */

/**
 * qnvme_try_create_cq: sends Create I/O Completion Queue
 * @id: queue identifier, from 1
 * @entries: entries, from 2
 * @vector: MSI-X vector
 * @ien: interrupts enabled
 * @cq: where the queue is returned if the status is 0
 *
 * Returns: the status code, with DNR
 */
uint16_t qnvme_try_create_cq(QNvmeCtrl *n, uint16_t id, uint32_t entries,
                             uint16_t vector, bool ien, QNvmeCq **cq);

/** qnvme_create_cq: creates a CQ with interrupts enabled; must succeed */
QNvmeCq *qnvme_create_cq(QNvmeCtrl *n, uint16_t id, uint32_t entries,
                         uint16_t vector);

/**
 * qnvme_create_sq: creates an SQ that completes to @cq; must succeed
 *
 * CQEs of an earlier SQ with this @id must have been reaped: they cannot be
 * told from those of the new one.
 */
QNvmeSq *qnvme_create_sq(QNvmeCtrl *n, uint16_t id, uint32_t entries,
                         QNvmeCq *cq);

/**
 * qnvme_create_sq_prio: the same with a priority, which counts under weighted
 * round robin only
 * @priority: QPRIO, 0 urgent to 3 low
 */
QNvmeSq *qnvme_create_sq_prio(QNvmeCtrl *n, uint16_t id, uint32_t entries,
                              QNvmeCq *cq, uint8_t priority);

/**
 * qnvme_delete_sq, qnvme_delete_cq: delete a queue; must succeed
 *
 * The memory of a CQ stays allocated and readable: pass the queue to
 * qnvme_delete_cq() only when nothing is left to look at.
 */
void qnvme_delete_sq(QNvmeSq *sq);
void qnvme_delete_cq(QNvmeCq *cq);

/**
 * qnvme_push: writes one command at the tail; the controller does not know yet
 * @cmd: in wire order; its identifier is filled in
 *
 * Returns: the command identifier
 */
uint16_t qnvme_push(QNvmeSq *sq, const NvmeCmd *cmd);

/* What to push: a command on namespace 1. @len is in bytes, of 512 B blocks. */
uint16_t qnvme_push_read(QNvmeSq *sq, const QNvmeBuf *buf, uint64_t lba,
                         size_t len);
uint16_t qnvme_push_write(QNvmeSq *sq, const QNvmeBuf *buf, uint64_t lba,
                          size_t len);
uint16_t qnvme_push_flush(QNvmeSq *sq);

/** qnvme_push_invalid: an opcode no controller knows (fails at once) */
uint16_t qnvme_push_invalid(QNvmeSq *sq);

/** qnvme_rw_cmd: builds a Read or Write of @len bytes at block @lba */
NvmeCmd qnvme_rw_cmd(uint8_t opcode, const QNvmeBuf *buf, uint64_t lba,
                     size_t len);

/** qnvme_ring_sq: tells the controller of all commands pushed */
void qnvme_ring_sq(QNvmeSq *sq);

/** qnvme_visible: how many unreaped CQEs the queue's memory holds now */
uint32_t qnvme_visible(const QNvmeCq *cq);

/**
 * qnvme_peek: reads the @i-th unreaped CQE (0 = next), in CPU byte order
 *
 * Returns: false if it has not been posted
 */
bool qnvme_peek(const QNvmeCq *cq, uint32_t i, NvmeCqe *cqe);

/**
 * qnvme_peek_all: reads all unreaped CQEs, in CPU byte order
 * @cqes: room for as many as the queue has entries
 *
 * Returns: how many there are
 */
uint32_t qnvme_peek_all(const QNvmeCq *cq, NvmeCqe *cqes);

/** qnvme_status: status code and flags of a CQE, without the phase tag */
static inline uint16_t qnvme_status(const NvmeCqe *cqe)
{
    return cqe->status >> 1;
}

/** qnvme_consume: takes @count CQEs off the queue; the doorbell stays */
void qnvme_consume(QNvmeCq *cq, uint32_t count);

/** qnvme_ring_cq: tells the controller the head */
void qnvme_ring_cq(QNvmeCq *cq);

/** qnvme_reap: consumes @count CQEs, which must be there, and tells the head */
void qnvme_reap(QNvmeCq *cq, uint32_t count);

/** qnvme_wait_cqes: waits until at least @count unreaped CQEs are there */
void qnvme_wait_cqes(const QNvmeCq *cq, uint32_t count);

/* ---- Admin commands: each waits for its completion ---- */

/**
 * qnvme_admin: sends one admin command
 * @cmd: in wire order
 * @result: dword 0 of the CQE; may be NULL
 *
 * Returns: the status code, with flags (0 = success)
 */
uint16_t qnvme_admin(QNvmeCtrl *n, const NvmeCmd *cmd, uint32_t *result);

/** qnvme_identify: Identify with @cns into @buf (4096 bytes) */
uint16_t qnvme_identify(QNvmeCtrl *n, uint8_t cns, uint32_t nsid,
                        const QNvmeBuf *buf);

uint16_t qnvme_set_feature(QNvmeCtrl *n, uint8_t fid, uint32_t dw11,
                           const QNvmeBuf *buf, uint32_t *result);
/** qnvme_get_feature: @sel is the Select field (0 current ... 3 supported) */
uint16_t qnvme_get_feature(QNvmeCtrl *n, uint8_t fid, uint8_t sel,
                           uint32_t dw11, const QNvmeBuf *buf,
                           uint32_t *result);

/**
 * qnvme_get_log: Get Log Page
 * @lsp: Log Specific Field
 * @offset: byte offset, a multiple of 4
 * @buf: receives all of its length, a multiple of 4
 */
uint16_t qnvme_get_log(QNvmeCtrl *n, uint8_t lid, uint8_t lsp,
                       uint64_t offset, const QNvmeBuf *buf);

/**
 * qnvme_abort: Abort of command @cid of @sq
 *
 * Returns: whether the controller says it aborted the command
 */
bool qnvme_abort(QNvmeSq *sq, uint16_t cid);

/**
 * qnvme_use_shadow_doorbells: sends Doorbell Buffer Config; must succeed
 *
 * From here on doorbells of I/O queues are written to memory, and by MMIO only
 * when the EventIdx asks for it.
 */
void qnvme_use_shadow_doorbells(QNvmeCtrl *n);

#endif /* QTEST_LIBQOS_NVME_QUEUE_H */
