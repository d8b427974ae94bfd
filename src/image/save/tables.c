/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What follows the heap in the file and is mapped with it: the note by which the image is found, header and tables
 * (doc/IMAGE.md, "Format"), and the lists. */

#include "image/format/writer.h"
#include "image/save/save.h"
#include "tenon_gc.h"

struct writer {
    struct tn_save *save;
    struct tn__image_text text;
    const struct tn__save_kind **kinds; /* the image's own, by name */
    size_t kind_count;
    size_t zone_count;
    uint8_t *header; /* NULL while only sizes are computed */
    size_t size;     /* of header and tables */
};

/* The number of rows of each table, but the text's. */
static void count_rows(const struct writer *w, size_t counts[TN__IMAGE_HEAP_TABLES])
{
    const struct tn_save *save = w->save;
    memset(counts, 0, TN__IMAGE_HEAP_TABLES * sizeof *counts);
    counts[TN__IMAGE_TARGET_TABLE] = 1;
    counts[TN__IMAGE_DEPENDENCY_TABLE] = save->options.image_count;
    counts[TN__IMAGE_ZONE_TABLE] = w->zone_count;
    counts[TN__IMAGE_LIST_TABLE] = save->list_count;
    counts[TN__IMAGE_BINDING_TABLE] = save->binding_count;
    counts[TN__IMAGE_TYPE_TABLE] = w->kind_count;
    counts[TN__IMAGE_ROOT_TABLE] = save->root_count;
    counts[TN__IMAGE_UNIQUE_TABLE] = save->unique_count;
    counts[TN__IMAGE_USE_TABLE] = save->use_count;
    counts[TN__IMAGE_PATCH_TABLE] = save->patch_count;
}

static const uint32_t row_sizes[TN__IMAGE_HEAP_TABLES] = {
    [TN__IMAGE_TARGET_TABLE] = TN__IMAGE_TARGET,
    [TN__IMAGE_FUNCTION_TABLE] = TN__IMAGE_FUNCTION,
    [TN__IMAGE_SET_TABLE] = 8,
    [TN__IMAGE_NEED_TABLE] = 4,
    [TN__IMAGE_DEPENDENCY_TABLE] = TN__IMAGE_DEPENDENCY,
    [TN__IMAGE_TEXT_TABLE] = 1,
    [TN__IMAGE_ZONE_TABLE] = TN__IMAGE_ZONE,
    [TN__IMAGE_LIST_TABLE] = TN__IMAGE_LIST,
    [TN__IMAGE_BINDING_TABLE] = TN__IMAGE_BINDING,
    [TN__IMAGE_TYPE_TABLE] = TN__IMAGE_TYPE,
    [TN__IMAGE_ROOT_TABLE] = TN__IMAGE_ROOT,
    [TN__IMAGE_UNIQUE_TABLE] = TN__IMAGE_UNIQUE,
    [TN__IMAGE_USE_TABLE] = TN__IMAGE_USE,
    [TN__IMAGE_PATCH_TABLE] = TN__IMAGE_PATCH,
};

/* ---- rows ---- */

/* From the header, of something in the heap. */
static uint64_t from_header(const struct tn_save *save, uint64_t place)
{
    return place - save->size - TN__SAVE_HEADER;
}

static void write_zones(struct writer *w, uint8_t *row)
{
    const struct tn_save *save = w->save;
    for (int kind = 0; kind < TN__ZONES; kind++) {
        const struct tn__save_zone *zone = &save->zones[kind];
        if (!zone->size)
            continue;
        tn__put32(row + TN__IMAGE_ZONE_KIND, (uint32_t)kind);
        tn__put32(row + TN__IMAGE_ZONE_PAGE, (uint32_t)save->page);
        tn__put64(row + TN__IMAGE_ZONE_PLACE, from_header(save, zone->start));
        tn__put64(row + TN__IMAGE_ZONE_ADDRESS, save->base + save->page + zone->start);
        tn__put64(row + TN__IMAGE_ZONE_SIZE, zone->size);
        tn__put64(row + TN__IMAGE_ZONE_OBJECTS, zone->objects);
        row += TN__IMAGE_ZONE;
    }
}

static size_t number_of_kind(const struct writer *w, const char *name)
{
    return TN_BISECT(0, w->kind_count, i, strcmp(w->kinds[i]->name, name) < 0);
}

static void write_lists(struct writer *w, uint8_t *row)
{
    const struct tn_save *save = w->save;
    for (size_t i = 0; i < save->list_count; i++, row += TN__IMAGE_LIST) {
        const struct tn__save_list *list = &save->lists[i];
        uint32_t index = list->index;
        if (list->of == TN__LIST_HOST_TYPE)
            index = (uint32_t)number_of_kind(w, tn__save_kinds(save)[index].name);
        tn__put32(row + TN__IMAGE_LIST_OF, list->of);
        tn__put32(row + TN__IMAGE_LIST_INDEX, index);
        tn__put64(row + TN__IMAGE_LIST_PLACE, list->place);
        tn__put64(row + TN__IMAGE_LIST_SIZE, list->size);
        tn__put64(row + TN__IMAGE_LIST_BASE, list->base);
        tn__put64(row + TN__IMAGE_LIST_SUM, list->sum);
    }
}

static void write_bindings(struct writer *w, uint8_t *row)
{
    for (size_t i = 0; i < w->save->binding_count; i++, row += TN__IMAGE_BINDING) {
        const struct tn__save_binding *binding = &w->save->bindings[i];
        tn__put32(row + TN__IMAGE_BINDING_NAME, tn__image_add_text(&w->text, binding->symbol));
        tn__put64(row + TN__IMAGE_BINDING_PLACE, binding->place);
        tn__put64(row + TN__IMAGE_BINDING_ADDEND, binding->addend);
    }
}

static void write_types(struct writer *w, uint8_t *row)
{
    for (size_t i = 0; i < w->kind_count; i++, row += TN__IMAGE_TYPE) {
        tn__put32(row + TN__IMAGE_TYPE_NAME, tn__image_add_text(&w->text, w->kinds[i]->name));
        tn__put32(row + TN__IMAGE_TYPE_FLAGS, w->kinds[i]->is_host ? TN__IMAGE_HOST_TYPE : 0);
        tn__put64(row + TN__IMAGE_TYPE_PLACE, w->kinds[i]->place);
    }
}

static void write_roots(struct writer *w, uint8_t *row)
{
    for (size_t i = 0; i < w->save->root_count; i++, row += TN__IMAGE_ROOT) {
        tn__put32(row + TN__IMAGE_ROOT_NAME, tn__image_add_text(&w->text, w->save->roots[i].name));
        tn__put64(row + TN__IMAGE_ROOT_PLACE, w->save->roots[i].place);
    }
}

static void write_unique(struct writer *w, uint8_t *row)
{
    const struct tn_save *save = w->save;
    size_t use = 0;
    for (size_t i = 0; i < save->unique_count; i++, row += TN__IMAGE_UNIQUE) {
        const struct tn__save_unique *unique = &save->unique[i];
        size_t first = use;
        while (use < save->use_count && save->uses[use].unique == i)
            use++;
        tn__put32(row + TN__IMAGE_UNIQUE_KEY, tn__image_add_bytes(&w->text, unique->key, unique->key_size));
        tn__put32(row + TN__IMAGE_UNIQUE_KEY_SIZE, unique->key_size);
        tn__put32(row + TN__IMAGE_UNIQUE_FIRST, (uint32_t)first);
        tn__put32(row + TN__IMAGE_UNIQUE_USES, (uint32_t)(use - first));
        tn__put64(row + TN__IMAGE_UNIQUE_PLACE, unique->place);
    }
}

static void write_uses(struct writer *w, uint8_t *row)
{
    for (size_t i = 0; i < w->save->use_count; i++, row += TN__IMAGE_USE) {
        tn__put64(row + TN__IMAGE_USE_OBJECT, w->save->uses[i].object);
        tn__put64(row + TN__IMAGE_USE_PLACE, w->save->uses[i].place);
    }
}

static void write_patches(struct writer *w, uint8_t *row)
{
    const struct tn_save *save = w->save;
    for (size_t i = 0; i < save->patch_count; i++, row += TN__IMAGE_PATCH) {
        const struct tn__save_patch *patch = &save->patches[i];
        uint32_t index = patch->symbol ? tn__image_add_text(&w->text, patch->symbol) : patch->index;
        tn__put32(row + TN__IMAGE_PATCH_DEPENDENCY, patch->image);
        tn__put32(row + TN__IMAGE_PATCH_OF, patch->of);
        tn__put32(row + TN__IMAGE_PATCH_INDEX, index);
        tn__put32(row + TN__IMAGE_PATCH_FLAGS, patch->is_reference ? TN__IMAGE_PATCH_REFERENCE : 0);
        tn__put64(row + TN__IMAGE_PATCH_OBJECT, patch->object);
        tn__put64(row + TN__IMAGE_PATCH_PLACE, patch->place);
        tn__put64(row + TN__IMAGE_PATCH_VALUE, patch->value);
    }
}

static void write_dependencies(struct writer *w, uint8_t *row)
{
    for (size_t i = 0; i < w->save->options.image_count; i++, row += TN__IMAGE_DEPENDENCY) {
        const struct tn_image *image = w->save->options.images[i];
        tn__put32(row + TN__IMAGE_DEPENDENCY_NAME, tn__image_add_text(&w->text, tn__image_name(&image->view)));
        memcpy(row + TN__IMAGE_DEPENDENCY_ID, tn_image_build_id(image), 16);
    }
}

/* Without code, an image is for any CPU. */
static void write_targets(struct writer *w, uint8_t *row)
{
    tn__put32(row + TN__IMAGE_TARGET_NAME, tn__image_add_text(&w->text, "generic"));
    tn__put32(row + TN__IMAGE_TARGET_EXTRA, tn__image_add_text(&w->text, ""));
}

static void (*const write_rows[TN__IMAGE_HEAP_TABLES])(struct writer *w, uint8_t *row) = {
    [TN__IMAGE_TARGET_TABLE] = write_targets,   [TN__IMAGE_DEPENDENCY_TABLE] = write_dependencies,
    [TN__IMAGE_ZONE_TABLE] = write_zones,       [TN__IMAGE_LIST_TABLE] = write_lists,
    [TN__IMAGE_BINDING_TABLE] = write_bindings, [TN__IMAGE_TYPE_TABLE] = write_types,
    [TN__IMAGE_ROOT_TABLE] = write_roots,       [TN__IMAGE_UNIQUE_TABLE] = write_unique,
    [TN__IMAGE_USE_TABLE] = write_uses,         [TN__IMAGE_PATCH_TABLE] = write_patches,
};

/* ---- lists ---- */

/* Appends the lists to the tail, whose space is unlimited while it is NULL; returns its end. */
static size_t append_lists(struct tn_save *save, uint8_t *tail, size_t at)
{
    for (size_t i = 0; i < save->list_count; i++) {
        struct tn__save_list *list = &save->lists[i];
        uint64_t *words = tail ? (uint64_t *)(void *)(tail + at) : NULL;
        list->size = 8 * tn__list_write(list->bits, save->size / 8, words, tail ? list->size / 8 : 0);
        list->place = at - TN__SAVE_HEADER;
        list->sum = tail ? tn__image_checksum(words, list->size, 0) : 0;
        at += list->size;
    }
    return at;
}

/* ---- all of it ---- */

static void write_note(uint8_t *note)
{
    tn__put32(note, sizeof TN__IMAGE_NOTE_NAME);
    tn__put32(note + 4, TN__IMAGE_NOTE_SIZE);
    tn__put32(note + 8, TN__IMAGE_NOTE_TYPE);
    memcpy(note + 12, TN__IMAGE_NOTE_NAME, sizeof TN__IMAGE_NOTE_NAME);
    tn__put32(note + TN__IMAGE_NOTE_AT, TN__SAVE_HEADER);
}

/* The places follow the tables. There is one place, that of the slots, though there are no slots. */
static void write_all(struct writer *w, const size_t counts[TN__IMAGE_HEAP_TABLES])
{
    const struct tn_save *save = w->save;
    uint32_t name = tn__image_add_text(&w->text, save->options.name);
    w->size = TN__IMAGE_HEADER + TN__IMAGE_HEAP_TABLES * TN__IMAGE_ENTRY;
    w->size = tn__align_up(w->size, 8);
    size_t entry = 0;
    for (enum tn__image_table kind = 0; kind < TN__IMAGE_HEAP_TABLES; kind++) {
        if (kind == TN__IMAGE_TEXT_TABLE)
            continue;
        w->size = tn__align_up(w->size, 8);
        uint8_t *rows = tn__image_begin_table(w->header, entry++, kind, counts[kind], row_sizes[kind], &w->size);
        if (write_rows[kind])
            write_rows[kind](w, rows);
    }
    tn__image_add_text(&w->text, ""); /* a key need not end with a zero, but the table does */
    uint8_t *text = tn__image_begin_table(w->header, entry, TN__IMAGE_TEXT_TABLE, w->text.size,
                                          row_sizes[TN__IMAGE_TEXT_TABLE], &w->size);
    memcpy(text, w->text.bytes, w->text.size);
    w->size = tn__align_up(w->size, 8);
    const struct tn__image_numbers numbers = {.machine = save->machine,
                                              .size = (uint32_t)w->size,
                                              .places = 1,
                                              .tables = TN__IMAGE_HEAP_TABLES,
                                              .name = name,
                                              .gc_abi = TN_GC_ABI};
    tn__image_write_header(w->header, &numbers);
    memcpy(w->header + TN__IMAGE_AT_BUILD_ID, save->id, sizeof save->id);
    tn__put64(w->header + TN__IMAGE_AT_CHECKSUM, tn__image_header_checksum(w->header, w->size));
}

/* Bytes of all strings, and of what they are aligned by: an upper bound. */
static size_t text_bound(const struct writer *w)
{
    const struct tn_save *save = w->save;
    size_t size = strlen(save->options.name) + sizeof "generic" + 3;
    for (size_t i = 0; i < save->binding_count; i++)
        size += strlen(save->bindings[i].symbol) + 1;
    for (size_t i = 0; i < w->kind_count; i++)
        size += strlen(w->kinds[i]->name) + 1;
    for (size_t i = 0; i < save->root_count; i++)
        size += strlen(save->roots[i].name) + 1;
    for (size_t i = 0; i < save->patch_count; i++)
        size += save->patches[i].symbol ? strlen(save->patches[i].symbol) + 1 : 0;
    for (size_t i = 0; i < save->unique_count; i++)
        size += save->unique[i].key_size;
    for (size_t i = 0; i < save->options.image_count; i++)
        size += strlen(tn__image_name(&save->options.images[i]->view)) + 1;
    return size;
}

static int write_tail(struct writer *w, struct tn_buffer *out)
{
    struct tn_save *save = w->save;
    size_t counts[TN__IMAGE_HEAP_TABLES], tables = TN__IMAGE_HEADER + TN__IMAGE_HEAP_TABLES * (TN__IMAGE_ENTRY + 8);
    count_rows(w, counts);
    for (size_t kind = 0; kind < TN__IMAGE_HEAP_TABLES; kind++)
        tables += counts[kind] * row_sizes[kind];
    tables = tn__align_up(tables + text_bound(w), 8);
    if (tables > INT32_MAX / 4)
        return tn__fail(save->err, TN_ERANGE, "%s: %zu bytes of tables are too many", save->options.name, tables);
    size_t first = TN__SAVE_HEADER + tn__align_up(tables + 4, 8), end = append_lists(save, NULL, first);
    out->data = tn__alloc_zeroed(NULL, 1, end);
    out->size = end;
    if (!out->data)
        return tn__no_memory(save->err, save->options.name);
    append_lists(save, out->data, first);
    write_note(out->data);
    w->header = (uint8_t *)out->data + TN__SAVE_HEADER;
    write_all(w, counts);
    return w->text.full ? tn__no_memory(save->err, save->options.name) : 0;
}

int tn__save_tables(struct tn_save *save, struct tn_buffer *out)
{
    struct writer w = {.save = save};
    w.kinds = tn__save_own_kinds(save, &w.kind_count);
    for (int kind = 0; kind < TN__ZONES; kind++)
        w.zone_count += save->zones[kind].size > 0;
    int code = w.kinds ? write_tail(&w, out) : tn__no_memory(save->err, save->options.name);
    if (code)
        tn_buffer_free(out);
    tn__free(NULL, w.kinds);
    tn__free(NULL, w.text.bytes);
    return code;
}
