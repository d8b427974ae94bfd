/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The second step of an output: pieces of one class and name form a section. Sections are placed, repeatedly while the
 * format's tables at the beginning grow; then pieces get their final addresses and their bytes. */

#include <stdlib.h>

#include "link/passes/steps.h"
#include "link/file/output_build.h"

/* ---- sections ---- */

static int in_order(const void *a, const void *b)
{
    const struct tn__output_piece *p = *(struct tn__output_piece *const *)a, *q = *(struct tn__output_piece *const *)b;
    if (p->class != q->class)
        return p->class < q->class ? -1 : 1;
    int names = strcmp(p->name, q->name);
    if (names)
        return names;
    if (p->rank != q->rank)
        return p->rank < q->rank ? -1 : 1;
    return p < q ? -1 : p > q; /* in input order */
}

static struct tn__output_section section_for(const struct tn__output_piece *piece)
{
    return (struct tn__output_section){.name = piece->name,
                                       .place = tn__output_classes[piece->class].place,
                                       .kind = tn__output_classes[piece->class].kind,
                                       .tls = tn__output_classes[piece->class].tls,
                                       .alignment = 1};
}

/* Zeros that share a section with other data take space in the file. More of them than this are surely a mistake. */
enum { MOST_ZEROS = 64 << 20 };

static int append(const struct tn__output_link *o, struct tn__output_section *section, struct tn__output_piece *piece)
{
    if (section->kind != TN__OUTPUT_ZERO && piece->section && !piece->section->bytes && piece->size > MOST_ZEROS)
        return tn__fail(o->err, TN_ENOTSUP, "%s: %llu zeros in section %s, which has other bytes too",
                        piece->object->name, (unsigned long long)piece->size, section->name);
    piece->offset = tn__align_up(section->size, piece->alignment);
    section->size = piece->offset + piece->size;
    section->alignment = tn__max64(section->alignment, piece->alignment);
    return section->size <= TN__OUTPUT_LARGEST
               ? 0
               : tn__fail(o->err, TN_ENOTSUP, "%s: more than 2 GiB of section %s", o->options->name, section->name);
}

static int make_sections(struct tn__output_link *o)
{
    struct tn__output *output = o->output;
    o->order = tn__arena_array(&o->arena, o->piece_count + 1, sizeof *o->order);
    output->sections = tn__arena_array(&output->arena, o->piece_count + 1, sizeof *output->sections);
    if (!o->order || !output->sections)
        return tn__output_no_memory(o);
    for (size_t i = 0; i < o->piece_count; i++)
        o->order[i] = &o->pieces[i];
    qsort(o->order, o->piece_count, sizeof(struct tn__output_piece *), in_order);
    int code = 0;
    for (size_t i = 0; i < o->piece_count && !code; i++) {
        struct tn__output_piece *piece = o->order[i], *before = i ? o->order[i - 1] : NULL;
        if (!before || before->class != piece->class || strcmp(before->name, piece->name) != 0)
            output->sections[output->section_count++] = section_for(piece);
        piece->out = (uint32_t)output->section_count - 1;
        code = append(o, &output->sections[piece->out], piece);
    }
    for (size_t i = 0; i < output->section_count && !code; i++) {
        struct tn__output_section *section = &output->sections[i];
        section->name = tn__arena_text(&output->arena, section->name, strlen(section->name));
        if (section->kind != TN__OUTPUT_ZERO)
            section->bytes = tn__arena_array(&output->arena, section->size, 1);
        if (!section->name || (section->kind != TN__OUTPUT_ZERO && !section->bytes))
            code = tn__output_no_memory(o);
    }
    return code;
}

/* ---- addresses ---- */

/* The smallest unit in which any system maps files. */
enum { BLOCK = 4096 };

struct cursor {
    uint64_t address, offset;
};

static void begin_segment(const struct tn__output_link *o, enum tn__output_place place, struct cursor *at)
{
    struct tn__output *output = o->output;
    uint64_t page = o->options->page_size;
    at->offset = tn__align_up(at->offset, BLOCK);
    at->address = tn__align_up(at->address, page) + at->offset % page;
    output->segments[place] = (struct tn__output_segment){.address = at->address, .offset = at->offset};
    if (place != TN__OUTPUT_RODATA)
        return;
    output->head_address = at->address;
    at->address += output->head_size;
    at->offset += output->head_size;
}

/* Does not advance for .tbss, which only exists in each thread. */
static void place_section(const struct tn__output_link *o, struct tn__output_section *section, struct cursor *at)
{
    struct tn__output *output = o->output;
    uint64_t address = tn__align_up(at->address, section->alignment);
    if (!strcmp(section->name, tn__output_classes[TN__CLASS_PADDING].name))
        section->size = tn__align_up(address, o->options->page_size) - address;
    section->address = address;
    section->offset = at->offset + (address - at->address);
    if (section->tls) {
        if (!output->tls_size)
            output->tls_address = address;
        output->tls_size = address + section->size - output->tls_address;
        output->tls_file_size = section->bytes ? output->tls_size : output->tls_file_size;
        output->tls_alignment = tn__max64(output->tls_alignment, section->alignment);
    }
    if (section->tls && !section->bytes)
        return;
    at->address = address + section->size;
    if (section->bytes)
        at->offset = section->offset + section->size;
}

/* Aligns the first section to the alignment of the whole block. */
static void align_tls(struct tn__output *output)
{
    uint64_t alignment = 1;
    struct tn__output_section *first = NULL;
    for (size_t i = 0; i < output->section_count; i++)
        if (output->sections[i].tls) {
            first = first ? first : &output->sections[i];
            alignment = tn__max64(alignment, output->sections[i].alignment);
        }
    if (first)
        first->alignment = alignment;
}

static void place_sections(struct tn__output_link *o)
{
    struct tn__output *output = o->output;
    struct cursor at = {o->base + o->options->address, o->options->file_offset};
    output->tls_size = output->tls_file_size = 0;
    size_t next = 0;
    for (enum tn__output_place place = 0; place < TN__OUTPUT_SEGMENTS; place++) {
        begin_segment(o, place, &at);
        for (; next < output->section_count && output->sections[next].place == place; next++)
            place_section(o, &output->sections[next], &at);
        o->output->segments[place].file_size = at.offset - o->output->segments[place].offset;
        o->output->segments[place].size = at.address - o->output->segments[place].address;
    }
    output->end = at.offset;
    for (; next < output->section_count; next++) {
        output->sections[next].offset = at.offset;
        at.offset += output->sections[next].size;
    }
}

/* Within this size, 32-bit displacements reach everywhere. */
static int check_size(const struct tn__output_link *o)
{
    const struct tn__output_segment *first = &o->output->segments[0],
                                    *last = &o->output->segments[TN__OUTPUT_SEGMENTS - 1];
    if (last->address + last->size - first->address < TN__OUTPUT_LARGEST)
        return 0;
    return tn__fail(o->err, TN_ENOTSUP, "%s: more than 2 GiB", o->options->name);
}

static void place_output(struct tn__output_link *o)
{
    struct tn__output *output = o->output;
    align_tls(output);
    place_sections(o);
    tn__output_place_sites(o);
    for (uint64_t wanted; o->options->head; output->head_size = wanted) {
        wanted = tn__align_up(o->options->head(o->options->context, output), 16);
        if (wanted <= output->head_size)
            break;
        output->head_size = wanted;
        place_sections(o);
        tn__output_place_sites(o);
    }
}

/* ---- pieces again ---- */

static uint64_t address_of(const struct tn__output_link *o, const struct tn__output_piece *piece)
{
    const struct tn__output *output = o->output;
    const struct tn__output_section *section = &output->sections[piece->out];
    uint64_t address = section->address + piece->offset;
    if (section->tls)
        return address - output->tls_address + tn__output_tls_start(o);
    return address;
}

static void settle(const struct tn__output_link *o, const struct tn__output_piece *piece)
{
    struct tn__plan *plan = piece->object->plan;
    uint64_t address = address_of(o, piece);
    const struct tn__output_section *out = &o->output->sections[piece->out];
    uint8_t *write = out->bytes ? out->bytes + piece->offset : NULL;
    if (piece->section) {
        piece->section->address = address;
        piece->section->write = write;
    } else if (piece->class == TN__CLASS_GOT) {
        plan->got_address = address;
        plan->got_write = write;
    } else if (piece->class == TN__CLASS_STUBS) {
        plan->stub_address = address;
        plan->stub_write = write;
    } else if (piece->class == TN__CLASS_INDIRECT) { /* the only data that lies together; ifunc_offset is 0 */
        plan->data_address = address;
        plan->data_write = write;
    } else if (piece->symbol) { /* common symbols are placed one by one */
        plan->common_offset[piece->symbol] =
            address - tn__common_base(plan, &piece->object->data->symbols[piece->symbol]);
    }
}

static void copy(const struct tn__output_link *o, const struct tn__output_piece *piece)
{
    const struct tn__input_section *section = piece->section;
    if (section && piece->strings)
        tn__output_copy_strings(o, piece, section->write);
    else if (section && section->write && section->bytes)
        memcpy(section->write, section->bytes, piece->size);
}

static bool is_before(const struct tn__output_piece *piece, uint8_t class, const char *name)
{
    return piece->class < class || (piece->class == class && strcmp(piece->name, name) < 0);
}

/* tn__output_find by bisection: there may be tens of thousands of sections, and of bounds. */
static const struct tn__output_section *find_section(const struct tn__output_link *o, const char *name)
{
    for (uint8_t class = 0; class < TN__CLASSES; class ++) {
        size_t at = TN_BISECT(0, o->piece_count, i, is_before(o->order[i], class, name));
        if (at < o->piece_count && o->order[at]->class == class && !strcmp(o->order[at]->name, name))
            return &o->output->sections[o->order[at]->out];
    }
    return NULL;
}

static void settle_all(const struct tn__output_link *o)
{
    for (size_t i = 0; i < o->link->count; i++) /* objects without slots still refer to the GOT's address */
        o->link->objects[i]->plan->got_address = o->output->segments[TN__OUTPUT_RELRO].address;
    for (size_t i = 0; i < o->piece_count; i++)
        settle(o, &o->pieces[i]);
    for (struct tn__bound *bound = o->link->bounds; bound; bound = bound->next) {
        const struct tn__output_section *section = find_section(o, bound->wanted.name);
        if (section)
            bound->address = section->address + (bound->is_end ? section->size : 0);
    }
}

static void find_addresses(struct tn__link *link)
{
    for (size_t i = 0; i < link->count; i++)
        tn__object_find_addresses(link, link->objects[i]);
}

/* Sections of code have become shorter. */
static int place_again(struct tn__link *link)
{
    struct tn__output_link *o = tn__container_of(link->session->detached, struct tn__output_link, where);
    struct tn__output *output = o->output;
    int code = 0;
    for (size_t i = 0; i < output->section_count; i++)
        output->sections[i].size = 0;
    for (size_t i = 0; i < o->piece_count && !code; i++) {
        struct tn__output_piece *piece = o->order[i];
        if (piece->section && piece->section->kind == TN__SECTION_CODE)
            piece->size = piece->section->size;
        code = append(o, &output->sections[piece->out], piece);
    }
    if (code)
        return code;
    place_output(o);
    settle_all(o);
    find_addresses(link);
    return 0;
}

int tn__output_arrange(struct tn__output_link *o)
{
    int code = tn__output_list_pieces(o);
    if (!code)
        code = tn__output_merge_strings(o);
    if (!code)
        code = make_sections(o);
    if (!code)
        code = tn__output_list_symbols(o);
    if (code)
        return code;
    place_output(o);
    code = check_size(o);
    if (!code)
        code = tn__output_check_sites(o);
    if (code)
        return code;
    settle_all(o);
    find_addresses(o->link);
    code = tn__link_shrink(o->link, place_again);
    for (size_t i = 0; i < o->piece_count && !code; i++)
        copy(o, &o->pieces[i]);
    return code;
}
