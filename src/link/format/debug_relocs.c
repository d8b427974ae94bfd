/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "link/format/debug_relocs.h"
#include "link/arch/reloc.h"

/* Where two zeros end a list, addresses of discarded code are ones instead. */
static const struct {
    const char *section;
    uint64_t discarded;
} lists[] = {{".debug_ranges", 1}, {".debug_loc", 1}};

void tn__debug_relocate(const struct tn__object_data *data, const struct tn__section *section, uint8_t *bytes,
                        uint64_t address, tn__debug_value *value, const void *context)
{
    uint64_t discarded = 0;
    for (size_t i = 0; i < TN_COUNT(lists); i++)
        if (!strcmp(section->name, lists[i].section))
            discarded = lists[i].discarded;
    struct tn__relocs relocs;
    tn__relocs_begin(&relocs, section);
    for (const struct tn__reloc *reloc; (reloc = tn__relocs_next(&relocs));) {
        if (reloc->type >= data->format->row_count || reloc->symbol >= data->symbol_count)
            continue;
        const struct tn__row *row = &data->format->rows[reloc->type];
        if ((row->value != TN__V_S_A && row->value != TN__V_S_A_P) ||
            !tn__inside(reloc->offset, row->size, section->size))
            continue;
        uint64_t stored = value(context, data, reloc, discarded);
        if (row->value == TN__V_S_A_P)
            stored -= address + reloc->offset;
        memcpy(bytes + reloc->offset, &stored, row->size);
    }
}
