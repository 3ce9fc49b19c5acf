/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: the controller's registers.
 */
#include <errno.h>

#include "caller.h"
#include "regs.h"

int cintio_alive(struct cintio *dev, struct cintio_error *err)
{
    uint32_t csts = cintio_read32(dev, NVME_REG_CSTS);

    if (csts == NVME_GONE) {
        return cintio_fail(err, -ENODEV, "%s was removed", dev->info.address);
    }
    if (csts & NVME_CSTS_CFS) {
        return cintio_fail(err, -EIO, "%s has failed (CSTS.CFS): reset it",
                           dev->info.address);
    }
    if (!(csts & NVME_CSTS_RDY)) {
        return cintio_fail(err, -EIO, "%s is not ready: somebody has reset, "
                           "stopped or removed it", dev->info.address);
    }
    return 0;
}
