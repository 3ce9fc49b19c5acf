/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE         /* memmem() */
#include <limits.h>

#include "trace-line.h"

#define WORD(text)  { text, sizeof(text) - 1 }

const TraceFieldInfo trace_field[NR_FIELDS] = {
    [FIELD_CQID]    = { WORD("cqid"), 65535 },
    [FIELD_SQID]    = { WORD("sqid"), 65535 },
    [FIELD_CID]     = { WORD("cid"), 65535 },
    [FIELD_HINTS]   = { WORD("hints"), NVME_CINT_HINT_BOTH },
    [FIELD_SOURCES] = { WORD("sources"), 255 },
    [FIELD_STATUS]  = { WORD("status"), 65535 },
    [FIELD_DUE]     = { WORD("due"), TIME_MAX },
    [FIELD_COUNT]   = { WORD("count"), UINT32_MAX },
    [FIELD_TAIL]    = { WORD("tail"), 65535 },
    [FIELD_HEAD]    = { WORD("head"), 65535 },
    [FIELD_VECTOR]  = { WORD("vector"), MAX_VECTOR },
    [FIELD_COVERED] = { WORD("covered"), UINT32_MAX },
    [FIELD_PRP1]    = { WORD("prp1"), UINT64_MAX },
    [FIELD_CONTENT] = { WORD("content"), CINT_NR_CONTENTS - 1 },
    [FIELD_AT]      = { WORD("at"), TIME_MAX },
    [FIELD_CLASS]   = { WORD("class") },
    [FIELD_REASON]  = { WORD("reason") },
};

static const struct {
    Word name;
    EventKind kind;
} known_events[] = {
    { WORD("submit"),   EVENT_SUBMIT },
    { WORD("media"),    EVENT_MEDIA },
    { WORD("post"),     EVENT_COMPLETE },
    { WORD("doorbell"), EVENT_DOORBELL },
    { WORD("head"),     EVENT_HEAD },
    { WORD("irq"),      EVENT_RECORDED },
};

static inline bool is_same(Word a, Word b)
{
    return a.length == b.length && !memcmp(a.text, b.text, a.length);
}

static inline bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

static Word word_at(const char *p, const char *end)
{
    const char *text = p;

    while (p < end && !is_blank(*p)) {
        p++;
    }
    return (Word) { text, p - text };
}

Word word_next(const char **p, const char *end)
{
    Word word;

    while (*p < end && is_blank(**p)) {
        (*p)++;
    }
    word = word_at(*p, end);
    *p += word.length;
    return word;
}

/* Its value; too large for any base where it is none. */
static inline unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (g_ascii_isxdigit(c)) {
        return (c | 0x20) - 'a' + 10;
    }
    return UINT_MAX;
}

static inline bool digits(const char *p, const char *end, unsigned base,
                          uint64_t *value)
{
    uint64_t sum = 0;
    unsigned digit;

    for (; p < end; p++) {
        digit = digit_of(*p);
        if (digit >= base || __builtin_mul_overflow(sum, base, &sum) ||
            __builtin_add_overflow(sum, digit, &sum)) {
            return false;
        }
    }
    *value = sum;
    return true;
}

bool word_number(Word word, uint64_t max, uint64_t *value)
{
    const char *p = word.text, *end = p + word.length;

    if (!word.length) {
        return false;
    }
    if (word.length > 2 && p[0] == '0' && (p[1] | 0x20) == 'x') {
        return digits(p + 2, end, 16, value) && *value <= max;
    }
    return digits(p, end, 10, value) && *value <= max;
}

const char *text_find(const char *p, const char *end, const char *text)
{
    return memmem(p, end - p, text, strlen(text));
}

const char *trace_name(TraceLine *line, const char *p, const char *end)
{
    unsigned i;

    p += strlen(TRACE_PREFIX);
    line->name = word_at(p, end);
    line->is_known = false;
    for (i = 0; i < G_N_ELEMENTS(known_events); i++) {
        if (is_same(line->name, known_events[i].name)) {
            line->is_known = true;
            line->kind = known_events[i].kind;
            break;
        }
    }
    return p + line->name.length;
}

static void read_value(TraceLine *line, TraceField field, Word value)
{
    if (field >= NR_NUMBERS) {
        line->word[field - NR_NUMBERS] = value;
        line->found |= 1u << field;
        return;
    }
    if (word_number(value, trace_field[field].max, &line->value[field])) {
        line->found |= 1u << field;
    } else {
        line->found &= ~(1u << field);
        if (line->wrong == NR_FIELDS) {
            line->wrong = field;
            line->wrong_text = value;
        }
    }
}

static void read_pair(TraceLine *line, Word key, Word value)
{
    TraceField field;

    for (field = 0; field < NR_FIELDS; field++) {
        if (is_same(key, trace_field[field].name)) {
            read_value(line, field, value);
            return;
        }
    }
}

/* The one field whose name has two words is "oldest hold". */
static Word word_of_pair(const char **p, const char *end)
{
    Word word = word_next(p, end);

    return word_is(word, "oldest") ? word_next(p, end) : word;
}

static bool is_name(Word word)
{
    size_t i;

    for (i = 0; i < word.length; i++) {
        if (!g_ascii_isalpha(word.text[i])) {
            return false;
        }
    }
    return true;
}

void trace_fields(TraceLine *line, const char *p, const char *end)
{
    Word key, value;

    line->found = 0;
    line->wrong = NR_FIELDS;
    memset(line->value, 0, sizeof(line->value));
    memset(line->word, 0, sizeof(line->word));
    key = word_of_pair(&p, end);
    line->is_whole = key.length && is_name(key);
    for (; key.length; key = word_of_pair(&p, end)) {
        value = word_of_pair(&p, end);
        line->is_whole = line->is_whole && value.length;
        read_pair(line, key, value);
    }
}
