/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The load generator's driver for nvme: queue pair i + 1 for queue i, MMIO
 * doorbells, no hints. See load.h.
 */
#include "qemu/osdep.h"
#include "qemu/coroutine.h"
#include "qemu/error-report.h"
#include "block/aio.h"
#include "block/nvme.h"
#include "qemu/main-loop.h"

#include "load.h"

#define DOORBELLS       0x1000
#define ADMIN_ENTRIES   32

typedef struct NvmeRing {
    Load *load;
    uint16_t id;
    uint32_t entries;
    NvmeCmd *sq;
    NvmeCqe *cq;
    hwaddr sq_addr, cq_addr, doorbells;
    uint32_t tail, head;
    uint16_t phase;
} NvmeRing;

static NvmeRing *new_ring(Load *load, uint16_t id, uint32_t entries)
{
    NvmeRing *ring = g_new0(NvmeRing, 1);

    ring->load = load;
    ring->id = id;
    ring->entries = entries;
    ring->sq_addr = load_alloc(load, entries * sizeof(NvmeCmd));
    ring->cq_addr = load_alloc(load, entries * sizeof(NvmeCqe));
    ring->sq = load_host(ring->sq_addr);
    ring->cq = load_host(ring->cq_addr);
    ring->doorbells = load_pci_bar(load, 0, DOORBELLS + id * 8);
    ring->phase = 1;
    return ring;
}

static void push(NvmeRing *ring, const NvmeCmd *cmd)
{
    ring->sq[ring->tail] = *cmd;
    ring->tail = ring->tail + 1 == ring->entries ? 0 : ring->tail + 1;
}

static void ring_sq(NvmeRing *ring)
{
    load_write(ring->doorbells, ring->tail, 4);
}

static void ring_cq(NvmeRing *ring)
{
    load_write(ring->doorbells + 4, ring->head, 4);
}

/* The next completion, or NULL. */
static NvmeCqe *peek(NvmeRing *ring)
{
    NvmeCqe *cqe = &ring->cq[ring->head];

    return (le16_to_cpu(cqe->status) & 1) == ring->phase ? cqe : NULL;
}

static void advance(NvmeRing *ring)
{
    if (++ring->head == ring->entries) {
        ring->head = 0;
        ring->phase ^= 1;
    }
}

static void write_reg64(Load *load, hwaddr offset, uint64_t value)
{
    load_write(load_pci_bar(load, 0, offset), value, 4);
    load_write(load_pci_bar(load, 0, offset + 4), value >> 32, 4);
}

static NvmeRing *enable(Load *load)
{
    NvmeRing *admin = new_ring(load, 0, ADMIN_ENTRIES);
    uint32_t cc = 0;

    load_write(load_pci_bar(load, 0, NVME_REG_AQA),
               (ADMIN_ENTRIES - 1) << 16 | (ADMIN_ENTRIES - 1), 4);
    write_reg64(load, NVME_REG_ASQ, admin->sq_addr);
    write_reg64(load, NVME_REG_ACQ, admin->cq_addr);
    NVME_SET_CC_EN(cc, 1);
    NVME_SET_CC_IOSQES(cc, 6);
    NVME_SET_CC_IOCQES(cc, 4);
    load_write(load_pci_bar(load, 0, NVME_REG_CC), cc, 4);
    return admin;
}

/* In turns of the main loop, as the device does it, not in one of its own. */
static void coroutine_fn run_admin(NvmeRing *admin, const NvmeCmd *cmd)
{
    NvmeCqe *cqe;

    push(admin, cmd);
    ring_sq(admin);
    while (!(cqe = peek(admin))) {
        load_check_limit(admin->load, "an admin command has no completion");
        aio_co_schedule(qemu_get_aio_context(), qemu_coroutine_self());
        qemu_coroutine_yield();
    }
    if (le16_to_cpu(cqe->status) >> 1) {
        error_report("%s: admin command 0x%x failed with status 0x%x",
                     TYPE_LOAD, cmd->opcode, le16_to_cpu(cqe->status) >> 1);
        exit(1);
    }
    advance(admin);
    ring_cq(admin);
}

static void coroutine_fn create_queues(NvmeRing *admin, NvmeRing *ring)
{
    uint32_t dw10 = (ring->entries - 1) << 16 | ring->id;
    NvmeCmd cq = {
        .opcode = NVME_ADM_CMD_CREATE_CQ,
        .dptr.prp1 = cpu_to_le64(ring->cq_addr),
        .cdw10 = cpu_to_le32(dw10),
        .cdw11 = cpu_to_le32(ring->id << 16 | NVME_CQ_IEN | NVME_CQ_PC),
    };
    NvmeCmd sq = {
        .opcode = NVME_ADM_CMD_CREATE_SQ,
        .dptr.prp1 = cpu_to_le64(ring->sq_addr),
        .cdw10 = cpu_to_le32(dw10),
        .cdw11 = cpu_to_le32(ring->id << 16 | NVME_SQ_PC),
    };

    run_admin(admin, &cq);
    run_admin(admin, &sq);
}

static void coroutine_fn nvme_start(Load *load)
{
    NvmeRing *admin = enable(load);
    unsigned i;

    for (i = 0; i < load->nr_queues; i++) {
        NvmeRing *ring = new_ring(load, i + 1, LOAD_ENTRIES);

        create_queues(admin, ring);
        load->queues[i].ring = ring;
    }
}

static void nvme_submit(LoadQueue *q, unsigned slot, uint64_t block)
{
    uint64_t lba = block * (LOAD_BLOCK / LOAD_SECTOR);
    NvmeCmd cmd = {
        .opcode = NVME_CMD_READ,
        .cid = cpu_to_le16(slot),
        .nsid = cpu_to_le32(1),
        .dptr.prp1 = cpu_to_le64(q->data + slot * LOAD_BLOCK),
        .cdw10 = cpu_to_le32(lba),
        .cdw11 = cpu_to_le32(lba >> 32),
        .cdw12 = cpu_to_le32(LOAD_BLOCK / LOAD_SECTOR - 1),
    };

    push(q->ring, &cmd);
}

static void nvme_kick(LoadQueue *q)
{
    ring_sq(q->ring);
}

static void nvme_reap(LoadQueue *q)
{
    NvmeRing *ring = q->ring;
    uint32_t before = ring->head;
    NvmeCqe *cqe;

    while ((cqe = peek(ring))) {
        load_done(q, le16_to_cpu(cqe->cid), !(le16_to_cpu(cqe->status) >> 1));
        advance(ring);
    }
    if (ring->head != before) {
        ring_cq(ring);
    }
}

static unsigned nvme_visible(LoadQueue *q)
{
    NvmeRing ring = *(NvmeRing *)q->ring;
    unsigned count = 0;

    for (; peek(&ring); advance(&ring)) {
        count++;
    }
    return count;
}

const LoadDriver load_nvme = {
    .waits = true,
    .type = "nvme",
    .start = nvme_start,
    .submit = nvme_submit,
    .kick = nvme_kick,
    .reap = nvme_reap,
    .visible = nvme_visible,
};
