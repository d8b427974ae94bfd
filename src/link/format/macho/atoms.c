/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Cuts the file's sections into those of the neutral object. An atom reaches from one symbol to the next that is not
 * an alternate entry of the same function; whatever lies before the first symbol is an atom, too. */

#include "link/format/macho/reader.h"

/* ---- sorting ---- */

/* Labels are sorted by keys: the number of the section, and the offset there in as many bits as the largest offset
 * needs. The sort is stable; it goes by one byte of the keys after the other, from the lowest one on. */
enum { BYTES = sizeof(uint64_t), VALUES = 256 };

/* How many labels have a value in a byte; later, where those with the value are stored. */
typedef uint32_t counts[VALUES];

/* Sets how many bits an offset takes, and how many bytes a key. */
static int measure_keys(struct tn__macho_reader *r, unsigned *bits, unsigned *bytes)
{
    enum { MOST = 56 }; /* which leaves 8 for the section's number */
    uint64_t all = 1;
    for (uint32_t i = 1; i < r->section_count; i++) {
        if (r->sections[i].size >> MOST)
            return tn__fail(r->err, TN_ENOMEM, "%s: section %s of %llu bytes fits no window", r->object->name,
                            r->sections[i].name, (unsigned long long)r->sections[i].size);
        all |= r->sections[i].size;
    }
    *bits = 64 - (unsigned)__builtin_clzll(all);
    unsigned of_section = 32 - (unsigned)__builtin_clz(r->section_count | 1);
    *bytes = (unsigned)tn__min64(*bits + of_section + 7, 64) / 8; /* symbols know the first 255 sections */
    return 0;
}

/* Makes keys of the offsets. */
static void make_keys(const struct tn__macho_reader *r, unsigned bits, unsigned bytes, counts *of)
{
    memset(of, 0, bytes * sizeof *of);
    for (struct tn__macho_label *label = r->labels, *end = label + r->label_count; label < end; label++) {
        uint64_t key = label->offset |= (uint64_t)label->section << bits;
        for (unsigned byte = 0; byte < bytes; byte++, key >>= 8)
            of[byte][(uint8_t)key]++;
    }
}

static void sort_by(const struct tn__macho_label *from, struct tn__macho_label *to, uint32_t count, unsigned byte,
                    uint32_t *starts)
{
    uint32_t sum = 0;
    for (unsigned v = 0; v < VALUES; v++) {
        uint32_t here = starts[v];
        starts[v] = sum;
        sum += here;
    }
    for (const struct tn__macho_label *end = from + count; from < end; from++)
        to[starts[((const uint8_t *)&from->offset)[byte]]++] = *from; /* hosts are little-endian */
}

static int sort_labels(struct tn__macho_reader *r)
{
    counts of[BYTES];
    unsigned bits = 0, bytes = 0;
    struct tn__macho_label *other = tn__arena_alloc(&r->object->arena, (size_t)r->label_count * sizeof *other);
    if (!other)
        return tn__no_memory(r->err, r->object->name);
    int code = measure_keys(r, &bits, &bytes);
    if (code)
        return code;
    make_keys(r, bits, bytes, of);
    for (unsigned byte = 0; byte < bytes; byte++) {
        sort_by(r->labels, other, r->label_count, byte, of[byte]);
        struct tn__macho_label *sorted = other;
        other = r->labels;
        r->labels = sorted;
    }
    for (struct tn__macho_label *label = r->labels, *end = label + r->label_count; label < end; label++)
        label->offset &= (UINT64_C(1) << bits) - 1;
    return 0;
}

/* ---- atoms ---- */

static struct tn__symbol *symbol_of(const struct tn__macho_reader *r, const struct tn__macho_label *label)
{
    return &r->object->symbols[label->symbol + 1];
}

/* The whole of a section, of which atoms are parts. */
static struct tn__input_section whole_of(const struct tn__macho_section *from)
{
    return (struct tn__input_section){
        .name = from->name,
        .bytes = from->bytes,
        .size = from->size,
        .alignment = from->alignment,
        .kind = from->kind,
        .role = from->role,
        .priority = TN__PRIORITY_LAST,
        .retained = from->flags & TN__MACHO_NO_DEAD_STRIP,
        .supports = from->flags & TN__MACHO_LIVE_SUPPORT,
        .strings = tn__macho_type(from) == TN__MACHO_CSTRINGS,
    };
}

/* Adds the part from `start` on to the neutral object; the next part, if there is one, shortens it. */
static void begin_atom(struct tn__macho_reader *r, const struct tn__input_section *whole, uint64_t start)
{
    uint32_t index = r->object->section_count++;
    struct tn__input_section *atom = &r->object->sections[index];
    *atom = *whole;
    r->starts[index] = start;
    if (!start)
        return;
    atom->bytes += whole->bytes ? start : 0;
    atom->size -= start;
    atom->alignment = tn__min64(whole->alignment, start & -start);
    atom[-1].size = start - r->starts[index - 1];
}

/* A weak atom, in which no other symbol is strong, is a group: of several copies one is loaded. */
static void note_group(struct tn__object_data *object, uint32_t atom, const struct tn__symbol *weak, uint32_t *members)
{
    uint32_t *member = &members[object->group_count];
    *member = atom;
    object->groups[object->group_count++] = (struct tn__group){.signature = weak->name, .members = member, .count = 1};
}

/* The current atom, and what its symbols say about it. */
struct current {
    uint64_t start;
    uint32_t index;
    bool kept, strong;
    const struct tn__symbol *weak;
};

static inline void place_label(struct tn__macho_reader *r, const struct tn__macho_label *label, struct current *atom)
{
    struct tn__symbol *symbol = symbol_of(r, label);
    symbol->section = atom->index;
    symbol->value = label->offset - atom->start;
    atom->kept |= label->kept;
    atom->strong |= symbol->binding == TN__BIND_GLOBAL;
    if (symbol->binding == TN__BIND_WEAK && !atom->weak)
        atom->weak = symbol;
}

static inline void end_atom(struct tn__object_data *object, const struct current *atom, bool divides, uint32_t *members)
{
    object->sections[atom->index].retained |= atom->kept;
    if (divides && atom->weak && !atom->strong)
        note_group(object, atom->index, atom->weak, members);
}

/* A symbol reaches to the next one. */
static void set_sizes(struct tn__macho_reader *r, const struct tn__macho_section *section,
                      const struct tn__macho_label *labels, uint32_t count)
{
    uint64_t end = section->size, start = end;
    for (const struct tn__macho_label *label = labels + count; label-- > labels; start = label->offset) {
        if (label->offset != start)
            end = start;
        symbol_of(r, label)->size = end - label->offset;
    }
}

static void divide_section(struct tn__macho_reader *r, struct tn__macho_section *section,
                           const struct tn__macho_label *labels, uint32_t count, uint32_t *members)
{
    const uint64_t end = r->splits && tn__macho_is_divisible(section) ? section->size : 0; /* of what is cut */
    const struct tn__input_section whole = whole_of(section);
    struct current atom = {.index = r->object->section_count};
    section->first = atom.index;
    begin_atom(r, &whole, 0);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t offset = labels[i].offset;
        if (offset > atom.start && offset < end && !labels[i].alternate) {
            end_atom(r->object, &atom, true, members);
            atom = (struct current){.start = offset, .index = r->object->section_count};
            begin_atom(r, &whole, offset);
        }
        place_label(r, &labels[i], &atom);
    }
    end_atom(r->object, &atom, end, members);
    section->count = r->object->section_count - section->first;
    set_sizes(r, section, labels, count);
}

static bool allocate(struct tn__macho_reader *r, uint32_t **members)
{
    struct tn__object_data *object = r->object;
    enum { OF_COMPACT = 1 }; /* compact.c adds one */
    size_t sections = 1 + (size_t)r->section_count + r->label_count + OF_COMPACT, weak = r->weak_count;
    object->sections = tn__arena_alloc(&object->arena, sections * sizeof *object->sections);
    r->starts = tn__arena_alloc(&object->arena, sections * sizeof *r->starts);
    r->section_symbols = tn__arena_array(&object->arena, sections, sizeof *r->section_symbols);
    object->groups = tn__arena_alloc(&object->arena, weak * sizeof *object->groups);
    *members = tn__arena_alloc(&object->arena, weak * sizeof **members);
    return object->sections && r->starts && r->section_symbols && object->groups && *members;
}

int tn__macho_divide(struct tn__macho_reader *r)
{
    struct tn__object_data *object = r->object;
    uint32_t *members;
    int code = sort_labels(r);
    if (code)
        return code;
    if (!allocate(r, &members))
        return tn__no_memory(r->err, object->name);
    object->sections[0] = (struct tn__input_section){.name = ""};
    object->section_count = 1;
    const struct tn__macho_label *at = r->labels, *const end = at + r->label_count;
    for (uint32_t i = 1; i < r->section_count; i++) {
        const struct tn__macho_label *first = at;
        while (at < end && at->section == i)
            at++;
        divide_section(r, &r->sections[i], first, (uint32_t)(at - first), members);
    }
    return 0;
}

/* True if it is the atom `at`, or would be if atoms of other sections did not follow. */
static bool is_in(const struct tn__macho_reader *r, uint32_t at, uint32_t end, uint64_t offset)
{
    return r->starts[at] <= offset && (at + 1 == end || r->starts[at + 1] > offset);
}

uint32_t tn__macho_find_atom(struct tn__macho_reader *r, const struct tn__macho_section *section, uint64_t offset)
{
    uint32_t first = section->first, end = first + section->count, last = r->last_atom;
    /* Mostly they are asked for in the order of their places, or backwards. */
    if (last < first || last >= end || !is_in(r, last, end, offset)) {
        if (last + 1 > first && last + 1 < end && is_in(r, last + 1, end, offset))
            last++;
        else if (last > first && last < end && is_in(r, last - 1, end, offset))
            last--;
        else
            last = (uint32_t)TN_BISECT(first + 1, end, i, r->starts[i] <= offset) - 1;
    }
    return r->last_atom = last;
}

uint32_t tn__macho_make_symbol(struct tn__macho_reader *r, uint32_t atom)
{
    struct tn__object_data *object = r->object;
    bool tls = object->sections[atom].kind == TN__SECTION_TLS || object->sections[atom].kind == TN__SECTION_TLS_ZERO;
    r->section_symbols[atom] = object->symbol_count;
    object->symbols[object->symbol_count++] = (struct tn__symbol){
        .name = "", .section = atom, .place = TN__PLACE_SECTION, .type = tls ? TN__TYPE_TLS : TN__TYPE_SECTION};
    return r->section_symbols[atom];
}
