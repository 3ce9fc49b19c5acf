/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: what was learned of a controller, for all to see.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "info.h"

/* Information, with what was learned before, all of it until the end. */
struct cintio_learned {
    struct cintio_info info;
    struct cintio_learned *before;
};

int cintio_publish(struct cintio *dev, struct cintio_error *err)
{
    struct cintio_learned *before = atomic_load(&dev->learned), *now;

    if (before && !memcmp(&before->info, &dev->info, sizeof(dev->info))) {
        return 0;
    }
    now = malloc(sizeof(*now));
    if (!now) {
        return cintio_fail(err, -ENOMEM, "out of memory");
    }
    memcpy(&now->info, &dev->info, sizeof(dev->info));
    now->before = before;
    atomic_store(&dev->learned, now);
    return 0;
}

void cintio_forget_info(struct cintio *dev)
{
    struct cintio_learned *learned = atomic_load(&dev->learned), *before;

    for (; learned; learned = before) {
        before = learned->before;
        free(learned);
    }
}

const struct cintio_info *cintio_info(const struct cintio *dev)
{
    const struct cintio_learned *learned = atomic_load(&dev->learned);

    return learned ? &learned->info : NULL;
}
