/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Observers: notified of what is linked and removed.
 *
 * An observer is either the client's own or one of those built in: a table of functions for symbolizing addresses,
 * GDB's interface for JIT compilers, and files for perf. All are off by default, when they cost a link one test of a
 * pointer, and become part of a program only if it names them.
 *
 *     tn_observe_functions(session, &err);
 *     ...
 *     struct tn_place place = {.size = sizeof place};
 *     if (!tn_symbolize(session, address, &place, &err))
 *         printf("%s+%#lx of %s\n", place.function, (unsigned long)place.offset, place.object); */

#ifndef TENON_API_OBSERVE_H
#define TENON_API_OBSERVE_H

#include "tenon/base.h"
#include "tenon/format.h"
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

/* A linked object; or lazy and redirectable functions that were defined together, whose adjacent stubs form an object
 * called "stubs". All pointers are valid only during the call, except `library` and `name`, which are valid until the
 * object is removed. */
struct tn_linked_object {
    size_t size; /* of this struct */
    uint64_t id; /* unique among existing objects; not 0 */
    const char *library, *name;
    struct tn_range zones[TN_ZONES]; /* code with its stubs, read-only data with the GOT, writable data */
    /* The remaining members are set only when the object is linked. */
    const void *bytes; /* the object as it was added; NULL for a section of the client, and for stubs */
    size_t length;
    const struct tn_function *functions; /* named code by address, one name each; NAME@stub: a stub of NAME */
    size_t function_count;
    /* By section number: 0 if the section is not loaded, TN_SECTION_DISCARDED if another object's copy of it was taken,
     * and for thread-local sections, as for thread-local symbols, the distance from the thread pointer; 2^62 and
     * more if they have none, because they are not in the reserve. */
    const uint64_t *section_addresses;
    size_t section_count;
    const uint64_t *symbol_addresses; /* by symbol number */
    size_t symbol_count;
    const struct tn_format *format; /* of `bytes`; NULL if there are none */
};

/* The functions are called under the session's lock, or by the thread that destroys the session, so they must not call
 * it (except for tn_symbolize). Any of them may be NULL. */
struct tn_observer {
    size_t size; /* sizeof(struct tn_observer) */
    void *context;
    /* These objects are in place, and nothing can have called them yet. One call per link or definition of stubs.
     * Returns 0, or a code of enum tn_code with which that then fails; it may fill in `err`, which is never NULL. */
    int (*linked)(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err);
    /* These objects are about to be removed. Also called if the link or definition fails after `linked` has accepted
     * them. */
    void (*removed)(void *context, const struct tn_linked_object *const *objects, size_t count);
    /* The session ends; everything has been removed. */
    void (*closed)(void *context);
};

/* Adds an observer, which is copied; it is notified of every object linked, and of stubs defined, from now on.
 * TN_EINVAL, TN_ENOMEM. */
TN_API int tn_add_observer(struct tn_session *session, const struct tn_observer *observer, struct tn_error *err);

/* Keeps the names and addresses of all functions linked from now on, for tn_symbolize: 12 bytes per function plus its
 * name. TN_EINVAL, TN_ENOTSUP (memory of another process), TN_ENOMEM, with which links may fail too. */
TN_API int tn_observe_functions(struct tn_session *session, struct tn_error *err);

/* Pointers are valid until the object is removed. */
struct tn_place {
    size_t size; /* in: sizeof(struct tn_place) as the caller knows it */
    const char *library, *object;
    const char *function;      /* NAME@stub for a stub; NULL: unnamed code, and the members below are 0 */
    uint64_t function_address; /* its start */
    uint64_t offset;           /* of `address` from the start */
    uint64_t function_size;
};

/* Finds the function of a loaded object that contains `address`, among those kept by tn_observe_functions, in
 * logarithmic time. session NULL: searches all sessions. Not async-signal-safe. TN_EINVAL, TN_EUNDEF (nothing known
 * lies there). */
TN_API int tn_symbolize(const struct tn_session *session, const void *address, struct tn_place *place,
                        struct tn_error *err);

/* Shows everything linked from now on to GDB and LLDB through GDB's interface for JIT compilers (GDB manual, "JIT
 * Compilation Interface"): one entry per link, with symbols, unwind information and, for objects compiled with -g,
 * source lines. Debuggers find the interface by the symbols __jit_debug_register_code and __jit_debug_descriptor in the
 * program's symbol table, so keep both when stripping (strip --keep-symbol) or export both
 * (-Wl,--export-dynamic-symbol). Breakpoints cannot be written to memory of TN_STRATEGY_DUAL, so the session switches
 * to another strategy; if the system permits none, only hardware breakpoints work. TN_EINVAL (also: something is linked
 * already, which is too late for that), TN_ENOTSUP (memory of another process), TN_ENOMEM, with which links may fail
 * too. */
TN_API int tn_observe_gdb(struct tn_session *session, struct tn_error *err);

enum tn_perf {
    TN_PERF_MAP = 0, /* perf-PID.map: names; perf looks for it in /tmp */
    TN_PERF_JITDUMP, /* jit-PID.dump: names, code, lines; for `perf record -k mono` and `perf inject --jit` */
};

/* Records everything linked from now on in a file for perf in `folder`. NULL: /tmp for the map, where perf looks for
 * it, and for jitdump /tmp/tenon-UID, which only this user can enter. Only this user can read the file; a file of the
 * same name is replaced if it is this user's own, and else the call fails. After a fork, the child writes a file of its
 * own. perf applies the map only to anonymous memory, so for TN_PERF_MAP the session leaves TN_STRATEGY_DUAL, as for
 * tn_observe_gdb. TN_EINVAL (also, for the map: something is linked already), TN_ENOTSUP (memory of another process),
 * TN_EIO, TN_EPERM (for jitdump also: the folder forbids executable mappings), TN_ENOMEM; links may fail with the last
 * three too. */
TN_API int tn_observe_perf(struct tn_session *session, enum tn_perf kind, const char *folder, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
