/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

/* What a page in the cache is: itself, or about to be read or written. */
enum state { FRAME_FREE, FRAME_VALID, FRAME_READ, FRAME_WRITE };

struct frame {
    uint8_t *data;
    uint32_t page;              /* of the region */
    enum state state;
    struct requests waiters;    /* for what it is about to do */
    struct frame *newer, *older;
};

/* ---- lists of requests -------------------------------------------------- */

void requests_add(struct requests *to, struct request *request)
{
    request->next = NULL;
    if (to->first) {
        to->last->next = request;
    } else {
        to->first = request;
    }
    to->last = request;
}

void requests_join(struct requests *to, struct requests *from)
{
    if (!from->first) {
        return;
    }
    if (to->first) {
        to->last->next = from->first;
    } else {
        to->first = from->first;
    }
    to->last = from->last;
    from->first = NULL;
}

struct request *requests_take(struct requests *from)
{
    struct request *request = from->first;

    if (request) {
        from->first = request->next;
    }
    return request;
}

/* ---- the cache ---------------------------------------------------------- */

/* In the ring: worker->recent is the newest, the one after it the oldest. */
static void unlink_frame(struct worker *w, struct frame *f)
{
    if (w->recent == f) {
        w->recent = f->older == f ? NULL : f->older;
    }
    f->newer->older = f->older;
    f->older->newer = f->newer;
}

static void link_newest(struct worker *w, struct frame *f)
{
    if (w->recent) {
        f->older = w->recent;
        f->newer = w->recent->newer;
        f->older->newer = f;
        f->newer->older = f;
    } else {
        f->older = f->newer = f;
    }
    w->recent = f;
}

/* A page's frame; one that is not in the cache takes the oldest one's place. */
static struct frame *frame_for(struct worker *w, uint32_t page)
{
    struct frame *f;

    if (w->frame_of[page]) {
        return &w->frames[w->frame_of[page] - 1];
    }
    f = w->recent->newer;
    if (f->state == FRAME_VALID) {
        w->frame_of[f->page] = 0;
    }
    f->state = FRAME_FREE;
    f->page = page;
    w->frame_of[page] = f - w->frames + 1;
    return f;
}

/* It will be read or written with the next batch. */
static void plan(struct worker *w, struct frame *f, enum state state)
{
    unlink_frame(w, f);
    f->state = state;
    w->batch[w->in_batch++] = f;
}

static void touch(struct worker *w, struct frame *f)
{
    if (f->state == FRAME_VALID) {
        unlink_frame(w, f);
        link_newest(w, f);
    }
}

/* ---- what is asked for -------------------------------------------------- */

static void record_time(struct worker *w, struct request *r)
{
    uint64_t now = util_now();

    if (!r->scan) {
        hist_add(&w->times[r->op], now - r->begin_ns);
        return;
    }
    r->ended_scan = atomic_fetch_sub(&r->scan->left, 1) == 1;
    if (r->ended_scan) {
        hist_add(&w->times[OP_SCAN], now - r->scan->begin_ns);
    }
}

static void complete(struct worker *w, struct request *r)
{
    record_time(w, r);
    if (r->op == OP_INSERT) {
        store_arrived(w->store, r->record);
    }
    requests_add(&w->done[r->client], r);
}

static void verify(struct worker *w, const struct item *item,
                   const struct entry *entry)
{
    enum item_fault fault = item_check(item, w->store->shape.item_bytes,
                                       entry->key, entry->version);

    if (fault == ITEM_GOOD) {
        w->counts.verified++;
    } else {
        store_fault(w->store, w->region, entry->slot, entry->key, fault);
    }
}

static struct item *item_in(const struct worker *w, const struct frame *f,
                            uint32_t slot)
{
    return (struct item *)(f->data + slot % store_slots_in_page(w->store) *
                           w->store->shape.item_bytes);
}

/* The page is there: answer, or change it and write it. */
static void serve(struct worker *w, struct frame *f, struct request *r)
{
    struct item *item = item_in(w, f, r->slot);
    struct entry *entry = index_find(&w->region->index, r->key);
    size_t bytes = w->store->shape.item_bytes;

    if (r->op != OP_INSERT) {
        verify(w, item, entry);
    } else if (!item_is_empty(item, bytes)) {
        store_fault(w->store, w->region, r->slot, r->key, ITEM_KEY);
    }
    if (r->op == OP_READ) {
        complete(w, r);
        return;
    }
    if (r->op != OP_INSERT) {
        entry->version++;
    }
    item_fill(item, bytes, entry->key, entry->version);
    requests_add(&f->waiters, r);
    if (f->state != FRAME_WRITE) {
        plan(w, f, FRAME_WRITE);
    }
}

/* Where a key's item is, or will be. */
static uint32_t slot_for(struct worker *w, const struct request *r)
{
    const struct entry *entry;
    uint32_t slot;

    if (r->op == OP_INSERT) {
        slot = w->region->used++;
        if (!index_insert(&w->region->index,
                          (struct entry) { r->key, slot, 1 })) {
            util_fail("%s: key %016" PRIx64 " is there already",
                      w->store->path, r->key);
        }
        return slot;
    }
    entry = index_find(&w->region->index, r->key);
    if (!entry) {
        util_fail("%s: there is no key %016" PRIx64, w->store->path, r->key);
    }
    return entry->slot;
}

/* Takes a request, which adds at most one I/O to the batch. */
static void admit(struct worker *w, struct request *r)
{
    struct frame *f;

    r->slot = slot_for(w, r);
    f = frame_for(w, r->slot / store_slots_in_page(w->store));
    w->counts.requests++;
    if (f->state == FRAME_VALID || f->state == FRAME_WRITE) {
        w->counts.hits++;
        touch(w, f);
        serve(w, f, r);
        return;
    }
    if (f->state == FRAME_FREE) {
        plan(w, f, FRAME_READ);
    }
    requests_add(&f->waiters, r);
}

/* ---- batches ------------------------------------------------------------ */

static void submit(struct worker *w)
{
    for (unsigned i = 0; i < w->in_batch; i++) {
        const struct frame *f = w->batch[i];
        bool is_read = f->state == FRAME_READ;

        w->ios[i] = (struct page_io) {
            .is_read = is_read,
            .data = f->data,
            .at = (w->region->first_page + f->page) * PAGE_BYTES,
        };
        *(is_read ? &w->counts.reads : &w->counts.writes) += 1;
    }
    lane_submit(w->lane, w->ios, w->in_batch);
    w->counts.batches++;
}

/* The I/O of a page is done; who waited for it goes on. */
static void settle(struct worker *w, struct frame *f)
{
    struct requests waiters = f->waiters;
    bool was_read = f->state == FRAME_READ;
    struct request *r;

    f->waiters.first = NULL;
    f->state = FRAME_VALID;
    link_newest(w, f);
    while ((r = requests_take(&waiters))) {
        if (was_read) {
            serve(w, f, r);
        } else {
            complete(w, r);
        }
    }
}

static void settle_all(struct worker *w)
{
    struct frame *settled[DEPTH_MAX];
    unsigned n = w->in_batch;

    memcpy(settled, w->batch, n * sizeof(*settled));
    w->in_batch = 0;
    for (unsigned i = 0; i < n; i++) {
        settle(w, settled[i]);
    }
}

/* ---- the thread --------------------------------------------------------- */

static void hand_back(struct worker *w)
{
    for (unsigned i = 0; i < w->client_count; i++) {
        struct client *client = &w->clients[i];

        if (!w->done[i].first) {
            continue;
        }
        pthread_mutex_lock(&client->lock);
        requests_join(&client->done, &w->done[i]);
        pthread_cond_signal(&client->some_done);
        pthread_mutex_unlock(&client->lock);
    }
}

/* What has come; waits for something if there is nothing to do. False: stop. */
static bool take_what_came(struct worker *w, struct requests *todo)
{
    bool go_on;

    pthread_mutex_lock(&w->lock);
    while (!w->stop && !w->came.first && !todo->first && !w->in_batch) {
        pthread_cond_wait(&w->some_came, &w->lock);
    }
    requests_join(todo, &w->came);
    go_on = !w->stop;
    pthread_mutex_unlock(&w->lock);
    return go_on;
}

static void *work(void *of)
{
    struct worker *w = of;
    struct requests todo = { 0 };
    struct request *r;

    while (take_what_came(w, &todo)) {
        while (w->in_batch < w->depth && (r = requests_take(&todo))) {
            admit(w, r);
        }
        if (w->in_batch) {
            submit(w);
            hand_back(w);
            lane_await(w->lane);
            settle_all(w);
        }
        if (!w->in_batch) {
            hand_back(w);
        }
    }
    return NULL;
}

static void make_cache(struct worker *w)
{
    drive_get(w->store->drive, (size_t)w->options.cache_pages * PAGE_BYTES,
              &w->memory);
    w->frames = util_zeroed(w->options.cache_pages, sizeof(*w->frames));
    w->frame_of = util_zeroed(w->region->pages + 1, sizeof(*w->frame_of));
    for (unsigned i = 0; i < w->options.cache_pages; i++) {
        w->frames[i].data = w->memory.data + (size_t)i * PAGE_BYTES;
        link_newest(w, &w->frames[i]);
    }
}

static void make_batch(struct worker *w, unsigned number)
{
    w->batch = util_zeroed(w->depth, sizeof(*w->batch));
    w->ios = util_zeroed(w->depth, sizeof(*w->ios));
    w->lane = lane_open(w->store->drive, number, &w->memory);
}

static void begin_thread(struct worker *w)
{
    pthread_attr_t attr;
    cpu_set_t cpus;

    pthread_attr_init(&attr);
    if (w->options.cpu >= 0) {
        CPU_ZERO(&cpus);
        CPU_SET(w->options.cpu, &cpus);
        pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
    }
    if (pthread_create(&w->thread, &attr, work, w)) {
        util_fail("a thread cannot be made");
    }
    pthread_attr_destroy(&attr);
}

void worker_start(struct worker *w, struct store *store, unsigned number,
                  struct worker_options options, struct client *clients,
                  unsigned client_count)
{
    *w = (struct worker) {
        .store = store, .region = &store->regions[number], .options = options,
        .depth = store->drive->options.depth,
        .clients = clients, .client_count = client_count,
    };
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->some_came, NULL);
    w->times = util_zeroed(OPS, sizeof(*w->times));
    w->done = util_zeroed(client_count, sizeof(*w->done));
    make_cache(w);
    make_batch(w, number);
    begin_thread(w);
}

void worker_push(struct worker *w, struct requests *requests)
{
    if (!requests->first) {
        return;
    }
    pthread_mutex_lock(&w->lock);
    requests_join(&w->came, requests);
    pthread_cond_signal(&w->some_came);
    pthread_mutex_unlock(&w->lock);
}

void worker_forget(struct worker *w)
{
    w->counts = (struct counts) { 0 };
    memset(w->times, 0, OPS * sizeof(*w->times));
}

void worker_end(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->some_came);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    lane_close(w->lane);
    drive_put(w->store->drive, &w->memory);
    free(w->frames);
    free(w->frame_of);
    free(w->batch);
    free(w->ios);
    free(w->times);
    free(w->done);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->some_came);
}
