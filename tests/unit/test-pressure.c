/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rules about a queue that fills up: pressure, and thresholds that the queue
 * is too small for.
 */
#include "sim.h"
#include "suite.h"

#define SECOND  1000000000ll

/* A policy that would hold completions for as long as the test takes. */
static CintConfig patient(void)
{
    return sim_adaptive(SECOND, 65535);
}

/* 64 entries: three quarters are 48, a sixteenth is 4, full is 63. */
static void test_pressure_steps(void)
{
    Sim *sim = sim_new_lazy(64, patient());

    sim_ios(sim, 1, 1, 47);
    sim_expect(sim, "");
    sim_ios(sim, 48, 1, 16);
    sim_expect(sim, "48:pressure(48) 52:pressure(4) 56:pressure(4) "
                    "60:pressure(4) 63:pressure(3)");
    g_free(sim);
}

/* 100 entries: three quarters are 75, a sixteenth is 6. */
static void test_pressure_odd_steps(void)
{
    Sim *sim = sim_new_lazy(100, patient());

    sim_ios(sim, 1, 1, 99);
    sim_expect(sim, "75:pressure(75) 81:pressure(6) 87:pressure(6) "
                    "93:pressure(6) 99:pressure(6)");
    g_free(sim);
}

/* A guest that stays where it is hears of each level once. */
static void test_pressure_once(void)
{
    Sim *sim = sim_new_lazy(64, patient());

    sim_ios(sim, 1, 1, 50);
    sim_expect(sim, "48:pressure(48)");
    sim_reap(sim, 60, 1);
    sim_io(sim, 61);
    sim_reap(sim, 62, 2);
    sim_ios(sim, 63, 1, 2);
    sim_expect(sim, "");
    g_free(sim);
}

/* Below three quarters everything is forgotten; the next rise is news. */
static void test_pressure_again(void)
{
    Sim *sim = sim_new_lazy(64, patient());

    sim_ios(sim, 1, 1, 53);
    sim_expect(sim, "48:pressure(48) 52:pressure(4)");
    sim_reap(sim, 60, 6);
    sim_ios(sim, 61, 1, 5);
    sim_expect(sim, "61:pressure(2) 65:pressure(4)");
    g_free(sim);
}

/* A level left by the guest is news again, the one below it is not. */
static void test_pressure_one_level_down(void)
{
    Sim *sim = sim_new_lazy(64, patient());

    sim_ios(sim, 1, 1, 53);
    sim_expect(sim, "48:pressure(48) 52:pressure(4)");
    sim_reap(sim, 60, 3);
    sim_ios(sim, 61, 1, 2);
    sim_expect(sim, "62:pressure(3)");
    g_free(sim);
}

static void test_pressure_small_queues(void)
{
    Sim *sim = sim_new_lazy(16, patient());

    sim_ios(sim, 1, 1, 15);
    sim_expect(sim, "12:pressure(12) 13:pressure(1) 14:pressure(1) "
                    "15:pressure(1)");
    g_free(sim);

    sim = sim_new(2, patient());
    sim_ios(sim, 1, 1, 3);
    sim_expect(sim, "1:pressure(1) 2:pressure(1) 3:pressure(1)");
    g_free(sim);
}

static void test_pressure_largest_queue(void)
{
    Sim *sim = sim_new_lazy(65536, patient());

    sim_ios(sim, 1, 1, 65535);
    sim_expect(sim, "49152:pressure(49152) 53248:pressure(4096) "
                    "57344:pressure(4096) 61440:pressure(4096) "
                    "65535:pressure(4095)");
    g_free(sim);
}

/* An eager guest empties the queue each time and never feels any. */
static void test_pressure_eager(void)
{
    Sim *sim = sim_new(16, sim_config(NVME_CINT_POLICY_DEFAULT));

    sim_ios(sim, 1, 1, 3);
    sim_expect(sim, "1:each(1) 2:each(1) 3:each(1)");
    g_free(sim);
}

/* It also counts what older interrupts covered and nobody has reaped. */
static void test_pressure_counts_unreaped(void)
{
    Sim *sim = sim_new_lazy(16, sim_config(NVME_CINT_POLICY_DEFAULT));

    sim_ios(sim, 1, 1, 11);
    sim->nr_irqs = 0;
    sim_ios(sim, 12, 1, 2);
    sim_expect(sim, "12:pressure(1) 13:pressure(1)");
    g_free(sim);
}

/* Queues where size - 2 is below the first level of pressure. */
static void test_clamp(void)
{
    uint32_t size;
    char *want;
    Sim *sim;

    for (size = 3; size <= 7; size++) {
        sim = sim_new(size, patient());
        want = g_strdup_printf("%u:thr(%u)", size - 2, size - 2);
        sim_ios(sim, 1, 1, size - 2);
        sim_expect(sim, want);
        g_free(want);
        g_free(sim);
    }
}

static void test_clamp_static(void)
{
    CintConfig config = sim_static(SECOND, 200);
    Sim *sim = sim_new(6, config);

    sim_ios(sim, 1, 1, 4);
    sim_expect(sim, "4:thr(4)");
    config.policy = NVME_CINT_POLICY_DEFAULT;
    sim_configure(sim, 10, &config);
    sim_ios(sim, 11, 1, 4);
    sim_expect(sim, "14:thr(4)");
    g_free(sim);
}

static void test_clamp_value(void)
{
    static const struct {
        uint32_t size;
        uint64_t thr;
        uint32_t clamped;
    } table[] = {
        { 2, 32, 1 }, { 3, 32, 1 }, { 32, 32, 30 }, { 34, 32, 32 },
        { 1024, 32, 32 }, { 1024, 0, 0 }, { 65536, 65535, 65534 },
        { 1024, 1ull << 32, 1022 },
    };
    unsigned i;
    Sim *sim;

    for (i = 0; i < G_N_ELEMENTS(table); i++) {
        sim = sim_new(table[i].size, sim_adaptive(6000, table[i].thr));
        g_assert_cmpuint(sim->cq.thr, ==, table[i].clamped);
        g_free(sim);
    }
}

int main(int argc, char **argv)
{
    static const SuiteTest tests[] = {
        { "pressure/at-3-4-each-1-16-and-full", test_pressure_steps },
        { "pressure/odd-steps", test_pressure_odd_steps },
        { "pressure/once-for-each-level", test_pressure_once },
        { "pressure/again-after-the-queue-emptied", test_pressure_again },
        { "pressure/again-one-level-down", test_pressure_one_level_down },
        { "pressure/small-queues", test_pressure_small_queues },
        { "pressure/largest-queue", test_pressure_largest_queue },
        { "pressure/none-for-an-eager-guest", test_pressure_eager },
        { "pressure/counts-the-unreaped", test_pressure_counts_unreaped },
        { "clamp/thr-to-size-minus-2", test_clamp },
        { "clamp/static-thr-to-size-minus-2", test_clamp_static },
        { "clamp/values", test_clamp_value },
    };

    g_test_init(&argc, &argv, NULL);
    suite_add("/rules", tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
