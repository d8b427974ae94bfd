/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The protocols of code instances (src/link/instance/instance.c, tenon.h) for spin: writers, an updater, readers and a
 * remover, in every interleaving. Every tuple that a reader gets has to be one that was published, with code that is
 * still there; whoever comes through `invoke` has to find a body of its own; nobody may wait forever. Addresses are
 * reused with another kind of code. Spin's memory is sequentially consistent: the orders of loads and stores are left
 * to ThreadSanitizer and to AArch64.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 the ready bit comes first, 2 readers do
 * not wait for it, 3 nor look at specptr again, 4 nor at the flags, 5 writers publish over others, 6 invoke is changed
 * before the flags tell, 7 words are cleared before threads are quiescent, 8 nobody waits for them, 9 readers wait for
 * the ready bit alone, 10 and take withdrawn code for ready. */

#ifndef BROKEN
#define BROKEN 0
#endif

/* How much of everything; instance.sh says which. */
#ifndef WRITERS
#define WRITERS 2
#define ATTEMPTS 1 /* of each writer */
#define READERS 1
#define READS 2
#define UPDATERS 1
#define REMOVALS 1
#endif
#define THREADS (READERS + UPDATERS) /* who runs code */

#define SPECSIG 1
#define READY 2
#define WITHDRAWN 4

/* Values of the words. Code k has one entry and two equivalent bodies. */
#define NONE 0
#define GENERIC 1
#define WAIT 2
#define ENTRY(k) (10 + (k))
#define BODY(k, variant) (20 + 2 * (k) + (variant))
#define IS_CODE(i) ((i) >= 10)
#define CODE_OF_ENTRY(i) ((i) - 10)
#define CODE_OF_BODY(p) (((p) - 20) / 2)

/* Kinds of code; FREE memory is no code. */
#define FREE 0
#define ENTRY_ONLY 1
#define PAIR 2
#define SPECIAL_PAIR 3

byte invoke, specptr, specsigflags; /* the instance */
byte kind[WRITERS];                 /* the code of each writer */
byte epoch, seen[THREADS];
bool locked;

inline take_lock() { atomic { !locked -> locked = true } }
inline give_lock() { locked = false }
inline quiescent(t) { seen[t] = epoch }

/* ---- writers ---- */

/* Two words are compared and exchanged in one step each; all else is one access a step. */
inline publish(k) {
    won = false;
    if
    :: kind[k] == ENTRY_ONLY ->
        expected = invoke;
        if
        :: specptr == NONE && !IS_CODE(expected) ->
            atomic {
                if
                :: invoke == expected -> invoke = ENTRY(k); won = true
                :: else
                fi
            }
        :: else
        fi
    :: else ->
        atomic {
            if
            :: specptr == NONE || BROKEN == 5 -> specptr = BODY(k, 0); won = true
            :: else
            fi
        }
        if
        :: won && BROKEN == 1 -> /* ready before the words are */
            specsigflags = specsigflags | READY;
            specsigflags = specsigflags | (kind[k] == SPECIAL_PAIR);
            invoke = ENTRY(k)
        :: won && BROKEN != 1 ->
            specsigflags = (kind[k] == SPECIAL_PAIR);
            invoke = ENTRY(k);
            specsigflags = specsigflags | READY
        :: else
        fi
    fi
}

proctype writer(byte k) {
    byte attempt, expected;
    bool won;
    do
    :: attempt < ATTEMPTS ->
        attempt++;
        if
        :: kind[k] == FREE ->
            if
            :: kind[k] = ENTRY_ONLY
            :: kind[k] = PAIR
            :: kind[k] = SPECIAL_PAIR
            fi;
            take_lock();
            publish(k);
            give_lock();
            if
            :: !won -> kind[k] = FREE
            :: else
            fi
        :: else /* what it published is still there */
        fi
    :: else -> break
    od
}

/* ---- readers ---- */

byte tuple_invoke[THREADS], tuple_specptr[THREADS], tuple_flags[THREADS];

#define I tuple_invoke[t]
#define P tuple_specptr[t]
#define F tuple_flags[t]

/* A reader that would spin for the ready bit blocks here: spin reports it if nothing can wake it. */
inline read() {
    do
    :: I = invoke; P = NONE; F = 0;
        if
        :: I == NONE -> break
        :: else
        fi;
        P = specptr;
        if
        :: P == NONE -> break
        :: else
        fi;
        if
        :: atomic { BROKEN == 2 || (specsigflags & READY) -> F = specsigflags }
        :: BROKEN != 9 && specptr != P -> goto over
        fi;
        if
        :: BROKEN != 10 && (F & WITHDRAWN) -> P = NONE; F = 0; break
        :: else
        fi;
        I = invoke;
        F = specsigflags;
        if
        :: BROKEN != 4 && (F & WITHDRAWN) -> P = NONE; F = 0; break
        :: else
        fi;
        if
        :: BROKEN != 3 && specptr != P -> goto over
        :: else
        fi;
        break;
    over: skip
    od
}

/* Some time later the tuple is looked at, and the entry called: that loads specptr, if it is the entry of a pair. */
inline call() {
    d_step {
        if
        :: P == NONE -> assert(F == 0)
        :: else ->
            assert(IS_CODE(I) && CODE_OF_BODY(P) == CODE_OF_ENTRY(I));
            assert(kind[CODE_OF_BODY(P)] >= PAIR);
            assert(F == (READY | (kind[CODE_OF_BODY(P)] == SPECIAL_PAIR)))
        fi;
        if
        :: IS_CODE(I) ->
            assert(kind[CODE_OF_ENTRY(I)] != FREE);
            if
            :: kind[CODE_OF_ENTRY(I)] >= PAIR -> assert(specptr != NONE && CODE_OF_BODY(specptr) == CODE_OF_ENTRY(I))
            :: else
            fi
        :: else
        fi;
        I = NONE; P = NONE; F = 0
    }
}

proctype reader(byte t) {
    byte reads;
    do
    :: reads < READS ->
        reads++;
        read();
        call();
        quiescent(t)
    :: else -> break
    od;
    seen[t] = 255 /* offline */
}

proctype updater(byte t) {
    bool won;
    read();
    if
    :: P != NONE ->
        take_lock();
        if
        :: !(specsigflags & WITHDRAWN) ->
            atomic {
                if
                :: specptr == P -> specptr = BODY(CODE_OF_BODY(P), 1)
                :: else
                fi
            }
        :: else
        fi;
        give_lock()
    :: else
    fi;
    call();
    seen[t] = 255
}

/* ---- removal ---- */

inline withdraw() {
    if
    :: specptr != NONE && BROKEN != 6 -> specsigflags = specsigflags | WITHDRAWN
    :: else
    fi;
    if
    :: IS_CODE(invoke) -> invoke = GENERIC
    :: else
    fi;
    if
    :: specptr != NONE && BROKEN == 6 -> specsigflags = specsigflags | WITHDRAWN
    :: else
    fi
}

inline clear() {
    if
    :: specsigflags & WITHDRAWN ->
        specsigflags = 0;
        specptr = NONE
    :: else
    fi
}

inline quiesce() {
    atomic { epoch++; target = epoch };
    t = 0;
    do
    :: t < THREADS -> seen[t] >= target; t++
    :: else -> break
    od
}

proctype remover() {
    byte removals, target, t, k;
    do
    :: removals < REMOVALS ->
        removals++;
        take_lock();
        k = WRITERS; /* whose code is there: known to the tracker */
        d_step {
            if
            :: specptr != NONE -> k = CODE_OF_BODY(specptr)
            :: specptr == NONE && IS_CODE(invoke) -> k = CODE_OF_ENTRY(invoke)
            :: else
            fi
        }
        withdraw();
        if
        :: BROKEN == 7 -> clear()
        :: else
        fi;
        give_lock();
        if
        :: BROKEN != 8 -> quiesce()
        :: else
        fi;
        take_lock();
        clear();
        give_lock();
        if
        :: k < WRITERS -> kind[k] = FREE
        :: else
        fi
    :: else -> break
    od
}

init {
    byte i;
    atomic {
        if /* not compiled, waited for, or interpreted */
        :: invoke = NONE
        :: invoke = WAIT
        :: invoke = GENERIC
        fi;
        for (i : 0 .. WRITERS - 1) { run writer(i) }
        for (i : 0 .. READERS - 1) { run reader(i) }
        for (i : 0 .. UPDATERS - 1) { run updater(READERS + i) }
        run remover()
    }
}
