/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the agent's parts that do not need a guest. */
#include "agent.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* what the parts under test call; serve.c is not linked */
static char last_error[AGENT_ERR_LEN];

void agent_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    g_vsnprintf(last_error, sizeof(last_error), fmt, ap);
    va_end(ap);
}

static void test_base64(void)
{
    /* the vectors of RFC 4648 */
    static const char *const vectors[][2] = {
        { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
    };
    static const uint8_t high[] = { 0xff, 0xfe, 0xfd };
    char *text;

    for (size_t i = 0; i < G_N_ELEMENTS(vectors); i++) {
        text = util_base64((const uint8_t *)vectors[i][0],
                           strlen(vectors[i][0]));
        g_assert_cmpstr(text, ==, vectors[i][1]);
        free(text);
    }
    text = util_base64(high, sizeof(high));
    g_assert_cmpstr(text, ==, "//79");
    free(text);
}

static void test_cpus(void)
{
    static const char *const bad[] = {
        "", ",", "a", "1-", "-1", "3-1", "0,", "0 ", "99999", "1--2",
    };
    cpu_set_t set;

    g_assert_true(util_parse_cpus("0-2,5", &set));
    g_assert_cmpint(CPU_COUNT(&set), ==, 4);
    g_assert_true(CPU_ISSET(5, &set));
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_false(util_parse_cpus(bad[i], &set));
    }
}

static void test_text(void)
{
    json_t *t = util_text("a\xff" "b\0c", 5);

    g_assert_cmpmem(json_string_value(t), json_string_length(t),
                    "a?b\0c", 5);
    json_decref(t);
    t = util_text("\xc2\xb5s", 3);
    g_assert_cmpstr(json_string_value(t), ==, "\xc2\xb5s");
    json_decref(t);
}

static void test_plan_good(void)
{
    static const char text[] =
        "{\"version\":1,\"setup\":[[\"sh\",\"-c\",\"true\"]],"
        "\"jobs\":[{\"name\":\"a\",\"fio\":\"[a]\\n\",\"args\":[\"--x\"],"
        "\"cpus\":\"1\",\"timeout_s\":7},{\"name\":\"b\",\"exec\":[\"ls\"]}],"
        "\"then\":\"shell\"}";
    char err[AGENT_ERR_LEN];
    struct plan plan;

    g_assert_true(plan_parse(text, strlen(text), &plan, err));
    g_assert_cmpstr(plan.setup[0][2], ==, "true");
    g_assert_null(plan.setup[1]);
    g_assert_cmpint(plan.n_jobs, ==, 2);
    g_assert_cmpint(plan.then, ==, PLAN_SHELL);
    g_assert_cmpstr(plan.jobs[0].fio, ==, "[a]\n");
    g_assert_cmpstr(plan.jobs[0].argv[0], ==, "--x");
    g_assert_cmpint(plan.jobs[0].timeout_s, ==, 7);
    g_assert_true(plan.jobs[0].pinned && CPU_ISSET(1, &plan.jobs[0].cpus));
    g_assert_null(plan.jobs[1].fio);
    g_assert_cmpstr(plan.jobs[1].argv[0], ==, "ls");
    g_assert_cmpint(plan.jobs[1].timeout_s, ==, 120);
    g_assert_false(plan.jobs[1].pinned);
    plan_free(&plan);

    g_assert_true(plan_parse("{\"version\":1}", 13, &plan, err));
    g_assert_cmpint(plan.then, ==, PLAN_POWEROFF);
    plan_free(&plan);
}

/* Every bad plan is refused, with a message that names the fault. */
static void test_plan_bad(void)
{
    static const char *const bad[][2] = {
        { "", "not JSON: line 1" },
        { "{\"version\":1", "not JSON" },
        { "[]", "\"version\": 1" },
        { "{\"version\":2}", "\"version\": 1" },
        { "{\"version\":1,\"job\":[]}", "unknown key \"job\"" },
        { "{\"version\":1,\"then\":\"halt\"}", "poweroff" },
        { "{\"version\":1,\"then\":3}", "poweroff" },
        { "{\"version\":1,\"setup\":{}}", "setup must be" },
        { "{\"version\":1,\"setup\":[\"ls\"]}", "list of strings" },
        { "{\"version\":1,\"setup\":[[\"ls\",1]]}", "item 1" },
        { "{\"version\":1,\"setup\":[[]]}", "step 1 is empty" },
        { "{\"version\":1,\"jobs\":1}", "jobs must be" },
        { "{\"version\":1,\"jobs\":[1]}", "must be an object" },
        { "{\"version\":1,\"jobs\":[{\"fio\":\"\"}]}", "needs a \"name\"" },
        { "{\"version\":1,\"jobs\":[{\"name\":\"a\"}]}", "job \"a\" needs" },
        { "{\"version\":1,\"jobs\":[{\"name\":\"a\",\"fio\":\"\","
          "\"exec\":[\"x\"]}]}", "either" },
        { "{\"version\":1,\"jobs\":[{\"name\":\"a\",\"fio\":1}]}",
          "text of a job file" },
        { "{\"version\":1,\"jobs\":[{\"name\":\"a\",\"exec\":[]}]}", "empty" },
        { "{\"version\":1,\"jobs\":[{\"name\":\"a\",\"exec\":[\"x\"],"
          "\"timeout_s\":0}]}", "timeout_s" },
        { "{\"version\":1,\"jobs\":[{\"name\":\"a\",\"exec\":[\"x\"],"
          "\"cpus\":0}]}", "cpus" },
        { "{\"version\":1,\"jobs\":[{\"name\":\"a\",\"exec\":[\"x\"],"
          "\"timeout\":1}]}", "unknown key \"timeout\"" },
        /* the first job is good and must not leak */
        { "{\"version\":1,\"setup\":[[\"a\"]],\"jobs\":[{\"name\":\"a\","
          "\"exec\":[\"x\"]},{}]}", "name" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        char err[AGENT_ERR_LEN] = "";
        struct plan plan;

        g_assert_false(plan_parse(bad[i][0], strlen(bad[i][0]), &plan, err));
        g_test_message("%s", err);
        g_assert_nonnull(strstr(err, bad[i][1]));
    }
}

static void test_fio_json(void)
{
    static const char noisy[] = "fio: a warning\n{\"jobs\":[1]}\nbye\n";
    static const char big[] = "{\"min\":18446744073709551615}";
    json_t *json = job_fio_json(noisy, strlen(noisy));

    g_assert_cmpint(json_array_size(json_object_get(json, "jobs")), ==, 1);
    json_decref(json);
    json = job_fio_json(big, strlen(big));
    g_assert_true(json_is_real(json_object_get(json, "min")));
    json_decref(json);
    g_assert_null(job_fio_json("nothing", 7));
    g_assert_null(job_fio_json("{\"cut", 5));
}

/* A log page of any size and the device that serves it. */
struct fake_log {
    uint8_t *page;
    size_t size;
    int calls, fail_at;
};

static int fake_get(void *opaque, uint64_t offset, void *buf, uint32_t len)
{
    struct fake_log *log = opaque;

    if (++log->calls == log->fail_at) {
        return 0x4009;
    }
    g_assert_cmpint(len, <=, 64 * 1024);
    g_assert_cmpint(len % 4 + offset % 4, ==, 0);
    g_assert_cmpint(offset + len, <=, log->size);
    memcpy(buf, log->page + offset, len);
    return 0;
}

static void fake_init(struct fake_log *log, unsigned header, unsigned record,
                      unsigned records)
{
    *log = (struct fake_log) { .size = header + (size_t)record * records };
    log->page = g_malloc(MAX(log->size, 64));
    for (size_t i = 0; i < log->size; i++) {
        log->page[i] = i * 7 >> 3;
    }
    memcpy(log->page, "CINT", 4);
    log->page[4] = 1;
    log->page[5] = 0;
    memcpy(log->page + 6, &(uint16_t){ GUINT16_TO_LE(header) }, 2);
    memcpy(log->page + 8, &(uint32_t){ GUINT32_TO_LE(record) }, 4);
    memcpy(log->page + 12, &(uint16_t){ GUINT16_TO_LE(records) }, 2);
    memset(log->page + 32, 0, 6);
}

static void check_log(unsigned header, unsigned record, unsigned records,
                      int calls)
{
    struct fake_log log;
    uint8_t *page;
    size_t len;

    fake_init(&log, header, record, records);
    page = nvme_read_log(fake_get, &log, &len);
    g_assert_nonnull(page);
    g_assert_cmpmem(page, len, log.page, log.size);
    g_assert_cmpint(log.calls, ==, calls);
    free(page);

    for (int fail = 1; fail <= calls; fail++) {
        log.calls = 0;
        log.fail_at = fail;
        g_assert_null(nvme_read_log(fake_get, &log, &len));
    }
    g_free(log.page);
}

static void test_log_good(void)
{
    check_log(64, 512, 0, 2);
    check_log(64, 512, 2, 2);
    check_log(128, 512, 17, 2);
    check_log(64, 65472, 1, 2);
    check_log(64, 65476, 1, 3);
    check_log(64, 1024, 200, 5);
}

/* Records of a second kind, behind the others. */
static void test_log_submission_queues(void)
{
    struct fake_log log;
    uint8_t *page;
    size_t len;

    fake_init(&log, 64, 512, 5);
    memcpy(log.page + 12, &(uint16_t){ GUINT16_TO_LE(2) }, 2);
    memcpy(log.page + 32, &(uint32_t){ GUINT32_TO_LE(384) }, 4);
    memcpy(log.page + 36, &(uint16_t){ GUINT16_TO_LE(4) }, 2);
    page = nvme_read_log(fake_get, &log, &len);
    g_assert_nonnull(page);
    g_assert_cmpmem(page, len, log.page, 64 + 2 * 512 + 4 * 384);
    free(page);
    memcpy(log.page + 32, &(uint32_t){ GUINT32_TO_LE(0xffffffff) }, 4);
    g_assert_null(nvme_read_log(fake_get, &log, &len));
    g_free(log.page);
}

static void test_log_bad(void)
{
    static const unsigned bad[][3] = {
        { 60, 512, 2 },             /* header too short */
        { 64, 0xffff, 0xffff },     /* absurd size */
        { 64, 0xffffffff, 0xffff },
        { 64, 3, 1 },               /* not whole dwords */
    };
    struct fake_log log;
    size_t len;

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        fake_init(&log, 64, 4, 1);
        memcpy(log.page + 6, &(uint16_t){ GUINT16_TO_LE(bad[i][0]) }, 2);
        memcpy(log.page + 8, &(uint32_t){ GUINT32_TO_LE(bad[i][1]) }, 4);
        memcpy(log.page + 12, &(uint16_t){ GUINT16_TO_LE(bad[i][2]) }, 2);
        g_assert_null(nvme_read_log(fake_get, &log, &len));
        g_free(log.page);
    }
    fake_init(&log, 64, 512, 1);
    log.page[0] = 'X';
    g_assert_null(nvme_read_log(fake_get, &log, &len));
    g_free(log.page);
}

/* Modules "loaded", each followed by a space. */
static char inserted[256];

static int fake_insert(const char *path)
{
    if (strstr(path, "bad")) {
        return -ENOEXEC;
    }
    g_strlcat(inserted, path, sizeof(inserted));
    g_strlcat(inserted, " ", sizeof(inserted));
    return strstr(path, "twice") ? -EEXIST : 0;
}

static bool load_list(const char *text, char *err)
{
    char *path = NULL;
    int fd = g_file_open_tmp("cint-modules-XXXXXX", &path, NULL);
    bool ok;

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_assert_cmpint(util_write_file(path, text, strlen(text)), ==, 0);
    inserted[0] = err[0] = '\0';
    ok = modules_load(path, fake_insert, err);
    unlink(path);
    g_free(path);
    return ok;
}

static void test_modules(void)
{
    char err[AGENT_ERR_LEN];

    g_assert_true(load_list("/a.ko\n/twice.ko\n\n/c.ko\n", err));
    g_assert_cmpstr(inserted, ==, "/a.ko /twice.ko /c.ko ");
    g_assert_true(load_list("", err));
    g_assert_true(modules_load("/nonexistent/list", fake_insert, err));

    /* what follows may need the one that failed */
    g_assert_false(load_list("/a.ko\n/bad.ko\n/c.ko", err));
    g_assert_cmpstr(inserted, ==, "/a.ko ");
    g_assert_nonnull(strstr(err, "/bad.ko"));
    g_assert_false(modules_load("/", fake_insert, err));

    /* no module at all: an error, whether or not the caller may load one */
    g_assert_cmpint(modules_insert("/nonexistent.ko"), ==, -ENOENT);
    g_assert_cmpint(modules_insert("/dev/null"), <, 0);
}

static struct child run_sh(const char *script, int timeout_s)
{
    char *const argv[] = { "sh", "-c", (char *)script, NULL };
    struct child c = { .argv = argv, .timeout_s = timeout_s };

    g_assert_cmpint(child_run(&c), ==, 0);
    c.argv = NULL;
    return c;
}

static void test_child(void)
{
    struct child c = run_sh("echo out; echo err >&2; exit 3", 60);

    g_assert_cmpint(c.exit_code, ==, 3);
    g_assert_cmpint(c.signal, ==, 0);
    g_assert_false(c.timed_out);
    g_assert_cmpstr(json_string_value(c.out), ==, "out\n");
    g_assert_cmpstr(json_string_value(c.err), ==, "err\n");
    child_clear(&c);

    c = run_sh("kill -9 $$", 60);
    g_assert_cmpint(c.exit_code, ==, -1);
    g_assert_cmpint(c.signal, ==, SIGKILL);
    child_clear(&c);
}

static void test_child_missing(void)
{
    char *const argv[] = { "/nonexistent/program", NULL };
    struct child c = { .argv = argv, .timeout_s = 60 };

    g_assert_cmpint(child_run(&c), ==, 0);
    g_assert_cmpint(c.exit_code, ==, 127);
    g_assert_nonnull(strstr(json_string_value(c.err), "No such file"));
    child_clear(&c);
}

/* More than any pipe holds, and only the end of it is kept. */
static void test_child_output(void)
{
    struct child c = run_sh("head -c 1000000 /dev/zero | tr '\\0' x; echo end",
                            60);

    g_assert_cmpint(json_string_length(c.out), ==, CHILD_OUTPUT_MAX);
    g_assert_true(g_str_has_suffix(json_string_value(c.out), "xend\n"));
    child_clear(&c);
}

/* The whole process group goes, and soon. */
static void test_child_timeout(void)
{
    uint64_t start = util_monotonic_ns();
    struct child c = run_sh("echo begun; sleep 100 & sleep 100", 1);

    g_assert_true(c.timed_out);
    g_assert_cmpint(c.signal, ==, SIGTERM);
    g_assert_cmpstr(json_string_value(c.out), ==, "begun\n");
    g_assert_cmpint(util_monotonic_ns() - start, <, 4000000000ull);
    child_clear(&c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/base64", test_base64);
    g_test_add_func("/agent/cpus", test_cpus);
    g_test_add_func("/agent/text", test_text);
    g_test_add_func("/agent/plan/good", test_plan_good);
    g_test_add_func("/agent/plan/bad", test_plan_bad);
    g_test_add_func("/agent/fio-json", test_fio_json);
    g_test_add_func("/agent/log/good", test_log_good);
    g_test_add_func("/agent/log/submission-queues", test_log_submission_queues);
    g_test_add_func("/agent/log/bad", test_log_bad);
    g_test_add_func("/agent/modules", test_modules);
    g_test_add_func("/agent/child/exit", test_child);
    g_test_add_func("/agent/child/missing", test_child_missing);
    g_test_add_func("/agent/child/output", test_child_output);
    g_test_add_func("/agent/child/timeout", test_child_timeout);
    return g_test_run();
}
