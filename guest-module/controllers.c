// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which controllers take hints: those whose Identify data say so.
 *
 * The driver has no interface that tells, so the answers to Identify Controller are looked at as
 * they pass: the driver asks each controller when it comes and after a reset, and
 * controllers_ask() makes those identify themselves that were there before. A controller that has
 * not said that it takes hints is left alone.
 *
 * Admin and I/O queues of a controller share the driver's pointer in their tag sets. It is compared
 * and never followed. Another controller may get the same pointer later; it will have been
 * identified before its first I/O, which replaces what was known.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/nvme.h>
#include <linux/nvme_ioctl.h>
#include <linux/pci.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>

#include "cint-hints.h"

/* docs/interface.md, section 2: where the vendor part of Identify begins, and what it says. */
#define SIGNATURE_AT	3072
#define MAGIC		0x544E4943
#define CAP_HINTS	BIT(0)

/* For how long controllers_ask() waits for controllers that start, all of them together. */
#define PATIENCE	(2 * HZ)
#define RETRY_MS	10

struct signature {
	__le32 magic;
	__le16 version;
	__le16 size;
	__le32 capabilities;
};

struct controller controllers[MOST_CONTROLLERS];
unsigned int controller_places;

static struct request *watched[MOST_CONTROLLERS];
atomic_t controllers_watching;

/*
 * Guards who is in controllers[] and watched[]; reading a controller's owner needs no lock. Probes
 * run where nothing may sleep, as other locks do where the kernel is a real-time one.
 */
static DEFINE_RAW_SPINLOCK(lock);

static const char * const hint_names[HINTS] = {
	[HINT_URGENT] = "urgent",
	[HINT_BARRIER] = "barrier",
	[HINT_NONE] = "unmarked",
};

/* The first command within a tick, so that others cost less. */
void controller_used(struct controller *controller, const struct request *rq, unsigned long now)
{
	WRITE_ONCE(controller->used, now);
	if (unlikely(!controller->name[0]))
		strscpy(controller->name, dev_name(disk_to_dev(rq->q->disk)->parent),
			sizeof(controller->name));
}

static void forget_counts(struct controller *controller)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(controller->counts, cpu), 0, sizeof(struct counts));
}

/* A free place, or that of the controller that has been idle for the longest. */
static struct controller *find_place(void)
{
	struct controller *oldest = controllers;
	unsigned int i;

	for (i = 0; i < MOST_CONTROLLERS; i++) {
		if (!controllers[i].owner)
			return &controllers[i];
		if (time_before(controllers[i].used, oldest->used))
			oldest = &controllers[i];
	}
	return oldest;
}

static void learn(const struct request *rq, bool wants)
{
	struct controller *controller = controller_of(rq);

	if (controller && !wants)
		WRITE_ONCE(controller->owner, NULL);
	if (controller || !wants)
		return;
	controller = find_place();
	WRITE_ONCE(controller->owner, NULL);
	forget_counts(controller);
	controller->name[0] = '\0';
	controller->used = jiffies;
	WRITE_ONCE(controller->owner, controller_owner(rq));
	if (controller - controllers >= controller_places)
		WRITE_ONCE(controller_places, controller - controllers + 1);
}

/* Copy between @buffer and the data of a request from byte @at on. False if there is less data. */
static bool copy_data(struct request *rq, unsigned int at, void *buffer, unsigned int len,
		      bool to_request)
{
	struct req_iterator iter;
	struct bio_vec part;
	unsigned int begin = 0;

	if (!rq->bio)
		return false;
	rq_for_each_segment(part, rq, iter) {
		const unsigned int first = max(at, begin);
		const unsigned int end = min(at + len, begin + part.bv_len);

		if (first < end) {
			void *data = bvec_kmap_local(&part);

			if (to_request)
				memcpy(data + first - begin, buffer + first - at, end - first);
			else
				memcpy(buffer + first - at, data + first - begin, end - first);
			kunmap_local(data);
		}
		begin += part.bv_len;
	}
	return begin >= at + len;
}

/* False if there is no place. */
static bool watch(struct request *rq)
{
	struct request **place = NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(watched); i++) {
		if (watched[i] == rq)
			return true;
		if (!watched[i] && !place)
			place = &watched[i];
	}
	if (!place)
		return false;
	*place = rq;
	atomic_inc(&controllers_watching);
	return true;
}

/* Whether it was watched. */
static bool unwatch(const struct request *rq)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(watched); i++) {
		if (watched[i] != rq)
			continue;
		watched[i] = NULL;
		atomic_dec(&controllers_watching);
		return true;
	}
	return false;
}

void controllers_sent(struct request *rq, const struct nvme_command *cmd)
{
	struct signature none = {};
	unsigned long flags;
	/* What is there before is not the controller's word, should the command fail. */
	const bool asks = cmd->identify.opcode == nvme_admin_identify &&
			  cmd->identify.cns == NVME_ID_CNS_CTRL &&
			  copy_data(rq, SIGNATURE_AT, &none, sizeof(none), true);

	if (!asks && !atomic_read(&controllers_watching))
		return;
	/* One that was given up was not seen to end; its request is another command's now. */
	raw_spin_lock_irqsave(&lock, flags);
	/* An answer that will not be seen is none. */
	if (asks && !watch(rq))
		learn(rq, false);
	if (!asks)
		unwatch(rq);
	raw_spin_unlock_irqrestore(&lock, flags);
}

static bool takes_hints(const struct signature *signature)
{
	return le32_to_cpu(signature->magic) == MAGIC && le16_to_cpu(signature->version) >= 1 &&
	       le16_to_cpu(signature->size) >= sizeof(*signature) &&
	       (le32_to_cpu(signature->capabilities) & CAP_HINTS);
}

static void look_at_answer(struct request *rq)
{
	struct signature found = {};

	copy_data(rq, SIGNATURE_AT, &found, sizeof(found), false);
	learn(rq, takes_hints(&found));
}

void controllers_complete(struct request *rq)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	if (unwatch(rq))
		look_at_answer(rq);
	raw_spin_unlock_irqrestore(&lock, flags);
}

void controllers_forget(void)
{
	unsigned long flags;
	unsigned int i;

	raw_spin_lock_irqsave(&lock, flags);
	for (i = 0; i < MOST_CONTROLLERS; i++)
		WRITE_ONCE(controllers[i].owner, NULL);
	WRITE_ONCE(controller_places, 0);
	memset(watched, 0, sizeof(watched));
	atomic_set(&controllers_watching, 0);
	raw_spin_unlock_irqrestore(&lock, flags);
}

/* --- those that are there already ------------------------------------------------------- */

struct name {
	struct list_head list;
	dev_t number;
	char text[32];
};

/* A device below a PCI function: the controller's own is of the class "nvme". */
static int take_name(struct device *dev, void *names)
{
	struct name *name;

	if (!dev->class || strcmp(dev->class->name, "nvme"))
		return 0;
	name = kzalloc(sizeof(*name), GFP_KERNEL);
	if (!name)
		return -ENOMEM;
	snprintf(name->text, sizeof(name->text), "/dev/%s", dev_name(dev));
	name->number = dev->devt;
	list_add_tail(&name->list, names);
	return 0;
}

/*
 * Identify Controller as any program may ask for it. @memory is of the process: the command, and
 * from the second page on the answer. What the answer says is seen by controllers_complete().
 */
static int identify(const struct name *name, unsigned long memory)
{
	struct nvme_passthru_cmd cmd = {
		.opcode = nvme_admin_identify,
		.addr = memory + PAGE_SIZE,
		.data_len = NVME_IDENTIFY_DATA_SIZE,
		.cdw10 = NVME_ID_CNS_CTRL,
	};
	struct file *file;
	long ret = -EFAULT;

	file = filp_open(name->text, O_RDWR | O_NONBLOCK, 0);
	if (IS_ERR(file))
		return PTR_ERR(file);
	/* The process may have another /dev than the kernel. */
	if (!S_ISCHR(file_inode(file)->i_mode) || file_inode(file)->i_rdev != name->number)
		ret = -ENODEV;
	else if (!copy_to_user((void __user *)memory, &cmd, sizeof(cmd)))
		ret = file->f_op->unlocked_ioctl(file, NVME_IOCTL_ADMIN_CMD, memory);
	filp_close(file, NULL);
	return ret;
}

/*
 * A controller that starts may have answered the driver just before the probes came, and is not to
 * be opened until it has started: it is waited for until @deadline.
 */
static int identify_started(const struct name *name, unsigned long memory, unsigned long deadline)
{
	int ret = identify(name, memory);

	while (ret == -EWOULDBLOCK && time_before(jiffies, deadline) &&
	       !fatal_signal_pending(current)) {
		msleep(RETRY_MS);
		ret = identify(name, memory);
	}
	return ret;
}

void controllers_ask(void)
{
	const unsigned long deadline = jiffies + PATIENCE;
	struct pci_dev *pdev = NULL;
	struct name *name, *after;
	unsigned long memory;
	LIST_HEAD(names);

	if (!current->mm)
		return;
	for_each_pci_dev(pdev)
		device_for_each_child(&pdev->dev, &names, take_name);

	memory = vm_mmap(NULL, 0, PAGE_SIZE + NVME_IDENTIFY_DATA_SIZE, PROT_READ | PROT_WRITE,
			 MAP_ANONYMOUS | MAP_PRIVATE, 0);
	list_for_each_entry_safe(name, after, &names, list) {
		int ret = IS_ERR_VALUE(memory) ? (int)memory :
						 identify_started(name, memory, deadline);

		if (ret)
			pr_warn("%s does not answer (%d): unmarked until something identifies it\n",
				name->text, ret);
		kfree(name);
	}
	if (!IS_ERR_VALUE(memory))
		vm_munmap(memory, PAGE_SIZE + NVME_IDENTIFY_DATA_SIZE);
}

/* --- counters --------------------------------------------------------------------------- */

static u64 sum(const struct controller *controller, enum kind kind, enum hint hint)
{
	u64 all = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		all += READ_ONCE(per_cpu_ptr(controller->counts, cpu)->n[VERDICT(kind, hint)]);
	return all;
}

/* A line for each controller and kind: "nvme0 direct urgent 17 barrier 0 unmarked 3". */
static int counters_show(struct seq_file *file, void *unused)
{
	enum kind kind;
	enum hint hint;
	unsigned int i;

	for (i = 0; i < READ_ONCE(controller_places); i++) {
		const char *name = controllers[i].name[0] ? controllers[i].name : "?";

		if (!READ_ONCE(controllers[i].owner))
			continue;
		for (kind = 0; kind < KINDS; kind++) {
			seq_printf(file, "%s %s", name, who_kind_name(kind));
			for (hint = 0; hint < HINTS; hint++)
				seq_printf(file, " %s %llu", hint_names[hint],
					   sum(&controllers[i], kind, hint));
			seq_putc(file, '\n');
		}
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

int controllers_init(struct dentry *directory)
{
	unsigned int i;

	for (i = 0; i < MOST_CONTROLLERS; i++) {
		controllers[i].counts = alloc_percpu(struct counts);
		if (!controllers[i].counts) {
			controllers_exit();
			return -ENOMEM;
		}
	}
	debugfs_create_file("counters", 0444, directory, NULL, &counters_fops);
	return 0;
}

void controllers_exit(void)
{
	unsigned int i;

	for (i = 0; i < MOST_CONTROLLERS; i++)
		free_percpu(controllers[i].counts);
}
