/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What leads a function (doc/REDIRECT.md; src/link/redirect/cell.c, first_call.c, raise.c, src/jit/replace.c) for spin:
 * the word that callers jump through, and the claims on it. A thread of tiers raises a lazy function and retires the
 * body that has given way; another thread puts two versions on top, each of which may turn out not to be there at its
 * first call, breaks their assumptions in either order and retires them; a client redirects the function to code of its
 * own, resets that, redirects again and retires that code; two attached threads call. No call reaches code that was
 * freed, or nothing at all; what the client redirected stays so until it says otherwise; and the highest claim that is
 * valid leads.
 *
 * BROKEN=n leaves out or exchanges one step, and the check must find that: 1 a raise does not look where the word
 * leads; 2 a new version takes the word from the client; 3 so does the end of a version; 4 a reset leads to the first
 * code, whatever version there is; 5 so does the end of the client's code; 6 a version that ends below the client comes
 * back with the reset; 7 a first call stores what it has found over what has come meanwhile; 8 the removal of a body or
 * of the client's code does not wait; 9 a first call does not look again when a body has given way meanwhile; 10 the
 * client's code is freed where the word leads to it; 11 a version that is not there fails the call; 12 a version that
 * ends below another one comes back with the end of that; 13 a version is freed before the word leads elsewhere; 14 a
 * version that is not there fails the call if it has ended meanwhile. */

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef CALLS /* of the first of two threads; the other calls once */
#define CALLS 1
#endif
#ifndef TIERS /* whether there are any */
#define TIERS 1
#endif
#define VERSIONS 2

mtype = { nothing, entry, low, high, own, version };

mtype word = entry;      /* where the stub leads, */
byte number;             /* to which version */
mtype looks = low;       /* what a first call looks up */
bool named = true;       /* the lower body can be found */
bool clients;            /* claims: the client's; */
bool tier;               /* that of the higher body, until calls look it up; */
bool valid[VERSIONS + 1]; /* those of versions; the later ones are higher */

bool freed_low, freed_own;
bool linked[VERSIONS + 1], freed[VERSIONS + 1], failed[VERSIONS + 1];
bool runs[2];            /* since their last quiescent points */
bool redirected;         /* what the client believes */

init {
    atomic {
        if
        :: TIERS -> run tiers()
        :: else
        fi;
        run versions();
        run client();
        run caller(0, CALLS);
        run caller(1, 1);
        run monitor()
    }
}

/* ---- the cell: each is one step under the session's lock ---- */

#define TOP (valid[2] -> 2 : (valid[1] -> 1 : 0))

inline settle() {
    number = TOP;
    word = (number -> version : (tier -> high : entry))
}

/* What led ends: a function that is looked up again begins with its first body. */
inline lead_below() {
    tier = tier && TOP;
    settle()
}

inline take_off(v) {
    valid[v] = (BROKEN == 12 && TOP != v);
    if
    :: clients && BROKEN == 6 -> valid[v] = true
    :: clients && BROKEN == 3 -> lead_below()
    :: clients && BROKEN != 6 && BROKEN != 3
    :: !clients && word == version && number == v -> lead_below()
    :: !clients && !(word == version && number == v)
    fi
}

inline fail(v) {
    valid[v] = false;
    if
    :: !clients && word == version && number == v -> settle()
    :: else
    fi
}

inline wait_for(i) {
    if
    :: BROKEN != 8 -> !runs[i]
    :: else
    fi
}

/* ---- what must hold at any moment ---- */

proctype monitor() {
end:
    atomic {
        !(!redirected || word == own) || !(clients || !TOP || (word == version && number == TOP)) ||
            !(clients || TOP || word == entry || word == low || word == high) ->
        assert(false)
    }
}

/* ---- the thread of tiers, and that of removals ---- */

proctype tiers() {
    bool raised;
    atomic {
        raised = (word == entry || word == low || BROKEN == 1);
        if
        :: raised -> tier = true; word = high; number = 0
        :: else
        fi
    };
    if
    :: raised ->
        atomic { named = false; looks = high; tier = false };
        atomic {
            if
            :: word == low -> lead_below()
            :: else
            fi
        };
        wait_for(0);
        wait_for(1);
        freed_low = true
    :: else
    fi
}

/* ---- tn_jit_replace, assumptions ---- */

inline cover(v) {
    atomic {
        valid[v] = true;
        if
        :: !clients || BROKEN == 2 -> settle()
        :: else
        fi
    }
}

inline end_version(v) {
    if
    :: BROKEN == 13 -> freed[v] = true
    :: else
    fi;
    atomic { take_off(v) }
}

proctype versions() {
    cover(1);
    cover(2);
    if
    :: true -> end_version(1); end_version(2)
    :: true -> end_version(2); end_version(1)
    fi;
    wait_for(0);
    wait_for(1);
    atomic { freed[1] = true; freed[2] = true }
}

/* ---- a client ---- */

inline redirect() {
    atomic { word = own; number = 0; clients = true; redirected = true }
}

proctype client() {
    redirect();
    atomic {
        redirected = false;
        clients = false;
        lead_below();
        if
        :: BROKEN == 4 -> word = entry
        :: else
        fi
    };
    redirect();
    redirected = false; /* its code is being retired: */
    atomic {
        if
        :: word == own && BROKEN != 10 ->
            clients = false;
            lead_below();
            if
            :: BROKEN == 5 -> word = entry
            :: else
            fi
        :: else
        fi
    };
    wait_for(0);
    wait_for(1);
    freed_own = true
}

/* ---- attached threads ---- */

/* The first call of the lazy function. */
inline first_call() {
    name = looks;
    do
    :: at != entry -> break
    :: else ->
        atomic { /* the lookup, which links the lower body if need be */
            if
            :: name == high -> at = high
            :: name == low && named -> at = low
            :: else
            fi
        };
        atomic { /* under the lock again */
            if
            :: word != entry && BROKEN != 7 -> at = word; to = number
            :: looks != name && BROKEN != 9 && (word == entry || BROKEN == 7) -> name = looks; at = entry
            :: (word == entry || BROKEN == 7) && (looks == name || BROKEN == 9) ->
                assert(at != entry);
                word = at; number = 0
            fi
        }
    od
}

/* Of a version, which is linked then, or is not there; then the call goes on at what is below. */
inline first_call_of_version() {
    atomic {
        if
        :: linked[to]
        :: !linked[to] && !failed[to] -> linked[to] = true
        :: !linked[to] ->
            failed[to] = true;
            if
            :: BROKEN == 11 || (BROKEN == 14 && !valid[to]) -> at = nothing
            :: else -> fail(to); at = word; to = number
            fi
        fi
    }
}

inline reach() {
    atomic { at = word; to = number };
    do
    :: at == entry -> first_call()
    :: at == version && !linked[to] -> first_call_of_version()
    :: else -> break
    od
}

#define IS_THERE                                                                                                       \
    (at != nothing && !(at == low && freed_low) && !(at == own && freed_own) && !(at == version && freed[to]))

proctype caller(byte me; byte turns) {
    byte to;
    mtype at = nothing, name = nothing;
    do
    :: turns > 0 ->
        turns--;
        runs[me] = true;
        reach();
        assert(IS_THERE);
        atomic { /* so it was there throughout */
            assert(IS_THERE);
            runs[me] = false;
            at = nothing; /* fewer states */
            to = 0;
            name = nothing
        }
    :: else -> break
    od
}
