/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reads the first 32 blocks of an NVMe controller, eight commands at a time,
 * and sleeps once for each eight. docs/userspace.md goes through it.
 *
 *     cintio bind 0000:00:03.0 && cintio-example 0000:00:03.0
 */
#include <stdio.h>
#include <stdlib.h>

#include <cintio.h>

#define BATCH   8
#define BATCHES 4

static struct cintio_error err;

static void must(int ret)
{
    if (ret < 0) {
        fprintf(stderr, "cintio-example: %s\n", err.text);
        exit(1);
    }
}

static int read_batch(struct cintio_queue *q, struct cintio_mem *mem,
                      uint32_t block_size, uint64_t lba)
{
    struct cintio_done done[BATCH];

    for (unsigned int i = 0; i < BATCH; i++) {
        struct cintio_io io = {
            .op = CINTIO_READ, .lba = lba + i, .blocks = 1, .mem = mem,
            .buf = (char *)cintio_mem_addr(mem) + i * block_size,
            .cookie = lba + i,
        };

        if (cintio_push(q, &io)) {
            return -1;
        }
    }
    /* here the thread sleeps until the eighth is done */
    if (cintio_complete(q, done, BATCH, BATCH, CINTIO_FOREVER) != BATCH) {
        return -1;
    }
    for (unsigned int i = 0; i < BATCH; i++) {
        printf("block %llu: status %x\n", (unsigned long long)done[i].cookie,
               done[i].status);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct cintio_queue_options how = {
        .size = sizeof(how), .mode = CINTIO_COALESCED,
    };
    struct cintio_queue *q;
    struct cintio_mem *mem;
    struct cintio *dev;
    int ret = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: cintio-example ADDRESS\n");
        return 2;
    }
    must(cintio_open(argv[1], NULL, &dev, &err));
    must(cintio_alloc(dev, BATCH * cintio_info(dev)->block_size, &mem, &err));
    must(cintio_queue_create(dev, &how, &q, &err));
    for (uint64_t i = 0; i < BATCHES && !ret; i++) {
        ret = read_batch(q, mem, cintio_info(dev)->block_size, i * BATCH);
    }
    if (ret) {
        fprintf(stderr, "cintio-example: %s\n", cintio_queue_error(q));
    }
    cintio_queue_destroy(q);
    cintio_free(dev, mem);
    cintio_close(dev);
    return ret ? 1 : 0;
}
