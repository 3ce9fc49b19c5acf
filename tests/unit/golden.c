/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Golden vectors as tests.
 */
#include "golden.h"
#include "sim.h"

static void test_engine(gconstpointer opaque)
{
    const GoldenCase *c = opaque;

    c->suite->test_engine(c->vector);
}

static void test_model(gconstpointer opaque)
{
    const GoldenCase *c = opaque;
    char *got = c->suite->model(c->vector, c->suite->ours);

    sim_same("the independent model's list of interrupts", got, c->out);
    g_free(got);
}

static void test_rival(gconstpointer opaque)
{
    const GoldenCase *c = opaque;
    char *got = c->suite->model(c->vector, c->reading);

    sim_same("the rival's list of interrupts", got, c->rival_out);
    g_assert_cmpstr(c->out, !=, c->rival_out);
    g_free(got);
}

static void add(const GoldenCase *c, const char *claim, const char *object,
                GTestDataFunc func)
{
    char *path = g_strdup_printf("%s/%s/%s%s", c->suite->path, c->name, claim,
                                 object);
    GoldenCase *copy = g_new(GoldenCase, 1);

    *copy = *c;
    g_test_add_data_func_full(path, copy, func, g_free);
    g_free(path);
}

void golden_add(const GoldenCase *c)
{
    if (c->rival) {
        add(c, "is-told-apart-from/", c->rival, test_rival);
        return;
    }
    add(c, "engine-interrupts-as-expected", "", test_engine);
    add(c, "independent-model-agrees", "", test_model);
}
