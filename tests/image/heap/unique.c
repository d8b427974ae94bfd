/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Saved objects that give way to those of the heap that they are opened in. */

#include <unistd.h>

#include "saved.h"

static const struct tn_type frozen_type = {
    .name = "frozen", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link), .references = 3};
static const struct tn_type symbol_type = {
    .name = "symbol", .kind = TN_KIND_LEAF, .alignment = 8, .size = 8, .element = 1, .length = 0};

static size_t key_of(void *context, const void *object, void *bytes, size_t room)
{
    uint64_t length = *(const uint64_t *)object;
    (void)context;
    if (length <= room)
        memcpy(bytes, (const char *)object + 8, length);
    return length;
}

static struct tn_handle *make_symbol(struct tn_heap *heap, const char *text, size_t length)
{
    struct tn_handle *symbol;
    assert_int_equal(tn_handle_new(heap, &symbol_type, length, &symbol, &err), 0);
    assert_int_equal(tn_handle_write(symbol, 8, text, length, &err), 0);
    return symbol;
}

struct symbols {
    const struct tn_handle *known[2]; /* "one", the long one */
    size_t calls, rows;
    int code;
};

enum { LINKS = 12 };

static char long_name[1000];

static int give_way(void *context, struct tn_image_unique *unique, size_t count, struct tn_error *error)
{
    struct symbols *symbols = context;
    symbols->calls++;
    symbols->rows = count;
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(unique[i].type->name, "symbol");
        assert_memory_equal((char *)unique[i].object + 8, unique[i].key, unique[i].key_size);
        assert_null(unique[i].instead);
        if (unique[i].key_size == 3 && memcmp(unique[i].key, "one", 3) == 0)
            unique[i].instead = symbols->known[0];
        if (unique[i].key_size == sizeof long_name)
            unique[i].instead = symbols->known[1];
    }
    *error = (struct tn_error){.code = symbols->code, .text = "no symbols"};
    return symbols->code;
}

static bool refers_to(struct tn_heap *heap, const struct tn_handle *link, const struct tn_handle *symbol)
{
    struct tn_handle *other;
    assert_int_equal(tn_handle_of(heap, NULL, &other, &err), 0);
    assert_int_equal(tn_handle_load(link, offsetof(struct link, other), other, &err), 0);
    bool same = tn_handle_same(other, symbol);
    tn_handle_free(other);
    return same;
}

static uint64_t written_words(const struct tn_image *image)
{
    struct tn_image_memory memory = {.size = sizeof memory};
    tn_image_memory(image, &memory);
    return memory.written;
}

/* Saves a list of links, frozen ones too, that refer to three symbols in turn; so does a root. */
static void save_symbols(const char *path)
{
    static const struct tn_save_type unique_rows[] = {
        {.size = sizeof *unique_rows, .type = &symbol_type, .flags = TN_SAVE_UNIQUE, .key = key_of},
        {.size = sizeof *unique_rows, .type = &frozen_type, .flags = TN_SAVE_FROZEN}};
    const struct tn_save_options options = {
        .size = sizeof options, .name = "unique", .types = unique_rows, .type_count = 2};
    struct tn_heap *heap = saved_heap();
    struct tn_handle *list = NULL, *names[] = {make_symbol(heap, "one", 3), make_symbol(heap, "two", 3),
                                               make_symbol(heap, long_name, sizeof long_name)};
    struct tn_save *save;
    for (uint64_t i = 0; i < LINKS; i++) {
        list = saved_link(heap, i % 2 ? &frozen_type : &link_type, i, list);
        assert_int_equal(tn_handle_store(list, offsetof(struct link, other), names[i % 3], &err), 0);
    }
    assert_int_equal(tn_save_create(heap, &options, &save, &err), 0);
    assert_int_equal(tn_save_root(save, "root", list, &err), 0);
    assert_int_equal(tn_save_root(save, "symbol", names[0], &err), 0);
    assert_int_equal(tn_save_take(save, NULL, &err), 0);
    assert_int_equal(tn_save_write(save, path, &err), 0);
    tn_save_destroy(save);
    tn_heap_destroy(heap);
}

/* The program has one or two of the symbols. */
static void unique_objects_give_way(void **state)
{
    const char *path = saved_path("unique");
    struct tn_heap *heap;
    struct tn_handle *list;
    struct tn_image *image;
    (void)state;
    memset(long_name, 'x', sizeof long_name);
    save_symbols(path);
    for (int known = 0; known < 4; known++) {
        heap = saved_heap();
        struct symbols symbols = {.code = 0};
        for (int i = 0; i < 2; i++)
            if (known >> i & 1)
                symbols.known[i] = make_symbol(heap, i ? long_name : "one", i ? sizeof long_name : 3);
        struct tn_image_load_options load = saved_options(heap);
        load.unique = give_way;
        load.context = &symbols;
        load.flags = TN_IMAGE_VERIFY | (known == 3 ? TN_IMAGE_RELOCATE : 0);
        symbols.code = TN_EIO;
        assert_int_equal(tn_image_open(path, &load, &image, &err), TN_EIO);
        assert_string_equal(err.text, "no symbols");
        symbols.code = 0;
        assert_int_equal(tn_image_open(path, &load, &image, &err), 0);
        assert_true(symbols.calls == 2 && symbols.rows == 3);
        if (known < 3)
            assert_int_equal(written_words(image), (known & 1) * 5 + (known >> 1) * 4);
        tn_heap_collect(heap, 0);
        list = saved_root(heap, image);
        struct tn_handle *root = saved_root(heap, image);
        assert_int_equal(tn_image_root(image, "symbol", root, &err), 0);
        if (symbols.known[0])
            assert_true(tn_handle_same(root, symbols.known[0]));
        for (uint64_t i = LINKS; i-- > 0;) { /* the last one comes first */
            const struct tn_handle *wanted = i % 3 == 0 ? root : i % 3 == 2 ? symbols.known[1] : NULL;
            if (wanted)
                assert_true(refers_to(heap, list, wanted));
            assert_int_equal(tn_handle_load(list, 0, list, &err), 0);
        }
        tn_heap_collect(heap, 0);
        tn_heap_destroy(heap);
        tn_image_close(image);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unique_objects_give_way)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
