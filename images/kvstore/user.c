/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "user.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cintio.h"
#include "util.h"

struct user {
    struct drive drive;
    struct cintio *dev;
    /* each lane's, made when it is first needed; the first moves pieces, too */
    struct cintio_queue *queues[LANES_MAX];
};

struct user_lane {
    struct lane lane;
    struct cintio_queue *queue;
    struct page_io ios[DEPTH_MAX];
    struct cintio_done done[DEPTH_MAX];
};

static const enum cintio_mode modes[] = {
    [ENGINE_POLL] = CINTIO_POLL,
    [ENGINE_INTERRUPT] = CINTIO_INTERRUPT,
    [ENGINE_COALESCED] = CINTIO_COALESCED,
};

/* ---- queues ------------------------------------------------------------- */

/* What an interrupt costs beyond what this machine's does. */
static void pay(void *opaque, uint64_t n)
{
    const struct drive_options *options = opaque;
    uint64_t end = util_now() + n * options->irq_cost_ns;

    while (util_now() < end) {
        continue;
    }
}

/*
 * A completion queue that is three quarters full interrupts for that
 * (pressure), whatever the pointer says: of a batch it is less, where the
 * controller has queues as long. Who has no batches needs no more than that.
 */
static uint16_t entries_for(unsigned depth, unsigned most)
{
    unsigned wanted = depth + depth / 3 + 2;

    return wanted < most ? wanted : most;
}

static struct cintio_queue *make_queue(struct user *user, unsigned number)
{
    struct drive_options *options = &user->drive.options;
    const struct cintio_info *info = cintio_info(user->dev);
    struct cintio_queue_options how = {
        .size = sizeof(how), .mode = modes[options->engine],
        .no_interrupts = options->engine == ENGINE_POLL,
        .entries = entries_for(options->depth, info->max_entries),
    };
    struct cintio_queue *queue;
    struct cintio_error err;

    if (number >= info->queues) {
        util_fail("%s: it has %u I/O queue pairs, and each worker needs one; "
                  "valid: kvstore load with at most --workers=%u",
                  user->drive.path, info->queues, info->queues);
    }
    if (cintio_queue_create(user->dev, &how, &queue, &err)) {
        util_fail("%s", err.text);
    }
    if (options->irq_cost_ns) {
        cintio_queue_on_interrupt(queue, pay, options);
    }
    return queue;
}

static struct cintio_queue *queue_of(struct user *user, unsigned number)
{
    if (!user->queues[number]) {
        user->queues[number] = make_queue(user, number);
    }
    return user->queues[number];
}

static _Noreturn void fail(const struct user *user, struct cintio_queue *queue)
{
    const char *why = cintio_queue_error(queue);

    /* some of its sentences name the controller */
    if (strstr(why, user->drive.path)) {
        util_fail("%s", why);
    }
    util_fail("%s: %s", user->drive.path, why);
}

static void push(struct user *user, struct cintio_queue *queue,
                 const struct cintio_io *io)
{
    if (cintio_push(queue, io)) {
        fail(user, queue);
    }
}

/* All that is outstanding; returns how many. */
static unsigned take(struct user *user, struct cintio_queue *queue,
                     struct cintio_done *done)
{
    unsigned wanted = cintio_outstanding(queue), got = 0;

    while (got < wanted) {
        int n = cintio_complete(queue, done + got, wanted - got, wanted - got,
                                CINTIO_FOREVER);

        if (n < 0) {
            fail(user, queue);
        }
        got += n;
    }
    return got;
}

static void check(const struct user *user, const struct cintio_done *done,
                  const char *what, uint64_t at)
{
    if (done->status) {
        util_fail("%s: %s at %" PRIu64 ": the controller says status %03xh",
                  user->drive.path, what, at, done->status);
    }
}

/* ---- pieces ------------------------------------------------------------- */

static void get(struct drive *drive, size_t bytes, struct memory *memory)
{
    struct cintio_error err;
    struct cintio_mem *mem;

    if (cintio_alloc(((struct user *)drive)->dev, bytes, &mem, &err)) {
        util_fail("%s", err.text);
    }
    *memory = (struct memory) { .data = cintio_mem_addr(mem), .of = mem };
}

static void put(struct drive *drive, struct memory *memory)
{
    cintio_free(((struct user *)drive)->dev, memory->of);
}

/* One after the other: what a queue holds at once is the workers' to choose. */
static void move(struct drive *drive, bool is_read, const struct memory *memory,
                 size_t bytes, uint64_t at)
{
    struct user *user = (struct user *)drive;
    const struct cintio_info *info = cintio_info(user->dev);
    struct cintio_queue *queue = queue_of(user, 0);

    if (at > drive->bytes || bytes > drive->bytes - at) {
        util_fail("%s: %s at %" PRIu64 ": its namespace ends at %" PRIu64,
                  drive->path, is_read ? "read" : "write", at, drive->bytes);
    }
    for (size_t done = 0, some; done < bytes; done += some) {
        struct cintio_done end;

        some = bytes - done;
        some = some < info->max_transfer ? some : info->max_transfer;
        push(user, queue, &(struct cintio_io) {
            .op = is_read ? CINTIO_READ : CINTIO_WRITE,
            .lba = (at + done) / info->block_size,
            .blocks = some / info->block_size,
            .mem = memory->of,
            .buf = memory->data + done,
        });
        take(user, queue, &end);
        check(user, &end, is_read ? "read" : "write", at + done);
    }
}

static void settle(struct drive *drive)
{
    struct user *user = (struct user *)drive;
    struct cintio_queue *queue = queue_of(user, 0);
    struct cintio_done end;

    push(user, queue, &(struct cintio_io) { .op = CINTIO_FLUSH });
    take(user, queue, &end);
    check(user, &end, "flush", 0);
}

/* ---- batches ------------------------------------------------------------ */

static struct lane *open_lane(struct drive *drive, unsigned number)
{
    struct user_lane *lane = util_zeroed(1, sizeof(*lane));
    struct user *user = (struct user *)drive;
    unsigned most = cintio_info(user->dev)->max_entries;

    if (drive->options.depth >= most) {
        util_fail("--depth=%u: valid at %s: 1 to %u, an entry less than its "
                  "queues have", drive->options.depth, drive->path, most - 1);
    }
    lane->queue = queue_of(user, number);
    return &lane->lane;
}

/* No kernel marks anything here. */
static uint32_t hints_for(enum hints hints, bool is_last)
{
    switch (hints) {
    case HINTS_URGENT:
        return CINTIO_URGENT;
    case HINTS_BARRIER:
        return is_last ? CINTIO_BARRIER : 0;
    default:
        return 0;
    }
}

static void submit(struct lane *of, const struct page_io *ios, unsigned n)
{
    struct user_lane *lane = (struct user_lane *)of;
    struct user *user = (struct user *)of->drive;
    const struct drive_options *options = &of->drive->options;
    uint32_t block = cintio_info(user->dev)->block_size;

    for (unsigned i = 0; i < n; i++) {
        lane->ios[i] = ios[i];
        push(user, lane->queue, &(struct cintio_io) {
            .op = ios[i].is_read ? CINTIO_READ : CINTIO_WRITE,
            .hints = hints_for(options->hints, i == n - 1),
            .flags = options->sync && !ios[i].is_read ? CINTIO_FUA : 0,
            .lba = ios[i].at / block,
            .blocks = PAGE_BYTES / block,
            .mem = of->memory->of,
            .buf = ios[i].data,
            .cookie = i,
        });
    }
    if (cintio_ring(lane->queue)) {
        fail(user, lane->queue);
    }
}

static void await(struct lane *of)
{
    struct user_lane *lane = (struct user_lane *)of;
    struct user *user = (struct user *)of->drive;
    unsigned n = take(user, lane->queue, lane->done);

    for (unsigned i = 0; i < n; i++) {
        const struct page_io *io = &lane->ios[lane->done[i].cookie];

        check(user, &lane->done[i],
              io->is_read ? "read of a page" : "write of a page", io->at);
    }
}

/* Its queue stays for whoever has that number next. */
static void close_lane(struct lane *of)
{
    free(of);
}

/* ---- the controller ----------------------------------------------------- */

static void close_controller(struct drive *drive)
{
    struct user *user = (struct user *)drive;

    for (unsigned i = 0; i < LANES_MAX; i++) {
        cintio_queue_destroy(user->queues[i]);
    }
    cintio_close(user->dev);
    free(user);
}

struct drive *user_open(const char *address, struct drive_options options)
{
    static const struct drive_engine engine = {
        .get = get, .put = put, .move = move, .settle = settle,
        .close = close_controller, .open_lane = open_lane, .submit = submit,
        .await = await, .close_lane = close_lane,
    };
    struct cintio_options how = { .size = sizeof(how), .queues = LANES_MAX };
    struct user *user = util_zeroed(1, sizeof(*user));
    const struct cintio_info *info;
    struct cintio_error err;

    (void)options;
    user->drive.engine = &engine;
    if (cintio_open(address, &how, &user->dev, &err)) {
        util_fail("%s", err.text);
    }
    info = cintio_info(user->dev);
    if (PAGE_BYTES % info->block_size) {
        util_fail("%s: its blocks have %" PRIu32 " bytes; valid: at most %u",
                  address, info->block_size, PAGE_BYTES);
    }
    user->drive.bytes = info->blocks * info->block_size;
    return &user->drive;
}
