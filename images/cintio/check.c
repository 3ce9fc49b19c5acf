/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * I/O that is verified: each thread writes its part of the namespace in
 * random order and reads what it wrote, until it has done its count. A block
 * holds its address, how often it was written, and a checksum of both and of
 * what follows.
 */
#include "tool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct head {
    uint64_t lba, version;
    uint32_t crc;
};

struct io {
    uint64_t unit;              /* of the thread's part */
    bool write;
};

struct worker {
    const struct check_options *options;
    struct cintio *dev;
    struct cintio_queue *q;
    struct cintio_mem *mem;
    unsigned int number;
    size_t unit_size;           /* bytes in one I/O */
    uint64_t first, units;      /* blocks; I/Os that fit */
    uint64_t *versions;         /* of each unit, 0 = never written */
    bool *busy;
    bool *lost;                 /* by a reset, while it was written */
    struct io *ios;             /* by cookie */
    unsigned int *idle, nr_idle;
    uint64_t random, issued, ended, errors, longest_ns;
    uint64_t resets;            /* that it had to begin again for */
#ifdef CINTIO_TEST
    struct meddler meddler;
#endif
    int result;
};

#define MAX_TAKEN   64
#define AGAIN_NS    UINT64_C(10000000000)   /* to get a queue after a reset */

static atomic_uint working;     /* threads */

/* --- data --------------------------------------------------------------- */

static uint32_t crc_table[256];

/* CRC-32C, reflected. */
static void make_table(void)
{
    for (unsigned int i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
        }
        crc_table[i] = crc;
    }
}

static uint32_t crc32c(const uint8_t *at, size_t len)
{
    uint32_t crc = UINT32_MAX;

    while (len--) {
        crc = crc >> 8 ^ crc_table[(crc ^ *at++) & 0xff];
    }
    return ~crc;
}

/* Each block by itself, so that a part of an I/O in the wrong place shows. */
static void fill(struct worker *w, uint8_t *at, uint64_t lba, uint64_t version)
{
    uint32_t size = cintio_info(w->dev)->block_size;

    for (uint8_t *end = at + w->unit_size; at < end; at += size, lba++) {
        struct head head = { .lba = lba, .version = version };
        uint64_t random = lba * 2654435761u + version + 1;

        for (size_t i = sizeof(head); i + 8 <= size; i += 8) {
            next_random(&random);
            memcpy(at + i, &random, 8);
        }
        memcpy(at, &head, sizeof(head));
        head.crc = crc32c(at, size);
        memcpy(at, &head, sizeof(head));
    }
}

static bool is_right(struct worker *w, uint8_t *at, uint64_t lba,
                     uint64_t version)
{
    uint32_t size = cintio_info(w->dev)->block_size, crc;
    struct head head;

    for (uint8_t *end = at + w->unit_size; at < end; at += size, lba++) {
        memcpy(&head, at, sizeof(head));
        crc = head.crc;
        head.crc = 0;
        memcpy(at, &head, sizeof(head));
        if (head.lba != lba || head.version != version ||
            crc32c(at, size) != crc) {
            fprintf(stderr, "cintio: block %llu: version %llu, read as %llu "
                    "of block %llu\n", (unsigned long long)lba,
                    (unsigned long long)version,
                    (unsigned long long)head.version,
                    (unsigned long long)head.lba);
            return false;
        }
    }
    return true;
}

/* --- I/O ---------------------------------------------------------------- */

/* The data in as many pieces as are wanted, of whole dwords; 0: in one. */
static size_t cut(struct worker *w, uint8_t *buf, struct cintio_vec *pieces)
{
    size_t n = w->options->pieces, each = w->unit_size / n & ~(size_t)3;

    for (size_t i = 0; i < n; i++) {
        pieces[i] = (struct cintio_vec) {
            .mem = w->mem, .buf = buf + i * each,
            .len = i < n - 1 ? each : w->unit_size - i * each,
        };
    }
    return n > 1 ? n : 0;
}

static bool issue(struct worker *w)
{
    uint64_t unit = next_random(&w->random) % w->units, lba;
    unsigned int cookie = w->idle[w->nr_idle - 1];
    uint8_t *buf = (uint8_t *)cintio_mem_addr(w->mem) + cookie * w->unit_size;
    bool write = !w->versions[unit] || w->lost[unit] ||
                 next_random(&w->random) % 2;
    struct cintio_vec pieces[MAX_PIECES];
    struct cintio_io io;

    if (w->busy[unit]) {
        return true;    /* another one, next time */
    }
    lba = w->first + unit * w->options->blocks;
    io = (struct cintio_io) {
        .op = write ? CINTIO_WRITE : CINTIO_READ,
        .hints = w->options->hints && w->issued % 4 == 0 ? CINTIO_URGENT : 0,
        .flags = w->options->fua && write ? CINTIO_FUA : 0,
        .lba = lba, .blocks = w->options->blocks, .mem = w->mem, .buf = buf,
        .vec = pieces, .nr_vecs = cut(w, buf, pieces), .cookie = cookie,
    };
    if (write) {
        fill(w, buf, lba, w->versions[unit] + 1);
    } else {
        memset(buf, 0, w->unit_size);
    }
    if (cintio_push(w->q, &io)) {
        fprintf(stderr, "cintio: %s\n", cintio_queue_error(w->q));
        return false;
    }
    w->versions[unit] += write;
    w->lost[unit] = false;
    w->busy[unit] = true;
    w->ios[cookie] = (struct io) { unit, write };
    w->nr_idle--;
    w->issued++;
    return true;
}

static void end(struct worker *w, const struct cintio_done *done)
{
    struct io *io = &w->ios[done->cookie];
    uint8_t *buf = (uint8_t *)cintio_mem_addr(w->mem) + done->cookie * w->unit_size;

    w->ended++;
    w->busy[io->unit] = false;
    w->idle[w->nr_idle++] = done->cookie;
    if (done->status) {
        fprintf(stderr, "cintio: status %03x\n", done->status);
        w->errors++;
    } else if (!io->write) {
        w->errors += !is_right(w, buf, w->first + io->unit * w->options->blocks,
                               w->versions[io->unit]);
    }
}

static unsigned int entries_for(struct cintio *dev,
                                const struct check_options *o)
{
    unsigned int most = cintio_info(dev)->max_entries;
    unsigned int wanted = o->depth < 256 ? 256 : o->depth + 1;

    return o->entries ? o->entries : wanted < most ? wanted : most;
}

/* Nothing is outstanding. */
static int get_queue(struct worker *w, struct cintio_error *err)
{
    const struct check_options *o = w->options;
    struct cintio_queue_options how = {
        .size = sizeof(how), .entries = entries_for(w->dev, o),
        .mode = o->mode, .sleep_ns = o->sleep_ns,
        .policy = CINTIO_POLICY_DEFAULT + o->policy,
    };
    int ret;

    for (w->nr_idle = 0; w->nr_idle < o->depth; w->nr_idle++) {
        w->idle[w->nr_idle] = w->nr_idle;
    }
    ret = cintio_queue_create(w->dev, &how, &w->q, err);
    if (!ret) {
        /* --min is what is waited for */
        cintio_queue_set_patience(w->q, 0, 0);
    }
    return ret;
}

/* What was under way has been written or not, and has to be done again. */
static bool begin_again(struct worker *w)
{
    uint64_t end = now_ns() + AGAIN_NS;
    struct cintio_error err;

    w->resets++;
    w->issued = w->ended;
    for (uint64_t i = 0; i < w->units; i++) {
        w->lost[i] |= w->busy[i];
        w->busy[i] = false;
    }
    cintio_queue_destroy(w->q);
    /* the next reset may come between, or an operator change the policy */
    while (get_queue(w, &err)) {
        w->q = NULL;
        if (now_ns() > end) {
            fprintf(stderr, "cintio: %s\n", err.text);
            return false;
        }
        usleep(1000);
    }
    return true;
}

/* How many are waited for, or taken: up to @most, or that. */
static unsigned int some(struct worker *w, unsigned int most)
{
    return w->options->any ? 1 + next_random(&w->random) % most : most;
}

static int work(struct worker *w)
{
    struct cintio_done done[MAX_TAKEN];
    uint64_t start;
    int got;

    while (w->ended < w->options->count) {
        while (w->nr_idle && w->issued < w->options->count) {
            if (!issue(w)) {
                return 1;
            }
        }
        start = now_ns();
        got = cintio_complete(w->q, done, some(w, w->options->min),
                              some(w, MAX_TAKEN), CINTIO_FOREVER);
        if (now_ns() - start > w->longest_ns) {
            w->longest_ns = now_ns() - start;
        }
        if (got < 0 && w->options->resets_ms &&
            (got == -ESTALE || got == -EIO)) {
            if (!begin_again(w)) {
                return 1;
            }
            continue;
        }
        if (got < 0) {
            fprintf(stderr, "cintio: %s\n", cintio_queue_error(w->q));
            return 1;
        }
        for (int i = 0; i < got; i++) {
            end(w, &done[i]);
        }
    }
    return w->errors != 0;
}

/* --- what it needs ------------------------------------------------------ */

static int fail(struct cintio_error *err, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    return code;
}

static int prepare(struct worker *w, struct cintio_error *err)
{
    const struct check_options *o = w->options;
    int ret = cintio_alloc(w->dev, o->depth * w->unit_size, &w->mem, err);

    if (ret) {
        return ret;
    }
    w->versions = calloc(w->units, sizeof(*w->versions));
    w->busy = calloc(w->units, sizeof(*w->busy));
    w->lost = calloc(w->units, sizeof(*w->lost));
    w->ios = calloc(o->depth, sizeof(*w->ios));
    w->idle = calloc(o->depth, sizeof(*w->idle));
    if (!w->versions || !w->busy || !w->lost || !w->ios || !w->idle) {
        return fail(err, -ENOMEM, "out of memory");
    }
    ret = get_queue(w, err);
    if (ret) {
        return ret;
    }
#ifdef CINTIO_TEST
    w->meddler = (struct meddler) { .options = o, .random = w->random };
    meddle(&w->meddler, w->q);
#endif
    return 0;
}

static void *run(void *opaque)
{
    struct worker *w = opaque;
    struct cintio_error err;

    if (prepare(w, &err)) {
        fprintf(stderr, "cintio: %s\n", err.text);
        w->result = 1;
    } else {
        w->result = work(w);
    }
    atomic_fetch_sub(&working, 1);
    return NULL;
}

static void tidy(struct worker *w)
{
    cintio_queue_destroy(w->q);
    cintio_free(w->dev, w->mem);
    free(w->versions);
    free(w->busy);
    free(w->lost);
    free(w->ios);
    free(w->idle);
}

/* --- what came of it ---------------------------------------------------- */

static const NvmeCintLogRecord *record_of(const void *page, unsigned int cqid)
{
    const NvmeCintLogHeader *head = page;
    const uint8_t *at = (const uint8_t *)page + head->header_size;

    for (unsigned int i = 0; i < head->records; i++, at += head->record_size) {
        const NvmeCintLogRecord *record = (const NvmeCintLogRecord *)at;

        if (record->cqid == cqid) {
            return record;
        }
    }
    return NULL;
}

static void report(struct worker *w, const void *page)
{
    const NvmeCintLogRecord *log = page ?
        record_of(page, cintio_queue_id(w->q)) : NULL;
    struct cintio_statistics counted = { .size = sizeof(counted) };

    cintio_queue_statistics(w->q, &counted);

    printf("queue=%u ios=%llu errors=%llu sleeps=%llu arms=%llu "
           "longest_us=%llu resets=%llu", cintio_queue_id(w->q),
           (unsigned long long)w->ended, (unsigned long long)w->errors,
           (unsigned long long)counted.sleeps, (unsigned long long)counted.arms,
           (unsigned long long)w->longest_ns / 1000,
           (unsigned long long)w->resets);
    if (log) {
        printf(" cqes=%llu irqs=%llu urgent=%llu pointer=%llu max_hold=%llu "
               "pressure=%llu rejects=%llu", (unsigned long long)log->cqes,
               (unsigned long long)(log->irqs_full + log->irqs_urgent),
               (unsigned long long)log->irqs_urgent, (unsigned long long)
               log->irqs_by_reason[NVME_CINT_REASON_POINTER],
               (unsigned long long)
               log->irqs_by_reason[NVME_CINT_REASON_MAX_HOLD],
               (unsigned long long)
               log->irqs_by_reason[NVME_CINT_REASON_PRESSURE],
               (unsigned long long)log->pointer_rejects);
    }
    printf("\n");
}

/* As long as somebody works. */
static int reset_and_reset(struct cintio *dev, const struct check_options *o)
{
    struct cintio_error err;
    int ret = 0;

    usleep(o->resets_ms * 1000);
    while (!ret && atomic_load(&working)) {
        ret = cintio_reset(dev, &err);
        usleep(o->resets_ms * 1000);
    }
    if (ret) {
        fprintf(stderr, "cintio: reset: %s\n", err.text);
    }
    return ret;
}

static int run_all(struct cintio *dev, const struct check_options *o)
{
    const struct cintio_info *info = cintio_info(dev);
    uint64_t part = info->blocks / o->threads;
    struct worker w[MAX_THREADS] = { 0 };
    pthread_t threads[MAX_THREADS];
    struct cintio_error err;
    void *page = NULL;
    size_t len;
    int ret = 0;

    atomic_store(&working, o->threads);
    for (unsigned int i = 0; i < o->threads; i++) {
        w[i] = (struct worker) {
            .options = o, .dev = dev, .number = i, .first = i * part,
            .units = part / o->blocks, .random = i + 88172645463325252u,
            .unit_size = (size_t)o->blocks * info->block_size,
        };
        pthread_create(&threads[i], NULL, run, &w[i]);
    }
    if (o->reset_ms) {
        usleep(o->reset_ms * 1000);
        ret = cintio_reset(dev, &err);
        fprintf(stderr, "cintio: reset: %s\n", ret ? err.text : "done");
    }
    if (o->resets_ms) {
        ret = reset_and_reset(dev, o);
    }
    for (unsigned int i = 0; i < o->threads; i++) {
        pthread_join(threads[i], NULL);
        ret |= w[i].result;
    }
    cintio_log(dev, &page, &len, &err);
    for (unsigned int i = 0; i < o->threads; i++) {
        if (w[i].q) {
            report(&w[i], page);
        }
        tidy(&w[i]);
    }
    free(page);
    return ret != 0;
}

/* Commands that are outstanding have an entry each, and do not overlap. */
static int check_room(struct cintio *dev, const struct check_options *o,
                      struct cintio_error *err)
{
    uint64_t blocks = cintio_info(dev)->blocks;
    unsigned int entries = entries_for(dev, o);

    if (o->depth >= entries) {
        return fail(err, -EINVAL, "--depth %llu: a queue has %u "
                    "entries, and one stays free",
                    (unsigned long long)o->depth, entries);
    }
    return blocks / o->threads / o->blocks < o->depth ?
        fail(err, -EINVAL, "%s has %llu blocks: too few for %llu "
                    "I/Os of %llu blocks beside each other", o->address,
                    (unsigned long long)blocks,
                    (unsigned long long)(o->threads * o->depth),
                    (unsigned long long)o->blocks) : 0;
}

int check(const struct check_options *o)
{
    struct cintio_options options = {
        .size = sizeof(options), .queues = o->threads, .nsid = o->nsid,
    };
    struct cintio_error err;
    struct cintio *dev;
    int ret;

    make_table();
    ret = cintio_open(o->address, &options, &dev, &err);
    if (ret) {
        fprintf(stderr, "cintio: %s\n", err.text);
        return 1;
    }
    ret = check_room(dev, o, &err);
    if (!ret && o->records) {
        ret = cintio_records(dev, true, &err);
    }
    if (ret) {
        fprintf(stderr, "cintio: %s\n", err.text);
    } else {
        ret = run_all(dev, o);
    }
    cintio_close(dev);
    return ret != 0;
}
