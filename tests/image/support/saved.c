/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "saved.h"

#include <stdio.h>
#include <unistd.h>

const struct tn_type link_type = {
    .name = "link", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link), .references = 3};
struct tn_error err;

struct tn_heap *saved_heap(void)
{
    const struct tn_heap_options options = {.size = sizeof options, .flags = TN_HEAP_VERIFY};
    struct tn_heap *heap;
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    return heap;
}

struct tn_handle *saved_link(struct tn_heap *heap, const struct tn_type *type, uint64_t value, struct tn_handle *next)
{
    struct tn_handle *made;
    assert_int_equal(tn_handle_new(heap, type, 0, &made, &err), 0);
    assert_int_equal(tn_handle_write(made, offsetof(struct link, value), &value, sizeof value, &err), 0);
    if (next)
        assert_int_equal(tn_handle_store(made, offsetof(struct link, next), next, &err), 0);
    tn_handle_free(next);
    return made;
}

int saved_write(struct tn_heap *heap, const struct tn_save_options *options, const struct tn_handle *root,
                struct tn_save_stats *stats, const char *path)
{
    struct tn_save *save;
    int code = tn_save_create(heap, options, &save, &err);
    if (code)
        return code;
    code = tn_save_root(save, "root", root, &err);
    if (!code)
        code = tn_save_take(save, stats, &err);
    if (!code && path)
        code = tn_save_write(save, path, &err);
    tn_save_destroy(save);
    return code;
}

struct tn_image_load_options saved_options(struct tn_heap *heap)
{
    return (struct tn_image_load_options){
        .size = sizeof(struct tn_image_load_options), .heap = heap, .heaps = tn_image_heaps()};
}

struct tn_handle *saved_root(struct tn_heap *heap, const struct tn_image *image)
{
    struct tn_handle *handle;
    assert_int_equal(tn_handle_of(heap, NULL, &handle, &err), 0);
    assert_int_equal(tn_image_root(image, "root", handle, &err), 0);
    return handle;
}

uint64_t saved_sum(const struct tn_handle *list, uint64_t *count)
{
    uint64_t sum = 0;
    *count = 0;
    tn_managed_begin();
    for (const struct link *link = tn_handle_object(list); link; link = link->next, ++*count)
        sum += link->value;
    tn_managed_end();
    return sum;
}

const char *saved_path(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "/tmp/tenon-saved-%d-%s", (int)getpid(), name);
    return path;
}

uint8_t *saved_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

void saved_store(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

size_t saved_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    size_t lines = 0;
    for (int c; file && (c = getc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}
