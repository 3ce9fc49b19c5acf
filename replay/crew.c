/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Events go from the thread that reads to the others in blocks, each of which
 * everybody reads. The blocks are a ring: one is filled again when nobody has
 * it any more.
 *
 * POSIX threads, not GLib's: ThreadSanitizer knows what they order.
 */
#include <pthread.h>

#include "crew.h"
#include "error.h"

#define BLOCK_EVENTS    1024
#define NR_BLOCKS       8

typedef struct Item {
    Event event;
    uint64_t line;
} Item;

typedef struct Block {
    unsigned n;
    Item item[BLOCK_EVENTS];
} Block;

typedef struct Crew Crew;

typedef struct Worker {
    pthread_t thread;
    Crew *crew;
    Input in;                   /* for messages */
    Replay *replay;
    uint64_t taken;             /* blocks it is done with */
    bool is_over;               /* it takes no more */
    bool finishes;              /* it took all there was, without a mistake */
    char *error;                /* NULL: none; in line in.line */
} Worker;

struct Crew {
    Input *in;
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    uint64_t given;             /* blocks that are filled */
    bool at_end;                /* there will be no more */
    bool failed;                /* somebody has an error */
    unsigned nr_workers;
    Worker *worker;
    Block *block;               /* NR_BLOCKS */
};

/*
 * Workers
 */

/* The next block to work on, or NULL at the end. */
static const Block *take(Worker *worker)
{
    Crew *crew = worker->crew;
    const Block *block = NULL;

    pthread_mutex_lock(&crew->lock);
    while (worker->taken == crew->given && !crew->at_end) {
        pthread_cond_wait(&crew->filled, &crew->lock);
    }
    if (worker->taken < crew->given) {
        block = &crew->block[worker->taken % NR_BLOCKS];
    }
    worker->finishes = !crew->failed;
    pthread_mutex_unlock(&crew->lock);
    return block;
}

static void give_back(Worker *worker)
{
    Crew *crew = worker->crew;

    pthread_mutex_lock(&crew->lock);
    worker->taken++;
    pthread_cond_signal(&crew->emptied);
    pthread_mutex_unlock(&crew->lock);
}

/* A mistake that this policy finds: others may find one in an earlier line. */
static void worker_failed(const Input *in, char *text)
{
    Worker *worker = in->fail_data;
    Crew *crew = worker->crew;

    pthread_mutex_lock(&crew->lock);
    worker->error = text;
    worker->is_over = true;
    crew->failed = true;
    pthread_cond_signal(&crew->emptied);
    pthread_mutex_unlock(&crew->lock);
    pthread_exit(NULL);
}

static void *work(void *opaque)
{
    Worker *worker = opaque;
    const Block *block;
    Event event;
    unsigned i;

    while ((block = take(worker))) {
        for (i = 0; i < block->n; i++) {
            worker->in.line = block->item[i].line;
            event = block->item[i].event;
            replay_event(worker->replay, &event);
        }
        give_back(worker);
    }
    if (worker->finishes) {
        replay_finish(worker->replay);
    }
    return NULL;
}

/*
 * Who reads
 */

static bool is_taken(const Crew *crew, uint64_t block)
{
    unsigned i;

    for (i = 0; i < crew->nr_workers; i++) {
        if (!crew->worker[i].is_over && crew->worker[i].taken <= block) {
            return false;
        }
    }
    return true;
}

/* Where the next events go; NULL: there was a mistake before them. */
static Block *empty_block(Crew *crew)
{
    Block *block = &crew->block[crew->given % NR_BLOCKS];
    bool failed;

    pthread_mutex_lock(&crew->lock);
    while (crew->given >= NR_BLOCKS &&
           !is_taken(crew, crew->given - NR_BLOCKS)) {
        pthread_cond_wait(&crew->emptied, &crew->lock);
    }
    failed = crew->failed;
    pthread_mutex_unlock(&crew->lock);
    block->n = 0;
    return failed ? NULL : block;
}

static void give(Crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->given++;
    pthread_cond_broadcast(&crew->filled);
    pthread_mutex_unlock(&crew->lock);
}

/* All have done what they were given, or found a mistake in it. */
static void join(Crew *crew)
{
    const Worker *first = NULL;
    unsigned i;

    pthread_mutex_lock(&crew->lock);
    crew->at_end = true;
    pthread_cond_broadcast(&crew->filled);
    pthread_mutex_unlock(&crew->lock);
    for (i = 0; i < crew->nr_workers; i++) {
        const Worker *worker = &crew->worker[i];

        pthread_join(worker->thread, NULL);
        if (worker->error && (!first || worker->in.line < first->in.line)) {
            first = worker;
        }
    }
    if (first) {
        error_text(crew->in->name, first->in.line, first->error);
    }
}

/*
 * A line that is none, or the file cannot be read any further: what stands
 * before is replayed first, and nothing is known of what comes after, by when
 * deadlines run out.
 */
static void reader_failed(const Input *in, char *text)
{
    Crew *crew = in->fail_data;

    pthread_mutex_lock(&crew->lock);
    crew->failed = true;
    pthread_mutex_unlock(&crew->lock);
    give(crew);
    join(crew);
    if (in->is_unreadable) {
        usage_error("%s: %s", in->name, text);
    }
    error_text(in->name, in->line, text);
}

/* False at the end of the input. */
static bool fill(Crew *crew, Block *block, NextEvent *next)
{
    Item *item;

    while (block->n < BLOCK_EVENTS) {
        item = &block->item[block->n];
        if (!next(crew->in, &item->event)) {
            return false;
        }
        item->line = crew->in->line;
        block->n++;
    }
    return true;
}

static void read_all(Crew *crew, NextEvent *next, bool *found)
{
    Block *block;
    bool more = true;

    while (more && (block = empty_block(crew))) {
        more = fill(crew, block, next);
        *found |= block->n;
        give(crew);
    }
}

static void start(Crew *crew, const Setup *setup)
{
    unsigned i, first, end;

    for (i = 0; i < crew->nr_workers; i++) {
        Worker *worker = &crew->worker[i];

        first = setup->nr_arms * i / crew->nr_workers;
        end = setup->nr_arms * (i + 1) / crew->nr_workers;
        worker->crew = crew;
        worker->in.name = crew->in->name;
        worker->in.fail = worker_failed;
        worker->in.fail_data = worker;
        worker->replay = replay_new(setup, &worker->in, first, end - first);
        if (pthread_create(&worker->thread, NULL, work, worker)) {
            usage_error("--threads %u: the system starts no more than %u",
                        setup->threads, i);
        }
    }
}

static Replay *joined(Crew *crew)
{
    Replay *replay = crew->worker[0].replay;
    unsigned i;

    for (i = 1; i < crew->nr_workers; i++) {
        replay_join(replay, crew->worker[i].replay);
    }
    return replay;
}

static Replay *by_several(const Setup *setup, Input *in, unsigned nr_workers,
                          bool *found)
{
    Crew crew = {
        .in = in,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .filled = PTHREAD_COND_INITIALIZER,
        .emptied = PTHREAD_COND_INITIALIZER,
        .nr_workers = nr_workers,
        .worker = g_new0(Worker, nr_workers),
        .block = g_new(Block, NR_BLOCKS),
    };
    Replay *replay;

    in->fail = reader_failed;
    in->fail_data = &crew;
    start(&crew, setup);
    read_all(&crew, setup->next, found);
    join(&crew);
    in->fail = NULL;
    replay = joined(&crew);
    g_free(crew.worker);
    g_free(crew.block);
    return replay;
}

static Replay *by_one(const Setup *setup, Input *in, bool *found)
{
    Replay *replay = replay_new(setup, in, 0, setup->nr_arms);
    Event event;

    while (setup->next(in, &event)) {
        replay_event(replay, &event);
        *found = true;
    }
    replay_finish(replay);
    return replay;
}

Replay *crew_replay(const Setup *setup, Input *in, bool *found)
{
    bool in_order = setup->irqs && setup->nr_arms > 1;
    unsigned nr_workers = in_order ? 1 : MIN(setup->threads, setup->nr_arms);

    *found = false;
    return setup->threads > 1 ? by_several(setup, in, nr_workers, found)
                              : by_one(setup, in, found);
}
