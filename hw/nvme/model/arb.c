/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Command arbitration. See arb.h.
 */
#include <stddef.h>
#include <string.h>

#include "../cint-must.h"
#include "arb.h"

#define BURST_NO_LIMIT  7

void cint_arb_init(CintArb *arb, uint32_t slots)
{
    memset(arb, 0, sizeof(*arb));
    arb->slots = slots;
    cint_arb_set_feature(arb, BURST_NO_LIMIT);
}

void cint_arb_set_slots(CintArb *arb, uint32_t slots)
{
    arb->slots = slots;
}

void cint_arb_set_weighted(CintArb *arb, bool weighted)
{
    arb->weighted = weighted;
}

void cint_arb_set_feature(CintArb *arb, uint32_t value)
{
    uint32_t burst = value & 7;

    arb->burst = burst == BURST_NO_LIMIT ? 1 : 1u << burst;
    arb->weight[CINT_ARB_LOW] = (value >> 8 & 0xff) + 1;
    arb->weight[CINT_ARB_MEDIUM] = (value >> 16 & 0xff) + 1;
    arb->weight[CINT_ARB_HIGH] = (value >> 24 & 0xff) + 1;
}

void cint_arb_sq_init(CintArbSq *sq, CintArbClass class)
{
    memset(sq, 0, sizeof(*sq));
    sq->class = class;
}

static void join_line(CintArb *arb, CintArbSq *sq)
{
    CintArbSq **first;

    sq->line = arb->weighted ? sq->class : 0;
    first = &arb->first[sq->line];
    if (!*first) {
        *first = sq->next = sq->prev = sq;
        arb->turn[sq->line] = arb->burst;
        return;
    }
    sq->next = *first;
    sq->prev = (*first)->prev;
    sq->prev->next = sq;
    sq->next->prev = sq;
}

static void pass_turn(CintArb *arb, uint32_t line)
{
    arb->first[line] = arb->first[line]->next;
    arb->turn[line] = arb->burst;
}

static void leave_line(CintArb *arb, CintArbSq *sq)
{
    if (arb->first[sq->line] == sq) {
        pass_turn(arb, sq->line);
    }
    if (sq->next == sq) {
        arb->first[sq->line] = NULL;
    }
    sq->prev->next = sq->next;
    sq->next->prev = sq->prev;
    sq->next = sq->prev = NULL;
}

/* In line for as long as there is more to fetch than was granted. */
void cint_arb_update_line(CintArb *arb, CintArbSq *sq)
{
    bool waits = sq->backlog > sq->granted;

    CINT_MUST(sq->granted <= sq->backlog && sq->granted <= arb->granted);

    if (waits && !sq->next) {
        join_line(arb, sq);
    } else if (!waits && sq->next) {
        leave_line(arb, sq);
    }
}

void cint_arb_set_backlog(CintArb *arb, CintArbSq *sq, uint32_t backlog)
{
    sq->backlog = backlog;
    if (sq->granted > backlog) {
        arb->granted -= sq->granted - backlog;
        sq->granted = backlog;
    }
    cint_arb_update_line(arb, sq);
}

/* The weighted class whose turn it is, at its cost; -1 if none waits. */
static int weighted_line(CintArb *arb)
{
    bool waiting = false;
    int line;

    for (line = CINT_ARB_HIGH; line <= CINT_ARB_LOW; line++) {
        if (arb->first[line] && arb->credit[line]) {
            arb->credit[line]--;
            return line;
        }
        waiting |= !!arb->first[line];
    }
    if (!waiting) {
        return -1;
    }
    /* Everyone who waits has used up his share: a new round. */
    memcpy(arb->credit, arb->weight, sizeof(arb->credit));
    return weighted_line(arb);
}

static int next_line(CintArb *arb)
{
    return arb->first[CINT_ARB_URGENT] ? CINT_ARB_URGENT : weighted_line(arb);
}

CintArbSq *cint_arb_next(CintArb *arb)
{
    CintArbSq *sq;
    int line;

    CINT_MUST(arb->used <= UINT32_MAX / 2 && arb->granted <= UINT32_MAX / 2);
    if (!arb->slots || arb->used + arb->granted >= arb->slots) {
        return NULL;
    }
    line = next_line(arb);
    if (line < 0) {
        return NULL;
    }

    sq = arb->first[line];
    CINT_MUST(sq->next && sq->line == line && arb->turn[line]);
    if (!--arb->turn[line]) {
        pass_turn(arb, line);
    }
    arb->granted++;
    sq->granted++;
    cint_arb_update_line(arb, sq);
    return sq;
}
