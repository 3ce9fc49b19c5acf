/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A controller for the tests of the user-space driver: registers, queues and a
 * disk in this process's memory. When it interrupts is decided by the engine
 * of the device. Nothing happens by itself: a test says when a command
 * completes and when time passes.
 */
#ifndef TESTS_UNIT_FAKE_NVME_H
#define TESTS_UNIT_FAKE_NVME_H

#include <glib.h>

#include "coalesce.h"
#include "controller.h"
#include "dma.h"
#include "nvme.h"
#include "queue.h"

#ifndef FAKE_QUEUES
#define FAKE_QUEUES     4       /* I/O queue pairs */
#endif
#ifndef FAKE_ENTRIES
#define FAKE_ENTRIES    128     /* of each, at most */
#endif
#define FAKE_BLOCK      512
#define FAKE_BLOCKS     8192    /* 4 MiB */
#define FAKE_SECOND     7
#define FAKE_MDTS       6       /* 256 KiB */
#define FAKE_MEMS       64
#define FAKE_BAR_SIZE   0x2000
#define FAKE_POINTERS   0x1800

typedef struct FakeCq {
    uint64_t base;
    uint32_t size, head, tail;      /* indices */
    uint32_t posted;                /* free running */
    bool phase, irq;
    bool masked;                    /* messages are sent and reach nobody */
    int eventfd;
    CintCq engine;
    CintSq sq;
    uint64_t reasons[NVME_CINT_NR_REASONS];
    uint64_t messages, rejects;
    uint32_t full_tail;
} FakeCq;

typedef struct FakeCmd {
    struct nvme_sqe sqe;
    CintCmd engine;
    bool used;
    bool aborted;
    uint64_t order;                 /* of fetching */
} FakeCmd;

typedef struct FakeSq {
    uint64_t base;
    uint32_t size, head, tail;
    FakeCmd cmd[FAKE_ENTRIES];
    unsigned inflight;
    uint64_t fetched;
} FakeSq;

typedef struct FakeMem {
    struct cintio_mem *mem;
} FakeMem;

typedef struct FakeNvme {
    /* set before fake_start() */
    bool plain;                     /* no cint */
    bool stuck, no_namespace;
    unsigned slow;                  /* looks at CSTS until it does as told */
    int refused;                    /* admin opcode that fails; -1 = none */
    /* admin opcode at which it gets stuck, for fake_answer(); -1 = none */
    int late;
    int ignored;                    /* admin opcode with no answer; -1 = none */
    int overruled;      /* an operator's policy behind each set; -1 = none */
    uint32_t format;                /* of the namespace: LBAF */
    bool second;                    /* another namespace: 7 ... */
    uint64_t second_blocks;         /* ... of a quarter of the size */
    bool sgl;                       /* it understands them */
    bool aborts;                    /* what it is asked to, or nothing */
    uint32_t result_high;           /* dword 1 of what it completes */
    unsigned vectors;               /* 0 = one for each queue */
    size_t bar_size;                /* 0 = with all registers */
    uint8_t mdts;
    /* called before the register is read: what happens meanwhile */
    void (*meanwhile)(struct FakeNvme *fake, uint32_t offset);
    /* what is mapped from now on is in pages of 4 KiB, in reverse order */
    bool scattered;
    /* status records: are not written any more; full_tail is not */
    bool frozen, lying;
    bool no_sizes;                  /* in the log page's header */
    unsigned log_grows;             /* so often, when its header was read */
    bool log_is_torn;               /* what is behind its header is refused */
    bool careless;                  /* does nothing about I/O queues */
    uint32_t pointers_at, pointer_stride;   /* what it says of them */
    bool no_memory;                 /* none can be mapped any more */

    GRecMutex lock;                 /* of all below */
    struct cintio *dev;
    uint32_t regs[FAKE_BAR_SIZE / 4];
    bool gone;
    FakeCq cq[FAKE_QUEUES + 1];
    FakeSq sq[FAKE_QUEUES + 1];
    CintScope scope;
    CintConfig config;
    unsigned reads;                 /* of registers */
    unsigned looks;                 /* those of CSTS that are left */
    unsigned shutdowns;             /* CC.SHN */
    bool drops_shutdowns;
    unsigned unanswered;            /* admin commands */
    unsigned not_there;             /* deletions of queues that are not */
    uint64_t records;               /* address of the status records */
    FakeMem mem[FAKE_MEMS];
    uint64_t next_iova;
    int64_t now;
    uint8_t *disk;
} FakeNvme;

FakeNvme *fake_new(void);

/* cintio_start() on it; cintio_close() in fake_free(). */
int fake_start(FakeNvme *fake, const struct cintio_options *options,
               struct cintio_error *err);
void fake_free(FakeNvme *fake);

unsigned fake_inflight(FakeNvme *fake, unsigned qid);

/* Complete the @nth oldest command of a queue pair, from 0. */
void fake_complete(FakeNvme *fake, unsigned qid, unsigned nth, uint16_t status);

/* All of its status beside code and type: DNR, M and CRD (bits 14:11). */
#define FAKE_DNR    (1u << 14)

/* Complete the @n oldest, as many as there are. */
void fake_complete_some(FakeNvme *fake, unsigned qid, unsigned n);

/* Time passes until the next deadline of a queue. False: there is none. */
bool fake_deadline(FakeNvme *fake, unsigned qid);

/* Another policy, by an operator. False: the queue is not there. */
bool fake_configure(FakeNvme *fake, unsigned qid, CintPolicy policy);

/* No longer stuck: it stops if it was told to, or answers admin commands. */
void fake_answer(FakeNvme *fake);

/* Post an entry for a command that nobody gave. */
void fake_post_bogus(FakeNvme *fake, unsigned qid, uint16_t cid);

/* Whether the queue's eventfd would end a poll(2). */
bool fake_is_signalled(const FakeNvme *fake, unsigned qid);

/* A sentence of the driver's says so. */
void expect_text(const char *text, const char *part);

#endif /* TESTS_UNIT_FAKE_NVME_H */
