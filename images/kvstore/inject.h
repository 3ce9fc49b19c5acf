/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Injectors: threads that stand for clients. Each has so many requests under
 * way, and sends another when one ends (closed loop), or at times of its own
 * (open loop).
 */
#ifndef KVSTORE_INJECT_H
#define KVSTORE_INJECT_H

#include <pthread.h>
#include <stdbool.h>

#include "mix.h"
#include "worker.h"

#define INJECTORS_MAX 64u
#define SCAN_MAX 1024u

struct inject_options {
    const struct mix *mix;
    bool uniform;               /* each record as often as any, not the mix's */
    unsigned inflight;          /* most requests of each under way */
    unsigned scan_least, scan_most;     /* items, 1 to SCAN_MAX */
    double rate;                /* of each, 1/s; 0: closed loop */
    uint64_t seed;
};

struct injector {
    struct store *store;
    struct worker *workers;
    struct client *client;
    unsigned number;
    struct inject_options options;
    pthread_t thread;

    uint64_t left;              /* operations to begin */
    struct random random;
    struct zipf zipf;
    struct request *pool;
    struct scan *scan_pool;
    struct requests idle;
    unsigned under_way;
    struct scan *idle_scans;
    struct requests out[WORKERS_MAX];   /* made, and not yet pushed */
    uint64_t due_ns;            /* open loop: of the next operation */
    /* the scan that is being sent */
    struct scan *scan;
    uint64_t keys[SCAN_MAX];
    size_t sent, to_send;
};

/* @client is its own and made here. */
void injector_init(struct injector *injector, struct store *store,
                   struct worker *workers, struct client *client,
                   unsigned number, struct inject_options options);

/* So many operations, from the first to the last one's end; in a thread. */
void injector_start(struct injector *injector, uint64_t operations);
void injector_join(struct injector *injector);

void injector_free(struct injector *injector);

#endif
