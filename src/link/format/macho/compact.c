/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compact unwind entries ("__LD,__compact_unwind": Apple's <mach-o/compact_unwind_encoding.h>). For most functions,
 * compilers write these 32 bytes instead of an entry in __eh_frame; for x86-64 by default both. Unwinders here read
 * tables in DWARF's form only, so an entry of that form is made for each function that __eh_frame does not describe. It
 * is right wherever a call may throw, but not in a function's first and last instructions. */

#include <stdlib.h>

#include "link/format/macho/reader.h"

enum { FUNCTION = 0, LENGTH = 8, ENCODING = 12, PERSONALITY = 16, DATA = 24, ENTRY = 32 };
/* Bytes, and references, that an entry becomes at most: its own, with 20 saved registers, and a common one. */
enum { MOST_BYTES = 192, MOST_REFERENCES = 3 };

/* A place in the neutral object. */
struct place {
    uint64_t offset;
    uint32_t atom;
};

/* What an entry refers to: relocations of the file; NULL: nothing. */
struct entry {
    const struct tn__reloc *function, *personality, *data;
    uint32_t length, encoding;
    uint64_t start;     /* in the file's section */
    struct place place; /* of the function */
};

/* The table that is made. */
struct table {
    struct tn__macho_reader *r;
    const struct tn__macho_section *section;
    uint8_t *bytes;
    uint64_t size;
    struct tn__reloc *relocs;
    uint64_t reloc_count;
    uint64_t plain, throwing; /* where the last common entry of either kind begins, plus 1; 0: nowhere yet */
    uint32_t personality;     /* the symbol that the latter has */
    const struct place *described;
    size_t described_count, described_at; /* at: where the last one was looked for */
    bool *skipped;                        /* by entry: its function is described; known before relocations are read */
};

/* ---- functions that __eh_frame describes ---- */

static bool is_before(const struct place *a, const struct place *b)
{
    return a->atom != b->atom ? a->atom < b->atom : a->offset < b->offset;
}

static int by_place(const void *a, const void *b)
{
    return is_before(b, a) - is_before(a, b);
}

/* False if the target is not defined in this object. */
static bool find_place(const struct tn__macho_reader *r, const struct tn__reloc *reloc, struct place *place)
{
    const struct tn__symbol *symbol = &r->object->symbols[reloc->symbol];
    *place = (struct place){symbol->value + (uint64_t)reloc->addend, symbol->section};
    return symbol->place == TN__PLACE_SECTION;
}

/* Stores the places of functions with an entry in `section`, at most one for each relocation; returns their number. */
static size_t collect(const struct tn__macho_reader *r, const struct tn__input_section *section, struct place *out)
{
    enum { HEAD = 8 }; /* the length, and the distance of the common entry, which itself has a 0 */
    const struct tn__reloc *reloc = (const struct tn__reloc *)section->relocs, *end = reloc + section->reloc_count;
    size_t count = 0;
    for (uint64_t start = 0; tn__inside(start, HEAD, section->size);) {
        uint64_t size = 4 + (uint64_t)tn__get32(section->bytes + start);
        if (size < HEAD || size > section->size - start)
            break;
        while (reloc < end && reloc->offset < start + HEAD)
            reloc++;
        bool relates = reloc < end && reloc->offset == start + HEAD && tn__get32(section->bytes + start + 4) &&
                       (reloc->type == TN__MACHO_PC32 || reloc->type == TN__MACHO_PC64);
        count += relates && find_place(r, reloc, &out[count]);
        start += size;
    }
    return count;
}

static int collect_described(struct table *table)
{
    struct tn__macho_reader *r = table->r;
    uint64_t most = 0;
    for (uint32_t i = 1; i < r->section_count; i++)
        if (r->sections[i].role == TN__ROLE_UNWIND)
            most += r->object->sections[r->sections[i].first].reloc_count;
    struct place *places = tn__arena_alloc(&r->object->arena, most * sizeof *places);
    if (!places)
        return tn__no_memory(r->err, r->object->name);
    for (uint32_t i = 1; i < r->section_count; i++)
        if (r->sections[i].role == TN__ROLE_UNWIND)
            table->described_count +=
                collect(r, &r->object->sections[r->sections[i].first], places + table->described_count);
    bool sorted = true;
    for (size_t i = 1; i < table->described_count; i++)
        sorted &= !is_before(&places[i], &places[i - 1]);
    if (!sorted)
        qsort(places, table->described_count, sizeof *places, by_place);
    table->described = places;
    return 0;
}

static bool is_same(const struct place *a, const struct place *b)
{
    return a->atom == b->atom && a->offset == b->offset;
}

/* Entries nearly always have the order of their functions: then it is one of the next ones. */
static bool is_described(struct table *table, const struct place *place)
{
    enum { MOST = 16 };
    const struct place *all = table->described;
    size_t count = table->described_count, at = table->described_at, near = at + MOST < count ? at + MOST : count;
    bool forth = !at || is_before(&all[at - 1], place);
    while (forth && at < near && is_before(&all[at], place))
        at++;
    if (!forth || (at == near && near < count))
        at = TN_BISECT(0, count, i, is_before(&all[i], place));
    table->described_at = at;
    return at < count && is_same(&all[at], place);
}

/* The same of an offset in a section, for calls that ask in the order of their places. */
static inline bool is_next_described(struct table *table, const struct tn__macho_section *in, uint64_t offset)
{
    for (; table->described_at < table->described_count; table->described_at++) {
        const struct place *place = &table->described[table->described_at];
        if (place->atom >= in->first + in->count)
            return false;
        uint64_t at = table->r->starts[place->atom] + place->offset;
        if (place->atom >= in->first && at >= offset)
            return at == offset;
    }
    return false;
}

/* True if the record refers to a described function, by section and address, as entries of compilers do. */
__attribute__((noinline)) static bool is_record_described(struct table *table, const uint8_t *record, uint32_t address)
{
    const struct tn__macho_reader *r = table->r;
    uint32_t bits = tn__get32(record + 4), number = bits & TN__MACHO_RELOC_SYMBOL;
    uint32_t wanted = (uint32_t)r->machine->plain << TN__MACHO_RELOC_TYPE | 3U << TN__MACHO_RELOC_LENGTH;
    if (bits - number != wanted || !number || number >= r->section_count)
        return false;
    uint64_t target = tn__get64(table->section->bytes + address);
    return is_next_described(table, &r->sections[number], target - r->sections[number].address);
}

/* Skips entries of functions that have a description: their records need not be converted. Most functions have one; for
 * x86-64, all do. Entries of the other functions are copied to `rest`. Records stand in descending order; if they do
 * not, nothing is skipped. */
static int skip_described(struct table *table, struct tn__macho_section *rest)
{
    const struct tn__macho_section *section = table->section;
    struct tn__arena *arena = &table->r->object->arena;
    uint32_t first = section->reloc_count;
    bool *skipped = tn__arena_array(arena, section->size / ENTRY, sizeof *skipped);
    uint8_t *copies = tn__arena_alloc(arena, (size_t)first * TN__MACHO_RELOC);
    table->skipped = skipped;
    *rest = *section;
    if (!copies || !skipped)
        return tn__no_memory(table->r->err, table->r->object->name);
    const uint8_t *record = section->relocs + (size_t)first * TN__MACHO_RELOC;
    for (uint32_t last = 0, address; record > section->relocs; last = address) {
        record -= TN__MACHO_RELOC;
        address = tn__get32(record);
        if (address < last || address >= section->size) {
            memset(skipped, 0, section->size / ENTRY);
            return 0;
        }
        bool *skip = &skipped[address / ENTRY];
        if (address % ENTRY == FUNCTION)
            *skip = is_record_described(table, record, address);
        if (!*skip)
            memcpy(copies + (size_t)--first * TN__MACHO_RELOC, record, TN__MACHO_RELOC);
    }
    rest->relocs = copies + (size_t)first * TN__MACHO_RELOC;
    rest->reloc_count -= first;
    return 0;
}

/* ---- the table's bytes ---- */

static void put(struct table *table, uint64_t value, unsigned size)
{
    memcpy(table->bytes + table->size, &value, size);
    table->size += size;
}

static void put_uleb(struct table *table, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put(table, 0x80 | (value & 0x7f), 1);
    put(table, value, 1);
}

/* A field of 4 bytes that a relocation fills. */
static void put_reference(struct table *table, uint32_t type, uint32_t symbol, int64_t addend)
{
    table->relocs[table->reloc_count++] = (struct tn__reloc){table->size, type, symbol, addend};
    put(table, 0, 4);
}

static uint64_t begin_record(struct table *table)
{
    put(table, 0, 4);
    return table->size - 4;
}

/* Fills in the length; what is added to align the next record are instructions that do nothing. */
static void end_record(struct table *table, uint64_t start)
{
    uint64_t end = (table->size + 7) & ~UINT64_C(7);
    put(table, 0, 8); /* there is space for more than that */
    table->size = start;
    put(table, end - start - 4, 4);
    table->size = end;
}

enum { PE_RELATIVE4 = 0x1b, PE_INDIRECT = 0x80 };
enum { CFA_OFFSET = 0x80, CFA_OFFSET_EXTENDED = 5, CFA_DEFINE = 0x0c, CFA_SHORT = 64 };

/* Makes a common entry. A personality that the file does not define may be far away, so it is found by a GOT slot. */
static uint64_t put_common(struct table *table, const struct tn__reloc *personality)
{
    const struct tn__macho_machine *machine = table->r->machine;
    uint64_t start = begin_record(table);
    put(table, 0, 4); /* what tells it from others */
    put(table, 1, 1); /* the version */
    for (const char *letter = personality ? "zPLR" : "zR"; *letter; letter++)
        put(table, (uint8_t)*letter, 1);
    put(table, 0, 1);
    put(table, 1, 1);    /* code positions count in bytes, */
    put(table, 0x78, 1); /* saved registers in words downwards: -8 */
    put(table, machine->return_register, 1);
    put(table, personality ? 7 : 1, 1);
    if (personality) {
        bool defined = table->r->object->symbols[personality->symbol].place == TN__PLACE_SECTION;
        put(table, defined ? PE_RELATIVE4 : PE_INDIRECT | PE_RELATIVE4, 1);
        put_reference(table, defined ? TN__MACHO_PC32 : machine->slot, personality->symbol, personality->addend);
        put(table, PE_RELATIVE4, 1);
    }
    put(table, PE_RELATIVE4, 1);
    if (machine->pushes_return) {
        put(table, CFA_OFFSET | machine->return_register, 1);
        put(table, 1, 1);
    }
    end_record(table, start);
    return start;
}

/* The common entry for a function: the last one, as far as possible. */
static uint64_t common_of(struct table *table, const struct entry *entry)
{
    if (!entry->personality) {
        if (!table->plain)
            table->plain = put_common(table, NULL) + 1;
        return table->plain - 1;
    }
    uint32_t symbol = entry->personality->symbol;
    if (!table->throwing || table->personality != symbol || entry->personality->addend) {
        table->throwing = put_common(table, entry->personality) + 1;
        table->personality = symbol;
    }
    return table->throwing - 1;
}

static void put_frame(struct table *table, const struct tn__macho_frame *frame)
{
    put(table, CFA_DEFINE, 1);
    put(table, frame->base, 1);
    put_uleb(table, frame->distance);
    for (unsigned i = 0; i < frame->count; i++) {
        unsigned number = frame->saved[i].number;
        if (number >= CFA_SHORT)
            put(table, CFA_OFFSET_EXTENDED, 1);
        put(table, number < CFA_SHORT ? CFA_OFFSET | number : number, 1);
        put_uleb(table, frame->saved[i].depth);
    }
}

static void put_entry(struct table *table, const struct entry *entry, const struct tn__macho_frame *frame)
{
    uint64_t common = common_of(table, entry), start = begin_record(table);
    put(table, table->size - common, 4);
    put_reference(table, TN__MACHO_PC32, entry->function->symbol, entry->function->addend);
    put(table, entry->length, 4);
    put(table, entry->personality ? 4 : 0, 1);
    if (entry->personality && entry->data)
        put_reference(table, TN__MACHO_PC32, entry->data->symbol, entry->data->addend);
    else if (entry->personality)
        put(table, 0, 4);
    put_frame(table, frame);
    end_record(table, start);
}

/* ---- entries ---- */

static int fail_entry(const struct table *table, uint64_t start, int code, const char *why)
{
    return tn__fail(table->r->err, code, "%s: section %s: the entry at %#llx %s", table->r->object->name,
                    table->section->name, (unsigned long long)start, why);
}

/* Takes the relocations of an entry from *at on, up to `end`. */
static int read_entry(const struct table *table, uint64_t start, const struct tn__reloc **at,
                      const struct tn__reloc *end, struct entry *entry)
{
    const uint8_t *bytes = table->section->bytes + start;
    *entry =
        (struct entry){.length = tn__get32(bytes + LENGTH), .encoding = tn__get32(bytes + ENCODING), .start = start};
    for (; *at < end && (*at)->offset < start + ENTRY; ++*at) {
        uint64_t field = (*at)->offset - start;
        const struct tn__reloc **of = field == FUNCTION      ? &entry->function
                                      : field == PERSONALITY ? &entry->personality
                                      : field == DATA        ? &entry->data
                                                             : NULL;
        if (!of || *of || (*at)->type != (uint32_t)TN__MACHO_ROW(table->r->machine->plain, 3, 0))
            return fail_entry(table, start, TN_EFORMAT, "has a relocation that does not belong there");
        *of = *at;
    }
    return 0;
}

/* The bytes of a function, as many as its section has left. */
static const uint8_t *code_at(const struct tn__macho_reader *r, const struct place *place, uint64_t *size)
{
    const struct tn__input_section *atom = &r->object->sections[place->atom];
    bool inside = atom->bytes && place->offset <= atom->size;
    *size = inside ? atom->size - place->offset : 0;
    return inside ? atom->bytes + place->offset : NULL;
}

/* Stores the entries of functions that __eh_frame does not describe. */
static int read_entries(struct table *table, const struct tn__reloc *relocs, uint64_t reloc_count,
                        struct entry *entries, size_t *count)
{
    const struct tn__reloc *at = relocs;
    int code = 0;
    *count = 0;
    for (uint64_t start = 0; !code && start < table->section->size; start += ENTRY) {
        struct entry *entry = &entries[*count];
        if (table->skipped[start / ENTRY])
            continue;
        code = read_entry(table, start, &at, relocs + reloc_count, entry);
        if (!code && (!entry->function || !find_place(table->r, entry->function, &entry->place)))
            return fail_entry(table, start, TN_EFORMAT, "belongs to no function of the file");
        *count += !code && !is_described(table, &entry->place);
    }
    return code;
}

static int convert_entry(struct table *table, const struct entry *entry)
{
    struct tn__macho_frame frame = {0};
    uint64_t size;
    const uint8_t *code = code_at(table->r, &entry->place, &size);
    switch (table->r->machine->decode(entry->encoding, code, size, &frame)) {
    case TN__MACHO_NOTHING:
        return 0;
    case TN__MACHO_FRAME:
        put_entry(table, entry, &frame);
        return 0;
    default:
        return fail_entry(table, entry->start, TN_ENOTSUP, "has an encoding that is not defined");
    }
}

/* ---- the section ---- */

static void add_table(struct table *table)
{
    struct tn__object_data *object = table->r->object;
    object->sections[object->section_count++] = (struct tn__input_section){
        .name = table->section->name,
        .bytes = table->bytes,
        .size = table->size,
        .alignment = 8,
        .relocs = (const uint8_t *)table->relocs,
        .relocs_made = true,
        .reloc_count = table->reloc_count,
        .kind = TN__SECTION_RODATA,
        .role = TN__ROLE_UNWIND,
        .priority = TN__PRIORITY_LAST,
    };
}

static int convert_section(struct tn__macho_reader *r, const struct tn__macho_section *section)
{
    struct table table = {.r = r, .section = section};
    struct tn__arena *arena = &r->object->arena;
    struct tn__reloc *relocs;
    uint64_t count;
    size_t entry_count;
    if (!section->bytes || section->size % ENTRY)
        return TN__MACHO_FAIL(r, "%s: section %s: %llu bytes are no whole number of entries", r->object->name,
                              section->name, (unsigned long long)(section->bytes ? section->size : 0));
    struct tn__macho_section rest;
    int code = collect_described(&table);
    if (!code)
        code = skip_described(&table, &rest);
    if (code)
        return code;
    struct entry *entries = tn__arena_alloc(arena, section->size / ENTRY * sizeof *entries);
    if (!entries)
        return tn__no_memory(r->err, r->object->name);
    code = tn__macho_convert_relocs(r, &rest, &relocs, &count);
    if (!code)
        code = read_entries(&table, relocs, count, entries, &entry_count);
    if (code || !entry_count)
        return code;
    table.bytes = tn__arena_alloc(arena, entry_count * MOST_BYTES);
    table.relocs = tn__arena_alloc(arena, entry_count * MOST_REFERENCES * sizeof *table.relocs);
    if (!table.bytes || !table.relocs)
        return tn__no_memory(r->err, r->object->name);
    for (size_t i = 0; !code && i < entry_count; i++)
        code = convert_entry(&table, &entries[i]);
    if (!code && table.size)
        add_table(&table);
    return code;
}

int tn__macho_read_compact(struct tn__macho_reader *r)
{
    const struct tn__macho_section *found = NULL;
    for (uint32_t i = 1; i < r->section_count; i++) {
        if (strcmp(r->sections[i].name, "__LD,__compact_unwind") != 0)
            continue;
        if (found)
            return TN__MACHO_FAIL(r, "%s: a second section %s", r->object->name, found->name);
        found = &r->sections[i];
    }
    return found && found->size ? convert_section(r, found) : 0;
}
