/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The policy language: what names, parameters and values mean. The tool's
 * parser (tools/cint/device/words.py) reads the same one; tests/replay runs
 * the same words through both. Names, ranges and defaults of parameters come
 * from the engine's own table, further words from word-list.h.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "error.h"
#include "event.h"
#include "words.h"

#define NS_PER_US           1000
#define NS_PER_MS           1000000
#define NS_PER_S            1000000000
/* Longer than any word of the language. */
#define LONGEST_WORD        32

static const char digits[] = "0123456789";

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && !memcmp(word, text, length);
}

/*
 * Units
 */

static const struct {
    const char *name;
    uint64_t ns;
} time_units[] = {
    { "s",  NS_PER_S },
    { "ms", NS_PER_MS },
    { "us", NS_PER_US },
    { "ns", 1 },
};

/* ns in one of the parameter's own units; 0: it is no time */
static uint64_t ns_per(CintUnit unit)
{
    return unit == CINT_UNIT_NS ? 1 : unit == CINT_UNIT_MS ? NS_PER_MS : 0;
}

static char *format_time(uint64_t ns)
{
    unsigned i = 0;

    while (ns && ns % time_units[i].ns) {
        i++;
    }
    return g_strdup_printf("%" PRIu64 "%s", ns / time_units[i].ns,
                           ns ? time_units[i].name : "");
}

/*
 * Values
 */

bool parse_number(const char *text, size_t length, uint64_t min, uint64_t max,
                  uint64_t *value)
{
    g_autofree char *copy = g_strndup(text, length);

    return g_ascii_string_to_unsigned(copy, 10, min, max, value, NULL);
}

/* A number with a unit, in ns. */
static bool parse_ns(const char *text, size_t length, uint64_t *ns)
{
    g_autofree char *copy = g_strndup(text, length);
    char *unit = copy + strspn(copy, digits);
    double value;
    unsigned i;

    if (unit != copy && *unit == '.' && g_ascii_isdigit(unit[1])) {
        unit += 1 + strspn(unit + 1, digits);
    }
    if (unit == copy) {
        return false;
    }
    for (i = 0; i < G_N_ELEMENTS(time_units); i++) {
        if (!strcmp(unit, time_units[i].name)) {
            value = g_ascii_strtod(copy, NULL) * (double)time_units[i].ns;
            *ns = (uint64_t)rint(MIN(value, (double)TIME_MAX));
            return true;
        }
    }
    return false;
}

bool parse_time(const char *text, size_t length, uint64_t max, uint64_t *ns)
{
    return (parse_ns(text, length, ns) && *ns <= max) ||
           parse_number(text, length, 0, max, ns);
}

static bool parse_uint(const CintParam *param, const char *text,
                       size_t length, uint64_t *value)
{
    uint64_t per = ns_per(param->unit), ns;

    if (per && parse_ns(text, length, &ns)) {
        *value = ns / per;
        return !(ns % per) && *value >= param->min && *value <= param->max;
    }
    return parse_number(text, length, param->min, param->max, value);
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
        return parse_uint(param, text, length, value);
    }
    return false;
}

/* Without the unit that may be left out. */
static char *describe_range(const CintParam *param)
{
    g_autofree char *low = NULL, *high = NULL;

    if (param->type == CINT_PARAM_BOOL) {
        return g_strdup("on or off");
    }
    if (param->type == CINT_PARAM_ENUM) {
        return g_strjoinv(", ", (char **)param->values);
    }
    if (ns_per(param->unit)) {
        low = format_time(param->min * ns_per(param->unit));
        high = format_time(param->max * ns_per(param->unit));
        return g_strdup_printf("%s to %s", low, high);
    }
    return g_strdup_printf("%" PRIu64 " to %" PRIu64 "%s", param->min,
                           param->max,
                           param->unit == CINT_UNIT_PER_S ? " a second" : "");
}

char *describe_values(const CintParam *param)
{
    char *range = describe_range(param), *text;

    if (!ns_per(param->unit)) {
        return range;
    }
    text = g_strdup_printf("%s, with ns, us, ms or s (without: %s)", range,
                           param->unit == CINT_UNIT_MS ? "ms" : "ns");
    g_free(range);
    return text;
}

/*
 * Parameters
 */

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

static const CintParam *the_param(const char *name)
{
    return find_param(name, strlen(name));
}

static const CintParam *param_at(size_t offset)
{
    const CintParam *param = cint_params;

    while (param->offset != offset) {
        param++;
    }
    return param;
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

/* What may follow a policy's name, and the parameter that it sets. */
typedef struct Word {
    const char *word;
    const char *param;
} Word;

/* Further words for parameters under one policy. */
static const struct {
    const char *policy;
    Word as;
} short_words[] = {
#define SHORT_WORD(policy, word, param)     { policy, { word, param } },
#include "word-list.h"
};

/* Names for a policy with one of its parameters. */
static const struct Alias {
    const char *name;
    const char *policy;
    const char *param;
    uint64_t value;
} aliases[] = {
#define ALIAS(name, policy, param, value)   { name, policy, param, value },
#include "word-list.h"
};

/* What is meant where nothing is typed. */
static const struct {
    const char *param;
    uint64_t value;
    bool unless_old;            /* under all policies; not by old extras */
} meant[] = {
#define MEANT(param, value)     { param, value, false },
#define MEANT_OFF(param)        { param, 0, true },
#include "word-list.h"
};

/* A policy's name with a number after it. */
static const struct {
    const char *policy;
    const char *param;
    const char *unit;
    const char *shown;
} numbered[] = {
#define NUMBERED(policy, param, unit) \
    { policy, param, unit, policy "<" unit ">" },
#include "word-list.h"
};

/* Both more than 0, or neither. */
static const struct {
    const char *word[2];
    const char *param[2];
} together[] = {
#define TOGETHER(word, param, other_word, other) \
    { { word, other_word }, { param, other } },
#include "word-list.h"
};

/* What goes on beside every policy. */
static const struct {
    const char *param;
    uint64_t value;             /* with EXTRAS_PAPERS, unless it is listed */
    enum { KEEPS, ALL } listed;
} beside[] = {
#define BESIDE(param, value, listed)    { param, value, listed },
#include "word-list.h"
};

/* The parameters that each policy lists. */
static const char *const reads[CINT_NR_POLICIES] = {
#define POLICY(name, ops, reads)    reads
#include "policy-list.h"
#undef POLICY
};

static bool policy_reads(uint64_t policy, const char *param)
{
    g_auto(GStrv) own = g_strsplit(reads[policy], " ", -1);

    return g_strv_contains((const char *const *)own, param);
}

/* Every policy's: what none lists, and what goes on beside all. */
static bool all_read(const CintParam *param)
{
    uint64_t policy;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(beside); i++) {
        if (!strcmp(param->name, beside[i].param)) {
            return true;
        }
    }
    for (policy = 0; policy < CINT_NR_POLICIES; policy++) {
        if (policy_reads(policy, param->name)) {
            return false;
        }
    }
    return !is_policy(param);
}

static bool has_word(const GArray *words, const char *name, size_t length,
                     Word *word)
{
    unsigned i;

    for (i = 0; i < words->len; i++) {
        *word = g_array_index(words, Word, i);
        if (is_word(word->word, name, length)) {
            return true;
        }
    }
    return false;
}

/* A parameter's own name, after the further words for it. */
static void add_param(GArray *words, uint64_t policy, const CintParam *param)
{
    const Word own = { param->name, param->name };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(short_words); i++) {
        if (!strcmp(short_words[i].policy, cint_policy_names[policy]) &&
            !strcmp(short_words[i].as.param, param->name)) {
            g_array_append_val(words, short_words[i].as);
        }
    }
    g_array_append_val(words, own);
}

/* What may follow the name of @policy. */
static GArray *words_of(uint64_t policy)
{
    GArray *words = g_array_new(FALSE, FALSE, sizeof(Word));
    g_auto(GStrv) name = g_strsplit(reads[policy], " ", -1);
    const CintParam *param;
    unsigned i;

    for (i = 0; name[i]; i++) {
        param = find_param(name[i], strlen(name[i]));
        /* Nothing where a policy has none of its own. */
        if (param && !all_read(param)) {
            add_param(words, policy, param);
        }
    }
    for (param = cint_params; param->name; param++) {
        if (all_read(param)) {
            add_param(words, policy, param);
        }
    }
    return words;
}

static bool find_word(uint64_t policy, const char *name, size_t length,
                      Word *word)
{
    g_autoptr(GArray) words = words_of(policy);

    return has_word(words, name, length, word);
}

/*
 * Mistakes
 */

/* Levenshtein's: letters put in, left out and changed. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[LONGEST_WORD + 1], above, corner, i, j;
    size_t length = MIN(strlen(b), LONGEST_WORD);

    for (j = 0; j <= length; j++) {
        row[j] = j;
    }
    for (i = 1; *a; a++, i++) {
        corner = i - 1;
        row[0] = i;
        for (j = 1; j <= length; j++) {
            above = row[j];
            row[j] = MIN(corner + (*a != b[j - 1]),
                         MIN(above, row[j - 1]) + 1);
            corner = above;
        }
    }
    return row[length];
}

/* "; did you mean X?", or nothing where no word of @known is like @text. */
static char *nearest(const char *text, size_t length, const GPtrArray *known)
{
    g_autofree char *typed = g_strndup(text, MIN(length, LONGEST_WORD));
    unsigned best = 1 + length / 3, found, i;
    const char *word = NULL;

    for (i = 0; i < known->len; i++) {
        found = distance(typed, known->pdata[i]);
        if (found < best || (found == best && !word)) {
            best = found;
            word = known->pdata[i];
        }
    }
    return word ? g_strdup_printf("; did you mean %s?", word) : g_strdup("");
}

static G_NORETURN void unknown_param(const char *option, const char *text)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new();
    g_autofree char *list = describe_params(), *hint = NULL;
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        g_ptr_array_add(known, (char *)param->name);
    }
    hint = nearest(text, strcspn(text, "="), known);
    usage_error("%s %s: the parameters are %s%s", option, text, list, hint);
}

static G_NORETURN void unknown_word(uint64_t policy, const char *typed,
                                    const char *text)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new();
    g_autoptr(GString) list = g_string_new(NULL);
    g_autoptr(GArray) words = words_of(policy);
    g_autofree char *hint = NULL;
    unsigned i;

    for (i = 0; i < words->len; i++) {
        const Word *word = &g_array_index(words, Word, i);
        g_autofree char *values = describe_range(the_param(word->param));

        g_ptr_array_add(known, (char *)word->word);
        g_string_append_printf(list, "%s%s (%s)", list->len ? ", " : "",
                               word->word, values);
    }
    hint = nearest(text, strcspn(text, "="), known);
    usage_error("--policy %s: the parameters of %s are %s%s", typed,
                cint_policy_names[policy], list->str, hint);
}

static G_NORETURN void unknown_policy(const char *text, size_t length)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new();
    g_autofree char *list = NULL, *hint = NULL;
    unsigned i;

    for (i = 0; i < CINT_NR_POLICIES; i++) {
        g_ptr_array_add(known, (char *)cint_policy_names[i]);
    }
    for (i = 0; i < G_N_ELEMENTS(aliases); i++) {
        g_ptr_array_add(known, (char *)aliases[i].name);
    }
    hint = nearest(text, length, known);
    for (i = 0; i < G_N_ELEMENTS(numbered); i++) {
        g_ptr_array_add(known, (char *)numbered[i].shown);
    }
    g_ptr_array_add(known, NULL);
    list = g_strjoinv(", ", (char **)known->pdata);
    usage_error("--policy %s: the policies are %s%s", text, list, hint);
}

/*
 * Policies
 */

static void set_value(CintConfig *config, const CintParam *param,
                      const char *option, const char *text)
{
    const char *value = strchr(text, '=') + 1;
    g_autofree char *values = NULL;

    if (!parse_value(param, value, strlen(value),
                     cint_config_field(config, param))) {
        values = describe_values(param);
        usage_error("%s %s: %s is %s", option, text, param->name, values);
    }
}

static size_t name_length(const char *option, const char *text)
{
    const char *equals = strchr(text, '=');

    if (!equals) {
        usage_error("%s %s: expected <parameter>=<value>", option, text);
    }
    return equals - text;
}

/* --set: a parameter by the name of its property, whatever the policy. */
static void set_param(CintConfig *config, const char *text)
{
    const CintParam *param = find_param(text, name_length("--set", text));

    if (!param) {
        unknown_param("--set", text);
    }
    if (is_policy(param)) {
        usage_error("--set %s: the policy is given as --policy NAME", text);
    }
    set_value(config, param, "--set", text);
}

static void set_word(CintConfig *config, const char *text)
{
    size_t length = name_length("--policy", text);
    const CintParam *param;
    const char *value;
    Word word;

    if (!find_word(config->policy, text, length, &word)) {
        unknown_word(config->policy, text, text);
    }
    param = the_param(word.param);
    value = text + length + 1;
    /* Only what has the property's name has its unit. */
    if (ns_per(param->unit) && strcmp(word.word, word.param) &&
        !value[strspn(value, digits)]) {
        usage_error("--policy %s: a time needs a unit: ns, us, ms or s", text);
    }
    set_value(config, param, "--policy", text);
}

/* What a name says besides the policy: typed, like its parameters. */
typedef struct Name {
    uint64_t policy;
    const CintParam *param;     /* NULL: nothing */
    uint64_t value;
} Name;

static bool parse_policy(const char *text, size_t length, uint64_t *policy)
{
    return parse_value(the_param("policy"), text, length, policy);
}

/* NULL: it is none */
static const struct Alias *find_alias(const char *text, size_t length)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(aliases); i++) {
        if (is_word(aliases[i].name, text, length)) {
            return &aliases[i];
        }
    }
    return NULL;
}

/* A policy's name and a number after it: the parameter in its unit. */
static bool parse_numbered(const char *text, size_t length, Name *name)
{
    size_t word;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(numbered); i++) {
        g_autofree char *value = NULL, *values = NULL;

        word = strlen(numbered[i].policy);
        if (length <= word || strncmp(text, numbered[i].policy, word) ||
            word + strspn(text + word, digits) != length) {
            continue;
        }
        parse_policy(text, word, &name->policy);
        name->param = the_param(numbered[i].param);
        value = g_strdup_printf("%.*s%s", (int)(length - word), text + word,
                                numbered[i].unit);
        if (!parse_value(name->param, value, strlen(value), &name->value)) {
            values = describe_values(name->param);
            usage_error("--policy %s: %s is %s", text, name->param->name,
                        values);
        }
        return true;
    }
    return false;
}

static Name parse_name(const char *text)
{
    size_t length = strcspn(text, ":");
    const struct Alias *alias = find_alias(text, length);
    Name name = { 0 };

    if (alias) {
        name.param = the_param(alias->param);
        name.value = alias->value;
        parse_policy(alias->policy, strlen(alias->policy), &name.policy);
    } else if (!parse_policy(text, length, &name.policy) &&
               !parse_numbered(text, length, &name)) {
        unknown_policy(text, length);
    }
    return name;
}

/* Whether it is the tool's language; the older extras leave more alone. */
static bool is_tools(Extras extras)
{
    return extras == EXTRAS_PAPERS || extras == EXTRAS_DEVICE;
}

/* What goes on beside the policy is left out, but for what it needs. */
static void leave_out(CintConfig *config, Extras extras, double scale)
{
    const CintParam *hold = param_at(offsetof(CintConfig, max_hold_ns));
    const CintParam *param;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(beside); i++) {
        if (beside[i].listed == ALL && extras == EXTRAS_PAPERS &&
            policy_reads(config->policy, beside[i].param)) {
            return;
        }
    }
    for (i = 0; i < G_N_ELEMENTS(beside); i++) {
        param = the_param(beside[i].param);
        if (extras == EXTRAS_OFF ||
            !policy_reads(config->policy, param->name)) {
            *cint_config_field(config, param) = beside[i].value;
        }
    }
    if (extras == EXTRAS_OFF && cint_config_conflict(config)) {
        config->max_hold_ns = (uint64_t)(hold->max / MAX(scale, 1));
    }
}

/* What the language leaves to the policy where nothing is typed. */
static void use_defaults(CintConfig *config, const Name *name, Extras extras,
                         double scale)
{
    unsigned i;

    config->policy = name->policy;
    for (i = 0; i < G_N_ELEMENTS(meant); i++) {
        if (meant[i].unless_old ? is_tools(extras) :
            name->policy != NVME_CINT_POLICY_DEFAULT &&
            policy_reads(name->policy, meant[i].param)) {
            *cint_config_field(config, the_param(meant[i].param)) =
                meant[i].value;
        }
    }
    if (extras == EXTRAS_PAPERS || extras == EXTRAS_OFF) {
        leave_out(config, extras, scale);
    }
}

static void use_name(CintConfig *config, const Name *name)
{
    if (name->param) {
        *cint_config_field(config, name->param) = name->value;
    }
}

/* A name that says one thing with a parameter that says another. */
static void check_name(CintConfig *config, const Name *name, const char *text)
{
    if (name->param &&
        *cint_config_field(config, name->param) != name->value) {
        usage_error("--policy %s: the name %.*s says %s=%" PRIu64, text,
                    (int)strcspn(text, ":"), text, name->param->name,
                    name->value);
    }
}

/* NULL, or why the tool would not boot a guest with it; the caller frees it. */
static char *carelessness(CintConfig *config)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(together); i++) {
        const CintParam *one = the_param(together[i].param[0]);
        const CintParam *other = the_param(together[i].param[1]);

        if (policy_reads(config->policy, one->name) &&
            !*cint_config_field(config, one) !=
            !*cint_config_field(config, other)) {
            return g_strdup_printf("%s (%s) and %s (%s) are both more than 0, "
                                   "or both 0, which is no coalescing",
                                   together[i].word[0], one->name,
                                   together[i].word[1], other->name);
        }
    }
    return NULL;
}

/* Times and rates of the machine that a guest stands for, to the guest's. */
static void apply_scale(CintConfig *config, const char *name, double scale)
{
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        uint64_t *value = cint_config_field(config, param);
        double applied;

        if (param->unit == CINT_UNIT_NONE || !*value) {
            continue;
        }
        applied = param->unit == CINT_UNIT_PER_S ? (double)*value / scale
                                     : (double)*value * scale;
        applied = MAX(rint(applied), 1);
        if (applied > (double)param->max || applied < (double)param->min) {
            usage_error("--policy %s: %s is %" PRIu64 ", at scale %g the "
                        "engine takes from %" PRIu64 " to %" PRIu64, name,
                        param->name, *value, scale, param->min, param->max);
        }
        *value = (uint64_t)applied;
    }
}

void config_from_words(CintConfig *config, const char *text, Extras extras,
                       double scale, char **set)
{
    const char *colon = strchr(text, ':'), *conflict;
    g_autofree char *careless = NULL;
    g_auto(GStrv) word = g_strsplit(colon ? colon + 1 : "", ",", -1);
    Name name = parse_name(text);
    unsigned i;

    if (colon && !colon[1]) {
        unknown_word(name.policy, text, "");
    }
    cint_config_init(config);
    use_defaults(config, &name, extras, scale);
    for (i = 0; set[i]; i++) {
        set_param(config, set[i]);
    }
    use_name(config, &name);
    for (i = 0; word[i]; i++) {
        set_word(config, word[i]);
    }
    check_name(config, &name, text);
    conflict = cint_config_conflict(config);
    if (!conflict && is_tools(extras)) {
        conflict = careless = carelessness(config);
    }
    if (conflict) {
        usage_error("--policy %s: %s", text, conflict);
    }
    if (scale != 1) {
        apply_scale(config, text, scale);
    }
}

void split_policies(const char *text, GPtrArray *policies)
{
    g_auto(GStrv) piece = g_strsplit(text, ",", -1);
    unsigned i, first = policies->len;

    if (!piece[0]) {
        g_ptr_array_add(policies, g_strdup(""));
    }
    for (i = 0; piece[i]; i++) {
        g_strstrip(piece[i]);
        if (policies->len > first && strchr(piece[i], '=') &&
            !strchr(piece[i], ':')) {
            char **last = (char **)&policies->pdata[policies->len - 1];
            char *joined = g_strdup_printf("%s,%s", *last, piece[i]);

            g_free(*last);
            *last = joined;
        } else {
            g_ptr_array_add(policies, g_strdup(piece[i]));
        }
    }
}
