/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An image with saved objects of which some words are others: the input says which, and what they become. With right
 * checksums, it is opened with every object checked, at the intended address or elsewhere; what can be opened is
 * collected beside. Nothing of it is called but a type's function. It is an image of its own, one that patches objects
 * of another image and refers to them, or one that has code as well; images without code are also made part of one.
 *
 * Steps of 11 bytes: two for the word of those that are not zero in the file, one for what is done, and eight. The
 * bytes that are left say where the image is opened, and which one it is. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"
#include "fuzz.h"
#include "image/format/format.h"
#include "image/write/saved.h"
#include "tenon_save.h"
#include "with_code.h"

struct link {
    struct link *next, *other;
    uint64_t value;
};

struct array {
    uint64_t length;
    struct link *items[];
};

static void visit(void *object, tn_visit_slot *slot, void *context)
{
    slot(context, object);
}

static const uint32_t offsets[] = {8, 0};
static const struct tn_type link_type = {
    .name = "link", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link), .references = 3};
static const struct tn_type listed_type = {.name = "listed",
                                           .kind = TN_KIND_FIXED,
                                           .alignment = 16,
                                           .size = sizeof(struct link),
                                           .offsets = offsets,
                                           .offset_count = 2};
static const struct tn_type host_type = {
    .name = "host", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link), .references = 3};
static const struct tn_type custom_type = {
    .name = "custom", .kind = TN_KIND_CUSTOM, .alignment = 8, .size = sizeof(struct link), .visit = visit};
static const struct tn_type table_type = {
    .name = "table", .kind = TN_KIND_REFERENCES, .alignment = 8, .size = 8, .element = 8, .length = 0};
static const struct tn_type rows_type = {
    .name = "rows", .kind = TN_KIND_STRUCTS, .alignment = 8, .size = 8, .element = 16, .length = 0, .references = 1};

static size_t key_of(void *context, const void *object, void *bytes, size_t room)
{
    (void)context, (void)object, (void)room;
    memcpy(bytes, "key", 3);
    return 3;
}

static const struct tn_save_type rows[] = {
    {.size = sizeof *rows, .type = &table_type, .flags = TN_SAVE_UNIQUE, .key = key_of},
    {.size = sizeof *rows, .type = &listed_type, .flags = TN_SAVE_FROZEN},
    {.size = sizeof *rows, .type = &host_type, .flags = TN_SAVE_HOST_TYPE},
    {.size = sizeof *rows, .type = &custom_type, .flags = TN_SAVE_FROZEN},
};

static int name_visit(void *context, const void *address, struct tn_save_name *out)
{
    (void)context, (void)address;
    *out = (struct tn_save_name){"visit", 0};
    return 0;
}

static int give_way(void *context, struct tn_image_unique *unique, size_t count, struct tn_error *err)
{
    (void)err;
    for (size_t i = 0; i < count; i++)
        if (unique[i].key_size == 3)
            unique[i].instead = *(struct tn_handle **)context;
    return 0;
}

static void *find_visit(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "visit") == 0 ? (void *)(uintptr_t)visit : NULL;
}

/* ---- the image ---- */

struct image {
    uint8_t *bytes, *copy;
    size_t size, header;
    uint32_t *words; /* offsets of those that are not zero */
    size_t word_count;
};

enum { BASE, TOP, CODE, IMAGES };
static struct image images[IMAGES];

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if (call)                                                                                                      \
            abort();                                                                                                   \
    } while (0)

static struct tn_heap *make_heap(void)
{
    const struct tn_heap_options options = {.size = sizeof options, .limit = 64 << 20, .workers = 1};
    struct tn_heap *heap;
    MUST(tn_heap_create(&options, &heap, NULL));
    return heap;
}

static struct tn_handle *make_objects(struct tn_heap *heap)
{
    static const struct {
        const struct tn_type *type;
        uint64_t length, next;
    } made[] = {{&link_type, 0, 0},    {&listed_type, 0, 0},       {&custom_type, 0, 0},
                {&host_type, 0, 0},    {&table_type, 3, 24},       {&rows_type, 2, 8},
                {&tn_weak_type, 0, 0}, {&tn_ephemeron_type, 0, 8}, {&link_type, 0, 8}};
    struct tn_handle *last = NULL, *next;
    for (size_t i = 0; i < TN_COUNT(made); i++, last = next) {
        MUST(tn_handle_new(heap, made[i].type, made[i].length, &next, NULL));
        if (last)
            MUST(tn_handle_store(next, made[i].next, last, NULL));
        if (i % 2)
            tn_handle_hash(next);
    }
    return last;
}

static void make_room(struct image *image, size_t size)
{
    image->size = size;
    image->bytes = calloc(2, size);
    image->copy = image->bytes + size;
    image->words = malloc(size);
}

/* Words of code stay as they are. */
static void list_words(struct image *image, size_t code, size_t code_size)
{
    for (size_t at = 0; at + 8 <= image->size; at += 8)
        if (tn__get64(image->bytes + at) && at - code >= code_size)
            image->words[image->word_count++] = (uint32_t)at;
    image->header = (size_t)((uint8_t *)memmem(image->bytes, image->size, TN__IMAGE_MAGIC, 8) - image->bytes);
}

static void read_image(struct image *image, const char *path)
{
    struct tn__os_file file;
    MUST(tn__os_map_file(path, &file));
    make_room(image, file.size);
    memcpy(image->bytes, file.bytes, file.size);
    tn__os_unmap_file(&file);
    list_words(image, 0, 0);
}

static void save(struct tn_heap *heap, const struct tn_handle *root, const char *name, struct tn_image *const *below,
                 const char *path)
{
    const struct tn_save_options options = {.size = sizeof options,
                                            .name = name,
                                            .types = rows,
                                            .type_count = TN_COUNT(rows),
                                            .images = below,
                                            .image_count = below != NULL,
                                            .name_of = name_visit};
    struct tn_save *save;
    MUST(tn_save_create(heap, &options, &save, NULL));
    MUST(tn_save_root(save, "root", root, NULL));
    MUST(tn_save_root(save, "none", root, NULL));
    MUST(tn_save_take(save, NULL, NULL));
    MUST(tn_save_write(save, path, NULL));
    tn_save_destroy(save);
}

static struct tn_image_load_options options_of(struct tn_heap *heap, struct tn_handle **unique)
{
    static const struct tn_image_type host_types[] = {{"host", &host_type}};
    return (struct tn_image_load_options){.size = sizeof(struct tn_image_load_options),
                                          .heap = heap,
                                          .heaps = tn_image_heaps(),
                                          .resolver = find_visit,
                                          .context = unique,
                                          .unique = give_way,
                                          .host_types = host_types,
                                          .host_type_count = 1};
}

/* Words of the base refer to new objects, to others of its own and to nothing, and hold another number. */
static void make_top(const char *base, const char *path)
{
    struct tn_heap *heap = make_heap();
    struct tn_handle *none, *other, *root;
    MUST(tn_handle_of(heap, NULL, &none, NULL));
    const struct tn_image_load_options options = options_of(heap, &none);
    struct tn_image *image;
    MUST(tn_image_open(base, &options, &image, NULL));
    MUST(tn_handle_of(heap, NULL, &other, NULL));
    MUST(tn_image_root(image, "root", other, NULL));
    root = make_objects(heap);
    MUST(tn_handle_store(root, 0, other, NULL));
    MUST(tn_handle_store(other, 0, root, NULL));
    MUST(tn_handle_load(other, 8, none, NULL));
    MUST(tn_handle_store(none, 0, NULL, NULL));
    MUST(tn_handle_store(none, 8, other, NULL));
    MUST(tn_handle_write(other, 16, &(uint64_t){7}, 8, NULL));
    save(heap, root, "top", &image, path);
    tn_heap_destroy(heap);
    tn_image_close(image);
}

/* The objects of an image without code, in one that has code. */
static void add_code(const struct image *from, struct image *image)
{
    struct with_code made;
    MUST(with_code_make(from->bytes, from->size, &made, NULL));
    make_room(image, made.size);
    memcpy(image->bytes, made.bytes, made.size);
    list_words(image, made.code, made.code_size);
    free(made.bytes);
}

static void make_images(void)
{
    char paths[CODE][64];
    for (int i = 0; i < CODE; i++)
        snprintf(paths[i], sizeof paths[i], "/tmp/tenon-fuzz-heap-%d-%d", (int)getpid(), i);
    struct tn_heap *heap = make_heap();
    save(heap, make_objects(heap), "fuzz", NULL, paths[BASE]);
    tn_heap_destroy(heap);
    make_top(paths[BASE], paths[TOP]);
    for (int i = 0; i < CODE; i++) {
        read_image(&images[i], paths[i]);
        unlink(paths[i]);
    }
    add_code(&images[BASE], &images[CODE]);
}

/* ---- an input ---- */

static void change(struct image *image, const uint8_t *step)
{
    uint8_t *at = image->copy + image->words[tn__get16(step) % image->word_count];
    uint64_t value = tn__get64(step + 3), old = tn__get64(at);
    switch (step[2] % 4) {
    case 0:
        tn__put64(at, value);
        break;
    case 1:
        tn__put64(at, old + (uint64_t)(int64_t)(int8_t)value * 8);
        break;
    case 2:
        tn__put64(at, old ^ UINT64_C(1) << value % 64);
        break;
    default: /* what is somewhere else */
        tn__put64(at, tn__get64(image->bytes + image->words[value % image->word_count]));
    }
}

static void sign(struct image *image)
{
    uint64_t sum, at;
    uint32_t tables = tn__get32(image->copy + image->header + TN__IMAGE_AT_SIZE);
    if (tables >= TN__IMAGE_HEADER && tables <= image->size - image->header)
        tn__put64(image->copy + image->header + TN__IMAGE_AT_CHECKSUM,
                  tn__image_header_checksum(image->copy + image->header, tables));
    if (tn__image_file_sum(image->copy, image->size, &sum, &at))
        tn__put64(image->copy + at, sum);
}

static int open_image(const struct image *image, uint64_t flags)
{
    struct tn_heap *heap = make_heap();
    struct tn_handle *table, *root;
    struct tn_image *opened, *base = NULL;
    struct tn_error err;
    MUST(tn_handle_new(heap, &table_type, 1, &table, NULL));
    struct tn_image_load_options options = options_of(heap, &table);
    if (image == &images[TOP]) {
        MUST(tn_image_open_memory("base", images[BASE].bytes, images[BASE].size, &options, &base, NULL));
        options.images = &base;
        options.image_count = 1;
    }
    options.flags = flags;
    int code = tn_image_open_memory("fuzz", image->copy, image->size, &options, &opened, &err);
    if (!code) {
        MUST(tn_handle_of(heap, NULL, &root, NULL));
        if (tn_image_root(opened, "root", root, NULL) == 0)
            tn_handle_type(root);
        tn_heap_collect(heap, TN_COLLECT_FULL);
        tn_image_close(opened);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_heap_destroy(heap);
    tn_image_close(base);
    return code;
}

/* As `tenon build --objects` does. */
static void make_object(const struct image *image)
{
    struct tn__arena arena = {.from = NULL};
    struct tn__saved saved;
    struct tn_buffer object;
    struct tn_error err;
    if (tn__saved_read_file("fuzz", image->copy, image->size, &arena, &saved, &err) == 0 &&
        tn__saved_object(&saved, "fuzz", &object, &err) == 0)
        tn_buffer_free(&object);
    tn__arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { STEP = 11 };
    bool is_first = !images[CODE].bytes;
    if (is_first)
        make_images();
    for (int i = 0; i < IMAGES && is_first; i++) {
        memcpy(images[i].copy, images[i].bytes, images[i].size);
        sign(&images[i]);
        MUST(open_image(&images[i], TN_IMAGE_VERIFY));
    }
    struct image *image = &images[size % STEP / 2 % IMAGES];
    memcpy(image->copy, image->bytes, image->size);
    for (size_t at = 0; at + STEP <= size; at += STEP)
        change(image, bytes + at);
    sign(image);
    make_object(image);
    open_image(image, TN_IMAGE_VERIFY | (size % STEP % 2 ? TN_IMAGE_RELOCATE : 0));
    return 0;
}
