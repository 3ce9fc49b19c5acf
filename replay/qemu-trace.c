/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * QEMU's log of pci_nvme_cint_* trace events. Lines of other events and other
 * output are passed over. With `-msg timestamp=on` a line begins with
 * "PID@SECONDS.MICROSECONDS:".
 */
#include <string.h>

#include "formats.h"
#include "trace-line.h"

/* The fields that an event has to have. */
static const uint32_t needs[] = {
    [EVENT_SUBMIT]   = FIELD_BIT(CQID) | FIELD_BIT(SQID) | FIELD_BIT(CID) |
                       FIELD_BIT(HINTS) | FIELD_BIT(SOURCES),
    [EVENT_MEDIA]    = FIELD_BIT(CQID) | FIELD_BIT(SQID) | FIELD_BIT(CID) |
                       FIELD_BIT(DUE),
    [EVENT_COMPLETE] = FIELD_BIT(CQID) | FIELD_BIT(SQID) | FIELD_BIT(CID) |
                       FIELD_BIT(TAIL),
    [EVENT_DOORBELL] = FIELD_BIT(SQID),
    [EVENT_HEAD]     = FIELD_BIT(CQID) | FIELD_BIT(HEAD),
    [EVENT_RECORDED] = FIELD_BIT(CQID),
};

/* A number in front of a mark, behind which *text moves; no sign, no space. */
static bool read_part(const char **text, char mark, uint64_t *value)
{
    char *end;

    if (!g_ascii_isdigit(**text)) {
        return false;
    }
    *value = g_ascii_strtoull(*text, &end, 10);
    *text = end + 1;
    return *end == mark;
}

/*
 * The time of the line in ns, if it has one; *line moves behind it. Returns
 * TIME_UNKNOWN otherwise.
 */
static int64_t read_stamp(const char **line)
{
    uint64_t pid, seconds, micros;
    const char *p = *line;

    if (!read_part(&p, '@', &pid) || !read_part(&p, '.', &seconds) ||
        !read_part(&p, ':', &micros) || seconds > TIME_MAX / 1000000000 ||
        micros > 999999) {
        return TIME_UNKNOWN;
    }
    *line = p;
    return seconds * 1000000000 + micros * 1000;
}

static void check_fields(const Input *in, const TraceLine *line)
{
    uint32_t missing = needs[line->kind] & ~line->found;

    if (line->wrong != NR_FIELDS) {
        input_error(in, "expected '%s' and a number from 0 to %"
                    G_GUINT64_FORMAT ", found '%.*s'",
                    trace_field[line->wrong].name.text,
                    trace_field[line->wrong].max,
                    (int)MIN(line->wrong_text.length, 60),
                    line->wrong_text.text);
    }
    if (missing) {
        input_error(in, "expected '%s' and a number in " TRACE_PREFIX "%.*s",
                    trace_field[g_bit_nth_lsf(missing, -1)].name.text,
                    (int)line->name.length, line->name.text);
    }
}

static void fill(Event *to, const TraceLine *line, int64_t stamp)
{
    const uint64_t *value = line->value;

    *to = (Event) {
        .kind = line->kind,
        .cqid = value[FIELD_CQID],
        .sqid = value[FIELD_SQID],
        .cid = value[FIELD_CID],
        .hints = value[FIELD_HINTS],
        .sources = value[FIELD_SOURCES],
        .page = value[FIELD_PRP1] ? cint_waits_page(value[FIELD_PRP1]) : 0,
        .content = value[FIELD_CONTENT],
        .error = value[FIELD_STATUS],
        .due = value[FIELD_DUE],
        .index = value[FIELD_HEAD],
        .tail = value[FIELD_TAIL],
        .slots = true,
        .urgent = word_is(trace_word(line, FIELD_CLASS), "urgent"),
        .t = line->found & FIELD_BIT(AT) ? (int64_t)value[FIELD_AT] : stamp,
    };
    /* What the device inferred, the engine infers again, or does not. */
    if (to->sources & (1u << NVME_CINT_SOURCE_INFERRED)) {
        to->hints = NVME_CINT_HINT_NONE;
        to->sources = 0;
    }
}

bool qemu_trace_next(Input *in, Event *to)
{
    const char *p, *end;
    int64_t stamp;
    TraceLine line;

    while ((p = input_line(in))) {
        end = input_line_end(in);
        stamp = read_stamp(&p);
        if (strncmp(p, TRACE_PREFIX, strlen(TRACE_PREFIX))) {
            continue;
        }
        p = trace_name(&line, p, end);
        if (line.is_known) {
            trace_fields(&line, p, end);
            check_fields(in, &line);
            fill(to, &line, stamp);
            return true;
        }
    }
    return false;
}
