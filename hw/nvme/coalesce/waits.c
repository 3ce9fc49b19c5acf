/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who waits, learned. See waits.h.
 *
 * The table is cut into as many slices as there are queues, rounded up to a
 * power of two, so that no queue's buffers push out those of another. Within a
 * slice a buffer has one bucket; the entries of a bucket are in order of use.
 * When the number of slices changes everything is forgotten, which costs
 * interrupts for a while: what is not known is told at once.
 */
#include <string.h>

#include "../cint-must.h"
#include "apart.h"
#include "waits.h"

#define SCORE_MOST      255
#define SCORE_WAITS     128     /* from here on somebody is said to wait */
#define SCORE_UNSURE    120     /* one judgement for it is enough */
#define SCORE_SHARE     8       /* of the way that one judgement goes */
#define SCORE_DOUBTED   16      /* likewise, up again from below the middle */
#define FRESH_SHARE     16      /* likewise, of a buffer known or not */
#define FRESH_MANY      192     /* from here on buffers say nothing */
#define AGAINST_SHARE   16      /* likewise, of a judgement */
#define AGAINST_MANY    224     /* from here on a new one is a job's, likely */
#define SCORE_LIKELY    150     /* two judgements against it are enough */
#define BETWEEN_MOST    1       /* commands, of who waits */
#define OVERTAKEN_EACH  2       /* that excuse one more */

/* Of the whole table. */
#define BUCKET_BITS     9

/* The one that queues share, where there are more than slices. */
#define LAST_SLICE      (CINT_WAITS_SLICES - 1)

_Static_assert(CINT_WAITS_ENTRIES == CINT_WAITS_WAYS << BUCKET_BITS,
               "the table is as large as buckets are counted");
_Static_assert(CINT_WAITS_RECENT == 4, "count() looks at each");

/* Of a slice. Each queue's is below the number of slices. */
static uint32_t buckets(const CintWaits *waits)
{
    return CINT_WAITS_ENTRIES / CINT_WAITS_WAYS >> waits->shift;
}

/* The index of its first entry. */
static uint32_t slice_of(const CintWaits *waits, const CintWaitsSq *sq)
{
    return sq->slice * buckets(waits) * CINT_WAITS_WAYS;
}

static CintWaitsPage *bucket_of(CintWaits *waits, const CintWaitsSq *sq,
                                uint32_t page)
{
    /* Fibonacci hashing: the upper bits are spread best. */
    uint32_t hash = page * 0x9e3779b1u >> 16;
    uint32_t bucket = (sq->slice << 16 | hash) >> (16 - BUCKET_BITS) >>
                      waits->shift;

    CINT_MUST(!(sq->slice >> waits->shift));
    return &waits->entry[bucket * CINT_WAITS_WAYS];
}

/*
 * Each queue has a slice of its own, up to CINT_WAITS_SLICES of them; further
 * ones share the last.
 */
static void enter(CintWaits *waits, CintWaitsSq *sq, uint32_t told)
{
    uint32_t slice = 0;
    unsigned i;

    while (slice < LAST_SLICE && waits->slices >> slice & 1) {
        slice++;
    }
    *sq = (CintWaitsSq) {
        .known = true,
        .slice = slice,
    };
    for (i = 0; i < CINT_WAITS_TURNS; i++) {
        sq->told[i] = told;
    }
    waits->slices |= 1ull << slice;
    waits->sharers += slice == LAST_SLICE;
    while (slice >> waits->shift) {
        memset(waits->entry, 0, sizeof(waits->entry));
        waits->shift++;
    }
    /* Another queue may have had it before. */
    memset(&waits->entry[slice_of(waits, sq)], 0,
           sizeof(CintWaitsPage) * CINT_WAITS_WAYS * buckets(waits));
}

void cint_waits_leave(CintWaits *waits, CintWaitsSq *sq)
{
    if (!sq->known) {
        return;
    }
    sq->known = false;
    if (sq->slice == LAST_SLICE && --waits->sharers) {
        return;
    }
    waits->slices &= ~(1ull << sq->slice);
    if (!waits->slices) {
        memset(waits, 0, sizeof(*waits));
    }
}

/* NULL if it is not there. What was used last comes first. */
static CintWaitsPage *find(CintWaitsPage *entry, uint32_t page)
{
    unsigned i;

    for (i = 0; i < CINT_WAITS_WAYS; i++) {
        if (entry[i].page == page) {
            return &entry[i];
        }
    }
    return NULL;
}

/*
 * What is believed of a buffer that is not known. Where it pushes out another,
 * the other may come back as one that is not known: there are more than there
 * is room for, and what was found out of them is handed on, as far as little
 * evidence is enough to think otherwise.
 */
static uint8_t handed_on(const CintWaitsPage *pushed_out, uint8_t score)
{
    return !pushed_out->page ? score :
           pushed_out->score < SCORE_UNSURE ? SCORE_UNSURE
                                            : pushed_out->score;
}

/*
 * Where nobody is known to wait but a job, a new buffer is likely to be its,
 * too. It is told at once like any other, until two judgements say more.
 */
static uint8_t first_score(const CintWaitsSq *sq)
{
    return sq->against < AGAINST_MANY ? SCORE_MOST : SCORE_LIKELY;
}

/*
 * Brings @page, which is not the first of its bucket, there; where it is not
 * known, in place of the last one. Returns true if it was known.
 */
static bool to_front(const CintWaitsSq *sq, CintWaitsPage *first, uint32_t page)
{
    CintWaitsPage pushed = *first;
    unsigned i;

    for (i = 1; i < CINT_WAITS_WAYS; i++) {
        CintWaitsPage entry = first[i];

        first[i] = pushed;
        pushed = entry;
        if (entry.page == page) {
            *first = entry;
            return true;
        }
    }
    *first = (CintWaitsPage) {
        .page = page,
        .score = handed_on(&pushed, first_score(sq)),
    };
    return false;
}

#define TICKS   128     /* as many as an entry can tell apart */

static uint8_t tick_of(int64_t now)
{
    return ((uint64_t)now >> CINT_WAITS_TICK) % TICKS;
}

/* Memory that was not used for so long may be somebody else's by now. */
static bool is_old(const CintWaitsPage *entry, uint8_t tick)
{
    return (uint8_t)(tick - entry->used) % TICKS > CINT_WAITS_OLD;
}

static bool is_before(uint16_t a, uint16_t b)
{
    return (int16_t)(a - b) < 0;
}

/* Rounded away from where it is, so that both ends are reached. */
static uint8_t moved(uint8_t score, bool up, unsigned share)
{
    unsigned way = up ? SCORE_MOST - score : score;
    unsigned step = (way + share - 1) / share;

    return up ? score + step : score - step;
}

/*
 * The first of a job's that are told together come back like who waits, now
 * this one, now that one: it takes more to be believed again.
 */
static void judge(CintWaitsSq *sq, CintWaitsPage *entry, bool waited)
{
    bool doubted = waited && entry->score < SCORE_WAITS;

    sq->against = moved(sq->against, !waited, AGAINST_SHARE);
    entry->score = moved(entry->score, waited,
                         doubted ? SCORE_DOUBTED : SCORE_SHARE);
}

static bool is_waited(const CintWaitsPage *entry)
{
    return entry->score >= SCORE_WAITS;
}

/*
 * Of a buffer that is not known. Where most are not, as where each is used
 * once, it is left to when the command came: who has waited submits first.
 */
static bool guess(const CintWaitsSq *sq, const CintWaitsPage *entry,
                  bool first)
{
    return first || (sq->fresh < FRESH_MANY && is_waited(entry));
}

/*
 * The CQE that the next use of @entry answers, of @told. A Flush has no buffer
 * to be known by: what is used after one that came later answers the Flush.
 */
static uint16_t answered(const CintWaitsSq *sq, const CintWaitsPage *entry,
                         uint16_t told)
{
    return sq->bare && is_before(entry->post, sq->bare_post) &&
           is_before(sq->bare_post, told) ? sq->bare_post : entry->post;
}

/* Where CQE @post is in what lies there; 0 if that was too long ago. */
static uint64_t cqe_bit(const CintWaitsSq *sq, uint16_t post)
{
    uint16_t ago = sq->post - post;

    return ago < CINT_WAITS_CQES ? 1ull << ago : 0;
}

/* The CQE of @entry, if it has one, does not lie there any longer. */
static void pick_up(CintWaitsSq *sq, const CintWaitsPage *entry)
{
    if (entry->posted) {
        sq->lying &= ~cqe_bit(sq, entry->post);
    }
}

/* The compiler's own may be a call, which costs its callers registers. */
static unsigned bits_of(uint64_t set)
{
    set -= set >> 1 & 0x5555555555555555;
    set = (set & 0x3333333333333333) + (set >> 2 & 0x3333333333333333);
    set = (set + (set >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return set * 0x0101010101010101 >> 56;
}

/*
 * How many of a job's buffers, whose CQEs came before @post, are not used again
 * yet? A job takes its CQEs as they come, so to it there are none.
 */
static unsigned overtaken(const CintWaitsSq *sq, uint16_t post)
{
    uint64_t older = sq->lying & -cqe_bit(sq, post);

    /* Most often there are none: no need to count them. */
    return older ? bits_of(older) : 0;
}

/* Was CQE @post told of when there had been @between fewer that counted? */
static bool came_within(const CintWaitsSq *sq, uint16_t post, unsigned between)
{
    return !is_before(post,
                      sq->told[(sq->next - 1 - between) % CINT_WAITS_TURNS]);
}

/*
 * Does whoever uses its buffer again after CQE @post wait for it? One command
 * may have come between: two jobs take turns. More may where it overtook twice
 * as many: it thinks, beside a job that has so many to give.
 */
static bool came_soon(const CintWaitsSq *sq, uint16_t post)
{
    unsigned most;

    if (came_within(sq, post, BETWEEN_MOST)) {
        return true;
    }
    most = overtaken(sq, post) / OVERTAKEN_EACH;
    return most > BETWEEN_MOST && came_within(sq, post, most);
}

/*
 * A command counts as one that comes between, unless its buffer was among the
 * last that did: a neighbour that waits for its own, faster than this one, is
 * one neighbour however often it comes round.
 */
static void count(CintWaitsSq *sq, uint32_t page, uint32_t told)
{
    const uint32_t *recent = sq->recent;

    if (recent[0] == page || recent[1] == page || recent[2] == page ||
        recent[3] == page) {
        return;
    }
    sq->recent[sq->next % CINT_WAITS_RECENT] = page;
    sq->told[sq->next++ % CINT_WAITS_TURNS] = told;
}

static void note_use(CintWaitsSq *sq, CintWaitsPage *entry, uint8_t tick,
                     uint32_t told, bool known)
{
    /* Where all are known it is 0, and stays. */
    if (sq->fresh || !known) {
        sq->fresh = moved(sq->fresh, !known, FRESH_SHARE);
    }
    entry->posted = false;
    entry->used = tick;
    count(sq, entry->page, told);
}

/* The buffer of @entry, which is known, is used again. */
static bool use_again(CintWaitsSq *sq, CintWaitsPage *entry, uint8_t tick,
                      uint32_t told)
{
    pick_up(sq, entry);
    if (entry->posted && is_before(entry->post, told)) {
        judge(sq, entry, came_soon(sq, answered(sq, entry, told)));
    }
    note_use(sq, entry, tick, told, true);
    return is_waited(entry);
}

/* The buffer of @entry is not known, or not any longer. */
static bool use_anew(CintWaitsSq *sq, CintWaitsPage *entry, uint8_t tick,
                     uint32_t told, bool first)
{
    note_use(sq, entry, tick, told, false);
    return guess(sq, entry, first);
}

/* Unless @page is known, and the first of its bucket. */
static APART bool submit_other(CintWaits *waits, CintWaitsSq *sq, uint32_t page,
                               int64_t now, uint32_t told, bool first)
{
    uint8_t tick = tick_of(now);
    CintWaitsPage *entry;

    if (!sq->known) {
        enter(waits, sq, told);
    }
    entry = bucket_of(waits, sq, page);
    if (entry->page != page && !to_front(sq, entry, page)) {
        return use_anew(sq, entry, tick, told, first);
    }
    if (is_old(entry, tick)) {
        pick_up(sq, entry);
        entry->score = first_score(sq);
        return use_anew(sq, entry, tick, told, first);
    }
    return cint_waits_submit(waits, sq, page, now, told, first);
}

bool cint_waits_submit(CintWaits *waits, CintWaitsSq *sq, uint32_t page,
                       int64_t now, uint32_t told, bool first)
{
    uint8_t tick = tick_of(now);
    CintWaitsPage *entry;

    if (!page) {
        return true;
    }
    if (sq->known) {
        entry = bucket_of(waits, sq, page);
        if (entry->page == page && !is_old(entry, tick)) {
            return use_again(sq, entry, tick, told);
        }
    }
    return submit_other(waits, sq, page, now, told, first);
}

static void note_post(CintWaitsSq *sq, uint16_t post)
{
    uint16_t since = post - sq->post;

    sq->lying = since < CINT_WAITS_CQES ? sq->lying << since : 0;
    sq->post = post;
}

void cint_waits_posted(CintWaits *waits, CintWaitsSq *sq, uint32_t page,
                       uint32_t index)
{
    CintWaitsPage *entry;

    if (!sq->known) {
        return;
    }
    note_post(sq, index);
    if (!page) {
        sq->bare = true;
        sq->bare_post = index;
        return;
    }
    entry = find(bucket_of(waits, sq, page), page);
    if (entry) {
        pick_up(sq, entry);
        entry->post = index;
        entry->posted = true;
        sq->lying |= !is_waited(entry);
    }
}

CintBelief cint_waits_belief(const CintWaits *waits, const CintWaitsSq *sq)
{
    const CintWaitsPage *entry = &waits->entry[slice_of(waits, sq)];
    CintBelief belief = { .fresh = sq->fresh };
    uint32_t i;

    for (i = 0; sq->known && i < buckets(waits) * CINT_WAITS_WAYS; i++) {
        belief.buffers += entry[i].page != 0;
        belief.waited += entry[i].page && is_waited(&entry[i]);
    }
    return belief;
}

uint64_t cint_page_save(const CintWaitsPage *entry, int64_t now)
{
    uint64_t age = (uint8_t)(tick_of(now) - entry->used) % TICKS;

    return entry->page | (uint64_t)entry->post << 32 |
           (uint64_t)entry->score << 48 | (uint64_t)entry->posted << 56 |
           age << 57;
}

void cint_page_load(CintWaitsPage *entry, int64_t now, uint64_t value)
{
    *entry = (CintWaitsPage) {
        .page = value,
        .post = value >> 32,
        .score = value >> 48,
        .posted = value >> 56 & 1,
        .used = (uint8_t)(tick_of(now) - (value >> 57)) % TICKS,
    };
}
