/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What is found in a cache and what is not: keys, caches without a compiler, several stores, the client's stores. */

#include "world.h"

/* ---- what is found ---- */

static void second_time_nothing_is_compiled(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    use_all(&w, "one");
    assert_work(&w, 1, PARTS);
    close_cache(&w);
    open_cache(&w, 0, false, false);
    use_all(&w, "one");
    assert_work(&w, 0, 0);
    use_all(&w, "two");
    assert_work(&w, 1, PARTS);
    struct tn_cache_stats stats = stats_of(&w);
    assert_int_equal(stats.modules, 2);
    assert_int_equal(stats.found, 1);
    assert_int_equal(stats.objects, 2 * PARTS);
    assert_int_equal(stats.found_objects, PARTS);
    assert_int_equal(stats.puts, 1);
    assert_int_equal(stats.damaged + stats.refused + stats.excluded, 0);
    destroy(&w);
}

/* A later run adds to the pack what the earlier one did not need. */
static void packs_grow(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    assert_null(use(&w, "one", 0, 2));
    assert_null(use(&w, "one", 2, 2));
    assert_work(&w, 2, 4);
    assert_null(use(&w, "one", 0, 4));
    assert_work(&w, 2, 4);
    use_all(&w, "one");
    assert_work(&w, 3, PARTS);
    destroy(&w);
}

static void flushed_before_the_module_ends(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    struct tn_buffer bytes = {0};
    struct tn_error err;
    void *module;
    assert_int_equal(open_ir(&w, "one", &defaults, 0, &module, &bytes, &err), 0);
    tn_buffer_free(&bytes);
    assert_int_equal(tn_cache_flush(w.cache, &err), 0);
    assert_int_equal(stats_of(&w).puts, 1);
    assert_int_equal(tn_cache_flush(w.cache, &err), 0);
    assert_int_equal(stats_of(&w).puts, 1);
    w.cache->close(module);
    assert_int_equal(tn_cache_flush(&w.compiler, &err), TN_EINVAL);
    destroy(&w);
}

static void without_a_compiler(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    assert_null(use(&w, "one", 0, 2));
    close_cache(&w);
    open_cache(&w, 0, true, true);
    assert_null(use(&w, "one", 0, 2));
    struct tn_buffer bytes = {0};
    struct tn_error err;
    void *module;
    assert_int_equal(open_ir(&w, "two", &defaults, 0, &module, &bytes, &err), TN_ENOTSUP);
    assert_int_equal(open_ir(&w, "one", &defaults, 0, &module, &bytes, &err), 0);
    tn_buffer_free(&bytes);
    struct tn_compile_stats stats = {.size = sizeof stats};
    const struct tn_part_request request = {.size = sizeof request, .part = 5, .name = "m(f)", .stats = &stats};
    assert_int_equal(w.cache->compile(module, &request, &bytes, &err), TN_ENOTSUP);
    assert_non_null(strstr(err.text, "m(f)"));
    assert_non_null(strstr(err.text, "key"));
    w.cache->close(module);
    destroy(&w);
}

/* ---- keys ---- */

static bool key_of(const struct tn_compile_options *options, const char *identity, const char *salt, int whole,
                   uint64_t copy, uint8_t key[TN__SHA256_SIZE])
{
    static const uint8_t digest[TN__SHA256_SIZE] = {1};
    const struct tn_ir ir = {.size = sizeof ir, .digest = digest, .whole = whole, .copy = copy};
    struct tn_cpu host = {.size = sizeof host};
    assert_int_equal(tn_cpu_host(&host, NULL), 0);
    return tn__key_of(identity, salt, strlen(salt), &host, &ir, options, key);
}

/* Each row covers its member, and all rows cover the struct: a new member without a row fails here. */
#define ASSERT_COVERED(rows, count, type)                                                                              \
    do {                                                                                                               \
        size_t end = 0;                                                                                                \
        for (size_t i = 0; i < (count); i++) {                                                                         \
            size_t size = (rows)[i].size; /* members are aligned to their size */                                      \
            assert_int_equal((rows)[i].offset, (end + size - 1) & -size);                                              \
            end = (rows)[i].offset + size;                                                                             \
        }                                                                                                              \
        assert_int_equal(sizeof(type), (end + 7) & ~(size_t)7);                                                        \
    } while (0)

static void rows_cover_the_structs(void **state)
{
    (void)state;
    ASSERT_COVERED(tn__key_rows, tn__key_row_count, struct tn_compile_options);
    ASSERT_COVERED(tn__variant_rows, tn__variant_row_count, struct tn_part_request);
}

/* Objects of a part that differ in one of these are different ones, also in a pack; a level for which the kind
 * has no room is not kept. */
static void objects_of_tiers(void **state)
{
    (void)state;
    struct tn_compile_stats stats = {.size = sizeof stats};
#define REQUEST .size = sizeof(struct tn_part_request), .part = 2, .name = "m(f)", .stats = &stats
    const struct tn_part_request rows[] =
        {
            {REQUEST},
            {REQUEST, .opt_level = 1},
            {REQUEST, .opt_level = 15},
            {REQUEST, .is_higher = 1},
            {REQUEST, .is_higher = 1, .opt_level = 2},
            {REQUEST, .counters = "0"},
            {REQUEST, .counters = "0", .is_higher = 1},
        },
                                 others[] = {
                                     {REQUEST, .opt_level = 16}, {REQUEST, .opt_level = -1}, {REQUEST, .is_higher = 2}};
    uint32_t kinds[COUNT(rows)], unused;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_true(tn__variant_of(&rows[i], &kinds[i]));
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(kinds[i], kinds[k]);
    }
    for (size_t i = 0; i < COUNT(others); i++)
        assert_false(tn__variant_of(&others[i], &unused));
    const struct tn_part_request same = {REQUEST, .anew = 1, .is_idle = 1};
    assert_true(tn__variant_of(&same, &unused));
    assert_int_equal(unused, kinds[0]);
    struct world w;
    create(&w);
    for (int run = 0; run < 2; run++) {
        void *module;
        struct tn_buffer bytes = {0};
        assert_int_equal(open_ir(&w, "one", &defaults, 0, &module, &bytes, NULL), 0);
        tn_buffer_free(&bytes);
        for (size_t i = 0; i < COUNT(rows); i++) {
            assert_int_equal(w.cache->compile(module, &rows[i], &bytes, NULL), 0);
            tn_buffer_free(&bytes);
        }
        w.cache->close(module);
        assert_int_equal(w.toy.compiles, run ? 0 : (int)COUNT(rows));
        close_cache(&w);
        open_cache(&w, 0, false, false);
    }
    destroy(&w);
}

static int some_hook(void *context, enum tn_hook when, void *module, struct tn_error *err)
{
    (void)context, (void)when, (void)module, (void)err;
    return 0;
}

static int some_pass(void *context, const struct tn_pass *pass)
{
    (void)context, (void)pass;
    return 0;
}

/* All of these have different keys, or none. */
static void what_is_in_the_key(void **state)
{
    (void)state;
    static const struct tn_compile_observer watching = {.size = sizeof watching},
                                            skipping = {.size = sizeof skipping, .before_pass = some_pass};
    static struct tn_cpu other;
    other = (struct tn_cpu){.size = sizeof other};
    assert_int_equal(tn_cpu_host(&other, NULL), 0);
    other.features.words[0] ^= 1ull << 40;
#define OPTIONS .size = sizeof(struct tn_compile_options)
    static const struct {
        struct tn_compile_options options;
        const char *identity, *salt;
        int whole;
        uint64_t copy;
        enum { DIFFERS, SAME, NONE } what;
    } rows[] = {
        {{OPTIONS}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS}, "b", "", 0, 0, DIFFERS},
        {{OPTIONS}, "a", "s", 0, 0, DIFFERS},
        {{OPTIONS}, "a", "", 1, 0, DIFFERS},
        {{OPTIONS}, "a", "", 0, 1, NONE},
        {{OPTIONS, .triple = ""}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .triple = "x86_64-linux-gnu"}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .cpu = "generic"}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .features = "+avx2"}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .cpu = "+avx2"}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .opt_level = 1}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .reloc_model = TN_RELOC_STATIC}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .code_model = TN_CODE_MEDIUM}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .any_threads = 1}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .baseline = 1}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .emit = TN_EMIT_ASM}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .function_sections = 1}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .polls = 1}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .passes = ""}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .native = &other}, "a", "", 0, 0, DIFFERS},
        {{OPTIONS, .observer = &watching}, "a", "", 0, 0, SAME},
        {{OPTIONS, .observer = &skipping}, "a", "", 0, 0, NONE},
        {{OPTIONS, .verify_ir = 1}, "a", "", 0, 0, SAME},
        {{OPTIONS, .assembly_files = 1}, "a", "", 0, 0, NONE},
        {{OPTIONS, .hook = some_hook}, "a", "", 0, 0, NONE},
        {{OPTIONS, .hook_context = &other}, "a", "", 0, 0, SAME},
    };
    uint8_t keys[COUNT(rows)][TN__SHA256_SIZE];
    for (size_t i = 0; i < COUNT(rows); i++) {
        bool good = key_of(&rows[i].options, rows[i].identity, rows[i].salt, rows[i].whole, rows[i].copy, keys[i]);
        assert_int_equal(good, rows[i].what != NONE);
        if (rows[i].what == SAME)
            assert_memory_equal(keys[i], keys[0], TN__SHA256_SIZE);
        for (size_t other_row = 0; other_row < i && rows[i].what == DIFFERS; other_row++)
            if (rows[other_row].what == DIFFERS && !memcmp(keys[i], keys[other_row], TN__SHA256_SIZE))
                fail_msg("rows %zu and %zu have one key", other_row, i);
    }
    /* "native" is what it stands for, and what a CPU has only counts where none is named. */
    uint8_t one[TN__SHA256_SIZE], two[TN__SHA256_SIZE];
    struct tn_compile_options named = {OPTIONS, .cpu = "generic"};
    key_of(&named, "a", "", 0, 0, one);
    named.native = &other;
    key_of(&named, "a", "", 0, 0, two);
    assert_memory_equal(one, two, sizeof one);
}

static void excluded_modules(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    for (int i = 0; i < 2; i++) {
        struct tn_buffer bytes = {0};
        void *module;
        assert_int_equal(open_ir(&w, "one", &defaults, 1, &module, &bytes, NULL), 0);
        tn_buffer_free(&bytes);
        w.cache->close(module);
    }
    assert_work(&w, 2, 0);
    assert_int_equal(stats_of(&w).excluded, 2);
    assert_int_equal(stats_of(&w).puts, 0);
    destroy(&w);
}

/* ---- stacked and foreign stores ---- */

struct shelf {
    uint8_t key[TN__SHA256_SIZE];
    char bytes[4000];
    size_t size;
    int gets, puts, code;
};

static int shelf_get(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], struct tn_buffer *out)
{
    struct shelf *shelf = context;
    shelf->gets++;
    if (!shelf->size || memcmp(key, shelf->key, sizeof shelf->key) != 0)
        return TN_EUNDEF;
    return tn__buffer_fill(out, shelf->bytes, shelf->size) ? 0 : TN_ENOMEM;
}

static int shelf_put(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], const void *bytes, size_t length)
{
    struct shelf *shelf = context;
    shelf->puts++;
    if (shelf->code)
        return shelf->code;
    memcpy(shelf->key, key, sizeof shelf->key);
    memcpy(shelf->bytes, bytes, shelf->size = length);
    return 0;
}

static void stores_of_the_client(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    struct shelf shelf = {.size = 0};
    struct tn_store client = {.size = sizeof client, .context = &shelf, .get = shelf_get, .put = shelf_put};
    struct tn_store *stores[] = {&client, w.store};
    struct tn_cache_options options = {
        .size = sizeof options, .stores = stores, .store_count = 2, .compiler = &w.compiler};
    tn_cache_destroy(w.cache);
    assert_int_equal(tn_cache_create(&options, &w.cache, NULL), 0);
    use_all(&w, "one"); /* the last store takes it */
    assert_int_equal(shelf.puts, 0);
    stores[1] = &client;
    stores[0] = w.store;
    tn_cache_destroy(w.cache);
    assert_int_equal(tn_cache_create(&options, &w.cache, NULL), 0);
    use_all(&w, "one");
    assert_int_equal(shelf.gets, 2); /* the first store has it now; two misses of before */
    shelf.code = TN_EIO;
    use_all(&w, "two"); /* refused, so the one before takes it */
    assert_int_equal(shelf.puts, 1);
    shelf.code = 0;
    use_all(&w, "three");
    assert_int_equal(shelf.puts, 2);
    assert_true(shelf.size > 0);
    w.toy = (struct toy){0};
    use_all(&w, "two");
    use_all(&w, "three");
    assert_work(&w, 0, 0);
    destroy(&w);
}

static int see_nothing(void *context, const struct tn_cache_file *file)
{
    (void)context, (void)file;
    return 0;
}

static void wrong_options(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    struct tn_compiler *out;
    struct tn_cache_options rows[] = {
        {.size = sizeof rows[0]},
        {.size = sizeof rows[0], .compiler = &w.compiler, .identity = "both"},
        {.size = sizeof rows[0], .compiler = &w.compiler, .store_count = 1},
        {.size = sizeof rows[0], .compiler = &w.compiler, .salt_length = 1},
        {.size = 3, .compiler = &w.compiler},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(tn_cache_create(&rows[i], &out, NULL), TN_EINVAL);
        assert_null(out);
    }
    uint64_t removed;
    assert_int_equal(tn_store_each_file(NULL, see_nothing, NULL, NULL), TN_EINVAL);
    assert_int_equal(tn_store_prune(NULL, 0, &removed, NULL), TN_EINVAL);
    tn_cache_destroy(NULL);
    tn_store_close_folder(NULL);
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_time_nothing_is_compiled),
        cmocka_unit_test(packs_grow),
        cmocka_unit_test(flushed_before_the_module_ends),
        cmocka_unit_test(without_a_compiler),
        cmocka_unit_test(rows_cover_the_structs),
        cmocka_unit_test(what_is_in_the_key),
        cmocka_unit_test(objects_of_tiers),
        cmocka_unit_test(excluded_modules),
        cmocka_unit_test(stores_of_the_client),
        cmocka_unit_test(wrong_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
