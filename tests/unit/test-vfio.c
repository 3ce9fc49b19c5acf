/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of what the user-space driver makes of VFIO's answers, where no
 * guest gives them. The file is included, and its ioctl(2) is this test's.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE     /* memfd_create() */
#endif
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int fake_ioctl(int fd, unsigned long request, ...);
static int fake_open(const char *path, int flags, ...);
static int fake_close(int fd);
static ssize_t group_link(const char *path, char *target, size_t size);

#define ioctl fake_ioctl
#define open fake_open
#define close fake_close
#define readlink group_link
#include "nvme.h"
#include "regs.h"
#include "vfio.c"
#undef ioctl
#undef open
#undef close
#undef readlink

static struct {
    unsigned there, left;       /* MSI-X vectors of the function; of the CPUs */
    unsigned enabled, calls;
    unsigned others;            /* take so many of those from call to call */
    bool deaf;                  /* the kernel has no request for the device */
    int32_t request;            /* where it says that it wants that */
} vectors;

static int set_fake_irqs(const struct vfio_irq_set *set)
{
    if (set->index == VFIO_PCI_REQ_IRQ_INDEX) {
        errno = EINVAL;
        memcpy(&vectors.request, set->data, sizeof(vectors.request));
        return vectors.deaf ? -1 : 0;
    }
    vectors.calls++;
    g_assert_cmpuint(set->index, ==, VFIO_PCI_MSIX_IRQ_INDEX);
    if (!vectors.left) {
        errno = ENOSPC;
        return -1;
    }
    if (set->start + set->count > vectors.left) {
        errno = ENOTTY;         /* of something else, long ago */
        vectors.left -= vectors.others;
        return vectors.left + vectors.others;
    }
    vectors.enabled = set->start + set->count;
    return 0;
}

static int group_ioctl(unsigned long request, void *given);
static int region_ioctl(unsigned long request, struct vfio_region_info *info);

static int fake_ioctl(int fd, unsigned long request, ...)
{
    struct vfio_irq_info *info;
    va_list ap;
    void *given;

    va_start(ap, request);
    given = va_arg(ap, void *);
    va_end(ap);
    if (fd >= 100) {
        return group_ioctl(request, given);
    }
    if (request == VFIO_DEVICE_GET_REGION_INFO) {
        return region_ioctl(request, given);
    }
    g_assert_cmpint(fd, ==, -1);
    if (request == VFIO_DEVICE_SET_IRQS) {
        return set_fake_irqs(given);
    }
    g_assert_cmpuint(request, ==, VFIO_DEVICE_GET_IRQ_INFO);
    info = given;
    info->count = vectors.there;
    return 0;
}

static void try_vectors(unsigned there, unsigned left, unsigned wanted, int ret,
                        unsigned got, unsigned calls)
{
    struct cintio *dev = new_device();
    struct cintio_error err = { "" };

    vectors.there = there;
    vectors.left = left;
    vectors.enabled = vectors.calls = 0;
    g_assert_cmpint(enable_vectors(dev, wanted, &err), ==, ret);
    g_assert_cmpuint(vectors.enabled, ==, got);
    g_assert_cmpuint(vectors.calls, ==, calls);
    if (!ret) {
        g_assert_cmpuint(dev->vectors, ==, got);
    } else {
        g_assert_nonnull(strstr(err.text, strerror(-ret)));
    }
    free(dev->carrier);
    free(dev);
}

/* A kernel that has fewer says how many, and enables none. */
static void test_few_vectors(void)
{
    try_vectors(65, 200, 9, 0, 9, 1);
    try_vectors(4, 200, 9, 0, 4, 1);
    try_vectors(65, 65, 65, 0, 65, 1);
    try_vectors(65, 30, 65, 0, 30, 2);
    try_vectors(65, 1, 65, 0, 1, 2);
    try_vectors(65, 0, 65, -ENOSPC, 0, 1);
    /* it does not try for ever */
    vectors.others = 2;
    try_vectors(65, 30, 65, -ENOSPC, 0, 2);
    vectors.others = 0;
}

/* --- groups ------------------------------------------------------------- */

/*
 * The kernel's groups: the first two functions are of one, the third has one of
 * its own. What is open is counted, and a container's mappings.
 */
static struct {
    unsigned opened, open, containers, devices, maps, next;
    const char *closed;         /* this one cannot be opened, and why */
    int why;
    unsigned long request;      /* what it refuses, with that errno */
    bool not_viable, another;   /* a group; version of the interface */
} kernel;

static ssize_t group_link(const char *path, char *target, size_t size)
{
    const char *group = strstr(path, "0000:00:05.") ? "1" : "2";

    g_assert_nonnull(strstr(path, "/iommu_group"));
    return snprintf(target, size, "../../../kernel/iommu_groups/%s", group);
}

static int fake_open(const char *path, int flags, ...)
{
    g_assert_cmpint(flags, ==, O_RDWR | O_CLOEXEC);
    if (kernel.closed && !strcmp(path, kernel.closed)) {
        errno = kernel.why;
        return -1;
    }
    kernel.opened++;
    kernel.open++;
    kernel.containers += !strcmp(path, CONTAINER);
    return 100 + kernel.next++;
}

static int fake_close(int fd)
{
    if (fd < 100) {
        return close(fd);
    }
    kernel.open--;
    return 0;
}

static int group_ioctl(unsigned long request, void *given)
{
    if (request == kernel.request) {
        errno = kernel.why;
        return -1;
    }
    switch (request) {
    case VFIO_GET_API_VERSION:
        return VFIO_API_VERSION + kernel.another;
    case VFIO_GROUP_GET_STATUS:
        ((struct vfio_group_status *)given)->flags =
            kernel.not_viable ? 0 : VFIO_GROUP_FLAGS_VIABLE;
        return 0;
    case VFIO_GROUP_GET_DEVICE_FD:
        if (strstr(given, "05.7")) {
            errno = ENODEV;
            return -1;
        }
        kernel.devices++;
        kernel.open++;
        return 100 + kernel.next++;
    case VFIO_IOMMU_MAP_DMA:
        kernel.maps++;
        return 0;
    case VFIO_IOMMU_UNMAP_DMA:
        kernel.maps--;
        return 0;
    default:
        return 0;
    }
}

static void new_kernel(void)
{
    g_assert_cmpuint(kernel.open, ==, 0);
    memset(&kernel, 0, sizeof(kernel));
}

static struct cintio *new_in_group(const char *address, int ret)
{
    struct cintio *dev = new_device();
    struct cintio_error err;

    g_assert_cmpint(get_device(dev->carrier, address, &err), ==, ret);
    if (ret == -EBUSY) {
        g_assert_nonnull(strstr(err.text, "or a function of the same IOMMU"));
    }
    dev->removal = -1;
    return dev;
}

static void leave(struct cintio *dev)
{
    vfio_close(dev);
    vfio_release(dev);
    free(dev);
}

static void refused_to(const char *address, int ret, const char *says)
{
    struct cintio *dev = new_device();
    struct cintio_error err;

    g_assert_cmpint(get_device(dev->carrier, address, &err), ==, ret);
    g_assert_nonnull(strstr(err.text, says));
    leave(dev);
    g_assert_cmpuint(kernel.open, ==, 0);
    g_assert_null(groups);
}

static struct cintio_mem *map(struct cintio *dev)
{
    struct cintio_mem *mem = calloc(1, sizeof(*mem));
    struct cintio_error err;

    mem->addr = mem;
    mem->len = NVME_PAGE;
    g_assert_cmpint(vfio_map(dev, mem, &err), ==, 0);
    return mem;
}

static void unmap(struct cintio *dev, struct cintio_mem *mem)
{
    vfio_unmap(dev, mem);
    free(mem);
}

/* Functions of a group have one address space, as long as there is one. */
static void test_shared_group(void)
{
    struct cintio *a, *b, *c;
    struct cintio_mem *of_a, *of_b, *of_c, *again;

    new_kernel();
    a = new_in_group("0000:00:05.0", 0);
    b = new_in_group("0000:00:05.1", 0);
    c = new_in_group("0000:00:06.0", 0);
    of_a = map(a);
    of_b = map(b);
    of_c = map(c);
    g_assert_cmpuint(kernel.containers, ==, 2);
    g_assert_cmpuint(kernel.devices, ==, 3);
    g_assert_cmphex(of_a->iova, !=, of_b->iova);
    g_assert_cmphex(of_c->iova, ==, of_a->iova);
    /* who is closed still gives back what it had */
    vfio_close(a);
    g_assert_cmpuint(kernel.maps, ==, 3);
    again = map(b);
    g_assert_cmphex(again->iova, !=, of_a->iova);
    unmap(a, of_a);
    g_assert_cmpuint(kernel.maps, ==, 3);
    vfio_release(a);
    free(a);
    g_assert_cmpuint(kernel.open, ==, 2 * 2 + 2);
    unmap(b, again);
    unmap(b, of_b);
    unmap(c, of_c);
    leave(b);
    g_assert_cmpuint(kernel.open, ==, 2 + 1);
    leave(c);
    g_assert_cmpuint(kernel.open, ==, 0);
    g_assert_null(groups);
}

/* What cannot be opened leaves nothing behind, and takes nothing away. */
static void test_group_errors(void)
{
    struct cintio *a;

    new_kernel();
    kernel.closed = "/dev/vfio/1";
    kernel.why = EBUSY;
    leave(new_in_group("0000:00:05.0", -EBUSY));
    g_assert_cmpuint(kernel.open, ==, 0);
    kernel.closed = NULL;
    leave(new_in_group("0000:00:05.7", -ENODEV));
    g_assert_cmpuint(kernel.open, ==, 0);
    a = new_in_group("0000:00:05.0", 0);
    leave(new_in_group("0000:00:05.7", -ENODEV));
    g_assert_cmpuint(kernel.open, ==, 3);
    g_assert_true(groups == ((struct vfio *)a->carrier)->group);
    leave(a);
    g_assert_cmpuint(kernel.open, ==, 0);
    g_assert_null(groups);
}

#define GROUP   "/dev/vfio/1"

/* Each refusal of the kernel's has its sentence, and leaves nothing open. */
static void test_refusals(void)
{
    static const struct {
        const char *closed;
        unsigned long request;
        int why;
        const char *says;
    } refusals[] = {
        { GROUP, 0, EACCES, "no permission to open " GROUP ": be its owner" },
        { GROUP, 0, EPERM, GROUP " without an IOMMU needs CAP_SYS_RAWIO" },
        { GROUP, 0, EIO, GROUP ": Input/output error" },
        { CONTAINER, 0, EACCES, "no permission to open " CONTAINER },
        { CONTAINER, 0, EMFILE, CONTAINER ": Too many open files" },
        { NULL, VFIO_GROUP_GET_STATUS, EIO,
          "the group of 0000:00:05.0: Input/output error" },
        { NULL, VFIO_GROUP_SET_CONTAINER, EINVAL,
          "VFIO container of 0000:00:05.0: Invalid argument" },
        { NULL, VFIO_SET_IOMMU, EPERM, "the IOMMU does not remap interrupts" },
        { NULL, VFIO_SET_IOMMU, EIO, "VFIO IOMMU of 0000:00:05.0: Input" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(refusals); i++) {
        new_kernel();
        kernel.closed = refusals[i].closed;
        kernel.request = refusals[i].request;
        kernel.why = refusals[i].why;
        refused_to("0000:00:05.0", -refusals[i].why, refusals[i].says);
    }
    new_kernel();
    kernel.not_viable = true;
    refused_to("0000:00:05.0", -EBUSY,
               "still has a kernel driver: bind it too");
    new_kernel();
    kernel.another = true;
    refused_to("0000:00:05.0", -ENOTSUP, CONTAINER " speaks another version");
    new_kernel();
}

/* What was not mapped leaves its place to the next. */
static void test_map_errors(void)
{
    static const struct {
        int why;
        const char *says;
    } errors[] = {
        { ENOMEM,
          "4096 bytes cannot be locked in memory: raise RLIMIT_MEMLOCK" },
        { ENOSPC, "raise vfio_iommu_type1's dma_entry_limit" },
        { EINVAL, "4096 bytes cannot be mapped for DMA: Invalid argument" },
    };
    struct cintio_error err;
    struct cintio_mem mem = { .addr = &mem, .len = NVME_PAGE }, *other;
    struct cintio *dev;

    new_kernel();
    dev = new_in_group("0000:00:05.0", 0);
    kernel.request = VFIO_IOMMU_MAP_DMA;
    for (unsigned i = 0; i < G_N_ELEMENTS(errors); i++) {
        kernel.why = errors[i].why;
        g_assert_cmpint(vfio_map(dev, &mem, &err), ==, -errors[i].why);
        g_assert_nonnull(strstr(err.text, errors[i].says));
    }
    kernel.request = 0;
    other = map(dev);
    g_assert_cmphex(other->iova, ==, mem.iova);
    unmap(dev, other);
    leave(dev);
}

/* Physical addresses are those of the pages, where the process may know. */
static void test_without_iommu(void)
{
    void *at = mmap(NULL, 4u << 20, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    struct cintio_mem mem = { .addr = at, .len = 4u << 20 };
    struct cintio_error err;
    struct cintio *dev;
    int ret;

    new_kernel();
    dev = new_in_group("0000:00:05.0", 0);
    ((struct vfio *)dev->carrier)->group->iommu = false;
    ret = vfio_map(dev, &mem, &err);
    if (ret) {
        g_assert_true(ret == -EPERM || ret == -ENOMEM);
        g_assert_nonnull(strstr(err.text, ret == -EPERM ? "CAP_SYS_ADMIN" :
                                "cannot be locked in memory"));
    } else {
        g_assert_cmpuint(mem.shift, ==, 21);
        g_assert_cmphex(mem.pages[0], ==, cintio_physical(at));
        g_assert_cmphex(mem.pages[1], ==,
                        cintio_physical((char *)at + (2u << 20)));
        vfio_unmap(dev, &mem);
        free(mem.pages);
    }
    g_assert_cmpuint(kernel.maps, ==, 0);
    ((struct vfio *)dev->carrier)->group->iommu = true;
    leave(dev);
    munmap(at, 4u << 20);
}

/* --- a device's files ---------------------------------------------------- */

/* Registers and configuration space, one behind the other in a file. */
static struct {
    int file;
    bool refuses, cannot_map;
    uint64_t bar, size, config;
} device;

static int region_ioctl(unsigned long request, struct vfio_region_info *info)
{
    g_assert_cmpuint(info->argsz, ==, sizeof(*info));
    if (device.refuses) {
        errno = ENODEV;
        return -1;
    }
    if (info->index == VFIO_PCI_BAR0_REGION_INDEX) {
        info->flags = device.cannot_map ? 0 : VFIO_REGION_INFO_FLAG_MMAP;
        info->offset = device.bar;
        info->size = device.size;
    } else {
        g_assert_cmpuint(info->index, ==, VFIO_PCI_CONFIG_REGION_INDEX);
        info->offset = device.config;
        info->size = 256;
    }
    return 0;
}

static struct cintio *new_of_files(void)
{
    struct cintio *dev = new_device();

    memset(&device, 0, sizeof(device));
    device.file = memfd_create("device", 0);
    device.bar = 0x1000;
    device.size = 0x2000;
    device.config = 0x4000;
    g_assert_cmpint(ftruncate(device.file, 0x4100), ==, 0);
    ((struct vfio *)dev->carrier)->device = device.file;
    return dev;
}

static void expect_bar(struct cintio *dev, int ret, const char *says)
{
    struct cintio_error err = { "" };

    g_assert_cmpint(map_bar(dev, "x", &err), ==, ret);
    g_assert_nonnull(strstr(err.text, says));
    g_assert_true(!ret || !dev->bar);
}

static void test_registers(void)
{
    struct cintio *dev = new_of_files();
    uint32_t value = 0x12345678;

    device.refuses = true;
    expect_bar(dev, -ENODEV, "BAR0 of x: No such device");
    device.refuses = false;
    device.cannot_map = true;
    expect_bar(dev, -ENOTSUP, "BAR0 of x (8192 bytes) cannot be mapped");
    device.cannot_map = false;
    device.size = 0x1fff;
    expect_bar(dev, -ENOTSUP, "BAR0 of x (8191 bytes) cannot be mapped");
    device.size = 0x2000;
    device.bar = 1;
    expect_bar(dev, -EINVAL, "mmap of BAR0 of x: Invalid argument");
    device.bar = 0x1000;
    expect_bar(dev, 0, "");
    g_assert_cmpuint(dev->bar_size, ==, 0x2000);
    g_assert_cmpint(pwrite(device.file, &value, 4, 0x1014), ==, 4);
    g_assert_cmphex(cintio_read32(dev, 0x14), ==, value);
    cintio_write32(dev, 0x18, 77);
    g_assert_cmpint(pread(device.file, &value, 4, 0x1018), ==, 4);
    g_assert_cmpuint(value, ==, 77);
    munmap(dev->bar, dev->bar_size);
    close(device.file);
    free(dev->carrier);
    free(dev);
}

static void expect_dma(struct cintio *dev, int ret, const char *says)
{
    struct cintio_error err = { "" };

    g_assert_cmpint(enable_dma(dev->carrier, "x", &err), ==, ret);
    g_assert_nonnull(strstr(err.text, says));
}

static void test_bus_master(void)
{
    struct cintio *dev = new_of_files();
    uint16_t command = 0x400;
    char path[64];

    g_assert_cmpint(pwrite(device.file, &command, 2, 0x4004), ==, 2);
    device.refuses = true;
    expect_dma(dev, -EIO, "configuration space of x: No such device");
    device.refuses = false;
    device.config = 0x40fd;     /* the file ends before */
    expect_dma(dev, -EIO, "configuration space of x");
    device.config = 0x4000;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", device.file);
    ((struct vfio *)dev->carrier)->device = open(path, O_RDONLY);
    expect_dma(dev, -EIO, "x cannot be made a bus master: Bad file");
    close(((struct vfio *)dev->carrier)->device);
    ((struct vfio *)dev->carrier)->device = device.file;
    expect_dma(dev, 0, "");
    g_assert_cmpint(pread(device.file, &command, 2, 0x4004), ==, 2);
    g_assert_cmphex(command, ==, 0x406);
    close(device.file);
    free(dev->carrier);
    free(dev);
}

/* The kernel's wish is heard, if it can say it. */
static void test_removal(void)
{
    struct cintio *dev = new_device();

    watch_for_removal(dev);
    g_assert_cmpint(cintio_removal_fd(dev), >=, 0);
    g_assert_cmpint(cintio_removal_fd(dev), ==, vectors.request);
    close(dev->removal);
    vectors.deaf = true;
    watch_for_removal(dev);
    vectors.deaf = false;
    g_assert_cmpint(cintio_removal_fd(dev), ==, -1);
    g_assert_cmpint(fcntl(vectors.request, F_GETFD), ==, -1);
    free(dev->carrier);
    free(dev);
}

/* VFIO would hand it out once more, and the two would reset each other. */
static void test_opened_twice(void)
{
    struct cintio *first, *dev;
    struct cintio_error err;

    new_kernel();
    first = new_in_group("0000:00:05.0", 0);
    strcpy(first->info.address, "0000:00:05.0");
    lock_files();
    enlist(first->carrier);
    pthread_mutex_unlock(&open_lock);
    g_assert_cmpint(cintio_open("0000:00:05.0", NULL, &dev, &err), ==, -EBUSY);
    g_assert_nonnull(strstr(err.text, "this process has 0000:00:05.0 open"));
    g_assert_cmpuint(kernel.devices, ==, 1);
    leave(first);
    g_assert_cmpuint(kernel.open, ==, 0);
}

/* One more than there is room for is an error, whatever errno is. */
static void test_no_vector_left(void)
{
    struct cintio *dev = new_device();
    struct cintio_error err;

    vectors.left = 3;
    g_assert_cmpint(vfio_notify(dev, 2, -1, &err), ==, 0);
    g_assert_cmpint(vfio_notify(dev, 3, -1, &err), ==, -ENOSPC);
    g_assert_nonnull(strstr(err.text, "interrupt vector 3"));
    free(dev->carrier);
    free(dev);
}

static bool is_open(int fd)
{
    return fd >= 0 && fcntl(fd, F_GETFD) >= 0;
}

/* The parent keeps what it has; a child has nothing that keeps the device. */
static void test_child(void)
{
    struct cintio *dev = new_device();
    struct vfio *vfio = dev->carrier;
    struct vfio_group *group = calloc(1, sizeof(*group));
    int fds[5], status;
    pid_t child;

    for (int i = 0; i < 5; i++) {
        fds[i] = eventfd(0, EFD_CLOEXEC);
    }
    vfio->device = fds[0];
    *group = (struct vfio_group) {
        .path = "/dev/vfio/1", .fd = fds[1], .container = fds[2], .users = 1,
    };
    pthread_mutex_init(&group->lock, NULL);
    vfio->group = groups = group;
    dev->removal = fds[3];
    dev->pages = fds[4];
    dev->bar = mmap(NULL, NVME_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
    dev->bar_size = NVME_PAGE;
    dev->ops = &vfio_ops;
    lock_files();
    enlist(vfio);
    pthread_mutex_unlock(&open_lock);

    child = fork();
    g_assert_cmpint(child, >=, 0);
    if (!child) {
        for (int i = 0; i < 5; i++) {
            if (is_open(fds[i])) {
                _exit(i + 1);
            }
        }
        /* where the registers were is something of its own */
        if (dev->bar) {
            _exit(7);
        }
        /* it may open another, even of that group, once the parent has not */
        if (!strcmp(group->path, "/dev/vfio/1")) {
            _exit(6);
        }
        /* and it does not stop the parent's controller */
        cintio_close(dev);
        _exit(0);
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_cmpint(status, ==, 0);
    for (int i = 0; i < 5; i++) {
        g_assert_true(is_open(fds[i]));
    }
    cintio_close(dev);
    g_assert_null(all_open);
    g_assert_null(groups);
    for (int i = 0; i < 5; i++) {
        g_assert_false(is_open(fds[i]));
    }
}

/* What is closed first when a process is killed is let go of last. */
static void test_order_of_files(void)
{
    struct cintio_error err;
    int low = eventfd(0, EFD_CLOEXEC), high = eventfd(0, EFD_CLOEXEC);
    int fd = high;

    g_assert_cmpint(put_behind(&fd, low, &err), ==, 0);
    g_assert_cmpint(fd, ==, high);
    fd = low;
    g_assert_cmpint(put_behind(&fd, high, &err), ==, 0);
    g_assert_cmpint(fd, >, high);
    g_assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    g_assert_false(is_open(low));
    g_assert_cmpint(put_behind(&fd, 1 << 30, &err), ==, -EINVAL);
    g_assert_nonnull(strstr(err.text, "no file number beyond 1073741824"));
    close(fd);
    close(high);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vfio/few-vectors", test_few_vectors);
    g_test_add_func("/vfio/group/shared", test_shared_group);
    g_test_add_func("/vfio/group/errors", test_group_errors);
    g_test_add_func("/vfio/group/refusals", test_refusals);
    g_test_add_func("/vfio/map/errors", test_map_errors);
    g_test_add_func("/vfio/map/without-iommu", test_without_iommu);
    g_test_add_func("/vfio/device/registers", test_registers);
    g_test_add_func("/vfio/device/bus-master", test_bus_master);
    g_test_add_func("/vfio/device/removal", test_removal);
    g_test_add_func("/vfio/opened-twice", test_opened_twice);
    g_test_add_func("/vfio/no-vector-left", test_no_vector_left);
    g_test_add_func("/vfio/child", test_child);
    g_test_add_func("/vfio/order-of-files", test_order_of_files);
    return g_test_run();
}
