/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the coalescing engine costs. One arm is a policy with settings; each of
 * some queues gets batches of commands, and a guest that reaps at each
 * interrupt. Prints one JSON object:
 *
 *     bench-engine [ARM [QUEUES [COMPLETIONS]]]
 *
 * Without an arm: the names of the arms and the sizes of the state. An arm is
 * the name of a policy, or one of extra_arms[]. To count instructions, run it
 * under callgrind with --toggle-collect='bench_rounds*'; the time is meaningful
 * only without.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coalesce.h"

#define BATCH           16      /* commands of one doorbell write */
#define ENTRIES         1024
#define GAP_NS          500     /* between two completions of a queue */
#define MAX_QUEUES      1024
#define REPEATS         5       /* the best counts: the rest is the machine */
#define URGENT_IN       8       /* where the arm has Urgent commands */

typedef struct Arm {
    const char *name;
    CintPolicy policy;
    const char *settings;       /* NAME=NUMBER, separated by spaces */
    bool hints;                 /* a Barrier ends a batch, some are Urgent */
    bool record;
} Arm;

/* Settings that take other paths through a policy. */
static const Arm extra_arms[] = {
    { "static-on", NVME_CINT_POLICY_STATIC,
      "static-time=20000 static-thr=32", false, false },
    { "vic-deep", NVME_CINT_POLICY_VIC,
      "iops-threshold=0 epoch=1 vic-scope=1", false, false },
    { "cint-strict", NVME_CINT_POLICY_CINT, "barrier=1", true, false },
    { "cint-generation", NVME_CINT_POLICY_CINT, "barrier=2", true, false },
    { "cint-ooo", NVME_CINT_POLICY_CINT, "barrier=1", true, true },
    { "cint-infer", NVME_CINT_POLICY_CINT, "infer=2", false, false },
    { "cint-learn", NVME_CINT_POLICY_CINT, "infer=3", false, false },
    { "adaptive-storm", NVME_CINT_POLICY_ADAPTIVE, "max-irq-rate=20000",
      false, false },
    { "adaptive-retune", NVME_CINT_POLICY_ADAPTIVE,
      "max-irq-rate=20000 storm=1", false, false },
    { "adaptive-kick", NVME_CINT_POLICY_ADAPTIVE, "kick-window=100000", false,
      false },
    { .name = NULL },
};

typedef struct Queue {
    CintCq cq;
    CintSq sq;
    CintCmd cmd[BATCH];
} Queue;

typedef struct Bench {
    const Arm *arm;
    CintScope scope;
    Queue *queue;
    unsigned queues;
    int64_t now;
    uint64_t completions;
    uint64_t interrupts;
} Bench;

static void wait_for_batch(Bench *b, Queue *q);

static void act(Bench *b, Queue *q, CintAction action)
{
    if (action.fire == CINT_FIRE_NONE) {
        return;
    }
    b->interrupts++;
    if (action.fire == CINT_FIRE_FULL) {
        act(b, q, cint_head(&q->cq, b->now, q->cq.tail));
        wait_for_batch(b, q);
    }
}

/* Under policy pointer; the other ones do not care. */
static void wait_for_batch(Bench *b, Queue *q)
{
    if (b->arm->policy == NVME_CINT_POLICY_POINTER) {
        act(b, q, cint_pointer(&q->cq, b->now, q->cq.head + BATCH));
    }
}

static uint8_t hint_of(const Arm *arm, unsigned i)
{
    if (!arm->hints) {
        return NVME_CINT_HINT_NONE;
    }
    return i == BATCH - 1 ? NVME_CINT_HINT_BARRIER :
           i % URGENT_IN == 1 ? NVME_CINT_HINT_URGENT : NVME_CINT_HINT_NONE;
}

static void submit_batch(Bench *b, Queue *q)
{
    unsigned i;

    for (i = 0; i < BATCH; i++) {
        uint8_t hint = hint_of(b->arm, i);

        q->cmd[i].page = 1 + i;
        act(b, q, cint_submit(&q->sq, &q->cmd[i], b->now, hint,
                              hint ? 1u << NVME_CINT_SOURCE_CDW0 : 0));
    }
    act(b, q, cint_doorbell(&q->sq, b->now));
}

/* Each command in a pass of its own. */
static void complete(Bench *b, Queue *q, unsigned i)
{
    while (cint_deadline(&q->cq) <= b->now) {
        act(b, q, cint_timer(&q->cq, b->now));
    }
    act(b, q, cint_complete(&q->sq, &q->cmd[i], b->now, false));
    act(b, q, cint_pass_end(&q->cq, b->now));
}

/* Not in order: a strict Barrier has to wait for those before it. */
static void complete_batches(Bench *b)
{
    unsigned i, k;

    for (i = 0; i < BATCH; i++) {
        b->now += GAP_NS;
        for (k = 0; k < b->queues; k++) {
            complete(b, &b->queue[k], i * 7 % BATCH);
        }
        b->completions += b->queues;
    }
}

/* What is measured. Every fourth round is followed by silence. */
static __attribute__((noinline)) void bench_rounds(Bench *b, uint64_t rounds)
{
    uint64_t round;
    unsigned k;

    for (round = 0; round < rounds; round++) {
        for (k = 0; k < b->queues; k++) {
            submit_batch(b, &b->queue[k]);
        }
        complete_batches(b);
        b->now += round % 4 == 3 ? 20 * GAP_NS : 0;
    }
}

static void set(CintConfig *config, const char *name, uint64_t value)
{
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        if (!strcmp(param->name, name)) {
            *cint_config_field(config, param) = value;
            return;
        }
    }
    fprintf(stderr, "the engine has no parameter %s\n", name);
    exit(1);
}

static CintConfig config_of(const Arm *arm)
{
    CintConfig config;
    const char *text = arm->settings;
    char name[32];
    uint64_t value;
    int used;

    cint_config_init(&config);
    config.policy = arm->policy;
    while (sscanf(text, " %31[^=]=%" SCNu64 "%n", name, &value, &used) == 2) {
        set(&config, name, value);
        text += used;
    }
    if (!cint_config_in_range(&config) || cint_config_conflict(&config)) {
        fprintf(stderr, "%s: not a valid configuration\n", arm->name);
        exit(1);
    }
    return config;
}

static void set_up(Bench *b, const Arm *arm, unsigned queues)
{
    CintConfig config = config_of(arm);
    unsigned k;

    *b = (Bench) { .arm = arm, .queues = queues };
    b->queue = calloc(queues, sizeof(*b->queue));
    if (!b->queue) {
        fprintf(stderr, "no memory for %u queues\n", queues);
        exit(1);
    }
    cint_scope_init(&b->scope);
    for (k = 0; k < queues; k++) {
        cint_cq_init(&b->queue[k].cq, &b->scope, ENTRIES, &config);
        cint_sq_init(&b->queue[k].sq, &b->queue[k].cq);
        cint_set_record(&b->queue[k].cq, 0, arm->record);
        wait_for_batch(b, &b->queue[k]);
    }
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void run(const Arm *arm, unsigned queues, uint64_t completions)
{
    uint64_t rounds = completions / (BATCH * queues);
    double best = INFINITY;
    Bench b;
    int i;

    set_up(&b, arm, queues);
    for (i = 0; i < REPEATS; i++) {
        double start = now_ns();

        bench_rounds(&b, rounds);
        best = fmin(best, now_ns() - start);
    }
    printf("{\"arm\": \"%s\", \"queues\": %u, \"completions\": %" PRIu64
           ", \"interrupts\": %" PRIu64 ", \"ns\": %.2f}\n", arm->name,
           queues, b.completions, b.interrupts,
           best / (rounds * BATCH * queues));
    free(b.queue);
}

static void describe(void)
{
    const Arm *arm;
    int i;

    printf("{\"policies\": [");
    for (i = 0; cint_policy_names[i]; i++) {
        printf("%s\"%s\"", i ? ", " : "", cint_policy_names[i]);
    }
    printf("], \"variants\": [");
    for (arm = extra_arms; arm->name; arm++) {
        printf("%s\"%s\"", arm == extra_arms ? "" : ", ", arm->name);
    }
    printf("], \"bytes\": {\"cq\": %zu, \"sq\": %zu, \"command\": %zu}}\n",
           sizeof(CintCq), sizeof(CintSq), sizeof(CintCmd));
}

static Arm find_arm(const char *name)
{
    const Arm *arm;
    int i;

    for (i = 0; cint_policy_names[i]; i++) {
        if (!strcmp(cint_policy_names[i], name)) {
            return (Arm) { name, i, "", i == NVME_CINT_POLICY_CINT, false };
        }
    }
    for (arm = extra_arms; arm->name; arm++) {
        if (!strcmp(arm->name, name)) {
            return *arm;
        }
    }
    fprintf(stderr, "there is no arm %s\n", name);
    exit(2);
}

static uint64_t number(const char *text, uint64_t max)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);

    if (*end || value < 1 || value > max) {
        fprintf(stderr, "%s: not a number from 1 to %" PRIu64 "\n", text, max);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    unsigned queues = argc > 2 ? number(argv[2], MAX_QUEUES) : 1;
    uint64_t completions = argc > 3 ? number(argv[3], UINT32_MAX) : 1000000;
    Arm arm;

    if (argc < 2) {
        describe();
        return 0;
    }
    arm = find_arm(argv[1]);
    if (completions < BATCH * queues) {
        fprintf(stderr, "%u queues need at least %u completions\n", queues,
                BATCH * queues);
        return 2;
    }
    run(&arm, queues, completions);
    return 0;
}
