/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A device and a guest around one completion queue, for the engine's tests.
 *
 * The simulation drives the engine as coalesce.h asks for: deadlines up to and
 * including an event's time expire before it, and each interrupt is written
 * down. The guest is eager unless told otherwise: at each full interrupt it
 * reaps everything at once. One with status records obeys them: at an interrupt
 * of either class it reaps everything up to the record's full_tail, beyond it
 * only what it marked Urgent itself, and moves the head as far as that allows.
 * All times are in ns.
 */
#ifndef TESTS_UNIT_SIM_H
#define TESTS_UNIT_SIM_H

#include <glib.h>

#include "coalesce.h"

#define SIM_SQS     4
#define SIM_CMDS    1024    /* per SQ, in flight at once */
#define SIM_IRQS    1024    /* between two sim_expect() */
#define SIM_CQES    1024    /* posted and not reaped */
#define SIM_MOVES   64      /* of the head that are remembered */

typedef struct SimIrq {
    int64_t t;
    CintFire fire;
    CintReason reason;
    uint32_t covered;
} SimIrq;

/* What a guest with status records knows of a CQE. */
typedef struct SimCqe {
    bool urgent;        /* it marked the command so, in CDW0 */
    bool reaped;
} SimCqe;

typedef struct SimMove {
    int64_t t;
    uint32_t n;
} SimMove;

typedef struct Sim {
    CintScope scope;
    CintCq cq;
    CintSq sq[SIM_SQS];
    CintCmd cmd[SIM_SQS][SIM_CMDS];
    uint32_t submitted[SIM_SQS];    /* free running */
    uint32_t retired[SIM_SQS];
    char mark[SIM_SQS][SIM_CMDS];   /* as sim_batch() was told */
    bool lazy;                      /* the guest reaps only when told */
    int64_t now;
    SimIrq irq[SIM_IRQS];
    unsigned nr_irqs;
    uint32_t full_tail;             /* the status record's */
    SimCqe cqe[SIM_CQES];           /* by free-running index */
    SimMove move[SIM_MOVES];
    unsigned nr_moves;
    uint32_t page;                  /* of the next commands' buffers */
} Sim;

/*
 * A configuration of @policy with the extras off (drain, max-hold), which is
 * how the papers' figures and the golden vectors are to be read.
 */
CintConfig sim_config(CintPolicy policy);
CintConfig sim_adaptive(uint64_t delta_ns, uint64_t thr);
CintConfig sim_static(uint64_t time_ns, uint64_t thr);

CintConfig sim_cint(uint64_t delta_ns, uint64_t thr);

/* With an epoch so long that no test determines the ratio by accident. */
CintConfig sim_vic(void);

/* Sets up a CQ of @size entries and SIM_SQS queues that feed it. */
void sim_init(Sim *sim, uint32_t size, const CintConfig *config);

/* A new one, which g_free() frees; the lazy one's guest reaps when told. */
Sim *sim_new(uint32_t size, CintConfig config);
Sim *sim_new_lazy(uint32_t size, CintConfig config);

/*
 * Makes the free-running CQ indices start at @index, on a fresh simulation.
 * Nobody can post 2^32 entries to see what the wrap does.
 */
void sim_start_at(Sim *sim, uint32_t index);

/* Makes @sim's queue one of the controller that @other's queue belongs to. */
void sim_join(Sim *sim, Sim *other);

/* Sets the delivery ratio of policy vic, for both scopes. */
void sim_force_ratio(Sim *sim, uint32_t up, uint32_t skip);

/* The delivery ratio as "4/5"; the caller frees it. */
char *sim_ratio(const CintVicEpoch *epoch);

/* The guest has published SQEs of which @sq has @n to fetch. */
void sim_publish(Sim *sim, unsigned sq, int64_t t, unsigned n);

/* Fetches @n commands from @sq. */
void sim_submit(Sim *sim, unsigned sq, int64_t t, unsigned n);

/*
 * Fetches a batch from @sq that one doorbell announced, a command for each
 * letter: 'U' Urgent, 'B' Barrier and '2' both, in CDW0; the same in CDW13: 'u'
 * and 'b'; 'X' Urgent in both places; anything else is unmarked.
 */
void sim_batch(Sim *sim, unsigned sq, int64_t t, const char *marks);

/*
 * Posts, or drops, the command of @sq that was fetched as its @n-th, from 1,
 * alone in its pass. Goes with sim_batch(), not with the functions that post
 * the oldest.
 */
void sim_post(Sim *sim, unsigned sq, int64_t t, unsigned n);
void sim_drop(Sim *sim, unsigned sq, int64_t t, unsigned n);

/* Fetches a command with mark @mark beforehand and posts it, on SQ 0. */
void sim_marked(Sim *sim, int64_t t, char mark);

/* Posts the @n oldest commands of @sq in one pass. */
void sim_pass(Sim *sim, unsigned sq, int64_t t, unsigned n);

/* Fetches a command from SQ 0 beforehand and posts it, alone in its pass. */
void sim_io(Sim *sim, int64_t t);

/* Does so @n times, @step apart, from @t on. */
void sim_ios(Sim *sim, int64_t t, int64_t step, unsigned n);

/* Posts the oldest command of @sq, alone in its pass. */
void sim_complete(Sim *sim, unsigned sq, int64_t t);
void sim_fail(Sim *sim, unsigned sq, int64_t t);

void sim_cancel(Sim *sim, unsigned sq, int64_t t);
void sim_delete_sq(Sim *sim, unsigned sq, int64_t t);
void sim_configure(Sim *sim, int64_t t, const CintConfig *config);
void sim_disable(Sim *sim, int64_t t, bool disabled);

/* The guest sets the head to @head, or moves it @n entries forward. */
void sim_head(Sim *sim, int64_t t, uint32_t head);
void sim_reap(Sim *sim, int64_t t, uint32_t n);

/* The guest gets status records, or gives them up. */
void sim_records(Sim *sim, int64_t t, bool on);

/* The guest writes its interrupt pointer, or takes it back. */
void sim_pointer(Sim *sim, int64_t t, uint32_t target);
void sim_pointer_off(Sim *sim, int64_t t);

/* How the guest moved the head, as "5000+9 20000+1"; the caller frees it. */
char *sim_moves(const Sim *sim);

/* Calls cint_timer() at @t without asking whether a deadline is due. */
void sim_timer(Sim *sim, int64_t t);

/* Time passes until @t, or until nothing is armed any more. */
void sim_until(Sim *sim, int64_t t);
void sim_run_out(Sim *sim);

/* The interrupts since the last sim_expect(): "14000(3) 21500(4)". */
char *sim_irqs(const Sim *sim);

/* The same with reasons: "14000:quiet(3) 21500:thr(4)". */
char *sim_reasons(const Sim *sim);

/* Asserts that the interrupts since the last call read as @want. */
#define sim_expect(sim, want) \
    sim_expect_at(sim, want, __FILE__, __LINE__, G_STRFUNC)
void sim_expect_at(Sim *sim, const char *want, const char *file, int line,
                   const char *func);

/* Fails the test with both texts, one below the other, unless they agree. */
#define sim_same(what, got, want) \
    sim_same_at(what, got, want, __FILE__, __LINE__, G_STRFUNC)
void sim_same_at(const char *what, const char *got, const char *want,
                 const char *file, int line, const char *func);

#endif /* TESTS_UNIT_SIM_H */
