/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: queue pairs come and go; what the controller does about one.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "admin.h"
#include "caller.h"
#include "dma.h"
#include "mode.h"
#include "pairs.h"
#include "queue.h"

#define DEFAULT_ENTRIES 256

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

/*
 * @has: whether the controller may have the ring from now on. One that has
 * neither accepted nor refused it may create it yet.
 */
static int create_ring(struct cintio_queue *q, const char *what,
                       const struct nvme_sqe *sqe, bool *has,
                       struct cintio_error *err)
{
    int ret = cintio_must(q->dev, q, what, sqe, NULL, 0, NULL, err);

    *has = !ret || atomic_load(&q->unanswered);
    return ret;
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
        ret = create_ring(q, "create a completion queue", &cq, &q->has_cq, err);
    }
    if (!ret) {
        ret = create_ring(q, "create a submission queue", &sq, &q->has_sq, err);
    }
    return ret;
}

/* Clears @has once the controller says that it has no such ring. */
static void delete_ring(struct cintio_queue *q, uint8_t opcode, bool *has)
{
    struct nvme_sqe sqe = { .opcode = opcode, .cdw10 = q->id };
    int status = *has ? cintio_command(q->dev, q, &sqe, NULL, 0, NULL, NULL)
                      : 0;

    *has = status && status != NVME_SC_INVALID_QUEUE;
}

/* What was asked about it before, and not answered, may yet be carried out. */
static bool is_gone(struct cintio_queue *q)
{
    if (cintio_is_stale(q)) {
        return true;
    }
    if (atomic_load(&q->unanswered)) {
        return false;
    }
    delete_ring(q, NVME_ADMIN_DELETE_SQ, &q->has_sq);
    if (!q->has_sq) {
        delete_ring(q, NVME_ADMIN_DELETE_CQ, &q->has_cq);
    }
    return !q->has_cq;
}

/*
 * Before memory is given back the controller must not use it any more. A queue
 * that it does not let go of is held, identifier and all, until it does, or is
 * stopped by cintio_reset() or cintio_close(). It is leaving.
 */
static void let_go(struct cintio_queue *q)
{
    struct cintio *dev = q->dev;
    bool gone = is_gone(q);

    pthread_mutex_lock(&dev->tables_lock);
    if (gone) {
        dev->queues[q->id - 1] = NULL;
    }
    atomic_fetch_add(&dev->held, !gone - q->held);
    q->held = !gone;
    q->leaving = false;
    pthread_mutex_unlock(&dev->tables_lock);
    if (gone) {
        cintio_disown(dev, q);
        cintio_queue_free(q);
    }
}

/* From now on it is in the table for its identifier alone. */
static void withdraw(struct cintio_queue *q)
{
    struct cintio *dev = q->dev;

    if (q->irq) {
        dev->ops->notify(dev, q->id, -1, NULL);
    }
    pthread_mutex_lock(&dev->tables_lock);
    q->destroyed = q->leaving = true;
    pthread_mutex_unlock(&dev->tables_lock);
    let_go(q);
}

/* One that was destroyed, from @i on, and that nobody else asks for. */
static struct cintio_queue *next_destroyed(struct cintio *dev, unsigned int *i)
{
    struct cintio_queue *q = NULL;

    pthread_mutex_lock(&dev->tables_lock);
    for (; *i < dev->options.queues && !q; ++*i) {
        q = dev->queues[*i];
        q = q && q->destroyed && !q->leaving ? q : NULL;
    }
    if (q) {
        q->leaving = true;
    }
    pthread_mutex_unlock(&dev->tables_lock);
    return q;
}

void cintio_let_go_of_destroyed(struct cintio *dev)
{
    struct cintio_queue *q;
    unsigned int i = 0;

    while ((q = next_destroyed(dev, &i))) {
        let_go(q);
    }
    /* and of what their commands were given */
    cintio_free_kept(dev);
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
    uint16_t most = cintio_info(dev)->max_entries;

    if (options->entries == 1 || options->entries > most) {
        return cintio_fail(err, -EINVAL, "a queue of %u entries: %s has 2 to "
                           "%u", options->entries, dev->info.address, most);
    }
    if (!options->no_interrupts && dev->vectors < 2) {
        return cintio_fail(err, -ENOTSUP, "%s has %u interrupt vectors; one "
                           "for the admin queue and one for each I/O queue are "
                           "needed, but for those without interrupts",
                           dev->info.address, dev->vectors);
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

    return cintio_must(q->dev, NULL, "tell a queue's policy", &sqe, config,
                       sizeof(*config), NULL, err);
}

/* Whether there is a policy by which it could be slept on. */
static bool may_have_pointer(const struct cintio_queue *q)
{
    return q->irq && (q->info->cint_caps & NVME_CINT_CAP_POINTER);
}

/* @policy: NvmeCintPolicyId. */
static void note_policy(struct cintio_queue *q, uint8_t policy)
{
    q->pointer = may_have_pointer(q) && policy == NVME_CINT_POLICY_POINTER;
}

/* Whose choice it is nobody here knows: it may be an operator's. */
static int learn_policy(struct cintio_queue *q, struct cintio_error *err)
{
    NvmeCintFeature config;
    int ret;

    if (!may_have_pointer(q)) {
        return 0;
    }
    ret = config_of(q, &config, err);
    if (!ret) {
        note_policy(q, config.policy);
    }
    return ret;
}

/*
 * What the controller took is not asked for again: an operator's change behind
 * it is one like any later, of which a queue learns nothing.
 */
static int change_policy(struct cintio_queue *q, uint8_t policy,
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
    ret = cintio_must(q->dev, NULL, "change a queue's policy", &sqe, &config,
                      sizeof(config), NULL, err);
    if (!ret) {
        note_policy(q, policy);
    }
    return ret;
}

static int check_policy(const struct cintio_info *info, unsigned int policy,
                        struct cintio_error *err)
{
    if (policy > CINTIO_POLICY_POINTER) {
        return cintio_fail(err, -EINVAL, "policy %u: %d (own) to %d (pointer) "
                           "are known", policy, CINTIO_POLICY_OWN,
                           CINTIO_POLICY_POINTER);
    }
    if (policy != CINTIO_POLICY_OWN && !info->cint_caps) {
        return cintio_fail(err, -ENOTSUP, "%s has no policies: its device "
                           "needs cint=on", info->address);
    }
    return 0;
}

/* Who would sleep on the pointer and names no policy means the one with it. */
static enum cintio_policy
policy_for(const struct cintio_queue *q,
           const struct cintio_queue_options *options)
{
    bool pointer = q->info->cint_caps & NVME_CINT_CAP_POINTER;

    return options->policy == CINTIO_POLICY_OWN && pointer &&
           options->mode == CINTIO_COALESCED ? CINTIO_POLICY_POINTER
                                             : options->policy;
}

/* An identifier, and the queue's memory; the tables' lock is held. */
static int reserve(struct cintio *dev,
                   const struct cintio_queue_options *options,
                   struct cintio_queue **out, struct cintio_error *err)
{
    uint16_t most = dev->info.max_entries;
    uint16_t usual = most < DEFAULT_ENTRIES ? most : DEFAULT_ENTRIES;
    struct cintio_queue *q;
    int id, ret;

    if (dev->switching) {
        return cintio_fail(err, -EBUSY, "another thread switches the status "
                           "records of %s", dev->info.address);
    }
    id = free_identifier(dev, err);
    if (id < 0) {
        return id;
    }
    ret = cintio_queue_new(dev, id, options->entries ? options->entries : usual,
                           dev->info.max_transfer, &q, err);
    if (ret) {
        return ret;
    }
    q->irq = !options->no_interrupts;
    if (dev->keeps_records) {
        q->record = (NvmeCintRecord *)dev->records->addr + id;
    }
    dev->queues[id - 1] = *out = q;
    return 0;
}

static int set_up(struct cintio_queue *q,
                  const struct cintio_queue_options *options,
                  struct cintio_error *err)
{
    int ret;

    q->eventfd = q->irq ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    ret = q->irq && q->eventfd < 0 ?
        cintio_fail(err, -errno, "eventfd: %s", strerror(errno)) : tell(q, err);
    if (ret) {
        return ret;
    }
    return policy_for(q, options) == CINTIO_POLICY_OWN ?
        learn_policy(q, err) :
        change_policy(q, policy_for(q, options) - 1, err);
}

/* Nobody resets meanwhile. */
static int create(struct cintio *dev,
                  const struct cintio_queue_options *options,
                  struct cintio_queue **out, struct cintio_error *err)
{
    int ret = cintio_check_answers(dev, err);

    if (ret) {
        return ret;
    }
    cintio_let_go_of_destroyed(dev);
    pthread_mutex_lock(&dev->tables_lock);
    ret = reserve(dev, options, out, err);
    pthread_mutex_unlock(&dev->tables_lock);
    if (ret) {
        return ret;
    }
    ret = set_up(*out, options, err);
    if (ret) {
        withdraw(*out);
    }
    return ret;
}

int cintio_queue_create(struct cintio *dev,
                        const struct cintio_queue_options *given,
                        struct cintio_queue **out, struct cintio_error *err)
{
    struct cintio_queue_options options = { 0 };
    struct cintio_queue *q = NULL;
    int ret = given ?
        cintio_take_sized(&options, sizeof(options), CINTIO_QUEUE_OPTIONS_0_1,
                          given, "struct cintio_queue_options", err) : 0;

    if (!ret) {
        ret = check_policy(cintio_info(dev), options.policy, err);
    }
    if (ret) {
        return ret;
    }
    ret = check_options(dev, &options, err);
    if (ret) {
        return ret;
    }
    cintio_enter(dev);
    ret = create(dev, &options, &q, err);
    cintio_leave(dev);
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
    cintio_enter(dev);
    withdraw(q);
    cintio_leave(dev);
}

int cintio_queue_set_policy(struct cintio_queue *q, enum cintio_policy policy,
                            struct cintio_error *err)
{
    struct cintio *dev = q->dev;
    int ret = check_policy(q->info, policy, err);

    if (ret || policy == CINTIO_POLICY_OWN) {
        return ret;
    }
    cintio_enter(dev);
    ret = cintio_check_stale(q, err);
    if (!ret) {
        ret = change_policy(q, policy - 1, err);
    }
    cintio_leave(dev);
    if (!ret && q->mode == CINTIO_COALESCED && !q->pointer) {
        q->mode = CINTIO_INTERRUPT;
    }
    if (!ret) {
        cintio_set_pointer(q);      /* a change of the policy disarms it */
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

void cintio_queue_statistics(const struct cintio_queue *q,
                             struct cintio_statistics *statistics)
{
    struct cintio_statistics now = {
        .outstanding = cintio_outstanding(q), .pushed = q->pushed,
        .completed = q->completed, .errors = q->errors, .overdue = q->late,
        .rings = q->rings, .heads = q->heads, .arms = q->arms,
        .sleeps = q->sleeps, .interrupts = q->interrupts,
        .wakes = atomic_load(&q->wakes),
    };

    now.size = statistics->size ? statistics->size : CINTIO_STATISTICS_0_1;
    now.size = now.size < sizeof(now) ? now.size : sizeof(now);
    memcpy(statistics, &now, now.size);
}
