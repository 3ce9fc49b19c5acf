/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do the blocks of a run agree?  The run so far is cut into BLOCKS blocks of
 * the same length.  Of the I/Os a second and of the mean latency of each block
 * two things are asked: how far the mean of a longer run may be from that of
 * this one (half the width of the interval that has it with 95 %, by Student's
 * t, blocks taken for independent), and how far its second half is from its
 * first.  Both are shares of the mean.
 *
 * The blocks grow with the run.  So what comes and goes within a block is
 * averaged away, and blocks that follow one another depend on each other less
 * and less (batch means).
 */
#ifndef CINT_FIO_BLOCKS_H
#define CINT_FIO_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* Even, so that there are two halves. */
#define BLOCKS  10

/* What a job has done until some moment. */
struct look {
    uint64_t ns;            /* the moment */
    uint64_t ios;
    double latency_ns;      /* sum over those I/Os that have one */
    uint64_t timed;         /* how many these are */
};

struct agreement {
    double error;           /* of the mean */
    double drift;           /* from the first half to the second */
};

struct agreements {
    struct agreement rate, latency;
};

/*
 * How far the blocks between look 0 and look @last agree, where @last is at
 * least BLOCKS.  A job without I/Os in a block does not agree at all (INFINITY);
 * one without latencies has no latency to disagree about.
 */
struct agreements blocks_agree(const struct look *looks, size_t last);

/* The worst of them, which is to be compared with what is asked for. */
double blocks_worst(const struct agreements *found);

#endif
