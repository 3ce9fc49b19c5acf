/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The disk, and the VMM that is connected.
 */
#ifndef VHOST_BLK_SERVER_H
#define VHOST_BLK_SERVER_H

#include "message.h"
#include "queue.h"

#define MOST_QUEUES     8

/* A queue as the VMM describes it. */
typedef struct Place {
    uint64_t desc, avail, used; /* in the VMM's own addresses */
    bool enabled;
} Place;

typedef struct Server {
    Disk disk;
    struct libcint_config *config;
    struct libcint_scope *scope;
    unsigned nr_queues;
    Queue queue[MOST_QUEUES];
    /* Of a connection: */
    int fd;                     /* -1: nobody is connected */
    uint64_t features;          /* those that the driver takes */
    uint64_t protocol;          /* those that the VMM takes */
    Received in;
    Memory memory;
    Place place[MOST_QUEUES];
} Server;

/* Takes a message of the VMM's; false: it has gone, or makes no sense. */
bool server_message(Server *server, int64_t now);

/* The VMM has gone: queues stop, memory and files are given back. */
void server_disconnect(Server *server, int64_t now);

#endif /* VHOST_BLK_SERVER_H */
