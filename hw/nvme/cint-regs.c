/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: registers in BAR0 behind the last doorbell, one dword for each CQ
 * identifier: the interrupt pointer of policy "pointer". As with doorbells,
 * accesses that make no sense are ignored with a trace event.
 */
#include "qemu/osdep.h"

#include "cint-cq.h"
#include "cint-hooks.h"
#include "cint-notify.h"
#include "cint-regs.h"
#include "trace.h"

#define DB_PAIR_SIZE    8       /* CAP.DSTRD is 0 */

hwaddr nvme_cint_regs_offset(const NvmeCtrl *n)
{
    return sizeof(NvmeBar) + (n->params.max_ioqpairs + 1) * DB_PAIR_SIZE;
}

uint64_t nvme_cint_regs_size(const NvmeCtrl *n, unsigned queues)
{
    return n->params.cint.on ? queues * NVME_CINT_REGS_STRIDE : 0;
}

bool nvme_cint_do_is_reg(NvmeCtrl *n, hwaddr addr)
{
    hwaddr first = nvme_cint_regs_offset(n);

    return addr >= first &&
           addr - first < nvme_cint_regs_size(n, n->params.max_ioqpairs + 1);
}

/* The queue whose register lies at @addr, NULL if it has no use for one. */
static NvmeCintCq *cq_at(NvmeCtrl *n, hwaddr addr)
{
    uint32_t cqid = (addr - nvme_cint_regs_offset(n)) / NVME_CINT_REGS_STRIDE;
    NvmeCintCq *ccq = nvme_cint_cq_at(n, cqid);

    return ccq && ccq->coalesce ? ccq : NULL;
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

static CintAction arm(NvmeCintCq *ccq, uint32_t index, int64_t now)
{
    NvmeCQueue *cq = ccq->cq;
    uint32_t entries = (index + cq->size - cq->head) % cq->size;

    ccq->pointer_index = index;
    ccq->stats.log.pointer_arms++;
    return cint_pointer(&ccq->engine, now, ccq->engine.head + entries);
}

static CintAction set_pointer(NvmeCintCq *ccq, uint32_t value, int64_t now)
{
    if (!(value & NVME_CINT_POINTER_ARM)) {
        return cint_pointer_off(&ccq->engine, now);
    }
    if (!is_valid(ccq->cq, value)) {
        ccq->stats.log.pointer_rejects++;
        return cint_pointer_off(&ccq->engine, now);
    }
    return arm(ccq, value & NVME_CINT_POINTER_INDEX, now);
}

void nvme_cint_write_reg(NvmeCtrl *n, hwaddr addr, uint64_t data,
                         unsigned size)
{
    NvmeCintCq *ccq = cq_at(n, addr);
    int64_t now = nvme_cint_now();

    if (!is_dword(addr, size) || !ccq || !cint_uses_pointer(&ccq->engine)) {
        trace_pci_nvme_ub_cint_reg(addr, size, data);
        return;
    }
    nvme_cint_enter(&n->cint->main);
    nvme_cint_cq_catch_up(ccq, now);
    nvme_cint_cq_act(ccq, set_pointer(ccq, data, now), now);
    trace_pci_nvme_cint_pointer(ccq->cq->cqid, data,
                                state_name(ccq->engine.pointer.state));
    nvme_cint_leave(&n->cint->main);
}

uint64_t nvme_cint_read_reg(NvmeCtrl *n, hwaddr addr, unsigned size)
{
    NvmeCintCq *ccq = cq_at(n, addr);

    if (!is_dword(addr, size) || !ccq) {
        trace_pci_nvme_ub_cint_reg(addr, size, 0);
        return 0;
    }
    switch (ccq->engine.pointer.state) {
    case CINT_POINTER_ARMED:
        return NVME_CINT_POINTER_ARM | ccq->pointer_index;
    case CINT_POINTER_SPENT:
        return NVME_CINT_POINTER_SPENT | ccq->pointer_index;
    case CINT_POINTER_OFF:
        break;
    }
    return 0;
}
