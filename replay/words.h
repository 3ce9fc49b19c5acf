/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The policy language (docs/policies.md): names, parameters, values, units.
 */
#ifndef REPLAY_WORDS_H
#define REPLAY_WORDS_H

#include <glib.h>

#include "coalesce.h"

/* What goes on beside the policy itself. */
typedef enum Extras {
    EXTRAS_ON,                  /* as the engine has it: also ooo under cint */
    EXTRAS_OFF,                 /* the same without any: for golden vectors */
    EXTRAS_PAPERS,              /* no drain, no max-hold */
    EXTRAS_DEVICE,              /* both, as the device has them */
} Extras;

/*
 * The configuration that the policy @text means, a name or
 * NAME:parameter=value,...; @set, which ends with NULL, are parameters of all
 * policies. Times and rates are divided and multiplied by @scale. A word that
 * is none ends the program.
 */
void config_from_words(CintConfig *config, const char *text, Extras extras,
                       double scale, char **set);

/* Adds the policies of a list, which commas separate, to @policies. */
void split_policies(const char *text, GPtrArray *policies);

bool is_policy(const CintParam *param);

/* The parameter of that name, or NULL. */
const CintParam *find_param(const char *name, size_t length);

/* False if @text is no value of @param. */
bool parse_value(const CintParam *param, const char *text, size_t length,
                 uint64_t *value);

/* False if @text is no number from @min to @max, with digits only. */
bool parse_number(const char *text, size_t length, uint64_t min, uint64_t max,
                  uint64_t *value);

/* The same for a time to @max, with a unit or as a number of ns. */
bool parse_time(const char *text, size_t length, uint64_t max, uint64_t *ns);

/* What parse_value() takes, as "expects ..."; the caller frees it. */
char *describe_values(const CintParam *param);
char *describe_params(void);

#endif /* REPLAY_WORDS_H */
