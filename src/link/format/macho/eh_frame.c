/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Unwind tables (LSB Core, "The .eh_frame section"). Assemblers for x86-64 store the distance of a function, and of its
 * exception table, from the place, and no relocation: the file's sections have fixed distances. Here they have not, so
 * relocations are made. A field that has one is left alone. */

#include <stdlib.h>

#include "link/unwind/cursor.h"
#include "link/format/macho/reader.h"

/* What a common entry says about the entries that refer to it. */
struct common {
    uint64_t start;
    uint8_t function, data; /* encodings of the address of the function, and of its exception table */
    bool sized, known;      /* sized: augmentation data has a length */
};

struct frames {
    struct tn__macho_reader *r;
    const struct tn__macho_section *section;
    const struct tn__macho_section *last; /* that section_at has found */
    const struct tn__reloc *given;        /* sorted */
    uint64_t given_count, given_at;
    struct tn__reloc *made;
    uint64_t made_count;
    struct common common; /* the last one used */
};

enum { PE_OMIT = 0xff, PE_RELATIVE = 0x10, PE_BASE = 0x70, PE_INDIRECT = 0x80, PE_FORMAT = 0x0f };
/* Bytes of a common entry that are read for its encodings: entries that refer to it read them again. */
enum { MOST = 128 };

/* The size of a value with this encoding; 0: it has no fixed one. */
static unsigned size_of(uint8_t encoding)
{
    static const uint8_t sizes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 8, 0, 2, 4, 8};
    return sizes[encoding & PE_FORMAT];
}

static void read_augmentation(struct tn__cursor *c, const char *letters, struct common *common)
{
    tn__cursor_uleb(c);
    for (; *letters; letters++) {
        if (*letters == 'R')
            common->function = tn__cursor_byte(c);
        else if (*letters == 'L')
            common->data = tn__cursor_byte(c);
        else if (*letters == 'P')
            tn__cursor_take(c, size_of(tn__cursor_byte(c)));
    }
}

/* The common entry at `start`: not known if it is malformed, which is found out once it is relocated. */
static struct common read_common(const struct frames *f, uint64_t start)
{
    struct common common = {.start = start, .data = PE_OMIT};
    const struct tn__macho_section *section = f->section;
    if (!tn__inside(start, 8, section->size) || tn__get32(section->bytes + start + 4))
        return common;
    uint64_t length = tn__get32(section->bytes + start), left = section->size - start - 8;
    if (length < 4 || length - 4 > left)
        return common;
    struct tn__cursor c = tn__cursor(section->bytes + start + 8, tn__min64(length - 4, MOST));
    uint8_t version = tn__cursor_byte(&c);
    const char *letters = tn__cursor_text(&c);
    tn__cursor_uleb(&c);
    tn__cursor_uleb(&c);
    if (version == 1)
        tn__cursor_byte(&c);
    else
        tn__cursor_uleb(&c);
    common.sized = *letters == 'z';
    if (common.sized)
        read_augmentation(&c, letters + 1, &common);
    common.known = c.good;
    return common;
}

/* ---- fields ---- */

static int by_address(const void *a, const void *b)
{
    uint64_t x = (*(const struct tn__macho_section *const *)a)->address;
    uint64_t y = (*(const struct tn__macho_section *const *)b)->address;
    return (x > y) - (x < y);
}

static int sort_sections(struct tn__macho_reader *r)
{
    r->by_address = tn__arena_alloc(&r->object->arena, r->section_count * sizeof(struct tn__macho_section *));
    if (!r->by_address)
        return tn__no_memory(r->err, r->object->name);
    bool sorted = true;
    for (uint32_t i = 1; i < r->section_count; i++)
        if (r->sections[i].kind && r->sections[i].size) {
            sorted &= !r->address_count || r->by_address[r->address_count - 1]->address <= r->sections[i].address;
            r->by_address[r->address_count++] = &r->sections[i];
        }
    if (!sorted)
        qsort(r->by_address, r->address_count, sizeof(struct tn__macho_section *), by_address);
    return 0;
}

static bool is_in(const struct tn__macho_section *section, uint64_t address)
{
    return section && address - section->address < section->size;
}

/* The section that an address in the file lies in: mostly the same as that of the last one. NULL: in none. */
static const struct tn__macho_section *section_at(struct frames *f, uint64_t address)
{
    const struct tn__macho_reader *r = f->r;
    if (is_in(f->last, address))
        return f->last;
    size_t at = TN_BISECT(0, r->address_count, i, r->by_address[i]->address <= address);
    f->last = at && is_in(r->by_address[at - 1], address) ? r->by_address[at - 1] : NULL;
    return f->last;
}

static bool is_given(struct frames *f, uint64_t offset)
{
    while (f->given_at < f->given_count && f->given[f->given_at].offset < offset)
        f->given_at++;
    return f->given_at < f->given_count && f->given[f->given_at].offset == offset;
}

/* The value of a PC-relative field: the address in the file that it stands for. */
static uint64_t target_of(const struct frames *f, uint64_t offset, unsigned size)
{
    const uint8_t *at = f->section->bytes + offset;
    uint64_t value = size == 4 ? (uint64_t)(int32_t)tn__get32(at) : tn__get64(at);
    return f->section->address + offset + value;
}

/* Makes a relocation for a field. */
static int relate(struct frames *f, uint64_t offset, uint8_t encoding)
{
    unsigned size = size_of(encoding);
    if (is_given(f, offset) || (encoding & PE_BASE) != PE_RELATIVE || encoding & PE_INDIRECT || size < 4)
        return 0;
    uint64_t target = target_of(f, offset, size);
    const struct tn__macho_section *section = section_at(f, target);
    if (!section)
        return TN__MACHO_FAIL(f->r, "%s: section %s: what the entry refers to at %#llx lies in no section",
                              f->r->object->name, f->section->name, (unsigned long long)offset);
    uint32_t atom = tn__macho_atom_at(f->r, section, target - section->address);
    f->made[f->made_count++] = (struct tn__reloc){
        .offset = offset,
        .type = size == 4 ? TN__MACHO_PC32 : TN__MACHO_PC64,
        .symbol = tn__macho_section_symbol(f->r, atom),
        .addend = (int64_t)(target - section->address - f->r->starts[atom]),
    };
    return 0;
}

/* ---- entries ---- */

enum { LENGTH = 4, FUNCTION = 8, SMALLEST = FUNCTION + LENGTH };

/* `size`: of the whole entry. */
static int relate_entry(struct frames *f, uint64_t start, uint64_t size)
{
    uint32_t distance = tn__get32(f->section->bytes + start + LENGTH);
    if (!distance)
        return 0; /* a common entry */
    if (distance > start + LENGTH)
        return TN__MACHO_FAIL(f->r, "%s: section %s: the entry at %#llx belongs to one that lies before the section",
                              f->r->object->name, f->section->name, (unsigned long long)start);
    uint64_t common_at = start + LENGTH - distance;
    if (!f->common.known || f->common.start != common_at)
        f->common = read_common(f, common_at);
    unsigned address_size = size_of(f->common.function);
    if (!f->common.known || !address_size || !tn__inside(FUNCTION, 2 * (uint64_t)address_size, size))
        return 0;
    int code = relate(f, start + FUNCTION, f->common.function);
    uint64_t data = start + FUNCTION + 2 * (uint64_t)address_size;
    if (code || !f->common.sized || f->common.data == PE_OMIT)
        return code;
    struct tn__cursor c = tn__cursor(f->section->bytes + data, start + size - data);
    uint64_t length = tn__cursor_uleb(&c), at = (uint64_t)(c.at - f->section->bytes);
    unsigned data_size = size_of(f->common.data);
    if (!c.good || !data_size || length < data_size || !tn__inside(at, data_size, start + size))
        return 0;
    bool none = true; /* zeros: this function has no exception table */
    for (unsigned i = 0; i < data_size; i++)
        none &= !f->section->bytes[at + i];
    return none ? 0 : relate(f, at, f->common.data);
}

/* The given relocations and the made ones, both sorted, as one array. */
static void merge(const struct frames *f, struct tn__reloc *out)
{
    uint64_t given = 0, made = 0;
    while (given < f->given_count || made < f->made_count) {
        bool take = made == f->made_count || (given < f->given_count && f->given[given].offset < f->made[made].offset);
        *out++ = take ? f->given[given++] : f->made[made++];
    }
}

int tn__macho_frame_relocs(struct tn__macho_reader *r, const struct tn__macho_section *section,
                           struct tn__reloc **relocs, uint64_t *count)
{
    struct frames f = {.r = r, .section = section, .given = *relocs, .given_count = *count};
    struct tn__arena *arena = &r->object->arena;
    f.made = tn__arena_alloc(arena, section->size / SMALLEST * 2 * sizeof *f.made); /* 4 times the section */
    if (!f.made)
        return tn__no_memory(r->err, r->object->name);
    int code = r->by_address ? 0 : sort_sections(r);
    if (code)
        return code;
    for (uint64_t start = 0; tn__inside(start, SMALLEST, section->size);) {
        uint64_t size = LENGTH + (uint64_t)tn__get32(section->bytes + start);
        if (size == LENGTH || size > section->size - start)
            break; /* the end; whether the table is sound is checked once it is relocated */
        code = size < SMALLEST ? 0 : relate_entry(&f, start, size);
        if (code)
            return code;
        start += size;
    }
    if (!f.made_count)
        return 0;
    *count = f.given_count + f.made_count;
    *relocs = tn__arena_alloc(arena, *count * sizeof **relocs);
    if (!*relocs)
        return tn__no_memory(r->err, r->object->name);
    merge(&f, *relocs);
    return 0;
}
