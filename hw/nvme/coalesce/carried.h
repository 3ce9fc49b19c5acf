/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What of the engine has to be carried to an engine that is to go on in its
 * place, and how that takes it over. The fields are tables (carry.h); how they
 * are transported is for the caller. A new engine is made as ever, then told
 * what the other one was like, from the controller down to its commands:
 *
 *     there                                here
 *     cint_carry_save(cint_scope_fields    cint_scope_init()
 *                                          cint_scope_load()
 *     for each entry of scope->waits:      the same:
 *       cint_page_save()                     cint_page_load()
 *     for each completion queue:           cint_cq_init(), with its
 *       cint_carry_save(cint_cq_fields       configuration; cint_cq_load()
 *     for each of its SQs:                 cint_sq_init()
 *       cint_carry_save(cint_sq_fields       cint_sq_load()
 *       for each command in flight,          for each one:
 *       in order of submission:
 *         cint_cmd_save(),                     cint_cmd_load()
 *         cint_carry_save(cint_cmd_fields
 *
 * From then on it answers the same events at the same times as the other one
 * would have. What comes in may be anything: what makes no sense is refused,
 * and the engine is then to be thrown away.
 */
#ifndef HW_NVME_COALESCE_CARRIED_H
#define HW_NVME_COALESCE_CARRIED_H

#include "carry.h"
#include "coalesce.h"

/* Of CintScope, CintCq and CintSq. */
extern const CintField cint_scope_fields[];
extern const CintField cint_cq_fields[];
extern const CintField cint_sq_fields[];

/* Of this. */
extern const CintField cint_cmd_fields[];

/* A command in flight, as it is carried. */
typedef struct CintCarriedCmd {
    uint8_t hints;
    uint8_t sources;
    uint8_t waiter;
    uint8_t content;
    bool fence;
    bool ends_batch;    /* it was fetched last, and its doorbell is open */
    uint32_t page;
} CintCarriedCmd;

/* The oldest command in flight of @sq, or NULL; CintCmd.next is the next. */
CintCmd *cint_first_cmd(const CintSq *sq);

/* @cmd, which is in flight from @sq. */
CintCarriedCmd cint_cmd_save(const CintSq *sq, const CintCmd *cmd);

/*
 * Each returns false if what it is given makes no sense, which @misfit then
 * says. @values are those of the table's fields.
 */
bool cint_scope_load(CintScope *scope, int64_t now, const uint64_t *values,
                     CintMisfit *misfit);
bool cint_cq_load(CintCq *cq, int64_t now, const uint64_t *values,
                  CintMisfit *misfit);
bool cint_sq_load(CintSq *sq, int64_t now, const uint64_t *values,
                  CintMisfit *misfit);

/* @cmd was fetched from @sq after those that were loaded before. */
bool cint_cmd_load(CintSq *sq, CintCmd *cmd, const CintCarriedCmd *carried,
                   CintMisfit *misfit);

#endif /* HW_NVME_COALESCE_CARRIED_H */
