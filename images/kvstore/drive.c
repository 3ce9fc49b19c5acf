/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive.h"

#include "kernel.h"
#include "user.h"

struct drive *drive_open(const char *path, struct drive_options options,
                         bool create)
{
    struct drive *drive = options.engine == ENGINE_KERNEL ?
                          kernel_open(path, options, create) :
                          user_open(path, options);

    drive->path = path;
    drive->options = options;
    return drive;
}

void drive_close(struct drive *drive)
{
    drive->engine->close(drive);
}

void drive_get(struct drive *drive, size_t bytes, struct memory *memory)
{
    drive->engine->get(drive, bytes, memory);
}

void drive_put(struct drive *drive, struct memory *memory)
{
    drive->engine->put(drive, memory);
}

void drive_read(struct drive *drive, const struct memory *memory, size_t bytes,
                uint64_t at)
{
    drive->engine->move(drive, true, memory, bytes, at);
}

void drive_write(struct drive *drive, const struct memory *memory, size_t bytes,
                 uint64_t at)
{
    drive->engine->move(drive, false, memory, bytes, at);
}

void drive_settle(struct drive *drive)
{
    drive->engine->settle(drive);
}

struct lane *lane_open(struct drive *drive, unsigned number,
                       const struct memory *memory)
{
    struct lane *lane = drive->engine->open_lane(drive, number);

    lane->drive = drive;
    lane->memory = memory;
    return lane;
}

void lane_submit(struct lane *lane, const struct page_io *ios, unsigned n)
{
    lane->under_way = n;
    lane->drive->engine->submit(lane, ios, n);
}

void lane_await(struct lane *lane)
{
    lane->drive->engine->await(lane);
    lane->under_way = 0;
}

void lane_close(struct lane *lane)
{
    lane->drive->engine->close_lane(lane);
}
