/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls that do one I/O each, mappings, and syncing. */
#include "hintio.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static ssize_t one_read(const struct work *w, const struct io *io)
{
    if (lseek(w->fd, io->offset, SEEK_SET) < 0) {
        return -1;
    }
    return w->write ? write(w->fd, io->data, w->size)
                    : read(w->fd, io->data, w->size);
}

static ssize_t one_pread(const struct work *w, const struct io *io)
{
    return w->write ? pwrite(w->fd, io->data, w->size, io->offset)
                    : pread(w->fd, io->data, w->size, io->offset);
}

static ssize_t one_preadv2(const struct work *w, const struct io *io)
{
    struct iovec iov = { .iov_base = io->data, .iov_len = w->size };
    int flags = io->flags | (w->hipri ? RWF_HIPRI : 0);

    return w->write ? pwritev2(w->fd, &iov, 1, io->offset, flags)
                    : preadv2(w->fd, &iov, 1, io->offset, flags);
}

static ssize_t one_mapped(const struct work *w, const struct io *io)
{
    long page = sysconf(_SC_PAGESIZE);
    uint64_t start = io->offset & -(uint64_t)page;
    size_t len = io->offset - start + w->size;
    uint8_t *map = mmap(NULL, len, PROT_READ | (w->write ? PROT_WRITE : 0),
                        MAP_SHARED, w->fd, start);

    if (map == MAP_FAILED) {
        return -1;
    }
    if (w->write) {
        memcpy(map + len - w->size, io->data, w->size);
    } else {
        memcpy(io->data, map + len - w->size, w->size);
    }
    munmap(map, len);
    return w->size;
}

void plain_run(struct work *w)
{
    static ssize_t (*const one[])(const struct work *, const struct io *) = {
        [API_READ] = one_read,
        [API_PREAD] = one_pread,
        [API_PREADV2] = one_preadv2,
        [API_MMAP] = one_mapped,
    };

    for (unsigned long i = 0; i < w->count; i++) {
        struct io io = work_io(w, i, 1, 0);
        ssize_t done = one[w->api](w, &io);

        check_io(w, done < 0 ? -errno : done);
    }
}

/* msync wants a mapping; dirty pages do not care which. */
static int sync_mapped(const struct work *w)
{
    long page = sysconf(_SC_PAGESIZE);
    uint64_t start = w->offset & -(uint64_t)page;
    size_t len = w->offset - start + (w->count ? w->count : 1) * w->stride;
    void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, w->fd, start);
    int ret, error;

    if (map == MAP_FAILED) {
        return -1;
    }
    ret = msync(map, len, MS_SYNC);
    error = errno;
    munmap(map, len);
    errno = error;
    return ret;
}

void plain_sync(struct work *w)
{
    int ret = 0;

    switch (w->sync) {
    case SYNC_NONE:
        break;
    case SYNC_FSYNC:
        ret = fsync(w->fd);
        break;
    case SYNC_FDATASYNC:
        ret = fdatasync(w->fd);
        break;
    case SYNC_RANGE:
        ret = sync_file_range(w->fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE |
                              SYNC_FILE_RANGE_WRITE |
                              SYNC_FILE_RANGE_WAIT_AFTER);
        break;
    case SYNC_SYNC:
        sync();
        break;
    case SYNC_SYNCFS:
        ret = syncfs(w->fd);
        break;
    case SYNC_MSYNC:
        ret = sync_mapped(w);
        break;
    }
    if (ret) {
        fail(w, "sync", errno);
    }
}
