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

enum { TEXT_ALIGNMENT = 16, MOST_SECTIONS = 0xff00 };

/* The name of a section is the end of the name that its relocations have. */
static const char rela[] = ".rela";
enum { RELA = sizeof rela - 1 };

struct entry {
    Elf64_Sym symbol;
    const char *name; /* NULL for those of the rest, whose names are there already */
    uint32_t number;  /* in the new table */
};

/* Where a function lies in the object. */
struct place {
    uint32_t section, offset;
    uint32_t section_symbol; /* an entry */
};

struct member {
    uint32_t section, group;
};

/* Until the last step, what is new refers to entries, by their numbers plus 1, where symbols belong. */
struct writing {
    const struct tn__baseline_object *object;
    struct tn_error *err;
    struct tn__arena arena;
    uint8_t *bytes, *names; /* of the object, and of the table of names */
    size_t size, room, names_size, names_room;
    Elf64_Shdr *sections;
    struct member *members; /* of groups */
    size_t section_room, member_count, member_room;
    uint32_t section_count, old_sections; /* the latter are the rest's */
    uint32_t symtab, strtab, text;        /* numbers of sections */
    struct entry *entries;
    uint32_t entry_count, locals;
    uint32_t *old;        /* of each symbol of the rest: its entry */
    uint32_t old_count;   /* including the first one, which is none */
    struct place *places; /* of each function */
    uint32_t *groups, *data,
        *data_symbols; /* numbers of sections: of each group, or 0; of each section of data; the latter's entries */
    uint32_t tables, pointers; /* entries of sections: of exceptions, and of what these refer to */
    uint32_t *used;            /* of each symbol of the code: its entry */
    struct tn__names by_name;  /* entries, each number plus 1 */
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

/* Returns where the name is in the table. */
static uint32_t append_name(struct writing *w, const char *prefix, const char *name)
{
    size_t at = w->names_size, first = strlen(prefix), size = first + strlen(name) + 1;
    if (at + size > UINT32_MAX) {
        fail(w, TN_ENOTSUP, "the names of the object have more than 4 GB");
        return 0;
    }
    if (w->failed || !tn__grow(NULL, &w->names, &w->names_room, at + size, 1)) {
        fail(w, TN_ENOMEM, NULL);
        return 0;
    }
    memcpy(w->names + at, prefix, first);
    memcpy(w->names + at + first, name, size - first);
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
    if (!tn__grow(NULL, &w->sections, &w->section_room, header.e_shnum, sizeof *w->sections)) {
        fail(w, TN_ENOMEM, NULL);
        return;
    }
    w->section_count = w->old_sections = header.e_shnum;
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

/* ---- sections ---- */

static uint32_t add_header(struct writing *w, Elf64_Shdr header)
{
    if (w->section_count >= MOST_SECTIONS)
        fail(w, TN_ENOTSUP, "the object has too many sections");
    else if (w->failed ||
             !tn__grow(NULL, &w->sections, &w->section_room, w->section_count + (size_t)1, sizeof *w->sections))
        fail(w, TN_ENOMEM, NULL);
    if (w->failed)
        return 0;
    w->sections[w->section_count] = header;
    return w->section_count++;
}

static void begin_alone(struct writing *w)
{
    append(w, NULL, sizeof(Elf64_Ehdr), 1);
    append_name(w, "", "");
    add_header(w, (Elf64_Shdr){0});
    w->strtab =
        add_header(w, (Elf64_Shdr){.sh_name = append_name(w, "", ".strtab"), .sh_type = SHT_STRTAB, .sh_addralign = 1});
    w->symtab = add_header(w, (Elf64_Shdr){.sh_name = append_name(w, "", ".symtab"),
                                           .sh_type = SHT_SYMTAB,
                                           .sh_link = w->strtab,
                                           .sh_addralign = 8,
                                           .sh_entsize = sizeof(Elf64_Sym)});
    w->old_sections = w->section_count;
}

/* Makes a section a member of its group, which comes before it. */
static void enter_group(struct writing *w, uint32_t group, uint32_t section)
{
    if (!tn__grow(NULL, &w->members, &w->member_room, w->member_count + 1, sizeof *w->members)) {
        fail(w, TN_ENOMEM, NULL);
        return;
    }
    w->members[w->member_count++] = (struct member){section, group - 1};
    w->sections[section].sh_flags |= SHF_GROUP;
    w->sections[w->groups[group - 1]].sh_size += sizeof(uint32_t);
}

static void begin_group(struct writing *w, uint32_t group)
{
    if (group && !w->groups[group - 1])
        w->groups[group - 1] = add_header(w, (Elf64_Shdr){.sh_name = append_name(w, "", ".group"),
                                                          .sh_type = SHT_GROUP,
                                                          .sh_size = sizeof(uint32_t),
                                                          .sh_link = w->symtab,
                                                          .sh_addralign = 4,
                                                          .sh_entsize = 4});
}

/* Adds a section whose bytes are there; the prefix of its name begins with `rela`. */
static uint32_t add_section(struct writing *w, const char *prefix, const char *name, uint32_t group, Elf64_Shdr header)
{
    header.sh_name = append_name(w, prefix, name) + RELA;
    begin_group(w, group);
    uint32_t section = add_header(w, header);
    if (group && !w->failed)
        enter_group(w, group, section);
    return section;
}

static void add_relocs(struct writing *w, const Elf64_Rela *relocs, size_t count, uint32_t of, uint32_t group)
{
    uint64_t at = append(w, relocs, count * sizeof *relocs, 8);
    if (w->failed || !count)
        return;
    uint32_t section = add_header(w, (Elf64_Shdr){.sh_name = w->sections[of].sh_name - RELA,
                                                  .sh_type = SHT_RELA,
                                                  .sh_flags = SHF_INFO_LINK,
                                                  .sh_offset = at,
                                                  .sh_size = count * sizeof *relocs,
                                                  .sh_link = w->symtab,
                                                  .sh_info = of,
                                                  .sh_addralign = 8,
                                                  .sh_entsize = sizeof *relocs});
    if (group && !w->failed)
        enter_group(w, group, section);
}

/* ---- what is defined ---- */

static uint32_t add_section_symbol(struct writing *w, uint32_t section)
{
    Elf64_Sym symbol = {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = (uint16_t)section};
    return add_entry(w, symbol, "", false);
}

static void define(struct writing *w, uint32_t number, Elf64_Sym symbol)
{
    w->used[number] = add_entry(w, symbol, w->object->symbols[number].name, true) + 1;
}

static void define_function(struct writing *w, uint32_t function, uint32_t number, unsigned binding, uint8_t visibility)
{
    define(w, number,
           (Elf64_Sym){.st_info = ELF64_ST_INFO(binding, STT_FUNC),
                       .st_other = visibility,
                       .st_shndx = (uint16_t)w->places[function].section,
                       .st_value = w->places[function].offset,
                       .st_size = w->object->code.functions[function].size});
}

static bool has_own_section(const struct tn__baseline_definition *definition)
{
    return definition->section || definition->group || definition->is_retained;
}

static uint32_t add_code_section(struct writing *w, const char *prefix, const char *name, uint32_t group,
                                 uint64_t flags, uint64_t at)
{
    return add_section(w, prefix, name, group,
                       (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                    .sh_flags = SHF_ALLOC | SHF_EXECINSTR | flags,
                                    .sh_offset = at,
                                    .sh_size = w->size - at,
                                    .sh_addralign = TEXT_ALIGNMENT});
}

static uint64_t append_function(struct writing *w, uint32_t function)
{
    const struct tn__code_function *f = &w->object->code.functions[function];
    return append(w, w->object->code.bytes + f->offset, f->size, TEXT_ALIGNMENT);
}

/* Functions without sections of their own. */
static void add_shared_text(struct writing *w)
{
    uint64_t begin = append(w, NULL, 0, TEXT_ALIGNMENT);
    for (uint32_t i = 0; i < w->object->code.function_count && !w->failed; i++) {
        size_t end = w->size;
        if (has_own_section(&w->object->definitions[i]))
            continue;
        uint64_t at = append_function(w, i);
        if (!w->failed)
            memset(w->bytes + end, 0xcc, at - end);
        w->places[i].offset = (uint32_t)(at - begin);
    }
    w->text = add_code_section(w, rela, ".text", 0, 0, begin);
}

static void add_functions(struct writing *w)
{
    add_shared_text(w);
    uint32_t shared = add_section_symbol(w, w->text);
    for (uint32_t i = 0; i < w->object->code.function_count && !w->failed; i++) {
        const struct tn__baseline_definition *d = &w->object->definitions[i];
        struct place *place = &w->places[i];
        if (has_own_section(d)) {
            uint64_t at = append_function(w, i);
            const char *name = d->section ? d->section : w->object->symbols[d->symbol].name;
            uint64_t flags = d->is_retained ? (uint64_t)TN__BASELINE_RETAIN : 0;
            place->section = add_code_section(w, d->section ? rela : ".rela.text.", name, d->group, flags, at);
            place->section_symbol = add_section_symbol(w, place->section);
        } else {
            place->section = w->text;
            place->section_symbol = shared;
        }
        define_function(w, i, d->symbol, d->binding, d->visibility);
    }
}

static void add_data(struct writing *w)
{
    const struct tn__baseline_object *o = w->object;
    for (size_t i = 0; i < o->section_count && !w->failed; i++) {
        const struct tn__baseline_section *s = &o->sections[i];
        uint64_t at = append(w, s->bytes, s->bytes ? s->size : 0, s->alignment);
        w->data[i] = add_section(w, rela, s->name, s->group,
                                 (Elf64_Shdr){.sh_type = s->type,
                                              .sh_flags = s->flags,
                                              .sh_offset = at,
                                              .sh_size = s->size,
                                              .sh_addralign = s->alignment,
                                              .sh_entsize = s->entry_size});
    }
    for (const struct tn__baseline_datum *d = o->data; d < o->data + o->datum_count && !w->failed; d++) {
        if (tn__baseline_is_function(d)) {
            define_function(w, d->section & ~(uint32_t)TN__BASELINE_FUNCTION, d->symbol, d->binding, d->visibility);
            continue;
        }
        uint32_t section = d->section == TN__BASELINE_COMMON ? SHN_COMMON : w->data[d->section];
        define(w, d->symbol,
               (Elf64_Sym){.st_info = ELF64_ST_INFO(d->binding, d->type),
                           .st_other = d->visibility,
                           .st_shndx = (uint16_t)section,
                           .st_value = d->value,
                           .st_size = d->size});
    }
}

/* ---- the table of symbols ---- */

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

/* The entry of a symbol, counted from 1, which an undefined one gets when it is used first. */
static uint32_t use(struct writing *w, uint32_t number)
{
    const struct tn__code_symbol *symbol = &w->object->symbols[number];
    uint32_t *used = &w->used[number];
    if (!*used)
        *used = *find(w, symbol->name);
    if (!*used)
        *used = add_entry(w, undefined(symbol), symbol->name, true) + 1;
    return *used;
}

static uint32_t use_section(struct writing *w, uint32_t number)
{
    uint32_t *symbol = &w->data_symbols[number];
    if (!*symbol)
        *symbol = add_section_symbol(w, w->data[number]) + 1;
    return *symbol;
}

/* A relocation of the code or of data, as one at `at` of a section. */
static Elf64_Rela put_reloc(struct writing *w, const struct tn__code_reloc *reloc, uint64_t at)
{
    uint32_t number = reloc->symbol & ~(uint32_t)(TN__BASELINE_FUNCTION | TN__BASELINE_SECTION);
    if (number != reloc->symbol) {
        bool is_section = reloc->symbol & TN__BASELINE_SECTION;
        uint64_t symbol = is_section ? use_section(w, number) : w->places[number].section_symbol + 1;
        return (Elf64_Rela){at, ELF64_R_INFO(symbol, reloc->type),
                            reloc->addend + (is_section ? 0 : w->places[number].offset)};
    }
    uint32_t entry = use(w, reloc->symbol);
    Elf64_Sym *symbol = &w->entries[entry - 1].symbol;
    if (is_thread_local(reloc->type) && symbol->st_shndx == SHN_UNDEF)
        symbol->st_info = ELF64_ST_INFO(ELF64_ST_BIND(symbol->st_info), STT_TLS);
    return (Elf64_Rela){at, ELF64_R_INFO((uint64_t)entry, reloc->type), reloc->addend};
}

/* A group is known by the symbol of its name, or else by a local one. Its section has a flag and the members. */
static void end_groups(struct writing *w)
{
    uint64_t *ends = array(w, w->object->group_count, sizeof *ends);
    for (size_t i = 0; i < w->object->group_count && !w->failed; i++) {
        const char *name = w->object->groups[i];
        Elf64_Shdr *group = &w->sections[w->groups[i]];
        Elf64_Sym local = {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), .st_shndx = (uint16_t)w->groups[i]};
        if (!w->groups[i])
            continue;
        uint32_t entry = *find(w, name);
        group->sh_info = entry ? entry : add_entry(w, local, name, true) + 1;
        group->sh_offset = append(w, NULL, group->sh_size, 4);
        if (!w->failed)
            tn__put32(w->bytes + group->sh_offset, GRP_COMDAT);
        ends[i] = group->sh_offset + sizeof(uint32_t);
    }
    for (const struct member *m = w->members; m < w->members + w->member_count && !w->failed; m++) {
        tn__put32(w->bytes + ends[m->group], m->section);
        ends[m->group] += sizeof(uint32_t);
    }
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

static void provide(struct writing *w)
{
    const struct tn__baseline_object *o = w->object;
    /* Each function, group and section may have a symbol besides. */
    size_t most = 2 * o->code.function_count + o->datum_count + o->group_count + o->section_count + w->old_count +
                  o->symbol_count + 3;
    size_t room = tn__names_room(most);
    w->entries = array(w, most, sizeof *w->entries);
    uint32_t *places = array(w, room, sizeof *places);
    w->old = array(w, w->old_count, sizeof *w->old);
    w->used = array(w, o->symbol_count, sizeof *w->used);
    w->places = array(w, o->code.function_count, sizeof *w->places);
    w->groups = array(w, o->group_count, sizeof *w->groups);
    w->data = array(w, o->section_count, sizeof *w->data);
    w->data_symbols = array(w, o->section_count, sizeof *w->data_symbols);
    if (!w->failed)
        tn__names_begin(&w->by_name, places, room);
}

/* ---- what refers to symbols ---- */

static Elf64_Rela distance_to(uint64_t at, uint32_t entry, int64_t addend)
{
    return (Elf64_Rela){at, ELF64_R_INFO((uint64_t)entry + 1, R_X86_64_PC32), addend};
}

/* The stack maps of those of some functions whose code is in a section. */
static void add_maps(struct writing *w, uint32_t text, uint32_t group, uint32_t first, uint32_t last)
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
        *end++ = distance_to(map - at, place->section_symbol, place->offset);
    }
    if (w->failed || end == relocs)
        return;
    uint32_t section = add_section(w, rela, "tenon_maps", group,
                                   (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                                .sh_flags = SHF_ALLOC | SHF_LINK_ORDER,
                                                .sh_offset = at,
                                                .sh_size = w->size - at,
                                                .sh_link = text,
                                                .sh_addralign = 2});
    add_relocs(w, relocs, (size_t)(end - relocs), section, group);
}

/* The relocations of the code are in the order of functions. */
static void add_text_relocs(struct writing *w)
{
    const struct tn__code *code = &w->object->code;
    const struct tn__code_reloc *r = code->relocs, *last = r + code->reloc_count;
    Elf64_Rela *shared = array(w, code->reloc_count, sizeof *shared), *end = shared;
    Elf64_Rela *own = array(w, code->reloc_count, sizeof *own);
    for (uint32_t i = 0; i < code->function_count && !w->failed; i++) {
        const struct tn__code_function *f = &code->functions[i];
        const struct place *place = &w->places[i];
        Elf64_Rela *own_end = own, **to = place->section == w->text ? &end : &own_end;
        for (; r < last && r->offset < f->offset + f->size; r++)
            *(*to)++ = put_reloc(w, r, r->offset - f->offset + place->offset);
        if (place->section == w->text)
            continue;
        add_relocs(w, own, (size_t)(own_end - own), place->section, w->object->definitions[i].group);
        if (f->map_size)
            add_maps(w, place->section, w->object->definitions[i].group, i, i + 1);
    }
    if (!w->failed)
        add_relocs(w, shared, (size_t)(end - shared), w->text, 0);
    if (!w->failed)
        add_maps(w, w->text, 0, 0, (uint32_t)code->function_count);
}

static void add_data_relocs(struct writing *w)
{
    for (size_t i = 0; i < w->object->section_count && !w->failed; i++) {
        const struct tn__baseline_section *s = &w->object->sections[i];
        Elf64_Rela *relocs = array(w, s->reloc_count, sizeof *relocs);
        for (size_t k = 0; k < s->reloc_count && !w->failed; k++)
            relocs[k] = put_reloc(w, &s->relocs[k], s->relocs[k].offset);
        if (!w->failed && s->linked) {
            uint16_t of = w->entries[use(w, s->linked - 1) - 1].symbol.st_shndx;
            w->sections[w->data[i]].sh_link = of < SHN_LORESERVE ? of : SHN_UNDEF;
        }
        if (!w->failed)
            add_relocs(w, relocs, s->reloc_count, w->data[i], s->group);
    }
}

/* ---- tables of exceptions ---- */

static uint32_t add_words(struct writing *w, const char *name, uint64_t flags, const void *bytes, uint64_t size)
{
    uint64_t at = append(w, bytes, size, 8);
    return add_section(w, rela, name, 0,
                       (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                    .sh_flags = SHF_ALLOC | flags,
                                    .sh_offset = at,
                                    .sh_size = size,
                                    .sh_addralign = 8});
}

/* The tables have distances to pointers to the personality and to types, one for each symbol. */
static void add_tables(struct writing *w)
{
    const struct tn__code *code = &w->object->code;
    size_t count = code->type_reloc_count, pointers = 0;
    Elf64_Rela *distances = array(w, count, sizeof *distances), *addresses = array(w, count + 1, sizeof *addresses);
    uint32_t *known = array(w, w->object->symbol_count, sizeof *known); /* of each symbol: its pointer, or 0 */
    uint32_t tables = add_words(w, ".gcc_except_table", 0, code->tables, code->tables_size);
    uint32_t data = add_words(w, ".data.rel.ro", SHF_WRITE, NULL, 8 * (count + 1));
    if (w->failed)
        return;
    w->tables = add_section_symbol(w, tables);
    w->pointers = add_section_symbol(w, data);
    const struct tn__code_reloc personality = {.type = R_X86_64_64, .symbol = code->personality};
    addresses[pointers++] = put_reloc(w, &personality, 0);
    for (size_t i = 0; i < count; i++) {
        struct tn__code_reloc r = code->type_relocs[i];
        size_t pointer = r.addend ? 0 : known[r.symbol];
        if (!pointer) {
            pointer = pointers++;
            r.type = R_X86_64_64;
            addresses[pointer] = put_reloc(w, &r, 8 * pointer);
        }
        if (!r.addend)
            known[r.symbol] = (uint32_t)pointer;
        distances[i] = distance_to(r.offset, w->pointers, (int64_t)(8 * pointer));
    }
    w->sections[data].sh_size = 8 * pointers;
    add_relocs(w, distances, count, tables, 0);
    add_relocs(w, addresses, pointers, data, 0);
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
    *relocs++ = distance_to(frame + TN__CODE_FRAME_START, place->section_symbol, place->offset);
    if (has_table)
        *relocs++ = distance_to(frame + TN__CODE_FRAME_TABLE, w->tables, f->table);
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
    uint32_t section = add_section(w, rela, ".eh_frame", 0,
                                   (Elf64_Shdr){.sh_type = SHT_X86_64_UNWIND,
                                                .sh_flags = SHF_ALLOC,
                                                .sh_offset = at,
                                                .sh_size = heads + code->frames_size,
                                                .sh_addralign = 8});
    if (w->failed)
        return;
    if (code->tables_size)
        *end++ = distance_to(sizeof cie + PERSONALITY, w->pointers, 0);
    for (uint32_t i = 0; i < code->function_count; i++)
        end = put_frame(w, i, w->bytes + at, heads, end);
    add_relocs(w, relocs, (size_t)(end - relocs), section, 0);
}

/* ---- what refers to symbols by their numbers ---- */

/* The number of a symbol, for the number that a section of the rest, or a new one, has for it. */
static uint32_t renumbered(struct writing *w, bool is_old, uint64_t symbol)
{
    if (!is_old && symbol)
        return w->entries[symbol - 1].number;
    if (symbol >= w->old_count && symbol) {
        fail(w, TN_ENOTSUP, "the object of the rest refers to a symbol that it has not");
        return 0;
    }
    return symbol ? w->entries[w->old[symbol]].number : 0;
}

static void renumber_relocs(struct writing *w, bool is_old, const Elf64_Shdr *section)
{
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= section->sh_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela reloc;
        memcpy(&reloc, w->bytes + section->sh_offset + at, sizeof reloc);
        uint64_t symbol = renumbered(w, is_old, ELF64_R_SYM(reloc.r_info));
        reloc.r_info = ELF64_R_INFO(symbol, ELF64_R_TYPE(reloc.r_info));
        memcpy(w->bytes + section->sh_offset + at, &reloc, sizeof reloc);
    }
}

static void renumber(struct writing *w)
{
    enum { LLVM_ADDRSIG = 0x6fff4c03 }; /* which addresses matter, by numbers of symbols: linkers may do without */
    for (uint32_t i = 1; i < w->section_count && !w->failed; i++) {
        Elf64_Shdr *section = &w->sections[i];
        bool is_old = i < w->old_sections;
        if (section->sh_type == SHT_RELA)
            renumber_relocs(w, is_old, section);
        else if (section->sh_type == SHT_GROUP)
            section->sh_info = renumbered(w, is_old, section->sh_info);
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
            entry->symbol.st_name = *entry->name ? append_name(w, "", entry->name) : 0;
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
    if (rest)
        read_rest(w, rest);
    else
        begin_alone(w);
    if (!w->failed)
        provide(w);
    if (w->failed)
        return;
    if (w->object->code.function_count)
        add_functions(w);
    add_data(w);
    add_old(w);
    if (!w->failed && w->object->code.tables_size)
        add_tables(w);
    if (!w->failed && w->object->code.function_count) {
        add_text_relocs(w);
        add_frames(w);
    }
    add_data_relocs(w);
    if (!rest)
        add_section(w, rela, ".note.GNU-stack", 0, (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_addralign = 1});
    end_groups(w);
    if (w->failed)
        return;
    number_entries(w);
    renumber(w);
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
    tn__free(NULL, w.sections);
    tn__free(NULL, w.members);
    return w.failed;
}
