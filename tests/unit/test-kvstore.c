/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The key-value store of the guest: its parts, one worker on a file that the
 * test damages, and the program as it is typed.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hash.h"
#include "hist.h"
#include "index.h"
#include "item.h"
#include "machine.h"
#include "mix.h"
#include "outcome.h"
#include "store.h"
#include "worker.h"

#define DRAWN 200000

/* ---- checksums, random numbers ------------------------------------------ */

static void test_hash(void)
{
    static const struct {
        const char *text;
        uint64_t sum;
    } known[] = {
        { "", 0xef46db3751d8e999 },
        { "a", 0xd24ec4f1a98c6e5b },
        { "abc", 0x44bc2cf5ad770999 },
        { "Nobody inspects the spammish repetition", 0xfbcea83c8a378bf1 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        g_assert_cmphex(hash_bytes(known[i].text, strlen(known[i].text), 0),
                        ==, known[i].sum);
    }
    g_assert_cmphex(hash_bytes("abc", 3, 1), !=, known[2].sum);
}

static void test_random(void)
{
    struct random one = { 7 }, same = { 7 }, other = { 8 };
    unsigned seen[10] = { 0 };
    double sum = 0;

    for (int i = 0; i < 100; i++) {
        uint64_t next = random_next(&one);

        g_assert_cmpuint(next, ==, random_next(&same));
        g_assert_cmpuint(next, !=, random_next(&other));
    }
    for (int i = 0; i < DRAWN; i++) {
        double unit = random_unit(&one);

        g_assert_true(unit >= 0 && unit < 1);
        sum += unit;
        seen[random_below(&one, G_N_ELEMENTS(seen))]++;
    }
    g_assert_cmpfloat_with_epsilon(sum / DRAWN, 0.5, 0.005);
    for (size_t i = 0; i < G_N_ELEMENTS(seen); i++) {
        g_assert_cmpfloat_with_epsilon(seen[i] * 1.0 / DRAWN, 0.1, 0.005);
    }
}

/* ---- what clients ask for ----------------------------------------------- */

static void test_mixes(void)
{
    static const struct {
        const char *name;
        unsigned percent[OPS];  /* as YCSB has them published */
        enum keys keys;
    } published[] = {
        { "a", { 50, 50, 0, 0, 0 }, KEYS_ZIPFIAN },
        { "b", { 95, 5, 0, 0, 0 }, KEYS_ZIPFIAN },
        { "c", { 100, 0, 0, 0, 0 }, KEYS_ZIPFIAN },
        { "d", { 95, 0, 5, 0, 0 }, KEYS_LATEST },
        { "e", { 0, 0, 5, 95, 0 }, KEYS_ZIPFIAN },
        { "f", { 50, 0, 0, 0, 50 }, KEYS_ZIPFIAN },
        /* not YCSB's */
        { "insert", { 0, 0, 100, 0, 0 }, KEYS_LATEST },
        { "update", { 0, 100, 0, 0, 0 }, KEYS_ZIPFIAN },
    };

    g_assert_null(mix_find("g"));
    for (size_t i = 0; i < G_N_ELEMENTS(published); i++) {
        const struct mix *mix = mix_find(published[i].name);
        struct random r = { i };
        unsigned seen[OPS] = { 0 };

        g_assert_nonnull(mix);
        g_assert_cmpint(mix->keys, ==, published[i].keys);
        for (int j = 0; j < DRAWN; j++) {
            seen[mix_op(mix, &r)]++;
        }
        for (enum op op = 0; op < OPS; op++) {
            if (!published[i].percent[op]) {
                g_assert_cmpuint(seen[op], ==, 0);
            }
            g_assert_cmpfloat_with_epsilon(
                100.0 * seen[op] / DRAWN, published[i].percent[op], 0.5);
        }
    }
}

static void test_zipf(void)
{
    const unsigned n = 1000;
    g_autofree unsigned *seen = g_new0(unsigned, n);
    struct random r = { 1 };
    double zeta = 0, above = 0;
    unsigned first = 0;
    struct zipf z;

    for (unsigned i = 1; i <= n; i++) {
        zeta += pow(i, -0.99);
    }
    zipf_init(&z, n);
    g_assert_cmpfloat_with_epsilon(z.zeta, zeta, 0.000001);
    for (int i = 0; i < DRAWN; i++) {
        seen[zipf_rank(&z, &r)]++;
    }
    /* the first two are exact; of the others the method is close, together */
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpfloat_with_epsilon(seen[i] * zeta / DRAWN,
                                       pow(i + 1, -0.99), 0.03);
    }
    for (unsigned i = 0; i < n / 10; i++) {
        above += pow(i + 1, -0.99) / zeta;
        first += seen[i];
    }
    g_assert_cmpfloat_with_epsilon(first * 1.0 / DRAWN, above, 0.01);
    for (unsigned i = 0; i < n; i++) {
        g_assert_cmpuint(seen[i], >, 0);
    }
}

static void test_zipf_grows(void)
{
    struct zipf whole, grown;

    zipf_init(&whole, 5000);
    zipf_init(&grown, 10);
    zipf_grow(&grown, 4000);
    zipf_grow(&grown, 3000);
    zipf_grow(&grown, 5000);
    g_assert_cmpuint(grown.n, ==, 5000);
    g_assert_cmpfloat(grown.zeta, ==, whole.zeta);
    g_assert_cmpfloat(grown.eta, ==, whole.eta);
}

/* The newest is asked for most in d; elsewhere what is frequent is anywhere. */
static void test_records(void)
{
    const unsigned n = 1000;
    g_autofree unsigned *seen = g_new0(unsigned, n + 1);
    struct random r = { 1 };
    struct zipf z;
    unsigned most = 0, runs = 0;

    zipf_init(&z, n / 2);
    for (int i = 0; i < DRAWN; i++) {
        uint64_t record = mix_record(mix_find("d"), &z, &r, n);

        g_assert_cmpuint(record, <, n);
        seen[record]++;
    }
    for (unsigned i = 0; i < n; i++) {
        most = seen[i] > seen[most] ? i : most;
    }
    g_assert_cmpuint(most, ==, n - 1);
    g_assert_cmpuint(seen[n - 1], >, seen[n - 2]);

    memset(seen, 0, n * sizeof(*seen));
    zipf_init(&z, n);
    for (int i = 0; i < DRAWN; i++) {
        uint64_t record = mix_record(mix_find("a"), &z, &r, n + 50);

        g_assert_cmpuint(record, <, n);
        seen[record]++;
    }
    for (unsigned i = 0; i + 1 < n; i++) {
        runs += seen[i] > DRAWN / 200 && seen[i + 1] > DRAWN / 200;
    }
    g_assert_cmpuint(runs, <=, 1);
}

/* ---- times -------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

    return one < two ? -1 : one > two;
}

static void test_hist(void)
{
    static const double percents[] = { 0.1, 10, 50, 90, 99, 99.9, 100 };
    const unsigned n = 10000;
    g_autofree uint64_t *times = g_new(uint64_t, n);
    g_autofree struct hist *h = g_new0(struct hist, 1);
    g_autofree struct hist *half = g_new0(struct hist, 1);
    struct random r = { 3 };
    double sum = 0;

    g_assert_cmpfloat(hist_mean(h), ==, 0);
    g_assert_cmpfloat(hist_percentile(h, 99), ==, 0);
    for (unsigned i = 0; i < n; i++) {
        times[i] = exp(20 * random_unit(&r));
        sum += times[i];
        hist_add(i % 2 ? h : half, times[i]);
    }
    hist_join(h, half);
    g_assert_cmpuint(h->count, ==, n);
    g_assert_cmpfloat_with_epsilon(hist_mean(h), sum / n, sum / n / 1000000);
    qsort(times, n, sizeof(*times), compare_times);
    for (size_t i = 0; i < G_N_ELEMENTS(percents); i++) {
        double exact = times[(unsigned)ceil(n * percents[i] / 100) - 1];

        g_assert_cmpfloat_with_epsilon(hist_percentile(h, percents[i]), exact,
                                       0.005 * exact);
    }
    hist_add(h, UINT64_MAX);
    g_assert_cmpfloat(hist_percentile(h, 100), >, 1.8e19);
}

/* ---- what the machine counts -------------------------------------------- */

static struct machine machine_in(const char *interrupts, const char *stat)
{
    FILE *one = fmemopen((char *)interrupts, strlen(interrupts), "r");
    FILE *two = fmemopen((char *)stat, strlen(stat), "r");
    struct machine found;

    machine_read(&found, one, two);
    fclose(one);
    fclose(two);
    return found;
}

/* I/O queues, whoever drives, on all CPUs; not admin queues or others'. */
static void test_machine(void)
{
    struct machine found = machine_in(
        "           CPU0       CPU1\n"
        "  0:         20          1   IO-APIC   2-edge      timer\n"
        " 24:          5          6 PCI-MSIX-00:01.0 0-edge nvme0q0\n"
        " 25:        100         23 PCI-MSIX-00:01.0 1-edge nvme0q1\n"
        " 26:          0       1000 PCI-MSIX-00:02.0 2-edge nvme1q12\n"
        " 27:          7          7 PCI-MSIX-00:02.0 3-edge nvme1q1x\n"
        " 28:          8          8 PCI-MSIX-00:03.0 0-edge "
        "vfio-msix[0](0000:00:03.0)\n"
        " 29:          1          2 PCI-MSIX-00:03.0 1-edge "
        "vfio-msix[1](0000:00:03.0)\n"
        "NMI:          9          9   Non-maskable interrupts\n",
        "cpu  100 20 30 500 60 7 8 9 4 3\ncpu0 1 1 1 1 1 1 1 1 1 1\n");

    g_assert_cmpuint(found.interrupts, ==, 1126);
    g_assert_cmpuint(found.ticks, ==, 734);
    g_assert_cmpuint(found.busy, ==, 174);
    found = machine_in("nonsense\n", "intr 5\n");
    g_assert_cmpuint(found.interrupts + found.ticks + found.busy, ==, 0);
    machine_read(&found, NULL, NULL);
    g_assert_cmpuint(found.interrupts + found.ticks + found.busy, ==, 0);
}

/* ---- the index ---------------------------------------------------------- */

static void check_order(void *with, struct entry *entry)
{
    uint64_t *last = with;

    g_assert_cmpuint(entry->key, >, *last);
    *last = entry->key;
}

/* Against an array: keys in three orders, looked up, scanned, refused. */
static void test_index(void)
{
    enum { COUNT = 3000 };
    uint64_t keys[COUNT], found[100];

    for (int order = 0; order < 3; order++) {
        struct random r = { order };
        struct index index;
        uint64_t last = 0;

        index_init(&index);
        g_assert_null(index_find(&index, 5));
        g_assert_cmpuint(index_scan(&index, 0, 10, found), ==, 0);
        for (int i = 0; i < COUNT; i++) {
            struct entry entry = {
                .key = order == 0 ? 10 + 2ull * i :
                       order == 1 ? 10 + 2ull * (COUNT - i) :
                       random_next(&r) & ~1ull,
                .slot = i, .version = 1,
            };

            keys[i] = entry.key;
            g_assert_true(index_insert(&index, entry));
            g_assert_false(index_insert(&index, entry));
        }
        g_assert_cmpuint(index.entries, ==, COUNT);
        for (int i = 0; i < COUNT; i++) {
            const struct entry *entry = index_find(&index, keys[i]);

            g_assert_nonnull(entry);
            g_assert_cmpuint(entry->slot, ==, i);
            g_assert_null(index_find(&index, keys[i] + 1));
        }
        index_each(&index, check_order, &last);
        qsort(keys, COUNT, sizeof(*keys), compare_times);
        g_assert_cmpuint(last, ==, keys[COUNT - 1]);
        for (int i = 0; i < COUNT; i += 7) {
            size_t most = MIN(100, COUNT - i);

            g_assert_cmpuint(index_scan(&index, keys[i] - (i & 1), 100,
                                        found),
                             ==, most);
            g_assert_cmpmem(found, most * sizeof(*found), keys + i,
                            most * sizeof(*found));
        }
        g_assert_cmpuint(index_scan(&index, last + 1, 100, found), ==, 0);
        index_free(&index);
    }
}

/* ---- items -------------------------------------------------------------- */

static void test_item(void)
{
    union {
        struct item item;
        uint8_t bytes[128];
    } a = { 0 }, b;
    const size_t size = sizeof(a);

    g_assert_cmpint(item_check(&a.item, size, 0, 0), ==, ITEM_EMPTY);
    a.bytes[size - 1] = 1;
    g_assert_cmpint(item_check_any(&a.item, size), ==, ITEM_SUM);
    item_fill(&a.item, size, 5, 2);
    g_assert_cmpint(item_check(&a.item, size, 5, 2), ==, ITEM_GOOD);
    g_assert_cmpint(item_check(&a.item, size, 6, 2), ==, ITEM_KEY);
    g_assert_cmpint(item_check(&a.item, size, 5, 1), ==, ITEM_VERSION);
    for (size_t i = 0; i < 8 * size; i++) {
        b = a;
        b.bytes[i / 8] ^= 1 << i % 8;
        g_assert_cmpint(item_check(&b.item, size, 5, 2), ==, ITEM_SUM);
    }
    item_fill(&b.item, size, 5, 3);
    g_assert_true(memcmp(a.item.value, b.item.value,
                         size - sizeof(a.item)) != 0);
    g_assert_cmpint(item_check_any(&a.item, size / 2), ==, ITEM_SUM);
}

/* ---- one worker, and a file that is damaged under it -------------------- */

static char *directory;

static char *make_path(void)
{
    static int number;

    return g_strdup_printf("%s/%d.db", directory, number++);
}

struct bench {
    struct store store;
    struct worker worker;
    struct client client;
    char *path;
};

static void bench_begin(struct bench *b, unsigned item_bytes)
{
    struct shape shape = { .records = 200, .reserve = 20, .workers = 1,
                           .item_bytes = item_bytes };
    struct drive_options drive = { .buffered = true, .depth = 2 };
    struct worker_options options = { .cache_pages = 3, .cpu = -1 };

    b->path = make_path();
    store_load(&b->store, b->path, shape, drive);
    store_close(&b->store);
    store_open(&b->store, b->path, drive);
    g_assert_cmpuint(b->store.regions[0].index.entries, ==, 200);
    pthread_mutex_init(&b->client.lock, NULL);
    pthread_cond_init(&b->client.some_done, NULL);
    b->client.done.first = NULL;
    worker_start(&b->worker, &b->store, 0, options, &b->client, 1);
}

static void bench_end(struct bench *b)
{
    worker_end(&b->worker);
    store_close(&b->store);
    pthread_cond_destroy(&b->client.some_done);
    pthread_mutex_destroy(&b->client.lock);
    g_assert_cmpint(g_unlink(b->path), ==, 0);
    g_free(b->path);
}

/* Sends requests together, and waits for all of them. */
static void ask(struct bench *b, struct request *all, unsigned count)
{
    struct requests list = { 0 };

    for (unsigned i = 0; i < count; i++) {
        requests_add(&list, &all[i]);
    }
    worker_push(&b->worker, &list);
    while (count) {
        struct requests done = { 0 };

        pthread_mutex_lock(&b->client.lock);
        while (!b->client.done.first) {
            pthread_cond_wait(&b->client.some_done, &b->client.lock);
        }
        requests_join(&done, &b->client.done);
        pthread_mutex_unlock(&b->client.lock);
        while (requests_take(&done)) {
            count--;
        }
    }
}

static void ask_one(struct bench *b, enum op op, uint64_t record)
{
    struct request one = { .op = op, .key = store_key(record),
                           .record = record };

    ask(b, &one, 1);
}

/* What else is in the cache goes. */
static void read_others(struct bench *b)
{
    for (uint64_t i = 100; i < 200; i += 16) {
        ask_one(b, OP_READ, i);
    }
}

static uint64_t place(const struct bench *b, uint64_t record)
{
    struct index *index = (struct index *)&b->store.regions[0].index;
    const struct entry *entry = index_find(index, store_key(record));

    return store_place(&b->store, &b->store.regions[0], entry->slot);
}

static void poke(const char *path, uint64_t at, const void *data, size_t bytes)
{
    int fd = open(path, O_WRONLY);

    g_assert_cmpint(pwrite(fd, data, bytes, at), ==, bytes);
    close(fd);
}

static void peek(const char *path, uint64_t at, void *data, size_t bytes)
{
    int fd = open(path, O_RDONLY);

    g_assert_cmpint(pread(fd, data, bytes, at), ==, bytes);
    close(fd);
}

static void flip(const char *path, uint64_t at)
{
    uint8_t byte;

    peek(path, at, &byte, 1);
    byte ^= 0x10;
    poke(path, at, &byte, 1);
}

static void test_worker(void)
{
    struct request many[64] = { 0 };
    struct bench b;
    uint8_t page[PAGE_BYTES];

    bench_begin(&b, 256);
    for (unsigned i = 0; i < G_N_ELEMENTS(many); i++) {
        /* several of a page, and of an item, in a row */
        many[i] = (struct request) {
            .op = i % 3 == 0 ? OP_UPDATE : i % 3 == 1 ? OP_READ : OP_RMW,
            .key = store_key(i % 7 * 20),
        };
    }
    ask(&b, many, G_N_ELEMENTS(many));
    for (unsigned i = 200; i < 220; i++) {
        ask_one(&b, OP_INSERT, i);
        ask_one(&b, OP_READ, i);
        g_assert_cmpuint(atomic_load(&b.store.there), ==, i + 1);
    }
    read_others(&b);
    g_assert_cmpuint(b.worker.counts.verified, ==, 64 + 20 + 7);
    g_assert_cmpuint(b.worker.counts.requests, ==, 64 + 40 + 7);
    g_assert_cmpuint(b.worker.counts.hits, >, 0);
    g_assert_cmpuint(b.worker.counts.batches, >=, b.worker.counts.reads / 2);
    g_assert_cmpuint(b.worker.times[OP_INSERT].count, ==, 20);
    g_assert_cmpuint(b.worker.times[OP_UPDATE].count, ==, 22);
    g_assert_cmpuint(b.worker.times[OP_RMW].count, ==, 21);
    g_assert_cmpuint(atomic_load(&b.store.faults), ==, 0);
    g_assert_cmpuint(store_audit(&b.store), ==, 220);
    g_assert_cmpuint(atomic_load(&b.store.faults), ==, 0);
    /* each change has reached the file, and is one version more */
    peek(b.path, place(&b, 20), page, 256);
    g_assert_cmpuint(((struct item *)page)->version, ==,
                     index_find(&b.store.regions[0].index,
                                store_key(20))->version);
    g_assert_cmpuint(((struct item *)page)->version, >, 1);
    bench_end(&b);
}

/* Inserts that are written in another order than they were given. */
static void test_there(void)
{
    struct bench b;

    bench_begin(&b, 256);
    store_arrived(&b.store, 202);
    store_arrived(&b.store, 201);
    g_assert_cmpuint(atomic_load(&b.store.there), ==, 200);
    store_arrived(&b.store, 200);
    g_assert_cmpuint(atomic_load(&b.store.there), ==, 203);
    bench_end(&b);
}

static void test_flipped(void)
{
    struct bench b;

    bench_begin(&b, 1024);
    for (uint64_t i = 0; i < 10; i++) {
        read_others(&b);
        flip(b.path, place(&b, i) + 100 * i);
        ask_one(&b, i % 2 ? OP_UPDATE : OP_READ, i);
        g_assert_cmpuint(atomic_load(&b.store.faults), ==, i + 1);
    }
    bench_end(&b);
}

/* A write that never came: what is there is whole, and old. */
static void test_lost_write(void)
{
    uint8_t page[PAGE_BYTES];
    struct bench b;

    bench_begin(&b, 4096);
    peek(b.path, place(&b, 5), page, sizeof(page));
    ask_one(&b, OP_UPDATE, 5);
    read_others(&b);
    poke(b.path, place(&b, 5), page, sizeof(page));
    ask_one(&b, OP_READ, 5);
    g_assert_cmpuint(atomic_load(&b.store.faults), ==, 1);
    g_assert_cmpuint(store_audit(&b.store), ==, 199);
    g_assert_cmpuint(atomic_load(&b.store.faults), ==, 2);
    bench_end(&b);
}

/* A write that went elsewhere. */
static void test_stray_write(void)
{
    uint8_t page[PAGE_BYTES];
    struct bench b;

    bench_begin(&b, 4096);
    peek(b.path, place(&b, 5), page, sizeof(page));
    poke(b.path, place(&b, 6), page, sizeof(page));
    ask_one(&b, OP_READ, 6);
    g_assert_cmpuint(atomic_load(&b.store.faults), ==, 1);
    bench_end(&b);
}

/* Something where a new item is to go. */
static void test_slot_in_use(void)
{
    struct bench b;

    bench_begin(&b, 4096);
    flip(b.path, store_place(&b.store, &b.store.regions[0], 200));
    ask_one(&b, OP_INSERT, 200);
    g_assert_cmpuint(atomic_load(&b.store.faults), ==, 1);
    bench_end(&b);
}

/* ---- the program -------------------------------------------------------- */

static struct outcome typed(const char *format, ...) G_GNUC_PRINTF(1, 2);

static struct outcome typed(const char *format, ...)
{
    char *words;
    va_list args;

    va_start(args, format);
    words = g_strdup_vprintf(format, args);
    va_end(args);
    return spawn(KVSTORE, words);
}

static void load(const char *path, const char *options)
{
    struct outcome got = typed("load --buffered %s %s", options, path);

    g_assert_cmpstr(got.err, ==, "");
    g_assert_cmpint(got.code, ==, 0);
    forget(&got);
}

static void test_workloads(void)
{
    static const struct {
        const char *name;
        const char *ops[3];
    } all[] = {
        { "a", { "read", "update" } }, { "b", { "read", "update" } },
        { "c", { "read" } }, { "d", { "read", "insert" } },
        { "e", { "scan", "insert" } }, { "f", { "read", "rmw" } },
        { "update", { "update" } }, { "update --sync", { "update" } },
    };
    g_autofree char *path = make_path();
    double inserted = 0;

    load(path, "--records=4000");
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        struct outcome got = typed("run --buffered --workload=%s --ops=2000 "
                                   "--warm=500 --cache=1m --label=w %s",
                                   all[i].name, path);
        double count = 0;

        g_assert_cmpstr(got.err, ==, "");
        g_assert_cmpint(got.code, ==, 0);
        for (int j = 0; j < 3 && all[i].ops[j]; j++) {
            g_autofree char *name = g_strdup_printf("w.%s.count",
                                                    all[i].ops[j]);
            g_autofree char *mean = g_strdup_printf("w.%s.mean", all[i].ops[j]);
            g_autofree char *far = g_strdup_printf("w.%s.p99.9",
                                                   all[i].ops[j]);

            count += told(&got, name);
            g_assert_cmpfloat(told(&got, mean), >, 0);
            g_assert_cmpfloat(told(&got, far), >, 0);
        }
        g_assert_cmpfloat(count, ==, 2000);
        g_assert_cmpfloat(told(&got, "w.count"), ==, 2000);
        /* not told where no tick has passed */
        g_assert_false(told(&got, "w.cpu") > 100);
        g_assert_cmpfloat(told(&got, "w.throughput"), >, 0);
        g_assert_cmpfloat(told(&got, "w.damaged"), ==, 0);
        inserted = told(&got, "w.audited") - 4000;
        if (!strcmp(all[i].name, "e")) {
            /* half of 1 to 100 items, in the mean */
            g_assert_cmpfloat_with_epsilon(
                told(&got, "w.verified") / told(&got, "w.scan.count"), 50, 5);
        } else if (strcmp(all[i].name, "d")) {
            g_assert_cmpfloat(told(&got, "w.verified"), ==, 2000);
        }
        forget(&got);
    }
    /* a twentieth of 2500 operations, of two workloads */
    g_assert_cmpfloat_with_epsilon(inserted, 250, 60);
    g_unlink(path);
}

/*
 * Nothing is asked for more often than the rest, so that a cache of a tenth of
 * the pages has a tenth of what is asked for; by YCSB's law it has most of it.
 */
static void test_uniform(void)
{
    g_autofree char *path = make_path();
    double hits[2];

    load(path, "--records=20000");
    for (int i = 0; i < 2; i++) {
        struct outcome got = typed("run --buffered --workload=c --ops=10000 "
                                   "--warm=5000 --cache=2m --keys=%s %s",
                                   i ? "uniform" : "published", path);

        g_assert_cmpint(got.code, ==, 0);
        hits[i] = told(&got, "hits");
        forget(&got);
    }
    g_assert_cmpfloat(hits[0], >, 45);
    g_assert_cmpfloat_with_epsilon(hits[1], 10, 3);
    g_unlink(path);
}

/* With one of each there is no order but one. */
static void test_seed(void)
{
    static const char *const names[] = {
        "read.count", "update.count", "reads", "writes", "verified", "hits",
    };
    struct outcome got[3];

    for (int i = 0; i < 3; i++) {
        g_autofree char *path = make_path();

        load(path, "--records=2000 --workers=1");
        got[i] = typed("run --buffered --ops=3000 --injectors=1 --inflight=1 "
                       "--cache=1m --seed=%d %s", i == 2, path);
        g_assert_cmpint(got[i].code, ==, 0);
        g_unlink(path);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_assert_cmpfloat(told(&got[0], names[i]), ==, told(&got[1], names[i]));
    }
    g_assert_cmpfloat(told(&got[0], "reads"), !=, told(&got[2], "reads"));
    for (int i = 0; i < 3; i++) {
        forget(&got[i]);
    }
}

/* An open loop is as fast as it is told, and counts from when it was due. */
static void test_rate(void)
{
    g_autofree char *path = make_path();
    struct outcome got;

    load(path, "--records=2000");
    got = typed("run --buffered --workload=c --ops=400 --rate=2000 %s", path);
    g_assert_cmpint(got.code, ==, 0);
    /* 400 independent times between arrivals: a twentieth is one deviation */
    g_assert_cmpfloat(told(&got, "throughput"), <, 2500);
    g_assert_cmpfloat(told(&got, "read.count"), ==, 400);
    forget(&got);
    /* a client that may have one under way falls behind what it is told */
    got = typed("run --buffered --workload=c --ops=4000 --rate=500m "
                "--inflight=1 --injectors=1 %s", path);
    g_assert_cmpint(got.code, ==, 0);
    g_assert_cmpfloat(told(&got, "read.p99"), >,
                      1e6 * 3000 / told(&got, "throughput"));
    forget(&got);
    g_unlink(path);
}

static void test_percentiles(void)
{
    g_autofree char *path = make_path();
    struct outcome got;

    load(path, "--records=2000");
    got = typed("run --buffered --workload=e --scan=16 --ops=200 "
                "--percentiles=10,50,97.5 %s", path);
    g_assert_cmpint(got.code, ==, 0);
    g_assert_cmpfloat(told(&got, "scan.p10"), <=, told(&got, "scan.p50"));
    g_assert_cmpfloat(told(&got, "scan.p50"), <=, told(&got, "scan.p97.5"));
    g_assert_true(isnan(told(&got, "scan.p99")));
    g_assert_cmpfloat_with_epsilon(
        told(&got, "verified") / told(&got, "scan.count"), 16, 0.5);
    forget(&got);
    g_unlink(path);
}

/* Each byte of the file counts: of its head, items, and what is reserved. */
static void test_damaged_file(void)
{
    g_autofree char *path = make_path();
    struct stat facts;
    char byte = 0;

    load(path, "--records=1000 --item-size=512");
    g_assert_cmpint(stat(path, &facts), ==, 0);
    for (uint64_t at = 1; at < (uint64_t)facts.st_size; at += 20011) {
        flip(path, at);
        expect(typed("check --buffered %s", path), 1,
               at < PAGE_BYTES ? "its first page is damaged" :
                                 "1 items are damaged");
        expect(typed("run --buffered --cache=1m %s", path), 1, "damaged");
        flip(path, at);
        expect(typed("check --buffered %s", path), 0, "");
    }
    flip(path, facts.st_size - 1);
    expect(typed("check --buffered %s", path), 1, "1 items are damaged");
    flip(path, facts.st_size - 1);
    g_assert_cmpint(truncate(path, facts.st_size - 1), ==, 0);
    expect(typed("check --buffered %s", path), 1, "the file ends there");
    g_assert_cmpint(truncate(path, 0), ==, 0);
    expect(typed("check --buffered %s", path), 1, "the file ends there");
    poke(path, PAGE_BYTES - 1, &byte, 1);
    expect(typed("check --buffered %s", path), 1, "this is no store");
    g_unlink(path);
}

/* Items that are gone, or there twice, though each is whole. */
static void test_moved_items(void)
{
    g_autofree char *path = make_path();
    uint8_t first[PAGE_BYTES], second[PAGE_BYTES] = { 0 };

    load(path, "--records=100 --reserve=0 --item-size=4096 --workers=1");
    poke(path, 100 * PAGE_BYTES, second, sizeof(second));
    expect(typed("check --buffered %s", path), 1, "is missing");
    peek(path, PAGE_BYTES, first, sizeof(first));
    poke(path, 100 * PAGE_BYTES, first, sizeof(first));
    expect(typed("check --buffered %s", path), 1, "it is another key's");
    poke(path, 50 * PAGE_BYTES, second, sizeof(second));
    expect(typed("check --buffered %s", path), 1, "there is no item");
    g_unlink(path);
}

static void test_refused(void)
{
    static const struct {
        const char *words, *said;
    } wrong[] = {
        { "", "what to do comes first: load, run or check" },
        { "lod x", "lod: what to do comes first: load, run or check" },
        { "run", "give one file" },
        { "run a b", "give one file" },
        { "run --keys=zipf x", "--keys=zipf: valid: published, uniform" },
        { "run --workload=g x", "--workload=g: valid: a, b, c, d, e, f, "
          "insert, update" },
        { "run --workload=ab x", "--workload=ab: valid: a, b, c, d, e, f, " },
        { "check --engine=user x", "--engine=user: valid: kernel, user:poll, "
          "user:interrupt, user:coalesced" },
        { "check --engine=user:poll --buffered x", "--buffered goes with "
          "--engine=kernel" },
        { "run --irq-cost=10 x", "--irq-cost goes with --engine=user:" },
        { "load --irq-cost=-1 x", "--irq-cost=-1: valid: 0 to 1000000" },
        { "check --engine=user:poll --sync x", "--sync is an option of" },
        { "run --hints=all x", "--hints=all: valid: kernel, none, urgent, "
          "barrier" },
        { "run --depth=0 x", "--depth=0: valid: 1 to 1024" },
        { "run --depth=4x x", "--depth=4x: valid: 1 to 1024" },
        { "run --ops=-1 x", "--ops=-1: valid: 1 to " },
        { "run --ops=99999999999999999999 x", ": valid: 1 to " },
        { "run --scan=5-4 x", "--scan=5-4: valid: a number of items" },
        { "run --scan=0 x", "from 1 to 1024" },
        { "run --scan=1-2000 x", "from 1 to 1024" },
        { "run --percentiles=50,, x", "--percentiles=50,,: valid: up to" },
        { "run --percentiles=0 x", "above 0, at most 100" },
        { "run --label=a/b x", "--label=a/b: valid: a letter, then" },
        { "run --label=1 x", "--label=1: valid: a letter, then" },
        { "run --records=5 x", "--records is decided by kvstore load" },
        { "load --ops=5 x", "--ops is an option of kvstore run" },
        { "check --seed=5 x", "--seed is an option of kvstore run" },
        { "load --item-size=100 x", "--item-size=100: valid: 64, 128" },
        { "load --records=1 x", "--records=1: valid: 2 to 268435456" },
        { "load --workers=17 x", "--workers=17: valid: 1 to 16" },
        { "run --nothing x", "unrecognized option" },
    };
    g_autofree char *path = make_path();

    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        expect(typed("%s", wrong[i].words), 2, wrong[i].said);
    }
    expect(typed("check /nowhere/x"), 1, "/nowhere/x: No such file");
    load(path, "--records=1000 --reserve=10");
    expect(typed("run --buffered --workload=d --ops=1000 %s", path), 2,
           "would insert some 50 records, and the store has room for 10; valid:"
           " fewer operations, or kvstore load with a larger --reserve");
    expect(typed("run --buffered --cache=4k %s", path), 2,
           "valid: at least 532480");
    g_unlink(path);
}

/* What must be counted in advance is only likely: the rest ends in a line. */
static void test_no_room(void)
{
    g_autofree char *path = make_path();

    load(path, "--records=1000 --reserve=0");
    expect(typed("run --buffered --workload=d --ops=19 --seed=1 %s",
                 path), 1, "no room for another record; valid: fewer --ops");
    g_unlink(path);
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    int result;

    g_test_init(&argc, &argv, NULL);
    directory = g_dir_make_tmp("kvstore-XXXXXX", &error);
    g_assert_no_error(error);
    g_test_add_func("/kvstore/hash", test_hash);
    g_test_add_func("/kvstore/random", test_random);
    g_test_add_func("/kvstore/mixes", test_mixes);
    g_test_add_func("/kvstore/zipf", test_zipf);
    g_test_add_func("/kvstore/zipf-grows", test_zipf_grows);
    g_test_add_func("/kvstore/records", test_records);
    g_test_add_func("/kvstore/hist", test_hist);
    g_test_add_func("/kvstore/machine", test_machine);
    g_test_add_func("/kvstore/index", test_index);
    g_test_add_func("/kvstore/item", test_item);
    g_test_add_func("/kvstore/worker", test_worker);
    g_test_add_func("/kvstore/there", test_there);
    g_test_add_func("/kvstore/flipped", test_flipped);
    g_test_add_func("/kvstore/lost-write", test_lost_write);
    g_test_add_func("/kvstore/stray-write", test_stray_write);
    g_test_add_func("/kvstore/slot-in-use", test_slot_in_use);
    g_test_add_func("/kvstore/workloads", test_workloads);
    g_test_add_func("/kvstore/uniform", test_uniform);
    g_test_add_func("/kvstore/seed", test_seed);
    g_test_add_func("/kvstore/rate", test_rate);
    g_test_add_func("/kvstore/percentiles", test_percentiles);
    g_test_add_func("/kvstore/damaged-file", test_damaged_file);
    g_test_add_func("/kvstore/moved-items", test_moved_items);
    g_test_add_func("/kvstore/refused", test_refused);
    g_test_add_func("/kvstore/no-room", test_no_room);
    result = g_test_run();
    g_rmdir(directory);
    g_free(directory);
    return result;
}
