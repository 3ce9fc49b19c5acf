/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hazards of nvme-cint-hazard-test.c while the mechanisms of hints and
 * pointers hold completions back: urgent interrupts under way, a strict
 * Barrier that waits, an interrupt pointer armed or spent, a storm. A driver
 * that knows status records must find every completion.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "nvme-cint-driver.h"

/* Reads take 400 ns; a write is with the medium for all that happens. */
#define MEDIA \
    "cint=on,cint.media=custom,cint.media.read-latency=400," \
    "cint.media.write-latency=500000,cint.media.units=0,cint.drain=off"
#define CINT        ",cint.policy=cint,cint.delta=60000,cint.thr=40," \
                    "cint.max-hold=0"
#define STRICT      CINT ",cint.barrier=strict"
#define POINTER     ",cint.policy=pointer,cint.max-hold=900000"
#define STORM       CINT ",cint.max-irq-rate=10000"
#define ENTRIES     16

enum {
    NONE = NVME_CINT_HINT_NONE,
    URGENT = NVME_CINT_HINT_URGENT,
    BARRIER = NVME_CINT_HINT_BARRIER,
};

typedef struct State {
    const char *name;
    const char *opts;
    /* Brings about what @name says. */
    void (*enter)(CintDriver *d);
} State;

static void run(CintDriver *d, int64_t ns)
{
    cint_let_run(d->t);
    cint_run(d->t, ns);
    cint_let_run(d->t);
}

static void read_and_run(CintDriver *d, uint8_t hint)
{
    cint_driver_read(d, hint);
    qnvme_ring_sq(d->sq);
    run(d, 1000);
}

static void push_slow(CintDriver *d)
{
    NvmeCmd cmd = cint_hinted(d->t, NVME_CMD_WRITE, NONE, NONE);

    cint_driver_push(d, &cmd);
    qnvme_ring_sq(d->sq);
    run(d, 1);
}

/* ---- States ---- */

/* Unmarked ones wait, an Urgent among them has been told of, not reaped. */
static void enter_urgent(CintDriver *d)
{
    read_and_run(d, NONE);
    read_and_run(d, URGENT);
    read_and_run(d, NONE);
}

/* The same, and the guest has reaped the Urgent one. */
static void enter_urgent_reaped(CintDriver *d)
{
    enter_urgent(d);
    cint_driver_interrupt(d);
    read_and_run(d, NONE);
}

static void enter_barrier(CintDriver *d)
{
    push_slow(d);
    read_and_run(d, NONE);
    read_and_run(d, BARRIER);
}

static void enter_armed(CintDriver *d)
{
    cint_set_pointer(d->t, d->cq, NVME_CINT_POINTER_ARM | 6);
    read_and_run(d, NONE);
    read_and_run(d, NONE);
}

static void enter_spent(CintDriver *d)
{
    cint_set_pointer(d->t, d->cq, NVME_CINT_POINTER_ARM | 1);
    read_and_run(d, NONE);
    cint_driver_interrupt(d);
    read_and_run(d, NONE);
    read_and_run(d, NONE);
}

/* Interrupts come too fast; the one for the last read is held back. */
static void enter_storm(CintDriver *d)
{
    int i;

    cint_driver_counts(d);
    for (i = 0; i < 4; i++) {
        read_and_run(d, BARRIER);
        cint_driver_interrupt(d);
    }
    g_assert_cmpuint(cint_record(d->t, 1).storm_held, >, 0);
}

static const State states[] = {
    { "urgent", MEDIA CINT ",cint.time=virtual", enter_urgent },
    { "urgent-reaped", MEDIA CINT ",cint.time=virtual", enter_urgent_reaped },
    { "barrier", MEDIA STRICT ",cint.time=virtual", enter_barrier },
    { "pointer-armed", MEDIA POINTER ",cint.time=virtual", enter_armed },
    { "pointer-spent", MEDIA POINTER ",cint.time=virtual", enter_spent },
    { "storm", MEDIA STORM ",cint.time=virtual", enter_storm },
    { "urgent-real", MEDIA CINT ",cint.time=real", enter_urgent_reaped },
    { "barrier-real", MEDIA STRICT ",cint.time=real", enter_barrier },
    { "pointer-real", MEDIA POINTER ",cint.time=real", enter_armed },
};

/* ---- Hazards ---- */

static CintDriver *new_driver(CintTest *t)
{
    QNvmeCq *cq = qnvme_create_cq(t->nvme, 1, ENTRIES, 1);

    return cint_driver_new(t, qnvme_create_sq(t->nvme, 1, 64, cq),
                           cint_records_on(t, 2));
}

/* After the hazard a new queue pair works as the first one did. */
static void start_over(CintTest *t, const State *s)
{
    CintDriver *d;

    qnvme_take_irq(t->nvme, 1);
    cint_run(t, 2 * CINT_SECOND);
    cint_let_run(t);
    g_assert_false(qnvme_irq_pending(t->nvme, 1));
    d = new_driver(t);
    s->enter(d);
    cint_driver_rest(d);
    cint_driver_free(d);
}

static void reset(CintDriver *d, const State *s)
{
    qnvme_reset(d->t->nvme);
    /* Nothing of before may reach the guest's memory any more. */
    qtest_memset(d->t->qts, d->records, 0xa5, 2 * CINT_RECORD_SIZE);
    qnvme_enable(d->t->nvme);
    cint_run(d->t, CINT_SECOND);
    g_assert_cmphex(cint_status(d->t, d->records, 1).full_tail, ==,
                    0xa5a5a5a5);
    start_over(d->t, s);
}

static void function_reset(CintDriver *d, const State *s)
{
    CintTest *t = d->t;
    uint8_t cap = qpci_find_capability(t->pdev, PCI_CAP_ID_EXP, 0);
    uint16_t control = qpci_config_readw(t->pdev, cap + PCI_EXP_DEVCTL);

    qpci_config_writew(t->pdev, cap + PCI_EXP_DEVCTL,
                       control | PCI_EXP_DEVCTL_BCR_FLR);
    qnvme_free(t->nvme);
    t->nvme = qnvme_new(t->pdev, &t->alloc);
    qnvme_enable(t->nvme);
    start_over(t, s);
}

static void delete_sq(CintDriver *d, const State *s)
{
    qnvme_delete_sq(d->sq);
    cint_driver_run(d);
    g_assert_cmpuint(qnvme_visible(d->cq), ==, 0);
}

static void delete_both(CintDriver *d, const State *s)
{
    QNvmeCq *cq = d->cq;

    qnvme_delete_sq(d->sq);
    qnvme_delete_cq(cq);
    if (!d->counts) {
        start_over(d->t, s);
    }
}

static void abort_last(CintDriver *d, const State *s)
{
    uint16_t cid;

    push_slow(d);
    cid = d->sq->next_cid - 1;
    read_and_run(d, URGENT);
    qnvme_abort(d->sq, cid);
    cint_driver_rest(d);
}

static void shadow_doorbells(CintDriver *d, const State *s)
{
    qnvme_use_shadow_doorbells(d->t->nvme);
    read_and_run(d, NONE);
    read_and_run(d, URGENT);
    cint_driver_rest(d);
    read_and_run(d, NONE);
    cint_driver_rest(d);
}

static void cq_full(CintDriver *d, const State *s)
{
    int i;

    for (i = 0; i < 3 * ENTRIES; i++) {
        cint_driver_read(d, i % 4);
    }
    qnvme_ring_sq(d->sq);
    cint_driver_rest(d);
}

static void stop_and_continue(CintDriver *d, const State *s)
{
    cint_driver_read(d, URGENT);
    qnvme_ring_sq(d->sq);
    qtest_qmp_assert_success(d->t->qts, "{'execute': 'stop'}");
    qtest_qmp_assert_success(d->t->qts, "{'execute': 'cont'}");
    cint_driver_rest(d);
}

static void records_off(CintDriver *d, const State *s)
{
    d->records = 0;
    g_assert_cmphex(cint_set_status(d->t, 0, 0, 0), ==, 0);
    cint_driver_rest(d);
}

static void policies(CintDriver *d, const State *s)
{
    static const char *const names[] = {
        "adaptive", "pointer", "vic", "cint", "default", "static", "cint",
    };
    int i;

    cint_set_number(d->t, "cint.max-hold", 900000);
    for (i = 0; i < ARRAY_SIZE(names); i++) {
        cint_set_word(d->t, "cint.policy", names[i]);
        read_and_run(d, i % 4);
    }
    cint_driver_rest(d);
}

/* Another SQ of the CQ, used and deleted. */
static void other_sq(CintDriver *d, const State *s)
{
    QNvmeSq *other = qnvme_create_sq(d->t->nvme, 2, 64, d->cq);
    QNvmeSq *own = d->sq;
    int i;

    other->next_cid = 0x8000;
    d->sq = other;
    for (i = 0; i < 4; i++) {
        read_and_run(d, i);
    }
    cint_driver_rest(d);
    qnvme_delete_sq(other);
    d->sq = own;
    read_and_run(d, NONE);
    cint_driver_rest(d);
}

static void unplug(CintDriver *d, const State *s)
{
    qpci_unplug_acpi_device_test(d->t->qts, "nvme0", 4);
    cint_run(d->t, 2 * CINT_SECOND);
    qtest_qmp_assert_success(d->t->qts, "{'execute': 'query-status'}");
}

static void nothing(CintDriver *d, const State *s)
{
    cint_driver_rest(d);
}

static const struct {
    const char *name;
    void (*run)(CintDriver *d, const State *s);
} hazards[] = {
    { "nothing", nothing },
    { "reset", reset },
    { "function-reset", function_reset },
    { "delete-sq", delete_sq },
    { "delete-sq-and-cq", delete_both },
    { "abort", abort_last },
    { "shadow-doorbells", shadow_doorbells },
    { "cq-full", cq_full },
    { "stop-and-continue", stop_and_continue },
    { "records-off", records_off },
    { "policies", policies },
    { "other-sq", other_sq },
    { "unplug", unplug },
};

typedef struct Case {
    const State *state;
    int hazard;
} Case;

static void test_hazard(const void *opaque)
{
    const Case *c = opaque;
    CintTest *t = cint_boot(c->state->opts);
    CintDriver *d = new_driver(t);

    c->state->enter(d);
    hazards[c->hazard].run(d, c->state);
    cint_driver_free(d);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    static Case cases[ARRAY_SIZE(states) * ARRAY_SIZE(hazards)];
    Case *c = cases;
    int i, k;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(states); i++) {
        for (k = 0; k < ARRAY_SIZE(hazards); k++, c++) {
            g_autofree char *path = g_strdup_printf(
                "/nvme-cint/hazard-hint/%s/%s", states[i].name,
                hazards[k].name);

            *c = (Case) { .state = &states[i], .hazard = k };
            qtest_add_data_func(path, c, test_hazard);
        }
    }
    return g_test_run();
}
