/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Changes of objects of one image that are saved with another one. */

#include <stdio.h>
#include <unistd.h>

#include "base/os.h"
#include "image/format/format.h"
#include "zones.h"

/* ---- a base ---- */

/* One of each: a number, an address, a word that is not saved, a reference. */
struct record {
    struct record *next;
    void *other;
    uint64_t number, address, zero;
};

static const struct tn_type record_type = {
    .name = "record", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct record), .references = 3};
static const struct tn_type prepared_type = {
    .name = "prepared", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link), .references = 3};
static const struct tn_type symbol_type = {
    .name = "symbol", .kind = TN_KIND_LEAF, .alignment = 8, .size = 8, .element = 1, .length = 0};

static char anchors[64];

static int name_of(void *context, const void *address, struct tn_save_name *out)
{
    uint64_t offset = (uintptr_t)address - (uintptr_t)anchors;
    (void)context;
    *out = (struct tn_save_name){offset < 32 ? "low" : "high", offset % 32};
    return offset < sizeof anchors ? 0 : -1;
}

static void *resolve(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "low") == 0 ? anchors : strcmp(name, "high") == 0 ? anchors + 32 : NULL;
}

/* Saves a multiple of ten. */
static int prepare(void *context, const void *object, void *copy, struct tn_error *error)
{
    (void)context;
    (void)error;
    ((struct link *)copy)->value = ((const struct link *)object)->value / 10 * 10;
    return 0;
}

static size_t key_of(void *context, const void *object, void *bytes, size_t room)
{
    uint64_t length = *(const uint64_t *)object;
    (void)context;
    if (length <= room)
        memcpy(bytes, (const char *)object + 8, length);
    return length;
}

static const struct tn_save_word words[] = {{offsetof(struct record, address), TN_SAVE_ADDRESS},
                                            {offsetof(struct record, zero), TN_SAVE_ZERO}};
static const struct tn_save_type rows[] = {
    {.size = sizeof *rows, .type = &record_type, .words = words, .word_count = 2},
    {.size = sizeof *rows, .type = &prepared_type, .prepare = prepare},
    {.size = sizeof *rows, .type = &symbol_type, .flags = TN_SAVE_UNIQUE, .key = key_of},
};

static struct tn_save_options save_options(const char *name, struct tn_image *const *images, size_t count)
{
    return (struct tn_save_options){.size = sizeof(struct tn_save_options),
                                    .name = name,
                                    .types = rows,
                                    .type_count = TN_COUNT(rows),
                                    .images = images,
                                    .image_count = count,
                                    .name_of = name_of,
                                    .flags = TN_SAVE_STRICT};
}

static int save(struct tn_heap *heap, const char *path, const char *name, const struct tn_handle *root,
                struct tn_image *const *images, size_t count)
{
    const struct tn_save_options options = save_options(name, images, count);
    return saved_write(heap, &options, root, NULL, path);
}

static struct tn_image_load_options options_of(struct tn_heap *heap, struct tn_image *const *images, size_t count)
{
    struct tn_image_load_options options = saved_options(heap);
    options.resolver = resolve;
    options.images = images;
    options.image_count = count;
    options.flags = TN_IMAGE_VERIFY;
    return options;
}

static struct tn_image *load(struct tn_heap *heap, const char *path, struct tn_image *const *images, size_t count,
                             uint64_t flags)
{
    struct tn_image_load_options options = options_of(heap, images, count);
    struct tn_image *image;
    options.flags |= flags;
    assert_int_equal(tn_image_open(path, &options, &image, &err), 0);
    return image;
}

static void write_word(struct tn_handle *to, uint64_t offset, uint64_t value)
{
    assert_int_equal(tn_handle_write(to, offset, &value, 8, &err), 0);
}

static uint64_t word(const struct tn_handle *of, uint64_t offset)
{
    uint64_t value;
    assert_int_equal(tn_handle_read(of, offset, &value, 8, &err), 0);
    return value;
}

static void store(struct tn_handle *to, uint64_t offset, const struct tn_handle *value)
{
    assert_int_equal(tn_handle_store(to, offset, value, &err), 0);
}

static struct tn_handle *make(struct tn_heap *heap, const struct tn_type *type, uint64_t length)
{
    struct tn_handle *made;
    assert_int_equal(tn_handle_new(heap, type, length, &made, &err), 0);
    return made;
}

static struct tn_handle *follow(struct tn_heap *heap, const struct tn_handle *from, uint64_t offset)
{
    struct tn_handle *to;
    assert_int_equal(tn_handle_of(heap, NULL, &to, &err), 0);
    assert_int_equal(tn_handle_load(from, offset, to, &err), 0);
    return to;
}

enum {
    NEXT = offsetof(struct record, next),
    OTHER = offsetof(struct record, other),
    NUMBER = offsetof(struct record, number),
    ADDRESS = offsetof(struct record, address),
    ZERO = offsetof(struct record, zero),
    PREPARED = offsetof(struct link, value),
};

/* Three records, numbered 1 to 3; their others are a weak reference to the third, an object that is prepared, and an
 * ephemeron with the first as its key. */
static void make_base(const char *path)
{
    struct tn_heap *heap = saved_heap();
    struct tn_handle *records[3], *weak = make(heap, &tn_weak_type, 0), *prepared = make(heap, &prepared_type, 0),
                                  *ephemeron = make(heap, &tn_ephemeron_type, 0);
    for (uint64_t i = 0; i < 3; i++) {
        records[i] = make(heap, &record_type, 0);
        write_word(records[i], NUMBER, i + 1);
        write_word(records[i], ADDRESS, (uintptr_t)anchors + i);
        if (i)
            store(records[i - 1], NEXT, records[i]);
    }
    write_word(prepared, PREPARED, 42);
    store(weak, 0, records[2]);
    store(records[0], OTHER, weak);
    store(records[1], OTHER, prepared);
    store(ephemeron, 0, records[0]);
    store(records[2], OTHER, ephemeron);
    assert_int_equal(save(heap, path, "base", records[0], NULL, 0), 0);
    tn_heap_destroy(heap);
}

/* A base and a file for what is saved on top of it, and a heap that they are opened in. */
struct stack {
    const char *base, *top;
    struct tn_heap *heap;
    struct tn_image *images[2];
    struct tn_handle *first; /* the base's root */
};

static void open_base(struct stack *s)
{
    s->heap = saved_heap();
    s->images[0] = load(s->heap, s->base, NULL, 0, 0);
    s->images[1] = NULL;
    s->first = saved_root(s->heap, s->images[0]);
}

static void close_both(struct stack *s)
{
    tn_heap_destroy(s->heap);
    tn_image_close(s->images[1]);
    tn_image_close(s->images[0]);
}

static struct stack begin(void)
{
    struct stack s = {.base = saved_path("base"), .top = saved_path("changed")};
    make_base(s.base);
    open_base(&s);
    return s;
}

static void end(struct stack *s)
{
    close_both(s);
    unlink(s->base);
    unlink(s->top);
}

static int save_top(const struct stack *s)
{
    return save(s->heap, s->top, "changed", s->first, s->images, 1);
}

/* How many words an image patches. */
static uint32_t patches(const char *path)
{
    return zones_rows(path, TN__IMAGE_PATCH_TABLE);
}

/* ---- what is saved ---- */

/* The first record gets another number and another address, and its word that is not saved a value; the second refers
 * to a new record, the weak reference to that as well, the third to the first; what is prepared has 57; the ephemeron
 * gets a value. */
static void change_base(struct tn_heap *heap, struct tn_handle *first)
{
    struct tn_handle *second = follow(heap, first, NEXT), *third = follow(heap, second, NEXT),
                     *weak = follow(heap, first, OTHER), *prepared = follow(heap, second, OTHER),
                     *made = make(heap, &record_type, 0), *ephemeron = follow(heap, third, OTHER),
                     *value = make(heap, &record_type, 0);
    write_word(value, NUMBER, 400);
    store(ephemeron, 8, value);
    write_word(first, NUMBER, 100);
    write_word(first, ADDRESS, (uintptr_t)anchors + 32);
    write_word(first, ZERO, 77);
    write_word(third, ADDRESS, 0);
    write_word(made, NUMBER, 200);
    write_word(prepared, PREPARED, 57);
    store(made, NEXT, third);
    store(second, NEXT, made);
    store(weak, 0, made);
    store(third, NEXT, first);
}

static void check_changed(struct tn_heap *heap, struct tn_handle *first)
{
    struct tn_handle *second = follow(heap, first, NEXT), *made = follow(heap, second, NEXT),
                     *third = follow(heap, made, NEXT), *again = follow(heap, third, NEXT),
                     *weak = follow(heap, first, OTHER), *prepared = follow(heap, second, OTHER);
    assert_int_equal(word(first, NUMBER), 100);
    assert_int_equal(word(first, ADDRESS), (uintptr_t)anchors + 32);
    assert_int_equal(word(first, ZERO), 0);
    assert_int_equal(word(second, NUMBER), 2);
    assert_int_equal(word(second, ADDRESS), (uintptr_t)anchors + 1);
    assert_int_equal(word(third, ADDRESS), 0);
    assert_int_equal(word(third, NUMBER), 3);
    assert_int_equal(word(made, NUMBER), 200);
    assert_int_equal(word(prepared, PREPARED), 50);
    struct tn_handle *target = follow(heap, weak, 0), *value = follow(heap, follow(heap, third, OTHER), 8);
    assert_int_equal(word(value, NUMBER), 400);
    assert_true(tn_handle_same(target, made) && tn_handle_same(again, first));
}

static void changes_are_saved(void **state)
{
    const char *path = saved_path("base"), *path2 = saved_path("changed"), *path3 = saved_path("again");
    (void)state;
    make_base(path);
    for (int displaced = 0; displaced < 2; displaced++) { /* when they are saved */
        struct tn_heap *heap = saved_heap();
        struct tn_image *images[3] = {load(heap, path, NULL, 0, displaced ? TN_IMAGE_RELOCATE : 0)};
        struct tn_handle *first = saved_root(heap, images[0]);
        assert_int_equal(save(heap, path3, "same", first, images, 1), 0);
        assert_int_equal(patches(path3), 0);
        change_base(heap, first);
        assert_int_equal(save(heap, displaced ? path3 : path2, "changed", first, images, 1), 0);
        assert_int_equal(patches(displaced ? path3 : path2), 8);
        tn_heap_destroy(heap);
        tn_image_close(images[0]);
    }
    size_t sizes[2];
    uint8_t *bytes = saved_read(path2, &sizes[0]), *same = saved_read(path3, &sizes[1]);
    assert_true(sizes[0] == sizes[1] && memcmp(bytes, same, sizes[0]) == 0);
    free(bytes);
    free(same);
    for (uint64_t flags = 0; flags < 4; flags++) { /* either is displaced, or both */
        struct tn_heap *heap = saved_heap();
        struct tn_image *images[3] = {load(heap, path, NULL, 0, flags & 1 ? TN_IMAGE_RELOCATE : 0)};
        images[1] = load(heap, path2, images, 1, flags & 2 ? TN_IMAGE_RELOCATE : 0);
        struct tn_handle *first = saved_root(heap, images[0]);
        check_changed(heap, first);
        tn_heap_collect(heap, 0);
        check_changed(heap, first);
        assert_int_equal(save(heap, path3, "third", first, images, 2), 0); /* nothing has changed since */
        assert_int_equal(patches(path3), 0);
        write_word(first, NUMBER, 300); /* but now */
        assert_int_equal(save(heap, path3, "third", first, images, 2), 0);
        assert_int_equal(patches(path3), 1);
        images[2] = load(heap, path3, images, 2, 0);
        assert_int_equal(word(first, NUMBER), 300);
        tn_heap_destroy(heap);
        for (int i = 0; i < 3; i++)
            tn_image_close(images[i]);
    }
    unlink(path);
    unlink(path2);
    unlink(path3);
}

/* ---- what other images have changed ---- */

static void save_number(const char *base, const char *path, const char *name, uint64_t number)
{
    struct tn_heap *heap = saved_heap();
    struct tn_image *image = load(heap, base, NULL, 0, 0);
    struct tn_handle *first = saved_root(heap, image);
    write_word(first, NUMBER, number);
    assert_int_equal(save(heap, path, name, first, &image, 1), 0);
    assert_int_equal(patches(path), 1);
    tn_heap_destroy(heap);
    tn_image_close(image);
}

static void two_cannot_change_a_word(void **state)
{
    const char *base = saved_path("base"), *one = saved_path("one"), *two = saved_path("two"),
               *same = saved_path("same"), *on_top = saved_path("top");
    (void)state;
    make_base(base);
    save_number(base, one, "one", 10);
    save_number(base, two, "two", 20);
    save_number(base, same, "same", 10);
    struct tn_heap *heap = saved_heap();
    struct tn_image *images[4] = {load(heap, base, NULL, 0, 0)}, *refused;
    images[1] = load(heap, one, images, 1, 0);
    struct tn_handle *first = saved_root(heap, images[0]);
    const struct tn_image_load_options options = options_of(heap, images, 1);
    assert_int_equal(tn_image_open(two, &options, &refused, &err), TN_EDUP);
    assert_string_equal(err.text, "two: it changes the word at +16 of an object of type 'record' of the image 'base', "
                                  "which the image 'one' has changed in another way");
    assert_int_equal(word(first, NUMBER), 10);
    images[2] = load(heap, same, images, 1, 0);
    write_word(first, NUMBER, 30);
    assert_int_equal(save(heap, on_top, "top", first, images, 3), 0);
    images[3] = load(heap, on_top, images, 3, 0);
    assert_int_equal(word(first, NUMBER), 30);
    assert_int_equal(tn_image_open(two, &options, &refused, &err), TN_EDUP);
    assert_non_null(strstr(err.text, "the image 'top' has changed"));
    assert_int_equal(tn_image_open(one, &options, &refused, &err), TN_EDUP);
    tn_heap_destroy(heap);
    for (int i = 0; i < 4; i++)
        tn_image_close(images[i]);
    const char *all[] = {base, one, two, same, on_top};
    for (size_t i = 0; i < TN_COUNT(all); i++)
        unlink(all[i]);
}

/* ---- what is undone ---- */

static struct tn_heap *collected; /* by restore, which fails then */

static int restore(struct tn_image *image, struct tn_error *error)
{
    (void)image;
    if (!collected)
        return 0;
    for (int i = 0; i < 4; i++) {
        tn_heap_collect(collected, i % 2);
        for (int k = 0; k < 20000; k++) /* memory is used again */
            tn_handle_free(make(collected, &record_type, 0));
    }
    *error = (struct tn_error){.code = TN_EIO, .text = "refused"};
    return TN_EIO;
}

TN_RESTORE(restore, 1);

/* What the program had stored in these words is there again, and was kept alive. */
static void failures_undo_changes(void **state)
{
    struct stack s = begin();
    (void)state;
    change_base(s.heap, s.first);
    assert_int_equal(save_top(&s), 0);
    close_both(&s);
    open_base(&s);
    struct tn_handle *second = follow(s.heap, s.first, NEXT), *own = make(s.heap, &record_type, 0);
    write_word(own, NUMBER, 55);
    write_word(s.first, NUMBER, 56);
    store(second, NEXT, own);
    tn_handle_free(own);
    const struct tn_image_load_options options = options_of(s.heap, s.images, 1);
    collected = s.heap;
    assert_int_equal(tn_image_open(s.top, &options, &s.images[1], &err), TN_EIO);
    assert_string_equal(err.text, "refused");
    collected = NULL;
    tn_heap_collect(s.heap, 0);
    for (int at = 1, code = TN_ENOMEM; code; at++) { /* each allocation */
        char plan[32];
        own = follow(s.heap, second, NEXT);
        assert_int_equal(word(own, NUMBER), 55);
        assert_int_equal(word(s.first, NUMBER), 56);
        assert_int_equal(word(s.first, ADDRESS), (uintptr_t)anchors);
        tn_handle_free(own);
        snprintf(plan, sizeof plan, "a%d", at);
        assert_int_equal(tn__os_set_faults(plan), 0);
        code = tn_image_open(s.top, &options, &s.images[1], &err);
        tn__os_set_faults(NULL);
        assert_true(at < 100 && (code == 0 || code == TN_ENOMEM));
        assert_true(at > 3 || code);
    }
    check_changed(s.heap, s.first);
    tn_heap_collect(s.heap, 0);
    end(&s);
}

static void what_is_missing_is_an_error(void **state)
{
    struct stack s = begin();
    (void)state;
    write_word(s.first, ADDRESS, (uintptr_t)&s);
    assert_int_equal(save_top(&s), TN_EUNDEF);
    assert_string_equal(err.text, "changed: 'record' of the image 'base': one of its words is an address that has no "
                                  "name");
    write_word(s.first, ADDRESS, (uintptr_t)anchors + 50);
    write_word(s.first, NUMBER, (uintptr_t)&s);
    assert_int_equal(save_top(&s), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "'record' of the image 'base': +16 of 'record' is 0x"));
    write_word(s.first, NUMBER, 9);
    assert_int_equal(save_top(&s), 0);
    struct tn_image_load_options options = options_of(s.heap, s.images, 1);
    options.resolver = NULL;
    assert_int_equal(tn_image_open(s.top, &options, &s.images[1], &err), TN_EUNDEF);
    assert_string_equal(err.text, "changed: the program does not have: high");
    end(&s);
}

/* Saving without memory, and on top of an image whose file could not be mapped. */
static void saving_fails_with_an_error(void **state)
{
    struct stack s = begin();
    (void)state;
    change_base(s.heap, s.first);
    for (int at = 1, code = TN_ENOMEM; code; at++) {
        char plan[32];
        snprintf(plan, sizeof plan, "a%d", at);
        assert_int_equal(tn__os_set_faults(plan), 0);
        code = save_top(&s);
        tn__os_set_faults(NULL);
        assert_true(at < 200 && (code == 0 || code == TN_ENOMEM));
        assert_true(at > 10 || code);
    }
    assert_int_equal(patches(s.top), 8);
    close_both(&s);
    int refused = 0;
    for (size_t at = 0; at < 20; at++) {
        char plan[64] = "";
        s.heap = saved_heap();
        struct tn_image_load_options options = options_of(s.heap, NULL, 0);
        options.flags = TN_IMAGE_COPY;
        for (size_t i = 0; i < at; i++)
            strcat(plan, ". ");
        assert_int_equal(tn__os_set_faults(strcat(plan, "F")), 0);
        int code = tn_image_open(s.base, &options, &s.images[0], &err);
        tn__os_set_faults(NULL);
        if (code == 0) {
            s.first = saved_root(s.heap, s.images[0]);
            code = save_top(&s);
            assert_true(code == 0 || code == TN_ENOTSUP);
            refused += code != 0;
            if (code)
                assert_non_null(strstr(err.text, "what has changed in the image 'base' is unknown"));
        }
        close_both(&s);
    }
    assert_true(refused > 0);
    unlink(s.base);
    unlink(s.top);
}

/* ---- unique objects ---- */

static struct tn_handle *make_symbol(struct tn_heap *heap, const char *text)
{
    struct tn_handle *symbol = make(heap, &symbol_type, strlen(text));
    assert_int_equal(tn_handle_write(symbol, 8, text, strlen(text), &err), 0);
    return symbol;
}

/* The context has the heap's symbol "own" and NULL. */
static int give_way(void *context, struct tn_image_unique *unique, size_t count, struct tn_error *error)
{
    struct tn_handle *const *known = context;
    (void)error;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; known[k]; k++)
            if (word(known[k], 0) == unique[i].key_size) /* lengths differ */
                unique[i].instead = known[k];
    return 0;
}

static void what_gives_way_is_no_change(void **state)
{
    const char *path = saved_path("base"), *path2 = saved_path("changed");
    (void)state;
    struct tn_heap *heap = saved_heap();
    struct tn_handle *record = make(heap, &record_type, 0);
    store(record, OTHER, make_symbol(heap, "a"));
    assert_int_equal(save(heap, path, "base", record, NULL, 0), 0);
    tn_heap_destroy(heap);
    for (int known = 0; known < 4; known++) {
        heap = saved_heap();
        struct tn_handle *symbols[3] = {make_symbol(heap, "a"), make_symbol(heap, "bb")};
        struct tn_image_load_options options = options_of(heap, NULL, 0);
        struct tn_image *images[2];
        options.unique = give_way;
        options.context = symbols;
        assert_int_equal(tn_image_open(path, &options, &images[0], &err), 0);
        record = saved_root(heap, images[0]);
        struct tn_handle *other = follow(heap, record, OTHER);
        assert_true(tn_handle_same(other, symbols[0]));
        assert_int_equal(save(heap, path2, "changed", record, images, 1), 0);
        assert_int_equal(patches(path2), 0);
        store(record, OTHER, symbols[1]);
        assert_int_equal(save(heap, path2, "changed", record, images, 1), 0);
        assert_int_equal(patches(path2), 1);
        tn_heap_destroy(heap);
        tn_image_close(images[0]);
        heap = saved_heap();
        struct tn_handle *again[3] = {known & 1 ? make_symbol(heap, "bb") : known & 2 ? make_symbol(heap, "a") : NULL};
        options.heap = heap;
        options.context = again;
        assert_int_equal(tn_image_open(path, &options, &images[0], &err), 0);
        options.images = images;
        options.image_count = 1;
        assert_int_equal(tn_image_open(path2, &options, &images[1], &err), 0);
        tn_heap_collect(heap, 0);
        record = saved_root(heap, images[0]);
        other = follow(heap, record, OTHER);
        assert_int_equal(word(other, 0), 2);
        assert_true(!(known & 1) || tn_handle_same(other, again[0]));
        tn_heap_destroy(heap);
        tn_image_close(images[1]);
        tn_image_close(images[0]);
    }
    unlink(path);
    unlink(path2);
}

/* ---- damaged files ---- */

/* Each byte of the table, signed: a refusal, or a sound heap. */
static void changed_bytes_are_refused(void **state)
{
    struct stack s = begin();
    size_t size, refused = 0;
    (void)state;
    change_base(s.heap, s.first);
    assert_int_equal(save_top(&s), 0);
    close_both(&s);
    uint8_t *bytes = saved_read(s.top, &size);
    uint32_t count = 0;
    size_t header = zones_header(bytes, size), table = zones_table(bytes, size, TN__IMAGE_PATCH_TABLE, &count);
    for (size_t at = table; at < table + (size_t)TN__IMAGE_PATCH * count; at++)
        for (int bit = 0; bit < 8; bit += 1 + (at - table) % 2) {
            bytes[at] ^= (uint8_t)(1 << bit);
            zones_sign(bytes, size, header);
            open_base(&s);
            const struct tn_image_load_options options = options_of(s.heap, s.images, 1);
            int code = tn_image_open_memory("bad", bytes, size, &options, &s.images[1], &err);
            assert_true(code == 0 || code == TN_EFORMAT || code == TN_EUNDEF);
            refused += code != 0;
            tn_heap_collect(s.heap, 0); /* verifies it */
            close_both(&s);
            bytes[at] ^= (uint8_t)(1 << bit);
        }
    assert_true(refused > 500);
    free(bytes);
    unlink(s.base);
    unlink(s.top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_saved),          cmocka_unit_test(two_cannot_change_a_word),
        cmocka_unit_test(failures_undo_changes),      cmocka_unit_test(what_is_missing_is_an_error),
        cmocka_unit_test(saving_fails_with_an_error), cmocka_unit_test(what_gives_way_is_no_change),
        cmocka_unit_test(changed_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
