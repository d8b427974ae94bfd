/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A module divided into parts, so that its functions can be compiled one by one, when they are called, and in parallel.
 * Part 0 contains the data: variables, initializers, and functions that cannot be separated from them. Each other part
 * is one function, or several that know addresses inside each other. A part is extracted as bitcode, at a cost that
 * depends on the part and what it refers to, not on the module; it is compiled in a context of its own.
 *
 * Not locked: one thread at a time. */

#ifndef TENON_CODEGEN_SPLIT_H
#define TENON_CODEGEN_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon_codegen.h"

struct LLVMOpaqueModule; /* LLVM's, behind LLVMModuleRef */
struct LLVMOpaqueValue;  /* behind LLVMValueRef */

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

struct tn__split;

enum {
    TN__SPLIT_WEAK = 1,   /* gives way to another definition */
    TN__SPLIT_HIDDEN = 2, /* for this module, or its library, only */
    /* Functions (TN__SYMBOL_... of cache/description.h says the same): */
    TN__SPLIT_FIXED = 4,  /* cannot be compiled twice */
    TN__SPLIT_ONCE = 8,   /* has loops, and is called once */
    TN__SPLIT_LEVEL = 16, /* times the level that the module wants for it, counted from 1; 0: any */
    /* Of modules that are whole: the object may lack it. */
    TN__SPLIT_DISCARDABLE = 128,
    TN__SPLIT_CALLABLE = 256, /* a function, or an alias or indirect one, that has no body of its own */
};

struct tn__split_symbol {
    const char *name; /* lives as long as the split */
    const char *of;   /* the function that this is an alias of, or NULL */
    const char *body; /* the name of a function's body, where plain names are those of stubs; NULL: not a function */
    unsigned flags;
    uint32_t managed_registers,
        managed_stack; /* functions: arguments that are references, as in struct tn_lazy_symbol */
};

/* Dissolves COMDAT groups: each member gives way to other definitions by itself. */
void tn__split_leave_groups(struct LLVMOpaqueModule *module);

/* Divides a verified module, which is changed by that. It stays the caller's, who disposes of the split before it. The
 * bodies of functions may have been left unread; then they are read when a part that needs them is copied.
 * `tag` distinguishes the modules of one library and becomes part of the names of what was local. `whole`: the module
 * stays as it is, as one part that can only be listed. Parts and their objects depend on nothing but module, tag and
 * how they are extracted: not on what was compiled before, threads, or addresses. */
struct tn__split *tn__split_create(struct LLVMOpaqueModule *module, const char *tag, bool whole);
void tn__split_dispose(struct tn__split *split);

/* True if only the object tells what it defines: module-level assembly may define symbols, and common symbols are
 * merged. Such a module is whole in any case. */
bool tn__split_is_opaque(const struct tn__split *split);
bool tn__split_is_whole(const struct tn__split *split);

size_t tn__split_parts(const struct tn__split *split); /* 1 or more */
bool tn__split_has_initializers(const struct tn__split *split);
/* The symbols that a part defines; part 0 may define none. */
const struct tn__split_symbol *tn__split_symbols(const struct tn__split *split, size_t part, size_t *count);

struct tn__extraction {
    /* Functions are defined under the names of their bodies, as their plain names are stubs. Not in part 0. */
    bool stubs;
    int tier; /* not 0: bodies have the names of a higher tier of this level (base/shown_name.h) */
    /* Functions of up to that many instructions are copied along, to be inlined, and so many of these instructions for
     * each function of the part. */
    unsigned inline_size, inline_budget;
    /* NULL, or called with the part when it is complete. */
    void (*finish)(void *context, struct LLVMOpaqueModule *part);
    void *context;
};

/* How much work a part is: instructions and blocks, for each version of a function (image/multiversion.h). */
uint64_t tn__split_weight(const struct tn__split *split, size_t part);

/* Merges parts: part i goes into group_of[i], of `groups`; part 0 belongs to group 0. The new parts are numbered like
 * the groups and have no lists of symbols; aliases of functions are defined with these. */
void tn__split_regroup(struct tn__split *split, const size_t *group_of, size_t groups);

/* Copies a part other than the data into a module of the same context, which is the caller's. NULL: a body that was
 * left unread is invalid; *problem, which lives as long as the split, says in what way. */
struct LLVMOpaqueModule *tn__split_copy(struct tn__split *split, size_t part, const struct tn__extraction *how,
                                        const char **problem);

/* True if the variable is a constant that is copied to its users; all else that is local and shared has to be made more
 * than local in a module that is whole, before functions are copied one by one. */
bool tn__split_is_copied(const struct tn__split *split, struct LLVMOpaqueValue *variable);
/* Copies one function, also of a module that is whole, as tn__split_copy does a part. */
struct LLVMOpaqueModule *tn__split_copy_function(struct tn__split *split, struct LLVMOpaqueValue *function,
                                                 const struct tn__extraction *how);

/* Writes a part as bitcode. False: with a problem as above, or out of memory without one. */
bool tn__split_extract(struct tn__split *split, size_t part, const struct tn__extraction *how, struct tn_buffer *out,
                       const char **problem);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
