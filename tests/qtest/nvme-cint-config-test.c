/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Properties: errors and defaults at start, changes while running.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qlist.h"
#include "qobject/qstring.h"
#include "nvme-cint-common.h"

#define PATIENT_STATIC \
    ",cint.policy=static,cint.static-time=1000000000,cint.static-thr=50"

/* ---- Changes while running ---- */

typedef struct Change {
    const char *name;           /* of the test */
    const char *property;
    const char *word;           /* the new value, or NULL: */
    int64_t number;
} Change;

static const Change changes[] = {
    { "policy-to-default", "cint.policy", "default" },
    { "policy-to-adaptive", "cint.policy", "adaptive" },
    { "policy-to-itself", "cint.policy", "static" },
    { "static-time", "cint.static-time", NULL, 900000000 },
    { "static-time-off", "cint.static-time", NULL, 0 },
    { "static-thr", "cint.static-thr", NULL, 40 },
    { "delta", "cint.delta", NULL, 1 },
    { "thr", "cint.thr", NULL, 2 },
    { "drain", "cint.drain", "on" },
    { "max-hold", "cint.max-hold", NULL, 500000000 },
};

static void apply(CintTest *t, const Change *c)
{
    if (c->word) {
        cint_set_word(t, c->property, c->word);
    } else {
        cint_set_number(t, c->property, c->number);
    }
}

/* No CQE is left to a deadline that the change took away. */
static void test_change_with_cqes_pending(const void *opaque)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT_STATIC);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 3);
    cint_expect_quiet_to(t, sq->cq, 5000);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 3);
    apply(t, opaque);
    cint_expect_irq_now(t, sq->cq);
    cint_expect_reason(t, sq->cq, RECONF, 1);
    g_assert_cmpuint(cint_record(t, 1).pending, ==, 0);
    qnvme_reap(sq->cq, 3);

    cint_read(t, sq, 3);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 3);
    cint_shutdown(t);
}

static void test_change_with_commands_in_media(const void *opaque)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT_STATIC);
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 3);
    cint_run_to(t, CINT_LATENCY / 2);
    apply(t, opaque);
    cint_expect_quiet_to(t, sq->cq, CINT_LATENCY - 1);
    cint_expect_reason(t, sq->cq, RECONF, 0);
    g_assert_cmpuint(cint_eager_guest(t, sq->cq), ==, 3);
    cint_shutdown(t);
}

static void test_change_when_idle(const void *opaque)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT_STATIC);
    QNvmeSq *sq = cint_queues(t, 1);

    apply(t, opaque);
    cint_expect_quiet_to(t, sq->cq, CINT_SECOND);
    g_assert_cmpuint(cint_record(t, 1).irqs_full, ==, 0);
    cint_shutdown(t);
}

static void test_change_holds_for_all_queues(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT_STATIC);
    QNvmeSq *before = cint_queues(t, 1);
    QNvmeSq *after;

    cint_set_word(t, "cint.policy", "adaptive");
    cint_set_number(t, "cint.delta", 2000);
    cint_set_number(t, "cint.thr", 4);
    after = cint_queues(t, 2);

    cint_zero(t);
    cint_read(t, before, 1);
    cint_run_to(t, 100);
    cint_read(t, after, 1);
    cint_expect_irq_at(t, before->cq, CINT_LATENCY + 2000);
    cint_expect_irq_at(t, after->cq, 100 + CINT_LATENCY + 2000);
    cint_zero(t);
    cint_read(t, before, 4);
    cint_expect_irq_at(t, before->cq, CINT_LATENCY);
    cint_shutdown(t);
}

/* Time and threshold go together; set one after the other, half is off. */
static void test_static_pair_under_default(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=default");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_set_number(t, "cint.static-time", 10000);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_set_number(t, "cint.static-thr", 8);
    cint_zero(t);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 10000);
    cint_shutdown(t);
}

/* A reset of the controller is no reason to forget what the user set. */
static void test_change_survives_reset(void)
{
    CintTest *t = cint_boot(CINT_PURE PATIENT_STATIC);
    QNvmeSq *sq;

    cint_set_word(t, "cint.policy", "adaptive");
    cint_set_number(t, "cint.delta", 2000);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    sq = cint_queues(t, 1);
    cint_zero(t);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 2000);
    cint_shutdown(t);
}

static void test_media_change(void)
{
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=default");
    QNvmeSq *sq = cint_queues(t, 1);

    cint_read(t, sq, 1);
    cint_run_to(t, 100);
    cint_set_number(t, "cint.media.read-latency", 5000);
    /* What is under way keeps its time. */
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 5000);
    cint_set_word(t, "cint.media", "optane");
    cint_set_number(t, "cint.media.spread", 0);
    cint_zero(t);
    cint_read(t, sq, 1);
    cint_expect_irq_at(t, sq->cq, 7000);
    cint_shutdown(t);
}

typedef struct Refusal {
    const char *name;
    const char *property;
    const char *word;           /* the refused value, or NULL: */
    int64_t number;
    const char *says;           /* beside the property, in the message */
} Refusal;

static const Refusal refusals[] = {
    { "unknown-policy", "cint.policy", "fastest", 0, "adaptive" },
    { "unknown-media", "cint.media", "floppy", 0, "optane" },
    { "unknown-drain", "cint.drain", "maybe", 0, "auto" },
    { "delta-too-long", "cint.delta", NULL, 2000000000, "1000000000" },
    { "thr-too-large", "cint.thr", NULL, 65536, "65535" },
    { "max-hold-too-long", "cint.max-hold", NULL, 20000000000, "10000000000" },
    { "units-too-many", "cint.media.units", NULL, 2000, "1024" },
    { "time-while-running", "cint.time", "real", 0, "start" },
    { "each-cqe-under-static", "cint.each-cqe", NULL, -1, "policy" },
};

static char *refused(CintTest *t, const Refusal *r)
{
    if (r->number < 0) {
        /* The one boolean. */
        QDict *response = qtest_qmp(t->qts, "{'execute': 'qom-set', "
            "'arguments': {'path': '/machine/peripheral/nvme0', "
            "'property': %s, 'value': false}}", r->property);
        QDict *error = qdict_get_qdict(response, "error");
        char *text;

        g_assert_nonnull(error);
        text = g_strdup(qdict_get_str(error, "desc"));
        qobject_unref(response);
        return text;
    }
    return r->word ? cint_set_word_error(t, r->property, r->word)
                   : cint_set_number_error(t, r->property, r->number);
}

static void test_refusal(const void *opaque)
{
    const Refusal *r = opaque;
    CintTest *t = cint_boot(CINT_PURE ",cint.policy=static,"
                            "cint.static-time=10000,cint.static-thr=8");
    QNvmeSq *sq = cint_queues(t, 1);
    g_autofree char *text = NULL;

    cint_read(t, sq, 3);
    cint_expect_quiet_to(t, sq->cq, 2000);
    text = refused(t, r);
    g_test_message("%s", text);
    g_assert_nonnull(strstr(text, r->property + strlen("cint.")));
    g_assert_nonnull(strstr(text, r->says));
    g_assert_null(strchr(text, '\n'));
    /* Nothing changed, nothing was sent. */
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 10000);
    cint_expect_reason(t, sq->cq, TIME, 1);
    cint_expect_reason(t, sq->cq, RECONF, 0);
    cint_shutdown(t);
}

/* ---- Errors at start ---- */

typedef struct StartError {
    const char *name;
    const char *opts;
    const char *names;          /* what the message names */
    const char *says;           /* and what else it says */
} StartError;

static const StartError start_errors[] = {
    { "unknown-policy", "cint=on,cint.policy=fastest", "cint.policy",
      "adaptive" },
    { "unknown-media", "cint=on,cint.media=floppy", "cint.media", "optane" },
    { "unknown-time", "cint=on,cint.time=wall", "cint.time", "virtual" },
    { "unknown-property", "cint=on,cint.speed=9", "cint.speed", "not found" },
    { "delta-without-cint", "cint.delta=6000", "cint.delta", "cint=on" },
    { "policy-without-cint", "cint.policy=static", "cint.policy", "cint=on" },
    { "media-without-cint", "cint.media=optane", "cint.media", "cint=on" },
    { "cint-off-with-delta", "cint=off,cint.delta=6000", "cint.delta",
      "cint=on" },
    { "time-without-threshold",
      "cint=on,cint.policy=default,cint.static-time=20000", "static-thr",
      "static-time" },
    { "threshold-without-time",
      "cint=on,cint.policy=default,cint.static-thr=8", "static-time",
      "static-thr" },
    { "latency-without-media", "cint=on,cint.media.read-latency=1000",
      "cint.media.read-latency", "cint.media" },
    { "each-cqe-under-adaptive",
      "cint=on,cint.policy=adaptive,cint.each-cqe=off", "each-cqe", "default" },
    { "delta-out-of-range", "cint=on,cint.delta=99999999999", "cint.delta",
      "1000000000" },
    { "delta-is-no-number", "cint=on,cint.delta=fast", "cint.delta",
      "0 to 1000000000" },
    { "negative-thr", "cint=on,cint.thr=-1", "cint.thr", "0 to 65535" },
    { "thr-out-of-range", "cint=on,cint.thr=65536", "cint.thr", "65535" },
    { "units-out-of-range", "cint=on,cint.media=optane,cint.media.units=4096",
      "cint.media.units", "1024" },
    { "max-hold-off-under-vic", "cint=on,cint.policy=vic,cint.max-hold=0",
      "max-hold", "policy=vic" },
    { "urgent-starves-the-others", "cint=on,cint.delta=300000000,"
      "cint.thr=65535,cint.max-hold=0", "ooo=on", "max-hold=0" },
    { "too-small-cif-threshold", "cint=on,cint.cif-threshold=1",
      "cint.cif-threshold", "2 to" },
    { "kick-window-without-cint", "cint.kick-window=1000", "cint.kick-window",
      "cint=on" },
    { "virtual-functions", "cint=on,subsys=s0,sriov_max_vfs=1,"
      "sriov_vq_flexible=2,sriov_vi_flexible=1", "sriov_max_vfs", "cint=on" },
    { "ioeventfd-in-virtual-time", "cint=on,cint.time=virtual,ioeventfd=on",
      "cint.time", "ioeventfd" },
    { "queue-that-stands-for-all", "cint=on,max_ioqpairs=65535",
      "max_ioqpairs", "1 to 65534" },
};

/* A build with sanitizers begins with a remark about QEMU's coroutines. */
static void drop_sanitizer_remark(char *messages)
{
    char *end = strchr(messages, '\n');

    if (end && g_str_has_prefix(messages, "==") &&
        g_strstr_len(messages, end - messages, "makecontext")) {
        memmove(messages, end + 1, strlen(end));
    }
}

/*
 * Starts QEMU and asks it to quit at once. Returns the exit status; *messages
 * is what it printed.
 */
static int start_and_quit(const char *opts, char **messages)
{
    g_autofree char *command = g_strdup_printf(
        "echo '{\"execute\":\"qmp_capabilities\"}{\"execute\":\"quit\"}' | "
        "exec %s -machine pc -nodefaults -display none -accel qtest "
        "-qmp stdio " CINT_NULL_DISK " -device nvme-subsys,id=s0 "
        "-device nvme,serial=cint,%s%s", g_getenv("QTEST_QEMU_BINARY"),
        strstr(opts, "subsys=") ? "" : "drive=d0,", opts);
    const char *argv[] = { "/bin/sh", "-c", command, NULL };
    g_autoptr(GError) error = NULL;
    int status;

    g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                 NULL, NULL, messages, &status, &error);
    g_assert_no_error(error);
    g_assert_true(WIFEXITED(status));
    drop_sanitizer_remark(*messages);
    return WEXITSTATUS(status);
}

static void test_start_error(const void *opaque)
{
    const StartError *e = opaque;
    g_autofree char *messages = NULL;
    int status = start_and_quit(e->opts, &messages);

    g_test_message("%s", messages);
    g_assert_cmpint(status, ==, 1);
    g_assert_nonnull(strstr(messages, e->names));
    g_assert_nonnull(strstr(messages, e->says));
}

static const char *const good_options[] = {
    "cint=off",
    "cint=on",
    "cint=on,cint.policy=default",
    "cint=on,cint.policy=default,cint.each-cqe=off",
    "cint=on,cint.policy=static,cint.static-time=20000,cint.static-thr=8",
    "cint=on,cint.media=p3700,cint.media.seed=3,cint.time=virtual",
    "cint=on,cint.media=none,cint.media.slots=8",
    "cint=on,cint.delta=0,cint.thr=0",
    "cint=on,cint.policy=vic,cint.vic-scope=cq,cint.vic-ratios=coarse",
    "cint=on,cint.policy=vic,cint.kick-window=100000",
};

static void test_good_options_start(void)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(good_options); i++) {
        g_autofree char *messages = NULL;
        int status = start_and_quit(good_options[i], &messages);

        g_test_message("%s: %s", good_options[i], messages);
        g_assert_cmpstr(messages, ==, "");
        g_assert_cmpint(status, ==, 0);
    }
}

static void test_defaults(void)
{
    CintTest *t = cint_boot("cint=on");

    g_assert_cmpint(cint_get_number(t, "cint.delta"), ==, 6000);
    g_assert_cmpint(cint_get_number(t, "cint.thr"), ==, 32);
    g_assert_cmpint(cint_get_number(t, "cint.max-hold"), ==, 10000000);
    g_assert_cmpint(cint_get_number(t, "cint.static-time"), ==, 0);
    g_assert_cmpint(cint_get_number(t, "cint.static-thr"), ==, 0);
    cint_shutdown(t);

    t = cint_boot("cint=on,cint.media=p3700");
    g_assert_cmpint(cint_get_number(t, "cint.delta"), ==, 15000);
    cint_shutdown(t);

    t = cint_boot("cint=on,cint.media=p3700,cint.delta=6000");
    g_assert_cmpint(cint_get_number(t, "cint.delta"), ==, 6000);
    cint_shutdown(t);
}

/* ---- Every property ---- */

/* @value, whatever it is, is none of @name's: says so, and which are. */
static void expect_refused_value(CintTest *t, const char *name,
                                 const char *value, const char *says)
{
    g_autofree char *text = qtest_hmp(t->qts, "device_add nvme,serial=x,"
                                      "drive=d1,cint=on,%s=%s", name, value);

    g_test_message("%s=%s: %s", name, value, text);
    g_assert_nonnull(strstr(text, name));
    g_assert_nonnull(strstr(text, says));
}

static void test_every_property(void)
{
    static const char *const values[] = {
        "", "garbage", "-1", "-9223372036854775808", "18446744073709551615",
        "18446744073709551616", "1.5", "1k",
    };
    CintTest *t = cint_boot_custom(NULL, CINT_NULL_DISK
        " -blockdev driver=null-co,node-name=d1,size=1048576", "cint=on");
    QDict *response = qtest_qmp(t->qts, "{'execute': 'device-list-properties',"
                                " 'arguments': {'typename': 'nvme'}}");
    const QListEntry *entry;
    int count = 0;
    size_t i;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(response, "return"), entry) {
        QDict *property = qobject_to(QDict, qlist_entry_obj(entry));
        const char *name = qdict_get_str(property, "name");
        const char *type = qdict_get_str(property, "type");
        const char *says = g_str_equal(type, "uint64") ? " to " :
                           g_str_equal(type, "bool") ? "'on' or 'off'" :
                           "valid values are ";

        if (!g_str_has_prefix(name, "cint") || strstr(name, "-stats")) {
            continue;
        }
        count++;
        for (i = 0; i < ARRAY_SIZE(values); i++) {
            expect_refused_value(t, name, values[i], says);
        }
    }
    g_assert_cmpint(count, >=, 30);
    qobject_unref(response);
    cint_shutdown(t);
}

/* ---- More than one controller ---- */

static void test_two_controllers(void)
{
    CintTest *t = cint_boot_custom(NULL, CINT_NULL_DISK
        " -blockdev driver=null-co,node-name=d1,size=1073741824"
        " -device nvme,serial=other,drive=d1,addr=6," CINT_PURE
        ",cint.policy=static,cint.static-time=10000,cint.static-thr=8",
        CINT_PURE ",cint.policy=adaptive,cint.delta=6000");
    CintTest other = *t;
    QNvmeSq *sq, *sq_other;

    other.pdev = qpci_device_find(t->bus, QPCI_DEVFN(6, 0));
    other.nvme = qnvme_new(other.pdev, &t->alloc);
    qnvme_enable(other.nvme);
    sq = cint_queues(t, 1);
    sq_other = cint_queues(&other, 1);

    cint_read(t, sq, 1);
    cint_read(&other, sq_other, 1);
    cint_expect_irq_at(t, sq->cq, CINT_LATENCY + 6000);
    other.clock = t->clock;
    cint_expect_irq_at(&other, sq_other->cq, CINT_LATENCY + 10000);

    qnvme_free(other.nvme);
    g_free(other.pdev);
    cint_shutdown(t);
}

static char *get_word(CintTest *t, const char *property)
{
    QDict *response = qtest_qmp(t->qts, "{'execute': 'qom-get', 'arguments': "
        "{'path': '/machine/peripheral/nvme0', 'property': %s}}", property);
    char *word = g_strdup(qdict_get_str(response, "return"));

    qobject_unref(response);
    return word;
}

/* What refines one policy does not bar the way to another. */
static void test_policy_in_one_step(void)
{
    CintTest *t = cint_boot("cint=on,cint.policy=default,cint.each-cqe=off,"
                            "cint.max-irq-rate=1000");
    g_autofree char *storm = NULL, *message = NULL;

    cint_queues(t, 1);
    cint_set_word(t, "cint.policy", "adaptive");
    g_assert_cmpuint(cint_get_config(t, 1, 0).each_cqe, ==, 1);
    g_assert_true(qtest_qom_get_bool(t->qts, "/machine/peripheral/nvme0",
                                     "cint.each-cqe"));
    cint_set_word(t, "cint.storm", "retune");
    cint_set_word(t, "cint.policy", "static");
    g_assert_cmpuint(cint_get_config(t, 1, 0).flags &
                     NVME_CINT_FLAG_STORM_RETUNE, ==, 0);
    storm = get_word(t, "cint.storm");
    g_assert_cmpstr(storm, ==, "hold");

    /* A promise to the guest is no refinement: that has to be said. */
    cint_set_number(t, "cint.max-hold", 0);
    message = cint_set_word_error(t, "cint.policy", "vic");
    g_assert_nonnull(strstr(message, "max-hold"));
    g_assert_cmpuint(cint_get_config(t, 1, 0).policy, ==,
                     NVME_CINT_POLICY_STATIC);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(changes); i++) {
        g_autofree char *pending = g_strdup_printf(
            "/nvme-cint/config/change-with-cqes-pending/%s", changes[i].name);
        g_autofree char *media = g_strdup_printf(
            "/nvme-cint/config/change-with-commands-in-media/%s",
            changes[i].name);
        g_autofree char *idle = g_strdup_printf(
            "/nvme-cint/config/change-when-idle/%s", changes[i].name);

        qtest_add_data_func(pending, &changes[i],
                            test_change_with_cqes_pending);
        qtest_add_data_func(media, &changes[i],
                            test_change_with_commands_in_media);
        qtest_add_data_func(idle, &changes[i], test_change_when_idle);
    }
    for (i = 0; i < ARRAY_SIZE(refusals); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/config/refused-while-running/%s", refusals[i].name);

        qtest_add_data_func(path, &refusals[i], test_refusal);
    }
    for (i = 0; i < ARRAY_SIZE(start_errors); i++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/config/refused-at-start/%s", start_errors[i].name);

        qtest_add_data_func(path, &start_errors[i], test_start_error);
    }
#define ADD(name, run)  qtest_add_func("/nvme-cint/config/" name, run)
    ADD("change-holds-for-all-queues", test_change_holds_for_all_queues);
    ADD("static-time-and-threshold-come-one-after-the-other",
        test_static_pair_under_default);
    ADD("change-survives-a-controller-reset", test_change_survives_reset);
    ADD("media-can-change", test_media_change);
    ADD("good-options-start", test_good_options_start);
    ADD("defaults-are-as-documented", test_defaults);
    ADD("two-controllers-keep-their-policies", test_two_controllers);
    ADD("policy-in-one-step", test_policy_in_one_step);
    ADD("every-property-says-what-it-expects", test_every_property);
#undef ADD
    return g_test_run();
}
