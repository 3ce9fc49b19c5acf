/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Lines of a file or of standard input.
 */
#ifndef REPLAY_INPUT_H
#define REPLAY_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <glib.h>

typedef struct Input Input;
struct Input {
    const char *name;           /* for messages */
    int fd;
    char *buffer;
    size_t used;                /* bytes read into the buffer */
    size_t next;                /* where the next line begins */
    bool at_end;                /* of the file */
    uint64_t line;              /* number of the line in hand */
    bool cuts;                  /* a line that is too long is several */
    bool is_unreadable;         /* the mistake is in no line */
    /*
     * Takes a mistake in place of the program's end, and does not return. @text
     * is without file and line; it is the receiver's to free.
     */
    void (*fail)(const Input *in, char *text);
    void *fail_data;
};

void input_open(Input *in, const char *path);
void input_close(Input *in);

/* The next line, which ends with a newline and no NUL; NULL at the end. */
const char *input_line(Input *in);

/* The newline of the line in hand. */
static inline const char *input_line_end(const Input *in)
{
    return in->buffer + in->next - 1;
}

/*
 * Says which line is wrong and why, and ends the program with EXIT_USAGE, or
 * does with it what @in->fail says.
 */
G_NORETURN void input_error(const Input *in, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

#endif /* REPLAY_INPUT_H */
