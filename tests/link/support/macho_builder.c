/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "macho_builder.h"

#include <stdlib.h>

#include "base/base.h"

unsigned macho_section(struct macho *macho, const char *segment, const char *name, uint32_t flags, const void *bytes,
                       size_t size)
{
    assert_true(macho->section_count + 1 < MACHO_SECTIONS);
    unsigned index = ++macho->section_count;
    macho->sections[index].segment = segment;
    macho->sections[index].name = name;
    macho->sections[index].flags = flags;
    macho->sections[index].shift = 3;
    macho->sections[index].bytes = bytes;
    macho->sections[index].size = size;
    macho->sections[index].address =
        index > 1 ? (macho->sections[index - 1].address + macho->sections[index - 1].size + 15) & -16ULL : 0;
    return index;
}

unsigned macho_code(struct macho *macho, const void *bytes, size_t size)
{
    return macho_section(macho, "__TEXT", "__text", TN__MACHO_ONLY_CODE, bytes, size);
}

unsigned macho_symbol(struct macho *macho, const char *name, unsigned type, unsigned section, unsigned desc,
                      uint64_t offset)
{
    size_t length = strlen(name) + 1;
    if (!macho->strings_size)
        macho->strings_size = 1;
    assert_true(macho->symbol_count < MACHO_SYMBOLS && macho->strings_size + length <= MACHO_STRINGS);
    unsigned index = macho->symbol_count++;
    memcpy(macho->strings + macho->strings_size, name, length);
    macho->symbols[index].name = *name ? (uint32_t)macho->strings_size : 0;
    macho->symbols[index].type = (uint8_t)type;
    macho->symbols[index].section = (uint8_t)section;
    macho->symbols[index].desc = (uint16_t)desc;
    macho->symbols[index].value = macho->sections[section].address + offset;
    macho->strings_size += length;
    return index;
}

unsigned macho_function(struct macho *macho, const char *name, unsigned section, uint64_t offset)
{
    return macho_symbol(macho, name, TN__MACHO_IN_SECTION | TN__MACHO_EXTERNAL, section, 0, offset);
}

unsigned macho_undefined(struct macho *macho, const char *name)
{
    return macho_symbol(macho, name, TN__MACHO_UNDEFINED | TN__MACHO_EXTERNAL, 0, 0, 0);
}

void macho_reloc(struct macho *macho, unsigned section, uint32_t address, unsigned symbol, unsigned type,
                 unsigned length, bool relative, bool external)
{
    assert_true(macho->reloc_count < MACHO_RELOCS);
    unsigned index = macho->reloc_count++;
    macho->relocs[index].section = section;
    macho->relocs[index].address = address;
    macho->relocs[index].bits = symbol | (uint32_t)relative << TN__MACHO_RELOC_RELATIVE |
                                length << TN__MACHO_RELOC_LENGTH | (uint32_t)external << TN__MACHO_RELOC_EXTERNAL |
                                type << TN__MACHO_RELOC_TYPE;
}

/* ---- writing the file ---- */

static uint8_t *append(struct bytes *file, const void *bytes, size_t size)
{
    size_t at = (file->size + 7) & ~(size_t)7;
    file->at = realloc(file->at, at + size + 8);
    assert_non_null(file->at);
    memset(file->at + file->size, 0, at - file->size);
    if (bytes && size)
        memcpy(file->at + at, bytes, size);
    else
        memset(file->at + at, 0, size);
    file->size = at + size;
    return file->at + at;
}

static void put(struct bytes file, size_t at, uint32_t value)
{
    tn__put32(file.at + at, value);
}

static size_t header_of(unsigned section)
{
    return TN__MACHO_HEADER + TN__MACHO_SEGMENT + (size_t)(section - 1) * TN__MACHO_SECTION;
}

static void write_sections(const struct macho *macho, struct bytes *file)
{
    for (unsigned i = 1; i <= macho->section_count; i++) {
        size_t header = header_of(i);
        strncpy((char *)file->at + header + TN__MACHO_SECTION_NAME, macho->sections[i].name, TN__MACHO_NAME);
        strncpy((char *)file->at + header + TN__MACHO_SEGMENT_NAME, macho->sections[i].segment, TN__MACHO_NAME);
        tn__put64(file->at + header + TN__MACHO_SECTION_ADDRESS, macho->sections[i].address);
        tn__put64(file->at + header + TN__MACHO_SECTION_SIZE, macho->sections[i].size);
        put(*file, header + TN__MACHO_SECTION_ALIGN, macho->sections[i].shift);
        put(*file, header + TN__MACHO_SECTION_FLAGS, macho->sections[i].flags);
        if (!macho->sections[i].bytes)
            continue;
        uint8_t *at = append(file, macho->sections[i].bytes, macho->sections[i].size);
        put(*file, header + TN__MACHO_SECTION_OFFSET, (uint32_t)(at - file->at));
    }
}

static void write_relocs(const struct macho *macho, struct bytes *file)
{
    for (unsigned i = 1; i <= macho->section_count; i++) {
        size_t start = (file->size + 7) & ~(size_t)7;
        uint32_t count = 0;
        for (unsigned k = 0; k < macho->reloc_count; k++)
            if (macho->relocs[k].section == i) {
                uint8_t *at = append(file, NULL, TN__MACHO_RELOC);
                tn__put32(at, macho->relocs[k].address);
                tn__put32(at + 4, macho->relocs[k].bits);
                count++;
            }
        put(*file, header_of(i) + TN__MACHO_SECTION_RELOC_COUNT, count);
        put(*file, header_of(i) + TN__MACHO_SECTION_RELOCS, count ? (uint32_t)start : 0);
    }
}

static void write_symbols(const struct macho *macho, struct bytes *file, size_t command)
{
    size_t start = (file->size + 7) & ~(size_t)7;
    for (unsigned i = 0; i < macho->symbol_count; i++) {
        uint8_t *at = append(file, NULL, TN__MACHO_SYMBOL);
        tn__put32(at + TN__MACHO_SYMBOL_NAME, macho->symbols[i].name);
        at[TN__MACHO_SYMBOL_TYPE] = macho->symbols[i].type;
        at[TN__MACHO_SYMBOL_SECTION] = macho->symbols[i].section;
        memcpy(at + TN__MACHO_SYMBOL_DESC, &macho->symbols[i].desc, 2);
        tn__put64(at + TN__MACHO_SYMBOL_VALUE, macho->symbols[i].value);
    }
    put(*file, command + TN__MACHO_SYMTAB_OFFSET, (uint32_t)start);
    put(*file, command + TN__MACHO_SYMTAB_COUNT, macho->symbol_count);
    uint8_t *strings = append(file, macho->strings, macho->strings_size ? macho->strings_size : 1);
    put(*file, command + TN__MACHO_STRINGS_OFFSET, (uint32_t)(strings - file->at));
    put(*file, command + TN__MACHO_STRINGS_SIZE, (uint32_t)(file->at + file->size - strings));
}

struct bytes macho_finish(const struct macho *macho)
{
    struct bytes file = {NULL, 0};
    uint32_t segment = TN__MACHO_SEGMENT + macho->section_count * TN__MACHO_SECTION;
    size_t command = TN__MACHO_HEADER + segment;
    append(&file, NULL, command + TN__MACHO_SYMTAB);
    put(file, 0, TN__MACHO_MAGIC);
    put(file, TN__MACHO_CPU, macho->machine ? macho->machine : TN__MACHO_X86_64);
    put(file, TN__MACHO_FILE_TYPE, TN__MACHO_OBJECT);
    put(file, TN__MACHO_COMMANDS, 2);
    put(file, TN__MACHO_COMMANDS_SIZE, segment + TN__MACHO_SYMTAB);
    put(file, TN__MACHO_FLAGS, TN__MACHO_SPLITS);
    put(file, TN__MACHO_HEADER, TN__MACHO_LC_SEGMENT64);
    put(file, TN__MACHO_HEADER + 4, segment);
    put(file, TN__MACHO_HEADER + TN__MACHO_SEGMENT_SECTIONS, macho->section_count);
    put(file, command, TN__MACHO_LC_SYMTAB);
    put(file, command + 4, TN__MACHO_SYMTAB);
    write_sections(macho, &file);
    write_relocs(macho, &file);
    write_symbols(macho, &file, command);
    return file;
}

/* ---- places ---- */

uint8_t *macho_section_header(struct bytes file, unsigned section)
{
    return file.at + header_of(section);
}

uint8_t *macho_symtab_command(struct bytes file)
{
    return file.at + TN__MACHO_HEADER + tn__get32(file.at + TN__MACHO_HEADER + 4);
}

uint8_t *macho_symbol_entry(struct bytes file, unsigned symbol)
{
    return file.at + tn__get32(macho_symtab_command(file) + TN__MACHO_SYMTAB_OFFSET) +
           (size_t)symbol * TN__MACHO_SYMBOL;
}

uint8_t *macho_reloc_entry(struct bytes file, unsigned section, unsigned index)
{
    return file.at + tn__get32(macho_section_header(file, section) + TN__MACHO_SECTION_RELOCS) +
           (size_t)index * TN__MACHO_RELOC;
}
