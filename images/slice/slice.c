/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slice PID NS: ask the scheduler for a time slice of NS for a process.
 * slice PID/CHILD NS: the same for that thread of it which started CHILD (in a
 * command of fio's exec_prerun, which the job's thread starts: $PPID/$$).
 * slice PID rr: make it one of SCHED_RR with priority 1, before all others.
 * slice PID rr-io: the same for each of its threads whose I/O is of the
 * realtime class (ioprio_set), and for no other of them.
 *
 * With EEVDF (Linux 6.12 and later: 100 us to 100 ms) a thread with a short
 * slice has an early deadline and so runs soon after it wakes up; its share of
 * the CPU stays what it is. Older kernels take the request and ignore it. fio
 * has no option for it: the job's exec_prerun calls this.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in linux/sched/types.h, which glibc's sched.h may or may not define. */
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
};

static long number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    return *text && !*end ? value : -1;
}

/* What linux/ioprio.h says, which musl and older headers do not have. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_CLASS_RT    1
#define IOPRIO_CLASS(prio) ((prio) >> 13)

/* A thread is one by its number; ns: a slice, 0: SCHED_RR. */
static int set(long thread, uint64_t ns)
{
    struct attributes attributes = { 0 };

    if (syscall(SYS_sched_getattr, thread, &attributes, sizeof(attributes),
                0)) {
        fprintf(stderr, "slice: process %ld: %s\n", thread, strerror(errno));
        return 1;
    }
    attributes.size = sizeof(attributes);
    if (ns) {
        attributes.runtime = ns;
    } else {
        attributes.policy = SCHED_RR;
        attributes.priority = 1;
        attributes.nice = 0;
    }
    if (syscall(SYS_sched_setattr, thread, &attributes, 0)) {
        fprintf(stderr, "slice: for process %ld: %s\n", thread,
                strerror(errno));
        return 1;
    }
    return 0;
}

/*
 * The thread of a process that started a child, which runs; 0 if none did. The
 * kernel needs CONFIG_PROC_CHILDREN.
 */
static long starter(long process, long child)
{
    char path[64], line[4096];
    struct dirent *entry;
    long found = 0;
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%ld/task", process);
    tasks = opendir(path);
    while (tasks && !found && (entry = readdir(tasks))) {
        long thread = number(entry->d_name);
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", process,
                 thread);
        file = thread > 0 ? fopen(path, "r") : NULL;
        if (file && fgets(line, sizeof(line), file)) {
            char *word = strtok(line, " \n");

            while (word && number(word) != child) {
                word = strtok(NULL, " \n");
            }
            found = word ? thread : 0;
        }
        if (file) {
            fclose(file);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    if (!found) {
        fprintf(stderr, "slice: no thread of process %ld has the child %ld, or "
                "the kernel does not say (CONFIG_PROC_CHILDREN)\n", process,
                child);
    }
    return found;
}

/* PID or PID/CHILD: the number of the thread that is meant, or -1. */
static long target(char *text)
{
    char *slash = strchr(text, '/');
    long process, child;

    if (!slash) {
        return number(text);
    }
    *slash = 0;
    process = number(text);
    child = number(slash + 1);
    return process > 0 && child > 0 ? starter(process, child) : -1;
}

/* SCHED_RR for the threads of a process with realtime I/O; there is one. */
static int set_threads(long process)
{
    char path[40];
    struct dirent *entry;
    DIR *tasks;
    int failed = 0, found = 0;

    snprintf(path, sizeof(path), "/proc/%ld/task", process);
    tasks = opendir(path);
    while (tasks && (entry = readdir(tasks))) {
        long thread = number(entry->d_name);

        if (thread > 0 && IOPRIO_CLASS(syscall(SYS_ioprio_get,
                IOPRIO_WHO_PROCESS, thread)) == IOPRIO_CLASS_RT) {
            failed |= set(thread, 0);
            found++;
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    if (!found) {
        fprintf(stderr, "slice: process %ld has no thread whose I/O is of the "
                "realtime class\n", process);
    }
    return failed || !found;
}

int main(int argc, char **argv)
{
    const char *what = argc == 3 ? argv[2] : "";
    bool rr = !strcmp(what, "rr"), threads = !strcmp(what, "rr-io");
    long ns = rr || threads ? 0 : number(what);
    bool child = argc == 3 && strchr(argv[1], '/');
    long pid = argc == 3 ? target(argv[1]) : -1;

    if (pid < 0 || ns < 0 || (!ns && !rr && !threads) || (threads && child)) {
        fprintf(stderr, "usage: slice PID[/CHILD] {NS | rr} or slice PID rr-io "
                "(PID 0: this process)\n");
        return 2;
    }
    if (child && !pid) {
        return 1;
    }
    return threads ? set_threads(pid ? pid : getpid()) : set(pid, ns);
}
