/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What head movement does: the guest reaps part, all, or more than there is.
 */
#include "sim.h"

/*
 * Tests of head movement run twice: from index 0, and from one that makes the
 * free-running indices wrap in the middle.
 */
static Sim *start_lazy_at(CintConfig config, gconstpointer index)
{
    Sim *sim = sim_new_lazy(64, config);

    sim_start_at(sim, GPOINTER_TO_UINT(index));
    return sim;
}

static void test_head_part(gconstpointer index)
{
    Sim *sim = start_lazy_at(sim_adaptive(6000, 32), index);

    sim_ios(sim, 1000, 1000, 3);
    sim_reap(sim, 3500, 2);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, 9000);
    sim_run_out(sim);
    sim_expect(sim, "9000:quiet(1)");
    g_free(sim);
}

static void test_head_all(gconstpointer index)
{
    Sim *sim = start_lazy_at(sim_adaptive(6000, 32), index);

    sim_ios(sim, 1000, 1000, 3);
    sim_reap(sim, 3500, 3);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, CINT_NO_DEADLINE);
    sim_until(sim, 100000);
    sim_expect(sim, "");
    sim_io(sim, 100001);
    sim_run_out(sim);
    sim_expect(sim, "106001:quiet(1)");
    g_free(sim);
}

/* The guest's mistake counts as "everything" and leaves a sane queue. */
static void test_head_past_tail(gconstpointer index)
{
    Sim *sim = start_lazy_at(sim_adaptive(6000, 32), index);

    sim_ios(sim, 1000, 1000, 3);
    sim_head(sim, 3500, sim->cq.tail + 1);
    g_assert_cmpuint(sim->cq.head, ==, sim->cq.tail);
    g_assert_cmpint(cint_deadline(&sim->cq), ==, CINT_NO_DEADLINE);
    sim_io(sim, 4000);
    sim_head(sim, 4500, sim->cq.tail + 0x40000000);
    g_assert_cmpuint(sim->cq.head, ==, sim->cq.tail);
    sim_io(sim, 5000);
    sim_run_out(sim);
    sim_expect(sim, "11000:quiet(1)");
    g_free(sim);
}

static void test_head_standing_still(gconstpointer index)
{
    Sim *sim = start_lazy_at(sim_adaptive(6000, 32), index);

    sim_ios(sim, 1000, 1000, 3);
    sim_reap(sim, 3500, 0);
    sim_run_out(sim);
    sim_expect(sim, "9000:quiet(3)");
    g_free(sim);
}

/* What an interrupt covered goes first; only then does pending shrink. */
static void test_head_covered_first(gconstpointer index)
{
    Sim *sim = start_lazy_at(sim_adaptive(6000, 2), index);

    sim_ios(sim, 1000, 1000, 3);
    sim_expect(sim, "2000:thr(2)");
    sim_reap(sim, 3500, 2);
    g_assert_cmpuint(sim->cq.pending, ==, 1);
    sim_run_out(sim);
    sim_expect(sim, "9000:quiet(1)");
    g_free(sim);
}

static void test_head_lowers_count(gconstpointer index)
{
    Sim *sim = start_lazy_at(sim_adaptive(6000, 4), index);

    sim_ios(sim, 1000, 1000, 3);
    sim_reap(sim, 3500, 2);
    sim_ios(sim, 4000, 1000, 2);
    sim_expect(sim, "");
    sim_io(sim, 6000);
    sim_expect(sim, "6000:thr(4)");
    g_free(sim);
}

/* The static timer's anchor moves only when nothing is left pending. */
static void test_head_anchor(gconstpointer index)
{
    Sim *sim = start_lazy_at(sim_static(10000, 32), index);

    sim_ios(sim, 1000, 1000, 2);
    sim_reap(sim, 2500, 1);
    sim_io(sim, 3000);
    sim_run_out(sim);
    sim_expect(sim, "11000:time(2)");
    sim_reap(sim, 12000, 2);
    sim_io(sim, 20000);
    sim_reap(sim, 21000, 1);
    sim_io(sim, 22000);
    sim_run_out(sim);
    sim_expect(sim, "32000:time(1)");
    g_free(sim);
}

static void test_head_pressure(gconstpointer index)
{
    Sim *sim = start_lazy_at(sim_adaptive(1000000, 65535), index);

    sim_ios(sim, 1, 1, 48);
    sim_expect(sim, "48:pressure(48)");
    sim_reap(sim, 50, 48);
    sim_ios(sim, 51, 1, 48);
    sim_expect(sim, "98:pressure(48)");
    g_free(sim);
}

static void add_head(const char *name, GTestDataFunc func)
{
    char *path = g_strdup_printf("/head/%s/from-0", name);

    g_test_add_data_func(path, GUINT_TO_POINTER(0), func);
    g_free(path);
    path = g_strdup_printf("/head/%s/across-the-wrap", name);
    g_test_add_data_func(path, GUINT_TO_POINTER(UINT32_MAX - 1), func);
    g_free(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_head("part-leaves-the-deadline", test_head_part);
    add_head("all-disarms", test_head_all);
    add_head("past-the-tail-is-all", test_head_past_tail);
    add_head("standing-still-changes-nothing", test_head_standing_still);
    add_head("covered-ones-go-first", test_head_covered_first);
    add_head("reaped-ones-do-not-count-to-thr", test_head_lowers_count);
    add_head("anchor-stays-until-all-are-reaped", test_head_anchor);
    add_head("pressure", test_head_pressure);
    return g_test_run();
}

