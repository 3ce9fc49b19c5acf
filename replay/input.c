/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Lines of a file, and messages about them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "input.h"

#define BUFFER_BYTES    (1u << 20)

void input_error(const Input *in, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (in->fail) {
        in->fail(in, g_strdup_vprintf(format, args));
    }
    error_at(in->name, in->line, format, args);
}

/* No line is wrong, but who has read so far may have something to end first. */
static G_NORETURN void unreadable(Input *in, int error)
{
    in->is_unreadable = true;
    if (in->fail) {
        in->fail(in, g_strdup(strerror(error)));
    }
    usage_error("%s: %s", in->name, strerror(error));
}

void input_open(Input *in, const char *path)
{
    bool is_stdin = !path || !strcmp(path, "-");

    memset(in, 0, sizeof(*in));
    in->name = is_stdin ? "standard input" : path;
    in->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0) {
        usage_error("%s: %s", path, strerror(errno));
    }
    in->buffer = g_malloc(BUFFER_BYTES);
}

void input_close(Input *in)
{
    if (in->fd != STDIN_FILENO) {
        close(in->fd);
    }
    g_free(in->buffer);
}

/* Keeps the part of a line at the buffer's end and reads on behind it. */
static void refill(Input *in)
{
    ssize_t got;

    memmove(in->buffer, in->buffer + in->next, in->used - in->next);
    in->used -= in->next;
    in->next = 0;
    if (in->used >= BUFFER_BYTES - 1) {
        if (in->cuts) {
            in->buffer[in->used++] = '\n';
            return;
        }
        in->line++;
        input_error(in, "expected a line of less than %u bytes", BUFFER_BYTES);
    }
    do {
        got = read(in->fd, in->buffer + in->used,
                   BUFFER_BYTES - 1 - in->used);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        unreadable(in, errno);
    }
    in->used += got;
    in->at_end = !got;
    /* A last line that has no newline gets one; the buffer has the room. */
    if (in->at_end && in->used) {
        in->buffer[in->used++] = '\n';
    }
}

const char *input_line(Input *in)
{
    char *start, *end;

    for (;;) {
        start = in->buffer + in->next;
        end = memchr(start, '\n', in->used - in->next);
        if (end) {
            in->next = end + 1 - in->buffer;
            in->line++;
            return start;
        }
        if (in->at_end) {
            return NULL;
        }
        refill(in);
    }
}
