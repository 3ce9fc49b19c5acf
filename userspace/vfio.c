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

#include "caller.h"
#include "controller.h"
#include "device.h"
#include "dma.h"
#include "places.h"
#include "users.h"

#define CONTAINER   "/dev/vfio/vfio"
#define SYSFS       "/sys/bus/pci/devices/"
#define NOIOMMU_ON  "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"
#define MAX_VECTORS (CINTIO_MAX_QUEUES + 1)

/*
 * What the kernel gives to one process at a time: all functions of an IOMMU
 * group, which have one address space. Those that the process drives share it.
 */
struct vfio_group {
    char path[64];
    bool iommu;
    int fd, container;
    unsigned int users;
    pthread_mutex_t lock;           /* of the places */
    struct cintio_places places;
    struct vfio_group *next;
};

struct vfio {
    struct cintio *dev;
    struct vfio_group *group;
    int device;
    struct vfio *next;              /* of those that are open */
};

/* Of this process. The lock is that of both lists, and of a group's users. */
static struct vfio_group *groups;
static struct vfio *all_open;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- children ------------------------------------------------------------ */

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

static void close_device(struct vfio *vfio)
{
    close_fd(&vfio->device);
    close_fd(&vfio->dev->pages);
    close_fd(&vfio->dev->removal);
}

static void close_group(struct vfio_group *group)
{
    close_fd(&group->fd);
    close_fd(&group->container);
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
        close_device(vfio);
        vfio->dev->inherited = true;
        vfio->dev->bar = NULL;      /* it was not mapped there */
    }
    for (struct vfio_group *group = groups; group; group = group->next) {
        close_group(group);
        group->path[0] = '\0';      /* nor is it one that can be joined */
        /* a thread that is not here may have had it */
        pthread_mutex_init(&group->lock, NULL);
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

/*
 * What lies in a BAR, its own or another device's, need not go by the IOMMU:
 * QEMU's controller refuses such an address, and a switch may route to it.
 */
static void keep_bars_clear(struct vfio_group *group)
{
    unsigned long long start, end, flags;
    DIR *devices = opendir(SYSFS);
    struct dirent *entry;
    char path[PATH_MAX];
    FILE *file;

    while (devices && (entry = readdir(devices))) {
        snprintf(path, sizeof(path), SYSFS "%s/resource", entry->d_name);
        file = *entry->d_name == '.' ? NULL : fopen(path, "re");
        while (file && fscanf(file, "%llx %llx %llx", &start, &end,
                              &flags) == 3) {
            cintio_place_keep_clear(&group->places, start, end);
        }
        if (file) {
            fclose(file);
        }
    }
    if (devices) {
        closedir(devices);
    }
}

/* Its path, and whether an IOMMU is behind it. */
static int name_group(struct vfio_group *group, const char *address,
                      struct cintio_error *err)
{
    char number[32], path[64], name[64] = "";
    FILE *file;

    read_link(address, "iommu_group", number, sizeof(number));
    if (!*number) {
        return cintio_fail(err, -ENOENT, "%s has no IOMMU; the kernel may "
                           "allow VFIO without one: echo 1 > " NOIOMMU_ON
                           " before vfio-pci takes it", address);
    }
    snprintf(path, sizeof(path), "/sys/kernel/iommu_groups/%.20s/name", number);
    file = fopen(path, "re");
    if (file) {
        (void)!fgets(name, sizeof(name), file);
        fclose(file);
    }
    group->iommu = strncmp(name, "vfio-noiommu", 12);
    snprintf(group->path, sizeof(group->path), "/dev/vfio/%s%.20s",
             group->iommu ? "" : "noiommu-", number);
    return 0;
}

static int open_group(struct vfio_group *group, const char *address,
                      struct cintio_error *err)
{
    const char *path = group->path;

    group->fd = open(path, O_RDWR | O_CLOEXEC);
    if (group->fd >= 0) {
        return 0;
    }
    switch (errno) {
    case EBUSY:
        return cintio_fail(err, -EBUSY, "another process has %s, or a function "
                           "of the same IOMMU group (%s)", address, path);
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

static int open_container(struct vfio_group *group, struct cintio_error *err)
{
    group->container = open(CONTAINER, O_RDWR | O_CLOEXEC);
    if (group->container < 0 && errno == EACCES) {
        return cintio_fail(err, -EACCES, "no permission to open " CONTAINER);
    }
    if (group->container < 0) {
        return cintio_fail(err, -errno, CONTAINER ": %s", strerror(errno));
    }
    if (ioctl(group->container, VFIO_GET_API_VERSION) != VFIO_API_VERSION) {
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

static int join(struct vfio_group *group, const char *address,
                struct cintio_error *err)
{
    struct vfio_group_status status = { .argsz = sizeof(status) };
    int type = group->iommu ? VFIO_TYPE1v2_IOMMU : VFIO_NOIOMMU_IOMMU;

    if (ioctl(group->fd, VFIO_GROUP_GET_STATUS, &status)) {
        return cintio_fail(err, -errno, "the group of %s: %s", address,
                           strerror(errno));
    }
    if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE)) {
        return cintio_fail(err, -EBUSY, "a device of the same IOMMU group as "
                           "%s still has a kernel driver: bind it too",
                           address);
    }
    if (ioctl(group->fd, VFIO_GROUP_SET_CONTAINER, &group->container)) {
        return cintio_fail(err, -errno, "VFIO container of %s: %s", address,
                           strerror(errno));
    }
    if (ioctl(group->container, VFIO_SET_IOMMU, type)) {
        return errno == EPERM && group->iommu ?
            cintio_fail(err, -EPERM, "%s: the IOMMU does not remap interrupts, "
                        "and VFIO takes it for unsafe "
                        "(allow_unsafe_interrupts)", address) :
            cintio_fail(err, -errno, "VFIO IOMMU of %s: %s", address,
                        strerror(errno));
    }
    return 0;
}

static void free_group(struct vfio_group *group)
{
    close_group(group);
    pthread_mutex_destroy(&group->lock);
    free(group);
}

/* The process's own, or a new one, which is in no list yet. */
static int find_group(const char *address, struct vfio_group **out,
                      struct cintio_error *err)
{
    struct vfio_group *group = calloc(1, sizeof(*group)), *old;
    int ret;

    if (!group) {
        return cintio_fail(err, -ENOMEM, "out of memory");
    }
    group->fd = group->container = -1;
    pthread_mutex_init(&group->lock, NULL);
    ret = name_group(group, address, err);
    for (old = ret ? NULL : groups; old; old = old->next) {
        if (!strcmp(old->path, group->path)) {
            free_group(group);
            *out = old;
            return 0;
        }
    }
    ret = ret ? ret : open_container(group, err);
    ret = ret ? ret : open_group(group, address, err);
    ret = ret ? ret : join(group, address, err);
    if (ret) {
        free_group(group);
        return ret;
    }
    keep_bars_clear(group);
    *out = group;
    return 0;
}

static int open_device(struct vfio *vfio, const char *address,
                       struct cintio_error *err)
{
    int ret = vfio->group->iommu ? 0 : cintio_open_pages(vfio->dev, err);

    if (ret) {
        return ret;
    }
    vfio->device = ioctl(vfio->group->fd, VFIO_GROUP_GET_DEVICE_FD, address);
    if (vfio->device < 0) {
        return cintio_fail(err, -errno, "VFIO device %s: %s", address,
                           strerror(errno));
    }
    return put_behind(&vfio->device, vfio->dev->pages, err);
}

/* One user more, until vfio_release(); the lock is held. */
static int get_device(struct vfio *vfio, const char *address,
                      struct cintio_error *err)
{
    int ret = find_group(address, &vfio->group, err);

    if (ret) {
        return ret;
    }
    if (!vfio->group->users++) {
        vfio->group->next = groups;
        groups = vfio->group;
    }
    return open_device(vfio, address, err);
}

/* The last one takes the group with it, and all mappings. */
static void put_group(struct vfio_group *group)
{
    struct vfio_group **at = &groups;

    lock_files();
    if (!--group->users) {
        while (*at != group) {
            at = &(*at)->next;
        }
        *at = group->next;
        free_group(group);
    }
    pthread_mutex_unlock(&open_lock);
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

static int map_iommu(struct vfio_group *group, struct cintio_mem *mem,
                     struct cintio_error *err)
{
    struct vfio_iommu_type1_dma_map map = {
        .argsz = sizeof(map),
        .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
        .vaddr = (uintptr_t)mem->addr, .size = mem->len,
    };
    int ret = cintio_place_find(&group->places, mem->len, &mem->iova);

    if (ret) {
        return cintio_fail(err, ret, "more than %u pieces of memory",
                           CINTIO_MAX_MAPS);
    }
    map.iova = mem->iova;
    if (!ioctl(group->container, VFIO_IOMMU_MAP_DMA, &map)) {
        return 0;
    }
    ret = -errno;
    cintio_place_leave(&group->places, mem->iova);
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
    struct vfio_group *group = ((struct vfio *)dev->carrier)->group;
    int ret;

    if (!group->iommu) {
        ret = map_physical(mem, err);
        if (ret) {
            free(mem->pages);
        }
        return ret;
    }
    pthread_mutex_lock(&group->lock);
    ret = map_iommu(group, mem, err);
    pthread_mutex_unlock(&group->lock);
    return ret;
}

static void vfio_unmap(struct cintio *dev, struct cintio_mem *mem)
{
    struct vfio_group *group = ((struct vfio *)dev->carrier)->group;
    struct vfio_iommu_type1_dma_unmap unmap = {
        .argsz = sizeof(unmap), .iova = mem->iova, .size = mem->len,
    };

    if (dev->inherited) {
        return;
    }
    if (!group->iommu) {
        munlock(mem->addr, mem->len);
        return;
    }
    pthread_mutex_lock(&group->lock);
    ioctl(group->container, VFIO_IOMMU_UNMAP_DMA, &unmap);
    cintio_place_leave(&group->places, mem->iova);
    pthread_mutex_unlock(&group->lock);
}

/* --- open and close ----------------------------------------------------- */

/*
 * The device: its release stops the controller, and is over when close(2)
 * returns. Then what the controller could reach may go.
 */
static void vfio_close(struct cintio *dev)
{
    struct vfio *vfio = dev->carrier;

    if (dev->bar) {
        munmap(dev->bar, dev->bar_size);
    }
    lock_files();
    delist(vfio);
    close_device(vfio);
    pthread_mutex_unlock(&open_lock);
}

static void vfio_release(struct cintio *dev)
{
    struct vfio *vfio = dev->carrier;

    if (vfio->group) {
        put_group(vfio->group);
    }
    free(vfio);
}

static const struct cintio_ops vfio_ops = {
    .map = vfio_map,
    .unmap = vfio_unmap,
    .notify = vfio_notify,
    .close = vfio_close,
    .release = vfio_release,
};

/* VFIO would let it, and the second one would reset the first one's. */
static int check_unopened(const struct vfio *vfio, const char *address,
                          struct cintio_error *err)
{
    for (const struct vfio *other = all_open; other; other = other->next) {
        if (other != vfio && !other->dev->inherited &&
            !strcmp(other->dev->info.address, address)) {
            return cintio_fail(err, -EBUSY, "this process has %s open already",
                               address);
        }
    }
    return 0;
}

static int attach(struct cintio *dev, const char *address, unsigned int queues,
                  struct cintio_error *err)
{
    struct vfio *vfio = dev->carrier;
    int ret = check_unopened(vfio, address, err);

    ret = ret ? ret : check_driver(address, err);
    ret = ret ? ret : get_device(vfio, address, err);
    ret = ret ? ret : map_bar(dev, address, err);
    ret = ret ? ret : enable_dma(vfio, address, err);
    if (ret) {
        return ret;
    }
    dev->space = vfio->group;
    dev->needs_huge_pages = !vfio->group->iommu;
    dev->info.iommu = vfio->group->iommu;
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
    vfio->device = -1;
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
