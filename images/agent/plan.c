/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan:
 *   {"version": 1,
 *    "setup": [[argv...], ...],
 *    "jobs": [{"name", "fio": "<job file>", "args": [...], "cpus", "timeout_s"},
 *             {"name", "exec": [argv...], "cpus", "timeout_s"}],
 *    "then": "poweroff" | "serve" | "shell"}
 * Only "version" is mandatory.
 */
#include "agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMEOUT_S 120
#define MAX_TIMEOUT_S 86400

/* Always false, so that a parser can return it. */
static bool __attribute__((format(printf, 2, 3)))
fail(char *err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(err, AGENT_ERR_LEN, fmt, ap);
    va_end(ap);
    return false;
}

/* A misspelt key must not go unnoticed: the run would measure another thing. */
static bool only_keys(const json_t *obj, const char *what,
                      const char *const *known, char *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)obj, key, value) {
        const char *const *k = known;

        while (*k && strcmp(*k, key)) {
            k++;
        }
        if (!*k) {
            return fail(err, "%s: unknown key \"%.60s\"", what, key);
        }
    }
    return true;
}

char **plan_argv(const json_t *array, const char *what, char *err)
{
    size_t n = json_array_size(array);
    char **argv = NULL;

    if (!json_is_array(array)) {
        fail(err, "%s must be a list of strings", what);
        return NULL;
    }
    argv = calloc(n + 1, sizeof(*argv));
    for (size_t i = 0; argv && i < n; i++) {
        argv[i] = (char *)json_string_value(json_array_get(array, i));
        if (!argv[i]) {
            fail(err, "%s must be a list of strings; item %zu is not one", what, i);
            free(argv);
            return NULL;
        }
    }
    return argv;
}

static bool parse_limits(const json_t *obj, struct job *job, char *err)
{
    const json_t *timeout = json_object_get(obj, "timeout_s");
    const json_t *cpus = json_object_get(obj, "cpus");

    job->timeout_s = DEFAULT_TIMEOUT_S;
    if (timeout) {
        double s = json_number_value(timeout);

        if (!json_is_number(timeout) || s < 1 || s > MAX_TIMEOUT_S) {
            return fail(err, "job \"%.60s\": timeout_s must be a number of seconds, "
                        "1 to %d", job->name, MAX_TIMEOUT_S);
        }
        job->timeout_s = s;
    }
    job->pinned = cpus && !json_is_null(cpus);
    if (job->pinned && !(json_is_string(cpus) &&
                         util_parse_cpus(json_string_value(cpus),
                                         &job->cpus))) {
        return fail(err, "job \"%.60s\": cpus must be a list such as \"0\" or "
                    "\"0-3,6\"", job->name);
    }
    return true;
}

static bool parse_command(const json_t *obj, struct job *job, char *err)
{
    const json_t *fio = json_object_get(obj, "fio");
    const json_t *exec = json_object_get(obj, "exec");
    const json_t *args = json_object_get(obj, "args");

    if (!fio == !exec) {
        return fail(err, "job \"%.60s\" needs either \"fio\" or \"exec\"",
                    job->name);
    }
    if (fio) {
        job->fio = json_string_value(fio);
        if (!job->fio) {
            return fail(err, "job \"%.60s\": fio must be the text of a job file",
                        job->name);
        }
        if (!args) {
            job->argv = calloc(1, sizeof(*job->argv));
            return job->argv || fail(err, "out of memory");
        }
    }
    job->argv = plan_argv(fio ? args : exec, fio ? "args" : "exec", err);
    if (!job->argv) {
        return false;
    }
    return fio || job->argv[0] || fail(err, "job \"%.60s\": exec is empty",
                                       job->name);
}

bool job_parse(const json_t *obj, struct job *job, char *err)
{
    memset(job, 0, sizeof(*job));
    if (!json_is_object(obj)) {
        return fail(err, "a job must be an object");
    }
    job->name = json_string_value(json_object_get(obj, "name"));
    if (!job->name) {
        return fail(err, "a job needs a \"name\"");
    }
    if (!parse_limits(obj, job, err)) {
        return false;
    }
    if (!parse_command(obj, job, err)) {
        job_free(job);
        return false;
    }
    return true;
}

void job_free(struct job *job)
{
    free(job->argv);
    job->argv = NULL;
}

static bool parse_then(const json_t *then, enum plan_then *out, char *err)
{
    static const char *const names[] = { "poweroff", "serve", "shell" };
    const char *text = json_string_value(then);

    *out = PLAN_POWEROFF;
    if (!then) {
        return true;
    }
    for (int i = 0; text && i < 3; i++) {
        if (!strcmp(text, names[i])) {
            *out = i;
            return true;
        }
    }
    return fail(err, "then must be \"poweroff\", \"serve\" or \"shell\"");
}

static bool parse_setup(const json_t *steps, struct plan *plan, char *err)
{
    size_t n = json_array_size(steps);

    if (steps && !json_is_array(steps)) {
        return fail(err, "setup must be a list of commands");
    }
    plan->setup = calloc(n + 1, sizeof(*plan->setup));
    for (size_t i = 0; plan->setup && i < n; i++) {
        plan->setup[i] = plan_argv(json_array_get(steps, i), "a setup step",
                                   err);
        if (!plan->setup[i]) {
            return false;
        }
        if (!plan->setup[i][0]) {
            return fail(err, "setup step %zu is empty", i + 1);
        }
    }
    return plan->setup || fail(err, "out of memory");
}

static bool parse_jobs(const json_t *jobs, struct plan *plan, char *err)
{
    static const char *const keys[] = {
        "name", "fio", "exec", "args", "cpus", "timeout_s", NULL
    };
    size_t n = json_array_size(jobs);

    if (jobs && !json_is_array(jobs)) {
        return fail(err, "jobs must be a list");
    }
    plan->jobs = calloc(n + 1, sizeof(*plan->jobs));
    if (!plan->jobs) {
        return fail(err, "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *obj = json_array_get(jobs, i);

        if (!job_parse(obj, &plan->jobs[i], err)) {
            return false;
        }
        plan->n_jobs++;
        if (!only_keys(obj, "job", keys, err)) {
            return false;
        }
    }
    return true;
}

bool plan_parse(const char *text, size_t len, struct plan *plan, char *err)
{
    static const char *const keys[] = {
        "version", "setup", "jobs", "then", NULL
    };
    json_error_t where;
    json_t *json;

    memset(plan, 0, sizeof(*plan));
    json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
    if (!json) {
        return fail(err, "the plan is not JSON: line %d: %s", where.line,
                    where.text);
    }
    plan->json = json;
    if (!json_is_object(json) ||
        json_integer_value(json_object_get(json, "version")) !=
        AGENT_PROTOCOL) {
        fail(err, "the plan must be an object with \"version\": %d",
             AGENT_PROTOCOL);
    } else if (only_keys(json, "plan", keys, err) &&
               parse_then(json_object_get(json, "then"), &plan->then, err) &&
               parse_setup(json_object_get(json, "setup"), plan, err) &&
               parse_jobs(json_object_get(json, "jobs"), plan, err)) {
        return true;
    }
    plan_free(plan);
    return false;
}

void plan_free(struct plan *plan)
{
    for (char ***step = plan->setup; step && *step; step++) {
        free(*step);
    }
    free(plan->setup);
    for (size_t i = 0; i < plan->n_jobs; i++) {
        job_free(&plan->jobs[i]);
    }
    free(plan->jobs);
    json_decref(plan->json);
    memset(plan, 0, sizeof(*plan));
}
