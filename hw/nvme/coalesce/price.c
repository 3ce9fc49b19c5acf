/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy "price": an interrupt is sent when what it tells of has waited, in
 * all, for as long as the interrupt is worth. That is how dynamic TCP
 * acknowledgement decides when to send one, and costs at most twice what the
 * best would have cost that knew all arrivals beforehand, whatever they are
 * (price x interrupts + weighted waits; unit-price).
 *
 * A command that somebody waits for counts in full, by its hint or by what is
 * inferred of it, and the others by a share of that.
 */
#include "policy.h"

#define WHOLE   100     /* percent */

static bool is_waited_for(const CintCmd *cmd)
{
    return cmd->hints == NVME_CINT_HINT_URGENT ||
           (cmd->hints == NVME_CINT_HINT_BARRIER &&
            cmd->waiter != CINT_WAITER_ANY);
}

/* What is left of the price after @waited ns of what is pending. */
static int64_t left_of(const CintCq *cq, int64_t waited)
{
    int64_t left = cq->price.left;

    /* A weight is at least 1: that long is always enough. */
    if (waited >= left || waited * cq->price.weight >= left) {
        return 0;
    }
    return left - waited * cq->price.weight;
}

/*
 * A CQE that the guest has consumed untold goes on counting: the interrupt may
 * come early then, and never late.
 */
static CintVerdict price_complete(CintCq *cq, int64_t now, const CintCmd *cmd,
                                  bool fence)
{
    int64_t weight = is_waited_for(cmd) ? WHOLE : cq->config.weight;
    int64_t left = cq->config.price_ns * WHOLE;

    if (cq->pending > 1) {
        left = left_of(cq, now - cq->price.since_ns);
        weight += cq->price.weight;
    }
    cq->price.left = left;
    cq->price.weight = weight;
    cq->price.since_ns = now;
    if (!left) {
        return cint_verdict(NVME_CINT_REASON_TIME);
    }
    cq->deadline = now + (left + weight - 1) / weight;
    return cint_verdict(NVME_CINT_REASON_NONE);
}

static CintReason price_timer(CintCq *cq, int64_t now)
{
    return NVME_CINT_REASON_TIME;
}

const CintPolicyOps cint_policy_price = {
    .drain = true,
    .infers = true,
    .any = cint_hinted_any,
    .thr = offsetof(CintConfig, thr),
    .complete = price_complete,
    .timer = price_timer,
};
