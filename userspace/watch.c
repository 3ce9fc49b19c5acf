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

/*
 * A controller that another thread resets is not ready for a while; whoever
 * does so says it before. The queue is asked behind the register, therefore.
 */
int cintio_check_alive(struct cintio_queue *q)
{
    int ret = cintio_alive(q->dev, &q->error);

    return ret == -EIO && cintio_is_stale(q) ? cintio_check_stale(q, &q->error)
                                             : ret;
}

int cintio_look_after(struct cintio_queue *q, uint64_t now)
{
    struct pollfd removal = { .fd = q->dev->removal, .events = POLLIN };

    if (now < q->watched_ns + CINTIO_WATCH_NS) {
        return 0;
    }
    q->watched_ns = now;
    return poll(&removal, 1, 0) > 0 ? cintio_wanted_back(q)
                                    : cintio_check_alive(q);
}

bool cintio_was_forgotten(struct cintio_queue *q)
{
    q->release = true;
    return cintio_posted(q, q->scan) || (q->record && cintio_outstanding(q));
}
