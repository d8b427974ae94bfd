/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Linking for a file: relocatable objects become the sections and segments of a shared library, or of a part of a
 * program, independent of the file's format. Writers of files (src/image/write) start here: the result has every
 * byte, its place in memory and in the file, and the relocations left for load time.
 *
 *     tn__output_link(&options, inputs, count, &output, &err);
 *     for each of output->segments, output->sections: write the bytes at their offset
 *     ... output->relocs, ->imports, ->symbols in the tables of the format
 *     tn__output_free(output);
 *
 * The link is that of a detached session (detached.h) with a layout of its own: same resolution, rows and bytes as in
 * memory. If its addresses are known, the output is *fixed*: it imports nothing and needs no relocation. Otherwise it
 * is position-independent: it is linked at an address so high that no field of 32 bits can hold anything that depends
 * on it. Only 64-bit words can then need relocation at load time, and these are listed.
 *
 * The segments, in order: read-only data, code, data that is read-only after relocation, data. Data to be relocated
 * lies together, and constants move there only if they need relocation, so processes share everything else. Equal input
 * gives equal output.
 *
 * output_build.h lists the parts in the order in which they run. */

#ifndef TENON_OUTPUT_H
#define TENON_OUTPUT_H

#include "base/base.h"
#include "link/arch/reloc.h"

#pragma GCC visibility push(hidden)

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
    uint64_t offset, file_size; /* the rest is zero */
};

enum tn__output_kind {
    TN__OUTPUT_PLAIN,
    TN__OUTPUT_ZERO, /* no bytes in the file */
    TN__OUTPUT_NOTE,
    TN__OUTPUT_INIT, /* an array of functions to call at load, in order */
    TN__OUTPUT_FINI, /* and at unload, last to first */
};

struct tn__output_section {
    const char *name;
    enum tn__output_place place;
    enum tn__output_kind kind;
    bool tls;         /* .tdata and .tbss: initial values of thread-local data */
    uint64_t address; /* 0 if it is not loaded */
    uint64_t size, alignment;
    uint64_t offset; /* in the file; TN__OUTPUT_UNLOADED: after the end of the segments, unaligned */
    uint8_t *bytes;  /* NULL: zeros that are not in the file */
};

/* A 64-bit word that depends on the load address. */
struct tn__output_reloc {
    uint64_t address;
    enum tn__dynamic fixup;
    uint32_t import; /* index */
    uint64_t addend; /* RELATIVE, INDIRECT: the address, which is also what the word holds */
};

static inline bool tn__output_names_import(const struct tn__output_reloc *reloc)
{
    return reloc->fixup == TN__DYNAMIC_SLOT || reloc->fixup == TN__DYNAMIC_IMPORT ||
           reloc->fixup == TN__DYNAMIC_TLS_IMPORT || reloc->fixup == TN__DYNAMIC_TLS_DESC_IMPORT;
}

/* A symbol that the output does not define. */
struct tn__output_import {
    const char *name;
    bool weak; /* 0 will do */
    bool tls;
};

/* A definition. */
struct tn__output_symbol {
    const char *name;
    uint64_t value, size; /* the address; thread-local data: the offset in the block */
    uint32_t section;     /* index; UINT32_MAX: absolute */
    bool function, tls, data;
    bool local, weak;
    bool exported; /* visible from outside */
};

struct tn__output {
    const struct tn__arch *arch;
    uint32_t variant; /* of its objects, see struct tn__object_data */
    struct tn__output_segment segments[TN__OUTPUT_SEGMENTS];
    struct tn__output_section *sections; /* by address, those that are not loaded last */
    size_t section_count;
    struct tn__output_reloc *relocs; /* by address */
    size_t reloc_count;
    struct tn__output_import *imports; /* only those that relocs refer to */
    size_t import_count;
    struct tn__output_symbol *symbols; /* local ones first */
    size_t symbol_count, local_count;
    uint64_t head_address, head_size; /* the space that options.head asked for */
    uint64_t tls_address, tls_size, tls_file_size, tls_alignment;
    uint64_t end; /* of the last segment in the file */
    struct tn__arena arena;
};

struct tn__output_options {
    const char *name;                       /* of the output, for errors */
    const struct tn_format *const *formats; /* see struct tn_session_options */
    size_t page_size;     /* of segments: the largest page size of the systems that will load the file */
    uint64_t file_offset; /* where the first segment begins in the file: a multiple of 4096 */
    bool fixed;
    bool indirect;         /* what loads the file calls the resolvers of indirect functions */
    bool program;          /* part of a program, not fixed: thread-local data has its place in every thread */
    uint64_t address;      /* of the first segment; not fixed: before the load bias */
    tn_resolver *resolver; /* fixed: the addresses of undefined symbols; otherwise these are imported */
    void *context;         /* for resolver and head */
    /* Symbols in the rest of the same program, for the objects to refer to: addresses in the file, to which the load
     * bias is added unless the output is fixed; thread-local data: the distance from the thread pointer. A definition
     * in the objects takes precedence over a weak one here. */
    const struct tn_definition *definitions;
    size_t definition_count;
    /* Room for the thread-local data of the rest of the program, if the objects have some too: at that end of the block
     * which is next to the thread pointer (program or fixed). has_values: that data has initial values; else it is all
     * zeros. */
    struct {
        uint64_t size, alignment;
        bool has_values;
    } tls_space;
    /* How many bytes the format needs at the beginning of the first segment, for its headers and tables. Called when
     * everything is known but the final addresses (distances within a segment are final), and again after each change
     * until the space suffices. NULL: none. */
    uint64_t (*head)(void *context, const struct tn__output *output);
    /* Called for each loaded section of each object, and with `section` NULL after an object's last one. What it
     * returns, with `err`, ends the link. NULL: none. */
    int (*inspect)(void *context, const char *object, const char *section, const uint8_t *bytes, uint64_t size,
                   struct tn_error *err);
};

/* Links objects or archives (all members of them). Inputs are borrowed for the call; only their names, bytes and flags
 * are read, and hidden inputs export nothing. The caller frees *out with tn__output_free. TN_EFORMAT, TN_ENOTSUP
 * (indirect functions, unless the options permit them; TLS descriptors in programs), TN_ERANGE (code that is not
 * position-independent; the text says where), TN_EUNDEF (fixed, or hidden symbols), TN_EDUP, TN_EINVAL, TN_ENOMEM. */
int tn__output_link(const struct tn__output_options *options, const struct tn_input *inputs, size_t count,
                    struct tn__output **out, struct tn_error *err);
void tn__output_free(struct tn__output *output);

/* RELR (gABI draft, "Relative Relocation Table"): encodes the TN__DYNAMIC_RELATIVE relocations at multiples of 8;
 * others need a table of another form. Writes at most `space` words and returns how many the encoding takes. */
size_t tn__output_relr(const struct tn__output *output, uint64_t *words, size_t space);

/* The section of this name, or NULL. */
static inline const struct tn__output_section *tn__output_find(const struct tn__output *output, const char *name)
{
    for (size_t i = 0; i < output->section_count; i++)
        if (!strcmp(output->sections[i].name, name))
            return &output->sections[i];
    return NULL;
}

#pragma GCC visibility pop
#endif
