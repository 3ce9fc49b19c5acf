/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The settable parameters of the coalescing engine, in one table.
 */
#include "coalesce.h"

#define SECOND_NS   1000000000ull

const char *const cint_policy_names[] = {
    [NVME_CINT_POLICY_DEFAULT]  = "default",
    [NVME_CINT_POLICY_STATIC]   = "static",
    [NVME_CINT_POLICY_ADAPTIVE] = "adaptive",
    NULL,
};

const char *const cint_on_off_auto_names[] = {
    [CINT_AUTO] = "auto",
    [CINT_ON]   = "on",
    [CINT_OFF]  = "off",
    NULL,
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

#define FIELD(f)    offsetof(CintConfig, f)

const CintParam cint_params[] = {
    {
        .name = "policy",
        .type = CINT_PARAM_ENUM,
        .offset = FIELD(policy),
        .max = CINT_NR_POLICIES - 1,
        .def = NVME_CINT_POLICY_ADAPTIVE,
        .values = cint_policy_names,
        .help = "when to interrupt",
    }, {
        .name = "delta",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(delta_ns),
        .max = SECOND_NS,
        .def = 6000,
        .help = "ns without a completion that end a burst (adaptive; "
                "cinterrupts 3.2)",
    }, {
        .name = "thr",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(thr),
        .max = 65535,
        .def = 32,
        .help = "CQEs that end a burst; 0 and 1 interrupt for each (adaptive; "
                "cinterrupts 3.2)",
    }, {
        .name = "static-time",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(static_time_ns),
        .max = SECOND_NS,
        .def = 0,
        .help = "ns from the first pending CQE to the interrupt, 0 = no "
                "aggregation (default, static)",
    }, {
        .name = "static-thr",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(static_thr),
        .max = 65535,
        .def = 0,
        .help = "CQEs that interrupt at once, counted from 1, 0 = no "
                "aggregation (default, static)",
    }, {
        .name = "each-cqe",
        .type = CINT_PARAM_BOOL,
        .offset = FIELD(each_cqe),
        .max = 1,
        .def = 1,
        .help = "one message for each CQE even when several are posted "
                "together (default)",
    }, {
        .name = "drain",
        .type = CINT_PARAM_ENUM,
        .offset = FIELD(drain),
        .max = CINT_OFF,
        .def = CINT_AUTO,
        .values = cint_on_off_auto_names,
        .help = "interrupt when nothing is left in flight; auto: as suits the "
                "policy",
    }, {
        .name = "max-hold",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(max_hold_ns),
        .max = 10 * SECOND_NS,
        .def = 10000000,
        .help = "ns a CQE may be held at the most, whatever the policy; 0 = "
                "no limit",
    },
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

const char *cint_config_conflict(const CintConfig *config)
{
    if (config->policy != NVME_CINT_POLICY_DEFAULT && !config->each_cqe) {
        return "each-cqe=off goes with policy=default only";
    }
    return NULL;
}
