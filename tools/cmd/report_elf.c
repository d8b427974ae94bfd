/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An ELF file, object or linked: headers, sections, and in these functions and variables. What two of them claim
 * belongs to the first, and what none claims is padding, so each byte is in one leaf whatever the file says. */

#include <elf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report.h"
#include "image/load/image.h"

/* A part of the file: a section, or headers (index 0). */
struct piece {
    uint64_t offset, size;
    size_t index;
    const Elf64_Shdr *header;
    const char *name;
};

struct symbol {
    const Elf64_Sym *row;
    const char *name;
    const struct tn__image_view *image; /* of a version of a function, for this target; or NULL */
    unsigned target;
    size_t stem; /* the length of the name without the version */
};

struct divided {
    struct report *report;
    Elf *elf;
    bool is_linked;
    uint64_t start; /* of the ELF file in the file */
    struct piece *pieces;
    size_t piece_count, piece_capacity;
    struct symbol *symbols; /* functions and variables, by section and place */
    size_t symbol_count, strings;
    struct report_zone zones[TN__ZONES];
};

/* ---- kinds ---- */

static bool is_named(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static const char *kind_of(const struct piece *piece)
{
    static const struct {
        const char *prefix, *kind;
    } rows[] = {{".eh_frame", "unwind tables"}, {".gcc_except_table", "unwind tables"},
                {"tenon_", "stack maps"},       {".tenon.", "saved objects"},
                {".rel", "relocations"},        {".debug", "debug information"},
                {".llvmbc", "kept IR"},         {".note", "notes"}};
    static const char *const by_type[] = {
        [SHT_SYMTAB] = "symbols", [SHT_STRTAB] = "symbols", [SHT_RELA] = "relocations",
        [SHT_HASH] = "symbols",   [SHT_DYNSYM] = "symbols", [SHT_GROUP] = "symbols"};
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (is_named(piece->name, rows[i].prefix))
            return rows[i].kind;
    uint32_t type = piece->header->sh_type;
    if (type < TN_COUNT(by_type) && by_type[type])
        return by_type[type];
    if (type == SHT_GNU_HASH)
        return "symbols";
    if (!(piece->header->sh_flags & SHF_ALLOC))
        return "other";
    if (piece->header->sh_flags & SHF_EXECINSTR)
        return "code";
    return piece->header->sh_flags & SHF_WRITE ? "data" : "read-only data";
}

/* Whose a part of a section is that no symbol is at. */
static const char *package_of(const struct divided *d, const struct piece *piece)
{
    const struct report *report = d->report;
    if (!piece->header || !(piece->header->sh_flags & SHF_ALLOC))
        return "the file";
    if (d->start + piece->offset < report->runtime_end)
        return "runtime";
    return report->view_count == 1 ? tn__image_name(report->view) : "the file";
}

/* ---- symbols ---- */

static Elf_Data *find_symbols(Elf *elf, size_t *strings)
{
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        const Elf64_Shdr *header = elf64_getshdr(section);
        if (!header || header->sh_type != SHT_SYMTAB)
            continue;
        *strings = header->sh_link;
        return elf_getdata(section, NULL);
    }
    return NULL;
}

static const char *name_of(const struct divided *d, const Elf64_Sym *symbol)
{
    const char *name = elf_strptr(d->elf, d->strings, symbol->st_name);
    return name ? name : "";
}

bool report_each_symbol(const void *bytes, size_t size, bool (*visit)(void *context, const char *name), void *context)
{
    size_t strings = 0;
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)(uintptr_t)bytes, size);
    Elf_Data *data = elf && elf64_getehdr(elf) ? find_symbols(elf, &strings) : NULL;
    bool good = true;
    for (size_t i = 0; good && data && i < data->d_size / sizeof(Elf64_Sym); i++) {
        const Elf64_Sym *symbol = (const Elf64_Sym *)data->d_buf + i;
        const char *name = symbol->st_shndx == SHN_UNDEF ? NULL : elf_strptr(elf, strings, symbol->st_name);
        good = !name || !*name || visit(context, name);
    }
    elf_end(elf);
    return good;
}

/* The length of a name without what tells local functions of several modules apart, as in f.tenon.NUMBER. */
static size_t length_of(const char *name, size_t length)
{
    static const char mark[] = ".tenon.";
    const char *found = memmem(name, length, mark, strlen(mark));
    size_t digits = found ? strspn(found + strlen(mark), "0123456789") : 0;
    return digits && found + strlen(mark) + digits == name + length ? (size_t)(found - name) : length;
}

/* At one place, the largest comes first; of equal ones the version of a function, whose name tells the target, or else
 * the shortest name. */
static int by_place(const void *a, const void *b)
{
    const struct symbol *left = a, *right = b;
    const Elf64_Sym *x = left->row, *y = right->row;
    if (x->st_shndx != y->st_shndx)
        return x->st_shndx < y->st_shndx ? -1 : 1;
    if (x->st_value != y->st_value)
        return x->st_value < y->st_value ? -1 : 1;
    if (x->st_size != y->st_size)
        return x->st_size > y->st_size ? -1 : 1;
    if (!left->image != !right->image)
        return left->image ? -1 : 1;
    size_t length = strlen(left->name), other = strlen(right->name);
    return length != other ? (length > other) - (length < other) : strcmp(left->name, right->name);
}

static bool list_symbols(struct divided *d)
{
    Elf_Data *data = find_symbols(d->elf, &d->strings);
    size_t count = data ? data->d_size / sizeof(Elf64_Sym) : 0;
    d->symbols = tn__arena_array(&d->report->arena, count + 1, sizeof *d->symbols);
    if (!d->symbols)
        return false;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Sym *symbol = (const Elf64_Sym *)data->d_buf + i;
        int type = ELF64_ST_TYPE(symbol->st_info);
        if ((type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC) || !symbol->st_size)
            continue;
        struct symbol *at = &d->symbols[d->symbol_count++];
        at->row = symbol;
        at->name = name_of(d, symbol);
        at->stem = strlen(at->name);
        at->image = report_image_of(d->report, at->name, &at->stem, &at->target);
        at->stem = length_of(at->name, at->stem);
    }
    qsort(d->symbols, d->symbol_count, sizeof *d->symbols, by_place);
    return true;
}

/* ---- sections ---- */

static bool add_part(const struct divided *d, const struct piece *piece, uint64_t from, uint64_t to,
                     const struct symbol *symbol)
{
    struct report *report = d->report;
    struct leaf leaf = {.package = package_of(d, piece),
                        .kind = piece->header ? kind_of(piece) : "headers",
                        .section = piece->name,
                        .symbol = "",
                        .target = "",
                        .type = "",
                        .offset = d->start + piece->offset + from,
                        .size = to - from};
    const char *name = symbol ? symbol->name : "", *input = symbol ? report_input_of(report, name) : NULL;
    const struct tn__image_view *image = symbol ? symbol->image : NULL;
    if (strcmp(leaf.package, "runtime") != 0 && (image || input))
        leaf.package = image ? tn__image_name(image) : input;
    if (image)
        leaf.target = image->targets[symbol->target].name;
    for (size_t i = 0; symbol && i < report->view_count; i++)
        if (strcmp(name, tn__image_name(&report->view[i])) == 0) {
            leaf.package = name;
            leaf.kind = "tables of the image";
        }
    leaf.is_function = symbol && ELF64_ST_TYPE(symbol->row->st_info) != STT_OBJECT;
    leaf.symbol = tn__arena_text(&report->arena, name, symbol ? symbol->stem : 0);
    leaf.package = tn__arena_text(&report->arena, leaf.package, strlen(leaf.package));
    leaf.section = tn__arena_text(&report->arena, leaf.section, strlen(leaf.section));
    return leaf.symbol && leaf.package && leaf.section && report_add(report, &leaf);
}

/* Where the symbols of a section begin. */
static size_t first_symbol(const struct divided *d, size_t index)
{
    size_t low = 0, high = d->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->symbols[middle].row->st_shndx < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool divide_section(const struct divided *d, const struct piece *piece, uint64_t from)
{
    uint64_t at = from, base = d->is_linked && piece->header ? piece->header->sh_addr : 0;
    bool good = true;
    for (size_t i = first_symbol(d, piece->index); piece->index && good && i < d->symbol_count; i++) {
        const struct symbol *symbol = &d->symbols[i];
        if (symbol->row->st_shndx != piece->index)
            break;
        uint64_t begin = symbol->row->st_value - base;
        if (begin >= piece->size)
            continue;
        uint64_t end = begin + tn__min64(symbol->row->st_size, piece->size - begin);
        if (end <= at)
            continue;
        begin = begin > at ? begin : at;
        good = add_part(d, piece, at, begin, NULL) && add_part(d, piece, begin, end, symbol);
        at = end;
    }
    return good && add_part(d, piece, at, piece->size, NULL);
}

/* A zone is divided with the others of its heap. */
static bool take_zone(struct divided *d, const struct piece *piece, uint64_t from)
{
    static const char *const names[TN__ZONES] = {".tenon.frozen", ".tenon.sealed", ".tenon.bound", ".tenon.mutable"};
    for (int kind = 0; kind < TN__ZONES; kind++)
        if (!from && !d->zones[kind].size && strcmp(piece->name, names[kind]) == 0) {
            d->zones[kind] = (struct report_zone){d->start + piece->offset, piece->size, names[kind]};
            return true;
        }
    return false;
}

static const struct tn__image_view *image_with_objects(const struct report *report)
{
    for (size_t i = 0; i < report->view_count; i++)
        if (report->view[i].tables[TN__IMAGE_ZONE_TABLE].count)
            return &report->view[i];
    return NULL;
}

/* ---- the file ---- */

static bool add_piece(struct divided *d, uint64_t size, const struct piece *piece)
{
    if (piece->offset >= size || !piece->size)
        return true;
    if (!tn__grow(NULL, &d->pieces, &d->piece_capacity, d->piece_count + 1, sizeof *d->pieces))
        return false;
    d->pieces[d->piece_count] = *piece;
    d->pieces[d->piece_count++].size = tn__min64(piece->size, size - piece->offset);
    return true;
}

static bool list_pieces(struct divided *d, uint64_t size)
{
    const Elf64_Ehdr *header = elf64_getehdr(d->elf);
    size_t names = 0, index = 1;
    elf_getshdrstrndx(d->elf, &names);
    const struct piece heads[] = {
        {0, sizeof *header, 0, NULL, "ELF header"},
        {header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr), 0, NULL, "program headers"},
        {header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr), 0, NULL, "section headers"}};
    bool good = true;
    for (size_t i = 0; i < TN_COUNT(heads); i++)
        good = good && add_piece(d, size, &heads[i]);
    for (Elf_Scn *section = elf_nextscn(d->elf, NULL); good && section; section = elf_nextscn(d->elf, section)) {
        const Elf64_Shdr *at = elf64_getshdr(section);
        const char *name = at ? elf_strptr(d->elf, names, at->sh_name) : NULL;
        if (at && at->sh_type != SHT_NOBITS)
            good = add_piece(d, size, &(struct piece){at->sh_offset, at->sh_size, index, at, name ? name : ""});
        index++;
    }
    return good;
}

static int by_offset(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return x->offset != y->offset ? (x->offset > y->offset) - (x->offset < y->offset)
                                  : (x->index > y->index) - (x->index < y->index);
}

static bool add_padding(const struct divided *d, uint64_t from, uint64_t to)
{
    const struct leaf padding = {"the file", "padding", "", "", "", "", false, d->start + from, to - from, 0};
    return report_add(d->report, &padding);
}

static bool divide_pieces(struct divided *d, uint64_t size)
{
    const struct tn__image_view *heap = image_with_objects(d->report);
    uint64_t at = 0;
    bool good = true;
    qsort(d->pieces, d->piece_count, sizeof *d->pieces, by_offset);
    for (size_t i = 0; good && i < d->piece_count; i++) {
        const struct piece *piece = &d->pieces[i];
        uint64_t end = piece->offset + piece->size, from = at > piece->offset ? at - piece->offset : 0;
        if (end <= at)
            continue;
        good = piece->offset <= at || add_padding(d, at, piece->offset);
        if (good && !(heap && take_zone(d, piece, from)))
            good = divide_section(d, piece, from);
        at = end;
    }
    return good && add_padding(d, at, size) && (!heap || report_heap(d->report, heap, d->zones));
}

bool report_elf(struct report *report, uint64_t offset, uint64_t size)
{
    struct divided d = {.report = report, .start = offset};
    elf_version(EV_CURRENT);
    d.elf = elf_memory((char *)(uintptr_t)report->bytes + offset, size);
    const Elf64_Ehdr *header = d.elf ? elf64_getehdr(d.elf) : NULL;
    d.is_linked = header && (header->e_type == ET_DYN || header->e_type == ET_EXEC);
    bool good = header ? list_symbols(&d) && list_pieces(&d, size) && divide_pieces(&d, size)
                       : add_padding(&d, 0, size); /* of another class */
    elf_end(d.elf);
    tn__free(NULL, d.pieces);
    return good;
}
