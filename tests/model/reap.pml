/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the user-space driver takes completions by an interrupt status record
 * (docs/interface.md, section 4): entries that overtook are marked, the head
 * passes them once all before them are taken, and no more are taken at a time
 * than the caller has room for. docs/model.md explains the model, its bounds
 * and its checks.
 *
 * An identifier is given to the next command as soon as the driver has taken
 * its completion, while the entry and its mark may still be in the ring. What
 * both sides see is read and written in steps of its own; that messages are late
 * and merge is handshake.pml's and pointer.pml's.
 *
 * Set from outside:
 *   N      entries of the queue, 3 or 4, of which N - 1 can be in use
 *   M_...  one rule is broken, to see that the checks notice
 */
#ifndef N
#define N 3
#endif

/* Counters wrap at M, as the real ones do at 2^32: a multiple of 2 * N. */
#define M (2 * N)
#define DISTANCE(from, to) ((to + M - from) % M)
#define AHEAD(from, to) (DISTANCE(from, to) > 0 && DISTANCE(from, to) <= N)
#define PHASE(c) (1 - (c / N) % 2)
#define NEXT(c) c = (c + 1) % M

mtype:fate = { idle, in_flight, posted };

/* Memory of the host. */
byte id_at[N];
bit phase[N];
byte full_tail;
bool eventfd;

/* Of a command, by its identifier. */
mtype:fate fate[N] = idle;
bool urgent[N];

/* The device. */
byte tail, in_device;
bool owed;                  /* an entry that no full interrupt has told of */

/* The driver. */
byte head, scan, told, flight;
bool taken[N];
bool asleep;

/* ---- the device ---------------------------------------------------------- */

/* Any command that is in flight. */
inline post()
{
    d_step {
        id_at[tail % N] = id;
        phase[tail % N] = PHASE(tail);
        fate[id] = posted;
        in_device--;
        NEXT(tail)
    }
}

inline tell_of_all()
{
    d_step { full_tail = tail; owed = false };
    eventfd = true
}

active proctype device()
{
    byte id;
    bool held;

end:
    do
    :: atomic {
           in_device > 0 && DISTANCE(head, tail) < N - 1 ->
           if
           :: fate[0] == in_flight -> id = 0
           :: fate[1 % (N - 1)] == in_flight -> id = 1 % (N - 1)
           :: fate[2 % (N - 1)] == in_flight -> id = 2 % (N - 1)
           fi;
           post();
           held = urgent[id];
           id = 0
       };
       if
       :: held -> eventfd = true
       :: tell_of_all()
       :: owed = true
       fi;
       held = false
    :: owed -> tell_of_all()                    /* a deadline */
    od
}

/* ---- the driver ---------------------------------------------------------- */

inline take()
{
    d_step {
        assert(fate[id_at[at % N]] == posted);
        fate[id_at[at % N]] = idle;
        urgent[id_at[at % N]] = false;
#ifndef M_NO_MARKS
        taken[at % N] = true;
#endif
        flight--;
        got++
    }
}

/* From at on, to the end or until there is no more room. */
inline look_through()
{
    do
    :: atomic {
       got < max && phase[at % N] == PHASE(at) ->
       if
       :: !taken[at % N] && (all || AHEAD(at, told) || urgent[id_at[at % N]]) ->
          take()
       :: else
       fi;
       NEXT(at)
       }
    :: else -> break
    od;
#ifdef M_SCAN_TO_THE_END
    do
    :: phase[at % N] == PHASE(at) && DISTANCE(head, at) < N - 1 -> NEXT(at)
    :: else -> break
    od;
#endif
    atomic {
        scan = at;
#ifdef M_HEAD_TO_SCAN
        head = scan;
#endif
        do
#ifdef M_MARKS_STAY
        :: taken[head % N] && head != scan -> NEXT(head)
#else
        :: taken[head % N] ->
           taken[head % N] = false;
           NEXT(head)
#endif
        :: else -> break
        od;
#ifndef M_SCAN_STAYS
        if
        :: AHEAD(scan, head) -> scan = head
        :: else
        fi
#endif
        /* what was told of long ago is as good as told of just now */
        if
        :: full_tail == told && !AHEAD(head, told) -> told = head; full_tail = head
        :: else
        fi
    }
}

inline reap()
{
    got = 0;
    new_told = full_tail;
    d_step {
#ifdef M_NO_NEWS
        at = scan;
#else
        at = (new_told != told || all -> head : scan);
#endif
        told = new_told
    };
    look_through();
    atomic {
        at = 0;
        new_told = 0;
        max = 0
    }
}

inline choose_max()
{
    atomic {
        max = 1;
        do
        :: max < N - 1 -> max++
        :: break
        od
    }
}

active proctype driver()
{
    byte at, got, max, new_told, id;
    bool all;

end:
    do
    :: flight < N - 1 ->
       atomic {
           do
           :: fate[id] != idle -> id++
           :: else -> break
           od;
           flight++;
           if
           :: urgent[id] = true
           :: urgent[id] = false
           fi;
           fate[id] = in_flight;
           in_device++;
           id = 0
       }
    :: flight > 0 ->
       choose_max();
       reap();
       if
       :: got > 0
       :: got == 0 && (full_tail != told || phase[scan % N] == PHASE(scan))
       :: else ->
          asleep = true;
          eventfd -> asleep = false;
          eventfd = false
       fi;
       got = 0
    :: flight > 0 ->                            /* in a mode that polls */
       choose_max();
       all = true;
       reap();
       all = false;
       got = 0
    od
}
