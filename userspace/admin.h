/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: admin commands.
 */
#ifndef CINTIO_ADMIN_H
#define CINTIO_ADMIN_H

#include "device.h"
#include "nvme.h"

/* Whoever is in between is not reset; he may be told to leave by -ESTALE. */
static inline void cintio_enter(struct cintio *dev)
{
    pthread_rwlock_rdlock(&dev->reset_lock);
}

static inline void cintio_leave(struct cintio *dev)
{
    pthread_rwlock_unlock(&dev->reset_lock);
}

/*
 * 0, or why no queue can be made now: a command about another one was given up,
 * and there is still no answer; or the controller has not stopped.
 */
int cintio_check_answers(struct cintio *dev, struct cintio_error *err);

/*
 * A command with data; nobody resets meanwhile. Status or -errno. One that is
 * given up counts in @owner's unanswered (NULL: nobody's) until it is answered.
 */
int cintio_command(struct cintio *dev, struct cintio_queue *owner,
                   const struct nvme_sqe *sqe, void *buf, size_t len,
                   uint32_t *result, struct cintio_error *err);

/* As cintio_command(), and a bad status is -EIO with "@what failed". */
int cintio_must(struct cintio *dev, struct cintio_queue *owner,
                const char *what, const struct nvme_sqe *sqe, void *buf,
                size_t len, uint32_t *result, struct cintio_error *err);

/* Of a controller that has stopped; nobody owns what was given up any more. */
void cintio_admin_empty(struct cintio *dev);

/* @owner's end: answers about it are about nothing. */
void cintio_disown(struct cintio *dev, const struct cintio_queue *owner);

#endif
