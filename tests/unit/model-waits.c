/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The slow second engine's belief of who waits: no table, but all the commands
 * ever submitted, looked through for what became of a buffer. It has room for
 * everything, so the streams must not have more buffers than a bucket has
 * entries.
 */
#include <glib.h>

#include "model-waits.h"

#define NEIGHBOURS      4   /* that do not count again */
#define MOST_BETWEEN    1

bool model_learns(const Model *model)
{
    return model->config.policy == NVME_CINT_POLICY_CINT &&
           model->config.infer == CINT_INFER_LEARN;
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

/* The CQE of @page that was posted last between two commands, or -1. */
static int posted_between(const Model *model, unsigned from, unsigned to)
{
    unsigned sq = model->cmd[to].sq, i;
    int last = -1;

    for (i = 0; i < model->nr_cmds; i++) {
        const ModelCmd *cmd = &model->cmd[i];

        if (of_queue(model, i, sq) && cmd->page == model->cmd[to].page &&
            cmd->cqe >= (int)model->cmd[from].cqes &&
            cmd->cqe < (int)model->cmd[to].cqes) {
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

static int judged(int score, bool waited)
{
    return waited ? score + (255 - score + 7) / 8 : score - (score + 7) / 8;
}

static bool is_waited_for(const Model *model, unsigned cmd)
{
    unsigned sq = model->cmd[cmd].sq, i;
    int before = -1, score = 255, cqe;

    for (i = model->forgotten; i <= cmd; i++) {
        if (!of_queue(model, i, sq) ||
            model->cmd[i].page != model->cmd[cmd].page) {
            continue;
        }
        cqe = before < 0 ? -1 : posted_between(model, before, i);
        if (cqe >= 0 && cqe < model->cmd[i].told) {
            score = judged(score, between(model, cqe, i) <= MOST_BETWEEN);
        }
        before = i;
    }
    return score >= 128;
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

void model_learn(Model *model)
{
    unsigned newest = model->nr_cmds - 1;
    ModelCmd *cmd = &model->cmd[newest], *before = previous(model);
    bool waits = true;

    if (!model_learns(model)) {
        cmd->page = 0;
        return;
    }
    if (cmd->page) {
        meet(model, cmd->sq);
        cmd->counts = counts(model, newest);
        waits = is_waited_for(model, newest);
    }
    if (!begins_batch(model)) {
        if (before && before->waited) {
            before->waited = false;
            before->hints = NVME_CINT_HINT_NONE;
        }
    } else if (waits && !cmd->given) {
        cmd->waited = true;
        cmd->hints = NVME_CINT_HINT_URGENT;
    }
}

void model_learn_posted(Model *model, unsigned cmd)
{
    model->cmd[cmd].cqe = model_learns(model) ? (int)model->nr_cqes : -1;
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
