/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"

static struct {
    char text[1 << 16];
    size_t used;
} out;

void print_flush(void)
{
    size_t used = out.used;

    out.used = 0;
    if (fwrite(out.text, 1, used, stdout) < used || fflush(stdout)) {
        fprintf(stderr, PROGRAM ": error: standard output: %s\n",
                strerror(errno));
        exit(EXIT_FAILURE);
    }
}

void print_text(const char *text, size_t length)
{
    size_t room = sizeof(out.text) - out.used;

    while (length > room) {
        memcpy(out.text + out.used, text, room);
        out.used += room;
        text += room;
        length -= room;
        print_flush();
        room = sizeof(out.text);
    }
    memcpy(out.text + out.used, text, length);
    out.used += length;
}
