/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A controller for the examples of the user-space driver, and for "cintio
 * check", so that they run where there is none: what they open is the fake one,
 * in a thread that completes what it is given after a while, not quite in
 * order. In the environment FAKE_THR is cint.thr, FAKE_DISK a file that the
 * disk is read from and written to when it is closed, FAKE_FAIL the number of
 * the command on an I/O queue that fails, and FAKE_ENTRIES_MOST how many a
 * queue may have. With FAKE_TELLS it tells at its end how many interrupts its
 * I/O queues had because they were nearly full.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "fake-nvme.h"

#include "example-device.h"

static FakeNvme *fake;
static struct cintio_ops locked_ops;
static const struct cintio_ops *ops;
static pthread_mutex_t device = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;
static _Atomic bool stop;
static int to_fail;

static void locked_write32(struct cintio *dev, uint32_t offset, uint32_t value)
{
    pthread_mutex_lock(&device);
    ops->write32(dev, offset, value);
    pthread_mutex_unlock(&device);
}

static uint32_t locked_read32(struct cintio *dev, uint32_t offset)
{
    uint32_t value;

    pthread_mutex_lock(&device);
    value = ops->read32(dev, offset);
    pthread_mutex_unlock(&device);
    return value;
}

static void serve(unsigned qid, unsigned random, int64_t now)
{
    FakeCq *cq = &fake->cq[qid];
    unsigned n = fake_inflight(fake, qid);

    if (!cq->size) {
        return;
    }
    fake->now = now;
    if (n && (cq->tail + 1) % cq->size != cq->head) {
        /* an error of the medium that cannot be recovered from */
        fake_complete(fake, qid, random % MIN(n, 16),
                      to_fail && !--to_fail ? 0x281 : 0);
    }
    while (cint_deadline(&cq->engine) != CINT_NO_DEADLINE &&
           cint_deadline(&cq->engine) <= now) {
        fake_deadline(fake, qid);
    }
}

static void *run(void *opaque)
{
    unsigned random = 1;

    (void)opaque;
    while (!atomic_load(&stop)) {
        usleep(20);
        pthread_mutex_lock(&device);
        for (unsigned qid = 1; qid <= FAKE_QUEUES; qid++) {
            random = random * 1103515245 + 12345;
            serve(qid, random >> 16, cintio_now());
        }
        pthread_mutex_unlock(&device);
    }
    return NULL;
}

/* No such file, or the rest of a short one: zeros. */
static void read_disk(void)
{
    const char *path = getenv("FAKE_DISK");
    FILE *file = path ? fopen(path, "r") : NULL;

    if (file) {
        g_assert_cmpuint(fread(fake->disk, 1, FAKE_BLOCKS * FAKE_BLOCK, file),
                         <=, FAKE_BLOCKS * FAKE_BLOCK);
        fclose(file);
    }
}

static void write_disk(void)
{
    const char *path = getenv("FAKE_DISK");
    FILE *file = path ? fopen(path, "w") : NULL;

    if (file) {
        g_assert_cmpuint(fwrite(fake->disk, FAKE_BLOCK, FAKE_BLOCKS, file), ==,
                         FAKE_BLOCKS);
        fclose(file);
    }
}

static void tell(void)
{
    uint64_t pressure = 0;

    for (unsigned qid = 1; qid <= FAKE_QUEUES; qid++) {
        pressure += fake->cq[qid].reasons[NVME_CINT_REASON_PRESSURE];
    }
    printf("cint-metric pressure %" PRIu64 "\n", pressure);
}

int example_open(const char *address, const struct cintio_options *options,
                 struct cintio **dev, struct cintio_error *err)
{
    const char *thr = getenv("FAKE_THR");
    const char *fail = getenv("FAKE_FAIL");
    const char *most = getenv("FAKE_ENTRIES_MOST");
    int ret;

    (void)address;
    fake = fake_new();
    read_disk();
    to_fail = fail ? atoi(fail) : 0;
    if (thr) {
        fake->config.thr = atoi(thr);
    }
    if (most) {
        fake->regs[NVME_REG_CAP / 4] = atoi(most) - 1;
    }
    ret = fake_start(fake, options, err);
    if (ret) {
        return ret;
    }
    ops = fake->dev->ops;
    locked_ops = *ops;
    locked_ops.write32 = locked_write32;
    locked_ops.read32 = locked_read32;
    fake->dev->ops = &locked_ops;
    *dev = fake->dev;
    return -pthread_create(&thread, NULL, run, NULL);
}

void example_close(struct cintio *dev)
{
    (void)dev;
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    write_disk();
    if (getenv("FAKE_TELLS")) {
        tell();
    }
    fake_free(fake);
}
