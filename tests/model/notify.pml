/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How QEMU's event loop and other threads agree on wake-ups: an AioContext that
 * glib runs, its notify_me and notified, and the eventfd
 * (qemu-patches/upstream/async). docs/model.md explains the model, its bounds
 * and its checks.
 *
 * A store may be seen late by the other side, as with a processor's store
 * buffer: at the latest at a barrier of whoever stored. A thread's stores are
 * seen in any order but for what a write barrier keeps apart.
 *
 * Set from outside:
 *   ROUNDS    bottom halves that each of the two threads schedules
 *   NEST      a bottom half may run the event loop, by aio_poll() or glib
 *   PRIORITY  a source of a higher priority may keep glib from ours
 *   M_...     one rule is broken, to see that the checks notice
 */
#ifndef ROUNDS
#define ROUNDS 2
#endif

/* Bottom halves that a bottom half schedules, wake-ups by something else, and
 * event loops within the event loop. */
#define OWN     1
#define OTHERS  1
#define NESTED  1

/* What everybody sees. */
bool scheduled[2];          /* bottom halves in the list, by their thread */
bool notified, eventfd;
byte notify_me;
byte running = 2;

/* What a thread has stored and nobody else sees yet. */
bool late_scheduled[2], late_notified[2];

/* The loop's: what it has stored last, its own bottom half in the list, and
 * what it has taken from the list. */
byte own_notify_me;
bool late_accept;
bool own, own_taken, taken[2];

#define LISTED    (own || scheduled[0] || scheduled[1])
#define TAKEN     (own_taken || taken[0] || taken[1])
#define PENDING   (LISTED || TAKEN)

/* ---- memory: a store is seen at any time --------------------------------- */

inline see_notified(who)
{
    late_notified[who] = false;
    notified = true
}

inline see_scheduled(who)
{
    late_scheduled[who] = false;
    scheduled[who] = true
}

#ifdef M_NO_WRITE_BARRIER
#define IN_ORDER(who) true
#else
#define IN_ORDER(who) !late_scheduled[who]
#endif

active proctype memory()
{
end:
    do
    :: notify_me != own_notify_me -> notify_me = own_notify_me
    :: atomic { late_accept -> late_accept = false; notified = false }
    :: atomic { late_scheduled[0] -> see_scheduled(0) }
    :: atomic { late_scheduled[1] -> see_scheduled(1) }
    :: atomic { late_notified[0] && IN_ORDER(0) -> see_notified(0) }
    :: atomic { late_notified[1] && IN_ORDER(1) -> see_notified(1) }
    od
}

/* ---- other threads ------------------------------------------------------- */

inline thread_barrier()
{
    d_step {
        scheduled[me] = scheduled[me] || late_scheduled[me];
        notified = notified || late_notified[me];
        late_scheduled[me] = false;
        late_notified[me] = false
    }
}

/* aio_bh_enqueue() and aio_notify() */
inline schedule()
{
    late_scheduled[me] = true;
    late_notified[me] = true;
#ifndef M_NO_BARRIER_IN_NOTIFY
    thread_barrier();
#endif
    if
    :: notify_me > 0 -> eventfd = true
    :: else
    fi
}

proctype thread(byte me)
{
    byte left = ROUNDS;

    do
    :: left > 0 -> left--; schedule()
       /* ...and once more, or not before it has run. */
    :: !late_scheduled[me] && !scheduled[me] && !taken[me] ->
       if
       :: left > 0 -> left--; schedule()
       :: left == 0 -> break
       fi
    od;
    running--
}

/* ---- the event loop ------------------------------------------------------ */

inline loop_barrier()
{
    d_step {
        notify_me = own_notify_me;
        notified = notified && !late_accept;
        late_accept = false
    }
}

/* Bit 0 of notify_me is glib's. */
#define CLEARED(word) (word - (word & 1))

inline prepare()
{
#ifdef M_LOOKS_FIRST
    ready = PENDING;
#endif
#ifndef M_NOT_SET
    own_notify_me = own_notify_me | 1;
#endif
#ifndef M_NO_BARRIER_IN_PREPARE
    loop_barrier();
#endif
#ifndef M_LOOKS_FIRST
    ready = PENDING;
#endif
#ifdef M_CLEARED_BEFORE_POLL
    own_notify_me = CLEARED(own_notify_me)
#endif
}

/* aio_poll(ctx, true), to where it waits */
inline prepare_poll()
{
    ready = PENDING;
    if
    :: !ready ->
       own_notify_me = own_notify_me + 2;
#ifndef M_NO_BARRIER_IN_POLL
       loop_barrier();
#endif
#ifndef M_NOTIFIED_NOT_READ
       ready = notified && !late_accept
#endif
    :: else
    fi
}

/* For the eventfd, for something else, or until the threads are done. */
inline wait()
{
    if
    :: ready
    :: !ready && eventfd
    :: atomic { !ready && others > 0 -> others-- }
    :: !ready && running == 0
    fi;
    readable[depth] = eventfd
}

inline accept()
{
    late_accept = true;
#ifndef M_NO_BARRIER_IN_ACCEPT
    loop_barrier()
#endif
}

inline take_list()
{
    d_step {
        taken[0] = taken[0] || scheduled[0];
        taken[1] = taken[1] || scheduled[1];
        own_taken = own_taken || own;
        scheduled[0] = false;
        scheduled[1] = false;
        own = false
    }
}

/* A bottom half schedules one, and nobody has to be woken. */
inline schedule_own()
{
    own = true;
#ifdef PRIORITY
    /* Glib may have gone no further than prepare, and aio_poll() run since. */
    if
    :: own_notify_me > 0 -> eventfd = true
    :: else
    fi
#else
    assert(own_notify_me == 0)
#endif
}

inline run_one()
{
    if
    :: taken[0] -> taken[0] = false
    :: taken[1] -> taken[1] = false
    :: own_taken -> own_taken = false
    fi;
    if
    :: atomic { budget > 0 -> budget-- }; schedule_own()
    :: skip
    fi
}

active proctype loop()
{
    bool ready, readable[2];
    byte budget = OWN, others = OTHERS;
    bit depth;
#ifdef NEST
    byte nests = NESTED;
#endif

    atomic {
        run thread(0);
        run thread(1)
    };

iteration:
    if
    :: depth == 0 && running == 0 -> goto done
    :: depth == 1 || running > 0 -> goto glib
    :: depth == 1 || running > 0 -> goto poll
    fi;

glib:
    prepare();
    wait();
    if
#ifdef PRIORITY
    :: atomic { others > 0 -> others-- }; goto out
#endif
    :: ready
    :: !ready ->
       own_notify_me = CLEARED(own_notify_me);
       accept();
       if
       :: readable[depth] || PENDING
       :: else -> goto out
       fi
    fi;
#ifndef M_ONLY_CHECK_CLEARS
    own_notify_me = CLEARED(own_notify_me);
#endif
    goto bottom_halves;

poll:
    prepare_poll();
    wait();
    own_notify_me = own_notify_me - (own_notify_me & 2);
    accept();

bottom_halves:
    take_list();
running_them:
    do
    :: TAKEN ->
       run_one();
#ifdef NEST
       if
       :: depth == 0 && nests > 0 -> nests--; depth = 1; goto iteration
       :: skip
       fi
#endif
    :: else -> break
    od;
    if
    :: readable[depth] -> eventfd = false
    :: else
    fi;

out:
    ready = false;
    readable[depth] = false;
    if
    :: depth == 1 -> depth = 0; goto running_them
    :: else -> goto iteration
    fi;

done:
    skip
}
