/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy and redirectable functions.
 *
 * A lazy function is linked when it is first called. Its name stands for a stub, whose address is the function's for whoever
 * asks: it stays the same and differs from that of the body. The first call looks the target up, with all it needs, while
 * the arguments are kept; any number of threads may make it at once. Later calls cost one indirect jump. If the target cannot
 * be had, the session's error reporter is told why, and the call goes to `on_failure`, with its arguments and as if that had
 * been called instead: it may return in the function's place, or throw through the caller. The next call tries again. A
 * redirectable function leads where the client says.
 *
 *     struct tn_lazy_symbol parse = {.name = "parse"};
 *     struct tn_stub_options options = {.size = sizeof options, .on_failure = not_found};
 *     tn_define_lazy(library, &parse, 1, bodies, &options, &err);
 *     ...
 *     tn_redirect(library, "parse", (const void *)faster_parse, &err); */

#ifndef TENON_API_LAZY_H
#define TENON_API_LAZY_H

#include "tenon/base.h"
#include "tenon/define.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_library;
struct tn_tracker;

struct tn_lazy_symbol {
    const char *name;   /* copied */
    const char *target; /* copied; NULL: the same name, in the other library */
    uint64_t flags;     /* TN_SYMBOL_... */
    /* Which arguments are references to managed objects; a collector then finds, and may change, them while the function is
     * looked up. Bit i of the first stands for the register of the i-th integer argument (x86-64: rdi rsi rdx rcx r8 r9), bit
     * 6 for the static chain (r10); bit i of the second for the i-th word of the arguments in memory. */
    uint32_t managed_registers, managed_stack;
};

struct tn_stub_options {
    size_t size;              /* sizeof(struct tn_stub_options) */
    struct tn_tracker *owner; /* of the library that gets the names; NULL: the library */
    void (*on_failure)(void); /* called with the arguments of the call that fails; what it does is up to the client */
};

/* Defines `count` lazy functions in `library`, that lead to what `targets` has; both are libraries of one session and may
 * be the same. All are defined or none. They are removed with their owner: no thread may call them any more, or be
 * in a first call; the stubs will serve other functions.
 * TN_EINVAL (also: on_failure is missing, a function would lead to itself), TN_EDUP, TN_EREMOVED, TN_ENOTSUP, TN_ENOMEM,
 * TN_EPERM, and what an observer answers. */
TN_API int tn_define_lazy(struct tn_library *library, const struct tn_lazy_symbol *symbols, size_t count,
                          struct tn_library *targets, const struct tn_stub_options *options, struct tn_error *err);

/* Defines a function that leads to `address` until tn_redirect. With NULL it leads nowhere yet, and calls of it fail as
 * those of a lazy function do; on_failure may be missing if that never happens. Errors as tn_define_lazy. */
TN_API int tn_define_redirectable(struct tn_library *library, const char *name, const void *address,
                                  const struct tn_stub_options *options, struct tn_error *err);

/* Lets a redirectable or lazy function lead to `address` from now on, or, with NULL, to where it led at first: a
 * lazy one is looked up again. Threads may call it meanwhile; they come to the old function or to the new one.
 * TN_EUNDEF (no such name), TN_EREMOVED, TN_EINVAL (it has no stub, it would lead to itself, on_failure is missing). */
TN_API int tn_redirect(struct tn_library *library, const char *name, const void *address, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
