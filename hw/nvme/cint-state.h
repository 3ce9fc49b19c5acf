/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: what the device keeps of a controller, a queue and a command. Types
 * only; each part says which file changes it. In the files of the glue a
 * variable of each type has one name:
 *
 *   n     NvmeCtrl          cint  NvmeCint
 *   cq    NvmeCQueue        ccq   NvmeCintCq
 *   sq    NvmeSQueue        csq   NvmeCintSq
 *   req   NvmeRequest       creq  NvmeCintReq
 *
 * Everything is touched under the BQL only, but for I/O queues that a thread
 * serves (thread.h): these, and what those of one thread share, are touched
 * with its lock. What belongs to one queue hangs off that queue, what is known
 * of all that one thread or the main loop serves is in NvmeCintServer: commands
 * in flight, vIC's epoch, who waits for what. What NvmeCint holds beside
 * configuration is shared by all: media and slots, with a lock of their own if
 * there are several threads, and counters by vector. The admin queue uses the
 * last of these only. Configuration is changed with all threads paused.
 */
#ifndef HW_NVME_CINT_STATE_H
#define HW_NVME_CINT_STATE_H

#include "qemu/bitmap.h"
#include "qemu/interval-tree.h"
#include "qemu/timer.h"

#include "cint-stats.h"
#include "coalesce/apart.h"
#include "model/arb.h"
#include "model/media.h"
#include "nvme.h"

typedef enum NvmeCintHolds {
    NVME_CINT_NO_SLOT,
    NVME_CINT_SLOT,
    NVME_CINT_SHARED_SLOT,      /* one that several threads share */
} NvmeCintHolds;

/* One command in flight. Lives in an array parallel to NvmeSQueue.io_req. */
typedef struct NvmeCintReq {
    NvmeRequest *req;
    CintCmd cmd;
    /* cint-park.c */
    int64_t due_ns;             /* when the media is done with it */
    CintMediaClaim claim;       /* what it occupies until then */
    bool in_media;              /* in its CQ's media list or overtakers */
    bool overtakes;             /* in the latter */
    uint64_t turn;              /* among those that are done at one time */
    bool ready;                 /* the block layer is done with it */
    bool late;                  /* its data was given up waiting for */
    QTAILQ_ENTRY(NvmeCintReq) entry;
    IntervalTreeNode node;      /* of overtakers */
    /* cint-arb.c */
    uint8_t holds_slot;         /* NvmeCintHolds */
} NvmeCintReq;

/* What the queues share that the main loop serves, or one thread. */
typedef struct NvmeCintServer {
    NvmeCtrl *n;
    bool is_thread;             /* else the main loop */
    CintScope scope;
    /* cint-notify.c */
    uint32_t depth;             /* entries now under way */
    QTAILQ_HEAD(, NvmeCintCq) outbox;   /* decided on there, and not sent */
} NvmeCintServer;

typedef struct NvmeCintSq {
    NvmeSQueue *sq;
    NvmeCintServer *server;
    CintSq engine;
    NvmeCintReq *reqs;
    /* cint-sq.c: where fetching runs, by the notion of time. */
    QEMUBH *fetch_bh;
    QEMUTimer *fetch_timer;
    uint32_t backlog;           /* SQEs published, not fetched */
    bool fetching;              /* at this moment */
    bool starved;               /* stopped for want of a slot, while fetching */
    NvmeCintReq *executing;     /* at this moment */
    NvmeCintReq *executing_left; /* likewise, in the main loop for a thread */
    NvmeCintSqStats stats;      /* not of the admin queue */
    /* cint-hints.c */
    uint32_t fetched;           /* SQEs since the last batch boundary */
    unsigned long *batch_ends;  /* bit i: slot i holds a batch's last SQE */
    uint32_t marked;            /* tail of the newest batch marked there */
    /* cint-arb.c; the admin queue takes no part */
    CintArbSq arb;
} NvmeCintSq;

/* An interrupt that was decided on and not sent yet. */
typedef struct NvmeCintNotice {
    uint32_t full_tail;         /* CQEs posted at the last full one */
    uint8_t class, reason;
    bool published;             /* its record was written, where it was then */
} NvmeCintNotice;

/* What the guest is told of a queue, and is still to be. cint-notify.c */
typedef struct NvmeCintNotices {
    hwaddr record_addr;         /* of the status record */
    bool has_record;            /* there is one: nothing else allows its DMA */
    uint32_t seq;               /* messages, free running */
    uint32_t full_tail;         /* as of the last notice */
    /* for the next three, of a thread that decides: the main loop sends */
    QemuMutex lock;
    uint32_t tail;              /* CQEs posted when it was last decided */
    uint32_t first, unsent;     /* of the ring, which has cq->size entries */
    NvmeCintNotice *ring;
    bool is_linked;             /* in a thread's outbox */
    QTAILQ_ENTRY(NvmeCintCq) entry;
} NvmeCintNotices;

typedef struct NvmeCintCq {
    NvmeCQueue *cq;
    NvmeCintServer *server;
    CintCq engine;
    NvmeCintStats stats;
    NvmeCintNotices notices;
    /* cint-cq.c */
    bool coalesce;              /* false: never, as for admin and IEN=0 */
    bool stopped;               /* in a reset: no interrupt at all */
    QEMUTimer *irq_timer;       /* runs the engine's deadline */
    int64_t armed_ns;           /* what irq_timer is set to */
    int64_t deadline_ns;        /* last one traced */
    uint32_t pass_cqes;         /* posted in this pass */
    bool storm;                 /* state last traced */
    /* cint-regs.c */
    uint32_t pointer_index;     /* as last armed */
    /* cint-park.c: what waits for the media, and where posting runs. */
    QTAILQ_HEAD(, NvmeCintReq) media;   /* in order of due_ns */
    IntervalTreeRoot overtakers;        /* likewise: due before many there */
    uint64_t turns;                     /* commands that came to either */
    QEMUBH *post_bh;
    bool post_scheduled;        /* post_bh, or cq->bh of a thread, is */
    QEMUTimer *post_timer;
    int64_t post_ns;            /* a posting pass was asked for */
} NvmeCintCq;

typedef struct NvmeCintSaved NvmeCintSaved;

typedef struct NvmeCint {
    NvmeCtrl *n;
    PCIDevice *pci;             /* the same, without a checked cast */
    bool virtual_time;
    CintConfig config;          /* for queues created from now on */
    NvmeCintStatus status;      /* feature D1h, in CPU order, likewise */
    /* Feature 09h: vectors whose I/O queues are not coalesced. */
    DECLARE_BITMAP(cd, PCI_MSIX_FLAGS_QSIZE + 1);
    /* Medium, slots and turns, where several threads serve the queues. */
    bool has_lock;
    QemuMutex lock;
    CintMedia media;
    /* cint-park.c */
    uint32_t late;              /* commands in flight that are */
    /* cint-notify.c */
    NvmeCintServer main;        /* those of threads are theirs */
    uint64_t *vector_irqs;      /* interrupts decided on, by vector */
    /* cint-arb.c */
    CintArb arb;
    uint32_t arbitration;       /* feature 01h */
    int64_t instant_ns;         /* of virtual time, when SQs were woken last */
    uint64_t instant_entries;   /* of these SQs, all that they may have */
    /* cint-carried.c, cint-migrate.c */
    NvmeCintSaved *saved;       /* what is carried, while it is */
    bool resume;                /* there is more to do when the machine runs */
    struct VMChangeStateEntry *run_state;
} NvmeCint;

/* For medium, slots and turns. */
static inline void nvme_cint_lock(NvmeCint *cint)
{
    if (unlikely(cint->has_lock)) {
        qemu_mutex_lock(&cint->lock);
    }
}

static inline void nvme_cint_unlock(NvmeCint *cint)
{
    if (unlikely(cint->has_lock)) {
        qemu_mutex_unlock(&cint->lock);
    }
}

static inline int64_t nvme_cint_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static inline NvmeCintReq *nvme_cint_req(const NvmeRequest *req)
{
    return &req->sq->cint->reqs[req - req->sq->io_req];
}

/* The queue that @sq's completions go to. */
static inline NvmeCintCq *nvme_cint_cq_of(const NvmeSQueue *sq)
{
    return sq->ctrl->cq[sq->cqid]->cint;
}

/* The queue with identifier @cqid (at most max_ioqpairs), NULL if none. */
static inline NvmeCintCq *nvme_cint_cq_at(const NvmeCtrl *n, uint32_t cqid)
{
    return n->cq[cqid] ? n->cq[cqid]->cint : NULL;
}

#endif /* HW_NVME_CINT_STATE_H */
