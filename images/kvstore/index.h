/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys of one worker in order, and where their items are: short sorted
 * arrays, one after the other. The worker alone changes it and looks keys up;
 * any thread may scan it meanwhile.
 */
#ifndef KVSTORE_INDEX_H
#define KVSTORE_INDEX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDEX_CHUNK 256

struct entry {
    uint64_t key;
    uint32_t slot;              /* of the worker's region */
    uint32_t version;           /* the worker's to change */
};

struct chunk;

struct index {
    pthread_rwlock_t lock;
    struct chunk **chunks;
    size_t count, room;         /* of the chunks */
    size_t entries;
};

void index_init(struct index *index);
void index_free(struct index *index);

/* False: the key is there already, and nothing has changed. */
bool index_insert(struct index *index, struct entry entry);

/* The worker's: NULL if there is none; good until the next insertion. */
struct entry *index_find(struct index *index, uint64_t key);

/* Up to @most keys from @from on, in order; how many these are. */
size_t index_scan(struct index *index, uint64_t from, size_t most,
                  uint64_t *keys);

/* The worker's: each entry, in order of the keys. */
void index_each(struct index *index,
                void (*call)(void *with, struct entry *entry), void *with);

#endif
