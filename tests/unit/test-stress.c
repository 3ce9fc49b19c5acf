/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The user-space driver under load, in real time: the controller is a thread
 * of its own, which the driver's writes reach late and in order, and which
 * completes in any order. Four threads verify what they wrote, in all modes,
 * while policies change behind the driver's back, and the controller is reset
 * or keeps status records. Nothing depends on how long anything takes. For
 * ThreadSanitizer, too: what shares memory here shares it without that lock.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "fake-nvme.h"

#define WORKERS     FAKE_QUEUES
#define UNITS       64              /* of each worker, a block each */
#define DEPTH       24
#define LATE_NS     200000          /* a write is under way for, at most */
#define WIRE        1024            /* writes under way, at most */

typedef struct Late {
    uint64_t due;
    uint32_t offset, value;
} Late;

static FakeNvme *fake;
static struct cintio_ops late_ops;
static const struct cintio_ops *ops;
static pthread_mutex_t device = PTHREAD_MUTEX_INITIALIZER;  /* all below */
static Late wire[WIRE];
static unsigned wire_first, wire_nr;
static uint64_t random_state;

static _Atomic bool stop;
static _Atomic bool enough;        /* the device still answers */
static unsigned count;              /* I/Os of each worker */

static unsigned next(uint64_t *state, unsigned below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 16) % below;
}

/* --- the controller ----------------------------------------------------- */

/* A doorbell of a queue that is gone is for nobody. */
static bool is_for_nobody(uint32_t offset)
{
    unsigned qid = offset >= FAKE_POINTERS ? (offset - FAKE_POINTERS) / 4 :
                   (offset - NVME_REG_DOORBELLS) / 8;

    return offset >= NVME_REG_DOORBELLS &&
           (!fake->cq[qid].size || !fake->sq[qid].size);
}

static void deliver(uint64_t now)
{
    while (wire_nr && wire[wire_first].due <= now) {
        Late late = wire[wire_first];

        wire_first = (wire_first + 1) % WIRE;
        wire_nr--;
        if (!is_for_nobody(late.offset)) {
            ops->write32(fake->dev, late.offset, late.value);
        }
    }
}

static void late_write32(struct cintio *dev, uint32_t offset, uint32_t value)
{
    uint64_t due = cintio_now();

    (void)dev;
    pthread_mutex_lock(&device);
    due += next(&random_state, LATE_NS);
    if (wire_nr == WIRE) {
        deliver(UINT64_MAX);
    }
    if (wire_nr) {
        due = MAX(due, wire[(wire_first + wire_nr - 1) % WIRE].due);
    }
    wire[(wire_first + wire_nr++) % WIRE] = (Late) { due, offset, value };
    pthread_mutex_unlock(&device);
}

/* A read is behind all writes. */
static uint32_t late_read32(struct cintio *dev, uint32_t offset)
{
    uint32_t value;

    pthread_mutex_lock(&device);
    deliver(UINT64_MAX);
    value = ops->read32(dev, offset);
    pthread_mutex_unlock(&device);
    return value;
}

static int locked_map(struct cintio *dev, struct cintio_mem *mem,
                      struct cintio_error *err)
{
    int ret;

    pthread_mutex_lock(&device);
    ret = ops->map(dev, mem, err);
    pthread_mutex_unlock(&device);
    return ret;
}

static void locked_unmap(struct cintio *dev, struct cintio_mem *mem)
{
    pthread_mutex_lock(&device);
    ops->unmap(dev, mem);
    pthread_mutex_unlock(&device);
}

static int locked_notify(struct cintio *dev, unsigned int vector, int eventfd,
                         struct cintio_error *err)
{
    int ret;

    pthread_mutex_lock(&device);
    ret = ops->notify(dev, vector, eventfd, err);
    pthread_mutex_unlock(&device);
    return ret;
}

/* Some of what a queue has, in any order, and what has become due. */
static void serve(unsigned qid, uint64_t now)
{
    FakeCq *cq = &fake->cq[qid];
    unsigned n = next(&random_state, 8);

    if (!cq->size) {
        return;
    }
    while (n-- && fake_inflight(fake, qid) &&
           (cq->tail + 1) % cq->size != cq->head) {
        fake_complete(fake, qid,
                      next(&random_state, fake_inflight(fake, qid)),
                      next(&random_state, 100) ? 0 : 0x281);
    }
    while (cint_deadline(&cq->engine) != CINT_NO_DEADLINE &&
           cint_deadline(&cq->engine) <= (int64_t)now) {
        fake_deadline(fake, qid);
    }
}

static void *run_device(void *opaque)
{
    (void)opaque;
    while (!atomic_load(&stop)) {
        uint64_t now = cintio_now();

        pthread_mutex_lock(&device);
        fake->now = now;
        deliver(now);
        for (unsigned qid = 1; qid <= FAKE_QUEUES; qid++) {
            serve(qid, now);
            fake->now = now;
        }
        pthread_mutex_unlock(&device);
        usleep(20);
    }
    return NULL;
}

/* --- workers ------------------------------------------------------------ */

typedef struct Io {
    unsigned unit;
    uint64_t version;               /* what is written, or is to be read */
    bool write;
} Io;

typedef struct Worker {
    unsigned number;
    enum cintio_policy policy;
    struct cintio_queue *q;
    struct cintio_mem *mem;
    uint64_t random, version, done, errors, lost;
    uint64_t versions[UNITS];       /* 0: nobody knows */
    bool busy[UNITS];
    Io ios[DEPTH];
    unsigned idle[DEPTH], nr_idle;
} Worker;

static uint64_t *buffer(Worker *w, unsigned slot)
{
    return (uint64_t *)((uint8_t *)w->mem->addr + slot * FAKE_BLOCK);
}

static enum cintio_mode any_mode(Worker *w)
{
    enum cintio_mode mode = next(&w->random, CINTIO_COALESCED + 1);

    return mode == CINTIO_COALESCED && w->policy != CINTIO_POLICY_POINTER ?
           CINTIO_INTERRUPT : mode;
}

/* Those that were lost may have written, or not. */
static void begin(Worker *w)
{
    struct cintio_queue_options how = {
        .entries = 2 + next(&w->random, FAKE_ENTRIES - 1),
    };
    struct cintio_error err;

    w->nr_idle = 0;
    for (unsigned i = 0; i < DEPTH; i++) {
        w->idle[w->nr_idle++] = i;
    }
    for (unsigned i = 0; i < UNITS; i++) {
        w->versions[i] = w->busy[i] ? 0 : w->versions[i];
        w->busy[i] = false;
    }
    while (cintio_queue_create(fake->dev, &how, &w->q, &err)) {
        usleep(100);
    }
    while (cintio_queue_set_policy(w->q, w->policy, &err) == -EIO) {
        usleep(100);
    }
    if (cintio_queue_set_mode(w->q, any_mode(w), 20000, &err)) {
        cintio_queue_set_mode(w->q, CINTIO_INTERRUPT, 0, &err);
    }
}

static bool push(Worker *w)
{
    unsigned unit = next(&w->random, UNITS), slot = w->idle[w->nr_idle - 1];
    bool write = !w->versions[unit] || next(&w->random, 2);
    Io io = { unit, write ? ++w->version : w->versions[unit], write };
    uint64_t *buf = buffer(w, slot);
    struct cintio_io command;

    if (w->busy[unit]) {
        return true;
    }
    for (unsigned i = 0; i < FAKE_BLOCK / 8; i++) {
        buf[i] = write ? io.version : 0;
    }
    command = (struct cintio_io) {
        .op = write ? CINTIO_WRITE : CINTIO_READ,
        .hints = next(&w->random, 4),
        .lba = w->number * UNITS + unit, .blocks = 1, .mem = w->mem,
        .buf = buf, .cookie = slot,
    };
    if (cintio_push(w->q, &command)) {
        return false;               /* full */
    }
    w->ios[slot] = io;
    w->busy[unit] = true;
    w->nr_idle--;
    return true;
}

static void end(Worker *w, const struct cintio_done *done)
{
    Io *io = &w->ios[done->cookie];
    uint64_t *buf = buffer(w, done->cookie);

    g_assert_true(w->busy[io->unit]);
    w->busy[io->unit] = false;
    w->idle[w->nr_idle++] = done->cookie;
    w->done++;
    if (done->status) {
        g_assert_cmphex(done->status, ==, 0x281);
        w->errors++;
        return;                     /* neither written nor read */
    }
    if (io->write) {
        w->versions[io->unit] = io->version;
        return;
    }
    for (unsigned i = 0; i < FAKE_BLOCK / 8; i++) {
        g_assert_cmpuint(buf[i], ==, io->version);
    }
}

static void *work(void *opaque)
{
    struct cintio_done done[DEPTH];
    struct cintio_error err;
    Worker *w = opaque;

    g_assert_cmpint(cintio_alloc(fake->dev, DEPTH * FAKE_BLOCK, &w->mem, &err),
                    ==, 0);
    begin(w);
    while (w->done < count) {
        unsigned n = next(&w->random, DEPTH + 1);
        int got;

        while (n-- && w->nr_idle && push(w)) {
            continue;
        }
        got = cintio_complete(w->q, done, next(&w->random, DEPTH + 1),
                              1 + next(&w->random, DEPTH), CINTIO_FOREVER);
        for (int i = 0; i < got; i++) {
            end(w, &done[i]);
        }
        if (got < 0) {
            g_assert_true(got == -ESTALE || got == -EIO);
            w->lost += cintio_outstanding(w->q);
            cintio_queue_destroy(w->q);
            begin(w);
        } else if (!next(&w->random, 50)) {
            cintio_queue_set_mode(w->q, any_mode(w), 20000, &err);
        }
    }
    cintio_queue_destroy(w->q);
    cintio_free(fake->dev, w->mem);
    return NULL;
}

/* --- what happens besides ----------------------------------------------- */

static void *reset(void *opaque)
{
    unsigned *resets = opaque;
    struct cintio_error err;

    while (!atomic_load(&stop)) {
        usleep(5000);
        if (atomic_load(&stop)) {
            break;
        }
        g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
        (*resets)++;
    }
    return NULL;
}

/* Whoever wants to know something of the controller meanwhile. */
static void *ask(void *opaque)
{
    struct nvme_sqe identify = {
        .opcode = NVME_ADMIN_IDENTIFY, .cdw10 = NVME_CNS_CONTROLLER,
    };
    const struct cintio_namespace *ns;
    struct cintio_error err;
    uint8_t page[NVME_PAGE];
    unsigned *asked = opaque;
    int ret;

    while (!atomic_load(&enough)) {
        memset(page, 0, sizeof(page));
        ret = cintio_admin(fake->dev, &identify, page, sizeof(page), NULL,
                           &err);
        g_assert_true(!ret || ret == -ESTALE || ret == -EIO);
        g_assert_true(ret || page[24]);         /* the model's name */
        ret = cintio_namespace_open(fake->dev, 1, &ns, &err);
        g_assert_true(!ret || ret == -ESTALE || ret == -EIO);
        g_assert_true(ret || ns->block_size == FAKE_BLOCK);
        (*asked)++;
        usleep(200);
    }
    return NULL;
}

/* The operator, who asks nobody. */
static void *change(void *opaque)
{
    static const CintPolicy policies[] = {
        NVME_CINT_POLICY_DEFAULT, NVME_CINT_POLICY_CINT,
        NVME_CINT_POLICY_ADAPTIVE, NVME_CINT_POLICY_POINTER,
    };
    uint64_t state = 77;

    (void)opaque;
    while (!atomic_load(&stop)) {
        unsigned qid = 1 + next(&state, FAKE_QUEUES);

        usleep(3000);
        pthread_mutex_lock(&device);
        fake_configure(fake, qid, policies[next(&state, 4)]);
        pthread_mutex_unlock(&device);
    }
    return NULL;
}

enum { RESETS = 1, RECORDS = 2, CHANGES = 4 };

static void test_load(gconstpointer opaque)
{
    unsigned what = GPOINTER_TO_UINT(opaque), resets = 0, errors = 0, lost = 0;
    pthread_t threads[WORKERS], device_thread, resetter, changer, asker;
    unsigned asked = 0;
    struct cintio_error err;
    Worker *workers = g_new0(Worker, WORKERS);
    uint64_t seed = 1 + g_test_rand_int();

    count = g_test_slow() ? 250000 : 2000;
    random_state = seed;
    atomic_store(&stop, false);
    atomic_store(&enough, false);
    wire_first = wire_nr = 0;
    fake = fake_new();
    fake->config.thr = 12;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpint(cintio_records(fake->dev, what & RECORDS, &err), ==, 0);
    ops = fake->dev->ops;
    late_ops = *ops;
    late_ops.write32 = late_write32;
    late_ops.read32 = late_read32;
    late_ops.map = locked_map;
    late_ops.unmap = locked_unmap;
    late_ops.notify = locked_notify;
    fake->dev->ops = &late_ops;

    pthread_create(&device_thread, NULL, run_device, NULL);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].number = i;
        workers[i].policy = i % 2 ? CINTIO_POLICY_POINTER
                                  : CINTIO_POLICY_CINT;
        workers[i].random = seed + i;
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    pthread_create(&asker, NULL, ask, &asked);
    if (what & RESETS) {
        pthread_create(&resetter, NULL, reset, &resets);
    }
    if (what & CHANGES) {
        pthread_create(&changer, NULL, change, NULL);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        errors += workers[i].errors;
        lost += workers[i].lost;
    }
    atomic_store(&enough, true);
    pthread_join(asker, NULL);
    atomic_store(&stop, true);
    pthread_join(device_thread, NULL);
    if (what & RESETS) {
        pthread_join(resetter, NULL);
    }
    if (what & CHANGES) {
        pthread_join(changer, NULL);
    }
    g_test_message("%u I/Os, %u errors, %u resets, %u lost by them, asked %u "
                   "times", WORKERS * count, errors, resets, lost, asked);
    fake_free(fake);
    g_free(workers);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/stress/plain", GUINT_TO_POINTER(0), test_load);
    g_test_add_data_func("/stress/changes", GUINT_TO_POINTER(CHANGES),
                         test_load);
    g_test_add_data_func("/stress/records", GUINT_TO_POINTER(RECORDS),
                         test_load);
    g_test_add_data_func("/stress/records-and-changes",
                         GUINT_TO_POINTER(RECORDS | CHANGES), test_load);
    g_test_add_data_func("/stress/resets", GUINT_TO_POINTER(RESETS | CHANGES),
                         test_load);
    return g_test_run();
}
