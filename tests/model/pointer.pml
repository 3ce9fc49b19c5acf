/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interrupt pointer of docs/interface.md, section 5: one completion queue,
 * the device that posts into it, and a driver that asks for its next k entries
 * and sleeps until it is interrupted (docs/userspace.md). docs/model.md explains
 * the model, its bounds and its checks.
 *
 * The driver's writes reach the device late, in the order in which they were
 * made; the message reaches the driver's eventfd late, and messages merge.
 * Max-hold is a time far longer than anything else takes: it fires when nothing
 * else can happen any more. No driver that sleeps may ever depend on it.
 *
 * Set from outside:
 *   N          entries of the queue, of which N - 1 can be in use
 *   WIRE       the driver's writes that can be under way at a time
 *   HEAD_LAST  another driver: it rings the head's doorbell behind the pointer
 *   CLEAR_FIRST  another one: it empties the eventfd before it writes the pointer
 *   LOOK_AGAIN another one: it empties it behind the pointer, and has to look again
 *   KEEP       another one: it writes no pointer that it has written and not passed
 *   M_...      one rule is broken, to see that the checks notice
 */
#ifndef N
#define N 3
#endif

/* So many of the driver's writes can be under way. */
#ifndef WIRE
#define WIRE 3
#endif

/* Counters wrap at M; an entry is there when the device's has passed it. */
#define M (2 * N)
#define DISTANCE(from, to) ((to + M - from) % M)
#define MOVE(c, by)  c = (c + by) % M

mtype:doorbell = { submit, head_at, pointer_at };
mtype:pointer = { off, armed, spent };

/* The driver's writes under way, the message, and what poll(2) waits for. */
chan wire = [WIRE] of { mtype:doorbell, byte };
bool message, eventfd;

/* The device. */
byte tail, head_seen, target, flight;
mtype:pointer pointer = off;
bool held;

/* The driver. */
byte head, outstanding;
bool asleep;
#ifdef KEEP
bool asked;
byte asked_for;
#endif

#define PENDING      (head_seen != tail)
#define PASSED       (DISTANCE(head_seen, tail) >= DISTANCE(head_seen, target))

/* ---- the device ---------------------------------------------------------- */

inline arm()
{
    if
#ifdef M_RELATIVE
    :: true ->
        target = (tail + value) % M;
        pointer = armed
#else
    :: value == head_seen % N ->                /* rejected */
        pointer = off;
        message = message || PENDING
    :: else ->
        target = (head_seen + (value + N - head_seen % N) % N) % M;
        pointer = armed
#endif
    fi;
    if
#ifndef M_DEVICE_TRUSTS
    :: pointer == armed && PASSED -> pointer = spent; message = true
#endif
    :: else
    fi
}

/* What the pointer is silent about may still be an error, or pressure. */
inline announce()
{
    if
    :: pointer == off -> message = true
    :: pointer == armed && PASSED -> pointer = spent; message = true
    :: pointer == armed && !PASSED -> message = true
    :: pointer != off && !(pointer == armed && PASSED)
    fi
}

active proctype device()
{
    byte value;

end:
    do
    :: d_step { wire ? submit(value) -> flight = flight + value; value = 0 }
    :: d_step { wire ? head_at(value) -> head_seen = value; value = 0 }
    :: d_step { wire ? pointer_at(value) -> arm(); value = 0 }
    :: d_step { flight > 0 -> flight--; MOVE(tail, 1) };
progress:
       atomic { announce() }
    :: atomic {
           timeout && PENDING && !held ->
           held = true;
           assert(!asleep)                      /* nobody waits for max-hold */
       }
    od
}

/* ---- the kernel's handler ------------------------------------------------ */

active proctype handler()
{
end:
    do
    :: message -> message = false; eventfd = true
    od
}

/* ---- the driver ---------------------------------------------------------- */

/* All that is there. */
inline take()
{
    d_step {
        n = DISTANCE(head, tail);
        MOVE(head, n);
        outstanding = outstanding - n;
        got = (got + n > N -> N : got + n)
#ifdef KEEP
        if
        :: asked && DISTANCE(head, asked_for) >= N -> asked = false
        :: asked && head == asked_for -> asked = false
        :: else
        fi
#endif
    };
    if
    :: n > 0 -> ring_head()
    :: else
    fi;
    n = 0
}

#ifdef HEAD_LAST
bool owed;
inline ring_head()
{
    owed = true
}
inline pay_head()
{
    if
    :: owed -> owed = false; wire ! head_at(head)
    :: else
    fi
}
#else
inline ring_head()
{
    wire ! head_at(head)
}
inline pay_head()
{
    skip
}
#endif

inline write_pointer()
{
#ifdef KEEP
    if
    :: asked && (head + k) % M == asked_for
    :: else ->
       asked = true;
       asked_for = (head + k) % M;
       wire ! pointer_at((head + k) % N)
    fi
#else
#ifdef M_RELATIVE
    wire ! pointer_at(k)
#else
    wire ! pointer_at((head + k) % N)
#endif
#endif
}

inline sleep()
{
    asleep = true;
    eventfd -> asleep = false
}

/* Messages that come between the two are emptied away with the first. */
inline sleep_and_empty()
{
    sleep();
    eventfd = false
}

/* A look saves a sleep; nothing depends on it. */
inline maybe_look()
{
    if
    :: DISTANCE(head, tail) >= k
    :: true -> sleep_and_empty()
    fi
}

inline look_or_sleep()
{
    if
    :: DISTANCE(head, tail) >= k
    :: else ->
#ifdef M_LOOK_FIRST
       eventfd = false;
#endif
       sleep()
    fi
}

inline wait_for_some()
{
    k = wanted - got;
#ifdef M_NO_CLAMP
    k = (k < N -> k : N - 1);
#else
    k = (k < outstanding -> k : outstanding);
#endif
#ifdef CLEAR_FIRST
    eventfd = false;
#endif
    write_pointer();
#if defined(LOOK_AGAIN) || defined(M_CLEAR_EARLY)
    eventfd = false;
#endif
    pay_head();
#if defined(M_CLEAR_EARLY)
    sleep();
#elif defined(LOOK_AGAIN) || defined(CLEAR_FIRST) || defined(M_LOOK_FIRST)
    look_or_sleep();
#else
    maybe_look();
#endif
    k = 0
}

/* Any number, also more than can come. */
inline complete()
{
    wanted = 1;
    do
    :: wanted < N -> wanted++
    :: break
    od;
    got = 0;
    do
    :: take();
       if
       :: got >= wanted || outstanding == 0 -> break
       :: else -> wait_for_some()
       fi
    od;
    pay_head();
    wanted = 0;
    got = 0
}

active proctype driver()
{
    byte wanted, got, k, n;

    do
    :: outstanding < N - 1 ->
       n = 1;
       do
       :: outstanding + n < N - 1 -> n++
       :: break
       od;
       outstanding = outstanding + n;
       wire ! submit(n);
       n = 0
    :: outstanding > 0 -> complete()
    :: progress_look: take(); pay_head(); got = 0
    :: break                                    /* and never comes back */
    od
}
