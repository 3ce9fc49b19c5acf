/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For tests of hints and status records: commands with hints, feature D1h, and
 * a driver that reaps out of order by the rule of docs/interface.md. Times are
 * as in nvme-cint-common.h.
 */
#ifndef QTEST_NVME_CINT_DRIVER_H
#define QTEST_NVME_CINT_DRIVER_H

#include "nvme-cint-common.h"

/* Latency of writes with CINT_SLOW, for commands that are overtaken. */
#define CINT_SLOW_LATENCY   20000
/* Device options as CINT_PURE, but writes take CINT_SLOW_LATENCY. */
#define CINT_SLOW \
    "cint=on,cint.time=virtual,cint.media=custom," \
    "cint.media.read-latency=400,cint.media.write-latency=20000," \
    "cint.media.units=0,cint.drain=off,cint.max-hold=0"

#define CINT_RECORD_SIZE    64
#define CINT_CLASS_FULL     1
#define CINT_CLASS_URGENT   2

/* ---- Commands with hints ---- */

/** cint_push_hint: pushes a 4 KiB read with @hint (NVME_CINT_HINT_*) in CDW0 */
uint16_t cint_push_hint(CintTest *t, QNvmeSq *sq, uint8_t hint);

/** cint_read_hint: the same, and rings the doorbell */
void cint_read_hint(CintTest *t, QNvmeSq *sq, uint8_t hint);

/** cint_hinted: a read (or write) with one hint in CDW0, another in CDW13 */
NvmeCmd cint_hinted(CintTest *t, uint8_t opcode, uint8_t cdw0, uint8_t cdw13);

/* ---- Discovery ---- */

/** cint_identify: the vendor area of Identify Controller, as it stands there */
NvmeCintIdentify cint_identify(CintTest *t);

/** cint_pointer_regs: offset of CQ 0's interrupt pointer register in BAR0 */
uint64_t cint_pointer_regs(CintTest *t);

/** cint_set_pointer, cint_get_pointer: a CQ's interrupt pointer register */
void cint_set_pointer(CintTest *t, const QNvmeCq *cq, uint32_t value);
uint32_t cint_get_pointer(CintTest *t, const QNvmeCq *cq);

/* ---- Status records (feature D1h) ---- */

typedef struct CintStatus {
    uint32_t full_tail;
    uint32_t seq;
    uint32_t tail;
    uint8_t class;
    uint8_t reason;
} CintStatus;

/**
 * cint_set_status: Set Features D1h
 *
 * Returns: the status code, with flags
 */
uint16_t cint_set_status(CintTest *t, uint64_t addr, uint32_t records,
                         uint32_t reserved);

/** cint_get_status: Get Features D1h with Select @sel; must succeed */
void cint_get_status(CintTest *t, uint8_t sel, uint64_t *addr,
                     uint32_t *records);

/** cint_records_new: guest memory for @count records, filled with A5h */
uint64_t cint_records_new(CintTest *t, uint32_t count);

/** cint_records_on: the same, and tells the controller; must succeed */
uint64_t cint_records_on(CintTest *t, uint32_t count);

/** cint_status: record of @cqid in the array at @records */
CintStatus cint_status(CintTest *t, uint64_t records, uint16_t cqid);

/* ---- The driver ---- */

/*
 * One queue pair's driver. It looks at its CQ only after an interrupt. With
 * records it then reaps everything up to full_tail and, beyond that, the
 * commands it sent as Urgent; without, everything that is visible. The head
 * doorbell passes an entry when all before it are reaped.
 */
typedef struct CintDriver {
    CintTest *t;
    QNvmeSq *sq;
    QNvmeCq *cq;
    uint64_t records;       /* 0 = off */
    bool counts;            /* messages, by cint_count_messages() */
    uint32_t messages;      /* those handled, if it counts */
    uint32_t submitted;
    uint32_t completed;     /* handed to whoever waits */
    bool *in_flight;        /* by command identifier */
    bool *urgent;           /* by command identifier */
    bool *done;             /* by CQ index: reaped out of order */
} CintDriver;

CintDriver *cint_driver_new(CintTest *t, QNvmeSq *sq, uint64_t records);
void cint_driver_free(CintDriver *d);

/**
 * cint_driver_counts: from here on the driver counts the messages of its
 * vector, which is not masked then. For one driver of a machine.
 */
void cint_driver_counts(CintDriver *d);

/**
 * cint_driver_push: pushes @cmd, whose CDW0 hint the driver remembers
 *
 * Returns: the command identifier
 */
uint16_t cint_driver_push(CintDriver *d, const NvmeCmd *cmd);

/** cint_driver_read: pushes a read with @hint in CDW0 */
uint16_t cint_driver_read(CintDriver *d, uint8_t hint);

/**
 * cint_driver_interrupt: handles an interrupt if one is pending
 *
 * Fails if a command completes twice or was never sent.
 *
 * Returns: whether one was pending
 */
bool cint_driver_interrupt(CintDriver *d);

/**
 * cint_driver_expect_irq_at: the next interrupt comes at @when and lets the
 * driver reap @count CQEs
 */
#define cint_driver_expect_irq_at(d, when, count) \
    do { \
        uint32_t completed_ = (d)->completed; \
        cint_expect_quiet_to((d)->t, (d)->cq, (when) - 1); \
        cint_run_to((d)->t, when); \
        g_assert_true(cint_driver_interrupt(d)); \
        g_assert_cmpuint((d)->completed - completed_, ==, count); \
    } while (0)

/** cint_driver_run: lets 20 s pass and handles the interrupts that come */
void cint_driver_run(CintDriver *d);

/**
 * cint_driver_rest: the same; by then every command must have completed
 *
 * See cint_eager_guest() for why.
 */
void cint_driver_rest(CintDriver *d);

#endif /* QTEST_NVME_CINT_DRIVER_H */
