/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: how a queue is waited for, and the interrupt pointer.
 */
#include <errno.h>
#include <sys/prctl.h>

#include "caller.h"
#include "mode.h"
#include "reap.h"
#include "regs.h"

void cintio_write_pointer(struct cintio_queue *q, unsigned int k)
{
    struct cintio_cursor target = cintio_ahead(q, q->head, k);

    cintio_write32(q->dev, q->pointer_reg,
                   NVME_CINT_POINTER_ARM | target.index);
    q->armed = true;
    q->target = target.count;
    q->arms++;
}

static int check_mode(struct cintio_queue *q, enum cintio_mode mode,
                      struct cintio_error *err)
{
    if (mode > CINTIO_COALESCED) {
        return cintio_fail(err, -EINVAL, "mode %d: 0 to %d are known", mode,
                           CINTIO_COALESCED);
    }
    if (mode >= CINTIO_INTERRUPT && !q->irq) {
        return cintio_fail(err, -EINVAL, "queue %u was created without "
                           "interrupts", q->id);
    }
    if (mode != CINTIO_COALESCED) {
        return 0;
    }
    if (!(q->info->cint_caps & NVME_CINT_CAP_POINTER)) {
        return cintio_fail(err, -ENOTSUP, "%s (%s) has no interrupt pointer: "
                           "take the mode interrupt", q->dev->info.address,
                           q->info->model);
    }
    if (!q->pointer) {
        return cintio_fail(err, -ENOTSUP, "the policy of queue %u knows no "
                           "interrupt pointer: give it the policy pointer",
                           q->id);
    }
    return 0;
}

void cintio_set_pointer(struct cintio_queue *q)
{
    q->armed = false;
    if (!q->pointer) {
        return;
    }
    if (q->mode == CINTIO_INTERRUPT) {
        cintio_write32(q->dev, q->pointer_reg, 0);
    } else if (q->mode < CINTIO_INTERRUPT) {
        /* as far away as it goes; once it is passed, the queue is silent */
        cintio_write_pointer(q, q->entries - 1);
    }
}

int cintio_queue_set_mode(struct cintio_queue *q, enum cintio_mode mode,
                          uint64_t sleep_ns, struct cintio_error *err)
{
    int ret = check_mode(q, mode, err);

    if (ret) {
        return ret;
    }
    q->mode = mode;
    q->sleep_ns = sleep_ns;
    q->mean_ns = 0;
    if (mode == CINTIO_SLEEP || mode == CINTIO_SLEEP_ADAPTIVE) {
        prctl(PR_SET_TIMERSLACK, 1);
    }
    cintio_set_pointer(q);
    return 0;
}
