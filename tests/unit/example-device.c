/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A controller for the examples of the user-space driver, so that they run
 * where there is none: what they open is the fake one, in a thread that
 * completes what it is given, in order, after a while.
 */
#include <unistd.h>

#include "fake-nvme.h"

#include "example-device.h"

static FakeNvme *fake;
static struct cintio_ops locked_ops;
static const struct cintio_ops *ops;
static pthread_mutex_t device = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;
static _Atomic bool stop;

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

static void *run(void *opaque)
{
    (void)opaque;
    while (!atomic_load(&stop)) {
        usleep(50);
        pthread_mutex_lock(&device);
        fake->now = cintio_now();
        for (unsigned qid = 1; qid <= FAKE_QUEUES; qid++) {
            fake_complete_some(fake, qid, 1);
        }
        pthread_mutex_unlock(&device);
    }
    return NULL;
}

int example_open(const char *address, const struct cintio_options *options,
                 struct cintio **dev, struct cintio_error *err)
{
    int ret;

    (void)address;
    fake = fake_new();
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
    fake_free(fake);
}
