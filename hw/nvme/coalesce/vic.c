/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy "vic": vIC Algorithms 1 and 2. Of every ratio_skip completions
 * ratio_up are delivered; the ratio follows from the commands in flight and is
 * determined once an epoch. There is no timer: few commands in flight, or a
 * low completion rate, deliver every completion, and otherwise another one
 * is about to come (drain and max-hold are there for when it does not).
 *
 * Only the once-an-epoch part divides; nothing uses floating point.
 */
#include "policy.h"

#define MS_NS       1000000
#define SECOND_NS   1000000000ull

CintVicEpoch *cint_vic_epoch(CintCq *cq)
{
    return cq->config.vic_scope == CINT_VIC_SCOPE_CQ ? &cq->vic.epoch
                                                     : &cq->scope->vic;
}

/* Commands in flight, counting the one that completes (vIC Table 1). */
static uint32_t commands_in_flight(const CintCq *cq)
{
    return 1 + (cq->config.vic_scope == CINT_VIC_SCOPE_CQ ?
                cq->inflight : cq->scope->inflight);
}

static void set_ratio(CintVicEpoch *epoch, uint32_t up, uint32_t skip)
{
    epoch->up = up;
    epoch->skip = skip;
}

/*
 * The n of R = 1/n: CIF / 2 cifThreshold rounded down, but at least @least and
 * at most max-skip.
 */
static uint32_t deep_skip(const CintConfig *config, uint32_t cif,
                          uint32_t least)
{
    uint64_t skip = cif / (2 * config->cif_threshold);

    skip = skip < least ? least : skip;
    return config->max_skip && skip > config->max_skip ? config->max_skip
                                                       : skip;
}

/* The published algorithm's ratios (vIC Algorithm 1). */
static void full_ratio(const CintConfig *config, CintVicEpoch *epoch,
                       uint32_t cif, uint64_t iops)
{
    uint64_t threshold = config->cif_threshold;

    epoch->low_iops = iops < config->iops_threshold;
    if (epoch->low_iops || cif < threshold) {
        set_ratio(epoch, 1, 1);
    } else if (cif < 2 * threshold) {
        set_ratio(epoch, 4, 5);
    } else if (cif < 3 * threshold) {
        set_ratio(epoch, 3, 4);
    } else if (cif < 4 * threshold) {
        set_ratio(epoch, 2, 3);
    } else {
        set_ratio(epoch, 1, deep_skip(config, cif, 1));
    }
}

/*
 * The form vIC 5 calls a mistake: no completion rate gate and nothing between
 * 1 and 1/2. Kept to show what the other ratios are for.
 */
static void coarse_ratio(const CintConfig *config, CintVicEpoch *epoch,
                         uint32_t cif)
{
    bool few = cif < config->cif_threshold;

    epoch->low_iops = false;
    set_ratio(epoch, 1, few ? 1 : deep_skip(config, cif, 2));
}

static void recalculate(const CintConfig *config, CintVicEpoch *epoch,
                        int64_t now, uint32_t cif)
{
    uint64_t iops = epoch->completions * SECOND_NS / (now - epoch->start_ns);

    if (config->vic_ratios == CINT_VIC_RATIOS_COARSE) {
        coarse_ratio(config, epoch, cif);
    } else {
        full_ratio(config, epoch, cif, iops);
    }
    epoch->start_ns = now;
    epoch->completions = 0;
}

static void vic_enter(CintCq *cq)
{
    cq->vic.counter = 1;
    if (!cint_vic_epoch(cq)->skip) {
        set_ratio(cint_vic_epoch(cq), 1, 1);
    }
}

static CintReason vic_complete(CintCq *cq, int64_t now,
                               const CintCmd *cmd, bool fence)
{
    CintVicEpoch *epoch = cint_vic_epoch(cq);
    uint32_t cif = commands_in_flight(cq);
    uint32_t *counter = &cq->vic.counter;

    epoch->completions++;
    if (now - epoch->start_ns > (int64_t)(cq->config.epoch_ms * MS_NS)) {
        recalculate(&cq->config, epoch, now, cif);
    }

    if (cif < cq->config.cif_threshold) {
        *counter = 1;
        return NVME_CINT_REASON_LOW_CIF;
    }
    if (*counter < epoch->up) {
        (*counter)++;
        return NVME_CINT_REASON_RATIO;
    }
    /* ">=": a ratio that shrank under a large counter delivers at once. */
    if (*counter >= epoch->skip) {
        *counter = 1;
        return epoch->low_iops ? NVME_CINT_REASON_LOW_IOPS
                               : NVME_CINT_REASON_RATIO;
    }
    (*counter)++;
    return NVME_CINT_REASON_NONE;
}

const CintPolicyOps cint_policy_vic = {
    .drain = true,
    .enter = vic_enter,
    .complete = vic_complete,
};
