/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What images with objects need of the program and of other images. */

#include <unistd.h>

#include "zones.h"

static const struct tn_type longer_type = {
    .name = "host", .kind = TN_KIND_FIXED, .alignment = 8, .size = 32, .references = 3};

/* ---- what is missing ---- */

static void what_is_missing_is_named(void **state)
{
    const char *path = saved_path("missing");
    zones_make(path, "missing");
    struct tn_heap *heap = saved_heap(), *other;
    struct tn_image *image;
    struct tn_handle *handle;
    static const struct tn_image_type differs[] = {{"host", &longer_type}};
    (void)state;
    struct tn_image_load_options options = zones_options(heap, 0);
    options.heap = NULL;
    assert_int_equal(tn_image_open(path, &options, &image, &err), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "name no heap"));
    options = zones_options(heap, 0);
    options.heaps = NULL;
    assert_int_equal(tn_image_open(path, &options, &image, &err), TN_ENOTSUP);
    options = zones_options(heap, 0);
    options.resolver = NULL;
    options.host_type_count = 0;
    assert_int_equal(tn_image_open(path, &options, &image, &err), TN_EUNDEF);
    assert_non_null(strstr(err.text, "type host, "));
    assert_non_null(strstr(err.text, "visit"));
    options = zones_options(heap, 0);
    options.host_types = differs;
    assert_int_equal(tn_image_open(path, &options, &image, &err), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "'size' differs"));
    options = zones_options(heap, 8);
    assert_int_equal(tn_image_open(path, &options, &image, &err), TN_EINVAL);
    options = zones_options(heap, 0);
    assert_int_equal(tn_image_open(path, &options, &image, &err), 0);
    assert_int_equal(tn_heap_create(NULL, &other, &err), 0);
    assert_int_equal(tn_handle_of(heap, NULL, &handle, &err), 0);
    assert_int_equal(tn_image_root(image, "no", handle, &err), TN_EUNDEF);
    assert_int_equal(tn_image_root(image, "root", NULL, &err), TN_EINVAL);
    assert_null(tn_image_type(image, "no"));
    assert_null(tn_image_type(image, "host"));
    assert_int_equal(tn_handle_new(other, &link_type, 0, &handle, &err), 0);
    assert_int_equal(tn_image_root(image, "root", handle, &err), TN_EINVAL);
    tn_image_close(image);
    tn_heap_destroy(other);
    tn_heap_destroy(heap);
    unlink(path);
}

/* ---- other images ---- */

static void save_beside(struct tn_heap *heap, struct tn_image *image, const char *path)
{
    struct tn_handle *list = saved_root(heap, image);
    const struct tn_save_options options = {
        .size = sizeof options, .name = "beside", .images = &image, .image_count = 1, .name_of = zones_name};
    struct tn_save_stats stats = {.size = sizeof stats};
    list = saved_link(heap, &link_type, 100, list);
    assert_int_equal(saved_write(heap, &options, list, &stats, path), 0);
    assert_true(stats.objects == 1 && stats.types == 0);
    tn_handle_free(list);
}

static void images_that_it_needs_are_checked(void **state)
{
    const char *path = saved_path("needed"), *path2 = saved_path("needing"), *path3 = saved_path("rebuilt");
    zones_make(path, "needed");
    struct tn_heap *heap = saved_heap(), *other;
    struct tn_image *image, *second, *rebuilt;
    (void)state;
    struct tn_image_load_options options = zones_options(heap, 0);
    assert_int_equal(tn_image_open(path, &options, &image, &err), 0);
    save_beside(heap, image, path2);
    assert_int_equal(tn_image_open(path2, &options, &second, &err), TN_EUNDEF);
    options.images = &image;
    options.image_count = 1;
    assert_int_equal(tn_image_open(path2, &options, &second, &err), 0);
    uint64_t count;
    struct tn_handle *list = saved_root(heap, second);
    assert_true(saved_sum(list, &count) == 107 + (uintptr_t)zones_anchor && count == 5);
    assert_ptr_equal(tn_handle_type(list), tn_image_type(image, "link"));
    assert_int_equal(tn_heap_create(NULL, &other, &err), 0);
    options.heap = other;
    assert_int_equal(tn_image_open(path2, &options, &rebuilt, &err), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "part of another heap"));
    tn_heap_destroy(other);
    options.heap = heap;
    struct tn_handle *more = saved_link(heap, &link_type, 3, NULL);
    const struct tn_save_options again = {.size = sizeof again, .name = "needed"};
    assert_int_equal(saved_write(heap, &again, more, NULL, path3), 0);
    options.image_count = 0;
    assert_int_equal(tn_image_open(path3, &options, &rebuilt, &err), 0);
    options.images = &rebuilt;
    options.image_count = 1;
    struct tn_image *third;
    assert_int_equal(tn_image_open(path2, &options, &third, &err), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "build id"));
    tn_image_close(second);
    tn_image_close(image);
    tn_image_close(rebuilt);
    tn_heap_destroy(heap);
    unlink(path);
    unlink(path2);
    unlink(path3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(images_that_it_needs_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
