/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "zones.h"

#include "base/base.h"
#include "image/format/format.h"

static const struct tn_type frozen_type = {
    .name = "frozen", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link), .references = 3};
const struct tn_type zones_host_type = {
    .name = "host", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link), .references = 3};
static const struct tn_type table_type = {
    .name = "table", .kind = TN_KIND_REFERENCES, .alignment = 8, .size = 8, .element = 8, .length = 0};

static void visit(void *object, tn_visit_slot *slot, void *context)
{
    slot(context, object);
}

static const struct tn_type custom_type = {
    .name = "custom", .kind = TN_KIND_CUSTOM, .alignment = 8, .size = sizeof(struct link), .visit = visit};

static const struct tn_save_word words[] = {{offsetof(struct link, value), TN_SAVE_ADDRESS}};
static const struct tn_save_type rows[] = {
    {.size = sizeof *rows, .type = &frozen_type, .flags = TN_SAVE_FROZEN},
    {.size = sizeof *rows, .type = &zones_host_type, .flags = TN_SAVE_HOST_TYPE},
    {.size = sizeof *rows, .type = &custom_type, .flags = TN_SAVE_FROZEN, .words = words, .word_count = 1},
};
static const struct tn_image_type host_types[] = {{"host", &zones_host_type}};

int zones_name(void *context, const void *address, struct tn_save_name *out)
{
    (void)context;
    *out = (struct tn_save_name){address == (const void *)(uintptr_t)visit ? "visit" : "anchor", 0};
    return 0;
}

char zones_anchor[8];

void *zones_find(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "visit") == 0 ? (void *)(uintptr_t)visit : strcmp(name, "anchor") == 0 ? zones_anchor : NULL;
}

void zones_make(const char *path, const char *name)
{
    struct tn_heap *heap = saved_heap();
    struct tn_handle *list = saved_link(heap, &frozen_type, 1, NULL), *table;
    list = saved_link(heap, &custom_type, 0, list);
    uint64_t address = (uintptr_t)zones_anchor;
    assert_int_equal(tn_handle_write(list, offsetof(struct link, value), &address, 8, &err), 0);
    list = saved_link(heap, &zones_host_type, 2, list);
    list = saved_link(heap, &link_type, 4, list);
    tn_handle_hash(list);
    assert_int_equal(tn_handle_new(heap, &table_type, 3, &table, &err), 0);
    assert_int_equal(tn_handle_store(table, 16, list, &err), 0);
    assert_int_equal(tn_handle_store(list, offsetof(struct link, other), table, &err), 0);
    const struct tn_save_options options = {.size = sizeof options,
                                            .name = name,
                                            .types = rows,
                                            .type_count = TN_COUNT(rows),
                                            .name_of = zones_name,
                                            .flags = TN_SAVE_STRICT};
    struct tn_save_stats stats = {.size = sizeof stats};
    assert_int_equal(saved_write(heap, &options, list, &stats, path), 0);
    assert_true(stats.frozen && stats.changing && stats.bound > 4096);
    tn_heap_destroy(heap);
}

struct tn_image_load_options zones_options(struct tn_heap *heap, uint64_t flags)
{
    struct tn_image_load_options options = saved_options(heap);
    options.resolver = zones_find;
    options.host_types = host_types;
    options.host_type_count = 1;
    options.flags = flags;
    return options;
}

void zones_check(struct tn_heap *heap, const struct tn_image *image)
{
    uint64_t count;
    struct tn_handle *list = saved_root(heap, image);
    assert_true(saved_sum(list, &count) == 7 + (uintptr_t)zones_anchor && count == 4);
    tn_managed_begin();
    const struct link *first = tn_handle_object(list);
    assert_ptr_equal(((const uintptr_t *)first)[-1] & ~(uintptr_t)15, tn_image_type(image, "link"));
    assert_ptr_equal(((const uintptr_t *)first->next)[-1] & ~(uintptr_t)15, &zones_host_type);
    assert_ptr_equal(tn_image_type(image, "custom")->visit, visit);
    tn_managed_end();
    tn_handle_free(list);
}

struct tn_image_memory zones_memory(const struct tn_image *image)
{
    struct tn_image_memory memory = {.size = sizeof memory};
    tn_image_memory(image, &memory);
    return memory;
}

size_t zones_header(const uint8_t *bytes, size_t size)
{
    const uint8_t *found = memmem(bytes, size, TN__IMAGE_MAGIC, 8);
    assert_non_null(found);
    return (size_t)(found - bytes);
}

size_t zones_table(const uint8_t *bytes, size_t size, uint32_t kind, uint32_t *count)
{
    size_t header = zones_header(bytes, size), table = 0;
    for (uint32_t e = 0; e < tn__get32(bytes + header + TN__IMAGE_AT_DIRECTORY); e++) {
        const uint8_t *entry = bytes + header + TN__IMAGE_HEADER + (size_t)e * TN__IMAGE_ENTRY;
        if (tn__get32(entry + TN__IMAGE_ENTRY_KIND) != kind)
            continue;
        table = header + tn__get32(entry + TN__IMAGE_ENTRY_OFFSET);
        *count = tn__get32(entry + TN__IMAGE_ENTRY_ROWS);
    }
    assert_true(table > header);
    return table;
}

uint32_t zones_rows(const char *path, uint32_t kind)
{
    size_t size;
    uint32_t count;
    uint8_t *bytes = saved_read(path, &size);
    zones_table(bytes, size, kind, &count);
    free(bytes);
    return count;
}

void zones_sign(uint8_t *bytes, size_t size, size_t header)
{
    uint64_t sum, at;
    uint32_t tables = tn__get32(bytes + header + TN__IMAGE_AT_SIZE);
    if (tables >= TN__IMAGE_HEADER && tables <= size - header)
        tn__put64(bytes + header + TN__IMAGE_AT_CHECKSUM, tn__image_header_checksum(bytes + header, tables));
    if (tn__image_file_sum(bytes, size, &sum, &at))
        tn__put64(bytes + at, sum);
}
