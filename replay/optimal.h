/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the cheapest interrupts for a record would have cost somebody who knew
 * all of it beforehand. Each interrupt has a price, and each ns that a CQE
 * waits for its interrupt costs that CQE's weight: 1 for those that somebody
 * waits for, and for the others a quarter of @i, for OPTIMAL_WEIGHTS values of
 * i from 0.
 */
#ifndef REPLAY_OPTIMAL_H
#define REPLAY_OPTIMAL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define OPTIMAL_WEIGHTS     5
#define OPTIMAL_PARTS       4   /* costs are in quarters of a ns */

typedef struct Optimal Optimal;

/* For one completion queue; @price_ns is above 0. */
Optimal *optimal_new(uint64_t price_ns);
void optimal_free(Optimal *optimal);

/* A CQE was posted at @t, which never runs backwards. */
void optimal_add(Optimal *optimal, int64_t t, bool waited);

/* For all CQEs so far, in quarters of a ns; 0 without any. */
double optimal_cost(const Optimal *optimal, unsigned weight);

/* The interrupts that it takes. */
uint64_t optimal_irqs(const Optimal *optimal, unsigned weight);

#endif /* REPLAY_OPTIMAL_H */
