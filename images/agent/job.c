/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One job: snapshot, run, snapshot, report. */
#include "agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define JOB_DIR "/tmp/job"
#define JOB_FILE JOB_DIR "/job.fio"
#define FIO_OUT JOB_DIR "/fio.json"
#define TEXT_MAX (256 * 1024)
/* json+ carries every latency bin: some 100 KiB for a long random job */
#define FIO_OUT_MAX (32 * 1024 * 1024)
#define START_GRID_NS 100000000ull

static json_t *file_text(const char *path, size_t max)
{
    size_t len;
    char *text = util_read_file(path, max, &len);
    json_t *json = text ? util_text(text, len) : json_null();

    free(text);
    return json;
}

/*
 * What the guest counts.  Reading the log page takes interrupts itself, so it
 * is the outermost of the readings: first before the job, last after it.
 */
static json_t *snapshot(bool before)
{
    json_t *snap = json_object();

    if (before) {
        json_object_set_new(snap, "nvme_log", nvme_log_json());
    }
    json_object_set_new(snap, "monotonic_ns",
                        json_integer(util_monotonic_ns()));
    json_object_set_new(snap, "interrupts",
                        file_text("/proc/interrupts", TEXT_MAX));
    json_object_set_new(snap, "stat", file_text("/proc/stat", TEXT_MAX));
    json_object_set_new(snap, "block",
                        file_text("/sys/block/nvme0n1/stat", TEXT_MAX));
    if (!before) {
        json_object_set_new(snap, "nvme_log", nvme_log_json());
    }
    return snap;
}

/*
 * How long the last message took to leave depends on the host.  Starting on a
 * grid of guest time gives every run the same distance to the scheduler tick.
 */
static void wait_for_grid(void)
{
    uint64_t at = (util_monotonic_ns() / START_GRID_NS + 2) * START_GRID_NS;
    struct timespec ts = { at / 1000000000, at % 1000000000 };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
           EINTR) {
        continue;
    }
}

json_t *job_fio_json(const char *text, size_t len)
{
    const char *start = memchr(text, '{', len);
    json_t *json;

    if (!start) {
        return NULL;
    }
    len -= start - text;
    json = json_loadb(start, len, JSON_DISABLE_EOF_CHECK, NULL);
    if (!json) {
        /* an unset minimum can be printed as 2^64 - 1: no JSON integer */
        json = json_loadb(start, len,
                          JSON_DISABLE_EOF_CHECK | JSON_DECODE_INT_AS_REAL,
                          NULL);
    }
    return json;
}

static char **fio_argv(const struct job *job)
{
    static char *const fixed[] = {
        "fio", "--output-format=json+", "--output=" FIO_OUT
    };
    size_t n = 0;
    char **argv;

    while (job->argv[n]) {
        n++;
    }
    argv = calloc(n + 5, sizeof(*argv));
    if (argv) {
        memcpy(argv, fixed, sizeof(fixed));
        memcpy(argv + 3, job->argv, n * sizeof(*argv));
        argv[n + 3] = JOB_FILE;
    }
    return argv;
}

static int prepare(const struct job *job)
{
    if (mkdir(JOB_DIR, 0755) && errno != EEXIST) {
        return -errno;
    }
    unlink(FIO_OUT);
    return job->fio ? util_write_file(JOB_FILE, job->fio, strlen(job->fio)) : 0;
}

static json_t *fio_result(const struct job *job)
{
    size_t len;
    char *text = util_read_file(FIO_OUT, FIO_OUT_MAX, &len);
    json_t *json = text ? job_fio_json(text, len) : NULL;

    if (!json) {
        agent_error("job \"%s\": fio left %s", job->name,
                    text ? "output that is not JSON" : "no output");
    }
    free(text);
    return json ? json : json_null();
}

json_t *job_run(const struct job *job)
{
    char **argv = job->fio ? fio_argv(job) : job->argv;
    struct child child = {
        .argv = argv, .dir = JOB_DIR, .timeout_s = job->timeout_s,
        .cpus = job->pinned ? &job->cpus : NULL,
    };
    json_t *before, *after;
    uint64_t start, end;
    int ret = prepare(job);

    wait_for_grid();
    before = snapshot(true);
    start = util_monotonic_ns();
    if (ret == 0) {
        ret = argv ? child_run(&child) : -ENOMEM;
    }
    end = util_monotonic_ns();
    after = snapshot(false);

    if (ret) {
        agent_error("job \"%s\" could not be started: %s", job->name,
                    strerror(-ret));
        child.exit_code = -1;
        child.out = json_string("");
        child.err = json_string(strerror(-ret));
    }
    json_t *msg = json_pack("{s:s, s:s, s:i, s:o, s:b, s:o, s:o, s:o, s:o, "
                            "s:o, s:f}",
        "type", "result", "name", job->name, "exit", child.exit_code,
        "signal", child.signal ? json_integer(child.signal) : json_null(),
        "timed_out", child.timed_out,
        "stdout", child.out, "stderr", child.err,
        "fio", job->fio && ret == 0 ? fio_result(job) : json_null(),
        "before", before, "after", after, "elapsed_s", (end - start) / 1e9);

    if (job->fio) {
        free(argv);
    }
    return msg ? msg : json_pack("{s:s, s:s}", "type", "error",
                                 "message", "out of memory");
}
