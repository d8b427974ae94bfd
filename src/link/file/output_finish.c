/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lists the symbols of an output, and fills in addresses in its debug sections. */

#include "link/file/output_build.h"
#include "link/format/debug_relocs.h"

/* ---- symbols ---- */

static uint32_t common_section(const struct tn__output_link *o, const struct tn__symbol *symbol)
{
    const char *name = tn__output_classes[tn__output_common_class(o, symbol)].name;
    const struct tn__output_section *section = tn__output_find(o->output, name);
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
    uint32_t piece = symbol->place == TN__PLACE_SECTION ? o->objects[number].pieces[symbol->section] : 0;
    if (!name)
        return tn__output_no_memory(o);
    o->origins[output->symbol_count] = (struct tn__output_origin){(uint32_t)number, index};
    output->symbols[output->symbol_count++] = (struct tn__output_symbol){
        .name = name,
        .section = piece    ? o->pieces[piece - 1].out
                   : common ? common_section(o, symbol)
                            : UINT32_MAX,
        .function = symbol->type == TN__TYPE_FUNCTION || symbol->type == TN__TYPE_IFUNC, /* its stub */
        .tls = object->plan->symbol_flags[index] & TN__SYMBOL_TLS,
        .data = symbol->type == TN__TYPE_OTHER && symbol->size,
        .local = local,
        .weak = symbol->binding == TN__BIND_WEAK,
        .exported = !local && !symbol->hidden && !symbol->entry->hidden,
    };
    return 0;
}

static int add_symbols(struct tn__output_link *o, bool local)
{
    int code = 0;
    for (size_t i = 0; i < o->link->count && !code; i++) {
        const struct tn__object *object = o->link->objects[i];
        for (uint32_t s = 1; s < object->data->symbol_count && !code; s++)
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
    return code ? code : add_symbols(o, false);
}

void tn__output_finish_symbols(struct tn__output_link *o)
{
    for (size_t i = 0; i < o->output->symbol_count; i++) {
        struct tn__output_symbol *symbol = &o->output->symbols[i];
        const struct tn__object *object = o->link->objects[o->origins[i].object];
        const struct tn__symbol *origin = &object->data->symbols[o->origins[i].symbol];
        bool common = origin->place == TN__PLACE_COMMON;
        uint64_t from = symbol->tls ? tn__output_tls_start(o) : symbol->section == UINT32_MAX ? 0 : o->base;
        symbol->value = object->plan->addresses[o->origins[i].symbol] - from;
        symbol->size = common && origin->entry ? origin->entry->common_size : tn__symbol_size(object->data, origin);
    }
}

/* ---- debug data ---- */

/* What debug data of a piece refers to. */
struct reference {
    const struct tn__output_link *o;
    const struct tn__object *object;
    const uint32_t *pieces; /* of the object */
};

static uint64_t find_value(const void *context, const struct tn__object_data *data, const struct tn__reloc *reloc,
                           uint64_t discarded)
{
    const struct reference *from = context;
    const struct tn__output_link *o = from->o;
    const struct tn__symbol *symbol = &data->symbols[reloc->symbol];
    uint8_t flags = from->object->plan->symbol_flags[reloc->symbol];
    uint64_t addend = (uint64_t)reloc->addend;
    if (symbol->place != TN__PLACE_SECTION)
        return addend + (flags & TN__SYMBOL_GIVEN ? 0 : from->object->plan->addresses[reloc->symbol] - o->base);
    uint32_t target = from->pieces[symbol->section];
    const struct tn__input_section *section = &data->sections[symbol->section];
    if (!target || (tn__section_is_loaded(section) && flags & TN__SYMBOL_DISCARDED))
        return discarded + addend;
    if (o->pieces[target - 1].strings)
        return tn__output_string_at(o, &o->pieces[target - 1], symbol->value + addend);
    uint64_t start = tn__section_is_tls(section)      ? tn__output_tls_start(o)
                     : tn__section_is_loaded(section) ? o->base
                                                      : 0;
    return section->address + symbol->value + addend - start;
}

void tn__output_finish_debug(struct tn__output_link *o)
{
    for (size_t i = 0; i < o->link->count; i++) {
        const struct tn__object *object = o->link->objects[i];
        for (uint32_t s = 1; s < object->data->section_count; s++) {
            uint32_t piece = o->objects[i].pieces[s];
            const struct tn__input_section *section = &object->data->sections[s];
            if (piece && o->pieces[piece - 1].class == TN__CLASS_DEBUG)
                tn__debug_relocate(object->data, section, section->write, section->address, find_value,
                                   &(struct reference){o, object, o->objects[i].pieces});
        }
    }
}
