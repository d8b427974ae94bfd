/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Observers: who is told of what is linked and removed.
 *
 * The client's own functions, and what is built in: a table of functions that answers which one lies at an address, GDB's
 * interface for JIT compilers, perf's files. All of it is off until asked for, costs a link one test of a pointer then, and is
 * part of a program only where it is named.
 *
 *     tn_observe_functions(session, &err);
 *     ...
 *     struct tn_place place = {.size = sizeof place};
 *     if (!tn_symbolize(session, address, &place, &err))
 *         printf("%s+%#lx of %s\n", place.function, (unsigned long)place.offset, place.object); */

#ifndef TENON_API_OBSERVE_H
#define TENON_API_OBSERVE_H

#include "tenon/base.h"
#include "tenon/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_session;

struct tn_range {
    uint64_t address, size; /* size 0: there is none */
};

struct tn_function {
    const char *name; /* as in the object: C++ names are mangled */
    uint64_t address, size;
};

#define TN_SECTION_DISCARDED UINT64_MAX

/* An object that was linked; or lazy and redirectable functions, whose stubs are an object called "stubs" where they were
 * defined together and lie side by side. All pointers are valid during the call only, but for `library` and `name`, which
 * last until the object is removed. */
struct tn_linked_object {
    size_t size; /* of this struct */
    uint64_t id; /* no two objects that exist have the same; not 0 */
    const char *library, *name;
    struct tn_range zones[TN_ZONES]; /* code with its stubs, read-only data with the GOT, writable data */
    /* What follows is known only when the object is linked. */
    const void *bytes; /* the object as it was added; NULL for a section of the client's, and for stubs */
    size_t length;
    const struct tn_function *functions; /* what is code and has a name, by address; one for each; NAME@stub: NAME's */
    size_t function_count;
    const uint64_t *section_addresses; /* by section number: 0 if it is not loaded, TN_SECTION_DISCARDED if another */
    size_t section_count;              /* object's copy of it was taken; thread-local ones: see symbol_addresses */
    const uint64_t *symbol_addresses; /* by symbol number; of a thread-local one the distance from the thread pointer */
    size_t symbol_count;
};

/* Called under the session's lock or by the thread that destroys it, so they must not call the session (tn_symbolize may
 * be called). Any function may be NULL. */
struct tn_observer {
    size_t size; /* sizeof(struct tn_observer) */
    void *context;
    /* These objects are in place and nobody can have called them yet. 0, or a code of enum tn_code, with which the link, or
     * the definition, fails then; `err`, never NULL, may be filled. One call per link or definition. */
    int (*linked)(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err);
    /* They are about to be removed. Called also if it failed after `linked` had accepted them. */
    void (*removed)(void *context, const struct tn_linked_object *const *objects, size_t count);
    /* The session ends; everything was removed. */
    void (*closed)(void *context);
};

/* Tells the observer, which is copied, of all that is linked, and of stubs that are defined, from now on. TN_EINVAL,
 * TN_ENOMEM. */
TN_API int tn_add_observer(struct tn_session *session, const struct tn_observer *observer, struct tn_error *err);

/* Keeps the names and addresses of the functions of what is linked from now on, for tn_symbolize: 12 bytes a function
 * and the names. TN_ENOMEM; links may fail with it too. */
TN_API int tn_observe_functions(struct tn_session *session, struct tn_error *err);

/* Pointers are valid until the object is removed. */
struct tn_place {
    size_t size; /* in: sizeof(struct tn_place) as the caller knows it */
    const char *library, *object;
    const char *function;      /* NAME@stub: of a stub; NULL: code without a name, and the members below are 0 */
    uint64_t function_address; /* where it begins */
    uint64_t offset;           /* from there */
    uint64_t function_size;
};

/* Tells which function of which loaded object lies at `address`, in logarithmic time; session NULL: in any session. Knows
 * what tn_observe_functions kept. Not for signal handlers. TN_EUNDEF: nothing known lies there. */
TN_API int tn_symbolize(const struct tn_session *session, const void *address, struct tn_place *place,
                        struct tn_error *err);

/* Shows what is linked from now on to GDB and LLDB through GDB's interface for JIT compilers (GDB manual, "JIT Compilation
 * Interface"): one entry per link, with symbols, unwind information and, of objects compiled with -g, source lines.
 * Debuggers find the interface by the names of __jit_debug_register_code and __jit_debug_descriptor in the program's
 * symbol table: strip it with --keep-symbol for both, or export both (-Wl,--export-dynamic-symbol).
 * Breakpoints cannot be written to memory of TN_STRATEGY_DUAL, so the session goes over to another strategy; where the
 * system permits none, only hardware breakpoints work. TN_EINVAL (it is too late for that: something is linked already),
 * TN_ENOMEM. Links may fail with TN_ENOMEM too. */
TN_API int tn_observe_gdb(struct tn_session *session, struct tn_error *err);

enum tn_perf {
    TN_PERF_MAP = 0, /* perf-PID.map: names; perf looks for it in /tmp */
    TN_PERF_JITDUMP, /* jit-PID.dump: names, code, lines; for `perf record -k mono` and `perf inject --jit` */
};

/* Writes what is linked from now on to a file for perf in `folder` (NULL: /tmp); after a fork, the child writes one of its
 * own. perf applies the map to anonymous memory only, so the session then leaves TN_STRATEGY_DUAL as for tn_observe_gdb.
 * TN_EINVAL (map: something is linked already), TN_EIO, TN_EPERM (also where the folder forbids executable mappings, for
 * jitdump), TN_ENOMEM; links may fail with the last three too. */
TN_API int tn_observe_perf(struct tn_session *session, enum tn_perf kind, const char *folder, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
