/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of which PCI functions the user-space driver takes from the
 * kernel. The files are included, and the machine that they look at is a
 * directory: sysfs, procfs and /dev are below it, and this test is the kernel
 * that binds drivers.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tree.h"

static const char *held;        /* of the disks, by the kernel */
static bool refused;            /* vfio-pci does not take it */
static unsigned claimed;        /* disks that are open for this process alone */
static unsigned claimed_then;   /* ... when the driver changed */

/* A block or character device is a file that has its numbers: "b 259:0". */
static int fake_stat(const char *path, struct stat *is)
{
    g_autofree char *text = NULL;
    unsigned major, minor;
    char type;

    if (!g_file_get_contents(rooted(path), &text, NULL, NULL)) {
        return -1;
    }
    *is = (struct stat) { .st_mode = S_IFREG };
    if (sscanf(text, "%c %u:%u", &type, &major, &minor) == 3) {
        is->st_mode = type == 'b' ? S_IFBLK : S_IFCHR;
        is->st_rdev = makedev(major, minor);
    }
    return 0;
}

static int fake_open(const char *path, int flags, ...)
{
    int fd;

    if (!g_str_has_prefix(path, "/dev/")) {
        return open(rooted(path), flags);
    }
    g_assert_true(flags & O_EXCL);
    if (!g_strcmp0(held, path)) {
        errno = EBUSY;
        return -1;
    }
    fd = open(rooted(path), O_RDONLY | O_CLOEXEC);
    claimed += fd >= 0;
    return fd;
}

#define CONTROLLER "/sys/bus/pci/devices/0000:00:03.0"

/* As the kernel does it: unbind, then the driver of driver_override. */
static ssize_t fake_write(int fd, const void *text, size_t len)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autofree char *path = g_file_read_link(link, NULL);
    g_autofree char *driver = NULL;

    if (g_str_has_suffix(path, "/unbind")) {
        g_unlink(rooted(CONTROLLER "/driver"));
        claimed_then = claimed;
    } else if (g_str_has_suffix(path, "/drivers_probe")) {
        g_file_get_contents(rooted(CONTROLLER "/driver_override"), &driver,
                            NULL, NULL);
        if (!g_str_has_prefix(driver, "vfio-pci")) {
            put_link(CONTROLLER "/driver", "../../drivers/nvme");
        } else if (!refused) {
            put_link(CONTROLLER "/driver", "../../drivers/vfio-pci");
        }
        return len;
    }
    g_assert_cmpint(ftruncate(fd, 0), ==, 0);
    return write(fd, text, len);
}

static int fake_close(int fd)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autofree char *path = g_file_read_link(link, NULL);

    claimed -= path && strstr(path, "/dev/nvme");
    return close(fd);
}

/* Of the threads only 124 shares its files with its process's first one. */
static long fake_kcmp(unsigned pid, unsigned tid, int type)
{
    g_assert_cmpint(type, ==, KCMP_FILES);
    g_assert_cmpuint(pid, ==, 123);
    return tid != 124;
}

#define open(...) fake_open(__VA_ARGS__)
#define write(fd, text, len) fake_write(fd, text, len)
#define close(fd) fake_close(fd)
#define stat(path, is) fake_stat(path, is)
#define syscall(number, pid, tid, type, a, b) fake_kcmp(pid, tid, type)
#define access(path, mode) access(rooted(path), mode)
#define opendir(path) opendir(rooted(path))
#define fopen(path, mode) fopen(rooted(path), mode)
#define readlink(path, to, len) readlink(rooted(path), to, len)
#include "bind.c"
#undef DEVICES
#include "users.c"
#undef open
#undef write
#undef close
#undef stat
#undef syscall
#undef access
#undef opendir
#undef fopen
#undef readlink

#define ADDRESS "0000:00:03.0"
#define DISK "/sys/class/block/nvme0n1"

/* A machine with an NVMe controller that nothing uses, and vfio-pci. */
static void begin(void)
{
    tree_begin();
    held = NULL;
    refused = false;
    claimed = 0;
    claimed_then = 99;
    put("/sys/bus/pci/drivers/nvme/unbind", "%s", "");
    put("/sys/bus/pci/drivers/vfio-pci/unbind", "%s", "");
    put("/sys/bus/pci/drivers_probe", "%s", "");
    put(CONTROLLER "/class", "0x010802\n");
    put(CONTROLLER "/driver_override", "(null)\n");
    put_link(CONTROLLER "/driver", "../../drivers/nvme");
    put(CONTROLLER "/nvme/nvme0/dev", "240:0\n");
    put(CONTROLLER "/nvme/nvme0/nvme0n1/dev", "259:0\n");
    put("/sys/class/nvme/nvme0/dev", "240:0\n");
    put("/sys/class/nvme-generic/ng0n1/dev", "241:0\n");
    put(DISK "/dev", "259:0\n");
    put(DISK "/nvme0n1p1/dev", "259:1\n");
    put(DISK "/nvme0n1p1/partition", "1\n");
    put("/sys/class/block/nvme0n1p1/dev", "259:1\n");
    put("/sys/class/block/sda/dev", "8:0\n");
    put("/dev/nvme0", "c 240:0");
    put("/dev/ng0n1", "c 241:0");
    put("/dev/nvme0n1", "b 259:0");
    put("/dev/nvme0n1p1", "b 259:1");
    put("/dev/sda", "b 8:0");
    /* a character device of the same numbers as the disk, and what is usual */
    put("/dev/other", "c 259:0");
    put("/proc/self/mountinfo", "22 1 8:0 / / rw - ext4 /dev/sda rw\n"
        "23 22 0:5 / /dev rw shared:2 - devtmpfs devtmpfs rw\n");
    put("/proc/swaps", "Filename Type Size Used Priority\n"
        "/dev/sda partition 1 0 -2\n");
    put("/proc/77/comm", "innocent\n");
    put_link("/proc/77/fd/0", rooted("/dev/sda"));
    put_link("/proc/77/fd/1", rooted("/dev/other"));
    put_link("/proc/77/fd/2", "socket:[123]");
    put_link("/proc/77/fd/3", "/sys/devices/pci0000:00/" ADDRESS "/config");
    put_link("/proc/77/fd/4", "/sys/devices/pci0000:00/0000:00:03.1/resource0");
}

static void finish(void)
{
    g_assert_cmpuint(claimed, ==, 0);
    tree_end();
}

static void assert_driver(const char *name)
{
    char driver[64];

    driver_of(ADDRESS, driver, sizeof(driver));
    g_assert_cmpstr(driver, ==, name);
}

/* Nothing uses it: it is vfio-pci's, and could not be mounted meanwhile. */
static void test_unused(void)
{
    struct cintio_error err = { "" };

    begin();
    g_assert_cmpint(cintio_bind(ADDRESS, 0, &err), ==, 0);
    assert_driver("vfio-pci");
    g_assert_cmpuint(claimed_then, ==, 1);
    /* a second time nothing is done, for somebody may drive it by then */
    claimed_then = 99;
    g_assert_cmpint(cintio_bind(ADDRESS, 0, &err), ==, 0);
    g_assert_cmpuint(claimed_then, ==, 99);
    g_assert_cmpint(cintio_unbind(ADDRESS, &err), ==, 0);
    assert_driver("nvme");
    g_assert_cmpint(cintio_unbind(ADDRESS, &err), ==, -EINVAL);
    finish();
}

/* What vfio-pci does not take goes back, and nobody holds its old disk. */
static void test_refused(void)
{
    struct cintio_error err = { "" };

    begin();
    refused = true;
    g_assert_cmpint(cintio_bind(ADDRESS, 0, &err), ==, -EIO);
    g_assert_nonnull(strstr(err.text, "vfio-pci did not take " ADDRESS));
    assert_driver("nvme");
    finish();
}

/* No other function is taken, not by force either. */
static void test_class(void)
{
    static const char *const classes[] = {
        "0x010601", "0x020000", "0x010700", "0x080108", "", "nonsense",
    };
    struct cintio_error err;

    begin();
    for (size_t i = 0; i < G_N_ELEMENTS(classes); i++) {
        put(CONTROLLER "/class", "%s\n", classes[i]);
        for (unsigned flags = 0; flags <= CINTIO_FORCE; flags++) {
            g_assert_cmpint(cintio_bind(ADDRESS, flags, &err), ==, -EINVAL);
            g_assert_nonnull(strstr(err.text, ADDRESS " is no NVMe "));
            assert_driver("nvme");
        }
        g_assert_cmpint(cintio_unbind(ADDRESS, &err), ==, -EINVAL);
        g_assert_nonnull(strstr(err.text, "is no NVMe controller"));
    }
    put(CONTROLLER "/class", "0x010803\n");
    g_assert_cmpint(cintio_bind(ADDRESS, 2, &err), ==, -EINVAL);
    g_assert_cmpint(cintio_bind("0000:1f:00.0", 0, &err), ==, -ENOENT);
    g_assert_cmpint(cintio_bind(ADDRESS, 0, &err), ==, 0);
    finish();
}

/* What is not in the form that the kernel has for it leads nowhere. */
static void test_address(void)
{
    static const char *const forms[] = {
        "", ".", "..", "/", ADDRESS "/", "./" ADDRESS, "../devices/" ADDRESS,
        "00:03.0", "0000:00:03", "0000:00:03.0 ", "0000:00:03.0\n",
        "0000:00:3.0", "0000.00.03.0", "nvme0", "/dev/nvme0",
    };
    struct cintio_error err;

    begin();
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        for (unsigned flags = 0; flags <= CINTIO_FORCE; flags++) {
            g_assert_cmpint(cintio_bind(forms[i], flags, &err), ==, -ENOENT);
            g_assert_nonnull(strstr(err.text, "looks like 0000:00:03.0"));
        }
        g_assert_cmpint(cintio_unbind(forms[i], &err), ==, -ENOENT);
        assert_driver("nvme");
    }
    finish();
}

static void use_mount(void)
{
    put("/proc/self/mountinfo", "22 1 8:0 / / rw - ext4 /dev/sda rw\n"
        "30 22 259:1 / /srv/data rw,noatime - ext4 /dev/nvme0n1p1 rw\n");
}

static void use_mount_of_another_name(void)
{
    put("/proc/self/mountinfo", "22 1 259:1 / / rw - ext4 /dev/root rw\n");
}

static void use_mount_of_no_number(void)
{
    put("/proc/self/mountinfo",
        "30 22 0:45 / /srv rw shared:9 - btrfs /dev/nvme0n1 rw\n");
}

static void use_swap(void)
{
    put("/proc/swaps", "Filename Type Size Used Priority\n"
        "/dev/nvme0n1p1                          partition 1 0 -2\n");
}

static void use_disk_holder(void)
{
    put(DISK "/holders/md127", "%s", "");
}

static void use_partition_holder(void)
{
    put("/sys/class/block/nvme0n1p1/holders/dm-3", "%s", "");
}

static void use_loop(void)
{
    put("/sys/class/block/loop0/loop/backing_file", "/dev/nvme0n1p1\n");
    put("/sys/class/block/loop1/dev", "7:1\n");
}

static void use_process(void)
{
    put("/proc/123/comm", "fio\n");
    put_link("/proc/123/fd/4", rooted("/dev/nvme0n1p1"));
}

static void use_passthrough(void)
{
    put("/proc/123/comm", "tool\n");
    put_link("/proc/123/fd/4", rooted("/dev/ng0n1"));
}

static void use_controller(void)
{
    put("/proc/123/comm", "nvme\n");
    put_link("/proc/123/fd/4", rooted("/dev/nvme0"));
}

/* Its first thread has ended, and one that shared nothing goes on. */
static void use_thread(void)
{
    put("/proc/123/comm", "server\n");
    put_link("/proc/123/task/123/fd/4", rooted("/dev/sda"));
    put_link("/proc/123/task/125/fd/4", rooted("/dev/nvme0n1"));
}

/* Another driver of user space has it, over a driver other than VFIO's. */
static void use_uio(void)
{
    take_away(CONTROLLER "/nvme");
    put(CONTROLLER "/uio/uio0/dev", "242:0\n");
    put("/dev/uio0", "c 242:0");
    put("/proc/123/comm", "poller\n");
    put_link("/proc/123/fd/4", rooted("/dev/uio0"));
}

static void use_registers(void)
{
    put("/proc/123/comm", "poller\n");
    put_link("/proc/123/fd/4", "/sys/devices/pci0000:00/" ADDRESS "/resource0");
}

/* A mount in another mount namespace, for example. */
static void use_unseen(void)
{
    held = "/dev/nvme0n1";
}

static void use_no_node(void)
{
    g_unlink(rooted("/dev/nvme0n1"));
}

/* The kernel's disk is that of all paths; each path has a hidden one. */
static void make_paths(void)
{
    take_away(CONTROLLER "/nvme/nvme0/nvme0n1");
    put(CONTROLLER "/nvme/nvme0/nvme0c0n1/dev", "259:7\n");
    put("/sys/class/nvme/nvme0/nvme0c0n1/dev", "259:7\n");
}

static void use_other_path(void)
{
    make_paths();
    put("/sys/class/nvme/nvme1/dev", "240:1\n");
    put("/sys/class/nvme/nvme1/nvme0c1n1/dev", "259:8\n");
}

static void use_mount_of_paths(void)
{
    make_paths();
    use_mount();
}

static const struct {
    const char *name;
    void (*use)(void);
    const char *text;
} uses[] = {
    { "mount", use_mount, "/dev/nvme0n1p1 is mounted at /srv/data" },
    { "mount-of-another-name", use_mount_of_another_name,
      "/dev/nvme0n1p1 is mounted at /" },
    { "mount-of-no-number", use_mount_of_no_number,
      "/dev/nvme0n1 is mounted at /srv" },
    { "swap", use_swap, "/dev/nvme0n1p1 is swapped to" },
    { "disk-holder", use_disk_holder, "/dev/nvme0n1 is part of /dev/md127" },
    { "partition-holder", use_partition_holder,
      "/dev/nvme0n1p1 is part of /dev/dm-3" },
    { "loop", use_loop, "/dev/nvme0n1p1 is behind /dev/loop0" },
    { "process", use_process, "process 123 (fio) has /dev/nvme0n1p1 open" },
    { "passthrough", use_passthrough,
      "process 123 (tool) has /dev/ng0n1 open" },
    { "controller", use_controller, "process 123 (nvme) has /dev/nvme0 open" },
    { "thread", use_thread, "process 123 (server) has /dev/nvme0n1 open" },
    { "uio", use_uio, "process 123 (poller) has /dev/uio0 open" },
    { "registers", use_registers,
      "process 123 (poller) has its registers open" },
    { "unseen", use_unseen, "something in the kernel holds /dev/nvme0n1" },
    { "no-node", use_no_node, "/dev/nvme0n1 does not tell who has it" },
    { "other-path", use_other_path, "/dev/nvme0n1 has another path, by nvme1" },
    { "mount-of-paths", use_mount_of_paths,
      "/dev/nvme0n1p1 is mounted at /srv/data" },
};

/* Whoever uses it is named, and keeps it; by force it is taken. */
static void test_use(gconstpointer opaque)
{
    struct cintio_error err;

    for (size_t i = 0; i < G_N_ELEMENTS(uses); i++) {
        if (strcmp(uses[i].name, opaque)) {
            continue;
        }
        begin();
        uses[i].use();
        g_assert_cmpint(cintio_bind(ADDRESS, 0, &err), ==, -EBUSY);
        g_assert_nonnull(strstr(err.text, ADDRESS " is in use: "));
        g_assert_nonnull(strstr(err.text, uses[i].text));
        assert_driver("nvme");
        g_assert_cmpuint(claimed, ==, 0);
        g_assert_cmpint(cintio_bind(ADDRESS, CINTIO_FORCE, &err), ==, 0);
        assert_driver("vfio-pci");
        finish();
    }
}

/* One path of one's own is no other path. */
static void test_single_path(void)
{
    struct cintio_error err = { "" };

    begin();
    make_paths();
    g_assert_cmpint(cintio_bind(ADDRESS, 0, &err), ==, 0);
    g_assert_cmpuint(claimed_then, ==, 1);
    finish();
}

/* Of two disks one is held: the other one is let go of again. */
static void test_second_disk(void)
{
    struct cintio_error err = { "" };

    begin();
    put(CONTROLLER "/nvme/nvme0/nvme0n2/dev", "259:2\n");
    put("/sys/class/block/nvme0n2/dev", "259:2\n");
    put("/dev/nvme0n2", "b 259:2");
    for (int i = 0; i < 2; i++) {
        held = i ? "/dev/nvme0n1" : "/dev/nvme0n2";
        g_assert_cmpint(cintio_bind(ADDRESS, 0, &err), ==, -EBUSY);
        g_assert_nonnull(strstr(err.text, held));
    }
    held = NULL;
    g_assert_cmpint(cintio_bind(ADDRESS, 0, &err), ==, 0);
    g_assert_cmpuint(claimed_then, ==, 2);
    finish();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/bind/unused", test_unused);
    g_test_add_func("/bind/refused", test_refused);
    g_test_add_func("/bind/class", test_class);
    g_test_add_func("/bind/address", test_address);
    g_test_add_func("/bind/single-path", test_single_path);
    g_test_add_func("/bind/second-disk", test_second_disk);
    for (size_t i = 0; i < G_N_ELEMENTS(uses); i++) {
        g_autofree char *path = g_strdup_printf("/bind/use/%s", uses[i].name);

        g_test_add_data_func(path, uses[i].name, test_use);
    }
    return g_test_run();
}
