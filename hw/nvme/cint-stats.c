/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: counters and time distributions. See cint-stats.h.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"

#include "cint-stats.h"

void nvme_cint_stats_init(NvmeCintStats *stats, uint32_t size)
{
    *stats = (NvmeCintStats) {
        .size = size,
        .asked_ns = -1,
        .posted = g_new0(NvmeCintPosted, size),
    };
}

void nvme_cint_stats_free(NvmeCintStats *stats)
{
    g_free(stats->posted);
}

void nvme_cint_stats_reset(NvmeCintStats *stats)
{
    memset(&stats->log, 0, sizeof(stats->log));
}

static void hist_add(NvmeCintHist *hist, int64_t ns)
{
    uint64_t value = MAX(ns, 0);
    int bucket = value ? 64 - clz64(value) : 0;

    hist->sum_ns += value;
    hist->max_ns = MAX(hist->max_ns, value);
    hist->bucket[MIN(bucket, NVME_CINT_HIST_BUCKETS - 1)]++;
}

void nvme_cint_stats_sources(NvmeCintStats *stats, uint8_t sources)
{
    int source;

    for (source = 0; source < NVME_CINT_NR_SOURCES; source++) {
        stats->log.cmds_by_source[source] += (sources >> source) & 1;
    }
}

static bool is_covered(const NvmeCintPosted *posted)
{
    return posted->irq_ns >= 0;
}

/* What an urgent interrupt tells of: the entry just posted. */
static NvmeCintPosted *newest(const NvmeCintStats *stats)
{
    return &stats->posted[(stats->next_slot + stats->size - 1) % stats->size];
}

int64_t nvme_cint_stats_oldest_hold(const NvmeCintStats *stats,
                                    const CintAction *action, int64_t now)
{
    uint32_t i = stats->first_uncovered;

    if (action->fire == CINT_FIRE_URGENT) {
        return now - newest(stats)->post_ns;
    }
    while (i != stats->next_slot && is_covered(&stats->posted[i])) {
        i = nvme_cint_next_index(stats, i);
    }
    return i != stats->next_slot ? now - stats->posted[i].post_ns : 0;
}

static void cover(NvmeCintStats *stats, NvmeCintPosted *posted, int64_t now)
{
    posted->irq_ns = now;
    hist_add(&stats->log.hold[posted->class], now - posted->post_ns);
}

static void cover_all(NvmeCintStats *stats, int64_t now)
{
    uint32_t *first = &stats->first_uncovered;

    for (; *first != stats->next_slot;
         *first = nvme_cint_next_index(stats, *first)) {
        NvmeCintPosted *posted = &stats->posted[*first];

        if (!is_covered(posted)) {
            cover(stats, posted, now);
        }
    }
}

void nvme_cint_stats_irq(NvmeCintStats *stats, const CintAction *action,
                         bool masked, int64_t now)
{
    stats->log.irqs_by_reason[action->reason]++;
    stats->log.irqs_masked += masked;
    if (!masked && stats->asked_ns < 0) {
        stats->asked_ns = now;
    }
    if (action->fire == CINT_FIRE_URGENT) {
        stats->log.irqs_urgent++;
        cover(stats, newest(stats), now);
    } else {
        stats->log.irqs_full++;
        cover_all(stats, now);
    }
}

/* The guest has answered what it was asked by a message, if it was. */
static void answered(NvmeCintStats *stats, uint64_t cqes, int64_t now)
{
    NvmeCintAnswers *answers = &stats->log.answers;
    uint64_t ns = now - stats->asked_ns;

    if (!cqes || stats->asked_ns < 0) {
        return;
    }
    stats->asked_ns = -1;
    answers->count++;
    answers->ns += ns;
    answers->cqes += cqes;
    answers->cqes_cqes += cqes * cqes;
    answers->ns_cqes += ns * cqes;
}

void nvme_cint_stats_reaped(NvmeCintStats *stats, uint32_t head, int64_t now)
{
    uint64_t cqes = 0;

    while (stats->first_unreaped != head &&
           stats->first_unreaped != stats->next_slot) {
        NvmeCintPosted *posted = &stats->posted[stats->first_unreaped];
        uint32_t next;

        hist_add(&stats->log.post_to_head, now - posted->post_ns);
        if (is_covered(posted)) {
            hist_add(&stats->log.reap[posted->class], now - posted->irq_ns);
        } else {
            stats->log.untold++;
        }
        next = nvme_cint_next_index(stats, stats->first_unreaped);
        if (stats->first_unreaped == stats->first_uncovered) {
            stats->first_uncovered = next;
        }
        stats->first_unreaped = next;
        cqes++;
    }
    answered(stats, cqes, now);
}

void nvme_cint_stats_late(NvmeCintStats *stats, int64_t ns)
{
    hist_add(&stats->log.lateness, ns);
}

void nvme_cint_sq_stats_init(NvmeCintSqStats *stats, uint32_t size)
{
    *stats = (NvmeCintSqStats) {
        .size = size,
        .rung_ns = g_new0(int64_t, size),
    };
}

void nvme_cint_sq_stats_free(NvmeCintSqStats *stats)
{
    g_free(stats->rung_ns);
}

void nvme_cint_sq_stats_reset(NvmeCintSqStats *stats)
{
    memset(&stats->log, 0, sizeof(stats->log));
}

uint64_t nvme_cint_sq_stats_commands(const NvmeCintSqStats *stats)
{
    uint64_t commands = 0;
    int i;

    for (i = 0; i < NVME_CINT_HIST_BUCKETS; i++) {
        commands += stats->log.wait.bucket[i];
    }
    return commands;
}

void nvme_cint_sq_stats_unrung(NvmeCintSqStats *stats)
{
    memset(stats->rung_ns, 0, stats->size * sizeof(*stats->rung_ns));
}

void nvme_cint_sq_stats_waited(NvmeCintSqStats *stats, int64_t ns)
{
    hist_add(&stats->log.wait, ns);
}
