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
#include <linux/ioprio.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/nvme.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "cint-hints.h"

/* Where the hints of a command are: docs/interface.md, section 3. */
#define CDW0_FLAGS(hint)	((hint) << 2)	/* of the byte after the opcode */
#define CDW13(hint)		((hint) << 8)
#define CDW13_LATENCY_LOW	GENMASK(5, 4)	/* Access Latency, in the standard's words */
#define URGENT			BIT(0)
#define BARRIER			BIT(1)
#define CDW12_CETYPE		GENMASK(19, 16)

/* What an end function says. */
enum end {
	END_NEW,		/* not looked up yet; must be 0 */
	END_UNKNOWN,
	END_WAIT,
	END_DIRECT,		/* its submitter waits, whatever else is in the bio */
	END_ASYNC,
	END_BLKDEV_DIO,		/* bi_private is a struct blkdev_dio */
	END_IOMAP_DIO,		/* bi_private is a struct iomap_dio */
	END_FILE,		/* page cache: reads, writeback */
	END_BUFFER,		/* bi_private is a struct buffer_head, whose b_end_io says more */
	END_JOURNAL,
	END_META,		/* a buffer that is read or written by itself */
	END_SWAP_IN,
	/* What was submitted by others, and where that is; see behind(). */
	END_CHAIN,		/* the front of a bio that was split: bi_private is the rest */
	END_DM,			/* the bio is in a struct dm_target_io */
	END_CRYPT,		/* bi_private is a struct dm_crypt_io */
	END_MD,			/* the bio is in a struct md_io_clone */
	END_RAID1,		/* bi_private is a struct r1bio */
	END_RAID10,		/* bi_private is a struct r10bio */
	END_BTRFS,		/* the bio is in a struct btrfs_bio */
	END_BTRFS_COPY,		/* bi_private is a struct btrfs_io_stripe */
	END_PASSED_ON = END_CHAIN,	/* from here on */
};

/*
 * A function counts only if it is the kernel's own, or that module's: another one may have any
 * name, and bios that point to something else.
 */
static const struct {
	const char *symbol;
	enum end end;
	const char *module;	/* where it may be, if not in the kernel itself */
} ends[] = {
	{ "bio_chain_endio", END_CHAIN },
	{ "submit_bio_wait_endio", END_WAIT },
	{ "bio_wait_end_io", END_WAIT },
	{ "blkdev_bio_end_io_simple", END_DIRECT },
	{ "dio_bio_end_io", END_DIRECT },
	{ "blkdev_bio_end_io_async", END_ASYNC },
	{ "dio_bio_end_aio", END_ASYNC },
	{ "iomap_dio_simple_end_io", END_ASYNC },
	{ "blkdev_bio_end_io", END_BLKDEV_DIO },
	{ "iomap_dio_bio_end_io", END_IOMAP_DIO },
	{ "mpage_end_io", END_FILE, "ext4" },
	{ "mpage_read_end_io", END_FILE },
	{ "mpage_write_end_io", END_FILE },
	{ "iomap_read_end_io", END_FILE },
	{ "iomap_writepage_end_bio", END_FILE },
	{ "ioend_writeback_end_bio", END_FILE },
	{ "xfs_end_bio", END_FILE, "xfs" },
	{ "ext4_end_bio", END_FILE, "ext4" },
	{ "end_buffer_async_read_io", END_FILE },
	{ "end_buffer_async_read", END_FILE },
	{ "end_buffer_async_write", END_FILE },
	{ "end_bio_bh_io_sync", END_BUFFER },
	{ "bh_end_async_read", END_FILE },
	{ "bh_end_async_write", END_FILE },
	{ "bh_end_read", END_META },
	{ "bh_end_write", END_META },
	{ "end_buffer_read_sync", END_META },
	{ "end_buffer_write_sync", END_META },
	{ "ext4_end_bitmap_read", END_META, "ext4" },
	{ "ext4_end_buffer_io_sync", END_JOURNAL, "ext4" },
	{ "journal_end_buffer_io_sync", END_JOURNAL, "jbd2" },
	{ "xlog_bio_end_io", END_JOURNAL, "xfs" },
	{ "xfs_buf_bio_end_io", END_META, "xfs" },
	{ "end_swap_bio_read", END_SWAP_IN },
	{ "swap_bio_read_end_io", END_SWAP_IN },
	{ "clone_endio", END_DM, "dm_mod" },
	{ "crypt_endio", END_CRYPT, "dm_crypt" },
	{ "md_end_clone_io", END_MD, "md_mod" },
	{ "raid1_end_read_request", END_RAID1, "raid1" },
	{ "raid1_end_write_request", END_RAID1, "raid1" },
	{ "raid10_end_read_request", END_RAID10, "raid10" },
	{ "raid10_end_write_request", END_RAID10, "raid10" },
	{ "btrfs_simple_end_io", END_BTRFS, "btrfs" },
	{ "btrfs_orig_write_end_io", END_BTRFS, "btrfs" },
	{ "btrfs_clone_write_end_io", END_BTRFS_COPY, "btrfs" },
	{ "btrfs_dio_end_io", END_IOMAP_DIO, "btrfs" },
	{ "end_bbio_data_read", END_FILE, "btrfs" },
	{ "end_bbio_data_write", END_FILE, "btrfs" },
	{ "end_bbio_meta_read", END_META, "btrfs" },
	{ "end_bbio_meta_write", END_META, "btrfs" },
	{ "btrfs_end_super_write", END_META, "btrfs" },
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

enum {
	IOMAP_IOCB, IOMAP_WAITS, BLKDEV_WAITER,
	DM_BIO, DM_IO, DM_ORIGINAL, CRYPT_ORIGINAL, MD_BIO, MD_ORIGINAL,
	RAID1_ORIGINAL, RAID1_BEHIND, RAID10_ORIGINAL,
	BTRFS_BIO, BTRFS_END, BTRFS_PRIVATE, BTRFS_COPY, BTRFS_ORIGINAL,
	LAYOUTS
};

static struct layout layouts[LAYOUTS] = {
	[IOMAP_IOCB] = { "iomap_dio", "iocb", "*kiocb" },
	[IOMAP_WAITS] = { "iomap_dio", "wait_for_completion", "bool" },
	[BLKDEV_WAITER] = { "blkdev_dio", "waiter", "*task_struct" },
	[DM_BIO] = { "dm_target_io", "clone", "bio", "dm_mod" },
	[DM_IO] = { "dm_target_io", "io", "*dm_io", "dm_mod" },
	[DM_ORIGINAL] = { "dm_io", "orig_bio", "*bio", "dm_mod" },
	[CRYPT_ORIGINAL] = { "dm_crypt_io", "base_bio", "*bio", "dm_crypt" },
	[MD_BIO] = { "md_io_clone", "bio_clone", "bio", "md_mod" },
	[MD_ORIGINAL] = { "md_io_clone", "orig_bio", "*bio", "md_mod" },
	[RAID1_ORIGINAL] = { "r1bio", "master_bio", "*bio", "raid1" },
	[RAID1_BEHIND] = { "r1bio", "behind_master_bio", "*bio", "raid1" },
	[RAID10_ORIGINAL] = { "r10bio", "master_bio", "*bio", "raid10" },
	[BTRFS_BIO] = { "btrfs_bio", "bio", "bio", "btrfs" },
	[BTRFS_END] = { "btrfs_bio", "end_io", "btrfs_bio_end_io_t", "btrfs" },
	[BTRFS_PRIVATE] = { "btrfs_bio", "private", "*", "btrfs" },
	[BTRFS_COPY] = { "btrfs_io_stripe", "bioc", "*btrfs_io_context", "btrfs" },
	[BTRFS_ORIGINAL] = { "btrfs_io_context", "orig_bio", "*bio", "btrfs" },
};

static const char * const lost_names[LAYOUTS] = {
	[IOMAP_IOCB] = "direct I/O of ext4, XFS and others (struct iomap_dio)",
	[IOMAP_WAITS] = "asynchronous direct writes that are waited for (struct iomap_dio)",
	[BLKDEV_WAITER] = "direct I/O of many bios on block devices (struct blkdev_dio)",
	[DM_BIO] = "device mapper (struct dm_target_io, clone)",
	[DM_IO] = "device mapper (struct dm_target_io, io)",
	[DM_ORIGINAL] = "device mapper (struct dm_io)",
	[CRYPT_ORIGINAL] = "dm-crypt (struct dm_crypt_io)",
	[MD_BIO] = "MD (struct md_io_clone, bio_clone)",
	[MD_ORIGINAL] = "MD (struct md_io_clone, orig_bio)",
	[RAID1_ORIGINAL] = "RAID 1 (struct r1bio, master_bio)",
	[RAID1_BEHIND] = "RAID 1 (struct r1bio, behind_master_bio)",
	[RAID10_ORIGINAL] = "RAID 10 (struct r10bio)",
	[BTRFS_BIO] = "btrfs (struct btrfs_bio, bio)",
	[BTRFS_END] = "btrfs (struct btrfs_bio, end_io)",
	[BTRFS_PRIVATE] = "btrfs (struct btrfs_bio, private)",
	[BTRFS_COPY] = "copies of btrfs (struct btrfs_io_stripe)",
	[BTRFS_ORIGINAL] = "copies of btrfs (struct btrfs_io_context)",
};

/* Of struct iomap_dio, for most requests; negative unless both are known. */
static int iomap_iocb_at = -1, iomap_waits_at = -1;

/* A merged request can have hundreds of bios, which are mostly of one submitter. */
#define MOST_BIOS 8

/*
 * End functions that were met. A slot keeps its function until that one's module goes; what it says
 * is looked up when needed. Functions begin at multiples of 16.
 */
#define SEEN_BITS	7
#define FUNCTION_SHIFT	4

struct seen {
	void *function;
	enum end end;
};

static struct seen seen[1 << SEEN_BITS];

unsigned int who_batches = BATCHES_OF_TWO;

/* The task whose list of requests is being sent on this CPU and has not come to its end. */
static DEFINE_PER_CPU(struct task_struct *, sending_list);

/*
 * A list that was handed to an I/O scheduler on this CPU. It is sent before the task goes on, in an
 * order that nothing tells, so what is sent is counted. Fewer may be, where they are merged. A task
 * that is preempted in a probe, as later kernels allow, and goes on elsewhere loses the end of this
 * one batch: nothing here is followed.
 */
struct handed {
	const struct task_struct *task;
	const struct request_queue *queue;
	const struct request *rq;	/* the last one that was counted; never followed */
	unsigned int left;
};

static DEFINE_PER_CPU(struct handed, handed);

const char *who_kind_name(enum kind kind)
{
	return kind_names[kind];
}

static bool is_lost(const struct layout *row)
{
	return row->offset < 0 && row->offset != LAYOUT_LATER;
}

const char *who_lost(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < LAYOUTS; i++)
		if (is_lost(&layouts[i]) && !n--)
			return lost_names[i];
	return NULL;
}

static bool is_same(const char *one, const char *other)
{
	return one && other ? !strcmp(one, other) : one == other;
}

static enum end look_up(void *function)
{
	char name[KSYM_SYMBOL_LEN];
	char *module;
	unsigned int i;

	/* "name", or "name [module]"; compilers append to the name of a copy, after a dot. */
	sprint_symbol_no_offset(name, (unsigned long)function);
	module = strchr(name, '[');
	if (module) {
		module++;
		module[strcspn(module, " ]")] = '\0';
	}
	name[strcspn(name, " .")] = '\0';
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		if (!strcmp(name, ends[i].symbol))
			return !module || is_same(module, ends[i].module) ? ends[i].end :
									    END_UNKNOWN;
	return END_UNKNOWN;
}

/* What the slot says is to be read after it. */
static __always_inline void *function_of(const struct seen *slot)
{
	/* Pairs with empty(). */
	return smp_load_acquire(&slot->function);
}

static enum end meet(struct seen *slot, void *function)
{
	enum end end = look_up(function);

	if (READ_ONCE(slot->function) == function)
		WRITE_ONCE(slot->end, end);
	return end;
}

static __always_inline unsigned int first_slot(void *function)
{
	return ((unsigned long)function >> FUNCTION_SHIFT) % ARRAY_SIZE(seen);
}

/* Of a function that is not known yet, or whose slot another one has. */
static noinline enum end search(void *function)
{
	const unsigned int first = first_slot(function);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(seen); i++) {
		struct seen *slot = &seen[(first + i) % ARRAY_SIZE(seen)];
		void *there = function_of(slot);
		enum end end;

		if (!there) {
			cmpxchg(&slot->function, NULL, function);
			return meet(slot, function);
		}
		if (there != function)
			continue;
		end = READ_ONCE(slot->end);
		return end != END_NEW ? end : meet(slot, function);
	}
	return END_UNKNOWN;
}

static __always_inline enum end end_of(void *function)
{
	const struct seen *slot = &seen[first_slot(function)];

	if (likely(function_of(slot) == function)) {
		const enum end end = READ_ONCE(slot->end);

		if (likely(end != END_NEW))
			return end;
	}
	return search(function);
}

static void find_layouts(const char *module)
{
	int ret = layout_find(layouts, LAYOUTS, module);
	unsigned int i;

	if (ret)
		pr_warn("%s does not describe its types (%d): some kinds are lost\n",
			module ? module : "the kernel", ret);
	for (i = 0; i < LAYOUTS; i++)
		if (is_lost(&layouts[i]) && is_same(layouts[i].module, module))
			pr_warn("not as expected in this kernel, so unmarked: %s\n",
				lost_names[i]);
	if (layouts[IOMAP_IOCB].offset < 0 || layouts[IOMAP_WAITS].offset < 0)
		return;
	WRITE_ONCE(iomap_waits_at, layouts[IOMAP_WAITS].offset);
	WRITE_ONCE(iomap_iocb_at, layouts[IOMAP_IOCB].offset);
}

static bool has_rows(const char *module)
{
	unsigned int i;

	for (i = 0; i < LAYOUTS; i++)
		if (is_same(layouts[i].module, module))
			return true;
	return false;
}

/* Its function is met no more. */
static void empty(struct seen *slot)
{
	WRITE_ONCE(slot->end, END_NEW);
	/* Pairs with function_of(): who sees that the place is free sees that it says nothing. */
	smp_store_release(&slot->function, NULL);
}

static void lose_layouts(const char *module)
{
	unsigned int i;

	for (i = 0; i < LAYOUTS; i++)
		if (is_same(layouts[i].module, module))
			WRITE_ONCE(layouts[i].offset, LAYOUT_LATER);
}

/* A module's functions and structures go with it, and others may come in their place. */
static int module_changes(struct notifier_block *block, unsigned long event, void *data)
{
	const struct module *module = data;
	unsigned int i;

	if (event == MODULE_STATE_LIVE && has_rows(module->name))
		find_layouts(module->name);
	if (event != MODULE_STATE_GOING)
		return NOTIFY_OK;
	for (i = 0; i < ARRAY_SIZE(seen); i++)
		if (within_module((unsigned long)seen[i].function, module))
			empty(&seen[i]);
	lose_layouts(module->name);
	return NOTIFY_OK;
}

static struct notifier_block module_block = { .notifier_call = module_changes };

/* What a member of a structure points to; NULL if it is not known where that member is. */
static void *pointer_at(const void *structure, unsigned int layout)
{
	const int offset = READ_ONCE(layouts[layout].offset);

	return structure && offset >= 0 ? *(void **)(structure + offset) : NULL;
}

/* Who asked not to wait does not. */
static unsigned int direct(const struct bio *bio, bool waits)
{
	if (waits && !(bio->bi_opf & REQ_NOWAIT))
		return VERDICT(KIND_DIRECT, HINT_URGENT);
	return VERDICT(KIND_ASYNC, HINT_NONE);
}

/* Of several bios, on a block device: who waits submits them all, so it is the task that runs. */
static unsigned int blkdev_dio(const struct bio *bio)
{
	if (layouts[BLKDEV_WAITER].offset < 0)
		return VERDICT(KIND_UNSEEN, HINT_NONE);
	return direct(bio, pointer_at(bio->bi_private, BLKDEV_WAITER) == current);
}

/* @dio: a struct iomap_dio. */
static unsigned int iomap_dio(const struct bio *bio, const void *dio)
{
	struct kiocb *iocb = pointer_at(dio, IOMAP_IOCB);

	if (!iocb)
		return VERDICT(KIND_UNSEEN, HINT_NONE);
	/* iomap has said that it waits, whatever the bio asks of the queues. */
	if (layouts[IOMAP_WAITS].offset >= 0 && *(bool *)(dio + layouts[IOMAP_WAITS].offset))
		return VERDICT(KIND_DIRECT, HINT_URGENT);
	return direct(bio, is_sync_kiocb(iocb) && !(iocb->ki_flags & IOCB_NOWAIT));
}

/*
 * Readahead in advance begins with the page that asks for the next readahead. What begins with
 * another one was asked for by a reader, who waits for it.
 */
static bool asks_for_more(const struct bio *bio)
{
	/* Some count their pages by bytes alone, and leave bi_vcnt at 0. */
	return bio_has_data((struct bio *)bio) &&
	       folio_test_readahead(page_folio(bio->bi_io_vec->bv_page));
}

static bool read_in_advance(const struct bio *bio)
{
	return (bio->bi_opf & REQ_RAHEAD) && asks_for_more(bio);
}

static unsigned int page_cache(const struct bio *bio)
{
	if (op_is_write(bio_op(bio))) {
		if (bio->bi_opf & REQ_SYNC)
			return VERDICT(KIND_WRITEBACK, HINT_URGENT);
		return VERDICT(KIND_LATER, HINT_NONE);
	}
	if (read_in_advance(bio))
		return VERDICT(KIND_LATER, HINT_NONE);
	return VERDICT(KIND_READ, HINT_URGENT);
}

/* What is written before the commit record is waited for together. */
static unsigned int journal(const struct bio *bio)
{
	if (bio->bi_opf & (REQ_FUA | REQ_PREFLUSH))
		return VERDICT(KIND_JOURNAL, HINT_URGENT);
	return VERDICT(KIND_JOURNAL, HINT_BARRIER);
}

static unsigned int metadata(const struct bio *bio)
{
	const bool waits = op_is_write(bio_op(bio)) ? bio->bi_opf & REQ_SYNC :
						      !(bio->bi_opf & REQ_RAHEAD);

	if (waits)
		return VERDICT(KIND_META, HINT_URGENT);
	return VERDICT(KIND_LATER, HINT_NONE);
}

/* Before Linux 7.x a buffer had an end function of its own behind that of its bio. */
#ifdef HAVE_BUFFERS_OWN_END
static unsigned int buffer(const struct bio *bio)
{
	const struct buffer_head *bh = bio->bi_private;

	switch (end_of(bh->b_end_io)) {
	case END_FILE:
		return page_cache(bio);
	case END_JOURNAL:
		return journal(bio);
	case END_META:
		return metadata(bio);
	default:
		return VERDICT(KIND_UNSEEN, HINT_NONE);
	}
}
#else
static unsigned int buffer(const struct bio *bio)
{
	return VERDICT(KIND_UNSEEN, HINT_NONE);
}
#endif

static unsigned int swap_in(const struct bio *bio)
{
	if (asks_for_more(bio))
		return VERDICT(KIND_LATER, HINT_NONE);
	return VERDICT(KIND_SWAP, HINT_URGENT);
}

/* Ends that are rarer, or take longer, than what comes here. */
static noinline unsigned int other_end(const struct bio *bio, enum end end)
{
	switch (end) {
	case END_BLKDEV_DIO:
		return blkdev_dio(bio);
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
		return VERDICT(KIND_UNSEEN, HINT_NONE);
	}
}

/* The user's word, whoever waits. */
static noinline unsigned int priority(unsigned int class)
{
	if (class == IOPRIO_CLASS_RT)
		return VERDICT(KIND_REALTIME, HINT_URGENT);
	return VERDICT(KIND_IDLE, HINT_NONE);
}

/* @private: what bi_private is, unless somebody passed the bio on. */
static __always_inline unsigned int bio_ends(const struct bio *bio, enum end end, void *private)
{
	const unsigned int class = IOPRIO_PRIO_CLASS(bio->bi_ioprio);

	if (unlikely(class == IOPRIO_CLASS_RT || class == IOPRIO_CLASS_IDLE))
		return priority(class);
	if (end == END_ASYNC)
		return direct(bio, false);
	if (end == END_WAIT)
		return VERDICT(KIND_WAIT, HINT_URGENT);
	if (end == END_IOMAP_DIO)
		return iomap_dio(bio, private);
	if (end == END_DIRECT)
		return direct(bio, true);
	return other_end(bio, end);
}

/* The structure around a bio whose member @layout it is. */
static const void *around(const struct bio *bio, unsigned int layout)
{
	const int offset = READ_ONCE(layouts[layout].offset);

	return bio && offset >= 0 ? (const void *)bio - offset : NULL;
}

/*
 * @r1bio: a struct r1bio. What some disks may write behind the others has a copy of the data, and
 * is over for its submitter before they have it. So the bio that was submitted may be gone.
 */
static const struct bio *raid1_original(const void *r1bio)
{
	if (layouts[RAID1_BEHIND].offset < 0 || pointer_at(r1bio, RAID1_BEHIND))
		return NULL;
	return pointer_at(r1bio, RAID1_ORIGINAL);
}

/* The bio that was split or passed on, or NULL. */
static const struct bio *behind(const struct bio *bio, enum end end)
{
	switch (end) {
	case END_CHAIN:
		return bio->bi_private;
	case END_DM:
		return pointer_at(pointer_at(around(bio, DM_BIO), DM_IO), DM_ORIGINAL);
	case END_CRYPT:
		return pointer_at(bio->bi_private, CRYPT_ORIGINAL);
	case END_MD:
		return pointer_at(around(bio, MD_BIO), MD_ORIGINAL);
	case END_RAID1:
		return raid1_original(bio->bi_private);
	case END_RAID10:
		return pointer_at(bio->bi_private, RAID10_ORIGINAL);
	case END_BTRFS_COPY:
		return pointer_at(pointer_at(bio->bi_private, BTRFS_COPY), BTRFS_ORIGINAL);
	default:
		return NULL;
	}
}

/* How often a bio may have been split or passed on. */
#define MOST_STEPS 64

/*
 * btrfs has an end function of its own behind that of the bio. What was split off has none, and
 * points to what it was split from.
 */
static unsigned int btrfs_waits(const struct bio *bio)
{
	const void *own = around(bio, BTRFS_BIO);
	void *end = pointer_at(own, BTRFS_END);
	const struct bio *part = bio;
	unsigned int left;

	/* What reads another copy after an error has none either, but is no part of a bio. */
	for (left = MOST_STEPS; own && !end && left && part->bi_flags & BIT(BIO_CLONED); left--) {
		own = pointer_at(own, BTRFS_PRIVATE);
		end = pointer_at(own, BTRFS_END);
		part = own ? own + layouts[BTRFS_BIO].offset : NULL;
	}
	if (!end)
		return VERDICT(KIND_UNSEEN, HINT_NONE);
	return bio_ends(bio, end_of(end), pointer_at(own, BTRFS_PRIVATE));
}

static noinline unsigned int who_is_behind(const struct bio *bio, enum end end)
{
	unsigned int left;

	for (left = MOST_STEPS; left; left--) {
		const struct bio *next = behind(bio, end);

		if (end == END_BTRFS)
			return btrfs_waits(bio);
		if (!next)
			break;
		bio = next;
		/* Copies are sent before the last one has its end function. */
		end = end == END_BTRFS_COPY ? END_BTRFS : end_of(bio->bi_end_io);
		if (end < END_PASSED_ON)
			return bio_ends(bio, end, bio->bi_private);
	}
	return VERDICT(KIND_UNSEEN, HINT_NONE);
}

static __always_inline unsigned int bio_waits(const struct bio *bio)
{
	const enum end end = end_of(bio->bi_end_io);

	if (unlikely(end >= END_PASSED_ON))
		return who_is_behind(bio, end);
	return bio_ends(bio, end, bio->bi_private);
}

/* Of several bios in a request the one that says most. */
static noinline unsigned int bios_wait(const struct bio *bio)
{
	unsigned int best = VERDICT(KIND_UNSEEN, HINTS);
	unsigned int left = MOST_BIOS;

	do {
		const unsigned int other = bio_waits(bio);

		if (verdict_hint(other) < verdict_hint(best))
			best = other;
		bio = bio->bi_next;
	} while (verdict_hint(best) != HINT_URGENT && bio && --left);
	return best;
}

/* Without a scheduler this comes, if at all, when they have been sent. */
void who_unplugs(const struct request_queue *q, unsigned int depth, bool sends)
{
	struct handed *list = raw_cpu_ptr(&handed);

	list->task = current;
	list->queue = q;
	list->left = sends && q->elevator ? depth : 0;
}

/* Calls nothing; see who_waits_mostly(). */
static __always_inline void count_handed(const struct request *rq)
{
	struct handed *list = raw_cpu_ptr(&handed);

	if (!list->left || list->task != current || list->queue != rq->q)
		return;
	list->rq = rq;
	list->left--;
}

/*
 * Whether others of the list that the submitter had plugged are sent after this one. Where a list
 * is a pointer, it is walked; where it is a structure, requests are taken off its front.
 */
#ifdef HAVE_STRUCT_RQ_LIST
static bool others_are_plugged(const struct request *rq)
{
	return current->plug && !rq_list_empty(&current->plug->mq_list);
}
#else
static bool others_are_plugged(const struct request *rq)
{
	return current->plug && current->plug->mq_list && rq->rq_next;
}
#endif

/* Below a scheduler. Nobody listens there before there is somebody who asks. */
static bool others_were_handed(const struct request *rq)
{
	const struct handed *list = raw_cpu_ptr(&handed);

	if (list->rq == rq)
		return list->left;
	probes_below_schedulers();
	return others_are_plugged(rq);
}

/*
 * Whether a request of aio or io_uring ends a list: BATCHES_OF_TWO if others of the list were sent
 * before it, or were merged into it; BATCHES_OF_ONE if it is all there is.
 */
static __always_inline enum batches ends_list(const struct request *rq, bool goes_on)
{
	const bool began = this_cpu_read(sending_list) == current;
	struct task_struct *sender = goes_on ? current : NULL;

	/* A name: some kernels' macros put no parentheses around what is written. */
	if (goes_on != began)
		this_cpu_write(sending_list, sender);
	if (goes_on)
		return NO_BATCHES;
	return began || rq->bio->bi_next ? BATCHES_OF_TWO : BATCHES_OF_ONE;
}

/* The front of a bio that was split ends nothing. */
static bool is_front(const struct request *rq)
{
	return end_of(rq->biotail->bi_end_io) == END_CHAIN;
}

static __always_inline bool ends_batch(enum batches end)
{
	return end != NO_BATCHES && end <= READ_ONCE(who_batches);
}

/* Of aio and io_uring. */
static unsigned int list_waits(const struct request *rq)
{
	const bool goes_on = rq->q->elevator ? others_were_handed(rq) : others_are_plugged(rq);

	if (ends_batch(ends_list(rq, goes_on)) && !is_front(rq))
		return VERDICT(KIND_ASYNC, HINT_BARRIER);
	return VERDICT(KIND_ASYNC, HINT_NONE);
}

static unsigned int who_waits(const struct request *rq)
{
	const struct bio *bio = rq->bio;
	unsigned int found;

	if (req_op(rq) == REQ_OP_FLUSH)
		return VERDICT(KIND_FLUSH, HINT_URGENT);
	/* Polled I/O has no interrupt. */
	if (!bio || (rq->cmd_flags & REQ_POLLED))
		return VERDICT(KIND_UNSEEN, HINT_NONE);
	found = bio->bi_next ? bios_wait(bio) : bio_waits(bio);
	if (verdict_kind(found) == KIND_ASYNC)
		return list_waits(rq);
	if (verdict_hint(found) == HINT_BARRIER && READ_ONCE(who_batches) == NO_BATCHES)
		return verdict_unmarked(found);
	return found;
}

/* --- commands --------------------------------------------------------------------------- */

/*
 * What CDW13 of a read or write says, by VERDICT(); 0: nothing. The standard has a word for what
 * somebody waits for, and none for the end of a batch.
 */
static const u32 own_words[HINTS] = {
	[HINT_URGENT] = CDW13(URGENT),
	[HINT_BARRIER] = CDW13(BARRIER),
};

static const u32 standard_words[HINTS] = { [HINT_URGENT] = CDW13_LATENCY_LOW };
static u32 words[VERDICTS];
static bool standard;

void who_says(unsigned int kinds, bool in_standard)
{
	const u32 *said = in_standard ? standard_words : own_words;
	unsigned int kind, hint;

	WRITE_ONCE(standard, in_standard);
	for (kind = 0; kind < KINDS; kind++)
		for (hint = 0; hint < HINTS; hint++)
			WRITE_ONCE(words[VERDICT(kind, hint)],
				   kinds & BIT(kind) ? said[hint] : 0);
}

/*
 * Reads and writes have hints in CDW13: the driver writes the flags of CDW0 anew when it adds the
 * data. Where a command extension type is set CDW13 is not ours. Whether it was marked.
 */
static __always_inline bool mark_data(struct nvme_command *cmd, unsigned int verdict)
{
	const u32 word = READ_ONCE(words[verdict]);

	if (!word || unlikely(cmd->common.cdw12 & cpu_to_le32(CDW12_CETYPE)))
		return false;
	cmd->common.cdw13 |= cpu_to_le32(word);
	return true;
}

/*
 * Commands without data are left alone after this, so they can have flags. What has data and is no
 * read or write can be told nothing.
 */
static bool mark_other(struct nvme_command *cmd, enum req_op op, unsigned int verdict)
{
	if ((op != REQ_OP_FLUSH && op != REQ_OP_WRITE_ZEROES) || READ_ONCE(standard) ||
	    !READ_ONCE(words[verdict]))
		return false;
	cmd->common.flags |= CDW0_FLAGS(verdict_hint(verdict) == HINT_URGENT ? URGENT : BARRIER);
	return true;
}

/* What cannot be told is counted as not marked. */
static __always_inline void tell(struct controller *controller, struct request *rq,
				 struct nvme_command *cmd, unsigned int verdict)
{
	if (!mark_data(cmd, verdict))
		verdict = verdict_unmarked(verdict);
	controller_count(controller, rq, verdict);
}

static bool is_data(const struct request *rq)
{
	return req_op(rq) == REQ_OP_READ || req_op(rq) == REQ_OP_WRITE;
}

/* Any request. */
static noinline void take_the_long_way(struct controller *controller, struct request *rq,
				       struct nvme_command *cmd)
{
	unsigned int verdict;

	if (blk_rq_is_passthrough(rq))
		return;
	verdict = who_waits(rq);
	if (is_data(rq))
		tell(controller, rq, cmd, verdict);
	else if (mark_other(cmd, req_op(rq), verdict))
		controller_count(controller, rq, verdict);
	else
		controller_count(controller, rq, verdict_unmarked(verdict));
}

/* Set in the classes that decide by themselves, realtime and idle, and in no other. */
#define PRIORITY_DECIDES BIT(IOPRIO_CLASS_SHIFT)

static_assert((IOPRIO_CLASS_RT & 1) && (IOPRIO_CLASS_IDLE & 1) && !(IOPRIO_CLASS_BE & 1) &&
	      !(IOPRIO_CLASS_NONE & 1));

/* Set in no read or write that has an interrupt. */
#define NO_DATA_OR_POLLED ((__force u32)(REQ_OP_MASK & ~REQ_OP_WRITE) | (__force u32)REQ_POLLED)

static_assert(!(__force u32)REQ_OP_READ && (__force u32)REQ_OP_WRITE == 1);

/* Not found the short way; no VERDICT() is it. */
#define LONG_WAY VERDICTS

/* Of a bio that was not split; @below: the request was counted by count_handed(). */
static __always_inline unsigned int list_waits_mostly(const struct request *rq, bool below)
{
	bool goes_on;

	if (!below && unlikely(rq->q->elevator))
		return LONG_WAY;
	if (below && raw_cpu_read(handed.rq) != rq)
		return LONG_WAY;
	goes_on = below ? raw_cpu_read(handed.left) : others_are_plugged(rq);
	return VERDICT(KIND_ASYNC, ends_batch(ends_list(rq, goes_on)) ? HINT_BARRIER : HINT_NONE);
}

/*
 * What most requests are: of one bio of direct I/O that nobody passed on. It says what who_waits()
 * does. Nothing is called, which spares them the saving of registers.
 */
static __always_inline unsigned int who_waits_mostly(const struct request *rq, bool below)
{
	const struct bio *bio = rq->bio;
	struct kiocb *iocb;
	const struct seen *slot;
	enum end end;
	int at;

	if (unlikely(((__force u32)rq->cmd_flags & NO_DATA_OR_POLLED) || !bio || bio->bi_next ||
		     (bio->bi_ioprio & PRIORITY_DECIDES)))
		return LONG_WAY;
	slot = &seen[first_slot(bio->bi_end_io)];
	if (unlikely(function_of(slot) != bio->bi_end_io))
		return LONG_WAY;
	end = READ_ONCE(slot->end);
	if (end == END_WAIT)
		return VERDICT(KIND_WAIT, HINT_URGENT);
	if (end == END_ASYNC)
		return list_waits_mostly(rq, below);
	if (end != END_IOMAP_DIO)
		return LONG_WAY;
	at = READ_ONCE(iomap_iocb_at);
	if (at < 0)
		return LONG_WAY;
	iocb = *(struct kiocb **)(bio->bi_private + at);
	if (*(bool *)(bio->bi_private + READ_ONCE(iomap_waits_at)) ||
	    (is_sync_kiocb(iocb) && !(iocb->ki_flags & IOCB_NOWAIT)))
		return VERDICT(KIND_DIRECT, HINT_URGENT);
	return list_waits_mostly(rq, below);
}

static __always_inline void tell_mostly(struct controller *controller, struct request *rq,
					struct nvme_command *cmd, bool below)
{
	const unsigned int found = who_waits_mostly(rq, below);

	if (unlikely(found == LONG_WAY))
		take_the_long_way(controller, rq, cmd);
	else if (found == VERDICT(KIND_ASYNC, HINT_NONE))
		controller_count(controller, rq, VERDICT(KIND_ASYNC, HINT_NONE));
	else
		tell(controller, rq, cmd, found);
}

static noinline void tell_below_a_scheduler(struct controller *controller, struct request *rq,
					    struct nvme_command *cmd)
{
	count_handed(rq);
	tell_mostly(controller, rq, cmd, true);
}

void who_setup(void *unused, struct request *rq, struct nvme_command *cmd)
{
	const void *owner = controller_owner(rq);
	struct controller *controller;

	if (unlikely(!rq->q->disk)) {
		controllers_sent(rq, cmd);
		return;
	}
	/* Mostly it is the first: there is only one. A free place has no owner. */
	controller = &controllers[0];
	if (unlikely(READ_ONCE(controller->owner) != owner || !owner)) {
		controller = controller_of(rq);
		if (!controller)
			return;
	}
	if (unlikely(this_cpu_read(handed.left)))
		tell_below_a_scheduler(controller, rq, cmd);
	else
		tell_mostly(controller, rq, cmd, false);
}

int who_init(void)
{
	unsigned int i;
	int ret;

	find_layouts(NULL);
	ret = register_module_notifier(&module_block);
	if (ret)
		return ret;
	for (i = 0; i < LAYOUTS; i++)
		if (layouts[i].module && layouts[i].offset == LAYOUT_LATER &&
		    layout_is_described(layouts[i].module))
			find_layouts(layouts[i].module);
	return 0;
}

void who_exit(void)
{
	unregister_module_notifier(&module_block);
}
