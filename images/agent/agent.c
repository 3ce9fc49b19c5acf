/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's init.  Mounts the kernel's file systems, loads the modules that
 * the image lists, says hello, runs the plan that QEMU passes as fw_cfg file
 * opt/cint/plan and turns the guest off.
 *
 * In virtual time a run repeats only if nothing of the host reaches the guest
 * while it measures: the plan is complete before the first job, and messages
 * only go out, between the jobs.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLAN_FILE "/sys/firmware/qemu_fw_cfg/by_name/opt/cint/plan/raw"
#define PLAN_MAX (1024 * 1024)
#define SETUP_TIMEOUT_S 60
#define DMESG_MAX (256 * 1024)
#define SYSLOG_READ_ALL 3

static const struct {
    const char *type, *dir, *options;
    bool must;
} mounts[] = {
    { "proc", "/proc", "", true },
    { "sysfs", "/sys", "", true },
    { "devtmpfs", "/dev", "", true },
    { "devpts", "/dev/pts", "", false },
    { "tmpfs", "/dev/shm", "", false },
    { "tmpfs", "/tmp", "size=25%", true },
    { "tmpfs", "/run", "size=10%", false },
    { "debugfs", "/sys/kernel/debug", "", false },
    { "tracefs", "/sys/kernel/tracing", "", false },
    { "cgroup2", "/sys/fs/cgroup", "", false },
};

static void mount_all(void)
{
    for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
        mkdir(mounts[i].dir, 0755);
        /* EBUSY: the kernel has mounted it (devtmpfs) */
        if (mount(mounts[i].type, mounts[i].dir, mounts[i].type, 0,
                  mounts[i].options) && errno != EBUSY && mounts[i].must) {
            agent_error("mount %s: %s", mounts[i].dir, strerror(errno));
        }
    }
}

static double uptime_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void say_hello(double first_io_s)
{
    struct utsname u;

    uname(&u);
    agent_send(json_pack("{s:s, s:i, s:s, s:f, s:I, s:o, s:o}",
        "type", "hello", "version", AGENT_PROTOCOL, "kernel", u.release,
        "uptime_s", uptime_s(),
        "cpus", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN),
        "nvme", nvme_list(),
        "first_io_s", first_io_s < 0 ? json_null() : json_real(first_io_s)));
    if (first_io_s < 0) {
        fprintf(stderr, "cint-agent: no NVMe namespace to read from\n");
    }
    fprintf(stderr, "cint-agent: ready after %.3f s\n", uptime_s());
}

static bool run_setup(char *const *argv, int number)
{
    struct child c = { .argv = argv, .timeout_s = SETUP_TIMEOUT_S };
    int ret = child_run(&c);
    bool ok = ret == 0 && c.exit_code == 0;

    if (ret) {
        agent_error("setup step %d (%s): %s", number, argv[0], strerror(-ret));
    } else if (c.timed_out) {
        agent_error("setup step %d (%s) took more than %d s", number, argv[0],
                    SETUP_TIMEOUT_S);
    } else if (!ok) {
        agent_error("setup step %d (%s) failed with exit %d, signal %d: %.300s",
                    number, argv[0], c.exit_code, c.signal,
                    json_string_value(c.err));
    }
    child_clear(&c);
    return ok;
}

static void run_plan(const struct plan *plan)
{
    for (int i = 0; plan->setup[i]; i++) {
        if (!run_setup(plan->setup[i], i + 1)) {
            /* what the jobs would measure is not what was asked for */
            return;
        }
    }
    for (size_t i = 0; i < plan->n_jobs; i++) {
        agent_send(json_pack("{s:s, s:s}", "type", "start",
                             "name", plan->jobs[i].name));
        agent_send(job_run(&plan->jobs[i]));
    }
}

static void send_dmesg(void)
{
    char *text = malloc(DMESG_MAX);
    int len = text ? klogctl(SYSLOG_READ_ALL, text, DMESG_MAX) : -1;

    if (len >= 0) {
        agent_send(json_pack("{s:s, s:o}", "type", "dmesg",
                             "text", util_text(text, len)));
    }
    free(text);
}

/* An interactive shell on the serial console, until it exits. */
static void run_shell(void)
{
    static char *const argv[] = { "sh", "-l", NULL };
    pid_t pid = fork();

    if (pid == 0) {
        int tty;

        setsid();
        tty = open("/dev/ttyS0", O_RDWR);
        if (tty >= 0) {
            ioctl(tty, TIOCSCTTY, 1);
            dup2(tty, STDIN_FILENO);
            dup2(tty, STDOUT_FILENO);
            dup2(tty, STDERR_FILENO);
        }
        (void)!chdir("/");
        execv("/bin/sh", argv);
        _exit(127);
    }
    /* as init, also collect what the shell leaves behind */
    for (pid_t got = 0; pid > 0 && got != pid; ) {
        got = wait(NULL);
        if (got < 0 && errno != EINTR) {
            break;
        }
    }
}

static void run(void)
{
    char err[AGENT_ERR_LEN];
    struct plan plan;
    size_t len;
    char *text = util_read_file(PLAN_FILE, PLAN_MAX, &len);

    if (!text) {
        agent_serve();
        return;
    }
    if (!plan_parse(text, len, &plan, err)) {
        agent_error("%s", err);
        free(text);
        return;
    }
    free(text);
    run_plan(&plan);
    send_dmesg();
    agent_send(json_pack("{s:s}", "type", "done"));
    if (plan.then == PLAN_SERVE) {
        agent_serve();
    } else if (plan.then == PLAN_SHELL) {
        run_shell();
    }
    plan_free(&plan);
}

int main(void)
{
    char err[AGENT_ERR_LEN];
    double first_io_s;
    bool loaded;

    if (getpid() != 1) {
        fprintf(stderr, "cint-agent: this is the init of the cint guest; "
                        "it only runs as process 1\n");
        return 2;
    }
    umask(022);
    setenv("PATH", "/bin:/sbin:/usr/bin:/usr/sbin", 1);
    setenv("HOME", "/", 1);
    setenv("TERM", "linux", 0);
    sethostname("cint", 4);
    mount_all();
    loaded = modules_load(MODULES_LIST, modules_insert, err);
    first_io_s = nvme_first_io();

    if (agent_open_port()) {
        if (!loaded) {
            agent_error("%s", err);
        }
        say_hello(first_io_s);
        run();
    } else {
        fprintf(stderr, "cint-agent: no virtio-serial port \"cint.agent\"; "
                        "here is a shell\n");
        run_shell();
    }
    sync();
    reboot(RB_POWER_OFF);
    for (;;) {
        pause();
    }
}
