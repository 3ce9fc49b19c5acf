/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: a queue pair: its rings, and what is remembered of its commands.
 */
#ifndef CINTIO_QUEUE_H
#define CINTIO_QUEUE_H

#include <stdatomic.h>
#include "device.h"
#include "nvme.h"
#include "step.h"

#define CINTIO_GATHER_NS     10000  /* of a queue that nobody said it of */

/* A place in the CQ: entries since its creation, index and phase there. */
struct cintio_cursor {
    uint32_t count;
    uint16_t index;
    bool phase;
};

/* A command, by its identifier. */
struct cintio_slot {
    uint64_t cookie;
    uint64_t pushed_ns;         /* in modes that sleep for a time */
    uint64_t due_ns;            /* when it has taken too long; 0: never */
    uint16_t prev, next;        /* outstanding ones, oldest first */
    bool busy, urgent;
};

struct cintio_queue {
    struct cintio *dev;
    const struct cintio_info *info;     /* when it was created */
    unsigned int generation;
    uint16_t id, entries;
    bool irq;
    bool has_cq, has_sq;        /* the controller may have them */
    bool destroyed;             /* and the controller has not let go of it */
    bool leaving;               /* somebody asks the controller to */
    bool held;                  /* ... in vain so far */
    _Atomic unsigned int unanswered;    /* commands about it, given up */
    bool pointer;               /* the policy knows the interrupt pointer */

    struct cintio_mem *mem;
    struct nvme_sqe *sq;
    struct nvme_cqe *cq;
    uint32_t max_transfer;      /* bytes that each command has PRPs for */
    uint8_t *prp_lists;
    NvmeCintRecord *record;     /* NULL: none */
    uint32_t sq_doorbell, cq_doorbell, pointer_reg;     /* offsets */

    uint16_t sq_tail;
    unsigned int queued;        /* pushed and not rung */
    unsigned int flying;        /* rung and not taken */
    struct cintio_slot *slots;  /* entries - 1, and the list's two ends */
    uint16_t *free;
    unsigned int nr_free;

    /*
     * [head, scan) was looked through. What is taken from the head on has its
     * mark, beyond the scan as well if that went back and ended early.
     */
    struct cintio_cursor head, scan;
    uint8_t *taken;
    uint32_t told;              /* the record's full_tail, as last read */
    struct {                    /* when an interrupt was last to be explained */
        uint32_t full_tail, seq;
        uint64_t interrupts;
        int64_t ahead;          /* counted messages that had not come yet */
        unsigned int urgent;    /* ... and Urgent ones taken since */
    } seen;
    bool interrupted;           /* by a message that is to be explained */
    bool release;               /* take all, once, whatever was told */
    unsigned int doubts;        /* interrupts in a row of which nothing tells */

    bool slept_elsewhere;       /* ... on the eventfd, which is to be emptied */
    bool to_tell;               /* it was, and nothing was taken since */
    bool armed;                 /* the pointer is, and was not passed */
    uint32_t target;            /* ... at this count */

    enum cintio_mode mode;
    uint64_t sleep_ns;
    uint64_t mean_ns;           /* from push to taken */
    uint64_t spin_ns, gather_ns;
    bool slept_short;           /* the last sleep was, by spin_ns */
    uint64_t gap_ns;            /* between completions; 0: not known */
    uint64_t last_ns;           /* the last call of cintio_complete() ... */
    unsigned int last_got;      /* ... and what it took */
    int eventfd;

    cintio_interrupt_fn on_interrupt;
    void *interrupt_opaque;
#ifdef CINTIO_TEST
    cintio_step_fn step;
    void *step_opaque;
#endif
    unsigned int timed;         /* outstanding ones that have a time */
    uint64_t due_ns;            /* the first of these is over, or later */
    uint64_t overdue;           /* cookie of the last one that was */
    unsigned int looks;         /* without the clock */
    uint64_t watched_ns;        /* when the controller was looked after */
    uint64_t pushed, completed, errors, late;
    uint64_t rings, heads;      /* doorbells of the SQ; of the CQ */
    uint64_t arms, sleeps;      /* pointer writes; waits in poll(2) */
    _Atomic uint64_t wakes;     /* cintio_queue_wake() */
    uint64_t wakes_seen;
    bool woken;                 /* by one of these, in this wait */
    uint64_t signals;           /* these and interrupts, of the eventfd */
    uint64_t interrupts;        /* that the eventfd told of when emptied */
    struct cintio_error error;
};

/*
 * The rings alone, in memory; the controller is told by others. @max_transfer:
 * bytes that a command moves at most, two pages or more, and a power of 2.
 */
int cintio_queue_new(struct cintio *dev, uint16_t id, uint16_t entries,
                     uint32_t max_transfer, struct cintio_queue **queue,
                     struct cintio_error *err);
void cintio_queue_free(struct cintio_queue *queue);

/* As new. The controller does not use it, or has stopped. */
void cintio_queue_empty(struct cintio_queue *queue);

/* The controller was reset since, and has the queue no more. */
static inline bool cintio_is_stale(const struct cintio_queue *q)
{
    return q->generation != atomic_load(&q->dev->generation);
}

/* -ESTALE with a text if it is, or 0. */
int cintio_check_stale(const struct cintio_queue *q, struct cintio_error *err);

/* The identifier of a new command; -EAGAIN if none is free. */
int cintio_take_slot(struct cintio_queue *queue);

/* It is over, or never was. */
void cintio_give_slot(struct cintio_queue *queue, uint16_t id);

/* Puts @sqe, whose identifier was taken, into the SQ. */
void cintio_enqueue(struct cintio_queue *queue, const struct nvme_sqe *sqe);

/* The oldest command that is outstanding, of all or behind @slot; or NULL. */
const struct cintio_slot *cintio_oldest(const struct cintio_queue *queue,
                                        const struct cintio_slot *slot);

/* Of one command's list of pages: bytes, a power of 2, and so within a page. */
size_t cintio_list_size(const struct cintio_queue *queue);

#endif
