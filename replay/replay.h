/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint-replay: the coalescing engine under a recorded load, without a guest.
 *
 *   input.c       lines of a file or of standard input
 *   timeline.c    the timeline format (docs/replay.md), to events
 *   qemu-trace.c  QEMU's log of pci_nvme_cint_* trace events, to events
 *   replay.c      events, to each completion queue under each policy
 *   lane.c        one completion queue under one policy, and its guest
 *   output.c      interrupts, tables and JSON
 *   options.c     the command line
 *   words.c       the policy language: names, parameters, values, units
 *   bench.c       how fast the parser, the engine and everything are
 *
 * Memory is bounded by the commands in flight and the sizes of the queues, not
 * by the length of the input (but for --bench).
 */
#ifndef REPLAY_H
#define REPLAY_H

#include <glib.h>

#include "coalesce.h"

#define PROGRAM         "cint-replay"
#define EXIT_USAGE      2

#define TIME_UNKNOWN    INT64_MIN
/* Leaves room for every parameter to be added to it. */
#define TIME_MAX        (INT64_MAX / 2)
#define NEVER           INT64_MAX

/*
 * Events
 */

typedef enum EventKind {
    EVENT_SUBMIT,
    EVENT_DOORBELL,
    EVENT_COMPLETE,
    EVENT_CANCEL,
    EVENT_HEAD,
    EVENT_POINTER,
    EVENT_SET,
    /* Of QEMU's trace only: */
    EVENT_MEDIA,        /* the command will be done at @due */
    EVENT_RECORDED,     /* the traced device sent an interrupt */
} EventKind;

typedef struct Event {
    EventKind kind;
    bool error;                 /* complete: its status is not success */
    bool urgent;                /* recorded: of the urgent class */
    uint8_t hints, sources;     /* submit */
    uint16_t cqid, sqid, cid;   /* cqid: 0 where the input names no CQ */
    uint32_t index;             /* head, pointer */
    bool slots;                 /* index is no free-running one but a slot */
    uint32_t tail;              /* complete: the slot after this CQE's */
    int64_t t;                  /* ns, or TIME_UNKNOWN */
    int64_t due;                /* media */
    const CintParam *param;     /* set */
    uint64_t value;
} Event;

/*
 * Input
 */

typedef struct Input {
    const char *name;           /* for messages */
    int fd;
    char *buffer;
    size_t used;                /* bytes read into the buffer */
    size_t next;                /* where the next line begins */
    bool at_end;                /* of the file */
    uint64_t line;              /* number of the line in hand */
} Input;

void input_open(Input *in, const char *path);
void input_close(Input *in);

/* The next line, which ends with a newline and no NUL; NULL at the end. */
const char *input_line(Input *in);

/* Says which line is wrong and why, and ends the program with EXIT_USAGE. */
G_NORETURN void input_error(const Input *in, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* The same for a mistake on the command line. */
G_NORETURN void usage_error(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* The next event; false at the end. */
typedef bool NextEvent(Input *in, Event *event);

NextEvent timeline_next;
NextEvent qemu_trace_next;

/*
 * Options
 */

/* Where the guest's head goes. Positive values: ns after the interrupt. */
enum {
    GUEST_EAGER = 0,
    GUEST_TRACE = -1,
};

typedef struct ArmSpec {
    char *name;                 /* as typed */
    CintConfig config;
} ArmSpec;

typedef struct Setup {
    const char *path;           /* NULL or "-": standard input */
    NextEvent *next;
    ArmSpec *arm;
    unsigned nr_arms;
    uint32_t cq_size;
    int64_t guest;              /* GUEST_* or ns */
    bool guest_given;
    bool extras;                /* errors are told from successes */
    bool record;                /* status records, which OOO needs */
    bool irqs;                  /* print each interrupt */
    bool json;
    bool bench;
    int cqid;                   /* the only one of interest, or -1 */
} Setup;

void setup_from_args(Setup *setup, int argc, char **argv);
void setup_free(Setup *setup);

/*
 * The policy language (docs/policies.md)
 */

/* What goes on beside the policy itself. */
typedef enum Extras {
    EXTRAS_ON,                  /* as the engine has it: also ooo under cint */
    EXTRAS_OFF,                 /* the same without any: for golden vectors */
    EXTRAS_PAPERS,              /* no drain, no max-hold */
    EXTRAS_DEVICE,              /* both, as the device has them */
} Extras;

/*
 * The configuration that the policy @text means, a name or
 * NAME:parameter=value,...; @set, which ends with NULL, are parameters of all
 * policies. Times and rates are divided and multiplied by @scale. A word that
 * is none ends the program.
 */
void config_from_words(CintConfig *config, const char *text, Extras extras,
                       double scale, char **set);

/* Adds the policies of a list, which commas separate, to @policies. */
void split_policies(const char *text, GPtrArray *policies);

bool is_policy(const CintParam *param);

/* The parameter of that name, or NULL. */
const CintParam *find_param(const char *name, size_t length);

/* False if @text is no value of @param. */
bool parse_value(const CintParam *param, const char *text, size_t length,
                 uint64_t *value);

/* False if @text is no number from @min to @max, with digits only. */
bool parse_number(const char *text, size_t length, uint64_t min, uint64_t max,
                  uint64_t *value);

/* The same for a time to @max, with a unit or as a number of ns. */
bool parse_time(const char *text, size_t length, uint64_t max, uint64_t *ns);

/* What parse_value() takes, as "expects ..."; the caller frees it. */
char *describe_values(const CintParam *param);
char *describe_params(void);

/*
 * Statistics
 */

/* Log-linear: a value is known to within 1/32 of itself. */
#define HIST_BITS       5
#define HIST_BUCKETS    ((64 - HIST_BITS + 1) << HIST_BITS)

typedef struct Hist {
    uint64_t total;
    uint64_t count[HIST_BUCKETS];
} Hist;

void hist_add(Hist *hist, uint64_t value);
void hist_merge(Hist *to, const Hist *from);

/* The smallest value that @share of all are not above, rounded up. */
uint64_t hist_quantile(const Hist *hist, double share);

typedef struct HoldStats {
    uint64_t cqes;
    uint64_t sum_ns;
    uint64_t max_ns;
} HoldStats;

/* One more CQE, which took @ns. */
void hold_add(HoldStats *hold, uint64_t ns);

typedef struct Stats {
    uint64_t irqs[CINT_FIRE_URGENT + 1];    /* by class */
    uint64_t reasons[NVME_CINT_NR_REASONS];
    uint64_t avoided;           /* CQEs consumed before any interrupt */
    /* From post to interrupt, or to consumption if that is earlier. */
    HoldStats hold[NVME_CINT_NR_HINTS];
    Hist hist;
    HoldStats post_to_head;     /* until the head passed it */
} Stats;

void stats_merge(Stats *to, const Stats *from);

/* Over all hints. */
HoldStats stats_hold(const Stats *stats);

/*
 * The replay
 */

typedef struct Arm Arm;
typedef struct CqState CqState;
typedef struct Lane Lane;
typedef struct Replay Replay;

/* A CQE, the same under all policies. */
typedef struct Posted {
    int64_t t;
    uint8_t hints, sources;
} Posted;

/* One completion queue under one policy. */
struct Lane {
    CintCq engine;
    Replay *replay;
    Arm *arm;
    CqState *cq;
    int64_t reap_ns;            /* when the guest will look, or NEVER */
    uint32_t full_tail;         /* CQEs posted at the last full interrupt */
    uint32_t uncovered;         /* no CQE before it waits for an interrupt */
    uint32_t announced;         /* Urgent ones before it are covered too */
    uint32_t scanned;           /* Urgent ones before it are reaped */
    uint8_t *state;             /* LANE_* of each slot of the ring */
    Stats stats;
};

/* One completion queue. */
struct CqState {
    uint16_t cqid;
    uint32_t mask;              /* ring of posted CQEs, by free-running index */
    Posted *posted;
    uint32_t tail;
    uint32_t tail_slot;         /* the same, as QEMU's trace has it */
    int64_t last_post_ns;       /* NEVER: none yet */
    Hist gaps;                  /* between completions */
    uint64_t recorded[CINT_FIRE_URGENT + 1];
    Lane *lane;                 /* one for each arm */
};

/* One policy. */
struct Arm {
    const char *name;
    CintConfig config;
    CintScope scope;
};

/* One submission queue; @engine has an entry for each arm. */
typedef struct SqState {
    CqState *cq;
    CintSq *engine;
} SqState;

/* A command in flight; @engine has an entry for each arm. */
typedef struct Command Command;
struct Command {
    Command *next_free;
    uint32_t key;
    uint8_t hints, sources;
    int64_t due;
    CintCmd engine[];
};

struct Replay {
    const Setup *setup;
    Input *in;
    int64_t guest;
    int64_t first_ns, now;      /* first_ns: NEVER before the first event */
    uint64_t events, completions, cancelled;
    uint64_t strangers;         /* completed, but never submitted */
    uint64_t ignored_heads;
    CqState *in_pass;           /* CQEs of last_post_ns may still come */
    unsigned nr_arms, nr_cqs;
    Arm *arm;
    CqState **cq;               /* in order of appearance */
    SqState *sq[65536];
    GHashTable *flying;         /* key of (sqid, cid), to Command */
    Command *free;
    GPtrArray *chunks;          /* of commands */
};

Replay *replay_new(const Setup *setup, Input *in);
void replay_event(Replay *replay, Event *event);

/* The input is over: deadlines run out. */
void replay_finish(Replay *replay);
void replay_free(Replay *replay);

void lane_init(Lane *lane, Replay *replay, Arm *arm, CqState *cq);
void lane_free(Lane *lane);

/* When something happens by itself. */
int64_t lane_due(const Lane *lane);

/* Lets that happen. */
void lane_step(Lane *lane);

/* Carries an answer of the engine out. */
void lane_act(Lane *lane, int64_t t, CintAction action);

/* The guest's head moves to @head, which lies between head and tail. */
void lane_head(Lane *lane, int64_t t, uint32_t head);

/*
 * Output
 */

void output_irq(const Lane *lane, int64_t t, const CintAction *action);
void output_summary(Replay *replay);
void output_flush(void);

/* Measures parser, engine and all together; prints the result. */
void bench(const Setup *setup);

#endif /* REPLAY_H */
