/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The settable parameters of the coalescing engine, in one table.
 */
#include "policy.h"

/* The last one is NULL. */
const char *const cint_policy_names[CINT_NR_POLICIES + 1] = {
#define POLICY(name, ops, reads)    name
#include "policy-list.h"
#undef POLICY
};

const CintPolicyOps *const cint_policies[CINT_NR_POLICIES] = {
#define POLICY(name, ops, reads)    (&(ops))
#include "policy-list.h"
#undef POLICY
};

static const char *const reason_names[NVME_CINT_NR_REASONS] = {
    [NVME_CINT_REASON_NONE]     = "none",
    [NVME_CINT_REASON_EACH]     = "each",
    [NVME_CINT_REASON_URGENT]   = "urgent",
    [NVME_CINT_REASON_BARRIER]  = "barrier",
    [NVME_CINT_REASON_THR]      = "thr",
    [NVME_CINT_REASON_QUIET]    = "quiet",
    [NVME_CINT_REASON_TIME]     = "time",
    [NVME_CINT_REASON_RATIO]    = "ratio",
    [NVME_CINT_REASON_LOW_CIF]  = "low-cif",
    [NVME_CINT_REASON_LOW_IOPS] = "low-iops",
    [NVME_CINT_REASON_POINTER]  = "pointer",
    [NVME_CINT_REASON_DRAIN]    = "drain",
    [NVME_CINT_REASON_PRESSURE] = "pressure",
    [NVME_CINT_REASON_MAX_HOLD] = "max-hold",
    [NVME_CINT_REASON_ERROR]    = "error",
    [NVME_CINT_REASON_STORM]    = "storm",
    [NVME_CINT_REASON_KICK]     = "kick",
    [NVME_CINT_REASON_RECONF]   = "reconfigure",
    [NVME_CINT_REASON_ADMIN]    = "admin",
};

/* NULL terminated. */
#define VALUES(...) ((const char *const[]) { __VA_ARGS__, NULL })

const CintParam cint_params[] = {
    {
        .name = "policy",
        .type = CINT_PARAM_ENUM,
        .offset = offsetof(CintConfig, policy),
        .max = CINT_NR_POLICIES - 1,
        .def = NVME_CINT_POLICY_CINT,
        .values = cint_policy_names,
        .help = "when to interrupt",
    },
#define PARAM(n, field, t, low, high, d, u, feature, v, h) \
    {                                                      \
        .name = n,                                         \
        .type = CINT_PARAM_##t,                            \
        .offset = offsetof(CintConfig, field),             \
        .min = low,                                        \
        .max = high,                                       \
        .def = d,                                          \
        .unit = CINT_UNIT_##u,                             \
        .values = v,                                       \
        .help = h,                                         \
    }
#include "param-list.h"
#undef PARAM
    { .name = NULL },
};

const char *cint_reason_name(CintReason reason)
{
    const char *name = NULL;

    if ((unsigned)reason < NVME_CINT_NR_REASONS) {
        name = reason_names[reason];
    }
    return name ? name : "unknown";
}

uint64_t *cint_config_field(CintConfig *config, const CintParam *param)
{
    return (uint64_t *)((char *)config + param->offset);
}

void cint_config_init(CintConfig *config)
{
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        *cint_config_field(config, param) = param->def;
    }
}

bool cint_config_in_range(const CintConfig *config)
{
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        uint64_t value = *cint_config_field((CintConfig *)config, param);

        if (value < param->min || value > param->max) {
            return false;
        }
    }
    return true;
}

const char *cint_config_conflict(const CintConfig *config)
{
    const CintPolicyOps *ops = cint_policies[config->policy];

    if (!ops->pass_end && !config->each_cqe) {
        return "each-cqe=off goes with policy=default only";
    }
    if (config->storm == CINT_STORM_RETUNE && config->max_irq_rate &&
        !ops->tunable) {
        return "storm=retune goes with policy=adaptive, cint and auto only, "
               "the others have no delta and thr to tune; use storm=hold";
    }
    return ops->conflict ? ops->conflict(config) : NULL;
}

const char *cint_config_scopes_conflict(const CintConfig *config)
{
    const CintPolicyOps *ops = cint_policies[config->policy];

    return ops->scopes_conflict ? ops->scopes_conflict(config) : NULL;
}
