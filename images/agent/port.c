/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The port to the host: messages out, what it writes in. */
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

ssize_t port_read(char *buf, size_t size)
{
    return read(port_fd, buf, size);
}
