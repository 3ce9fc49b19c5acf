/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: registers in BAR0 behind the last doorbell, one dword for each CQ
 * identifier: the interrupt pointer of policy "pointer". As with doorbells,
 * accesses that make no sense are ignored with a trace event.
 */
#include "qemu/osdep.h"

#include "cint.h"
#include "trace.h"

/* The queue whose register lies at @addr, NULL if it has no use for one. */
static NvmeCintCq *cq_at(NvmeCtrl *n, hwaddr addr)
{
    uint32_t cqid = (addr - nvme_cint_regs_offset(n)) / NVME_CINT_REGS_STRIDE;
    NvmeCQueue *cq = n->cq[cqid];

    return cq && cq->cint->coalesce ? cq->cint : NULL;
}

static bool is_dword(hwaddr addr, unsigned size)
{
    return size == NVME_CINT_REGS_STRIDE && addr % NVME_CINT_REGS_STRIDE == 0;
}

static const char *state_name(CintPointerState state)
{
    static const char *const names[] = {
        [CINT_POINTER_OFF]   = "off",
        [CINT_POINTER_ARMED] = "armed",
        [CINT_POINTER_SPENT] = "spent",
    };

    return names[state];
}

/*
 * An index that is the head's would be passed before anything is posted: a
 * guest that asks for none or for a full queue of entries (Jiang, k = 0, N).
 */
static bool is_valid(const NvmeCQueue *cq, uint32_t value)
{
    uint32_t index = value & NVME_CINT_POINTER_INDEX;

    return !(value & ~(NVME_CINT_POINTER_ARM | NVME_CINT_POINTER_INDEX)) &&
           cq->head < cq->size && index < cq->size && index != cq->head;
}

static CintAction arm(NvmeCintCq *c, uint32_t index, int64_t now)
{
    NvmeCQueue *cq = c->cq;
    uint32_t entries = (index + cq->size - cq->head) % cq->size;

    c->pointer_index = index;
    c->stats.pointer_arms++;
    return cint_pointer(&c->engine, now, c->engine.head + entries);
}

static CintAction set_pointer(NvmeCintCq *c, uint32_t value, int64_t now)
{
    if (!(value & NVME_CINT_POINTER_ARM)) {
        return cint_pointer_off(&c->engine, now);
    }
    if (!is_valid(c->cq, value)) {
        c->stats.pointer_rejects++;
        return cint_pointer_off(&c->engine, now);
    }
    return arm(c, value & NVME_CINT_POINTER_INDEX, now);
}

void nvme_cint_write_reg(NvmeCtrl *n, hwaddr addr, uint64_t data,
                         unsigned size)
{
    NvmeCintCq *c = cq_at(n, addr);
    int64_t now = nvme_cint_now();

    if (!is_dword(addr, size) || !c ||
        c->engine.config.policy != NVME_CINT_POLICY_POINTER) {
        trace_pci_nvme_ub_cint_reg(addr, size, data);
        return;
    }
    nvme_cint_catch_up(c, now);
    nvme_cint_act(c, set_pointer(c, data, now), now);
    trace_pci_nvme_cint_pointer(c->cq->cqid, data,
                                state_name(c->engine.pointer.state));
}

uint64_t nvme_cint_read_reg(NvmeCtrl *n, hwaddr addr, unsigned size)
{
    NvmeCintCq *c = cq_at(n, addr);

    if (!is_dword(addr, size) || !c) {
        trace_pci_nvme_ub_cint_reg(addr, size, 0);
        return 0;
    }
    switch (c->engine.pointer.state) {
    case CINT_POINTER_ARMED:
        return NVME_CINT_POINTER_ARM | c->pointer_index;
    case CINT_POINTER_SPENT:
        return NVME_CINT_POINTER_SPENT | c->pointer_index;
    case CINT_POINTER_OFF:
        break;
    }
    return 0;
}
