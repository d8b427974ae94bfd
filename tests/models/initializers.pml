/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Who runs initializers, and who waits (src/link/demand/initialize.c), for spin: three libraries, of which the first
 * two need each other. An initializer of the first looks something up in the third, one of the second in the first.
 * Threads look up in the libraries in different orders, and link them on the way. Each library is initialised once; a
 * thread gets an address only when what this needs is initialised, except for what it is initialising itself; and no
 * thread waits forever.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 a library whose initializers another
 * thread runs counts as initialised; 2 what a round takes stays pending; 3 the end of the lock is not counted; 4 a
 * thread looks at that count only after it has given up the session's lock; 5 a thread waits for rounds of its own; 6
 * the lock is given up with the innermost round. */

#ifndef BROKEN
#define BROKEN 0
#endif
#define LIBRARIES 3
#define NOBODY 9

bool linked[LIBRARIES], pending[LIBRARIES], done[LIBRARIES];
byte rounds[LIBRARIES]; /* under way */
byte by[LIBRARIES];     /* the thread that runs these, counted from 1 */
byte runs[LIBRARIES];
byte holder, depth, given; /* the initializer lock */

#define OTHER(l)          (l == 2 -> 2 : 1 - l) /* that it needs */
#define IS_PENDING(l)     (pending[l] || pending[OTHER(l)])
#define IS_RUNNING(l)     (BROKEN != 1 && (rounds[l] > 0 || rounds[OTHER(l)] > 0))
#define IS_WAITED_FOR(me) ((holder && holder != me) || (BROKEN == 5 && holder))
#define IS_READY(l)       ((done[l] || by[l] == me) && (done[OTHER(l)] || by[OTHER(l)] == me))

inline link_one(l) {
    if
    :: !linked[l] -> linked[l] = true; pending[l] = true
    :: else
    fi
}

/* The library is taken, if it has something to run. */
inline take(l, taken) {
    if
    :: pending[l] -> taken = l; rounds[l]++; by[l] = me; pending[l] = (BROKEN == 2)
    :: else -> taken = NOBODY
    fi
}

inline begin_round(l, first, second) {
    holder = me;
    depth++;
    take(OTHER(l), first);
    take(l, second)
}

inline end_one(l) {
    if
    :: l != NOBODY -> rounds[l]--
    :: else
    fi
}

inline end_round(first, second) {
    atomic {
        end_one(first);
        end_one(second);
        depth--;
        if
        :: !depth || BROKEN == 6 ->
            holder = 0;
            given = given + (BROKEN != 3)
        :: else
        fi
    }
}

inline run_function(l) {
    if
    :: l != NOBODY ->
        runs[l]++;
        assert(runs[l] == 1);
        done[l] = true
    :: else
    fi
}

/* Sleeps until the lock is given, or on what it saw before. */
inline wait() {
    if
    :: BROKEN == 4 -> seen = given
    :: else
    fi;
    given != seen
}

/* The steps of a lookup but for what its initializers do. */
inline look_again(l, is_ready, is_late, begins, first, second) {
    is_ready = false;
    is_late = false;
    begins = false;
    atomic {
        if
        :: !IS_PENDING(l) && (!IS_RUNNING(l) || (holder == me && BROKEN != 5)) -> is_ready = true
        :: else ->
            if
            :: IS_WAITED_FOR(me) -> is_late = true; seen = given
            :: else ->
                assert(IS_PENDING(l)); /* or it would be left by a fork */
                begins = true;
                begin_round(l, first, second)
            fi
        fi
    }
}

inline get_inside(l) {
    atomic { link_one(l); link_one(OTHER(l)) };
    do
    :: look_again(l, is_ready, is_late, begins, inner_first, inner_second);
       if
       :: is_ready -> break
       :: is_late -> wait()
       :: begins ->
           run_function(inner_first);
           run_function(inner_second);
           end_round(inner_first, inner_second)
       fi
    od;
    assert(IS_READY(l))
}

inline run_outer(l) {
    if
    :: l == 0 -> get_inside(2)
    :: l == 1 -> get_inside(0)
    :: else
    fi;
    run_function(l)
}

inline get(l) {
    atomic { link_one(l); link_one(OTHER(l)) };
    do
    :: look_again(l, is_ready, is_late, begins, first, second);
       if
       :: is_ready -> break
       :: is_late -> wait()
       :: begins ->
           run_outer(first);
           run_outer(second);
           end_round(first, second)
       fi
    od;
    assert(IS_READY(l))
}

proctype thread(byte me; byte a; byte b) {
    byte first, second, inner_first, inner_second, seen;
    bool is_ready, is_late, begins;
    get(a);
    get(b)
}

init {
    atomic {
        run thread(1, 0, 2);
        run thread(2, 1, 2);
        run thread(3, 2, 0)
    }
}
