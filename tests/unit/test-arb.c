/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Command arbitration: strict urgent class, weights, bursts and slots, and
 * random programs against an independent arbiter.
 */
#include <string.h>

#include "model-arb.h"

#define SQS     MODEL_ARB_SQS
#define STEPS   20000

static const unsigned some_slots[] = { 1, 4, 8, 64 };

typedef struct World {
    CintArb arb;
    CintArbSq sq[SQS];
    unsigned nr_sqs;
    unsigned got[SQS];      /* slots granted */
    GString *order;         /* of the grants, a letter a queue */
} World;

static World *start(unsigned slots, bool weighted, const CintArbClass *classes,
                    unsigned nr_sqs)
{
    World *w = g_new0(World, 1);
    unsigned i;

    cint_arb_init(&w->arb, slots);
    cint_arb_set_weighted(&w->arb, weighted);
    w->nr_sqs = nr_sqs;
    w->order = g_string_new(NULL);
    for (i = 0; i < nr_sqs; i++) {
        cint_arb_sq_init(&w->sq[i], classes ? classes[i] : CINT_ARB_URGENT);
    }
    return w;
}

static void finish(World *w)
{
    g_string_free(w->order, true);
    g_free(w);
}

/* Grants what there is. Returns how much. */
static unsigned grant(World *w)
{
    CintArbSq *sq;
    unsigned n;

    for (n = 0; (sq = cint_arb_next(&w->arb)); n++) {
        w->got[sq - w->sq]++;
        g_string_append_c(w->order, 'a' + (sq - w->sq));
    }
    return n;
}

static void ring(World *w, unsigned sq, unsigned n)
{
    cint_arb_set_backlog(&w->arb, &w->sq[sq], w->sq[sq].backlog + n);
    grant(w);
}

/* Every queue fetches what it may, from the first on or from the last on. */
static void fetch(World *w, bool backwards)
{
    unsigned i;

    for (i = 0; i < w->nr_sqs; i++) {
        CintArbSq *sq = &w->sq[backwards ? w->nr_sqs - 1 - i : i];

        while (sq->backlog && cint_arb_may_fetch(&w->arb, sq)) {
            cint_arb_fetched(&w->arb, sq);
            grant(w);
        }
    }
}

/* The medium is done with @n commands, one after the other. */
static void done(World *w, unsigned n)
{
    while (n--) {
        cint_arb_done(&w->arb);
        grant(w);
    }
}

static void expect(World *w, const char *want)
{
    g_assert_cmpstr(w->order->str, ==, want);
    g_string_truncate(w->order, 0);
}

/* ---- One rule at a time ---- */

/* Whatever the memory was that an arbiter and a queue are in. */
static void test_init(void)
{
    CintArb arb[2];
    CintArbSq sq[2];
    unsigned i;

    for (i = 0; i < 2; i++) {
        memset(&arb[i], i ? 0x5a : 0, sizeof(arb[i]));
        memset(&sq[i], i ? 0x5a : 0, sizeof(sq[i]));
        cint_arb_init(&arb[i], 8);
        cint_arb_sq_init(&sq[i], CINT_ARB_LOW);
    }
    g_assert_cmpint(memcmp(&arb[0], &arb[1], sizeof(arb[0])), ==, 0);
    g_assert_cmpint(memcmp(&sq[0], &sq[1], sizeof(sq[0])), ==, 0);
}

/* Seven low queues with a backlog, one urgent: urgent gets all there is. */
static void test_strict_urgent(gconstpointer opaque)
{
    static const CintArbClass classes[] = {
        CINT_ARB_LOW, CINT_ARB_LOW, CINT_ARB_LOW, CINT_ARB_LOW, CINT_ARB_LOW,
        CINT_ARB_LOW, CINT_ARB_LOW, CINT_ARB_URGENT,
    };
    unsigned slots = GPOINTER_TO_UINT(opaque), i;
    World *w = start(slots, true, classes, 8);

    for (i = 0; i < 7; i++) {
        ring(w, i, 1000);
    }
    fetch(w, false);
    ring(w, 7, 2 * slots);
    g_string_truncate(w->order, 0);
    for (i = 0; i < 2; i++) {
        done(w, slots);
        fetch(w, i);
        g_assert_cmpuint(strspn(w->order->str, "h"), ==, w->order->len);
        g_assert_cmpuint(w->order->len, ==, slots);
        g_string_truncate(w->order, 0);
    }
    g_assert_cmpuint(w->sq[7].backlog, ==, 0);
    done(w, slots);
    g_assert_null(strchr(w->order->str, 'h'));
    g_assert_cmpuint(w->order->len, ==, slots);
    finish(w);
}

/* The first to ring takes the slots; who fetches first does not matter. */
static void test_first_come(gconstpointer opaque)
{
    static const CintArbClass classes[] = { CINT_ARB_LOW, CINT_ARB_URGENT };
    World *w = start(4, true, classes, 2);
    bool backwards = GPOINTER_TO_UINT(opaque);

    ring(w, 1, 4);
    ring(w, 0, 28);
    fetch(w, backwards);
    expect(w, "bbbb");
    g_assert_false(cint_arb_may_fetch(&w->arb, &w->sq[0]));
    done(w, 3);
    expect(w, "aaa");
    finish(w);
}

/* With all classes waiting, a round is each class's weight, exactly. */
static void test_weights(gconstpointer opaque)
{
    static const CintArbClass classes[] = {
        CINT_ARB_HIGH, CINT_ARB_MEDIUM, CINT_ARB_LOW,
    };
    unsigned slots = GPOINTER_TO_UINT(opaque), i;
    World *w = start(slots, true, classes, 3);

    cint_arb_set_feature(&w->arb, 7u << 24 | 2 << 16 | 0 << 8 | 7);
    for (i = 0; i < 3; i++) {
        cint_arb_set_backlog(&w->arb, &w->sq[i], 100000);
    }
    grant(w);
    for (i = slots; i < 12 * 64; i++) {
        fetch(w, i & 1);
        done(w, 1);
    }
    g_assert_cmpuint(w->got[0], ==, 8 * 64);
    g_assert_cmpuint(w->got[1], ==, 3 * 64);
    g_assert_cmpuint(w->got[2], ==, 1 * 64);
    g_assert_true(g_str_has_prefix(w->order->str, "aaaaaaaabbbcaaaaaaaabbbc"));
    finish(w);
}

/* A class that is idle leaves its share to the others. */
static void test_idle_class(void)
{
    static const CintArbClass classes[] = { CINT_ARB_HIGH, CINT_ARB_LOW };
    World *w = start(64, true, classes, 2);

    cint_arb_set_feature(&w->arb, 7u << 24);
    ring(w, 0, 3);
    ring(w, 1, 20);
    expect(w, "aaabbbbbbbbbbbbbbbbbbbb");
    finish(w);
}

static void test_round_robin(void)
{
    static const CintArbClass classes[] = {
        CINT_ARB_LOW, CINT_ARB_URGENT, CINT_ARB_HIGH,
    };
    World *w = start(1, false, classes, 3);
    unsigned i;

    ring(w, 0, 3);
    ring(w, 1, 3);
    ring(w, 2, 3);
    for (i = 0; i < 9; i++) {
        fetch(w, false);
        done(w, 1);
    }
    expect(w, "aabcabcbc");
    finish(w);
}

static void test_burst(void)
{
    World *w = start(0, false, NULL, 3);

    cint_arb_set_feature(&w->arb, 2);
    cint_arb_set_backlog(&w->arb, &w->sq[0], 6);
    cint_arb_set_backlog(&w->arb, &w->sq[1], 3);
    cint_arb_set_backlog(&w->arb, &w->sq[2], 5);
    cint_arb_set_slots(&w->arb, 14);
    grant(w);
    expect(w, "aaaabbbccccaac");
    finish(w);
}

/* The urgent class interrupts a turn, which then goes on. */
static void test_burst_goes_on(void)
{
    static const CintArbClass classes[] = {
        CINT_ARB_LOW, CINT_ARB_LOW, CINT_ARB_URGENT,
    };
    World *w = start(2, true, classes, 3);

    cint_arb_set_feature(&w->arb, 2);
    ring(w, 0, 10);
    ring(w, 1, 10);
    fetch(w, false);
    ring(w, 2, 1);
    done(w, 1);
    fetch(w, false);
    done(w, 2);
    fetch(w, false);
    done(w, 1);
    expect(w, "aacaab");
    finish(w);
}

/* Slots that are added while queues wait are granted at once. */
static void test_more_slots(void)
{
    World *w = start(1, false, NULL, 2);

    ring(w, 0, 10);
    ring(w, 1, 10);
    expect(w, "a");
    cint_arb_set_slots(&w->arb, 4);
    g_assert_cmpuint(grant(w), ==, 3);
    expect(w, "aba");
    /* Any number: grants are not needed any more. */
    cint_arb_set_slots(&w->arb, 0);
    g_assert_cmpuint(grant(w), ==, 0);
    g_assert_true(cint_arb_may_fetch(&w->arb, &w->sq[1]));
    fetch(w, false);
    g_assert_cmpuint(w->arb.used, ==, 20);
    g_assert_cmpuint(w->arb.granted, ==, 0);
    finish(w);
}

/* What exceeds fewer slots goes on; nothing new until there is room. */
static void test_fewer_slots(void)
{
    World *w = start(8, false, NULL, 1);

    ring(w, 0, 20);
    fetch(w, false);
    cint_arb_set_slots(&w->arb, 2);
    done(w, 6);
    expect(w, "aaaaaaaa");
    done(w, 1);
    expect(w, "a");
    finish(w);
}

/* A queue that shrinks, or goes, gives back what it was granted. */
static void test_given_back(void)
{
    World *w = start(4, false, NULL, 2);

    ring(w, 0, 4);
    ring(w, 1, 4);
    expect(w, "aaaa");
    cint_arb_set_backlog(&w->arb, &w->sq[0], 3);
    grant(w);
    expect(w, "b");
    cint_arb_set_backlog(&w->arb, &w->sq[0], 0);
    grant(w);
    expect(w, "bbb");
    finish(w);
}

/* ---- Random programs ---- */

typedef struct Pair {
    World *w;
    ModelArb model;
} Pair;

static void check_grant(Pair *p, int sq)
{
    g_assert_cmpint(model_arb_next(&p->model), ==, sq);
}

/*
 * Grants all there is, and checks what must hold of any arbiter: urgent goes
 * first, no slot is granted twice, none stays free while somebody waits.
 */
static void grant_both(Pair *p)
{
    CintArb *arb = &p->w->arb;
    CintArbSq *sq;

    for (;;) {
        bool urgent = p->model.weighted &&
                      model_arb_waits(&p->model, CINT_ARB_URGENT);

        sq = cint_arb_next(arb);
        check_grant(p, sq ? (int)(sq - p->w->sq) : -1);
        if (!sq) {
            break;
        }
        g_assert_true(!urgent || sq->class == CINT_ARB_URGENT);
        g_assert_cmpuint(arb->used + arb->granted, <=, arb->slots);
        g_assert_cmpuint(sq->granted, <=, sq->backlog);
    }
    g_assert_cmpuint(arb->granted, ==, model_arb_granted(&p->model));
    g_assert_cmpuint(arb->used, ==, p->model.used);
    g_assert_true(!arb->slots || arb->used + arb->granted >= arb->slots ||
                  !model_arb_anyone_waits(&p->model));
}

static unsigned below(unsigned limit)
{
    return g_test_rand_int_range(0, limit);
}

static void random_backlog(Pair *p, unsigned sq)
{
    unsigned n = p->model.sq[sq].backlog;

    n = below(8) ? n + below(20) : below(n + 1);
    cint_arb_set_backlog(&p->w->arb, &p->w->sq[sq], n);
    model_arb_set_backlog(&p->model, sq, n);
}

static void random_fetch(Pair *p, unsigned sq)
{
    unsigned n = below(8);

    while (n-- && p->w->sq[sq].backlog &&
           cint_arb_may_fetch(&p->w->arb, &p->w->sq[sq])) {
        cint_arb_fetched(&p->w->arb, &p->w->sq[sq]);
        model_arb_fetched(&p->model, sq);
    }
}

static void random_done(Pair *p)
{
    unsigned n = below(p->model.used + 1);

    while (n--) {
        cint_arb_done(&p->w->arb);
        p->model.used--;
    }
}

static void random_settings(Pair *p, unsigned slots)
{
    static const uint32_t features[] = {
        7, 0, 0x03010002, 0x00000001, 0xff000007, 0x00050302,
    };

    if (below(2)) {
        p->model.feature = features[below(G_N_ELEMENTS(features))];
        cint_arb_set_feature(&p->w->arb, p->model.feature);
    } else {
        p->model.slots = below(4) ? slots : below(slots * 2);
        cint_arb_set_slots(&p->w->arb, p->model.slots);
    }
}

/* A queue goes away, and another comes in its place. */
static void random_replace(Pair *p, unsigned sq)
{
    CintArbClass class = below(CINT_ARB_NR_CLASSES);

    cint_arb_set_backlog(&p->w->arb, &p->w->sq[sq], 0);
    model_arb_set_backlog(&p->model, sq, 0);
    cint_arb_sq_init(&p->w->sq[sq], class);
    p->model.sq[sq].class = class;
}

static void random_step(Pair *p, unsigned slots)
{
    unsigned sq = below(SQS), what = below(100);

    if (what < 30) {
        random_backlog(p, sq);
    } else if (what < 65) {
        random_fetch(p, sq);
    } else if (what < 95) {
        random_done(p);
    } else if (what < 97) {
        random_settings(p, slots);
    } else {
        random_replace(p, sq);
    }
}

static void test_random(gconstpointer opaque)
{
    unsigned slots = GPOINTER_TO_UINT(opaque) / 2;
    bool weighted = GPOINTER_TO_UINT(opaque) % 2;
    CintArbClass classes[SQS];
    Pair p;
    unsigned i;

    for (i = 0; i < SQS; i++) {
        classes[i] = below(CINT_ARB_NR_CLASSES);
    }
    p.w = start(slots, weighted, classes, SQS);
    model_arb_init(&p.model, slots, weighted);
    for (i = 0; i < SQS; i++) {
        p.model.sq[i].class = classes[i];
    }
    for (i = 0; i < STEPS; i++) {
        random_step(&p, slots);
        grant_both(&p);
    }
    model_arb_free(&p.model);
    finish(p.w);
}

/*
 * Queues that always have something to fetch: within a class no two differ by
 * more than a turn, and between classes shares are as the weights.
 */
static void test_shares(gconstpointer opaque)
{
    static const uint32_t feature = 5u << 24 | 3 << 16 | 1 << 8 | 2;
    unsigned slots = GPOINTER_TO_UINT(opaque), i, n = 12 * 500;
    unsigned share[CINT_ARB_NR_CLASSES] = { 0 };
    CintArbClass classes[9];
    World *w;

    for (i = 0; i < G_N_ELEMENTS(classes); i++) {
        classes[i] = CINT_ARB_HIGH + i % 3;
    }
    w = start(slots, true, classes, G_N_ELEMENTS(classes));
    cint_arb_set_feature(&w->arb, feature);
    for (i = 0; i < w->nr_sqs; i++) {
        cint_arb_set_backlog(&w->arb, &w->sq[i], n);
    }
    grant(w);
    for (i = slots; i < n; i++) {
        fetch(w, g_test_rand_bit());
        done(w, 1);
    }
    for (i = 0; i < w->nr_sqs; i++) {
        share[classes[i]] += w->got[i];
        g_assert_cmpint(ABS((int)w->got[i] - (int)w->got[i % 3]), <=,
                        (int)model_arb_burst(feature));
    }
    for (i = CINT_ARB_HIGH; i <= CINT_ARB_LOW; i++) {
        g_assert_cmpuint(share[i], ==, 500 * model_arb_weight(feature, i));
    }
    finish(w);
}

static void add(const char *claim, unsigned slots, const char *how,
                unsigned data, GTestDataFunc func)
{
    char *path = g_strdup_printf("/arb/%s/slots-%u%s", claim, slots, how);

    g_test_add_data_func(path, GUINT_TO_POINTER(data), func);
    g_free(path);
}

int main(int argc, char **argv)
{
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < G_N_ELEMENTS(some_slots); i++) {
        unsigned n = some_slots[i];

        add("urgent-is-strict", n, "", n, test_strict_urgent);
        add("weights-are-exact", n, "", n, test_weights);
        add("shares-are-fair", n, "", n, test_shares);
        add("independent-arbiter-agrees", n, "", 2 * n, test_random);
        add("independent-arbiter-agrees", n, "-weighted", 2 * n + 1,
            test_random);
    }
    g_test_add_data_func("/arb/first-come/fetched-in-order",
                         GUINT_TO_POINTER(false), test_first_come);
    g_test_add_data_func("/arb/first-come/fetched-backwards",
                         GUINT_TO_POINTER(true), test_first_come);
    g_test_add_func("/arb/init", test_init);
    g_test_add_func("/arb/idle-class-holds-nobody-up", test_idle_class);
    g_test_add_func("/arb/round-robin-knows-no-priority", test_round_robin);
    g_test_add_func("/arb/burst", test_burst);
    g_test_add_func("/arb/urgent-does-not-end-a-burst", test_burst_goes_on);
    g_test_add_func("/arb/more-slots-are-granted-at-once", test_more_slots);
    g_test_add_func("/arb/fewer-slots", test_fewer_slots);
    g_test_add_func("/arb/grants-are-given-back", test_given_back);
    return g_test_run();
}
