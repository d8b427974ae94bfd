/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The JIT, which knows compilers by struct tn_compiler only: options.c (options of compilations), jit.c (creating,
 * looking up, reports of compilations), module.c (adding and materializing modules), tags.c (what tells modules
 * apart), instance.c (publishing code instances), marker.c (symbols that stand for modules), replace.c (functions that
 * are replaced while threads call them), assumption.c (what such functions and instances rest on, only in programs
 * that name it), at_exit.c (functions of clients), what only programs with tiers have: tiers.c (which functions are
 * compiled again, and when), tiers_add.c (modules), tiers_retire.c (bodies that have given way), tiers_queue.c (what
 * counters tell), tiers_view.c (requests, samples, lists of functions), and ahead*.c (compiling ahead), which only
 * programs that call it have.
 * src/codegen/jit has LLVM as such a compiler, and what else needs LLVM: images of the modules that were added, and
 * views of their functions. */

#ifndef TENON_JIT_INTERNAL_H
#define TENON_JIT_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/at_exit.h"
#include "base/base.h"
#include "base/sha256/sha256.h"
#include "base/shown_name.h"
#include "base/tree.h"
#include "base/locked.h"
#include "cache/description.h"
#include "tenon_cpu.h"
#include "tenon_jit.h"

#pragma GCC visibility push(hidden)

struct tn__added_module;

struct tn_jit {
    atomic_size_t users; /* its owner and every module */
    struct tn_session *session;
    struct tn_library *library;
    bool owns_session, lazy, keeps_ir;
    void (*on_failure)(void);
    struct tn_compiler compiler;         /* the client's, as far as this version knows it */
    struct tn_compile_options compile;   /* what it points to is the JIT's own copy: */
    struct tn_compile_observer observer; /* calls the client's functions */
    struct tn_cpu native;
    char *strings;
    struct tn__jit_initializer *initializers; /* under tn__jit_lock, newest first */
    struct tn__jit_kept *kept;                /* the same; what is in it lives as long as the JIT */
    struct tn__tree *tags;                    /* under tn__jit_lock (tags.c) */
    struct tn_jit_stats counters;             /* tn__count */
    struct tn__jit_version *versions;         /* under tn__jit_lock */
    const struct tn_tiering *tiering;         /* NULL: no tiers */
    struct tn__tiers *tiers;                  /* tiers.h */
    struct tn__ahead *ahead;                  /* NULL: it does not compile ahead */
    struct tn__jit_at_exit *at_exit;          /* under tn__jit_lock; also those that were called */
};

struct tn__jit_at_exit {
    struct tn__jit_at_exit *next;
    struct tn__at_exit registered;
    void (*function)(void *context);
    void *context;
};

/* What a JIT that compiles ahead calls (ahead.h); of modules whose `ahead` is set. */
struct tn__ahead_hooks {
    /* A module was opened from this IR. NULL: nothing of it is compiled ahead. */
    struct tn__ahead_module *(*added)(struct tn_jit *jit, const struct tn__added_module *module,
                                      const struct tn_ir *ir);
    /* A part is needed for the first time. True: it was compiled ahead, and the object is the caller's. */
    bool (*take)(struct tn__ahead_module *module, size_t part, struct tn_buffer *object);
    /* The part's object is there; NULL: it had been compiled ahead. `begin`: when it was needed. */
    void (*made)(struct tn__ahead_module *module, size_t part, const struct tn_input *object, uint64_t begin);
    void (*closing)(struct tn__ahead_module *module);
    void (*end)(struct tn__ahead *ahead);  /* the client destroys the JIT */
    void (*free)(struct tn__ahead *ahead); /* and the last user is gone */
};

/* What tells a module apart from others of the same IR in its library (tags.c). */
struct tn__jit_tagged {
    bool is_tagged;
    uint8_t digest[TN__SHA256_SIZE];
    uint64_t copy;
};

/* A module that was added by tn_jit_replace, in a library of its own. */
struct tn__jit_version {
    struct tn__jit_version *next;
    struct tn_library *library;
    struct tn__jit_tagged tag;
    struct tn__claims *claims;       /* to cells of what it defines */
    bool is_busy;                    /* a thread is making or removing it */
    const struct tn__resting *rests; /* NULL: on nothing. To compare with: it may be gone */
};

/* A symbol that brings the initializers of a module with it when it is looked up. It stands for the module and is never
 * defined, so no other definition takes its place. */
struct tn__jit_initializer {
    struct tn__jit_initializer *next;
    uint64_t library; /* its number: a library that is destroyed may get the address of another one */
    char symbol[];    /* "": the module was compiled already */
};

/* A copy of a module's IR, for images. */
struct tn__jit_kept {
    struct tn__jit_kept *next;
    uint64_t library; /* its number */
    size_t length;
    bool whole; /* as in struct tn_jit_module */
    char *name; /* behind the IR */
    char ir[];
};

/* A module, until the last symbol that it promised is materialized or removed; with tiers, until it is removed. */
struct tn__added_module {
    atomic_size_t users;  /* of this struct */
    atomic_size_t makers; /* of the users, those that may compile: materializers, and the thread that adds the module */
    struct tn_jit *jit;
    void *module;              /* the compiler's, as long as there are makers */
    struct tn__tiered *tiered; /* NULL: it has no tiers (tiers.h) */
    struct tn__description description;
    const char *name;                        /* the module's own copy */
    char tag[TN__TAG_SIZE];                  /* what its local names end in, and what its counters are called by */
    const struct tn_jit_instance *instances; /* a copy, for the signatures in traces */
    size_t instance_count;
    struct tn__ahead_module *ahead; /* or NULL */
    struct tn__resting *rests;      /* NULL: on nothing (assumption.h) */
    struct tn__jit_part {
        struct tn__added_module *owner;
    } parts[]; /* materializers' contexts */
};

/* One lock for the lists of all JITs: it is held for a moment only. */
void tn__jit_lock(void);
void tn__jit_unlock(void);

/* FNV-1a. */
static inline uint64_t tn__jit_hash(uint64_t seed, const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

enum { TN__JIT_NAME_SIZE = 300 };

/* The name of a part: as a member of an archive would be called, without what lazy compilation has added. */
void tn__jit_name_part(const struct tn__added_module *module, size_t part, char name[TN__JIT_NAME_SIZE]);

void tn__jit_use(struct tn_jit *jit);
void tn__jit_release(struct tn_jit *jit);
/* Modules of a library that is going to be destroyed have no initializers to run. */
void tn__jit_forget_initializers(struct tn_jit *jit, const struct tn_library *library);

/* Passes what a compilation of the module reports on to the client and to the counters. `observer` and `watch` live as
 * long as the compilation. */
struct tn__jit_watch {
    struct tn_jit *jit;
    const struct tn__added_module *module;
    bool (*is_cancelled)(void *context); /* NULL, or asked before each pass; true: it and all later ones are skipped */
    void *context;
};
void tn__jit_watch(struct tn__jit_watch *watch, struct tn_compile_observer *observer);

/* Adds what a compilation took to the counters, but for times that the observer has added. */
void tn__jit_count(struct tn_jit *jit, const struct tn_compile_stats *stats);

/* Looks up the functions of an instance without waiting, and publishes it when they are there; if that fails, it falls
 * back. `rests` as in struct tn__added_module. */
void tn__jit_publish(struct tn_library *library, const struct tn_jit_module *module,
                     const struct tn_jit_instance *instance, struct tn__resting *rests);

/* tn_jit_add_module for options that were taken. Images and views find the module in `shown`. *tagged, which may be
 * NULL, has to be given to tn__jit_untag when nothing of the module remains. `rests` is the caller's, who has it leave
 * after an error. */
int tn__jit_add(struct tn_jit *jit, struct tn_library *library, const struct tn_library *shown,
                struct tn_jit_module *module, struct tn__resting *rests, struct tn__jit_tagged *tagged,
                struct tn_error *err);

/* How a part is compiled, as in struct tn_part_request, and what came of it. */
struct tn__jit_how {
    int opt_level;
    bool is_higher, is_idle;
    bool (*is_over)(void); /* NULL, or asked between passes whether the object is of no use any more */
    const char *counters;
    bool was_kept;       /* it was not compiled now; in: it has to be */
    bool is_refused;     /* the client did not want the object (tn_session_options.on_object) */
    const char **needed; /* of the symbols that the object may leave out, those that it must not */
    size_t needed_count;
    size_t bytes; /* of the object */
    uint64_t ns;  /* that this took */
};

/* How a part is compiled that is needed for the first time, of a module with this description and tag. */
struct tn__jit_how tn__jit_first(const struct tn_jit *jit, const struct tn__description *description, size_t part,
                                 const char *tag);

/* Compiles a part that a materializer has promised, and stages its object. */
int tn__jit_make(const struct tn__added_module *m, size_t part, struct tn__jit_how *how,
                 struct tn_responsibility *responsibility, struct tn_error *err);
const struct tn_module_symbol *tn__jit_symbols(const struct tn__added_module *m, size_t part, size_t *count);
/* Compiles and links the modules of a library that have initializers. Errors as for tn_lookup. */
int tn__jit_link_initializers(struct tn_jit *jit, struct tn_library *library, struct tn_error *err);
/* Users and makers; the former stay. A maker is a user as well. */
void tn__jit_hold(struct tn__added_module *m, bool makes);
void tn__jit_drop(struct tn__added_module *m, bool makes);

/* A symbol that stands for a module until what its owner has of it goes; both names are copied. `end` is called then,
 * or not at all after an error: TN_ENOMEM, TN_EDUP, TN_EREMOVED (marker.c). */
struct tn__jit_marker {
    const char *symbol, *module;
    void (*end)(void *context);
    void *context;
};
int tn__jit_add_marker(struct tn_library *library, const struct tn__jit_marker *marker, struct tn_tracker *owner,
                       struct tn_error *err);
/* Whether the library still has it: false from the moment when the owner's names go, before `end` is called. */
bool tn__jit_is_marked(struct tn_library *library, const char *symbol, const void *context) TN__LOCKED;
/* Types of the module's code are compared with those of open images until what its owner has of it goes. TN_ENOTSUP
 * (another type of this name), TN_ENOMEM, TN_EREMOVED. */
int tn__jit_enter_types(struct tn_library *library, const struct tn__added_module *module, struct tn_tracker *owner,
                        struct tn_error *err);

/* What tiers do in a JIT; tn_jit_tiering answers it. */
struct tn_tiering {
    int (*open)(struct tn_jit *jit, const struct tn_jit_options *options, struct tn_error *err);
    void (*close)(struct tn_jit *jit); /* the client destroys the JIT */
    void (*free)(struct tn_jit *jit);  /* nothing of it is left */
    /* Promises the bodies of higher tiers of a module that was divided. */
    int (*promise)(struct tn__added_module *m, struct tn_library *library, struct tn_tracker *owner,
                   struct tn_error *err);
    /* How a part with functions is compiled when it is first called, and what came of that. */
    void (*begin)(const struct tn__tiers *tiers, const struct tn__description *description, size_t part,
                  const char *tag, struct tn__jit_how *how);
    void (*end)(const struct tn__added_module *m, size_t part, const struct tn__jit_how *how);
};

/* Gives a module its number among those of the library with the same hash. False: out of memory. */
bool tn__jit_tag(struct tn_jit *jit, const struct tn_library *library, const uint8_t digest[TN__SHA256_SIZE],
                 uint64_t *copy);
/* Takes it back: nothing of the module remains. */
void tn__jit_untag(struct tn_jit *jit, const struct tn_library *library, const struct tn__jit_tagged *tagged);
void tn__jit_free_tags(struct tn_jit *jit);

/* Its first member. */
static inline const struct tn__ahead_hooks *tn__ahead_hooks_of(const struct tn_jit *jit)
{
    return (const struct tn__ahead_hooks *)(const void *)jit->ahead;
}

#pragma GCC visibility pop
#endif
