/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The golden vectors of the policies that use hints or the interrupt pointer,
 * through the device; see nvme-cint-vectors-test.c. Commands that others
 * overtake are writes, which take longer.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-driver.h"

#define MAX_EVENTS  24

enum {
    U = NVME_CINT_HINT_URGENT,
    B = NVME_CINT_HINT_BARRIER,
    UB = NVME_CINT_HINT_BOTH,
    SLOW = 0x80,
};

/* One command; in the order of the submission queue. */
typedef struct Command {
    int64_t completes;  /* ns; 0 ends the list */
    uint8_t hint;
} Command;

typedef struct Interrupt {
    int64_t when;       /* ns; 0 ends the list */
    uint32_t reaped;    /* CQEs that this one lets the guest reap */
    bool urgent;        /* class */
    uint32_t head;      /* how far the CQ head moves, if that differs */
} Interrupt;

typedef struct Vector {
    const char *name;
    const char *policy;
    bool records;
    Command commands[MAX_EVENTS];
    Interrupt interrupts[MAX_EVENTS];
} Vector;

#define CINT_4      "cint.policy=cint,cint.delta=6000,cint.thr=4"
#define CINT_9      "cint.policy=cint,cint.delta=6000,cint.thr=9"
#define CINT_32     "cint.policy=cint,cint.delta=6000,cint.thr=32"
#define V2_COMMANDS \
    { { 1000 }, { 2000 }, { 3000, U }, { 3500 }, { 20000, U }, { 30000 }, \
      { 50000, UB } }
#define V3_COMMANDS \
    { { 10000, SLOW }, { 11000, SLOW }, { 13500, SLOW }, { 12000, B }, \
      { 30000 }, { 30500 }, { 31000 }, { 31500, B }, \
      { 52000, SLOW }, { 52500, SLOW }, { 53000, SLOW }, { 54000, SLOW | B }, \
      { 50000 }, { 50500 }, { 51000 }, { 51500, B }, \
      { 80000, SLOW }, { 70000 }, { 70200 }, { 70400, B } }
#define V5_COMMANDS \
    { { 1000 }, { 1500, U }, { 2000 }, { 2500 }, { 3000, U }, { 3500 }, \
      { 4000 }, { 4500, U }, { 5000 }, { 20000, U }, { 30000 }, { 31000, U } }

static const Vector vectors[] = {
    {
        /*
         * An Urgent covers what is pending and leaves nothing behind: counted
         * once more, it would cause an empty interrupt at 26000. The one with
         * both bits waits.
         */
        "V2-urgent", CINT_4, false, V2_COMMANDS,
        { { 3000, 3 }, { 9500, 1 }, { 20000, 1 }, { 36000, 1 }, { 56000, 1 } },
    }, {
        /* Without hints in the policy the fourth of them would be at 3500. */
        "V2-without-hints",
        "cint.policy=adaptive,cint.delta=6000,cint.thr=4", false, V2_COMMANDS,
        { { 3500, 4 }, { 26000, 1 }, { 36000, 1 }, { 56000, 1 } },
    }, {
        "V3-barrier-relaxed", CINT_32 ",cint.barrier=relaxed", false,
        V3_COMMANDS,
        { { 12000, 3 }, { 19500, 1 }, { 31500, 4 }, { 51500, 4 }, { 54000, 4 },
          { 70400, 3 }, { 86000, 1 } },
    }, {
        "V4-barrier-strict", CINT_32 ",cint.barrier=strict", false,
        V3_COMMANDS,
        { { 13500, 4 }, { 31500, 4 }, { 54000, 8 }, { 76400, 3 },
          { 80000, 1 } },
    }, {
        "V4-barrier-generation", CINT_32 ",cint.barrier=generation", false,
        V3_COMMANDS,
        { { 13500, 4 }, { 31500, 4 }, { 51500, 4 }, { 54000, 4 },
          { 76400, 3 }, { 80000, 1 } },
    }, {
        "V3-without-hints",
        "cint.policy=adaptive,cint.delta=6000,cint.thr=32", false, V3_COMMANDS,
        { { 19500, 4 }, { 37500, 4 }, { 60000, 8 }, { 76400, 3 },
          { 86000, 1 } },
    }, {
        /*
         * 5000 is the ninth entry in the queue, three of which were reaped
         * before: not counting those, the interrupt would be at 11000. 20000
         * leaves nothing behind that could cause one at 26000.
         */
        "V5-out-of-order", CINT_9, true, V5_COMMANDS,
        { { 1500, 1, true, 0 }, { 3000, 1, true, 0 }, { 4500, 1, true, 0 },
          { 5000, 6, false, 9 }, { 20000, 1, true, 1 },
          { 31000, 1, true, 0 }, { 37000, 1, false, 2 } },
    }, {
        "V5-out-of-order-off", CINT_9 ",cint.ooo=off", true, V5_COMMANDS,
        { { 1500, 2 }, { 3000, 3 }, { 4500, 3 }, { 11000, 1 }, { 20000, 1 },
          { 31000, 2 } },
    }, {
        "V5-out-of-order-without-records", CINT_9, false, V5_COMMANDS,
        { { 1500, 2 }, { 3000, 3 }, { 4500, 3 }, { 11000, 1 }, { 20000, 1 },
          { 31000, 2 } },
    },
};

static int64_t submitted_at(const Command *c)
{
    return c->completes - (c->hint & SLOW ? CINT_SLOW_LATENCY : CINT_LATENCY);
}

static void submit(CintDriver *d, const Command *c)
{
    NvmeCmd cmd = cint_hinted(d->t, c->hint & SLOW ? NVME_CMD_WRITE
                                                   : NVME_CMD_READ,
                              c->hint & ~SLOW, NVME_CINT_HINT_NONE);

    cint_expect_quiet_to(d->t, d->cq, submitted_at(c));
    cint_driver_push(d, &cmd);
    qnvme_ring_sq(d->sq);
}

static void take(CintDriver *d, const Interrupt *irq, bool records)
{
    uint64_t reaped = d->cq->reaped;
    uint32_t head = irq->urgent || irq->head ? irq->head : irq->reaped;
    CintStatus status;

    cint_driver_expect_irq_at(d, irq->when, irq->reaped);
    g_assert_cmpuint(d->cq->reaped - reaped, ==, head);
    if (records) {
        status = cint_status(d->t, d->records, d->cq->id);
        g_assert_cmpuint(status.class, ==, irq->urgent ? CINT_CLASS_URGENT
                                                       : CINT_CLASS_FULL);
    }
}

static void run_vector(const void *opaque)
{
    const Vector *v = opaque;
    g_autofree char *opts = g_strdup_printf("%s,%s", CINT_SLOW, v->policy);
    CintTest *t = cint_boot(opts);
    uint64_t records = v->records ? cint_records_on(t, 2) : 0;
    CintDriver *d = cint_driver_new(t, cint_queues(t, 1), records);
    const Command *next = v->commands;
    const Interrupt *irq;
    uint32_t urgent = 0;

    /* The first commands are submitted before time 0. */
    cint_run(t, CINT_SLOW_LATENCY);
    t->zero = t->clock + CINT_SLOW_LATENCY;
    for (irq = v->interrupts; irq->when; irq++) {
        while (next->completes && submitted_at(next) < irq->when) {
            submit(d, next++);
        }
        take(d, irq, v->records);
        urgent += irq->urgent;
    }
    g_assert_cmpint(next->completes, ==, 0);
    cint_expect_quiet_to(t, d->cq, cint_now(t) + CINT_SECOND);
    g_assert_cmpuint(d->completed, ==, next - v->commands);
    g_assert_cmpuint(cint_record(t, 1).irqs_urgent, ==, urgent);
    g_assert_cmpuint(cint_record(t, 1).irqs_full, ==,
                     irq - v->interrupts - urgent);
    cint_check_record(t, 1);
    cint_driver_free(d);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    size_t i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(vectors); i++) {
        g_autofree char *path = g_strdup_printf("/nvme-cint/vectors/%s",
                                                vectors[i].name);

        qtest_add_data_func(path, &vectors[i], run_vector);
    }
    return g_test_run();
}
