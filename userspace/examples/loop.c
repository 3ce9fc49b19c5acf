/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An event loop on epoll, with a timer, a socket and an NVMe queue: a client
 * asks for blocks over the socket and is told of each when it was read. The
 * loop sleeps in one place, and is woken by whichever comes first.
 *
 *     cintio bind 0000:00:03.0 && cintio-example-loop 0000:00:03.0
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cintio.h>

#define REQUESTS    64
#define ROOM        16      /* commands at a time */
#define TICK_NS     1000000

static struct cintio_error err;

static int must(int ret)
{
    if (ret < 0) {
        fprintf(stderr, "cintio-example-loop: %s\n", err.text);
        exit(1);
    }
    return ret;
}

struct loop {
    struct cintio_queue *queue;
    struct cintio_mem *mem;
    uint32_t block_size;
    int epoll, timer, server;
    bool busy[ROOM];
    unsigned int ticks, answered;
};

/* --- the client, a thread here ------------------------------------------- */

static void *ask(void *opaque)
{
    int fd = *(int *)opaque;
    uint64_t lba;

    for (lba = 0; lba < REQUESTS; lba++) {
        if (write(fd, &lba, sizeof(lba)) != sizeof(lba)) {
            return (char *)"the server is gone";
        }
        if (lba % 8 == 7) {
            usleep(2000);
        }
    }
    for (unsigned int i = 0; i < REQUESTS; i++) {
        if (read(fd, &lba, sizeof(lba)) != sizeof(lba)) {
            return (char *)"an answer is missing";
        }
    }
    return NULL;
}

/* --- the loop ------------------------------------------------------------ */

static int room(const struct loop *loop)
{
    for (int i = 0; i < ROOM; i++) {
        if (!loop->busy[i]) {
            return i;
        }
    }
    return -1;
}

/* Requests as long as there is room; the others stay in the socket. */
static void take_requests(struct loop *loop)
{
    uint64_t lba;
    int i;

    while ((i = room(loop)) >= 0 &&
           recv(loop->server, &lba, sizeof(lba), MSG_DONTWAIT) ==
           sizeof(lba)) {
        struct cintio_io io = {
            .op = CINTIO_READ, .lba = lba, .blocks = 1, .mem = loop->mem,
            .buf = (char *)cintio_mem_addr(loop->mem) +
                   i * loop->block_size,
            .cookie = lba << 8 | i,
        };

        if (cintio_push(loop->queue, &io)) {
            fprintf(stderr, "cintio-example-loop: %s\n",
                    cintio_queue_error(loop->queue));
            exit(1);
        }
        loop->busy[i] = true;
    }
}

static void take_completions(struct loop *loop)
{
    struct cintio_done done[ROOM];
    int n = cintio_complete(loop->queue, done, 0, ROOM, 0);

    if (n < 0) {
        fprintf(stderr, "cintio-example-loop: %s\n",
                cintio_queue_error(loop->queue));
        exit(1);
    }
    for (int i = 0; i < n; i++) {
        uint64_t lba = done[i].cookie >> 8;

        loop->busy[done[i].cookie & 0xff] = false;
        if (done[i].status ||
            write(loop->server, &lba, sizeof(lba)) != sizeof(lba)) {
            fprintf(stderr, "cintio-example-loop: block %llu: status %x\n",
                    (unsigned long long)lba, done[i].status);
            exit(1);
        }
        loop->answered++;
    }
}

/* Asked for as many as there are, the queue interrupts once for all of them. */
static void run(struct loop *loop)
{
    struct epoll_event events[4];
    uint64_t count;

    while (loop->answered < REQUESTS) {
        take_requests(loop);
        if (cintio_queue_arm(loop->queue,
                             cintio_outstanding(loop->queue)) == 0) {
            int n = epoll_wait(loop->epoll, events, 4, 1000);

            for (int i = 0; i < n; i++) {
                if (events[i].data.fd == loop->timer &&
                    read(loop->timer, &count, sizeof(count)) > 0) {
                    loop->ticks += count;
                }
            }
        }
        take_completions(loop);
    }
}

static void watch(struct loop *loop, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event)) {
        perror("cintio-example-loop: epoll");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct itimerspec tick = { { 0, TICK_NS }, { 0, TICK_NS } };
    struct cintio_queue_options how = { .mode = CINTIO_INTERRUPT };
    struct loop loop = { 0 };
    struct cintio *dev;
    const char *fault;
    pthread_t client;
    int ends[2];
    void *result;

    if (argc != 2) {
        fprintf(stderr, "usage: cintio-example-loop ADDRESS\n");
        return 2;
    }
    must(cintio_open(argv[1], NULL, &dev, &err));
    loop.block_size = cintio_info(dev)->block_size;
    must(cintio_alloc(dev, ROOM * loop.block_size, &loop.mem, &err));
    must(cintio_queue_create(dev, &how, &loop.queue, &err));
    loop.epoll = epoll_create1(EPOLL_CLOEXEC);
    loop.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop.epoll < 0 || loop.timer < 0 ||
        timerfd_settime(loop.timer, 0, &tick, NULL) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        perror("cintio-example-loop");
        return 1;
    }
    loop.server = ends[0];
    watch(&loop, loop.timer);
    watch(&loop, loop.server);
    watch(&loop, must(cintio_queue_fd(loop.queue)));
    if (pthread_create(&client, NULL, ask, &ends[1])) {
        return 1;
    }
    run(&loop);
    pthread_join(client, &result);
    fault = result;
    printf("%u blocks read, %u ticks of the timer%s%s\n", loop.answered,
           loop.ticks, fault ? ": " : "", fault ? fault : "");
    cintio_queue_destroy(loop.queue);
    cintio_free(dev, loop.mem);
    cintio_close(dev);
    return fault ? 1 : 0;
}
