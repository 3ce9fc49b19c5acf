/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: what nobody is told of: a controller that is gone, a lost message.
 */
#include <errno.h>
#include <poll.h>

#include "caller.h"
#include "reap.h"
#include "regs.h"
#include "watch.h"

int cintio_wanted_back(struct cintio_queue *q)
{
    return cintio_fail(&q->error, -ENODEV, "the kernel asks for %s back: "
                       "close it", q->dev->info.address);
}

int cintio_look_after(struct cintio_queue *q, uint64_t now)
{
    struct pollfd removal = { .fd = q->dev->removal, .events = POLLIN };

    if (now < q->watched_ns + CINTIO_WATCH_NS) {
        return 0;
    }
    q->watched_ns = now;
    return poll(&removal, 1, 0) > 0 ? cintio_wanted_back(q)
                                    : cintio_alive(q->dev, &q->error);
}

bool cintio_was_forgotten(struct cintio_queue *q)
{
    q->release = true;
    return cintio_posted(q, q->scan) || (q->record && cintio_outstanding(q));
}
