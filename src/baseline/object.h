/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiled functions and data as an ELF object, alone or together with what LLVM has made of the rest of their module.
 */

#ifndef TENON_BASELINE_OBJECT_H
#define TENON_BASELINE_OBJECT_H

#include "baseline/code.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* How one of code.functions is known to others, and where it lies: in .text, or, if it has a section's name or a group
 * or is retained, in a section of its own. Groups are numbers of object.groups, from 1 on; 0: it is in none. */
struct tn__baseline_definition {
    uint32_t symbol, group;
    uint8_t binding, visibility; /* as in ELF */
    bool is_retained;            /* linkers keep its section, which is its own */
    const char *section;         /* its name, or NULL */
};

/* SHF_GNU_RETAIN, for which musl's header has no name. */
enum { TN__BASELINE_RETAIN = 1 << 21 };

/* A function or a section of the object, where relocations of data have symbols, or names have sections. */
enum { TN__BASELINE_FUNCTION = 1 << 30, TN__BASELINE_SECTION = 1 << 29 };

/* A section of data; type, flags and entry size as in ELF. */
struct tn__baseline_section {
    const char *name;
    uint32_t group, type;
    uint64_t flags, entry_size;
    uint32_t linked; /* of SHF_LINK_ORDER: the symbol whose section it belongs to, counted from 1, or 0 */
    /* What tn__baseline_extend has added. */
    uint64_t size, alignment;
    uint8_t *bytes; /* NULL of SHT_NOBITS */
    size_t room;
    struct tn__code_reloc *relocs; /* offsets in the section */
    size_t reloc_count, reloc_room;
};

/* What a symbol of data is, or another one of a function, which has its value and size. */
struct tn__baseline_datum {
    uint32_t symbol, section; /* TN__BASELINE_COMMON: the linker finds a place, and the value is the alignment */
    uint64_t value, size;     /* the former in the section */
    uint8_t binding, visibility, type;
};

#define TN__BASELINE_COMMON UINT32_MAX

static inline bool tn__baseline_is_function(const struct tn__baseline_datum *datum)
{
    return datum->section != TN__BASELINE_COMMON && datum->section & TN__BASELINE_FUNCTION;
}

/* A zeroed struct is empty. */
struct tn__baseline_object {
    struct tn__code code;
    struct tn__code_symbol *symbols;             /* the names are in `arena` */
    struct tn__baseline_definition *definitions; /* of each function */
    struct tn__baseline_section *sections;
    struct tn__baseline_datum *data;
    const char **groups; /* the names of COMDAT groups */
    size_t symbol_count, section_count, datum_count, group_count;
    size_t symbol_room, definition_room, section_room, datum_room, group_room;
    struct tn__arena arena;
};

/* These four are false if memory is out. Sections are numbered from 0. */
bool tn__baseline_add_section(struct tn__baseline_object *object, const struct tn__baseline_section *section);
/* Adds zeros, aligned; *at is where. With bytes, a section has less than 4 GB. */
bool tn__baseline_extend(struct tn__baseline_section *section, uint64_t size, uint64_t alignment, uint64_t *at);
bool tn__baseline_add_reloc(struct tn__baseline_section *section, struct tn__code_reloc reloc);
bool tn__baseline_define(struct tn__baseline_object *object, struct tn__baseline_datum datum);
/* Removes sections and data, which came after all other names of functions. */
void tn__baseline_drop_data(struct tn__baseline_object *object);

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
