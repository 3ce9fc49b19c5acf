/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A line of QEMU's log with a pci_nvme_cint_* trace event: the event's name,
 * then pairs of a field's name and its value. Who reads it says which fields
 * there have to be.
 */
#ifndef REPLAY_TRACE_LINE_H
#define REPLAY_TRACE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "event.h"

#define TRACE_PREFIX    "pci_nvme_cint_"
#define MAX_VECTOR      2047        /* MSI-X has no more */

typedef enum TraceField {
    FIELD_CQID,
    FIELD_SQID,
    FIELD_CID,
    FIELD_HINTS,
    FIELD_SOURCES,
    FIELD_STATUS,
    FIELD_DUE,
    FIELD_COUNT,
    FIELD_TAIL,
    FIELD_HEAD,
    FIELD_VECTOR,
    FIELD_COVERED,
    FIELD_PRP1,
    FIELD_CONTENT,
    FIELD_AT,
    NR_NUMBERS,
    /* Words: */
    FIELD_CLASS = NR_NUMBERS,
    FIELD_REASON,
    NR_FIELDS,
} TraceField;

/* The fields as a set. */
#define FIELD_BIT(name) (1u << FIELD_##name)

/* Part of a line; no NUL ends it. */
typedef struct Word {
    const char *text;
    size_t length;
} Word;

typedef struct TraceLine {
    Word name;                  /* without the prefix */
    bool is_known;              /* @kind is that of the name */
    bool is_whole;              /* pairs, of which the first has a name */
    EventKind kind;
    uint32_t found;             /* FIELD_BIT() of those that make sense */
    TraceField wrong;           /* the first number that is none */
    Word wrong_text;
    uint64_t value[NR_NUMBERS];
    Word word[NR_FIELDS - NR_NUMBERS];
} TraceLine;

typedef struct TraceFieldInfo {
    Word name;
    uint64_t max;               /* of a number */
} TraceFieldInfo;

extern const TraceFieldInfo trace_field[NR_FIELDS];

static inline bool word_is(Word word, const char *text)
{
    return strlen(text) == word.length &&
           !memcmp(word.text, text, word.length);
}

/* The next word; *p moves behind it. Its length is 0 at the end. */
Word word_next(const char **p, const char *end);

/* Whether it is a number up to @max, decimal or with 0x. */
bool word_number(Word word, uint64_t max, uint64_t *value);

/* Where @text is; NULL without. */
const char *text_find(const char *p, const char *end, const char *text);

/* Reads the name; @p is at the prefix. Returns what is behind the name. */
const char *trace_name(TraceLine *line, const char *p, const char *end);

/* Reads the fields, which are from @p on. */
void trace_fields(TraceLine *line, const char *p, const char *end);

/* The value of a field that is a word. */
static inline Word trace_word(const TraceLine *line, TraceField field)
{
    return line->word[field - NR_NUMBERS];
}

#endif /* REPLAY_TRACE_LINE_H */
