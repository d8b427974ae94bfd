/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* ELF objects: the System V Application Binary Interface, generic and for x86-64. The rest's bytes come first as they
 * are; the new sections, a new symbol table and new headers follow. In the bytes of the rest, only the numbers of
 * symbols in its relocations change. */

#include <elf.h>

#include "baseline/names.h"
#include "baseline/object.h"

#ifndef SHT_X86_64_UNWIND /* musl's header has no name for it */
#define SHT_X86_64_UNWIND 0x70000001
#endif

enum { NEW_SECTIONS = 11, OWN_SECTIONS = 5, FEWEST_SECTIONS = 3, TEXT_ALIGNMENT = 16, MOST_SECTIONS = 0xff00 };

struct entry {
    Elf64_Sym symbol;
    const char *name; /* NULL for those of the rest, whose names are there already */
    uint32_t number;  /* in the new table */
};

/* Where a function lies in the object. */
struct place {
    uint32_t section, group;            /* their numbers; group 0: it is in none */
    uint32_t offset;                    /* in the section */
    uint32_t first_reloc, relocs;       /* those of the code that are the function's */
    uint32_t section_symbol, signature; /* entries */
};

struct writing {
    const struct tn__baseline_object *object;
    struct tn_error *err;
    struct tn__arena arena;
    uint8_t *bytes, *names; /* of the object, and of the table of names */
    size_t size, room, names_size, names_room;
    Elf64_Shdr *sections;
    uint32_t section_count, symtab, strtab, text; /* numbers of sections */
    struct entry *entries;
    uint32_t entry_count, locals;
    uint32_t *old;             /* of each symbol of the rest: its entry */
    uint32_t old_count;        /* including the first one, which is none */
    struct place *places;      /* of each function */
    uint32_t tables, pointers; /* sections: of exceptions, and what these refer to */
    uint32_t tables_symbol, pointers_symbol;
    uint32_t own;             /* functions in sections of their own */
    uint32_t text_size;       /* of the others */
    uint32_t *used;           /* of each symbol of the code: its entry */
    struct tn__names by_name; /* entries, each number plus 1 */
    int failed;
};

/* ---- bytes ---- */

static void fail(struct writing *w, int code, const char *why)
{
    if (!w->failed)
        w->failed = code == TN_ENOMEM ? tn__no_memory(w->err, NULL) : tn__fail(w->err, code, "%s", why);
}

static void *array(struct writing *w, size_t count, size_t size)
{
    void *result = tn__arena_array(&w->arena, count ? count : 1, size);
    if (!result)
        fail(w, TN_ENOMEM, NULL);
    return result;
}

/* Appends bytes, aligned; returns where. Without bytes, they are zeros. */
static uint64_t append(struct writing *w, const void *bytes, size_t size, size_t alignment)
{
    size_t at = (size_t)tn__align_up(w->size, alignment);
    if (w->failed || !tn__grow(NULL, &w->bytes, &w->room, at + size, 1)) {
        fail(w, TN_ENOMEM, NULL);
        return 0;
    }
    memset(w->bytes + w->size, 0, at - w->size + size);
    if (bytes && size)
        memcpy(w->bytes + at, bytes, size);
    w->size = at + size;
    return at;
}

static uint32_t append_name(struct writing *w, const char *name)
{
    size_t at = w->names_size, size = strlen(name) + 1;
    if (at + size > UINT32_MAX) {
        fail(w, TN_ENOTSUP, "the names of the object have more than 4 GB");
        return 0;
    }
    if (w->failed || !tn__grow(NULL, &w->names, &w->names_room, at + size, 1)) {
        fail(w, TN_ENOMEM, NULL);
        return 0;
    }
    memcpy(w->names + at, name, size);
    w->names_size += size;
    return (uint32_t)at;
}

/* ---- symbols by name ---- */

static const char *name_of(const struct writing *w, const struct entry *entry)
{
    return entry->name ? entry->name : (const char *)w->names + entry->symbol.st_name;
}

static const char *name_of_number(const void *writing, uint32_t number)
{
    const struct writing *w = writing;
    return name_of(w, &w->entries[number - 1]);
}

static uint32_t *find(const struct writing *w, const char *name)
{
    return tn__names_find(&w->by_name, name, name_of_number, w);
}

static uint32_t add_entry(struct writing *w, Elf64_Sym symbol, const char *name, bool by_name)
{
    struct entry *entry = &w->entries[w->entry_count++];
    *entry = (struct entry){symbol, name, 0};
    if (by_name) {
        uint32_t *found = find(w, name_of(w, entry));
        if (!*found)
            *found = w->entry_count;
    }
    return w->entry_count - 1;
}

/* ---- the rest ---- */

static bool is_sound(const struct writing *w, const Elf64_Ehdr *header, size_t size)
{
    static const uint8_t ident[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB};
    return size >= sizeof *header && memcmp(header->e_ident, ident, sizeof ident) == 0 && header->e_type == ET_REL &&
           header->e_machine == EM_X86_64 && header->e_shentsize == sizeof *w->sections && header->e_shnum >= 1 &&
           tn__inside(header->e_shoff, (uint64_t)header->e_shnum * sizeof *w->sections, size);
}

/* Finds the tables of symbols and names, of which LLVM writes one each. */
static bool find_tables(struct writing *w, uint16_t names_of_sections)
{
    for (uint32_t i = 1; i < w->section_count; i++) {
        const Elf64_Shdr *section = &w->sections[i];
        if (section->sh_type != SHT_NOBITS && !tn__inside(section->sh_offset, section->sh_size, w->size))
            return false;
        if (section->sh_type == SHT_SYMTAB_SHNDX)
            return false;
        if (section->sh_type == SHT_SYMTAB)
            w->symtab = i;
    }
    if (!w->symtab)
        return false;
    const Elf64_Shdr *symtab = &w->sections[w->symtab];
    w->strtab = symtab->sh_link;
    return w->strtab < w->section_count && w->strtab == names_of_sections && symtab->sh_entsize == sizeof(Elf64_Sym) &&
           w->sections[w->strtab].sh_size &&
           w->bytes[w->sections[w->strtab].sh_offset + w->sections[w->strtab].sh_size - 1] == 0;
}

static void read_rest(struct writing *w, const struct tn_buffer *rest)
{
    Elf64_Ehdr header;
    memset(&header, 0, sizeof header);
    memcpy(&header, rest->data, rest->size < sizeof header ? rest->size : sizeof header);
    if (!is_sound(w, &header, rest->size)) {
        fail(w, TN_ENOTSUP, "the object of the rest is of another kind");
        return;
    }
    append(w, rest->data, rest->size, 1);
    w->section_count = header.e_shnum;
    if (w->section_count + NEW_SECTIONS + OWN_SECTIONS * (uint64_t)w->own >= MOST_SECTIONS) {
        fail(w, TN_ENOTSUP, "the object has too many sections");
        return;
    }
    w->sections = array(w, w->section_count + NEW_SECTIONS + OWN_SECTIONS * w->own, sizeof *w->sections);
    if (w->failed)
        return;
    memcpy(w->sections, w->bytes + header.e_shoff, header.e_shnum * sizeof *w->sections);
    if (!find_tables(w, header.e_shstrndx)) {
        fail(w, TN_ENOTSUP, "the object of the rest has other tables");
        return;
    }
    const Elf64_Shdr *strtab = &w->sections[w->strtab];
    w->old_count = (uint32_t)(w->sections[w->symtab].sh_size / sizeof(Elf64_Sym));
    if (!tn__grow(NULL, &w->names, &w->names_room, strtab->sh_size, 1)) {
        fail(w, TN_ENOMEM, NULL);
        return;
    }
    memcpy(w->names, w->bytes + strtab->sh_offset, strtab->sh_size);
    w->names_size = strtab->sh_size;
}

static void begin_alone(struct writing *w)
{
    append(w, NULL, sizeof(Elf64_Ehdr), 1);
    append_name(w, "");
    if (OWN_SECTIONS * (uint64_t)w->own >= MOST_SECTIONS - FEWEST_SECTIONS - NEW_SECTIONS)
        fail(w, TN_ENOTSUP, "the object has too many sections");
    w->sections = array(w, FEWEST_SECTIONS + NEW_SECTIONS + OWN_SECTIONS * w->own, sizeof *w->sections);
    w->section_count = FEWEST_SECTIONS;
    w->strtab = 1;
    w->symtab = 2;
    uint32_t names[] = {append_name(w, ".strtab"), append_name(w, ".symtab")};
    if (w->failed)
        return;
    w->sections[1] = (Elf64_Shdr){.sh_name = names[0], .sh_type = SHT_STRTAB, .sh_addralign = 1};
    w->sections[2] = (Elf64_Shdr){
        .sh_name = names[1], .sh_type = SHT_SYMTAB, .sh_link = 1, .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym)};
}

/* ---- where functions are ---- */

static bool has_own_section(const struct tn__baseline_definition *definition)
{
    return definition->section || definition->group;
}

static void place_functions(struct writing *w)
{
    const struct tn__code *code = &w->object->code;
    uint32_t reloc = 0;
    w->places = array(w, code->function_count, sizeof *w->places);
    for (size_t i = 0; i < code->function_count && !w->failed; i++) {
        const struct tn__code_function *function = &code->functions[i];
        struct place *place = &w->places[i];
        place->first_reloc = reloc;
        while (reloc < code->reloc_count && code->relocs[reloc].offset < function->offset + function->size)
            reloc++;
        place->relocs = reloc - place->first_reloc;
        if (has_own_section(&w->object->definitions[i])) {
            w->own++;
            continue;
        }
        place->offset = (uint32_t)tn__align_up(w->text_size, TEXT_ALIGNMENT);
        w->text_size = place->offset + function->size;
    }
}

/* Whether a function that has no section of its own has a stack map. */
static bool has_shared_maps(const struct writing *w)
{
    for (size_t i = 0; i < w->object->code.function_count; i++)
        if (w->object->code.functions[i].map_size && !has_own_section(&w->object->definitions[i]))
            return true;
    return false;
}

/* Sections follow each other as add_text adds them. */
static void number_sections(struct writing *w)
{
    uint32_t next = w->section_count + 2;
    w->text = w->section_count;
    for (size_t i = 0; i < w->object->code.function_count; i++) {
        struct place *place = &w->places[i];
        place->section = w->text;
        if (!has_own_section(&w->object->definitions[i]))
            continue;
        if (w->object->definitions[i].group)
            place->group = next++;
        place->section = next++;
        next += (place->relocs != 0) + 2 * (w->object->code.functions[i].map_size != 0);
    }
    next += 2 * has_shared_maps(w);
    w->tables = next + 2;
    w->pointers = next + 4;
}

/* ---- the table of symbols ---- */

static uint32_t add_section_symbol(struct writing *w, uint32_t section)
{
    Elf64_Sym symbol = {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = (uint16_t)section};
    return add_entry(w, symbol, "", false);
}

static void add_definition(struct writing *w, uint32_t function, uint32_t number, unsigned binding, uint8_t visibility)
{
    const struct tn__baseline_object *o = w->object;
    Elf64_Sym symbol = {.st_info = ELF64_ST_INFO(binding, STT_FUNC),
                        .st_other = visibility,
                        .st_shndx = (uint16_t)w->places[function].section,
                        .st_value = w->places[function].offset,
                        .st_size = o->code.functions[function].size};
    w->used[number] = add_entry(w, symbol, o->symbols[number].name, true) + 1;
}

/* The symbol that a group is known by is its function's, or else a local one. */
static uint32_t add_signature(struct writing *w, const struct tn__baseline_definition *definition, uint32_t group)
{
    Elf64_Sym symbol = {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), .st_shndx = (uint16_t)group};
    if (strcmp(definition->group, w->object->symbols[definition->symbol].name) == 0)
        return w->used[definition->symbol] - 1;
    return add_entry(w, symbol, definition->group, false);
}

static void add_definitions(struct writing *w)
{
    const struct tn__baseline_object *o = w->object;
    uint32_t text = add_section_symbol(w, w->text);
    for (uint32_t i = 0; i < o->code.function_count; i++) {
        const struct tn__baseline_definition *d = &o->definitions[i];
        struct place *place = &w->places[i];
        add_definition(w, i, d->symbol, d->binding, d->visibility);
        place->section_symbol = place->section == w->text ? text : add_section_symbol(w, place->section);
        if (place->group)
            place->signature = add_signature(w, d, place->group);
    }
    if (o->code.tables_size) {
        w->tables_symbol = add_section_symbol(w, w->tables);
        w->pointers_symbol = add_section_symbol(w, w->pointers);
    }
    for (size_t i = 0; i < o->alias_count; i++) {
        const struct tn__baseline_alias *alias = &o->aliases[i];
        add_definition(w, alias->function, alias->symbol, alias->binding, alias->visibility);
    }
}

/* What the rest refers to and the code defines is the code's symbol. */
static void add_old(struct writing *w)
{
    const Elf64_Shdr *symtab = &w->sections[w->symtab];
    for (uint32_t i = 1; i < w->old_count; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, w->bytes + symtab->sh_offset + i * sizeof symbol, sizeof symbol);
        if (symbol.st_name >= w->names_size) {
            fail(w, TN_ENOTSUP, "a symbol of the rest has no name");
            return;
        }
        unsigned type = ELF64_ST_TYPE(symbol.st_info);
        bool has_name = w->names[symbol.st_name] && type != STT_SECTION && type != STT_FILE;
        uint32_t found = has_name ? *find(w, (const char *)w->names + symbol.st_name) : 0;
        w->old[i] = found && symbol.st_shndx == SHN_UNDEF ? found - 1 : add_entry(w, symbol, NULL, has_name);
    }
}

static Elf64_Sym undefined(const struct tn__code_symbol *symbol)
{
    return (Elf64_Sym){.st_info = ELF64_ST_INFO(symbol->weak ? STB_WEAK : STB_GLOBAL, STT_NOTYPE),
                       .st_other = symbol->visibility};
}

static bool is_thread_local(uint32_t reloc)
{
    return reloc == R_X86_64_TLSGD || reloc == R_X86_64_GOTTPOFF || reloc == R_X86_64_TPOFF32;
}

static void use_symbol(struct writing *w, uint32_t number)
{
    const struct tn__code_symbol *symbol = &w->object->symbols[number];
    uint32_t *used = &w->used[number];
    if (!*used)
        *used = *find(w, symbol->name);
    if (!*used)
        *used = add_entry(w, undefined(symbol), symbol->name, true) + 1;
}

static void add_used(struct writing *w)
{
    const struct tn__code *code = &w->object->code;
    for (size_t i = 0; i < code->reloc_count; i++)
        use_symbol(w, code->relocs[i].symbol);
    for (size_t i = 0; i < code->reloc_count && !w->failed; i++) {
        Elf64_Sym *symbol = &w->entries[w->used[code->relocs[i].symbol] - 1].symbol;
        if (is_thread_local(code->relocs[i].type) && symbol->st_shndx == SHN_UNDEF)
            symbol->st_info = ELF64_ST_INFO(ELF64_ST_BIND(symbol->st_info), STT_TLS);
    }
    for (size_t i = 0; i < code->type_reloc_count; i++)
        use_symbol(w, code->type_relocs[i].symbol);
    if (code->tables_size)
        use_symbol(w, code->personality);
}

static bool is_local(const struct entry *entry)
{
    return ELF64_ST_BIND(entry->symbol.st_info) == STB_LOCAL;
}

/* Local symbols come first. */
static void number_entries(struct writing *w)
{
    uint32_t next = 1;
    for (int global = 0; global < 2; global++) {
        for (uint32_t i = 0; i < w->entry_count; i++)
            if (is_local(&w->entries[i]) != global)
                w->entries[i].number = next++;
        w->locals = global ? w->locals : next;
    }
}

static void make_symbols(struct writing *w)
{
    const struct tn__baseline_object *o = w->object;
    size_t most = o->code.function_count + 2 * w->own + o->alias_count + w->old_count + o->symbol_count + 4;
    size_t room = tn__names_room(most);
    w->entries = array(w, most, sizeof *w->entries);
    uint32_t *places = array(w, room, sizeof *places);
    w->old = array(w, w->old_count, sizeof *w->old);
    w->used = array(w, o->symbol_count, sizeof *w->used);
    if (w->failed)
        return;
    tn__names_begin(&w->by_name, places, room);
    number_sections(w);
    add_definitions(w);
    add_old(w);
    if (w->failed)
        return;
    add_used(w);
    number_entries(w);
}

/* ---- sections ---- */

static uint32_t add_section(struct writing *w, const char *name, Elf64_Shdr section)
{
    section.sh_name = append_name(w, name);
    w->sections[w->section_count] = section;
    return w->section_count++;
}

static uint32_t number_of(const struct writing *w, uint32_t symbol)
{
    return w->entries[w->used[symbol] - 1].number;
}

static void add_relocs(struct writing *w, const char *name, const Elf64_Rela *relocs, size_t count, uint32_t of)
{
    uint64_t at = append(w, relocs, count * sizeof *relocs, 8);
    add_section(w, name,
                (Elf64_Shdr){.sh_type = SHT_RELA,
                             .sh_flags = SHF_INFO_LINK | (w->sections[of].sh_flags & SHF_GROUP),
                             .sh_offset = at,
                             .sh_size = count * sizeof *relocs,
                             .sh_link = w->symtab,
                             .sh_info = of,
                             .sh_addralign = 8,
                             .sh_entsize = sizeof *relocs});
}

static uint32_t add_code_section(struct writing *w, const char *name, uint64_t at, uint64_t size, uint64_t flags)
{
    return add_section(w, name,
                       (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                    .sh_flags = SHF_ALLOC | SHF_EXECINSTR | flags,
                                    .sh_offset = at,
                                    .sh_size = size,
                                    .sh_addralign = TEXT_ALIGNMENT});
}

/* The relocations of a function, as those of its section. */
static Elf64_Rela *put_relocs(const struct writing *w, uint32_t function, Elf64_Rela *to)
{
    const struct place *place = &w->places[function];
    const struct tn__code_reloc *r = w->object->code.relocs + place->first_reloc, *end = r + place->relocs;
    for (; r < end; r++)
        *to++ = (Elf64_Rela){r->offset - w->object->code.functions[function].offset + place->offset,
                             ELF64_R_INFO((uint64_t)number_of(w, r->symbol), r->type), r->addend};
    return to;
}

static Elf64_Rela distance_to(const struct writing *w, uint64_t at, uint32_t symbol, int64_t addend)
{
    return (Elf64_Rela){at, ELF64_R_INFO((uint64_t)w->entries[symbol].number, R_X86_64_PC32), addend};
}

/* The stack maps of those of some functions whose code is in a section. */
static void add_maps(struct writing *w, uint32_t text, uint32_t first, uint32_t last)
{
    const struct tn__code *code = &w->object->code;
    Elf64_Rela *relocs = array(w, last - first, sizeof *relocs), *end = relocs;
    uint64_t at = append(w, NULL, 0, 2);
    for (uint32_t i = first; i < last && !w->failed; i++) {
        const struct tn__code_function *f = &code->functions[i];
        const struct place *place = &w->places[i];
        if (place->section != text || !f->map_size)
            continue;
        uint64_t map = append(w, code->maps + f->map, f->map_size, 1);
        *end++ = distance_to(w, map - at, place->section_symbol, place->offset);
    }
    if (w->failed || end == relocs)
        return;
    uint32_t section =
        add_section(w, "tenon_maps",
                    (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                 .sh_flags = SHF_ALLOC | SHF_LINK_ORDER | (w->sections[text].sh_flags & SHF_GROUP),
                                 .sh_offset = at,
                                 .sh_size = w->size - at,
                                 .sh_link = text,
                                 .sh_addralign = 2});
    add_relocs(w, ".relatenon_maps", relocs, (size_t)(end - relocs), section);
}

static void add_shared_text(struct writing *w)
{
    const struct tn__code *code = &w->object->code;
    Elf64_Rela *relocs = array(w, code->reloc_count, sizeof *relocs), *end = relocs;
    uint64_t at = append(w, NULL, w->text_size, TEXT_ALIGNMENT);
    if (w->failed)
        return;
    memset(w->bytes + at, 0xcc, w->text_size);
    for (uint32_t i = 0; i < code->function_count; i++) {
        if (w->places[i].section != w->text)
            continue;
        memcpy(w->bytes + at + w->places[i].offset, code->bytes + code->functions[i].offset, code->functions[i].size);
        end = put_relocs(w, i, end);
    }
    add_code_section(w, ".text", at, w->text_size, 0);
    if (!w->failed)
        add_relocs(w, ".rela.text", relocs, (size_t)(end - relocs), w->text);
}

/* The sections of a function with a group follow each other: code, and perhaps relocations, a map and those of it. */
static void add_group(struct writing *w, const struct place *place, bool has_map)
{
    const uint32_t members[] = {GRP_COMDAT, place->section, place->section + 1, place->section + 2, place->section + 3};
    uint64_t size = (2 + (place->relocs != 0) + 2 * has_map) * sizeof *members;
    uint64_t at = append(w, members, size, 4);
    add_section(w, ".group",
                (Elf64_Shdr){.sh_type = SHT_GROUP,
                             .sh_offset = at,
                             .sh_size = size,
                             .sh_link = w->symtab,
                             .sh_info = w->entries[place->signature].number,
                             .sh_addralign = 4,
                             .sh_entsize = sizeof *members});
}

static const char *name_of_section(struct writing *w, const struct tn__baseline_definition *definition)
{
    static const char prefix[] = ".text.";
    const char *name = w->object->symbols[definition->symbol].name;
    if (definition->section)
        return definition->section;
    char *text = array(w, sizeof prefix + strlen(name), 1);
    if (text) {
        memcpy(text, prefix, sizeof prefix - 1);
        memcpy(text + sizeof prefix - 1, name, strlen(name) + 1);
    }
    return text;
}

static void add_own_text(struct writing *w, uint32_t function)
{
    const struct tn__code_function *f = &w->object->code.functions[function];
    const struct tn__baseline_definition *d = &w->object->definitions[function];
    const struct place *place = &w->places[function];
    Elf64_Rela *relocs = array(w, place->relocs, sizeof *relocs);
    const char *name = name_of_section(w, d);
    if (w->failed)
        return;
    if (place->group)
        add_group(w, place, f->map_size);
    uint64_t at = append(w, w->object->code.bytes + f->offset, f->size, TEXT_ALIGNMENT);
    uint32_t section = add_code_section(w, name, at, f->size, place->group ? SHF_GROUP : 0);
    if (w->failed)
        return;
    if (place->relocs) {
        put_relocs(w, function, relocs);
        add_relocs(w, ".rela.text", relocs, place->relocs, section);
    }
    if (f->map_size)
        add_maps(w, section, function, function + 1);
}

static void add_text(struct writing *w)
{
    add_shared_text(w);
    for (uint32_t i = 0; i < w->object->code.function_count && !w->failed; i++)
        if (w->places[i].section != w->text)
            add_own_text(w, i);
    if (!w->failed)
        add_maps(w, w->text, 0, (uint32_t)w->object->code.function_count);
}

/* ---- frames ---- */

/* The common heads of frame descriptions: version 1, "zR", factors 1 and -8, the return address is register 16,
 * distances of 32 bits; at the beginning of a function, the frame is at rsp + 8 and the return address just below.
 * "zPLR": a distance to a pointer to the personality, and one to a table of exceptions in each description. */
static const uint8_t cie[] = {20, 0,    0,    0, 0,    0,    0, 0, 1,    'z', 'R', 0,
                              1,  0x78, 0x10, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,   0,   0};
static const uint8_t cie_with_table[] = {28,   0, 0,    0, 0, 0, 0, 0,    1,    'z',  'P', 'L', 'R',  0, 1, 0x78,
                                         0x10, 7, 0x9b, 0, 0, 0, 0, 0x1b, 0x1b, 0x0c, 7,   8,   0x90, 1, 0, 0};
enum { PERSONALITY = 19 };

/* A description begins with its size and the distance back to its head. Returns the end of its relocations. */
static Elf64_Rela *put_frame(const struct writing *w, uint32_t function, uint8_t *section, uint64_t heads,
                             Elf64_Rela *relocs)
{
    const struct tn__code_function *f = &w->object->code.functions[function];
    const struct place *place = &w->places[function];
    uint64_t frame = heads + f->frame;
    bool has_table = f->table != TN__CODE_NO_TABLE;
    tn__put32(section + frame + 4, (uint32_t)frame + 4 - (has_table ? (uint32_t)sizeof cie : 0));
    *relocs++ = distance_to(w, frame + TN__CODE_FRAME_START, place->section_symbol, place->offset);
    if (has_table)
        *relocs++ = distance_to(w, frame + TN__CODE_FRAME_TABLE, w->tables_symbol, f->table);
    return relocs;
}

static void add_frames(struct writing *w)
{
    const struct tn__code *code = &w->object->code;
    Elf64_Rela *relocs = array(w, 2 * code->function_count + 1, sizeof *relocs), *end = relocs;
    uint64_t at = append(w, cie, sizeof cie, 8), heads = sizeof cie;
    if (code->tables_size) {
        append(w, cie_with_table, sizeof cie_with_table, 1);
        heads += sizeof cie_with_table;
    }
    append(w, code->frames, code->frames_size, 1);
    uint32_t section = add_section(w, ".eh_frame",
                                   (Elf64_Shdr){.sh_type = SHT_X86_64_UNWIND,
                                                .sh_flags = SHF_ALLOC,
                                                .sh_offset = at,
                                                .sh_size = heads + code->frames_size,
                                                .sh_addralign = 8});
    if (w->failed)
        return;
    if (code->tables_size)
        *end++ = distance_to(w, sizeof cie + PERSONALITY, w->pointers_symbol, 0);
    for (uint32_t i = 0; i < code->function_count; i++)
        end = put_frame(w, i, w->bytes + at, heads, end);
    add_relocs(w, ".rela.eh_frame", relocs, (size_t)(end - relocs), section);
}

/* ---- tables of exceptions ---- */

static uint32_t add_data(struct writing *w, const char *name, uint64_t flags, const void *bytes, uint64_t size)
{
    uint64_t at = append(w, bytes, size, 8);
    return add_section(w, name,
                       (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                    .sh_flags = SHF_ALLOC | flags,
                                    .sh_offset = at,
                                    .sh_size = size,
                                    .sh_addralign = 8});
}

/* Pointers to the personality and to types, one for each symbol, to which the tables have distances. */
static void add_tables(struct writing *w)
{
    const struct tn__code *code = &w->object->code;
    size_t count = code->type_reloc_count, pointers = 1;
    Elf64_Rela *distances = array(w, count, sizeof *distances), *addresses = array(w, count + 1, sizeof *addresses);
    uint32_t *known = array(w, w->object->symbol_count, sizeof *known); /* of each symbol: its pointer, or 0 */
    if (w->failed)
        return;
    addresses[0] = (Elf64_Rela){0, ELF64_R_INFO((uint64_t)number_of(w, code->personality), R_X86_64_64), 0};
    for (size_t i = 0; i < count; i++) {
        const struct tn__code_reloc *r = &code->type_relocs[i];
        size_t pointer = r->addend ? 0 : known[r->symbol];
        if (!pointer) {
            pointer = pointers++;
            addresses[pointer] =
                (Elf64_Rela){8 * pointer, ELF64_R_INFO((uint64_t)number_of(w, r->symbol), R_X86_64_64), r->addend};
        }
        if (!r->addend)
            known[r->symbol] = (uint32_t)pointer;
        distances[i] = distance_to(w, r->offset, w->pointers_symbol, (int64_t)(8 * pointer));
    }
    uint32_t tables = add_data(w, ".gcc_except_table", 0, code->tables, code->tables_size);
    if (!w->failed)
        add_relocs(w, ".rela.gcc_except_table", distances, count, tables);
    uint32_t data = add_data(w, ".data.rel.ro", SHF_WRITE, NULL, 8 * pointers);
    if (!w->failed)
        add_relocs(w, ".rela.data.rel.ro", addresses, pointers, data);
}

/* ---- what refers to symbols by their numbers ---- */

static uint32_t renumbered(struct writing *w, uint64_t old)
{
    if (old >= w->old_count) {
        fail(w, TN_ENOTSUP, "the object of the rest refers to a symbol that it has not");
        return 0;
    }
    return old ? w->entries[w->old[old]].number : 0;
}

static void renumber_relocs(struct writing *w, const Elf64_Shdr *section)
{
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= section->sh_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela reloc;
        memcpy(&reloc, w->bytes + section->sh_offset + at, sizeof reloc);
        reloc.r_info = ELF64_R_INFO((uint64_t)renumbered(w, ELF64_R_SYM(reloc.r_info)), ELF64_R_TYPE(reloc.r_info));
        memcpy(w->bytes + section->sh_offset + at, &reloc, sizeof reloc);
    }
}

static void renumber(struct writing *w, uint32_t count)
{
    enum { LLVM_ADDRSIG = 0x6fff4c03 }; /* which addresses matter, by numbers of symbols: linkers may do without */
    for (uint32_t i = 1; i < count && !w->failed; i++) {
        Elf64_Shdr *section = &w->sections[i];
        if (section->sh_type == SHT_RELA)
            renumber_relocs(w, section);
        else if (section->sh_type == SHT_GROUP)
            section->sh_info = renumbered(w, section->sh_info);
        else if (section->sh_type == LLVM_ADDRSIG)
            *section = (Elf64_Shdr){0};
        else if (section->sh_type == SHT_REL)
            fail(w, TN_ENOTSUP, "the object of the rest has a section of another kind");
    }
}

/* ---- the whole ---- */

static void write_tables(struct writing *w)
{
    Elf64_Sym *symbols = array(w, w->entry_count + 1, sizeof *symbols);
    for (uint32_t i = 0; i < w->entry_count && !w->failed; i++) {
        struct entry *entry = &w->entries[i];
        if (entry->name)
            entry->symbol.st_name = *entry->name ? append_name(w, entry->name) : 0;
        symbols[entry->number] = entry->symbol;
    }
    if (w->failed)
        return;
    Elf64_Shdr *symtab = &w->sections[w->symtab], *strtab = &w->sections[w->strtab];
    symtab->sh_info = w->locals;
    symtab->sh_size = (w->entry_count + 1) * sizeof *symbols;
    symtab->sh_offset = append(w, symbols, symtab->sh_size, 8);
    strtab->sh_size = w->names_size;
    strtab->sh_offset = append(w, w->names, w->names_size, 1);
}

static void write_headers(struct writing *w)
{
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_REL,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof *w->sections};
    header.e_shoff = append(w, w->sections, w->section_count * sizeof *w->sections, 8);
    header.e_shnum = (uint16_t)w->section_count;
    header.e_shstrndx = (uint16_t)w->strtab;
    if (!w->failed)
        memcpy(w->bytes, &header, sizeof header);
}

static void write_object(struct writing *w, const struct tn_buffer *rest)
{
    place_functions(w);
    if (rest)
        read_rest(w, rest);
    else
        begin_alone(w);
    uint32_t count = w->section_count;
    if (!w->failed)
        make_symbols(w);
    if (!w->failed)
        renumber(w, count);
    if (w->failed)
        return;
    add_text(w);
    if (!w->failed)
        add_frames(w);
    if (!w->failed && w->object->code.tables_size)
        add_tables(w);
    if (!w->failed && !rest)
        add_section(w, ".note.GNU-stack", (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_addralign = 1});
    if (!w->failed)
        write_tables(w);
    if (!w->failed)
        write_headers(w);
}

int tn__baseline_write(const struct tn__baseline_object *object, const struct tn_buffer *rest, struct tn_buffer *out,
                       struct tn_error *err)
{
    struct writing w = {.object = object, .err = err};
    write_object(&w, rest);
    if (!w.failed && !tn__buffer_fill(out, w.bytes, w.size))
        fail(&w, TN_ENOMEM, NULL);
    tn__arena_free(&w.arena);
    tn__free(NULL, w.bytes);
    tn__free(NULL, w.names);
    return w.failed;
}

void tn__code_free(struct tn__code *code)
{
    tn__free(NULL, code->bytes);
    tn__free(NULL, code->frames);
    tn__free(NULL, code->tables);
    tn__free(NULL, code->maps);
    tn__free(NULL, code->relocs);
    tn__free(NULL, code->type_relocs);
    tn__free(NULL, code->functions);
    *code = (struct tn__code){0};
}

void tn__baseline_object_free(struct tn__baseline_object *object)
{
    tn__code_free(&object->code);
    tn__free(NULL, object->symbols);
    tn__free(NULL, object->definitions);
    tn__free(NULL, object->aliases);
    tn__arena_free(&object->arena);
    *object = (struct tn__baseline_object){0};
}
