/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Relocations. The file's records have no addends: these are in the fields, or in records of their own, and a
 * difference of two symbols takes two records. They are converted here to the neutral form, whose addends are complete,
 * sorted, and handed to the atoms in which they lie. A target that is given as a section and an address in it becomes
 * an atom and an offset. */

#include <stdlib.h>

#include "link/format/macho/reader.h"

#define FAIL TN__MACHO_FAIL

/* One record of the file. */
struct record {
    uint32_t address, symbol; /* a symbol's number or, unless it is external, a section's */
    uint8_t type, length;     /* length: as a power of two */
    bool relative, external;
};

/* Where the records of a section are converted to. Assemblers write them in the order of their places or, mostly, in
 * the opposite order: then they are stored from the end of the space on. */
struct output {
    struct tn__macho_reader *r;
    const struct tn__macho_section *section;
    struct tn__reloc *relocs, *next;
    int64_t step;   /* 1 or -1 */
    uint32_t plain; /* records up to this one may be converted by convert_plain */
};

static inline struct record record_at(const struct tn__macho_section *section, uint32_t index)
{
    const uint8_t *at = section->relocs + (size_t)index * TN__MACHO_RELOC;
    uint32_t bits = tn__get32(at + 4);
    return (struct record){
        .address = tn__get32(at),
        .symbol = bits & TN__MACHO_RELOC_SYMBOL,
        .type = (uint8_t)(bits >> TN__MACHO_RELOC_TYPE),
        .length = bits >> TN__MACHO_RELOC_LENGTH & 3,
        .relative = bits >> TN__MACHO_RELOC_RELATIVE & 1,
        .external = bits >> TN__MACHO_RELOC_EXTERNAL & 1,
    };
}

/* What a record of form TN__MACHO_ADDEND says in place of a symbol: 24 bits, signed. */
static inline int64_t addend_of(uint32_t symbol)
{
    return (int64_t)((uint64_t)symbol << 40) >> 40;
}

static int fail_record(const struct output *out, const struct record *record, const char *why)
{
    return FAIL(out->r, "%s: section %s: relocation at %#x (type %u, length %u): %s", out->r->object->name,
                out->section->name, record->address, record->type, 1U << record->length, why);
}

static inline void emit(struct output *out, uint64_t offset, uint32_t type, uint32_t symbol, uint64_t addend)
{
    *out->next = (struct tn__reloc){offset, type, symbol, (int64_t)addend};
    out->next += out->step;
}

/* ---- targets ---- */

/* What the field holds, with its sign. */
static uint64_t field_of(const struct output *out, const struct record *record)
{
    const uint8_t *at = out->section->bytes + record->address;
    switch (record->length) {
    case 0:
        return (uint64_t)(int8_t)*at;
    case 1:
        return (uint64_t)(int16_t)tn__get16(at);
    case 2:
        return (uint64_t)(int32_t)tn__get32(at);
    default:
        return tn__get64(at);
    }
}

/* An address may lie a little outside of the section that it is in: "the label - 8" is stored as one number. */
enum { SLACK = 1 << 16 };

/* The symbol for an address in the section that the record names, and the distance from it. */
static int find_local(const struct output *out, const struct record *record, uint64_t address, uint32_t *symbol,
                      uint64_t *distance)
{
    struct tn__macho_reader *r = out->r;
    if (!record->symbol || record->symbol >= r->section_count)
        return fail_record(out, record, "its target is a section that does not exist");
    const struct tn__macho_section *section = &r->sections[record->symbol];
    uint64_t offset = address - section->address;
    bool before = -offset <= SLACK, behind = offset > section->size && offset - section->size <= SLACK;
    if (offset > section->size && !before && !behind)
        return fail_record(out, record, "its target lies outside of the section that it names");
    uint32_t atom = tn__macho_atom_at(r, section, before ? 0 : tn__min64(offset, section->size));
    *symbol = tn__macho_section_symbol(r, atom);
    *distance = offset - r->starts[atom];
    return 0;
}

static int check_symbol(const struct output *out, const struct record *record)
{
    return record->symbol < out->r->symbol_count ? 0 : fail_record(out, record, "its symbol does not exist");
}

/* ---- the forms ---- */

/* The third word of a descriptor of a thread-local variable. */
static inline bool is_tls_offset(const struct output *out, const struct record *record)
{
    enum { DESCRIPTOR = 24, OFFSET = 16 };
    return tn__macho_type(out->section) == TN__MACHO_TLS_VARIABLES && record->type == out->r->machine->plain &&
           record->length == 3 && record->address % DESCRIPTOR == OFFSET;
}

static int convert_in_place(struct output *out, const struct record *record)
{
    const struct tn__macho_kind *kind = &out->r->machine->kinds[record->type];
    uint64_t field = field_of(out, record), addend = field - kind->base;
    uint32_t symbol = record->symbol + 1, row = TN__MACHO_ROW(record->type, record->length, record->relative);
    int code;
    if (record->external) {
        code = check_symbol(out, record);
    } else {
        uint64_t bias = record->relative ? kind->base + (uint64_t)kind->after : 0;
        uint64_t place = record->relative ? out->section->address + record->address + bias : 0;
        uint64_t target = !record->relative && record->length == 2 ? (uint32_t)field : field + place;
        code = find_local(out, record, target, &symbol, &addend);
        addend -= bias;
    }
    if (!code)
        emit(out, record->address, is_tls_offset(out, record) ? TN__MACHO_TLS_OFFSET : row, symbol, addend);
    return code;
}

static int convert_in_instruction(struct output *out, const struct record *record, uint64_t addend)
{
    int code = record->external ? check_symbol(out, record)
                                : fail_record(out, record, "an instruction that refers to a section, not a symbol");
    if (!code)
        emit(out, record->address, TN__MACHO_ROW(record->type, record->length, record->relative), record->symbol + 1,
             addend);
    return code;
}

/* True if the symbol lies in the atom of the place, so that a difference from it is one from the place. */
static bool is_near(const struct output *out, uint32_t address, uint32_t symbol)
{
    const struct tn__symbol *from = &out->r->object->symbols[symbol];
    return from->place == TN__PLACE_SECTION && from->section >= out->section->first &&
           from->section == tn__macho_atom_at(out->r, out->section, address);
}

/* Objects lie within reach of each other, so differences of addresses in one need no check. */
static bool is_inside(const struct output *out, uint32_t symbol)
{
    return out->r->object->symbols[symbol].place == TN__PLACE_SECTION;
}

/* One of two labels whose difference a field is: a symbol, or `address` in a section, of which the field has all and
 * the symbol that is found has `base`. */
struct half {
    uint32_t symbol;
    uint64_t base;
};

static int find_half(const struct output *out, const struct record *record, uint64_t address, struct half *half)
{
    uint64_t distance;
    half->symbol = record->symbol + 1;
    if (record->external)
        return check_symbol(out, record);
    int code = find_local(out, record, address, &half->symbol, &distance);
    half->base = code ? 0 : address - distance;
    return code;
}

/* The address, if it lies in the section that the record names; or else its beginning. Which atom is found does not
 * matter much: atoms keep their distances. */
static uint64_t address_within(const struct output *out, const struct record *record, uint64_t address)
{
    const struct tn__macho_section *section =
        record->symbol < out->r->section_count ? &out->r->sections[record->symbol] : NULL;
    return !section || address - section->address < section->size ? address : section->address;
}

/* Labels that are given as addresses are in the field: that of `plus`, minus that of `minus`. If both are, neither is
 * known. */
static int find_halves(const struct output *out, const struct record *minus, const struct record *plus, uint64_t field,
                       struct half *from, struct half *to)
{
    uint64_t added = minus->external ? field : address_within(out, plus, 0);
    uint64_t subtracted = address_within(out, minus, plus->external ? -field : 0);
    int code = find_half(out, minus, subtracted, from);
    return code ? code : find_half(out, plus, added, to);
}

/* Two records of one field: `minus` and `plus`. */
static int convert_difference(struct output *out, const struct record *minus, const struct record *plus)
{
    struct tn__macho_reader *r = out->r;
    if (plus->type != r->machine->plain || plus->address != minus->address || plus->length != minus->length ||
        minus->relative || plus->relative || minus->length < 2)
        return fail_record(out, minus, "no other one that it belongs to follows");
    const bool wide = plus->length == 3;
    uint64_t field = field_of(out, plus);
    struct half from = {0}, to = {0};
    int code = find_halves(out, minus, plus, field, &from, &to);
    if (code)
        return code;
    if (is_near(out, plus->address, from.symbol)) {
        const struct tn__symbol *symbol = &r->object->symbols[from.symbol];
        uint64_t place = plus->address - r->starts[symbol->section] - symbol->value;
        emit(out, plus->address, wide ? TN__MACHO_PC64 : TN__MACHO_PC32, to.symbol,
             field + from.base - to.base + place);
        return 0;
    }
    if (!wide && (!is_inside(out, from.symbol) || (plus->external && !is_inside(out, to.symbol))))
        return fail_record(out, minus, "a difference of 32 bits from another object");
    emit(out, plus->address, TN__MACHO_ROW(minus->type, minus->length, 0), from.symbol, -from.base);
    emit(out, plus->address, wide ? TN__MACHO_PLUS64 : TN__MACHO_PLUS32, to.symbol, -to.base);
    return 0;
}

/* ---- all of a section ---- */

static int check_field(const struct output *out, const struct record *record)
{
    if (out->r->machine->kinds[record->type].form == TN__MACHO_UNKNOWN)
        return fail_record(out, record, "no such type");
    if (!out->section->bytes || !tn__inside(record->address, 1U << record->length, out->section->size))
        return fail_record(out, record, "it lies outside of the section's bytes");
    return 0;
}

/* Converts the record, and the next one if both are a pair; *index is the last one's then. */
static int convert(struct output *out, uint32_t *index)
{
    const struct tn__macho_section *section = out->section;
    struct record record = record_at(section, *index), next = {0};
    uint8_t form = out->r->machine->kinds[record.type].form;
    int code = check_field(out, &record);
    if (!code && (form == TN__MACHO_MINUS || form == TN__MACHO_ADDEND)) {
        if (*index + 1 == section->reloc_count)
            return fail_record(out, &record, "no other one that it belongs to follows");
        next = record_at(section, ++*index);
        code = check_field(out, &next);
    }
    if (code)
        return code;
    if (form == TN__MACHO_MINUS)
        return convert_difference(out, &record, &next);
    if (form == TN__MACHO_ADDEND) {
        if (next.address != record.address || out->r->machine->kinds[next.type].form != TN__MACHO_IN_INSTRUCTION)
            return fail_record(out, &record, "no other one that it belongs to follows");
        return convert_in_instruction(out, &next, (uint64_t)addend_of(record.symbol));
    }
    return form == TN__MACHO_IN_PLACE ? convert_in_place(out, &record) : convert_in_instruction(out, &record, 0);
}

static int by_offset(const void *a, const void *b)
{
    const struct tn__reloc *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->type > y->type) - (x->type < y->type); /* the halves of a difference commute */
}

/* The highest byte of a record. */
enum { HIGH = 24, EXTERNAL = 8, WIDE = 4, WIDEST = 2, RELATIVE = 1, REST = 7, TYPE = 4 };

/* Sets the symbol and the addend of a field whose target is given as a section. False: convert_in_place says why it
 * cannot be, or takes more time. */
static bool find_plain_local(const struct output *out, uint64_t place, uint32_t high, uint64_t field, uint32_t *symbol,
                             uint64_t *addend)
{
    struct tn__macho_reader *r = out->r;
    const struct tn__macho_kind *kind = &r->machine->kinds[high >> TYPE];
    const struct tn__macho_section *section = &r->sections[*symbol];
    uint64_t bias = high & RELATIVE ? kind->base + (uint64_t)kind->after : 0;
    uint64_t target = high & RELATIVE ? field + out->section->address + place + bias
                      : high & WIDEST ? field
                                      : (uint32_t)field;
    if (!*symbol || *symbol >= r->section_count || target - section->address > section->size)
        return false;
    uint64_t offset = target - section->address;
    uint32_t atom = tn__macho_atom_at(r, section, offset);
    *symbol = tn__macho_section_symbol(r, atom);
    *addend = offset - r->starts[atom] - bias;
    return true;
}

/* What records are that begin with this byte and are as nearly all are: they name a symbol, and their field of 4 bytes
 * holds the addend, or none, or that is in the record before. */
static void find_quick(struct tn__macho_reader *r)
{
    for (unsigned type = 0; type < TN_COUNT(r->machine->kinds); type++) {
        const struct tn__macho_kind *kind = &r->machine->kinds[type];
        for (unsigned relative = 0; relative <= RELATIVE; relative++) {
            const struct tn__macho_quick quick = {
                .row = (uint8_t)TN__MACHO_ROW(type, 2, relative), .form = kind->form, .base = kind->base};
            if (kind->form == TN__MACHO_ADDEND)
                r->quick[type << TYPE | WIDE | relative] = quick;
            else if (kind->form == TN__MACHO_IN_PLACE || kind->form == TN__MACHO_IN_INSTRUCTION)
                r->quick[type << TYPE | EXTERNAL | WIDE | relative] = quick;
        }
    }
    r->has_quick = true;
}

/* Converts records from `at` on, up to one that is not quick. */
static const uint8_t *convert_run(struct output *out, const uint8_t *at, const uint8_t *end)
{
    enum { FIELD = 4 };
    const struct tn__macho_quick *const quick = out->r->quick;
    const uint32_t symbols = out->r->symbol_count;
    const uint8_t *const bytes = out->section->bytes;
    const uint64_t size = out->section->size, fields = size < FIELD ? 0 : size - FIELD + 1;
    struct output now = *out; /* in registers: nothing points at it */
    for (const uint8_t *last; at < end; at = last + TN__MACHO_RELOC) {
        uint32_t bits = tn__get32(at + 4), symbol = bits & TN__MACHO_RELOC_SYMBOL;
        const struct tn__macho_quick *as = &quick[bits >> HIGH];
        uint64_t place = tn__get32(at), addend = 0;
        last = at;
        if (as->form == TN__MACHO_ADDEND) {
            addend = (uint64_t)addend_of(symbol);
            last += TN__MACHO_RELOC;
            if (last == end || tn__get32(last) != place)
                break;
            bits = tn__get32(last + 4), symbol = bits & TN__MACHO_RELOC_SYMBOL, as = &quick[bits >> HIGH];
            if (as->form != TN__MACHO_IN_INSTRUCTION)
                break;
        }
        if (!as->form || place >= fields || symbol >= symbols)
            break;
        if (as->form == TN__MACHO_IN_PLACE)
            addend = (uint64_t)(int32_t)tn__get32(bytes + place) - as->base;
        emit(&now, place, as->row, symbol + 1, addend);
    }
    *out = now;
    return at;
}

/* Converts the records from `at` on, if they are the difference of two symbols and the first symbol lies in the atom of
 * the place, as in unwind tables. Returns what follows these records; `at` if they are something else. */
static const uint8_t *convert_near(struct output *out, const uint8_t *at, const uint8_t *end)
{
    struct tn__macho_reader *r = out->r;
    const uint8_t *plus = at + TN__MACHO_RELOC;
    uint32_t bits = tn__get32(at + 4), high = bits >> HIGH, minus = bits & TN__MACHO_RELOC_SYMBOL;
    uint64_t place = tn__get32(at);
    bool wide = high & WIDEST;
    if ((high & (EXTERNAL | WIDE | RELATIVE)) != (EXTERNAL | WIDE) || plus == end || tn__get32(plus) != place ||
        minus >= r->symbol_count || place + (wide ? 8 : 4) > out->section->size)
        return at;
    uint32_t other = tn__get32(plus + 4), symbol = other & TN__MACHO_RELOC_SYMBOL;
    const struct tn__symbol *from = &r->object->symbols[minus + 1];
    if (other >> HIGH != ((uint32_t)r->machine->plain << TYPE | (high & (EXTERNAL | REST))) ||
        symbol >= r->symbol_count || from->place != TN__PLACE_SECTION || from->section < out->section->first ||
        from->section != tn__macho_atom_at(r, out->section, place))
        return at;
    const uint8_t *field = out->section->bytes + place;
    uint64_t addend = wide ? tn__get64(field) : (uint64_t)(int32_t)tn__get32(field);
    emit(out, place, wide ? TN__MACHO_PC64 : TN__MACHO_PC32, symbol + 1,
         addend + place - r->starts[from->section] - from->value);
    return plus + TN__MACHO_RELOC;
}

/* Converts the record at `at`, whose field holds the addend; returns what follows, or `at` if it is none of the
 * frequent ones. */
static const uint8_t *convert_frequent(struct output *out, const uint8_t *at, const uint8_t *end)
{
    const struct tn__macho_section *section = out->section;
    uint32_t bits = tn__get32(at + 4), high = bits >> HIGH, symbol = bits & TN__MACHO_RELOC_SYMBOL;
    uint64_t place = tn__get32(at);
    const struct tn__macho_kind *kind = &out->r->machine->kinds[high >> TYPE];
    if (kind->form == TN__MACHO_MINUS)
        return convert_near(out, at, end);
    if (kind->form != TN__MACHO_IN_PLACE || !(high & WIDE) || place + (high & WIDEST ? 8 : 4) > section->size)
        return at;
    const uint8_t *bytes = section->bytes + place;
    uint64_t field = high & WIDEST ? tn__get64(bytes) : (uint64_t)(int32_t)tn__get32(bytes);
    uint64_t addend = field - kind->base;
    if (high & EXTERNAL ? symbol++ >= out->r->symbol_count
                        : !find_plain_local(out, place, high, field, &symbol, &addend))
        return at;
    emit(out, place, (high >> TYPE) * (REST + 1) + (high & REST), symbol, addend);
    return at + TN__MACHO_RELOC;
}

/* Records of a kind come in a row. */
static const uint8_t *convert_kind(struct output *out, const uint8_t *at, const uint8_t *end)
{
    enum { LAST = TN__MACHO_RELOC - 1 };
    for (uint8_t kind = at[LAST]; at < end && at[LAST] == kind;) {
        const uint8_t *next = convert_frequent(out, at, end);
        if (next == at)
            break;
        at = next;
    }
    return at;
}

/* Converts records from one on, up to one that takes more (convert). */
static uint32_t convert_plain(struct output *out, uint32_t from)
{
    const uint8_t *relocs = out->section->relocs, *end = relocs + (size_t)out->plain * TN__MACHO_RELOC;
    const uint8_t *at = relocs + (size_t)from * TN__MACHO_RELOC;
    for (const uint8_t *before = NULL; at < end && at != before;) {
        before = at = convert_run(out, at, end);
        if (at < end)
            at = convert_kind(out, at, end);
    }
    return (uint32_t)((size_t)(at - relocs) / TN__MACHO_RELOC);
}

static int convert_records(struct output *out)
{
    uint32_t count = out->section->reloc_count;
    int code = 0;
    for (uint32_t i = convert_plain(out, 0); !code && i < count; i = convert_plain(out, i + 1))
        code = convert(out, &i);
    return code;
}

static int convert_all(struct output *out, uint64_t *count)
{
    const struct tn__macho_section *section = out->section;
    uint32_t space = section->reloc_count;
    struct tn__reloc *relocs = tn__arena_alloc(&out->r->object->arena, space * sizeof *relocs);
    if (!relocs)
        return tn__no_memory(out->r->err, out->r->object->name);
    bool descending = space && record_at(section, 0).address > record_at(section, space - 1).address;
    out->step = descending ? -1 : 1;
    out->next = descending ? relocs + space - 1 : relocs;
    bool tls = tn__macho_type(section) == TN__MACHO_TLS_VARIABLES; /* see is_tls_offset */
    out->plain = section->bytes && !tls ? space : 0;
    if (!out->r->has_quick)
        find_quick(out->r);
    int code = convert_records(out);
    out->relocs = descending ? out->next + 1 : relocs;
    *count = (uint64_t)((descending ? relocs + space : out->next) - out->relocs);
    return code;
}

static bool are_sorted(const struct tn__reloc *relocs, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++)
        if (relocs[i].offset < relocs[i - 1].offset)
            return false;
    return true;
}

/* Hands relocations to the atoms. False: they are not sorted, and some are left. Within an atom they may have any
 * order. */
static bool distribute(struct tn__macho_reader *r, const struct tn__macho_section *section, struct tn__reloc *relocs,
                       uint64_t count)
{
    enum { LARGEST = 8 }; /* field */
    const struct tn__row *rows = r->object->format->rows;
    struct tn__reloc *at = relocs, *const end = relocs + count;
    for (uint32_t i = section->first; i < section->first + section->count; i++) {
        struct tn__input_section *atom = &r->object->sections[i];
        const uint64_t start = r->starts[i], size = atom->size, inside = size < LARGEST ? 0 : size - LARGEST + 1;
        atom->relocs = (const uint8_t *)at;
        atom->relocs_made = true;
        for (; at < end && at->offset - start < inside; at++)
            at->offset -= start;
        for (; at < end && at->offset - start < size; at++) {
            at->offset -= start;
            r->object->relocs_sound &= at->offset + rows[at->type].size <= size;
        }
        atom->reloc_count = (uint64_t)(at - (const struct tn__reloc *)atom->relocs);
    }
    return at == end;
}

/* Undoes this. */
static void take_back(const struct tn__macho_reader *r, const struct tn__macho_section *section)
{
    for (uint32_t i = section->first; i < section->first + section->count; i++) {
        struct tn__reloc *relocs = (struct tn__reloc *)(uintptr_t)r->object->sections[i].relocs;
        for (uint64_t k = 0; k < r->object->sections[i].reloc_count; k++)
            relocs[k].offset += r->starts[i];
    }
}

static void sort_relocs(struct tn__reloc *relocs, uint64_t count)
{
    qsort(relocs, count, sizeof *relocs, by_offset);
}

int tn__macho_convert_relocs(struct tn__macho_reader *r, const struct tn__macho_section *section,
                             struct tn__reloc **relocs, uint64_t *count)
{
    struct output out = {.r = r, .section = section};
    int code = convert_all(&out, count);
    if (!code && !are_sorted(out.relocs, *count))
        sort_relocs(out.relocs, *count);
    *relocs = out.relocs;
    return code;
}

static int read_frames(struct tn__macho_reader *r, const struct tn__macho_section *section)
{
    struct tn__reloc *relocs;
    uint64_t count;
    int code = tn__macho_convert_relocs(r, section, &relocs, &count);
    if (!code)
        code = tn__macho_frame_relocs(r, section, &relocs, &count);
    if (!code)
        distribute(r, section, relocs, count);
    return code;
}

int tn__macho_read_relocs(struct tn__macho_reader *r, struct tn__macho_section *section)
{
    struct output out = {.r = r, .section = section};
    uint64_t count;
    if (section->kind && section->role == TN__ROLE_UNWIND)
        return read_frames(r, section);
    if (!section->kind || !section->reloc_count)
        return 0;
    int code = convert_all(&out, &count);
    if (code || distribute(r, section, out.relocs, count))
        return code;
    take_back(r, section);
    sort_relocs(out.relocs, count);
    distribute(r, section, out.relocs, count);
    return 0;
}
