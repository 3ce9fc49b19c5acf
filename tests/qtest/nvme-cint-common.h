/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the tests of the nvme device's cint properties share: a machine with
 * one controller, its virtual clock, and assertions on when interrupts come.
 *
 * Times are ns of virtual time since cint_zero() (or the start). The clock
 * moves only in cint_run_to() and the functions that call it. In virtual-time
 * mode everything the controller does for a doorbell write at time t is done
 * as of t, whenever the host gets round to it; the result is there for sure
 * once the clock has moved past t.
 */
#ifndef QTEST_NVME_CINT_COMMON_H
#define QTEST_NVME_CINT_COMMON_H

#include "libqtest.h"
#include "libqos/nvme-queue.h"
#include "hw/nvme/cint-abi.h"
#include "qobject/qdict.h"

/* The latency of the medium where a test does not say otherwise, ns. */
#define CINT_LATENCY    400
/* Sizes that most tests use: big enough to keep pressure out of the way. */
#define CINT_ENTRIES    64
#define CINT_NEVER      INT64_MAX
#define CINT_SECOND     1000000000ll

/* Device options: a medium that takes CINT_LATENCY, and exact times. */
#define CINT_EXACT \
    "cint=on,cint.time=virtual,cint.media=custom," \
    "cint.media.read-latency=400,cint.media.write-latency=400," \
    "cint.media.units=0"
/* The same, with the rules off that act beside the policy. */
#define CINT_PURE       CINT_EXACT ",cint.drain=off,cint.max-hold=0"

/* Every policy, in virtual and in real time; for tests that hold for all. */
typedef struct CintCase {
    const char *name;
    const char *opts;   /* reads take 400 ns, everything else 1400 ns */
} CintCase;

/* Ends with a case whose name is NULL. */
extern const CintCase cint_cases[];

typedef struct CintTest {
    QTestState *qts;
    QGuestAllocator alloc;
    QPCIBus *bus;
    QPCIDevice *pdev;
    QNvmeCtrl *nvme;
    QNvmeBuf buf;       /* 8 KiB for data nobody looks at */
    QPCIDevice *counter_dev;
    QPCIBar counter;    /* BAR0 of a pci-testdev, counts messages */
    int64_t clock;      /* virtual clock of the machine, ns */
    int64_t zero;       /* clock at time 0 */
} CintTest;

/**
 * cint_boot: starts a machine with a 1 GiB controller that reads as zeroes
 * @opts: device options, such as CINT_PURE ",cint.policy=static"
 *
 * The controller is enabled; there are no I/O queues. Some virtual time has
 * passed, as it has when a guest starts; time 0 is now.
 */
CintTest *cint_boot(const char *opts);

/**
 * cint_boot_custom: the same with more control
 * @env: environment variable that names the QEMU binary
 * @args: further QEMU arguments, among them the block node "d0"
 */
CintTest *cint_boot_custom(const char *env, const char *args,
                           const char *opts);

/**
 * cint_boot_devices: the same where even the controller is the caller's
 * @args: QEMU arguments; the controller to use is at addr=4
 */
CintTest *cint_boot_devices(const char *env, const char *args);

/**
 * cint_other: a further controller of the same machine, for the calls that
 * move no clock; frees with cint_other_free() before cint_shutdown()
 * @slot: PCI address of the controller
 */
CintTest *cint_other(CintTest *t, int slot);
void cint_other_free(CintTest *other);

/**
 * cint_attachment: Namespace Attachment of namespace 1
 *
 * @cntlid: whose namespace it becomes or was, by the id of that controller
 * @sel: NVME_NS_ATTACHMENT_ATTACH or NVME_NS_ATTACHMENT_DETACH
 *
 * Uses the second page of the test's buffer, where cint_read() never reads to.
 *
 * Returns: the status.
 */
uint16_t cint_attachment(CintTest *t, uint16_t cntlid, uint8_t sel);

/* The block node of cint_boot(). */
#define CINT_NULL_DISK \
    "-blockdev driver=null-co,node-name=d0,size=1073741824,read-zeroes=on"

/* What there is where a device's options have an IOThread. */
#define CINT_IOTHREADS  "-object iothread,id=io0 -object iothread,id=io1"

void cint_shutdown(CintTest *t);

/** cint_queues: creates CQ and SQ @id on vector @id, of CINT_ENTRIES each */
QNvmeSq *cint_queues(CintTest *t, uint16_t id);

/** cint_read: pushes @count 4 KiB reads and rings the doorbell once */
void cint_read(CintTest *t, QNvmeSq *sq, uint32_t count);

/**
 * cint_push_admin: pushes an admin command; @dw10 and @dw11 in CPU order
 *
 * The doorbell is left to the caller.
 */
void cint_push_admin(CintTest *t, uint8_t opcode, uint64_t prp1,
                     uint32_t dw10, uint32_t dw11);

/* ---- Time ---- */

/** cint_zero: now is time 0 */
void cint_zero(CintTest *t);

/** cint_now: the time, ns */
int64_t cint_now(const CintTest *t);

/** cint_run_to: moves the clock to @when, which must not lie in the past */
void cint_run_to(CintTest *t, int64_t when);

/** cint_run: moves the clock by @ns */
void cint_run(CintTest *t, int64_t ns);

/**
 * cint_let_run: gives the main loop turns, for what runs in real time
 *
 * After it, all bottom halves have run that a doorbell write or a step of the
 * clock has set off.
 */
void cint_let_run(CintTest *t);

/**
 * cint_expect_irq_at: the next interrupt of the queue's vector comes at @when
 *
 * None is pending at @when - 1, one is at @when. It is taken; no CQE is
 * reaped.
 */
#define cint_expect_irq_at(t, cq, when) \
    cint_expect_irq_at_(t, cq, when, __FILE__, __LINE__)
void cint_expect_irq_at_(CintTest *t, QNvmeCq *cq, int64_t when,
                         const char *file, int line);

/**
 * cint_expect_irq_now: an interrupt comes without the clock moving on
 *
 * Waits in real time for what the doorbell write or the command before has
 * set off, then takes the interrupt.
 */
#define cint_expect_irq_now(t, cq) \
    cint_expect_irq_now_(t, cq, __FILE__, __LINE__)
void cint_expect_irq_now_(CintTest *t, QNvmeCq *cq, const char *file,
                          int line);

/** cint_expect_quiet_to: moves to @when; no interrupt is pending by then */
#define cint_expect_quiet_to(t, cq, when) \
    cint_expect_quiet_to_(t, cq, when, __FILE__, __LINE__)
void cint_expect_quiet_to_(CintTest *t, QNvmeCq *cq, int64_t when,
                           const char *file, int line);

/** cint_expect_cqes_at: the @count-th unreaped CQE is posted at @when */
#define cint_expect_cqes_at(t, cq, when, count) \
    cint_expect_cqes_at_(t, cq, when, count, __FILE__, __LINE__)
void cint_expect_cqes_at_(CintTest *t, QNvmeCq *cq, int64_t when,
                          uint32_t count, const char *file, int line);

/**
 * cint_eager_guest: a guest that looks at its CQ only after an interrupt
 *
 * Runs the clock on for 20 s. Whenever an interrupt is pending it is taken
 * and all CQEs that are visible by then are reaped. At the end no CQE may be
 * left: it would wait for ever. This is the rule that holds under every
 * policy: what is posted is covered by an interrupt, or by a deadline that
 * will send one.
 *
 * Returns: CQEs reaped
 */
#define cint_eager_guest(t, cq) cint_eager_guest_(t, cq, __FILE__, __LINE__)
uint32_t cint_eager_guest_(CintTest *t, QNvmeCq *cq, const char *file,
                           int line);

/* ---- Counting messages ---- */

/**
 * cint_count_messages: lets a vector through to a device that counts writes
 *
 * From here on the vector has no pending bit. One vector at a time.
 */
void cint_count_messages(CintTest *t, uint16_t vector);

/** cint_messages: messages since cint_count_messages() */
uint32_t cint_messages(CintTest *t);

/* ---- Statistics and properties ---- */

/** cint_record: the log page's record of a CQ, in CPU byte order */
NvmeCintLogRecord cint_record(CintTest *t, uint16_t cqid);

/** cint_sq_record: the log page's record of an SQ, in CPU byte order */
NvmeCintLogSq cint_sq_record(CintTest *t, uint16_t sqid);

/** cint_reason_count: interrupts of a CQ for one reason */
uint64_t cint_reason_count(CintTest *t, uint16_t cqid,
                           enum NvmeCintReasonId reason);

/**
 * cint_check_record: asserts what holds for the counters of any CQ at any time
 *
 * Every interrupt has one reason; no CQE is counted twice in a distribution;
 * no time is longer than the machine has run.
 */
void cint_check_record(CintTest *t, uint16_t cqid);

/* ---- Vendor feature D0h ---- */

/**
 * cint_set_config: Set Features
 * @cqid: a CQ or NVME_CINT_ALL_CQS
 *
 * Returns: the status code, with flags
 */
uint16_t cint_set_config(CintTest *t, uint32_t cqid, const NvmeCintFeature *f);

/** cint_get_config: Get Features with Select field @sel; must succeed */
NvmeCintFeature cint_get_config(CintTest *t, uint32_t cqid, uint8_t sel);

/** cint_expect_config: the current value is *@f */
void cint_expect_config(CintTest *t, uint32_t cqid, const NvmeCintFeature *f);

/** cint_has_property: does this QEMU's device @type have @property? */
bool cint_has_property(const char *type, const char *property);

/** cint_memdev_node: what QMP says of a memdev's block node; unref it */
QDict *cint_memdev_node(CintTest *t);

/** cint_qom_stats: the record of a CQ in property cint-stats; unref it */
QDict *cint_qom_stats(CintTest *t, uint16_t cqid);

/** cint_qom_sq_stats: the same of an SQ */
QDict *cint_qom_sq_stats(CintTest *t, uint16_t sqid);

/** cint_expect_reason: the CQ has sent @count interrupts for @reason */
#define cint_expect_reason(t, cq, reason, count) \
    g_assert_cmpuint(cint_reason_count(t, (cq)->id, \
                                       NVME_CINT_REASON_ ## reason), ==, count)

/** cint_set: qom-set of a property to a number or a word; must succeed */
void cint_set_number(CintTest *t, const char *property, int64_t value);
void cint_set_word(CintTest *t, const char *property, const char *value);

/** cint_set_error: qom-set that must fail; returns the message; free it */
char *cint_set_number_error(CintTest *t, const char *property, int64_t value);
char *cint_set_word_error(CintTest *t, const char *property,
                          const char *value);

/** cint_get_number: qom-get of a number */
int64_t cint_get_number(CintTest *t, const char *property);

/* ---- Migration ---- */

/** cint_can_migrate: whether this QEMU can migrate an nvme device */
bool cint_can_migrate(QTestState *qts);

/**
 * cint_migrate: migrates the machine to @uri, and waits until that is over
 *
 * Returns: NULL if it has been done, else why not; free it
 */
char *cint_migrate(QTestState *qts, const char *uri);

/**
 * cint_load: the other end, of a QEMU with -incoming defer
 *
 * Returns: NULL if the machine is there, else what is wrong with it; free it
 */
char *cint_load(QTestState *qts, const char *uri);

/**
 * cint_migrate_nowhere: the same, to where nobody is; the machine goes on here
 */
char *cint_migrate_nowhere(QTestState *qts);

#endif /* QTEST_NVME_CINT_COMMON_H */
