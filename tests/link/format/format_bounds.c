/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Mach-O and COFF files made to cost more time or memory than they are worth, as bounds.c has them for ELF: each is
 * refused, or costs what others of its size do. They are linked for another address space. */

#include <stdlib.h>

#include "base/base.h"
#include "bounds.h"
#include "link/file/detached.h"
#include "link/format/macho/macho.h"
#include "support.h"

/* ---- files ---- */

static void append(struct bytes *file, const void *bytes, size_t size)
{
    file->at = realloc(file->at, file->size + size);
    assert_non_null(file->at);
    if (bytes)
        memcpy(file->at + file->size, bytes, size);
    else
        memset(file->at + file->size, 0, size);
    file->size += size;
}

static void append32(struct bytes *file, uint32_t value)
{
    append(file, &value, 4);
}

/* A section of either format: its bytes and its relocations, 8 or 10 bytes each. */
struct part {
    const char *segment, *name;
    uint32_t flags;
    struct bytes bytes, relocs;
};

enum { PARTS = 4 };

/* What becomes a file: symbols and strings in the format's form. */
struct plan {
    struct part parts[PARTS];
    unsigned count;
    struct bytes symbols, strings;
    struct bytes more; /* COFF: section headers behind those of the parts */
};

static void free_plan(struct plan *plan)
{
    for (unsigned i = 0; i < plan->count; i++) {
        free(plan->parts[i].bytes.at);
        free(plan->parts[i].relocs.at);
    }
    free(plan->symbols.at);
    free(plan->strings.at);
    free(plan->more.at);
}

static void macho_symbol(struct plan *plan, uint32_t name, unsigned type, unsigned section, uint64_t value)
{
    uint8_t entry[TN__MACHO_SYMBOL] = {
        [TN__MACHO_SYMBOL_TYPE] = (uint8_t)type, [TN__MACHO_SYMBOL_SECTION] = (uint8_t)section};
    tn__put32(entry, name);
    tn__put64(entry + TN__MACHO_SYMBOL_VALUE, value);
    append(&plan->symbols, entry, sizeof entry);
}

static void macho_reloc(struct part *part, uint32_t address, uint32_t symbol, unsigned type, unsigned length,
                        bool relative)
{
    append32(&part->relocs, address);
    append32(&part->relocs, symbol | (uint32_t)relative << TN__MACHO_RELOC_RELATIVE | length << TN__MACHO_RELOC_LENGTH |
                                1U << TN__MACHO_RELOC_EXTERNAL | type << TN__MACHO_RELOC_TYPE);
}

static struct bytes finish_macho(struct plan *plan)
{
    struct bytes file = {NULL, 0};
    uint32_t segment = TN__MACHO_SEGMENT + plan->count * TN__MACHO_SECTION, address = 0;
    uint32_t at = TN__MACHO_HEADER + segment + TN__MACHO_SYMTAB;
    const uint32_t header[] = {
        TN__MACHO_MAGIC, TN__MACHO_X86_64, 3, TN__MACHO_OBJECT, 2, segment + TN__MACHO_SYMTAB, TN__MACHO_SPLITS, 0};
    append(&file, header, sizeof header);
    uint8_t command[TN__MACHO_SEGMENT] = {TN__MACHO_LC_SEGMENT64};
    tn__put32(command + 4, segment);
    tn__put32(command + TN__MACHO_SEGMENT_SECTIONS, plan->count);
    append(&file, command, sizeof command);
    for (unsigned i = 0; i < plan->count; i++) {
        const struct part *part = &plan->parts[i];
        uint8_t section[TN__MACHO_SECTION] = {0};
        strncpy((char *)section + TN__MACHO_SECTION_NAME, part->name, TN__MACHO_NAME);
        strncpy((char *)section + TN__MACHO_SEGMENT_NAME, part->segment, TN__MACHO_NAME);
        tn__put64(section + TN__MACHO_SECTION_ADDRESS, address);
        tn__put64(section + TN__MACHO_SECTION_SIZE, part->bytes.size);
        tn__put32(section + TN__MACHO_SECTION_OFFSET, at);
        tn__put32(section + TN__MACHO_SECTION_RELOCS, at + (uint32_t)part->bytes.size);
        tn__put32(section + TN__MACHO_SECTION_RELOC_COUNT, (uint32_t)(part->relocs.size / TN__MACHO_RELOC));
        tn__put32(section + TN__MACHO_SECTION_FLAGS, part->flags);
        append(&file, section, sizeof section);
        at += (uint32_t)(part->bytes.size + part->relocs.size);
        address += (uint32_t)part->bytes.size;
    }
    const uint32_t symtab[] = {TN__MACHO_LC_SYMTAB,
                               TN__MACHO_SYMTAB,
                               at,
                               (uint32_t)(plan->symbols.size / TN__MACHO_SYMBOL),
                               at + (uint32_t)plan->symbols.size,
                               (uint32_t)plan->strings.size};
    append(&file, symtab, sizeof symtab);
    for (unsigned i = 0; i < plan->count; i++) {
        append(&file, plan->parts[i].bytes.at, plan->parts[i].bytes.size);
        append(&file, plan->parts[i].relocs.at, plan->parts[i].relocs.size);
    }
    append(&file, plan->symbols.at, plan->symbols.size);
    append(&file, plan->strings.at, plan->strings.size);
    free_plan(plan);
    return file;
}

enum { COFF_HEADER = 20, COFF_SECTION = 40, COFF_SYMBOL = 18, COFF_RELOC = 10, CLASS_EXTERNAL = 2 };
enum { CODE = 0x60500020, CONSTANTS = 0x40400040, COMDAT = 0x1000 };

static void coff_symbol(struct plan *plan, uint32_t name, uint32_t value, unsigned section, unsigned class,
                        unsigned more)
{
    uint8_t entry[COFF_SYMBOL] = {
        [12] = (uint8_t)section, (uint8_t)(section >> 8), [16] = (uint8_t) class, (uint8_t)more};
    tn__put32(entry + 4, name);
    tn__put32(entry + 8, value);
    append(&plan->symbols, entry, sizeof entry);
}

/* Sections have the names in the string table at `name`. */
static void coff_section(struct bytes *headers, uint32_t name, uint32_t size, uint32_t offset, uint32_t flags)
{
    uint8_t header[COFF_SECTION];
    memset(header, 0, sizeof header);
    snprintf((char *)header, 9, "/%u", name);
    header[8] = 0;
    tn__put32(header + 16, size);
    tn__put32(header + 20, offset);
    tn__put32(header + 36, flags);
    append(headers, header, sizeof header);
}

/* `each` bytes for each of the headers in `more`, which are filled in here; strings begin with their size. */
static struct bytes finish_coff(struct plan *plan, uint32_t each)
{
    struct bytes file = {NULL, 0};
    uint32_t sections = (uint32_t)(plan->more.size / COFF_SECTION);
    uint32_t contents = COFF_HEADER + sections * COFF_SECTION;
    for (uint32_t i = 0; i < sections; i++)
        tn__put32(plan->more.at + (size_t)i * COFF_SECTION + 20, contents + i * each);
    uint8_t header[COFF_HEADER] = {0x64, 0x86, (uint8_t)sections, (uint8_t)(sections >> 8)};
    tn__put32(header + 8, contents + sections * each);
    tn__put32(header + 12, (uint32_t)(plan->symbols.size / COFF_SYMBOL));
    append(&file, header, sizeof header);
    append(&file, plan->more.at, plan->more.size);
    append(&file, NULL, (size_t)sections * each);
    append(&file, plan->symbols.at, plan->symbols.size);
    tn__put32(plan->strings.at, (uint32_t)plan->strings.size);
    append(&file, plan->strings.at, plan->strings.size);
    free_plan(plan);
    return file;
}

/* ---- Mach-O ---- */

enum { EXTERNAL = TN__MACHO_IN_SECTION | TN__MACHO_EXTERNAL, UNDEFINED = TN__MACHO_UNDEFINED | TN__MACHO_EXTERNAL };
enum { UNSIGNED = 0, BRANCH = 2 };
enum { LONG = 300000, SHARERS = 12000, ATOMS = 50000, ENTRIES = 8000 };

static void long_name(struct plan *plan, size_t first)
{
    append(&plan->strings, NULL, first);
    append(&plan->strings, NULL, LONG);
    memset(plan->strings.at + first, 'a', LONG - 1);
}

static struct part *macho_part(struct plan *plan, const char *segment, const char *name, uint32_t flags, size_t size)
{
    struct part *part = &plan->parts[plan->count++];
    *part = (struct part){segment, name, flags, {NULL, 0}, {NULL, 0}};
    append(&part->bytes, NULL, size);
    return part;
}

/* Every name is the end of one long one; copied ones too, which do not begin with an underscore. */
static struct bytes macho_names(void)
{
    struct plan plan = {.count = 0};
    macho_part(&plan, "__TEXT", "__text", TN__MACHO_ONLY_CODE, SHARERS);
    long_name(&plan, 1);
    for (uint32_t i = 0; i < SHARERS; i++)
        macho_symbol(&plan, 1 + i, EXTERNAL, 1, i);
    return finish_macho(&plan);
}

static void numbered_name(struct plan *plan, char letter, uint32_t number)
{
    char name[16];
    append(&plan->strings, name, (size_t)snprintf(name, sizeof name, "_%c%07u", letter, number) + 1);
}

/* An atom of each byte, in the opposite order, each of which refers to the next. */
static struct bytes macho_atoms(void)
{
    struct plan plan = {.count = 0};
    struct part *text = macho_part(&plan, "__TEXT", "__text", TN__MACHO_ONLY_CODE, ATOMS * 8);
    append(&plan.strings, NULL, 1);
    for (uint32_t i = 0; i < ATOMS; i++) {
        uint32_t at = (ATOMS - 1 - i) * 8;
        macho_symbol(&plan, (uint32_t)plan.strings.size, EXTERNAL, 1, at);
        numbered_name(&plan, 'f', i);
        macho_reloc(text, at + 1, (i * 7919) % ATOMS, BRANCH, 2, true);
    }
    return finish_macho(&plan);
}

/* Relocations in no order. */
static struct bytes macho_unsorted(void)
{
    struct plan plan = {.count = 0};
    struct part *data = macho_part(&plan, "__DATA", "__data", 0, ATOMS * 8);
    append(&plan.strings, "\0_a", 4);
    macho_symbol(&plan, 1, EXTERNAL, 1, 0);
    for (uint32_t i = 0; i < ATOMS; i++)
        macho_reloc(data, (uint32_t)((uint64_t)i * 7919 % ATOMS) * 8, 0, UNSIGNED, 3, false);
    return finish_macho(&plan);
}

/* Compact unwind entries with two personalities in turn, so that each has a common entry of its own. */
static struct bytes macho_compact(void)
{
    struct plan plan = {.count = 0};
    macho_part(&plan, "__TEXT", "__text", TN__MACHO_ONLY_CODE, ENTRIES);
    struct part *compact = macho_part(&plan, "__LD", "__compact_unwind", TN__MACHO_DEBUG, (size_t)ENTRIES * 32);
    append(&plan.strings, "\0_p\0_q", 7);
    macho_symbol(&plan, 1, UNDEFINED, 0, 0);
    macho_symbol(&plan, 4, UNDEFINED, 0, 0);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        macho_symbol(&plan, (uint32_t)plan.strings.size, EXTERNAL, 1, i);
        numbered_name(&plan, 'f', i);
        tn__put32(compact->bytes.at + (size_t)i * 32 + 12, 0x02071800 | 719);
        macho_reloc(compact, i * 32, 2 + i, UNSIGNED, 3, false);
        macho_reloc(compact, i * 32 + 16, i % 2, UNSIGNED, 3, false);
    }
    return finish_macho(&plan);
}

/* ---- COFF ---- */

enum { SECTIONS = 20000 };

static struct bytes coff_names(void)
{
    struct plan plan = {.count = 0};
    long_name(&plan, 4);
    coff_section(&plan.more, 4 + LONG - 10, 64, 0, CODE);
    for (uint32_t i = 0; i < SHARERS; i++)
        coff_symbol(&plan, 4 + i, 1, 1, CLASS_EXTERNAL, 0);
    return finish_coff(&plan, 64);
}

/* Names of sections that share bytes: sorting compares them where sections lie in groups. */
static struct bytes coff_section_names(void)
{
    struct plan plan = {.count = 0};
    long_name(&plan, 4);
    append(&plan.strings, "$x", 3);
    plan.strings.at[4 + LONG - 1] = 'a';
    for (uint32_t i = 0; i < SHARERS; i++)
        coff_section(&plan.more, 4 + i, 1, 0, CONSTANTS);
    return finish_coff(&plan, 1);
}

/* All sections of one group, each with a suffix of its own. */
static struct bytes coff_groups(bool one)
{
    struct plan plan = {.count = 0};
    append(&plan.strings, NULL, 4);
    for (uint32_t i = 0; i < SECTIONS; i++) {
        char name[24];
        uint32_t number = (uint32_t)((uint64_t)i * 7919 % SECTIONS);
        coff_section(&plan.more, (uint32_t)plan.strings.size, 4, 0, CONSTANTS);
        int length =
            one ? snprintf(name, sizeof name, "table$%07u", number) : snprintf(name, sizeof name, "t%07u$x", number);
        append(&plan.strings, name, (size_t)length + 1);
    }
    return finish_coff(&plan, 4);
}

static struct bytes coff_one_group(void)
{
    return coff_groups(true);
}

static struct bytes coff_many_groups(void)
{
    return coff_groups(false);
}

/* Weak externals, each of which stands for the next. */
static struct bytes coff_weak_chain(void)
{
    struct plan plan = {.count = 0};
    append(&plan.strings, NULL, 4);
    coff_section(&plan.more, 4, 4, 0, CONSTANTS);
    append(&plan.strings, "s", 2);
    for (uint32_t i = 0; i < SHARERS; i++) {
        uint8_t record[COFF_SYMBOL] = {[4] = 3};
        coff_symbol(&plan, (uint32_t)plan.strings.size, 0, 0, 105, 1);
        numbered_name(&plan, 'w', i);
        tn__put32(record, 2 * ((i + 1) % SHARERS));
        append(&plan.symbols, record, sizeof record);
    }
    return finish_coff(&plan, 4);
}

/* ---- all of them ---- */

static const struct row {
    const char *name;
    struct bytes (*make)(void);
    const struct tn_format *formats[2];
    int code;
    const char *word;
} rows[] = {
    {"Mach-O: names that share bytes", macho_names, {&tn_format_macho_x86_64}, TN_EFORMAT, "share bytes"},
    {"Mach-O: atoms in the opposite order", macho_atoms, {&tn_format_macho_x86_64}, 0, NULL},
    {"Mach-O: relocations in no order", macho_unsorted, {&tn_format_macho_x86_64}, 0, NULL},
    {"Mach-O: personalities in turn", macho_compact, {&tn_format_macho_x86_64}, 0, NULL},
    {"COFF: names that share bytes", coff_names, {&tn_format_coff_x86_64}, TN_EFORMAT, "share bytes"},
    {"COFF: names of sections that share bytes",
     coff_section_names,
     {&tn_format_coff_x86_64},
     TN_EFORMAT,
     "share bytes"},
    {"COFF: one group", coff_one_group, {&tn_format_coff_x86_64}, 0, NULL},
    {"COFF: many groups", coff_many_groups, {&tn_format_coff_x86_64}, 0, NULL},
    {"COFF: a chain of weak externals", coff_weak_chain, {&tn_format_coff_x86_64}, TN_ENOTSUP, "other names"},
};

static void *anything(void *unused, const char *name)
{
    (void)unused;
    return (void *)(uintptr_t)(0x14000000U + strlen(name) % 4096);
}

static void it_costs_what_its_size_says(void **state)
{
    const struct row *row = *state;
    struct bytes object = row->make();
    struct tn__detached where = {.address = 0x10000000, .size = 64 << 20, .page_size = 4096};
    const struct tn_session_options options = {
        .size = sizeof options, .formats = row->formats, .allocator = &bounds_allocator};
    const struct tn_input input = {.size = sizeof input, .name = "bounds.o", .bytes = object.at, .length = object.size};
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    bounds_begin();
    assert_ok(tn__session_create_detached(&options, &where, &session, &err), &err);
    assert_ok(tn_library_create(session, "bounds", &library, &err), &err);
    assert_ok(tn_add_resolver(library, anything, NULL, &err), &err);
    int code = tn_add_object(library, &input, &err);
    if (!code)
        code = tn_link(library, &err);
    tn_session_destroy(session);
    double ms = bounds_now() - bounds.start;
    assert_int_equal(bounds.in_use, 0);
    if (row->code)
        assert_error(code, row->code, &err, "bounds.o", row->word);
    else
        assert_ok(code, &err);
    print_message("%s: %zu bytes, %.1f ms, %zu KB\n", row->name, object.size, ms, bounds.peak >> 10);
    assert_true(ms < BOUNDS_SLOWER * (50 + (double)object.size / 1e4));
    assert_true(bounds.peak < (4 << 20) + 64 * object.size);
    free(object.at);
}

int main(void)
{
    return RUN_ROWS("bounds of formats", rows, it_costs_what_its_size_says);
}
