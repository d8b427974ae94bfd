/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects that define and refer to a few words, for tests of which definition a name is bound to. */

#ifndef TENON_TESTS_LINK_WORDS_H
#define TENON_TESTS_LINK_WORDS_H

#include "support.h"

enum kind {
    END,
    STRONG,
    WEAK,
    COMMON,
    UNDEFINED,
    WEAK_UNDEFINED,
    HIDDEN,
    HIDDEN_UNDEFINED,
    HIDDEN_WEAK_UNDEFINED,
    INLINE,
    INLINE_STRONG,
    UNIQUE,
    GROUP
};

struct part {
    enum kind kind;
    const char *name;
    uint32_t value;     /* the word it holds; COMMON: size */
    uint32_t alignment; /* COMMON */
};

enum { PARTS = 8 };

#define OBJECT(...) ((const struct part[PARTS]){__VA_ARGS__})

/* Every definition is a word of .data, or, if it is INLINE, weak and in a COMDAT group of its name, or
 * strong there; a GROUP has the name and does not define it; every reference is an address in .data.rel named "ref_" +
 * name. */
int try_add_words(const struct fixture *f, const char *name, const struct part *parts, struct tn_error *err);
void add_words(const struct fixture *f, const char *name, const struct part *parts);
/* The same, owned by a tracker. */
void add_words_of(const struct fixture *f, const char *name, const struct part *parts, struct tn_tracker *owner);

/* The file; release with free(). */
struct bytes words_object(const struct part *parts);

uint32_t word_at(const struct fixture *f, const char *name);

#endif
