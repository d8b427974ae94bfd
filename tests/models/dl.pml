/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Libraries that threads open, use and close (src/link/dl/open.c), for spin: libraries 0 and 1 need library 2. A thread
 * opens one of them, calls it, and closes it, as often as ROUNDS says; finalizers of 0 and 1 call library 2. What is
 * called is linked, initialised and not yet finalised; initializers run once, after those of what is needed; finalizers
 * run once, before those of what is needed; and in the end everything is closed. A library that is opened again after
 * it was closed is a new one. Here its slot is used again, so that its opener waits until the old one is removed.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 what is needed is not kept by what needs
 * it; 2 libraries are marked as closing only after the lock was given up; 3 what is being closed can be opened; 4
 * initializers run without their lock; 5 a thread that finds that lock taken does not wait for it; 6 finalizers run in
 * the order in which libraries were opened; 7 what a closing library needs does not stay until it is removed; 8 no
 * thread looks again for what is left. */

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define LIBRARIES 3
#define THREADS 3
#define BASE 2 /* that the others need, and itself */

byte count[LIBRARIES];
bool is_open[LIBRARIES], is_closing[LIBRARIES], linked[LIBRARIES], initialised[LIBRARIES], finalised[LIBRARIES];
byte runs[LIBRARIES]; /* of initializers, of this opening */
byte holder;          /* of the initializer lock */
byte finished;        /* threads */

/* ---- opening ---- */

#define MAY_OPEN(l) ((!is_closing[l] && !is_closing[BASE]) || BROKEN == 3)

inline run_initializer(l) {
    if
    :: !initialised[l] ->
        runs[l]++;
        assert(runs[l] == 1);
        assert(l == BASE || initialised[BASE]);
        initialised[l] = true
    :: else
    fi
}

inline initialise(l) {
    if
    :: BROKEN == 4
    :: BROKEN != 4 ->
        atomic {
            holder == 0 || BROKEN == 5;
            is_mine = (holder == 0);
            holder = (is_mine -> me : holder)
        }
    fi;
    if
    :: BROKEN == 4 || is_mine ->
        run_initializer(BASE);
        run_initializer(l);
        if
        :: is_mine -> holder = 0; is_mine = false
        :: else
        fi
    :: else
    fi
}

inline open(l) {
    atomic {
        MAY_OPEN(l);
        count[l]++;
        is_open[l] = true;
        is_open[BASE] = true
    };
    atomic { linked[BASE] = true; linked[l] = true };
    initialise(l)
}

#define IS_CALLABLE(l) (linked[l] && initialised[l] && !finalised[l])

inline call(l) {
    assert(IS_CALLABLE(l));
    assert(IS_CALLABLE(BASE))
}

/* ---- closing ---- */

#define KEEPS(l)      (count[l] > 0 || (is_closing[l] && BROKEN != 7))
#define NEEDS_BASE    (BROKEN != 1 && (KEEPS(0) || KEEPS(1)))
#define IS_WANTED(l)  (count[l] > 0 || (l == BASE && NEEDS_BASE))
#define GOES(l)       (is_open[l] && !is_closing[l] && !IS_WANTED(l))

inline mark() {
    is_closing[0] = is_closing[0] || ends[0];
    is_closing[1] = is_closing[1] || ends[1];
    is_closing[BASE] = is_closing[BASE] || ends[BASE]
}

/* With the lock: the lists are made as a whole, before anything is marked. */
inline begin_ending() {
    ends[0] = GOES(0);
    ends[1] = GOES(1);
    ends[BASE] = GOES(BASE);
    if
    :: BROKEN != 2 -> mark()
    :: else
    fi
}

inline finalise(l) {
    if
    :: ends[l] ->
        if
        :: l != BASE && initialised[l] -> assert(IS_CALLABLE(BASE)) /* its finalizer calls it */
        :: else
        fi;
        assert(!finalised[l]);
        finalised[l] = true
    :: else
    fi
}

inline remove(l) {
    if
    :: ends[l] ->
        atomic {
            is_open[l] = false;
            is_closing[l] = false;
            linked[l] = false;
            initialised[l] = false;
            finalised[l] = false;
            runs[l] = 0
        }
    :: else
    fi
}

inline finish_ending() {
    if
    :: BROKEN == 2 -> atomic { mark() }
    :: else
    fi;
    if
    :: BROKEN == 6 -> finalise(BASE); finalise(0); finalise(1)
    :: else -> finalise(0); finalise(1); finalise(BASE)
    fi;
    remove(0);
    remove(1);
    remove(BASE)
}

inline close(l) {
    atomic { count[l]--; begin_ending() };
    do
    :: ends[0] || ends[1] || ends[BASE] ->
        finish_ending();
        if
        :: BROKEN == 8 -> break
        :: else -> atomic { begin_ending() }
        fi
    :: else -> break
    od
}

active [THREADS] proctype client() {
    byte me = _pid + 1, round = 0, l;
    bool is_mine = false, ends[LIBRARIES];
    do
    :: round < ROUNDS ->
        select(l : 0 .. 2);
        open(l);
        call(l);
        close(l);
        round++
    :: else -> break
    od;
    atomic {
        finished++;
        if
        :: finished == THREADS -> assert(!is_open[0] && !is_open[1] && !is_open[BASE])
        :: else
        fi
    }
}
