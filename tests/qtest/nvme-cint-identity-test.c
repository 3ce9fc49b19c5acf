/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * With cint off, the default, the controller is the stock one: every byte a
 * guest can read and every interrupt it gets are compared with a QEMU that
 * was built without cint.
 *
 * The stock binary is named by QTEST_QEMU_STOCK; without it the tests are
 * skipped. Each aspect is written down as text, once for each binary, and the
 * texts must be equal.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-common.h"

#define STOCK_ENV       "QTEST_QEMU_STOCK"
#define CHECKED_ENV     "QTEST_QEMU_BINARY"

typedef void Describe(CintTest *t, GString *text);

typedef struct Aspect {
    const char *name;
    Describe *run;
    const char *opts;   /* of the device, for all binaries */
} Aspect;

/* Writes "name: bytes" with runs of equal lines left out. */
static void add_bytes(GString *text, const char *name, const uint8_t *bytes,
                      size_t len)
{
    size_t i, k;

    for (i = 0; i < len; i += 16) {
        if (i && !memcmp(bytes + i, bytes + i - 16, MIN(16, len - i))) {
            continue;
        }
        g_string_append_printf(text, "%s +%zx:", name, i);
        for (k = i; k < MIN(i + 16, len); k++) {
            g_string_append_printf(text, " %02x", bytes[k]);
        }
        g_string_append_c(text, '\n');
    }
}

static void add_buffer(CintTest *t, GString *text, const char *name,
                       const QNvmeBuf *buf)
{
    g_autofree uint8_t *bytes = g_malloc(buf->len);

    qtest_memread(t->qts, buf->addr, bytes, buf->len);
    add_bytes(text, name, bytes, buf->len);
}

static void clear(CintTest *t, const QNvmeBuf *buf)
{
    qtest_memset(t->qts, buf->addr, 0xa5, buf->len);
}

/* ---- What a guest reads ---- */

static void describe_config_space(CintTest *t, GString *text)
{
    uint8_t bytes[256];
    int i;

    for (i = 0; i < sizeof(bytes); i++) {
        bytes[i] = qpci_config_readb(t->pdev, i);
    }
    add_bytes(text, "config", bytes, sizeof(bytes));
}

static void describe_bars(CintTest *t, GString *text)
{
    int i;

    for (i = 0; i < 6; i++) {
        uint8_t reg = PCI_BASE_ADDRESS_0 + i * 4;
        uint32_t old = qpci_config_readl(t->pdev, reg);

        qpci_config_writel(t->pdev, reg, 0xffffffff);
        g_string_append_printf(text, "BAR%d %08x mask %08x\n", i, old,
                               qpci_config_readl(t->pdev, reg));
        qpci_config_writel(t->pdev, reg, old);
    }
}

static void add_registers(CintTest *t, GString *text, const char *when)
{
    g_autofree uint32_t *regs = g_new(uint32_t, 0x4000 / 4);
    int i;

    for (i = 0; i < 0x4000 / 4; i++) {
        regs[i] = qnvme_reg_read(t->nvme, i * 4);
    }
    add_bytes(text, when, (uint8_t *)regs, 0x4000);
}

static void describe_registers(CintTest *t, GString *text)
{
    add_registers(t, text, "enabled");
    cint_queues(t, 1);
    qnvme_reg_write(t->nvme, 0x1200, 0x12345678);
    qnvme_reg_write(t->nvme, 0x1208, 0x80000001);
    add_registers(t, text, "with queues");
    qnvme_reset(t->nvme);
    add_registers(t, text, "after reset");
}

static void describe_identify(CintTest *t, GString *text)
{
    static const uint32_t nsids[] = { 0, 1, 2, NVME_NSID_BROADCAST };
    int cns, i;

    for (cns = 0; cns <= 0x20; cns++) {
        for (i = 0; i < ARRAY_SIZE(nsids); i++) {
            g_autofree char *name = g_strdup_printf("cns %02x nsid %x", cns,
                                                    nsids[i]);

            clear(t, &t->buf);
            g_string_append_printf(text, "%s: status %x\n", name,
                qnvme_identify(t->nvme, cns, nsids[i], &t->buf));
            add_buffer(t, text, name, &t->buf);
        }
    }
}

static void add_get_features(CintTest *t, GString *text)
{
    uint32_t result;
    int fid, sel;

    for (fid = 0; fid <= 0xff; fid++) {
        for (sel = 0; sel < 4; sel++) {
            g_autofree char *name = g_strdup_printf("get %02x sel %d", fid,
                                                    sel);
            uint16_t status;

            clear(t, &t->buf);
            status = qnvme_get_feature(t->nvme, fid, sel, 0, &t->buf, &result);
            g_string_append_printf(text, "%s: status %x result %x\n", name,
                                   status, result);
            add_buffer(t, text, name, &t->buf);
        }
    }
}

static void describe_get_features(CintTest *t, GString *text)
{
    uint32_t result;
    int vector;

    add_get_features(t, text);
    /* Interrupt Vector Configuration of each vector and beyond. */
    for (vector = 0; vector < 70; vector++) {
        uint16_t status = qnvme_get_feature(t->nvme, 0x09, 0, vector, NULL,
                                            &result);

        g_string_append_printf(text, "vector %d: status %x result %x\n",
                               vector, status, result);
    }
}

static void describe_set_features(CintTest *t, GString *text)
{
    static const uint32_t values[] = { 0, 1, 0x0103, 0x10001, 0xffff };
    QNvmeBuf zeroes = qnvme_buf_new(t->nvme, 4096);
    uint32_t result;
    int fid, i;

    for (fid = 0; fid <= 0xff; fid++) {
        for (i = 0; i < ARRAY_SIZE(values); i++) {
            uint16_t status = qnvme_set_feature(t->nvme, fid, values[i],
                                                &zeroes, &result);

            g_string_append_printf(text, "set %02x to %x: status %x result "
                                   "%x\n", fid, values[i], status, result);
        }
    }
    add_get_features(t, text);
}

static void describe_log_pages(CintTest *t, GString *text)
{
    QNvmeBuf buf = qnvme_buf_new(t->nvme, 4096);
    int lid, offset;

    for (lid = 0; lid <= 0xff; lid++) {
        for (offset = 0; offset <= 8192; offset += 4096) {
            g_autofree char *name = g_strdup_printf("log %02x offset %d", lid,
                                                    offset);

            clear(t, &buf);
            g_string_append_printf(text, "%s: status %x\n", name,
                qnvme_get_log(t->nvme, lid, 0, offset, &buf));
            add_buffer(t, text, name, &buf);
        }
    }
}

/* Opcodes in turn, with fields that name nothing. */
static void describe_admin_opcodes(CintTest *t, GString *text)
{
    int opcode;

    for (opcode = 0; opcode <= 0xff; opcode++) {
        NvmeCmd cmd = {
            .opcode = opcode,
            .nsid = cpu_to_le32(0x77777777),
            .dptr.prp1 = cpu_to_le64(t->buf.addr),
            .dptr.prp2 = cpu_to_le64(t->buf.addr + 8),
            .cdw10 = cpu_to_le32(0x66666666),
        };
        uint32_t result;
        uint16_t status;

        /* One that waits for an event. */
        if (opcode == NVME_ADM_CMD_ASYNC_EV_REQ) {
            continue;
        }
        status = qnvme_admin(t->nvme, &cmd, &result);
        g_string_append_printf(text, "admin %02x: status %x result %x\n",
                               opcode, status, result);
    }
}

static void add_cqes(QNvmeCq *cq, GString *text, uint32_t count)
{
    NvmeCqe cqe;
    uint32_t i;

    qnvme_wait_cqes(cq, count);
    for (i = 0; i < count; i++) {
        qnvme_peek(cq, i, &cqe);
        g_string_append_printf(text, "cqe %x %x %x %x %x %x\n", cqe.result,
                               cqe.dw1, cqe.sq_head, cqe.sq_id, cqe.cid,
                               cqe.status);
    }
}

/* All opcodes and all values of the flags that carry hints elsewhere. */
static void describe_io_commands(CintTest *t, GString *text)
{
    QNvmeSq *sq = cint_queues(t, 1);
    int opcode, flags;

    for (opcode = 0; opcode <= 0xff; opcode++) {
        NvmeCmd cmd = qnvme_rw_cmd(opcode, &t->buf, 0, 4096);

        qnvme_push(sq, &cmd);
        qnvme_ring_sq(sq);
        add_cqes(sq->cq, text, 1);
        qnvme_reap(sq->cq, 1);
    }
    for (flags = 0; flags <= 0xff; flags++) {
        NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, 4096);

        cmd.flags = flags;
        cmd.cdw13 = cpu_to_le32(flags << 8);
        qnvme_push(sq, &cmd);
        qnvme_ring_sq(sq);
        add_cqes(sq->cq, text, 1);
        qnvme_reap(sq->cq, 1);
    }
}

/* ---- Interrupts ---- */

/* Messages and CQEs after each step of a guest's life. */
static void add_step(CintTest *t, QNvmeCq *cq, GString *text,
                     const char *what)
{
    cint_let_run(t);
    g_string_append_printf(text, "%s: visible %u messages %u csts %x\n", what,
                           qnvme_visible(cq), cint_messages(t),
                           qnvme_reg_read(t->nvme, NVME_REG_CSTS));
}

static void describe_messages(CintTest *t, GString *text)
{
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, 8, 1);
    QNvmeSq *sq = qnvme_create_sq(t->nvme, 1, 64, cq);
    int i;

    cint_count_messages(t, 1);
    for (i = 1; i < 8; i++) {
        cint_read(t, sq, i);
        qnvme_wait_cqes(cq, i);
        add_step(t, cq, text, "batch");
        qnvme_reap(cq, i);
        add_step(t, cq, text, "reaped");
    }
    /* A full CQ, and a head that moves one by one. */
    cint_read(t, sq, 20);
    qnvme_wait_cqes(cq, 7);
    add_step(t, cq, text, "full");
    for (i = 0; i < 20; i++) {
        qnvme_reap(cq, 1);
        qnvme_wait_cqes(cq, MIN(7, 19 - i));
        add_step(t, cq, text, "head");
    }
    /* Time does nothing. */
    cint_run(t, CINT_SECOND);
    add_step(t, cq, text, "later");
    qnvme_push_invalid(sq);
    qnvme_ring_sq(sq);
    qnvme_wait_cqes(cq, 1);
    add_step(t, cq, text, "error");
    qnvme_reset(t->nvme);
    g_string_append_printf(text, "reset: messages %u\n", cint_messages(t));
}

static void describe_shadow_messages(CintTest *t, GString *text)
{
    qnvme_use_shadow_doorbells(t->nvme);
    describe_messages(t, text);
}

static void describe_pending_bits(CintTest *t, GString *text)
{
    QNvmeSq *sq = cint_queues(t, 1);
    QNvmeCq *silent = NULL;
    QNvmeSq *sq_silent;
    int i;

    qnvme_try_create_cq(t->nvme, 2, 16, 2, false, &silent);
    sq_silent = qnvme_create_sq(t->nvme, 2, 16, silent);
    for (i = 0; i < 10; i++) {
        cint_read(t, sq, 1 + i % 3);
        cint_read(t, sq_silent, 2);
        qnvme_wait_cqes(sq->cq, 1 + i % 3);
        qnvme_wait_cqes(silent, 2);
        cint_let_run(t);
        g_string_append_printf(text, "pending %d %d %d\n",
                               qnvme_irq_pending(t->nvme, 0),
                               qnvme_irq_pending(t->nvme, 1),
                               qnvme_irq_pending(t->nvme, 2));
        qnvme_take_irq(t->nvme, 1);
        qnvme_reap(sq->cq, i % 2 ? 1 + i % 3 : 0);
        qnvme_reap(sq->cq, i % 2 ? 0 : 1 + i % 3);
        qnvme_reap(silent, 2);
        cint_let_run(t);
        g_string_append_printf(text, "pending %d\n",
                               qnvme_irq_pending(t->nvme, 1));
        qnvme_take_irq(t->nvme, 1);
    }
}

/* What a user sees of interrupts. */
static void describe_info_irq(CintTest *t, GString *text)
{
    QNvmeSq *sq = cint_queues(t, 1);
    int i;

    for (i = 1; i <= 5; i++) {
        g_autofree char *counts = qtest_hmp(t->qts, "info irq");
        g_autofree char *controllers = qtest_hmp(t->qts, "info pic");

        g_string_append_printf(text, "%s%s", counts, controllers);
        cint_read(t, sq, 5);
        qnvme_wait_cqes(sq->cq, 5 * i);
        cint_let_run(t);
    }
}

/* ---- Properties ---- */

static char *device_help(const char *env)
{
    g_autofree char *command = g_strdup_printf("exec %s -device nvme,help",
                                               g_getenv(env));
    const char *argv[] = { "/bin/sh", "-c", command, NULL };
    char *out = NULL;

    g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                 NULL, &out, NULL, NULL, NULL);
    return out;
}

static bool has_line(char **lines, const char *line)
{
    return g_strv_contains((const char *const *)lines, line);
}

static void test_help(void)
{
    g_autofree char *stock = NULL;
    g_autofree char *checked = NULL;
    g_auto(GStrv) stock_lines = NULL;
    g_auto(GStrv) lines = NULL;
    int i, added = 0;

    if (!g_getenv(STOCK_ENV)) {
        g_test_skip(STOCK_ENV " is not set");
        return;
    }
    stock = device_help(STOCK_ENV);
    checked = device_help(CHECKED_ENV);
    stock_lines = g_strsplit(stock, "\n", -1);
    lines = g_strsplit(checked, "\n", -1);
    for (i = 0; stock_lines[i]; i++) {
        if (!has_line(lines, stock_lines[i])) {
            g_error("-device nvme,help lost \"%s\"", stock_lines[i]);
        }
    }
    for (i = 0; lines[i]; i++) {
        if (has_line(stock_lines, lines[i])) {
            continue;
        }
        added++;
        if (!g_str_has_prefix(lines[i], "  cint") &&
            !g_str_has_prefix(lines[i], "  queue-cache=") &&
            !g_str_has_prefix(lines[i], "  iothread") &&
            !g_str_has_prefix(lines[i], "  irqfd=") &&
            !g_str_has_prefix(lines[i], "  x-cint-")) {
            g_error("-device nvme,help gained \"%s\"", lines[i]);
        }
    }
    g_assert_cmpint(added, >, 10);
}

/* ---- Comparison ---- */

static char *describe(const char *env, const char *opts, Describe *run)
{
    CintTest *t = cint_boot_custom(env, CINT_NULL_DISK, opts);
    GString *text = g_string_new("");

    run(t, text);
    cint_shutdown(t);
    return g_string_free(text, false);
}

static void compare(const char *stock, const char *checked)
{
    g_auto(GStrv) wanted = g_strsplit(stock, "\n", -1);
    g_auto(GStrv) found = g_strsplit(checked, "\n", -1);
    int i;

    for (i = 0; wanted[i] && found[i]; i++) {
        g_assert_cmpstr(found[i], ==, wanted[i]);
    }
    g_assert_cmpstr(found[i], ==, wanted[i]);
    /* An aspect that says nothing compares nothing. */
    g_assert_cmpint(i, >, 5);
}

static void test_aspect(const void *opaque)
{
    const Aspect *aspect = opaque;
    g_autofree char *off_opts = g_strconcat("cint=off", *aspect->opts ?
                                            "," : "", aspect->opts, NULL);
    g_autofree char *stock = NULL;
    g_autofree char *unset = NULL;
    g_autofree char *off = NULL;

    if (!g_getenv(STOCK_ENV)) {
        g_test_skip(STOCK_ENV " is not set");
        return;
    }
    stock = describe(STOCK_ENV, aspect->opts, aspect->run);
    unset = describe(CHECKED_ENV, aspect->opts, aspect->run);
    compare(stock, unset);
    off = describe(CHECKED_ENV, off_opts, aspect->run);
    compare(stock, off);
}

static const Aspect aspects[] = {
    { "pci-config-space", describe_config_space, "" },
    { "bars", describe_bars, "" },
    { "bars-with-cmb", describe_bars, "cmb_size_mb=2" },
    { "bars-with-exclusive-msix-bar", describe_bars, "msix-exclusive-bar=on" },
    { "bars-of-one-queue", describe_bars, "max_ioqpairs=1" },
    { "registers", describe_registers, "" },
    { "registers-with-cmb", describe_registers, "cmb_size_mb=2" },
    { "identify", describe_identify, "" },
    { "get-features", describe_get_features, "" },
    { "set-features", describe_set_features, "" },
    { "log-pages", describe_log_pages, "" },
    { "log-pages-with-ocp", describe_log_pages, "ocp=on" },
    { "admin-opcodes", describe_admin_opcodes, "" },
    { "io-commands", describe_io_commands, "" },
    { "messages", describe_messages, "" },
    { "messages-with-shadow-doorbells", describe_shadow_messages, "" },
    { "messages-with-ioeventfd", describe_shadow_messages, "ioeventfd=on" },
    { "pending-bits", describe_pending_bits, "" },
    { "info-irq", describe_info_irq, "" },
};

int main(int argc, char **argv)
{
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(aspects); i++) {
        g_autofree char *path = g_strdup_printf("/nvme-cint/identity/%s",
                                                aspects[i].name);

        qtest_add_data_func(path, &aspects[i], test_aspect);
    }
    qtest_add_func("/nvme-cint/identity/help-only-adds-cint", test_help);
    return g_test_run();
}
