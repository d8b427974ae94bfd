/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What is saved, and what is refused. Random graphs are in graphs.c. */

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "saved.h"

static const struct tn_type frozen_type = {
    .name = "frozen", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link), .references = 3};
static const struct tn_type other_link_type = {
    .name = "link", .kind = TN_KIND_FIXED, .alignment = 16, .size = sizeof(struct link), .references = 3};
static const struct tn_type nameless_type = {
    .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link), .references = 3};
static const struct tn_type big_type = {
    .name = "big", .kind = TN_KIND_LEAF, .alignment = 8, .size = 8, .element = 1, .length = 0};

static struct tn_save_options options_of(const struct tn_save_type *rows, size_t count)
{
    return (struct tn_save_options){
        .size = sizeof(struct tn_save_options), .name = "saved", .types = rows, .type_count = count};
}

static struct tn_handle *list_of(struct tn_heap *heap, uint64_t count)
{
    struct tn_handle *list = NULL;
    for (uint64_t i = 0; i < count; i++)
        list = saved_link(heap, &link_type, i, list);
    return list;
}

static uint64_t value_at(const struct tn_handle *handle, uint64_t offset)
{
    uint64_t value;
    assert_int_equal(tn_handle_read(handle, offset, &value, 8, &err), 0);
    return value;
}

/* ---- what is saved ---- */

/* Much deeper than stacks are. DEEP=10000000 in the environment for the largest. */
static void deep_lists_take_no_stack(void **state)
{
    uint64_t length = getenv("DEEP") ? strtoull(getenv("DEEP"), NULL, 10) : 300000, count;
    struct tn_heap *heap;
    struct tn_image *image;
    (void)state;
    assert_int_equal(tn_heap_create(NULL, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    struct tn_handle *list = list_of(heap, length);
    struct tn_save_options options = options_of(NULL, 0);
    struct tn_save_stats stats = {.size = sizeof stats};
    const char *path = saved_path("deep");
    assert_int_equal(saved_write(heap, &options, list, &stats, path), 0);
    assert_int_equal(stats.objects, length);
    assert_int_equal(stats.types, 2);
    tn_heap_destroy(heap);
    heap = saved_heap();
    struct tn_image_load_options load = saved_options(heap);
    load.flags = TN_IMAGE_VERIFY;
    assert_int_equal(tn_image_open(path, &load, &image, &err), 0);
    list = saved_root(heap, image);
    assert_int_equal(saved_sum(list, &count), length * (length - 1) / 2);
    assert_int_equal(count, length);
    tn_heap_destroy(heap);
    tn_image_close(image);
    unlink(path);
}

/* Equal heaps, whatever the order of their roots, give equal bytes; another value other ones, and another address. */
static void equal_heaps_give_equal_files(void **state)
{
    uint8_t *files[4];
    size_t sizes[4];
    uint64_t bases[4];
    (void)state;
    for (uint64_t i = 0; i < 4; i++) {
        struct tn_heap *heap = saved_heap();
        struct tn_handle *garbage = list_of(heap, 10 * i), *list = list_of(heap, 100),
                         *other = list_of(heap, 7 + i / 3);
        struct tn_save_options options = options_of(NULL, 0);
        struct tn_save_stats stats = {.size = sizeof stats};
        struct tn_save *save;
        assert_int_equal(tn_save_create(heap, &options, &save, &err), 0);
        assert_int_equal(tn_save_root(save, i % 2 ? "b" : "a", i % 2 ? other : list, &err), 0);
        assert_int_equal(tn_save_root(save, i % 2 ? "a" : "b", i % 2 ? list : other, &err), 0);
        tn_handle_free(list);
        tn_handle_free(garbage);
        tn_heap_collect(heap, 0);
        assert_int_equal(tn_save_take(save, &stats, &err), 0);
        tn_heap_destroy(heap); /* the copies do not need it */
        const char *path = saved_path("equal");
        assert_int_equal(tn_save_write(save, path, &err), 0);
        assert_int_equal(tn_save_write(save, path, &err), 0);
        tn_save_destroy(save);
        files[i] = saved_read(path, &sizes[i]);
        assert_int_equal(sizes[i], stats.bytes);
        bases[i] = stats.base;
        unlink(path);
    }
    for (int i = 1; i < 3; i++)
        assert_true(sizes[i] == sizes[0] && memcmp(files[i], files[0], sizes[0]) == 0);
    assert_true(bases[3] != bases[0]);
    for (int i = 0; i < 4; i++)
        free(files[i]);
}

/* Objects above 64 KiB begin on a page, and nothing else is there. */
static void large_objects_have_pages(void **state)
{
    struct tn_heap *heap = saved_heap();
    struct tn_handle *big, *list = list_of(heap, 3);
    struct tn_image *image;
    (void)state;
    assert_int_equal(tn_handle_new(heap, &big_type, 70000, &big, &err), 0);
    assert_int_equal(tn_handle_write(big, 8 + 69999, "x", 1, &err), 0);
    assert_int_equal(tn_handle_store(list, offsetof(struct link, other), big, &err), 0);
    struct tn_save_options options = options_of(NULL, 0);
    const char *path = saved_path("large");
    assert_int_equal(saved_write(heap, &options, list, NULL, path), 0);
    tn_heap_destroy(heap);
    heap = saved_heap();
    struct tn_image_load_options load = saved_options(heap);
    assert_int_equal(tn_image_open(path, &load, &image, &err), 0);
    list = saved_root(heap, image);
    tn_managed_begin();
    const struct link *first = tn_handle_object(list);
    assert_int_equal((uintptr_t)first->other % 4096, 8);
    assert_int_equal(((const char *)first->other)[8 + 69999], 'x');
    assert_true((uintptr_t)first->next / 4096 == (uintptr_t)first / 4096);
    tn_managed_end();
    tn_heap_destroy(heap);
    tn_image_close(image);
    unlink(path);
}

/* Neither what only weak references lead to is saved, nor values of keys that no root reaches; a value that keeps the
 * key of another ephemeron alive is, and that one's value. */
static void weak_references_keep_nothing(void **state)
{
    enum { CHAIN = 20 };
    struct tn_heap *heap = saved_heap();
    struct tn_handle *list = list_of(heap, 1), *weak, *dead = list_of(heap, 1), *pairs[CHAIN], *keys[CHAIN + 1];
    struct tn_save_options options = options_of(NULL, 0);
    struct tn_save_stats stats = {.size = sizeof stats};
    (void)state;
    assert_int_equal(tn_handle_new(heap, &tn_weak_type, 0, &weak, &err), 0);
    assert_int_equal(tn_handle_store(weak, 0, dead, &err), 0);
    assert_int_equal(tn_handle_store(list, offsetof(struct link, other), weak, &err), 0);
    assert_int_equal(saved_write(heap, &options, list, &stats, NULL), 0);
    assert_int_equal(stats.objects, 2);
    for (size_t i = 0; i <= CHAIN; i++)
        keys[i] = list_of(heap, 1);
    for (size_t i = 0; i < CHAIN; i++) { /* in the list, the last one comes first */
        assert_int_equal(tn_handle_new(heap, &tn_ephemeron_type, 0, &pairs[i], &err), 0);
        assert_int_equal(tn_handle_store(pairs[i], 0, keys[i], &err), 0);
        assert_int_equal(tn_handle_store(pairs[i], 8, keys[i + 1], &err), 0);
        list = saved_link(heap, &link_type, 1, list);
        assert_int_equal(tn_handle_store(list, offsetof(struct link, other), pairs[i], &err), 0);
    }
    assert_int_equal(saved_write(heap, &options, list, &stats, NULL), 0);
    assert_int_equal(stats.objects, 2 + 2 * CHAIN);
    list = saved_link(heap, &link_type, 1, list);
    assert_int_equal(tn_handle_store(list, offsetof(struct link, other), keys[0], &err), 0);
    assert_int_equal(saved_write(heap, &options, list, &stats, NULL), 0);
    assert_int_equal(stats.objects, 2 + 2 * CHAIN + 1 + CHAIN + 1);
    tn_heap_destroy(heap);
}

/* ---- words ---- */

struct record {
    struct link *link;
    uint64_t address, zero, number;
};

static const struct tn_type record_type = {
    .name = "record", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct record), .references = 1};
static const struct tn_save_word record_words[] = {{offsetof(struct record, address), TN_SAVE_ADDRESS},
                                                   {offsetof(struct record, zero), TN_SAVE_ZERO}};

static char target[64];

static int name_target(void *context, const void *address, struct tn_save_name *out)
{
    (void)context;
    *out = (struct tn_save_name){"target", (uint64_t)((const char *)address - target)};
    return (uintptr_t)address - (uintptr_t)target >= sizeof target;
}

static void *find_target(void *context, const char *name)
{
    return strcmp(name, "target") == 0 ? context : NULL;
}

static int suspects;
static char last_path[600];

static void note_suspect(void *context, const struct tn_save_suspect *suspect)
{
    (void)context;
    suspects++;
    snprintf(last_path, sizeof last_path, "%s +%d of %s", suspect->path, (int)suspect->offset, suspect->type);
    assert_int_equal(suspect->value, (uintptr_t)&suspects);
}

static struct tn_handle *make_record(struct tn_heap *heap, uint64_t address, uint64_t zero, uint64_t number)
{
    struct tn_handle *record, *list = list_of(heap, 2);
    assert_int_equal(tn_handle_new(heap, &record_type, 0, &record, &err), 0);
    assert_int_equal(tn_handle_write(record, offsetof(struct record, address), &address, 8, &err), 0);
    assert_int_equal(tn_handle_write(record, offsetof(struct record, zero), &zero, 8, &err), 0);
    assert_int_equal(tn_handle_write(record, offsetof(struct record, number), &number, 8, &err), 0);
    assert_int_equal(tn_handle_store(record, 0, list, &err), 0);
    return record;
}

static void declared_words_are_not_copied(void **state)
{
    const struct tn_save_type rows[] = {
        {.size = sizeof *rows, .type = &record_type, .words = record_words, .word_count = 2}};
    struct tn_heap *heap = saved_heap();
    struct tn_handle *record = make_record(heap, (uintptr_t)target + 40, (uintptr_t)target, 5);
    struct tn_save_options options = options_of(rows, 1);
    struct tn_save_stats stats = {.size = sizeof stats};
    const char *path = saved_path("words");
    static char elsewhere[64];
    struct tn_image *image;
    (void)state;
    options.flags = TN_SAVE_STRICT;
    assert_int_equal(saved_write(heap, &options, record, &stats, path), TN_EUNDEF);
    assert_non_null(strstr(err.text, "root 'root': the address"));
    options.name_of = name_target;
    assert_int_equal(saved_write(heap, &options, record, &stats, path), 0);
    assert_int_equal(stats.suspects, 0);
    tn_heap_destroy(heap);
    heap = saved_heap();
    struct tn_image_load_options load = saved_options(heap);
    assert_int_equal(tn_image_open(path, &load, &image, &err), TN_EUNDEF);
    assert_non_null(strstr(err.text, "target"));
    load.resolver = find_target;
    load.context = elsewhere;
    assert_int_equal(tn_image_open(path, &load, &image, &err), 0);
    record = saved_root(heap, image);
    assert_true(value_at(record, offsetof(struct record, address)) == (uintptr_t)elsewhere + 40);
    assert_int_equal(value_at(record, offsetof(struct record, zero)), 0);
    assert_int_equal(value_at(record, offsetof(struct record, number)), 5);
    tn_heap_destroy(heap);
    tn_image_close(image);
    unlink(path);
}

static void undeclared_addresses_are_reported(void **state)
{
    struct tn_heap *heap = saved_heap();
    struct tn_handle *record = make_record(heap, 0, UINT64_MAX, 3), *list;
    struct tn_save_options options = options_of(NULL, 0);
    struct tn_save_stats stats = {.size = sizeof stats};
    uint64_t address = (uintptr_t)&suspects;
    (void)state;
    assert_int_equal(tn_handle_of(heap, NULL, &list, &err), 0);
    assert_int_equal(tn_handle_load(record, 0, list, &err), 0);
    assert_int_equal(tn_handle_load(list, 0, list, &err), 0);
    assert_int_equal(tn_handle_write(list, offsetof(struct link, value), &address, 8, &err), 0);
    options.suspect = note_suspect;
    assert_int_equal(saved_write(heap, &options, record, &stats, NULL), 0);
    assert_true(suspects == 1 && stats.suspects == 1);
    assert_string_equal(last_path, "root 'root': +0 of 'record': +0 of 'link' +16 of link");
    options.flags = TN_SAVE_STRICT;
    assert_int_equal(saved_write(heap, &options, record, NULL, NULL), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "root 'root': +0 of 'record': +0 of 'link': +16 of 'link' is 0x"));
    tn_heap_destroy(heap);
}

/* ---- what cannot be saved ---- */

static void nothing(void *context, struct tn_handle *object)
{
    (void)context;
    (void)object;
}

static int clear_other(void *context, const void *object, void *copy, struct tn_error *error)
{
    (void)error;
    assert_true(((const struct link *)object)->value == ((struct link *)copy)->value);
    ((struct link *)copy)->other = NULL;
    ((struct link *)copy)->value += 100;
    return *(int *)context;
}

static void finalizers_and_refusals_are_errors(void **state)
{
    struct tn_save_type rows[] = {{.size = sizeof *rows, .type = &frozen_type, .flags = TN_SAVE_REFUSE},
                                  {.size = sizeof *rows, .type = &link_type}};
    struct tn_heap *heap = saved_heap();
    struct tn_handle *list = list_of(heap, 9), *refused = saved_link(heap, &frozen_type, 1, NULL);
    struct tn_save_options options = options_of(rows, 2);
    struct tn_save_stats stats = {.size = sizeof stats};
    int code = 0;
    (void)state;
    options.context = &code;
    assert_int_equal(tn_handle_finalize(list, nothing, NULL, &err), 0);
    assert_int_equal(saved_write(heap, &options, list, NULL, NULL), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "saved: root 'root': the object has a finalizer"));
    rows[1].flags = TN_SAVE_DROP_FINALIZER;
    assert_int_equal(saved_write(heap, &options, list, NULL, NULL), 0);
    assert_int_equal(tn_handle_store(list, offsetof(struct link, other), refused, &err), 0);
    assert_int_equal(saved_write(heap, &options, list, NULL, NULL), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "root 'root': +8 of 'link': objects of this type cannot be saved"));
    rows[1].prepare = clear_other; /* which clears what led there, */
    assert_int_equal(saved_write(heap, &options, list, &stats, NULL), 0);
    assert_int_equal(stats.objects, 9);
    rows[1].prepare = NULL;
    rows[0].prepare = clear_other; /* or makes something else of the object */
    assert_int_equal(saved_write(heap, &options, list, &stats, NULL), 0);
    assert_int_equal(stats.objects, 10);
    code = TN_EIO;
    assert_int_equal(saved_write(heap, &options, list, &stats, NULL), TN_EIO);
    assert_int_equal(value_at(refused, offsetof(struct link, value)), 1);
    tn_heap_destroy(heap);
}

static void types_of_one_name_are_alike(void **state)
{
    struct tn_heap *heap = saved_heap();
    struct tn_save_options options = options_of(NULL, 0);
    struct tn_handle *list = saved_link(heap, &other_link_type, 1, list_of(heap, 2));
    (void)state;
    assert_int_equal(saved_write(heap, &options, list, NULL, NULL), TN_EDUP);
    assert_non_null(strstr(err.text, "two types are called 'link', and 'alignment' differs"));
    const struct tn_save_type row = {.size = sizeof row, .type = &other_link_type, .name = "another"};
    options = options_of(&row, 1);
    assert_int_equal(saved_write(heap, &options, list, NULL, NULL), 0);
    list = saved_link(heap, &nameless_type, 1, list);
    assert_int_equal(saved_write(heap, &options, list, NULL, NULL), TN_EUNDEF);
    tn_heap_destroy(heap);
}

static void bad_arguments_are_refused(void **state)
{
    struct tn_heap *heap = saved_heap(), *other;
    struct tn_handle *list = list_of(heap, 1);
    struct tn_save *save;
    static const struct tn_save_word outside[] = {{24, TN_SAVE_ZERO}}, unknown[] = {{16, 2}}, odd[] = {{12, 0}};
    const struct tn_save_type rows[] = {
        {.size = sizeof *rows, .type = &link_type, .words = outside, .word_count = 1},
        {.size = sizeof *rows, .type = &link_type, .words = unknown, .word_count = 1},
        {.size = sizeof *rows, .type = &link_type, .words = odd, .word_count = 1},
        {.size = sizeof *rows, .type = NULL},
        {.size = sizeof *rows, .type = &link_type, .flags = 16},
        {.size = sizeof *rows - 8, .type = &link_type},
    };
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct tn_save_options options = options_of(&rows[i], 1);
        assert_int_equal(tn_save_create(heap, &options, &save, &err), TN_EINVAL);
        assert_null(save);
    }
    const struct tn_save_options bad[] = {
        {.size = sizeof *bad},
        {.size = sizeof *bad, .name = ""},
        {.size = sizeof *bad, .name = "x", .flags = 2},
        {.size = sizeof *bad, .name = "x", .base = 4095},
        {.size = sizeof *bad, .name = "x", .base = UINT64_C(1) << 47},
        {.size = sizeof *bad, .name = "x", .page_size = 2048},
        {.size = sizeof *bad, .name = "x", .page_size = 12288},
        {.size = sizeof *bad, .name = "x", .type_count = 1},
        {.size = sizeof *bad, .name = "x", .image_count = 1},
    };
    for (size_t i = 0; i < TN_COUNT(bad); i++)
        assert_int_equal(tn_save_create(heap, &bad[i], &save, &err), TN_EINVAL);
    assert_int_equal(tn_heap_create(NULL, &other, &err), 0);
    const struct tn_save_options good = options_of(NULL, 0);
    assert_int_equal(tn_save_create(other, &good, &save, &err), 0);
    assert_int_equal(tn_save_root(save, "a", list, &err), TN_EINVAL);
    tn_save_destroy(save);
    assert_int_equal(tn_save_create(heap, &good, &save, &err), 0);
    assert_int_equal(tn_save_write(save, saved_path("none"), &err), TN_EINVAL);
    assert_int_equal(tn_save_root(save, "a", list, &err), 0);
    assert_int_equal(tn_save_root(save, "a", list, &err), TN_EDUP);
    assert_int_equal(tn_save_take(save, NULL, &err), 0);
    assert_int_equal(tn_save_take(save, NULL, &err), TN_EINVAL);
    assert_int_equal(tn_save_root(save, "b", list, &err), TN_EINVAL);
    assert_int_equal(tn_save_write(save, "/nowhere/at/all", &err), TN_EIO);
    assert_int_equal(tn_save_write(save, NULL, &err), TN_EINVAL);
    tn_save_destroy(save);
    tn_save_destroy(NULL);
    tn_heap_destroy(other);
    tn_heap_destroy(heap);
}

/* ---- what is refused by the system ---- */

/* Each allocation, and each request to the system, fails once: the error is one, and the next attempt succeeds. */
static void every_failure_is_an_error(void **state)
{
    static const struct tn_save_type rows[] = {
        {.size = sizeof *rows, .type = &record_type, .words = record_words, .word_count = 2},
        {.size = sizeof *rows, .type = &link_type, .prepare = clear_other}};
    struct tn_heap *heap = saved_heap();
    struct tn_handle *record = make_record(heap, (uintptr_t)target, 0, 5);
    struct tn_save_options options = options_of(rows, 2);
    const char *path = saved_path("faults");
    int done = 0, none = 0;
    (void)state;
    options.name_of = name_target;
    options.suspect = note_suspect;
    options.context = &none;
    size_t before = saved_mappings();
    for (int kind = 0; kind < 2; kind++, done = 0)
        for (int at = 1; !done; at++) {
            char plan[256] = "";
            assert_true(at < 120);
            if (kind == 0)
                snprintf(plan, sizeof plan, "a%d", at);
            for (int i = 1; kind == 1 && i < at; i++)
                strcat(plan, ". ");
            strcat(plan, kind == 1 ? "F" : "");
            unlink(path);
            assert_int_equal(tn__os_set_faults(plan), 0);
            int code = saved_write(heap, &options, record, NULL, path);
            tn__os_set_faults(NULL);
            done = code == 0;
            if (code) {
                assert_true(code == TN_ENOMEM || code == TN_EIO);
                assert_int_equal(access(path, F_OK), -1);
            }
        }
#ifndef __SANITIZE_ADDRESS__                     /* which keeps what was freed */
    assert_true(saved_mappings() <= before + 4); /* those of the allocator */
#else
    (void)before;
#endif
    assert_int_equal(unlink(path), 0);
    tn_heap_destroy(heap);
}

/* The old file stays as it is until the new one is complete. */
static void files_are_replaced(void **state)
{
    struct tn_heap *heap = saved_heap();
    struct tn_handle *list = list_of(heap, 5);
    struct tn_save_options options = options_of(NULL, 0);
    struct stat first, second;
    const char *path = saved_path("replaced");
    (void)state;
    saved_store(path, "old", 3);
    assert_int_equal(stat(path, &first), 0);
    assert_int_equal(saved_write(heap, &options, list, NULL, path), 0);
    assert_int_equal(stat(path, &second), 0);
    assert_true(first.st_ino != second.st_ino && second.st_size > 4096);
    unlink(path);
    tn_heap_destroy(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_lists_take_no_stack),
        cmocka_unit_test(equal_heaps_give_equal_files),
        cmocka_unit_test(large_objects_have_pages),
        cmocka_unit_test(weak_references_keep_nothing),
        cmocka_unit_test(declared_words_are_not_copied),
        cmocka_unit_test(undeclared_addresses_are_reported),
        cmocka_unit_test(finalizers_and_refusals_are_errors),
        cmocka_unit_test(types_of_one_name_are_alike),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(every_failure_is_an_error),
        cmocka_unit_test(files_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
