/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tiers (doc/TIERS.md): tiers.c has functions compiled again and leads their stubs to the new code, tiers_add.c makes
 * what it has to know of a module, tiers_retire.c frees bodies that have given way, tiers_queue.c takes what code and
 * signal handlers tell, without a lock, tiers_view.c answers the client. */

#ifndef TENON_JIT_TIERS_H
#define TENON_JIT_TIERS_H

#include "jit/counter.h"
#include "jit/jit.h"

#pragma GCC visibility push(hidden)

enum { TN__TIERS_MOST = 4 };
#define TN__TIERED_MARKER "tenon.alive."

/* Of a JIT. */
struct tn__tiers {
    struct tn__list listed; /* all that are open, under the lock of tiers.c, like what follows `share` */
    struct tn_jit *jit;
    size_t count;
    struct tn_tier tiers[TN__TIERS_MOST];
    uint64_t most_bytes; /* UINT64_MAX: any number */
    unsigned share;      /* percent */
    bool retires;        /* bodies that have given way */
    bool is_open;
    unsigned uses;                /* threads that work for it; its end waits for them */
    bool has_task;                /* to compile; it may not have begun */
    uint64_t rests_until;         /* then the next one may be handed out (`share`) */
    struct tn__tiered_part *busy; /* what is being compiled: it has a use of the module, the library and the JIT */
    struct tn__tiered_part *left; /* what was being compiled when the process forked; likewise */
    uint64_t bytes;               /* of objects of higher tiers */
    struct tn__list modules;      /* struct tn__tiered, oldest first */
};

/* Of a module; it stays as long as the module's struct. Numbers are under the lock of tiers.c. */
struct tn__tiered {
    struct tn__tree node;   /* by number, which counters name; until a moment after the library has lost the module */
    struct tn__list listed; /* likewise */
    char marker[sizeof TN__TIERED_MARKER + TN__TAG_SIZE]; /* a symbol that the library has as long as the module */
    struct tn__added_module *m;
    struct tn__tiers *tiers;
    struct tn_library *library;
    struct tn__tiered_part {
        struct tn__tiered *of;
        struct tn__list queued; /* to be compiled again */
        bool is_queued;
        uint8_t first, now, wanted; /* tiers: of the first call, of its newest code, to be compiled for */
        int failed;
        uint32_t heat; /* the hottest comes first */
        uint64_t calls, samples, swaps;
        /* By tier. */
        struct tn__tiered_body {
            struct tn__tiered_part *part; /* a materializer's context */
            struct tn_jit_tier_code code;
            uint64_t begin, end; /* its code, once there was a sample in it */
        } bodies[TN__TIERS_MOST];
    } parts[];
};

/* What is told: by a counter, or as a sample (module 0). */
struct tn__told {
    uint64_t module;
    uint64_t value;           /* sample: the address */
    const struct tn_jit *jit; /* sample */
    uint32_t part, times;     /* counter: how often it has told so far */
    int level;
};

/* ---- tiers.c ---- */

void tn__tiers_lock(void);
void tn__tiers_unlock(void);

int tn__tiers_open(struct tn__tiers *tiers, struct tn_error *err);
void tn__tiers_close(struct tn__tiers *tiers);
/* Empties the queue: notes what counters have told, and answers samples. */
size_t tn__tiers_take(struct tn__told *samples, size_t space);
/* The tiers of a JIT, which is not destroyed until the end; NULL: it was. */
struct tn__tiers *tn__tiers_begin(const struct tn_jit *jit);
void tn__tiers_end(struct tn__tiers *tiers);
/* A module begins, under a number of its own, and ends. In the child of a fork, the former starts the thread anew. */
void tn__tiers_enter(struct tn__tiered *tiered);
void tn__tiers_leave(struct tn__tiered *tiered);
/* Under the lock: the part is to be compiled for a tier at least, the hottest first. */
void tn__tiers_want(struct tn__tiered_part *part, uint8_t tier, uint32_t heat);
/* Starts the thread if there is none, and wakes it. TN_ENOMEM. */
int tn__tiers_wake(struct tn_error *err);

/* ---- tiers_add.c ---- */

/* The name of a body for a tier, in `arena`; NULL: out of memory. */
const char *tn__tiered_name(const struct tn__tiered_part *part, const struct tn_module_symbol *function, size_t tier,
                            struct tn__arena *arena);
static inline size_t tn__tiered_number(const struct tn__tiered_part *part)
{
    return (size_t)(part - part->of->parts);
}
/* Iterates over the symbols of a part that have stubs and bodies. */
#define TN__EACH_BODY(s, tiered_part)                                                                                  \
    size_t count_of_##s;                                                                                               \
    for (const struct tn_module_symbol *                                                                               \
             s = tn__jit_symbols((tiered_part)->of->m, tn__tiered_number(tiered_part), &count_of_##s),                 \
            *end_of_##s = s + count_of_##s;                                                                            \
         s < end_of_##s; s++)                                                                                          \
        if (s->body)

/* ---- tiers_retire.c ---- */

/* After the part's stubs were led to a tier: frees the code of lower ones, if the client wants that and it can be. */
void tn__tiers_retire(struct tn__tiered_part *part, size_t tier);

/* ---- tiers_queue.c ---- */

/* Lock-free, and safe in signal handlers. False: there is no space. */
bool tn__told_push(const struct tn__told *told);
/* Under the lock of tiers.c. */
bool tn__told_pop(struct tn__told *told);
/* Changes whenever something was pushed; for tn__os_wait. */
extern uint32_t tn__told_events;
/* Called by code whose counter has run out, in an entry (loop 0) or at the end of a turn of a loop. */
void tn__told(struct tn__counter *counter, uint32_t loop);

/* ---- tiers_view.c ---- */

/* Looks at samples; not under the lock. */
void tn__tiers_sample(const struct tn__told *samples, size_t count);

#pragma GCC visibility pop
#endif
