/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A controller for the tests of the user-space driver.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "caller.h"
#include "fake-nvme.h"

#define SC_INVALID_FIELD 0x02
#define SC_INTERNAL      0x06
#define SC_ABORTED       0x07

/* --- memory ------------------------------------------------------------- */

/* To the end of the block: it is one controller, whoever calls. */
#define ALONE(fake) \
    g_autoptr(GRecMutexLocker) alone G_GNUC_UNUSED = \
        g_rec_mutex_locker_new(&(fake)->lock)

static int fake_map(struct cintio *dev, struct cintio_mem *mem,
                    struct cintio_error *err)
{
    FakeNvme *fake = dev->carrier;
    ALONE(fake);
    size_t pages = mem->len / NVME_PAGE;
    unsigned i = 0;

    if (fake->no_memory) {
        return cintio_fail(err, -ENOMEM, "no memory");
    }
    while (fake->mem[i].mem) {
        i++;
        g_assert_cmpuint(i, <, FAKE_MEMS);
    }
    fake->mem[i].mem = mem;
    /* a hole before it, so that a byte too far is nowhere */
    fake->next_iova += NVME_PAGE;
    mem->iova = fake->next_iova;
    fake->next_iova += mem->len;
    if (fake->scattered) {
        mem->shift = 12;
        mem->pages = calloc(pages, sizeof(*mem->pages));
        for (size_t p = 0; p < pages; p++) {
            mem->pages[p] = mem->iova + (pages - 1 - p) * NVME_PAGE;
        }
    }
    return 0;
}

static void fake_unmap(struct cintio *dev, struct cintio_mem *mem)
{
    FakeNvme *fake = dev->carrier;
    ALONE(fake);
    unsigned i = 0;

    while (fake->mem[i].mem != mem) {
        i++;
        g_assert_cmpuint(i, <, FAKE_MEMS);
    }
    fake->mem[i].mem = NULL;
}

/* What the controller reaches at @iova, up to the end of a page. */
static void *reach(FakeNvme *fake, uint64_t iova)
{
    for (unsigned i = 0; i < FAKE_MEMS; i++) {
        struct cintio_mem *mem = fake->mem[i].mem;
        uint64_t offset;

        if (!mem || iova < mem->iova || iova - mem->iova >= mem->len) {
            continue;
        }
        offset = iova - mem->iova;
        if (mem->pages) {
            offset = (mem->len / NVME_PAGE - 1 - offset / NVME_PAGE) *
                     NVME_PAGE + offset % NVME_PAGE;
        }
        return (uint8_t *)mem->addr + offset;
    }
    g_error("the controller was sent to %" PRIx64 ", which is not its", iova);
}

/* --- completions and interrupts ----------------------------------------- */

static void write_record(FakeNvme *fake, unsigned qid, CintAction action)
{
    NvmeCintRecord *record;

    if (!fake->records || !qid || fake->frozen) {
        return;
    }
    record = (NvmeCintRecord *)reach(fake, fake->records) + qid;
    __atomic_store_n(&record->seq, record->seq + 1, __ATOMIC_RELAXED);
    record->class = action.fire == CINT_FIRE_FULL ? NVME_CINT_CLASS_FULL
                                                  : NVME_CINT_CLASS_URGENT;
    record->tail = fake->cq[qid].posted;
    if (action.fire == CINT_FIRE_FULL && !fake->lying) {
        __atomic_store_n(&record->full_tail, fake->cq[qid].posted,
                         __ATOMIC_RELEASE);
    }
}

static void act(FakeNvme *fake, unsigned qid, CintAction action)
{
    FakeCq *cq = &fake->cq[qid];
    uint64_t one = 1;

    if (action.fire == CINT_FIRE_NONE || !cq->irq) {
        return;
    }
    write_record(fake, qid, action);
    cq->reasons[action.reason]++;
    cq->messages++;
    if (cq->eventfd >= 0 && !cq->masked) {
        g_assert_cmpint(write(cq->eventfd, &one, sizeof(one)), ==, 8);
    }
}

static void post(FakeNvme *fake, unsigned qid, uint16_t cid, uint32_t result,
                 uint16_t status)
{
    FakeCq *cq = &fake->cq[qid];
    struct nvme_cqe *cqe = (struct nvme_cqe *)reach(fake, cq->base) + cq->tail;

    g_assert_cmpuint((cq->tail + 1) % cq->size, !=, cq->head);
    cqe->result = result;
    cqe->result_high = qid ? fake->result_high : 0;
    cqe->sq_head = fake->sq[qid].head;
    cqe->sq_id = qid;
    cqe->cid = cid;
    __atomic_store_n(&cqe->status, (uint16_t)(status << 1 | cq->phase),
                     __ATOMIC_RELEASE);
    cq->posted++;
    cq->tail = (cq->tail + 1) % cq->size;
    cq->phase ^= cq->tail == 0;
}

/* --- data --------------------------------------------------------------- */

static void move(FakeNvme *fake, uint64_t iova, uint8_t *disk, size_t len,
                 bool write)
{
    void *at = reach(fake, iova);

    if (write) {
        memcpy(disk, at, len);
    } else {
        memcpy(at, disk, len);
    }
}

static void move_all(FakeNvme *fake, const struct nvme_sqe *sqe, uint8_t *disk,
                     size_t len, bool write)
{
    size_t part = MIN(len, NVME_PAGE - sqe->prp1 % NVME_PAGE);
    const uint64_t *list = &sqe->prp2;

    move(fake, sqe->prp1, disk, part, write);
    g_assert_true(len > part || !sqe->prp2);
    if (len - part > NVME_PAGE) {
        g_assert_cmpuint(sqe->prp2 % 8, ==, 0);
        g_assert_cmpuint(sqe->prp2 % NVME_PAGE + (len - part + NVME_PAGE - 1) /
                         NVME_PAGE * 8, <=, NVME_PAGE);
        list = reach(fake, sqe->prp2);
    }
    for (size_t at = part; at < len; at += part) {
        g_assert_cmpuint(*list % NVME_PAGE, ==, 0);
        part = MIN(len - at, NVME_PAGE);
        move(fake, *list++, disk + at, part, write);
    }
}

static void move_by_sgl(FakeNvme *fake, const struct nvme_sqe *sqe,
                        uint8_t *disk, size_t len, bool write)
{
    const struct nvme_sgl *at = (const struct nvme_sgl *)&sqe->prp1;
    size_t n = 1;

    g_assert_true(fake->sgl);
    if (at->type == NVME_SGL_LAST_SEGMENT) {
        n = at->len / sizeof(*at);
        g_assert_cmpuint(at->len % sizeof(*at), ==, 0);
        at = reach(fake, at->addr);
    }
    for (; n--; at++) {
        g_assert_cmpuint(at->type, ==, 0);
        g_assert_cmpuint(at->len, <=, len);
        /* as far as a page goes, which is all that reach() knows */
        for (uint32_t done = 0, part; done < at->len; done += part) {
            uint64_t iova = at->addr + done;

            part = MIN(at->len - done, NVME_PAGE - iova % NVME_PAGE);
            move(fake, iova, disk + done, part, write);
        }
        disk += at->len;
        len -= at->len;
    }
    g_assert_cmpuint(len, ==, 0);
}

static void execute(FakeNvme *fake, const struct nvme_sqe *sqe)
{
    uint64_t lba = sqe->cdw10 | (uint64_t)sqe->cdw11 << 32;
    size_t blocks = (sqe->cdw12 & 0xffff) + 1;
    uint8_t *disk;

    if (sqe->opcode != NVME_CMD_READ && sqe->opcode != NVME_CMD_WRITE) {
        return;
    }
    /* the second one is the last quarter of the first */
    lba += sqe->nsid == FAKE_SECOND ? FAKE_BLOCKS * 3 / 4 : 0;
    g_assert_cmpuint(lba + blocks, <=, FAKE_BLOCKS);
    disk = fake->disk + lba * FAKE_BLOCK;
    if (sqe->flags & NVME_SQE_PSDT) {
        move_by_sgl(fake, sqe, disk, blocks * FAKE_BLOCK,
                    sqe->opcode == NVME_CMD_WRITE);
    } else {
        move_all(fake, sqe, disk, blocks * FAKE_BLOCK,
                 sqe->opcode == NVME_CMD_WRITE);
    }
}

/* --- admin commands ----------------------------------------------------- */

static void identify(FakeNvme *fake, const struct nvme_sqe *sqe)
{
    uint8_t *page = reach(fake, sqe->prp1);

    memset(page, 0, NVME_PAGE);
    if (sqe->cdw10 == NVME_CNS_CONTROLLER) {
        NvmeCintIdentify cint = {
            .magic = NVME_CINT_MAGIC, .version = NVME_CINT_VERSION,
            .size = sizeof(cint), .caps = 0x1ff, .lid = NVME_CINT_LID,
            .regs_offset = fake->pointers_at,
            .regs_stride = fake->pointer_stride,
        };

        memcpy(page + 4, "12345               ", 20);
        memcpy(page + 24, "a fake                                  ", 40);
        memcpy(page + 64, "1.0     ", 8);
        page[77] = fake->mdts;
        page[536] = fake->sgl;
        if (!fake->plain) {
            memcpy(page + NVME_CINT_IDENTIFY_OFFSET, &cint, sizeof(cint));
        }
    } else if (sqe->cdw10 == NVME_CNS_ACTIVE) {
        uint32_t ids[] = { 1, fake->second ? FAKE_SECOND : 0 };

        memcpy(page, ids, sizeof(ids));
    } else if (!fake->no_namespace && (sqe->nsid == 1 || fake->second)) {
        uint64_t blocks = sqe->nsid == 1 ? FAKE_BLOCKS : fake->second_blocks;

        memcpy(page, &blocks, 8);
        memcpy(page + 128, &fake->format, 4);
    }
}

bool fake_configure(FakeNvme *fake, unsigned qid, CintPolicy policy)
{
    ALONE(fake);
    FakeCq *cq = &fake->cq[qid];
    CintConfig config = cq->engine.config;

    config.policy = policy;
    if (!cq->size || cint_config_conflict(&config)) {
        return false;
    }
    act(fake, qid, cint_configure(&cq->engine, fake->now, &config));
    return true;
}

static uint16_t set_config(FakeNvme *fake, const struct nvme_sqe *sqe)
{
    NvmeCintFeature *given = reach(fake, sqe->prp1);
    unsigned qid = sqe->cdw11 & 0xff;

    if (!fake_configure(fake, qid, given->policy)) {
        return SC_INVALID_FIELD;
    }
    if (fake->overruled >= 0) {
        fake_configure(fake, qid, fake->overruled);
    }
    return 0;
}

static uint16_t set_feature(FakeNvme *fake, const struct nvme_sqe *sqe,
                            uint32_t *result)
{
    if (sqe->cdw10 == NVME_FID_QUEUES) {
        *result = (FAKE_QUEUES - 1) << 16 | (FAKE_QUEUES - 1);
        return 0;
    }
    if (fake->plain) {
        return SC_INVALID_FIELD;
    }
    if (sqe->cdw10 == NVME_CINT_FID_CONFIG) {
        return set_config(fake, sqe);
    }
    g_assert_cmpuint(sqe->cdw10, ==, NVME_CINT_FID_STATUS);
    fake->records = ((NvmeCintStatus *)reach(fake, sqe->prp1))->addr;
    if (fake->records) {
        /* a driver clears them before */
        const uint8_t *at = reach(fake, fake->records);

        for (size_t i = 0; i < (FAKE_QUEUES + 1) * sizeof(NvmeCintRecord);
             i++) {
            g_assert_cmpuint(at[i], ==, 0);
        }
    }
    return 0;
}

static uint16_t get_feature(FakeNvme *fake, const struct nvme_sqe *sqe)
{
    NvmeCintFeature *config = reach(fake, sqe->prp1);

    g_assert_cmpuint(sqe->cdw10, ==, NVME_CINT_FID_CONFIG);
    if (fake->plain) {
        return SC_INVALID_FIELD;
    }
    memset(config, 0, sizeof(*config));
    config->policy = fake->cq[sqe->cdw11].engine.config.policy;
    return 0;
}

/* A record for each queue, with little in them. */
static uint16_t get_log(FakeNvme *fake, const struct nvme_sqe *sqe)
{
    struct {
        NvmeCintLogHeader head;
        NvmeCintLogRecord record[FAKE_QUEUES + 1];
    } page = {
        .head = {
            .magic = NVME_CINT_MAGIC, .header_size = 64,
            .records = FAKE_QUEUES + 1,
            .record_size = sizeof(NvmeCintLogRecord),
        },
    };
    size_t len = ((sqe->cdw10 >> 16) + 1) * 4;

    if (fake->log_is_torn && len != sizeof(page.head)) {
        return SC_INTERNAL;
    }
    if (fake->no_sizes) {
        page.head.header_size = 0;
    }
    if (fake->log_grows && len == sizeof(page.head)) {
        fake->log_grows--;
        page.head.records--;
    }
    for (unsigned qid = 0; qid <= FAKE_QUEUES; qid++) {
        page.record[qid].cqid = qid;
        page.record[qid].cqes = fake->cq[qid].posted;
    }

    g_assert_cmpuint(sqe->cdw12 + len, <=, sizeof(page));
    for (size_t at = 0; at < len; at += NVME_PAGE) {
        memcpy(reach(fake, at ? sqe->prp2 : sqe->prp1),
               (uint8_t *)&page + sqe->cdw12 + at, MIN(len - at, NVME_PAGE));
    }
    return 0;
}

static uint16_t create_cq(FakeNvme *fake, const struct nvme_sqe *sqe)
{
    unsigned qid = sqe->cdw10 & 0xffff;
    FakeCq *cq = &fake->cq[qid];
    int eventfd = cq->eventfd;

    if (!qid || qid > FAKE_QUEUES || cq->size) {
        return NVME_SC_INVALID_QUEUE;
    }
    g_assert_cmpuint(sqe->cdw11 >> 16, ==,
                     sqe->cdw11 & NVME_CQ_IEN ? qid : 0);
    *cq = (FakeCq) {
        .base = sqe->prp1, .size = (sqe->cdw10 >> 16) + 1, .phase = true,
        .irq = sqe->cdw11 & NVME_CQ_IEN, .eventfd = eventfd,
    };
    if (fake->records) {
        memset((NvmeCintRecord *)reach(fake, fake->records) + qid, 0,
               sizeof(NvmeCintRecord));
    }
    cint_cq_init(&cq->engine, &fake->scope, cq->size, &fake->config);
    cint_set_record(&cq->engine, fake->now, fake->records != 0);
    cint_sq_init(&cq->sq, &cq->engine);
    return 0;
}

static uint16_t create_sq(FakeNvme *fake, const struct nvme_sqe *sqe)
{
    unsigned qid = sqe->cdw10 & 0xffff;

    if (!qid || qid > FAKE_QUEUES || !fake->cq[qid].size) {
        return NVME_SC_INVALID_QUEUE;
    }
    g_assert_cmpuint((sqe->cdw10 >> 16) + 1, <=, FAKE_ENTRIES);
    fake->sq[qid] = (FakeSq) {
        .base = sqe->prp1, .size = (sqe->cdw10 >> 16) + 1,
    };
    return 0;
}

static void drop_sq(FakeNvme *fake, unsigned qid)
{
    for (unsigned i = 0; i < FAKE_ENTRIES; i++) {
        FakeCmd *cmd = &fake->sq[qid].cmd[i];

        if (cmd->used) {
            cint_cancel(&fake->cq[qid].sq, &cmd->engine, fake->now);
        }
    }
    memset(&fake->sq[qid], 0, sizeof(fake->sq[qid]));
}

/* A driver asks for it where it cannot know whether the queue is there. */
static uint16_t delete_sq(FakeNvme *fake, unsigned qid)
{
    if (!fake->sq[qid].size) {
        fake->not_there++;
        return NVME_SC_INVALID_QUEUE;
    }
    drop_sq(fake, qid);
    return 0;
}

static uint16_t delete_cq(FakeNvme *fake, unsigned qid)
{
    g_assert_cmpuint(fake->sq[qid].size, ==, 0);
    if (!fake->cq[qid].size) {
        fake->not_there++;
        return NVME_SC_INVALID_QUEUE;
    }
    fake->cq[qid].size = 0;
    return 0;
}

/* It ends when the test says so, as aborted. */
static bool abort_command(FakeNvme *fake, unsigned qid, uint16_t cid)
{
    for (unsigned i = 0; i < FAKE_ENTRIES; i++) {
        FakeCmd *cmd = &fake->sq[qid].cmd[i];

        if (cmd->used && cmd->sqe.cid == cid) {
            cmd->aborted = fake->aborts;
            return fake->aborts;
        }
    }
    return false;
}

static void admin(FakeNvme *fake, const struct nvme_sqe *sqe)
{
    uint32_t result = 0;
    uint16_t status = 0;

    if (sqe->opcode == fake->ignored) {
        __atomic_add_fetch(&fake->unanswered, 1, __ATOMIC_RELEASE);
        return;
    }
    if (sqe->opcode == fake->refused) {
        post(fake, 0, sqe->cid, 0, SC_INTERNAL);
        return;
    }
    switch (sqe->opcode) {
    case NVME_ADMIN_IDENTIFY:
        if (sqe->cdw10 == NVME_CNS_NAMESPACE && sqe->nsid > FAKE_SECOND) {
            status = NVME_SC_INVALID_NAMESPACE;
            break;
        }
        identify(fake, sqe);
        break;
    case NVME_ADMIN_ABORT:
        result = !abort_command(fake, sqe->cdw10 & 0xffff, sqe->cdw10 >> 16);
        break;
    case NVME_ADMIN_SET_FEATURES:
        status = set_feature(fake, sqe, &result);
        break;
    case NVME_ADMIN_GET_FEATURES:
        status = get_feature(fake, sqe);
        break;
    case NVME_ADMIN_GET_LOG:
        status = get_log(fake, sqe);
        break;
    case NVME_ADMIN_CREATE_CQ:
        status = create_cq(fake, sqe);
        break;
    case NVME_ADMIN_CREATE_SQ:
        status = create_sq(fake, sqe);
        break;
    case NVME_ADMIN_DELETE_SQ:
        status = delete_sq(fake, sqe->cdw10);
        break;
    case NVME_ADMIN_DELETE_CQ:
        status = delete_cq(fake, sqe->cdw10);
        break;
    default:
        status = 1;
    }
    post(fake, 0, sqe->cid, result, status);
}

/* --- registers ---------------------------------------------------------- */

static uint8_t engine_hints(const struct nvme_sqe *sqe)
{
    return sqe->flags >> 2 & 3;
}

static void fetch(FakeNvme *fake, unsigned qid, const struct nvme_sqe *sqe)
{
    FakeSq *sq = &fake->sq[qid];
    FakeCmd *cmd;
    unsigned i = 0;

    if (!qid) {
        admin(fake, sqe);
        return;
    }
    g_assert_true(!fake->plain || !engine_hints(sqe));
    while (sq->cmd[i].used) {
        i++;
        g_assert_cmpuint(i, <, FAKE_ENTRIES);
    }
    cmd = &sq->cmd[i];
    *cmd = (FakeCmd) { .sqe = *sqe, .used = true, .order = sq->fetched++ };
    sq->inflight++;
    act(fake, qid, cint_submit(&fake->cq[qid].sq, &cmd->engine, fake->now,
                               engine_hints(sqe), 1));
}

static void ring_sq(FakeNvme *fake, unsigned qid, uint32_t tail)
{
    FakeSq *sq = &fake->sq[qid];

    g_assert_cmpuint(tail, <, sq->size);
    sq->tail = tail;
    while (sq->head != tail && !fake->stuck) {
        struct nvme_sqe *sqe = (struct nvme_sqe *)reach(fake, sq->base) +
                               sq->head;

        if (!qid && sqe->opcode == fake->late) {
            fake->stuck = true;
            return;
        }
        sq->head = (sq->head + 1) % sq->size;
        fetch(fake, qid, sqe);
    }
}

static void ring_cq(FakeNvme *fake, unsigned qid, uint32_t head)
{
    FakeCq *cq = &fake->cq[qid];
    uint32_t moved = (head + cq->size - cq->head) % cq->size;

    g_assert_cmpuint(head, <, cq->size);
    g_assert_cmpuint(moved, <=, (cq->tail + cq->size - cq->head) % cq->size);
    cq->head = head;
    if (qid) {
        act(fake, qid, cint_head(&cq->engine, fake->now,
                                 cq->engine.head + moved));
    }
}

static void write_pointer(FakeNvme *fake, unsigned qid, uint32_t value)
{
    FakeCq *cq = &fake->cq[qid];
    uint32_t index = value & NVME_CINT_POINTER_INDEX;

    if (!cint_uses_pointer(&cq->engine)) {
        return;
    }
    if (!(value & NVME_CINT_POINTER_ARM) || index >= cq->size ||
        index == cq->head) {
        cq->rejects += value != 0;
        act(fake, qid, cint_pointer_off(&cq->engine, fake->now));
        return;
    }
    act(fake, qid, cint_pointer(&cq->engine, fake->now, cq->engine.head +
                                (index + cq->size - cq->head) % cq->size));
}

static void start_or_stop(FakeNvme *fake)
{
    bool on = fake->regs[NVME_REG_CC / 4] & NVME_CC_EN;
    uint32_t entries = (fake->regs[NVME_REG_AQA / 4] & 0xfff) + 1;

    if (fake->stuck) {
        return;
    }
    if (on && (fake->regs[NVME_REG_CC / 4] & NVME_CC_SHN)) {
        fake->shutdowns++;
        if (!fake->drops_shutdowns) {
            fake->regs[NVME_REG_CSTS / 4] |= NVME_CSTS_SHST_DONE;
        }
        return;
    }
    fake->regs[NVME_REG_CSTS / 4] = on ? NVME_CSTS_RDY : 0;
    for (unsigned qid = 0; qid <= FAKE_QUEUES; qid++) {
        drop_sq(fake, qid);
        fake->cq[qid].size = 0;
    }
    cint_scope_init(&fake->scope);
    fake->records = 0;
    if (on) {
        fake->sq[0] = (FakeSq) {
            .base = fake->regs[NVME_REG_ASQ / 4] |
                    (uint64_t)fake->regs[NVME_REG_ASQ / 4 + 1] << 32,
            .size = entries,
        };
        fake->cq[0] = (FakeCq) {
            .base = fake->regs[NVME_REG_ACQ / 4] |
                    (uint64_t)fake->regs[NVME_REG_ACQ / 4 + 1] << 32,
            .size = entries, .phase = true, .eventfd = -1,
        };
    }
}

static void write_register(FakeNvme *fake, uint32_t offset, uint32_t value)
{
    unsigned shift = 2 + (fake->regs[NVME_REG_CAP / 4 + 1] & 0xf);
    unsigned doorbell = (offset - NVME_REG_DOORBELLS) >> shift;

    g_assert_cmpuint(offset, <, FAKE_BAR_SIZE);
    g_assert_cmpuint(offset, <, fake->dev->bar_size);
    if (fake->gone || (fake->careless && offset >= NVME_REG_DOORBELLS &&
                       doorbell > 1)) {
        return;
    }
    if (offset >= FAKE_POINTERS) {
        write_pointer(fake, (offset - FAKE_POINTERS) / 4, value);
    } else if (offset >= NVME_REG_DOORBELLS && doorbell % 2) {
        ring_cq(fake, doorbell / 2, value);
    } else if (offset >= NVME_REG_DOORBELLS) {
        ring_sq(fake, doorbell / 2, value);
    } else {
        fake->regs[offset / 4] = value;
    }
    if (offset == NVME_REG_CC) {
        fake->looks = fake->slow;
        if (!fake->slow) {
            start_or_stop(fake);
        }
    }
}

static void fake_write32(struct cintio *dev, uint32_t offset, uint32_t value)
{
    FakeNvme *fake = dev->carrier;
    ALONE(fake);

    write_register(fake, offset, value);
}

static uint32_t fake_read32(struct cintio *dev, uint32_t offset)
{
    FakeNvme *fake = dev->carrier;

    if (fake->meanwhile) {
        fake->meanwhile(fake, offset);
    }
    ALONE(fake);
    fake->reads++;
    if (offset == NVME_REG_CSTS && fake->looks && !--fake->looks) {
        start_or_stop(fake);
    }
    return fake->gone ? NVME_GONE : fake->regs[offset / 4];
}

static int fake_notify(struct cintio *dev, unsigned vector, int eventfd,
                       struct cintio_error *err)
{
    FakeNvme *fake = dev->carrier;
    ALONE(fake);

    if (vector > FAKE_QUEUES) {
        g_assert_not_reached();
    }
    fake->cq[vector].eventfd = eventfd;
    return 0;
}

/*
 * By then nothing may be written to memory any more, unless the controller does
 * not stop: that one writes to all that it was given.
 */
static void fake_close(struct cintio *dev)
{
    FakeNvme *fake = dev->carrier;

    g_assert_true(fake->gone || fake->stuck ||
                  !(fake->regs[NVME_REG_CSTS / 4] & NVME_CSTS_RDY));
    if (fake->stuck) {
        for (unsigned qid = 1; qid <= FAKE_QUEUES; qid++) {
            fake->cq[qid].eventfd = -1;
            fake_complete_some(fake, qid, FAKE_ENTRIES);
        }
    }
    if (dev->removal >= 0) {
        close(dev->removal);
    }
}

static const struct cintio_ops fake_ops = {
    .map = fake_map,
    .unmap = fake_unmap,
    .notify = fake_notify,
    .read32 = fake_read32,
    .write32 = fake_write32,
    .close = fake_close,
};

/* --- for tests ---------------------------------------------------------- */

FakeNvme *fake_new(void)
{
    FakeNvme *fake = g_new0(FakeNvme, 1);

    g_rec_mutex_init(&fake->lock);
    fake->disk = g_malloc0(FAKE_BLOCKS * FAKE_BLOCK);
    fake->next_iova = UINT64_C(0x500000000);
    fake->regs[NVME_REG_CAP / 4] = FAKE_ENTRIES - 1;
    fake->refused = fake->late = fake->ignored = fake->overruled = -1;
    fake->format = 9 << 16;
    fake->mdts = FAKE_MDTS;
    fake->second_blocks = FAKE_BLOCKS / 4;
    fake->pointers_at = FAKE_POINTERS;
    fake->pointer_stride = 4;
    cint_config_init(&fake->config);
    fake->config.policy = NVME_CINT_POLICY_DEFAULT;
    cint_scope_init(&fake->scope);
    return fake;
}

int fake_start(FakeNvme *fake, const struct cintio_options *options,
               struct cintio_error *err)
{
    struct cintio *dev = calloc(1, sizeof(*dev));
    int ret;

    fake->dev = dev;
    dev->ops = &fake_ops;
    dev->carrier = fake;
    dev->bar_size = fake->bar_size ? fake->bar_size : FAKE_BAR_SIZE;
    dev->vectors = fake->vectors ? fake->vectors : FAKE_QUEUES + 1;
    dev->removal = -1;
    ret = cintio_start(dev, "fake", options, err);
    if (ret) {
        cintio_close(dev);
        fake->dev = NULL;
    }
    return ret;
}

void fake_free(FakeNvme *fake)
{
    cintio_close(fake->dev);
    g_assert_cmpuint(fake->not_there, ==, 0);
    for (unsigned i = 0; i < FAKE_MEMS; i++) {
        g_assert_null(fake->mem[i].mem);
    }
    g_rec_mutex_clear(&fake->lock);
    g_free(fake->disk);
    g_free(fake);
}

unsigned fake_inflight(FakeNvme *fake, unsigned qid)
{
    ALONE(fake);

    return fake->sq[qid].inflight;
}

static FakeCmd *find(FakeNvme *fake, unsigned qid, unsigned nth)
{
    FakeSq *sq = &fake->sq[qid];
    FakeCmd *found = NULL;
    uint64_t least = 0;

    for (unsigned n = 0; n <= nth; n++) {
        found = NULL;
        for (unsigned i = 0; i < FAKE_ENTRIES; i++) {
            FakeCmd *cmd = &sq->cmd[i];

            if (cmd->used && cmd->order >= least &&
                (!found || cmd->order < found->order)) {
                found = cmd;
            }
        }
        g_assert_nonnull(found);
        least = found->order + 1;
    }
    return found;
}

void fake_complete(FakeNvme *fake, unsigned qid, unsigned nth, uint16_t status)
{
    ALONE(fake);
    FakeCq *cq = &fake->cq[qid];
    FakeCmd *cmd = find(fake, qid, nth);

    status = cmd->aborted ? SC_ABORTED : status;
    if (!status) {
        execute(fake, &cmd->sqe);
    }
    post(fake, qid, cmd->sqe.cid, 0, status);
    cmd->used = false;
    fake->sq[qid].inflight--;
    act(fake, qid, cint_complete(&cq->sq, &cmd->engine, fake->now, status));
    act(fake, qid, cint_pass_end(&cq->engine, fake->now));
}

void fake_complete_some(FakeNvme *fake, unsigned qid, unsigned n)
{
    ALONE(fake);

    while (n-- && fake->sq[qid].inflight) {
        fake_complete(fake, qid, 0, 0);
    }
}

bool fake_deadline(FakeNvme *fake, unsigned qid)
{
    ALONE(fake);
    CintCq *engine = &fake->cq[qid].engine;
    int64_t due = cint_deadline(engine);

    if (due == CINT_NO_DEADLINE) {
        return false;
    }
    fake->now = due;
    act(fake, qid, cint_timer(engine, due));
    return true;
}

void fake_answer(FakeNvme *fake)
{
    ALONE(fake);

    fake->stuck = false;
    fake->late = -1;
    if (!(fake->regs[NVME_REG_CC / 4] & NVME_CC_EN)) {
        start_or_stop(fake);
        return;
    }
    ring_sq(fake, 0, fake->sq[0].tail);
}

void fake_post_bogus(FakeNvme *fake, unsigned qid, uint16_t cid)
{
    ALONE(fake);

    post(fake, qid, cid, 0, 0);
}

bool fake_is_signalled(const FakeNvme *fake, unsigned qid)
{
    struct pollfd fd = { .fd = fake->cq[qid].eventfd, .events = POLLIN };

    return poll(&fd, 1, 0) == 1;
}

void expect_text(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        g_error("\"%s\" does not say \"%s\"", text, part);
    }
}
