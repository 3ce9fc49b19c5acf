/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: memory that the controller can reach.
 */
#ifndef CINTIO_DMA_H
#define CINTIO_DMA_H

#include "device.h"

/* Memory that the controller can reach. */
struct cintio_mem {
    void *addr;
    size_t len;             /* bytes */
    uint64_t iova;          /* of addr, where all is in one piece */
    uint64_t *pages;        /* else the address of each 2^shift bytes */
    unsigned int shift;
    uint64_t offset;        /* in the file of huge pages ... */
    bool of_file;           /* ... which it is of */
    bool foreign;           /* the caller's memory: only mapped */
    const void *space;      /* of its controller, where iova is an address */
    struct cintio_mem *next;    /* in a list of what is kept */
};

/* The controller's address of a byte in @mem. */
static inline uint64_t cintio_iova(const struct cintio_mem *mem,
                                   const void *at)
{
    uint64_t offset = (const uint8_t *)at - (uint8_t *)mem->addr;

    if (!mem->pages) {
        return mem->iova + offset;
    }
    return mem->pages[offset >> mem->shift] +
           (offset & ((UINT64_C(1) << mem->shift) - 1));
}

/* Of a new file, for @dev; -errno with a text if there are no huge pages. */
int cintio_open_pages(struct cintio *dev, struct cintio_error *err);

/* As cintio_free(), of what no command of a queue reads or writes. */
void cintio_free_ring(struct cintio *dev, struct cintio_mem *mem);

/* Frees what was given back while the controller might use it. */
void cintio_free_kept(struct cintio *dev);

/* The address that the CPU's page tables have for @addr; 0: they tell none. */
uint64_t cintio_physical(const void *addr);

#endif
