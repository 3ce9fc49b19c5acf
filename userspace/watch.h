/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: what nobody is told of: a controller that is gone, a lost message.
 */
#ifndef CINTIO_WATCH_H
#define CINTIO_WATCH_H

#include "queue.h"

/* Without an event for so long the controller is asked whether it still is. */
#define CINTIO_WATCH_NS UINT64_C(1000000000)

/* -ENODEV, with a text. */
int cintio_wanted_back(struct cintio_queue *queue);

/*
 * Whether the controller still is, and the queue with it: 0, -ESTALE if it was
 * reset, or -EIO or -ENODEV, each with a text.
 */
int cintio_check_alive(struct cintio_queue *queue);

/*
 * Whether the controller still is, and is ours: 0 or -errno with a text. Looks
 * once in CINTIO_WATCH_NS, for it takes a while. @now: cintio_now().
 */
int cintio_look_after(struct cintio_queue *queue, uint64_t now);

/*
 * Nothing has come for CINTIO_WATCH_NS, which is long: whether there is
 * something all the same, which no interrupt and no record has told of.
 */
bool cintio_was_forgotten(struct cintio_queue *queue);

#endif
