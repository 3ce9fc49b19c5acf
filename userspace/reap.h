/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: which completions are taken.
 */
#ifndef CINTIO_REAP_H
#define CINTIO_REAP_H

#include "queue.h"

#define CINTIO_MAX_DOUBTS    8      /* then a record is not gone by any more */

/* Whether the entry at @place has been posted. */
bool cintio_posted(const struct cintio_queue *queue,
                   struct cintio_cursor place);

/* @place, @n entries on; @n is less than the queue has. */
struct cintio_cursor cintio_ahead(const struct cintio_queue *queue,
                                  struct cintio_cursor place, unsigned int n);

/* Take up to @max completions that may be taken now, and ring the head. */
unsigned int cintio_reap(struct cintio_queue *queue, struct cintio_done *done,
                         unsigned int max);

#endif
