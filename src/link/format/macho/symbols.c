/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The symbol table: entry N of the file becomes symbol N + 1. Symbols in sections are noted as labels; atoms.c finds
 * their places. */

#include "link/format/macho/reader.h"

#define FAIL TN__MACHO_FAIL

/* Names of local symbols are never looked up, so they need no copies. `sum` counts the bytes of copied names,
 * which may share those of the file. */
static int name_symbol(struct tn__macho_reader *r, uint32_t index, const uint8_t *entry, struct tn__symbol *symbol,
                       uint64_t *sum)
{
    uint32_t at = tn__get32(entry + TN__MACHO_SYMBOL_NAME);
    if (at >= r->strings_size && (at || r->strings_size))
        return FAIL(r, "%s: symbol %u: its name lies outside the string table", r->object->name, index);
    const char *name = r->strings_size ? r->strings + at : "";
    symbol->name = name;
    if (!*name)
        return 0;
    if (*name == '_' && name[1]) {
        symbol->name = name + 1;
        symbol->exact = false;
        return 0;
    }
    if (symbol->exact)
        return 0;
    size_t length = strlen(name);
    *sum += length + 2;
    if (*sum > tn__names_limit(r->object))
        return tn__object_fail_names(r->object, "symbols", r->err);
    char *copy = tn__arena_alloc(&r->object->arena, length + 2);
    if (!copy)
        return tn__no_memory(r->err, r->object->name);
    *copy = '\1';
    memcpy(copy + 1, name, length + 1);
    symbol->name = copy;
    return 0;
}

static int place_in_section(struct tn__macho_reader *r, uint32_t index, const uint8_t *entry, struct tn__symbol *symbol)
{
    uint8_t number = entry[TN__MACHO_SYMBOL_SECTION];
    uint16_t desc = tn__get16(entry + TN__MACHO_SYMBOL_DESC);
    if (!number || number >= r->section_count)
        return FAIL(r, "%s: symbol %u (%s) lies in section %u, which does not exist", r->object->name, index,
                    symbol->name, number);
    const struct tn__macho_section *section = &r->sections[number];
    uint64_t offset = symbol->value - section->address;
    if (symbol->value < section->address || offset > section->size)
        return FAIL(r, "%s: symbol %u (%s) lies at %#llx, outside section %s", r->object->name, index, symbol->name,
                    (unsigned long long)symbol->value, section->name);
    symbol->place = TN__PLACE_SECTION;
    if (symbol->binding == TN__BIND_WEAK)
        r->weak_count++;
    if (section->kind == TN__SECTION_CODE && desc & TN__MACHO_RESOLVER)
        symbol->type = TN__TYPE_IFUNC, r->object->has_ifuncs = true;
    else if (section->kind == TN__SECTION_CODE)
        symbol->type = TN__TYPE_FUNCTION;
    else if (section->kind == TN__SECTION_TLS || section->kind == TN__SECTION_TLS_ZERO)
        symbol->type = TN__TYPE_TLS;
    struct tn__macho_label *label = &r->labels[r->label_count++];
    *label =
        (struct tn__macho_label){offset, index, number, desc & TN__MACHO_SYMBOL_KEPT, desc & TN__MACHO_ALTERNATE_ENTRY};
    return 0;
}

/* An undefined symbol with a value is a common one: the value is its size. */
static void place_undefined(struct tn__macho_reader *r, const uint8_t *entry, struct tn__symbol *symbol)
{
    uint16_t desc = tn__get16(entry + TN__MACHO_SYMBOL_DESC);
    if (desc & TN__MACHO_WEAK_REFERENCE)
        symbol->binding = TN__BIND_WEAK;
    if (!symbol->value || symbol->binding == TN__BIND_LOCAL)
        return;
    symbol->place = TN__PLACE_COMMON;
    r->object->has_commons = true;
    symbol->size = symbol->value;
    symbol->value = 1ULL << (desc >> 8 & 15);
    symbol->binding = TN__BIND_GLOBAL;
}

static int place_symbol(struct tn__macho_reader *r, uint32_t index, const uint8_t *entry, struct tn__symbol *symbol)
{
    unsigned type = entry[TN__MACHO_SYMBOL_TYPE] & TN__MACHO_TYPE_MASK;
    switch (type) {
    case TN__MACHO_UNDEFINED:
        place_undefined(r, entry, symbol);
        return 0;
    case TN__MACHO_ABSOLUTE:
        symbol->place = TN__PLACE_ABSOLUTE;
        return 0;
    case TN__MACHO_IN_SECTION:
        return place_in_section(r, index, entry, symbol);
    default:
        return tn__fail(r->err, TN_ENOTSUP, "%s: symbol %u (%s): symbols of type %#x (%s) cannot be linked",
                        r->object->name, index, symbol->name, type,
                        type == TN__MACHO_INDIRECT ? "another name of a symbol" : "bound before it is loaded");
    }
}

static int read_symbol(struct tn__macho_reader *r, uint32_t index, const uint8_t *entry, struct tn__symbol *symbol,
                       uint64_t *sum)
{
    uint8_t type = entry[TN__MACHO_SYMBOL_TYPE];
    uint16_t desc = tn__get16(entry + TN__MACHO_SYMBOL_DESC);
    if (type & TN__MACHO_STAB) {
        *symbol = (struct tn__symbol){.name = "", .place = TN__PLACE_ABSOLUTE};
        return 0;
    }
    bool external = type & TN__MACHO_EXTERNAL, undefined = (type & TN__MACHO_TYPE_MASK) == TN__MACHO_UNDEFINED;
    bool weak = desc & TN__MACHO_WEAK_DEFINITION && !undefined; /* else it says something about the definition */
    *symbol = (struct tn__symbol){
        .name = "",
        .value = tn__get64(entry + TN__MACHO_SYMBOL_VALUE),
        .place = TN__PLACE_UNDEFINED,
        .binding = !external ? TN__BIND_LOCAL
                   : weak    ? TN__BIND_WEAK
                             : TN__BIND_GLOBAL,
        .hidden = (type & TN__MACHO_PRIVATE) != 0,
        .exact = !external,
    };
    int code = name_symbol(r, index, entry, symbol, sum);
    if (!code && external && !*symbol->name)
        return FAIL(r, "%s: symbol %u is global and has no name", r->object->name, index);
    return code ? code : place_symbol(r, index, entry, symbol);
}

int tn__macho_read_symbols(struct tn__macho_reader *r)
{
    struct tn__object_data *object = r->object;
    /* At most one atom begins at each symbol, and one at the beginning of each section; one symbol stands for each. */
    uint64_t sections = 1 + (uint64_t)r->section_count + r->symbol_count;
    if (sections + r->symbol_count + 1 > UINT32_MAX / 2)
        return FAIL(r, "%s: %u symbols are too many", object->name, r->symbol_count);
    object->symbols = tn__arena_alloc(&object->arena, (sections + r->symbol_count + 1) * sizeof *object->symbols);
    r->labels = tn__arena_alloc(&object->arena, (size_t)r->symbol_count * sizeof *r->labels);
    if (!object->symbols || !r->labels)
        return tn__no_memory(r->err, object->name);
    object->symbols[0] = (struct tn__symbol){.name = ""};
    object->symbol_count = r->symbol_count + 1;
    uint64_t sum = 0;
    int code = 0;
    struct tn__symbol *symbol = object->symbols;
    const uint8_t *entry = r->symtab;
    for (uint32_t i = 0; !code && i < r->symbol_count; i++, entry += TN__MACHO_SYMBOL)
        code = read_symbol(r, i, entry, ++symbol, &sum);
    return code;
}
