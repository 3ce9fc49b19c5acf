/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a test does to the driver: time passes between two steps of waiting, and
 * steps are done wrong.
 */
#include "tool.h"

#ifdef CINTIO_TEST
#include "../../userspace/step.h"

/* None, a little or a lot. */
static bool step(void *opaque, struct cintio_queue *q, enum cintio_step which)
{
    struct meddler *m = opaque;
    uint64_t until;

    (void)q;
    if (which == CINTIO_STEP_SKIP_CLAMP) {
        return m->options->fault == FAULT_CLAMP;
    }
    if (m->options->delay_ns) {
        until = now_ns() + next_random(&m->random) % m->options->delay_ns;
        while (now_ns() < until) {
            continue;
        }
    }
    return which == CINTIO_STEP_LOOKED && m->options->fault == FAULT_EARLY;
}

void meddle(struct meddler *meddler, struct cintio_queue *q)
{
    if (meddler->options->delay_ns || meddler->options->fault >= 0) {
        cintio_queue_watch(q, step, meddler);
    }
}
#endif
