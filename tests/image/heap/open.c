/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Opening images with objects: where they lie, how long they stay, and what the system refuses. */

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "zones.h"

/* ---- where it lies ---- */

/* At its intended address, and elsewhere if something is there; from files and from memory. */
static void what_is_taken_is_not_replaced(void **state)
{
    const char *path = saved_path("open");
    struct tn_image *first, *second, *third;
    size_t size;
    (void)state;
    zones_make(path, "open");
    struct tn_heap *heap = saved_heap();
    struct tn_image_load_options options = zones_options(heap, TN_IMAGE_VERIFY);
    assert_int_equal(tn_image_open(path, &options, &first, &err), 0);
    assert_int_equal(tn_image_open(path, &options, &second, &err), 0);
    uint8_t *bytes = saved_read(path, &size);
    assert_int_equal(tn_image_open_memory("memory", bytes, size, &options, &third, &err), 0);
    free(bytes);
    assert_true(zones_memory(first).address == zones_memory(first).intended);
    assert_true(zones_memory(first).written < 10 && zones_memory(second).written > 10);
    assert_true(zones_memory(second).address != zones_memory(first).address);
    assert_true(zones_memory(second).intended == zones_memory(first).address);
    zones_check(heap, first);
    zones_check(heap, second);
    zones_check(heap, third);
    struct tn_handle *one = saved_root(heap, first), *other = saved_root(heap, second);
    assert_true(tn_handle_hash(one) == tn_handle_hash(other));
    tn_image_close(second);
    tn_heap_collect(heap, 0);
    zones_check(heap, first);
    tn_heap_destroy(heap);
    tn_image_close(third);
    tn_image_close(first);
    heap = saved_heap();
    options.heap = heap;
    options.flags |= TN_IMAGE_RELOCATE;
    assert_int_equal(tn_image_open(path, &options, &first, &err), 0);
    assert_true(zones_memory(first).address != zones_memory(first).intended);
    zones_check(heap, first);
    tn_heap_destroy(heap);
    tn_image_close(first);
    unlink(path);
}

/* Whether it was asked for before the objects were saved, or by a process that opened the image. */
static void hashes_are_kept(void **state)
{
    const char *path = saved_path("hash"), *again = saved_path("hash-again");
    struct tn_heap *heap = saved_heap();
    struct tn_handle *list = saved_link(heap, &link_type, 1, saved_link(heap, &link_type, 2, NULL));
    struct tn_save_options options = {.size = sizeof options, .name = "hash"};
    struct tn_image *image;
    uint64_t hashes[2] = {tn_handle_hash(list)};
    (void)state;
    assert_int_equal(saved_write(heap, &options, list, NULL, path), 0);
    tn_heap_destroy(heap);
    for (int i = 0; i < 3; i++) {
        heap = saved_heap();
        struct tn_image_load_options load = zones_options(heap, i == 1 ? TN_IMAGE_RELOCATE : 0);
        assert_int_equal(tn_image_open(i == 0 ? path : again, &load, &image, &err), 0);
        list = saved_root(heap, image);
        assert_true(tn_handle_hash(list) == hashes[0]);
        struct tn_handle *next = saved_root(heap, image);
        assert_int_equal(tn_handle_load(list, 0, next, &err), 0);
        if (i == 0)
            hashes[1] = tn_handle_hash(next);
        assert_true(tn_handle_hash(next) == hashes[1]);
        options.name = "again";
        if (i == 0)
            assert_int_equal(saved_write(heap, &options, list, NULL, again), 0);
        tn_heap_destroy(heap);
        tn_image_close(image);
    }
    unlink(path);
    unlink(again);
}

static void base_is_kept(void **state)
{
    struct tn_heap *heap = saved_heap();
    struct tn_save_options options = {
        .size = sizeof options, .name = "based", .base = UINT64_C(0x1234500000), .page_size = 4096};
    struct tn_handle *list = saved_link(heap, &link_type, 4, NULL);
    const char *path = saved_path("base");
    struct tn_image *image;
    (void)state;
    assert_int_equal(saved_write(heap, &options, list, NULL, path), 0);
    struct tn_image_load_options load = zones_options(heap, 0);
    assert_int_equal(tn_image_open(path, &load, &image, &err), 0);
    assert_true(zones_memory(image).intended == options.base + 4096);
    tn_image_close(image);
    tn_heap_destroy(heap);
    unlink(path);
}

/* Frozen objects cannot be written. */
static void write_into(struct tn_heap *heap, const struct tn_image *image, const char *type)
{
    struct tn_handle *list = saved_root(heap, image);
    tn_managed_begin();
    for (struct link *link = tn_handle_object(list); link; link = link->next) {
        const struct tn_type *of = (const struct tn_type *)(((uintptr_t *)link)[-1] & ~(uintptr_t)15);
        if (strcmp(of->name, type) == 0) {
            *(volatile uint64_t *)&link->value = 1;
            _exit(77);
        }
    }
    _exit(1);
}

static void frozen_objects_are_read_only(void **state)
{
    static const struct {
        const char *type;
        int signal;
    } cases[] = {{"frozen", SIGSEGV}, {"custom", SIGSEGV}, {"host", 0}, {"link", 0}};
    const char *path = saved_path("frozen");
    (void)state;
    zones_make(path, "frozen");
    for (uint64_t flags = 0; flags <= TN_IMAGE_RELOCATE; flags += TN_IMAGE_RELOCATE)
        for (size_t i = 0; i < TN_COUNT(cases); i++) {
            int status;
            pid_t child = fork();
            if (!child) {
                signal(SIGSEGV, SIG_DFL);
                struct tn_heap *heap = saved_heap();
                struct tn_image *image;
                struct tn_image_load_options options = zones_options(heap, flags);
                if (tn_image_open(path, &options, &image, &err))
                    _exit(2);
                write_into(heap, image, cases[i].type);
            }
            assert_int_equal(waitpid(child, &status, 0), child);
#ifdef __SANITIZE_ADDRESS__
            assert_true(cases[i].signal ? WIFSIGNALED(status) || WEXITSTATUS(status) == 1 : WEXITSTATUS(status) == 77);
#else
            assert_true(cases[i].signal ? WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV
                                        : WIFEXITED(status) && WEXITSTATUS(status) == 77);
#endif
        }
    unlink(path);
}

/* ---- what the program does then ---- */

static char order[8];
static int restore_fails = -1;
static const struct tn_image *restored;

static int note(struct tn_image *image, char letter, struct tn_error *error)
{
    size_t length = strlen(order);
    restored = image;
    if (restore_fails >= 0 && length < sizeof order - 1)
        order[length] = letter;
    if (restore_fails != letter)
        return 0;
    *error = (struct tn_error){.code = TN_EIO, .text = "it was refused"};
    return TN_EIO;
}

static int restore_b(struct tn_image *image, struct tn_error *error)
{
    return note(image, 'b', error);
}

static int restore_c(struct tn_image *image, struct tn_error *error)
{
    return note(image, 'c', error);
}

static int restore_a(struct tn_image *image, struct tn_error *error)
{
    struct tn_image_memory memory = {.size = sizeof memory};
    tn_image_memory(image, &memory);
    assert_true(memory.length > 0);
    return note(image, 'a', error);
}

TN_RESTORE(restore_b, 5);
TN_RESTORE(restore_c, 100);
TN_RESTORE(restore_a, -5);

static void functions_run_by_priority(void **state)
{
    const char *path = saved_path("restore");
    struct tn_image *image;
    static const struct {
        int fails;
        const char *order;
    } cases[] = {{0, "abc"}, {'a', "a"}, {'b', "ab"}, {'c', "abc"}};
    (void)state;
    zones_make(path, "restore");
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        struct tn_heap *heap = saved_heap();
        struct tn_image_load_options options = zones_options(heap, 0);
        size_t before = saved_mappings();
        memset(order, 0, sizeof order);
        restore_fails = cases[i].fails;
        int code = tn_image_open(path, &options, &image, &err);
        assert_string_equal(order, cases[i].order);
        restore_fails = -1;
        if (!cases[i].fails) {
            assert_int_equal(code, 0);
            assert_ptr_equal(restored, image);
            tn_image_close(image);
        } else {
            assert_int_equal(code, TN_EIO);
            assert_string_equal(err.text, "it was refused");
            assert_null(image);
            assert_true(saved_mappings() <= before + 1);
            assert_int_equal(tn_image_open(path, &options, &image, &err), 0); /* at its place again */
            assert_true(zones_memory(image).address == zones_memory(image).intended);
            zones_check(heap, image);
            tn_image_close(image);
        }
        tn_heap_destroy(heap);
    }
    unlink(path);
}

/* ---- how long it stays ---- */

static void objects_stay_until_the_heap_ends(void **state)
{
    const char *path = saved_path("stays");
    struct tn_image *image;
    (void)state;
    zones_make(path, "stays");
    struct tn_heap *heap = saved_heap();
    struct tn_image_load_options options = zones_options(heap, 0);
    size_t before = 0, during = 0;
    for (int i = 0; i < 3; i++) {
        before = saved_mappings();
        assert_int_equal(tn_image_open(path, &options, &image, &err), 0);
        during = saved_mappings();
        struct tn_handle *list = saved_root(heap, image), *made = saved_link(heap, &link_type, 9, NULL);
        assert_int_equal(tn_handle_store(list, offsetof(struct link, other), made, &err), 0);
        tn_handle_free(made);
        if (i == 0)
            tn_image_close(image);
        assert_true(saved_mappings() >= during);
        tn_heap_collect(heap, 0);
        assert_int_equal(tn_handle_load(list, offsetof(struct link, other), list, &err), 0);
        uint64_t count;
        assert_true(saved_sum(list, &count) == 9 && count == 1);
        tn_heap_destroy(heap);
        if (i > 0) { /* what is asked of it has no answer any more */
            assert_null(i == 2 ? tn_image_type(image, "nothing") : NULL);
            tn_image_close(image);
        }
        assert_true(saved_mappings() < during);
        heap = options.heap = saved_heap();
    }
    assert_true(saved_mappings() <= before + 1);
    tn_heap_destroy(heap);
    unlink(path);
}

static void nothing_is_left(void **state)
{
    const char *path = saved_path("left");
    size_t before = 0;
    (void)state;
    zones_make(path, "left");
    for (int i = 0; i < 30; i++) {
        struct tn_image *image;
        struct tn_heap *heap = saved_heap();
        struct tn_image_load_options options = zones_options(heap, i % 2 ? TN_IMAGE_RELOCATE : 0);
        assert_int_equal(tn_image_open(path, &options, &image, &err), 0);
        if (i < 10)
            before = saved_mappings();
        assert_true(saved_mappings() <= before + 4);
        tn_image_close(image);
        tn_heap_destroy(heap);
    }
    unlink(path);
}

/* A heap that is destroyed may be marking objects of types that are an image's. */
static void types_stay_until_marking_ends(void **state)
{
    enum { HEAPS = 40, OBJECTS = 100000 };
    const char *path = saved_path("marking");
    struct tn_image *image;
    (void)state;
    zones_make(path, "marking");
    for (int round = 0; round < HEAPS; round++) {
        const struct tn_heap_options concurrent = {
            .size = sizeof concurrent, .limit = 64 << 20, .minimum = 1 << 20, .collector = &tn_collector_concurrent};
        struct tn_heap *heap;
        assert_int_equal(tn_heap_create(&concurrent, &heap, &err), 0);
        assert_int_equal(tn_heap_attach(heap, &err), 0);
        struct tn_image_load_options options = zones_options(heap, 0);
        assert_int_equal(tn_image_open(path, &options, &image, &err), 0);
        tn_image_close(image); /* what keeps it is the heap */
        struct tn_handle *list = NULL;
        for (uint64_t i = 0; i < OBJECTS + 2000 * (uint64_t)round; i++)
            list = saved_link(heap, tn_image_type(image, "link"), i, list);
        tn_heap_destroy(heap);
    }
    unlink(path);
}

/* ---- what the system refuses ---- */

static void every_failure_is_an_error(void **state)
{
    const char *path = saved_path("faults");
    zones_make(path, "faults");
    struct tn_heap *heap = saved_heap();
    (void)state;
    for (uint64_t flags = 0; flags <= (TN_IMAGE_RELOCATE | TN_IMAGE_VERIFY | TN_IMAGE_COPY); flags++) {
        int good[2] = {0};
        for (int kind = 0; kind < 2; kind++)
            for (int at = 1; !good[kind]; at++) {
                char plan[256] = "";
                struct tn_image *image = NULL;
                assert_true(at < 100);
                if (kind == 0)
                    snprintf(plan, sizeof plan, "a%d", at);
                for (int i = 1; kind == 1 && i < at; i++)
                    strcat(plan, ". ");
                strcat(plan, kind == 1 ? "F" : "");
                struct tn_image_load_options options = zones_options(heap, flags);
                size_t before = saved_mappings();
                assert_int_equal(tn__os_set_faults(plan), 0);
                int code = tn_image_open(path, &options, &image, &err);
                tn__os_set_faults(NULL);
                if (code) {
                    assert_true(code == TN_ENOMEM || code == TN_EIO);
                    assert_true(saved_mappings() <= before + 2); /* the allocator's */
                    continue;
                }
                bool was_refused = zones_memory(image).address != zones_memory(image).intended;
                good[kind] = kind == 0 || !was_refused || (flags & TN_IMAGE_RELOCATE) || at > 40;
                zones_check(heap, image);
                tn_image_close(image);
                tn_heap_destroy(heap);
                heap = saved_heap();
            }
    }
    tn_heap_destroy(heap);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_is_not_replaced),
        cmocka_unit_test(hashes_are_kept),
        cmocka_unit_test(base_is_kept),
        cmocka_unit_test(frozen_objects_are_read_only),
        cmocka_unit_test(functions_run_by_priority),
        cmocka_unit_test(objects_stay_until_the_heap_ends),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(types_stay_until_marking_ends),
        cmocka_unit_test(every_failure_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
