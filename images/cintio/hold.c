/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tests need of a process that has a controller and does nothing with it,
 * and of another one that takes huge pages when they become free.
 */
#include "tool.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HUGE_SIZE   ((size_t)2 << 20)
#define MAX_PAGES   1024
#define PATTERN     0xa5

/* Reads that are under way, each with a block of its own. */
static int submit(struct cintio *dev, unsigned int depth,
                  struct cintio_error *err)
{
    struct cintio_queue_options how = { .entries = depth + 1 };
    uint32_t size = cintio_info(dev)->block_size;
    struct cintio_io io = { .op = CINTIO_READ, .blocks = 1 };
    struct cintio_queue *q;
    int ret = cintio_queue_create(dev, &how, &q, err);

    if (!ret) {
        ret = cintio_alloc(dev, (size_t)depth * size, &io.mem, err);
    }
    for (unsigned int i = 0; !ret && i < depth; i++) {
        io.lba = i;
        io.buf = (uint8_t *)cintio_mem_addr(io.mem) + i * size;
        ret = cintio_push(q, &io);
    }
    return ret ? ret : cintio_ring(q);
}

/* A child that outlives its parent, with its files or (by fork()) without. */
static void leave_child(enum hold_child kind)
{
    pid_t child = kind == HOLD_FORK ? fork() :
                  kind == HOLD_CLONE ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) :
                  1;

    while (!child) {
        pause();
    }
}

/* Memory that takes the kernel a while to free, after what is mapped later. */
static void take_ballast(size_t mib)
{
    if (mib) {
        (void)!mmap(NULL, mib << 20, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    }
}

int hold(const struct hold_options *o)
{
    struct pollfd asked = { .events = POLLIN };
    struct cintio_error err;
    struct cintio *dev;
    int ret;

    take_ballast(o->ballast_mib);
    ret = cintio_open(o->address, NULL, &dev, &err);
    if (ret) {
        fprintf(stderr, "cintio: %s\n", err.text);
        return 1;
    }
    ret = o->depth ? submit(dev, o->depth, &err) : 0;
    if (ret) {
        fprintf(stderr, "cintio: %s\n", err.text);
        cintio_close(dev);
        return 1;
    }
    leave_child(o->child);
    printf("holds %s\n", o->address);
    fflush(stdout);
    asked.fd = cintio_removal_fd(dev);
    while (poll(&asked, 1, -1) <= 0) {
        continue;
    }
    printf("the kernel asks for %s\n", o->address);
    cintio_close(dev);
    return 0;
}

/* Bytes of pages that were taken that are not what they were made. */
static size_t count_changed(uint8_t *const *pages, unsigned int nr)
{
    size_t changed = 0;

    for (unsigned int i = 0; i < nr; i++) {
        for (size_t at = 0; at < HUGE_SIZE; at++) {
            changed += pages[i][at] != PATTERN;
        }
    }
    return changed;
}

int take_pages(unsigned int ms)
{
    uint64_t end = now_ns() + ms * UINT64_C(1000000);
    static uint8_t *pages[MAX_PAGES];
    unsigned int nr = 0;
    size_t changed;

    while (now_ns() < end) {
        void *page = nr == MAX_PAGES ? MAP_FAILED :
            mmap(NULL, HUGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
                 MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE | 21 << 26, -1, 0);

        if (page == MAP_FAILED) {
            usleep(100);
            continue;
        }
        pages[nr++] = memset(page, PATTERN, HUGE_SIZE);
    }
    changed = count_changed(pages, nr);
    printf("pages=%u changed=%zu\n", nr, changed);
    return changed != 0;
}
