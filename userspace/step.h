/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: where a test comes between the steps of waiting.
 */
#ifndef CINTIO_STEP_H
#define CINTIO_STEP_H

#include "cintio.h"

/* Where it may come between, or do something else. */
enum cintio_step {
    CINTIO_STEP_REAPED,         /* the CQ was looked through */
    CINTIO_STEP_ARMED,          /* the pointer is written */
    CINTIO_STEP_LOOKED,         /*
                                 * ... and the entry is not there yet; true:
                                 * empty the eventfd now (a fault)
                                 */
    CINTIO_STEP_WOKEN,          /* poll(2) has returned */
    CINTIO_STEP_CLEARED,        /* ... and the eventfd is empty */
    CINTIO_STEP_SLEEPS,         /* poll(2) is next */
    CINTIO_STEP_SKIP_CLAMP,     /* true: ask for more than can come (a fault) */
};

typedef bool (*cintio_step_fn)(void *opaque, struct cintio_queue *queue,
                               enum cintio_step step);

/* For tests: call @step at each step of waiting. */
void cintio_queue_watch(struct cintio_queue *queue, cintio_step_fn step,
                        void *opaque);

#endif
