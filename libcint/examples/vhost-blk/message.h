/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Messages of the vhost-user protocol, as they come: who sends half of one, or
 * takes no answers, keeps nobody waiting.
 */
#ifndef VHOST_BLK_MESSAGE_H
#define VHOST_BLK_MESSAGE_H

#include <linux/vhost_types.h>
#include <stdbool.h>

#include "memory.h"

#define NEEDS_REPLY     8
#define MOST_FDS        8
#define CONFIG_BYTES    256

typedef struct Message {
    uint32_t request, flags, size;
    union {
        uint64_t number;
        struct vhost_vring_state state;
        struct vhost_vring_addr addr;
        struct {
            uint32_t n, padding;
            RegionMessage region[MOST_FDS];
        } memory;
        struct {
            uint32_t offset, size, flags;
            uint8_t bytes[CONFIG_BYTES];
        } config;
    };
} Message;

/* As much of a message as there is. */
typedef struct Received {
    Message message;
    size_t got;                 /* bytes of it */
    unsigned nr_fds;
    int fd[MOST_FDS];
} Received;

typedef enum Receipt {
    MESSAGE_PART,               /* the rest of it is still to come */
    MESSAGE_WHOLE,
    MESSAGE_BROKEN,             /* it makes no sense, or there is none */
} Receipt;

/* Takes what there is of a message, without waiting for more. */
Receipt message_receive(int fd, Received *in);

/* The next one begins; files that nobody took are closed. */
void message_drop(Received *in);

/* Sends @size bytes of payload as the answer; false: they are not taken. */
bool message_reply(int fd, Message *message, uint32_t size);

void close_fd(int *fd);

#endif /* VHOST_BLK_MESSAGE_H */
