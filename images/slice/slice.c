/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slice PID NS: ask the scheduler for a time slice of NS for a process.
 * slice PID rr: make it one of SCHED_RR with priority 1, before all others.
 *
 * With EEVDF (Linux 6.12 and later: 100 us to 100 ms) a thread with a short
 * slice has an early deadline and so runs soon after it wakes up; its share of
 * the CPU stays what it is. Older kernels take the request and ignore it. fio
 * has no option for it: the job's exec_prerun calls this.
 */
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

int main(int argc, char **argv)
{
    long pid = argc == 3 ? number(argv[1]) : -1;
    bool rr = argc == 3 && !strcmp(argv[2], "rr");
    long ns = argc == 3 && !rr ? number(argv[2]) : -1;
    struct attributes attributes = { 0 };

    if (pid < 0 || (ns <= 0 && !rr)) {
        fprintf(stderr, "usage: slice PID {NS | rr} (PID 0: this process)\n");
        return 2;
    }
    if (syscall(SYS_sched_getattr, pid, &attributes, sizeof(attributes), 0)) {
        fprintf(stderr, "slice: process %ld: %s\n", pid, strerror(errno));
        return 1;
    }
    attributes.size = sizeof(attributes);
    if (rr) {
        attributes.policy = SCHED_RR;
        attributes.priority = 1;
        attributes.nice = 0;
    } else {
        attributes.runtime = ns;
    }
    if (syscall(SYS_sched_setattr, pid, &attributes, 0)) {
        fprintf(stderr, "slice: %s for process %ld: %s\n", argv[2], pid,
                strerror(errno));
        return 1;
    }
    return 0;
}
