/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: the properties "cint" and "cint.*" of the nvme device.
 *
 * Two tables say everything about them: cint_params[] of the engine and
 * nvme_cint_device_params[] here. All but cint and cint.time can be changed
 * while the machine runs (qom-set). A change of an engine parameter holds for
 * every existing queue and for later ones; what a guest has set of the others,
 * for one queue or for all, stays.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/units.h"
#include "system/cpu-timers.h"
#include "system/qtest.h"
#include "system/replay.h"

#include "cint-arb.h"
#include "cint-cq.h"
#include "cint-hooks.h"
#include "cint-log.h"
#include "cint-notify.h"
#include "cint-props.h"

static const char *const time_names[] = {
    [NVME_CINT_TIME_AUTO]       = "auto",
    [NVME_CINT_TIME_VIRTUAL]    = "virtual",
    [NVME_CINT_TIME_REAL]       = "real",
    NULL,
};

#define DEVICE_FIELD(f) offsetof(NvmeCintDeviceParams, f)
#define MAX_TIME_NS     (10 * NANOSECONDS_PER_SECOND)

/* Rows that the rest of this file refers to. */
enum {
    ROW_TIME,
    ROW_MEDIA,
    ROW_FIRST_OVERRIDE,     /* from here on: refine a profile */
};

static const CintParam nvme_cint_device_params[] = {
    [ROW_TIME] = {
        .name = "time",
        .type = CINT_PARAM_ENUM,
        .offset = DEVICE_FIELD(time),
        .max = NVME_CINT_TIME_REAL,
        .def = NVME_CINT_TIME_AUTO,
        .values = time_names,
        .help = "virtual: nothing the guest can time runs in real time; "
                "auto: virtual when icount is on",
    },
    [ROW_MEDIA] = {
        .name = "media",
        .type = CINT_PARAM_ENUM,
        .offset = DEVICE_FIELD(media.profile),
        .max = CINT_NR_MEDIA - 1,
        .def = CINT_MEDIA_NONE,
        .values = cint_media_names,
        .help = "media latency profile; none: the backend's own timing",
    },
    [ROW_FIRST_OVERRIDE] = {
        .name = "media.read-latency",
        .type = CINT_PARAM_UINT,
        .offset = DEVICE_FIELD(media.read_latency_ns),
        .max = MAX_TIME_NS,
        .help = "ns a read takes",
    }, {
        .name = "media.write-latency",
        .type = CINT_PARAM_UINT,
        .offset = DEVICE_FIELD(media.write_latency_ns),
        .max = MAX_TIME_NS,
        .help = "ns a write, or any command but a read, takes",
    }, {
        .name = "media.read-per-kib",
        .type = CINT_PARAM_UINT,
        .offset = DEVICE_FIELD(media.read_per_kib_ns),
        .max = NANOSECONDS_PER_SECOND,
        .help = "ns a read takes longer for each KiB",
    }, {
        .name = "media.write-per-kib",
        .type = CINT_PARAM_UINT,
        .offset = DEVICE_FIELD(media.write_per_kib_ns),
        .max = NANOSECONDS_PER_SECOND,
        .help = "ns a write takes longer for each KiB",
    }, {
        .name = "media.units",
        .type = CINT_PARAM_UINT,
        .offset = DEVICE_FIELD(media.units),
        .max = CINT_MEDIA_MAX_UNITS,
        .help = "commands served at a time, 0 = any number",
    }, {
        .name = "media.slots",
        .type = CINT_PARAM_UINT,
        .offset = DEVICE_FIELD(slots),
        .max = 65535,
        .help = "commands fetched at a time, further ones wait in their SQs; "
                "0 = any number",
    }, {
        .name = "media.spread",
        .type = CINT_PARAM_UINT,
        .offset = DEVICE_FIELD(media.spread_ns),
        .max = MAX_TIME_NS,
        .help = "ns all commands fetched at one instant take longer or shorter "
                "at most (uniform)",
    }, {
        .name = "media.jitter",
        .type = CINT_PARAM_UINT,
        .offset = DEVICE_FIELD(media.jitter_ns),
        .max = MAX_TIME_NS,
        .help = "ns a command takes longer or shorter at most (uniform)",
    }, {
        .name = "media.seed",
        .type = CINT_PARAM_UINT,
        .offset = DEVICE_FIELD(media.seed),
        .max = UINT32_MAX,
        .def = 1,
        .help = "seed of spread and jitter",
    }, {
        .name = "media.read-bandwidth",
        .type = CINT_PARAM_UINT,
        .offset = DEVICE_FIELD(media.read_bandwidth),
        .max = TiB,
        .help = "bytes/s all reads share, 0 = no limit",
    }, {
        .name = "media.write-bandwidth",
        .type = CINT_PARAM_UINT,
        .offset = DEVICE_FIELD(media.write_bandwidth),
        .max = TiB,
        .help = "bytes/s all writes share, 0 = no limit",
    },
};

#define NR_DEVICE_PARAMS    ARRAY_SIZE(nvme_cint_device_params)

static bool is_device_param(const CintParam *param)
{
    return param >= nvme_cint_device_params &&
           param < nvme_cint_device_params + NR_DEVICE_PARAMS;
}

static uint64_t *param_field(NvmeCintParams *params, const CintParam *param)
{
    return is_device_param(param) ?
           (uint64_t *)((char *)&params->device + param->offset) :
           cint_config_field(&params->config, param);
}

static void mark_set(NvmeCintParams *params, const CintParam *param)
{
    if (is_device_param(param)) {
        params->device_set |= 1u << (param - nvme_cint_device_params);
    } else {
        params->config_set |= 1u << (param - cint_params);
    }
}

static bool was_set(const NvmeCintParams *params, const CintParam *param)
{
    return is_device_param(param) ?
           params->device_set & (1u << (param - nvme_cint_device_params)) :
           params->config_set & (1u << (param - cint_params));
}

/* Row of the engine's table with the field at @offset of CintConfig. */
static const CintParam *config_param(size_t offset)
{
    const CintParam *param = cint_params;

    while (param->offset != offset) {
        param++;
    }
    return param;
}

static bool parse_enum(const CintParam *param, const char *name,
                       const char *text, uint64_t *value, Error **errp)
{
    ERRP_GUARD();
    g_autofree char *valid = g_strjoinv(", ", (char **)param->values);

    for (*value = 0; param->values[*value]; (*value)++) {
        if (!strcmp(param->values[*value], text)) {
            return true;
        }
    }
    error_setg(errp, "Parameter '%s' does not accept value '%s'; valid values "
               "are %s", name, text, valid);
    return false;
}

static bool visit_input(Visitor *v, const char *name, const CintParam *param,
                        uint64_t *value, Error **errp)
{
    g_autofree char *text = NULL;
    bool flag;

    switch (param->type) {
    case CINT_PARAM_BOOL:
        if (!visit_type_bool(v, name, &flag, errp)) {
            return false;
        }
        *value = flag;
        return true;
    case CINT_PARAM_ENUM:
        return visit_type_str(v, name, &text, errp) &&
               parse_enum(param, name, text, value, errp);
    case CINT_PARAM_UINT:
        break;
    }

    /* The visitor's own message does not know the valid values. */
    if (!visit_type_uint64(v, name, value, NULL) ||
        *value < param->min || *value > param->max) {
        error_setg(errp, "Parameter '%s' expects an integer from %" PRIu64
                   " to %" PRIu64 " (%s)", name, param->min, param->max,
                   param->help);
        return false;
    }
    return true;
}

static void get_param(Object *obj, Visitor *v, const char *name, void *opaque,
                      Error **errp)
{
    const CintParam *param = opaque;
    uint64_t value = *param_field(&NVME(obj)->params.cint, param);
    bool flag = value;
    char *text;

    switch (param->type) {
    case CINT_PARAM_BOOL:
        visit_type_bool(v, name, &flag, errp);
        break;
    case CINT_PARAM_ENUM:
        text = (char *)param->values[value];
        visit_type_str(v, name, &text, errp);
        break;
    case CINT_PARAM_UINT:
        visit_type_uint64(v, name, &value, errp);
        break;
    }
}

/* A new profile replaces what refined the old one. */
static void choose_media(NvmeCintParams *params)
{
    uint32_t overrides = ~0u << ROW_FIRST_OVERRIDE;

    cint_media_profile(&params->device.media);
    params->device_set &= ~overrides;
}

static bool check_overrides(const NvmeCintParams *params, Error **errp)
{
    size_t i;

    if (params->device.media.profile != CINT_MEDIA_NONE) {
        return true;
    }
    for (i = ROW_FIRST_OVERRIDE; i < NR_DEVICE_PARAMS; i++) {
        const CintParam *param = &nvme_cint_device_params[i];

        if (was_set(params, param) && param->offset != DEVICE_FIELD(slots)) {
            error_setg(errp, "cint.%s refines a media profile: it needs "
                       "cint.media to be other than none", param->name);
            return false;
        }
    }
    return true;
}

static bool check_media(const NvmeCintParams *params, Error **errp)
{
    const char *conflict = cint_media_conflict(&params->device.media);

    if (conflict) {
        error_setg(errp, "cint.%s", conflict);
        return false;
    }
    return true;
}

static bool check_config(const NvmeCtrl *n, const CintConfig *config,
                         Error **errp)
{
    const char *conflict = nvme_cint_cq_conflict(n, config);

    if (conflict) {
        error_setg(errp, "cint: %s", conflict);
        return false;
    }
    return true;
}

/* The configuration of queue @cqid; 0 is that of queues created later. */
static CintConfig *config_of(NvmeCtrl *n, uint32_t cqid)
{
    NvmeCintCq *ccq = cqid ? nvme_cint_cq_at(n, cqid) : NULL;

    return cqid ? (ccq ? &ccq->engine.config : NULL) : &n->cint->config;
}

/*
 * What refines one policy and makes no sense under another goes back to its
 * default, so that one step leads from any policy to any other.
 */
static void fit_to_policy(CintConfig *config)
{
    static const size_t refinements[] = {
        offsetof(CintConfig, each_cqe), offsetof(CintConfig, storm),
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(refinements); i++) {
        const CintParam *param = config_param(refinements[i]);

        if (cint_config_conflict(config)) {
            *cint_config_field(config, param) = param->def;
        }
    }
}

static CintConfig with_change(const CintConfig *old, const CintParam *param,
                              uint64_t value)
{
    CintConfig config = *old;

    *cint_config_field(&config, param) = value;
    if (param->offset == offsetof(CintConfig, policy)) {
        fit_to_policy(&config);
    }
    return config;
}

/*
 * Gives @param the value it has in @params for every queue, or for none if
 * that does not go with what one of them has otherwise.
 */
static bool configure(NvmeCtrl *n, const CintParam *param,
                      NvmeCintParams *params, Error **errp)
{
    uint64_t value = *param_field(params, param);
    CintConfig config;
    uint32_t i;

    params->config = with_change(&params->config, param, value);
    if (!check_config(n, &params->config, errp)) {
        return false;
    }
    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        if (config_of(n, i)) {
            config = with_change(config_of(n, i), param, value);
            if (!check_config(n, &config, errp)) {
                return false;
            }
        }
    }
    n->cint->config = with_change(&n->cint->config, param, value);
    for (i = 1; i <= n->params.max_ioqpairs; i++) {
        if (config_of(n, i)) {
            config = with_change(config_of(n, i), param, value);
            nvme_cint_cq_configure(nvme_cint_cq_at(n, i), &config);
        }
    }
    return true;
}

static bool configure_device(NvmeCtrl *n, const CintParam *param,
                             NvmeCintParams *params, Error **errp)
{
    if (param == &nvme_cint_device_params[ROW_TIME]) {
        error_setg(errp, "cint.time is decided at start");
        return false;
    }
    if (param == &nvme_cint_device_params[ROW_MEDIA]) {
        choose_media(params);
    }
    if (!check_overrides(params, errp) || !check_media(params, errp)) {
        return false;
    }
    cint_media_configure(&n->cint->media, &params->device.media);
    nvme_cint_set_slots(n->cint, params->device.slots);
    return true;
}

/* Applies @params, in which @param is new, to the running controller. */
static void apply_running(NvmeCtrl *n, const CintParam *param,
                          NvmeCintParams *params, Error **errp)
{
    bool done;

    if (!n->cint) {
        error_setg(errp, "cint.%s needs cint=on, which is decided at start",
                   param->name);
        return;
    }
    nvme_pause(n);
    nvme_cint_enter(&n->cint->main);
    done = is_device_param(param) ? configure_device(n, param, params, errp)
                                  : configure(n, param, params, errp);
    if (done) {
        /* Before the guest hears of it: it may reset the controller. */
        n->params.cint = *params;
    }
    nvme_cint_leave(&n->cint->main);
    nvme_resume(n);
}

static void set_param(Object *obj, Visitor *v, const char *name, void *opaque,
                      Error **errp)
{
    const CintParam *param = opaque;
    NvmeCtrl *n = NVME(obj);
    NvmeCintParams params = n->params.cint;
    uint64_t value;

    if (!visit_input(v, name, param, &value, errp)) {
        return;
    }
    *param_field(&params, param) = value;
    mark_set(&params, param);
    if (DEVICE(obj)->realized) {
        apply_running(n, param, &params, errp);
    } else {
        n->params.cint = params;
    }
}

static bool get_cint(Object *obj, Error **errp)
{
    return NVME(obj)->params.cint.on;
}

static void set_cint(Object *obj, bool value, Error **errp)
{
    if (DEVICE(obj)->realized) {
        error_setg(errp, "cint is decided at start");
        return;
    }
    NVME(obj)->params.cint.on = value;
}

static bool get_freeze(Object *obj, Error **errp)
{
    return NVME(obj)->params.cint.freeze_records;
}

static void set_freeze(Object *obj, bool value, Error **errp)
{
    /* threads look at it, too */
    qatomic_set(&NVME(obj)->params.cint.freeze_records, value);
}

static void add_param(ObjectClass *oc, const CintParam *param)
{
    static const char *const types[] = {
        [CINT_PARAM_BOOL] = "bool",
        [CINT_PARAM_UINT] = "uint64",
        [CINT_PARAM_ENUM] = "str",
    };
    g_autofree char *name = g_strconcat("cint.", param->name, NULL);
    g_autofree char *values = param->values ?
        g_strjoinv("/", (char **)param->values) : NULL;
    g_autofree char *help = values ?
        g_strdup_printf("%s (%s)", param->help, values) : NULL;

    object_class_property_add(oc, name, types[param->type], get_param,
                              set_param, NULL, (void *)param);
    object_class_property_set_description(oc, name, help ?: param->help);
}

void nvme_cint_class_init(ObjectClass *oc)
{
    const CintParam *param;
    size_t i;

    object_class_property_add_bool(oc, "cint", get_cint, set_cint);
    object_class_property_set_description(oc, "cint",
        "decide when to interrupt: coalesce completions under cint.policy");
    for (param = cint_params; param->name; param++) {
        add_param(oc, param);
    }
    for (i = 0; i < NR_DEVICE_PARAMS; i++) {
        add_param(oc, &nvme_cint_device_params[i]);
    }
    object_class_property_add_bool(oc, "x-cint-freeze-records", get_freeze,
                                   set_freeze);
    object_class_property_set_description(oc, "x-cint-freeze-records",
        "for tests of drivers only: status records are not written any more");
    object_class_property_add(oc, "cint-stats", "NvmeCintStats",
                              nvme_cint_get_stats, NULL, NULL, NULL);
    object_class_property_set_description(oc, "cint-stats",
        "counters of each completion queue (read only)");
    INTERRUPT_STATS_PROVIDER_CLASS(oc)->get_statistics =
        nvme_cint_irq_statistics;
    INTERRUPT_STATS_PROVIDER_CLASS(oc)->print_info = nvme_cint_print_info;
}

void nvme_cint_instance_init(NvmeCtrl *n)
{
    NvmeCintParams *params = &n->params.cint;
    size_t i;

    cint_config_init(&params->config);
    for (i = 0; i < NR_DEVICE_PARAMS; i++) {
        const CintParam *param = &nvme_cint_device_params[i];

        *param_field(params, param) = param->def;
    }
}

static bool check_unused(const NvmeCintParams *params, Error **errp)
{
    const CintParam *param = NULL;

    if (params->config_set) {
        param = &cint_params[ctz32(params->config_set)];
    } else if (params->device_set) {
        param = &nvme_cint_device_params[ctz32(params->device_set)];
    }
    if (param) {
        error_setg(errp, "cint.%s has no effect without cint=on", param->name);
        return false;
    }
    return true;
}

/* The profile gives what the user did not say. */
static void resolve_media(NvmeCintParams *params)
{
    NvmeCintDeviceParams said = params->device;
    const CintParam *delta = config_param(offsetof(CintConfig, delta_ns));
    size_t i;

    cint_media_profile(&params->device.media);
    for (i = ROW_FIRST_OVERRIDE; i < NR_DEVICE_PARAMS; i++) {
        const CintParam *param = &nvme_cint_device_params[i];

        if (was_set(params, param)) {
            *param_field(params, param) =
                *(uint64_t *)((char *)&said + param->offset);
        }
    }
    /* cinterrupts 5.2: 99 % of this drive's completions come within 15 us. */
    if (params->device.media.profile == CINT_MEDIA_P3700 &&
        !was_set(params, delta)) {
        params->config.delta_ns = 15000;
    }
}

bool nvme_cint_wants_virtual_time(const NvmeCtrl *n)
{
    uint64_t time = n->params.cint.device.time;

    return time == NVME_CINT_TIME_VIRTUAL ||
           (time == NVME_CINT_TIME_AUTO && icount_enabled());
}

/*
 * A virtual clock that moves with the instructions of the vCPUs can wait for
 * data; any other would stop the whole machine for as long as that takes.
 */
static bool check_time(const NvmeCtrl *n, Error **errp)
{
    if (!nvme_cint_wants_virtual_time(n)) {
        return true;
    }
    if (!icount_enabled() && !qtest_enabled()) {
        error_setg(errp, "cint.time=virtual needs -icount; without it use "
                   "cint.time=real");
        return false;
    }
    if (replay_mode != REPLAY_MODE_NONE) {
        error_setg(errp, "cint.time=virtual does not work with record/replay; "
                   "use cint.time=real");
        return false;
    }
    if (nvme_wants_threads(&n->params)) {
        error_setg(errp, "cint.time=virtual is not supported with iothread: "
                   "virtual time is exact in one thread only");
        return false;
    }
    if (n->params.ioeventfd) {
        error_setg(errp, "cint.time=virtual needs ioeventfd=off: event "
                   "notifiers run in real time");
        return false;
    }
    return true;
}

bool nvme_cint_check_params(NvmeCtrl *n, Error **errp)
{
    NvmeCintParams *params = &n->params.cint;

    if (!params->on) {
        return check_unused(params, errp);
    }
    if (n->params.sriov_max_vfs) {
        error_setg(errp, "cint=on does not support sriov_max_vfs");
        return false;
    }
    if (n->params.max_ioqpairs >= NVME_CINT_ALL_CQS) {
        error_setg(errp, "cint=on supports max_ioqpairs of 1 to %d, as "
                   "identifier FFFFh stands for all queues",
                   NVME_CINT_ALL_CQS - 1);
        return false;
    }
    if (!check_overrides(params, errp) || !check_time(n, errp) ||
        !check_config(n, &params->config, errp)) {
        return false;
    }
    if (!params->config.static_time_ns != !params->config.static_thr) {
        error_setg(errp, "cint.static-time and cint.static-thr go together: "
                   "with one of them 0 nothing is coalesced");
        return false;
    }
    resolve_media(params);
    return check_media(params, errp);
}

/* ---- Elsewhere ---- */

static uint32_t nr_config_params(void)
{
    uint32_t n = 0;

    while (cint_params[n].name) {
        n++;
    }
    return n;
}

static const CintParam *numbered_param(uint32_t i)
{
    uint32_t n = nr_config_params();

    return i < n ? &cint_params[i] : &nvme_cint_device_params[i - n];
}

uint32_t nvme_cint_nr_props(void)
{
    return nr_config_params() + NR_DEVICE_PARAMS;
}

/* What "auto" comes to is what counts. */
uint64_t nvme_cint_prop(NvmeCtrl *n, uint32_t i)
{
    const CintParam *param = numbered_param(i);

    if (param == &nvme_cint_device_params[ROW_TIME]) {
        return nvme_cint_wants_virtual_time(n) ? NVME_CINT_TIME_VIRTUAL
                                               : NVME_CINT_TIME_REAL;
    }
    return *param_field(&n->params.cint, param);
}

static char *value_as_text(const CintParam *param, uint64_t value)
{
    if (param->values && value <= param->max) {
        return g_strdup(param->values[value]);
    }
    if (param->type == CINT_PARAM_BOOL && value <= 1) {
        return g_strdup(value ? "on" : "off");
    }
    return g_strdup_printf("%" PRIu64, value);
}

bool nvme_cint_prop_is(NvmeCtrl *n, uint32_t i, uint64_t value, Error **errp)
{
    const CintParam *param = numbered_param(i);
    g_autofree char *here = value_as_text(param, nvme_cint_prop(n, i));
    g_autofree char *there = value_as_text(param, value);

    if (nvme_cint_prop(n, i) != value) {
        error_setg(errp, "cint.%s is %s here and %s where the machine comes "
                   "from", param->name, here, there);
        return false;
    }
    return true;
}
