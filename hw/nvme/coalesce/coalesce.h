/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Interrupt coalescing engine: decides, for one completion queue, when its
 * pending completions deserve an interrupt and of which class.
 */
#ifndef HW_NVME_COALESCE_H
#define HW_NVME_COALESCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../cint-abi.h"
#include "limit.h"
#include "pace.h"
#include "waits.h"

/**
 * DOC: How to drive the engine
 *
 * The engine is arithmetic over events. It owns no clock, no timer, no queue
 * memory and no lock; it allocates nothing. Time is int64_t nanoseconds of any
 * one monotonic clock, handed in with each event. The same code runs in the
 * device, in the unit tests and in offline tools.
 *
 * One completion queue with one submission queue is driven so::
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
 *     SQEs were published:         act(cint_published(&sq, t, n));
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
#define CINT_NO_DEADLINE    INT64_MAX

typedef enum NvmeCintPolicyId CintPolicy;

/* Policies this engine implements: as many as policy-list.h has lines. */
enum {
#define POLICY(name, ops, reads)    CINT_LISTED_##ops
#include "policy-list.h"
#undef POLICY
    CINT_NR_POLICIES
};

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
    CINT_VIC_RATIOS_ADAPTIVE,
} CintVicRatios;

typedef enum CintBarrier {
    CINT_BARRIER_RELAXED,       /* a Barrier fires when it completes */
    CINT_BARRIER_STRICT,        /* and all before it in its SQ did */
    CINT_BARRIER_GENERATION,    /* and all since the previous Barrier did */
} CintBarrier;

typedef enum CintInfer {
    CINT_INFER_OFF,
    CINT_INFER_BATCH,           /* the last SQE of a batch is a Barrier */
    CINT_INFER_ALL,             /* and a lone one is Urgent */
    CINT_INFER_LEARN,           /* Urgent are those somebody waited for */
    CINT_INFER_CONTENT,         /* all, and by what a command is for */
    CINT_INFER_BOTH,            /* learn, and by what a command is for */
} CintInfer;

typedef enum CintStormMode {
    CINT_STORM_HOLD,            /* interrupts wait */
    CINT_STORM_RETUNE,          /* delta and thr grow, hints are ignored */
} CintStormMode;

/*
 * What a user may set: the policy, and the parameters of param-list.h. Times
 * are in the unit that the field's name ends with, rates per second.
 */
typedef struct CintConfig {
    uint64_t
#define PARAM(name, field, ...) field
#include "param-list.h"
#undef PARAM
        policy;                 /* enum NvmeCintPolicyId, or beyond it */
} CintConfig;

typedef enum CintParamType {
    CINT_PARAM_BOOL,
    CINT_PARAM_UINT,
    CINT_PARAM_ENUM,
} CintParamType;

/* What a number counts. */
typedef enum CintUnit {
    CINT_UNIT_NONE,
    CINT_UNIT_NS,
    CINT_UNIT_MS,
    CINT_UNIT_PER_S,
} CintUnit;

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
    CintUnit unit;
    const char *const *values;  /* enums: names, NULL terminated */
    const char *help;           /* one line: meaning, unit, paper section */
} CintParam;

/* Ends with a row whose name is NULL. */
extern const CintParam cint_params[];

extern const char *const cint_policy_names[];

/**
 * cint_reason_name() - the name of a reason, as printed and traced
 * @reason: why an interrupt was sent
 *
 * Return: A word such as "thr" or "quiet".
 */
const char *cint_reason_name(CintReason reason);

/**
 * cint_config_in_range() - whether every single value lies in its range
 * @config: the configuration
 *
 * See cint_config_conflict() for what values say together.
 *
 * Return: True if so.
 */
bool cint_config_in_range(const CintConfig *config);

/**
 * cint_config_init() - set every parameter to its default
 * @config: the configuration
 */
void cint_config_init(CintConfig *config);

/**
 * cint_config_field() - where a configuration has a parameter
 * @config: the configuration
 * @param: a row of cint_params
 *
 * Return: The field of that parameter.
 */
uint64_t *cint_config_field(CintConfig *config, const CintParam *param);

/*
 * Policy cint: from here on thr and delta count as out of reach. Linux's
 * queues have 1024 entries, and no queue at work is quiet for a millisecond.
 */
#define CINT_ENDLESS_THR        1024
#define CINT_ENDLESS_DELTA_NS   1000000

/**
 * cint_config_conflict() - whether a configuration makes sense as a whole
 * @config: the configuration, whose single values the caller has checked with
 *     cint_config_in_range()
 *
 * Return: NULL if so, else a sentence that names the parameters at odds.
 */
const char *cint_config_conflict(const CintConfig *config);

/**
 * cint_config_scopes_conflict() - the same for several scopes of a controller
 * @config: the configuration, without conflict
 *
 * Queues that different threads serve have different scopes (CintScope), none
 * of which has the counters of the whole controller.
 *
 * Return: NULL if it makes sense there too, else a sentence as above.
 */
const char *cint_config_scopes_conflict(const CintConfig *config);

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

/* How policy vic finds a ratio by trial. */
typedef struct CintVicTrial {
    uint64_t rate;          /* completions/s not to be lost, 0: unknown */
    uint32_t patience;      /* epochs without a step, after the next loss */
    uint32_t wait;          /* of them, still to come */
    bool stepped;           /* one more is skipped since the last epoch */
} CintVicTrial;

/* Delivery ratio of policy vic, determined once an epoch. */
typedef struct CintVicEpoch {
    int64_t start_ns;
    uint64_t completions;   /* in this epoch */
    uint64_t cif;           /* the sum of the commands in flight at each */
    uint32_t up, skip;      /* deliver up of every skip; 0 in the first one */
    bool low_iops;          /* the ratio is 1 because of a low rate */
    CintVicTrial trial;
} CintVicEpoch;

/*
 * Counters of all completion queues of one controller that interrupt: what a
 * queue without interrupts has in flight will bring no other queue one.
 */
typedef struct CintScope {
    uint32_t inflight;  /* commands fetched and not yet posted or cancelled */
    uint32_t backlog;   /* SQEs published and not fetched */
    CintVicEpoch vic;
    CintWaits waits;
} CintScope;

/* Interrupt pointer of policy pointer (Jiang). */
typedef enum CintPointerState {
    CINT_POINTER_OFF,   /* every completion interrupts */
    CINT_POINTER_ARMED,
    CINT_POINTER_SPENT, /* fired and not written since: silent */
} CintPointerState;

/* Who waits for a command, if that is more than its hint says. */
typedef enum CintWaiter {
    CINT_WAITER_NONE,
    CINT_WAITER_ANY,    /* a Barrier of who waits for any command, not this */
    CINT_WAITER_THIS,   /* learned: somebody waits for this one */
    CINT_NR_WAITERS,
} CintWaiter;

/* State of one completion queue. Read with the accessors below. */
typedef struct CintCq {
    CintScope *scope;
    CintConfig config;
    uint32_t size;              /* entries; one less can be outstanding */
    uint32_t thr;               /* in force: clamped, retuned */
    int64_t delta_ns;           /* in force: retuned */
    bool drain;                 /* config.drain, resolved for the policy */
    bool disabled;              /* coalescing is off, whatever the policy */
    bool has_record;            /* the guest can tell urgent from full */
    bool learns;                /* who waits, by buffers */
    bool reads;                 /* who waits, by what a command is for */
    bool tunes;                 /* delta and thr follow the load */
    bool looks;                 /* it learns or reads */
    bool follows;               /* it learns or tunes */
    bool any;                   /* who waits for any command is told apart */
    bool gauges;                /* that, or it tunes: most is kept */
    bool watches;               /* it looks or gauges */
    uint8_t infer;              /* CintInfer in force */
    uint8_t barrier;            /* CintBarrier in force */
    CintPace pace;              /* if it tunes */
    uint32_t paced_most;        /* the most that thr follows */

    uint32_t inflight;          /* commands fetched */
    uint32_t backlog;           /* SQEs published and not fetched */
    uint32_t most;              /* commands not consumed, at their most */
    int64_t submit_ns;          /* when the last command was fetched */
    uint32_t waiters[CINT_NR_WAITERS];  /* commands in flight */
    bool asleep;                /* the guest waits for any completion */
    bool probing;               /* and is not told, to see if it does */
    bool resting;               /* likewise, as one it waits for is in flight */
    uint32_t sleeps;            /* how often it has */
    uint32_t tail;              /* CQEs posted, free running */
    uint32_t head;              /* CQEs consumed, free running */
    /* CQEs no interrupt has told of and the guest has not consumed. */
    uint32_t pending;
    /* CQEs that count toward thr: pending ones, and those kept behind one. */
    uint32_t retained;
    uint32_t pressure;          /* fill level last reported, 0 = below 3/4 */
    uint32_t pressure_from;     /* CQEs that are 3/4 */
    int64_t first_ns;           /* when pending left 0 */
    int64_t deadline;           /* the policy's own */

    CintLimits limits;
    CintHeld held;              /* an interrupt is due and waits */
    uint64_t storm_held;        /* interrupts the storm limit has held */

    struct {
        uint32_t counter;
        CintVicEpoch epoch;     /* with scope cq */
    } vic;
    struct {
        CintPointerState state;
        uint32_t target;        /* free running */
    } pointer;
    struct {
        int64_t since_ns;       /* the last completion */
        int64_t left;           /* of the price then, ns x percent */
        int64_t weight;         /* of what is pending, percent */
    } price;
} CintCq;

/* What a command is for, as far as that says who waits. */
typedef enum CintContent {
    CINT_CONTENT_PLAIN, /* nothing */
    CINT_CONTENT_NOW,   /* what is made durable */
    CINT_CONTENT_AHEAD, /* what may be asked for later */
    CINT_NR_CONTENTS,
} CintContent;

/* State of one command, kept by the caller from submit to complete. */
typedef struct CintCmd {
    uint8_t hints;      /* enum NvmeCintHintId */
    uint8_t sources;    /* bit mask over enum NvmeCintSourceId */
    /*
     * A Barrier that is not satisfied yet follows this command: it is one, or
     * the later ones up to one are done.
     */
    bool fence;
    uint8_t waiter;     /* CintWaiter */
    uint8_t content;    /* CintContent */
    uint32_t page;      /* cint_waits_page() of its buffer, 0: it has none */
    struct CintCmd *prev, *next;    /* in flight from the same SQ, in order */
} CintCmd;

/* State of one submission queue; several may feed one completion queue. */
typedef struct CintSq {
    CintCq *cq;
    uint32_t inflight;
    uint32_t waiters[CINT_NR_WAITERS];  /* of them */
    uint32_t backlog;   /* SQEs published and not fetched */
    uint32_t batch;     /* SQEs fetched since the last doorbell */
    CintCmd *batch_end; /* the last of them, NULL if done already */
    uint32_t head;      /* of the CQ when the last SQE was fetched */
    CintCmd *last;      /* newest in flight */
    CintWaitsSq waits;
} CintSq;

/**
 * cint_scope_init() - begin a controller's counters
 * @scope: the counters
 */
void cint_scope_init(CintScope *scope);

/**
 * cint_cq_init() - begin a completion queue
 * @cq: the completion queue
 * @scope: the counters of its controller
 * @size: CQ entries, at least 2
 * @config: what holds until cint_configure()
 *
 * Also serves as the reset event: a queue that is initialised again remembers
 * nothing. Commands still in flight must have been cancelled, since @scope
 * counts them.
 */
void cint_cq_init(CintCq *cq, CintScope *scope, uint32_t size,
                  const CintConfig *config);

/**
 * cint_sq_init() - begin a submission queue
 * @sq: the submission queue
 * @cq: where its commands complete
 */
void cint_sq_init(CintSq *sq, CintCq *cq);

/**
 * cint_published() - the guest has published SQEs
 * @sq: the submission queue
 * @now: time of the event, ns of the caller's clock
 * @backlog: how many SQEs are not fetched yet
 *
 * cint_submit() takes them off one by one. While there are any the queue is not
 * drained, and they count as commands in flight. A caller that fetches at once,
 * or that cannot know, need not say so.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_published(CintSq *sq, int64_t now, uint32_t backlog);

/**
 * cint_submit() - a command was fetched
 * @sq: the submission queue
 * @cmd: the command, which belongs to the engine until cint_complete() or
 *     cint_cancel()
 * @now: time of the event, ns of the caller's clock
 * @hints: the union of what the sender said in all places
 * @sources: where it was said
 *
 * @cmd->page and @cmd->content are set by the caller, who may leave them alone
 * where cint_looks() says no. Moves no deadline.
 *
 * Return: No interrupt, ever.
 */
CintAction cint_submit(CintSq *sq, CintCmd *cmd, int64_t now, uint8_t hints,
                       uint8_t sources);

/**
 * cint_batch_end() - the last SQE of one tail write has been fetched
 * @sq: the submission queue
 * @now: time of the event, ns of the caller's clock
 *
 * It is the end of a batch, from which hints are inferred for a guest that
 * gives none. If the guest sleeps now, what is pending is told.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_batch_end(CintSq *sq, int64_t now);

/**
 * cint_rang() - the guest rang a doorbell of the pair
 * @cq: the completion queue
 * @now: time of the event, ns of the caller's clock
 *
 * Or its shadow was seen to move.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_rang(CintCq *cq, int64_t now);

/**
 * cint_looks() - whether the queue looks at commands themselves
 * @cq: the completion queue
 *
 * It goes by their buffers, or by what they are for.
 *
 * Return: True if so.
 */
static inline bool cint_looks(const CintCq *cq)
{
    return cq->looks;
}

/**
 * cint_belief() - what is believed of the buffers of a submission queue
 * @sq: the submission queue
 *
 * Return: The belief; nothing where it never learned.
 */
static inline CintBelief cint_belief(const CintSq *sq)
{
    return cint_waits_belief(&sq->cq->scope->waits, &sq->waits);
}

/**
 * cint_doorbell() - a doorbell that is rung when its batch is fetched
 * @sq: the submission queue
 * @now: time of the event, ns of the caller's clock
 *
 * cint_rang() and cint_batch_end() in one.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_doorbell(CintSq *sq, int64_t now);

/**
 * cint_complete() - the CQE of a command was posted
 * @sq: the submission queue
 * @cmd: the command
 * @now: time of the event, ns of the caller's clock
 * @error: its status is not success
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_complete(CintSq *sq, CintCmd *cmd, int64_t now, bool error);

/**
 * cint_pass_end() - a posting pass is over
 * @cq: the completion queue
 * @now: time of the event, ns of the caller's clock
 *
 * It is that which raised the last cint_complete() calls.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_pass_end(CintCq *cq, int64_t now);

/**
 * cint_cancel() - a command will never complete
 * @sq: the submission queue
 * @cmd: the command
 * @now: time of the event, ns of the caller's clock
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_cancel(CintSq *sq, CintCmd *cmd, int64_t now);

/**
 * cint_delete_sq() - a submission queue goes away
 * @sq: the submission queue
 * @now: time of the event, ns of the caller's clock
 *
 * Everything it still had in flight is cancelled.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_delete_sq(CintSq *sq, int64_t now);

/**
 * cint_head() - the guest consumed CQEs
 * @cq: the completion queue
 * @now: time of the event, ns of the caller's clock
 * @head: free-running index of the first that is left
 *
 * A head that lies beyond the tail is the guest's mistake and counts as
 * "everything".
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_head(CintCq *cq, int64_t now, uint32_t head);

/**
 * cint_uses_pointer() - whether the policy in force knows an interrupt pointer
 * @cq: the completion queue
 *
 * Return: True if so.
 */
bool cint_uses_pointer(const CintCq *cq);

/**
 * cint_pointer() - arm the interrupt pointer
 * @cq: the completion queue
 * @now: time of the event, ns of the caller's clock
 * @target: a free-running index, 1 to size - 1 entries after the head
 *
 * Ignored by policies that know none.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_pointer(CintCq *cq, int64_t now, uint32_t target);

/**
 * cint_pointer_off() - take the interrupt pointer away
 * @cq: the completion queue
 * @now: time of the event, ns of the caller's clock
 *
 * Every completion interrupts. Ignored by policies that know none.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_pointer_off(CintCq *cq, int64_t now);

/**
 * cint_set_record() - the guest can tell the urgent class, or no longer
 * @cq: the completion queue
 * @now: time of the event, ns of the caller's clock
 * @has_record: whether it has a way to tell it from the full one
 *
 * Without it only full interrupts are sent.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_set_record(CintCq *cq, int64_t now, bool has_record);

/**
 * cint_may_be_urgent() - whether an interrupt can be of the urgent class
 * @cq: the completion queue
 *
 * Return: True if so.
 */
bool cint_may_be_urgent(const CintCq *cq);

/**
 * cint_set_masked() - the queue's vector is masked, or no longer
 * @cq: the completion queue
 * @masked: whether it is
 *
 * What is sent to a masked vector does not count for the storm limit.
 */
void cint_set_masked(CintCq *cq, bool masked);

/**
 * cint_timer() - the deadline passed
 * @cq: the completion queue
 * @now: time of the event, ns of the caller's clock
 *
 * Calling it early or without a deadline is harmless.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_timer(CintCq *cq, int64_t now);

/**
 * cint_timer_late() - the deadline passed, and the caller comes late
 * @cq: the completion queue
 * @due: the deadline, ns
 * @now: @due or later, ns
 *
 * As cint_timer(cq, due), at @now: what is due is decided by the deadline; what
 * holds it, and the next interrupt, by when it is sent.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_timer_late(CintCq *cq, int64_t due, int64_t now);

/**
 * cint_configure() - another configuration holds from now on
 * @cq: the completion queue
 * @now: time of the event, ns of the caller's clock
 * @config: the configuration, without conflict
 *
 * Pending completions go out at once, so that no change can strand them.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_configure(CintCq *cq, int64_t now, const CintConfig *config);

/**
 * cint_disable() - turn coalescing off or on again
 * @cq: the completion queue
 * @now: time of the event, ns of the caller's clock
 * @disabled: every completion interrupts
 *
 * As feature 09h does for the queues of a vector.
 *
 * Return: What to do: at most one interrupt.
 */
CintAction cint_disable(CintCq *cq, int64_t now, bool disabled);

/**
 * cint_ratio() - the delivery ratio in force
 * @cq: the completion queue
 * @up: set to how many completions are delivered
 * @skip: set to of how many
 *
 * Return: False for policies without a ratio.
 */
bool cint_ratio(const CintCq *cq, uint32_t *up, uint32_t *skip);

/**
 * cint_storm_ewma() - the mean interval between interrupts
 * @cq: the completion queue
 *
 * Return: Ns; 0 if unknown, or without a storm limit.
 */
uint64_t cint_storm_ewma(const CintCq *cq);

/**
 * cint_storm_active() - whether the storm limiter holds or retunes
 * @cq: the completion queue
 *
 * Return: True if so.
 */
bool cint_storm_active(const CintCq *cq);

/**
 * cint_hold_deadline() - the end of max-hold for the oldest pending CQE
 * @cq: the completion queue
 *
 * Return: Ns, or CINT_NO_DEADLINE.
 */
static inline int64_t cint_hold_deadline(const CintCq *cq)
{
    return cq->pending && cq->config.max_hold_ns ?
           cq->first_ns + (int64_t)cq->config.max_hold_ns : CINT_NO_DEADLINE;
}

/**
 * cint_release_deadline() - when what the limiter holds may go out
 * @cq: the completion queue
 *
 * Return: Ns, or CINT_NO_DEADLINE.
 */
static inline int64_t cint_release_deadline(const CintCq *cq)
{
    return cq->held ? cint_limits_release(&cq->limits, cq->held)
                    : CINT_NO_DEADLINE;
}

/**
 * cint_deadline() - when to call cint_timer()
 * @cq: the completion queue
 *
 * Asked after each event.
 *
 * Return: Ns, or CINT_NO_DEADLINE.
 */
static inline int64_t cint_deadline(const CintCq *cq)
{
    int64_t hold = cint_hold_deadline(cq);
    int64_t release = cint_release_deadline(cq);
    int64_t first = hold < release ? hold : release;

    return first < cq->deadline ? first : cq->deadline;
}

#endif /* HW_NVME_COALESCE_H */
