/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The code that docs/userspace.md gives to authors of drivers, as it stands
 * there, against the device's engine: the controller completes commands, and
 * is reached by the write of the pointer, between any two of its steps.
 */
#include <poll.h>
#include <unistd.h>

#include "fake-nvme.h"
#include "regs.h"

enum { AT_POLL, AT_SLEEP, AT_READ, NR_PLACES };

#define ARRIVALS 2      /* before poll(2) or while it sleeps, at the latest */

static FakeNvme *fake;
static struct cintio_queue *ring;
static uint32_t pointer_word;           /* written, and not there yet */
static unsigned posts[NR_PLACES];       /* completions, the first time */
static unsigned arrival;                /* of the pointer */
static unsigned lost;
static bool fails;                      /* the next completion */

static void submit(unsigned n)
{
    struct cintio_io flush = { .op = CINTIO_FLUSH };

    while (n--) {
        g_assert_cmpint(cintio_push(ring, &flush), ==, 0);
    }
    g_assert_cmpint(cintio_ring(ring), ==, 0);
}

static void deliver(void)
{
    uint32_t value = pointer_word;

    pointer_word = 0;
    if (value) {
        cintio_write32(fake->dev, ring->pointer_reg, value);
    }
}

/* An error (here: unrecovered read) is told of at once, before the pointer. */
static void complete(unsigned n)
{
    if (n && fails && fake_inflight(fake, ring->id)) {
        fake_complete(fake, ring->id, 0, 0x280);
        fails = false;
        n--;
    }
    fake_complete_some(fake, ring->id, n);
}

static void pass(unsigned place)
{
    complete(posts[place]);
    posts[place] = 0;
    if (place >= arrival) {
        deliver();
    }
}

static ssize_t stepped_read(int fd, void *buf, size_t len)
{
    pass(AT_READ);
    return read(fd, buf, len);
}

/* The rest completes, one by one, until it is woken; max-hold is too late. */
static int stepped_poll(void)
{
    pass(AT_POLL);
    pass(AT_SLEEP);
    while (!fake_is_signalled(fake, ring->id) &&
           fake_inflight(fake, ring->id)) {
        complete(1);
    }
    if (fake_is_signalled(fake, ring->id)) {
        return 1;
    }
    /* what was shown is enough: if it wants more than all, there is more */
    lost++;
    if (cintio_outstanding(ring) + 1u < ring->entries) {
        submit(1);
        fake_complete_some(fake, ring->id, 1);
    }
    return 1;
}

#define cqe nvme_cqe
#define read(fd, buf, len) stepped_read(fd, buf, len)
#define poll(fds, n, ms) ((void)(fds), stepped_poll())
#include "contract.inc.h"
#undef read
#undef poll

typedef void (*WaitFn)(struct queue *q, unsigned int k);

static void take_all(struct queue *q)
{
    struct cintio_done done[16];

    g_assert_cmpint(cintio_complete(ring, done, 0, 16, 0), >=, 0);
    q->head = ring->head.index;
    q->phase = ring->head.phase;
}

/* One wait for @k of @m, in one order; whether somebody slept on. */
static bool loses(WaitFn wait_fn, struct queue *q, unsigned m, unsigned k)
{
    unsigned want = MIN(m, k);

    lost = 0;
    submit(m);
    q->outstanding = m;
    wait_fn(q, k);
    deliver();
    g_assert_true(lost || is_posted(q, want));
    fake_complete_some(fake, ring->id, m);
    take_all(q);
    g_assert_cmpuint(cintio_outstanding(ring), ==, 0);
    return lost > 0;
}

static unsigned try_orders(WaitFn wait_fn, struct queue *q, unsigned m,
                           unsigned k)
{
    unsigned orders = (m + 1) * (m + 1) * (m + 1) * ARRIVALS * 2, found = 0;

    for (unsigned code = 0; code < orders; code++) {
        unsigned digits = code / 2 / ARRIVALS;

        fails = code % 2;
        arrival = code / 2 % ARRIVALS;
        for (unsigned i = 0; i < NR_PLACES; i++, digits /= m + 1) {
            posts[i] = digits % (m + 1);
        }
        found += loses(wait_fn, q, m, k);
    }
    return found;
}

/* All orders for a queue of @n entries; @most may be asked for. */
static unsigned try_all(WaitFn wait_fn, unsigned n, unsigned most)
{
    struct cintio_queue_options options = {
        .entries = n, .mode = CINTIO_COALESCED,
    };
    struct cintio_error err;
    struct queue q;
    unsigned found = 0;

    fake = fake_new();
    fake->config.policy = NVME_CINT_POLICY_POINTER;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_cmpint(cintio_queue_create(fake->dev, &options, &ring, &err), ==,
                    0);
    q = (struct queue) {
        .pointer = &pointer_word, .entries = ring->cq, .size = n, .phase = 1,
        .eventfd = ring->eventfd,
    };
    for (unsigned m = 1; m < n; m++) {
        for (unsigned k = 1; k <= most; k++) {
            found += try_orders(wait_fn, &q, m, k);
        }
    }
    g_assert_cmpuint(fake->cq[ring->id].rejects, ==, 0);
    g_assert_cmpuint(fake->cq[ring->id].reasons[NVME_CINT_REASON_POINTER], >,
                     0);
    cintio_queue_destroy(ring);
    fake_free(fake);
    return found;
}

static void test_no_order_loses(void)
{
    for (unsigned n = 2; n <= 5; n++) {
        g_assert_cmpuint(try_all(wait_for, n, n + 1), ==, 0);
    }
}

static void test_emptied_early(void)
{
    g_assert_cmpuint(try_all(wait_emptied_early, 4, 3), >, 0);
}

static void test_without_clamp(void)
{
    g_assert_cmpuint(try_all(wait_without_clamp, 4, 3), >, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/contract/no-order-loses", test_no_order_loses);
    g_test_add_func("/contract/emptied-early", test_emptied_early);
    g_test_add_func("/contract/without-the-clamp", test_without_clamp);
    return g_test_run();
}
