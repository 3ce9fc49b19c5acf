/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: the kernel's side: vfio-pci hands out registers, memory mappings and
 * interrupts. The container interface is used, which also knows controllers
 * without an IOMMU.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define CONTAINER   "/dev/vfio/vfio"
#define SYSFS       "/sys/bus/pci/devices/"
#define NOIOMMU_ON  "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"
#define MAX_VECTORS (CINTIO_MAX_QUEUES + 1)

struct vfio {
    struct cintio *dev;
    struct vfio *next;              /* of those that are open */
    int container, group, device;
    bool iommu;
    pthread_mutex_t lock;           /* of the places */
    struct cintio_places places;
};

/* --- children ------------------------------------------------------------ */

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct vfio *all_open;       /* under open_lock */

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

/*
 * The device first: its release stops the controller, and is over when close(2)
 * returns. Then what the controller could reach may go.
 */
static void close_all(struct vfio *vfio)
{
    close_fd(&vfio->device);
    close_fd(&vfio->group);
    close_fd(&vfio->container);
    close_fd(&vfio->dev->pages);
    close_fd(&vfio->dev->removal);
}

static void before_fork(void)
{
    pthread_mutex_lock(&open_lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&open_lock);
}

/* A child that had the device's files would keep it going by itself. */
static void in_child(void)
{
    for (struct vfio *vfio = all_open; vfio; vfio = vfio->next) {
        close_all(vfio);
        vfio->dev->inherited = true;
        vfio->dev->bar = NULL;      /* it was not mapped there */
        /* a thread that is not here may have had it */
        pthread_mutex_init(&vfio->lock, NULL);
    }
    pthread_mutex_unlock(&open_lock);
}

static void handle_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

/* Whoever opens or closes files holds it: a child knows of all, or of none. */
static void lock_files(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, handle_forks);
    pthread_mutex_lock(&open_lock);
}

static void enlist(struct vfio *vfio)
{
    vfio->next = all_open;
    all_open = vfio;
}

static void delist(struct vfio *vfio)
{
    struct vfio **at = &all_open;

    while (*at && *at != vfio) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = vfio->next;
    }
}

/* --- finding the device ------------------------------------------------- */

/* The last part of a link in the device's directory, or an empty string. */
static void read_link(const char *address, const char *name, char *out,
                      size_t len)
{
    char path[PATH_MAX], target[PATH_MAX];
    const char *last;
    ssize_t n;

    snprintf(path, sizeof(path), SYSFS "%s/%s", address, name);
    n = readlink(path, target, sizeof(target) - 1);
    if (n < 0) {
        *out = '\0';
        return;
    }
    target[n] = '\0';
    last = strrchr(target, '/');
    snprintf(out, len, "%.*s", (int)len - 1, last ? last + 1 : target);
}

static int check_driver(const char *address, struct cintio_error *err)
{
    char driver[64];
    int ret = cintio_check_class(address, err);

    if (ret) {
        return ret;
    }
    read_link(address, "driver", driver, sizeof(driver));
    if (!strcmp(driver, "vfio-pci")) {
        return 0;
    }
    if (access(CONTAINER, F_OK)) {
        return cintio_fail(err, -ENOENT, "there is no " CONTAINER ": the "
                           "kernel has no VFIO, or vfio-pci is not loaded");
    }
    return cintio_fail(err, -EBUSY, "%s has %s%s, not vfio-pci: cintio bind %s",
                       address, *driver ? "the kernel's driver " : "no driver",
                       driver, address);
}

static int open_group(struct vfio *vfio, const char *address,
                      struct cintio_error *err)
{
    char group[32], path[64], name[64] = "";
    FILE *file;

    read_link(address, "iommu_group", group, sizeof(group));
    snprintf(path, sizeof(path), "/sys/kernel/iommu_groups/%.20s/name", group);
    file = fopen(path, "r");
    if (file) {
        (void)!fgets(name, sizeof(name), file);
        fclose(file);
    }
    vfio->iommu = *group && strncmp(name, "vfio-noiommu", 12);
    if (!*group) {
        return cintio_fail(err, -ENOENT, "%s has no IOMMU; the kernel may "
                           "allow VFIO without one: echo 1 > " NOIOMMU_ON
                           " before vfio-pci takes it", address);
    }
    snprintf(path, sizeof(path), "/dev/vfio/%s%.20s",
             vfio->iommu ? "" : "noiommu-", group);
    vfio->group = open(path, O_RDWR | O_CLOEXEC);
    if (vfio->group >= 0) {
        return 0;
    }
    switch (errno) {
    case EBUSY:
        return cintio_fail(err, -EBUSY, "another process has %s (%s)", address,
                           path);
    case EACCES:
        return cintio_fail(err, -EACCES, "no permission to open %s: be its "
                           "owner, or root", path);
    case EPERM:
        return cintio_fail(err, -EPERM, "%s without an IOMMU needs "
                           "CAP_SYS_RAWIO", path);
    default:
        return cintio_fail(err, -errno, "%s: %s", path, strerror(errno));
    }
}

static int open_container(struct vfio *vfio, struct cintio_error *err)
{
    vfio->container = open(CONTAINER, O_RDWR | O_CLOEXEC);
    if (vfio->container < 0 && errno == EACCES) {
        return cintio_fail(err, -EACCES, "no permission to open " CONTAINER);
    }
    if (vfio->container < 0) {
        return cintio_fail(err, -errno, CONTAINER ": %s", strerror(errno));
    }
    if (ioctl(vfio->container, VFIO_GET_API_VERSION) != VFIO_API_VERSION) {
        return cintio_fail(err, -ENOTSUP, CONTAINER " speaks another version");
    }
    return 0;
}

/*
 * Of a process that is killed the kernel closes the files in the order of their
 * numbers, and lets go of them in the opposite order: with the higher number
 * the device is let go of first, which stops it, then the pages it could reach.
 */
static int put_behind(int *fd, int other, struct cintio_error *err)
{
    int moved = *fd > other ? *fd : fcntl(*fd, F_DUPFD_CLOEXEC, other + 1);

    if (moved < 0) {
        return cintio_fail(err, -errno, "no file number beyond %d: %s", other,
                           strerror(errno));
    }
    if (moved != *fd) {
        close(*fd);
        *fd = moved;
    }
    return 0;
}

static int join(struct vfio *vfio, const char *address,
                struct cintio_error *err)
{
    struct vfio_group_status status = { .argsz = sizeof(status) };
    int type = vfio->iommu ? VFIO_TYPE1v2_IOMMU : VFIO_NOIOMMU_IOMMU;

    if (ioctl(vfio->group, VFIO_GROUP_GET_STATUS, &status)) {
        return cintio_fail(err, -errno, "the group of %s: %s", address,
                           strerror(errno));
    }
    if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE)) {
        return cintio_fail(err, -EBUSY, "a device of the same IOMMU group as "
                           "%s still has a kernel driver: bind it too",
                           address);
    }
    if (ioctl(vfio->group, VFIO_GROUP_SET_CONTAINER, &vfio->container)) {
        return cintio_fail(err, -errno, "VFIO container of %s: %s", address,
                           strerror(errno));
    }
    if (ioctl(vfio->container, VFIO_SET_IOMMU, type)) {
        return errno == EPERM && vfio->iommu ?
            cintio_fail(err, -EPERM, "%s: the IOMMU does not remap interrupts, "
                        "and VFIO takes it for unsafe "
                        "(allow_unsafe_interrupts)", address) :
            cintio_fail(err, -errno, "VFIO IOMMU of %s: %s", address,
                        strerror(errno));
    }
    vfio->device = ioctl(vfio->group, VFIO_GROUP_GET_DEVICE_FD, address);
    if (vfio->device < 0) {
        return cintio_fail(err, -errno, "VFIO device %s: %s", address,
                           strerror(errno));
    }
    return put_behind(&vfio->device, vfio->dev->pages, err);
}

/* --- registers ---------------------------------------------------------- */

static int map_bar(struct cintio *dev, const char *address,
                   struct cintio_error *err)
{
    struct vfio *vfio = dev->carrier;
    struct vfio_region_info info = {
        .argsz = sizeof(info), .index = VFIO_PCI_BAR0_REGION_INDEX,
    };
    void *bar;

    if (ioctl(vfio->device, VFIO_DEVICE_GET_REGION_INFO, &info)) {
        return cintio_fail(err, -errno, "BAR0 of %s: %s", address,
                           strerror(errno));
    }
    if (!(info.flags & VFIO_REGION_INFO_FLAG_MMAP) || info.size < 0x2000) {
        return cintio_fail(err, -ENOTSUP, "BAR0 of %s (%llu bytes) cannot be "
                           "mapped", address, (unsigned long long)info.size);
    }
    bar = mmap(NULL, info.size, PROT_READ | PROT_WRITE, MAP_SHARED,
               vfio->device, info.offset);
    if (bar == MAP_FAILED) {
        return cintio_fail(err, -errno, "mmap of BAR0 of %s: %s", address,
                           strerror(errno));
    }
    /* a mapping in a child would keep the device open */
    madvise(bar, info.size, MADV_DONTFORK);
    dev->bar = bar;
    dev->bar_size = info.size;
    return 0;
}

static int enable_dma(struct vfio *vfio, const char *address,
                      struct cintio_error *err)
{
    struct vfio_region_info info = {
        .argsz = sizeof(info), .index = VFIO_PCI_CONFIG_REGION_INDEX,
    };
    uint16_t command;

    if (ioctl(vfio->device, VFIO_DEVICE_GET_REGION_INFO, &info) ||
        pread(vfio->device, &command, 2, info.offset + PCI_COMMAND) != 2) {
        return cintio_fail(err, -EIO, "configuration space of %s: %s", address,
                           strerror(errno));
    }
    command |= PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
    if (pwrite(vfio->device, &command, 2, info.offset + PCI_COMMAND) != 2) {
        return cintio_fail(err, -EIO, "%s cannot be made a bus master: %s",
                           address, strerror(errno));
    }
    return 0;
}

/* --- interrupts --------------------------------------------------------- */

/* 0; the number of vectors that there are, if it is less than @count; -errno */
static int set_irqs(struct vfio *vfio, unsigned int index, unsigned int start,
                    unsigned int count, const int32_t *fds)
{
    size_t len = sizeof(struct vfio_irq_set) + count * sizeof(*fds);
    struct vfio_irq_set *set = calloc(1, len);
    int ret;

    if (!set) {
        return -ENOMEM;
    }
    *set = (struct vfio_irq_set) {
        .argsz = len, .index = index, .start = start, .count = count,
        .flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
    };
    memcpy(set->data, fds, count * sizeof(*fds));
    ret = ioctl(vfio->device, VFIO_DEVICE_SET_IRQS, set);
    ret = ret < 0 ? -errno : ret;
    free(set);
    return ret;
}

/* As many vectors as there may be queues, all without an eventfd at first. */
static int enable_vectors(struct cintio *dev, unsigned int wanted,
                          struct cintio_error *err)
{
    struct vfio *vfio = dev->carrier;
    struct vfio_irq_info info = {
        .argsz = sizeof(info), .index = VFIO_PCI_MSIX_IRQ_INDEX,
    };
    int32_t fds[MAX_VECTORS];
    int ret;

    if (ioctl(vfio->device, VFIO_DEVICE_GET_IRQ_INFO, &info) ||
        !info.count) {
        return cintio_fail(err, -ENOTSUP, "%s has no MSI-X vectors",
                           dev->info.address);
    }
    dev->vectors = info.count < wanted ? info.count : wanted;
    for (unsigned int i = 0; i < dev->vectors; i++) {
        fds[i] = -1;
    }
    ret = set_irqs(vfio, VFIO_PCI_MSIX_IRQ_INDEX, 0, dev->vectors, fds);
    if (ret > 0) {
        /* the kernel has no more of them, and enabled none */
        dev->vectors = (unsigned int)ret < dev->vectors ? ret : 1;
        ret = set_irqs(vfio, VFIO_PCI_MSIX_IRQ_INDEX, 0, dev->vectors, fds);
    }
    ret = ret > 0 ? -ENOSPC : ret;
    return ret ? cintio_fail(err, ret, "%u MSI-X vectors of %s: %s",
                             dev->vectors, dev->info.address, strerror(-ret))
               : 0;
}

static int vfio_notify(struct cintio *dev, unsigned int vector, int fd,
                       struct cintio_error *err)
{
    int32_t one = fd;
    int ret = set_irqs(dev->carrier, VFIO_PCI_MSIX_IRQ_INDEX, vector, 1, &one);

    ret = ret > 0 ? -ENOSPC : ret;
    return ret ? cintio_fail(err, ret, "interrupt vector %u of %s: %s", vector,
                             dev->info.address, strerror(-ret)) : 0;
}

/* The kernel can say that it wants the device back, where it knows how. */
static void watch_for_removal(struct cintio *dev)
{
    int32_t fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (fd >= 0 && set_irqs(dev->carrier, VFIO_PCI_REQ_IRQ_INDEX, 0, 1, &fd)) {
        close(fd);
        fd = -1;
    }
    dev->removal = fd;
}

/* --- memory ------------------------------------------------------------- */

/*
 * What lies in a BAR, its own or another device's, need not go by the IOMMU:
 * QEMU's controller refuses such an address, and a switch may route to it.
 */
static void keep_bars_clear(struct vfio *vfio)
{
    unsigned long long start, end, flags;
    DIR *devices = opendir(SYSFS);
    struct dirent *entry;
    char path[PATH_MAX];
    FILE *file;

    while (devices && (entry = readdir(devices))) {
        snprintf(path, sizeof(path), SYSFS "%s/resource", entry->d_name);
        file = *entry->d_name == '.' ? NULL : fopen(path, "r");
        while (file && fscanf(file, "%llx %llx %llx", &start, &end,
                              &flags) == 3) {
            cintio_place_keep_clear(&vfio->places, start, end);
        }
        if (file) {
            fclose(file);
        }
    }
    if (devices) {
        closedir(devices);
    }
}

static int map_iommu(struct vfio *vfio, struct cintio_mem *mem,
                     struct cintio_error *err)
{
    struct vfio_iommu_type1_dma_map map = {
        .argsz = sizeof(map),
        .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
        .vaddr = (uintptr_t)mem->addr, .size = mem->len,
    };
    int ret = cintio_place_find(&vfio->places, mem->len, &mem->iova);

    if (ret) {
        return cintio_fail(err, ret, "more than %u pieces of memory",
                           CINTIO_MAX_MAPS);
    }
    map.iova = mem->iova;
    if (!ioctl(vfio->container, VFIO_IOMMU_MAP_DMA, &map)) {
        return 0;
    }
    ret = -errno;
    cintio_place_leave(&vfio->places, mem->iova);
    return ret == -ENOMEM ?
        cintio_fail(err, ret, "%zu bytes cannot be locked in memory: raise "
                    "RLIMIT_MEMLOCK (ulimit -l)", mem->len) :
        ret == -ENOSPC ?
        cintio_fail(err, ret, "the kernel maps no more pieces of memory: raise "
                    "vfio_iommu_type1's dma_entry_limit") :
        cintio_fail(err, ret, "%zu bytes cannot be mapped for DMA: %s",
                    mem->len, strerror(-ret));
}

/* Physical addresses: those of the huge pages that the memory consists of. */
static int map_physical(struct cintio_mem *mem, struct cintio_error *err)
{
    size_t n;

    mem->shift = 21;
    n = mem->len >> mem->shift;
    mem->pages = calloc(n, sizeof(*mem->pages));
    if (!mem->pages || mlock(mem->addr, mem->len)) {
        return cintio_fail(err, -ENOMEM, "%zu bytes cannot be locked in "
                           "memory: raise RLIMIT_MEMLOCK (ulimit -l)",
                           mem->len);
    }
    for (size_t i = 0; i < n; i++) {
        const uint8_t *at = (uint8_t *)mem->addr + (i << mem->shift);

        mem->pages[i] = cintio_physical(at);
        if (!mem->pages[i]) {
            return cintio_fail(err, -EPERM, "/proc/self/pagemap does not tell "
                               "physical addresses: CAP_SYS_ADMIN is needed, "
                               "and CONFIG_PROC_PAGE_MONITOR");
        }
    }
    return 0;
}

static int vfio_map(struct cintio *dev, struct cintio_mem *mem,
                    struct cintio_error *err)
{
    struct vfio *vfio = dev->carrier;
    int ret;

    if (!vfio->iommu) {
        ret = map_physical(mem, err);
        if (ret) {
            free(mem->pages);
        }
        return ret;
    }
    pthread_mutex_lock(&vfio->lock);
    ret = map_iommu(vfio, mem, err);
    pthread_mutex_unlock(&vfio->lock);
    return ret;
}

static void vfio_unmap(struct cintio *dev, struct cintio_mem *mem)
{
    struct vfio *vfio = dev->carrier;
    struct vfio_iommu_type1_dma_unmap unmap = {
        .argsz = sizeof(unmap), .iova = mem->iova, .size = mem->len,
    };

    if (dev->inherited) {
        return;
    }
    if (!vfio->iommu) {
        munlock(mem->addr, mem->len);
        return;
    }
    pthread_mutex_lock(&vfio->lock);
    ioctl(vfio->container, VFIO_IOMMU_UNMAP_DMA, &unmap);
    cintio_place_leave(&vfio->places, mem->iova);
    pthread_mutex_unlock(&vfio->lock);
}

/* --- open and close ----------------------------------------------------- */

static void vfio_close(struct cintio *dev)
{
    struct vfio *vfio = dev->carrier;

    if (dev->bar) {
        munmap(dev->bar, dev->bar_size);
    }
    lock_files();
    delist(vfio);
    close_all(vfio);
    pthread_mutex_unlock(&open_lock);
    pthread_mutex_destroy(&vfio->lock);
    free(vfio);
}

static const struct cintio_ops vfio_ops = {
    .map = vfio_map,
    .unmap = vfio_unmap,
    .notify = vfio_notify,
    .close = vfio_close,
};

static int attach(struct cintio *dev, const char *address, unsigned int queues,
                  struct cintio_error *err)
{
    struct vfio *vfio = dev->carrier;
    int ret = check_driver(address, err);

    ret = ret ? ret : open_container(vfio, err);
    ret = ret ? ret : open_group(vfio, address, err);
    if (!ret && !vfio->iommu) {
        ret = cintio_open_pages(dev, err);
    }
    ret = ret ? ret : join(vfio, address, err);
    ret = ret ? ret : map_bar(dev, address, err);
    ret = ret ? ret : enable_dma(vfio, address, err);
    if (ret) {
        return ret;
    }
    dev->needs_huge_pages = !vfio->iommu;
    dev->info.iommu = vfio->iommu;
    keep_bars_clear(vfio);
    watch_for_removal(dev);
    return enable_vectors(dev, queues < MAX_VECTORS ? queues + 1 : MAX_VECTORS,
                          err);
}

static struct cintio *new_device(void)
{
    struct cintio *dev = calloc(1, sizeof(*dev));
    struct vfio *vfio = calloc(1, sizeof(*vfio));

    if (!dev || !vfio) {
        free(dev);
        free(vfio);
        return NULL;
    }
    dev->ops = &vfio_ops;
    dev->carrier = vfio;
    dev->removal = dev->pages = -1;
    vfio->dev = dev;
    vfio->container = vfio->group = vfio->device = -1;
    pthread_mutex_init(&vfio->lock, NULL);
    return dev;
}

int cintio_open(const char *address, const struct cintio_options *options,
                struct cintio **out, struct cintio_error *err)
{
    unsigned int queues = options && options->queues ? options->queues : 8;
    struct cintio *dev = new_device();
    int ret;

    if (!dev) {
        return cintio_fail(err, -ENOMEM, "out of memory");
    }
    snprintf(dev->info.address, sizeof(dev->info.address), "%s", address);
    lock_files();
    enlist(dev->carrier);
    ret = attach(dev, address, queues, err);
    pthread_mutex_unlock(&open_lock);
    if (!ret) {
        ret = cintio_start(dev, address, options, err);
    }
    if (ret) {
        cintio_close(dev);
        return ret;
    }
    *out = dev;
    return 0;
}
