/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A namespace in memory (memdev). The memory is a file's that QEMU shares with
 * the test, which so sees the medium itself: what a command leaves there, and
 * beside it. Each behaviour is held with requests of the block layer and with
 * copies in their place (queue-cache), in real and in virtual time. What a
 * transfer to or from registers may set off is in nvme-cint-aim-test.c.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"
#include "nvme-cint-common.h"

#define CINT        "cint=on,cint.policy=default,cint.max-hold=0,"
#define MEDIUM      "cint.media=custom,cint.media.read-latency=400," \
                    "cint.media.write-latency=1400"

static const CintCase modes[] = {
    { "requests", "queue-cache=off" },
    { "copies", "queue-cache=on" },
    { "cint", CINT "cint.time=real" },
    { "medium", CINT "cint.time=real,cint.media.units=0," MEDIUM },
    { "virtual", CINT "cint.time=virtual,cint.media.units=0," MEDIUM },
    { "thread", "iothread=io0" },
    { "thread-cint", CINT "cint.time=real,iothread=io0" },
    { "thread-medium",
      CINT "cint.time=real,cint.media.units=0,iothread=io0," MEDIUM },
};

#define BLOCK       512
#define SIZE        (4 * MiB)
#define BLOCKS      (SIZE / BLOCK)
#define BUFFER      (64 * KiB)

/* A controller with one namespace, and what the test has of its medium. */
typedef struct Memory {
    CintTest *t;
    QNvmeSq *sq;
    QNvmeBuf buf;
    uint8_t *data;
    char *path;
    int fd;
} Memory;

/* What a cell wants beside its mode. */
typedef struct Cell {
    const char *name;
    void (*run)(Memory *m);
    const char *ns;             /* options of nvme-ns, from a comma on */
    const char *subsys;
    const char *ctrl;
    const char *backend;        /* in place of share=on */
    const char *more;           /* arguments behind the namespace */
    bool not_in_thread;
    const char *dir;            /* of the medium, if it is there */
} Cell;

typedef struct Case {
    const Cell *cell;
    const CintCase *mode;
} Case;

/* ---- The machine ---- */

static void make_medium(Memory *m, const char *dir)
{
    m->path = g_strdup_printf("%s/nvme-cint-memdev-XXXXXX",
                              dir && !access(dir, W_OK) ? dir :
                              g_get_tmp_dir());
    m->fd = mkstemp(m->path);
    g_assert_cmpint(m->fd, >=, 0);
    g_assert_cmpint(ftruncate(m->fd, SIZE), ==, 0);
    m->data = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
    g_assert_true(m->data != MAP_FAILED);
}

static void drop_medium(Memory *m)
{
    munmap(m->data, SIZE);
    close(m->fd);
    unlink(m->path);
    g_free(m->path);
}

/* Bytes that are not zero, and others for another @seed. */
static void fill_bytes(uint8_t *data, uint8_t seed)
{
    size_t i;

    for (i = 0; i < SIZE; i++) {
        data[i] = 1 + (i / BLOCK * 7 + i + seed) % 251;
    }
}

static void fill(Memory *m, uint8_t seed)
{
    fill_bytes(m->data, seed);
}

static void boot(Memory *m, const Cell *cell, const char *opts)
{
    g_autofree char *args = g_strdup_printf(
        "-object memory-backend-file,id=m0,size=4M,mem-path=%s,%s "
        "-device nvme-subsys,id=s0,nqn=s0%s "
        "-device nvme,id=nvme0,serial=cint,subsys=s0,addr=4,%s%s "
        "-device nvme-ns,id=ns0,memdev=m0,nsid=1%s %s", m->path,
        cell->backend ?: "share=on", cell->subsys ?: "", opts,
        cell->ctrl ?: "", cell->ns ?: "", cell->more ?: "");

    m->t = cint_boot_devices(NULL, args);
    /* namespaces of all command sets */
    qnvme_reset(m->t->nvme);
    m->t->nvme->css = NVME_CC_CSS_ALL;
    qnvme_enable(m->t->nvme);
    m->buf = qnvme_buf_new(m->t->nvme, BUFFER);
    m->sq = cint_queues(m->t, 1);
}

static void run_cell(const Cell *cell, const char *opts)
{
    Memory m = { 0 };

    make_medium(&m, cell->dir);
    fill(&m, 0);
    boot(&m, cell, opts);
    cell->run(&m);
    cint_shutdown(m.t);
    drop_medium(&m);
}

static void test_case(const void *opaque)
{
    const Case *c = opaque;

    run_cell(c->cell, c->mode->opts);
}

/* ---- Commands ---- */

static void let_pass(CintTest *t)
{
    cint_let_run(t);
    cint_run(t, 10000);
    cint_let_run(t);
}

/* A thread may have fetched only when time had passed. */
static void await(CintTest *t, QNvmeSq *sq, uint32_t count)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;

    do {
        let_pass(t);
    } while (qnvme_visible(sq->cq) < count && g_get_monotonic_time() < limit);
    qnvme_wait_cqes(sq->cq, count);
}

/* Sends @cmd by @sq and returns its status. */
static uint16_t send_by(CintTest *t, QNvmeSq *sq, const NvmeCmd *cmd)
{
    NvmeCqe cqe;

    qnvme_push(sq, cmd);
    qnvme_ring_sq(sq);
    await(t, sq, 1);
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    qnvme_reap(sq->cq, 1);
    return qnvme_status(&cqe) & 0x7ff;
}

static uint16_t command(Memory *m, const NvmeCmd *cmd)
{
    return send_by(m->t, m->sq, cmd);
}

static uint16_t transfer(Memory *m, uint8_t opcode, uint64_t lba, size_t len)
{
    NvmeCmd cmd = qnvme_rw_cmd(opcode, &m->buf, lba, len);

    return command(m, &cmd);
}

/* A command of blocks and no data. */
static uint16_t on_blocks(Memory *m, uint8_t opcode, uint64_t lba,
                          uint32_t blocks, uint32_t flags)
{
    return command(m, &(NvmeCmd) {
        .opcode = opcode, .nsid = cpu_to_le32(1),
        .cdw10 = cpu_to_le32(lba),
        .cdw12 = cpu_to_le32(flags | (blocks - 1)),
    });
}

static void fill_guest(Memory *m, uint8_t byte)
{
    qtest_memset(m->t->qts, m->buf.addr, byte, BUFFER);
}

static void expect_guest(Memory *m, const uint8_t *data, size_t len)
{
    g_autofree uint8_t *found = g_malloc(len);

    qtest_memread(m->t->qts, m->buf.addr, found, len);
    g_assert_cmpmem(found, len, data, len);
}

/* All of the medium but @len bytes at @start is as fill(@seed) left it. */
static void expect_rest(Memory *m, size_t start, size_t len, uint8_t seed)
{
    g_autofree uint8_t *rest = g_malloc(SIZE);

    fill_bytes(rest, seed);
    memcpy(rest + start, m->data + start, len);
    /* its message would have all of it */
    g_assert_true(!memcmp(m->data, rest, SIZE));
}

static void expect_all(const uint8_t *data, size_t len, uint8_t byte)
{
    g_assert_true(!len || (data[0] == byte && !memcmp(data, data + 1,
                                                      len - 1)));
}

/* ---- Reads and writes ---- */

static const struct {
    uint64_t lba;
    size_t len;
    size_t at;      /* in a page */
} transfers[] = {
    { 0, BLOCK, 0 },
    { 1, BLOCK, QNVME_PAGE_SIZE - BLOCK },
    { 3, QNVME_PAGE_SIZE, 0 },
    { 8, QNVME_PAGE_SIZE / 2, 1024 },
    { 100, QNVME_PAGE_SIZE, 512 },
    { 200, 2 * QNVME_PAGE_SIZE, 0 },
    { 301, BUFFER, 0 },
    { BLOCKS - 1, BLOCK, 0 },
    { BLOCKS - BUFFER / BLOCK, BUFFER, 0 },
};

static NvmeCmd transfer_at(Memory *m, uint8_t opcode, int i)
{
    NvmeCmd cmd = qnvme_rw_cmd(opcode, &m->buf, transfers[i].lba,
                               transfers[i].len);
    uint64_t addr = m->buf.addr + transfers[i].at;

    cmd.dptr.prp1 = cpu_to_le64(addr);
    if (transfers[i].at + transfers[i].len > QNVME_PAGE_SIZE &&
        !cmd.dptr.prp2) {
        cmd.dptr.prp2 = cpu_to_le64(m->buf.addr + QNVME_PAGE_SIZE);
    }
    return cmd;
}

static void test_reads(Memory *m)
{
    g_autofree uint8_t *found = g_malloc(BUFFER);
    int i;

    for (i = 0; i < ARRAY_SIZE(transfers); i++) {
        NvmeCmd cmd = transfer_at(m, NVME_CMD_READ, i);
        size_t len = transfers[i].len, end = transfers[i].at + len;

        fill_guest(m, 0);
        g_assert_cmphex(command(m, &cmd), ==, 0);
        qtest_memread(m->t->qts, m->buf.addr, found, BUFFER);
        expect_all(found, transfers[i].at, 0);
        g_assert_cmpmem(found + transfers[i].at, len,
                        m->data + transfers[i].lba * BLOCK, len);
        expect_all(found + end, BUFFER - end, 0);
    }
    expect_rest(m, 0, 0, 0);
}

static void test_writes(Memory *m)
{
    int i;

    for (i = 0; i < ARRAY_SIZE(transfers); i++) {
        NvmeCmd cmd = transfer_at(m, NVME_CMD_WRITE, i);
        size_t start = transfers[i].lba * BLOCK, len = transfers[i].len;

        fill(m, i);
        fill_guest(m, 0xfd);
        qtest_memset(m->t->qts, m->buf.addr + transfers[i].at, 0xfe, len);
        g_assert_cmphex(command(m, &cmd), ==, 0);
        expect_all(m->data + start, len, 0xfe);
        expect_rest(m, start, len, i);
    }
}

static void test_out_of_range(Memory *m)
{
    g_assert_cmphex(transfer(m, NVME_CMD_READ, BLOCKS, BLOCK), ==,
                    NVME_LBA_RANGE);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, BLOCKS - 1, 2 * BLOCK), ==,
                    NVME_LBA_RANGE);
    expect_rest(m, 0, 0, 0);
}

/* As many as the queue has requests, of which each is done when it is begun. */
static void test_many_at_once(Memory *m)
{
    uint32_t count = CINT_ENTRIES - 1, i;
    NvmeCqe cqe;

    qnvme_use_shadow_doorbells(m->t->nvme);
    for (i = 0; i < count; i++) {
        qnvme_push_read(m->sq, &m->buf, i, QNVME_PAGE_SIZE);
    }
    qnvme_ring_sq(m->sq);
    await(m->t, m->sq, count);
    for (i = 0; i < count; i++) {
        g_assert_true(qnvme_peek(m->sq->cq, i, &cqe));
        g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    }
    qnvme_reap(m->sq->cq, count);
    expect_guest(m, m->data + (count - 1) * BLOCK, QNVME_PAGE_SIZE);
}

#define CMB_MSC     0x50
#define CMB_ENABLE  3

/* Data in the controller's own memory. */
static void test_cmb(Memory *m)
{
    QPCIBar cmb = qpci_iomap(m->t->pdev, 2, NULL);
    g_autofree uint8_t *found = g_malloc(QNVME_PAGE_SIZE);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &m->buf, 9, QNVME_PAGE_SIZE);

    qnvme_reg_write(m->t->nvme, CMB_MSC, cmb.addr | CMB_ENABLE);
    qnvme_reg_write(m->t->nvme, CMB_MSC + 4, cmb.addr >> 32);
    cmd.dptr.prp1 = cpu_to_le64(cmb.addr);
    g_assert_cmphex(command(m, &cmd), ==, 0);
    qpci_memread(m->t->pdev, cmb, 0, found, QNVME_PAGE_SIZE);
    g_assert_cmpmem(found, QNVME_PAGE_SIZE, m->data + 9 * BLOCK,
                    QNVME_PAGE_SIZE);
    cmd = qnvme_rw_cmd(NVME_CMD_WRITE, &m->buf, 20, QNVME_PAGE_SIZE);
    cmd.dptr.prp1 = cpu_to_le64(cmb.addr);
    g_assert_cmphex(command(m, &cmd), ==, 0);
    g_assert_cmpmem(m->data + 20 * BLOCK, QNVME_PAGE_SIZE, found,
                    QNVME_PAGE_SIZE);
}

/* ---- What is not there any more ---- */

static const struct {
    uint64_t lba;
    uint32_t blocks;
} ranges[] = {
    { 5, 1 },
    { 8, 8 },
    { 30, 17 },
    { 1000, 3001 },             /* by a thread */
    { BLOCKS - 9, 9 },
};

static uint64_t start_of(int i)
{
    return ranges[i].lba * BLOCK;
}

static size_t bytes_of(int i)
{
    return ranges[i].blocks * BLOCK;
}

static void expect_zeroed(Memory *m, int i)
{
    expect_all(m->data + start_of(i), bytes_of(i), 0);
    expect_rest(m, start_of(i), bytes_of(i), 0);
    fill(m, 0);
}

static void test_write_zeroes(Memory *m)
{
    static const uint32_t flags[] = { 0, 1u << 25 };    /* Deallocate */
    int i, j;

    for (i = 0; i < ARRAY_SIZE(ranges); i++) {
        for (j = 0; j < ARRAY_SIZE(flags); j++) {
            g_assert_cmphex(on_blocks(m, NVME_CMD_WRITE_ZEROES, ranges[i].lba,
                                      ranges[i].blocks, flags[j]), ==, 0);
            expect_zeroed(m, i);
        }
    }
}

static uint16_t deallocate(Memory *m, uint64_t lba, uint32_t blocks)
{
    NvmeDsmRange range = {
        .nlb = cpu_to_le32(blocks), .slba = cpu_to_le64(lba),
    };

    qtest_memwrite(m->t->qts, m->buf.addr, &range, sizeof(range));
    return command(m, &(NvmeCmd) {
        .opcode = NVME_CMD_DSM, .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(m->buf.addr),
        .cdw11 = cpu_to_le32(NVME_DSMGMT_AD),
    });
}

static void test_deallocate(Memory *m)
{
    int i;

    for (i = 0; i < ARRAY_SIZE(ranges); i++) {
        g_assert_cmphex(deallocate(m, ranges[i].lba, ranges[i].blocks), ==, 0);
        expect_zeroed(m, i);
    }
}

static uint64_t allocated(Memory *m)
{
    struct stat st;

    g_assert_cmpint(msync(m->data, SIZE, MS_SYNC), ==, 0);
    g_assert_cmpint(fstat(m->fd, &st), ==, 0);
    return st.st_blocks * 512ull;
}

static bool has_holes(Memory *m)
{
    uint64_t before = allocated(m);

    if (fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  0, SIZE) || allocated(m) == before) {
        g_test_skip("no holes in files of this file system");
        return false;
    }
    fill(m, 0);
    return true;
}

static void test_memory_is_given_back(Memory *m)
{
    uint64_t before;

    if (!has_holes(m)) {
        return;
    }
    before = allocated(m);
    g_assert_cmphex(deallocate(m, 1000, 3001), ==, 0);
    g_assert_cmpuint(allocated(m), <=, before - 3000 * BLOCK +
                     2 * QNVME_PAGE_SIZE);
}

static void test_memory_is_kept(Memory *m)
{
    uint64_t before;

    if (!has_holes(m)) {
        return;
    }
    before = allocated(m);
    g_assert_cmphex(deallocate(m, 1000, 3001), ==, 0);
    g_assert_cmpuint(allocated(m), >=, before);
    expect_all(m->data + 1000 * BLOCK, 3001 * BLOCK, 0);
}

/* An operator may want it kept later. */
static void test_memory_is_kept_from_now_on(Memory *m)
{
    qtest_qmp_assert_success(m->t->qts,
        "{ 'execute': 'qom-set', 'arguments': { 'path': '/objects/m0',"
        " 'property': 'prealloc', 'value': true } }");
    test_memory_is_kept(m);
}

static NvmeIdNs identify(Memory *m)
{
    NvmeIdNs id;

    g_assert_cmphex(qnvme_identify(m->t->nvme, NVME_ID_CNS_NS, 1, &m->buf), ==,
                    0);
    qtest_memread(m->t->qts, m->buf.addr, &id, sizeof(id));
    return id;
}

static void test_identify(Memory *m)
{
    NvmeIdNs id = identify(m);

    g_assert_cmpuint(le64_to_cpu(id.nsze), ==, BLOCKS);
    g_assert_cmpuint(le64_to_cpu(id.ncap), ==, BLOCKS);
    g_assert_cmpuint(le16_to_cpu(id.npdg), ==,
                     qemu_real_host_page_size() / BLOCK - 1);
    /* deallocated blocks read as zeroes */
    g_assert_cmphex(id.dlfeat & 7, ==, 1);
}

/* Format, to blocks of 4 KiB. */
static void test_format(Memory *m)
{
    g_assert_cmphex(qnvme_admin(m->t->nvme, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_FORMAT_NVM, .nsid = cpu_to_le32(1),
        .cdw10 = cpu_to_le32(4),
    }, NULL), ==, 0);
    expect_all(m->data, SIZE, 0);
    g_assert_cmpuint(le64_to_cpu(identify(m).nsze), ==, SIZE / 4096);
    fill(m, 3);
    g_assert_cmphex(command(m, &(NvmeCmd) {
        .opcode = NVME_CMD_READ, .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(m->buf.addr), .cdw10 = cpu_to_le32(5),
    }), ==, 0);
    expect_guest(m, m->data + 5 * 4096, 4096);
}

/* ---- Compare, Verify, Copy, Flush ---- */

static void test_compare(Memory *m)
{
    qtest_memwrite(m->t->qts, m->buf.addr, m->data + 7 * BLOCK, BUFFER);
    g_assert_cmphex(transfer(m, NVME_CMD_COMPARE, 7, BUFFER), ==, 0);
    m->data[7 * BLOCK + BUFFER - 1] ^= 1;
    g_assert_cmphex(transfer(m, NVME_CMD_COMPARE, 7, BUFFER), ==,
                    NVME_CMP_FAILURE);
    g_assert_cmphex(transfer(m, NVME_CMD_COMPARE, 7, BUFFER - BLOCK), ==, 0);
}

static void test_verify(Memory *m)
{
    g_assert_cmphex(on_blocks(m, NVME_CMD_VERIFY, 3, 100, 0), ==, 0);
    g_assert_cmphex(on_blocks(m, NVME_CMD_VERIFY, BLOCKS, 1, 0), ==,
                    NVME_LBA_RANGE);
}

static void test_copy(Memory *m)
{
    NvmeCopySourceRangeFormat0_2 range = {
        .slba = cpu_to_le64(11), .nlb = cpu_to_le16(20 - 1),
    };

    qtest_memwrite(m->t->qts, m->buf.addr, &range, sizeof(range));
    g_assert_cmphex(command(m, &(NvmeCmd) {
        .opcode = NVME_CMD_COPY, .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(m->buf.addr), .cdw10 = cpu_to_le32(4000),
    }), ==, 0);
    g_assert_cmpmem(m->data + 4000 * BLOCK, 20 * BLOCK,
                    m->data + 11 * BLOCK, 20 * BLOCK);
    expect_rest(m, 4000 * BLOCK, 20 * BLOCK, 0);
}

static void test_flush(Memory *m)
{
    fill_guest(m, 0xfe);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 0, BUFFER), ==, 0);
    g_assert_cmphex(command(m, &(NvmeCmd) {
        .opcode = NVME_CMD_FLUSH, .nsid = cpu_to_le32(1),
    }), ==, 0);
    expect_all(m->data, BUFFER, 0xfe);
}

/* What is written goes through to the file. */
static void test_without_write_cache(Memory *m)
{
    g_assert_cmphex(qnvme_set_feature(m->t->nvme, NVME_VOLATILE_WRITE_CACHE, 0,
                                      NULL, NULL), ==, 0);
    test_writes(m);
}

static void test_atomic_writes(Memory *m)
{
    test_writes(m);
}

/* ---- Random commands, beside a model of the medium ---- */

#define MS          8
/* The blocks first, then their metadata. */
#define MOFF        ((size_t)(SIZE / (BLOCK + MS) * BLOCK))

#define RANDOM_STEPS    40
#define MOST_PIECES     200

typedef struct Piece {
    uint64_t addr;
    uint32_t len;
} Piece;

/*
 * Data of a command: where it is in guest memory, and its bytes. Metadata is
 * behind each block, or all of it behind the blocks and elsewhere in memory.
 */
typedef struct Data {
    Piece piece[MOST_PIECES];
    size_t pieces;
    uint8_t bytes[BUFFER];
    size_t len;                 /* of the pieces */
    size_t metadata;            /* what comes behind them */
} Data;

typedef struct Random {
    Memory *m;
    QNvmeBuf room;              /* for pieces, with gaps between them */
    uint64_t list;              /* a page */
    uint64_t metadata;          /* a page */
    uint32_t ms;
    bool is_extended;
    uint64_t capacity;          /* in blocks */
    uint8_t *model;
    Data data;
    uint64_t lba;
    uint32_t blocks;
} Random;

static uint32_t below(uint32_t limit)
{
    return g_test_rand_int_range(0, limit);
}

static bool is_outside(const Random *r)
{
    return r->lba + r->blocks > r->capacity;
}

/* Near the ends, or anywhere; a few reach beyond the last block. */
static void choose_range(Random *r, uint32_t most)
{
    const uint64_t starts[] = { 0, r->capacity - 130, r->capacity - 1 };

    r->blocks = 1 + below(below(2) ? 12 : most);
    r->lba = below(2) ? below(r->capacity) :
             starts[below(ARRAY_SIZE(starts))] + below(100);
}

/* Pages in any order; the first begins within. */
static void choose_pages(Random *r, NvmeCmd *cmd)
{
    Data *d = &r->data;
    size_t pages = r->room.len / QNVME_PAGE_SIZE, done = 0, i;
    uint64_t addrs[2 * BUFFER / QNVME_PAGE_SIZE];
    uint32_t at = 4 * below(QNVME_PAGE_SIZE / 4), first = below(pages);

    for (i = 0; done < d->len; i++) {
        addrs[i] = r->room.addr +
                   (first + 5 * i) % pages * QNVME_PAGE_SIZE + at;
        d->piece[i] = (Piece) {
            addrs[i], MIN(QNVME_PAGE_SIZE - at, d->len - done),
        };
        done += d->piece[i].len;
        addrs[i] = cpu_to_le64(addrs[i]);
        at = 0;
    }
    d->pieces = i;
    cmd->dptr.prp1 = addrs[0];
    cmd->dptr.prp2 = i == 2 ? addrs[1] : cpu_to_le64(r->list);
    qtest_memwrite(r->m->t->qts, r->list, addrs + 1, (i - 1) * sizeof(*addrs));
}

/* Pieces of any length, which are nowhere the limits of pages or blocks. */
static void choose_descriptors(Random *r, NvmeCmd *cmd)
{
    NvmeSglDescriptor sgl[MOST_PIECES];
    Data *d = &r->data;
    size_t done = 0, i;

    for (i = 0; done < d->len; i++) {
        bool is_last = i == MOST_PIECES - 1;
        size_t len = is_last ? d->len : 1 + below(3 * QNVME_PAGE_SIZE / 2);

        d->piece[i] = (Piece) {
            r->room.addr + done + 7 * i, MIN(len, d->len - done),
        };
        done += d->piece[i].len;
        sgl[i] = (NvmeSglDescriptor) {
            .addr = cpu_to_le64(d->piece[i].addr),
            .len = cpu_to_le32(d->piece[i].len),
        };
    }
    d->pieces = i;
    qtest_memwrite(r->m->t->qts, r->list, sgl, i * sizeof(*sgl));
    cmd->flags = NVME_PSDT_SGL_MPTR_CONTIGUOUS << 6;
    cmd->dptr.sgl = (NvmeSglDescriptor) {
        .addr = cpu_to_le64(r->list),
        .len = cpu_to_le32(i * sizeof(*sgl)),
        .type = NVME_SGL_DESCR_TYPE_LAST_SEGMENT << 4,
    };
}

static NvmeCmd with_data(Random *r, uint8_t opcode)
{
    NvmeCmd cmd = {
        .opcode = opcode, .nsid = cpu_to_le32(1),
        .mptr = cpu_to_le64(r->metadata),
        .cdw10 = cpu_to_le32(r->lba), .cdw12 = cpu_to_le32(r->blocks - 1),
    };

    r->data.len = r->blocks * (BLOCK + (r->is_extended ? r->ms : 0));
    r->data.metadata = r->is_extended ? 0 : r->blocks * r->ms;
    if (below(2)) {
        choose_pages(r, &cmd);
    } else {
        choose_descriptors(r, &cmd);
    }
    return cmd;
}

static void put_data(Random *r)
{
    const Data *d = &r->data;
    size_t done = 0, i;

    for (i = 0; i < d->pieces; done += d->piece[i++].len) {
        qtest_memwrite(r->m->t->qts, d->piece[i].addr, d->bytes + done,
                       d->piece[i].len);
    }
    qtest_memwrite(r->m->t->qts, r->metadata, d->bytes + done, d->metadata);
}

static void get_data(Random *r)
{
    Data *d = &r->data;
    size_t done = 0, i;

    for (i = 0; i < d->pieces; done += d->piece[i++].len) {
        qtest_memread(r->m->t->qts, d->piece[i].addr, d->bytes + done,
                      d->piece[i].len);
    }
    qtest_memread(r->m->t->qts, r->metadata, d->bytes + done, d->metadata);
}

/* From where each block and its metadata are in the model, or to there. */
static void exchange(Random *r, uint8_t *bytes, bool is_write)
{
    uint32_t i;

    for (i = 0; i < r->blocks; i++) {
        uint8_t *block = r->model + (r->lba + i) * BLOCK;
        uint8_t *metadata = r->model + r->capacity * BLOCK +
                            (r->lba + i) * r->ms;
        uint8_t *data = bytes + i * (BLOCK + (r->is_extended ? r->ms : 0));
        uint8_t *behind = r->is_extended ? data + BLOCK :
                          bytes + r->blocks * BLOCK + i * r->ms;

        memcpy(is_write ? block : data, is_write ? data : block, BLOCK);
        memcpy(is_write ? metadata : behind, is_write ? behind : metadata,
               r->ms);
    }
}

static void random_write(Random *r)
{
    NvmeCmd cmd = with_data(r, NVME_CMD_WRITE);
    size_t i;

    for (i = 0; i < r->data.len + r->data.metadata; i++) {
        r->data.bytes[i] = below(256);
    }
    put_data(r);
    if (is_outside(r)) {
        g_assert_cmphex(command(r->m, &cmd), ==, NVME_LBA_RANGE);
        return;
    }
    g_assert_cmphex(command(r->m, &cmd), ==, 0);
    exchange(r, r->data.bytes, true);
}

static void random_read(Random *r)
{
    NvmeCmd cmd = with_data(r, NVME_CMD_READ);
    g_autofree uint8_t *expected = g_malloc(BUFFER);

    if (is_outside(r)) {
        g_assert_cmphex(command(r->m, &cmd), ==, NVME_LBA_RANGE);
        return;
    }
    g_assert_cmphex(command(r->m, &cmd), ==, 0);
    get_data(r);
    exchange(r, expected, false);
    g_assert_cmpmem(r->data.bytes, r->data.len + r->data.metadata, expected,
                    r->data.len + r->data.metadata);
}

static void random_compare(Random *r)
{
    NvmeCmd cmd = with_data(r, NVME_CMD_COMPARE);
    bool differs = below(2);

    if (is_outside(r)) {
        g_assert_cmphex(command(r->m, &cmd), ==, NVME_LBA_RANGE);
        return;
    }
    exchange(r, r->data.bytes, false);
    r->data.bytes[below(r->data.len + r->data.metadata)] ^= differs;
    put_data(r);
    g_assert_cmphex(command(r->m, &cmd), ==, differs ? NVME_CMP_FAILURE : 0);
}

static void expect_zeroes_written(Random *r)
{
    if (!is_outside(r)) {
        memset(r->model + r->lba * BLOCK, 0, r->blocks * BLOCK);
        memset(r->model + r->capacity * BLOCK + r->lba * r->ms, 0,
               r->blocks * r->ms);
    }
}

static void random_write_zeroes(Random *r)
{
    choose_range(r, 4000);
    g_assert_cmphex(on_blocks(r->m, NVME_CMD_WRITE_ZEROES, r->lba, r->blocks,
                              below(2) << 25), ==,
                    is_outside(r) ? NVME_LBA_RANGE : 0);
    expect_zeroes_written(r);
}

/* A range that is none is left out, on any drive. */
static void random_deallocate(Random *r)
{
    choose_range(r, 4000);
    g_assert_cmphex(deallocate(r->m, r->lba, r->blocks), ==, 0);
    expect_zeroes_written(r);
}

/* Within the medium, onto itself also, if not within one range. */
static void random_copy(Random *r)
{
    uint64_t from = below(r->capacity - BUFFER / BLOCK);
    NvmeCopySourceRangeFormat0_2 range = {
        .slba = cpu_to_le64(from), .nlb = cpu_to_le16(r->blocks - 1),
    };
    uint16_t status;

    if (from < r->lba + r->blocks && r->lba < from + r->blocks) {
        return;
    }
    qtest_memwrite(r->m->t->qts, r->m->buf.addr, &range, sizeof(range));
    status = command(r->m, &(NvmeCmd) {
        .opcode = NVME_CMD_COPY, .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(r->m->buf.addr),
        .cdw10 = cpu_to_le32(r->lba),
    });
    if (is_outside(r)) {
        g_assert_cmphex(status, ==, NVME_LBA_RANGE);
        return;
    }
    g_assert_cmphex(status, ==, 0);
    memcpy(r->model + r->lba * BLOCK, r->model + from * BLOCK,
           r->blocks * BLOCK);
    memcpy(r->model + r->capacity * BLOCK + r->lba * r->ms,
           r->model + r->capacity * BLOCK + from * r->ms, r->blocks * r->ms);
}

static void run_random(Memory *m, uint32_t ms, bool is_extended)
{
    static void (*const steps[])(Random *r) = {
        random_read, random_read, random_write, random_write, random_compare,
        random_write_zeroes, random_deallocate, random_copy,
    };
    g_autofree Random *r = g_new0(Random, 1);
    g_autofree uint8_t *model = g_memdup2(m->data, SIZE);
    int i;

    r->m = m;
    r->model = model;
    r->room = qnvme_buf_new(m->t->nvme, 2 * BUFFER);
    r->list = guest_alloc(m->t->nvme->alloc, QNVME_PAGE_SIZE);
    r->metadata = guest_alloc(m->t->nvme->alloc, QNVME_PAGE_SIZE);
    r->ms = ms;
    r->is_extended = is_extended;
    r->capacity = SIZE / (BLOCK + ms);
    for (i = 0; i < RANDOM_STEPS; i++) {
        choose_range(r, BUFFER / (BLOCK + ms));
        steps[below(ARRAY_SIZE(steps))](r);
        /* its message would have all of it */
        g_assert_true(!memcmp(m->data, model, SIZE));
    }
}

static void test_random(Memory *m)
{
    run_random(m, 0, false);
}

static void test_random_metadata(Memory *m)
{
    run_random(m, MS, false);
}

static void test_random_extended(Memory *m)
{
    run_random(m, MS, true);
}

/* ---- Metadata and protection information ---- */

static uint16_t with_metadata(Memory *m, uint8_t opcode, uint64_t lba,
                              uint32_t flags)
{
    NvmeCmd cmd = qnvme_rw_cmd(opcode, &m->buf, lba, BLOCK);

    cmd.mptr = cpu_to_le64(m->buf.addr + QNVME_PAGE_SIZE);
    cmd.cdw12 |= cpu_to_le32(flags);
    cmd.cdw14 = cpu_to_le32(lba);
    return command(m, &cmd);
}

static void test_metadata(Memory *m)
{
    uint8_t found[MS];

    g_assert_cmpuint(le64_to_cpu(identify(m).nsze), ==, MOFF / BLOCK);
    fill_guest(m, 0xfd);
    qtest_memset(m->t->qts, m->buf.addr + QNVME_PAGE_SIZE, 0xfe, MS);
    g_assert_cmphex(with_metadata(m, NVME_CMD_WRITE, 40, 0), ==, 0);
    expect_all(m->data + 40 * BLOCK, BLOCK, 0xfd);
    expect_all(m->data + MOFF + 40 * MS, MS, 0xfe);
    fill_guest(m, 0);
    g_assert_cmphex(with_metadata(m, NVME_CMD_READ, 41, 0), ==, 0);
    expect_guest(m, m->data + 41 * BLOCK, BLOCK);
    qtest_memread(m->t->qts, m->buf.addr + QNVME_PAGE_SIZE, found, MS);
    g_assert_cmpmem(found, MS, m->data + MOFF + 41 * MS, MS);
}

static void test_extended_metadata(Memory *m)
{
    fill_guest(m, 0xfd);
    qtest_memset(m->t->qts, m->buf.addr + BLOCK, 0xfe, MS);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 40, BLOCK), ==, 0);
    expect_all(m->data + 40 * BLOCK, BLOCK, 0xfd);
    expect_all(m->data + MOFF + 40 * MS, MS, 0xfe);
    fill_guest(m, 0);
    g_assert_cmphex(transfer(m, NVME_CMD_READ, 40, BLOCK), ==, 0);
    expect_guest(m, m->data + 40 * BLOCK, BLOCK);
}

#define PRACT       (1u << 29)
#define PRCHK_GUARD (1u << 28)
#define PRCHK_REF   (1u << 26)
#define PROTECTED   (PRACT | PRCHK_GUARD | PRCHK_REF)

static void test_protection(Memory *m)
{
    g_assert_cmphex(with_metadata(m, NVME_CMD_WRITE, 40, PROTECTED), ==, 0);
    g_assert_cmphex(with_metadata(m, NVME_CMD_READ, 40, PROTECTED), ==, 0);
    g_assert_cmphex(on_blocks(m, NVME_CMD_VERIFY, 40, 1, PRCHK_GUARD), ==, 0);
    m->data[40 * BLOCK] ^= 1;
    g_assert_cmphex(with_metadata(m, NVME_CMD_READ, 40, PROTECTED), ==,
                    NVME_E2E_GUARD_ERROR);
    g_assert_cmphex(on_blocks(m, NVME_CMD_VERIFY, 40, 1, PRCHK_GUARD), ==,
                    NVME_E2E_GUARD_ERROR);
}

static void expect_metadata(Memory *m, size_t at, const uint8_t *tuple)
{
    uint8_t found[MS];

    qtest_memread(m->t->qts, m->buf.addr + QNVME_PAGE_SIZE + at, found, MS);
    g_assert_cmpmem(found, MS, tuple, MS);
}

static const uint8_t unprotected[MS] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
};

/* Blocks that were never written have none, and deallocated ones lost it. */
static void test_without_protection(Memory *m)
{
    const uint8_t kept[MS] = { [MS - 1] = 42 };

    memset(m->data, 0, SIZE);
    m->data[0] = 1;
    g_assert_cmphex(with_metadata(m, NVME_CMD_READ, 41,
                                  PRCHK_GUARD | PRCHK_REF), ==, 0);
    expect_metadata(m, 0, unprotected);
    g_assert_cmphex(on_blocks(m, NVME_CMD_VERIFY, 41, 9, PRCHK_GUARD), ==, 0);
    fill_guest(m, 0xfe);
    g_assert_cmphex(with_metadata(m, NVME_CMD_WRITE, 40, PROTECTED), ==, 0);
    g_assert_cmphex(deallocate(m, 40, 1), ==, 0);
    expect_all(m->data + MOFF + 40 * MS, MS, 0);
    g_assert_cmphex(with_metadata(m, NVME_CMD_READ, 40, PROTECTED), ==, 0);
    /* one of zeroes that was written is no such block */
    fill_guest(m, 0);
    g_assert_cmphex(with_metadata(m, NVME_CMD_WRITE, 42, PROTECTED), ==, 0);
    g_assert_cmphex(with_metadata(m, NVME_CMD_READ, 42,
                                  PRCHK_GUARD | PRCHK_REF), ==, 0);
    expect_metadata(m, 0, kept);
    m->data[42 * BLOCK] = 1;
    g_assert_cmphex(with_metadata(m, NVME_CMD_READ, 42, PRCHK_GUARD), ==,
                    NVME_E2E_GUARD_ERROR);
}

/* Of blocks of 4 KiB, of which one begins with zeroes. */
static void test_partly_zero(Memory *m)
{
    NvmeCmd cmd = {
        .opcode = NVME_CMD_WRITE, .nsid = cpu_to_le32(1),
        .mptr = cpu_to_le64(m->buf.addr + QNVME_PAGE_SIZE),
        .dptr.prp1 = cpu_to_le64(m->buf.addr),
        .cdw10 = cpu_to_le32(3), .cdw12 = cpu_to_le32(PROTECTED),
        .cdw14 = cpu_to_le32(3),
    };
    uint8_t tuple[MS];

    memset(m->data, 0, SIZE);
    fill_guest(m, 0);
    qtest_memset(m->t->qts, m->buf.addr + 4000, 0xfe, 96);
    g_assert_cmphex(command(m, &cmd), ==, 0);
    memcpy(tuple, m->data + SIZE / (4096 + MS) * 4096 + 3 * MS, MS);
    g_assert_cmphex(tuple[MS - 1], ==, 3);
    cmd.opcode = NVME_CMD_READ;
    cmd.cdw12 = cpu_to_le32(PRCHK_GUARD | PRCHK_REF | 1);
    cmd.dptr.prp2 = cpu_to_le64(m->buf.addr + 2 * QNVME_PAGE_SIZE);
    g_assert_cmphex(command(m, &cmd), ==, 0);
    expect_metadata(m, 0, tuple);
    expect_metadata(m, MS, unprotected);
}

/* ---- Zones, and data placement ---- */

#define ZONE        (MiB / BLOCK)
#define ZONE_RESET  4

static void test_zones(Memory *m)
{
    NvmeCmd reset = {
        .opcode = NVME_CMD_ZONE_MGMT_SEND, .nsid = cpu_to_le32(1),
        .cdw10 = cpu_to_le32(ZONE), .cdw13 = cpu_to_le32(ZONE_RESET),
    };

    fill_guest(m, 0xfe);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, ZONE, 4 * BLOCK), ==, 0);
    g_assert_cmphex(transfer(m, NVME_CMD_ZONE_APPEND, ZONE, 4 * BLOCK), ==, 0);
    expect_all(m->data + MiB, 8 * BLOCK, 0xfe);
    expect_rest(m, MiB, 8 * BLOCK, 0);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, ZONE + 9, BLOCK), ==,
                    NVME_ZONE_INVALID_WRITE);
    g_assert_cmphex(transfer(m, NVME_CMD_READ, ZONE + 2, 4 * BLOCK), ==, 0);
    expect_guest(m, m->data + MiB, 4 * BLOCK);
    g_assert_cmphex(command(m, &reset), ==, 0);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, ZONE, 4 * BLOCK), ==, 0);
}

#define PLACEMENT   (2u << 20)

static void test_placement(Memory *m)
{
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_WRITE, &m->buf, 6, QNVME_PAGE_SIZE);

    cmd.cdw12 |= cpu_to_le32(PLACEMENT);
    cmd.cdw13 = cpu_to_le32(3 << 16);
    fill_guest(m, 0xfe);
    g_assert_cmphex(command(m, &cmd), ==, 0);
    expect_all(m->data + 6 * BLOCK, QNVME_PAGE_SIZE, 0xfe);
    expect_rest(m, 6 * BLOCK, QNVME_PAGE_SIZE, 0);
}

/* ---- Backends ---- */

static void test_read_only(Memory *m)
{
    g_assert_cmphex(transfer(m, NVME_CMD_READ, 77, BUFFER), ==, 0);
    expect_guest(m, m->data + 77 * BLOCK, BUFFER);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 7, BLOCK), ==,
                    NVME_WRITE_FAULT);
    g_assert_cmphex(on_blocks(m, NVME_CMD_WRITE_ZEROES, 7, 9, 0), ==,
                    NVME_WRITE_FAULT);
    g_assert_cmphex(deallocate(m, 7, 9), !=, 0);
    expect_rest(m, 0, 0, 0);
}

/* The namespace is written, the file is not. */
static void test_private(Memory *m)
{
    fill_guest(m, 0xfe);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 7, BUFFER), ==, 0);
    g_assert_cmphex(deallocate(m, 1000, 3001), ==, 0);
    g_assert_cmphex(command(m, &(NvmeCmd) {
        .opcode = NVME_CMD_FLUSH, .nsid = cpu_to_le32(1),
    }), ==, 0);
    g_assert_cmphex(transfer(m, NVME_CMD_READ, 1000, BUFFER), ==, 0);
    expect_guest(m, (uint8_t[BLOCK]) { 0 }, BLOCK);
    g_assert_cmphex(transfer(m, NVME_CMD_READ, 7, BLOCK), ==, 0);
    expect_guest(m, (uint8_t[]) { 0xfe, 0xfe }, 2);
    expect_rest(m, 0, 0, 0);
}

/* ---- Several of them ---- */

/* Another controller of the subsystem has the namespace as well. */
static void test_two_controllers(Memory *m)
{
    CintTest *other = cint_other(m->t, 6);
    QNvmeSq *sq = cint_queues(other, 1);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &m->buf, 50, BUFFER);

    fill_guest(m, 0xfe);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 50, BUFFER), ==, 0);
    fill_guest(m, 0);
    g_assert_cmphex(send_by(m->t, sq, &cmd), ==, 0);
    expect_guest(m, m->data + 50 * BLOCK, BUFFER);
    expect_all(m->data + 50 * BLOCK, BUFFER, 0xfe);
    cint_other_free(other);
}

/* Each is accounted where it was done. */
static void test_health(Memory *m)
{
    QNvmeBuf page = qnvme_buf_new(m->t->nvme, sizeof(NvmeSmartLog));
    NvmeSmartLog log;
    int i;

    for (i = 0; i < 20; i++) {
        g_assert_cmphex(transfer(m, NVME_CMD_READ, i, BUFFER), ==, 0);
        g_assert_cmphex(transfer(m, NVME_CMD_READ, i, BLOCK), ==, 0);
    }
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 0, BUFFER), ==, 0);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 0, BLOCK), ==, 0);
    g_assert_cmphex(qnvme_get_log(m->t->nvme, NVME_LOG_SMART_INFO, 0, 0,
                                  &page), ==, 0);
    qtest_memread(m->t->qts, page.addr, &log, sizeof(log));
    g_assert_cmpuint(le64_to_cpu(log.host_read_commands[0]), ==, 40);
    g_assert_cmpuint(le64_to_cpu(log.host_write_commands[0]), ==, 2);
    /* of 1000 times 512 bytes, rounded up */
    g_assert_cmpuint(le64_to_cpu(log.data_units_read[0]), ==, 3);
}

/* What an operator is told of the namespace's block backend; unref it. */
static QDict *statistics(Memory *m)
{
    QDict *answer = qtest_qmp(m->t->qts, "{ 'execute': 'query-blockstats' }");
    QDict *disk = qobject_to(QDict, qlist_entry_obj(qlist_first(
        qdict_get_qlist(answer, "return"))));
    QDict *stats = qdict_get_qdict(disk, "stats");

    qobject_ref(stats);
    qobject_unref(answer);
    return stats;
}

/* How far the medium has been written. */
static int64_t written_up_to(Memory *m)
{
    QDict *stats = statistics(m);
    int64_t bytes = qdict_get_int(stats, "wr_highest_offset");

    qobject_unref(stats);
    return bytes;
}

static void test_written_up_to(Memory *m)
{
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 8, BLOCK), ==, 0);
    g_assert_cmpint(written_up_to(m), ==, 9 * BLOCK);
    g_assert_cmphex(transfer(m, NVME_CMD_READ, 500, BLOCK), ==, 0);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 100, BUFFER), ==, 0);
    g_assert_cmpint(written_up_to(m), ==, 100 * BLOCK + BUFFER);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 8, BLOCK), ==, 0);
    g_assert_cmpint(written_up_to(m), ==, 100 * BLOCK + BUFFER);
}

static int64_t sum_of_bins(QDict *stats, const char *histogram)
{
    QDict *h = qdict_get_qdict(stats, histogram);
    const QListEntry *bin;
    int64_t sum = 0;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(h, "bins"), bin) {
        sum += qnum_get_int(qobject_to(QNum, qlist_entry_obj(bin)));
    }
    return sum;
}

static void transfer_some(Memory *m)
{
    g_assert_cmphex(transfer(m, NVME_CMD_READ, 8, BLOCK), ==, 0);
    g_assert_cmphex(transfer(m, NVME_CMD_READ, 8, BUFFER), ==, 0);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 8, BLOCK), ==, 0);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 8, 2 * BLOCK), ==, 0);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 8, BUFFER), ==, 0);
}

static void test_statistics(Memory *m)
{
    QDict *stats;

    transfer_some(m);
    qtest_qmp_assert_success(m->t->qts,
        "{ 'execute': 'block-latency-histogram-set', 'arguments': {"
        " 'id': 'ns0', 'boundaries': [ 1000, 1000000 ] } }");
    transfer_some(m);
    stats = statistics(m);
    g_assert_cmpint(qdict_get_int(stats, "rd_operations"), ==, 4);
    g_assert_cmpint(qdict_get_int(stats, "wr_operations"), ==, 6);
    g_assert_cmpint(qdict_get_int(stats, "rd_bytes"), ==,
                    2 * (BLOCK + BUFFER));
    g_assert_cmpint(qdict_get_int(stats, "wr_bytes"), ==,
                    2 * (3 * BLOCK + BUFFER));
    g_assert_cmpint(sum_of_bins(stats, "rd_latency_histogram"), ==, 2);
    g_assert_cmpint(sum_of_bins(stats, "wr_latency_histogram"), ==, 3);
    g_assert_true(qdict_haskey(stats, "idle_time_ns"));
    qobject_unref(stats);
}

/* ---- Who sees requests ---- */

static void test_bitmap(Memory *m)
{
    QDict *node = cint_memdev_node(m->t);
    const QListEntry *bitmap;

    qtest_qmp_assert_success(m->t->qts,
        "{ 'execute': 'block-dirty-bitmap-add', 'arguments': {"
        " 'node': %s, 'name': 'b', 'granularity': 4096 } }",
        qdict_get_str(node, "node-name"));
    qobject_unref(node);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 8, QNVME_PAGE_SIZE), ==, 0);
    node = cint_memdev_node(m->t);
    bitmap = qlist_first(qdict_get_qlist(node, "dirty-bitmaps"));
    g_assert_cmpint(qdict_get_int(qobject_to(QDict, qlist_entry_obj(bitmap)),
                                  "count"), ==, QNVME_PAGE_SIZE);
    qobject_unref(node);
}

/* One a second: the limit's clock is the virtual one. */
static void test_limit(Memory *m)
{
    int i;

    qtest_qmp_assert_success(m->t->qts,
        "{ 'execute': 'block_set_io_throttle', 'arguments': { 'id': 'ns0',"
        " 'bps': 0, 'bps_rd': 0, 'bps_wr': 0,"
        " 'iops': 1, 'iops_rd': 0, 'iops_wr': 0 } }");
    for (i = 0; i < 3; i++) {
        qnvme_push_read(m->sq, &m->buf, 0, BLOCK);
    }
    qnvme_ring_sq(m->sq);
    let_pass(m->t);
    g_assert_cmpuint(qnvme_visible(m->sq->cq), <, 3);
    for (i = 0; i < 10; i++) {
        cint_run(m->t, CINT_SECOND);
        cint_let_run(m->t);
    }
    qnvme_wait_cqes(m->sq->cq, 3);
}

/* The guest's medium is another node from now on. */
static void test_replaced(Memory *m)
{
    fill_guest(m, 0xfe);
    qtest_qmp_assert_success(m->t->qts,
        "{ 'execute': 'qom-set', 'arguments': {"
        " 'path': '/machine/peripheral/ns0', 'property': 'drive',"
        " 'value': 'd1' } }");
    g_assert_cmphex(transfer(m, NVME_CMD_READ, 8, BUFFER), ==, 0);
    expect_guest(m, (uint8_t[BLOCK]) { 0 }, BLOCK);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 8, BUFFER), ==, 0);
    expect_rest(m, 0, 0, 0);
}

/* A file of the medium's size, as node "d1". */
static int add_file(Memory *m, char **path)
{
    int fd;

    *path = g_strdup_printf("%s/nvme-cint-memdev-XXXXXX", g_get_tmp_dir());
    fd = mkstemp(*path);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, SIZE), ==, 0);
    qtest_qmp_assert_success(m->t->qts,
        "{ 'execute': 'blockdev-add', 'arguments': {"
        " 'node-name': 'd1', 'driver': 'file', 'filename': %s } }", *path);
    return fd;
}

static void expect_file(int fd, const uint8_t *data)
{
    g_autofree uint8_t *found = g_malloc(SIZE);

    g_assert_cmpint(pread(fd, found, SIZE, 0), ==, SIZE);
    g_assert_true(!memcmp(found, data, SIZE));
}

/* Moved to a file, while it is written, and the memory is nobody's then. */
static void test_mirror(Memory *m)
{
    g_autofree char *path = NULL;
    g_autofree uint8_t *last = NULL;
    int fd = add_file(m, &path);
    QDict *node = cint_memdev_node(m->t);

    fill_guest(m, 0xfd);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 8, BUFFER), ==, 0);
    qtest_qmp_assert_success(m->t->qts,
        "{ 'execute': 'blockdev-mirror', 'arguments': { 'job-id': 'j',"
        " 'device': %s, 'target': 'd1', 'sync': 'full' } }",
        qdict_get_str(node, "node-name"));
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 500, BUFFER), ==, 0);
    qtest_qmp_eventwait(m->t->qts, "BLOCK_JOB_READY");
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 3, BLOCK), ==, 0);
    g_assert_cmphex(on_blocks(m, NVME_CMD_WRITE_ZEROES, 4000, 3001, 0), ==,
                    0);
    qtest_qmp_assert_success(m->t->qts,
        "{ 'execute': 'job-complete', 'arguments': { 'id': 'j' } }");
    qtest_qmp_eventwait(m->t->qts, "BLOCK_JOB_COMPLETED");
    expect_all(m->data + 500 * BLOCK, BUFFER, 0xfd);
    expect_all(m->data + 4000 * BLOCK, 3001 * BLOCK, 0);
    expect_file(fd, m->data);
    last = g_memdup2(m->data, SIZE);
    fill_guest(m, 0xfe);
    g_assert_cmphex(transfer(m, NVME_CMD_WRITE, 7, QNVME_PAGE_SIZE), ==, 0);
    g_assert_true(!memcmp(m->data, last, SIZE));
    memset(last + 7 * BLOCK, 0xfe, QNVME_PAGE_SIZE);
    expect_file(fd, last);
    qtest_qmp_assert_success(m->t->qts,
        "{ 'execute': 'object-del', 'arguments': { 'id': 'm0' } }");
    qobject_unref(node);
    close(fd);
    unlink(path);
}

#define OTHER_NODE \
    "-blockdev driver=null-co,node-name=d1,size=4194304,read-zeroes=on"

/* ---- Whose the memory is ---- */

static void expect_qmp_error(Memory *m, const char *says, const char *command)
{
    QDict *answer = qtest_qmp(m->t->qts, command);

    g_assert_true(qdict_haskey(answer, "error"));
    g_assert_nonnull(strstr(qdict_get_str(qdict_get_qdict(answer, "error"),
                                          "desc"), says));
    qobject_unref(answer);
}

static void test_in_use(Memory *m)
{
    expect_qmp_error(m, "'m0'",
        "{ 'execute': 'object-del', 'arguments': { 'id': 'm0' } }");
    expect_qmp_error(m, "busy",
        "{ 'execute': 'device_add', 'arguments': {"
        " 'driver': 'pc-dimm', 'memdev': 'm0' } }");
    test_reads(m);
}

/* The node that had it was the last to hold it. */
static void test_free_again(Memory *m)
{
    test_replaced(m);
    qtest_qmp_assert_success(m->t->qts,
        "{ 'execute': 'object-del', 'arguments': { 'id': 'm0' } }");
    g_assert_cmphex(transfer(m, NVME_CMD_READ, 8, BUFFER), ==, 0);
}

/* QEMU that can migrate a controller can do so with its own drive alone. */
static void test_migration(Memory *m)
{
    g_autofree char *why = cint_migrate_nowhere(m->t->qts);

    g_assert_nonnull(why);
    g_assert_nonnull(strstr(why, cint_can_migrate(m->t->qts) ? "namespace"
                                                             : "nvme"));
    test_reads(m);
}

/* ---- Resets, deleted queues, unplugging, with commands in flight ---- */

static void begin_some(Memory *m)
{
    int i;

    for (i = 0; i < 20; i++) {
        qnvme_push_read(m->sq, &m->buf, i, QNVME_PAGE_SIZE);
        qnvme_push_write(m->sq, &m->buf, 500 + i, QNVME_PAGE_SIZE);
    }
    qnvme_ring_sq(m->sq);
}

static void test_reset(Memory *m)
{
    int i;

    for (i = 0; i < 10; i++) {
        begin_some(m);
        if (i % 2) {
            cint_let_run(m->t);
        }
        qnvme_reset(m->t->nvme);
        qnvme_enable(m->t->nvme);
        m->sq = cint_queues(m->t, 1);
        fill(m, i);
        g_assert_cmphex(transfer(m, NVME_CMD_READ, 8, BUFFER), ==, 0);
        expect_guest(m, m->data + 8 * BLOCK, BUFFER);
    }
}

#define SOME    40

static void expect_some(Memory *m)
{
    QNvmeCq *cq = m->sq->cq;
    NvmeCqe cqe;
    int i;

    let_pass(m->t);
    qnvme_wait_cqes(cq, SOME);
    for (i = 0; i < SOME; i++) {
        g_assert_true(qnvme_peek(cq, i, &cqe));
        g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    }
    qnvme_reap(cq, SOME);
}

/* Commands that are given to a machine that is stopped are done in the end. */
static void test_stop(Memory *m)
{
    fill_guest(m, 0xfe);
    begin_some(m);
    qtest_qmp_assert_success(m->t->qts, "{ 'execute': 'stop' }");
    cint_let_run(m->t);
    qtest_qmp_assert_success(m->t->qts, "{ 'execute': 'cont' }");
    expect_some(m);
    qtest_qmp_assert_success(m->t->qts, "{ 'execute': 'stop' }");
    begin_some(m);
    cint_let_run(m->t);
    qtest_qmp_assert_success(m->t->qts, "{ 'execute': 'cont' }");
    expect_some(m);
    fill(m, 0);
    test_reads(m);
}

/* The namespace goes while commands wait for their time, and comes again. */
static void test_detach(Memory *m)
{
    int i;

    for (i = 0; i < 3; i++) {
        begin_some(m);
        g_assert_cmphex(cint_attachment(m->t, 0, NVME_NS_ATTACHMENT_DETACH),
                        ==, 0);
        expect_some(m);
        g_assert_cmphex(transfer(m, NVME_CMD_READ, 8, BLOCK), !=, 0);
        g_assert_cmphex(cint_attachment(m->t, 0, NVME_NS_ATTACHMENT_ATTACH),
                        ==, 0);
        fill(m, 0);
        test_reads(m);
    }
}

static void test_delete_queues(Memory *m)
{
    int i;

    for (i = 0; i < 10; i++) {
        QNvmeCq *cq = m->sq->cq;

        begin_some(m);
        if (i % 2) {
            cint_let_run(m->t);
        }
        qnvme_delete_sq(m->sq);
        let_pass(m->t);
        qnvme_reap(cq, qnvme_visible(cq));
        qnvme_delete_cq(cq);
        m->sq = cint_queues(m->t, 1);
        fill(m, i);
        g_assert_cmphex(transfer(m, NVME_CMD_READ, 8, BUFFER), ==, 0);
        expect_guest(m, m->data + 8 * BLOCK, BUFFER);
    }
}

/* The slots are ACPI's: ejection is a write to its port. */
#define EJECT_PORT  0xae08

static void test_unplug(Memory *m)
{
    begin_some(m);
    qtest_qmp_assert_success(m->t->qts,
        "{ 'execute': 'device_del', 'arguments': { 'id': 'nvme0' } }");
    qtest_outl(m->t->qts, EJECT_PORT, 1u << 4);
    qtest_qmp_eventwait(m->t->qts, "DEVICE_DELETED");
}

/* A controller that has its subsystem for itself takes its namespaces along. */
static void test_unplug_alone(const void *opaque)
{
    const CintCase *c = opaque;
    g_autofree char *args = g_strdup_printf(
        "-object memory-backend-ram,id=m0,size=4M "
        "-device nvme,id=nvme0,serial=cint,addr=4,%s "
        "-device nvme-ns,id=ns0,memdev=m0", c->opts);
    Memory m = { .t = cint_boot_devices(NULL, args) };

    m.buf = qnvme_buf_new(m.t->nvme, BUFFER);
    m.sq = cint_queues(m.t, 1);
    test_unplug(&m);
    qtest_qmp_assert_success(m.t->qts,
        "{ 'execute': 'object-del', 'arguments': { 'id': 'm0' } }");
    cint_shutdown(m.t);
}

/* ---- The time of a medium ---- */

/* When each of @count commands is done. */
static void completion_times(CintTest *t, QNvmeSq *sq, int64_t *when,
                             uint32_t count)
{
    uint32_t done = 0, i;

    cint_zero(t);
    for (i = 0; i < count; i++) {
        if (i % 3 == 2) {
            qnvme_push_write(sq, &t->buf, 8 * i, 2 * QNVME_PAGE_SIZE);
        } else {
            qnvme_push_read(sq, &t->buf, 8 * i, QNVME_PAGE_SIZE);
        }
    }
    qnvme_ring_sq(sq);
    cint_let_run(t);
    while (done < count) {
        t->clock = qtest_clock_step_next(t->qts);
        cint_let_run(t);
        for (; done < qnvme_visible(sq->cq); done++) {
            when[done] = cint_now(t);
        }
        g_assert_cmpint(cint_now(t), <, CINT_SECOND / 1000);
    }
}

#define TIMED       24

/* Memory is as late as a drive, whatever the medium. */
static void test_time(const void *opaque)
{
    const CintCase *c = opaque;
    int64_t drive[TIMED], memory[TIMED];
    CintTest *t = cint_boot(c->opts);
    g_autofree char *args = g_strdup_printf(
        "-object memory-backend-ram,id=m0,size=4M "
        "-device nvme,id=nvme0,serial=cint,addr=4,%s "
        "-device nvme-ns,memdev=m0,nsid=1", c->opts);
    int i;

    completion_times(t, cint_queues(t, 1), drive, TIMED);
    cint_shutdown(t);
    t = cint_boot_devices(NULL, args);
    completion_times(t, cint_queues(t, 1), memory, TIMED);
    cint_shutdown(t);
    g_assert_cmpint(drive[TIMED - 1], >=, 400);
    for (i = 0; i < TIMED; i++) {
        g_assert_cmpint(memory[i], ==, drive[i]);
    }
}

static const CintCase media[] = {
    { "one-unit-real", CINT "cint.time=real,cint.media.units=1," MEDIUM },
    { "one-unit-virtual",
      CINT "cint.time=virtual,cint.media.units=1," MEDIUM },
    { "slots-real", CINT "cint.time=real,cint.media.units=1,"
      "cint.media.slots=2," MEDIUM },
    { "slots-virtual", CINT "cint.time=virtual,cint.media.units=1,"
      "cint.media.slots=2," MEDIUM },
    { "optane-real", CINT "cint.time=real,cint.media=optane" },
    { "optane-virtual", CINT "cint.time=virtual,cint.media=optane" },
    { "zssd-virtual", CINT "cint.time=virtual,cint.media=zssd" },
};

/* ---- Runs that repeat ---- */

#define MOST_BLOCKS (BLOCKS - 1)

/*
 * With icount nothing is left to the host's threads: what a Read finds does not
 * depend on how far they are, though it is of blocks that are being zeroed.
 */
static void test_overlap(Memory *m)
{
    int i;

    for (i = 0; i < 5; i++) {
        fill(m, i);
        fill_guest(m, 0xfe);
        qnvme_push(m->sq, &(NvmeCmd) {
            .opcode = NVME_CMD_WRITE_ZEROES, .nsid = cpu_to_le32(1),
            .cdw12 = cpu_to_le32(MOST_BLOCKS - 1),
        });
        qnvme_push_read(m->sq, &m->buf, MOST_BLOCKS - 1, BLOCK);
        qnvme_ring_sq(m->sq);
        qnvme_wait_cqes(m->sq->cq, 2);
        qnvme_reap(m->sq->cq, 2);
        expect_guest(m, (uint8_t[BLOCK]) { 0 }, BLOCK);
    }
}

/* No CPU runs, so that the test has the machine for itself. */
static const Cell overlap = {
    .run = test_overlap, .more = "-accel tcg -icount shift=0,sleep=off -S",
};

static void test_icount(const void *opts)
{
    run_cell(&overlap, opts);
}

/* ---- What is refused ---- */

typedef struct Refusal {
    const char *name;
    const char *args;           /* behind a controller */
    const char *says, *and;
} Refusal;

#define RAM(size)   "-object memory-backend-ram,id=m0,size=" size " "

static const Refusal refusals[] = {
    { "drive-as-well", RAM("1M") CINT_NULL_DISK
      " -device nvme-ns,memdev=m0,drive=d0", "'memdev'", "'drive'" },
    { "no-such-object", "-device nvme-ns,memdev=m1", "memdev=m1",
      "not found" },
    { "no-memory-backend", "-object iothread,id=m0 -device nvme-ns,memdev=m0",
      "'memdev'", "memory-backend" },
    { "no-multiple-of-512", RAM("1000") "-device nvme-ns,memdev=m0",
      "'memdev'", "'logical_block_size'" },
    { "no-multiple-of-4096", RAM("4608")
      "-device nvme-ns,memdev=m0,logical_block_size=4096", "4608", "4096" },
    { "no-room-for-metadata", RAM("512") "-device nvme-ns,memdev=m0,ms=64",
      "'ms'", "576" },
    { "two-namespaces", RAM("1M") "-device nvme-ns,memdev=m0 "
      "-device nvme-ns,memdev=m0", "'m0'", "in use" },
    { "main-memory", "-object memory-backend-ram,id=ram,size=64M "
      "-machine pc,memory-backend=ram -m 64 -device nvme-ns,memdev=ram",
      "'ram'", "in use" },
    { "memory-of-a-controller", RAM("2M")
      "-device nvme,serial=p,pmrdev=m0 -device nvme-ns,memdev=m0", "'m0'",
      "in use" },
    { "memory-of-error-records", RAM("1M")
      "-device acpi-erst,memdev=m0 -device nvme-ns,memdev=m0", "'m0'",
      "in use" },
    { "zone-that-is-larger", RAM("1M") "-device nvme-ns,memdev=m0,zoned=on",
      "zone", "134217728" },
    { "nothing", "-device nvme-ns", "block backend", "not configured" },
    { "on-the-controller", RAM("1M") "-device nvme,serial=s,memdev=m0",
      "memdev", "not found" },
};

static void test_refusal(const void *opaque)
{
    const Refusal *r = opaque;
    g_autofree char *command = g_strdup_printf(
        "echo '{\"execute\":\"qmp_capabilities\"}{\"execute\":\"quit\"}' | "
        "exec %s -machine pc -nodefaults -display none -accel qtest "
        "-qmp stdio -device nvme,serial=cint %s",
        g_getenv("QTEST_QEMU_BINARY"), r->args);
    const char *argv[] = { "/bin/sh", "-c", command, NULL };
    g_autoptr(GError) error = NULL;
    g_autofree char *messages = NULL;
    int status;

    g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                 NULL, NULL, &messages, &status, &error);
    g_assert_no_error(error);
    g_test_message("%s", messages);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    g_assert_nonnull(strstr(messages, r->says));
    g_assert_nonnull(strstr(messages, r->and));
}

/* ---- The table ---- */

static const Cell cells[] = {
    { "reads", test_reads },
    { "writes", test_writes },
    { "out-of-range", test_out_of_range },
    { "many-at-once", test_many_at_once },
    { "data-in-cmb", test_cmb, .ctrl = ",cmb_size_mb=2" },
    { "write-zeroes", test_write_zeroes },
    { "deallocate", test_deallocate },
    { "identify", test_identify },
    { "format", test_format },
    { "compare", test_compare },
    { "verify", test_verify },
    { "copy", test_copy },
    { "flush", test_flush },
    { "without-write-cache", test_without_write_cache },
    { "atomic-writes", test_atomic_writes,
      .ctrl = ",atomic.dn=off,atomic.awun=127,atomic.awupf=127",
      .not_in_thread = true },
    { "random-commands", test_random },
    { "random-metadata", test_random_metadata, .ns = ",ms=8" },
    { "random-extended", test_random_extended, .ns = ",ms=8,mset=1" },
    { "metadata", test_metadata, .ns = ",ms=8" },
    { "extended-metadata", test_extended_metadata, .ns = ",ms=8,mset=1" },
    { "protection-information", test_protection, .ns = ",ms=8,pi=1" },
    { "without-protection", test_without_protection, .ns = ",ms=8,pi=1" },
    { "partly-zero", test_partly_zero, .ns = ",ms=8,pi=1,"
      "logical_block_size=4096,physical_block_size=4096" },
    { "zones", test_zones, .ns = ",zoned=on,zoned.zone_size=1M" },
    { "data-placement", test_placement, .ns = ",fdp.ruhs=0-3",
      .subsys = ",fdp=on,fdp.runs=96M,fdp.nrg=1,fdp.nruh=4" },
    { "read-only", test_read_only, .backend = "share=on,readonly=on" },
    { "private-file", test_private, .backend = "share=off" },
    { "memory-is-given-back", test_memory_is_given_back },
    { "memory-of-a-tmpfs-is-given-back", test_memory_is_given_back,
      .ns = ",ms=8", .dir = "/dev/shm" },
    { "memory-is-kept", test_memory_is_kept,
      .backend = "share=on,prealloc=on" },
    { "memory-is-kept-from-now-on", test_memory_is_kept_from_now_on },
    { "two-controllers", test_two_controllers,
      .more = "-device nvme,id=nvme1,serial=cint,subsys=s0,addr=6" },
    { "health", test_health },
    { "written-up-to", test_written_up_to },
    { "bitmap", test_bitmap },
    { "limit", test_limit },
    { "medium-is-replaced", test_replaced, .more = OTHER_NODE },
    { "memory-in-use", test_in_use, .more = "-m 64,slots=2,maxmem=1G" },
    { "memory-is-free-again", test_free_again, .more = OTHER_NODE },
    { "migration-is-refused", test_migration },
    { "statistics", test_statistics },
    { "mirror", test_mirror },
    { "stop", test_stop },
    /* a thread may fetch them when it is gone */
    { "detach", test_detach, .not_in_thread = true },
    { "reset", test_reset },
    { "queues-are-deleted", test_delete_queues },
    { "unplug", test_unplug },
};

static void add_cells(Case *cases)
{
    size_t i, j;

    for (i = 0; i < ARRAY_SIZE(cells); i++) {
        for (j = 0; j < ARRAY_SIZE(modes); j++, cases++) {
            g_autofree char *path = g_strdup_printf(
                "/nvme-cint/memdev/%s/%s", modes[j].name, cells[i].name);

            *cases = (Case) { &cells[i], &modes[j] };
            if (!cells[i].not_in_thread || !strstr(modes[j].opts, "iothread")) {
                qtest_add_data_func(path, cases, test_case);
            }
        }
    }
}

int main(int argc, char **argv)
{
    static Case cases[ARRAY_SIZE(cells) * ARRAY_SIZE(modes)];
    size_t i;

    g_test_init(&argc, &argv, NULL);
    add_cells(cases);
    for (i = 0; i < ARRAY_SIZE(modes); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/memdev/%s/unplug-alone", modes[i].name);

        qtest_add_data_func(path, &modes[i], test_unplug_alone);
    }
    qtest_add_data_func("/nvme-cint/memdev/icount/requests",
                        "queue-cache=off", test_icount);
    qtest_add_data_func("/nvme-cint/memdev/icount/copies",
                        "queue-cache=on", test_icount);
    for (i = 0; i < ARRAY_SIZE(media); i++) {
        g_autofree char *path = g_strdup_printf("/nvme-cint/memdev/time/%s",
                                                media[i].name);

        qtest_add_data_func(path, &media[i], test_time);
    }
    for (i = 0; i < ARRAY_SIZE(refusals); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/memdev/refused/%s", refusals[i].name);

        qtest_add_data_func(path, &refusals[i], test_refusal);
    }
    return g_test_run();
}
