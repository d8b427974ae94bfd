/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A module that stays in memory and is compiled part by part (module.c over split.cpp). Any thread may call any
 * function, except to open and to close it. */

#ifndef TENON_CODEGEN_MODULE_H
#define TENON_CODEGEN_MODULE_H

#include "codegen/parts/split.h"
#include "jit/counter.h"

#pragma GCC visibility push(hidden)

struct tn__module;

/* Fills an empty buffer with bitcode of a module of the caller's. TN_EFATAL, TN_ENOMEM. */
int tn__module_write(struct LLVMOpaqueModule *module, struct tn_buffer *out, struct tn_error *err);

/* Reads IR text or bitcode, verifies it and fits it to the target; `tag` as for tn__split_create, copied; `whole`: it
 * is not divided. `options` were taken and
 * outlive the module. TN_EINVAL, TN_ECOMPILE, TN_EFATAL, TN_ENOMEM. */
int tn__module_open(const char *name, const void *ir, size_t length, const struct tn_compile_options *options,
                    const char *tag, bool whole, struct tn__module **out, struct tn_error *err);
void tn__module_close(struct tn__module *module); /* NULL is ignored */

bool tn__module_is_whole(const struct tn__module *module); /* it is compiled in one piece */
/* Its parts, for questions about them, until it is compiled as a whole. */
const struct tn__split *tn__module_split(const struct tn__module *module);

/* The types that it was compiled with, as bytes (base/types.h). */
const struct tn_buffer *tn__module_types(const struct tn__module *module);

/* How a part is compiled. */
struct tn__part_compilation {
    const char *name; /* for observers */
    struct tn__extraction how;
    int opt_level;                       /* in place of that of the module's options */
    const struct tn__counters *counters; /* NULL: calls are not counted */
    bool is_background; /* it holds the module's lock for moments only, however many threads have compiled so far */
    const struct tn_compile_observer *observer;
};

/* Compiles a part of a divided module; *extract_ns: how long copying it took. `stats` has its size set, or is NULL.
 * Errors as tn_compile. */
int tn__module_compile_part(struct tn__module *module, size_t part, const struct tn__part_compilation *how,
                            struct tn_buffer *out, uint64_t *extract_ns, struct tn_compile_stats *stats,
                            struct tn_error *err);

/* Symbols that the object has to define although the module does not use them. */
struct tn__needed {
    const char *const *names;
    size_t count;
};

/* Compiles a whole module, once, and disposes of its IR. */
int tn__module_compile_whole(struct tn__module *module, const struct tn__needed *needed,
                             const struct tn_compile_observer *observer, struct tn_buffer *out,
                             struct tn_compile_stats *stats, struct tn_error *err);

#pragma GCC visibility pop
#endif
