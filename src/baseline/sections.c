/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What is in an object, before it is written. */

#include <elf.h>

#include "baseline/object.h"

bool tn__baseline_add_section(struct tn__baseline_object *o, const struct tn__baseline_section *section)
{
    if (!tn__grow(NULL, &o->sections, &o->section_room, o->section_count + 1, sizeof *o->sections))
        return false;
    o->sections[o->section_count] = *section;
    o->sections[o->section_count++].alignment = 1;
    return true;
}

bool tn__baseline_extend(struct tn__baseline_section *s, uint64_t size, uint64_t alignment, uint64_t *at)
{
    uint64_t begin = tn__align_up(s->size, alignment);
    if (s->type != SHT_NOBITS && begin + size > s->size) {
        if (!tn__grow(NULL, &s->bytes, &s->room, begin + size, 1))
            return false;
        memset(s->bytes + s->size, 0, begin + size - s->size);
    }
    s->size = begin + size;
    s->alignment = tn__max64(s->alignment, alignment);
    *at = begin;
    return true;
}

bool tn__baseline_add_reloc(struct tn__baseline_section *s, struct tn__code_reloc reloc)
{
    if (!tn__grow(NULL, &s->relocs, &s->reloc_room, s->reloc_count + 1, sizeof *s->relocs))
        return false;
    s->relocs[s->reloc_count++] = reloc;
    return true;
}

bool tn__baseline_define(struct tn__baseline_object *o, struct tn__baseline_datum datum)
{
    if (!tn__grow(NULL, &o->data, &o->datum_room, o->datum_count + 1, sizeof *o->data))
        return false;
    o->data[o->datum_count++] = datum;
    return true;
}

void tn__baseline_drop_data(struct tn__baseline_object *o)
{
    for (size_t i = 0; i < o->section_count; i++) {
        tn__free(NULL, o->sections[i].bytes);
        tn__free(NULL, o->sections[i].relocs);
    }
    o->section_count = 0;
    while (o->datum_count && !tn__baseline_is_function(&o->data[o->datum_count - 1]))
        o->datum_count--;
}

void tn__code_free(struct tn__code *code)
{
    void *const arrays[] = {code->bytes,  code->frames,      code->tables,    code->maps,
                            code->relocs, code->type_relocs, code->functions, code->places};
    for (size_t i = 0; i < TN_COUNT(arrays); i++)
        tn__free(NULL, arrays[i]);
    *code = (struct tn__code){0};
}

void tn__baseline_object_free(struct tn__baseline_object *o)
{
    tn__baseline_drop_data(o);
    tn__code_free(&o->code);
    void *const arrays[] = {o->symbols, o->definitions, o->sections, o->data, (void *)o->groups};
    for (size_t i = 0; i < TN_COUNT(arrays); i++)
        tn__free(NULL, arrays[i]);
    tn__arena_free(&o->arena);
    *o = (struct tn__baseline_object){0};
}
