/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The load itself: @depth random reads in flight in each queue, written and
 * told of in batches, taken when an interrupt says so. See load.h.
 *
 * Time: by itself the generator knows none. With "step" the virtual clock is
 * the qtest accelerator's, which stands still: it is stepped to the next
 * timer as soon as all reads in flight are completed and no interrupt is on
 * its way, so that a device that waits with its interrupt is never waited
 * for, and a count of instructions has no idle turns of the main loop in it.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/coroutine.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "hw/boards.h"
#include "hw/qdev-properties.h"
#include "hw/sysbus.h"
#include "system/runstate.h"
#include <valgrind/callgrind.h>

#include "load.h"

#define FIRST_RAM   (16 * MiB)
#define LIMIT_US   (300 * G_TIME_SPAN_SECOND)

static int64_t cpu_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return ts.tv_sec * NANOSECONDS_PER_SECOND + ts.tv_nsec;
}

hwaddr load_alloc(Load *load, size_t size)
{
    hwaddr addr = load->next_ram;

    load->next_ram += ROUND_UP(size, LOAD_BLOCK);
    if (load->next_ram > current_machine->ram_size) {
        error_report("%s: guest memory is too small for the queues", TYPE_LOAD);
        exit(1);
    }
    return addr;
}

void *load_host(hwaddr addr)
{
    return (char *)memory_region_get_ram_ptr(current_machine->ram) + addr;
}

void load_check_limit(const Load *load, const char *what)
{
    if (g_get_monotonic_time() > load->limit_us) {
        error_report("%s: %s", TYPE_LOAD, what);
        exit(1);
    }
}

/*
 * Counting
 */

static void start_counting(Load *load)
{
    load->counting = true;
    load->counts = (LoadCounts) {
        .wall_ns = -get_clock(),
        .cpu_ns = -cpu_ns(CLOCK_THREAD_CPUTIME_ID),
        .process_ns = -cpu_ns(CLOCK_PROCESS_CPUTIME_ID),
    };
    CALLGRIND_TOGGLE_COLLECT;
}

static void finish(Load *load)
{
    LoadCounts *c = &load->counts;

    CALLGRIND_TOGGLE_COLLECT;
    c->wall_ns += get_clock();
    c->cpu_ns += cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    c->process_ns += cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    load->counting = false;
    printf("{\"reads\": %" PRIu64 ", \"interrupts\": %" PRIu64
           ", \"doorbells\": %" PRIu64 ", \"wall_ns\": %" PRId64
           ", \"cpu_ns\": %" PRId64 ", \"process_ns\": %" PRId64 "}\n",
           c->reads, c->interrupts, c->kicks, c->wall_ns, c->cpu_ns,
           c->process_ns);
    fflush(stdout);
    qemu_system_shutdown_request(SHUTDOWN_CAUSE_HOST_UI);
}

static bool is_over(const Load *load)
{
    return load->done >= load->warmup + load->reads;
}

void load_done(LoadQueue *q, unsigned slot, bool success)
{
    Load *load = q->load;

    if (!success) {
        error_report("%s: a read failed", TYPE_LOAD);
        exit(1);
    }
    q->free[q->nr_free++] = slot;
    load->done++;
    if (load->counting) {
        load->counts.reads++;
    }
}

/*
 * The guest
 */

/* xorshift: the same blocks in each run. */
static uint64_t random_block(Load *load)
{
    uint64_t x = load->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    load->random = x;
    return x % load->blocks;
}

static void refill(LoadQueue *q)
{
    Load *load = q->load;
    unsigned i;

    while (q->nr_free >= load->batch) {
        for (i = 0; i < load->batch; i++) {
            unsigned slot = q->free[--q->nr_free];

            load->driver->submit(q, slot, random_block(load));
        }
        load->driver->kick(q);
        load->counts.kicks++;
    }
}

/* The interrupt handlers of all queues that had a message. */
static void load_bh(void *opaque)
{
    Load *load = opaque;
    LoadQueue *q;

    /* When all is counted the guest is silent: QEMU is about to end. */
    while (!is_over(load) && (q = QSIMPLEQ_FIRST(&load->interrupted))) {
        QSIMPLEQ_REMOVE_HEAD(&load->interrupted, entry);
        q->interrupted = false;
        load->driver->reap(q);
        if (!load->counting && load->done >= load->warmup) {
            start_counting(load);
        } else if (is_over(load)) {
            finish(load);
            return;
        }
        refill(q);
    }
}

/* A message: the handler runs when the vCPU gets round to it. */
static void sink_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    Load *load = opaque;
    unsigned vector = addr / sizeof(uint32_t);
    LoadQueue *q;

    if (!vector || vector > load->nr_queues) {
        return;
    }
    q = &load->queues[vector - 1];
    load->counts.interrupts++;
    if (!q->interrupted) {
        q->interrupted = true;
        QSIMPLEQ_INSERT_TAIL(&load->interrupted, q, entry);
        qemu_bh_schedule(load->bh);
    }
}

static uint64_t sink_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static const MemoryRegionOps sink_ops = {
    .read = sink_read,
    .write = sink_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
};

/*
 * The clock
 */

static bool is_at_rest(Load *load)
{
    unsigned i;

    if (!QSIMPLEQ_EMPTY(&load->interrupted)) {
        return false;
    }
    for (i = 0; i < load->nr_queues; i++) {
        LoadQueue *q = &load->queues[i];

        if (load->driver->visible(q) + q->nr_free < load->depth) {
            return false;
        }
    }
    return true;
}

/* Runs in each turn of the main loop. */
static void rest_bh(void *opaque)
{
    Load *load = opaque;
    int64_t now, left;

    if (is_over(load)) {
        return;
    }
    load_check_limit(load, "no interrupt comes");
    if (is_at_rest(load)) {
        now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
        left = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL,
                                          QEMU_TIMER_ATTR_ALL);
        if (left < 0) {
            error_report("%s: completions, no interrupt and no timer",
                         TYPE_LOAD);
            exit(1);
        }
        qemu_clock_advance_virtual_time(now + MAX(left, 1));
    }
    qemu_bh_schedule(load->rest_bh);
}

/*
 * Start
 */

static void init_queue(Load *load, unsigned index)
{
    LoadQueue *q = &load->queues[index];
    unsigned i;

    q->load = load;
    q->index = index;
    q->free = g_new(uint16_t, load->depth);
    q->data = load_alloc(load, load->depth * LOAD_BLOCK);
    for (i = 0; i < load->depth; i++) {
        q->free[q->nr_free++] = i;
    }
}

/* In a coroutine, if the driver waits. */
static void start(void *opaque)
{
    Load *load = opaque;
    unsigned i;

    load->limit_us = g_get_monotonic_time() + LIMIT_US;
    load_pci_start(load);
    for (i = 0; i < load->nr_queues; i++) {
        init_queue(load, i);
    }
    load->driver->start(load);
    for (i = 0; i < load->nr_queues; i++) {
        refill(&load->queues[i]);
    }
    if (load->step) {
        qemu_bh_schedule(load->rest_bh);
    }
}

static void start_bh(void *opaque)
{
    Load *load = opaque;

    if (load->driver->waits) {
        qemu_coroutine_enter(qemu_coroutine_create(start, load));
    } else {
        start(load);
    }
}

/* Only now the devices are all there, and reset. */
static void machine_done(void *opaque, bool running, RunState state)
{
    Load *load = opaque;
    DeviceState *dev;

    if (!running || load->pci) {
        return;
    }
    dev = qdev_find_recursive(sysbus_get_default(), load->target);
    load->driver = !dev ? NULL :
        object_dynamic_cast(OBJECT(dev), load_nvme.type) ? &load_nvme :
        object_dynamic_cast(OBJECT(dev), load_virtio.type) ? &load_virtio :
        NULL;
    if (!load->driver) {
        error_report("%s: target=%s is no %s and no %s", TYPE_LOAD,
                     load->target, load_nvme.type, load_virtio.type);
        exit(1);
    }
    load->pci = PCI_DEVICE(dev);
    aio_bh_schedule_oneshot(qemu_get_aio_context(), start_bh, load);
}

static bool check_properties(const Load *load, Error **errp)
{
    if (!load->target || !load->reads || !load->blocks) {
        error_setg(errp, "target, reads and blocks must be given");
        return false;
    }
    if (!load->nr_queues || load->nr_queues > LOAD_MAX_QUEUES) {
        error_setg(errp, "queues must be 1 to %u", LOAD_MAX_QUEUES);
        return false;
    }
    if (!load->depth || load->depth > LOAD_MAX_DEPTH) {
        error_setg(errp, "depth must be 1 to %u", LOAD_MAX_DEPTH);
        return false;
    }
    if (!load->batch || load->batch > load->depth) {
        error_setg(errp, "batch must be 1 to depth (%u)", load->depth);
        return false;
    }
    return true;
}

static void load_realize(DeviceState *dev, Error **errp)
{
    Load *load = LOAD(dev);

    if (!check_properties(load, errp)) {
        return;
    }
    load->next_ram = FIRST_RAM;
    load->random = 88172645463325252ull;
    QSIMPLEQ_INIT(&load->interrupted);
    load->bh = qemu_bh_new(load_bh, load);
    load->rest_bh = qemu_bh_new(rest_bh, load);
    memory_region_init_io(&load->sink, OBJECT(load), &sink_ops, load,
                          "load-sink", LOAD_BLOCK);
    qemu_add_vm_change_state_handler(machine_done, load);
}

static const Property load_properties[] = {
    DEFINE_PROP_STRING("target", Load, target),
    DEFINE_PROP_UINT32("queues", Load, nr_queues, 1),
    DEFINE_PROP_UINT32("depth", Load, depth, 128),
    DEFINE_PROP_UINT32("batch", Load, batch, 32),
    DEFINE_PROP_UINT64("reads", Load, reads, 0),
    DEFINE_PROP_UINT64("warmup", Load, warmup, 0),
    DEFINE_PROP_UINT64("blocks", Load, blocks, 0),
    DEFINE_PROP_BOOL("step", Load, step, false),
};

static void load_class_init(ObjectClass *oc, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->desc = "drives an nvme or virtio-blk device in place of a guest";
    dc->realize = load_realize;
    dc->hotpluggable = false;
    device_class_set_props(dc, load_properties);
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static const TypeInfo load_info = {
    .name = TYPE_LOAD,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(Load),
    .class_init = load_class_init,
};

static void load_register_types(void)
{
    type_register_static(&load_info);
}

type_init(load_register_types)
