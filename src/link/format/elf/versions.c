/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Versions of symbols in objects (the assembler's .symver). A definition of NAME@@VERSION is that of the default
 * version: references to NAME and to NAME@VERSION mean it. So it becomes NAME, and NAME@VERSION is a further symbol, at
 * the end. A definition of NAME@VERSION is one of no other name. */

#include "link/format/elf/reader.h"

static bool is_default(const struct tn__symbol *symbol)
{
    return symbol->binding != TN__BIND_LOCAL && symbol->place != TN__PLACE_UNDEFINED &&
           tn__default_version(symbol->name);
}

/* Makes one symbol two. The names are copied; many may share the bytes of one in the file. */
static int divide(struct tn__elf_reader *r, struct tn__symbol *symbol, struct tn__symbol *versioned, uint64_t *copied)
{
    struct tn__object_data *object = r->object;
    const char *name = symbol->name;
    size_t stem = (size_t)(tn__default_version(name) - name), length = strlen(name);
    *copied += stem + length;
    if (*copied > tn__names_limit(object))
        return tn__object_fail_names(object, "symbols", r->err);
    char *with = tn__arena_text(&object->arena, name, length);
    *versioned = *symbol;
    versioned->name = with;
    symbol->name = tn__arena_text(&object->arena, name, stem);
    if (!with || !symbol->name)
        return tn__no_memory(r->err, object->name);
    memmove(with + stem, with + stem + 1, length - stem); /* with the NUL */
    return 0;
}

int tn__elf_read_versions(struct tn__elf_reader *r)
{
    struct tn__object_data *object = r->object;
    uint32_t count = 0, at = object->symbol_count;
    for (uint32_t i = 1; i < at; i++)
        count += is_default(&object->symbols[i]);
    struct tn__symbol *symbols =
        count ? tn__arena_array(&object->arena, (size_t)at + count, sizeof *symbols) : object->symbols;
    if (!symbols)
        return tn__no_memory(r->err, object->name);
    if (!count)
        return 0;
    memcpy(symbols, object->symbols, at * sizeof *symbols);
    object->symbols = symbols;
    uint64_t copied = 0;
    int code = 0;
    for (uint32_t i = 1; !code && i < object->symbol_count; i++)
        if (is_default(&symbols[i]))
            code = divide(r, &symbols[i], &symbols[at++], &copied);
    object->symbol_count = at;
    return code;
}
