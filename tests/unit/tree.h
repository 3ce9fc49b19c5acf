/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A machine's files for a test: what the code under test takes for / is a
 * directory that the test makes. Paths here are as that code has them.
 */
#ifndef TREE_H
#define TREE_H

#include <glib.h>

/* An empty one; one at a time. */
void tree_begin(void);
void tree_end(void);

/* Where @path really is; never freed, so several can be in use at once. */
const char *rooted(const char *path);

/* A file with that text, and the directories above it. */
void put(const char *path, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* A symbolic link in place of what is there. */
void put_link(const char *path, const char *target);

/* It and all below it; a link itself and not what it leads to. */
void take_away(const char *path);

#endif
