/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: which driver has a PCI function.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "caller.h"
#include "users.h"

#define DEVICES "/sys/bus/pci/devices/"
#define PROBE   "/sys/bus/pci/drivers_probe"
#define VFIO    "/sys/bus/pci/drivers/vfio-pci"

static int write_text(const char *path, const char *text,
                      struct cintio_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

    if (fd < 0 || write(fd, text, strlen(text)) < 0) {
        ret = cintio_fail(err, -errno, "%s: %s", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return ret;
}

/* The driver that has the function, or an empty string. */
static void driver_of(const char *address, char *name, size_t len)
{
    char path[PATH_MAX], target[PATH_MAX];
    ssize_t n;

    snprintf(path, sizeof(path), DEVICES "%s/driver", address);
    n = readlink(path, target, sizeof(target) - 1);
    target[n < 0 ? 0 : n] = '\0';
    snprintf(name, len, "%s", n < 0 ? "" : strrchr(target, '/') + 1);
}

static int release(const char *address, struct cintio_error *err)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), DEVICES "%s/driver/unbind", address);
    return access(path, F_OK) ? 0 : write_text(path, address, err);
}

/* @driver: by name, or "\n" for whichever the kernel chooses. */
static int hand_to(const char *address, const char *driver,
                   struct cintio_error *err)
{
    char path[PATH_MAX];
    int ret;

    snprintf(path, sizeof(path), DEVICES "%s/driver_override", address);
    ret = write_text(path, driver, err);
    if (!ret) {
        ret = release(address, err);
    }
    return ret ? ret : write_text(PROBE, address, err);
}

/* @claims are held until it has changed hands: no mount comes between. */
static int hand_to_vfio(const char *address, struct cintio_claims *claims,
                        struct cintio_error *err)
{
    char driver[64];
    int ret = hand_to(address, "vfio-pci", err);

    /* a disk that is held keeps its name from the one that may come back */
    cintio_drop_claims(claims);
    if (ret) {
        return ret;
    }
    driver_of(address, driver, sizeof(driver));
    if (!strcmp(driver, "vfio-pci")) {
        return 0;
    }
    hand_to(address, "\n", NULL);
    return cintio_fail(err, -EIO, "vfio-pci did not take %s; without an IOMMU "
                       "it needs /sys/module/vfio/parameters/"
                       "enable_unsafe_noiommu_mode", address);
}

int cintio_bind(const char *address, unsigned int flags,
                struct cintio_error *err)
{
    struct cintio_claims claims = { 0 };
    char driver[64];
    int ret = cintio_check_class(address, err);

    if (ret) {
        return ret;
    }
    if (flags & ~CINTIO_FORCE) {
        return cintio_fail(err, -EINVAL, "flags 0x%x: only CINTIO_FORCE (0x%x) "
                           "is known", flags, CINTIO_FORCE);
    }
    if (access(VFIO, F_OK)) {
        return cintio_fail(err, -ENOENT, "the kernel has no driver vfio-pci: "
                           "modprobe vfio-pci, or a kernel with VFIO_PCI");
    }
    driver_of(address, driver, sizeof(driver));
    if (!strcmp(driver, "vfio-pci")) {
        return 0;   /* and whoever drives it now is left alone */
    }
    if (!(flags & CINTIO_FORCE)) {
        ret = cintio_claim(address, &claims, err);
    }
    return ret ? ret : hand_to_vfio(address, &claims, err);
}

int cintio_unbind(const char *address, struct cintio_error *err)
{
    char driver[64];
    int ret = cintio_check_class(address, err);

    if (ret) {
        return ret;
    }
    driver_of(address, driver, sizeof(driver));
    if (strcmp(driver, "vfio-pci")) {
        return cintio_fail(err, -EINVAL, "%s is not vfio-pci's", address);
    }
    return hand_to(address, "\n", err);
}
