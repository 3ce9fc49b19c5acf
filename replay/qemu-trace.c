/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * QEMU's log of pci_nvme_cint_* trace events. Lines of other events and other
 * output are passed over. With `-msg timestamp=on` a line begins with
 * "PID@SECONDS.MICROSECONDS:".
 */
#include <string.h>

#include "formats.h"

#define PREFIX      "pci_nvme_cint_"

typedef enum Field {
    FIELD_CQID,
    FIELD_SQID,
    FIELD_CID,
    FIELD_HINTS,
    FIELD_SOURCES,
    FIELD_STATUS,
    FIELD_DUE,
    FIELD_TAIL,
    FIELD_HEAD,
    FIELD_PRP1,
    FIELD_CONTENT,
    FIELD_AT,
    NR_FIELDS,
} Field;

static const char *const field_names[NR_FIELDS] = {
    [FIELD_CQID]    = "cqid",
    [FIELD_SQID]    = "sqid",
    [FIELD_CID]     = "cid",
    [FIELD_HINTS]   = "hints",
    [FIELD_SOURCES] = "sources",
    [FIELD_STATUS]  = "status",
    [FIELD_DUE]     = "due",
    [FIELD_TAIL]    = "tail",
    [FIELD_HEAD]    = "head",
    [FIELD_PRP1]    = "prp1",
    [FIELD_CONTENT] = "content",
    [FIELD_AT]      = "at",
};

static const uint64_t field_max[NR_FIELDS] = {
    [FIELD_CQID]    = 65535,
    [FIELD_SQID]    = 65535,
    [FIELD_CID]     = 65535,
    [FIELD_HINTS]   = NVME_CINT_HINT_BOTH,
    [FIELD_SOURCES] = 255,
    [FIELD_STATUS]  = 65535,
    [FIELD_DUE]     = TIME_MAX,
    [FIELD_TAIL]    = 65535,
    [FIELD_HEAD]    = 65535,
    [FIELD_PRP1]    = UINT64_MAX,
    [FIELD_CONTENT] = CINT_NR_CONTENTS - 1,
    [FIELD_AT]      = TIME_MAX,
};

typedef struct TraceEvent {
    const char *name;
    EventKind kind;
    Field needs[6];         /* ends with NR_FIELDS */
} TraceEvent;

static const TraceEvent trace_events[] = {
    { "submit", EVENT_SUBMIT, { FIELD_CQID, FIELD_SQID, FIELD_CID,
                                FIELD_HINTS, FIELD_SOURCES, NR_FIELDS } },
    { "media", EVENT_MEDIA, { FIELD_CQID, FIELD_SQID, FIELD_CID, FIELD_DUE,
                              NR_FIELDS } },
    { "post", EVENT_COMPLETE, { FIELD_CQID, FIELD_SQID, FIELD_CID, FIELD_TAIL,
                                NR_FIELDS } },
    { "doorbell", EVENT_DOORBELL, { FIELD_SQID, NR_FIELDS } },
    { "head", EVENT_HEAD, { FIELD_CQID, FIELD_HEAD, NR_FIELDS } },
    { "irq", EVENT_RECORDED, { FIELD_CQID, NR_FIELDS } },
};

typedef struct Fields {
    bool found[NR_FIELDS];
    uint64_t value[NR_FIELDS];
    bool urgent;
} Fields;

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\r') {
        p++;
    }
    return p;
}

static size_t word_length(const char *p)
{
    return strcspn(p, " \r\n");
}

static bool is_word(const char *word, const char *p, size_t length)
{
    return strlen(word) == length && !memcmp(word, p, length);
}

/*
 * The time of the line in ns, if it has one; *line moves behind it. Returns
 * TIME_UNKNOWN otherwise.
 */
static int64_t read_stamp(const char **line)
{
    uint64_t seconds, micros;
    char *p;

    if (!g_ascii_isdigit(**line)) {
        return TIME_UNKNOWN;
    }
    g_ascii_strtoull(*line, &p, 10);
    if (*p != '@') {
        return TIME_UNKNOWN;
    }
    seconds = g_ascii_strtoull(p + 1, &p, 10);
    if (*p != '.' || seconds > TIME_MAX / 1000000000) {
        return TIME_UNKNOWN;
    }
    micros = g_ascii_strtoull(p + 1, &p, 10);
    if (*p != ':' || micros > 999999) {
        return TIME_UNKNOWN;
    }
    *line = p + 1;
    return seconds * 1000000000 + micros * 1000;
}

static const TraceEvent *find_event(const char *name, size_t length)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(trace_events); i++) {
        if (is_word(trace_events[i].name, name, length)) {
            return &trace_events[i];
        }
    }
    return NULL;
}

static void read_field(const Input *in, Fields *fields, Field field,
                       const char *text, size_t length)
{
    char *end;
    uint64_t value = g_ascii_strtoull(text, &end, 0);

    if (end != text + length || !length || *text == '-' ||
        value > field_max[field]) {
        input_error(in, "expected '%s' and a number from 0 to %"
                    G_GUINT64_FORMAT ", found '%.*s'", field_names[field],
                    field_max[field], (int)MIN(length, 60), text);
    }
    fields->found[field] = true;
    fields->value[field] = value;
}

/* The words are pairs: what, and its value. */
static void read_pair(const Input *in, Fields *fields, const char *key,
                      size_t key_length, const char *text, size_t length)
{
    Field field;

    for (field = 0; field < NR_FIELDS; field++) {
        if (is_word(field_names[field], key, key_length)) {
            read_field(in, fields, field, text, length);
            return;
        }
    }
    if (is_word("class", key, key_length)) {
        fields->urgent = is_word("urgent", text, length);
    }
}

static void read_fields(const Input *in, Fields *fields, const char *p)
{
    const char *key;
    size_t length;

    memset(fields, 0, sizeof(*fields));
    for (p = skip_blanks(p); *p != '\n'; p = skip_blanks(p + word_length(p))) {
        /* The one name of two words: "oldest hold". */
        if (is_word("oldest", p, word_length(p))) {
            continue;
        }
        key = p;
        length = word_length(p);
        if (!length) {
            input_error(in, "expected a word, found a NUL byte");
        }
        p = skip_blanks(p + length);
        read_pair(in, fields, key, length, p, word_length(p));
    }
}

static void need_fields(const Input *in, const TraceEvent *event,
                        const Fields *fields)
{
    const Field *field;

    for (field = event->needs; *field != NR_FIELDS; field++) {
        if (!fields->found[*field]) {
            input_error(in, "expected '%s' and a number in " PREFIX "%s",
                        field_names[*field], event->name);
        }
    }
}

static void fill(Event *to, const TraceEvent *event, const Fields *fields,
                 int64_t stamp)
{
    const uint64_t *value = fields->value;

    *to = (Event) {
        .kind = event->kind,
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
        .urgent = fields->urgent,
        .t = fields->found[FIELD_AT] ? (int64_t)value[FIELD_AT] : stamp,
    };
    /* What the device inferred, the engine infers again, or does not. */
    if (to->sources & (1u << NVME_CINT_SOURCE_INFERRED)) {
        to->hints = NVME_CINT_HINT_NONE;
        to->sources = 0;
    }
}

bool qemu_trace_next(Input *in, Event *to)
{
    const TraceEvent *event;
    const char *line;
    size_t length;
    int64_t stamp;
    Fields fields;

    while ((line = input_line(in))) {
        stamp = read_stamp(&line);
        if (strncmp(line, PREFIX, strlen(PREFIX))) {
            continue;
        }
        line += strlen(PREFIX);
        length = word_length(line);
        event = find_event(line, length);
        if (event) {
            read_fields(in, &fields, line + length);
            need_fields(in, event, &fields);
            fill(to, event, &fields, stamp);
            return true;
        }
    }
    return false;
}
