/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy pointer: golden vectors V8 with the answers of rival readings (see
 * test-vectors.c), and what each state of the pointer means.
 */
#include "golden.h"
#include "rival-pointer.h"
#include "sim.h"
#include "suite.h"

#define MAX_RIVALS  4
#define HOLD        10000000ll

typedef struct RivalAnswer {
    const char *name;
    PointerReading reading;
    const char *out;
} RivalAnswer;

typedef struct Vector {
    const char *name;
    PointerLoad load;
    const char *out;
    RivalAnswer rivals[MAX_RIVALS];
} Vector;

static const Vector vectors[] = {
    {
        /* The pointer is 2; the tail goes 7, 0, 1, 2, 3. */
        .name = "V8a/armed-before",
        .load = { .entries = 8, .head = 6, .ahead = 4, .n = 5 },
        .out = "4000(4)",
        .rivals = {
            { "a-tail-strictly-past-the-pointer", { .strict = true },
              "5000(5)" },
            { "a-pointer-that-is-not-spent", { .not_spent = true },
              "4000(4) 5000(1)" },
        },
    }, {
        /* Passed when it is written: fires with the write. */
        .name = "V8b/passed-at-the-write",
        .load = { .entries = 16, .head = 0, .ahead = 5, .written = 7500,
                  .n = 10 },
        .out = "7500(7)",
        .rivals = {
            { "a-count-from-the-write-on", { .relative = true }, "" },
            { "a-test-only-when-a-cqe-is-posted", { .only_at_cqe = true },
              "8000(8)" },
        },
    }, {
        /* As far ahead as can be: the pointer is 2, one behind the head. */
        .name = "V8c/as-far-as-can-be",
        .load = { .entries = 8, .head = 3, .ahead = 7, .n = 7 },
        .out = "7000(7)",
        .rivals = {
            { "a-tail-strictly-past-the-pointer", { .strict = true }, "" },
        },
    },
};

/* A guest that reaps when told only: the head is to stay. */
static Sim *start_at(uint32_t size, uint32_t index)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_POINTER);
    Sim *sim = g_new(Sim, 1);

    sim_init(sim, size, &config);
    sim->lazy = true;
    sim_start_at(sim, index);
    return sim;
}

/* With a pointer that has fired: from then on there is silence. */
static Sim *start_spent(uint32_t size, uint32_t index)
{
    Sim *sim = start_at(size, index - 1);

    sim_pointer(sim, 0, index);
    sim_io(sim, 0);
    sim_expect(sim, "0:pointer(1)");
    sim_reap(sim, 0, 1);
    g_assert_cmpuint(sim->cq.head, ==, index);
    return sim;
}

/*
 * In a queue so large that pressure has no say. The engine's indices run
 * freely, so that its size does not matter to the pointer.
 */
static char *engine_run(const PointerLoad *load)
{
    Sim *sim = start_spent(1024, load->head + load->entries);
    uint32_t target = sim->cq.head + load->ahead;
    int64_t t;
    char *out;

    for (t = 0; t <= load->n * 1000; t += 500) {
        if (t && t % 1000 == 0) {
            sim_io(sim, t);
        }
        if (t == load->written) {
            sim_pointer(sim, t, target);
        }
    }
    sim_run_out(sim);
    out = sim_irqs(sim);
    g_free(sim);
    return out;
}

static void test_engine(const void *opaque)
{
    const Vector *vector = opaque;
    char *got = engine_run(&vector->load);

    sim_same("the engine's list of interrupts", got, vector->out);
    g_free(got);
}

static char *model(const void *opaque, const void *reading)
{
    const Vector *vector = opaque;

    return rival_pointer_run(&vector->load, reading);
}

/* @head, @ptr and @tail are indices of a queue with @size entries. */
static void agree(uint32_t size, uint32_t head, uint32_t ptr, uint32_t tail)
{
    /* The engine's index runs freely and wraps on the way. */
    uint32_t start = head - size;
    Sim *sim = start_spent(1024, start);
    uint32_t posted = (tail - head) % size;
    uint32_t target = start + (ptr - head) % size;
    bool want = rival_pointer_passed(head, ptr, tail);

    g_assert_cmpint(want, ==, posted >= (ptr - head) % size);
    sim_ios(sim, 1, 0, posted);
    g_assert_cmpuint(sim->nr_irqs, ==, 0);
    sim_pointer(sim, 2, target);
    g_assert_cmpuint(sim->nr_irqs, ==, want);
    if (want) {
        g_assert_cmpuint(sim->irq[0].covered, ==, posted);
    }
    g_free(sim);
}

/* Three cases against one subtraction, for everything there is. */
static void test_three_cases(gconstpointer opaque)
{
    uint32_t size = GPOINTER_TO_UINT(opaque), head, ptr, tail;

    for (head = 0; head < size; head++) {
        for (ptr = 0; ptr < size; ptr++) {
            for (tail = 0; tail < size; tail++) {
                if (ptr != head) {
                    agree(size, head, ptr, tail);
                }
            }
        }
    }
}

/* V8 (d): at the head it is passed before anything was posted. */
static void test_at_head(void)
{
    Sim *sim = start_spent(8, 8);

    sim_pointer(sim, 1000, sim->cq.head);
    sim_expect(sim, "1000:pointer(0)");
    g_assert_cmpint(sim->cq.pointer.state, ==, CINT_POINTER_SPENT);
    g_free(sim);
}

/* A driver that knows nothing of pointers works. */
static void test_off(void)
{
    Sim *sim = start_at(64, 0);

    g_assert_cmpint(sim->cq.pointer.state, ==, CINT_POINTER_OFF);
    sim_ios(sim, 1000, 1000, 3);
    sim_expect(sim, "1000:each(1) 2000:each(1) 3000:each(1)");
    g_free(sim);
}

static void test_armed_then_spent(void)
{
    Sim *sim = start_at(64, 0);

    sim_pointer(sim, 0, 3);
    g_assert_cmpint(sim->cq.pointer.state, ==, CINT_POINTER_ARMED);
    sim_ios(sim, 1000, 1000, 2);
    sim_expect(sim, "");
    sim_io(sim, 3000);
    sim_expect(sim, "3000:pointer(3)");
    g_assert_cmpint(sim->cq.pointer.state, ==, CINT_POINTER_SPENT);
    sim_ios(sim, 4000, 1000, 9);
    sim_expect(sim, "");
    sim_reap(sim, 20000, 12);
    sim_ios(sim, 21000, 1000, 9);
    sim_expect(sim, "");
    g_free(sim);
}

static void test_moved_while_armed(void)
{
    Sim *sim = start_at(64, 0);

    sim_pointer(sim, 0, 3);
    sim_io(sim, 1000);
    sim_pointer(sim, 1500, 5);
    sim_ios(sim, 2000, 1000, 4);
    sim_expect(sim, "5000:pointer(5)");
    g_free(sim);
}

/* Off again: each completion interrupts, and what waited goes out. */
static void test_switched_off(void)
{
    Sim *sim = start_at(64, 0);

    sim_pointer(sim, 0, 5);
    sim_ios(sim, 1000, 1000, 2);
    sim_pointer_off(sim, 3000);
    sim_expect(sim, "3000:pointer(2)");
    sim_ios(sim, 4000, 1000, 2);
    sim_expect(sim, "4000:each(1) 5000:each(1)");
    /* With nothing waiting there is nothing to say. */
    sim_pointer_off(sim, 6000);
    sim_pointer(sim, 6000, 40);
    sim_pointer_off(sim, 7000);
    sim_expect(sim, "");
    g_free(sim);
}

/* Told of already, but not reaped: the guest asks to be woken, and is. */
static void test_passed_already(void)
{
    Sim *sim = start_at(64, 0);

    sim_ios(sim, 1000, 1000, 3);
    sim_expect(sim, "1000:each(1) 2000:each(1) 3000:each(1)");
    sim_pointer(sim, 4000, 2);
    sim_expect(sim, "4000:pointer(3)");
    sim_io(sim, 5000);
    sim_expect(sim, "");
    sim_reap(sim, 6000, 4);
    sim_pointer(sim, 7000, 5);
    sim_expect(sim, "");
    sim_io(sim, 8000);
    sim_expect(sim, "8000:pointer(1)");
    g_free(sim);
}

/* Head movement does not move the pointer. */
static void test_head(void)
{
    Sim *sim = start_at(64, 0);

    sim_pointer(sim, 0, 4);
    sim_ios(sim, 1000, 1000, 3);
    sim_reap(sim, 3500, 3);
    sim_io(sim, 4000);
    sim_expect(sim, "4000:pointer(1)");
    g_free(sim);
}

/* The free-running index wraps at 2^32 between the head and the pointer. */
static void test_wrap(void)
{
    uint32_t start;
    Sim *sim;

    for (start = UINT32_MAX - 6; start != 2; start++) {
        sim = start_at(64, start);
        sim_pointer(sim, 0, start + 5);
        sim_ios(sim, 1000, 1000, 4);
        sim_expect(sim, "");
        sim_ios(sim, 5000, 1000, 2);
        sim_expect(sim, "5000:pointer(5)");
        g_free(sim);
    }
}

/* The policy is entered with no pointer, whatever was written before. */
static void test_entry(void)
{
    CintConfig pointer = sim_config(NVME_CINT_POLICY_POINTER);
    CintConfig adaptive = sim_adaptive(6000, 32);
    Sim *sim = start_at(64, 0);

    sim_pointer(sim, 0, 20);
    sim_configure(sim, 1000, &adaptive);
    sim_configure(sim, 2000, &pointer);
    sim_io(sim, 3000);
    sim_expect(sim, "3000:each(1)");
    /* A change of numbers leaves an armed one as it is. */
    sim_pointer(sim, 4000, 3);
    pointer.max_hold_ns = HOLD;
    sim_configure(sim, 5000, &pointer);
    sim_io(sim, 6000);
    sim_expect(sim, "");
    sim_io(sim, 7000);
    sim_expect(sim, "7000:pointer(2)");
    g_free(sim);
}

static void test_other_policies(void)
{
    CintConfig config = sim_adaptive(6000, 32);
    Sim *sim = start_at(64, 0);

    sim_configure(sim, 0, &config);
    sim_ios(sim, 1000, 1000, 2);
    sim_pointer(sim, 3000, 1);
    sim_pointer_off(sim, 3500);
    sim_run_out(sim);
    sim_expect(sim, "8000:quiet(2)");
    g_free(sim);
}

/* Silent, but for errors, pressure and max-hold. */
static void test_spent_silence(void)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_POINTER);
    Sim *sim = start_spent(64, 64);

    config.max_hold_ns = HOLD;
    sim_configure(sim, 500, &config);
    sim_io(sim, 1000);
    sim_run_out(sim);
    sim_expect(sim, "10001000:max-hold(1)");
    sim_submit(sim, 0, 10002000, 1);
    sim_fail(sim, 0, 10003000);
    sim_expect(sim, "10003000:error(1)");
    sim_ios(sim, 10004000, 0, 46);
    sim_expect(sim, "10004000:pressure(46)");
    g_assert_cmpint(sim->cq.pointer.state, ==, CINT_POINTER_SPENT);
    g_free(sim);
}

/* They leave an armed pointer armed. */
static void test_armed_survives(void)
{
    Sim *sim = start_at(64, 0);

    sim_pointer(sim, 0, 3);
    sim_submit(sim, 0, 0, 1);
    sim_fail(sim, 0, 1000);
    sim_io(sim, 2000);
    sim_expect(sim, "1000:error(1)");
    sim_io(sim, 3000);
    sim_expect(sim, "3000:pointer(2)");
    g_free(sim);
}

/* An error at the pointer spends it: the guest was woken for it. */
static void test_error_at_pointer(void)
{
    Sim *sim = start_at(64, 0);

    sim_pointer(sim, 0, 2);
    sim_io(sim, 1000);
    sim_submit(sim, 0, 1000, 1);
    sim_fail(sim, 0, 2000);
    sim_expect(sim, "2000:error(2)");
    sim_io(sim, 3000);
    sim_expect(sim, "");
    g_free(sim);
}

/* Drain is off under this policy unless asked for. */
static void test_drain(void)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_POINTER);
    Sim *sim = start_spent(64, 64);

    config.drain = CINT_AUTO;
    sim_configure(sim, 500, &config);
    sim_io(sim, 1000);
    sim_expect(sim, "");
    config.drain = CINT_ON;
    sim_configure(sim, 1500, &config);
    sim_expect(sim, "1500:reconfigure(1)");
    sim_io(sim, 2000);
    sim_expect(sim, "2000:drain(1)");
    g_free(sim);
}

static void test_conflict(void)
{
    CintConfig config;

    cint_config_init(&config);
    config.policy = NVME_CINT_POLICY_POINTER;
    g_assert_null(cint_config_conflict(&config));
    config.max_hold_ns = 0;
    g_assert_nonnull(cint_config_conflict(&config));
}

int main(int argc, char **argv)
{
    static const PointerReading ours;
    static const GoldenSuite suite = {
        .path = "/pointer",
        .test_engine = test_engine,
        .model = model,
        .ours = &ours,
    };
    static const SuiteTest tests[] = {
        { "V8d/at-the-head-it-is-passed", test_at_head },
        { "off/each-completion-interrupts", test_off },
        { "off/sends-what-waits", test_switched_off },
        { "armed/fires-once", test_armed_then_spent },
        { "armed/may-move", test_moved_while_armed },
        { "armed/ignores-head-movement", test_head },
        { "armed/survives-an-error-before-it", test_armed_survives },
        { "armed/is-spent-by-an-error-at-it", test_error_at_pointer },
        { "armed/passed-already", test_passed_already },
        { "armed/wraps", test_wrap },
        { "spent/is-silent", test_spent_silence },
        { "drain/is-off-unless-asked-for", test_drain },
        { "policy/is-entered-without-a-pointer", test_entry },
        { "policy/others-ignore-it", test_other_policies },
        { "policy/needs-max-hold", test_conflict },
    };
    static const unsigned sizes[] = { 2, 4, 8, 16 };
    unsigned i;
    char *path;

    g_test_init(&argc, &argv, NULL);
    golden_add_all(&suite, vectors);
    for (i = 0; i < G_N_ELEMENTS(sizes); i++) {
        path = g_strdup_printf("/pointer/V8/three-cases/%u-entries",
                               sizes[i]);
        g_test_add_data_func(path, GUINT_TO_POINTER(sizes[i]),
                             test_three_cases);
        g_free(path);
    }
    suite_add("/pointer", tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
