/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How the user-space driver takes completions by an interrupt status record:
 * all that a short queue can come to is tried, lap after lap. Commands are
 * pushed, completed in any order and told of at any time, and the driver takes
 * as many as it likes. States are told apart by what can still matter, counts
 * by how far they are from the head.
 */
#include <string.h>

#include <glib.h>

#include "queue.h"
#include "reap.h"

#define MOST    5       /* entries of a queue */

/* What the controller knows of a command, by its identifier. */
enum fate { IDLE, IN_FLIGHT, POSTED };

/* All of the queue's state that differs, and the controller's. */
typedef struct State {
    struct nvme_cqe cq[MOST];
    struct cintio_slot slots[MOST];
    uint8_t taken[MOST];
    struct cintio_cursor head, scan;
    uint32_t told, full_tail, posted;
    uint8_t fate[MOST];
    bool reported[MOST];        /* by place in the ring */
    bool release;
} State;

static struct cintio dev;
static struct cintio_queue q;
static NvmeCintRecord record;
static uint32_t posted;         /* entries, since the start */
static uint8_t fate[MOST];
static bool reported[MOST];
static const char *fault;       /* the first one found */

static void expect(bool right, const char *what)
{
    if (!right && !fault) {
        fault = what;
    }
}

/* --- states ------------------------------------------------------------- */

static State take_state(void)
{
    State s;

    memset(&s, 0, sizeof(s));
    memcpy(s.cq, q.cq, q.entries * sizeof(*q.cq));
    memcpy(s.slots, q.slots, q.entries * sizeof(*q.slots));
    memcpy(s.taken, q.taken, q.entries);
    memcpy(&s.head, &q.head, sizeof(q.head));
    memcpy(&s.scan, &q.scan, sizeof(q.scan));
    s.told = q.told;
    s.full_tail = record.full_tail;
    s.posted = posted;
    memcpy(s.fate, fate, sizeof(fate));
    memcpy(s.reported, reported, sizeof(reported));
    s.release = q.release;
    return s;
}

static void put_state(const State *s)
{
    memcpy(q.cq, s->cq, q.entries * sizeof(*q.cq));
    memcpy(q.slots, s->slots, q.entries * sizeof(*q.slots));
    memcpy(q.taken, s->taken, q.entries);
    q.head = s->head;
    q.scan = s->scan;
    q.told = s->told;
    record.full_tail = s->full_tail;
    posted = s->posted;
    memcpy(fate, s->fate, sizeof(fate));
    memcpy(reported, s->reported, sizeof(reported));
    q.release = s->release;
    q.flying = 0;
    q.nr_free = 0;
    for (uint16_t id = q.entries - 1; id-- > 0;) {
        q.flying += q.slots[id].busy;
        if (!q.slots[id].busy) {
            q.free[q.nr_free++] = id;
        }
    }
}

/*
 * What cannot matter any more is the same in all: how many laps there were, how
 * long ago an interrupt told of what is gone, in what order commands came.
 */
static void forget(void)
{
    uint16_t ends = q.entries - 1, last = ends;
    uint32_t laps = q.head.count - q.head.index;
    bool news = record.full_tail != q.told;

    q.head.count -= laps;
    q.scan.count -= laps;
    q.told -= laps;
    record.full_tail -= laps;
    posted -= laps;
    if ((int32_t)(record.full_tail - q.head.count) < 0) {
        record.full_tail = q.head.count;
    }
    if ((int32_t)(q.told - q.head.count) < 0 || !news) {
        q.told = news ? q.head.count - 1 : record.full_tail;
    }
    for (uint16_t id = 0; id < ends; id++) {
        if (!q.slots[id].busy) {
            memset(&q.slots[id], 0, sizeof(q.slots[id]));
            continue;
        }
        q.slots[id].prev = last;
        q.slots[last].next = id;
        last = id;
    }
    q.slots[last].next = ends;
    q.slots[ends].prev = last;
    memset(&q.seen, 0, sizeof(q.seen));
    q.doubts = 0;
    q.interrupted = false;
}

/* --- what may happen ---------------------------------------------------- */

static bool push(bool urgent)
{
    struct nvme_sqe sqe = { 0 };
    int id = cintio_take_slot(&q);

    if (id < 0) {
        return false;
    }
    sqe.cid = id;
    q.slots[id].cookie = id;
    q.slots[id].urgent = urgent;
    cintio_enqueue(&q, &sqe);
    q.queued = 0;
    q.flying++;
    q.sq_tail = 0;
    fate[id] = IN_FLIGHT;
    return true;
}

static bool complete(uint16_t id)
{
    unsigned at = posted % q.entries;
    uint16_t phase = posted / q.entries % 2 == 0;

    if (fate[id] != IN_FLIGHT || posted - q.head.count >= q.entries - 1u) {
        return false;
    }
    /* laps are forgotten one by one, and the phase is not */
    phase ^= q.head.phase ^ (q.head.count / q.entries % 2 == 0);
    q.cq[at] = (struct nvme_cqe) { .cid = id, .status = phase };
    reported[at] = false;
    fate[id] = POSTED;
    posted++;
    return true;
}

static bool tell(void)
{
    bool news = record.full_tail != posted;

    record.full_tail = posted;
    return news;
}

/* Entries that are there and were not reported, and whether one may be. */
static unsigned left(bool all)
{
    unsigned n = 0;

    for (uint32_t count = q.head.count; count != posted; count++) {
        unsigned at = count % q.entries;

        n += !reported[at] && (all || q.slots[q.cq[at].cid].urgent ||
                               (int32_t)(record.full_tail - count) > 0);
    }
    return n;
}

/* The entry of @id, which is there. */
static void report(uint16_t id, uint32_t from, bool all)
{
    expect(fate[id] == POSTED, "reported while it is in flight, or again");
    for (uint32_t count = from; count != posted; count++) {
        unsigned at = count % q.entries;

        if (q.cq[at].cid == id && !reported[at]) {
            expect(all || q.slots[id].urgent ||
                   (int32_t)(record.full_tail - count) > 0,
                   "reported before it was told of");
            reported[at] = true;
        }
    }
    fate[id] = IDLE;
}

static void reap(enum cintio_mode mode, unsigned max, bool doubt)
{
    struct cintio_done done[MOST];
    uint32_t from = q.head.count;
    bool all = mode == CINTIO_POLL || doubt || q.release;
    unsigned could, n;

    q.mode = mode;
    q.interrupted = doubt;
    q.seen.full_tail = record.full_tail;
    could = left(all);
    n = cintio_reap(&q, done, max);
    expect(n <= max, "more than wanted");
    expect(n <= could, "more than there is");
    for (unsigned i = 0; i < n; i++) {
        report(done[i].cookie, from, all);
    }
    expect(n == max || !left(all), "left behind");
    expect((int32_t)(posted - q.head.count) >= 0, "the head is beyond the end");
    for (uint32_t count = from; count != q.head.count; count++) {
        expect(reported[count % q.entries], "given back unread");
    }
    expect(q.head.count == posted || !reported[q.head.index],
           "not given back");
}

/* The @n-th of all that may happen; false: it cannot now. NULL: all were. */
static bool happen(unsigned n, bool *all)
{
    *all = false;
    if (n < 2) {
        return push(n);
    }
    n -= 2;
    if (n < q.entries - 1u) {
        return complete(n);
    }
    n -= q.entries - 1;
    if (n == 0) {
        return tell();
    }
    n--;
    if (n < 3u * q.entries) {
        reap(n % 3 ? CINTIO_INTERRUPT : CINTIO_POLL, 1 + n / 3, n % 3 == 2);
        return true;
    }
    *all = true;
    return false;
}

/* --- all of it ---------------------------------------------------------- */

static guint hash(gconstpointer key)
{
    const uint8_t *at = key;
    guint h = 2166136261u;

    for (size_t i = 0; i < sizeof(State); i++) {
        h = (h ^ at[i]) * 16777619u;
    }
    return h;
}

static gboolean equal(gconstpointer a, gconstpointer b)
{
    return !memcmp(a, b, sizeof(State));
}

static void ignore_write(struct cintio *of, uint32_t offset, uint32_t value)
{
    (void)of;
    (void)offset;
    expect(value == q.head.index, "another head is rung");
}

static const struct cintio_ops ops = { .write32 = ignore_write };

static void start(unsigned entries)
{
    static struct nvme_sqe sq[MOST];
    static struct nvme_cqe cq[MOST];
    static struct cintio_slot slots[MOST];
    static uint16_t ids[MOST];
    static uint8_t taken[MOST];

    memset(&record, 0, sizeof(record));
    dev = (struct cintio) { .ops = &ops, .info.block_size = 512 };
    q = (struct cintio_queue) {
        .dev = &dev, .entries = entries, .sq = sq, .cq = cq, .slots = slots,
        .free = ids, .taken = taken, .record = &record, .eventfd = -1,
    };
    cintio_queue_empty(&q);
    posted = 0;
    memset(fate, 0, sizeof(fate));
    memset(reported, 0, sizeof(reported));
    fault = NULL;
}

/* How many states there are from the start; @fault if one is wrong. */
static unsigned explore(unsigned entries)
{
    GHashTable *known = g_hash_table_new(hash, equal);
    GPtrArray *states = g_ptr_array_new_with_free_func(g_free);
    unsigned n;
    State s;

    start(entries);
    forget();
    s = take_state();
    g_ptr_array_add(states, g_memdup2(&s, sizeof(s)));
    g_hash_table_add(known, states->pdata[0]);
    for (unsigned i = 0; i < states->len && !fault; i++) {
        bool all = false;

        for (unsigned what = 0; !all && !fault; what++) {
            put_state(states->pdata[i]);
            if (!happen(what, &all)) {
                continue;
            }
            forget();
            s = take_state();
            if (!g_hash_table_contains(known, &s)) {
                g_ptr_array_add(states, g_memdup2(&s, sizeof(s)));
                g_hash_table_add(known, states->pdata[states->len - 1]);
            }
        }
    }
    n = states->len;
    g_hash_table_destroy(known);
    g_ptr_array_free(states, true);
    return n;
}

static void test_all(gconstpointer entries)
{
    unsigned n = explore(GPOINTER_TO_UINT(entries));

    g_assert_cmpstr(fault, ==, NULL);
    g_test_message("%u states", n);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned n = 2; n <= 4; n++) {
        g_autofree char *name = g_strdup_printf("/reap/all-states/%u", n);

        g_test_add_data_func(name, GUINT_TO_POINTER(n), test_all);
    }
    return g_test_run();
}
