// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who waits for a request, as far as a request tells.
 *
 * A bio names the function that is called at its end, which whoever submitted it chose by who is to
 * be woken. Such a function is known by its symbol, which is looked up when it is first met. Some
 * kinds also need a member of a structure that the bio points to; what is private to a file of the
 * kernel is read only where the kernel's own description of its types has it (layout.c).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/buffer_head.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/ioprio.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "cint-hints.h"

/* What an end function says. */
enum end {
	END_NEW,		/* not looked up yet; must be 0 */
	END_UNKNOWN,
	END_CHAIN,		/* the front of a bio that was split: bi_private is the rest */
	END_WAIT,
	END_DIRECT,		/* its submitter waits, whatever else is in the bio */
	END_ASYNC,
	END_BLKDEV_DIO,		/* bi_private is a struct blkdev_dio */
	END_IOMAP_DIO,		/* bi_private is a struct iomap_dio */
	END_FILE,		/* page cache: reads, writeback */
	END_BUFFER,		/* bi_private is a struct buffer_head, whose b_end_io says more */
	END_BUFFER_META,	/* a buffer that is read or written by itself */
	END_JOURNAL,
	END_META,		/* buffers of XFS */
	END_SWAP_IN,
};

static const struct {
	const char *symbol;
	enum end end;
} ends[] = {
	{ "bio_chain_endio", END_CHAIN },
	{ "submit_bio_wait_endio", END_WAIT },
	{ "bio_wait_end_io", END_WAIT },
	{ "blkdev_bio_end_io_simple", END_DIRECT },
	{ "dio_bio_end_io", END_DIRECT },
	{ "blkdev_bio_end_io_async", END_ASYNC },
	{ "dio_bio_end_aio", END_ASYNC },
	{ "blkdev_bio_end_io", END_BLKDEV_DIO },
	{ "iomap_dio_bio_end_io", END_IOMAP_DIO },
	{ "mpage_end_io", END_FILE },
	{ "mpage_read_end_io", END_FILE },
	{ "mpage_write_end_io", END_FILE },
	{ "iomap_read_end_io", END_FILE },
	{ "iomap_writepage_end_bio", END_FILE },
	{ "ioend_writeback_end_bio", END_FILE },
	{ "xfs_end_bio", END_FILE },
	{ "ext4_end_bio", END_FILE },
	{ "end_buffer_async_read_io", END_FILE },
	{ "end_buffer_async_read", END_FILE },
	{ "end_buffer_async_write", END_FILE },
	{ "end_bio_bh_io_sync", END_BUFFER },
	{ "end_buffer_read_sync", END_BUFFER_META },
	{ "end_buffer_write_sync", END_BUFFER_META },
	{ "ext4_end_bitmap_read", END_BUFFER_META },
	{ "ext4_end_buffer_io_sync", END_JOURNAL },
	{ "journal_end_buffer_io_sync", END_JOURNAL },
	{ "xlog_bio_end_io", END_JOURNAL },
	{ "xfs_buf_bio_end_io", END_META },
	{ "end_swap_bio_read", END_SWAP_IN },
};

static const char * const kind_names[KINDS] = {
	[KIND_DIRECT]		= "direct",
	[KIND_ASYNC]		= "async",
	[KIND_WAIT]		= "wait",
	[KIND_FLUSH]		= "flush",
	[KIND_WRITEBACK]	= "writeback",
	[KIND_JOURNAL]		= "journal",
	[KIND_READ]		= "read",
	[KIND_META]		= "meta",
	[KIND_SWAP]		= "swap",
	[KIND_REALTIME]		= "realtime",
	[KIND_IDLE]		= "idle",
	[KIND_LATER]		= "later",
	[KIND_UNSEEN]		= "unseen",
};

enum { IOMAP_IOCB, IOMAP_WAITS, BLKDEV_WAITER, LAYOUTS };

static struct layout layouts[LAYOUTS] = {
	[IOMAP_IOCB] = { "iomap_dio", "iocb", "*kiocb" },
	[IOMAP_WAITS] = { "iomap_dio", "wait_for_completion", "bool" },
	[BLKDEV_WAITER] = { "blkdev_dio", "waiter", "*task_struct" },
};

static const char * const lost_names[LAYOUTS] = {
	[IOMAP_IOCB] = "direct I/O of ext4, XFS and others (struct iomap_dio)",
	[IOMAP_WAITS] = "asynchronous direct writes that are waited for (struct iomap_dio)",
	[BLKDEV_WAITER] = "direct I/O of many bios on block devices (struct blkdev_dio)",
};

/* A merged request can have hundreds of bios, which are mostly of one submitter. */
#define MOST_BIOS 8

/* End functions that were met. A slot keeps its function; what it says is looked up when needed. */
#define SEEN_BITS 7

struct seen {
	void *function;
	enum end end;
};

static struct seen seen[1 << SEEN_BITS];

/* The task whose list of requests is being sent on this CPU and has not come to its end. */
static DEFINE_PER_CPU(struct task_struct *, sending_list);

const char *who_kind_name(enum kind kind)
{
	return kind_names[kind];
}

const char *who_lost(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < LAYOUTS; i++)
		if (layouts[i].offset < 0 && !n--)
			return lost_names[i];
	return NULL;
}

static enum end look_up(void *function)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned int i;

	sprint_symbol_no_offset(name, (unsigned long)function);
	/* Without " [module]", and what compilers append to a copy of a function. */
	name[strcspn(name, " .")] = '\0';
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		if (!strcmp(name, ends[i].symbol))
			return ends[i].end;
	return END_UNKNOWN;
}

static noinline enum end meet(struct seen *slot, void *function)
{
	enum end end = look_up(function);

	if (READ_ONCE(slot->function) == function)
		WRITE_ONCE(slot->end, end);
	return end;
}

static __always_inline enum end end_of(void *function)
{
	const u32 first = hash_ptr(function, SEEN_BITS);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(seen); i++) {
		struct seen *slot = &seen[(first + i) % ARRAY_SIZE(seen)];
		void *there = READ_ONCE(slot->function);
		enum end end;

		if (!there) {
			cmpxchg(&slot->function, NULL, function);
			return meet(slot, function);
		}
		if (there != function)
			continue;
		end = READ_ONCE(slot->end);
		return likely(end != END_NEW) ? end : meet(slot, function);
	}
	return END_UNKNOWN;
}

/* A module's functions go with it, and another's may come in their place. */
static int module_changes(struct notifier_block *block, unsigned long event, void *module)
{
	unsigned int i;

	if (event != MODULE_STATE_GOING)
		return NOTIFY_OK;
	for (i = 0; i < ARRAY_SIZE(seen); i++)
		if (within_module((unsigned long)seen[i].function, module))
			WRITE_ONCE(seen[i].end, END_NEW);
	return NOTIFY_OK;
}

static struct notifier_block module_block = { .notifier_call = module_changes };

static void *private_pointer(const struct bio *bio, const struct layout *layout)
{
	return *(void **)(bio->bi_private + layout->offset);
}

/* Who asked not to wait does not. */
static struct verdict direct(const struct bio *bio, bool waits)
{
	if (waits && !(bio->bi_opf & REQ_NOWAIT))
		return (struct verdict) { KIND_DIRECT, HINT_URGENT };
	return (struct verdict) { KIND_ASYNC, HINT_NONE };
}

/* Of several bios, on a block device: who waits submits them all, so it is the task that runs. */
static struct verdict blkdev_dio(const struct bio *bio)
{
	if (layouts[BLKDEV_WAITER].offset < 0)
		return (struct verdict) { KIND_UNSEEN, HINT_NONE };
	return direct(bio, private_pointer(bio, &layouts[BLKDEV_WAITER]) == current);
}

static struct verdict iomap_dio(const struct bio *bio)
{
	struct kiocb *iocb;

	if (layouts[IOMAP_IOCB].offset < 0)
		return (struct verdict) { KIND_UNSEEN, HINT_NONE };
	iocb = private_pointer(bio, &layouts[IOMAP_IOCB]);
	if (layouts[IOMAP_WAITS].offset >= 0 &&
	    *(bool *)(bio->bi_private + layouts[IOMAP_WAITS].offset))
		return direct(bio, true);
	return direct(bio, is_sync_kiocb(iocb) && !(iocb->ki_flags & IOCB_NOWAIT));
}

/*
 * Readahead in advance begins with the page that asks for the next readahead. What begins with
 * another one was asked for by a reader, who waits for it.
 */
static bool read_in_advance(const struct bio *bio)
{
	return (bio->bi_opf & REQ_RAHEAD) && bio->bi_vcnt &&
	       folio_test_readahead(page_folio(bio->bi_io_vec->bv_page));
}

static struct verdict page_cache(const struct bio *bio)
{
	if (op_is_write(bio_op(bio))) {
		if (bio->bi_opf & REQ_SYNC)
			return (struct verdict) { KIND_WRITEBACK, HINT_URGENT };
		return (struct verdict) { KIND_LATER, HINT_NONE };
	}
	if (read_in_advance(bio))
		return (struct verdict) { KIND_LATER, HINT_NONE };
	return (struct verdict) { KIND_READ, HINT_URGENT };
}

/* What is written before the commit record is waited for together. */
static struct verdict journal(const struct bio *bio)
{
	if (bio->bi_opf & (REQ_FUA | REQ_PREFLUSH))
		return (struct verdict) { KIND_JOURNAL, HINT_URGENT };
	return (struct verdict) { KIND_JOURNAL, HINT_BARRIER };
}

static struct verdict metadata(const struct bio *bio)
{
	const bool waits = op_is_write(bio_op(bio)) ? bio->bi_opf & REQ_SYNC :
						      !(bio->bi_opf & REQ_RAHEAD);

	if (waits)
		return (struct verdict) { KIND_META, HINT_URGENT };
	return (struct verdict) { KIND_LATER, HINT_NONE };
}

static struct verdict buffer(const struct bio *bio)
{
	const struct buffer_head *bh = bio->bi_private;

	switch (end_of(bh->b_end_io)) {
	case END_FILE:
		return page_cache(bio);
	case END_JOURNAL:
		return journal(bio);
	case END_BUFFER_META:
		return metadata(bio);
	default:
		return (struct verdict) { KIND_UNSEEN, HINT_NONE };
	}
}

static struct verdict swap_in(const struct bio *bio)
{
	if (bio->bi_vcnt && folio_test_readahead(page_folio(bio->bi_io_vec->bv_page)))
		return (struct verdict) { KIND_LATER, HINT_NONE };
	return (struct verdict) { KIND_SWAP, HINT_URGENT };
}

/* How often a bio may have been split. */
#define MOST_SPLITS 64

static struct verdict bio_waits(const struct bio *bio)
{
	enum end end = end_of(bio->bi_end_io);
	unsigned int left = MOST_SPLITS;

	for (; end == END_CHAIN && left; left--) {
		bio = bio->bi_private;
		end = end_of(bio->bi_end_io);
	}
	switch (IOPRIO_PRIO_CLASS(bio->bi_ioprio)) {
	case IOPRIO_CLASS_RT:
		return (struct verdict) { KIND_REALTIME, HINT_URGENT };
	case IOPRIO_CLASS_IDLE:
		return (struct verdict) { KIND_IDLE, HINT_NONE };
	}
	switch (end) {
	case END_WAIT:
		return (struct verdict) { KIND_WAIT, HINT_URGENT };
	case END_DIRECT:
		return direct(bio, true);
	case END_ASYNC:
		return direct(bio, false);
	case END_BLKDEV_DIO:
		return blkdev_dio(bio);
	case END_IOMAP_DIO:
		return iomap_dio(bio);
	case END_FILE:
		return page_cache(bio);
	case END_BUFFER:
		return buffer(bio);
	case END_JOURNAL:
		return journal(bio);
	case END_META:
		return metadata(bio);
	case END_SWAP_IN:
		return swap_in(bio);
	default:
		return (struct verdict) { KIND_UNSEEN, HINT_NONE };
	}
}

/*
 * Whether others of the list that the submitter had plugged are sent after this one. Where a list
 * is a pointer, it is walked; where it is a structure, requests are taken off its front.
 */
#ifdef HAVE_STRUCT_RQ_LIST
static bool others_follow(const struct request *rq)
{
	return current->plug && !rq_list_empty(&current->plug->mq_list);
}
#else
static bool others_follow(const struct request *rq)
{
	return current->plug && current->plug->mq_list && rq->rq_next;
}
#endif

/*
 * Whether a request of aio or io_uring ends a list: BATCHES_OF_TWO if others of the list were sent
 * before it, or were merged into it; BATCHES_OF_ONE if it is all there is.
 */
static enum batches ends_list(const struct request *rq)
{
	const bool began = this_cpu_read(sending_list) == current;
	const bool goes_on = others_follow(rq);
	struct task_struct *sender = goes_on ? current : NULL;

	if (goes_on != began)
		this_cpu_write(sending_list, sender);
	/* The front of a bio that was split ends nothing either. */
	if (goes_on || end_of(rq->biotail->bi_end_io) == END_CHAIN)
		return NO_BATCHES;
	return began || rq->bio->bi_next ? BATCHES_OF_TWO : BATCHES_OF_ONE;
}

struct verdict who_waits(const struct request *rq, enum batches batches)
{
	struct verdict best = { KIND_UNSEEN, HINTS };
	const struct bio *bio = rq->bio;
	unsigned int left = MOST_BIOS;

	if (req_op(rq) == REQ_OP_FLUSH)
		return (struct verdict) { KIND_FLUSH, HINT_URGENT };
	/* Polled I/O has no interrupt. */
	if (!bio || (rq->cmd_flags & REQ_POLLED))
		return (struct verdict) { KIND_UNSEEN, HINT_NONE };
	/* In one place, so that the compiler makes no call of it. */
	do {
		const struct verdict other = bio_waits(bio);

		if (other.hint < best.hint)
			best = other;
		bio = bio->bi_next;
	} while (best.hint != HINT_URGENT && bio && --left);
	if (best.kind == KIND_ASYNC) {
		const enum batches end = ends_list(rq);

		if (end != NO_BATCHES && end <= batches)
			best.hint = HINT_BARRIER;
	}
	if (best.hint == HINT_BARRIER && batches == NO_BATCHES)
		best.hint = HINT_NONE;
	return best;
}

int who_init(void)
{
	int ret = layout_find(layouts, LAYOUTS);
	unsigned int i;

	if (ret)
		pr_warn("the kernel does not describe its types (%d): some kinds are lost\n", ret);
	for (i = 0; i < LAYOUTS; i++)
		if (layouts[i].offset < 0)
			pr_warn("not as expected in this kernel, so unmarked: %s\n", lost_names[i]);
	return register_module_notifier(&module_block);
}

void who_exit(void)
{
	unregister_module_notifier(&module_block);
}
