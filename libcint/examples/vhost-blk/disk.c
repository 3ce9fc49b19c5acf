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

static size_t less(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Copies the first @bytes to @to; false: there are not so many. */
static bool copy_front(Pieces pieces, void *to, size_t bytes)
{
    char *into = to;
    size_t part;

    for (; bytes && pieces.n; pieces.at++, pieces.n--) {
        part = less(bytes, pieces.at->iov_len);
        memcpy(into, pieces.at->iov_base, part);
        into += part;
        bytes -= part;
    }
    return !bytes;
}

/* Copies @bytes from @from over the first ones, of which there are enough. */
static void put_front(Pieces pieces, const void *from, size_t bytes)
{
    const char *out = from;
    size_t part;

    for (; bytes; pieces.at++) {
        part = less(bytes, pieces.at->iov_len);
        memcpy(pieces.at->iov_base, out, part);
        out += part;
        bytes -= part;
    }
}

/* The first @bytes, of which there are enough, are none of @pieces any more. */
static void drop_front(Pieces *pieces, size_t bytes)
{
    size_t part;

    while (bytes) {
        part = less(bytes, pieces->at->iov_len);
        pieces->at->iov_base = (char *)pieces->at->iov_base + part;
        pieces->at->iov_len -= part;
        bytes -= part;
        if (!pieces->at->iov_len) {
            pieces->at++;
            pieces->n--;
        }
    }
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

static uint8_t status_of(bool good)
{
    return good ? VIRTIO_BLK_S_OK : VIRTIO_BLK_S_IOERR;
}

static uint8_t write_sectors(const Disk *disk, uint64_t sector, Pieces data)
{
    size_t bytes = bytes_of(data);

    return status_of(is_inside(disk, sector, bytes) &&
                     pwritev(disk->fd, data.at, data.n,
                             sector * SECTOR_BYTES) == (ssize_t)bytes);
}

static uint8_t read_sectors(const Disk *disk, uint64_t sector, Pieces data,
                            uint32_t *written)
{
    size_t bytes = bytes_of(data);

    if (!is_inside(disk, sector, bytes) ||
        preadv(disk->fd, data.at, data.n,
               sector * SECTOR_BYTES) != (ssize_t)bytes) {
        return VIRTIO_BLK_S_IOERR;
    }
    *written = bytes;
    return VIRTIO_BLK_S_OK;
}

static uint8_t get_id(Pieces data, uint32_t *written)
{
    if (bytes_of(data) < sizeof(serial)) {
        return VIRTIO_BLK_S_IOERR;
    }
    put_front(data, serial, sizeof(serial));
    *written = sizeof(serial);
    return VIRTIO_BLK_S_OK;
}

/* *written tells of the bytes of @in that are the answer. */
static uint8_t request(const Disk *disk, const struct virtio_blk_outhdr *header,
                       Pieces out, Pieces in, uint32_t *written)
{
    switch (header->type) {
    case VIRTIO_BLK_T_IN:
        return read_sectors(disk, header->sector, in, written);
    case VIRTIO_BLK_T_OUT:
        return write_sectors(disk, header->sector, out);
    case VIRTIO_BLK_T_FLUSH:
        return fdatasync(disk->fd) ? VIRTIO_BLK_S_IOERR : VIRTIO_BLK_S_OK;
    case VIRTIO_BLK_T_GET_ID:
        return get_id(in, written);
    default:
        return VIRTIO_BLK_S_UNSUPP;
    }
}

static Pieces out_of(Chain *chain)
{
    return (Pieces) { chain->piece, chain->nr_out };
}

bool disk_is_flush(Chain *chain)
{
    struct virtio_blk_outhdr header;

    return copy_front(out_of(chain), &header, sizeof(header)) &&
           header.type == VIRTIO_BLK_T_FLUSH;
}

uint32_t disk_do(const Disk *disk, Chain *chain, bool *failed)
{
    Pieces out = out_of(chain);
    Pieces in = { chain->piece + chain->nr_out, chain->nr_in };
    struct virtio_blk_outhdr header;
    uint8_t *status = take_last(&in);
    uint8_t result = VIRTIO_BLK_S_IOERR;
    uint32_t written = 0;

    if (copy_front(out, &header, sizeof(header))) {
        drop_front(&out, sizeof(header));
        result = request(disk, &header, out, in, &written);
    }
    *failed = result != VIRTIO_BLK_S_OK || !status;
    if (status) {
        *status = result;
        written++;
    }
    return written;
}
