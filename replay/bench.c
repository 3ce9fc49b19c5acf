/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How fast this program is, with the parts kept apart:
 *
 *   parser       the input, to events that are thrown away
 *   engine       events in memory, to the engine of one queue under one
 *                policy; deadlines are kept and an eager guest moves the head,
 *                nothing is counted or printed
 *   everything   the input, to statistics of all policies asked for; interrupts
 *                are printed, unless --irqs off, to nowhere
 *
 * Each is repeated until it has used a second of CPU time. The events in
 * memory make this the one mode whose memory grows with the input.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "error.h"
#include "replay.h"

#define ENOUGH_S    1.0

/* An event, with the command's place looked up. */
typedef struct Prepared {
    int64_t t;
    EventKind kind;
    uint8_t hints, sources;
    bool error;
    bool ends_pass;
    uint16_t sqid;
    uint32_t slot;
} Prepared;

typedef struct Engine {
    CintScope scope;
    CintCq cq;
    CintSq *sq;
    CintCmd *cmd;
    uint64_t fired;
} Engine;

typedef struct Bench {
    const Setup *setup;
    GArray *events;             /* of Prepared */
    GHashTable *flying;
    GArray *free;               /* slots */
    uint32_t nr_slots;
    FILE *report;
} Bench;

static double cpu_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static gpointer key_of(const Event *event)
{
    return GUINT_TO_POINTER((uint32_t)event->sqid << 16 | event->cid);
}

static uint32_t take_slot(Bench *b, const Event *event)
{
    uint32_t slot = b->nr_slots;

    if (b->free->len) {
        slot = g_array_index(b->free, uint32_t, b->free->len - 1);
        g_array_set_size(b->free, b->free->len - 1);
    } else {
        b->nr_slots++;
    }
    g_hash_table_insert(b->flying, key_of(event), GUINT_TO_POINTER(slot));
    return slot;
}

static uint32_t give_slot(Bench *b, const Input *in, const Event *event)
{
    gpointer value;
    uint32_t slot;

    if (!g_hash_table_steal_extended(b->flying, key_of(event), NULL, &value)) {
        input_error(in, "expected a command in flight, found %u of submission "
                    "queue %u", event->cid, event->sqid);
    }
    slot = GPOINTER_TO_UINT(value);
    g_array_append_val(b->free, slot);
    return slot;
}

static void prepare(Bench *b, const Input *in, const Event *event)
{
    Prepared p = {
        .t = event->t,
        .kind = event->kind,
        .hints = event->hints,
        .sources = event->sources,
        .error = event->error && b->setup->extras,
        .sqid = event->sqid,
    };
    Prepared *last = b->events->len ?
        &g_array_index(b->events, Prepared, b->events->len - 1) : NULL;

    if (p.kind == EVENT_SUBMIT) {
        p.slot = take_slot(b, event);
    } else if (p.kind == EVENT_COMPLETE || p.kind == EVENT_CANCEL) {
        p.slot = give_slot(b, in, event);
    } else if (p.kind != EVENT_DOORBELL) {
        input_error(in, "expected submit, doorbell, complete or cancel: "
                    "--bench knows no other events");
    }
    if (last && p.kind == EVENT_COMPLETE && last->t == p.t) {
        last->ends_pass = false;
    }
    p.ends_pass = p.kind == EVENT_COMPLETE;
    g_array_append_val(b->events, p);
}

static void load(Bench *b)
{
    Input in;
    Event event;

    input_open(&in, b->setup->path);
    while (b->setup->next(&in, &event)) {
        prepare(b, &in, &event);
    }
    input_close(&in);
    if (!b->events->len) {
        usage_error("--bench: %s has no events", in.name);
    }
}

/*
 * Each part does its work once and returns the number of events.
 */

static uint64_t parse_once(Bench *b)
{
    Input in;
    Event event;
    uint64_t events = 0;

    input_open(&in, b->setup->path);
    while (b->setup->next(&in, &event)) {
        events++;
    }
    input_close(&in);
    return events;
}

static inline void act(Engine *e, int64_t t, CintAction action)
{
    if (action.fire == CINT_FIRE_NONE) {
        return;
    }
    e->fired++;
    if (action.fire == CINT_FIRE_FULL) {
        act(e, t, cint_head(&e->cq, t, e->cq.tail));
    }
}

static inline void feed(Engine *e, const Prepared *p)
{
    CintSq *sq = &e->sq[p->sqid];
    CintCmd *cmd = &e->cmd[p->slot];
    int64_t due;

    while ((due = cint_deadline(&e->cq)) <= p->t) {
        act(e, due, cint_timer(&e->cq, due));
    }
    switch (p->kind) {
    case EVENT_SUBMIT:
        act(e, p->t, cint_submit(sq, cmd, p->t, p->hints, p->sources));
        break;
    case EVENT_DOORBELL:
        act(e, p->t, cint_doorbell(sq, p->t));
        break;
    case EVENT_COMPLETE:
        act(e, p->t, cint_complete(sq, cmd, p->t, p->error));
        if (p->ends_pass) {
            act(e, p->t, cint_pass_end(&e->cq, p->t));
        }
        break;
    default:
        act(e, p->t, cint_cancel(sq, cmd, p->t));
        break;
    }
}

static uint64_t engine_once(Bench *b)
{
    Engine e = {
        .sq = g_new0(CintSq, 65536),
        .cmd = g_new0(CintCmd, b->nr_slots + 1),
    };
    const Prepared *p = (const Prepared *)b->events->data;
    const Prepared *end = p + b->events->len;
    unsigned i;

    cint_scope_init(&e.scope);
    cint_cq_init(&e.cq, &e.scope, b->setup->cq_size,
                 &b->setup->arm[0].config);
    cint_set_record(&e.cq, 0, b->setup->record);
    for (i = 0; i < 65536; i++) {
        cint_sq_init(&e.sq[i], &e.cq);
    }
    for (; p < end; p++) {
        feed(&e, p);
    }
    g_free(e.sq);
    g_free(e.cmd);
    return b->events->len;
}

static uint64_t all_once(Bench *b)
{
    Input in;
    Event event;
    Replay *replay;
    uint64_t events;

    input_open(&in, b->setup->path);
    replay = replay_new(b->setup, &in, 0, b->setup->nr_arms);
    while (b->setup->next(&in, &event)) {
        replay_event(replay, &event);
    }
    replay_finish(replay);
    events = replay->events;
    replay_free(replay);
    input_close(&in);
    return events;
}

static void measure(Bench *b, const char *what, uint64_t (*once)(Bench *b))
{
    double start = cpu_s(), used;
    uint64_t events = 0;

    do {
        events += once(b);
        used = cpu_s() - start;
    } while (used < ENOUGH_S);
    fprintf(b->report, "%-11s %8.1f million events/s, %6.1f ns each\n", what,
            events / used / 1e6, 1e9 * used / events);
}

/* Standard output becomes nowhere; the results go where it was. */
static FILE *silence_output(void)
{
    FILE *report = fdopen(dup(STDOUT_FILENO), "w");

    if (!report || !freopen("/dev/null", "w", stdout)) {
        usage_error("--bench: cannot open /dev/null");
    }
    return report;
}

static void check_input(const Setup *setup)
{
    if (!setup->path || !strcmp(setup->path, "-")) {
        usage_error("--bench: needs a FILE, which it reads several times");
    }
    if (setup->next != timeline_next) {
        usage_error("--bench: reads timelines only");
    }
}

void bench(const Setup *setup)
{
    Bench b = {
        .setup = setup,
        .events = g_array_new(false, false, sizeof(Prepared)),
        .flying = g_hash_table_new(NULL, NULL),
        .free = g_array_new(false, false, sizeof(uint32_t)),
    };

    check_input(setup);
    load(&b);
    b.report = silence_output();
    measure(&b, "parser", parse_once);
    measure(&b, "engine", engine_once);
    measure(&b, "everything", all_once);
    fclose(b.report);
    g_array_free(b.events, true);
    g_array_free(b.free, true);
    g_hash_table_destroy(b.flying);
}
