/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <err.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "queue.h"

static void *memory(size_t n, size_t bytes)
{
    void *found = calloc(n, bytes);

    if (!found) {
        err(EXIT_FAILURE, "memory");
    }
    return found;
}

void queue_init(Queue *queue, struct libcint_scope *scope,
                const struct libcint_config *config, const Disk *disk)
{
    size_t bytes = libcint_size(LIBCINT_CMD);
    unsigned i;

    *queue = (Queue) {
        .disk = disk,
        .config = config,
        .scope = scope,
        .cq = memory(1, libcint_size(LIBCINT_CQ)),
        .sq = memory(1, libcint_size(LIBCINT_SQ)),
        .cmds = memory(LARGEST_RING, bytes),
        .request = memory(LARGEST_RING, sizeof(Request)),
        .kick_fd = -1,
        .call_fd = -1,
    };
    for (i = 0; i < LARGEST_RING; i++) {
        queue->request[i].cmd = (struct libcint_cmd *)(queue->cmds + i * bytes);
    }
}

void queue_free(Queue *queue)
{
    free(queue->cq);
    free(queue->sq);
    free(queue->cmds);
    free(queue->request);
}

void queue_start(Queue *queue, int64_t now)
{
    /* A ring may be full of completions; one entry less than these can. */
    libcint_cq_init(queue->cq, queue->scope, queue->ring.size + 1,
                    queue->config);
    libcint_sq_init(queue->sq, queue->cq);
    queue->head = queue->told = 0;
    queue->ring.used_index = queue->ring.used->idx;
    queue->ring.signalled = queue->ring.used_index;
    queue->runs = true;
    queue->more = false;
    queue_run(queue, now);
}

/*
 * Whoever gave the file may have made it one that takes no more until somebody
 * has read, for which nobody else here waits.
 */
static bool call(int fd)
{
    static const uint64_t one = 1;
    struct pollfd file = { .fd = fd, .events = POLLOUT };

    return poll(&file, 1, 0) == 1 && file.revents & POLLOUT &&
           write(fd, &one, sizeof(one)) == sizeof(one);
}

/* What the library wants is sent, if the driver wants it, too. */
static void act(Queue *queue, struct libcint_action action)
{
    if (action.fire == LIBCINT_NONE) {
        return;
    }
    queue->stats.interrupts++;
    queue->stats.reasons[action.reason % NR_REASONS]++;
    queue->told = libcint_tail(queue->cq);
    queue->stats.prompt += queue->fresh;
    queue->fresh = 0;
    if (ring_wants_call(&queue->ring) && call(queue->call_fd)) {
        queue->stats.calls++;
    }
}

static uint32_t more(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0 ? a : b;
}

/*
 * How far the driver has got. With an event index it says so, when it has taken
 * what there was. Without, who sends something has taken what it was told of,
 * or will without another call. Besides, a chain is no longer given back when
 * it is in flight again: there are no more than the ring has descriptors.
 */
static void follow_driver(Queue *queue, int64_t now, bool sends)
{
    uint32_t tail = libcint_tail(queue->cq);
    uint32_t head = more(queue->head,
                         tail + queue->inflight - queue->ring.size);
    int left = ring_unconsumed(&queue->ring);

    if (left < 0 && sends) {
        head = more(head, queue->told);
    } else if (left >= 0 && (uint32_t)left <= tail - head) {
        head = tail - left;
    }
    if (head != queue->head) {
        queue->head = head;
        act(queue, libcint_head(queue->cq, now, head));
    }
}

static void run_timers(Queue *queue, int64_t now)
{
    while (libcint_deadline(queue->cq) <= now) {
        act(queue, libcint_timer(queue->cq, now));
    }
}

static void complete(Queue *queue, Request *request, int64_t now)
{
    uint32_t written;
    bool failed;

    written = disk_do(queue->disk, &request->chain, &failed);
    request->busy = false;
    queue->inflight--;
    ring_push(&queue->ring, request->chain.head, written);
    queue->stats.completions++;
    queue->fresh++;
    act(queue, libcint_complete(queue->sq, request->cmd, now, failed));
}

static void complete_due(Queue *queue, int64_t now)
{
    Request *request;
    bool any = false;

    while (queue->first && queue->first->due <= now &&
           !queue->ring.memory->lost) {
        request = queue->first;
        queue->first = request->next;
        complete(queue, request, now);
        any = true;
    }
    if (any) {
        act(queue, libcint_pass_end(queue->cq, now));
    }
    queue->fresh = 0;
}

static void submit(Queue *queue, Request *request, int64_t now)
{
    struct libcint_command what = {
        .size = sizeof(what),
        .content = disk_is_flush(&request->chain) ? LIBCINT_NOW
                                                  : LIBCINT_PLAIN,
    };
    int64_t earliest;

    request->busy = true;
    request->due = now + queue->disk->latency_ns;
    request->next = NULL;
    if (queue->first) {
        earliest = queue->last->due + queue->disk->apart_ns;
        request->due = request->due < earliest ? earliest : request->due;
        queue->last->next = request;
    } else {
        queue->first = request;
    }
    queue->last = request;
    queue->inflight++;
    libcint_submit(queue->sq, request->cmd, now, &what);
}

/* What one kick, or the look of one pass, finds is a batch. */
static bool fetch(Queue *queue, int64_t now)
{
    Chain chain;
    bool any = false;

    while (ring_pop(&queue->ring, &chain)) {
        Request *request = &queue->request[chain.head];

        if (request->busy) {
            queue->ring.broken = true;
            break;
        }
        request->chain = chain;
        submit(queue, request, now);
        any = true;
    }
    if (any) {
        follow_driver(queue, now, true);
        act(queue, libcint_batch_end(queue->sq, now));
    }
    return any;
}

/*
 * A driver that is as fast as the disk always has one more chain: after some
 * looks it is the turn of the other queues, of the VMM and of standard input.
 */
static bool fetch_all(Queue *queue, int64_t now)
{
    unsigned looks;

    for (looks = 0; looks < MOST_LOOKS; looks++) {
        if (!fetch(queue, now) && ring_rearm(&queue->ring)) {
            return true;
        }
        complete_due(queue, now);
    }
    return false;
}

void queue_run(Queue *queue, int64_t now)
{
    if (!queue->runs) {
        return;
    }
    do {
        follow_driver(queue, now, false);
        run_timers(queue, now);
        complete_due(queue, now);
        queue->more = !fetch_all(queue, now);
    } while (!queue->more && queue_due(queue) <= now);
}

int64_t queue_due(const Queue *queue)
{
    int64_t deadline;

    if (!queue->runs || queue->ring.memory->lost) {
        return LIBCINT_NEVER;
    }
    if (queue->more) {
        return INT64_MIN;
    }
    deadline = libcint_deadline(queue->cq);
    return queue->first && queue->first->due < deadline ? queue->first->due
                                                        : deadline;
}

void queue_stop(Queue *queue, int64_t now, bool drop)
{
    if (!queue->runs) {
        return;
    }
    while (queue->first) {
        Request *request = queue->first;

        queue->first = request->next;
        if (drop || queue->ring.memory->lost) {
            request->busy = false;
            queue->inflight--;
            libcint_cancel(queue->sq, request->cmd, now);
        } else {
            complete(queue, request, now);
        }
    }
    if (!drop) {
        act(queue, libcint_pass_end(queue->cq, now));
        queue_configure(queue, now);
    }
    queue->runs = false;
}

/* What is pending is told of by that. */
void queue_configure(Queue *queue, int64_t now)
{
    if (queue->runs) {
        act(queue, libcint_configure(queue->cq, now, queue->config));
    }
}
