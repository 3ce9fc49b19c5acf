/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Command arbitration: which submission queue gets the next media slot. With
 * one slot and 1 us of latency one command completes each microsecond, so the
 * CQEs of each queue tell the order in which SQEs were fetched.
 */
#include "qemu/osdep.h"
#include "nvme-cint-common.h"

#define ONE_SLOT \
    "cint=on,cint.time=virtual,cint.policy=default,cint.media=custom," \
    "cint.media.read-latency=1000,cint.media.slots=1"

#define BACKLOG     28

enum { URGENT, HIGH, MEDIUM, LOW };
enum { ROUND_ROBIN, WEIGHTED };

static CintTest *boot(uint8_t ams)
{
    CintTest *t = cint_boot(ONE_SLOT);

    g_assert_cmpuint(NVME_CAP_AMS(t->nvme->cap), ==, 1);
    qnvme_reset(t->nvme);
    t->nvme->ams = ams;
    qnvme_enable(t->nvme);
    return t;
}

static QNvmeSq *queue(CintTest *t, uint16_t id, uint8_t priority)
{
    QNvmeCq *cq = qnvme_create_cq(t->nvme, id, CINT_ENTRIES, id);

    return qnvme_create_sq_prio(t->nvme, id, CINT_ENTRIES, cq, priority);
}

static void set_arbitration(CintTest *t, uint32_t value)
{
    g_assert_cmphex(qnvme_set_feature(t->nvme, NVME_ARBITRATION, value, NULL,
                                      NULL), ==, NVME_SUCCESS);
}

static uint32_t get_arbitration(CintTest *t, uint8_t select)
{
    uint32_t value;

    g_assert_cmphex(qnvme_get_feature(t->nvme, NVME_ARBITRATION, select, 0,
                                      NULL, &value), ==, NVME_SUCCESS);
    return value;
}

/* A backlog on @first, then 1 ns later five reads on @second. */
static void overtake(CintTest *t, QNvmeSq *first, QNvmeSq *second)
{
    cint_zero(t);
    cint_read(t, first, BACKLOG);
    cint_run_to(t, 1);
    cint_read(t, second, 5);
}

static void test_urgent_overtakes(void)
{
    CintTest *t = boot(WEIGHTED);
    QNvmeSq *low = queue(t, 1, LOW);
    QNvmeSq *urgent = queue(t, 2, URGENT);

    overtake(t, low, urgent);
    cint_run_to(t, 6000);
    g_assert_cmpuint(qnvme_visible(urgent->cq), ==, 5);
    g_assert_cmpuint(qnvme_visible(low->cq), ==, 1);
    cint_run_to(t, (BACKLOG + 5) * 1000);
    g_assert_cmpuint(qnvme_visible(low->cq), ==, BACKLOG);
    cint_shutdown(t);
}

static void test_round_robin_knows_no_priority(void)
{
    CintTest *t = boot(ROUND_ROBIN);
    QNvmeSq *low = queue(t, 1, LOW);
    QNvmeSq *urgent = queue(t, 2, URGENT);

    overtake(t, low, urgent);
    cint_run_to(t, 7000);
    g_assert_cmpuint(qnvme_visible(urgent->cq), ==, 3);
    g_assert_cmpuint(qnvme_visible(low->cq), ==, 4);
    cint_shutdown(t);
}

/* Weights 4, 2 and 1: fourteen slots are two rounds. */
static void test_weights(void)
{
    CintTest *t = boot(WEIGHTED);
    QNvmeSq *high = queue(t, 1, HIGH);
    QNvmeSq *medium = queue(t, 2, MEDIUM);
    QNvmeSq *low = queue(t, 3, LOW);

    set_arbitration(t, 3u << 24 | 1 << 16 | 0 << 8);
    cint_zero(t);
    cint_read(t, high, BACKLOG);
    cint_run_to(t, 1);
    cint_read(t, medium, BACKLOG);
    cint_read(t, low, BACKLOG);
    cint_run_to(t, 15000);
    /* The first read found the slot free and nobody waiting. */
    g_assert_cmpuint(qnvme_visible(high->cq), ==, 1 + 8);
    g_assert_cmpuint(qnvme_visible(medium->cq), ==, 4);
    g_assert_cmpuint(qnvme_visible(low->cq), ==, 2);
    cint_shutdown(t);
}

/* A class that has nothing to fetch does not hold up the others. */
static void test_idle_class(void)
{
    CintTest *t = boot(WEIGHTED);
    QNvmeSq *high = queue(t, 1, HIGH);
    QNvmeSq *low = queue(t, 2, LOW);

    set_arbitration(t, 7u << 24);
    cint_zero(t);
    cint_read(t, high, 3);
    cint_run_to(t, 1);
    cint_read(t, low, BACKLOG);
    cint_run_to(t, (3 + BACKLOG) * 1000);
    g_assert_cmpuint(qnvme_visible(high->cq), ==, 3);
    g_assert_cmpuint(qnvme_visible(low->cq), ==, BACKLOG);
    cint_shutdown(t);
}

static void test_burst(void)
{
    CintTest *t = boot(ROUND_ROBIN);
    QNvmeSq *one = queue(t, 1, 0);
    QNvmeSq *two = queue(t, 2, 0);

    set_arbitration(t, 2);
    cint_zero(t);
    cint_read(t, one, BACKLOG);
    cint_run_to(t, 1);
    cint_read(t, two, BACKLOG);
    cint_run_to(t, 9000);
    g_assert_cmpuint(qnvme_visible(one->cq), ==, 1 + 4);
    g_assert_cmpuint(qnvme_visible(two->cq), ==, 4);
    cint_shutdown(t);
}

/* The next in line gets its turn when a waiting queue is deleted. */
static void test_deleted_queue(void)
{
    CintTest *t = boot(WEIGHTED);
    QNvmeSq *low = queue(t, 1, LOW);
    QNvmeSq *urgent = queue(t, 2, URGENT);

    overtake(t, low, urgent);
    qnvme_delete_sq(urgent);
    cint_run_to(t, BACKLOG * 1000 + 1000);
    g_assert_cmpuint(qnvme_visible(low->cq), ==, BACKLOG);
    cint_shutdown(t);
}

static void test_feature(void)
{
    CintTest *t = boot(ROUND_ROBIN);
    const uint32_t all = 0xffffff07, reserved = 0x8;

    g_assert_cmphex(get_arbitration(t, 0), ==, NVME_ARB_AB_NOLIMIT);
    set_arbitration(t, all);
    g_assert_cmphex(get_arbitration(t, 0), ==, all);
    g_assert_cmphex(get_arbitration(t, 1), ==, NVME_ARB_AB_NOLIMIT);
    g_assert_cmphex(qnvme_set_feature(t->nvme, NVME_ARBITRATION, reserved,
                                      NULL, NULL),
                    ==, NVME_INVALID_FIELD | NVME_DNR);
    g_assert_cmphex(get_arbitration(t, 0), ==, all);
    qnvme_reset(t->nvme);
    qnvme_enable(t->nvme);
    g_assert_cmphex(get_arbitration(t, 0), ==, NVME_ARB_AB_NOLIMIT);
    cint_shutdown(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, run)  qtest_add_func("/nvme-cint/arb/" name, run)
    ADD("urgent-class-overtakes-a-backlog", test_urgent_overtakes);
    ADD("round-robin-knows-no-priority", test_round_robin_knows_no_priority);
    ADD("classes-share-by-weight", test_weights);
    ADD("an-idle-class-holds-nobody-up", test_idle_class);
    ADD("burst-is-how-many-a-queue-may-take", test_burst);
    ADD("a-deleted-queue-gives-up-its-turn", test_deleted_queue);
    ADD("feature-is-stored-and-reset", test_feature);
#undef ADD
    return g_test_run();
}
