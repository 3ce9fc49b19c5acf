/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The offline optimum, exact, by dynamic programming.
 *
 * An interrupt that is not at a CQE's time may as well be sent at the last one
 * before it, so each group of CQEs ends with its interrupt. Let W be the sum of
 * the weights so far, and S that of weight x time. CQEs i + 1 to j together
 * wait for t_j (W_j - W_i) - (S_j - S_i), hence
 *
 *   cost_j = price + t_j W_j - S_j + min over i < j of (cost_i + S_i - t_j W_i)
 *
 * and what is minimised is a line over t_j for each i. Slopes only fall and
 * times only rise, so that lines enter the lower envelope at one end and leave
 * it for good at the other: a constant time for each CQE, and no more memory
 * than the envelope has lines.
 */
#include "optimal.h"

__extension__ typedef __int128 Cost;

typedef struct Line {
    int64_t weight;     /* minus its slope */
    Cost start;         /* at time 0 */
    uint64_t irqs;      /* until there */
} Line;

/* For one weight of the CQEs that nobody waits for. */
typedef struct Envelope {
    GArray *line;
    unsigned first;     /* those before it have left */
    int64_t weight;     /* W */
    Cost moment;        /* S */
    Cost cost;
    uint64_t irqs;
} Envelope;

struct Optimal {
    int64_t price, first_ns;
    bool begun;
    Envelope envelope[OPTIMAL_WEIGHTS];
};

#define LEFT_MANY   4096    /* lines that have left, to be thrown away */

static const Line *line(const Envelope *e, unsigned i)
{
    return &g_array_index(e->line, Line, i);
}

static Cost at(const Line *line, int64_t t)
{
    return line->start - (Cost)line->weight * t;
}

/* Between @a and @c the line @b is nowhere below both. */
static bool is_hidden(const Line *a, const Line *b, const Line *c)
{
    return (c->start - a->start) * (b->weight - a->weight) <=
           (b->start - a->start) * (c->weight - a->weight);
}

static void enter(Envelope *e, Line new)
{
    unsigned n = e->line->len;

    /* Of parallel lines the lower one stays. */
    if (n > e->first && line(e, n - 1)->weight == new.weight) {
        if (line(e, n - 1)->start <= new.start) {
            return;
        }
        n--;
    }
    while (n > e->first + 1 &&
           is_hidden(line(e, n - 2), line(e, n - 1), &new)) {
        n--;
    }
    g_array_set_size(e->line, n);
    g_array_append_val(e->line, new);
}

static const Line *lowest(Envelope *e, int64_t t)
{
    while (e->first + 1 < e->line->len &&
           at(line(e, e->first + 1), t) <= at(line(e, e->first), t)) {
        e->first++;
    }
    if (e->first >= LEFT_MANY) {
        g_array_remove_range(e->line, 0, e->first);
        e->first = 0;
    }
    return line(e, e->first);
}

static void add(Envelope *e, int64_t price, int64_t t, int64_t weight)
{
    const Line *best = lowest(e, t);

    e->weight += weight;
    e->moment += (Cost)weight * t;
    e->cost = price + (Cost)e->weight * t - e->moment + at(best, t);
    e->irqs = best->irqs + 1;
    enter(e, (Line) {
        .weight = e->weight,
        .start = e->cost + e->moment,
        .irqs = e->irqs,
    });
}

void optimal_add(Optimal *optimal, int64_t t, bool waited)
{
    int i;

    if (!optimal->begun) {
        optimal->begun = true;
        optimal->first_ns = t;
    }
    for (i = 0; i < OPTIMAL_WEIGHTS; i++) {
        add(&optimal->envelope[i], optimal->price, t - optimal->first_ns,
            waited ? OPTIMAL_PARTS : i);
    }
}

double optimal_cost(const Optimal *optimal, unsigned weight)
{
    return optimal->envelope[weight].cost;
}

uint64_t optimal_irqs(const Optimal *optimal, unsigned weight)
{
    return optimal->envelope[weight].irqs;
}

Optimal *optimal_new(uint64_t price_ns)
{
    Optimal *optimal = g_new0(Optimal, 1);
    Line none = { 0 };
    unsigned i;

    optimal->price = OPTIMAL_PARTS * price_ns;
    for (i = 0; i < OPTIMAL_WEIGHTS; i++) {
        optimal->envelope[i].line = g_array_new(false, false, sizeof(Line));
        g_array_append_val(optimal->envelope[i].line, none);
    }
    return optimal;
}

void optimal_free(Optimal *optimal)
{
    unsigned i;

    if (!optimal) {
        return;
    }
    for (i = 0; i < OPTIMAL_WEIGHTS; i++) {
        g_array_free(optimal->envelope[i].line, true);
    }
    g_free(optimal);
}
