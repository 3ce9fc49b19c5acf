/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A slow second arbiter, for comparison with the real one.
 */
#include "model-arb.h"

/* Position of each class's weight in feature 01h. */
static const unsigned weight_shift[CINT_ARB_NR_CLASSES] = {
    [CINT_ARB_LOW] = 8,
    [CINT_ARB_MEDIUM] = 16,
    [CINT_ARB_HIGH] = 24,
};

unsigned model_arb_weight(uint32_t feature, int class)
{
    return 1 + (feature >> weight_shift[class]) % 256;
}

unsigned model_arb_burst(uint32_t feature)
{
    return feature % 8 == 7 ? 1 : 1 << feature % 8;
}

void model_arb_init(ModelArb *model, unsigned slots, bool weighted)
{
    int i;

    memset(model, 0, sizeof(*model));
    model->slots = slots;
    model->weighted = weighted;
    model->feature = 7;
    model->round = g_array_new(false, false, sizeof(int));
    for (i = 0; i < CINT_ARB_NR_CLASSES; i++) {
        g_queue_init(&model->line[i]);
        model->turn[i].sq = -1;
    }
}

void model_arb_free(ModelArb *model)
{
    int i;

    for (i = 0; i < CINT_ARB_NR_CLASSES; i++) {
        g_queue_clear(&model->line[i]);
    }
    g_array_free(model->round, true);
}

static bool waits(const ModelArbSq *sq)
{
    return sq->backlog > sq->granted;
}

bool model_arb_waits(const ModelArb *model, int class)
{
    unsigned i;

    for (i = 0; i < MODEL_ARB_SQS; i++) {
        if ((int)model->sq[i].class == class && waits(&model->sq[i])) {
            return true;
        }
    }
    return false;
}

bool model_arb_anyone_waits(const ModelArb *model)
{
    return model_arb_waits(model, CINT_ARB_URGENT) ||
           model_arb_waits(model, CINT_ARB_HIGH) ||
           model_arb_waits(model, CINT_ARB_MEDIUM) ||
           model_arb_waits(model, CINT_ARB_LOW);
}

unsigned model_arb_granted(const ModelArb *model)
{
    unsigned i, n = 0;

    for (i = 0; i < MODEL_ARB_SQS; i++) {
        n += model->sq[i].granted;
    }
    return n;
}

/* Whoever is at the front, and was not before, begins a turn. */
static void note_turn(ModelArb *model, int line)
{
    int front = g_queue_is_empty(&model->line[line]) ? -1 :
                GPOINTER_TO_INT(g_queue_peek_head(&model->line[line]));

    if (model->turn[line].sq != front) {
        model->turn[line] = (ModelArbTurn) {
            front, model_arb_burst(model->feature),
        };
    }
}

static void note_line(ModelArb *model, unsigned sq)
{
    int line = model->weighted ? model->sq[sq].class : 0;
    gpointer key = GINT_TO_POINTER(sq);
    GList *place = g_queue_find(&model->line[line], key);

    if (waits(&model->sq[sq]) && !place) {
        g_queue_push_tail(&model->line[line], key);
    } else if (!waits(&model->sq[sq]) && place) {
        g_queue_delete_link(&model->line[line], place);
    }
    note_turn(model, line);
}

void model_arb_set_backlog(ModelArb *model, unsigned sq, unsigned backlog)
{
    model->sq[sq].backlog = backlog;
    model->sq[sq].granted = MIN(model->sq[sq].granted, backlog);
    note_line(model, sq);
}

void model_arb_fetched(ModelArb *model, unsigned sq)
{
    model->used++;
    model->sq[sq].backlog--;
    if (model->sq[sq].granted) {
        model->sq[sq].granted--;
    }
    note_line(model, sq);
}

static unsigned taken_in_round(const ModelArb *model, int class)
{
    unsigned i, n = 0;

    for (i = 0; i < model->round->len; i++) {
        n += g_array_index(model->round, int, i) == class;
    }
    return n;
}

/* The first of the weighted classes that waits and has not had its share. */
static int entitled_class(const ModelArb *model)
{
    int class;

    for (class = CINT_ARB_HIGH; class <= CINT_ARB_LOW; class++) {
        if (model_arb_waits(model, class) && model->in_round &&
            taken_in_round(model, class) <
            model_arb_weight(model->round_feature, class)) {
            return class;
        }
    }
    return -1;
}

static int weighted_class(ModelArb *model)
{
    int class = entitled_class(model);

    if (class < 0) {
        g_array_set_size(model->round, 0);
        model->round_feature = model->feature;
        model->in_round = true;
        class = entitled_class(model);
    }
    g_array_append_val(model->round, class);
    return class;
}

static int take_turn(ModelArb *model, int line)
{
    GQueue *queue = &model->line[line];
    int sq = GPOINTER_TO_INT(g_queue_peek_head(queue));

    model->sq[sq].granted++;
    if (--model->turn[line].left == 0) {
        g_queue_push_tail(queue, g_queue_pop_head(queue));
        model->turn[line].sq = -1;
        note_turn(model, line);
    }
    note_line(model, sq);
    return sq;
}

int model_arb_next(ModelArb *model)
{
    if (!model->slots || !model_arb_anyone_waits(model) ||
        model->used + model_arb_granted(model) >= model->slots) {
        return -1;
    }
    if (!model->weighted || model_arb_waits(model, CINT_ARB_URGENT)) {
        return take_turn(model, 0);
    }
    return take_turn(model, weighted_class(model));
}
