/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: a controller, as all parts of the driver know it, and the way to it.
 */
#ifndef CINTIO_DEVICE_H
#define CINTIO_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include "cintio.h"

#define CINTIO_ADMIN_ENTRIES 32
#define CINTIO_MAX_QUEUES    1024   /* I/O queue pairs asked for */
#define CINTIO_MAX_TRANSFER  (2u << 20) /* one page of PRPs */

/*
 * How a controller is reached: VFIO, or a test's fake. Functions return 0 or
 * -errno with a text. read32 and write32 are NULL where registers are memory.
 */
struct cintio_ops {
    int (*map)(struct cintio *dev, struct cintio_mem *mem,
               struct cintio_error *err);
    void (*unmap)(struct cintio *dev, struct cintio_mem *mem);
    /* Signal @eventfd at interrupts of @vector; -1: at none. */
    int (*notify)(struct cintio *dev, unsigned int vector, int eventfd,
                  struct cintio_error *err);
    uint32_t (*read32)(struct cintio *dev, uint32_t offset);
    void (*write32)(struct cintio *dev, uint32_t offset, uint32_t value);
    /*
     * From now on the controller does nothing. What is mapped is unmapped yet;
     * then what is left of the way to it is released (NULL: nothing is).
     */
    void (*close)(struct cintio *dev);
    void (*release)(struct cintio *dev);
};

struct cintio {
    const struct cintio_ops *ops;
    void *carrier;              /* of ops */
    uint8_t *bar;               /* BAR0 */
    size_t bar_size;
    unsigned int vectors;       /* MSI-X, the admin queue's is 0 */
    int removal;                /* readable: the kernel asks for the device */
    const void *space;          /* shared by controllers of an IOMMU group */
    bool needs_huge_pages;      /* memory is addressed physically */
    int pages;                  /* ... and of this file; -1: there is none */
    _Atomic uint64_t pages_end; /* where its next piece begins */
    bool inherited;             /* by a child, which has no controller */

    struct cintio_options options;
    /*
     * What is being learned, by a reset; and what was, which is not written
     * any more: threads may look at it while the controller is reset, and a
     * queue goes by that of its creation.
     */
    struct cintio_info info;
    struct cintio_learned *_Atomic learned;
    unsigned int doorbell_shift;
    uint32_t pointer_offset, pointer_stride;

    /*
     * Read by whoever wants something of the controller, so that it is not
     * reset meanwhile; written by a reset, which they leave it to at once. The
     * other two are held for moments, and by nobody who waits.
     */
    pthread_rwlock_t reset_lock;
    pthread_mutex_t admin_lock;         /* of the admin queue */
    pthread_mutex_t tables_lock;        /* of queues and namespaces */
    _Atomic unsigned int resets;        /* that wait for the lock */
    _Atomic unsigned int generation;    /* up by one at each reset */
    _Atomic bool running;               /* it was to stop and has not */
    _Atomic unsigned int held;          /* queues destroyed that it has */
    struct cintio_mem *_Atomic kept;    /* given back meanwhile */
    struct cintio_spaces *namespaces;   /* that were opened */
    struct cintio_queue *admin;
    /* of a command that was given up, by its identifier: what it was about */
    struct cintio_queue *owners[CINTIO_ADMIN_ENTRIES];
    unsigned int unheard;               /* of these, since the last answer */
    struct cintio_queue **queues;       /* by identifier - 1 */
    bool switching;                     /* status records on or off */
    struct cintio_mem *records;         /* interrupt status, by CQ identifier */
    bool keeps_records;                 /* the controller does */
};

#endif
