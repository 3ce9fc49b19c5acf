/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The command line.
 */
#ifndef REPLAY_OPTIONS_H
#define REPLAY_OPTIONS_H

#include "formats.h"

/* Where the guest's head goes. Positive values: ns after the interrupt. */
enum {
    GUEST_EAGER = 0,
    GUEST_TRACE = -1,
};

typedef struct ArmSpec {
    char *name;                 /* as typed */
    CintConfig config;
} ArmSpec;

typedef struct Setup {
    const char *path;           /* NULL or "-": standard input */
    NextEvent *next;
    bool traced;                /* it is QEMU's log */
    ArmSpec *arm;
    unsigned nr_arms;
    uint32_t cq_size;
    int64_t guest;              /* GUEST_* or ns */
    bool guest_given;
    bool extras;                /* errors are told from successes */
    bool record;                /* status records, which OOO needs */
    bool deaf;                  /* policies do not hear the hints */
    bool irqs;                  /* print each interrupt */
    bool json;
    bool lives;                 /* no replay: what became of each command */
    bool bench;
    uint64_t price_ns;          /* of an interrupt, for the optimum, or 0 */
    double scale;               /* printed times are FILE's divided by it */
    int cqid;                   /* the only one of interest, or -1 */
    unsigned threads;           /* for the policies; 1: no others */
} Setup;

void setup_from_args(Setup *setup, int argc, char **argv);
void setup_free(Setup *setup);

#endif /* REPLAY_OPTIONS_H */
