/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Files whose objects belong to another image's types and refer to its objects, and that are damaged: what they name
 * there has to be a type, or an object. */

#include <unistd.h>

#include "base/base.h"
#include "zones.h"

/* Saves a link that refers to the root of the base. */
static void make_top(const char *base_path, const char *path, struct tn_image_memory *memory)
{
    struct tn_heap *heap = saved_heap();
    struct tn_image *base;
    const struct tn_image_load_options load = zones_options(heap, 0);
    assert_int_equal(tn_image_open(base_path, &load, &base, &err), 0);
    *memory = zones_memory(base);
    struct tn_handle *top = saved_link(heap, tn_image_type(base, "link"), 5, saved_root(heap, base));
    const struct tn_save_options options = {
        .size = sizeof options, .name = "top", .images = &base, .image_count = 1, .name_of = zones_name};
    assert_int_equal(saved_write(heap, &options, top, NULL, path), 0);
    tn_heap_destroy(heap);
    tn_image_close(base);
}

static int try(const char *base_path, const uint8_t *bytes, size_t size, uint64_t flags)
{
    struct tn_heap *heap = saved_heap();
    struct tn_image *base, *image = NULL;
    struct tn_image_load_options options = zones_options(heap, 0);
    assert_int_equal(tn_image_open(base_path, &options, &base, &err), 0);
    options.images = &base;
    options.image_count = 1;
    options.flags = TN_IMAGE_VERIFY | flags;
    int code = tn_image_open_memory("bad", bytes, size, &options, &image, &err);
    if (code == 0) {
        struct tn_handle *root = saved_root(heap, image);
        tn_handle_type(root);
        tn_heap_collect(heap, 0);
    }
    tn_heap_destroy(heap);
    tn_image_close(image);
    tn_image_close(base);
    return code;
}

static void types_and_objects_of_the_other_image_are_checked(void **state)
{
    static const uint64_t distances[] = {16, 48, -(uint64_t)16, 1 << 20};
    const char *paths[] = {saved_path("below"), saved_path("above")};
    struct tn_image_memory below;
    size_t size, named = 0;
    (void)state;
    zones_make(paths[0], "below");
    make_top(paths[0], paths[1], &below);
    uint8_t *bytes = saved_read(paths[1], &size);
    size_t header = zones_header(bytes, size);
    assert_int_equal(try(paths[0], bytes, size, 0), 0);
    for (size_t at = 4096; at < header; at += 8) {
        uint64_t word = tn__get64(bytes + at);
        bool leads_there = (word & ~UINT64_C(15)) - below.intended < below.length;
        for (size_t i = 0; i < TN_COUNT(distances) && word; i++) {
            tn__put64(bytes + at, word + distances[i]);
            zones_sign(bytes, size, header);
            int code = try(paths[0], bytes, size, i % 2 ? TN_IMAGE_RELOCATE : 0);
            bool is_named = strstr(err.text, "a reference leads ") || strstr(err.text, "its header ");
            assert_true(code == 0 || code == TN_EFORMAT);
            if (leads_there)
                assert_true(code == TN_EFORMAT && is_named);
            named += leads_there;
        }
        tn__put64(bytes + at, word);
    }
    assert_true(named >= 3 * TN_COUNT(distances)); /* two headers, a reference */
    free(bytes);
    unlink(paths[0]);
    unlink(paths[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(types_and_objects_of_the_other_image_are_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
