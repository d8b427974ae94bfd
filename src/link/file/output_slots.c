/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Drops unneeded GOT slots. The scan makes a slot for every symbol that is loaded through the GOT. Most of these loads
 * are rewritten later, when values are stored (arch/x86_64/relax.c). In memory an unused slot costs nothing, but in a
 * file it would be one more word to relocate at load time. So each such instruction is rewritten here on trial. */

#include "link/file/output_build.h"

/* Bytes that rewriting may read or change, before and after the start of the field. */
enum { BEFORE = 8, BEHIND = 8 };

/* True if the instruction can be rewritten to work without the slot. This does not depend on addresses: an output lies
 * within 2 GiB (output_layout.c). */
static bool can_do_without(const struct tn__output_link *o, const struct tn__object *object,
                           const struct tn__section *section, const struct tn__reloc *reloc, const struct tn__row *row)
{
    uint8_t trial[BEFORE + BEHIND] = {0};
    uint64_t before = tn__min64(reloc->offset, BEFORE), behind = tn__min64(section->size - reloc->offset, BEHIND);
    bool given = object->plan->symbol_flags[reloc->symbol] & TN__SYMBOL_GIVEN;
    if (!row->relax || row->flags & TN__R_TLS || given || !tn__output_is_inside(object, reloc->symbol))
        return false;
    memcpy(trial + BEFORE - before, section->bytes + reloc->offset - before, (size_t)(before + behind));
    return object->data->arch->relax(row->relax, trial + BEFORE, reloc->offset, o->base, reloc->addend, o->base);
}

static void note_section(const struct tn__output_link *o, const struct tn__object *object,
                         const struct tn__section *section, uint8_t *needed)
{
    struct tn__relocs relocs;
    tn__relocs_begin(&relocs, section);
    for (const struct tn__reloc *reloc; (reloc = tn__relocs_next(&relocs));) {
        const struct tn__row *row = &object->data->format->rows[reloc->type];
        if (row->slot == TN__SLOT_ADDRESS && !needed[reloc->symbol])
            needed[reloc->symbol] = !can_do_without(o, object, section, reloc, row);
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
