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

static void run(const char *program, const char *words, const char *says)
{
    g_autofree char *line = g_strdup_printf("%s %s", program, words);
    g_auto(GStrv) argv = g_strsplit(line, " ", -1);
    g_autofree char *out = NULL, *complaint = NULL;
    int status = -1;

    g_assert_true(g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL,
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
    run(EXAMPLE_LOOP, "fake", "64 blocks read, ");
}

static void test_batches(void)
{
    run(EXAMPLE_BATCHES, "fake", "block 31: status 0");
}

/* The header's own, as it stands. */
static void test_header(void)
{
    run(EXAMPLE_HEADER, "", "1 taken, status 0");
}

#ifdef EXAMPLE_QUEUES
static void test_queues(void)
{
    run(EXAMPLE_QUEUES, "fake", "512 blocks read by 8 queues, one thread");
}

static void test_group(void)
{
    run(EXAMPLE_QUEUES, "fake group",
        "512 blocks read by 8 queues, one thread");
}
#endif

/*
 * "cintio check" takes up to 64 at a time. With a burst of 200 and every fourth
 * Urgent, what an interrupt tells of is more than that, and partly taken.
 */
static void test_check(void)
{
    run(EXAMPLE_CHECK, "check fake --policy cint --records --hints --depth 250 "
        "--entries 1024 --blocks 1 --count 10000 --mode interrupt",
        "queue=1 ios=10000 errors=0 ");
    run(EXAMPLE_CHECK, "check fake --policy cint --records --hints --depth 250 "
        "--entries 1024 --blocks 1 --count 3000 --mode interrupt "
        "--threads 4",
        "queue=4 ios=3000 errors=0 ");
    /* in pieces of whole pages, without a cache */
    run(EXAMPLE_CHECK, "check fake --mode coalesced --blocks 32 --pieces 4 "
        "--fua --min 4 --count 2000", "queue=1 ios=2000 errors=0 ");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_setenv("FAKE_THR", "200", TRUE);
    g_test_add_func("/examples/batches", test_batches);
    g_test_add_func("/examples/check", test_check);
    g_test_add_func("/examples/header", test_header);
    g_test_add_func("/examples/loop", test_loop);
#ifdef EXAMPLE_QUEUES
    g_test_add_func("/examples/queues", test_queues);
    g_test_add_func("/examples/queues-by-group", test_group);
#endif
    return g_test_run();
}
