/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The table of stack maps (src/gc/object/maps.c) for spin: threads that have no stack left look something up without
 * the lock, while another thread changes the table, and is interrupted in a change. Nobody reads a table that changes,
 * and nobody waits forever.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 who changes does not look for readers;
 * 2 readers do not wait for a change, 3 nor announce themselves before they look for one; 4 who changes waits for
 * readers in the change; 5 the end of a change wakes nobody; 6 the last reader wakes nobody; 7 a reader waits for its
 * own thread's change. */

#ifndef BROKEN
#define BROKEN 0
#endif
#define READERS 2
#define CHANGER READERS /* the numbers of threads */
#define LOOKUPS 2
#define CHANGES 2

bool is_changing, changes; /* what is announced, and what happens */
byte peekers, reading;
bool asleep[READERS + 1];

/* As a futex: the word is compared and the thread falls asleep in one step. */
inline sleep_while(t, condition) {
    atomic {
        if
        :: condition -> asleep[t] = true
        :: else
        fi
    };
    !asleep[t]
}

inline wake_readers() { atomic { asleep[0] = false; asleep[1] = false } }

/* ---- readers ---- */

inline read_table() {
    reading++;
    assert(!changes);
    reading--
}

inline peek(t) {
    if
    :: BROKEN != 3 -> peekers++
    :: else
    fi;
    do
    :: !is_changing || BROKEN == 2 -> read_table(); break
    :: else ->
        if
        :: t == CHANGER && BROKEN != 7 -> break
        :: else -> sleep_while(t, is_changing)
        fi
    od;
    if
    :: BROKEN == 3 -> peekers++
    :: else
    fi;
    peekers--;
    if
    :: peekers == 0 && BROKEN != 6 -> asleep[CHANGER] = false
    :: else
    fi
}

proctype reader(byte t) {
    byte i;
    for (i : 1 .. LOOKUPS) { peek(t) }
}

/* ---- the thread that changes it ---- */

inline end_change() {
    is_changing = false;
    if
    :: peekers && BROKEN != 5 -> wake_readers()
    :: else
    fi
}

inline begin_change() {
    do
    :: is_changing = true;
        seen = peekers;
        if
        :: !seen || BROKEN == 1 -> break
        :: else ->
            if
            :: BROKEN == 4
            :: else -> end_change()
            fi;
            sleep_while(CHANGER, peekers == seen)
        fi
    od
}

inline change() {
    changes = true;
    assert(!reading);
    changes = false
}

proctype changer() {
    byte i, seen;
    for (i : 1 .. CHANGES) {
        begin_change();
        if
        :: peek(CHANGER) /* a signal handler */
        :: skip
        fi;
        change();
        end_change()
    }
}

init {
    atomic {
        run reader(0);
        run reader(1);
        run changer()
    }
}
