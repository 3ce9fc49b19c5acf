/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files, text and numbers for the agent. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *read_all(int fd, size_t max, size_t *len)
{
    size_t size = 0, room = 4096;
    char *data = malloc(room + 1);

    while (data) {
        size_t want = (room < max ? room : max) - size;
        ssize_t n = want ? read(fd, data + size, want) : 0;

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            free(data);
            return NULL;
        }
        if (n == 0) {
            break;
        }
        size += n;
        if (size == room) {
            char *more = realloc(data, 2 * room + 1);

            if (!more) {
                free(data);
                return NULL;
            }
            data = more;
            room *= 2;
        }
    }
    if (data) {
        data[size] = '\0';
        *len = size;
    }
    return data;
}

char *util_read_file(const char *path, size_t max, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *data;

    if (fd < 0) {
        return NULL;
    }
    data = read_all(fd, max, len);
    close(fd);
    return data;
}

int util_write_file(const char *path, const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int ret = 0;

    if (fd < 0) {
        return -errno;
    }
    while (len) {
        ssize_t n = write(fd, text, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            ret = -errno;
            break;
        }
        text += n;
        len -= n;
    }
    close(fd);
    return ret;
}

json_t *util_tail(int fd, size_t max)
{
    off_t end = lseek(fd, 0, SEEK_END);
    json_t *text;
    size_t len;
    char *data;

    if (end < 0) {
        return json_string("");
    }
    lseek(fd, (size_t)end > max ? end - (off_t)max : 0, SEEK_SET);
    data = read_all(fd, max, &len);
    if (!data) {
        return json_string("");
    }
    text = util_text(data, len);
    free(data);
    return text;
}

json_t *util_text(const char *data, size_t len)
{
    json_t *text = json_stringn(data, len);
    char *copy;

    if (text) {
        return text;
    }
    copy = malloc(len + 1);
    if (!copy) {
        return json_string("");
    }
    for (size_t i = 0; i < len; i++) {
        copy[i] = (data[i] & 0x80) ? '?' : data[i];
    }
    text = json_stringn(copy, len);
    free(copy);
    return text;
}

char *util_base64(const uint8_t *data, size_t len)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((len + 2) / 3 * 4 + 1);
    char *p = text;

    if (!text) {
        return NULL;
    }
    for (size_t i = 0; i < len; i += 3) {
        uint32_t b = data[i] << 16;

        b |= i + 1 < len ? data[i + 1] << 8 : 0;
        b |= i + 2 < len ? data[i + 2] : 0;
        *p++ = digits[b >> 18];
        *p++ = digits[b >> 12 & 63];
        *p++ = i + 1 < len ? digits[b >> 6 & 63] : '=';
        *p++ = i + 2 < len ? digits[b & 63] : '=';
    }
    *p = '\0';
    return text;
}

bool util_parse_cpus(const char *list, cpu_set_t *set)
{
    CPU_ZERO(set);
    for (;;) {
        unsigned long first, last;
        char *end;

        if (*list < '0' || *list > '9') {
            return false;
        }
        first = last = strtoul(list, &end, 10);
        if (*end == '-') {
            if (end[1] < '0' || end[1] > '9') {
                return false;
            }
            last = strtoul(end + 1, &end, 10);
        }
        if (first > last || last >= CPU_SETSIZE) {
            return false;
        }
        for (unsigned long cpu = first; cpu <= last; cpu++) {
            CPU_SET(cpu, set);
        }
        if (*end == '\0') {
            return true;
        }
        if (*end != ',') {
            return false;
        }
        list = end + 1;
    }
}

uint64_t util_monotonic_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}
