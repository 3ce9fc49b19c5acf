/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each command is followed from its fetch to the guest's reaping it: in flight
 * by submission queue and identifier, then in its completion queue until the
 * head passes it.
 *
 * Other lines of the log are passed over, and so are those that an end of the
 * log, or another writer, has cut short.
 */
#include <string.h>

#include "lives.h"
#include "records.h"
#include "trace-line.h"
#include "vcpus.h"

#define PAGE_COMMANDS   256
#define NR_IDS          65536
/* Of an event, more than the prefix and the name of any that is known. */
#define LONGEST_EVENT   32
/* A log without heads has nobody reap: what is older was, unseen. */
#define MOST_ENTRIES    65536

typedef struct Command Command;
struct Command {
    CommandRecord record;
    uint32_t tail;              /* of its queue, after it */
    Command *next;              /* in the completion queue; free */
    Command *next_untold;
};

typedef struct Sq {
    /* A batch that is not yet fetched to its end. */
    int64_t began;
    uint32_t fetched;
    Command **page[NR_IDS / PAGE_COMMANDS];     /* in flight, by identifier */
} Sq;

typedef struct Cq {
    Command *first, **end;      /* posted and not reaped */
    Command *untold, **untold_end;  /* of those, the ones not told of */
    unsigned entries;
    int64_t tail;               /* -1: none yet */
    uint64_t restarts;          /* how often it was made anew */
} Cq;

typedef struct Lives {
    Records *records;
    Vcpus *vcpus;
    int64_t now;
    int64_t first, last;        /* of all submissions and completions */
    int64_t commands, interrupts;
    uint64_t events;
    uint64_t jumps;             /* completions that follow no other */
    uint64_t broken;            /* lines that make no sense */
    Sq *sq[NR_IDS];
    Cq *cq[NR_IDS];
    Command *free;
} Lives;

/* ---- commands ---------------------------------------------------------- */

static Command *new_command(Lives *lives, const uint64_t *value)
{
    Command *command = lives->free;

    if (command) {
        lives->free = command->next;
    } else {
        command = g_new(Command, 1);
    }
    *command = (Command) {
        .record = {
            .number = lives->commands++,
            .submitted = TIME_UNKNOWN,
            .due = TIME_UNKNOWN,
            .posted = TIME_UNKNOWN,
            .told = TIME_UNKNOWN,
            .reaped = TIME_UNKNOWN,
            .interrupt = NO_INTERRUPT,
            .cqid = value[FIELD_CQID],
            .sqid = value[FIELD_SQID],
            .cid = value[FIELD_CID],
            .hints = value[FIELD_HINTS],
        },
    };
    return command;
}

/* Nothing more will be known of it. */
static void end_command(Lives *lives, Command *command)
{
    records_command(lives->records, &command->record);
    command->next = lives->free;
    lives->free = command;
}

static void at(Lives *lives, int64_t ns)
{
    lives->now = ns;
    if (lives->first == TIME_UNKNOWN) {
        lives->first = lives->last = ns;
    }
    lives->first = MIN(lives->first, ns);
    lives->last = MAX(lives->last, ns);
}

static Sq *find_sq(Lives *lives, uint16_t sqid)
{
    if (!lives->sq[sqid]) {
        lives->sq[sqid] = g_new0(Sq, 1);
    }
    return lives->sq[sqid];
}

/* Where a command is while it is in flight. */
static Command **find_flying(Sq *sq, uint16_t cid)
{
    Command ***page = &sq->page[cid / PAGE_COMMANDS];

    if (!*page) {
        *page = g_new0(Command *, PAGE_COMMANDS);
    }
    return &(*page)[cid % PAGE_COMMANDS];
}

/* ---- completion queues ------------------------------------------------- */

static Cq *find_cq(Lives *lives, uint16_t cqid)
{
    Cq *cq = lives->cq[cqid];

    if (!cq) {
        cq = lives->cq[cqid] = g_new0(Cq, 1);
        cq->end = &cq->first;
        cq->untold_end = &cq->untold;
        cq->tail = -1;
    }
    return cq;
}

/* Both lists are in the order of posting. */
static void append(Cq *cq, Command *command)
{
    command->next = command->next_untold = NULL;
    *cq->end = *cq->untold_end = command;
    cq->end = &command->next;
    cq->untold_end = &command->next_untold;
    cq->entries++;
}

static void end_first(Lives *lives, Cq *cq)
{
    Command *command = cq->first;

    if (cq->untold == command) {
        cq->untold = command->next_untold;
        if (!cq->untold) {
            cq->untold_end = &cq->untold;
        }
    }
    cq->first = command->next;
    if (!cq->first) {
        cq->end = &cq->first;
    }
    cq->entries--;
    end_command(lives, command);
}

static void end_all(Lives *lives, Cq *cq)
{
    while (cq->first) {
        end_first(lives, cq);
    }
}

/*
 * A queue's entries come one after the other; after 0, or in a new queue,
 * comes 1. What was in the old one, nobody is told of and nobody reaps.
 */
static void check_tail(Lives *lives, Cq *cq, uint16_t cqid, uint32_t tail)
{
    int64_t last = cq->tail;

    cq->tail = tail;
    if (last < 0 || tail == last + 1 || !tail) {
        return;
    }
    if (tail == 1) {
        cq->restarts++;
        end_all(lives, cq);
        vcpus_restarted(lives->vcpus, cqid);
    } else {
        lives->jumps++;
    }
}

/* An interrupt tells of all, or of the Urgent ones only. */
static void tell(Cq *cq, const Sent *sent, bool of_all)
{
    Command **link = &cq->untold, *command;

    while ((command = *link)) {
        if (of_all || command->record.hints & NVME_CINT_HINT_URGENT) {
            command->record.told = sent->at;
            command->record.interrupt = sent->number;
            command->record.by_record = sent->by_record;
            *link = command->next_untold;
        } else {
            link = &command->next_untold;
        }
    }
    cq->untold_end = link;
}

/* ---- events ------------------------------------------------------------ */

static void submit(Lives *lives, const TraceLine *line)
{
    const uint64_t *value = line->value;
    Sq *sq = find_sq(lives, value[FIELD_SQID]);
    Command **flying = find_flying(sq, value[FIELD_CID]);

    if (*flying) {
        end_command(lives, *flying);
    }
    *flying = new_command(lives, value);
    (*flying)->record.submitted = value[FIELD_AT];
    at(lives, value[FIELD_AT]);
    vcpus_went_on(lives->vcpus, value[FIELD_CQID], lives->now);
    if (!sq->fetched++) {
        sq->began = lives->now;
    }
}

/*
 * A batch has no more than the doorbell says: commands of the admin queue have
 * no `submit`, and what a deleted queue had fetched is of no batch.
 */
static void doorbell(Lives *lives, const TraceLine *line)
{
    const uint64_t *value = line->value;
    Sq *sq = find_sq(lives, value[FIELD_SQID]);

    if (sq->fetched && sq->fetched <= value[FIELD_COUNT]) {
        records_batch(lives->records, &(BatchRecord) {
            .begin = sq->began,
            .end = value[FIELD_AT],
            .count = value[FIELD_COUNT],
            .sqid = value[FIELD_SQID],
        });
    }
    sq->fetched = 0;
}

static void media(Lives *lives, const TraceLine *line)
{
    Sq *sq = find_sq(lives, line->value[FIELD_SQID]);
    Command *command = *find_flying(sq, line->value[FIELD_CID]);

    if (command) {
        command->record.due = line->value[FIELD_DUE];
    }
}

static void post(Lives *lives, const TraceLine *line)
{
    const uint64_t *value = line->value;
    Sq *sq = find_sq(lives, value[FIELD_SQID]);
    Command **flying = find_flying(sq, value[FIELD_CID]);
    /* Without: it was submitted before the trace began. */
    Command *command = *flying ? *flying : new_command(lives, value);
    Cq *cq = find_cq(lives, command->record.cqid);

    *flying = NULL;
    command->record.hints = value[FIELD_HINTS];
    command->record.posted = value[FIELD_AT];
    command->tail = value[FIELD_TAIL];
    at(lives, value[FIELD_AT]);
    check_tail(lives, cq, command->record.cqid, command->tail);
    append(cq, command);
    if (cq->entries > MOST_ENTRIES) {
        end_first(lives, cq);
    }
}

static void irq(Lives *lives, const TraceLine *line)
{
    const uint64_t *value = line->value;
    Word class = trace_word(line, FIELD_CLASS);
    Word reason = trace_word(line, FIELD_REASON);
    InterruptRecord interrupt = {
        .at = value[FIELD_AT],
        .vector = value[FIELD_VECTOR],
        .covered = value[FIELD_COVERED],
        .cqid = value[FIELD_CQID],
    };
    Sent sent = {
        .number = lives->interrupts++,
        .at = interrupt.at,
        .cqid = interrupt.cqid,
        .by_record = word_is(class, "urgent"),
    };

    memcpy(interrupt.class, class.text, MIN(class.length, LONGEST_CLASS));
    memcpy(interrupt.reason, reason.text, MIN(reason.length, LONGEST_REASON));
    records_interrupt(lives->records, &interrupt);
    lives->now = interrupt.at;
    vcpus_went_on(lives->vcpus, sent.cqid, sent.at);
    vcpus_decided(lives->vcpus, interrupt.vector, &sent);
    tell(find_cq(lives, sent.cqid), &sent, word_is(class, "full"));
}

static bool has_entry(const Cq *cq, uint32_t tail)
{
    const Command *command = cq->first;

    while (command && command->tail != tail) {
        command = command->next;
    }
    return command;
}

static void head(Lives *lives, const TraceLine *line)
{
    const uint64_t *value = line->value;
    Cq *cq = find_cq(lives, value[FIELD_CQID]);
    uint32_t tail;

    lives->now = value[FIELD_AT];
    vcpus_reaped(lives->vcpus, value[FIELD_CQID], lives->now);
    if (!has_entry(cq, value[FIELD_HEAD])) {
        return;
    }
    do {
        tail = cq->first->tail;
        cq->first->record.reaped = lives->now;
        end_first(lives, cq);
    } while (tail != value[FIELD_HEAD]);
}

static const struct {
    uint32_t needs;
    void (*take)(Lives *lives, const TraceLine *line);
} events[] = {
    [EVENT_SUBMIT] = {
        FIELD_BIT(CQID) | FIELD_BIT(SQID) | FIELD_BIT(CID) | FIELD_BIT(HINTS) |
        FIELD_BIT(AT), submit,
    },
    [EVENT_DOORBELL] = {
        FIELD_BIT(SQID) | FIELD_BIT(COUNT) | FIELD_BIT(AT), doorbell,
    },
    [EVENT_MEDIA] = {
        FIELD_BIT(SQID) | FIELD_BIT(CID) | FIELD_BIT(DUE), media,
    },
    [EVENT_COMPLETE] = {
        FIELD_BIT(CQID) | FIELD_BIT(SQID) | FIELD_BIT(CID) | FIELD_BIT(HINTS) |
        FIELD_BIT(TAIL) | FIELD_BIT(AT), post,
    },
    [EVENT_RECORDED] = {
        FIELD_BIT(CQID) | FIELD_BIT(VECTOR) | FIELD_BIT(CLASS) |
        FIELD_BIT(REASON) | FIELD_BIT(COVERED) | FIELD_BIT(AT), irq,
    },
    [EVENT_HEAD] = {
        FIELD_BIT(CQID) | FIELD_BIT(HEAD) | FIELD_BIT(AT), head,
    },
};

/* ---- lines ------------------------------------------------------------- */

/* Whether an event that is read begins somewhere in the line. */
static bool has_begun(const char *p, const char *end)
{
    TraceLine line;

    const char *behind;

    for (; (p = text_find(p, end, TRACE_PREFIX)); p++) {
        /* No name that is known is longer; a line may be one long word. */
        behind = trace_name(&line, p, p + MIN(end - p, LONGEST_EVENT));
        if (line.is_known && end - behind > 1 && *behind == ' ' &&
            (g_ascii_isalnum(behind[1]) || behind[1] == '_')) {
            return true;
        }
    }
    return false;
}

/* A line that is none of the device's own events; false if it is broken. */
static bool read_other(Lives *lives, const char *p, const char *end)
{
    const char *event;

    /* Of QEMU's command line, which may name any of them. */
    if (text_find(p, end, "-trace ")) {
        return true;
    }
    event = text_find(p, end, APIC_EVENT);
    if (event) {
        return vcpus_delivery(lives->vcpus, event, end, lives->now);
    }
    event = text_find(p, end, MSIX_EVENT);
    if (event) {
        return vcpus_message(lives->vcpus, event, end);
    }
    return !has_begun(p, end);
}

/* Nearly all lines begin with an event, which needs no search. */
static const char *find_event(const char *p, const char *end)
{
    size_t length = strlen(TRACE_PREFIX);

    return end - p >= (ptrdiff_t)length && !memcmp(p, TRACE_PREFIX, length) ?
           p : text_find(p, end, TRACE_PREFIX);
}

static bool read_line(Lives *lives, const char *p, const char *end)
{
    const char *event = find_event(p, end);
    const char *behind;
    TraceLine line;
    uint32_t needs;

    if (!event) {
        return read_other(lives, p, end);
    }
    behind = trace_name(&line, event, end);
    trace_fields(&line, behind, end);
    if (!line.is_whole) {
        return read_other(lives, p, end);
    }
    if (line.is_known) {
        needs = events[line.kind].needs;
        if ((line.found & needs) != needs) {
            return false;
        }
        events[line.kind].take(lives, &line);
    }
    lives->events++;
    return true;
}

/*
 * A console ends lines with carriage returns, too. Returns whether the last
 * line is broken, as one is that the end of the log has cut short.
 */
static bool read_lines(Lives *lives, const char *p, const char *end)
{
    const char *stop;
    bool is_broken;

    if (end > p && end[-1] == '\r') {
        end--;
    }
    for (;; p = stop + 1) {
        stop = memchr(p, '\r', end - p);
        is_broken = !read_line(lives, p, stop ? stop : end);
        lives->broken += is_broken;
        if (!stop) {
            return is_broken;
        }
    }
}

/* ---- the end ----------------------------------------------------------- */

static void end_sq(Lives *lives, Sq *sq)
{
    unsigned i, cid;

    for (i = 0; i < G_N_ELEMENTS(sq->page); i++) {
        for (cid = 0; sq->page[i] && cid < PAGE_COMMANDS; cid++) {
            if (sq->page[i][cid]) {
                end_command(lives, sq->page[i][cid]);
            }
        }
        g_free(sq->page[i]);
    }
    g_free(sq);
}

/* What was left in flight or in the queues when the log ended. */
static void end_queues(Lives *lives, GString *remarks)
{
    unsigned i;
    Cq *cq;

    for (i = 0; i < NR_IDS; i++) {
        if (lives->sq[i]) {
            end_sq(lives, lives->sq[i]);
        }
        cq = lives->cq[i];
        if (!cq) {
            continue;
        }
        if (cq->restarts) {
            g_string_append_printf(remarks, "CQ %u was made anew %"
                                   G_GUINT64_FORMAT " time%s, as by a reset\n",
                                   i, cq->restarts,
                                   cq->restarts > 1 ? "s" : "");
        }
        end_all(lives, cq);
        g_free(cq);
    }
}

static void end_lives(Lives *lives, bool is_cut_short)
{
    g_autoptr(GString) remarks = g_string_new(NULL);
    Command *command;

    end_queues(lives, remarks);
    vcpus_free(lives->vcpus);
    if (lives->broken > is_cut_short) {
        g_string_append_printf(remarks, "%" G_GUINT64_FORMAT " lines of the "
                               "log are broken and left out\n",
                               lives->broken - is_cut_short);
    }
    if (lives->jumps) {
        g_string_append_printf(remarks, "%" G_GUINT64_FORMAT " completions do "
                               "not follow the one before in their queue: the "
                               "log has lines missing, or is of several "
                               "controllers, whose events are not told apart\n",
                               lives->jumps);
    }
    records_remarks(remarks);
    records_end(lives->records, lives->events, lives->first, lives->last);
    while ((command = lives->free)) {
        lives->free = command->next;
        g_free(command);
    }
}

void lives_print(Input *in, double scale)
{
    g_autofree Lives *lives = g_new0(Lives, 1);
    bool is_cut_short = false;
    const char *line;

    in->cuts = true;
    lives->records = records_new(scale);
    lives->vcpus = vcpus_new(lives->records);
    lives->first = lives->last = TIME_UNKNOWN;
    while ((line = input_line(in))) {
        is_cut_short = read_lines(lives, line, input_line_end(in));
    }
    end_lives(lives, is_cut_short);
}
