/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: admin commands, of any number of threads at the same time. Nobody
 * holds a lock while he waits for an answer.
 */
#include <errno.h>
#include <string.h>

#include "admin.h"
#include "caller.h"
#include "clock.h"
#include "dma.h"
#include "queue.h"
#include "reap.h"
#include "regs.h"

#define BOUNCE      (2 * NVME_PAGE)     /* PRP1 and PRP2 */
#define MAX_UNHEARD 2   /* given up in a row: then the controller is silent */

/* A command under way, on the stack of whoever waits for it. */
struct call {
    uint16_t id;
    bool answered;
    struct cintio_done done;
    void *buf;                      /* data, from the bounce buffer */
    size_t len;
};

/*
 * The cookie of an admin command: its call, or with bit 0 set that nobody
 * waits for it any more.
 */
#define GIVEN_UP    1

/* The queue has lists of PRPs, and needs none: a buffer for each command. */
static void *bounce_of(struct cintio *dev, uint16_t id)
{
    return dev->admin->prp_lists + id * cintio_list_size(dev->admin);
}

/* Of one that was given up. */
static void let_owner_go(struct cintio *dev, uint16_t id)
{
    if (dev->owners[id]) {
        atomic_fetch_sub(&dev->owners[id]->unanswered, 1);
    }
    dev->owners[id] = NULL;
}

/* All answers there are, for whoever waits for them. The admin lock is held. */
static void collect(struct cintio *dev)
{
    struct cintio_done done;

    while (cintio_reap(dev->admin, &done, 1)) {
        struct call *call = (struct call *)(uintptr_t)done.cookie;

        dev->unheard = 0;
        if (done.cookie & GIVEN_UP) {
            let_owner_go(dev, done.cookie >> 1);
            continue;
        }
        /* here, for the identifier may be another's from now on */
        if (call->buf) {
            memcpy(call->buf, bounce_of(dev, call->id), call->len);
        }
        call->done = done;
        call->answered = true;
    }
}

/* Whoever wants to reset the controller is waited for by nobody else. */
static int check_reset(struct cintio *dev, struct cintio_error *err)
{
    return !atomic_load(&dev->resets) ? 0 :
        cintio_fail(err, -ESTALE, "%s is being reset by another thread",
                    dev->info.address);
}

/* The admin lock is held. */
static int check_silent(struct cintio *dev, bool silent,
                        struct cintio_error *err)
{
    bool running = atomic_load(&dev->running);
    int ret = check_reset(dev, err);

    if (ret || !(running || silent)) {
        return ret;
    }
    ret = cintio_alive(dev, err);
    return ret ? ret : cintio_fail(err, -EIO, running ?
                                   "%s did not stop when it was reset: reset "
                                   "it again, or close it" :
                                   "%s has stopped to answer admin commands: "
                                   "reset it", dev->info.address);
}

int cintio_check_answers(struct cintio *dev, struct cintio_error *err)
{
    bool silent = false;
    int ret;

    pthread_mutex_lock(&dev->admin_lock);
    collect(dev);
    for (unsigned int i = 0; i < CINTIO_ADMIN_ENTRIES; i++) {
        silent |= dev->owners[i] != NULL;
    }
    ret = check_silent(dev, silent, err);
    pthread_mutex_unlock(&dev->admin_lock);
    return ret;
}

static int submit(struct cintio *dev, const struct nvme_sqe *given,
                  struct call *call, struct cintio_error *err)
{
    struct cintio_queue *admin = dev->admin;
    struct nvme_sqe sqe = *given;
    uint8_t *bounce;
    int ret, id;

    collect(dev);
    ret = check_silent(dev, dev->unheard >= MAX_UNHEARD, err);
    if (ret) {
        return ret;
    }
    id = cintio_take_slot(admin);
    if (id < 0) {
        return cintio_fail(err, -EAGAIN, "%u admin commands of %s are under "
                           "way, and no more can be", CINTIO_ADMIN_ENTRIES - 1,
                           dev->info.address);
    }
    if (call->buf) {
        bounce = bounce_of(dev, id);
        memcpy(bounce, call->buf, call->len);
        sqe.prp1 = cintio_iova(admin->mem, bounce);
        sqe.prp2 = call->len > NVME_PAGE ?
            cintio_iova(admin->mem, bounce + NVME_PAGE) : 0;
    }
    call->id = sqe.cid = id;
    admin->slots[id].cookie = (uintptr_t)call;
    cintio_enqueue(admin, &sqe);
    cintio_ring(admin);
    return 0;
}

static bool is_answered(struct cintio *dev, struct call *call)
{
    bool answered;

    pthread_mutex_lock(&dev->admin_lock);
    collect(dev);
    answered = call->answered;
    pthread_mutex_unlock(&dev->admin_lock);
    return answered;
}

/* False: the answer has come at the last moment. */
static bool give_up(struct cintio *dev, struct call *call,
                    struct cintio_queue *owner)
{
    pthread_mutex_lock(&dev->admin_lock);
    collect(dev);
    if (!call->answered) {
        dev->admin->slots[call->id].cookie = call->id << 1 | GIVEN_UP;
        dev->owners[call->id] = owner;
        dev->unheard++;
        if (owner) {
            atomic_fetch_add(&owner->unanswered, 1);
        }
    }
    pthread_mutex_unlock(&dev->admin_lock);
    return !call->answered;
}

static int wait_for(struct cintio *dev, struct call *call,
                    struct cintio_error *err)
{
    uint64_t end = cintio_now() + dev->options.timeout_ms * UINT64_C(1000000);
    int ret;

    for (;;) {
        if (is_answered(dev, call)) {
            return 0;
        }
        ret = check_reset(dev, err);
        if (!ret) {
            ret = cintio_alive(dev, err);
        }
        if (ret) {
            return ret;
        }
        if (cintio_now() > end) {
            /* who gives up looks once more */
            return cintio_fail(err, -ETIMEDOUT, "%s does not answer: an admin "
                               "command took more than %u ms",
                               dev->info.address, dev->options.timeout_ms);
        }
        cintio_nap();
    }
}

int cintio_command(struct cintio *dev, struct cintio_queue *owner,
                   const struct nvme_sqe *sqe, void *buf, size_t len,
                   uint32_t *result, struct cintio_error *err)
{
    struct call call = { .buf = buf, .len = len };
    int ret;

    if (len > BOUNCE) {
        return cintio_fail(err, -EINVAL, "an admin command moves %u bytes at "
                           "most, not %zu", BOUNCE, len);
    }
    pthread_mutex_lock(&dev->admin_lock);
    ret = submit(dev, sqe, &call, err);
    pthread_mutex_unlock(&dev->admin_lock);
    if (ret) {
        return ret;
    }
    ret = wait_for(dev, &call, err);
    if (ret && give_up(dev, &call, owner)) {
        return ret;
    }
    if (result) {
        *result = call.done.result;
    }
    return call.done.status;
}

int cintio_must(struct cintio *dev, struct cintio_queue *owner,
                const char *what, const struct nvme_sqe *sqe, void *buf,
                size_t len, uint32_t *result, struct cintio_error *err)
{
    int ret = cintio_command(dev, owner, sqe, buf, len, result, err);

    return ret <= 0 ? ret :
        cintio_fail(err, -EIO, "%s refused to %s: status %03xh",
                    dev->info.address, what, ret);
}

int cintio_admin(struct cintio *dev, const void *sqe, void *buf, size_t len,
                 uint32_t *result, struct cintio_error *err)
{
    struct nvme_sqe copy;
    int ret;

    memcpy(&copy, sqe, sizeof(copy));
    cintio_enter(dev);
    ret = cintio_command(dev, NULL, &copy, buf, len, result, err);
    cintio_leave(dev);
    return ret;
}

void cintio_admin_empty(struct cintio *dev)
{
    cintio_queue_empty(dev->admin);
    dev->unheard = 0;
}

void cintio_disown(struct cintio *dev, const struct cintio_queue *owner)
{
    pthread_mutex_lock(&dev->admin_lock);
    for (unsigned int i = 0; i < CINTIO_ADMIN_ENTRIES; i++) {
        if (dev->owners[i] == owner) {
            dev->owners[i] = NULL;
        }
    }
    pthread_mutex_unlock(&dev->admin_lock);
}
