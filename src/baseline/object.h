/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiled functions as an ELF object, alone or together with what LLVM has made of the rest of their module. */

#ifndef TENON_BASELINE_OBJECT_H
#define TENON_BASELINE_OBJECT_H

#include "baseline/code.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* How one of code.functions is known to others, and where it lies: in .text, or, if it has one of the names, in a
 * section of its own. */
struct tn__baseline_definition {
    uint32_t symbol;
    uint8_t binding, visibility; /* as in ELF */
    const char *section;         /* its name, or NULL */
    const char *group;           /* the name of the COMDAT group that it is, or NULL */
};

/* Another name of one of code.functions. */
struct tn__baseline_alias {
    uint32_t function, symbol;
    uint8_t binding, visibility;
};

/* A zeroed struct is empty. */
struct tn__baseline_object {
    struct tn__code code;
    struct tn__code_symbol *symbols;             /* the names are in `arena` */
    struct tn__baseline_definition *definitions; /* of each function */
    struct tn__baseline_alias *aliases;
    size_t symbol_count, symbol_room, definition_room, alias_count, alias_room;
    struct tn__arena arena;
};

/* Writes an x86-64 ELF object into an empty buffer. `rest` is NULL, or an object of LLVM that becomes a part of it:
 * names that one of them defines and the other refers to are the same symbol, local ones too. TN_ENOTSUP: the rest is
 * no such object, has too many sections, or the names have more than 4 GB; TN_ENOMEM. */
int tn__baseline_write(const struct tn__baseline_object *object, const struct tn_buffer *rest, struct tn_buffer *out,
                       struct tn_error *err);
void tn__baseline_object_free(struct tn__baseline_object *object);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
