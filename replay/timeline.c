/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timeline format: one event a line (docs/replay.md).
 *
 * Every line ends with a newline, which is neither a blank nor a digit, so
 * that no loop here needs another test for the end.
 */
#include <string.h>

#include "formats.h"
#include "words.h"

typedef struct Cursor {
    const Input *in;
    const char *p;
} Cursor;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_end(char c)
{
    return c == '\n' || c == '#';
}

static void skip_blanks(Cursor *c)
{
    while (is_blank(*c->p)) {
        c->p++;
    }
}

static size_t word_length(const char *p)
{
    const char *end = p;

    while (!is_blank(*end) && !is_end(*end)) {
        end++;
    }
    return end - p;
}

static G_NORETURN void expected(const Cursor *c, const char *what)
{
    size_t length = word_length(c->p);

    if (!length) {
        input_error(c->in, "expected %s, found the end of the line", what);
    }
    input_error(c->in, "expected %s, found '%.*s'", what,
                (int)MIN(length, 60), c->p);
}

static uint64_t number(Cursor *c, uint64_t max, const char *what)
{
    uint64_t value = 0;
    const char *start, *p;

    skip_blanks(c);
    start = p = c->p;
    while ((unsigned)(*p - '0') <= 9) {
        value = value * 10 + (*p++ - '0');
    }
    /* 18 digits cannot overflow; more are out of every range but time's. */
    if (p == start || p - start > 19 || value > max ||
        !(is_blank(*p) || is_end(*p))) {
        expected(c, what);
    }
    c->p = p;
    return value;
}

static bool next_is(Cursor *c, const char *word, size_t length)
{
    skip_blanks(c);
    if (word_length(c->p) != length || memcmp(c->p, word, length)) {
        return false;
    }
    c->p += length;
    return true;
}

#define NEXT_IS(c, word)    next_is(c, word, sizeof(word) - 1)

static void line_end(Cursor *c, const char *what)
{
    skip_blanks(c);
    if (!is_end(*c->p)) {
        expected(c, what);
    }
}

static void time_field(Cursor *c, Event *event)
{
    event->t = number(c, TIME_MAX,
                      "a time in ns (0 to 4611686018427387903)");
}

static void sq_field(Cursor *c, Event *event)
{
    event->sqid = number(c, 65535,
                         "a submission queue identifier (0 to 65535)");
}

static void cid_field(Cursor *c, Event *event)
{
    event->cid = number(c, 65535, "a command identifier (0 to 65535)");
}

static void command_fields(Cursor *c, Event *event)
{
    time_field(c, event);
    sq_field(c, event);
    cid_field(c, event);
}

static void parse_submit(Cursor *c, Event *event)
{
    event->kind = EVENT_SUBMIT;
    command_fields(c, event);
    for (;;) {
        skip_blanks(c);
        if (is_end(*c->p)) {
            break;
        }
        if (NEXT_IS(c, "urgent")) {
            event->hints |= NVME_CINT_HINT_URGENT;
        } else if (NEXT_IS(c, "barrier")) {
            event->hints |= NVME_CINT_HINT_BARRIER;
        } else if (NEXT_IS(c, "buffer")) {
            event->page = cint_waits_page(number(c, TIME_MAX,
                "an address (0 to 4611686018427387903)"));
        } else if (NEXT_IS(c, "now")) {
            event->content = CINT_CONTENT_NOW;
        } else if (NEXT_IS(c, "ahead")) {
            event->content = CINT_CONTENT_AHEAD;
        } else {
            expected(c, "'urgent', 'barrier', 'buffer', 'now', 'ahead' or the "
                     "end of the line");
        }
    }
    if (event->hints) {
        event->sources = 1 << NVME_CINT_SOURCE_CDW0;
    }
}

static void parse_complete(Cursor *c, Event *event)
{
    event->kind = EVENT_COMPLETE;
    command_fields(c, event);
    event->error = NEXT_IS(c, "error");
    line_end(c, "'error' or the end of the line");
}

static void parse_cancel(Cursor *c, Event *event)
{
    event->kind = EVENT_CANCEL;
    command_fields(c, event);
    line_end(c, "the end of the line");
}

static void parse_doorbell(Cursor *c, Event *event)
{
    event->kind = EVENT_DOORBELL;
    time_field(c, event);
    sq_field(c, event);
    line_end(c, "the end of the line");
}

static void parse_index(Cursor *c, Event *event, EventKind kind)
{
    event->kind = kind;
    time_field(c, event);
    event->index = number(c, UINT32_MAX,
                          "a free-running index (0 to 4294967295)");
    line_end(c, "the end of the line");
}

static G_NORETURN void bad_param(const Cursor *c, const char *name, int length)
{
    g_autofree char *known = describe_params();

    input_error(c->in, "expected a parameter (%s), found '%.*s'", known,
                MIN(length, 60), name);
}

static G_NORETURN void bad_value(const Cursor *c, const CintParam *param,
                                 const char *text, int length)
{
    g_autofree char *values = describe_values(param);

    input_error(c->in, "expected %s=%s, found '%.*s'", param->name, values,
                MIN(length, 60), text);
}

static void parse_set(Cursor *c, Event *event)
{
    size_t length, name;
    const char *equals;

    event->kind = EVENT_SET;
    time_field(c, event);
    skip_blanks(c);
    length = word_length(c->p);
    equals = memchr(c->p, '=', length);
    if (!equals) {
        expected(c, "<parameter>=<value>");
    }
    name = equals - c->p;
    event->param = find_param(c->p, name);
    if (!event->param) {
        bad_param(c, c->p, name);
    }
    if (!parse_value(event->param, equals + 1, length - name - 1,
                     &event->value)) {
        bad_value(c, event->param, equals + 1, length - name - 1);
    }
    c->p += length;
    line_end(c, "the end of the line");
}

static void parse_line(Cursor *c, Event *event)
{
    if (NEXT_IS(c, "complete")) {
        parse_complete(c, event);
    } else if (NEXT_IS(c, "submit")) {
        parse_submit(c, event);
    } else if (NEXT_IS(c, "doorbell")) {
        parse_doorbell(c, event);
    } else if (NEXT_IS(c, "head")) {
        parse_index(c, event, EVENT_HEAD);
    } else if (NEXT_IS(c, "cancel")) {
        parse_cancel(c, event);
    } else if (NEXT_IS(c, "pointer")) {
        parse_index(c, event, EVENT_POINTER);
    } else if (NEXT_IS(c, "set")) {
        parse_set(c, event);
    } else {
        expected(c, "submit, doorbell, complete, cancel, head, pointer or "
                    "set");
    }
}

bool timeline_next(Input *in, Event *event)
{
    Cursor c = { .in = in };

    while ((c.p = input_line(in))) {
        skip_blanks(&c);
        if (!is_end(*c.p)) {
            memset(event, 0, sizeof(*event));
            parse_line(&c, event);
            return true;
        }
    }
    return false;
}
