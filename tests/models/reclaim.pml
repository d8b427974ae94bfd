/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Removals that do not wait for threads (src/link/session/reclaim.c) for spin: a client begins two of them, a thread of
 * the session's finishes them, an attached thread finds code, stores its address elsewhere and becomes quiescent, or
 * never does; the session is destroyed by the client at any moment, or by a callback. Each client's function is called
 * once; code that threads may reach is freed only where the session ends; no thread uses a session that is gone, and
 * none waits forever.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 the call hands the removal over before it
 * continues lookups; 2 the thread does not look whether a callback has destroyed the session; 3 the end of the session
 * does not end the thread's wait; 4 a wait serves removals that were begun during it; 5 after the wait it is not
 * checked what leads to the code; 6 the end of the session does not wait for the thread. */

#ifndef BROKEN
#define BROKEN 0
#endif
#define REMOVALS 2

mtype = { none, begun, due, waiting, current, told }; /* due: TN__ACK_NONE */

mtype where[REMOVALS] = none;
bool holds[REMOVALS], leads[REMOVALS];
bool looked[REMOVALS]; /* once, at least */
byte calls[REMOVALS];
bool locked, gone, stopped, ended, outlives;
bool late;             /* the attached thread has not been quiescent since the wait began */
bool callback_ends_it; /* that of the second removal destroys the session; otherwise the client does */

inline touch() { assert(!gone) }
inline take_lock() { atomic { !locked -> locked = true }; touch() }
inline give_lock() { locked = false }

inline call(r) {
    calls[r]++;
    assert(calls[r] == 1)
}

/* The rest is what was begun, and not ended. */
inline destroy(by_thread) {
    take_lock();
    stopped = true;
    give_lock();
    if
    :: by_thread -> outlives = true
    :: !by_thread && BROKEN != 6 -> ended
    :: else
    fi;
    i = 0;
    do
    :: i < REMOVALS ->
        assert(where[i] != current);
        if
        :: where[i] != none && where[i] != told -> where[i] = told; call(i)
        :: else
        fi;
        i++
    :: else -> break
    od;
    gone = true
}

/* ---- the client ---- */

inline begin(r) {
    take_lock();
    where[r] = (BROKEN == 1 -> due : begun);
    give_lock();
    touch(); /* continues lookups */
    if
    :: BROKEN != 1 ->
        take_lock();
        where[r] = due;
        give_lock()
    :: else
    fi
}

proctype client() {
    byte i;
    begin(0);
    begin(1);
    if
    :: !callback_ends_it -> destroy(false)
    :: else
    fi
}

/* ---- an attached thread ---- */

proctype runner() {
    byte turns, r;
    do
    :: turns < 3 ->
        turns++;
        select(r : 0 .. REMOVALS - 1);
        atomic {
            if
            :: where[r] == none -> holds[r] = true
            :: else
            fi
        };
        if
        :: holds[r] -> leads[r] = true /* a code instance, or a stub */
        :: true
        fi;
        if
        :: true -> atomic { holds[0] = false; holds[1] = false; late = false }
        :: true
        fi
    :: turns == 3 -> break
    od;
    if
    :: !callback_ends_it -> skip /* it stays where it is for good */
    :: atomic { true -> holds[0] = false; holds[1] = false; late = false }
    fi
}

/* ---- the session's thread ---- */

/* What still leads to the code is redirected. The first look is followed by a wait. */
inline look(r, found) {
    atomic {
        found = !looked[r] || (leads[r] && BROKEN != 5);
        leads[r] = leads[r] && looked[r] && BROKEN == 5;
        looked[r] = true
    }
}

inline finish(r) {
    give_lock();
    assert(!holds[r]); /* finalizers run, and the code is freed */
    assert(!leads[r]);
    take_lock();
    where[r] = told;
    give_lock();
    call(r);
    if
    :: r == 1 && callback_ends_it -> destroy(true)
    :: else
    fi
}

inline wait_for_threads() {
    give_lock();
    late = true;
    if
    :: !late
    :: stopped && BROKEN != 3
    :: atomic { !holds[0] && !holds[1] && callback_ends_it -> late = false } /* in a blocking region, or detached */
    fi;
    take_lock();
    r = 0;
    do
    :: r < REMOVALS ->
        if
        :: !late && where[r] == waiting -> where[r] = due
        :: !late && where[r] == due && BROKEN == 4 -> looked[r] = true
        :: else
        fi;
        r++
    :: else -> break
    od;
    give_lock()
}

#define FIRST(state) (where[0] == state -> 0 : 1)
#define ANY(state) (where[0] == state || where[1] == state)

proctype thread() {
    byte i, r;
    bool found;
    do
    :: outlives && BROKEN != 2 -> break
    :: else ->
        take_lock();
        if
        :: stopped -> give_lock(); break
        :: !stopped && ANY(due) ->
            r = FIRST(due);
            where[r] = current;
            look(r, found);
            if
            :: found -> where[r] = waiting; give_lock()
            :: else -> finish(r)
            fi
        :: !stopped && !ANY(due) && ANY(waiting) -> wait_for_threads()
        :: else ->
            give_lock();
            (stopped || ANY(due))
        fi
    od;
    ended = true
}

init {
    select(callback_ends_it : 0 .. 1);
    atomic { run client(); run runner(); run thread() }
}
