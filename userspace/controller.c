/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: the controller: start, reset, end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin.h"
#include "caller.h"
#include "clock.h"
#include "controller.h"
#include "dma.h"
#include "identify.h"
#include "info.h"
#include "namespace.h"
#include "pairs.h"
#include "queue.h"
#include "regs.h"

#define DEFAULT_QUEUES      8
#define DEFAULT_TIMEOUT_MS  10000

static int wait_ready(struct cintio *dev, bool ready, struct cintio_error *err)
{
    uint64_t end = cintio_now() + dev->options.timeout_ms * UINT64_C(1000000);

    for (;;) {
        bool late = cintio_now() > end; /* before the look: it is the last */
        uint32_t csts = cintio_read32(dev, NVME_REG_CSTS);

        if (csts == NVME_GONE) {
            return cintio_fail(err, -ENODEV, "%s was removed",
                               dev->info.address);
        }
        if (!(csts & NVME_CSTS_RDY) == !ready) {
            return 0;
        }
        if ((csts & NVME_CSTS_CFS) && ready) {
            return cintio_fail(err, -EIO, "%s failed while it was started "
                               "(CSTS.CFS)", dev->info.address);
        }
        if (late) {
            return cintio_fail(err, -ETIMEDOUT, "%s did not %s in %u ms",
                               dev->info.address, ready ? "start" : "stop",
                               dev->options.timeout_ms);
        }
        cintio_nap();
    }
}

/* What fails leaves a controller that may yet write to memory. */
static int disable(struct cintio *dev, struct cintio_error *err)
{
    uint32_t cc = cintio_read32(dev, NVME_REG_CC);
    int ret;

    if (cc != NVME_GONE && (cc & NVME_CC_EN)) {
        cintio_write32(dev, NVME_REG_CC, cc & ~NVME_CC_EN);
    }
    ret = wait_ready(dev, false, err);
    atomic_store(&dev->running, ret != 0);
    return ret;
}

/*
 * So that what it has in caches, of data and its own, is on the medium. It is
 * not waited for for longer than a reset; whatever it says, it is stopped next.
 */
static void notify_shutdown(struct cintio *dev)
{
    uint64_t end = cintio_now() + dev->options.timeout_ms * UINT64_C(1000000);
    uint32_t cc = cintio_read32(dev, NVME_REG_CC), csts;
    bool late = false;

    if (atomic_load(&dev->running) || cintio_alive(dev, NULL)) {
        return;
    }
    cintio_write32(dev, NVME_REG_CC, (cc & ~NVME_CC_SHN) | NVME_CC_SHN_NORMAL);
    for (;;) {
        late = cintio_now() > end;
        csts = cintio_read32(dev, NVME_REG_CSTS);
        if (csts == NVME_GONE || (csts & NVME_CSTS_CFS) || late ||
            (csts & NVME_CSTS_SHST) == NVME_CSTS_SHST_DONE) {
            return;
        }
        cintio_nap();
    }
}

static void write64(struct cintio *dev, uint32_t offset, uint64_t value)
{
    cintio_write32(dev, offset, value);
    cintio_write32(dev, offset + 4, value >> 32);
}

/* With an admin queue of its own; whatever was before is gone. */
static int enable(struct cintio *dev, struct cintio_error *err)
{
    struct cintio_queue *admin = dev->admin;
    uint32_t entries = admin->entries - 1;

    cintio_write32(dev, NVME_REG_AQA, entries << 16 | entries);
    write64(dev, NVME_REG_ASQ, cintio_iova(admin->mem, admin->sq));
    write64(dev, NVME_REG_ACQ, cintio_iova(admin->mem, admin->cq));
    cintio_write32(dev, NVME_REG_CC,
                   NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES);
    return wait_ready(dev, true, err);
}

static int take_options(struct cintio *dev, const struct cintio_options *given,
                        struct cintio_error *err)
{
    struct cintio_options *options = &dev->options;
    int ret = given ?
        cintio_take_sized(options, sizeof(*options), CINTIO_OPTIONS_0_1,
                          given, "struct cintio_options", err) : 0;

    if (ret) {
        return ret;
    }
    if (options->queues > CINTIO_MAX_QUEUES) {
        return cintio_fail(err, -EINVAL, "%u queues: 1 to %u can be asked for",
                           options->queues, CINTIO_MAX_QUEUES);
    }
    options->queues = options->queues ? options->queues : DEFAULT_QUEUES;
    options->timeout_ms = options->timeout_ms ? options->timeout_ms
                                              : DEFAULT_TIMEOUT_MS;
    dev->info.nsid = options->nsid ? options->nsid : 1;
    return 0;
}

static int bring_up(struct cintio *dev, struct cintio_error *err)
{
    int ret = disable(dev, err);

    if (!ret) {
        ret = enable(dev, err);
    }
    if (!ret) {
        ret = cintio_identify(dev, err);
    }
    return ret ? ret : cintio_publish(dev, err);
}

static void init_locks(struct cintio *dev)
{
    pthread_rwlockattr_t attr;

    /* a reset is not kept waiting by those who come later */
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&dev->reset_lock, &attr);
    pthread_rwlockattr_destroy(&attr);
    pthread_mutex_init(&dev->admin_lock, NULL);
    pthread_mutex_init(&dev->tables_lock, NULL);
}

int cintio_start(struct cintio *dev, const char *address,
                 const struct cintio_options *options,
                 struct cintio_error *err)
{
    int ret;

    dev->info.size = sizeof(dev->info);
    snprintf(dev->info.address, sizeof(dev->info.address), "%s", address);
    dev->space = dev->space ? dev->space : dev;
    init_locks(dev);
    ret = take_options(dev, options, err);
    if (!ret) {
        ret = cintio_check_capabilities(dev, err);
    }
    if (ret) {
        return ret;
    }
    dev->queues = calloc(dev->options.queues, sizeof(*dev->queues));
    /* its lists of PRPs are room for data, of two pages each */
    ret = dev->queues ? cintio_queue_new(dev, 0, CINTIO_ADMIN_ENTRIES,
                                         2 * CINTIO_MAX_TRANSFER, &dev->admin,
                                         err)
                      : cintio_fail(err, -ENOMEM, "out of memory");
    return ret ? ret : bring_up(dev, err);
}

int cintio_reset(struct cintio *dev, struct cintio_error *err)
{
    int ret;

    /* then those who wait for an answer leave */
    atomic_fetch_add(&dev->resets, 1);
    pthread_rwlock_wrlock(&dev->reset_lock);
    atomic_fetch_sub(&dev->resets, 1);
    /* what is given back by then is in use until it has stopped */
    atomic_store(&dev->running, true);
    /* first, for whoever is woken looks at it */
    atomic_fetch_add(&dev->generation, 1);
    for (unsigned int i = 0; i < dev->options.queues; i++) {
        /* it keeps its identifier, whose doorbells its owner may yet write */
        if (dev->queues[i]) {
            cintio_queue_wake(dev->queues[i]);
        }
    }
    ret = disable(dev, err);
    if (!ret) {
        cintio_let_go_of_destroyed(dev);
        dev->keeps_records = false;
        cintio_admin_empty(dev);
        ret = bring_up(dev, err);
    }
    pthread_rwlock_unlock(&dev->reset_lock);
    return ret;
}

void cintio_close(struct cintio *dev)
{
    if (!dev) {
        return;
    }
    if (dev->admin && !dev->inherited) {
        notify_shutdown(dev);
        /* nothing may write to memory that is about to be somebody else's */
        disable(dev, NULL);
    }
    if (dev->admin) {
        cintio_queue_free(dev->admin);
    }
    for (unsigned int i = 0; dev->queues && i < dev->options.queues; i++) {
        if (dev->queues[i]) {
            cintio_queue_free(dev->queues[i]);
        }
    }
    cintio_free_ring(dev, dev->records);
    free(dev->queues);
    cintio_forget_info(dev);
    cintio_forget_namespaces(dev);
    dev->ops->close(dev);   /* which ends what the controller does, at last */
    atomic_store(&dev->running, false);
    atomic_store(&dev->held, 0);
    cintio_free_kept(dev);
    if (dev->ops->release) {
        dev->ops->release(dev);
    }
    pthread_rwlock_destroy(&dev->reset_lock);
    pthread_mutex_destroy(&dev->admin_lock);
    pthread_mutex_destroy(&dev->tables_lock);
    free(dev);
}

int cintio_removal_fd(const struct cintio *dev)
{
    return dev->removal;
}
