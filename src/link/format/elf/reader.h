/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The parts of the ELF reader:
 *     elf.c      the file as a whole, symbols, section groups
 *     header.c   which files are objects
 *     kinds.c    what a section is to the linker: its kind and role
 *     overlap.c  no two sections share bytes of the file
 *     relocs.c   relocation sections
 *     versions.c names with default versions */

#ifndef TENON_ELF_READER_H
#define TENON_ELF_READER_H

#include <elf.h>

#include "link/arch/reloc.h"
#include "link/model/object.h"

#pragma GCC visibility push(hidden)

/* Missing from some systems' elf.h. */
#define TN__SHT_GNU_SFRAME 0x6ffffff4
#define TN__SHT_CREL       0x40000014
#define TN__SHF_GNU_RETAIN (1 << 21)

/* Bytes of the file. */
struct tn__elf_extent {
    uint64_t start, end;
};

/* What is known about the places of sections while they are read one after the other (overlap.c). */
enum { TN__ELF_LOOSE = 8 };
struct tn__elf_places {
    struct tn__elf_extent contents, relocs, loose[TN__ELF_LOOSE];
    uint32_t loose_count;
    bool unsorted;
};

struct tn__elf_reader {
    struct tn__object_data *object;
    const uint8_t *headers;
    const uint8_t *symtab, *xindex;
    const char *strings;
    uint64_t strings_size, xindex_count;
    uint32_t symtab_index, second_symtab, xindex_index, groups; /* sections of these types; groups: how many */
    bool has_tls;
    struct tn__elf_places places;
    struct tn_error *err;
};

#define TN__ELF_FAIL(r, ...) tn__fail((r)->err, TN_EFORMAT, __VA_ARGS__)

/* See struct tn__reader. */
bool tn__elf_claims(const uint8_t *bytes, size_t size, uint32_t machine);
/* TN_EFORMAT, naming what the file is, unless it is an object. */
int tn__elf_check_header(const struct tn__elf_reader *r);

/* The header of section `index`, which is below section_count. Copied, because nothing in a file is aligned; member by
 * member, so that only those in use are read. */
static inline Elf64_Shdr tn__elf_header_of(const struct tn__elf_reader *r, uint32_t index)
{
    const uint8_t *at = r->headers + (size_t)index * sizeof(Elf64_Shdr);
#define GET(bits, member) .member = tn__get##bits(at + offsetof(Elf64_Shdr, member))
    return (Elf64_Shdr){GET(32, sh_name),      GET(32, sh_type),   GET(64, sh_flags), GET(64, sh_addr),
                        GET(64, sh_offset),    GET(64, sh_size),   GET(32, sh_link),  GET(32, sh_info),
                        GET(64, sh_addralign), GET(64, sh_entsize)};
#undef GET
}

/* Sets the kind and role of a section with SHF_ALLOC, and what follows from its name. False: it cannot be loaded; then
 * tn__elf_fail_kind says why. */
bool tn__elf_set_kind(const struct tn__elf_reader *r, struct tn__input_section *section, uint32_t type, uint64_t flags);
int tn__elf_fail_kind(const struct tn__elf_reader *r, uint32_t index);
/* For the other sections: TN_ENOTSUP if loaded code needs what the section asks for. */
int tn__elf_check_unloaded(const struct tn__elf_reader *r, uint32_t index, uint64_t flags);

/* For a section that may lie anywhere: behind the relocations or the other contents, so far, or by itself. */
static inline struct tn__elf_extent *tn__elf_loose_place(struct tn__elf_places *places, uint64_t offset)
{
    if (places->relocs.end && offset >= places->relocs.end)
        return &places->relocs;
    if (places->loose_count == TN__ELF_LOOSE || (places->contents.end && offset >= places->contents.end))
        return &places->contents;
    return &places->loose[places->loose_count++];
}

/* Notes where a section's bytes lie. In the order of the headers contents ascend, relocations likewise, and the few
 * others lie somewhere: so assemblers write them. */
static inline void tn__elf_note_place(struct tn__elf_places *places, const Elf64_Shdr *header)
{
    struct tn__elf_extent *at = &places->contents;
    if (header->sh_type == SHT_RELA || header->sh_type == TN__SHT_CREL)
        at = &places->relocs;
    else if (header->sh_type == SHT_STRTAB || (header->sh_type >= SHT_LOOS && !(header->sh_flags & SHF_ALLOC)))
        at = tn__elf_loose_place(places, header->sh_offset);
    places->unsorted |= header->sh_offset < at->end;
    at->start = at->end ? at->start : header->sh_offset;
    at->end = header->sh_offset + header->sh_size;
}
/* When all are noted: TN_EFORMAT if two sections share bytes; TN_ENOMEM. */
int tn__elf_check_overlap(const struct tn__elf_reader *r);

/* True for types of relocations that are refused, for they do not occur in relocatable objects. */
bool tn__elf_is_other_reloc(uint32_t type);
/* True for a section that relocates another one or, where its type is unknown here, says so of a loaded one. */
static inline bool tn__elf_relocates(const struct tn__elf_reader *r, const Elf64_Shdr *header)
{
    if (header->sh_type <= SHT_SYMTAB_SHNDX && header->sh_type != SHT_SHLIB)
        return header->sh_type == SHT_RELA || header->sh_type == SHT_REL;
    if (header->sh_type == TN__SHT_CREL)
        return true;
    return header->sh_info && header->sh_info < r->object->section_count &&
           r->object->sections[header->sh_info].kind != TN__SECTION_UNLOADED &&
           (header->sh_flags & SHF_INFO_LINK || tn__elf_is_other_reloc(header->sh_type));
}
/* Attaches the relocations of section `index`, for which this is true. TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM. */
int tn__elf_read_relocs(struct tn__elf_reader *r, uint32_t index);
/* When all else is read: adds the symbols that definitions of default versions stand for. TN_EFORMAT, TN_ENOMEM. */
int tn__elf_read_versions(struct tn__elf_reader *r);

#pragma GCC visibility pop
#endif
