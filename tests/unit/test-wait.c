/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the user-space driver waits: that no wake-up is lost, whatever the
 * controller does between any two of its steps, and that the faults which
 * would lose one are found out by the same tests.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "clock.h"
#include "fake-nvme.h"
#include "reap.h"
#include "regs.h"

#define STEPS   5   /* places where the controller may come between */

static struct cintio_error err;

/* What a driver may leave out. */
enum fault { NONE, CLEAR_EARLY, NO_CLAMP };

/* The controller's part of one run. */
typedef struct Script {
    FakeNvme *fake;
    enum fault fault;
    unsigned posts[STEPS];      /* completions at each step, the first time */
    unsigned held, hung;        /* sleeps that max-hold, or nobody, ended */
    GRand *rand;                /* instead of posts */
} Script;

/* Somebody sleeps: the rest completes, one by one, until it is woken. */
static void wake_up(Script *script, struct cintio_queue *q)
{
    FakeNvme *fake = script->fake;
    FakeCq *cq = &fake->cq[q->id];
    uint64_t holds = cq->reasons[NVME_CINT_REASON_MAX_HOLD], one = 1;

    while (!fake_is_signalled(fake, q->id) && fake_inflight(fake, q->id)) {
        fake_complete_some(fake, q->id, 1);
    }
    while (!fake_is_signalled(fake, q->id) && fake_deadline(fake, q->id)) {
        continue;
    }
    script->held += cq->reasons[NVME_CINT_REASON_MAX_HOLD] != holds;
    if (!fake_is_signalled(fake, q->id)) {
        script->hung++;
        g_assert_cmpint(write(q->eventfd, &one, sizeof(one)), ==, 8);
    }
    /* what was shown is enough; nobody waits for ever */
    if (script->held || script->hung) {
        script->fault = NONE;
    }
}

static bool between(void *opaque, struct cintio_queue *q, enum cintio_step step)
{
    Script *script = opaque;

    if (step == CINTIO_STEP_SKIP_CLAMP) {
        return script->fault == NO_CLAMP;
    }
    if (step == CINTIO_STEP_SLEEPS) {
        wake_up(script, q);
    } else if (script->rand) {
        fake_complete_some(script->fake, q->id,
                           g_rand_int_range(script->rand, 0, 3));
    } else {
        fake_complete_some(script->fake, q->id, script->posts[step]);
        script->posts[step] = 0;
    }
    return step == CINTIO_STEP_LOOKED && script->fault == CLEAR_EARLY;
}

/* Whether controllers keep interrupt status records from the start. */
static bool records;

static FakeNvme *started(CintPolicy policy)
{
    FakeNvme *fake = fake_new();

    fake->config.policy = policy;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpint(cintio_records(fake->dev, records, &err), ==, 0);
    return fake;
}

static struct cintio_queue *queue_of(FakeNvme *fake, unsigned entries,
                                     enum cintio_mode mode)
{
    struct cintio_queue_options options = { .entries = entries, .mode = mode };
    struct cintio_queue *q = NULL;

    g_assert_cmpint(cintio_queue_create(fake->dev, &options, &q, &err), ==, 0);
    g_assert_cmpuint(q->gather_ns, ==, 10000);
    g_assert_cmpuint(q->spin_ns, ==, 0);
    /* then what is waited for is what was asked for */
    cintio_queue_set_patience(q, 0, 0);
    return q;
}

static void push(struct cintio_queue *q, unsigned n)
{
    struct cintio_io flush = { .op = CINTIO_FLUSH };

    while (n--) {
        g_assert_cmpint(cintio_push(q, &flush), ==, 0);
    }
}

/* --- every order -------------------------------------------------------- */

static int complete_here(Script *script, struct cintio_queue *q,
                         struct cintio_done *done, unsigned min)
{
    (void)script;
    return cintio_complete(q, done, min, 16, CINTIO_FOREVER);
}

/* The same, by somebody who sleeps on the fd, with what else he waits for. */
static int complete_elsewhere(Script *script, struct cintio_queue *q,
                              struct cintio_done *done, unsigned min)
{
    struct pollfd fd = { .fd = cintio_queue_fd(q), .events = POLLIN };
    int got = 0, n;

    for (;;) {
        n = cintio_complete(q, done + got, 0, 16 - got, 0);
        g_assert_cmpint(n, >=, 0);
        got += n;
        if (got >= (int)min || !cintio_outstanding(q)) {
            return got;
        }
        between(script, q, CINTIO_STEP_REAPED);
        if (cintio_queue_arm(q, min - got) == 0) {
            if (between(script, q, CINTIO_STEP_LOOKED)) {
                uint64_t count;

                (void)!read(q->eventfd, &count, sizeof(count));
            }
            between(script, q, CINTIO_STEP_SLEEPS);
            g_assert_cmpint(poll(&fd, 1, -1), ==, 1);
            between(script, q, CINTIO_STEP_WOKEN);
        }
    }
}

static int (*complete_some)(Script *script, struct cintio_queue *q,
                            struct cintio_done *done, unsigned min) =
    complete_here;

/* One wait for @k of @m in which the controller does as the script says. */
static void wait_once(Script *script, struct cintio_queue *q, unsigned m,
                      unsigned k)
{
    struct cintio_done done[16];
    unsigned want = MIN(m, k);
    int got;

    push(q, m);
    got = complete_some(script, q, done, k);
    g_assert_cmpint(got, >=, (int)want);
    g_assert_cmpint(got, <=, (int)m);
    /* the rest, without anybody waiting */
    fake_complete_some(script->fake, q->id, m);
    if ((int)m > got) {
        g_assert_cmpint(cintio_complete(q, done, records ? m : 0, 16,
                                        CINTIO_FOREVER), ==, (int)m - got);
    }
}

/* All orders for one queue; how many of them lost a wake-up. */
static unsigned try_all(CintPolicy policy, enum cintio_mode mode,
                        unsigned entries, enum fault fault)
{
    FakeNvme *fake = started(policy);
    struct cintio_queue *q = queue_of(fake, entries, mode);
    unsigned n = entries, lost = 0;
    Script script = { .fake = fake };

    cintio_queue_watch(q, between, &script);
    for (unsigned m = 1; m < n; m++) {
        for (unsigned k = 1; k <= n; k++) {
            /* the digits of a number with base m + 1 say what is posted when */
            unsigned all = (m + 1) * (m + 1) * (m + 1) * (m + 1);

            for (unsigned code = 0; code < all; code++) {
                unsigned digits = code;

                for (unsigned i = 0; i < STEPS; i++, digits /= m + 1) {
                    script.posts[i] = digits % (m + 1);
                }
                script.fault = fault;
                script.held = script.hung = 0;
                wait_once(&script, q, m, k);
                lost += script.held || script.hung;
            }
        }
    }
    if (fault == NONE) {
        g_assert_cmpuint(fake->cq[1].rejects, ==, 0);
        g_assert_cmpuint(fake->cq[1].reasons[NVME_CINT_REASON_MAX_HOLD], ==, 0);
    }
    cintio_queue_destroy(q);
    fake_free(fake);
    return lost;
}

static void no_order_loses(CintPolicy policy, enum cintio_mode mode)
{
    for (unsigned entries = 2; entries <= 5; entries++) {
        g_assert_cmpuint(try_all(policy, mode, entries, NONE), ==, 0);
    }
}

static void test_coalesced(void)
{
    no_order_loses(NVME_CINT_POLICY_POINTER, CINTIO_COALESCED);
}

static void test_interrupt(void)
{
    no_order_loses(NVME_CINT_POLICY_POINTER, CINTIO_INTERRUPT);
    no_order_loses(NVME_CINT_POLICY_DEFAULT, CINTIO_INTERRUPT);
}

/* Where only what an interrupt told of is taken. */
static void test_with_records(void)
{
    records = true;
    no_order_loses(NVME_CINT_POLICY_POINTER, CINTIO_COALESCED);
    no_order_loses(NVME_CINT_POLICY_POINTER, CINTIO_INTERRUPT);
    no_order_loses(NVME_CINT_POLICY_DEFAULT, CINTIO_INTERRUPT);
    records = false;
}

/* Whoever arms and sleeps elsewhere. */
static void test_elsewhere(void)
{
    complete_some = complete_elsewhere;
    no_order_loses(NVME_CINT_POLICY_POINTER, CINTIO_COALESCED);
    no_order_loses(NVME_CINT_POLICY_DEFAULT, CINTIO_INTERRUPT);
    records = true;
    no_order_loses(NVME_CINT_POLICY_POINTER, CINTIO_COALESCED);
    no_order_loses(NVME_CINT_POLICY_DEFAULT, CINTIO_INTERRUPT);
    records = false;
    /* and a fault of his is found */
    g_assert_cmpuint(try_all(NVME_CINT_POLICY_POINTER, CINTIO_COALESCED, 4,
                             CLEAR_EARLY), >, 0);
    complete_some = complete_here;
}

/* A driver that empties the eventfd, and then sleeps without another look. */
static void test_emptied_early(void)
{
    g_assert_cmpuint(try_all(NVME_CINT_POLICY_POINTER, CINTIO_COALESCED, 4,
                             CLEAR_EARLY), >, 0);
    g_assert_cmpuint(try_all(NVME_CINT_POLICY_DEFAULT, CINTIO_INTERRUPT, 4,
                             CLEAR_EARLY), >, 0);
}

/* A driver that asks for more than can come. */
static void test_without_clamp(void)
{
    g_assert_cmpuint(try_all(NVME_CINT_POLICY_POINTER, CINTIO_COALESCED, 4,
                             NO_CLAMP), >, 0);
}

/* --- how often ---------------------------------------------------------- */

/* With nothing in between, k completions cost one pointer and one interrupt. */
static void test_economy(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue *q = queue_of(fake, 64, CINTIO_COALESCED);
    Script script = { .fake = fake };
    struct cintio_done done[32];

    cintio_queue_watch(q, between, &script);
    for (unsigned k = 1; k <= 32; k++) {
        uint64_t messages = fake->cq[1].messages, arms = q->arms;
        uint64_t sleeps = q->sleeps;

        push(q, 32);
        g_assert_cmpint(cintio_complete(q, done, k, 32, CINTIO_FOREVER), ==,
                        (int)k);
        g_assert_cmpuint(fake->cq[1].messages - messages, ==, 1);
        g_assert_cmpuint(q->arms - arms, ==, 1);
        g_assert_cmpuint(q->sleeps - sleeps, ==, 1);
        fake_complete_some(fake, 1, 32);
        g_assert_cmpint(cintio_complete(q, done, 0, 32, 0), ==, 32 - (int)k);
        /* once passed, the pointer is silent */
        g_assert_cmpuint(fake->cq[1].messages - messages, ==, 1);
    }
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* An error interrupts early: the driver asks for the rest. */
static void test_error_comes_early(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_COALESCED);
    Script script = { .fake = fake };
    struct cintio_done done[8];

    cintio_queue_watch(q, between, &script);
    push(q, 8);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, 1, 1);
    fake_complete(fake, 1, 0, 0x281);
    g_assert_cmpint(cintio_complete(q, done, 5, 8, CINTIO_FOREVER), ==, 5);
    g_assert_cmpuint(done[1].status, ==, 0x281);
    g_assert_cmpuint(fake->cq[1].reasons[NVME_CINT_REASON_POINTER], ==, 1);
    g_assert_cmpuint(script.held + script.hung, ==, 0);
    cintio_queue_destroy(q);
    fake_free(fake);
}

static bool complete_three_when_armed(void *opaque, struct cintio_queue *q,
                                      enum cintio_step step)
{
    if (step == CINTIO_STEP_ARMED) {
        fake_complete_some(opaque, q->id, 3);
    }
    return false;
}

/* Nobody sleeps for what is there by the look. */
static void test_look_saves_a_sleep(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_COALESCED);
    struct cintio_done done[8];

    cintio_queue_watch(q, complete_three_when_armed, fake);
    push(q, 8);
    g_assert_cmpint(cintio_complete(q, done, 3, 8, CINTIO_FOREVER), ==, 3);
    g_assert_cmpuint(q->sleeps, ==, 0);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* An error for who sleeps first, and the others for who sleeps then. */
static bool error_then_rest(void *opaque, struct cintio_queue *q,
                            enum cintio_step step)
{
    if (step != CINTIO_STEP_SLEEPS) {
        return false;
    }
    if (!q->sleeps) {
        fake_complete(opaque, q->id, 0, 0x281);
    } else {
        fake_complete_some(opaque, q->id, UINT_MAX);
    }
    return false;
}

/* Whoever wakes early has asked already; who has asked in vain asks again. */
static void test_asked_once(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_COALESCED);
    struct cintio_done done[8];

    cintio_queue_watch(q, error_then_rest, fake);
    push(q, 8);
    g_assert_cmpint(cintio_complete(q, done, 5, 8, CINTIO_FOREVER), ==, 8);
    g_assert_cmpuint(q->sleeps, ==, 2);
    g_assert_cmpuint(q->arms, ==, 1);
    g_assert_cmpuint(fake->cq[1].reasons[NVME_CINT_REASON_POINTER], ==, 1);

    cintio_queue_watch(q, NULL, NULL);
    push(q, 8);
    for (unsigned arms = 2; arms <= 4; arms++) {
        g_assert_cmpint(cintio_complete(q, done, 5, 8, 1000), ==, 0);
        g_assert_cmpint(cintio_complete(q, done, 5, 8, 1000), ==, 0);
        g_assert_cmpuint(q->arms, ==, arms);
        if (arms == 2) {
            g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_INTERRUPT, 0, &err),
                            ==, 0);
            g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_COALESCED, 0, &err),
                            ==, 0);
        } else {
            g_assert_cmpint(cintio_queue_set_policy(
                q, CINTIO_POLICY_POINTER, &err), ==, 0);
        }
    }
    /* for fewer is another question */
    g_assert_cmpint(cintio_complete(q, done, 2, 8, 1000), ==, 0);
    g_assert_cmpuint(q->arms, ==, 5);
    g_assert_cmpint(cintio_complete(q, done, 1, 8, 1000), ==, 0);
    g_assert_cmpuint(q->arms, ==, 6);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* All at once, when somebody is about to sleep. */
static bool complete_then_sleep(void *opaque, struct cintio_queue *q,
                                enum cintio_step step)
{
    if (step == CINTIO_STEP_SLEEPS) {
        fake_complete_some(opaque, q->id, UINT_MAX);
    }
    return false;
}

/* A vector that somebody masked costs time, and no completion. */
static void test_masked(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_COALESCED);
    struct cintio_done done[8];

    cintio_queue_watch(q, complete_then_sleep, fake);
    fake->cq[1].masked = true;
    push(q, 4);
    g_assert_cmpint(cintio_complete(q, done, 3, 8, CINTIO_FOREVER), ==, 4);
    g_assert_cmpuint(fake->cq[1].messages, ==, 1);
    g_assert_cmpuint(q->sleeps, ==, 1);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* Two controllers of one process know nothing of each other. */
static void test_two_controllers(void)
{
    FakeNvme *fakes[2];
    struct cintio_queue *q[2];
    Script scripts[2];
    struct cintio_done done[8];

    for (unsigned i = 0; i < 2; i++) {
        fakes[i] = started(NVME_CINT_POLICY_POINTER);
        q[i] = queue_of(fakes[i], 3 + i, CINTIO_COALESCED);
        scripts[i] = (Script) { .fake = fakes[i] };
        cintio_queue_watch(q[i], between, &scripts[i]);
    }
    for (unsigned round = 0; round < 1000; round++) {
        unsigned one = round % 2, other = !one, n = 1 + round / 2 % 2;

        push(q[one], n);
        push(q[other], 1);
        g_assert_cmpint(cintio_ring(q[other]), ==, 0);
        g_assert_cmpint(cintio_complete(q[one], done, n, 8, CINTIO_FOREVER),
                        ==, (int)n);
        g_assert_cmpuint(cintio_outstanding(q[other]), ==, 1);
        g_assert_cmpuint(fake_inflight(fakes[other], 1), ==, 1);
        g_assert_cmpint(cintio_complete(q[other], done, 1, 8, CINTIO_FOREVER),
                        ==, 1);
    }
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(scripts[i].held + scripts[i].hung, ==, 0);
        cintio_queue_destroy(q[i]);
        fake_free(fakes[i]);
    }
}

/* Whoever polls is left alone: at most one interrupt, when he begins. */
static void test_polling_is_silent(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_POLL);
    struct cintio_done done[8];

    for (unsigned i = 0; i < 100; i++) {
        push(q, 8);
        g_assert_cmpint(cintio_ring(q), ==, 0);
        fake_complete_some(fake, 1, 8);
        g_assert_cmpint(cintio_complete(q, done, 8, 8, CINTIO_FOREVER), ==, 8);
    }
    g_assert_cmpuint(fake->cq[1].messages, <=, 1);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* So is a queue that was polled before its policy knew the pointer. */
static void test_polled_before_the_policy(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_DEFAULT);
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_POLL);
    struct cintio_done done[8];

    g_assert_cmpint(cintio_queue_set_policy(q, CINTIO_POLICY_POINTER, &err),
                    ==, 0);
    for (unsigned i = 0; i < 100; i++) {
        push(q, 8);
        g_assert_cmpint(cintio_ring(q), ==, 0);
        fake_complete_some(fake, 1, 8);
        g_assert_cmpint(cintio_complete(q, done, 8, 8, CINTIO_FOREVER), ==, 8);
    }
    g_assert_cmpuint(fake->cq[1].messages, <=, 1);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* --- time --------------------------------------------------------------- */

static void test_timeout(void)
{
    static const enum cintio_mode modes[] = {
        CINTIO_POLL, CINTIO_SLEEP, CINTIO_SLEEP_ADAPTIVE, CINTIO_INTERRUPT,
        CINTIO_COALESCED,
    };
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_POLL);
    struct cintio_done done[8];

    push(q, 2);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(modes); i++) {
        uint64_t start = cintio_now();

        g_assert_cmpint(cintio_queue_set_mode(q, modes[i], 100, &err), ==, 0);
        g_assert_cmpint(cintio_complete(q, done, 2, 8, 2000000), ==, 0);
        g_assert_cmpuint(cintio_now() - start, >=, 2000000);
    }
    fake_complete_some(fake, 1, 1);
    g_assert_cmpint(cintio_complete(q, done, 2, 8, 1000000), ==, 1);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* Sleep, then poll: not before its time, and adaptive follows what it sees. */
static void test_sleep_then_poll(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_DEFAULT);
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_SLEEP);
    struct cintio_done done[8];
    uint64_t start = cintio_now();

    g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_SLEEP, 3000000, &err), ==,
                    0);
    push(q, 1);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, 1, 1);
    g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==, 1);
    g_assert_cmpuint(cintio_now() - start, >=, 3000000);
    g_assert_cmpuint(q->sleeps, ==, 1);

    g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_SLEEP_ADAPTIVE, 0, &err),
                    ==, 0);
    for (unsigned i = 0; i < 20; i++) {
        push(q, 1);
        g_assert_cmpint(cintio_ring(q), ==, 0);
        usleep(1000);
        fake_complete_some(fake, 1, 1);
        g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==, 1);
    }
    g_assert_cmpuint(q->mean_ns, >=, 900000);
    start = cintio_now();
    push(q, 1);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, 1, 1);
    g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==, 1);
    g_assert_cmpuint(cintio_now() - start, >=, 450000);
    /* whose time is over nobody sleeps for: half the mean, from its push */
    q->mean_ns = 20000000;
    q->sleeps = 0;
    push(q, 1);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    usleep(12000);
    fake_complete_some(fake, 1, 1);
    g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==, 1);
    g_assert_cmpuint(q->sleeps, ==, 0);
    cintio_queue_destroy(q);
    fake_free(fake);
}

static void ignore(int number)
{
    (void)number;
}

/* Neither a signal nor the look after the controller cuts a sleep short. */
static void test_sleep_is_whole(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_DEFAULT);
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_SLEEP);
    struct sigaction action = { .sa_handler = ignore }, before;
    struct itimerval soon = { .it_value = { .tv_usec = 20000 } };
    uint64_t start = cintio_now();
    struct cintio_done done;

    g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_SLEEP, 1200000000, &err),
                    ==, 0);
    push(q, 1);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, 1, 1);
    g_assert_cmpint(sigaction(SIGALRM, &action, &before), ==, 0);
    g_assert_cmpint(setitimer(ITIMER_REAL, &soon, NULL), ==, 0);
    g_assert_cmpint(cintio_complete(q, &done, 1, 1, CINTIO_FOREVER), ==, 1);
    g_assert_cmpuint(cintio_now() - start, >=, 1200000000);
    g_assert_cmpuint(q->sleeps, ==, 1);
    g_assert_cmpint(sigaction(SIGALRM, &before, NULL), ==, 0);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* Of two, the older one ends: the time to sleep for is the other's. */
static void test_sleep_for_the_oldest(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_DEFAULT);
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_SLEEP);
    struct cintio_done done[8];
    uint64_t start;

    g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_SLEEP, 20000000, &err), ==,
                    0);
    push(q, 1);
    usleep(20000);
    start = cintio_now();
    push(q, 1);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, 1, 1);
    g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==, 1);
    fake_complete_some(fake, 1, 1);
    g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==, 1);
    g_assert_cmpuint(cintio_now() - start, >=, 20000000);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* --- somebody else wakes it --------------------------------------------- */

typedef struct Sleeper {
    struct cintio_queue *q;
    int result;
} Sleeper;

static void *sleep_for_ever(void *opaque)
{
    Sleeper *sleeper = opaque;
    struct cintio_done done[8];

    sleeper->result = cintio_complete(sleeper->q, done, 1, 8, CINTIO_FOREVER);
    return NULL;
}

/* A reset ends each kind of wait, whenever it comes. */
static void test_reset_wakes(void)
{
    static const enum cintio_mode modes[] = {
        CINTIO_POLL, CINTIO_INTERRUPT, CINTIO_COALESCED,
    };

    for (unsigned i = 0; i < 3 * 20; i++) {
        FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
        Sleeper sleeper = { queue_of(fake, 16, modes[i % 3]), 0 };
        GThread *thread;

        push(sleeper.q, 2);
        g_assert_cmpint(cintio_ring(sleeper.q), ==, 0);
        thread = g_thread_new("sleeper", sleep_for_ever, &sleeper);
        usleep(i * 20);
        g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
        g_thread_join(thread);
        g_assert_cmpint(sleeper.result, ==, -ESTALE);
        cintio_queue_destroy(sleeper.q);
        fake_free(fake);
    }
}

/* Another thread's reset has come so far when this one reads CSTS. */
static void half_a_reset(FakeNvme *fake, uint32_t offset)
{
    if (offset == NVME_REG_CSTS) {
        fake->meanwhile = NULL;
        atomic_fetch_add(&fake->dev->generation, 1);
        cintio_write32(fake->dev, NVME_REG_CC, 0);
    }
}

/* Who looks after the controller while it is not ready is told of the reset. */
static void test_reset_while_watched(void)
{
    static const enum cintio_mode modes[] = {
        CINTIO_POLL, CINTIO_INTERRUPT, CINTIO_COALESCED, CINTIO_SLEEP,
    };

    for (unsigned i = 0; i < 4; i++) {
        FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
        struct cintio_queue *q = queue_of(fake, 16, modes[i]);
        struct cintio_done done;

        push(q, 1);
        g_assert_cmpint(cintio_ring(q), ==, 0);
        fake->meanwhile = half_a_reset;
        /* of those that sleep, the first second without an event */
        g_assert_cmpint(cintio_complete(q, &done, 1, 1, CINTIO_FOREVER), ==,
                        -ESTALE);
        g_assert_null(fake->meanwhile);
        g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
        cintio_queue_destroy(q);
        fake_free(fake);
    }
}

/* The controller is reset between the pointer and the look. */
static bool reset_once(void *opaque, struct cintio_queue *q,
                       enum cintio_step step)
{
    FakeNvme *fake = opaque;

    if (step == CINTIO_STEP_ARMED && !atomic_load(&fake->dev->generation)) {
        g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    }
    return false;
}

/*
 * Nobody goes to sleep whose wake-up was taken away with the interrupt's; nor
 * does anybody look at a record that the reset has taken away.
 */
static void test_reset_between(void)
{
    static const enum cintio_mode modes[] = {
        CINTIO_INTERRUPT, CINTIO_COALESCED,
    };

    for (unsigned i = 0; i < 4; i++) {
        FakeNvme *fake;
        struct cintio_queue *q;
        struct cintio_done done;

        records = i & 2;
        fake = started(NVME_CINT_POLICY_POINTER);
        records = false;
        q = queue_of(fake, 16, modes[i & 1]);
        push(q, 2);
        cintio_queue_watch(q, reset_once, fake);
        g_assert_cmpint(cintio_complete(q, &done, 1, 1, CINTIO_FOREVER), ==,
                        -ESTALE);
        g_assert_cmpuint(q->sleeps, ==, 0);
        cintio_queue_destroy(q);
        fake_free(fake);
    }
}

static void *wait_for_event(void *opaque)
{
    struct nvme_sqe sqe = { .opcode = 0x0c };   /* Asynchronous Event Request */
    struct cintio_error ignored;
    FakeNvme *fake = opaque;

    return GINT_TO_POINTER(cintio_admin(fake->dev, &sqe, NULL, 0, NULL,
                                        &ignored));
}

static void *create_queue(void *opaque)
{
    struct cintio_error ignored;
    struct cintio_queue *q;
    FakeNvme *fake = opaque;
    int ret = cintio_queue_create(fake->dev, NULL, &q, &ignored);

    if (!ret) {
        cintio_queue_destroy(q);
    }
    return GINT_TO_POINTER(ret);
}

/* A controller with an event that does not come, and a thread's wait for it. */
static GThread *waiting_for_event(FakeNvme *fake)
{
    const struct cintio_options options = { .timeout_ms = 600000 };
    GThread *event;

    fake->ignored = 0x0c;
    g_assert_cmpint(fake_start(fake, &options, &err), ==, 0);
    event = g_thread_new("event", wait_for_event, fake);
    while (!__atomic_load_n(&fake->unanswered, __ATOMIC_ACQUIRE)) {
        usleep(100);
    }
    return event;
}

/* Nor does anybody wait for another one's command. */
static void test_commands_side_by_side(void)
{
    struct nvme_sqe identify = {
        .opcode = NVME_ADMIN_IDENTIFY, .cdw10 = NVME_CNS_CONTROLLER,
    };
    const struct cintio_namespace *ns;
    uint8_t page[NVME_PAGE] = { 0 };
    FakeNvme *fake = fake_new();
    GThread *event = waiting_for_event(fake);

    for (unsigned i = 0; i < 100; i++) {
        g_assert_cmpint(GPOINTER_TO_INT(create_queue(fake)), ==, 0);
        g_assert_cmpint(cintio_admin(fake->dev, &identify, page, sizeof(page),
                                     NULL, &err), ==, 0);
        g_assert_cmpint(cintio_namespace_open(fake->dev, 1, &ns, &err), ==, 0);
    }
    g_assert_cmpint(page[24], !=, 0);           /* the model's name */
    g_assert_cmpuint(fake->unanswered, ==, 1);
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(event)), ==, -ESTALE);
    fake_free(fake);
}

typedef struct {
    FakeNvme *fake;
    uint8_t cns, page[NVME_PAGE];
} Question;

static void *identify(void *opaque)
{
    Question *question = opaque;
    struct nvme_sqe sqe = {
        .opcode = NVME_ADMIN_IDENTIFY, .nsid = 1, .cdw10 = question->cns,
    };
    struct cintio_error ignored;

    return GINT_TO_POINTER(cintio_admin(question->fake->dev, &sqe,
                                        question->page, NVME_PAGE, NULL,
                                        &ignored));
}

static uint32_t admin_tail(FakeNvme *fake)
{
    g_autoptr(GRecMutexLocker) alone G_GNUC_UNUSED =
        g_rec_mutex_locker_new(&fake->lock);

    return fake->sq[0].tail;
}

/* Each of those that are answered together has its own data. */
static void test_answers_side_by_side(void)
{
    FakeNvme *fake = fake_new();
    Question questions[] = {
        { .fake = fake, .cns = NVME_CNS_CONTROLLER },
        { .fake = fake, .cns = NVME_CNS_NAMESPACE },
    };
    GThread *threads[2];
    uint64_t blocks;
    uint32_t tail;

    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    fake->stuck = true;
    for (unsigned i = 0; i < 2; i++) {
        tail = admin_tail(fake);
        threads[i] = g_thread_new("identify", identify, &questions[i]);
        while (admin_tail(fake) == tail) {
            usleep(100);
        }
    }
    fake_answer(fake);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(threads[i])), ==, 0);
    }
    g_assert_cmpint(questions[0].page[24], !=, 0);  /* the model's name */
    memcpy(&blocks, questions[1].page, sizeof(blocks));
    g_assert_cmpuint(blocks, ==, FAKE_BLOCKS);
    fake_free(fake);
}

/* A command that is not answered ends when somebody resets the controller. */
static void test_reset_waits_for_nobody(void)
{
    FakeNvme *fake = fake_new();
    GThread *event = waiting_for_event(fake), *creator;
    int ret;

    creator = g_thread_new("creator", create_queue, fake);
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(event)), ==, -ESTALE);
    ret = GPOINTER_TO_INT(g_thread_join(creator));
    g_assert_true(!ret || ret == -ESTALE);
    /* and the next one finds the controller as it should be */
    g_assert_cmpint(GPOINTER_TO_INT(create_queue(fake)), ==, 0);
    fake_free(fake);
}

static bool time_passes(void *opaque, struct cintio_queue *q,
                        enum cintio_step step)
{
    if (step == CINTIO_STEP_ARMED) {
        fake_deadline(opaque, q->id);
    }
    return false;
}

/* All completes and is told of once nothing is left in the eventfd. */
static bool complete_when_slept(void *opaque, struct cintio_queue *q,
                                enum cintio_step step)
{
    if (step == CINTIO_STEP_SLEEPS && !fake_is_signalled(opaque, q->id)) {
        fake_complete_some(opaque, q->id, UINT_MAX);
        fake_deadline(opaque, q->id);
    }
    return false;
}

/* An interrupt tells of entries that were passed over, and of no new one. */
static void test_told_between(void)
{
    FakeNvme *fake;
    struct cintio_queue *q;
    struct cintio_done done[4];

    records = true;
    fake = started(NVME_CINT_POLICY_CINT);
    records = false;
    q = queue_of(fake, 16, CINTIO_INTERRUPT);
    push(q, 3);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, q->id, 2);
    cintio_queue_watch(q, time_passes, fake);
    g_assert_cmpint(cintio_complete(q, done, 2, 4, CINTIO_FOREVER), ==, 2);
    g_assert_cmpuint(q->sleeps, ==, 0);
    /* it stays until somebody sleeps, whom it costs an early return */
    g_assert_cmpuint(q->interrupts, ==, 0);
    g_assert_true(fake_is_signalled(fake, q->id));
    cintio_queue_watch(q, complete_when_slept, fake);
    g_assert_cmpint(cintio_complete(q, done, 1, 4, CINTIO_FOREVER), ==, 1);
    g_assert_cmpuint(q->sleeps, ==, 2);
    g_assert_cmpuint(q->interrupts, ==, 2);
    g_assert_false(fake_is_signalled(fake, q->id));
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* --- patience ----------------------------------------------------------- */

#define HOUR_NS UINT64_C(3600000000000)

static void *complete_soon(void *opaque)
{
    usleep(2000);
    fake_complete_some(opaque, 1, 1);
    return NULL;
}

/* Who slept for no longer than it may look for looks first, and sleeps not. */
static void test_spins(void)
{
    static const enum cintio_mode modes[] = {
        CINTIO_INTERRUPT, CINTIO_COALESCED,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(modes); i++) {
        FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
        struct cintio_queue *q = queue_of(fake, 16, modes[i]);
        struct cintio_done done[8];
        GThread *thread;

        cintio_queue_set_patience(q, HOUR_NS, 0);
        cintio_queue_watch(q, complete_when_slept, fake);
        push(q, 1);
        g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==, 1);
        g_assert_cmpuint(q->sleeps, ==, 1);

        push(q, 1);
        g_assert_cmpint(cintio_ring(q), ==, 0);
        thread = g_thread_new("device", complete_soon, fake);
        g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==, 1);
        g_thread_join(thread);
        g_assert_cmpuint(q->sleeps, ==, 1);
        g_assert_cmpuint(q->arms, ==, modes[i] == CINTIO_COALESCED);

        /* in vain once, and it sleeps until a sleep is short again */
        cintio_queue_set_patience(q, 1, 0);
        q->slept_short = true;
        push(q, 1);
        g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==, 1);
        g_assert_cmpuint(q->sleeps, >=, 2);
        g_assert_false(q->slept_short);
        cintio_queue_destroy(q);
        fake_free(fake);
    }
}

/* A reset ends it, as it ends a sleep. */
static void test_spin_ends(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    Sleeper sleeper = { queue_of(fake, 16, CINTIO_COALESCED), -1 };
    GThread *thread;

    cintio_queue_set_patience(sleeper.q, HOUR_NS, 0);
    sleeper.q->slept_short = true;
    push(sleeper.q, 1);
    g_assert_cmpint(cintio_ring(sleeper.q), ==, 0);
    thread = g_thread_new("sleeper", sleep_for_ever, &sleeper);
    usleep(2000);
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_thread_join(thread);
    g_assert_cmpint(sleeper.result, ==, -ESTALE);
    g_assert_cmpuint(sleeper.q->sleeps, ==, 0);
    cintio_queue_destroy(sleeper.q);
    fake_free(fake);
}

/* As many as are waited for now, beyond the head; all of these come. */
static bool count_waited(void *opaque, struct cintio_queue *q,
                         enum cintio_step step)
{
    unsigned *waited = opaque;

    if (step == CINTIO_STEP_SLEEPS) {
        *waited = q->target - q->head.count;
        fake_complete_some(q->dev->carrier, q->id, *waited);
    }
    return false;
}

/* Sleeps on for those that come in time, but for an eighth of them at most. */
static void test_gathers(void)
{
    static const struct {
        unsigned outstanding, min;
        uint64_t gather_ns, gap_ns;
        unsigned waited;
    } cases[] = {
        { 63, 1, 0, 100, 1 }, { 63, 1, 1000, 0, 1 },
        { 63, 1, 1000, 100, 7 }, { 63, 1, 1000, 300, 3 },
        { 63, 1, 1000, 1001, 1 }, { 63, 5, 1000, 300, 5 },
        { 40, 1, 1000, 100, 5 }, { 15, 1, 1000, 100, 1 },
        { 7, 1, 1000, 100, 1 }, { 7, 9, 1000, 100, 7 },
    };
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue *q = queue_of(fake, 64, CINTIO_COALESCED);
    struct cintio_done done[64];
    unsigned waited;

    cintio_queue_watch(q, count_waited, &waited);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        cintio_queue_set_patience(q, 0, cases[i].gather_ns);
        q->gap_ns = cases[i].gap_ns;
        push(q, cases[i].outstanding);
        waited = 0;
        g_assert_cmpint(cintio_complete(q, done, cases[i].min, 64,
                                        CINTIO_FOREVER), ==,
                        (int)cases[i].waited);
        g_assert_cmpuint(waited, ==, cases[i].waited);
        fake_complete_some(fake, 1, 64);
        while (cintio_outstanding(q)) {
            cintio_complete(q, done, 0, 64, 0);
        }
    }
    cintio_queue_destroy(q);
    fake_free(fake);
}

static bool complete_only_one(void *opaque, struct cintio_queue *q,
                              enum cintio_step step)
{
    if (step == CINTIO_STEP_SLEEPS && fake_inflight(opaque, q->id) == 63) {
        fake_complete_some(opaque, q->id, 1);
    }
    return false;
}

/* They come at a rate; where they cease to, nobody waits for more for long. */
static void test_gathers_in_time(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue *q = queue_of(fake, 64, CINTIO_COALESCED);
    struct cintio_done done[64];
    uint64_t told;

    cintio_queue_set_patience(q, 0, 2000000);
    push(q, 63);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    for (unsigned i = 0; i < 5; i++) {
        fake_complete_some(fake, 1, 4);
        g_assert_cmpint(cintio_complete(q, done, 4, 64, 0), ==, 4);
        usleep(400);
    }
    push(q, 20);
    g_assert_cmpint(cintio_complete(q, done, 0, 64, 0), ==, 0);
    g_assert_cmpuint(q->gap_ns, >=, 100000);
    q->gap_ns = 100000;         /* however busy this machine is */
    (void)!read(q->eventfd, &told, sizeof(told));   /* of what was taken */
    cintio_queue_watch(q, complete_only_one, fake);
    g_assert_cmpint(cintio_complete(q, done, 1, 64, CINTIO_FOREVER), ==, 1);
    g_assert_cmpuint(q->gap_ns, ==, 0);
    g_assert_cmpuint(fake_inflight(fake, 1), ==, 62);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* Another thread ends a wait, with what there is, or the next one. */
static void test_woken(void)
{
    static const enum cintio_mode modes[] = {
        CINTIO_INTERRUPT, CINTIO_COALESCED,
    };
    struct cintio_done done[8];

    for (unsigned i = 0; i < 2 * 20; i++) {
        FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
        struct cintio_queue *q = queue_of(fake, 16, modes[i % 2]);
        Sleeper sleeper = { q, -1 };
        GThread *thread;

        push(q, 2);
        g_assert_cmpint(cintio_ring(q), ==, 0);
        thread = g_thread_new("sleeper", sleep_for_ever, &sleeper);
        usleep(i * 20);
        cintio_queue_wake(q);
        g_thread_join(thread);
        g_assert_cmpint(sleeper.result, ==, 0);
        g_assert_cmpuint(q->interrupts, ==, 0);
        fake_complete_some(fake, 1, 2);
        g_assert_cmpint(cintio_complete(q, done, 2, 8, CINTIO_FOREVER), ==, 2);
        /* that one, and no other */
        push(q, 1);
        cintio_queue_watch(q, complete_when_slept, fake);
        g_assert_cmpint(cintio_complete(q, done, 1, 8, CINTIO_FOREVER), ==, 1);
        cintio_queue_destroy(q);
        fake_free(fake);
    }
}

static void test_arm(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue_options polled = { .no_interrupts = true };
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_POLL), *none;
    struct cintio_done done[8];

    g_assert_cmpint(cintio_queue_create(fake->dev, &polled, &none, &err), ==,
                    0);
    g_assert_cmpint(cintio_queue_fd(none), ==, -ENOTSUP);
    g_assert_cmpint(cintio_queue_arm(none, 1), ==, -EINVAL);
    cintio_queue_destroy(none);
    g_assert_cmpint(cintio_queue_fd(q), >=, 0);
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, -EINVAL);
    g_assert_nonnull(strstr(cintio_queue_error(q), "interrupt or coalesced"));
    g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_COALESCED, 0, &err), ==, 0);
    /* it rings, and asks for one where none are named, and for all at most */
    g_assert_cmpint(cintio_queue_arm(q, 0), ==, 0);
    push(q, 2);
    g_assert_cmpint(cintio_queue_arm(q, 0), ==, 0);
    g_assert_cmpuint(fake_inflight(fake, 1), ==, 2);
    fake_complete_some(fake, 1, 1);
    g_assert_true(fake_is_signalled(fake, 1));
    g_assert_cmpint(cintio_queue_arm(q, 9), ==, 1);
    g_assert_false(fake_is_signalled(fake, 1));
    g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, 1);
    g_assert_cmpint(cintio_queue_arm(q, 9), ==, 0);
    fake_complete_some(fake, 1, 1);
    g_assert_true(fake_is_signalled(fake, 1));
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, 1);
    g_assert_cmpint(cintio_complete(q, done, 0, 8, 0), ==, 1);
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, 0);
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
    g_assert_true(fake_is_signalled(fake, 1));
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, -ESTALE);
    cintio_queue_destroy(q);
    fake_free(fake);
    /* also where the reset comes between */
    fake = started(NVME_CINT_POLICY_POINTER);
    q = queue_of(fake, 16, CINTIO_COALESCED);
    push(q, 1);
    cintio_queue_watch(q, reset_once, fake);
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, -ESTALE);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* --- many at a time ----------------------------------------------------- */

static unsigned ready_of(struct cintio_group *group, uint64_t timeout_ns,
                         struct cintio_ready *ready)
{
    int n = cintio_group_wait(group, 2, ready, 8, timeout_ns, &err);

    g_assert_cmpint(n, >=, 0);
    return n;
}

/* Queues of two controllers, and a foreign fd. */
static void test_group(void)
{
    FakeNvme *fakes[2] = {
        started(NVME_CINT_POLICY_POINTER), started(NVME_CINT_POLICY_POINTER),
    };
    struct cintio_queue *q[4];
    struct cintio_ready ready[8];
    struct cintio_done done[8];
    struct cintio_group *group;
    int foreign = eventfd(0, EFD_NONBLOCK), name;
    uint64_t one = 1, start;

    g_assert_cmpint(cintio_group_create(&group, &err), ==, 0);
    for (unsigned i = 0; i < 4; i++) {
        q[i] = queue_of(fakes[i / 2], 16, i % 2 ? CINTIO_COALESCED
                                                : CINTIO_INTERRUPT);
        g_assert_cmpint(cintio_group_add(group, q[i], &q[i], &err), ==, 0);
        push(q[i], 4);
    }
    g_assert_cmpint(cintio_group_add(group, q[0], NULL, &err), ==, -EEXIST);
    g_assert_nonnull(strstr(err.text, "is in the group"));
    g_assert_cmpint(cintio_group_add_fd(group, foreign, POLLIN, &name, &err),
                    ==, 0);
    g_assert_cmpint(cintio_group_wait(group, 1, ready, 0, 0, &err), ==,
                    -EINVAL);
    /* nothing: only time passes */
    start = cintio_now();
    g_assert_cmpuint(ready_of(group, 2000000, ready), ==, 0);
    g_assert_cmpuint(cintio_now() - start, >=, 2000000);
    g_assert_cmpuint(fake_inflight(fakes[1], 2), ==, 4);

    fake_complete_some(fakes[1], 2, 1);
    g_assert_cmpuint(ready_of(group, 0, ready), ==, 0);
    fake_complete_some(fakes[1], 2, 1);
    g_assert_cmpuint(ready_of(group, CINTIO_FOREVER, ready), ==, 1);
    g_assert_true(ready[0].queue == q[3] && ready[0].opaque == &q[3]);
    g_assert_cmpint(cintio_complete(q[3], done, 0, 8, 0), ==, 2);
    /* one at the next, one at the last of two, and the fd */
    fake_complete_some(fakes[0], 1, 1);
    fake_complete_some(fakes[1], 2, 2);
    g_assert_cmpint(write(foreign, &one, 8), ==, 8);
    g_assert_cmpint(cintio_group_wait(group, 2, ready, 2, CINTIO_FOREVER, &err),
                    ==, 2);
    g_assert_cmpuint(ready_of(group, CINTIO_FOREVER, ready), ==, 3);
    /* the one there was no room for comes first */
    g_assert_true(ready[0].queue == q[0] && ready[2].queue == q[3]);
    g_assert_true(!ready[1].queue && ready[1].opaque == &name);
    g_assert_cmpint(ready[1].fd, ==, foreign);
    g_assert_cmpuint(ready[1].events, ==, POLLIN);
    cintio_group_remove_fd(group, foreign);
    cintio_group_remove(group, q[3]);
    g_assert_cmpint(cintio_complete(q[0], done, 0, 8, 0), ==, 1);
    g_assert_cmpuint(ready_of(group, 0, ready), ==, 0);

    cintio_group_wake(group);
    g_assert_cmpuint(ready_of(group, CINTIO_FOREVER, ready), ==, 0);
    /* a message that is lost is found, late */
    fakes[0]->cq[2].masked = true;
    fake_complete_some(fakes[0], 2, 1);
    g_assert_cmpuint(ready_of(group, CINTIO_FOREVER, ready), ==, 1);
    g_assert_true(ready[0].queue == q[1]);
    g_assert_cmpint(cintio_complete(q[1], done, 0, 8, 0), ==, 1);

    g_assert_cmpint(cintio_reset(fakes[0]->dev, &err), ==, 0);
    g_assert_cmpuint(ready_of(group, CINTIO_FOREVER, ready), ==, 2);
    g_assert_cmpint(ready[0].result, ==, -ESTALE);
    cintio_group_destroy(group);
    close(foreign);
    for (unsigned i = 0; i < 4; i++) {
        cintio_queue_destroy(q[i]);
    }
    fake_free(fakes[0]);
    fake_free(fakes[1]);
}

/* Whoever was woken, and asks again before he takes what there is, is told. */
static void test_arm_woken(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_COALESCED);
    struct cintio_done done;

    push(q, 2);
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, 0);
    cintio_queue_wake(q);
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, 1);
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, 1);
    g_assert_cmpint(cintio_complete(q, &done, 0, 1, 0), ==, 0);
    g_assert_cmpint(cintio_queue_arm(q, 1), ==, 0);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* Who has room for fewer than are ready hears of each in turn. */
static void test_group_in_turn(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue *q[4];
    struct cintio_ready ready[3];
    struct cintio_group *group;
    unsigned told[4] = { 0 };

    g_assert_cmpint(cintio_group_create(&group, &err), ==, 0);
    for (unsigned i = 0; i < 4; i++) {
        q[i] = queue_of(fake, 4, CINTIO_COALESCED);
        g_assert_cmpint(cintio_group_add(group, q[i], &told[i], &err), ==, 0);
        push(q[i], 1);
        g_assert_cmpint(cintio_ring(q[i]), ==, 0);
        fake_complete_some(fake, q[i]->id, 1);
    }
    for (unsigned max = 1; max < 4; max++) {
        for (unsigned n = 0; n < 4 * max; n += max) {
            g_assert_cmpint(cintio_group_wait(group, 1, ready, max,
                                              CINTIO_FOREVER, &err), ==, max);
            for (unsigned i = 0; i < max; i++) {
                ++*(unsigned *)ready[i].opaque;
            }
        }
        for (unsigned i = 0; i < 4; i++) {
            g_assert_cmpuint(told[i], ==, max);
            told[i] = 0;
        }
    }
    cintio_group_destroy(group);
    for (unsigned i = 0; i < 4; i++) {
        cintio_queue_destroy(q[i]);
    }
    fake_free(fake);
}

/* An event that epoll tells of once is kept until there is room for it. */
static void test_group_told_once(void)
{
    static const uint32_t events[] = {
        EPOLLIN | EPOLLET, EPOLLIN | EPOLLONESHOT, EPOLLIN,
    };
    struct cintio_ready ready[3];
    struct cintio_group *group;
    int fds[3], over = eventfd(1, 0);
    uint64_t one = 1;

    g_assert_cmpint(cintio_group_create(&group, &err), ==, 0);
    for (unsigned i = 0; i < 3; i++) {
        fds[i] = eventfd(1, 0);
        g_assert_cmpint(cintio_group_add_fd(group, fds[i], events[i], NULL,
                                            &err), ==, 0);
    }
    for (int i = 2; i >= 0; i--) {
        g_assert_cmpint(cintio_group_wait(group, 1, ready, 1, 0, &err), ==, 1);
        g_assert_cmpint(ready[0].fd, ==, fds[i]);
        g_assert_cmpuint(ready[0].events, ==, EPOLLIN);
        if (i == 2) {
            g_assert_cmpint(read(fds[i], &one, 8), ==, 8);
        }
    }
    g_assert_cmpuint(ready_of(group, 0, ready), ==, 0);
    /* one that is not told of again is over */
    g_assert_cmpint(cintio_group_add_fd(group, over, EPOLLIN | EPOLLOUT, NULL,
                                        &err), ==, 0);
    g_assert_cmpuint(ready_of(group, 0, ready), ==, 1);
    g_assert_cmpuint(ready[0].events, ==, EPOLLIN | EPOLLOUT);
    g_assert_cmpint(read(over, &one, 8), ==, 8);
    g_assert_cmpuint(ready_of(group, 0, ready), ==, 1);
    g_assert_cmpuint(ready[0].events, ==, EPOLLOUT);
    cintio_group_remove_fd(group, over);
    /* once more, of the one whose events go on */
    g_assert_cmpint(write(fds[0], &one, 8), ==, 8);
    g_assert_cmpint(write(fds[1], &one, 8), ==, 8);
    g_assert_cmpint(cintio_group_wait(group, 1, ready, 3, 0, &err), ==, 1);
    g_assert_cmpint(ready[0].fd, ==, fds[0]);
    cintio_group_destroy(group);
    close(over);
    for (unsigned i = 0; i < 3; i++) {
        close(fds[i]);
    }
}

/* One completes, and its interrupt is due at once. */
static bool complete_one(void *opaque, struct cintio_queue *q,
                         enum cintio_step step)
{
    if (step == CINTIO_STEP_SLEEPS && !fake_is_signalled(opaque, q->id)) {
        fake_complete_some(opaque, q->id, 1);
        fake_deadline(opaque, q->id);
    }
    return false;
}

/*
 * A record that nobody writes any more, or whose count stands still, makes
 * nobody sleep for ever: what an interrupt came for and no record tells of is
 * taken, and one that does not even count interrupts is believed no more after
 * the eighth in a row.
 */
static void test_records_cease(void)
{
    static const CintPolicy policies[] = {
        NVME_CINT_POLICY_CINT, NVME_CINT_POLICY_DEFAULT,
        NVME_CINT_POLICY_POINTER,
    };

    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(policies); i++) {
        CintPolicy policy = policies[i / 2];
        FakeNvme *fake;
        struct cintio_queue *q;
        struct cintio_done done[4];

        records = true;
        fake = started(policy);
        records = false;
        q = queue_of(fake, 16, policy == NVME_CINT_POLICY_POINTER ?
                     CINTIO_COALESCED : CINTIO_INTERRUPT);
        cintio_queue_watch(q, complete_one, fake);
        for (unsigned n = 0; n < 40; n++) {
            fake->lying = n >= 20 && i % 2;
            fake->frozen = n >= 20 && !(i % 2);
            push(q, 1);
            g_assert_cmpint(cintio_complete(q, done, 1, 4, CINTIO_FOREVER), ==,
                            1);
            g_assert_cmpuint(q->interrupts, ==, fake->cq[1].messages);
            g_assert_cmpuint(q->doubts, ==, !fake->frozen ? 0 :
                             MIN(n - 19, CINTIO_MAX_DOUBTS));
        }
        g_assert_cmpuint(q->sleeps, ==, 40);
        cintio_queue_destroy(q);
        fake_free(fake);
    }
}

/* Interrupts that the record counts, with Urgent entries, release nothing. */
static void test_records_explain(void)
{
    struct cintio_io io = { .op = CINTIO_FLUSH, .hints = CINTIO_URGENT };
    FakeNvme *fake = fake_new();
    struct cintio_queue *q;
    struct cintio_done done[4];

    fake->config.policy = NVME_CINT_POLICY_CINT;
    fake->config.drain = CINT_OFF;
    fake->config.thr = 100;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpint(cintio_records(fake->dev, true, &err), ==, 0);
    q = queue_of(fake, 16, CINTIO_INTERRUPT);
    push(q, 1);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, 1, 1);
    for (unsigned n = 0; n < 10; n++) {
        io.cookie = n;
        g_assert_cmpint(cintio_push(q, &io), ==, 0);
        cintio_queue_watch(q, complete_then_sleep, fake);
        g_assert_cmpint(cintio_complete(q, done, 1, 4, CINTIO_FOREVER), ==, 1);
        g_assert_cmpuint(done[0].cookie, ==, n);
        g_assert_cmpuint(cintio_outstanding(q), ==, 1);
    }
    g_assert_cmpuint(q->interrupts, ==, 10);
    g_assert_cmpuint(q->doubts, ==, 0);
    /* somebody else's wake-up is no interrupt, and is not to be explained */
    cintio_queue_wake(q);
    g_assert_cmpint(cintio_complete(q, done, 1, 4, 1000000), ==, 0);
    g_assert_cmpuint(q->interrupts, ==, 10);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* An Urgent one, and then a plain one that no record tells of any more. */
static bool cease_behind_urgent(void *opaque, struct cintio_queue *q,
                                enum cintio_step step)
{
    FakeNvme *fake = opaque;

    if (step == CINTIO_STEP_SLEEPS && !fake->frozen) {
        fake_complete_some(fake, q->id, 1);
        fake->frozen = true;
        fake_complete_some(fake, q->id, 1);
        fake_deadline(fake, q->id);
    }
    return false;
}

/* One wake-up for two interrupts, of which the record has counted one. */
static void test_records_cease_between(void)
{
    struct cintio_io io = { .op = CINTIO_FLUSH, .hints = CINTIO_URGENT };
    struct cintio_queue *q;
    struct cintio_done done[4];
    FakeNvme *fake;

    records = true;
    fake = started(NVME_CINT_POLICY_CINT);
    records = false;
    q = queue_of(fake, 16, CINTIO_INTERRUPT);
    g_assert_cmpint(cintio_push(q, &io), ==, 0);
    push(q, 1);
    cintio_queue_watch(q, cease_behind_urgent, fake);
    g_assert_cmpint(cintio_complete(q, done, 2, 4, CINTIO_FOREVER), ==, 2);
    g_assert_cmpuint(q->sleeps, ==, 1);
    g_assert_cmpuint(q->interrupts, ==, 2);
    g_assert_cmpuint(q->doubts, ==, 1);
    /* one that is counted again dispels it */
    fake->frozen = false;
    push(q, 1);
    cintio_queue_watch(q, complete_one, fake);
    g_assert_cmpint(cintio_complete(q, done, 1, 4, CINTIO_FOREVER), ==, 1);
    g_assert_cmpuint(q->doubts, ==, 0);
    cintio_queue_destroy(q);
    fake_free(fake);
}

static FakeNvme *with_removal(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);

    fake->dev->removal = eventfd(0, EFD_NONBLOCK);
    return fake;
}

static void ask_for(FakeNvme *fake)
{
    uint64_t one = 1;

    g_assert_cmpint(write(fake->dev->removal, &one, 8), ==, 8);
}

static void test_removal_wakes(void)
{
    static const enum cintio_mode modes[] = {
        CINTIO_POLL, CINTIO_INTERRUPT, CINTIO_COALESCED,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(modes); i++) {
        FakeNvme *fake = with_removal();
        Sleeper sleeper = { queue_of(fake, 16, modes[i]), 0 };
        GThread *thread;

        push(sleeper.q, 2);
        thread = g_thread_new("sleeper", sleep_for_ever, &sleeper);
        usleep(1000);
        ask_for(fake);
        g_thread_join(thread);
        g_assert_cmpint(sleeper.result, ==, -ENODEV);
        g_assert_nonnull(strstr(cintio_queue_error(sleeper.q),
                                "asks for fake"));
        cintio_queue_destroy(sleeper.q);
        fake_free(fake);
    }
}

static void *wait_in_group(void *opaque)
{
    struct cintio_ready ready[2];

    return GINT_TO_POINTER(cintio_group_wait(opaque, 1, ready, 2,
                                             CINTIO_FOREVER, &err) == 1 ?
                           ready[0].result : 0);
}

/* In a group, too: within the second that it sleeps for at most. */
static void test_removal_in_a_group(void)
{
    FakeNvme *fake = with_removal();
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_COALESCED);
    struct cintio_group *group;
    GThread *thread;

    g_assert_cmpint(cintio_group_create(&group, &err), ==, 0);
    g_assert_cmpint(cintio_group_add(group, q, NULL, &err), ==, 0);
    push(q, 2);
    thread = g_thread_new("sleeper", wait_in_group, group);
    usleep(1000);
    ask_for(fake);
    g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(thread)), ==, -ENODEV);
    g_assert_nonnull(strstr(cintio_queue_error(q), "asks for fake"));
    cintio_group_destroy(group);
    cintio_queue_destroy(q);
    fake_free(fake);
}

static void reset_it(FakeNvme *fake)
{
    g_assert_cmpint(cintio_reset(fake->dev, &err), ==, 0);
}

static void take_it_away(FakeNvme *fake)
{
    g_autoptr(GRecMutexLocker) alone G_GNUC_UNUSED =
        g_rec_mutex_locker_new(&fake->lock);

    fake->gone = true;
}

__attribute__((no_sanitize("thread")))
static bool has_slept(const struct cintio_queue *q)
{
    /* its own thread counts: only whether there was one is asked */
    return *(const volatile uint64_t *)&q->sleeps;
}

/* Nor does a time to sleep for, however long, hide any of it. */
static void test_long_sleep_ends(void)
{
    static const struct {
        void (*what)(FakeNvme *fake);
        int result;
    } ends[] = {
        { reset_it, -ESTALE }, { ask_for, -ENODEV }, { take_it_away, -ENODEV },
    };
    FakeNvme *fakes[G_N_ELEMENTS(ends)];
    Sleeper sleepers[G_N_ELEMENTS(ends)];
    GThread *threads[G_N_ELEMENTS(ends)];
    uint64_t start = cintio_now();

    for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++) {
        struct cintio_queue *q;

        fakes[i] = with_removal();
        q = queue_of(fakes[i], 16, CINTIO_SLEEP);
        g_assert_cmpint(cintio_queue_set_mode(q, CINTIO_SLEEP,
                                              UINT64_C(60000000000), &err), ==,
                        0);
        push(q, 2);
        sleepers[i] = (Sleeper) { q, 0 };
        threads[i] = g_thread_new("sleeper", sleep_for_ever, &sleepers[i]);
        while (!has_slept(q)) {
            usleep(1000);
        }
        ends[i].what(fakes[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++) {
        g_thread_join(threads[i]);
        g_assert_cmpint(sleepers[i].result, ==, ends[i].result);
        cintio_queue_destroy(sleepers[i].q);
        fake_free(fakes[i]);
    }
    g_assert_cmpuint(cintio_now() - start, <, UINT64_C(30000000000));
}

/* What has come is taken first; the next call says what is wrong. */
static void test_removal_keeps_completions(void)
{
    FakeNvme *fake = with_removal();
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_INTERRUPT);
    struct cintio_done done[2];

    push(q, 2);
    g_assert_cmpint(cintio_ring(q), ==, 0);
    fake_complete_some(fake, 1, 1);
    ask_for(fake);
    g_assert_cmpint(cintio_complete(q, done, 2, 2, CINTIO_FOREVER), ==, 1);
    g_assert_cmpint(cintio_complete(q, done, 1, 1, CINTIO_FOREVER), ==,
                    -ENODEV);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* Who never has to wait is told too. */
static void test_removal_of_a_busy_one(void)
{
    FakeNvme *fake = with_removal();
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_POLL);
    struct cintio_done done;
    unsigned calls = 0;
    int ret = 1;

    ask_for(fake);
    while (ret == 1 && calls < 5000) {
        push(q, 1);
        g_assert_cmpint(cintio_ring(q), ==, 0);
        fake_complete_some(fake, 1, 1);
        ret = cintio_complete(q, &done, 1, 1, CINTIO_FOREVER);
        calls++;
    }
    g_assert_cmpint(ret, ==, -ENODEV);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* A register takes long to read: it is once a second, however busy one is. */
static void test_looked_after_seldom(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_DEFAULT);
    struct cintio_queue *q = queue_of(fake, 16, CINTIO_POLL);
    uint64_t start = cintio_now();
    unsigned before = fake->reads;
    struct cintio_done done;

    for (unsigned i = 0; i < 50000; i++) {
        push(q, 1);
        g_assert_cmpint(cintio_ring(q), ==, 0);
        fake_complete_some(fake, 1, 1);
        g_assert_cmpint(cintio_complete(q, &done, 1, 1, CINTIO_FOREVER), ==, 1);
    }
    g_assert_cmpuint(fake->reads, >, before);
    g_assert_cmpuint(fake->reads - before, <=,
                     (cintio_now() - start) / UINT64_C(1000000000) + 2);
    cintio_queue_destroy(q);
    fake_free(fake);
}

/* A controller that fails or goes sends nothing: it is looked after. */
static void test_failure_is_noticed(void)
{
    static const enum cintio_mode modes[] = { CINTIO_POLL, CINTIO_INTERRUPT };

    for (unsigned i = 0; i < 2; i++) {
        FakeNvme *fake = started(NVME_CINT_POLICY_DEFAULT);
        Sleeper sleeper = { queue_of(fake, 16, modes[i]), 0 };

        push(sleeper.q, 2);
        g_assert_cmpint(cintio_ring(sleeper.q), ==, 0);
        if (i) {
            fake->gone = true;
        } else {
            fake->regs[NVME_REG_CSTS / 4] |= NVME_CSTS_CFS;
        }
        sleep_for_ever(&sleeper);
        g_assert_cmpint(sleeper.result, ==, i ? -ENODEV : -EIO);
        fake->gone = false;
        cintio_queue_destroy(sleeper.q);
        fake_free(fake);
    }
}

/* --- long runs ---------------------------------------------------------- */

static void switch_something(GRand *rand, struct cintio_queue *q)
{
    static const enum cintio_mode modes[] = {
        CINTIO_INTERRUPT, CINTIO_COALESCED,
    };
    enum cintio_policy policy = g_rand_boolean(rand) ? CINTIO_POLICY_POINTER
                                                     : CINTIO_POLICY_DEFAULT;

    if (g_rand_int_range(rand, 0, 50)) {
        return;
    }
    g_assert_cmpint(cintio_queue_set_policy(q, policy, &err), ==, 0);
    if (policy == CINTIO_POLICY_POINTER) {
        g_assert_cmpint(cintio_queue_set_mode(
            q, modes[g_rand_int_range(rand, 0, 2)], 0, &err), ==, 0);
    }
}

/* Each comes back once, whatever the controller does and is told meanwhile. */
static void test_random(void)
{
    FakeNvme *fake = started(NVME_CINT_POLICY_POINTER);
    struct cintio_queue *q = queue_of(fake, 13, CINTIO_COALESCED);
    GRand *rand = g_rand_new_with_seed(g_test_rand_int());
    Script script = { .fake = fake, .rand = rand };
    g_autofree uint8_t *seen = g_malloc0(100000);
    struct cintio_io io = { .op = CINTIO_FLUSH };
    struct cintio_done done[16];

    cintio_queue_watch(q, between, &script);
    while (io.cookie < 100000 || cintio_outstanding(q)) {
        unsigned n = g_rand_int_range(rand, 0, 13);
        int got;

        while (n-- && io.cookie < 100000 && !cintio_push(q, &io)) {
            io.cookie++;
        }
        got = cintio_complete(q, done, g_rand_int_range(rand, 0, 13),
                              g_rand_int_range(rand, 1, 16), CINTIO_FOREVER);
        g_assert_cmpint(got, >=, 0);
        for (int i = 0; i < got; i++) {
            g_assert_cmpuint(seen[done[i].cookie]++, ==, 0);
        }
        switch_something(rand, q);
    }
    g_assert_null(memchr(seen, 0, 100000));
    g_assert_cmpuint(script.held + script.hung, ==, 0);
    g_assert_cmpuint(fake->cq[1].reasons[NVME_CINT_REASON_MAX_HOLD], ==, 0);
    g_rand_free(rand);
    cintio_queue_destroy(q);
    fake_free(fake);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wait/every-order/coalesced", test_coalesced);
    g_test_add_func("/wait/every-order/interrupt", test_interrupt);
    g_test_add_func("/wait/every-order/with-records", test_with_records);
    g_test_add_func("/wait/every-order/elsewhere", test_elsewhere);
    g_test_add_func("/wait/every-order/emptied-early", test_emptied_early);
    g_test_add_func("/wait/every-order/without-the-clamp", test_without_clamp);
    g_test_add_func("/wait/economy", test_economy);
    g_test_add_func("/wait/error-comes-early", test_error_comes_early);
    g_test_add_func("/wait/look-saves-a-sleep", test_look_saves_a_sleep);
    g_test_add_func("/wait/asked-once", test_asked_once);
    g_test_add_func("/wait/masked", test_masked);
    g_test_add_func("/wait/two-controllers", test_two_controllers);
    g_test_add_func("/wait/polling-is-silent", test_polling_is_silent);
    g_test_add_func("/wait/polled-before-the-policy",
                    test_polled_before_the_policy);
    g_test_add_func("/wait/timeout", test_timeout);
    g_test_add_func("/wait/sleep-then-poll", test_sleep_then_poll);
    g_test_add_func("/wait/sleep-is-whole", test_sleep_is_whole);
    g_test_add_func("/wait/sleep-for-the-oldest", test_sleep_for_the_oldest);
    g_test_add_func("/wait/woken", test_woken);
    g_test_add_func("/wait/arm", test_arm);
    g_test_add_func("/wait/arm/woken", test_arm_woken);
    g_test_add_func("/wait/group", test_group);
    g_test_add_func("/wait/group/in-turn", test_group_in_turn);
    g_test_add_func("/wait/group/told-once", test_group_told_once);
    g_test_add_func("/wait/reset-wakes", test_reset_wakes);
    g_test_add_func("/wait/reset-while-watched", test_reset_while_watched);
    g_test_add_func("/wait/reset-between", test_reset_between);
    g_test_add_func("/wait/reset-waits-for-nobody",
                    test_reset_waits_for_nobody);
    g_test_add_func("/wait/commands-side-by-side",
                    test_commands_side_by_side);
    g_test_add_func("/wait/answers-side-by-side", test_answers_side_by_side);
    g_test_add_func("/wait/told-between", test_told_between);
    g_test_add_func("/wait/records/cease", test_records_cease);
    g_test_add_func("/wait/records/cease-between", test_records_cease_between);
    g_test_add_func("/wait/records/explain", test_records_explain);
    g_test_add_func("/wait/removal-wakes", test_removal_wakes);
    g_test_add_func("/wait/removal-in-a-group", test_removal_in_a_group);
    g_test_add_func("/wait/long-sleep-ends", test_long_sleep_ends);
    g_test_add_func("/wait/removal-keeps", test_removal_keeps_completions);
    g_test_add_func("/wait/removal-busy", test_removal_of_a_busy_one);
    g_test_add_func("/wait/looked-after-seldom", test_looked_after_seldom);
    g_test_add_func("/wait/failure-is-noticed", test_failure_is_noticed);
    g_test_add_func("/wait/patience/spins", test_spins);
    g_test_add_func("/wait/patience/spin-ends", test_spin_ends);
    g_test_add_func("/wait/patience/gathers", test_gathers);
    g_test_add_func("/wait/patience/gathers-in-time", test_gathers_in_time);
    g_test_add_func("/wait/random", test_random);
    return g_test_run();
}
