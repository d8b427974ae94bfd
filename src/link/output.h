/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A link laid out for a file: relocatable objects become the sections and segments of a shared library, or of a part of a
 * program, without a word about the file's format. Who writes files (src/codegen/image) starts here: the result has every
 * byte, where it lies in memory and in the file, and what is left to do when it is loaded.
 *
 *     tn__output_link(&options, inputs, count, &output, &err);
 *     for each of output->segments, output->sections: write the bytes at their offset
 *     ... output->relocs, ->imports, ->symbols in the tables of the format
 *     tn__output_free(output);
 *
 * The link is that of a detached session (detached.h) with a layout of its own: same resolution, rows and bytes as in
 * memory. It is *fixed*, if the addresses are known: then it imports nothing and needs no relocation. Or it may lie
 * anywhere: then it is linked at an address so high that nothing which depends on it fits into 32 bits. What is left are words
 * of 64 bits, and these are listed.
 *
 * Segments follow each other so: read-only data, code, data that is final once relocated, data. Data that has to be relocated
 * lies together; constants join it only then, so all else can be shared by processes. Equal input gives equal output.
 *
 * Parts: output.c (the session, the result), output_layout.c (sections and segments), output_slots.c (the GOT),
 * output_relocs.c (what is left to do), output_strings.c (debug data that is there twice), output_finish.c (symbols, debug sections), output_frames.c (unwind data and its index). */

#ifndef TENON_OUTPUT_H
#define TENON_OUTPUT_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

struct tn__arch;

enum tn__output_place {
    TN__OUTPUT_RODATA, /* readable */
    TN__OUTPUT_CODE,   /* readable, executable */
    TN__OUTPUT_RELRO,  /* writable until it is relocated; whole pages */
    TN__OUTPUT_DATA,   /* readable, writable */
    TN__OUTPUT_SEGMENTS,
    TN__OUTPUT_UNLOADED = TN__OUTPUT_SEGMENTS, /* sections only: debug data */
};

/* A segment without a section has size 0. */
struct tn__output_segment {
    uint64_t address, size;     /* in memory; the address is congruent to the offset modulo the page size */
    uint64_t offset, file_size; /* what is beyond is zero */
};

enum tn__output_kind {
    TN__OUTPUT_PLAIN,
    TN__OUTPUT_ZERO, /* no bytes in the file */
    TN__OUTPUT_NOTE,
    TN__OUTPUT_INIT, /* an array of functions to call before, */
    TN__OUTPUT_FINI, /* and after, the last one first */
};

struct tn__output_section {
    const char *name;
    enum tn__output_place place;
    enum tn__output_kind kind;
    bool tls;         /* .tdata and .tbss: the initial values of a thread's */
    uint64_t address; /* 0 if it is not loaded */
    uint64_t size, alignment;
    uint64_t offset; /* in the file; of TN__OUTPUT_UNLOADED from the end of the segments on, unaligned */
    uint8_t *bytes;  /* NULL: zeros that are not in the file */
};

enum tn__output_fixup {
    TN__OUTPUT_RELATIVE,   /* an address in the output: add how far it is from where it was linked */
    TN__OUTPUT_SLOT,       /* in a GOT: the address of an import */
    TN__OUTPUT_IMPORT,     /* the same in data, with an addend */
    TN__OUTPUT_TLS_MODULE, /* the number of the output's thread-local storage, as __tls_get_addr knows it */
    TN__OUTPUT_TLS_OFFSET, /* the addend is an offset in it: its distance from the thread pointer */
};

/* A word of 64 bits that depends on where the output is loaded. */
struct tn__output_reloc {
    uint64_t address;
    enum tn__output_fixup fixup;
    uint32_t import; /* index */
    uint64_t addend; /* TN__OUTPUT_RELATIVE: the address, which is also what the word holds */
};

/* A symbol that somebody else defines. */
struct tn__output_import {
    const char *name;
    bool weak; /* 0 will do */
};

/* A definition. */
struct tn__output_symbol {
    const char *name;
    uint64_t value, size; /* the address; of thread-local data the offset in the block */
    uint32_t section;     /* index; UINT32_MAX: absolute */
    bool function, tls, data;
    bool local, weak;
    bool exported; /* visible from outside */
};

struct tn__output {
    const struct tn__arch *arch;
    struct tn__output_segment segments[TN__OUTPUT_SEGMENTS];
    struct tn__output_section *sections; /* in the order of their addresses, those that are not loaded at the end */
    size_t section_count;
    struct tn__output_reloc *relocs; /* in the order of addresses */
    size_t reloc_count;
    struct tn__output_import *imports; /* those that relocs name */
    size_t import_count;
    struct tn__output_symbol *symbols; /* local ones first */
    size_t symbol_count, local_count;
    uint64_t head_address, head_size; /* the room that options.head asked for */
    uint64_t tls_address, tls_size, tls_file_size, tls_alignment;
    uint64_t end; /* of the last segment in the file */
    struct tn__arena arena;
};

struct tn__output_options {
    const char *name;     /* of the output, for errors */
    size_t page_size;     /* of segments: the largest that the file is to be loaded with */
    uint64_t file_offset; /* where the first segment begins in the file: a multiple of 4096 */
    bool fixed;
    bool program;     /* not fixed, but a part of a program, so what is thread-local has its place in every thread */
    uint64_t address; /* where it begins; not fixed: in the numbering of the file */
    tn_resolver *resolver; /* fixed: the addresses of what the objects do not define. Else that is imported */
    void *context;         /* the resolver's, and head's */
    /* What lies beside it in the same program, for the objects to refer to: addresses in the numbering of the file, which move along
     * if it is not fixed; of thread-local data the distance from the thread pointer. What the objects define comes first if
     * a definition is weak. */
    const struct tn_definition *definitions;
    size_t definition_count;
    /* Room for the thread-local data of what lies beside it, if the objects have some too: at the end, where the thread pointer is
     * (in a program, and if it is fixed). That has initial values, or is zeros. */
    struct {
        uint64_t size, alignment;
        bool has_values;
    } tls_room;
    /* How many bytes the format needs at the beginning of the first segment, for its headers and tables. Asked when all is known
     * but the final addresses, which are as far from each other within segments as they will be, and again after each
     * change, until the room is enough; NULL: none. */
    uint64_t (*head)(void *context, const struct tn__output *output);
};

/* Links objects or archives (of which all members are taken). Inputs are borrowed for the call; of theirs only the flags count
 * besides names and bytes: what is hidden is not exported.
 * TN_EFORMAT, TN_ENOTSUP (indirect functions, TLS descriptors), TN_ERANGE (code that is not position-independent; the text says
 * where), TN_EUNDEF (fixed, or hidden symbols), TN_EDUP, TN_EINVAL, TN_ENOMEM. */
int tn__output_link(const struct tn__output_options *options, const struct tn_input *inputs, size_t count,
                    struct tn__output **out, struct tn_error *err);
void tn__output_free(struct tn__output *output);

/* RELR (gABI draft, "Relative Relocation Table"): the TN__OUTPUT_RELATIVE ones in as few words as there may be. Writes at most `room`
 * words, and answers how many it takes. All lie at multiples of 8; those that do not have to be listed otherwise. */
size_t tn__output_relr(const struct tn__output *output, uint64_t *words, size_t room);

/* The section of this name, or NULL. */
const struct tn__output_section *tn__output_find(const struct tn__output *output, const char *name);

#pragma GCC visibility pop
#endif
