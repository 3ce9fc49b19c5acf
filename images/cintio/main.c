/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tool.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INFO    16

static const char *const modes[] = {
    "poll", "sleep", "adaptive", "interrupt", "coalesced", NULL,
};
static const char *const policies[] = {
    "default", "static", "adaptive", "vic", "cint", "pointer", NULL,
};
#ifdef CINTIO_TEST
static const char *const faults[] = { "early", "clamp", NULL };
#endif

static const char *const children[] = { "none", "fork", "clone", NULL };

/*
 * An option of a verb: one of @words, whose index goes to an int; a number
 * from @min to @max, to a uint64_t; or, with neither, a bool that becomes true.
 */
struct known {
    const char *name;
    size_t at;                  /* in the verb's options */
    const char *const *words;
    uint64_t min, max;
    const char *help;
};

#define AT(field) offsetof(struct check_options, field)
static const struct known check_known[] = {
    { "mode", AT(mode), .words = modes, .help = "how it waits (interrupt)" },
    { "policy", AT(policy), .words = policies,
      .help = "the queues' (as it is)" },
    { "count", AT(count), .min = 1, .max = UINT64_C(1) << 40,
      .help = "I/Os of each thread (1000)" },
    { "threads", AT(threads), .min = 1, .max = MAX_THREADS,
      .help = "each with a queue pair (1)" },
    { "depth", AT(depth), .min = 1, .max = 65534,
      .help = "I/Os at the same time (16)" },
    { "min", AT(min), .min = 1, .max = 65534,
      .help = "completions to wait for (1)" },
    { "entries", AT(entries), .min = 2, .max = 65535,
      .help = "of each queue (256 or what depth needs, if it has so many)" },
    { "blocks", AT(blocks), .min = 1, .max = 65535,
      .help = "of each I/O (8)" },
    { "sleep", AT(sleep_ns), .max = 1000000000, .help = "ns, of mode sleep" },
    { "records", AT(records), .help = "keep interrupt status records" },
    { "hints", AT(hints), .help = "mark every fourth command Urgent" },
    { "fua", AT(fua), .help = "write to the medium, past caches" },
    { "nsid", AT(nsid), .min = 1, .max = UINT32_MAX - 1,
      .help = "namespace (1)" },
    { "pieces", AT(pieces), .min = 1, .max = MAX_PIECES,
      .help = "of the data of each I/O (1)" },
#ifdef CINTIO_TEST
    { "delay", AT(delay_ns), .max = 1000000000,
      .help = "up to so many ns between the driver's steps" },
    { "fault", AT(fault), .words = faults,
      .help = "do what loses wake-ups" },
#endif
    { "any", AT(any), .help = "wait for 1 to min, take 1 to 64, at random" },
    { "reset", AT(reset_ms), .min = 1, .max = 60000,
      .help = "ms, then the controller is reset" },
    { "resets", AT(resets_ms), .min = 1, .max = 60000,
      .help = "ms, again and again; what is lost is done again" },
};
#undef AT
#define AT(field) offsetof(struct hold_options, field)
static const struct known hold_known[] = {
    { "depth", AT(depth), .min = 1, .max = 65534,
      .help = "reads under way (0)" },
    { "child", AT(child), .words = children,
      .help = "outlives it (none)" },
    { "ballast", AT(ballast_mib), .min = 1, .max = 1 << 20,
      .help = "MiB that it has besides (0)" },
};
#define NR(known) (sizeof(known) / sizeof((known)[0]))
#define MAX_KNOWN 32
_Static_assert(NR(check_known) <= MAX_KNOWN, "parse() has room for all");

static const char verbs[] =
    "usage: cintio bind [--force] ADDRESS  give a controller that nothing uses\n"
    "                                to vfio-pci; force: also one that is used\n"
    "       cintio unbind ADDRESS    give it back to the kernel's driver\n"
    "       cintio info ADDRESS...   what its controller says\n"
    "       cintio check ADDRESS     overwrite its namespace, verified:\n";
static const char test_verbs[] =
    "for tests:\n"
    "       cintio pages MS          take all huge pages that come; watch them\n"
    "       cintio hold ADDRESS      have it until the kernel asks for it:\n";

static void print_words(const char *const *words)
{
    for (int i = 0; words[i]; i++) {
        fprintf(stderr, " %s", words[i]);
    }
    fprintf(stderr, "\n");
}

static void print_known(const struct known *known, size_t nr)
{
    for (const struct known *o = known; o < known + nr; o++) {
        fprintf(stderr, "           --%-8s%-5s %s\n", o->name,
                o->words ? "WORD" : o->max ? "N" : "", o->help);
        if (o->words) {
            fprintf(stderr, "%*s", 28, "");
            print_words(o->words);
        }
    }
}

static int print_usage(void)
{
    fputs(verbs, stderr);
    print_known(check_known, NR(check_known));
    fputs(test_verbs, stderr);
    print_known(hold_known, NR(hold_known));
    return 2;
}

static int fail(const char *text)
{
    fprintf(stderr, "cintio: %s\n", text);
    return 1;
}

static int choose(const struct known *o, const char *word)
{
    for (int i = 0; o->words[i]; i++) {
        if (!strcmp(word, o->words[i])) {
            return i;
        }
    }
    fprintf(stderr, "cintio: --%s %s is none of:", o->name, word);
    print_words(o->words);
    exit(2);
}

static uint64_t number(const struct known *o, const char *word)
{
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(word, &end, 10);
    if (errno || *end || end == word || value < o->min || value > o->max) {
        fprintf(stderr, "cintio: --%s %s: give %llu to %llu\n", o->name, word,
                (unsigned long long)o->min, (unsigned long long)o->max);
        exit(2);
    }
    return value;
}

/* All of them, of which the lines before are about one. */
static void print_namespaces(struct cintio *dev)
{
    const struct cintio_namespace *ns;
    struct cintio_error err;
    uint32_t ids[1024];
    int n = cintio_namespaces(dev, ids, 1024, &err);

    for (int i = 0; i < n; i++) {
        if (cintio_namespace_open(dev, ids[i], &ns, &err)) {
            printf("namespaces[%u] %s\n", ids[i], err.text);
        } else {
            printf("namespaces[%u] %llu blocks of %u bytes\n", ids[i],
                   (unsigned long long)ns->blocks, ns->block_size);
        }
    }
}

static void print_info(struct cintio *dev)
{
    const struct cintio_info *is = cintio_info(dev);

    printf("address %s\nmodel %s\nserial %s\nfirmware %s\nnamespace %u\n"
           "block_size %u\nblocks %llu\nmax_transfer %u\nmax_entries %u\n"
           "queues %u\niommu %s\nsgl %s\ncint_caps %x\n", is->address,
           is->model, is->serial, is->firmware, is->nsid, is->block_size,
           (unsigned long long)is->blocks, is->max_transfer, is->max_entries,
           is->queues, is->iommu ? "yes" : "no", is->sgl ? "yes" : "no",
           is->cint_caps);
    print_namespaces(dev);
}

/* All are opened before the first is closed: they may share an IOMMU group. */
static int info(char **addresses, int n)
{
    struct cintio *devs[MAX_INFO];
    struct cintio_error err;
    int opened = 0, ret = 0;

    if (n > MAX_INFO) {
        return fail("too many controllers at a time");
    }
    while (opened < n && !ret) {
        ret = cintio_open(addresses[opened], NULL, &devs[opened], &err);
        opened += !ret;
    }
    for (int i = 0; i < opened; i++) {
        if (!ret) {
            print_info(devs[i]);
        }
        cintio_close(devs[i]);
    }
    return ret ? fail(err.text) : 0;
}

static void take(void *options, const struct known *o,
                 const char *value)
{
    void *field = (char *)options + o->at;

    if (o->words) {
        *(int *)field = choose(o, value);
    } else if (o->max) {
        *(uint64_t *)field = number(o, value);
    } else {
        *(bool *)field = true;
    }
}

/* What follows a verb's address, to @options; or an exit status. */
static int parse(const struct known *known, size_t nr, void *options, int argc,
                 char **argv)
{
    struct option names[MAX_KNOWN + 1] = { 0 };
    int at, got;

    for (size_t i = 0; i < nr; i++) {
        names[i].name = known[i].name;
        names[i].has_arg = known[i].words || known[i].max;
    }
    while ((got = getopt_long(argc, argv, "", names, &at)) != -1) {
        if (got) {
            return print_usage();
        }
        take(options, &known[at], optarg);
    }
    return optind == argc ? 0 : fail("a word too many");
}

static int parse_check(int argc, char **argv)
{
    struct check_options o = {
        .address = argv[0], .mode = CINTIO_INTERRUPT, .policy = -1, .fault = -1,
        .count = 1000, .depth = 16, .min = 1, .threads = 1, .blocks = 8,
        .pieces = 1,
    };
    int ret = parse(check_known, NR(check_known), &o, argc, argv);

    return ret ? ret : check(&o);
}

static int parse_hold(int argc, char **argv)
{
    struct hold_options o = { .address = argv[0] };
    int ret = parse(hold_known, NR(hold_known), &o, argc, argv);

    return ret ? ret : hold(&o);
}

static int parse_pages(const char *ms)
{
    static const struct known time = { .name = "pages", .min = 1,
                                       .max = 3600000 };

    return take_pages(number(&time, ms));
}

static int parse_bind(int argc, char **argv)
{
    const char *address = NULL;
    unsigned int flags = 0;
    struct cintio_error err;
    int ret;

    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "--force")) {
            flags |= CINTIO_FORCE;
        } else if (*argv[i] == '-' || address) {
            return print_usage();
        } else {
            address = argv[i];
        }
    }
    if (!address) {
        return print_usage();
    }
    ret = cintio_bind(address, flags, &err);
    if (ret) {
        fail(err.text);
    }
    if (ret == -EBUSY) {
        fail("end that first, or take it by cintio bind --force");
    }
    return ret != 0;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 2 ? argv[1] : "";
    struct cintio_error err;

    if (!strcmp(verb, "check")) {
        return parse_check(argc - 2, argv + 2);
    }
    if (!strcmp(verb, "hold")) {
        return parse_hold(argc - 2, argv + 2);
    }
    if (!strcmp(verb, "bind")) {
        return parse_bind(argc - 2, argv + 2);
    }
    if (!strcmp(verb, "info")) {
        return info(argv + 2, argc - 2);
    }
    if (argc != 3) {
        return print_usage();
    }
    if (!strcmp(verb, "pages")) {
        return parse_pages(argv[2]);
    }
    if (strcmp(verb, "unbind")) {
        return print_usage();
    }
    return cintio_unbind(argv[2], &err) ? fail(err.text) : 0;
}
