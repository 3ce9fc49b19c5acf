/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A namespace in memory: property "memdev" of nvme-ns.
 *
 * The medium is a memory backend. A block node that has it stands below the
 * namespace's block backend, in place of one that "drive" names. So each
 * command does what it does with any drive, and whatever is put above the node
 * (a filter, a job, a snapshot) sees all of it.
 *
 * Reads and writes whose data is in guest RAM that is kept mapped (ram.h) need
 * no request of the block layer where nobody could see one: they are copied,
 * and done.
 */
#ifndef HW_NVME_MEMDEV_H
#define HW_NVME_MEMDEV_H

#include "nvme.h"

/*
 * Gives @ns, which has no block backend, one of its memory. Everything that can
 * be refused of that is refused here; what was begun goes with the device.
 */
bool nvme_memdev_attach(NvmeNamespace *ns, Error **errp);

/*
 * Copies @len bytes from @offset of the medium of @ns to @addr, which are in
 * one page of guest RAM, or the other way, and accounts for it. False if it is
 * not RAM, or that is to be a request of the block layer; nothing was copied
 * then.
 */
bool nvme_memdev_read(NvmeCtrl *n, NvmeNamespace *ns, uint64_t offset,
                      hwaddr addr, hwaddr len);
bool nvme_memdev_write(NvmeCtrl *n, NvmeNamespace *ns, uint64_t offset,
                       hwaddr addr, hwaddr len);

/* The same for guest RAM that is mapped as @iov; accounting is the caller's. */
bool nvme_memdev_read_iov(NvmeNamespace *ns, uint64_t offset,
                          QEMUIOVector *iov);
bool nvme_memdev_write_iov(NvmeNamespace *ns, uint64_t offset,
                           QEMUIOVector *iov);

/*
 * The protection information of a block of zeroes, @len bytes at @tuple, is not
 * looked at where the block was never written, or was deallocated: all bits are
 * set. In memory such a block is as one of zeroes that was written, but for
 * this: its protection information is zero as well.
 */
void nvme_memdev_unprotect(NvmeNamespace *ns, uint8_t *tuple, size_t len);

#endif /* HW_NVME_MEMDEV_H */
