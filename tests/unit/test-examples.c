/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The examples of the user-space driver do what they say, with the fake
 * controller in a thread of theirs.
 */
#include <string.h>
#include <sys/wait.h>

#include <glib.h>

#define SKIP 77         /* what they need is not there */

static void run(const char *program, const char *option, const char *says)
{
    const char *argv[] = { program, "fake", option, NULL };
    g_autofree char *out = NULL, *complaint = NULL;
    int status = -1;

    g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL,
                               NULL, &out, &complaint, &status, NULL));
    g_assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIP) {
        g_test_skip(complaint);
        return;
    }
    g_assert_cmpstr(complaint, ==, "");
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    g_assert_nonnull(strstr(out, says));
}

static void test_loop(void)
{
    run(EXAMPLE_LOOP, NULL, "64 blocks read, ");
}

#ifdef EXAMPLE_QUEUES
static void test_queues(void)
{
    run(EXAMPLE_QUEUES, NULL, "512 blocks read by 8 queues, one thread");
}

static void test_group(void)
{
    run(EXAMPLE_QUEUES, "group", "512 blocks read by 8 queues, one thread");
}
#endif

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/examples/loop", test_loop);
#ifdef EXAMPLE_QUEUES
    g_test_add_func("/examples/queues", test_queues);
    g_test_add_func("/examples/queues-by-group", test_group);
#endif
    return g_test_run();
}
