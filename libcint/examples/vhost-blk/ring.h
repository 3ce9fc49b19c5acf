/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A split virtqueue, from the device's side. All that the guest wrote is
 * checked: a ring with a mistake in it is broken and stays silent.
 */
#ifndef VHOST_BLK_RING_H
#define VHOST_BLK_RING_H

#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "memory.h"

#define LARGEST_RING    1024
/* Of a chain: what the device says (seg_max), header and status. */
#define MOST_PIECES     (126 + 2)

/* A chain of descriptors: what the device reads, then what it writes. */
typedef struct Chain {
    uint16_t head;
    unsigned nr_out, nr_in;
    struct iovec piece[MOST_PIECES];
} Chain;

typedef struct Ring {
    const Memory *memory;
    unsigned size;
    bool event_index;           /* VIRTIO_RING_F_EVENT_IDX */
    bool broken;
    struct vring_desc *desc;
    struct vring_avail *avail;
    struct vring_used *used;
    uint16_t last_avail;        /* chains taken */
    uint16_t used_index;        /* chains given back */
    uint16_t signalled;         /* of them when the guest was last told */
} Ring;

/* Takes the next chain; false: there is none, or the ring is broken. */
bool ring_pop(Ring *ring, Chain *chain);

/* Gives a chain back, of which @written bytes were written. */
void ring_push(Ring *ring, uint16_t head, uint32_t written);

/* Does the guest want an interrupt for what was given back since the last? */
bool ring_wants_call(Ring *ring);

/*
 * How many of the chains that were given back the guest may not have taken, as
 * far as it says; -1: it does not.
 */
int ring_unconsumed(const Ring *ring);

/* Asks for a kick at the next chain; false: there is one already. */
bool ring_rearm(Ring *ring);

#endif /* VHOST_BLK_RING_H */
