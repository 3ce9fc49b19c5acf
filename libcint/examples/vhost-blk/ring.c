/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers are little endian in a ring, as they are here (meson.build).
 */
#include <stdatomic.h>
#include <string.h>

#include "ring.h"

static uint16_t load(const __virtio16 *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/*
 * What is checked is what is used, whatever the guest writes meanwhile. An
 * indirect table may be at any address.
 */
static struct vring_desc read_once(const void *table, unsigned at)
{
    struct vring_desc copy;

    memcpy(&copy, (const char *)table + at * sizeof(copy), sizeof(copy));
    atomic_signal_fence(memory_order_seq_cst);
    return copy;
}

static bool broken(Ring *ring)
{
    ring->broken = true;
    return false;
}

static bool add_piece(Ring *ring, Chain *chain, const struct vring_desc *desc)
{
    unsigned n = chain->nr_out + chain->nr_in;
    bool is_in = desc->flags & VRING_DESC_F_WRITE;
    void *base = memory_of_guest(ring->memory, desc->addr, desc->len);

    if (!base || n == MOST_PIECES || (!is_in && chain->nr_in)) {
        return broken(ring);
    }
    chain->piece[n] = (struct iovec) { .iov_base = base,
                                       .iov_len = desc->len };
    if (is_in) {
        chain->nr_in++;
    } else {
        chain->nr_out++;
    }
    return true;
}

/* Follows a chain in a table of @size descriptors. */
static bool follow(Ring *ring, Chain *chain, const void *table, unsigned size,
                   unsigned at)
{
    struct vring_desc desc;
    unsigned steps;

    for (steps = 0; steps < size && at < size; steps++) {
        desc = read_once(table, at);
        if (desc.flags & VRING_DESC_F_INDIRECT) {
            break;              /* an indirect table has no further one */
        }
        if (!add_piece(ring, chain, &desc)) {
            return false;
        }
        if (!(desc.flags & VRING_DESC_F_NEXT)) {
            return true;
        }
        at = desc.next;
    }
    return broken(ring);        /* a loop, or out of the table */
}

static bool read_chain(Ring *ring, Chain *chain, uint16_t head)
{
    struct vring_desc first;
    const void *table;

    if (head >= ring->size) {
        return broken(ring);
    }
    first = read_once(ring->desc, head);
    if (!(first.flags & VRING_DESC_F_INDIRECT)) {
        return follow(ring, chain, ring->desc, ring->size, head);
    }
    table = memory_of_guest(ring->memory, first.addr, first.len);
    if (!table || first.len % sizeof(first)) {
        return broken(ring);
    }
    return follow(ring, chain, table, first.len / sizeof(first), 0);
}

bool ring_pop(Ring *ring, Chain *chain)
{
    uint16_t ready;

    if (ring->broken) {
        return false;
    }
    ready = load(&ring->avail->idx) - ring->last_avail;
    if (!ready) {
        return false;
    }
    if (ready > ring->size) {
        return broken(ring);
    }
    chain->head = load(&ring->avail->ring[ring->last_avail % ring->size]);
    chain->nr_out = chain->nr_in = 0;
    ring->last_avail++;
    return read_chain(ring, chain, chain->head);
}

void ring_push(Ring *ring, uint16_t head, uint32_t written)
{
    vring_used_elem_t *used = &ring->used->ring[ring->used_index % ring->size];

    used->id = head;
    used->len = written;
    ring->used_index++;
    __atomic_store_n(&ring->used->idx, ring->used_index, __ATOMIC_RELEASE);
}

/* Behind the available ring: the index at which the guest wants a call. */
static uint16_t used_event(const Ring *ring)
{
    return load(&ring->avail->ring[ring->size]);
}

bool ring_wants_call(Ring *ring)
{
    uint16_t before = ring->signalled;

    /* what is given back is seen before it is looked who wants to know */
    atomic_thread_fence(memory_order_seq_cst);
    ring->signalled = ring->used_index;
    return ring->event_index ?
           vring_need_event(used_event(ring), ring->used_index, before) :
           !(load(&ring->avail->flags) & VRING_AVAIL_F_NO_INTERRUPT);
}

int ring_unconsumed(const Ring *ring)
{
    return ring->event_index ?
           (uint16_t)(ring->used_index - used_event(ring)) : -1;
}

bool ring_rearm(Ring *ring)
{
    __virtio16 *avail_event = (__virtio16 *)&ring->used->ring[ring->size];

    if (ring->event_index) {
        __atomic_store_n(avail_event, ring->last_avail, __ATOMIC_RELEASE);
    }
    atomic_thread_fence(memory_order_seq_cst);
    return ring->broken || load(&ring->avail->idx) == ring->last_avail;
}
