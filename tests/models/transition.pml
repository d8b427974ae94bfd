/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Transitions and the collector (src/gc/threads/world.c, doc/GC.md) for spin: threads that leave managed code and come
 * back, and a collector that must not move objects while any thread is inside; no thread may wait forever. Stores of a
 * thread go through a buffer, as on x86-64 (TSO): its loads overtake them, unless it executes a fence or the collector
 * has all threads execute one.
 *
 * REFUSED=1: the system refuses that from the beginning, REFUSED=2: from the second collection on.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 the collector has no fences executed, 2 or
 * before it requests the stop, 3 or does not look again afterwards; 4 the thread loads the request before it says that
 * it is inside, 5 does not look for another request after it has waited, 6 waits while it says that it is inside, 7
 * does not execute the fence that it is asked for, 8 or the one that it has promised; 9 the collector believes that
 * threads that do not know yet execute fences. */

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef REFUSED
#define REFUSED 0
#endif
#ifndef THREADS
#define THREADS 2
#define TRIPS 2       /* of each thread out of managed code */
#define COLLECTIONS 2
#endif

/* What the anchor on top says. */
#define INSIDE 0
#define OUTSIDE 1
#define FENCED 2 /* outside; a fence is promised */

#define ROOM 3 /* of a store buffer */

byte state[THREADS];          /* in memory */
byte poll[THREADS];           /* the stop request; the collector's stores are locked instructions */
byte fences[THREADS];         /* the thread has to execute fences itself */
byte buffered[THREADS];       /* stores on their way to `state` */
byte buffer[THREADS * ROOM];
bool locked, moving;
byte touching; /* threads that use objects */

#define OLDEST(t) buffer[(t) * ROOM]

inline drain_one(t) {
    state[t] = OLDEST(t);
    buffer[(t) * ROOM] = buffer[(t) * ROOM + 1];
    buffer[(t) * ROOM + 1] = buffer[(t) * ROOM + 2];
    buffer[(t) * ROOM + 2] = 0;
    buffered[t]--
}

/* What the processor does at any time. */
proctype drains(byte t) {
end:
    do
    :: atomic { buffered[t] -> drain_one(t) }
    od
}

inline store(t, value) {
    atomic {
        buffered[t] < ROOM;
        buffer[(t) * ROOM + buffered[t]] = value;
        buffered[t]++
    }
}

inline fence(t) { buffered[t] == 0 }

inline take_lock(t) { atomic { buffered[t] == 0 && !locked -> locked = true } }
inline give_lock(t) { atomic { buffered[t] == 0 -> locked = false } }

/* ---- a thread ---- */

/* From outside; returns when it is inside and nothing is requested. */
inline come_back(t, promised) {
    do
    :: true ->
        if
        :: BROKEN == 4 -> wanted = poll[t]; store(t, INSIDE)
        :: else ->
            store(t, INSIDE);
            if
            :: (promised && BROKEN != 8) || (fences[t] && BROKEN != 7) -> fence(t)
            :: else
            fi;
            wanted = poll[t]
        fi;
        if
        :: !wanted -> break
        :: else
        fi;
        /* The runtime: it waits for the lock, and promises the fence. */
        if
        :: BROKEN != 6 -> store(t, FENCED)
        :: else
        fi;
        take_lock(t);
        give_lock(t);
        promised = true;
        if
        :: BROKEN == 5 -> store(t, INSIDE); break
        :: else
        fi
    od
}

inline touch() {
    touching++;
    assert(!moving);
    touching--
}

proctype thread(byte t) {
    byte trip, wanted;
    bool promise;
    do
    :: trip < TRIPS ->
        trip++;
        touch();
        if
        :: promise = false; store(t, OUTSIDE)  /* a call of native code */
        :: promise = true; store(t, FENCED)    /* a wait in the runtime */
        fi;
        come_back(t, promise)
    :: else -> break
    od;
    touch();
    store(t, OUTSIDE) /* native code for good */
}

/* ---- the collector ---- */

inline look() {
    t = 0;
    do
    :: t < THREADS -> state[t] != INSIDE; t++
    :: else -> break
    od
}

/* True if a thread might come back without a fence. */
inline look_for_unfenced() {
    unfenced = false;
    t = 0;
    do
    :: t < THREADS ->
        if
        :: state[t] != FENCED && !fences[t] -> unfenced = true
        :: else
        fi;
        t++
    :: else -> break
    od
}

/* membarrier; or, the first time that it is refused, a visit to each core, whose thread is switched out. */
inline fence_all() {
    t = 0;
    do
    :: t < THREADS ->
        if
        :: refuses && BROKEN == 9 -> fences[t] = 1
        :: refuses && BROKEN != 9 -> fences[t] = 1; buffered[t] == 0
        :: else -> buffered[t] == 0
        fi;
        t++
    :: else -> break
    od
}

inline request(value) {
    t = 0;
    do
    :: t < THREADS -> poll[t] = value; t++
    :: else -> break
    od
}

proctype collector() {
    byte t, collection;
    bool unfenced, refuses = REFUSED == 1;
    do
    :: collection < COLLECTIONS ->
        collection++;
        atomic { !locked -> locked = true };
        if
        :: BROKEN == 2 -> fence_all()
        :: else
        fi;
        request(1);
        look();
        look_for_unfenced();
        if
        :: unfenced && BROKEN != 1 && BROKEN != 2 ->
            fence_all();
            if
            :: BROKEN != 3 -> look()
            :: else
            fi
        :: else
        fi;
        assert(!touching);
        moving = true;
        moving = false;
        request(0);
        locked = false;
        if
        :: REFUSED == 2 -> refuses = true
        :: else
        fi
    :: else -> break
    od
}

init {
    byte i;
    atomic {
        do
        :: i < THREADS ->
            state[i] = INSIDE;
            fences[i] = REFUSED == 1;
            run thread(i);
            run drains(i);
            i++
        :: else -> break
        od;
        run collector()
    }
}
