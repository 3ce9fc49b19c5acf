/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Configurations, from words. The parameters, their ranges and defaults are the
 * engine's (param-list.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "coalesce.h"
#include "libcint.h"

#define LONGEST_WORD    63

_Static_assert((int)LIBCINT_BOOL == (int)CINT_PARAM_BOOL &&
               (int)LIBCINT_NUMBER == (int)CINT_PARAM_UINT &&
               (int)LIBCINT_WORD == (int)CINT_PARAM_ENUM, "other types");

static const char *const units[] = {
    [CINT_UNIT_NONE]    = "",
    [CINT_UNIT_NS]      = "ns",
    [CINT_UNIT_MS]      = "ms",
    [CINT_UNIT_PER_S]   = "/s",
};

/* It is one line, whatever the word was that it repeats. */
static void clean(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            *text = '?';
        }
    }
}

__attribute__((format(printf, 2, 3)))
static int refuse(struct libcint_error *err, const char *format, ...)
{
    va_list args;

    if (err) {
        va_start(args, format);
        vsnprintf(err->text, sizeof(err->text), format, args);
        va_end(args);
        clean(err->text);
    }
    return -EINVAL;
}

/* What version 0.1 knows of a parameter; members behind it came later. */
#define PARAM_SIZE_0_1  (offsetof(struct libcint_param, def) + sizeof(uint64_t))

bool libcint_param(unsigned index, struct libcint_param *param)
{
    uint32_t size = param->size ? param->size : PARAM_SIZE_0_1;
    struct libcint_param all;
    unsigned i = 0;

    while (i < index && cint_params[i].name) {
        i++;
    }
    if (!cint_params[i].name) {
        return false;
    }
    all = (struct libcint_param) {
        .size = size < sizeof(all) ? size : sizeof(all),
        .type = cint_params[i].type,
        .name = cint_params[i].name,
        .unit = units[cint_params[i].unit],
        .help = cint_params[i].help,
        .words = cint_params[i].values,
        .min = cint_params[i].min,
        .max = cint_params[i].max,
        .def = cint_params[i].def,
    };
    memcpy(param, &all, all.size);
    return true;
}

void libcint_config_init(struct libcint_config *config)
{
    cint_config_init((CintConfig *)config);
}

static const CintParam *find(const char *name)
{
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        if (!strcmp(param->name, name)) {
            return param;
        }
    }
    return NULL;
}

#define DOTS    "..."

static bool ends_with_dots(const char *list, size_t used)
{
    return used >= strlen(DOTS) && !strcmp(list + used - strlen(DOTS), DOTS);
}

/* A list with commas; from where there is no more room on it is dots. */
static void append(char *list, size_t bytes, const char *word)
{
    size_t used = strlen(list);

    if (ends_with_dots(list, used)) {
        return;
    }
    if (used + strlen(", ") + strlen(word) + sizeof(", " DOTS) > bytes) {
        word = DOTS;
    }
    snprintf(list + used, bytes - used, "%s%s", used ? ", " : "", word);
}

static int no_such_param(const char *name, struct libcint_error *err)
{
    char list[sizeof(err->text) - LONGEST_WORD] = "";
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        append(list, sizeof(list), param->name);
    }
    return refuse(err, "%.40s: the parameters are %s", name, list);
}

static int no_such_word(const CintParam *param, const char *value,
                        struct libcint_error *err)
{
    char list[sizeof(err->text) / 2] = "";
    const char *const *word;

    for (word = param->values; *word; word++) {
        append(list, sizeof(list), *word);
    }
    return refuse(err, "%s=%.40s: expected one of %s", param->name, value,
                  list);
}

static int read_word(const CintParam *param, const char *value, uint64_t *to,
                     struct libcint_error *err)
{
    unsigned i;

    for (i = 0; param->values[i]; i++) {
        if (!strcmp(param->values[i], value)) {
            *to = i;
            return 0;
        }
    }
    return no_such_word(param, value, err);
}

static int read_bool(const CintParam *param, const char *value, uint64_t *to,
                     struct libcint_error *err)
{
    if (strcmp(value, "on") && strcmp(value, "off")) {
        return refuse(err, "%s=%.40s: expected on or off", param->name, value);
    }
    *to = !strcmp(value, "on");
    return 0;
}

/* Digits, and a number that is no larger than @max. */
static bool parse(const char *text, uint64_t max, uint64_t *number)
{
    unsigned digit;

    *number = 0;
    do {
        digit = (unsigned char)*text - '0';
        if (digit > 9 || digit > max || *number > (max - digit) / 10) {
            return false;
        }
        *number = *number * 10 + digit;
    } while (*++text);
    return true;
}

static int read_number(const CintParam *param, const char *value, uint64_t *to,
                       struct libcint_error *err)
{
    uint64_t number;

    if (!parse(value, param->max, &number) || number < param->min) {
        return refuse(err, "%s=%.40s: expected a number%s%s from %" PRIu64
                      " to %" PRIu64, param->name, value,
                      param->unit == CINT_UNIT_NONE ? "" : " of ",
                      units[param->unit], param->min, param->max);
    }
    *to = number;
    return 0;
}

int libcint_config_set(struct libcint_config *config, const char *name,
                       const char *value, struct libcint_error *err)
{
    static int (*const readers[])(const CintParam *, const char *, uint64_t *,
                                  struct libcint_error *) = {
        [CINT_PARAM_BOOL]   = read_bool,
        [CINT_PARAM_UINT]   = read_number,
        [CINT_PARAM_ENUM]   = read_word,
    };
    const CintParam *param = find(name);

    if (!param) {
        return no_such_param(name, err);
    }
    return readers[param->type](param, value,
                                cint_config_field((CintConfig *)config, param),
                                err);
}

int libcint_config_check(const struct libcint_config *config,
                         struct libcint_error *err)
{
    const char *conflict = cint_config_conflict((const CintConfig *)config);

    return conflict ? refuse(err, "%s", conflict) : 0;
}

/* Takes the characters up to one of @ends out of *text as a word. */
static bool next_word(const char **text, const char *ends,
                      char word[LONGEST_WORD + 1])
{
    size_t length = strcspn(*text, ends);

    if (length > LONGEST_WORD) {
        return false;
    }
    memcpy(word, *text, length);
    word[length] = 0;
    *text += length;
    return true;
}

static int parse_pair(struct libcint_config *config, const char **text,
                      struct libcint_error *err)
{
    char name[LONGEST_WORD + 1], value[LONGEST_WORD + 1];
    const char *start = *text;

    if (!next_word(text, "=,", name) || **text != '=') {
        return refuse(err, "%.60s: expected parameter=value", start);
    }
    ++*text;
    if (!next_word(text, ",", value)) {
        return refuse(err, "%.60s: the value is too long", start);
    }
    if (!strcmp(name, "policy")) {
        return refuse(err, "%.60s: the policy stands before the colon", start);
    }
    return libcint_config_set(config, name, value, err);
}

int libcint_config_parse(struct libcint_config *config, const char *text,
                         struct libcint_error *err)
{
    char policy[LONGEST_WORD + 1];
    const char *p = text;
    int ret;

    libcint_config_init(config);
    if (!next_word(&p, ":", policy)) {
        return refuse(err, "%.60s...: expected policy:parameter=value,...",
                      text);
    }
    ret = libcint_config_set(config, "policy", policy, err);
    while (!ret && *p) {
        p++;
        ret = parse_pair(config, &p, err);
    }
    return ret ? ret : libcint_config_check(config, err);
}
