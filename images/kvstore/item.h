/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An item in its slot: key, version and value, and a checksum over all three.
 * A slot without an item is all zeros.
 */
#ifndef KVSTORE_ITEM_H
#define KVSTORE_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

#define ITEM_LEAST 64u

struct item {
    uint64_t sum;               /* of all that follows */
    uint64_t key;
    uint64_t version;           /* 1 when it is new, and one more each time */
    uint64_t value[];
};

enum item_fault { ITEM_GOOD, ITEM_EMPTY, ITEM_SUM, ITEM_KEY, ITEM_VERSION };

/* Puts an item into its slot of @size bytes, a multiple of 8. */
void item_fill(struct item *item, size_t size, uint64_t key, uint64_t version);

/* Whether the bytes of a slot are those of an item, whichever. */
enum item_fault item_check_any(const struct item *item, size_t size);

/* ... and of this one. */
enum item_fault item_check(const struct item *item, size_t size, uint64_t key,
                           uint64_t version);

/* In words, for messages. */
const char *item_fault_text(enum item_fault fault);

/* Whether all @size bytes are zero. */
bool item_is_empty(const struct item *item, size_t size);

#endif
