/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An engine that is carried elsewhere, again and again, answers as one that
 * stays: random events, each to both, and the answers and deadlines are the
 * same. Where it is carried to, the clock is another one, and memory is full of
 * what was there before.
 *
 * What comes in may be anything: of values that were changed on the way each is
 * refused, with a reason, or the engine goes on with them, its checks on.
 *
 * The seed is printed; `--seed` repeats a run.
 */
#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "carried.h"
#include "../../hw/nvme/model/carried.h"
#include "random.h"
#include "suite.h"

#define CQS         2
#define SQS         3
#define CMDS        24      /* of an SQ, in flight at once */
#define PAGES       24      /* of buffers */
#define STREAMS     60      /* of a policy */
#define EVENTS      500
#define MOST_VALUES 256     /* of a table */

/* One tick of what is learned: a clock that is off by whole ones is exact. */
#define TICK_NS     ((int64_t)1 << CINT_WAITS_TICK)

typedef struct Engine {
    int64_t clock;          /* what its clock is ahead of the test's */
    CintScope scope;
    CintCq cq[CQS];
    CintSq sq[SQS];
    CintCmd cmd[SQS][CMDS];
} Engine;

typedef struct Pair {
    Engine *stays, *goes;
    int64_t now;
    bool one_clock;         /* it is the same everywhere */
    bool flying[SQS][CMDS];
} Pair;

static CintCq *cq_of(Engine *e, unsigned sq)
{
    return &e->cq[sq == SQS - 1];
}

static Engine *engine_new(const CintConfig *config, uint32_t size)
{
    Engine *e = g_new(Engine, 1);
    unsigned i;

    memset(e, 0xa5, sizeof(*e));
    e->clock = 0;
    cint_scope_init(&e->scope);
    for (i = 0; i < CQS; i++) {
        cint_cq_init(&e->cq[i], &e->scope, size, config);
    }
    for (i = 0; i < SQS; i++) {
        cint_sq_init(&e->sq[i], cq_of(e, i));
    }
    return e;
}

/*
 * Carrying
 */

/* All that is carried of an engine, in order: what a stream would have. */
typedef struct Cargo {
    CintConfig config[CQS];
    uint32_t size[CQS];
    unsigned nr_cmds[SQS];
    unsigned index[SQS][CMDS];
    GArray *values;         /* of uint64_t */
} Cargo;

static void put(Cargo *cargo, const CintField *fields, const void *state,
                int64_t now)
{
    uint64_t values[MOST_VALUES];
    size_t n = cint_carry_count(fields);

    g_assert_cmpuint(n, <=, MOST_VALUES);
    cint_carry_save(fields, state, now, values);
    g_array_append_vals(cargo->values, values, n);
}

static void put_cmds(Cargo *cargo, const Engine *e, unsigned sq, int64_t now)
{
    CintCmd *cmd;

    cargo->nr_cmds[sq] = 0;
    for (cmd = cint_first_cmd(&e->sq[sq]); cmd; cmd = cmd->next) {
        CintCarriedCmd carried = cint_cmd_save(&e->sq[sq], cmd);

        cargo->index[sq][cargo->nr_cmds[sq]++] = cmd - e->cmd[sq];
        put(cargo, cint_cmd_fields, &carried, now);
    }
}

static void cargo_load(Cargo *cargo, const Engine *e, int64_t now)
{
    unsigned i;

    cargo->values = g_array_new(false, false, sizeof(uint64_t));
    put(cargo, cint_scope_fields, &e->scope, now);
    for (i = 0; i < CINT_WAITS_ENTRIES; i++) {
        uint64_t page = cint_page_save(&e->scope.waits.entry[i], now);

        g_array_append_val(cargo->values, page);
    }
    for (i = 0; i < CQS; i++) {
        cargo->config[i] = e->cq[i].config;
        cargo->size[i] = e->cq[i].size;
        put(cargo, cint_cq_fields, &e->cq[i], now);
    }
    for (i = 0; i < SQS; i++) {
        put(cargo, cint_sq_fields, &e->sq[i], now);
        put_cmds(cargo, e, i, now);
    }
}

static void cargo_free(Cargo *cargo)
{
    g_array_free(cargo->values, true);
}

static const uint64_t *take(const Cargo *cargo, size_t *at, size_t n)
{
    *at += n;
    g_assert_cmpuint(*at, <=, cargo->values->len);
    return &g_array_index(cargo->values, uint64_t, *at - n);
}

static bool unload_cmds(const Cargo *cargo, Engine *e, unsigned sq, int64_t now,
                        size_t *at, CintMisfit *misfit)
{
    size_t n = cint_carry_count(cint_cmd_fields);
    unsigned i;

    for (i = 0; i < cargo->nr_cmds[sq]; i++) {
        CintCarriedCmd carried;

        if (!cint_carry_load(cint_cmd_fields, &carried, now,
                             take(cargo, at, n), misfit) ||
            !cint_cmd_load(&e->sq[sq], &e->cmd[sq][cargo->index[sq][i]],
                           &carried, misfit)) {
            return false;
        }
    }
    return true;
}

static bool unload_queues(const Cargo *cargo, Engine *e, int64_t now,
                          size_t *at, CintMisfit *misfit)
{
    unsigned i;

    for (i = 0; i < CQS; i++) {
        cint_cq_init(&e->cq[i], &e->scope, cargo->size[i], &cargo->config[i]);
        if (!cint_cq_load(&e->cq[i], now,
                          take(cargo, at, cint_carry_count(cint_cq_fields)),
                          misfit)) {
            return false;
        }
    }
    for (i = 0; i < SQS; i++) {
        cint_sq_init(&e->sq[i], cq_of(e, i));
        if (!cint_sq_load(&e->sq[i], now,
                          take(cargo, at, cint_carry_count(cint_sq_fields)),
                          misfit) ||
            !unload_cmds(cargo, e, i, now, at, misfit)) {
            return false;
        }
    }
    return true;
}

static bool cargo_unload(const Cargo *cargo, Engine *e, int64_t now,
                         CintMisfit *misfit)
{
    size_t at = 0;
    unsigned i;

    memset(e, 0xa5, sizeof(*e));
    e->clock = 0;
    cint_scope_init(&e->scope);
    if (!cint_scope_load(&e->scope, now,
                         take(cargo, &at, cint_carry_count(cint_scope_fields)),
                         misfit)) {
        return false;
    }
    for (i = 0; i < CINT_WAITS_ENTRIES; i++) {
        cint_page_load(&e->scope.waits.entry[i], now, *take(cargo, &at, 1));
    }
    return unload_queues(cargo, e, now, &at, misfit);
}

static void move(Pair *p)
{
    CintMisfit misfit = { .field = NULL };
    int64_t clock = p->one_clock ? 0 : pick(0, 1000) * TICK_NS;
    Cargo cargo;

    cargo_load(&cargo, p->goes, p->now + p->goes->clock);
    if (!cargo_unload(&cargo, p->goes, p->now + clock, &misfit)) {
        g_error("%s is %" PRId64 ", not from %" PRId64 " to %" PRId64,
                misfit.field, misfit.value, misfit.min, misfit.max);
    }
    p->goes->clock = clock;
    cargo_free(&cargo);
}

/*
 * Not only what they answer: what they know as well. Where the clock is another
 * one, a time that stands for "never yet" does not tell.
 */
static void same_state(const Pair *p)
{
    const Engine *a = p->stays, *b = p->goes;
    Cargo stays, goes;
    unsigned i;

    cargo_load(&stays, a, p->now + a->clock);
    cargo_load(&goes, b, p->now + b->clock);
    g_assert_cmpuint(stays.values->len, ==, goes.values->len);
    for (i = 0; i < stays.values->len; i++) {
        if (g_array_index(stays.values, uint64_t, i) !=
            g_array_index(goes.values, uint64_t, i)) {
            g_error("value %u is 0x%" PRIx64 ", not 0x%" PRIx64, i,
                    g_array_index(goes.values, uint64_t, i),
                    g_array_index(stays.values, uint64_t, i));
        }
    }
    cargo_free(&stays);
    cargo_free(&goes);
    g_assert_cmpuint(a->scope.inflight, ==, b->scope.inflight);
    g_assert_cmpuint(a->scope.backlog, ==, b->scope.backlog);
    g_assert_cmphex(a->scope.waits.slices, ==, b->scope.waits.slices);
    for (i = 0; i < CQS; i++) {
        g_assert_cmpuint(a->cq[i].inflight, ==, b->cq[i].inflight);
        g_assert_cmpmem(a->cq[i].waiters, sizeof(a->cq[i].waiters),
                        b->cq[i].waiters, sizeof(b->cq[i].waiters));
    }
}

/*
 * Events, to both
 */

static void same(Pair *p, CintAction stays, CintAction goes)
{
    unsigned i;

    g_assert_cmpint(stays.fire, ==, goes.fire);
    g_assert_cmpint(stays.reason, ==, goes.reason);
    g_assert_cmpuint(stays.covered, ==, goes.covered);
    for (i = 0; i < CQS; i++) {
        int64_t want = cint_deadline(&p->stays->cq[i]);
        int64_t got = cint_deadline(&p->goes->cq[i]);

        g_assert_cmpint(want, ==, got == CINT_NO_DEADLINE ?
                                  got : got - p->goes->clock);
    }
}

#define BOTH(p, call) do {                                              \
        Engine *e = (p)->stays;                                         \
        int64_t now = (p)->now + e->clock;                              \
        CintAction a = call, b;                                         \
                                                                        \
        e = (p)->goes;                                                  \
        now = (p)->now + e->clock;                                      \
        b = call;                                                       \
        same(p, a, b);                                                  \
    } while (0)

static void expire(Pair *p, int64_t until)
{
    unsigned i;

    for (i = 0; i < CQS; i++) {
        int64_t deadline;

        while ((deadline = cint_deadline(&p->stays->cq[i])) <= until) {
            p->now = MAX(p->now, deadline);
            BOTH(p, cint_timer(&e->cq[i], now));
        }
    }
    p->now = until;
}

static void do_submit(Pair *p)
{
    unsigned sq = pick(0, SQS - 1), n = PICK_OF(1, 1, 1, 2, 5), i;

    for (i = 0; i < CMDS && n; i++) {
        uint8_t hints = PICK_OF(0, 0, 0, 1, 2, 3);
        uint8_t sources = hints ? PICK_OF(1, 2, 3, 8) : 0;
        uint32_t page = pick(0, PAGES);
        uint8_t content = pick(0, CINT_NR_CONTENTS - 1);

        if (p->flying[sq][i]) {
            continue;
        }
        p->flying[sq][i] = true;
        n--;
        p->stays->cmd[sq][i].page = p->goes->cmd[sq][i].page = page;
        p->stays->cmd[sq][i].content = p->goes->cmd[sq][i].content = content;
        BOTH(p, cint_submit(&e->sq[sq], &e->cmd[sq][i], now, hints, sources));
    }
    if (!one_in(4)) {
        BOTH(p, cint_doorbell(&e->sq[sq], now));
    }
}

static bool random_flying(Pair *p, unsigned *sq, unsigned *cmd)
{
    unsigned first = pick(0, SQS * CMDS - 1), i;

    for (i = 0; i < SQS * CMDS; i++) {
        *sq = (first + i) % (SQS * CMDS) / CMDS;
        *cmd = (first + i) % CMDS;
        if (p->flying[*sq][*cmd]) {
            return true;
        }
    }
    return false;
}

static void do_complete(Pair *p)
{
    unsigned n = PICK_OF(1, 1, 2, 4), sq = 0, cmd;
    bool error = one_in(40);

    while (n-- && random_flying(p, &sq, &cmd)) {
        CintCq *cq = cq_of(p->stays, sq);

        if (cq->tail - cq->head >= cq->size - 1) {
            break;
        }
        p->flying[sq][cmd] = false;
        BOTH(p, cint_complete(&e->sq[sq], &e->cmd[sq][cmd], now, error));
    }
    BOTH(p, cint_pass_end(cq_of(e, sq), now));
}

static void do_head(Pair *p)
{
    unsigned i = pick(0, CQS - 1);
    CintCq *cq = &p->stays->cq[i];
    uint32_t head = one_in(2) ? cq->tail
                              : cq->head + pick(0, cq->tail - cq->head);

    BOTH(p, cint_head(&e->cq[i], now, head));
}

static void do_publish(Pair *p)
{
    unsigned sq = pick(0, SQS - 1), n = PICK_OF(0, 0, 1, 3, 8);

    BOTH(p, cint_published(&e->sq[sq], now, n));
}

static void do_cancel(Pair *p)
{
    unsigned sq, cmd;

    if (random_flying(p, &sq, &cmd)) {
        p->flying[sq][cmd] = false;
        BOTH(p, cint_cancel(&e->sq[sq], &e->cmd[sq][cmd], now));
    }
}

static void do_pointer(Pair *p)
{
    unsigned i = pick(0, CQS - 1);
    uint32_t k = pick(1, p->stays->cq[i].size - 1);

    if (one_in(5)) {
        BOTH(p, cint_pointer_off(&e->cq[i], now));
    } else {
        BOTH(p, cint_pointer(&e->cq[i], now, e->cq[i].head + k));
    }
}

static void do_change(Pair *p, const CintConfig *config)
{
    unsigned i = pick(0, CQS - 1), sq = pick(0, SQS - 1);
    bool on = one_in(2);

    switch (pick(0, 5)) {
    case 0:
        BOTH(p, cint_set_record(&e->cq[i], now, on));
        break;
    case 1:
        BOTH(p, cint_rang(&e->cq[i], now));
        break;
    case 2:
        cint_set_masked(&p->stays->cq[i], on);
        cint_set_masked(&p->goes->cq[i], on);
        break;
    case 3:
        BOTH(p, cint_configure(&e->cq[i], now, config));
        break;
    case 4:
        BOTH(p, cint_disable(&e->cq[i], now, on));
        break;
    case 5:
        BOTH(p, cint_delete_sq(&e->sq[sq], now));
        cint_sq_init(&p->stays->sq[sq], cq_of(p->stays, sq));
        cint_sq_init(&p->goes->sq[sq], cq_of(p->goes, sq));
        memset(p->flying[sq], 0, sizeof(p->flying[sq]));
        break;
    }
}

static void event(Pair *p, int policy)
{
    CintConfig config;

    switch (pick(0, 11)) {
    case 0: case 1: case 2:
        do_submit(p);
        break;
    case 3: case 4: case 5: case 6:
        do_complete(p);
        break;
    case 7: case 8:
        do_head(p);
        break;
    case 9:
        do_publish(p);
        break;
    case 10:
        do_pointer(p);
        break;
    case 11:
        if (one_in(2)) {
            do_cancel(p);
        } else if (one_in(4)) {
            config = random_config(policy);
            do_change(p, &config);
        }
        break;
    }
}

static int64_t later(const Pair *p)
{
    int64_t deadline = cint_deadline(&p->stays->cq[0]);

    if (deadline != CINT_NO_DEADLINE && one_in(3)) {
        deadline += pick(-1, 1);
        return MAX(p->now, deadline);
    }
    return p->now + (one_in(100) ? pick(0, 100000000) :
                     one_in(20) ? pick(0, 3000000) :
                     pick(0, PICK_OF(1, 100, 1000, 10000)));
}

static void pair_begin(Pair *p, int policy)
{
    CintConfig config = random_config(policy);
    uint32_t size = PICK_OF(2, 3, 4, 16, 64, 1024);

    memset(p, 0, sizeof(*p));
    p->one_clock = one_in(2);
    p->stays = engine_new(&config, size);
    p->goes = engine_new(&config, size);
}

static void pair_end(Pair *p)
{
    g_free(p->stays);
    g_free(p->goes);
}

static void stream(int policy)
{
    unsigned i, often = PICK_OF(1, 3, 20, 100);
    Pair p;

    pair_begin(&p, policy);
    for (i = 0; i < EVENTS; i++) {
        expire(&p, later(&p));
        event(&p, policy);
        if (one_in(often) || i == EVENTS / 2) {
            move(&p);
        }
    }
    if (p.one_clock) {
        same_state(&p);
    }
    expire(&p, p.now + 20000000000);
    pair_end(&p);
}

static void test_policy(gconstpointer policy)
{
    unsigned i;

    for (i = 0; i < STREAMS; i++) {
        stream(GPOINTER_TO_INT(policy));
    }
}

/*
 * Medium and arbiter
 */

static int64_t reserve(CintMedia *media, int64_t now, CintMediaClaim *claim,
                       bool is_write, uint64_t bytes)
{
    return cint_media_reserve(media, now, is_write, bytes, claim) - now;
}

static void carry_media(CintMedia *media, int64_t now, int64_t then)
{
    g_autofree uint64_t *values =
        g_new(uint64_t, cint_carry_count(cint_media_fields));
    CintMediaParams params = media->params;
    CintMisfit misfit;

    cint_carry_save(cint_media_fields, media, now, values);
    memset(media, 0xa5, sizeof(*media));
    cint_media_init(media, &params);
    g_assert_true(cint_carry_load(cint_media_fields, media, then, values,
                                  &misfit));
}

static void carry_claim(CintMediaClaim *claim, int64_t now, int64_t then)
{
    uint64_t values[MOST_VALUES];
    CintMisfit misfit;

    cint_carry_save(cint_claim_fields, claim, now, values);
    memset(claim, 0xa5, sizeof(*claim));
    g_assert_true(cint_claim_load(claim, then, values, &misfit));
}

static void test_media(void)
{
    int profile;

    for (profile = 0; profile < CINT_NR_MEDIA; profile++) {
        CintMediaParams params = { .profile = profile, .seed = 7 };
        CintMedia stays, goes;
        int64_t now = 0, clock = 0;
        unsigned i;

        cint_media_profile(&params);
        cint_media_init(&stays, &params);
        cint_media_init(&goes, &params);
        for (i = 0; i < 2000; i++) {
            bool is_write = one_in(3);
            uint64_t bytes = pick(0, 65536);
            CintMediaClaim a, b;

            now += pick(0, PICK_OF(0, 10, 10000));
            g_assert_cmpint(reserve(&stays, now, &a, is_write, bytes), ==,
                            reserve(&goes, now + clock, &b, is_write, bytes));
            if (one_in(5)) {
                int64_t other = pick(0, 1000000000);

                carry_media(&goes, now + clock, now + other);
                carry_claim(&b, now + clock, now + other);
                clock = other;
            }
            if (one_in(3)) {
                cint_media_refund(&stays, now, &a);
                cint_media_refund(&goes, now + clock, &b);
            }
        }
    }
}

#define ARB_SQS     6

typedef struct Arbiter {
    CintArb arb;
    CintArbSq sq[ARB_SQS];
} Arbiter;

static void carry_arbiter(Arbiter *a, uint32_t feature)
{
    uint64_t arb[MOST_VALUES], sq[ARB_SQS][MOST_VALUES];
    uint32_t slots = a->arb.slots, used = a->arb.used, place, i;
    uint32_t places[ARB_SQS];
    bool weighted = a->arb.weighted;
    CintMisfit misfit;

    cint_carry_save(cint_arb_fields, &a->arb, 0, arb);
    for (i = 0; i < ARB_SQS; i++) {
        cint_carry_save(cint_arb_sq_fields, &a->sq[i], 0, sq[i]);
        places[i] = cint_arb_place(&a->arb, &a->sq[i]);
    }
    memset(a, 0xa5, sizeof(*a));
    cint_arb_init(&a->arb, slots);
    cint_arb_set_feature(&a->arb, feature);
    cint_arb_set_weighted(&a->arb, weighted);
    for (place = 0; place <= ARB_SQS; place++) {
        for (i = 0; i < ARB_SQS; i++) {
            if (places[i] == place) {
                g_assert_true(cint_arb_sq_load(&a->arb, &a->sq[i], sq[i],
                                               &misfit));
            }
        }
    }
    g_assert_true(cint_arb_load(&a->arb, arb, &misfit));
    a->arb.used = used;
}

static int next_of(Arbiter *a)
{
    CintArbSq *sq = cint_arb_next(&a->arb);

    return sq ? sq - a->sq : -1;
}

static void arbiter_event(Arbiter *a, unsigned what, unsigned sq,
                          uint32_t backlog)
{
    if (what < 2) {
        cint_arb_set_backlog(&a->arb, &a->sq[sq], backlog);
    } else if (what < 4 && a->sq[sq].backlog &&
               cint_arb_may_fetch(&a->arb, &a->sq[sq])) {
        cint_arb_fetched(&a->arb, &a->sq[sq]);
    } else if (a->arb.used) {
        cint_arb_done(&a->arb);
    }
}

static void arbiter_stream(bool weighted, uint32_t feature, uint32_t slots)
{
    Arbiter stays, goes;
    unsigned i;
    int next;

    memset(&stays, 0, sizeof(stays));
    cint_arb_init(&stays.arb, slots);
    cint_arb_set_feature(&stays.arb, feature);
    cint_arb_set_weighted(&stays.arb, weighted);
    memset(&goes, 0, sizeof(goes));
    goes.arb = stays.arb;
    for (i = 0; i < ARB_SQS; i++) {
        CintArbClass class = pick(0, CINT_ARB_NR_CLASSES - 1);

        cint_arb_sq_init(&stays.sq[i], class);
        cint_arb_sq_init(&goes.sq[i], class);
    }
    for (i = 0; i < 300; i++) {
        unsigned what = pick(0, 4), sq = pick(0, ARB_SQS - 1);
        uint32_t backlog = pick(0, 9);

        arbiter_event(&stays, what, sq, backlog);
        arbiter_event(&goes, what, sq, backlog);
        do {
            next = next_of(&stays);
            g_assert_cmpint(next, ==, next_of(&goes));
            if (one_in(5)) {
                carry_arbiter(&goes, feature);
            }
        } while (next >= 0);
    }
}

static void test_arbiter(void)
{
    unsigned i;

    for (i = 0; i < 300; i++) {
        arbiter_stream(one_in(2), PICK_OF(0, 7, 3, 0x03020100, 0x09000502),
                       pick(0, 9));
    }
}

/*
 * What may come in
 */

static uint64_t hostile_value(uint64_t value)
{
    switch (pick(0, 5)) {
    case 0:
        return value + pick(-2, 2);
    case 1:
        return (uint64_t)1 << pick(0, 63);
    case 2:
        return -(uint64_t)pick(1, 1000000);
    case 3:
        return value ^ (uint64_t)1 << pick(0, 63);
    case 4:
        return PICK_OF(0, 1, 255, 65535, UINT32_MAX, INT64_MAX, INT64_MIN, -1);
    default:
        return pick(0, INT32_MAX - 1);
    }
}

static void change_some(Cargo *cargo)
{
    unsigned pages = cint_carry_count(cint_scope_fields), n = pick(1, 4);

    while (n--) {
        unsigned i = pick(0, cargo->values->len - CINT_WAITS_ENTRIES - 1);
        uint64_t *value;

        /* Of the pages, which are many, only a few. */
        i += i >= pages ? CINT_WAITS_ENTRIES - pick(0, 1) : 0;
        value = &g_array_index(cargo->values, uint64_t, i);
        *value = hostile_value(*value);
    }
}

/* The engine that took it goes on alone, through anything, to the end. */
static void go_on(Pair *p, int policy)
{
    unsigned i;

    *p->stays = *p->goes;
    for (i = 0; i < SQS; i++) {
        CintCmd *cmd;

        memset(p->flying[i], 0, sizeof(p->flying[i]));
        for (cmd = cint_first_cmd(&p->goes->sq[i]); cmd; cmd = cmd->next) {
            p->flying[i][cmd - p->goes->cmd[i]] = true;
        }
    }
    for (i = 0; i < 60; i++) {
        Engine *e = p->goes;
        unsigned sq, cmd, n = 0;
        CintCq *cq = &e->cq[i % CQS];
        int64_t now = p->now + e->clock + i * 500;

        while (cint_deadline(cq) <= now && n++ < 4) {
            cint_timer_late(cq, cint_deadline(cq), now);
        }
        g_assert_cmpuint(n, <=, 4);
        if (random_flying(p, &sq, &cmd)) {
            CintCq *of = cq_of(e, sq);

            p->flying[sq][cmd] = false;
            if (of->tail - of->head < of->size - 1) {
                cint_complete(&e->sq[sq], &e->cmd[sq][cmd], now, false);
            } else {
                cint_cancel(&e->sq[sq], &e->cmd[sq][cmd], now);
            }
        } else {
            sq = pick(0, SQS - 1);
            p->flying[sq][0] = true;
            e->cmd[sq][0].page = pick(0, PAGES);
            e->cmd[sq][0].content = CINT_CONTENT_PLAIN;
            cint_submit(&e->sq[sq], &e->cmd[sq][0], now, 0, 0);
            cint_doorbell(&e->sq[sq], now);
        }
        cint_pass_end(cq, now);
        cint_head(cq, now, one_in(2) ? cq->tail : cq->head);
        cint_deadline(cq);
    }
}

static void test_hostile(void)
{
    unsigned i, refused = 0, taken = 0;

    for (i = 0; i < 4000; i++) {
        int policy = pick(0, CINT_NR_POLICIES - 1);
        CintMisfit misfit = { .field = NULL };
        unsigned events = pick(0, 60);
        Cargo cargo;
        Pair p;

        pair_begin(&p, policy);
        while (events--) {
            expire(&p, later(&p));
            event(&p, policy);
        }
        cargo_load(&cargo, p.goes, p.now);
        change_some(&cargo);
        if (cargo_unload(&cargo, p.goes, p.now, &misfit)) {
            taken++;
            go_on(&p, policy);
        } else {
            refused++;
            g_assert_nonnull(misfit.field);
            g_assert_true(misfit.value < misfit.min ||
                          misfit.value > misfit.max);
        }
        cargo_free(&cargo);
        pair_end(&p);
    }
    g_test_message("%u refused, %u taken", refused, taken);
    g_assert_cmpuint(refused, >, 300);
    g_assert_cmpuint(taken, >, 300);
}

/* What is carried is all that there is: none of it is made anew. */
static void test_each_field_counts(void)
{
    const CintField *field;
    CintConfig config = random_config(NVME_CINT_POLICY_ADAPTIVE);
    CintScope scope;
    CintCq cq, other;
    uint64_t values[MOST_VALUES];
    CintMisfit misfit;
    size_t i = 0;

    cint_scope_init(&scope);
    cint_cq_init(&cq, &scope, 16, &config);
    for (field = cint_cq_fields; field->name; field++, i++) {
        cint_carry_save(cint_cq_fields, &cq, 5000, values);
        values[i] = field->kind == CINT_FIELD_VALUE ? values[i] ^ 1
                                                    : (uint64_t)-77;
        cint_cq_init(&other, &scope, 16, &config);
        cint_carry_load(cint_cq_fields, &other, 5000, values, &misfit);
        g_assert_cmpint(memcmp(&other, &cq, sizeof(cq)), !=, 0);
    }
    g_assert_cmpuint(i, ==, cint_carry_count(cint_cq_fields));
}

static void test_misfit_is_named(void)
{
    CintConfig config = random_config(NVME_CINT_POLICY_ADAPTIVE);
    uint64_t values[MOST_VALUES];
    CintMisfit misfit;
    CintScope scope;
    CintCq cq;
    size_t i = 0;

    cint_scope_init(&scope);
    cint_cq_init(&cq, &scope, 16, &config);
    cint_carry_save(cint_cq_fields, &cq, 0, values);
    while (strcmp(cint_cq_fields[i].name, "tail")) {
        i++;
    }
    values[i] = 16;
    g_assert_false(cint_cq_load(&cq, 0, values, &misfit));
    g_assert_cmpstr(misfit.field, ==, "tail - head");
    g_assert_cmpint(misfit.value, ==, 16);
    g_assert_cmpint(misfit.min, ==, 0);
    g_assert_cmpint(misfit.max, ==, 15);
}

typedef struct Small {
    uint8_t one, behind_one[7];
    uint16_t two, behind_two[3];
    uint32_t four, behind_four;
    int64_t past;
} Small;

/* Each field is set, and what lies behind it is left alone. */
static void test_nothing_beside(void)
{
    static const CintField fields[] = {
        CINT_CARRY_ALL(Small, four),
        CINT_CARRY_ALL(Small, two),
        CINT_CARRY_ALL(Small, one),
        { .name = NULL },
    };
    const uint64_t values[] = { 0x11223344, 0x5566, 0x77 };
    Small small, want;
    CintMisfit misfit;

    memset(&small, 0xa5, sizeof(small));
    want = small;
    want.one = 0x77;
    want.two = 0x5566;
    want.four = 0x11223344;
    g_assert_true(cint_carry_load(fields, &small, 0, values, &misfit));
    g_assert_cmpmem(&small, sizeof(small), &want, sizeof(want));
}

static void test_past(void)
{
    static const CintField fields[] = {
        CINT_CARRY_PAST(Small, past),
        { .name = NULL },
    };
    uint64_t value = -5;
    CintMisfit misfit;
    Small small;

    g_assert_true(cint_carry_load(fields, &small, 100, &value, &misfit));
    g_assert_cmpint(small.past, ==, 95);
    value = 1;
    g_assert_false(cint_carry_load(fields, &small, 100, &value, &misfit));
    g_assert_cmpstr(misfit.field, ==, "past");
    g_assert_cmpint(misfit.max, ==, 0);
    value = INT64_MAX;
    g_assert_false(cint_carry_load(fields, &small, 100, &value, &misfit));
}

int main(int argc, char **argv)
{
    static const SuiteTest tests[] = {
        { "media", test_media },
        { "arbiter", test_arbiter },
        { "hostile", test_hostile },
        { "each-field-counts", test_each_field_counts },
        { "misfit-is-named", test_misfit_is_named },
        { "nothing-beside", test_nothing_beside },
        { "past", test_past },
    };
    int i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < CINT_NR_POLICIES; i++) {
        g_autofree char *path = g_strdup_printf("/carried/same/%s",
                                                cint_policy_names[i]);

        g_test_add_data_func(path, GINT_TO_POINTER(i), test_policy);
    }
    suite_add("/carried", tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
