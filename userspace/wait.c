/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: how completions are waited for. docs/userspace.md argues why no
 * order of the steps below and the controller's loses a wake-up, and
 * tests/unit/test-wait.c tries all for small queues.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "caller.h"
#include "clock.h"
#include "due.h"
#include "mode.h"
#include "queue.h"
#include "reap.h"
#include "step.h"
#include "watch.h"

#define SECOND      UINT64_C(1000000000)
#define LOOKS       1024    /* between two readings of the clock, at most */
#define TIMED_OUT   1

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec) { .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND };
}

#ifdef CINTIO_TEST
static bool step(struct cintio_queue *q, enum cintio_step which)
{
    return q->step && q->step(q->step_opaque, q, which);
}

void cintio_queue_watch(struct cintio_queue *q, cintio_step_fn fn, void *opaque)
{
    q->step = fn;
    q->step_opaque = opaque;
}
#else
#define step(q, which) false
#endif

void cintio_queue_on_interrupt(struct cintio_queue *q, cintio_interrupt_fn fn,
                               void *opaque)
{
    q->on_interrupt = fn;
    q->interrupt_opaque = opaque;
}

/* What can come of @wanted completions: the rest was never asked for. */
static unsigned int reachable(struct cintio_queue *q, unsigned int wanted)
{
    return wanted > q->flying && !step(q, CINTIO_STEP_SKIP_CLAMP) ? q->flying
                                                                  : wanted;
}

/* Whether there is anything that the last look through the queue missed. */
static bool is_news(const struct cintio_queue *q)
{
    return cintio_posted(q, q->scan) ||
           (q->record && cintio_sleeps_on_interrupt(q) &&
            __atomic_load_n(&q->record->full_tail, __ATOMIC_ACQUIRE) !=
            q->told);
}

/*
 * Whether looking through the queue would now end a wait for @k more. Entries
 * that are there and that no record has told of yet have an interrupt to come.
 */
static bool is_worth_a_look(const struct cintio_queue *q, unsigned int k)
{
    return is_news(q) && (q->mode != CINTIO_COALESCED ||
           cintio_posted(q, cintio_ahead(q, q->head, k - 1)));
}

/* --- sleeping ----------------------------------------------------------- */

/* Whoever was woken early asks for the rest of what he had asked for. */
static bool has_asked(const struct cintio_queue *q, unsigned int k)
{
    return q->armed && q->head.count + k == q->target;
}

/* A wake-up is counted before it is given: none is taken for an interrupt. */
static void clear(struct cintio_queue *q)
{
    uint64_t count, interrupts, wakes, more;

    if (read(q->eventfd, &count, sizeof(count)) != sizeof(count)) {
        return;
    }
    wakes = atomic_load(&q->wakes);
    q->woken |= wakes != q->wakes_seen;
    q->wakes_seen = wakes;
    q->signals += count;
    interrupts = q->signals - wakes;
    more = interrupts - q->interrupts;
    if ((int64_t)more > 0) {
        q->interrupts = interrupts;
        q->interrupted = true;
        if (q->on_interrupt) {
            q->on_interrupt(q->interrupt_opaque, more);
        }
    }
}

void cintio_queue_wake(struct cintio_queue *q)
{
    uint64_t one = 1;

    if (q->eventfd >= 0) {
        atomic_fetch_add(&q->wakes, 1);
        (void)!write(q->eventfd, &one, sizeof(one));
    }
}

static int sleep_on(struct cintio_queue *q, uint64_t end)
{
    struct pollfd fds[] = {
        { .fd = q->eventfd, .events = POLLIN },
        { .fd = q->dev->removal, .events = POLLIN },
    };
    uint64_t now = cintio_now(), left = end > now ? end - now : 0;
    uint64_t part = left < CINTIO_WATCH_NS ? left : CINTIO_WATCH_NS;
    struct timespec limit = timespec_of(part);
    int n = ppoll(fds, 2, &limit, NULL);

    q->sleeps++;
    step(q, CINTIO_STEP_WOKEN);
    if (n > 0 && fds[0].revents) {
        clear(q);
        step(q, CINTIO_STEP_CLEARED);
    }
    if (n < 0 && errno != EINTR) {
        return cintio_fail(&q->error, -errno, "ppoll: %s", strerror(errno));
    }
    if (n > 0 && fds[1].revents) {
        return cintio_wanted_back(q);
    }
    if (n == 0) {
        /* who was told of nothing for so long believes no record */
        q->release = left >= CINTIO_WATCH_NS;
        return left <= CINTIO_WATCH_NS ? TIMED_OUT : cintio_check_alive(q);
    }
    return 0;
}

/*
 * The pointer first: from then on the controller interrupts when the k-th entry
 * is posted, or at once if it has been. That interrupt stays in the eventfd
 * until the sleep, which it ends: nothing is taken away from it meanwhile. One
 * from before costs a sleep that ends early. The look saves a sleep: true.
 */
static bool ask(struct cintio_queue *q, unsigned int k)
{
    if (q->mode == CINTIO_COALESCED && !has_asked(q, k)) {
        cintio_write_pointer(q, k);
    }
    step(q, CINTIO_STEP_ARMED);
    return is_worth_a_look(q, k);
}

/*
 * A sleep costs a wake-up. Where the last one was about as short, the next
 * completion is looked for first; once in vain, and it is slept for again.
 */
static bool comes_soon(struct cintio_queue *q, unsigned int k)
{
    uint64_t until;

    if (!q->spin_ns || !q->slept_short) {
        return false;
    }
    until = cintio_now() + q->spin_ns;
    do {
        if (is_worth_a_look(q, k)) {
            return true;
        }
    } while (cintio_now() < until && !cintio_is_stale(q));
    return false;
}

/*
 * As many as come within the time that a wait may be longer by, at the rate of
 * late. The controller keeps the most of what it has to do meanwhile: an eighth
 * of what is in flight comes within an eighth of the time that one takes.
 */
static unsigned int gathered(const struct cintio_queue *q, unsigned int wanted)
{
    uint64_t more = q->gap_ns ? q->gather_ns / q->gap_ns : 0;
    unsigned int most = q->flying / 8;

    more = more < most ? more : most;
    return more < wanted ? wanted : more;
}

/* @until: for more than are wanted nobody waits longer than that. */
static int sleep_until(struct cintio_queue *q, uint64_t until, uint64_t end)
{
    uint64_t began = q->spin_ns ? cintio_now() : 0;
    int ret = sleep_on(q, until < end ? until : end);

    if (q->spin_ns) {
        /* a stale message ends one, too, and tells of nothing */
        q->slept_short = is_news(q) &&
                         cintio_now() - began <= 2 * q->spin_ns;
    }
    if (ret == TIMED_OUT && until < end) {
        q->gap_ns = 0;      /* they do not come as they did */
        return 0;
    }
    return ret;
}

static int wait_for_interrupt(struct cintio_queue *q, unsigned int wanted,
                              uint64_t end)
{
    unsigned int k = reachable(q, wanted), all;

    if (comes_soon(q, k)) {
        return 0;
    }
    all = q->mode == CINTIO_COALESCED ? gathered(q, k) : k;
    if (ask(q, all) || cintio_is_stale(q)) {
        return 0;
    }
    if (step(q, CINTIO_STEP_LOOKED)) {
        clear(q);
    }
    step(q, CINTIO_STEP_SLEEPS);
    return sleep_until(q, all > k ? cintio_now() + 2 * q->gather_ns : end, end);
}

/* The mean time between two completions of late, from call to call. */
static void note_arrivals(struct cintio_queue *q, uint64_t now)
{
    uint64_t gap;

    if (q->last_got && q->gather_ns) {
        gap = (now - q->last_ns) / q->last_got + 1;
        q->gap_ns = q->gap_ns ? q->gap_ns - q->gap_ns / 8 + gap / 8 : gap;
    }
    q->last_ns = now;
    q->last_got = 0;
}

void cintio_queue_set_patience(struct cintio_queue *q, uint64_t spin_ns,
                               uint64_t gather_ns)
{
    q->spin_ns = spin_ns;
    q->gather_ns = gather_ns;
    q->slept_short = false;
    q->gap_ns = q->last_got = 0;
}

/*
 * Whoever was to sleep on the fd does so no more: it is emptied behind that.
 * True: there was something in it.
 */
static bool wake_up_here(struct cintio_queue *q)
{
    uint64_t signals = q->signals;

    if (q->slept_elsewhere) {
        q->slept_elsewhere = false;
        clear(q);
        step(q, CINTIO_STEP_CLEARED);
    }
    return q->signals != signals;
}

/* --- polling ------------------------------------------------------------ */

/*
 * Until half of the time, or so much of it, that the oldest command takes. A
 * reset ends the sleep, and so does what cintio_look_after() finds, at the
 * latest when it is next due.
 */
static int sleep_for_a_time(struct cintio_queue *q, uint64_t end)
{
    const struct cintio_slot *oldest = &q->slots[q->slots[q->entries - 1].next];
    uint64_t ns = q->mode == CINTIO_SLEEP ? q->sleep_ns : q->mean_ns / 2;
    uint64_t until = oldest->pushed_ns + ns, now = cintio_now(), part;
    struct timespec at;
    int ret = 0;

    if (!oldest->pushed_ns || !ns || now >= until) {
        return 0;
    }
    until = until < end ? until : end;
    q->sleeps++;
    while (!ret && !cintio_is_stale(q)) {
        part = until > now + CINTIO_WATCH_NS ? now + CINTIO_WATCH_NS : until;
        at = timespec_of(part);
        if (!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) &&
            part == until) {
            break;
        }
        now = cintio_now();
        ret = cintio_look_after(q, now);
    }
    return ret;
}

/* No pause instruction: it makes a virtual CPU leave for its host. */
static int spin(struct cintio_queue *q, uint64_t end)
{
    uint64_t now;
    int ret;

    for (;;) {
        if (is_worth_a_look(q, 1)) {
            return 0;
        }
        if (++q->looks % LOOKS) {
            continue;
        }
        now = cintio_now();
        if (cintio_is_stale(q)) {
            return 0;
        }
        if (now >= end) {
            return TIMED_OUT;
        }
        ret = cintio_look_after(q, now);
        if (ret) {
            return ret;
        }
    }
}

/* --- both --------------------------------------------------------------- */

static int wait_more(struct cintio_queue *q, unsigned int wanted, uint64_t end)
{
    int ret = cintio_ring(q);

    if (ret) {
        return ret;
    }
    return cintio_sleeps_on_interrupt(q) ? wait_for_interrupt(q, wanted, end)
                                  : spin(q, end);
}

/* --- all of it ----------------------------------------------------------- */

/* No longer than until a command is overdue; that time may be out of date. */
static int wait_in_time(struct cintio_queue *q, unsigned int wanted,
                        uint64_t end)
{
    uint64_t due = cintio_due(q);
    int ret = wait_more(q, wanted, due < end ? due : end);

    return ret == TIMED_OUT && due < end && !cintio_is_overdue(q) ? 0 : ret;
}

int cintio_complete(struct cintio_queue *q, struct cintio_done *done,
                    unsigned int min, unsigned int max, uint64_t timeout_ns)
{
    uint64_t now = cintio_now();
    uint64_t end = timeout_ns < CINTIO_FOREVER - now ? now + timeout_ns :
                   CINTIO_FOREVER;
    unsigned int got;
    int ret = cintio_ring(q);

    wake_up_here(q);
    q->to_tell = false;
    note_arrivals(q, now);
    q->woken = false;
    /* whoever finds what he wants each time neither sleeps nor spins */
    if (!ret && !(++q->looks % LOOKS)) {
        ret = cintio_look_after(q, cintio_now());
    }
    if (ret) {
        return ret;
    }
    min = min < max ? min : max;
    if (min && !cintio_sleeps_on_interrupt(q) && q->mode != CINTIO_POLL) {
        ret = sleep_for_a_time(q, cintio_due(q) < end ? cintio_due(q) : end);
    }
    got = cintio_reap(q, done, max);
    while (got < min && q->flying && !ret && !q->woken) {
        step(q, CINTIO_STEP_REAPED);
        ret = wait_in_time(q, min - got, end);
        got += cintio_reap(q, done + got, max - got);
    }
    q->last_got = got;
    if (!got && q->woken) {
        ret = cintio_check_stale(q, &q->error);
    }
    if (!got && (!ret || ret == TIMED_OUT) && cintio_is_overdue(q)) {
        return cintio_tell_overdue(q);
    }
    return got || ret == TIMED_OUT ? (int)got : ret;
}

/* --- sleeping elsewhere -------------------------------------------------- */

int cintio_queue_fd(struct cintio_queue *q)
{
    return q->eventfd >= 0 ? q->eventfd :
        cintio_fail(&q->error, -ENOTSUP, "queue %u was created without "
                    "interrupts", q->id);
}

/* Of who arms again and took nothing: what woke it is not slept through. */
static bool is_to_tell(struct cintio_queue *q)
{
    q->to_tell |= wake_up_here(q);
    return q->to_tell && (q->woken || is_news(q));
}

int cintio_queue_arm(struct cintio_queue *q, unsigned int min)
{
    unsigned int k;
    bool told;
    int ret = cintio_ring(q);

    if (ret) {
        return ret;
    }
    if (!cintio_sleeps_on_interrupt(q)) {
        return cintio_fail(&q->error, -EINVAL, "queue %u does not sleep until "
                           "an interrupt: take the mode interrupt or coalesced",
                           q->id);
    }
    told = is_to_tell(q);
    ret = cintio_look_after(q, cintio_now());
    if (ret) {
        return ret;
    }
    k = reachable(q, min ? min : 1);
    if ((k && ask(q, k)) || told || cintio_is_overdue(q)) {
        return 1;
    }
    q->slept_elsewhere = true;
    /* whoever resets says so before it wakes; who is not seen wakes later */
    return cintio_check_stale(q, &q->error);
}
