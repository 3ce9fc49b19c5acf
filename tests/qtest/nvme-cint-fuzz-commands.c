/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of a guest that means harm: right ones, nearly right ones, and
 * wrong ones, on queues, with data and lists of addresses anywhere.
 */
#include "qemu/osdep.h"
#include "nvme-cint-fuzz.h"

static uint64_t page_of(uint64_t addr)
{
    return addr & ~(QNVME_PAGE_SIZE - 1ull);
}

static uint64_t data_page(Fuzz *f)
{
    return f->v->node->t.buf.addr;
}

/* ---- Data that commands take ---- */

static void fill_config(Fuzz *f)
{
    NvmeCintFeature c = {
        .version = cpu_to_le16(1),
        .policy = fuzz_below(8),
        .flags = fuzz_below(5),
        .barrier = fuzz_below(4),
        .infer = fuzz_below(7),
        .tune = fuzz_below(3),
        .drain = fuzz_below(4),
        .each_cqe = !fuzz_one_in(8),
        .delta_ns = cpu_to_le32(fuzz_number()),
        .thr = cpu_to_le16(fuzz_number()),
        .static_thr = cpu_to_le16(fuzz_number()),
        .static_time_ns = cpu_to_le32(fuzz_number()),
        .max_irq_rate = cpu_to_le32(fuzz_one_in(2) ? fuzz_number() : 0),
        .ewma_shift = 1 + fuzz_below(17),
        .vic_scope = fuzz_below(2),
        .vic_ratios = fuzz_below(3),
        .cif_threshold = cpu_to_le16(2 + fuzz_below(8)),
        .max_skip = cpu_to_le16(fuzz_number()),
        .iops_threshold = cpu_to_le32(fuzz_below(5000)),
        .epoch_ms = cpu_to_le32(1 + fuzz_below(300)),
        .kick_window_ns = cpu_to_le32(fuzz_one_in(2) ? fuzz_below(200000) : 0),
        .max_hold_ns = cpu_to_le64(fuzz_below(20000000)),
    };
    uint8_t *bytes = (uint8_t *)&c;

    if (fuzz_one_in(4)) {
        bytes[fuzz_below(sizeof(c))] = fuzz_any32();
    }
    fuzz_put_memory(f, data_page(f), &c, sizeof(c));
}

static void fill_status(Fuzz *f)
{
    uint64_t near = f->v->n->bar.addr + (fuzz_below(3) << 20) -
                    (fuzz_below(3) << 6);
    uint64_t addr = fuzz_one_in(4) ? near : fuzz_address(f);
    NvmeCintStatus s = {
        .addr = cpu_to_le64(fuzz_one_in(2) ? addr & ~63ull : addr),
        .records = cpu_to_le32(fuzz_one_in(2) ? fuzz_below(70)
                                              : fuzz_number()),
        .rsvd12 = fuzz_one_in(8),
    };

    fuzz_put_memory(f, data_page(f), &s, sizeof(s));
}

void fuzz_garbage(Fuzz *f)
{
    uint32_t words[64];
    int i;

    for (i = 0; i < ARRAY_SIZE(words); i++) {
        words[i] = cpu_to_le32(fuzz_number());
    }
    fuzz_put_memory(f, data_page(f), words, sizeof(words));
}

/* All formats of a Copy, and of namespaces. */
static void fill_host_behavior(Fuzz *f)
{
    NvmeHostBehaviorSupport hbs = {
        .lbafee = fuzz_below(2),
        .cdfe = cpu_to_le16(fuzz_one_in(4) ? fuzz_any32() : 0xc),
    };

    fuzz_put_memory(f, data_page(f), &hbs, sizeof(hbs));
}

/*
 * Source ranges of a Copy: most are short and begin near the start. Those of
 * another namespace say which.
 */
static void fill_ranges(Fuzz *f)
{
    NvmeCopySourceRangeFormat0_2 ranges[4];
    int i;

    for (i = 0; i < ARRAY_SIZE(ranges); i++) {
        ranges[i] = (NvmeCopySourceRangeFormat0_2) {
            .sparams = cpu_to_le32(fuzz_one_in(4) ? fuzz_number() :
                                   1 + fuzz_below(FUZZ_NAMESPACES)),
            .slba = cpu_to_le64(fuzz_one_in(3) ? fuzz_number()
                                               : fuzz_below(4096)),
            .nlb = cpu_to_le16(fuzz_one_in(4) ? fuzz_number()
                                              : fuzz_below(16)),
        };
    }
    fuzz_put_memory(f, data_page(f), ranges, sizeof(ranges));
}

/* Where a list of addresses is: a page of its own, or registers. */
static uint64_t fill_prp_list(Fuzz *f)
{
    uint64_t list = data_page(f) + QNVME_PAGE_SIZE;
    uint64_t entries[8];
    int i;

    for (i = 0; i < ARRAY_SIZE(entries); i++) {
        entries[i] = cpu_to_le64(page_of(fuzz_address(f)));
    }
    fuzz_put_memory(f, list, entries, sizeof(entries));
    return fuzz_one_in(8) ? page_of(fuzz_registers(f)) : list;
}

static NvmeSglDescriptor fill_sgl(Fuzz *f)
{
    uint64_t list = data_page(f) + QNVME_PAGE_SIZE;
    NvmeSglDescriptor entries[6];
    int i;

    for (i = 0; i < ARRAY_SIZE(entries); i++) {
        bool last = i == ARRAY_SIZE(entries) - 1;

        entries[i] = (NvmeSglDescriptor) {
            .addr = cpu_to_le64(last ? data_page(f) : fuzz_address(f)),
            .len = cpu_to_le32(last ? 4096 : 4 * fuzz_below(64)),
            .type = fuzz_one_in(16) ? fuzz_any32() : 0,
        };
    }
    fuzz_put_memory(f, list, entries, sizeof(entries));
    return (NvmeSglDescriptor) {
        .addr = cpu_to_le64(fuzz_one_in(8) ? fuzz_registers(f) : list),
        .len = cpu_to_le32(sizeof(entries)),
        .type = NVME_SGL_DESCR_TYPE_LAST_SEGMENT << 4,
    };
}

/* ---- Commands ---- */

static NvmeCmd any_command(Fuzz *f, uint8_t opcode)
{
    NvmeCmd cmd = {
        .opcode = opcode,
        .flags = fuzz_one_in(8) ? fuzz_any32() : 4 * fuzz_below(4),
        .cid = cpu_to_le16(fuzz_one_in(4) ? fuzz_number()
                                          : fuzz_below(FUZZ_ENTRIES)),
        .nsid = cpu_to_le32(fuzz_one_in(8) ? fuzz_number() :
                            1 + fuzz_below(FUZZ_NAMESPACES)),
        .mptr = cpu_to_le64(fuzz_address(f)),
        .dptr.prp1 = cpu_to_le64(fuzz_address(f)),
        .dptr.prp2 = cpu_to_le64(fuzz_address(f)),
        .cdw10 = cpu_to_le32(fuzz_number()),
        .cdw11 = cpu_to_le32(fuzz_number()),
        .cdw12 = cpu_to_le32(fuzz_number()),
        .cdw13 = cpu_to_le32(fuzz_number()),
        .cdw14 = cpu_to_le32(fuzz_number()),
        .cdw15 = cpu_to_le32(fuzz_number()),
    };

    return cmd;
}

static NvmeCmd queue_command(Fuzz *f)
{
    static const uint8_t opcodes[] = {
        NVME_ADM_CMD_DELETE_SQ, NVME_ADM_CMD_CREATE_SQ,
        NVME_ADM_CMD_DELETE_CQ, NVME_ADM_CMD_CREATE_CQ,
    };
    NvmeCmd cmd = any_command(f, opcodes[fuzz_below(ARRAY_SIZE(opcodes))]);
    uint32_t other = fuzz_one_in(8) ? fuzz_below(65)
                                    : 1 + fuzz_below(FUZZ_QUEUES);
    uint32_t entries = fuzz_one_in(4) ? 2 + fuzz_below(62) : FUZZ_ENTRIES;

    if (fuzz_one_in(8)) {
        return cmd;
    }
    cmd.cdw10 = cpu_to_le32((entries - 1) << 16 |
                            (1 + fuzz_below(FUZZ_QUEUES)));
    /* Vector or CQ, priority, physically contiguous, interrupts on. */
    cmd.cdw11 = cpu_to_le32(other << 16 | fuzz_below(4) << 1 |
                            (fuzz_one_in(4) ? 1 : 3));
    cmd.dptr.prp1 = cpu_to_le64(fuzz_one_in(4) ? page_of(fuzz_address(f)) :
        fuzz_victim(f)->queues + fuzz_below(FUZZ_PAGES) * QNVME_PAGE_SIZE);
    return cmd;
}

static NvmeCmd feature_command(Fuzz *f)
{
    static const uint8_t fids[] = {
        NVME_INTERRUPT_COALESCING, NVME_INTERRUPT_VECTOR_CONF,
        NVME_CINT_FID_CONFIG, NVME_CINT_FID_STATUS, NVME_CINT_FID_CONFIG,
        NVME_CINT_FID_STATUS, NVME_ARBITRATION, NVME_TIMESTAMP,
        NVME_HOST_BEHAVIOR_SUPPORT, NVME_FDP_MODE, NVME_FDP_EVENTS,
        NVME_WRITE_ATOMICITY, NVME_ASYNCHRONOUS_EVENT_CONF,
        NVME_TEMPERATURE_THRESHOLD, NVME_ERROR_RECOVERY,
        NVME_VOLATILE_WRITE_CACHE, NVME_NUMBER_OF_QUEUES,
    };
    bool set = !fuzz_one_in(3);
    NvmeCmd cmd = any_command(f, set ? NVME_ADM_CMD_SET_FEATURES :
                                       NVME_ADM_CMD_GET_FEATURES);
    uint8_t fid = fids[fuzz_below(ARRAY_SIZE(fids))];

    if (set && fid == NVME_CINT_FID_CONFIG) {
        fill_config(f);
    } else if (set && fid == NVME_CINT_FID_STATUS) {
        fill_status(f);
    } else if (set && fid == NVME_HOST_BEHAVIOR_SUPPORT) {
        fill_host_behavior(f);
    }
    cmd.cdw10 = cpu_to_le32(fuzz_one_in(8) ? fuzz_any32() : fid);
    if (fuzz_one_in(2)) {
        cmd.cdw11 = cpu_to_le32(fuzz_one_in(2) ? NVME_CINT_ALL_CQS :
                                fuzz_below(FUZZ_QUEUES + 2));
    }
    if (set && !fuzz_one_in(8)) {
        cmd.dptr.prp1 = cpu_to_le64(data_page(f));
    }
    return cmd;
}

/* Attached or not; one of them has to see namespace 1 in the end. */
static void fill_controllers(Fuzz *f)
{
    uint16_t list[4] = {
        cpu_to_le16(1 + fuzz_below(2)), cpu_to_le16(fuzz_below(3)),
        cpu_to_le16(fuzz_below(3)),
    };

    fuzz_put_memory(f, data_page(f), list, sizeof(list));
}

static void shape_log(NvmeCmd *cmd)
{
    static const uint8_t lids[] = {
        NVME_CINT_LID, NVME_CINT_LID, NVME_LOG_SMART_INFO,
        NVME_LOG_CHANGED_NSLIST, NVME_LOG_FDP_CONFS, NVME_LOG_FDP_RUH_USAGE,
        NVME_LOG_FDP_STATS, NVME_LOG_FDP_EVENTS, NVME_LOG_ENDGRP,
    };

    cmd->cdw10 = cpu_to_le32(fuzz_below(2048) << 16 | fuzz_below(4) << 8 |
                             lids[fuzz_below(ARRAY_SIZE(lids))]);
    cmd->cdw11 = cpu_to_le32(fuzz_one_in(4) ? fuzz_number() : 1 << 16);
    cmd->cdw12 = cpu_to_le32(fuzz_one_in(3) ? fuzz_number() & ~3u
                                            : 4 * fuzz_below(2000));
    cmd->cdw13 = 0;
}

static NvmeCmd other_command(Fuzz *f)
{
    static const uint8_t opcodes[] = {
        NVME_ADM_CMD_GET_LOG_PAGE, NVME_ADM_CMD_GET_LOG_PAGE,
        NVME_ADM_CMD_IDENTIFY, NVME_ADM_CMD_ABORT, NVME_ADM_CMD_ASYNC_EV_REQ,
        NVME_ADM_CMD_DBBUF_CONFIG, NVME_ADM_CMD_NS_ATTACHMENT,
        NVME_ADM_CMD_FORMAT_NVM, NVME_ADM_CMD_DIRECTIVE_SEND,
        NVME_ADM_CMD_DIRECTIVE_RECV, NVME_ADM_CMD_VIRT_MNGMT,
    };
    NvmeCmd cmd = any_command(f, fuzz_one_in(16) ? fuzz_any32() :
                              opcodes[fuzz_below(ARRAY_SIZE(opcodes))]);

    switch (cmd.opcode) {
    case NVME_ADM_CMD_DBBUF_CONFIG:
        cmd.dptr.prp1 = cpu_to_le64(fuzz_one_in(3) ? page_of(fuzz_address(f))
                                                   : f->v->shadow);
        cmd.dptr.prp2 = cpu_to_le64(fuzz_one_in(3) ? page_of(fuzz_address(f))
                                    : f->v->shadow + QNVME_PAGE_SIZE);
        break;
    case NVME_ADM_CMD_GET_LOG_PAGE:
        if (!fuzz_one_in(8)) {
            shape_log(&cmd);
        }
        break;
    case NVME_ADM_CMD_IDENTIFY:
        cmd.cdw10 = cpu_to_le32(fuzz_below(0x20));
        cmd.cdw11 = cpu_to_le32(fuzz_below(4) << 24);
        break;
    case NVME_ADM_CMD_NS_ATTACHMENT:
        fill_controllers(f);
        cmd.cdw10 = cpu_to_le32(fuzz_below(2));
        cmd.dptr.prp1 = cpu_to_le64(data_page(f));
        break;
    case NVME_ADM_CMD_ABORT:
        cmd.cdw10 = cpu_to_le32(fuzz_below(FUZZ_ENTRIES) << 16 |
                                fuzz_below(FUZZ_QUEUES + 1));
        break;
    case NVME_ADM_CMD_VIRT_MNGMT:
        /* Controllers 0 to 2, and virtual ones behind them. */
        cmd.cdw10 = cpu_to_le32(fuzz_below(6) << 16 | fuzz_below(2) << 8 |
                                (fuzz_one_in(4) ? 1 : 7 + fuzz_below(3)));
        cmd.cdw11 = cpu_to_le32(fuzz_below(4));
        break;
    case NVME_ADM_CMD_FORMAT_NVM:
        /* Format, metadata at the end, protection and where. */
        cmd.cdw10 = cpu_to_le32(fuzz_below(9) | fuzz_below(2) << 4 |
                                fuzz_below(4) << 5 | fuzz_below(2) << 8);
        break;
    }
    return cmd;
}

/* ---- Namespaces of all kinds ---- */

/* A block near the start, in few zones, or any. */
static uint64_t any_block(void)
{
    switch (fuzz_below(4)) {
    case 0:
        return fuzz_number();
    case 1:
        return (uint64_t)fuzz_below(64) << 15;
    default:
        return fuzz_below(64);
    }
}

static void shape_blocks(NvmeCmd *cmd)
{
    uint64_t block = any_block();

    cmd->cdw10 = cpu_to_le32(block);
    cmd->cdw11 = cpu_to_le32(block >> 32);
    cmd->cdw12 = cpu_to_le32(fuzz_below(fuzz_one_in(4) ? 300 : 16) |
                             (fuzz_one_in(4) ? fuzz_any32() & 0xfff00000 : 0));
    cmd->cdw13 = cpu_to_le32(fuzz_one_in(4) ? fuzz_number() : 0);
    cmd->cdw14 = cmd->cdw15 = 0;
}

static void shape_zones(NvmeCmd *cmd)
{
    uint64_t zone = fuzz_one_in(8) ? fuzz_number()
                                   : (uint64_t)fuzz_below(64) << 15;

    cmd->nsid = cpu_to_le32(2);
    cmd->cdw10 = cpu_to_le32(zone);
    cmd->cdw11 = cpu_to_le32(zone >> 32);
    cmd->cdw12 = cpu_to_le32(fuzz_below(1024));
    /* Send: action, all. Receive: action, which zones, partial. */
    cmd->cdw13 = cpu_to_le32(cmd->opcode == NVME_CMD_ZONE_MGMT_SEND ?
                             fuzz_below(18) | fuzz_below(2) << 8 :
                             fuzz_below(9) << 8 | fuzz_below(2) << 16);
}

static void shape_io(Fuzz *f, NvmeCmd *cmd)
{
    switch (cmd->opcode) {
    case NVME_CMD_ZONE_MGMT_SEND:
    case NVME_CMD_ZONE_MGMT_RECV:
        shape_zones(cmd);
        break;
    case NVME_CMD_ZONE_APPEND:
        shape_zones(cmd);
        cmd->cdw12 = cpu_to_le32(fuzz_below(16));
        break;
    case NVME_CMD_COPY:
        shape_blocks(cmd);
        fill_ranges(f);
        /* How many, and in which format. */
        cmd->cdw12 = cpu_to_le32(fuzz_below(4) | 2 * fuzz_below(2) << 8);
        cmd->dptr.prp1 = cpu_to_le64(data_page(f));
        break;
    case NVME_CMD_DSM:
        cmd->cdw10 = cpu_to_le32(fuzz_below(4));
        cmd->cdw11 = cpu_to_le32(4);
        break;
    case NVME_CMD_IO_MGMT_RECV:
    case NVME_CMD_IO_MGMT_SEND:
        cmd->nsid = cpu_to_le32(1);
        cmd->cdw10 = cpu_to_le32(1 | fuzz_below(4) << 16);
        cmd->cdw11 = cpu_to_le32(fuzz_below(64));
        break;
    default:
        shape_blocks(cmd);
    }
}

/* Its data is a list of addresses, of either kind. */
static void shape_list(Fuzz *f, NvmeCmd *cmd)
{
    if (fuzz_one_in(2)) {
        cmd->dptr.prp2 = cpu_to_le64(fill_prp_list(f));
        cmd->cdw12 = cpu_to_le32(16 + fuzz_below(40));
    } else {
        cmd->flags = NVME_PSDT_SGL_MPTR_CONTIGUOUS << 6;
        cmd->dptr.sgl = fill_sgl(f);
    }
}

static NvmeCmd io_command(Fuzz *f)
{
    static const uint8_t opcodes[] = {
        NVME_CMD_READ, NVME_CMD_READ, NVME_CMD_READ, NVME_CMD_WRITE,
        NVME_CMD_WRITE, NVME_CMD_FLUSH, NVME_CMD_DSM, NVME_CMD_COMPARE,
        NVME_CMD_VERIFY, NVME_CMD_WRITE_ZEROES, NVME_CMD_COPY, NVME_CMD_COPY,
        NVME_CMD_ZONE_MGMT_SEND, NVME_CMD_ZONE_MGMT_RECV, NVME_CMD_ZONE_APPEND,
        NVME_CMD_IO_MGMT_RECV, NVME_CMD_IO_MGMT_SEND, 0xff,
    };
    NvmeCmd cmd;

    if (fuzz_one_in(2)) {
        cmd = qnvme_rw_cmd(NVME_CMD_READ, &f->v->node->t.buf, 0, 512);
        cmd.flags = 4 * fuzz_below(4);
        return cmd;
    }
    cmd = any_command(f, opcodes[fuzz_below(ARRAY_SIZE(opcodes))]);
    if (!fuzz_one_in(8)) {
        shape_io(f, &cmd);
    }
    if (fuzz_one_in(6)) {
        shape_list(f, &cmd);
    }
    return cmd;
}

/* ---- Queues ---- */

/* Where the driver's own queue is; the device may think it is elsewhere. */
static void put(Fuzz *f, const QNvmeSq *sq, uint32_t slot, NvmeCmd cmd)
{
    fuzz_put_memory(f, sq->addr + slot % sq->entries * sizeof(cmd), &cmd,
                    sizeof(cmd));
}

static void put_admin(Fuzz *f)
{
    NvmeCmd cmd;

    switch (fuzz_below(4)) {
    case 0:
        cmd = queue_command(f);
        break;
    case 1:
        cmd = other_command(f);
        break;
    default:
        cmd = feature_command(f);
    }
    put(f, &f->v->n->admin_sq, f->v->admin_tail++, cmd);
}

static void ring_admin(Fuzz *f)
{
    Victim *v = f->v;

    fuzz_put_register(f, FUZZ_DOORBELLS,
                      v->admin_tail % v->n->admin_sq.entries);
    fuzz_put_register(f, FUZZ_DOORBELLS + 4,
                      v->admin_tail % v->n->admin_cq.entries);
}

void fuzz_admin(Fuzz *f)
{
    put_admin(f);
    ring_admin(f);
}

uint16_t fuzz_move_queue(Fuzz *f, uint64_t addr)
{
    Victim *v = f->v;
    uint16_t id = 1 + fuzz_below(FUZZ_QUEUES);

    put(f, &v->n->admin_sq, v->admin_tail++, (NvmeCmd) {
        .opcode = NVME_ADM_CMD_DELETE_SQ,
        .cdw10 = cpu_to_le32(id),
    });
    put(f, &v->n->admin_sq, v->admin_tail++, (NvmeCmd) {
        .opcode = NVME_ADM_CMD_CREATE_SQ,
        .dptr.prp1 = cpu_to_le64(addr),
        .cdw10 = cpu_to_le32((FUZZ_ENTRIES - 1) << 16 | id),
        .cdw11 = cpu_to_le32(id << 16 | NVME_SQ_PC),
    });
    ring_admin(f);
    return id;
}

void fuzz_io(Fuzz *f)
{
    uint16_t id = 1 + fuzz_below(FUZZ_QUEUES);
    unsigned i, n = 1 + fuzz_below(FUZZ_ENTRIES - 1);
    uint32_t doorbells[2 + 2 * FUZZ_QUEUES + 2];

    for (i = 0; i < n; i++) {
        put(f, f->v->n->sqs[id], fuzz_below(FUZZ_ENTRIES), io_command(f));
    }
    if (!fuzz_one_in(4)) {
        fuzz_put_register(f, FUZZ_DOORBELLS + 8 * id,
                          fuzz_below(FUZZ_ENTRIES));
        return;
    }
    /* All doorbells at once, so that nothing runs in between. */
    put_admin(f);
    for (i = 0; i < ARRAY_SIZE(doorbells); i++) {
        doorbells[i] = cpu_to_le32(fuzz_below(FUZZ_ENTRIES));
    }
    doorbells[0] = cpu_to_le32(f->v->admin_tail % f->v->n->admin_sq.entries);
    fuzz_put_memory(f, f->v->n->bar.addr + FUZZ_DOORBELLS, doorbells,
                    sizeof(doorbells));
}
