/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workers: each is a thread that has its keys, their part of the file, a page
 * cache and a queue to itself. It takes what clients ask for, submits the reads
 * and writes of pages that this needs in one batch, and waits for all of it.
 */
#ifndef KVSTORE_WORKER_H
#define KVSTORE_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "hist.h"
#include "mix.h"
#include "store.h"

/* Several reads that end together, maybe of several workers' keys. */
struct scan {
    atomic_uint left;
    uint64_t begin_ns;
    struct scan *next;
};

/* Belongs to a client, but to the worker from worker_push() to the end. */
struct request {
    struct request *next;
    enum op op;                 /* never OP_SCAN */
    unsigned client;
    uint64_t key;
    uint64_t record;            /* of OP_INSERT */
    uint32_t slot;              /* the worker's */
    uint64_t begin_ns;
    struct scan *scan;          /* this read is a part of it */
    bool ended_scan;            /* ... and was the last */
};

/* In the order in which they were put in. */
struct requests {
    struct request *first, *last;
};

void requests_add(struct requests *to, struct request *request);
void requests_join(struct requests *to, struct requests *from);
struct request *requests_take(struct requests *from);

/* Where a client waits for what it asked for. */
struct client {
    pthread_mutex_t lock;
    pthread_cond_t some_done;
    struct requests done;
};

struct counts {
    uint64_t verified;          /* items read and found good */
    uint64_t reads, writes;     /* pages */
    uint64_t hits;              /* requests whose page was in the cache */
    uint64_t requests;
    uint64_t batches;
};

struct worker_options {
    unsigned cache_pages;       /* of each worker, more than a batch has */
    int cpu;                    /* that it may run on; -1: any */
};

struct frame;

struct worker {
    struct store *store;
    struct region *region;
    struct worker_options options;
    unsigned depth;             /* most I/Os of a batch */
    struct client *clients;
    unsigned client_count;
    pthread_t thread;

    pthread_mutex_t lock;       /* of these three */
    pthread_cond_t some_came;
    struct requests came;
    bool stop;

    /* the worker's own; others read them while it has nothing to do */
    struct counts counts;
    struct hist *times;         /* by op; OPS of them */
    struct requests *done;      /* by client, not yet handed back */
    struct frame *frames;
    struct frame *recent;       /* the ring of those without I/O to come */
    uint32_t *frame_of;         /* by page: number + 1, or 0 */
    struct frame **batch;
    unsigned in_batch;
    struct page_io *ios;
    struct memory memory;       /* of all frames */
    struct lane *lane;
};

/* Starts it. @clients and the store stay where they are until it has ended. */
void worker_start(struct worker *worker, struct store *store, unsigned number,
                  struct worker_options options, struct client *clients,
                  unsigned client_count);

/* Any thread's: the requests are the worker's now. */
void worker_push(struct worker *worker, struct requests *requests);

/* While nothing is under way: what was counted begins anew. */
void worker_forget(struct worker *worker);

/* While nothing is under way. */
void worker_end(struct worker *worker);

#endif
