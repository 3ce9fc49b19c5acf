/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of what the user-space driver makes of VFIO's answers, where no
 * guest gives them. The file is included, and its ioctl(2) is this test's.
 */
#include <errno.h>
#include <glib.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

static int fake_ioctl(int fd, unsigned long request, ...);

#define ioctl fake_ioctl
#include "vfio.c"
#undef ioctl

static struct {
    unsigned there, left;       /* MSI-X vectors of the function; of the CPUs */
    unsigned enabled, calls;
} vectors;

static int set_fake_irqs(const struct vfio_irq_set *set)
{
    vectors.calls++;
    g_assert_cmpuint(set->index, ==, VFIO_PCI_MSIX_IRQ_INDEX);
    if (!vectors.left) {
        errno = ENOSPC;
        return -1;
    }
    if (set->start + set->count > vectors.left) {
        errno = ENOTTY;         /* of something else, long ago */
        return vectors.left;
    }
    vectors.enabled = set->start + set->count;
    return 0;
}

static int fake_ioctl(int fd, unsigned long request, ...)
{
    struct vfio_irq_info *info;
    va_list ap;
    void *given;

    va_start(ap, request);
    given = va_arg(ap, void *);
    va_end(ap);
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
    int fds[5], status;
    pid_t child;

    for (int i = 0; i < 5; i++) {
        fds[i] = eventfd(0, EFD_CLOEXEC);
    }
    vfio->device = fds[0];
    vfio->group = fds[1];
    vfio->container = fds[2];
    dev->removal = fds[3];
    dev->pages = fds[4];
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
    close(fd);
    close(high);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vfio/few-vectors", test_few_vectors);
    g_test_add_func("/vfio/no-vector-left", test_no_vector_left);
    g_test_add_func("/vfio/child", test_child);
    g_test_add_func("/vfio/order-of-files", test_order_of_files);
    return g_test_run();
}
