/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A program saves objects of its heap together with code that uses them, in one file. */

#include <unistd.h>

#include "base/os.h"
#include "support.h"
#include "tenon_heap.h"
#include "tenon_image.h"
#include "tenon_save.h"

static const char ir[] = "@pair = external global [2 x i64]\n"
                         "@pair_type = external global i8\n"
                         "define i64 @second() {\n"
                         "  %value = load i64, ptr getelementptr ([2 x i64], ptr @pair, i64 0, i64 1)\n"
                         "  ret i64 %value\n"
                         "}\n"
                         "define ptr @type() {\n"
                         "  ret ptr @pair_type\n"
                         "}\n";

struct pair {
    struct pair *next;
    uint64_t value;
};

static const struct tn_type pair_type = {
    .name = "pair", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct pair), .references = 1};
static const struct tn_image_value values[] = {{"pair", "root", TN_IMAGE_VALUE_ROOT},
                                               {"pair_type", "pair", TN_IMAGE_VALUE_TYPE}};
static const struct tn_image_input input = {"pair.ll", ir, sizeof ir - 1};

static struct tn_heap *heap;
static struct tn_error err;

static struct tn_save *take(uint64_t value, bool taken)
{
    const struct tn_save_options options = {.size = sizeof options, .name = "pairs"};
    struct tn_save *save;
    struct tn_handle *pair;
    assert_int_equal(tn_handle_new(heap, &pair_type, 0, &pair, &err), 0);
    assert_int_equal(tn_handle_write(pair, 8, &value, sizeof value, &err), 0);
    assert_int_equal(tn_save_create(heap, &options, &save, &err), 0);
    assert_int_equal(tn_save_root(save, "root", pair, &err), 0);
    tn_handle_free(pair);
    assert_int_equal(taken ? tn_save_take(save, NULL, &err) : 0, 0);
    return save;
}

static int build(const struct tn_save *save, const struct tn_buffer *objects, struct tn_buffer *out)
{
    const struct tn_image_options options = {.size = sizeof options,
                                             .values = values,
                                             .value_count = 2,
                                             .save = save,
                                             .objects = objects ? objects->data : NULL,
                                             .objects_length = objects ? objects->size : 0};
    struct tn_buffer all[TN_IMAGE_OUTPUTS];
    int code = tn_image_build(&input, 1, &options, all, NULL, &err);
    *out = all[TN_IMAGE_OBJECTS];
    return code;
}

static void link_file(const struct tn_buffer *archive, struct tn_buffer *file)
{
    const struct tn_input object = {
        .size = sizeof object, .name = "pair.a", .bytes = archive->data, .length = archive->size};
    const struct tn_image_link_options options = {.size = sizeof options, .kind = TN_IMAGE_LOADABLE};
    assert_int_equal(tn_image_link(&object, 1, &options, file, &err), 0);
}

static void one_file_has_code_and_objects(void **state)
{
    struct tn_buffer archive, file;
    struct tn_image *image;
    struct tn_handle *root;
    uint64_t value = 0;
    (void)state;
    struct tn_save *save = take(42, true);
    assert_int_equal(build(save, NULL, &archive), 0);
    tn_save_destroy(save);
    link_file(&archive, &file);
    const struct tn_image_load_options options = {.size = sizeof options, .heap = heap, .heaps = tn_image_heaps()};
    assert_int_equal(tn_image_open_memory("pairs", file.data, file.size, &options, &image, &err), 0);
    assert_int_equal(((uint64_t(*)(void))tn_image_lookup(image, "second"))(), 42);
    assert_ptr_equal(((void *(*)(void))tn_image_lookup(image, "type"))(), tn_image_type(image, "pair"));
    assert_int_equal(tn_handle_of(heap, NULL, &root, &err), 0);
    assert_int_equal(tn_image_root(image, "root", root, &err), 0);
    assert_int_equal(tn_handle_read(root, 8, &value, sizeof value, &err), 0);
    assert_int_equal(value, 42);
    tn_handle_free(root);
    tn_image_close(image);
    tn_buffer_free(&archive);
    tn_buffer_free(&file);
}

/* What was written is the same as what is in memory; other objects, another build id. */
static void a_file_will_do(void **state)
{
    char path[] = "/tmp/saved-XXXXXX";
    struct tn_buffer archives[3], objects;
    struct tn__os_file file;
    (void)state;
    close(mkstemp(path));
    struct tn_save *save = take(1, true), *other = take(2, true);
    assert_int_equal(tn_save_write(save, path, &err), 0);
    assert_int_equal(tn__os_map_file(path, &file), 0);
    objects = (struct tn_buffer){(void *)(uintptr_t)file.bytes, file.size};
    assert_int_equal(build(save, NULL, &archives[0]), 0);
    assert_int_equal(build(NULL, &objects, &archives[1]), 0);
    assert_int_equal(build(other, NULL, &archives[2]), 0);
    assert_int_equal(archives[0].size, archives[1].size);
    assert_memory_equal(archives[0].data, archives[1].data, archives[0].size);
    struct tn_image *images[2];
    const struct tn_image_load_options options = {.size = sizeof options, .heap = heap, .heaps = tn_image_heaps()};
    for (int i = 0; i < 2; i++) {
        struct tn_buffer linked;
        link_file(&archives[i ? 2 : 0], &linked);
        assert_int_equal(tn_image_open_memory("pairs", linked.data, linked.size, &options, &images[i], &err), 0);
        tn_buffer_free(&linked);
    }
    assert_memory_not_equal(tn_image_build_id(images[0]), tn_image_build_id(images[1]), 16);
    for (int i = 0; i < 2; i++)
        tn_image_close(images[i]);
    for (int i = 0; i < 3; i++)
        tn_buffer_free(&archives[i]);
    tn_save_destroy(save);
    tn_save_destroy(other);
    tn__os_unmap_file(&file);
    unlink(path);
}

static void what_has_no_objects_is_refused(void **state)
{
    struct tn_buffer archive, file;
    (void)state;
    struct tn_save *save = take(1, false);
    assert_int_equal(build(save, NULL, &archive), TN_EINVAL);
    assert_non_null(strstr(err.text, "no objects were taken"));
    tn_save_destroy(save);
    save = take(1, true);
    assert_int_equal(build(save, NULL, &archive), 0);
    tn_save_destroy(save);
    link_file(&archive, &file);
    tn_buffer_free(&archive);
    assert_int_equal(build(NULL, &file, &archive), TN_ENOTSUP); /* it has code */
    for (size_t size = 1; size < file.size / 2; size += 301) {
        const struct tn_buffer cut = {file.data, size};
        assert_int_equal(build(NULL, &cut, &archive), TN_EFORMAT);
    }
    tn_buffer_free(&file);
}

static int begin(void **state)
{
    (void)state;
    return tn_heap_create(NULL, &heap, &err) || tn_heap_attach(heap, &err);
}

static int end(void **state)
{
    (void)state;
    tn_heap_detach();
    tn_heap_destroy(heap);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_file_has_code_and_objects, begin, end),
        cmocka_unit_test_setup_teardown(a_file_will_do, begin, end),
        cmocka_unit_test_setup_teardown(what_has_no_objects_is_refused, begin, end),
    };
    return cmocka_run_group_tests_name("codegen/image/saved", tests, NULL, NULL);
}
