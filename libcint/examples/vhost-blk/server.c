/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The vhost-user protocol, as far as virtio-blk needs it (QEMU's
 * docs/interop/vhost-user.rst).
 */
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <string.h>
#include <unistd.h>

#include "server.h"

#define FEATURE(bit)    (1ull << (bit))
#define F_PROTOCOL      FEATURE(30)
#define FEATURES        (FEATURE(VIRTIO_F_VERSION_1) | F_PROTOCOL | \
                         FEATURE(VIRTIO_RING_F_EVENT_IDX) | \
                         FEATURE(VIRTIO_RING_F_INDIRECT_DESC) | \
                         FEATURE(VIRTIO_BLK_F_SEG_MAX) | \
                         FEATURE(VIRTIO_BLK_F_BLK_SIZE) | \
                         FEATURE(VIRTIO_BLK_F_FLUSH) | \
                         FEATURE(VIRTIO_BLK_F_MQ))
#define P_MQ            FEATURE(0)
#define P_REPLY_ACK     FEATURE(3)
#define P_CONFIG        FEATURE(9)

enum {
    GET_FEATURES = 1, SET_FEATURES, SET_OWNER, RESET_OWNER, SET_MEM_TABLE,
    SET_VRING_NUM = 8, SET_VRING_ADDR, SET_VRING_BASE, GET_VRING_BASE,
    SET_VRING_KICK, SET_VRING_CALL, SET_VRING_ERR, GET_PROTOCOL_FEATURES,
    SET_PROTOCOL_FEATURES, GET_QUEUE_NUM, SET_VRING_ENABLE,
    GET_CONFIG = 24,
};

#define NO_FD           0x100
#define INDEX_MASK      0xff

/*
 * Messages
 */

static bool reply(Server *server, Message *message, uint32_t size)
{
    return message_reply(server->fd, message, size);
}

static bool reply_number(Server *server, Message *message, uint64_t number)
{
    message->number = number;
    return reply(server, message, sizeof(number));
}

/* A file of the message, which is then the caller's; -1: it has none. */
static int take_fd(Received *in)
{
    int fd = in->nr_fds ? in->fd[0] : -1;

    if (in->nr_fds) {
        in->fd[0] = -1;
    }
    return fd;
}

/*
 * Queues
 */

static bool map_ring(Server *server, unsigned index)
{
    const Place *place = &server->place[index];
    Ring *ring = &server->queue[index].ring;
    size_t n = ring->size;

    /* with the event index behind avail and used */
    ring->desc = memory_of_vmm(&server->memory, place->desc,
                               n * sizeof(*ring->desc));
    ring->avail = memory_of_vmm(&server->memory, place->avail,
                                sizeof(*ring->avail) + (n + 1) * 2);
    ring->used = memory_of_vmm(&server->memory, place->used,
                               sizeof(*ring->used) +
                               n * sizeof(ring->used->ring[0]) + 2);
    return n && ring->desc && ring->avail && ring->used &&
           !((uintptr_t)ring->desc % 16) && !((uintptr_t)ring->avail % 2) &&
           !((uintptr_t)ring->used % 4);
}

static void start_if_ready(Server *server, unsigned index, int64_t now)
{
    Queue *queue = &server->queue[index];
    bool enabled = server->place[index].enabled ||
                   !(server->features & F_PROTOCOL);

    if (!queue->runs && enabled && queue->kick_fd >= 0 &&
        map_ring(server, index)) {
        queue->ring.memory = &server->memory;
        queue->ring.broken = false;
        queue->ring.event_index = server->features &
                                  FEATURE(VIRTIO_RING_F_EVENT_IDX);
        queue_start(queue, now);
    }
}

static bool set_memory(Server *server, Received *in, int64_t now)
{
    const Message *message = &in->message;
    unsigned i;

    if (message->memory.n > MOST_FDS || message->memory.n != in->nr_fds) {
        return false;
    }
    for (i = 0; i < server->nr_queues; i++) {
        queue_stop(&server->queue[i], now, false);
    }
    memory_clear(&server->memory);
    for (i = 0; i < in->nr_fds; i++) {
        if (memory_add(&server->memory, &message->memory.region[i],
                       in->fd[i])) {
            return false;
        }
    }
    for (i = 0; i < server->nr_queues; i++) {
        start_if_ready(server, i, now);
    }
    return true;
}

static bool set_size(Queue *queue, uint32_t size)
{
    if (queue->runs || !size || size > LARGEST_RING || size & (size - 1)) {
        return false;
    }
    queue->ring.size = size;
    return true;
}

static bool set_base(Queue *queue, uint32_t base)
{
    if (queue->runs || base > UINT16_MAX) {
        return false;
    }
    queue->ring.last_avail = base;
    return true;
}

static bool set_place(Server *server, const struct vhost_vring_addr *addr)
{
    Place *place = &server->place[addr->index];

    if (server->queue[addr->index].runs) {
        return false;
    }
    place->desc = addr->desc_user_addr;
    place->avail = addr->avail_user_addr;
    place->used = addr->used_user_addr;
    return true;
}

static bool get_base(Server *server, Message *message, Queue *queue,
                     int64_t now)
{
    queue_stop(queue, now, false);
    close_fd(&queue->kick_fd);
    message->state.num = queue->ring.last_avail;
    return reply(server, message, sizeof(message->state));
}

static bool set_enabled(Server *server, const struct vhost_vring_state *state,
                        int64_t now)
{
    server->place[state->index].enabled = state->num;
    if (!state->num) {
        queue_stop(&server->queue[state->index], now, false);
    }
    start_if_ready(server, state->index, now);
    return true;
}

static bool set_kick(Server *server, Received *in, unsigned index, int64_t now)
{
    Queue *queue = &server->queue[index];

    close_fd(&queue->kick_fd);
    queue->kick_fd = take_fd(in);
    start_if_ready(server, index, now);
    return queue->kick_fd >= 0;     /* no kicks, but polling: not here */
}

/* A file that comes in another's place is told of what there may have been. */
static bool set_call(Queue *queue, Received *in, int64_t now)
{
    close_fd(&queue->call_fd);
    queue->call_fd = take_fd(in);
    queue_configure(queue, now);
    return true;
}

/*
 * The disk
 */

static bool get_config(Server *server, Message *message)
{
    struct virtio_blk_config config = {
        .capacity = server->disk.sectors,
        .seg_max = MOST_PIECES - 2,
        .blk_size = SECTOR_BYTES,
        .num_queues = server->nr_queues,
    };
    uint8_t all[CONFIG_BYTES] = { 0 };
    uint32_t offset = message->config.offset, size = message->config.size;

    if (offset > sizeof(all) || size > sizeof(all) - offset) {
        return false;
    }
    memcpy(all, &config, sizeof(config));
    memcpy(message->config.bytes, all + offset, size);
    return reply(server, message, 3 * sizeof(uint32_t) + size);
}

/*
 * All of them
 */

/* The queue that a message is for; -1: there is no such queue. */
static int queue_of(const Server *server, const Message *message)
{
    uint64_t index;

    switch (message->request) {
    case SET_VRING_NUM:
    case SET_VRING_BASE:
    case GET_VRING_BASE:
    case SET_VRING_ENABLE:
        index = message->state.index;
        break;
    case SET_VRING_ADDR:
        index = message->addr.index;
        break;
    case SET_VRING_KICK:
    case SET_VRING_CALL:
    case SET_VRING_ERR:
        index = message->number & INDEX_MASK;
        break;
    default:
        return 0;
    }
    return index < server->nr_queues ? (int)index : -1;
}

/* Those that are answered; *done tells whether it was one of them. */
static bool ask(Server *server, Message *message, Queue *queue, int64_t now,
                bool *done)
{
    *done = true;
    switch (message->request) {
    case GET_FEATURES:
        return reply_number(server, message, FEATURES);
    case GET_PROTOCOL_FEATURES:
        return reply_number(server, message, P_MQ | P_REPLY_ACK | P_CONFIG);
    case GET_QUEUE_NUM:
        return reply_number(server, message, server->nr_queues);
    case GET_CONFIG:
        return get_config(server, message);
    case GET_VRING_BASE:
        return get_base(server, message, queue, now);
    default:
        *done = false;
        return true;
    }
}

static bool tell(Server *server, Received *in, unsigned index, int64_t now)
{
    const Message *message = &in->message;
    Queue *queue = &server->queue[index];

    switch (message->request) {
    case SET_FEATURES:
        server->features = message->number;
        return !(message->number & ~FEATURES);
    case SET_PROTOCOL_FEATURES:
        server->protocol = message->number;
        return true;
    case SET_MEM_TABLE:
        return set_memory(server, in, now);
    case SET_VRING_NUM:
        return set_size(queue, message->state.num);
    case SET_VRING_BASE:
        return set_base(queue, message->state.num);
    case SET_VRING_ADDR:
        return set_place(server, &message->addr);
    case SET_VRING_ENABLE:
        return set_enabled(server, &message->state, now);
    case SET_VRING_KICK:
        return set_kick(server, in, index, now);
    case SET_VRING_CALL:
        return set_call(queue, in, now);
    case SET_OWNER:
    case RESET_OWNER:
    case SET_VRING_ERR:
        return true;
    default:
        return false;
    }
}

static bool handle(Server *server, Received *in, int64_t now)
{
    Message *message = &in->message;
    bool wants_reply = message->flags & NEEDS_REPLY &&
                       server->protocol & P_REPLY_ACK;
    int index = queue_of(server, message);
    bool done, worked;

    if (index < 0) {
        return false;
    }
    worked = ask(server, message, &server->queue[index], now, &done);
    if (done || !worked) {
        return worked;
    }
    worked = tell(server, in, index, now);
    return wants_reply ? reply_number(server, message, !worked) : worked;
}

bool server_message(Server *server, int64_t now)
{
    bool worked;

    switch (message_receive(server->fd, &server->in)) {
    case MESSAGE_PART:
        return true;
    case MESSAGE_WHOLE:
        worked = handle(server, &server->in, now);
        message_drop(&server->in);
        return worked;
    default:
        return false;
    }
}

void server_disconnect(Server *server, int64_t now)
{
    unsigned i;

    for (i = 0; i < server->nr_queues; i++) {
        queue_stop(&server->queue[i], now, true);
        close_fd(&server->queue[i].kick_fd);
        close_fd(&server->queue[i].call_fd);
        server->place[i] = (Place) { 0 };
        server->queue[i].ring = (Ring) { 0 };
    }
    memory_clear(&server->memory);
    message_drop(&server->in);
    server->features = server->protocol = 0;
    close_fd(&server->fd);
}
