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
#ifdef M_RELATIVE
    wire ! pointer_at(k)
#else
    wire ! pointer_at((head + k) % N)
#endif
}

inline look_or_sleep()
{
    if
    :: DISTANCE(head, tail) >= k
    :: else ->
#ifdef M_LOOK_FIRST
       eventfd = false;
#endif
       asleep = true;
       eventfd -> asleep = false
    fi
}

inline wait_for_some()
{
#ifdef M_NO_CLAMP
    k = wanted - got;
    k = (k < N -> k : N - 1);
#else
    k = wanted - got;
    k = (k < outstanding -> k : outstanding);
#endif
#ifdef CLEAR_FIRST
    eventfd = false;
    write_pointer();
#else
    write_pointer();
#ifndef M_LOOK_FIRST
    eventfd = false;
#endif
#endif
    pay_head();
#ifdef M_NO_LOOK
    asleep = true;
    eventfd -> asleep = false;
#else
    look_or_sleep();
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
