/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Runs a fuzz target where the compiler has no libFuzzer: first the inputs of
 * the files and directories that are named, then random ones and mutations of
 * those. It understands the few options of libFuzzer that cint's tool uses,
 * so that the tool need not know which of the two it has.
 *
 * "-events=N" goes on until the target has had N events (see fuzz.h).
 *
 * Every run has a generator of its own, so "-seed=S -first=N -runs=1" repeats
 * run N of seed S. The input that ends the process is written to crash-N.
 */
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define MUTATIONS   8

#define NO_LIMIT    (UINT64_MAX / 2)

typedef struct Options {
    uint64_t seed;
    uint64_t first;
    uint64_t runs;
    uint64_t events;        /* how many are enough, 0: @runs says it */
    uint64_t max_len;
} Options;

typedef struct Buffer {
    uint8_t *data;
    size_t size;
} Buffer;

static Buffer current;      /* what the target is trying */
static char crash_name[32];

/* Says no more than its name: this runs in the middle of anything. */
static void keep_input(int signal_number)
{
    int fd = open(crash_name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    if (fd < 0 || write(fd, current.data, current.size) < 0 ||
        write(STDERR_FILENO, crash_name, strlen(crash_name)) < 0) {
        return;
    }
    close(fd);
}

static uint32_t below(GRand *rand, uint32_t limit)
{
    return limit ? g_rand_int(rand) % limit : 0;
}

static void try_input(uint64_t run)
{
    snprintf(crash_name, sizeof(crash_name), "crash-%" PRIu64, run);
    LLVMFuzzerTestOneInput(current.data, current.size);
}

static void try_file(const char *path, GPtrArray *corpus)
{
    Buffer *kept;
    GError *error = NULL;
    gchar *data;
    gsize size;

    if (!g_file_get_contents(path, &data, &size, &error)) {
        fprintf(stderr, "%s\n", error->message);
        exit(2);
    }
    kept = g_new(Buffer, 1);
    *kept = (Buffer) { .data = (uint8_t *)data, .size = size };
    g_ptr_array_add(corpus, kept);
    current = *kept;
    try_input(0);
}

static void try_path(const char *path, GPtrArray *corpus)
{
    GDir *dir = g_dir_open(path, 0, NULL);
    const char *name;

    if (!dir) {
        try_file(path, corpus);
        return;
    }
    while ((name = g_dir_read_name(dir))) {
        gchar *file = g_build_filename(path, name, NULL);

        try_file(file, corpus);
        g_free(file);
    }
    g_dir_close(dir);
}

static void random_input(Buffer *b, GRand *rand, size_t max)
{
    size_t i;

    b->size = below(rand, max + 1);
    for (i = 0; i < b->size; i++) {
        b->data[i] = g_rand_int(rand);
    }
}

/* Moves a piece of @from to any place of @b. */
static void splice(Buffer *b, GRand *rand, const Buffer *from, size_t max)
{
    size_t at = below(rand, b->size + 1);
    size_t start = below(rand, from->size);
    size_t length = below(rand, from->size - start + 1);

    length = MIN(length, max - at);
    if (length) {
        memcpy(b->data + at, from->data + start, length);
    }
    b->size = MAX(b->size, at + length);
}

static void remove_piece(Buffer *b, GRand *rand)
{
    size_t at = below(rand, b->size);
    size_t length = below(rand, b->size - at + 1);

    memmove(b->data + at, b->data + at + length, b->size - at - length);
    b->size -= length;
}

static void mutate(Buffer *b, GRand *rand, const GPtrArray *corpus, size_t max)
{
    switch (below(rand, 4)) {
    case 0:
        splice(b, rand, corpus->pdata[below(rand, corpus->len)], max);
        break;
    case 1:
        remove_piece(b, rand);
        break;
    case 2:
        if (b->size) {
            b->data[below(rand, b->size)] = g_rand_int(rand);
        }
        break;
    case 3:
        if (b->size) {
            b->data[below(rand, b->size)] ^= 1u << below(rand, 8);
        }
        break;
    }
}

static void try_random(const Options *options, uint64_t run,
                       const GPtrArray *corpus)
{
    GRand *rand = g_rand_new_with_seed_array((const guint32[]) {
        options->seed, options->seed >> 32, run, run >> 32,
    }, 4);
    uint32_t mutations = below(rand, MUTATIONS);

    current.size = 0;
    if (!corpus->len || !mutations) {
        random_input(&current, rand, options->max_len);
    } else {
        splice(&current, rand, corpus->pdata[below(rand, corpus->len)],
               options->max_len);
        while (mutations--) {
            mutate(&current, rand, corpus, options->max_len);
        }
    }
    g_rand_free(rand);
    try_input(run);
}

static bool number(const char *word, const char *name, uint64_t *value)
{
    return g_str_has_prefix(word, name) &&
           g_ascii_string_to_unsigned(word + strlen(name), 10, 0, UINT64_MAX,
                                      value, NULL);
}

static bool parse(Options *options, const char *word)
{
    return number(word, "-runs=", &options->runs) ||
           number(word, "-events=", &options->events) ||
           number(word, "-first=", &options->first) ||
           number(word, "-seed=", &options->seed) ||
           (number(word, "-max_len=", &options->max_len) &&
            options->max_len <= INT32_MAX);
}

int main(int argc, char **argv)
{
    Options options = { .seed = 1, .max_len = 4096 };
    GPtrArray *corpus = g_ptr_array_new();
    /* Afterwards the process ends of the signal, as it would have. */
    struct sigaction on_abort = {
        .sa_handler = keep_input, .sa_flags = SA_RESETHAND,
    };
    uint64_t run;
    int i;

    sigaction(SIGABRT, &on_abort, NULL);
    for (i = 1; i < argc; i++) {
        if (argv[i][0] != '-') {
            try_path(argv[i], corpus);
        } else if (!parse(&options, argv[i])) {
            fprintf(stderr, "%s: not one of -runs=, -events=, -first=, -seed= "
                    "and -max_len= with a number\n", argv[i]);
            return 2;
        }
    }
    current.data = g_malloc(options.max_len + 1);
    if (options.events) {
        options.runs = NO_LIMIT;
    }
    for (run = options.first; run - options.first < options.runs; run++) {
        if (options.events && fuzz_events >= options.events) {
            break;
        }
        try_random(&options, run, corpus);
    }
    fprintf(stderr, "Done %" PRIu64 " runs with seed %" PRIu64
            ", %u inputs of the corpus, %" PRIu64 " events\n",
            run - options.first, options.seed, corpus->len, fuzz_events);
    return 0;
}
