/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Requests of virtio-blk, on a file.
 */
#ifndef VHOST_BLK_DISK_H
#define VHOST_BLK_DISK_H

#include "ring.h"

#define SECTOR_BYTES    512

typedef struct Disk {
    int fd;
    uint64_t sectors;
    int64_t latency_ns;         /* of a request */
    int64_t apart_ns;           /* from one of a queue to the next, at least */
} Disk;

/* Is it to make durable what was written? */
bool disk_is_flush(Chain *chain);

/*
 * Does the request, and writes its status. Returns the bytes written into the
 * guest's memory; *failed tells of a status that is not OK.
 */
uint32_t disk_do(const Disk *disk, Chain *chain, bool *failed);

#endif /* VHOST_BLK_DISK_H */
