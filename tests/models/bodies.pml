/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Bodies that have given way (src/jit/tiers_retire.c, src/link/redirect/bodies.c) for spin: the thread of tiers leads
 * a stub to a higher body and retires the lower one; a client redirects and resets the stub; two attached threads call.
 * A call always finds a function, and none runs code that was freed.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 the function goes on looking up the lower
 * body; 2 it gets its new name to look up after the old one has gone; 3 a first call does not look again if the name
 * has changed meanwhile; 4 the removal does not wait; 5 it does not lead the stub away before that. (Were it not for 3,
 * a look after the wait would not do: between a first call that stores the lower body and that look, a second thread
 * may call it, and the client redirect the stub.) */

#ifndef BROKEN
#define BROKEN 0
#endif

mtype = { entry, low, high, own };

mtype stub = entry;  /* where it leads */
mtype looks = low;   /* what its first call looks up */
bool named = true;   /* the lower body can be found, */
bool linked;         /* is there, */
bool freed;          /* and was freed */
bool runs[2];      /* since their last quiescent points */

init {
    atomic {
        run tiers();
        run client();
        run caller(0);
        run caller(1)
    }
}

/* ---- the thread of tiers, and that of removals ---- */

inline lead_away() {
    atomic {
        if
        :: stub == low -> stub = entry
        :: else
        fi
    }
}

inline wait_for(i) {
    if
    :: BROKEN != 4 -> !runs[i]
    :: else
    fi
}

proctype tiers() {
    bool raised;
    atomic {
        raised = (stub == entry || stub == low);
        if
        :: raised -> stub = high
        :: else
        fi;
        raised = raised && linked
    };
    if
    :: raised ->
        atomic { /* under the session's lock */
            named = false;
            if
            :: BROKEN != 1 && BROKEN != 2 -> looks = high
            :: else
            fi
        };
        if
        :: BROKEN == 2 -> looks = high
        :: else
        fi;
        if
        :: BROKEN != 5 -> lead_away()
        :: else
        fi;
        wait_for(0);
        wait_for(1);
        freed = true
    :: else
    fi
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

inline first_call(at, name) {
    atomic { at = stub; name = looks };
    do
    :: at != entry -> break
    :: else ->
        atomic { /* the lookup, which links the lower body if need be */
            if
            :: name == high -> at = high
            :: name == low && named -> at = low; linked = true
            :: else
            fi
        };
        atomic { /* under the session's lock again */
            if
            :: stub != entry -> at = stub
            :: stub == entry && looks != name && BROKEN != 3 -> name = looks; at = entry
            :: stub == entry && (looks == name || BROKEN == 3) && at != entry -> stub = at
            :: else -> assert(false) /* there is no function */
            fi
        }
    od
}

proctype caller(byte me) {
    byte turns;
    mtype at, name;
    do
    :: turns < 2 ->
        turns++;
        runs[me] = true;
        first_call(at, name);
        atomic { assert(at != low || !freed); runs[me] = false } /* so it was there throughout */
    :: else -> break
    od
}
