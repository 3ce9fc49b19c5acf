/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of what the user-space driver does where something cannot be had:
 * memory, files, a command that the controller refuses.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE     /* memfd_create() */
#endif
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dma.h"
#include "fake-nvme.h"

#define HUGE    (2u << 20)

static struct cintio_error err;

static FakeNvme *started(void)
{
    FakeNvme *fake = fake_new();

    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    return fake;
}

static struct cintio_queue *queue_of(FakeNvme *fake, bool no_interrupts)
{
    struct cintio_queue_options options = {
        .size = sizeof(options), .entries = 8, .no_interrupts = no_interrupts,
    };
    struct cintio_queue *q = NULL;

    g_assert_cmpint(cintio_queue_create(fake->dev, &options, &q, &err), ==, 0);
    return q;
}

/* --- files --------------------------------------------------------------- */

static struct rlimit allowed;

/* No further file can be opened. */
static void forbid_files(void)
{
    struct rlimit none;

    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &allowed), ==, 0);
    none = (struct rlimit) { 0, allowed.rlim_max };
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
}

static void allow_files(void)
{
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &allowed), ==, 0);
}

static void test_group(void)
{
    struct cintio_group *group = NULL;
    char *name = NULL;
    int fd = g_file_open_tmp("refused-XXXXXX", &name, NULL);

    forbid_files();
    g_assert_cmpint(cintio_group_create(&group, &err), ==, -EMFILE);
    allow_files();
    expect_text(err.text, "epoll: ");
    g_assert_null(group);
    cintio_group_destroy(NULL);

    g_assert_cmpint(cintio_group_create(&group, &err), ==, 0);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(cintio_group_add_fd(group, fd, EPOLLIN, NULL, &err), ==,
                    -EPERM);
    expect_text(err.text, "cannot be waited for: ");
    cintio_group_remove_fd(group, fd);      /* is not in it */
    cintio_group_destroy(group);
    unlink(name);
    g_free(name);
    close(fd);
}

/* A group that lost its files says so, and does not wait for ever. */
static void test_group_without_files(void)
{
    int fd[2] = { eventfd(0, 0), eventfd(1, 0) };
    struct cintio_group *group = NULL;
    struct cintio_ready ready;

    g_assert_cmpint(cintio_group_create(&group, &err), ==, 0);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(cintio_group_add_fd(group, fd[i], EPOLLIN, NULL, &err),
                        ==, 0);
    }
    close(fd[0]);
    forbid_files();
    cintio_group_remove_fd(group, fd[0]);   /* it has to begin anew */
    allow_files();
    g_assert_cmpint(cintio_group_wait(group, 1, &ready, 1, CINTIO_FOREVER,
                                      &err), ==, -EBADF);
    expect_text(err.text, "epoll_wait: ");
    close(fd[1]);
    cintio_group_destroy(group);
}

/* --- memory -------------------------------------------------------------- */

static void *shared_page(int fd)
{
    void *page = mmap(NULL, NVME_PAGE, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_POPULATE, fd, 0);

    g_assert_true(page != MAP_FAILED);
    return page;
}

/* What is mapped twice is in one place; who may not know is told of page 0. */
static void test_physical(void)
{
    int fd[2] = { memfd_create("one", 0), memfd_create("other", 0) };
    uint8_t *page[3], *untouched;

    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(ftruncate(fd[i / 2], NVME_PAGE), ==, 0);
        page[i] = shared_page(fd[i / 2]);
    }
    g_assert_cmpuint(cintio_physical(page[0]), ==, cintio_physical(page[1]));
    g_assert_cmpuint(cintio_physical(page[0] + 77), ==,
                     cintio_physical(page[1]) + 77);
    if (cintio_physical(page[0])) {
        g_assert_cmpuint(cintio_physical(page[2]), !=, 0);
        g_assert_cmpuint(cintio_physical(page[2]), !=,
                         cintio_physical(page[0]));
    } else {
        g_test_message("not privileged: physical addresses are not told");
    }
    untouched = mmap(NULL, NVME_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
                     -1, 0);
    g_assert_cmpuint(cintio_physical(untouched + 77), ==, 0);
    munmap(untouched, NVME_PAGE);
    forbid_files();
    g_assert_cmpuint(cintio_physical(page[0]), ==, 0);
    allow_files();
    for (unsigned i = 0; i < 3; i++) {
        munmap(page[i], NVME_PAGE);
    }
    close(fd[0]);
    close(fd[1]);
}

static void cannot(FakeNvme *fake, size_t len, int ret, const char *why)
{
    struct cintio_mem *mem = NULL;

    g_assert_cmpint(cintio_alloc(fake->dev, len, &mem, &err), ==, ret);
    g_assert_null(mem);
    expect_text(err.text, why);
}

static void test_memory(void)
{
    FakeNvme *fake = started();
    struct cintio_mem *mem = NULL;
    void *page;

    cannot(fake, 0, -EINVAL, "memory of no bytes");
    cannot(fake, (size_t)1 << 62, -ENOMEM, "no memory: 4611686018427387904");
    fake->no_memory = true;
    cannot(fake, 1, -ENOMEM, "no memory");
    page = mmap(NULL, NVME_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_assert_cmpint(cintio_map(fake->dev, page, NVME_PAGE, &mem, &err), ==,
                    -ENOMEM);
    g_assert_null(mem);
    fake->no_memory = false;
    g_assert_cmpint(cintio_map(fake->dev, page, NVME_PAGE, &mem, &err), ==, 0);
    g_assert_true(cintio_mem_addr(mem) == page);
    cintio_free(fake->dev, mem);
    /* the caller's own stays */
    g_assert_cmpint(munmap(page, NVME_PAGE), ==, 0);
    cintio_free(fake->dev, NULL);
    fake_free(fake);
}

/* Of 2 MiB and more it is of huge pages, or of others where there are none. */
static void test_large(void)
{
    static const struct {
        size_t len, small, huge;
    } sizes[] = {
        { 1, NVME_PAGE, NVME_PAGE },
        { NVME_PAGE, NVME_PAGE, NVME_PAGE },
        { HUGE - 1, HUGE, HUGE },
        { HUGE, HUGE, HUGE },
        { HUGE + 1, HUGE + NVME_PAGE, 2 * HUGE },
    };
    FakeNvme *fake = started();

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        struct cintio_mem *mem = NULL;
        size_t len;

        g_assert_cmpint(cintio_alloc(fake->dev, sizes[i].len, &mem, &err), ==,
                        0);
        len = cintio_mem_len(mem);
        g_assert_true(len == sizes[i].small || len == sizes[i].huge);
        memset(cintio_mem_addr(mem), 0xa5, len);
        cintio_free(fake->dev, mem);
    }
    fake_free(fake);
}

/* Two of a file, if there are huge pages; else it is said how to get some. */
static void take_huge_pages(FakeNvme *fake)
{
    struct cintio_mem *mem[2] = { NULL };

    for (unsigned i = 0; i < 2; i++) {
        if (cintio_alloc(fake->dev, 1, &mem[i], &err)) {
            g_assert_null(mem[i]);
            expect_text(err.text, "no 1 huge pages of 2 MiB");
            expect_text(err.text, "/proc/sys/vm/nr_hugepages");
        } else {
            g_assert_cmpuint(cintio_mem_len(mem[i]), ==, HUGE);
            memset(cintio_mem_addr(mem[i]), 1 + i, HUGE);
        }
    }
    if (mem[0] && mem[1]) {
        g_assert_cmpuint(*(uint8_t *)cintio_mem_addr(mem[0]), ==, 1);
    }
    cintio_free(fake->dev, mem[0]);
    cintio_free(fake->dev, mem[1]);
}

static void test_without_iommu(void)
{
    FakeNvme *fake = started();
    struct cintio *dev = fake->dev;
    struct cintio_mem *mem = NULL;

    forbid_files();
    g_assert_cmpint(cintio_open_pages(dev, &err), ==, -EMFILE);
    allow_files();
    expect_text(err.text, "no huge pages of 2 MiB, which a controller without "
                "IOMMU needs");
    dev->needs_huge_pages = true;
    g_assert_cmpint(cintio_map(dev, &err, NVME_PAGE, &mem, &err), ==, -ENOTSUP);
    expect_text(err.text, "has no IOMMU");
    if (cintio_open_pages(dev, &err)) {
        g_test_message("%s", err.text);
    } else {
        take_huge_pages(fake);
        close(dev->pages);
    }
    dev->pages = -1;
    dev->needs_huge_pages = false;
    fake_free(fake);
}

/* --- commands ------------------------------------------------------------ */

static void test_start(void)
{
    static const struct {
        int opcode;
        const char *what;
    } refusals[] = {
        { NVME_ADMIN_IDENTIFY, "fake refused to identify itself: status 006h" },
        { NVME_ADMIN_SET_FEATURES, "fake refused to give I/O queues: status" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(refusals); i++) {
        FakeNvme *fake = fake_new();

        fake->refused = refusals[i].opcode;
        g_assert_cmpint(fake_start(fake, NULL, &err), ==, -EIO);
        expect_text(err.text, refusals[i].what);
        fake_free(fake);
    }
}

/* The controller says how long it may take, and knows better. */
static void test_its_own_time(void)
{
    struct cintio_options soon = { .timeout_ms = 5 }, late = {
        .timeout_ms = 2001 };
    FakeNvme *fake = fake_new();

    fake->regs[NVME_REG_CAP / 4] |= 4u << 24;       /* TO: 2 s */
    g_assert_cmpint(fake_start(fake, &soon, &err), ==, 0);
    g_assert_cmpuint(fake->dev->options.timeout_ms, ==, 2000);
    fake_free(fake);
    fake = fake_new();
    fake->regs[NVME_REG_CAP / 4] |= 4u << 24;
    g_assert_cmpint(fake_start(fake, &late, &err), ==, 0);
    g_assert_cmpuint(fake->dev->options.timeout_ms, ==, 2001);
    fake_free(fake);
}

/* What a command can move; what is no number of that is no limit. */
static void test_most(void)
{
    static const struct {
        uint8_t mdts;
        uint32_t most;
    } limits[] = {
        { 0, HUGE }, { 1, 2 * NVME_PAGE }, { 8, HUGE / 2 }, { 9, HUGE },
        { 255, HUGE },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(limits); i++) {
        FakeNvme *fake = fake_new();

        fake->mdts = limits[i].mdts;
        g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
        g_assert_cmpuint(cintio_info(fake->dev)->max_transfer, ==,
                         limits[i].most);
        fake_free(fake);
    }
}

/* A group has queues with interrupts only. */
static void test_joining(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, true);
    struct cintio_group *group = NULL;

    g_assert_cmpint(cintio_group_create(&group, &err), ==, 0);
    g_assert_cmpint(cintio_group_add(group, q, NULL, &err), ==, -ENOTSUP);
    expect_text(err.text, "queue 1 was created without interrupts");
    cintio_group_remove(group, q);
    cintio_group_destroy(group);
    cintio_queue_destroy(q);
    fake_free(fake);
}

static void test_later(void)
{
    const struct cintio_namespace *ns = NULL;
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, true);
    uint32_t id;
    void *page = NULL;
    size_t len;

    g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_INTERRUPT, 0, &err), ==,
                    -EINVAL);
    expect_text(err.text, "queue 1 was created without interrupts");
    fake->refused = NVME_ADMIN_IDENTIFY;
    g_assert_cmpint(cintio_namespaces(fake->dev, &id, 1, &err), ==, -EIO);
    expect_text(err.text, "refused to list its namespaces");
    fake->refused = NVME_ADMIN_GET_FEATURES;
    g_assert_cmpint(cintio_queue_set_policy(q, CINTIO_POLICY_POINTER, &err), ==,
                    -EIO);
    fake->refused = NVME_ADMIN_GET_LOG;
    g_assert_cmpint(cintio_log(fake->dev, &page, &len, &err), ==, -EIO);
    g_assert_null(page);
    fake->refused = -1;
    fake->log_is_torn = true;
    g_assert_cmpint(cintio_log(fake->dev, &page, &len, &err), ==, -EIO);
    g_assert_null(page);
    expect_text(err.text, "006h");
    fake->log_is_torn = false;
    g_assert_cmpint(cintio_log(fake->dev, &page, &len, &err), ==, 0);
    free(page);
    fake->gone = true;
    g_assert_cmpint(cintio_namespace_open(fake->dev, 7, &ns, &err), ==,
                    -ENODEV);
    g_assert_null(ns);
    cintio_queue_destroy(q);
    cintio_queue_destroy(NULL);
    fake_free(fake);
    cintio_close(NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/refused/files/group", test_group);
    g_test_add_func("/refused/files/group-anew", test_group_without_files);
    g_test_add_func("/refused/memory/physical", test_physical);
    g_test_add_func("/refused/memory/none", test_memory);
    g_test_add_func("/refused/memory/large", test_large);
    g_test_add_func("/refused/memory/without-iommu", test_without_iommu);
    g_test_add_func("/refused/command/start", test_start);
    g_test_add_func("/refused/command/its-own-time", test_its_own_time);
    g_test_add_func("/refused/command/most", test_most);
    g_test_add_func("/refused/command/joining", test_joining);
    g_test_add_func("/refused/command/later", test_later);
    return g_test_run();
}
