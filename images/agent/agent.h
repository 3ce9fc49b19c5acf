/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest agent: runs a plan of jobs and reports them on a virtio-serial port.
 *
 * Parts: agent.c (init, main), serve.c (commands), job.c (one job and its
 * snapshots), port.c (the host), child.c (processes), modules.c (a kernel's
 * modules), nvme.c (devices and their log page), plan.c (plan parsing), util.c
 * (files, base64, text).
 */
#ifndef CINT_AGENT_H
#define CINT_AGENT_H

#include <jansson.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGENT_PROTOCOL 1
#define AGENT_ERR_LEN 512

/* --- util.c ------------------------------------------------------------- */

/*
 * Whole contents of a file, at most @max bytes, NUL-terminated; the caller
 * frees.  NULL with errno set if it cannot be read.
 */
char *util_read_file(const char *path, size_t max, size_t *len);

/* Create or replace @path.  0 or -errno. */
int util_write_file(const char *path, const char *text, size_t len);

/* Last @max bytes of an open file as a JSON string (see util_text). */
json_t *util_tail(int fd, size_t max);

/* JSON string of any bytes: what is not UTF-8 becomes '?'. */
json_t *util_text(const char *data, size_t len);

/* Standard base64 with padding; the caller frees.  NULL if out of memory. */
char *util_base64(const uint8_t *data, size_t len);

/* CPU list as in taskset -c: "0", "0-3,6".  False if it is not one. */
bool util_parse_cpus(const char *list, cpu_set_t *set);

uint64_t util_monotonic_ns(void);

/* --- plan.c ------------------------------------------------------------- */

/* What a job is; strings and vectors belong to the JSON it came from. */
struct job {
    const char *name;
    const char *fio;        /* job file text, or NULL: run argv itself */
    char **argv;            /* fio: more arguments; else the command */
    bool pinned;
    cpu_set_t cpus;
    int timeout_s;
};

enum plan_then { PLAN_POWEROFF, PLAN_SERVE, PLAN_SHELL };

struct plan {
    json_t *json;           /* owns every string below */
    char ***setup;          /* NULL-terminated array of argument vectors */
    struct job *jobs;
    size_t n_jobs;
    enum plan_then then;
};

/* False: @err says what is wrong and what is valid; nothing to free. */
bool plan_parse(const char *text, size_t len, struct plan *plan, char *err);
void plan_free(struct plan *plan);

/* One job object, from a plan or from a command. */
bool job_parse(const json_t *obj, struct job *job, char *err);
void job_free(struct job *job);

/* NULL-terminated copy of a JSON array of strings; @what names it in @err. */
char **plan_argv(const json_t *array, const char *what, char *err);

/* --- child.c ------------------------------------------------------------ */

struct child {
    char *const *argv;
    const char *dir;        /* working directory, or NULL */
    const cpu_set_t *cpus;  /* or NULL: any */
    int timeout_s;
    /* filled in by child_run */
    int exit_code;          /* -1 if it did not exit by itself */
    int signal;             /* 0 if it was not killed */
    bool timed_out;
    json_t *out, *err;      /* strings, the last CHILD_OUTPUT_MAX bytes */
};

#define CHILD_OUTPUT_MAX (256 * 1024)

/*
 * Run a program and wait for it.  On a time-out it and everything it started
 * is terminated, and killed if that does not help.  0, or -errno if it could
 * not be started; a program that cannot be executed exits with 127.
 */
int child_run(struct child *c);
void child_clear(struct child *c);

/* --- modules.c ---------------------------------------------------------- */

/* What the image has the kernel load, one path a line, in this order. */
#define MODULES_LIST "/lib/modules/load-order"

/*
 * Load one uncompressed module.  0 or -errno.
 * A parameter of modules_load so that the order can be tested.
 */
typedef int (*modules_insert_fn)(const char *path);
int modules_insert(const char *path);

/*
 * Load every module of a list up to the first that fails; a module that is
 * there already is no failure, nor is a list that does not exist.
 * False: @err says which one and why.
 */
bool modules_load(const char *list, modules_insert_fn insert_one, char *err);

/* --- nvme.c ------------------------------------------------------------- */

/* Array of {"dev", "cint", "model"}, one for each controller. */
json_t *nvme_list(void);

/*
 * Read 4 KiB of the first namespace, past the page cache.  The time since
 * boot when it was complete, in seconds, or -1 if there is none.
 */
double nvme_first_io(void);

/* Log page D0h of the first controller that has it, in base64, or null. */
json_t *nvme_log_json(void);

/*
 * Reads @len bytes at @offset of the log page; 0 if all is well.
 * A parameter of nvme_read_log so that its loop can be tested.
 */
typedef int (*nvme_get_log_fn)(void *opaque, uint64_t offset, void *buf,
                               uint32_t len);

/* The whole page; the caller frees.  NULL if there is none that makes sense. */
uint8_t *nvme_read_log(nvme_get_log_fn get, void *opaque, size_t *len);

/* --- job.c -------------------------------------------------------------- */

/* Run one job, its "result" message; never NULL. */
json_t *job_run(const struct job *job);

/* The object in the text that fio prints (warnings may come first), or NULL. */
json_t *job_fio_json(const char *text, size_t len);

/* --- port.c ------------------------------------------------------------- */

/* Send one message on the port, one line; takes the reference. */
void agent_send(json_t *msg);

/* {"type":"error","message":...}, also written to the console. */
void agent_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Find and open the port; false if there is none. */
bool agent_open_port(void);

/* As read(2) of the port; 0 while nobody is connected at the host's end. */
ssize_t port_read(char *buf, size_t size);

/* --- serve.c ------------------------------------------------------------ */

/* Obey commands until "poweroff" or until the port is closed. */
void agent_serve(void);

#endif
