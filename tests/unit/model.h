/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A slow second engine, for comparison with the real one.
 *
 * It keeps a record of every CQE and every command ever seen and derives each
 * answer by looking through all of them; it keeps no counters. What the real
 * engine knows from arithmetic, this one knows from history.
 */
#ifndef TESTS_UNIT_MODEL_H
#define TESTS_UNIT_MODEL_H

#include "coalesce.h"

#define MODEL_CQES      1024
#define MODEL_CMDS      2048
#define MODEL_STEPS     64
#define MODEL_SQS       8
#define MODEL_SIGNS     4096
#define MODEL_WORKS     4096

/* A delivery ratio of policy vic. */
typedef struct ModelRatio {
    uint32_t up, skip;
    bool low_iops;      /* is 1 because of a low rate */
} ModelRatio;

typedef struct ModelCqe {
    int64_t posted;
    int64_t since;      /* waits for an interrupt since: posted, as a rule */
    int64_t quiet_at;   /* delta after its post */
    bool opens_run;     /* nothing was pending when it was posted */
    bool covered;       /* an interrupt told of it */
    bool counts;        /* toward thr */
    bool consumed;      /* the guest's head is past it */
    CintHeld held;      /* an interrupt was held when it was the last */
    bool paced;         /* it counts for delta */
    int64_t longest_gap;    /* before it, if so */
    bool vic;           /* posted under policy vic, and then: */
    uint64_t scope;
    uint32_t cif;
    bool ends_epoch;
    uint64_t rate;      /* of that epoch, completions/s */
    uint32_t most;      /* ratios by trial: to skip; 0: every one interrupts */
    ModelRatio ratio;   /* determined at the end of the epoch */
    bool ends_cycle;    /* skipUp was reached, or the ratio bypassed */
} ModelCqe;

typedef enum ModelSignKind {
    MODEL_RING,         /* a doorbell */
    MODEL_ACK,          /* the head moved */
    MODEL_MESSAGE,
    MODEL_MASKED,       /* a message that did not reach the guest */
    MODEL_CQE,
} ModelSignKind;

/* What passed between device and guest. */
typedef struct ModelSign {
    ModelSignKind kind;
    unsigned covered;   /* CQEs that a message told of */
    CintAsked asked;    /* by a CQE's hint, or because the queue drained */
    int64_t delta_ns;   /* as set when the CQE was posted */
    unsigned thr;       /* likewise */
    int64_t t;
} ModelSign;

typedef enum ModelCmdState {
    MODEL_FLYING,
    MODEL_POSTED,
    MODEL_CANCELLED,
} ModelCmdState;

typedef struct ModelCmd {
    unsigned sq;
    ModelCmdState state;
    uint8_t hints;      /* NvmeCintHintId, given or inferred */
    bool given;         /* by the guest */
    bool driver_knows;  /* and in CDW0 */
    bool announced;     /* by a doorbell */
    bool any;           /* its sender waits for any command */
    uint32_t page;      /* of its buffer; 0: none, or nothing was learned */
    bool waited;        /* as was learned */
    uint8_t content;    /* CintContent, if it is gone by */
    bool looked;        /* somebody looked at what it is */
    unsigned consumed;  /* CQEs by then, if so */
    bool known;         /* its buffer was */
    bool counts;        /* as one that comes between */
    bool judged, at_once;   /* its buffer's use before, and how it came back */
    int score;          /* what is believed of its buffer from then on */
    bool lies;          /* its CQE, a job's: the buffer is not used again yet */
    int told;           /* CQEs told of when it was submitted */
    int64_t fetched;    /* when that was */
    unsigned cqes;      /* CQEs posted by then */
    int cqe;            /* its own, if that was learned from, or -1 */
} ModelCmd;

typedef struct Model {
    CintConfig config;
    uint32_t size;
    unsigned nr_cqes, nr_cmds, nr_signs;
    unsigned policy_since;          /* first CQE under this policy */
    unsigned elsewhere;             /* in flight on other CQs of the scope */
    unsigned backlog[MODEL_SQS];    /* published, not fetched */
    unsigned limit_since;           /* first sign under this storm limit */
    bool has_record, masked, disabled;
    CintPointerState pointer;
    unsigned pointer_at;            /* CQEs posted when it is passed */
    int64_t told_since;             /* oldest since of the last interrupt */
    ModelCqe cqe[MODEL_CQES];
    ModelCmd cmd[MODEL_CMDS];
    ModelSign sign[MODEL_SIGNS];
    bool step_told[MODEL_STEPS];    /* pressure steps already reported */
    /* At each command: those not consumed; below 0: as many, and forget. */
    int work[MODEL_WORKS];
    unsigned nr_works;
    int64_t submitted;  /* the last command */
    bool asleep;        /* at the last doorbell, and not told since */
    bool probing;       /* it seemed so, and the guest is not told */
    bool resting;       /* likewise, because of one that it waits for */
    unsigned sleeps;
    struct {
        bool known;
        unsigned number;
        unsigned since; /* its first command */
    } life[MODEL_SQS];
    unsigned slices, forgotten;     /* and the first command since then */
    unsigned born[MODEL_SQS];       /* the first command of each queue */
} Model;

void model_init(Model *model, uint32_t size, const CintConfig *config);

/*
 * Events. A command is named by its index in model->cmd. @hints: what the
 * guest gave, @cdw0: there, too.
 */
CintAction model_published(Model *model, unsigned sq, int64_t t, unsigned n);
unsigned model_submit(Model *model, unsigned sq, int64_t t, uint8_t hints,
                      bool cdw0, uint32_t page, uint8_t content);
CintAction model_complete(Model *model, unsigned cmd, int64_t t, bool error);
CintAction model_doorbell(Model *model, unsigned sq, int64_t t);
CintAction model_pass_end(Model *model, int64_t t);
CintAction model_cancel(Model *model, unsigned cmd, int64_t t);
CintAction model_delete_sq(Model *model, unsigned sq, int64_t t);
CintAction model_timer(Model *model, int64_t t);
CintAction model_configure(Model *model, int64_t t, const CintConfig *config);
CintAction model_disable(Model *model, int64_t t, bool disabled);
CintAction model_set_record(Model *model, int64_t t, bool has_record);

/* The pointer is to be passed when @posted CQEs have been; 0: no pointer. */
CintAction model_pointer(Model *model, int64_t t, unsigned posted);

/* The guest consumed @n CQEs; more than there are means all. */
CintAction model_consume(Model *model, int64_t t, unsigned n);

/* Questions, answered by looking through the history. */
unsigned model_inflight(const Model *model);
bool model_knows_any(const Model *model);
bool model_nothing_comes(const Model *model);
unsigned model_backlog(const Model *model);
unsigned model_inflight_of(const Model *model, unsigned sq);
unsigned model_outstanding(const Model *model);
unsigned model_pending(const Model *model);
int64_t model_pending_since(const Model *model);
int64_t model_deadline(Model *model);

#endif /* TESTS_UNIT_MODEL_H */
