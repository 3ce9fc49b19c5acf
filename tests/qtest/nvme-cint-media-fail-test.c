/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The medium is occupied by what is read and written, and by nothing else: not
 * by commands that fail before any I/O, nor by what a reset has dropped.
 */
#include "qemu/osdep.h"
#include <sys/resource.h>
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "nvme-cint-common.h"

#define OPTANE      "cint=on,cint.policy=default,cint.media=optane," \
                    "cint.media.spread=0"
#define CUSTOM(o)   "cint=on,cint.policy=default,cint.media=custom," o
#define REAL        ",cint.time=real"
#define VIRTUAL     ",cint.time=virtual"

#define OPTANE_NS   7000
#define MANY        32
#define NAMESPACE_BLOCKS    (1 * GiB / 512)
#define UNMAPPED    0xfd00000000ull

static void let_pass(CintTest *t, int64_t ns)
{
    cint_let_run(t);
    cint_run(t, ns);
    cint_let_run(t);
}

/* A good 4 KiB read completes @ns after its doorbell, and no earlier. */
static void expect_read_takes(CintTest *t, QNvmeSq *sq, int64_t ns)
{
    cint_zero(t);
    cint_read(t, sq, 1);
    let_pass(t, ns - 1);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
    let_pass(t, 1);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 1);
}

/* ---- Commands that fail ---- */

static NvmeCmd too_long(CintTest *t)
{
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, 4096);

    cmd.cdw12 = cpu_to_le32(0xffff);
    return cmd;
}

static NvmeCmd out_of_range(CintTest *t)
{
    return qnvme_rw_cmd(NVME_CMD_READ, &t->buf, NAMESPACE_BLOCKS, 4096);
}

static NvmeCmd write_out_of_range(CintTest *t)
{
    return qnvme_rw_cmd(NVME_CMD_WRITE, &t->buf, NAMESPACE_BLOCKS, 4096);
}

static NvmeCmd compare_out_of_range(CintTest *t)
{
    return qnvme_rw_cmd(NVME_CMD_COMPARE, &t->buf, NAMESPACE_BLOCKS, 4096);
}

static NvmeCmd no_such_namespace(CintTest *t)
{
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, 4096);

    cmd.nsid = cpu_to_le32(77);
    return cmd;
}

static NvmeCmd no_such_opcode(CintTest *t)
{
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, 4096);

    cmd.opcode = 0x7f;
    return cmd;
}

static NvmeCmd bad_prp(CintTest *t)
{
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, 8192);

    cmd.dptr.prp2 = cpu_to_le64(UNMAPPED + 3);
    return cmd;
}

static const struct Failure {
    const char *name;
    NvmeCmd (*make)(CintTest *t);
} failures[] = {
    { "longer-than-mdts", too_long },
    { "read-out-of-range", out_of_range },
    { "write-out-of-range", write_out_of_range },
    { "compare-out-of-range", compare_out_of_range },
    { "no-such-namespace", no_such_namespace },
    { "no-such-opcode", no_such_opcode },
    { "bad-prp", bad_prp },
};

/* They fail at once, and the next read finds the medium idle. */
static void fail_many(const struct Failure *failure, const char *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = failure->make(t);
    NvmeCqe cqe;
    int i;

    for (i = 0; i < MANY; i++) {
        qnvme_push(sq, &cmd);
    }
    qnvme_ring_sq(sq);
    let_pass(t, 1);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, MANY);
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    g_assert_cmphex(qnvme_status(&cqe), !=, 0);
    qnvme_reap(sq->cq, MANY);
    expect_read_takes(t, sq, OPTANE_NS);
    cint_shutdown(t);
}

static void test_fail_virtual(const void *opaque)
{
    fail_many(opaque, OPTANE VIRTUAL);
}

static void test_fail_real(const void *opaque)
{
    fail_many(opaque, OPTANE REAL);
}

/* ---- Commands that the backend fails ---- */

#define FAILING_DISK \
    "-blockdev driver=blkdebug,node-name=d0,inject-error.0.event=none," \
    "inject-error.0.iotype=read,inject-error.0.errno=5," \
    "image.driver=null-co,image.size=1073741824,image.read-zeroes=on"

/* What was read in vain took the medium's time all the same. */
static void test_backend_error(const void *opts)
{
    CintTest *t = cint_boot_custom(NULL, FAILING_DISK, opts);
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCqe cqe;

    expect_read_takes(t, sq, OPTANE_NS);
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    g_assert_cmphex(qnvme_status(&cqe) & 0x7ff, ==, NVME_UNRECOVERED_READ);
    cint_shutdown(t);
}

#define WRITE_NS    9000
#define WRITES      CUSTOM("cint.media.write-latency=9000,cint.media.units=0")
#define FILE_SIZE   MiB

/* A QEMU whose writes behind half of @path fail: no file may be that long. */
static CintTest *boot_with_limit(const char *path, const char *opts)
{
    g_autofree char *args = g_strdup_printf(
        "-blockdev driver=file,node-name=d0,filename=%s,aio=native,"
        "cache.direct=on", path);
    struct rlimit limit, less;
    CintTest *t;

    g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    less = limit;
    less.rlim_cur = FILE_SIZE / 2;
    signal(SIGXFSZ, SIG_IGN);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &less), ==, 0);
    t = cint_boot_custom(NULL, args, opts);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    signal(SIGXFSZ, SIG_DFL);
    return t;
}

/*
 * Likewise where the host's kernel has failed it before the doorbell's last
 * command is left: what was begun is no command that failed before any I/O.
 */
static void test_backend_error_at_once(const void *opts)
{
    g_autofree char *path = g_strdup_printf("%s/nvme-cint-fail-XXXXXX",
                                            g_get_tmp_dir());
    int fd = mkstemp(path);
    CintTest *t;
    QNvmeSq *sq;
    NvmeCqe cqe;
    int i;

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, FILE_SIZE), ==, 0);
    close(fd);
    t = boot_with_limit(path, opts);
    sq = cint_queues(t, 1);
    cint_zero(t);
    for (i = 0; i < 3; i++) {
        qnvme_push_write(sq, &t->buf, FILE_SIZE / 512 - 8, 4096);
    }
    qnvme_ring_sq(sq);
    let_pass(t, WRITE_NS - 1);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
    let_pass(t, 1);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 3);
    g_assert_true(qnvme_peek(sq->cq, 2, &cqe));
    g_assert_cmphex(qnvme_status(&cqe) & 0x7ff, ==, NVME_WRITE_FAULT);
    cint_shutdown(t);
    unlink(path);
}

/* ---- Commands that are aborted ---- */

#define NO_LATENCY  CUSTOM("cint.media.write-latency=0,cint.media.units=0")
#define SLOW_DISK   CINT_NULL_DISK ",latency-ns=300000000"

/*
 * They end as aborted, and without the medium's time. Without the write there
 * would be nothing to flush.
 */
static void abort_flush(const char *disk, const char *opts)
{
    CintTest *t = cint_boot_custom(NULL, disk, opts);
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCqe cqe;
    uint16_t cid;

    qnvme_push_write(sq, &t->buf, 0, 4096);
    qnvme_ring_sq(sq);
    let_pass(t, 1);
    qnvme_wait_cqes(sq->cq, 1);
    cint_set_number(t, "cint.media.write-latency", CINT_SECOND);
    cid = qnvme_push_flush(sq);
    qnvme_ring_sq(sq);
    let_pass(t, 1);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 1);
    qnvme_abort(sq, cid);
    qnvme_wait_cqes(sq->cq, 2);
    g_assert_true(qnvme_peek(sq->cq, 1, &cqe));
    g_assert_cmphex(qnvme_status(&cqe) & 0x7ff, ==, NVME_CMD_ABORT_REQ);
    cint_shutdown(t);
}

static void test_abort_in_medium(const void *opts)
{
    abort_flush(CINT_NULL_DISK, opts);
}

static void test_abort_in_backend(const void *opts)
{
    abort_flush(SLOW_DISK, opts);
}

/* ---- Resets ---- */

#define READ_NS     1000000

static const struct Occupied {
    const char *name;
    const char *opts;
} occupied[] = {
    { "unit/virtual", CUSTOM("cint.media.read-latency=1000000,"
                             "cint.media.units=1") VIRTUAL },
    { "unit/real", CUSTOM("cint.media.read-latency=1000000,"
                          "cint.media.units=1") REAL },
    { "bandwidth/virtual", CUSTOM("cint.media.read-bandwidth=4096000,"
                                  "cint.media.units=0") VIRTUAL },
    { "bandwidth/real", CUSTOM("cint.media.read-bandwidth=4096000,"
                               "cint.media.units=0") REAL },
};

/* What the controller was to do before it was reset is nobody's business. */
static void test_reset(const void *opts)
{
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, MANY);
    let_pass(t, READ_NS / 10);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    sq = cint_queues(t, 1);
    expect_read_takes(t, sq, READ_NS);
    cint_shutdown(t);
}

/* ---- Length ---- */

#define PER_KIB     CUSTOM("cint.media.read-latency=1000," \
                           "cint.media.write-latency=5000," \
                           "cint.media.read-per-kib=100," \
                           "cint.media.write-per-kib=200,cint.media.units=0")

/* Compare and Verify read as much as a Read of their length does. */
static void expect_takes(uint8_t opcode, int64_t ns)
{
    CintTest *t = cint_boot(PER_KIB VIRTUAL);
    QNvmeSq *sq = cint_queues(t, 1);
    NvmeCmd cmd = qnvme_rw_cmd(opcode, &t->buf, 0, 4096);
    NvmeCqe cqe;

    cint_zero(t);
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    cint_expect_cqes_at(t, sq->cq, ns, 1);
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    g_assert_cmphex(qnvme_status(&cqe), ==, 0);
    cint_shutdown(t);
}

static void test_read(void)
{
    expect_takes(NVME_CMD_READ, 1400);
}

static void test_compare(void)
{
    expect_takes(NVME_CMD_COMPARE, 1400);
}

static void test_verify(void)
{
    expect_takes(NVME_CMD_VERIFY, 1400);
}

static void test_write(void)
{
    expect_takes(NVME_CMD_WRITE, 5800);
}

int main(int argc, char **argv)
{
    size_t i;

    g_test_init(&argc, &argv, NULL);
#define PATH(kind)  "/nvme-cint/media-fail/" kind
    for (i = 0; i < ARRAY_SIZE(failures); i++) {
        g_autofree char *virtual_path = g_strdup_printf(
            PATH("command/%s/virtual"), failures[i].name);
        g_autofree char *real_path = g_strdup_printf(
            PATH("command/%s/real"), failures[i].name);

        qtest_add_data_func(virtual_path, &failures[i], test_fail_virtual);
        qtest_add_data_func(real_path, &failures[i], test_fail_real);
    }
    qtest_add_data_func(PATH("backend-error/virtual"), OPTANE VIRTUAL,
                        test_backend_error);
    qtest_add_data_func(PATH("backend-error/real"), OPTANE REAL,
                        test_backend_error);
    qtest_add_data_func(PATH("backend-error/at-once/virtual"), WRITES VIRTUAL,
                        test_backend_error_at_once);
    qtest_add_data_func(PATH("backend-error/at-once/real"), WRITES REAL,
                        test_backend_error_at_once);
    qtest_add_data_func(PATH("aborted/in-the-medium/virtual"),
                        NO_LATENCY VIRTUAL, test_abort_in_medium);
    qtest_add_data_func(PATH("aborted/in-the-medium/real"), NO_LATENCY REAL,
                        test_abort_in_medium);
    qtest_add_data_func(PATH("aborted/in-the-backend/virtual"),
                        NO_LATENCY VIRTUAL, test_abort_in_backend);
    qtest_add_data_func(PATH("aborted/in-the-backend/real"), NO_LATENCY REAL,
                        test_abort_in_backend);
    for (i = 0; i < ARRAY_SIZE(occupied); i++) {
        g_autofree char *path = g_strdup_printf(PATH("reset/%s"),
                                                occupied[i].name);

        qtest_add_data_func(path, occupied[i].opts, test_reset);
    }
    qtest_add_func(PATH("length/read"), test_read);
    qtest_add_func(PATH("length/compare"), test_compare);
    qtest_add_func(PATH("length/verify"), test_verify);
    qtest_add_func(PATH("length/write"), test_write);
#undef PATH
    return g_test_run();
}
