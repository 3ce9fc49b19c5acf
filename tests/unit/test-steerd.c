/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Application steering from user space: whom steerd moves, and where. The
 * loads are those of a machine in which a thread has always the same bytes
 * outstanding on the CPU that it runs on.
 */
#include <glib.h>
#include "rounds.h"

#define L_BYTES 4096
#define T_BYTES (16 * 65536)
#define ANYWHERE UINT64_MAX
#define ROUNDS 400
#define CPUS 2

/* A machine, and threads that do I/O on it. */
struct machine {
    struct steer steer;
    struct steer_task tasks[8];
    size_t count;
    unsigned int moves;
    unsigned int last_move;
};

static struct machine machine_of(bool apart)
{
    return (struct machine){
        .steer = { .cpus = CPUS, .latency_limit = BLK_SWITCH_LATENCY_LIMIT,
                   .apart = apart },
    };
}

static void add(struct machine *m, enum blk_switch_class class,
                unsigned int cpu, uint64_t allowed)
{
    m->tasks[m->count] = (struct steer_task){
        .tid = 100 + m->count, .class = class, .cpu = cpu, .allowed = allowed,
    };
    m->count++;
}

static void add_each(struct machine *m, uint64_t allowed)
{
    for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
        add(m, BLK_SWITCH_L, cpu, allowed);
        add(m, BLK_SWITCH_T, cpu, allowed);
    }
}

static void sample(struct machine *m)
{
    uint64_t bytes[STEER_CPUS][BLK_SWITCH_CLASSES] = { 0 };

    for (size_t i = 0; i < m->count; i++) {
        bytes[m->tasks[i].cpu][m->tasks[i].class] +=
            m->tasks[i].class == BLK_SWITCH_L ? L_BYTES : T_BYTES;
    }
    for (unsigned int cpu = 0; cpu < m->steer.cpus; cpu++) {
        for (int class = 0; class < BLK_SWITCH_CLASSES; class++) {
            steer_sample(&m->steer, cpu, class, bytes[cpu][class]);
        }
    }
}

/* So many rounds; a move is done as it is said. */
static void run(struct machine *m, unsigned int rounds)
{
    struct steer_move move;

    for (unsigned int round = 0; round < rounds; round++) {
        for (int i = 0; i < 8; i++) {
            sample(m);
        }
        if (steer_round(&m->steer, m->tasks, m->count, &move)) {
            g_assert_cmpuint(move.task, <, m->count);
            g_assert_cmpuint(move.cpu, !=, m->tasks[move.task].cpu);
            m->tasks[move.task].cpu = move.cpu;
            m->moves++;
            m->last_move = m->steer.round;
        }
    }
}

static unsigned int of_class_on(const struct machine *m,
                                enum blk_switch_class class, unsigned int cpu)
{
    unsigned int count = 0;

    for (size_t i = 0; i < m->count; i++) {
        count += m->tasks[i].class == class && m->tasks[i].cpu == cpu;
    }
    return count;
}

/* Algorithm 2: T goes to where less of L is, and less of T. */
static void test_t_makes_room(void)
{
    struct machine m = machine_of(false);

    add(&m, BLK_SWITCH_L, 0, ANYWHERE);
    add(&m, BLK_SWITCH_T, 0, ANYWHERE);
    run(&m, ROUNDS);
    g_assert_cmpuint(m.tasks[0].cpu, ==, 0);
    g_assert_cmpuint(m.tasks[1].cpu, ==, 1);
    g_assert_cmpuint(m.moves, ==, 1);
}

/* Algorithm 2: L goes where L is already, to the CPU with the least of all. */
static void test_l_joins_l(void)
{
    struct machine m = machine_of(false);

    add(&m, BLK_SWITCH_L, 0, ANYWHERE);
    add(&m, BLK_SWITCH_T, 0, 1);
    add(&m, BLK_SWITCH_L, 1, ANYWHERE);
    run(&m, ROUNDS);
    g_assert_cmpuint(of_class_on(&m, BLK_SWITCH_L, 1), ==, 2);
    g_assert_cmpuint(m.moves, ==, 1);
}

/* Two of each, one on each CPU: no CPU is better than another. */
static void test_even_loads(void)
{
    struct machine m = machine_of(false);

    add_each(&m, ANYWHERE);
    run(&m, ROUNDS);
    g_assert_cmpuint(m.moves, ==, 0);
}

/* With apart they come to have a CPU each, and stay there. */
static void test_apart(void)
{
    struct machine m = machine_of(true);

    add_each(&m, ANYWHERE);
    run(&m, ROUNDS);
    g_assert_cmpuint(of_class_on(&m, BLK_SWITCH_L, 0), ==, 2);
    g_assert_cmpuint(of_class_on(&m, BLK_SWITCH_T, 1), ==, 2);
    g_assert_cmpuint(m.moves, ==, 2);
    g_assert_cmpuint(m.last_move, <=, 10);
}

/* But not where that would put more of L together than the limit. */
static void test_apart_has_a_limit(void)
{
    struct machine m = machine_of(true);

    m.steer.latency_limit = 2 * L_BYTES;
    add_each(&m, ANYWHERE);
    run(&m, ROUNDS);
    g_assert_cmpuint(m.moves, ==, 0);
}

/* And there is nothing to take apart where T is not. */
static void test_apart_of_one_class(void)
{
    struct machine m = machine_of(true);

    add(&m, BLK_SWITCH_L, 0, ANYWHERE);
    add(&m, BLK_SWITCH_L, 1, ANYWHERE);
    run(&m, ROUNDS);
    g_assert_cmpuint(m.moves, ==, 0);
}

/* Who may run on one CPU stays, whatever there is to gain. */
static void test_one_cpu(void)
{
    struct machine m = machine_of(true);

    add(&m, BLK_SWITCH_L, 0, 1);
    add(&m, BLK_SWITCH_T, 0, 1);
    run(&m, ROUNDS);
    g_assert_cmpuint(m.moves, ==, 0);
}

/* Nobody goes to a CPU that its user does not allow. */
static void test_masks(void)
{
    struct machine m = machine_of(true);

    m.steer.cpus = 3;
    add(&m, BLK_SWITCH_L, 0, ANYWHERE);
    add(&m, BLK_SWITCH_T, 0, 1 << 0 | 1 << 2);
    run(&m, ROUNDS);
    g_assert_cmpuint(m.tasks[1].cpu, ==, 2);
}

/* A CPU that was moved to is left alone for as many rounds as the kernel's. */
static void test_dwell(void)
{
    struct machine m = machine_of(true);
    struct steer_move move;

    m.steer.cpus = 3;
    add(&m, BLK_SWITCH_L, 0, ANYWHERE);
    add(&m, BLK_SWITCH_T, 0, ANYWHERE);
    while (!m.moves) {
        run(&m, 1);
    }
    g_assert_cmpuint(m.tasks[1].cpu, ==, 1);
    /* L follows: T would have to leave at once. */
    m.tasks[0].cpu = 1;
    for (int round = 1; round < BLK_SWITCH_DWELL; round++) {
        sample(&m);
        g_assert_false(steer_round(&m.steer, &m.tasks[1], 1, &move));
    }
    run(&m, 2);
    g_assert_cmpuint(m.moves, ==, 2);
}

/* A load that is gone is forgotten in one round, however large it was. */
static void test_means_end(void)
{
    struct machine m = machine_of(false);

    add(&m, BLK_SWITCH_T, 1, ANYWHERE);
    run(&m, 10);
    g_assert_cmpuint(m.steer.loads[1].mean[BLK_SWITCH_T], >=, T_BYTES / 2);
    m.count = 0;
    run(&m, 1);
    g_assert_cmpuint(m.steer.loads[1].mean[BLK_SWITCH_T], ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/steerd/t-makes-room", test_t_makes_room);
    g_test_add_func("/steerd/l-joins-l", test_l_joins_l);
    g_test_add_func("/steerd/even-loads", test_even_loads);
    g_test_add_func("/steerd/apart", test_apart);
    g_test_add_func("/steerd/apart-limit", test_apart_has_a_limit);
    g_test_add_func("/steerd/apart-one-class", test_apart_of_one_class);
    g_test_add_func("/steerd/one-cpu", test_one_cpu);
    g_test_add_func("/steerd/masks", test_masks);
    g_test_add_func("/steerd/dwell", test_dwell);
    g_test_add_func("/steerd/means-end", test_means_end);
    return g_test_run();
}
