/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A queue of the disk, and the library, which says when its driver is called.
 */
#ifndef VHOST_BLK_QUEUE_H
#define VHOST_BLK_QUEUE_H

#include <libcint.h>

#include "disk.h"

#define NR_REASONS  32
#define MOST_LOOKS  16          /* for chains, at a time */

typedef struct Stats {
    uint64_t completions;
    uint64_t kicks;
    uint64_t interrupts;        /* that the library asked for */
    uint64_t calls;             /* of them: the driver wanted them, too */
    uint64_t prompt;            /* completions told of in their own pass */
    uint64_t reasons[NR_REASONS];
} Stats;

/* A chain from its being fetched until it is given back. */
typedef struct Request {
    Chain chain;
    bool busy;
    int64_t due;
    struct Request *next;
    struct libcint_cmd *cmd;
} Request;

typedef struct Queue {
    const Disk *disk;
    const struct libcint_config *config;
    struct libcint_scope *scope;
    struct libcint_cq *cq;
    struct libcint_sq *sq;
    char *cmds;                 /* memory of LARGEST_RING commands */
    Request *request;           /* LARGEST_RING, by a chain's head */
    Request *first, *last;      /* in flight, in the order of their times */
    unsigned inflight;
    unsigned fresh;             /* posted in this pass and not told of */
    uint32_t head;              /* completions that the driver has taken */
    uint32_t told;              /* of which the last interrupt told */
    bool runs;
    bool more;                  /* there may be chains that came meanwhile */
    int kick_fd, call_fd;       /* -1: none */
    Ring ring;
    Stats stats;
} Queue;

/*
 * A queue of @disk that goes by @config, in which changes take effect with
 * queue_configure(). Ends the program when there is no memory.
 */
void queue_init(Queue *queue, struct libcint_scope *scope,
                const struct libcint_config *config, const Disk *disk);
void queue_free(Queue *queue);

/* The ring's addresses and size are known: chains may come. */
void queue_start(Queue *queue, int64_t now);

/*
 * No more chains. Those in flight are done and told of, or given up if @drop:
 * nobody is there any more.
 */
void queue_stop(Queue *queue, int64_t now, bool drop);

/* Everything that is to be done at @now: timers, completions, new chains. */
void queue_run(Queue *queue, int64_t now);

/* When there is something to do without a kick, or LIBCINT_NEVER. */
int64_t queue_due(const Queue *queue);

void queue_configure(Queue *queue, int64_t now);

#endif /* VHOST_BLK_QUEUE_H */
