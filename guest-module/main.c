// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Interrupt hints for controllers that take them, from a kernel that has none.
 *
 * The NVMe driver has a tracepoint between the making of a command and its sending, which hands
 * over request and command. A probe there marks commands that somebody waits for (who.c) of
 * controllers that take hints (controllers.c). Another one sees the answers to Identify, a third
 * what is handed to an I/O scheduler at once. While the module is off no probe is registered.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/blk-mq.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "cint-hints.h"

#if IS_ENABLED(CONFIG_BLK_IRQ_HINTS)
#error "this kernel gives hints by itself"
#endif

#define ALL_KINDS		GENMASK(KINDS - 1, 0)

static unsigned int kinds = ALL_KINDS;
static bool standard;
static bool on = true;

static void on_complete(void *unused, struct request *rq)
{
	if (unlikely(atomic_read(&controllers_watching) && !rq->q->disk))
		controllers_complete(rq);
}

static void on_unplug(void *unused, struct request_queue *q, unsigned int depth, bool sends)
{
	who_unplugs(q, depth, sends);
}

/* --- probes ----------------------------------------------------------------------------- */

#define MOST_ARGUMENTS 3

static struct probe {
	const char *name;
	void *function;
	const char *arguments[MOST_ARGUMENTS + 1];	/* types, for layout_tracepoint() */
	const char *lost;		/* what is not marked without it */
	struct tracepoint *tracepoint;	/* NULL: the driver is not there, or not as expected */
	struct tracepoint *coming;	/* of a module whose types are not described yet */
	bool registered;
	bool later;			/* not before probes_below_schedulers() */
} probes[] = {
	{ "nvme_setup_cmd", who_setup, { "*request", "*nvme_command" }, "anything" },
	{ "nvme_complete_rq", on_complete, { "*request" }, "anything" },
	{ "block_unplug", on_unplug, { "*request_queue", "unsigned int", "bool" },
	  "ends of batches below an I/O scheduler", .later = true },
};

/* Guards probes[], "on" and "leaving". */
static DEFINE_MUTEX(probes_lock);
static bool leaving;
static bool below_schedulers;

static bool is_wanted(const struct probe *probe)
{
	return !probe->later || READ_ONCE(below_schedulers);
}

static int connect_probes(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (!on || probes[i].registered || !probes[i].tracepoint || !is_wanted(&probes[i]))
			continue;
		ret = tracepoint_probe_register(probes[i].tracepoint, probes[i].function, NULL);
		if (ret)
			return ret;
		probes[i].registered = true;
	}
	return 0;
}

static void disconnect_probes(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (probes[i].registered)
			tracepoint_probe_unregister(probes[i].tracepoint, probes[i].function, NULL);
		probes[i].registered = false;
	}
	tracepoint_synchronize_unregister();
	controllers_forget();
}

static void connect_more(struct work_struct *unused)
{
	int ret = 0;

	mutex_lock(&probes_lock);
	if (!leaving)
		ret = connect_probes();
	mutex_unlock(&probes_lock);
	if (ret)
		pr_err("tracepoints: %d\n", ret);
}

static DECLARE_WORK(more, connect_more);

void probes_below_schedulers(void)
{
	if (READ_ONCE(below_schedulers))
		return;
	WRITE_ONCE(below_schedulers, true);
	schedule_work(&more);
}

/* When nothing else connects any. */
static void end_probes(void)
{
	mutex_lock(&probes_lock);
	leaving = true;
	disconnect_probes();
	mutex_unlock(&probes_lock);
	cancel_work_sync(&more);
}

/* @module: NULL for the kernel itself. */
static void found_tracepoint(struct tracepoint *tracepoint, const char *module)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (strcmp(tracepoint->name, probes[i].name))
			continue;
		if (!layout_tracepoint(module, probes[i].name, probes[i].arguments)) {
			pr_err("tracepoint %s is not as expected in this kernel, so unmarked: %s\n",
			       probes[i].name, probes[i].lost);
			continue;
		}
		mutex_lock(&probes_lock);
		probes[i].tracepoint = tracepoint;
		ret = connect_probes();
		mutex_unlock(&probes_lock);
		if (ret)
			pr_err("tracepoint %s: %d\n", probes[i].name, ret);
	}
}

static void coming_tracepoint(struct tracepoint *tracepoint)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (!strcmp(tracepoint->name, probes[i].name))
			WRITE_ONCE(probes[i].coming, tracepoint);
}

static void lost_tracepoint(const struct tracepoint *tracepoint)
{
	unsigned int i;

	mutex_lock(&probes_lock);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (READ_ONCE(probes[i].coming) == tracepoint)
			WRITE_ONCE(probes[i].coming, NULL);
		if (probes[i].tracepoint != tracepoint)
			continue;
		disconnect_probes();
		probes[i].tracepoint = NULL;
	}
	mutex_unlock(&probes_lock);
}

/* Nobody promises that the types of a module are described before its tracepoints are told of. */
static int tracepoints_change(struct notifier_block *block, unsigned long event, void *data)
{
	const struct tp_module *owner = data;
	tracepoint_ptr_t *at = owner->mod->tracepoints_ptrs;
	tracepoint_ptr_t *end = at + owner->mod->num_tracepoints;

	for (; at < end; at++) {
		struct tracepoint *tracepoint = tracepoint_ptr_deref(at);

		if (event == MODULE_STATE_GOING)
			lost_tracepoint(tracepoint);
		else if (owner->mod->state == MODULE_STATE_LIVE)
			found_tracepoint(tracepoint, owner->mod->name);
		else
			coming_tracepoint(tracepoint);
	}
	return NOTIFY_OK;
}

static struct notifier_block tracepoint_block = { .notifier_call = tracepoints_change };

static int module_lives(struct notifier_block *block, unsigned long event, void *data)
{
	const struct module *module = data;
	unsigned int i;

	for (i = 0; event == MODULE_STATE_LIVE && i < ARRAY_SIZE(probes); i++) {
		struct tracepoint *tracepoint = READ_ONCE(probes[i].coming);

		if (!tracepoint || !within_module((unsigned long)tracepoint, module))
			continue;
		WRITE_ONCE(probes[i].coming, NULL);
		found_tracepoint(tracepoint, module->name);
	}
	return NOTIFY_OK;
}

static struct notifier_block module_block = { .notifier_call = module_lives };

static void kernel_tracepoint(struct tracepoint *tracepoint, void *unused)
{
	found_tracepoint(tracepoint, NULL);
}

/* --- switches --------------------------------------------------------------------------- */

static bool loaded;

static int set_on(const char *value, const struct kernel_param *param)
{
	bool wanted;
	int ret = kstrtobool(value, &wanted);

	if (ret)
		return ret;
	mutex_lock(&probes_lock);
	on = wanted;
	if (loaded && on)
		ret = connect_probes();
	if (loaded && !on)
		disconnect_probes();
	mutex_unlock(&probes_lock);
	if (loaded && wanted)
		controllers_ask();
	return ret;
}

static const struct kernel_param_ops on_ops = { .set = set_on, .get = param_get_bool };

static int set_kinds(const char *value, const struct kernel_param *param)
{
	int ret = param_set_uint_minmax(value, param, 0, ALL_KINDS);

	who_says(kinds, standard);
	return ret;
}

static const struct kernel_param_ops kinds_ops = { .set = set_kinds, .get = param_get_uint };

static int set_batches(const char *value, const struct kernel_param *param)
{
	return param_set_uint_minmax(value, param, NO_BATCHES, BATCHES_OF_ONE);
}

static const struct kernel_param_ops batches_ops = { .set = set_batches, .get = param_get_uint };

static int set_standard(const char *value, const struct kernel_param *param)
{
	int ret = param_set_bool(value, param);

	who_says(kinds, standard);
	return ret;
}

static const struct kernel_param_ops standard_ops = { .set = set_standard, .get = param_get_bool };

module_param_cb(on, &on_ops, &on, 0644);
MODULE_PARM_DESC(on, "Mark commands. Off: no probe is registered. 1 also asks the controllers again");
module_param_cb(kinds, &kinds_ops, &kinds, 0644);
MODULE_PARM_DESC(kinds, "Bits of the kinds that are marked, in the order of debugfs cint_hints/counters");
module_param_cb(batches, &batches_ops, &who_batches, 0644);
MODULE_PARM_DESC(batches, "Mark the last of a batch as Barrier: 0 never, 1 of two or more, 2 of one");
module_param_cb(standard, &standard_ops, &standard, 0644);
MODULE_PARM_DESC(standard, "Set no reserved bits: Urgent reads and writes by their Access Latency alone");

/* A row for each kind: "direct on", "async off"; then "lost" and what this kernel cannot give. */
static int kinds_show(struct seq_file *file, void *unused)
{
	const char *lost;
	unsigned int i;

	for (i = 0; i < KINDS; i++)
		seq_printf(file, "%s %s\n", who_kind_name(i),
			   READ_ONCE(kinds) & BIT(i) ? "on" : "off");
	for (i = 0; (lost = who_lost(i)); i++)
		seq_printf(file, "lost %s\n", lost);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kinds);

static const char *probe_state(const struct probe *probe)
{
	if (!probe->tracepoint)
		return "absent";
	if (probe->registered)
		return "on";
	return on && !is_wanted(probe) ? "idle" : "off";
}

/* A row for each tracepoint: absent, off, on, or idle, which is not needed so far. */
static int probes_show(struct seq_file *file, void *unused)
{
	unsigned int i;

	mutex_lock(&probes_lock);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		seq_printf(file, "%s %s\n", probes[i].name, probe_state(&probes[i]));
	mutex_unlock(&probes_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(probes);

/* --- module ----------------------------------------------------------------------------- */

static struct dentry *directory;

static int __init cint_hints_init(void)
{
	int ret;

	kernel_param_lock(THIS_MODULE);
	who_says(kinds, standard);
	kernel_param_unlock(THIS_MODULE);
	directory = debugfs_create_dir(KBUILD_MODNAME, NULL);
	ret = controllers_init(directory);
	if (ret)
		goto remove;
	ret = who_init();
	if (ret)
		goto forget;
	debugfs_create_file("kinds", 0444, directory, NULL, &kinds_fops);
	debugfs_create_file("probes", 0444, directory, NULL, &probes_fops);

	for_each_kernel_tracepoint(kernel_tracepoint, NULL);
	ret = register_module_notifier(&module_block);
	if (ret)
		goto stop;
	ret = register_tracepoint_module_notifier(&tracepoint_block);
	if (ret)
		goto unregister;

	mutex_lock(&probes_lock);
	loaded = true;
	mutex_unlock(&probes_lock);
	if (on)
		controllers_ask();
	return 0;

unregister:
	unregister_module_notifier(&module_block);
stop:
	end_probes();
	who_exit();
forget:
	debugfs_remove(directory);
	controllers_exit();
	return ret;
remove:
	debugfs_remove(directory);
	return ret;
}
module_init(cint_hints_init);

static void __exit cint_hints_exit(void)
{
	/* The parameters are there for a moment longer, and shall register nothing. */
	mutex_lock(&probes_lock);
	loaded = false;
	mutex_unlock(&probes_lock);
	unregister_tracepoint_module_notifier(&tracepoint_block);
	unregister_module_notifier(&module_block);
	end_probes();
	debugfs_remove(directory);
	who_exit();
	controllers_exit();
}
module_exit(cint_hints_exit);

MODULE_DESCRIPTION("Interrupt hints for NVMe controllers that take them");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("GPL");
