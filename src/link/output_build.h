/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the parts of output.h share while an output is made. */

#ifndef TENON_OUTPUT_BUILD_H
#define TENON_OUTPUT_BUILD_H

#include "detached.h"
#include "output.h"

#pragma GCC visibility push(hidden)

/* What becomes one section, in the order of the file. Named ones keep the name that they have in the objects. */
enum tn__output_class {
    TN__CLASS_NOTE,
    TN__CLASS_RODATA,
    TN__CLASS_NAMED_RODATA,
    TN__CLASS_FRAME_INDEX,
    TN__CLASS_FRAMES,
    TN__CLASS_EXCEPTIONS,
    TN__CLASS_CODE,
    TN__CLASS_NAMED_CODE,
    TN__CLASS_STUBS,
    TN__CLASS_TLS,
    TN__CLASS_TLS_ZERO,
    TN__CLASS_INIT,
    TN__CLASS_FINI,
    TN__CLASS_RELRO,
    TN__CLASS_NAMED_RELRO,
    TN__CLASS_GOT,
    TN__CLASS_PADDING,
    TN__CLASS_NAMED_DATA,
    TN__CLASS_DATA,
    TN__CLASS_ZERO,
    TN__CLASS_NAMED_ZERO,
    TN__CLASS_DEBUG,
    TN__CLASSES
};

/* A part of an output section: an object's section, GOT, stubs or a common symbol. */
struct tn__output_piece {
    struct tn__object *object;
    struct tn__section *section; /* NULL: GOT, stubs, a common symbol, the index of unwind data, tls_room */
    uint32_t symbol;             /* the common symbol */
    uint8_t class;
    const char *name;                 /* of the output section */
    uint32_t rank;                    /* what comes first in its section; then as they were given */
    size_t fixups;                    /* words in it that are left to the load */
    uint64_t size, alignment, offset; /* in the output section */
    uint32_t out;                     /* the output section */
    struct tn__output_string *strings;
    uint32_t string_count; /* 0: it is kept as it is */
};

/* Where a string of a piece is kept: in which piece, and where in that. */
struct tn__output_string {
    uint32_t from, piece, at;
};

/* A word that is left to the load, before anything is placed. */
struct tn__output_site {
    uint32_t piece;
    uint64_t offset; /* in the piece */
    struct tn__output_reloc reloc;
};

struct tn__output_object {
    uint32_t *pieces;   /* by section: its piece, from 1; 0: it is not in the output */
    uint32_t got_piece; /* the same; 0: it has none */
};

struct tn__output_link {
    const struct tn__output_options *options;
    struct tn__output *output;
    struct tn__detached where;
    struct tn__link *link; /* while there is one */
    struct tn_error *err;
    uint64_t base; /* what is taken off every address in the end */
    struct tn__output_object *objects;
    struct tn__output_piece *pieces;
    size_t piece_count, piece_capacity;
    struct tn__output_piece **order; /* the pieces as they follow each other in the output */
    struct tn__output_site *sites;
    size_t site_count, site_capacity;
    struct tn__output_origin {
        uint32_t object, symbol;
    } * origins;          /* of the output's symbols */
    const char **imports; /* by number */
    size_t import_count, import_capacity;
    uint64_t functions; /* that the unwind data of all objects describes */
    struct tn__arena arena;
};

int tn__output_no_memory(const struct tn__output_link *o);

/* Thread-local data is addressed from the thread pointer where that is known, else from the beginning of its block. It ends at
 * the thread pointer (variant II of the TLS ABI). */
static inline uint64_t tn__output_tls_start(const struct tn__output_link *o)
{
    bool known = o->options->fixed || o->options->program;
    return known ? -tn__align_up(o->output->tls_size, tn__max64(o->output->tls_alignment, 1)) : 0;
}

/* output_layout.c: all of arrange(), but what the others are asked for. */
int tn__output_arrange(struct tn__output_link *o);

/* output_relocs.c */
/* Finds the words of all pieces that are left to the load. TN_ERANGE, TN_ENOTSUP. */
int tn__output_find_sites(struct tn__output_link *o);
/* Tells where they are, from where the pieces are. */
void tn__output_place_sites(struct tn__output_link *o);
/* TN_EFORMAT: some overlap. */
int tn__output_check_sites(const struct tn__output_link *o);
/* Makes their words what the file has. */
void tn__output_finish_sites(struct tn__output_link *o);
/* An address beyond anything that can be reached stands for each import. */
void *tn__output_import(void *context, const char *name);
/* Whether an entry is an import, and which. */
bool tn__output_is_import(const struct tn__output_link *o, const struct tn__entry *entry, uint32_t *number);

/* True of what lies in the output, or beside it in the same file, and not at an absolute address or nowhere. */
bool tn__output_is_inside(const struct tn__object *object, uint32_t symbol);

/* output_slots.c: takes back the GOT slots that nothing will need, of an object that is not placed yet. */
int tn__output_drop_slots(struct tn__output_link *o, const struct tn__object *object);

/* output_strings.c: before pieces are placed; when their bytes are written; where in its section a byte of a piece is then. */
int tn__output_merge_strings(struct tn__output_link *o);
void tn__output_copy_strings(const struct tn__output_link *o, const struct tn__output_piece *piece, uint8_t *to);
uint64_t tn__output_string_at(const struct tn__output_link *o, const struct tn__output_piece *piece, uint64_t offset);

/* output_frames.c */
/* How large unwind data is without its end mark, which would hide what follows it in a file. */
uint64_t tn__output_frames_size(const struct tn__section *section);
/* Counts the functions that unwind data describes. TN_EFORMAT. */
int tn__output_count_frames(struct tn__output_link *o, const struct tn__output_piece *piece);
uint64_t tn__output_frame_index_size(const struct tn__output_link *o);
/* Fills the index, when all values are there. */
int tn__output_index_frames(struct tn__output_link *o);

/* output_finish.c: symbols, first without their addresses, and debug data with its own. */
int tn__output_list_symbols(struct tn__output_link *o);
void tn__output_finish_symbols(struct tn__output_link *o);
void tn__output_finish_debug(struct tn__output_link *o);

#pragma GCC visibility pop
#endif
