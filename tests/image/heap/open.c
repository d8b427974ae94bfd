/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Opening images with objects: where they lie, how long they stay, and what of a file is refused. */

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "image/format/format.h"
#include "saved.h"

static const struct tn_type frozen_type = {
    .name = "frozen", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link), .references = 3};
static const struct tn_type host_type = {
    .name = "host", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct link), .references = 3};
static const struct tn_type longer_type = {
    .name = "host", .kind = TN_KIND_FIXED, .alignment = 8, .size = 32, .references = 3};
static const struct tn_type table_type = {
    .name = "table", .kind = TN_KIND_REFERENCES, .alignment = 8, .size = 8, .element = 8, .length = 0};

static void visit(void *object, tn_visit_slot *slot, void *context)
{
    slot(context, object);
}

static const struct tn_type custom_type = {
    .name = "custom", .kind = TN_KIND_CUSTOM, .alignment = 8, .size = sizeof(struct link), .visit = visit};

static const struct tn_save_word words[] = {{offsetof(struct link, value), TN_SAVE_ADDRESS}};
static const struct tn_save_type rows[] = {
    {.size = sizeof *rows, .type = &frozen_type, .flags = TN_SAVE_FROZEN},
    {.size = sizeof *rows, .type = &host_type, .flags = TN_SAVE_HOST_TYPE},
    {.size = sizeof *rows, .type = &custom_type, .flags = TN_SAVE_FROZEN, .words = words, .word_count = 1},
};
static const struct tn_image_type host_types[] = {{"host", &host_type}};

static int name_any(void *context, const void *address, struct tn_save_name *out)
{
    (void)context;
    *out = (struct tn_save_name){address == (const void *)(uintptr_t)visit ? "visit" : "anchor", 0};
    return 0;
}

static char anchor[8];

static void *find_any(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "visit") == 0 ? (void *)(uintptr_t)visit : strcmp(name, "anchor") == 0 ? anchor : NULL;
}

/* A file with something in each zone. */
static void make_file(const char *path, const char *name)
{
    struct tn_heap *heap = saved_heap();
    struct tn_handle *list = saved_link(heap, &frozen_type, 1, NULL), *table;
    list = saved_link(heap, &custom_type, 0, list);
    uint64_t address = (uintptr_t)anchor;
    assert_int_equal(tn_handle_write(list, offsetof(struct link, value), &address, 8, &err), 0);
    list = saved_link(heap, &host_type, 2, list);
    list = saved_link(heap, &link_type, 4, list);
    tn_handle_hash(list);
    assert_int_equal(tn_handle_new(heap, &table_type, 3, &table, &err), 0);
    assert_int_equal(tn_handle_store(table, 16, list, &err), 0);
    assert_int_equal(tn_handle_store(list, offsetof(struct link, other), table, &err), 0);
    const struct tn_save_options options = {.size = sizeof options,
                                            .name = name,
                                            .types = rows,
                                            .type_count = TN_COUNT(rows),
                                            .name_of = name_any,
                                            .flags = TN_SAVE_STRICT};
    struct tn_save_stats stats = {.size = sizeof stats};
    assert_int_equal(saved_write(heap, &options, list, &stats, path), 0);
    assert_true(stats.frozen && stats.changing && stats.bound > 4096);
    tn_heap_destroy(heap);
}

static struct tn_image_load_options load_options(struct tn_heap *heap, uint64_t flags)
{
    struct tn_image_load_options options = saved_options(heap);
    options.resolver = find_any;
    options.host_types = host_types;
    options.host_type_count = 1;
    options.flags = flags;
    return options;
}

static void check_list(struct tn_heap *heap, const struct tn_image *image)
{
    uint64_t count;
    struct tn_handle *list = saved_root(heap, image);
    assert_true(saved_sum(list, &count) == 7 + (uintptr_t)anchor && count == 4);
    tn_managed_begin();
    const struct link *first = tn_handle_object(list);
    assert_ptr_equal(((const uintptr_t *)first)[-1] & ~(uintptr_t)15, tn_image_type(image, "link"));
    assert_ptr_equal(((const uintptr_t *)first->next)[-1] & ~(uintptr_t)15, &host_type);
    assert_ptr_equal(tn_image_type(image, "custom")->visit, visit);
    tn_managed_end();
    tn_handle_free(list);
}

static struct tn_image_memory memory_of(const struct tn_image *image)
{
    struct tn_image_memory memory = {.size = sizeof memory};
    tn_image_memory(image, &memory);
    return memory;
}

/* ---- where it lies ---- */

/* At its intended address, and elsewhere if something is there; from files and from memory. */
static void what_is_taken_is_not_replaced(void **state)
{
    const char *path = saved_path("open");
    struct tn_image *first, *second, *third;
    size_t size;
    (void)state;
    make_file(path, "open");
    struct tn_heap *heap = saved_heap();
    struct tn_image_load_options options = load_options(heap, TN_IMAGE_VERIFY);
    assert_int_equal(tn_image_open(path, &options, &first, &err), 0);
    assert_int_equal(tn_image_open(path, &options, &second, &err), 0);
    uint8_t *bytes = saved_read(path, &size);
    assert_int_equal(tn_image_open_memory("memory", bytes, size, &options, &third, &err), 0);
    free(bytes);
    assert_true(memory_of(first).address == memory_of(first).intended);
    assert_true(memory_of(first).written < 10 && memory_of(second).written > 10);
    assert_true(memory_of(second).address != memory_of(first).address);
    assert_true(memory_of(second).intended == memory_of(first).address);
    check_list(heap, first);
    check_list(heap, second);
    check_list(heap, third);
    struct tn_handle *one = saved_root(heap, first), *other = saved_root(heap, second);
    assert_true(tn_handle_hash(one) == tn_handle_hash(other));
    tn_image_close(second);
    tn_heap_collect(heap, 0);
    check_list(heap, first);
    tn_heap_destroy(heap);
    tn_image_close(third);
    tn_image_close(first);
    heap = saved_heap();
    options.heap = heap;
    options.flags |= TN_IMAGE_RELOCATE;
    assert_int_equal(tn_image_open(path, &options, &first, &err), 0);
    assert_true(memory_of(first).address != memory_of(first).intended);
    check_list(heap, first);
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
        struct tn_image_load_options load = load_options(heap, i == 1 ? TN_IMAGE_RELOCATE : 0);
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
    struct tn_save_options options = {.size = sizeof options, .name = "based", .base = UINT64_C(0x123450000000)};
    struct tn_handle *list = saved_link(heap, &link_type, 4, NULL);
    const char *path = saved_path("base");
    struct tn_image *image;
    (void)state;
    assert_int_equal(saved_write(heap, &options, list, NULL, path), 0);
    struct tn_image_load_options load = load_options(heap, 0);
    assert_int_equal(tn_image_open(path, &load, &image, &err), 0);
    assert_true(memory_of(image).intended == options.base + 4096);
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
    make_file(path, "frozen");
    for (uint64_t flags = 0; flags <= TN_IMAGE_RELOCATE; flags += TN_IMAGE_RELOCATE)
        for (size_t i = 0; i < TN_COUNT(cases); i++) {
            int status;
            pid_t child = fork();
            if (!child) {
                signal(SIGSEGV, SIG_DFL);
                struct tn_heap *heap = saved_heap();
                struct tn_image *image;
                struct tn_image_load_options options = load_options(heap, flags);
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
    make_file(path, "restore");
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        struct tn_heap *heap = saved_heap();
        struct tn_image_load_options options = load_options(heap, 0);
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
            assert_true(memory_of(image).address == memory_of(image).intended);
            check_list(heap, image);
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
    make_file(path, "stays");
    struct tn_heap *heap = saved_heap();
    struct tn_image_load_options options = load_options(heap, 0);
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

/* ---- what is missing ---- */

static void what_is_missing_is_named(void **state)
{
    const char *path = saved_path("missing");
    make_file(path, "missing");
    struct tn_heap *heap = saved_heap(), *other;
    struct tn_image *image;
    struct tn_handle *handle;
    static const struct tn_image_type differs[] = {{"host", &longer_type}};
    (void)state;
    struct tn_image_load_options options = load_options(heap, 0);
    options.heap = NULL;
    assert_int_equal(tn_image_open(path, &options, &image, &err), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "name no heap"));
    options = load_options(heap, 0);
    options.heaps = NULL;
    assert_int_equal(tn_image_open(path, &options, &image, &err), TN_ENOTSUP);
    options = load_options(heap, 0);
    options.resolver = NULL;
    options.host_type_count = 0;
    assert_int_equal(tn_image_open(path, &options, &image, &err), TN_EUNDEF);
    assert_non_null(strstr(err.text, "type host, "));
    assert_non_null(strstr(err.text, "visit"));
    options = load_options(heap, 0);
    options.host_types = differs;
    assert_int_equal(tn_image_open(path, &options, &image, &err), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "'size' differs"));
    options = load_options(heap, 8);
    assert_int_equal(tn_image_open(path, &options, &image, &err), TN_EINVAL);
    options = load_options(heap, 0);
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

static void save_beside(struct tn_heap *heap, struct tn_image *image, const char *path, int expected)
{
    struct tn_handle *list = saved_root(heap, image);
    const struct tn_save_options options = {
        .size = sizeof options, .name = "beside", .images = &image, .image_count = 1, .name_of = name_any};
    struct tn_save_stats stats = {.size = sizeof stats};
    list = saved_link(heap, &link_type, 100, list);
    assert_int_equal(saved_write(heap, &options, list, &stats, path), expected);
    if (!expected)
        assert_true(stats.objects == 1 && stats.types == 0);
    tn_handle_free(list);
}

static void images_that_it_needs_are_checked(void **state)
{
    const char *path = saved_path("needed"), *path2 = saved_path("needing"), *path3 = saved_path("rebuilt");
    make_file(path, "needed");
    struct tn_heap *heap = saved_heap(), *other;
    struct tn_image *image, *second, *rebuilt;
    (void)state;
    struct tn_image_load_options options = load_options(heap, 0);
    assert_int_equal(tn_image_open(path, &options, &image, &err), 0);
    save_beside(heap, image, path2, 0);
    struct tn_handle *list = saved_root(heap, image), *made = saved_link(heap, &link_type, 9, NULL);
    assert_int_equal(tn_handle_store(list, offsetof(struct link, other), made, &err), 0);
    save_beside(heap, image, path3, TN_ENOTSUP);
    assert_non_null(strstr(err.text, "an object of type 'link' of the image 'needed' refers to the heap"));
    assert_int_equal(tn_handle_store(list, offsetof(struct link, other), NULL, &err), 0);
    tn_heap_collect(heap, 0);
    assert_int_equal(tn_image_open(path2, &options, &second, &err), TN_EUNDEF);
    options.images = &image;
    options.image_count = 1;
    assert_int_equal(tn_image_open(path2, &options, &second, &err), 0);
    uint64_t count;
    list = saved_root(heap, second);
    assert_true(saved_sum(list, &count) == 107 + (uintptr_t)anchor && count == 5);
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

/* ---- bad files ---- */

/* Where header and tables are in the file. */
static size_t header_at(const uint8_t *bytes, size_t size)
{
    const uint8_t *found = memmem(bytes, size, TN__IMAGE_MAGIC, 8);
    assert_non_null(found);
    return (size_t)(found - bytes);
}

static void sign(uint8_t *bytes, size_t size, size_t header)
{
    uint64_t sum, at;
    uint32_t tables = tn__get32(bytes + header + TN__IMAGE_AT_SIZE);
    if (tables >= TN__IMAGE_HEADER && tables <= size - header)
        tn__put64(bytes + header + TN__IMAGE_AT_CHECKSUM, tn__image_header_checksum(bytes + header, tables));
    if (tn__image_file_sum(bytes, size, &sum, &at))
        tn__put64(bytes + at, sum);
}

/* Opens the bytes as a file in memory, and uses what comes of it. Returns the code. */
static int try(const uint8_t *bytes, size_t size, uint64_t flags)
{
    struct tn_heap *heap;
    struct tn_image *image = NULL;
    const struct tn_heap_options plain = {.size = sizeof plain};
    assert_int_equal(tn_heap_create(&plain, &heap, &err), 0);
    struct tn_image_load_options options = load_options(heap, flags);
    int code = tn_image_open_memory("bad", bytes, size, &options, &image, &err);
    if (code == 0 && (flags & TN_IMAGE_VERIFY)) {
        struct tn_handle *root;
        assert_int_equal(tn_handle_of(heap, NULL, &root, &err), 0);
        tn_image_root(image, "root", root, &err);
        tn_handle_type(root);
        tn_heap_collect(heap, 0);
    }
    tn_heap_destroy(heap);
    tn_image_close(image);
    return code;
}

static bool is_refusal(int code)
{
    return code == TN_EFORMAT || code == TN_ENOTSUP || code == TN_EUNDEF || code == TN_ENOMEM;
}

static void changed_bytes_are_found(void **state)
{
    const char *path = saved_path("flip");
    size_t size;
    (void)state;
    make_file(path, "flip");
    uint8_t *bytes = saved_read(path, &size), *copy = malloc(size);
    size_t header = header_at(bytes, size), tables = tn__get32(bytes + header + TN__IMAGE_AT_SIZE);
    assert_int_equal(try(bytes, size, TN_IMAGE_VERIFY), 0);
    for (size_t at = header; at < header + tables; at++) { /* the checksum finds each; signed, whatever it means */
        memcpy(copy, bytes, size);
        copy[at] ^= (uint8_t)(1 << at % 8);
        assert_true(is_refusal(try(copy, size, 0)));
        sign(copy, size, header);
        int code = try(copy, size, TN_IMAGE_VERIFY);
        assert_true(code == 0 || is_refusal(code));
        code = try(copy, size, TN_IMAGE_RELOCATE);
        assert_true(code == 0 || is_refusal(code));
    }
    free(bytes);
    free(copy);
    unlink(path);
}

/* Each byte of the zones that is not zero, and some that are: with the right checksum, only the check of objects can
 * find it. */
static void changed_objects_are_found(void **state)
{
    const char *path = saved_path("objects");
    size_t size, tried = 0, found = 0;
    (void)state;
    make_file(path, "objects");
    uint8_t *bytes = saved_read(path, &size), *copy = malloc(size);
    size_t header = header_at(bytes, size);
    for (size_t at = 4096; at < header; at++) {
        bool is_used = bytes[at] || (at % 4096 < 512 && at % 3 == 0);
        if (!is_used)
            continue;
        memcpy(copy, bytes, size);
        copy[at] ^= (uint8_t)(1 << at % 8);
        assert_int_equal(try(copy, size, TN_IMAGE_VERIFY), TN_EFORMAT);
        sign(copy, size, header);
        int code = try(copy, size, TN_IMAGE_VERIFY | (at % 2 ? TN_IMAGE_RELOCATE : 0));
        assert_true(code == 0 || is_refusal(code));
        tried++;
        found += code != 0;
    }
    assert_true(tried > 300 && found > 100);
    free(bytes);
    free(copy);
    unlink(path);
}

/* The word of a root, and so any reference, has to lead to the start of an object. */
static void references_lead_to_starts(void **state)
{
    const char *path = saved_path("starts");
    size_t size;
    (void)state;
    make_file(path, "starts");
    uint8_t *bytes = saved_read(path, &size);
    size_t header = header_at(bytes, size), root = 0;
    for (uint32_t e = 0; e < tn__get32(bytes + header + TN__IMAGE_AT_DIRECTORY); e++) {
        const uint8_t *entry = bytes + header + TN__IMAGE_HEADER + (size_t)e * TN__IMAGE_ENTRY;
        if (tn__get32(entry + TN__IMAGE_ENTRY_KIND) == TN__IMAGE_ROOT_TABLE)
            root = 4096 + tn__get64(bytes + header + tn__get32(entry + TN__IMAGE_ENTRY_OFFSET) + TN__IMAGE_ROOT_PLACE);
    }
    for (uint64_t distance = 8; distance <= 1 << 20; distance *= 2) {
        uint64_t reference = tn__get64(bytes + root);
        tn__put64(bytes + root, reference + distance);
        sign(bytes, size, header);
        assert_int_equal(try(bytes, size, TN_IMAGE_VERIFY), TN_EFORMAT);
        assert_non_null(strstr(err.text, "a reference leads "));
        tn__put64(bytes + root, reference);
    }
    sign(bytes, size, header);
    assert_int_equal(try(bytes, size, TN_IMAGE_VERIFY), 0);
    free(bytes);
    unlink(path);
}

static void truncated_files_are_refused(void **state)
{
    const char *path = saved_path("cut");
    size_t size;
    (void)state;
    make_file(path, "cut");
    uint8_t *bytes = saved_read(path, &size);
    size_t header = header_at(bytes, size), end = header + tn__get32(bytes + header + TN__IMAGE_AT_SIZE);
    for (size_t length = 1; length < end; length += length % 4096 < 700 || length > header ? 1 : 61)
        assert_true(is_refusal(try(bytes, length, length % 2 ? TN_IMAGE_RELOCATE : 0)));
    free(bytes);
    unlink(path);
}

/* Rows with one field changed, and what is said. `table` 0: of the header. */
static void wrong_fields_are_named(void **state)
{
    enum { HEADER = 99 };
    static const struct {
        uint32_t table, row, field, size;
        uint64_t value;
        int code;
        const char *text;
    } cases[] = {
        {HEADER, 0, TN__IMAGE_AT_GC_ABI, 4, 77, TN_ENOTSUP, "managed code or objects for version 77"},
        {TN__IMAGE_ZONE_TABLE, 0, TN__IMAGE_ZONE_KIND, 4, 9, TN_EFORMAT, "a zone of kind 9"},
        {TN__IMAGE_ZONE_TABLE, 1, TN__IMAGE_ZONE_KIND, 4, 0, TN_EFORMAT, "a zone of kind 0"},
        {TN__IMAGE_ZONE_TABLE, 0, TN__IMAGE_ZONE_PAGE, 4, 1024, TN_ENOTSUP, "for pages of at most 1024 bytes"},
        {TN__IMAGE_ZONE_TABLE, 0, TN__IMAGE_ZONE_PLACE, 8, 0, TN_EFORMAT, "is not a segment"},
        {TN__IMAGE_ZONE_TABLE, 0, TN__IMAGE_ZONE_SIZE, 8, 0, TN_EFORMAT, "the frozen zone, 0 bytes, is not a segment"},
        {TN__IMAGE_ZONE_TABLE, 0, TN__IMAGE_ZONE_SIZE, 8, 1 << 20, TN_EFORMAT, "is not a segment"},
        {TN__IMAGE_ZONE_TABLE, 0, TN__IMAGE_ZONE_OBJECTS, 8, 1 << 20, TN_EFORMAT, "the frozen zone: 1048576 bytes"},
        {TN__IMAGE_ZONE_TABLE, 0, TN__IMAGE_ZONE_ADDRESS, 8, 4096, TN_EFORMAT, "is intended for 0x1000"},
        {TN__IMAGE_LIST_TABLE, 0, TN__IMAGE_LIST_OF, 4, 9, TN_EFORMAT, "list 0: of kind 9"},
        {TN__IMAGE_LIST_TABLE, 0, TN__IMAGE_LIST_INDEX, 4, 9, TN_EFORMAT, "list 0: of kind 0, number 9"},
        {TN__IMAGE_LIST_TABLE, 0, TN__IMAGE_LIST_PLACE, 8, 1 << 30, TN_EFORMAT, "outside of its segments"},
        {TN__IMAGE_LIST_TABLE, 0, TN__IMAGE_LIST_SIZE, 8, 8, TN_EFORMAT, "list 0: its checksum is wrong"},
        {TN__IMAGE_LIST_TABLE, 0, TN__IMAGE_LIST_SIZE, 8, 1 << 30, TN_EFORMAT, "outside of its segments"},
        {TN__IMAGE_LIST_TABLE, 0, TN__IMAGE_LIST_SUM, 8, 1, TN_EFORMAT, "list 0: its checksum is wrong"},
        {TN__IMAGE_BINDING_TABLE, 0, TN__IMAGE_BINDING_NAME, 4, 1 << 20, TN_EFORMAT, "binding 0: its name"},
        {TN__IMAGE_BINDING_TABLE, 0, TN__IMAGE_BINDING_PLACE, 8, 1 << 20, TN_EFORMAT,
         "binding 0: its name or its word"},
        {TN__IMAGE_BINDING_TABLE, 0, TN__IMAGE_BINDING_PLACE, 8, 4100, TN_EFORMAT, "binding 0: its name or its word"},
        {TN__IMAGE_TYPE_TABLE, 0, TN__IMAGE_TYPE_NAME, 4, 1 << 20, TN_EFORMAT, "type 0: its name"},
        {TN__IMAGE_TYPE_TABLE, 0, TN__IMAGE_TYPE_FLAGS, 4, 2, TN_EFORMAT, "type 0: its name"},
        {TN__IMAGE_TYPE_TABLE, 0, TN__IMAGE_TYPE_PLACE, 8, 1 << 20, TN_EFORMAT, "type 0: its name or its descriptor"},
        {TN__IMAGE_TYPE_TABLE, 0, TN__IMAGE_TYPE_PLACE, 8, 8, TN_EFORMAT, "type 0: its name or its descriptor"},
        {TN__IMAGE_ROOT_TABLE, 0, TN__IMAGE_ROOT_NAME, 4, 1 << 20, TN_EFORMAT, "root 0: its name"},
        {TN__IMAGE_ROOT_TABLE, 0, TN__IMAGE_ROOT_PLACE, 8, 1 << 20, TN_EFORMAT, "root 0: its name or its place"},
        {TN__IMAGE_ROOT_TABLE, 0, TN__IMAGE_ROOT_PLACE, 8, 4, TN_EFORMAT, "root 0: its name or its place"},
    };
    const char *path = saved_path("fields");
    size_t size;
    (void)state;
    make_file(path, "fields");
    uint8_t *bytes = saved_read(path, &size), *copy = malloc(size);
    size_t header = header_at(bytes, size);
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        memcpy(copy, bytes, size);
        uint8_t *at = copy + header;
        for (uint32_t e = 0; e < tn__get32(copy + header + TN__IMAGE_AT_DIRECTORY); e++) {
            const uint8_t *entry = copy + header + TN__IMAGE_HEADER + (size_t)e * TN__IMAGE_ENTRY;
            if (tn__get32(entry + TN__IMAGE_ENTRY_KIND) == cases[i].table)
                at = copy + header + tn__get32(entry + TN__IMAGE_ENTRY_OFFSET) +
                     (size_t)cases[i].row * tn__get32(entry + TN__IMAGE_ENTRY_ROW);
        }
        memcpy(at + cases[i].field, &cases[i].value, cases[i].size);
        sign(copy, size, header);
        int code = try(copy, size, TN_IMAGE_RELOCATE);
        if (code != cases[i].code || !strstr(err.text, cases[i].text))
            print_error("case %zu: %d, %s\n", i, code, err.text);
        assert_int_equal(code, cases[i].code);
        assert_non_null(strstr(err.text, cases[i].text));
    }
    free(bytes);
    free(copy);
    unlink(path);
}

/* ---- what the system refuses ---- */

static void every_failure_is_an_error(void **state)
{
    const char *path = saved_path("faults");
    make_file(path, "faults");
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
                struct tn_image_load_options options = load_options(heap, flags);
                size_t before = saved_mappings();
                assert_int_equal(tn__os_set_faults(plan), 0);
                int code = tn_image_open(path, &options, &image, &err);
                tn__os_set_faults(NULL);
                if (code) {
                    assert_true(code == TN_ENOMEM || code == TN_EIO);
                    assert_true(saved_mappings() <= before + 2); /* the allocator's */
                    continue;
                }
                bool was_refused = memory_of(image).address != memory_of(image).intended;
                good[kind] = kind == 0 || !was_refused || (flags & TN_IMAGE_RELOCATE) || at > 40;
                check_list(heap, image);
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
        cmocka_unit_test(base_is_kept),
        cmocka_unit_test(hashes_are_kept),
        cmocka_unit_test(frozen_objects_are_read_only),
        cmocka_unit_test(objects_stay_until_the_heap_ends),
        cmocka_unit_test(functions_run_by_priority),

        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(images_that_it_needs_are_checked),
        cmocka_unit_test(changed_bytes_are_found),
        cmocka_unit_test(changed_objects_are_found),
        cmocka_unit_test(references_lead_to_starts),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(wrong_fields_are_named),
        cmocka_unit_test(every_failure_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
