/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: NVMe features. 01h, 08h and 09h as the NVMe base specification has
 * them, D0h, the whole configuration of a completion queue, and D1h, whose
 * status records are cint-status.c's.
 *
 * 08h and D0h change what a later qom-set starts from only until the next
 * controller reset, which restores the properties.
 */
#include "qemu/osdep.h"
#include "hw/pci/msix.h"

#include "cint-arb.h"
#include "cint-cq.h"
#include "cint-hooks.h"
#include "cint-status.h"
#include "trace.h"

#define STATIC_UNIT_NS  100000      /* of 08h's aggregation time */

#define INVALID         (NVME_INVALID_FIELD | NVME_DNR)

/* The I/O completion queue that CDW11 names, NULL if there is none. */
static NvmeCintCq *named_cq(NvmeCtrl *n, uint32_t dw11)
{
    return dw11 && dw11 <= n->params.max_ioqpairs ? nvme_cint_cq_at(n, dw11)
                                                  : NULL;
}

/* Feature 08h. A register of 0 in either field means no aggregation. */
static uint32_t get_coalescing(const CintConfig *config)
{
    uint64_t time = DIV_ROUND_UP(config->static_time_ns, STATIC_UNIT_NS);
    uint64_t thr = config->static_thr ? config->static_thr - 1 : 0;

    return MIN(time, 255) << 8 | MIN(thr, 255);
}

static void set_aggregation(CintConfig *config, uint32_t value)
{
    uint8_t thr = NVME_INTC_THR(value);

    config->static_time_ns = NVME_INTC_TIME(value) * STATIC_UNIT_NS;
    config->static_thr = thr ? thr + 1 : 0;
}

/* What D0h has set otherwise, for one queue or for all, stays as it is. */
static uint16_t set_coalescing(NvmeCtrl *n, uint32_t value)
{
    NvmeCintCq *ccq;
    uint32_t i;

    if (value >> 16) {
        return INVALID;
    }
    set_aggregation(&n->cint->config, value);
    for (i = 1; i <= n->params.max_ioqpairs; i++) {
        ccq = named_cq(n, i);
        if (ccq) {
            CintConfig config = ccq->engine.config;

            set_aggregation(&config, value);
            nvme_cint_cq_configure(ccq, &config);
        }
    }
    return NVME_SUCCESS;
}

/* Feature 01h. */
static uint16_t set_arbitration(NvmeCtrl *n, uint32_t value)
{
    if (value & 0xf8) {
        return INVALID;
    }
    nvme_cint_set_arbitration(n->cint, value);
    return NVME_SUCCESS;
}

/* Feature 09h. */
static bool is_usable_vector(NvmeCtrl *n, uint16_t vector)
{
    return msix_enabled(PCI_DEVICE(n)) ? vector < n->conf_msix_qsize
                                       : vector == 0;
}

/* Nothing of the admin queue's vector is coalesced while none shares it. */
static bool is_admin_only(NvmeCtrl *n, uint16_t vector)
{
    uint32_t i;

    for (i = 1; i <= n->params.max_ioqpairs; i++) {
        if (named_cq(n, i) && n->cq[i]->vector == vector) {
            return false;
        }
    }
    return vector == n->admin_cq.vector;
}

static uint16_t get_vector_config(NvmeCtrl *n, uint32_t dw11,
                                  const unsigned long *cd, uint32_t *result)
{
    uint16_t vector = dw11;

    if (!is_usable_vector(n, vector)) {
        return INVALID;
    }
    *result = vector;
    if (is_admin_only(n, vector) || (cd && test_bit(vector, cd))) {
        *result |= NVME_INTVC_NOCOALESCING;
    }
    return NVME_SUCCESS;
}

static void disable_vector(NvmeCtrl *n, uint16_t vector, bool disabled)
{
    uint32_t i;

    if (disabled == !!test_bit(vector, n->cint->cd)) {
        return;
    }
    change_bit(vector, n->cint->cd);
    for (i = 1; i <= n->params.max_ioqpairs; i++) {
        NvmeCintCq *ccq = named_cq(n, i);

        if (ccq && ccq->cq->vector == vector) {
            nvme_cint_cq_disable(ccq, disabled);
        }
    }
}

static uint16_t set_vector_config(NvmeCtrl *n, uint32_t value)
{
    uint16_t vector = value;

    if (value & ~(0xffffu | NVME_INTVC_NOCOALESCING) ||
        !is_usable_vector(n, vector)) {
        return INVALID;
    }
    disable_vector(n, vector, value & NVME_INTVC_NOCOALESCING);
    return NVME_SUCCESS;
}

/*
 * Feature D0h. Where it has a parameter says param-list.h: FIELD, NONE, or a
 * flag. What it does not have keeps its default.
 */
#define STORE_FIELD(config, f, field) \
    stn_le_p(&(f)->field, sizeof((f)->field), (config)->field)
#define STORE_FLAG(config, f, field, flag) \
    ((f)->flags |= (config)->field ? (flag) : 0)
#define STORE_OOO(config, f, field) \
    STORE_FLAG(config, f, field, NVME_CINT_FLAG_OOO)
#define STORE_STORM_RETUNE(config, f, field) \
    STORE_FLAG(config, f, field, NVME_CINT_FLAG_STORM_RETUNE)
#define STORE_NONE(config, f, field) ((void)0)

#define LOAD_FIELD(f, field, def)   ldn_le_p(&(f)->field, sizeof((f)->field))
#define LOAD_OOO(f, field, def)     (!!((f)->flags & NVME_CINT_FLAG_OOO))
#define LOAD_STORM_RETUNE(f, field, def) \
    (!!((f)->flags & NVME_CINT_FLAG_STORM_RETUNE))
#define LOAD_NONE(f, field, def)    (def)

static void config_to_feature(const CintConfig *config, NvmeCintFeature *f)
{
    *f = (NvmeCintFeature) {
        .version = cpu_to_le16(NVME_CINT_VERSION),
        .policy = config->policy,
    };
#define PARAM(name, field, type, min, max, def, unit, feature, values, help) \
    STORE_##feature(config, f, field)
#include "coalesce/param-list.h"
#undef PARAM
    (void)0;
}

static void feature_to_config(const NvmeCintFeature *f, CintConfig *config)
{
    *config = (CintConfig) {
        .policy = f->policy,
#define PARAM(name, field, type, min, max, def, unit, feature, values, help) \
        .field = LOAD_##feature(f, field, def)
#include "coalesce/param-list.h"
#undef PARAM
    };
}

/*
 * Accepts exactly what Get Features could answer: whatever the round trip
 * through the engine's configuration loses is something it does not have.
 * Returns NULL, or why not.
 */
static const char *decode_feature(const NvmeCtrl *n, const NvmeCintFeature *f,
                                  CintConfig *config)
{
    NvmeCintFeature again;

    feature_to_config(f, config);
    config_to_feature(config, &again);
    if (memcmp(f, &again, sizeof(again)) || !cint_config_in_range(config)) {
        return "a field has no valid value";
    }
    return nvme_cint_cq_conflict(n, config);
}

static uint16_t get_config(NvmeCtrl *n, uint32_t dw11, bool current,
                           NvmeRequest *req)
{
    const CintConfig *config = current ? &n->cint->config
                                       : &n->params.cint.config;
    NvmeCintFeature f;

    QEMU_BUILD_BUG_ON(sizeof(NvmeCintFeature) != 64);

    if (dw11 != NVME_CINT_ALL_CQS) {
        if (!named_cq(n, dw11)) {
            return INVALID;
        }
        config = current ? &named_cq(n, dw11)->engine.config : config;
    }
    config_to_feature(config, &f);
    return nvme_c2h(n, &f, sizeof(f), req);
}

static void configure_all(NvmeCtrl *n, const CintConfig *config)
{
    uint32_t i;

    n->cint->config = *config;
    for (i = 1; i <= n->params.max_ioqpairs; i++) {
        if (named_cq(n, i)) {
            nvme_cint_cq_configure(named_cq(n, i), config);
        }
    }
}

static uint16_t set_config(NvmeCtrl *n, uint32_t dw11, NvmeRequest *req)
{
    NvmeCintCq *ccq = named_cq(n, dw11);
    NvmeCintFeature f;
    CintConfig config;
    const char *why;
    uint16_t status;

    if (dw11 != NVME_CINT_ALL_CQS && !ccq) {
        return INVALID;
    }
    status = nvme_h2c(n, &f, sizeof(f), req);
    if (status) {
        return status;
    }
    why = decode_feature(n, &f, &config);
    if (why) {
        trace_pci_nvme_ub_cint_config(dw11, f.policy, why);
        return INVALID;
    }
    if (dw11 == NVME_CINT_ALL_CQS) {
        configure_all(n, &config);
    } else {
        nvme_cint_cq_configure(ccq, &config);
    }
    return NVME_SUCCESS;
}

static uint16_t check_nsid(NvmeCtrl *n, const NvmeRequest *req)
{
    uint32_t nsid = le32_to_cpu(req->cmd.nsid);

    if (!nsid || nsid == NVME_NSID_BROADCAST) {
        return NVME_SUCCESS;
    }
    return nsid > NVME_MAX_NAMESPACES ? NVME_INVALID_NSID | NVME_DNR
                                      : NVME_FEAT_NOT_NS_SPEC | NVME_DNR;
}

bool nvme_cint_do_has_feature(uint8_t fid)
{
    return fid == NVME_ARBITRATION || fid == NVME_INTERRUPT_COALESCING ||
           fid == NVME_INTERRUPT_VECTOR_CONF || fid == NVME_CINT_FID_CONFIG ||
           fid == NVME_CINT_FID_STATUS;
}

uint16_t nvme_cint_get_feature(NvmeCtrl *n, NvmeRequest *req)
{
    uint32_t dw10 = le32_to_cpu(req->cmd.cdw10);
    uint32_t dw11 = le32_to_cpu(req->cmd.cdw11);
    NvmeGetFeatureSelect sel = NVME_GETFEAT_SELECT(dw10);
    bool current = sel == NVME_GETFEAT_SELECT_CURRENT;
    const CintConfig *config = current ? &n->cint->config
                                       : &n->params.cint.config;
    uint32_t result = 0;
    uint16_t status = NVME_SUCCESS;

    if (sel > NVME_GETFEAT_SELECT_CAP) {
        return INVALID;
    }
    if (sel == NVME_GETFEAT_SELECT_CAP) {
        req->cqe.result = cpu_to_le32(NVME_FEAT_CAP_CHANGE);
        return NVME_SUCCESS;
    }

    switch (NVME_GETSETFEAT_FID(dw10)) {
    case NVME_ARBITRATION:
        result = current ? n->cint->arbitration : NVME_ARB_AB_NOLIMIT;
        break;
    case NVME_INTERRUPT_COALESCING:
        result = get_coalescing(config);
        break;
    case NVME_INTERRUPT_VECTOR_CONF:
        status = get_vector_config(n, dw11, current ? n->cint->cd : NULL,
                                   &result);
        break;
    case NVME_CINT_FID_CONFIG:
        return get_config(n, dw11, current, req);
    case NVME_CINT_FID_STATUS:
        return nvme_cint_get_status(n, current, req);
    }
    req->cqe.result = cpu_to_le32(result);
    return status;
}

uint16_t nvme_cint_set_feature(NvmeCtrl *n, NvmeRequest *req)
{
    uint32_t dw10 = le32_to_cpu(req->cmd.cdw10);
    uint32_t dw11 = le32_to_cpu(req->cmd.cdw11);
    uint16_t status = check_nsid(n, req);

    if (NVME_SETFEAT_SAVE(dw10)) {
        return NVME_FID_NOT_SAVEABLE | NVME_DNR;
    }
    if (status) {
        return status;
    }

    switch (NVME_GETSETFEAT_FID(dw10)) {
    case NVME_ARBITRATION:
        return set_arbitration(n, dw11);
    case NVME_INTERRUPT_COALESCING:
        return set_coalescing(n, dw11);
    case NVME_INTERRUPT_VECTOR_CONF:
        return set_vector_config(n, dw11);
    case NVME_CINT_FID_CONFIG:
        return set_config(n, dw11, req);
    case NVME_CINT_FID_STATUS:
        return nvme_cint_set_status(n, req);
    }
    g_assert_not_reached();
}
