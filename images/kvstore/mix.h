/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What clients ask for: the core workloads A to F of YCSB, with their published
 * shares and distributions of keys, and two of one operation.
 */
#ifndef KVSTORE_MIX_H
#define KVSTORE_MIX_H

#include <stdint.h>

#include "hash.h"

#define MIX_THETA 0.99

enum op { OP_READ, OP_UPDATE, OP_INSERT, OP_SCAN, OP_RMW, OPS };

/* By op. */
extern const char *const op_names[];

/* Which records are asked for: some often wherever they are, or the newest. */
enum keys { KEYS_ZIPFIAN, KEYS_LATEST };

struct mix {
    const char *name;
    enum keys keys;
    unsigned percent[OPS];      /* of all operations, together 100 */
};

/* The workload of that name: a to f, insert, update; NULL if there is none. */
const struct mix *mix_find(const char *name);

enum op mix_op(const struct mix *mix, struct random *r);

/* Ranks 0 (most frequent) to n - 1: rank i as often as 1 / (i + 1)^theta. */
struct zipf {
    uint64_t n;
    double zeta;                /* sum of 1 / i^theta, of i from 1 to n */
    double zeta2, alpha, eta;
};

/* @n is at least 2. */
void zipf_init(struct zipf *z, uint64_t n);

/* The same with more ranks; takes time only for those that are new. */
void zipf_grow(struct zipf *z, uint64_t n);

uint64_t zipf_rank(const struct zipf *z, struct random *r);

/* The number of a record that is there: one of the @there first. */
uint64_t mix_record(const struct mix *mix, struct zipf *z, struct random *r,
                    uint64_t there);

#endif
