/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cintio: queue pairs come and go; what the controller does about one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "internal.h"

#define DEFAULT_ENTRIES 256

static const char *const policy_names[] = {
    "default", "static", "adaptive", "vic", "cint", "pointer",
};
#define NR_POLICIES (sizeof(policy_names) / sizeof(policy_names[0]))

static struct nvme_sqe create_cq(const struct cintio_queue *q)
{
    return (struct nvme_sqe) {
        .opcode = NVME_ADMIN_CREATE_CQ,
        .prp1 = cintio_iova(q->mem, q->cq),
        .cdw10 = (uint32_t)(q->entries - 1) << 16 | q->id,
        .cdw11 = (q->irq ? (uint32_t)q->id << 16 | NVME_CQ_IEN : 0) |
                 NVME_QUEUE_CONTIGUOUS,
    };
}

static struct nvme_sqe create_sq(const struct cintio_queue *q)
{
    return (struct nvme_sqe) {
        .opcode = NVME_ADMIN_CREATE_SQ,
        .prp1 = cintio_iova(q->mem, q->sq),
        .cdw10 = (uint32_t)(q->entries - 1) << 16 | q->id,
        .cdw11 = (uint32_t)q->id << 16 | NVME_QUEUE_CONTIGUOUS,
    };
}

/* Whether the controller has answered, and so has no such ring any more. */
static bool delete_ring(struct cintio_queue *q, uint8_t opcode)
{
    struct nvme_sqe sqe = { .opcode = opcode, .cdw10 = q->id };

    return cintio_admin_locked(q->dev, &sqe, NULL, 0, NULL, NULL) >= 0;
}

/* Tell the controller; what it has by then is withdraw()'s to take back. */
static int tell(struct cintio_queue *q, struct cintio_error *err)
{
    struct nvme_sqe cq = create_cq(q), sq = create_sq(q);
    int ret = 0;

    if (q->irq) {
        ret = q->dev->ops->notify(q->dev, q->id, q->eventfd, err);
    }
    if (!ret) {
        ret = cintio_must(q->dev, "create a completion queue", &cq, NULL, 0,
                          NULL, err);
        q->has_cq = !ret;
    }
    if (!ret) {
        ret = cintio_must(q->dev, "create a submission queue", &sq, NULL, 0,
                          NULL, err);
        q->has_sq = !ret;
    }
    return ret;
}

/*
 * Before memory is given back the controller must not use it any more. A queue
 * that it does not let go of is kept, identifier and all, for cintio_reset() or
 * cintio_close(), which stop the controller first.
 */
static void withdraw(struct cintio_queue *q)
{
    struct cintio *dev = q->dev;
    bool known = !cintio_is_stale(q);

    dev->queues[q->id - 1] = q;
    q->destroyed = true;
    if (q->irq) {
        dev->ops->notify(dev, q->id, -1, NULL);
    }
    if (known && q->has_sq && !delete_ring(q, NVME_ADMIN_DELETE_SQ)) {
        return;
    }
    if (known && q->has_cq && !delete_ring(q, NVME_ADMIN_DELETE_CQ)) {
        return;
    }
    dev->queues[q->id - 1] = NULL;
    cintio_queue_free(q);
}

static int free_identifier(struct cintio *dev, struct cintio_error *err)
{
    for (int i = 0; i < dev->info.queues; i++) {
        if (!dev->queues[i]) {
            return i + 1;
        }
    }
    return cintio_fail(err, -EBUSY, "%s has %u I/O queue pairs, and all are in "
                       "use", dev->info.address, dev->info.queues);
}

static int check_options(struct cintio *dev,
                         const struct cintio_queue_options *options,
                         struct cintio_error *err)
{
    if (options->entries == 1 || options->entries > dev->info.max_entries) {
        return cintio_fail(err, -EINVAL, "a queue of %u entries: %s has 2 to "
                           "%u", options->entries, dev->info.address,
                           dev->info.max_entries);
    }
    if (options->no_interrupts && (options->mode == CINTIO_INTERRUPT ||
                                   options->mode == CINTIO_COALESCED)) {
        return cintio_fail(err, -EINVAL, "a queue without interrupts cannot "
                           "be slept on");
    }
    return 0;
}

static int config_of(struct cintio_queue *q, NvmeCintFeature *config,
                     struct cintio_error *err)
{
    struct nvme_sqe sqe = {
        .opcode = NVME_ADMIN_GET_FEATURES, .cdw10 = NVME_CINT_FID_CONFIG,
        .cdw11 = q->id,
    };

    return cintio_must(q->dev, "tell a queue's policy", &sqe, config,
                       sizeof(*config), NULL, err);
}

/* Whether the policy knows the pointer: it may be an operator's choice. */
static int learn_policy(struct cintio_queue *q, struct cintio_error *err)
{
    NvmeCintFeature config;
    int ret;

    if (!q->irq || !(q->dev->info.cint_caps & NVME_CINT_CAP_POINTER)) {
        return 0;
    }
    ret = config_of(q, &config, err);
    q->pointer = !ret && config.policy == NVME_CINT_POLICY_POINTER;
    return ret;
}

static int create_locked(struct cintio *dev,
                         const struct cintio_queue_options *options,
                         struct cintio_queue **out, struct cintio_error *err)
{
    uint16_t most = dev->info.max_entries;
    uint16_t entries = most < DEFAULT_ENTRIES ? most : DEFAULT_ENTRIES;
    int id = free_identifier(dev, err);
    struct cintio_queue *q;
    int ret;

    if (id < 0) {
        return id;
    }
    ret = cintio_queue_new(dev, id, options->entries ? options->entries
                                                     : entries, &q, err);
    if (ret) {
        return ret;
    }
    q->irq = !options->no_interrupts;
    if (dev->records) {
        q->record = (NvmeCintRecord *)dev->records->addr + id;
    }
    q->eventfd = q->irq ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    ret = q->irq && q->eventfd < 0 ?
        cintio_fail(err, -errno, "eventfd: %s", strerror(errno)) : tell(q, err);
    if (!ret) {
        ret = learn_policy(q, err);
    }
    if (ret) {
        withdraw(q);
        return ret;
    }
    dev->queues[id - 1] = q;
    *out = q;
    return 0;
}

int cintio_queue_create(struct cintio *dev,
                        const struct cintio_queue_options *given,
                        struct cintio_queue **out, struct cintio_error *err)
{
    struct cintio_queue_options options = { 0 };
    struct cintio_queue *q;
    int ret;

    if (given) {
        options = *given;
    }
    ret = check_options(dev, &options, err);
    if (ret) {
        return ret;
    }
    pthread_mutex_lock(&dev->lock);
    ret = create_locked(dev, &options, &q, err);
    pthread_mutex_unlock(&dev->lock);
    if (ret) {
        return ret;
    }
    ret = cintio_queue_set_mode(q, options.mode, options.sleep_ns, err);
    if (ret) {
        cintio_queue_destroy(q);
        return ret;
    }
    *out = q;
    return 0;
}

void cintio_queue_destroy(struct cintio_queue *q)
{
    struct cintio *dev;

    if (!q) {
        return;
    }
    dev = q->dev;
    pthread_mutex_lock(&dev->lock);
    withdraw(q);
    pthread_mutex_unlock(&dev->lock);
}

static int set_policy_locked(struct cintio_queue *q, unsigned int policy,
                             struct cintio_error *err)
{
    struct nvme_sqe sqe = {
        .opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = NVME_CINT_FID_CONFIG,
        .cdw11 = q->id,
    };
    NvmeCintFeature config;
    int ret = config_of(q, &config, err);

    if (ret) {
        return ret;
    }
    config.policy = policy;
    return cintio_must(q->dev, "change a queue's policy", &sqe, &config,
                       sizeof(config), NULL, err);
}

int cintio_queue_set_policy(struct cintio_queue *q, unsigned int policy,
                            struct cintio_error *err)
{
    struct cintio *dev = q->dev;
    int ret;

    if (!dev->info.cint_caps) {
        return cintio_fail(err, -ENOTSUP, "%s has no policies: its device "
                           "needs cint=on", dev->info.address);
    }
    if (policy >= NR_POLICIES) {
        return cintio_fail(err, -EINVAL, "policy %u: 0 (default) to %zu "
                           "(pointer) are known", policy, NR_POLICIES - 1);
    }
    pthread_mutex_lock(&dev->lock);
    ret = cintio_check_stale(q, err);
    if (!ret) {
        ret = set_policy_locked(q, policy, err);
    }
    if (!ret) {
        ret = learn_policy(q, err);
    }
    pthread_mutex_unlock(&dev->lock);
    if (!ret && q->mode == CINTIO_COALESCED && !q->pointer) {
        q->mode = CINTIO_INTERRUPT;
    }
    return ret;
}

uint16_t cintio_queue_id(const struct cintio_queue *q)
{
    return q->id;
}

const char *cintio_queue_error(const struct cintio_queue *q)
{
    return q->error.text;
}
