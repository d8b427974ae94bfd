/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A module taken apart, so that its functions are compiled one by one, when they are called, and side by side. Part 0 holds
 * the data: variables, initializers, and the functions that cannot be told from them. Each other part is one function, or
 * several that know addresses inside each other. A part is extracted as bitcode, at a cost that depends on the part and
 * what it refers to, not on the module; who compiles it reads it into a context of his own.
 *
 * Not locked: one thread at a time. */

#ifndef TENON_CODEGEN_SPLIT_H
#define TENON_CODEGEN_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon_codegen.h"

struct LLVMOpaqueModule; /* LLVM's, behind LLVMModuleRef */

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

struct tn__split;

enum {
    TN__SPLIT_WEAK = 1,   /* gives way to another definition */
    TN__SPLIT_HIDDEN = 2, /* for this module, or its library, only */
};

/* Stands between the name of something that was local and the module's number, and at the end of a body's name. */
#define TN__SPLIT_MARK ".tenon."
#define TN__SPLIT_BODY "$body"

struct tn__split_symbol {
    const char *name; /* lives as long as the split */
    const char *of;   /* NULL, or the function that this is another name of */
    const char *body; /* functions: what they are called where names stand for stubs; NULL: everything else */
    unsigned flags;
    uint32_t managed_registers,
        managed_stack; /* functions: arguments that are references, as in struct tn_lazy_symbol */
};

/* Lets each member of a COMDAT group give way on its own. */
void tn__split_leave_groups(struct LLVMOpaqueModule *module);

/* Takes a verified module apart, which is changed by that and stays the caller's, who disposes of the split first.
 * `number` tells modules of one library from each other and becomes part of the names of what was local. `whole`: the module
 * stays as it is, as one part that can only be listed. */
struct tn__split *tn__split_create(struct LLVMOpaqueModule *module, uint64_t number, bool whole);
void tn__split_dispose(struct tn__split *split);

/* True if the linker has to see the object to know what it defines: inline assembly at file level may define symbols, common
 * ones are merged. Such a module is whole in any case. */
bool tn__split_is_opaque(const struct tn__split *split);
bool tn__split_is_whole(const struct tn__split *split);

size_t tn__split_parts(const struct tn__split *split); /* 1 or more */
bool tn__split_has_initializers(const struct tn__split *split);
/* What a part defines; of part 0 perhaps nothing. */
const struct tn__split_symbol *tn__split_symbols(const struct tn__split *split, size_t part, size_t *count);

struct tn__extraction {
    bool stubs; /* functions are defined by the names of their bodies: their plain names are stubs. Not in part 0 */
    unsigned inline_size; /* functions of up to so many instructions come along for their callers to inline */
    /* NULL, or called with the part when it is complete. */
    void (*finish)(void *context, struct LLVMOpaqueModule *part);
    void *context;
};

/* How much work a part is: instructions and blocks, for each version of a function (image/multiversion.h). */
uint64_t tn__split_weight(const struct tn__split *split, size_t part);

/* Puts parts together: part i goes into group_of[i], of `groups`. Part 0 belongs to group 0. Lists of symbols are gone then,
 * the new parts are numbered like the groups, and other names of functions are defined with them. */
void tn__split_regroup(struct tn__split *split, const size_t *group_of, size_t groups);

/* The module that was taken apart. */
struct LLVMOpaqueModule *tn__split_module(const struct tn__split *split);

/* A part other than the data as a module of the same context, which is the caller's. */
struct LLVMOpaqueModule *tn__split_copy(struct tn__split *split, size_t part, const struct tn__extraction *how);

/* Writes a part as bitcode. False if memory is out. */
bool tn__split_extract(struct tn__split *split, size_t part, const struct tn__extraction *how, struct tn_buffer *out);

/* From now on what is extracted calls the bodies of this part's functions, past their stubs. */
void tn__split_compiled(struct tn__split *split, size_t part);

/* Takes over what is compiled from another split of the same IR. */
void tn__split_inherit(struct tn__split *split, const struct tn__split *from);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
