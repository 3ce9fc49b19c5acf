/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: how a queue is waited for, and the interrupt pointer.
 */
#ifndef CINTIO_MODE_H
#define CINTIO_MODE_H

#include "queue.h"

static inline bool cintio_sleeps_on_interrupt(const struct cintio_queue *q)
{
    return q->mode == CINTIO_INTERRUPT || q->mode == CINTIO_COALESCED;
}

/* Ask for the interrupt of the @k-th entry from the head on. */
void cintio_write_pointer(struct cintio_queue *queue, unsigned int k);

/* The pointer as the mode wants it, where the policy knows one. */
void cintio_set_pointer(struct cintio_queue *queue);

#endif
