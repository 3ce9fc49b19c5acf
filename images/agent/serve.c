/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The port to the host: messages out, commands in. */
#include "agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PORT_NAME "cint.agent"
#define COMMAND_MAX (1024 * 1024)
/* the host names the ports some time after the driver has bound */
#define PORT_WAIT_MS 5000

static int port_fd = -1;

static void write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            fprintf(stderr, "cint-agent: write: %s\n", strerror(errno));
            return;
        }
        data += n;
        len -= n;
    }
}

void agent_send(json_t *msg)
{
    size_t len = msg ? json_dumpb(msg, NULL, 0, JSON_COMPACT) : 0;
    char *line = malloc(len + 1);

    if (line && len) {
        json_dumpb(msg, line, len, JSON_COMPACT);
        line[len] = '\n';
        if (port_fd >= 0) {
            write_all(port_fd, line, len + 1);
        }
    }
    free(line);
    json_decref(msg);
}

void agent_error(const char *fmt, ...)
{
    char text[AGENT_ERR_LEN];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    fprintf(stderr, "cint-agent: %s\n", text);
    agent_send(json_pack("{s:s, s:o}", "type", "error",
                         "message", util_text(text, strlen(text))));
}

static bool is_our_port(const char *dev)
{
    char path[300];
    size_t len;
    char *name;
    bool ours;

    snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", dev);
    name = util_read_file(path, 256, &len);
    ours = name && !strncmp(name, PORT_NAME "\n", sizeof(PORT_NAME));
    free(name);
    return ours;
}

static int find_port(void)
{
    DIR *dir = opendir("/sys/class/virtio-ports");
    struct dirent *e;
    int fd = -1;

    while (dir && fd < 0 && (e = readdir(dir))) {
        char path[300];

        if (e->d_name[0] == '.' || !is_our_port(e->d_name)) {
            continue;
        }
        snprintf(path, sizeof(path), "/dev/%s", e->d_name);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    if (dir) {
        closedir(dir);
    }
    return fd;
}

/* A console-class device (PCI id 1af4:1003 or :1043) is there at all. */
static bool has_serial_bus(void)
{
    DIR *dir = opendir("/sys/bus/virtio/drivers/virtio_console");
    struct dirent *e;
    bool found = false;

    while (dir && (e = readdir(dir))) {
        found |= !strncmp(e->d_name, "virtio", 6);
    }
    if (dir) {
        closedir(dir);
    }
    return found;
}

bool agent_open_port(void)
{
    struct timespec ms = { 0, 1000000 };

    for (int i = 0; port_fd < 0 && i < PORT_WAIT_MS && has_serial_bus(); i++) {
        port_fd = find_port();
        if (port_fd < 0) {
            nanosleep(&ms, NULL);
        }
    }
    return port_fd >= 0;
}

static json_t *run_command(const json_t *cmd, const char *verb)
{
    char err[AGENT_ERR_LEN] = "out of memory";
    json_t *obj = json_copy((json_t *)cmd);
    json_t *reply;
    struct job job;

    if (!strcmp(verb, "exec")) {
        json_object_set(obj, "exec", json_object_get(cmd, "argv"));
    }
    if (!json_object_get(obj, "name")) {
        json_object_set_new(obj, "name", json_string(verb));
    }
    if (job_parse(obj, &job, err)) {
        reply = job_run(&job);
        job_free(&job);
    } else {
        reply = json_pack("{s:s, s:o}", "type", "error",
                          "message", util_text(err, strlen(err)));
    }
    json_decref(obj);
    return reply;
}

/* False after "poweroff". */
static bool obey(const char *line, size_t len)
{
    json_t *cmd = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    const char *verb = json_string_value(json_object_get(cmd, "cmd"));
    json_t *id = json_object_get(cmd, "id");
    bool more = true;
    json_t *reply;

    if (!verb) {
        reply = json_pack("{s:s, s:s}", "type", "error", "message",
                          "a command is one line of JSON with \"id\" and "
                          "\"cmd\": \"exec\", \"fio\" or \"poweroff\"");
    } else if (!strcmp(verb, "poweroff")) {
        reply = json_pack("{s:s}", "type", "done");
        more = false;
    } else if (!strcmp(verb, "exec") || !strcmp(verb, "fio")) {
        reply = run_command(cmd, verb);
    } else {
        reply = json_pack("{s:s, s:s}", "type", "error", "message",
                          "unknown cmd; valid: exec, fio, poweroff");
    }
    if (id) {
        json_object_set(reply, "id", id);
    }
    agent_send(reply);
    json_decref(cmd);
    return more;
}

/* Obey the complete lines in @buf; the bytes that are left, or -1: stop. */
static ssize_t obey_lines(char *buf, size_t len)
{
    char *line = buf, *end;

    while ((end = memchr(line, '\n', len))) {
        if (!obey(line, end - line)) {
            return -1;
        }
        len -= end + 1 - line;
        line = end + 1;
    }
    memmove(buf, line, len);
    return len;
}

void agent_serve(void)
{
    struct timespec pause = { 0, 50000000 };
    char *buf = malloc(COMMAND_MAX);
    ssize_t len = 0;

    while (buf && len >= 0) {
        ssize_t n = read(port_fd, buf + len, COMMAND_MAX - len);

        if (n < 0 && errno != EINTR) {
            break;
        }
        if (n == 0) {
            /* nobody is connected at the host's end: wait for the next one */
            nanosleep(&pause, NULL);
        }
        len += n > 0 ? n : 0;
        if (n > 0) {
            len = obey_lines(buf, len);
        }
        if (len == COMMAND_MAX) {
            agent_error("a command is longer than %d bytes", COMMAND_MAX);
            len = 0;
        }
    }
    free(buf);
}
