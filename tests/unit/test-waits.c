/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who waits, learned: what is believed of a buffer under the loads that it is
 * meant to tell apart, what the table forgets, and what the engine makes of it.
 */
#include <inttypes.h>

#include "sim.h"
#include "suite.h"

/* A guest around the table alone, all of whose CQEs are told of at once. */
typedef struct Guest {
    CintWaits waits;
    CintWaitsSq sq[80];
    uint32_t posted, told;
    int64_t now;
} Guest;

/* Uses buffer @page: is it taken to be waited for? */
static bool use(Guest *g, unsigned sq, uint32_t page)
{
    return cint_waits_submit(&g->waits, &g->sq[sq], page, g->now, g->told,
                             false);
}

static void post(Guest *g, unsigned sq, uint32_t page)
{
    cint_waits_posted(&g->waits, &g->sq[sq], page, g->posted++);
}

static void tell(Guest *g)
{
    g->told = g->posted;
}

/* Buffers @first to @first + @n - 1 are done, told of together, used again. */
static unsigned round_of(Guest *g, unsigned sq, uint32_t first, uint32_t n)
{
    unsigned waited = 0;
    uint32_t i;

    for (i = 0; i < n; i++) {
        post(g, sq, first + i);
    }
    tell(g);
    for (i = 0; i < n; i++) {
        waited += use(g, sq, first + i);
    }
    return waited;
}

/* How many of @n commands that are in flight together look waited for. */
static char *rounds_of(Guest *g, uint32_t n, unsigned rounds)
{
    GString *text = g_string_new(NULL);
    uint32_t i;

    for (i = 0; i < n; i++) {
        use(g, 0, 1 + i);
    }
    while (rounds--) {
        g_string_append_printf(text, "%s%u", text->len ? " " : "",
                               round_of(g, 0, 1, n));
    }
    return g_string_free(text, FALSE);
}

static void expect_rounds(uint32_t start, uint32_t n, unsigned rounds,
                          const char *want)
{
    Guest *g = g_new0(Guest, 1);
    g_autofree char *got = NULL;

    g->posted = g->told = start;
    got = rounds_of(g, n, rounds);
    sim_same("believed to be waited for", got, want);
    g_free(g);
}

/* Who waits uses its buffer at once, whatever it is beside. */
static void test_alone(void)
{
    expect_rounds(0, 1, 9, "1 1 1 1 1 1 1 1 1");
}

/* Long after others came: nothing is known of what was told before it. */
static void test_alone_and_late(void)
{
    expect_rounds(40000, 1, 10, "1 1 1 1 1 1 1 1 1 1");
}

static void test_two_take_turns(void)
{
    expect_rounds(0, 2, 9, "2 2 2 2 2 2 2 2 2");
}

/*
 * Six judgements take the mark off. The first two of each round are used at
 * once and keep it: nothing tells them from two who wait.
 */
static void test_job(void)
{
    expect_rounds(0, 8, 9, "8 8 8 8 8 2 2 2 2");
    expect_rounds(0, 256, 9, "256 256 256 256 256 2 2 2 2");
}

static void test_across_the_wrap(void)
{
    expect_rounds(UINT32_MAX - 20, 8, 9, "8 8 8 8 8 2 2 2 2");
    expect_rounds(65536 - 20, 8, 9, "8 8 8 8 8 2 2 2 2");
}

static CintWaitsPage *entry_of(Guest *g, uint32_t page)
{
    unsigned i;

    for (i = 0; i < CINT_WAITS_ENTRIES; i++) {
        if (g->waits.entry[i].page == page) {
            return &g->waits.entry[i];
        }
    }
    g_error("buffer %u is not known", page);
}

/* Buffer 1 is used again: at once, or behind others that come between. */
static bool judged(Guest *g, bool waited)
{
    static uint32_t others = 1000;
    unsigned i;

    post(g, 0, 1);
    tell(g);
    for (i = 0; i < 3 && !waited; i++) {
        use(g, 0, others++);
    }
    return use(g, 0, 1);
}

/*
 * What comes of judgements for (+) and against (-), to the last digit: an
 * eighth of the way, a sixteenth where it is doubted, and 128 is the middle.
 */
static void test_judgements(void)
{
    static const struct {
        uint8_t score;
        const char *judgements, *waited;
    } row[] = {
        { 150, "---+++", "100001" }, { 150, "--+-++", "100000" },
        { 150, "++-+--", "111110" }, { 150, "-+-", "111" },
        { 150, "+--", "110" }, { 150, "-+-+--++", "11110001" },
    };
    unsigned i, k;

    for (i = 0; i < G_N_ELEMENTS(row); i++) {
        g_autofree Guest *g = g_new0(Guest, 1);
        g_autoptr(GString) got = g_string_new(NULL);

        use(g, 0, 1);
        entry_of(g, 1)->score = row[i].score;
        for (k = 0; row[i].judgements[k]; k++) {
            g_string_append_c(got, judged(g, row[i].judgements[k] == '+') ?
                                   '1' : '0');
        }
        g_test_message("%s", row[i].judgements);
        g_assert_cmpstr(got->str, ==, row[i].waited);
    }
}

/*
 * Who has overtaken those that @lying marks is used again behind @between
 * commands: is it taken to be waited for?
 */
static bool overtook(uint64_t lying, unsigned between)
{
    g_autofree Guest *g = g_new0(Guest, 1);
    CintWaitsSq *sq = &g->sq[0];
    CintWaitsPage *entry;
    unsigned i;

    use(g, 0, 1);
    g->posted = 1000;
    post(g, 0, 1);
    tell(g);
    entry = entry_of(g, 1);
    entry->score = 200;
    sq->lying = lying;
    for (i = 0; i < CINT_WAITS_TURNS; i++) {
        sq->told[(uint8_t)(sq->next - 1 - i) % CINT_WAITS_TURNS] =
            i < between ? 1001 : 1000;
    }
    use(g, 0, 1);
    return entry->score > 200;
}

/* Half as many as it has overtaken may come between, wherever they lie. */
static void test_overtakes_half(void)
{
    unsigned i;

    for (i = 0; i < 1000; i++) {
        uint64_t lying = ((uint64_t)g_test_rand_int() << 32 |
                          (uint32_t)g_test_rand_int()) & ~1ull;
        unsigned half = __builtin_popcountll(lying) / 2;

        g_test_message("%" PRIx64, lying);
        if (half > 1 && half < CINT_WAITS_TURNS) {
            g_assert_true(overtook(lying, half));
            g_assert_false(overtook(lying, half + 1));
        }
    }
}

/* Without a Flush there is nothing for its CQE, 0, to be mistaken for. */
static void test_no_flush_as_indices_wrap(void)
{
    g_autofree Guest *g = g_new0(Guest, 1);
    uint32_t page;

    g->posted = g->told = 65530;
    use(g, 0, 1);
    post(g, 0, 1);
    g->posted = g->told = 65535;
    for (page = 2; page < 6; page++) {
        use(g, 0, page);
    }
    g->posted = g->told = 65541;
    g_assert_true(use(g, 0, 1));
    g_assert_cmpuint(entry_of(g, 1)->score, ==, 255 - 32);
}

/* What is used again lies there no longer, however long it has lain. */
static void test_old_is_picked_up(void)
{
    g_autofree Guest *g = g_new0(Guest, 1);

    use(g, 0, 1);
    entry_of(g, 1)->score = 0;
    use(g, 0, 2);
    post(g, 0, 1);
    tell(g);
    g_assert_cmpuint(g->sq[0].lying, ==, 1);
    g->now += 6ll << CINT_WAITS_TICK;
    use(g, 0, 1);
    g_assert_cmpuint(g->sq[0].lying, ==, 0);
}

/* Long after the CQE before it, who waits lies nowhere. */
static void test_lies_nowhere(void)
{
    g_autofree Guest *g = g_new0(Guest, 1);

    use(g, 0, 1);
    g->posted = 1000;
    post(g, 0, 1);
    g_assert_cmpuint(g->sq[0].lying, ==, 0);
}

/* How much a queue's judgements are against its buffers: a sixteenth each. */
static void test_against(void)
{
    g_autofree Guest *g = g_new0(Guest, 1);
    unsigned i;

    use(g, 0, 1);
    for (i = 0; i < 10; i++) {
        judged(g, false);
    }
    g_assert_cmpuint(g->sq[0].against, ==, 124);
}

/* Somebody slow beside @fast others, each of whom goes round @times. */
static bool slow_keeps_mark(unsigned fast, unsigned times)
{
    Guest *g = g_new0(Guest, 1);
    unsigned round, i, k;
    bool waited = true;

    use(g, 0, 100);
    for (round = 0; round < 30; round++) {
        post(g, 0, 100);
        tell(g);
        for (i = 0; i < times; i++) {
            for (k = 0; k < fast; k++) {
                use(g, 0, 1 + k);
                post(g, 0, 1 + k);
                tell(g);
            }
        }
        waited = use(g, 0, 100);
    }
    g_free(g);
    return waited;
}

/* A fast neighbour counts once; more than four who take turns do not. */
static void test_think_times(void)
{
    g_assert_true(slow_keeps_mark(1, 1));
    g_assert_true(slow_keeps_mark(1, 50));
    g_assert_true(slow_keeps_mark(3, 50));
    g_assert_false(slow_keeps_mark(6, 50));
}

/*
 * A thread that writes, beside a job of 16 whose completions are told of with
 * its own: of 60 rounds, how often does its write look waited for? Eight of the
 * job's commands come after the write and before the next one, and there is a
 * Flush in between, or not.
 */
static unsigned waited_beside_job(bool flushes)
{
    Guest *g = g_new0(Guest, 1);
    unsigned round, i, waited = 0;

    for (round = 0; round < 60; round++) {
        waited += use(g, 0, 1000);
        for (i = 8; i < 16; i++) {
            use(g, 0, 1 + i);
        }
        for (i = 0; i < 16; i++) {
            post(g, 0, 1 + i);
        }
        post(g, 0, 1000);
        tell(g);
        for (i = 0; i < 8; i++) {
            use(g, 0, 1 + i);
        }
        if (flushes) {
            use(g, 0, 0);
            post(g, 0, 0);
            tell(g);
        }
    }
    g_assert_false(use(g, 0, 8));
    g_free(g);
    return waited;
}

/* What follows a Flush answers that, and keeps its mark; the job's do not. */
static void test_flushes_beside_job(void)
{
    g_assert_cmpuint(waited_beside_job(true), ==, 60);
    g_assert_cmpuint(waited_beside_job(false), <, 10);
}

/*
 * A thread beside a job of @depth that has all its answers still to give: of
 * the last 60 rounds, how often does the thread's read look waited for, if
 * @between of the job's commands come before it each time? The job takes its
 * completions as they came, or @shuffled.
 */
static unsigned thinks_beside_job(uint32_t depth, unsigned between,
                                  bool shuffled)
{
    Guest *g = g_new0(Guest, 1);
    g_autofree uint32_t *told = g_new(uint32_t, depth);
    unsigned round, waited = 0, of_job = 0;
    uint32_t i;

    for (i = 0; i < depth; i++) {
        use(g, 0, told[i] = 1 + i);
        post(g, 0, 1 + i);
    }
    use(g, 0, 1000);
    for (round = 0; round < 400; round++) {
        bool thinks = round >= 340;

        post(g, 0, 1000);
        tell(g);
        for (i = 0; i < between; i++) {
            unsigned at = shuffled ? g_test_rand_int_range(0, depth) : 0;
            uint32_t page = told[at];

            of_job += use(g, 0, page) && thinks;
            post(g, 0, page);
            memmove(&told[at], &told[at + 1],
                    (depth - at - 1) * sizeof(told[0]));
            told[depth - 1] = page;
        }
        waited += use(g, 0, 1000) && thinks;
    }
    g_free(g);
    g_test_message("depth %u, %u between%s: thread %u of 60, job %u of %u",
                   depth, between, shuffled ? ", any order" : "", waited,
                   of_job, 60 * between);
    g_assert_cmpuint(of_job, <=, 3 * between);
    return waited;
}

/*
 * Who thinks comes back after some of a job's commands, but before more whose
 * completions are older than its own.
 */
static void test_thinks_beside_job(void)
{
    g_assert_cmpuint(thinks_beside_job(24, 5, false), ==, 60);
    g_assert_cmpuint(thinks_beside_job(16, 3, false), ==, 60);
    g_assert_cmpuint(thinks_beside_job(48, 12, false), ==, 60);
    g_assert_cmpuint(thinks_beside_job(15, 5, false), ==, 60);
    g_assert_cmpuint(thinks_beside_job(14, 5, false), <, 10);
    g_assert_cmpuint(thinks_beside_job(24, 16, false), <, 10);
    g_assert_cmpuint(thinks_beside_job(8, 5, false), <, 10);
    g_assert_cmpuint(thinks_beside_job(24, 5, true), >=, 30);
}

static void lie(Guest *g, uint32_t first)
{
    uint32_t i;

    for (i = 0; i < 8; i++) {
        post(g, 0, first + i);
    }
}

/*
 * A thread beside eight of a job's buffers that lie there, twice: two commands
 * come before its own. Is it still believed to wait? @elsewhere CQEs of other
 * queues come after the job's; or, the job's after @later of a fast neighbour.
 */
static bool overtaking_counts(unsigned elsewhere, unsigned later)
{
    Guest *g = g_new0(Guest, 1);
    g_autofree char *job = rounds_of(g, 64, 40);
    bool waited = true;
    unsigned k, i;

    g_assert_true(use(g, 0, 1000));
    for (k = 0; k < 2; k++) {
        if (!later) {
            lie(g, 40 + 8 * k);
        }
        g->posted += elsewhere;
        post(g, 0, 1000);
        tell(g);
        use(g, 0, 500 + k);
        for (i = 0; i < later; i++) {
            post(g, 0, 500 + k);
            tell(g);
            use(g, 0, 500 + k);
        }
        if (later) {
            lie(g, 40 + 8 * k);
        }
        use(g, 0, 600 + k);
        waited = use(g, 0, 1000);
        for (i = 0; i < 8; i++) {
            use(g, 0, 40 + 8 * k + i);
        }
    }
    g_free(g);
    return waited;
}

/* What lies further back than 64 CQEs is not known, nor who came after. */
static void test_overtakes(void)
{
    g_assert_true(overtaking_counts(0, 0));
    g_assert_true(overtaking_counts(50, 0));
    g_assert_false(overtaking_counts(70, 0));
    g_assert_false(overtaking_counts(0, 1));
    g_assert_false(overtaking_counts(0, 59));
}

/* Two commands with one buffer: once it is used again neither lies there. */
static void test_overtakes_one_twice(void)
{
    Guest *g = g_new0(Guest, 1);
    g_autofree char *job = rounds_of(g, 64, 40);
    unsigned k, i;

    g_assert_true(use(g, 0, 1000));
    for (k = 0; k < 2; k++) {
        lie(g, 40);
        lie(g, 40);
        tell(g);
        for (i = 0; i < 8; i++) {
            use(g, 0, 40 + i);
        }
        post(g, 0, 1000);
        tell(g);
        use(g, 0, 500 + k);
        use(g, 0, 600 + k);
        g_assert_cmpint(use(g, 0, 1000), ==, k == 0);
    }
    g_free(g);
}

/* A buffer that changes its job is known for what it does now. */
static void test_changes_job(void)
{
    Guest *g = g_new0(Guest, 1);
    g_autofree char *job = rounds_of(g, 8, 9);
    unsigned i;

    g_assert_false(use(g, 0, 8));
    for (i = 0; i < 8; i++) {
        round_of(g, 0, 8, 1);
    }
    g_assert_true(use(g, 0, 8));
    g_free(g);
}

/* Of buffers that are each used once the first to come is waited for. */
static void test_fresh(void)
{
    Guest *g = g_new0(Guest, 1);
    uint32_t page = 1;
    unsigned i;

    for (i = 0; i < 20; i++) {
        g_assert_true(cint_waits_submit(&g->waits, &g->sq[0], page++, 0,
                                        0, false));
    }
    use(g, 0, page++);
    use(g, 0, page++);
    g_assert_true(cint_waits_submit(&g->waits, &g->sq[0], page++, 0, 0, true));
    g_assert_false(cint_waits_submit(&g->waits, &g->sq[0], page++, 0, 0,
                                     false));
    /* A queue whose buffers come back is another matter. */
    for (i = 0; i < 16; i++) {
        use(g, 0, 1);
    }
    g_assert_true(cint_waits_submit(&g->waits, &g->sq[0], page, 0, 0, false));
    g_free(g);
}

/*
 * A buffer that nobody used for four ticks may be somebody else's memory. What
 * was known of it says nothing then, nor does that it comes back; and it is
 * known again from there on.
 */
static void test_old(gconstpointer opaque)
{
    static const int64_t tick = 1 << CINT_WAITS_TICK;
    Guest *g = g_new0(Guest, 1);
    g_autofree char *job = NULL;
    unsigned i;

    g->now = GPOINTER_TO_INT(opaque) * tick - 1;
    job = rounds_of(g, 8, 9);
    g_assert_false(use(g, 0, 8));
    g->now += 4 * tick;
    g_assert_false(use(g, 0, 8));
    post(g, 0, 8);
    tell(g);
    g->now += 5 * tick;
    g_assert_true(use(g, 0, 8));
    g_assert_cmpuint(g->sq[0].fresh, >, 0);
    for (i = 0; i < 6; i++) {
        g_assert_true(use(g, 0, 8));
        round_of(g, 0, 1, 8);
    }
    g_assert_false(use(g, 0, 8));
    g_free(g);
}

/* Used again before it was told of, which says nothing; so does no buffer. */
static void test_says_nothing(void)
{
    Guest *g = g_new0(Guest, 1);
    unsigned i;

    for (i = 0; i < 50; i++) {
        g_assert_true(use(g, 0, 1));
        g_assert_true(use(g, 0, 2 + i % 8));
        g_assert_true(use(g, 0, 0));
        post(g, 0, 0);
        post(g, 0, 1);
    }
    g_free(g);
}

/* How many of a pool of @n buffers, used in turn, are learned. */
static unsigned learned_of(uint32_t n)
{
    Guest *g = g_new0(Guest, 1);
    unsigned round, waited = 0;
    uint32_t i;

    for (i = 0; i < n; i++) {
        use(g, 0, 1 + i);
    }
    for (round = 0; round < 10; round++) {
        waited = 0;
        for (i = 0; i < n; i += MIN(n - i, 32)) {
            waited += round_of(g, 0, 1 + i, MIN(n - i, 32));
        }
    }
    g_free(g);
    return n - waited;
}

/*
 * What does not fit is not known. It is then taken to be of a job, unless it
 * came first.
 */
static void test_pools(void)
{
    g_assert_cmpuint(learned_of(17), ==, 15);
    g_assert_cmpuint(learned_of(33), >=, 29);
    g_assert_cmpuint(learned_of(257), >=, 230);
    g_assert_cmpuint(learned_of(1024), >=, 900);
    g_assert_cmpuint(learned_of(8192), ==, 8192);
}

/*
 * A job that takes its buffers from a pool, beside a thread that waits: which
 * of their commands look waited for, once they are known?
 */
#define WARM        1600    /* rounds */
#define MOST_DEPTH  32
#define THREAD_PAGE 5000000

typedef enum Order {
    IN_TURN,    /* the buffer that was free for longest */
    LIFO,       /* the one that was given back last */
    ANY_ORDER,
    EACH_NEW,   /* none is used twice */
} Order;

typedef struct Pool {
    GArray *free;           /* in the order in which they were given back */
    Order order;
    uint32_t fresh;
} Pool;

static void give(Pool *pool, uint32_t page)
{
    g_array_append_val(pool->free, page);
}

static uint32_t take(Pool *pool)
{
    unsigned i = pool->order == IN_TURN ? 0 :
                 pool->order == LIFO ? pool->free->len - 1 :
                 (unsigned)g_test_rand_int_range(0, pool->free->len);
    uint32_t page = g_array_index(pool->free, uint32_t, i);

    g_array_remove_index(pool->free, i);
    return pool->order == EACH_NEW ? pool->fresh++ : page;
}

typedef struct Told {
    unsigned job, thread;   /* percent of their commands */
} Told;

/* Where the thread has its buffer from. */
typedef enum Thread {
    OWN,        /* it has one */
    NEW,        /* none is used twice */
    SHARED,     /* the job's pool, as with bounce buffers and an IOMMU */
} Thread;

/* The thread submits first, but for @late percent of the time. */
static Told told_of(uint32_t pages, Order order, Thread of, int late)
{
    Pool pool = {
        .free = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
        .order = order,
        .fresh = 1000000,
    };
    uint32_t depth = MIN(pages, MOST_DEPTH);
    uint32_t flying[MOST_DEPTH], thread = THREAD_PAGE, i;
    Guest *g = g_new0(Guest, 1);
    unsigned round, job = 0, waited = 0;

    for (i = 1; i <= pages; i++) {
        give(&pool, i);
    }
    for (round = 0; round < 2 * WARM; round++) {
        bool thread_first = g_test_rand_int_range(0, 100) >= late;
        bool first = true, is;
        unsigned turn;

        for (turn = 0; turn < 2; turn++) {
            if (turn == !thread_first) {
                thread = of == SHARED ? take(&pool) : thread + (of == NEW);
                is = cint_waits_submit(&g->waits, &g->sq[0], thread, 0, g->told,
                                       first);
                waited += round >= WARM && is;
                first = false;
                continue;
            }
            for (i = 0; i < depth; i++) {
                flying[i] = take(&pool);
                is = cint_waits_submit(&g->waits, &g->sq[0], flying[i],
                                       0, g->told, first);
                job += round >= WARM && is;
                first = false;
            }
        }
        for (i = 0; i < depth; i++) {
            post(g, 0, flying[i]);
            give(&pool, flying[i]);
        }
        post(g, 0, thread);
        if (of == SHARED) {
            give(&pool, thread);
        }
        tell(g);
    }
    g_array_free(pool.free, TRUE);
    g_free(g);
    return (Told) {
        .job = job * 100 / (WARM * depth),
        .thread = waited * 100 / WARM,
    };
}

/* Bounds are percent. */
static const struct {
    uint32_t pages;
    Order order;
    Thread of;
    int late;                   /* percent: it submits after the job */
    unsigned most_of_job, least_of_thread;
} pools[] = {
    { 17, IN_TURN, OWN, 0, 12, 100 },
    { 33, IN_TURN, OWN, 0, 5, 100 },
    { 257, IN_TURN, OWN, 0, 5, 100 },
    { 4096, IN_TURN, OWN, 0, 5, 100 },
    { 4096, ANY_ORDER, OWN, 0, 5, 100 },
    { 64, EACH_NEW, OWN, 0, 5, 100 },
    { 64, EACH_NEW, NEW, 0, 5, 100 },
    { 33, IN_TURN, OWN, 25, 5, 80 },
    { 257, IN_TURN, OWN, 25, 5, 80 },
    { 1024, IN_TURN, OWN, 25, 5, 80 },
    { 4096, IN_TURN, OWN, 25, 5, 80 },
    { 33, LIFO, OWN, 25, 5, 80 },
    { 257, LIFO, OWN, 25, 5, 80 },
    { 4096, LIFO, OWN, 25, 5, 80 },
    { 257, ANY_ORDER, OWN, 25, 5, 80 },
    { 1024, ANY_ORDER, OWN, 25, 5, 80 },
    { 2048, ANY_ORDER, OWN, 25, 5, 80 },
    { 3000, ANY_ORDER, OWN, 25, 5, 80 },
    { 4096, ANY_ORDER, OWN, 25, 5, 80 },
    { 8192, ANY_ORDER, OWN, 25, 15, 80 },
    { 64, EACH_NEW, OWN, 25, 5, 80 },
    { 33, IN_TURN, NEW, 25, 5, 100 },
    { 4096, IN_TURN, NEW, 25, 5, 60 },
    { 4096, ANY_ORDER, NEW, 25, 5, 60 },
    { 64, EACH_NEW, NEW, 25, 5, 60 },
    /* A small pool that all have their buffers from says nothing at all. */
    { 64, IN_TURN, SHARED, 0, 5, 0 },
    { 1024, ANY_ORDER, SHARED, 0, 5, 0 },
    /* Not so that of an IOMMU, nor bounce buffers, 64 MiB used in turn. */
    { 64, LIFO, SHARED, 0, 5, 95 },
    { 1024, LIFO, SHARED, 0, 5, 95 },
    { 16384, IN_TURN, SHARED, 0, 5, 95 },
    { 8192, ANY_ORDER, SHARED, 25, 5, 50 },
};

static void test_pool_orders(void)
{
    static const char *const orders[] = { "in turn", "LIFO", "any", "new" };
    static const char *const threads[] = { "", ", thread's new", ", shared" };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(pools); i++) {
        Told told = told_of(pools[i].pages, pools[i].order, pools[i].of,
                            pools[i].late);

        g_test_message("%u pages, %s%s, late %d %%: job %u %%, thread %u %%",
                       pools[i].pages, orders[pools[i].order],
                       threads[pools[i].of],
                       pools[i].late, told.job, told.thread);
        g_assert_cmpuint(told.job, <=, pools[i].most_of_job);
        g_assert_cmpuint(told.thread, >=, pools[i].least_of_thread);
    }
}

/*
 * Where nobody is known to wait, two judgements take the mark off a new buffer.
 * A thread that comes keeps its own.
 */
static void test_likely(void)
{
    Guest *g = g_new0(Guest, 1);
    g_autofree char *job = rounds_of(g, 64, 40);
    unsigned i;

    for (i = 0; i < 12; i++) {
        g_assert_true(use(g, 0, 200 + i));
    }
    g_assert_cmpuint(round_of(g, 0, 200, 12), ==, 12);
    g_assert_cmpuint(round_of(g, 0, 200, 12), ==, 2);
    g_assert_true(use(g, 0, 199));
    for (i = 0; i < 9; i++) {
        post(g, 0, 199);
        tell(g);
        g_assert_true(use(g, 0, 199));
        round_of(g, 0, 200, 12);
    }
    g_free(g);
}

/* What takes the place of a job's buffer is believed after one judgement: */
static void test_handed_on_score(void)
{
    g_autofree Guest *g = g_new0(Guest, 1);
    unsigned i;

    use(g, 0, 1);
    for (i = 0; i < CINT_WAITS_ENTRIES; i++) {
        g->waits.entry[i].page = 100 + i;
        g->waits.entry[i].score = 0;
    }
    use(g, 0, 2);
    g_assert_cmpuint(entry_of(g, 2)->score, ==, 120);
}

static void test_handed_on(void)
{
    Guest *g = g_new0(Guest, 1);
    g_autofree char *job = rounds_of(g, 8, 40);
    uint32_t page;

    for (page = 1000; page < 1000 + 4 * CINT_WAITS_ENTRIES; page++) {
        use(g, 0, page);
        post(g, 0, page);
        tell(g);
        g_assert_true(use(g, 0, page));
    }
    g_free(g);
}

/* One queue's buffers do not push out another's. */
static void test_queues_apart(void)
{
    Guest *g = g_new0(Guest, 1);
    g_autofree char *job = NULL;
    uint32_t i;

    use(g, 1, 1000);
    job = rounds_of(g, 8, 9);
    for (i = 0; i < 100000; i++) {
        use(g, 1, 2000 + i);
    }
    g_assert_cmpuint(round_of(g, 0, 1, 8), ==, 2);
    g_free(g);
}

/* A queue that comes takes no belief over, nor does a number used twice. */
static void test_queues_come_and_go(void)
{
    Guest *g = g_new0(Guest, 1);
    g_autofree char *job = rounds_of(g, 8, 9);
    unsigned i;

    g_assert_false(use(g, 0, 8));
    use(g, 1, 1);
    cint_waits_leave(&g->waits, &g->sq[0]);
    g_assert_true(use(g, 2, 8));
    for (i = 0; i < G_N_ELEMENTS(g->sq); i++) {
        g_assert_true(use(g, i, 8));
    }
    for (i = 0; i < G_N_ELEMENTS(g->sq); i++) {
        cint_waits_leave(&g->waits, &g->sq[i]);
    }
    g_assert_cmpuint(g->waits.shift, ==, 0);
    g_free(g);
}

/* Cut anew, the table has buffers where nobody looks for them. */
static void test_forgets_when_cut(void)
{
    Guest *g = g_new0(Guest, 1);
    g_autofree char *job = rounds_of(g, 64, 9);

    g_assert_cmpuint(cint_waits_belief(&g->waits, g->sq).buffers, ==, 64);
    use(g, 1, 1);
    g_assert_cmpuint(cint_waits_belief(&g->waits, g->sq).buffers, ==, 0);
    g_free(g);
}

/* Who finds a CQE that was not told of has not waited for being told. */
static void test_used_before_told(void)
{
    Guest *g = g_new0(Guest, 1);
    g_autofree char *job = rounds_of(g, 8, 9);
    unsigned i;

    for (i = 0; i < 30; i++) {
        post(g, 0, 8);
        g_assert_false(use(g, 0, 8));
    }
    g_free(g);
}

/*
 * Those that share the last part, because there are more queues than parts,
 * have it until the last of them leaves.
 */
static void test_queues_share(void)
{
    Guest *g = g_new0(Guest, 1);
    unsigned last = G_N_ELEMENTS(g->sq) - 1, i;

    for (i = 0; i <= last; i++) {
        use(g, i, 8);
    }
    g_assert_cmpuint(last, >, CINT_WAITS_SLICES);
    for (i = 0; i < last; i++) {
        cint_waits_leave(&g->waits, &g->sq[i]);
        g_assert_cmpuint(g->sq[last].slice >> g->waits.shift, ==, 0);
    }
    post(g, last, 8);
    tell(g);
    g_assert_true(use(g, last, 8));
    g_assert_cmpuint(cint_waits_belief(&g->waits, &g->sq[last]).buffers, ==,
                     1);
    cint_waits_leave(&g->waits, &g->sq[last]);
    g_assert_cmpuint(g->waits.shift, ==, 0);
    g_free(g);
}

static void test_size(void)
{
    g_assert_cmpuint(sizeof(((CintWaits *)NULL)->entry), <=, 16384);
    g_assert_cmpuint(cint_waits_page(0), !=, 0);
    g_assert_cmpuint(cint_waits_page(4096), !=, cint_waits_page(8192));
    g_assert_cmpuint(cint_waits_page(512), !=, cint_waits_page(1024));
}

/* The engine */

static Sim *start_learning(CintOnOffAuto drain)
{
    CintConfig config = sim_cint(6000, 32);

    config.infer = CINT_INFER_LEARN;
    config.drain = drain;
    return sim_new(64, config);
}

/* A job of eight, without a hint, done and told of in rounds. */
static void learn_job(Sim *sim, unsigned rounds)
{
    unsigned i;

    while (rounds--) {
        for (i = 0; i < 8; i++) {
            sim->page = 1 + i;
            sim_batch(sim, 0, sim->now + 100, ".");
        }
        sim_pass(sim, 0, sim->now + 1000, 8);
        sim_until(sim, sim->now + 100000);
    }
}

/* What is unknown interrupts at once, what is learned waits for the others. */
static void test_engine(void)
{
    Sim *sim = start_learning(CINT_OFF);
    g_autofree char *first = NULL;
    CintCmd *cmd;

    learn_job(sim, 1);
    first = sim_reasons(sim);
    g_assert_nonnull(strstr(first, "1800:urgent(1) 1800:urgent(1)"));
    sim_expect(sim, first);
    learn_job(sim, 20);
    sim->nr_irqs = 0;
    sim->page = 8;
    sim_batch(sim, 0, sim->now, ".");
    cmd = &sim->cmd[0][(sim->submitted[0] - 1) % SIM_CMDS];
    g_assert_cmpuint(cmd->hints, ==, NVME_CINT_HINT_NONE);
    sim->page = 99;
    sim_batch(sim, 0, sim->now, ".");
    cmd = &sim->cmd[0][(sim->submitted[0] - 1) % SIM_CMDS];
    g_assert_cmpuint(cmd->hints, ==, NVME_CINT_HINT_URGENT);
    g_assert_cmpuint(cmd->sources, ==, 1 << NVME_CINT_SOURCE_INFERRED);
    g_free(sim);
}

/* Of several that came with one doorbell, the last is a Barrier. */
static void test_batch(void)
{
    Sim *sim = start_learning(CINT_OFF);

    sim->page = 0;
    sim_batch(sim, 0, 100, "....");
    sim_post(sim, 0, 1000, 1);
    sim_post(sim, 0, 1100, 2);
    sim_post(sim, 0, 1200, 4);
    sim_expect(sim, "1200:barrier(3)");
    g_free(sim);
}

/* What the guest says itself stands. */
static void test_own_hints(void)
{
    Sim *sim = start_learning(CINT_OFF);

    sim->page = 7;
    sim_batch(sim, 0, 100, "2");
    sim_batch(sim, 0, 100, "b");
    sim_post(sim, 0, 1000, 1);
    sim_post(sim, 0, 2000, 2);
    sim_expect(sim, "2000:barrier(2)");
    g_free(sim);
}

/* What was fetched before it learns is none of whose buffer it knows. */
static void test_fetched_before(void)
{
    Sim *sim = start_learning(CINT_OFF);
    CintConfig learns = sim->cq.config, does_not = learns;

    does_not.infer = CINT_INFER_CONTENT;
    sim->page = 7;
    sim_batch(sim, 0, 100, ".");
    sim_post(sim, 0, 1000, 1);
    g_assert_false(sim->sq[0].waits.bare);
    sim_configure(sim, 2000, &does_not);
    sim_batch(sim, 0, 2100, ".");
    sim_configure(sim, 2200, &learns);
    sim_post(sim, 0, 3000, 2);
    g_assert_true(sim->sq[0].waits.bare);
    g_free(sim);
}

/* A job's completion, while somebody's command is in flight, waits for it. */
static void test_any_beside_waited(void)
{
    Sim *sim = start_learning(CINT_ON);

    sim->page = 50;
    sim_batch(sim, 0, 50, "b");
    sim_batch(sim, 0, 100, ".");
    sim_post(sim, 0, 1000, 1);
    sim_expect(sim, "");
    sim_post(sim, 0, 2000, 2);
    sim_expect(sim, "2000:urgent(2)");
    g_free(sim);
}

/* Each sixteenth time that the guest seems to sleep it is not told, to see. */
static void expect_probes(CintInfer infer, unsigned every)
{
    CintConfig config = sim_cint(6000, 32);
    unsigned n;
    char *want;
    Sim *sim;

    config.infer = infer;
    config.drain = CINT_ON;
    sim = sim_new(64, config);
    sim_batch(sim, 0, 10, "b");
    for (n = 1; n < 40; n++) {
        sim_batch(sim, 0, n * 100000, "b");
        sim_post(sim, 0, n * 100000 + 1000, n);
        sim_until(sim, n * 100000 + 50000);
        want = g_strdup_printf(n % every ? "%u:barrier(1)" : "%u:quiet(1)",
                               n * 100000 + (n % every ? 1000 : 7000));
        sim_expect(sim, want);
        g_free(want);
    }
    g_free(sim);
}

static void test_probe(void)
{
    expect_probes(CINT_INFER_LEARN, 16);
}

/* What is not learned is not in doubt. */
static void test_no_probe(void)
{
    expect_probes(CINT_INFER_OFF, 1000);
}

int main(int argc, char **argv)
{
    static const SuiteTest tests[] = {
        { "alone", test_alone },
        { "alone-and-late", test_alone_and_late },
        { "handed-on/score", test_handed_on_score },
        { "judgements", test_judgements },
        { "against", test_against },
        { "lies-nowhere", test_lies_nowhere },
        { "old-is-picked-up", test_old_is_picked_up },
        { "overtakes/half", test_overtakes_half },
        { "no-flush-as-indices-wrap", test_no_flush_as_indices_wrap },
        { "two-take-turns", test_two_take_turns },
        { "job", test_job },
        { "across-the-wrap", test_across_the_wrap },
        { "think-times", test_think_times },
        { "flushes-beside-job", test_flushes_beside_job },
        { "thinks-beside-job", test_thinks_beside_job },
        { "overtakes", test_overtakes },
        { "overtakes-one-twice", test_overtakes_one_twice },
        { "changes-its-job", test_changes_job },
        { "says-nothing", test_says_nothing },
        { "fresh", test_fresh },
        { "pools", test_pools },
        { "pool-orders", test_pool_orders },
        { "likely", test_likely },
        { "handed-on", test_handed_on },
        { "queues-apart", test_queues_apart },
        { "queues-come-and-go", test_queues_come_and_go },
        { "queues-share", test_queues_share },
        { "forgets-when-cut", test_forgets_when_cut },
        { "used-before-told", test_used_before_told },
        { "size", test_size },
        { "engine/unknown-at-once", test_engine },
        { "engine/batch", test_batch },
        { "engine/own-hints", test_own_hints },
        { "engine/fetched-before", test_fetched_before },
        { "engine/any-beside-waited", test_any_beside_waited },
        { "engine/probe", test_probe },
        { "engine/no-probe-of-what-is-said", test_no_probe },
    };

    g_test_init(&argc, &argv, NULL);
    /* Beyond what an entry can count, and while it begins anew. */
    g_test_add_data_func("/waits/old", GINT_TO_POINTER(200), test_old);
    g_test_add_data_func("/waits/old/as-ticks-wrap", GINT_TO_POINTER(126),
                         test_old);
    suite_add("/waits", tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
