/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

static void visit_custom(void *object, tn_visit_slot *slot, void *context)
{
    slot(context, object);
    slot(context, (void **)object + 2);
}

/* Each has a number at offset 8, arrays their length there. */
static const uint32_t wide_offsets[] = {24, 0};
static const struct tn_type pair_type = {
    .name = "pair", .kind = TN_KIND_FIXED, .alignment = 8, .size = 24, .references = 5};
static const struct tn_type frozen_type = {
    .name = "frozen", .kind = TN_KIND_FIXED, .alignment = 8, .size = 24, .references = 5};
static const struct tn_type host_type = {
    .name = "host", .kind = TN_KIND_FIXED, .alignment = 8, .size = 24, .references = 5};
static const struct tn_type frozen_host_type = {
    .name = "frozen host", .kind = TN_KIND_FIXED, .alignment = 8, .size = 24, .references = 5};
static const struct tn_type wide_type = {
    .name = "wide", .kind = TN_KIND_FIXED, .alignment = 16, .size = 32, .offsets = wide_offsets, .offset_count = 2};
static const struct tn_type custom_type = {
    .name = "custom", .kind = TN_KIND_CUSTOM, .alignment = 8, .size = 24, .visit = visit_custom};
static const struct tn_type bound_type = {
    .name = "bound", .kind = TN_KIND_FIXED, .alignment = 8, .size = 32, .references = 5};
static const struct tn_type table_type = {
    .name = "table", .kind = TN_KIND_REFERENCES, .alignment = 8, .size = 16, .element = 8, .length = 8};
static const struct tn_type rows_type = {
    .name = "rows", .kind = TN_KIND_STRUCTS, .alignment = 8, .size = 16, .element = 32, .length = 8, .references = 5};
static const struct tn_type bytes_type = {
    .name = "bytes", .kind = TN_KIND_LEAF, .alignment = 8, .size = 16, .element = 1, .length = 8};

static uint64_t anchors[64]; /* what words declared as addresses lead to */

static const struct tn_save_word bound_words[] = {{24, TN_SAVE_ADDRESS}}, row_words[] = {{16 + 24, TN_SAVE_ADDRESS}},
                                 table_words[] = {{0, TN_SAVE_ZERO}};

const struct tn_save_type graph_rows[] = {
    {.size = sizeof *graph_rows, .type = &frozen_type, .flags = TN_SAVE_FROZEN},
    {.size = sizeof *graph_rows, .type = &host_type, .flags = TN_SAVE_HOST_TYPE},
    {.size = sizeof *graph_rows, .type = &frozen_host_type, .flags = TN_SAVE_HOST_TYPE | TN_SAVE_FROZEN},
    {.size = sizeof *graph_rows, .type = &bound_type, .words = bound_words, .word_count = 1},
    {.size = sizeof *graph_rows, .type = &rows_type, .words = row_words, .word_count = 1},
    {.size = sizeof *graph_rows, .type = &table_type, .words = table_words, .word_count = 1},
};
const size_t graph_row_count = sizeof graph_rows / sizeof *graph_rows;

const struct tn_image_type graph_host_types[] = {{"host", &host_type}, {"frozen host", &frozen_host_type}};
const size_t graph_host_type_count = 2;

int graph_name_of(void *context, const void *address, struct tn_save_name *out)
{
    uint64_t offset = (uintptr_t)address - (uintptr_t)anchors;
    (void)context;
    *out = (struct tn_save_name){"anchors", offset};
    if (address == (const void *)(uintptr_t)visit_custom)
        *out = (struct tn_save_name){"visit_custom", 0};
    else if (offset >= sizeof anchors)
        return -1;
    return 0;
}

void *graph_resolve(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "anchors") == 0        ? (void *)anchors
           : strcmp(name, "visit_custom") == 0 ? (void *)(uintptr_t)visit_custom
                                               : NULL;
}

/* What is made, how often, and which of them may be stored into once they have been saved. */
static const struct kind {
    const struct tn_type *type;
    bool is_array, is_fixed;
} kinds[] = {
    {&pair_type},
    {&pair_type},
    {&wide_type},
    {&custom_type},
    {&frozen_type, false, true},
    {&bound_type},
    {&host_type},
    {&tn_weak_type},
    {&tn_ephemeron_type},
    {&table_type, true},
    {&rows_type, true},
    {&bytes_type, true},
    {&frozen_host_type, false, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- making ---- */

static void die(const char *what, const struct tn_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    exit(1);
}

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        struct tn_error err = {.text = ""};                                                                            \
        if (call)                                                                                                      \
            die(#call, &err);                                                                                          \
    } while (0)

static uint64_t choose(struct graph *graph, uint64_t below)
{
    graph->seed = graph->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (graph->seed >> 33) % below;
}

static const struct tn_type *type_of(const struct graph *graph, const struct tn_type *type)
{
    const struct tn_type *found = graph->image ? tn_image_type(graph->image, type->name) : NULL;
    return found ? found : type;
}

/* Objects that are made later have other hashes in each process. */
enum { MOST = 1000 };

static bool is_hashed(uint64_t number)
{
    return number % 5 == 0 && number < MOST;
}

static struct tn_handle *make_object(struct graph *graph, const struct kind *kind)
{
    struct tn_handle *handle;
    uint64_t number = choose(graph, MOST) + (graph->changes ? MOST : 0),
             length = kind->is_array ? choose(graph, 12) : 0;
    if (kind->is_array && choose(graph, 40) == 0) /* above 64 KiB */
        length = 70000 / kind->type->element + choose(graph, 100);
    MUST(tn_handle_new(graph->heap, type_of(graph, kind->type), length, &handle, &err));
    const struct tn_type *type = kind->type;
    if (!kind->is_array && type->kind != TN_KIND_WEAK && type->kind != TN_KIND_EPHEMERON)
        MUST(tn_handle_write(handle, 8, &number, 8, &err));
    uint64_t address = (uintptr_t)&anchors[number % 64], zero = 0;
    if (type == &wide_type || type == &bound_type)
        MUST(tn_handle_write(handle, type == &wide_type ? 16 : 24, type == &wide_type ? &zero : &address, 8, &err));
    if (type->element)
        MUST(tn_handle_write(handle, 0, type == &table_type ? &address : &zero, 8, &err));
    for (uint64_t i = 0; type == &rows_type && i < length; i++) {
        uint64_t word = i % 3 ? (uintptr_t)&anchors[i % 64] : 0;
        MUST(tn_handle_write(handle, 16 + 32 * i + 8, &i, 8, &err));
        MUST(tn_handle_write(handle, 16 + 32 * i + 24, &word, 8, &err));
    }
    for (uint64_t i = 0; type == &bytes_type && i < length; i++)
        MUST(tn_handle_write(handle, 16 + i, &(char){(char)(number + i)}, 1, &err));
    if (is_hashed(number))
        tn_handle_hash(handle);
    return handle;
}

/* ---- looking ---- */

/* Objects by number: breadth first along strong references; values of ephemerons whose keys have numbers come last. */
struct view {
    const struct graph *graph;
    void **objects;
    size_t count, capacity;
    size_t *index; /* a hash table */
    size_t index_size;
    uint64_t digest;
    size_t slot_count;
    size_t wanted; /* the number of the slot that is looked for */
    void **found;
};

static void mix(struct view *view, uint64_t word)
{
    view->digest = (view->digest ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    view->digest ^= view->digest >> 29;
}

static size_t *place_of(struct view *view, const void *object)
{
    size_t at = ((uintptr_t)object >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 20;
    while (view->index[at % view->index_size] && view->objects[view->index[at % view->index_size] - 1] != object)
        at++;
    return &view->index[at % view->index_size];
}

static void *reserve(void *block, size_t size)
{
    void *grown = realloc(block, size);
    if (!grown)
        abort();
    return grown;
}

static void number(struct view *view, void *object)
{
    if (!object || *place_of(view, object))
        return;
    if (view->count == view->capacity) {
        view->capacity *= 2;
        view->objects = reserve(view->objects, view->capacity * sizeof *view->objects);
        free(view->index);
        view->index_size = 4 * view->capacity;
        view->index = calloc(view->index_size, sizeof *view->index);
        for (size_t i = 0; i < view->count; i++)
            *place_of(view, view->objects[i]) = i + 1;
    }
    view->objects[view->count++] = object;
    *place_of(view, object) = view->count;
}

static const struct tn_type *header_of(const void *object)
{
    return (const struct tn_type *)(((const uintptr_t *)object)[-1] & ~(uintptr_t)15);
}

static void visit_strong(void *object, tn_visit_slot *visit, void *context)
{
    const struct tn_type *type = header_of(object);
    char *at = object;
    if (type->kind == TN_KIND_WEAK || type->kind == TN_KIND_EPHEMERON || type->kind == TN_KIND_LEAF)
        return;
    if (type->kind == TN_KIND_CUSTOM) {
        type->visit(object, visit, context);
        return;
    }
    uint64_t length = type->element ? ((const uint64_t *)object)[1] : 0;
    if (type->kind == TN_KIND_REFERENCES)
        for (uint64_t i = 0; i < length; i++)
            visit(context, (void **)(void *)(at + 16) + i);
    for (uint64_t i = 0; i < (type->kind == TN_KIND_STRUCTS ? length : type->kind == TN_KIND_FIXED); i++) {
        char *base = type->kind == TN_KIND_STRUCTS ? at + 16 + 32 * i : at;
        for (uint64_t k = 0; k < type->offset_count && type->offsets; k++)
            visit(context, (void **)(void *)(base + type->offsets[k]));
        for (uint64_t bit = 0; bit < 64 && !type->offsets; bit++)
            if (type->references >> bit & 1)
                visit(context, (void **)(void *)base + bit);
    }
}

static void number_slot(void *context, void **slot)
{
    number(context, *slot);
}

static void mix_slot(void *context, void **slot)
{
    mix(context, *slot ? *place_of(context, *slot) : 0);
}

static void view_begin(struct view *view, const struct graph *graph)
{
    *view = (struct view){.graph = graph, .capacity = 256, .index_size = 1024};
    view->objects = reserve(NULL, view->capacity * sizeof *view->objects);
    view->index = calloc(view->index_size, sizeof *view->index);
    for (size_t i = 0; i < 3; i++)
        number(view, tn_handle_object(graph->roots[i]));
    for (size_t at = 0, before = SIZE_MAX; before != view->count;) {
        before = view->count;
        for (; at < view->count; at++)
            visit_strong(view->objects[at], number_slot, view);
        for (size_t i = 0; i < view->count; i++) {
            void **words = view->objects[i];
            if (header_of(words)->kind == TN_KIND_EPHEMERON && words[0] && *place_of(view, words[0]))
                number(view, words[1]);
        }
    }
}

static void view_end(struct view *view)
{
    free(view->objects);
    free(view->index);
}

static void mix_text(struct view *view, const char *text)
{
    for (; *text; text++)
        mix(view, (unsigned char)*text);
}

/* What is no reference. */
static void mix_words(struct view *view, void *object, const struct tn_type *type)
{
    const uint64_t *words = object;
    uint64_t length = type->element ? words[1] : 0;
    mix(view, words[1]);
    if (strcmp(type->name, "bound") == 0)
        mix(view, words[3] - (uintptr_t)anchors);
    for (uint64_t i = 0; type->kind == TN_KIND_STRUCTS && i < length; i++) {
        mix(view, words[2 + 4 * i + 1]);
        mix(view, words[2 + 4 * i + 3] ? words[2 + 4 * i + 3] - (uintptr_t)anchors : 1);
    }
    for (uint64_t i = 0; type->kind == TN_KIND_LEAF && i < length; i++)
        mix(view, ((const unsigned char *)object)[16 + i]);
}

static void mix_weak(struct view *view, void **words, const struct tn_type *type)
{
    size_t key = words[0] ? *place_of(view, words[0]) : 0;
    mix(view, key);
    if (type->kind == TN_KIND_EPHEMERON && key)
        mix(view, words[1] ? *place_of(view, words[1]) : 0);
}

static void mix_hash(struct view *view, void *object)
{
    struct tn_handle *handle;
    MUST(tn_handle_of(view->graph->heap, object, &handle, &err));
    mix(view, tn_handle_hash(handle));
    tn_handle_free(handle);
}

uint64_t graph_digest(const struct graph *graph)
{
    struct view view;
    tn_managed_begin();
    view_begin(&view, graph);
    for (size_t i = 0; i < view.count; i++) {
        const struct tn_type *type = header_of(view.objects[i]);
        uint64_t words = ((const uint64_t *)view.objects[i])[1];
        mix_text(&view, type->name);
        if (type->kind == TN_KIND_WEAK || type->kind == TN_KIND_EPHEMERON)
            mix_weak(&view, view.objects[i], type);
        else
            mix_words(&view, view.objects[i], type);
        visit_strong(view.objects[i], mix_slot, &view);
        if (type->kind != TN_KIND_WEAK && type->kind != TN_KIND_EPHEMERON && !type->element && is_hashed(words))
            mix_hash(&view, view.objects[i]);
        if (strcmp(type->name, "host") == 0 && type != &host_type)
            mix(&view, 77);
    }
    mix(&view, view.count);
    tn_managed_end();
    view_end(&view);
    return view.digest;
}

/* ---- changing ---- */

static void take_slot(void *context, void **slot)
{
    struct view *view = context;
    if (!view->wanted--)
        view->found = slot;
    view->slot_count++;
}

/* The offset of a word of the object that holds a reference; UINT64_MAX: there is none. */
static uint64_t choose_slot(struct graph *graph, void *object)
{
    const struct tn_type *type = header_of(object);
    struct view view = {.wanted = SIZE_MAX};
    if (type->kind == TN_KIND_WEAK || type->kind == TN_KIND_EPHEMERON)
        return 8 * choose(graph, type->kind == TN_KIND_WEAK ? 1 : 2);
    visit_strong(object, take_slot, &view);
    if (!view.slot_count)
        return UINT64_MAX;
    view.wanted = choose(graph, view.slot_count);
    visit_strong(object, take_slot, &view);
    return (uint64_t)((char *)view.found - (char *)object);
}

static bool is_frozen(const void *object)
{
    return strncmp(header_of(object)->name, "frozen", 6) == 0;
}

static void change(struct graph *graph)
{
    struct view view;
    struct tn_handle *to, *value = NULL;
    tn_managed_begin();
    view_begin(&view, graph);
    void *object = view.count ? view.objects[choose(graph, view.count)] : NULL;
    uint64_t offset = object && !is_frozen(object) ? choose_slot(graph, object) : UINT64_MAX, what = choose(graph, 4);
    bool is_ephemeron = object && header_of(object)->kind == TN_KIND_EPHEMERON;
    if (is_ephemeron && offset == 8 && !(*(void **)object && *place_of(&view, *(void **)object)))
        offset = UINT64_MAX;
    MUST(tn_handle_of(graph->heap, object, &to, &err));
    if (what < 2)
        MUST(tn_handle_of(graph->heap, view.objects[choose(graph, view.count)], &value, &err));
    tn_managed_end();
    view_end(&view);
    if (what == 2)
        value = make_object(graph, &kinds[choose(graph, KINDS)]);
    if (is_ephemeron && offset == 0) /* an image's key never dies, so its value is still there */
        MUST(tn_handle_store(to, 8, NULL, &err));
    if (offset != UINT64_MAX)
        MUST(tn_handle_store(to, offset, value, &err));
    tn_handle_free(to);
    tn_handle_free(value);
}

void graph_change(struct graph *graph, size_t count)
{
    graph->changes = true;
    for (size_t i = 0; i < count; i++) {
        change(graph);
        if (choose(graph, 10) == 0)
            tn_heap_collect(graph->heap, (int)choose(graph, 2));
    }
}

void graph_make(struct graph *graph, size_t objects, struct tn_handle *const *others)
{
    struct tn_handle **all = reserve(NULL, objects * sizeof *all);
    for (size_t i = 0; i < objects; i++)
        all[i] = make_object(graph, &kinds[choose(graph, KINDS)]);
    for (size_t i = 0; i < 3 * objects; i++) {
        const struct tn_handle *from = all[choose(graph, objects)], *to = all[choose(graph, objects)];
        tn_managed_begin();
        uint64_t offset = choose_slot(graph, tn_handle_object(from));
        tn_managed_end();
        if (others && choose(graph, 4) == 0)
            to = others[choose(graph, 3)];
        if (offset != UINT64_MAX)
            MUST(tn_handle_store((struct tn_handle *)from, offset, to, &err));
    }
    for (size_t i = 0; i < 3; i++) {
        MUST(tn_handle_of(graph->heap, NULL, &graph->roots[i], &err));
        MUST(tn_handle_set(graph->roots[i], i == 2 && choose(graph, 3) == 0 ? NULL : all[choose(graph, objects)]));
    }
    for (size_t i = 0; i < objects; i++)
        tn_handle_free(all[i]);
    free(all);
}
