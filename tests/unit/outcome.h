/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A program as it is typed: how it ended, and what it said.
 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include <math.h>
#include <string.h>
#include <sys/wait.h>

#include <glib.h>

struct outcome {
    int code;
    char *out, *err;
};

/* Runs it with @words, which are freed. */
static struct outcome spawn(const char *program, char *words)
{
    g_autofree char *line = g_strdup_printf("%s %s", program, words);
    g_auto(GStrv) argv = NULL;
    GError *error = NULL;
    struct outcome got;
    int status;

    g_free(words);
    g_assert_true(g_shell_parse_argv(line, NULL, &argv, NULL));
    g_assert_true(g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                               &got.out, &got.err, &status, &error));
    g_assert_true(WIFEXITED(status));
    got.code = WEXITSTATUS(status);
    return got;
}

static void forget(struct outcome *got)
{
    g_clear_pointer(&got->out, g_free);
    g_clear_pointer(&got->err, g_free);
}

static void expect(struct outcome got, int code, const char *said)
{
    if (got.code != code || !strstr(got.err, said)) {
        g_test_message("exit code %d, wanted %d; said: %s, wanted: %s",
                       got.code, code, got.err, said);
        g_test_fail();
    }
    forget(&got);
}

/* A number that was told; NAN if it was not. */
static double told(const struct outcome *got, const char *name)
{
    g_autofree char *line = g_strdup_printf("cint-metric %s ", name);
    const char *at = strstr(got->out, line);

    return at ? g_ascii_strtod(at + strlen(line), NULL) : NAN;
}

#endif
