/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A namespace in memory. See memdev.h.
 */
#include "qemu/osdep.h"
#ifdef CONFIG_LINUX
#include <linux/magic.h>
#include <sys/vfs.h>
#endif
#include "qemu/cutils.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "block/block_int.h"
#include "block/thread-pool.h"
#include "system/block-backend.h"
#include "system/cpu-timers.h"
#include "system/hostmem.h"
/* that is where QEMU 10.2 has it */
#ifdef SYSTEM_MEMORY_H
#include "system/ramblock.h"
#else
#include "exec/ramblock.h"
#endif

#include "memdev.h"
#include "ram.h"
#include "thread.h"

/*
 * More is zeroed by a thread: meanwhile the main loop serves others. Not so
 * with icount, where a Read that overlaps would find what depends on the host.
 */
#define MOST_AT_ONCE    (256 * KiB)

/* A unit that is copied, and the locks that all units share. */
#define LEAST_UNIT      (64 * KiB)
#define NR_LOCKS        16

typedef struct NvmeMemdev {
    BlockBackend        *blk;       /* of the namespace it was made for */
    const ThrottleGroupMember *limits;
    BlockAcctStats      *stats;
    HostMemoryBackend   *backend;
    uint8_t             *data;
    uint64_t            size;
    uint64_t            page_size;
    bool                can_free;   /* pages that are deallocated */
    bool                is_shared;  /* with a file, which has what is flushed */
    bool                is_filled;  /* by looking: a file of a tmpfs */
    uint64_t            unit;       /* bytes, of whole blocks and pages */
    QemuMutex           locks[NR_LOCKS];
} NvmeMemdev;

/* ---- Blocks are whole ---- */

/*
 * Nobody reads half of a block that is written (NVM Command Set, atomic
 * operation: AWUN and NAWUN are 0), and threads and the main loop copy at the
 * same time. Hence a unit at a time, and with its lock.
 */
static QemuMutex *lock_of(NvmeMemdev *m, uint64_t offset)
{
    return &m->locks[offset / m->unit % NR_LOCKS];
}

/* As many of @len bytes at @offset as are in one unit. */
static uint64_t in_unit(const NvmeMemdev *m, uint64_t offset, uint64_t len)
{
    return MIN(len, m->unit - offset % m->unit);
}

static void copy_part(NvmeMemdev *m, uint64_t offset, QEMUIOVector *iov,
                      uint64_t done, uint64_t len, bool is_write)
{
    uint8_t *data = m->data + offset + done;

    if (is_write) {
        qemu_iovec_to_buf(iov, done, data, len);
    } else {
        qemu_iovec_from_buf(iov, done, data, len);
    }
}

/* Without threads nobody else copies meanwhile. */
static void copy_iov(NvmeMemdev *m, uint64_t offset, QEMUIOVector *iov,
                     bool is_write)
{
    uint64_t done, len;

    if (likely(!nvme_has_threads)) {
        copy_part(m, offset, iov, 0, iov->size, is_write);
        return;
    }
    for (done = 0; done < iov->size; done += len) {
        len = in_unit(m, offset + done, iov->size - done);
        QEMU_LOCK_GUARD(lock_of(m, offset + done));
        copy_part(m, offset, iov, done, len, is_write);
    }
}

static inline void copy(NvmeMemdev *m, uint64_t offset, uint8_t *buf,
                        uint64_t len, bool is_write)
{
    uint8_t *data = m->data + offset;

    if (unlikely(nvme_has_threads)) {
        QEMUIOVector iov = QEMU_IOVEC_INIT_BUF(iov, buf, len);

        copy_iov(m, offset, &iov, is_write);
    } else {
        memcpy(is_write ? data : buf, is_write ? buf : data, len);
    }
}

/* ---- The block node ---- */

/* Those who may resize a node can write behind its end. */
static bool is_inside(const NvmeMemdev *m, int64_t offset, int64_t bytes)
{
    return offset >= 0 && bytes >= 0 && offset <= m->size &&
           bytes <= m->size - offset;
}

static int coroutine_fn GRAPH_RDLOCK
memdev_co_preadv(BlockDriverState *bs, int64_t offset, int64_t bytes,
                 QEMUIOVector *qiov, BdrvRequestFlags flags)
{
    NvmeMemdev *m = bs->opaque;

    if (!is_inside(m, offset, bytes)) {
        return -EIO;
    }
    copy_iov(m, offset, qiov, false);
    return 0;
}

static int coroutine_fn GRAPH_RDLOCK
memdev_co_pwritev(BlockDriverState *bs, int64_t offset, int64_t bytes,
                  QEMUIOVector *qiov, BdrvRequestFlags flags)
{
    NvmeMemdev *m = bs->opaque;

    if (!is_inside(m, offset, bytes)) {
        return -EIO;
    }
    copy_iov(m, offset, qiov, true);
    return 0;
}

typedef struct Zeroes {
    NvmeMemdev  *m;
    uint64_t    start;
    uint64_t    end;
    bool        may_free;
} Zeroes;

/* Not if the backend has to keep all of its memory, from some time on maybe. */
static bool may_free(const NvmeMemdev *m)
{
    return qatomic_read(&m->can_free) && !qatomic_read(&m->backend->prealloc);
}

/*
 * Whole pages from @start to @end. Where giving back fails, it fails for good,
 * as with memory that is locked.
 */
static bool free_pages(NvmeMemdev *m, uint64_t start, uint64_t end)
{
    if (start >= end || !may_free(m) || ram_block_discard_is_disabled()) {
        return false;
    }
    if (ram_block_discard_range(m->backend->mr.ram_block, start,
                                end - start)) {
        qatomic_set(&m->can_free, false);
        return false;
    }
    return true;
}

static void zero_from_to(NvmeMemdev *m, uint64_t start, uint64_t end,
                         bool may_free)
{
    uint64_t first = ROUND_UP(start, m->page_size);
    uint64_t last = ROUND_DOWN(end, m->page_size);

    if (may_free && free_pages(m, first, last)) {
        memset(m->data + start, 0, first - start);
        memset(m->data + last, 0, end - last);
    } else {
        memset(m->data + start, 0, end - start);
    }
}

/* Threads: any. */
static int zero(void *opaque)
{
    const Zeroes *z = opaque;
    uint64_t at, len;

    if (!nvme_has_threads) {
        zero_from_to(z->m, z->start, z->end, z->may_free);
        return 0;
    }
    for (at = z->start; at < z->end; at += len) {
        len = in_unit(z->m, at, z->end - at);
        QEMU_LOCK_GUARD(lock_of(z->m, at));
        zero_from_to(z->m, at, at + len, z->may_free);
    }
    return 0;
}

static int coroutine_fn GRAPH_RDLOCK
co_zero(BlockDriverState *bs, int64_t offset, int64_t bytes, bool may_free)
{
    NvmeMemdev *m = bs->opaque;
    Zeroes z = {
        .m = m, .start = offset, .end = offset + bytes, .may_free = may_free,
    };

    if (!is_inside(m, offset, bytes)) {
        return -EIO;
    }
    if (bytes > MOST_AT_ONCE && !icount_enabled()) {
        return thread_pool_submit_co(zero, &z);
    }
    return zero(&z);
}

static int coroutine_fn GRAPH_RDLOCK
memdev_co_pwrite_zeroes(BlockDriverState *bs, int64_t offset, int64_t bytes,
                        BdrvRequestFlags flags)
{
    return co_zero(bs, offset, bytes, flags & BDRV_REQ_MAY_UNMAP);
}

/* What is deallocated reads as zeroes, whether pages could be freed or not. */
static int coroutine_fn GRAPH_RDLOCK
memdev_co_pdiscard(BlockDriverState *bs, int64_t offset, int64_t bytes)
{
    return co_zero(bs, offset, bytes, true);
}

/* Threads: any. */
static int sync_file(void *opaque)
{
    NvmeMemdev *m = opaque;
    int fd = memory_region_get_fd(&m->backend->mr);

    return qemu_msync(m->data, m->size, fd) ? -errno : 0;
}

/* For all that was written, also by nvme_memdev_write(). */
static int coroutine_fn GRAPH_RDLOCK memdev_co_flush(BlockDriverState *bs)
{
    NvmeMemdev *m = bs->opaque;

    return m->is_shared ? thread_pool_submit_co(sync_file, m) : 0;
}

/* What a caller wants of a block's status, which QEMU 10.0 has a bool for. */
#ifdef BDRV_WANT_ZERO
typedef unsigned int StatusMode;
#else
typedef bool StatusMode;
#endif

/*
 * Bytes from @offset on that a file of a tmpfs has no memory for. To look at
 * them would be to allocate it, also what was given back just now. Other file
 * systems may not know what was written to memory.
 */
static int64_t hole_at(const NvmeMemdev *m, int64_t offset, int64_t bytes)
{
    const RAMBlock *block = m->backend->mr.ram_block;
    int64_t start = offset + block->fd_offset, data;

    if (!m->is_filled) {
        return 0;
    }
    data = lseek(block->fd, start, SEEK_DATA);
    if (data < 0) {
        return errno == ENXIO ? bytes : 0;
    }
    return MIN(data - start, bytes);
}

/*
 * What is zero is found by looking: so it is right for memory that has been in
 * use before, too. All of it is data, since nothing is below.
 */
static int coroutine_fn GRAPH_RDLOCK
memdev_co_block_status(BlockDriverState *bs, StatusMode mode, int64_t offset,
                       int64_t bytes, int64_t *pnum, int64_t *map,
                       BlockDriverState **file)
{
    NvmeMemdev *m = bs->opaque;
    int64_t len = MIN(bytes, BDRV_SECTOR_SIZE);
    bool is_zero;

    if (!is_inside(m, offset, bytes)) {
        return -EIO;
    }
    *pnum = hole_at(m, offset, bytes);
    if (*pnum) {
        return BDRV_BLOCK_DATA | BDRV_BLOCK_ZERO;
    }
    is_zero = buffer_is_zero(m->data + offset, len);
    for (*pnum = len; *pnum < bytes; *pnum += len) {
        len = MIN(bytes - *pnum, BDRV_SECTOR_SIZE);
        if (buffer_is_zero(m->data + offset + *pnum, len) != is_zero) {
            break;
        }
    }
    return BDRV_BLOCK_DATA | (is_zero ? BDRV_BLOCK_ZERO : 0);
}

void nvme_memdev_unprotect(NvmeNamespace *ns, uint8_t *tuple, size_t len)
{
    if (!ns->memdev || buffer_is_zero(tuple, len)) {
        memset(tuple, 0xff, len);
    }
}

/* What is freed is whole pages: the granularity that a guest is told. */
static int coroutine_fn GRAPH_RDLOCK
memdev_co_get_info(BlockDriverState *bs, BlockDriverInfo *bdi)
{
    NvmeMemdev *m = bs->opaque;

    bdi->cluster_size = may_free(m) ? m->page_size : 0;
    return 0;
}

/* The memory is in use for as long as there is the node. */
static void memdev_close(BlockDriverState *bs)
{
    NvmeMemdev *m = bs->opaque;
    int i;

    if (m->backend) {
        for (i = 0; i < NR_LOCKS; i++) {
            qemu_mutex_destroy(&m->locks[i]);
        }
        host_memory_backend_set_mapped(m->backend, false);
        object_unref(OBJECT(m->backend));
    }
}

/* It is not registered: nodes of it are made here only. */
static BlockDriver memdev_driver = {
    .format_name            = "nvme-memdev",
    .instance_size          = sizeof(NvmeMemdev),
    .bdrv_close             = memdev_close,
    .bdrv_co_preadv         = memdev_co_preadv,
    .bdrv_co_pwritev        = memdev_co_pwritev,
    .bdrv_co_pwrite_zeroes  = memdev_co_pwrite_zeroes,
    .bdrv_co_pdiscard       = memdev_co_pdiscard,
    .bdrv_co_flush          = memdev_co_flush,
    .bdrv_co_block_status   = memdev_co_block_status,
    .bdrv_co_get_info       = memdev_co_get_info,
};

/* ---- Attaching ---- */

static bool is_in_tmpfs(int fd)
{
#ifdef CONFIG_LINUX
    struct statfs fs;

    return !fstatfs(fd, &fs) && fs.f_type == TMPFS_MAGIC;
#else
    return false;
#endif
}

static void init_node(BlockDriverState *bs, HostMemoryBackend *backend,
                      uint32_t block)
{
    MemoryRegion *mr = host_memory_backend_get_memory(backend);
    bool has_file = memory_region_get_fd(mr) >= 0;
    bool is_shared = qemu_ram_is_shared(mr->ram_block);
    NvmeMemdev *m = bs->opaque;
    int i;

    object_ref(OBJECT(backend));
    host_memory_backend_set_mapped(backend, true);
    m->backend = backend;
    m->data = memory_region_get_ram_ptr(mr);
    m->size = memory_region_size(mr);
    m->page_size = host_memory_backend_pagesize(backend);
    /* a file that others may have is changed by who shares it, and else not */
    m->can_free = is_shared || !has_file;
    m->is_shared = is_shared && has_file;
    m->is_filled = m->is_shared && is_in_tmpfs(memory_region_get_fd(mr));
    m->unit = MAX(MAX(LEAST_UNIT, block), m->page_size);
    for (i = 0; i < NR_LOCKS; i++) {
        qemu_mutex_init(&m->locks[i]);
    }
    bs->total_sectors = m->size / BDRV_SECTOR_SIZE;
    bs->supported_zero_flags = BDRV_REQ_MAY_UNMAP | BDRV_REQ_NO_FALLBACK;
}

static BlockBackend *new_blk(NvmeNamespace *ns, Error **errp)
{
    MemoryRegion *mr = host_memory_backend_get_memory(ns->memdev);
    int flags = BDRV_O_UNMAP | (memory_region_is_rom(mr) ? 0 : BDRV_O_RDWR);
    BlockDriverState *bs;
    BlockBackend *blk;
    int ret;

    bs = bdrv_new_open_driver(&memdev_driver, NULL, flags, errp);
    if (!bs) {
        return NULL;
    }
    init_node(bs, ns->memdev, ns->blkconf.logical_block_size);
    blk = blk_new(qemu_get_aio_context(), 0, BLK_PERM_ALL);
    ret = blk_insert_bs(blk, bs, errp);
    bdrv_unref(bs);
    if (ret < 0) {
        blk_unref(blk);
        return NULL;
    }
    return blk;
}

static bool check_size(NvmeNamespace *ns, const char *name, Error **errp)
{
    uint64_t size = memory_region_size(&ns->memdev->mr);
    uint32_t block = ns->blkconf.logical_block_size ?: BDRV_SECTOR_SIZE;

    if (size % block) {
        error_setg(errp, "memory backend '%s' of 'memdev' has %" PRIu64
                   " bytes; it has to be a multiple of the logical block size "
                   "('logical_block_size'), %" PRIu32, name, size, block);
        return false;
    }
    if (size < block + ns->params.ms) {
        error_setg(errp, "memory backend '%s' of 'memdev' has %" PRIu64
                   " bytes; a block and its metadata ('logical_block_size', "
                   "'ms') take %" PRIu32, name, size, block + ns->params.ms);
        return false;
    }
    return true;
}

/* Memory of error records (ERST) only has the name by which it is migrated. */
static bool is_in_use(HostMemoryBackend *backend)
{
    return host_memory_backend_is_mapped(backend) ||
           *qemu_ram_get_idstr(backend->mr.ram_block);
}

static bool check(NvmeNamespace *ns, Error **errp)
{
    g_autofree char *name = host_memory_backend_get_name(ns->memdev);

    if (ns->blkconf.blk) {
        error_setg(errp, "'memdev' and 'drive' exclude each other: a namespace "
                   "has either memory or a drive");
        return false;
    }
    if (is_in_use(ns->memdev)) {
        error_setg(errp, "memory backend '%s' of 'memdev' is in use already; "
                   "a namespace needs one of its own", name);
        return false;
    }
    return check_size(ns, name, errp);
}

/* ---- Threads ---- */

/*
 * A thread that serves queues (thread.h) has neither the BQL nor a request that
 * a drained section would wait for. What it copies is between enter_copy() and
 * leave_copy(), and the main loop, where a drained section begins, waits for
 * that. The graph is not changed but behind the beginning of one. QEMU 10.0
 * ends it before it makes the change, so that the graph is not looked at before
 * the main loop is back.
 */
static bool enter_copy(NvmeNamespace *ns)
{
    qatomic_inc(&ns->copies);
    /* counted before it looks, and what it finds is not older */
    smp_mb__after_rmw();
    if (likely(qatomic_load_acquire(&ns->may_copy))) {
        return true;
    }
    qatomic_dec(&ns->copies);
    return false;
}

static void leave_copy(NvmeNamespace *ns)
{
    qatomic_dec(&ns->copies);
}

static void memdev_drained_begin(void *opaque)
{
    NvmeNamespace *ns = opaque;

    qatomic_set(&ns->may_copy, false);
    /* a copy is counted before it looks; what it does is done before this */
    smp_mb();
    while (qatomic_load_acquire(&ns->copies)) {
        cpu_relax();
    }
}

/*
 * Others that have the node may have it serialize requests, which a copy of a
 * thread would not wait for.
 */
static void look_at_parents(NvmeNamespace *ns)
{
    BlockDriverState *bs = blk_bs(ns->blkconf.blk);
    BdrvChild *parent = bs ? QLIST_FIRST(&bs->parents) : NULL;

    /* not before the graph is what it is */
    qatomic_store_release(&ns->may_copy,
                          parent && !QLIST_NEXT(parent, next_parent));
}

static void changed_cb(void *opaque)
{
    NvmeNamespace *ns = opaque;

    /* else there is an end to come */
    if (!blk_in_drain(ns->blkconf.blk)) {
        look_at_parents(ns);
    }
    object_unref(OBJECT(ns));
}

static void memdev_drained_end(void *opaque)
{
    object_ref(OBJECT(opaque));
    aio_bh_schedule_oneshot(qemu_get_aio_context(), changed_cb, opaque);
}

static const BlockDevOps memdev_dev_ops = {
    .drained_begin  = memdev_drained_begin,
    .drained_end    = memdev_drained_end,
};

bool nvme_memdev_attach(NvmeNamespace *ns, Error **errp)
{
    BlockBackend *blk;
    NvmeMemdev *m;

    if (!check(ns, errp)) {
        return false;
    }
    blk = new_blk(ns, errp);
    if (!blk) {
        return false;
    }
    /* the device has it from here on, as if it were one of its drive's */
    blk_attach_dev(blk, DEVICE(ns));
    blk_unref(blk);
    ns->blkconf.blk = blk;
    m = blk_bs(blk)->opaque;
    m->blk = blk;
    m->limits = &blk_get_public(blk)->throttle_group_member;
    m->stats = blk_get_stats(blk);
    look_at_parents(ns);
    blk_set_dev_ops(blk, &memdev_dev_ops, ns);
    return true;
}

/* ---- Without the block layer ---- */

/* Written through, as without a write cache, is by the block layer only. */
static bool is_write_seen(BlockBackend *blk, BlockDriverState *bs)
{
    return !(bs->open_flags & BDRV_O_RDWR) || bs->write_threshold_offset ||
           qatomic_read(&bs->dirty_bitmaps.lh_first) ||
           !blk_enable_write_cache(blk);
}

/*
 * The medium, if it has @len bytes at @offset, nothing is between it and the
 * namespace that would have to see a request, and none has to wait: there is no
 * filter, limit, drain, nor a request that others are serialized with.
 */
static inline NvmeMemdev *bare_medium(NvmeNamespace *ns, uint64_t offset,
                                      uint64_t len, bool is_write)
{
    BlockBackend *blk = ns->blkconf.blk;
    BlockDriverState *bs = blk_bs(blk);
    NvmeMemdev *m;

    if (!bs || bs->drv != &memdev_driver ||
        qatomic_read(&bs->quiesce_counter) ||
        qatomic_read(&bs->serialising_in_flight)) {
        return NULL;
    }
    m = bs->opaque;
    if (m->blk != blk || qatomic_read(&m->limits->throttle_state) ||
        (is_write && is_write_seen(blk, bs)) ||
        offset > m->size || len > m->size - offset) {
        return NULL;
    }
    return m;
}

/* The same for who runs here, before end_copy(). */
static inline NvmeMemdev *begin_copy(NvmeNamespace *ns, uint64_t offset,
                                     uint64_t len, bool is_write)
{
    NvmeMemdev *m;

    if (likely(!nvme_here)) {
        return bare_medium(ns, offset, len, is_write);
    }
    if (!enter_copy(ns)) {
        return NULL;
    }
    m = bare_medium(ns, offset, len, is_write);
    if (!m) {
        leave_copy(ns);
    }
    return m;
}

static inline void end_copy(NvmeNamespace *ns)
{
    if (unlikely(nvme_here)) {
        leave_copy(ns);
    }
}

/* The same after a write: a bitmap may have come since. */
static inline void end_write(NvmeNamespace *ns, uint64_t offset, uint64_t len)
{
    if (unlikely(nvme_here)) {
        BlockDriverState *bs = blk_bs(ns->blkconf.blk);

        /* what was written is there, for who comes now */
        smp_mb();
        if (qatomic_read(&bs->dirty_bitmaps.lh_first)) {
            bdrv_set_dirty(bs, offset, len);
        }
        leave_copy(ns);
    }
}

/*
 * It took no time. Where somebody counts by time, that is done as well. The
 * counters are changed and read under the BQL only, unless there are threads
 * that may have requests of this block backend.
 */
static inline void account(BlockAcctStats *stats, uint64_t len,
                           enum BlockAcctType type)
{
    BlockAcctCookie cookie;

    block_acct_start(stats, &cookie, len, type);
    if (unlikely(!QSLIST_EMPTY(&stats->intervals) ||
                 stats->latency_histogram[type].bins || nvme_has_threads)) {
        block_acct_done(stats, &cookie);
        return;
    }
    stats->nr_bytes[type] += len;
    stats->nr_ops[type]++;
    stats->last_access_time_ns = cookie.start_time_ns;
}

/* As the block layer would have: for those who ask how full the medium is. */
#ifdef QEMU_STATS64_H
static inline void note_written(NvmeNamespace *ns, uint64_t end)
{
    stat64_max(&blk_bs(ns->blkconf.blk)->wr_highest_offset, end);
}
#else   /* QEMU 11 */
static inline void note_written(NvmeNamespace *ns, uint64_t end)
{
    uint64_t *highest = &blk_bs(ns->blkconf.blk)->wr_highest_offset;
    uint64_t known, old = qatomic_read(highest);

    while (old < end) {
        known = old;
        old = qatomic_cmpxchg(highest, known, end);
        if (old == known) {
            return;
        }
    }
}
#endif

bool nvme_memdev_read(NvmeCtrl *n, NvmeNamespace *ns, uint64_t offset,
                      hwaddr addr, hwaddr len)
{
    NvmeRamRange *range = nvme_ram_find(n, addr, len);
    NvmeMemdev *m = range ? begin_copy(ns, offset, len, false) : NULL;

    if (!m) {
        return false;
    }
    copy(m, offset, range->cache.ptr + (addr - range->base), len, false);
    address_space_cache_invalidate(&range->cache, addr - range->base, len);
    account(m->stats, len, BLOCK_ACCT_READ);
    end_copy(ns);
    return true;
}

bool nvme_memdev_write(NvmeCtrl *n, NvmeNamespace *ns, uint64_t offset,
                       hwaddr addr, hwaddr len)
{
    NvmeRamRange *range = nvme_ram_find(n, addr, len);
    NvmeMemdev *m = range ? begin_copy(ns, offset, len, true) : NULL;

    if (!m) {
        return false;
    }
    copy(m, offset, range->cache.ptr + (addr - range->base), len, true);
    note_written(ns, offset + len);
    account(m->stats, len, BLOCK_ACCT_WRITE);
    end_write(ns, offset, len);
    return true;
}

bool nvme_memdev_read_iov(NvmeNamespace *ns, uint64_t offset,
                          QEMUIOVector *iov)
{
    NvmeMemdev *m = begin_copy(ns, offset, iov->size, false);

    if (m) {
        copy_iov(m, offset, iov, false);
        end_copy(ns);
    }
    return m;
}

bool nvme_memdev_write_iov(NvmeNamespace *ns, uint64_t offset,
                           QEMUIOVector *iov)
{
    NvmeMemdev *m = begin_copy(ns, offset, iov->size, true);

    if (m) {
        copy_iov(m, offset, iov, true);
        note_written(ns, offset + iov->size);
        end_write(ns, offset, iov->size);
    }
    return m;
}
