/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "util.h"

#define SECOND 1000000000ull

/* ---- what is asked for -------------------------------------------------- */

static void send(struct injector *in, enum op op, uint64_t key, uint64_t record,
                 uint64_t begin_ns)
{
    struct request *r = requests_take(&in->idle);

    *r = (struct request) {
        .op = op, .client = in->number, .key = key, .record = record,
        .begin_ns = begin_ns, .scan = in->scan,
    };
    in->under_way++;
    requests_add(&in->out[store_worker(in->store, key)], r);
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

    return one < two ? -1 : one > two;
}

/* The first keys from one on: of each worker's as many, of those the first. */
static size_t find_keys(struct injector *in, uint64_t from, size_t most)
{
    static __thread uint64_t all[WORKERS_MAX * SCAN_MAX];
    size_t found = 0;

    for (unsigned i = 0; i < in->store->shape.workers; i++) {
        found += index_scan(&in->store->regions[i].index, from, most,
                            all + found);
    }
    qsort(all, found, sizeof(*all), compare_keys);
    found = found < most ? found : most;
    for (size_t i = 0; i < found; i++) {
        in->keys[i] = all[i];
    }
    return found;
}

static void begin_scan(struct injector *in, uint64_t from, uint64_t begin_ns)
{
    unsigned more = in->options.scan_most - in->options.scan_least;
    size_t most = in->options.scan_least + random_below(&in->random, more + 1);

    in->scan = in->idle_scans;
    in->idle_scans = in->scan->next;
    in->to_send = find_keys(in, from, most);
    in->sent = 0;
    in->scan->begin_ns = begin_ns;
    atomic_store(&in->scan->left, in->to_send);
}

/* Its reads go out as there is room: it may be served in several batches. */
static void go_on_scanning(struct injector *in)
{
    while (in->sent < in->to_send && in->idle.first) {
        send(in, OP_READ, in->keys[in->sent++], 0, in->scan->begin_ns);
    }
    if (in->sent == in->to_send) {
        in->scan = NULL;
    }
}

static uint64_t new_record(struct injector *in)
{
    uint64_t record = atomic_fetch_add(&in->store->next_record, 1);

    if (record >= in->store->shape.records + in->store->shape.reserve) {
        util_fail("%s: no room for another record; valid: fewer --ops, or "
                  "kvstore load with a larger --reserve", in->store->path);
    }
    return record;
}

static uint64_t next_record(struct injector *in)
{
    uint64_t there = atomic_load(&in->store->there);

    if (in->options.uniform) {
        return random_below(&in->random, there);
    }
    return mix_record(in->options.mix, &in->zipf, &in->random, there);
}

static void begin(struct injector *in, uint64_t begin_ns)
{
    enum op op = mix_op(in->options.mix, &in->random);
    uint64_t record;

    in->left--;
    if (op == OP_INSERT) {
        record = new_record(in);
        send(in, op, store_key(record), record, begin_ns);
        return;
    }
    record = next_record(in);
    if (op == OP_SCAN) {
        begin_scan(in, store_key(record), begin_ns);
    } else {
        send(in, op, store_key(record), record, begin_ns);
    }
}

/* ---- when --------------------------------------------------------------- */

/* Arrivals are independent: the times between them are exponential. */
static void set_due(struct injector *in)
{
    in->due_ns += -log(1 - random_unit(&in->random)) / in->options.rate *
                  SECOND;
}

/* Whether another one is to begin, and since when it was to. */
static bool is_due(struct injector *in, uint64_t *begin_ns)
{
    if (!in->left || !in->idle.first) {
        return false;
    }
    *begin_ns = util_now();
    if (!in->options.rate) {
        return true;
    }
    if (*begin_ns < in->due_ns) {
        return false;
    }
    *begin_ns = in->due_ns;
    set_due(in);
    return true;
}

static void send_all(struct injector *in)
{
    uint64_t begin_ns;

    for (;;) {
        if (in->scan) {
            go_on_scanning(in);
        }
        if (in->scan || !is_due(in, &begin_ns)) {
            break;
        }
        begin(in, begin_ns);
    }
    for (unsigned i = 0; i < in->store->shape.workers; i++) {
        worker_push(&in->workers[i], &in->out[i]);
    }
}

/* Sleeps until a request has ended, or the next one is due. */
static void wait_for_some(struct injector *in, struct requests *done)
{
    struct client *client = in->client;
    struct timespec due = {
        .tv_sec = in->due_ns / SECOND, .tv_nsec = in->due_ns % SECOND,
    };
    bool timed = in->options.rate && in->left && in->idle.first && !in->scan;
    int timeout = 0;

    pthread_mutex_lock(&client->lock);
    while (!client->done.first && !timeout) {
        timeout = timed ?
            pthread_cond_timedwait(&client->some_done, &client->lock, &due) :
            pthread_cond_wait(&client->some_done, &client->lock);
    }
    requests_join(done, &client->done);
    pthread_mutex_unlock(&client->lock);
}

static void collect(struct injector *in)
{
    struct requests done = { 0 };
    struct request *r;

    wait_for_some(in, &done);
    while ((r = requests_take(&done))) {
        if (r->ended_scan) {
            r->scan->next = in->idle_scans;
            in->idle_scans = r->scan;
        }
        in->under_way--;
        requests_add(&in->idle, r);
    }
}

static void *inject(void *of)
{
    struct injector *in = of;

    in->due_ns = util_now();
    if (in->options.rate) {
        set_due(in);
    }
    send_all(in);
    while (in->left || in->under_way || in->scan) {
        collect(in);
        send_all(in);
    }
    return NULL;
}

/* ---- its life ----------------------------------------------------------- */

static void client_init(struct client *client)
{
    pthread_condattr_t attr;

    *client = (struct client) { 0 };
    pthread_mutex_init(&client->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&client->some_done, &attr);
    pthread_condattr_destroy(&attr);
}

void injector_init(struct injector *in, struct store *store,
                   struct worker *workers, struct client *client,
                   unsigned number, struct inject_options options)
{
    *in = (struct injector) {
        .store = store, .workers = workers, .client = client, .number = number,
        .options = options,
        .random = { hash_mix(options.seed * INJECTORS_MAX + number + 1) },
    };
    client_init(client);
    zipf_init(&in->zipf, store->shape.records);
    in->pool = util_zeroed(options.inflight, sizeof(*in->pool));
    /* each scan has a request under way, and one may have sent none yet */
    in->scan_pool = util_zeroed(options.inflight + 1, sizeof(*in->scan_pool));
    for (unsigned i = 0; i < options.inflight; i++) {
        requests_add(&in->idle, &in->pool[i]);
    }
    for (unsigned i = 0; i <= options.inflight; i++) {
        in->scan_pool[i].next = in->idle_scans;
        in->idle_scans = &in->scan_pool[i];
    }
}

void injector_start(struct injector *in, uint64_t operations)
{
    in->left = operations;
    if (pthread_create(&in->thread, NULL, inject, in)) {
        util_fail("a thread cannot be made");
    }
}

void injector_join(struct injector *in)
{
    pthread_join(in->thread, NULL);
}

void injector_free(struct injector *in)
{
    free(in->pool);
    free(in->scan_pool);
    pthread_mutex_destroy(&in->client->lock);
    pthread_cond_destroy(&in->client->some_done);
}
