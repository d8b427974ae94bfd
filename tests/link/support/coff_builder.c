/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "coff_builder.h"

#include <stdlib.h>

enum { MOST = 8192 };

struct output {
    uint8_t *at;
    size_t size;
};

static void append(struct output *out, const void *bytes, size_t size)
{
    assert_true(size <= MOST - out->size);
    if (size && bytes)
        memcpy(out->at + out->size, bytes, size);
    out->size += size;
}

static void append_number(struct output *out, uint32_t value, size_t size)
{
    append(out, &value, size);
}

static void append_name(struct output *out, const char *name, struct output *strings)
{
    char text[8] = "";
    size_t length = strlen(name);
    if (length <= sizeof text) {
        memcpy(text, name, length);
        append(out, text, sizeof text);
        return;
    }
    append_number(out, 0, 4);
    append_number(out, (uint32_t)strings->size, 4);
    append(strings, name, length + 1);
}

static void append_symbol(struct output *out, const struct coff_symbol *symbol, struct output *strings)
{
    if (!symbol->name) {
        append(out, symbol->record, COFF_SYMBOL);
        return;
    }
    append_name(out, symbol->name, strings);
    append_number(out, symbol->value, 4);
    append_number(out, symbol->section, 2);
    append_number(out, symbol->type, 2);
    append_number(out, symbol->class, 1);
    append_number(out, symbol->more, 1);
}

static void append_section(struct output *out, const struct coff_section *section, uint32_t *at)
{
    char name[8] = "";
    memcpy(name, section->name, strlen(section->name));
    append(out, name, sizeof name);
    append_number(out, 0, 4);
    append_number(out, 0, 4);
    append_number(out, section->size, 4);
    append_number(out, section->bytes ? *at : 0, 4);
    *at += section->bytes ? section->size : 0;
    append_number(out, section->reloc_count ? *at : 0, 4);
    *at += section->reloc_count * (uint32_t)COFF_RELOC;
    append_number(out, 0, 4);
    append_number(out, section->reloc_count, 2);
    append_number(out, 0, 2);
    append_number(out, section->flags, 4);
}

static void append_contents(struct output *out, const struct coff_section *section)
{
    append(out, section->bytes, section->bytes ? section->size : 0);
    for (uint16_t i = 0; i < section->reloc_count; i++) {
        append_number(out, section->relocs[i].offset, 4);
        append_number(out, section->relocs[i].symbol, 4);
        append_number(out, section->relocs[i].type, 2);
    }
}

struct bytes coff_build(const struct coff *coff, struct coff_places *places)
{
    struct coff_places found;
    uint8_t text[MOST] = {0};
    struct output out = {calloc(1, MOST), 0}, strings = {text, 4};
    uint32_t at = COFF_HEADER + coff->section_count * (uint32_t)COFF_SECTION;
    assert_non_null(out.at);
    append_number(&out, coff->machine, 2);
    append_number(&out, coff->section_count, 2);
    append_number(&out, 0, 4);
    append_number(&out, 0, 4); /* the symbols, below */
    append_number(&out, coff->symbol_count, 4);
    append_number(&out, 0, 4);
    for (uint16_t i = 0; i < coff->section_count; i++) {
        found.bytes[i] = at;
        found.relocs[i] = at + (coff->sections[i].bytes ? coff->sections[i].size : 0);
        append_section(&out, &coff->sections[i], &at);
    }
    for (uint16_t i = 0; i < coff->section_count; i++)
        append_contents(&out, &coff->sections[i]);
    memcpy(out.at + 8, &at, sizeof at);
    found.symbols = out.size;
    for (uint32_t i = 0; i < coff->symbol_count; i++)
        append_symbol(&out, &coff->symbols[i], &strings);
    found.strings = out.size;
    uint32_t size = (uint32_t)strings.size;
    memcpy(text, &size, sizeof size);
    append(&out, text, strings.size);
    if (places)
        *places = found;
    return (struct bytes){out.at, out.size};
}
