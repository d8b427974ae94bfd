/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lists the symbols of an output, and fills in addresses in its debug sections. */

#include "link/file/output_build.h"
#include "link/arch/reloc.h"

/* ---- symbols ---- */

/* The index of the output section that holds a symbol; UINT32_MAX: not in the output. */
static uint32_t section_of(const struct tn__output_link *o, size_t object, const struct tn__symbol *symbol)
{
    uint32_t piece = o->objects[object].pieces[symbol->section];
    return piece ? o->pieces[piece - 1].out : UINT32_MAX;
}

static uint32_t common_section(const struct tn__output_link *o)
{
    const struct tn__output_section *section = tn__output_find(o->output, ".bss");
    return section ? (uint32_t)(section - o->output->sections) : UINT32_MAX;
}

/* True for a definition that was chosen and has a name worth listing. */
static bool is_kept(const struct tn__object *object, uint32_t index)
{
    const struct tn__symbol *symbol = &object->data->symbols[index];
    uint8_t flags = object->plan->symbol_flags[index];
    bool compilers = symbol->name[0] == '.' && symbol->name[1] == 'L';
    return symbol->type != TN__TYPE_SECTION && *symbol->name && !compilers && flags & TN__SYMBOL_OWN &&
           !(flags & TN__SYMBOL_DISCARDED) && symbol->place != TN__PLACE_UNDEFINED &&
           (symbol->place != TN__PLACE_ABSOLUTE || symbol->binding != TN__BIND_LOCAL);
}

static int add_symbol(struct tn__output_link *o, size_t number, uint32_t index)
{
    struct tn__output *output = o->output;
    const struct tn__object *object = o->link->objects[number];
    const struct tn__symbol *symbol = &object->data->symbols[index];
    bool common = symbol->place == TN__PLACE_COMMON, local = symbol->binding == TN__BIND_LOCAL;
    const char *name = tn__arena_text(&output->arena, symbol->name, strlen(symbol->name));
    if (!name)
        return tn__output_no_memory(o);
    o->origins[output->symbol_count] = (struct tn__output_origin){(uint32_t)number, index};
    output->symbols[output->symbol_count++] = (struct tn__output_symbol){
        .name = name,
        .size = common && symbol->entry ? symbol->entry->common_size : tn__symbol_size(object->data, symbol),
        .section = symbol->place == TN__PLACE_SECTION ? section_of(o, number, symbol)
                   : common                           ? common_section(o)
                                                      : UINT32_MAX,
        .function = symbol->type == TN__TYPE_FUNCTION,
        .tls = object->plan->symbol_flags[index] & TN__SYMBOL_TLS,
        .data = symbol->type != TN__TYPE_FUNCTION && symbol->size,
        .local = local,
        .weak = symbol->binding == TN__BIND_WEAK,
        .exported = !local && !symbol->hidden && !symbol->entry->hidden,
    };
    return TN_OK;
}

static int add_symbols(struct tn__output_link *o, bool local)
{
    int code = TN_OK;
    for (size_t i = 0; i < o->link->count && code == TN_OK; i++) {
        const struct tn__object *object = o->link->objects[i];
        for (uint32_t s = 1; s < object->data->symbol_count && code == TN_OK; s++)
            if (is_kept(object, s) && (object->data->symbols[s].binding == TN__BIND_LOCAL) == local)
                code = add_symbol(o, i, s);
    }
    return code;
}

int tn__output_list_symbols(struct tn__output_link *o)
{
    struct tn__output *output = o->output;
    size_t most = 0;
    for (size_t i = 0; i < o->link->count; i++)
        most += o->link->objects[i]->data->symbol_count;
    output->symbols = tn__arena_array(&output->arena, most + 1, sizeof *output->symbols);
    o->origins = tn__arena_array(&o->arena, most + 1, sizeof *o->origins);
    if (!output->symbols || !o->origins)
        return tn__output_no_memory(o);
    int code = add_symbols(o, true);
    output->local_count = output->symbol_count;
    return code == TN_OK ? add_symbols(o, false) : code;
}

void tn__output_finish_symbols(struct tn__output_link *o)
{
    for (size_t i = 0; i < o->output->symbol_count; i++) {
        struct tn__output_symbol *symbol = &o->output->symbols[i];
        uint64_t from = symbol->tls ? tn__output_tls_start(o) : symbol->section == UINT32_MAX ? 0 : o->base;
        symbol->value = o->link->objects[o->origins[i].object]->plan->addresses[o->origins[i].symbol] - from;
    }
}

/* ---- debug data ---- */

/* Stored for addresses in discarded code: in some lists, two zeros would mark the end. */
static uint64_t discarded_in(const char *section)
{
    return !strcmp(section, ".debug_ranges") || !strcmp(section, ".debug_loc");
}

static uint64_t debug_value(const struct tn__output_link *o, const struct tn__output_piece *piece, size_t number,
                            const struct tn__reloc *reloc)
{
    const struct tn__object *object = piece->object;
    const struct tn__symbol *symbol = &object->data->symbols[reloc->symbol];
    uint8_t flags = object->plan->symbol_flags[reloc->symbol];
    uint64_t addend = (uint64_t)reloc->addend;
    if (symbol->place != TN__PLACE_SECTION)
        return addend + (flags & TN__SYMBOL_GIVEN ? 0 : object->plan->addresses[reloc->symbol] - o->base);
    uint32_t target = o->objects[number].pieces[symbol->section];
    const struct tn__section *section = &object->data->sections[symbol->section];
    if (!target || (tn__section_is_loaded(section) && flags & TN__SYMBOL_DISCARDED))
        return discarded_in(piece->section->name) + addend;
    if (o->pieces[target - 1].strings)
        return tn__output_string_at(o, &o->pieces[target - 1], symbol->value + addend);
    uint64_t from = tn__section_is_tls(section)      ? tn__output_tls_start(o)
                    : tn__section_is_loaded(section) ? o->base
                                                     : 0;
    return section->address + symbol->value + addend - from;
}

static void relocate_debug(const struct tn__output_link *o, const struct tn__output_piece *piece, size_t number,
                           const struct tn__reloc *reloc)
{
    const struct tn__object_data *data = piece->object->data;
    if (reloc->type >= data->arch->row_count || reloc->symbol >= data->symbol_count)
        return;
    const struct tn__row *row = &data->arch->rows[reloc->type];
    size_t size = row->size;
    if (row->value != TN__V_S_A || !tn__inside(reloc->offset, size, piece->size))
        return;
    uint64_t value = debug_value(o, piece, number, reloc);
    memcpy(piece->section->write + reloc->offset, &value, size);
}

static void relocate_piece(const struct tn__output_link *o, const struct tn__output_piece *piece, size_t number)
{
    struct tn__relocs relocs;
    tn__relocs_begin(&relocs, piece->object->data, piece->section);
    for (const struct tn__reloc *reloc; (reloc = tn__relocs_next(&relocs));)
        relocate_debug(o, piece, number, reloc);
}

void tn__output_finish_debug(struct tn__output_link *o)
{
    for (size_t i = 0; i < o->link->count; i++)
        for (uint32_t s = 1; s < o->link->objects[i]->data->section_count; s++) {
            uint32_t piece = o->objects[i].pieces[s];
            if (piece && o->pieces[piece - 1].class == TN__CLASS_DEBUG)
                relocate_piece(o, &o->pieces[piece - 1], i);
        }
}
