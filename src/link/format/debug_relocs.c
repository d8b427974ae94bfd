/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "link/format/debug_relocs.h"
#include "link/arch/reloc.h"

/* Where two zeros end a list, addresses of discarded code are ones instead. */
static const struct {
    const char *section;
    uint64_t discarded;
} lists[] = {{".debug_ranges", 1}, {".debug_loc", 1}};

/* The value of a row, from S + A and what precedes it: the field, or the relocation before it. */
static bool find_value(const struct tn__row *row, const uint8_t *field, uint64_t S_A, uint64_t P, uint64_t minuend,
                       uint64_t *value)
{
    uint64_t F = 0;
    memcpy(&F, field, row->size);
    switch (row->value) {
    case TN__V_S_A:
        *value = S_A;
        return true;
    case TN__V_S_A_P:
        *value = S_A - P;
        return true;
    case TN__V_F_S_A:
        *value = F + S_A;
        return true;
    case TN__V_F_MINUS:
        *value = F - S_A;
        return true;
    case TN__V_SUBTRACT:
        *value = minuend - S_A;
        return true;
    default:
        return false;
    }
}

void tn__debug_relocate(const struct tn__object_data *data, const struct tn__input_section *section, uint8_t *bytes,
                        uint64_t address, tn__debug_value *value, const void *context)
{
    uint64_t discarded = 0, minuend = 0;
    for (size_t i = 0; i < TN_COUNT(lists); i++)
        if (!strcmp(section->name, lists[i].section))
            discarded = lists[i].discarded;
    struct tn__relocs relocs;
    tn__relocs_begin(&relocs, section);
    for (const struct tn__reloc *reloc; (reloc = tn__relocs_next(&relocs));) {
        if (reloc->type >= data->format->row_count || reloc->symbol >= data->symbol_count)
            continue;
        const struct tn__row *row = &data->format->rows[reloc->type];
        if (row->value <= TN__V_NONE || !tn__inside(reloc->offset, row->size, section->size))
            continue;
        uint64_t S_A = value(context, data, reloc, discarded), stored;
        uint8_t *field = bytes + reloc->offset;
        bool found = find_value(row, field, S_A, address + reloc->offset, minuend, &stored);
        if (found && row->field == TN__F_ULEB128)
            tn__field_put_uleb(field, section->size - reloc->offset, stored);
        else if (found)
            tn__field_put(data->arch, row, field, stored);
        minuend = S_A;
    }
}
