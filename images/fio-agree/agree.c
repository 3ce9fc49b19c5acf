/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile of fio's: fio --profile=agree ends all jobs at once when blocks of
 * what they did agree (blocks.h).  Options, in a job file's section [global]:
 *
 *   agree_look=TIME     how far apart it looks
 *   agree_after=TIME    no run is shorter; it counts from when all jobs run
 *                       and are past their ramp_time
 *   agree_ios=N         nor has a job of it fewer I/Os; those of the same name
 *                       are one job
 *   agree_error=N       what may differ, in millionths of the mean
 *
 * Where they never agree, the jobs end by themselves, as runtime= says.  Either
 * way a line of standard output says when all of them had run how long, what
 * each had done in that time, and how far the blocks agreed.  fio's own results
 * go to a file then (--output).
 *
 * fio's steadystate= looks at one job at a time, at no latency, and once a
 * second, which in a guest is long.  A thread of fio's main process does it
 * here, and the jobs' threads or processes know nothing of it.
 *
 * fio's source stays as it is: any version compiles this with its headers.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fio.h"
#include "optgroup.h"
#include "profile.h"

#include "blocks.h"

/* Jobs by name, and looks at each, that there is room for. */
#define MOST_JOBS   64
#define MOST_LOOKS  4096
/* Until all jobs run it looks so many times as often. */
#define EAGER       4
#define LONGEST     (512 * MOST_JOBS)

static struct said {
    unsigned int pad;       /* fio takes offset 0 for none */
    unsigned int ios, error;
    unsigned long long look_us, after_us;
} said;

#define OPTION(_name, _type, _field, _help) \
    { .name = _name, .lname = _name, .type = _type, .help = _help, \
      .off1 = offsetof(struct said, _field), \
      .category = FIO_OPT_C_PROFILE, .group = FIO_OPT_G_INVALID }

static struct fio_option options[] = {
    OPTION("agree_look", FIO_OPT_STR_VAL_TIME, look_us, "Time between looks"),
    OPTION("agree_after", FIO_OPT_STR_VAL_TIME, after_us, "Shortest run"),
    OPTION("agree_ios", FIO_OPT_INT, ios, "Fewest I/Os of a job"),
    OPTION("agree_error", FIO_OPT_INT, error,
           "What may differ, millionths of the mean"),
    { .name = NULL },
};

struct job {
    char *name;             /* fio frees its own before it ends */
    struct look *looks;
};

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool over;              /* fio ends */
    struct job jobs[MOST_JOBS];
    size_t n_jobs;
    size_t last;            /* look; 0: there was none, or only the first */
    bool begun, agreed;
} watch;

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* False: fio ends. */
static bool sleep_until(uint64_t ns)
{
    struct timespec ts = { ns / 1000000000, ns % 1000000000 };
    int ret = 0;

    pthread_mutex_lock(&watch.lock);
    while (!watch.over && ret != ETIMEDOUT) {
        ret = pthread_cond_timedwait(&watch.wake, &watch.lock, &ts);
    }
    pthread_mutex_unlock(&watch.lock);
    return ret == ETIMEDOUT;
}

/* Jobs of one name are one. */
static struct job *job_of(const struct thread_data *td)
{
    size_t i = 0;

    while (i < watch.n_jobs && strcmp(watch.jobs[i].name, td->o.name)) {
        i++;
    }
    return &watch.jobs[i];
}

static bool know_jobs(void)
{
    for (unsigned int i = 0; i < thread_number; i++) {
        struct thread_data *td = tnumber_to_td(i);
        struct job *job = job_of(td);

        if (job == &watch.jobs[MOST_JOBS]) {
            return false;
        }
        if (!job->name) {
            job->name = strdup(td->o.name);
            job->looks = calloc(MOST_LOOKS, sizeof(*job->looks));
            if (!job->name || !job->looks) {
                return false;
            }
            watch.n_jobs++;
        }
    }
    return watch.n_jobs;
}

/* Whether all jobs run, each past its ramp. */
static bool all_run(void)
{
    for (unsigned int i = 0; i < thread_number; i++) {
        if (tnumber_to_td(i)->runstate != TD_RUNNING) {
            return false;
        }
    }
    return true;
}

static void add_to(struct look *look, const struct thread_data *td)
{
    for (int ddir = 0; ddir < DDIR_RWDIR_CNT; ddir++) {
        const struct io_stat *lat = &td->ts.lat_stat[ddir];

        look->ios += td->io_blocks[ddir];
        look->latency_ns += lat->mean.u.f * lat->samples;
        look->timed += lat->samples;
    }
}

static void look_at_all(size_t number)
{
    uint64_t now = now_ns();

    for (size_t i = 0; i < watch.n_jobs; i++) {
        watch.jobs[i].looks[number] = (struct look) { .ns = now };
    }
    for (unsigned int i = 0; i < thread_number; i++) {
        const struct thread_data *td = tnumber_to_td(i);

        add_to(&job_of(td)->looks[number], td);
    }
}

static bool job_agrees(const struct job *job)
{
    const struct look *first = &job->looks[0], *last = first + watch.last;
    struct agreements found;

    if (last->ios - first->ios < said.ios) {
        return false;
    }
    found = blocks_agree(job->looks, watch.last);
    return blocks_worst(&found) <= said.error / 1e6;
}

/* How long all jobs have run. */
static uint64_t watched_ns(void)
{
    const struct look *looks = watch.jobs[0].looks;

    return looks[watch.last].ns - looks[0].ns;
}

/* Whether there are blocks, as long as they have to be. */
static bool have_blocks(void)
{
    return watch.last >= BLOCKS && watched_ns() >= 1000 * said.after_us;
}

static bool all_agree(void)
{
    if (!have_blocks()) {
        return false;
    }
    for (size_t i = 0; i < watch.n_jobs; i++) {
        if (!job_agrees(&watch.jobs[i])) {
            return false;
        }
    }
    return true;
}

static void *watch_jobs(void *unused)
{
    uint64_t step = 1000 * said.look_us, at = now_ns();

    while (!all_run()) {
        at += step / EAGER;
        if (!sleep_until(at)) {
            return NULL;
        }
    }
    look_at_all(0);
    watch.begun = true;
    at = now_ns();
    while (watch.last + 1 < MOST_LOOKS && !watch.agreed) {
        at += step;
        if (!sleep_until(at) || !all_run()) {
            return NULL;
        }
        look_at_all(watch.last + 1);
        watch.last++;
        watch.agreed = all_agree();
    }
    for (unsigned int i = 0; i < thread_number && watch.agreed; i++) {
        fio_mark_td_terminate(tnumber_to_td(i));
    }
    return NULL;
}

/* --- what is said of it --------------------------------------------------- */

static size_t put_agreement(char *text, size_t size, const char *what,
                            const struct agreement *found)
{
    return snprintf(text, size, ", \"%s_error\": %.6f, \"%s_drift\": %.6f",
                    what, found->error, what, found->drift);
}

/* A job as an object of JSON; how far its blocks agree if there are any. */
static size_t put_job(char *text, size_t size, const struct job *job)
{
    const struct look *first = &job->looks[0], *last = first + watch.last;
    size_t len = snprintf(text, size, "{\"ios\": %llu",
                          (unsigned long long)(last->ios - first->ios));

    if (have_blocks()) {
        struct agreements found = blocks_agree(job->looks, watch.last);

        if (isfinite(blocks_worst(&found))) {
            len += put_agreement(text + len, size - len, "rate", &found.rate);
            len += put_agreement(text + len, size - len, "latency",
                                 &found.latency);
        }
    }
    return len + snprintf(text + len, size - len, ", \"name\": \"%.255s\"}",
                          job->name);
}

/* To the end of standard output, where the jobs' own commands add lines. */
static void put_line(const char *text, size_t len)
{
    int fd = open("/proc/self/fd/1", O_WRONLY | O_APPEND);

    (void)!write(fd < 0 ? STDOUT_FILENO : fd, text, len);
    if (fd >= 0) {
        close(fd);
    }
}

static void say(void)
{
    static char text[LONGEST];
    size_t len = snprintf(text, sizeof(text),
                          "cint-agree {\"agreed\": %s, \"ns\": %llu, "
                          "\"looks\": %zu, \"jobs\": [",
                          watch.agreed ? "true" : "false",
                          (unsigned long long)watched_ns(), watch.last);

    for (size_t i = 0; i < watch.n_jobs; i++) {
        len += snprintf(text + len, sizeof(text) - len, i ? ", " : "");
        len += put_job(text + len, sizeof(text) - len, &watch.jobs[i]);
    }
    len += snprintf(text + len, sizeof(text) - len, "]}\n");
    put_line(text, len);
}

static void finish(void)
{
    pthread_mutex_lock(&watch.lock);
    watch.over = true;
    pthread_cond_signal(&watch.wake);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(watch.thread, NULL);
    if (watch.begun) {
        say();
    }
}

/* Before the jobs start, and before those that are processes are forked. */
static int start(void)
{
    pthread_condattr_t attr;
    sigset_t all, before;
    int ret;

    if (!said.look_us || !said.error || !know_jobs()) {
        log_err("fio: profile agree: needs agree_look= and agree_error=, and "
                "at most %d jobs\n", MOST_JOBS);
        return 1;
    }
    pthread_mutex_init(&watch.lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&watch.wake, &attr);
    /* fio's signals are for its main thread */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    ret = pthread_create(&watch.thread, NULL, watch_jobs, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (ret) {
        log_err("fio: profile agree: %s\n", strerror(ret));
        return 1;
    }
    return atexit(finish);
}

/* The jobs are those of the job files. */
static const char *no_jobs[] = { NULL };

static struct profile_ops profile = {
    .name = "agree",
    .desc = "End the jobs when blocks of them agree",
    .options = options,
    .opt_data = &said,
    .prep_cmd = start,
    .cmdline = no_jobs,
};

static void fio_init agree_register(void)
{
    if (register_profile(&profile)) {
        log_err("fio: cannot register profile 'agree'\n");
    }
}

static void fio_exit agree_unregister(void)
{
    unregister_profile(&profile);
}
