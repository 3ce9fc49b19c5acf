/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Command arbitration (NVMe base specification, "Command Arbitration"): which
 * submission queue fetches the next SQE when the controller executes only so
 * many commands at a time.
 *
 * A command occupies a slot from its fetch until its medium is done with it.
 * The arbiter knows each queue's backlog, the SQEs that are published and not
 * fetched, and grants free slots one by one; a queue takes part for as long as
 * it has a backlog beyond its grants.
 *
 *   round robin                    one line for all queues
 *   weighted round robin with      one line each for urgent, high, medium and
 *   urgent priority class          low priority; urgent goes before all others,
 *                                  the rest share by weight, counted in
 *                                  commands
 *
 * The arbitration burst is how many SQEs a queue may fetch before the next in
 * its line has its turn.
 *
 * It is arithmetic over events: no clock, no callback, no allocation, nothing
 * of QEMU's. Who is asked first, or fetches first, makes no difference: the
 * grants follow from backlogs alone. How to drive it:
 *
 *     a doorbell was written:      cint_arb_set_backlog(&arb, sq, n);
 *     an SQE was fetched:          cint_arb_fetched(&arb, sq);
 *     a command's medium is done:  cint_arb_done(&arb);
 *     after any of them:
 *         while ((sq = cint_arb_next(&arb))) {
 *             have sq fetch an SQE soon;
 *         }
 *     fetch from sq only while     cint_arb_may_fetch(&arb, sq)
 *
 * Threads: all calls for one arbiter come from one thread at a time. Errors:
 * none; calls that make no sense are the caller's mistake.
 */
#ifndef HW_NVME_MODEL_ARB_H
#define HW_NVME_MODEL_ARB_H

#include <stdbool.h>
#include <stdint.h>

#include "../cint-must.h"

/* In the encoding of Create I/O Submission Queue's QPRIO. */
typedef enum CintArbClass {
    CINT_ARB_URGENT,
    CINT_ARB_HIGH,
    CINT_ARB_MEDIUM,
    CINT_ARB_LOW,
    CINT_ARB_NR_CLASSES,
} CintArbClass;

/* What the arbiter knows of a submission queue. Read with the accessors. */
typedef struct CintArbSq {
    uint32_t backlog;   /* SQEs published and not fetched */
    uint32_t granted;   /* of which this many may be fetched now */
    uint8_t class;      /* CintArbClass */
    uint8_t line;       /* it stands in, if next is not NULL */
    struct CintArbSq *next, *prev;  /* of the line, a ring */
} CintArbSq;

typedef struct CintArb {
    uint32_t slots;     /* 0 = any number */
    uint32_t used;      /* commands fetched whose medium is not done */
    uint32_t granted;   /* slots promised to queues, not used yet */
    bool weighted;
    uint32_t burst;     /* SQEs, at least 1 */
    uint32_t weight[CINT_ARB_NR_CLASSES];   /* commands in a round */
    uint32_t credit[CINT_ARB_NR_CLASSES];   /* what is left of the round */
    uint32_t turn[CINT_ARB_NR_CLASSES];     /* what the first may still take */
    CintArbSq *first[CINT_ARB_NR_CLASSES];  /* whose turn it is */
} CintArb;

/* @slots: commands executed at a time, 0 = any number. Round robin. */
void cint_arb_init(CintArb *arb, uint32_t slots);

/* Takes effect with the next grant; what exceeds fewer slots goes on. */
void cint_arb_set_slots(CintArb *arb, uint32_t slots);

/* Weighted round robin with urgent class, or round robin. No queue waits. */
void cint_arb_set_weighted(CintArb *arb, bool weighted);

/*
 * Feature 01h: weights (0's based) in bits 31:8, arbitration burst as a power
 * of two in bits 2:0, where "no limit" lets the controller choose: it takes 1.
 * A round, or turn, that has begun ends as it was.
 */
void cint_arb_set_feature(CintArb *arb, uint32_t value);

/* A new queue, with nothing to fetch. */
void cint_arb_sq_init(CintArbSq *sq, CintArbClass class);

/*
 * @sq has @backlog SQEs that could be fetched, if a slot were free. One that
 * shrinks gives back what was granted beyond it. A queue that goes away has
 * none.
 */
void cint_arb_set_backlog(CintArb *arb, CintArbSq *sq, uint32_t backlog);

/* May @sq fetch an SQE now? */
static inline bool cint_arb_may_fetch(const CintArb *arb, const CintArbSq *sq)
{
    return sq->granted || !arb->slots;
}

/* Has @sq join or leave its line, by what it waits for now. */
void cint_arb_update_line(CintArb *arb, CintArbSq *sq);

/* @sq, which may, has fetched an SQE. */
static inline void cint_arb_fetched(CintArb *arb, CintArbSq *sq)
{
    CINT_MUST(sq->backlog && cint_arb_may_fetch(arb, sq));
    arb->used++;
    if (sq->granted) {
        sq->granted--;
        arb->granted--;
    }
    sq->backlog--;
    /* Every command comes here; the last one of a backlog leaves the line. */
    if ((sq->backlog > sq->granted) != !!sq->next) {
        cint_arb_update_line(arb, sq);
    }
}

/* The medium is done with a command, or the command was dropped. */
static inline void cint_arb_done(CintArb *arb)
{
    arb->used--;
}

/*
 * Grants a free slot. Returns the queue that got it, NULL if none is free or
 * nobody waits; with any number of slots no grants are needed.
 */
CintArbSq *cint_arb_next(CintArb *arb);

#endif /* HW_NVME_MODEL_ARB_H */
