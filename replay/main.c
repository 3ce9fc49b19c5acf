/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bench.h"
#include "error.h"
#include "options.h"
#include "output.h"
#include "print.h"
#include "replay.h"

static void run(const Setup *setup)
{
    Input in;
    Event event;
    Replay *replay;
    bool found = false;

    input_open(&in, setup->path);
    replay = replay_new(setup, &in);
    while (setup->next(&in, &event)) {
        replay_event(replay, &event);
        found = true;
    }
    if (!found && setup->traced) {
        usage_error("%s: there are no pci_nvme_cint_* events in it", in.name);
    }
    replay_finish(replay);
    output_summary(replay);
    print_flush();
    replay_free(replay);
    input_close(&in);
}

int main(int argc, char **argv)
{
    Setup setup;

    setup_from_args(&setup, argc, argv);
    if (setup.bench) {
        bench(&setup);
    } else {
        run(&setup);
    }
    setup_free(&setup);
    return 0;
}
