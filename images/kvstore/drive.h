/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a store is on, and a worker's way to its pages there: a file or a disk
 * of the kernel's, or a controller that this process drives. What fails ends
 * the program with a line that says what it was.
 */
#ifndef KVSTORE_DRIVE_H
#define KVSTORE_DRIVE_H

#include "engine.h"

/* @create: what is not there is made. @path stays where it is. */
struct drive *drive_open(const char *path, struct drive_options options,
                         bool create);
void drive_close(struct drive *drive);

void drive_get(struct drive *drive, size_t bytes, struct memory *memory);
void drive_put(struct drive *drive, struct memory *memory);

/* So many bytes, at once; while no lane has anything under way. */
void drive_read(struct drive *drive, const struct memory *memory, size_t bytes,
                uint64_t at);
void drive_write(struct drive *drive, const struct memory *memory, size_t bytes,
                 uint64_t at);

/* What was written is on the medium. */
void drive_settle(struct drive *drive);

/* Number 0 to LANES_MAX - 1, for one thread at a time. */
struct lane *lane_open(struct drive *drive, unsigned number,
                       const struct memory *memory);

/* A batch of up to options.depth, and then its end. */
void lane_submit(struct lane *lane, const struct page_io *ios, unsigned n);
void lane_await(struct lane *lane);

void lane_close(struct lane *lane);

#endif
