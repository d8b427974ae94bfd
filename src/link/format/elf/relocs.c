/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Relocation sections. SHT_RELA stays in the file's bytes: the neutral form is its own. SHT_CREL (the gABI's proposed
 * compact form, as current clang writes it) is a stream of differences, and is expanded when the object is read.
 * Whatever else says that it relocates a loaded section is refused, because code without its relocations does not
 * work. */

#include "link/unwind/cursor.h"
#include "link/format/elf/reader.h"

/* Types beyond SHT_REL and SHT_RELA, from gABI and LLVM. */
enum { SHT_RELR_ = 19, SHT_ANDROID_REL_ = 0x60000001, SHT_ANDROID_RELA_, SHT_LLVM_RELR_ = 0x6fffff00 };

bool tn__elf_is_other_reloc(uint32_t type)
{
    return type == SHT_RELR_ || type == SHT_ANDROID_REL_ || type == SHT_ANDROID_RELA_ || type == SHT_LLVM_RELR_;
}

/* ---- CREL ---- */

enum { CREL_SHIFT = 3, CREL_ADDENDS = 4, CREL_COUNT_SHIFT = 3 };
enum { CREL_SYMBOL = 1, CREL_TYPE = 2, CREL_ADDEND = 4, CREL_FLAGS = 3, CREL_MORE = 0x80 };

/* One byte holds the flags and the low bits of the difference between offsets; the rest follows. */
static void next_crel(struct tn__cursor *c, struct tn__reloc *reloc)
{
    uint8_t byte = tn__cursor_byte(c);
    reloc->offset += byte >> CREL_FLAGS;
    if (byte & CREL_MORE)
        reloc->offset += (tn__cursor_uleb(c) << (7 - CREL_FLAGS)) - (CREL_MORE >> CREL_FLAGS);
    if (byte & CREL_SYMBOL)
        reloc->symbol += (uint32_t)tn__cursor_sleb(c);
    if (byte & CREL_TYPE)
        reloc->type += (uint32_t)tn__cursor_sleb(c);
    if (byte & CREL_ADDEND)
        reloc->addend = (int64_t)((uint64_t)reloc->addend + (uint64_t)tn__cursor_sleb(c));
}

__attribute__((noinline)) static int read_crel(const struct tn__elf_reader *r, uint32_t index,
                                               struct tn__input_section *target)
{
    const struct tn__object_data *object = r->object;
    const struct tn__input_section *section = &object->sections[index];
    struct tn__cursor c = tn__cursor(section->bytes, section->size);
    uint64_t head = tn__cursor_uleb(&c), count = head >> CREL_COUNT_SHIFT;
    if (!c.good || count > section->size)
        return TN__ELF_FAIL(r, "%s: section %u (%s): malformed relocations", object->name, index, section->name);
    if (count && !(head & CREL_ADDENDS))
        return tn__fail(r->err, TN_ENOTSUP, "%s: section %u (%s): relocations without addends", object->name, index,
                        section->name);
    struct tn__reloc *relocs = tn__arena_array(&r->object->arena, count, sizeof *relocs), last = {0};
    if (!relocs)
        return tn__no_memory(r->err, object->name);
    for (uint64_t i = 0; i < count; i++) {
        next_crel(&c, &last);
        relocs[i] = last;
        relocs[i].offset <<= head & CREL_SHIFT;
    }
    if (!c.good || c.at != c.end)
        return TN__ELF_FAIL(r, "%s: section %u (%s): malformed relocations", object->name, index, section->name);
    target->relocs = (const uint8_t *)relocs;
    target->relocs_made = true;
    target->reloc_count = count;
    return 0;
}

/* ---- any ---- */

__attribute__((noinline)) static int fail_relocs(const struct tn__elf_reader *r, uint32_t index,
                                                 const struct tn__input_section *target)
{
    const Elf64_Shdr header = tn__elf_header_of(r, index);
    const char *file = r->object->name, *name = r->object->sections[index].name;
    if (header.sh_type == SHT_REL)
        return tn__fail(r->err, TN_ENOTSUP, "%s: section %u (%s): relocations without addends", file, index, name);
    if (header.sh_type != SHT_RELA && header.sh_type != TN__SHT_CREL)
        return tn__fail(r->err, TN_ENOTSUP, "%s: section %u (%s): relocations of section type %#x are not supported",
                        file, index, name, header.sh_type);
    if (header.sh_link != r->symtab_index)
        return TN__ELF_FAIL(r, "%s: section %u (%s) uses section %u, which is not the symbol table", file, index, name,
                            header.sh_link);
    if (target->relocs)
        return TN__ELF_FAIL(r, "%s: section %u (%s) is a second set of relocations for %s", file, index, name,
                            target->name);
    if (target->bytes)
        return TN__ELF_FAIL(r, "%s: section %u (%s): %llu bytes are no whole relocations", file, index, name,
                            (unsigned long long)header.sh_size);
    return TN__ELF_FAIL(r, "%s: section %u (%s) relocates %s, which has no bytes", file, index, name, target->name);
}

static int read_any(const struct tn__elf_reader *r, uint32_t index, struct tn__input_section *target)
{
    const Elf64_Shdr header = tn__elf_header_of(r, index);
    bool good = header.sh_link == r->symtab_index && !target->relocs && (target->bytes || !header.sh_size);
    if (good && header.sh_type == TN__SHT_CREL)
        return read_crel(r, index, target);
    if (!good || header.sh_type != SHT_RELA || header.sh_size % sizeof(Elf64_Rela))
        return fail_relocs(r, index, target);
    target->relocs = r->object->bytes + header.sh_offset;
    target->reloc_count = header.sh_size / sizeof(Elf64_Rela);
    return 0;
}

/* Reads the relocations of a section that is not loaded. Only observers need them; if they are malformed, observers do
 * without. */
static int read_unloaded(struct tn__elf_reader *r, uint32_t index, struct tn__input_section *target)
{
    if (!r->object->with_unloaded && tn__elf_header_of(r, index).sh_type == TN__SHT_CREL)
        return 0;
    struct tn_error ignored, *err = r->err;
    r->err = &ignored;
    int code = read_any(r, index, target);
    r->err = err;
    return code == TN_ENOMEM ? tn__fail(err, code, "%s: out of memory", r->object->name) : 0;
}

int tn__elf_read_relocs(struct tn__elf_reader *r, uint32_t index)
{
    struct tn__object_data *object = r->object;
    uint32_t number = tn__elf_header_of(r, index).sh_info;
    if (!number || number >= object->section_count)
        return TN__ELF_FAIL(r, "%s: section %u (%s) relocates section %u, which does not exist", object->name, index,
                            object->sections[index].name, number);
    struct tn__input_section *target = &object->sections[number];
    return target->kind ? read_any(r, index, target) : read_unloaded(r, index, target);
}
