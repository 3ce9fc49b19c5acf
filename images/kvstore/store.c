/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "util.h"

#define MAGIC 0x31766b2d746e6963ull     /* "cint-kv1" */
#define PIECE_PAGES 256u
#define FAULTS_SAID 10

/* The first page; zeros follow. */
struct head {
    uint64_t sum;               /* of all that follows in the page */
    uint64_t magic;
    struct shape shape;
};

uint64_t store_key(uint64_t record)
{
    return hash_mix(record + 1);
}

/* The low bits: keys that follow each other have different ones. */
unsigned store_worker(const struct store *store, uint64_t key)
{
    return key % store->shape.workers;
}

uint64_t store_place(const struct store *store, const struct region *region,
                     uint32_t slot)
{
    uint32_t in_page = store_slots_in_page(store);

    return (region->first_page + slot / in_page) * PAGE_BYTES +
           slot % in_page * store->shape.item_bytes;
}

void store_fault(struct store *store, const struct region *region,
                 uint32_t slot, uint64_t key, enum item_fault fault)
{
    if (atomic_fetch_add(&store->faults, 1) >= FAULTS_SAID) {
        return;
    }
    fprintf(stderr, "kvstore: %s: key %016" PRIx64 ", %" PRIu32 " bytes at %"
            PRIu64 ": %s\n", store->path, key, store->shape.item_bytes,
            store_place(store, region, slot), item_fault_text(fault));
}

void store_arrived(struct store *store, uint64_t record)
{
    uint64_t end = store->shape.records + store->shape.reserve;
    uint64_t there;

    pthread_mutex_lock(&store->there_lock);
    store->arrived[record - store->shape.records] = true;
    there = atomic_load(&store->there);
    while (there < end && store->arrived[there - store->shape.records]) {
        there++;
    }
    atomic_store(&store->there, there);
    pthread_mutex_unlock(&store->there_lock);
}

/* ---- its shape ---------------------------------------------------------- */

/* Each region has room for the keys that are its worker's, of all records. */
static void lay_out(struct store *store)
{
    uint64_t all = store->shape.records + store->shape.reserve, page = 1;
    uint32_t in_page = store_slots_in_page(store);

    for (uint64_t i = 0; i < all; i++) {
        store->regions[store_worker(store, store_key(i))].slots++;
    }
    for (unsigned i = 0; i < store->shape.workers; i++) {
        struct region *region = &store->regions[i];

        region->first_page = page;
        region->pages = (region->slots + in_page - 1) / in_page;
        page += region->pages;
        index_init(&region->index);
    }
    store->arrived = util_zeroed(store->shape.reserve + 1,
                                 sizeof(*store->arrived));
}

static void begin(struct store *store, const char *path,
                  struct drive_options options, bool create)
{
    *store = (struct store) { .path = path };
    pthread_mutex_init(&store->there_lock, NULL);
    store->drive = drive_open(path, options, create);
}

/* A file has as many bytes as are written. */
static void check_room(const struct store *store, const char *what)
{
    const struct region *last = &store->regions[store->shape.workers - 1];
    uint64_t bytes = (last->first_page + last->pages) * PAGE_BYTES;

    if (store->drive->bytes && bytes > store->drive->bytes) {
        util_fail("%s: the store %s %" PRIu64 " bytes, and the namespace has %"
                  PRIu64 "; valid: kvstore load with fewer --records, or a "
                  "smaller --reserve or --item-size", store->path, what, bytes,
                  store->drive->bytes);
    }
}

void store_close(struct store *store)
{
    for (unsigned i = 0; i < store->shape.workers; i++) {
        index_free(&store->regions[i].index);
    }
    free(store->arrived);
    pthread_mutex_destroy(&store->there_lock);
    drive_close(store->drive);
}

/* ---- pieces of the file ------------------------------------------------- */

static uint64_t head_sum(const struct head *head)
{
    return hash_bytes(&head->magic, PAGE_BYTES - sizeof(head->sum), MAGIC);
}

static void write_head(struct store *store)
{
    struct memory memory;
    struct head *head;

    drive_get(store->drive, PAGE_BYTES, &memory);
    head = (struct head *)memory.data;
    head->magic = MAGIC;
    head->shape = store->shape;
    head->sum = head_sum(head);
    drive_write(store->drive, &memory, PAGE_BYTES, 0);
    drive_put(store->drive, &memory);
}

static void read_head(struct store *store)
{
    struct memory memory;
    const struct head *head;

    drive_get(store->drive, PAGE_BYTES, &memory);
    head = (struct head *)memory.data;
    drive_read(store->drive, &memory, PAGE_BYTES, 0);
    if (head->magic != MAGIC || head->sum != head_sum(head)) {
        util_fail("%s: this is no store, or its first page is damaged; "
                  "kvstore load makes one", store->path);
    }
    store->shape = head->shape;
    drive_put(store->drive, &memory);
}

/* ---- loading ------------------------------------------------------------ */

/* What is next in a region, and not yet written. */
struct filling {
    struct memory memory;
    uint32_t slot, done_pages;
};

static void flush(struct store *store, const struct region *region,
                  struct filling *to)
{
    uint32_t left = region->pages - to->done_pages;
    uint32_t pages = left < PIECE_PAGES ? left : PIECE_PAGES;

    drive_write(store->drive, &to->memory, (size_t)pages * PAGE_BYTES,
                (region->first_page + to->done_pages) * PAGE_BYTES);
    memset(to->memory.data, 0, PIECE_PAGES * PAGE_BYTES);
    to->done_pages += pages;
}

static void put(struct store *store, struct filling *fillings, uint64_t key)
{
    uint32_t in_piece = PIECE_PAGES * store_slots_in_page(store);
    unsigned worker = store_worker(store, key);
    struct filling *to = &fillings[worker];

    item_fill((struct item *)(to->memory.data + to->slot++ % in_piece *
                              store->shape.item_bytes),
              store->shape.item_bytes, key, 1);
    if (to->slot % in_piece == 0) {
        flush(store, &store->regions[worker], to);
    }
}

void store_load(struct store *store, const char *path, struct shape shape,
                struct drive_options options)
{
    struct filling fillings[WORKERS_MAX] = { 0 };

    begin(store, path, options, true);
    store->shape = shape;
    lay_out(store);
    check_room(store, "would need");
    for (unsigned i = 0; i < shape.workers; i++) {
        drive_get(store->drive, PIECE_PAGES * PAGE_BYTES, &fillings[i].memory);
    }
    for (uint64_t i = 0; i < shape.records; i++) {
        put(store, fillings, store_key(i));
    }
    for (unsigned i = 0; i < shape.workers; i++) {
        /* what is reserved is written, too: as zeros */
        while (fillings[i].done_pages < store->regions[i].pages) {
            flush(store, &store->regions[i], &fillings[i]);
        }
        drive_put(store->drive, &fillings[i].memory);
    }
    write_head(store);
    drive_settle(store->drive);
}

/* ---- reading all -------------------------------------------------------- */

typedef void (*visit)(void *with, uint32_t slot, const struct item *item);

static void each_slot(struct store *store, const struct region *region,
                      visit call, void *with)
{
    uint32_t in_page = store_slots_in_page(store);
    struct memory memory;

    drive_get(store->drive, PIECE_PAGES * PAGE_BYTES, &memory);
    for (uint32_t page = 0; page < region->pages; page += PIECE_PAGES) {
        uint32_t left = region->pages - page;
        uint32_t pages = left < PIECE_PAGES ? left : PIECE_PAGES;

        drive_read(store->drive, &memory, (size_t)pages * PAGE_BYTES,
                   (region->first_page + page) * PAGE_BYTES);
        for (uint32_t i = 0; i < pages * in_page; i++) {
            call(with, page * in_page + i,
                 (const struct item *)(memory.data +
                                       i * store->shape.item_bytes));
        }
    }
    drive_put(store->drive, &memory);
}

struct taking {
    struct store *store;
    unsigned worker;
};

/* An item that was found becomes an entry of the index. */
static void take(void *with, uint32_t slot, const struct item *item)
{
    struct taking *taking = with;
    struct store *store = taking->store;
    struct region *region = &store->regions[taking->worker];
    enum item_fault fault = item_check_any(item, store->shape.item_bytes);
    struct entry entry = { .key = item->key, .slot = slot,
                           .version = item->version };

    if (fault == ITEM_EMPTY) {
        return;
    }
    /* before an item no slot is left out */
    for (; fault == ITEM_GOOD && region->used < slot; region->used++) {
        store_fault(store, region, region->used, 0, ITEM_EMPTY);
    }
    if (fault == ITEM_GOOD && (store_worker(store, item->key) !=
                               taking->worker ||
                               !index_insert(&region->index, entry))) {
        fault = ITEM_KEY;
    }
    if (fault != ITEM_GOOD) {
        store_fault(store, region, slot, item->key, fault);
    }
    region->used += slot == region->used;
}

/* Records are inserted in order of their numbers: all up to one are there. */
static void find_records(struct store *store)
{
    uint64_t end = store->shape.records + store->shape.reserve;
    uint64_t entries = 0, there = 0;

    for (unsigned i = 0; i < store->shape.workers; i++) {
        entries += store->regions[i].index.entries;
    }
    for (uint64_t i = 0; i < end; i++) {
        uint64_t key = store_key(i);
        unsigned worker = store_worker(store, key);

        there += !!index_find(&store->regions[worker].index, key);
        if (there == i) {
            break;
        }
    }
    if (there != entries || there < store->shape.records) {
        util_fail("%s: of its records 0 to %" PRIu64 " number %" PRIu64
                  " is missing; kvstore load makes a new one", store->path,
                  (entries > store->shape.records ? entries :
                   store->shape.records) - 1, there);
    }
    atomic_store(&store->next_record, there);
    atomic_store(&store->there, there);
    for (uint64_t i = store->shape.records; i < there; i++) {
        store->arrived[i - store->shape.records] = true;
    }
}

void store_open(struct store *store, const char *path,
                struct drive_options options)
{
    begin(store, path, options, false);
    read_head(store);
    lay_out(store);
    check_room(store, "has");
    for (unsigned i = 0; i < store->shape.workers; i++) {
        struct taking taking = { .store = store, .worker = i };

        each_slot(store, &store->regions[i], take, &taking);
    }
    if (atomic_load(&store->faults)) {
        util_fail("%s: %llu items are damaged", path,
                  (unsigned long long)atomic_load(&store->faults));
    }
    find_records(store);
}

/* ---- the audit ---------------------------------------------------------- */

/* What a slot has, and whether that is an item. */
struct found {
    uint64_t key, version;
    enum item_fault fault;
};

struct audit {
    struct store *store;
    const struct region *region;
    struct found *slots;
    uint64_t good;
};

static void note(void *with, uint32_t slot, const struct item *item)
{
    struct audit *audit = with;

    audit->slots[slot] = (struct found) {
        .key = item->key, .version = item->version,
        .fault = item_check_any(item, audit->store->shape.item_bytes),
    };
}

static void compare(void *with, struct entry *entry)
{
    struct audit *audit = with;
    const struct found *found = &audit->slots[entry->slot];
    enum item_fault fault = found->fault;

    if (fault == ITEM_GOOD && found->key != entry->key) {
        fault = ITEM_KEY;
    } else if (fault == ITEM_GOOD && found->version != entry->version) {
        fault = ITEM_VERSION;
    }
    if (fault == ITEM_GOOD) {
        audit->good++;
    } else {
        store_fault(audit->store, audit->region, entry->slot, entry->key,
                    fault);
    }
}

uint64_t store_audit(struct store *store)
{
    struct audit audit = { .store = store };

    for (unsigned i = 0; i < store->shape.workers; i++) {
        struct region *region = &store->regions[i];

        audit.region = region;
        audit.slots = util_zeroed((size_t)region->pages *
                                  store_slots_in_page(store),
                                  sizeof(*audit.slots));
        each_slot(store, region, note, &audit);
        index_each(&region->index, compare, &audit);
        free(audit.slots);
    }
    return audit.good;
}
