/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A watch over QEMU. See nvme-cint-watch.h.
 */
#include "qemu/osdep.h"
#include <sys/wait.h>
#include "qemu/atomic.h"
#include "nvme-cint-watch.h"

#define SAMPLE_MS   250

typedef struct Watch {
    pid_t qemu;
    pid_t test;             /* the thread that talks to QEMU */
    GThread *thread;
    bool stop;
} Watch;

/* What was seen of QEMU and the test at one time. */
typedef struct Sample {
    uint64_t test_switches; /* of the test's thread, to another */
    uint64_t switches;      /* those, and of all threads of QEMU */
    uint64_t ticks;         /* processor time of QEMU */
    bool awake;             /* a thread runs, or waits for CPU or disk */
} Sample;

static Watch watch;
static char step[200] = "start";

void cint_step(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(step, sizeof(step), fmt, ap);
    va_end(ap);
    g_test_message("%s", step);
}

/* In the form of GLib's assertions, which those who read logs look for. */
static void say(const char *what)
{
    fprintf(stderr, "\n# nvme-cint:ERROR: %s: %s\n", step, what);
    fflush(stderr);
}

/* ---- Samples ---- */

static uint64_t number_after(const char *text, const char *key)
{
    const char *found = strstr(text, key);

    return found ? g_ascii_strtoull(found + strlen(key), NULL, 10) : 0;
}

/* How often thread @tid of @pid was switched away from; if it is awake. */
static uint64_t switches_of(pid_t pid, const char *tid, bool *awake)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%s/status", pid,
                                            tid);
    g_autofree char *text = NULL;
    const char *state;

    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return 0;
    }
    state = strstr(text, "State:\t");
    *awake |= state && strchr("RD", state[strlen("State:\t")]);
    return number_after(text, "\nvoluntary_ctxt_switches:") +
           number_after(text, "\nnonvoluntary_ctxt_switches:");
}

static uint64_t ticks_of(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid);
    g_autofree char *text = NULL;
    unsigned long user, system;

    if (!g_file_get_contents(path, &text, NULL, NULL) ||
        sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
               "%*u %lu %lu", &user, &system) != 2) {
        return 0;
    }
    return user + system;
}

static Sample take_sample(void)
{
    g_autofree char *tasks = g_strdup_printf("/proc/%d/task", watch.qemu);
    g_autofree char *self = g_strdup_printf("%d", watch.test);
    g_autoptr(GDir) dir = g_dir_open(tasks, 0, NULL);
    Sample s = { .ticks = ticks_of(watch.qemu) };
    const char *tid;

    s.test_switches = switches_of(getpid(), self, &s.awake);
    s.switches = s.test_switches;
    while (dir && (tid = g_dir_read_name(dir))) {
        s.switches += switches_of(watch.qemu, tid, &s.awake);
    }
    return s;
}

/* ---- The watch ---- */

/* What the main loop is at; nothing where there is no gdb. */
static void say_where(void)
{
    g_autofree char *pid = g_strdup_printf("%d", watch.qemu);
    const char *argv[] = { "gdb", "-p", pid, "-batch", "-ex", "bt 100", NULL };
    g_autofree char *found = NULL;
    g_auto(GStrv) lines = NULL;
    char **line;

    if (!g_spawn_sync(NULL, (char **)argv, NULL,
                      G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                      NULL, &found, NULL, NULL, NULL)) {
        return;
    }
    lines = g_strsplit(found, "\n", -1);
    for (line = lines; *line; line++) {
        if (**line == '#') {
            fprintf(stderr, "%s\n", *line);
        }
    }
    fflush(stderr);
}

static void end_qemu(const char *why)
{
    say(why);
    say_where();
    /* The test, which waits for an answer, fails when there is nobody. */
    kill(watch.qemu, SIGKILL);
}

static gpointer run_watch(gpointer unused)
{
    uint64_t per_second = sysconf(_SC_CLK_TCK);
    Sample before = take_sample();
    uint64_t asleep_ms = 0, answered = before.ticks;

    while (!qatomic_read(&watch.stop)) {
        Sample now;

        g_usleep(SAMPLE_MS * 1000);
        now = take_sample();
        if (now.test_switches != before.test_switches) {
            answered = now.ticks;
        }
        asleep_ms = now.awake || now.switches != before.switches ?
                    0 : asleep_ms + SAMPLE_MS;
        before = now;
        if (asleep_ms >= CINT_ASLEEP_S * 1000) {
            end_qemu("QEMU hangs, it sleeps and does not answer");
            break;
        }
        if (now.ticks - answered >= CINT_BUSY_S * per_second) {
            end_qemu("QEMU hangs, it is busy and does not answer");
            break;
        }
    }
    return NULL;
}

/* The test has failed; if QEMU has ended, that is why. */
static void on_abort(void *unused)
{
    g_autofree char *why = NULL;
    siginfo_t info = { 0 };
    int i;

    for (i = 0; i < 20 && !info.si_pid; i++) {
        g_usleep(50 * 1000);
        if (waitid(P_PID, watch.qemu, &info, WEXITED | WNOHANG | WNOWAIT)) {
            return;
        }
    }
    if (!info.si_pid) {
        fprintf(stderr, "\n# failed in: %s\n", step);
        return;
    }
    why = g_strdup_printf("QEMU ended, %s %d", info.si_code == CLD_EXITED ?
                          "with exit code" : "by signal", info.si_status);
    say(why);
}

void cint_watch_init(int *argc, char ***argv)
{
    g_test_init(argc, argv, NULL);
    g_setenv("MALLOC_PERTURB_", "165", true);
}

void cint_watch(QTestState *qts)
{
    g_assert_null(watch.thread);
    watch = (Watch) { .qemu = qtest_pid(qts), .test = getpid() };
    qtest_add_abrt_handler(on_abort, &watch);
    watch.thread = g_thread_new("watch", run_watch, NULL);
}

void cint_unwatch(void)
{
    qatomic_set(&watch.stop, true);
    g_thread_join(watch.thread);
    watch.thread = NULL;
    qtest_remove_abrt_handler(&watch);
}
