/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: memory that the controller can reach. Behind an IOMMU any memory
 * will do. Without one it is addressed physically, which only huge pages are
 * good for: they stay where they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "caller.h"
#include "dma.h"
#include "nvme.h"

#define HUGE_SHIFT  21
#define HUGE_SIZE   ((size_t)1 << HUGE_SHIFT)

/* An entry of /proc/self/pagemap. */
#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_PFN     ((UINT64_C(1) << 55) - 1)

uint64_t cintio_physical(const void *addr)
{
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    off_t at = (uintptr_t)addr / NVME_PAGE * sizeof(uint64_t);
    uint64_t entry = 0;
    ssize_t got;

    if (fd < 0) {
        return 0;
    }
    got = pread(fd, &entry, sizeof(entry), at);
    close(fd);
    if (got != sizeof(entry) || !(entry & PAGEMAP_PRESENT)) {
        return 0;
    }
    return (entry & PAGEMAP_PFN) * NVME_PAGE +
           (uintptr_t)addr % NVME_PAGE;
}

static size_t round_up(size_t len, size_t unit)
{
    return (len + unit - 1) / unit * unit;
}

int cintio_open_pages(struct cintio *dev, struct cintio_error *err)
{
    dev->pages = memfd_create("cintio", MFD_CLOEXEC | MFD_HUGETLB |
                              HUGE_SHIFT << 26);
    return dev->pages >= 0 ? 0 :
        cintio_fail(err, -errno, "%s: no huge pages of 2 MiB, which a "
                    "controller without IOMMU needs: %s (CONFIG_HUGETLBFS)",
                    dev->info.address, strerror(errno));
}

/*
 * IOMMU: VFIO keeps the pages as long as the controller reaches them. Else only
 * the process does, and when it is killed its memory goes before its files do,
 * so that somebody else's pages would be written to until VFIO has stopped the
 * controller. Pages of a file stay as long as the file, see vfio.c.
 */
static void *get_pages(size_t len, int flags, int fd, uint64_t offset)
{
    void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_POPULATE | flags,
                    fd, offset);

    if (at == MAP_FAILED) {
        return NULL;
    }
    /* a child would make the next store here go to a copy of the page */
    madvise(at, len, MADV_DONTFORK);
    return at;
}

static int get_file_pages(struct cintio *dev, size_t len,
                          struct cintio_mem *mem, struct cintio_error *err)
{
    mem->len = round_up(len, HUGE_SIZE);
    mem->offset = atomic_fetch_add(&dev->pages_end, mem->len);
    mem->of_file = true;
    mem->addr = get_pages(mem->len, MAP_SHARED, dev->pages, mem->offset);
    return mem->addr ? 0 :
        cintio_fail(err, -ENOMEM, "%s: no %zu huge pages of 2 MiB, which a "
                    "controller without IOMMU needs: echo 64 > "
                    "/proc/sys/vm/nr_hugepages", dev->info.address,
                    mem->len / HUGE_SIZE);
}

static int get_memory(struct cintio *dev, size_t len, struct cintio_mem *mem,
                      struct cintio_error *err)
{
    int private = MAP_PRIVATE | MAP_ANONYMOUS;

    if (dev->needs_huge_pages) {
        return get_file_pages(dev, len, mem, err);
    }
    if (len >= HUGE_SIZE) {
        mem->len = round_up(len, HUGE_SIZE);
        mem->addr = get_pages(mem->len, private | MAP_HUGETLB |
                              HUGE_SHIFT << 26, -1, 0);
    }
    if (!mem->addr) {
        mem->len = round_up(len, NVME_PAGE);
        mem->addr = get_pages(mem->len, private, -1, 0);
    }
    if (!mem->addr) {
        return cintio_fail(err, -ENOMEM, "%s: no memory: %zu bytes",
                           dev->info.address, len);
    }
    return 0;
}

/* A child has none of it: what it has at the same address is something else. */
static void let_go(struct cintio *dev, struct cintio_mem *mem)
{
    if (!mem->addr || mem->foreign || dev->inherited) {
        return;
    }
    munmap(mem->addr, mem->len);
    /* which is closed already where nothing was sure to stop before */
    if (mem->of_file && dev->pages >= 0) {
        fallocate(dev->pages, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  mem->offset, mem->len);
    }
}

int cintio_alloc(struct cintio *dev, size_t len, struct cintio_mem **out,
                 struct cintio_error *err)
{
    struct cintio_mem *mem = calloc(1, sizeof(*mem));
    int ret;

    if (!mem || !len) {
        free(mem);
        return cintio_fail(err, len ? -ENOMEM : -EINVAL,
                           len ? "out of memory" : "memory of no bytes");
    }
    mem->space = dev->space;
    ret = get_memory(dev, len, mem, err);
    if (!ret) {
        ret = dev->ops->map(dev, mem, err);
    }
    if (ret) {
        let_go(dev, mem);
        free(mem);
        return ret;
    }
    *out = mem;
    return 0;
}

int cintio_map(struct cintio *dev, void *addr, size_t len,
               struct cintio_mem **out, struct cintio_error *err)
{
    struct cintio_mem *mem;
    int ret;

    if (dev->needs_huge_pages) {
        return cintio_fail(err, -ENOTSUP, "%s has no IOMMU: it reaches only "
                           "what cintio_alloc() returns", dev->info.address);
    }
    if (!len || ((uintptr_t)addr | len) % NVME_PAGE) {
        return cintio_fail(err, -EINVAL, "memory to map must begin and end at "
                           "a multiple of %u", NVME_PAGE);
    }
    mem = calloc(1, sizeof(*mem));
    if (!mem) {
        return cintio_fail(err, -ENOMEM, "out of memory");
    }
    *mem = (struct cintio_mem) {
        .addr = addr, .len = len, .foreign = true, .space = dev->space,
    };
    ret = dev->ops->map(dev, mem, err);
    if (ret) {
        free(mem);
        return ret;
    }
    *out = mem;
    return 0;
}

void *cintio_mem_addr(const struct cintio_mem *mem)
{
    return mem->addr;
}

size_t cintio_mem_len(const struct cintio_mem *mem)
{
    return mem->len;
}

static void release(struct cintio *dev, struct cintio_mem *mem)
{
    let_go(dev, mem);
    free(mem->pages);
    free(mem);
}

/* Any thread may give memory back, and with or without the lock. */
static void keep(struct cintio *dev, struct cintio_mem *mem)
{
    mem->next = atomic_load(&dev->kept);
    while (!atomic_compare_exchange_weak(&dev->kept, &mem->next, mem)) {
        continue;
    }
}

static void give_back(struct cintio *dev, struct cintio_mem *mem, bool used)
{
    if (!mem) {
        return;
    }
    /* the caller's own cannot be kept; there is an IOMMU, which confines */
    if (used && !mem->foreign) {
        keep(dev, mem);
        return;
    }
    dev->ops->unmap(dev, mem);
    release(dev, mem);
}

void cintio_free(struct cintio *dev, struct cintio_mem *mem)
{
    give_back(dev, mem, atomic_load(&dev->running) || atomic_load(&dev->held));
}

void cintio_free_ring(struct cintio *dev, struct cintio_mem *mem)
{
    give_back(dev, mem, atomic_load(&dev->running));
}

void cintio_free_kept(struct cintio *dev)
{
    /* taken before the look: what comes later is of queues destroyed later */
    struct cintio_mem *mem = atomic_exchange(&dev->kept, NULL), *next;

    for (; mem; mem = next) {
        next = mem->next;
        cintio_free(dev, mem);
    }
}
