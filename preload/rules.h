/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a file of rules says, and which rule an I/O comes under.  Nothing here
 * asks the system: all that is known of an I/O is an argument.
 */
#ifndef CINT_PRELOAD_RULES_H
#define CINT_PRELOAD_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* A bit each in the mask of what a file comes under */
    RULES_MAX = 64,
    RULES_WORD = 256,
    RULES_THREAD = 16,
};

/* What a rule makes of an I/O */
enum mark { MARK_USUAL, MARK_URGENT, MARK_BARRIER, MARK_UNMARKED, MARKS };

/* How marks are given */
enum how { HOW_AUTO, HOW_FLAGS, HOW_PRIORITY, HOWS };

/* Calls, a bit each */
enum call {
    CALL_READ = 1,
    CALL_WRITE = 2,
    CALL_AIO_READ = 4,
    CALL_AIO_WRITE = 8,
    CALL_SYNC = 16,
    CALL_ALL = 31,
};

/* Where a file descriptor comes from, and how it was opened; a bit each */
enum origin {
    FD_OPENED = 1,
    FD_INHERITED = 2,
    FD_DIRECT = 4,
    FD_BUFFERED = 8,
    FD_SYNC = 16,
    FD_FILE = 32,
    FD_DISK = 64,
};

struct rule {
    unsigned line;
    enum mark mark;
    unsigned calls;             /* any of enum call */
    unsigned origin;            /* all of enum origin that must hold */
    uint64_t least, most;       /* bytes, both included */
    char thread[RULES_WORD];    /* pattern, empty for any */
    char file[RULES_WORD];      /* the same */
};

struct rules {
    unsigned count;
    enum how how;
    char log[RULES_WORD];       /* where reports go, empty for standard error */
    bool by_thread;             /* a rule asks for the thread's name */
    bool by_size;               /* ... for the bytes of a call */
    bool by_flags;              /* ... for how a file was opened */
    struct rule rule[RULES_MAX];
};

/* Words as they are written, for messages */
extern const char *const mark_words[MARKS];
extern const char *const how_words[HOWS];

/*
 * Read the text of a file of rules, LENGTH bytes and a zero byte.  False with a
 * message of one line, which begins with NAME and the line's number, and names
 * the word and what is valid.
 */
bool rules_parse(struct rules *rules, const char *name, const char *text,
                 size_t length, char *error, size_t size);

/*
 * The rules that a file comes under, bit n for rule n; which they are is asked
 * once for each open file.  ORIGIN has all that is so of enum origin.
 */
uint64_t rules_of_file(const struct rules *rules, const char *path,
                       unsigned origin);

/*
 * The first rule, of those that the file comes under, for one CALL of BYTES
 * by THREAD, which may be NULL if no rule asks.  -1 if there is none.
 */
int rules_find(const struct rules *rules, uint64_t of_file, const char *thread,
               unsigned call, uint64_t bytes);

#endif
