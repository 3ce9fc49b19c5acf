/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Random numbers and configurations.
 */
#include <inttypes.h>

#include "random.h"

int64_t pick(int64_t min, int64_t max)
{
    return g_test_rand_int_range(min, max + 1);
}

bool one_in(int n)
{
    return pick(1, n) == 1;
}

int64_t pick_of(const int64_t *values, unsigned n)
{
    return values[pick(0, n - 1)];
}

static void fit_policy(CintConfig *config)
{
    if (config->policy == NVME_CINT_POLICY_DEFAULT) {
        config->each_cqe = one_in(2);
        if (one_in(2)) {
            config->static_time_ns = 0;
        }
    }
    if (cint_config_conflict(config)) {
        /* A policy without a timer of its own. */
        config->max_hold_ns = PICK_OF(1, 600, 6000, 20000, 10000000);
    }
    if (config->policy == NVME_CINT_POLICY_ADAPTIVE ||
        config->policy == NVME_CINT_POLICY_CINT ||
        config->policy == NVME_CINT_POLICY_AUTO) {
        config->storm = PICK_OF(CINT_STORM_HOLD, CINT_STORM_RETUNE);
    }
}

CintConfig random_config(int policy)
{
    CintConfig config = {
        .policy = policy < 0 ? pick(0, NVME_CINT_POLICY_AUTO) : policy,
        .delta_ns = PICK_OF(0, 1, 50, 600, 6000),
        .thr = PICK_OF(0, 1, 2, 4, 8, 32, 65535),
        .price_ns = PICK_OF(0, 1, 50, 600, 6000, 100000),
        .weight = PICK_OF(1, 10, 100),
        .static_time_ns = PICK_OF(0, 1, 50, 600, 6000, 100000),
        .static_thr = PICK_OF(0, 1, 2, 4, 8, 32, 65535),
        .each_cqe = true,
        .drain = PICK_OF(CINT_AUTO, CINT_AUTO, CINT_OFF, CINT_ON),
        .max_hold_ns = PICK_OF(0, 0, 0, 1, 600, 6000, 20000),
        .cif_threshold = PICK_OF(2, 2, 3, 4, 5, 65535),
        .iops_threshold = PICK_OF(0, 2000, 20000, 100000000),
        .epoch_ms = PICK_OF(1, 1, 2, 60000),
        .max_skip = PICK_OF(0, 0, 1, 2, 3, 16),
        .vic_scope = PICK_OF(CINT_VIC_SCOPE_CONTROLLER, CINT_VIC_SCOPE_CQ),
        .vic_ratios = PICK_OF(CINT_VIC_RATIOS_FULL, CINT_VIC_RATIOS_FULL,
                              CINT_VIC_RATIOS_COARSE, CINT_VIC_RATIOS_COARSE,
                              CINT_VIC_RATIOS_ADAPTIVE),
        .ack_gate_ns = PICK_OF(0, 0, 0, 1, 600, 6000, 100000),
        .kick_window_ns = PICK_OF(0, 0, 0, 1, 600, 6000, 100000),
        .barrier = PICK_OF(CINT_BARRIER_RELAXED, CINT_BARRIER_STRICT,
                           CINT_BARRIER_GENERATION),
        .ooo = !one_in(4),
        .infer = PICK_OF(CINT_INFER_OFF, CINT_INFER_OFF, CINT_INFER_BATCH,
                         CINT_INFER_ALL, CINT_INFER_LEARN, CINT_INFER_CONTENT,
                         CINT_INFER_BOTH),
        .tune = one_in(3),
        .max_irq_rate = PICK_OF(0, 0, 0, 30000, 170000, 1000000, 7000000,
                                1000000000),
        .ewma_shift = PICK_OF(1, 1, 2, 3, 4, 7, 16),
        .storm = CINT_STORM_HOLD,
    };

    fit_policy(&config);
    g_assert_null(cint_config_conflict(&config));
    return config;
}

void describe_config(GString *text, CintConfig config)
{
    const CintParam *param;
    uint64_t value;

    for (param = cint_params; param->name; param++) {
        value = *cint_config_field(&config, param);
        if (param->values) {
            g_string_append_printf(text, " %s=%s", param->name,
                                   param->values[value]);
        } else {
            g_string_append_printf(text, " %s=%" PRIu64, param->name, value);
        }
    }
}
