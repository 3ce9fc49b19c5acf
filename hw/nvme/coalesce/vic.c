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

static CintVicEpoch *epoch_of(CintCq *cq)
{
    return cq->config.vic_scope == CINT_VIC_SCOPE_CQ ? &cq->vic.epoch
                                                     : &cq->scope->vic;
}

/*
 * Commands in flight, counting the one that completes (vIC Table 1) and those
 * that the device knows of but has not fetched.
 */
static uint32_t commands_in_flight(const CintCq *cq)
{
    return 1 + (cq->config.vic_scope == CINT_VIC_SCOPE_CQ ?
                cq->inflight + cq->backlog :
                cq->scope->inflight + cq->scope->backlog);
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

/*
 * Ratios by trial: which map from commands in flight to R is right vIC leaves
 * to experiments on the machine at hand, so here they are made. Each epoch one
 * more completion is skipped, as long as about as many come as where each one
 * interrupts: a guest that waits for what is held submits less. A step that
 * costs too much is taken back, and the next one has to wait twice as long.
 */
#define LOSS_SHARE      32      /* of the rate; less is chance */
#define MOST_PATIENCE   64

/* The most that may be skipped: who is held is a part of what is in flight. */
static uint32_t most_skip(const CintConfig *config, uint64_t cif)
{
    uint64_t most = cif / config->cif_threshold;

    return config->max_skip && most > config->max_skip ? config->max_skip
                                                       : most;
}

static bool is_loss(const CintVicTrial *trial, uint64_t iops)
{
    return iops < trial->rate - trial->rate / LOSS_SHARE;
}

static void be_patient(CintVicTrial *trial)
{
    trial->patience = trial->patience < MOST_PATIENCE / 2 ?
                      2 * trial->patience + !trial->patience : MOST_PATIENCE;
    trial->wait = trial->patience;
}

/*
 * From where each one interrupts, of which the rate has to be known: losses
 * that are small by themselves would add up.
 */
static uint32_t begin_trial(CintVicTrial *trial)
{
    *trial = (CintVicTrial) { .patience = trial->patience };
    return 1;
}

/* What was done with @skip in the last epoch has given @iops. */
static uint32_t tried(CintVicTrial *trial, uint32_t skip, uint64_t iops)
{
    bool loss = is_loss(trial, iops);

    if (loss && trial->stepped) {
        trial->stepped = false;
        be_patient(trial);
        return skip - 1;
    }
    if (skip > 1 && (loss || !trial->rate)) {
        return begin_trial(trial);
    }
    if (trial->stepped) {
        trial->patience = 0;
    }
    if (skip == 1 || iops > trial->rate) {
        trial->rate = iops;
    }
    trial->stepped = !trial->wait;
    trial->wait -= !!trial->wait;
    return skip + trial->stepped;
}

static void adaptive_ratio(const CintConfig *config, CintVicEpoch *epoch,
                           uint64_t cif, uint64_t iops)
{
    uint32_t most = most_skip(config, cif);
    uint32_t skip = epoch->skip ? epoch->skip : 1;

    epoch->low_iops = iops < config->iops_threshold;
    if (epoch->low_iops || !most) {
        epoch->trial = (CintVicTrial) { .rate = 0 };
        set_ratio(epoch, 1, 1);
        return;
    }
    skip = tried(&epoch->trial, skip, iops);
    if (skip > most) {
        epoch->trial.stepped = false;
        skip = most;
    }
    set_ratio(epoch, 1, skip);
}

static void recalculate(const CintConfig *config, CintVicEpoch *epoch,
                        int64_t now, uint32_t cif)
{
    uint64_t iops = epoch->completions * SECOND_NS / (now - epoch->start_ns);

    if (config->vic_ratios == CINT_VIC_RATIOS_ADAPTIVE) {
        adaptive_ratio(config, epoch, epoch->cif / epoch->completions, iops);
    } else {
        epoch->trial = (CintVicTrial) { .rate = 0 };
        if (config->vic_ratios == CINT_VIC_RATIOS_COARSE) {
            coarse_ratio(config, epoch, cif);
        } else {
            full_ratio(config, epoch, cif, iops);
        }
    }
    epoch->start_ns = now;
    epoch->completions = 0;
    epoch->cif = 0;
}

static const char *vic_conflict(const CintConfig *config)
{
    return config->max_hold_ns ? NULL :
           "max-hold=0 does not go with policy=vic, whose ratio has no timer "
           "of its own";
}

static const char *vic_scopes_conflict(const CintConfig *config)
{
    return config->vic_scope == CINT_VIC_SCOPE_CQ ? NULL :
           "vic-scope=controller does not go with policy=vic where several "
           "threads serve the queues, none of which counts all commands; use "
           "vic-scope=cq, or one thread";
}

static void vic_enter(CintCq *cq)
{
    cq->vic.counter = 1;
}

/* Until an epoch of its scope has ended, all are delivered. */
static void vic_ratio(const CintCq *cq, uint32_t *up, uint32_t *skip)
{
    const CintVicEpoch *epoch = epoch_of((CintCq *)cq);

    *up = epoch->skip ? epoch->up : 1;
    *skip = epoch->skip ? epoch->skip : 1;
}

/* Algorithm 2: is this one delivered? */
static CintReason deliver(const CintVicEpoch *epoch, uint32_t *counter)
{
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

static CintVerdict vic_complete(CintCq *cq, int64_t now,
                                const CintCmd *cmd, bool fence)
{
    CintVicEpoch *epoch = epoch_of(cq);
    uint32_t cif = commands_in_flight(cq);

    epoch->completions++;
    epoch->cif += cif;
    if (now - epoch->start_ns > (int64_t)(cq->config.epoch_ms * MS_NS)) {
        recalculate(&cq->config, epoch, now, cif);
    }
    if (cif < cq->config.cif_threshold) {
        cq->vic.counter = 1;
        return cint_verdict(NVME_CINT_REASON_LOW_CIF);
    }
    return cint_verdict(deliver(epoch, &cq->vic.counter));
}

const CintPolicyOps cint_policy_vic = {
    .drain = true,
    .thr = offsetof(CintConfig, thr),
    .conflict = vic_conflict,
    .scopes_conflict = vic_scopes_conflict,
    .enter = vic_enter,
    .complete = vic_complete,
    .ratio = vic_ratio,
};
