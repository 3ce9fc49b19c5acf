/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file, or the namespace: a page that says what it is, then a region of
 * pages for each worker, whose slots hold the items of its keys. Also what the
 * worker knows of its region: the index.
 */
#ifndef KVSTORE_STORE_H
#define KVSTORE_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drive.h"
#include "index.h"
#include "item.h"

#define WORKERS_MAX LANES_MAX
#define RECORDS_MAX (1u << 28)

/* What is decided when it is loaded. */
struct shape {
    uint64_t records;           /* that are loaded */
    uint64_t reserve;           /* that can be inserted */
    uint32_t item_bytes;
    uint32_t workers;
};

struct region {
    uint64_t first_page;        /* of the file */
    uint32_t pages;
    uint32_t slots;             /* for all keys that the worker may get */
    uint32_t used;
    struct index index;
};

struct store {
    const char *path;
    struct drive *drive;
    struct shape shape;
    struct region regions[WORKERS_MAX];
    atomic_ullong faults;       /* items that were not what they had to be */
    /* inserted records: the first number that was not given yet */
    atomic_ullong next_record;
    /* ... and the first that may not be there yet, with all before it there */
    atomic_ullong there;
    pthread_mutex_t there_lock;
    bool *arrived;              /* by number, from shape.records on */
};

static inline uint32_t store_slots_in_page(const struct store *store)
{
    return PAGE_BYTES / store->shape.item_bytes;
}

/* A record's key, and whose it is. */
uint64_t store_key(uint64_t record);
unsigned store_worker(const struct store *store, uint64_t key);

/* The byte of the file where a slot begins. */
uint64_t store_place(const struct store *store, const struct region *region,
                     uint32_t slot);

/* Makes the file, or begins it anew; the disk has all records then. */
void store_load(struct store *store, const char *path, struct shape shape,
                struct drive_options options);

/* Opens what was loaded; reads and checks all of it for the index. */
void store_open(struct store *store, const char *path,
                struct drive_options options);

/*
 * Reads all of it again: each item must be there in the version that the index
 * has. No worker may run. Returns how many items were good.
 */
uint64_t store_audit(struct store *store);

/* An inserted record has been written. */
void store_arrived(struct store *store, uint64_t record);

/* Says and counts that an item is not what it has to be. */
void store_fault(struct store *store, const struct region *region,
                 uint32_t slot, uint64_t key, enum item_fault fault);

void store_close(struct store *store);

#endif
