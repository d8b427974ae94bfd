/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy and redirectable functions.
 *
 * A lazy function is linked when it is first called. Its name is bound to a stub; the stub's address is the function's
 * address for everyone, never changes, and differs from that of the body. The first call looks up the target and
 * everything it needs, preserving the arguments, and runs the initializers of what it links before the function is
 * entered, as any lookup does (tenon/lookup.h); any number of threads may make it at the same time. Later calls cost
 * one indirect jump. If the target cannot be found or linked, the session's `on_error` is told why, and the call
 * continues in `on_failure` with the original arguments, as if that had been called instead: it may return in the
 * function's place or throw through the caller. The next call tries again. A redirectable function leads wherever the
 * client says.
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
    /* Which arguments are references to managed objects: a collector can then find and update them while the function
     * is looked up. In managed_registers, bit i is the register of the i-th integer argument (x86-64: rdi rsi rdx rcx
     * r8 r9; AArch64: x0 to x7; RISC-V: a0 to a7) and another bit the static chain (x86-64: 6, r10; AArch64: 15, x15;
     * RISC-V: 8, t2); in managed_stack, bit i is the i-th word of the arguments in memory. */
    uint32_t managed_registers, managed_stack;
};

struct tn_stub_options {
    size_t size;              /* sizeof(struct tn_stub_options) */
    struct tn_tracker *owner; /* a tracker of the library that the names are defined in; NULL: the library */
    void (*on_failure)(void); /* called in place of a function that cannot be had, with its arguments */
};

/* Defines `count` lazy functions in `library` that lead to symbols of `targets`, a library of the same session,
 * possibly the same library. Either all are defined or none. They are removed with their owner; no thread may then call
 * them or be in a first call, because stubs are reused for other functions. TN_EINVAL (also: on_failure is missing, a
 * function would lead to itself), TN_EDUP, TN_EREMOVED, TN_ENOTSUP, TN_ENOMEM, TN_EPERM, and what an observer
 * answers. */
TN_API int tn_define_lazy(struct tn_library *library, const struct tn_lazy_symbol *symbols, size_t count,
                          struct tn_library *targets, const struct tn_stub_options *options, struct tn_error *err);

/* Adds an object whose functions are lazy: each of its global functions becomes a stub, and the first call of one links
 * the object with what it needs. References to these functions, its own too, lead to the stubs, so that pointers are
 * equal and tn_redirect reaches all callers; the bodies are called NAME$body. A reference that the compiler made to the
 * function's section or to a local name of it leads to the body. Variables, and functions found when they are linked
 * (STT_GNU_IFUNC), get no stub: needing one links the object, and so does tn_link. Weak functions give way as weak
 * definitions do; of a COMDAT group that another object has brought, the functions are those of that object. A stub
 * that gave way does not come back when what it gave way to is removed. Initializers run before the first function is
 * entered. The owner is that of the options, or of the input. If a first call fails, on_error and on_failure are called
 * as for other lazy functions, and the next call tries again. Errors as for tn_add_object and tn_define_lazy; after an
 * error nothing of the object stays behind. */
TN_API int tn_add_lazy_object(struct tn_library *library, const struct tn_input *input,
                              const struct tn_stub_options *options, struct tn_error *err);

/* Defines a function that leads to `address` until it is redirected. If `address` is NULL it leads nowhere yet, and
 * calls fail as those of a lazy function do. on_failure may be NULL if the function never leads nowhere. Errors as for
 * tn_define_lazy. */
TN_API int tn_define_redirectable(struct tn_library *library, const char *name, const void *address,
                                  const struct tn_stub_options *options, struct tn_error *err);

/* Makes a redirectable or lazy function lead to `address` from now on, until the client says otherwise or the code
 * there is retired. NULL resets it: it leads to its newest version, if tn_jit_replace has made one; otherwise a lazy
 * function is looked up again at its next call, and a redirectable one leads nowhere (doc/REDIRECT.md). Threads may
 * call it meanwhile; they reach the old or the new function. TN_EUNDEF (no such name), TN_EREMOVED, TN_EINVAL (it has
 * no stub, it would lead to itself, on_failure is missing). */
TN_API int tn_redirect(struct tn_library *library, const char *name, const void *address, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
