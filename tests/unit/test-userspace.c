/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of the user-space driver against a fake controller: data, queues,
 * errors. How it waits is test-wait.c's.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "fake-nvme.h"
#include "places.h"

static struct cintio_error err;

static FakeNvme *started(void)
{
    FakeNvme *fake = fake_new();

    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    return fake;
}

static struct cintio_queue *queue_of(FakeNvme *fake, unsigned entries)
{
    struct cintio_queue_options options = { .entries = entries };
    struct cintio_queue *q = NULL;

    g_assert_cmpint(cintio_queue_create(fake->dev, &options, &q, &err), ==, 0);
    return q;
}

static struct cintio_mem *memory_of(FakeNvme *fake, size_t len)
{
    struct cintio_mem *mem = NULL;

    g_assert_cmpint(cintio_alloc(fake->dev, len, &mem, &err), ==, 0);
    return mem;
}

/* --- start -------------------------------------------------------------- */

static void test_info(void)
{
    FakeNvme *fake = started();
    const struct cintio_info *info = cintio_info(fake->dev);

    g_assert_cmpstr(info->model, ==, "a fake");
    g_assert_cmpstr(info->serial, ==, "12345");
    g_assert_cmpstr(info->firmware, ==, "1.0");
    g_assert_cmpuint(info->block_size, ==, FAKE_BLOCK);
    g_assert_cmpuint(info->blocks, ==, FAKE_BLOCKS);
    g_assert_cmpuint(info->max_transfer, ==, NVME_PAGE << FAKE_MDTS);
    g_assert_cmpuint(info->max_entries, ==, FAKE_ENTRIES);
    g_assert_cmpuint(info->queues, ==, FAKE_QUEUES);
    g_assert_cmpuint(info->cint_caps, ==, 0x1ff);
    fake_free(fake);

    /* no more queues than were asked for, whatever is granted */
    fake = fake_new();
    g_assert_cmpint(fake_start(fake, &(struct cintio_options) {
        .queues = 2 }, &err), ==, 0);
    g_assert_cmpuint(cintio_info(fake->dev)->queues, ==, 2);
    fake_free(fake);
}

/* Registers that are not mapped are registers that are not there. */
static void test_small_bar(void)
{
    FakeNvme *fake = fake_new();

    fake->bar_size = FAKE_POINTERS + 4;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpuint(cintio_info(fake->dev)->cint_caps, ==,
                     0x1ff & ~NVME_CINT_CAP_POINTER);
    fake_free(fake);
}

static int start_with(FakeNvme *fake, struct cintio_options options)
{
    int ret = fake_start(fake, &options, &err);

    g_assert_null(ret ? fake->dev : NULL);
    fake_free(fake);
    return ret;
}

static void test_start_errors(void)
{
    static const struct {
        uint32_t lbaf;
        const char *what;
    } formats[] = {
        { 9 << 16 | 8, "namespace 1 has metadata" },
        { 0, "blocks of 2^0 bytes; a command moves 512 to 262144 bytes" },
        { 8 << 16, "blocks of 2^8 bytes" },
        { 19 << 16, "blocks of 2^19 bytes" },
        { 41 << 16, "blocks of 2^41 bytes" },
    };
    FakeNvme *fake = fake_new();

    fake->gone = true;
    g_assert_cmpint(start_with(fake, (struct cintio_options) { 0 }), ==,
                    -ENODEV);
    expect_text(err.text, "fake");

    fake = fake_new();
    fake->regs[NVME_REG_CAP / 4 + 1] = 1 << 16;     /* MPSMIN */
    g_assert_cmpint(start_with(fake, (struct cintio_options) { 0 }), ==,
                    -ENOTSUP);
    expect_text(err.text, "pages larger than 4 KiB");

    fake = fake_new();
    fake->stuck = true;
    g_assert_cmpint(start_with(fake, (struct cintio_options) {
        .timeout_ms = 5 }), ==, -ETIMEDOUT);
    expect_text(err.text, "did not start in 5 ms");

    fake = fake_new();
    fake->stuck = true;
    fake->regs[NVME_REG_CSTS / 4] = NVME_CSTS_CFS;
    g_assert_cmpint(start_with(fake, (struct cintio_options) { 0 }), ==, -EIO);
    expect_text(err.text, "CSTS.CFS");

    fake = fake_new();
    fake->no_namespace = true;
    g_assert_cmpint(start_with(fake, (struct cintio_options) { .nsid = 7 }), ==,
                    -ENOENT);
    expect_text(err.text, "no namespace 7");

    for (unsigned i = 0; i < G_N_ELEMENTS(formats); i++) {
        fake = fake_new();
        fake->format = formats[i].lbaf;
        g_assert_cmpint(start_with(fake, (struct cintio_options) { 0 }), ==,
                        -ENOTSUP);
        expect_text(err.text, formats[i].what);
    }

    fake = fake_new();
    fake->regs[NVME_REG_CAP / 4 + 1] = 10;          /* DSTRD: 4 KiB */
    g_assert_cmpint(start_with(fake, (struct cintio_options) { 0 }), ==,
                    -ENOTSUP);
    expect_text(err.text, "4096 bytes apart, lie beyond its BAR0 of 8192");

    g_assert_cmpint(start_with(fake_new(), (struct cintio_options) {
        .queues = CINTIO_MAX_QUEUES + 1 }), ==, -EINVAL);
    expect_text(err.text, "1025 queues");
}

/* What cintio_open() says where there is nothing to open. */
static void test_no_device(void)
{
    struct cintio *dev = NULL;

    g_assert_cmpint(cintio_open("ffff:ff:1f.7", NULL, &dev, &err), ==, -ENOENT);
    expect_text(err.text, "no PCI function ffff:ff:1f.7");
    g_assert_cmpint(cintio_bind("ffff:ff:1f.7", 0, &err), ==, -ENOENT);
    g_assert_cmpint(cintio_unbind("ffff:ff:1f.7", &err), ==, -ENOENT);
    expect_text(err.text, "looks like 0000:00:03.0");
}

/* --- data --------------------------------------------------------------- */

static void one(FakeNvme *fake, struct cintio_queue *q,
                const struct cintio_io *io)
{
    struct cintio_done done;

    g_assert_cmpint(cintio_push(q, io), ==, 0);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    g_assert_cmpuint(fake_inflight(fake, cintio_queue_id(q)), ==, 1);
    fake_complete(fake, cintio_queue_id(q), 0, 0);
    g_assert_cmpint(cintio_complete(q, &done, 1, 1, CINTIO_FOREVER), ==, 1);
    g_assert_cmpuint(done.cookie, ==, io->cookie);
    g_assert_cmpuint(done.status, ==, 0);
}

static void fill(uint8_t *at, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++) {
        at[i] = (i * 2654435761u + seed) >> 13;
    }
}

static void check_data(FakeNvme *fake, struct cintio_queue *q,
                       struct cintio_mem *mem, size_t offset, unsigned blocks)
{
    size_t len = (size_t)blocks * FAKE_BLOCK;
    uint8_t *buf = (uint8_t *)mem->addr + offset;
    g_autofree uint8_t *want = g_malloc(len);
    struct cintio_io io = {
        .op = CINTIO_WRITE, .lba = blocks + offset % 512, .blocks = blocks,
        .mem = mem, .buf = buf, .cookie = offset,
    };

    fill(want, len, offset + blocks);
    memcpy(buf, want, len);
    one(fake, q, &io);
    g_assert_cmpmem(fake->disk + io.lba * FAKE_BLOCK, len, want, len);
    memset(mem->addr, 0xee, mem->len);
    io.op = CINTIO_READ;
    one(fake, q, &io);
    g_assert_cmpmem(buf, len, want, len);
    for (size_t i = 0; i < mem->len; i++) {
        uint8_t byte = ((uint8_t *)mem->addr)[i];

        g_assert_true(byte == 0xee || (i >= offset && i < offset + len));
    }
}

/* Every way that a buffer can lie across pages: one, two, a list. */
static void data_in(bool scattered)
{
    static const unsigned sizes[] = {
        1, 7, 8, 9, 15, 16, 17, 24, 63, 511, 512
    };
    static const size_t offsets[] = { 0, 4, 512, 3584, 4092, 4096, 6000 };
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 4);
    struct cintio_mem *mem;

    fake->scattered = scattered;
    mem = memory_of(fake, (NVME_PAGE << FAKE_MDTS) + 2 * NVME_PAGE);
    for (unsigned s = 0; s < G_N_ELEMENTS(sizes); s++) {
        for (unsigned o = 0; o < G_N_ELEMENTS(offsets); o++) {
            check_data(fake, q, mem, offsets[o], sizes[s]);
        }
    }
    cintio_free(fake->dev, mem);
    cintio_queue_destroy(q);
    fake_free(fake);
}

static void test_data(void)
{
    data_in(false);
}

static void test_data_scattered(void)
{
    data_in(true);
}

/* Each has a list of its own. */
static void test_data_of_two(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 4);
    size_t len = 4 * NVME_PAGE;
    struct cintio_mem *mem = memory_of(fake, 2 * len);
    struct cintio_done done[2];

    fill(mem->addr, 2 * len, 1);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(cintio_push(q, &(struct cintio_io) {
            .op = CINTIO_WRITE, .lba = 32 * i, .blocks = 32, .mem = mem,
            .buf = (uint8_t *)mem->addr + i * len }), ==, 0);
    }
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, 1, 2);
    g_assert_cmpint(cintio_complete(q, done, 2, 2, CINTIO_FOREVER), ==, 2);
    g_assert_cmpmem(fake->disk, 2 * len, mem->addr, 2 * len);
    cintio_free(fake->dev, mem);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* What the controller is given, for it is larger than the fake's disk. */
static void test_high_address(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 4);
    struct cintio_mem *mem = memory_of(fake, NVME_PAGE);

    ((struct cintio_info *)q->info)->blocks = UINT64_C(1) << 40;
    g_assert_cmpint(cintio_push(q, &(struct cintio_io) {
        .op = CINTIO_READ, .lba = UINT64_C(0x1234567890), .blocks = 8,
        .mem = mem, .buf = mem->addr }), ==, 0);
    g_assert_cmphex(q->sq[0].cdw10, ==, 0x34567890);
    g_assert_cmphex(q->sq[0].cdw11, ==, 0x12);
    g_assert_cmphex(q->sq[0].cdw12, ==, 7);
    cintio_free(fake->dev, mem);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* Doorbells further apart, and a BAR that ends before the last ones. */
static void test_doorbells(void)
{
    struct cintio_queue *q[3];
    FakeNvme *fake = fake_new();

    fake->regs[NVME_REG_CAP / 4 + 1] = 3;           /* DSTRD: 32 bytes */
    fake->bar_size = NVME_REG_DOORBELLS + 4 * 64;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpuint(cintio_info(fake->dev)->queues, ==, 3);
    for (unsigned i = 0; i < 3; i++) {
        q[i] = queue_of(fake, 4);
        one(fake, q[i], &(struct cintio_io) { .op = CINTIO_FLUSH });
        g_assert_cmpuint(fake->cq[i + 1].head, ==, 1);
    }
    for (unsigned i = 0; i < 3; i++) {
        cintio_queue_destroy(q[i]);
    }
    fake_free(fake);
}

/* A namespace of larger blocks: addresses and lengths are in those. */
static void test_large_blocks(void)
{
    FakeNvme *fake = fake_new();
    struct cintio_queue *q;
    struct cintio_mem *mem;

    fake->format = 12 << 16;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpuint(cintio_info(fake->dev)->block_size, ==, 4096);
    q = queue_of(fake, 4);
    mem = memory_of(fake, 3 * NVME_PAGE);
    g_assert_cmpint(cintio_push(q, &(struct cintio_io) {
        .op = CINTIO_READ, .lba = 5, .blocks = 3, .mem = mem,
        .buf = mem->addr }), ==, 0);
    g_assert_cmphex(q->sq[0].cdw10, ==, 5);
    g_assert_cmphex(q->sq[0].cdw12, ==, 2);
    g_assert_cmphex(q->sq[0].prp2, !=, 0);
    g_assert_cmpint(cintio_push(q, &(struct cintio_io) {
        .op = CINTIO_READ, .blocks = 4, .mem = mem, .buf = mem->addr }), ==,
        -EINVAL);
    expect_text(cintio_queue_error(q), "does not lie in its memory");
    cintio_free(fake->dev, mem);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* A controller without cint may take the two bits for something else. */
static void test_hints_of_a_plain_one(void)
{
    FakeNvme *fake = fake_new();
    struct cintio_queue *q;

    fake->plain = true;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    q = queue_of(fake, 4);
    one(fake, q, &(struct cintio_io) {
        .op = CINTIO_FLUSH, .hints = CINTIO_URGENT | CINTIO_BARRIER });
    cintio_queue_destroy(q);
    fake_free(fake);
}

static void test_flush(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 4);

    one(fake, q, &(struct cintio_io) { .op = CINTIO_FLUSH, .cookie = 3 });
    cintio_queue_destroy(q);
    fake_free(fake);
}

static void test_own_memory(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 4);
    void *own = mmap(NULL, 2 * NVME_PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct cintio_mem *mem = NULL;

    g_assert_cmpint(cintio_map(fake->dev, (uint8_t *)own + 8, NVME_PAGE, &mem,
                               &err), ==, -EINVAL);
    expect_text(err.text, "multiple of 4096");
    g_assert_cmpint(cintio_map(fake->dev, own, 2 * NVME_PAGE, &mem, &err), ==,
                    0);
    check_data(fake, q, mem, 512, 15);
    cintio_free(fake->dev, mem);
    munmap(own, 2 * NVME_PAGE);

    fake->dev->needs_huge_pages = true;
    g_assert_cmpint(cintio_map(fake->dev, own, NVME_PAGE, &mem, &err), ==,
                    -ENOTSUP);
    expect_text(err.text, "no IOMMU");
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* --- addresses ---------------------------------------------------------- */

/* A bridge's window, BARs in it, and what follows, as sysfs may list them. */
static void test_places_kept_clear(void)
{
    static const uint64_t base = CINTIO_FIRST_IOVA;
    static const struct {
        uint64_t start, end;
    } clear[] = {
        { base + 0x8000, base + 0xffff },       /* above the window */
        { base + 0x2000, base + 0x7fff },       /* the window */
        { base + 0x3000, base + 0x3fff },       /* ... and a BAR in it */
        { base + 0x11000, base + 0x12000 },     /* a page and a byte */
        { 0x1000, 0x1fff },                     /* below all */
        { 0x1000, base + 0xfff },               /* across the first address */
    };
    g_autofree struct cintio_places *places = g_new0(struct cintio_places, 1);
    uint64_t iova;

    for (unsigned i = 0; i < G_N_ELEMENTS(clear); i++) {
        cintio_place_keep_clear(places, clear[i].start, clear[i].end);
    }
    g_assert_cmpuint(places->nr, ==, 5);
    g_assert_cmpint(cintio_place_find(places, 0x2000, &iova), ==, 0);
    g_assert_cmphex(iova, ==, base + 0x13000);
    g_assert_cmpint(cintio_place_find(places, 0x1000, &iova), ==, 0);
    g_assert_cmphex(iova, ==, base + 0x1000);
    g_assert_cmpint(cintio_place_find(places, 0x1000, &iova), ==, 0);
    g_assert_cmphex(iova, ==, base + 0x10000);
    g_assert_cmpint(cintio_place_find(places, 0x1000, &iova), ==, 0);
    g_assert_cmphex(iova, ==, base + 0x15000);
    cintio_place_leave(places, base + 0x1000);
    g_assert_cmpint(cintio_place_find(places, 0x1000, &iova), ==, 0);
    g_assert_cmphex(iova, ==, base + 0x1000);
}

static void test_places_all_taken(void)
{
    g_autofree struct cintio_places *places = g_new0(struct cintio_places, 1);
    uint64_t iova;

    for (unsigned i = 0; i < CINTIO_MAX_MAPS; i++) {
        cintio_place_keep_clear(places, CINTIO_FIRST_IOVA + i * 0x3000,
                                CINTIO_FIRST_IOVA + i * 0x3000 + 0xfff);
    }
    /* half of them are for data */
    for (unsigned i = 0; i < CINTIO_MAX_MAPS / 2; i++) {
        g_assert_cmpint(cintio_place_find(places, 0x2000, &iova), ==, 0);
        g_assert_cmphex(iova, ==, CINTIO_FIRST_IOVA + i * 0x3000 + 0x1000);
    }
    g_assert_cmpint(cintio_place_find(places, 0x1000, &iova), ==, -ENOSPC);
    cintio_place_leave(places, CINTIO_FIRST_IOVA + 0x4000);
    g_assert_cmpint(cintio_place_find(places, 0x2000, &iova), ==, 0);
    g_assert_cmphex(iova, ==, CINTIO_FIRST_IOVA + 0x4000);
}

/* The controller takes a ring for one piece. */
static void test_ring_in_pieces(void)
{
    struct cintio_queue_options options = { .entries = FAKE_ENTRIES };
    FakeNvme *fake = started();
    struct cintio_queue *q = NULL;

    fake->scattered = true;
    g_assert_cmpint(cintio_queue_create(fake->dev, &options, &q, &err), ==,
                    -ENOMEM);
    expect_text(err.text, "not in one piece");
    fake_free(fake);
}

/* --- queues ------------------------------------------------------------- */

static void refused(struct cintio_queue *q, struct cintio_io io,
                    const char *part)
{
    g_assert_cmpint(cintio_push(q, &io), ==, -EINVAL);
    expect_text(cintio_queue_error(q), part);
    g_assert_cmpuint(cintio_outstanding(q), ==, 0);
}

static void test_bad_io(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 4);
    struct cintio_mem *mem = memory_of(fake, NVME_PAGE);
    struct cintio_io good = {
        .op = CINTIO_READ, .blocks = 8, .mem = mem, .buf = mem->addr,
    }, io;

    io = good; io.blocks = 0;
    refused(q, io, "0 blocks of 512 bytes");
    io = good; io.blocks = (NVME_PAGE << FAKE_MDTS) / FAKE_BLOCK + 1;
    refused(q, io, "513 blocks");
    io = good; io.lba = FAKE_BLOCKS - 7;
    refused(q, io, "the namespace has 8192");
    io = good; io.lba = UINT64_MAX;
    refused(q, io, "the namespace has 8192");
    io = good; io.buf = (uint8_t *)mem->addr + 4;
    refused(q, io, "does not lie in its memory");
    io = good; io.buf = (uint8_t *)mem->addr - 4;
    refused(q, io, "does not lie in its memory");
    io = good; io.buf = (uint8_t *)mem->addr + 2; io.blocks = 1;
    refused(q, io, "aligned to 4 bytes");
    io = good; io.mem = NULL;
    refused(q, io, "no memory is named");
    io = good; io.op = 9;
    refused(q, io, "operation 9");
    cintio_free(fake->dev, mem);
    cintio_queue_destroy(q);
    fake_free(fake);
}

static void test_full(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 4);
    struct cintio_io flush = { .op = CINTIO_FLUSH };
    struct cintio_done done[4];

    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(cintio_push(q, &flush), ==, 0);
    }
    g_assert_cmpint(cintio_push(q, &flush), ==, -EAGAIN);
    g_assert_cmpuint(fake_inflight(fake, 1), ==, 0);
    g_assert_cmpint(cintio_complete(q, done, 0, 4, 0), ==, 0);
    g_assert_cmpuint(fake_inflight(fake, 1), ==, 3);
    g_assert_cmpint(cintio_push(q, &flush), ==, -EAGAIN);
    fake_complete(fake, 1, 1, 0);
    g_assert_cmpint(cintio_complete(q, done, 1, 4, 0), ==, 1);
    g_assert_cmpint(cintio_push(q, &flush), ==, 0);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* No more than there is room for; the rest is the next call's. */
static void test_room(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 8);
    struct cintio_done done[8];

    for (unsigned i = 0; i < 5; i++) {
        g_assert_cmpint(cintio_push(q, &(struct cintio_io) {
            .op = CINTIO_FLUSH, .cookie = i }), ==, 0);
    }
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, 1, 5);
    g_assert_cmpint(cintio_complete(q, done, 4, 2, 0), ==, 2);
    g_assert_cmpuint(done[1].cookie, ==, 1);
    g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, 3);
    g_assert_cmpuint(done[2].cookie, ==, 4);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* Status codes arrive; entries of no command do not. */
static void test_statuses(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 8);
    struct cintio_io flush = { .op = CINTIO_FLUSH, .cookie = 77 };
    struct cintio_done done[8];

    g_assert_cmpint(cintio_push(q, &flush), ==, 0);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_post_bogus(fake, 1, 5);
    fake_post_bogus(fake, 1, 0xffff);
    fake_complete(fake, 1, 0, 0x281);
    fake_post_bogus(fake, 1, 0);
    g_assert_cmpint(cintio_complete(q, done, 8, 8, 0), ==, 1);
    g_assert_cmpuint(done[0].cookie, ==, 77);
    g_assert_cmphex(done[0].status, ==, 0x281);
    g_assert_cmpuint(cintio_outstanding(q), ==, 0);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* As many as there are, none twice, and again after one is gone. */
static void test_identifiers(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q[FAKE_QUEUES], *more = NULL;

    for (unsigned i = 0; i < FAKE_QUEUES; i++) {
        q[i] = queue_of(fake, 4);
        g_assert_cmpuint(cintio_queue_id(q[i]), ==, i + 1);
    }
    g_assert_cmpint(cintio_queue_create(fake->dev, NULL, &more, &err), ==,
                    -EBUSY);
    expect_text(err.text, "4 I/O queue pairs");
    cintio_queue_destroy(q[2]);
    q[2] = queue_of(fake, 8);
    g_assert_cmpuint(cintio_queue_id(q[2]), ==, 3);
    for (unsigned i = 0; i < FAKE_QUEUES; i++) {
        cintio_queue_destroy(q[i]);
    }
    fake_free(fake);
}

static void bad_queue(FakeNvme *fake, struct cintio_queue_options options,
                      int code, const char *part)
{
    struct cintio_queue *q = NULL;

    g_assert_cmpint(cintio_queue_create(fake->dev, &options, &q, &err), ==,
                    code);
    expect_text(err.text, part);
}

static void test_queue_errors(void)
{
    FakeNvme *fake = fake_new();

    fake->plain = true;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    bad_queue(fake, (struct cintio_queue_options) { .entries = 1 }, -EINVAL,
              "2 to 128");
    bad_queue(fake, (struct cintio_queue_options) { .entries = 129 }, -EINVAL,
              "2 to 128");
    bad_queue(fake, (struct cintio_queue_options) { .no_interrupts = true,
              .mode = CINTIO_INTERRUPT }, -EINVAL, "without interrupts");
    bad_queue(fake, (struct cintio_queue_options) { .mode = 9 }, -EINVAL,
              "mode 9");
    bad_queue(fake, (struct cintio_queue_options) { .mode = CINTIO_COALESCED },
              -ENOTSUP, "fake (a fake) has no interrupt pointer");
    fake_free(fake);

    fake = started();
    bad_queue(fake, (struct cintio_queue_options) { .mode = CINTIO_COALESCED,
              .policy = CINTIO_POLICY_CINT }, -ENOTSUP,
              "give it the policy pointer");
    bad_queue(fake, (struct cintio_queue_options) { .policy = 7 }, -EINVAL,
              "policy 7: 0 (own) to 6 (pointer)");
    fake_free(fake);
}

static void test_policies(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 8);

    g_assert_cmpint(cintio_queue_set_policy(q, CINTIO_POLICY_POINTER, &err),
                    ==, 0);
    g_assert_cmpuint(fake->cq[1].engine.config.policy, ==,
                     NVME_CINT_POLICY_POINTER);
    g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_COALESCED, 0, &err), ==, 0);
    g_assert_cmpint(cintio_queue_set_policy(q, CINTIO_POLICY_OWN, &err), ==,
                    0);
    g_assert_cmpuint(fake->cq[1].engine.config.policy, ==,
                     NVME_CINT_POLICY_POINTER);
    g_assert_cmpint(q->mode, ==, CINTIO_COALESCED);
    g_assert_cmpint(cintio_queue_set_policy(q, 7, &err), ==, -EINVAL);
    expect_text(err.text, "0 (own) to 6 (pointer)");
    /* without the pointer nobody can be coalesced by it */
    g_assert_cmpint(cintio_queue_set_policy(q, CINTIO_POLICY_DEFAULT, &err),
                    ==, 0);
    g_assert_cmpint(q->mode, ==, CINTIO_INTERRUPT);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* At once or later, an operator's change ends nothing that was opened. */
static void test_overruled(void)
{
    const struct cintio_queue_options options = { .mode = CINTIO_COALESCED };
    FakeNvme *fake = started();
    struct cintio_queue *q, *other = queue_of(fake, 8);

    fake->overruled = NVME_CINT_POLICY_DEFAULT;
    g_assert_cmpint(cintio_queue_create(fake->dev, &options, &q, &err), ==, 0);
    g_assert_cmpuint(fake->cq[2].engine.config.policy, ==,
                     NVME_CINT_POLICY_DEFAULT);
    g_assert_cmpint(q->mode, ==, CINTIO_COALESCED);
    g_assert_cmpint(cintio_queue_set_policy(other, CINTIO_POLICY_POINTER, &err),
                    ==, 0);
    g_assert_cmpint(cintio_queue_set_mode(other, CINTIO_COALESCED, 0, &err),
                    ==, 0);
    cintio_queue_destroy(q);
    /* who asks for no policy is told of the one that is there */
    fake->config.policy = NVME_CINT_POLICY_POINTER;
    g_assert_cmpint(cintio_queue_create(fake->dev, NULL, &q, &err), ==, 0);
    g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_COALESCED, 0, &err), ==, 0);
    cintio_queue_destroy(q);
    cintio_queue_destroy(other);
    fake_free(fake);
}

/* One vector is the admin queue's; who polls needs none. */
static void test_one_vector(void)
{
    const struct cintio_queue_options polled = { .no_interrupts = true };
    FakeNvme *fake = fake_new();
    struct cintio_queue *q;

    fake->vectors = 1;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpuint(cintio_info(fake->dev)->queues, ==, FAKE_QUEUES);
    g_assert_cmpint(cintio_queue_create(fake->dev, NULL, &q, &err), ==,
                    -ENOTSUP);
    expect_text(err.text, "1 interrupt vectors");
    g_assert_cmpint(cintio_queue_create(fake->dev, &polled, &q, &err), ==, 0);
    one(fake, q, &(struct cintio_io) { .op = CINTIO_FLUSH });
    cintio_queue_destroy(q);
    fake_free(fake);

    fake = fake_new();
    fake->vectors = 3;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpuint(cintio_info(fake->dev)->queues, ==, 2);
    fake_free(fake);
}

/* --- log page, records -------------------------------------------------- */

static void test_log(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 8);
    NvmeCintLogRecord *record;
    void *page = NULL;
    size_t len = 0;

    one(fake, q, &(struct cintio_io) { .op = CINTIO_FLUSH });
    g_assert_cmpint(cintio_log(fake->dev, &page, &len, &err), ==, 0);
    g_assert_cmpuint(len, ==, 64 + 5 * sizeof(NvmeCintLogRecord));
    record = (NvmeCintLogRecord *)((uint8_t *)page + 64);
    g_assert_cmpuint(record[4].cqid, ==, 4);
    g_assert_cmpuint(record[1].cqid, ==, 1);
    g_assert_cmpuint(record[1].cqes, ==, 1);
    free(page);
    fake->no_sizes = true;
    g_assert_cmpint(cintio_log(fake->dev, &page, &len, &err), ==, -EIO);
    expect_text(err.text, "makes no sense");
    cintio_queue_destroy(q);
    fake_free(fake);

    fake = fake_new();
    fake->plain = true;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpint(cintio_log(fake->dev, &page, &len, &err), ==, -ENOTSUP);
    expect_text(err.text, "cint=on");
    g_assert_cmpint(cintio_records(fake->dev, true, &err), ==, -ENOTSUP);
    fake_free(fake);
}

static void push_marked(struct cintio_queue *q, const char *marks)
{
    for (unsigned i = 0; marks[i]; i++) {
        struct cintio_io io = {
            .op = CINTIO_FLUSH, .cookie = i,
            .hints = marks[i] == 'U' ? CINTIO_URGENT :
                     marks[i] == '2' ? CINTIO_URGENT | CINTIO_BARRIER : 0,
        };

        g_assert_cmpint(cintio_push(q, &io), ==, 0);
    }
    g_assert_cmpint(cintio_ring(q), ==, 0);
}

static void expect_taken(struct cintio_queue *q, unsigned max, const char *want)
{
    struct cintio_done done[64];
    g_autoptr(GString) text = g_string_new(NULL);
    int n = cintio_complete(q, done, 0, max, 0);

    for (int i = 0; i < n; i++) {
        g_string_append_printf(text, "%s%d", i ? " " : "",
                               (int)done[i].cookie);
    }
    g_assert_cmpstr(text->str, ==, want);
}

static FakeNvme *with_records_of(unsigned entries, struct cintio_queue **q)
{
    FakeNvme *fake = fake_new();

    fake->config.policy = NVME_CINT_POLICY_CINT;
    fake->config.thr = 4;
    fake->config.drain = CINT_OFF;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpint(cintio_records(fake->dev, true, &err), ==, 0);
    *q = queue_of(fake, entries);
    g_assert_cmpint(cintio_queue_set_mode(*q, CINTIO_INTERRUPT, 0, &err), ==,
                    0);
    return fake;
}

static FakeNvme *with_records(struct cintio_queue **q)
{
    return with_records_of(16, q);
}

/* Urgent ones overtake; the others wait for the interrupt that is theirs. */
static void test_out_of_order(void)
{
    struct cintio_queue *q;
    FakeNvme *fake = with_records(&q);

    push_marked(q, "..U.2U..");
    fake_complete_some(fake, 1, 2);
    expect_taken(q, 16, "");
    fake_complete_some(fake, 1, 1);
    expect_taken(q, 16, "2");
    g_assert_cmpuint(fake->cq[1].reasons[NVME_CINT_REASON_URGENT], ==, 1);
    g_assert_cmpuint(fake->cq[1].head, ==, 0);
    /* both hints are none, and the fourth that is kept ends the burst */
    fake_complete_some(fake, 1, 1);
    expect_taken(q, 16, "0 1 3");
    g_assert_cmpuint(fake->cq[1].head, ==, 4);
    fake_complete_some(fake, 1, 2);
    expect_taken(q, 16, "5");
    g_assert_cmpuint(fake->cq[1].head, ==, 4);
    fake_complete_some(fake, 1, 2);
    expect_taken(q, 1, "4");
    expect_taken(q, 16, "6 7");
    g_assert_cmpuint(fake->cq[1].head, ==, 8);
    g_assert_cmpint(cintio_records(fake->dev, false, &err), ==, -EBUSY);
    cintio_queue_destroy(q);
    g_assert_cmpint(cintio_records(fake->dev, false, &err), ==, 0);
    fake_free(fake);
}

/* The identifier of a command that overtook is given to another at once. */
static void test_identifier_again(void)
{
    struct cintio_queue *q;
    FakeNvme *fake = with_records(&q);

    push_marked(q, "..U");
    fake_complete_some(fake, 1, 3);
    expect_taken(q, 16, "2");
    push_marked(q, ".");
    g_assert_true(fake_deadline(fake, 1));
    expect_taken(q, 16, "0 1");
    g_assert_cmpuint(cintio_outstanding(q), ==, 1);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/*
 * News while no more may be returned: what is behind an entry that was taken
 * before is looked at again, and neither it nor its mark is left for the next
 * lap, when identifiers are those of other commands.
 */
static void test_less_than_told(void)
{
    struct cintio_queue *q;
    FakeNvme *fake = with_records_of(8, &q);

    for (unsigned lap = 0; lap < 4; lap++) {
        unsigned before = fake->cq[1].posted;

        push_marked(q, "..U..");
        fake_complete_some(fake, 1, 3);
        expect_taken(q, 8, "2");
        g_assert_true(fake_deadline(fake, 1));
        expect_taken(q, 2, "0 1");
        g_assert_cmpuint(fake->cq[1].head, ==, (before + 3) % 8);
        /* the identifiers that are free again */
        push_marked(q, "U..");
        expect_taken(q, 8, "");
        g_assert_cmpuint(cintio_outstanding(q), ==, fake_inflight(fake, 1));
        fake_complete_some(fake, 1, 5);
        g_assert_cmpuint(fake->cq[1].posted - before, ==, 8);
        for (unsigned i = 0; i < 8; i++) {
            struct cintio_done done;

            cintio_complete(q, &done, 0, 1, 0);
            fake_deadline(fake, 1);
        }
        g_assert_cmpuint(cintio_outstanding(q), ==, 0);
        g_assert_cmpuint(fake->cq[1].head, ==, fake->cq[1].tail);
    }
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* Whoever polls takes what is there, whatever was told. */
static void test_records_polled(void)
{
    struct cintio_queue *q;
    FakeNvme *fake = with_records(&q);

    push_marked(q, ".U..");
    fake_complete_some(fake, 1, 3);
    expect_taken(q, 16, "1");
    g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_POLL, 0, &err), ==, 0);
    expect_taken(q, 16, "0 2");
    fake_complete_some(fake, 1, 1);
    expect_taken(q, 16, "3");
    g_assert_cmpuint(fake->cq[1].head, ==, 4);
    cintio_queue_destroy(q);
    fake_free(fake);
}

static unsigned int maps_of(const FakeNvme *fake)
{
    unsigned int n = 0;

    for (unsigned i = 0; i < FAKE_MEMS; i++) {
        n += fake->mem[i].mem != NULL;
    }
    return n;
}

/*
 * A reset switches them off. A queue from before keeps its record, which
 * nothing is written to, and queues after it have none until they are on again.
 */
static void test_records_reset(void)
{
    struct cintio_queue *q, *fresh;
    FakeNvme *fake = with_records(&q);
    struct cintio_done done;

    push_marked(q, "..U");
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_cmpuint(q->record->full_tail, ==, 0);
    g_assert_cmpint(cintio_complete(q, &done, 0, 1, 0), ==, -ESTALE);
    g_assert_cmpint(cintio_records(fake->dev, true, &err), ==, -EBUSY);
    fresh = queue_of(fake, 16);
    g_assert_null(fresh->record);
    cintio_queue_destroy(fresh);
    cintio_queue_destroy(q);
    g_assert_cmpuint(fake->records, ==, 0);
    ((NvmeCintRecord *)fake->dev->records->addr)[1].seq = 5;
    g_assert_cmpint(cintio_records(fake->dev, true, &err), ==, 0);
    g_assert_cmpuint(maps_of(fake), ==, 2);     /* admin queue, records */
    q = queue_of(fake, 16);
    g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_INTERRUPT, 0, &err), ==, 0);
    push_marked(q, "..U");
    fake_complete_some(fake, 1, 3);
    expect_taken(q, 16, "2");
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* Another thread wants a queue, and the controller answers only then. */
static void want_a_queue(FakeNvme *fake, uint32_t offset)
{
    struct cintio_queue *none = NULL;

    if (offset != NVME_REG_CSTS || !fake->stuck) {
        return;
    }
    g_assert_cmpint(cintio_queue_create(fake->dev, NULL, &none, &err), ==,
                    -EBUSY);
    expect_text(err.text, "another thread switches the status records");
    g_assert_null(none);
    fake_answer(fake);
}

/* No queue is made of which nobody knows whether it has a record. */
static void test_records_switched(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q;

    fake->late = NVME_ADMIN_SET_FEATURES;
    fake->meanwhile = want_a_queue;
    g_assert_cmpint(cintio_records(fake->dev, true, &err), ==, 0);
    fake->meanwhile = NULL;
    g_assert_cmpint(fake->late, ==, -1);
    q = queue_of(fake, 16);
    g_assert_nonnull(q->record);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* A record that says too much makes no completion of an empty slot. */
static void test_record_too_far(void)
{
    struct cintio_queue *q;
    FakeNvme *fake = with_records(&q);

    push_marked(q, "....");
    fake_complete_some(fake, 1, 2);
    q->record->full_tail = 12;
    expect_taken(q, 16, "0 1");
    fake_complete_some(fake, 1, 1);
    expect_taken(q, 16, "2");
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* What a reset finds is for queues after it; those before go by what was. */
static void test_reset_learns(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 4);
    const struct cintio_info *before = cintio_info(fake->dev);

    g_assert_cmpuint(before->cint_caps, !=, 0);
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_true(cintio_info(fake->dev) == before);
    fake->plain = true;
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_cmpuint(cintio_info(fake->dev)->cint_caps, ==, 0);
    g_assert_cmpuint(before->cint_caps, !=, 0);
    g_assert_true(q->info == before);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* --- what goes wrong ---------------------------------------------------- */

static void test_reset(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 8), *fresh;
    struct cintio_io flush = { .op = CINTIO_FLUSH };
    struct cintio_done done;

    g_assert_cmpint(cintio_push(q, &flush), ==, 0);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    /* whoever has given all memory away can reset */
    fake->no_memory = true;
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    fake->no_memory = false;
    g_assert_true(fake_is_signalled(fake, 1));
    g_assert_cmpint(cintio_complete(q, &done, 1, 1, CINTIO_FOREVER), ==,
                    -ESTALE);
    expect_text(cintio_queue_error(q), "1 commands of queue 1 are lost");
    g_assert_cmpint(cintio_ring(q), ==, -ESTALE);
    /* it has no policy, and another of its identifier does not get one */
    g_assert_cmpint(cintio_queue_set_policy(q, CINTIO_POLICY_POINTER, &err),
                    ==, -ESTALE);
    expect_text(err.text, "fake was reset");
    /* its doorbells may not become another's */
    fresh = queue_of(fake, 8);
    g_assert_cmpuint(cintio_queue_id(fresh), ==, 2);
    cintio_queue_destroy(q);
    one(fake, fresh, &flush);
    cintio_queue_destroy(fresh);
    q = queue_of(fake, 8);
    g_assert_cmpuint(cintio_queue_id(q), ==, 1);
    one(fake, q, &flush);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* Who pushes while another thread resets the controller. */
static struct {
    struct cintio_queue *q;
    struct cintio_io io;
    unsigned pushed;
} pusher;

static void push_on(FakeNvme *fake, uint32_t offset)
{
    struct cintio_queue *q = pusher.q;

    g_assert_cmpint(cintio_push(q, &pusher.io), ==, 0);
    /* the list is the queue's own */
    g_assert_cmphex(q->sq[pusher.pushed++].prp2 - q->mem->iova, <,
                    q->mem->len);
}

/*
 * A queue has room for the lists that it was made with, whatever the reset is
 * about and the controller says afterwards.
 */
static void test_push_during_reset(void)
{
    FakeNvme *fake = fake_new();
    struct cintio_mem *mem;
    struct cintio_done done;

    fake->mdts = 3;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    mem = memory_of(fake, 64 * FAKE_BLOCK);
    pusher.q = queue_of(fake, 64);
    pusher.pushed = 0;
    pusher.io = (struct cintio_io) {
        .op = CINTIO_READ, .blocks = 64, .mem = mem, .buf = mem->addr,
    };
    fake->mdts = 4;
    fake->meanwhile = push_on;
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    fake->meanwhile = NULL;
    g_assert_cmpuint(pusher.pushed, >, 2);
    while (pusher.pushed < 63) {
        push_on(fake, 0);
    }
    g_assert_cmpint(cintio_complete(pusher.q, &done, 1, 1, 0), ==, -ESTALE);
    cintio_queue_destroy(pusher.q);

    pusher.q = queue_of(fake, 64);
    fake->mdts = 5;
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    cintio_free(fake->dev, mem);
    mem = memory_of(fake, NVME_PAGE << 5);
    pusher.io.mem = mem;
    pusher.io.buf = mem->addr;
    pusher.io.blocks = NVME_PAGE * 32 / FAKE_BLOCK;
    g_assert_cmpint(cintio_push(pusher.q, &pusher.io), ==, -EINVAL);
    expect_text(cintio_queue_error(pusher.q), "1 block to 65536 bytes");
    cintio_queue_destroy(pusher.q);
    cintio_free(fake->dev, mem);
    fake_free(fake);
}

/* Surprise removal: everything ends at once, and each call says why. */
static void test_gone(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, 8), *none = NULL;
    uint64_t start = cintio_now();
    struct cintio_done done;
    void *page;
    size_t len;

    g_assert_cmpint(cintio_push(q, &(struct cintio_io) {
        .op = CINTIO_FLUSH }), ==, 0);
    fake->gone = true;
    /* the end of so long a time is beyond that of the clock */
    g_assert_cmpint(cintio_complete(q, &done, 1, 1, CINTIO_FOREVER - 1), ==,
                    -ENODEV);
    expect_text(cintio_queue_error(q), "was removed");
    g_assert_cmpint(cintio_log(fake->dev, &page, &len, &err), ==, -ENODEV);
    g_assert_cmpint(cintio_queue_create(fake->dev, NULL, &none, &err), ==,
                    -ENODEV);
    g_assert_null(none);
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, -ENODEV);
    expect_text(err.text, "was removed");
    cintio_queue_destroy(q);
    /* the wait looks after the controller once a second */
    g_assert_cmpuint(cintio_now() - start, <, UINT64_C(4000000000));
    fake_free(fake);
}

/* A queue that cannot be as it was asked for is not there. */
static void test_no_half_queue(void)
{
    struct cintio_queue_options options = {
        .mode = CINTIO_COALESCED, .policy = CINTIO_POLICY_VIC,
    };
    FakeNvme *fake = started();
    struct cintio_queue *q = NULL;

    for (unsigned i = 0; i < 2 * FAKE_QUEUES; i++) {
        g_assert_cmpint(cintio_queue_create(fake->dev, &options, &q, &err), ==,
                        -ENOTSUP);
        expect_text(err.text, "give it the policy pointer");
        g_assert_null(q);
    }
    fake_free(fake);
}

/* Whatever its creation ends with, no ring is left in memory given back. */
static void test_creation_undone(void)
{
    static const struct {
        uint8_t opcode;
        const char *what;
    } steps[] = {
        { NVME_ADMIN_CREATE_CQ, "refused to create a completion queue" },
        { NVME_ADMIN_CREATE_SQ, "refused to create a submission queue" },
        { NVME_ADMIN_GET_FEATURES, "refused to tell a queue's policy" },
    };
    FakeNvme *fake = started();

    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        struct cintio_queue *q;

        fake->refused = steps[i].opcode;
        bad_queue(fake, (struct cintio_queue_options) { 0 }, -EIO,
                  steps[i].what);
        g_assert_cmpuint(fake->cq[1].size, ==, 0);
        g_assert_cmpuint(fake->sq[1].size, ==, 0);
        g_assert_cmpint(fake->cq[1].eventfd, ==, -1);
        fake->refused = -1;
        q = queue_of(fake, 4);
        g_assert_cmpuint(cintio_queue_id(q), ==, 1);
        one(fake, q, &(struct cintio_io) { .op = CINTIO_FLUSH });
        cintio_queue_destroy(q);
    }
    fake_free(fake);
}

/* A controller may complete what it was given until it says that it is gone. */
static void test_not_let_go(void)
{
    FakeNvme *fake = fake_new();
    struct cintio_queue *q;

    g_assert_cmpint(fake_start(fake, &(struct cintio_options) {
        .timeout_ms = 5 }, &err), ==, 0);
    q = queue_of(fake, 4);
    g_assert_cmpint(cintio_push(q, &(struct cintio_io) {
        .op = CINTIO_FLUSH }), ==, 0);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake->stuck = true;
    cintio_queue_destroy(q);
    fake_complete(fake, 1, 0, 0);
    bad_queue(fake, (struct cintio_queue_options) { 0 }, -EIO,
              "has stopped to answer admin commands: reset it");
    fake->stuck = false;
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_cmpuint(maps_of(fake), ==, 1);     /* of the admin queue */
    q = queue_of(fake, 4);
    g_assert_cmpuint(cintio_queue_id(q), ==, 1);
    /* neither is it anybody's after the end */
    fake->stuck = true;
    cintio_queue_destroy(q);
    fake->stuck = false;
    fake_free(fake);
}

/* What is outstanding is given up; the driver does not wait for it. */
static void destroy_busy(struct cintio_queue *q)
{
    g_assert_cmpint(cintio_push(q, &(struct cintio_io) {
        .op = CINTIO_FLUSH }), ==, 0);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    cintio_queue_destroy(q);
}

/* The identifier serves again; of the rings before nothing is left. */
static void use_first_again(FakeNvme *fake)
{
    struct cintio_queue *q = queue_of(fake, 8);

    g_assert_cmpuint(cintio_queue_id(q), ==, 1);
    one(fake, q, &(struct cintio_io) { .op = CINTIO_FLUSH });
    cintio_queue_destroy(q);
    g_assert_cmpuint(fake->cq[1].size, ==, 0);
    g_assert_cmpuint(maps_of(fake), ==, 1);     /* of the admin queue */
}

/*
 * What is carried out after its time-out: no ring is left in memory that was
 * given back, and the identifier serves again, without a reset.
 */
static void test_carried_out_late(void)
{
    static const struct {
        int opcode;
        unsigned not_there;     /* how often the driver asks in vain */
    } steps[] = {
        { NVME_ADMIN_CREATE_CQ, 0 }, { NVME_ADMIN_CREATE_SQ, 0 },
        { NVME_ADMIN_GET_FEATURES, 1 }, { NVME_ADMIN_DELETE_SQ, 1 },
        { NVME_ADMIN_DELETE_CQ, 1 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        FakeNvme *fake = fake_new();
        bool creating = steps[i].opcode != NVME_ADMIN_DELETE_SQ &&
                        steps[i].opcode != NVME_ADMIN_DELETE_CQ;
        struct cintio_queue *q = NULL;

        g_assert_cmpint(fake_start(fake, &(struct cintio_options) {
            .timeout_ms = 5 }, &err), ==, 0);
        q = creating ? NULL : queue_of(fake, 4);
        fake->late = steps[i].opcode;
        if (creating) {
            bad_queue(fake, (struct cintio_queue_options) { 0 }, -ETIMEDOUT,
                      "does not answer");
        } else {
            destroy_busy(q);
        }
        g_assert_cmpuint(maps_of(fake), ==, 2);
        bad_queue(fake, (struct cintio_queue_options) { 0 }, -EIO,
                  "has stopped to answer admin commands: reset it");
        g_assert_cmpuint(maps_of(fake), ==, 2);
        fake_answer(fake);
        use_first_again(fake);
        g_assert_cmpuint(fake->not_there, ==, steps[i].not_there);
        fake->not_there = 0;
        fake_free(fake);
    }
}

/* The late answer is a refusal: then there is nothing to be let go of. */
static void test_refused_late(void)
{
    static const int opcodes[] = {
        NVME_ADMIN_CREATE_CQ, NVME_ADMIN_CREATE_SQ,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(opcodes); i++) {
        FakeNvme *fake = fake_new();

        g_assert_cmpint(fake_start(fake, &(struct cintio_options) {
            .timeout_ms = 5 }, &err), ==, 0);
        fake->late = fake->refused = opcodes[i];
        bad_queue(fake, (struct cintio_queue_options) { 0 }, -ETIMEDOUT,
                  "does not answer");
        fake_answer(fake);
        fake->refused = -1;
        use_first_again(fake);
        g_assert_cmpuint(fake->not_there, ==, 1);
        fake->not_there = 0;
        fake_free(fake);
    }
}

/* A controller that refuses to delete a queue has it, and may write to it. */
static void test_deletion_refused(void)
{
    static const int opcodes[] = {
        NVME_ADMIN_DELETE_SQ, NVME_ADMIN_DELETE_CQ,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(opcodes); i++) {
        FakeNvme *fake = started();
        struct cintio_queue *q = queue_of(fake, 4);

        fake->refused = opcodes[i];
        destroy_busy(q);
        g_assert_cmpuint(maps_of(fake), ==, 2);
        q = queue_of(fake, 4);
        g_assert_cmpuint(cintio_queue_id(q), ==, 2);
        fake->refused = -1;
        cintio_queue_destroy(q);
        use_first_again(fake);
        fake_free(fake);
    }
}

/* With a read in flight that may yet be written to its buffer. */
static struct cintio_queue *reading(FakeNvme *fake, struct cintio_mem **mem)
{
    struct cintio_io io = { .op = CINTIO_READ, .blocks = 1 };
    struct cintio_queue *q;

    g_assert_cmpint(fake_start(fake, &(struct cintio_options) {
        .timeout_ms = 5 }, &err), ==, 0);
    q = queue_of(fake, 4);
    *mem = io.mem = memory_of(fake, NVME_PAGE);
    io.buf = io.mem->addr;
    g_assert_cmpint(cintio_push(q, &io), ==, 0);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    return q;
}

/* Neither is its data anybody else's while the controller has the queue. */
static void test_data_not_let_go(void)
{
    for (unsigned i = 0; i < 4; i++) {
        FakeNvme *fake = fake_new();
        struct cintio_mem *mem, *more;
        struct cintio_queue *q = reading(fake, &mem);

        more = memory_of(fake, NVME_PAGE);
        if (i & 1) {
            fake->stuck = true;
        } else {
            fake->refused = NVME_ADMIN_DELETE_SQ;
        }
        cintio_queue_destroy(q);
        cintio_free(fake->dev, mem);
        cintio_free(fake->dev, more);
        g_assert_cmpuint(maps_of(fake), ==, 4);
        if (i & 1) {
            bad_queue(fake, (struct cintio_queue_options) { 0 }, -EIO,
                      "has stopped to answer admin commands");
        } else {
            /* whoever makes another one asks again, and is refused again */
            cintio_queue_destroy(queue_of(fake, 4));
            g_assert_cmpuint(maps_of(fake), ==, 5);
        }
        fake_complete(fake, 1, 0, 0);
        fake->refused = -1;
        fake_answer(fake);
        if (i & 2) {
            use_first_again(fake);
        } else {
            g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
        }
        g_assert_cmpuint(maps_of(fake), ==, 1);     /* of the admin queue */
        mem = memory_of(fake, NVME_PAGE);
        cintio_free(fake->dev, mem);
        g_assert_cmpuint(maps_of(fake), ==, 1);
        g_assert_cmpuint(fake->not_there, ==, i == 3);
        fake->not_there = 0;
        fake_free(fake);
    }
}

static struct cintio_queue *not_stopped(FakeNvme *fake)
{
    struct cintio_mem *mem;
    struct cintio_queue *q = reading(fake, &mem);

    fake->stuck = true;
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, -ETIMEDOUT);
    expect_text(err.text, "did not stop in 5 ms");
    cintio_free(fake->dev, mem);
    return q;
}

/* What was given back stays in place until a controller has stopped. */
static void test_not_stopped(void)
{
    FakeNvme *fake = fake_new();
    struct cintio_queue *q = not_stopped(fake);

    cintio_queue_destroy(q);
    fake->cq[1].eventfd = -1;
    bad_queue(fake, (struct cintio_queue_options) { 0 }, -EIO,
              "did not stop when it was reset: reset it again, or close it");
    fake_complete(fake, 1, 0, 0);
    fake_answer(fake);
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_cmpuint(maps_of(fake), ==, 1);     /* of the admin queue */
    q = queue_of(fake, 4);
    g_assert_cmpuint(cintio_queue_id(q), ==, 1);
    one(fake, q, &(struct cintio_io) { .op = CINTIO_FLUSH });
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* The same at its end: one that never stops writes when it is closed. */
static void test_never_stopped(void)
{
    for (unsigned i = 0; i < 4; i++) {
        FakeNvme *fake = fake_new();
        struct cintio_queue *q = not_stopped(fake);

        if (i & 1) {
            cintio_queue_destroy(q);
        }
        g_assert_cmpuint(fake_inflight(fake, 1), ==, 1);
        if (i & 2) {
            fake_answer(fake);
        }
        fake_free(fake);
    }
}

/* An answer that comes late is not the next command's. */
static void test_late_answer(void)
{
    struct nvme_sqe unknown = { .opcode = 0x7f };
    FakeNvme *fake = fake_new();
    struct cintio_queue *q;

    g_assert_cmpint(fake_start(fake, &(struct cintio_options) {
        .timeout_ms = 5 }, &err), ==, 0);
    fake->stuck = true;
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(cintio_admin(fake->dev, &unknown, NULL, 0, NULL, &err),
                        ==, -ETIMEDOUT);
    }
    g_assert_cmpint(cintio_admin(fake->dev, &unknown, NULL, 0, NULL, &err), ==,
                    -EIO);
    expect_text(err.text, "has stopped to answer admin commands");
    fake_answer(fake);
    q = queue_of(fake, 4);
    cintio_queue_destroy(q);
    /* nor is it silent after a reset, whatever it was before */
    fake->ignored = unknown.opcode;
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(cintio_admin(fake->dev, &unknown, NULL, 0, NULL, &err),
                        ==, -ETIMEDOUT);
    }
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    fake_free(fake);
}

/* One that takes for ever is nobody else's matter, as long as others do not. */
static void test_slow_command(void)
{
    struct nvme_sqe event = { .opcode = 0x0c }, identify = {
        .opcode = NVME_ADMIN_IDENTIFY, .cdw10 = NVME_CNS_CONTROLLER,
    };
    uint8_t page[NVME_PAGE];
    FakeNvme *fake = fake_new();

    fake->ignored = event.opcode;
    g_assert_cmpint(fake_start(fake, &(struct cintio_options) {
        .timeout_ms = 5 }, &err), ==, 0);
    for (unsigned i = 0; i < 31; i++) {
        struct cintio_queue *q = queue_of(fake, 4);

        memset(page, 0, sizeof(page));
        g_assert_cmpint(cintio_admin(fake->dev, &identify, page, sizeof(page),
                                     NULL, &err), ==, 0);
        g_assert_cmpint(page[24], !=, 0);       /* the model's name */
        cintio_queue_destroy(q);
        g_assert_cmpint(cintio_admin(fake->dev, &event, NULL, 0, NULL, &err),
                        ==, -ETIMEDOUT);
    }
    /* but for their number */
    g_assert_cmpint(cintio_admin(fake->dev, &identify, page, sizeof(page), NULL,
                                 &err), ==, -EAGAIN);
    expect_text(err.text, "31 admin commands");
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_cmpint(cintio_admin(fake->dev, &identify, page, sizeof(page), NULL,
                                 &err), ==, 0);
    fake_free(fake);
}

/* The process does not run, as when it is stopped; meanwhile there is news. */
static void stopped_a_while(FakeNvme *fake, uint32_t offset)
{
    if (offset == NVME_REG_CSTS) {
        fake->meanwhile = NULL;
        usleep(10000);
        fake_answer(fake);
    }
}

/* What is there when the time is over is no time-out. */
static void test_news_while_stopped(void)
{
    FakeNvme *fake = fake_new();
    struct nvme_sqe unknown = { .opcode = 0x7f };

    g_assert_cmpint(fake_start(fake, &(struct cintio_options) {
        .timeout_ms = 5 }, &err), ==, 0);
    fake->stuck = true;
    fake->meanwhile = stopped_a_while;
    g_assert_cmpint(cintio_admin(fake->dev, &unknown, NULL, 0, NULL, &err), ==,
                    1);
    g_assert_null(fake->meanwhile);
    fake->stuck = true;
    fake->meanwhile = stopped_a_while;
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_null(fake->meanwhile);
    fake_free(fake);
}

static void test_admin_errors(void)
{
    FakeNvme *fake = fake_new();
    struct nvme_sqe sqe = { .opcode = 0x7f };
    char big[3 * NVME_PAGE];

    g_assert_cmpint(fake_start(fake, &(struct cintio_options) {
        .timeout_ms = 5 }, &err), ==, 0);
    g_assert_cmpint(cintio_admin(fake->dev, &sqe, NULL, 0, NULL, &err), ==, 1);
    g_assert_cmpint(cintio_admin(fake->dev, &sqe, big, sizeof(big), NULL, &err),
                    ==, -EINVAL);
    expect_text(err.text, "8192 bytes at most, not 12288");
    fake->stuck = true;
    g_assert_cmpint(cintio_admin(fake->dev, &sqe, NULL, 0, NULL, &err), ==,
                    -ETIMEDOUT);
    expect_text(err.text, "more than 5 ms");
    fake->regs[NVME_REG_CSTS / 4] |= NVME_CSTS_CFS;
    g_assert_cmpint(cintio_admin(fake->dev, &sqe, NULL, 0, NULL, &err), ==,
                    -EIO);
    expect_text(err.text, "has failed");
    fake->gone = true;
    g_assert_cmpint(cintio_admin(fake->dev, &sqe, NULL, 0, NULL, &err), ==,
                    -ENODEV);
    expect_text(err.text, "was removed");
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, -ENODEV);
    fake_free(fake);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/userspace/start/info", test_info);
    g_test_add_func("/userspace/start/errors", test_start_errors);
    g_test_add_func("/userspace/start/doorbells", test_doorbells);
    g_test_add_func("/userspace/start/large-blocks", test_large_blocks);
    g_test_add_func("/userspace/start/no-device", test_no_device);
    g_test_add_func("/userspace/data/pages", test_data);
    g_test_add_func("/userspace/data/scattered-pages", test_data_scattered);
    g_test_add_func("/userspace/start/small-bar", test_small_bar);
    g_test_add_func("/userspace/data/two", test_data_of_two);
    g_test_add_func("/userspace/data/high-address", test_high_address);
    g_test_add_func("/userspace/data/plain-hints", test_hints_of_a_plain_one);
    g_test_add_func("/userspace/places/ring-in-pieces", test_ring_in_pieces);
    g_test_add_func("/userspace/data/flush", test_flush);
    g_test_add_func("/userspace/data/own-memory", test_own_memory);
    g_test_add_func("/userspace/places/kept-clear", test_places_kept_clear);
    g_test_add_func("/userspace/places/all-taken", test_places_all_taken);
    g_test_add_func("/userspace/queue/one-vector", test_one_vector);
    g_test_add_func("/userspace/queue/bad-io", test_bad_io);
    g_test_add_func("/userspace/queue/full", test_full);
    g_test_add_func("/userspace/queue/room", test_room);
    g_test_add_func("/userspace/queue/statuses", test_statuses);
    g_test_add_func("/userspace/queue/identifiers", test_identifiers);
    g_test_add_func("/userspace/queue/errors", test_queue_errors);
    g_test_add_func("/userspace/queue/policies", test_policies);
    g_test_add_func("/userspace/queue/overruled", test_overruled);
    g_test_add_func("/userspace/log", test_log);
    g_test_add_func("/userspace/records/out-of-order", test_out_of_order);
    g_test_add_func("/userspace/records/identifier-again",
                    test_identifier_again);
    g_test_add_func("/userspace/records/less-than-told", test_less_than_told);
    g_test_add_func("/userspace/records/polled", test_records_polled);
    g_test_add_func("/userspace/records/reset", test_records_reset);
    g_test_add_func("/userspace/records/switched", test_records_switched);
    g_test_add_func("/userspace/records/too-far", test_record_too_far);
    g_test_add_func("/userspace/trouble/reset-learns", test_reset_learns);
    g_test_add_func("/userspace/trouble/reset", test_reset);
    g_test_add_func("/userspace/trouble/push-during-reset",
                    test_push_during_reset);
    g_test_add_func("/userspace/trouble/gone", test_gone);
    g_test_add_func("/userspace/trouble/no-half-queue", test_no_half_queue);
    g_test_add_func("/userspace/trouble/creation-undone", test_creation_undone);
    g_test_add_func("/userspace/trouble/not-let-go", test_not_let_go);
    g_test_add_func("/userspace/trouble/carried-out-late",
                    test_carried_out_late);
    g_test_add_func("/userspace/trouble/refused-late", test_refused_late);
    g_test_add_func("/userspace/trouble/deletion-refused",
                    test_deletion_refused);
    g_test_add_func("/userspace/trouble/data-not-let-go",
                    test_data_not_let_go);
    g_test_add_func("/userspace/trouble/not-stopped", test_not_stopped);
    g_test_add_func("/userspace/trouble/never-stopped", test_never_stopped);
    g_test_add_func("/userspace/trouble/late-answer", test_late_answer);
    g_test_add_func("/userspace/trouble/slow-command", test_slow_command);
    g_test_add_func("/userspace/trouble/news-while-stopped",
                    test_news_while_stopped);
    g_test_add_func("/userspace/trouble/admin", test_admin_errors);
    return g_test_run();
}
