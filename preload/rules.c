/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The file of rules: a line each, the first that fits decides.
 *
 *   unmarked  thread rocksdb:low* call write size 64k-
 */
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "rules.h"

const char *const mark_words[MARKS] = {
    "usual", "urgent", "barrier", "unmarked"
};
const char *const how_words[HOWS] = { "auto", "flags", "priority" };

#define VALID_FIRST "valid: urgent, barrier, unmarked, usual, how, log"
#define VALID_CONDITION "valid: thread, file, call, size, fd"

struct name {
    const char *word;
    unsigned bits;
};

static const struct name call_names[] = {
    { "read", CALL_READ }, { "write", CALL_WRITE },
    { "aio-read", CALL_AIO_READ }, { "aio-write", CALL_AIO_WRITE },
    { "sync", CALL_SYNC }, { NULL, 0 },
};

static const struct name fd_names[] = {
    { "opened", FD_OPENED }, { "inherited", FD_INHERITED },
    { "direct", FD_DIRECT }, { "buffered", FD_BUFFERED },
    { "sync", FD_SYNC }, { "file", FD_FILE }, { "disk", FD_DISK }, { NULL, 0 },
};

/* No descriptor is both of a pair */
static const unsigned fd_pairs[] = {
    FD_OPENED | FD_INHERITED, FD_DIRECT | FD_BUFFERED, FD_FILE | FD_DISK
};

/* Where parsing is, and where its message goes */
struct parser {
    const char *name;
    unsigned line;
    const char *at;             /* the rest of the line */
    char word[RULES_WORD];
    char *error;
    size_t size;
};

static bool __attribute__((format(printf, 2, 3)))
refuse(struct parser *p, const char *format, ...)
{
    int n = snprintf(p->error, p->size, "%s:%u: ", p->name, p->line);
    va_list args;

    va_start(args, format);
    if (n >= 0 && (size_t)n < p->size) {
        vsnprintf(p->error + n, p->size - n, format, args);
    }
    va_end(args);
    return false;
}

/*
 * The next word of the line, empty at its end.  Quotes hold blanks together.
 */
static bool next_word(struct parser *p)
{
    size_t n = 0;
    bool quoted = false, was_quoted = false;

    p->at += strspn(p->at, " \t\r");
    while (*p->at && *p->at != '\n') {
        if (*p->at == '"') {
            quoted = !quoted;
            was_quoted = true;
            p->at++;
            continue;
        }
        if (!quoted && strchr(" \t\r", *p->at)) {
            break;
        }
        if (!quoted && *p->at == '#' && n == 0) {
            p->at += strcspn(p->at, "\n");
            break;
        }
        if (n + 1 == sizeof(p->word)) {
            return refuse(p, "a word is longer than %zu bytes",
                          sizeof(p->word) - 1);
        }
        p->word[n++] = *p->at++;
    }
    p->word[n] = '\0';
    if (quoted) {
        return refuse(p, "a quote (\") is not closed");
    }
    return n || !was_quoted || refuse(p, "a word is empty (\"\")");
}

static int find_word(const char *const *words, int count, const char *word)
{
    for (int i = 0; i < count; i++) {
        if (!strcmp(words[i], word)) {
            return i;
        }
    }
    return -1;
}

static void list_names(const struct name *names, char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (; names->word && n < size; names++) {
        n += snprintf(text + n, size - n, "%s%s", n ? ", " : "", names->word);
    }
}

/* Names with commas between them; their bits */
static bool parse_names(struct parser *p, const struct name *names,
                        const char *what, unsigned *bits)
{
    char valid[128];
    char *rest = p->word;

    *bits = 0;
    while (rest) {
        char *one = strsep(&rest, ",");
        const struct name *name = names;

        while (name->word && strcmp(name->word, one)) {
            name++;
        }
        if (!name->word) {
            list_names(names, valid, sizeof(valid));
            return refuse(p, "%s '%s' is unknown; valid: %s", what, one, valid);
        }
        *bits |= name->bits;
    }
    return true;
}

/* One number of bytes with k, m or g; where it ends, or NULL */
static const char *parse_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "kmg";
    const char *unit;
    uint64_t value = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (value > (UINT64_MAX >> 34) / 10) {
            return NULL;
        }
        value = value * 10 + (*at - '0');
    }
    if (at == text) {
        return NULL;
    }
    unit = *at ? strchr(units, *at) : NULL;
    if (unit) {
        value <<= 10 * (unit - units + 1);
        at++;
    }
    *bytes = value;
    return at;
}

static bool parse_size(struct parser *p, struct rule *rule)
{
    const char *at = p->word;

    rule->least = 0;
    rule->most = UINT64_MAX;
    if (*at != '-') {
        at = parse_bytes(at, &rule->least);
    }
    if (at && *at == '\0') {
        rule->most = rule->least;
        return true;
    }
    if (at && *at == '-' && at[1]) {
        at = parse_bytes(at + 1, &rule->most);
    } else if (at && *at == '-' && at != p->word) {
        at++;
    } else {
        at = NULL;
    }
    if (!at || *at) {
        return refuse(p, "size '%s' is no size; valid: 4k, 4k-64k, -4k "
                      "(at most), 64k- (at least), with k, m or g", p->word);
    }
    if (rule->least > rule->most) {
        return refuse(p, "size '%s': the first is larger than the second",
                      p->word);
    }
    return true;
}

static bool parse_origin(struct parser *p, struct rule *rule)
{
    char said[RULES_WORD];

    memcpy(said, p->word, sizeof(said));
    if (!parse_names(p, fd_names, "fd", &rule->origin)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(fd_pairs) / sizeof(fd_pairs[0]); i++) {
        if ((rule->origin & fd_pairs[i]) == fd_pairs[i]) {
            return refuse(p, "fd '%s': all of them must hold, and no "
                          "descriptor is both", said);
        }
    }
    return true;
}

static bool parse_pattern(struct parser *p, char *pattern)
{
    memcpy(pattern, p->word, RULES_WORD);
    return true;
}

static bool parse_condition(struct parser *p, struct rule *rule,
                            const char *word)
{
    if (!strcmp(word, "thread")) {
        return parse_pattern(p, rule->thread);
    }
    if (!strcmp(word, "file")) {
        return parse_pattern(p, rule->file);
    }
    if (!strcmp(word, "call")) {
        return parse_names(p, call_names, "call", &rule->calls);
    }
    if (!strcmp(word, "size")) {
        return parse_size(p, rule);
    }
    return parse_origin(p, rule);
}

static bool parse_rule(struct parser *p, struct rules *rules, int mark)
{
    static const char *const words[] = {
        "thread", "file", "call", "size", "fd"
    };
    struct rule *rule = &rules->rule[rules->count];
    unsigned seen = 0;

    if (rules->count == RULES_MAX) {
        return refuse(p, "more than %d rules", RULES_MAX);
    }
    *rule = (struct rule) {
        .line = p->line, .mark = mark, .calls = CALL_ALL, .most = UINT64_MAX,
    };
    while (next_word(p) && p->word[0]) {
        int word = find_word(words, 5, p->word);

        if (word < 0) {
            return refuse(p, "'%s' is no condition; " VALID_CONDITION, p->word);
        }
        if (seen & 1u << word) {
            return refuse(p, "'%s' is given twice", words[word]);
        }
        seen |= 1u << word;
        p->error[0] = '\0';
        if (!next_word(p)) {
            return false;
        }
        if (!p->word[0]) {
            return refuse(p, "'%s' has no value", words[word]);
        }
        if (!parse_condition(p, rule, words[word])) {
            return false;
        }
    }
    if (p->error[0]) {
        return false;
    }
    rules->by_thread |= rule->thread[0] != '\0';
    rules->by_flags |= rule->origin & (FD_DIRECT | FD_BUFFERED | FD_SYNC);
    rules->by_size |= rule->least > 0 || rule->most < UINT64_MAX;
    rules->count++;
    return true;
}

/* The rest of a line that begins with 'how' or 'log' */
static bool parse_setting(struct parser *p, struct rules *rules, bool is_log)
{
    int how;

    if (!next_word(p)) {
        return false;
    }
    if (is_log) {
        if (p->word[0] != '/') {
            return refuse(p, "log '%s': give a file's whole path", p->word);
        }
        memcpy(rules->log, p->word, sizeof(rules->log));
    } else {
        how = find_word(how_words, HOWS, p->word);
        if (how < 0) {
            return refuse(p, "how '%s' is unknown; valid: auto, flags, "
                          "priority", p->word);
        }
        rules->how = how;
    }
    if (!next_word(p)) {
        return false;
    }
    return !p->word[0] || refuse(p, "'%s': nothing more is expected", p->word);
}

static bool parse_line(struct parser *p, struct rules *rules)
{
    bool is_log;
    int mark;

    if (!next_word(p)) {
        return false;
    }
    if (!p->word[0]) {
        return true;
    }
    mark = find_word(mark_words, MARKS, p->word);
    if (mark >= 0) {
        return parse_rule(p, rules, mark);
    }
    is_log = !strcmp(p->word, "log");
    if (is_log || !strcmp(p->word, "how")) {
        return parse_setting(p, rules, is_log);
    }
    return refuse(p, "'%s' begins no line; " VALID_FIRST, p->word);
}

bool rules_parse(struct rules *rules, const char *name, const char *text,
                 size_t length, char *error, size_t size)
{
    struct parser p = { .name = name, .error = error, .size = size };
    const char *text_end = text + length, *zero = text + strlen(text);

    memset(rules, 0, sizeof(*rules));
    error[0] = '\0';
    while (text && *text) {
        const char *end = strchr(text, '\n');

        p.line++;
        p.at = text;
        if (!end && zero < text_end) {
            return refuse(&p, "a zero byte: this is no text");
        }
        if (!parse_line(&p, rules)) {
            return false;
        }
        text = end ? end + 1 : NULL;
    }
    p.line = 1;
    return rules->count || refuse(&p, "there is no rule; " VALID_FIRST);
}

uint64_t rules_of_file(const struct rules *rules, const char *path,
                       unsigned origin)
{
    uint64_t found = 0;

    for (unsigned i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->rule[i];

        if ((origin & rule->origin) == rule->origin &&
            (!rule->file[0] || !fnmatch(rule->file, path, 0))) {
            found |= UINT64_C(1) << i;
        }
    }
    return found;
}

int rules_find(const struct rules *rules, uint64_t of_file, const char *thread,
               unsigned call, uint64_t bytes)
{
    while (of_file) {
        int i = __builtin_ctzll(of_file);
        const struct rule *rule = &rules->rule[i];

        if ((rule->calls & call) && bytes >= rule->least &&
            bytes <= rule->most &&
            (!rule->thread[0] || !fnmatch(rule->thread, thread, 0))) {
            return i;
        }
        of_file &= of_file - 1;
    }
    return -1;
}
