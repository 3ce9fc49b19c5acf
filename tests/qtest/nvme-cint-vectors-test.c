/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The golden vectors of the policies, through the device: one command for
 * each arrival, submitted so that it completes at the vector's time; a guest
 * that reaps what each interrupt covers. The times were worked out by hand.
 * They tell the policies apart from likely misreadings of the papers, which
 * each vector's comment names.
 */
#include "qemu/osdep.h"
#include "nvme-cint-common.h"

#define MAX_EVENTS  16

typedef struct Interrupt {
    int64_t when;       /* ns */
    uint32_t covered;   /* CQEs no interrupt covered before */
} Interrupt;

typedef struct Vector {
    const char *name;
    const char *policy;
    int64_t completions[MAX_EVENTS];    /* ns; ends with 0 */
    Interrupt interrupts[MAX_EVENTS];   /* ends with .when = 0 */
} Vector;

#define V1_COMPLETIONS \
    { 1000, 3000, 8000, 20000, 20500, 21000, 21500, 22000, 40000, 46000 }
#define V1_ONE_EACH \
    { { 1000, 1 }, { 3000, 1 }, { 8000, 1 }, { 20000, 1 }, { 20500, 1 }, \
      { 21000, 1 }, { 21500, 1 }, { 22000, 1 }, { 40000, 1 }, { 46000, 1 } }
#define V6B_COMPLETIONS \
    { 10000, 15000, 20000, 25000, 30000, 35000, 40000, 45000, 120000 }

static const Vector vectors[] = {
    {
        /*
         * thr counts with ">=": with ">" 22000 would cover five. A deadline
         * comes before a completion of the same time: the other way round
         * 52000 would cover two and 46000 none.
         */
        "V1-adaptive",
        "cint.policy=adaptive,cint.delta=6000,cint.thr=4",
        V1_COMPLETIONS,
        { { 14000, 3 }, { 21500, 4 }, { 28000, 1 }, { 46000, 1 },
          { 52000, 1 } },
    }, {
        /*
         * The timer starts at the first pending CQE. Started at the last
         * interrupt it would give 1000, 10000, 110000, 200030 and 300030.
         */
        "V6-static",
        "cint.policy=static,cint.static-time=100000,cint.static-thr=4",
        { 1000, 2000, 3000, 4000, 10000, 50000, 200000, 200010, 200020,
          200030, 300000 },
        { { 4000, 4 }, { 110000, 2 }, { 200030, 4 }, { 400000, 1 } },
    }, {
        /* A time or a threshold of 0 is no coalescing. */
        "V6-static-off",
        "cint.policy=static,cint.static-time=0,cint.static-thr=0",
        V1_COMPLETIONS, V1_ONE_EACH,
    }, {
        /* NVMe's own coalescing under the policy default is the same. */
        "V6-default-aggregates",
        "cint.policy=default,cint.static-time=100000,cint.static-thr=4",
        { 1000, 2000, 3000, 4000, 10000, 50000, 200000, 200010, 200020,
          200030, 300000 },
        { { 4000, 4 }, { 110000, 2 }, { 200030, 4 }, { 400000, 1 } },
    }, {
        "V6b-static-100us",
        "cint.policy=static,cint.static-time=100000,cint.static-thr=8",
        V6B_COMPLETIONS,
        { { 45000, 8 }, { 220000, 1 } },
    }, {
        /* 30000 is both a deadline and a completion: the deadline is first. */
        "V6b-static-20us",
        "cint.policy=static,cint.static-time=20000,cint.static-thr=8",
        V6B_COMPLETIONS,
        { { 30000, 4 }, { 50000, 4 }, { 140000, 1 } },
    }, {
        "V6b-adaptive",
        "cint.policy=adaptive,cint.delta=6000,cint.thr=8",
        V6B_COMPLETIONS,
        { { 45000, 8 }, { 126000, 1 } },
    }, {
        "V10-default", "cint.policy=default", V1_COMPLETIONS, V1_ONE_EACH,
    }, {
        "V10-default-batched", "cint.policy=default,cint.each-cqe=off",
        V1_COMPLETIONS, V1_ONE_EACH,
    }, {
        "V10-adaptive-thr-0",
        "cint.policy=adaptive,cint.delta=6000,cint.thr=0",
        V1_COMPLETIONS, V1_ONE_EACH,
    }, {
        "V10-adaptive-thr-1",
        "cint.policy=adaptive,cint.delta=6000,cint.thr=1",
        V1_COMPLETIONS, V1_ONE_EACH,
    },
};

static uint32_t completed_by(const Vector *v, int64_t when)
{
    uint32_t i = 0;

    while (v->completions[i] && v->completions[i] <= when) {
        i++;
    }
    return i;
}

static void take(CintTest *t, QNvmeCq *cq, const Vector *v,
                 const Interrupt *irq, uint32_t covered_before)
{
    uint32_t covered = covered_before + irq->covered;
    NvmeCintLogRecord record;

    cint_expect_irq_at(t, cq, irq->when);
    record = cint_record(t, cq->id);
    g_assert_cmpuint(record.cqes, ==, completed_by(v, irq->when));
    g_assert_cmpuint(record.pending, ==, record.cqes - covered);
    qnvme_reap(cq, irq->covered);
}

static void run_vector(const void *opaque)
{
    const Vector *v = opaque;
    g_autofree char *opts = g_strdup_printf("%s,%s", CINT_PURE, v->policy);
    CintTest *t = cint_boot(opts);
    QNvmeSq *sq = cint_queues(t, 1);
    const int64_t *next = v->completions;
    const Interrupt *irq = v->interrupts;
    uint32_t covered = 0;

    cint_zero(t);
    while (*next || irq->when) {
        int64_t submit = *next ? *next - CINT_LATENCY : CINT_NEVER;

        if (irq->when && irq->when <= submit) {
            take(t, sq->cq, v, irq, covered);
            covered += irq->covered;
            irq++;
        } else {
            cint_expect_quiet_to(t, sq->cq, submit);
            cint_read(t, sq, 1);
            next++;
        }
    }
    cint_expect_quiet_to(t, sq->cq, cint_now(t) + CINT_SECOND);
    g_assert_cmpuint(qnvme_visible(sq->cq), ==, 0);
    g_assert_cmpuint(cint_record(t, 1).irqs_full, ==, irq - v->interrupts);
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
