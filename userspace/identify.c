/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: what the controller says of itself, and what of that is gone by.
 */
#include <errno.h>
#include <string.h>

#include "admin.h"
#include "caller.h"
#include "identify.h"
#include "namespace.h"
#include "regs.h"

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

int cintio_check_capabilities(struct cintio *dev, struct cintio_error *err)
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

int cintio_identify(struct cintio *dev, struct cintio_error *err)
{
    int ret = identify_controller(dev, err);

    if (!ret) {
        ret = identify_usual(dev, err);
    }
    return ret ? ret : ask_for_queues(dev, err);
}
