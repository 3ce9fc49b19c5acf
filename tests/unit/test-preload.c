/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Marking programs as they are: the file of rules, and what the library makes
 * of a program's calls.  preload-kernel.c is the kernel, preload-program.c the
 * program.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "../../preload/rules.h"

/* ---- the file of rules -------------------------------------------------- */

static void accept(struct rules *rules, const char *text)
{
    char error[512];

    g_assert_true(rules_parse(rules, "f", text, strlen(text), error,
                              sizeof(error)));
    g_assert_cmpstr(error, ==, "");
}

static void test_words(void)
{
    struct rules rules;

    accept(&rules, "# who waits\n\nhow priority\nlog /tmp/log # here\n"
           "urgent thread wal* file \"/data/my file\" call read,sync "
           "size 4k-64k fd opened,direct,disk\r\n"
           "barrier size 512\nunmarked size -1m\nusual size 2g-");
    g_assert_cmpint(rules.how, ==, HOW_PRIORITY);
    g_assert_cmpstr(rules.log, ==, "/tmp/log");
    g_assert_cmpuint(rules.count, ==, 4);
    g_assert_true(rules.by_thread);
    g_assert_cmpuint(rules.rule[0].line, ==, 5);
    g_assert_cmpint(rules.rule[0].mark, ==, MARK_URGENT);
    g_assert_cmpstr(rules.rule[0].thread, ==, "wal*");
    g_assert_cmpstr(rules.rule[0].file, ==, "/data/my file");
    g_assert_cmpuint(rules.rule[0].calls, ==, CALL_READ | CALL_SYNC);
    g_assert_cmpuint(rules.rule[0].origin, ==,
                     FD_OPENED | FD_DIRECT | FD_DISK);
    g_assert_cmpuint(rules.rule[0].least, ==, 4096);
    g_assert_cmpuint(rules.rule[0].most, ==, 65536);
    g_assert_cmpuint(rules.rule[1].least, ==, 512);
    g_assert_cmpuint(rules.rule[1].most, ==, 512);
    g_assert_cmpuint(rules.rule[1].calls, ==, CALL_ALL);
    g_assert_cmpuint(rules.rule[2].least, ==, 0);
    g_assert_cmpuint(rules.rule[2].most, ==, 1 << 20);
    g_assert_cmpuint(rules.rule[3].least, ==, 2ull << 30);
    g_assert_cmpuint(rules.rule[3].most, ==, UINT64_MAX);
}

static const struct {
    const char *text, *error;
} wrong[] = {
    { "", "f:1: there is no rule; valid: urgent, barrier, unmarked, usual, "
      "how, log" },
    { "# nothing\n", "f:1: there is no rule; valid: urgent, barrier, unmarked, "
      "usual, how, log" },
    { "usual\nurgnt\n", "f:2: 'urgnt' begins no line; valid: urgent, barrier, "
      "unmarked, usual, how, log" },
    { "urgent thred x", "f:1: 'thred' is no condition; valid: thread, file, "
      "call, size, fd" },
    { "urgent thread", "f:1: 'thread' has no value" },
    { "urgent thread a thread b", "f:1: 'thread' is given twice" },
    { "urgent call reed", "f:1: call 'reed' is unknown; valid: read, write, "
      "aio-read, aio-write, sync" },
    { "urgent call read,", "f:1: call '' is unknown; valid: read, write, "
      "aio-read, aio-write, sync" },
    { "urgent fd stolen", "f:1: fd 'stolen' is unknown; valid: opened, "
      "inherited, direct, buffered, sync, file, disk" },
    { "urgent fd direct,buffered", "f:1: fd 'direct,buffered': all of them "
      "must hold, and no descriptor is both" },
    { "urgent size big", "f:1: size 'big' is no size; valid: 4k, 4k-64k, -4k "
      "(at most), 64k- (at least), with k, m or g" },
    { "urgent size -", "f:1: size '-' is no size; valid: 4k, 4k-64k, -4k "
      "(at most), 64k- (at least), with k, m or g" },
    { "urgent size 4kb", "f:1: size '4kb' is no size; valid: 4k, 4k-64k, -4k "
      "(at most), 64k- (at least), with k, m or g" },
    { "urgent size 99999999999999999999", "f:1: size '99999999999999999999' is "
      "no size; valid: 4k, 4k-64k, -4k (at most), 64k- (at least), with k, m "
      "or g" },
    { "urgent size 8k-4k", "f:1: size '8k-4k': the first is larger than the "
      "second" },
    { "how fast", "f:1: how 'fast' is unknown; valid: auto, flags, priority" },
    { "how flags now", "f:1: 'now': nothing more is expected" },
    { "log here", "f:1: log 'here': give a file's whole path" },
    { "usual\n\"\" urgent", "f:2: a word is empty (\"\")" },
    { "urgent \"\" thread x", "f:1: a word is empty (\"\")" },
    { "urgent thread \"\"", "f:1: a word is empty (\"\")" },
    { "how flags\nusual\nhow \"\"", "f:3: a word is empty (\"\")" },
    { "urgent thread \"a b", "f:1: a quote (\") is not closed" },
};

static void test_errors(void)
{
    g_autofree char *text = NULL;
    g_autofree char *word = g_strnfill(300, 'x');
    GString *many = g_string_new(NULL);
    struct rules rules;
    char error[512];

    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_false(rules_parse(&rules, "f", wrong[i].text,
                                   strlen(wrong[i].text), error,
                                   sizeof(error)));
        g_assert_cmpstr(error, ==, wrong[i].error);
    }
    text = g_strdup_printf("urgent file %s", word);
    g_assert_false(rules_parse(&rules, "f", text, strlen(text), error,
                               sizeof(error)));
    g_assert_cmpstr(error, ==, "f:1: a word is longer than 255 bytes");
    for (int i = 0; i < RULES_MAX; i++) {
        g_string_append(many, "urgent\n");
    }
    accept(&rules, many->str);
    g_string_append(many, "urgent\n");
    g_assert_false(rules_parse(&rules, "f", many->str, many->len, error,
                               sizeof(error)));
    g_assert_cmpstr(error, ==, "f:65: more than 64 rules");
    g_assert_false(rules_parse(&rules, "f", "usual\nurgent\0thread x\n", 22,
                               error, sizeof(error)));
    g_assert_cmpstr(error, ==, "f:2: a zero byte: this is no text");
    g_string_free(many, true);
}

static void test_first_decides(void)
{
    struct rules rules;
    uint64_t file;

    accept(&rules, "urgent file *.log call write,sync\n"
           "unmarked thread bg-* size 64k-\nbarrier call aio-read fd direct\n");
    file = rules_of_file(&rules, "/x/a.log", FD_FILE | FD_OPENED);
    g_assert_cmphex(file, ==, 3);
    g_assert_cmpint(rules_find(&rules, file, "bg-1", CALL_WRITE, 1 << 20), ==,
                    0);
    g_assert_cmpint(rules_find(&rules, file, "bg-1", CALL_READ, 1 << 20), ==,
                    1);
    g_assert_cmpint(rules_find(&rules, file, "bg-1", CALL_READ, 65535), ==, -1);
    g_assert_cmpint(rules_find(&rules, file, "fg", CALL_READ, 1 << 20), ==, -1);
    file = rules_of_file(&rules, "/x/b", FD_FILE | FD_OPENED | FD_DIRECT);
    g_assert_cmphex(file, ==, 6);
    g_assert_cmpint(rules_find(&rules, file, "fg", CALL_AIO_READ, 1), ==, 2);
}

/* ---- a program's calls -------------------------------------------------- */

struct place {
    char *directory, *rules, *log, *file, *said;
    int status;
};

static void place_make(struct place *p)
{
    g_autofree char *data = g_malloc0(1 << 20);

    p->directory = g_dir_make_tmp("cint-preload-XXXXXX", NULL);
    p->rules = g_build_filename(p->directory, "rules", NULL);
    p->log = g_build_filename(p->directory, "log", NULL);
    p->file = g_build_filename(p->directory, "data.db", NULL);
    p->said = NULL;
    g_assert_true(g_file_set_contents(p->file, data, 1 << 20, NULL));
}

static void place_free(struct place *p)
{
    g_remove(p->rules);
    g_remove(p->log);
    g_remove(p->file);
    g_rmdir(p->directory);
    g_free(p->directory);
    g_free(p->rules);
    g_free(p->log);
    g_free(p->file);
    g_free(p->said);
}

/*
 * The program under rules, with the words of STEPS, of which @ is the file;
 * what came to the kernel.  ENVIRONMENT is NAME=VALUE or NULL.
 */
static char *run_on(struct place *p, const char *kernel, const char *rules,
                    const char *environment, const char *steps)
{
    g_auto(GStrv) env = g_get_environ();
    g_auto(GStrv) words = g_strsplit(steps, "@", -1);
    g_autofree char *filled = g_strjoinv(p->file, words);
    g_autofree char *line = g_strdup_printf("%s %s %s %s", PRELOAD_LAUNCHER,
                                            p->rules, PRELOAD_PROGRAM, filled);
    g_auto(GStrv) argv = g_strsplit(line, " ", -1);
    char *log = NULL;

    g_assert_true(g_file_set_contents(p->rules, rules, -1, NULL));
    g_assert_true(g_file_set_contents(p->log, "", 0, NULL));
    env = g_environ_setenv(env, "LD_PRELOAD", kernel, true);
    env = g_environ_setenv(env, "FAKE_LOG", p->log, true);
    if (environment) {
        g_auto(GStrv) pair = g_strsplit(environment, "=", 2);
        env = g_environ_setenv(env, pair[0], pair[1], true);
    }
    g_clear_pointer(&p->said, g_free);
    g_assert_true(g_spawn_sync(NULL, argv, env, 0, NULL, NULL, NULL, &p->said,
                               &p->status, NULL));
    g_assert_true(g_file_get_contents(p->log, &log, NULL, NULL));
    return log;
}

static char *run(struct place *p, const char *rules, const char *environment,
                 const char *steps)
{
    return run_on(p, PRELOAD_KERNEL, rules, environment, steps);
}

static void check(const char *rules, const char *environment, const char *steps,
                  const char *wanted, const char *said)
{
    struct place p;
    g_autofree char *log = NULL;

    place_make(&p);
    log = run(&p, rules, environment, steps);
    g_test_message("%s", p.said);
    g_assert_cmpint(p.status, ==, 0);
    g_assert_cmpstr(log, ==, wanted);
    if (said && !strstr(p.said, said)) {
        g_error("'%s' is not in: %s", said, p.said);
    }
    place_free(&p);
}

static const struct {
    const char *name, *rules, *environment, *steps, *wanted, *said;
} cases[] = {
    { "/preload/flags",
      "urgent call read\nbarrier call write size 8k\nunmarked call write\n",
      NULL,
      "open:@ read:4096 pread:4096 preadv:4096 raw:4096 "
      "write:8192 pwrite:4096 pwritev:4096",
      "preadv2 4000 4096\npreadv2 4000 4096\npreadv2 4000 4096\n"
      "preadv2 4000 4096\npwritev2 8000 8192\npwritev2 c000 4096\n"
      "pwritev2 c000 4096\n",
      "line 1 (urgent): 4, not taken 0\n"
      "cint-preload: line 2 (barrier): 1, not taken 0\n"
      "cint-preload: line 3 (unmarked): 2, not taken 0\n"
      "cint-preload: by no rule: 0\n" },
    { "/preload/priority",
      "urgent call read\nunmarked call write,sync\n", "FAKE_FLAGS=no",
      "open:@ pread:4096 pwrite:4096 fsync",
      /* What is tried at the start, then there and back for each. */
      "class 1 0\nclass 0 0\nclass 1 0\nclass 0 0\nclass 3 0\nclass 0 0\n"
      "class 3 0\nclass 0 0\n",
      "rules, by I/O priorities; not marked: io_uring, mmap, stdio, POSIX "
      "aio, sendfile and other copies in the kernel, system calls the program "
      "makes itself, static programs it starts\n" },
    { "/preload/realtime-refused", "how priority\nurgent\n",
      "FAKE_REALTIME=no", "open:@ pread:4096",
      "", "line 2 (urgent): 0, not taken 1\n" },
    { "/preload/realtime-refused-said", "how priority\nurgent\n",
      "FAKE_REALTIME=no", "open:@ pread:4096",
      "", "needs CAP_SYS_NICE" },
    { "/preload/barrier-has-no-priority", "how priority\nbarrier\n", NULL,
      "open:@ pread:4096", "class 1 0\nclass 0 0\n",
      "line 2 (barrier): 0, not taken 1\n" },
    { "/preload/refused-by-file", "urgent\n", "FAKE_FLAGS=files",
      "open:@ pread:4096 aio-read:4096",
      "preadv2 4000 4096\nio_submit 4000 4096\nio_submit 0 4096\n",
      "line 1 (urgent): 0, not taken 2\n" },
    { "/preload/sync-has-no-flag", "urgent\n", NULL, "open:@ fsync", "",
      "line 1 (urgent): 0, not taken 1\n" },
    { "/preload/aio", "urgent call aio-read\nbarrier call aio-write\n", NULL,
      "open:@ aio-read:4096 aio-write:8192 pread:4096",
      "io_submit 4000 4096\nio_submit 4000 4096\n"
      "io_submit 8000 8192\nio_submit 8000 8192\n",
      "line 1 (urgent): 2, not taken 0\n"
      "cint-preload: line 2 (barrier): 2, not taken 0\n"
      "cint-preload: by no rule: 1\n" },
    { "/preload/aio-priority",
      "how priority\nurgent call aio-read\nunmarked call aio-write\n", NULL,
      "open:@ aio-read:4096 aio-write:8192",
      "class 1 0\nclass 0 0\n"
      "class 1 0\nio_submit 1 4096\nio_submit 1 4096\nclass 0 0\n"
      "class 3 0\nio_submit 3 8192\nio_submit 3 8192\nclass 0 0\n", NULL },
    { "/preload/aio-used-again",
      "urgent call aio-read size 4k\nbarrier call aio-read size 8k\n"
      "usual call aio-read\n", NULL,
      "open:@ aio-read:4096 aio-read:8192 aio-read:512",
      "io_submit 4000 4096\nio_submit 4000 4096\nio_submit 8000 8192\n"
      "io_submit 8000 8192\nio_submit 0 512\nio_submit 0 512\n", NULL },
    { "/preload/aio-gone", "urgent\n", NULL, "open:@ aio-gone:4096",
      "io_submit 4000 4096\n", "line 1 (urgent): 1, not taken 0\n" },
    { "/preload/aio-gone-priority", "how priority\nurgent\n", NULL,
      "open:@ aio-gone:4096",
      "class 1 0\nclass 0 0\nclass 1 0\nio_submit 1 4096\nclass 0 0\n",
      "line 2 (urgent): 1, not taken 0\n" },
    { "/preload/small-stack", "urgent\n", NULL, "open:@ small-stack",
      "preadv2 4000 4096\n", NULL },
    { "/preload/bad-vectors", "urgent size 4k\n", NULL, "open:@ bad-vectors",
      "", "line 1 (urgent): 0, not taken 0\n" },
    { "/preload/by-number", "urgent call read\n", NULL,
      "open:@ raw-vector:4096 raw-fsync", "preadv2 4000 4096\n",
      "by no rule: 1\n" },
    { "/preload/closed-unseen", "urgent fd sync\nunmarked fd opened\n", NULL,
      "open-sync:@ pread:4096 raw-close fopen:@ pread:4096",
      "preadv2 4000 4096\npreadv2 c000 4096\n", NULL },
    { "/preload/daemon", "urgent\n", NULL, "open:@ daemon pread:4096",
      "preadv2 4000 4096\n",
      "line 1 (urgent): 1, not taken 0\ncint-preload: by no rule: 0\n" },
    { "/preload/thread", "unmarked thread flush*\nurgent\n", NULL,
      "open:@ pread:4096 thread:flusher pread:4096 thread:main pread:4096",
      "preadv2 4000 4096\npreadv2 c000 4096\npreadv2 4000 4096\n", NULL },
    { "/preload/file", "usual file */other\nurgent file *.db\n", NULL,
      "open:@ pread:4096 open:/dev/null pread:0", "preadv2 4000 4096\n",
      "line 1 (usual): 0, not taken 0\n" },
    { "/preload/same-descriptor",
      "urgent fd sync\nunmarked fd opened\n", NULL,
      "open:@ pread:4096 close open-sync:@ pread:4096 close open:@ pread:4096",
      "preadv2 c000 4096\npreadv2 4000 4096\npreadv2 c000 4096\n", NULL },
    { "/preload/size", "urgent size 4k-8k\n", NULL,
      "open:@ pread:4095 pread:4096 pread:8192 pread:8193",
      "preadv2 4000 4096\npreadv2 4000 8192\n", "by no rule: 2\n" },
    { "/preload/children-count", "urgent\n", NULL,
      "open:@ child child pread:4096",
      "preadv2 4000 4096\npreadv2 4000 4096\npreadv2 4000 4096\n",
      "line 1 (urgent): 3, not taken 0\ncint-preload: by no rule: 0\n" },
    { "/preload/signal", "urgent\n", NULL,
      "open:@ pread:4096 signal pread:4096",
      "preadv2 4000 4096\npreadv2 4000 4096\n",
      "line 1 (urgent): 1, not taken 0\ncint-preload: by no rule: 0\n"
      "cint-preload: line 1 (urgent): 2, not taken 0\n" },
    { "/preload/ring", "urgent\n", NULL, "ring ring", "",
      "calls of io_uring, which are not marked: 2\n" },
    { "/preload/callers-mistake", "urgent\n", NULL, "open:@ negative", "",
      "line 1 (urgent): 0, not taken 0\n" },
};

static void test_case(const void *data)
{
    size_t i = GPOINTER_TO_SIZE(data);

    check(cases[i].rules, cases[i].environment, cases[i].steps,
          cases[i].wanted, cases[i].said);
}

static void test_many_blocks(void)
{
    struct place p;
    g_autofree char *log = NULL;

    place_make(&p);
    log = run(&p, "urgent\n", NULL, "open:@ aio-many:700");
    g_assert_cmpint(p.status, ==, 0);
    g_assert_nonnull(strstr(p.said, "line 1 (urgent): 700, not taken 0\n"));
    place_free(&p);
}

/* A library with a libaio of its own finds this one's call, and no other */
static void test_without_libaio(void)
{
    struct place p;
    g_autofree char *log = NULL;

    place_make(&p);
    log = run_on(&p, PRELOAD_KERNEL_ALONE, "urgent\n", NULL,
                 "open:@ aio-read:4096");
    g_assert_cmpint(p.status, ==, 0);
    g_assert_cmpstr(log, ==, "io_submit 4000 4096\nio_submit 4000 4096\n");
    place_free(&p);
}

/* The copy of standard error was closed, and its number is a file of data */
static void test_number_used_again(void)
{
    struct place p;
    g_autofree char *log = NULL, *data = NULL;
    size_t size;

    place_make(&p);
    log = run(&p, "urgent\n", NULL,
              "open:@ close-all fill:@ pread:4096 signal");
    g_assert_cmpint(p.status, ==, 0);
    g_assert_true(g_file_get_contents(p.file, &data, &size, NULL));
    g_assert_cmpuint(size, ==, 1 << 20);
    for (size_t i = 0; i < size; i++) {
        g_assert_cmpint(data[i], ==, 0);
    }
    place_free(&p);
}

static int launch(const char *const *argv, char **said)
{
    int status = 0;

    g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, 0, NULL, NULL, NULL,
                               said, &status, NULL));
    return g_spawn_check_wait_status(status, NULL) ? 0 : status >> 8;
}

/* What a program starts after it changed its root or removed the rules */
static void test_rules_gone(void)
{
    struct place p;
    g_autofree char *script = NULL, *said = NULL;

    place_make(&p);
    g_assert_true(g_file_set_contents(p.rules, "urgent\n", -1, NULL));
    script = g_strdup_printf("rm %s; exec sleep 0", p.rules);
    {
        const char *argv[] = { PRELOAD_LAUNCHER, p.rules, "sh", "-c", script,
                               NULL };

        g_assert_cmpint(launch(argv, &said), ==, 0);
    }
    g_assert_nonnull(strstr(said, "No such file or directory: nothing is "
                            "marked"));
    place_free(&p);
}

/* What was open before the program began; F_SETFL is seen, too */
static void test_inherited(void)
{
    struct place p;
    g_autofree char *log = NULL, *script = NULL, *line = NULL;
    char *argv[] = { (char *)"/bin/sh", (char *)"-c", NULL, NULL };
    g_auto(GStrv) env = g_get_environ();

    place_make(&p);
    g_assert_true(g_file_set_contents(p.rules, "urgent fd inherited,buffered\n"
                                      "barrier fd inherited,direct\n"
                                      "unmarked fd opened\n", -1, NULL));
    script = g_strdup_printf("exec 7<>%s; exec %s %s %s use:7 pread:4096 "
                             "direct pread:4096 close open:%s pread:4096",
                             p.file, PRELOAD_LAUNCHER, p.rules,
                             PRELOAD_PROGRAM, p.file);
    argv[2] = script;
    env = g_environ_setenv(env, "LD_PRELOAD", PRELOAD_KERNEL, true);
    env = g_environ_setenv(env, "FAKE_LOG", p.log, true);
    g_assert_true(g_spawn_sync(NULL, argv, env, 0, NULL, NULL, NULL, &p.said,
                               &p.status, NULL));
    g_test_message("%s", p.said);
    g_assert_true(g_file_get_contents(p.log, &log, NULL, NULL));
    if (strstr(p.said, "direct: ") || strstr(p.said, "pread: ")) {
        g_test_skip("the file system has no direct I/O");
    } else {
        g_assert_cmpstr(log, ==, "preadv2 4000 4096\npreadv2 8000 4096\n"
                        "preadv2 c000 4096\n");
    }
    place_free(&p);
}

/* Reports go where the rules say */
static void test_log(void)
{
    struct place p;
    g_autofree char *rules = NULL, *name = NULL, *text = NULL, *log = NULL;

    place_make(&p);
    name = g_build_filename(p.directory, "report", NULL);
    rules = g_strdup_printf("log %s\nurgent\n", name);
    log = run(&p, rules, NULL, "open:@ pread:4096");
    g_assert_cmpint(p.status, ==, 0);
    g_assert_cmpstr(p.said, ==, "");
    g_assert_true(g_file_get_contents(name, &text, NULL, NULL));
    g_assert_nonnull(strstr(text, "1 rules, by RWF flags"));
    g_assert_nonnull(strstr(text, "line 2 (urgent): 1, not taken 0\n"));
    g_remove(name);
    place_free(&p);
}

static void test_launcher(void)
{
    struct place p;
    const struct {
        const char *argv[4];
        int status;
        const char *said;
    } words[] = {
        { { "--check", NULL }, 2, "usage: cint-preload RULES PROGRAM" },
        { { "--check", "RULES" }, 0, "" },
        { { "--check", "/nowhere" }, 125, "/nowhere: No such file" },
        { { "/nowhere", "true" }, 125, "/nowhere: No such file" },
        { { "RULES", "no-such-program" }, 126, "there is no such program" },
        { { "RULES", PRELOAD_STATIC }, 126, "is statically linked" },
        { { "RULES", "true" }, 0, "1 rules, by " },
    };

    place_make(&p);
    g_assert_true(g_file_set_contents(p.rules, "urgent\n", -1, NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        const char *argv[6] = { PRELOAD_LAUNCHER };
        g_autofree char *said = NULL;

        for (int j = 0; j < 4 && words[i].argv[j]; j++) {
            argv[j + 1] = strcmp(words[i].argv[j], "RULES") ?
                words[i].argv[j] : p.rules;
        }
        g_assert_cmpint(launch(argv, &said), ==, words[i].status);
        g_test_message("%s", said);
        g_assert_nonnull(strstr(said, words[i].said));
    }
    g_assert_true(g_file_set_contents(p.rules, "urgent\nurgnt\n", -1, NULL));
    {
        const char *argv[] = { PRELOAD_LAUNCHER, p.rules, "true", NULL };
        g_autofree char *said = NULL;
        g_autofree char *wanted = g_strdup_printf(
            "cint-preload: %s:2: 'urgnt' begins no line", p.rules);

        g_assert_cmpint(launch(argv, &said), ==, 125);
        g_assert_true(g_str_has_prefix(said, wanted));
    }
    place_free(&p);
}

/* Whoever starts it: the loader loads nothing into a program of more rights */
static void test_other_rights(void)
{
    struct place p;
    g_autofree char *program = NULL, *data = NULL, *said = NULL;
    struct statvfs where;
    size_t size;
    int status;

    place_make(&p);
    program = g_build_filename(p.directory, "program", NULL);
    g_assert_true(g_file_set_contents(p.rules, "urgent\n", -1, NULL));
    g_assert_true(g_file_get_contents(PRELOAD_PROGRAM, &data, &size, NULL));
    g_assert_true(g_file_set_contents(program, data, size, NULL));
    if (chown(program, 65534, 65534) || g_chmod(program, 04755) ||
        statvfs(program, &where) || (where.f_flag & ST_NOSUID)) {
        g_test_skip("needs root, and a place where programs change rights");
    } else {
        const char *argv[] = { PRELOAD_LAUNCHER, p.rules, program, NULL };

        status = launch(argv, &said);
        g_test_message("%s", said);
        g_assert_cmpint(status, ==, 126);
        g_assert_nonnull(strstr(said, "changes its user"));
    }
    g_remove(program);
    place_free(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/preload/rules/words", test_words);
    g_test_add_func("/preload/rules/errors", test_errors);
    g_test_add_func("/preload/rules/first-decides", test_first_decides);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_test_add_data_func(cases[i].name, GSIZE_TO_POINTER(i), test_case);
    }
    g_test_add_func("/preload/many-blocks", test_many_blocks);
    g_test_add_func("/preload/without-libaio", test_without_libaio);
    g_test_add_func("/preload/number-used-again", test_number_used_again);
    g_test_add_func("/preload/rules-gone", test_rules_gone);
    g_test_add_func("/preload/inherited", test_inherited);
    g_test_add_func("/preload/log", test_log);
    g_test_add_func("/preload/launcher", test_launcher);
    g_test_add_func("/preload/other-rights", test_other_rights);
    return g_test_run();
}
