/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects made from memory instead of a file: a section of the client's with its symbols, or addresses only. */

#include "link/session/contents.h"

static const uint8_t kinds[] = {[TN_SECTION_READ_ONLY] = TN__SECTION_RODATA,
                                [TN_SECTION_DATA] = TN__SECTION_DATA,
                                [TN_SECTION_CODE] = TN__SECTION_CODE};

enum { DEFAULT_ALIGNMENT = 16 };

static int check_section(const struct tn_library *library, const struct tn_section *section, struct tn_error *err)
{
    if (!section->name || !*section->name || (unsigned)section->kind >= TN_COUNT(kinds))
        return tn__fail(err, TN_EINVAL, "a section needs a name and one of the three kinds");
    if (section->alignment & (section->alignment - 1))
        return tn__fail(err, TN_EINVAL, "section %s: alignment %zu is no power of two", section->name,
                        section->alignment);
    if (section->symbol_count > UINT32_MAX / 2 || (section->symbol_count && !section->symbols))
        return tn__fail(err, TN_EINVAL, "section %s: no symbols, or too many", section->name);
    for (size_t i = 0; i < section->symbol_count; i++)
        if (!section->symbols[i].name || !*section->symbols[i].name || section->symbols[i].offset > section->length)
            return tn__fail(err, TN_EINVAL, "section %s: symbol %zu has no name or lies outside of its %zu bytes",
                            section->name, i, section->length);
    if (section->owner && section->owner->library != library)
        return tn__fail(err, TN_EINVAL, "section %s: its tracker belongs to another library", section->name);
    return 0;
}

static bool fill_section(struct tn__object_data *data, const struct tn_section *given)
{
    struct tn__input_section *section = &data->sections[1];
    uint8_t *bytes = tn__arena_array(&data->arena, given->length, 1);
    section->name = data->name;
    section->bytes = bytes;
    section->size = given->length;
    section->alignment = given->alignment ? given->alignment : DEFAULT_ALIGNMENT;
    section->kind = kinds[given->kind];
    if (bytes && given->bytes)
        memcpy(bytes, given->bytes, given->length);
    return bytes != NULL;
}

static bool fill_symbols(struct tn__object_data *data, const struct tn_section *given)
{
    for (uint32_t i = 1; i < data->symbol_count; i++) {
        const struct tn_section_symbol *symbol = &given->symbols[i - 1];
        const char *name = tn__arena_text(&data->arena, symbol->name, strlen(symbol->name));
        if (!name)
            return false;
        data->symbols[i] = (struct tn__symbol){.name = name,
                                               .value = symbol->offset,
                                               .section = 1,
                                               .place = TN__PLACE_SECTION,
                                               .binding = TN__BIND_GLOBAL};
    }
    return true;
}

/* An object with this many sections and symbols besides the first of each, which says nothing. */
static bool make_object(const struct tn_library *library, const char *name, size_t sections, size_t symbols,
                        struct tn__object_data *data)
{
    *data = (struct tn__object_data){.format = library->session->formats[0], /* without relocations any will do */
                                     .arch = library->session->formats[0]->arch,
                                     .section_count = (uint32_t)sections + 1,
                                     .symbol_count = (uint32_t)symbols + 1,
                                     .arena.from = library->session->allocator};
    data->name = tn__arena_text(&data->arena, name, strlen(name));
    data->sections = tn__arena_array(&data->arena, data->section_count, sizeof *data->sections);
    data->symbols = tn__arena_array(&data->arena, data->symbol_count, sizeof *data->symbols);
    if (!data->name || !data->sections || !data->symbols)
        return false;
    data->sections[0].name = data->symbols[0].name = "";
    return true;
}

static int make_section(const struct tn_library *library, const struct tn_section *given, struct tn__object_data *data,
                        struct tn_error *err)
{
    bool made = make_object(library, given->name, 1, given->symbol_count, data);
    data->input.owner = given->owner;
    if (made && fill_section(data, given) && fill_symbols(data, given)) {
        tn__object_find_keys(data, &library->session->seed);
        return 0;
    }
    tn__arena_free(&data->arena);
    return tn__fail(err, TN_ENOMEM, "section %s: out of memory", given->name);
}

/* ---- addresses ---- */

int tn__inject_addresses(const struct tn_library *library, const char *name, const struct tn_definition *definitions,
                         size_t count, const char *const *needs, size_t need_count, struct tn__object_data *data,
                         struct tn_error *err)
{
    if (count > UINT32_MAX / 4 || need_count > UINT32_MAX / 4)
        return tn__fail(err, TN_EINVAL, "%s: too many symbols", name);
    const uint64_t known = TN_SYMBOL_WEAK | TN_SYMBOL_HIDDEN | TN_SYMBOL_CALLABLE;
    for (size_t i = 0; i < count; i++)
        if (!definitions[i].name || !*definitions[i].name || definitions[i].flags & ~known)
            return tn__fail(err, TN_EINVAL, "%s: definition %zu has no name, or flags that it cannot have", name, i);
    for (size_t i = 0; i < need_count; i++)
        if (!needs[i] || !*needs[i])
            return tn__fail(err, TN_EINVAL, "%s: need %zu has no name", name, i);
    bool made = make_object(library, name, 0, count + need_count, data);
    data->first_need = (uint32_t)count + 1;
    for (size_t i = 0; made && i < count; i++) {
        const struct tn_definition *given = &definitions[i];
        data->symbols[1 + i] =
            (struct tn__symbol){.name = tn__arena_text(&data->arena, given->name, strlen(given->name)),
                                .value = (uintptr_t)given->address,
                                .place = TN__PLACE_ABSOLUTE,
                                .type = given->flags & TN_SYMBOL_CALLABLE ? TN__TYPE_FUNCTION : TN__TYPE_OTHER,
                                .binding = given->flags & TN_SYMBOL_WEAK ? TN__BIND_WEAK : TN__BIND_GLOBAL,
                                .hidden = given->flags & TN_SYMBOL_HIDDEN};
        made = data->symbols[1 + i].name;
    }
    for (size_t i = 0; made && i < need_count; i++) {
        const char *need = tn__arena_text(&data->arena, needs[i], strlen(needs[i]));
        data->symbols[1 + count + i] = (struct tn__symbol){.name = need, .binding = TN__BIND_GLOBAL};
        made = need;
    }
    if (made) {
        tn__object_find_keys(data, &library->session->seed);
        return 0;
    }
    tn__arena_free(&data->arena);
    return tn__no_memory(err, name);
}

/* ---- public ---- */

int tn_add_section(struct tn_library *library, const struct tn_section *given, struct tn_error *err)
{
    if (!library || !given)
        return tn__fail(err, TN_EINVAL, "no library or no section given");
    struct tn_section section;
    struct tn__object_data data;
    int code = tn__take_options(&section, sizeof section, given, "struct tn_section", err);
    if (!code)
        code = check_section(library, &section, err);
    if (!code)
        code = make_section(library, &section, &data, err);
    return code ? code : tn__library_enter(library, &data, err);
}
