/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The fields of medium and arbiter that are carried. See carried.h.
 */
#include "carried.h"

/* Five hours: a queue's worth of such claims adds up without overflow. */
#define MOST_CLAIM_NS   ((int64_t)1 << 44)
#define MOST_BACKLOG    65535
#define MOST_WEIGHT     256
#define MOST_BURST      64

const CintField cint_media_fields[] = {
    CINT_CARRY_ALL(CintMedia, random),
    CINT_CARRY_TIME(CintMedia, burst_ns),
    CINT_CARRY_ALL(CintMedia, burst_spread_ns),
    CINT_CARRY_TIMES(CintMedia, channel_ns),
    CINT_CARRY_TIMES(CintMedia, unit_ns),
    { .name = NULL },
};

const CintField cint_claim_fields[] = {
    CINT_CARRY_MOST(CintMediaClaim, unit, CINT_MEDIA_MAX_UNITS),
    CINT_CARRY_BOOL(CintMediaClaim, is_write),
    CINT_CARRY_TIME(CintMediaClaim, service.start_ns),
    CINT_CARRY_TIME(CintMediaClaim, service.end_ns),
    CINT_CARRY_TIME(CintMediaClaim, transfer.start_ns),
    CINT_CARRY_TIME(CintMediaClaim, transfer.end_ns),
    { .name = NULL },
};

/* The rest is what is set, and what queues and commands have. */
const CintField cint_arb_fields[] = {
    CINT_CARRY_EACH(CintArb, credit, VALUE, MOST_WEIGHT),
    CINT_CARRY_EACH(CintArb, turn, VALUE, MOST_BURST),
    { .name = NULL },
};

const CintField cint_arb_sq_fields[] = {
    CINT_CARRY_MOST(CintArbSq, backlog, MOST_BACKLOG),
    CINT_CARRY_MOST(CintArbSq, granted, MOST_BACKLOG),
    CINT_CARRY_MOST(CintArbSq, class, CINT_ARB_NR_CLASSES - 1),
    { .name = NULL },
};

static bool span_fits(const CintMediaSpan *span, const char *field,
                      CintMisfit *misfit)
{
    int64_t length;

    if (__builtin_sub_overflow(span->end_ns, span->start_ns, &length)) {
        length = -1;
    }
    return cint_fits(misfit, field, length, 0, MOST_CLAIM_NS);
}

bool cint_claim_load(CintMediaClaim *claim, int64_t now, const uint64_t *values,
                     CintMisfit *misfit)
{
    return cint_carry_load(cint_claim_fields, claim, now, values, misfit) &&
           span_fits(&claim->service, "service.end_ns - start_ns", misfit) &&
           span_fits(&claim->transfer, "transfer.end_ns - start_ns", misfit);
}

bool cint_arb_sq_load(CintArb *arb, CintArbSq *sq, const uint64_t *values,
                      CintMisfit *misfit)
{
    if (!cint_carry_load(cint_arb_sq_fields, sq, 0, values, misfit) ||
        !cint_fits(misfit, "granted", sq->granted, 0, sq->backlog)) {
        return false;
    }
    sq->next = sq->prev = NULL;
    arb->granted += sq->granted;
    cint_arb_update_line(arb, sq);
    return true;
}

bool cint_arb_load(CintArb *arb, const uint64_t *values, CintMisfit *misfit)
{
    uint32_t line;

    if (!cint_carry_load(cint_arb_fields, arb, 0, values, misfit)) {
        return false;
    }
    for (line = 0; line < CINT_ARB_NR_CLASSES; line++) {
        if (!cint_fits(misfit, "turn", arb->turn[line], !!arb->first[line],
                       MOST_BURST)) {
            return false;
        }
    }
    return true;
}

uint32_t cint_arb_place(const CintArb *arb, const CintArbSq *sq)
{
    const CintArbSq *other;
    uint32_t place = 1;

    if (!sq->next) {
        return 0;
    }
    for (other = arb->first[sq->line]; other != sq; other = other->next) {
        place++;
    }
    return place;
}
