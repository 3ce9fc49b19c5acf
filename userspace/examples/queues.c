/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One thread, eight queues, on io_uring: the ring waits for the queues' file
 * descriptors. With "group" as a second argument the library's own group does.
 * Each queue reads its blocks four at a time.
 *
 *     cintio bind 0000:00:03.0 && cintio-example-queues 0000:00:03.0
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <liburing.h>

#include <cintio.h>

#define QUEUES  8
#define BATCH   4
#define BLOCKS  64      /* of each queue */
#define SKIP    77

static struct cintio_error err;

struct reader {
    struct cintio_queue *queue;
    struct cintio_mem *mem;
    uint32_t block_size;
    uint64_t first, pushed, read;
    bool waits;             /* the ring, for its fd */
};

static void must(int ret)
{
    if (ret < 0) {
        fprintf(stderr, "cintio-example-queues: %s\n", err.text);
        exit(1);
    }
}

/* Takes what is there, and pushes the next four when all four were read. */
static void go_on(struct reader *r)
{
    struct cintio_done done[BATCH];
    int n = cintio_complete(r->queue, done, 0, BATCH, 0);

    for (int i = 0; i < n; i++) {
        if (done[i].status) {
            fprintf(stderr, "cintio-example-queues: block %llu: status %x\n",
                    (unsigned long long)done[i].cookie, done[i].status);
            exit(1);
        }
    }
    r->read += n > 0 ? n : 0;
    while (n >= 0 && r->pushed < BLOCKS && r->pushed < r->read + BATCH &&
           (r->read % BATCH == 0 || r->pushed % BATCH)) {
        struct cintio_io io = {
            .op = CINTIO_READ, .lba = r->first + r->pushed, .blocks = 1,
            .mem = r->mem, .cookie = r->first + r->pushed,
            .buf = (char *)cintio_mem_addr(r->mem) +
                   r->pushed % BATCH * r->block_size,
        };

        n = cintio_push(r->queue, &io);
        r->pushed += !n;
    }
    if (n < 0) {
        fprintf(stderr, "cintio-example-queues: %s\n",
                cintio_queue_error(r->queue));
        exit(1);
    }
}

static bool is_done(const struct reader *readers)
{
    uint64_t read = 0;

    for (int i = 0; i < QUEUES; i++) {
        read += readers[i].read;
    }
    return read == QUEUES * BLOCKS;
}

/* --- by io_uring --------------------------------------------------------- */

static int run_ring(struct reader *readers)
{
    struct __kernel_timespec second = { .tv_sec = 1 };
    struct io_uring_cqe *cqe;
    struct io_uring ring;
    int ret = io_uring_queue_init(2 * QUEUES, &ring, 0);

    if (ret < 0) {
        fprintf(stderr, "cintio-example-queues: no io_uring: %s\n",
                strerror(-ret));
        return SKIP;
    }
    while (!is_done(readers)) {
        bool sleeps = true;

        for (int i = 0; i < QUEUES; i++) {
            struct reader *r = &readers[i];
            struct io_uring_sqe *sqe;

            go_on(r);
            if (cintio_queue_arm(r->queue, BATCH)) {
                sleeps = false;
            } else if (!r->waits) {
                sqe = io_uring_get_sqe(&ring);
                io_uring_prep_poll_add(sqe, cintio_queue_fd(r->queue), POLLIN);
                io_uring_sqe_set_data(sqe, r);
                r->waits = true;
            }
        }
        if (!sleeps) {
            io_uring_submit(&ring);
        } else if (!is_done(readers)) {
            io_uring_submit_and_wait_timeout(&ring, &cqe, 1, &second, NULL);
        }
        while (!io_uring_peek_cqe(&ring, &cqe)) {
            struct reader *r = io_uring_cqe_get_data(cqe);

            if (r) {
                r->waits = false;
            }
            io_uring_cqe_seen(&ring, cqe);
        }
    }
    io_uring_queue_exit(&ring);
    return 0;
}

/* --- by the library's group ---------------------------------------------- */

static int run_group(struct reader *readers)
{
    struct cintio_ready ready[QUEUES];
    struct cintio_group *group;
    int n;

    must(cintio_group_create(&group, &err));
    for (int i = 0; i < QUEUES; i++) {
        must(cintio_group_add(group, readers[i].queue, &readers[i], &err));
        go_on(&readers[i]);
    }
    while (!is_done(readers)) {
        n = cintio_group_wait(group, BATCH, ready, QUEUES, CINTIO_FOREVER,
                              &err);
        must(n);
        for (int i = 0; i < n; i++) {
            go_on(ready[i].opaque);
        }
    }
    cintio_group_destroy(group);
    return 0;
}

int main(int argc, char **argv)
{
    struct cintio_queue_options how = { .mode = CINTIO_INTERRUPT };
    struct reader readers[QUEUES] = { 0 };
    struct cintio *dev;
    bool group;
    int ret;

    if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "group"))) {
        fprintf(stderr, "usage: cintio-example-queues ADDRESS [group]\n");
        return 2;
    }
    group = argc == 3;
    must(cintio_open(argv[1], NULL, &dev, &err));
    for (int i = 0; i < QUEUES; i++) {
        struct reader *r = &readers[i];

        r->block_size = cintio_info(dev)->block_size;
        r->first = i * BLOCKS;
        must(cintio_alloc(dev, BATCH * r->block_size, &r->mem, &err));
        must(cintio_queue_create(dev, &how, &r->queue, &err));
    }
    ret = group ? run_group(readers) : run_ring(readers);
    if (!ret) {
        printf("%d blocks read by %d queues, one thread\n", QUEUES * BLOCKS,
               QUEUES);
    }
    for (int i = 0; i < QUEUES; i++) {
        cintio_queue_destroy(readers[i].queue);
        cintio_free(dev, readers[i].mem);
    }
    cintio_close(dev);
    return ret;
}
