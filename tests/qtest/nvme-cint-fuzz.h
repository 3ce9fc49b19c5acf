/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the parts of nvme-cint-fuzz-test share: where the hostile guest is, and
 * what it writes.
 */
#ifndef QTEST_NVME_CINT_FUZZ_H
#define QTEST_NVME_CINT_FUZZ_H

#include "qemu/bswap.h"
#include "nvme-cint-machine.h"

#define FUZZ_QUEUES     3           /* I/O queue pairs of each controller */
#define FUZZ_ENTRIES    16
#define FUZZ_PAGES      8           /* for queues that are created anew */
#define FUZZ_DOORBELLS  0x1000
#define FUZZ_BAR_END    0x2000      /* the MSI-X table is further up */
/* Namespaces of the two controllers that share; the last is in an image. */
#define FUZZ_NAMESPACES 7

/* One controller, and what the guest keeps for it. */
typedef struct Victim {
    CintNode *node;
    QNvmeCtrl *n;
    uint64_t bar;               /* where BAR 0 was at the start */
    uint64_t flr;               /* Device Control */
    uint64_t slot;              /* Slot Control of its port */
    uint64_t shadow;            /* two pages for Doorbell Buffer Config */
    uint64_t queues;            /* FUZZ_PAGES pages */
    uint64_t admin_tail;
    uint8_t msix;               /* offset of MSI-X's control */
    uint8_t pm;                 /* and of power management's */
} Victim;

typedef struct Fuzz {
    CintMachine *m;
    QTestState *qts;
    Victim victims[CINT_NODES];
    Victim *v;                  /* the one that is attacked */
    uint64_t inputs;
    uint64_t iommu;             /* two pages for intel-iommu's tables, or 0 */
    bool has_virtio_iommu;
    CintIommu *virtio_iommu;    /* or NULL: it answers no more */
    uint64_t card;              /* registers of the SD host, a page */
    CintBlk *blk;
    uint64_t lure;              /* where half of the addresses are, or 0 */
} Fuzz;

/* ---- Random values ---- */

uint32_t fuzz_below(uint32_t limit);
bool fuzz_one_in(uint32_t n);
uint32_t fuzz_any32(void);

/** fuzz_number: small ones, limits and their neighbours, what resets */
uint32_t fuzz_number(void);

/** fuzz_victim: any of the controllers */
Victim *fuzz_victim(Fuzz *f);

/** fuzz_address: of memory, of nothing, of registers; see fuzz_registers() */
uint64_t fuzz_address(Fuzz *f);

/**
 * fuzz_registers: an address in registers or configuration space of any
 * controller or root port, mostly of what resets
 */
uint64_t fuzz_registers(Fuzz *f);

/* ---- Inputs: each counts ---- */

void fuzz_put_memory(Fuzz *f, uint64_t addr, const void *bytes, size_t size);
void fuzz_put_register(Fuzz *f, uint64_t offset, uint32_t value);

/* ---- Commands ---- */

/** fuzz_admin: writes an admin command into the queue and rings */
void fuzz_admin(Fuzz *f);

/** fuzz_io: writes I/O commands into a queue and rings, or both at once */
void fuzz_io(Fuzz *f);

/**
 * fuzz_move_queue: has an I/O submission queue deleted, and created at @addr
 *
 * Returns: its identifier
 */
uint16_t fuzz_move_queue(Fuzz *f, uint64_t addr);

/** fuzz_garbage: fills the page that commands take their data from */
void fuzz_garbage(Fuzz *f);

#endif /* QTEST_NVME_CINT_FUZZ_H */
