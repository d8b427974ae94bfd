/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Assumptions that are broken (src/jit/assumption.c, src/jit/replace.c) for spin: a thread adds two versions of a
 * function that rest on one assumption, over general code, and replaces all by other general code; two threads break
 * the assumption; a client redirects the stub and resets it; an attached thread calls. When either thread has broken
 * it, no call that begins reaches a version that rests on it; a redirection stays; no thread runs code that was freed,
 * or uses a struct that is gone.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 a version is published without a look
 * whether it is broken; 2 that look comes before the lock; 3 the stub is led away wherever it leads; 4 the second
 * thread that breaks returns at once; 5 versions are marked one by one, as they are led away; 6 a version stays in the
 * list of its function; 7 the removal of a version does not wait; 8 the thread that breaks does not hold what it looks
 * at; 9 a module is entered without a look whether the assumption is broken. */

#ifndef BROKEN
#define BROKEN 0
#endif
#define OWN 3 /* the client's */
#define NONE 4
#define BELOW (listed[2] -> 2 : (listed[1] -> 1 : 0))

byte stub;                                /* 0: general code; 1 and 2: versions */
bool listed[3];                           /* version 2 lies on top of 1 */
bool entered[3], marked[3], led[3];       /* it rests on the assumption; will not be published; was led away */
byte users[3];
bool gone[3], freed[3];                   /* the struct; the code */
bool broken, returned, redirected;
byte running = NONE;

init {
    atomic {
        run replacer();
        run breaker();
        run breaker();
        run client();
        run runner()
    }
}

inline drop(v) {
    atomic {
        assert(users[v] > 0);
        users[v]--;
        if
        :: users[v] == 0 -> gone[v] = true
        :: else
        fi
    }
}

/* ---- versions ---- */

inline publish(v) {
    listed[v] = true;
    stub = (redirected -> OWN : v)
}

inline leave(v) {
    entered[v] = false;
    drop(v)
}

inline add(v) {
    atomic {
        if
        :: !broken || BROKEN == 9 -> entered[v] = true; users[v] = 1
        :: else
        fi
    };
    if
    :: !entered[v]
    :: entered[v] && BROKEN != 2 ->
        atomic { /* under the lock of replace.c */
            if
            :: !marked[v] || BROKEN == 1 -> publish(v)
            :: else
            fi
        };
    :: entered[v] && BROKEN == 2 ->
        if
        :: !marked[v] -> atomic { publish(v) }
        :: else
        fi
    fi
}

inline remove(v) {
    if
    :: entered[v] ->
        if
        :: BROKEN != 7 -> running != v
        :: else
        fi;
        freed[v] = true;
        leave(v)
    :: else
    fi
}

proctype replacer() {
    add(1);
    add(2);
    atomic { stub = (redirected -> OWN : 0); listed[1] = false; listed[2] = false };
    remove(2);
    remove(1)
}

/* ---- breaking ---- */

/* Under the lock of replace.c. */
inline fall(v) {
    if
    :: listed[v] ->
        listed[v] = (BROKEN == 6);
        if
        :: stub == v || BROKEN == 3 ->
            assert(!redirected);
            stub = BELOW
        :: else
        fi
    :: else
    fi
}

proctype breaker() {
    byte v;
    bool again;
    atomic { /* under the lock of assumption.c */
        again = broken;
        broken = true;
        if
        :: BROKEN != 5 -> marked[1] = entered[1]; marked[2] = entered[2]
        :: else
        fi
    };
    do
    :: again && BROKEN == 4 -> break
    :: else ->
        atomic {
            if
            :: entered[1] && !led[1] -> v = 1
            :: else ->
                if
                :: entered[2] && !led[2] -> v = 2
                :: else -> v = NONE
                fi
            fi;
            if
            :: v != NONE && BROKEN != 8 -> users[v]++
            :: else
            fi
        };
        if
        :: v == NONE -> break
        :: else
        fi;
        atomic { assert(!gone[v]); fall(v) };
        if
        :: BROKEN == 5 -> marked[v] = true
        :: else
        fi;
        atomic { assert(!gone[v]); led[v] = true };
        if
        :: BROKEN != 8 -> drop(v)
        :: else
        fi
    od;
    returned = true
}

/* ---- a client, and an attached thread ---- */

proctype client() {
    atomic { stub = OWN; redirected = true };
    if
    :: true -> atomic { stub = BELOW; redirected = false }
    :: true
    fi
}

proctype runner() {
    byte turns;
    bool before;
    do
    :: turns < 3 ->
        turns++;
        atomic { before = returned; running = stub };
        assert(!before || running == 0 || running == OWN);
        assert(running == 0 || running == OWN || !freed[running]);
        running = NONE
    :: else -> break
    od
}
