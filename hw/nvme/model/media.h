/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Media latency model: when a command's data transfer is over.
 *
 * A command occupies the unit that is free first for latency + size x per-kib
 * + spread + jitter, and all commands of one direction share that direction's
 * bandwidth. What it occupies is kept in a claim, with which it can be given
 * back for a command that ends before its time. The spread is drawn once for a
 * burst, which is all commands that are fetched at the same instant, so that
 * they keep their order; the jitter is drawn for each command, and they do not.
 *
 * Pure arithmetic over the time handed in, nothing of QEMU's; the same seed
 * and the same sequence of calls give the same times. Times are int64_t ns of
 * any one monotonic clock. Threads: all calls for one medium come from one
 * thread at a time. Errors: none at run time; parameters are checked
 * beforehand with cint_media_conflict().
 */
#ifndef HW_NVME_MODEL_MEDIA_H
#define HW_NVME_MODEL_MEDIA_H

#include <stdbool.h>
#include <stdint.h>

/* The lines of media-list.h, in order. */
typedef enum CintMediaProfile {
#define MEDIA(name, id, ...)    CINT_MEDIA_##id
#include "media-list.h"
#undef MEDIA
    CINT_NR_MEDIA,
} CintMediaProfile;

#define CINT_MEDIA_MAX_UNITS        1024
#define CINT_MEDIA_MIN_BANDWIDTH    65536   /* bytes/s */

/* Name of each profile, NULL terminated. */
extern const char *const cint_media_names[CINT_NR_MEDIA + 1];

typedef struct CintMediaParams {
    uint64_t profile;           /* CintMediaProfile */
    uint64_t read_latency_ns;
    uint64_t write_latency_ns;
    uint64_t read_per_kib_ns;
    uint64_t write_per_kib_ns;
    uint64_t units;             /* 0 = as many as there are commands */
    uint64_t spread_ns;         /* of a burst's commands together */
    uint64_t jitter_ns;         /* of each command */
    uint64_t seed;              /* of spread and jitter */
    uint64_t read_bandwidth;    /* bytes per second, 0 = no limit */
    uint64_t write_bandwidth;
} CintMediaParams;

/* A piece of time on a unit or on a direction's channel. */
typedef struct CintMediaSpan {
    int64_t start_ns;
    int64_t end_ns;             /* equal: none */
} CintMediaSpan;

/* What one command occupies. All zeroes: nothing. */
typedef struct CintMediaClaim {
    uint32_t unit;
    bool is_write;
    CintMediaSpan service;      /* on the unit */
    CintMediaSpan transfer;     /* on the channel */
} CintMediaClaim;

typedef struct CintMedia {
    CintMediaParams params;
    uint64_t random;
    int64_t burst_ns;           /* when the last burst was fetched */
    int64_t burst_spread_ns;    /* what its commands have of the spread */
    int64_t channel_ns[2];      /* by is_write: when its bandwidth is free */
    int64_t unit_ns[CINT_MEDIA_MAX_UNITS];  /* busy until */
} CintMedia;

/* Sets the latencies, units and bandwidths of params->profile in @params. */
void cint_media_profile(CintMediaParams *params);

/*
 * Returns NULL if @params makes sense, else a sentence that names the
 * parameter and its valid values.
 */
const char *cint_media_conflict(const CintMediaParams *params);

/* Idle at time 0; spread and jitter begin with params->seed. */
void cint_media_init(CintMedia *media, const CintMediaParams *params);

/* New parameters; what is under way keeps its time. */
void cint_media_configure(CintMedia *media, const CintMediaParams *params);

/*
 * A command of @bytes was fetched at @now (ns). Returns when it is done,
 * never before @now; @now itself under the profile "none". @claim says what
 * it occupies until then.
 */
int64_t cint_media_reserve(CintMedia *media, int64_t now, bool is_write,
                           uint64_t bytes, CintMediaClaim *claim);

/*
 * The command with @claim ended at @now, before its time: what is left of its
 * time is free for later ones; those under way keep theirs. At the instant of
 * its reservation this undoes it. Clears @claim, so that doing it twice, or
 * after a reset that cleared it, is harmless.
 */
void cint_media_refund(CintMedia *media, int64_t now, CintMediaClaim *claim);

#endif /* HW_NVME_MODEL_MEDIA_H */
