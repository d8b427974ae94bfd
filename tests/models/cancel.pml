/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Cancelling lookups (src/link/demand/cancel.c, query.c) for spin: threads do the rounds of lookups, and callbacks and
 * other threads cancel them at any moment. Each lookup is answered once; when its handle has been taken back its
 * callback has returned, unless the caller is in it; nobody uses a handle that is gone, and nobody waits forever.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 the round does not say that it has begun,
 * 2 or forgets it before it answers; 3 it does not look whether the lookup was cancelled meanwhile; 4 who cancels does
 * not wait for the callback, 5 waits in the callback itself, 6 frees the handle there, 7 does not look for threads that
 * wait for each other. */

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef LOOKUPS
#define LOOKUPS 2
#define ROUNDS 2 /* at most, of each lookup, before what it waits for never comes */
#endif
#define THREADS (LOOKUPS + 1) /* one for the rounds of each, and one of the client's */
#define NOBODY 15

#define WAITING 0
#define ANSWERING 1
#define ANSWERED 2

/* What callback 0 does: callback 1 cancels lookup 0 if that is CROSSED. */
#define NOTHING 0
#define OWN 1
#define CROSSED 2

byte state[LOOKUPS], answerer[LOOKUPS], stepper[LOOKUPS], calls[LOOKUPS];
bool stepping[LOOKUPS], cancelled[LOOKUPS], ended[LOOKUPS], taken_back[LOOKUPS], gone[LOOKUPS], inside[LOOKUPS];
byte waits_on[THREADS]; /* the lookup for whose callback a thread waits */
byte habit;             /* of callback 0 */
bool locked;

inline take_lock() { atomic { !locked -> locked = true } }
inline give_lock() { locked = false }
inline touch(h) { assert(!gone[h]) }

/* ---- a callback ---- */

inline begin_answer(t, h) {
    take_lock();
    touch(h);
    state[h] = ANSWERING;
    answerer[h] = t;
    give_lock();
    inside[h] = true;
    calls[h]++;
    assert(calls[h] == 1)
}

inline end_answer(t, h) {
    inside[h] = false;
    take_lock();
    touch(h);
    state[h] = ANSWERED;
    if
    :: taken_back[h] -> gone[h] = true
    :: else
    fi;
    give_lock()
}

/* ---- taking a handle back ---- */

/* The lookup waits: it ends here, and `mine` says that this thread answers. */
inline end_or_mark(t, h) {
    take_lock();
    touch(h);
    mine = false;
    if
    :: state[h] == WAITING ->
        cancelled[h] = true;
        if
        :: !stepping[h] -> ended[h] = true; stepping[h] = true; stepper[h] = t; mine = true
        :: else
        fi
    :: else
    fi;
    give_lock()
}

/* Two threads can only wait for each other directly here: there are two callbacks. */
#define WOULD_WAIT(t, h) \
    (BROKEN != 7 && state[h] == ANSWERING && waits_on[answerer[h]] != NOBODY && \
     answerer[waits_on[answerer[h]]] == t && state[waits_on[answerer[h]]] == ANSWERING)

inline wait_for_answer(t, h) {
    refused = false;
    take_lock();
    do
    :: state[h] == ANSWERED || BROKEN == 4 ->
        touch(h);
        gone[h] = true;
        assert(calls[h] == 1 && !inside[h]);
        break
    :: state[h] == ANSWERING && answerer[h] == t && BROKEN != 5 && BROKEN != 4 ->
        if
        :: BROKEN == 6 -> gone[h] = true
        :: else -> taken_back[h] = true
        fi;
        break
    :: WOULD_WAIT(t, h) && BROKEN != 4 -> refused = true; break
    :: else ->
        atomic { waits_on[t] = h; locked = false };
        atomic { !locked && state[h] == ANSWERED -> locked = true; waits_on[t] = NOBODY }
    od;
    give_lock()
}

/* By the client, or a callback whose own calls are not looked at further. */
inline cancel(t, h) {
    end_or_mark(t, h);
    if
    :: mine -> begin_answer(t, h); end_answer(t, h)
    :: else
    fi;
    wait_for_answer(t, h)
}

inline callback(t, h) {
    begin_answer(t, h);
    if
    :: h == 0 && habit == OWN -> cancel(t, 0)
    :: h == 0 && habit == CROSSED -> cancel(t, 1)
    :: h == 1 && habit == CROSSED -> cancel(t, 0)
    :: else
    fi;
    end_answer(t, h)
}

/* ---- rounds ---- */

proctype rounds(byte me) {
    byte round;
    bool over, mine, refused;
    do
    :: round < ROUNDS && !over ->
        round++;
        take_lock();
        if
        :: ended[me] -> over = true
        :: else ->
            if
            :: BROKEN != 1 -> stepping[me] = true; stepper[me] = me
            :: else
            fi
        fi;
        give_lock();
        if
        :: !over ->
            take_lock();
            if
            :: true -> over = true             /* all is there */
            :: cancelled[me] && BROKEN != 3 -> over = true
            :: !cancelled[me] || BROKEN == 3 -> skip /* it waits for something */
            fi;
            if
            :: over -> ended[me] = true
            :: else
            fi;
            if
            :: !over || BROKEN == 2 -> stepping[me] = false
            :: else
            fi;
            give_lock();
            if
            :: over -> callback(me, me)
            :: else
            fi
        :: else
        fi
    :: else -> break
    od
}

/* ---- the client ---- */

proctype client() {
    bool mine, refused;
    if
    :: habit != CROSSED -> cancel(LOOKUPS, 1)
    :: else
    fi;
    if
    :: habit == NOTHING -> cancel(LOOKUPS, 0)
    :: else
    fi
}

init {
    byte i;
    atomic {
        for (i : 0 .. LOOKUPS - 1) {
            answerer[i] = NOBODY;
            stepper[i] = NOBODY;
        }
        for (i : 0 .. THREADS - 1) {
            waits_on[i] = NOBODY;
        }
        if
        :: habit = NOTHING
        :: habit = OWN
        :: habit = CROSSED
        fi;
        run rounds(0);
        run rounds(1);
        run client()
    }
}
