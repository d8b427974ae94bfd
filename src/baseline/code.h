/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What compiling gives: machine code of functions, one after the other, and what refers to symbols in it. */

#ifndef TENON_BASELINE_CODE_H
#define TENON_BASELINE_CODE_H

#include "baseline/analyse.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

struct tn__code_symbol {
    const char *name;
    bool direct; /* it is defined where 32 bits reach it, in the same object or file; others go through the GOT */
    bool weak;   /* if nothing defines it, it is null */
    uint8_t visibility; /* of a symbol that is defined elsewhere, as in ELF */
};

struct tn__code_reloc {
    uint32_t offset, type; /* the type is that of ELF */
    uint32_t symbol;       /* an index into the module's symbols */
    int64_t addend;
};

/* Where the code of an instruction begins in its function. */
struct tn__code_place {
    uint32_t offset, inst;
};

struct tn__code_function {
    uint32_t offset, size;      /* of its code */
    uint32_t frame, frame_size; /* its entry in `frames` */
    uint32_t table;             /* where in `tables` its table of exceptions begins; TN__CODE_NO_TABLE: it has none */
    uint32_t map, map_size;     /* its stack map in `maps`, if it has safepoints */
};

/* A call, and where an exception that leaves it goes on: offsets from the beginning of the function. */
struct tn__code_site {
    uint32_t start, end, landing;
    uint32_t inst;   /* the landing */
    uint32_t action; /* where in the table its types are */
};

/* What the collector finds in a frame at one safepoint, in this order. */
enum tn__code_root {
    TN__CODE_REFERENCE = 0, /* in a slot */
    TN__CODE_DERIVED,       /* a pointer into an object, whose reference is number `base` of those */
    TN__CODE_PINNED,        /* a reference in memory, to an object that must not move */
    TN__CODE_VARIABLE,      /* a reference in memory */
    TN__CODE_ROOTS
};

struct tn__code_slot {
    int32_t slot; /* in words from the frame pointer */
    uint32_t base;
};

struct tn__code_safepoint {
    uint32_t place;                  /* offset of the return address */
    size_t first;                    /* of its slots ... */
    uint32_t counts[TN__CODE_ROOTS]; /* ... of each kind */
    bool is_entry;
};

/* Of one function; the arrays are kept from one to the next. */
struct tn__code_map {
    struct tn__code_safepoint *safepoints;
    struct tn__code_slot *slots;
    size_t count, slot_count, room, slot_room;
};

/* A zeroed struct is empty. `frames` has the frame descriptions for .eh_frame, without their common heads, each with 4
 * bytes at TN__CODE_FRAME_START for the distance from there to the function, and, if it has a table, 4 bytes at
 * TN__CODE_FRAME_TABLE for the distance to that. `tables` has the tables of exceptions, and `type_relocs` the 32 bits
 * in these that are distances to pointers to types. All functions with a table have one personality. A stack map begins
 * with 4 bytes for the distance from there to the function. */
struct tn__code {
    uint8_t *bytes, *frames, *tables, *maps;
    struct tn__code_reloc *relocs, *type_relocs;
    struct tn__code_function *functions;
    size_t size, frames_size, reloc_count, function_count;
    size_t room, frames_room, reloc_room, function_room;
    size_t tables_size, tables_room, type_reloc_count, type_reloc_room, maps_size, maps_room;
    uint32_t personality;          /* a symbol */
    struct tn__code_place *places; /* of the last function, in the order of its code, if they are asked for */
    size_t place_count, place_room;
    bool keeps_places;
};

/* A description's place for the table follows the size, and the size of this place. */
enum { TN__CODE_FRAME_START = 8, TN__CODE_FRAME_TABLE = 17, TN__CODE_NO_TABLE = UINT32_MAX };

/* The types that a function's table has. */
struct tn__code_types {
    uint32_t *operands; /* symbols, or numbers for null */
    uint32_t *places;   /* a hash table of these, counted from 1; a power of two, at most half of it used */
    size_t count, room, place_count;
    uint64_t seed[2]; /* secret, so that types cannot be chosen to have one hash */
};

/* Begins the list of a function's types. */
void tn__code_begin_types(struct tn__code_types *types);
/* The number of a type, from 1 on, added if it is new; 0: out of memory (table.c). */
uint32_t tn__code_type(const struct tn__flat *flat, struct tn__code_types *types, uint32_t operand);
/* Adds the table of a function of so many bytes, whose sites are in order, and all types of whose landings have
 * numbers. False: out of memory. */
bool tn__code_add_table(struct tn__code *code, const struct tn__flat *flat, const struct tn__code_types *types,
                        struct tn__code_site *sites, size_t count, uint32_t size);

/* Begins the list of a safepoint's slots, whose place is set when its call is there. NULL: out of memory (maps.c). */
struct tn__code_safepoint *tn__code_add_safepoint(struct tn__code_map *map, bool is_entry);
/* Adds a slot, which is not there yet, to those of the last safepoint, after those of other kinds before it; `base` is
 * of a derived pointer. False: out of memory. */
bool tn__code_add_slot(struct tn__code_map *map, enum tn__code_root kind, int32_t slot, uint32_t base);
/* Adds the stack map of a function. TN_ENOTSUP: it has too many safepoints or slots; TN_ENOMEM. */
int tn__code_add_map(struct tn__code *code, const struct tn__code_map *map, struct tn_error *err);

/* Compiles for x86-64 a function that is well-formed, behind those that are there; `symbols` are the module's.
 * TN_ENOTSUP: it cannot, and err says why; TN_ENOMEM. In both cases the code is as it was. The analysis is of the
 * function, and `scratch` is kept from one call to the next. */
struct tn__x64_scratch;
int tn__x64_compile(const struct tn__flat *flat, const struct tn__flat_analysis *analysis,
                    const struct tn__code_symbol *symbols, struct tn__x64_scratch **scratch, struct tn__code *code,
                    struct tn_error *err);
void tn__x64_scratch_free(struct tn__x64_scratch *scratch);

void tn__code_free(struct tn__code *code);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
