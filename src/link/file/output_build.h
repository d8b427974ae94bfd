/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the parts of output.h share while an output is made:
 *     output.c         the whole: a session, its one link, the steps below
 *     output_pieces.c  which parts of objects go into the output
 *                      output_relocs.c   the words that need relocation when the output is loaded
 *                      output_pieces.c    GOT slots that are not needed
 *                      output_strings.c  strings of debug data, each once
 *     output_layout.c  sections of pieces, their addresses and bytes
 *                      output_frames.c   the index of unwind data
 *     output_finish.c  symbols; addresses in debug data */

#ifndef TENON_OUTPUT_BUILD_H
#define TENON_OUTPUT_BUILD_H

#include "link/file/detached.h"
#include "link/file/output.h"

#pragma GCC visibility push(hidden)

/* Each class becomes one output section, in the order of the file; in a NAMED class, one for each name in the
 * objects. */
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
    TN__CLASS_INDIRECT, /* pointers to indirect functions */
    TN__CLASS_PADDING,
    TN__CLASS_NAMED_DATA,
    TN__CLASS_DATA,
    TN__CLASS_ZERO,
    TN__CLASS_NAMED_ZERO,
    TN__CLASS_DEBUG,
    TN__CLASSES
};

/* What becomes of a class. */
struct tn__output_class_row {
    const char *name; /* of the output section; NULL: that of the pieces */
    uint8_t place, kind;
    bool tls;
};
extern const struct tn__output_class_row tn__output_classes[TN__CLASSES];

/* The most bytes of a piece or section, so that sums cannot overflow. */
#define TN__OUTPUT_LARGEST (UINT64_C(1) << 31)

/* A part of an output section: an object's section, GOT, stubs or a common symbol. */
struct tn__output_piece {
    struct tn__object *object;
    struct tn__input_section *section; /* NULL: GOT, stubs, a common symbol, the index of unwind data, tls_space */
    uint32_t symbol;                   /* the common symbol */
    uint8_t class;
    const char *name;                 /* of the output section */
    uint32_t rank;                    /* orders the pieces of a section; equal ranks: input order */
    size_t fixups;                    /* how many of its words need relocation at load time */
    uint64_t size, alignment, offset; /* in the output section */
    uint32_t out;                     /* the output section */
    struct tn__output_string *strings;
    uint32_t string_count; /* 0: its strings are not merged */
};

/* A string at `from` in a piece is kept at `at` in `piece`. */
struct tn__output_string {
    uint32_t from, piece, at;
};

/* A word that needs relocation at load time, before anything is placed. */
struct tn__output_site {
    uint32_t piece;
    uint64_t offset; /* in the piece */
    struct tn__output_reloc reloc;
};

struct tn__output_object {
    uint32_t *pieces;   /* by section: the index of its piece plus 1; 0: not in the output */
    uint32_t got_piece; /* the index of the piece of its GOT plus 1; 0: it has none */
};

struct tn__output_link {
    const struct tn__output_options *options;
    struct tn__output *output;
    struct tn__detached where;
    struct tn__link *link; /* while there is one */
    struct tn_error *err;
    uint64_t base; /* subtracted from every address at the end */
    struct tn__output_object *objects;
    struct tn__output_piece *pieces;
    size_t piece_count, piece_capacity;
    struct tn__output_piece **order; /* the pieces in the order of the output */
    struct tn__output_site *sites;
    size_t site_count, site_capacity;
    struct tn__output_origin {
        uint32_t object, symbol;
    } * origins;          /* of the output's symbols */
    const char **imports; /* by number */
    size_t import_count, import_capacity;
    bool lacks_memory;  /* for an import, which then looks undefined */
    uint64_t functions; /* that the unwind data of all objects describes */
    struct tn__arena arena;
};

static inline int tn__output_no_memory(const struct tn__output_link *o)
{
    return tn__fail(o->err, TN_ENOMEM, "%s: out of memory", o->options->name);
}

/* Thread-local data is addressed relative to the thread pointer if its distance from it is known, else to the beginning
 * of its block. */
static inline uint64_t tn__output_tls_start(const struct tn__output_link *o)
{
    const struct tn__arch *arch = o->output->arch;
    uint64_t alignment = tn__max64(o->output->tls_alignment, 1);
    if (!o->options->fixed && !o->options->program)
        return 0;
    return arch->tls_above ? tn__align_up(arch->tls_gap, alignment) : -tn__align_up(o->output->tls_size, alignment);
}

/* output_pieces.c */
int tn__output_list_pieces(struct tn__output_link *o);
/* The class of a common symbol's piece. */
uint8_t tn__output_common_class(const struct tn__output_link *o, const struct tn__symbol *symbol);

/* output_layout.c: the arrange step of the detached session (hooks.h). */
int tn__output_arrange(struct tn__output_link *o);

/* output_relocs.c */
/* Finds the words of all pieces that need relocation at load time. TN_ERANGE, TN_ENOTSUP, TN_ENOMEM. */
int tn__output_find_sites(struct tn__output_link *o);
/* Computes their addresses once the pieces are placed. */
void tn__output_place_sites(struct tn__output_link *o);
/* TN_EFORMAT if some of them overlap. */
int tn__output_check_sites(const struct tn__output_link *o);
/* Stores in these words what the file holds. */
void tn__output_finish_sites(struct tn__output_link *o);
/* A resolver: gives each import an address that is out of range of everything. */
void *tn__output_import(void *context, const char *name);
/* True if the entry is an import; then *number is its index. */
bool tn__output_is_import(const struct tn__output_link *o, const struct tn__entry *entry, uint32_t *number);

/* True if the symbol lies in the output or in the rest of the same file: it is neither absolute nor undefined. */
bool tn__output_is_inside(const struct tn__object *object, uint32_t symbol);

/* output_strings.c */
/* Drops duplicate strings of debug data, before the pieces are placed. */
int tn__output_merge_strings(struct tn__output_link *o);
/* Writes the strings that the piece keeps. */
void tn__output_copy_strings(const struct tn__output_link *o, const struct tn__output_piece *piece, uint8_t *to);
/* Where a byte of a piece with merged strings lies in the output section. */
uint64_t tn__output_string_at(const struct tn__output_link *o, const struct tn__output_piece *piece, uint64_t offset);

/* output_frames.c */
/* The size of unwind data without its terminator, which would hide what follows it in the output. */
uint64_t tn__output_frames_size(const struct tn__input_section *section);
/* Counts the functions that unwind data describes. TN_EFORMAT. */
int tn__output_count_frames(struct tn__output_link *o, const struct tn__output_piece *piece);
uint64_t tn__output_frame_index_size(const struct tn__output_link *o);
/* Fills in the index, after all relocations are applied. */
int tn__output_index_frames(struct tn__output_link *o);

/* output_finish.c: the symbols, first without addresses; then these, and the addresses in debug sections. */
int tn__output_list_symbols(struct tn__output_link *o);
void tn__output_finish_symbols(struct tn__output_link *o);
void tn__output_finish_debug(struct tn__output_link *o);

#pragma GCC visibility pop
#endif
