/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of what a command of the user-space driver can be, against a fake
 * controller: pieces, raw entries, namespaces, times, aborts; what a queue is
 * made with, and what it counts.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "admin.h"
#include "clock.h"
#include "due.h"
#include "fake-nvme.h"
#include "watch.h"

static struct cintio_error err;

static FakeNvme *started(void)
{
    FakeNvme *fake = fake_new();

    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    return fake;
}

static struct cintio_queue *queue_of(FakeNvme *fake,
                                     struct cintio_queue_options options)
{
    struct cintio_queue *q = NULL;

    options.size = sizeof(options);
    g_assert_cmpint(cintio_queue_create(fake->dev, &options, &q, &err), ==, 0);
    return q;
}

static struct cintio_queue *plain_queue(FakeNvme *fake)
{
    return queue_of(fake, (struct cintio_queue_options) { .entries = 8 });
}

static struct cintio_mem *memory_of(FakeNvme *fake, size_t len)
{
    struct cintio_mem *mem = NULL;

    g_assert_cmpint(cintio_alloc(fake->dev, len, &mem, &err), ==, 0);
    g_assert_cmpuint(cintio_mem_len(mem), >=, len);
    return mem;
}

static void push(struct cintio_queue *q, struct cintio_io io)
{
    g_assert_cmpint(cintio_push(q, &io), ==, 0);
}

static void refused(struct cintio_queue *q, struct cintio_io io,
                    const char *part)
{
    unsigned int before = cintio_outstanding(q);
    uint16_t tail = q->sq_tail, left = q->nr_free;

    g_assert_cmpint(cintio_push(q, &io), ==, -EINVAL);
    expect_text(cintio_queue_error(q), part);
    g_assert_cmpuint(cintio_outstanding(q), ==, before);
    g_assert_cmpuint(q->sq_tail, ==, tail);
    g_assert_cmpuint(q->nr_free, ==, left);
}

static struct cintio_done finish(FakeNvme *fake, struct cintio_queue *q,
                                 uint16_t status)
{
    struct cintio_done done = { 0 };

    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete(fake, cintio_queue_id(q), 0, status);
    g_assert_cmpint(cintio_complete(q, &done, 1, 1, CINTIO_FOREVER), ==, 1);
    return done;
}

static void end(FakeNvme *fake, struct cintio_queue *q, struct cintio_mem *mem)
{
    cintio_free(fake->dev, mem);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* --- what a queue is made with ------------------------------------------ */

static void expect_policy(FakeNvme *fake, struct cintio_queue_options options,
                          unsigned policy, enum cintio_mode mode)
{
    struct cintio_queue *q = queue_of(fake, options);

    g_assert_cmpuint(fake->cq[cintio_queue_id(q)].engine.config.policy, ==,
                     policy);
    g_assert_cmpint(q->mode, ==, mode);
    g_assert_true(q->pointer == (policy == NVME_CINT_POLICY_POINTER &&
                                 !options.no_interrupts));
    cintio_queue_destroy(q);
}

static void test_policy_at_creation(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *none = NULL;

    expect_policy(fake, (struct cintio_queue_options) { 0 },
                  NVME_CINT_POLICY_DEFAULT, CINTIO_POLL);
    /* who sleeps on the pointer need not say so twice */
    expect_policy(fake, (struct cintio_queue_options) {
                  .mode = CINTIO_COALESCED }, NVME_CINT_POLICY_POINTER,
                  CINTIO_COALESCED);
    expect_policy(fake, (struct cintio_queue_options) {
                  .mode = CINTIO_INTERRUPT, .policy = CINTIO_POLICY_CINT },
                  NVME_CINT_POLICY_CINT, CINTIO_INTERRUPT);
    expect_policy(fake, (struct cintio_queue_options) {
                  .policy = CINTIO_POLICY_POINTER, .no_interrupts = true },
                  NVME_CINT_POLICY_POINTER, CINTIO_POLL);
    fake_free(fake);

    /* as the operator wants it, but for that */
    fake = fake_new();
    fake->config.policy = NVME_CINT_POLICY_ADAPTIVE;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    expect_policy(fake, (struct cintio_queue_options) {
                  .mode = CINTIO_INTERRUPT }, NVME_CINT_POLICY_ADAPTIVE,
                  CINTIO_INTERRUPT);
    expect_policy(fake, (struct cintio_queue_options) {
                  .mode = CINTIO_COALESCED }, NVME_CINT_POLICY_POINTER,
                  CINTIO_COALESCED);
    fake_free(fake);

    fake = fake_new();
    fake->plain = true;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpint(cintio_queue_create(fake->dev,
                                        &(struct cintio_queue_options) {
        .policy = CINTIO_POLICY_CINT }, &none, &err), ==, -ENOTSUP);
    expect_text(err.text, "fake has no policies");
    g_assert_null(none);
    /* nor is one chosen for it */
    g_assert_cmpint(cintio_queue_create(fake->dev,
                                        &(struct cintio_queue_options) {
        .mode = CINTIO_COALESCED }, &none, &err), ==, -ENOTSUP);
    expect_text(err.text, "has no interrupt pointer");
    g_assert_null(none);
    fake_free(fake);
}

/* A structure of a later version, of this one, and of one without a size. */
static void test_sizes(void)
{
    struct {
        struct cintio_queue_options known;
        uint64_t unknown;
    } later = { .known = { .size = sizeof(later), .entries = 4 } };
    struct cintio_statistics counted = { .size = 16, .errors = 7 };
    FakeNvme *fake = started();
    struct cintio_queue *q = NULL;

    g_assert_cmpint(cintio_queue_create(fake->dev, &later.known, &q, &err), ==,
                    0);
    g_assert_cmpuint(q->entries, ==, 4);
    /* no more is written than there is */
    cintio_queue_statistics(q, &counted);
    g_assert_cmpuint(counted.size, ==, 16);
    g_assert_cmpuint(counted.errors, ==, 7);
    counted.size = 4096;
    cintio_queue_statistics(q, &counted);
    g_assert_cmpuint(counted.size, ==, sizeof(counted));
    g_assert_cmpuint(counted.errors, ==, 0);
    /* none is that of the first version */
    counted = (struct cintio_statistics) { .errors = 7 };
    cintio_queue_statistics(q, &counted);
    g_assert_cmpuint(counted.size, ==, 88);
    g_assert_cmpuint(counted.errors, ==, 0);
    cintio_queue_destroy(q);
    q = NULL;

    later.unknown = 1;
    g_assert_cmpint(cintio_queue_create(fake->dev, &later.known, &q, &err), ==,
                    -E2BIG);
    expect_text(err.text, "struct cintio_queue_options of 32 bytes: this is "
                "version 0.1.0 of the library, which knows 24 of them");
    later.known.size = 8;
    g_assert_cmpint(cintio_queue_create(fake->dev, &later.known, &q, &err), ==,
                    -EINVAL);
    expect_text(err.text, "its size is sizeof, or 0");
    g_assert_null(q);
    g_assert_cmpuint(cintio_info(fake->dev)->size, ==,
                     sizeof(struct cintio_info));
    g_assert_cmpstr(cintio_version(), ==, CINTIO_VERSION);
    fake_free(fake);
}

static void test_statistics(void)
{
    struct cintio_statistics counted = { .size = sizeof(counted) };
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, (struct cintio_queue_options) {
        .entries = 8, .mode = CINTIO_COALESCED });
    struct cintio_done done[8];

    for (unsigned i = 0; i < 4; i++) {
        push(q, (struct cintio_io) { .op = CINTIO_FLUSH });
    }
    g_assert_cmpint(cintio_ring(q), ==, 0);
    g_assert_cmpint(cintio_complete(q, done, 3, 8, 1000), ==, 0);
    fake_complete(fake, 1, 0, 0x281);
    fake_complete_some(fake, 1, 2);
    g_assert_cmpint(cintio_complete(q, done, 3, 8, CINTIO_FOREVER), ==, 3);
    cintio_queue_wake(q);
    cintio_queue_statistics(q, &counted);
    g_assert_cmpuint(counted.outstanding, ==, 1);
    g_assert_cmpuint(counted.pushed, ==, 4);
    g_assert_cmpuint(counted.completed, ==, 3);
    g_assert_cmpuint(counted.errors, ==, 1);
    g_assert_cmpuint(counted.rings, ==, 1);
    g_assert_cmpuint(counted.heads, ==, 1);
    g_assert_cmpuint(counted.arms, ==, 1);
    g_assert_cmpuint(counted.sleeps, ==, 1);
    g_assert_cmpuint(counted.wakes, ==, 1);
    g_assert_cmpuint(counted.overdue, ==, 0);
    cintio_queue_destroy(q);
    fake_free(fake);
}

static void count(void *opaque, uint64_t n)
{
    *(uint64_t *)opaque += n;
}

/* Whoever charges for interrupts hears of each, and of no wake-up. */
static void test_on_interrupt(void)
{
    struct cintio_statistics counted = { .size = sizeof(counted) };
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, (struct cintio_queue_options) {
        .entries = 8, .mode = CINTIO_INTERRUPT });
    struct cintio_done done[8];
    uint64_t heard = 0;

    cintio_queue_on_interrupt(q, count, &heard);
    for (unsigned i = 0; i < 3; i++) {
        push(q, (struct cintio_io) { .op = CINTIO_FLUSH });
    }
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, 0);
    fake_complete_some(fake, 1, 2);
    cintio_queue_wake(q);
    g_assert_cmpuint(heard, ==, 0);
    g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, 2);
    g_assert_cmpuint(heard, ==, 2);
    cintio_queue_on_interrupt(q, NULL, NULL);
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, 0);
    fake_complete_some(fake, 1, 1);
    g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, 1);
    g_assert_cmpuint(heard, ==, 2);
    cintio_queue_statistics(q, &counted);
    g_assert_cmpuint(counted.interrupts, ==, 3);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* --- what a command is -------------------------------------------------- */

static void test_fua(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = plain_queue(fake);
    struct cintio_mem *mem = memory_of(fake, NVME_PAGE);
    struct cintio_io io = {
        .op = CINTIO_WRITE, .blocks = 8, .flags = CINTIO_FUA, .mem = mem,
        .buf = cintio_mem_addr(mem),
    };

    push(q, io);
    g_assert_cmphex(q->sq[0].cdw12, ==, 1u << 30 | 7);
    io.op = CINTIO_READ;
    push(q, io);
    g_assert_cmphex(q->sq[1].cdw12, ==, 1u << 30 | 7);
    io.flags = 0;
    push(q, io);
    g_assert_cmphex(q->sq[2].cdw12, ==, 7);
    io.flags = 2;
    refused(q, io, "flags 2: CINTIO_FUA (1) is known");
    io = (struct cintio_io) { .op = CINTIO_FLUSH, .flags = CINTIO_FUA };
    refused(q, io, "flags 1");
    io = (struct cintio_io) { .op = CINTIO_FLUSH, .reserved = { 0, 0, 0, 1 } };
    refused(q, io, "a reserved field");
    end(fake, q, mem);
}

/* What stands beside status code and type says whether to try again. */
static void test_rest_of_status(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = plain_queue(fake);
    struct cintio_done done;

    push(q, (struct cintio_io) { .op = CINTIO_FLUSH });
    done = finish(fake, q, 0x281 | FAKE_DNR);
    g_assert_cmphex(done.status, ==, 0x281);
    g_assert_cmphex(done.flags, ==, CINTIO_DNR);
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH });
    done = finish(fake, q, 0x006 | 1u << 13 | 2u << 11);
    g_assert_cmphex(done.status, ==, 0x006);
    g_assert_cmphex(done.flags, ==, CINTIO_MORE | 2);
    g_assert_cmphex(done.flags & CINTIO_CRD, ==, 2);
    g_assert_cmphex(done.result_high, ==, 0);
    /* and by itself it is no error */
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH });
    fake->result_high = 0xabcdef01;
    done = finish(fake, q, 1u << 13);
    g_assert_cmphex(done.status, ==, 0);
    g_assert_cmphex(done.result_high, ==, 0xabcdef01);
    g_assert_cmpuint(q->errors, ==, 2);
    cintio_queue_destroy(q);
    fake_free(fake);
}

static void fill(uint8_t *at, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++) {
        at[i] = (i * 2654435761u + seed) >> 13;
    }
}

/* Lengths of pieces, each from a multiple of a page plus @offset on. */
static void move_pieces(FakeNvme *fake, struct cintio_queue *q,
                        struct cintio_mem *mem[], const size_t *lens,
                        size_t offset, bool by_sgl)
{
    struct cintio_vec vec[8];
    g_autofree uint8_t *want = g_malloc(NVME_PAGE << FAKE_MDTS);
    size_t n = 0, len = 0;
    struct cintio_io io = { .op = CINTIO_WRITE, .lba = 40, .vec = vec };

    for (; lens[n]; len += lens[n++]) {
        /* those behind the first begin where a page does, without SGLs */
        vec[n] = (struct cintio_vec) {
            .mem = mem[n % 2], .len = lens[n],
            .buf = (uint8_t *)cintio_mem_addr(mem[n % 2]) +
                   n * 16 * NVME_PAGE + (n && !by_sgl ? 0 : offset),
        };
        fill(vec[n].buf, lens[n], n + len);
        memcpy(want + len, vec[n].buf, lens[n]);
    }
    io.nr_vecs = n;
    io.blocks = len / FAKE_BLOCK;
    push(q, io);
    g_assert_true(!(q->sq[q->sq_tail ? q->sq_tail - 1 : q->entries - 1].flags &
                    NVME_SQE_PSDT) == !by_sgl);
    g_assert_cmphex(finish(fake, q, 0).status, ==, 0);
    g_assert_cmpmem(fake->disk + 40 * FAKE_BLOCK, len, want, len);
    for (size_t i = 0; i < n; i++) {
        memset(vec[i].buf, 0xee, vec[i].len);
    }
    io.op = CINTIO_READ;
    push(q, io);
    g_assert_cmphex(finish(fake, q, 0).status, ==, 0);
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpmem(vec[i].buf, vec[i].len, want, vec[i].len);
        want += vec[i].len;
    }
    want -= len;
}

static const size_t whole_pages[][8] = {
    { 512 }, { 4096, 4096 }, { 4096, 512 }, { 8192, 4096, 4096, 1024 },
    { 4096, 12288, 4096, 4096, 4096, 8192, 512 },
};

/* Pieces of whole pages are as good as one, and need no more than pages. */
static void test_pieces_in(bool scattered)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = plain_queue(fake);
    struct cintio_mem *mem[2];

    fake->scattered = scattered;
    mem[0] = memory_of(fake, 128 * NVME_PAGE);
    mem[1] = memory_of(fake, 128 * NVME_PAGE);
    for (unsigned i = 0; i < G_N_ELEMENTS(whole_pages); i++) {
        move_pieces(fake, q, mem, whole_pages[i], 0, false);
    }
    /* the first may begin anywhere, and ends where a page does */
    move_pieces(fake, q, mem, (const size_t[]) { 4096 - 512, 4096, 512, 0 },
                512, false);
    cintio_free(fake->dev, mem[1]);
    end(fake, q, mem[0]);
}

static void test_pieces(void)
{
    test_pieces_in(false);
    test_pieces_in(true);
}

/* Of any length, where the controller takes lists of them. */
static void sgl_in(bool scattered)
{
    static const size_t odd[][8] = {
        { 100, 412 }, { 512, 4, 508 }, { 4096, 4, 1020, 3072 },
        { 9000, 12, 204, 20000, 1504 },
    };
    struct cintio_queue *q;
    struct cintio_mem *mem[2];
    FakeNvme *fake = fake_new();

    fake->sgl = true;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_true(cintio_info(fake->dev)->sgl);
    q = plain_queue(fake);
    fake->scattered = scattered;
    mem[0] = memory_of(fake, 128 * NVME_PAGE);
    mem[1] = memory_of(fake, 128 * NVME_PAGE);
    for (unsigned i = 0; i < G_N_ELEMENTS(odd); i++) {
        move_pieces(fake, q, mem, odd[i], 20, true);
    }
    /* what pages can say needs none */
    move_pieces(fake, q, mem, whole_pages[3], 0, false);
    cintio_free(fake->dev, mem[1]);
    end(fake, q, mem[0]);
}

static void test_sgl(void)
{
    sgl_in(false);
    sgl_in(true);
}

/* Two pieces that lie beside each other are one, and need no list. */
static void test_sgl_of_one(void)
{
    FakeNvme *fake = fake_new();
    struct cintio_queue *q;
    struct cintio_mem *mem;
    struct cintio_vec vec[2];

    fake->sgl = true;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    q = plain_queue(fake);
    mem = memory_of(fake, NVME_PAGE);
    for (unsigned i = 0; i < 2; i++) {
        vec[i] = (struct cintio_vec) {
            .mem = mem, .len = 256,
            .buf = (uint8_t *)cintio_mem_addr(mem) + 256 * i,
        };
    }
    push(q, (struct cintio_io) { .op = CINTIO_WRITE, .blocks = 1, .vec = vec,
         .nr_vecs = 2 });
    g_assert_cmphex(q->sq[0].prp1, ==, cintio_iova(mem, vec[0].buf));
    g_assert_cmphex(q->sq[0].prp2, ==, 512);
    finish(fake, q, 0);
    end(fake, q, mem);
}

/* Each command has a list of its own, until it is over. */
static void test_sgl_of_two(void)
{
    FakeNvme *fake = fake_new();
    struct cintio_done done[2];
    struct cintio_vec vec[4];
    struct cintio_queue *q;
    struct cintio_mem *mem;

    fake->sgl = true;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    q = plain_queue(fake);
    mem = memory_of(fake, NVME_PAGE);
    fill(cintio_mem_addr(mem), NVME_PAGE, 3);
    for (unsigned i = 0; i < 4; i++) {
        vec[i] = (struct cintio_vec) {
            .mem = mem, .len = 256,
            .buf = (uint8_t *)cintio_mem_addr(mem) + 1024 * i,
        };
    }
    for (unsigned i = 0; i < 2; i++) {
        push(q, (struct cintio_io) { .op = CINTIO_WRITE, .lba = i, .blocks = 1,
             .vec = &vec[2 * i], .nr_vecs = 2 });
    }
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, 1, 2);
    g_assert_cmpint(cintio_complete(q, done, 2, 2, CINTIO_FOREVER), ==, 2);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpmem(fake->disk + 256 * i, 256, vec[i].buf, 256);
    }
    end(fake, q, mem);
}

static void test_bad_pieces(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = plain_queue(fake);
    struct cintio_mem *mem = memory_of(fake, 2 * NVME_PAGE);
    uint8_t *at = cintio_mem_addr(mem);
    struct cintio_vec odd[] = { { mem, at, 100 }, { mem, at + 100, 412 } };
    struct cintio_vec short_one[] = {
        { mem, at, 512 }, { mem, at + NVME_PAGE, 512 },
    }, late_one[] = {
        { mem, at, NVME_PAGE }, { mem, at + 512, 1024 },
    };
    struct cintio_vec much[80];
    struct cintio_io io = {
        .op = CINTIO_READ, .blocks = 1, .vec = odd, .nr_vecs = 2,
    };

    refused(q, io, "pieces that do not begin and end at a multiple of 4096 "
            "bytes: fake has no SGLs");
    io.blocks = 2;
    refused(q, io, "pieces of 512 bytes for blocks of 1024");
    /* one that ends within a page, one that begins there, and too many */
    io.vec = short_one;
    refused(q, io, "fake has no SGLs");
    io.blocks = 1;
    refused(q, io, "pieces of 1024 bytes for blocks of 512");
    io.vec = late_one;
    io.blocks = 10;
    refused(q, io, "fake has no SGLs");
    io.vec = odd;
    io.blocks = 1;
    odd[0].len = 102;
    refused(q, io, "a piece of 102 bytes: give a multiple of 4");
    odd[0].len = 0;
    refused(q, io, "a piece of 0 bytes");
    odd[0].len = SIZE_MAX - 3;
    refused(q, io, "does not lie in its memory");
    odd[0] = (struct cintio_vec) { NULL, at, 100 };
    refused(q, io, "no memory is named");
    for (unsigned i = 0; i < G_N_ELEMENTS(much); i++) {
        much[i] = (struct cintio_vec) { mem, at, NVME_PAGE };
    }
    io = (struct cintio_io) {
        .op = CINTIO_READ, .blocks = (NVME_PAGE << FAKE_MDTS) / FAKE_BLOCK,
        .vec = much, .nr_vecs = G_N_ELEMENTS(much),
    };
    refused(q, io, "pieces of 266240 bytes and more: a command moves 262144");
    end(fake, q, mem);
}

/* As many as there is room for, and their identifier is free again. */
static void test_too_many_pieces(void)
{
    FakeNvme *fake = fake_new();
    struct cintio_vec vec[40];
    struct cintio_queue *q;
    struct cintio_mem *mem;
    size_t room;

    fake->sgl = true;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    q = plain_queue(fake);
    mem = memory_of(fake, NVME_PAGE);
    room = cintio_list_size(q) / 16;
    g_assert_cmpuint(room, ==, 32);
    for (unsigned i = 0; i < G_N_ELEMENTS(vec); i++) {
        vec[i] = (struct cintio_vec) {
            mem, (uint8_t *)cintio_mem_addr(mem) + 32 * i, 16,
        };
    }
    push(q, (struct cintio_io) { .op = CINTIO_READ, .blocks = 1, .vec = vec,
         .nr_vecs = room });
    finish(fake, q, 0);
    for (unsigned i = 0; i < 3 * q->entries; i++) {
        for (unsigned n = 0; n < room; n++) {
            vec[n].len = n == room - 1 ? 12 : 16;
        }
        vec[room].len = 4;
        refused(q, (struct cintio_io) { .op = CINTIO_READ, .blocks = 1,
                .vec = vec, .nr_vecs = room + 1 },
                "more than 32 pieces in one command");
    }
    end(fake, q, mem);
}

/* All that an entry can say, but for what is the library's. */
static void test_raw(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = plain_queue(fake);
    struct cintio_mem *mem = memory_of(fake, 4 * NVME_PAGE);
    struct nvme_sqe sqe = {
        .opcode = NVME_CMD_WRITE, .flags = NVME_SQE_PSDT, .cid = 0x1234,
        .nsid = 1, .prp1 = 5, .prp2 = 6, .mptr = 7, .cdw2 = 2, .cdw3 = 3,
        .cdw10 = 9, .cdw12 = 15, .cdw13 = 13, .cdw14 = 14, .cdw15 = 15,
    };
    struct cintio_vec vec[] = {
        { mem, cintio_mem_addr(mem), NVME_PAGE },
        { mem, (uint8_t *)cintio_mem_addr(mem) + 2 * NVME_PAGE, NVME_PAGE },
    };
    struct cintio_io io = {
        .op = CINTIO_RAW, .sqe = &sqe, .mem = mem, .len = 2 * NVME_PAGE,
        .buf = cintio_mem_addr(mem), .hints = CINTIO_URGENT, .cookie = 4,
    };

    fill(cintio_mem_addr(mem), 4 * NVME_PAGE, 1);
    push(q, io);
    g_assert_cmphex(q->sq[0].flags, ==, NVME_CINT_FLAGS_URGENT);
    g_assert_cmphex(q->sq[0].mptr, ==, 7);
    g_assert_cmphex(q->sq[0].cdw2, ==, 2);
    g_assert_cmphex(q->sq[0].cdw15, ==, 15);
    g_assert_cmpuint(q->sq[0].cid, !=, 0x1234);
    g_assert_cmpuint(finish(fake, q, 0).cookie, ==, 4);
    g_assert_cmpmem(fake->disk + 9 * FAKE_BLOCK, 2 * NVME_PAGE,
                    cintio_mem_addr(mem), 2 * NVME_PAGE);

    io.vec = vec;
    io.nr_vecs = 2;
    io.len = 0;
    push(q, io);
    finish(fake, q, 0);
    g_assert_cmpmem(fake->disk + 9 * FAKE_BLOCK + NVME_PAGE, NVME_PAGE,
                    vec[1].buf, NVME_PAGE);

    /* a bit that stands in it makes it Urgent, too; and it needs no data */
    sqe = (struct nvme_sqe) {
        .opcode = NVME_CMD_FLUSH, .flags = NVME_CINT_FLAGS_URGENT, .nsid = 1,
        .prp1 = 5, .prp2 = 6,
    };
    push(q, (struct cintio_io) { .op = CINTIO_RAW, .sqe = &sqe });
    g_assert_cmphex(q->sq[2].prp1 | q->sq[2].prp2, ==, 0);
    g_assert_true(q->slots[q->sq[2].cid].urgent);
    finish(fake, q, 0);
    refused(q, (struct cintio_io) { .op = CINTIO_RAW }, "without an sqe");
    io = (struct cintio_io) {
        .op = CINTIO_RAW, .sqe = &sqe, .mem = mem, .len = 5 * NVME_PAGE,
        .buf = cintio_mem_addr(mem),
    };
    refused(q, io, "does not lie in its memory");
    end(fake, q, mem);
}

/* --- namespaces --------------------------------------------------------- */

static void test_namespaces(void)
{
    const struct cintio_namespace *first, *second, *again;
    FakeNvme *fake = fake_new();
    struct cintio_queue *q;
    struct cintio_mem *mem;
    struct cintio_io io;
    uint32_t ids[4];

    fake->second = true;
    g_assert_cmpint(fake_start(fake, &(struct cintio_options) {
        .nsid = CINTIO_NO_NAMESPACE }, &err), ==, 0);
    g_assert_cmpuint(cintio_info(fake->dev)->block_size, ==, 0);
    g_assert_cmpint(cintio_namespaces(fake->dev, ids, 4, &err), ==, 2);
    g_assert_cmpuint(ids[0], ==, 1);
    g_assert_cmpuint(ids[1], ==, FAKE_SECOND);
    ids[1] = 0;
    g_assert_cmpint(cintio_namespaces(fake->dev, ids, 1, &err), ==, 2);
    g_assert_cmpuint(ids[1], ==, 0);
    g_assert_cmpint(cintio_namespace_open(fake->dev, 1, &first, &err), ==, 0);
    g_assert_cmpint(cintio_namespace_open(fake->dev, FAKE_SECOND, &second,
                                          &err), ==, 0);
    g_assert_cmpint(cintio_namespace_open(fake->dev, 1, &again, &err), ==, 0);
    g_assert_true(again == first);
    g_assert_cmpuint(second->size, ==, sizeof(*second));
    g_assert_cmpuint(second->nsid, ==, FAKE_SECOND);
    g_assert_cmpuint(second->block_size, ==, FAKE_BLOCK);
    g_assert_cmpuint(second->blocks, ==, FAKE_BLOCKS / 4);
    g_assert_cmpint(cintio_namespace_open(fake->dev, 8, &again, &err), ==,
                    -ENOENT);
    expect_text(err.text, "fake has no namespace 8");
    /* one that is told of is not taken for one that is not there */
    fake->refused = NVME_ADMIN_IDENTIFY;
    g_assert_cmpint(cintio_namespace_open(fake->dev, FAKE_SECOND, &again,
                                          &err), ==, -EIO);
    expect_text(err.text, "refused to identify namespace 7: status 006h");
    fake->refused = -1;
    /* who has it knows what it was, who opens it now what it is */
    fake->second_blocks = FAKE_BLOCKS / 8;
    g_assert_cmpint(cintio_namespace_open(fake->dev, FAKE_SECOND, &again,
                                          &err), ==, 0);
    g_assert_cmpuint(again->blocks, ==, FAKE_BLOCKS / 8);
    g_assert_cmpuint(second->blocks, ==, FAKE_BLOCKS / 4);

    q = plain_queue(fake);
    mem = memory_of(fake, NVME_PAGE);
    io = (struct cintio_io) {
        .op = CINTIO_WRITE, .lba = 5, .blocks = 1, .ns = second, .mem = mem,
        .buf = cintio_mem_addr(mem),
    };
    fill(io.buf, FAKE_BLOCK, 3);
    push(q, io);
    finish(fake, q, 0);
    g_assert_cmpmem(fake->disk + (FAKE_BLOCKS / 4 * 3 + 5) * FAKE_BLOCK,
                    FAKE_BLOCK, io.buf, FAKE_BLOCK);
    io.lba = FAKE_BLOCKS / 4;
    refused(q, io, "the namespace has 2048");
    io.ns = first;
    push(q, io);
    finish(fake, q, 0);
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .ns = second });
    g_assert_cmpuint(q->sq[2].nsid, ==, FAKE_SECOND);
    finish(fake, q, 0);
    io.ns = NULL;
    refused(q, io, "no namespace is named, and fake was opened without one");
    refused(q, (struct cintio_io) { .op = CINTIO_FLUSH }, "no namespace");
    end(fake, q, mem);
}

/* --- commands that take too long ---------------------------------------- */

static void test_timeout(void)
{
    static const enum cintio_mode modes[] = {
        CINTIO_POLL, CINTIO_SLEEP, CINTIO_INTERRUPT, CINTIO_COALESCED,
    };
    struct cintio_done done[8];

    for (unsigned i = 0; i < G_N_ELEMENTS(modes); i++) {
        FakeNvme *fake = started();
        struct cintio_queue *q = queue_of(fake, (struct cintio_queue_options) {
            .entries = 8, .mode = modes[i], .sleep_ns = UINT64_C(1) << 60 });
        uint64_t start = cintio_now();

        push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .cookie = 1 });
        push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .cookie = 2,
             .timeout_ns = 4000000 });
        push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .cookie = 3,
             .timeout_ns = 2000000 });
        push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .cookie = 4,
             .timeout_ns = CINTIO_FOREVER });
        g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==,
                        -ETIME);
        g_assert_cmpuint(cintio_now() - start, >=, 2000000);
        g_assert_cmpuint(cintio_queue_overdue(q), ==, 3);
        expect_text(cintio_queue_error(q), "with the cookie 3 takes longer");
        /* each once; then they are waited for as the others are */
        g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==,
                        -ETIME);
        g_assert_cmpuint(cintio_now() - start, >=, 4000000);
        g_assert_cmpuint(cintio_queue_overdue(q), ==, 2);
        g_assert_cmpint(cintio_complete(q, done, 1, 8, 1000000), ==, 0);
        g_assert_cmpuint(q->late, ==, 2);
        g_assert_cmpuint(q->timed, ==, 1);
        fake_complete_some(fake, 1, 4);
        g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, 4);
        g_assert_cmpuint(q->timed, ==, 0);
        cintio_queue_destroy(q);
        fake_free(fake);
    }
}

/* What has come in time is not late, whatever was asked of it. */
static void test_in_time(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, (struct cintio_queue_options) {
        .entries = 8, .mode = CINTIO_INTERRUPT });
    uint64_t start = cintio_now();
    struct cintio_done done[8];

    push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .cookie = 1,
         .timeout_ns = 2000000 });
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .cookie = 2,
         .timeout_ns = UINT64_C(1) << 50 });
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, 1, 1);
    /* the time of the first one ends nobody's wait any more */
    g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==, 1);
    g_assert_cmpint(cintio_complete(q, done, 1, 8, 5000000), ==, 0);
    g_assert_cmpuint(cintio_now() - start, >=, 5000000);
    g_assert_cmpuint(q->late, ==, 0);
    fake_complete_some(fake, 1, 1);
    g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, 1);
    /* nor is it anybody's who comes when all of that is over */
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .cookie = 2,
         .timeout_ns = UINT64_C(1) << 51 });
    g_assert_cmpuint(cintio_due(q), >=, start + (UINT64_C(1) << 51));
    /* nor where others are returned beside one that is late */
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .cookie = 3,
         .timeout_ns = 1 });
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, 1, 1);
    g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, 1);
    g_assert_cmpuint(done[0].cookie, ==, 2);
    g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, -ETIME);
    g_assert_cmpuint(cintio_queue_overdue(q), ==, 3);
    fake_complete_some(fake, 1, 1);
    g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, 1);
    /* nor of who has the identifier of one that had a time, and has none */
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .timeout_ns = 1 });
    finish(fake, q, 0);
    g_assert_cmpuint(q->timed, ==, 0);
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH });
    finish(fake, q, 0);
    g_assert_cmpuint(cintio_due(q), ==, CINTIO_FOREVER);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* What its controller does not use any more is as new. */
static void test_emptied(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = plain_queue(fake);

    push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .timeout_ns = 1 });
    g_assert_cmpint(cintio_ring(q), ==, 0);
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH });
    g_assert_cmpuint(cintio_outstanding(q), ==, 2);
    cintio_queue_empty(q);
    g_assert_cmpuint(cintio_outstanding(q), ==, 0);
    g_assert_cmpuint(cintio_due(q), ==, CINTIO_FOREVER);
    g_assert_cmpuint(q->nr_free, ==, 7);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* An event loop hears of it where it is armed, and a group where it waits. */
static void test_timeout_elsewhere(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, (struct cintio_queue_options) {
        .entries = 8, .mode = CINTIO_COALESCED });
    struct cintio_group *group = NULL;
    struct cintio_done done[8];
    struct cintio_ready ready;
    uint64_t start;

    push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .timeout_ns = 1 });
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, 1);
    g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, -ETIME);
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, 0);
    g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, 0);

    g_assert_cmpint(cintio_group_create(&group, &err), ==, 0);
    g_assert_cmpint(cintio_group_add(group, q, NULL, &err), ==, 0);
    start = cintio_now();
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .timeout_ns = 3000000 });
    g_assert_cmpint(cintio_group_wait(group, 2, &ready, 1, CINTIO_FOREVER,
                                      &err), ==, 1);
    g_assert_true(ready.queue == q);
    g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, -ETIME);
    g_assert_cmpuint(cintio_now() - start, >=, 3000000);
    g_assert_cmpuint(cintio_now() - start, <, CINTIO_WATCH_NS);
    cintio_group_destroy(group);
    cintio_queue_destroy(q);
    fake_free(fake);
}

static void test_abort(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = plain_queue(fake);
    struct cintio_done done[8];

    push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .cookie = 1 });
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .cookie = 2 });
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH, .cookie = 2 });
    g_assert_cmpint(cintio_abort(q, 3, &err), ==, -ENOENT);
    expect_text(err.text, "no command of queue 1 has the cookie 3");
    g_assert_cmpuint(fake_inflight(fake, 1), ==, 0);
    /* it need not */
    g_assert_cmpint(cintio_abort(q, 2, &err), ==, 0);
    g_assert_cmpuint(fake_inflight(fake, 1), ==, 3);
    fake->aborts = true;
    g_assert_cmpint(cintio_abort(q, 2, &err), ==, 1);
    fake_complete_some(fake, 1, 3);
    g_assert_cmpint(cintio_complete(q, done, 3, 8, 0), ==, 3);
    g_assert_cmphex(done[0].status, ==, 0);
    g_assert_cmphex(done[1].status, ==, 0x007);
    g_assert_cmphex(done[2].status, ==, 0);
    fake->refused = NVME_ADMIN_ABORT;
    push(q, (struct cintio_io) { .op = CINTIO_FLUSH });
    g_assert_cmpint(cintio_abort(q, 0, &err), ==, -EIO);
    expect_text(err.text, "refused to abort a command: status 006h");
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_cmpint(cintio_abort(q, 0, &err), ==, -ESTALE);
    expect_text(err.text, "was reset");
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* --- the end ------------------------------------------------------------ */

static unsigned shutdowns_at_close(FakeNvme *fake)
{
    unsigned n;

    cintio_close(fake->dev);
    fake->dev = NULL;
    n = fake->shutdowns;
    fake_free(fake);
    return n;
}

/* A controller is told that it will be off, if it can hear it, and once. */
static void test_shutdown(void)
{
    struct cintio_options soon = { .timeout_ms = 5 };
    FakeNvme *fake = started();

    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_cmpuint(fake->shutdowns, ==, 0);
    g_assert_cmpuint(shutdowns_at_close(fake), ==, 1);

    /* one that never says so is stopped all the same */
    fake = fake_new();
    fake->drops_shutdowns = true;
    g_assert_cmpint(fake_start(fake, &soon, &err), ==, 0);
    g_assert_cmpuint(shutdowns_at_close(fake), ==, 1);

    fake = started();
    fake->gone = true;
    g_assert_cmpuint(shutdowns_at_close(fake), ==, 0);

    fake = started();
    fake->regs[NVME_REG_CSTS / 4] |= NVME_CSTS_CFS;
    g_assert_cmpuint(shutdowns_at_close(fake), ==, 0);
}

/* One that takes its time to start, to stop and to be off is waited for. */
static void test_slow(void)
{
    FakeNvme *fake = fake_new();

    fake->slow = 4;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_cmpuint(shutdowns_at_close(fake), ==, 1);
}

/* For as long as it was told to wait, no shorter, and mostly asleep. */
static void start_in_vain(unsigned timeout_ms)
{
    struct cintio_options options = { .timeout_ms = timeout_ms };
    int64_t began = g_get_monotonic_time(), took;
    FakeNvme *fake = fake_new();

    fake->stuck = true;
    g_assert_cmpint(fake_start(fake, &options, &err), ==, -ETIMEDOUT);
    took = g_get_monotonic_time() - began;
    g_assert_cmpint(took, >=, timeout_ms * 1000);
    /* a look each 20 us, and what it reads before */
    g_assert_cmpint(fake->reads, <=, took / 20 + 20);
    fake_free(fake);
}

static void test_patience(void)
{
    start_in_vain(40);
    start_in_vain(1);
}

static void *reset(void *opaque)
{
    FakeNvme *fake = opaque;

    g_assert_cmpint(cintio_reset(fake->dev, NULL), ==, 0);
    return NULL;
}

/* Nobody comes in any more, or those who do would keep it from ever going. */
static void test_reset_goes_first(void)
{
    FakeNvme *fake = started();
    pthread_rwlock_t *lock = &fake->dev->reset_lock;
    int64_t end = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;
    GThread *thread;

    cintio_enter(fake->dev);
    thread = g_thread_new("reset", reset, fake);
    while (!pthread_rwlock_tryrdlock(lock)) {
        pthread_rwlock_unlock(lock);
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        usleep(100);
    }
    cintio_leave(fake->dev);
    g_thread_join(thread);
    fake_free(fake);
}

/* Who sleeps for a time that he has chosen is not to be woken 50 us late. */
static void test_timer_slack(void)
{
    static const struct {
        enum cintio_mode mode;
        int slack;
    } modes[] = {
        { CINTIO_POLL, 50000 }, { CINTIO_SLEEP, 1 },
        { CINTIO_SLEEP_ADAPTIVE, 1 }, { CINTIO_INTERRUPT, 50000 },
    };
    int before = prctl(PR_GET_TIMERSLACK);
    FakeNvme *fake = started();
    struct cintio_queue *q = plain_queue(fake);

    for (unsigned i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_assert_cmpint(prctl(PR_SET_TIMERSLACK, 50000), ==, 0);
        g_assert_cmpint(cintio_queue_set_mode(q, modes[i].mode, 1000, &err),
                        ==, 0);
        g_assert_cmpint(prctl(PR_GET_TIMERSLACK), ==, modes[i].slack);
    }
    g_assert_cmpint(prctl(PR_SET_TIMERSLACK, before), ==, 0);
    cintio_queue_destroy(q);
    fake_free(fake);
}

static const struct nvme_sqe *given_up(FakeNvme *fake)
{
    struct nvme_sqe event = { .opcode = 0x0c };
    struct cintio_queue *admin = fake->dev->admin;
    uint16_t slot = admin->sq_tail;
    uint8_t data[2 * NVME_PAGE] = { 0 };

    g_assert_cmpint(cintio_admin(fake->dev, &event, data, sizeof(data), NULL,
                                 &err), ==, -ETIMEDOUT);
    return &admin->sq[slot];
}

/* What is never answered may yet be written to: each has pages of its own. */
static void test_admin_pages(void)
{
    struct cintio_options options = { .timeout_ms = 5 };
    FakeNvme *fake = fake_new();
    const struct nvme_sqe *one, *other;

    fake->ignored = 0x0c;
    g_assert_cmpint(fake_start(fake, &options, &err), ==, 0);
    one = given_up(fake);
    other = given_up(fake);
    g_assert_cmpuint(one->prp2, !=, one->prp1);
    g_assert_cmpuint(one->prp2, !=, other->prp1);
    g_assert_cmpuint(one->prp1, !=, other->prp1);
    g_assert_cmpuint(one->prp1, !=, other->prp2);
    g_assert_cmpuint(one->prp2, !=, other->prp2);
    fake_free(fake);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/command/queue/policy", test_policy_at_creation);
    g_test_add_func("/command/queue/sizes", test_sizes);
    g_test_add_func("/command/queue/statistics", test_statistics);
    g_test_add_func("/command/queue/on-interrupt", test_on_interrupt);
    g_test_add_func("/command/fua", test_fua);
    g_test_add_func("/command/rest-of-status", test_rest_of_status);
    g_test_add_func("/command/pieces/pages", test_pieces);
    g_test_add_func("/command/pieces/sgl", test_sgl);
    g_test_add_func("/command/pieces/sgl-of-one", test_sgl_of_one);
    g_test_add_func("/command/pieces/sgl-of-two", test_sgl_of_two);
    g_test_add_func("/command/pieces/bad", test_bad_pieces);
    g_test_add_func("/command/pieces/too-many", test_too_many_pieces);
    g_test_add_func("/command/raw", test_raw);
    g_test_add_func("/command/namespaces", test_namespaces);
    g_test_add_func("/command/timeout/modes", test_timeout);
    g_test_add_func("/command/timeout/in-time", test_in_time);
    g_test_add_func("/command/timeout/elsewhere", test_timeout_elsewhere);
    g_test_add_func("/command/queue/emptied", test_emptied);
    g_test_add_func("/command/abort", test_abort);
    g_test_add_func("/command/shutdown", test_shutdown);
    g_test_add_func("/command/slow", test_slow);
    g_test_add_func("/command/patience", test_patience);
    g_test_add_func("/command/reset-goes-first", test_reset_goes_first);
    g_test_add_func("/command/admin-pages", test_admin_pages);
    g_test_add_func("/command/timer-slack", test_timer_slack);
    return g_test_run();
}
