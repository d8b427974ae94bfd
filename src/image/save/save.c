/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The life of a save, and its steps. */

#include <stdlib.h>

#include "cpu/cpu.h"
#include "image/save/save.h"

/* ---- options ---- */

static int check_row(const struct tn_save_options *options, size_t index, struct tn_error *err)
{
    const struct tn_save_type *row = &options->types[index];
    const uint64_t known =
        TN_SAVE_FROZEN | TN_SAVE_REFUSE | TN_SAVE_DROP_FINALIZER | TN_SAVE_HOST_TYPE | TN_SAVE_UNIQUE;
    if (row->size != sizeof *row || !row->type || row->flags & ~known || !(row->flags & TN_SAVE_UNIQUE) != !row->key)
        return tn__fail(err, TN_EINVAL,
                        "type %zu: a size of %zu, not %zu, no type, unknown flags, or unique without a key", index,
                        row->size, sizeof *row);
    for (size_t i = 0; i < row->word_count; i++) {
        uint64_t at = row->words[i].offset;
        bool in_element = at >= row->type->size && row->type->element;
        uint64_t start = in_element ? row->type->size : 0, space = in_element ? row->type->element : row->type->size;
        if (at % 8 || !tn__inside(at - start, 8, space) || row->words[i].kind > TN_SAVE_ZERO)
            return tn__fail(err, TN_EINVAL, "type %zu: word %zu: offset %u and kind %u", index, i, row->words[i].offset,
                            row->words[i].kind);
    }
    return 0;
}

static int check_images(const struct tn_save *save, struct tn_error *err)
{
    const struct tn_save_options *options = &save->options;
    for (size_t i = 0; i < options->image_count; i++)
        if (!options->images[i] || !tn__image_heap_of(options->images[i], save->heap))
            return tn__fail(err, TN_EINVAL, "image %zu has no objects in the heap", i);
    return 0;
}

static int check_options(struct tn_save *save, struct tn_error *err)
{
    struct tn_save_options *options = &save->options;
    enum { SMALLEST = 4096, LARGEST = 1 << 20 };
    const uint64_t end = UINT64_C(1) << 47;
    struct tn_cpu host = {.size = sizeof host};
    int code = tn_cpu_host(&host, err);
    if (code)
        return code;
    save->machine = tn__image_machine(tn_cpu_arch_name(host.arch));
    uint64_t page = options->page_size ? options->page_size : tn__save_page_size(save->machine);
    if (page < SMALLEST || page > LARGEST || page & (page - 1) || page < tn__os_page_size())
        return tn__fail(err, TN_EINVAL, "pages of %llu bytes; this system has pages of %zu", (unsigned long long)page,
                        tn__os_page_size());
    save->page = page;
    if (options->flags & ~TN_SAVE_STRICT || options->base % page || options->base >= end)
        return tn__fail(err, TN_EINVAL, "unknown flags, or an address that is none: 0x%llx",
                        (unsigned long long)options->base);
    for (size_t i = 0; i < options->type_count && !code; i++) {
        code = check_row(options, i, err);
        save->has_unique |= !code && (options->types[i].flags & TN_SAVE_UNIQUE);
    }
    return code ? code : check_images(save, err);
}

int tn_save_create(struct tn_heap *heap, const struct tn_save_options *given, struct tn_save **out,
                   struct tn_error *err)
{
    struct tn_save_options options;
    if (!heap || !given || !out)
        return tn__no_argument(err);
    *out = NULL;
    int code = tn__take_options(&options, sizeof options, given, "struct tn_save_options", err);
    if (code)
        return code;
    if (!options.name || !*options.name || (options.type_count && !options.types) ||
        (options.image_count && !options.images))
        return tn__fail(err, TN_EINVAL, "an image needs a name; types and images are counted, but NULL");
    struct tn_save *save = tn__alloc_zeroed(NULL, 1, sizeof *save);
    if (!save)
        return tn__no_memory(err, NULL);
    save->heap = heap;
    save->options = options;
    save->options.name = tn__arena_text(&save->arena, options.name, strlen(options.name));
    code = save->options.name ? check_options(save, err) : tn__no_memory(err, NULL);
    if (code)
        tn_save_destroy(save);
    else
        *out = save;
    return code;
}

/* ---- roots ---- */

int tn_save_root(struct tn_save *save, const char *name, const struct tn_handle *object, struct tn_error *err)
{
    if (!save || !name || !object)
        return tn__no_argument(err);
    if (save->state != TN__SAVE_OPEN || object->heap != save->heap)
        return tn__fail(err, TN_EINVAL, "the objects were taken already, or the handle is of another heap");
    int code = tn__may_wait(err);
    if (code)
        return code;
    for (size_t i = 0; i < save->root_count; i++)
        if (strcmp(save->roots[i].name, name) == 0)
            return tn__fail(err, TN_EDUP, "%s: there is a root '%s' already", save->options.name, name);
    struct tn__save_root root = {.name = tn__arena_text(&save->arena, name, strlen(name))};
    root.handle = tn__handle_make(save->heap, NULL);
    if (!root.name || !root.handle || save->root_count >= TN__FROM_ROOT - 1 ||
        !tn__grow(NULL, &save->roots, &save->root_capacity, save->root_count + 1, sizeof root)) {
        tn_handle_free(root.handle);
        return tn__no_memory(err, save->options.name);
    }
    code = tn_handle_set(root.handle, object);
    save->roots[save->root_count++] = root;
    return code;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tn__save_root *)a)->name, ((const struct tn__save_root *)b)->name);
}

/* ---- taking ---- */

static void count_bytes(struct tn_save *save)
{
    struct tn_save_stats *stats = &save->stats;
    stats->objects = save->items.count;
    for (size_t i = 0; i < save->kinds.count; i++)
        stats->types += tn__save_kinds(save)[i].same == i && !tn__save_kinds(save)[i].other;
    stats->frozen = save->zones[TN__ZONE_FROZEN].size;
    stats->changing = save->zones[TN__ZONE_MUTABLE].size;
    stats->bound = save->zones[TN__ZONE_SEALED].size + save->zones[TN__ZONE_BOUND].size;
    stats->base = save->base;
}

static void free_lists(struct tn_save *save)
{
    for (size_t i = 0; i < save->list_count; i++)
        tn__free(NULL, save->lists[i].bits);
    tn__free(NULL, save->lists);
    save->lists = NULL;
    save->list_count = save->list_capacity = 0;
}

/* Frees what is not needed any more when the objects have been copied. */
static void forget_objects(struct tn_save *save)
{
    for (size_t i = 0; i < save->root_count; i++) {
        tn_handle_free(save->roots[i].handle);
        save->roots[i].handle = NULL;
    }
    tn__chunked_free(&save->items, sizeof(struct tn__save_item));
    tn__places_free(&save->places);
    for (size_t i = 0; i < save->prepared_count; i++)
        tn__free(NULL, save->prepared[i].words);
    tn__free(NULL, save->prepared);
    save->prepared = NULL;
    save->prepared_count = save->prepared_capacity = 0;
    tn__free(NULL, save->changed);
    save->changed = NULL;
    save->changed_count = save->changed_capacity = 0;
}

static int take_objects(struct tn_save *save)
{
    uint64_t start = tn__os_now_ns();
    tn__heap_lock(save->heap);
    tn__world_stop(save->heap);
    int code = tn__save_trace(save);
    if (!code)
        code = tn__save_copy(save);
    save->stats.objects = save->items.count;
    tn__world_start(save->heap);
    tn__heap_unlock(save->heap);
    save->stats.stop_ns = tn__os_now_ns() - start;
    return code;
}

int tn_save_take(struct tn_save *save, struct tn_save_stats *stats, struct tn_error *err)
{
    struct tn_error own;
    if (!save)
        return tn__no_argument(err);
    if (save->state != TN__SAVE_OPEN)
        return tn__fail(err, TN_EINVAL, "%s: the objects were taken already", save->options.name);
    int code = tn__may_wait(err);
    if (code)
        return code;
    save->err = err ? err : &own;
    save->state = TN__SAVE_FAILED;
    if (save->root_count)
        qsort(save->roots, save->root_count, sizeof *save->roots, by_name);
    code = take_objects(save);
    if (!code)
        count_bytes(save);
    forget_objects(save);
    if (!code)
        code = tn__save_settle(save);
    if (!code)
        code = tn__save_make_file(save);
    tn__addresses_free(&save->kinds);
    free_lists(save);
    save->err = NULL;
    if (code)
        return code;
    code = tn__saved_read(save->options.name, (const uint8_t *)save->tail.data + TN__SAVE_HEADER,
                          save->tail.size - TN__SAVE_HEADER, save->bytes, save->size, &save->arena, &save->saved, err);
    if (code)
        return code;
    save->stats.base = save->base;
    save->state = TN__SAVE_TAKEN;
    if (stats)
        tn__give_stats(stats, sizeof save->stats, &save->stats);
    return 0;
}

int tn_save_write(const struct tn_save *save, const char *path, struct tn_error *err)
{
    if (!save || !path)
        return tn__no_argument(err);
    if (save->state != TN__SAVE_TAKEN)
        return tn__fail(err, TN_EINVAL, "%s: no objects were taken", save->options.name);
    return tn__save_write_file(save, path, err);
}

void tn_save_destroy(struct tn_save *save)
{
    if (!save)
        return;
    forget_objects(save);
    tn__addresses_free(&save->kinds);
    free_lists(save);
    if (save->bytes)
        tn__os_release((uintptr_t)save->bytes, save->size);
    tn__free(NULL, save->roots);
    tn__free(NULL, save->bindings);
    tn__free(NULL, save->unique);
    tn__free(NULL, save->uses);
    tn__free(NULL, save->patches);
    tn__free(NULL, save->tail.data);
    tn__arena_free(&save->arena);
    tn__free(NULL, save);
}
