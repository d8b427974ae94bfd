/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stubs that are led to code of a higher tier (src/jit/tiers.c, src/link/redirect/raise.c) for spin: the thread
 * compiles a function and swaps, a client redirects it and resets it, retires its module and adds another one that
 * defines the same name, and destroys the JIT; an attached thread calls. A redirection stays; no thread runs code that
 * was freed; the thread uses neither a module's struct nor a JIT that is gone.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 the swap does not compare where the stub
 * leads; 2 it compares and stores in two steps; 3 it takes a body that was found before, and may be gone; 4 the end of
 * the JIT does not wait for the thread; 5 the thread does not hold the module; 6 the removal does not wait. */

#ifndef BROKEN
#define BROKEN 0
#endif
#define NONE 0

mtype = { entry, low, high, own };

/* Modules are 1 and 2; the name has at most one stub. */
mtype leads = entry;
byte leads_of = NONE, stub_of = 1;
bool named[3], ready[3], freed[3];  /* its names are in the library; its higher body is linked; its code is gone */
bool entered[3], gone[3];           /* in the registry; its struct is freed */
byte users[3];
bool redirected;
byte running; /* whose code the attached thread runs, or NONE */
bool busy, closed, destroyed;

init {
    atomic {
        named[1] = true;
        entered[1] = true;
        users[1] = 1;
        run worker();
        run client();
        run runner()
    }
}

inline drop(m) {
    atomic {
        assert(users[m] > 0);
        users[m]--;
        if
        :: users[m] == 0 -> gone[m] = true
        :: else
        fi
    }
}

/* ---- the thread ---- */

inline may_raise(m, answer) {
    answer = (BROKEN == 3 || (named[m] && ready[m] && stub_of == m)) &&
             (BROKEN == 1 || leads == entry || (leads == low && leads_of == m))
}

inline raise(m) {
    leads = high;
    leads_of = m;
    assert(!redirected)
}

proctype worker() {
    byte m, turns;
    bool good;
    do
    :: turns < 3 ->
        turns++;
        atomic { /* under the lock of tiers.c */
            m = NONE;
            if
            :: !closed && entered[1] -> m = 1
            :: !closed && entered[2] -> m = 2
            :: else
            fi;
            if
            :: m != NONE -> busy = true
            :: else
            fi;
            if
            :: m != NONE && BROKEN != 5 -> users[m]++
            :: else
            fi
        };
        if
        :: m != NONE ->
            assert(!destroyed);
            assert(!gone[m]);
            atomic { /* the lookup */
                good = named[m];
                if
                :: good -> ready[m] = true
                :: else
                fi
            };
            if
            :: good && BROKEN != 2 ->
                atomic {
                    may_raise(m, good);
                    if
                    :: good -> raise(m)
                    :: else
                    fi
                }
            :: good && BROKEN == 2 ->
                atomic { may_raise(m, good) };
                if
                :: good -> atomic { raise(m) }
                :: else
                fi
            :: else
            fi;
            assert(!gone[m]);
            if
            :: BROKEN != 5 -> drop(m)
            :: else
            fi;
            assert(!destroyed);
            busy = false
        :: else
        fi
    :: else -> break
    od
}

/* ---- the client ---- */

inline redirect() {
    atomic {
        if
        :: stub_of != NONE -> leads = own; leads_of = NONE; redirected = true
        :: else
        fi
    }
}

inline reset() {
    atomic {
        if
        :: stub_of != NONE -> leads = entry; leads_of = NONE; redirected = false
        :: else
        fi
    }
}

inline retire(m) {
    atomic { /* names first; the stub goes with them */
        named[m] = false;
        stub_of = NONE;
        leads = entry;
        leads_of = NONE;
        redirected = false
    };
    if
    :: true -> atomic { named[2] = true; entered[2] = true; users[2] = 1; stub_of = 2 }
    :: true
    fi;
    if
    :: BROKEN != 6 -> running != m
    :: else
    fi;
    freed[m] = true;
    entered[m] = false;
    drop(m)
}

proctype client() {
    byte turns;
    bool retired;
    do
    :: turns < 3 -> turns++; redirect()
    :: turns < 3 -> turns++; reset()
    :: turns < 3 && !retired -> turns++; retired = true; retire(1)
    :: turns == 3 -> break
    od;
    closed = true;
    if
    :: BROKEN != 4 -> !busy
    :: else
    fi;
    destroyed = true
}

/* ---- an attached thread ---- */

proctype runner() {
    byte turns;
    do
    :: turns < 4 ->
        turns++;
        atomic {
            if
            :: stub_of != NONE && leads == entry -> leads = low; leads_of = stub_of /* a first call */
            :: else
            fi;
            running = (stub_of != NONE -> leads_of : NONE)
        };
        assert(!freed[running]);
        running = NONE
    :: else -> break
    od
}
