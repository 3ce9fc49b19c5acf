/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What of medium and arbiter has to be carried to those that are to go on in
 * their place (coalesce/carry.h). What is set is not: it is set there as well,
 * before anything is loaded. What comes in may be anything.
 */
#ifndef HW_NVME_MODEL_CARRIED_H
#define HW_NVME_MODEL_CARRIED_H

#include "../coalesce/carry.h"
#include "arb.h"
#include "media.h"

/* Of CintMedia, CintMediaClaim, CintArb and CintArbSq. */
extern const CintField cint_media_fields[];
extern const CintField cint_claim_fields[];
extern const CintField cint_arb_fields[];
extern const CintField cint_arb_sq_fields[];

/*
 * Each returns false if what it is given makes no sense, which @misfit then
 * says.
 */
bool cint_claim_load(CintMediaClaim *claim, int64_t now, const uint64_t *values,
                     CintMisfit *misfit);

/*
 * Queues are loaded in the order in which they stand in their lines, those that
 * stand in none anywhere between; then the arbiter itself, of which all that is
 * set has been set before. Each command that holds a slot adds to arb->used.
 */
bool cint_arb_sq_load(CintArb *arb, CintArbSq *sq, const uint64_t *values,
                      CintMisfit *misfit);
bool cint_arb_load(CintArb *arb, const uint64_t *values, CintMisfit *misfit);

/*
 * The place of @sq in its line, from 1, the one whose turn it is; 0: it stands
 * in none.
 */
uint32_t cint_arb_place(const CintArb *arb, const CintArbSq *sq);

#endif /* HW_NVME_MODEL_CARRIED_H */
