/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Files of saved objects that are written again for another address. */

#include <unistd.h>

#include "base/os.h"
#include "zones.h"

enum { PAGE = 4096 };

static bool are_equal(const char *a, const char *b)
{
    size_t size, other;
    uint8_t *x = saved_read(a, &size), *y = saved_read(b, &other);
    bool equal = size == other && memcmp(x, y, size) == 0;
    free(x);
    free(y);
    return equal;
}

/* Opens and checks it; what it was intended for. */
static uint64_t open_at(const char *path)
{
    struct tn_heap *heap = saved_heap();
    struct tn_image *image;
    const struct tn_image_load_options options = zones_options(heap, TN_IMAGE_VERIFY);
    assert_int_equal(tn_image_open(path, &options, &image, &err), 0);
    struct tn_image_memory memory = zones_memory(image);
    assert_true(memory.address == memory.intended && memory.written < 10);
    zones_check(heap, image);
    tn_heap_destroy(heap);
    tn_image_close(image);
    return memory.intended - PAGE;
}

/* ThreadSanitizer ends a process that asks for the last address, which its own memory is at. */
#ifdef __SANITIZE_THREAD__
enum { SHADOWED = 1 };
#else
enum { SHADOWED = 0 };
#endif

/* It is opened at the new address, and is the old file again when it goes back. The first address is free under each
 * sanitizer. */
static void files_move(void **state)
{
    const char *path = saved_path("rebase"), *to = saved_path("rebased");
    static const uint64_t bases[] = {UINT64_C(0x555010000000), UINT64_C(0x10000), (UINT64_C(1) << 46) - PAGE};
    (void)state;
    zones_make(path, "rebase");
    uint64_t old = open_at(path);
    for (size_t i = 0; i < TN_COUNT(bases) - SHADOWED; i++) {
        uint64_t base = bases[i];
        assert_int_equal(tn_save_rebase(path, to, NULL, &base, &err), 0);
        assert_true(base == bases[i] && open_at(to) == base);
        assert_int_equal(tn_save_rebase(to, to, NULL, &old, &err), 0);
        assert_true(are_equal(path, to));
    }
    unlink(path);
    unlink(to);
}

/* The address follows from name, build id and salt, when objects are saved as when a file is written again. */
static void salts_choose_addresses(void **state)
{
    const char *paths[] = {saved_path("plain"), saved_path("salted"), saved_path("again")};
    uint64_t chosen[4];
    (void)state;
    for (int salted = 0; salted < 2; salted++) {
        struct tn_heap *heap = saved_heap();
        const struct tn_save_options options = {
            .size = sizeof options, .name = "salt", .salt = salted ? "this machine" : NULL};
        struct tn_handle *list = saved_link(heap, &link_type, 1, NULL);
        assert_int_equal(saved_write(heap, &options, list, NULL, paths[salted]), 0);
        tn_heap_destroy(heap);
    }
    assert_false(are_equal(paths[0], paths[1]));
    static const char *const salts[] = {NULL, "this machine", "another", ""};
    for (size_t i = 0; i < TN_COUNT(salts); i++) {
        chosen[i] = 0;
        assert_int_equal(tn_save_rebase(paths[i % 2], paths[2], salts[i], &chosen[i], &err), 0);
        assert_true(chosen[i] >= UINT64_C(0x1000000000) && chosen[i] % PAGE == 0);
        for (size_t k = 0; k < i; k++)
            assert_true((chosen[k] == chosen[i]) == (k == 0 && i == 3)); /* an empty salt is none */
        if (i < 2)
            assert_true(are_equal(paths[i], paths[2]));
    }
    for (size_t i = 0; i < 3; i++)
        unlink(paths[i]);
}

/* What depends on it finds it elsewhere; it may be moved too. */
static void others_find_it(void **state)
{
    const char *paths[] = {saved_path("base"), saved_path("top")};
    struct tn_image *base, *top;
    (void)state;
    zones_make(paths[0], "base");
    struct tn_heap *heap = saved_heap();
    struct tn_image_load_options options = zones_options(heap, 0);
    assert_int_equal(tn_image_open(paths[0], &options, &base, &err), 0);
    struct tn_handle *list = saved_link(heap, tn_image_type(base, "link"), 100, saved_root(heap, base));
    const struct tn_save_options save = {
        .size = sizeof save, .name = "top", .images = &base, .image_count = 1, .name_of = zones_name};
    assert_int_equal(saved_write(heap, &save, list, NULL, paths[1]), 0);
    uint64_t below = zones_memory(base).intended - PAGE, length = zones_memory(base).length, at, count;
    tn_heap_destroy(heap);
    tn_image_close(base);
    at = below;
    assert_int_equal(tn_save_rebase(paths[1], paths[1], NULL, &at, &err), TN_EINVAL); /* there the base is */
    for (unsigned way = 1; way < 4; way++) {
        for (unsigned i = 0; i < 2; i++) {
            at = below + (way << 1 & 4 << i ? 3 : 1 + i) * ((length + (1 << 20)) & ~(uint64_t)(PAGE - 1));
            if (way >> i & 1)
                assert_int_equal(tn_save_rebase(paths[i], paths[i], NULL, &at, &err), 0);
        }
        heap = options.heap = saved_heap();
        options.flags = TN_IMAGE_VERIFY;
        options.images = &base;
        options.image_count = 0;
        assert_int_equal(tn_image_open(paths[0], &options, &base, &err), 0);
        options.image_count = 1;
        assert_int_equal(tn_image_open(paths[1], &options, &top, &err), 0);
        list = saved_root(heap, top);
        assert_true(saved_sum(list, &count) == 107 + (uintptr_t)zones_anchor && count == 5);
        tn_heap_destroy(heap);
        tn_image_close(top);
        tn_image_close(base);
    }
    unlink(paths[0]);
    unlink(paths[1]);
}

static char result[128];

static int rebase(const char *path, uint64_t base)
{
    return tn_save_rebase(path, result, NULL, &base, &err);
}

static void what_cannot_be_moved_is_refused(void **state)
{
    const char *path = saved_path("bad"), *copy = saved_path("copy");
    uint64_t base = UINT64_C(0x123450000000);
    size_t size;
    (void)state;
    strcpy(result, saved_path("result"));
    zones_make(path, "bad");
    assert_int_equal(rebase("/nonexistent", 0), TN_EIO);
    assert_int_equal(rebase("/proc/self/exe", 0), TN_EFORMAT);
    assert_int_equal(rebase(path, base + 8), TN_EINVAL);
    assert_int_equal(rebase(path, (UINT64_C(1) << 47) - PAGE), TN_EINVAL);
    assert_int_equal(tn_save_rebase(path, "/nonexistent/file", NULL, &base, &err), TN_EIO);
    assert_int_equal(tn_save_rebase(NULL, path, NULL, &base, &err), TN_EINVAL);
    assert_int_equal(tn_save_rebase(path, path, NULL, NULL, &err), TN_EINVAL);
    for (int at = 1; at < 6; at++) {
        const char *const plans[] = {"a1", "a2", "a3", "F", ". F"};
        tn__os_set_faults(plans[at - 1]);
        int code = rebase(path, base);
        tn__os_set_faults(NULL);
        assert_true(code == TN_ENOMEM || code == TN_EIO || (code == 0 && at == 3));
    }
    /* Bytes that are damaged; with the right checksums, in header and tables. */
    uint8_t *bytes = saved_read(path, &size), *changed = malloc(size);
    size_t header = zones_header(bytes, size);
    for (size_t at = 0; at < size; at += at < 64 || at >= header ? 11 : 1997) {
        memcpy(changed, bytes, size);
        changed[at] ^= (uint8_t)(1 << at % 8);
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            if (is_signed)
                zones_sign(changed, size, header);
            saved_store(copy, changed, size);
            int code = rebase(copy, base);
            assert_true(code == 0 || code == TN_EFORMAT || code == TN_ENOTSUP || code == TN_EINVAL);
        }
    }
    for (size_t length = 0; length < size; length += 500) { /* but for the headers of sections, at the end */
        saved_store(copy, bytes, length);
        assert_true(rebase(copy, base) || length + 1000 > size);
    }
    free(bytes);
    free(changed);
    unlink(result);
    unlink(path);
    unlink(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_move),
        cmocka_unit_test(salts_choose_addresses),
        cmocka_unit_test(others_find_it),
        cmocka_unit_test(what_cannot_be_moved_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
