/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands with hints, status records and a driver for them. See
 * nvme-cint-driver.h.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "nvme-cint-driver.h"

#define NR_CIDS     65536

/* ---- Commands with hints ---- */

static uint8_t flags_of(uint8_t hint)
{
    return (hint & NVME_CINT_HINT_URGENT ? NVME_CINT_FLAGS_URGENT : 0) |
           (hint & NVME_CINT_HINT_BARRIER ? NVME_CINT_FLAGS_BARRIER : 0);
}

static uint32_t cdw13_of(uint8_t hint)
{
    return (hint & NVME_CINT_HINT_URGENT ? NVME_CINT_DW13_URGENT : 0) |
           (hint & NVME_CINT_HINT_BARRIER ? NVME_CINT_DW13_BARRIER : 0);
}

NvmeCmd cint_hinted(CintTest *t, uint8_t opcode, uint8_t cdw0, uint8_t cdw13)
{
    NvmeCmd cmd = qnvme_rw_cmd(opcode, &t->buf, 0, QNVME_PAGE_SIZE);

    cmd.flags = flags_of(cdw0);
    cmd.cdw13 = cpu_to_le32(cdw13_of(cdw13));
    return cmd;
}

uint16_t cint_push_hint(CintTest *t, QNvmeSq *sq, uint8_t hint)
{
    NvmeCmd cmd = cint_hinted(t, NVME_CMD_READ, hint, NVME_CINT_HINT_NONE);

    return qnvme_push(sq, &cmd);
}

void cint_read_hint(CintTest *t, QNvmeSq *sq, uint8_t hint)
{
    cint_push_hint(t, sq, hint);
    qnvme_ring_sq(sq);
}

/* ---- Discovery ---- */

NvmeCintIdentify cint_identify(CintTest *t)
{
    NvmeCintIdentify id;

    g_assert_cmphex(qnvme_identify(t->nvme, NVME_ID_CNS_CTRL, 0, &t->buf), ==,
                    0);
    qtest_memread(t->qts, t->buf.addr + NVME_CINT_IDENTIFY_OFFSET, &id,
                  sizeof(id));
    g_assert_cmphex(le32_to_cpu(id.magic), ==, NVME_CINT_MAGIC);
    return id;
}

uint64_t cint_pointer_regs(CintTest *t)
{
    NvmeCintIdentify id = cint_identify(t);

    g_assert_cmpuint(le32_to_cpu(id.regs_stride), ==, sizeof(uint32_t));
    return le32_to_cpu(id.regs_offset);
}

void cint_set_pointer(CintTest *t, const QNvmeCq *cq, uint32_t value)
{
    qnvme_reg_write(t->nvme, cint_pointer_regs(t) + cq->id * sizeof(uint32_t),
                    value);
}

uint32_t cint_get_pointer(CintTest *t, const QNvmeCq *cq)
{
    return qnvme_reg_read(t->nvme, cint_pointer_regs(t) +
                                   cq->id * sizeof(uint32_t));
}

/* ---- Status records ---- */

uint16_t cint_set_status(CintTest *t, uint64_t addr, uint32_t records,
                         uint32_t reserved)
{
    qtest_writeq(t->qts, t->buf.addr, addr);
    qtest_writel(t->qts, t->buf.addr + 8, records);
    qtest_writel(t->qts, t->buf.addr + 12, reserved);
    return qnvme_set_feature(t->nvme, NVME_CINT_FID_STATUS, 0, &t->buf, NULL);
}

void cint_get_status(CintTest *t, uint8_t sel, uint64_t *addr,
                     uint32_t *records)
{
    qtest_memset(t->qts, t->buf.addr, 0xa5, 16);
    g_assert_cmphex(qnvme_get_feature(t->nvme, NVME_CINT_FID_STATUS, sel, 0,
                                      &t->buf, NULL), ==, 0);
    *addr = qtest_readq(t->qts, t->buf.addr);
    *records = qtest_readl(t->qts, t->buf.addr + 8);
    g_assert_cmphex(qtest_readl(t->qts, t->buf.addr + 12), ==, 0);
}

uint64_t cint_records_new(CintTest *t, uint32_t count)
{
    QNvmeBuf buf = qnvme_buf_new(t->nvme, count * CINT_RECORD_SIZE);

    qtest_memset(t->qts, buf.addr, 0xa5, buf.len);
    return buf.addr;
}

uint64_t cint_records_on(CintTest *t, uint32_t count)
{
    uint64_t records = cint_records_new(t, count);

    g_assert_cmphex(cint_set_status(t, records, count, 0), ==, 0);
    return records;
}

CintStatus cint_status(CintTest *t, uint64_t records, uint16_t cqid)
{
    uint8_t raw[CINT_RECORD_SIZE];

    qtest_memread(t->qts, records + cqid * CINT_RECORD_SIZE, raw, sizeof(raw));
    return (CintStatus) {
        .full_tail = ldl_le_p(raw),
        .seq = ldl_le_p(raw + 4),
        .class = raw[8],
        .reason = raw[9],
        .tail = ldl_le_p(raw + 12),
    };
}

/* ---- The driver ---- */

CintDriver *cint_driver_new(CintTest *t, QNvmeSq *sq, uint64_t records)
{
    CintDriver *d = g_new0(CintDriver, 1);

    d->t = t;
    d->sq = sq;
    d->cq = sq->cq;
    d->records = records;
    d->in_flight = g_new0(bool, NR_CIDS);
    d->urgent = g_new0(bool, NR_CIDS);
    d->done = g_new0(bool, d->cq->entries);
    return d;
}

void cint_driver_free(CintDriver *d)
{
    g_free(d->in_flight);
    g_free(d->urgent);
    g_free(d->done);
    g_free(d);
}

void cint_driver_counts(CintDriver *d)
{
    cint_count_messages(d->t, d->cq->vector);
    d->counts = true;
    d->messages = cint_messages(d->t);
}

uint16_t cint_driver_push(CintDriver *d, const NvmeCmd *cmd)
{
    uint8_t hints = NVME_CINT_FLAGS_URGENT | NVME_CINT_FLAGS_BARRIER;
    uint16_t cid = qnvme_push(d->sq, cmd);

    d->urgent[cid] = (cmd->flags & hints) == NVME_CINT_FLAGS_URGENT;
    d->in_flight[cid] = true;
    d->submitted++;
    return cid;
}

uint16_t cint_driver_read(CintDriver *d, uint8_t hint)
{
    NvmeCmd cmd = cint_hinted(d->t, NVME_CMD_READ, hint, NVME_CINT_HINT_NONE);

    return cint_driver_push(d, &cmd);
}

/* CQEs from the head on that the last full interrupts allow to reap. */
static uint32_t covered(const CintDriver *d, uint32_t visible)
{
    CintStatus status;
    int32_t count;

    if (!d->records) {
        return visible;
    }
    status = cint_status(d->t, d->records, d->cq->id);
    count = status.full_tail - (uint32_t)d->cq->reaped;
    g_assert_cmpint(count, <=, visible);
    return MAX(count, 0);
}

static void complete(CintDriver *d, const NvmeCqe *cqe)
{
    if (!d->in_flight[cqe->cid]) {
        g_error("CQ %u: command %u completed twice, or was never sent",
                d->cq->id, cqe->cid);
    }
    d->in_flight[cqe->cid] = false;
    d->completed++;
}

static bool take_interrupt(CintDriver *d)
{
    uint32_t before = d->messages;

    if (!d->counts) {
        return qnvme_take_irq(d->t->nvme, d->cq->vector);
    }
    d->messages = cint_messages(d->t);
    return d->messages != before;
}

bool cint_driver_interrupt(CintDriver *d)
{
    QNvmeCq *cq = d->cq;
    g_autofree NvmeCqe *cqes = g_new(NvmeCqe, cq->entries);
    uint32_t visible, full, i, reap = 0;

    if (!take_interrupt(d)) {
        return false;
    }
    visible = qnvme_peek_all(cq, cqes);
    full = covered(d, visible);
    for (i = 0; i < visible; i++) {
        bool *done = &d->done[(cq->head + i) % cq->entries];

        if (!*done && (i < full || d->urgent[cqes[i].cid])) {
            complete(d, &cqes[i]);
            *done = true;
        }
    }
    while (reap < visible && d->done[(cq->head + reap) % cq->entries]) {
        d->done[(cq->head + reap) % cq->entries] = false;
        reap++;
    }
    if (reap) {
        qnvme_reap(cq, reap);
    }
    return true;
}

void cint_driver_run(CintDriver *d)
{
    int64_t end = cint_now(d->t) + 20 * CINT_SECOND;
    int64_t step = 500;

    while (cint_now(d->t) < end) {
        cint_run(d->t, step);
        if (!cint_driver_interrupt(d)) {
            step += step / 4;
        }
    }
}

void cint_driver_rest(CintDriver *d)
{
    cint_driver_run(d);
    if (d->completed != d->submitted) {
        g_error("CQ %u: %u of %u commands completed, %u CQEs are visible",
                d->cq->id, d->completed, d->submitted,
                qnvme_visible(d->cq));
    }
}
