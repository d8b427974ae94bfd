/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <elf.h>

#include "baseline/file/file.h"

/* Sections for each kind of variable: with contents, without, and constants that hold addresses. */
enum { ZEROS = TN__FLAT_PLACES, RELOCATED, KINDS };

static const struct tn__baseline_section kinds[KINDS] = {
    [TN__FLAT_WRITABLE] = {.name = ".data", .type = SHT_PROGBITS, .flags = SHF_ALLOC | SHF_WRITE},
    [TN__FLAT_READ_ONLY] = {.name = ".rodata", .type = SHT_PROGBITS, .flags = SHF_ALLOC},
    [ZEROS] = {.name = ".bss", .type = SHT_NOBITS, .flags = SHF_ALLOC | SHF_WRITE},
    [RELOCATED] = {.name = ".data.rel.ro", .type = SHT_PROGBITS, .flags = SHF_ALLOC | SHF_WRITE},
};

static unsigned kind_of(const struct tn__flat_data *data)
{
    if (data->place == TN__FLAT_READ_ONLY && data->pointer_count)
        return RELOCATED;
    return data->byte_count || data->place == TN__FLAT_READ_ONLY ? data->place : ZEROS;
}

static bool add_variable(struct tn__baseline_object *object, uint32_t number, const struct tn__flat_data *data,
                         const struct tn__flat_symbol *symbol, const struct tn__flat_pointer *pointers)
{
    struct tn__baseline_section *section = &object->sections[number];
    struct tn__baseline_datum datum = {.symbol = data->symbol,
                                       .section = number,
                                       .size = data->size,
                                       .binding = symbol->binding,
                                       .visibility = symbol->visibility,
                                       .type = STT_OBJECT};
    if (!tn__baseline_extend(section, data->size, (uint64_t)1 << data->alignment, &datum.value))
        return false;
    if (data->byte_count)
        memcpy(section->bytes + datum.value, data->bytes, data->byte_count);
    for (const struct tn__flat_pointer *p = pointers; p < pointers + data->pointer_count; p++)
        if (!tn__baseline_add_reloc(
                section, (struct tn__code_reloc){(uint32_t)datum.value + p->offset, R_X86_64_64, p->symbol, p->addend}))
            return false;
    return tn__baseline_define(object, datum);
}

bool tn__flat_add_data(const struct tn__flat_file *file, const struct tn__flat_symbol *symbols,
                       struct tn__baseline_object *object)
{
    const struct tn__flat_pointer *pointers = file->pointers;
    for (unsigned k = 0; k < KINDS; k++)
        if (!tn__baseline_add_section(object, &kinds[k]))
            return false;
    for (const struct tn__flat_data *data = file->data; data < file->data + file->data_count; data++) {
        if (!add_variable(object, kind_of(data), data, &symbols[data->symbol], pointers))
            return false;
        pointers += data->pointer_count;
    }
    return true;
}
