/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * steerd itself, on a machine that this test makes up: its files are below a
 * directory, its clock is a counter, and affinities are a table, which is
 * shared with the child that a test lets end by a signal. The file is included.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tree.h"

#define THREADS 4
#define MS UINT64_C(1000000)
#define EVERYWHERE 3            /* CPUs 0 and 1 */

/* Of the machine; a thread has the number 100 + its place. */
static struct machine {
    unsigned int cpus;
    uint64_t mask[THREADS];
    unsigned int started[THREADS], cpu[THREADS];
    uint64_t moves[THREADS];    /* calls that set a mask */
    uint64_t now_ns;
    uint64_t reads;             /* of loads */
    uint64_t last_read_ns;
    uint64_t most_at_once;      /* loads read without a sleep between */
    uint64_t at_once;
} *m;

/* What happens while steerd sleeps for the nth time. */
static void (*happens)(unsigned int sleeps);
static unsigned int sleeps;

static int fake_open(const char *path, int flags)
{
    return open(rooted(path), flags);
}

static ssize_t fake_pread(int fd, void *text, size_t size, off_t at)
{
    m->reads++;
    m->at_once++;
    m->most_at_once = MAX(m->most_at_once, m->at_once);
    return pread(fd, text, size, at);
}

static int fake_clock_gettime(clockid_t clock, struct timespec *now)
{
    now->tv_sec = m->now_ns / 1000000000;
    now->tv_nsec = m->now_ns % 1000000000;
    return 0;
}

static int fake_nanosleep(clockid_t clock, int flags,
                          const struct timespec *until, struct timespec *left)
{
    uint64_t end = until->tv_sec * UINT64_C(1000000000) + until->tv_nsec;

    if (end > m->now_ns) {
        m->now_ns = end;
        m->at_once = 0;
    }
    happens(sleeps++);
    return 0;
}

static uint64_t bits(const cpu_set_t *set)
{
    uint64_t found = 0;

    for (unsigned int cpu = 0; cpu < 64; cpu++) {
        found |= (uint64_t)!!CPU_ISSET(cpu, set) << cpu;
    }
    return found;
}

static int fake_getaffinity(pid_t tid, size_t size, cpu_set_t *set)
{
    CPU_ZERO(set);
    for (unsigned int cpu = 0; cpu < 64; cpu++) {
        if (m->mask[tid - 100] >> cpu & 1) {
            CPU_SET(cpu, set);
        }
    }
    return 0;
}

static void put_stat(unsigned int thread)
{
    g_autofree char *path = g_strdup_printf("/proc/%u/stat", 100 + thread);

    put(path, "%u (a (strange) name) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 "
        "%u 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 %u 0 0\n", 100 + thread,
        m->started[thread], m->cpu[thread]);
}

/* A thread that may not stay where it is goes to the first CPU that it may. */
static int fake_setaffinity(pid_t tid, size_t size, const cpu_set_t *set)
{
    unsigned int thread = tid - 100;

    m->mask[thread] = bits(set);
    m->moves[thread]++;
    if (!(m->mask[thread] >> m->cpu[thread] & 1)) {
        m->cpu[thread] = __builtin_ctzll(m->mask[thread]);
        put_stat(thread);
    }
    return 0;
}

#define open(path, flags) fake_open(path, flags)
#define opendir(path) opendir(rooted(path))
#define pread(fd, text, size, at) fake_pread(fd, text, size, at)
#define clock_gettime(clock, now) fake_clock_gettime(clock, now)
#define clock_nanosleep(clock, flags, until, left) \
    fake_nanosleep(clock, flags, until, left)
#define sched_getaffinity(tid, size, set) fake_getaffinity(tid, size, set)
#define sched_setaffinity(tid, size, set) fake_setaffinity(tid, size, set)
#define sched_getscheduler(tid) SCHED_OTHER
#define syscall(number, who, tid) 0     /* ioprio_get: no class */
#define sysconf(name) ((long)m->cpus)
#define exit(status) g_error("it exits: " #status)
#define main steerd_main
#include "../../images/steerd/steerd.c"
#undef main
#undef exit

/* --- a machine ---------------------------------------------------------- */

/* L has bytes outstanding on CPU 0, T there, too, by thread 0: it is to go. */
static void begin(unsigned int cpus)
{
    m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_assert_true(m != MAP_FAILED);
    m->cpus = cpus;
    tree_begin();
    for (unsigned int queue = 0; queue < 2 * cpus; queue++) {
        g_autofree char *dir =
            g_strdup_printf("/sys/block/nvme0n1/mq/%u/", queue);
        g_autofree char *list = g_strconcat(dir, "cpu_list", NULL);
        g_autofree char *bytes = g_strconcat(dir, "switch_bytes", NULL);

        put(list, "%u\n", queue % cpus);
        put(bytes, "%s\n", queue % cpus ? "0" : "65536");
    }
    m->mask[0] = EVERYWHERE;
    m->started[0] = 7000;
    put("/proc/100/comm", "mover\n");
    put("/proc/100/task/100/stat", "%s", "");
    put_stat(0);
    put("/proc/101/comm", "other\n");
    put_stat(1);
    sleeps = 0;
    memset(&all, 0, sizeof(all));
    ended = 0;
}

static void finish(void)
{
    tree_end();
    munmap(m, sizeof(*m));
}

static uint64_t steer(bool hold, const char *name)
{
    struct steer steer = { .cpus = m->cpus,
                           .latency_limit = BLK_SWITCH_LATENCY_LIMIT };
    char *names[] = { (char *)name, NULL };
    struct options options = { "nvme0n1", 10, BLK_SWITCH_LATENCY_LIMIT, false,
                               hold, names };
    uint64_t moved;

    open_queues(options.disk, steer.cpus);
    handle_signals();
    moved = steer_until_ended(&steer, &options);
    for (unsigned int queue = 0; queue < 2 * m->cpus; queue++) {
        close(queues[queue % m->cpus][queue / m->cpus]);
    }
    return moved;
}

/* --- the end ------------------------------------------------------------ */

static int signal_sent;

/* When it is held, and may not run where its user lets it. */
static void send_signal(unsigned int sleeps)
{
    if (m->mask[0] == 2) {
        raise(signal_sent);
    }
    g_assert_cmpuint(sleeps, <, 1000);
}

/* The child's status. */
static int end_by(int number)
{
    int status;
    pid_t child = fork();

    g_assert_cmpint(child, >=, 0);
    if (!child) {
        struct rlimit none = { 0, 0 };

        setrlimit(RLIMIT_CORE, &none);
        signal_sent = number;
        happens = send_signal;
        steer(true, "mover");
        _exit(0);
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    return status;
}

/* Each signal that would end it: whoever was held may run everywhere again. */
static void test_signals(void)
{
    unsigned int tried = 0;

    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction before;
        int status;

        if (number == SIGKILL || number == SIGSTOP || is_harmless(number) ||
            sigaction(number, NULL, &before)) {
            continue;
        }
        begin(2);
        signal(number, SIG_DFL);
        status = end_by(number);
        g_assert_cmpuint(m->moves[0], >=, 2);
        g_assert_cmphex(m->mask[0], ==, EVERYWHERE);
        if (is_fault(number)) {
            g_assert_true(WIFSIGNALED(status));
            g_assert_cmpint(WTERMSIG(status), ==, number);
        } else {
            g_assert_true(WIFEXITED(status));
        }
        sigaction(number, &before, NULL);
        finish();
        tried++;
    }
    g_assert_cmpuint(tried, >, 50);
}

static void send_ignored(unsigned int sleeps)
{
    if (sleeps == 100) {
        raise(SIGHUP);
    }
    if (sleeps == 200) {
        raise(SIGTERM);
    }
}

/* Under nohup it goes on. */
static void test_ignored(void)
{
    begin(2);
    signal(SIGHUP, SIG_IGN);
    happens = send_ignored;
    steer(true, "mover");
    g_assert_cmpuint(sleeps, >, 200);
    g_assert_cmphex(m->mask[0], ==, EVERYWHERE);
    signal(SIGHUP, SIG_DFL);
    finish();
}

/* --- whose mask it is --------------------------------------------------- */

static unsigned int held_at;

/* The number is another thread's, which has a mask of its own. */
static void use_number_again(unsigned int sleeps)
{
    if (!held_at && m->mask[0] == 2) {
        held_at = sleeps;
        m->started[0] = 7001;
        m->cpu[0] = 1;
        put_stat(0);
    }
    if (held_at && sleeps == held_at + 50) {
        raise(SIGTERM);
    }
    g_assert_cmpuint(sleeps, <, 1000);
}

/* It is neither moved by what was known of the other one, nor released. */
static void test_number_used_again(void)
{
    begin(2);
    held_at = 0;
    happens = use_number_again;
    steer(true, "mover");
    g_assert_cmphex(m->mask[0], ==, 2);
    g_assert_cmpuint(m->moves[0], ==, 1);
    finish();
}

static uint64_t users_mask;

static void change_mask(unsigned int sleeps)
{
    if (!held_at && m->mask[0] == 2) {
        held_at = sleeps;
        m->mask[0] = users_mask;
        m->cpu[0] = 0;
        put_stat(0);
    }
    if (held_at && sleeps == held_at + 50) {
        raise(SIGTERM);
    }
    g_assert_cmpuint(sleeps, <, 1000);
}

/* The user's later mask is what counts, in the end and for moves. */
static void test_mask_changed(void)
{
    static const uint64_t masks[] = { 1, 3, 5, 9 };

    for (size_t i = 0; i < G_N_ELEMENTS(masks); i++) {
        begin(4);
        held_at = 0;
        users_mask = masks[i];
        happens = change_mask;
        steer(true, "mover");
        g_assert_cmphex(m->mask[0], ==, users_mask);
        g_assert_cmpuint(m->moves[0], ==, users_mask == 1 ? 1 : 3);
        finish();
    }
}

/* Before the first move, too: what is known is not of its first sight. */
static void change_early(unsigned int sleeps)
{
    if (sleeps == 1) {
        m->mask[0] = 1;
    }
    if (sleeps == 200) {
        raise(SIGTERM);
    }
}

static void test_mask_changed_early(void)
{
    begin(2);
    happens = change_early;
    g_assert_cmpuint(steer(false, "mover"), ==, 0);
    g_assert_cmphex(m->mask[0], ==, 1);
    g_assert_cmpuint(m->moves[0], ==, 0);
    finish();
}

/* --- time --------------------------------------------------------------- */

static void be_stopped(unsigned int sleeps)
{
    if (sleeps == 100) {
        m->now_ns += 15000 * MS;
    }
    if (sleeps == 300) {
        raise(SIGTERM);
    }
}

/* After SIGSTOP it goes on from now, and sleeps between its looks. */
static void test_stopped(void)
{
    begin(2);
    happens = be_stopped;
    steer(false, "mover");
    /* a look is of four files, and only the one after it is not slept for */
    g_assert_cmpuint(m->most_at_once, ==, 2 * 4);
    g_assert_cmpuint(m->reads, ==, sleeps * 4);
    finish();
}

static void end_after_a_second(unsigned int sleeps)
{
    if (m->now_ns >= 1000 * MS) {
        raise(SIGTERM);
    }
}

static double seconds_of_cpu(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* What the kernel takes to print such a file; sysfs is like this one. */
static double cost_of_a_read(void)
{
    enum { READS = 100000 };
    int fd = (open)("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    double start = seconds_of_cpu();
    char text[32];

    g_assert_cmpint(fd, >=, 0);
    for (int i = 0; i < READS; i++) {
        g_assert_cmpint((pread)(fd, text, sizeof(text), 0), >, 0);
    }
    close(fd);
    return (seconds_of_cpu() - start) / READS;
}

/*
 * Loads are read 800 times a second, two files a CPU; none while there is
 * nobody to move. The rest is an estimate by this machine's system calls.
 */
static void test_cost(void)
{
    double each = cost_of_a_read();

    for (unsigned int cpus = 2; cpus <= 64; cpus *= 2) {
        begin(cpus);
        happens = end_after_a_second;
        steer(false, "mover");
        g_assert_cmpuint(m->reads, ==, 800 * 2 * cpus);
        g_test_message("%u CPUs: %" G_GUINT64_FORMAT " reads a second, at %.0f "
                       "ns %.1f %% of a CPU", cpus, m->reads, each * 1e9,
                       m->reads * each * 100);
        finish();
        begin(cpus);
        steer(false, "nobody");
        g_assert_cmpuint(m->reads, ==, 0);
        g_assert_cmpuint(sleeps, ==, 100);
        finish();
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/steerd-run/signals", test_signals);
    g_test_add_func("/steerd-run/ignored", test_ignored);
    g_test_add_func("/steerd-run/number-used-again", test_number_used_again);
    g_test_add_func("/steerd-run/mask-changed", test_mask_changed);
    g_test_add_func("/steerd-run/mask-changed-early", test_mask_changed_early);
    g_test_add_func("/steerd-run/stopped", test_stopped);
    g_test_add_func("/steerd-run/cost", test_cost);
    return g_test_run();
}
