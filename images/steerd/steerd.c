/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application steering from user space: what queue/switch_mode "app" does in
 * the kernel, by what the kernel tells in mq/N/switch_bytes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rounds.h"

#define EXIT_USAGE 2
#define TASKS 256
#define SAMPLES 8               /* of each round */
#define SCAN_ROUNDS 10          /* from one look for new threads to the next */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_CLASS_SHIFT 13
#define IOPRIO_CLASS_MASK 7
#define IOPRIO_CLASS_RT 1
#define SECOND 1000000000

static const char help[] =
"Usage: steerd [OPTION...] NAME...\n"
"Moves threads of processes called NAME between CPUs, so that those of the realtime\n"
"class (ionice -c 1) and others have CPUs of their own, until a signal ends it.\n"
"\n"
"  --disk=NAME           whose loads count; one with queue/switch_mode (nvme0n1)\n"
"  --interval=MS         between two decisions, of which each moves one thread (10)\n"
"  --latency-limit=BYTES no thread of the realtime class goes where so much of\n"
"                        theirs is outstanding (102400)\n"
"  --apart               where the paper's algorithm has no better place, take the\n"
"                        classes apart even so\n"
"  --hold                a thread that was moved may run nowhere else until it is\n"
"                        moved again, or the end; SIGKILL leaves it where it is\n"
"\n"
"Exit status: 0 told to end, 1 failed, 2 wrong usage.\n";

struct options {
    const char *disk;
    unsigned int interval_ms;
    uint64_t latency_limit;
    bool apart;
    bool hold;
    char **names;
};

/* What is known of a thread besides. */
struct thread {
    uint64_t started;           /* a number may come to be another thread's */
    cpu_set_t allowed;          /* by its user */
    int held;                   /* the only CPU it was given since; -1: none */
};

struct steered {
    struct steer_task tasks[TASKS];
    struct thread threads[TASKS];
    size_t count;
};

static volatile sig_atomic_t ended;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "steerd: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

/* ---- loads ---------------------------------------------------------------- */

static int queues[STEER_CPUS][BLK_SWITCH_CLASSES];

static bool read_file(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0) {
        return false;
    }
    got = read(fd, text, size - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* The CPU whose queue it is; the kernel gives each CPU one of either class. */
static unsigned int cpu_of_queue(const char *disk, unsigned int queue)
{
    char path[256], text[64];

    snprintf(path, sizeof(path), "/sys/block/%s/mq/%u/cpu_list", disk, queue);
    if (!read_file(path, text, sizeof(text))) {
        fail(path, errno == ENOENT ? "there is no such queue; the kernel needs "
             "nvme.blk_switch=1 or more" : strerror(errno));
    }
    return strtoul(text, NULL, 10) % STEER_CPUS;
}

/* The queues of all CPUs for T, then those for L. */
static void open_queues(const char *disk, unsigned int cpus)
{
    char path[256];

    for (unsigned int queue = 0; queue < 2 * cpus; queue++) {
        unsigned int cpu = cpu_of_queue(disk, queue);
        int fd;

        snprintf(path, sizeof(path), "/sys/block/%s/mq/%u/switch_bytes", disk,
                 queue);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            fail(path, strerror(errno));
        }
        queues[cpu][queue < cpus ? BLK_SWITCH_T : BLK_SWITCH_L] = fd;
    }
}

static uint64_t read_bytes(int fd)
{
    char text[32] = "";
    ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
    long long bytes = size > 0 ? strtoll(text, NULL, 10) : 0;

    return bytes > 0 ? bytes : 0;
}

static void sample(struct steer *steer)
{
    for (unsigned int cpu = 0; cpu < steer->cpus; cpu++) {
        for (int class = 0; class < BLK_SWITCH_CLASSES; class++) {
            steer_sample(steer, cpu, class, read_bytes(queues[cpu][class]));
        }
    }
}

/* ---- threads -------------------------------------------------------------- */

/*
 * Fields 22 and 39 of /proc/TID/stat: when it began, and where it ran last.
 * What is before the last ')' may be anything.
 */
static bool read_stat(int tid, uint64_t *started, unsigned int *cpu)
{
    char path[64], text[1024], *field;

    snprintf(path, sizeof(path), "/proc/%d/stat", tid);
    if (!read_file(path, text, sizeof(text)) || !(field = strrchr(text, ')'))) {
        return false;
    }
    for (int number = 2; number < 39; number++) {
        field = strchr(field + 1, ' ');
        if (!field) {
            return false;
        }
        if (number + 1 == 22) {
            *started = strtoull(field, NULL, 10);
        }
    }
    *cpu = atoi(field);
    return true;
}

static bool is_still(int tid, const struct thread *thread)
{
    uint64_t started;
    unsigned int cpu;

    return read_stat(tid, &started, &cpu) && started == thread->started;
}

static enum blk_switch_class class_of(int tid)
{
    long priority = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, tid);
    int class = priority >> IOPRIO_CLASS_SHIFT & IOPRIO_CLASS_MASK;
    int policy = sched_getscheduler(tid);

    if (priority < 0) {
        return BLK_SWITCH_T;
    }
    if (!class && (policy == SCHED_FIFO || policy == SCHED_RR)) {
        return BLK_SWITCH_L;
    }
    return class == IOPRIO_CLASS_RT ? BLK_SWITCH_L : BLK_SWITCH_T;
}

static uint64_t bits_of(const cpu_set_t *set)
{
    uint64_t bits = 0;

    for (unsigned int cpu = 0; cpu < STEER_CPUS; cpu++) {
        bits |= (uint64_t)!!CPU_ISSET(cpu, set) << cpu;
    }
    return bits;
}

static void add(struct steered *all, int tid)
{
    struct thread thread = { .held = -1 };
    unsigned int cpu;

    for (size_t i = 0; i < all->count; i++) {
        if (all->tasks[i].tid == tid) {
            return;
        }
    }
    if (all->count == TASKS || !read_stat(tid, &thread.started, &cpu)) {
        return;
    }
    all->threads[all->count] = thread;
    all->tasks[all->count++] = (struct steer_task) { .tid = tid };
}

static void drop(struct steered *all, size_t i)
{
    all->count--;
    all->tasks[i] = all->tasks[all->count];
    all->threads[i] = all->threads[all->count];
}

static bool is_named(const char *pid, char **names)
{
    char path[300], text[64];

    snprintf(path, sizeof(path), "/proc/%s/comm", pid);
    if (!read_file(path, text, sizeof(text))) {
        return false;
    }
    text[strcspn(text, "\n")] = '\0';
    while (*names && strcmp(*names, text)) {
        names++;
    }
    return *names != NULL;
}

static void add_threads(struct steered *all, const char *pid)
{
    char path[300];
    struct dirent *entry;
    DIR *threads;

    snprintf(path, sizeof(path), "/proc/%s/task", pid);
    threads = opendir(path);
    while (threads && (entry = readdir(threads))) {
        if (atoi(entry->d_name) > 0) {
            add(all, atoi(entry->d_name));
        }
    }
    if (threads) {
        closedir(threads);
    }
}

static void scan(struct steered *all, char **names)
{
    struct dirent *entry;
    DIR *processes = opendir("/proc");

    if (!processes) {
        fail("/proc", strerror(errno));
    }
    while ((entry = readdir(processes))) {
        if (atoi(entry->d_name) > 0 && is_named(entry->d_name, names)) {
            add_threads(all, entry->d_name);
        }
    }
    closedir(processes);
}

/* Whether it may run on the CPU that it is held on, and nowhere else. */
static bool is_held(const cpu_set_t *now, const struct thread *thread)
{
    return thread->held >= 0 && CPU_COUNT(now) == 1 &&
           CPU_ISSET(thread->held, now);
}

/* Who has another mask than it was given has it of its user, who is right. */
static bool look_at_mask(int tid, struct thread *thread)
{
    cpu_set_t now;

    if (sched_getaffinity(tid, sizeof(now), &now)) {
        return false;
    }
    if (!is_held(&now, thread)) {
        thread->allowed = now;
        thread->held = -1;
    }
    return true;
}

static bool look_at(struct steer_task *task, struct thread *thread)
{
    uint64_t started;

    if (!read_stat(task->tid, &started, &task->cpu) ||
        started != thread->started || !look_at_mask(task->tid, thread)) {
        return false;
    }
    task->allowed = bits_of(&thread->allowed);
    task->class = class_of(task->tid);
    return true;
}

/* Where they are now, and what; classes and masks change, and threads end. */
static void look(struct steered *all)
{
    for (size_t i = 0; i < all->count;) {
        if (look_at(&all->tasks[i], &all->threads[i])) {
            i++;
        } else {
            drop(all, i);
        }
    }
}

/* ---- time ----------------------------------------------------------------- */

static uint64_t ns_of(const struct timespec *at)
{
    return (uint64_t)at->tv_sec * SECOND + at->tv_nsec;
}

/* ---- moves ---------------------------------------------------------------- */

/* It may run again where its user lets it, if that was not changed since. */
static void release(int tid, struct thread *thread)
{
    cpu_set_t now;

    if (thread->held >= 0 && is_still(tid, thread) &&
        !sched_getaffinity(tid, sizeof(now), &now) && is_held(&now, thread)) {
        sched_setaffinity(tid, sizeof(cpu_set_t), &thread->allowed);
    }
    thread->held = -1;
}

/*
 * Not to be held, a thread may run everywhere again as soon as it is there:
 * nothing is to be undone, and its children inherit nothing.
 */
static bool move(struct steered *all, const struct steer_move *to, bool hold)
{
    int tid = all->tasks[to->task].tid;
    struct thread *thread = &all->threads[to->task];
    cpu_set_t there;

    CPU_ZERO(&there);
    CPU_SET(to->cpu, &there);
    if (!is_still(tid, thread) || !look_at_mask(tid, thread) ||
        !CPU_ISSET(to->cpu, &thread->allowed)) {
        return false;
    }
    /* before: a signal between the two finds it to be released */
    thread->held = to->cpu;
    if (sched_setaffinity(tid, sizeof(there), &there)) {
        thread->held = -1;
        return false;
    }
    if (!hold) {
        release(tid, thread);
    }
    return true;
}

static struct steered all;

static void release_all(void)
{
    for (size_t i = 0; i < all.count; i++) {
        release(all.tasks[i].tid, &all.threads[i]);
    }
}

/* Sleeps until so long after @when; later, if that is @late or more ago. */
static void sleep_until(struct timespec *when, uint64_t ns, uint64_t late)
{
    struct timespec now;

    when->tv_nsec += ns;
    when->tv_sec += when->tv_nsec / SECOND;
    when->tv_nsec %= SECOND;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (ns_of(&now) >= ns_of(when) + late) {
        /* it was stopped: what it has missed is not to be seen any more */
        *when = now;
    }
    while (!ended &&
           clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, when, NULL) == EINTR) {
    }
}

/* ---- the end -------------------------------------------------------------- */

static void end(int number)
{
    (void)number;
    ended = 1;
}

/* Nothing goes on after these: all are released here, by system calls only. */
static void die(int number)
{
    release_all();
    signal(number, SIG_DFL);
    raise(number);
}

static bool is_fault(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGILL ||
           number == SIGFPE || number == SIGTRAP || number == SIGSYS ||
           number == SIGABRT;
}

/* Those that do not end a process by themselves. */
static bool is_harmless(int number)
{
    return number == SIGCHLD || number == SIGURG || number == SIGWINCH ||
           number == SIGCONT || number == SIGTSTP || number == SIGTTIN ||
           number == SIGTTOU;
}

/* All that would end it, but those that it was told to ignore (nohup). */
static void handle_signals(void)
{
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action = { .sa_handler = is_fault(number) ? die : end };
        struct sigaction before;

        if (!is_harmless(number) && !sigaction(number, NULL, &before) &&
            before.sa_handler != SIG_IGN) {
            sigaction(number, &action, NULL);
        }
    }
}

/* ---- rounds --------------------------------------------------------------- */

/* Nobody is there to be moved: then no load is looked at either. */
static void sample_for(struct steer *steer, struct timespec *when, uint64_t ns)
{
    unsigned int samples = all.count ? SAMPLES : 1;

    for (unsigned int i = 0; i < samples && !ended; i++) {
        sleep_until(when, ns / samples, ns);
        if (all.count) {
            sample(steer);
        }
    }
}

static uint64_t steer_until_ended(struct steer *steer,
                                  const struct options *options)
{
    struct timespec when;
    struct steer_move to;
    uint64_t moved = 0;

    clock_gettime(CLOCK_MONOTONIC, &when);
    while (!ended) {
        if (steer->round % SCAN_ROUNDS == 0) {
            scan(&all, options->names);
        }
        sample_for(steer, &when, options->interval_ms * 1000000ull);
        look(&all);
        if (steer_round(steer, all.tasks, all.count, &to) && !ended) {
            moved += move(&all, &to, options->hold);
        }
    }
    release_all();
    return moved;
}

/* ---- options -------------------------------------------------------------- */

static uint64_t number(const char *option, const char *text, uint64_t limit)
{
    char *rest;
    unsigned long long value = strtoull(text, &rest, 10);

    if (!*text || *text == '-' || *rest || value < 1 || value > limit) {
        fprintf(stderr, "steerd: --%s=%s: a number from 1 to %" PRIu64
                " is needed\n", option, text, limit);
        exit(EXIT_USAGE);
    }
    return value;
}

static struct options parse(int argc, char **argv)
{
    static const struct option known[] = {
        { "disk", required_argument, NULL, 'd' },
        { "interval", required_argument, NULL, 'i' },
        { "latency-limit", required_argument, NULL, 'l' },
        { "apart", no_argument, NULL, 'a' },
        { "hold", no_argument, NULL, 'h' },
        { "help", no_argument, NULL, 'H' },
        { 0 },
    };
    struct options options = { "nvme0n1", BLK_SWITCH_INTERVAL_MS,
                               BLK_SWITCH_LATENCY_LIMIT, false, false, NULL };
    int got;

    while ((got = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (got) {
        case 'd':
            options.disk = optarg;
            break;
        case 'i':
            options.interval_ms = number("interval", optarg, 10000);
            break;
        case 'l':
            options.latency_limit = number("latency-limit", optarg, UINT64_MAX);
            break;
        case 'a':
            options.apart = true;
            break;
        case 'h':
            options.hold = true;
            break;
        case 'H':
            fputs(help, stdout);
            exit(EXIT_SUCCESS);
        default:
            fputs(help, stderr);
            exit(EXIT_USAGE);
        }
    }
    options.names = argv + optind;
    if (!*options.names) {
        fputs("steerd: whom may it move? give the names of processes\n", stderr);
        exit(EXIT_USAGE);
    }
    return options;
}

int main(int argc, char **argv)
{
    struct options options = parse(argc, argv);
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    struct steer steer = { .latency_limit = options.latency_limit,
                           .apart = options.apart };

    if (cpus < 1 || cpus > STEER_CPUS) {
        fail("CPUs", "there are more than it knows to handle");
    }
    steer.cpus = cpus;
    open_queues(options.disk, steer.cpus);
    handle_signals();
    printf("moved %" PRIu64 "\n", steer_until_ended(&steer, &options));
    return EXIT_SUCCESS;
}
