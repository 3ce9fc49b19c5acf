/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "item.h"

#include <string.h>

#include "hash.h"

#define STEP 0x9e3779b97f4a7c15

static uint64_t sum_of(const struct item *item, size_t size)
{
    return hash_bytes(&item->key, size - offsetof(struct item, key), size);
}

void item_fill(struct item *item, size_t size, uint64_t key, uint64_t version)
{
    size_t words = (size - sizeof(*item)) / sizeof(item->value[0]);
    uint64_t word = hash_mix(key + version * STEP);

    item->key = key;
    item->version = version;
    for (size_t i = 0; i < words; i++) {
        item->value[i] = word += STEP;
    }
    item->sum = sum_of(item, size);
}

bool item_is_empty(const struct item *item, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)item;

    return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

enum item_fault item_check_any(const struct item *item, size_t size)
{
    if (sum_of(item, size) == item->sum) {
        return ITEM_GOOD;
    }
    return item_is_empty(item, size) ? ITEM_EMPTY : ITEM_SUM;
}

enum item_fault item_check(const struct item *item, size_t size, uint64_t key,
                           uint64_t version)
{
    enum item_fault fault = item_check_any(item, size);

    if (fault != ITEM_GOOD) {
        return fault;
    }
    if (item->key != key) {
        return ITEM_KEY;
    }
    return item->version == version ? ITEM_GOOD : ITEM_VERSION;
}

const char *item_fault_text(enum item_fault fault)
{
    static const char *const texts[] = {
        [ITEM_GOOD] = "good",
        [ITEM_EMPTY] = "there is no item",
        [ITEM_SUM] = "the checksum is wrong",
        [ITEM_KEY] = "it is another key's",
        [ITEM_VERSION] = "it is another version",
    };

    return texts[fault];
}
