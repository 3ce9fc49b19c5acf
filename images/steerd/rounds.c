/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rounds.h"

void steer_sample(struct steer *steer, unsigned int cpu,
                  enum blk_switch_class class, uint64_t bytes)
{
    u64 *mean = &steer->loads[cpu].mean[class];

    *mean = blk_switch_mean(*mean, bytes);
    steer->seen[cpu][class] |= bytes != 0;
}

/* A mean never gets to zero by itself: it does in a round without I/O. */
static void end_means(struct steer *steer)
{
    for (unsigned int cpu = 0; cpu < steer->cpus; cpu++) {
        for (int class = 0; class < BLK_SWITCH_CLASSES; class++) {
            if (!steer->seen[cpu][class]) {
                steer->loads[cpu].mean[class] = 0;
            }
            steer->seen[cpu][class] = false;
            steer->dwell[cpu][class] -= steer->dwell[cpu][class] > 0;
        }
    }
}

static bool may_run(void *arg, unsigned int cpu)
{
    const struct steer_task *task = arg;

    return task->allowed >> cpu & 1;
}

/*
 * L goes to where most of L is: they do each other little harm as long as there
 * is not much of them. Of equal CPUs it is the first.
 */
static unsigned int gather_l(const struct steer *steer, struct steer_task *task)
{
    const struct blk_switch_load *loads = steer->loads;
    unsigned int best = task->cpu;
    u64 here = loads[task->cpu].mean[BLK_SWITCH_L];

    if (!loads[task->cpu].mean[BLK_SWITCH_T]) {
        return task->cpu;
    }
    for (unsigned int cpu = 0; cpu < steer->cpus; cpu++) {
        u64 there = loads[cpu].mean[BLK_SWITCH_L];

        if (cpu == best || !there || here + there >= steer->latency_limit ||
            !may_run(task, cpu)) {
            continue;
        }
        if (there > loads[best].mean[BLK_SWITCH_L] ||
            (there == loads[best].mean[BLK_SWITCH_L] && cpu < best)) {
            best = cpu;
        }
    }
    return best;
}

/* T goes away from L, to a CPU without, also if there is more of T. */
static unsigned int avoid_l(const struct steer *steer, struct steer_task *task)
{
    const struct blk_switch_load *loads = steer->loads;
    unsigned int best = task->cpu;
    u64 least = U64_MAX;

    if (!loads[task->cpu].mean[BLK_SWITCH_L]) {
        return task->cpu;
    }
    for (unsigned int cpu = 0; cpu < steer->cpus; cpu++) {
        if (!loads[cpu].mean[BLK_SWITCH_L] && may_run(task, cpu) &&
            loads[cpu].mean[BLK_SWITCH_T] < least) {
            least = loads[cpu].mean[BLK_SWITCH_T];
            best = cpu;
        }
    }
    return best;
}

static unsigned int place(const struct steer *steer, struct steer_task *task)
{
    unsigned int cpu = blk_switch_place(task->class, steer->loads, steer->cpus,
                                        task->cpu, steer->latency_limit,
                                        may_run, task);

    if (cpu != task->cpu || !steer->apart) {
        return cpu;
    }
    return task->class == BLK_SWITCH_L ? gather_l(steer, task)
                                       : avoid_l(steer, task);
}

static bool is_movable(const struct steer *steer, const struct steer_task *task,
                       enum blk_switch_class class, unsigned int cpu)
{
    return task->class == class && task->cpu == cpu && cpu < steer->cpus &&
           task->allowed & (task->allowed - 1);
}

/* Of a CPU's tasks of a class it is the one that was not moved for longest. */
static bool move_from(struct steer *steer, enum blk_switch_class class,
                      unsigned int cpu, struct steer_task *tasks, size_t count,
                      struct steer_move *move)
{
    size_t chosen = count;

    if (steer->dwell[cpu][class]) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_movable(steer, &tasks[i], class, cpu) &&
            (chosen == count || tasks[i].moved < tasks[chosen].moved)) {
            chosen = i;
        }
    }
    if (chosen == count) {
        return false;
    }
    move->task = chosen;
    move->cpu = place(steer, &tasks[chosen]);
    if (move->cpu == cpu) {
        return false;
    }
    tasks[chosen].moved = steer->round;
    steer->dwell[move->cpu][class] = BLK_SWITCH_DWELL;
    return true;
}

/* As in the kernel: the classes take turns, and so do the CPUs. */
bool steer_round(struct steer *steer, struct steer_task *tasks, size_t count,
                 struct steer_move *move)
{
    enum blk_switch_class class;

    steer->round++;
    class = steer->round & 1 ? BLK_SWITCH_T : BLK_SWITCH_L;
    end_means(steer);
    for (unsigned int i = 0; i < steer->cpus; i++) {
        unsigned int cpu = (steer->round / 2 + i) % steer->cpus;

        if (move_from(steer, class, cpu, tasks, count, move)) {
            return true;
        }
    }
    return false;
}
