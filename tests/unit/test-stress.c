/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The user-space driver under load, in real time: the controller is a thread
 * of its own, which the driver's writes reach late and in order, and which
 * completes in any order. Four threads verify what they wrote, in all modes,
 * while policies change behind the driver's back, and the controller is reset
 * or keeps status records. They sleep in cintio_complete() or on a group; data
 * is in one piece or two; commands may be overdue, and are aborted then.
 * Nothing depends on how long anything takes. For ThreadSanitizer, too: what
 * shares memory here shares it without that lock.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "fake-nvme.h"

#define WORKERS     FAKE_QUEUES
#define UNITS       64              /* of each worker, a block each */
#define DEPTH       24
#define ROOM        (2 * NVME_PAGE) /* for the data of one command */
#define ABORTED     0x007
#define FAILED      0x281
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

enum {
    RESETS      = 1,
    RECORDS     = 2,
    CHANGES     = 4,
    ELSEWHERE   = 8,                /* sleep on a group, now and then */
    PIECES      = 16,
    LIMITS      = 32,               /* times of commands, and aborts */
};
static unsigned what;               /* of these */

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
                      next(&random_state, 100) ? 0 : FAILED);
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
    uint32_t version;               /* what is written, or is to be read */
    bool write, aborted, unsure;
    /* bytes in the first piece; where either begins in its page */
    unsigned cut, at[2];
} Io;

typedef struct Worker {
    unsigned number;
    enum cintio_policy policy;
    struct cintio_queue *q;
    struct cintio_group *group;
    struct cintio_mem *mem;
    uint64_t random, done, errors, lost, overdue, aborts;
    uint32_t version, versions[UNITS];  /* 0: nobody knows */
    bool busy[UNITS];
    Io ios[DEPTH];
    unsigned idle[DEPTH], nr_idle;
} Worker;

static void *piece(Worker *w, unsigned slot, unsigned n)
{
    return (uint8_t *)w->mem->addr + slot * ROOM + n * NVME_PAGE +
           w->ios[slot].at[n];
}

/* Of a block's data, wherever that is. */
static uint32_t *word(Worker *w, unsigned slot, unsigned i)
{
    unsigned cut = w->ios[slot].cut / 4;

    return (uint32_t *)piece(w, slot, i >= cut) + (i < cut ? i : i - cut);
}

static Io choose(Worker *w, unsigned unit)
{
    bool write = !w->versions[unit] || next(&w->random, 2);
    Io io = {
        .unit = unit, .write = write, .cut = FAKE_BLOCK,
        .version = write ? ++w->version : w->versions[unit],
    };

    if (what & PIECES && next(&w->random, 2)) {
        io.cut = 4 * (1 + next(&w->random, FAKE_BLOCK / 4 - 1));
        io.at[0] = 4 * next(&w->random, (NVME_PAGE - FAKE_BLOCK) / 4);
        io.at[1] = 4 * next(&w->random, (NVME_PAGE - FAKE_BLOCK) / 4);
    }
    return io;
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
    g_assert_cmpint(cintio_group_add(w->group, w->q, NULL, &err), ==, 0);
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
    struct cintio_vec vec[2];
    struct cintio_io command;
    Io *io = &w->ios[slot];

    if (w->busy[unit]) {
        return true;
    }
    *io = choose(w, unit);
    for (unsigned i = 0; i < FAKE_BLOCK / 4; i++) {
        *word(w, slot, i) = io->write ? io->version : 0;
    }
    command = (struct cintio_io) {
        .op = io->write ? CINTIO_WRITE : CINTIO_READ,
        .hints = next(&w->random, 4),
        .lba = w->number * UNITS + unit, .blocks = 1, .mem = w->mem,
        .buf = piece(w, slot, 0), .cookie = slot,
        .timeout_ns = what & LIMITS && !next(&w->random, 4) ?
                      1 + next(&w->random, 4 * LATE_NS) : 0,
    };
    if (io->cut != FAKE_BLOCK) {
        vec[0] = (struct cintio_vec) { w->mem, command.buf, io->cut };
        vec[1] = (struct cintio_vec) { w->mem, piece(w, slot, 1),
                                       FAKE_BLOCK - io->cut };
        command.vec = vec;
        command.nr_vecs = 2;
    }
    if (cintio_push(w->q, &command)) {
        return false;               /* full */
    }
    w->busy[unit] = true;
    w->nr_idle--;
    return true;
}

static void end(Worker *w, const struct cintio_done *done)
{
    Io *io = &w->ios[done->cookie];

    g_assert_true(w->busy[io->unit]);
    w->busy[io->unit] = false;
    w->idle[w->nr_idle++] = done->cookie;
    w->done++;
    g_assert_true(io->unsure || io->aborted == (done->status == ABORTED));
    if (done->status) {
        g_assert_true(done->status == ABORTED || done->status == FAILED);
        w->errors += done->status == FAILED;
        return;                     /* neither written nor read */
    }
    if (io->write) {
        w->versions[io->unit] = io->version;
        return;
    }
    for (unsigned i = 0; i < FAKE_BLOCK / 4; i++) {
        g_assert_cmpuint(*word(w, done->cookie, i), ==, io->version);
    }
}

/* It goes on, or ends by this, whatever it has come to meanwhile. */
static void end_overdue(Worker *w)
{
    uint64_t cookie = cintio_queue_overdue(w->q);
    struct cintio_error err;
    int ret;

    g_assert_cmpuint(cookie, <, DEPTH);
    g_assert_true(w->busy[w->ios[cookie].unit]);
    w->overdue++;
    if (next(&w->random, 2)) {
        ret = cintio_abort(w->q, cookie, &err);
        g_assert_true(ret >= 0 || ret == -ESTALE || ret == -EIO);
        w->ios[cookie].aborted = ret == 1;
        /* a reset that is to come ended the wait for the answer */
        w->ios[cookie].unsure = ret < 0;
        w->aborts += ret == 1;
    }
}

static int wait_and_take(Worker *w, struct cintio_done *done)
{
    unsigned min = next(&w->random, DEPTH + 1);
    struct cintio_error err;
    struct cintio_ready ready;

    if (what & ELSEWHERE && cintio_outstanding(w->q) && next(&w->random, 2)) {
        g_assert_cmpint(cintio_group_wait(w->group, min, &ready, 1,
                                          CINTIO_FOREVER, &err), >=, 0);
        min = 0;
    }
    return cintio_complete(w->q, done, min, 1 + next(&w->random, DEPTH),
                           CINTIO_FOREVER);
}

static void *work(void *opaque)
{
    struct cintio_done done[DEPTH];
    struct cintio_error err;
    Worker *w = opaque;

    g_assert_cmpint(cintio_alloc(fake->dev, DEPTH * ROOM, &w->mem, &err), ==,
                    0);
    begin(w);
    while (w->done < count) {
        unsigned n = next(&w->random, DEPTH + 1);
        int got;

        while (n-- && w->nr_idle && push(w)) {
            continue;
        }
        got = wait_and_take(w, done);
        for (int i = 0; i < got; i++) {
            end(w, &done[i]);
        }
        if (got == -ETIME) {
            end_overdue(w);
        } else if (got < 0) {
            g_assert_true(got == -ESTALE || got == -EIO);
            w->lost += cintio_outstanding(w->q);
            cintio_group_remove(w->group, w->q);
            cintio_queue_destroy(w->q);
            begin(w);
        } else if (!next(&w->random, 50)) {
            cintio_queue_set_mode(w->q, any_mode(w), 20000, &err);
        }
    }
    cintio_group_remove(w->group, w->q);
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

/* Whoever wants to know something of the controller meanwhile, or to speak. */
static void *ask(void *opaque)
{
    struct nvme_sqe identify = {
        .opcode = NVME_ADMIN_IDENTIFY, .cdw10 = NVME_CNS_CONTROLLER,
    };
    const struct cintio_namespace *ns;
    struct cintio_error err;
    uint8_t page[NVME_PAGE];
    Worker *workers = opaque;
    uint64_t state = 78;
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
        cintio_group_wake(workers[next(&state, WORKERS)].group);
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

static void test_load(gconstpointer opaque)
{
    unsigned resets = 0, errors = 0, lost = 0, overdue = 0, aborts = 0;
    pthread_t threads[WORKERS], device_thread, resetter, changer, asker;
    struct cintio_error err;
    Worker *workers = g_new0(Worker, WORKERS);
    uint64_t seed = 1 + g_test_rand_int();

    what = GPOINTER_TO_UINT(opaque);
    count = g_test_slow() ? 250000 : 2000;
    random_state = seed;
    atomic_store(&stop, false);
    atomic_store(&enough, false);
    wire_first = wire_nr = 0;
    fake = fake_new();
    fake->config.thr = 12;
    fake->sgl = fake->aborts = true;
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
        g_assert_cmpint(cintio_group_create(&workers[i].group, &err), ==, 0);
        workers[i].number = i;
        workers[i].policy = i % 2 ? CINTIO_POLICY_POINTER
                                  : CINTIO_POLICY_CINT;
        workers[i].random = seed + i;
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    pthread_create(&asker, NULL, ask, workers);
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
        overdue += workers[i].overdue;
        aborts += workers[i].aborts;
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
    for (unsigned i = 0; i < WORKERS; i++) {
        cintio_group_destroy(workers[i].group);
    }
    g_assert_true(!(what & LIMITS) || (overdue && aborts));
    g_test_message("%u I/Os, %u errors, %u resets, %u lost by them, %u "
                   "overdue, %u aborted", WORKERS * count, errors, resets,
                   lost, overdue, aborts);
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
    g_test_add_data_func("/stress/elsewhere",
                         GUINT_TO_POINTER(ELSEWHERE | PIECES | CHANGES),
                         test_load);
    g_test_add_data_func("/stress/limits",
                         GUINT_TO_POINTER(LIMITS | PIECES | RECORDS),
                         test_load);
    g_test_add_data_func("/stress/all-at-once",
                         GUINT_TO_POINTER(RESETS | CHANGES | ELSEWHERE |
                                          PIECES | LIMITS), test_load);
    return g_test_run();
}
