/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling ahead: ahead.c (what the JIT tells it, and how it compiles), ahead_candidates.c (what comes next),
 * ahead_order.c (the order of first calls in stores).
 *
 * Threads that need code share no lock with the one that compiles ahead. They push events onto a stack, and exchange a
 * word for each part: what was compiled ahead is put there, and taken from there. Everything else belongs to the one
 * idle task that is under way at a time. It opens each module a second time, so that even the compiler's locks are its
 * own. */

#ifndef TENON_JIT_AHEAD_H
#define TENON_JIT_AHEAD_H

#include "jit/jit.h"
#include "tenon_ahead.h"

#pragma GCC visibility push(hidden)

/* An object that was compiled ahead. */
struct tn__ahead_object {
    struct tn_buffer bytes;
    uint64_t ns;
};

struct tn__ahead_name {
    uint64_t hash; /* tn__jit_hash */
    uint32_t part;
    bool is_hidden;
};

/* A module, until the JIT and the idle tasks have let go of it. Only `gone` and `parts[].ready` are for all threads;
 * events hand the rest over to the idle task. */
struct tn__ahead_module {
    struct tn__ahead_module *next;
    struct tn__ahead *ahead;
    atomic_bool gone; /* the JIT's module has ended: nothing of it can be needed any more */
    bool is_broken;   /* it could not be opened again */
    struct tn_ir ir;
    uint8_t digest[TN__SHA256_SIZE];
    char tag[TN__TAG_SIZE];
    char *text; /* copies of the IR, unless it stays, and of the name */
    struct tn__description description;
    struct tn__ahead_name *names; /* of what it defines, by hash */
    void *module;                 /* the compiler's; NULL: not yet opened */
    uint32_t *order;              /* the parts that were called, in this order */
    uint32_t called, placed;      /* how many; what of the last order has been passed by a call */
    struct tn_buffer last_order;  /* of the last run, as it was read */
    struct tn__ahead_part {
        _Atomic(struct tn__ahead_object *) ready; /* tn__ahead_taken: a call has compiled it, or has taken this */
        uint64_t *callees;                        /* hashes of what its object refers to */
        uint32_t callee_count;
        uint32_t place; /* in the last order, from 1; 0: none */
        uint64_t rank;  /* the best one that it was given; 0: none */
        bool was_seen, has_failed, is_listed;
    } parts[];
};

enum { TN__AHEAD_GAP_UNIT = 4 };

extern struct tn__ahead_object tn__ahead_taken;

/* Something that a thread tells the idle task; in the order in which they happened once they are taken off. */
struct tn__ahead_event {
    struct tn__ahead_event *next;
    enum { TN__AHEAD_ADDED, TN__AHEAD_CALLED, TN__AHEAD_CLOSED, TN__AHEAD_PREFETCH } kind;
    struct tn__ahead_module *module;
    size_t part;
    struct tn_prefetch *handle;
    struct tn_buffer bytes; /* called: the object, unless it was compiled ahead; prefetch: names */
};

struct tn_prefetch {
    atomic_size_t users;
    atomic_bool cancelled;
};

/* A part that may be compiled. */
struct tn__ahead_candidate {
    uint64_t rank; /* the smallest is first */
    struct tn__ahead_module *module;
    uint32_t part;
    uint32_t generation;        /* 1: a guess, 2: a guess upon that ...; 0: none */
    struct tn_prefetch *handle; /* used; or NULL */
};

struct tn__ahead {
    struct tn__ahead_hooks hooks; /* first: what the JIT knows of it */
    struct tn_jit *jit;
    struct tn_ahead_options options;
    uint32_t process;
    atomic_bool ended;
    atomic_uint running; /* idle tasks: two for a moment, when one has started the next */
    atomic_bool written; /* the orders of first calls are */
    _Atomic(struct tn__ahead_event *) events;
    atomic_int work;                     /* 0: no task is under way, 1: one is, 2: and there are events behind it */
    struct tn__ahead_module *modules;    /* the newest first */
    struct tn__ahead_candidate *waiting; /* by rank */
    size_t waiting_count, waiting_space;
    uint64_t event_number;
    /* how many of the first candidates are left to callers, which are about to compile them; in units */
    unsigned gap;
    atomic_uint_fast64_t waiting_parts, waiting_bytes, waiting_ns; /* compiled and not called yet */
    struct tn_ahead_stats counters;
};

/* ---- ahead_candidates.c: by the idle task ---- */

/* A part has been needed: what it calls may be next. `bytes`: its object, NULL if that was seen before. */
void tn__ahead_called(struct tn__ahead *ahead, struct tn__ahead_module *module, uint32_t part,
                      const struct tn_buffer *bytes);
/* Notes what an object refers to. */
void tn__ahead_look(struct tn__ahead_module *module, uint32_t part, const void *bytes, size_t length);
/* Makes candidates of what a part refers to; `generation` is theirs. */
void tn__ahead_guess(struct tn__ahead *ahead, struct tn__ahead_module *module, uint32_t part, unsigned generation);
void tn__ahead_prefetch(struct tn__ahead *ahead, const struct tn_buffer *names, struct tn_prefetch *handle);
/* All of the last order. */
void tn__ahead_follow(struct tn__ahead *ahead, struct tn__ahead_module *module);
/* Takes the next one off. False: there is none, for now. */
bool tn__ahead_next(struct tn__ahead *ahead, struct tn__ahead_candidate *next);
/* Forgets the candidates of a module; NULL: all candidates. */
void tn__ahead_forget(struct tn__ahead *ahead, const struct tn__ahead_module *module);
void tn__ahead_release(struct tn_prefetch *handle); /* NULL is ignored */

/* ---- ahead_order.c ---- */

void tn__ahead_read_order(struct tn__ahead_module *module);
/* Keeps the order of this run, and of earlier ones what was not left unused twice. */
void tn__ahead_write_order(struct tn__ahead_module *module);

#pragma GCC visibility pop
#endif
