/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A key-value store under YCSB's workloads: options, runs and what it tells. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject.h"
#include "machine.h"
#include "store.h"
#include "util.h"
#include "worker.h"

#define PERCENTILES_MAX 128
#define ITEM_MOST PAGE_BYTES
#define CACHE_MOST (1ull << 40)
#define OPS_MOST (1ull << 40)
#define RATE_MOST 1000000000ull
#define IRQ_COST_MOST 1000000ull

static const char help[] =
"Usage: kvstore load|run|check [OPTION...] FILE\n"
"A key-value store with its clients, on a file, a disk or a controller. load makes it,\n"
"run lets clients use it and says how long that took, check reads all of it.\n"
"\n"
"load:\n"
"  --records=N           that it begins with (65536)\n"
"  --reserve=N           that can be inserted (an eighth of these)\n"
"  --item-size=BYTES     of each, with key and checksum: 64 to 4096, a power of two\n"
"                        (1024)\n"
"  --workers=N           threads that share the keys (2)\n"
"run:\n"
"  --workload=NAME       of YCSB: a (half updates), b (5 % updates), c (reads),\n"
"                        d (5 % inserts, reads of the newest), e (scans, 5 % inserts),\n"
"                        f (half read-modify-write); insert, update: nothing else (a)\n"
"  --ops=N               operations (20000)\n"
"  --warm=N              operations before these, which are not counted (0)\n"
"  --injectors=N         threads that stand for clients (4)\n"
"  --inflight=N          requests of each that are under way; of a scan each item is\n"
"                        one (four times the depth for each worker, shared out)\n"
"  --rate=N              operations a second, begun at times of their own; 0: one when\n"
"                        another ends (0)\n"
"  --depth=N             reads and writes of a worker's batch at most (64)\n"
"  --cache=BYTES         of all workers' pages; k, m and g are understood (8m)\n"
"  --keys=published|uniform\n"
"                        which records: as YCSB has it, or all alike (published)\n"
"  --scan=LEAST-MOST     items of a scan (1-100)\n"
"  --hints=kernel|none|urgent|barrier\n"
"                        whom the device is to tell at once: the kernel's own rules\n"
"                        decide; nobody; each I/O; the last of each batch (kernel)\n"
"  --sync                a write has ended when it is on the medium, past caches\n"
"  --pin                 each worker stays on the CPU of its number\n"
"  --seed=N              of what is asked for (1)\n"
"  --label=WORD          begins the names of what is told (none)\n"
"  --percentiles=LIST    of the times (50,99,99.9)\n"
"all:\n"
"  --engine=kernel|user:poll|user:interrupt|user:coalesced\n"
"                        who drives: the kernel; or this process, and FILE is the PCI\n"
"                        address of a controller that vfio-pci has (cintio bind), with\n"
"                        the store on its namespace 1: a worker has a queue pair, and\n"
"                        looks at it, or sleeps until an interrupt, or until that of\n"
"                        its batch's last (kernel)\n"
"  --irq-cost=NS         user: spend so much more on each interrupt (0)\n"
"  --buffered            kernel: through the page cache instead of O_DIRECT\n"
"\n"
"What it tells are lines `cint-metric NAME VALUE UNIT`: times by operation, and of all\n"
"together; also how many interrupts the I/O queues of NVMe drives had meanwhile, how busy\n"
"the CPUs were (cpu, of all of them), and how much of one of them workers and clients had\n"
"(own_cpu). Every item that is read is verified: its checksum, its key and its version. So\n"
"is all of the file before a run and after it.\n"
"\n"
"Exit status: 0 done, 1 failed or items damaged, 2 wrong usage, 77 the kernel has no\n"
"hints.\n";

static const char *const actions[] = { "load", "run", "check", NULL };
static const char *const hint_names[] = {
    "kernel", "none", "urgent", "barrier", NULL
};
static const char *const engine_names[] = {
    "kernel", "user:poll", "user:interrupt", "user:coalesced", NULL
};
static const char *const keys_names[] = { "published", "uniform", NULL };

enum action { LOAD, RUN, CHECK };

enum {
    OPT_RECORDS = 1, OPT_RESERVE, OPT_ITEM_SIZE, OPT_WORKERS, OPT_WORKLOAD,
    OPT_OPS, OPT_WARM, OPT_INJECTORS, OPT_INFLIGHT, OPT_RATE, OPT_DEPTH,
    OPT_CACHE, OPT_KEYS, OPT_SCAN, OPT_HINTS, OPT_SYNC, OPT_PIN, OPT_SEED,
    OPT_LABEL, OPT_PERCENTILES, OPT_ENGINE, OPT_IRQ_COST, OPT_BUFFERED,
    OPT_HELP,
};

static const struct option options[] = {
    { "records", required_argument, NULL, OPT_RECORDS },
    { "reserve", required_argument, NULL, OPT_RESERVE },
    { "item-size", required_argument, NULL, OPT_ITEM_SIZE },
    { "workers", required_argument, NULL, OPT_WORKERS },
    { "workload", required_argument, NULL, OPT_WORKLOAD },
    { "ops", required_argument, NULL, OPT_OPS },
    { "warm", required_argument, NULL, OPT_WARM },
    { "injectors", required_argument, NULL, OPT_INJECTORS },
    { "inflight", required_argument, NULL, OPT_INFLIGHT },
    { "rate", required_argument, NULL, OPT_RATE },
    { "depth", required_argument, NULL, OPT_DEPTH },
    { "cache", required_argument, NULL, OPT_CACHE },
    { "keys", required_argument, NULL, OPT_KEYS },
    { "scan", required_argument, NULL, OPT_SCAN },
    { "hints", required_argument, NULL, OPT_HINTS },
    { "sync", no_argument, NULL, OPT_SYNC },
    { "pin", no_argument, NULL, OPT_PIN },
    { "seed", required_argument, NULL, OPT_SEED },
    { "label", required_argument, NULL, OPT_LABEL },
    { "percentiles", required_argument, NULL, OPT_PERCENTILES },
    { "engine", required_argument, NULL, OPT_ENGINE },
    { "irq-cost", required_argument, NULL, OPT_IRQ_COST },
    { "buffered", no_argument, NULL, OPT_BUFFERED },
    { "help", no_argument, NULL, OPT_HELP },
    { NULL, 0, NULL, 0 },
};

struct plan {
    enum action action;
    const char *path;
    struct drive_options drive;
    struct shape shape;
    bool has_reserve;
    uint64_t ops, warm, cache;
    unsigned injectors;
    bool pin;
    struct inject_options inject;
    const char *label;
    double percentiles[PERCENTILES_MAX];
    unsigned percentile_count;
};

/* ---- options ------------------------------------------------------------ */

static _Noreturn void __attribute__((format(printf, 1, 2)))
usage(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("kvstore: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_USAGE);
}

/* The place of a word among those that are valid; -1 if it is none of them. */
static int place_of(const char *text, const char *const *names)
{
    for (int i = 0; names[i]; i++) {
        if (!strcmp(text, names[i])) {
            return i;
        }
    }
    return -1;
}

/* Digits, then maybe one of k, m, g; what follows is left to the caller. */
static bool number_at(const char **text, uint64_t *value)
{
    static const char units[] = "kmg";
    const char *unit;
    char *end;

    errno = 0;
    *value = strtoull(*text, &end, 10);
    if (errno || **text < '0' || **text > '9') {
        return false;
    }
    unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        int shift = 10 * (unit - units + 1);

        if (*value > UINT64_MAX >> shift) {
            return false;
        }
        *value <<= shift;
        end++;
    }
    *text = end;
    return true;
}

static uint64_t number(const char *option, uint64_t low, uint64_t high)
{
    const char *text = optarg;
    uint64_t value;

    if (!number_at(&text, &value) || *text || value < low || value > high) {
        usage("--%s=%s: valid: %" PRIu64 " to %" PRIu64, option, optarg, low,
              high);
    }
    return value;
}

static void parse_scan(struct plan *p)
{
    const char *text = optarg;
    uint64_t least = 0, most = 0;
    bool good = number_at(&text, &least);

    most = least;
    if (good && *text == '-') {
        text++;
        good = number_at(&text, &most);
    }
    if (!good || *text || !least || most < least || most > SCAN_MAX) {
        usage("--scan=%s: valid: a number of items, or the least and the most, "
              "such as 1-100, from 1 to %u", optarg, SCAN_MAX);
    }
    p->inject.scan_least = least;
    p->inject.scan_most = most;
}

static void parse_percentiles(struct plan *p)
{
    const char *text = optarg;
    char *end;

    p->percentile_count = 0;
    for (;; text = end + 1) {
        double one = strtod(text, &end);

        if (end == text || !(one > 0 && one <= 100) || (*end && *end != ',') ||
            p->percentile_count == PERCENTILES_MAX) {
            usage("--percentiles=%s: valid: up to %u numbers above 0, at most "
                  "100, with commas between them", optarg, PERCENTILES_MAX);
        }
        p->percentiles[p->percentile_count++] = one;
        if (!*end) {
            return;
        }
    }
}

static void parse_label(struct plan *p)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    if (!strchr(first, optarg[0]) || !optarg[0] ||
        strspn(optarg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
               "0123456789_.-") != strlen(optarg)) {
        usage("--label=%s: valid: a letter, then letters, digits, '_', '.' and "
              "'-'", optarg);
    }
    p->label = optarg;
}

static void parse_hints(struct plan *p)
{
    int hints = place_of(optarg, hint_names);

    if (hints < 0) {
        usage("--hints=%s: valid: kernel, none, urgent, barrier", optarg);
    }
    p->drive.hints = hints;
}

static void parse_keys(struct plan *p)
{
    int keys = place_of(optarg, keys_names);

    if (keys < 0) {
        usage("--keys=%s: valid: published, uniform", optarg);
    }
    p->inject.uniform = keys;
}

static void parse_workload(struct plan *p)
{
    p->inject.mix = mix_find(optarg);
    if (!p->inject.mix) {
        usage("--workload=%s: valid: a, b, c, d, e, f, insert, "
              "update", optarg);
    }
}

static void parse_load(struct plan *p, int option)
{
    switch (option) {
    case OPT_RECORDS:
        p->shape.records = number("records", 2, RECORDS_MAX);
        break;
    case OPT_RESERVE:
        p->shape.reserve = number("reserve", 0, RECORDS_MAX);
        p->has_reserve = true;
        break;
    case OPT_ITEM_SIZE:
        p->shape.item_bytes = number("item-size", ITEM_LEAST, ITEM_MOST);
        if (p->shape.item_bytes & (p->shape.item_bytes - 1)) {
            usage("--item-size=%s: valid: 64, 128, 256, 512, 1024, 2048, 4096",
                  optarg);
        }
        break;
    default:
        p->shape.workers = number("workers", 1, WORKERS_MAX);
    }
}

static void parse_run(struct plan *p, int option)
{
    switch (option) {
    case OPT_WORKLOAD:
        parse_workload(p);
        break;
    case OPT_OPS:
        p->ops = number("ops", 1, OPS_MOST);
        break;
    case OPT_WARM:
        p->warm = number("warm", 0, OPS_MOST);
        break;
    case OPT_INJECTORS:
        p->injectors = number("injectors", 1, INJECTORS_MAX);
        break;
    case OPT_INFLIGHT:
        p->inject.inflight = number("inflight", 1, 1 << 20);
        break;
    case OPT_RATE:
        p->inject.rate = number("rate", 0, RATE_MOST);
        break;
    case OPT_DEPTH:
        p->drive.depth = number("depth", 1, DEPTH_MAX);
        break;
    case OPT_CACHE:
        p->cache = number("cache", PAGE_BYTES, CACHE_MOST);
        break;
    case OPT_KEYS:
        parse_keys(p);
        break;
    case OPT_SCAN:
        parse_scan(p);
        break;
    case OPT_HINTS:
        parse_hints(p);
        break;
    case OPT_SYNC:
        p->drive.sync = true;
        break;
    case OPT_PIN:
        p->pin = true;
        break;
    case OPT_SEED:
        p->inject.seed = number("seed", 0, UINT32_MAX);
        break;
    case OPT_LABEL:
        parse_label(p);
        break;
    default:
        parse_percentiles(p);
    }
}

static void parse_drive(struct plan *p, int option)
{
    int engine;

    switch (option) {
    case OPT_ENGINE:
        engine = place_of(optarg, engine_names);
        if (engine < 0) {
            usage("--engine=%s: valid: kernel, user:poll, user:interrupt, "
                  "user:coalesced", optarg);
        }
        p->drive.engine = engine;
        break;
    case OPT_IRQ_COST:
        p->drive.irq_cost_ns = number("irq-cost", 0, IRQ_COST_MOST);
        break;
    default:
        p->drive.buffered = true;
    }
}

/* What only the kernel's driver has, and what only ours. */
static void check_engine(const struct plan *p)
{
    if (p->drive.engine == ENGINE_KERNEL && p->drive.irq_cost_ns) {
        usage("--irq-cost goes with --engine=user:poll, user:interrupt and "
              "user:coalesced");
    }
    if (p->drive.engine != ENGINE_KERNEL && p->drive.buffered) {
        usage("--buffered goes with --engine=kernel");
    }
}

static void parse_one(struct plan *p, int option)
{
    if (option == OPT_HELP) {
        fputs(help, stdout);
        exit(EXIT_SUCCESS);
    }
    if (option < 1 || option > OPT_HELP) {
        /* getopt has said what is wrong */
        exit(EXIT_USAGE);
    }
    if (option >= OPT_ENGINE) {
        parse_drive(p, option);
    } else if (option <= OPT_WORKERS) {
        if (p->action != LOAD) {
            usage("--%s is decided by kvstore load", options[option - 1].name);
        }
        parse_load(p, option);
    } else {
        if (p->action != RUN) {
            usage("--%s is an option of kvstore run", options[option - 1].name);
        }
        parse_run(p, option);
    }
}

static void parse(struct plan *p, int argc, char **argv)
{
    int option, action;

    if (argc > 1 && !strcmp(argv[1], "--help")) {
        parse_one(p, OPT_HELP);
    }
    action = argc > 1 ? place_of(argv[1], actions) : -1;
    if (action < 0) {
        usage("%s%swhat to do comes first: load, run or check; see kvstore "
              "--help", argc > 1 ? argv[1] : "", argc > 1 ? ": " : "");
    }
    p->action = action;
    optind = 2;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        parse_one(p, option);
    }
    if (optind != argc - 1) {
        usage("give one file; see kvstore --help");
    }
    check_engine(p);
    p->path = argv[optind];
    if (!p->has_reserve) {
        p->shape.reserve = p->shape.records / 8;
    }
}

/* ---- the run ------------------------------------------------------------ */

struct running {
    const struct plan *plan;
    struct store store;
    struct worker workers[WORKERS_MAX];
    struct client clients[INJECTORS_MAX];
    struct injector *injectors;
};

static void check_cache(const struct plan *p, const struct store *store)
{
    uint64_t least = (uint64_t)store->shape.workers * (p->drive.depth + 1) *
                     PAGE_BYTES;

    if (p->cache < least) {
        usage("--cache=%" PRIu64 ": valid: at least %" PRIu64 ", a page more "
              "for each worker than its batch has", p->cache, least);
    }
}

/* Fails before the run for lack of room that would most likely end it. */
static void check_room(const struct plan *p, const struct store *store)
{
    uint64_t total = p->ops + p->warm;
    uint64_t wanted = total * p->inject.mix->percent[OP_INSERT] / 100;
    uint64_t room = store->shape.records + store->shape.reserve -
                    atomic_load(&store->there);

    if (wanted > room) {
        usage("--ops=%" PRIu64 ": workload %s would insert some %" PRIu64
              " records, and the store has room for %" PRIu64 "; valid: fewer "
              "operations, or kvstore load with a larger --reserve", p->ops,
              p->inject.mix->name, wanted, room);
    }
}

static void start(struct running *run)
{
    const struct plan *p = run->plan;
    unsigned workers = run->store.shape.workers;
    struct worker_options worker = { .cpu = -1 };
    struct inject_options inject = p->inject;
    unsigned shared = 4 * p->drive.depth * workers / p->injectors;

    worker.cache_pages = p->cache / PAGE_BYTES / workers;
    inject.inflight = inject.inflight ? inject.inflight : shared ? shared : 1;
    inject.rate /= p->injectors;
    run->injectors = util_zeroed(p->injectors, sizeof(*run->injectors));
    for (unsigned i = 0; i < p->injectors; i++) {
        injector_init(&run->injectors[i], &run->store, run->workers,
                      &run->clients[i], i, inject);
    }
    for (unsigned i = 0; i < workers; i++) {
        worker.cpu = p->pin ? (int)i : -1;
        worker_start(&run->workers[i], &run->store, i, worker, run->clients,
                     p->injectors);
    }
}

static void end(struct running *run)
{
    for (unsigned i = 0; i < run->store.shape.workers; i++) {
        worker_end(&run->workers[i]);
    }
    for (unsigned i = 0; i < run->plan->injectors; i++) {
        injector_free(&run->injectors[i]);
    }
    free(run->injectors);
}

/* In ns: how long it was, and the CPU time that this process had meanwhile. */
struct spell {
    uint64_t took, own;
};

/* All injectors do @ops operations together. */
static struct spell phase(struct running *run, uint64_t ops)
{
    unsigned count = run->plan->injectors;
    struct spell begin = { util_now(), util_own() };

    for (unsigned i = 0; i < count; i++) {
        injector_start(&run->injectors[i], ops / count + (i < ops % count));
    }
    for (unsigned i = 0; i < count; i++) {
        injector_join(&run->injectors[i]);
    }
    return (struct spell) { util_now() - begin.took, util_own() - begin.own };
}

/* ---- what it tells ------------------------------------------------------ */

static void __attribute__((format(printf, 3, 5)))
tell(const struct plan *p, const char *unit, const char *name, double value,
     ...)
{
    va_list args;

    va_start(args, value);
    printf("cint-metric %s%s", p->label ? p->label : "", p->label ? "." : "");
    vprintf(name, args);
    printf(" %.6g%s%s\n", value, *unit ? " " : "", unit);
    va_end(args);
}

/* Under the name of an operation with a dot, or none: all of them. */
static void tell_hist(const struct plan *p, const char *name,
                      const struct hist *h)
{
    if (!h->count) {
        return;
    }
    tell(p, "", "%scount", h->count, name);
    tell(p, "us", "%smean", hist_mean(h) / 1000, name);
    for (unsigned i = 0; i < p->percentile_count; i++) {
        tell(p, "us", "%sp%g", hist_percentile(h, p->percentiles[i]) / 1000,
             name, p->percentiles[i]);
    }
}

static void tell_times(const struct running *run)
{
    struct hist *all = util_zeroed(OPS + 1, sizeof(*all));

    for (enum op op = 0; op < OPS; op++) {
        char name[16];

        for (unsigned i = 0; i < run->store.shape.workers; i++) {
            hist_join(&all[op], &run->workers[i].times[op]);
        }
        hist_join(&all[OPS], &all[op]);
        snprintf(name, sizeof(name), "%s.", op_names[op]);
        tell_hist(run->plan, name, &all[op]);
    }
    tell_hist(run->plan, "", &all[OPS]);
    free(all);
}

static struct counts total(const struct running *run)
{
    struct counts all = { 0 };

    for (unsigned i = 0; i < run->store.shape.workers; i++) {
        const struct counts *one = &run->workers[i].counts;

        all.verified += one->verified;
        all.reads += one->reads;
        all.writes += one->writes;
        all.hits += one->hits;
        all.requests += one->requests;
        all.batches += one->batches;
    }
    return all;
}

/* Nothing of a machine that has no NVMe drive, or does not count. */
static void tell_machine(const struct plan *p, uint64_t ios,
                         const struct machine *before,
                         const struct machine *after)
{
    uint64_t interrupts = after->interrupts - before->interrupts;
    uint64_t ticks = after->ticks - before->ticks;

    if (interrupts) {
        tell(p, "", "interrupts", interrupts);
        tell(p, "", "ios_per_irq", (double)ios / interrupts);
    }
    if (ticks) {
        tell(p, "%", "cpu", 100.0 * (after->busy - before->busy) / ticks);
    }
}

static void tell_all(const struct running *run, struct spell spell,
                     const struct machine *before, const struct machine *after)
{
    const struct plan *p = run->plan;
    struct counts counts = total(run);
    double seconds = spell.took / 1e9;
    uint64_t ios = counts.reads + counts.writes;

    tell(p, "1/s", "throughput", p->ops / seconds);
    tell_times(run);
    tell(p, "1/s", "ios", ios / seconds);
    tell(p, "", "reads", counts.reads);
    tell(p, "", "writes", counts.writes);
    tell(p, "", "batch", counts.batches ? (double)ios / counts.batches : 0);
    tell(p, "%", "hits", counts.requests ?
         100.0 * counts.hits / counts.requests : 0);
    tell(p, "", "verified", counts.verified);
    tell_machine(p, ios, before, after);
    tell(p, "%", "own_cpu", 100.0 * spell.own / spell.took);
}

static uint64_t entries(const struct store *store)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < store->shape.workers; i++) {
        all += store->regions[i].index.entries;
    }
    return all;
}

/* At the end what the disk has is what memory has. */
static int audit(const struct plan *p, struct store *store)
{
    uint64_t good = store_audit(store);
    uint64_t faults = atomic_load(&store->faults);

    tell(p, "", "audited", good);
    tell(p, "", "damaged", faults);
    store_close(store);
    if (faults) {
        util_fail("%s: %" PRIu64 " items were damaged", p->path, faults);
    }
    return EXIT_SUCCESS;
}

/* ---- actions ------------------------------------------------------------ */

static int do_load(const struct plan *p)
{
    static struct store store;

    store_load(&store, p->path, p->shape, p->drive);
    tell(p, "", "loaded", p->shape.records);
    store_close(&store);
    return EXIT_SUCCESS;
}

static int do_check(const struct plan *p)
{
    static struct store store;

    /* that is what checks it */
    store_open(&store, p->path, p->drive);
    tell(p, "", "items", entries(&store));
    store_close(&store);
    return EXIT_SUCCESS;
}

static int do_run(const struct plan *p)
{
    static struct running run;
    struct machine before, after;
    struct spell spell;

    run.plan = p;
    store_open(&run.store, p->path, p->drive);
    check_cache(p, &run.store);
    check_room(p, &run.store);
    start(&run);
    if (p->warm) {
        phase(&run, p->warm);
    }
    for (unsigned i = 0; i < run.store.shape.workers; i++) {
        worker_forget(&run.workers[i]);
    }
    before = machine_look();
    spell = phase(&run, p->ops);
    after = machine_look();
    tell_all(&run, spell, &before, &after);
    end(&run);
    return audit(p, &run.store);
}

int main(int argc, char **argv)
{
    static int (*const acts[])(const struct plan *) = {
        [LOAD] = do_load, [RUN] = do_run, [CHECK] = do_check,
    };
    struct plan plan = {
        .shape = { .records = 65536, .item_bytes = 1024, .workers = 2 },
        .ops = 20000,
        .cache = 8 << 20,
        .injectors = 4,
        .drive = { .depth = 64 },
        .inject = { .mix = mix_find("a"), .scan_least = 1, .scan_most = 100,
                    .seed = 1 },
        .percentiles = { 50, 99, 99.9 },
        .percentile_count = 3,
    };

    parse(&plan, argc, argv);
    return acts[plan.action](&plan);
}
