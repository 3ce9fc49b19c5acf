/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The command line. Names, ranges and defaults of parameters come from the
 * engine's own table.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

#define DEFAULT_CQ_SIZE     1024
#define LARGEST_CQ_SIZE     65536

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && !memcmp(word, text, length);
}

const CintParam *find_param(const char *name, size_t length)
{
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        if (is_word(param->name, name, length)) {
            return param;
        }
    }
    return NULL;
}

bool is_policy(const CintParam *param)
{
    return param->offset == offsetof(CintConfig, policy);
}

char *describe_params(void)
{
    GString *text = g_string_new(NULL);
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        g_string_append_printf(text, "%s%s", text->len ? ", " : "",
                               param->name);
    }
    return g_string_free(text, FALSE);
}

char *describe_values(const CintParam *param)
{
    if (param->type == CINT_PARAM_BOOL) {
        return g_strdup("on or off");
    }
    if (param->type == CINT_PARAM_ENUM) {
        return g_strjoinv(", ", (char **)param->values);
    }
    return g_strdup_printf("%" PRIu64 " to %" PRIu64, param->min, param->max);
}

static bool parse_number(const char *text, size_t length, uint64_t min,
                         uint64_t max, uint64_t *value)
{
    g_autofree char *copy = g_strndup(text, length);

    return g_ascii_string_to_unsigned(copy, 10, min, max, value, NULL);
}

bool parse_value(const CintParam *param, const char *text, size_t length,
                 uint64_t *value)
{
    uint64_t i;

    switch (param->type) {
    case CINT_PARAM_BOOL:
        *value = is_word("on", text, length);
        return *value || is_word("off", text, length);
    case CINT_PARAM_ENUM:
        for (i = 0; param->values[i]; i++) {
            if (is_word(param->values[i], text, length)) {
                *value = i;
                return true;
            }
        }
        return false;
    case CINT_PARAM_UINT:
        return parse_number(text, length, param->min, param->max, value);
    }
    return false;
}

/*
 * --policy and --set
 */

static void set_param(CintConfig *config, const char *option, const char *text)
{
    const char *equals = strchr(text, '=');
    g_autofree char *values = NULL, *known = NULL;
    const CintParam *param;

    if (!equals) {
        usage_error("%s %s: expected <parameter>=<value>", option, text);
    }
    param = find_param(text, equals - text);
    if (!param) {
        known = describe_params();
        usage_error("%s %s: the parameters are %s", option, text, known);
    }
    if (is_policy(param)) {
        usage_error("%s %s: the policy is given as --policy NAME", option,
                    text);
    }
    if (!parse_value(param, equals + 1, strlen(equals + 1),
                     cint_config_field(config, param))) {
        values = describe_values(param);
        usage_error("%s %s: %s is %s", option, text, param->name, values);
    }
}

/* NAME or NAME:parameter=value,... */
static void parse_policy(ArmSpec *arm)
{
    g_auto(GStrv) word = NULL;
    const char *colon = strchr(arm->name, ':');
    size_t length = colon ? (size_t)(colon - arm->name) : strlen(arm->name);
    const CintParam *policy = find_param("policy", strlen("policy"));
    g_autofree char *values = describe_values(policy);
    unsigned i;

    if (!parse_value(policy, arm->name, length, &arm->config.policy)) {
        usage_error("--policy %s: the policies are %s", arm->name, values);
    }
    word = g_strsplit(colon ? colon + 1 : "", ",", -1);
    for (i = 0; word[i]; i++) {
        set_param(&arm->config, "--policy", word[i]);
    }
}

/*
 * As the papers' figures and the golden vectors are to be read. Where the
 * policy needs the limit for its own good it becomes as long as can be.
 */
static void drop_extras(ArmSpec *arm)
{
    const CintParam *hold = find_param("max-hold", strlen("max-hold"));
    CintConfig *config = &arm->config;

    config->drain = CINT_OFF;
    config->max_hold_ns = 0;
    if (cint_config_conflict(config)) {
        config->max_hold_ns = hold->max;
    }
}

static void make_arm(ArmSpec *arm, bool extras, char **set)
{
    const char *conflict;

    cint_config_init(&arm->config);
    /* The policy decides what goes without extras; what is typed wins. */
    parse_policy(arm);
    if (!extras) {
        drop_extras(arm);
    }
    for (; *set; set++) {
        set_param(&arm->config, "--set", *set);
    }
    parse_policy(arm);
    conflict = cint_config_conflict(&arm->config);
    if (conflict) {
        usage_error("--policy %s: %s", arm->name, conflict);
    }
}

/*
 * The rest
 */

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

static int64_t guest_option(const char *text)
{
    uint64_t ns;

    if (!strcmp(text, "eager")) {
        return GUEST_EAGER;
    }
    if (!strcmp(text, "trace")) {
        return GUEST_TRACE;
    }
    if (!parse_number(text, strlen(text), 0, TIME_MAX, &ns)) {
        usage_error("--guest %s: expected eager, trace or the ns from the "
                    "interrupt to the guest's reaping", text);
    }
    return ns;
}

static const char help[] =
"usage: cint-replay [options] [FILE]\n"
"\n"
"Reads a timeline of commands (docs/replay.md) from FILE or standard input and\n"
"prints the interrupts that a policy answers it with, then a summary.\n"
"\n"
"  --policy P[:k=v,...]   the policy and its parameters; several compare them\n"
"  --set k=v              a parameter of all policies; may be repeated\n"
"  --extras on|off        off: no drain, no max-hold, errors count as successes,\n"
"                         and a CQ too large for pressure (default: on)\n"
"  --cq-size N            entries of the completion queue (default: 1024)\n"
"  --guest WHO            when the guest consumes CQEs: eager (at the interrupt;\n"
"                         the default), a number of ns after it, or trace (by\n"
"                         the head lines only)\n"
"  --record on|off        whether the guest has status records, which out-of-\n"
"                         order Urgent needs (default: on)\n"
"  --from-trace           FILE is QEMU's log of pci_nvme_cint_* trace events\n"
"  --cq N                 of those, only completion queue N\n"
"  --irqs on|off          print each interrupt (default: on for one policy)\n"
"  --json                 one JSON object a line: interrupts, then the summary\n"
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
    OPT_POLICY = 256, OPT_SET, OPT_EXTRAS, OPT_CQ_SIZE, OPT_GUEST, OPT_RECORD,
    OPT_FROM_TRACE, OPT_CQ, OPT_IRQS, OPT_JSON, OPT_BENCH, OPT_HELP,
};

static const struct option long_options[] = {
    { "policy",     required_argument,  NULL, OPT_POLICY },
    { "set",        required_argument,  NULL, OPT_SET },
    { "extras",     required_argument,  NULL, OPT_EXTRAS },
    { "cq-size",    required_argument,  NULL, OPT_CQ_SIZE },
    { "guest",      required_argument,  NULL, OPT_GUEST },
    { "record",     required_argument,  NULL, OPT_RECORD },
    { "from-trace", no_argument,        NULL, OPT_FROM_TRACE },
    { "cq",         required_argument,  NULL, OPT_CQ },
    { "irqs",       required_argument,  NULL, OPT_IRQS },
    { "json",       no_argument,        NULL, OPT_JSON },
    { "bench",      no_argument,        NULL, OPT_BENCH },
    { "help",       no_argument,        NULL, OPT_HELP },
    { NULL }
};

typedef struct Typed {
    GPtrArray *policies, *sets;
    const char *irqs, *cq_size;
} Typed;

static void read_option(Setup *setup, Typed *typed, int option)
{
    switch (option) {
    case OPT_POLICY:
        g_ptr_array_add(typed->policies, optarg);
        break;
    case OPT_SET:
        g_ptr_array_add(typed->sets, optarg);
        break;
    case OPT_EXTRAS:
        setup->extras = on_off_option("--extras", optarg);
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
        g_ptr_array_add(typed->policies, (char *)"cint");
    }
    g_ptr_array_add(typed->sets, NULL);
    setup->nr_arms = typed->policies->len;
    setup->arm = g_new0(ArmSpec, setup->nr_arms);
    for (i = 0; i < setup->nr_arms; i++) {
        setup->arm[i].name = g_strdup(typed->policies->pdata[i]);
        make_arm(&setup->arm[i], setup->extras,
                 (char **)typed->sets->pdata);
    }
}

static void finish_setup(Setup *setup, Typed *typed)
{
    if (setup->next == qemu_trace_next) {
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
        .policies = g_ptr_array_new(),
        .sets = g_ptr_array_new(),
    };
    int option;

    *setup = (Setup) {
        .next = timeline_next,
        .guest = GUEST_EAGER,
        .extras = true,
        .record = true,
        .cqid = -1,
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
