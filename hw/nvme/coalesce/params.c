/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The settable parameters of the coalescing engine, in one table.
 */
#include "policy.h"

#define SECOND_NS   1000000000ull

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

static const char *const barrier_names[] = {
    [CINT_BARRIER_RELAXED]      = "relaxed",
    [CINT_BARRIER_STRICT]       = "strict",
    [CINT_BARRIER_GENERATION]   = "generation",
    NULL,
};

static const char *const infer_names[] = {
    [CINT_INFER_OFF]    = "off",
    [CINT_INFER_BATCH]  = "batch",
    [CINT_INFER_ALL]    = "all",
    NULL,
};

static const char *const storm_names[] = {
    [CINT_STORM_HOLD]   = "hold",
    [CINT_STORM_RETUNE] = "retune",
    NULL,
};

static const char *const vic_scope_names[] = {
    [CINT_VIC_SCOPE_CONTROLLER] = "controller",
    [CINT_VIC_SCOPE_CQ]         = "cq",
    NULL,
};

static const char *const vic_ratios_names[] = {
    [CINT_VIC_RATIOS_FULL]      = "full",
    [CINT_VIC_RATIOS_COARSE]    = "coarse",
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
        .def = NVME_CINT_POLICY_CINT,
        .values = cint_policy_names,
        .help = "when to interrupt",
    }, {
        .name = "delta",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(delta_ns),
        .max = SECOND_NS,
        .def = 6000,
        .help = "ns without a completion that end a burst (adaptive, cint; "
                "cinterrupts 3.2)",
    }, {
        .name = "thr",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(thr),
        .max = 65535,
        .def = 32,
        .help = "CQEs that end a burst; 0 and 1 interrupt for each (adaptive, "
                "cint; cinterrupts 3.2)",
    }, {
        .name = "barrier",
        .type = CINT_PARAM_ENUM,
        .offset = FIELD(barrier),
        .max = CINT_BARRIER_GENERATION,
        .def = CINT_BARRIER_RELAXED,
        .values = barrier_names,
        .help = "a Barrier interrupts at its own completion; when all before "
                "it in its SQ are done; or all since the previous Barrier "
                "(cint; cinterrupts 3.4)",
    }, {
        .name = "ooo",
        .type = CINT_PARAM_BOOL,
        .offset = FIELD(ooo),
        .max = 1,
        .def = 1,
        .help = "Urgent entries get interrupts of their own class where the "
                "driver reads status records (cint; cinterrupts 3.5)",
    }, {
        .name = "infer",
        .type = CINT_PARAM_ENUM,
        .offset = FIELD(infer),
        .max = CINT_INFER_ALL,
        .def = CINT_INFER_OFF,
        .values = infer_names,
        .help = "for guests without hints: the last command of a doorbell "
                "write is a Barrier; all: and a lone one is Urgent (cint)",
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
                "no limit (not under vic and pointer)",
    }, {
        .name = "cif-threshold",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(cif_threshold),
        .min = 2,
        .max = 65535,
        .def = 4,
        .help = "commands in flight below which every completion interrupts "
                "(vic; vIC 3.2)",
    }, {
        .name = "iops-threshold",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(iops_threshold),
        .max = 100000000,
        .def = 2000,
        .help = "completions/s below which every completion interrupts (vic; "
                "vIC 3.2)",
    }, {
        .name = "epoch",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(epoch_ms),
        .min = 1,
        .max = 60000,
        .def = 200,
        .help = "ms between two determinations of the ratio (vic; vIC 3.2.2)",
    }, {
        .name = "max-skip",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(max_skip),
        .max = 65535,
        .def = 0,
        .help = "largest n of a delivery ratio 1/n, 0 = no limit; the paper's "
                "text has 16 (vic; vIC 3.2.1)",
    }, {
        .name = "vic-scope",
        .type = CINT_PARAM_ENUM,
        .offset = FIELD(vic_scope),
        .max = CINT_VIC_SCOPE_CQ,
        .def = CINT_VIC_SCOPE_CONTROLLER,
        .values = vic_scope_names,
        .help = "whose commands in flight and completions the ratio follows "
                "(vic)",
    }, {
        .name = "vic-ratios",
        .type = CINT_PARAM_ENUM,
        .offset = FIELD(vic_ratios),
        .max = CINT_VIC_RATIOS_COARSE,
        .def = CINT_VIC_RATIOS_FULL,
        .values = vic_ratios_names,
        .help = "coarse: no iops-threshold and no ratio between 1 and 1/2, as "
                "an early driver had it (vic; vIC 5)",
    }, {
        .name = "kick-window",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(kick_window_ns),
        .max = SECOND_NS,
        .def = 0,
        .help = "ns after a message in which a guest that has rung a doorbell "
                "since gets no further one until it rings again; 0 = off (any "
                "policy; vIC 3.3)",
    }, {
        .name = "max-irq-rate",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(max_irq_rate),
        .max = SECOND_NS,
        .def = 0,
        .help = "interrupts/s of a CQ that storm protection allows, 0 = off "
                "(any policy; cinterrupts 4.3)",
    }, {
        .name = "ewma-shift",
        .type = CINT_PARAM_UINT,
        .offset = FIELD(ewma_shift),
        .min = 1,
        .max = 16,
        .def = 7,
        .help = "the last interval weighs 1/2^n in the mean that storm "
                "protection goes by",
    }, {
        .name = "storm",
        .type = CINT_PARAM_ENUM,
        .offset = FIELD(storm),
        .max = CINT_STORM_RETUNE,
        .def = CINT_STORM_HOLD,
        .values = storm_names,
        .help = "in a storm interrupts wait; retune: delta and thr grow and "
                "hints are ignored instead (adaptive, cint; cinterrupts 4.3)",
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
        return "storm=retune goes with policy=adaptive and policy=cint only, "
               "the others have no delta and thr to tune; use storm=hold";
    }
    return ops->conflict ? ops->conflict(config) : NULL;
}
