/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Child processes.  Their output goes to unnamed files, so a child never waits
 * for the agent to read; waiting is done with SIGCHLD blocked and collected by
 * sigtimedwait, so the agent does not wake up while a job runs.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Time to react to SIGTERM, and time for SIGKILL to take effect. */
#define GRACE_NS 5000000000ull

/*
 * fio's workers leave its process group, a control group holds all of them.
 * No controller is enabled in it, so being a member costs nothing.  Only init
 * does this: on another machine (the unit test) the tree is not ours.
 */
#define CGROUP "/sys/fs/cgroup/cint-job"

static bool have_cgroup;

static void cgroup_write(const char *file, const char *text)
{
    char path[64];
    int fd;

    if (!have_cgroup) {
        return;
    }
    snprintf(path, sizeof(path), CGROUP "/%s", file);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, text, strlen(text));
        close(fd);
    }
}

static _Noreturn void child_exec(const struct child *c, int out, int err,
                                 const sigset_t *mask)
{
    int null = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    cgroup_write("cgroup.procs", "0");
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (c->dir && chdir(c->dir)) {
        fprintf(stderr, "%s: %s\n", c->dir, strerror(errno));
        _exit(127);
    }
    if (c->cpus && sched_setaffinity(0, sizeof(*c->cpus), c->cpus)) {
        fprintf(stderr, "cannot run on the CPUs asked for: %s\n",
                strerror(errno));
        _exit(127);
    }
    execvp(c->argv[0], c->argv);
    fprintf(stderr, "%s: %s\n", c->argv[0], strerror(errno));
    _exit(127);
}

/* Collect what has ended, strangers included (we may be init). */
static bool reap(pid_t pid, int *status)
{
    bool done = false;
    pid_t got;
    int st;

    while ((got = waitpid(-1, &st, WNOHANG)) > 0) {
        if (got == pid) {
            *status = st;
            done = true;
        }
    }
    return done;
}

/* True if it ended before @deadline (ns, monotonic). */
static bool wait_until(pid_t pid, int *status, uint64_t deadline)
{
    sigset_t chld;

    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    for (;;) {
        uint64_t now = util_monotonic_ns();
        uint64_t left = deadline > now ? deadline - now : 0;
        struct timespec ts = { left / 1000000000, left % 1000000000 };

        if (reap(pid, status)) {
            return true;
        }
        if (!left) {
            return false;
        }
        sigtimedwait(&chld, NULL, &ts);
    }
}

static void wait_child(struct child *c, pid_t pid)
{
    uint64_t deadline = util_monotonic_ns() + c->timeout_s * 1000000000ull;
    bool done;
    int status = 0;

    c->exit_code = -1;
    done = wait_until(pid, &status, deadline);
    if (!done) {
        c->timed_out = true;
        kill(-pid, SIGTERM);
        done = wait_until(pid, &status, util_monotonic_ns() + GRACE_NS);
        kill(-pid, SIGKILL);
        cgroup_write("cgroup.kill", "1");
    }
    if (!done) {
        /* can fail: a process that waits for a dead device ignores signals */
        done = wait_until(pid, &status, util_monotonic_ns() + GRACE_NS);
    }
    if (done && WIFEXITED(status)) {
        c->exit_code = WEXITSTATUS(status);
    } else if (done && WIFSIGNALED(status)) {
        c->signal = WTERMSIG(status);
    }
}

static int output_file(void)
{
    const char *dir = getenv("TMPDIR");

    return open(dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

int child_run(struct child *c)
{
    int out = output_file(), err = output_file();
    sigset_t chld, saved;
    pid_t pid;
    int ret;

    c->exit_code = -1;
    c->signal = 0;
    c->timed_out = false;
    c->out = c->err = NULL;
    if (out < 0 || err < 0) {
        ret = -errno;
        close(out);
        close(err);
        return ret;
    }
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, &saved);
    have_cgroup = getpid() == 1 &&
                  (mkdir(CGROUP, 0755) == 0 || errno == EEXIST);

    pid = fork();
    ret = pid < 0 ? -errno : 0;
    if (pid == 0) {
        child_exec(c, out, err, &saved);
    }
    if (pid > 0) {
        /* here too, so that a kill cannot come before the child's own call */
        setpgid(pid, pid);
        wait_child(c, pid);
    }
    if (have_cgroup) {
        rmdir(CGROUP);
    }
    sigprocmask(SIG_SETMASK, &saved, NULL);
    c->out = util_tail(out, CHILD_OUTPUT_MAX);
    c->err = util_tail(err, CHILD_OUTPUT_MAX);
    close(out);
    close(err);
    return ret;
}

void child_clear(struct child *c)
{
    json_decref(c->out);
    json_decref(c->err);
    c->out = c->err = NULL;
}
