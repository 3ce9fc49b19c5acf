/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NVMe controllers of the guest: list, first read, vendor log page D0h. */
#include "agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define MAX_CTRLS 16
#define NVME_ADMIN_GET_LOG_PAGE 0x02
#define LOG_CINT 0xd0
#define NSID_ALL 0xffffffffu
/* below the smallest sensible MDTS; one command each */
#define LOG_CHUNK (64 * 1024)
/* far above any number of queues; bounds what a broken header can ask for */
#define LOG_MAX (4 * 1024 * 1024)

/*
 * Start of the log page, all little endian:
 * 0 u32 magic "CINT", 4 u16 version, 6 u16 header size, 8 u32 record size,
 * 12 u16 number of records, 32 u32 size and 36 u16 number of the records that
 * follow them (of submission queues; 0 of devices that have none).
 */
#define LOG_HEADER 64

static unsigned le16_at(const uint8_t *p)
{
    return p[0] | p[1] << 8;
}

static uint32_t le32_at(const uint8_t *p)
{
    return le16_at(p) | (uint32_t)le16_at(p + 2) << 16;
}

/* 0 if the header makes no sense */
static size_t log_size(const uint8_t *h)
{
    uint64_t header = le16_at(h + 6);
    uint64_t size = header + (uint64_t)le32_at(h + 8) * le16_at(h + 12) +
                    (uint64_t)le32_at(h + 32) * le16_at(h + 36);

    if (memcmp(h, "CINT", 4) || header < LOG_HEADER || size > LOG_MAX ||
        size % 4) {
        return 0;
    }
    return size;
}

uint8_t *nvme_read_log(nvme_get_log_fn get, void *opaque, size_t *len)
{
    uint8_t header[LOG_HEADER];
    uint8_t *page;
    size_t size;

    if (get(opaque, 0, header, sizeof(header))) {
        return NULL;
    }
    size = log_size(header);
    page = size ? malloc(size) : NULL;
    if (!page) {
        return NULL;
    }
    for (size_t at = 0; at < size; at += LOG_CHUNK) {
        size_t n = size - at < LOG_CHUNK ? size - at : LOG_CHUNK;

        if (get(opaque, at, page + at, n)) {
            free(page);
            return NULL;
        }
    }
    *len = size;
    return page;
}

static int get_log_ioctl(void *opaque, uint64_t offset, void *buf,
                         uint32_t len)
{
    uint32_t dwords = len / 4 - 1;
    struct nvme_admin_cmd cmd = {
        .opcode = NVME_ADMIN_GET_LOG_PAGE,
        .nsid = NSID_ALL,
        .addr = (uintptr_t)buf,
        .data_len = len,
        .cdw10 = LOG_CINT | dwords << 16,
        .cdw11 = dwords >> 16,
        .cdw12 = offset,
        .cdw13 = offset >> 32,
    };

    return ioctl(*(int *)opaque, NVME_IOCTL_ADMIN_CMD, &cmd);
}

static uint8_t *ctrl_log(int index, size_t *len)
{
    char path[32];
    uint8_t *page;
    int fd;

    snprintf(path, sizeof(path), "/dev/nvme%d", index);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    page = nvme_read_log(get_log_ioctl, &fd, len);
    close(fd);
    return page;
}

json_t *nvme_log_json(void)
{
    /* the controller that has the page stays the same: look for it once */
    static int found = -1;

    for (int i = found < 0 ? 0 : found; i < MAX_CTRLS; i++) {
        size_t len;
        uint8_t *page = ctrl_log(i, &len);
        json_t *json;
        char *text;

        if (!page) {
            continue;
        }
        text = util_base64(page, len);
        json = text ? json_string(text) : NULL;
        free(text);
        free(page);
        found = i;
        return json ? json : json_null();
    }
    return json_null();
}

static json_t *ctrl_json(int index)
{
    char path[64];
    size_t len;
    char *model;
    uint8_t *log;
    json_t *ctrl;

    snprintf(path, sizeof(path), "/sys/class/nvme/nvme%d/model", index);
    model = util_read_file(path, 256, &len);
    if (!model) {
        return NULL;
    }
    while (len && strchr(" \n", model[len - 1])) {
        len--;
    }
    log = ctrl_log(index, &(size_t){ 0 });
    ctrl = json_pack("{s:o, s:b, s:o}",
                     "dev", json_sprintf("nvme%d", index),
                     "cint", log != NULL, "model", util_text(model, len));
    free(log);
    free(model);
    return ctrl;
}

json_t *nvme_list(void)
{
    json_t *list = json_array();

    for (int i = 0; i < MAX_CTRLS; i++) {
        json_t *ctrl = ctrl_json(i);

        if (ctrl) {
            json_array_append_new(list, ctrl);
        }
    }
    return list;
}

/* The first "nvmeXnY" of /sys/block, or false. */
static bool first_namespace(char *path, size_t size)
{
    DIR *dir = opendir("/sys/block");
    struct dirent *e;
    char best[256] = "";

    while (dir && (e = readdir(dir))) {
        if (!strncmp(e->d_name, "nvme", 4) &&
            (!*best || strcmp(e->d_name, best) < 0)) {
            snprintf(best, sizeof(best), "%s", e->d_name);
        }
    }
    if (dir) {
        closedir(dir);
    }
    snprintf(path, size, "/dev/%s", best);
    return *best;
}

static bool read_direct(const char *path)
{
    static uint8_t block[4096] __attribute__((aligned(4096)));
    int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    bool ok;

    if (fd < 0) {
        return false;
    }
    ok = pread(fd, block, sizeof(block), 0) == (ssize_t)sizeof(block);
    close(fd);
    return ok;
}

double nvme_first_io(void)
{
    char path[300];
    struct timespec ts;

    if (!first_namespace(path, sizeof(path)) || !read_direct(path)) {
        return -1;
    }
    clock_gettime(CLOCK_BOOTTIME, &ts);
    return ts.tv_sec + ts.tv_nsec / 1e9;
}
