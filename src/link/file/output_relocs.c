/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Load-time relocations: 64-bit words that hold an address of the output, or of an import. Everything else that would
 * depend on the load address is refused, here or by the linker's range checks: see output.h. */

#include <inttypes.h>
#include <stdlib.h>

#include "link/file/output_build.h"

/* Imports get addresses so far from the output that no 32-bit field reaches them, nor from one to another. */
static const uint64_t FIRST_IMPORT = 1ULL << 45, IMPORT_STEP = 1ULL << 16;
enum { MOST_IMPORTS = 1 << 24 };

/* Values in fields of up to MOST_BITS fail their range check if they depend on the load address; the lowest PAGE_BITS
 * bits of an address do not depend on it. */
enum { MOST_BITS = 45, PAGE_BITS = 12 };

/* ---- imports ---- */

void *tn__output_import(void *context, const char *name)
{
    struct tn__output_link *o = context;
    if (o->import_count == MOST_IMPORTS)
        return NULL; /* reported as undefined */
    if (!tn__grow(NULL, &o->imports, &o->import_capacity, o->import_count + 1, sizeof *o->imports)) {
        o->lacks_memory = true; /* a resolver has no other answer */
        return NULL;
    }
    o->imports[o->import_count] = name;
    return (void *)(uintptr_t)(FIRST_IMPORT + IMPORT_STEP * o->import_count++); /* never dereferenced */
}

bool tn__output_is_import(const struct tn__output_link *o, const struct tn__entry *entry, uint32_t *number)
{
    if (o->options->fixed || !entry || entry->kind != TN__ENTRY_HOST)
        return false;
    *number = (uint32_t)((entry->address - FIRST_IMPORT) / IMPORT_STEP);
    return true;
}

/* ---- finding ---- */

struct finder {
    struct tn__output_link *o;
    const struct tn__object *object;
    uint32_t piece;
};

static int add_site(const struct finder *f, uint64_t offset, enum tn__dynamic fixup, uint32_t import, uint64_t addend)
{
    struct tn__output_link *o = f->o;
    if (!tn__grow(NULL, &o->sites, &o->site_capacity, o->site_count + 1, sizeof *o->sites))
        return tn__output_no_memory(o);
    o->sites[o->site_count++] = (struct tn__output_site){
        .piece = f->piece, .offset = offset, .reloc = {.fixup = fixup, .import = import, .addend = addend}};
    o->pieces[f->piece].fixups++;
    return 0;
}

bool tn__output_is_inside(const struct tn__object *object, uint32_t index)
{
    const struct tn__symbol *symbol = &object->data->symbols[index];
    uint8_t flags = object->plan->symbol_flags[index];
    if (flags & TN__SYMBOL_BOUND)
        return true;
    if (!index || flags & (TN__SYMBOL_DISCARDED | TN__SYMBOL_TLS))
        return false;
    if (flags & TN__SYMBOL_GIVEN) /* inside if options.definitions has it; imports are not */
        return symbol->entry && symbol->entry->kind == TN__ENTRY_ABSOLUTE;
    if (!(flags & TN__SYMBOL_OWN) && symbol->entry && symbol->entry->kind == TN__ENTRY_OBJECT)
        symbol = &symbol->entry->object->data->symbols[symbol->entry->symbol];
    return symbol->place != TN__PLACE_ABSOLUTE;
}

/* Records a word that holds the address of a symbol. */
static int find_address(const struct finder *f, uint64_t offset, uint32_t symbol, bool slot, uint64_t addend)
{
    uint32_t import;
    if (f->object->plan->symbol_flags[symbol] & TN__SYMBOL_GIVEN &&
        tn__output_is_import(f->o, f->object->data->symbols[symbol].entry, &import))
        return add_site(f, offset, slot ? TN__DYNAMIC_SLOT : TN__DYNAMIC_IMPORT, import, addend);
    return tn__output_is_inside(f->object, symbol) ? add_site(f, offset, TN__DYNAMIC_RELATIVE, 0, 0) : 0;
}

/* Any distance fits 64 bits, but those to imports and absolute addresses are unknown. */
static int check_distance(const struct finder *f, const struct tn__input_section *section,
                          const struct tn__reloc *reloc, const struct tn__row *row)
{
    const struct tn__symbol *symbol = &f->object->data->symbols[reloc->symbol];
    if (f->object->plan->symbol_flags[reloc->symbol] & TN__SYMBOL_DISCARDED ||
        tn__output_is_inside(f->object, reloc->symbol))
        return 0;
    return tn__fail(f->o->err, TN_ERANGE,
                    "%s(%s+0x%" PRIx64 "): %s against '%s', which lies outside of the file; compile it with -fPIC and "
                    "-mcmodel=small or medium",
                    f->object->name, section->name, reloc->offset, row->name, symbol->name);
}

/* Instructions hold parts of addresses, which no loader can change. */
static int check_absolute(const struct finder *f, const struct tn__input_section *section,
                          const struct tn__reloc *reloc, const struct tn__row *row)
{
    uint8_t flags = f->object->plan->symbol_flags[reloc->symbol];
    const struct tn__symbol *symbol = &f->object->data->symbols[reloc->symbol];
    if (flags & TN__SYMBOL_DISCARDED ||
        (!tn__output_is_inside(f->object, reloc->symbol) && !(flags & TN__SYMBOL_GIVEN)))
        return 0;
    return tn__fail(f->o->err, TN_ERANGE,
                    "%s(%s+0x%" PRIx64 "): %s against '%s' depends on where the file is loaded; compile it with -fPIC",
                    f->object->name, section->name, reloc->offset, row->name, symbol->name);
}

static int fail_variable(const struct finder *f, uint32_t symbol)
{
    return tn__fail(f->o->err, TN_ENOTSUP,
                    "%s: '%s' is a thread-local variable of another file; declare it as initial-exec", f->object->name,
                    f->object->data->symbols[symbol].name);
}

static int find_in_reloc(const struct finder *f, const struct tn__input_section *section, const struct tn__reloc *reloc)
{
    const struct tn__object_data *data = f->object->data;
    const struct tn__row *row = &data->format->rows[reloc->type];
    if (row->flags & TN__R_PROGRAM && !f->o->options->program)
        return tn__fail(f->o->err, TN_ERANGE,
                        "%s(%s+0x%" PRIx64
                        "): %s is for code of a program, not of a file that is loaded; compile it with "
                        "-fPIC",
                        f->object->name, section->name, reloc->offset, row->name);
    uint32_t import;
    if (row->flags & TN__R_TLS && !row->slot && tn__output_is_import(f->o, data->symbols[reloc->symbol].entry, &import))
        return fail_variable(f, reloc->symbol);
    bool wide = row->field == TN__F_LE64, instruction = row->field >= TN__FIELDS;
    bool unchecked = row->bits > MOST_BITS || !(row->flags & (TN__R_SIGNED | TN__R_UNSIGNED));
    /* A value that is the same wherever the file is loaded. If it were not, its field would fail the range check. */
    if (row->flags & TN__R_TLS || row->bits <= PAGE_BITS || (!wide && !(instruction && unchecked)))
        return 0;
    if (row->value == TN__V_S_A_P || row->value == TN__V_S_A_GOT || row->value == TN__V_PAGE_S_A_P)
        return check_distance(f, section, reloc, row);
    if (row->value != TN__V_S_A)
        return 0;
    if (instruction)
        return check_absolute(f, section, reloc, row);
    return find_address(f, reloc->offset, reloc->symbol, false, (uint64_t)reloc->addend);
}

/* The scan has checked the relocations. */
static int find_in_section(const struct finder *f, const struct tn__input_section *section)
{
    struct tn__relocs relocs;
    int code = 0;
    tn__relocs_begin(&relocs, section);
    for (const struct tn__reloc *reloc; !code && (reloc = tn__relocs_next(&relocs));)
        code = find_in_reloc(f, section, reloc);
    return code;
}

/* Records a word for an imported thread-local variable. In the general-dynamic model __tls_get_addr would need its
 * module and its offset there. */
static int find_variable(const struct finder *f, enum tn__slot kind, uint32_t symbol, uint64_t offset, uint32_t import)
{
    if (kind == TN__SLOT_ADDRESS)
        return add_site(f, offset, TN__DYNAMIC_TLS_IMPORT, import, 0);
    if (kind == TN__SLOT_TLS_DESC)
        return add_site(f, offset, TN__DYNAMIC_TLS_DESC_IMPORT, import, 0);
    return fail_variable(f, symbol);
}

static int find_in_slot(const struct finder *f, enum tn__slot kind, uint32_t symbol, uint64_t offset)
{
    bool tls = kind != TN__SLOT_ADDRESS || f->object->plan->symbol_flags[symbol] & TN__SYMBOL_TLS;
    uint32_t import;
    if (tls && f->o->options->program)
        return 0; /* distances from the thread pointer are final */
    if (tls && tn__output_is_import(f->o, f->object->data->symbols[symbol].entry, &import))
        return find_variable(f, kind, symbol, offset, import);
    switch (kind) {
    case TN__SLOT_TLS_INDEX:
    case TN__SLOT_TLS_BASE:
        return add_site(f, offset, TN__DYNAMIC_TLS_MODULE, 0, 0);
    case TN__SLOT_ADDRESS:
        if (tls)
            return add_site(f, offset, TN__DYNAMIC_TLS_OFFSET, 0, 0); /* the word holds the addend until then */
        return find_address(f, offset, symbol, true, 0);
    case TN__SLOT_TLS_DESC:
        return add_site(f, offset, TN__DYNAMIC_TLS_DESC, 0, 0);
    default:
        return 0;
    }
}

static int find_in_got(const struct finder *f)
{
    const struct tn__plan *plan = f->object->plan;
    int code = 0;
    for (enum tn__slot kind = TN__SLOT_ADDRESS; kind < TN__SLOTS; kind++)
        for (uint32_t i = 0; plan->slots[kind] && i < f->object->data->symbol_count && !code; i++)
            if (plan->slots[kind][i])
                code = find_in_slot(f, kind, i, (uint64_t)(plan->slots[kind][i] - 1) * 8);
    return code;
}

static int find_indirect(const struct finder *f)
{
    int code = 0;
    for (uint32_t i = 0; i < f->object->plan->ifunc_count && !code; i++)
        code = add_site(f, (uint64_t)i * 8, TN__DYNAMIC_INDIRECT, 0, 0);
    return code;
}

/* Code is not writable, and processes are to share unwind data. */
static int check_place(const struct tn__output_link *o, const struct tn__output_piece *piece)
{
    if (!piece->fixups || !piece->section)
        return 0;
    bool fixed_place = piece->section->kind == TN__SECTION_CODE || piece->section->role == TN__ROLE_UNWIND;
    return fixed_place ? tn__fail(o->err, TN_ERANGE,
                                  "%s: section %s has addresses in it, which would have to be changed when it is "
                                  "loaded; compile it with -fPIC",
                                  piece->object->name, piece->section->name)
                       : 0;
}

/* An import may be missing if all references to it are weak. */
static void note_strong(const struct tn__output_link *o, struct tn__output_import *imports)
{
    uint32_t import;
    for (size_t i = 0; i < o->link->count; i++) {
        const struct tn__object_data *data = o->link->objects[i]->data;
        for (uint32_t s = 1; s < data->symbol_count; s++)
            if (data->symbols[s].binding == TN__BIND_GLOBAL && tn__output_is_import(o, data->symbols[s].entry, &import))
                imports[import].weak = false;
    }
}

/* Keeps the imports that words refer to, numbered by first use. */
static int list_imports(const struct tn__output_link *o)
{
    struct tn__output *output = o->output;
    uint32_t *numbers = tn__arena_array(&o->link->arena, o->import_count + 1, sizeof *numbers);
    output->imports = tn__arena_array(&output->arena, o->import_count + 1, sizeof *output->imports);
    if (!numbers || !output->imports)
        return tn__output_no_memory(o);
    for (size_t i = 0; i < o->import_count; i++)
        output->imports[i].weak = true;
    note_strong(o, output->imports);
    for (size_t i = 0; i < o->site_count; i++)
        if (tn__output_names_import(&o->sites[i].reloc))
            numbers[o->sites[i].reloc.import] = 1;
    for (size_t i = 0; i < o->import_count; i++) {
        if (!numbers[i])
            continue;
        const char *name = tn__arena_text(&output->arena, o->imports[i], strlen(o->imports[i]));
        if (!name)
            return tn__output_no_memory(o);
        numbers[i] = (uint32_t)output->import_count;
        output->imports[output->import_count++] = (struct tn__output_import){name, output->imports[i].weak, false};
    }
    for (size_t i = 0; i < o->site_count; i++)
        if (tn__output_names_import(&o->sites[i].reloc)) {
            struct tn__output_reloc *reloc = &o->sites[i].reloc;
            reloc->import = numbers[reloc->import];
            output->imports[reloc->import].tls |=
                reloc->fixup == TN__DYNAMIC_TLS_IMPORT || reloc->fixup == TN__DYNAMIC_TLS_DESC_IMPORT;
        }
    return 0;
}

int tn__output_find_sites(struct tn__output_link *o)
{
    int code = 0;
    for (uint32_t i = 0; i < o->piece_count && !o->options->fixed && !code; i++) {
        const struct tn__output_piece *piece = &o->pieces[i];
        const struct finder f = {o, piece->object, i};
        if (piece->class == TN__CLASS_GOT)
            code = find_in_got(&f);
        else if (piece->class == TN__CLASS_INDIRECT)
            code = find_indirect(&f);
        else if (piece->section && tn__section_is_loaded(piece->section))
            code = find_in_section(&f, piece->section);
        if (!code)
            code = check_place(o, &o->pieces[i]);
    }
    o->output->relocs = tn__arena_array(&o->output->arena, o->site_count + 1, sizeof *o->output->relocs);
    if (!code && !o->output->relocs)
        code = tn__output_no_memory(o);
    return code ? code : list_imports(o);
}

/* ---- placing ---- */

static int by_address(const void *a, const void *b)
{
    const struct tn__output_reloc *p = a, *q = b;
    return p->address < q->address ? -1 : p->address > q->address;
}

void tn__output_place_sites(struct tn__output_link *o)
{
    struct tn__output *output = o->output;
    for (size_t i = 0; i < o->site_count; i++) {
        const struct tn__output_site *site = &o->sites[i];
        const struct tn__output_piece *piece = &o->pieces[site->piece];
        output->relocs[i] = site->reloc;
        output->relocs[i].address = output->sections[piece->out].address + piece->offset + site->offset;
    }
    output->reloc_count = o->site_count;
    qsort(output->relocs, output->reloc_count, sizeof *output->relocs, by_address);
}

/* Overlapping words would be relocated twice at load time. */
int tn__output_check_sites(const struct tn__output_link *o)
{
    const struct tn__output *output = o->output;
    for (size_t i = 1; i < output->reloc_count; i++)
        if (output->relocs[i].address - output->relocs[i - 1].address < 8)
            return tn__fail(o->err, TN_EFORMAT,
                            "%s: two addresses overlap each other in data, 0x%" PRIx64 " bytes from its beginning",
                            o->options->name, output->relocs[i].address - o->base);
    return 0;
}

/* ---- finishing ---- */

static void finish_word(const struct tn__output_link *o, struct tn__output_reloc *reloc, uint8_t *word)
{
    bool is_address = reloc->fixup == TN__DYNAMIC_RELATIVE || reloc->fixup == TN__DYNAMIC_INDIRECT;
    if (reloc->fixup == TN__DYNAMIC_TLS_DESC || reloc->fixup == TN__DYNAMIC_TLS_DESC_IMPORT) {
        reloc->addend = reloc->fixup == TN__DYNAMIC_TLS_DESC ? tn__get64(word + 8) : 0;
        tn__put64(word + 8, 0);
    } else if (is_address)
        reloc->addend = tn__get64(word) - o->base;
    else if (reloc->fixup == TN__DYNAMIC_TLS_OFFSET)
        reloc->addend = tn__get64(word);
    tn__put64(word, is_address ? reloc->addend : 0);
    reloc->address -= o->base;
}

void tn__output_finish_sites(struct tn__output_link *o)
{
    const struct tn__output_section *section = o->output->sections; /* both are sorted by address */
    for (size_t i = 0; i < o->output->reloc_count; i++) {
        struct tn__output_reloc *reloc = &o->output->relocs[i];
        while (!section->bytes || reloc->address - section->address >= section->size)
            section++;
        finish_word(o, reloc, section->bytes + (reloc->address - section->address));
    }
}

/* ---- RELR ---- */

/* An even word is the address of a relocation; an odd one is a bitmap for the 63 words after the last. */
size_t tn__output_relr(const struct tn__output *output, uint64_t *words, size_t space)
{
    enum { BITS = 63 };
    size_t count = 0;
    uint64_t next = 0, bitmap = 0; /* for the words from `next` on */
    for (size_t i = 0; i <= output->reloc_count; i++) {
        const struct tn__output_reloc *reloc = &output->relocs[i];
        bool is_end = i == output->reloc_count;
        if (!is_end && (reloc->fixup != TN__DYNAMIC_RELATIVE || reloc->address % 8 || reloc->address < next))
            continue; /* words do not overlap: see tn__output_check_sites */
        while (bitmap && (is_end || reloc->address >= next + BITS * 8)) {
            if (count++ < space)
                words[count - 1] = bitmap << 1 | 1;
            bitmap = 0;
            next += BITS * 8;
        }
        if (is_end)
            break;
        if (count && reloc->address < next + BITS * 8) {
            bitmap |= UINT64_C(1) << (reloc->address - next) / 8;
            continue;
        }
        if (count++ < space)
            words[count - 1] = reloc->address;
        next = reloc->address + 8;
    }
    return count;
}
