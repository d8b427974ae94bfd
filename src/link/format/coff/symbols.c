/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Symbols ("PE Format", COFF Symbol Table, Auxiliary Symbol Records, COMDAT Sections).
 *
 * Auxiliary records count as symbols; here they are symbols of section 0, which is not loaded, so whatever refers to
 * one is refused. The same holds for local symbols that lie nowhere. */

#include "link/format/coff/reader.h"

#define FAIL TN__COFF_FAIL

/* Storage classes, selections and characteristics. */
enum { CLASS_EXTERNAL = 2, CLASS_STATIC = 3, CLASS_SECTION = 104, CLASS_WEAK = 105 };
enum { SECTION_ABSOLUTE = -1, SECTION_DEBUG = -2 };
enum { SELECT_NODUPLICATES = 1, SELECT_ANY, SELECT_SAME_SIZE, SELECT_EXACT_MATCH, SELECT_ASSOCIATIVE, SELECT_LARGEST };
enum { WEAK_LIBRARY = 2 }; /* what else there is differs in how linkers search libraries */
enum { FUNCTION_SHIFT = 4, FUNCTION = 2 };

static const char import_prefix[] = "__imp_";

/* A record of the table. */
struct record {
    const uint8_t *at;
    uint32_t value;
    int32_t section; /* SECTION_... if it is negative; 0: none */
    uint16_t type;
    uint8_t class, more; /* more: how many auxiliary records follow */
};

static struct record record_at(const struct tn__coff_reader *r, uint32_t index)
{
    const uint8_t *at = r->symtab + (size_t)index * r->symbol_size, *type = at + (r->big ? 16 : 14);
    uint32_t section = r->big ? tn__get32(at + 12) : tn__get16(at + 12);
    if (!r->big && section > TN__COFF_MOST_SECTIONS)
        section |= 0xffff0000;
    return (struct record){at, tn__get32(at + 8), (int32_t)section, tn__get16(type), type[2], type[3]};
}

/* The name, if it is a string of the table; NULL: it is in the record. */
static int long_name(const struct tn__coff_reader *r, uint32_t index, const char **name)
{
    const uint8_t *at = r->symtab + (size_t)index * r->symbol_size;
    *name = NULL;
    if (tn__get32(at))
        return 0;
    *name = tn__get32(at + 4) ? tn__coff_string(r, tn__get32(at + 4)) : "";
    return *name ? 0 : FAIL(r, "%s: symbol %u: its name lies outside the string table", r->object->name, index);
}

/* Names of eight letters do not end with a NUL, and are copied. */
static int read_name(const struct tn__coff_reader *r, uint32_t index, const char **name)
{
    enum { SHORT = 8 };
    const char *at = (const char *)r->symtab + (size_t)index * r->symbol_size;
    int code = long_name(r, index, name);
    if (code || *name)
        return code;
    *name = memchr(at, 0, SHORT) ? at : tn__arena_text(&r->object->arena, at, SHORT);
    return *name ? 0 : tn__no_memory(r->err, r->object->name);
}

/* ---- symbols that are not in the file's table ---- */

uint32_t tn__coff_add_symbol(struct tn__coff_reader *r, struct tn__symbol symbol)
{
    uint32_t number = tn__coff_symbol(r->symbol_count) + r->added++;
    if (!r->counting)
        r->object->symbols[number] = symbol;
    return number;
}

static uint32_t add_reference(struct tn__coff_reader *r, const char *name)
{
    return tn__coff_add_symbol(r, (struct tn__symbol){.name = name, .binding = TN__BIND_GLOBAL});
}

/* True for a symbol that is another one's pointer in an import table: an undefined one with such a name. */
static inline bool is_reference(const struct record *record)
{
    return record->class == CLASS_EXTERNAL && !record->section && !record->value;
}

static inline bool is_import(const struct record *record, const char *name)
{
    return is_reference(record) && !strncmp(name, import_prefix, sizeof import_prefix - 1) &&
           name[sizeof import_prefix - 1];
}

/* ---- COMDAT groups ---- */

uint32_t tn__coff_hash(const void *bytes, uint64_t size)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (uint64_t i = 0; bytes && i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
    return (uint32_t)(hash ^ hash >> 32) ^ (uint32_t)size;
}

/* The first symbol of a COMDAT section after that of the section itself: the section is kept or discarded with it. */
static void lead_group(struct tn__coff_reader *r, uint32_t index, const struct tn__symbol *symbol)
{
    static const uint8_t selections[] = {[SELECT_ANY] = TN__SELECT_ANY,
                                         [SELECT_SAME_SIZE] = TN__SELECT_SAME_SIZE,
                                         [SELECT_EXACT_MATCH] = TN__SELECT_EXACT_MATCH,
                                         [SELECT_LARGEST] = TN__SELECT_LARGEST};
    struct tn__coff_comdat *comdat = &r->comdats[index];
    const struct tn__input_section *section = &r->object->sections[index];
    if (comdat->led || !comdat->selection)
        return;
    comdat->led = true;
    if (comdat->selection == SELECT_ASSOCIATIVE || comdat->selection == SELECT_NODUPLICATES ||
        symbol->binding == TN__BIND_LOCAL)
        return;
    comdat->number = index; /* which makes it a group of one member */
    bool matches = comdat->selection == SELECT_EXACT_MATCH;
    r->object->groups[r->object->group_count++] = (struct tn__group){
        .signature = symbol->name,
        .members = &comdat->number,
        .count = 1,
        .selection = selections[comdat->selection],
        .measure = matches ? tn__coff_hash(section->bytes, section->size) : comdat->length,
    };
}

/* What the record after a section's symbol says of it: Format 5, Section Definitions. */
static int read_definition(struct tn__coff_reader *r, uint32_t symbol, uint32_t index)
{
    const uint8_t *at = r->symtab + (size_t)(symbol + 1) * r->symbol_size;
    struct tn__coff_comdat *comdat = r->comdats ? &r->comdats[index] : NULL;
    if (!comdat || comdat->selection || !(tn__coff_section(r, index).flags & TN__SCN_COMDAT))
        return 0;
    comdat->selection = at[14];
    comdat->length = tn__get32(at);
    if (comdat->selection < SELECT_NODUPLICATES || comdat->selection > SELECT_LARGEST)
        return FAIL(r, "%s: section %u (%s): unknown COMDAT selection %u", r->object->name, index,
                    r->object->sections[index].name, at[14]);
    if (comdat->selection != SELECT_ASSOCIATIVE)
        return 0;
    uint32_t number = tn__get16(at + 12) | (r->big ? (uint32_t)tn__get16(at + 16) << 16 : 0);
    if (!number || number >= r->object->section_count || number == index)
        return FAIL(r, "%s: section %u (%s) is associated with section %u, which it cannot be", r->object->name, index,
                    r->object->sections[index].name, number);
    r->object->sections[index].follows = number;
    return 0;
}

/* Sections that are associated with an associated one belong to the first of them all. */
static int settle_associations(const struct tn__coff_reader *r)
{
    struct tn__input_section *sections = r->object->sections;
    for (uint32_t i = 1; i < r->object->section_count; i++) {
        uint32_t first = i, steps = 0;
        while (sections[first].follows && steps++ < r->object->section_count)
            first = sections[first].follows;
        if (sections[first].follows)
            return FAIL(r, "%s: section %u (%s) is associated with itself", r->object->name, i, sections[i].name);
        for (uint32_t at = i, next; at != first; at = next) { /* so no chain is walked twice */
            next = sections[at].follows;
            sections[at].follows = first;
        }
    }
    return 0;
}

/* ---- one symbol ---- */

/* Common symbols do not say how they are aligned: to their size, but at most to 32. */
static uint64_t common_alignment(const struct tn__coff_reader *r, uint64_t size)
{
    uint64_t alignment = 1;
    while (alignment < size && alignment < 32)
        alignment *= 2;
    return tn__max64(alignment, 1ULL << r->common_shift);
}

static int place_in_section(struct tn__coff_reader *r, uint32_t index, const struct record *record,
                            struct tn__symbol *symbol)
{
    uint32_t section = (uint32_t)record->section;
    if (section >= r->object->section_count)
        return FAIL(r, "%s: symbol %u (%s) lies in section %u, which does not exist", r->object->name, index,
                    symbol->name, section);
    if (record->value > r->object->sections[section].size)
        return FAIL(r, "%s: symbol %u (%s) lies at %#x, outside section %s", r->object->name, index, symbol->name,
                    record->value, r->object->sections[section].name);
    symbol->place = TN__PLACE_SECTION;
    symbol->section = section;
    bool local = record->class == CLASS_STATIC;
    bool has_definition = local && !record->value && record->more && symbol->type != TN__TYPE_FUNCTION;
    if (has_definition || record->class == CLASS_SECTION)
        symbol->type = TN__TYPE_SECTION;
    if (has_definition)
        return read_definition(r, index, section);
    if (r->comdats && (local || symbol->binding != TN__BIND_LOCAL))
        lead_group(r, section, symbol);
    return 0;
}

/* What `.weak` leads to if nothing else is defined. Assemblers make these names up, and not always differently in
 * different files. */
static bool is_weak_default(const char *name)
{
    return *name == '.' && !strncmp(name, ".weak.", 6);
}

static int place_symbol(struct tn__coff_reader *r, uint32_t index, const struct record *record,
                        struct tn__symbol *symbol)
{
    bool global = symbol->binding != TN__BIND_LOCAL;
    symbol->value = record->value;
    if (record->section > 0)
        return place_in_section(r, index, record, symbol);
    if (record->section == SECTION_ABSOLUTE) {
        symbol->place = TN__PLACE_ABSOLUTE;
    } else if (record->section || !global) { /* of a debugger, or nowhere */
        symbol->binding = TN__BIND_LOCAL;
        symbol->place = TN__PLACE_SECTION;
        symbol->value = 0;
    } else if (record->class == CLASS_EXTERNAL && record->value) {
        symbol->place = TN__PLACE_COMMON;
        r->object->has_commons = true;
        symbol->size = record->value;
        symbol->value = common_alignment(r, record->value);
    } else
        symbol->value = 0;
    return 0;
}

static int read_symbol(struct tn__coff_reader *r, uint32_t index, const struct record *record)
{
    struct tn__symbol *symbol = &r->object->symbols[tn__coff_symbol(index)];
    bool global = record->class == CLASS_EXTERNAL || record->class == CLASS_WEAK;
    *symbol = (struct tn__symbol){
        .type = (record->type >> FUNCTION_SHIFT & 3) == FUNCTION ? TN__TYPE_FUNCTION : TN__TYPE_OTHER,
        .binding = record->class == CLASS_WEAK ? TN__BIND_WEAK
                   : global                    ? TN__BIND_GLOBAL
                                               : TN__BIND_LOCAL,
    };
    int code = read_name(r, index, &symbol->name);
    if (!code && global && !*symbol->name)
        return FAIL(r, "%s: symbol %u is external and has no name", r->object->name, index);
    if (!code && global && record->section && is_weak_default(symbol->name))
        symbol->binding = TN__BIND_LOCAL;
    if (!code)
        code = place_symbol(r, index, record, symbol);
    if (!code && is_import(record, symbol->name)) {
        symbol->stand_in = TN__STAND_IN_SLOT;
        symbol->section = add_reference(r, symbol->name + sizeof import_prefix - 1);
        r->object->has_stand_ins = true;
    }
    r->weak_count += record->class == CLASS_WEAK && !record->section;
    return code;
}

int tn__coff_count_alias(struct tn__coff_reader *r)
{
    enum { MOST = 2048 };
    if (++r->alias_count <= MOST)
        return 0;
    return tn__fail(r->err, TN_ENOTSUP, "%s: more than %d names are other names of undefined symbols", r->object->name,
                    MOST);
}

/* ---- weak externals ---- */

/* A symbol that is another one, which the record after it names, unless something else is defined: Format 3. */
static int read_weak(struct tn__coff_reader *r, uint32_t index)
{
    const struct tn__object_data *object = r->object;
    struct tn__symbol *symbol = &object->symbols[tn__coff_symbol(index)];
    const uint8_t *at = r->symtab + (size_t)(index + 1) * r->symbol_size;
    uint32_t other = tn__get32(at), how = tn__get32(at + 4);
    if (other >= r->symbol_count || other == index)
        return FAIL(r, "%s: weak symbol %u (%s) stands for symbol %u, which it cannot", object->name, index,
                    symbol->name, other);
    const struct tn__symbol *target = &object->symbols[tn__coff_symbol(other)];
    bool nowhere = target->place == TN__PLACE_SECTION && !target->section;
    if (nowhere || (target->place == TN__PLACE_UNDEFINED && target->binding == TN__BIND_LOCAL))
        return FAIL(r, "%s: weak symbol %u (%s) stands for symbol %u, which is no symbol of code or data", object->name,
                    index, symbol->name, other);
    if (target->place == TN__PLACE_ABSOLUTE && !target->value)
        return 0; /* a weak reference, which may be null */
    if (target->place == TN__PLACE_UNDEFINED || target->place == TN__PLACE_ALIAS) {
        symbol->place = TN__PLACE_ALIAS;
        symbol->value = tn__coff_symbol(other);
        return tn__coff_count_alias(r);
    }
    struct tn__symbol definition = *target;
    definition.name = symbol->name;
    definition.binding = TN__BIND_WEAK;
    definition.after_archives = how == WEAK_LIBRARY;
    *symbol = definition;
    return 0;
}

/* ---- all of them ---- */

typedef int visit(struct tn__coff_reader *r, uint32_t index, const struct record *record);

/* Inlined, so that each visit has a loop of its own. */
__attribute__((always_inline)) static inline int for_each_record(struct tn__coff_reader *r, visit *one)
{
    int code = 0;
    struct record record;
    for (uint32_t i = 0; !code && i < r->symbol_count; i += 1U + record.more) {
        record = record_at(r, i);
        if (record.more > r->symbol_count - i - 1)
            return FAIL(r, "%s: symbol %u: its %u auxiliary records lie outside the table", r->object->name, i,
                        record.more);
        code = one(r, i, &record);
    }
    return code;
}

static int count_import(struct tn__coff_reader *r, uint32_t index, const struct record *record)
{
    const char *name;
    if (!is_reference(record))
        return 0;
    int code = long_name(r, index, &name);
    if (!code && is_import(record, name ? name : (const char *)record->at))
        add_reference(r, name);
    return code;
}

static int read_if_weak(struct tn__coff_reader *r, uint32_t index, const struct record *record)
{
    if (record->class != CLASS_WEAK || record->section)
        return 0;
    return record->more ? read_weak(r, index) : 0; /* without a record, it is a weak reference */
}

/* The address from which others are counted. It is that of a client's symbol, or one of the linker's own. */
static void add_base(struct tn__coff_reader *r)
{
    r->object->base = tn__coff_add_symbol(
        r, (struct tn__symbol){.name = "__ImageBase", .binding = TN__BIND_GLOBAL, .stand_in = TN__STAND_IN_BASE});
    r->object->has_stand_ins = true;
}

/* Those that the code names are the same. */
static void set_bases(const struct tn__object_data *object)
{
    const char *name = object->symbols[object->base].name;
    for (uint32_t i = 1; i < object->base; i++)
        if (object->symbols[i].binding != TN__BIND_LOCAL && object->symbols[i].place == TN__PLACE_UNDEFINED &&
            !strcmp(object->symbols[i].name, name))
            object->symbols[i].stand_in = TN__STAND_IN_BASE;
}

static int count_symbols(struct tn__coff_reader *r)
{
    r->counting = true;
    int code = for_each_record(r, count_import);
    add_base(r);
    if (!code)
        code = tn__coff_read_directives(r);
    r->counting = false;
    return code;
}

int tn__coff_read_symbols(struct tn__coff_reader *r)
{
    struct tn__object_data *object = r->object;
    int code = count_symbols(r);
    if (code)
        return code;
    object->symbol_count = tn__coff_symbol(r->symbol_count) + r->added;
    object->symbols = tn__arena_alloc_filled(&object->arena, object->symbol_count * sizeof *object->symbols);
    object->groups =
        tn__arena_array(&object->arena, r->comdat_count + (size_t)r->setting_count, sizeof *object->groups);
    if (r->comdat_count)
        r->comdats = tn__arena_array(&object->arena, object->section_count, sizeof *r->comdats);
    if (!object->symbols || !object->groups || (r->comdat_count && !r->comdats))
        return tn__no_memory(r->err, object->name);
    for (uint32_t i = 0; i <= r->symbol_count; i++)
        object->symbols[i] = (struct tn__symbol){.name = "", .place = i ? TN__PLACE_SECTION : TN__PLACE_UNDEFINED};
    memset(object->symbols + r->symbol_count + 1, 0, r->added * sizeof *object->symbols);
    r->added = 0;
    code = for_each_record(r, read_symbol);
    if (!code && r->weak_count)
        code = for_each_record(r, read_if_weak);
    if (!code && r->comdats)
        code = settle_associations(r);
    if (code)
        return code;
    add_base(r);
    set_bases(object);
    return tn__coff_read_directives(r);
}
