/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Interrupt coalescing engine: decides, for one completion queue, when its
 * pending completions deserve an interrupt and of which class.
 *
 * The engine is arithmetic over events. It owns no clock, no timer, no queue
 * memory and no lock; it allocates nothing. Time is int64_t nanoseconds of any
 * one monotonic clock, handed in with each event. The same code runs in the
 * device, in the unit tests and in offline tools.
 *
 * How to drive it (one completion queue, one submission queue):
 *
 *     cint_config_init(&config);
 *     cint_scope_init(&scope);
 *     cint_cq_init(&cq, &scope, entries, &config);
 *     cint_sq_init(&sq, &cq);
 *
 *     before any event at time t:
 *         while (cint_deadline(&cq) <= t) {
 *             act(cint_timer(&cq, cint_deadline(&cq)));
 *         }
 *     an SQE was fetched:          act(cint_submit(&sq, &cmd[i], t, 0, 0));
 *     its CQE was posted:          act(cint_complete(&sq, &cmd[i], t, false));
 *     one posting pass is over:    act(cint_pass_end(&cq, t));
 *     the guest moved the CQ head: act(cint_head(&cq, t, head));
 *
 * Each call answers with at most one action. act() sends the interrupt the
 * action asks for and (re)arms one timer for cint_deadline(). A deadline that
 * equals an event's time expires before the event (policies.md 1).
 *
 * Threads: all calls for the queues of one scope come from one thread at a
 * time. Errors: none at run time; configurations are checked beforehand with
 * cint_config_conflict().
 */
#ifndef HW_NVME_COALESCE_H
#define HW_NVME_COALESCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../cint-abi.h"

#define CINT_NO_DEADLINE    INT64_MAX

typedef enum NvmeCintPolicyId CintPolicy;
typedef enum NvmeCintReasonId CintReason;

/* Policies this engine implements: a prefix of enum NvmeCintPolicyId. */
#define CINT_NR_POLICIES    (NVME_CINT_POLICY_VIC + 1)

typedef enum CintOnOffAuto {
    CINT_AUTO,      /* what suits the policy */
    CINT_ON,
    CINT_OFF,
} CintOnOffAuto;

typedef enum CintVicScope {
    CINT_VIC_SCOPE_CONTROLLER,
    CINT_VIC_SCOPE_CQ,
} CintVicScope;

typedef enum CintVicRatios {
    CINT_VIC_RATIOS_FULL,
    CINT_VIC_RATIOS_COARSE,
} CintVicRatios;

/*
 * What a user may set. Every field is a row of cint_params[], which holds its
 * name, range, default, unit and meaning.
 */
typedef struct CintConfig {
    uint64_t policy;            /* CintPolicy */
    uint64_t delta_ns;
    uint64_t thr;
    uint64_t static_time_ns;
    uint64_t static_thr;
    uint64_t each_cqe;          /* bool */
    uint64_t drain;             /* CintOnOffAuto */
    uint64_t max_hold_ns;
    uint64_t cif_threshold;
    uint64_t iops_threshold;
    uint64_t epoch_ms;
    uint64_t max_skip;
    uint64_t vic_scope;         /* CintVicScope */
    uint64_t vic_ratios;        /* CintVicRatios */
    uint64_t kick_window_ns;
} CintConfig;

typedef enum CintParamType {
    CINT_PARAM_BOOL,
    CINT_PARAM_UINT,
    CINT_PARAM_ENUM,
} CintParamType;

/*
 * One settable parameter. The device's properties, the replay tool's options
 * and the checks of guest-supplied configurations all come from this table.
 */
typedef struct CintParam {
    const char *name;           /* as typed, without the prefix "cint." */
    CintParamType type;
    size_t offset;              /* of its uint64_t in CintConfig */
    uint64_t min, max;          /* inclusive; enums: indices into values */
    uint64_t def;
    const char *const *values;  /* enums: names, NULL terminated */
    const char *help;           /* one line: meaning, unit, paper section */
} CintParam;

/* Ends with a row whose name is NULL. */
extern const CintParam cint_params[];

extern const char *const cint_policy_names[];
extern const char *const cint_on_off_auto_names[];

/* Name of a reason as printed and traced ("thr", "quiet", ...). */
const char *cint_reason_name(CintReason reason);

/* True if every single value of @config lies in its range. */
bool cint_config_in_range(const CintConfig *config);

/* Sets every parameter to its default. */
void cint_config_init(CintConfig *config);

uint64_t *cint_config_field(CintConfig *config, const CintParam *param);

/*
 * Returns NULL if @config makes sense as a whole, else a sentence that names
 * the parameters at odds. Single values are the caller's to check against
 * min and max.
 */
const char *cint_config_conflict(const CintConfig *config);

typedef enum CintFire {
    CINT_FIRE_NONE,
    CINT_FIRE_FULL,     /* the guest is to reap everything posted */
    CINT_FIRE_URGENT,   /* the guest is to reap Urgent entries only */
} CintFire;

typedef struct CintAction {
    CintFire fire;
    CintReason reason;
    uint32_t covered;   /* pending CQEs this interrupt tells the guest of */
} CintAction;

/* Delivery ratio of policy vic, determined once an epoch. */
typedef struct CintVicEpoch {
    int64_t start_ns;
    uint64_t completions;   /* in this epoch */
    uint32_t up, skip;      /* deliver up of every skip completions */
    bool low_iops;          /* the ratio is 1 because of a low rate */
} CintVicEpoch;

/* Counters of all completion queues of one controller. */
typedef struct CintScope {
    uint32_t inflight;  /* commands fetched and not yet posted or cancelled */
    CintVicEpoch vic;
} CintScope;

/* State of one completion queue. Read with the accessors below. */
typedef struct CintCq {
    CintScope *scope;
    CintConfig config;
    uint32_t size;              /* entries; one less can be outstanding */
    uint32_t thr;               /* config.thr or static_thr, clamped */
    bool drain;                 /* config.drain, resolved for the policy */
    bool disabled;              /* coalescing is off, whatever the policy */

    uint32_t inflight;
    uint32_t tail;              /* CQEs posted, free running */
    uint32_t head;              /* CQEs consumed, free running */
    /* CQEs posted since the last full interrupt and not consumed. */
    uint32_t pending;
    uint32_t pressure;          /* fill level last reported, 0 = below 3/4 */
    int64_t first_ns;           /* when pending left 0 */
    int64_t deadline;           /* the policy's own */

    /* Kick window: what is known of the guest since the last message. */
    int64_t message_ns;         /* when it was sent */
    bool message_sent;          /* there was one */
    bool rung;                  /* the guest rang a doorbell since */
    bool withheld;              /* an interrupt is due and waits */

    struct {
        uint32_t counter;
        CintVicEpoch epoch;     /* with scope cq */
    } vic;
} CintCq;

/* State of one submission queue; several may feed one completion queue. */
typedef struct CintSq {
    CintCq *cq;
    uint32_t inflight;
} CintSq;

/* State of one command, kept by the caller from submit to complete. */
typedef struct CintCmd {
    uint8_t hints;      /* enum NvmeCintHintId */
    uint8_t sources;    /* bit mask over enum NvmeCintSourceId */
} CintCmd;

void cint_scope_init(CintScope *scope);

/*
 * @size: CQ entries, at least 2. Also serves as the reset event: a queue that
 * is initialised again remembers nothing. Commands still in flight must have
 * been cancelled, since @scope counts them.
 */
void cint_cq_init(CintCq *cq, CintScope *scope, uint32_t size,
                  const CintConfig *config);
void cint_sq_init(CintSq *sq, CintCq *cq);

/*
 * A command was fetched from @sq. @hints is the union of what the sender said
 * in all places, @sources says where. @cmd belongs to the engine until
 * cint_complete() or cint_cancel().
 */
CintAction cint_submit(CintSq *sq, CintCmd *cmd, int64_t now, uint8_t hints,
                       uint8_t sources);

/* The last SQE that one tail write of @sq published has been fetched. */
CintAction cint_doorbell(CintSq *sq, int64_t now);

/* The CQE of @cmd was posted. @error: its status is not success. */
CintAction cint_complete(CintSq *sq, CintCmd *cmd, int64_t now, bool error);

/* The posting pass that raised the last cint_complete() calls is over. */
CintAction cint_pass_end(CintCq *cq, int64_t now);

/* @cmd will never complete: abort, queue deletion. */
CintAction cint_cancel(CintSq *sq, CintCmd *cmd, int64_t now);

/* @sq goes away with everything it still had in flight. */
CintAction cint_delete_sq(CintSq *sq, int64_t now);

/*
 * The guest consumed all CQEs before free-running index @head. A head that
 * lies beyond the tail is the guest's mistake and counts as "everything".
 */
CintAction cint_head(CintCq *cq, int64_t now, uint32_t head);

/* Arms the interrupt pointer at free-running index @target (policy pointer). */
CintAction cint_pointer(CintCq *cq, int64_t now, uint32_t target);

/* The deadline passed. Calling it early or without one is harmless. */
CintAction cint_timer(CintCq *cq, int64_t now);

/*
 * @config holds from now on. Pending completions go out at once, so that no
 * change can strand them.
 */
CintAction cint_configure(CintCq *cq, int64_t now, const CintConfig *config);

/*
 * Turns coalescing off (every completion interrupts) or on again, as feature
 * 09h does for the queues of a vector.
 */
CintAction cint_disable(CintCq *cq, int64_t now, bool disabled);

/* The delivery ratio that policy vic uses for @cq. */
CintVicEpoch *cint_vic_epoch(CintCq *cq);

/* When to call cint_timer(), or CINT_NO_DEADLINE. */
int64_t cint_deadline(const CintCq *cq);

#endif /* HW_NVME_COALESCE_H */
