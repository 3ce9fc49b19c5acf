/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <linux/virtio_blk.h>
#include <string.h>
#include <unistd.h>

#include "disk.h"

static const char serial[VIRTIO_BLK_ID_BYTES] = "libcint";

typedef struct Pieces {
    struct iovec *at;
    unsigned n;
} Pieces;

static size_t bytes_of(Pieces pieces)
{
    size_t sum = 0;
    unsigned i;

    for (i = 0; i < pieces.n; i++) {
        sum += pieces.at[i].iov_len;
    }
    return sum;
}

/* Takes @bytes off the front into @to; false: there are not so many. */
static bool take_front(Pieces *pieces, void *to, size_t bytes)
{
    char *into = to;
    size_t part;

    while (bytes && pieces->n) {
        part = bytes < pieces->at->iov_len ? bytes : pieces->at->iov_len;
        memcpy(into, pieces->at->iov_base, part);
        into += part;
        bytes -= part;
        pieces->at->iov_base = (char *)pieces->at->iov_base + part;
        pieces->at->iov_len -= part;
        if (!pieces->at->iov_len) {
            pieces->at++;
            pieces->n--;
        }
    }
    return !bytes;
}

/* The place of the last byte, which is taken off; NULL: there is none. */
static uint8_t *take_last(Pieces *pieces)
{
    struct iovec *last;

    while (pieces->n && !pieces->at[pieces->n - 1].iov_len) {
        pieces->n--;
    }
    if (!pieces->n) {
        return NULL;
    }
    last = &pieces->at[pieces->n - 1];
    last->iov_len--;
    return (uint8_t *)last->iov_base + last->iov_len;
}

static bool is_inside(const Disk *disk, uint64_t sector, size_t bytes)
{
    return !(bytes % SECTOR_BYTES) && sector <= disk->sectors &&
           bytes / SECTOR_BYTES <= disk->sectors - sector;
}

static uint8_t transfer(const Disk *disk, bool write, uint64_t sector,
                        Pieces data)
{
    size_t bytes = bytes_of(data);
    off_t at = sector * SECTOR_BYTES;
    ssize_t done;

    if (!is_inside(disk, sector, bytes)) {
        return VIRTIO_BLK_S_IOERR;
    }
    done = write ? pwritev(disk->fd, data.at, data.n, at)
                 : preadv(disk->fd, data.at, data.n, at);
    return done == (ssize_t)bytes ? VIRTIO_BLK_S_OK : VIRTIO_BLK_S_IOERR;
}

static uint8_t get_id(Pieces data)
{
    if (!data.n || data.at->iov_len < sizeof(serial)) {
        return VIRTIO_BLK_S_IOERR;
    }
    memcpy(data.at->iov_base, serial, sizeof(serial));
    return VIRTIO_BLK_S_OK;
}

static uint8_t request(const Disk *disk, const struct virtio_blk_outhdr *header,
                       Pieces out, Pieces in)
{
    switch (header->type) {
    case VIRTIO_BLK_T_IN:
        return transfer(disk, false, header->sector, in);
    case VIRTIO_BLK_T_OUT:
        return transfer(disk, true, header->sector, out);
    case VIRTIO_BLK_T_FLUSH:
        return fdatasync(disk->fd) ? VIRTIO_BLK_S_IOERR : VIRTIO_BLK_S_OK;
    case VIRTIO_BLK_T_GET_ID:
        return get_id(in);
    default:
        return VIRTIO_BLK_S_UNSUPP;
    }
}

bool disk_is_flush(const Chain *chain)
{
    struct virtio_blk_outhdr header;

    if (!chain->nr_out || chain->piece[0].iov_len < sizeof(header)) {
        return false;
    }
    memcpy(&header, chain->piece[0].iov_base, sizeof(header));
    return header.type == VIRTIO_BLK_T_FLUSH;
}

uint32_t disk_do(const Disk *disk, Chain *chain, bool *failed)
{
    Pieces out = { chain->piece, chain->nr_out };
    Pieces in = { chain->piece + chain->nr_out, chain->nr_in };
    struct virtio_blk_outhdr header;
    uint8_t *status = take_last(&in);
    uint8_t result = VIRTIO_BLK_S_IOERR;

    if (take_front(&out, &header, sizeof(header))) {
        result = request(disk, &header, out, in);
    }
    *failed = result != VIRTIO_BLK_S_OK || !status;
    if (!status) {
        return 0;
    }
    *status = result;
    return result == VIRTIO_BLK_S_OK ? bytes_of(in) + 1 : 1;
}
