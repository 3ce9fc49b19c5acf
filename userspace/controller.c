/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: the controller: start, reset, admin commands, what it says of itself.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define DEFAULT_QUEUES      8
#define DEFAULT_TIMEOUT_MS  10000
#define LOG_PIECE           (2 * NVME_PAGE)     /* of a log page at a time */
#define MAX_LOG_TRIES       8   /* of one that changes while it is read */

int cintio_fail(struct cintio_error *err, int code, const char *fmt, ...)
{
    va_list ap;

    if (err) {
        va_start(ap, fmt);
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
        va_end(ap);
    }
    return code;
}

int cintio_take_sized(void *to, size_t known, size_t first, const void *from,
                      const char *name, struct cintio_error *err)
{
    const uint8_t *bytes = from;
    uint32_t size;

    memcpy(&size, from, sizeof(size));
    size = size ? size : first;
    if (size < first) {
        return cintio_fail(err, -EINVAL, "%s of %u bytes: its size is sizeof, "
                           "or 0", name, size);
    }
    for (size_t i = known; i < size; i++) {
        if (bytes[i]) {
            return cintio_fail(err, -E2BIG, "%s of %u bytes: this is version "
                               CINTIO_VERSION " of the library, which knows "
                               "%zu of them", name, size, known);
        }
    }
    memset(to, 0, known);
    memcpy(to, from, size < known ? size : known);
    return 0;
}

const char *cintio_version(void)
{
    return CINTIO_VERSION;
}

int cintio_alive(struct cintio *dev, struct cintio_error *err)
{
    uint32_t csts = cintio_read32(dev, NVME_REG_CSTS);

    if (csts == NVME_GONE) {
        return cintio_fail(err, -ENODEV, "%s was removed", dev->info.address);
    }
    if (csts & NVME_CSTS_CFS) {
        return cintio_fail(err, -EIO, "%s has failed (CSTS.CFS): reset it",
                           dev->info.address);
    }
    if (!(csts & NVME_CSTS_RDY)) {
        return cintio_fail(err, -EIO, "%s is not ready: somebody has reset, "
                           "stopped or removed it", dev->info.address);
    }
    return 0;
}

static int wait_ready(struct cintio *dev, bool ready, struct cintio_error *err)
{
    uint64_t end = cintio_now() + dev->options.timeout_ms * UINT64_C(1000000);

    for (;;) {
        bool late = cintio_now() > end; /* before the look: it is the last */
        uint32_t csts = cintio_read32(dev, NVME_REG_CSTS);

        if (csts == NVME_GONE) {
            return cintio_fail(err, -ENODEV, "%s was removed",
                               dev->info.address);
        }
        if (!(csts & NVME_CSTS_RDY) == !ready) {
            return 0;
        }
        if ((csts & NVME_CSTS_CFS) && ready) {
            return cintio_fail(err, -EIO, "%s failed while it was started "
                               "(CSTS.CFS)", dev->info.address);
        }
        if (late) {
            return cintio_fail(err, -ETIMEDOUT, "%s did not %s in %u ms",
                               dev->info.address, ready ? "start" : "stop",
                               dev->options.timeout_ms);
        }
        cintio_nap();
    }
}

/* What fails leaves a controller that may yet write to memory. */
static int disable(struct cintio *dev, struct cintio_error *err)
{
    uint32_t cc = cintio_read32(dev, NVME_REG_CC);
    int ret;

    if (cc != NVME_GONE && (cc & NVME_CC_EN)) {
        cintio_write32(dev, NVME_REG_CC, cc & ~NVME_CC_EN);
    }
    ret = wait_ready(dev, false, err);
    atomic_store(&dev->running, ret != 0);
    return ret;
}

/*
 * So that what it has in caches, of data and its own, is on the medium. It is
 * not waited for for longer than a reset; whatever it says, it is stopped next.
 */
static void notify_shutdown(struct cintio *dev)
{
    uint64_t end = cintio_now() + dev->options.timeout_ms * UINT64_C(1000000);
    uint32_t cc = cintio_read32(dev, NVME_REG_CC), csts;
    bool late = false;

    if (atomic_load(&dev->running) || cintio_alive(dev, NULL)) {
        return;
    }
    cintio_write32(dev, NVME_REG_CC, (cc & ~NVME_CC_SHN) | NVME_CC_SHN_NORMAL);
    for (;;) {
        late = cintio_now() > end;
        csts = cintio_read32(dev, NVME_REG_CSTS);
        if (csts == NVME_GONE || (csts & NVME_CSTS_CFS) || late ||
            (csts & NVME_CSTS_SHST) == NVME_CSTS_SHST_DONE) {
            return;
        }
        cintio_nap();
    }
}

static void write64(struct cintio *dev, uint32_t offset, uint64_t value)
{
    cintio_write32(dev, offset, value);
    cintio_write32(dev, offset + 4, value >> 32);
}

/* With an admin queue of its own; whatever was before is gone. */
static int enable(struct cintio *dev, struct cintio_error *err)
{
    struct cintio_queue *admin = dev->admin;
    uint32_t entries = admin->entries - 1;

    cintio_write32(dev, NVME_REG_AQA, entries << 16 | entries);
    write64(dev, NVME_REG_ASQ, cintio_iova(admin->mem, admin->sq));
    write64(dev, NVME_REG_ACQ, cintio_iova(admin->mem, admin->cq));
    cintio_write32(dev, NVME_REG_CC,
                   NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES);
    return wait_ready(dev, true, err);
}

/* --- what the controller says ------------------------------------------- */

/* A text of Identify: blanks at its end. */
static void copy_text(char *to, const uint8_t *from, size_t len)
{
    memcpy(to, from, len);
    while (len && (to[len - 1] == ' ' || !to[len - 1])) {
        len--;
    }
    to[len] = '\0';
}

static void take_cint(struct cintio *dev, const uint8_t *page)
{
    NvmeCintIdentify cint;
    uint64_t last;

    dev->info.cint_caps = 0;
    memcpy(&cint, page + NVME_CINT_IDENTIFY_OFFSET, sizeof(cint));
    if (cint.magic != NVME_CINT_MAGIC || cint.version != NVME_CINT_VERSION) {
        return;
    }
    dev->info.cint_caps = cint.caps;
    dev->pointer_offset = cint.regs_offset;
    dev->pointer_stride = cint.regs_stride;
    /* registers that the mapping has not are registers that are not there */
    last = cint.regs_offset + (uint64_t)cint.regs_stride * dev->vectors;
    if (cint.regs_stride < sizeof(uint32_t) || last > dev->bar_size) {
        dev->info.cint_caps &= ~NVME_CINT_CAP_POINTER;
    }
}

static int identify_controller(struct cintio *dev, struct cintio_error *err)
{
    struct nvme_sqe sqe = {
        .opcode = NVME_ADMIN_IDENTIFY, .cdw10 = NVME_CNS_CONTROLLER,
    };
    uint8_t page[NVME_PAGE];
    int ret = cintio_must(dev, NULL, "identify itself", &sqe, page,
                          sizeof(page), NULL, err);
    unsigned int mdts;
    uint32_t sgls;

    if (ret) {
        return ret;
    }
    copy_text(dev->info.serial, page + 4, 20);
    copy_text(dev->info.model, page + 24, 40);
    copy_text(dev->info.firmware, page + 64, 8);
    mdts = page[77];
    dev->info.max_transfer = mdts && mdts < 9 ? NVME_PAGE << mdts
                                              : CINTIO_MAX_TRANSFER;
    memcpy(&sgls, page + 536, sizeof(sgls));
    dev->info.sgl = sgls & 3;
    take_cint(dev, page);
    return 0;
}

/* That of those who name none. */
static int identify_usual(struct cintio *dev, struct cintio_error *err)
{
    struct cintio_namespace ns;
    int ret;

    if (dev->info.nsid == CINTIO_NO_NAMESPACE) {
        return 0;
    }
    ret = cintio_identify_namespace(dev, dev->info.nsid, &ns, err);
    if (!ret) {
        dev->info.block_size = ns.block_size;
        dev->info.blocks = ns.blocks;
    }
    return ret;
}

static unsigned int least(unsigned int a, unsigned int b)
{
    return a < b ? a : b;
}

/* Queue pairs, the admin queue's among them, whose doorbells are mapped. */
static unsigned int pairs_with_doorbells(const struct cintio *dev)
{
    return (dev->bar_size - NVME_REG_DOORBELLS) / (2u << dev->doorbell_shift);
}

static int ask_for_queues(struct cintio *dev, struct cintio_error *err)
{
    uint32_t wanted = dev->options.queues - 1, granted;
    struct nvme_sqe sqe = {
        .opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = NVME_FID_QUEUES,
        .cdw11 = wanted << 16 | wanted,
    };
    int ret = cintio_must(dev, NULL, "give I/O queues", &sqe, NULL, 0, &granted,
                          err);
    unsigned int queues;

    if (ret) {
        return ret;
    }
    queues = least((granted & 0xffff) + 1, (granted >> 16) + 1);
    queues = least(queues, dev->options.queues);
    queues = least(queues, pairs_with_doorbells(dev) - 1);
    /* those without interrupts need none */
    dev->info.queues = dev->vectors < 2 ? queues
                                        : least(queues, dev->vectors - 1);
    return 0;
}

/* --- start, reset, end -------------------------------------------------- */

static int check_capabilities(struct cintio *dev, struct cintio_error *err)
{
    uint64_t cap = cintio_read32(dev, NVME_REG_CAP) |
                   (uint64_t)cintio_read32(dev, NVME_REG_CAP + 4) << 32;
    unsigned int entries = NVME_CAP_MQES(cap);

    if (cap == UINT64_MAX) {
        return cintio_fail(err, -ENODEV, "%s does not answer",
                           dev->info.address);
    }
    if (NVME_CAP_MPSMIN(cap)) {
        return cintio_fail(err, -ENOTSUP, "%s needs pages larger than 4 KiB",
                           dev->info.address);
    }
    if (NVME_CAP_TO_MS(cap) > dev->options.timeout_ms) {
        dev->options.timeout_ms = NVME_CAP_TO_MS(cap);
    }
    dev->doorbell_shift = 2 + NVME_CAP_DSTRD(cap);
    if (pairs_with_doorbells(dev) < 2) {
        return cintio_fail(err, -ENOTSUP, "the doorbells of %s, %u bytes "
                           "apart, lie beyond its BAR0 of %zu bytes",
                           dev->info.address, 1u << dev->doorbell_shift,
                           dev->bar_size);
    }
    dev->info.max_entries = entries > UINT16_MAX ? UINT16_MAX : entries;
    return 0;
}

static int take_options(struct cintio *dev, const struct cintio_options *given,
                        struct cintio_error *err)
{
    struct cintio_options *options = &dev->options;
    int ret = given ?
        cintio_take_sized(options, sizeof(*options), CINTIO_OPTIONS_0_1,
                          given, "struct cintio_options", err) : 0;

    if (ret) {
        return ret;
    }
    if (options->queues > CINTIO_MAX_QUEUES) {
        return cintio_fail(err, -EINVAL, "%u queues: 1 to %u can be asked for",
                           options->queues, CINTIO_MAX_QUEUES);
    }
    options->queues = options->queues ? options->queues : DEFAULT_QUEUES;
    options->timeout_ms = options->timeout_ms ? options->timeout_ms
                                              : DEFAULT_TIMEOUT_MS;
    dev->info.nsid = options->nsid ? options->nsid : 1;
    return 0;
}

/* What was learned is for all to see, if it is anything new. */
static int publish(struct cintio *dev, struct cintio_error *err)
{
    struct cintio_learned *before = atomic_load(&dev->learned), *now;

    if (before && !memcmp(&before->info, &dev->info, sizeof(dev->info))) {
        return 0;
    }
    now = malloc(sizeof(*now));
    if (!now) {
        return cintio_fail(err, -ENOMEM, "out of memory");
    }
    memcpy(&now->info, &dev->info, sizeof(dev->info));
    now->before = before;
    atomic_store(&dev->learned, now);
    return 0;
}

static int bring_up(struct cintio *dev, struct cintio_error *err)
{
    int ret = disable(dev, err);

    if (!ret) {
        ret = enable(dev, err);
    }
    if (!ret) {
        ret = identify_controller(dev, err);
    }
    if (!ret) {
        ret = identify_usual(dev, err);
    }
    if (!ret) {
        ret = ask_for_queues(dev, err);
    }
    return ret ? ret : publish(dev, err);
}

static void init_locks(struct cintio *dev)
{
    pthread_rwlockattr_t attr;

    /* a reset is not kept waiting by those who come later */
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&dev->reset_lock, &attr);
    pthread_rwlockattr_destroy(&attr);
    pthread_mutex_init(&dev->admin_lock, NULL);
    pthread_mutex_init(&dev->tables_lock, NULL);
}

int cintio_start(struct cintio *dev, const char *address,
                 const struct cintio_options *options,
                 struct cintio_error *err)
{
    int ret;

    dev->info.size = sizeof(dev->info);
    snprintf(dev->info.address, sizeof(dev->info.address), "%s", address);
    dev->space = dev->space ? dev->space : dev;
    init_locks(dev);
    ret = take_options(dev, options, err);
    if (!ret) {
        ret = check_capabilities(dev, err);
    }
    if (ret) {
        return ret;
    }
    dev->queues = calloc(dev->options.queues, sizeof(*dev->queues));
    /* its lists of PRPs are room for data, of two pages each */
    ret = dev->queues ? cintio_queue_new(dev, 0, CINTIO_ADMIN_ENTRIES,
                                         2 * CINTIO_MAX_TRANSFER, &dev->admin,
                                         err)
                      : cintio_fail(err, -ENOMEM, "out of memory");
    return ret ? ret : bring_up(dev, err);
}

int cintio_reset(struct cintio *dev, struct cintio_error *err)
{
    int ret;

    /* then those who wait for an answer leave */
    atomic_fetch_add(&dev->resets, 1);
    pthread_rwlock_wrlock(&dev->reset_lock);
    atomic_fetch_sub(&dev->resets, 1);
    /* what is given back by then is in use until it has stopped */
    atomic_store(&dev->running, true);
    /* first, for whoever is woken looks at it */
    atomic_fetch_add(&dev->generation, 1);
    for (unsigned int i = 0; i < dev->options.queues; i++) {
        /* it keeps its identifier, whose doorbells its owner may yet write */
        if (dev->queues[i]) {
            cintio_queue_wake(dev->queues[i]);
        }
    }
    ret = disable(dev, err);
    if (!ret) {
        cintio_let_go_of_destroyed(dev);
        dev->keeps_records = false;
        cintio_admin_empty(dev);
        ret = bring_up(dev, err);
    }
    pthread_rwlock_unlock(&dev->reset_lock);
    return ret;
}

static void forget(struct cintio_learned *learned)
{
    struct cintio_learned *before;

    for (; learned; learned = before) {
        before = learned->before;
        free(learned);
    }
}

void cintio_close(struct cintio *dev)
{
    if (!dev) {
        return;
    }
    if (dev->admin && !dev->inherited) {
        notify_shutdown(dev);
        /* nothing may write to memory that is about to be somebody else's */
        disable(dev, NULL);
    }
    if (dev->admin) {
        cintio_queue_free(dev->admin);
    }
    for (unsigned int i = 0; dev->queues && i < dev->options.queues; i++) {
        if (dev->queues[i]) {
            cintio_queue_free(dev->queues[i]);
        }
    }
    cintio_free_ring(dev, dev->records);
    free(dev->queues);
    forget(atomic_load(&dev->learned));
    cintio_forget_namespaces(dev);
    dev->ops->close(dev);   /* which ends what the controller does, at last */
    cintio_free_kept(dev);
    if (dev->ops->release) {
        dev->ops->release(dev);
    }
    pthread_rwlock_destroy(&dev->reset_lock);
    pthread_mutex_destroy(&dev->admin_lock);
    pthread_mutex_destroy(&dev->tables_lock);
    free(dev);
}

const struct cintio_info *cintio_info(const struct cintio *dev)
{
    const struct cintio_learned *learned = atomic_load(&dev->learned);

    return learned ? &learned->info : NULL;
}

int cintio_removal_fd(const struct cintio *dev)
{
    return dev->removal;
}

/* --- log page and status records ---------------------------------------- */

static int read_log(struct cintio *dev, uint64_t offset, void *buf, size_t len,
                    struct cintio_error *err)
{
    struct nvme_sqe sqe = {
        .opcode = NVME_ADMIN_GET_LOG, .nsid = UINT32_MAX,
        .cdw10 = (uint32_t)(len / 4 - 1) << 16 | NVME_CINT_LID,
        .cdw12 = offset, .cdw13 = offset >> 32,
    };

    return cintio_must(dev, NULL, "give log page D0h", &sqe, buf, len, NULL,
                       err);
}

/* Bytes of a page with such a header; 0: it is none. */
static size_t log_len(const NvmeCintLogHeader *head)
{
    size_t len = head->header_size +
                 (size_t)head->records * head->record_size +
                 (size_t)head->sq_records * head->sq_record_size;

    return head->magic == NVME_CINT_MAGIC && len % 4 == 0 &&
           head->header_size >= sizeof(*head) &&
           head->record_size >= sizeof(NvmeCintLogRecord) ? len : 0;
}

/* The first @len bytes, which are to be all; 0: they are not any more. */
static int read_all_of_log(struct cintio *dev, uint8_t *text, size_t len,
                           struct cintio_error *err)
{
    NvmeCintLogHeader head;
    int ret = 0;

    for (size_t at = 0; at < len && !ret; at += LOG_PIECE) {
        ret = read_log(dev, at, text + at,
                       len - at < LOG_PIECE ? len - at : LOG_PIECE, err);
    }
    memcpy(&head, text, sizeof(head));
    return ret ? ret : log_len(&head) == len;
}

/* It has a record for each queue, and other threads make queues meanwhile. */
static int read_whole_log(struct cintio *dev, void **page, size_t *size,
                          struct cintio_error *err)
{
    NvmeCintLogHeader head;
    uint8_t *text;
    int ret;

    for (unsigned int tries = 0; tries < MAX_LOG_TRIES; tries++) {
        ret = read_log(dev, 0, &head, sizeof(head), err);
        *size = ret ? 0 : log_len(&head);
        text = *size ? malloc(*size) : NULL;
        if (!text) {
            break;
        }
        ret = read_all_of_log(dev, text, *size, err);
        if (ret > 0) {
            *page = text;
            return 0;
        }
        free(text);
        if (ret) {
            return ret;
        }
    }
    return ret ? ret : cintio_fail(err, -EIO, "log page D0h of %s makes no "
                                   "sense", dev->info.address);
}

int cintio_log(struct cintio *dev, void **page, size_t *len,
               struct cintio_error *err)
{
    int ret;

    if (!(cintio_info(dev)->cint_caps & NVME_CINT_CAP_LOG)) {
        return cintio_fail(err, -ENOTSUP, "%s has no log page D0h: its device "
                           "needs cint=on", dev->info.address);
    }
    cintio_enter(dev);
    ret = read_whole_log(dev, page, len, err);
    cintio_leave(dev);
    return ret;
}

static int set_records(struct cintio *dev, bool on, struct cintio_error *err)
{
    NvmeCintStatus status = {
        .addr = on ? cintio_iova(dev->records, dev->records->addr) : 0,
        .records = on ? dev->info.queues + 1 : 0,
    };
    struct nvme_sqe sqe = {
        .opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = NVME_CINT_FID_STATUS,
    };

    return cintio_must(dev, NULL, "keep status records", &sqe, &status,
                       sizeof(status), NULL, err);
}

/*
 * Once there is memory for them it stays: a queue from before a reset looks at
 * its record until it is destroyed.
 */
static int get_records(struct cintio *dev, struct cintio_error *err)
{
    return dev->records ? 0 :
        cintio_alloc(dev, (dev->options.queues + 1) * sizeof(NvmeCintRecord),
                     &dev->records, err);
}

/* No queue comes from here to the end of the switch. */
static int begin_switch(struct cintio *dev, struct cintio_error *err)
{
    bool busy;

    pthread_mutex_lock(&dev->tables_lock);
    busy = dev->switching;
    for (unsigned int i = 0; i < dev->options.queues; i++) {
        busy |= dev->queues[i] != NULL;
    }
    dev->switching |= !busy;
    pthread_mutex_unlock(&dev->tables_lock);
    return !busy ? 0 :
        cintio_fail(err, -EBUSY, "%s has queues: status records are switched "
                    "before there are any", dev->info.address);
}

static void end_switch(struct cintio *dev)
{
    pthread_mutex_lock(&dev->tables_lock);
    dev->switching = false;
    pthread_mutex_unlock(&dev->tables_lock);
}

static int switch_records(struct cintio *dev, bool on, struct cintio_error *err)
{
    int ret = 0;

    if (on == dev->keeps_records) {
        return 0;
    }
    if (on) {
        ret = get_records(dev, err);
    }
    if (!ret && on) {
        /* one of before would look new to queues that count from 0 again */
        memset(dev->records->addr, 0, dev->records->len);
    }
    if (!ret) {
        ret = set_records(dev, on, err);
    }
    if (!ret) {
        dev->keeps_records = on;
    }
    return ret;
}

int cintio_records(struct cintio *dev, bool on, struct cintio_error *err)
{
    int ret;

    if (!(cintio_info(dev)->cint_caps & NVME_CINT_CAP_STATUS_RECORDS)) {
        return cintio_fail(err, -ENOTSUP, "%s keeps no interrupt status "
                           "records: its device needs cint=on",
                           dev->info.address);
    }
    cintio_enter(dev);
    ret = begin_switch(dev, err);
    if (!ret) {
        ret = switch_records(dev, on, err);
        end_switch(dev);
    }
    cintio_leave(dev);
    return ret;
}
