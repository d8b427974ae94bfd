/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The first step of an output: lists its pieces, which are sections of objects and what the linker adds, and finds the
 * class of each. */

#include <stdlib.h>

#include "link/file/output_build.h"

/* ---- slots ---- */

/* Drops unneeded GOT slots. The scan makes a slot for every symbol that is loaded through the GOT. Most of these loads
 * are rewritten later, when values are stored (relax.c of an architecture). In memory an unused slot costs nothing, but
 * in a file it would be one more word to relocate at load time. So each such instruction is rewritten here on trial. */

/* Bytes that rewriting may read or change, before and after the start of the field. */
enum { BEFORE = 8, BEHIND = 16 };

/* How many bytes from the field on can be rewritten to work without the slot. This does not depend on addresses: an
 * output lies within 2 GiB (output_layout.c). */
static uint64_t can_do_without(const struct tn__output_link *o, const struct tn__object *object,
                               const struct tn__input_section *section, const struct tn__reloc *reloc,
                               const struct tn__reloc *next)
{
    const struct tn_format *format = object->data->format;
    const struct tn__row *row = &format->rows[reloc->type];
    uint8_t trial[BEFORE + BEHIND] = {0};
    uint64_t before = tn__min64(reloc->offset, BEFORE), behind = tn__min64(section->size - reloc->offset, BEHIND);
    bool given = object->plan->symbol_flags[reloc->symbol] & TN__SYMBOL_GIVEN;
    if (!row->relax || row->flags & TN__R_TLS || given || !tn__output_is_inside(object, reloc->symbol))
        return 0;
    memcpy(trial + BEFORE - before, section->bytes + reloc->offset - before, (size_t)(before + behind));
    return format->arch->relax(&(struct tn__sequence){.form = row->relax,
                                                      .next = next ? tn__form_behind(format, reloc, next) : 0,
                                                      .notes = section->notes,
                                                      .field = trial + BEFORE,
                                                      .before = reloc->offset,
                                                      .after = behind,
                                                      .S = o->base,
                                                      .P = o->base,
                                                      .A = reloc->addend});
}

static void note_section(const struct tn__output_link *o, const struct tn__object *object,
                         const struct tn__input_section *section, uint8_t *needed)
{
    struct tn__reloc reloc, next;
    uint64_t from = 0, to = 0; /* what was rewritten last */
    for (uint64_t i = 0; i < section->reloc_count; i++) {
        bool is_last = i + 1 == section->reloc_count;
        tn__relocs_copy(section, i, &reloc, 1);
        if (!is_last)
            tn__relocs_copy(section, i + 1, &next, 1);
        if (object->data->format->rows[reloc.type].slot != TN__SLOT_ADDRESS || reloc.offset - from < to - from)
            continue;
        from = reloc.offset;
        to = from + can_do_without(o, object, section, &reloc, is_last ? NULL : &next);
        needed[reloc.symbol] |= from == to;
    }
}

/* Compacts the remaining slots, in order. */
static void renumber(struct tn__plan *plan, const uint8_t *needed, uint32_t symbol_count, uint32_t *moved)
{
    uint32_t *slots = plan->slots[TN__SLOT_ADDRESS], words = 0;
    for (uint32_t i = 0; i < symbol_count; i++)
        if (slots[i] && !needed[i]) {
            moved[slots[i] - 1] = UINT32_MAX;
            slots[i] = 0;
        }
    for (uint32_t i = 0; i < plan->got_words; i++)
        if (moved[i] != UINT32_MAX)
            moved[i] = words++;
    for (enum tn__slot kind = TN__SLOT_ADDRESS; kind < TN__SLOTS; kind++)
        for (uint32_t i = 0; plan->slots[kind] && i < symbol_count; i++)
            if (plan->slots[kind][i])
                plan->slots[kind][i] = moved[plan->slots[kind][i] - 1] + 1;
    plan->got_words = words;
}

/* output_pieces.c: drops the GOT slots of an object that relaxation makes unnecessary. Before the object is placed. */
static int output_drop_slots(struct tn__output_link *o, const struct tn__object *object)
{
    const struct tn__object_data *data = object->data;
    struct tn__plan *plan = object->plan;
    if (o->options->fixed || !plan->slots[TN__SLOT_ADDRESS])
        return 0;
    uint8_t *needed = tn__arena_array(&o->link->arena, data->symbol_count, 1);
    uint32_t *moved = tn__arena_array(&o->link->arena, plan->got_words, sizeof *moved);
    if (!needed || !moved)
        return tn__output_no_memory(o);
    for (uint32_t i = 0; i < data->section_count; i++)
        if (tn__section_is_loaded(&data->sections[i]))
            note_section(o, object, &data->sections[i], needed);
    for (uint32_t i = 0; plan->stub_index && i < data->symbol_count; i++)
        needed[i] |= plan->stub_index[i] != 0;
    renumber(plan, needed, data->symbol_count, moved);
    return 0;
}

/* ---- pieces ---- */

const struct tn__output_class_row tn__output_classes[TN__CLASSES] = {
    [TN__CLASS_NOTE] = {NULL, TN__OUTPUT_RODATA, TN__OUTPUT_NOTE, false},
    [TN__CLASS_RODATA] = {".rodata", TN__OUTPUT_RODATA, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_NAMED_RODATA] = {NULL, TN__OUTPUT_RODATA, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_FRAME_INDEX] = {".eh_frame_hdr", TN__OUTPUT_RODATA, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_FRAMES] = {".eh_frame", TN__OUTPUT_RODATA, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_EXCEPTIONS] = {".gcc_except_table", TN__OUTPUT_RODATA, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_CODE] = {".text", TN__OUTPUT_CODE, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_NAMED_CODE] = {NULL, TN__OUTPUT_CODE, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_STUBS] = {".plt", TN__OUTPUT_CODE, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_TLS] = {".tdata", TN__OUTPUT_RELRO, TN__OUTPUT_PLAIN, true},
    [TN__CLASS_TLS_ZERO] = {".tbss", TN__OUTPUT_RELRO, TN__OUTPUT_ZERO, true},
    [TN__CLASS_INIT] = {".init_array", TN__OUTPUT_RELRO, TN__OUTPUT_INIT, false},
    [TN__CLASS_FINI] = {".fini_array", TN__OUTPUT_RELRO, TN__OUTPUT_FINI, false},
    [TN__CLASS_RELRO] = {".data.rel.ro", TN__OUTPUT_RELRO, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_NAMED_RELRO] = {NULL, TN__OUTPUT_RELRO, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_GOT] = {".got", TN__OUTPUT_RELRO, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_INDIRECT] = {".got.iplt", TN__OUTPUT_RELRO, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_PADDING] = {".padding", TN__OUTPUT_RELRO, TN__OUTPUT_ZERO, false},
    [TN__CLASS_NAMED_DATA] = {NULL, TN__OUTPUT_DATA, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_DATA] = {".data", TN__OUTPUT_DATA, TN__OUTPUT_PLAIN, false},
    [TN__CLASS_ZERO] = {".bss", TN__OUTPUT_DATA, TN__OUTPUT_ZERO, false},
    [TN__CLASS_NAMED_ZERO] = {NULL, TN__OUTPUT_DATA, TN__OUTPUT_ZERO, false},
    [TN__CLASS_DEBUG] = {NULL, TN__OUTPUT_UNLOADED, TN__OUTPUT_PLAIN, false},
};

/* ---- which class ---- */

static bool begins(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

/* True for ".text" and ".text.anything", which form one section; "tenon_maps" is one of its own. */
static bool has_usual_name(const char *name)
{
    static const char *const usual[] = {".text", ".rodata", ".data", ".bss", ".lrodata", ".ldata", ".lbss", ".ltext"};
    for (size_t i = 0; i < TN_COUNT(usual); i++) {
        char next = begins(name, usual[i]) ? name[strlen(usual[i])] : 'x';
        if (next == '\0' || next == '.')
            return true;
    }
    return false;
}

/* The class of a section that is read-only when the output runs. */
static uint8_t constant_class(const struct tn__output_piece *piece)
{
    const struct tn__input_section *section = piece->section;
    if (section->role == TN__ROLE_UNWIND)
        return TN__CLASS_FRAMES;
    if (section->role == TN__ROLE_INIT || section->role == TN__ROLE_FINI)
        return section->role == TN__ROLE_INIT ? TN__CLASS_INIT : TN__CLASS_FINI;
    bool usual = has_usual_name(section->name);
    if (piece->fixups)
        return usual ? TN__CLASS_RELRO : TN__CLASS_NAMED_RELRO;
    if (begins(section->name, ".gcc_except_table"))
        return TN__CLASS_EXCEPTIONS;
    if (begins(section->name, ".note"))
        return TN__CLASS_NOTE;
    return usual ? TN__CLASS_RODATA : TN__CLASS_NAMED_RODATA;
}

/* Sections with bytes in the file cannot follow one without. */
static uint8_t tls_zero_class(const struct tn__output_link *o)
{
    return o->options->tls_space.has_values ? TN__CLASS_TLS : TN__CLASS_TLS_ZERO;
}

uint8_t tn__output_common_class(const struct tn__output_link *o, const struct tn__symbol *symbol)
{
    return symbol->type == TN__TYPE_TLS ? tls_zero_class(o) : TN__CLASS_ZERO;
}

static uint8_t class_of(const struct tn__output_link *o, const struct tn__output_piece *piece)
{
    bool usual = has_usual_name(piece->section->name);
    switch (piece->section->kind) {
    case TN__SECTION_CODE:
        return usual ? TN__CLASS_CODE : TN__CLASS_NAMED_CODE;
    case TN__SECTION_RODATA:
        return constant_class(piece);
    case TN__SECTION_DATA:
        return usual ? TN__CLASS_DATA : TN__CLASS_NAMED_DATA;
    case TN__SECTION_ZERO:
        return usual ? TN__CLASS_ZERO : TN__CLASS_NAMED_ZERO;
    case TN__SECTION_TLS:
        return TN__CLASS_TLS;
    case TN__SECTION_TLS_ZERO:
        return tls_zero_class(o);
    default:
        return TN__CLASS_DEBUG;
    }
}

/* The common class of two data sections with the same name of their own. They stay together, because __start_NAME and
 * __stop_NAME delimit both. */
static uint8_t common_class(uint8_t a, uint8_t b)
{
    if (a != b && (a == TN__CLASS_NAMED_ZERO || b == TN__CLASS_NAMED_ZERO))
        return TN__CLASS_NAMED_DATA;
    return a > b ? a : b;
}

static bool is_named_data(const struct tn__output_piece *piece)
{
    return piece->section && !tn__output_classes[piece->class].name && piece->class != TN__CLASS_NAMED_CODE &&
           piece->class != TN__CLASS_DEBUG;
}

static int by_name(const void *a, const void *b)
{
    const struct tn__output_piece *p = *(struct tn__output_piece *const *)a, *q = *(struct tn__output_piece *const *)b;
    return strcmp(p->name, q->name);
}

/* Gives data pieces of one name their common class. */
static int join_named(struct tn__output_link *o)
{
    struct tn__output_piece **named = tn__arena_array(&o->arena, o->piece_count + 1, sizeof *named);
    size_t count = 0;
    if (!named)
        return tn__output_no_memory(o);
    for (size_t i = 0; i < o->piece_count; i++)
        if (is_named_data(&o->pieces[i]))
            named[count++] = &o->pieces[i];
    qsort(named, count, sizeof *named, by_name);
    for (size_t first = 0, end; first < count; first = end) {
        uint8_t class = named[first]->class;
        for (end = first + 1; end < count && !strcmp(named[end]->name, named[first]->name); end++)
            class = common_class(class, named[end]->class);
        for (size_t i = first; i < end; i++)
            named[i]->class = class;
    }
    return 0;
}

/* Ranks of the space for other thread-local data; that of the objects is between them. */
enum { ROOM_FIRST, ROOM_LAST = ROOM_FIRST + 2 };

static int classify(struct tn__output_link *o)
{
    for (size_t i = 0; i < o->piece_count; i++) {
        struct tn__output_piece *piece = &o->pieces[i];
        if (!piece->section)
            continue;
        piece->class = class_of(o, piece);
        piece->name =
            tn__output_classes[piece->class].name ? tn__output_classes[piece->class].name : piece->section->name;
        if (piece->class == TN__CLASS_INIT || piece->class == TN__CLASS_FINI)
            piece->rank = piece->section->priority;
        else if (piece->class == TN__CLASS_DATA)
            piece->rank = !piece->fixups;
        else if (tn__output_classes[piece->class].tls)
            piece->rank = ROOM_FIRST + 1;
    }
    return join_named(o);
}

/* ---- pieces ---- */

static int add_piece(struct tn__output_link *o, const struct tn__output_piece *piece, uint32_t *number)
{
    if (piece->size > TN__OUTPUT_LARGEST || o->piece_count > UINT32_MAX / 2)
        return tn__fail(o->err, TN_ENOTSUP, "%s: %llu bytes in one section are too many", piece->object->name,
                        (unsigned long long)piece->size);
    if (piece->alignment > o->options->page_size)
        return tn__fail(o->err, TN_ENOTSUP,
                        "%s: something is aligned to %llu bytes, but files are loaded at multiples of %zu",
                        piece->object->name, (unsigned long long)piece->alignment, o->options->page_size);
    if (!tn__grow(NULL, &o->pieces, &o->piece_capacity, o->piece_count + 1, sizeof *o->pieces))
        return tn__output_no_memory(o);
    o->pieces[o->piece_count++] = *piece;
    if (number)
        *number = (uint32_t)o->piece_count;
    return 0;
}

/* Debug data, and IR that programs may read from the file. */
static bool is_wanted(const struct tn__input_section *section)
{
    if (tn__section_is_loaded(section))
        return true;
    return !section->discarded && !section->compressed && section->bytes &&
           (begins(section->name, ".debug_") || strcmp(section->name, ".llvmbc") == 0);
}

static int add_section(struct tn__output_link *o, struct tn__object *object, uint32_t index, uint32_t *number)
{
    struct tn__input_section *section = &object->data->sections[index];
    struct tn__output_piece piece = {.object = object,
                                     .section = section,
                                     .name = section->name,
                                     .size = section->size,
                                     .alignment = section->alignment};
    int code = 0;
    if (section->role == TN__ROLE_UNWIND) {
        piece.alignment = 1; /* entries must be contiguous, and are read unaligned */
        code = tn__output_count_frames(o, &piece);
    }
    if (!code && (section->role == TN__ROLE_INIT || section->role == TN__ROLE_FINI) &&
        section->reversed != (section->role == TN__ROLE_FINI))
        code = tn__fail(o->err, TN_ENOTSUP, "%s: section %s: files have .init_array and .fini_array only", object->name,
                        section->name);
    return code ? code : add_piece(o, &piece, number);
}

static int add_commons(struct tn__output_link *o, struct tn__object *object)
{
    struct tn__plan *plan = object->plan;
    int code = 0;
    for (uint32_t i = 1; i < object->data->symbol_count && !code; i++) {
        const struct tn__symbol *symbol = &object->data->symbols[i];
        const struct tn__entry *entry = symbol->entry;
        if (symbol->place != TN__PLACE_COMMON || !(plan->symbol_flags[i] & TN__SYMBOL_OWN))
            continue;
        if (!plan->common_offset)
            plan->common_offset =
                tn__arena_array(&o->link->arena, object->data->symbol_count, sizeof *plan->common_offset);
        if (!plan->common_offset)
            return tn__output_no_memory(o);
        uint8_t class = tn__output_common_class(o, symbol);
        code = add_piece(o,
                         &(struct tn__output_piece){.object = object,
                                                    .symbol = i,
                                                    .class = class,
                                                    .name = tn__output_classes[class].name,
                                                    .size = entry ? entry->common_size : symbol->size,
                                                    .alignment = entry ? 1ULL << entry->common_shift : symbol->value},
                         NULL);
    }
    return code;
}

/* Adds a piece made by the linker itself, behind those of the objects in its class. */
static int add_own(struct tn__output_link *o, struct tn__object *object, uint8_t class, uint64_t size, uint32_t *number)
{
    const struct tn__output_piece piece = {.object = object,
                                           .class = class,
                                           .name = tn__output_classes[class].name,
                                           .rank = UINT32_MAX,
                                           .size = size,
                                           .alignment = size % 8 ? 4 : 8};
    return size ? add_piece(o, &piece, number) : 0;
}

static int add_object(struct tn__output_link *o, struct tn__object *object, struct tn__output_object *as)
{
    const struct tn__object_data *data = object->data;
    struct tn__plan *plan = object->plan;
    int code = 0;
    if (plan->ifunc_count && !o->options->indirect)
        return tn__fail(o->err, TN_ENOTSUP,
                        "%s: it has indirect functions, which only shared libraries made by this linker can have",
                        object->name);
    object->window = &o->link->session->memory.windows[TN__WINDOW_NEAR];
    plan->tls_apart = !o->options->fixed && !o->options->program;
    as->pieces = tn__arena_array(&o->arena, data->section_count, sizeof *as->pieces);
    if (!as->pieces)
        return tn__output_no_memory(o);
    code = output_drop_slots(o, object);
    for (uint32_t i = 1; i < data->section_count && !code; i++)
        if (is_wanted(&data->sections[i]))
            code = add_section(o, object, i, &as->pieces[i]);
    if (!code) /* before commons, see settle */
        code = add_own(o, object, TN__CLASS_INDIRECT, (uint64_t)plan->ifunc_count * 8, NULL);
    if (!code)
        code = add_commons(o, object);
    if (!code)
        code = add_own(o, object, TN__CLASS_STUBS, (uint64_t)plan->stub_count * data->arch->stub_size, NULL);
    return code ? code : add_own(o, object, TN__CLASS_GOT, (uint64_t)plan->got_words * 8, &as->got_piece);
}

static int add_all(struct tn__output_link *o)
{
    struct tn__link *link = o->link;
    o->objects = tn__arena_array(&o->arena, link->count, sizeof *o->objects);
    if (!o->objects)
        return tn__output_no_memory(o);
    int code = 0;
    for (size_t i = 0; i < link->count && !code; i++)
        code = add_object(o, link->objects[i], &o->objects[i]);
    if (!code && o->functions) /* the terminator of unwind data, a length of zero */
        code = add_own(o, link->objects[0], TN__CLASS_FRAMES, 4, NULL);
    uint64_t index = tn__output_frame_index_size(o);
    return code ? code : add_own(o, link->objects[0], TN__CLASS_FRAME_INDEX, index, NULL);
}

/* Room for the rest of the program's thread-local data, at the end of the whole block, whatever the alignment; where
 * data lies above the thread pointer, at its beginning. */
static int add_tls_space(struct tn__output_link *o)
{
    uint64_t alignment = tn__max64(o->options->tls_space.alignment, 1);
    bool any = false, above = o->output->arch->tls_above, has_values = o->options->tls_space.has_values;
    for (size_t i = 0; i < o->piece_count; i++)
        if (tn__output_classes[o->pieces[i].class].tls) {
            alignment = tn__max64(alignment, o->pieces[i].alignment);
            has_values |= above && o->pieces[i].class == TN__CLASS_TLS; /* zeros before values are in the file, too */
            any = true;
        }
    uint64_t size = any ? tn__align_up(o->options->tls_space.size, alignment) : 0;
    int code = add_own(o, o->link->objects[0], has_values ? TN__CLASS_TLS : TN__CLASS_TLS_ZERO, size, NULL);
    if (!code && size) {
        o->pieces[o->piece_count - 1].alignment = alignment;
        o->pieces[o->piece_count - 1].rank = above ? ROOM_FIRST : ROOM_LAST;
    }
    return code;
}

/* RELRO covers whole pages. The padding of the last page is a section, because `strip` would cut it off otherwise; it
 * takes no bytes of the file. */
static int add_padding(struct tn__output_link *o)
{
    bool any = false;
    for (size_t i = 0; i < o->piece_count; i++)
        any |= tn__output_classes[o->pieces[i].class].place == TN__OUTPUT_RELRO;
    return any ? add_own(o, o->link->objects[0], TN__CLASS_PADDING, o->options->page_size, NULL) : 0;
}

int tn__output_list_pieces(struct tn__output_link *o)
{
    int code = add_all(o);
    if (!code)
        code = tn__output_find_sites(o);
    if (!code)
        code = classify(o);
    if (!code)
        code = add_tls_space(o);
    return code ? code : add_padding(o);
}
