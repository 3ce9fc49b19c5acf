/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slow second engine's belief of who waits: no table, but all the commands
 * ever submitted, looked through for what became of a buffer. It has room for
 * everything, so the streams must not have more buffers than a bucket has
 * entries.
 */
#include <glib.h>

#include "model-auto.h"
#include "model-waits.h"

#define NEIGHBOURS      4   /* that do not count again */
#define MOST_BETWEEN    1
#define CQES_KNOWN      64  /* that lie there, of the last of a queue */
#define TICK_NS         8388608
#define OLD_TICKS       4   /* unused for more: what was known is forgotten */

bool model_learns(const Model *model)
{
    CintInfer infer = model_infers(&model->config);

    return model_hears(&model->config) &&
           (infer == CINT_INFER_LEARN || infer == CINT_INFER_BOTH);
}

static bool goes_by_content(const Model *model)
{
    CintInfer infer = model_infers(&model->config);

    return model_hears(&model->config) &&
           (infer == CINT_INFER_CONTENT || infer == CINT_INFER_BOTH);
}

/* Was @cmd one that the queue @sq has learned from since it is known? */
static bool of_queue(const Model *model, unsigned cmd, unsigned sq)
{
    return model->cmd[cmd].sq == sq && model->cmd[cmd].page &&
           cmd >= model->life[sq].since;
}

/* Is the buffer none of the last that counted before it? */
static bool counts(const Model *model, unsigned cmd)
{
    unsigned sq = model->cmd[cmd].sq, i = cmd, seen = 0;

    while (i-- > 0 && seen < NEIGHBOURS) {
        if (!of_queue(model, i, sq) || !model->cmd[i].counts) {
            continue;
        }
        if (model->cmd[i].page == model->cmd[cmd].page) {
            return false;
        }
        seen++;
    }
    return true;
}

/* The last CQE of the buffer of @from since that was fetched, or -1. */
static int posted_since(const Model *model, unsigned from)
{
    unsigned sq = model->cmd[from].sq, i;
    int last = -1;

    for (i = 0; i < model->nr_cmds; i++) {
        const ModelCmd *cmd = &model->cmd[i];

        if (of_queue(model, i, sq) && cmd->page == model->cmd[from].page &&
            cmd->cqe >= (int)model->cmd[from].cqes) {
            last = MAX(last, cmd->cqe);
        }
    }
    return last;
}

/* Commands that count, from the time @cqe was told of until @cmd. */
static unsigned between(const Model *model, int cqe, unsigned cmd)
{
    unsigned i, n = 0;

    for (i = 0; i < cmd; i++) {
        n += of_queue(model, i, model->cmd[cmd].sq) && model->cmd[i].counts &&
             model->cmd[i].told > cqe;
    }
    return n;
}

/* The last CQE without a buffer, if it came after @cqe and was told of. */
static int answered(const Model *model, int cqe, unsigned cmd)
{
    unsigned sq = model->cmd[cmd].sq, i;
    int since = model->cmd[model->life[sq].since].cqes, last = -1;

    for (i = 0; i < cmd; i++) {
        if (model->cmd[i].sq == sq && !model->cmd[i].page &&
            model->cmd[i].cqe >= since) {
            last = MAX(last, model->cmd[i].cqe);
        }
    }
    return last > cqe && last < model->cmd[cmd].told ? last : cqe;
}

static int last_cqe(const Model *model, unsigned sq)
{
    int last = -1;
    unsigned i;

    for (i = 0; i < model->nr_cmds; i++) {
        if (model->cmd[i].sq == sq) {
            last = MAX(last, model->cmd[i].cqe);
        }
    }
    return last;
}

/* A job's CQEs before @cqe whose buffers are not used again. */
static unsigned overtaken(const Model *model, int cqe, unsigned sq)
{
    int oldest = last_cqe(model, sq) - CQES_KNOWN + 1;
    unsigned i, n = 0;

    for (i = 0; i < model->nr_cmds && cqe >= oldest; i++) {
        n += of_queue(model, i, sq) && model->cmd[i].lies &&
             model->cmd[i].cqe >= oldest && model->cmd[i].cqe < cqe;
    }
    return n;
}

static void pick_up(Model *model, int cqe)
{
    unsigned i;

    for (i = 0; i < model->nr_cmds && cqe >= 0; i++) {
        if (model->cmd[i].cqe == cqe) {
            model->cmd[i].lies = false;
        }
    }
}

static bool is_old(const Model *model, unsigned use, unsigned next_use)
{
    return model->cmd[next_use].fetched / TICK_NS -
           model->cmd[use].fetched / TICK_NS > OLD_TICKS;
}

static int judged(int score, bool waited)
{
    if (!waited) {
        return score - (score + 7) / 8;
    }
    return score < 128 ? score + (255 - score + 15) / 16
                       : score + (255 - score + 7) / 8;
}

/* The last use of the buffer of @cmd among those before @end, or -1. */
static int use_before(const Model *model, unsigned cmd, unsigned end)
{
    int i;

    for (i = end - 1; i >= (int)model->forgotten; i--) {
        if (of_queue(model, i, model->cmd[cmd].sq) &&
            model->cmd[i].page == model->cmd[cmd].page) {
            return i;
        }
    }
    return -1;
}

/* Did next to nobody whose buffer came back wait? */
static bool all_against(const Model *model, unsigned newest)
{
    int against = 0;
    unsigned i;

    for (i = 0; i < newest; i++) {
        if (of_queue(model, i, model->cmd[newest].sq) && model->cmd[i].judged) {
            against = model->cmd[i].at_once ?
                      against - (against + 15) / 16 :
                      against + (255 - against + 15) / 16;
        }
    }
    return against >= 224;
}

/* What becomes of the newest command's buffer, which was used before or not. */
static void judge(Model *model, unsigned newest, int before)
{
    ModelCmd *cmd = &model->cmd[newest];
    int cqe = before < 0 ? -1 : posted_since(model, before);

    pick_up(model, cqe);
    cmd->known = before >= 0 && !is_old(model, before, newest);
    if (!cmd->known) {
        cmd->score = all_against(model, newest) ? 150 : 255;
        return;
    }
    cmd->score = model->cmd[before].score;
    cmd->judged = cqe >= 0 && cqe < cmd->told;
    if (cmd->judged) {
        cqe = answered(model, cqe, newest);
        cmd->at_once = between(model, cqe, newest) <=
                       MAX(MOST_BETWEEN, overtaken(model, cqe, cmd->sq) / 2);
        cmd->score = judged(cmd->score, cmd->at_once);
    }
}

/* A queue takes the lowest number; the table is cut for a power of two. */
static void meet(Model *model, unsigned sq)
{
    unsigned number = 0, i;

    if (model->life[sq].known) {
        return;
    }
    for (i = 0; i < MODEL_SQS; i++) {
        if (model->life[i].known && model->life[i].number == number) {
            number++;
            i = -1;
        }
    }
    model->life[sq].known = true;
    model->life[sq].number = number;
    model->life[sq].since = model->nr_cmds - 1;
    while (number >= model->slices) {
        model->slices *= 2;
        model->forgotten = model->nr_cmds - 1;
    }
}

void model_learn_delete(Model *model, unsigned sq)
{
    unsigned i;

    if (!model->life[sq].known) {
        return;
    }
    model->life[sq].known = false;
    for (i = 0; i < MODEL_SQS; i++) {
        if (model->life[i].known) {
            return;
        }
    }
    model->slices = 1;
}

/* The command before the newest in its batch, if it is still in flight. */
static ModelCmd *previous(Model *model)
{
    unsigned newest = model->nr_cmds - 1, i = newest;

    while (i-- > 0) {
        ModelCmd *cmd = &model->cmd[i];

        if (cmd->sq == model->cmd[newest].sq) {
            return !cmd->announced && cmd->state == MODEL_FLYING ? cmd : NULL;
        }
    }
    return NULL;
}

static bool begins_batch(const Model *model)
{
    unsigned i;

    for (i = 0; i < model->nr_cmds - 1; i++) {
        if (model->cmd[i].sq == model->cmd[model->nr_cmds - 1].sq &&
            !model->cmd[i].announced) {
            return false;
        }
    }
    return true;
}

/* Has the guest consumed anything since the queue's last command? */
static bool came_first(const Model *model, unsigned newest)
{
    const ModelCmd *cmd = &model->cmd[newest];
    unsigned i = newest;

    while (i-- > model->born[cmd->sq]) {
        if (model->cmd[i].sq == cmd->sq && model->cmd[i].looked) {
            return model->cmd[i].consumed != cmd->consumed;
        }
    }
    return true;
}

/* Are most of the queue's buffers new? */
static bool mostly_fresh(const Model *model, unsigned newest)
{
    int fresh = 0;
    unsigned i;

    for (i = 0; i <= newest; i++) {
        if (of_queue(model, i, model->cmd[newest].sq)) {
            fresh = model->cmd[i].known ? fresh - (fresh + 15) / 16
                                        : fresh + (255 - fresh + 15) / 16;
        }
    }
    return fresh >= 192;
}

/* Of a command whose buffer is not known. */
static bool is_guessed(const Model *model, unsigned newest, bool first)
{
    return first || model_inflight(model) == 1 ||
           !mostly_fresh(model, newest);
}

static bool seems_waited_for(Model *model, unsigned newest, bool first)
{
    ModelCmd *cmd = &model->cmd[newest];

    if (!model_learns(model)) {
        return false;
    }
    if (!cmd->page) {
        return true;
    }
    meet(model, cmd->sq);
    judge(model, newest, use_before(model, newest, newest));
    cmd->counts = counts(model, newest);
    return cmd->known ? cmd->score >= 128
                      : is_guessed(model, newest, first);
}

void model_learn(Model *model)
{
    unsigned newest = model->nr_cmds - 1;
    ModelCmd *cmd = &model->cmd[newest], *before = previous(model);
    bool first, waits;

    cmd->looked = model_learns(model) || goes_by_content(model);
    cmd->consumed = model->nr_cqes - model_outstanding(model);
    first = came_first(model, newest);
    if (!goes_by_content(model)) {
        cmd->content = CINT_CONTENT_PLAIN;
    }
    if (!model_learns(model)) {
        cmd->page = 0;
    }
    waits = seems_waited_for(model, newest, first) && begins_batch(model);
    waits = waits || cmd->content == CINT_CONTENT_NOW;
    if (waits && !cmd->given) {
        cmd->waited = true;
        cmd->hints = NVME_CINT_HINT_URGENT;
    }
    if (cmd->looked && !begins_batch(model) && before && before->waited &&
        before->content != CINT_CONTENT_NOW) {
        before->waited = false;
        before->hints = NVME_CINT_HINT_NONE;
    }
    if (first && cmd->content == CINT_CONTENT_AHEAD) {
        cmd->content = CINT_CONTENT_PLAIN;
    }
}

void model_learn_posted(Model *model, unsigned cmd)
{
    int use = use_before(model, cmd, model->nr_cmds);

    if (!model_learns(model)) {
        model->cmd[cmd].cqe = -1;
        return;
    }
    if (use >= 0) {
        pick_up(model, posted_since(model, use));
        model->cmd[cmd].lies = model->cmd[use].score < 128;
    }
    model->cmd[cmd].cqe = model->nr_cqes;
}

bool model_somebody_waited(const Model *model)
{
    unsigned i;

    for (i = 0; i < model->nr_cmds; i++) {
        if (model->cmd[i].waited && model->cmd[i].state == MODEL_FLYING) {
            return true;
        }
    }
    return false;
}
