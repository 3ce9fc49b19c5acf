/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who waits, of guests that say nothing: learned from what happens to the
 * buffer of a command after the guest has been told of it (policies.md, "Who
 * waits, learned").
 *
 * Whoever waits for one command uses its buffer again before the others do;
 * a job with many in flight uses it after others. What is counted is how many
 * commands of others come between a buffer's telling and its next use, or
 * between that of a Flush that came after it and its next use. Whoever thinks
 * in between is known by what it overtakes: a job's buffers come back in the
 * order of their CQEs.
 *
 * Passive: nothing is held to learn, and only evidence takes the mark off.
 */
#ifndef HW_NVME_COALESCE_WAITS_H
#define HW_NVME_COALESCE_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#define CINT_WAITS_ENTRIES  2048    /* 16 KiB a controller */
#define CINT_WAITS_WAYS     4       /* of a bucket */
#define CINT_WAITS_RECENT   4       /* commands that do not count again */
#define CINT_WAITS_TURNS    32      /* commands that may come between, and 1 */
#define CINT_WAITS_CQES     64      /* of a queue that are looked back at */
#define CINT_WAITS_SLICES   64      /* queues with a part of their own */
#define CINT_WAITS_TICK     23      /* log2 of the ns of a tick: 8.4 ms */
#define CINT_WAITS_OLD      4       /* ticks after which a buffer is unknown */

/* One buffer. */
typedef struct CintWaitsPage {
    uint32_t page;      /* 0: a free entry */
    uint16_t post;      /* its last CQE, if posted; free running */
    uint8_t score;      /* 255: waited for */
    uint8_t posted:1;  /* else in flight */
    uint8_t used:7;    /* the tick of its last use, free running */
} CintWaitsPage;

/* Of one controller. All zeroes is an empty one. */
typedef struct CintWaits {
    CintWaitsPage entry[CINT_WAITS_ENTRIES];
    uint64_t slices;        /* which are in use */
    uint32_t sharers;       /* queues that have the last slice */
    uint32_t shift;         /* a queue has CINT_WAITS_ENTRIES >> shift */
} CintWaits;

/* Of one submission queue. All zeroes is a new one. */
typedef struct CintWaitsSq {
    bool known;             /* has a slice */
    uint8_t slice;
    uint8_t next;           /* of recent and told, free running */
    uint8_t fresh;          /* 255: no buffer is ever known */
    uint8_t against;        /* 255: nobody whose buffer comes back waits */
    bool bare;              /* a command without a buffer was posted */
    uint16_t bare_post;     /* the last such CQE, free running */
    uint16_t post;          /* the last CQE, free running */
    /* CQEs told of at the last commands that counted, and their buffers */
    uint16_t told[CINT_WAITS_TURNS];
    uint32_t recent[CINT_WAITS_RECENT];
    uint64_t lying;         /* a job's CQEs, bit 0 the last: not used since */
} CintWaitsSq;

/*
 * What a buffer is known by: its address. Never 0, which stands for none.
 * Buffers smaller than a sector do not differ.
 */
static inline uint32_t cint_waits_page(uint64_t address)
{
    uint32_t page = (uint32_t)(address >> 9) ^ (uint32_t)(address >> 41);

    return page ? page : 1;
}

/*
 * A command with buffer @page, 0 if it has none, was fetched at @now; the guest
 * has been told of @told CQEs, free running. @first: it is the first since the
 * guest consumed something, or alone. Returns true if its sender waits for it,
 * as far as is known.
 */
bool cint_waits_submit(CintWaits *waits, CintWaitsSq *sq, uint32_t page,
                       int64_t now, uint32_t told, bool first);

/* The CQE with free-running index @index is that of @page, 0: of no buffer. */
void cint_waits_posted(CintWaits *waits, CintWaitsSq *sq, uint32_t page,
                       uint32_t index);

/* What is believed of a queue's buffers. */
typedef struct CintBelief {
    uint32_t buffers;   /* that are known, of all queues that share its part */
    uint32_t waited;    /* those of them that somebody waits for */
    uint32_t fresh;     /* commands in 256 of the last whose buffer was new */
} CintBelief;

CintBelief cint_waits_belief(const CintWaits *waits, const CintWaitsSq *sq);

/* The queue goes away, and its part with it. */
void cint_waits_leave(CintWaits *waits, CintWaitsSq *sq);

/*
 * An entry at @now as one value, and back, where the clock may be another one.
 * Any value is one that an entry can have.
 */
uint64_t cint_page_save(const CintWaitsPage *entry, int64_t now);
void cint_page_load(CintWaitsPage *entry, int64_t now, uint64_t value);

#endif /* HW_NVME_COALESCE_WAITS_H */
