/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Marking beside threads (src/gc/generational/marker.c, doc/GC.md) for spin: a thread that loads, stores and allocates,
 * a marker, and pauses that make young objects old. No object that the thread can reach is freed when a cycle ends.
 * Each object has one word; the thread has two references on its stack. An object is new in the nursery; or, with
 * HOLES, in a hole of the old space, which another thread may leave at any time.
 *
 * BROKEN=n is a deliberate mistake, and the check must find it: 1 pauses after the first do not visit the stack; 2
 * stores of old values are not logged; 3 objects that become old are not marked; 4 or cannot be logged; 5 what a pause
 * finds in logged words is not marked; 6 a cycle ends while objects are left to be marked; 7 a pause does not wait
 * until the marker has looked at its object; 8 words are dropped from the log before they have been stored to; 9 an
 * object that is made old is not looked at by the pause; 10 objects from holes cannot be logged; 11 the marker scans
 * them before the next pause; 12 or not at all; 13 the marker reads a word before it notes that the line is in use; 14
 * objects that a thread has marked are not scanned. */

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef OBJECTS
#define OBJECTS 3
#endif
#ifndef PAUSES
#define PAUSES 3
#endif

#ifndef HOLES
#define HOLES 0
#endif

#define NONE OBJECTS

bool exists[OBJECTS], young[OBJECTS], unlogged[OBJECTS], marked[OBJECTS], grey[OBJECTS], logged[OBJECTS];
bool lined[OBJECTS]; /* its line is in use: the marker has read it, or is going to */
bool fresh[OBJECTS], filled[OBJECTS]; /* in a hole that a thread has; in one that it has left since the last pause */
bool whole[OBJECTS]; /* marked, but not scanned: it was in a hole, or a thread has marked it */
byte word[OBJECTS];
byte stack[2];
bool marking, stops, stopped; /* a cycle goes on; the world is to stop; it has */
bool looks;                   /* the marker looks at an object */

/* ---- the thread ---- */

/* The world may stop between any two operations, never within one; the marker may come between log and store. */
inline log(at, value) {
    if
    :: value != NONE && !young[at] && unlogged[at] && (young[value] || (marking && BROKEN != 2)) -> logged[at] = true
    :: else
    fi;
    if
    :: BROKEN == 8 -> drop_words()
    :: else
    fi
}

/* The buffer is full. What the thread has stored to an object that may have been scanned is marked. */
inline drop_words() {
    d_step {
        i = 0;
        do
        :: i < OBJECTS ->
            if
            :: !logged[i] || !marking || (word[i] != NONE && young[word[i]])
            :: else ->
                if
                :: word[i] != NONE && !marked[word[i]] && lined[i] ->
                    marked[word[i]] = true;
                    whole[word[i]] = BROKEN != 14
                :: else
                fi;
                logged[i] = false
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

inline allocate(to) {
    d_step {
        i = 0;
        do
        :: i < OBJECTS && exists[i] -> i++
        :: else -> break
        od;
        if
        :: i < OBJECTS ->
            exists[i] = true;
            young[i] = !HOLES;
            fresh[i] = HOLES;
            unlogged[i] = false;
            marked[i] = HOLES && marking; /* the whole line */
            word[i] = NONE;
            stack[to] = i
        :: else
        fi;
        i = 0
    }
}

inline settle(o) {
    if
    :: fresh[o] ->
        fresh[o] = false;
        unlogged[o] = BROKEN != 10;
        filled[o] = marking && BROKEN != 11 && BROKEN != 12;
        whole[o] = marking && BROKEN == 11
    :: else
    fi
}

proctype thread() {
    byte i;
end:
    do
    :: atomic { !stops && stack[0] != NONE -> stack[1] = word[stack[0]] }
    :: atomic { !stops && stack[0] != NONE -> i = stack[0]; stack[0] = word[i]; word[i] = NONE; i = 0 } /* moves it */
    :: atomic { !stops -> stack[1] = NONE }
    :: atomic { !stops && stack[0] != NONE -> word[stack[0]] = NONE } /* no barrier */
    :: atomic { !stops -> allocate(0) }
    :: atomic { !stops && stack[0] != NONE -> log(stack[0], stack[1]) };
       word[stack[0]] = stack[1]
    :: atomic { !stops && stack[1] != NONE -> log(stack[1], stack[0]) };
       word[stack[1]] = stack[0]
    :: atomic { !stops -> drop_words() }
    :: atomic { stops -> stopped = true };
       atomic { !stops -> stopped = false }
    od
}

/* Another thread, whose hole it is, goes on to the next one. */
proctype leaves() {
    byte o;
end:
    do
    :: atomic {
           !stopped && (fresh[0] || fresh[1] || fresh[OBJECTS - 2] || fresh[OBJECTS - 1]) ->
           do
           :: o < OBJECTS -> settle(o); o++
           :: else -> break
           od;
           o = 0
       }
    od
}

/* ---- the marker ---- */

/* Between the two steps there is a full fence. */
inline scan(o) {
    if
    :: BROKEN != 13 -> lined[o] = true; seen = word[o]
    :: else -> seen = word[o]; lined[o] = true
    fi;
    if
    :: seen != NONE && !young[seen] && !marked[seen] -> grey[seen] = true
    :: else
    fi;
    seen = NONE
}

inline look_at(o) {
    if
    :: whole[o] -> whole[o] = false; scan(o)
    :: else ->
        grey[o] = false;
        if
        :: !marked[o] ->
            lined[o] = BROKEN != 13;
            atomic {
                if
                :: !marked[o] -> marked[o] = true; mine = true
                :: else
                fi
            }
            if
            :: mine -> mine = false; scan(o)
            :: else
            fi
        :: else
        fi
    fi
}

#define IS_LEFT(o) (grey[o] || whole[o])

proctype marker() {
    byte o, seen = NONE;
    bool mine;
end:
    do
    :: atomic {
           marking && (!stops || BROKEN == 7) &&
               (IS_LEFT(0) || IS_LEFT(1) || IS_LEFT(OBJECTS - 2) || IS_LEFT(OBJECTS - 1)) ->
           looks = true;
           do
           :: IS_LEFT(o) -> break
           :: else -> o++
           od
       };
       look_at(o);
       atomic { looks = false; o = 0 }
    od
}

/* ---- pauses ---- */

/* What a root or a word refers to; new ones are put where the loop over them finds them. */
inline reach(object) {
    if
    :: object != NONE && young[object] -> copied[object] = true
    :: object != NONE && !young[object] && marking && !marked[object] -> grey[object] = true
    :: else
    fi
}

/* Young objects that were reached become old, and those that they refer to. */
inline copy_all() {
    changed = true;
    do
    :: changed ->
        changed = false;
        j = 0;
        do
        :: j < OBJECTS ->
            if
            :: copied[j] && young[j] ->
                changed = true;
                young[j] = false;
                unlogged[j] = BROKEN != 4;
                marked[j] = marking && BROKEN != 3;
                lined[j] = marked[j];
                if
                :: BROKEN == 9 && word[j] != NONE && !young[word[j]]
                :: else -> reach(word[j])
                fi
            :: else
            fi;
            j++
        :: else -> break
        od
    :: else -> break
    od;
    j = 0;
    do
    :: j < OBJECTS ->
        if
        :: young[j] -> exists[j] = false; young[j] = false; word[j] = NONE
        :: else
        fi;
        copied[j] = false;
        j++
    :: else -> break
    od
}

inline minor() {
    if
    :: BROKEN != 1 || begins ->
        reach(stack[0]);
        reach(stack[1])
    :: else -> /* the young ones all the same */
        if
        :: stack[0] != NONE && young[stack[0]] -> reach(stack[0])
        :: else
        fi;
        if
        :: stack[1] != NONE && young[stack[1]] -> reach(stack[1])
        :: else
        fi
    fi;
    j = 0;
    do
    :: j < OBJECTS ->
        if
        :: logged[j] && exists[j] && (BROKEN != 5 || (word[j] != NONE && young[word[j]])) -> reach(word[j])
        :: else
        fi;
        logged[j] = false;
        j++
    :: else -> break
    od;
    copy_all()
}

/* Everything that is left is marked, and what is not marked is freed. */
inline finish() {
    changed = BROKEN != 6;
    do
    :: changed ->
        changed = false;
        j = 0;
        do
        :: j < OBJECTS ->
            if
            :: IS_LEFT(j) -> changed = true; look_at(j)
            :: else
            fi;
            j++
        :: else -> break
        od
    :: else -> break
    od;
    j = 0;
    do
    :: j < OBJECTS ->
        if
        :: exists[j] && !marked[j] -> exists[j] = false; unlogged[j] = false; word[j] = NONE
        :: else
        fi;
        grey[j] = false;
        whole[j] = false;
        lined[j] = false;
        marked[j] = false;
        j++
    :: else -> break
    od;
    marking = false
}

inline check(object) {
    assert(object == NONE || exists[object])
}

inline check_all() {
    check(stack[0]);
    check(stack[1]);
    j = 0;
    do
    :: j < OBJECTS ->
        if
        :: exists[j] -> check(word[j])
        :: else
        fi;
        j++
    :: else -> break
    od
}

/* What was filled before this pause is for the marker. */
inline hand_over() {
    j = 0;
    do
    :: j < OBJECTS ->
        settle(j);
        whole[j] = whole[j] || filled[j];
        filled[j] = false;
        j++
    :: else -> break
    od
}

proctype pauses() {
    byte pause, j, seen = NONE;
    bool copied[OBJECTS], changed, begins, mine;
    do
    :: pause < PAUSES ->
        stops = true;
        stopped && (!looks || BROKEN == 7);
        d_step {
            pause++;
            hand_over();
            begins = !marking;
            if
            :: begins -> marking = true
            :: else
            fi;
            minor();
            j = 0
        }
        if
        :: !begins -> d_step { finish(); check_all(); j = 0 }
        :: true
        fi;
        stops = false;
        !stopped
    :: else -> break
    od
}

init {
    atomic {
        byte i;
        do
        :: i < OBJECTS ->
            exists[i] = i < OBJECTS - 1;
            unlogged[i] = i < OBJECTS - 1;
            word[i] = (i < OBJECTS - 2 -> i + 1 : NONE);
            i++
        :: else -> break
        od;
        stack[0] = 0;
        stack[1] = NONE;
        if
        :: true
        :: !HOLES -> exists[OBJECTS - 1] = true; young[OBJECTS - 1] = true; stack[1] = OBJECTS - 1 /* a new object */
        fi;
        run thread();
#if HOLES
        run leaves();
#endif
        run marker();
        run pauses()
    }
}
