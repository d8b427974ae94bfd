/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Several versions of functions, for several CPUs, in one image (doc/IMAGE.md has the rules).
 *
 * The whole module is annotated first (annotate.cpp): what is decided there is the same for all shards. Each shard is
 * then multiplied by itself (multiversion.cpp), by these attributes of its definitions and declarations alone:
 *
 *     "tenon.mv.clones"="5"     hexadecimal set of the targets that have a body of their own. Without it there is one
 *                               body, for what all targets have in common
 *     "tenon.mv.slot"="N"       which slot leads to the version that was chosen at load time
 *     "tenon.mv.entry"          its name stands for whichever version was chosen: it is public, or its address is taken
 *     "tenon.mv.public"         programs may look it up
 *     "tenon.mv.weak"           gives way to definitions elsewhere: never called past its name
 *     "tenon.mv.replaceable"    the program may redirect it while it runs: the same, and nothing is known of its body
 *     "tenon.mv.opaque"="N"     it may contain copies of another image's bodies or constants: the same. N is a number
 *     "tenon.mv.cell"="N"       it is replaceable or opaque, and this cell says where it leads: the entry, which it
 *                               always has, reads the cell first
 *     "tenon.mv.foreign"        a copy of another image's body
 *     "tenon.mv.kept"           it is opaque, and its IR is kept
 *     "tenon.mv.shared"         kept IR names it
 *     "tenon.mv.accessor"="F"   of a thread-local variable that kept IR names: the function F has its address
 *
 * The body for target N is NAME.IMAGE.N, hidden; that for target 0 keeps the name unless that is an entry. Public
 * entries and variables have a second name, which no other file may define: NAME.IMAGE.entry, hidden. The function of
 * cell N has more hidden names: its entry IMAGE.entry.N and, without a slot, its body IMAGE.body.N. */

#ifndef TENON_CODEGEN_MULTIVERSION_H
#define TENON_CODEGEN_MULTIVERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llvm-c/Types.h>

#include "tenon/base.h"

struct tn__split;

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* What a function has, and what makes a target want a version of its own. */
enum {
    TN__MV_MATH = 4,       /* fused or inexact arithmetic */
    TN__MV_LOOP = 8,       /* a loop */
    TN__MV_SIMD = 16,      /* vectors */
    TN__MV_CPU = 256,      /* questions about the CPU */
    TN__MV_FLOAT16 = 512,  /* half, */
    TN__MV_BFLOAT16 = 1024 /* bfloat */
};

enum { TN__MV_TARGETS = 64, TN__MV_NO_SLOT = -1 };

/* Functions of up to that many instructions are copied into every shard that calls them. */
enum { TN__MV_INLINE_SIZE = 40 };

struct tn__mv_target {
    const char *cpu, *features; /* LLVM's */
    bool clone_all;             /* has a version of every function; target 0 always has */
    bool opt_size, min_size;
    unsigned wanted; /* TN__MV_...; of a target that is not clone_all */
    size_t base;     /* whose versions such a target uses where it has none */
};

struct tn__mv {
    const char *image; /* its symbol */
    const struct tn__mv_target *targets;
    size_t count;                /* 1 to TN__MV_TARGETS */
    struct tn__mv_target common; /* what all targets have: for functions that have one version only */
};

/* Links `other`, which may be of another context and is used up, into `module`. What both define is an error, unless
 * `other_counts`. False: the diagnostics of the module's context say why. */
bool tn__image_join(LLVMModuleRef module, LLVMModuleRef other, bool other_counts);

/* True if the module defines the name for others; *is_local: it defines it for itself. */
bool tn__mv_defines(LLVMModuleRef module, const char *name, bool *is_local);

/* Finds the public functions whose attributes "tenon.signature" have these values (NULL: that of none): their names,
 * as the module has them, or NULL. Of several, the one of the name in `names` before. */
void tn__mv_find_signatures(LLVMModuleRef module, const char *const *signatures, size_t count, const char **names);

/* Calls `visit` with the name of each function and variable that is used and has to be defined elsewhere; not of those
 * that the module's assembly names, because it may define them. */
void tn__mv_each_undefined(LLVMModuleRef module, void (*visit)(void *context, const char *name), void *context);

/* Makes everything but `roots`, which are defined, and what they lead to go away. */
void tn__mv_keep(LLVMModuleRef module, const char *const *roots, size_t count);

/* Initializers and finalizers run without regard to which copy of their data is linked. Linkers keep the order of those
 * alone. */
void tn__mv_drop_keys(LLVMModuleRef module);

/* Makes code load the address of a variable from word `number` of the array that `words` names, which another module
 * defines. False: an initial value has the address; *owner: the variable with that value. *used: code has used it. */
bool tn__mv_load_address(LLVMModuleRef module, const char *symbol, const char *words, size_t number, bool *used,
                         const char **owner);

/* Marks these public functions as replaceable, or all that are public if `count` is 0. False: *refused cannot be. */
bool tn__mv_mark_replaceable(LLVMModuleRef module, const char *const *names, size_t count, const char **refused);

struct tn__mv_counts {
    size_t slots, cells;
};

/* Annotates a whole module. */
struct tn__mv_counts tn__mv_annotate(LLVMModuleRef module, const struct tn__mv *mv);

/* Multiplies the functions of an annotated module, or of a part of one. */
void tn__mv_multiply(LLVMModuleRef module, const struct tn__mv *mv);

/* A function that loaders have to know. */
struct tn__mv_function {
    const char *name;
    uint64_t clones; /* targets with a body of their own; 1: one for all */
    int64_t slot;    /* or TN__MV_NO_SLOT */
    int64_t cell;    /* or TN__MV_NO_SLOT */
    int64_t opaque;  /* its number (tn__mv_mark_opaque), or TN__MV_NO_SLOT */
    bool is_public;
    bool entry_is_body; /* the body of target 0 has the plain name */
};
typedef bool tn__mv_visit(void *context, const struct tn__mv_function *function);
/* Visits them in the module's order until `visit` answers false. */
bool tn__mv_each(LLVMModuleRef module, tn__mv_visit *visit, void *context);

/* ---- bodies.cpp ---- */

/* Visits the public functions and constants that others may copy until `visit` answers false. `version` is the
 * compiler's. The digest is not 0. */
typedef bool tn__mv_visit_body(void *context, const char *name, bool is_constant, uint64_t digest);
bool tn__mv_each_body(LLVMModuleRef module, const char *version, tn__mv_visit_body *visit, void *context);

/* ---- foreign.cpp ---- */

/* What the images that this one depends on offer. */
struct tn__mv_offered {
    bool (*has_symbol)(void *context, const char *name);
    /* 1: this body, or constant; 0: none. A code: another one, which is an error. `is_weak`: there may be others. */
    int (*has_body)(void *context, const char *name, bool is_constant, bool is_weak, uint64_t digest);
};
/* Makes of a module copies for others: of bodies and constants that an image offers and all of whose symbols are
 * offered, or known in `to`. All else is left out. Returns 0, or the first code that has_body has answered. */
int tn__mv_offer_copies(LLVMModuleRef module, LLVMModuleRef to, const char *version,
                        const struct tn__mv_offered *offered, void *context);
/* Links those that are needed into a module; *changed: there were some. False: the diagnostics of the module's context
 * say why. */
bool tn__mv_take_copies(LLVMModuleRef module, const struct tn_buffer *bitcode, bool *changed);
/* Marks the functions that may contain a copy, and numbers them from 0. Visits what each may contain until `visit`
 * answers false. */
typedef bool tn__mv_visit_copy(void *context, size_t function, const char *name, bool is_constant);
bool tn__mv_mark_opaque(LLVMModuleRef module, tn__mv_visit_copy *visit, void *context);
/* Makes what opaque functions share with others more than local, in a module that is not divided. `split`, if their IR
 * is kept, says which constants they share in spite of that. */
void tn__mv_share(LLVMModuleRef module, const char *image, const struct tn__split *split);

/* ---- kept.cpp ---- */

/* Marks the opaque functions whose IR can be kept, and what of the image that names, before functions are annotated. */
void tn__mv_mark_kept(LLVMModuleRef module, const char *image);

struct tn__mv_kept {
    uint64_t cell;
    uint32_t registers, stack; /* as in struct tn_lazy_symbol */
    bool is_common;            /* it has one version, for what all targets have */
    struct tn_buffer bitcode;  /* of a module with this function; the visitor's */
};
struct tn__mv_visit_kept {
    bool (*function)(void *context, const struct tn__mv_kept *kept);
    /* A symbol that the IR names. `is_own`: the image defines it. May be called several times for one. */
    bool (*name)(void *context, const char *name, bool is_own, bool is_hidden);
};
/* Visits their IR, in an annotated module that was divided, until a visitor answers false. False: out of memory. */
bool tn__mv_each_kept(LLVMModuleRef module, struct tn__split *split, const struct tn__mv_visit_kept *visit,
                      void *context);

/* ---- items.cpp ---- */

/* A public symbol that the module defines, or one that it declares and uses. */
struct tn__mv_symbol {
    const char *name;
    const char
        *text;     /* of a function: its type, with what its ABI depends on; else the model of thread-local storage */
    uint64_t size; /* of a variable; of one that is declared, 0: unknown */
    uint32_t alignment;
    bool is_function, is_thread_local, is_defined;
    bool is_open; /* a declaration that does not tell the function's type */
};
typedef bool tn__mv_visit_symbol(void *context, const struct tn__mv_symbol *symbol);
/* Visits them in the module's order until `visit` answers false. */
bool tn__mv_each_symbol(LLVMModuleRef module, tn__mv_visit_symbol *visit, void *context);

/* Whether the module defines this public symbol. */
bool tn__mv_has_public(LLVMModuleRef module, const char *name);

/* Visits the nodes of `!tenon.facts` until `visit` answers false. NULL: one does not consist of two strings. */
typedef bool tn__mv_visit_fact(void *context, const char *key, const char *digest);
bool tn__mv_each_fact(LLVMModuleRef module, tn__mv_visit_fact *visit, void *context);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
