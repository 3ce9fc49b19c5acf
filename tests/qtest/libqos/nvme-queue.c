/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small NVMe queue driver for qtests. See nvme-queue.h.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "nvme-queue.h"

#define SQE_SIZE            sizeof(NvmeCmd)
#define CQE_SIZE            sizeof(NvmeCqe)
#define DOORBELLS           0x1000
#define MESSAGE_DATA        0x43494e54u
#define BLOCK_SIZE          512
#define OPCODE_UNKNOWN      0x7f

/* ---- Controller ---- */

uint32_t qnvme_reg_read(QNvmeCtrl *n, uint64_t offset)
{
    return qpci_io_readl(n->pdev, n->bar, offset);
}

void qnvme_reg_write(QNvmeCtrl *n, uint64_t offset, uint32_t value)
{
    qpci_io_writel(n->pdev, n->bar, offset, value);
}

static void reg_write64(QNvmeCtrl *n, uint64_t offset, uint64_t value)
{
    qnvme_reg_write(n, offset, value);
    qnvme_reg_write(n, offset + 4, value >> 32);
}

static gint64 time_limit(void)
{
    return g_get_monotonic_time() + QNVME_TIMEOUT_S * G_TIME_SPAN_SECOND;
}

/*
 * Maps BAR0 and the MSI-X structures. Mapping a BAR moves it, so a BAR0 that
 * holds the MSI-X table must be mapped only once, by qpci_msix_enable().
 */
static void map_bars(QNvmeCtrl *n)
{
    uint8_t cap = qpci_find_capability(n->pdev, PCI_CAP_ID_MSIX, 0);
    uint32_t table = qpci_config_readl(n->pdev, cap + PCI_MSIX_TABLE);

    qpci_msix_enable(n->pdev);
    if (table & PCI_MSIX_FLAGS_BIRMASK) {
        n->bar = qpci_iomap(n->pdev, 0, NULL);
    } else {
        n->bar = n->pdev->msix_table_bar;
    }
    n->vectors = qpci_msix_table_size(n->pdev);
}

static uint64_t sink_of(const QNvmeCtrl *n, uint16_t vector)
{
    return n->sink + vector % QNVME_MAX_VECTORS * sizeof(uint32_t);
}

QNvmeCtrl *qnvme_new(QPCIDevice *pdev, QGuestAllocator *alloc)
{
    QNvmeCtrl *n = g_new0(QNvmeCtrl, 1);
    uint16_t v;

    n->pdev = pdev;
    n->qts = pdev->bus->qts;
    n->alloc = alloc;
    qpci_device_enable(pdev);
    map_bars(n);
    n->cap = qnvme_reg_read(n, NVME_REG_CAP) |
             (uint64_t)qnvme_reg_read(n, NVME_REG_CAP + 4) << 32;
    g_assert_cmpuint(NVME_CAP_DSTRD(n->cap), ==, 0);

    n->sink = guest_alloc(alloc, QNVME_PAGE_SIZE);
    for (v = 0; v < MIN(n->vectors, QNVME_MAX_VECTORS); v++) {
        qnvme_restore_vector(n, v);
    }
    return n;
}

void qnvme_restore_vector(QNvmeCtrl *n, uint16_t vector)
{
    qnvme_vector_target(n, vector, sink_of(n, vector), MESSAGE_DATA, true);
}

void qnvme_forget(QNvmeCtrl *n)
{
    int i;

    for (i = 0; i < QNVME_MAX_QUEUES; i++) {
        g_clear_pointer(&n->sqs[i], g_free);
        g_clear_pointer(&n->cqs[i], g_free);
    }
    n->shadow = 0;
    n->event_idx = 0;
    n->enabled = false;
}

void qnvme_free(QNvmeCtrl *n)
{
    qnvme_forget(n);
    g_free(n);
}

static void wait_ready(QNvmeCtrl *n, bool ready)
{
    gint64 limit = time_limit();
    uint32_t csts;

    do {
        csts = qnvme_reg_read(n, NVME_REG_CSTS);
        if (NVME_CSTS_RDY(csts) == ready) {
            return;
        }
    } while (g_get_monotonic_time() < limit);
    g_error("CSTS.RDY did not become %d: CSTS is 0x%x", ready, csts);
}

static uint64_t queue_memory(QNvmeCtrl *n, size_t bytes)
{
    uint64_t addr = guest_alloc(n->alloc, bytes);

    qtest_memset(n->qts, addr, 0, bytes);
    return addr;
}

static void init_cq(QNvmeCtrl *n, QNvmeCq *cq, uint16_t id, uint32_t entries,
                    uint16_t vector)
{
    *cq = (QNvmeCq) {
        .ctrl = n,
        .id = id,
        .vector = vector,
        .entries = entries,
        .addr = queue_memory(n, entries * CQE_SIZE),
        .phase = true,
    };
}

static void init_sq(QNvmeCtrl *n, QNvmeSq *sq, uint16_t id, uint32_t entries,
                    QNvmeCq *cq)
{
    *sq = (QNvmeSq) {
        .ctrl = n,
        .cq = cq,
        .id = id,
        .entries = entries,
        .addr = queue_memory(n, entries * SQE_SIZE),
    };
}

void qnvme_enable(QNvmeCtrl *n)
{
    uint32_t cc = 0;

    init_cq(n, &n->admin_cq, 0, QNVME_ADMIN_ENTRIES, 0);
    init_sq(n, &n->admin_sq, 0, QNVME_ADMIN_ENTRIES, &n->admin_cq);
    qnvme_reg_write(n, NVME_REG_AQA, (QNVME_ADMIN_ENTRIES - 1) << 16 |
                                     (QNVME_ADMIN_ENTRIES - 1));
    reg_write64(n, NVME_REG_ASQ, n->admin_sq.addr);
    reg_write64(n, NVME_REG_ACQ, n->admin_cq.addr);

    NVME_SET_CC_EN(cc, 1);
    NVME_SET_CC_CSS(cc, n->css);
    NVME_SET_CC_AMS(cc, n->ams);
    NVME_SET_CC_IOSQES(cc, 6);
    NVME_SET_CC_IOCQES(cc, 4);
    qnvme_reg_write(n, NVME_REG_CC, cc);
    wait_ready(n, true);
    n->enabled = true;
}

void qnvme_reset(QNvmeCtrl *n)
{
    qnvme_reg_write(n, NVME_REG_CC, 0);
    wait_ready(n, false);
    qnvme_forget(n);
}

/* ---- Interrupts ---- */

static uint64_t table_entry(const QNvmeCtrl *n, uint16_t vector)
{
    return n->pdev->msix_table_off + vector * PCI_MSIX_ENTRY_SIZE;
}

static void table_write(QNvmeCtrl *n, uint16_t vector, uint32_t field,
                        uint32_t value)
{
    qpci_io_writel(n->pdev, n->pdev->msix_table_bar,
                   table_entry(n, vector) + field, value);
}

void qnvme_vector_target(QNvmeCtrl *n, uint16_t vector, uint64_t addr,
                         uint32_t data, bool masked)
{
    table_write(n, vector, PCI_MSIX_ENTRY_VECTOR_CTRL,
                PCI_MSIX_ENTRY_CTRL_MASKBIT);
    table_write(n, vector, PCI_MSIX_ENTRY_LOWER_ADDR, addr);
    table_write(n, vector, PCI_MSIX_ENTRY_UPPER_ADDR, addr >> 32);
    table_write(n, vector, PCI_MSIX_ENTRY_DATA, data);
    if (!masked) {
        table_write(n, vector, PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
    }
}

bool qnvme_irq_pending(QNvmeCtrl *n, uint16_t vector)
{
    return n->pdev->msix_enabled && qpci_msix_pending(n->pdev, vector);
}

bool qnvme_take_irq_of_thread(QNvmeCtrl *n, uint16_t vector)
{
    uint64_t sink = sink_of(n, vector);

    if (!qnvme_irq_pending(n, vector)) {
        return false;
    }
    qtest_writel(n->qts, sink, 0);
    table_write(n, vector, PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
    table_write(n, vector, PCI_MSIX_ENTRY_VECTOR_CTRL,
                PCI_MSIX_ENTRY_CTRL_MASKBIT);
    g_assert_cmphex(qtest_readl(n->qts, sink), ==, MESSAGE_DATA);
    return true;
}

bool qnvme_take_irq(QNvmeCtrl *n, uint16_t vector)
{
    if (!qnvme_take_irq_of_thread(n, vector)) {
        return false;
    }
    g_assert_false(qnvme_irq_pending(n, vector));
    return true;
}

/* ---- Memory ---- */

static uint64_t build_prp_list(QNvmeCtrl *n, uint64_t addr, size_t pages)
{
    uint64_t list = guest_alloc(n->alloc, QNVME_PAGE_SIZE);
    size_t i;

    /* One page of PRPs: the first page of the buffer is PRP1. */
    g_assert_cmpuint(pages - 1, <=, QNVME_PAGE_SIZE / sizeof(uint64_t));
    for (i = 1; i < pages; i++) {
        qtest_writeq(n->qts, list + (i - 1) * sizeof(uint64_t),
                     addr + i * QNVME_PAGE_SIZE);
    }
    return list;
}

QNvmeBuf qnvme_buf_new(QNvmeCtrl *n, size_t len)
{
    size_t pages = DIV_ROUND_UP(len, QNVME_PAGE_SIZE);
    QNvmeBuf buf = {
        .addr = guest_alloc(n->alloc, pages * QNVME_PAGE_SIZE),
        .len = len,
    };

    qtest_memset(n->qts, buf.addr, 0, pages * QNVME_PAGE_SIZE);
    if (pages > 2) {
        buf.list = build_prp_list(n, buf.addr, pages);
    }
    return buf;
}

void qnvme_buf_free(QNvmeCtrl *n, QNvmeBuf *buf)
{
    guest_free(n->alloc, buf->addr);
    if (buf->list) {
        guest_free(n->alloc, buf->list);
    }
    memset(buf, 0, sizeof(*buf));
}

/* Differs between neighbouring bytes, blocks and seeds. */
static uint8_t *make_pattern(size_t len, uint32_t seed)
{
    uint8_t *bytes = g_malloc(len);
    size_t i;

    for (i = 0; i < len; i++) {
        bytes[i] = (i + i / 251 * 7 + seed * 31 + 1) & 0xff;
    }
    return bytes;
}

void qnvme_buf_fill(QNvmeCtrl *n, const QNvmeBuf *buf, uint32_t seed)
{
    g_autofree uint8_t *bytes = make_pattern(buf->len, seed);

    qtest_memwrite(n->qts, buf->addr, bytes, buf->len);
}

bool qnvme_buf_holds(QNvmeCtrl *n, const QNvmeBuf *buf, uint32_t seed)
{
    g_autofree uint8_t *wanted = make_pattern(buf->len, seed);
    g_autofree uint8_t *found = g_malloc(buf->len);

    qtest_memread(n->qts, buf->addr, found, buf->len);
    return !memcmp(wanted, found, buf->len);
}

static void set_data(NvmeCmd *cmd, const QNvmeBuf *buf, size_t len)
{
    uint64_t second = 0;

    g_assert_cmpuint(len, <=, buf->len);
    if (len > QNVME_PAGE_SIZE) {
        second = len > 2 * QNVME_PAGE_SIZE ? buf->list
                                           : buf->addr + QNVME_PAGE_SIZE;
    }
    cmd->dptr.prp1 = cpu_to_le64(buf->addr);
    cmd->dptr.prp2 = cpu_to_le64(second);
}

/* ---- Queues: submission ---- */

uint16_t qnvme_push(QNvmeSq *sq, const NvmeCmd *cmd)
{
    QNvmeCtrl *n = sq->ctrl;
    uint32_t next = (sq->tail + 1) % sq->entries;
    uint16_t cid = sq->next_cid++;
    NvmeCmd sqe = *cmd;

    if (next == sq->head) {
        g_error("SQ %u is full: %u entries, reap some first", sq->id,
                sq->entries);
    }
    sqe.cid = cpu_to_le16(cid);
    qtest_memwrite(n->qts, sq->addr + sq->tail * SQE_SIZE, &sqe, SQE_SIZE);
    sq->tail = next;
    return cid;
}

NvmeCmd qnvme_rw_cmd(uint8_t opcode, const QNvmeBuf *buf, uint64_t lba,
                     size_t len)
{
    NvmeCmd cmd = {
        .opcode = opcode,
        .nsid = cpu_to_le32(1),
        .cdw10 = cpu_to_le32(lba),
        .cdw11 = cpu_to_le32(lba >> 32),
        .cdw12 = cpu_to_le32(len / BLOCK_SIZE - 1),
    };

    g_assert_cmpuint(len % BLOCK_SIZE, ==, 0);
    set_data(&cmd, buf, len);
    return cmd;
}

uint16_t qnvme_push_read(QNvmeSq *sq, const QNvmeBuf *buf, uint64_t lba,
                         size_t len)
{
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_READ, buf, lba, len);

    return qnvme_push(sq, &cmd);
}

uint16_t qnvme_push_write(QNvmeSq *sq, const QNvmeBuf *buf, uint64_t lba,
                          size_t len)
{
    NvmeCmd cmd = qnvme_rw_cmd(NVME_CMD_WRITE, buf, lba, len);

    return qnvme_push(sq, &cmd);
}

uint16_t qnvme_push_flush(QNvmeSq *sq)
{
    NvmeCmd cmd = { .opcode = NVME_CMD_FLUSH, .nsid = cpu_to_le32(1) };

    return qnvme_push(sq, &cmd);
}

uint16_t qnvme_push_invalid(QNvmeSq *sq)
{
    NvmeCmd cmd = { .opcode = OPCODE_UNKNOWN, .nsid = cpu_to_le32(1) };

    return qnvme_push(sq, &cmd);
}

/* ---- Queues: doorbells ---- */

/* Says if moving a doorbell from @old to @new passes @event_idx. */
static bool passes(uint16_t event_idx, uint16_t new, uint16_t old)
{
    return (uint16_t)(new - event_idx - 1) < (uint16_t)(new - old);
}

/* @index: 2 * queue for an SQ's tail, one more for a CQ's head. */
static void write_doorbell(QNvmeCtrl *n, uint32_t index, uint32_t old,
                           uint32_t value)
{
    uint32_t offset = index * sizeof(uint32_t);

    if (n->shadow && index >= 2) {
        qtest_writel(n->qts, n->shadow + offset, value);
        if (!passes(qtest_readl(n->qts, n->event_idx + offset), value, old)) {
            return;
        }
    }
    qnvme_reg_write(n, DOORBELLS + offset, value);
}

void qnvme_ring_sq(QNvmeSq *sq)
{
    write_doorbell(sq->ctrl, 2 * sq->id, sq->doorbell, sq->tail);
    sq->doorbell = sq->tail;
}

void qnvme_ring_cq(QNvmeCq *cq)
{
    write_doorbell(cq->ctrl, 2 * cq->id + 1, cq->doorbell, cq->head);
    cq->doorbell = cq->head;
}

/* ---- Queues: completion ---- */

static void cqe_to_cpu(NvmeCqe *cqe)
{
    cqe->result = le32_to_cpu(cqe->result);
    cqe->dw1 = le32_to_cpu(cqe->dw1);
    cqe->sq_head = le16_to_cpu(cqe->sq_head);
    cqe->sq_id = le16_to_cpu(cqe->sq_id);
    cqe->cid = le16_to_cpu(cqe->cid);
    cqe->status = le16_to_cpu(cqe->status);
}

bool qnvme_peek(const QNvmeCq *cq, uint32_t i, NvmeCqe *cqe)
{
    uint32_t index = (cq->head + i) % cq->entries;
    bool phase = cq->phase ^ (cq->head + i >= cq->entries);

    qtest_memread(cq->ctrl->qts, cq->addr + index * CQE_SIZE, cqe, CQE_SIZE);
    cqe_to_cpu(cqe);
    return (cqe->status & 1) == phase;
}

uint32_t qnvme_peek_all(const QNvmeCq *cq, NvmeCqe *cqes)
{
    g_autofree NvmeCqe *ring = g_new(NvmeCqe, cq->entries);
    bool phase = cq->phase;
    uint32_t index = cq->head;
    uint32_t count;

    qtest_memread(cq->ctrl->qts, cq->addr, ring, cq->entries * CQE_SIZE);
    for (count = 0; count < cq->entries; count++) {
        cqes[count] = ring[index];
        cqe_to_cpu(&cqes[count]);
        if ((cqes[count].status & 1) != phase) {
            break;
        }
        index = (index + 1) % cq->entries;
        phase ^= !index;
    }
    return count;
}

uint32_t qnvme_visible(const QNvmeCq *cq)
{
    g_autofree NvmeCqe *cqes = g_new(NvmeCqe, cq->entries);

    return qnvme_peek_all(cq, cqes);
}

static void consume_one(QNvmeCq *cq, const NvmeCqe *cqe)
{
    QNvmeCtrl *n = cq->ctrl;
    QNvmeSq *sq = cqe->sq_id ? n->sqs[cqe->sq_id % QNVME_MAX_QUEUES]
                             : &n->admin_sq;

    if (sq) {
        sq->head = cqe->sq_head;
    }
    cq->reaped++;
    cq->head = (cq->head + 1) % cq->entries;
    cq->phase ^= !cq->head;
}

void qnvme_consume(QNvmeCq *cq, uint32_t count)
{
    g_autofree NvmeCqe *cqes = g_new(NvmeCqe, cq->entries);
    uint32_t i, visible = qnvme_peek_all(cq, cqes);

    if (count > visible) {
        g_error("CQ %u: no CQE at index %u to reap", cq->id,
                (cq->head + visible) % cq->entries);
    }
    for (i = 0; i < count; i++) {
        consume_one(cq, &cqes[i]);
    }
}

void qnvme_reap(QNvmeCq *cq, uint32_t count)
{
    qnvme_consume(cq, count);
    qnvme_ring_cq(cq);
}

void qnvme_wait_cqes(const QNvmeCq *cq, uint32_t count)
{
    gint64 limit = time_limit();
    uint32_t visible;

    do {
        visible = qnvme_visible(cq);
        if (visible >= count) {
            return;
        }
    } while (g_get_monotonic_time() < limit);
    g_error("CQ %u: %u CQEs after %d s, waited for %u", cq->id, visible,
            QNVME_TIMEOUT_S, count);
}

/* ---- Admin commands ---- */

uint16_t qnvme_admin(QNvmeCtrl *n, const NvmeCmd *cmd, uint32_t *result)
{
    uint16_t cid = qnvme_push(&n->admin_sq, cmd);
    NvmeCqe cqe;

    qnvme_ring_sq(&n->admin_sq);
    qnvme_wait_cqes(&n->admin_cq, 1);
    qnvme_peek(&n->admin_cq, 0, &cqe);
    g_assert_cmpuint(cqe.cid, ==, cid);
    qnvme_reap(&n->admin_cq, 1);
    qnvme_take_irq(n, 0);
    if (result) {
        *result = cqe.result;
    }
    return qnvme_status(&cqe);
}

static void admin_ok(QNvmeCtrl *n, const NvmeCmd *cmd, const char *what,
                     uint16_t id)
{
    uint16_t status = qnvme_admin(n, cmd, NULL);

    if (status) {
        g_error("%s %u failed with status 0x%x", what, id, status);
    }
}

/* A new queue starts at 0; its predecessor's shadow doorbell must not stay. */
static void clear_shadow(QNvmeCtrl *n, uint32_t index)
{
    uint32_t offset = index * sizeof(uint32_t);

    if (n->shadow) {
        qtest_writel(n->qts, n->shadow + offset, 0);
        qtest_writel(n->qts, n->event_idx + offset, 0);
    }
}

uint16_t qnvme_try_create_cq(QNvmeCtrl *n, uint16_t id, uint32_t entries,
                             uint16_t vector, bool ien, QNvmeCq **cq)
{
    QNvmeCq *new_cq = g_new0(QNvmeCq, 1);
    uint16_t status;
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_CREATE_CQ,
        .cdw10 = cpu_to_le32((entries - 1) << 16 | id),
        .cdw11 = cpu_to_le32(vector << 16 | (ien ? NVME_CQ_IEN : 0) |
                             NVME_CQ_PC),
    };

    g_assert_cmpuint(id, <, QNVME_MAX_QUEUES);
    init_cq(n, new_cq, id, entries, vector);
    clear_shadow(n, 2 * id + 1);
    cmd.dptr.prp1 = cpu_to_le64(new_cq->addr);
    status = qnvme_admin(n, &cmd, NULL);
    if (status) {
        g_free(new_cq);
        return status;
    }
    n->cqs[id] = new_cq;
    *cq = new_cq;
    return status;
}

QNvmeCq *qnvme_create_cq(QNvmeCtrl *n, uint16_t id, uint32_t entries,
                         uint16_t vector)
{
    QNvmeCq *cq = NULL;
    uint16_t status = qnvme_try_create_cq(n, id, entries, vector, true, &cq);

    if (status) {
        g_error("Create CQ %u failed with status 0x%x", id, status);
    }
    return cq;
}

QNvmeSq *qnvme_create_sq(QNvmeCtrl *n, uint16_t id, uint32_t entries,
                         QNvmeCq *cq)
{
    return qnvme_create_sq_prio(n, id, entries, cq, 0);
}

QNvmeSq *qnvme_create_sq_prio(QNvmeCtrl *n, uint16_t id, uint32_t entries,
                              QNvmeCq *cq, uint8_t priority)
{
    QNvmeSq *sq = g_new0(QNvmeSq, 1);
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_CREATE_SQ,
        .cdw10 = cpu_to_le32((entries - 1) << 16 | id),
        .cdw11 = cpu_to_le32(cq->id << 16 | priority << 1 | NVME_SQ_PC),
    };

    g_assert_cmpuint(id, <, QNVME_MAX_QUEUES);
    init_sq(n, sq, id, entries, cq);
    clear_shadow(n, 2 * id);
    cmd.dptr.prp1 = cpu_to_le64(sq->addr);
    admin_ok(n, &cmd, "Create SQ", id);
    n->sqs[id] = sq;
    return sq;
}

void qnvme_delete_sq(QNvmeSq *sq)
{
    QNvmeCtrl *n = sq->ctrl;
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_DELETE_SQ,
        .cdw10 = cpu_to_le32(sq->id),
    };

    admin_ok(n, &cmd, "Delete SQ", sq->id);
    g_clear_pointer(&n->sqs[sq->id], g_free);
}

void qnvme_delete_cq(QNvmeCq *cq)
{
    QNvmeCtrl *n = cq->ctrl;
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_DELETE_CQ,
        .cdw10 = cpu_to_le32(cq->id),
    };

    admin_ok(n, &cmd, "Delete CQ", cq->id);
    g_clear_pointer(&n->cqs[cq->id], g_free);
}

uint16_t qnvme_identify(QNvmeCtrl *n, uint8_t cns, uint32_t nsid,
                        const QNvmeBuf *buf)
{
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_IDENTIFY,
        .nsid = cpu_to_le32(nsid),
        .cdw10 = cpu_to_le32(cns),
    };

    set_data(&cmd, buf, QNVME_PAGE_SIZE);
    return qnvme_admin(n, &cmd, NULL);
}

static uint16_t feature(QNvmeCtrl *n, uint8_t opcode, uint32_t dw10,
                        uint32_t dw11, const QNvmeBuf *buf, uint32_t *result)
{
    NvmeCmd cmd = {
        .opcode = opcode,
        .cdw10 = cpu_to_le32(dw10),
        .cdw11 = cpu_to_le32(dw11),
    };

    if (buf) {
        set_data(&cmd, buf, buf->len);
    }
    return qnvme_admin(n, &cmd, result);
}

uint16_t qnvme_set_feature(QNvmeCtrl *n, uint8_t fid, uint32_t dw11,
                           const QNvmeBuf *buf, uint32_t *result)
{
    return feature(n, NVME_ADM_CMD_SET_FEATURES, fid, dw11, buf, result);
}

uint16_t qnvme_get_feature(QNvmeCtrl *n, uint8_t fid, uint8_t sel,
                           uint32_t dw11, const QNvmeBuf *buf,
                           uint32_t *result)
{
    return feature(n, NVME_ADM_CMD_GET_FEATURES, sel << 8 | fid, dw11, buf,
                   result);
}

uint16_t qnvme_get_log(QNvmeCtrl *n, uint8_t lid, uint8_t lsp,
                       uint64_t offset, const QNvmeBuf *buf)
{
    uint32_t dwords = buf->len / 4 - 1;
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_GET_LOG_PAGE,
        .nsid = cpu_to_le32(NVME_NSID_BROADCAST),
        .cdw10 = cpu_to_le32((dwords & 0xffff) << 16 | lsp << 8 | lid),
        .cdw11 = cpu_to_le32(dwords >> 16),
        .cdw12 = cpu_to_le32(offset),
        .cdw13 = cpu_to_le32(offset >> 32),
    };

    set_data(&cmd, buf, buf->len);
    return qnvme_admin(n, &cmd, NULL);
}

bool qnvme_abort(QNvmeSq *sq, uint16_t cid)
{
    uint32_t result;
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_ABORT,
        .cdw10 = cpu_to_le32(cid << 16 | sq->id),
    };
    uint16_t status = qnvme_admin(sq->ctrl, &cmd, &result);

    g_assert_cmphex(status, ==, NVME_SUCCESS);
    return !(result & 1);
}

/*
 * The controller publishes an EventIdx when it next looks at a queue. Until
 * then have the first write to each queue that exists trap.
 */
static void seed_event_idx(QNvmeCtrl *n, uint64_t event_idx)
{
    uint64_t at;
    int i;

    for (i = 0; i < QNVME_MAX_QUEUES; i++) {
        at = event_idx + 2 * i * sizeof(uint32_t);
        if (n->sqs[i]) {
            qtest_writel(n->qts, at, n->sqs[i]->doorbell);
        }
        if (n->cqs[i]) {
            qtest_writel(n->qts, at + sizeof(uint32_t), n->cqs[i]->doorbell);
        }
    }
}

void qnvme_use_shadow_doorbells(QNvmeCtrl *n)
{
    uint64_t shadow = queue_memory(n, QNVME_PAGE_SIZE);
    uint64_t event_idx = queue_memory(n, QNVME_PAGE_SIZE);
    NvmeCmd cmd = {
        .opcode = NVME_ADM_CMD_DBBUF_CONFIG,
        .dptr.prp1 = cpu_to_le64(shadow),
        .dptr.prp2 = cpu_to_le64(event_idx),
    };

    seed_event_idx(n, event_idx);
    admin_ok(n, &cmd, "Doorbell Buffer Config", 0);
    n->shadow = shadow;
    n->event_idx = event_idx;
}
