/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Fuzz target for the coalescing engine: the input becomes a stream of events
 * on two completion queues of one controller, from a guest that means no good.
 * After every event:
 *  - rule 1: each CQE that the guest has not consumed was told of, or letting
 *    time pass tells of it (the deadlines of a copy run out to see);
 *  - no count has wrapped and all agree with counts made here;
 *  - no CQE has waited longer than max-hold, unless a timer came late;
 *  - with drain on, none waits when nothing is in flight;
 *  - what the guest says of a command stands, whatever is learned.
 * Now and then all of it is carried to a new engine, which takes it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carried.h"
#include "fuzz.h"

#define CQS         2
#define SQS         4           /* SQ n feeds CQ n % CQS */
#define CMDS        24          /* per SQ, in flight at once */
#define PAGES       7           /* of buffers; 0 is none */
#define MAX_ENTRIES 256
#define MAX_WAKEUPS 1000        /* deadlines until nothing is left to tell */

uint64_t fuzz_events;

typedef struct Input {
    const uint8_t *next, *end;
} Input;

typedef struct Cqe {
    int64_t posted;
    bool urgent;                /* visibly: by CDW0 */
    bool told;
} Cqe;

typedef struct Queue {
    CintCq cq;
    Cqe cqe[MAX_ENTRIES];       /* by index modulo the queue's size */
    uint32_t posted;            /* free running, where the tail must be */
    uint32_t consumed;          /* the furthest that the head has been */
    bool record;                /* the guest has a status record */
} Queue;

typedef struct World {
    Input in;
    int64_t now;
    bool late;                  /* a timer was late */
    bool pure;                  /* queues begin without drain and max-hold */
    CintScope scope;
    Queue queue[CQS];
    CintSq sq[SQS];
    CintCmd cmd[SQS][CMDS];
    bool flying[SQS][CMDS];
    bool visible[SQS][CMDS];    /* Urgent by CDW0 */
    uint32_t nr_flying[SQS];
    uint32_t backlog[SQS];      /* published, not fetched */
} World;

#define require(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, \
                    __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

/* An input that is over reads as zeroes. */
static uint8_t next(World *w)
{
    return w->in.next < w->in.end ? *w->in.next++ : 0;
}

static uint32_t next_below(World *w, uint32_t limit)
{
    return next(w) % limit;
}

static Queue *queue_of(World *w, unsigned sq)
{
    return &w->queue[sq % CQS];
}

static Cqe *cqe_at(Queue *q, uint32_t index)
{
    /* Divides 2^32, so that free-running indices may wrap. */
    return &q->cqe[index % MAX_ENTRIES];
}

static bool is_consumed(const Queue *q, uint32_t index)
{
    return (int32_t)(index - q->consumed) < 0;
}

static uint32_t outstanding(const Queue *q)
{
    return q->cq.tail - q->cq.head;
}

static bool waits(Queue *q, uint32_t index)
{
    return !is_consumed(q, index) && !cqe_at(q, index)->told;
}

/* CQEs that the guest has neither consumed nor been told of. */
static uint32_t waiting(Queue *q)
{
    uint32_t i, n = 0;

    for (i = q->cq.head; i != q->cq.tail; i++) {
        n += waits(q, i);
    }
    return n;
}

static void tell(Queue *q, bool urgent_only)
{
    uint32_t i;

    for (i = q->cq.head; i != q->cq.tail; i++) {
        cqe_at(q, i)->told |= cqe_at(q, i)->urgent || !urgent_only;
    }
}

static void act(World *w, Queue *q, CintAction action)
{
    uint32_t before = waiting(q);

    if (action.fire == CINT_FIRE_NONE) {
        return;
    }
    require(action.reason != NVME_CINT_REASON_NONE);
    require(strcmp(cint_reason_name(action.reason), "unknown"));
    require(action.covered > 0 && action.covered <= outstanding(q));
    tell(q, action.fire == CINT_FIRE_URGENT);
    if (action.fire == CINT_FIRE_FULL) {
        require(action.covered >= before);
    } else {
        require(action.covered == before - waiting(q));
        require(q->record && q->cq.config.ooo);
    }
}

/* ---- What holds after every event ---- */

/* Lets time pass on a copy, with a guest that only waits. */
static void check_none_stranded(const World *w, Queue *q)
{
    CintScope scope = w->scope;
    CintCq cq = q->cq;
    int64_t now = w->now;
    unsigned wakeups = 0;

    cq.scope = &scope;
    while (cint_timer(&cq, now).fire != CINT_FIRE_FULL) {
        require(cint_deadline(&cq) != CINT_NO_DEADLINE);
        require(cint_deadline(&cq) > now);
        require(++wakeups < MAX_WAKEUPS);
        now = cint_deadline(&cq);
    }
}

static void check_hold(const World *w, Queue *q)
{
    int64_t limit = q->cq.config.max_hold_ns;
    uint32_t i;

    for (i = q->cq.head; limit && i != q->cq.tail; i++) {
        require(!waits(q, i) || w->now - cqe_at(q, i)->posted <= limit);
    }
}

/* Nothing is left in flight that could bring the interrupt about. */
static void check_drained(Queue *q)
{
    const CintConfig *config = &q->cq.config;
    bool holds = config->ack_gate_ns || config->kick_window_ns ||
                 config->max_irq_rate;

    require(config->drain != CINT_ON || q->cq.inflight || q->cq.backlog ||
            holds || !waiting(q));
}

static void check_queue(const World *w, Queue *q)
{
    uint32_t flying = 0, backlog = 0;
    unsigned sq;

    for (sq = q - w->queue; sq < SQS; sq += CQS) {
        require(w->sq[sq].inflight == w->nr_flying[sq]);
        require(w->sq[sq].backlog == w->backlog[sq]);
        flying += w->nr_flying[sq];
        backlog += w->backlog[sq];
    }
    require(q->cq.inflight == flying);
    require(q->cq.backlog == backlog);
    require(q->cq.tail == q->posted);
    require(outstanding(q) < q->cq.size);
    require(q->cq.pending <= outstanding(q));
    check_drained(q);
    if (waiting(q)) {
        check_none_stranded(w, q);
    }
    if (!w->late) {
        check_hold(w, q);
    }
}

static void check(World *w)
{
    require(w->scope.inflight ==
            w->queue[0].cq.inflight + w->queue[1].cq.inflight);
    require(w->scope.backlog ==
            w->queue[0].cq.backlog + w->queue[1].cq.backlog);
    check_queue(w, &w->queue[0]);
    check_queue(w, &w->queue[1]);
}

/* ---- Time ---- */

static void wake(World *w, Queue *q)
{
    int64_t due = cint_deadline(&q->cq);

    w->now = due > w->now ? due : w->now;
    act(w, q, cint_timer(&q->cq, w->now));
    /* Else a real timer would be armed again and again. */
    require(cint_deadline(&q->cq) > w->now);
}

/* The queue whose deadline comes first. */
static Queue *first_due(World *w)
{
    return cint_deadline(&w->queue[0].cq) <= cint_deadline(&w->queue[1].cq) ?
           &w->queue[0] : &w->queue[1];
}

static void advance(World *w, int64_t t)
{
    while (!w->late && cint_deadline(&first_due(w)->cq) <= t) {
        wake(w, first_due(w));
    }
    w->now = t;
}

/* Ties and near misses are where mistakes live. */
static int64_t next_time(World *w, unsigned kind)
{
    int64_t due = cint_deadline(&first_due(w)->cq), t = w->now;

    switch (kind) {
    case 1:
        t += next(w);
        break;
    case 2:
        t += 1ll << next_below(w, 31);
        break;
    case 3:
        t = due != CINT_NO_DEADLINE ? due - 1 + next_below(w, 3) : t;
        break;
    }
    return t > w->now ? t : w->now;
}

/* ---- Events ---- */

static uint64_t bounded(const CintParam *param, uint64_t value)
{
    return value < param->min ? param->min :
           value > param->max ? param->max : value;
}

static uint64_t next_value(World *w, const CintParam *param)
{
    uint64_t n = next(w);

    switch (n & 3) {
    case 0:
        return bounded(param, param->min + (n >> 2));
    case 1:
        return bounded(param, 1ull << (n >> 2));
    case 2:
        return bounded(param, param->max - (n >> 2));
    default:
        return param->def;
    }
}

/* Changes a few parameters; leaves @config alone if they do not agree. */
static void next_config(World *w, CintConfig *config)
{
    CintConfig wanted = *config;
    unsigned rows = 0, n = next_below(w, 8);

    while (cint_params[rows].name) {
        rows++;
    }
    while (n--) {
        const CintParam *param = &cint_params[next_below(w, rows)];

        *cint_config_field(&wanted, param) = next_value(w, param);
    }
    require(cint_config_in_range(&wanted));
    if (!cint_config_conflict(&wanted)) {
        *config = wanted;
    }
}

static void do_submit(World *w, unsigned sq)
{
    static const uint8_t sources[] = {
        1u << NVME_CINT_SOURCE_CDW0, 1u << NVME_CINT_SOURCE_CDW13,
        1u << NVME_CINT_SOURCE_CDW0 | 1u << NVME_CINT_SOURCE_CDW13,
    };
    Queue *q = queue_of(w, sq);
    uint8_t what = next(w);
    unsigned n = what >> 4, i;

    for (i = 0; i < CMDS && n; i++) {
        if (!w->flying[sq][i]) {
            uint8_t hints = what & 3;
            uint8_t source = hints ? sources[(what >> 2 & 3) % 3] : 0;

            w->flying[sq][i] = true;
            w->nr_flying[sq]++;
            w->backlog[sq] -= w->backlog[sq] > 0;
            w->cmd[sq][i].page = i % PAGES;
            w->cmd[sq][i].content = what % CINT_NR_CONTENTS;
            act(w, q, cint_submit(&w->sq[sq], &w->cmd[sq][i], w->now, hints,
                                  source));
            require(!hints || w->cmd[sq][i].hints == hints);
            w->visible[sq][i] = hints == NVME_CINT_HINT_URGENT &&
                                source & 1u << NVME_CINT_SOURCE_CDW0;
            n--;
        }
    }
}

/* Takes any command of @sq out of flight, of which there is at least one. */
static unsigned land(World *w, unsigned sq)
{
    unsigned left = 1 + next_below(w, w->nr_flying[sq]), i = 0;

    while (!w->flying[sq][i] || --left) {
        i++;
    }
    w->flying[sq][i] = false;
    w->nr_flying[sq]--;
    return i;
}

static void do_complete(World *w, unsigned sq, bool error)
{
    Queue *q = queue_of(w, sq);
    CintAction action;
    unsigned cmd;

    if (!w->nr_flying[sq] || outstanding(q) >= q->cq.size - 1) {
        return;
    }
    cmd = land(w, sq);
    *cqe_at(q, q->posted++) = (Cqe) {
        .posted = w->now,
        .urgent = w->visible[sq][cmd],
    };
    action = cint_complete(&w->sq[sq], &w->cmd[sq][cmd], w->now, error);
    require(!error || action.fire == CINT_FIRE_FULL);
    act(w, q, action);
}

static void do_pass(World *w, unsigned sq)
{
    Queue *q = queue_of(w, sq);
    uint8_t what = next(w);
    unsigned n = what & 15;
    bool error = what >= 0xf0;

    while (n--) {
        do_complete(w, sq, error);
    }
    act(w, q, cint_pass_end(&q->cq, w->now));
}

/* The guest believed, lying, or not to be understood at all. */
static void do_head(World *w, unsigned sq)
{
    Queue *q = queue_of(w, sq);
    uint8_t what = next(w);
    uint32_t head = q->cq.head + (what >> 2) % (outstanding(q) + 1);
    CintAction action;

    switch (what & 3) {
    case 0:
        head = q->cq.tail;
        break;
    case 1:
        head = (uint32_t)next(w) << (what >> 3);
        break;
    }
    action = cint_head(&q->cq, w->now, head);
    if (!is_consumed(q, q->cq.head)) {
        q->consumed = q->cq.head;
    }
    act(w, q, action);
}

static void do_cancel(World *w, unsigned sq)
{
    unsigned cmd;

    if (w->nr_flying[sq]) {
        cmd = land(w, sq);
        act(w, queue_of(w, sq),
            cint_cancel(&w->sq[sq], &w->cmd[sq][cmd], w->now));
    }
}

static void do_delete_sq(World *w, unsigned sq)
{
    Queue *q = queue_of(w, sq);

    memset(w->flying[sq], 0, sizeof(w->flying[sq]));
    w->nr_flying[sq] = 0;
    w->backlog[sq] = 0;
    act(w, q, cint_delete_sq(&w->sq[sq], w->now));
    cint_sq_init(&w->sq[sq], &q->cq);
}

/* Of its pair's, or the end of a batch alone, or both. */
static void do_doorbell(World *w, unsigned sq)
{
    Queue *q = queue_of(w, sq);

    switch (next_below(w, 4)) {
    case 0:
        act(w, q, cint_rang(&q->cq, w->now));
        break;
    case 1:
        act(w, q, cint_batch_end(&w->sq[sq], w->now));
        break;
    default:
        act(w, q, cint_doorbell(&w->sq[sq], w->now));
        break;
    }
}

/* A tail that is new, or goes back. */
static void do_publish(World *w, unsigned sq)
{
    w->backlog[sq] = next_below(w, 40);
    act(w, queue_of(w, sq),
        cint_published(&w->sq[sq], w->now, w->backlog[sq]));
}

static void do_timer(World *w, unsigned sq)
{
    Queue *q = queue_of(w, sq);
    int64_t due = cint_deadline(&q->cq);

    act(w, q, cint_timer_late(&q->cq, due < w->now ? due : w->now, w->now));
}

static void do_configure(World *w, unsigned sq)
{
    Queue *q = queue_of(w, sq);
    CintConfig config = q->cq.config;

    next_config(w, &config);
    act(w, q, cint_configure(&q->cq, w->now, &config));
    require(!waiting(q));
}

static void do_disable(World *w, unsigned sq)
{
    Queue *q = queue_of(w, sq);

    act(w, q, cint_disable(&q->cq, w->now, next(w) & 1));
    require(!waiting(q));
}

static void do_record(World *w, unsigned sq)
{
    Queue *q = queue_of(w, sq);
    bool had = q->record;

    q->record = next(w) & 1;
    act(w, q, cint_set_record(&q->cq, w->now, q->record));
    require(!had || q->record || !waiting(q));
}

static void do_mask(World *w, unsigned sq)
{
    cint_set_masked(&queue_of(w, sq)->cq, next(w) & 1);
}

/* A guest whose pointer is passed already sleeps in spite of what it knew. */
static void forget(World *w, Queue *q, uint32_t target)
{
    uint32_t i;

    if (q->cq.config.policy != NVME_CINT_POLICY_POINTER ||
        (int32_t)(q->cq.tail - target) < 0) {
        return;
    }
    for (i = q->cq.head; i != q->cq.tail; i++) {
        *cqe_at(q, i) = (Cqe) { .posted = w->now };
    }
}

static void do_pointer(World *w, unsigned sq)
{
    Queue *q = queue_of(w, sq);
    uint32_t target = q->cq.head + 1 + next(w) % (q->cq.size - 1);
    CintAction action;

    action = cint_pointer(&q->cq, w->now, target);
    forget(w, q, target);
    act(w, q, action);
}

static void do_pointer_off(World *w, unsigned sq)
{
    Queue *q = queue_of(w, sq);

    act(w, q, cint_pointer_off(&q->cq, w->now));
}

/* Makes queue @q, whose indices start at @start. */
static void make_queue(World *w, Queue *q, uint32_t start)
{
    static const uint16_t sizes[] = { 2, 3, 4, 5, 8, 16, 31, 64, 256 };
    CintConfig config;
    unsigned sq;

    cint_config_init(&config);
    if (w->pure) {
        config.drain = CINT_OFF;
        config.max_hold_ns = 0;
    }
    next_config(w, &config);
    cint_cq_init(&q->cq, &w->scope,
                 sizes[next_below(w, sizeof(sizes) / sizeof(sizes[0]))],
                 &config);
    q->record = false;
    q->cq.head = q->cq.tail = q->posted = q->consumed = start;
    for (sq = q - w->queue; sq < SQS; sq += CQS) {
        cint_sq_init(&w->sq[sq], &q->cq);
    }
}

static void do_reset(World *w, unsigned sq)
{
    Queue *q = queue_of(w, sq);

    for (sq = q - w->queue; sq < SQS; sq += CQS) {
        do_delete_sq(w, sq);
    }
    make_queue(w, q, 0);
}

/* Values of one table, which a new engine is to take. */
typedef uint64_t Values[128];

static void carry_sq(World *w, unsigned sq)
{
    CintCarriedCmd carried[CMDS];
    CintCmd *cmds[CMDS], *cmd;
    CintMisfit misfit;
    unsigned n = 0, i;
    Values values;

    for (cmd = cint_first_cmd(&w->sq[sq]); cmd; cmd = cmd->next) {
        carried[n] = cint_cmd_save(&w->sq[sq], cmd);
        cmds[n++] = cmd;
    }
    require(n == w->nr_flying[sq]);
    cint_carry_save(cint_sq_fields, &w->sq[sq], w->now, values);
    cint_sq_init(&w->sq[sq], &queue_of(w, sq)->cq);
    require(cint_sq_load(&w->sq[sq], w->now, values, &misfit));
    for (i = 0; i < n; i++) {
        require(cint_cmd_load(&w->sq[sq], cmds[i], &carried[i], &misfit));
    }
}

static void carry_cq(World *w, CintCq *cq)
{
    CintConfig config = cq->config;
    CintMisfit misfit;
    Values values;

    cint_carry_save(cint_cq_fields, cq, w->now, values);
    cint_cq_init(cq, &w->scope, cq->size, &config);
    require(cint_cq_load(cq, w->now, values, &misfit));
}

static void carry_scope(World *w)
{
    static uint64_t pages[CINT_WAITS_ENTRIES];
    CintMisfit misfit;
    Values values;
    unsigned i;

    cint_carry_save(cint_scope_fields, &w->scope, w->now, values);
    for (i = 0; i < CINT_WAITS_ENTRIES; i++) {
        pages[i] = cint_page_save(&w->scope.waits.entry[i], w->now);
    }
    cint_scope_init(&w->scope);
    require(cint_scope_load(&w->scope, w->now, values, &misfit));
    for (i = 0; i < CINT_WAITS_ENTRIES; i++) {
        cint_page_load(&w->scope.waits.entry[i], w->now, pages[i]);
    }
}

/* Any engine that a guest can bring about can be carried. */
static void do_carry(World *w, unsigned sq)
{
    unsigned i;

    carry_scope(w);
    for (i = 0; i < CQS; i++) {
        carry_cq(w, &w->queue[i].cq);
    }
    for (i = 0; i < SQS; i++) {
        carry_sq(w, i);
    }
}

static void do_rare(World *w, unsigned sq)
{
    static void (*const rare[])(World *w, unsigned sq) = {
        do_delete_sq, do_disable, do_timer, do_reset, do_mask, do_record,
        do_carry,
    };

    rare[next_below(w, sizeof(rare) / sizeof(rare[0]))](w, sq);
}

static void do_event(World *w)
{
    static void (*const event[16])(World *w, unsigned sq) = {
        do_submit, do_submit, do_submit, do_pass, do_pass, do_pass, do_pass,
        do_doorbell, do_head, do_head, do_cancel, do_configure, do_publish,
        do_pointer, do_pointer_off, do_rare,
    };
    uint8_t what = next(w);

    advance(w, next_time(w, what >> 6));
    event[what & 15](w, what >> 4 & 3);
}

static void finish(World *w)
{
    unsigned sq;

    for (sq = 0; sq < SQS; sq++) {
        do_delete_sq(w, sq);
    }
    while (cint_deadline(&first_due(w)->cq) != CINT_NO_DEADLINE) {
        wake(w, first_due(w));
    }
    require(!waiting(&w->queue[0]) && !waiting(&w->queue[1]));
    require(w->scope.inflight == 0);
    require(w->scope.backlog == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static World world;
    World *w = &world;
    uint8_t what;

    memset(w, 0, sizeof(*w));
    w->in = (Input) { .next = data, .end = data + size };
    what = next(w);
    w->late = what & 1;
    w->pure = what & 16;
    w->now = what & 2 ? 1ll << 62 : 0;
    cint_scope_init(&w->scope);
    make_queue(w, &w->queue[0], what & 4 ? UINT32_MAX - 40 : 0);
    make_queue(w, &w->queue[1], what & 8 ? INT32_MAX - 40 : 0);
    while (w->in.next < w->in.end) {
        do_event(w);
        check(w);
        fuzz_events++;
    }
    finish(w);
    return 0;
}
