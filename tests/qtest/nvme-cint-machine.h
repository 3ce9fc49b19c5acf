/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A q35 machine on which a controller's writes reach more than memory:
 * configuration space lies in memory (MMCONFIG), controllers are on the root
 * bus or behind root ports with hot-plug, and share namespaces.
 *
 * What a guest does there may reset or unplug any of them and turn ports into
 * anything. cint_machine_enumerate() makes it whole again, as firmware and
 * drivers do after that: nothing that was handed out before is valid then.
 */
#ifndef QTEST_NVME_CINT_MACHINE_H
#define QTEST_NVME_CINT_MACHINE_H

#include "libqos/virtio-pci.h"
#include "nvme-cint-common.h"
#include "nvme-cint-watch.h"

#define CINT_ECAM           0xb0000000u     /* MMCONFIG */
#define CINT_NODES          3
#define CINT_RAM_SIZE       (64 * 1024 * 1024)
/* Slot Control: power off, indicator off. What hot-plug takes for "gone". */
#define CINT_SLOT_OFF       0x0700

/* A controller, and where it is. */
typedef struct CintPlan {
    const char *opts;       /* of -device nvme: "" or from a comma on */
    bool behind_port;       /* a root port of its own */
} CintPlan;

typedef struct CintNode {
    char *opts;
    bool behind_port;
    CintTest t;             /* not to be shut down by itself */
    QPCIDevice *port;       /* NULL on the root bus */
    int devfn;              /* with the bus number above bit 7 */
    unsigned index;
} CintNode;

typedef struct CintMachine {
    QTestState *qts;
    QGuestAllocator alloc;
    QPCIBus *bus;
    CintNode node[CINT_NODES];
    unsigned nodes;
    QVirtioPCIDevice *blk;  /* once there has been a CintBlk */
} CintMachine;

/* Block nodes d0, d1, d2: of zeroes, 1 GiB. */
#define CINT_NULL_NODE(name, more) \
    "-blockdev driver=null-co,node-name=" name ",size=1073741824," \
    "read-zeroes=on" more " "
/* The same, that take @ns of real time. */
#define CINT_SLOW_NODE(name, ns)    CINT_NULL_NODE(name, ",latency-ns=" #ns)

#define CINT_IMAGE_MIB      16
/* Options of -blockdev for an image: of its tables two are kept. */
#define CINT_IMAGE          "driver=qcow2,l2-cache-size=1024"

/**
 * cint_image_new: an empty image (qcow2) in which 32 KiB have a table
 *
 * So who looks for a block mostly waits for the file.
 *
 * Returns: its path, to be unlinked and freed
 */
char *cint_image_new(void);

/* Root ports take part in hot-plug, not ACPI. */
#define CINT_NATIVE_HOTPLUG \
    "-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off "

/**
 * cint_machine_new: starts the machine, and takes its controllers over
 * @args: QEMU arguments that come before the controllers
 * @plans: up to CINT_NODES of them; ends with opts of NULL
 * @more: arguments that come behind them, such as namespaces; may be NULL
 *
 * Controllers have identifiers nvme0, nvme1, nvme2. The machine is watched
 * (nvme-cint-watch.h) until cint_machine_free().
 */
CintMachine *cint_machine_new(const char *args, const CintPlan *plans,
                              const char *more);
void cint_machine_free(CintMachine *m);

/**
 * cint_machine_enumerate: sets up buses, ports, and controllers, which are
 * reset, and enabled without I/O queues
 *
 * Unplugged ones are plugged again. Guest memory is free again.
 */
void cint_machine_enumerate(CintMachine *m);

/**
 * cint_machine_expect_sane: after cint_machine_enumerate() each controller
 * posts each CQE, and sends a message
 */
void cint_machine_expect_sane(CintMachine *m);

/** cint_machine_expect_recovers: both of the above */
void cint_machine_expect_recovers(CintMachine *m);

/** cint_machine_run: moves the clock, and lets the main loop run */
void cint_machine_run(CintMachine *m, int64_t ns);

/* ---- What a guest can aim at: guest physical addresses ---- */

/** cint_config_at: configuration space of a function, 4 KiB */
uint64_t cint_config_at(const QPCIDevice *dev);

/** cint_flr_at: Device Control, where PCI_EXP_DEVCTL_BCR_FLR resets */
uint64_t cint_flr_at(QPCIDevice *dev);

/** cint_slot_control_at: Slot Control of a root port */
uint64_t cint_slot_control_at(QPCIDevice *port);

/* Offsets in configuration space: Message Control of MSI-X, and PMCSR. */
uint8_t cint_msix_control_of(QPCIDevice *dev);
uint8_t cint_power_control_of(QPCIDevice *dev);

/* ---- Devices of other kinds, which wait, and reset meanwhile ---- */

/* Slots on the root bus, as cint_machine_new() leaves them free. */
#define CINT_CARD_SLOT      0x10
#define CINT_BLK_SLOT       0x11
#define CINT_IOMMU_SLOT     0x12

/* An SD host with a card whose disk takes @ns of real time for each block. */
#define CINT_CARD(ns) \
    CINT_SLOW_NODE("card", ns) \
    " -device sdhci-pci,addr=10 -device sd-card,drive=card,bus=sd-bus "
#define CINT_CARD_PORT      0x20        /* the data port, a dword */
#define CINT_CARD_REGISTERS 0x100

/**
 * cint_card_begin: a card is read or written from its start, block after block
 *
 * A block has four bytes. So whoever reads the data port waits, in the main
 * loop, for the disk to have the next one; who writes it, for this one.
 *
 * Returns: where that host's registers are, at the start of a page
 */
uint64_t cint_card_begin(CintMachine *m, bool write);

/**
 * cint_card_stop: that host is reset, wherever its registers were
 *
 * Returns: as above
 */
uint64_t cint_card_stop(CintMachine *m);

/* Flash memory whose disk takes @ns of real time; what erases a sector */
#define CINT_FLASH(ns) \
    "-machine q35,pflash0=flash -blockdev driver=null-co,node-name=flash," \
    "size=4194304,read-zeroes=on,latency-ns=" stringify(ns) " "
#define CINT_FLASH_SIZE     (4u * 1024 * 1024)
#define CINT_FLASH_AT       (0ull + (uint32_t)-CINT_FLASH_SIZE)
#define CINT_FLASH_ERASE    0x20

/* A disk that takes @ns of real time, and that is told and tells at once. */
#define CINT_BLK(ns) \
    CINT_SLOW_NODE("blk", ns) \
    " -device virtio-blk-pci,addr=11,drive=blk,ioeventfd=off "

/* Its driver, which sends reads and looks at none of them. */
typedef struct CintBlk {
    QTestState *qts;
    QVirtioPCIDevice *dev;
    QVirtQueue *vq;
    uint64_t doorbell;
} CintBlk;

/** cint_blk_begin: resets that disk; its one queue sends messages to nowhere */
CintBlk *cint_blk_begin(CintMachine *m);
void cint_blk_free(CintBlk *blk);

/**
 * cint_blk_stop: wherever its registers were, it accesses memory no more; what
 * cint_blk_begin() has returned is good for cint_blk_free() only
 */
void cint_blk_stop(CintMachine *m);

/** cint_blk_aim: a message for each read that is done writes @value to @at */
void cint_blk_aim(CintBlk *blk, uint64_t at, uint32_t value);

/**
 * cint_blk_offer: @count reads are in the queue, up to its size, less those
 * that are done already; the disk has not been told
 */
void cint_blk_offer(CintBlk *blk, uint16_t count);

/** cint_blk_doorbell: where writing 0, of two bytes, tells it */
static inline uint64_t cint_blk_doorbell(const CintBlk *blk)
{
    return blk->doorbell;
}

#define CINT_IOMMU          " -device virtio-iommu-pci,addr=12 "
#define CINT_IOMMU_DOMAIN   1

/* The driver of a virtio-iommu, which reports faults where it is told to. */
typedef struct CintIommu {
    QTestState *qts;
    QVirtioPCIDevice *dev;
    QVirtQueue *requests;
    QVirtQueue *events;
    uint64_t page;              /* for requests */
} CintIommu;

/**
 * cint_iommu_begin: resets a virtio-iommu at CINT_IOMMU_SLOT
 *
 * Whatever was attached passes through, until it is attached.
 */
CintIommu *cint_iommu_begin(QPCIBus *bus, QGuestAllocator *alloc);
void cint_iommu_free(CintIommu *v);

/**
 * cint_iommu_reset: what is not attached passes through again
 *
 * QEMU forgets no endpoint then: see cint_iommu_detach().
 */
void cint_iommu_reset(CintIommu *v);

/**
 * cint_iommu_ask: sends a request of @size bytes, which ends in room for the
 * answer
 *
 * Returns: VIRTIO_IOMMU_S_*, or a negative error: there is no answer
 */
int cint_iommu_ask(CintIommu *v, const void *request, size_t size);

/*
 * Requests. @dev's bus has its number. In the domain that is @bypass everything
 * passes through, in the other what is mapped. Return: as above
 */
int cint_iommu_attach(CintIommu *v, const QPCIDevice *dev, bool bypass);
int cint_iommu_detach(CintIommu *v, const QPCIDevice *dev, bool bypass);
int cint_iommu_map(CintIommu *v, uint64_t from, uint64_t size, uint64_t to);
int cint_iommu_unmap(CintIommu *v, uint64_t from, uint64_t size);

/**
 * cint_iommu_offer_detach: the same is in the queue, and it has not been told
 */
void cint_iommu_offer_detach(CintIommu *v, const QPCIDevice *dev, bool bypass);

/** cint_iommu_doorbell: where writing 0, of two bytes, tells it of requests */
uint64_t cint_iommu_doorbell(const CintIommu *v);

/** cint_iommu_bypass: what is not attached passes through, or has faults */
void cint_iommu_bypass(CintIommu *v, bool on);

/**
 * cint_iommu_report_to: the next CINT_IOMMU_EVENTS faults are written to @at:
 * struct virtio_iommu_fault, whose address is that of the access
 */
void cint_iommu_report_to(CintIommu *v, uint64_t at);
#define CINT_IOMMU_EVENTS   32

/** cint_iommu_reported: how many faults have been reported since it began */
unsigned cint_iommu_reported(const CintIommu *v);

/* ---- What aims ---- */

/** cint_aim: from here on messages of @vector write @data to @addr */
void cint_aim(CintTest *t, uint16_t vector, uint64_t addr, uint32_t data);

/**
 * cint_create_cq_at: creates a CQ with vector @id wherever a guest says
 * @addr: guest physical address of a page, of memory or of anything
 */
QNvmeCq *cint_create_cq_at(CintTest *t, uint16_t id, uint32_t entries,
                           uint64_t addr);

#endif /* QTEST_NVME_CINT_MACHINE_H */
