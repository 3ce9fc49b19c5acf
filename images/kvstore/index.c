/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "index.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

struct chunk {
    size_t count;               /* at least 1 */
    struct entry entries[INDEX_CHUNK];
};

void index_init(struct index *index)
{
    *index = (struct index) { .count = 0 };
    pthread_rwlock_init(&index->lock, NULL);
}

void index_free(struct index *index)
{
    for (size_t i = 0; i < index->count; i++) {
        free(index->chunks[i]);
    }
    free(index->chunks);
    pthread_rwlock_destroy(&index->lock);
}

/* The chunk that has the key, or would have it: the last that begins below. */
static size_t chunk_for(const struct index *index, uint64_t key)
{
    size_t low = 0, high = index->count;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (index->chunks[middle]->entries[0].key <= key) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The first entry of a chunk that is not below the key; its count if none. */
static size_t place_in(const struct chunk *chunk, uint64_t key)
{
    size_t low = 0, high = chunk->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (chunk->entries[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct chunk *add_chunk(struct index *index, size_t at)
{
    if (index->count == index->room) {
        index->room = index->room ? 2 * index->room : 16;
        index->chunks = util_again(index->chunks,
                                    index->room * sizeof(*index->chunks));
    }
    memmove(index->chunks + at + 1, index->chunks + at,
            (index->count - at) * sizeof(*index->chunks));
    index->count++;
    return index->chunks[at] = util_zeroed(1, sizeof(struct chunk));
}

/* Who fills an index in order gets full chunks; others halves. */
static void split(struct index *index, size_t at, size_t place)
{
    struct chunk *old = index->chunks[at], *new = add_chunk(index, at + 1);
    size_t keep = place == INDEX_CHUNK ? INDEX_CHUNK - 1 : INDEX_CHUNK / 2;

    new->count = old->count - keep;
    old->count = keep;
    memcpy(new->entries, old->entries + keep,
           new->count * sizeof(*new->entries));
}

static bool insert(struct index *index, struct entry entry)
{
    size_t at, place;
    struct chunk *chunk;

    if (!index->count) {
        add_chunk(index, 0);
    }
    at = chunk_for(index, entry.key);
    place = place_in(index->chunks[at], entry.key);
    if (place < index->chunks[at]->count &&
        index->chunks[at]->entries[place].key == entry.key) {
        return false;
    }
    if (index->chunks[at]->count == INDEX_CHUNK) {
        split(index, at, place);
        at = chunk_for(index, entry.key);
        place = place_in(index->chunks[at], entry.key);
    }
    chunk = index->chunks[at];
    memmove(chunk->entries + place + 1, chunk->entries + place,
            (chunk->count - place) * sizeof(entry));
    chunk->entries[place] = entry;
    chunk->count++;
    index->entries++;
    return true;
}

bool index_insert(struct index *index, struct entry entry)
{
    bool is_new;

    pthread_rwlock_wrlock(&index->lock);
    is_new = insert(index, entry);
    pthread_rwlock_unlock(&index->lock);
    return is_new;
}

struct entry *index_find(struct index *index, uint64_t key)
{
    struct chunk *chunk;
    size_t place;

    if (!index->count) {
        return NULL;
    }
    chunk = index->chunks[chunk_for(index, key)];
    place = place_in(chunk, key);
    return place < chunk->count && chunk->entries[place].key == key ?
           &chunk->entries[place] : NULL;
}

static size_t scan(struct index *index, uint64_t from, size_t most,
                   uint64_t *keys)
{
    size_t found = 0, at = index->count ? chunk_for(index, from) : 0;

    for (; at < index->count && found < most; at++) {
        const struct chunk *chunk = index->chunks[at];

        for (size_t i = place_in(chunk, from);
             i < chunk->count && found < most; i++) {
            keys[found++] = chunk->entries[i].key;
        }
    }
    return found;
}

size_t index_scan(struct index *index, uint64_t from, size_t most,
                  uint64_t *keys)
{
    size_t found;

    pthread_rwlock_rdlock(&index->lock);
    found = scan(index, from, most, keys);
    pthread_rwlock_unlock(&index->lock);
    return found;
}

void index_each(struct index *index,
                void (*call)(void *with, struct entry *entry), void *with)
{
    for (size_t at = 0; at < index->count; at++) {
        for (size_t i = 0; i < index->chunks[at]->count; i++) {
            call(with, &index->chunks[at]->entries[i]);
        }
    }
}
