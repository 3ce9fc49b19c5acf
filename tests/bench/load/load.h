/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A load generator inside QEMU: the driver of one nvme or virtio-blk device,
 * run by the main loop in place of a guest. Only the builds that "./cint
 * bench" makes for itself have it.
 *
 * It does what a guest's driver does and nothing else: entries and data are
 * in guest memory, doorbells are MMIO writes, completions are looked for when
 * a message of MSI-X has come, which a memory region of the generator's
 * receives. What has no part in it: a vCPU, its exits, the interrupt
 * controller; a second thread neither, unless the device has IOThreads.
 *
 * Threads: everything runs in the main loop, under the BQL.
 */
#ifndef CINT_LOAD_H
#define CINT_LOAD_H

#include "exec/hwaddr.h"
#include "exec/memory.h"
#include "hw/pci/pci_device.h"
#include "hw/qdev-core.h"
#include "qom/object.h"
#include "qemu/queue.h"

#define TYPE_LOAD   "load-generator"
OBJECT_DECLARE_SIMPLE_TYPE(Load, LOAD)

#define LOAD_BLOCK      4096    /* bytes of a read */
#define LOAD_SECTOR     512
#define LOAD_ENTRIES    1024    /* of a queue */
#define LOAD_MAX_DEPTH  340     /* virtio-blk takes three entries a read */
#define LOAD_MAX_QUEUES 64

typedef struct LoadQueue {
    Load *load;
    unsigned index;         /* from 0; its vector is index + 1 */
    uint16_t *free;         /* slots without a read, a stack */
    unsigned nr_free;
    hwaddr data;            /* LOAD_BLOCK bytes for each slot */
    bool interrupted;       /* linked into Load.interrupted */
    QSIMPLEQ_ENTRY(LoadQueue) entry;
    void *ring;             /* the driver's */
} LoadQueue;

/* What differs between nvme and virtio-blk. */
typedef struct LoadDriver {
    const char *type;       /* QOM type of the device */
    bool waits;             /* start() does: it is run in a coroutine */
    /* Brings the device up, with @load->queues queues. */
    void coroutine_fn (*start)(Load *load);
    /* Writes a read of block @block; the device is not told. */
    void (*submit)(LoadQueue *q, unsigned slot, uint64_t block);
    /* Tells the device of all that was written. */
    void (*kick)(LoadQueue *q);
    /* Takes the completions there are, each with load_done(). */
    void (*reap)(LoadQueue *q);
    /* How many reap() would take. */
    unsigned (*visible)(LoadQueue *q);
} LoadDriver;

extern const LoadDriver load_nvme;
extern const LoadDriver load_virtio;

/* What is counted between the end of the warm-up and the last read. */
typedef struct LoadCounts {
    uint64_t reads;
    uint64_t interrupts;
    uint64_t kicks;
    int64_t wall_ns;
    int64_t cpu_ns;         /* of the main loop's thread */
    int64_t process_ns;     /* of all threads */
} LoadCounts;

struct Load {
    DeviceState parent_obj;

    /* Properties */
    char *target;           /* id of the device */
    uint32_t nr_queues;
    uint32_t depth;         /* reads in flight in each queue */
    uint32_t batch;         /* reads with each doorbell write */
    uint64_t reads;
    uint64_t warmup;        /* reads before those that count */
    uint64_t blocks;        /* of the medium */
    bool step;              /* step a clock that does not run by itself */

    const LoadDriver *driver;
    PCIDevice *pci;
    LoadQueue queues[LOAD_MAX_QUEUES];
    QSIMPLEQ_HEAD(, LoadQueue) interrupted;
    QEMUBH *bh;             /* the guest's interrupt handlers */
    QEMUBH *rest_bh;        /* steps the clock when nothing is left to do */
    MemoryRegion sink;      /* receives the messages */
    hwaddr next_bar, next_ram;
    uint64_t random;
    uint64_t done;
    bool counting;
    int64_t limit_us;       /* real time at which it gives up */
    LoadCounts counts;
};

/* load.c */

/** load_done: a driver's reap() took the completion of @slot */
void load_done(LoadQueue *q, unsigned slot, bool success);

/** load_alloc: @size bytes of guest memory, zeroed, aligned to a page */
hwaddr load_alloc(Load *load, size_t size);

/** load_host: where guest memory at @addr is in this process */
void *load_host(hwaddr addr);

/* load-pci.c: what firmware and a guest's PCI code do. */

/** load_check_limit: ends QEMU with @what if the run takes too long */
void load_check_limit(const Load *load, const char *what);

/** load_pci_start: assigns BARs, enables memory, bus mastering and MSI-X */
void load_pci_start(Load *load);

/** load_pci_bar: guest physical address of @offset in BAR @bar */
hwaddr load_pci_bar(Load *load, unsigned bar, hwaddr offset);

/* MMIO at a guest physical address, little endian. */
uint32_t load_read(hwaddr addr, unsigned size);
void load_write(hwaddr addr, uint32_t value, unsigned size);

#endif /* CINT_LOAD_H */
