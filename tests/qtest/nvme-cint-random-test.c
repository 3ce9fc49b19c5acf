/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Random sequences of what a guest and a user may do: submissions, polling,
 * interrupts, aborts, deletions, changes of policy. At rest points a guest
 * that looks only after an interrupt must find every completion. A failure
 * repeats with "--seed" and the random seed that the test prints.
 */
#include "qemu/osdep.h"
#include "nvme-cint-common.h"

#define NR_QUEUES   3
#define MAX_OUT     60

typedef struct Fuzz {
    CintTest *t;
    QNvmeSq *sqs[NR_QUEUES];
    uint32_t submitted[NR_QUEUES];
    bool each_cqe;
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

static void fuzz_configure(Fuzz *f)
{
    CintTest *t = f->t;

    switch (g_test_rand_int_range(0, 6)) {
    case 0:
        cint_set_word(t, "cint.policy", "static");
        break;
    case 1:
        cint_set_word(t, "cint.policy", "adaptive");
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
        cint_set_number(t, "cint.max-hold", g_test_rand_int_range(0, 30000));
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
    Fuzz f = { .t = cint_boot(opts) };
    int q, i, round;

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
