/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The parameter table: complete, consistent, and the only place a parameter
 * is described.
 */
#include <glib.h>

#include "coalesce.h"

#define NR_FIELDS   (sizeof(CintConfig) / sizeof(uint64_t))

static unsigned count_values(const CintParam *param)
{
    unsigned n = 0;

    while (param->values[n]) {
        n++;
    }
    return n;
}

static const CintParam *find(const char *name)
{
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        if (!strcmp(param->name, name)) {
            return param;
        }
    }
    g_error("no parameter is named %s", name);
}

static void test_every_field_once(void)
{
    unsigned rows[NR_FIELDS] = { 0 };
    const CintParam *param;
    unsigned i;

    for (param = cint_params; param->name; param++) {
        g_test_message("%s", param->name);
        g_assert_cmpuint(param->offset % sizeof(uint64_t), ==, 0);
        g_assert_cmpuint(param->offset, <, sizeof(CintConfig));
        rows[param->offset / sizeof(uint64_t)]++;
    }
    for (i = 0; i < NR_FIELDS; i++) {
        g_test_message("field %u of CintConfig", i);
        g_assert_cmpuint(rows[i], ==, 1);
    }
}

static void test_names_unique(void)
{
    const CintParam *a, *b;

    for (a = cint_params; a->name; a++) {
        for (b = a + 1; b->name; b++) {
            g_assert_cmpstr(a->name, !=, b->name);
        }
    }
}

/* Names are typed as "cint.NAME=" and become part of QOM property names. */
static void test_names_typeable(void)
{
    const CintParam *param;
    const char *c;

    for (param = cint_params; param->name; param++) {
        g_assert_true(g_ascii_islower(param->name[0]));
        for (c = param->name; *c; c++) {
            g_assert_true(g_ascii_islower(*c) || g_ascii_isdigit(*c) ||
                          *c == '-');
        }
    }
}

static void test_help(void)
{
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        g_test_message("%s", param->name);
        g_assert_nonnull(param->help);
        g_assert_cmpuint(strlen(param->help), >, 0);
        /* One line, which the caller ends. */
        g_assert_null(strpbrk(param->help, "\n\r\t"));
        g_assert_false(g_str_has_suffix(param->help, "."));
    }
}

static void test_defaults_in_range(void)
{
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        g_test_message("%s", param->name);
        g_assert_cmpuint(param->min, <=, param->max);
        g_assert_cmpuint(param->def, >=, param->min);
        g_assert_cmpuint(param->def, <=, param->max);
    }
}

static void test_types(void)
{
    const CintParam *param;

    for (param = cint_params; param->name; param++) {
        g_test_message("%s", param->name);
        switch (param->type) {
        case CINT_PARAM_BOOL:
            g_assert_cmpuint(param->min, ==, 0);
            g_assert_cmpuint(param->max, ==, 1);
            g_assert_null(param->values);
            break;
        case CINT_PARAM_UINT:
            g_assert_null(param->values);
            break;
        case CINT_PARAM_ENUM:
            g_assert_nonnull(param->values);
            g_assert_cmpuint(count_values(param), ==, param->max + 1);
            break;
        default:
            g_assert_not_reached();
        }
    }
}

static void test_config_init(void)
{
    const CintParam *param;
    CintConfig config;

    memset(&config, 0xff, sizeof(config));
    cint_config_init(&config);
    for (param = cint_params; param->name; param++) {
        g_assert_cmpuint(*cint_config_field(&config, param), ==, param->def);
    }
}

static void test_config_field(void)
{
    CintConfig config = { .delta_ns = 1, .max_hold_ns = 2 };

    g_assert_true(cint_config_field(&config, find("delta")) ==
                  &config.delta_ns);
    g_assert_cmpuint(*cint_config_field(&config, find("max-hold")), ==, 2);
    *cint_config_field(&config, find("static-thr")) = 7;
    g_assert_cmpuint(config.static_thr, ==, 7);
}

/* The values that users and documents rely on. */
static void test_default_values(void)
{
    CintConfig config;

    cint_config_init(&config);
    g_assert_cmpuint(config.delta_ns, ==, 6000);
    g_assert_cmpuint(config.thr, ==, 32);
    g_assert_cmpuint(config.static_time_ns, ==, 0);
    g_assert_cmpuint(config.static_thr, ==, 0);
    g_assert_cmpuint(config.each_cqe, ==, 1);
    g_assert_cmpuint(config.drain, ==, CINT_AUTO);
    g_assert_cmpuint(config.max_hold_ns, ==, 10 * 1000 * 1000);
    g_assert_cmpuint(config.cif_threshold, ==, 4);
    g_assert_cmpuint(config.iops_threshold, ==, 2000);
    g_assert_cmpuint(config.epoch_ms, ==, 200);
    g_assert_cmpuint(config.max_skip, ==, 0);
    g_assert_cmpuint(config.vic_scope, ==, CINT_VIC_SCOPE_CONTROLLER);
    g_assert_cmpuint(config.vic_ratios, ==, CINT_VIC_RATIOS_FULL);
    g_assert_cmpuint(config.kick_window_ns, ==, 0);
}

static void test_policy_names(void)
{
    g_assert_cmpstr(cint_policy_names[NVME_CINT_POLICY_DEFAULT], ==,
                    "default");
    g_assert_cmpstr(cint_policy_names[NVME_CINT_POLICY_STATIC], ==, "static");
    g_assert_cmpstr(cint_policy_names[NVME_CINT_POLICY_ADAPTIVE], ==,
                    "adaptive");
    g_assert_cmpstr(cint_policy_names[NVME_CINT_POLICY_VIC], ==, "vic");
    g_assert_cmpuint(count_values(find("policy")), ==, CINT_NR_POLICIES);
    g_assert_true(find("policy")->values == cint_policy_names);
}

static const char *value_name(const char *param, uint64_t value)
{
    g_assert_cmpuint(value, <, count_values(find(param)));
    return find(param)->values[value];
}

/* The list's order is that of the enumerations. */
static void test_value_names(void)
{
    const char *const *scope = find("vic-scope")->values;
    const char *const *ratios = find("vic-ratios")->values;

    g_assert_cmpstr(scope[CINT_VIC_SCOPE_CONTROLLER], ==, "controller");
    g_assert_cmpstr(scope[CINT_VIC_SCOPE_CQ], ==, "cq");
    g_assert_cmpstr(ratios[CINT_VIC_RATIOS_FULL], ==, "full");
    g_assert_cmpstr(ratios[CINT_VIC_RATIOS_COARSE], ==, "coarse");
    g_assert_cmpstr(ratios[CINT_VIC_RATIOS_ADAPTIVE], ==, "adaptive");
    g_assert_cmpstr(value_name("barrier", CINT_BARRIER_RELAXED), ==, "relaxed");
    g_assert_cmpstr(value_name("barrier", CINT_BARRIER_STRICT), ==, "strict");
    g_assert_cmpstr(value_name("barrier", CINT_BARRIER_GENERATION), ==,
                    "generation");
    g_assert_cmpstr(value_name("infer", CINT_INFER_OFF), ==, "off");
    g_assert_cmpstr(value_name("infer", CINT_INFER_BATCH), ==, "batch");
    g_assert_cmpstr(value_name("infer", CINT_INFER_ALL), ==, "all");
    g_assert_cmpstr(value_name("drain", CINT_AUTO), ==, "auto");
    g_assert_cmpstr(value_name("drain", CINT_ON), ==, "on");
    g_assert_cmpstr(value_name("drain", CINT_OFF), ==, "off");
    g_assert_cmpstr(value_name("storm", CINT_STORM_HOLD), ==, "hold");
    g_assert_cmpstr(value_name("storm", CINT_STORM_RETUNE), ==, "retune");
}

/* max-hold=10s and delta=1s on a late clock must not overflow. */
static void test_ranges_fit_time(void)
{
    const int64_t century_ns = 100ll * 366 * 86400 * 1000000000;

    g_assert_cmpint(century_ns, <, INT64_MAX - find("delta")->max);
    g_assert_cmpint(century_ns, <, INT64_MAX - find("static-time")->max);
    g_assert_cmpint(century_ns, <, INT64_MAX - find("max-hold")->max);
    g_assert_cmpint(century_ns, <, INT64_MAX - find("kick-window")->max);
}

/* Below 2 a queue depth of 1 might be skipped, and hang. */
static void test_range_cif_threshold(void)
{
    g_assert_cmpuint(find("cif-threshold")->min, ==, 2);
    g_assert_cmpuint(find("epoch")->min, >=, 1);
}

/* NVMe's THR register is one byte and 0's based: up to 256 entries. */
static void test_ranges_fit_registers(void)
{
    g_assert_cmpuint(find("static-thr")->max, >=, 256);
    g_assert_cmpuint(find("static-time")->max, >=, 255 * 100000);
}

static void test_reason_names(void)
{
    unsigned i, j;
    const char *name;

    for (i = NVME_CINT_REASON_NONE; i <= NVME_CINT_REASON_ADMIN; i++) {
        name = cint_reason_name(i);
        g_assert_cmpstr(name, !=, "unknown");
        for (j = 0; j < i; j++) {
            g_assert_cmpstr(name, !=, cint_reason_name(j));
        }
    }
    g_assert_cmpstr(cint_reason_name(NVME_CINT_REASON_ADMIN + 1), ==,
                    "unknown");
    g_assert_cmpstr(cint_reason_name(NVME_CINT_NR_REASONS), ==, "unknown");
    g_assert_cmpstr(cint_reason_name(-1), ==, "unknown");
}

static CintConfig config_of(CintPolicy policy)
{
    CintConfig config;

    cint_config_init(&config);
    config.policy = policy;
    return config;
}

static void test_no_conflict(void)
{
    CintConfig config;
    unsigned policy;

    for (policy = 0; policy < CINT_NR_POLICIES; policy++) {
        config = config_of(policy);
        g_assert_null(cint_config_conflict(&config));
    }
    config = config_of(NVME_CINT_POLICY_DEFAULT);
    config.static_time_ns = 100000;
    config.static_thr = 4;
    g_assert_null(cint_config_conflict(&config));
    config = config_of(NVME_CINT_POLICY_DEFAULT);
    config.each_cqe = false;
    g_assert_null(cint_config_conflict(&config));
}

static void assert_names(const char *sentence, const char *a, const char *b)
{
    g_assert_nonnull(sentence);
    g_assert_nonnull(strstr(sentence, a));
    g_assert_nonnull(strstr(sentence, b));
}

/* A guest may set TIME or THR alone through feature 08h; it means off. */
static void test_half_static(void)
{
    CintConfig config = config_of(NVME_CINT_POLICY_DEFAULT);

    config.static_time_ns = 100000;
    g_assert_null(cint_config_conflict(&config));
    config.static_time_ns = 0;
    config.static_thr = 4;
    g_assert_null(cint_config_conflict(&config));
}

static void test_conflict_each_cqe(void)
{
    CintConfig config = config_of(NVME_CINT_POLICY_ADAPTIVE);

    config.each_cqe = false;
    assert_names(cint_config_conflict(&config), "each-cqe", "policy");
    config.policy = NVME_CINT_POLICY_STATIC;
    assert_names(cint_config_conflict(&config), "each-cqe", "policy");
}

/* vic has no timer: a stalled device would strand what was skipped. */
static void test_conflict_vic_max_hold(void)
{
    CintConfig config = config_of(NVME_CINT_POLICY_VIC);

    config.max_hold_ns = 0;
    assert_names(cint_config_conflict(&config), "max-hold", "vic");
    config.max_hold_ns = 1;
    g_assert_null(cint_config_conflict(&config));
    config = config_of(NVME_CINT_POLICY_ADAPTIVE);
    config.max_hold_ns = 0;
    g_assert_null(cint_config_conflict(&config));
}

/* Nobody counts a controller's commands where it has several scopes. */
static void test_conflict_scopes(void)
{
    unsigned policy;

    for (policy = 0; policy < CINT_NR_POLICIES; policy++) {
        CintConfig config = config_of(policy);

        config.vic_scope = CINT_VIC_SCOPE_CQ;
        g_assert_null(cint_config_scopes_conflict(&config));
        config.vic_scope = CINT_VIC_SCOPE_CONTROLLER;
        if (policy == NVME_CINT_POLICY_VIC) {
            assert_names(cint_config_scopes_conflict(&config), "vic-scope",
                         "cq");
        } else {
            g_assert_null(cint_config_scopes_conflict(&config));
        }
    }
}

/* Urgent completions out of order, and nothing that releases the others. */
static void test_conflict_starved(void)
{
    static const struct {
        size_t field;
        uint64_t value;
    } ways_out[] = {
        { offsetof(CintConfig, ooo), false },
        { offsetof(CintConfig, thr), CINT_ENDLESS_THR - 1 },
        { offsetof(CintConfig, delta_ns), CINT_ENDLESS_DELTA_NS - 1 },
        { offsetof(CintConfig, max_hold_ns), 1 },
        { offsetof(CintConfig, policy), NVME_CINT_POLICY_ADAPTIVE },
    };
    CintConfig config = config_of(NVME_CINT_POLICY_AUTO);
    unsigned i;

    config.thr = CINT_ENDLESS_THR;
    config.delta_ns = CINT_ENDLESS_DELTA_NS;
    config.max_hold_ns = 0;
    assert_names(cint_config_conflict(&config), "ooo=on", "max-hold=0");
    config.policy = NVME_CINT_POLICY_CINT;
    assert_names(cint_config_conflict(&config), "ooo=on", "max-hold=0");
    assert_names(cint_config_conflict(&config), "thr", "delta");
    for (i = 0; i < sizeof(ways_out) / sizeof(ways_out[0]); i++) {
        CintConfig changed = config;

        *(uint64_t *)((char *)&changed + ways_out[i].field) =
            ways_out[i].value;
        g_assert_null(cint_config_conflict(&changed));
    }
}

/* What the log page says of the threshold: the one that the policy has. */
static void test_thr_of_policy(void)
{
    CintConfig config = config_of(NVME_CINT_POLICY_DEFAULT);
    unsigned policy;

    config.thr = 7;
    config.static_thr = 9;
    config.max_hold_ns = 10000000;
    for (policy = 0; policy < CINT_NR_POLICIES; policy++) {
        bool by_itself = policy == NVME_CINT_POLICY_DEFAULT ||
                         policy == NVME_CINT_POLICY_STATIC;
        CintScope scope;
        CintCq cq;

        config.policy = policy;
        cint_scope_init(&scope);
        cint_cq_init(&cq, &scope, 64, &config);
        g_test_message("%s", cint_policy_names[policy]);
        g_assert_cmpuint(cq.thr, ==, by_itself ? 9 : 7);
    }
}

/* Each parameter just inside and just outside both ends of its range. */
static void test_in_range(void)
{
    const CintParam *param;
    CintConfig config;
    uint64_t *value;

    cint_config_init(&config);
    g_assert_true(cint_config_in_range(&config));
    for (param = cint_params; param->name; param++) {
        g_test_message("%s", param->name);
        cint_config_init(&config);
        value = cint_config_field(&config, param);
        *value = param->max;
        g_assert_true(cint_config_in_range(&config));
        *value = param->max + 1;
        g_assert_false(cint_config_in_range(&config));
        *value = param->min;
        g_assert_true(cint_config_in_range(&config));
        *value = param->min - 1;
        g_assert_false(cint_config_in_range(&config));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/params/table/has-each-field-once",
                    test_every_field_once);
    g_test_add_func("/params/table/has-unique-names", test_names_unique);
    g_test_add_func("/params/table/has-typeable-names", test_names_typeable);
    g_test_add_func("/params/table/has-one-line-of-help", test_help);
    g_test_add_func("/params/table/has-defaults-in-range",
                    test_defaults_in_range);
    g_test_add_func("/params/table/has-consistent-types", test_types);
    g_test_add_func("/params/table/ranges-fit-in-int64", test_ranges_fit_time);
    g_test_add_func("/params/table/ranges-fit-nvme-registers",
                    test_ranges_fit_registers);
    g_test_add_func("/params/table/cif-threshold-is-at-least-2",
                    test_range_cif_threshold);
    g_test_add_func("/params/config/init-sets-every-default",
                    test_config_init);
    g_test_add_func("/params/config/field-finds-the-field",
                    test_config_field);
    g_test_add_func("/params/config/defaults-are-as-documented",
                    test_default_values);
    g_test_add_func("/params/config/in-range-knows-both-ends", test_in_range);
    g_test_add_func("/params/names/policies", test_policy_names);
    g_test_add_func("/params/names/values", test_value_names);
    g_test_add_func("/params/names/reasons", test_reason_names);
    g_test_add_func("/params/thr-of-a-policy", test_thr_of_policy);
    g_test_add_func("/params/conflict/none-by-default", test_no_conflict);
    g_test_add_func("/params/conflict/none-in-half-a-static-setting",
                    test_half_static);
    g_test_add_func("/params/conflict/each-cqe-off-elsewhere",
                    test_conflict_each_cqe);
    g_test_add_func("/params/conflict/urgent-starves-the-others",
                    test_conflict_starved);
    g_test_add_func("/params/conflict/max-hold-0-under-vic",
                    test_conflict_vic_max_hold);
    g_test_add_func("/params/conflict/scopes", test_conflict_scopes);
    return g_test_run();
}
