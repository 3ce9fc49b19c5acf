/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Set-up by several hands: what the operator changes leaves alone what a guest
 * has set for one queue, and a controller that could not be set up has never
 * been there.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "qobject/qstring.h"
#include "nvme-cint-common.h"
#include "nvme-cint-driver.h"

/* ---- Operator and guest ---- */

#define DELTA_NS    12345

/* CQ 1 as the guest wants it; CQ 2 as the properties say. */
static CintTest *boot_with_guests_choice(NvmeCintFeature *choice)
{
    CintTest *t = cint_boot("cint=on,cint.policy=cint,cint.delta=6000");

    cint_queues(t, 1);
    cint_queues(t, 2);
    *choice = cint_get_config(t, 1, 0);
    choice->policy = NVME_CINT_POLICY_ADAPTIVE;
    choice->delta_ns = cpu_to_le32(DELTA_NS);
    g_assert_cmphex(cint_set_config(t, 1, choice), ==, 0);
    return t;
}

static void test_other_parameter(void)
{
    NvmeCintFeature one, two;
    CintTest *t = boot_with_guests_choice(&one);

    two = cint_get_config(t, 2, 0);
    cint_set_number(t, "cint.ewma-shift", 7);
    one.ewma_shift = two.ewma_shift = 7;
    cint_expect_config(t, 1, &one);
    cint_expect_config(t, 2, &two);
    /* So a queue created later. */
    cint_queues(t, 3);
    cint_expect_config(t, 3, &two);
    cint_shutdown(t);
}

static void test_same_parameter(void)
{
    NvmeCintFeature one;
    CintTest *t = boot_with_guests_choice(&one);

    cint_set_number(t, "cint.delta", 777);
    one.delta_ns = cpu_to_le32(777);
    cint_expect_config(t, 1, &one);
    cint_set_word(t, "cint.policy", "static");
    one.policy = NVME_CINT_POLICY_STATIC;
    cint_expect_config(t, 1, &one);
    cint_shutdown(t);
}

/* Refused for the one queue that cannot have it, and so for all. */
static void test_conflict_with_one_queue(void)
{
    NvmeCintFeature one, two;
    CintTest *t = boot_with_guests_choice(&one);
    g_autofree char *message = NULL;

    two = cint_get_config(t, 2, 0);
    one.policy = NVME_CINT_POLICY_POINTER;
    g_assert_cmphex(cint_set_config(t, 1, &one), ==, 0);
    message = cint_set_number_error(t, "cint.max-hold", 0);
    g_assert_nonnull(strstr(message, "pointer"));
    cint_expect_config(t, 1, &one);
    cint_expect_config(t, 2, &two);
    g_assert_cmpint(cint_get_number(t, "cint.max-hold"), >, 0);
    cint_shutdown(t);
}

/* ---- Controllers that fail to start ---- */

#define BAD_SIZES \
    "'logical_block_size': 4096, 'physical_block_size': 512, 'drive': 'd1'"
#define BAD_TIME    "'cint.time': 'virtual', 'ioeventfd': true"

/* The number of reasons why the machine cannot migrate now. */
static size_t count_blockers(CintTest *t)
{
    QDict *response = qtest_qmp(t->qts, "{'execute': 'query-migrate'}");
    QDict *info = qdict_get_qdict(response, "return");
    QList *reasons = qdict_get_qlist(info, "blocked-reasons");
    size_t count = reasons ? qlist_size(reasons) : 0;

    qobject_unref(response);
    return count;
}

static void expect_refused(CintTest *t, const char *opts)
{
    g_autofree char *command = g_strdup_printf(
        "{'execute': 'device_add', 'arguments': {'driver': 'nvme', "
        "'id': 'bad', 'serial': 'cint', 'cint': true, 'cmb_size_mb': 1, "
        "%s}}", opts);
    QDict *response = qtest_qmp(t->qts, "%p",
                                qobject_from_json(command, NULL));

    g_assert_nonnull(qdict_get_qdict(response, "error"));
    qobject_unref(response);
}

/*
 * No blocker stays behind of a controller that is not there: each has memory of
 * its own, which QEMU cannot migrate.
 */
static void test_blockers(const void *opts)
{
    CintTest *t = cint_boot_custom(
        NULL, CINT_NULL_DISK " -blockdev driver=null-co,node-name=d1,"
        "size=1048576,read-zeroes=on -device nvme-subsys,id=s0", "");
    size_t before = count_blockers(t);
    int i;

    for (i = 0; i < 3; i++) {
        expect_refused(t, opts);
        g_assert_cmpuint(count_blockers(t), ==, before);
    }
    qtest_qmp_assert_success(t->qts, "{'execute': 'device_add', 'arguments': "
        "{'driver': 'nvme', 'id': 'good', 'serial': 'cint', 'cint': true, "
        "'cmb_size_mb': 1, 'drive': 'd1'}}");
    g_assert_cmpuint(count_blockers(t), >, before);
    cint_shutdown(t);
}

/* Nor does the subsystem know it. */
static void test_subsystem(void)
{
    CintTest *t = cint_boot_devices(
        NULL, CINT_NULL_DISK " -device nvme-subsys,id=s0 "
        "-device nvme,id=nvme0,serial=cint,subsys=s0,addr=4,cint=on "
        "-device nvme-ns,drive=d0,nsid=1,shared=on,detached=on");

    expect_refused(t, BAD_TIME ", 'subsys': 's0'");
    g_assert_cmphex(cint_attachment(t, 1, NVME_NS_ATTACHMENT_ATTACH), ==,
                    NVME_NS_CTRL_LIST_INVALID | NVME_DNR);
    g_assert_cmphex(cint_attachment(t, 0, NVME_NS_ATTACHMENT_ATTACH), ==,
                    NVME_SUCCESS);
    qtest_qmp_assert_success(t->qts, "{'execute': 'device_add', 'arguments': "
        "{'driver': 'nvme', 'id': 'good', 'serial': 'cint', 'cint': true, "
        "'subsys': 's0'}}");
    cint_shutdown(t);
}

/* ---- Virtual time without a clock that can stand still ---- */

static int start_and_quit(const char *opts, const char *time, char **messages)
{
    g_autofree char *command = g_strdup_printf(
        "echo '{\"execute\":\"qmp_capabilities\"}{\"execute\":\"quit\"}' | "
        "exec %s -S -machine pc -nodefaults -display none %s "
        "-qmp stdio " CINT_NULL_DISK " -device nvme,serial=cint,drive=d0,"
        "cint=on,cint.time=%s", g_getenv("QTEST_QEMU_BINARY"), opts, time);
    const char *argv[] = { "/bin/sh", "-c", command, NULL };
    g_autoptr(GError) error = NULL;
    int status;

    g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                 NULL, NULL, messages, &status, &error);
    g_assert_no_error(error);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A command that is late would stop the machine, and not only its clock. */
static void test_virtual_needs_icount(void)
{
    g_autofree char *messages = NULL;

    g_assert_cmpint(start_and_quit("-accel tcg", "virtual", &messages), ==, 1);
    g_assert_nonnull(strstr(messages, "cint.time"));
    g_assert_nonnull(strstr(messages, "icount"));
}

static void expect_starts(const char *opts, const char *time)
{
    g_autofree char *messages = NULL;
    int status = start_and_quit(opts, time, &messages);

    g_test_message("%s cint.time=%s: %s", opts, time, messages);
    g_assert_cmpint(status, ==, 0);
}

static void test_times_that_start(void)
{
    expect_starts("-accel tcg", "auto");
    expect_starts("-accel tcg", "real");
    expect_starts("-accel tcg -icount shift=0,sleep=off", "auto");
    expect_starts("-accel tcg -icount shift=0,sleep=off", "virtual");
    expect_starts("-accel qtest", "virtual");
}

/* ---- What stock controllers answer ---- */

/* The admin vector is never coalesced, and says so. */
static void test_admin_vector(const void *opts)
{
    CintTest *t = cint_boot(opts);
    uint32_t value;

    g_assert_cmphex(qnvme_get_feature(t->nvme, NVME_INTERRUPT_VECTOR_CONF, 0,
                                      0, NULL, &value), ==, 0);
    g_assert_cmphex(value, ==, NVME_INTVC_NOCOALESCING);
    cint_shutdown(t);
}

/*
 * A kernel that starts another one takes the controller off the bus first. A
 * deadline that comes then has nobody to tell.
 */
static void test_not_bus_master(const void *opts)
{
    CintTest *t = cint_boot(opts);
    uint16_t command = qpci_config_readw(t->pdev, PCI_COMMAND);
    QNvmeSq *sq;

    cint_records_on(t, 2);
    sq = cint_queues(t, 1);
    cint_read(t, sq, 3);
    cint_let_run(t);
    cint_run(t, 1000);
    cint_let_run(t);
    qpci_config_writew(t->pdev, PCI_COMMAND, command & ~PCI_COMMAND_MASTER);
    cint_run(t, CINT_SECOND);
    cint_let_run(t);
    g_assert_cmphex(qnvme_reg_read(t->nvme, NVME_REG_CSTS) &
                    NVME_CSTS_FAILED, ==, 0);
    cint_shutdown(t);
}

/* ---- While the machine sleeps ---- */

#define PM_DEVFN        QPCI_DEVFN(1, 3)    /* of PIIX4 */
#define PM_BASE         0x40
#define PM_REGMISC      0x80
#define PM_IO           0xb000
#define PM1_CNT_SLEEP   0x2400              /* S3 */

static void sleep_in_s3(CintTest *t)
{
    QPCIDevice *pm = qpci_device_find(t->bus, PM_DEVFN);

    g_assert_nonnull(pm);
    qpci_config_writel(pm, PM_BASE, PM_IO | 1);
    qpci_config_writeb(pm, PM_REGMISC, 1);
    qtest_outw(t->qts, PM_IO + 4, PM1_CNT_SLEEP);
    qtest_qmp_eventwait(t->qts, "SUSPEND");
    g_free(pm);
}

/* A machine that sleeps goes on without being told to: it is not stopped. */
static void test_plugged_in_sleep(const void *opts)
{
    CintTest *t = cint_boot("");
    g_autofree char *command = g_strdup_printf(
        "{'execute': 'device_add', 'arguments': {'driver': 'nvme', "
        "'id': 'late', 'serial': 'late', 'addr': '6'%s}}",
        (const char *)opts);
    QPCIDevice *pdev;
    QNvmeCtrl *late;
    QDict *answer;

    sleep_in_s3(t);
    answer = qtest_qmp(t->qts, "%p", qobject_from_json(command, NULL));
    g_assert_true(qdict_haskey(answer, "return"));
    qobject_unref(answer);
    qtest_qmp_assert_success(t->qts, "{'execute': 'system_wakeup'}");
    qtest_qmp_eventwait(t->qts, "WAKEUP");
    pdev = qpci_device_find(t->bus, QPCI_DEVFN(6, 0));
    g_assert_nonnull(pdev);
    late = qnvme_new(pdev, &t->alloc);
    qnvme_enable(late);
    qnvme_create_cq(late, 1, 16, 1);
    qnvme_free(late);
    g_free(pdev);
    cint_shutdown(t);
}

#define LATE    "cint=on,cint.policy=adaptive,cint.delta=60000," \
                "cint.drain=off,cint.media=custom,cint.media.read-latency=400"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define PATH(name)  "/nvme-cint/setup/" name
    qtest_add_func(PATH("operator/other-parameter"), test_other_parameter);
    qtest_add_func(PATH("operator/same-parameter"), test_same_parameter);
    qtest_add_func(PATH("operator/conflict-with-one-queue"),
                   test_conflict_with_one_queue);
    qtest_add_data_func(PATH("failed/migration/block-sizes"), BAD_SIZES,
                        test_blockers);
    qtest_add_data_func(PATH("failed/migration/time"),
                        BAD_TIME ", 'drive': 'd1'", test_blockers);
    qtest_add_data_func(PATH("failed/migration/exclusive-bar"),
                        BAD_SIZES ", 'msix-exclusive-bar': true",
                        test_blockers);
    qtest_add_func(PATH("failed/subsystem"), test_subsystem);
    qtest_add_func(PATH("time/virtual-needs-icount"),
                   test_virtual_needs_icount);
    qtest_add_func(PATH("time/others-start"), test_times_that_start);
    qtest_add_data_func(PATH("admin-vector/stock"), "", test_admin_vector);
    qtest_add_data_func(PATH("admin-vector/cint"), "cint=on",
                        test_admin_vector);
    qtest_add_data_func(PATH("not-bus-master/virtual"),
                        LATE ",cint.time=virtual", test_not_bus_master);
    qtest_add_data_func(PATH("not-bus-master/real"), LATE ",cint.time=real",
                        test_not_bus_master);
    qtest_add_data_func(PATH("plugged-in-sleep/off"), "",
                        test_plugged_in_sleep);
    qtest_add_data_func(PATH("plugged-in-sleep/on"), ", 'cint': true",
                        test_plugged_in_sleep);
#undef PATH
    return g_test_run();
}
