/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Events, to each completion queue under each policy.
 */
#include <string.h>

#include "lane.h"
#include "replay.h"
#include "words.h"

#define CHUNK_COMMANDS  256

static uint32_t command_key(const Event *event)
{
    return (uint32_t)event->sqid << 16 | event->cid;
}

/*
 * Commands
 */

static size_t command_bytes(const Replay *replay)
{
    return sizeof(Command) + replay->nr_arms * sizeof(CintCmd);
}

/* The engine keeps pointers to commands: they never move. */
static void add_commands(Replay *replay)
{
    size_t bytes = command_bytes(replay);
    char *chunk = g_malloc0_n(CHUNK_COMMANDS, bytes);
    Command *cmd;
    unsigned i;

    g_ptr_array_add(replay->chunks, chunk);
    for (i = 0; i < CHUNK_COMMANDS; i++) {
        cmd = (Command *)(chunk + i * bytes);
        cmd->next_free = replay->free;
        replay->free = cmd;
    }
}

static Command *find_command(Replay *replay, uint32_t key)
{
    const SqState *sq = replay->sq[key >> 16];
    Command **page = sq ? sq->page[(key & 65535) / PAGE_COMMANDS] : NULL;

    return page ? page[key % PAGE_COMMANDS] : NULL;
}

static void set_command(Replay *replay, uint32_t key, Command *cmd)
{
    Command ***page = &replay->sq[key >> 16]->page[(key & 65535) /
                                                   PAGE_COMMANDS];

    if (!*page) {
        *page = g_new0(Command *, PAGE_COMMANDS);
    }
    (*page)[key % PAGE_COMMANDS] = cmd;
}

static Command *new_command(Replay *replay, uint32_t key)
{
    Command *cmd;

    if (!replay->free) {
        add_commands(replay);
    }
    cmd = replay->free;
    replay->free = cmd->next_free;
    cmd->key = key;
    set_command(replay, key, cmd);
    replay->nr_flying++;
    return cmd;
}

static void free_command(Replay *replay, Command *cmd)
{
    set_command(replay, cmd->key, NULL);
    replay->nr_flying--;
    cmd->next_free = replay->free;
    replay->free = cmd;
}

/*
 * Queues
 */

static uint32_t ring_mask(uint32_t size)
{
    uint32_t ring = 1;

    while (ring < size) {
        ring *= 2;
    }
    return ring - 1;
}

static CqState *new_cq(Replay *replay, uint16_t cqid)
{
    CqState *cq = g_new0(CqState, 1);
    unsigned i;

    cq->cqid = cqid;
    cq->mask = ring_mask(replay->setup->cq_size);
    cq->posted = g_new0(Posted, cq->mask + 1);
    cq->optimal = replay->setup->price_ns && replay->is_first ?
                  optimal_new(replay->setup->price_ns) : NULL;
    cq->last_post_ns = NEVER;
    cq->lane = g_new(Lane, replay->nr_arms);
    for (i = 0; i < replay->nr_arms; i++) {
        lane_init(&cq->lane[i], replay, &replay->arm[i], cq);
    }
    replay->cq = g_renew(CqState *, replay->cq, replay->nr_cqs + 1);
    replay->cq[replay->nr_cqs++] = cq;
    return cq;
}

static CqState *find_cq(Replay *replay, uint16_t cqid)
{
    unsigned i;

    for (i = 0; i < replay->nr_cqs; i++) {
        if (replay->cq[i]->cqid == cqid) {
            return replay->cq[i];
        }
    }
    return new_cq(replay, cqid);
}

static SqState *new_sq(Replay *replay, const Event *event)
{
    SqState *sq = g_new0(SqState, 1);
    unsigned i;

    sq->cq = find_cq(replay, event->cqid);
    sq->engine = g_new(CintSq, replay->nr_arms);
    for (i = 0; i < replay->nr_arms; i++) {
        cint_sq_init(&sq->engine[i], &sq->cq->lane[i].engine);
    }
    replay->sq[event->sqid] = sq;
    return sq;
}

/*
 * Time
 */

static Lane *first_due(Replay *replay, unsigned arm)
{
    Lane *first = &replay->cq[0]->lane[arm];
    unsigned i;

    for (i = 1; i < replay->nr_cqs; i++) {
        Lane *lane = &replay->cq[i]->lane[arm];

        if (lane_due(lane) < lane_due(first)) {
            first = lane;
        }
    }
    return first;
}

/* Everything that happens by itself up to and including @t. */
static void pass_time(Replay *replay, int64_t t)
{
    unsigned i;
    Lane *lane;

    for (i = 0; replay->nr_cqs && i < replay->nr_arms; i++) {
        while (lane_due(lane = first_due(replay, i)) <= t) {
            lane_step(lane);
        }
    }
}

static void end_pass(Replay *replay)
{
    CqState *cq = replay->in_pass;
    unsigned i;

    replay->in_pass = NULL;
    for (i = 0; cq && i < replay->nr_arms; i++) {
        lane_act(&cq->lane[i], cq->last_post_ns,
                 cint_pass_end(&cq->lane[i].engine, cq->last_post_ns));
    }
}

/*
 * QEMU's trace may give no times but those the medium promised. Then what the
 * guest does happens when the last completion came.
 */
static int64_t guess_time(Replay *replay, const Event *event)
{
    const Command *cmd = event->kind == EVENT_COMPLETE ?
                         find_command(replay, command_key(event)) : NULL;

    return cmd ? MAX(cmd->due, replay->now) : replay->now;
}

static void set_time(Replay *replay, Event *event)
{
    if (event->t == TIME_UNKNOWN) {
        event->t = guess_time(replay, event);
    }
    if (event->t < replay->now) {
        input_error(replay->in, "expected a time that is not before the "
                    "previous event's (%" G_GINT64_FORMAT "), found %"
                    G_GINT64_FORMAT, replay->now, event->t);
    }
    /* Completions of one instant are posted in one pass, as devices do. */
    if (event->kind != EVENT_COMPLETE || !replay->in_pass ||
        replay->in_pass->last_post_ns != event->t ||
        replay->in_pass->cqid != event->cqid) {
        end_pass(replay);
    }
    pass_time(replay, event->t);
    replay->now = event->t;
}

/*
 * Events
 */

static void cancel_command(Replay *replay, Command *cmd, int64_t t)
{
    SqState *sq = replay->sq[cmd->key >> 16];
    unsigned i;

    for (i = 0; i < replay->nr_arms; i++) {
        lane_act(&sq->cq->lane[i], t,
                 cint_cancel(&sq->engine[i], &cmd->engine[i], t));
    }
    free_command(replay, cmd);
    replay->cancelled++;
}

/* QEMU's trace does not say that a command was aborted or its queue deleted. */
static void make_room(Replay *replay, const Event *event, Command *old)
{
    if (replay->setup->next == timeline_next) {
        input_error(replay->in, "expected a command that is not in flight, "
                    "found %u of submission queue %u", event->cid,
                    event->sqid);
    }
    cancel_command(replay, old, event->t);
}

static void submit(Replay *replay, const Event *event)
{
    uint8_t hints = replay->setup->deaf ? NVME_CINT_HINT_NONE : event->hints;
    uint32_t key = command_key(event);
    SqState *sq = replay->sq[event->sqid];
    Command *cmd = find_command(replay, key);
    unsigned i;

    if (cmd) {
        make_room(replay, event, cmd);
    }
    if (!sq) {
        sq = new_sq(replay, event);
    } else if (sq->cq->cqid != event->cqid) {
        input_error(replay->in, "expected submission queue %u to stay with "
                    "completion queue %u, found %u", event->sqid,
                    sq->cq->cqid, event->cqid);
    }
    cmd = new_command(replay, key);
    cmd->hints = event->hints;
    cmd->sources = replay->setup->deaf ? 0 : event->sources;
    cmd->due = replay->now;
    for (i = 0; i < replay->nr_arms; i++) {
        cmd->engine[i].page = event->page;
        cmd->engine[i].content = event->content;
        lane_act(&sq->cq->lane[i], event->t,
                 cint_submit(&sq->engine[i], &cmd->engine[i], event->t,
                             hints, cmd->sources));
    }
}

static void doorbell(Replay *replay, const Event *event)
{
    SqState *sq = replay->sq[event->sqid];
    unsigned i;

    for (i = 0; sq && i < replay->nr_arms; i++) {
        lane_act(&sq->cq->lane[i], event->t,
                 cint_doorbell(&sq->engine[i], event->t));
    }
}

static Command *in_flight(Replay *replay, const Event *event)
{
    Command *cmd = find_command(replay, command_key(event));

    if (!cmd && replay->setup->next == timeline_next) {
        input_error(replay->in, "expected a command in flight, found %u of "
                    "submission queue %u", event->cid, event->sqid);
    }
    return cmd;
}

static void check_room(Replay *replay, const Lane *lane)
{
    uint32_t used = lane->engine.tail - lane->engine.head;

    if (used >= lane->engine.size - 1) {
        input_error(replay->in, "expected the guest to have consumed a CQE: "
                    "a completion queue of %u entries holds no more than %u "
                    "(--cq-size, --guest)", lane->engine.size, used);
    }
}

static void post(Replay *replay, CqState *cq, const Command *cmd, int64_t t)
{
    Posted *cqe = &cq->posted[cq->tail & cq->mask];
    unsigned i;

    for (i = 0; i < replay->nr_arms; i++) {
        check_room(replay, &cq->lane[i]);
        cq->lane[i].state[cq->tail & cq->mask] = 0;
    }
    *cqe = (Posted) {
        .t = t,
        .hints = cmd->hints,
        .sources = cmd->sources,
    };
    if (cq->last_post_ns != NEVER && replay->is_first) {
        hist_add(&cq->gaps, t - cq->last_post_ns);
    }
    cq->last_post_ns = t;
    if (cq->optimal) {
        optimal_add(cq->optimal, t, cmd->hints == NVME_CINT_HINT_URGENT ||
                                    cmd->hints == NVME_CINT_HINT_BARRIER);
    }
    cq->tail++;
    replay->in_pass = cq;
    replay->completions++;
}

static void complete(Replay *replay, const Event *event)
{
    Command *cmd = in_flight(replay, event);
    bool error = event->error && replay->setup->extras;
    SqState *sq;
    unsigned i;

    if (!cmd) {
        /* Submitted before the trace began. */
        replay->strangers++;
        return;
    }
    sq = replay->sq[event->sqid];
    post(replay, sq->cq, cmd, event->t);
    sq->cq->tail_slot = event->tail;
    for (i = 0; i < replay->nr_arms; i++) {
        lane_act(&sq->cq->lane[i], event->t,
                 cint_complete(&sq->engine[i], &cmd->engine[i], event->t,
                               error));
    }
    free_command(replay, cmd);
}

static void cancel(Replay *replay, const Event *event)
{
    cancel_command(replay, in_flight(replay, event), event->t);
}

static void media(Replay *replay, const Event *event)
{
    Command *cmd = find_command(replay, command_key(event));

    if (cmd) {
        cmd->due = event->due;
    }
}

/* The head of QEMU's trace is a slot of the queue. */
static uint32_t free_running(const Replay *replay, const CqState *cq,
                             const Event *event)
{
    uint32_t size = replay->setup->cq_size;

    if (event->slots && (event->index >= size || cq->tail_slot >= size)) {
        input_error(replay->in, "expected a head below the queue's size, %u "
                    "(--cq-size), found %u", size,
                    MAX(event->index, cq->tail_slot));
    }
    return event->slots ?
           cq->tail - (cq->tail_slot + size - event->index) % size :
           event->index;
}

static void move_head(Replay *replay, CqState *cq, Lane *lane,
                      const Event *event)
{
    uint32_t head = free_running(replay, cq, event);
    uint32_t most = lane->engine.tail - lane->engine.head;

    if (head - lane->engine.head > most) {
        input_error(replay->in, "expected a head from %u, where the guest is, "
                    "to %u, the CQEs posted, found %u%s", lane->engine.head,
                    lane->engine.tail, head, replay->setup->guest_given ? "" :
                    " (--guest trace: the head moves by head lines only)");
    }
    lane_head(lane, event->t, head);
}

/* Without --guest the first head line says that the trace knows the guest. */
static void head(Replay *replay, const Event *event)
{
    CqState *cq = find_cq(replay, event->cqid);
    unsigned i;

    if (!replay->setup->guest_given) {
        replay->guest = GUEST_TRACE;
    }
    if (replay->guest != GUEST_TRACE) {
        replay->ignored_heads++;
        return;
    }
    if (replay->setup->price_ns) {
        input_error(replay->in, "expected no head: --optimal goes with --reap "
                    "eager");
    }
    for (i = 0; i < replay->nr_arms; i++) {
        move_head(replay, cq, &cq->lane[i], event);
    }
}

static void pointer(Replay *replay, const Event *event)
{
    CqState *cq = find_cq(replay, event->cqid);
    unsigned i;

    for (i = 0; i < replay->nr_arms; i++) {
        Lane *lane = &cq->lane[i];
        uint32_t ahead = event->index - lane->engine.head;

        if (lane->engine.config.policy != NVME_CINT_POLICY_POINTER) {
            continue;
        }
        if (!ahead || ahead >= lane->engine.size) {
            input_error(replay->in, "expected a pointer 1 to %u entries after "
                        "the head, %u, found %u", lane->engine.size - 1,
                        lane->engine.head, event->index);
        }
        lane_act(lane, event->t,
                 cint_pointer(&lane->engine, event->t, event->index));
    }
}

static void set_arm(Replay *replay, Arm *arm, const Event *event)
{
    CintConfig config = arm->config;
    const char *conflict;
    Lane *lane;
    unsigned i;

    *cint_config_field(&config, event->param) = event->value;
    conflict = cint_config_conflict(&config);
    if (conflict) {
        input_error(replay->in, "expected parameters that go together under "
                    "%s: %s", arm->name, conflict);
    }
    arm->config = config;
    for (i = 0; i < replay->nr_cqs; i++) {
        lane = &replay->cq[i]->lane[arm - replay->arm];
        lane_act(lane, event->t,
                 cint_configure(&lane->engine, event->t, &config));
    }
}

static void set(Replay *replay, const Event *event)
{
    unsigned i;

    unsigned compared = replay->setup->nr_arms;

    if (is_policy(event->param) && compared > 1) {
        input_error(replay->in, "expected no change of policy where several "
                    "are compared (%u --policy)", compared);
    }
    for (i = 0; i < replay->nr_arms; i++) {
        set_arm(replay, &replay->arm[i], event);
    }
}

/* A doorbell names no CQ; that of a queue of no interest is not known here. */
static bool is_of_interest(const Replay *replay, const Event *event)
{
    return replay->setup->cqid < 0 || replay->setup->cqid == event->cqid ||
           event->kind == EVENT_DOORBELL;
}

void replay_event(Replay *replay, Event *event)
{
    if (!is_of_interest(replay, event)) {
        return;
    }
    if (event->kind == EVENT_MEDIA) {
        media(replay, event);
        return;
    }
    if (event->kind == EVENT_RECORDED) {
        find_cq(replay, event->cqid)->recorded[event->urgent ?
                                               CINT_FIRE_URGENT :
                                               CINT_FIRE_FULL]++;
        return;
    }
    set_time(replay, event);
    if (!replay->events++) {
        replay->first_ns = event->t;
    }
    switch (event->kind) {
    case EVENT_SUBMIT:
        submit(replay, event);
        break;
    case EVENT_DOORBELL:
        doorbell(replay, event);
        break;
    case EVENT_COMPLETE:
        complete(replay, event);
        break;
    case EVENT_CANCEL:
        cancel(replay, event);
        break;
    case EVENT_HEAD:
        head(replay, event);
        break;
    case EVENT_POINTER:
        pointer(replay, event);
        break;
    case EVENT_SET:
        set(replay, event);
        break;
    default:
        g_assert_not_reached();
    }
}

void replay_finish(Replay *replay)
{
    end_pass(replay);
    pass_time(replay, NEVER - 1);
}

Replay *replay_new(const Setup *setup, Input *in, unsigned first,
                   unsigned nr_arms)
{
    Replay *replay = g_new0(Replay, 1);
    unsigned i;

    replay->setup = setup;
    replay->is_first = !first;
    replay->in = in;
    replay->guest = setup->guest;
    replay->nr_arms = nr_arms;
    replay->arm = g_new0(Arm, nr_arms);
    replay->chunks = g_ptr_array_new_with_free_func(g_free);
    for (i = 0; i < nr_arms; i++) {
        replay->arm[i].name = setup->arm[first + i].name;
        replay->arm[i].config = setup->arm[first + i].config;
        cint_scope_init(&replay->arm[i].scope);
    }
    if (setup->next == timeline_next) {
        new_cq(replay, 0);
    }
    return replay;
}

static void *append(void *to, unsigned n, const void *more, unsigned nr_more,
                    size_t bytes)
{
    to = g_realloc_n(to, n + nr_more, bytes);
    memcpy((char *)to + n * bytes, more, nr_more * bytes);
    return to;
}

void replay_join(Replay *to, Replay *from)
{
    unsigned i;

    for (i = 0; i < to->nr_cqs; i++) {
        to->cq[i]->lane = append(to->cq[i]->lane, to->nr_arms,
                                 from->cq[i]->lane, from->nr_arms,
                                 sizeof(Lane));
    }
    to->arm = append(to->arm, to->nr_arms, from->arm, from->nr_arms,
                     sizeof(Arm));
    to->nr_arms += from->nr_arms;
    from->nr_arms = 0;
    replay_free(from);
}

static void free_cq(Replay *replay, CqState *cq)
{
    unsigned i;

    for (i = 0; i < replay->nr_arms; i++) {
        lane_free(&cq->lane[i]);
    }
    g_free(cq->lane);
    g_free(cq->posted);
    optimal_free(cq->optimal);
    g_free(cq);
}

static void free_sq(SqState *sq)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(sq->page); i++) {
        g_free(sq->page[i]);
    }
    g_free(sq->engine);
    g_free(sq);
}

void replay_free(Replay *replay)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(replay->sq); i++) {
        if (replay->sq[i]) {
            free_sq(replay->sq[i]);
        }
    }
    for (i = 0; i < replay->nr_cqs; i++) {
        free_cq(replay, replay->cq[i]);
    }
    g_free(replay->cq);
    g_free(replay->arm);
    g_ptr_array_free(replay->chunks, true);
    g_free(replay);
}
