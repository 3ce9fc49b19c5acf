/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Standard output, as late as possible: under some policies every other event
 * prints a line.
 */
#ifndef REPLAY_PRINT_H
#define REPLAY_PRINT_H

#include <stddef.h>

/* What messages begin with. */
#define PROGRAM         "cint-replay"

void print_text(const char *text, size_t length);

/*
 * Writes what print_text() was given. What cannot be written is no success:
 * the rest would be missing unseen. So that ends the program.
 */
void print_flush(void);

#endif /* REPLAY_PRINT_H */
