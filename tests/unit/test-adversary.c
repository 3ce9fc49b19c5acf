/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who plays with buffers, under policy auto. A queue's interrupts are the same
 * whatever the sender of another queue does; and what the player's own queue
 * holds is held no longer than under adaptive with four times delta, nor than
 * max-hold.
 */
#include "random.h"
#include "sim.h"
#include "suite.h"

#define CQ_SIZE     64
#define ROUNDS      60
#define DELTA       6000
#define MAX_HOLD    20000
#define JOB         8       /* commands of the other queue's job */
#define THREAD      50      /* the buffer of its thread */
#define MOVES       40      /* of the player, for each round */

/* Which buffer the player's next command has. */
typedef uint32_t (*Play)(unsigned move);

static uint32_t each_new(unsigned move)
{
    return 1000 + move;
}

static uint32_t of_the_others(unsigned move)
{
    return move % (JOB + 1) ? move % (JOB + 1) : THREAD;
}

/* More than there is room for, again and again. */
static uint32_t floods(unsigned move)
{
    return 1 + move % (2 * CINT_WAITS_ENTRIES);
}

/* At once, so that it is believed, and then after others, in turn. */
static uint32_t turns_coat(unsigned move)
{
    return move / 50 % 2 ? 1 + move % 6 : 1 + move / 100;
}

static uint32_t any(unsigned move)
{
    return pick(1, 5000);
}

static uint32_t none(unsigned move)
{
    return 0;
}

static const struct {
    const char *name;
    Play play;
} players[] = {
    { "each new", each_new },
    { "the others' addresses", of_the_others },
    { "more than fit", floods },
    { "believed, then not", turns_coat },
    { "any", any },
    { "without a buffer", none },
};

static CintConfig by_itself(void)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_AUTO);

    config.drain = CINT_AUTO;
    config.delta_ns = DELTA;
    config.max_hold_ns = MAX_HOLD;
    return config;
}

static void submit(Sim *sim, uint32_t page)
{
    sim->page = page;
    sim_batch(sim, 0, sim->now, ".");
}

/* A thread that waits beside a job; what is told of is used again. */
static void other_round(Sim *sim)
{
    unsigned i;

    for (i = 0; i < 2; i++) {
        submit(sim, THREAD);
        sim_post(sim, 0, sim->now + 8000, sim->submitted[0]);
        sim_until(sim, sim->now + 1000);
    }
    for (i = 1; i <= JOB; i++) {
        submit(sim, i);
    }
    for (i = JOB; i; i--) {
        sim_post(sim, 0, sim->now + 500, sim->submitted[0] - i + 1);
    }
    sim_until(sim, sim->now + 100000);
}

static int64_t latest(int64_t oldest, int64_t newest)
{
    return MIN(oldest + MAX_HOLD, newest + CINT_PACE_STRETCH * DELTA);
}

static void check_holds(const Sim *sim, int64_t newest)
{
    if (sim->cq.pending) {
        g_assert_cmpint(cint_deadline(&sim->cq), <=,
                        latest(sim->cq.first_ns, newest));
    }
}

/* One command comes, and one of those in flight is done, or not. */
static void player_moves(Sim *sim, Play play, unsigned *move, int64_t *newest)
{
    unsigned i, flying;

    for (i = 0; i < MOVES; i++) {
        sim_until(sim, sim->now + pick(0, 3000));
        submit(sim, play((*move)++));
        flying = sim->submitted[0] - sim->retired[0];
        while (flying > 8 || (flying && one_in(2))) {
            *newest = sim->now + pick(0, 2000);
            sim_complete(sim, 0, *newest);
            check_holds(sim, *newest);
            flying--;
        }
        sim->nr_irqs = 0;
    }
}

/* What the other queue is sent, beside a player, or one that stays quiet. */
static char *beside(Play play)
{
    Sim *other = sim_new(CQ_SIZE, by_itself());
    Sim *player = sim_new(CQ_SIZE, by_itself());
    int64_t newest = 0;
    unsigned round, move = 0;
    char *text;

    sim_join(player, other);
    submit(player, 1);
    sim_complete(player, 0, 1000);
    for (round = 0; round < ROUNDS; round++) {
        other_round(other);
        if (play) {
            player_moves(player, play, &move, &newest);
        }
    }
    text = sim_reasons(other);
    g_free(player);
    g_free(other);
    return text;
}

static void test_other_queue(void)
{
    g_autofree char *alone = beside(NULL);
    unsigned i;

    /* The job has been learned, or there was nothing to disturb. */
    g_assert_nonnull(strstr(alone, "barrier("));
    g_assert_null(g_strstr_len(alone, 20, "barrier("));
    for (i = 0; i < G_N_ELEMENTS(players); i++) {
        g_autofree char *text = beside(players[i].play);

        g_test_message("%s", players[i].name);
        sim_same("the other queue's list of interrupts", text, alone);
    }
}

int main(int argc, char **argv)
{
    static const SuiteTest tests[] = {
        { "other-queue", test_other_queue },
    };

    g_test_init(&argc, &argv, NULL);
    suite_add("/adversary", tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
