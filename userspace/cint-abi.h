/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cint: the interface a guest sees.
 *
 * Everything that guest software may depend on stands in this file and in
 * docs/interface.md: hint bits in the submission queue entry, the capability
 * structure in Identify Controller, and the vendor log page. The device, the
 * qtests and the user space tools read these definitions; a number here never
 * changes its meaning, new things are added at the end of reserved space.
 *
 * All multi-byte fields are little endian. The file needs only <stdint.h>.
 */
#ifndef HW_NVME_CINT_ABI_H
#define HW_NVME_CINT_ABI_H

#include <stdint.h>

#define NVME_CINT_MAGIC         0x544e4943u     /* "CINT" read as le32 */
#define NVME_CINT_VERSION       1

/*
 * Hints (cinterrupts 4.1). CDW0 bits 10 and 11 are bits 2 and 3 of the
 * command's flags byte; CDW13 bits 8 and 9 of Read and Write are the second
 * place, for senders that may not set flags. Both bits set means unmarked.
 * With a command extension type in CDW12, CDW13 is that type's. A Read or Write
 * that says nothing there is Urgent if its Access Latency (Dataset Management,
 * CDW13 bits 5:4) is low: those are the standard's own words.
 */
#define NVME_CINT_FLAGS_URGENT  (1u << 2)
#define NVME_CINT_FLAGS_BARRIER (1u << 3)
#define NVME_CINT_DW12_CETYPE   (0xfu << 16)
#define NVME_CINT_DW13_URGENT   (1u << 8)
#define NVME_CINT_DW13_BARRIER  (1u << 9)
#define NVME_CINT_DW13_LATENCY  (3u << 4)       /* 3 is low */

/* Vendor specific log page identifier. */
#define NVME_CINT_LID           0xd0
/* Get Log Page, Log Specific Field: reset the counters after this read. */
#define NVME_CINT_LSP_RESET     0x1

/* Policies, as numbers in the log page. */
enum NvmeCintPolicyId {
    NVME_CINT_POLICY_DEFAULT    = 0,
    NVME_CINT_POLICY_STATIC     = 1,
    NVME_CINT_POLICY_ADAPTIVE   = 2,
    NVME_CINT_POLICY_VIC        = 3,
    NVME_CINT_POLICY_CINT       = 4,
    NVME_CINT_POLICY_POINTER    = 5,
    NVME_CINT_POLICY_AUTO       = 6,
    NVME_CINT_POLICY_PRICE      = 7,
};

/* Why an interrupt was sent: indices into the log page's reason counters. */
enum NvmeCintReasonId {
    NVME_CINT_REASON_NONE       = 0,    /* no interrupt; never counted */
    NVME_CINT_REASON_EACH       = 1,    /* no coalescing */
    NVME_CINT_REASON_URGENT     = 2,    /* an Urgent command completed */
    NVME_CINT_REASON_BARRIER    = 3,    /* a Barrier was satisfied */
    NVME_CINT_REASON_THR        = 4,    /* threshold reached */
    NVME_CINT_REASON_QUIET      = 5,    /* delta passed with no completion */
    NVME_CINT_REASON_TIME       = 6,    /* static aggregation time */
    NVME_CINT_REASON_RATIO      = 7,    /* vIC delivery ratio */
    NVME_CINT_REASON_LOW_CIF    = 8,    /* vIC: few commands in flight */
    NVME_CINT_REASON_LOW_IOPS   = 9,    /* vIC: low completion rate */
    NVME_CINT_REASON_POINTER    = 10,   /* interrupt pointer passed */
    NVME_CINT_REASON_DRAIN      = 11,   /* nothing left in flight */
    NVME_CINT_REASON_PRESSURE   = 12,   /* completion queue nearly full */
    NVME_CINT_REASON_MAX_HOLD   = 13,   /* held for as long as allowed */
    NVME_CINT_REASON_ERROR      = 14,   /* a command failed */
    NVME_CINT_REASON_STORM      = 15,   /* released by the storm limiter */
    NVME_CINT_REASON_KICK       = 16,   /* released after a withheld message */
    NVME_CINT_REASON_RECONF     = 17,   /* policy or parameter change */
    NVME_CINT_REASON_ADMIN      = 18,   /* admin queue, never coalesced */
    NVME_CINT_NR_REASONS        = 32,   /* counters reserved in the log page */
};

/* Identify Controller, vendor area: byte 3072 on. Stock devices read zero. */
typedef struct NvmeCintIdentify {
    uint32_t magic;             /* NVME_CINT_MAGIC */
    uint16_t version;           /* NVME_CINT_VERSION */
    uint16_t size;              /* of this structure, bytes */
    uint32_t caps;              /* NVME_CINT_CAP_* */
    uint8_t  config_fid;        /* vendor Feature ID of the configuration */
    uint8_t  status_fid;        /* vendor Feature ID of the status records */
    uint8_t  lid;               /* vendor Log Page ID */
    uint8_t  rsvd15;
    uint32_t regs_offset;       /* register block in BAR0, bytes */
    uint32_t regs_stride;       /* bytes between two CQs' registers */
    uint8_t  rsvd24[40];
} NvmeCintIdentify;

#define NVME_CINT_IDENTIFY_OFFSET       3072

/* Capability bits; a clear bit means the device lacks the mechanism. */
#define NVME_CINT_CAP_HINTS             (1u << 0)
#define NVME_CINT_CAP_OOO               (1u << 1)
#define NVME_CINT_CAP_STRICT_BARRIER    (1u << 2)
#define NVME_CINT_CAP_STORM             (1u << 3)
#define NVME_CINT_CAP_VIC               (1u << 4)
#define NVME_CINT_CAP_POINTER           (1u << 5)
#define NVME_CINT_CAP_INFER             (1u << 6)
#define NVME_CINT_CAP_STATUS_RECORDS    (1u << 7)
#define NVME_CINT_CAP_LOG               (1u << 8)
#define NVME_CINT_CAP_LATENCY           (1u << 9)

/*
 * Vendor feature D0h: the configuration of a completion queue (CDW11 is its
 * identifier) or, with CDW11 = FFFFh, of all I/O completion queues and of
 * those created later. Fields of mechanisms that the device lacks, and
 * reserved ones, are 0. Set Features refuses values out of range with Invalid
 * Field and then changes nothing.
 */
#define NVME_CINT_FID_CONFIG            0xd0
#define NVME_CINT_FID_STATUS            0xd1
#define NVME_CINT_ALL_CQS               0xffff

#define NVME_CINT_FLAG_OOO              (1u << 0)
#define NVME_CINT_FLAG_STORM_RETUNE     (1u << 1)   /* clear: hold */

typedef struct NvmeCintFeature {
    uint16_t version;           /* 00 NVME_CINT_VERSION */
    uint8_t  policy;            /* 02 enum NvmeCintPolicyId */
    uint8_t  flags;             /* 03 NVME_CINT_FLAG_* */
    uint8_t  barrier;           /* 04 0 relaxed, 1 strict, 2 generation */
    uint8_t  infer;             /* 05 0 off, 1 batch, 2 all, 3 learn, ... */
    uint8_t  drain;             /* 06 0 auto, 1 on, 2 off */
    uint8_t  each_cqe;          /* 07 */
    uint32_t delta_ns;          /* 08 */
    uint16_t thr;               /* 12 */
    uint16_t static_thr;        /* 14 counted from 1, 0 = off */
    uint32_t static_time_ns;    /* 16 0 = off */
    uint32_t max_irq_rate;      /* 20 per second, 0 = no limit */
    uint8_t  ewma_shift;        /* 24 */
    uint8_t  vic_scope;         /* 25 0 controller, 1 CQ */
    uint8_t  vic_ratios;        /* 26 0 full, 1 coarse, 2 adaptive */
    uint8_t  tune;              /* 27 delta and thr follow the load */
    uint16_t cif_threshold;     /* 28 */
    uint16_t max_skip;          /* 30 0 = no limit */
    uint32_t iops_threshold;    /* 32 */
    uint32_t epoch_ms;          /* 36 */
    uint32_t kick_window_ns;    /* 40 0 = off */
    uint32_t rsvd44;
    uint64_t max_hold_ns;       /* 48 0 = off */
    uint8_t  rsvd56[8];
} NvmeCintFeature;              /* 64 bytes */

/*
 * Vendor feature D1h: the interrupt status records, what makes the urgent
 * class safe (cinterrupts 3.5 leaves open how the driver tells it apart). The
 * data buffer of Set and Get Features. @addr is aligned to 64 bytes; 0 turns
 * the records off. @records is at most the number of CQ identifiers.
 */
typedef struct NvmeCintStatus {
    uint64_t addr;              /* 00 DMA address of record 0, 0 = off */
    uint32_t records;           /* 08 queues n >= records have none */
    uint32_t rsvd12;            /* 12 */
} NvmeCintStatus;               /* 16 bytes */

/* Classes of an interrupt. */
enum NvmeCintClassId {
    NVME_CINT_CLASS_NONE        = 0,
    NVME_CINT_CLASS_FULL        = 1,    /* reap everything posted */
    NVME_CINT_CLASS_URGENT      = 2,    /* reap Urgent entries only */
};

/*
 * Record n lies at n * 64 and belongs to completion queue n. The device writes
 * it after the CQEs and before the message they are announced by, full_tail
 * last. A driver depends on full_tail alone, which no merging of messages can
 * make wrong: reap everything up to it, and beyond it Urgent entries only.
 */
#ifndef __cplusplus     /* which has "class" for itself */
typedef struct NvmeCintRecord {
    uint32_t full_tail;         /* 00 CQEs posted at the last full interrupt */
    uint32_t seq;               /* 04 messages sent for this queue */
    uint8_t  class;             /* 08 of this one: enum NvmeCintClassId */
    uint8_t  reason;            /* 09 enum NvmeCintReasonId */
    uint16_t rsvd10;            /* 10 */
    uint32_t tail;              /* 12 CQEs posted by now */
    uint8_t  rsvd16[48];        /* 16 */
} NvmeCintRecord;               /* 64 bytes */
#endif

/*
 * Register block in BAR0 at NvmeCintIdentify.regs_offset: one dword for each
 * CQ identifier, the interrupt pointer of policy "pointer". Writing sets ARM
 * and an absolute index into the queue, or ARM clear for no pointer.
 */
#define NVME_CINT_POINTER_ARM           (1u << 31)  /* read: not passed yet */
#define NVME_CINT_POINTER_SPENT         (1u << 30)  /* read: passed */
#define NVME_CINT_POINTER_INDEX         0xffffu

/*
 * Log page D0h: one header, then one record for each completion queue that
 * exists, then one for each I/O submission queue, in order of identifiers.
 * Counters start at 0 when their queue is created; they wrap at 2^64. Records
 * grow: a reader steps by record_size and sq_record_size, and reads no field
 * that lies behind it.
 */
typedef struct NvmeCintLogHeader {
    uint32_t magic;             /* 000 NVME_CINT_MAGIC */
    uint16_t version;           /* 004 NVME_CINT_VERSION */
    uint16_t header_size;       /* 006 bytes: 64 */
    uint32_t record_size;       /* 008 bytes: 3072 */
    uint16_t records;           /* 012 records that follow */
    uint8_t  policy;            /* 014 policy of new queues */
    uint8_t  virtual_time;      /* 015 1 if cint.time is virtual */
    uint64_t time_ns;           /* 016 device time of this snapshot */
    uint64_t instructions;      /* 024 executed by all vCPUs; 0: no -icount */
    uint32_t sq_record_size;    /* 032 bytes: 384 */
    uint16_t sq_records;        /* 036 records of SQs, behind those of CQs */
    uint8_t  rsvd38[26];
} NvmeCintLogHeader;

/*
 * A time distribution: bucket 0 counts 0 ns, bucket b counts values in
 * [2^(b-1), 2^b) ns, the last bucket everything above.
 */
#define NVME_CINT_HIST_BUCKETS  32
typedef struct NvmeCintHist {
    uint64_t sum_ns;
    uint64_t max_ns;
    uint64_t bucket[NVME_CINT_HIST_BUCKETS];
} NvmeCintHist;                 /* 272 bytes */

/* Distributions are kept apart by the hint of the command. */
enum NvmeCintHintId {
    NVME_CINT_HINT_NONE         = 0,
    NVME_CINT_HINT_URGENT       = 1,
    NVME_CINT_HINT_BARRIER      = 2,
    NVME_CINT_HINT_BOTH         = 3,    /* acts as unmarked, counted apart */
    NVME_CINT_NR_HINTS          = 4,
};

enum NvmeCintSourceId {
    NVME_CINT_SOURCE_CDW0       = 0,
    NVME_CINT_SOURCE_CDW13      = 1,
    NVME_CINT_SOURCE_INFERRED   = 2,
    NVME_CINT_SOURCE_LATENCY    = 3,
    NVME_CINT_NR_SOURCES        = 4,
};

/*
 * Distributions in a record are kept for unmarked (0), Urgent (1) and Barrier
 * (2) commands; a command with both hints is unmarked.
 */
#define NVME_CINT_NR_CLASSES    3

/*
 * The first CQ head doorbells after a message to a vector that is not masked:
 * what the guest took for it. The sums give the line ns = a + b * CQEs of least
 * squares.
 */
typedef struct NvmeCintAnswers {
    uint64_t count;
    uint64_t ns;                /* from the message to the doorbell */
    uint64_t cqes;              /* that the doorbell gave back */
    uint64_t cqes_cqes;         /* of each, times itself */
    uint64_t ns_cqes;           /* of each, ns times CQEs */
} NvmeCintAnswers;              /* 40 bytes */

typedef struct NvmeCintLogRecord {
    uint16_t cqid;              /* 0000 */
    uint16_t vector;            /* 0002 MSI-X vector */
    uint8_t  policy;            /* 0004 enum NvmeCintPolicyId */
    uint8_t  irq_enabled;       /* 0005 the CQ's IEN bit */
    uint16_t rsvd6;             /* 0006 */
    uint32_t cq_size;           /* 0008 entries */
    uint32_t inflight;          /* 0012 commands, now */
    uint64_t delta_ns;          /* 0016 in force now */
    uint32_t thr;               /* 0024 in force now, clamped to the CQ */
    uint32_t pending;           /* 0028 CQEs no full interrupt covers yet */
    uint64_t cqes;              /* 0032 posted */
    uint64_t irqs_full;         /* 0040 sent, full class */
    uint64_t irqs_urgent;       /* 0048 sent, urgent class */
    uint64_t irqs_masked;       /* 0056 of those, to a masked vector */
    uint64_t avoided;           /* 0064 deferrals the guest made needless */
    uint64_t reruns;            /* 0072 posting passes with no new CQE */
    uint64_t ratio_up;          /* 0080 vIC: R = ratio_up / ratio_skip */
    uint64_t ratio_skip;        /* 0088 */
    uint64_t storm_ewma_ns;     /* 0096 mean interval between interrupts */
    uint64_t storm_held;        /* 0104 interrupts the limiter delayed */
    uint64_t pointer_arms;      /* 0112 */
    uint64_t pointer_rejects;   /* 0120 */
    /* 0128 completed, by enum NvmeCintHintId */
    uint64_t cmds_by_hint[NVME_CINT_NR_HINTS];
    /* 0160 completed with a hint, by enum NvmeCintSourceId */
    uint64_t cmds_by_source[NVME_CINT_NR_SOURCES];
    /* 0192 sent, by enum NvmeCintReasonId */
    uint64_t irqs_by_reason[NVME_CINT_NR_REASONS];
    /* 0448 from CQE posted to interrupt sent, by class */
    NvmeCintHist hold[NVME_CINT_NR_CLASSES];
    /* 1264 from interrupt sent to CQ head past the entry, by class */
    NvmeCintHist reap[NVME_CINT_NR_CLASSES];
    /* 2080 from an interrupt deadline to the interrupt */
    NvmeCintHist lateness;
    /* 2352 from CQE posted to CQ head past it, all I/O CQEs */
    NvmeCintHist post_to_head;
    uint64_t untold;            /* 2624 of those, not told of by then */
    NvmeCintAnswers answers;    /* 2632 sums */
    uint8_t rsvd2672[400];      /* 2672 */
} NvmeCintLogRecord;            /* 3072 bytes */

typedef struct NvmeCintLogSq {
    uint16_t sqid;              /* 000 */
    uint16_t cqid;              /* 002 */
    uint8_t  priority;          /* 004 QPRIO: 0 urgent ... 3 low */
    uint8_t  rsvd5[3];          /* 005 */
    uint32_t sq_size;           /* 008 entries */
    uint32_t backlog;           /* 012 SQEs published, not fetched, now */
    uint64_t commands;          /* 016 fetched */
    uint64_t bytes;             /* 024 of blocks that they read or write */
    uint8_t  rsvd32[32];        /* 032 */
    NvmeCintHist wait;          /* 064 from the doorbell to the fetch */
    uint32_t buffers;           /* 336 that are known, now (infer=learn) */
    uint32_t waited_buffers;    /* 340 of these, somebody waits for */
    uint32_t fresh;             /* 344 commands in 256 with a new buffer */
    uint8_t  rsvd348[36];       /* 348 */
} NvmeCintLogSq;                /* 384 bytes */

#endif /* HW_NVME_CINT_ABI_H */
