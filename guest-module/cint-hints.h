/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupt hints from a kernel that has none: what the files of the module share.
 */
#ifndef CINT_HINTS_H
#define CINT_HINTS_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/types.h>

struct dentry;
struct nvme_command;

/* What is said of a command, in the order in which one wins over the next of a merged request. */
enum hint {
	HINT_URGENT,	/* somebody waits for this command alone */
	HINT_BARRIER,	/* the last of a batch that somebody waits for */
	HINT_NONE,
	HINTS
};

/* What a command is for. Each is a bit of the parameter "kinds", and a row of the counters. */
enum kind {
	KIND_DIRECT,	/* direct I/O that its submitter blocks for */
	KIND_ASYNC,	/* direct I/O of aio and io_uring */
	KIND_WAIT,	/* submit_bio_wait() */
	KIND_FLUSH,	/* flush of the device's cache */
	KIND_WRITEBACK,	/* data and metadata that fsync and others write back */
	KIND_JOURNAL,	/* jbd2's journal, XFS's log */
	KIND_READ,	/* page cache misses */
	KIND_META,	/* metadata that somebody reads or writes, and waits for */
	KIND_SWAP,	/* swap-ins */
	KIND_REALTIME,	/* I/O priority of the realtime class: urgent, by the user's word */
	KIND_IDLE,	/* ... of the idle class: unmarked */
	KIND_LATER,	/* background writeback and readahead: nobody waits */
	KIND_UNSEEN,	/* who waits cannot be seen here */
	KINDS
};

/* Which ends of a batch are marked, and which end a request is; the parameter "batches". */
enum batches {
	NO_BATCHES,
	BATCHES_OF_TWO,		/* or more */
	BATCHES_OF_ONE,		/* or more */
};

/* A kind and what is said of it in one number, which is also where counts and words of it are. */
#define HINT_BITS		2
#define VERDICT(kind, hint)	((kind) << HINT_BITS | (hint))
#define VERDICTS		(KINDS << HINT_BITS)

static_assert(HINTS <= 1 << HINT_BITS);

static inline enum kind verdict_kind(unsigned int verdict)
{
	return verdict >> HINT_BITS;
}

static inline enum hint verdict_hint(unsigned int verdict)
{
	return verdict & (BIT(HINT_BITS) - 1);
}

/* The same kind, not marked. */
static inline unsigned int verdict_unmarked(unsigned int verdict)
{
	return VERDICT(verdict_kind(verdict), HINT_NONE);
}

/* main.c. Any context: ends of batches are to be seen below I/O schedulers, from soon on. */
void probes_below_schedulers(void);

/* who.c: who waits for a request, by what its bios say, and what its command says then. */
int who_init(void);
void who_exit(void);
const char *who_kind_name(enum kind kind);
/* Names of the rows that this kernel cannot give, for people; NULL after the last. */
const char *who_lost(unsigned int n);
/* Of enum batches. */
extern unsigned int who_batches;
/*
 * Which kinds are marked, a bit each, and whether by the standard's words alone. Any context, no
 * other caller meanwhile.
 */
void who_says(unsigned int kinds, bool in_standard);
/*
 * The probe between the making of a command and its sending: marks it. Any context, also with
 * interrupts off. The request's bios are there.
 */
void who_setup(void *unused, struct request *rq, struct nvme_command *cmd);
/*
 * Any context: the task that runs hands that many requests of a queue to the layer below, and sends
 * them itself if @sends.
 */
void who_unplugs(const struct request_queue *q, unsigned int depth, bool sends);

/* layout.c: where a member of one of the kernel's own structures is. */
struct layout {
	const char *structure, *member;
	const char *type;	/* the member's; "*name" is a pointer to that type */
	const char *module;	/* which describes it; NULL: the kernel itself */
	int offset;		/* bytes; negative: not there, or not what it should be */
};

/* An offset: its module is not loaded. */
#define LAYOUT_LATER	(-ENODEV)

/*
 * Look up those of @module in its description of its types (BTF); NULL: all, in the kernel's own.
 * Process context, may sleep. Returns 0 if it could be read, whatever was found in it.
 */
int layout_find(struct layout *rows, unsigned int count, const char *module);
/* Whether a module is loaded that describes its types. Process context, may sleep. */
bool layout_is_described(const char *module);
/*
 * Whether the kernel, or a module of it, describes a tracepoint of that name whose probes get these
 * arguments ("*name" is a pointer to that type; NULL ends them) after their own. Process context,
 * may sleep.
 */
bool layout_tracepoint(const char *module, const char *name, const char * const *arguments);

/* controllers.c: which controllers take hints. */
#define MOST_CONTROLLERS 32

/* Commands by VERDICT(). */
struct counts {
	u64 n[VERDICTS];
};

struct controller {
	void *owner;		/* NULL: this place is free */
	struct counts __percpu *counts;
	unsigned long used;	/* jiffies of its last command, or of its Identify */
	char name[16];		/* of the character device; empty before the first command */
};

extern struct controller controllers[MOST_CONTROLLERS];
/* Places from here on are free. */
extern unsigned int controller_places;
/* Identify commands that are on their way. */
extern atomic_t controllers_watching;

int controllers_init(struct dentry *directory);
void controllers_exit(void);
/* Forget all, where no probe runs any more. */
void controllers_forget(void);
/*
 * Make each NVMe controller of the PCI bus identify itself, which the probes see. Context: a system
 * call of a process, which lends its memory for a moment; may sleep, for 2 s at most where a
 * controller does not start.
 */
void controllers_ask(void);
/* Any context: a request of an admin queue is about to be sent; a request is complete. */
void controllers_sent(struct request *rq, const struct nvme_command *cmd);
void controllers_complete(struct request *rq);

/* What admin and I/O queues of a controller have in common. It is compared, and never followed. */
static inline void *controller_owner(const struct request *rq)
{
	return rq->q->tag_set->driver_data;
}

/* Any context: the controller of an I/O queue's request, or NULL if it takes no hints. */
static inline struct controller *controller_of(const struct request *rq)
{
	const void *owner = controller_owner(rq);
	unsigned int i;

	for (i = 0; owner && i < READ_ONCE(controller_places); i++)
		if (READ_ONCE(controllers[i].owner) == owner)
			return &controllers[i];
	return NULL;
}

void controller_used(struct controller *controller, const struct request *rq, unsigned long now);

/* Any context. */
static inline void controller_count(struct controller *controller, const struct request *rq,
				    unsigned int verdict)
{
	const unsigned long now = jiffies;

	this_cpu_inc(controller->counts->n[verdict]);
	if (unlikely(READ_ONCE(controller->used) != now))
		controller_used(controller, rq, now);
}

#endif
