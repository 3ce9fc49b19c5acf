/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The key-value store on a controller that it drives itself, which is the fake
 * one here, with its disk in a file: what one engine wrote the other reads.
 */
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>
#include <glib/gstdio.h>

#include "outcome.h"

#define DISK_BYTES (4 << 20)
#define SMALL "--records=2000 --reserve=800"

static const char *const modes[] = { "poll", "interrupt", "coalesced" };
static char *directory, *disk;

/* By a mode of ours, or, NULL, by the kernel's driver on the disk's file. */
static struct outcome by(const char *mode, const char *what, const char *words)
{
    if (mode) {
        return spawn(KVSTORE_USER, g_strdup_printf(
            "%s --engine=user:%s%s 0000:00:03.0", what, mode, words));
    }
    return spawn(KVSTORE, g_strdup_printf("%s --buffered%s %s", what, words,
                                          disk));
}

static void good(struct outcome got, const char *name, double wanted)
{
    g_assert_cmpstr(got.err, ==, "");
    g_assert_cmpint(got.code, ==, 0);
    g_assert_cmpfloat(told(&got, name), ==, wanted);
    forget(&got);
}

/* Loaded, changed and added to in each way, and read by the other engine. */
static void test_ways(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        const char *way = modes[i];
        struct outcome got;

        good(by(way, "load", " " SMALL), "loaded", 2000);
        good(by(NULL, "check", ""), "items", 2000);
        got = by(way, "run", " --workload=a --ops=1500 --warm=100 --cache=1m");
        g_assert_cmpfloat(told(&got, "verified"), ==, 1500);
        g_assert_cmpfloat(told(&got, "batch"), >, 8);
        g_assert_cmpfloat(told(&got, "own_cpu"), >, 0);
        good(got, "audited", 2000);
        good(by(way, "run", " --workload=insert --ops=500 --depth=7"),
             "audited", 2500);
        good(by(way, "run", " --workload=update --sync --ops=300 "
                "--hints=barrier --irq-cost=100"), "damaged", 0);
        good(by(way, "check", ""), "items", 2500);
        good(by(NULL, "run", " --workload=a --ops=500"), "audited", 2500);
        good(by(way, "run", " --workload=c --ops=300 --hints=urgent"),
             "audited", 2500);
        g_unlink(disk);
    }
}

static void flip(uint64_t at)
{
    int fd = open(disk, O_RDWR);
    char byte;

    g_assert_cmpint(pread(fd, &byte, 1, at), ==, 1);
    byte ^= 1;
    g_assert_cmpint(pwrite(fd, &byte, 1, at), ==, 1);
    close(fd);
}

static void test_damaged(void)
{
    good(by("poll", "load", " " SMALL), "loaded", 2000);
    flip(1 << 20);
    expect(by("interrupt", "run", ""), 1, "1 items are damaged");
    expect(by("poll", "check", ""), 1, "the checksum is wrong");
    flip(1 << 20);
    flip(100);
    expect(by("coalesced", "check", ""), 1, "its first page is damaged");
    g_unlink(disk);
}

/* The store has no room: before anything is written, or any more. */
static void test_too_large(void)
{
    expect(by("poll", "load", " --records=5000"), 1, "0000:00:03.0: the store "
           "would need 5767168 bytes, and the namespace has 4194304; valid: "
           "kvstore load with fewer --records, or a smaller --reserve");
    good(by(NULL, "load", " --records=5000"), "loaded", 5000);
    expect(by("poll", "check", ""), 1,
           "the store has 5767168 bytes, and the namespace has 4194304");
    g_unlink(disk);
}

/* The fake controller has eight queue pairs of 1024 entries. */
static void test_queues(void)
{
    good(by("poll", "load", " --workers=9 " SMALL), "loaded", 2000);
    expect(by("poll", "run", ""), 1, "0000:00:03.0: it has 8 I/O queue pairs, "
           "and each worker needs one; valid: kvstore load with at most "
           "--workers=8");
    good(by("interrupt", "load", " --workers=8 " SMALL), "loaded", 2000);
    good(by("coalesced", "run", " --ops=1000 --depth=16"), "audited", 2000);
    expect(by("poll", "run", " --depth=1024 --cache=64m"), 1,
           "--depth=1024: valid at 0000:00:03.0: 1 to 1023");
    good(by("poll", "run", " --depth=1023 --cache=64m --ops=500"), "damaged",
         0);
    g_unlink(disk);
}

/*
 * A batch has one interrupt, that of its last: no queue is ever nearly full.
 * Where queues are short the deepest batch is, which is what finds it here.
 */
static void test_interrupts(void)
{
    static const unsigned depths[] = { 1, 2, 3, 5, 64, 96 };
    static const char least[] =
        " --workload=c --keys=uniform --cache=1m --ops=600 --depth=";

    good(by("coalesced", "load", " --workers=1 " SMALL), "loaded", 2000);
    g_setenv("FAKE_TELLS", "1", TRUE);
    for (size_t i = 0; i < G_N_ELEMENTS(depths); i++) {
        g_autofree char *words = g_strdup_printf("%s%u --inflight=300", least,
                                                 depths[i]);

        good(by("coalesced", "run", words), "pressure", 0);
    }
    g_setenv("FAKE_ENTRIES_MOST", "32", TRUE);
    for (unsigned depth = 23; depth < 32; depth += 8) {
        g_autofree char *words = g_strdup_printf("%s%u --inflight=300", least,
                                                 depth);
        struct outcome got = by("coalesced", "run", words);

        g_assert_cmpint(told(&got, "pressure") > 0, ==, depth == 31);
        good(got, "damaged", 0);
    }
    /* who has no batches has no depth, either */
    g_unsetenv("FAKE_TELLS");
    good(by("coalesced", "load", " --workers=2 " SMALL), "loaded", 2000);
    good(by("interrupt", "check", ""), "items", 2000);
    expect(by("interrupt", "run", ""), 1,
           "--depth=64: valid at 0000:00:03.0: 1 to 31, an entry less than");
    g_unsetenv("FAKE_ENTRIES_MOST");
    g_unlink(disk);
}

/* In a piece, or in a batch: which page, and what the controller says. */
static void test_fails(void)
{
    good(by("poll", "load", " " SMALL), "loaded", 2000);
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_setenv("FAKE_FAIL", "2", TRUE);
        expect(by(modes[i], "check", ""), 1,
               "0000:00:03.0: read at 4096: the controller says status 281h");
        g_setenv("FAKE_FAIL", "100", TRUE);
        expect(by(modes[i], "run", " --workload=c --cache=1m"), 1,
               "0000:00:03.0: read of a page at ");
        g_unsetenv("FAKE_FAIL");
    }
    good(by("poll", "check", ""), "items", 2000);
    g_unlink(disk);
}

/* The library's own words, of a controller that is not there. */
static void test_no_controller(void)
{
    expect(spawn(KVSTORE, g_strdup("check --engine=user:poll 0000:00:99.0")), 1,
           "kvstore: there is no PCI function 0000:00:99.0");
    expect(spawn(KVSTORE, g_strdup("load --engine=user:coalesced /dev/null")),
           1, "kvstore: there is no PCI function /dev/null");
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    int result;

    g_test_init(&argc, &argv, NULL);
    directory = g_dir_make_tmp("kvstore-user-XXXXXX", &error);
    g_assert_no_error(error);
    disk = g_strdup_printf("%s/disk", directory);
    g_setenv("FAKE_DISK", disk, TRUE);
    g_test_add_func("/kvstore-user/ways", test_ways);
    g_test_add_func("/kvstore-user/damaged", test_damaged);
    g_test_add_func("/kvstore-user/too-large", test_too_large);
    g_test_add_func("/kvstore-user/queues", test_queues);
    g_test_add_func("/kvstore-user/interrupts", test_interrupts);
    g_test_add_func("/kvstore-user/fails", test_fails);
    g_test_add_func("/kvstore-user/no-controller", test_no_controller);
    result = g_test_run();
    g_rmdir(directory);
    g_free(disk);
    g_free(directory);
    return result;
}
