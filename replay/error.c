/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "print.h"

static G_NORETURN G_GNUC_PRINTF(1, 0)
void end(const char *format, va_list args)
{
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    exit(EXIT_USAGE);
}

void error_at(const char *where, uint64_t line, const char *format,
              va_list args)
{
    print_flush();
    fprintf(stderr, PROGRAM ": error: %s:%" G_GUINT64_FORMAT ": ", where, line);
    end(format, args);
}

static G_NORETURN G_GNUC_PRINTF(3, 4)
void error_format(const char *where, uint64_t line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    error_at(where, line, format, args);
}

void error_text(const char *where, uint64_t line, const char *text)
{
    error_format(where, line, "%s", text);
}

void usage_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_flush();
    fprintf(stderr, PROGRAM ": error: ");
    end(format, args);
}
