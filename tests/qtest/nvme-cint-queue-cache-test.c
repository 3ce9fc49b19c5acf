/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory map changes under a controller that keeps guest RAM mapped
 * (queue-cache): RAM goes away, comes back, moves, ends in the middle of a
 * queue, is unplugged; bus mastering goes off. What the controller reads and
 * writes then is what is there then. So each case holds without queue-cache,
 * too, and runs with and without. To know old memory from new, the old has
 * commands in it that succeed, or that fail where they should succeed.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-common.h"
#include "nvme-cint-machine.h"

#define CINT        "cint=on,cint.policy=default,cint.time=real,"

static const CintCase modes[] = {
    { "off", "queue-cache=off" },
    { "on", "queue-cache=on" },
    { "iothread", "iothread=io0" },
    { "cint-off", CINT "queue-cache=off" },
    { "cint-auto", CINT "queue-cache=auto" },
};

/* Its name, to be unlinked and freed. */
static char *new_file(const void *image, size_t size)
{
    char *path = g_strdup_printf("%s/nvme-cint-queue-cache-XXXXXX",
                                 g_get_tmp_dir());
    int fd = mkstemp(path);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, image, size), ==, size);
    close(fd);
    return path;
}

/* ---- Queues anywhere ---- */

static QNvmeSq *create_sq_at(CintTest *t, QNvmeCq *cq, uint32_t entries,
                             uint64_t addr)
{
    QNvmeSq *sq = g_new0(QNvmeSq, 1);
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_CREATE_SQ,
        .dptr.prp1 = cpu_to_le64(addr),
        .cdw10 = cpu_to_le32((entries - 1) << 16 | cq->id),
        .cdw11 = cpu_to_le32(cq->id << 16 | NVME_SQ_PC),
    };

    *sq = (QNvmeSq) {
        .ctrl = t->nvme, .cq = cq, .id = cq->id, .entries = entries,
        .addr = addr,
    };
    g_assert_cmphex(qnvme_admin(t->nvme, &cmd, NULL), ==, 0);
    t->nvme->sqs[sq->id] = sq;
    return sq;
}

static QNvmeSq *queues_at(CintTest *t, uint64_t sq_addr, uint64_t cq_addr)
{
    return create_sq_at(t, cint_create_cq_at(t, 1, CINT_ENTRIES, cq_addr),
                        CINT_ENTRIES, sq_addr);
}

static uint64_t new_page(CintTest *t)
{
    return qnvme_buf_new(t->nvme, QNVME_PAGE_SIZE).addr;
}

static void expect_reads(CintTest *t, QNvmeSq *sq, uint32_t count)
{
    NvmeCqe cqe;
    uint32_t i;

    cint_read(t, sq, count);
    qnvme_wait_cqes(sq->cq, count);
    for (i = 0; i < count; i++) {
        g_assert_true(qnvme_peek(sq->cq, i, &cqe));
        g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    }
    qnvme_reap(sq->cq, count);
}

static bool is_fatal(CintTest *t)
{
    return NVME_CSTS_CFS(qnvme_reg_read(t->nvme, NVME_REG_CSTS));
}

static void expect_fatal(CintTest *t)
{
    gint64 limit = g_get_monotonic_time() +
                   QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;

    cint_let_run(t);
    cint_run(t, 1000);
    while (!is_fatal(t)) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
    }
}

/* A controller that was reset has left all behind. */
static void expect_works_after_reset(CintTest *t)
{
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    g_assert_false(is_fatal(t));
    expect_reads(t, cint_queues(t, 1), 5);
}

/* ---- RAM becomes ROM: i440FX's PAM ---- */

#define PAM_D0000   0x5c        /* for 16 KiB: bits 0 and 1, read and write */
#define SHADOWED    0xd0000

static void shadow_ram(CintTest *t, bool on)
{
    QPCIDevice *host = qpci_device_find(t->bus, QPCI_DEVFN(0, 0));

    qpci_config_writeb(host, PAM_D0000, on ? 3 : 0);
    g_free(host);
}

/* There is no such command in ROM. */
static void sq_becomes_rom(const void *opts)
{
    CintTest *t = cint_boot(opts);
    NvmeCqe cqe;
    QNvmeSq *sq;

    shadow_ram(t, true);
    sq = queues_at(t, SHADOWED, new_page(t));
    expect_reads(t, sq, 3);
    qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
    shadow_ram(t, false);
    qnvme_ring_sq(sq);
    qnvme_wait_cqes(sq->cq, 1);
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    g_assert_cmphex(qnvme_status(&cqe), ==, NVME_INVALID_NSID | NVME_DNR);
    expect_works_after_reset(t);
    cint_shutdown(t);
}

static void cq_becomes_rom(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq;

    shadow_ram(t, true);
    sq = queues_at(t, new_page(t), SHADOWED);
    expect_reads(t, sq, 3);
    shadow_ram(t, false);
    cint_read(t, sq, 1);
    expect_fatal(t);
    shadow_ram(t, true);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
    expect_works_after_reset(t);
    cint_shutdown(t);
}

/* ROM and back, between commands: nothing has happened. */
static void ram_comes_back(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq;
    int i;

    shadow_ram(t, true);
    sq = queues_at(t, SHADOWED, SHADOWED + QNVME_PAGE_SIZE);
    t->buf.addr = SHADOWED + 2 * QNVME_PAGE_SIZE;
    for (i = 0; i < 20; i++) {
        expect_reads(t, sq, 3);
        shadow_ram(t, false);
        shadow_ram(t, true);
    }
    cint_shutdown(t);
}

/* ---- RAM moves, and goes away: the frame buffers of two displays ---- */

#define ONE         0xf0000000u
#define OTHER       0xf4000000u
#define NOWHERE     0xf8000000u
#define DISPLAYS \
    " -device bochs-display,addr=8 -device bochs-display,addr=9"

static void place(CintTest *t, int slot, uint32_t addr)
{
    QPCIDevice *dev = qpci_device_find(t->bus, QPCI_DEVFN(slot, 0));

    qpci_config_writew(dev, PCI_COMMAND, 0);
    qpci_config_writel(dev, PCI_BASE_ADDRESS_0, addr);
    qpci_config_writew(dev, PCI_COMMAND, PCI_COMMAND_MEMORY);
    g_free(dev);
}

static CintTest *boot_with_displays(const char *opts)
{
    CintTest *t = cint_boot_custom(NULL, CINT_NULL_DISK DISPLAYS, opts);

    place(t, 8, ONE);
    place(t, 9, OTHER);
    return t;
}

static void sq_goes_away(const void *opts)
{
    CintTest *t = boot_with_displays(opts);
    QNvmeSq *sq = queues_at(t, ONE, new_page(t));

    expect_reads(t, sq, 3);
    qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
    place(t, 8, NOWHERE);
    qnvme_ring_sq(sq);
    expect_fatal(t);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
    expect_works_after_reset(t);
    cint_shutdown(t);
}

static void cq_goes_away(const void *opts)
{
    CintTest *t = boot_with_displays(opts);
    QNvmeSq *sq = queues_at(t, new_page(t), ONE);

    expect_reads(t, sq, 3);
    place(t, 8, NOWHERE);
    cint_read(t, sq, 1);
    expect_fatal(t);
    place(t, 8, ONE);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
    expect_works_after_reset(t);
    cint_shutdown(t);
}

/* Shadow doorbells that go are those that they were, until they are back. */
static void shadow_doorbells_go_away(const void *opts)
{
    const uint64_t indices = ONE + QNVME_PAGE_SIZE;
    CintTest *t = boot_with_displays(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    g_assert_cmphex(qnvme_admin(t->nvme, &(NvmeCmd) {
        .opcode = NVME_ADM_CMD_DBBUF_CONFIG,
        .dptr.prp1 = cpu_to_le64(ONE),
        .dptr.prp2 = cpu_to_le64(indices),
    }, NULL), ==, 0);
    qtest_writel(t->qts, ONE + 8, 3);
    expect_reads(t, sq, 3);
    g_assert_cmpuint(qtest_readl(t->qts, indices + 8), ==, 3);
    place(t, 8, NOWHERE);
    expect_reads(t, sq, 3);
    place(t, 8, ONE);
    g_assert_cmpuint(qtest_readl(t->qts, indices + 8), ==, 3);
    expect_works_after_reset(t);
    cint_shutdown(t);
}

static void swap_displays(CintTest *t)
{
    place(t, 8, NOWHERE);
    place(t, 9, ONE);
    place(t, 8, OTHER);
}

/* The other display's memory has the queue as it is, but for what is next. */
static void copy_page(CintTest *t, uint64_t offset)
{
    uint8_t page[QNVME_PAGE_SIZE];

    qtest_memread(t->qts, ONE + offset, page, sizeof(page));
    qtest_memwrite(t->qts, OTHER + offset, page, sizeof(page));
}

static void queues_move(const void *opts)
{
    const uint64_t cq_at = QNVME_PAGE_SIZE, data_at = 2 * QNVME_PAGE_SIZE;
    CintTest *t = boot_with_displays(opts);
    QNvmeSq *sq = queues_at(t, ONE, ONE + cq_at);
    NvmeCqe cqe;

    t->buf.addr = ONE + data_at;
    expect_reads(t, sq, 3);
    copy_page(t, 0);
    copy_page(t, cq_at);
    /* here, not there */
    qnvme_push_invalid(sq);
    swap_displays(t);
    sq->tail--;
    qtest_memset(t->qts, ONE + data_at, 0xa5, QNVME_PAGE_SIZE);
    qtest_memset(t->qts, OTHER + data_at, 0x5a, QNVME_PAGE_SIZE);
    expect_reads(t, sq, 1);
    g_assert_cmphex(qtest_readl(t->qts, ONE + data_at), ==, 0);
    g_assert_cmphex(qtest_readl(t->qts, OTHER + data_at), ==, 0x5a5a5a5a);
    /* the CQE is in the one only */
    qtest_memread(t->qts, OTHER + cq_at + 3 * sizeof(cqe), &cqe, sizeof(cqe));
    g_assert_cmphex(le16_to_cpu(cqe.status), ==, 0);
    cint_shutdown(t);
}

/* ---- Bus mastering ---- */

static void bus_mastering_goes_off(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    uint16_t command = qpci_config_readw(t->pdev, PCI_COMMAND);

    expect_reads(t, sq, 3);
    qpci_config_writew(t->pdev, PCI_COMMAND, command & ~PCI_COMMAND_MASTER);
    cint_read(t, sq, 1);
    expect_fatal(t);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
    qpci_config_writew(t->pdev, PCI_COMMAND, command);
    expect_works_after_reset(t);
    cint_shutdown(t);
}

/* ---- The end of RAM ---- */

#define LAST_PAGE   (CINT_RAM_SIZE - QNVME_PAGE_SIZE)

/* So many entries of a queue are in RAM. */
static void expect_end_after(CintTest *t, QNvmeSq *sq, uint32_t inside)
{
    uint32_t i;

    for (i = 0; i < inside; i++) {
        expect_reads(t, sq, 1);
    }
    cint_read(t, sq, 1);
    expect_fatal(t);
    expect_works_after_reset(t);
    cint_shutdown(t);
}

static void sq_across_the_end(const void *opts)
{
    const uint32_t inside = QNVME_PAGE_SIZE / sizeof(NvmeCmd);
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = create_sq_at(t, qnvme_create_cq(t->nvme, 1, CINT_ENTRIES, 1),
                               2 * inside, LAST_PAGE);

    expect_end_after(t, sq, inside);
}

static void cq_across_the_end(const void *opts)
{
    const uint32_t inside = QNVME_PAGE_SIZE / sizeof(NvmeCqe);
    CintTest *t = cint_boot(opts);
    QNvmeCq *cq = cint_create_cq_at(t, 1, 2 * inside, LAST_PAGE);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, CINT_ENTRIES, cq);

    expect_end_after(t, sq, inside);
}

typedef struct Result {
    uint16_t status;
    uint8_t data[QNVME_PAGE_SIZE];
} Result;

/* A read of blocks of @seed, half of it to the end of RAM and half beyond. */
static void read_across_the_end(const char *opts, Result *result)
{
    g_autofree char *path = NULL, *args = NULL;
    CintTest *t;
    QNvmeSq *sq;
    NvmeCmd cmd;
    NvmeCqe cqe;

    memset(result->data, 0xc3, sizeof(result->data));
    path = new_file(result->data, sizeof(result->data));
    args = g_strdup_printf("-blockdev driver=file,node-name=d0,filename=%s",
                           path);
    t = cint_boot_custom(NULL, args, opts);
    sq = cint_queues(t, 1);
    cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, QNVME_PAGE_SIZE);
    cmd.flags = NVME_PSDT_SGL_MPTR_CONTIGUOUS << 6;
    cmd.dptr.sgl = (NvmeSglDescriptor) {
        .addr = cpu_to_le64(CINT_RAM_SIZE - QNVME_PAGE_SIZE / 2),
        .len = cpu_to_le32(QNVME_PAGE_SIZE),
        .type = NVME_SGL_DESCR_TYPE_DATA_BLOCK << 4,
    };
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    cint_let_run(t);
    cint_run(t, 1000);
    qnvme_wait_cqes(sq->cq, 1);
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    result->status = qnvme_status(&cqe);
    qtest_memread(t->qts, LAST_PAGE, result->data, sizeof(result->data));
    cint_shutdown(t);
    unlink(path);
}

static void data_across_the_end(void)
{
    g_autofree Result *off = g_new0(Result, 1), *on = g_new0(Result, 1);

    read_across_the_end("queue-cache=off", off);
    read_across_the_end("queue-cache=on", on);
    g_assert_cmphex(off->status, ==, on->status);
    g_assert_cmphex(off->data[QNVME_PAGE_SIZE - 1], ==, 0xc3);
    g_assert_cmpmem(off->data, sizeof(off->data), on->data, sizeof(on->data));
}

/* ---- The controller's own memory ---- */

static void sq_in_cmb(const void *opts)
{
    g_autofree char *more = g_strdup_printf("cmb_size_mb=2,legacy-cmb=on,%s",
                                            (const char *)opts);
    CintTest *t = cint_boot(more);
    QPCIBar cmb = qpci_iomap(t->pdev, 2, NULL);
    QNvmeSq *sq;
    int i;

    sq = create_sq_at(t, qnvme_create_cq(t->nvme, 1, CINT_ENTRIES, 1),
                      CINT_ENTRIES, cmb.addr);
    for (i = 0; i < 2 * CINT_ENTRIES; i++) {
        expect_reads(t, sq, 1);
    }
    cint_shutdown(t);
}

/* CQEs are for memory that is the machine's; this one is not. */
static void cq_in_cmb(const void *opts)
{
    g_autofree char *more = g_strdup_printf("cmb_size_mb=2,legacy-cmb=on,%s",
                                            (const char *)opts);
    CintTest *t = cint_boot(more);
    QPCIBar cmb = qpci_iomap(t->pdev, 2, NULL);

    cint_read(t, queues_at(t, new_page(t), cmb.addr), 1);
    expect_fatal(t);
    expect_works_after_reset(t);
    cint_shutdown(t);
}

/* ---- Queues and controllers come and go ---- */

static void queues_come_and_go(const void *opts)
{
    CintTest *t = cint_boot(opts);
    uint64_t old = 0;
    int i;

    for (i = 0; i < 20; i++) {
        QNvmeSq *sq = queues_at(t, new_page(t), new_page(t));
        QNvmeCq *cq = sq->cq;

        expect_reads(t, sq, 5);
        if (old) {
            g_assert_cmphex(qtest_readl(t->qts, old), ==, 0xa5a5a5a5);
        }
        old = cq->addr;
        if (i % 2) {
            qnvme_reset(t->nvme);
            qnvme_enable(t->nvme);
        } else {
            qnvme_delete_sq(sq);
            qnvme_delete_cq(cq);
        }
        qtest_memset(t->qts, old, 0xa5, QNVME_PAGE_SIZE);
    }
    cint_shutdown(t);
}

/* ---- Memory is unplugged ---- */

#define DIMM \
    " -m 64,slots=2,maxmem=1G -object memory-backend-ram,id=spare,size=128M" \
    " -device pc-dimm,id=dimm,memdev=spare"
#define DIMM_SIZE       "0x0000000008000000"
#define DIMM_AT         (4 * GiB)
#define DIMM_IO         0xa00       /* ACPI's registers: slot, and its flags */
#define DIMM_IO_FLAGS   0x14
#define DIMM_EJECT      8

/* As a guest does that is asked for it. */
static void unplug_dimm(CintTest *t)
{
    qtest_qmp_assert_success(t->qts,
        "{ 'execute': 'device_del', 'arguments': { 'id': 'dimm' } }");
    qtest_outl(t->qts, DIMM_IO, 0);
    qtest_outb(t->qts, DIMM_IO + DIMM_IO_FLAGS, DIMM_EJECT);
    qtest_qmp_eventwait(t->qts, "DEVICE_DELETED");
    qtest_qmp_assert_success(t->qts,
        "{ 'execute': 'object-del', 'arguments': { 'id': 'spare' } }");
}

/* By its sizes, used and in all: unplugged, it has no name any more. */
static bool has_dimm(CintTest *t)
{
    g_autofree char *blocks = qtest_hmp(t->qts, "info ramblock");

    return strstr(blocks, " " DIMM_SIZE " " DIMM_SIZE " ") != NULL;
}

/* Readers of the old map are gone soon, in real time. */
static void expect_freed(CintTest *t)
{
    int i;

    for (i = 0; i < 1000 && has_dimm(t); i++) {
        g_usleep(10000);
    }
    g_assert_false(has_dimm(t));
}

static void memory_is_unplugged(const void *opts)
{
    CintTest *t = cint_boot_custom(NULL, CINT_NULL_DISK DIMM, opts);
    QNvmeSq *sq = queues_at(t, DIMM_AT, DIMM_AT + QNVME_PAGE_SIZE);

    t->buf.addr = DIMM_AT + 2 * QNVME_PAGE_SIZE;
    expect_reads(t, sq, 3);
    g_assert_true(has_dimm(t));
    unplug_dimm(t);
    expect_freed(t);
    cint_read(t, sq, 1);
    expect_fatal(t);
    t->buf.addr = new_page(t);
    expect_works_after_reset(t);
    cint_shutdown(t);
}

#define LATE_DISK \
    "-blockdev driver=null-co,node-name=d0,size=1073741824,read-zeroes=on," \
    "latency-ns=2000000000"

/* It stays until what was read for it is there. */
static void memory_is_unplugged_under_a_read(const void *opts)
{
    CintTest *t = cint_boot_custom(NULL, LATE_DISK DIMM, opts);
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCqe cqe;

    t->buf.addr = DIMM_AT;
    cint_read(t, sq, 1);
    cint_let_run(t);
    unplug_dimm(t);
    g_assert_true(has_dimm(t));
    qnvme_wait_cqes(sq->cq, 1);
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    expect_freed(t);
    cint_shutdown(t);
}

/* ---- What is written may be code: TCG has translated it ---- */

#define CODE        0x10000     /* a page, which is called at its ENTRY */
#define ENTRY       12          /* where a CQE has the command's identifier */
#define GO          0x1002      /* the CPU calls it when this is set, */
#define MARK        0x1000      /* and it says here which code it is */
#define BIOS_SIZE   0x10000
#define RESET       0xfff0

static const uint8_t caller[] = {
    0xfa,                           /*    cli */
    0x31, 0xc0,                     /*    xor %ax, %ax */
    0x8e, 0xd0,                     /*    mov %ax, %ss */
    0x8e, 0xd8,                     /*    mov %ax, %ds */
    0xbc, 0, 0x80,                  /*    mov $0x8000, %sp */
    0xf3, 0x90,                     /* 1: pause */
    0x80, 0x3e, 0x02, 0x10, 0,      /*    cmpb $0, GO */
    0x74, 0xf7,                     /*    je 1b */
    0x9a, ENTRY, 0, 0, 0x10,        /*    lcall $0x1000, $ENTRY */
    0xeb, 0xf0,                     /*    jmp 1b */
};

static const uint8_t reset[] = { 0xe9, 0x0d, 0 };   /* jmp to the caller */

/* mov $1, %al; add %ax, (%bx,%si), as a CQE without error is; mov %al, MARK */
static const uint8_t old_code[] = { 0xb0, 1, 1, 0, 0xa2, 0, 0x10, 0xcb };

/* The disk has code that says 2. */
static CintTest *boot_with_caller(const char *opts)
{
    g_autofree uint8_t *image = g_malloc0(BIOS_SIZE);
    g_autofree char *bios = NULL, *disk = NULL, *args = NULL;
    CintTest *t;

    memcpy(image + ENTRY, old_code, sizeof(old_code));
    image[ENTRY + 1] = 2;
    disk = new_file(image, QNVME_PAGE_SIZE);
    memcpy(image, caller, sizeof(caller));
    memcpy(image + RESET, reset, sizeof(reset));
    bios = new_file(image, BIOS_SIZE);
    args = g_strdup_printf("-accel tcg -bios %s -blockdev driver=file,"
                           "node-name=d0,filename=%s", bios, disk);
    t = cint_boot_custom(NULL, args, opts);
    unlink(bios);
    unlink(disk);
    return t;
}

/* Until the CPU executes what says @mark, which it does at once. */
static void expect_mark(CintTest *t, uint8_t mark)
{
    int i;

    for (i = 0; i < 1000 && qtest_readb(t->qts, MARK) != mark; i++) {
        g_usleep(10000);
    }
    g_assert_cmpuint(qtest_readb(t->qts, MARK), ==, mark);
}

static void run_old_code(CintTest *t)
{
    qtest_memwrite(t->qts, CODE + ENTRY, old_code, sizeof(old_code));
    qtest_writeb(t->qts, GO, 1);
    expect_mark(t, 1);
}

static void data_is_code(const void *opts)
{
    CintTest *t = boot_with_caller(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    run_old_code(t);
    t->buf.addr = CODE;
    expect_reads(t, sq, 1);
    expect_mark(t, 2);
    cint_shutdown(t);
}

/* The identifier of the command is the instruction that has the mark. */
static void cqe_is_code(const void *opts)
{
    CintTest *t = boot_with_caller(opts);
    QNvmeSq *sq = queues_at(t, new_page(t), CODE);

    run_old_code(t);
    qnvme_push_read(sq, &t->buf, 0, QNVME_PAGE_SIZE);
    qtest_writew(t->qts, sq->addr + offsetof(NvmeCmd, cid), 0x03b0);
    qnvme_ring_sq(sq);
    qnvme_wait_cqes(sq->cq, 1);
    expect_mark(t, 3);
    cint_shutdown(t);
}

/* ---- The property ---- */

static void property_is_checked(void)
{
    QTestState *qts = qtest_init("-machine pc -nodefaults " CINT_NULL_DISK);
    QDict *answer = qtest_qmp(qts,
        "{ 'execute': 'device_add', 'arguments': { 'driver': 'nvme',"
        " 'serial': 's', 'drive': 'd0', 'queue-cache': 'often' } }");

    g_assert_true(qdict_haskey(answer, "error"));
    qobject_unref(answer);
    qtest_quit(qts);
}

static const struct {
    const char *name;
    void (*run)(const void *opts);
    const char *needs;
    bool needs_tcg;
} tests[] = {
    { "sq-becomes-rom", sq_becomes_rom },
    { "cq-becomes-rom", cq_becomes_rom },
    { "ram-comes-back", ram_comes_back },
    { "sq-goes-away", sq_goes_away, "bochs-display" },
    { "cq-goes-away", cq_goes_away, "bochs-display" },
    { "shadow-doorbells-go-away", shadow_doorbells_go_away, "bochs-display" },
    { "queues-move", queues_move, "bochs-display" },
    { "bus-mastering-goes-off", bus_mastering_goes_off },
    { "sq-across-the-end-of-ram", sq_across_the_end },
    { "cq-across-the-end-of-ram", cq_across_the_end },
    { "sq-in-cmb", sq_in_cmb },
    { "cq-in-cmb-is-fatal", cq_in_cmb },
    { "queues-come-and-go", queues_come_and_go },
    { "memory-is-unplugged", memory_is_unplugged, "pc-dimm" },
    { "memory-is-unplugged-under-a-read", memory_is_unplugged_under_a_read,
      "pc-dimm" },
    { "data-is-code", data_is_code, NULL, true },
    { "cqe-is-code", cqe_is_code, NULL, true },
};

int main(int argc, char **argv)
{
    size_t m, i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(tests); i++) {
        if ((tests[i].needs && !qtest_has_device(tests[i].needs)) ||
            (tests[i].needs_tcg && !qtest_has_accel("tcg"))) {
            continue;
        }
        for (m = 0; m < ARRAY_SIZE(modes); m++) {
            g_autofree char *path = g_strdup_printf(
                "/nvme-cint/queue-cache/%s/%s", modes[m].name, tests[i].name);

            qtest_add_data_func(path, modes[m].opts, tests[i].run);
        }
    }
    qtest_add_func("/nvme-cint/queue-cache/data-across-the-end-of-ram",
                   data_across_the_end);
    qtest_add_func("/nvme-cint/queue-cache/property-is-checked",
                   property_is_checked);
    return g_test_run();
}
