/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Types of one name in images that do not depend on each other are one type in a heap: that of the first one. */

#include <stdio.h>
#include <unistd.h>

#include "base/os.h"
#include "zones.h"

enum { LINKS = 3, FROZEN = 2 };

static const struct tn_type frozen_type = {
    .name = "frozen", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link), .references = 3};
static const struct tn_type wide_type = {
    .name = "link", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link) + 8, .references = 3};
static const struct tn_save_type rows[] = {{.size = sizeof *rows, .type = &frozen_type, .flags = TN_SAVE_FROZEN}};

/* Saves three links and two frozen ones, the values of which are `value` each; with `images`, on top of these. */
static void make(const char *path, const char *name, const struct tn_type *type, uint64_t value)
{
    struct tn_heap *heap = saved_heap();
    struct tn_handle *list = NULL;
    for (int i = 0; i < FROZEN; i++)
        list = saved_link(heap, &frozen_type, value, list);
    for (int i = 0; i < LINKS; i++)
        list = saved_link(heap, type, value, list);
    const struct tn_save_options options = {
        .size = sizeof options, .name = name, .types = rows, .type_count = 1, .flags = TN_SAVE_STRICT};
    assert_int_equal(saved_write(heap, &options, list, NULL, path), 0);
    tn_heap_destroy(heap);
}

static struct tn_image *load(struct tn_heap *heap, const char *path, struct tn_image *const *images, size_t count,
                             uint64_t flags)
{
    struct tn_image_load_options options = saved_options(heap);
    struct tn_image *image = NULL;
    options.flags = flags;
    options.images = images;
    options.image_count = count;
    assert_int_equal(tn_image_open(path, &options, &image, &err), 0);
    return image;
}

/* All objects of the list have the types of the first image. */
static void check(struct tn_heap *heap, const struct tn_image *image, const struct tn_image *first, uint64_t value)
{
    struct tn_handle *list = saved_root(heap, image);
    uint64_t count, links = 0, frozen = 0;
    assert_true(saved_sum(list, &count) == value * (LINKS + FROZEN) && count == LINKS + FROZEN);
    const struct tn_type *link = tn_image_type(first, "link"), *ice = tn_image_type(first, "frozen");
    assert_ptr_equal(tn_image_type(image, "link"), link);
    assert_ptr_equal(tn_image_type(image, "frozen"), ice);
    tn_managed_begin();
    for (const struct link *at = tn_handle_object(list); at; at = at->next) {
        uintptr_t type = ((const uintptr_t *)at)[-1] & ~(uintptr_t)15;
        links += type == (uintptr_t)link;
        frozen += type == (uintptr_t)ice;
    }
    tn_managed_end();
    assert_true(links == LINKS && frozen == FROZEN);
    tn_handle_free(list);
}

/* Stores an object of the heap into the first one of the list. */
static void store(struct tn_heap *heap, const struct tn_image *image)
{
    struct tn_handle *list = saved_root(heap, image), *made = saved_link(heap, tn_image_type(image, "link"), 7, NULL);
    assert_int_equal(tn_handle_store(list, offsetof(struct link, other), made, &err), 0);
    tn_handle_free(made);
    tn_heap_collect(heap, 0);
    assert_int_equal(tn_handle_load(list, offsetof(struct link, other), list, &err), 0);
    uint64_t count;
    assert_true(saved_sum(list, &count) == 7);
    tn_handle_free(list);
}

/* Whichever is opened first, wherever they lie, and whether or not it is closed meanwhile. */
static void the_first_image_has_the_type(void **state)
{
    const char *paths[] = {saved_path("first"), saved_path("second")};
    (void)state;
    make(paths[0], "first", &link_type, 10);
    make(paths[1], "second", &link_type, 20);
    for (unsigned way = 0; way < 16; way++) {
        struct tn_heap *heap = saved_heap();
        unsigned first = way & 1;
        bool is_closed = way & 8;
        struct tn_image *one = load(heap, paths[first], NULL, 0, way & 2 ? TN_IMAGE_RELOCATE : 0);
        struct tn_image_memory before = zones_memory(one);
        if (!(way & 2))
            assert_true(before.written == 0);
        const struct tn_type *link = tn_image_type(one, "link");
        if (is_closed)
            tn_image_close(one);
        struct tn_image *other = load(heap, paths[!first], NULL, 0, way & 4 ? TN_IMAGE_RELOCATE : TN_IMAGE_VERIFY);
        assert_ptr_equal(tn_image_type(other, "link"), link);
        if (!(way & 4))
            assert_int_equal(zones_memory(other).written, LINKS + FROZEN);
        if (!is_closed) {
            assert_int_equal(zones_memory(one).written, before.written);
            check(heap, one, one, first ? 20 : 10);
            check(heap, other, one, first ? 10 : 20);
            store(heap, one);
        }
        store(heap, other);
        tn_heap_destroy(heap);
        if (!is_closed)
            tn_image_close(one);
        tn_image_close(other);
    }
    unlink(paths[0]);
    unlink(paths[1]);
}

static void other_layouts_are_refused(void **state)
{
    const char *paths[] = {saved_path("narrow"), saved_path("wide")};
    struct tn_image *image = NULL;
    (void)state;
    make(paths[0], "narrow", &link_type, 1);
    make(paths[1], "wide", &wide_type, 1);
    struct tn_heap *heap = saved_heap();
    struct tn_image *one = load(heap, paths[0], NULL, 0, 0);
    size_t before = saved_mappings();
    const struct tn_image_load_options options = saved_options(heap);
    assert_int_equal(tn_image_open(paths[1], &options, &image, &err), TN_EDUP);
    assert_string_equal(err.text, "wide: the image 'narrow' has a type 'link' too, and 'size' differs (32 and 24)");
    assert_null(image);
    assert_true(saved_mappings() <= before + 1);
    check(heap, one, one, 1);
    tn_heap_collect(heap, 0);
    tn_heap_destroy(heap);
    tn_image_close(one);
    heap = saved_heap();
    tn_image_close(load(heap, paths[1], NULL, 0, 0)); /* nothing of it was left */
    tn_heap_destroy(heap);
    unlink(paths[0]);
    unlink(paths[1]);
}

/* An image on top of the second one has objects of that one's types, and is led to the first one too. */
static void images_on_top_are_led_with_it(void **state)
{
    const char *paths[] = {saved_path("a"), saved_path("b"), saved_path("c")};
    (void)state;
    make(paths[0], "a", &link_type, 1);
    make(paths[1], "b", &link_type, 2);
    for (int saved_beside = 0; saved_beside < 2; saved_beside++) {
        struct tn_heap *heap = saved_heap();
        struct tn_image *a = saved_beside ? load(heap, paths[0], NULL, 0, 0) : NULL;
        struct tn_image *b = load(heap, paths[1], NULL, 0, 0);
        struct tn_handle *list = NULL;
        for (int i = 0; i < LINKS + FROZEN; i++)
            list = saved_link(heap, tn_image_type(b, i < FROZEN ? "frozen" : "link"), 3, list);
        const struct tn_save_options options = {.size = sizeof options,
                                                .name = "c",
                                                .images = &b,
                                                .image_count = 1,
                                                .types = rows,
                                                .type_count = 1,
                                                .flags = TN_SAVE_STRICT};
        struct tn_save_stats stats = {.size = sizeof stats};
        assert_int_equal(saved_write(heap, &options, list, &stats, paths[2]), 0);
        assert_true(stats.types == 0); /* it uses those of b */
        tn_heap_destroy(heap);
        tn_image_close(b);
        tn_image_close(a);
        for (unsigned way = 0; way < 8; way++) {
            heap = saved_heap();
            a = way & 1 ? load(heap, paths[0], NULL, 0, 0) : NULL;
            b = load(heap, paths[1], NULL, 0, way & 2 ? TN_IMAGE_RELOCATE : 0);
            struct tn_image *c = load(heap, paths[2], &b, 1, way & 4 ? TN_IMAGE_RELOCATE : TN_IMAGE_VERIFY);
            struct tn_handle *top = saved_root(heap, c);
            uint64_t count;
            assert_true(saved_sum(top, &count) == 3 * (LINKS + FROZEN));
            tn_managed_begin();
            uintptr_t type = ((const uintptr_t *)tn_handle_object(top))[-1] & ~(uintptr_t)15;
            tn_managed_end();
            assert_ptr_equal(type, tn_image_type(a ? a : b, "link"));
            check(heap, b, a ? a : b, 2);
            if (way == 1)
                assert_int_equal(zones_memory(c).written, LINKS + FROZEN);
            tn_heap_collect(heap, 0);
            tn_heap_destroy(heap);
            tn_image_close(c);
            tn_image_close(b);
            tn_image_close(a);
        }
    }
    for (int i = 0; i < 3; i++)
        unlink(paths[i]);
}

/* With a base in common, nothing is written. */
static void a_common_base_is_the_cure(void **state)
{
    const char *paths[] = {saved_path("base"), saved_path("one"), saved_path("two")};
    struct tn_image *images[3] = {NULL};
    (void)state;
    make(paths[0], "base", &link_type, 1);
    for (int i = 1; i < 3; i++) {
        struct tn_heap *heap = saved_heap();
        struct tn_image *base = load(heap, paths[0], NULL, 0, 0);
        struct tn_handle *list = saved_link(heap, tn_image_type(base, "link"), 5, NULL);
        const struct tn_save_options options = {
            .size = sizeof options, .name = paths[i], .images = &base, .image_count = 1};
        assert_int_equal(saved_write(heap, &options, list, NULL, paths[i]), 0);
        tn_heap_destroy(heap);
        tn_image_close(base);
    }
    struct tn_heap *heap = saved_heap();
    for (int i = 0; i < 3; i++) {
        images[i] = load(heap, paths[i], images, i > 0, 0);
        assert_int_equal(zones_memory(images[i]).written, 0);
    }
    tn_heap_destroy(heap);
    for (int i = 3; i-- > 0;) {
        tn_image_close(images[i]);
        unlink(paths[i]);
    }
}

/* ---- what fails ---- */

static struct {
    struct tn_heap *heap;
    const char *path;
    struct tn_image *image;
} nested;

/* Opens another image while this one is being opened, and then refuses this one. */
static int open_another(struct tn_image *image, struct tn_error *error)
{
    struct tn_heap *heap = nested.heap;
    (void)image;
    if (!heap)
        return 0;
    nested.heap = NULL;
    nested.image = load(heap, nested.path, NULL, 0, TN_IMAGE_VERIFY);
    *error = (struct tn_error){.code = TN_EIO, .text = "it was refused"};
    return TN_EIO;
}

TN_RESTORE(open_another, 1);

/* An image whose types another one has got stays in memory, even if it was not opened in the end. */
static void what_is_used_stays(void **state)
{
    const char *paths[] = {saved_path("undone"), saved_path("stays")};
    struct tn_image *image = NULL;
    (void)state;
    make(paths[0], "undone", &link_type, 1);
    make(paths[1], "stays", &link_type, 2);
    struct tn_heap *heap = saved_heap();
    const struct tn_image_load_options options = saved_options(heap);
    size_t before = saved_mappings();
    nested.heap = heap;
    nested.path = paths[1];
    assert_int_equal(tn_image_open(paths[0], &options, &image, &err), TN_EIO);
    assert_null(image);
    assert_int_equal(zones_memory(nested.image).written, LINKS + FROZEN);
    tn_heap_collect(heap, 0);
    check(heap, nested.image, nested.image, 2);
    store(heap, nested.image);
    image = load(heap, paths[0], NULL, 0, TN_IMAGE_VERIFY); /* once more, and elsewhere */
    assert_true(zones_memory(image).address != zones_memory(image).intended);
    check(heap, image, nested.image, 1);
    tn_heap_destroy(heap);
    tn_image_close(image);
    tn_image_close(nested.image);
    assert_true(saved_mappings() <= before + 1);
    unlink(paths[0]);
    unlink(paths[1]);
}

/* Each allocation and each request of the system fails in turn. */
static void every_failure_is_an_error(void **state)
{
    const char *paths[] = {saved_path("good"), saved_path("faults")};
    (void)state;
    make(paths[0], "good", &link_type, 1);
    make(paths[1], "faults", &link_type, 2);
    struct tn_heap *heap = saved_heap();
    struct tn_image *one = load(heap, paths[0], NULL, 0, 0);
    int refused[2] = {0}, unprotected = 0;
    for (int kind = 0; kind < 2; kind++)
        for (int at = 1; at < 30; at++) {
            const struct tn_image_load_options options = saved_options(heap);
            struct tn_image *image = NULL;
            char plan[100] = "";
            if (kind == 0)
                snprintf(plan, sizeof plan, "a%d", at);
            for (int i = 1; kind == 1 && i < at; i++)
                strcat(plan, ". ");
            strcat(plan, kind == 1 ? "F" : "");
            assert_int_equal(tn__os_set_faults(plan), 0);
            int code = tn_image_open(paths[1], &options, &image, &err);
            tn__os_set_faults(NULL);
            check(heap, one, one, 1);
            refused[kind] += code != 0;
            unprotected += code && strstr(err.text, "faults: cannot protect its objects");
            if (code) {
                assert_true(code == TN_ENOMEM || code == TN_EIO || code == TN_EPERM);
                assert_null(image);
            } else {
                check(heap, image, one, 2);
                tn_image_close(image);
                tn_heap_destroy(heap);
                tn_image_close(one);
                heap = saved_heap();
                one = load(heap, paths[0], NULL, 0, 0);
            }
        }
    assert_true(refused[0] >= 2 && refused[1] >= 6 && unprotected == 2);
    tn_heap_destroy(heap);
    tn_image_close(one);
    unlink(paths[0]);
    unlink(paths[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_image_has_the_type),
        cmocka_unit_test(other_layouts_are_refused),
        cmocka_unit_test(images_on_top_are_led_with_it),
        cmocka_unit_test(a_common_base_is_the_cure),
        cmocka_unit_test(what_is_used_stays),
        cmocka_unit_test(every_failure_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
