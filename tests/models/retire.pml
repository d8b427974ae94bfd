/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code that is retired (src/link/session/retire.c) for spin, where threads reach it through a stub: a thread removes
 * the code's name, leads the stub away, waits, and frees the code unless it was found again; a client redirects and
 * resets the stub; two attached threads call it. None runs code that was freed.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 after the wait it is checked where the
 * stub leads, not what was stored since the last look; 2 it is not checked at all; 3 the stub is not led away before
 * the wait; 4 the name goes after the wait; 5 another wait does not follow. */

#ifndef BROKEN
#define BROKEN 0
#endif

mtype = { entry, code, own, none };

mtype stub = entry; /* where it leads */
bool named = true;  /* lookups find the code, */
bool stored;        /* a stub was led to it since the last look, */
bool freed;         /* and it is gone */
bool runs[2];       /* since their last quiescent points */
bool late[2];       /* the wait waits for them */

init {
    atomic {
        run retire();
        run client();
        run caller(0);
        run caller(1)
    }
}

/* ---- the thread that retires it ---- */

inline look(found) {
    atomic {
        found = (stub == code || (stored && BROKEN != 1));
        stored = false;
        if
        :: stub == code -> stub = entry
        :: else
        fi
    }
}

inline wait() {
    atomic { late[0] = runs[0]; late[1] = runs[1] };
    !late[0];
    !late[1]
}

proctype retire() {
    bool found;
    if
    :: BROKEN != 4 -> named = false
    :: else
    fi;
    if
    :: BROKEN != 3 -> look(found)
    :: else
    fi;
    found = true;
    do
    :: found ->
        wait();
        found = false;
        if
        :: BROKEN != 2 -> look(found)
        :: else
        fi;
        if
        :: BROKEN == 5 -> found = false
        :: else
        fi
    :: else -> break
    od;
    named = false;
    freed = true
}

/* ---- a client ---- */

proctype client() {
    byte turns;
    do
    :: turns < 2 -> turns++; stub = own; stub = entry
    :: else -> break
    od
}

/* ---- attached threads ---- */

inline first_call(at) {
    at = (named -> code : none);
    atomic { /* under the session's lock */
        if
        :: stub != entry -> at = stub
        :: stub == entry && at == code -> stub = code; stored = stored || !named || BROKEN == 4
        :: else
        fi
    }
}

proctype caller(byte me) {
    byte turns;
    mtype at;
    do
    :: turns < 2 ->
        turns++;
        runs[me] = true;
        at = stub;
        if
        :: at == entry -> first_call(at)
        :: else
        fi;
        atomic { assert(at != code || !freed); runs[me] = false; late[me] = false } /* so it was there throughout */
    :: else -> break
    od
}
