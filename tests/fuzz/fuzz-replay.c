/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Fuzz target for cint-replay: the first byte of the input chooses a command
 * line, the rest is the file. The program ends at its first mistake in a file
 * with EXIT_USAGE; here exit() is fuzz_exit() (see meson.build), which comes
 * back instead. Any other status, and whatever a sanitizer sees, is a mistake
 * of the program.
 */
#define _GNU_SOURCE         /* memfd_create() */
#include <fcntl.h>
#include <getopt.h>
#include <glib.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../replay/error.h"
#include "../../replay/lives.h"
#include "../../replay/output.h"
#include "../../replay/print.h"
#include "../../replay/replay.h"
#include "fuzz.h"

#define MAX_WORDS   16

static const char *const command_lines[] = {
    "--policy cint",
    "--policy cint:barrier=strict --guest trace",
    "--policy adaptive --policy vic --policy default --json",
    "--policy pointer --cq-size 8",
    "--policy static:static-time=20000,static-thr=4 --guest 3000 --cq-size 4",
    "--policy cint:infer=all,max-irq-rate=50000 --extras off --record off",
    "--from-trace --policy cint --policy adaptive",
    "--from-trace --policy cint:ooo=on --cq 1 --json --irqs on",
    "--lives --cpu-scale 3",
};

/* What has to be freed after a jump. */
typedef struct Run {
    jmp_buf back;
    bool running;
    char **words;               /* names in the setup point into them */
    Setup setup;
    Input in;
    bool is_open;
    Replay *replay;
} Run;

static Run run;

void fuzz_exit(int status)
{
    if (!run.running) {
        _exit(status);
    }
    if (status != EXIT_USAGE) {
        fprintf(stderr, "cint-replay ended with status %d\n", status);
        abort();
    }
    longjmp(run.back, 1);
}

static void no_output(void)
{
    static bool done;
    int null;

    if (!done) {
        null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(null, STDOUT_FILENO);
        close(null);
        done = true;
    }
}

static int file_of(const uint8_t *data, size_t size)
{
    int fd = memfd_create("input", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        perror("memfd");
        abort();
    }
    return fd;
}

static void set_up(const char *line, int fd)
{
    g_autofree char *all = g_strdup_printf("cint-replay %s /proc/self/fd/%d",
                                           line, fd);

    run.words = g_strsplit(all, " ", MAX_WORDS);
    optind = 0;                 /* getopt remembers */
    setup_from_args(&run.setup, g_strv_length(run.words), run.words);
    input_open(&run.in, run.setup.path);
    run.is_open = true;
}

static void replay_all(void)
{
    Event event;

    run.replay = replay_new(&run.setup, &run.in, 0, run.setup.nr_arms);
    while (run.setup.next(&run.in, &event)) {
        replay_event(run.replay, &event);
    }
    replay_finish(run.replay);
    output_summary(run.replay);
}

static void clean_up(void)
{
    print_flush();
    if (run.replay) {
        replay_free(run.replay);
    }
    if (run.is_open) {
        input_close(&run.in);
    }
    setup_free(&run.setup);
    g_strfreev(run.words);
}

uint64_t fuzz_events;   /* inputs */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *line;
    int fd;

    fuzz_events++;
    if (!size) {
        return 0;
    }
    no_output();
    line = command_lines[data[0] % G_N_ELEMENTS(command_lines)];
    fd = file_of(data + 1, size - 1);
    run = (Run) { .running = true };
    if (!setjmp(run.back)) {
        set_up(line, fd);
        if (run.setup.lives) {
            lives_print(&run.in, run.setup.scale);
        } else {
            replay_all();
        }
    }
    run.running = false;
    clean_up();
    close(fd);
    return 0;
}
