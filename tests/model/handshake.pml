/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interrupt status records of docs/interface.md: one completion queue, the
 * device that posts into it and the driver that reaps it, out of order where an
 * entry is Urgent. docs/model.md explains the model, its bounds and its checks.
 *
 * Every access to memory that both sides see is a step of its own, so that all
 * orders in which the two can meet are tried. What only one side sees is done
 * in the step before or after.
 *
 * Set from outside:
 *   N         entries of the queue, of which N - 1 can be in use
 *   SHADOW    the head is in a shadow doorbell
 *   MASK      the vector is masked at times, and then polled or not
 *   TOGGLE    the records are switched off and on
 *   TRUSTING  another driver: it reaps up to full_tail without looking at the phase
 *   EDGE      another driver: it reaps everything if full_tail has changed
 *   FRESH     full interrupts are never as far apart as half a counter
 *   UNWRAPPED no counter is ever as far from another as half its range
 *   HEAL      the driver doubts a record that does not explain an interrupt
 *   FROZEN    the record is not written any more from some moment on
 *   LYING     its full_tail is not
 *   FOREIGN   somebody else switches the records off
 *   LIVE      the claim about what happens at last, instead of the assertions
 *   M_...     one rule is broken, to see that the checks notice
 */
#ifndef N
#define N 3
#endif

/* Counters wrap at M, as the real ones do at 2^32: a multiple of 2 * N. */
#ifndef M
#define M (2 * N)
#endif
#define NEXT(c)      c = (c + 1) % M
#define DISTANCE(from, to) ((to + M - from) % M)
#define AHEAD(from, to) (DISTANCE(from, to) < M / 2)
#define PHASE(c)     (1 - (c / N) % 2)

#if defined(FROZEN) || defined(LYING) || defined(FOREIGN)
#define FAULT
#endif

mtype:entry = { done, plain, urgent };
mtype:class = { held, urgent_class, full_class };
mtype:command = { none, enable, disable };

/* Host memory. An entry is done when the driver has handled it. */
mtype:entry cqe[N] = done;
bit phase[N];
byte full_tail;
#ifdef HEAL
/*
 * What the driver finds changed since it read the record last: seq by so much
 * (messages without a record count once there is one again), full_tail, the class.
 */
#define MAX_NEWS     (2 * N)
#define COUNT(c)     c = (c < MAX_NEWS -> c + 1 : c)
byte news, unwritten;
bool full_tail_moved, class_full;
#endif
#ifdef M_CLASS_BYTE
mtype:class class_byte = full_class;
#endif
#ifdef SHADOW
byte shadow, event_index;
#endif

/* Between the two: the message, its mask and pending bit, the registers. */
bool message, masked, pending_bit;
byte doorbell;
bool doorbell_rung;
mtype:command command = none;

/* The device. `armed` is the deadline that everything withheld has. */
byte tail, head_seen;
bool armed, stalled, device_busy;
bool recording = true;
#if defined(TOGGLE) || defined(FOREIGN)
/* The place that the device knows for the record is one the driver gave. */
bool offered = true;
#endif

/* The driver. [head, scan) was looked at; what is reaped there has its bit. */
byte head, scan;
bit reaped[N];
bool ooo = true;
bool irq_disabled, irq_running;

/* Entries that were posted and not yet handled, for the checks only. */
byte unhandled;
#ifdef FAULT
/* Entries that a full message told of, whatever the record says, and a handler
 * that began then has to take; how many of these left some. */
bit told[N], due[N];
byte late;
bool broken;
#endif

#ifdef FROZEN
#define WRITES_SEQ   (recording && !broken)
#else
#define WRITES_SEQ   recording
#endif
#if defined(FROZEN) || defined(LYING)
#define WRITES_FULL_TAIL (recording && !broken)
#else
#define WRITES_FULL_TAIL recording
#endif

#ifdef HEAL
/* Found out: doubted, or caught, more often than a record that is kept can be. */
#ifndef MAX_DOUBTS
#define MAX_DOUBTS   3
#endif
#define MAX_LIES     2
byte doubts, lies;
bool misled;
#endif

#define ROOM         (DISTANCE(head_seen, tail) < N - 1)
#ifdef SHADOW
#define HEAD         shadow
#define HEAD_NEWS    doorbell_rung
#define MAY_POST     (!stalled)
#define MISSED_HEAD  (stalled && shadow != head_seen)
#else
#define HEAD         doorbell
#define HEAD_NEWS    (doorbell != head_seen)
#define MAY_POST     ROOM
#define MISSED_HEAD  false
#endif

/* Nothing is under way that would make anything happen. */
#define QUIET (!message && !masked && !pending_bit && !HEAD_NEWS && !armed && \
               !device_busy && !irq_running && command == none)

/* ---- the device ---------------------------------------------------------- */

inline write_cqe()
{
    assert(cqe[tail % N] == done);              /* overwrites nothing */
    cqe[tail % N] = kind;
    phase[tail % N] = PHASE(tail);
    unhandled++;
    NEXT(tail);
#ifdef M_URGENT_DISARMS
    armed = class == held
#else
    armed = class == held || (armed && class != full_class)
#endif
}

/* Everything before full_tail is information; it is the last store. */
inline write_record(posted)
{
#ifdef HEAL
    d_step {
        if
        :: WRITES_SEQ -> COUNT(news); class_full = class == full_class
#ifdef TOGGLE
        :: !recording -> COUNT(unwritten)
#endif
        :: else
        fi
    };
#endif
    d_step {
        if
        :: WRITES_FULL_TAIL ->
#ifdef TOGGLE
            assert(offered);                    /* nothing else is written */
#endif
#ifdef M_CLASS_BYTE
            class_byte = class;
#endif
#ifdef HEAL
            full_tail_moved = full_tail_moved || class == full_class;
#endif
            full_tail = (class == full_class -> posted : full_tail)
        :: else
        fi
    }
}

inline send_message()
{
    d_step {
#ifdef FAULT
        if
        :: class == full_class -> each = 0;
           do
           :: each < N -> told[each] = cqe[each] != done; each++
           :: else -> break
           od
        :: else
        fi;
        each = 0;
#endif
        if
#ifdef M_MASKED_LOST
        :: masked
#else
        :: masked -> pending_bit = true
#endif
        :: else -> message = true
        fi
    }
}

inline idle()
{
    d_step { kind = done; class = held; device_busy = false }
}

inline interrupt()
{
#ifdef M_MESSAGE_FIRST
    send_message();
    write_record(tail)
#else
    write_record(tail);
    send_message()
#endif
}

/* What the policy, the thresholds and the limiter may make of an entry. */
inline choose()
{
    if
    :: kind = plain;  class = held
    :: kind = plain;  class = full_class
    :: kind = urgent; class = held
    :: kind = urgent; class = full_class
    :: recording -> kind = urgent; class = urgent_class
    fi;
#ifdef FRESH
    class = (DISTANCE(full_tail, tail) >= M / 2 - N -> full_class : class)
#endif
}

inline announce()
{
    if
    :: class == held
#if defined(M_MESSAGE_BEFORE_CQE)
    :: else -> interrupt(); d_step { write_cqe() }
#elif defined(M_RECORD_BEFORE_CQE)
    :: else -> write_record((tail + 1) % M); d_step { write_cqe() }; send_message()
#else
    :: else -> interrupt()
#endif
    fi
}

inline post()
{
    choose();
#if defined(M_MESSAGE_BEFORE_CQE) || defined(M_RECORD_BEFORE_CQE)
    if
    :: class == held -> write_cqe()
    :: else
    fi
#else
    write_cqe()
#endif
}

inline take_head()
{
    head_seen = HEAD;
#ifndef M_DEADLINE_BLIND
    armed = armed && head_seen != tail
#endif
}

/* Says when to be told of the head, then looks: no move falls in between. */
inline look_for_room()
{
#ifndef M_EVENT_INDEX_LATE
    event_index = head_seen;
#endif
    d_step { take_head() }
}

inline fire_deadline()
{
    d_step {
#ifdef SHADOW
        take_head();
#endif
        class = (armed -> full_class : held);
#ifndef M_DEADLINE_BLIND
        armed = false
#endif
    };
    if
    :: class == held
    :: else -> interrupt()
    fi
}

inline execute()
{
    if
#ifdef TOGGLE
    :: command == enable ->
#ifndef M_ENABLE_WRITES_NOTHING
#ifdef HEAL
        d_step {
            full_tail_moved = full_tail_moved || full_tail != tail;
            news = (news + unwritten < MAX_NEWS -> news + unwritten : MAX_NEWS);
            unwritten = 0; class_full = false; full_tail = tail
        };
#else
        full_tail = tail;
#endif
#endif
        d_step { recording = true; offered = true; command = none }
#endif
    :: command == disable ->
#ifdef M_PLACE_FIRST
        offered = false;
#endif
        /* What is due by now goes to the place there was. */
        if
        :: armed -> fire_deadline()
        :: true
        fi;
        d_step {
            recording = false;
            offered = false;
            class = (armed -> full_class : held);
            armed = false
        };
        if
#ifndef M_DISABLE_SILENT
        :: class == full_class -> send_message()
#endif
        :: else
        fi;
        command = none
    fi
}

active proctype device()
{
    mtype:entry kind = done;
    mtype:class class = held;
#ifdef FAULT
    byte each;
#endif

    do
#ifdef SHADOW
    :: d_step { MAY_POST -> device_busy = true };
       look_for_room();
       if
       :: atomic { ROOM -> post() }; progress: announce()
       :: else -> stalled = true
       fi;
       idle()
#else
    :: atomic { MAY_POST -> device_busy = true; post() };
       progress: announce();
       idle()
#endif
#ifndef M_DEADLINE_NEVER
    :: d_step { armed -> device_busy = true };
       fire_deadline();
       idle()
#endif
#ifdef M_EVENT_INDEX_LATE
    :: d_step {
           HEAD_NEWS -> device_busy = true;
           doorbell_rung = false; stalled = false; take_head()
       };
       event_index = head_seen;
       idle()
#else
    :: d_step { HEAD_NEWS -> doorbell_rung = false; stalled = false; take_head() }
#endif
#if defined(FROZEN) || defined(LYING)
    :: d_step { !broken -> broken = true }
#endif
#if defined(TOGGLE) || defined(FOREIGN)
    :: d_step { command != none -> device_busy = true };
       execute();
       progress_command: idle()
#endif
    od
}

/* ---- the driver ---------------------------------------------------------- */

inline handle(c)
{
    assert(cqe[c % N] != done);                 /* once, and only what is there */
    cqe[c % N] = done;
#ifdef FAULT
    told[c % N] = 0;
    due[c % N] = 0;
#endif
    unhandled--
}

/* One look at each entry that came since the last time: Urgent does not wait. */
inline scan_queue(found, limit)
{
    do
    :: d_step {
           phase[scan % N] == PHASE(scan) ->
           if
           :: cqe[scan % N] == urgent ->
#ifdef HEAL
               found = (scan != limit && AHEAD(scan, limit) -> found : found + 1);
#endif
               handle(scan); reaped[scan % N] = 1
           :: else
           fi;
           NEXT(scan)
       }
    :: else -> break
    od;
    skip
}

inline pass_one()
{
    reaped[head % N] = 0;
    NEXT(head)
}

/* All before `limit`, then whatever is next to it and already reaped. */
inline reap(limit)
{
#ifdef TRUSTING
    scan = (AHEAD(scan, limit) -> limit : scan);
#endif
    do
    :: head != scan && head != limit && AHEAD(head, limit) ->
        if
        :: !reaped[head % N] -> handle(head)
        :: else
        fi;
        pass_one()
    :: else -> break
    od;
    do
    :: head != scan && reaped[head % N] -> pass_one()
    :: else -> break
    od
}

#ifdef M_DOORBELL_SCAN
#define FREED scan
#else
#define FREED head
#endif

/* The slots that a doorbell gives back must hold nothing of value. */
inline check_doorbell()
{
    cursor = HEAD;
    do
    :: cursor != FREED -> assert(cqe[cursor % N] == done); NEXT(cursor)
    :: else -> break
    od
}

inline wants_doorbell(before, index)
{
    doorbell_rung = doorbell_rung ||
                    DISTANCE((index + 1) % M, HEAD) < DISTANCE(before, HEAD)
}

/*
 * With counters that do not wrap a full_tail behind the head says the same as
 * one at the head. Taking it along keeps small counters as good as large ones.
 */
inline settle_full_tail()
{
#ifdef UNWRAPPED
    full_tail = (full_tail != head && AHEAD(full_tail, head) -> head : full_tail)
#else
    skip
#endif
}

inline reap_and_ring(limit)
{
#if defined(M_EVENT_INDEX_EARLY)
    index = event_index;
    d_step { reap(limit); check_doorbell(); cursor = HEAD; HEAD = FREED };
    d_step { wants_doorbell(cursor, index); cursor = 0; index = 0 }
#elif defined(SHADOW)
    d_step { reap(limit); check_doorbell(); cursor = HEAD; HEAD = FREED };
    d_step { wants_doorbell(cursor, event_index); cursor = 0 }
#else
    d_step {
        reap(limit); check_doorbell(); HEAD = FREED; cursor = 0;
        settle_full_tail()
    }
#endif
}

#ifdef HEAL
/*
 * Every message moves full_tail or comes with an Urgent entry of its own. One that
 * does neither, if it leaves anything, leaves nothing. It is a doubt if the record
 * has not counted a message either.
 */
inline judge_record()
{
    d_step {
        if
        :: in_order
        :: else ->
            found = found + (moved -> 0 : untold);
            untold = (moved -> found : (found < messages -> 0 : found - messages));
            untold = (untold > N -> N : untold);
            if
            :: moved -> doubts = 0; lies = 0
            :: !moved && messages && !says_full && messages <= found -> doubts = 0
            :: else ->
                lies = (messages && says_full -> lies + 1 : lies);
                doubts = (messages -> 0 : doubts);
                if
                :: head != scan ->
                    doubts = (messages -> doubts : doubts + 1);
#ifndef M_LEAVES_IN_DOUBT
                    limit = scan; reap(limit); HEAD = FREED;
                    settle_full_tail()
#endif
                :: else
                fi
            fi;
            misled = doubts > MAX_DOUBTS || lies > MAX_LIES;
#ifndef FAULT
            assert(!misled);                    /* a record that is kept is believed */
#endif
            doubts = (misled -> 0 : doubts);
            lies = (misled -> 0 : lies)
        fi
    }
}

inline read_record()
{
    if
    :: in_order
    :: else ->
       d_step { messages = news; news = 0; says_full = class_full };
       d_step { limit = full_tail; moved = full_tail_moved; full_tail_moved = false }
    fi
}
#endif

inline begin()
{
    d_step { message && !irq_disabled -> message = false; irq_running = true }
}

active proctype handler()
{
    byte limit, cursor, index, found;
    bool in_order;
#ifdef EDGE
    byte last;
#endif
#ifdef HEAL
    byte messages, untold;
    bool moved, says_full;
#endif

    do
#if defined(M_RECORD_BEFORE_BEGIN)
    :: d_step { message && !irq_disabled -> limit = full_tail };
       begin();
#elif defined(M_CLASS_BYTE)
    :: begin();
       in_order = class_byte == full_class;
       limit = head;
#elif defined(M_MODE_AFTER_RECORD)
    :: begin();
       limit = full_tail;
       in_order = !ooo;
#elif defined(HEAL)
    :: begin();
       d_step {
#ifdef FAULT
           cursor = 0;
           do
           :: cursor < N -> due[cursor] = told[cursor]; cursor++
           :: else -> cursor = 0; break
           od;
#endif
           in_order = !ooo || misled
       };
       read_record();
#else
    :: begin();
#ifdef TOGGLE
       in_order = !ooo;
#endif
       limit = full_tail;
#endif
       scan_queue(found, limit);
#ifdef M_RECORD_AFTER_SCAN
       limit = full_tail;
#endif
#ifdef EDGE
       d_step { in_order = limit != last; last = limit; limit = head };
#endif
       limit = (in_order -> scan : limit);
       reap_and_ring(limit);
#ifdef HEAL
       judge_record();
#endif
       d_step {
#ifdef FAULT
           cursor = 0;
           do
           :: cursor < N && !due[cursor] -> cursor++
           :: cursor < N && due[cursor] -> late++; break
           :: else -> break
           od;
           cursor = 0;
           do
           :: cursor < N -> due[cursor] = 0; cursor++
           :: else -> cursor = 0; break
           od;
#endif
#ifdef HEAL
           messages = 0; found = 0; moved = false; says_full = false;
#endif
           limit = 0; in_order = false; irq_running = false
       }
    od
}

#ifdef MASK
/* The timeout's way: no interrupt meanwhile, and nothing is left in the queue. */
active proctype masker()
{
    byte cursor, index, found;

    do
#ifdef LIVE
    /* A handler that is kept out again and again is no fault of the rules. */
    :: d_step { !message -> irq_disabled = true; masked = true };
#else
    :: d_step { irq_disabled = true; masked = true };
#endif
       !irq_running;
       if
       :: skip
       :: scan_queue(found, scan); reap_and_ring(scan);
#ifdef HEAL
          /* What was taken here is missing from the explanation of a later one. */
          doubts = 0;
#endif
          found = 0
       fi;
       progress: d_step {
           irq_disabled = false;
           masked = false;
           message = message || pending_bit;
           pending_bit = false
       }
    od
}
#endif

#ifdef FOREIGN
/* Set Features by a program that knows nothing of the driver's use of the records. */
active proctype stranger()
{
    command = disable;
    command == none
}
#endif

#ifdef TOGGLE
active proctype switcher()
{
    do
    ::
#ifdef M_DISABLE_FIRST
       command = disable;
       command == none;
       ooo = false;
#else
       ooo = false;
       command = disable;
       command == none;
#endif
#ifndef M_REUSE_AT_ONCE
       !irq_running;
#endif
       full_tail = 0;                           /* the memory is for others */
       command = enable;
       command == none;
       ooo = true;
#ifdef LIVE
       break                                    /* else it could go on for ever */
#endif
    od
}
#endif

#ifdef FAULT
/* What a late interrupt has left, if nothing else comes: the command times out. */
active proctype timeout_handler()
{
    byte cursor, index, found;

end:
    do
    :: d_step { QUIET && unhandled != 0 && late -> irq_disabled = true };
       scan_queue(found, scan); reap_and_ring(scan);
       d_step { doubts = 0; found = 0; irq_disabled = false }
    od
}
#endif

/* ---- the checks ---------------------------------------------------------- */

/* Enabled by a violation only, so it adds no states. */
active proctype monitor()
{
end:
    d_step {
#ifdef FAULT
        late > MAX_LATE || (QUIET && unhandled != 0 && !late) ->
        assert(late <= MAX_LATE);               /* found out in time */
        assert(unhandled == 0)                  /* nobody will come back for it */
#else
        QUIET && (unhandled != 0 || MISSED_HEAD) ->
        assert(unhandled == 0);                 /* nobody will come back for it */
        assert(!stalled)                        /* nobody will say there is room */
#endif
    }
}

#ifdef LIVE
ltl live { ([]<> (cqe[0] == done)) && ([]<> ROOM) }
#endif
