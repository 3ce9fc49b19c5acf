/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Random sequences of what a guest and a user may do: submissions, polling,
 * interrupts, aborts, deletions, changes of policy, hints, pointers. At rest
 * points a guest that looks only after an interrupt must find every
 * completion. A failure repeats with "--seed" and the random seed that the
 * test prints.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-driver.h"

#define NR_QUEUES   3
#define MAX_OUT     60

typedef struct Fuzz {
    CintTest *t;
    QNvmeSq *sqs[NR_QUEUES];
    uint32_t submitted[NR_QUEUES];
    bool vic;           /* vic or pointer, which need a hold limit */
    uint64_t regs;      /* offset of the pointer registers in BAR0 */
} Fuzz;

static void fuzz_submit(Fuzz *f, int q)
{
    QNvmeSq *sq = f->sqs[q];
    uint32_t room = MAX_OUT - (f->submitted[q] - sq->cq->reaped);
    uint32_t count = MIN(room, g_test_rand_int_range(1, 12));

    f->submitted[q] += count;
    while (count--) {
        switch (g_test_rand_int_range(0, 8)) {
        case 0:
            qnvme_push_invalid(sq);
            break;
        case 1:
            qnvme_push_flush(sq);
            break;
        case 2:
        case 3:
            qnvme_push_write(sq, &f->t->buf, 0, 4096);
            break;
        case 4:
        case 5:
            cint_push_hint(f->t, sq, g_test_rand_int_range(1, 4));
            break;
        default:
            qnvme_push_read(sq, &f->t->buf, 0, 4096);
        }
    }
    qnvme_ring_sq(sq);
}

static void fuzz_reap(Fuzz *f, int q)
{
    QNvmeCq *cq = f->sqs[q]->cq;
    uint32_t visible = qnvme_visible(cq);

    if (visible) {
        qnvme_reap(cq, g_test_rand_int_range(1, visible + 1));
    }
}

static void fuzz_policy(Fuzz *f)
{
    static const char *const policies[] = {
        "default", "static", "adaptive", "vic", "cint", "pointer",
    };
    const char *policy =
        policies[g_test_rand_int_range(0, ARRAY_SIZE(policies))];

    f->vic = !strcmp(policy, "vic") || !strcmp(policy, "pointer");
    if (f->vic) {
        cint_set_number(f->t, "cint.max-hold", 90000);
    }
    cint_set_word(f->t, "cint.policy", policy);
}

static void fuzz_feature(Fuzz *f, uint8_t fid, uint32_t value)
{
    g_assert_cmphex(qnvme_set_feature(f->t->nvme, fid, value, NULL, NULL), ==,
                    0);
}

/* One queue gets a configuration of its own. */
static void fuzz_queue_config(Fuzz *f, uint16_t cqid)
{
    NvmeCintFeature c = cint_get_config(f->t, cqid, 0);

    c.policy = g_test_rand_int_range(0, NVME_CINT_POLICY_AUTO + 1);
    c.barrier = g_test_rand_int_range(0, 3);
    c.infer = g_test_rand_int_range(0, 6);
    c.tune = g_test_rand_bit();
    c.delta_ns = cpu_to_le32(g_test_rand_int_range(0, 20000));
    c.thr = cpu_to_le16(g_test_rand_int_range(0, 20));
    c.static_time_ns = cpu_to_le32(g_test_rand_int_range(0, 20000));
    c.static_thr = cpu_to_le16(g_test_rand_int_range(0, 20));
    c.drain = g_test_rand_int_range(0, 3);
    c.vic_scope = g_test_rand_bit();
    c.vic_ratios = g_test_rand_int_range(0, 3);
    c.cif_threshold = cpu_to_le16(g_test_rand_int_range(2, 6));
    c.max_skip = cpu_to_le16(g_test_rand_int_range(0, 6));
    c.iops_threshold = 0;
    c.epoch_ms = cpu_to_le32(1);
    c.kick_window_ns = cpu_to_le32(g_test_rand_int_range(0, 20000));
    c.max_hold_ns = cpu_to_le64(g_test_rand_int_range(1, 30000));
    g_assert_cmphex(cint_set_config(f->t, cqid, &c), ==, 0);
}

static void fuzz_pointer(Fuzz *f, uint16_t cqid)
{
    qnvme_reg_write(f->t->nvme, f->regs + cqid * 4,
                    (uint32_t)g_test_rand_bit() << 31 |
                    g_test_rand_int_range(0, 66));
}

static void fuzz_configure(Fuzz *f)
{
    CintTest *t = f->t;
    uint32_t vector = g_test_rand_int_range(1, NR_QUEUES + 1);

    switch (g_test_rand_int_range(0, 15)) {
    case 0 ... 1:
        fuzz_policy(f);
        break;
    case 2:
        cint_set_number(t, "cint.delta", g_test_rand_int_range(0, 20000));
        break;
    case 3:
        cint_set_number(t, "cint.thr", g_test_rand_int_range(0, 70));
        break;
    case 4:
        cint_set_word(t, "cint.drain", g_test_rand_bit() ? "on" : "off");
        break;
    case 5:
        cint_set_number(t, "cint.max-hold",
                        g_test_rand_int_range(f->vic, 30000));
        break;
    case 6:
        cint_set_number(t, "cint.kick-window",
                        g_test_rand_bit() * g_test_rand_int_range(1, 20000));
        break;
    case 7:
        fuzz_feature(f, NVME_INTERRUPT_VECTOR_CONF,
                     g_test_rand_bit() << 16 | vector);
        break;
    case 8:
        /* TIME and THR of 0 to 3 units. */
        fuzz_feature(f, NVME_INTERRUPT_COALESCING,
                     g_test_rand_int() & 0x0303);
        break;
    case 9 ... 10:
        fuzz_queue_config(f, vector);
        break;
    case 11:
        cint_set_word(t, "cint.infer", g_test_rand_bit() ? "all" : "off");
        break;
    case 12:
        cint_set_word(t, "cint.barrier",
                      g_test_rand_bit() ? "strict" : "generation");
        break;
    case 13 ... 14:
        fuzz_pointer(f, vector);
        break;
    }
}

/*
 * Commands in flight complete as aborted as far as the CQ has room, the rest
 * is gone with the queue.
 */
static void fuzz_delete_sq(Fuzz *f, int q)
{
    QNvmeSq *sq = f->sqs[q];
    QNvmeCq *cq = sq->cq;

    qnvme_delete_sq(sq);
    qnvme_reap(cq, qnvme_visible(cq));
    f->submitted[q] = cq->reaped;
    f->sqs[q] = qnvme_create_sq(f->t->nvme, q + 1, 64, cq);
}

static void fuzz_step(Fuzz *f)
{
    int q = g_test_rand_int_range(0, NR_QUEUES);
    QNvmeSq *sq = f->sqs[q];

    switch (g_test_rand_int_range(0, 20)) {
    case 0 ... 5:
        fuzz_submit(f, q);
        break;
    case 6 ... 7:
        fuzz_reap(f, q);
        break;
    case 8 ... 9:
        if (qnvme_take_irq(f->t->nvme, sq->cq->vector)) {
            qnvme_reap(sq->cq, qnvme_visible(sq->cq));
        }
        break;
    case 10:
        qnvme_abort(sq, sq->next_cid - 1);
        break;
    case 11 ... 12:
        fuzz_configure(f);
        break;
    case 13:
        if (!g_test_rand_int_range(0, 5)) {
            fuzz_delete_sq(f, q);
        }
        break;
    default:
        cint_run(f->t, g_test_rand_int_range(0, 3000));
    }
}

static void test_random(const void *opts)
{
    Fuzz f = { .t = cint_boot(opts), .vic = strstr(opts, "policy=vic") };
    int q, i, round;

    f.regs = cint_pointer_regs(f.t);
    qtest_qom_set_bool(f.t->qts, "/machine/peripheral/nvme0", "cint.each-cqe",
                       true);
    for (q = 0; q < NR_QUEUES; q++) {
        QNvmeCq *cq = qnvme_create_cq(f.t->nvme, q + 1, 16 << q, q + 1);

        f.sqs[q] = qnvme_create_sq(f.t->nvme, q + 1, 64, cq);
    }
    for (round = 0; round < 4; round++) {
        if (round == 2) {
            qnvme_use_shadow_doorbells(f.t->nvme);
        }
        for (i = 0; i < 150; i++) {
            fuzz_step(&f);
        }
        cint_let_run(f.t);
        for (q = 0; q < NR_QUEUES; q++) {
            cint_eager_guest(f.t, f.sqs[q]->cq);
            g_assert_cmpuint(f.sqs[q]->cq->reaped, ==, f.submitted[q]);
            cint_check_record(f.t, q + 1);
        }
    }
    cint_shutdown(f.t);
}

int main(int argc, char **argv)
{
    const CintCase *c;

    g_test_init(&argc, &argv, NULL);
    for (c = cint_cases; c->name; c++) {
        g_autofree char *path = g_strdup_printf(
            "/nvme-cint/random/%s/loses-nothing", c->name);

        qtest_add_data_func(path, c->opts, test_random);
    }
    return g_test_run();
}
