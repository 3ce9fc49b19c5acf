/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: commands that have a time of their own, and take longer.
 */
#ifndef CINTIO_DUE_H
#define CINTIO_DUE_H

#include "queue.h"

/* When the first command has taken too long, or CINTIO_FOREVER. */
uint64_t cintio_due(const struct cintio_queue *queue);

/* What was due first may be over: then when the next one is. */
bool cintio_is_overdue(struct cintio_queue *queue);

/*
 * Of a queue that has one that is overdue: -ETIME with a text. Once for each;
 * then nobody's time is over until the next one's is.
 */
int cintio_tell_overdue(struct cintio_queue *queue);

#endif
