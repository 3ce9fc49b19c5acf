/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checksums, keys and random numbers. Nothing here allocates or waits. */
#ifndef KVSTORE_HASH_H
#define KVSTORE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* XXH64 of @len bytes. */
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);

/* A number for each number: no two have the same. */
uint64_t hash_mix(uint64_t number);

/* Begins with any seed; the same seed gives the same numbers. */
struct random {
    uint64_t state;
};

uint64_t random_next(struct random *r);

/* 0 to @n - 1, all as likely but for a part in 2^32; @n is 1 to 2^32. */
uint64_t random_below(struct random *r, uint64_t n);

/* From 0 to 1, without 1. */
double random_unit(struct random *r);

#endif
