/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy "default": one interrupt per completion, the baseline of the papers.
 *
 * With each-cqe=off the completions posted in one pass share a message, which
 * is what the stock device model does. A non-zero aggregation time and
 * threshold turn it into NVMe's own coalescing, as feature 08h asks for.
 */
#include "policy.h"

static bool aggregates(const CintCq *cq)
{
    return cq->config.static_time_ns && cq->config.static_thr;
}

static CintVerdict default_complete(CintCq *cq, int64_t now,
                                    const CintCmd *cmd, bool fence)
{
    if (aggregates(cq)) {
        return cint_policy_static.complete(cq, now, cmd, fence);
    }
    return cint_verdict(cq->config.each_cqe ? NVME_CINT_REASON_EACH
                                            : NVME_CINT_REASON_NONE);
}

static CintReason default_pass_end(CintCq *cq, int64_t now)
{
    return aggregates(cq) ? NVME_CINT_REASON_NONE : NVME_CINT_REASON_EACH;
}

static CintReason default_timer(CintCq *cq, int64_t now)
{
    return cint_policy_static.timer(cq, now);
}

const CintPolicyOps cint_policy_default = {
    .drain = false,
    .thr = offsetof(CintConfig, static_thr),
    .complete = default_complete,
    .timer = default_timer,
    .pass_end = default_pass_end,
};
