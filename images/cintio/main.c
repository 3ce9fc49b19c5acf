/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cintio.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: cintio bind ADDRESS      give a PCI function to vfio-pci\n"
    "       cintio unbind ADDRESS    give it back to the kernel's driver\n"
    "       cintio info ADDRESS      what its controller says\n"
    "       cintio check ADDRESS     overwrite its namespace, verified:\n"
    "           --mode poll|sleep|adaptive|interrupt|coalesced\n"
    "           --policy default|static|adaptive|vic|cint|pointer\n"
    "           --count N     I/Os of each thread (1000)\n"
    "           --threads N   each with a queue pair (1)\n"
    "           --depth N --min N --entries N --blocks N\n"
    "           --sleep NS    of mode sleep\n"
    "           --records     keep interrupt status records\n"
    "           --hints       mark every fourth command Urgent\n"
    "           --delay NS    up to so long between the driver's steps\n"
    "           --omit look|clamp   leave out what keeps wake-ups\n"
    "           --reset MS    reset the controller after so long\n";

static const char *const modes[] = {
    "poll", "sleep", "adaptive", "interrupt", "coalesced", NULL,
};
static const char *const policies[] = {
    "default", "static", "adaptive", "vic", "cint", "pointer", NULL,
};
static const char *const faults[] = { "look", "clamp", NULL };

static int fail(const char *text)
{
    fprintf(stderr, "cintio: %s\n", text);
    return 1;
}

static int choose(const char *what, const char *word, const char *const *of)
{
    for (int i = 0; of[i]; i++) {
        if (!strcmp(word, of[i])) {
            return i;
        }
    }
    fprintf(stderr, "cintio: %s %s is none of:", what, word);
    for (int i = 0; of[i]; i++) {
        fprintf(stderr, " %s", of[i]);
    }
    fprintf(stderr, "\n");
    exit(2);
}

static uint64_t number(const char *what, const char *word, uint64_t min,
                       uint64_t max)
{
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(word, &end, 10);
    if (errno || *end || end == word || value < min || value > max) {
        fprintf(stderr, "cintio: --%s %s: give %llu to %llu\n", what, word,
                (unsigned long long)min, (unsigned long long)max);
        exit(2);
    }
    return value;
}

static int info(const char *address)
{
    struct cintio_error err;
    const struct cintio_info *is;
    struct cintio *dev;

    if (cintio_open(address, NULL, &dev, &err)) {
        return fail(err.text);
    }
    is = cintio_info(dev);
    printf("address %s\nmodel %s\nserial %s\nfirmware %s\nnamespace %u\n"
           "block_size %u\nblocks %llu\nmax_transfer %u\nmax_entries %u\n"
           "queues %u\niommu %s\ncint_caps %x\n", is->address, is->model,
           is->serial, is->firmware, is->nsid, is->block_size,
           (unsigned long long)is->blocks, is->max_transfer, is->max_entries,
           is->queues, is->iommu ? "yes" : "no", is->cint_caps);
    cintio_close(dev);
    return 0;
}

static void take(struct check_options *o, const char *name, const char *value)
{
    if (!strcmp(name, "mode")) {
        o->mode = choose("--mode", value, modes);
    } else if (!strcmp(name, "policy")) {
        o->policy = choose("--policy", value, policies);
    } else if (!strcmp(name, "omit")) {
        bool look = choose("--omit", value, faults) == 0;

        o->no_look |= look;
        o->no_clamp |= !look;
    } else if (!strcmp(name, "count")) {
        o->count = number(name, value, 1, UINT64_C(1) << 40);
    } else if (!strcmp(name, "threads")) {
        o->threads = number(name, value, 1, MAX_THREADS);
    } else if (!strcmp(name, "depth")) {
        o->depth = number(name, value, 1, 65534);
    } else if (!strcmp(name, "min")) {
        o->min = number(name, value, 1, 65534);
    } else if (!strcmp(name, "entries")) {
        o->entries = number(name, value, 2, 65535);
    } else if (!strcmp(name, "blocks")) {
        o->blocks = number(name, value, 1, 65535);
    } else if (!strcmp(name, "sleep")) {
        o->sleep_ns = number(name, value, 0, 1000000000);
    } else if (!strcmp(name, "delay")) {
        o->delay_ns = number(name, value, 0, 1000000000);
    } else if (!strcmp(name, "reset")) {
        o->reset_ms = number(name, value, 1, 60000);
    } else if (!strcmp(name, "records")) {
        o->records = true;
    } else {
        o->hints = true;
    }
}

static int parse_check(int argc, char **argv)
{
    static const struct option known[] = {
        { "mode", 1, NULL, 0 }, { "policy", 1, NULL, 0 },
        { "omit", 1, NULL, 0 }, { "count", 1, NULL, 0 },
        { "threads", 1, NULL, 0 }, { "depth", 1, NULL, 0 },
        { "min", 1, NULL, 0 }, { "entries", 1, NULL, 0 },
        { "blocks", 1, NULL, 0 }, { "sleep", 1, NULL, 0 },
        { "delay", 1, NULL, 0 }, { "reset", 1, NULL, 0 },
        { "records", 0, NULL, 0 }, { "hints", 0, NULL, 0 }, { 0 },
    };
    struct check_options o = {
        .address = argv[0], .mode = CINTIO_INTERRUPT, .policy = -1,
        .count = 1000, .depth = 16, .min = 1, .threads = 1, .blocks = 8,
    };
    int at, got;

    while ((got = getopt_long(argc, argv, "", known, &at)) != -1) {
        if (got) {
            fputs(usage, stderr);
            return 2;
        }
        take(&o, known[at].name, optarg);
    }
    if (!o.entries) {
        o.entries = o.depth + 1 > 256 ? o.depth + 1 : 256;
    }
    if (optind != argc || o.depth >= o.entries) {
        return fail(optind != argc ? "a word too many" :
                    "--depth must be less than --entries");
    }
    return check(&o);
}

int main(int argc, char **argv)
{
    const char *verb = argc > 2 ? argv[1] : "";
    struct cintio_error err;
    int ret;

    if (!strcmp(verb, "check")) {
        return parse_check(argc - 2, argv + 2);
    }
    if (argc != 3) {
        fputs(usage, stderr);
        return 2;
    }
    if (!strcmp(verb, "info")) {
        return info(argv[2]);
    }
    if (strcmp(verb, "bind") && strcmp(verb, "unbind")) {
        fputs(usage, stderr);
        return 2;
    }
    ret = *verb == 'b' ? cintio_bind(argv[2], &err)
                       : cintio_unbind(argv[2], &err);
    return ret ? fail(err.text) : 0;
}
