/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bench.h"
#include "crew.h"
#include "error.h"
#include "lives.h"
#include "options.h"
#include "output.h"
#include "print.h"

static void run(const Setup *setup)
{
    Input in;
    Replay *replay;
    bool found;

    input_open(&in, setup->path);
    replay = crew_replay(setup, &in, &found);
    if (!found && setup->traced) {
        usage_error("%s: there are no pci_nvme_cint_* events in it", in.name);
    }
    output_summary(replay);
    print_flush();
    replay_free(replay);
    input_close(&in);
}

static void run_lives(const Setup *setup)
{
    Input in;

    input_open(&in, setup->path);
    lives_print(&in, setup->scale);
    print_flush();
    input_close(&in);
}

int main(int argc, char **argv)
{
    Setup setup;

    setup_from_args(&setup, argc, argv);
    if (setup.bench) {
        bench(&setup);
    } else if (setup.lives) {
        run_lives(&setup);
    } else {
        run(&setup);
    }
    setup_free(&setup);
    return 0;
}
