/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every write that the controller makes, aimed at everything that resets,
 * unplugs or changes it or another controller, while all of them are at work:
 * one table of writes, one of targets, one body. QEMU must live, which says
 * most when it is built with sanitizers, and a guest in its right mind must
 * get all it is owed afterwards. Writes that belong into memory must not reach
 * registers at all. With CINT_AIM_ALL in the environment the data of every
 * command is aimed at every target; without, at a quarter of those that reset
 * or unplug.
 *
 * Two of these are no writes of the controller. A virtio-iommu reports an
 * address that is missing, to where the guest wants it: so each access may
 * reset. And what the controller reads may be a register that waits in the main
 * loop, where a device of another kind resets it meanwhile.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "standard-headers/linux/virtio_iommu.h"
#include "nvme-cint-driver.h"
#include "nvme-cint-machine.h"

#define BASE        ",cint=on,cint.policy=default,cint.max-hold=0"
#define QUEUE       1           /* of the write that is aimed */
#define BUSY_QUEUE  24          /* of what goes on beside it */
#define BUSY        6           /* commands there */
#define DOORBELLS   0x1000
#define DISK_SIZE   MiB
/* Of these there is one at each target, unless CINT_AIM_ALL is set. */
#define SHARE       4

/*
 * What disks are full of, at each dword: FLR in Device Control, power off in
 * Slot Control, reset in Bridge Control, EN = 0 in CC.
 */
#define PATTERN     0x00408700u

/* Of a BAR: a bit of the pattern, in the guest's memory. */
#define OVER_MEMORY 0x00400000
#define D3HOT       3

/* Real time of a card's block, and of what is done in the midst of that. */
#define CARD_NS     60000000
#define MIDST_NS    "20000000"

#define COMMON      ",max_ioqpairs=26,msix_qsize=27"
#define NODE_FDP    1
#define NODE_STOCK  2

/* Namespaces of the first controller. */
enum {
    NS_PLAIN = 1, NS_ZONED, NS_METADATA, NS_PROTECTED, NS_LATE, NS_MEMORY,
};

typedef struct Aim Aim;

/* What is aimed at: a dword, and a value that does harm there. */
typedef struct Target {
    const char *name;
    uint64_t (*at)(Aim *a);
    uint32_t value;
    bool acpi;                  /* hot-plug is ACPI's: no power is a reset */
    bool moves;                 /* resets nothing; plain data is left out */
} Target;

typedef struct Write {
    const char *name;
    void (*run)(Aim *a, const struct Write *w);
    NvmeCmd cmd;                /* whose data is the write */
    uint32_t size;              /* of that data, bytes */
    uint8_t node;               /* the controller that writes */
    bool memory_only;
    bool cint_only;
} Write;

struct Aim {
    CintMachine *m;
    CintNode *node;             /* writes */
    CintTest *t;                /* the same */
    CintNode *other_node;       /* beside it */
    CintTest *other;            /* the same */
    const Target *target;
    uint64_t at;
    CintIommu *iommu;           /* reports what is at @at; or NULL */
};

/* ---- Targets ---- */

static uint64_t own_flr(Aim *a)
{
    return cint_flr_at(a->t->pdev);
}

static uint64_t own_slot_control(Aim *a)
{
    return cint_slot_control_at(a->node->port);
}

/* In the dword of the interrupt line: cleared ones of a bridge. */
static uint64_t own_bridge_control(Aim *a)
{
    return cint_config_at(a->node->port) + PCI_INTERRUPT_LINE;
}

static uint64_t own_cc(Aim *a)
{
    return a->t->nvme->bar.addr + NVME_REG_CC;
}

static uint64_t own_doorbell(Aim *a)
{
    return a->t->nvme->bar.addr + DOORBELLS + 8 * QUEUE;
}

static uint64_t own_vectors(Aim *a)
{
    return a->t->pdev->msix_table_bar.addr + a->t->pdev->msix_table_off;
}

static uint64_t other_flr(Aim *a)
{
    return cint_flr_at(a->other->pdev);
}

static uint64_t other_cc(Aim *a)
{
    return a->other->nvme->bar.addr + NVME_REG_CC;
}

static uint64_t other_slot_control(Aim *a)
{
    return cint_slot_control_at(a->other_node->port);
}

static uint64_t other_doorbell(Aim *a)
{
    return a->other->nvme->bar.addr + DOORBELLS + 8 * BUSY_QUEUE;
}

static uint64_t other_admin_doorbell(Aim *a)
{
    return a->other->nvme->bar.addr + DOORBELLS;
}

/* Memory and bus mastering off. */
static uint64_t own_command(Aim *a)
{
    return cint_config_at(a->t->pdev) + PCI_COMMAND;
}

/* Its registers lie over the guest's memory, queues and data among it. */
static uint64_t own_bar(Aim *a)
{
    return cint_config_at(a->t->pdev) + PCI_BASE_ADDRESS_0;
}

/* In the upper half of the dword. */
static uint64_t own_msix_control(Aim *a)
{
    return cint_config_at(a->t->pdev) +
           qpci_find_capability(a->t->pdev, PCI_CAP_ID_MSIX, 0);
}

static uint64_t own_power_state(Aim *a)
{
    return cint_config_at(a->t->pdev) + PCI_PM_CTRL +
           qpci_find_capability(a->t->pdev, PCI_CAP_ID_PM, 0);
}

/* The port no longer forwards to it. */
static uint64_t own_window(Aim *a)
{
    return cint_config_at(a->node->port) + PCI_MEMORY_BASE;
}

static uint64_t other_bar(Aim *a)
{
    return cint_config_at(a->other->pdev) + PCI_BASE_ADDRESS_0;
}

/* Of the admin queue's vector, which has a message pending: it is sent. */
static uint64_t other_mask(Aim *a)
{
    return a->other->pdev->msix_table_bar.addr +
           a->other->pdev->msix_table_off + PCI_MSIX_ENTRY_VECTOR_CTRL;
}

static const Target targets[] = {
    { "own-flr", own_flr, PCI_EXP_DEVCTL_BCR_FLR },
    { "own-slot-control", own_slot_control, CINT_SLOT_OFF },
    { "own-slot-control-acpi", own_slot_control, CINT_SLOT_OFF, .acpi = true },
    { "own-bridge-control", own_bridge_control,
      PCI_BRIDGE_CTL_BUS_RESET << 16 },
    { "own-cc", own_cc, 0 },
    { "own-doorbell", own_doorbell, 3 },
    { "own-vectors", own_vectors, 0xfee00000 },
    { "other-flr", other_flr, PCI_EXP_DEVCTL_BCR_FLR },
    { "other-cc", other_cc, 0 },
    { "other-slot-control", other_slot_control, CINT_SLOT_OFF },
    { "other-doorbell", other_doorbell, 3 },
    { "other-admin-doorbell", other_admin_doorbell, 9 },
    { "own-command", own_command, 0, .moves = true },
    { "own-bar", own_bar, OVER_MEMORY, .moves = true },
    { "own-msix-control", own_msix_control, 0, .moves = true },
    { "own-power-state", own_power_state, D3HOT, .moves = true },
    { "own-window", own_window, 0, .moves = true },
    { "other-bar", other_bar, OVER_MEMORY, .moves = true },
    { "other-mask", other_mask, 0, .moves = true },
};

/* ---- Writes: messages ---- */

static void read_some(Aim *a, QNvmeSq *sq, uint32_t count)
{
    cint_read(a->t, sq, count);
    cint_machine_run(a->m, 1000);
}

/* The admin queue is never full for who does not look at what comes back. */
static void forget_admin_head(Aim *a)
{
    a->t->nvme->admin_sq.head = a->t->nvme->admin_sq.tail;
}

static void identify_some(Aim *a, uint32_t count)
{
    forget_admin_head(a);
    while (count--) {
        cint_push_admin(a->t, NVME_ADM_CMD_IDENTIFY, a->t->buf.addr,
                        NVME_ID_CNS_CTRL, 0);
    }
    qnvme_ring_sq(&a->t->nvme->admin_sq);
    cint_machine_run(a->m, 1000);
}

static void admin_message(Aim *a, const Write *w)
{
    cint_aim(a->t, 0, a->at, a->target->value);
    identify_some(a, 3);
}

static void io_message(Aim *a, const Write *w)
{
    QNvmeSq *sq = cint_queues(a->t, QUEUE);

    cint_aim(a->t, QUEUE, a->at, a->target->value);
    read_some(a, sq, 3);
}

/* ---- Writes: completion queue entries ---- */

static uint64_t page_of(Aim *a)
{
    return a->at & ~(QNVME_PAGE_SIZE - 1ull);
}

/* The entry on the target. */
static uint32_t entry_of(Aim *a)
{
    return a->at % QNVME_PAGE_SIZE / sizeof(NvmeCqe);
}

static void io_cqe(Aim *a, const Write *w)
{
    uint32_t entries = QNVME_PAGE_SIZE / sizeof(NvmeCqe);
    QNvmeCq *cq = cint_create_cq_at(a->t, QUEUE, entries, page_of(a));
    QNvmeSq *sq = qnvme_create_sq(a->t->nvme, QUEUE, entries, cq);

    sq->next_cid = a->target->value - entry_of(a);
    read_some(a, sq, entry_of(a) + 2);
}

/* The admin queue's CQ is elsewhere from the next enabling on. */
static void admin_cqe(Aim *a, const Write *w)
{
    QNvmeCtrl *n = a->t->nvme;
    uint32_t cc = qnvme_reg_read(n, NVME_REG_CC);
    uint32_t count = entry_of(a) + 2;

    qnvme_reg_write(n, NVME_REG_CC, 0);
    qnvme_reg_write(n, NVME_REG_ACQ, page_of(a));
    qnvme_reg_write(n, NVME_REG_CC, cc);
    qnvme_forget(n);
    n->admin_sq.head = n->admin_sq.tail = n->admin_sq.doorbell = 0;
    n->admin_sq.next_cid = a->target->value - entry_of(a);
    identify_some(a, MIN(count, QNVME_ADMIN_ENTRIES - 1));
}

/* ---- Writes: what goes with doorbells in memory ---- */

static uint64_t use_shadow(Aim *a, uint64_t shadow, uint64_t event_idx)
{
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_DBBUF_CONFIG,
        .dptr.prp1 = cpu_to_le64(shadow),
        .dptr.prp2 = cpu_to_le64(event_idx),
    };

    forget_admin_head(a);
    qnvme_push(&a->t->nvme->admin_sq, &cmd);
    qnvme_ring_sq(&a->t->nvme->admin_sq);
    cint_machine_run(a->m, 1000);
    return shadow;
}

static uint64_t new_page(Aim *a)
{
    uint64_t page = guest_alloc(&a->m->alloc, QNVME_PAGE_SIZE);

    qtest_memset(a->m->qts, page, 0, QNVME_PAGE_SIZE);
    return page;
}

/* The queue whose doorbell, in a page of them, lies where the target does. */
static uint16_t queue_of(Aim *a)
{
    return a->at % QNVME_PAGE_SIZE / 8;
}

/*
 * @shadow says that the head of the target's queue, or its tail, is what does
 * harm; so that is what the controller writes when it publishes it.
 */
static void say_harm(Aim *a, QNvmeSq *sq, uint64_t shadow)
{
    uint64_t tail = shadow + 8 * queue_of(a);

    sq->tail = 3;
    qtest_writel(a->m->qts, tail, 3);
    qtest_writel(a->m->qts, shadow + a->at % QNVME_PAGE_SIZE,
                 a->target->value);
    qnvme_reg_write(a->t->nvme, DOORBELLS + 8 * queue_of(a), 3);
    cint_machine_run(a->m, 1000);
    qnvme_reg_write(a->t->nvme, DOORBELLS + 8 * queue_of(a), 2);
    cint_machine_run(a->m, 1000);
}

static QNvmeSq *queue_on_target(Aim *a)
{
    uint16_t id = queue_of(a);
    QNvmeSq *sq;
    int i;

    if (!id) {
        return &a->t->nvme->admin_sq;
    }
    sq = a->t->nvme->sqs[id] ?: cint_queues(a->t, id);
    for (i = 0; i < 4; i++) {
        qnvme_push_read(sq, &a->t->buf, 0, QNVME_PAGE_SIZE);
    }
    return sq;
}

static void event_index(Aim *a, const Write *w)
{
    QNvmeSq *sq = queue_on_target(a);

    say_harm(a, sq, use_shadow(a, new_page(a), page_of(a)));
    identify_some(a, 2);
}

static void shadow_doorbell(Aim *a, const Write *w)
{
    QNvmeSq *sq = queue_on_target(a);

    say_harm(a, sq, use_shadow(a, new_page(a), new_page(a)));
    use_shadow(a, page_of(a), new_page(a));
    identify_some(a, 2);
}

/* ---- Writes: status records ---- */

static void record(Aim *a, const Write *w)
{
    QNvmeSq *sq = cint_queues(a->t, QUEUE);
    uint64_t first = (a->at & ~63ull) - QUEUE * sizeof(NvmeCintRecord);
    NvmeCintStatus status = {
        .addr = cpu_to_le64(first), .records = cpu_to_le32(QUEUE + 1),
    };

    qtest_memwrite(a->m->qts, a->t->buf.addr, &status, sizeof(status));
    cint_push_admin(a->t, NVME_ADM_CMD_SET_FEATURES, a->t->buf.addr,
                    NVME_CINT_FID_STATUS, 0);
    qnvme_ring_sq(&a->t->nvme->admin_sq);
    cint_machine_run(a->m, 1000);
    read_some(a, sq, 3);
}

/* ---- Writes: data ---- */

static void aim_data(NvmeCmd *cmd, uint64_t addr)
{
    cmd->dptr.prp1 = cpu_to_le64(addr);
    cmd->dptr.prp2 = cpu_to_le64((addr & ~(QNVME_PAGE_SIZE - 1ull)) +
                                 QNVME_PAGE_SIZE);
}

/* Does @data do to the target what the target's value does? */
static bool harms(const Target *target, uint32_t data)
{
    return target->value ? (data & target->value) == target->value
                         : !(data & 1);
}

/* Where in the data of @cmd the first dword is that does harm; or 0. */
static uint32_t harm_in_data(Aim *a, const Write *w, QNvmeSq *sq)
{
    g_autofree uint32_t *data = g_malloc0(w->size);
    QNvmeBuf buf = qnvme_buf_new(a->t->nvme, w->size);
    NvmeCmd cmd = w->cmd;
    NvmeCqe cqe;
    uint32_t i;

    aim_data(&cmd, buf.addr);
    cmd.mptr = cpu_to_le64(a->t->buf.addr);
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    cint_machine_run(a->m, 1000);
    qnvme_wait_cqes(sq->cq, 1);
    g_assert_true(qnvme_peek(sq->cq, 0, &cqe));
    g_assert_cmphex(qnvme_status(&cqe), ==, NVME_SUCCESS);
    qnvme_reap(sq->cq, 1);
    qtest_memread(a->m->qts, buf.addr, data, w->size);
    for (i = 0; i < w->size / 4; i++) {
        if (harms(a->target, le32_to_cpu(data[i]))) {
            return 4 * i;
        }
    }
    return 0;
}

/* Commands before and behind it in the same pass. */
static void send_among_others(Aim *a, QNvmeSq *sq, const NvmeCmd *cmd)
{
    bool admin = !sq->id;
    int i;

    for (i = 0; i < 5; i++) {
        if (i == 2) {
            qnvme_push(sq, cmd);
        } else if (admin) {
            cint_push_admin(a->t, NVME_ADM_CMD_IDENTIFY, a->t->buf.addr,
                            NVME_ID_CNS_CTRL, 0);
        } else {
            qnvme_push_read(sq, &a->t->buf, 0, QNVME_PAGE_SIZE);
        }
    }
    qnvme_ring_sq(sq);
    cint_machine_run(a->m, 1000);
}

static void data_of(Aim *a, const Write *w, QNvmeSq *sq)
{
    NvmeCmd cmd = w->cmd;

    aim_data(&cmd, a->at - harm_in_data(a, w, sq));
    cmd.mptr = cpu_to_le64(a->t->buf.addr);
    send_among_others(a, sq, &cmd);
}

static void admin_data(Aim *a, const Write *w)
{
    data_of(a, w, &a->t->nvme->admin_sq);
}

static void io_data(Aim *a, const Write *w)
{
    data_of(a, w, cint_queues(a->t, QUEUE));
}

static void metadata(Aim *a, const Write *w)
{
    NvmeCmd cmd = w->cmd;

    aim_data(&cmd, a->t->buf.addr);
    cmd.mptr = cpu_to_le64(a->at);
    send_among_others(a, cint_queues(a->t, QUEUE), &cmd);
}

/* Set Features D1h first, so that there is an address to be told. */
static void status_data(Aim *a, const Write *w)
{
    g_assert_cmphex(cint_set_status(a->t, MiB + PCI_EXP_DEVCTL_BCR_FLR, 2, 0),
                    ==, 0);
    admin_data(a, w);
}

/* Of one entry of the table, without its braces. */
#define ADMIN_DATA(title, do_it, code, n, ns, dw10, ...) \
    .name = title, .run = do_it, .size = n, \
    .cmd = { .opcode = code, .nsid = const_le32(ns), \
             .cdw10 = const_le32(dw10), __VA_ARGS__ }
#define ADMIN(title, code, n, ns, dw10, ...) \
    ADMIN_DATA(title, admin_data, code, n, ns, dw10, __VA_ARGS__)
#define IDENTIFY(title, cns, ns, ...) \
    ADMIN("identify-" title, NVME_ADM_CMD_IDENTIFY, 4096, ns, cns, __VA_ARGS__)
#define LOG(title, lid, n, ...) \
    ADMIN("log-" title, NVME_ADM_CMD_GET_LOG_PAGE, n, NVME_NSID_BROADCAST, \
          (n / 4 - 1) << 16 | (lid), __VA_ARGS__)
#define FEATURE(title, fid, n, ...) \
    ADMIN("feature-" title, NVME_ADM_CMD_GET_FEATURES, n, 0, fid, __VA_ARGS__)
#define IO(title, do_it, code, ns, n, ...) \
    .name = title, .run = do_it, .size = n, \
    .cmd = { .opcode = code, .nsid = const_le32(ns), __VA_ARGS__ }
#define ZONED_SET   .cdw11 = const_le32(NVME_CSI_ZONED << 24)
#define FDP_GROUP   .cdw11 = const_le32(1 << 16)
#define LAST_BLOCK(n)   .cdw12 = const_le32(n - 1)

static const Write writes[] = {
    { "admin-message", admin_message },
    { "io-message", io_message },
    { "admin-cqe", admin_cqe, .memory_only = true },
    { "io-cqe", io_cqe, .memory_only = true },
    { "event-index", event_index, .memory_only = true },
    { "shadow-doorbell", shadow_doorbell, .memory_only = true },
    { "record", record, .memory_only = true, .cint_only = true },
    { IDENTIFY("namespace", NVME_ID_CNS_NS, NS_PLAIN) },
    { IDENTIFY("controller", NVME_ID_CNS_CTRL, 0) },
    { IDENTIFY("active", NVME_ID_CNS_NS_ACTIVE_LIST, 0) },
    { IDENTIFY("descriptors", NVME_ID_CNS_NS_DESCR_LIST, NS_PLAIN) },
    { IDENTIFY("zoned", NVME_ID_CNS_CS_NS, NS_ZONED, ZONED_SET) },
    { IDENTIFY("zoned-controller", NVME_ID_CNS_CS_CTRL, 0, ZONED_SET) },
    { IDENTIFY("zoned-active", NVME_ID_CNS_CS_NS_ACTIVE_LIST, 0, ZONED_SET) },
    { IDENTIFY("zoned-allocated", NVME_ID_CNS_CS_NS_PRESENT, NS_ZONED,
               ZONED_SET) },
    { IDENTIFY("zoned-list", NVME_ID_CNS_CS_NS_PRESENT_LIST, 0, ZONED_SET) },
    { IDENTIFY("independent", NVME_ID_CNS_CS_IND_NS, NS_PLAIN) },
    { IDENTIFY("independent-allocated", NVME_ID_CNS_CS_IND_NS_ALLOCATED,
               NS_PLAIN) },
    { IDENTIFY("allocated", NVME_ID_CNS_NS_PRESENT, NS_PLAIN) },
    { IDENTIFY("allocated-list", NVME_ID_CNS_NS_PRESENT_LIST, 0) },
    { IDENTIFY("controllers", NVME_ID_CNS_CTRL_LIST, 0) },
    { IDENTIFY("attached-to", NVME_ID_CNS_NS_ATTACHED_CTRL_LIST, NS_PLAIN) },
    { IDENTIFY("primary", NVME_ID_CNS_PRIMARY_CTRL_CAP, 0) },
    { IDENTIFY("secondary", NVME_ID_CNS_SECONDARY_CTRL_LIST, 0) },
    { IDENTIFY("endurance-groups", NVME_ID_CNS_ENDURANCE_GROUP_LIST, 0),
      .node = NODE_FDP },
    { IDENTIFY("command-sets", NVME_ID_CNS_IO_COMMAND_SET, 0) },
    { LOG("errors", NVME_LOG_ERROR_INFO, 64) },
    { LOG("health", NVME_LOG_SMART_INFO, 512) },
    { LOG("firmware", NVME_LOG_FW_SLOT_INFO, 512) },
    { LOG("changed", NVME_LOG_CHANGED_NSLIST, 4096) },
    { LOG("effects", NVME_LOG_CMD_EFFECTS, 4096) },
    { FEATURE("timestamp", NVME_TIMESTAMP, 8) },
    { FEATURE("behaviour", NVME_HOST_BEHAVIOR_SUPPORT, 512) },
    { ADMIN("directive", NVME_ADM_CMD_DIRECTIVE_RECV, 4096, NS_PLAIN, 1023,
          .cdw11 = const_le32(NVME_DIRECTIVE_RETURN_PARAMS)) },
    { IO("read", io_data, NVME_CMD_READ, NS_PLAIN, 4096, LAST_BLOCK(8)) },
    { IO("read-with-metadata", io_data, NVME_CMD_READ, NS_METADATA, 4096,
       LAST_BLOCK(8)) },
    { IO("read-protected", io_data, NVME_CMD_READ, NS_PROTECTED, 4096,
       LAST_BLOCK(8)) },
    { IO("metadata", metadata, NVME_CMD_READ, NS_METADATA, 4096,
         LAST_BLOCK(8)) },
    { IO("metadata-protected", metadata, NVME_CMD_READ, NS_PROTECTED, 4096,
         LAST_BLOCK(8)) },
    { IO("read-memory", io_data, NVME_CMD_READ, NS_MEMORY, 4096,
       LAST_BLOCK(8)) },
    { IO("zones", io_data, NVME_CMD_ZONE_MGMT_RECV, NS_ZONED, 4096,
       .cdw12 = const_le32(1023)) },
    { LOG("fdp-configurations", NVME_LOG_FDP_CONFS, 512, FDP_GROUP),
      .node = NODE_FDP },
    { LOG("fdp-handles", NVME_LOG_FDP_RUH_USAGE, 64, FDP_GROUP),
      .node = NODE_FDP },
    { LOG("fdp-statistics", NVME_LOG_FDP_STATS, 64, FDP_GROUP),
      .node = NODE_FDP },
    { LOG("endurance-group", NVME_LOG_ENDGRP, 512, FDP_GROUP),
      .node = NODE_FDP },
    { LOG("fdp-events", NVME_LOG_FDP_EVENTS, 64, FDP_GROUP),
      .node = NODE_FDP },
    { ADMIN("feature-fdp-events", NVME_ADM_CMD_GET_FEATURES, 64, 1,
                 NVME_FDP_EVENTS, .cdw11 = const_le32(0x80000)),
      .node = NODE_FDP },
    { IO("fdp-status", io_data, NVME_CMD_IO_MGMT_RECV, 1, 64,
              .cdw10 = const_le32(NVME_IOMR_MO_RUH_STATUS),
              .cdw11 = const_le32(15)),
      .node = NODE_FDP },
    { LOG("queues", NVME_CINT_LID, 4096),
      .cint_only = true },
    { LOG("queues-reset",
                  NVME_CINT_LSP_RESET << 8 | NVME_CINT_LID, 4096),
      .cint_only = true },
    { FEATURE("configuration", NVME_CINT_FID_CONFIG, 64,
                      .cdw11 = const_le32(NVME_CINT_ALL_CQS)),
      .cint_only = true },
    { ADMIN_DATA("feature-status", status_data, NVME_ADM_CMD_GET_FEATURES, 64,
                 0, NVME_CINT_FID_STATUS), .cint_only = true },
};

/* ---- Reads ---- */

/* Of data, unless it says otherwise: the page that waits is a->at. */
typedef struct Read {
    const char *name;
    void (*run)(Aim *a, const struct Read *r);
    NvmeCmd cmd;
    uint8_t node;               /* the controller that reads */
    bool cint_only;
} Read;

/*
 * A read of the stock controller ends while somebody waits for the card. Its
 * message tells a device of another kind of a request, whose message resets:
 * that one holds no controller, and is in no coroutine.
 */
static void reset_meanwhile(Aim *a)
{
    CintBlk *blk = cint_blk_begin(a->m);
    CintTest *by = &a->m->node[NODE_STOCK].t;
    QNvmeSq *sq = cint_queues(by, QUEUE);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &by->buf, 0, QNVME_PAGE_SIZE);

    cint_blk_aim(blk, a->target->at(a), a->target->value);
    cint_blk_offer(blk, 1);
    cint_aim(by, QUEUE, cint_blk_doorbell(blk), 0);
    cmd.nsid = cpu_to_le32(NS_LATE);
    qnvme_push(sq, &cmd);
    qnvme_ring_sq(sq);
    cint_blk_free(blk);
}

static void ring_and_reset(Aim *a, QNvmeSq *sq)
{
    reset_meanwhile(a);
    qnvme_ring_sq(sq);
    cint_machine_run(a->m, 1000);
}

static void read_queue(Aim *a, const Read *r)
{
    QNvmeCq *cq = qnvme_create_cq(a->t->nvme, QUEUE, CINT_ENTRIES, QUEUE);
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_CREATE_SQ,
        .dptr.prp1 = cpu_to_le64(a->at),
        .cdw10 = cpu_to_le32(1 << 16 | QUEUE),
        .cdw11 = cpu_to_le32(cq->id << 16 | NVME_SQ_PC),
    };

    g_assert_cmphex(qnvme_admin(a->t->nvme, &cmd, NULL), ==, 0);
    reset_meanwhile(a);
    qnvme_reg_write(a->t->nvme, DOORBELLS + 8 * QUEUE, 1);
    cint_machine_run(a->m, 1000);
}

static void read_list(Aim *a, const Read *r)
{
    QNvmeSq *sq = cint_queues(a->t, QUEUE);
    NvmeCmd cmd = r->cmd;

    cmd.dptr.prp1 = cpu_to_le64(a->t->buf.addr);
    cmd.dptr.prp2 = cpu_to_le64(a->at);
    qnvme_push(sq, &cmd);
    ring_and_reset(a, sq);
}

static void read_segment(Aim *a, const Read *r)
{
    QNvmeSq *sq = cint_queues(a->t, QUEUE);
    NvmeCmd cmd = r->cmd;

    cmd.flags = NVME_PSDT_SGL_MPTR_CONTIGUOUS << 6;
    cmd.dptr.sgl = (NvmeSglDescriptor) {
        .addr = cpu_to_le64(a->at + CINT_CARD_PORT),
        .len = cpu_to_le32(4 * sizeof(NvmeSglDescriptor)),
        .type = NVME_SGL_DESCR_TYPE_LAST_SEGMENT << 4,
    };
    qnvme_push(sq, &cmd);
    ring_and_reset(a, sq);
}

static void read_metadata(Aim *a, const Read *r)
{
    QNvmeSq *sq = cint_queues(a->t, QUEUE);
    NvmeCmd cmd = r->cmd;

    aim_data(&cmd, a->t->buf.addr);
    cmd.mptr = cpu_to_le64(a->at + CINT_CARD_PORT);
    qnvme_push(sq, &cmd);
    ring_and_reset(a, sq);
}

static void read_data(Aim *a, const Read *r, QNvmeSq *sq)
{
    NvmeCmd cmd = r->cmd;

    aim_data(&cmd, a->at);
    cmd.mptr = cpu_to_le64(a->t->buf.addr);
    qnvme_push(sq, &cmd);
    ring_and_reset(a, sq);
}

static void read_admin_data(Aim *a, const Read *r)
{
    read_data(a, r, &a->t->nvme->admin_sq);
}

static void read_io_data(Aim *a, const Read *r)
{
    read_data(a, r, cint_queues(a->t, QUEUE));
}

#define READ(title, do_it, code, ns, ...) \
    .name = title, .run = do_it, \
    .cmd = { .opcode = code, .nsid = const_le32(ns), __VA_ARGS__ }
#define SET(title, fid, ...) \
    READ("set-" title, read_admin_data, NVME_ADM_CMD_SET_FEATURES, 0, \
         .cdw10 = const_le32(fid), __VA_ARGS__)
#define ONE_RANGE   .cdw12 = const_le32(0)

static const Read reads[] = {
    { "queue", read_queue },
    { READ("list", read_list, NVME_CMD_READ, NS_PLAIN, LAST_BLOCK(128)) },
    { READ("segment", read_segment, NVME_CMD_READ, NS_PLAIN, LAST_BLOCK(8)) },
    { READ("write", read_io_data, NVME_CMD_WRITE, NS_ZONED, LAST_BLOCK(1)) },
    { READ("write-late", read_io_data, NVME_CMD_WRITE, NS_LATE,
           LAST_BLOCK(1)) },
    { READ("append", read_io_data, NVME_CMD_ZONE_APPEND, NS_ZONED,
           LAST_BLOCK(1)) },
    { READ("write-memory", read_io_data, NVME_CMD_WRITE, NS_MEMORY,
           LAST_BLOCK(1)) },
    { READ("compare-memory", read_io_data, NVME_CMD_COMPARE, NS_MEMORY,
           LAST_BLOCK(1)) },
    { READ("compare", read_io_data, NVME_CMD_COMPARE, NS_PLAIN,
           LAST_BLOCK(1)) },
    { READ("compare-with-metadata", read_io_data, NVME_CMD_COMPARE,
           NS_METADATA, LAST_BLOCK(1)) },
    { READ("write-with-metadata", read_io_data, NVME_CMD_WRITE, NS_METADATA,
           LAST_BLOCK(1)) },
    { READ("write-protected", read_io_data, NVME_CMD_WRITE, NS_PROTECTED,
           LAST_BLOCK(1)) },
    { READ("metadata", read_metadata, NVME_CMD_WRITE, NS_METADATA,
           LAST_BLOCK(1)) },
    { READ("metadata-protected", read_metadata, NVME_CMD_WRITE, NS_PROTECTED,
           LAST_BLOCK(1)) },
    { READ("metadata-compared", read_metadata, NVME_CMD_COMPARE, NS_METADATA,
           LAST_BLOCK(1)) },
    { READ("copy", read_io_data, NVME_CMD_COPY, NS_PLAIN, ONE_RANGE) },
    { READ("deallocate", read_io_data, NVME_CMD_DSM, NS_PLAIN,
           .cdw11 = const_le32(NVME_DSMGMT_AD)) },
    { READ("fdp-handles", read_io_data, NVME_CMD_IO_MGMT_SEND, 1,
           .cdw10 = const_le32(NVME_IOMS_MO_RUH_UPDATE)), .node = NODE_FDP },
    { READ("attachment", read_admin_data, NVME_ADM_CMD_NS_ATTACHMENT,
           NS_PLAIN) },
    { SET("timestamp", NVME_TIMESTAMP) },
    { SET("behaviour", NVME_HOST_BEHAVIOR_SUPPORT) },
    { SET("configuration", NVME_CINT_FID_CONFIG), .cint_only = true },
    { SET("status", NVME_CINT_FID_STATUS), .cint_only = true },
};

/* ---- What is reported ---- */

/* The address has the bit that resets; its upper half is 0, as is EN then. */
static uint64_t missing_page(Aim *a)
{
    uint64_t size = 2 * PCI_EXP_DEVCTL_BCR_FLR;
    uint64_t addr = guest_alloc(&a->m->alloc, 2 * size);

    return QEMU_ALIGN_UP(addr, size) + PCI_EXP_DEVCTL_BCR_FLR;
}

/*
 * Returns: where to aim at, for it to be written over the target that there is
 * nothing
 */
static uint64_t have_reported(Aim *a)
{
    uint64_t page = missing_page(a), end = page + QNVME_PAGE_SIZE;
    unsigned upper = a->target->value ? 0 : 4;
    CintIommu *v = cint_iommu_begin(a->m->bus, &a->m->alloc);

    a->iommu = v;
    g_assert_cmpint(cint_iommu_attach(v, a->t->pdev, false), ==, 0);
    g_assert_cmpint(cint_iommu_map(v, 0, page, 0), ==, 0);
    g_assert_cmpint(cint_iommu_map(v, end, BIT_ULL(32) - end, end), ==, 0);
    cint_iommu_report_to(v, a->at - upper -
                         offsetof(struct virtio_iommu_fault, address));
    return page + 8 * QUEUE;
}

static void report_no_more(Aim *a)
{
    cint_iommu_detach(a->iommu, a->t->pdev, false);
    cint_iommu_reset(a->iommu);
    g_clear_pointer(&a->iommu, cint_iommu_free);
}

/* ---- The body ---- */

/* What a write to registers changes, as far as it can be seen. */
typedef struct Seen {
    uint32_t target, cc, cc_other;
    uint16_t command, command_other;
} Seen;

static Seen look(Aim *a)
{
    return (Seen) {
        .target = qtest_readl(a->m->qts, a->at),
        .cc = qnvme_reg_read(a->t->nvme, NVME_REG_CC),
        .cc_other = qnvme_reg_read(a->other->nvme, NVME_REG_CC),
        .command = qpci_config_readw(a->t->pdev, PCI_COMMAND),
        .command_other = qpci_config_readw(a->other->pdev, PCI_COMMAND),
    };
}

static void keep_busy(CintTest *t, uint32_t nsid)
{
    QNvmeSq *sq = cint_queues(t, BUSY_QUEUE);
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, &t->buf, 0, QNVME_PAGE_SIZE);
    int i;

    cmd.nsid = cpu_to_le32(nsid);
    for (i = 0; i < BUSY; i++) {
        qnvme_push(sq, &cmd);
    }
    qnvme_ring_sq(sq);
}

/* Two controllers, both at work. */
static void choose_nodes(Aim *a, unsigned node, unsigned other)
{
    other = (node + 1 + other % 2) % CINT_NODES;
    a->node = &a->m->node[node];
    a->t = &a->node->t;
    a->other_node = &a->m->node[other];
    a->other = &a->other_node->t;
    keep_busy(a->t, node == NODE_FDP ? 1 : NS_LATE);
    keep_busy(a->other, other == NODE_FDP ? 1 : NS_LATE);
}

static void aim_one(Aim *a, const Write *w)
{
    Seen before, after;

    cint_step("%s at %s", w->name, a->target->name);
    choose_nodes(a, w->node, w - writes);
    a->at = a->target->at(a);
    before = look(a);
    w->run(a, w);
    after = look(a);
    if (w->memory_only) {
        g_assert_cmpmem(&after, sizeof(after), &before, sizeof(before));
    }
    cint_machine_expect_recovers(a->m);
}

static void report_one(Aim *a, const Write *w)
{
    cint_step("%s is missing, told %s", w->name, a->target->name);
    choose_nodes(a, w->node, w - writes);
    a->at = a->target->at(a);
    a->at = have_reported(a);
    w->run(a, w);
    cint_machine_run(a->m, 1000);
    report_no_more(a);
    cint_machine_expect_recovers(a->m);
}

static void wait_one(Aim *a, const Read *r)
{
    cint_step("%s waits, meanwhile %s", r->name, a->target->name);
    choose_nodes(a, r->node, r - reads);
    a->at = cint_card_begin(a->m, false);
    r->run(a, r);
    cint_machine_expect_recovers(a->m);
}

/* ---- The machine ---- */

#define NODE(name, latency) \
    "-blockdev driver=null-co,node-name=" name ",size=1073741824," \
    "read-zeroes=on,latency-ns=" latency " "
#define LATE        "1000000"
#define MEDIUM(bus, medium, nsid, more) \
    "-device nvme-ns,bus=" bus "," medium ",nsid=" nsid more " "
#define NAMESPACE(bus, drive, nsid, more) \
    MEDIUM(bus, "drive=" drive, nsid, more)

static char *make_disk(void)
{
    g_autofree uint32_t *words = g_new(uint32_t, DISK_SIZE / 4);
    char *path = g_strdup_printf("%s/nvme-cint-aim-XXXXXX", g_get_tmp_dir());
    int fd = mkstemp(path);
    size_t i;

    for (i = 0; i < DISK_SIZE / 4; i++) {
        words[i] = cpu_to_le32(PATTERN);
    }
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, words, DISK_SIZE), ==, DISK_SIZE);
    close(fd);
    return path;
}

/*
 * Two controllers that share namespaces, and between them one with FDP. @more
 * are devices of other kinds. What is late takes @late ns.
 */
static CintMachine *boot(const char *disk, const char *opts, bool acpi,
                         const char *more, const char *late)
{
    g_autoptr(GString) args = g_string_new(acpi ? "" : CINT_NATIVE_HOTPLUG);
    g_autofree char *shared = g_strconcat(COMMON ",subsys=s0", opts, NULL);
    g_autofree char *fdp = g_strconcat(COMMON ",subsys=s1", opts, NULL);
    const CintPlan plans[] = {
        { .opts = shared, .behind_port = true },
        { .opts = fdp, .behind_port = true },
        { .opts = COMMON ",subsys=s0", .behind_port = true },
        { NULL },
    };
    const char *const patterned[] = { "plain", "metadata", "protected" };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(patterned); i++) {
        g_string_append_printf(args, "-blockdev driver=file,node-name=%s,"
                               "locking=off,filename=%s ", patterned[i], disk);
    }
    g_string_append(args, more);
    g_string_append_printf(args, "-object memory-backend-file,id=memory,"
                           "size=%" PRId64 ",mem-path=%s ", DISK_SIZE, disk);
    g_string_append_printf(args, NODE("zoned", "0") NODE("late", "%s")
                    NODE("fdp", "%s")
                    "-device nvme-subsys,id=s0 "
                    "-device nvme-subsys,id=s1,fdp=on,fdp.nruh=4,fdp.nrg=1 ",
                    late, late);
    return cint_machine_new(args->str, plans,
        NAMESPACE("nvme0", "plain", "1", "")
        NAMESPACE("nvme0", "zoned", "2", ",zoned=on,zoned.zone_size=16M")
        NAMESPACE("nvme0", "metadata", "3", ",ms=8")
        NAMESPACE("nvme0", "protected", "4", ",ms=8,pi=1")
        NAMESPACE("nvme0", "late", "5", "")
        MEDIUM("nvme0", "memdev=memory", "6", "")
        NAMESPACE("nvme1", "fdp", "1", ",fdp.ruhs='0;1;2;3'"));
}

typedef struct Case {
    const Target *target;
    const char *opts;
} Case;

/* One of many that go the same way. */
static bool is_plain_data(const Write *w)
{
    return w->run == admin_data || w->run == io_data;
}

static bool is_share(const Target *target, const Write *w)
{
    return !target->moves &&
           (w - writes) % SHARE == (target - targets) % SHARE;
}

/* Each write that is tried, in a machine with @more. */
static void try_writes(const Case *c, bool acpi, const char *more,
                       void (*try_one)(Aim *a, const Write *w))
{
    bool all = g_getenv("CINT_AIM_ALL");
    g_autofree char *disk = make_disk();
    Aim a = { .target = c->target };
    size_t i;

    a.m = boot(disk, c->opts, acpi, more, LATE);
    for (i = 0; i < ARRAY_SIZE(writes); i++) {
        if ((!writes[i].cint_only || *c->opts) &&
            (all || !is_plain_data(&writes[i]) ||
             is_share(c->target, &writes[i]))) {
            try_one(&a, &writes[i]);
        }
    }
    cint_machine_free(a.m);
    unlink(disk);
}

static void test_target(const void *opaque)
{
    const Case *c = opaque;

    try_writes(c, c->target->acpi, "", aim_one);
}

static void test_reported(const void *opaque)
{
    try_writes(opaque, false, CINT_IOMMU, report_one);
}

static void test_waits(const void *opaque)
{
    const Case *c = opaque;
    bool all = g_getenv("CINT_AIM_ALL");
    unsigned first = (c->target - targets) % SHARE;
    g_autofree char *disk = make_disk();
    Aim a = { .target = c->target };
    size_t i;

    a.m = boot(disk, c->opts, false, CINT_CARD(CARD_NS) CINT_BLK(0),
               MIDST_NS);
    for (i = 0; i < ARRAY_SIZE(reads); i++) {
        if ((!reads[i].cint_only || *c->opts) &&
            (all || i % SHARE == first)) {
            wait_one(&a, &reads[i]);
        }
    }
    cint_machine_free(a.m);
    unlink(disk);
}

/* Targets that one way of aiming is for, with each of the modes. */
typedef struct Way {
    const char *name;
    void (*run)(const void *opaque);
    bool (*fits)(const Target *target);
} Way;

static bool is_any(const Target *target)
{
    return true;
}

/* What the address of a page, or its upper half, does harm to. */
static bool can_be_told(const Target *target)
{
    return target->at == own_flr || target->at == other_flr ||
           target->at == own_cc || target->at == other_cc;
}

static bool resets(const Target *target)
{
    return !target->moves && !target->acpi && target->at != own_vectors;
}

static const Way ways[] = {
    { "", test_target, is_any },
    { "reported/", test_reported, can_be_told },
    { "waits/", test_waits, resets },
};

static const CintCase modes[] = {
    { "off", "" },
    { "real", BASE ",cint.time=real" },
    { "virtual", BASE ",cint.time=virtual" },
};

static void add_tests(const Way *way, Case *cases)
{
    size_t i, j;

    for (i = 0; i < ARRAY_SIZE(modes); i++) {
        for (j = 0; j < ARRAY_SIZE(targets); j++, cases++) {
            g_autofree char *path = g_strdup_printf(
                "/nvme-cint/aim/%s%s/%s", way->name, targets[j].name,
                modes[i].name);

            *cases = (Case) { &targets[j], modes[i].opts };
            if (way->fits(&targets[j])) {
                qtest_add_data_func(path, cases, way->run);
            }
        }
    }
}

int main(int argc, char **argv)
{
    static Case cases[ARRAY_SIZE(ways)][ARRAY_SIZE(modes) *
                                        ARRAY_SIZE(targets)];
    size_t i;

    cint_watch_init(&argc, &argv);
    for (i = 0; i < ARRAY_SIZE(ways); i++) {
        add_tests(&ways[i], cases[i]);
    }
    return g_test_run();
}
