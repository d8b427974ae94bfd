/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a compiler says of a module: its parts, the symbols that these define, and the types that it was compiled with.
 * Caches keep it as bytes (doc/CACHE.md, "Descriptions"). Bytes may come from a file, and structs from any compiler, so
 * both are checked. */

#ifndef TENON_CACHE_DESCRIPTION_H
#define TENON_CACHE_DESCRIPTION_H

#include "base/base.h"
#include "tenon_compiler.h"

#pragma GCC visibility push(hidden)

enum {
    TN__DESCRIBED_WHOLE = 1,        /* one part, compiled as it is */
    TN__DESCRIBED_OPAQUE = 2,       /* only the object tells what it defines */
    TN__DESCRIBED_INITIALIZERS = 4, /* part 0 has some */
    TN__DESCRIBED_ALL = 7,
};

enum {
    TN__SYMBOL_WEAK = 1,   /* gives way to another definition */
    TN__SYMBOL_HIDDEN = 2, /* for this module, or its library, only */
    /* Functions, for tiers: */
    TN__SYMBOL_FIXED = 4,  /* its part cannot be compiled twice */
    TN__SYMBOL_ONCE = 8,   /* has loops, and is called once */
    TN__SYMBOL_LEVEL = 16, /* times the level that the module wants for it, counted from 1; 0: any */
    /* Of modules that are whole: the object may lack it. */
    TN__SYMBOL_DISCARDABLE = 128,
    TN__SYMBOL_CALLABLE = 256, /* a function, or what is found to be one when it is linked, without a body of its own */
    TN__SYMBOL_ALL = 5 * 16 - 1, /* the largest without these */
};

/* The JIT's own copy, which outlives the compiler's module. */
struct tn__description {
    uint32_t flags;
    uint32_t parts; /* at least 1; each but the first defines a symbol */
    size_t count;
    struct tn_module_symbol *symbols;
    size_t *first;     /* the first symbol of each part, and `count` at the end */
    const void *types; /* the layouts of its types (base/types.h) */
    size_t types_size;
    uint64_t *users; /* atomic: of the memory that all of this is in; NULL: there is none */
};

/* Makes a copy. TN_EFORMAT, TN_ENOMEM. */
int tn__description_copy(const struct tn_module_description *from, struct tn__description *to, struct tn_error *err);
/* Shares the copy with another user. Each drops it. */
struct tn__description tn__description_share(const struct tn__description *description);
void tn__description_drop(struct tn__description *description);

/* Into an empty buffer. False: out of memory, or more than the format can hold. */
bool tn__description_write(const struct tn_module_description *description, struct tn_buffer *out);

/* Texts and types lie in `bytes`, symbols in the arena. TN_EFORMAT, TN_ENOMEM. */
int tn__description_read(const void *bytes, size_t size, struct tn__arena *arena,
                         struct tn_module_description *description, struct tn_error *err);

#pragma GCC visibility pop
#endif
