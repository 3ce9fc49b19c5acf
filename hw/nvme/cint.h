/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: the NVMe controller decides when to interrupt.
 *
 * This header is what ctrl.c sees: one inline function for each hook. With
 * cint off every hook is one untaken branch on a NULL pointer. Include it
 * after nvme.h.
 *
 * Everything here runs under the BQL. A completion queue's state hangs off
 * that queue and a submission queue's off that one, so that queue pairs can
 * move to threads of their own.
 */
#ifndef HW_NVME_CINT_H
#define HW_NVME_CINT_H

#include "qemu/bitmap.h"
#include "qemu/timer.h"
#include "hw/intc/intc.h"

#include "cint-media.h"
#include "nvme.h"

/* One command in flight. Lives in an array parallel to NvmeSQueue.io_req. */
typedef struct NvmeCintReq {
    NvmeRequest *req;
    CintCmd cmd;
    int64_t due_ns;         /* when the media is done with it */
    bool in_media;          /* linked into its CQ's media list */
    bool ready;             /* the block layer is done with it */
    bool holds_slot;
    QTAILQ_ENTRY(NvmeCintReq) entry;
} NvmeCintReq;

/* Priorities of Create I/O Submission Queue (QPRIO). */
typedef enum NvmeCintPriority {
    NVME_CINT_PRIO_URGENT,
    NVME_CINT_PRIO_HIGH,
    NVME_CINT_PRIO_MEDIUM,
    NVME_CINT_PRIO_LOW,
    NVME_CINT_NR_PRIORITIES,
} NvmeCintPriority;

/* Weighted round robin with urgent class: CAP.AMS and CC.AMS. */
#define NVME_CINT_CAP_AMS_WRR   0x1
#define NVME_CINT_CC_AMS_WRR    0x1

typedef struct NvmeCintSq {
    NvmeSQueue *sq;
    CintSq engine;
    NvmeCintReq *reqs;
    /* Virtual time only: stands in for sq->bh. Freed with the queue. */
    QEMUTimer *fetch_timer;
    uint32_t fetched;       /* SQEs since the last batch boundary */
    unsigned long *batch_ends;  /* bit i: slot i holds a batch's last SQE */
    uint32_t marked;        /* tail of the newest batch marked there */
    uint32_t grants;        /* media slots given to this queue, not yet used */
    uint8_t priority;       /* NvmeCintPriority, from Create SQ */
    uint8_t line;           /* which of NvmeCint.waiting it is linked into */
    bool waiting;           /* linked there */
    QTAILQ_ENTRY(NvmeCintSq) entry;
} NvmeCintSq;

/* A posted CQE the guest has not consumed, for hold and reap times. */
typedef struct NvmeCintPosted {
    int64_t post_ns;
    int64_t irq_ns;         /* -1 until an interrupt covers it */
    uint8_t class;          /* index into NvmeCintLogRecord.hold */
} NvmeCintPosted;

typedef struct NvmeCintCq {
    NvmeCQueue *cq;
    CintCq engine;
    /* False for queues that are never coalesced: admin, IEN=0. */
    bool coalesce;
    QTAILQ_HEAD(, NvmeCintReq) media;   /* in order of due_ns */
    /* Posts what the media is done with. Freed with the queue. */
    QEMUTimer *post_timer;
    int64_t post_ns;                    /* a posting pass was asked for */
    /* Runs the engine's deadline. Freed with the queue. */
    QEMUTimer *irq_timer;
    int64_t armed_ns;                   /* what irq_timer is set to */
    int64_t deadline_ns;                /* last one traced */
    uint32_t pass_cqes;                 /* posted in this pass */
    uint32_t first_uncovered;           /* CQ index: no interrupt sent yet */
    uint32_t first_unreaped;            /* CQ index: not consumed yet */
    uint32_t next_slot;                 /* CQ index: for the next CQE */
    NvmeCintPosted *posted;             /* cq->size entries */
    uint32_t full_tail;                 /* for the status record */
    uint32_t messages;                  /* sent, free running */
    uint32_t pointer_index;             /* as last armed */
    bool storm;                         /* state last traced */
    NvmeCintLogRecord stats;            /* counters only */
} NvmeCintCq;

typedef struct NvmeCint {
    NvmeCtrl *n;
    bool virtual_time;
    CintConfig config;                  /* for queues created from now on */
    CintScope scope;
    NvmeCintMedia media;
    NvmeCintStatus status;              /* feature D1h, in CPU order */
    /* Feature 09h: vectors whose I/O queues are not coalesced. */
    DECLARE_BITMAP(cd, PCI_MSIX_FLAGS_QSIZE + 1);
    uint64_t *vector_irqs;              /* messages sent, by vector */
    uint32_t slots_used;
    uint32_t slots_granted;
    /* SQs that have SQEs and no slot, by priority. */
    QTAILQ_HEAD(, NvmeCintSq) waiting[NVME_CINT_NR_PRIORITIES];
    uint32_t credits[NVME_CINT_NR_PRIORITIES];
    uint32_t arbitration;               /* feature 01h */
    NvmeCintSq *burst_sq;               /* the queue in its burst, or NULL */
    uint32_t burst_left;
    Error *migration_blocker;
} NvmeCint;

/* Out of line halves of the hooks below; only called with cint on. */
void nvme_cint_do_reset(NvmeCtrl *n);
void nvme_cint_do_init_cq(NvmeCQueue *cq);
void nvme_cint_do_free_cq(NvmeCQueue *cq);
void nvme_cint_do_init_sq(NvmeSQueue *sq);
void nvme_cint_do_free_sq(NvmeSQueue *sq);
void nvme_cint_do_kick_sq(NvmeSQueue *sq, int64_t delay_ns);
void nvme_cint_do_kick_cq(NvmeCQueue *cq);
bool nvme_cint_do_may_fetch(NvmeSQueue *sq);
void nvme_cint_do_submit(NvmeSQueue *sq, NvmeRequest *req);
void nvme_cint_do_fetched(NvmeSQueue *sq);
bool nvme_cint_do_park(NvmeCQueue *cq, NvmeRequest *req);
bool nvme_cint_do_cancel(NvmeRequest *req);
void nvme_cint_do_abort(NvmeRequest *req);
void nvme_cint_do_posted(NvmeCQueue *cq, NvmeRequest *req);
bool nvme_cint_do_pass_end(NvmeCQueue *cq);
void nvme_cint_do_head(NvmeCQueue *cq);

/* The configuration of all I/O CQs and of those created later; of one. */
void nvme_cint_reconfigure(NvmeCtrl *n, const CintConfig *config);
void nvme_cint_reconfigure_cq(NvmeCintCq *c, const CintConfig *config);

/* Feature 09h: coalesce the I/O queues of @vector, or not. */
void nvme_cint_disable_vector(NvmeCtrl *n, uint16_t vector, bool disabled);

/* cint-arb.c: which submission queue gets the next media slot. */
void nvme_cint_arb_init(NvmeCint *cint);
/* @r, just fetched from @s, occupies a slot until it is posted or dropped. */
void nvme_cint_take_slot(NvmeCint *cint, NvmeCintSq *s, NvmeCintReq *r);
void nvme_cint_put_slot(NvmeCint *cint, NvmeCintReq *r);
/* @s has nothing left to fetch; @s is going away. */
void nvme_cint_return_grants(NvmeCint *cint, NvmeCintSq *s);
void nvme_cint_forget_sq(NvmeCint *cint, NvmeCintSq *s);

/*
 * cint-hints.c: what @cmd says in all places, and in which (bit mask over enum
 * NvmeCintSourceId).
 */
uint8_t nvme_cint_decode_hints(const NvmeCmd *cmd, uint8_t *sources);
/* The SQEs up to the tail are one batch; so they are with shadow doorbells. */
void nvme_cint_mark_batch(NvmeSQueue *sq);
void nvme_cint_mark_shadow_batch(NvmeSQueue *sq);
/* Was the SQE just fetched, the one before the head, the last of a batch? */
bool nvme_cint_ends_batch(NvmeSQueue *sq);

/* cint-status.c: feature D1h. @action's message is about to be sent. */
void nvme_cint_publish(NvmeCintCq *c, const CintAction *action);
/* @c is new, or feature D1h has changed. */
void nvme_cint_init_record(NvmeCintCq *c);
uint16_t nvme_cint_get_status(NvmeCtrl *n, bool current, NvmeRequest *req);
uint16_t nvme_cint_set_status(NvmeCtrl *n, NvmeRequest *req);

/* cint-regs.c: accesses for which nvme_cint_is_reg() is true. */
void nvme_cint_write_reg(NvmeCtrl *n, hwaddr addr, uint64_t data,
                         unsigned size);
uint64_t nvme_cint_read_reg(NvmeCtrl *n, hwaddr addr, unsigned size);

/* cint-ctrl.c, for the files above. */
int64_t nvme_cint_now(void);
/* Tells the engine what passed before @now: deadlines, and the CQ head. */
void nvme_cint_catch_up(NvmeCintCq *c, int64_t now);
/* Sends the interrupt that @action asks for; sets the timer. */
void nvme_cint_act(NvmeCintCq *c, CintAction action, int64_t now);
void nvme_cint_set_record(NvmeCintCq *c, bool has_record);

/* For cint-stats.c. */
void nvme_cint_count_post(NvmeCintCq *c, const NvmeCintReq *r, int64_t now);
void nvme_cint_count_irq(NvmeCintCq *c, const CintAction *action, int64_t now);
/* ns that the oldest CQE waited which @action is to tell of. */
int64_t nvme_cint_oldest_hold(NvmeCintCq *c, const CintAction *action,
                              int64_t now);
void nvme_cint_count_reaped(NvmeCintCq *c, int64_t now);
void nvme_cint_count_lateness(NvmeCintCq *c, int64_t deadline, int64_t now);

/* Class setup: properties and their descriptions. */
void nvme_cint_class_init(ObjectClass *oc);
void nvme_cint_instance_init(NvmeCtrl *n);

/*
 * Start-up, in this order. Errors name the property and its valid values.
 * nvme_cint_check_params() also resolves defaults that depend on others.
 */
bool nvme_cint_check_params(NvmeCtrl *n, Error **errp);
bool nvme_cint_realize(NvmeCtrl *n, Error **errp);
void nvme_cint_exit(NvmeCtrl *n);

/* Get and Set Features of what nvme_cint_has_feature() claims. */
uint16_t nvme_cint_get_feature(NvmeCtrl *n, NvmeRequest *req);
uint16_t nvme_cint_set_feature(NvmeCtrl *n, NvmeRequest *req);

/* Messages sent by vector, for "info irq"; none with cint off. */
bool nvme_cint_irq_statistics(InterruptStatsProvider *obj,
                              uint64_t **irq_counts, unsigned int *nb_irqs);

/* Get Log Page D0h. */
uint16_t nvme_cint_log(NvmeCtrl *n, uint32_t len, uint64_t off,
                       NvmeRequest *req);

/* QOM property "cint-stats": the log page as a struct, read only. */
void nvme_cint_get_stats(Object *obj, Visitor *v, const char *name,
                         void *opaque, Error **errp);

/* The controller is about to drain and drop everything. */
static inline void nvme_cint_reset(NvmeCtrl *n)
{
    if (n->cint) {
        nvme_cint_do_reset(n);
    }
}

/* Features that cint answers in place of the stock code. */
static inline bool nvme_cint_has_feature(NvmeCtrl *n, uint8_t fid)
{
    return n->cint && (fid == NVME_ARBITRATION ||
                       fid == NVME_INTERRUPT_COALESCING ||
                       fid == NVME_INTERRUPT_VECTOR_CONF ||
                       fid == NVME_CINT_FID_CONFIG ||
                       fid == NVME_CINT_FID_STATUS);
}

/* Registers in BAR0, right behind the last doorbell. */
#define NVME_CINT_REGS_STRIDE   4
#define NVME_CINT_DB_PAIR_SIZE  8       /* CAP.DSTRD is 0 */

/* Bytes they take with @queues queue pairs, the admin queue's included. */
static inline uint64_t nvme_cint_regs_size(const NvmeCtrl *n, unsigned queues)
{
    return n->params.cint.on ? queues * NVME_CINT_REGS_STRIDE : 0;
}

static inline hwaddr nvme_cint_regs_offset(const NvmeCtrl *n)
{
    return sizeof(NvmeBar) +
           (n->params.max_ioqpairs + 1) * NVME_CINT_DB_PAIR_SIZE;
}

static inline bool nvme_cint_is_reg(NvmeCtrl *n, hwaddr addr)
{
    return n->cint && addr >= nvme_cint_regs_offset(n) &&
           addr - nvme_cint_regs_offset(n) <
           nvme_cint_regs_size(n, n->params.max_ioqpairs + 1);
}

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
        sq->cint->priority = priority;
    }
}

static inline void nvme_cint_free_sq(NvmeSQueue *sq)
{
    if (sq->cint) {
        nvme_cint_do_free_sq(sq);
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

/* Have finished requests posted soon; see nvme_cint_kick_sq(). */
static inline void nvme_cint_kick_cq(NvmeCQueue *cq)
{
    if (cq->cint) {
        nvme_cint_do_kick_cq(cq);
    } else {
        qemu_bh_schedule(cq->bh);
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

/* A fetch pass is over. */
static inline void nvme_cint_fetched(NvmeSQueue *sq)
{
    if (sq->cint) {
        nvme_cint_do_fetched(sq);
    }
}

/* Returns true to keep @req, whose data is there, until its media time. */
static inline bool nvme_cint_park(NvmeCQueue *cq, NvmeRequest *req)
{
    return cq->cint && nvme_cint_do_park(cq, req);
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

/* The CQE of @req was posted. May interrupt. */
static inline void nvme_cint_posted(NvmeCQueue *cq, NvmeRequest *req)
{
    if (cq->cint) {
        nvme_cint_do_posted(cq, req);
    }
}

/*
 * A posting pass left CQEs in the queue. Returns true if the interrupt is
 * cint's business, false if stock behaviour applies.
 */
static inline bool nvme_cint_pass_end(NvmeCQueue *cq)
{
    return cq->cint && nvme_cint_do_pass_end(cq);
}

/* cq->head was updated. */
static inline void nvme_cint_head(NvmeCQueue *cq)
{
    if (cq->cint) {
        nvme_cint_do_head(cq);
    }
}

#endif /* HW_NVME_CINT_H */
