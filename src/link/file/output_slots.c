/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Drops unneeded GOT slots. The scan makes a slot for every symbol that is loaded through the GOT. Most of these loads
 * are rewritten later, when values are stored (relax.c of an architecture). In memory an unused slot costs nothing, but
 * in a file it would be one more word to relocate at load time. So each such instruction is rewritten here on trial. */

#include "link/file/output_build.h"

/* Bytes that rewriting may read or change, before and after the start of the field. */
enum { BEFORE = 8, BEHIND = 16 };

/* How many bytes from the field on can be rewritten to work without the slot. This does not depend on addresses: an
 * output lies within 2 GiB (output_layout.c). */
static uint64_t can_do_without(const struct tn__output_link *o, const struct tn__object *object,
                               const struct tn__input_section *section, const struct tn__reloc *reloc,
                               const struct tn__reloc *next)
{
    const struct tn_format *format = object->data->format;
    const struct tn__row *row = &format->rows[reloc->type];
    uint8_t trial[BEFORE + BEHIND] = {0};
    uint64_t before = tn__min64(reloc->offset, BEFORE), behind = tn__min64(section->size - reloc->offset, BEHIND);
    bool given = object->plan->symbol_flags[reloc->symbol] & TN__SYMBOL_GIVEN;
    if (!row->relax || row->flags & TN__R_TLS || given || !tn__output_is_inside(object, reloc->symbol))
        return 0;
    memcpy(trial + BEFORE - before, section->bytes + reloc->offset - before, (size_t)(before + behind));
    return format->arch->relax(&(struct tn__sequence){.form = row->relax,
                                                      .next = next ? tn__form_behind(format, reloc, next) : 0,
                                                      .notes = section->notes,
                                                      .field = trial + BEFORE,
                                                      .before = reloc->offset,
                                                      .after = behind,
                                                      .S = o->base,
                                                      .P = o->base,
                                                      .A = reloc->addend});
}

static void note_section(const struct tn__output_link *o, const struct tn__object *object,
                         const struct tn__input_section *section, uint8_t *needed)
{
    struct tn__reloc reloc, next;
    uint64_t from = 0, to = 0; /* what was rewritten last */
    for (uint64_t i = 0; i < section->reloc_count; i++) {
        bool is_last = i + 1 == section->reloc_count;
        tn__relocs_copy(section, i, &reloc, 1);
        if (!is_last)
            tn__relocs_copy(section, i + 1, &next, 1);
        if (object->data->format->rows[reloc.type].slot != TN__SLOT_ADDRESS || reloc.offset - from < to - from)
            continue;
        from = reloc.offset;
        to = from + can_do_without(o, object, section, &reloc, is_last ? NULL : &next);
        needed[reloc.symbol] |= from == to;
    }
}

/* Compacts the remaining slots, in order. */
static void renumber(struct tn__plan *plan, const uint8_t *needed, uint32_t symbol_count, uint32_t *moved)
{
    uint32_t *slots = plan->slots[TN__SLOT_ADDRESS], words = 0;
    for (uint32_t i = 0; i < symbol_count; i++)
        if (slots[i] && !needed[i]) {
            moved[slots[i] - 1] = UINT32_MAX;
            slots[i] = 0;
        }
    for (uint32_t i = 0; i < plan->got_words; i++)
        if (moved[i] != UINT32_MAX)
            moved[i] = words++;
    for (enum tn__slot kind = TN__SLOT_ADDRESS; kind < TN__SLOTS; kind++)
        for (uint32_t i = 0; plan->slots[kind] && i < symbol_count; i++)
            if (plan->slots[kind][i])
                plan->slots[kind][i] = moved[plan->slots[kind][i] - 1] + 1;
    plan->got_words = words;
}

int tn__output_drop_slots(struct tn__output_link *o, const struct tn__object *object)
{
    const struct tn__object_data *data = object->data;
    struct tn__plan *plan = object->plan;
    if (o->options->fixed || !plan->slots[TN__SLOT_ADDRESS])
        return 0;
    uint8_t *needed = tn__arena_array(&o->link->arena, data->symbol_count, 1);
    uint32_t *moved = tn__arena_array(&o->link->arena, plan->got_words, sizeof *moved);
    if (!needed || !moved)
        return tn__output_no_memory(o);
    for (uint32_t i = 0; i < data->section_count; i++)
        if (tn__section_is_loaded(&data->sections[i]))
            note_section(o, object, &data->sections[i], needed);
    for (uint32_t i = 0; plan->stub_index && i < data->symbol_count; i++)
        needed[i] |= plan->stub_index[i] != 0;
    renumber(plan, needed, data->symbol_count, moved);
    return 0;
}
