/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code of a tracker that is published in a code instance while two threads remove the tracker (src/link/instance,
 * src/link/session), for spin: it is found by attached threads, and gives way to other code or is withdrawn before the
 * removals look again. No thread runs code that was freed, or that was cleared while it ran. What a lock guards is one
 * step here.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 a removal looks only for code that is
 * there, 2 it forgets at the end of a round that there was some, 3 each removal forgets for the other one, 4 it clears
 * what was published in its round, 5 another round does not follow, 6 there is no wait. */

#ifndef BROKEN
#define BROKEN 0
#endif

mtype { none, code, other };

mtype holds = none;               /* the instance */
bool withdrawn;                   /* what it holds is */
byte publications;                /* how often the tracker's code was published so far */
bool any_published;               /* what mistakes remember instead */
bool named = true;                /* lookups find the code */
bool freed;
bool runs[3];                     /* callers and the publisher, since their last quiescent points */
bool awaited[9];                  /* 3 * w + t: the waiting thread w waits for thread t */

#define LISTED (holds == code)

init {
    atomic {
        run publisher();
        run remover(0);
        run remover(1);
        run caller(0);
        run caller(1)
    }
}

inline wait(me) {
    atomic { awaited[3 * me] = runs[0]; awaited[3 * me + 1] = runs[1]; awaited[3 * me + 2] = runs[2] };
    !awaited[3 * me];
    !awaited[3 * me + 1];
    !awaited[3 * me + 2]
}

inline quiescent(me) {
    atomic { runs[me] = false; awaited[me] = false; awaited[3 + me] = false; awaited[6 + me] = false }
}

/* ---- the threads that remove ---- */

inline withdraw() {
    atomic {
        if
        :: BROKEN == 1 -> any = LISTED
        :: BROKEN == 2 || BROKEN == 3 -> any = LISTED || any_published
        :: else -> any = LISTED || publications > since
        fi;
        if
        :: BROKEN == 3 -> any_published = false
        :: else
        fi;
        if
        :: LISTED -> withdrawn = true
        :: else
        fi
    }
}

inline clear() {
    atomic {
        if
        :: LISTED && withdrawn &&
           (BROKEN == 4 || BROKEN == 2 || (BROKEN == 3 -> !any_published : publications <= until)) ->
            holds = none; withdrawn = false
        :: else
        fi;
        if
        :: BROKEN == 2 -> any_published = LISTED
        :: else
        fi
    }
}

proctype remover(byte me) {
    byte since, until;
    bool any, first = true; /* the first round has a wait in any case */
    named = false;
    do
    :: atomic { since = until; until = publications };
        withdraw();
        if
        :: any || first ->
            first = false;
            if
            :: BROKEN != 6 -> wait(me)
            :: else
            fi;
            clear();
            if
            :: BROKEN == 5 -> break
            :: else
            fi
        :: else -> break
        fi
    od;
    freed = true
}

/* ---- a client, which publishes what it has found since its last quiescent point ---- */

proctype publisher() {
    byte turns;
    do
    :: turns < 2 && named ->
        turns++;
        runs[2] = true;
        if
        :: !named -> quiescent(2); break
        :: else
        fi;
        atomic {
            if
            :: holds == none -> holds = code; publications++; any_published = true
            :: else
            fi
        };
        if
        :: atomic { LISTED && !withdrawn -> holds = other };
            quiescent(2);
            wait(2);
            holds = none
        :: atomic { LISTED && !withdrawn -> withdrawn = true };
            quiescent(2);
            wait(2);
            atomic {
                if
                :: LISTED && withdrawn -> holds = none; withdrawn = false
                :: else
                fi
            }
        :: skip
        fi;
        quiescent(2)
    :: else -> break
    od
}

/* ---- attached threads ---- */

proctype caller(byte me) {
    byte turns;
    bool found;
    do
    :: turns < 2 - me ->
        turns++;
        runs[me] = true;
        atomic { found = LISTED && !withdrawn };
        atomic { /* so it was there throughout */
            assert(!found || (!freed && holds != none));
            quiescent(me)
        }
    :: else -> break
    od
}
