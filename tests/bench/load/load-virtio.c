/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The load generator's driver for virtio-blk-pci: split rings, no indirect
 * descriptors, event indices on both sides as a Linux guest uses them. See
 * load.h.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/error-report.h"
#include "standard-headers/linux/virtio_blk.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"

#include "load.h"

/* Descriptors of a read: its header, its data, its status. */
#define DESCS   3

typedef struct VirtioRing {
    struct vring vring;
    hwaddr desc_addr, avail_addr, used_addr;
    struct virtio_blk_outhdr *headers;  /* one for each slot */
    uint8_t *statuses;
    uint16_t next;          /* entries written */
    uint16_t told;          /* of them, those the device was told of */
    uint16_t taken;         /* completions taken */
    hwaddr doorbell;
} VirtioRing;

/* Guest physical addresses of the device's structures. */
typedef struct VirtioRegs {
    hwaddr common, notify;
    uint32_t multiplier;
} VirtioRegs;

#define COMMON(regs, field) \
    ((regs)->common + offsetof(struct virtio_pci_common_cfg, field))

static VirtioRegs find_regs(Load *load)
{
    const uint8_t *config = load->pci->config;
    uint8_t pos = config[PCI_CAPABILITY_LIST];
    VirtioRegs regs = { 0 };

    for (; pos; pos = config[pos + PCI_CAP_LIST_NEXT]) {
        const uint8_t *cap = config + pos;
        hwaddr addr;

        if (cap[0] != PCI_CAP_ID_VNDR) {
            continue;
        }
        addr = load_pci_bar(load, cap[VIRTIO_PCI_CAP_BAR],
                            pci_get_long(cap + VIRTIO_PCI_CAP_OFFSET));
        if (cap[VIRTIO_PCI_CAP_CFG_TYPE] == VIRTIO_PCI_CAP_COMMON_CFG) {
            regs.common = addr;
        } else if (cap[VIRTIO_PCI_CAP_CFG_TYPE] == VIRTIO_PCI_CAP_NOTIFY_CFG) {
            regs.notify = addr;
            regs.multiplier = pci_get_long(cap + VIRTIO_PCI_NOTIFY_CAP_MULT);
        }
    }
    return regs;
}

static void write_features(const VirtioRegs *regs, uint32_t word,
                           uint32_t features)
{
    uint32_t offered;

    load_write(COMMON(regs, device_feature_select), word, 4);
    offered = load_read(COMMON(regs, device_feature), 4);
    if (features & ~offered) {
        error_report("%s: the device lacks features 0x%x", TYPE_LOAD,
                     features & ~offered);
        exit(1);
    }
    load_write(COMMON(regs, guest_feature_select), word, 4);
    load_write(COMMON(regs, guest_feature), features, 4);
}

static void negotiate(const VirtioRegs *regs, bool multiqueue)
{
    uint8_t status = VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER;

    load_write(COMMON(regs, device_status), 0, 1);
    load_write(COMMON(regs, device_status), status, 1);
    write_features(regs, 0, 1u << VIRTIO_RING_F_EVENT_IDX |
                            (multiqueue ? 1u << VIRTIO_BLK_F_MQ : 0));
    write_features(regs, 1, 1u << (VIRTIO_F_VERSION_1 - 32));
    load_write(COMMON(regs, device_status),
               status | VIRTIO_CONFIG_S_FEATURES_OK, 1);
}

static void write_addr(hwaddr reg, uint64_t addr)
{
    load_write(reg, addr, 4);
    load_write(reg + 4, addr >> 32, 4);
}

static VirtioRing *new_ring(Load *load)
{
    VirtioRing *ring = g_new0(VirtioRing, 1);

    ring->desc_addr = load_alloc(load, vring_size(LOAD_ENTRIES, LOAD_BLOCK));
    vring_init(&ring->vring, LOAD_ENTRIES, load_host(ring->desc_addr),
               LOAD_BLOCK);
    ring->avail_addr = ring->desc_addr +
        ((char *)ring->vring.avail - (char *)ring->vring.desc);
    ring->used_addr = ring->desc_addr +
        ((char *)ring->vring.used - (char *)ring->vring.desc);
    return ring;
}

/* The descriptors of a slot never change. */
static void fill_descs(LoadQueue *q, VirtioRing *ring)
{
    Load *load = q->load;
    hwaddr headers = load_alloc(load, load->depth * sizeof(*ring->headers));
    hwaddr statuses = load_alloc(load, load->depth);
    unsigned i;

    ring->headers = load_host(headers);
    ring->statuses = load_host(statuses);
    for (i = 0; i < load->depth; i++) {
        struct vring_desc *desc = &ring->vring.desc[i * DESCS];

        desc[0].addr = cpu_to_le64(headers + i * sizeof(*ring->headers));
        desc[0].len = cpu_to_le32(sizeof(*ring->headers));
        desc[0].flags = cpu_to_le16(VRING_DESC_F_NEXT);
        desc[0].next = cpu_to_le16(i * DESCS + 1);
        desc[1].addr = cpu_to_le64(q->data + i * LOAD_BLOCK);
        desc[1].len = cpu_to_le32(LOAD_BLOCK);
        desc[1].flags = cpu_to_le16(VRING_DESC_F_NEXT | VRING_DESC_F_WRITE);
        desc[1].next = cpu_to_le16(i * DESCS + 2);
        desc[2].addr = cpu_to_le64(statuses + i);
        desc[2].len = cpu_to_le32(1);
        desc[2].flags = cpu_to_le16(VRING_DESC_F_WRITE);
        ring->headers[i].type = cpu_to_le32(VIRTIO_BLK_T_IN);
    }
}

static void start_queue(LoadQueue *q, const VirtioRegs *regs)
{
    VirtioRing *ring = new_ring(q->load);

    fill_descs(q, ring);
    q->ring = ring;
    load_write(COMMON(regs, queue_select), q->index, 2);
    load_write(COMMON(regs, queue_size), LOAD_ENTRIES, 2);
    load_write(COMMON(regs, queue_msix_vector), q->index + 1, 2);
    write_addr(COMMON(regs, queue_desc_lo), ring->desc_addr);
    write_addr(COMMON(regs, queue_avail_lo), ring->avail_addr);
    write_addr(COMMON(regs, queue_used_lo), ring->used_addr);
    ring->doorbell = regs->notify + regs->multiplier *
        load_read(COMMON(regs, queue_notify_off), 2);
    load_write(COMMON(regs, queue_enable), 1, 2);
}

static void coroutine_fn virtio_start(Load *load)
{
    VirtioRegs regs = find_regs(load);
    unsigned i;

    negotiate(&regs, load->nr_queues > 1);
    for (i = 0; i < load->nr_queues; i++) {
        start_queue(&load->queues[i], &regs);
    }
    load_write(COMMON(&regs, device_status),
               VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER |
               VIRTIO_CONFIG_S_FEATURES_OK | VIRTIO_CONFIG_S_DRIVER_OK, 1);
}

static void virtio_submit(LoadQueue *q, unsigned slot, uint64_t block)
{
    VirtioRing *ring = q->ring;

    ring->headers[slot].sector = cpu_to_le64(block * (LOAD_BLOCK /
                                                      LOAD_SECTOR));
    ring->statuses[slot] = 0xff;
    ring->vring.avail->ring[ring->next++ % LOAD_ENTRIES] =
        cpu_to_le16(slot * DESCS);
}

static void virtio_kick(LoadQueue *q)
{
    VirtioRing *ring = q->ring;
    uint16_t event;

    /* Entries before the index that offers them. */
    smp_wmb();
    ring->vring.avail->idx = cpu_to_le16(ring->next);
    /* The index before the look at what the device wants to be told of. */
    smp_mb();
    event = le16_to_cpu(vring_avail_event(&ring->vring));
    if (vring_need_event(event, ring->next, ring->told)) {
        load_write(ring->doorbell, q->index, 2);
    }
    ring->told = ring->next;
}

static uint16_t used_index(VirtioRing *ring)
{
    return le16_to_cpu(ring->vring.used->idx);
}

static void virtio_reap(LoadQueue *q)
{
    VirtioRing *ring = q->ring;

    do {
        while (ring->taken != used_index(ring)) {
            struct vring_used_elem *elem =
                &ring->vring.used->ring[ring->taken++ % LOAD_ENTRIES];
            unsigned slot = le32_to_cpu(elem->id) / DESCS;

            load_done(q, slot, ring->statuses[slot] == VIRTIO_BLK_S_OK);
        }
        vring_used_event(&ring->vring) = cpu_to_le16(ring->taken);
        /* Ask for the next interrupt before the last look. */
        smp_mb();
    } while (ring->taken != used_index(ring));
}

static unsigned virtio_visible(LoadQueue *q)
{
    VirtioRing *ring = q->ring;

    return (uint16_t)(used_index(ring) - ring->taken);
}

const LoadDriver load_virtio = {
    .type = "virtio-blk-pci",
    .start = virtio_start,
    .submit = virtio_submit,
    .kick = virtio_kick,
    .reap = virtio_reap,
    .visible = virtio_visible,
};
