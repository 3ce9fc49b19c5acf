/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "message.h"

#define VERSION         1
#define VERSION_MASK    3
#define IS_REPLY        4
#define HEADER_BYTES    (3 * sizeof(uint32_t))

void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

/* Files may come with any byte. There is no message that has more. */
static void take_fds(Received *in, const struct cmsghdr *cmsg)
{
    unsigned i, n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    int fd;

    for (i = 0; i < n; i++) {
        memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd), sizeof(fd));
        if (in->nr_fds < MOST_FDS) {
            in->fd[in->nr_fds++] = fd;
        } else {
            close_fd(&fd);
        }
    }
}

/* Where the next byte goes: the header and what follows it lie apart. */
static char *place_of_next(Received *in)
{
    return in->got < HEADER_BYTES ?
           (char *)&in->message + in->got :
           (char *)&in->message.number + (in->got - HEADER_BYTES);
}

static ssize_t receive_some(int fd, Received *in, size_t bytes)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(MOST_FDS * sizeof(int))];
    } control;
    struct iovec part = { place_of_next(in), bytes };
    struct msghdr header = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    ssize_t got = recvmsg(fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    struct cmsghdr *cmsg = got < 0 ? NULL : CMSG_FIRSTHDR(&header);

    if (cmsg && cmsg->cmsg_level == SOL_SOCKET &&
        cmsg->cmsg_type == SCM_RIGHTS) {
        take_fds(in, cmsg);
    }
    return got;
}

static bool is_sane(const Message *message)
{
    return (message->flags & VERSION_MASK) == VERSION &&
           message->size <= sizeof(*message) - offsetof(Message, number);
}

static Receipt receive_up_to(int fd, Received *in, size_t bytes)
{
    ssize_t got;

    while (in->got < bytes) {
        got = receive_some(fd, in, bytes - in->got);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return MESSAGE_PART;
        }
        if (got <= 0) {
            return MESSAGE_BROKEN;
        }
        in->got += got;
    }
    return MESSAGE_WHOLE;
}

Receipt message_receive(int fd, Received *in)
{
    Receipt receipt = receive_up_to(fd, in, HEADER_BYTES);

    if (receipt != MESSAGE_WHOLE) {
        return receipt;
    }
    return is_sane(&in->message) ? receive_up_to(fd, in, HEADER_BYTES +
                                                       in->message.size)
                                 : MESSAGE_BROKEN;
}

void message_drop(Received *in)
{
    unsigned i;

    for (i = 0; i < in->nr_fds; i++) {
        close_fd(&in->fd[i]);
    }
    memset(in, 0, sizeof(*in));
}

static bool send_all(int fd, const void *from, size_t bytes)
{
    const char *at = from;
    ssize_t sent;

    while (bytes) {
        sent = send(fd, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        at += sent;
        bytes -= sent;
    }
    return true;
}

bool message_reply(int fd, Message *message, uint32_t size)
{
    message->flags = VERSION | IS_REPLY;
    message->size = size;
    return send_all(fd, message, HEADER_BYTES) &&
           send_all(fd, &message->number, size);
}
