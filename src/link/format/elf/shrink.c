/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Shortens code. Which instructions have a shorter form depends on distances, and these on what is shortened, so it is
 * done in rounds, each linear in the sections, until nothing changes. Rounds only measure; the code is written once.
 *
 * Everything begins with the long forms, so distances nearly always shrink; only padding may grow. If rounds do not
 * come to an end, all instructions keep their long forms, and only padding is removed: that depends on nothing else. */

#include <inttypes.h>

#include "link/passes/reloc_loop.h"
#include "link/passes/steps.h"

enum { ROUNDS = 30, MORE_ROUNDS = 8 };
enum { STRIDE = 128 }; /* bytes of a section for which one number says which places come before */

/* One place where bytes may be lost. */
struct place {
    uint64_t offset;     /* in the section as it was */
    uint64_t span, size; /* bytes that it has had, and keeps */
    uint64_t lost;       /* bytes before it */
    uint32_t reloc;      /* in `relocs` */
    bool permitted;
};

struct shrinking {
    struct tn__input_section *section, was;
    struct tn__reloc *relocs; /* a copy, in the order of their offsets */
    struct place *places;     /* likewise */
    size_t place_count;
    uint32_t *before; /* by STRIDE bytes of the section as it was: how many places begin before these */
};

struct value {
    uint64_t value, size;
};

struct tn__shrunk {
    struct shrinking *sections;
    size_t count;
    struct shrinking **by_section; /* NULL: it stays as it is */
    struct value *symbols;         /* as they were */
};

/* ---- finding places ---- */

static uint32_t form_of(const struct tn_format *format, uint32_t type)
{
    return type < format->row_count ? format->rows[type].relax : 0;
}

/* At most so many places: with a permission, or padding. Relocations are read where they are: each of them once, and
 * all of them. */
static size_t count_places(const struct tn_format *format, const struct tn__input_section *section)
{
    const uint32_t padding = format->arch->shortener->padding;
    size_t count = 0;
    for (uint64_t i = 0; section->kind == TN__SECTION_CODE && i < section->reloc_count; i++) {
        const uint8_t *reloc = section->relocs + i * sizeof(struct tn__reloc);
        uint32_t form = form_of(format, tn__get32(reloc + offsetof(struct tn__reloc, type)));
        count += form == TN__FORM_PERMITS || form == padding;
    }
    return count;
}

/* The file may have changed since the scan, and other phases rely on what that found: what is copied here is checked
 * again when it is applied. */
static int find_places(struct tn__link *link, const struct tn__object *object, struct shrinking *s, size_t most)
{
    const struct tn_format *format = object->data->format;
    uint64_t count = s->section->reloc_count;
    s->relocs = tn__relocs_in_order(link, s->section);
    s->places = tn__arena_alloc(&link->arena, most * sizeof *s->places);
    if (!s->relocs || !s->places || count > UINT32_MAX)
        return tn__no_memory(link->err, object->name);
    const struct tn__shortener *shortener = format->arch->shortener;
    struct place at = {.offset = UINT64_MAX}; /* not permitted so far */
    for (uint64_t i = 0; i < count && s->place_count < most; i++) {
        uint32_t form = form_of(format, s->relocs[i].type);
        bool permits = form == TN__FORM_PERMITS && at.offset == s->relocs[i].offset;
        if (form && form <= shortener->last)
            at = (struct place){.offset = s->relocs[i].offset, .reloc = (uint32_t)i};
        if (!permits && form != shortener->padding)
            continue;
        at.permitted = permits;
        s->places[s->place_count++] = at;
        at.offset = UINT64_MAX;
    }
    return 0;
}

/* For each STRIDE bytes of the section and for those behind it. */
static bool count_before(struct tn__link *link, struct shrinking *s)
{
    uint64_t strides = s->was.size / STRIDE + 3, last = 0;
    s->before = tn__arena_alloc(&link->arena, strides * sizeof *s->before);
    for (uint64_t at = 0; s->before && at < strides; at++) {
        while (last < s->place_count && s->places[last].offset < at * STRIDE)
            last++;
        s->before[at] = (uint32_t)last;
    }
    return s->before;
}

static int find_sections(struct tn__link *link, struct tn__object *object, bool *any)
{
    const struct tn__object_data *data = object->data;
    struct tn__shrunk *shrunk = NULL;
    for (uint32_t i = 0; object->plan->may_shrink && i < data->section_count; i++) {
        struct tn__input_section *section = &data->sections[i];
        if (!section->reloc_count || !section->bytes || !tn__section_is_loaded(section))
            continue;
        size_t count = count_places(data->format, section);
        if (!count)
            continue;
        if (!shrunk) {
            shrunk = object->plan->shrunk = tn__arena_array(&link->arena, 1, sizeof *shrunk);
            if (!shrunk)
                return tn__no_memory(link->err, object->name);
            shrunk->sections = tn__arena_array(&link->arena, data->section_count, sizeof *shrunk->sections);
            shrunk->by_section = tn__arena_array(&link->arena, data->section_count, sizeof(struct shrinking *));
            shrunk->symbols = tn__arena_alloc(&link->arena, data->symbol_count * sizeof *shrunk->symbols);
            if (!shrunk->sections || !shrunk->by_section || !shrunk->symbols)
                return tn__no_memory(link->err, object->name);
            for (uint32_t s = 0; s < data->symbol_count; s++)
                shrunk->symbols[s] = (struct value){data->symbols[s].value, data->symbols[s].size};
        }
        struct shrinking *s = shrunk->by_section[i] = &shrunk->sections[shrunk->count++];
        *s = (struct shrinking){.section = section, .was = *section};
        int code = find_places(link, object, s, count);
        if (code)
            return code;
        if (!count_before(link, s))
            return tn__no_memory(link->err, object->name);
    }
    *any |= shrunk != NULL;
    return 0;
}

/* ---- measuring ---- */

static struct tn__short code_at(const struct tn__object *object, const struct shrinking *s, const struct place *place)
{
    const struct tn__reloc *reloc = &s->relocs[place->reloc];
    const struct tn__object_data *data = object->data;
    return (struct tn__short){
        .form = data->format->rows[reloc->type].relax,
        .type = reloc->type,
        .permitted = place->permitted,
        .variant = data->variant,
        .bytes = s->was.bytes + place->offset,
        .left = s->was.size - place->offset,
        .S = object->plan->addresses[reloc->symbol],
        .P = s->section->address + place->offset - place->lost,
        .A = reloc->addend,
        .span = place->span,
        .size = place->size,
    };
}

static int fail_place(struct tn__link *link, const struct tn__object *object, const struct shrinking *s,
                      const struct tn__reloc *reloc)
{
    const struct tn_format *format = object->data->format;
    return tn__fail(link->err, TN_EFORMAT, "%s(%s+0x%" PRIx64 "): %s does not fit the code that it is about",
                    object->name, s->section->name, reloc->offset,
                    reloc->type < format->row_count && format->rows[reloc->type].name ? format->rows[reloc->type].name
                                                                                      : "a relocation");
}

static int measure_section(struct tn__link *link, const struct tn__object *object, struct shrinking *s, bool padding,
                           bool *changed)
{
    uint64_t lost = 0, end = 0;
    for (struct place *place = s->places; place < s->places + s->place_count; place++) {
        const struct tn__reloc *reloc = &s->relocs[place->reloc];
        if (place->offset < end || place->offset > s->was.size || reloc->symbol >= object->data->symbol_count)
            return fail_place(link, object, s, reloc);
        place->lost = lost;
        struct tn__short code = code_at(object, s, place);
        code.permitted &= !padding;
        if (!object->data->arch->shortener->measure(&code))
            return fail_place(link, object, s, reloc);
        *changed |= code.size != place->size || code.span != place->span;
        place->span = code.span;
        place->size = code.size;
        place->permitted = code.permitted;
        lost += code.span - code.size;
        end = place->offset + code.span;
    }
    s->section->size = s->was.size - lost;
    return 0;
}

/* Where a byte of the section is now, before which so many places begin. A label at the beginning of a place stays
 * before it. */
static uint64_t moved_behind(const struct shrinking *s, uint64_t offset, size_t before)
{
    if (!before)
        return offset;
    const struct place *place = &s->places[before - 1];
    return offset - place->lost - tn__min64(place->span - place->size, offset - place->offset);
}

static uint64_t moved(const struct shrinking *s, uint64_t offset)
{
    uint64_t stride = tn__min64(offset, s->was.size) / STRIDE;
    uint64_t end = offset <= s->was.size ? s->before[stride + 1] : s->place_count;
    return moved_behind(s, offset, TN_BISECT(s->before[stride], end, i, s->places[i].offset < offset));
}

static void move_symbols(const struct tn__object *object)
{
    const struct tn__shrunk *shrunk = object->plan->shrunk;
    for (uint32_t i = 1; i < object->data->symbol_count; i++) {
        struct tn__symbol *symbol = &object->data->symbols[i];
        const struct shrinking *s = symbol->place == TN__PLACE_SECTION ? shrunk->by_section[symbol->section] : NULL;
        if (!s)
            continue;
        const struct value *was = &shrunk->symbols[i];
        symbol->value = moved(s, was->value);
        symbol->size = was->size && was->size <= s->was.size && was->value <= s->was.size
                           ? moved(s, was->value + was->size) - symbol->value
                           : was->size;
    }
}

static int measure_all(struct tn__link *link, bool padding, bool *changed)
{
    int code = 0;
    for (size_t i = 0; i < link->count && !code; i++) {
        const struct tn__object *object = link->objects[i];
        const struct tn__shrunk *shrunk = object->plan->shrunk;
        bool any = false;
        for (size_t k = 0; shrunk && k < shrunk->count && !code; k++)
            code = measure_section(link, object, &shrunk->sections[k], padding, &any);
        if (!code && any)
            move_symbols(object);
        *changed |= any;
    }
    return code;
}

/* ---- writing ---- */

static void write_bytes(const struct tn__object *object, struct shrinking *s, uint8_t *out)
{
    uint64_t from = 0;
    for (const struct place *place = s->places; place < s->places + s->place_count; place++) {
        const struct tn__short code = code_at(object, s, place);
        memcpy(out, s->was.bytes + from, place->offset - from);
        out += place->offset - from;
        s->relocs[place->reloc].type = object->data->arch->shortener->write(&code, out);
        out += place->size;
        from = place->offset + place->span;
    }
    memcpy(out, s->was.bytes + from, s->was.size - from);
}

/* Those that have done what they are for are dropped. */
static int move_relocs(struct tn__link *link, const struct tn__object *object, struct shrinking *s)
{
    const struct tn_format *format = object->data->format;
    uint64_t count = 0, before = 0;
    for (uint64_t i = 0; i < s->was.reloc_count; i++) {
        struct tn__reloc reloc = s->relocs[i];
        const struct tn__row *row = reloc.type < format->row_count ? &format->rows[reloc.type] : NULL;
        if (row && row->value == TN__V_NONE)
            continue;
        while (before < s->place_count && s->places[before].offset < reloc.offset)
            before++;
        reloc.offset = moved_behind(s, reloc.offset, before);
        if (!row || !tn__inside(reloc.offset, row->size, s->section->size))
            return fail_place(link, object, s, &reloc);
        s->relocs[count++] = reloc;
    }
    s->section->relocs = (const uint8_t *)s->relocs;
    s->section->relocs_made = true;
    s->section->reloc_count = count;
    return 0;
}

static int write_section(struct tn__link *link, const struct tn__object *object, struct shrinking *s)
{
    uint8_t *out = tn__arena_alloc(&link->arena, s->section->size);
    if (!out)
        return tn__no_memory(link->err, object->name);
    write_bytes(object, s, out);
    s->section->bytes = out;
    return move_relocs(link, object, s);
}

static int write_all(struct tn__link *link)
{
    int code = 0;
    for (size_t i = 0; i < link->count && !code; i++) {
        const struct tn__shrunk *shrunk = link->objects[i]->plan->shrunk;
        for (size_t k = 0; shrunk && k < shrunk->count && !code; k++)
            code = write_section(link, link->objects[i], &shrunk->sections[k]);
    }
    return code;
}

/* ---- the whole ---- */

static int place_code(struct tn__link *link)
{
    tn__link_place_gathered_code(link);
    for (size_t i = 0; i < link->count; i++)
        tn__object_place_code(link->objects[i]);
    for (size_t i = 0; i < link->count; i++)
        tn__object_find_addresses(link, link->objects[i]);
    return 0;
}

static int shrink(struct tn__link *link, int (*place)(struct tn__link *link))
{
    bool any = false, changed = true;
    int code = 0;
    for (size_t i = 0; i < link->count && !code; i++)
        if (link->objects[i]->data->arch->shortener)
            code = find_sections(link, link->objects[i], &any);
    if (code || !any)
        return code;
    for (int round = 0; changed && !code; round++) {
        if (round == ROUNDS + MORE_ROUNDS)
            return tn__fail(link->err, TN_EFORMAT, "%s: padding in code does not come to rest", link->objects[0]->name);
        changed = false;
        code = measure_all(link, round >= ROUNDS, &changed);
        if (!code && changed)
            code = place ? place(link) : place_code(link);
    }
    return code ? code : write_all(link);
}

static void unshrink(struct tn__object *object)
{
    struct tn__shrunk *shrunk = object->plan ? object->plan->shrunk : NULL;
    if (!shrunk)
        return;
    for (size_t i = 0; i < shrunk->count; i++) {
        struct tn__input_section *section = shrunk->sections[i].section;
        const struct tn__input_section *was = &shrunk->sections[i].was;
        section->bytes = was->bytes;
        section->size = was->size;
        section->relocs = was->relocs;
        section->relocs_made = was->relocs_made;
        section->reloc_count = was->reloc_count;
    }
    for (uint32_t i = 0; shrunk->symbols && i < object->data->symbol_count; i++) {
        object->data->symbols[i].value = shrunk->symbols[i].value;
        object->data->symbols[i].size = shrunk->symbols[i].size;
    }
}

const struct tn__steps tn__steps_shrink = {TN__STEPS_FIELDS, .shrink = shrink, .unshrink = unshrink,
                                           .agree = tn__link_agree, .apply_pair = tn__apply_pair};
