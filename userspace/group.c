/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: one thread waits for many queues, and for what else it likes, by
 * epoll. Each queue is armed and looked at before it sleeps; the eventfds are
 * emptied behind the sleep, by cintio_complete() (wait.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "caller.h"
#include "clock.h"
#include "due.h"
#include "watch.h"

#define EVENTS 64       /* taken at a time */

struct member {
    struct cintio_ready ready;
    uint32_t wanted;        /* events */
    bool is_ready;
    struct member *next;
};

struct cintio_group {
    int epoll, wake;        /* the latter's data is NULL */
    struct member *members;
};

/* With nothing in it but what wakes it; -errno. */
static int open_epoll(struct cintio_group *group)
{
    struct epoll_event event = { .events = EPOLLIN };

    group->epoll = epoll_create1(EPOLL_CLOEXEC);
    return group->epoll < 0 || epoll_ctl(group->epoll, EPOLL_CTL_ADD,
                                         group->wake, &event) ? -errno : 0;
}

int cintio_group_create(struct cintio_group **out, struct cintio_error *err)
{
    struct cintio_group *group = calloc(1, sizeof(*group));
    int ret;

    if (!group) {
        return cintio_fail(err, -ENOMEM, "out of memory");
    }
    group->epoll = -1;
    group->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ret = group->wake < 0 ? -errno : open_epoll(group);
    if (ret) {
        cintio_group_destroy(group);
        return cintio_fail(err, ret, "epoll: %s", strerror(-ret));
    }
    *out = group;
    return 0;
}

void cintio_group_destroy(struct cintio_group *group)
{
    struct member *member, *next;

    if (!group) {
        return;
    }
    for (member = group->members; member; member = next) {
        next = member->next;
        free(member);
    }
    close(group->epoll);
    close(group->wake);
    free(group);
}

/* --- who is in it -------------------------------------------------------- */

/* -errno */
static int watch(struct cintio_group *group, struct member *member)
{
    struct epoll_event event = {
        .events = member->wanted, .data.ptr = member,
    };

    return epoll_ctl(group->epoll, EPOLL_CTL_ADD, member->ready.fd, &event) ?
           -errno : 0;
}

static int add(struct cintio_group *group, const struct cintio_ready *ready,
               struct cintio_error *err)
{
    struct member *member = calloc(1, sizeof(*member));
    int ret;

    if (!member) {
        return cintio_fail(err, -ENOMEM, "out of memory");
    }
    member->ready = *ready;
    member->wanted = ready->events;
    ret = watch(group, member);
    if (ret) {
        free(member);
        return ret == -EEXIST ?
            cintio_fail(err, ret, "fd %d is in the group", ready->fd) :
            cintio_fail(err, ret, "fd %d cannot be waited for: %s", ready->fd,
                        strerror(-ret));
    }
    member->next = group->members;
    group->members = member;
    return 0;
}

/*
 * One that was closed before it was removed: its number is nothing to epoll any
 * more, but where a copy of the file is open, it goes on with that. A new one
 * knows of none but those that are in the group.
 */
static void begin_anew(struct cintio_group *group)
{
    close(group->epoll);
    if (open_epoll(group)) {
        return;     /* waits end with EBADF */
    }
    for (struct member *m = group->members; m; m = m->next) {
        watch(group, m);    /* in vain, if it was closed, too */
    }
}

static void remove_fd(struct cintio_group *group, int fd)
{
    struct member **at = &group->members, *member;

    while (*at && (*at)->ready.fd != fd) {
        at = &(*at)->next;
    }
    member = *at;
    if (!member) {
        return;
    }
    *at = member->next;
    free(member);
    if (epoll_ctl(group->epoll, EPOLL_CTL_DEL, fd, NULL)) {
        begin_anew(group);
    }
}

int cintio_group_add(struct cintio_group *group, struct cintio_queue *q,
                     void *opaque, struct cintio_error *err)
{
    struct cintio_ready ready = {
        .opaque = opaque, .queue = q, .events = EPOLLIN,
    };

    ready.fd = cintio_queue_fd(q);
    return ready.fd < 0 ? cintio_fail(err, ready.fd, "%s", q->error.text)
                        : add(group, &ready, err);
}

void cintio_group_remove(struct cintio_group *group, struct cintio_queue *q)
{
    remove_fd(group, q->eventfd);
}

int cintio_group_add_fd(struct cintio_group *group, int fd, uint32_t events,
                        void *opaque, struct cintio_error *err)
{
    struct cintio_ready ready = {
        .opaque = opaque, .fd = fd, .events = events,
    };

    return add(group, &ready, err);
}

void cintio_group_remove_fd(struct cintio_group *group, int fd)
{
    remove_fd(group, fd);
}

/* --- waiting ------------------------------------------------------------- */

/* An event that epoll does not tell of again: it waits until there is room. */
static bool is_told_once(const struct member *m)
{
    return m->is_ready && (m->wanted & (EPOLLET | EPOLLONESHOT));
}

/*
 * Arms all; how many of them need nobody to sleep. @end: then, or when the
 * first command of one takes too long.
 */
static unsigned int arm(struct cintio_group *group, unsigned int min,
                        uint64_t *end)
{
    unsigned int nr = 0;

    for (struct member *m = group->members; m; m = m->next) {
        int ret = m->ready.queue ? cintio_queue_arm(m->ready.queue, min) : 0;

        if (m->ready.queue && cintio_due(m->ready.queue) < *end) {
            *end = cintio_due(m->ready.queue);
        }
        m->is_ready = ret != 0 || is_told_once(m);
        m->ready.events = m->is_ready ? m->ready.events : 0;
        m->ready.result = ret < 0 ? ret : 0;
        nr += m->is_ready;
    }
    return nr;
}

/* Nothing came for long: those that have something all the same. */
static void look(struct cintio_group *group)
{
    for (struct member *m = group->members; m; m = m->next) {
        m->is_ready = m->ready.queue && cintio_was_forgotten(m->ready.queue);
    }
}

/* What epoll has for us; -errno, or whether somebody was woken. */
static int take_events(struct cintio_group *group, int timeout_ms, bool *woken)
{
    struct epoll_event events[EVENTS];
    uint64_t count;
    int n = epoll_wait(group->epoll, events, EVENTS, timeout_ms);

    for (int i = 0; i < n; i++) {
        struct member *m = events[i].data.ptr;

        if (m) {
            m->is_ready = true;
            m->ready.events |= events[i].events;
        } else {
            *woken = true;
            (void)!read(group->wake, &count, sizeof(count));
        }
    }
    return n < 0 ? (errno == EINTR ? 0 : -errno) : n;
}

/* Whoever is behind @last comes first from now on, then those up to it. */
static void begin_behind(struct cintio_group *group, struct member *last)
{
    struct member *first = last->next, *end = last;

    if (!first) {
        return;
    }
    while (end->next) {
        end = end->next;
    }
    end->next = group->members;
    group->members = first;
    last->next = NULL;
}

static unsigned int collect(struct cintio_group *group,
                            struct cintio_ready *ready, unsigned int max)
{
    struct member *last = NULL;
    unsigned int n = 0;

    for (struct member *m = group->members; m && n < max; m = m->next) {
        if (m->is_ready) {
            ready[n++] = m->ready;
            m->is_ready = false;
            last = m;
        }
    }
    if (n == max) {
        begin_behind(group, last);
    }
    return n;
}

/* Whole milliseconds, up: a sleep that ends early would be done again. */
static int milliseconds(uint64_t now, uint64_t end)
{
    uint64_t left = end > now ? end - now : 0;

    left = left < CINTIO_WATCH_NS ? left : CINTIO_WATCH_NS;
    return (left + 999999) / 1000000;
}

int cintio_group_wait(struct cintio_group *group, unsigned int min,
                      struct cintio_ready *ready, unsigned int max,
                      uint64_t timeout_ns, struct cintio_error *err)
{
    uint64_t now = cintio_now(), began, until;
    uint64_t end = timeout_ns < CINTIO_FOREVER - now ? now + timeout_ns :
                   CINTIO_FOREVER;
    bool woken = false, nobody;
    unsigned int n;
    int ret;

    if (!max) {
        return cintio_fail(err, -EINVAL, "room for none that is ready");
    }
    do {
        until = end;
        nobody = !arm(group, min, &until);
        ret = take_events(group, nobody ? milliseconds(now, until) : 0, &woken);
        if (ret < 0) {
            return cintio_fail(err, ret, "epoll_wait: %s", strerror(-ret));
        }
        n = collect(group, ready, max);
        began = now;
        now = cintio_now();
        if (!n && nobody && now - began >= CINTIO_WATCH_NS) {
            look(group);
            n = collect(group, ready, max);
        }
    } while (!n && !woken && now < end);
    return n;
}

void cintio_group_wake(struct cintio_group *group)
{
    uint64_t one = 1;

    (void)!write(group->wake, &one, sizeof(one));
}
