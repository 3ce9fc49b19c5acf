/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The command line. What is typed for a policy is read by words.c.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "event.h"
#include "options.h"
#include "words.h"

#define DEFAULT_CQ_SIZE     1024
#define LARGEST_CQ_SIZE     65536
#define SMALLEST_SCALE      0.1
#define LARGEST_SCALE       64.0
#define LONGEST_PRICE_NS    1000000000
#define MOST_THREADS        1024

static uint64_t number_option(const char *option, const char *text,
                              uint64_t min, uint64_t max)
{
    uint64_t value;

    if (!parse_number(text, strlen(text), min, max, &value)) {
        usage_error("%s %s: expected a number from %" PRIu64 " to %" PRIu64,
                    option, text, min, max);
    }
    return value;
}

static bool on_off_option(const char *option, const char *text)
{
    if (strcmp(text, "on") && strcmp(text, "off")) {
        usage_error("%s %s: expected on or off", option, text);
    }
    return !strcmp(text, "on");
}

static Extras extras_option(const char *text)
{
    static const char *const names[] = {
        [EXTRAS_ON]     = "on",
        [EXTRAS_OFF]    = "off",
        [EXTRAS_PAPERS] = "papers",
        [EXTRAS_DEVICE] = "device",
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(names); i++) {
        if (!strcmp(names[i], text)) {
            return i;
        }
    }
    usage_error("--extras %s: expected on or off, papers or device", text);
}

static double scale_option(const char *text)
{
    char *end;
    double scale = g_ascii_strtod(text, &end);

    if (end == text || *end || !(scale >= SMALLEST_SCALE) ||
        !(scale <= LARGEST_SCALE)) {
        usage_error("--cpu-scale %s: expected a number from %g to %g", text,
                    SMALLEST_SCALE, LARGEST_SCALE);
    }
    return scale;
}

static int64_t guest_option(const char *text)
{
    uint64_t ns;

    if (!strcmp(text, "eager")) {
        return GUEST_EAGER;
    }
    if (!strcmp(text, "trace")) {
        return GUEST_TRACE;
    }
    if (!parse_time(text, strlen(text), TIME_MAX, &ns)) {
        usage_error("--reap %s: expected eager, trace or the ns from the "
                    "interrupt to the guest's reaping", text);
    }
    return ns;
}

static uint64_t price_option(const char *text)
{
    uint64_t ns;

    if (!parse_time(text, strlen(text), LONGEST_PRICE_NS, &ns) || !ns) {
        usage_error("--optimal %s: expected a time from 1ns to 1s", text);
    }
    return ns;
}

static const char help[] =
"usage: cint-replay [options] [FILE]\n"
"\n"
"Reads a timeline of commands (docs/replay.md) from FILE or standard input and\n"
"prints the interrupts that a policy answers it with, then a summary.\n"
"\n"
"  --policy P[:k=v,...]   the policy and its parameters; several, separated by\n"
"                         commas or each with its --policy, compare them\n"
"  --set k=v              a parameter of all policies, by the name of its\n"
"                         property; may be repeated; one typed with the policy\n"
"                         wins\n"
"  --extras papers|device papers: no drain, no max-hold; device: as the device\n"
"                         has them. In both, cint has ooo=off; cint+ooo is the\n"
"                         other. on (the default): as device, but cint has\n"
"                         ooo=on; off: as on, but no drain, no max-hold, errors\n"
"                         count as successes, and a CQ too large for pressure\n"
"  --cpu-scale K          what is typed and printed is of a machine K times as\n"
"                         fast as FILE's: reported time (default: 1)\n"
"  --guest-time           what is printed is in FILE's own time\n"
"  --cq-size N            entries of the completion queue (default: 1024)\n"
"  --reap WHEN            the guest consumes CQEs: eager (at the interrupt; the\n"
"                         default), a time after it (6us, or a number of ns), or\n"
"                         trace (by the head lines only); --guest is the same\n"
"  --record on|off        whether the guest has status records, which out-of-\n"
"                         order Urgent needs (default: on)\n"
"  --from-trace           FILE is QEMU's log of pci_nvme_cint_* trace events\n"
"  --cq N                 of those, only completion queue N\n"
"  --irqs on|off          print each interrupt (default: on for one policy)\n"
"  --json                 one JSON object a line: interrupts, then the summary\n"
"  --optimal PRICE        the least that interrupts and waiting could have cost,\n"
"                         where an interrupt costs as much as a CQE's wait of\n"
"                         PRICE (2us, or a number of ns), and each policy's cost\n"
"                         as a ratio to it (regret)\n"
"  --hints on|off         whether policies hear the record's hints (default:\n"
"                         on); what they are measured by has them either way\n"
"  --threads N            divide the policies among N threads, and read FILE by\n"
"                         one more (default: as many as there are processors);\n"
"                         1: one thread does everything\n"
"  --lives                replay nothing: what became of each command in FILE,\n"
"                         QEMU's log, as records for ./cint trace\n"
"  --bench                measure this program instead: parser, engine, both\n"
"  --help\n"
"\n"
"Parameters, as the device's properties without 'cint.':\n";

static G_NORETURN void print_help(void)
{
    const CintParam *param;

    fputs(help, stdout);
    for (param = cint_params; param->name; param++) {
        g_autofree char *values = describe_values(param);

        printf("  %-15s %s\n  %15s (%s)\n", param->name, param->help, "",
               values);
    }
    exit(EXIT_SUCCESS);
}

enum {
    OPT_POLICY = 256, OPT_SET, OPT_EXTRAS, OPT_SCALE, OPT_CQ_SIZE, OPT_GUEST,
    OPT_RECORD, OPT_FROM_TRACE, OPT_CQ, OPT_IRQS, OPT_JSON, OPT_BENCH, OPT_HELP,
    OPT_OPTIMAL, OPT_HINTS, OPT_GUEST_TIME, OPT_THREADS, OPT_LIVES,
};

static const struct option long_options[] = {
    { "policy",     required_argument,  NULL, OPT_POLICY },
    { "set",        required_argument,  NULL, OPT_SET },
    { "extras",     required_argument,  NULL, OPT_EXTRAS },
    { "cpu-scale",  required_argument,  NULL, OPT_SCALE },
    { "guest-time", no_argument,        NULL, OPT_GUEST_TIME },
    { "cq-size",    required_argument,  NULL, OPT_CQ_SIZE },
    { "reap",       required_argument,  NULL, OPT_GUEST },
    { "guest",      required_argument,  NULL, OPT_GUEST },
    { "record",     required_argument,  NULL, OPT_RECORD },
    { "from-trace", no_argument,        NULL, OPT_FROM_TRACE },
    { "cq",         required_argument,  NULL, OPT_CQ },
    { "irqs",       required_argument,  NULL, OPT_IRQS },
    { "json",       no_argument,        NULL, OPT_JSON },
    { "lives",      no_argument,        NULL, OPT_LIVES },
    { "bench",      no_argument,        NULL, OPT_BENCH },
    { "optimal",    required_argument,  NULL, OPT_OPTIMAL },
    { "hints",      required_argument,  NULL, OPT_HINTS },
    { "threads",    required_argument,  NULL, OPT_THREADS },
    { "help",       no_argument,        NULL, OPT_HELP },
    { NULL }
};

typedef struct Typed {
    GPtrArray *policies, *sets;
    const char *irqs, *cq_size;
    Extras extras;
    double scale;
    bool guest_time;
} Typed;

static void read_option(Setup *setup, Typed *typed, int option)
{
    switch (option) {
    case OPT_POLICY:
        split_policies(optarg, typed->policies);
        break;
    case OPT_SET:
        g_ptr_array_add(typed->sets, optarg);
        break;
    case OPT_EXTRAS:
        typed->extras = extras_option(optarg);
        break;
    case OPT_SCALE:
        typed->scale = scale_option(optarg);
        break;
    case OPT_GUEST_TIME:
        typed->guest_time = true;
        break;
    case OPT_CQ_SIZE:
        typed->cq_size = optarg;
        break;
    case OPT_GUEST:
        setup->guest = guest_option(optarg);
        setup->guest_given = true;
        break;
    case OPT_RECORD:
        setup->record = on_off_option("--record", optarg);
        break;
    case OPT_FROM_TRACE:
        setup->next = qemu_trace_next;
        setup->traced = true;
        break;
    case OPT_CQ:
        setup->cqid = number_option("--cq", optarg, 1, 65535);
        break;
    case OPT_IRQS:
        typed->irqs = optarg;
        break;
    case OPT_JSON:
        setup->json = true;
        break;
    case OPT_OPTIMAL:
        setup->price_ns = price_option(optarg);
        break;
    case OPT_HINTS:
        setup->deaf = !on_off_option("--hints", optarg);
        break;
    case OPT_THREADS:
        setup->threads = number_option("--threads", optarg, 1, MOST_THREADS);
        break;
    case OPT_LIVES:
        setup->lives = true;
        break;
    case OPT_BENCH:
        setup->bench = true;
        break;
    case OPT_HELP:
        print_help();
    default:
        exit(EXIT_USAGE);
    }
}

static void make_arms(Setup *setup, Typed *typed)
{
    unsigned i;

    if (!typed->policies->len) {
        g_ptr_array_add(typed->policies, g_strdup("cint"));
    }
    g_ptr_array_add(typed->sets, NULL);
    setup->nr_arms = typed->policies->len;
    setup->arm = g_new0(ArmSpec, setup->nr_arms);
    for (i = 0; i < setup->nr_arms; i++) {
        setup->arm[i].name = g_strdup(typed->policies->pdata[i]);
        config_from_words(&setup->arm[i].config, setup->arm[i].name,
                          typed->extras, typed->scale,
                          (char **)typed->sets->pdata);
    }
}

static uint64_t scaled(uint64_t ns, double scale)
{
    return MAX(ns * scale + 0.5, 1);
}

/* What was typed beside the policies, as times of FILE. */
static void scale_times(Setup *setup, const Typed *typed)
{
    setup->scale = typed->guest_time ? 1 : typed->scale;
    if (setup->guest > 0) {
        if (setup->guest * typed->scale > (double)TIME_MAX) {
            usage_error("--reap %" PRId64 "ns: at scale %g a time is %" PRIu64
                        "ns at the most", setup->guest, typed->scale,
                        (uint64_t)(TIME_MAX / typed->scale));
        }
        setup->guest = scaled(setup->guest, typed->scale);
    }
    if (setup->price_ns) {
        setup->price_ns = scaled(setup->price_ns, typed->scale);
    }
}

static void finish_setup(Setup *setup, Typed *typed)
{
    if (setup->price_ns && setup->guest != GUEST_EAGER) {
        usage_error("--optimal goes with --reap eager: who consumes CQEs later "
                    "finds some that no interrupt has told of");
    }
    setup->extras = typed->extras != EXTRAS_OFF;
    scale_times(setup, typed);
    if (setup->traced) {
        /* The traced guest answered the traced interrupts, not these. */
        setup->guest_given = true;
    } else if (setup->cqid >= 0) {
        usage_error("--cq %d: goes with --from-trace only, a timeline has one "
                    "completion queue", setup->cqid);
    }
    setup->cq_size = typed->cq_size ?
                     number_option("--cq-size", typed->cq_size, 2,
                                   LARGEST_CQ_SIZE) :
                     setup->extras ? DEFAULT_CQ_SIZE : LARGEST_CQ_SIZE;
    make_arms(setup, typed);
    setup->irqs = typed->irqs ? on_off_option("--irqs", typed->irqs)
                              : setup->nr_arms == 1;
}

void setup_from_args(Setup *setup, int argc, char **argv)
{
    Typed typed = {
        .policies = g_ptr_array_new_with_free_func(g_free),
        .sets = g_ptr_array_new(),
        .extras = EXTRAS_ON,
        .scale = 1,
    };
    int option;

    *setup = (Setup) {
        .next = timeline_next,
        .guest = GUEST_EAGER,
        .record = true,
        .cqid = -1,
        .threads = g_get_num_processors(),
    };
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        read_option(setup, &typed, option);
    }
    if (argc - optind > 1) {
        usage_error("%s: only one FILE can be read", argv[optind + 1]);
    }
    setup->path = argv[optind];
    finish_setup(setup, &typed);
    g_ptr_array_free(typed.policies, true);
    g_ptr_array_free(typed.sets, true);
}

void setup_free(Setup *setup)
{
    unsigned i;

    for (i = 0; i < setup->nr_arms; i++) {
        g_free(setup->arm[i].name);
    }
    g_free(setup->arm);
}
