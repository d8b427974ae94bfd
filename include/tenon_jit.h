/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A JIT: a session whose code is compiled when it is needed, by whatever compiler the client names (tenon_compiler.h):
 * LLVM in this process (tenon_codegen.h), a cache in front of it, or a cache alone (tenon_cache.h), with which a
 * program needs no LLVM.
 *
 * Modules of IR are added to libraries and compiled when something they define is looked up; in a lazy JIT, each
 * function is compiled when it is first called. Objects, archives, definitions, trackers and lookups work as in
 * tenon.h, and everything in a session can refer to everything else, however it was made. Any thread may call any
 * function; modules compile in parallel. Errors as in tenon.h. */

#ifndef TENON_JIT_H
#define TENON_JIT_H

#include "tenon_compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_jit;

/* A level of compilation. A lazy JIT with tiers compiles a function for the first of them when it is first called, and
 * for the next one, by an idle task or a thread of its own, when it has been called often (doc/TIERS.md). */
struct tn_tier {
    int opt_level;  /* 0..3, each higher than that of the tier before */
    uint32_t calls; /* 1..2^31-1: after so many calls of a function, the next tier is due; not used of the last tier */
    uint32_t loops; /* 0..2^31-1: so many turns of its loops count as a call; 0: none do */
};

/* What a JIT with tiers needs besides; programs that do not call tn_jit_tiering have none of it. */
struct tn_tiering;
TN_API const struct tn_tiering *tn_jit_tiering(void);

struct tn_jit_options {
    size_t size; /* sizeof(struct tn_jit_options) */
    /* The session to use, which must outlive the JIT. NULL: the JIT creates its own, with `threads` threads that
     * compile (0: the threads that need code compile it) and with `on_error` and `context` as in tn_session_options. */
    struct tn_session *session;
    size_t threads;
    void (*on_error)(void *context, const struct tn_error *error);
    void *context;
    const struct tn_compile_options *compile; /* NULL: the defaults; copied, with all that it points to */
    int lazy;                                 /* not 0: compile function by function */
    void (*on_failure)(void); /* lazy: called in place of functions that cannot be compiled, see tn_stub_options */
    tn_resolver *resolver;    /* for the main library, perhaps tn_resolve_allowed; NULL: no host symbols */
    void *resolver_context;
    int keep_ir; /* not 0: keep a copy of all IR until the JIT is destroyed, for tn_jit_build_image and tn_jit_view */
    const struct tn_compiler *compiler; /* its functions outlive the JIT and its session */
    /* Up to 4 tiers, copied; 0: one level, that of `compile`. They need a lazy JIT and tn_jit_tiering(). Modules that
     * are compiled in one piece have the level of `compile`. */
    const struct tn_tier *tiers;
    size_t tier_count;
    const struct tn_tiering *tiering;
    size_t tier_bytes;   /* objects of higher tiers may have so many bytes in all; 0: any number */
    unsigned tier_share; /* of one processor that compiling for higher tiers may take, in percent; 0: all of it */
    /* Not 0: code that has given way to a higher tier is freed, where that can be done (doc/TIERS.md), when attached
     * threads have been quiescent. So all threads that run code of the JIT have to be attached. */
    int retire_bodies;
    uint64_t session_flags; /* TN_SESSION_..., of the session that the JIT creates */
    /* tn_enable_managed_code of tenon_heap.h: modules may contain managed code. Called with the main library of the
     * session that the JIT creates. NULL: modules contain none, or the client has enabled it in the session. */
    int (*managed)(struct tn_library *library, struct tn_error *err);
};

/* Creates a JIT. TN_EINVAL (no compiler; lazy without on_failure; a session, and what belongs to one; options of
 * compilations that are out of range: what only the compiler knows, like names of CPUs, it says when a module is
 * added), and the errors of tn_session_create and of `managed`.
 * With tenon_codegen.h, `options` may be NULL or name no compiler: then it is LLVM in this process. */
TN_API int tn_jit_create(const struct tn_jit_options *options, struct tn_jit **out, struct tn_error *err);

/* Destroys the JIT, and its session if it created that. In a session that it was given, compiled code stays, and
 * modules not yet compiled are still compiled when needed. NULL is ignored. */
TN_API void tn_jit_destroy(struct tn_jit *jit);

/* `function` is called once when the process ends by exit, before the destructors of static objects that the compiler
 * has made until then. So it may call what compiles, as tn_run_finalizers may; functions of atexit may not
 * (doc/SESSION.md, "After exit"). The newest such function comes first; tn_jit_destroy forgets those of its JIT.
 * Threads of the program that make first calls have to end before the call of exit. TN_EINVAL (no function), TN_ENOMEM.
 */
TN_API int tn_jit_at_exit(struct tn_jit *jit, void (*function)(void *context), void *context, struct tn_error *err);

TN_API struct tn_session *tn_jit_session(const struct tn_jit *jit);
TN_API struct tn_library *tn_jit_library(const struct tn_jit *jit); /* the main library */

/* Which functions of a module are the code of an instance. Names are as in the module; local functions have none. */
struct tn_jit_instance {
    struct tn_instance *instance;
    const char *invoke;      /* NULL: invoke_address is used, */
    void *invoke_address;    /* an entry of the client */
    const char *specialized; /* NULL: none */
    uint32_t flags;          /* TN_INSTANCE_SPECSIG or 0 */
    const char *signature;   /* for tn_compiled; NULL: the function's own. Stays until the module is compiled */
};

struct tn_jit_module {
    size_t size;      /* sizeof(struct tn_jit_module) */
    const char *name; /* for diagnostics; copied */
    const void *ir;   /* text or bitcode; borrowed for the call, unless it `stays` */
    size_t length;
    void *llvm_module; /* instead of `ir`: a module as its compiler has it in memory, for tn_codegen_compiler an
                        * LLVMModuleRef of this program's LLVM; copied, not changed */
    struct tn_tracker
        *owner; /* NULL: the library. With instances, it must exist until these are published or fall back */
    const struct tn_jit_instance *instances; /* published once linked; fall back if that fails */
    size_t instance_count;
    int whole; /* not 0: compiled in one piece even in a lazy JIT */
    /* What stands for the IR's bytes in caches (tenon_cache.h), such as a version and a number that the client gives
     * out: modules of the same key have the same IR. NULL: the bytes themselves. */
    const void *key;
    size_t key_length;
    int stays; /* not 0: `ir` stays readable and unchanged until the JIT is destroyed, and need not be copied */
    /* That its code rests on, see below; read during the call. Such a module is in no image and no view. */
    struct tn_assumption *const *assumptions;
    size_t assumption_count;
    /* Of the library, whose symbols the module defines; NULL: that of the materializer that the thread runs. */
    struct tn_responsibility *responsibility;
};

/* Adds a module to a library of the JIT's session (NULL: the main library). The IR is read and verified immediately; in
 * a lazy JIT, bodies of functions in bitcode may be read and verified when they are first needed, which then fails if
 * they are invalid. In a lazy JIT, the address of a function is that of its stub. A module with code instances starts
 * to compile immediately, on the session's threads if it has any.
 *
 * A materializer of the library may add modules (tenon/materialize.h): what they define takes the place of symbols that
 * it owes, now, in this JIT's way: as stubs if that is lazy. The rest is still to be made. What was promised as weak or
 * hidden is as the module says. Without an owner, the module gets that of the materializer. After an error all symbols
 * are owed as before. Another thread that holds the responsibility (TN_LATER) has to name it. TN_EINVAL: it has ended,
 * or is another library's.
 *
 * TN_EINVAL, TN_ECOMPILE, TN_EFATAL, TN_EDUP, TN_EREMOVED, TN_ENOTSUP (a module in memory that the compiler cannot
 * write; a cache that lacks it, with no compiler behind; a type of the code is laid out in another way than the one of
 * this name in an open image, see tn_image_heaps), TN_ECANCELLED (an assumption is broken), TN_ENOMEM; after an error
 * nothing of the module remains. */
TN_API int tn_jit_add_module(struct tn_jit *jit, struct tn_library *library, const struct tn_jit_module *module,
                             struct tn_error *err);

/* Adds a module whose functions can be replaced while threads call them, or replaces functions of such a module. In the
 * library (NULL: the main library), each function that the module shows to others is bound to a stub, whose address
 * stays the same for ever; the rest of the module, such as its variables, is its own. The module sees the library, and
 * what that searches now. Its own functions call each other directly: to be replaced apart, each needs a module of its
 * own.
 *
 * A JIT that is not lazy compiles the module now, and after an error everything is as it was before. Then initializers
 * run, and each stub leads to the new function, or does when the client ends its redirection (tn_redirect with NULL). A
 * module none of whose functions is led to any more is retired, as by tn_tracker_retire: threads that call such
 * functions have to be attached, the caller counts as quiescent, and the call waits until the others have been. Modules
 * that are still led to stay until the session ends. `owner` and instances of the module have to be NULL and 0; a kept
 * copy of IR (keep_ir) counts as one of the library.
 *
 * A lazy JIT compiles a function of it at its first call. If that fails, on_error is called. If the module rests on
 * assumptions, the call goes on at the code on top of which it lies, and so do later ones; otherwise in on_failure, and
 * the next call tries again.
 *
 * Any thread. TN_EINVAL (also: the module shows no function), TN_EDUP (the library defines such a name otherwise; a
 * weak function gives way instead), and the errors of tn_jit_add_module and of tn_lookup. */
TN_API int tn_jit_replace(struct tn_jit *jit, struct tn_library *library, const struct tn_jit_module *module,
                          struct tn_error *err);

/* ---- assumptions ---- */

/* Something that holds for now, and that the IR of modules was made for: a class has no subclass, a global is constant,
 * a function is not defined anew. A module that lists assumptions is right as long as all of them hold, and all of its
 * code rests on them, at every tier (doc/TIERS.md, "Assumptions"). It needs something to call in its place:
 *
 * - With tn_jit_replace, it lies on top of the functions' other code, which stays: versions added by tn_jit_replace, or
 *   functions of a module that was added to this lazy JIT by tn_jit_add_module. A function that the library does not
 *   have otherwise is TN_EUNDEF, or if it is weak, seen by the module only. The client's tn_redirect wins until the
 *   client resets it.
 * - With tn_jit_add_module, it has code instances. Other code that calls its functions by their names rests on the same
 *   assumptions, and has to list them.
 *
 * Images and views (keep_ir) leave such modules out: they cannot tell whether the assumptions hold.
 *
 * A program that does not call tn_assumption_create contains nothing of this. */
struct tn_assumption;

/* Creates an assumption that holds, for modules in this session. Any thread. TN_ENOMEM. */
TN_API int tn_assumption_create(struct tn_session *session, struct tn_assumption **out, struct tn_error *err);

/* Breaks it, for ever. When this returns, no call that begins reaches code that rests on it. Stubs of functions lead to
 * the newest code below that rests on nothing broken, or to the first call of that. Code instances have their generic
 * entry; to publish them anew, the client calls tn_instances_withdraw first. What is being compiled is discarded when
 * it is done: the call that adds it returns TN_ECANCELLED, instances fall back, higher tiers are not entered.
 *
 * Calls that have begun run to their end, with what they call within their module; after a tn_quiesce none is left. The
 * code is freed with its tracker, or, if tn_jit_replace added it, by the next tn_jit_replace.
 *
 * Does nothing if it was broken; then too all is done when this returns. Waits for no thread, and takes no memory. Any
 * thread, also in functions of compilers and materializers; not in those of observers, which run under the session's
 * lock. Its session must exist. TN_EINVAL (NULL). */
TN_API int tn_assumption_break(struct tn_assumption *assumption, struct tn_error *err);

/* Gives up the client's handle. Modules that list it rest on it as before, and it cannot be broken any more. In any
 * order with the ends of JITs and sessions. NULL is ignored. */
TN_API void tn_assumption_destroy(struct tn_assumption *assumption);

/* tn_lookup in the main library. Errors as for tn_lookup and tn_compile. */
TN_API int tn_jit_lookup(struct tn_jit *jit, const char *name, void **address, struct tn_error *err);

/* Links a program as the system's linker does, all at once: the objects of a library (NULL: the main library), its
 * modules that have initializers, these symbols, and what all of them need. So the same definition of a name wins as
 * there; of what lookups link one after the other, no later definition can override an earlier one. Runs no
 * initializers and gives no addresses: tn_jit_run_initializers and lookups come next. Errors as for tn_lookup and
 * tn_compile; then nothing was linked. */
TN_API int tn_jit_link(struct tn_jit *jit, struct tn_library *library, const char *const *symbols, size_t count,
                       struct tn_error *err);

/* Compiles and links the modules of a library (NULL: the main library) that have initializers, in one link, and runs
 * these as tn_run_initializers does. Needed where the JIT is lazy: what a module's function needs need not be what its
 * initializers are in. After an error of a lookup none was run, and the next call tries all of them again. */
TN_API int tn_jit_run_initializers(struct tn_jit *jit, struct tn_library *library, int argc, char **argv, char **envp,
                                   struct tn_error *err);

/* ---- tiers ---- */

/* A function of a JIT with tiers. Counts are of what counters have told so far: each time a counter has run out. */
struct tn_jit_function {
    size_t size;        /* of this struct */
    const char *name;   /* as in the module; of several functions that are compiled together, the first */
    const char *module; /* its name */
    int tier;           /* that its stub leads to, counted from 0; before the first call, the one that it begins with */
    int opt_level;      /* of that tier */
    uint64_t calls;     /* at least so many, with turns of loops */
    uint64_t samples;   /* tn_jit_sample */
    uint64_t swaps;     /* how often its stub was led to a higher tier */
    int failed;         /* not 0: the code of why it cannot be compiled for a higher tier */
    struct tn_jit_tier_code {
        uint64_t bytes; /* of the object; 0: there is none */
        uint64_t ns;    /* that compiling it took */
        int was_cached; /* it was not compiled now */
    } tiers[4];
};

/* Asks for a tier of a function, whatever its counters say, and returns at once; it is compiled as hot functions are.
 * Does nothing if the function has reached it. The function is the newest of this name in the JIT. Any thread.
 * TN_EINVAL (no tiers, or none of this number), TN_EUNDEF (no module with tiers defines it), TN_ENOTSUP (it cannot be
 * compiled twice). */
TN_API int tn_jit_request_tier(struct tn_jit *jit, const char *function, int tier, struct tn_error *err);

/* Counts the function that has this address in its code as running; for the client's profiler. In signal handlers too.
 * Samples that come faster than they can be looked at are dropped. */
TN_API void tn_jit_sample(struct tn_jit *jit, const void *pc);

/* Calls `visit` for each function of each module with tiers, until it returns another value than 0, which is the
 * result. It may call anything but tn_jit_destroy. TN_EINVAL (no tiers). */
TN_API int tn_jit_each_function(struct tn_jit *jit, int (*visit)(void *context, const struct tn_jit_function *function),
                                void *context, struct tn_error *err);

/* ---- counts ---- */

struct tn_jit_stats {
    size_t size;                                      /* in: sizeof(struct tn_jit_stats) as the caller knows it */
    uint64_t modules;                                 /* added */
    uint64_t functions, taken;                        /* that can be compiled separately; those that were */
    uint64_t read_ns;                                 /* adding modules: reading, verifying, splitting */
    uint64_t extract_ns;                              /* copying functions out of modules */
    uint64_t parse_ns, optimize_ns, emit_ns, free_ns; /* as in struct tn_compile_stats, summed over threads */
    uint64_t raised, raised_bytes, raised_ns; /* compilations for higher tiers, their objects, the time they took */
    uint64_t baseline_functions, baseline_left, baseline_ns; /* as in struct tn_compile_stats */
};

TN_API void tn_jit_stats(const struct tn_jit *jit, struct tn_jit_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
