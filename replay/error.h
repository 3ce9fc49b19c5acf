/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Messages that end the program. What was found until then stands before them.
 */
#ifndef REPLAY_ERROR_H
#define REPLAY_ERROR_H

#include <stdarg.h>
#include <stdint.h>
#include <glib.h>

#define EXIT_USAGE      2

/* A mistake in line @line of what @where names. Ends with EXIT_USAGE. */
G_NORETURN void error_at(const char *where, uint64_t line, const char *format,
                         va_list args) G_GNUC_PRINTF(3, 0);

/* The same for a text. */
G_NORETURN void error_text(const char *where, uint64_t line, const char *text);

/* The same for a mistake on the command line. */
G_NORETURN void usage_error(const char *format, ...) G_GNUC_PRINTF(1, 2);

#endif /* REPLAY_ERROR_H */
