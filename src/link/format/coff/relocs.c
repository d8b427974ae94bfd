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

static int fail_reloc(const struct tn__coff_reader *r, uint32_t index, const uint8_t *at)
{
    const struct tn__object_data *object = r->object;
    const struct tn__coff_details *details = object->format->details;
    uint32_t place = tn__get32(at), base = tn__coff_section(r, index).address;
    uint64_t offset = place < base ? place : place - base;
    const char *section = object->sections[index].name;
    if (tn__get16(at + 8) >= details->types)
        return TN__COFF_FAIL(r, "%s(%s+0x%llx): relocation type %u does not exist on %s", object->name, section,
                             (unsigned long long)offset, tn__get16(at + 8), object->arch->name);
    return TN__COFF_FAIL(r, "%s(%s+0x%llx): relocation against symbol %u, which does not exist", object->name, section,
                         (unsigned long long)offset, tn__get32(at + 4));
}

int tn__coff_read_relocs(struct tn__coff_reader *r, uint32_t index)
{
    struct tn__object_data *object = r->object;
    struct tn__input_section *section = &object->sections[index];
    uint64_t offset, count;
    int code = tn__coff_find_relocs(r, index, &offset, &count);
    if (code || !count || (section->kind == TN__SECTION_UNLOADED && !object->with_unloaded))
        return code;
    if (!section->bytes)
        return TN__COFF_FAIL(r, "%s: section %u (%s) has relocations and no bytes", object->name, index, section->name);
    const struct tn__coff_details *details = object->format->details;
    uint64_t seen = 0;
    bool outside = false;
    const struct tn__coff_records records = {.section = section,
                                             .at = object->bytes + offset,
                                             .count = count,
                                             .base = tn__coff_section(r, index).address,
                                             .symbols = r->symbol_count,
                                             .seen = &seen,
                                             .outside = &outside};
    struct tn__reloc *relocs = tn__arena_alloc(&object->arena, count * sizeof *relocs); /* 10 bytes of the file each */
    if (!relocs)
        return tn__no_memory(r->err, object->name);
    uint64_t sound = details->convert(&records, relocs);
    if (sound < count)
        return fail_reloc(r, index, records.at + sound * TN__COFF_RELOC);
    object->relocs_sound &= !outside;
    for (uint32_t type = 0; type < details->types; type++)
        r->uses_base |= seen >> type & 1 && object->format->rows[type].value == TN__V_S_A_BASE;
    section->relocs = (const uint8_t *)relocs;
    section->relocs_made = true;
    section->reloc_count = count;
    return 0;
}
