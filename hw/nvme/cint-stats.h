/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: counters and time distributions of one queue. They only accumulate:
 * nothing here knows a queue, a device or a clock. Indices are indices of the
 * queue, times are ns of the device's clock.
 */
#ifndef HW_NVME_CINT_STATS_H
#define HW_NVME_CINT_STATS_H

#include "coalesce/coalesce.h"

/* A posted CQE the guest has not consumed, for hold and reap times. */
typedef struct NvmeCintPosted {
    int64_t post_ns;
    int64_t irq_ns;             /* -1 until an interrupt covers it */
    uint8_t class;              /* index into NvmeCintLogRecord.hold */
} NvmeCintPosted;

typedef struct NvmeCintStats {
    NvmeCintLogRecord log;      /* counters and distributions only */
    uint32_t size;              /* entries of the queue, and of posted */
    uint32_t first_uncovered;   /* CQ index: no interrupt sent yet */
    uint32_t first_unreaped;    /* CQ index: not consumed yet */
    uint32_t next_slot;         /* CQ index: for the next CQE */
    int64_t asked_ns;           /* the first message that no head doorbell */
                                /* has answered; -1: none */
    NvmeCintPosted *posted;
} NvmeCintStats;

void nvme_cint_stats_init(NvmeCintStats *stats, uint32_t size);
void nvme_cint_stats_free(NvmeCintStats *stats);

/* All counters start anew; what is posted stays known. */
void nvme_cint_stats_reset(NvmeCintStats *stats);

/* Counts where hints stood: @sources, a mask over enum NvmeCintSourceId. */
void nvme_cint_stats_sources(NvmeCintStats *stats, uint8_t sources);

static inline uint32_t nvme_cint_next_index(const NvmeCintStats *stats,
                                            uint32_t index)
{
    return index + 1 == stats->size ? 0 : index + 1;
}

static inline uint8_t nvme_cint_class_of(uint8_t hints)
{
    return hints == NVME_CINT_HINT_BOTH ? NVME_CINT_HINT_NONE : hints;
}

/* A CQE was posted; @hints is its command's, by enum NvmeCintHintId. */
static inline void nvme_cint_stats_posted(NvmeCintStats *stats, uint8_t hints,
                                          int64_t now)
{
    stats->posted[stats->next_slot] = (NvmeCintPosted) {
        .post_ns = now,
        .irq_ns = -1,
        .class = nvme_cint_class_of(hints),
    };
    stats->next_slot = nvme_cint_next_index(stats, stats->next_slot);
}

/* @cmd is complete. */
static inline void nvme_cint_stats_command(NvmeCintStats *stats,
                                           const CintCmd *cmd)
{
    stats->log.cmds_by_hint[cmd->hints]++;
    if (cmd->sources) {
        nvme_cint_stats_sources(stats, cmd->sources);
    }
}

/* An interrupt was decided on. @masked: its message stays in the PBA. */
void nvme_cint_stats_irq(NvmeCintStats *stats, const CintAction *action,
                         bool masked, int64_t now);

/* ns that the oldest CQE waited which @action is to tell of. */
int64_t nvme_cint_stats_oldest_hold(const NvmeCintStats *stats,
                                    const CintAction *action, int64_t now);

/* The guest consumed everything before @head. */
void nvme_cint_stats_reaped(NvmeCintStats *stats, uint32_t head, int64_t now);

/* An interrupt went out @ns after its deadline. */
void nvme_cint_stats_late(NvmeCintStats *stats, int64_t ns);

/* Of one submission queue. */
typedef struct NvmeCintSqStats {
    NvmeCintLogSq log;          /* bytes and distribution only */
    uint32_t size;              /* entries of the queue, and of rung_ns */
    int64_t *rung_ns;           /* by slot, of SQEs that were published at a */
                                /* time the first one: when; others 0 */
    int64_t batch_ns;           /* when the SQE fetched last was published */
} NvmeCintSqStats;

void nvme_cint_sq_stats_init(NvmeCintSqStats *stats, uint32_t size);
void nvme_cint_sq_stats_free(NvmeCintSqStats *stats);
void nvme_cint_sq_stats_reset(NvmeCintSqStats *stats);

/* How many SQEs were fetched. */
uint64_t nvme_cint_sq_stats_commands(const NvmeCintSqStats *stats);

/* SQEs were published, in slot @first and behind it. */
static inline void nvme_cint_sq_stats_rung(NvmeCintSqStats *stats,
                                           uint32_t first, int64_t now)
{
    stats->rung_ns[first] = now;
}

/* Some that were published are not any more. */
void nvme_cint_sq_stats_unrung(NvmeCintSqStats *stats);

/* An SQE was fetched that had waited. */
void nvme_cint_sq_stats_waited(NvmeCintSqStats *stats, int64_t ns);

/* The SQE in slot @slot was fetched; its command moves @bytes. */
static inline void nvme_cint_sq_stats_fetched(NvmeCintSqStats *stats,
                                              uint32_t slot, uint64_t bytes,
                                              int64_t now)
{
    int64_t rung_ns = stats->rung_ns[slot];

    if (rung_ns) {
        stats->rung_ns[slot] = 0;
        stats->batch_ns = rung_ns;
    }
    stats->log.bytes += bytes;
    if (now == stats->batch_ns) {
        stats->log.wait.bucket[0]++;
    } else {
        nvme_cint_sq_stats_waited(stats, now - stats->batch_ns);
    }
}

#endif /* HW_NVME_CINT_STATS_H */
