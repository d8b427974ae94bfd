/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Relocations ("PE Format", COFF Relocations). Their addends stand in the fields; the table of the architecture takes
 * them out, so that later phases overwrite fields as they do for other formats. */

#include "link/arch/reloc.h"
#include "link/format/coff/reader.h"

int tn__coff_find_relocs(const struct tn__coff_reader *r, uint32_t index, uint64_t *offset, uint64_t *count)
{
    const struct tn__coff_section header = tn__coff_section(r, index);
    const struct tn__object_data *object = r->object;
    *offset = header.relocs;
    *count = header.reloc_count;
    /* A number that does not fit the header stands in the first relocation, which it counts too. */
    if (header.flags & TN__SCN_MANY_RELOCS && header.reloc_count == 0xffff) {
        if (!tn__inside(*offset, TN__COFF_RELOC, object->size) || !tn__get32(object->bytes + *offset))
            return TN__COFF_FAIL(r, "%s: section %u (%s): no number of relocations at offset %u", object->name, index,
                                 object->sections[index].name, header.relocs);
        *count = tn__get32(object->bytes + *offset) - 1;
        *offset += TN__COFF_RELOC;
    }
    if (*count && (*offset < r->headers_end || !tn__inside(*offset, *count * TN__COFF_RELOC, object->size)))
        return TN__COFF_FAIL(r, "%s: section %u (%s): %llu relocations at offset %llu lie outside the file's %zu bytes",
                             object->name, index, object->sections[index].name, (unsigned long long)*count,
                             (unsigned long long)*offset, object->size);
    return 0;
}

static int read_reloc(struct tn__coff_reader *r, uint32_t index, const uint8_t *at, struct tn__reloc *reloc)
{
    const struct tn__object_data *object = r->object;
    const struct tn__section *section = &object->sections[index];
    uint32_t base = tn__coff_section(r, index).address;
    *reloc = (struct tn__reloc){.offset = tn__get32(at), .symbol = tn__get32(at + 4), .type = tn__get16(at + 8)};
    if (reloc->offset < base || reloc->symbol >= r->symbol_count)
        return TN__COFF_FAIL(r, "%s(%s+0x%llx): relocation against symbol %u, which does not exist", object->name,
                             section->name, (unsigned long long)reloc->offset, reloc->symbol);
    reloc->offset -= base;
    reloc->symbol = tn__coff_symbol(reloc->symbol);
    const struct tn__coff_details *details = object->format->details;
    if (reloc->type >= details->types)
        return TN__COFF_FAIL(r, "%s(%s+0x%llx): relocation type %u does not exist on %s", object->name, section->name,
                             (unsigned long long)reloc->offset, reloc->type, object->arch->name);
    details->take_addend(section, reloc);
    r->uses_base |=
        reloc->type < object->format->row_count && object->format->rows[reloc->type].value == TN__V_S_A_BASE;
    return 0;
}

int tn__coff_read_relocs(struct tn__coff_reader *r, uint32_t index)
{
    struct tn__object_data *object = r->object;
    struct tn__section *section = &object->sections[index];
    uint64_t offset, count;
    int code = tn__coff_find_relocs(r, index, &offset, &count);
    if (code || !count || (section->kind == TN__SECTION_UNLOADED && !object->with_unloaded))
        return code;
    if (!section->bytes)
        return TN__COFF_FAIL(r, "%s: section %u (%s) has relocations and no bytes", object->name, index, section->name);
    struct tn__reloc *relocs = tn__arena_array(&object->arena, count, sizeof *relocs);
    if (!relocs)
        return tn__no_memory(r->err, object->name);
    for (uint64_t i = 0; !code && i < count; i++)
        code = read_reloc(r, index, object->bytes + offset + i * TN__COFF_RELOC, &relocs[i]);
    section->relocs = (const uint8_t *)relocs;
    section->reloc_count = count;
    return code;
}
